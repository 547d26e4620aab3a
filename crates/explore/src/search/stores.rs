//! [`StoreKind`]: which store a search uses, and going over from one to another.

use std::collections::HashMap;

use raddle_store::family::Std;
use raddle_store::{
    Approximate, Batch, Changed, Flat, Form, Sample, StateId, Store, StoreFull, Tell, Tree, Wide,
    Worker,
};

use crate::parts::Packed;
use crate::system::System;

/// Where a search keeps its states. All but the last two are exact: counts and verdicts are the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum StoreKind {
    /// [`Flat`](Self::Flat) while that takes less than [a part](Self::FLAT_SHARE) of the memory that is
    /// [allowed](super::Search::max_memory), then [`Tree`](Self::Tree) up to [another](Self::TREE_SHARE), then
    /// [`Compact`](Self::Compact). Only a breadth-first search goes over.
    #[default]
    Auto,
    /// Every word of every state: the fastest.
    Flat,
    /// What states have in common is kept once: ten bytes a state.
    Tree,
    /// The same in fewer bits: the smallest.
    Compact,
    /// A hash of each state: some may be missed, so nothing is ever verified. Only a breadth-first search
    /// forgets the words of states.
    Fingerprint(HashWidth),
    /// A table of that many bytes, but at most half of the memory that is [allowed](super::Search::max_memory), and a few bits of it for each state: the
    /// same, with more that are missed.
    Bits(u64),
}

/// How many bits of a hash are kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum HashWidth {
    /// Ten bytes a state. Among four billion, two have the same hash with a probability of one half.
    #[default]
    Bits64,
    /// Three times as much, and no two have the same before memory ends.
    Bits128,
}

/// When a search by distance pauses, at the end of a level, to go over to another store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pause {
    /// The store takes more memory.
    Bytes(u64),
    /// It has that many states.
    States(usize),
}

impl Pause {
    pub(super) fn is_due(self, store: &dyn Store) -> bool {
        match self {
            Self::Bytes(bytes) => store.memory_bytes() as u64 > bytes,
            Self::States(states) => store.len() >= states,
        }
    }
}

/// A store of a search, and until when it is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stage {
    pub(super) kind: StoreKind,
    pub(super) until: Option<Pause>,
}

/// From so many states it can be learned what they have in common.
const ENOUGH_TO_LEARN: usize = 2 * Sample::ENOUGH;

impl StoreKind {
    /// With `Auto`, how much of the memory that is allowed may be taken by states that are kept word by word, in
    /// percent. While they are copied, both stores are there.
    pub const FLAT_SHARE: u64 = 40;
    /// The same for [`Tree`](Self::Tree).
    pub const TREE_SHARE: u64 = 60;

    /// An empty store for at most that many states.
    pub(super) fn new_store(self, limits: Limits, form: Option<Form>) -> Box<dyn Store> {
        let Limits { states, bytes } = limits;
        match self {
            Self::Fingerprint(HashWidth::Bits64) => {
                Box::new(Approximate::<Std>::fingerprints(states).within(bytes))
            }
            Self::Fingerprint(HashWidth::Bits128) => {
                Box::new(Wide::<Std>::with_limit(states).within(bytes))
            }
            Self::Bits(size) => {
                // The words of states that wait need memory too.
                let size = usize::try_from(size).unwrap_or(usize::MAX).min(bytes / 2);
                Box::new(Approximate::<Std>::bits(states, size))
            }
            Self::Auto | Self::Flat => Box::new(Flat::<Std>::with_limit(states).within(bytes)),
            Self::Tree => {
                let tree = Tree::<Std>::with_limit(states);
                Box::new(tree.within(bytes).with_form(form))
            }
            Self::Compact => {
                let tree = Tree::<Std>::compact_with_limit(states);
                Box::new(tree.within(bytes).with_form(form))
            }
        }
    }

    /// The stores that a search by distance uses, one after another.
    pub(super) fn stages(self, max_memory: Option<u64>) -> Vec<Stage> {
        let until = |kind, until| Stage { kind, until };
        match (self, max_memory) {
            (Self::Auto, Some(bytes)) => {
                let share = |percent: u64| Some(Pause::Bytes(bytes / 100 * percent));
                vec![
                    until(Self::Flat, share(Self::FLAT_SHARE)),
                    until(Self::Tree, share(Self::TREE_SHARE)),
                    until(Self::Compact, None),
                ]
            }
            (Self::Auto | Self::Flat, _) => vec![until(Self::Flat, None)],
            (Self::Fingerprint(_) | Self::Bits(_), _) => vec![until(self, None)],
            (Self::Tree | Self::Compact, _) => vec![
                until(self, Some(Pause::States(ENOUGH_TO_LEARN))),
                until(self, None),
            ],
        }
    }
}

/// How large a store may become.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    pub(super) states: usize,
    pub(super) bytes: usize,
}

/// Learns from the states of a store what states have in common.
pub(super) fn learn<S: System>(system: &S, store: &dyn Store) -> Option<Form> {
    let mut worker = store.worker();
    let mut reader = Reader::default();
    // States with parts of other sizes are not split by the form.
    let mut samples: HashMap<Box<[u32]>, Sample> = HashMap::new();
    let every = (store.len() / Sample::ENOUGH).max(1);
    let mut number = 0;
    store.for_each(&mut |id| {
        number += 1;
        if number % every == 0 {
            let state = reader.read(system, worker.as_mut(), id).parts();
            match samples.get_mut(state.ends) {
                Some(sample) => sample.add(state),
                None => {
                    let mut sample = Sample::new(state.ends);
                    sample.add(state);
                    samples.insert(state.ends.into(), sample);
                }
            }
        }
    });
    let most = samples
        .into_iter()
        .max_by_key(|(ends, sample)| (sample.len(), ends.clone()))?;
    most.1.form()
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
    let mut batch = Batch::default();
    let mut flush = |batch: &mut Batch| {
        target.flush(batch, Tell::New, &mut |_, _, insertion| {
            if let Err(full) = insertion {
                result = Err(full);
            }
        });
    };
    from.for_each(&mut |id| {
        let state = parts.read(system, source.as_mut(), id);
        batch.push(state.parts(), Changed::ALL);
        if batch.len() == BATCH {
            flush(&mut batch);
        }
    });
    flush(&mut batch);
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
