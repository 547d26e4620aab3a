//! Threads that are suspended, as the rest of the runtime sees them.

use raddle_schedule::{Mode, Observed, ThreadId, ValuedAccess};

use super::{Found, Suspended, Watch, Woken};
use crate::rt::Place;
use crate::rt::effect::Values;
use crate::rt::state::State;
use crate::rt::thread::{Announced, Thread};

impl Thread {
    /// How the thread is suspended before an operation, if it is: nothing that it waits for a change of has changed.
    #[inline]
    pub(in crate::rt) fn suspended(
        &self,
        announced: &Announced,
        values: &impl Values,
    ) -> Option<Suspended> {
        let sees = |watch: &Watch| watch.sees(values.value(watch.location));
        let suspended = announced.suspended?;
        (!self.watched(announced).iter().any(sees)).then_some(suspended)
    }

    /// The step of a thread that was suspended has looked at what the thread watches, to see that it has changed.
    #[inline]
    pub(in crate::rt) fn look_at_watched(
        &self,
        announced: &Announced,
        step: &mut Observed,
        values: &impl Values,
    ) {
        for watch in self.watched(announced) {
            let location = watch.location;
            let mut own = step.accesses.iter_mut();
            if let Some(own) = own.find(|access| access.location == location) {
                own.mode = watch.mode_with(own.mode);
            } else {
                let value = values.value(location);
                step.accesses.push(ValuedAccess {
                    location,
                    mode: Mode::Read,
                    before: value,
                    after: value,
                });
            }
        }
    }

    /// What an operation before which it is suspended waits for a change of.
    #[inline]
    fn watched(&self, announced: &Announced) -> &[Watch] {
        self.polling.watched(announced.suspended)
    }

    /// Whether its next operation, which stands at this place, belongs to a loop in which it polls.
    #[inline]
    fn polls_at_next(&self, place: Place) -> bool {
        let earlier = &self.announced[..self.steps as usize];
        self.polling.polls_at(earlier, place)
    }
}

impl State {
    /// The execution is run on after what it has learned was taken from it: sites may have other numbers from now on.
    pub(in crate::rt) fn forget_sites(&mut self) {
        for thread in &mut self.threads {
            thread.polling.iterations.reset();
            thread.polling.resorted = false;
        }
    }

    /// Why a thread that is suspended before its next operation can continue.
    #[inline]
    pub(in crate::rt) fn woken(&self, thread: &Thread, announced: &Announced) -> Option<Woken> {
        announced.suspended?;
        let sees = |ignored: fn(&Watch, u64) -> bool| {
            thread
                .watched(announced)
                .iter()
                .any(|watch| ignored(watch, self.objects.value(watch.location)))
        };
        Some(if sees(Watch::sees_change) {
            Woken::ByChange
        } else if sees(Watch::sees_alike) {
            Woken::ByAlike
        } else {
            Woken::LastResort
        })
    }

    /// A thread makes its next step, whose effect is not there yet. The accesses are still those of its operation alone. Returns
    /// whether it is in a loop in which it polls.
    #[inline]
    pub(in crate::rt) fn note_step(
        &mut self,
        id: ThreadId,
        announced: &Announced,
        found: Found,
        step: &Observed,
    ) -> bool {
        let thread = &mut self.threads[id.index()];
        let is_in_loop = thread.polls_at_next(announced.place);
        if thread.polling.has_begun() {
            let earlier = &thread.announced[..thread.steps as usize];
            (thread.polling).note_step(announced, earlier, found, &step.accesses, &self.objects);
        }
        self.note_turn(id, &announced.operation, step, is_in_loop);
        is_in_loop
    }
}
