//! [`Reduction`]: a function from boundary states to boundary states.
//!
//! A *boundary state* is one in which every thread may be scheduled. Only
//! boundary states are stored. From one of them, a reduction finds the next
//! ones and tells a [`Visitor`] about them, and about everything of interest
//! that it met on the way: faults, data races, states in which nothing can move.
//! What lies between two boundary states is the reduction's own affair.
//!
//! A reduction knows nothing of the search (its order, its store, its limits), and
//! a search nothing of the reduction.
//!
//! # Example
//!
//! ```
//! use raddle_explore::{reductions, testing::Counters, *};
//!
//! /// Counts what it is told.
//! #[derive(Default)]
//! struct Count { successors: usize }
//!
//! impl<S: System> Visitor<S> for Count {
//!     fn successor(&mut self, _: &mut S, _: &[Action], _: &S::State, _: Changed) { self.successors += 1; }
//! }
//!
//! // Three threads, each of which can move.
//! let mut system = Counters::racing(3);
//! let initial = system.initial();
//! let mut count = Count::default();
//! let effort = reductions::full::Full::default().expand(&mut system, &initial, &mut count);
//! assert_eq!(count.successors, 3);
//! assert_eq!(effort.transitions, 3);
//! ```

use raddle_outcome::Ends;
use raddle_store::Batch;

use crate::lock_order::{Deadlocks, LockOrder};
use crate::movers::Protection;
use crate::parts::Changed;
use crate::property::PropertySet;
use crate::system::{Access, AccessKind, Action, Fault, Place, Position, Step, Successors, System};

/// A way to leave out schedules, or not to.
///
/// An expansion must be a function of the state, of the properties that the visitor asks for
/// and of what the reduction has learned, whatever else the visitor answers: counterexamples are found again by expanding states a second time. What it
/// learns may change its expansions once: then it says that it is
/// [outdated](Self::is_outdated), and the search starts again.
pub trait Reduction<S: System> {
    /// The name that users write.
    fn name(&self) -> &'static str;

    /// Which properties it preserves: if one of them is violated in the program, the
    /// reduced search meets a violation of it. (Whatever is found is real under any
    /// reduction.)
    fn preserves(&self) -> PropertySet;

    /// Tells the visitor what there is one step of the reduction further from a
    /// boundary state, which is in canonical form, and what it cost to find out.
    fn expand(&mut self, system: &mut S, state: &S::State, visitor: &mut dyn Visitor<S>) -> Effort;

    /// Expands the state that was begun in a batch, and adds its successors to it, if there is nothing else to tell a
    /// visitor who wants to know of these properties. Otherwise it adds nothing.
    fn expand_plainly(
        &mut self,
        system: &mut S,
        properties: PropertySet,
        batch: &mut Batch,
    ) -> Option<Effort> {
        let _ = (system, properties, batch);
        None
    }

    /// Whether it has learned something since [`begin_round`](Self::begin_round) that makes
    /// expansions so far wrong.
    fn is_outdated(&self) -> bool {
        false
    }

    /// A search begins, from nothing, with what was learned so far.
    fn begin_round(&mut self) {}

    /// How much memory it holds between expansions, whatever for: buffers, tables that it
    /// keeps, what it has learned. It is asked after every expansion.
    fn held_bytes(&self) -> usize {
        0
    }

    /// Whether it leaves out nothing: every state is a boundary state, and every step of every thread
    /// leads from one to another.
    fn keeps_every_step(&self) -> bool {
        false
    }

    /// Whether there may be a data race, as far as it knows after a complete search that did not look
    /// for races. This must cost nothing.
    fn may_race(&self) -> bool {
        true
    }

    /// What it can tell about deadlocks, after a search, if it does not preserve them.
    fn deadlocks(&self) -> Option<Deadlocks> {
        None
    }

    /// What it has inferred about who protects what, if it does.
    fn protection(&self) -> Option<&Protection> {
        None
    }

    /// Counts the states between boundary states too, from the next round on. This takes
    /// as much memory as storing them.
    fn count_visited(&mut self) {}

    /// What it has learned in this round and before, for other workers; nothing if expansions do not depend on anything that is learned.
    fn lessons(&self) -> Option<Lessons> {
        None
    }

    /// Takes what all workers have learned together, in place of what it knew.
    fn adopt(&mut self, lessons: &Lessons) {
        let _ = lessons;
    }

    /// Another instance for another worker of the same round, which knows the same; nothing if
    /// it cannot be shared out.
    fn for_another_worker<'w>(&self) -> Option<Box<dyn Reduction<S> + Send + 'w>>
    where
        S: 'w,
    {
        None
    }
}

/// What a reduction has learned on the way.
///
/// Each worker of a search learns by itself, and now and then all is merged. To merge is to intersect what was thought to be
/// so; nothing is lost by which some worker has come to know better.
#[derive(Clone, Debug, Default)]
pub struct Lessons {
    pub(crate) protection: Protection,
    pub(crate) lock_order: LockOrder,
    /// Whether some step makes a plain access that writes.
    pub(crate) writes_plainly: bool,
}

impl Lessons {
    /// Adds what another worker has learned since both knew the same.
    pub fn merge(&mut self, other: Self) {
        self.protection.merge(other.protection);
        self.lock_order.merge(other.lock_order);
        self.writes_plainly |= other.writes_plainly;
    }
}

/// What an expansion cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Effort {
    /// Steps that were executed (moved, or failed).
    pub transitions: u64,
    /// Steps that were tried and blocked.
    pub blocked_steps: u64,
    /// Threads that were found to have ended.
    pub ended_steps: u64,
    /// States that were visited for the first time, boundary states and those between them;
    /// counted only if the reduction was asked to. A state before a commit point counts
    /// once for every thread that goes through it.
    pub visited_states: u64,
    /// Boundary states that are there only because an execution could go on for ever
    /// without meeting another.
    pub forced_ends: u64,
    /// States of prefixes and transactions that were ended by force because they went through very many: they are not stored, but
    /// count where the number of states is limited. A thread can go through infinitely many without meeting another one.
    pub passed_states: u64,
    /// Executions that go on for ever without meeting another boundary state: more than 0 if
    /// there is one. No successor tells of them.
    pub endless: u64,
    /// Threads that some assumption cuts on the way from here, and that go on elsewhere.
    pub cut_between: u64,
}

impl Effort {
    /// What it costs to make all steps from a state.
    #[must_use]
    pub fn of_steps(steps: &Successors) -> Self {
        Self {
            transitions: steps.moved,
            blocked_steps: steps.blocked,
            ended_steps: steps.ended,
            ..Self::default()
        }
    }
}

/// Who is told about an expansion.
///
/// A *path* is the moves from the expanded state to the state in question. No state on it
/// is brought into canonical form, so threads keep their positions, and new ones come
/// behind the others. (Schedules, which replay, are made of paths by
/// [`canonical_path`](crate::canonical_path).) All states that are handed over are in
/// canonical form.
pub trait Visitor<S: System> {
    /// Which properties the visitor wants to hear about. A reduction may save the
    /// work of looking for violations of others.
    fn properties(&self) -> PropertySet {
        PropertySet::NONE
    }

    /// The next boundary state, after a path of at least one move; and which parts of it differ
    /// from those of the expanded state, at most.
    fn successor(&mut self, system: &mut S, path: &[Action], state: &S::State, changed: Changed);

    /// The last move of the path failed, and its thread has stopped for good. Says whether
    /// the others are to go on: whether the state after it matters any more.
    fn fault(&mut self, system: &mut S, path: &[Action], fault: &Fault) -> bool {
        let _ = (system, path, fault);
        true
    }

    /// Two threads are about to race in `state`, where the path leads.
    fn race(&mut self, system: &mut S, path: &[Action], state: &S::State, race: &Race) {
        let _ = (system, path, state, race);
    }

    /// Nothing can move in `state`, where the path leads. `blocked` are the threads that
    /// have not ended.
    fn end(
        &mut self,
        system: &mut S,
        path: &[Action],
        state: &S::State,
        end: End,
        blocked: &[BlockedThread],
    ) {
        let _ = (system, path, state, end, blocked);
    }

    /// Whether the reduction is to return at once: a limit of the search is reached, or what
    /// was reported in this expansion is all that is needed. A reduction whose expansions can be
    /// long asks now and then, at least once for every few hundred steps, and says
    /// how much memory it holds by then. If it returns early, the search does not claim to have
    /// been complete, unless it is after one violation and has it.
    fn interrupted(&mut self, held_bytes: usize) -> bool {
        let _ = held_bytes;
        false
    }
}

/// A thread that cannot move.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BlockedThread {
    /// Who.
    pub thread: Position,
    /// Where.
    pub place: Place,
    /// Whether all it could do next is blocked at assumptions.
    pub assumption: bool,
}

/// How an execution ended, that is, what a state is in which no thread can move.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum End {
    /// Every thread has ended.
    Terminated,
    /// Some thread waits for ever, and none has failed.
    Deadlock,
    /// Some thread is blocked at an assumption: the execution does not count.
    Cut,
    /// Some thread had failed. What the others wait for may be its doing.
    Failed,
}

impl End {
    /// The end that a state is in which nothing can move, given its blocked
    /// threads and [`System::failed`].
    #[must_use]
    pub fn of(blocked: &[BlockedThread], failed: bool) -> Self {
        if blocked.iter().any(|thread| thread.assumption) {
            Self::Cut
        } else if failed {
            Self::Failed
        } else if blocked.is_empty() {
            Self::Terminated
        } else {
            Self::Deadlock
        }
    }

    /// Counts it.
    pub fn count_in(self, ends: &mut Ends) {
        *match self {
            Self::Terminated => &mut ends.terminated,
            Self::Cut => &mut ends.cut,
            Self::Deadlock => &mut ends.deadlocked,
            Self::Failed => &mut ends.failed,
        } += 1;
    }
}

/// An access that a thread is about to make.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PendingAccess {
    /// Who.
    pub thread: Position,
    /// What.
    pub access: Access,
}

/// Two accesses that different threads are about to make, neither of them
/// synchronised, at least one of them writing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Race {
    /// One of them.
    pub first: PendingAccess,
    /// The other, of a thread with a higher position.
    pub second: PendingAccess,
}

/// Adds the accesses of one alternative of a thread's next step to those that are pending, each
/// once: the alternatives of a choice mostly make the same ones, and there can be billions.
pub(crate) fn add_pending<State>(
    pending: &mut Vec<PendingAccess>,
    thread: Position,
    step: &Step<State>,
) {
    for &access in &step.footprint {
        let access = PendingAccess { thread, access };
        let of_thread = |other: &&PendingAccess| other.thread == thread;
        let mut known = pending.iter().rev().take_while(of_thread);
        if !known.any(|other| *other == access) {
            pending.push(access);
        }
    }
}

/// Calls `found` for every race among accesses that are pending in one state, which
/// are ordered by thread.
pub fn for_each_race(pending: &[PendingAccess], mut found: impl FnMut(&Race)) {
    for (i, first) in pending.iter().enumerate() {
        if first.access.kind != AccessKind::Plain {
            continue;
        }
        for second in &pending[i + 1..] {
            if second.thread != first.thread
                && second.access.kind == AccessKind::Plain
                && first.access.conflicts_with(&second.access)
            {
                found(&Race {
                    first: *first,
                    second: *second,
                });
            }
        }
    }
}
