//! [`Space`]: the stored states once more, with the edges between them.
//!
//! Edges are not stored. What needs them after the search expands states again, which
//! gives the same edges, because an expansion is a function of the state.

use std::ops::ControlFlow;

use raddle_store::{StateId, Store, Worker};

use crate::parts::{Changed, Packed};
use crate::property::PropertySet;
use crate::reduction::{Reduction, Visitor};
use crate::replay::canonical_path;
use crate::system::{Action, System};

/// The states that a search has stored, as a graph.
pub(super) struct Space<'r, S: System> {
    pub(super) system: &'r mut S,
    pub(super) reduction: &'r mut dyn Reduction<S>,
    pub(super) store: &'r dyn Store,
    worker: Box<dyn Worker + 'r>,
    /// What the search has asked for; expansions may depend on it.
    properties: PropertySet,
    state: S::State,
    packed: Packed,
    words: Vec<u64>,
}

/// An edge from a state.
pub(super) struct FoundEdge<'e, S: System> {
    pub(super) from: &'e S::State,
    /// The moves without canonical forms between them.
    taken: &'e [Action],
    /// The state at the other end, if it is stored.
    pub(super) to: Option<StateId>,
}

impl<S: System> FoundEdge<'_, S> {
    /// The moves as they replay.
    pub(super) fn path(&self, system: &mut S) -> Vec<Action> {
        canonical_path(system, self.from, self.taken)
    }
}

impl<'r, S: System> Space<'r, S> {
    pub(super) fn new(
        system: &'r mut S,
        reduction: &'r mut dyn Reduction<S>,
        store: &'r dyn Store,
        properties: PropertySet,
    ) -> Self {
        Self {
            system,
            reduction,
            store,
            worker: store.worker(),
            properties,
            state: S::State::default(),
            packed: Packed::default(),
            words: Vec::new(),
        }
    }

    /// Restores a stored state.
    pub(super) fn decode(&mut self, id: StateId, state: &mut S::State) {
        self.worker.read(id, &mut self.words);
        self.system.decode(&self.words, state);
    }

    /// Calls `see` for the edges from a state, in a fixed order, until it has seen enough.
    pub(super) fn for_each_edge(
        &mut self,
        from: StateId,
        see: impl FnMut(&mut S, FoundEdge<'_, S>) -> ControlFlow<()>,
    ) {
        self.worker.read(from, &mut self.words);
        self.system.decode(&self.words, &mut self.state);
        let mut edges = Edges {
            worker: self.worker.as_mut(),
            properties: self.properties,
            from: &self.state,
            packed: &mut self.packed,
            enough: false,
            see,
        };
        self.reduction.expand(self.system, &self.state, &mut edges);
    }
}

struct Edges<'e, S: System, F> {
    worker: &'e mut dyn Worker,
    properties: PropertySet,
    from: &'e S::State,
    packed: &'e mut Packed,
    enough: bool,
    see: F,
}

impl<S: System, F> Visitor<S> for Edges<'_, S, F>
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
        let edge = FoundEdge {
            from: self.from,
            taken: path,
            to: self.worker.find(self.packed.parts()),
        };
        self.enough = (self.see)(system, edge).is_break();
    }
}
