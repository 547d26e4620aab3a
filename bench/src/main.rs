//! Measures Raddle beside SPIN on the same models: `cargo run --release -p raddle-bench`.
//!
//! See the README of this directory for what is measured and how to read it.

mod args;
mod cpu;
mod evaluation;
mod json;
mod measure;
mod model;
mod profile;
mod raddle;
mod spin;
mod table;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;

use args::{Args, Command, Format};
use measure::Tools;

/// What can go wrong, for people.
type Result<T> = std::result::Result<T, String>;

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

/// Does what the command line says; gives whether the tools agree.
fn run(args: &Args) -> Result<bool> {
    if let Some(Command::Evaluation { check }) = args.command {
        return match check {
            true => evaluation::check(),
            false => evaluation::write().map(|()| true),
        };
    }
    let models = model::selected(&args.model)?;
    let raddle = match &args.raddle {
        Some(path) => path.clone(),
        None => raddle::build()?,
    };
    let work = work_directory()?;
    if args.profile {
        let model = models.first().ok_or("there is nothing to profile")?;
        profile::profile(&raddle, &model.write(&work)?)?;
        return Ok(true);
    }
    let spin = !args.no_spin && spin::is_installed();
    if !spin && !args.no_spin {
        eprintln!("{}", spin::HOW_TO_INSTALL);
    }
    let tools = Tools { raddle, spin };
    let mut comparisons = Vec::new();
    for model in models {
        eprintln!("{} ...", model.name);
        comparisons.push(tools.compare(model, &work, args.repeat)?);
    }
    match args.format {
        Format::Text => print!("{}", table::text(&comparisons)),
        Format::Markdown => print!("{}", table::markdown(&comparisons)),
        Format::Json => println!("{}", json::json(&comparisons)?),
    }
    let disagreements: Vec<&str> = comparisons
        .iter()
        .filter(|comparison| !comparison.agrees())
        .map(|comparison| comparison.model)
        .collect();
    if !disagreements.is_empty() {
        eprintln!("the tools disagree on: {}", disagreements.join(", "));
    }
    Ok(disagreements.is_empty())
}

/// Where models and verifiers are written: next to this executable, in the target directory.
fn work_directory() -> Result<PathBuf> {
    let executable = std::env::current_exe().map_err(|e| e.to_string())?;
    let directory = executable.with_file_name("raddle-bench-work");
    std::fs::create_dir_all(&directory).map_err(|e| format!("{}: {e}", directory.display()))?;
    Ok(directory)
}
