//! `raddle-bench reductions`: what `auto` takes beside each reduction that it could have chosen, and what several workers gain.

use std::fs::DirEntry;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::args::{Format, Reductions};
use crate::model::{self, Sizes};
use crate::raddle::Raddle;
use crate::table::{Table, grouped};
use crate::{Result, cpu, work_directory};

/// What users can choose by themselves.
const CHOICES: [&str; 4] = ["full", "transactions", "optimistic", "cartesian"];

/// Below this a search tells nothing of a ratio: the program is loaded in that time.
const SHORTEST: f64 = 0.05;

/// The best of several runs.
#[derive(Clone, Debug)]
struct Best {
    verdict: String,
    states: u64,
    /// User and system time of the process.
    cpu: f64,
    /// What the search reports as elapsed.
    elapsed: f64,
}

/// A program that is searched in several ways.
struct Subject {
    name: String,
    file: PathBuf,
}

/// Measures and prints.
pub(crate) fn reductions(args: &Reductions) -> Result<()> {
    let raddle = Raddle::asked_for(&args.measured)?;
    let subjects = subjects(args)?;
    let table = match args.workers {
        Some(workers) => speedups(&raddle, &subjects, workers, args.repeat)?,
        None => choices(&raddle, &subjects, args.repeat)?,
    };
    match args.measured.format {
        Format::Text => print!("{}", table.text()),
        Format::Markdown => print!("{}", table.markdown()),
        Format::Json => return Err("this table has no JSON".into()),
    }
    Ok(())
}

/// The programs that were named, or the models of the benchmark; and those of the corpus that are asked for.
fn subjects(args: &Reductions) -> Result<Vec<Subject>> {
    let mut subjects = named_or_models(args)?;
    if let Some(states) = args.corpus_over {
        subjects.extend(of_corpus(states)?);
    }
    Ok(subjects)
}

fn named(file: PathBuf) -> Subject {
    let name = file.file_stem().unwrap_or_default();
    Subject {
        name: name.to_string_lossy().into_owned(),
        file,
    }
}

/// The programs of the corpus with more states than that, by what is expected of them.
fn of_corpus(states: u64) -> Result<Vec<Subject>> {
    let corpus = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../corpus"));
    let entries = |folder: &Path| {
        let entries = std::fs::read_dir(folder).and_then(Iterator::collect);
        let entries: Vec<DirEntry> = entries.map_err(|e| format!("{}: {e}", folder.display()))?;
        Ok::<_, String>(entries.into_iter().map(|entry| entry.path()))
    };
    let mut files = Vec::new();
    for folder in entries(corpus)?.filter(|path| path.is_dir()) {
        for expected in entries(&folder)?.filter(|path| path.extension() == Some("expect".as_ref()))
        {
            let text = std::fs::read_to_string(&expected)
                .map_err(|e| format!("{}: {e}", expected.display()))?;
            let counts = text
                .lines()
                .filter_map(|line| line.strip_prefix("states = "));
            if counts
                .filter_map(|count| count.parse().ok())
                .any(|count: u64| count > states)
            {
                files.push(expected.with_extension("rad"));
            }
        }
    }
    files.sort();
    Ok(files.into_iter().map(named).collect())
}

fn named_or_models(args: &Reductions) -> Result<Vec<Subject>> {
    if !args.programs.is_empty() {
        return Ok(args.programs.iter().cloned().map(named).collect());
    }
    let work = work_directory()?;
    let models = model::selected(Sizes::Measured, &args.measured.model)?;
    let written = models.into_iter().map(|model| {
        Ok(Subject {
            name: model.name.into(),
            file: model.write(&work)?.rad,
        })
    });
    written.collect()
}

/// The CPU time of each choice, and of `auto` beside the best of them and beside the full search.
fn choices(raddle: &Raddle, subjects: &[Subject], repeat: u32) -> Result<Table> {
    let head = [
        &["program"][..],
        &CHOICES,
        &["auto", "auto/best", "auto/full"],
    ];
    let mut table = Table::new(1, &head.concat());
    let (mut to_best, mut to_full) = (Ratios::default(), Ratios::default());
    for subject in subjects {
        eprintln!("{} ...", subject.name);
        let ways: Vec<Vec<&str>> = (CHOICES.iter())
            .map(|choice| vec!["--reduction", choice])
            .chain([Vec::new()])
            .collect();
        let runs = best_of(raddle, &subject.file, &ways, repeat)?;
        let (single, auto) = (&runs[..CHOICES.len()], &runs[CHOICES.len()]);
        // Who gives another answer has not been asked the same: transactions do not see deadlocks.
        let answers = single.iter().filter(|run| run.verdict == auto.verdict);
        let best = answers.map(|run| run.cpu).fold(f64::INFINITY, f64::min);
        let mut row = vec![subject.name.clone()];
        row.extend(runs.iter().map(|run| {
            let answers = run.verdict == auto.verdict;
            let note = if answers { "" } else { "*" };
            format!("{:.2}{note} ({})", run.cpu, grouped(run.states))
        }));
        row.push(to_best.add(auto.cpu, best));
        row.push(to_full.add(auto.cpu, single[0].cpu));
        table.row(row);
    }
    let empty = vec![String::new(); CHOICES.len() + 1];
    let mean = [vec!["geometric mean".to_owned()], empty.clone()].concat();
    table.row([mean, vec![to_best.mean(), to_full.mean()]].concat());
    let most = [vec!["most".to_owned()], empty].concat();
    table.row([most, vec![to_best.most(), to_full.most()]].concat());
    Ok(table)
}

/// The time that passes with one worker and with several, for each reduction.
fn speedups(raddle: &Raddle, subjects: &[Subject], workers: u32, repeat: u32) -> Result<Table> {
    let many = workers.to_string();
    let several = format!("{many} workers");
    let head = [
        "program",
        "reduction",
        "states",
        "1 worker",
        &several,
        "ratio",
    ];
    let mut table = Table::new(2, &head);
    let mut all = Ratios::default();
    for subject in subjects {
        for choice in CHOICES {
            eprintln!("{} {choice} ...", subject.name);
            let ways =
                ["1", &many].map(|workers| vec!["--reduction", choice, "--workers", workers]);
            let runs = best_of(raddle, &subject.file, &ways, repeat)?;
            if runs[0].states != runs[1].states {
                return Err(format!("{}: {runs:?} differ", subject.name));
            }
            table.row([
                subject.name.clone(),
                choice.to_owned(),
                grouped(runs[0].states),
                format!("{:.2}", runs[0].elapsed),
                format!("{:.2}", runs[1].elapsed),
                all.add(runs[0].elapsed, runs[1].elapsed),
            ]);
        }
    }
    let empty = String::new;
    table.row([
        "geometric mean".into(),
        empty(),
        empty(),
        empty(),
        empty(),
        all.mean(),
    ]);
    Ok(table)
}

/// Runs all ways in turns, so that each has its share of what else the machine does, and keeps the best run of each.
fn best_of(raddle: &Raddle, file: &Path, ways: &[Vec<&str>], repeat: u32) -> Result<Vec<Best>> {
    let mut best: Vec<Option<Best>> = vec![None; ways.len()];
    for _ in 0..repeat.max(1) {
        for (way, best) in ways.iter().zip(&mut best) {
            let run = check(raddle, file, way)?;
            *best = Some(match best.take() {
                None => run,
                Some(known) => Best {
                    cpu: known.cpu.min(run.cpu),
                    elapsed: known.elapsed.min(run.elapsed),
                    ..known
                },
            });
        }
    }
    Ok(best.into_iter().flatten().collect())
}

fn check(raddle: &Raddle, file: &Path, way: &[&str]) -> Result<Best> {
    let line = raddle.command_line_with(file, way);
    let finished = cpu::run_whatever_it_finds(Command::new(&line[0]).args(&line[1..]))?;
    let report: Value = serde_json::from_str(&finished.output).map_err(|e| e.to_string())?;
    let read = || {
        Some(Best {
            verdict: report["verdict"].as_str()?.to_owned(),
            states: report["states"].as_u64()?,
            cpu: finished.user + finished.system,
            elapsed: report["seconds"].as_f64()?,
        })
    };
    let best = read().ok_or_else(|| format!("not a report of raddle: {report}"))?;
    match best.verdict.as_str() {
        "error" => Err(format!("{}: {report}", file.display())),
        _ => Ok(best),
    }
}

/// Ratios of times that are long enough to have one.
#[derive(Default)]
struct Ratios {
    count: u32,
    logarithms: f64,
    most: f64,
}

impl Ratios {
    fn add(&mut self, one: f64, other: f64) -> String {
        if one.min(other) < SHORTEST {
            return "-".into();
        }
        let ratio = one / other;
        self.count += 1;
        self.logarithms += ratio.ln();
        self.most = self.most.max(ratio);
        format!("{ratio:.2}")
    }

    fn mean(&self) -> String {
        match self.count {
            0 => "-".into(),
            count => format!("{:.2}", (self.logarithms / f64::from(count)).exp()),
        }
    }

    fn most(&self) -> String {
        match self.count {
            0 => "-".into(),
            _ => format!("{:.2}", self.most),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_of_what_is_too_short_do_not_count() {
        let mut ratios = Ratios::default();
        assert_eq!(ratios.mean(), "-");
        assert_eq!(ratios.add(0.01, 4.0), "-");
        assert_eq!(ratios.add(4.0, 1.0), "4.00");
        assert_eq!(ratios.add(1.0, 1.0), "1.00");
        assert_eq!(
            (ratios.mean(), ratios.most()),
            ("2.00".into(), "4.00".into())
        );
    }

    #[test]
    fn large_programs_of_the_corpus_are_found() {
        let names = |states| -> Vec<String> {
            let found = of_corpus(states).unwrap().into_iter();
            found.map(|subject| subject.name).collect()
        };
        assert!(names(300_000).contains(&"cartesian-robots-3".to_owned()));
        assert!(names(20_000).len() > names(300_000).len());
        assert!(names(u64::MAX).is_empty());
    }

    /// With and without reduction, and with several workers, on a model that takes no time.
    #[test]
    fn a_small_model_is_searched_in_every_way() {
        let raddle = Raddle::of_tests().unwrap();
        let (model, (states, _)) = &model::SMALL[2];
        let subject = Subject {
            name: model.name.into(),
            file: model.write(&work_directory().unwrap()).unwrap().rad,
        };
        let table = choices(&raddle, std::slice::from_ref(&subject), 1)
            .unwrap()
            .text();
        assert!(table.contains(&format!("({states})")), "{table}");
        let table = speedups(&raddle, &[subject], 2, 1).unwrap().text();
        assert!(table.contains("optimistic"), "{table}");
    }
}
