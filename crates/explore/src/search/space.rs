//! [`Space`]: the stored states once more, with the edges between them.
//!
//! Edges are not stored. What needs them after the search expands states again, which
//! gives the same edges, because an expansion is a function of the state.

use std::ops::ControlFlow;

use crate::parts::{Changed, Packed, read_bytes, write_bytes};
use crate::property::PropertySet;
use crate::reduction::{Reduction, Visitor};
use crate::replay::canonical_path;
use crate::store::{StateId, Store};
use crate::system::{Action, System};

/// The states that a search has stored, as a graph.
pub(super) struct Space<'r, S: System, St> {
    pub(super) system: &'r mut S,
    pub(super) reduction: &'r mut dyn Reduction<S>,
    pub(super) states: &'r St,
    /// What the search has asked for; expansions may depend on it.
    properties: PropertySet,
    state: S::State,
    packed: Packed,
    bytes: Vec<u8>,
    words: Vec<u64>,
}

/// An edge from a state.
pub(super) struct FoundEdge<'e, S: System> {
    pub(super) from: &'e S::State,
    /// The moves as they replay.
    pub(super) path: &'e [Action],
    /// The state at the other end, if it is stored.
    pub(super) to: Option<StateId>,
}

impl<'r, S: System, St: Store> Space<'r, S, St> {
    pub(super) fn new(
        system: &'r mut S,
        reduction: &'r mut dyn Reduction<S>,
        states: &'r St,
        properties: PropertySet,
    ) -> Self {
        Self {
            system,
            reduction,
            states,
            properties,
            state: S::State::default(),
            packed: Packed::default(),
            bytes: Vec::new(),
            words: Vec::new(),
        }
    }

    /// Restores a stored state.
    pub(super) fn decode(&mut self, id: StateId, state: &mut S::State) {
        read_bytes(self.states.get(id), &mut self.words);
        self.system.decode(&self.words, state);
    }

    /// Calls `see` for the edges from a state, in a fixed order, until it has seen enough.
    pub(super) fn for_each_edge(
        &mut self,
        from: StateId,
        see: impl FnMut(&mut S, FoundEdge<'_, S>) -> ControlFlow<()>,
    ) {
        read_bytes(self.states.get(from), &mut self.words);
        self.system.decode(&self.words, &mut self.state);
        let mut edges = Edges {
            states: self.states,
            properties: self.properties,
            from: &self.state,
            packed: &mut self.packed,
            bytes: &mut self.bytes,
            enough: false,
            see,
        };
        self.reduction.expand(self.system, &self.state, &mut edges);
    }
}

struct Edges<'e, S: System, St, F> {
    states: &'e St,
    properties: PropertySet,
    from: &'e S::State,
    packed: &'e mut Packed,
    bytes: &'e mut Vec<u8>,
    enough: bool,
    see: F,
}

impl<S: System, St: Store, F> Visitor<S> for Edges<'_, S, St, F>
where
    F: FnMut(&mut S, FoundEdge<'_, S>) -> ControlFlow<()>,
{
    fn properties(&self) -> PropertySet {
        self.properties
    }

    fn interrupted(&mut self, _: usize) -> bool {
        self.enough
    }

    fn successor(&mut self, system: &mut S, path: &[Action], state: &S::State, _: Changed) {
        if self.enough {
            return;
        }
        system.encode(state, self.packed);
        write_bytes(self.packed.words(), self.bytes);
        let edge = FoundEdge {
            from: self.from,
            path: &canonical_path(system, self.from, path),
            to: self.states.find(self.bytes),
        };
        self.enough = (self.see)(system, edge).is_break();
    }
}
