//! [`Records`]: the words of states, in blocks of states of the same length. Records are never moved.
//!
//! A *directory* says where each block begins: one word for 64 states. The number of a state says its block and its
//! place in the block. One worker with states of one length gives them the numbers 0, 1, 2 and so on.

use std::sync::OnceLock;

use crate::StoreFull;
use crate::family::{Family, Lock, Word};
use crate::pages::Doubling;

/// States per block, at most.
pub(super) const BLOCK: usize = 64;
/// Words of a page, unless one record is longer.
const PAGE: usize = 1 << 16;
/// Words of the first page. Later ones are larger, up to the common size.
const FIRST_PAGE: usize = 1 << 9;

/// Blocks whose numbers fit into 32 bits together with what makes an entry different from zero.
const MOST_BLOCKS: u64 = (u32::MAX as u64) / BLOCK as u64;

/// How many records of that length a block has.
fn states_of_block(length: usize) -> usize {
    (PAGE / length.max(1)).clamp(1, BLOCK)
}

/// A word of the directory: the page, the place in it, and the length of the records.
#[derive(Clone, Copy)]
struct At(u64);

const LENGTH_BITS: u32 = 20;
const OFFSET_BITS: u32 = 17;

impl At {
    fn new(page: usize, offset: usize, length: usize) -> Self {
        Self(((page as u64) << OFFSET_BITS | offset as u64) << LENGTH_BITS | length as u64)
    }

    #[inline]
    fn page(self) -> usize {
        (self.0 >> (LENGTH_BITS + OFFSET_BITS)) as usize
    }

    /// The words of a place in the block.
    #[inline]
    fn range(self, place: usize) -> std::ops::Range<usize> {
        let length = self.0 as usize & ((1 << LENGTH_BITS) - 1);
        let offset = (self.0 >> LENGTH_BITS) as usize & ((1 << OFFSET_BITS) - 1);
        let start = offset + place * length;
        start..start + length
    }
}

/// The words of states by their numbers.
pub(super) struct Records<F: Family> {
    directory: Doubling<F::Word>,
    pages: Doubling<OnceLock<Box<[F::Word]>>>,
    allocator: F::Lock<Allocator>,
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

impl<F: Family> Records<F> {
    pub(super) fn new() -> Self {
        Self {
            directory: Doubling::new(),
            pages: Doubling::new(),
            allocator: F::Lock::new(Allocator::default()),
        }
    }

    /// A new block for records of that length: the first number and the one after the last.
    #[cold]
    pub(super) fn new_block(&self, length: usize) -> Result<(u32, u32), StoreFull> {
        if length >= 1 << LENGTH_BITS {
            return Err(StoreFull);
        }
        let states = states_of_block(length);
        let needed = states * length;
        self.allocator.write(|allocator| {
            if allocator.blocks >= MOST_BLOCKS {
                return Err(StoreFull);
            }
            if allocator.pages == 0 || allocator.taken + needed > allocator.size {
                // What is not taken yet is a small part of all.
                let size = needed.max((allocator.words / 16).clamp(FIRST_PAGE, PAGE));
                let page = self.pages.make(allocator.pages, OnceLock::new);
                page.get_or_init(|| F::Word::zeros(size));
                allocator.pages += 1;
                allocator.taken = 0;
                allocator.size = size;
                allocator.words += size;
            }
            let at = At::new(allocator.pages - 1, allocator.taken, length);
            let block = allocator.blocks;
            let directory = self.directory.make(block as usize, || F::Word::new(0));
            directory.put(at.0);
            allocator.taken += needed;
            allocator.blocks += 1;
            let first = block as u32 * BLOCK as u32;
            Ok((first, first + states as u32))
        })
    }

    /// All numbers are below this one.
    pub(super) fn bound(&self) -> usize {
        self.allocator.read(|allocator| allocator.blocks) as usize * BLOCK
    }

    /// The memory of the records, and that of the directory.
    pub(super) fn memory_bytes(&self) -> (usize, usize) {
        let words = self.allocator.read(|allocator| allocator.words);
        let directory = self.directory.memory_bytes() + self.pages.memory_bytes();
        (words * size_of::<F::Word>(), directory)
    }
}

/// Reads and writes records, and remembers where blocks are.
pub(super) struct Reader<'s, F: Family> {
    records: &'s Records<F>,
    /// The records of blocks, one after another, and their length; empty where nothing is known yet.
    blocks: Vec<(&'s [F::Word], usize)>,
}

impl<'s, F: Family> Reader<'s, F> {
    pub(super) fn new(records: &'s Records<F>) -> Self {
        Self {
            records,
            blocks: Vec::new(),
        }
    }

    /// The words of a state. Panics if there is no such state.
    #[inline]
    pub(super) fn get(&mut self, number: u32) -> &'s [F::Word] {
        let (block, place) = (number as usize / BLOCK, number as usize % BLOCK);
        if let Some(&(words, length)) = self.blocks.get(block)
            && length > 0
            && let Some(record) = words.get(place * length..place * length + length)
        {
            return record;
        }
        self.look_up(block, place)
    }

    #[cold]
    fn look_up(&mut self, block: usize, place: usize) -> &'s [F::Word] {
        let at = (self.records.directory)
            .get(block)
            .expect("the block exists");
        let at = At(at.peek());
        let page = self.records.pages.get(at.page()).and_then(OnceLock::get);
        let page: &[F::Word] = page.expect("the page exists");
        if self.blocks.len() <= block {
            self.blocks.resize(block + 1, (&[], 0));
        }
        let start = at.range(0).start;
        let length = at.range(0).len();
        let words = &page[start..start + states_of_block(length) * length];
        self.blocks[block] = (words, length);
        &words[place * length..place * length + length]
    }
}

/// Whether a record has these words.
#[inline]
pub(super) fn is<W: Word>(record: &[W], words: &[u64]) -> bool {
    record.len() == words.len() && record.iter().zip(words).all(|(a, b)| a.peek() == *b)
}
