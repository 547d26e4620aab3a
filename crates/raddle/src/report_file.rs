//! What came of a check, as JSON.

use std::io;
use std::path::Path;

use raddle_outcome::Assumptions;
use raddle_report::json;
use raddle_report::story::Story;
use serde::Serialize;

use crate::check::{Failed, Report};
use crate::rt::{Place, Program, spot};

/// The file. Fields are added in later versions, never changed.
#[derive(Serialize)]
struct File<'a> {
    format: &'static str,
    version: u32,
    /// `verified`, `bounded`, `incomplete` or `failed`.
    verdict: &'static str,
    executions: u64,
    /// For `bounded`: all schedules with at most so many preemptions were covered.
    bound: Option<u32>,
    classes: Option<u64>,
    /// How many executions do not count, because an assumption does not hold in them.
    cut: u64,
    /// What was left out, cut, bounded or guessed.
    assumptions: Vec<json::Assumption>,
    failure: Option<Failure<'a>>,
    /// All failures that differ, if the check went on after the first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    found: Vec<Found<'a>>,
}

#[derive(Serialize)]
struct Found<'a> {
    kind: String,
    message: &'a str,
    /// What `RADDLE_REPLAY` takes.
    schedule: &'a str,
    /// How many executions failed so.
    executions: u64,
}

#[derive(Serialize)]
struct Failure<'a> {
    kind: String,
    message: &'a str,
    /// What `RADDLE_REPLAY` takes.
    schedule: &'a str,
    story: Story,
}

fn assumptions(all: &Assumptions<Place>) -> Vec<json::Assumption> {
    let all = all.clone().map_places(spot);
    all.iter().map(json::Assumption::from).collect()
}

pub(crate) fn write(
    path: &Path,
    result: &Result<Report, Failed>,
    program: &Program,
) -> io::Result<()> {
    let mut file = File {
        format: "raddle-check",
        version: 1,
        verdict: "failed",
        executions: 0,
        bound: None,
        classes: None,
        cut: 0,
        assumptions: assumptions(&program.assumptions()),
        failure: None,
        found: Vec::new(),
    };
    match result {
        Ok(report) => {
            file.verdict = match report {
                Report { complete: true, .. } => "verified",
                Report { bound: Some(_), .. } => "bounded",
                Report { .. } => "incomplete",
            };
            file.executions = report.executions;
            file.bound = report.bound;
            file.classes = report.classes;
            file.cut = report.cut;
            file.assumptions = assumptions(&report.assumptions);
        }
        Err(failed) => {
            file.executions = failed.executions;
            let found = failed.found.different.iter().map(|found| Found {
                kind: format!("{:?}", found.failure.kind),
                message: &found.failure.message,
                schedule: &found.schedule,
                executions: found.executions,
            });
            file.found = found.collect();
            file.failure = Some(Failure {
                kind: format!("{:?}", failed.failure.kind),
                message: &failed.failure.message,
                schedule: &failed.schedule,
                story: program.story(),
            });
        }
    }
    let mut text = serde_json::to_string_pretty(&file)?;
    text.push('\n');
    std::fs::write(path, text)
}
