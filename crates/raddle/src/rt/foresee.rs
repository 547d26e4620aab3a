//! What a step would do in a state that is made of other steps.

use raddle_schedule::{Cut, Location, Step, ThreadId, Trace};

use super::effect::{Values, effect};
use super::objects::{Channel, Objects};
use super::state::{State, add_watched};

/// The state after the events of a cut.
struct At<'a> {
    objects: &'a Objects,
    trace: &'a Trace,
    cut: &'a Cut,
}

impl Values for At<'_> {
    fn value(&self, at: Location) -> u64 {
        // What was never touched still has its first value.
        self.trace
            .value_at(at, self.cut)
            .unwrap_or_else(|| self.objects.value(at))
    }

    fn channel(&self, number: u32) -> &Channel {
        self.objects.channel(number)
    }
}

impl State {
    pub(crate) fn foresee(
        &self,
        trace: &Trace,
        cut: &Cut,
        id: ThreadId,
        number: u32,
        step: &mut Step,
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
        let watched = thread.watched(announced);
        add_watched(step, watched, &values);
        let in_vain = announced.spins
            && watched
                .iter()
                .all(|&(location, seen)| values.value(location) == seen);
        let awake = match announced.woken_by {
            Some((by, step)) => cut.count(by) > step,
            // Only the next step of a thread can be one that it sleeps before.
            None => !(thread.asleep && number == thread.steps),
        };
        if let super::operation::Operation::Spawn { child } = announced.operation {
            step.wakes.push(child);
        }
        step.last_resort = effect.enabled && awake && in_vain;
        effect.enabled && awake && !in_vain
    }
}
