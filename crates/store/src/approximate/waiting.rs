//! [`Waiting`]: the words of states that wait to be expanded.
//!
//! A map doubles when it is full. If all shards were equally large, all would double at the same time, and the limit on memory be passed before anybody
//! looks. So the largest gets twice as many states as the smallest, and they double one after another.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::family::{Family, Lock};

const SHARDS: usize = 64;

/// Into how many equal parts names are divided.
const PARTS: usize = 1 << 12;

/// Words by fingerprints, of the level that is expanded and of the next one.
pub(super) struct Waiting<F: Family> {
    shards: Box<[F::Lock<Shard>]>,
    /// Which shard has which part of the names.
    shard_of: Box<[u8]>,
    /// The most memory that two levels took.
    most_bytes: AtomicUsize,
}

#[derive(Default)]
struct Shard {
    now: Level,
    next: Level,
}

#[derive(Default)]
struct Level {
    places: HashMap<u64, (usize, u32), BuildHasherDefault<AsIs>>,
    words: Vec<u64>,
}

/// Fingerprints need no hash.
#[derive(Default)]
struct AsIs(u64);

impl Hasher for AsIs {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0 << 8 | u64::from(*byte);
        }
    }

    fn write_u64(&mut self, name: u64) {
        self.0 = name;
    }
}

impl Level {
    fn get(&self, name: u64) -> Option<&[u64]> {
        let &(start, length) = self.places.get(&name)?;
        Some(&self.words[start..start + length as usize])
    }

    fn add(&mut self, name: u64, words: &[u64]) {
        let start = self.words.len();
        if self.words.capacity() - start < words.len() {
            self.words.reserve_exact(start / 8 + words.len());
        }
        self.places.insert(name, (start, words.len() as u32));
        self.words.extend_from_slice(words);
    }

    fn memory_bytes(&self) -> usize {
        // One byte more for each place of the map.
        let place = size_of::<(u64, (usize, u32))>() + 1;
        self.words.capacity() * size_of::<u64>() + self.places.capacity() * place * 8 / 7
    }
}

impl<F: Family> Waiting<F> {
    pub(super) fn new() -> Self {
        Self {
            shards: (0..SHARDS)
                .map(|_| F::Lock::new(Shard::default()))
                .collect(),
            shard_of: (0..PARTS)
                .map(|part| {
                    let octave = 1.0 + part as f64 / PARTS as f64;
                    (SHARDS as f64 * octave.log2()) as u8
                })
                .collect(),
            most_bytes: AtomicUsize::new(0),
        }
    }

    fn shard(&self, name: u64) -> &F::Lock<Shard> {
        let part = (name >> 20) as usize % PARTS;
        &self.shards[usize::from(self.shard_of[part])]
    }

    /// Adds a state to the next level.
    pub(super) fn add(&self, name: u64, words: &[u64]) {
        self.shard(name)
            .write(|Shard { next, .. }| next.add(name, words));
    }

    /// Reads a state, in place of what was in the buffer. Panics if it does not wait.
    pub(super) fn read(&self, name: u64, words: &mut Vec<u64>) {
        words.clear();
        self.shard(name).read(|Shard { now, next }| {
            let found = now.get(name).or_else(|| next.get(name));
            words.extend_from_slice(found.expect("the state waits"));
        });
    }

    /// Forgets the level that was expanded.
    pub(super) fn begin_level(&self) {
        let bytes = self.memory_bytes();
        self.most_bytes.fetch_max(bytes, Ordering::Relaxed);
        for shard in &self.shards {
            shard.write(|shard| shard.now = std::mem::take(&mut shard.next));
        }
    }

    /// Forgets all states.
    pub(super) fn forget(&self) {
        for shard in &self.shards {
            shard.write(|shard| *shard = Shard::default());
        }
        self.most_bytes.store(0, Ordering::Relaxed);
    }

    /// How much memory it takes, or took at most.
    pub(super) fn memory_bytes(&self) -> usize {
        let shards = self.shards.iter().map(|shard| {
            shard.read(|Shard { now, next }| now.memory_bytes() + next.memory_bytes())
        });
        let now: usize = shards.sum();
        now.max(self.most_bytes.load(Ordering::Relaxed))
    }
}
