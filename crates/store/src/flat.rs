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
//! What is said to have changed does not matter: all words are hashed and compared.
//!
//! A worker writes the words into a record of a block of its own before it claims a slot for them, and
//! whoever finds the entry sees them, and the directory. If somebody else was faster, nobody knows the record, and the worker uses it
//! for its next state.

use crate::batch::Batch;
use crate::count::{Count, Tally};
use crate::family::{Family, Lock, Std, Word};
use crate::hash::{hash_words, upper};
use crate::lines::{Claim, Lines, Load, Probe};
use crate::parts::Parts;
use crate::prefetch::prefetch;
use crate::{Inserted, Insertion, Memory, StateId, Store, StoreFull, Tell, Told, Worker};

mod records;

use records::{Reader, Records, is};

/// A set that keeps every word of every state.
pub struct Flat<F: Family = Std> {
    index: F::Lock<Lines<F::Word>>,
    records: Records<F>,
    count: Count,
    budget: usize,
}

fn entry(hash: u32, number: u32) -> u64 {
    u64::from(hash) << 32 | u64::from(number + 1)
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
            count: Count::up_to(most),
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
            hashes: Vec::new(),
            insertions: Vec::new(),
            alike: Vec::new(),
            records: Reader::new(&self.records),
            open: Vec::new(),
            tally: self.count.tally(),
        })
    }

    fn clear(&mut self) {
        *self = Self::with_limit(self.count.most()).within(self.budget);
    }

    fn len(&self) -> usize {
        self.count.states()
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
    /// The upper halves of the hashes of the states that are being inserted.
    hashes: Vec<u32>,
    /// What became of them, by their numbers, if somebody is to be told.
    insertions: Vec<(usize, Insertion)>,
    /// Those for which there is an entry with the same bits of the hash, which has that record.
    alike: Vec<(usize, u64, &'s [F::Word])>,
    records: Reader<'s, F>,
    /// One for each length, that used last first.
    open: Vec<Open>,
    tally: Tally<'s>,
}

fn known(entry: u64) -> Insertion {
    Ok((StateId(number_of(entry).into()), Inserted::Known))
}

/// The table must grow first, so that there is a place for this state.
struct Crowded(usize);

impl<'s, F: Family> FlatWorker<'s, F> {
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

    /// Writes a state into the worker's next record, and returns an entry for it.
    #[inline]
    fn write(&mut self, hash: u32, words: &[u64]) -> Result<u64, StoreFull> {
        let new = self.next_number(words.len())?;
        for (place, word) in self.records.get(new).iter().zip(words) {
            place.put(*word);
        }
        Ok(entry(hash, new))
    }

    /// Counts a state whose entry was claimed, which has the worker's next record.
    #[inline]
    fn count(&mut self, own: u64) -> Insertion {
        self.open[0].next += 1;
        self.tally.add()?;
        Ok((StateId(number_of(own).into()), Inserted::New))
    }

    /// Inserts a state that is not in the first slot where it could be. Nothing if the table must grow first.
    #[cold]
    fn insert_further(
        &mut self,
        index: &Lines<F::Word>,
        hash: u32,
        words: &[u64],
    ) -> Option<Insertion> {
        let own = match self.write(hash, words) {
            Ok(own) => own,
            Err(full) => return Some(Err(full)),
        };
        let records = &mut self.records;
        let is_it = |entry| upper(entry) == hash && is(records.get(number_of(entry)), words);
        match index.find_or_claim(hash, is_it, || own) {
            Claim::Full => None,
            Claim::Found(entry) => Some(known(entry)),
            Claim::Claimed => Some(self.count(own)),
        }
    }

    /// Inserts states from a number on, but for those that are alike: the records of these are brought nearer.
    #[inline]
    fn insert_new(
        &mut self,
        index: &Lines<F::Word>,
        states: impl States,
        next: usize,
    ) -> Result<(), Crowded> {
        for number in next..states.len() {
            let hash = self.hashes[number];
            let insertion = match index.probe(hash, |entry| upper(entry) == hash) {
                None => return Err(Crowded(number)),
                Some(Probe { entry: 0, slot }) => {
                    if self.tally.states() >= index.room() {
                        return Err(Crowded(number));
                    }
                    let words = states.words(number);
                    match self.write(hash, words) {
                        Err(full) => Err(full),
                        Ok(own) if index.claim_at(slot, own).is_ok() => self.count(own),
                        // Somebody was faster.
                        Ok(_) => {
                            let inserted = self.insert_further(index, hash, words);
                            inserted.ok_or(Crowded(number))?
                        }
                    }
                }
                Some(Probe { entry, .. }) => {
                    let record = self.records.get(number_of(entry));
                    if let [first, .., last] = record {
                        prefetch(first);
                        prefetch(last);
                    }
                    self.alike.push((number, entry, record));
                    continue;
                }
            };
            self.insertions.push((number, insertion));
        }
        Ok(())
    }

    /// Looks whether the states that are alike are the same, and inserts them if they are not.
    #[inline]
    fn insert_alike(
        &mut self,
        index: &Lines<F::Word>,
        states: impl States,
        tell: Tell,
    ) -> Result<(), Crowded> {
        for next in 0..self.alike.len() {
            let (number, entry, record) = self.alike[next];
            let words = states.words(number);
            if is(record, words) {
                if tell == Tell::All {
                    self.insertions.push((number, known(entry)));
                }
                continue;
            }
            let Some(inserted) = self.insert_further(index, self.hashes[number], words) else {
                self.alike.drain(..next);
                return Err(Crowded(number));
            };
            self.insertions.push((number, inserted));
        }
        self.alike.clear();
        Ok(())
    }

    /// Inserts all states, and tells of them.
    #[inline]
    fn insert_all(&mut self, states: impl States, tell: Tell, told: &mut Told<'_>) {
        let store = self.store;
        let numbers = 0..states.len();
        self.hashes.clear();
        (self.hashes).extend(numbers.map(|number| upper(hash_words(states.words(number)))));
        self.insertions.clear();
        let mut next = 0;
        loop {
            self.tally.begin();
            let inserted = store.index.read(|index| {
                for &hash in &self.hashes[next..] {
                    index.prefetch(hash);
                }
                self.insert_new(index, states, next)?;
                next = states.len();
                self.insert_alike(index, states, tell)
            });
            self.tally.end();
            let Err(Crowded(number)) = inserted else {
                break;
            };
            next = next.max(number);
            store.index.write(|index| {
                // Somebody else may have done it. A table that is full has room for more entries, but
                // not there.
                if store.len() >= index.room() || !index.has_place(self.hashes[number]) {
                    index.grow(upper);
                }
            });
        }
        // Those that were alike came last.
        if !self.insertions.is_sorted_by_key(|(number, _)| *number) {
            self.insertions.sort_unstable_by_key(|(number, _)| *number);
        }
        for (number, insertion) in &self.insertions {
            if tell == Tell::All || !matches!(insertion, Ok((_, Inserted::Known))) {
                told(*number, states.words(*number), *insertion);
            }
        }
    }

    /// The same for states of so many words each: what is done with them needs no loops then.
    fn insert_all_of<const N: usize>(&mut self, batch: &Batch, tell: Tell, told: &mut Told<'_>) {
        match batch.as_chunks::<N>() {
            Some(states) => self.insert_all(states, tell, told),
            None => self.insert_all(batch, tell, told),
        }
    }
}

/// States by their numbers.
trait States: Copy {
    fn len(self) -> usize;

    fn words(&self, number: usize) -> &[u64];
}

impl States for &Batch {
    #[inline]
    fn len(self) -> usize {
        Batch::len(self)
    }

    #[inline]
    fn words(&self, number: usize) -> &[u64] {
        Batch::words(self, number)
    }
}

impl<const N: usize> States for &[[u64; N]] {
    #[inline]
    fn len(self) -> usize {
        <[_]>::len(self)
    }

    #[inline]
    fn words(&self, number: usize) -> &[u64] {
        &self[number]
    }
}

impl<F: Family> Worker for FlatWorker<'_, F> {
    #[inline]
    fn read(&mut self, id: StateId, words: &mut Vec<u64>) {
        words.clear();
        words.extend(self.records.get(id.0 as u32).iter().map(Word::peek));
    }

    fn begin(&mut self, id: StateId, batch: &mut Batch) {
        self.read(id, batch.begin().0);
    }

    fn flush(&mut self, batch: &mut Batch, tell: Tell, told: &mut Told<'_>) {
        match batch.length() {
            Some(1) => self.insert_all_of::<1>(batch, tell, told),
            Some(2) => self.insert_all_of::<2>(batch, tell, told),
            Some(3) => self.insert_all_of::<3>(batch, tell, told),
            Some(4) => self.insert_all_of::<4>(batch, tell, told),
            Some(5) => self.insert_all_of::<5>(batch, tell, told),
            Some(6) => self.insert_all_of::<6>(batch, tell, told),
            _ => self.insert_all(&*batch, tell, told),
        }
        batch.clear();
    }

    fn find(&mut self, state: Parts<'_>) -> Option<StateId> {
        let hash = upper(hash_words(state.words));
        let records = &mut self.records;
        let is_it = |entry| upper(entry) == hash && is(records.get(number_of(entry)), state.words);
        let found = (self.store.index).read(|index| index.find(hash, is_it));
        found.map(|(_, entry)| StateId(number_of(entry).into()))
    }
}
