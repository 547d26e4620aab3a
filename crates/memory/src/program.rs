//! [`Program`]: all that the explorer knows of a program.
//!
//! A program is run again and again from its beginning, one event at a time, and every read is answered by the explorer. What an implementation
//! promises:
//!
//! - **Determined.** What a thread does next is determined by what its events so far have read and chosen. It is announced as a plain value, an
//!   [`Operation`], before it is made.
//! - **Stable names.** A thread has the same [`ThreadId`] in all executions in which its parent starts it as its n-th child. Ids are small numbers.
//! - **Stable objects.** An operation names its object by a [`Location`](crate::Location). Programs that know all objects beforehand number them
//!   themselves. Others leave the location of an object open until [`answer`](Program::answer) tells it: in a replay, the graph knows which location
//!   the event is on. From then on until the next [`restart`](Program::restart) the object is named so. A program never mixes both ways.
//! - **Silent in between.** What a thread does between its events affects other threads only through the events. (Plain memory that is free of data
//!   races is fine: happens-before is part of the order in which a replay makes events.)
//!
//! # Two kinds of programs
//!
//! *Real code* runs on stacks of its own. `next` is the operation that a thread has announced before it waits for the answer; its object has a
//! location if an event of this run has told it one. `answer` binds the object to the location of the event, hands the value over, and lets the thread
//! run to its next operation. The explorer answers with values of this run only, so they may be addresses. A loop that waits ends in
//! [`Blocked::Spinning`] after an iteration in which nothing has changed; what knows how long that takes is the program, not the explorer.
//!
//! *An interpreter* keeps the local state of each thread. `next` looks at the next instruction that touches shared memory, `answer` executes it with
//! the value that the event has, and `restart` goes back to the initial state. All objects have numbers beforehand.

use raddle_schedule::{Diverged, ThreadId};

use crate::graph::{Event, EventId};
use crate::operation::Operation;

/// What a thread does next.
#[derive(Clone, Copy, Debug)]
pub enum Next {
    /// An event. An operation that waits is announced just so; the explorer makes it when it can be made.
    Operation(Operation),
    /// It will do nothing after what it has read.
    Blocked(Blocked),
    /// It has ended.
    Ended,
    /// It has failed, and does nothing more. The other threads go on.
    Failed,
}

/// Why a thread is blocked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blocked {
    /// The program says that the execution does not count: an `assume`.
    Infeasible,
    /// The execution is given up for this reason, a loop with too many iterations say. The exploration is then not complete.
    LeftOut(raddle_outcome::Kind),
    /// It spins. Its events from this number on are an iteration after which it is in the same local state as before, and which has left all
    /// locations as they were: it has written nothing, or what it had read, or has taken locks and given them back.
    Spinning {
        /// The first event of the iteration.
        since: u32,
    },
}

/// What the explorer answers to an operation.
#[derive(Clone, Copy, Debug)]
pub struct Answer<'a> {
    /// The event that was made of it, with the location, and the value that was read or chosen.
    pub event: &'a Event,
    /// For each thread, how many of its events happen before what the thread does after this event. See [`races`](crate::races).
    pub clock: &'a [u32],
    /// If it writes: all writes of the location in modification order, also those that this run has not made yet.
    pub writes: &'a [EventId],
}

/// A program that can be run again and again.
pub trait Program {
    /// Begins a new execution, giving up the one under way.
    fn restart(&mut self);

    /// The threads that were started so far, those that have ended too.
    fn threads(&self) -> &[ThreadId];

    /// What a thread does next. It may be asked any number of times.
    fn next(&mut self, thread: ThreadId) -> Next;

    /// Makes what [`next`](Self::next) has announced, and runs the thread up to where its next operation is known.
    ///
    /// # Errors
    ///
    /// If the program finds that it does something else than in an earlier execution with the same answers.
    fn answer(&mut self, thread: ThreadId, answer: Answer<'_>) -> Result<(), Diverged>;
}
