//! Threads that spin.
//!
//! A loop that waits for another thread would go on for ever in some schedules, and in all the others
//! go round any number of times. So a thread says at which place it spins (`yield_now`, `spin_loop`, `sleep`).
//! When it comes to the same place again, after the operation at the same place, it has gone round in vain, and going
//! round again is pointless as long as everything that it touched on the way has the value that it left. Its next
//! operation has to wait until that is no longer so.
//!
//! This is exact for loops that wait for something and do nothing else. Of a loop that also counts how often it goes
//! round, for itself, and does something else after some rounds, only those rounds are seen in which something has changed,
//! and those that are a last resort.
//!
//! If no thread can do anything else, those that spin may go on after all: some loops end
//! by themselves. If that changes nothing for long, they never will.

use raddle_schedule::{Access, Location};

use super::Place;
use super::failure::{Failure, FailureKind, Remark};
use super::objects::Kind;
use super::operation::{Operation, rw};
use super::state::State;
use super::thread::Mark;

/// Whether an access changes something, other than that somebody was there for a moment.
pub(super) fn progresses(kind: Kind, access: &Access) -> bool {
    let ignored = match kind {
        Kind::Mutex => 1,
        Kind::RwLock => rw::READERS | rw::WRITER,
        _ => 0,
    };
    access.before & !ignored != access.after & !ignored
}

impl State {
    /// The current thread says that it spins. Returns whether it needs an operation to do so, because it
    /// made none since it was here before.
    pub(crate) fn spin(&mut self, place: Place) -> bool {
        self.correct_unused_lock();
        let current = self.current;
        let thread = self.thread_mut(current);
        let last = thread
            .steps
            .checked_sub(1)
            .map(|last| thread.announced[last as usize].place);
        let now = Mark {
            place,
            touched: thread.touched.len(),
            last,
        };
        let known = thread
            .marks
            .iter_mut()
            .find(|mark| std::ptr::eq(mark.place, place));
        let Some(mark) = known else {
            thread.marks.push(now);
            return false;
        };
        let before = std::mem::replace(mark, now);
        if !same(before.last, last) {
            return false;
        }
        let first = thread.watches.len();
        for index in before.touched..thread.touched.len() {
            let (location, left) = thread.touched[index];
            watch(&mut thread.watches, first, location, left);
        }
        thread.spin_next = Some(u32::try_from(first).expect("too many watched locations"));
        before.touched == now.touched
    }

    /// A thread that has only looked at what a lock protects, and will do so again, leaves the lock as if
    /// it had never been there: others that do the same need not look again.
    fn correct_unused_lock(&mut self) {
        let current = self.current;
        let thread = self.thread_mut(current);
        let Some(last) = thread.steps.checked_sub(1) else {
            return;
        };
        if thread.changed_under_lock {
            return;
        }
        let operation = &mut thread.announced[last as usize].operation;
        let (lock, version) = match operation {
            Operation::Unlock { mutex, unused } if !*unused => {
                *unused = true;
                (*mutex, 2)
            }
            Operation::WriteUnlock { lock, unused } if !*unused => {
                *unused = true;
                (*lock, rw::VERSION)
            }
            _ => return,
        };
        let value = self.objects.value(lock).wrapping_sub(version);
        self.objects.set(lock, value);
        let touched = &mut self.thread_mut(current).touched;
        if let Some(touched) = touched.iter_mut().rfind(|touched| touched.0 == lock) {
            touched.1 = value;
        }
        let mut accesses = self.accesses.iter_mut();
        if let Some(access) = accesses.rfind(|access| access.location == lock) {
            access.after = value;
        }
        self.corrected = Some((lock, value));
    }

    /// What to say when spinning has led to nothing for too long.
    pub(crate) fn live_lock(&self) -> Failure {
        let mut remarks = Vec::new();
        for &id in &self.started {
            let thread = self.thread(id);
            if !thread.ended
                && let Some(mark) = thread.marks.last()
            {
                remarks.push(Remark::new(id, mark.place, "spins here"));
            }
        }
        Failure {
            kind: FailureKind::LiveLock,
            message: "live-lock: the threads that are left spin for ever".into(),
            remarks,
        }
    }
}

fn same(one: Option<Place>, other: Option<Place>) -> bool {
    match (one, other) {
        (Some(one), Some(other)) => std::ptr::eq(one, other),
        (None, None) => true,
        _ => false,
    }
}

/// Adds to the watched locations from `first` on; the value left last is what counts.
pub(super) fn watch(
    watches: &mut Vec<(Location, u64)>,
    first: usize,
    location: Location,
    left: u64,
) {
    match watches[first..]
        .iter_mut()
        .find(|known| known.0 == location)
    {
        Some(known) => known.1 = left,
        None => watches.push((location, left)),
    }
}
