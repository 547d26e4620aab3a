//! [`Wide`]: states by 128 bits of a hash.
//!
//! The two words of a [fingerprint](crate::hash::wide_fingerprint) are kept in a [`Flat`] set, as if they were a state. That is exact, so it promises of
//! fingerprints what it promises of states: each has one number, and one worker is told that it is new. A state has the number of its fingerprint.
//!
//! It takes 26 bytes a state where 64 bits take 10: 16 bytes for the fingerprint, and an entry of the table. So it is for states that are large, or more than a
//! table of 64 bits could tell apart.

use super::waiting::Waiting;
use super::{Approximation, Remembers};
use crate::batch::Batch;
use crate::family::{Family, Std};
use crate::flat::Flat;
use crate::hash::{mix, wide_fingerprint};
use crate::lines::{Lines, Load};
use crate::parts::{Changed, Parts};
use crate::{Inserted, Memory, StateId, Store, Tell, Told, Worker};

/// A set that may take a new state for one that it has, if both have the same 128 bits.
pub struct Wide<F: Family = Std> {
    fingerprints: Flat<F>,
    waiting: Waiting<F>,
}

impl<F: Family> Wide<F> {
    /// An empty set that takes at most that many states.
    #[must_use]
    pub fn with_limit(most: usize) -> Self {
        Self {
            fingerprints: Flat::with_index(most, Lines::new(Load::HEAVY)),
            waiting: Waiting::new(),
        }
    }

    /// The same, which should take no more memory than that. Whether it does, somebody else looks; it grows by less when it comes near.
    #[must_use]
    pub fn within(self, bytes: usize) -> Self {
        Self {
            fingerprints: self.fingerprints.within(bytes),
            ..self
        }
    }
}

/// What the words of a state that waits are found by. The numbers of states are near each other.
fn key(id: StateId) -> u64 {
    mix(id.0)
}

/// A fingerprint as a state of one part.
fn as_state(fingerprint: &[u64; 2]) -> Parts<'_> {
    Parts {
        words: fingerprint,
        ends: &[2],
    }
}

impl<F: Family> Store for Wide<F> {
    fn name(&self) -> &'static str {
        "fingerprint:128"
    }

    fn worker(&self) -> Box<dyn Worker + '_> {
        Box::new(WideWorker {
            fingerprints: self.fingerprints.worker(),
            waiting: &self.waiting,
            batch: Batch::default(),
        })
    }

    fn clear(&mut self) {
        self.fingerprints.clear();
        self.waiting = Waiting::new();
    }

    fn len(&self) -> usize {
        self.fingerprints.len()
    }

    fn memory(&self) -> Memory {
        let mut memory = self.fingerprints.memory();
        memory.push(("waiting", self.waiting.memory_bytes()));
        memory
    }

    fn for_each(&self, see: &mut dyn FnMut(StateId)) {
        self.fingerprints.for_each(see);
    }

    fn index_bound(&self) -> usize {
        self.fingerprints.index_bound()
    }

    fn index(&self, id: StateId) -> usize {
        self.fingerprints.index(id)
    }

    fn at(&self, index: usize) -> StateId {
        self.fingerprints.at(index)
    }

    fn approximation(&self) -> Option<Approximation> {
        let states = self.len() as f64;
        Some(Approximation {
            remembers: Remembers::Fingerprints,
            missed: (states * states / 2_f64.powi(129)).min(1.0),
        })
    }

    fn begin_level(&self) {
        self.waiting.begin_level();
    }

    fn end_reading(&self) {
        self.waiting.forget();
    }
}

struct WideWorker<'s, F: Family> {
    fingerprints: Box<dyn Worker + 's>,
    waiting: &'s Waiting<F>,
    /// The fingerprints of the states that are being inserted.
    batch: Batch,
}

impl<F: Family> Worker for WideWorker<'_, F> {
    fn read(&mut self, id: StateId, words: &mut Vec<u64>) {
        self.waiting.read(key(id), words);
    }

    fn begin(&mut self, id: StateId, batch: &mut Batch) {
        self.read(id, batch.begin().0);
    }

    fn flush(&mut self, batch: &mut Batch, tell: Tell, told: &mut Told<'_>) {
        for words in batch.words_from(0) {
            let fingerprint = wide_fingerprint(words);
            (self.batch).push(as_state(&fingerprint), Changed::ALL);
        }
        (self.fingerprints).flush(&mut self.batch, tell, &mut |number, _, insertion| {
            let words = batch.words(number);
            if let Ok((id, Inserted::New)) = insertion {
                self.waiting.add(key(id), words);
            }
            told(number, words, insertion);
        });
        batch.clear();
    }

    fn find(&mut self, state: Parts<'_>) -> Option<StateId> {
        let fingerprint = wide_fingerprint(state.words);
        self.fingerprints.find(as_state(&fingerprint))
    }
}
