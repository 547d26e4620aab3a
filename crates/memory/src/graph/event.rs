//! [`Event`]: a node of an execution graph.

use raddle_schedule::ThreadId;

use crate::operation::{Location, Operation, Order};

/// The name of an event: where it stands in program order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct EventId {
    /// Its thread.
    pub thread: ThreadId,
    /// Its number among the events of the thread, from 0.
    pub index: u32,
}

impl EventId {
    /// The event of a thread with a number.
    #[must_use]
    pub fn new(thread: ThreadId, index: usize) -> Self {
        Self {
            thread,
            index: index as u32,
        }
    }
}

/// What an event is. An operation that could have been an update and did not write is a [`Read`](Self::Read).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A read.
    Read,
    /// A write.
    Write,
    /// A read and a write that follows it immediately in modification order.
    Update,
    /// A fence.
    Fence,
    /// A choice.
    Choice,
    /// The start of a thread.
    Spawn,
    /// A wait for the end of a thread, which was over.
    Join,
}

impl Kind {
    /// Whether it reads a location.
    #[must_use]
    #[inline]
    pub fn reads(self) -> bool {
        matches!(self, Self::Read | Self::Update)
    }

    /// Whether it writes a location.
    #[must_use]
    #[inline]
    pub fn writes(self) -> bool {
        matches!(self, Self::Write | Self::Update)
    }
}

/// An event of an execution graph.
#[derive(Clone, Debug)]
pub struct Event {
    /// What it is.
    pub kind: Kind,
    /// What the thread had announced. Its values are those of the run that the graph was last replayed in.
    pub operation: Operation,
    /// The location that it reads or writes.
    pub location: Option<Location>,
    /// The ordering that it has, as far as it has one: for an update that fails, that of the failure.
    pub order: Order,
    /// If it reads: the write that it reads from, `None` for the initial value. For a join: the last event of the thread, or its start.
    pub from: Option<EventId>,
    /// The value read, or what was chosen.
    pub read: u64,
    /// The value written.
    pub written: u64,
    /// When it was added.
    pub(crate) stamp: u32,
    /// Its place in modification order, from 1; 0 if it has none.
    pub(crate) place: u32,
}

impl Event {
    /// Its place in the modification order of its location, from 1; 0 if it does not write.
    #[must_use]
    pub fn place(&self) -> u32 {
        self.place
    }

    /// An event that was not added to a graph.
    pub(crate) fn new(kind: Kind, operation: Operation, location: Option<Location>) -> Self {
        Self {
            kind,
            operation,
            location,
            order: operation.order(),
            from: None,
            read: 0,
            written: 0,
            stamp: 0,
            place: 0,
        }
    }
}
