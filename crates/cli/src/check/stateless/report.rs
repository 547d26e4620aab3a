//! What running executions adds to the report for programs.

use raddle_report::json::{self, CheckReport};

use super::super::findings::Findings;
use super::Examined;

pub(in super::super) fn report(findings: &Findings, examined: &Examined) -> CheckReport {
    let Examined { exploration, found } = examined;
    let statistics = &found.statistics;
    let explorer = exploration.how.name;
    CheckReport {
        plan: format!("executions one by one: {explorer}, as asked for"),
        transitions: statistics.steps.unwrap_or(0),
        depth: statistics.longest.unwrap_or(0),
        seconds: statistics.elapsed.as_secs_f64(),
        statistics: json::Statistics::from(statistics.ends),
        exploration: Some(json::Exploration {
            bound: exploration.parameters.bound,
            seed: exploration.parameters.seed,
            depth: exploration.parameters.depth,
            ..json::Exploration::of(explorer, statistics, &findings.answer())
        }),
        ..CheckReport::default()
    }
}
