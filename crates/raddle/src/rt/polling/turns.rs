//! Threads that continue although nothing that they wait for has changed, because no thread can do anything else.
//!
//! They take turns: who continued longest ago is first. So each of them makes its next iteration after at most one of each other thread, which is a fair schedule. A step that
//! is made as such a *last resort* comes after all others, so the number of steps before it is the same in all schedules of a class, and so is whose turn it is.
//!
//! # When it is a live-lock
//!
//! If nothing changes while each thread that could continue does so `spin_limit` times, in a loop that it does not leave. Each thread counts for itself: several that give up
//! after fewer iterations are no live-lock, however many there are. A thread leaves its loop when it comes to a place at which it has not been in the last iterations, and counts from
//! the beginning then. (Two loops in a row that make their operations at the same places count as one.)
//!
//! # Changes that may be there
//!
//! A thread that polls may change what a lock protects [behind a pointer](super#locks), and nobody sees whether it has. To a thread that is woken by it, or that continues as a last resort, this is a
//! change: its local state may be another one afterwards, so its sequence of undisturbed iterations begins anew, and if it then leaves its loop, it does not do so by itself. (It was allowed more and more iterations
//! to do so earlier, all of them in vain.) And it is a change for the verdict, if other threads poll there: as long as loops hand each
//! other such locks, there is no live-lock. If they do so for ever, the execution has too many steps some time.
//!
//! Before that they wake each other once. A suspended thread that does not notice such a change may miss something, which is the assumption [`Assumed::LoopsDisturbed`].

use raddle_outcome::Kind as Assumed;
use raddle_schedule::{LocationId, Observed, ThreadId, ValuedAccess};

use super::{Watch, progresses};
use crate::rt::operation::{Left, Operation};
use crate::rt::state::State;

/// How many steps of last resort are made for nothing in an execution that will turn out to be infeasible.
const IDLE: u32 = 8;

/// What came of steps of last resort in an execution.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::rt) struct Turns {
    /// How many were made since something has changed or may have.
    idle: u32,
    /// How many were made since something has changed for certain.
    all: u32,
    /// How often something has changed, or may have.
    changes: u32,
    /// Whether each thread has continued in vain as often as it may.
    are_over: bool,
}

/// The turns of one thread.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct OwnTurns {
    /// How many it has had in its loop since the last change, and which one that was.
    count: u32,
    changes: u32,
    /// How many steps there were at the last one.
    pub(super) last: u32,
}

impl Turns {
    /// Whether threads have polled in vain for so long that it is a live-lock.
    pub(in crate::rt) fn are_over(&self) -> bool {
        self.are_over
    }
}

impl State {
    /// A thread makes its next step, whose effect is not there yet.
    pub(super) fn note_turn(
        &mut self,
        id: ThreadId,
        operation: &Operation,
        step: &Observed,
        is_in_loop: bool,
    ) {
        let may_be_seen = match *operation {
            Operation::Unlock {
                mutex: lock,
                left: Left::Behind,
            }
            | Operation::WriteUnlock {
                lock,
                left: Left::Behind,
            } => self.is_polled_by_others(id, lock),
            _ => false,
        };
        if !step.last_resort && self.turns.all == 0 {
            return;
        }
        let changes =
            |access: &ValuedAccess| progresses(self.objects.kind(access.location), access);
        let has_changed = step.accesses.iter().any(changes);
        let turns = &mut self.turns;
        if has_changed || may_be_seen {
            turns.idle = 0;
            turns.changes += 1;
        }
        if has_changed {
            turns.all = 0;
        }
        let own = &mut self.threads[id.index()].polling.turns;
        if !is_in_loop || own.changes != turns.changes {
            own.count = 0;
            own.changes = turns.changes;
        }
        if step.last_resort {
            turns.idle += u32::from(!has_changed);
            turns.all += 1;
            own.count += 1;
            own.last = u32::try_from(self.made.len() + 1).unwrap_or(u32::MAX);
            // Who could make a step is to be seen before an iteration, in which the thread may hold locks.
            let is_long = turns.idle >= self.settings.spin_limit;
            self.turns.are_over = is_long && self.had_enough_turns();
        }
    }

    /// Whether all threads that could make a step have continued in vain as often as they may.
    fn had_enough_turns(&self) -> bool {
        self.started.iter().all(|&id| {
            let thread = self.thread(id);
            let own = thread.polling.turns;
            let is_enough =
                own.changes == self.turns.changes && own.count >= self.settings.spin_limit;
            thread.ended || is_enough || !self.is_ready(id)
        })
    }

    /// A thread may have changed something behind a lock. Returns whether others are suspended until the lock changes.
    fn is_polled_by_others(&mut self, id: ThreadId, lock: LocationId) -> bool {
        let (mut is_polled, mut unnoticed) = (false, Vec::new());
        for &other in &self.started {
            let thread = self.thread(other);
            let Some(next) = thread.next().filter(|_| other != id) else {
                continue;
            };
            // Who waits for something else does not look, whatever is behind the lock.
            let can_look = next.operation.locks() == Some(lock) || self.is_ready(other);
            let is_suspended = next.suspended.is_some() && can_look;
            if !is_suspended || !thread.polling.memory.knows_lately(lock) {
                continue;
            }
            is_polled = true;
            let watches = thread.polling.watched(next.suspended);
            let watches_it = |watch: &Watch| watch.location == lock && !watch.ignores_alike();
            if !watches.iter().any(watches_it) {
                unnoticed.extend(thread.polling.iterations.site());
            }
        }
        if !self.sites.is_of_scout() {
            for site in unnoticed {
                let place = self.sites.site(site).place;
                self.assume(Assumed::LoopsDisturbed.at(place));
            }
        }
        is_polled
    }

    /// Whether it is known that polling leads to nothing, though it has not done so for long: threads have continued as a last resort, scouts find out what each of
    /// them does alone, and none of them has changed anything.
    #[inline]
    pub(in crate::rt) fn polls_for_nothing(&self) -> bool {
        let is_scouted =
            |&id: &ThreadId| {
                let thread = self.thread(id);
                let is_suspended = thread.next().is_some_and(|next| next.suspended.is_some());
                !is_suspended
                    || thread.polling.iterations.site().is_some_and(|site| {
                        self.sites.is_scouted(site, thread.polling.sequence_past)
                    })
            };
        self.turns.idle >= IDLE && self.started.iter().all(is_scouted)
    }

    /// Whether threads have continued as a last resort for long. Something may have changed in between.
    pub(in crate::rt) fn polls_for_long(&self) -> bool {
        self.turns.all >= self.settings.spin_limit
    }
}

impl Watch {
    /// Whether it does not matter to the thread that a lock is left alike.
    fn ignores_alike(&self) -> bool {
        self.alike & !self.ignored == 0
    }
}
