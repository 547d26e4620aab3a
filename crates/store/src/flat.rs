//! [`Flat`]: every word of every state.
//!
//! - *Records*: the words of states (`flat/records.rs`).
//! - A [table](crate::lines) of entries: 32 bits of the hash of a state, and its number.
//!
//! # Why it is exact
//!
//! An entry stands for a state if its bits of the hash are those of the state *and* its record has the same
//! words. So a state is found only where its own words are, and by the claim about
//! [`Lines`] there is one such entry.
//!
//! The hash of a successor is computed from that of the state before it, but it is a function of its words alone: all words are compared with
//! those of the state before, and those that differ are hashed. What is said to have changed does not matter.
//!
//! A worker writes the words into a record of a block of its own before it claims a slot for them, and
//! whoever finds the entry sees them, and the directory. If somebody else was faster, nobody knows the record, and the worker uses it
//! for its next state.

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::family::{Family, Lock, Std, Word};
use crate::hash::{Sum, hash_words, upper};
use crate::lines::{Claim, Lines, Load, Probe};
use crate::parts::{Changed, Parts};
use crate::prefetch::prefetch;
use crate::queue::Queue;
use crate::{Inserted, Insertion, Memory, StateId, Store, StoreFull, Told, Worker};

mod records;

use records::{Reader, Records, is};

/// A set that keeps every word of every state.
pub struct Flat<F: Family = Std> {
    index: F::Lock<Lines<F::Word>>,
    records: Records<F>,
    /// The states in the set.
    len: AtomicUsize,
    most: usize,
    budget: usize,
}

fn entry(hash: u64, number: u32) -> u64 {
    u64::from(upper(hash)) << 32 | u64::from(number + 1)
}

fn number_of(entry: u64) -> u32 {
    entry as u32 - 1
}

impl<F: Family> Flat<F> {
    /// An empty set that takes at most that many states.
    #[must_use]
    pub fn with_limit(most: usize) -> Self {
        Self::with_index(most, Lines::new(Load::LIGHT))
    }

    /// The same, which should take no more memory than that. Whether it does, somebody else looks; it grows by less when it comes near.
    #[must_use]
    pub fn within(mut self, bytes: usize) -> Self {
        self.budget = bytes;
        self.index.get_mut().set_budget(bytes);
        self
    }

    /// An empty set over a given table, for tests.
    #[must_use]
    pub fn with_index(most: usize, index: Lines<F::Word>) -> Self {
        Self {
            index: F::Lock::new(index),
            records: Records::new(),
            len: AtomicUsize::new(0),
            most,
            budget: usize::MAX,
        }
    }
}

impl Default for Flat {
    fn default() -> Self {
        Self::with_limit(usize::MAX)
    }
}

impl<F: Family> Store for Flat<F> {
    fn name(&self) -> &'static str {
        "flat"
    }

    fn worker(&self) -> Box<dyn Worker + '_> {
        Box::new(FlatWorker {
            store: self,
            queue: Queue::default(),
            hashes: Vec::new(),
            probes: Vec::new(),
            records: Reader::new(&self.records),
            open: Vec::new(),
            begun: Vec::new(),
            begun_sum: Sum::of(&[]),
        })
    }

    fn clear(&mut self) {
        *self = Self::with_limit(self.most).within(self.budget);
    }

    fn len(&self) -> usize {
        self.len.load(Ordering::Relaxed)
    }

    fn memory(&self) -> Memory {
        let (records, directory) = self.records.memory_bytes();
        vec![
            ("states", records),
            ("index", self.index.read(Lines::memory_bytes)),
            ("directory", directory),
        ]
    }

    fn for_each(&self, see: &mut dyn FnMut(StateId)) {
        self.index.read(|index| {
            let slots = (0..index.slot_bound()).map(|slot| index.slot(slot));
            for entry in slots.filter(|entry| *entry != 0) {
                see(StateId(number_of(entry).into()));
            }
        });
    }

    fn index_bound(&self) -> usize {
        self.records.bound()
    }

    fn index(&self, id: StateId) -> usize {
        id.0 as usize
    }

    fn at(&self, index: usize) -> StateId {
        StateId(index as u64)
    }
}

/// A block that a worker fills.
#[derive(Clone, Copy)]
struct Open {
    length: usize,
    next: u32,
    end: u32,
}

struct FlatWorker<'s, F: Family> {
    store: &'s Flat<F>,
    queue: Queue,
    hashes: Vec<u64>,
    /// The first slot for each that is empty, or has an entry with the same bits of the hash, with the record of that.
    probes: Vec<(Probe, &'s [F::Word])>,
    records: Reader<'s, F>,
    /// One for each length, that used last first.
    open: Vec<Open>,
    /// The state that was begun last, and the sum of its words.
    begun: Vec<u64>,
    begun_sum: Sum,
}

/// All slots are taken by others.
const NOWHERE: Probe = Probe {
    slot: usize::MAX,
    entry: 0,
};

fn known(entry: u64) -> Insertion {
    Ok((StateId(number_of(entry).into()), Inserted::Known))
}

impl<F: Family> FlatWorker<'_, F> {
    /// The number that the worker's next state of that length gets.
    #[inline]
    fn next_number(&mut self, length: usize) -> Result<u32, StoreFull> {
        match self.open.first() {
            Some(open) if open.length == length && open.next < open.end => Ok(open.next),
            _ => self.open_block(length),
        }
    }

    #[cold]
    fn open_block(&mut self, length: usize) -> Result<u32, StoreFull> {
        let known = self.open.iter().position(|open| open.length == length);
        let at = known.unwrap_or_else(|| {
            self.open.push(Open {
                length,
                next: 0,
                end: 0,
            });
            self.open.len() - 1
        });
        self.open.swap(0, at);
        let open = &mut self.open[0];
        if open.next == open.end {
            (open.next, open.end) = self.store.records.new_block(length)?;
        }
        Ok(open.next)
    }

    /// Finds where queued states are, or could be, and has their records brought nearer.
    fn probe(&mut self, index: &Lines<F::Word>, next: usize) {
        let hashes = &self.hashes[next..];
        for &hash in hashes {
            index.prefetch(upper(hash));
        }
        self.probes.clear();
        self.probes.resize(next, (NOWHERE, &[]));
        for &hash in hashes {
            let probe = index.probe(upper(hash), |entry| upper(entry) == upper(hash));
            let probe = probe.unwrap_or(NOWHERE);
            let mut record: &[F::Word] = &[];
            if probe.entry != 0 {
                record = self.records.get(number_of(probe.entry));
                if let [first, .., last] = record {
                    prefetch(first);
                    prefetch(last);
                }
            }
            self.probes.push((probe, record));
        }
    }

    /// Inserts a state that is not where it could be, unless the table must grow first.
    fn insert(&mut self, index: &Lines<F::Word>, number: usize) -> Option<Insertion> {
        let hash = self.hashes[number];
        let new = match self.next_number(self.queue.get(number).len()) {
            Ok(new) => new,
            Err(full) => return Some(Err(full)),
        };
        let words = self.queue.get(number);
        for (place, word) in self.records.get(new).iter().zip(words) {
            place.put(*word);
        }
        let own = entry(hash, new);
        let claimed = match self.probes[number] {
            (Probe { slot, entry: 0 }, _) if slot != NOWHERE.slot => {
                index.claim_at(slot, own).is_ok()
            }
            _ => false,
        };
        if !claimed {
            // It was there by its hash only, or somebody was faster.
            let records = &mut self.records;
            let is_it =
                |entry| upper(entry) == upper(hash) && is(records.get(number_of(entry)), words);
            match index.find_or_claim(upper(hash), is_it, || own) {
                Claim::Full => return None,
                Claim::Found(entry) => return Some(known(entry)),
                Claim::Claimed => {}
            }
        }
        self.open[0].next += 1;
        // Of all that were added, those that were first count: exactly as many as there
        // is room for.
        if self.store.len.fetch_add(1, Ordering::Relaxed) >= self.store.most {
            self.store.len.fetch_sub(1, Ordering::Relaxed);
            return Some(Err(StoreFull));
        }
        Some(Ok((StateId(new.into()), Inserted::New)))
    }

    /// Inserts queued states from a number on, until all are or the table must grow. Returns the first that is not.
    fn insert_from(
        &mut self,
        index: &Lines<F::Word>,
        mut next: usize,
        told: &mut Told<'_>,
    ) -> usize {
        self.probe(index, next);
        while next < self.queue.len() {
            let words = self.queue.get(next);
            let (Probe { entry: alike, .. }, record) = self.probes[next];
            if alike != 0 && is(record, words) {
                told(next, words, known(alike));
            } else if self.store.len() < index.room()
                && let Some(insertion) = self.insert(index, next)
            {
                told(next, self.queue.get(next), insertion);
            } else {
                return next;
            }
            next += 1;
        }
        next
    }
}

impl<F: Family> Worker for FlatWorker<'_, F> {
    #[inline]
    fn read(&mut self, id: StateId, words: &mut Vec<u64>) {
        words.clear();
        words.extend(self.records.get(id.0 as u32).iter().map(Word::peek));
    }

    fn begin(&mut self, id: StateId, words: &mut Vec<u64>) {
        self.read(id, words);
        self.begun.clear();
        self.begun.extend_from_slice(words);
        self.begun_sum = Sum::of(words);
    }

    #[inline]
    fn queue(&mut self, state: Parts<'_>, _: Changed) {
        let sum = self.begun_sum.again(&self.begun, state.words);
        self.hashes.push(sum.hash());
        self.queue.push(state.words);
    }

    fn queued(&self) -> usize {
        self.queue.len()
    }

    fn flush(&mut self, told: &mut Told<'_>) {
        let store = self.store;
        let mut next = 0;
        while next < self.queue.len() {
            next = (store.index).read(|index| self.insert_from(index, next, told));
            if next < self.queue.len() {
                store.index.write(|index| {
                    // Somebody else may have done it. A table that is full has room for more entries, but
                    // not there.
                    if store.len() >= index.room() || !index.has_place(upper(self.hashes[next])) {
                        index.grow(upper);
                    }
                });
            }
        }
        self.queue.clear();
        self.hashes.clear();
    }

    fn find(&mut self, state: Parts<'_>) -> Option<StateId> {
        let hash = hash_words(state.words);
        let records = &mut self.records;
        let is_it =
            |entry| upper(entry) == upper(hash) && is(records.get(number_of(entry)), state.words);
        let found = (self.store.index).read(|index| index.find(upper(hash), is_it));
        found.map(|(_, entry)| StateId(number_of(entry).into()))
    }
}
