//! [`Execution`]: everything an explorer knows about a program.
//!
//! A program is something that can be run again and again from its beginning, one step at a
//! time. Its state is never looked at and never stored. What an explorer learns are the
//! *accesses* of each step: which locations it touched, and how. Two steps that touch nothing
//! in common, or touch it in ways that commute, can change places; everything else is
//! ordered, and that order is the happens-before relation of the execution.
//!
//! What an implementation promises:
//!
//! - **Determined.** The next step of a thread is determined by what the thread has done and
//!   read so far, but for explicit alternatives; running the same moves again gives the same steps.
//! - **Honest.** A step lists every location that it looks at or changes, also those that
//!   decide whether it is blocked and which accesses it makes.
//! - **Commuting.** Two steps whose accesses do not [conflict](Mode::conflicts_with) give the
//!   same result in both orders, and neither enables or disables the other.
//! - **Stable names.** A thread has the same [`ThreadId`] in all executions in which its parent
//!   starts it as its n-th child. A [`LocationId`] means something within one execution only, but
//!   is the same in two executions that begin with the same moves, for everything that a step
//!   made by then, or the next step of some thread after them, touches.

use crate::trace::{Cut, Trace};

/// A thread: 0 is the main thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ThreadId(pub u32);

impl ThreadId {
    /// The thread that an execution begins with.
    pub const MAIN: Self = Self(0);

    /// The number as an index.
    #[must_use]
    #[inline]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A location: something that threads share, numbered from 0 in each execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LocationId(pub u32);

impl LocationId {
    /// The number as an index.
    #[must_use]
    #[inline]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// One step of a schedule: who moves, and which of its alternatives it takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Move {
    /// Who moves.
    pub thread: ThreadId,
    /// Which alternative of the step it takes, from 0.
    pub choice: u32,
}

/// How a location is touched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mode {
    /// It is looked at: reading, and every operation that fails and so changes nothing (a
    /// failed compare-exchange, a failed try-lock).
    Read,
    /// It is changed in a way that commutes with other changes of this mode, by adding to
    /// its value: taking and giving back a lock for reading.
    Shared,
    /// It is changed.
    Write,
}

impl Mode {
    /// Whether the order of two accesses to one location matters.
    #[must_use]
    #[inline]
    pub fn conflicts_with(self, other: Self) -> bool {
        self == Self::Write || self != other
    }
}

/// One location that a step touches.
///
/// `before` and `after` are the part of the location's value that decides what other steps can
/// do there: the value of an atomic, whether a lock is held and by how many readers, how many
/// messages a channel holds. For a [`Mode::Read`] both are the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ValuedAccess {
    /// What is touched.
    pub location: LocationId,
    /// How.
    pub mode: Mode,
    /// The value found.
    pub before: u64,
    /// The value left.
    pub after: u64,
}

/// What a thread can do next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Readiness {
    /// Its next step can be made.
    Enabled,
    /// Its next step has to wait for other threads.
    Blocked,
    /// There is no next step.
    Ended,
}

/// What an explorer sees of a step that was made, or that would be.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Observed {
    /// What it touches: each location at most once. Which one is the first was decided when the thread came to the step, and
    /// does not depend on what others do before it is made.
    pub accesses: Vec<ValuedAccess>,
    /// The threads whose next step comes after this one although no location says so: those
    /// that it starts, and those that it wakes.
    pub wakes: Vec<ThreadId>,
    /// How many alternatives it had; at least 1.
    pub alternatives: u32,
    /// Whether it was only possible because no other thread could make a step otherwise: it then comes after
    /// everything. (A spin loop that waits for nothing that can still happen goes on.)
    pub last_resort: bool,
    /// Whether its thread polls, and only waits to make it until something of what it touches has changed, in whatever way. (A step that waits
    /// otherwise waits for something in particular: that a lock is free, say.)
    pub polls: bool,
}

impl Clone for Observed {
    fn clone(&self) -> Self {
        let mut step = Self::default();
        step.clone_from(self);
        step
    }

    // Keeps its memory.
    fn clone_from(&mut self, source: &Self) {
        self.accesses.clone_from(&source.accesses);
        self.wakes.clone_from(&source.wakes);
        self.alternatives = source.alternatives;
        self.last_resort = source.last_resort;
        self.polls = source.polls;
    }
}

impl Observed {
    /// Makes it the step that touches nothing, keeping its memory.
    #[inline]
    pub fn clear(&mut self) {
        self.accesses.clear();
        self.wakes.clear();
        self.alternatives = 1;
        self.last_resort = false;
        self.polls = false;
    }
}

/// A program that can be run again and again.
pub trait Execution {
    /// Begins a new execution, giving up the one under way.
    fn restart(&mut self);

    /// The threads that were started so far, those that have ended too.
    fn threads(&self) -> &[ThreadId];

    /// How many locations were numbered so far: these have the same numbers in all executions that begin
    /// with the same moves. All numbers, if they never depend on the schedule.
    fn location_count(&self) -> usize {
        usize::MAX
    }

    /// What a thread of this execution can do next.
    fn readiness(&self, thread: ThreadId) -> Readiness;

    /// How many alternatives the next step of an enabled thread has; at least 1.
    fn alternatives(&self, thread: ThreadId) -> u32;

    /// Lets an enabled thread make its next step, up to where its following step is known, and
    /// says what it did. An alternative that the step does not have is an error of the caller, but may
    /// come from a schedule that was written by hand; the first one is then taken.
    ///
    /// # Errors
    ///
    /// If the program did something else than in an earlier execution with the same moves, which it only
    /// finds if it remembers them.
    fn step(&mut self, next: Move, step: &mut Observed) -> Result<(), Diverged>;

    /// Begins a new execution and makes the moves of a trace, which are those that the execution before began with. The trace
    /// gets the values that are found: what is an address differs from run to run.
    ///
    /// # Errors
    ///
    /// As for [`step`](Self::step).
    fn replay(&mut self, trace: &mut Trace, step: &mut Observed) -> Result<(), Diverged> {
        self.restart();
        for event in 0..trace.len() {
            self.step(trace.events()[event].step, step)?;
            trace.refresh(event, &step.accesses);
        }
        Ok(())
    }

    /// Says what step number `number` of `thread` (counted from 0) would do in the state after the events of
    /// `cut`, which are all of the thread's earlier steps and some of the others'. Returns whether
    /// it could be made there; the accesses are those that it would make if it could. The step is one that the thread has
    /// made in this execution, or its next one. Alternatives are irrelevant: it is asked for the first.
    fn foresee(
        &mut self,
        trace: &Trace,
        cut: &Cut,
        thread: ThreadId,
        number: u32,
        step: &mut Observed,
    ) -> bool;
}

/// A program did not do the same when it was run again: something that the explorer does not
/// control (time, addresses, random numbers, the state of an earlier execution) decides what it does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diverged {
    /// What it did the first time.
    pub expected: String,
    /// What it did now.
    pub found: String,
}
