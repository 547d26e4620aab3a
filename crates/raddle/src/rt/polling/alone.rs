//! An execution without what others have done that a thread has seen nothing of.
//!
//! Where a thread is suspended, it may already be decided that it does not stay so: another thread has written what it waits for. Steps that have
//! nothing to do with each other can be made in any order, so there is another schedule of the same class in which the thread has come there first, and in
//! which it may make more iterations before that. An explorer that runs each class once does not run this other schedule. It runs the classes that branch off from
//! it only if it knows that the thread makes those iterations: so a scout has to find out.

use raddle_schedule::{LocationId, Mode, ThreadId, ValuedAccess};

use super::Watch;
use crate::rt::state::State;

impl State {
    /// The steps that the current thread has come after: an execution in which it is where it is, and others have done no more
    /// than that takes. None, if one of the watches sees a change in that too.
    pub(super) fn steps_without_others(&self, watches: &[Watch]) -> Option<Vec<usize>> {
        let steps = self.steps_before_current();
        let sees = |watch: &Watch| watch.sees(self.value_after(&steps, watch.location));
        (!watches.iter().any(sees)).then_some(steps)
    }

    /// The steps of the current thread, and all that any of these comes after.
    fn steps_before_current(&self) -> Vec<usize> {
        let mut left: Vec<u32> = self.threads.iter().map(|thread| thread.steps).collect();
        // How many of each thread's steps belong to it: those before one that does so do too.
        let mut wanted = vec![0; left.len()];
        wanted[self.current.index()] = u32::MAX;
        let mut touched: Vec<ValuedAccess> = Vec::new();
        let mut steps = Vec::new();
        for (number, made) in self.made.iter().enumerate().rev() {
            let own = made.thread.index();
            left[own] -= 1;
            let accesses = self.accesses_of(number);
            let conflicts = |one: &ValuedAccess| {
                let same = |other: &ValuedAccess| {
                    other.location == one.location && other.mode.conflicts_with(one.mode)
                };
                touched.iter().any(same)
            };
            if left[own] >= wanted[own] && !accesses.iter().any(conflicts) {
                continue;
            }
            if made.last_resort {
                // It comes after everything.
                steps.extend((0..=number).rev());
                break;
            }
            steps.push(number);
            wanted[own] = u32::MAX;
            for access in accesses {
                let is_known =
                    |one: &ValuedAccess| (one.location, one.mode) == (access.location, access.mode);
                if !touched.iter().any(is_known) {
                    touched.push(*access);
                }
            }
            let announced = &self.threads[own].announced[left[own] as usize];
            if let Some((ThreadId(by), step)) = announced.woken_by {
                let wanted = &mut wanted[by as usize];
                *wanted = (*wanted).max(step + 1);
            }
        }
        steps.reverse();
        steps
    }

    /// What is in a location after some of the steps.
    fn value_after(&self, steps: &[usize], location: LocationId) -> u64 {
        let at = |&step: &usize| {
            let mut accesses = self.accesses_of(step).iter();
            accesses.find(|access| access.location == location)
        };
        let first = (0..self.made.len()).find_map(|step| at(&step));
        let mut value = first.map_or(self.objects.value(location), |first| first.before);
        for access in steps.iter().filter_map(at) {
            value = match access.mode {
                Mode::Read => value,
                Mode::Shared => value.wrapping_add(access.after.wrapping_sub(access.before)),
                Mode::Write => access.after,
            };
        }
        value
    }
}
