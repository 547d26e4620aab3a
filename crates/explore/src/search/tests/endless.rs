//! A thread that goes through ever new states by itself: no limit of the search may be missed because these states are not stored.

use std::time::{Duration, Instant};

use super::*;
use crate::parts::{Packed, Renamed};
use crate::system::{
    Access, AccessKind, Choice, Fault, Footprint, Location, Place, Position, Step,
};

/// Threads that count, each in a variable of its own.
#[derive(Clone, Default)]
struct Growing {
    /// How far each counts.
    most: u64,
    tried: u64,
}

const THREADS: usize = 2;

impl System for Growing {
    type State = [u64; THREADS];

    fn initial(&mut self) -> Self::State {
        [0; THREADS]
    }
    fn thread_count(&self, _: &Self::State) -> usize {
        THREADS
    }
    fn step(
        &mut self,
        state: &Self::State,
        thread: Position,
        _: Choice,
        step: &mut Step<Self::State>,
    ) {
        self.tried += 1;
        step.footprint.clear();
        step.next_choice = None;
        step.after = *state;
        step.status = Status::Moved;
        if self.ended(state, thread) {
            step.status = Status::Ended;
            return;
        }
        step.after[thread.index()] += 1;
        step.footprint.push(Access {
            location: Location(thread.0.into()),
            writes: true,
            kind: AccessKind::Atomic,
            place: Place(thread.0),
        });
    }
    fn canonicalise(&mut self, _: &mut Self::State) -> Renamed {
        Renamed::Nothing
    }
    fn encode(&self, state: &Self::State, packed: &mut Packed) {
        packed.clear();
        packed.extend(state);
        packed.end_part();
    }
    fn decode(&self, words: &[u64], state: &mut Self::State) {
        state.copy_from_slice(words);
    }
    fn broken_invariant(&mut self, _: &Self::State, _: &mut Footprint) -> Option<Fault> {
        None
    }
    fn failed(&self, _: &Self::State) -> bool {
        false
    }
    fn ended(&self, state: &Self::State, thread: Position) -> bool {
        state[thread.index()] >= self.most
    }
    fn place(&self, _: &Self::State, thread: Position) -> Place {
        Place(thread.0)
    }
}

/// Guards against searches that would take a hundred thousand steps for each state that the limit is short of.
#[test]
fn states_that_are_passed_through_count_for_the_limit_on_states() {
    for workers in [1, 2] {
        for order in ORDERS {
            for mut reduction in crate::reductions::all::<Growing>() {
                let mut system = Growing {
                    most: u64::MAX,
                    tried: 0,
                };
                let search = Search::new().order(order).workers(workers);
                let outcome = search
                    .max_states(5_000)
                    .run(&mut system, reduction.as_mut());
                let name = reduction.name();
                let cut = outcome.explored.cut().map(|cut| cut.kind);
                assert_eq!(cut, Some(Kind::States), "{name}, {order:?}");
                assert_eq!(outcome.verdict(), Verdict::Inconclusive);
                assert!(
                    system.tried < 1_000_000,
                    "{name}, {order:?}: {}",
                    system.tried
                );
            }
        }
    }
}

#[test]
fn other_limits_hold_on_the_way() {
    for mut reduction in crate::reductions::all::<Growing>() {
        for (limit, search) in [
            (Kind::Time, Search::new().timeout(Duration::from_millis(20))),
            (Kind::Memory, Search::new().max_memory(1 << 20)),
        ] {
            let mut system = Growing {
                most: u64::MAX,
                tried: 0,
            };
            let begun = Instant::now();
            let outcome = search.run(&mut system, reduction.as_mut());
            let name = reduction.name();
            let cut = outcome.explored.cut().map(|cut| cut.kind);
            assert_eq!(cut, Some(limit), "{name}");
            assert!(begun.elapsed() < Duration::from_secs(20), "{name}");
        }
    }
}

/// What is passed through counts only where it was ended by force.
#[test]
fn long_prefixes_that_end_do_not_count() {
    let mut system = Growing {
        most: 5_000,
        tried: 0,
    };
    let mut reduction = crate::reductions::cartesian::Cartesian::default();
    let outcome = (Search::new().max_states(10)).run(&mut system, &mut reduction);
    assert!(outcome.is_verified());
    assert_eq!(outcome.statistics.passed_states, 0);
}
