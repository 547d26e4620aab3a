//! What running executions adds to the report for programs.

use raddle_report::json::{self, CheckReport};

use super::super::findings::Findings;
use super::Explored;

pub(in super::super) fn report(findings: &Findings, explored: &Explored) -> CheckReport {
    let Explored {
        exploration,
        found,
        elapsed,
    } = explored;
    let explorer = exploration.how.name;
    CheckReport {
        plan: format!("executions one by one: {explorer}, as asked for"),
        transitions: found.steps,
        depth: found.longest as u64,
        seconds: elapsed.as_secs_f64(),
        statistics: json::Statistics {
            terminated: found.terminated,
            cut: found.cut,
            deadlocked: found.deadlocked,
            failed: found.failed,
            ..json::Statistics::default()
        },
        exploration: Some(json::Exploration {
            explorer: explorer.into(),
            bound: exploration.parameters.bound,
            verified_up_to_bound: findings.answer().verified_up_to_bound,
            seed: exploration.parameters.seed,
            depth: exploration.parameters.depth,
            executions: found.executions,
            classes: Some(found.classes),
            steps: Some(found.steps),
            longest: Some(found.longest as u64),
        }),
        ..CheckReport::default()
    }
}
