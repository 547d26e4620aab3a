//! Hashing of small keys that come from the program itself: addresses, numbers, operations.
//!
//! The hasher of the standard library withstands keys that somebody chooses to collide, which takes longer than all the rest of a lookup.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// A table with small keys.
pub(crate) type Table<K, V> = HashMap<K, V, BuildHasherDefault<Mixer>>;

/// Hashes words by [`mix`].
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Mixer(u64);

impl Hasher for Mixer {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u64(byte.into());
        }
    }

    #[inline]
    fn write_u8(&mut self, value: u8) {
        self.write_u64(value.into());
    }

    #[inline]
    fn write_u32(&mut self, value: u32) {
        self.write_u64(value.into());
    }

    #[inline]
    fn write_u64(&mut self, value: u64) {
        self.0 = mix(self.0, value);
    }

    #[inline]
    fn write_usize(&mut self, value: usize) {
        self.write_u64(value as u64);
    }

    #[inline]
    fn write_isize(&mut self, value: isize) {
        self.write_usize(value.cast_unsigned());
    }
}

/// A hash of a sequence of words and another word. Two sequences that differ in one word have different hashes.
#[inline]
pub(crate) fn mix(hash: u64, value: u64) -> u64 {
    let mixed = (hash.rotate_left(23) ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed ^ (mixed >> 29)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each step can be undone, so that a difference never gets lost.
    #[test]
    fn sequences_that_differ_in_one_word_have_different_hashes() {
        let hash = |words: [u64; 3]| words.into_iter().fold(0, mix);
        let mut hashes = std::collections::BTreeSet::new();
        for place in 0..3 {
            for bit in 0..64 {
                let mut words = [7, 8, 9];
                words[place] ^= 1 << bit;
                assert!(hashes.insert(hash(words)));
            }
        }
        assert!(hashes.insert(hash([7, 8, 9])));
    }
}
