//! What running executions has shown, for programs.

use raddle_machine::Program;
use raddle_report::json::{self, CheckReport};

use super::super::property_names;
use super::super::report::{assumptions, unreached};
use super::Findings;
use crate::args::Check;
use crate::memory;

pub(in super::super) fn report(
    args: &Check,
    program: &Program,
    findings: &Findings,
    diagnostics: Vec<json::Diagnostic>,
) -> CheckReport {
    let found = &findings.found;
    let explorer = findings.exploration.how.name;
    CheckReport {
        verdict: findings.verdict(),
        reason: findings.reason.clone(),
        file: program.source().name.clone(),
        plan: format!("executions one by one: {explorer}, as asked for"),
        granularity: args.step.granularity.name().into(),
        properties: property_names(findings.exploration.properties, args),
        transitions: found.steps,
        depth: found.longest as u64,
        seconds: findings.elapsed.as_secs_f64(),
        peak_memory_bytes: memory::peak_bytes(),
        statistics: json::Statistics {
            terminated: found.terminated,
            cut: found.cut,
            deadlocked: found.deadlocked,
            failed: found.failed,
            ..json::Statistics::default()
        },
        assumptions: assumptions(&findings.assumptions),
        exploration: Some(json::Exploration {
            explorer: explorer.into(),
            bound: findings.exploration.parameters.bound,
            verified_up_to_bound: findings.verified_up_to_bound(),
            seed: findings.exploration.parameters.seed,
            depth: findings.exploration.parameters.depth,
            executions: found.executions,
            classes: Some(found.classes),
            steps: Some(found.steps),
            longest: Some(found.longest as u64),
        }),
        violations: findings
            .stories
            .iter()
            .map(|(kind, story)| json::Violation::new(*kind, story))
            .collect(),
        unreached: unreached(program, &findings.unreached),
        diagnostics,
        ..CheckReport::default()
    }
}
