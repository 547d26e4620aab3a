//! Optimistic reduction: a visible step and the invisible ones after it.
//!
//! Stoller and Cohen, "Optimistic Synchronization-Based State-Space Reduction" (2003).
//!
//! Variables are *unshared*, *protected* or *unprotected*. A step is *visible* if it accesses an
//! unprotected variable or takes exclusive access (acquires a lock, and the like); all other
//! steps are *invisible*, and must left-commute with those of other threads. A step of the
//! reduced system is one visible step of a thread and as many invisible ones as follow. The
//! classification is found by the way: all variables start out unshared or protected by
//! all locks, accesses in the reduced system are checked, and when one does not
//! keep to the classification, that is refined and the search starts again. The point of the
//! paper is that checking it on the reduced system is enough: a violation is reachable there
//! if it is at all.
//!
//! Guarantee: every state in which no thread has an invisible step is reached. So
//! assertions, runtime errors, disciplines, goals, deadlocks (blocked threads have no invisible
//! steps) and races (racing accesses are visible) are preserved, and invariants through their
//! observer.
//!
//! Departures from the paper:
//!
//! - Releasing a lock changes an exclusive access predicate, and is visible in the paper. But
//!   it left-commutes, which is all that the theorem asks of an invisible step; the same goes
//!   for the other left movers (see [`movers`](crate::movers)).
//! - A state that is repeated on an invisible path becomes a scheduling point: the paper assumes
//!   that there are no infinite invisible runs.
//! - A thread that is blocked, has ended or has several alternatives one of which is blocked
//!   ends its step.
//! - Violations of the classification are looked for in every state, also between the visible
//!   ones, and what a blocked guard reads is an access.
//! - In a boundary state a thread may have an invisible step next (in the initial state, for one; the
//!   paper assumes that it has none). It is then taken like a visible one.

use raddle_store::Batch;

use crate::interior::{Interior, Run, Shape, Start};
use crate::movers::{Movers, Protection};
use crate::property::{Property, PropertySet};
use crate::reduction::{
    BlockedThread, Effort, End, Lessons, PendingAccess, Reduction, Visitor, add_pending,
    for_each_race,
};
use crate::system::{Choice, Footprint, Position, Step, System};

/// A visible step and the invisible ones after it.
pub struct Optimistic<S: System> {
    movers: Movers,
    interior: Interior<S>,
    step: Step<S::State>,
    blocked: Vec<BlockedThread>,
    pending: Vec<PendingAccess>,
    reads: Footprint,
}

impl<S: System> Default for Optimistic<S> {
    fn default() -> Self {
        Self {
            movers: Movers::default(),
            interior: Interior::default(),
            step: Step::default(),
            blocked: Vec::new(),
            pending: Vec::new(),
            reads: Footprint::new(),
        }
    }
}

impl<S: System> Optimistic<S> {
    /// The accesses that each thread is about to make, in the order of threads.
    fn find_pending(&mut self, system: &mut S, state: &S::State, visitor: &mut dyn Visitor<S>) {
        self.pending.clear();
        for position in 0..system.thread_count(state) {
            let thread = Position(position as u32);
            let mut next = Some(Choice::FIRST);
            while let Some(choice) = next {
                system.step(state, thread, choice, &mut self.step);
                next = self.step.next_choice;
                if self.step.status.makes_its_accesses() {
                    add_pending(&mut self.pending, thread, &self.step);
                }
                // A choice can have billions of alternatives. What was found so far is real.
                if next.is_some() && visitor.interrupted(self.held_bytes()) {
                    return;
                }
            }
        }
    }
}

impl<S: System> Reduction<S> for Optimistic<S> {
    fn name(&self) -> &'static str {
        "optimistic"
    }

    fn preserves(&self) -> PropertySet {
        PropertySet::SAFETY
    }

    fn expand(&mut self, system: &mut S, state: &S::State, visitor: &mut dyn Visitor<S>) -> Effort {
        let mut effort = Effort::default();
        let properties = visitor.properties();
        self.interior.note_boundary(system, state, &mut effort);
        if properties.contains(Property::Invariant) {
            self.reads.clear();
            system.broken_invariant(state, &mut self.reads);
            self.movers.observe(system, state, &self.reads);
        }
        self.blocked.clear();
        let mut stuck = true;
        for position in 0..system.thread_count(state) {
            let thread = Position(position as u32);
            let mut run = Run {
                thread,
                shape: Shape::VisibleThenInvisible,
                movers: &mut self.movers,
                lock_order: None,
                visitor,
                effort: &mut effort,
                start: Start::default(),
            };
            self.interior.explore(system, state, &mut run);
            let start = run.start;
            stuck &= !start.enabled;
            effort.endless += u64::from(start.endless);
            if start.blocked {
                self.blocked.push(BlockedThread {
                    thread,
                    place: system.place(state, thread),
                    assumption: !start.blocked_without_assumption,
                });
            }
        }
        if properties.contains(Property::Race) {
            self.find_pending(system, state, visitor);
            for_each_race(&self.pending, |race| visitor.race(system, &[], state, race));
        }
        if stuck {
            let end = End::of(&self.blocked, system.failed(state));
            visitor.end(system, &[], state, end, &self.blocked);
        }
        effort
    }

    fn expand_plainly(
        &mut self,
        system: &mut S,
        properties: PropertySet,
        batch: &mut Batch,
    ) -> Option<Effort> {
        if properties.contains(Property::Race) {
            return None;
        }
        (self.interior).explore_plainly(system, &self.movers, properties, batch)
    }

    fn may_race(&self) -> bool {
        self.movers.protection.may_race()
    }

    fn held_bytes(&self) -> usize {
        self.interior.held_bytes()
            + self.movers.protection.held_bytes()
            + self.pending.capacity() * size_of::<PendingAccess>()
    }

    fn is_outdated(&self) -> bool {
        self.movers.protection.is_outdated()
    }

    fn begin_round(&mut self) {
        self.movers.begin_round();
        self.interior.begin_round();
    }

    /// The classification that it has come to.
    fn protection(&self) -> Option<&Protection> {
        Some(&self.movers.protection)
    }

    fn lessons(&self) -> Option<Lessons> {
        Some(Lessons {
            protection: self.movers.protection.clone(),
            ..Lessons::default()
        })
    }

    fn adopt(&mut self, lessons: &Lessons) {
        self.movers.protection.clone_from(&lessons.protection);
    }

    /// Nobody else can be watched, or count visited states with it.
    fn for_another_worker<'w>(&self) -> Option<Box<dyn Reduction<S> + Send + 'w>>
    where
        S: 'w,
    {
        if self.movers.protection.keeps_places() || self.interior.is_watched() {
            return None;
        }
        let mut other = Self::default();
        other.adopt(&self.lessons()?);
        Some(Box::new(other))
    }

    fn count_visited(&mut self) {
        self.interior.count_visited();
    }
}
