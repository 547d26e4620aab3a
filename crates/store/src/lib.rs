//! Sets of states, for several workers at a time.
//!
//! A state is a sequence of words in [parts](Parts). A [`Store`] keeps the states that were reached,
//! and names each by a [`StateId`]. There is one file for each store:
//!
//! - [`Flat`] keeps the words of every state. It is the fastest.
//! - [`Tree`] keeps what states have in common once: a state is a pair of numbers. It comes in two ways, of which `compact` is
//!   the smallest.
//! - [`Approximate`] and [`Wide`] remember hashes, or less. They are for searches that fit nowhere else, and are not exact.
//!
//! # What every store promises
//!
//! **Exactness,** but for these. Two different sequences of words are never taken for one, and no sequence is
//! taken for two.
//!
//! **One number, one `New`.** However many workers insert a state at the same time, all are told the same
//! [`StateId`], and exactly one of them is told that the state is [`New`](Inserted::New).
//!
//! Both follow from the [claim](lines) about the one lock-free table that all stores are made of; each store
//! says how.
//!
//! # Batches
//!
//! A [`Worker`] inserts many states at once, a [`Batch`]: while one cache line comes from memory, others are
//! asked for. Whether a state is new is known when the batch is [flushed](Worker::flush).
//!
//! ```
//! use raddle_store::{Batch, Changed, Flat, Inserted, Packed, Store, Tell};
//!
//! let store = Flat::default();
//! let mut worker = store.worker();
//! let mut batch = Batch::default();
//! for number in [7, 8, 7] {
//!     let mut state = Packed::default();
//!     state.push(number);
//!     state.end_part();
//!     batch.push(state.parts(), Changed::ALL);
//! }
//! let mut news = Vec::new();
//! worker.flush(&mut batch, Tell::All, &mut |_, _, inserted| news.push(inserted.unwrap().1));
//! assert_eq!(news, [Inserted::New, Inserted::New, Inserted::Known]);
//! assert_eq!(store.len(), 2);
//! ```

pub mod approximate;
mod batch;
mod count;
pub mod family;
pub mod flat;
mod hash;
mod interned;
pub mod lines;
mod pages;
pub mod parts;
mod prefetch;
pub mod tree;

pub use approximate::{Approximate, Approximation, Remembers, Wide};
pub use batch::Batch;
pub use flat::Flat;
pub use hash::hash_words;
pub use parts::{Changed, Packed, Parts};
pub use tree::{Form, Sample, Tree};

use std::fmt;

/// The name of a stored state. What it means is the store's matter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StateId(pub u64);

/// Whether an insertion found the state there already.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Inserted {
    /// The state is new.
    New,
    /// It had been inserted before.
    Known,
}

/// There is no room for another state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoreFull;

impl fmt::Display for StoreFull {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the store has no room for another state")
    }
}

impl std::error::Error for StoreFull {}

/// What became of a state that was inserted.
pub type Insertion = Result<(StateId, Inserted), StoreFull>;

/// Who is told what became of a state: its number in the batch, its words.
pub type Told<'t> = dyn FnMut(usize, &[u64], Insertion) + 't;

/// Of which states of a batch one wants to be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tell {
    /// Of all.
    All,
    /// Of all but those that were known.
    New,
}

/// A set of states.
pub trait Store: Send + Sync {
    /// The name that users write.
    fn name(&self) -> &'static str;

    /// Somebody who inserts and reads states. Each thread has its own.
    fn worker(&self) -> Box<dyn Worker + '_>;

    /// Removes all states.
    fn clear(&mut self);

    /// How many states there are.
    fn len(&self) -> usize;

    /// Whether there are none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How much memory the set takes, by what for. Unused room is included.
    fn memory(&self) -> Memory;

    /// How much memory the set takes.
    fn memory_bytes(&self) -> usize {
        self.memory().iter().map(|(_, bytes)| bytes).sum()
    }

    /// Calls `see` for every state, in any order. Nobody may be inserting states at the same time.
    /// A store that cannot tell which states it has sees none, and has no indices.
    fn for_each(&self, see: &mut dyn FnMut(StateId));

    /// All [indices](Self::index) are below this one.
    fn index_bound(&self) -> usize;

    /// A small number for a state, which is good until another state is inserted.
    fn index(&self, id: StateId) -> usize;

    /// The state with an [index](Self::index). Panics if there is none.
    fn at(&self, index: usize) -> StateId;

    /// How probable it is that a state was missed, if the store is not exact.
    fn approximation(&self) -> Option<Approximation> {
        None
    }

    /// From now on, only states are read that were inserted since this was called the last time, or will be. Nobody may be inserting or
    /// reading states at the same time. A store that is exact keeps all others too.
    fn begin_level(&self) {}

    /// No states are read any more, and what is kept only for that is given back. A store that is exact keeps everything.
    fn end_reading(&self) {}
}

/// Memory by what it is taken for.
pub type Memory = Vec<(&'static str, usize)>;

/// Inserts and reads the states of a store, for one thread.
pub trait Worker {
    /// Reads the words of a state, in place of what was in the buffer. Panics if there is no such state.
    fn read(&mut self, id: StateId, words: &mut Vec<u64>);

    /// [Reads](Self::read) a state into a batch, to which its successors are added from now on.
    ///
    /// A worker has one batch: what is begun in one is not to be flushed by another worker, or from another batch.
    fn begin(&mut self, id: StateId, batch: &mut Batch);

    /// Inserts all states of a batch, in order, and tells what became of each, or of some. A state that is
    /// told to have no room may be there or not. The batch is empty then.
    fn flush(&mut self, batch: &mut Batch, tell: Tell, told: &mut Told<'_>);

    /// The name of a state, if it is in the set. Nobody may be inserting states at the same time, if the
    /// answer is to be relied on.
    fn find(&mut self, state: Parts<'_>) -> Option<StateId>;
}
