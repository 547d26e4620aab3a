//! States after some of the events of an execution.

use hashbrown::HashMap;
use raddle_explore::System;
use raddle_schedule::{Cut, Move, Trace};
use rapidhash::fast::RandomState;

use super::stepper::{Node, Stepper, thread_id};

/// How many states are remembered.
const MOST: usize = 16_384;

/// States that are not on the path of the execution under way, but that some of its events lead to: by how many
/// each thread has made.
#[derive(Debug)]
pub(super) struct Foreseen<State> {
    states: HashMap<Vec<u32>, Node<State>, RandomState>,
}

impl<State> Default for Foreseen<State> {
    fn default() -> Self {
        Self {
            states: HashMap::default(),
        }
    }
}

impl<State: Clone> Foreseen<State> {
    /// Forgets all of them: the events are others now.
    pub(super) fn clear(&mut self) {
        self.states.clear();
    }

    /// The state after the events of a cut: one of the path, or one that is made.
    pub(super) fn after<'a, S: System<State = State>>(
        &'a mut self,
        stepper: &mut Stepper<S>,
        path: &'a mut [Node<State>],
        trace: &Trace,
        cut: &Cut,
    ) -> &'a mut Node<State> {
        let events = trace.events();
        let prefix = events.iter().position(|event| !cut.contains(event));
        let prefix = prefix.unwrap_or(events.len());
        let mut rest: Vec<usize> = (prefix..events.len())
            .filter(|&event| cut.contains(&events[event]))
            .collect();
        if rest.is_empty() {
            return &mut path[prefix];
        }
        let mut counts: Vec<u32> = (0..trace.lanes())
            .map(|thread| cut.count(thread_id(thread)))
            .collect();
        // From the end back to what is known already.
        let mut missing = Vec::new();
        while !self.states.contains_key(&counts) {
            let Some(event) = rest.pop() else {
                break;
            };
            counts[events[event].thread().index()] -= 1;
            missing.push(event);
        }
        self.make_room(missing.len(), &counts);
        while let Some(event) = missing.pop() {
            let Move { thread, choice } = events[event].step;
            let before = match self.states.get_mut(&counts) {
                Some(before) => before,
                None => &mut path[prefix],
            };
            let position = before.position(thread);
            let position = position.expect("what has started the thread is in the cut");
            let after = stepper.after(before, position, choice, &mut Vec::new());
            counts[thread.index()] += 1;
            self.states.insert(counts.clone(), after);
        }
        self.states.get_mut(&counts).expect("it was just made")
    }

    /// Forgets all but one of the states, if there would be too many.
    fn make_room(&mut self, more: usize, but: &[u32]) {
        if self.states.len() + more > MOST {
            let kept = self.states.remove_entry(but);
            self.states.clear();
            self.states.extend(kept);
        }
    }
}
