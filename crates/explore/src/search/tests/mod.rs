//! Tests of the engine on small systems.

mod counts;
mod endless;
mod graphs;
mod limits;
mod oracle;
mod parallel;
mod stores;
mod termination;
mod violations;

use raddle_outcome::{Kind, Verdict};
use raddle_store::Flat;
use raddle_store::family::Std;

use super::*;
use crate::reductions::full::Full;
use crate::system::Status;
use crate::testing::{Counters, Op};

const ORDERS: [Order; 3] = [
    Order::BreadthFirst,
    Order::DepthFirst,
    Order::FewestSwitches,
];

fn run(search: Search<'_>, system: &Counters) -> Outcome {
    let outcome = search.run(&mut system.clone(), &mut Full::default());
    for violation in &outcome.violations {
        check_schedule(system, violation);
    }
    outcome
}

/// Why a search proves nothing.
fn reasons(outcome: &Outcome) -> Vec<Kind> {
    assert_eq!(outcome.verdict(), Verdict::Inconclusive);
    let kinds = outcome.explored.assumptions().iter().map(|one| one.kind);
    kinds.filter(|kind| kind.makes_incomplete()).collect()
}

/// The properties that were asked for and are not preserved, in words.
fn lost(outcome: &Outcome) -> Option<String> {
    let lost = outcome.explored.assumptions().find(Kind::NotPreserved)?;
    lost.detail.as_ref().map(ToString::to_string)
}

/// Replays a counterexample and checks that it is one.
fn check_schedule(system: &Counters, violation: &Violation) {
    let system = &mut system.clone();
    let initial = system.initial();
    let last = violation.schedule.len().wrapping_sub(1);
    let mut failed = None;
    let end = crate::replay(system, &initial, &violation.schedule, |_, replayed| {
        match &replayed.step.status {
            Status::Moved => {}
            Status::Failed(fault) if replayed.number == last => {
                failed = Some((replayed.taken.thread, fault.clone()));
            }
            // Before the last move, other threads may have failed.
            Status::Failed(_) => {}
            status => panic!("a move of the schedule is {status:?}"),
        }
    });
    match &violation.cause {
        Cause::Fault { thread, fault } => assert_eq!(failed, Some((*thread, fault.clone()))),
        Cause::Start { thread, fault } => {
            assert!(
                system
                    .failed_starts(&end)
                    .contains(&(*thread, fault.clone()))
            );
        }
        Cause::Invariant { fault } => {
            assert_eq!(
                system.broken_invariant(&end, &mut Vec::new()).as_ref(),
                Some(fault)
            );
        }
        Cause::Deadlock { blocked } => {
            let mut step = crate::Step::default();
            for position in 0..system.thread_count(&end) {
                let thread = crate::Position(position as u32);
                system.step(&end, thread, crate::Choice::FIRST, &mut step);
                let waits = step.status == Status::Blocked { assumption: false };
                assert!(waits || step.status == Status::Ended);
                assert_eq!(waits, blocked.iter().any(|b| b.thread == thread));
            }
            assert!(!blocked.is_empty());
        }
        // It is looked at where such executions are tested.
        Cause::Endless { .. } => {}
        Cause::Race(race) => {
            let mut step = crate::Step::default();
            for pending in [race.first, race.second] {
                system.step(&end, pending.thread, crate::Choice::FIRST, &mut step);
                assert!(step.footprint.contains(&pending.access));
            }
        }
    }
}
