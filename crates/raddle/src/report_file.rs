//! What came of a check, as JSON: the same report that `raddle check --format json` prints.

use std::path::Path;

use raddle_report::answer::Answer;
use raddle_report::json::{self, CheckReport, ViolationKind};
use raddle_report::story::{Ending, Note, Story};
use raddle_schedule::explorers::{Parameters, by_name};

use crate::Options;
use crate::explore::Checked;
use crate::print;
use crate::rt::{Failure, FailureKind, Place, Program, spot};

/// Writes the report.
///
/// # Panics
///
/// If that is not possible.
pub(crate) fn write(path: &Path, report: &CheckReport) {
    std::fs::write(path, report.to_json()).unwrap_or_else(|error| {
        panic!(
            "raddle: the report can't be written to {}: {error}",
            path.display()
        )
    });
}

/// What there is to report of a check that was asked for there, and has come to nothing.
pub(crate) fn error(reason: &str, place: Place) -> CheckReport {
    CheckReport {
        file: place.file().into(),
        reason: Some(reason.into()),
        ..CheckReport::default()
    }
}

/// What there is to report of a check that has just ended, and was asked for there.
pub(crate) fn report(program: &Program, checked: &Checked, place: Place) -> CheckReport {
    let (options, statistics) = (&checked.asked, &checked.statistics);
    let rests_on = checked.explored.clone().map_places(spot);
    let answer = Answer::of(&rests_on, checked.violations.len());
    let parameters = parameters(options);
    CheckReport {
        file: place.file().into(),
        plan: format!("executions one by one: {}", explorer(options)),
        granularity: "operation".into(),
        properties: properties(options),
        seconds: statistics.elapsed.as_secs_f64(),
        statistics: json::Statistics::from(statistics.ends),
        exploration: Some(json::Exploration {
            bound: parameters.bound,
            seed: parameters.seed,
            depth: parameters.depth,
            ..json::Exploration::of(explorer(options), statistics, &answer)
        }),
        ..CheckReport::of(&rests_on, violations(program, checked))
    }
}

/// What it was run with, defaults included.
fn parameters(options: &Options) -> Parameters {
    let said = Parameters {
        bound: options.bound,
        seed: options.seed,
        depth: Some(options.depth),
    };
    match by_name(explorer(options)) {
        Some(entry) => entry.effective(&said),
        None => Parameters {
            bound: options.bound,
            ..Parameters::default()
        },
    }
}

fn explorer(options: &Options) -> &str {
    match &options.replay {
        Some(_) => "replay",
        None => options.explorer.as_deref().unwrap_or("default"),
    }
}

/// What an execution can be wrong in.
fn properties(options: &Options) -> Vec<String> {
    let kinds = [
        FailureKind::Panic,
        FailureKind::Deadlock,
        FailureKind::DataRace,
        FailureKind::LiveLock,
        FailureKind::TooManySteps,
        FailureKind::Diverged,
    ];
    let leaks = options.leaks.then_some(FailureKind::Leak);
    let memory = [FailureKind::UseAfterFree, FailureKind::DoubleFree];
    let memory = memory.into_iter().filter(|_| options.finds_memory_errors());
    let kinds = kinds.into_iter().chain(leaks).chain(memory);
    kinds.map(|kind| kind_of(kind).to_string()).collect()
}

fn kind_of(kind: FailureKind) -> ViolationKind {
    match kind {
        FailureKind::Panic => ViolationKind::Panic,
        FailureKind::Deadlock | FailureKind::SelfDeadlock => ViolationKind::Deadlock,
        FailureKind::DataRace | FailureKind::UnsynchronisedPublication => ViolationKind::Race,
        FailureKind::UseAfterFree => ViolationKind::UseAfterFree,
        FailureKind::DoubleFree => ViolationKind::DoubleFree,
        FailureKind::Leak => ViolationKind::Leak,
        FailureKind::LiveLock => ViolationKind::Livelock,
        FailureKind::TooManySteps => ViolationKind::Steps,
        FailureKind::Diverged => ViolationKind::Nondeterminism,
    }
}

/// The failure whose execution the program has just made, and then the others.
fn violations(program: &Program, checked: &Checked) -> Vec<json::Violation> {
    let numbered = checked.violations.iter().enumerate();
    numbered
        .map(|(number, found)| {
            let story = match number {
                0 => program.story(),
                _ => ending(&found.failure),
            };
            violation(
                &found.failure,
                &story,
                print::schedule(&found.schedule, &program.stepping()),
            )
        })
        .collect()
}

fn violation(failure: &Failure, story: &Story, schedule: String) -> json::Violation {
    json::Violation {
        message: failure.message.clone(),
        replay: Some(schedule),
        ..json::Violation::new(kind_of(failure.kind), story)
    }
}

/// A failure whose execution is not told.
fn ending(failure: &Failure) -> Story {
    let note = |remark: &crate::rt::Remark| Note {
        thread: None,
        at: remark.at.clone(),
        text: remark.text.clone(),
    };
    Story {
        ending: Ending {
            message: failure.message.clone(),
            notes: failure.places().map(note).collect(),
            help: failure.help().map(note).collect(),
            ..Ending::default()
        },
        ..Story::default()
    }
}
