//! What searches add to the report for programs.

use std::sync::Arc;

use raddle_explore::{Outcome, Property};
use raddle_machine::Program;
use raddle_report::json::{self, CheckReport};

use super::searches::{Searched, answer_of};
use super::{depth, plan, visited};
use crate::args::Check;

pub(super) fn report(args: &Check, program: &Arc<Program>, searched: &Searched) -> CheckReport {
    let decisive = searched.decisive();
    CheckReport {
        reduction: decisive.asked.reduction.into(),
        plan: plan::line(searched, args, program),
        search: args.search.name().into(),
        states: decisive.statistics.states,
        transitions: args.counting.transitions(&decisive.statistics),
        depth: depth(decisive),
        seconds: decisive.statistics.elapsed.as_secs_f64(),
        statistics: statistics(args, decisive),
        runs: searched.runs.iter().map(|one| run(args, one)).collect(),
        symmetry: searched.symmetry.clone(),
        possible_deadlocks: plan::open_reasons(searched, args, program)
            .map(|reasons| reasons.to_json())
            .unwrap_or_default(),
        ..CheckReport::default()
    }
}

fn statistics(args: &Check, outcome: &Outcome) -> json::Statistics {
    let statistics = &outcome.statistics;
    let visited = visited(args, outcome);
    json::Statistics {
        blocked_steps: statistics.blocked_steps,
        ended_steps: statistics.ended_steps,
        peak_frontier: statistics.peak_frontier,
        search_memory_bytes: statistics.memory_bytes,
        visited_states: visited,
        interior_states: visited.map(|visited| visited - statistics.states),
        forced_ends: statistics.forced_ends,
        endless: statistics.endless,
        rounds: statistics.rounds,
        ..json::Statistics::from(statistics.ends)
    }
}

fn run(args: &Check, outcome: &Outcome) -> json::Run {
    let statistics = &outcome.statistics;
    let properties = outcome.asked.properties.iter().map(Property::name);
    let answer = answer_of(outcome);
    json::Run {
        reduction: outcome.asked.reduction.into(),
        properties: properties.map(str::to_owned).collect(),
        verdict: answer.verdict,
        reason: answer.reason,
        states: statistics.states,
        transitions: args.counting.transitions(statistics),
        depth: depth(outcome),
        visited_states: visited(args, outcome),
        forced_ends: statistics.forced_ends,
        rounds: statistics.rounds,
        seconds: statistics.elapsed.as_secs_f64(),
        search_memory_bytes: statistics.memory_bytes,
    }
}
