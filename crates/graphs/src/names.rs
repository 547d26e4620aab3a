//! Names that are the same in all executions: a graph keeps them.

use hashbrown::HashMap;
use raddle_explore::{Location as Address, System};
use raddle_memory::Location;
use raddle_schedule::ThreadId;
use rapidhash::fast::RandomState;

/// Numbers for threads and locations.
///
/// The machine names threads and objects by who has made them, and their makers by positions, which depend on the order in which threads start. Here a thread
/// is known by its parent and by how many children that had before, and an object by the thread that has made it.
#[derive(Debug)]
pub(crate) struct Names {
    children: HashMap<(ThreadId, u32), ThreadId, RandomState>,
    threads: u32,
    locations: HashMap<(Option<ThreadId>, u64), Location, RandomState>,
}

impl Names {
    /// For a program that begins with so many threads.
    pub(crate) fn new(threads: usize) -> Self {
        Self {
            children: HashMap::default(),
            threads: threads as u32,
            locations: HashMap::default(),
        }
    }

    /// The child of a thread with this number, from 0.
    pub(crate) fn child(&mut self, parent: ThreadId, number: u32) -> ThreadId {
        let threads = &mut self.threads;
        *self.children.entry((parent, number)).or_insert_with(|| {
            *threads += 1;
            ThreadId(*threads - 1)
        })
    }

    /// The location at an address, in an execution with these threads by position.
    pub(crate) fn location(
        &mut self,
        system: &impl System,
        threads: &[ThreadId],
        address: Address,
    ) -> Location {
        let name = match system.maker(address) {
            Some((maker, thing)) => (Some(threads[maker.index()]), thing),
            None => (None, address.0),
        };
        let new = Location(self.locations.len() as u32);
        *self.locations.entry(name).or_insert(new)
    }
}
