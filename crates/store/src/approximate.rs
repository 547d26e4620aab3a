//! [`Approximate`]: states by 64 bits of a hash, for searches that fit nowhere else. [`Wide`] is the same for 128 bits.
//!
//! A state is named by its *fingerprint*, and only that is remembered, whole or by a few bits (`filter.rs`). What is not remembered
//! are the words: they are kept beside, from when a state is found to be new until the level after it begins
//! (`waiting.rs`).
//!
//! # What it promises
//!
//! **A state that is said to be new is.** So whatever is found is real. But a state that is said to be known may be new: two states can have the same
//! fingerprint, or the bits of a state can be those of others. Such a state is *missed*, and so is what would be reached only from there.
//! [`Store::approximation`] says how probable that is, and whoever searches must not claim to have seen everything.
//!
//! **One `New`.** However many workers insert a state at the same time, exactly one of them is told that it is new.
//!
//! # How probable it is that a state was missed
//!
//! With `n` states and fingerprints that are as good as random: of `n * n / 2` pairs of states, each has the same fingerprint with probability
//! `2^-64`. So it is at most `n^2 / 2^65` that any two have, and `n^2 / 2^129` with 128 bits. In a table of bits of which a part `f` is set, three bits of a new state are all set with
//! probability `f^3`, and it was less before, when fewer were set: so it is at most `n * f^3` that this has ever happened.

use crate::batch::Batch;
use crate::count::{Count, Tally};
use crate::family::{Family, Lock, Std};
use crate::hash::fingerprint;
use crate::lines::{Lines, Load};
use crate::parts::Parts;
use crate::{Inserted, Memory, StateId, Store, Tell, Told, Worker};

mod filter;
mod waiting;
mod wide;

pub use wide::Wide;

use filter::{Bits, Entered, Filter};
use waiting::Waiting;

/// How a store that is not exact remembers states.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Remembers {
    /// By a hash of each.
    Fingerprints,
    /// By a few bits of a table.
    Bits,
}

/// What is known of states that a store may have missed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Approximation {
    /// How it remembers states.
    pub remembers: Remembers,
    /// The probability that any state was missed is at most this, and at most one.
    pub missed: f64,
}

/// A set that may take a new state for one that it has.
pub struct Approximate<F: Family = Std> {
    filter: F::Lock<Filter<F>>,
    waiting: Waiting<F>,
    count: Count,
    budget: usize,
}

impl<F: Family> Approximate<F> {
    /// An empty set of fingerprints that takes at most that many states.
    #[must_use]
    pub fn fingerprints(most: usize) -> Self {
        Self::over(most, Filter::Fingerprints(Lines::new(Load::HEAVY)))
    }

    /// An empty table of bits that takes at most that many states, and about so many bytes.
    #[must_use]
    pub fn bits(most: usize, bytes: usize) -> Self {
        Self::over(most, Filter::Bits(Bits::new(bytes)))
    }

    fn over(most: usize, filter: Filter<F>) -> Self {
        Self {
            filter: F::Lock::new(filter),
            waiting: Waiting::new(),
            count: Count::up_to(most),
            budget: usize::MAX,
        }
    }

    /// The same, which should take no more memory than that. Whether it does, somebody else looks; it grows by less when it comes near.
    #[must_use]
    pub fn within(mut self, bytes: usize) -> Self {
        self.budget = bytes;
        self.filter.get_mut().set_budget(bytes);
        self
    }
}

impl<F: Family> Store for Approximate<F> {
    fn name(&self) -> &'static str {
        self.filter.read(|filter| match filter {
            Filter::Fingerprints(_) => "fingerprint",
            Filter::Bits(_) => "bits",
        })
    }

    fn worker(&self) -> Box<dyn Worker + '_> {
        Box::new(ApproximateWorker {
            store: self,
            names: Vec::new(),
            tally: self.count.tally(),
        })
    }

    fn clear(&mut self) {
        let bytes = self.filter.read(|filter| match filter {
            Filter::Fingerprints(_) => None,
            Filter::Bits(bits) => Some(bits.memory_bytes()),
        });
        let empty = match bytes {
            None => Self::fingerprints(self.count.most()),
            Some(bytes) => Self::bits(self.count.most(), bytes),
        };
        *self = empty.within(self.budget);
    }

    fn len(&self) -> usize {
        self.count.states()
    }

    fn memory(&self) -> Memory {
        vec![
            ("states", self.filter.read(Filter::memory_bytes)),
            ("waiting", self.waiting.memory_bytes()),
        ]
    }

    fn for_each(&self, see: &mut dyn FnMut(StateId)) {
        self.filter.read(|filter| {
            if let Filter::Fingerprints(lines) = filter {
                let slots = (0..lines.slot_bound()).map(|slot| lines.slot(slot));
                (slots.filter(|name| *name != 0)).for_each(|name| see(StateId(name)));
            }
        });
    }

    fn index_bound(&self) -> usize {
        self.filter.read(|filter| match filter {
            Filter::Fingerprints(lines) => lines.slot_bound(),
            Filter::Bits(_) => 0,
        })
    }

    fn index(&self, id: StateId) -> usize {
        let index = self.filter.read(|filter| filter.index(id.0));
        index.expect("the state is there")
    }

    fn at(&self, index: usize) -> StateId {
        let name = self.filter.read(|filter| match filter {
            Filter::Fingerprints(lines) => lines.slot(index),
            Filter::Bits(_) => 0,
        });
        assert_ne!(name, 0, "there is a state with that index");
        StateId(name)
    }

    fn approximation(&self) -> Option<Approximation> {
        let states = self.len() as f64;
        self.filter.read(|filter| {
            let (remembers, missed) = match filter {
                Filter::Fingerprints(_) => {
                    (Remembers::Fingerprints, states * states / 2_f64.powi(65))
                }
                Filter::Bits(bits) => (Remembers::Bits, states * bits.chance()),
            };
            Some(Approximation {
                remembers,
                missed: missed.min(1.0),
            })
        })
    }

    fn begin_level(&self) {
        self.waiting.begin_level();
    }

    fn end_reading(&self) {
        self.waiting.forget();
    }
}

struct ApproximateWorker<'s, F: Family> {
    store: &'s Approximate<F>,
    /// The fingerprints of the states that are being inserted.
    names: Vec<u64>,
    tally: Tally<'s>,
}

impl<F: Family> ApproximateWorker<'_, F> {
    /// Inserts states from a number on, until all are or the table must grow. Returns the first that is not.
    fn insert_from(
        &mut self,
        filter: &Filter<F>,
        batch: &Batch,
        mut next: usize,
        tell: Tell,
        told: &mut Told<'_>,
    ) -> usize {
        for name in &self.names[next..] {
            filter.prefetch(*name);
        }
        while let Some(&name) = self.names.get(next) {
            let words = batch.words(next);
            let insertion = match filter.enter(name, self.tally.states()) {
                Entered::Crowded => return next,
                Entered::Known => Ok((StateId(name), Inserted::Known)),
                Entered::New => (self.tally.add()).map(|()| {
                    self.store.waiting.add(name, words);
                    (StateId(name), Inserted::New)
                }),
            };
            if tell == Tell::All || !matches!(insertion, Ok((_, Inserted::Known))) {
                told(next, words, insertion);
            }
            next += 1;
        }
        next
    }
}

impl<F: Family> Worker for ApproximateWorker<'_, F> {
    fn read(&mut self, id: StateId, words: &mut Vec<u64>) {
        self.store.waiting.read(id.0, words);
    }

    fn begin(&mut self, id: StateId, batch: &mut Batch) {
        self.read(id, batch.begin().0);
    }

    fn flush(&mut self, batch: &mut Batch, tell: Tell, told: &mut Told<'_>) {
        let store = self.store;
        self.names.clear();
        self.names.extend(batch.words_from(0).map(fingerprint));
        let mut next = 0;
        while next < self.names.len() {
            self.tally.begin();
            next = (store.filter).read(|filter| self.insert_from(filter, batch, next, tell, told));
            self.tally.end();
            if let Some(name) = self.names.get(next) {
                (store.filter).write(|filter| filter.make_room(*name, store.len()));
            }
        }
        batch.clear();
    }

    fn find(&mut self, state: Parts<'_>) -> Option<StateId> {
        let name = fingerprint(state.words);
        let found = self.store.filter.read(|filter| filter.contains(name));
        found.then_some(StateId(name))
    }
}
