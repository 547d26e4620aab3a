//! Measures Raddle beside Loom on structures with weak orderings, and Raddle's two explorers beside each other on primitives: see `README.md`.

#![allow(clippy::duplicate_mod)]

#[path = "../orderings/libraries.rs"]
mod libraries;
#[path = "../orderings/measure.rs"]
mod measure;
#[path = "../orderings/page.rs"]
mod page;

use std::path::PathBuf;
use std::process::ExitCode;

use libraries::Tool;
use measure::{Measured, Subject, measure};
use raddle_examples::orderings::{PROGRAMS, Program, Weakened};
use raddle_examples::primitives::{PRIMITIVES, Primitive};

const HELP: &str = "\
Measures Raddle beside Loom on structures with weak orderings.

cargo run --release --manifest-path bench/rust/Cargo.toml --bin orderings -- [OPTIONS]

  --cap SECONDS   stop a run after this much CPU time (10)
  --page FILE     write a page of the documentation instead of printing it
  --help          print this

The exit code is 1 if Raddle says something else of a structure than is expected.
";

/// What was measured of a structure.
pub(crate) struct Structure {
    program: &'static Program,
    schedules: Measured,
    graphs: Measured,
    loom: Measured,
    weakened: Vec<Weaker>,
}

/// What was measured of a structure with a weaker ordering.
pub(crate) struct Weaker {
    weakened: Weakened,
    raddle: Measured,
    loom: Measured,
}

/// What was measured of a primitive.
pub(crate) struct Row {
    primitive: &'static Primitive,
    schedules: Measured,
    graphs: Measured,
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [first, rest @ ..] = &arguments[..]
        && first == measure::CHILD
    {
        measure::child(rest);
        eprintln!("there is no such measurement");
        return ExitCode::from(2);
    }
    let (cap, path) = match parse(&arguments) {
        Ok(Some(options)) => options,
        Ok(None) => {
            print!("{HELP}");
            return ExitCode::SUCCESS;
        }
        Err(error) => {
            eprintln!("{error}\n\n{HELP}");
            return ExitCode::from(2);
        }
    };
    let structures: Vec<_> = PROGRAMS
        .iter()
        .map(|program| structure(program, cap))
        .collect();
    let primitives: Vec<_> = PRIMITIVES.iter().map(|one| row(one, cap)).collect();
    let text = page::page(&structures, &primitives, cap, &arguments);
    match path {
        None => print!("{text}"),
        Some(path) => {
            if let Err(error) = std::fs::write(&path, text) {
                eprintln!("{}: {error}", path.display());
                return ExitCode::from(2);
            }
        }
    }
    let wrong: Vec<_> = structures.iter().flat_map(wrong).collect();
    for wrong in &wrong {
        eprintln!("wrong: {wrong}");
    }
    ExitCode::from(u8::from(!wrong.is_empty()))
}

fn parse(arguments: &[String]) -> Result<Option<(f64, Option<PathBuf>)>, String> {
    let (mut cap, mut path) = (10.0, None);
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().ok_or(format!("{argument} of what?"));
        match argument.as_str() {
            "--help" => return Ok(None),
            "--cap" => {
                let seconds = value()?.parse().ok().filter(|&seconds| seconds >= 1.0);
                cap = seconds.ok_or("--cap needs a number of seconds, at least 1")?;
            }
            "--page" => path = Some(value()?.into()),
            _ => return Err(format!("there is no {argument}")),
        }
    }
    Ok(Some((cap, path)))
}

fn structure(program: &'static Program, cap: f64) -> Structure {
    eprintln!("{}", program.name);
    let of = |tool, weaker| {
        let name = program.name;
        measure(tool, Subject::Structure { name, weaker }, cap)
    };
    Structure {
        program,
        schedules: of(Tool::Schedules, None),
        graphs: of(Tool::Graphs, None),
        loom: of(Tool::Loom, None),
        weakened: program
            .weakened()
            .enumerate()
            .map(|(number, weakened)| Weaker {
                weakened,
                raddle: of(Tool::Default, Some(number)),
                loom: of(Tool::Loom, Some(number)),
            })
            .collect(),
    }
}

fn row(primitive: &'static Primitive, cap: f64) -> Row {
    let of = |tool| measure(tool, Subject::Primitive(primitive.name), cap);
    Row {
        primitive,
        schedules: of(Tool::Schedules),
        graphs: of(Tool::SequentialGraphs),
    }
}

/// What Raddle should not say of a structure.
fn wrong(structure: &Structure) -> Vec<String> {
    let name = structure.program.name;
    let mut wrong = Vec::new();
    for (how, measured) in [
        ("schedules", &structure.schedules),
        ("graphs", &structure.graphs),
    ] {
        if !measured.passes() {
            wrong.push(format!("{name}, {how}: {:?}", measured.status));
        }
    }
    for weaker in &structure.weakened {
        if weaker.raddle.passes() != page::is_harmless(&weaker.weakened) {
            wrong.push(format!(
                "{name}, {}: {:?}",
                weaker.weakened.site.name, weaker.raddle.status
            ));
        }
    }
    wrong
}
