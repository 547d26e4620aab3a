//! `raddle-bench instructions`: what a transition costs, by stage of the search.
//!
//! Instructions are the same in every run and on every machine that executes the same code, so they
//! tell small differences that times cannot. They tell nothing about cache misses.

use serde::Serialize;

use crate::args::{Format, Instructions};
use crate::callgrind::{self, Profile};
use crate::measure::Run;
use crate::model::{self, Sizes};
use crate::raddle::Raddle;
use crate::table::{Table, grouped};
use crate::{Result, work_directory};

/// What is measured unless models are named: integers and atomic accesses, locks, semaphores.
const MODELS: [&str; 3] = ["bakery-3", "philosophers-9", "readers-writers"];

/// A stage of the search, and the functions that it consists of, what they call included.
struct Stage {
    name: &'static str,
    /// Each by its names: at least one of them must have been executed. There are several where
    /// options choose between functions, such as one per kind of store.
    functions: &'static [&'static [&'static str]],
    /// Whether none of them need have been executed.
    may_be_missing: bool,
}

/// The stages; what belongs to none is [`OTHER`]. When the engine changes, this table has to
/// follow: the names are those of the symbols in a release build, so a function that is inlined
/// everywhere has none, and its caller, or `#[inline(never)]` where that costs nothing, has to
/// stand in. No function may call one of another row.
const STAGES: &[Stage] = &[
    Stage {
        name: "step",
        functions: &[&[
            "<raddle_native::machine::NativeMachine as raddle_explore::system::System>::successors",
            "<raddle_native::machine::NativeMachine as raddle_explore::system::System>::step",
        ]],
        may_be_missing: false,
    },
    Stage {
        // Programs without heap and spawned threads have nothing to do.
        name: "canonicalise",
        functions: &[&["raddle_machine::machine::Machine::canonicalise_with_renaming"]],
        may_be_missing: true,
    },
    Stage {
        name: "encode/insert",
        functions: &[&[
            "<raddle_store::flat::FlatWorker<F> as raddle_store::Worker>::flush",
            "<raddle_store::tree::worker::TreeWorker<F> as raddle_store::Worker>::flush",
        ]],
        may_be_missing: false,
    },
    Stage {
        name: "read",
        functions: &[&[
            "<raddle_store::flat::FlatWorker<F> as raddle_store::Worker>::begin",
            "<raddle_store::tree::worker::TreeWorker<F> as raddle_store::Worker>::begin",
        ]],
        may_be_missing: false,
    },
];

/// The search itself, and what is done once: loading the program, printing the report.
const OTHER: &str = "other";

/// The instructions of one model.
#[derive(Debug, PartialEq, Serialize)]
struct Counted {
    model: &'static str,
    transitions: u64,
    instructions: u64,
    /// The instructions of each stage and of everything else, divided by the transitions.
    per_transition: Vec<(&'static str, f64)>,
}

/// Counts and prints.
pub(crate) fn instructions(args: &Instructions) -> Result<()> {
    let measured = &args.measured;
    let models = match measured.model.is_empty() {
        true => model::selected(Sizes::Measured, &MODELS.map(str::to_owned))?,
        false => model::selected(Sizes::Measured, &measured.model)?,
    };
    let raddle = Raddle::asked_for(measured)?;
    let work = work_directory()?;
    let mut all = Vec::new();
    for model in models {
        eprintln!("{} ...", model.name);
        let files = model.write(&work)?;
        let (report, profile) = callgrind::run(&raddle.command_line(&files.rad), &files.directory)?;
        let transitions = Run::reported_by_raddle(&report, 0.0, 0.0)?.transitions;
        all.push(Counted {
            model: model.name,
            transitions,
            instructions: profile.total,
            per_transition: by_stage(&profile, STAGES, transitions)?,
        });
    }
    match measured.format {
        Format::Text => print!("{}", table(&all).text()),
        Format::Markdown => print!("{}", table(&all).markdown()),
        Format::Json => {
            let json = serde_json::to_string_pretty(&all).map_err(|e| e.to_string())?;
            println!("{json}");
        }
    }
    Ok(())
}

/// The instructions per transition of each stage, then of all else.
fn by_stage(
    profile: &Profile,
    stages: &[Stage],
    transitions: u64,
) -> Result<Vec<(&'static str, f64)>> {
    let found = stages
        .iter()
        .map(|stage| Ok((stage.name, executed(profile, stage)?)))
        .collect::<Result<Vec<_>>>()?;
    let functions = || found.iter().flat_map(|(_, functions)| functions);
    for outer in functions() {
        if let Some(inner) = functions().find(|inner| profile.reaches(outer, inner)) {
            return Err(format!(
                "`{inner}` would be counted twice, as `{outer}` calls it: {REMEDY}"
            ));
        }
    }
    let mut rest = profile.total;
    let mut shares = Vec::new();
    for (name, functions) in &found {
        let costs = functions.iter().filter_map(|name| profile.inclusive(name));
        let cost: u64 = costs.sum();
        rest = rest.checked_sub(cost).ok_or("the stages overlap")?;
        shares.push((*name, cost as f64 / transitions as f64));
    }
    shares.push((OTHER, rest as f64 / transitions as f64));
    Ok(shares)
}

const REMEDY: &str = "bring the table of stages in bench/src/instructions.rs up to date";

/// The functions of a stage that were executed.
fn executed(profile: &Profile, stage: &Stage) -> Result<Vec<&'static str>> {
    let mut executed = Vec::new();
    for names in stage.functions {
        let before = executed.len();
        let known = |name: &&&'static str| profile.inclusive(name).is_some();
        executed.extend(names.iter().filter(known).copied());
        if executed.len() == before && !stage.may_be_missing {
            return Err(format!(
                "{}: `{}` was not executed, or has no symbol: {REMEDY}",
                stage.name,
                names.join("`, `")
            ));
        }
    }
    Ok(executed)
}

fn table(all: &[Counted]) -> Table {
    let mut head = vec!["model", "transitions", "instructions", "per transition"];
    head.extend(STAGES.iter().map(|stage| stage.name));
    head.push(OTHER);
    let mut table = Table::new(1, &head);
    for one in all {
        let mut row = vec![
            one.model.to_owned(),
            grouped(one.transitions),
            grouped(one.instructions),
            format!("{:.0}", one.instructions as f64 / one.transitions as f64),
        ];
        let shares = one.per_transition.iter();
        row.extend(shares.map(|(_, count)| format!("{count:.0}")));
        table.row(row);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    const TWO_STAGES: &[Stage] = &[
        Stage {
            name: "step",
            functions: &[&["step"]],
            may_be_missing: false,
        },
        Stage {
            name: "store",
            functions: &[&["encode"], &["insert", "insert_compressed"]],
            may_be_missing: false,
        },
    ];

    fn profile(text: &str) -> Profile {
        Profile::parse(text).unwrap()
    }

    const OUTPUT: &str = "\
fn=search
1 100
cfn=step
calls=4 1
1 400
cfn=encode
calls=4 1
1 200
cfn=insert_compressed
calls=4 1
1 300
fn=step
1 400
fn=encode
1 200
fn=insert_compressed
1 300
totals: 1000
";

    #[test]
    fn what_is_in_no_stage_is_told_as_well() {
        assert_eq!(
            by_stage(&profile(OUTPUT), TWO_STAGES, 10).unwrap(),
            [("step", 40.0), ("store", 50.0), (OTHER, 10.0)]
        );
    }

    #[test]
    fn a_function_that_is_not_found_is_an_error() {
        let without = OUTPUT.replace("fn=encode", "fn=encode_all");
        let error = by_stage(&profile(&without), TWO_STAGES, 10).unwrap_err();
        assert!(
            error.starts_with("store: `encode` was not executed"),
            "{error}"
        );
    }

    #[test]
    fn a_stage_within_a_stage_is_an_error() {
        let nested = OUTPUT.replace(
            "fn=step\n1 400",
            "fn=step\n1 200\ncfn=encode\ncalls=1 1\n1 200",
        );
        let error = by_stage(&profile(&nested), TWO_STAGES, 10).unwrap_err();
        assert!(error.contains("`encode` would be counted twice"), "{error}");
    }
}
