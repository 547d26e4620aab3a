//! What came of a check, as JSON: the same report that `raddle check --format json` prints.

use std::io;
use std::path::Path;
use std::time::Duration;

use raddle_report::json::{self, CheckReport, ViolationKind};
use raddle_report::story::{Ending, Note, Story};
use raddle_schedule::explorers::{Parameters, by_name};

use crate::Options;
use crate::explore::Explored;
use crate::print;
use crate::rt::{Failure, FailureKind, Place, Program, spot};

/// Writes the report.
pub(crate) fn write(path: &Path, report: &CheckReport) -> io::Result<()> {
    std::fs::write(path, report.to_json())
}

/// What there is to report of a check that has just ended, and was asked for there.
pub(crate) fn report(
    program: &Program,
    options: &Options,
    explored: &Explored,
    (place, elapsed): (Place, Duration),
) -> CheckReport {
    let violations = violations(program, explored);
    let rests_on = explored.explored.clone().map_places(spot);
    let verified_up_to_bound = rests_on.verified_up_to_bound(violations.len());
    let parameters = parameters(options);
    CheckReport {
        file: place.file().into(),
        plan: format!("executions one by one: {}", explorer(options)),
        granularity: "operation".into(),
        properties: properties(options),
        seconds: elapsed.as_secs_f64(),
        statistics: json::Statistics {
            cut: explored.cut,
            ..json::Statistics::default()
        },
        exploration: Some(json::Exploration {
            explorer: explorer(options).into(),
            bound: parameters.bound,
            verified_up_to_bound,
            seed: parameters.seed,
            depth: parameters.depth,
            executions: explored.executions,
            classes: explored.classes,
            steps: None,
            longest: None,
        }),
        ..CheckReport::of(&rests_on, violations)
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
    let kinds = kinds.into_iter().chain(leaks);
    kinds.map(|kind| kind_of(kind).to_string()).collect()
}

fn kind_of(kind: FailureKind) -> ViolationKind {
    match kind {
        FailureKind::Panic => ViolationKind::Panic,
        FailureKind::Deadlock | FailureKind::SelfDeadlock => ViolationKind::Deadlock,
        FailureKind::DataRace => ViolationKind::Race,
        FailureKind::Leak => ViolationKind::Leak,
        FailureKind::LiveLock => ViolationKind::Livelock,
        FailureKind::TooManySteps => ViolationKind::Steps,
        FailureKind::Diverged => ViolationKind::Nondeterminism,
    }
}

/// The failure whose execution the program has just made, and then the others.
fn violations(program: &Program, explored: &Explored) -> Vec<json::Violation> {
    let Some(told) = &explored.failure else {
        return Vec::new();
    };
    let mut all = Vec::new();
    if !explored
        .found
        .different
        .iter()
        .any(|found| found.failure == *told)
    {
        let schedule = print::schedule(&program.schedule());
        all.push(violation(told, &program.story(), schedule));
    }
    for found in &explored.found.different {
        let story = match found.failure == *told {
            true => program.story(),
            false => ending(&found.failure),
        };
        all.push(violation(
            &found.failure,
            &story,
            print::schedule(&found.schedule),
        ));
    }
    all
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
            notes: failure.remarks.iter().map(note).collect(),
            ..Ending::default()
        },
        ..Story::default()
    }
}
