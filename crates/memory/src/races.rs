//! [`Cells`]: data races by happens-before.
//!
//! Accesses that are not atomic are no events. One that a thread makes after its first `n` events happens before whatever its event number `n`
//! happens before. It has the clock of event `n - 1` ([`Answer::clock`](crate::Answer::clock)); before the first event, that of the event that has
//! started the thread.
//!
//! Two accesses of a cell race if one of them writes and neither happens before the other. A program makes its accesses in the order of a replay,
//! which extends happens-before. So of two that race one comes first, and it is enough to compare each access with those before it: with the last
//! write, and if it is a write, with the reads since. (An access that races with an earlier write races with the last one too, or the last one races
//! with that.) Which order of replay it is does not matter: happens-before belongs to the graph.
//!
//! A data race is undefined behaviour: whatever a program does after one means nothing. So a check is over with the first one.

use raddle_schedule::ThreadId;

/// An access of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// Who has made it.
    pub thread: ThreadId,
    /// After how many of its events.
    pub events: u32,
    /// Whether it writes.
    pub writes: bool,
}

impl Access {
    /// Whether it happens before what has this clock.
    fn is_before(&self, thread: ThreadId, clock: &[u32]) -> bool {
        let known = clock.get(self.thread.index()).copied().unwrap_or(0);
        self.thread == thread || known > self.events
    }
}

/// Two accesses of a cell that race.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Race {
    /// The cell.
    pub cell: usize,
    /// The access that this replay has made first.
    pub one: Access,
    /// The other one.
    pub other: Access,
}

#[derive(Clone, Debug, Default)]
struct Cell {
    write: Option<Access>,
    reads: Vec<Access>,
}

/// What was accessed in an execution.
#[derive(Clone, Debug, Default)]
pub struct Cells {
    cells: Vec<Cell>,
}

impl Cells {
    /// Forgets everything, for a new execution.
    pub fn clear(&mut self) {
        self.cells.clear();
    }

    /// Takes note of an access, by a thread with this clock. The race, if it is one.
    pub fn access(&mut self, cell: usize, access: Access, clock: &[u32]) -> Option<Race> {
        if self.cells.len() <= cell {
            self.cells.resize_with(cell + 1, Cell::default);
        }
        let known = &mut self.cells[cell];
        let reads = known.reads.iter().filter(|_| access.writes);
        let mut earlier = known.write.iter().chain(reads);
        let one = earlier.find(|earlier| !earlier.is_before(access.thread, clock));
        let race = one.map(|&one| Race {
            cell,
            one,
            other: access,
        });
        if access.writes {
            known.write = Some(access);
            known.reads.clear();
        } else {
            // Of reads of one thread the last one is enough: what comes after it comes after the others.
            known.reads.retain(|read| read.thread != access.thread);
            known.reads.push(access);
        }
        race
    }
}
