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
    /// What was left out, cut, bounded or guessed.
    assumptions: Vec<json::Assumption>,
    failure: Option<Failure<'a>>,
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
        assumptions: assumptions(&program.assumptions()),
        failure: None,
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
            file.assumptions = assumptions(&report.assumptions);
        }
        Err(failed) => {
            file.executions = failed.executions;
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
