//! Compares every reduction with the full search on random programs:
//! `cargo run --release -p raddle-difftest`. See the README of this directory.

mod table;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use clap::Parser;
use raddle_difftest::Contender;
use raddle_difftest::campaign::{Campaign, Report};
use raddle_difftest::generate::{self, PROFILES};

/// Compares every reduction with the full search on random programs.
#[derive(Parser, Debug)]
#[command(name = "raddle-difftest", version, about)]
struct Args {
    /// What the programs are made from: the same seed makes the same programs.
    #[arg(long, default_value_t = 1)]
    seed: u64,

    /// How many programs, over all profiles.
    #[arg(long, default_value_t = 10_000)]
    count: u64,

    /// Only programs of this profile.
    #[arg(long, value_name = "NAME")]
    profile: Option<String>,

    /// Only this reduction.
    #[arg(long, value_name = "NAME")]
    reduction: Option<String>,

    /// On how many threads.
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u16).range(1..))]
    jobs: u16,

    /// Write what shows a disagreement to this directory.
    #[arg(long, value_name = "DIR")]
    save: Option<PathBuf>,

    /// Print the program of this number, and do nothing else. Needs a profile.
    #[arg(long, value_name = "N", requires = "profile")]
    print: Option<u64>,

    /// Switch off the repairs of the algorithms one by one, and see whether that is noticed.
    #[cfg(feature = "mutations")]
    #[arg(long)]
    mutations: bool,
}

fn main() -> ExitCode {
    match run(&Args::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::FAILURE
        }
    }
}

/// Does what the command line says; gives whether all is well.
fn run(args: &Args) -> Result<bool, String> {
    let campaign = campaign(args)?;
    if let Some(number) = args.print {
        print!("{}", campaign.program(number).1);
        return Ok(true);
    }
    #[cfg(feature = "mutations")]
    if args.mutations {
        return mutations(args, &campaign);
    }
    let started = Instant::now();
    let finished = AtomicU64::new(0);
    let report = campaign.run(|_| {
        let finished = finished.fetch_add(1, Ordering::Relaxed) + 1;
        if finished.is_multiple_of(1_000) {
            let seconds = started.elapsed().as_secs_f64();
            let rate = finished as f64 / seconds;
            eprintln!("{finished} programs, {rate:.0} per second");
        }
    });
    print!("{}", table::programs(&report));
    println!();
    print!("{}", table::reductions(&report, &campaign.contenders));
    for failure in report.failures.iter().take(1) {
        eprintln!(
            "\nshrinking a program of {} lines ...",
            failure.program.lines()
        );
        let (shrunk, disagreement) = campaign.shrink(failure);
        let story = failure.tell(&shrunk, &disagreement);
        println!("\n{story}");
        if let Some(directory) = &args.save {
            let (seed, profile, number) = failure.origin;
            let name = format!("{}-{seed}-{profile}-{number}", disagreement.contender);
            save(directory, &name, &story)?;
        }
    }
    Ok(is_fine(&report))
}

fn is_fine(report: &Report) -> bool {
    report.failures.is_empty()
}

fn campaign(args: &Args) -> Result<Campaign, String> {
    let mut campaign = Campaign::new(args.seed, args.count);
    campaign.jobs = args.jobs.into();
    if let Some(name) = &args.profile {
        let names: Vec<_> = PROFILES.iter().map(|profile| profile.name).collect();
        let known = || format!("there is no profile `{name}`, but: {}", names.join(", "));
        campaign.profiles = vec![generate::by_name(name).ok_or_else(known)?];
    }
    if let Some(name) = &args.reduction {
        let (chosen, others): (Vec<_>, Vec<_>) = (campaign.contenders.into_iter())
            .partition(|contender: &Contender| contender.name == *name);
        if chosen.is_empty() {
            let names: Vec<_> = others.into_iter().map(|other| other.name).collect();
            let names = names.join(", ");
            return Err(format!("there is no reduction `{name}`, but: {names}"));
        }
        campaign.contenders = chosen;
    }
    Ok(campaign)
}

fn save(directory: &Path, name: &str, story: &str) -> Result<(), String> {
    let path = directory.join(name).with_extension("rad");
    std::fs::create_dir_all(directory)
        .and_then(|()| std::fs::write(&path, story))
        .map_err(|error| format!("{}: {error}", path.display()))?;
    eprintln!("written to {}", path.display());
    Ok(())
}

/// Whether every missing repair is noticed.
#[cfg(feature = "mutations")]
fn mutations(args: &Args, campaign: &Campaign) -> Result<bool, String> {
    let mut saved = Ok(());
    let mutants = raddle_difftest::mutations::run(campaign, |mutant| {
        eprintln!("{:?}, {}", mutant.repair, mutant.reduction);
        if let (Some(directory), Some(noticed)) = (&args.save, &mutant.noticed) {
            let name = format!("{:?}-{}", mutant.repair, mutant.reduction);
            let written = save(directory, &name, &noticed.story);
            saved = std::mem::replace(&mut saved, Ok(())).and(written);
        }
    });
    print!("{}", table::mutants(&mutants));
    saved.map(|()| mutants.iter().all(|mutant| mutant.noticed.is_some()))
}
