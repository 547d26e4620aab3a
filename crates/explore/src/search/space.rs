//! [`Space`]: the stored states once more, with the edges between them.
//!
//! Edges are not stored. What needs them after the search expands states again, which
//! gives the same edges, because an expansion is a function of the state.
//!
//! A store that is not exact has forgotten the words of states. Then edges can be looked for from the initial state only, and
//! level by level from where they lead to.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
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
    representative: S::State,
    packed: Packed,
    words: Vec<u64>,
    /// The words of states, if the store has forgotten them.
    kept: Option<Kept>,
}

/// The words of some states: of those that edges are looked for from, and of those that were found at their other ends.
#[derive(Default)]
struct Kept {
    now: Words,
    next: Words,
}

/// The words of states by their names.
#[derive(Default)]
struct Words {
    by_name: HashMap<StateId, Box<[u64]>>,
    /// How much memory the words take, with what the allocator adds.
    bytes: usize,
}

impl Words {
    fn keep(&mut self, name: StateId, words: &[u64]) {
        if let Entry::Vacant(entry) = self.by_name.entry(name) {
            entry.insert(words.into());
            self.bytes += size_of_val(words) + 2 * size_of::<usize>();
        }
    }

    fn memory_bytes(&self) -> usize {
        self.bytes + map_bytes(&self.by_name)
    }
}

/// The memory of a map, also while it grows: it will do so soon if it is nearly full.
pub(super) fn map_bytes<K, V>(map: &HashMap<K, V>) -> usize {
    /// More than one expansion mostly adds.
    const SOON: usize = 1 << 10;
    let room = map.capacity();
    // It doubles, and is there twice meanwhile. One byte more for each place.
    let times = if map.len() + SOON > room { 3 } else { 1 };
    times * room * (size_of::<(K, V)>() + 1) * 8 / 7
}

/// An edge from a state.
pub(super) struct FoundEdge<'e, S: System> {
    pub(super) from: &'e S::State,
    /// The moves without canonical forms between them.
    taken: &'e [Action],
    /// The representative of the state at the other end, if it is stored.
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
        let is_exact = store.approximation().is_none();
        let mut space = Self {
            system,
            reduction,
            store,
            worker: store.worker(),
            properties,
            state: S::State::default(),
            representative: S::State::default(),
            packed: Packed::default(),
            words: Vec::new(),
            kept: (!is_exact).then(Kept::default),
        };
        space.begin_at_root();
        space
    }

    /// Edges are looked for from the initial state, and then from where they lead to.
    pub(super) fn begin_at_root(&mut self) {
        if let Some(kept) = &mut self.kept {
            *kept = Kept::default();
            let mut initial = self.system.initial();
            self.system.represent(&mut initial);
            self.system.encode(&initial, &mut self.packed);
            if let Some(root) = self.worker.find(self.packed.parts()) {
                kept.now.keep(root, self.packed.words());
            }
        }
    }

    /// Edges are looked for from where they were found to lead to.
    pub(super) fn begin_level(&mut self) {
        if let Some(kept) = &mut self.kept {
            kept.now = std::mem::take(&mut kept.next);
        }
    }

    /// How much memory it takes to know the words of states that the store has forgotten.
    pub(super) fn memory_bytes(&self) -> usize {
        let kept = self.kept.as_ref();
        kept.map_or(0, |kept| kept.now.memory_bytes() + kept.next.memory_bytes())
    }

    fn read(&mut self, id: StateId) {
        match &self.kept {
            None => self.worker.read(id, &mut self.words),
            Some(kept) => {
                self.words.clear();
                self.words.extend_from_slice(&kept.now.by_name[&id]);
            }
        }
    }

    /// Restores a stored state.
    pub(super) fn decode(&mut self, id: StateId, state: &mut S::State) {
        self.read(id);
        self.system.decode(&self.words, state);
    }

    /// Calls `see` for the edges from a state, in a fixed order, until it has seen enough.
    pub(super) fn for_each_edge(
        &mut self,
        from: StateId,
        see: impl FnMut(&mut S, FoundEdge<'_, S>) -> ControlFlow<()>,
    ) {
        self.read(from);
        self.system.decode(&self.words, &mut self.state);
        let mut edges = Edges {
            kept: self.kept.as_mut(),
            worker: self.worker.as_mut(),
            properties: self.properties,
            from: &self.state,
            representative: &mut self.representative,
            packed: &mut self.packed,
            enough: false,
            see,
        };
        self.reduction.expand(self.system, &self.state, &mut edges);
    }
}

struct Edges<'e, S: System, F> {
    kept: Option<&'e mut Kept>,
    worker: &'e mut dyn Worker,
    properties: PropertySet,
    from: &'e S::State,
    representative: &'e mut S::State,
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
        self.representative.clone_from(state);
        system.represent(self.representative);
        system.encode(self.representative, self.packed);
        let to = self.worker.find(self.packed.parts());
        if let (Some(kept), Some(to)) = (&mut self.kept, to) {
            kept.next.keep(to, self.packed.words());
        }
        let edge = FoundEdge {
            from: self.from,
            taken: path,
            to,
        };
        self.enough = (self.see)(system, edge).is_break();
    }
}
