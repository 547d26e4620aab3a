//! The findings of a check, for programs.

use std::sync::Arc;

use raddle_explore::{Outcome, Property};
use raddle_lang::Span;
use raddle_machine::Program;
use raddle_outcome::Assumptions;
use raddle_report::json::{self, CheckReport};
use raddle_report::story::Spot;

use super::searches::{Findings, reason_of, verdict_of};
use super::{depth, first_line, plan, property_names, transitions, visited};
use crate::args::Check;
use crate::memory;

pub(super) fn report(
    args: &Check,
    program: &Arc<Program>,
    findings: &Findings,
    diagnostics: Vec<json::Diagnostic>,
) -> CheckReport {
    let decisive = findings.decisive();
    let source = program.source();
    CheckReport {
        verdict: findings.verdict(),
        reason: findings.reason(),
        file: source.name.clone(),
        reduction: decisive.reduction.into(),
        plan: plan::line(findings, args, program),
        search: args.search.name().into(),
        granularity: args.step.granularity.name().into(),
        properties: property_names(findings.checked(args), args),
        states: decisive.statistics.states,
        transitions: transitions(args, decisive),
        depth: depth(decisive),
        seconds: decisive.statistics.elapsed.as_secs_f64(),
        peak_memory_bytes: memory::peak_bytes(),
        statistics: statistics(args, decisive),
        runs: findings
            .runs
            .iter()
            .map(|outcome| run(args, outcome))
            .collect(),
        possible_deadlocks: plan::open_reasons(findings, args, program)
            .map(|reasons| reasons.to_json())
            .unwrap_or_default(),
        assumptions: assumptions(&findings.assumptions()),
        violations: findings
            .stories
            .iter()
            .map(|(kind, story)| json::Violation::new(*kind, story))
            .collect(),
        unreached: unreached(program, &findings.unreached),
        never_ends: findings.never_ends.as_deref().map(places),
        diagnostics,
        ..CheckReport::default()
    }
}

fn places(spots: &[Spot]) -> Vec<json::Unreached> {
    let place = |at: &Spot| json::Unreached {
        file: at.file.clone(),
        line: at.line,
        column: at.column,
        text: at.text.clone(),
    };
    spots.iter().map(place).collect()
}

/// Places that no execution gets to.
pub(super) fn unreached(program: &Program, spans: &[Span]) -> Vec<json::Unreached> {
    let source = program.source();
    spans
        .iter()
        .map(|span| {
            let at = source.line_column(span.start);
            json::Unreached {
                file: source.name.clone(),
                line: at.line,
                column: at.column,
                text: first_line(source.snippet(*span)),
            }
        })
        .collect()
}

/// What the verdict rests on.
pub(super) fn assumptions(all: &Assumptions<Spot>) -> Vec<json::Assumption> {
    all.iter().map(json::Assumption::from).collect()
}

fn statistics(args: &Check, outcome: &Outcome) -> json::Statistics {
    let statistics = &outcome.statistics;
    let visited = visited(args, outcome);
    json::Statistics {
        blocked_steps: statistics.blocked_steps,
        ended_steps: statistics.ended_steps,
        terminated: statistics.terminated,
        cut: statistics.cut,
        deadlocked: statistics.deadlocked,
        failed: statistics.failed,
        peak_frontier: statistics.peak_frontier,
        search_memory_bytes: statistics.memory_bytes,
        visited_states: visited,
        interior_states: visited.map(|visited| visited - statistics.states),
        forced_ends: statistics.forced_ends,
        endless: statistics.endless,
        rounds: statistics.rounds,
    }
}

fn run(args: &Check, outcome: &Outcome) -> json::Run {
    let statistics = &outcome.statistics;
    let properties = outcome.properties.iter().map(Property::name);
    json::Run {
        reduction: outcome.reduction.into(),
        properties: properties.map(str::to_owned).collect(),
        verdict: verdict_of(outcome),
        reason: reason_of(outcome),
        states: statistics.states,
        transitions: transitions(args, outcome),
        depth: depth(outcome),
        visited_states: visited(args, outcome),
        forced_ends: statistics.forced_ends,
        rounds: statistics.rounds,
        seconds: statistics.elapsed.as_secs_f64(),
        search_memory_bytes: statistics.memory_bytes,
    }
}
