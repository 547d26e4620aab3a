//! The locks that protect each variable, computed from nothing but the steps of the full search.
//!
//! A reduction that infers them while it uses them has to come to the same: a variable
//! that no lock protects here must not count as protected there. To compare them,
//! set [`Recorder::lock_sets`](crate::Recorder::lock_sets) for the full search, and hand
//! what the reduction says to [`LockSets::differences`].

use std::collections::HashMap;

use raddle_explore::{AccessKind, Guard, Status, Step, System, ThreadId, Variable};
use raddle_machine::{Machine, State};

/// For every variable that was accessed, the guards that were held at all accesses.
#[derive(Clone, Debug, Default)]
pub struct LockSets {
    guards: HashMap<Variable, Vec<Guard>>,
}

impl LockSets {
    /// Takes note of the accesses of a step, also of one that is blocked: its guard has
    /// read what it waits for.
    pub fn note(
        &mut self,
        machine: &mut Machine,
        before: &State,
        thread: ThreadId,
        step: &Step<State>,
    ) {
        let mut held = Vec::new();
        for access in &step.footprint {
            if matches!(access.kind, AccessKind::Sync(_))
                || machine.owns(before, thread, access.location)
            {
                continue;
            }
            held.clear();
            machine.guards(before, thread, access, &mut held);
            // An object that an atomic block has made exists only after it.
            let state = match step.status {
                Status::Moved | Status::Failed(_) => &step.after,
                Status::Blocked { .. } | Status::Ended => before,
            };
            let variable = machine.variable(state, access.location);
            self.guards
                .entry(variable)
                .and_modify(|guards| guards.retain(|guard| held.contains(guard)))
                .or_insert_with(|| held.clone());
        }
    }

    /// The variables about which a reduction thinks otherwise: those that it takes to be
    /// protected although they are not, or the other way round.
    pub fn differences<'s>(
        &'s self,
        is_protected: impl Fn(Variable) -> bool + 's,
    ) -> impl Iterator<Item = Variable> + 's {
        let differ = move |(variable, guards): (&Variable, &Vec<Guard>)| {
            (guards.is_empty() == is_protected(*variable)).then_some(*variable)
        };
        self.guards.iter().filter_map(differ)
    }
}
