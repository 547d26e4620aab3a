//! Transactions: threads switch only between them.
//!
//! Flanagan and Qadeer, "Transactions for Software Model Checking" (2003), with the completion
//! of Levin, Palmer, Qadeer and Rajamani, "Sound Transaction-based Reduction without Cycle
//! Detection" (2005).
//!
//! A transaction of a thread is a sequence of right movers, then one step of any kind, at which
//! it *commits*, then left movers. Any execution can be rearranged, by
//! moving right movers to the right and left movers to the left, so that the transactions that
//! have committed follow one another without interleaving, and those that have not come
//! last. So only transactions need to be explored. [Movers](crate::movers) are told
//! from exclusive access, declared or inferred; [`Completion`] makes sure that a
//! transaction ends after its commit.
//!
//! Guarantee: if a thread can reach a local state, then it does so in the reduced search. So
//! assertions, runtime errors, declared disciplines and goals are preserved, and
//! invariants through their observer. Deadlocks and races are not: a thread that waits for a
//! lock before its commit is not seen waiting. But the [order of locks](crate::lock_order)
//! often excludes deadlocks, or shows where to look.
//!
//! Departures from the papers:
//!
//! - The papers explore all transactions in one depth-first search, and a state in it
//!   is *in* the transaction of at most one thread. Here a transaction is a private search of one
//!   thread from a boundary state (see [`interior`](crate::interior)). "All other threads are
//!   outside of a transaction" is then no property of a state but of the search, and two threads
//!   that both commit and loop for ever cannot block each other.
//! - A transaction starts in the phase before its commit, whatever its first step (the first
//!   paper: only in the initial state; the second: never). A boundary state is outside of
//!   every transaction, so nothing that happened before it is relied on, and
//!   transactions become longer.
//! - A thread that cannot move after its commit ends its transaction, also where
//!   line L19 of the second paper would not.
//! - Local steps are both-movers; the second paper leaves their movers undefined.
//! - All alternatives of a step are looked at before a state after the commit is passed by:
//!   the second paper has only deterministic shared steps, but a `notify` has as many
//!   alternatives as there are waiters.

use raddle_store::Batch;

use crate::interior::{Completion, Interior, Run, Shape, Start, Watch};
use crate::lock_order::{Deadlocks, LockOrder};
use crate::movers::{Movers, Protection};
use crate::property::{Property, PropertySet};
use crate::reduction::{BlockedThread, Effort, End, Lessons, Reduction, Visitor};
use crate::system::{Footprint, Position, System};

/// Threads switch only between transactions.
pub struct Transactions<S: System> {
    completion: Completion,
    movers: Movers,
    lock_order: LockOrder,
    interior: Interior<S>,
    blocked: Vec<BlockedThread>,
    reads: Footprint,
}

impl<S: System> Default for Transactions<S> {
    fn default() -> Self {
        Self::with_completion(Completion::default())
    }
}

impl<S: System> Transactions<S> {
    /// Transactions that are completed that way.
    #[must_use]
    pub fn with_completion(completion: Completion) -> Self {
        Self {
            completion,
            movers: Movers::default(),
            lock_order: LockOrder::default(),
            interior: Interior::default(),
            blocked: Vec::new(),
            reads: Footprint::new(),
        }
    }

    /// Has every step and every end of a transaction told to somebody, from the next
    /// round on, and keeps the locks that are held at each place.
    pub fn watch(&mut self, watch: Box<dyn Watch<S>>) {
        self.movers.protection.keep_places();
        self.interior.watch = Some(watch);
    }

    /// Stops that.
    pub fn unwatch(&mut self) -> Option<Box<dyn Watch<S>>> {
        self.interior.watch.take()
    }
}

impl<S: System> Reduction<S> for Transactions<S> {
    fn name(&self) -> &'static str {
        match self.completion {
            Completion::Scc => "transactions",
            Completion::None => "transactions-none",
            Completion::Cycle => "transactions-cycle",
            Completion::Cpc => "transactions-cpc",
            Completion::CpcL19 => "transactions-cpc-l19",
        }
    }

    fn preserves(&self) -> PropertySet {
        match self.completion.is_sound() {
            true => PropertySet::SAFETY
                .without(Property::Deadlock)
                .without(Property::Race),
            false => PropertySet::NONE,
        }
    }

    fn expand(&mut self, system: &mut S, state: &S::State, visitor: &mut dyn Visitor<S>) -> Effort {
        let mut effort = Effort::default();
        self.interior.note_boundary(system, state, &mut effort);
        if visitor.properties().contains(Property::Invariant) {
            self.reads.clear();
            system.broken_invariant(state, &mut self.reads);
            self.movers.observe(system, state, &self.reads);
        }
        self.blocked.clear();
        let (mut enabled, mut ended, mut cut) = (false, false, false);
        for position in 0..system.thread_count(state) {
            let thread = Position(position as u32);
            let mut run = Run {
                thread,
                shape: Shape::Transaction(self.completion),
                movers: &mut self.movers,
                lock_order: Some(&mut self.lock_order),
                visitor,
                effort: &mut effort,
                start: Start::default(),
            };
            self.interior.explore(system, state, &mut run);
            let start = run.start;
            enabled |= start.enabled;
            ended |= start.ended;
            cut |= start.cut_before_commit;
            effort.endless += u64::from(start.endless);
            effort.cut_between += u64::from(start.cut_before_commit && start.ended);
            if start.blocked {
                self.blocked.push(BlockedThread {
                    thread,
                    place: system.place(state, thread),
                    assumption: !start.blocked_without_assumption,
                });
            }
        }
        if !enabled {
            let end = End::of(&self.blocked, system.failed(state));
            visitor.end(system, &[], state, end, &self.blocked);
        } else if cut && !ended {
            // Some thread could move, but not to its commit.
            visitor.end(system, &[], state, End::Cut, &[]);
        }
        effort
    }

    fn expand_plainly(
        &mut self,
        system: &mut S,
        properties: PropertySet,
        batch: &mut Batch,
    ) -> Option<Effort> {
        (self.interior).explore_plainly(system, &self.movers, properties, batch)
    }

    fn may_race(&self) -> bool {
        self.movers.protection.may_race()
    }

    fn held_bytes(&self) -> usize {
        self.interior.held_bytes()
            + self.movers.protection.held_bytes()
            + self.lock_order.held_bytes()
    }

    fn is_outdated(&self) -> bool {
        self.movers.protection.is_outdated()
    }

    fn begin_round(&mut self) {
        self.movers.begin_round();
        self.interior.begin_round();
    }

    fn protection(&self) -> Option<&Protection> {
        Some(&self.movers.protection)
    }

    fn deadlocks(&self) -> Option<Deadlocks> {
        (self.completion.is_sound()).then(|| self.lock_order.deadlocks())
    }

    fn lessons(&self) -> Option<Lessons> {
        Some(Lessons {
            protection: self.movers.protection.clone(),
            lock_order: self.lock_order.clone(),
            ..Lessons::default()
        })
    }

    fn adopt(&mut self, lessons: &Lessons) {
        self.movers.protection.clone_from(&lessons.protection);
        self.lock_order.clone_from(&lessons.lock_order);
    }

    /// Nobody else can be watched, or count visited states with it.
    fn for_another_worker<'w>(&self) -> Option<Box<dyn Reduction<S> + Send + 'w>>
    where
        S: 'w,
    {
        if self.movers.protection.keeps_places() || self.interior.is_watched() {
            return None;
        }
        let mut other = Self::with_completion(self.completion);
        other.adopt(&self.lessons()?);
        Some(Box::new(other))
    }

    fn count_visited(&mut self) {
        self.interior.count_visited();
    }
}
