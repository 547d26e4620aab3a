//! The locks that protect each variable, computed from nothing but the steps of the full search.
//!
//! A reduction that infers them while it uses them has to come to the same: a variable
//! that is written is without a lock there if and only if it is here.

use std::collections::{BTreeSet, HashMap};

use raddle_explore::movers::Protection;
use raddle_explore::{AccessKind, Guard, Position, Status, Step, System, Variable};
use raddle_machine::{Machine, State};

/// What was seen of every variable that was accessed.
#[derive(Clone, Debug, Default)]
pub struct LockSets {
    variables: HashMap<Variable, Seen>,
}

#[derive(Clone, Debug)]
struct Seen {
    /// The guards that were held at all accesses.
    guards: Vec<Guard>,
    written: bool,
}

impl LockSets {
    /// Takes note of the accesses of a step, also of one that is blocked: its guard has
    /// read what it waits for. Accesses to what the thread owns, by the last thread, and to what
    /// has a declared discipline say nothing about locks.
    pub fn note(
        &mut self,
        machine: &mut Machine,
        before: &State,
        thread: Position,
        step: &Step<State>,
    ) {
        let mut threads = (0..machine.thread_count(before)).map(|other| Position(other as u32));
        if threads.all(|other| other == thread || machine.ended(before, other)) {
            return;
        }
        let mut held = Vec::new();
        for access in &step.footprint {
            let says_nothing = matches!(access.kind, AccessKind::Sync(_))
                || machine.owns(before, thread, access.location)
                || machine
                    .declared(before, thread, access, &mut Vec::new())
                    .is_some();
            if says_nothing {
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
            let seen = self.variables.entry(variable).or_insert_with(|| Seen {
                guards: held.clone(),
                written: false,
            });
            seen.guards.retain(|guard| held.contains(guard));
            seen.written |= access.writes;
        }
    }

    /// The global variables that are unprotected by one computation, but not by the other. (A
    /// new heap object belongs to its maker until the next boundary state, and that is every
    /// state for the full search.)
    #[must_use]
    pub fn differences(&self, machine: &Machine, inferred: &Protection) -> BTreeSet<String> {
        let unprotected: BTreeSet<Variable> = (inferred.knowledge().into_iter())
            .filter(|known| !known.protected)
            .map(|known| known.variable)
            // Channels and conditions have locks as well, but are not looked at here.
            .filter(|variable| self.variables.contains_key(variable))
            .collect();
        let expected: BTreeSet<Variable> = (self.variables.iter())
            .filter(|(_, seen)| seen.guards.is_empty() && seen.written)
            .map(|(variable, _)| *variable)
            .collect();
        (unprotected.symmetric_difference(&expected))
            .filter(|variable| machine.is_global(**variable))
            .map(|variable| machine.variable_name(*variable))
            .collect()
    }
}
