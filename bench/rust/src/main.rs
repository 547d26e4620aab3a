//! Measures Raddle beside Loom and Shuttle on the same Rust programs: see `README.md`.

mod cases;
mod libraries;
mod measure;
mod table;

use std::path::PathBuf;
use std::process::ExitCode;

use cases::Case;
use libraries::Tool;
use measure::{Measured, Status, measure};

const HELP: &str = "\
Measures Raddle beside Loom and Shuttle on the same Rust programs.

cargo run --release --manifest-path bench/rust/Cargo.toml -- [OPTIONS]

  --only NAME     only programs whose names begin like this; may be repeated
  --tool NAME     only this one of `raddle`, `raddle optimal`, `loom`, `shuttle`; may be repeated
  --cap SECONDS   stop a run after this much CPU time (20)
  --best N        measure N times, in turns, and take the fastest (1)
  --csv           print comma-separated values instead of tables
  --page FILE     write the tables to a page of the documentation instead
  --help          print this

The exit code is 1 if `raddle optimal` begins more executions than a formula has classes, if the number
of classes is another, or if a bug is not found or found where there is none.
";

/// Classes are not counted if there are more.
const MOST_CLASSES: usize = 200_000;

/// What was asked for.
#[derive(Debug)]
pub(crate) struct Options {
    only: Vec<String>,
    tools: Vec<Tool>,
    cap: f64,
    best: u32,
    csv: bool,
    page: Option<PathBuf>,
}

/// What was measured of a case.
pub(crate) struct Row {
    case: Case,
    /// How many different happens-before classes were seen, if all were.
    classes: Option<u64>,
    measured: Vec<(Tool, Measured)>,
}

impl Row {
    fn of(&self, tool: Tool) -> Option<&Measured> {
        let mut measured = self.measured.iter();
        measured.find(|known| known.0 == tool).map(|known| &known.1)
    }
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments
        .first()
        .is_some_and(|first| first == measure::CHILD)
    {
        measure::child(&arguments[1..]);
        eprintln!("there is no such measurement");
        return ExitCode::from(2);
    }
    if arguments.iter().any(|argument| argument == "--help") {
        print!("{HELP}");
        return ExitCode::SUCCESS;
    }
    let options = match parse(&arguments) {
        Ok(options) => options,
        Err(error) => {
            eprintln!("{error}\n\n{HELP}");
            return ExitCode::from(2);
        }
    };
    let rows = run(&options);
    let shown = if options.csv {
        table::csv(&rows)
    } else if options.page.is_some() {
        table::page(&rows, &options, &arguments)
    } else {
        table::tables(&rows)
    };
    match &options.page {
        None => print!("{shown}"),
        Some(path) => {
            if let Err(error) = std::fs::write(path, shown) {
                eprintln!("{}: {error}", path.display());
                return ExitCode::from(2);
            }
        }
    }
    let wrong: Vec<_> = rows.iter().flat_map(wrong).collect();
    for wrong in &wrong {
        eprintln!("wrong: {wrong}");
    }
    ExitCode::from(u8::from(!wrong.is_empty()))
}

fn parse(arguments: &[String]) -> Result<Options, String> {
    let mut options = Options {
        only: Vec::new(),
        tools: Vec::new(),
        cap: 20.0,
        best: 1,
        csv: false,
        page: None,
    };
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        if argument == "--csv" {
            options.csv = true;
            continue;
        }
        let mut value = || arguments.next().ok_or(format!("{argument} of what?"));
        match argument.as_str() {
            "--only" => options.only.push(value()?.clone()),
            "--tool" => {
                let name = value()?;
                let tool = Tool::of_name(name).ok_or(format!("there is no {name}"))?;
                options.tools.push(tool);
            }
            "--cap" => {
                let cap = value()?.parse().ok().filter(|&cap| cap >= 1.0);
                options.cap = cap.ok_or("--cap needs a number of seconds, at least 1")?;
            }
            "--best" => {
                let best = value()?.parse().ok().filter(|&best| best >= 1);
                options.best = best.ok_or("--best needs a number")?;
            }
            "--page" => options.page = Some(value()?.into()),
            _ => return Err(format!("there is no {argument}")),
        }
    }
    if options.tools.is_empty() {
        options.tools = Tool::ALL.to_vec();
    }
    Ok(options)
}

fn run(options: &Options) -> Vec<Row> {
    let chosen = |case: &Case| {
        let mut names = options.only.iter();
        options.only.is_empty() || names.any(|name| case.program.starts_with(name.as_str()))
    };
    let mut rows = Vec::new();
    for case in cases::cases().into_iter().filter(chosen) {
        eprintln!("{} {}", case.program, case.size_text());
        let mut measured: Vec<(Tool, Measured)> = Vec::new();
        for _ in 0..options.best {
            for &tool in &options.tools {
                let now = measure(&case, tool, options.cap);
                match measured.iter_mut().find(|known| known.0 == tool) {
                    None => measured.push((tool, now)),
                    Some((_, before)) => {
                        let faster = match (&before.status, &now.status) {
                            (Status::Stopped, Status::Stopped) => now.rate() > before.rate(),
                            (Status::Stopped, _) => true,
                            (_, Status::Stopped) => false,
                            _ => now.seconds < before.seconds,
                        };
                        if faster {
                            *before = now;
                        }
                    }
                }
            }
        }
        let classes = if case.has_bug {
            None
        } else {
            libraries::count_classes(case.program, case.size, MOST_CLASSES)
        };
        rows.push(Row {
            case,
            classes,
            measured,
        });
    }
    rows
}

/// What is not as it should be.
fn wrong(row: &Row) -> Vec<String> {
    let Case {
        program, has_bug, ..
    } = row.case;
    let size = row.case.size_text();
    let mut wrong = Vec::new();
    if let (Some(known), Some(seen)) = (row.case.classes, row.classes)
        && known != seen
    {
        wrong.push(format!(
            "{program} {size}: {seen} classes instead of {known}"
        ));
    }
    for (tool, measured) in &row.measured {
        let who = format!("{program} {size}: {}", tool.name());
        match &measured.status {
            Status::Broken(why) => wrong.push(format!("{who} did not end: {why}")),
            Status::Bug(message) if !has_bug => {
                wrong.push(format!("{who} found something: {message}"));
            }
            Status::Complete if has_bug => wrong.push(format!("{who} did not find the bug")),
            Status::Complete | Status::Stopped | Status::Bug(_) => {}
        }
        let Some(classes) = row.classes else {
            continue;
        };
        let executions = measured.executions;
        match (tool, &measured.status) {
            // Without a formula there may be objects that have no stable names, and executions that are begun and
            // given up: see the README.
            (Tool::Optimal, _) if executions > classes && row.case.classes.is_some() => {
                wrong.push(format!(
                    "{who} ran {executions} executions of {classes} classes"
                ));
            }
            (_, Status::Complete) if executions < classes => {
                wrong.push(format!(
                    "{who} ran {executions} executions of {classes} classes"
                ));
            }
            _ => {}
        }
    }
    wrong
}
