//! [`ShardedStore`]: one store for several threads.
//!
//! The hash of a string decides which shard it belongs to. A shard is an [`ExactStore`] behind a
//! lock, so threads wait for each other only if they happen to be at the same shard. The
//! number of a string is its number in its shard and the number of the shard.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rapidhash::v3::rapidhash_v3;

use super::exact::ExactStore;
use super::{Inserted, StateId, Store, StoreFull};

/// The bits of a number that name the shard.
const SHARD_BITS: u32 = 6;
const SHARDS: usize = 1 << SHARD_BITS;

/// The shard of a string with that hash. No table of a shard uses these bits: they are above
/// those that choose a bucket, and where the smallest table keeps numbers instead of tags.
fn shard_of(hash: u64) -> usize {
    (hash >> 32) as usize % SHARDS
}

fn number(shard: usize, inside: StateId) -> StateId {
    StateId(inside.0 << SHARD_BITS | shard as u32)
}

fn split(id: StateId) -> (usize, StateId) {
    (id.0 as usize % SHARDS, StateId(id.0 >> SHARD_BITS))
}

/// An exact store that several threads use at the same time.
///
/// ```
/// use raddle_explore::{Inserted, ShardedStore, Store};
///
/// let store = ShardedStore::new(1_000);
/// std::thread::scope(|scope| {
///     for _ in 0..4 {
///         scope.spawn(|| (0..100u8).for_each(|i| { store.insert(&[i]).unwrap(); }));
///     }
/// });
/// assert_eq!(store.len(), 100);
///
/// let (id, inserted) = store.insert(&[7]).unwrap();
/// assert_eq!(inserted, Inserted::Known);
/// assert_eq!(store.into_shards().get(id), [7]);
/// ```
pub struct ShardedStore {
    shards: Vec<Mutex<ExactStore>>,
    len: AtomicUsize,
    max_len: usize,
}

impl ShardedStore {
    /// An empty store that takes at most that many strings.
    #[must_use]
    pub fn new(max_len: usize) -> Self {
        let most_in_a_shard = u32::MAX >> SHARD_BITS;
        Self {
            shards: (0..SHARDS)
                .map(|_| Mutex::new(ExactStore::with_limit(most_in_a_shard)))
                .collect(),
            len: AtomicUsize::new(0),
            max_len,
        }
    }

    /// Makes sure that the string is in the set, and says whether it was. Of several threads
    /// that insert a string at the same time, one is told that it is new.
    pub fn insert(&self, bytes: &[u8]) -> Result<(StateId, Inserted), StoreFull> {
        let hash = rapidhash_v3(bytes);
        let shard = shard_of(hash);
        let mut states = self.lock(shard);
        if let Some(inside) = states.find_hashed(hash, bytes) {
            return Ok((number(shard, inside), Inserted::Known));
        }
        // It is new, and stays so while the shard is locked. Threads at other shards compete
        // for the last places.
        let more = |len| (len < self.max_len).then_some(len + 1);
        let reserved = (self.len).fetch_update(Ordering::Relaxed, Ordering::Relaxed, more);
        reserved.map_err(|_| StoreFull)?;
        match states.insert_hashed(hash, bytes) {
            Ok((inside, inserted)) => Ok((number(shard, inside), inserted)),
            Err(StoreFull) => {
                self.len.fetch_sub(1, Ordering::Relaxed);
                Err(StoreFull)
            }
        }
    }

    /// Whether the string is in the set.
    #[must_use]
    pub fn contains(&self, bytes: &[u8]) -> bool {
        let hash = rapidhash_v3(bytes);
        let states = self.lock(shard_of(hash));
        states.find_hashed(hash, bytes).is_some()
    }

    /// Calls `see` with the string of that number. Panics if there is none.
    pub fn read(&self, id: StateId, see: impl FnOnce(&[u8])) {
        let (shard, inside) = split(id);
        see(self.lock(shard).get(inside));
    }

    /// How many strings there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len.load(Ordering::Relaxed)
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How much memory the set takes, unused room included.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        (0..SHARDS).map(|i| self.lock(i).memory_bytes()).sum()
    }

    /// The store when nobody inserts any more.
    #[must_use]
    pub fn into_shards(self) -> Shards {
        let stores = self.shards.into_iter();
        Shards(
            stores
                .map(|store| store.into_inner().unwrap_or_else(PoisonError::into_inner))
                .collect(),
        )
    }

    /// A thread that panicked while it held the lock makes the whole search panic; what others
    /// do until then does not matter.
    fn lock(&self, shard: usize) -> MutexGuard<'_, ExactStore> {
        let store = self.shards[shard].lock();
        store.unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a [`ShardedStore`] has become.
pub struct Shards(Vec<ExactStore>);

impl Store for Shards {
    fn insert(&mut self, bytes: &[u8]) -> Result<(StateId, Inserted), StoreFull> {
        let hash = rapidhash_v3(bytes);
        let shard = shard_of(hash);
        let (inside, inserted) = self.0[shard].insert_hashed(hash, bytes)?;
        Ok((number(shard, inside), inserted))
    }

    fn find(&self, bytes: &[u8]) -> Option<StateId> {
        let hash = rapidhash_v3(bytes);
        let shard = shard_of(hash);
        let inside = self.0[shard].find_hashed(hash, bytes)?;
        Some(number(shard, inside))
    }

    fn get(&self, id: StateId) -> &[u8] {
        let (shard, inside) = split(id);
        self.0[shard].get(inside)
    }

    fn clear(&mut self) {
        self.0.iter_mut().for_each(Store::clear);
    }

    fn len(&self) -> usize {
        self.0.iter().map(Store::len).sum()
    }

    fn number_bound(&self) -> usize {
        self.0.iter().map(Store::len).max().unwrap_or(0) << SHARD_BITS
    }

    fn memory_bytes(&self) -> usize {
        self.0.iter().map(Store::memory_bytes).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_than_allowed_and_each_once() {
        let store = ShardedStore::new(500);
        let news = AtomicUsize::new(0);
        let fulls = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for i in 0..1000u32 {
                        match store.insert(&i.to_le_bytes()) {
                            Ok((_, Inserted::New)) => news.fetch_add(1, Ordering::Relaxed),
                            Ok((_, Inserted::Known)) => 0,
                            Err(StoreFull) => fulls.fetch_add(1, Ordering::Relaxed),
                        };
                    }
                });
            }
        });
        let news = news.into_inner();
        assert_eq!(news, store.len());
        assert_eq!(news, 500);
        assert!(fulls.into_inner() > 0);
        let shards = store.into_shards();
        assert_eq!(shards.len(), news);
        for number in 0..1000u32 {
            if let Some(id) = shards.find(&number.to_le_bytes()) {
                assert_eq!(shards.get(id), number.to_le_bytes());
                assert!((id.0 as usize) < shards.number_bound());
            }
        }
    }
}
