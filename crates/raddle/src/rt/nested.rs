//! Threads that read again what they are reading.
//!
//! A reader of an `RwLock` never waits for a writer that waits itself: all ways in which a lock could be fair would be far too many. But
//! `std` allows a waiting writer to keep new readers out, and then a thread that holds the lock for reading and takes it for reading once
//! more waits for the writer, which waits for the thread. Whether that could have happened can be told afterwards: some writer came
//! later, and nothing that it did before has to come after the second read, so it could have been waiting by then.

use raddle_outcome::Kind as Assumed;
use raddle_schedule::{LocationId, Move, Observed, ThreadId, Trace};

use super::Place;
use super::failure::{Failure, FailureKind, Remark};
use super::objects::Kind;
use super::operation::{Operation, rw};
use super::state::State;

/// A lock was taken for reading by a thread that had it already.
#[derive(Clone, Copy, Debug)]
pub(super) struct Nested {
    pub(super) lock: LocationId,
    /// Where the thread had taken it before.
    pub(super) before: Place,
    /// The step that took it again.
    pub(super) step: usize,
}

impl State {
    /// The current thread waits, for a lock or for something else. If it reads something, and waits for a reader that a waiting writer
    /// keeps out, they wait for ever; that is not explored.
    #[inline]
    pub(super) fn notice_waiting_while_reading(&mut self, lock: Option<LocationId>, place: Place) {
        let held = &self.thread(self.current).held;
        let reads = held.iter().any(|&(held, _)| {
            Some(held) != lock
                && self.objects.kind(held) == Kind::RwLock
                && self.objects.value(held) & rw::READERS > 0
        });
        if reads {
            self.assume(Assumed::WaitingWriters.at(place));
        }
    }

    /// A reader that may wait for itself, because of a writer.
    pub(super) fn nested_reader(&self) -> Option<Failure> {
        if self.nested.is_empty() {
            return None;
        }
        let trace = self.trace();
        let writes = |operation: &Operation, lock| *operation == Operation::WriteLock { lock };
        for nested in &self.nested {
            let reader = self.made[nested.step].thread;
            let unordered = |known: [Option<usize>; 2]| {
                let mut known = known.into_iter().flatten();
                !known.any(|event| trace.happens_before(nested.step, event))
            };
            let later = nested.step + 1..self.made.len();
            let made = later.map(|event| (event, &self.made[event]));
            let mut made = made.filter(|(event, made)| {
                made.thread != reader
                    && writes(&made.operation, nested.lock)
                    && unordered([trace.previous_of(*event), trace.cause_of(*event)])
            });
            let made = made.next().map(|(_, made)| (made.thread, made.place));
            let waiting = || {
                self.started.iter().find_map(|&id| {
                    let thread = self.thread(id);
                    let next = thread.next().filter(|_| !thread.asleep && id != reader)?;
                    let known = [trace.last_of(id), trace.pending_cause(id)];
                    (writes(&next.operation, nested.lock) && unordered(known))
                        .then_some((id, next.place))
                })
            };
            if let Some(writer) = made.or_else(waiting) {
                return Some(self.nested_failure(nested, writer));
            }
        }
        None
    }

    fn nested_failure(&self, nested: &Nested, (writer, place): (ThreadId, Place)) -> Failure {
        let lock = self.objects.name(nested.lock);
        let again = &self.made[nested.step];
        let reader = self.name_of(again.thread);
        Failure::new(
            FailureKind::Deadlock,
            format!(
                "deadlock: {reader} holds {lock} for reading and reads again while {} may wait to write: \
                 a waiting writer may keep readers out",
                self.name_of(writer)
            ),
            vec![
                Remark::new(
                    again.thread,
                    again.place,
                    format!(
                        "takes {lock} for reading again, held since {}:{}",
                        nested.before.file(),
                        nested.before.line()
                    ),
                ),
                Remark::new(writer, place, format!("may wait for {lock} by then")),
            ],
        )
    }

    /// The steps that were made, with what happens before what.
    fn trace(&self) -> Trace {
        let mut trace = Trace::new();
        let mut step = Observed::default();
        let mut numbers = vec![0; self.threads.len()];
        for (index, made) in self.made.iter().enumerate() {
            step.clear();
            let end = self.made.get(index + 1).map(|next| next.first_access);
            let accesses = made.first_access..end.unwrap_or(self.accesses.len());
            step.accesses.extend_from_slice(&self.accesses[accesses]);
            step.last_resort = made.last_resort;
            let by = Some((made.thread, numbers[made.thread.index()]));
            for &id in &self.started {
                if self.thread(id).announced.iter().any(|a| a.woken_by == by) {
                    step.wakes.push(id);
                }
            }
            numbers[made.thread.index()] += 1;
            let next = Move {
                thread: made.thread,
                choice: made.choice,
            };
            trace.push(next, &step);
        }
        trace
    }
}
