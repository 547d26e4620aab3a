//! [`Recorder`]: a machine that takes notes.

use std::collections::{BTreeSet, HashSet};

use raddle_explore::{
    Access, Changed, Choice, Fault, FaultKind, Footprint, Guard, Location, Packed, Parts, Place,
    Position, Renamed, Status, Step, System, Variable,
};
use raddle_machine::{Machine, State};

use crate::lock_sets::LockSets;

/// A failure of a thread: who, as [`Machine::thread_identity`] has it, in which way, where.
pub type Failed = (Vec<u8>, FaultKind, Place);

/// A [`Machine`] that records what its steps come to.
///
/// Every step that a reduction makes is a step of the program, whether or not the
/// reduction goes on from there; so what is recorded was reached.
#[derive(Clone)]
pub struct Recorder {
    machine: Machine,
    /// Whether the search may exchange interchangeable threads. If not, they are only recorded as one.
    exchanges: bool,
    /// The local states that were reached, of all threads.
    pub local_states: HashSet<Vec<u8>>,
    /// The failures that were met.
    pub failed: BTreeSet<Failed>,
    /// Which locks were held at all accesses to each variable, if it was asked for.
    pub lock_sets: Option<LockSets>,
    bytes: Vec<u8>,
}

impl Recorder {
    /// A recorder around a machine.
    #[must_use]
    pub fn new(machine: Machine, exchanges: bool) -> Self {
        Self {
            machine,
            exchanges,
            local_states: HashSet::new(),
            failed: BTreeSet::new(),
            lock_sets: None,
            bytes: Vec::new(),
        }
    }

    /// The machine.
    #[must_use]
    pub fn machine(&self) -> &Machine {
        &self.machine
    }

    fn record(&mut self, state: &State, thread: Position) {
        self.bytes.clear();
        self.machine.local_state(state, thread, &mut self.bytes);
        if !self.local_states.contains(&self.bytes) {
            self.local_states.insert(self.bytes.clone());
        }
    }

    fn record_failure(&mut self, before: &State, thread: Position, fault: &Fault) {
        let mut identity = Vec::new();
        self.machine.thread_identity(before, thread, &mut identity);
        self.failed.insert((identity, fault.kind, fault.place));
    }
}

/// Everything is the machine's answer. What the trait has defaults for is passed on as well: a
/// default would hide what the machine knows.
impl System for Recorder {
    type State = State;

    fn initial(&mut self) -> State {
        let state = self.machine.initial();
        for thread in 0..self.machine.thread_count(&state) {
            self.record(&state, Position(thread as u32));
        }
        for (thread, fault) in self.machine.failed_starts(&state) {
            self.record_failure(&state, thread, &fault);
        }
        state
    }

    fn thread_count(&self, state: &State) -> usize {
        self.machine.thread_count(state)
    }

    fn step(&mut self, state: &State, thread: Position, choice: Choice, step: &mut Step<State>) {
        self.machine.step(state, thread, choice, step);
        if let Some(lock_sets) = &mut self.lock_sets {
            lock_sets.note(&mut self.machine, state, thread, step);
        }
        match &step.status {
            Status::Ended | Status::Blocked { .. } => return,
            Status::Failed(fault) => self.record_failure(state, thread, fault),
            Status::Moved => {}
        }
        self.record(&step.after, thread);
        let spawned = self.machine.thread_count(state)..self.machine.thread_count(&step.after);
        if spawned.is_empty() {
            return;
        }
        for child in spawned.clone() {
            self.record(&step.after, Position(child as u32));
        }
        for (thread, fault) in self.machine.failed_starts(&step.after) {
            if spawned.contains(&thread.index()) {
                self.record_failure(&step.after, thread, &fault);
            }
        }
    }

    fn canonicalise(&mut self, state: &mut State) -> Renamed {
        self.machine.canonicalise(state)
    }

    fn encode(&self, state: &State, packed: &mut Packed) {
        self.machine.encode(state, packed);
    }

    fn encode_successor<'p>(
        &'p self,
        before: Parts<'_>,
        changed: Changed,
        state: &'p State,
        packed: &'p mut Packed,
    ) -> (Parts<'p>, Changed) {
        (self.machine).encode_successor(before, changed, state, packed)
    }

    fn find_parts(&self, words: &[u64], state: &State, packed: &mut Packed) {
        self.machine.find_parts(words, state, packed);
    }

    fn decode(&self, words: &[u64], state: &mut State) {
        self.machine.decode(words, state);
    }

    fn canonicalise_following(&mut self, state: &mut State, thread: Position) -> Position {
        self.machine.canonicalise_following(state, thread)
    }

    fn is_symmetric(&self) -> bool {
        self.exchanges && self.machine.is_symmetric()
    }

    fn are_interchangeable(&self, one: Position, other: Position) -> bool {
        self.machine.are_interchangeable(one, other)
    }

    fn represent(&mut self, state: &mut State) {
        if self.exchanges {
            self.machine.represent(state);
        }
    }

    fn represent_following(&mut self, state: &mut State, thread: Position) -> Position {
        match self.exchanges {
            true => self.machine.represent_following(state, thread),
            false => thread,
        }
    }

    fn exchange(&mut self, state: &mut State, places: &[Position]) {
        self.machine.exchange(state, places);
    }

    fn broken_invariant(&mut self, state: &State, reads: &mut Footprint) -> Option<Fault> {
        self.machine.broken_invariant(state, reads)
    }

    fn failed_starts(&mut self, state: &State) -> Vec<(Position, Fault)> {
        self.machine.failed_starts(state)
    }

    fn failed(&self, state: &State) -> bool {
        self.machine.failed(state)
    }

    fn ended(&self, state: &State, thread: Position) -> bool {
        self.machine.ended(state, thread)
    }

    fn variable(&self, state: &State, location: Location) -> Variable {
        self.machine.variable(state, location)
    }

    fn guards(&self, state: &State, thread: Position, access: &Access, guards: &mut Vec<Guard>) {
        self.machine.guards(state, thread, access, guards);
    }

    fn holds(&self, state: &State, thread: Position, lock: Location) -> bool {
        self.machine.holds(state, thread, lock)
    }

    fn owns(&mut self, state: &State, thread: Position, location: Location) -> bool {
        self.machine.owns(state, thread, location)
    }

    fn declared(
        &mut self,
        state: &State,
        thread: Position,
        access: &Access,
        reads: &mut Footprint,
    ) -> Option<bool> {
        self.machine.declared(state, thread, access, reads)
    }

    fn held_locks(&self, state: &State, thread: Position, locks: &mut Vec<Location>) {
        self.machine.held_locks(state, thread, locks);
    }

    fn is_crowded(&self, state: &State) -> bool {
        self.machine.is_crowded(state)
    }

    fn can_be_joined(&self, state: &State, thread: Position) -> bool {
        self.machine.can_be_joined(state, thread)
    }

    fn place(&self, state: &State, thread: Position) -> Place {
        self.machine.place(state, thread)
    }

    fn thread_name(&self, state: &State, thread: Position) -> u64 {
        self.machine.thread_name(state, thread)
    }
}
