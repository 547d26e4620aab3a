//! [`Trial`]: whether a reduction is worth its while, found out on the first states of a program.
//!
//! A reduction executes more steps for each state than the full search, and each of them costs more. Where it leaves out hardly anything, the
//! full search is faster. That shows early:
//!
//! - `L`, how many steps there are on the way from a state to a successor. The states between are left out.
//! - `b`, how many successors a state has, of those that it has in the full search. Whole executions are left out if it is below one.
//!
//! `b*b / L` is a cautious guess of how many states are left, compared with the full search: mostly there are fewer, and often far fewer. So a
//! reduction is given up only if the guess is near one. Where it leaves out a half, it may well be slower than the full search;
//! but programs of which it leaves out nearly everything look the same at the start.
//!
//! This is a matter of speed alone: whatever the guess, the search that follows is sound.

use std::ops::ControlFlow;

use raddle_store::Batch;

use super::full::Full;
use crate::lock_order::Deadlocks;
use crate::movers::Protection;
use crate::parts::Changed;
use crate::property::PropertySet;
use crate::reduction::{BlockedThread, Effort, End, Lessons, Race, Reduction, Visitor};
use crate::system::{Action, Fault, System};

/// After how many states it is known whether a reduction is worth its while.
pub const STATES: u64 = 1 << 12;

/// If more states than this are expected to be left, compared with the full search, a reduction is not worth its while.
const MOST_LEFT: f64 = 0.8;

/// A reduction that counts how much it leaves out.
///
/// ```
/// use raddle_explore::reductions::{cartesian::Cartesian, trial::Trial};
/// use raddle_explore::{Search, testing::{Counters, Op}};
///
/// // Everybody counts in the same variable: hardly anything can be left out.
/// let count = [Op::Increment(0); 9];
/// let mut cartesian = Cartesian::default();
/// let mut trial = Trial::of(&mut cartesian);
/// let _ = Search::new().run(&mut Counters::new(&[&count[..]; 3]), &mut trial);
/// assert!(!trial.pays());
/// ```
pub struct Trial<'r, S: System> {
    reduction: &'r mut dyn Reduction<S>,
    full: Full<S>,
    tally: Tally,
}

/// What was counted.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Tally {
    successors: u64,
    /// The steps on the ways to them.
    moves: u64,
    /// The successors that the same states have in the full search.
    full_successors: u64,
}

impl Tally {
    /// How many states are expected to be left, compared with the full search.
    fn left(&self) -> f64 {
        if self.successors == 0 || self.full_successors == 0 {
            return 0.0;
        }
        let branches = self.successors as f64 / self.full_successors as f64;
        let length = self.moves as f64 / self.successors as f64;
        branches * branches / length
    }
}

impl<'r, S: System> Trial<'r, S> {
    /// A trial of a reduction.
    pub fn of(reduction: &'r mut dyn Reduction<S>) -> Self {
        Self {
            reduction,
            full: Full::default(),
            tally: Tally::default(),
        }
    }

    /// Whether the search is expected to be worth its while, by what was counted.
    #[must_use]
    pub fn pays(&self) -> bool {
        self.tally.left() <= MOST_LEFT
    }
}

/// Whatever is counted does not change what the reduction does.
impl<S: System> Reduction<S> for Trial<'_, S> {
    fn name(&self) -> &'static str {
        self.reduction.name()
    }

    fn preserves(&self) -> PropertySet {
        self.reduction.preserves()
    }

    fn expand(&mut self, system: &mut S, state: &S::State, visitor: &mut dyn Visitor<S>) -> Effort {
        let mut counting = Counting {
            visitor,
            tally: &mut self.tally,
        };
        let effort = self.reduction.expand(system, state, &mut counting);
        let mut nobody = Nobody {
            patience: ControlFlow::Continue(MOST_QUESTIONS),
        };
        let by_full = self.full.expand(system, state, &mut nobody);
        self.tally.full_successors += by_full.transitions;
        effort
    }

    fn expand_plainly(&mut self, _: &mut S, _: PropertySet, _: &mut Batch) -> Option<Effort> {
        None
    }

    fn is_outdated(&self) -> bool {
        self.reduction.is_outdated()
    }

    fn begin_round(&mut self) {
        self.tally = Tally::default();
        self.reduction.begin_round();
    }

    fn held_bytes(&self) -> usize {
        self.reduction.held_bytes()
    }

    fn keeps_every_step(&self) -> bool {
        self.reduction.keeps_every_step()
    }

    fn may_race(&self) -> bool {
        self.reduction.may_race()
    }

    fn deadlocks(&self) -> Option<Deadlocks> {
        self.reduction.deadlocks()
    }

    fn protection(&self) -> Option<&Protection> {
        self.reduction.protection()
    }

    fn count_visited(&mut self) {
        self.reduction.count_visited();
    }

    fn lessons(&self) -> Option<Lessons> {
        self.reduction.lessons()
    }

    fn adopt(&mut self, lessons: &Lessons) {
        self.reduction.adopt(lessons);
    }
}

/// Hands on what is reported, and counts successors.
struct Counting<'v, S: System> {
    visitor: &'v mut dyn Visitor<S>,
    tally: &'v mut Tally,
}

impl<S: System> Visitor<S> for Counting<'_, S> {
    fn properties(&self) -> PropertySet {
        self.visitor.properties()
    }

    fn successor(&mut self, system: &mut S, path: &[Action], state: &S::State, changed: Changed) {
        self.tally.successors += 1;
        self.tally.moves += path.len() as u64;
        self.visitor.successor(system, path, state, changed);
    }

    fn fault(&mut self, system: &mut S, path: &[Action], fault: &Fault) -> bool {
        self.visitor.fault(system, path, fault)
    }

    fn race(&mut self, system: &mut S, path: &[Action], state: &S::State, race: &Race) {
        self.visitor.race(system, path, state, race);
    }

    fn end(
        &mut self,
        system: &mut S,
        path: &[Action],
        state: &S::State,
        end: End,
        blocked: &[BlockedThread],
    ) {
        self.visitor.end(system, path, state, end, blocked);
    }

    fn interrupted(&mut self, held_bytes: usize) -> bool {
        self.visitor.interrupted(held_bytes)
    }
}

/// Wants to know nothing. A choice can have billions of alternatives: it does not wait for them.
struct Nobody {
    patience: ControlFlow<(), u32>,
}

/// How many alternatives are looked at.
const MOST_QUESTIONS: u32 = 256;

impl<S: System> Visitor<S> for Nobody {
    fn properties(&self) -> PropertySet {
        PropertySet::NONE
    }

    fn successor(&mut self, _: &mut S, _: &[Action], _: &S::State, _: Changed) {}

    fn interrupted(&mut self, _: usize) -> bool {
        self.patience = match self.patience {
            ControlFlow::Continue(left @ 1..) => ControlFlow::Continue(left - 1),
            _ => ControlFlow::Break(()),
        };
        self.patience.is_break()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reductions::by_name;
    use crate::search::Search;
    use crate::testing::Counters;
    use crate::testing::Op::{Increment, Read, WriteNext};

    fn left(name: &str, system: &Counters) -> f64 {
        let mut reduction = by_name(name).unwrap();
        let mut trial = Trial::of(reduction.as_mut());
        let _ = Search::new().run(&mut system.clone(), &mut trial);
        trial.tally.left()
    }

    #[test]
    fn leaving_out_much_pays_and_leaving_out_nothing_does_not() {
        let own = |i| {
            vec![
                Increment(i),
                Read(i),
                WriteNext(i),
                Increment(i),
                Increment(3),
            ]
        };
        let threads: Vec<_> = (0..3).map(own).collect();
        let threads: Vec<&[_]> = threads.iter().map(Vec::as_slice).collect();
        let apart = Counters::new(&threads);
        assert!(left("cartesian", &apart) < 0.5);
        let count = [Increment(0); 9];
        assert!(left("cartesian", &Counters::new(&[&count[..]; 3])) > MOST_LEFT);
        assert!((left("full", &apart) - 1.0).abs() < 1e-9);
    }

    #[test]
    fn a_trial_finds_what_the_reduction_finds() {
        for name in ["full", "optimistic", "transactions", "cartesian"] {
            let system = Counters::racing(4);
            let mut alone = by_name(name).unwrap();
            let expected = Search::new().run(&mut system.clone(), alone.as_mut());
            let mut reduction = by_name(name).unwrap();
            let mut trial = Trial::of(reduction.as_mut());
            let found = Search::new()
                .workers(3)
                .run(&mut system.clone(), &mut trial);
            assert_eq!(found.statistics.states, expected.statistics.states);
            assert_eq!(
                found.statistics.transitions,
                expected.statistics.transitions
            );
            assert_eq!(found.statistics.workers, 1);
            assert_eq!(found.violations.len(), expected.violations.len());
        }
    }
}
