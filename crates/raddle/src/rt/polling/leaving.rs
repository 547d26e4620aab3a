//! Threads that leave their loops by themselves.

use raddle_outcome::Kind as Assumed;

use super::{BUSY, LONGEST_LOOP, Polling};
use crate::rt::Place;
use crate::rt::effect::effect;
use crate::rt::operation::{Operation, Reason};
use crate::rt::state::State;
use crate::rt::thread::Announced;

impl Polling {
    /// Whether the thread has been at a place before its last arrival.
    fn has_been_at(&self, place: Place, announced: &[Announced]) -> bool {
        let end = self.arrived_at.min(announced.len());
        let mut earlier = announced[..end].iter().rev();
        earlier.any(|one| std::ptr::eq(one.place, place))
    }
}

impl State {
    /// The current thread is about to announce an operation. If it was continued as a last resort, and now does something that it has not done
    /// in its loop, it leaves the loop by itself: it has to be allowed to do so while others can move.
    #[inline]
    pub(super) fn notice_leaving(&mut self, operation: &Operation, place: Place) {
        let thread = &self.threads[self.current.index()];
        let polling = &thread.polling;
        let busy = polling.busy;
        if busy > BUSY.max(self.sites.busy) && !polling.polls_at(&thread.announced, place) {
            // Two threads that answer each other come to an end, after more iterations than they were granted.
            self.threads[self.current.index()].polling.busy = 0;
            self.learned |= self.sites.raise_busy(busy);
        }
        let thread = &self.threads[self.current.index()];
        let polling = &thread.polling;
        // Where executions are graphs, nobody continues as a last resort but in an execution that is given up. There the thread may have been told to leave: what locks protect has no
        // versions.
        if !polling.resorted || self.is_graph() || self.waits_instead_of_timing_out(place) {
            return;
        }
        let mut leaves = matches!(
            operation,
            Operation::Spawn { .. } | Operation::Finish { .. } | Operation::End { .. }
        ) || !polling.has_been_at(place, &thread.announced);
        effect(operation, &self.objects, &mut |access| {
            leaves |= !polling.memory.knows(access.location);
        });
        if leaves && polling.has_guessed {
            // Not by itself, perhaps: another thread may have told it to, in a way that wakes nobody.
            if let Some(site) = polling.iterations.site() {
                let place = self.sites.site(site).place;
                self.assume(Assumed::LoopsDisturbed.at(place));
            }
            self.threads[self.current.index()].polling.resorted = false;
        } else if leaves {
            for (site, count) in polling.iterations.counts() {
                self.learned |= self.sites.raise(site, count);
            }
            self.threads[self.current.index()].polling.resorted = false;
        }
    }

    /// Whether the current thread is about to wait for others, as it chose to do at a place at which it chose to time out in earlier iterations. It does
    /// not leave its loop by itself then. It could have chosen so in each of those, in the same local state, and in other executions it does: by Lemma 1 it needs no more iterations to
    /// come there. (If it were allowed more, it would be suspended an iteration later, choose again after that, and so on.)
    fn waits_instead_of_timing_out(&self, place: Place) -> bool {
        let thread = &self.threads[self.current.index()];
        let chooses = |one: &Announced| {
            matches!(
                one.operation,
                Operation::Choose {
                    reason: Reason::Timeout,
                    ..
                }
            ) && std::ptr::eq(one.place, place)
        };
        let end = thread.polling.arrived_at.min(thread.announced.len());
        let earlier = &thread.announced[end.saturating_sub(LONGEST_LOOP)..end];
        thread.waits_in_time && earlier.iter().any(chooses)
    }
}
