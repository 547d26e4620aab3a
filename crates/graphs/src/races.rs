//! Data races: two accesses of a location, not both atomic, at least one of which writes, and neither of which happens before the other.
//!
//! All accesses of shared memory are events, so that plain and atomic accesses of one location may be mixed, and an access has the clock of its event.
//! Events are made in an order that extends happens-before. So an access is compared with those that were made before it: of two that race one comes first, and
//! happens-before belongs to the graph, not to the order. What was made is kept for each location; executions are short.

use raddle_explore::Place;
use raddle_memory::Location;

/// An access of a location.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Access {
    /// Who makes it, by position.
    pub(crate) position: usize,
    /// The number of the thread.
    pub(crate) thread: usize,
    /// How many events of the thread come before it.
    pub(crate) index: u32,
    pub(crate) writes: bool,
    pub(crate) is_atomic: bool,
    pub(crate) place: Place,
}

impl Access {
    fn conflicts_with(&self, other: &Self) -> bool {
        (self.writes || other.writes) && !(self.is_atomic && other.is_atomic)
    }

    /// Whether it happens before what has this clock.
    fn is_before(&self, thread: usize, clock: &[u32]) -> bool {
        self.thread == thread
            || clock
                .get(self.thread)
                .is_some_and(|&known| known > self.index)
    }
}

/// Two accesses that race.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Race {
    pub(crate) one: Access,
    pub(crate) other: Access,
}

/// The accesses of an execution.
#[derive(Debug, Default)]
pub(crate) struct Accesses {
    of: Vec<Vec<Access>>,
}

impl Accesses {
    /// Forgets all, for a new execution.
    pub(crate) fn clear(&mut self) {
        self.of.iter_mut().for_each(Vec::clear);
    }

    /// Takes note of an access with this clock. The race, if it is part of one.
    pub(crate) fn add(&mut self, location: Location, new: Access, clock: &[u32]) -> Option<Race> {
        if self.of.len() <= location.index() {
            self.of.resize_with(location.index() + 1, Vec::new);
        }
        let known = &mut self.of[location.index()];
        let races = |old: &&Access| old.conflicts_with(&new) && !old.is_before(new.thread, clock);
        let one = known.iter().find(races).copied();
        known.push(new);
        one.map(|one| Race { one, other: new })
    }
}
