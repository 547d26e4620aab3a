//! [`StoreKind`]: which store a search uses, and going over from one to another.

use raddle_store::family::Std;
use raddle_store::{Changed, Flat, StateId, Store, StoreFull, Tree, Worker};

use crate::parts::Packed;
use crate::system::System;

/// Where a search keeps its states. All of these are exact: counts and verdicts are the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum StoreKind {
    /// [`Flat`](Self::Flat) while that takes less than [a part](Self::FLAT_SHARE) of the memory that is
    /// [allowed](super::Search::max_memory), then [`Tree`](Self::Tree). Only a breadth-first search goes over.
    #[default]
    Auto,
    /// Every word of every state: the fastest.
    Flat,
    /// What states have in common is kept once: the smallest.
    Tree,
}

impl StoreKind {
    /// With `Auto`, how much of the memory that is allowed may be taken by states that are kept word by word, in
    /// percent. While they are copied, both stores are there.
    pub const FLAT_SHARE: u64 = 40;

    /// An empty store for at most that many states.
    pub(super) fn new_store(self, most: usize) -> Box<dyn Store> {
        match self {
            Self::Auto | Self::Flat => Box::new(Flat::<Std>::with_limit(most)),
            Self::Tree => Box::new(Tree::<Std>::with_limit(most)),
        }
    }
}

/// Copies all states into another store.
pub(super) fn copy_all<S: System>(
    system: &S,
    from: &dyn Store,
    to: &dyn Store,
) -> Result<(), StoreFull> {
    const BATCH: usize = 64;
    let (mut source, mut target) = (from.worker(), to.worker());
    let mut parts = Reader::default();
    let mut result = Ok(());
    let mut flush = |target: &mut dyn Worker| {
        target.flush(&mut |_, _, insertion| {
            if let Err(full) = insertion {
                result = Err(full);
            }
        });
    };
    from.for_each(&mut |id| {
        let state = parts.read(system, source.as_mut(), id);
        target.queue(state.parts(), Changed::ALL);
        if target.queued() == BATCH {
            flush(target.as_mut());
        }
    });
    flush(target.as_mut());
    result
}

/// The names in another store, which has all states of the first.
pub(super) fn rename<'i, S: System>(
    system: &S,
    from: &dyn Store,
    to: &dyn Store,
    ids: impl Iterator<Item = &'i mut StateId>,
) {
    let (mut source, mut target) = (from.worker(), to.worker());
    let mut parts = Reader::default();
    for id in ids {
        let state = parts.read(system, source.as_mut(), *id);
        *id = target.find(state.parts()).expect("it was copied");
    }
}

/// Reads states with their parts, of which a store keeps only the words.
struct Reader<State> {
    words: Vec<u64>,
    state: State,
    packed: Packed,
}

impl<State: Default> Default for Reader<State> {
    fn default() -> Self {
        Self {
            words: Vec::new(),
            state: State::default(),
            packed: Packed::default(),
        }
    }
}

impl<State> Reader<State> {
    fn read<S: System<State = State>>(
        &mut self,
        system: &S,
        worker: &mut dyn Worker,
        id: StateId,
    ) -> &Packed {
        worker.read(id, &mut self.words);
        system.decode(&self.words, &mut self.state);
        system.encode(&self.state, &mut self.packed);
        debug_assert_eq!(self.packed.words(), self.words);
        &self.packed
    }
}
