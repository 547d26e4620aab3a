//! [`Store`]: the set of states that were reached.
//!
//! A state is kept as the bytes of its encoding and named by a number. [`ExactStore`] keeps
//! every byte, so two different states are never taken for one, and numbers states in the order
//! of insertion. [`ShardedStore`] is many of them, for several threads at a time.

mod arena;
mod blocks;
mod exact;
mod sharded;
mod table;

pub(crate) use blocks::BlockVec;
pub use exact::ExactStore;
pub use sharded::{ShardedStore, Shards};

use std::fmt;

/// The number of a stored state. Most stores give the n-th one inserted the number n, from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StateId(pub u32);

/// Whether an insertion found the state there already.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Inserted {
    /// The state is new.
    New,
    /// It had been inserted before.
    Known,
}

/// There is no number left for another state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoreFull;

impl fmt::Display for StoreFull {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the store has no room for another state")
    }
}

impl std::error::Error for StoreFull {}

/// A set of byte strings with numbers for names.
pub trait Store {
    /// Makes sure that the string is in the set, and says whether it was. Nothing
    /// changes if there is no room for it.
    fn insert(&mut self, bytes: &[u8]) -> Result<(StateId, Inserted), StoreFull>;

    /// The number of a string, if it is in the set.
    fn find(&self, bytes: &[u8]) -> Option<StateId>;

    /// The string of that number. Panics if there is none.
    fn get(&self, id: StateId) -> &[u8];

    /// Removes all strings.
    fn clear(&mut self);

    /// How many strings there are.
    fn len(&self) -> usize;

    /// All numbers are below this one.
    fn number_bound(&self) -> usize {
        self.len()
    }

    /// Whether there are none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How much memory the set takes, unused room included.
    fn memory_bytes(&self) -> usize;
}
