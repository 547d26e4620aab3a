//! [`Flat`]: every word of every state.
//!
//! - *Records*: the words of states, in blocks of states of the same length. Records are never moved.
//! - A *directory* that says where each block begins: one word for 64 states.
//! - A [table](crate::lines) of entries: 32 bits of the hash of a state, and its number.
//!
//! The number of a state says its block and its place in the block. One worker with states of one length gives
//! them the numbers 0, 1, 2 and so on.
//!
//! # Why it is exact
//!
//! An entry stands for a state if its bits of the hash are those of the state *and* its record has the same
//! words. So a state is found only where its own words are, and by the claim about
//! [`Lines`] there is one such entry.
//!
//! A worker writes the words into a record of a block of its own before it claims a slot for them, and
//! whoever finds the entry sees them, and the directory. If somebody else was faster, nobody knows the record, and the worker uses it
//! for its next state.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::family::{Family, Lock, Std, Word};
use crate::hash::{hash_words, upper};
use crate::lines::{Claim, Lines};
use crate::pages::Doubling;
use crate::parts::{Changed, Parts};
use crate::prefetch::prefetch;
use crate::queue::Queue;
use crate::{Inserted, Insertion, Memory, StateId, Store, StoreFull, Told, Worker};

/// States per block, at most.
const BLOCK: usize = 64;
/// Words of a page, unless one record is longer.
const PAGE: usize = 1 << 16;
/// Words of the first page. Pages double up to the common size.
const FIRST_PAGE: usize = 1 << 9;

/// A word of the directory: the page, the place in it, and the length of the records.
const LENGTH_BITS: u32 = 20;
const OFFSET_BITS: u32 = 17;

/// Blocks whose numbers fit into 32 bits together with what makes an entry different from zero.
const MOST_BLOCKS: u64 = (u32::MAX as u64) / BLOCK as u64;

/// A set that keeps every word of every state.
pub struct Flat<F: Family = Std> {
    index: F::Lock<Lines<F::Word>>,
    directory: Doubling<F::Word>,
    pages: Doubling<OnceLock<Box<[F::Word]>>>,
    allocator: F::Lock<Allocator>,
    /// The states in the set.
    len: AtomicUsize,
    most: usize,
}

/// Where the next block goes.
#[derive(Default)]
struct Allocator {
    blocks: u64,
    pages: usize,
    /// Words of the last page that are taken, and all of them.
    taken: usize,
    size: usize,
    /// Words of all pages.
    words: usize,
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
        Self::with_index(most, Lines::new())
    }

    /// An empty set over a given table, for tests.
    #[must_use]
    pub fn with_index(most: usize, index: Lines<F::Word>) -> Self {
        Self {
            index: F::Lock::new(index),
            directory: Doubling::new(),
            pages: Doubling::new(),
            allocator: F::Lock::new(Allocator::default()),
            len: AtomicUsize::new(0),
            most,
        }
    }

    /// The words of a state.
    #[inline]
    fn record(&self, number: u32) -> &[F::Word] {
        let (block, place) = (number as usize / BLOCK, number as usize % BLOCK);
        let at = self.directory.get(block).expect("the block exists").peek();
        let length = at as usize & ((1 << LENGTH_BITS) - 1);
        let offset = (at >> LENGTH_BITS) as usize & ((1 << OFFSET_BITS) - 1);
        let page = (at >> (LENGTH_BITS + OFFSET_BITS)) as usize;
        let page = self.pages.get(page).and_then(OnceLock::get);
        let start = offset + place * length;
        &page.expect("the page exists")[start..start + length]
    }

    /// Whether the state of a number has these words.
    #[inline]
    fn is(&self, number: u32, words: &[u64]) -> bool {
        let record = self.record(number);
        record.len() == words.len() && record.iter().zip(words).all(|(a, b)| a.peek() == *b)
    }

    #[inline]
    fn is_at<'w>(&self, hash: u64, words: &'w [u64]) -> impl Fn(u64) -> bool + use<'_, 'w, F> {
        move |entry| upper(entry) == upper(hash) && self.is(number_of(entry), words)
    }

    /// A new block for records of that length: the first number and the one after the last.
    #[cold]
    fn new_block(&self, length: usize) -> Result<(u32, u32), StoreFull> {
        if length >= 1 << LENGTH_BITS {
            return Err(StoreFull);
        }
        let states = (PAGE / length.max(1)).clamp(1, BLOCK);
        let needed = states * length;
        self.allocator.write(|allocator| {
            if allocator.blocks >= MOST_BLOCKS {
                return Err(StoreFull);
            }
            if allocator.pages == 0 || allocator.taken + needed > allocator.size {
                let doubled = FIRST_PAGE << allocator.pages.min(16);
                let size = needed.max(doubled.min(PAGE));
                let page = self.pages.make(allocator.pages, OnceLock::new);
                page.get_or_init(|| (0..size).map(|_| F::Word::new(0)).collect());
                allocator.pages += 1;
                allocator.taken = 0;
                allocator.size = size;
                allocator.words += size;
            }
            let page = allocator.pages as u64 - 1;
            let at = (page << OFFSET_BITS | allocator.taken as u64) << LENGTH_BITS | length as u64;
            let block = allocator.blocks;
            let directory = self.directory.make(block as usize, || F::Word::new(0));
            directory.put(at);
            allocator.taken += needed;
            allocator.blocks += 1;
            let first = block as u32 * BLOCK as u32;
            Ok((first, first + states as u32))
        })
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
            alike: Vec::new(),
            open: Vec::new(),
        })
    }

    fn clear(&mut self) {
        *self = Self::with_limit(self.most);
    }

    fn len(&self) -> usize {
        self.len.load(Ordering::Relaxed)
    }

    fn memory(&self) -> Memory {
        let words = self.allocator.read(|allocator| allocator.words);
        vec![
            ("states", words * size_of::<F::Word>()),
            ("index", self.index.read(Lines::memory_bytes)),
            (
                "directory",
                self.directory.memory_bytes() + self.pages.memory_bytes(),
            ),
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
        self.allocator.read(|allocator| allocator.blocks) as usize * BLOCK
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
    /// Entries with the same bits of the hash.
    alike: Vec<Option<u64>>,
    /// One for each length, that used last first.
    open: Vec<Open>,
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
            (open.next, open.end) = self.store.new_block(length)?;
        }
        Ok(open.next)
    }

    /// Inserts a state, unless the table must grow first. `alike` is an entry with the bits of its hash, if
    /// there was one.
    #[inline]
    fn insert(
        &mut self,
        index: &Lines<F::Word>,
        number: usize,
        alike: Option<u64>,
    ) -> Option<Insertion> {
        let (store, hash) = (self.store, self.hashes[number]);
        let words = self.queue.get(number).words;
        let length = words.len();
        if let Some(entry) = alike
            && store.is(number_of(entry), words)
        {
            let id = StateId(number_of(entry).into());
            return Some(Ok((id, Inserted::Known)));
        }
        let new = match self.next_number(length) {
            Ok(new) => new,
            Err(full) => return Some(Err(full)),
        };
        let words = self.queue.get(number).words;
        for (place, word) in store.record(new).iter().zip(words) {
            place.put(*word);
        }
        let is_it = store.is_at(hash, words);
        match index.find_or_claim(upper(hash), is_it, || entry(hash, new)) {
            Claim::Full => None,
            Claim::Found(entry) => {
                let id = StateId(number_of(entry).into());
                Some(Ok((id, Inserted::Known)))
            }
            Claim::Claimed => {
                self.open[0].next += 1;
                // Of all that were added, those that were first count: exactly as many as there
                // is room for.
                if self.store.len.fetch_add(1, Ordering::Relaxed) >= self.store.most {
                    self.store.len.fetch_sub(1, Ordering::Relaxed);
                    return Some(Err(StoreFull));
                }
                Some(Ok((StateId(new.into()), Inserted::New)))
            }
        }
    }
}

impl<F: Family> Worker for FlatWorker<'_, F> {
    #[inline]
    fn read(&mut self, id: StateId, words: &mut Vec<u64>) {
        words.clear();
        words.extend(self.store.record(id.0 as u32).iter().map(Word::peek));
    }

    fn begin(&mut self, id: StateId, words: &mut Vec<u64>) {
        self.read(id, words);
    }

    #[inline]
    fn queue(&mut self, state: Parts<'_>, _: Changed) {
        self.hashes.push(hash_words(state.words));
        self.queue.push(state);
    }

    fn queued(&self) -> usize {
        self.queue.len()
    }

    fn flush(&mut self, told: &mut Told<'_>) {
        let store = self.store;
        let mut next = 0;
        while next < self.queue.len() {
            store.index.read(|index| {
                for &hash in &self.hashes[next..] {
                    index.prefetch(upper(hash));
                }
                self.alike.clear();
                self.alike.resize(next, None);
                for &hash in &self.hashes[next..] {
                    let alike = |entry| upper(entry) == upper(hash);
                    let alike = index.find(upper(hash), alike).map(|(_, entry)| entry);
                    self.alike.push(alike);
                    if let Some(entry) = alike {
                        let record = store.record(number_of(entry));
                        if let (Some(first), Some(last)) = (record.first(), record.last()) {
                            prefetch(first);
                            prefetch(last);
                        }
                    }
                }
                while next < self.queue.len() && store.len() < index.room() {
                    let Some(insertion) = self.insert(index, next, self.alike[next]) else {
                        return;
                    };
                    told(next, self.queue.get(next).words, insertion);
                    next += 1;
                }
            });
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
        let is_it = self.store.is_at(hash, state.words);
        let found = (self.store.index).read(|index| index.find(upper(hash), is_it));
        found.map(|(_, entry)| StateId(number_of(entry).into()))
    }
}
