//! Cartesian partial-order reduction: every thread runs ahead for as long as nobody else
//! minds.
//!
//! After Gueta, Flanagan, Yahav, Sagiv, "Cartesian Partial-Order Reduction" (2007): `CalcCV`
//! of figure 6 is `calc_cv.rs`, the loop of figure 7 is the search, and figure 8 is the search
//! with several workers.
//!
//! From a boundary state `s`, each thread gets a *prefix*: the steps that it makes from `s` on
//! if nobody else moves. Together they are a *cartesian vector*: of any two steps of different
//! prefixes that depend on each other, both are the last of their prefixes. The boundary
//! states after `s` are the ends of the prefixes, one for each thread. A prefix that comes back
//! to a state that it has been in is infinite and has no end.
//!
//! # Guarantee
//!
//! Preserves all properties. Take any execution from `s`. If it goes on with an infinite prefix
//! beyond the step with which that comes back, until then only steps happened that are
//! independent of the whole round; without the round it leads to the same state, so let it be
//! without. Now either it completes a finite prefix; let
//! the first that it completes be that of T. Until then nobody else has made a last step, so
//! the steps of T depend on nothing before them, and can be moved to the front: the execution is
//! one from the end of the prefix, which is a boundary state, and shorter by the prefix. Or it
//! completes none, and then each thread is somewhere in its prefix, and in the local state that
//! it has there. By induction:
//!
//! - every local state of every thread is met on a prefix, hence every fault (theorem 1 of
//!   the paper);
//! - where an execution ends, every thread is stuck at the end of an infinite prefix
//!   that ends in a transition to itself, for every other prefix has a step left that is enabled.
//!   So all end states are found, deadlocks among them, with their very states;
//! - where two threads are about to race, their pending steps depend on each other, so
//!   these are the last ones of both prefixes; all races are found, each with its places;
//! - an infinite execution makes for a cycle of boundary states, or for a prefix that comes back
//!   and is not stuck. The latter are counted, since no stored edge tells of them;
//! - an invariant is a local property of an *observer*, a thread that waits for it to break. It
//!   looks at boundary states only, and what it reads depends on every step that changes it.
//!
//! # Departures from the paper
//!
//! Each is a [`Repair`](crate::repair::Repair) with a test that fails without it, or
//! something that the paper leaves open.
//!
//! - The end of a thread is a transition to itself that touches nothing. Otherwise the last real
//!   step of a thread stays the last of its prefix for ever, though nothing comes after it.
//! - A blocked thread's transition to itself reads what its guard has read; so whoever
//!   wakes it depends on it.
//! - When two last steps depend on each other, both threads stop, in the minimal vector
//!   too (figure 6 says so; the text does not).
//! - Whether a prefix comes back is told from whole states.
//! - The paper has no choices. A step with alternatives never extends a prefix. As a first
//!   step it makes one prefix of one step for each alternative, which all touch what any of them
//!   touches, blocked ones included.
//! - The paper has no dynamic threads. A spawn ends its prefix: the new thread has none.
//! - A thread that fails has ended.
//! - Deadlocks, races and invariants as above. The paper claims local properties only, and
//!   proposes the observer.
//! - The step with which an infinite prefix comes back counts as its last one, as figure 6 has
//!   it if it is read to the letter; by the definitions in the text it has none. Both are sound:
//!   whatever comes after that step would have come without the round.
//! - The paper's tables come from an implementation that takes a prefix for infinite later than
//!   figure 6 does; [`CycleTest`] selects which.
//! - A prefix of a hundred thousand steps ends, so that expansions end though a program may have
//!   infinitely many states.

mod calc_cv;
#[cfg(test)]
mod tests;
mod touches;
mod visited;

use crate::parts::{Changed, Packed};
use crate::property::{Property, PropertySet};
use crate::reduction::{
    BlockedThread, Effort, End, PendingAccess, Reduction, Visitor, add_pending, for_each_race,
};
use crate::system::{AccessKind, Action, Choice, Footprint, Position, Status, Step, System};
use calc_cv::{Expansion, SelfLoop, steps_of};
use touches::Touches;
use visited::{Visited, VisitedId};

/// When a prefix counts as infinite. Both are sound.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum CycleTest {
    /// When it comes to a state that it has been in: figure 6 to the letter.
    #[default]
    ToTheLetter,
    /// When it comes to a state from which it has been extended before, which is how
    /// the numbers in the paper's tables came about. A thread that is stuck is noticed one
    /// round later.
    AsPublished,
}

/// Every thread runs ahead until its steps depend on those of another.
pub struct Cartesian<S: System> {
    cycle_test: CycleTest,
    /// The prefixes of the threads, then that of the observer, then unused ones.
    cv: Vec<Prefix<S::State>>,
    threads: usize,
    /// How many prefixes are in use: one for each thread, and perhaps one for the observer.
    prefixes: usize,
    touches: Touches,
    visited: Visited,
    /// The expanded state in it, if it is.
    expanded: Option<VisitedId>,
    /// Pairs of prefixes whose last transitions depend on each other.
    dependent: Vec<(usize, usize)>,
    /// Whether two threads were about to race in some vector.
    raced: bool,

    // Kept from expansion to expansion so that they need not be allocated anew.
    step: Step<S::State>,
    packed: Packed,
    canonical: S::State,
    path: Vec<Action>,
    extendable: Vec<usize>,
    others: Vec<usize>,
    blocked: Vec<BlockedThread>,
    pending: Vec<PendingAccess>,
}

/// The prefix of one thread.
#[derive(Default)]
struct Prefix<State> {
    kind: Kind,
    /// Whether more transitions may be added.
    extendable: bool,
    /// All transitions, those from a state to itself included.
    transitions: usize,
    /// How many of them were made; if none, `last` means nothing.
    moves: usize,
    /// `last(CV[i])`, not in canonical form until it is reported.
    last: State,
    /// Which of its parts differ from those of the expanded state, at most.
    changed: Changed,
    /// What `last_tran(CV[i])` touches.
    last_tran: Footprint,
    /// Whether that is a transition from a state to itself. Then all later ones are the same.
    self_loop: Option<SelfLoop>,
    /// Whether there is a fault on it after which the visitor does not want to go on. The
    /// vector is the same, but nothing is reported that comes after the fault.
    abandoned: bool,
    /// The last state among those that the prefix has been in, once that has been asked.
    visited: Option<VisitedId>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Kind {
    #[default]
    Finite,
    Infinite,
    /// One prefix for each alternative of the first transition; reported already.
    Choice,
}

/// The visitor does not want to hear more.
struct Interrupted;

impl<S: System> Default for Cartesian<S> {
    fn default() -> Self {
        Self::with_cycle_test(CycleTest::default())
    }
}

impl<S: System> Cartesian<S> {
    /// The reduction with that way to tell that a prefix is infinite.
    #[must_use]
    pub fn with_cycle_test(cycle_test: CycleTest) -> Self {
        Self {
            cycle_test,
            cv: Vec::new(),
            threads: 0,
            prefixes: 0,
            touches: Touches::default(),
            visited: Visited::default(),
            expanded: None,
            dependent: Vec::new(),
            raced: false,
            step: Step::default(),
            packed: Packed::default(),
            canonical: S::State::default(),
            path: Vec::new(),
            extendable: Vec::new(),
            others: Vec::new(),
            blocked: Vec::new(),
            pending: Vec::new(),
        }
    }

    /// The memory of its tables; all other buffers are as small as a few states.
    fn tables_bytes(&self) -> usize {
        self.touches.held_bytes()
            + self.visited.held_bytes()
            + self.dependent.capacity() * size_of::<(usize, usize)>()
    }

    fn report_successors(&mut self, at: &mut Expansion<'_, S>) {
        for (i, prefix) in self.cv[..self.threads].iter_mut().enumerate() {
            // A thread that cannot move gets nowhere, even if it has a last transition.
            if prefix.kind == Kind::Finite && prefix.moves > 0 && !prefix.abandoned {
                self.path.clear();
                self.path.extend(steps_of(Position(i as u32), prefix.moves));
                let renamed = at.system.canonicalise(&mut prefix.last);
                let changed = renamed.after(prefix.changed);
                (at.visitor).successor(at.system, &self.path, &prefix.last, changed);
            }
        }
    }

    /// Takes note of how executions go on for ever, or end, without another boundary state.
    fn report_infinite(&mut self, at: &mut Expansion<'_, S>) {
        let threads = &self.cv[..self.threads];
        let infinite = |prefix: &Prefix<_>| prefix.kind == Kind::Infinite;
        let stuck = |prefix: &Prefix<_>| infinite(prefix) && prefix.self_loop.is_some();
        if threads.iter().all(stuck) {
            if !threads.iter().any(|prefix| prefix.abandoned) {
                self.report_end(at);
            }
        } else if threads.iter().any(|p| infinite(p) && !stuck(p)) {
            at.effort.endless += 1;
        }
    }

    /// Reports the state in which all threads are stuck at the ends of their prefixes.
    fn report_end(&mut self, at: &mut Expansion<'_, S>) {
        self.path.clear();
        for (i, prefix) in self.cv[..self.threads].iter().enumerate() {
            self.path.extend(steps_of(Position(i as u32), prefix.moves));
        }
        self.follow_path(at);
        at.system.canonicalise(&mut self.canonical);
        self.blocked.clear();
        let held_bytes = self.tables_bytes();
        for position in 0..at.system.thread_count(&self.canonical) {
            let thread = Position(position as u32);
            let mut assumption = true;
            let mut blocked = false;
            let (state, step) = (&self.canonical, &mut self.step);
            let mut next = Some(Choice::FIRST);
            while let Some(choice) = next {
                at.system.step(state, thread, choice, step);
                next = step.next_choice;
                if let Status::Blocked { assumption: one } = step.status {
                    blocked = true;
                    assumption &= one;
                }
                // A choice can have billions of alternatives. One that is blocked, and not
                // by an assumption, tells all that there is to know.
                if blocked && !assumption {
                    break;
                }
                if next.is_some() && at.visitor.interrupted(held_bytes) {
                    return;
                }
            }
            if blocked {
                let place = at.system.place(&self.canonical, thread);
                self.blocked.push(BlockedThread {
                    thread,
                    place,
                    assumption,
                });
            }
        }
        let end = End::of(&self.blocked, at.system.failed(&self.canonical));
        let (path, blocked) = (&self.path, &self.blocked);
        (at.visitor).end(at.system, path, &self.canonical, end, blocked);
    }

    /// Reports the races between last transitions.
    fn report_races(&mut self, at: &mut Expansion<'_, S>) {
        let dependent = std::mem::take(&mut self.dependent);
        for &(i, j) in &dependent {
            if self.last_transitions_race(i, j) {
                self.report_race(at, i, j);
            }
        }
        self.dependent = dependent;
    }

    fn has_race(&self) -> bool {
        let mut pairs = self.dependent.iter();
        pairs.any(|&(i, j)| self.last_transitions_race(i, j))
    }

    /// Whether the last transitions of two prefixes touch something plain in conflict.
    fn last_transitions_race(&self, i: usize, j: usize) -> bool {
        let plain = |i: usize| {
            let accesses = self.cv[i].last_tran.iter();
            accesses.filter(|access| access.kind == AccessKind::Plain)
        };
        i < self.threads
            && j < self.threads
            && self.cv[i].self_loop.is_none()
            && self.cv[j].self_loop.is_none()
            && plain(i).any(|one| plain(j).any(|other| one.conflicts_with(other)))
    }

    /// Reports the races between two threads that have run up to their last transitions.
    fn report_race(&mut self, at: &mut Expansion<'_, S>, i: usize, j: usize) {
        let threads = [i, j].map(|i| Position(i as u32));
        self.path.clear();
        for thread in threads {
            let inner = self.cv[thread.index()].moves.saturating_sub(1);
            self.path.extend(steps_of(thread, inner));
        }
        self.follow_path(at);
        // What is pending is looked up again, under the names of the canonical state.
        let mut names = threads.map(|thread| {
            self.step.after.clone_from(&self.canonical);
            (at.system).canonicalise_following(&mut self.step.after, thread)
        });
        names.sort_unstable();
        at.system.canonicalise(&mut self.canonical);
        self.pending.clear();
        let held_bytes = self.tables_bytes();
        for thread in names {
            let (state, step) = (&self.canonical, &mut self.step);
            let mut next = Some(Choice::FIRST);
            while let Some(choice) = next {
                at.system.step(state, thread, choice, step);
                next = step.next_choice;
                if step.status.makes_its_accesses() {
                    add_pending(&mut self.pending, thread, step);
                }
                // What was found so far is real.
                if next.is_some() && at.visitor.interrupted(held_bytes) {
                    break;
                }
            }
        }
        for_each_race(&self.pending, |race| {
            (at.visitor).race(at.system, &self.path, &self.canonical, race);
        });
    }

    /// Goes along the path from the expanded state, without bringing the state at its end into
    /// canonical form.
    fn follow_path(&mut self, at: &mut Expansion<'_, S>) {
        self.canonical.clone_from(at.s);
        for taken in &self.path {
            (at.system).step(&self.canonical, taken.thread, taken.choice, &mut self.step);
            std::mem::swap(&mut self.canonical, &mut self.step.after);
        }
    }
}

impl<S: System> Reduction<S> for Cartesian<S> {
    fn name(&self) -> &'static str {
        match self.cycle_test {
            CycleTest::ToTheLetter => "cartesian",
            CycleTest::AsPublished => "cartesian-paper",
        }
    }

    fn preserves(&self) -> PropertySet {
        PropertySet::SAFETY
    }

    fn expand(&mut self, system: &mut S, state: &S::State, visitor: &mut dyn Visitor<S>) -> Effort {
        let mut at = Expansion {
            system,
            s: state,
            visitor,
            effort: Effort::default(),
        };
        if self.calc_cv(&mut at).is_ok() {
            if at.visitor.properties().contains(Property::Race) {
                self.report_races(&mut at);
            }
            // All races show in a vector as two last transitions; one is enough to know.
            self.raced = self.raced || self.has_race();
            self.report_successors(&mut at);
            self.report_infinite(&mut at);
        }
        at.effort
    }

    fn may_race(&self) -> bool {
        self.raced
    }

    fn held_bytes(&self) -> usize {
        self.tables_bytes()
    }

    fn for_another_worker<'w>(&self) -> Option<Box<dyn Reduction<S> + Send + 'w>>
    where
        S: 'w,
    {
        Some(Box::new(Self::with_cycle_test(self.cycle_test)))
    }
}
