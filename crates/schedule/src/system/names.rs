//! Names that do not depend on the schedule.

use hashbrown::HashMap;
use raddle_explore::System;
use rapidhash::fast::RandomState;

use crate::execution::{Location, ThreadId};

/// Numbers for threads and locations, the same in all executions.
///
/// A system numbers threads as they come. Here a thread is known by its parent and by how many
/// children that had before, and what a thread has made by its maker: neither depends
/// on what other threads did meanwhile.
#[derive(Clone, Debug, Default)]
pub(super) struct Names {
    /// Who started a thread; nobody did start those that are there from the beginning.
    parents: Vec<Option<ThreadId>>,
    children: HashMap<(ThreadId, u32), ThreadId, RandomState>,
    locations: HashMap<Named, Location, RandomState>,
}

/// What a location is known by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Named {
    /// There from the beginning.
    Fixed(raddle_explore::Location),
    /// Made by a thread.
    Made(ThreadId, u64),
    /// All that invariants look at, taken together.
    Invariants,
    /// Which threads there are.
    Threads,
}

impl Names {
    /// Makes sure that the threads of the beginning have numbers: those below this one.
    pub(super) fn begin(&mut self, threads: usize) {
        if self.parents.len() < threads {
            self.parents.resize(threads, None);
        }
    }

    /// The thread that `parent` starts next, in a state with these threads.
    pub(super) fn next_child(&mut self, threads: &[ThreadId], parent: ThreadId) -> ThreadId {
        let siblings = threads
            .iter()
            .filter(|thread| self.parents[thread.index()] == Some(parent));
        let elder = small(siblings.count());
        let new = ThreadId(small(self.parents.len()));
        let child = *self.children.entry((parent, elder)).or_insert(new);
        if child == new {
            self.parents.push(Some(parent));
        }
        child
    }

    /// The number of a location of a state with these threads.
    pub(super) fn location<S: System>(
        &mut self,
        system: &S,
        threads: &[ThreadId],
        location: raddle_explore::Location,
    ) -> Location {
        self.number(match system.maker(location) {
            Some((maker, thing)) => Named::Made(threads[maker.index()], thing),
            None => Named::Fixed(location),
        })
    }

    /// The location that stands for all that invariants look at.
    pub(super) fn invariants(&mut self) -> Location {
        self.number(Named::Invariants)
    }

    /// The location that stands for which threads there are.
    pub(super) fn threads(&mut self) -> Location {
        self.number(Named::Threads)
    }

    fn number(&mut self, named: Named) -> Location {
        let new = Location(small(self.locations.len()));
        *self.locations.entry(named).or_insert(new)
    }
}

fn small(number: usize) -> u32 {
    // There would be no memory for so many.
    u32::try_from(number).expect("too many names")
}
