//! What a step would do in a state that is made of other steps.

use raddle_schedule::{Cut, LocationId, Observed, ThreadId, Trace};

use super::effect::{Values, effect, enabled};
use super::objects::{Channel, Objects};
use super::operation::Operation;
use super::state::State;
use super::thread::Announced;

/// The state after the events of a cut.
struct At<'a> {
    objects: &'a Objects,
    trace: &'a Trace,
    cut: &'a Cut,
}

impl Values for At<'_> {
    fn value(&self, at: LocationId) -> u64 {
        // What was never touched still has its first value.
        self.trace
            .value_at(at, self.cut)
            .unwrap_or_else(|| self.objects.value(at))
    }

    fn channel(&self, number: u32) -> &Channel {
        self.objects.channel(number)
    }

    fn group(&self, number: u32) -> &[LocationId] {
        self.objects.group(number)
    }
}

impl State {
    pub(crate) fn foresee(
        &self,
        trace: &Trace,
        cut: &Cut,
        id: ThreadId,
        number: u32,
        step: &mut Observed,
    ) -> bool {
        step.clear();
        let values = At {
            objects: &self.objects,
            trace,
            cut,
        };
        let thread = self.thread(id);
        let Some(announced) = thread.announced.get(number as usize) else {
            return false;
        };
        let effect = effect(&announced.operation, &values, &mut |access| {
            step.accesses.push(access);
        });
        step.alternatives = effect.alternatives;
        thread.look_at_watched(announced, step, &values);
        if let Operation::Spawn { child } = announced.operation {
            step.wakes.push(child);
        }
        match self.ability(id, number, &values, |_| effect.enabled) {
            Ability::None => false,
            Ability::Full => true,
            Ability::LastResort(turn) => {
                step.polls = true;
                // As in `State::is_its_turn`.
                step.last_resort = self.started.iter().all(|&other| {
                    let is_enabled = |next: &Announced| enabled(&next.operation, &values);
                    match self.ability(other, cut.count(other), &values, is_enabled) {
                        Ability::None => true,
                        Ability::LastResort(theirs) => (turn, id) <= (theirs, other),
                        Ability::Full => false,
                    }
                });
                step.last_resort
            }
        }
    }

    /// Whether a thread that has made so many steps can make another one after the events of a cut.
    fn ability(
        &self,
        id: ThreadId,
        number: u32,
        values: &At<'_>,
        is_enabled: impl FnOnce(&Announced) -> bool,
    ) -> Ability {
        let thread = self.thread(id);
        let Some(announced) = thread.announced.get(number as usize) else {
            return Ability::None;
        };
        let awake = match announced.woken_by {
            Some((by, step)) => values.cut.count(by) > step,
            // Only the next step of a thread can be one that it sleeps before.
            None => !(thread.asleep && number == thread.steps),
        };
        if !awake || !is_enabled(announced) {
            Ability::None
        } else if let Some(suspended) = thread.suspended(announced, values) {
            Ability::LastResort(suspended.turn)
        } else {
            Ability::Full
        }
    }
}

/// What a thread can do.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ability {
    /// Nothing.
    None,
    /// Continue as a last resort. The thread has last done so after so many steps.
    LastResort(u32),
    /// Make its next step.
    Full,
}
