//! Names that do not depend on the schedule.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hashbrown::HashMap;
use raddle_explore::{Location, System};
use raddle_schedule::{LocationId, ThreadId};
use rapidhash::fast::RandomState;

/// Numbers for threads and locations, the same in all executions, whoever of several workers runs them: a clone gives
/// the same numbers.
///
/// A system numbers threads as they come. Here a thread is known by its parent and by how many
/// children that had before, and what a thread has made by its maker: neither depends
/// on what other threads did meanwhile.
#[derive(Clone, Debug, Default)]
pub(super) struct Names {
    /// Who started a thread, as far as this worker knows; nobody did start those that are there from the beginning.
    parents: Vec<Option<ThreadId>>,
    /// What this worker has asked for, so that it need not ask again.
    known: Numbers,
    all: Arc<Mutex<All>>,
}

#[derive(Clone, Debug, Default)]
struct Numbers {
    children: HashMap<(ThreadId, u32), ThreadId, RandomState>,
    locations: HashMap<Named, LocationId, RandomState>,
}

/// What all workers have asked for.
#[derive(Debug, Default)]
struct All {
    threads: usize,
    numbers: Numbers,
}

/// What a location is known by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Named {
    /// There from the beginning.
    Fixed(Location),
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
        let mut all = lock(&self.all);
        all.threads = all.threads.max(threads);
        let known = self.parents.len();
        self.parents.resize(known.max(threads), None);
    }

    /// The thread that `parent` starts next, in a state with these threads.
    pub(super) fn next_child(&mut self, threads: &[ThreadId], parent: ThreadId) -> ThreadId {
        let siblings = threads
            .iter()
            .filter(|thread| self.parents[thread.index()] == Some(parent));
        let name = (parent, small(siblings.count()));
        if let Some(&child) = self.known.children.get(&name) {
            return child;
        }
        let child = lock(&self.all).child(name);
        self.known.children.insert(name, child);
        if self.parents.len() <= child.index() {
            self.parents.resize(child.index() + 1, None);
        }
        self.parents[child.index()] = Some(parent);
        child
    }

    /// The number of a location of a state with these threads.
    pub(super) fn location<S: System>(
        &mut self,
        system: &S,
        threads: &[ThreadId],
        location: Location,
    ) -> LocationId {
        self.number(match system.maker(location) {
            Some((maker, thing)) => Named::Made(threads[maker.index()], thing),
            None => Named::Fixed(location),
        })
    }

    /// The location that stands for all that invariants look at.
    pub(super) fn invariants(&mut self) -> LocationId {
        self.number(Named::Invariants)
    }

    /// The location that stands for which threads there are.
    pub(super) fn threads(&mut self) -> LocationId {
        self.number(Named::Threads)
    }

    fn number(&mut self, named: Named) -> LocationId {
        let all = &self.all;
        let locations = &mut self.known.locations;
        *locations
            .entry(named)
            .or_insert_with(|| lock(all).location(named))
    }
}

impl All {
    fn child(&mut self, name: (ThreadId, u32)) -> ThreadId {
        let threads = &mut self.threads;
        *self.numbers.children.entry(name).or_insert_with(|| {
            *threads += 1;
            ThreadId(small(*threads - 1))
        })
    }

    fn location(&mut self, named: Named) -> LocationId {
        let locations = &mut self.numbers.locations;
        let new = LocationId(small(locations.len()));
        *locations.entry(named).or_insert(new)
    }
}

fn lock(all: &Mutex<All>) -> MutexGuard<'_, All> {
    all.lock().unwrap_or_else(PoisonError::into_inner)
}

fn small(number: usize) -> u32 {
    // There would be no memory for so many.
    u32::try_from(number).expect("too many names")
}
