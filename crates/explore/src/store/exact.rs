//! [`ExactStore`]: every byte of every state, in little more room than that.
//!
//! Three parts:
//!
//! - an arena that holds the strings one after another;
//! - an index from numbers to addresses in it: four bytes per state, relative to a
//!   full address kept for every [`GROUP`] states;
//! - a hash [`Table`](super::table) of four bytes per slot.
//!
//! The table is between 3/8 and 3/4 full, so a state of n < 128 bytes takes between
//! n + 10.3 and n + 15.7 bytes.

use super::arena::Arena;
use super::blocks::BlockVec;
use super::table::{Probe, Table};
use super::{Inserted, StateId, Store, StoreFull};
use rapidhash::v3::rapidhash_v3;

/// How many states share a full address.
const GROUP: usize = 1 << 10;

// Addresses relative to that of the group fit into 32 bits.
const _: () = assert!(GROUP as u64 * Arena::MAX_DISTANCE <= u32::MAX as u64);

/// A store that keeps every byte of every string.
///
/// ```
/// use raddle_explore::{ExactStore, Inserted, StateId, Store};
///
/// let mut store = ExactStore::new();
/// assert_eq!(store.insert(b"one"), Ok((StateId(0), Inserted::New)));
/// assert_eq!(store.insert(b"two"), Ok((StateId(1), Inserted::New)));
/// assert_eq!(store.insert(b"one"), Ok((StateId(0), Inserted::Known)));
/// assert_eq!(store.get(StateId(1)), b"two");
/// assert_eq!(store.find(b"three"), None);
/// assert_eq!(store.len(), 2);
/// ```
pub struct ExactStore {
    table: Table,
    arena: Arena,
    /// The address of the first state of each group.
    groups: Vec<u64>,
    /// The address of each state, relative to that of its group.
    offsets: BlockVec<u32>,
    max_len: usize,
}

impl ExactStore {
    /// An empty store.
    #[must_use]
    pub fn new() -> Self {
        Self::with_limit(u32::MAX)
    }

    /// An empty store that takes at most that many strings.
    #[must_use]
    pub fn with_limit(max_len: u32) -> Self {
        Self {
            table: Table::new(),
            arena: Arena::default(),
            groups: Vec::new(),
            offsets: BlockVec::new(),
            max_len: (max_len as usize).min(Table::MOST_ENTRIES),
        }
    }

    /// [`insert`](Store::insert) for who knows the hash.
    #[inline]
    pub(super) fn insert_hashed(
        &mut self,
        hash: u64,
        bytes: &[u8],
    ) -> Result<(StateId, Inserted), StoreFull> {
        let mut free = match self.probe(hash, bytes) {
            Probe::Found(id) => return Ok((StateId(id), Inserted::Known)),
            Probe::Free(slot) => slot,
        };
        let len = self.offsets.len();
        if len >= self.max_len {
            return Err(StoreFull);
        }
        if len >= self.table.room() {
            self.grow();
            free = self.table.free_slot(hash);
        }
        let id = len as u32;
        self.table.fill(free, hash, id);
        self.append(bytes);
        Ok((StateId(id), Inserted::New))
    }

    /// [`find`](Store::find) for who knows the hash.
    pub(super) fn find_hashed(&self, hash: u64, bytes: &[u8]) -> Option<StateId> {
        match self.probe(hash, bytes) {
            Probe::Found(id) => Some(StateId(id)),
            Probe::Free(_) => None,
        }
    }

    #[inline]
    fn probe(&self, hash: u64, bytes: &[u8]) -> Probe {
        self.table.probe(hash, |id| self.get(StateId(id)) == bytes)
    }

    #[cold]
    fn grow(&mut self) {
        // The table is out of the store for a moment because the hashes are made from the rest.
        let mut table = std::mem::take(&mut self.table);
        let ids = 0..self.offsets.len() as u32;
        table.grow(ids.map(|id| rapidhash_v3(self.get(StateId(id)))));
        self.table = table;
    }

    /// Appends the string to arena and index.
    fn append(&mut self, bytes: &[u8]) {
        let address = self.arena.push(bytes);
        let number = self.offsets.len();
        if number.is_multiple_of(GROUP) {
            self.groups.push(address);
        }
        let base = self.groups[number / GROUP];
        self.offsets.push((address - base) as u32);
    }
}

impl Default for ExactStore {
    fn default() -> Self {
        Self::new()
    }
}

impl Store for ExactStore {
    fn clear(&mut self) {
        *self = Self::with_limit(self.max_len as u32);
    }

    #[inline]
    fn insert(&mut self, bytes: &[u8]) -> Result<(StateId, Inserted), StoreFull> {
        self.insert_hashed(rapidhash_v3(bytes), bytes)
    }

    fn find(&self, bytes: &[u8]) -> Option<StateId> {
        self.find_hashed(rapidhash_v3(bytes), bytes)
    }

    #[inline]
    fn get(&self, id: StateId) -> &[u8] {
        let number = id.0 as usize;
        let base = self.groups[number / GROUP];
        self.arena.get(base + u64::from(self.offsets.get(number)))
    }

    fn len(&self) -> usize {
        self.offsets.len()
    }

    fn memory_bytes(&self) -> usize {
        self.table.memory_bytes()
            + self.arena.memory_bytes()
            + self.groups.capacity() * size_of::<u64>()
            + self.offsets.memory_bytes()
    }
}

#[cfg(test)]
mod tests;
