//! What a worker has found lately: a search comes back to the same pairs and the same states soon.
//!
//! Each place holds the last one whose hash leads there, whole, so nothing is taken for something else. A pair keeps its number.
//!
//! A root is put here when it is found for a state of a batch, and the states of a batch are inserted in order. So when it is the turn of a later state with
//! that root, in this batch or another one, the root is in its set, where it stays, and that state is known.

use crate::hash::mix;

// Together they take 384 kB, which is less than a core has of caches of its own.
const PAIRS_BITS: u32 = 13;
const ROOTS_BITS: u32 = 15;

/// Some pairs and their numbers.
pub(super) struct KnownPairs(Box<[(u64, u32); 1 << PAIRS_BITS]>);

#[inline]
fn place(value: u64, bits: u32) -> usize {
    (mix(value) >> (64 - bits)) as usize
}

fn filled<T: Clone, const N: usize>(value: T) -> Box<[T; N]> {
    // Not on the stack, which may be small.
    let filled = vec![value; N].into_boxed_slice().try_into();
    filled.unwrap_or_else(|_| unreachable!("it has this length"))
}

impl KnownPairs {
    pub(super) fn new() -> Self {
        // None is found where another one belongs.
        let mut pairs = filled((0, 0));
        pairs[place(0, PAIRS_BITS)] = (1, 0);
        assert_ne!(place(0, PAIRS_BITS), place(1, PAIRS_BITS));
        Self(pairs)
    }

    #[inline]
    pub(super) fn get(&self, pair: u64) -> Option<u32> {
        let (there, number) = self.0[place(pair, PAIRS_BITS)];
        (there == pair).then_some(number)
    }

    #[inline]
    pub(super) fn put(&mut self, pair: u64, number: u32) {
        self.0[place(pair, PAIRS_BITS)] = (pair, number);
    }
}

/// Some roots that are in the set, or will be when it is the turn of the next state.
pub(super) struct KnownRoots(Box<[u64; 1 << ROOTS_BITS]>);

impl KnownRoots {
    pub(super) fn new() -> Self {
        // Zero is no root.
        Self(filled(0))
    }

    /// Puts a root here, and says whether it was.
    #[inline]
    pub(super) fn put(&mut self, root: u64) -> bool {
        let there = &mut self.0[place(root, ROOTS_BITS)];
        std::mem::replace(there, root) == root
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pair_is_found_only_if_it_was_put_there() {
        let mut pairs = KnownPairs::new();
        // More than there are places, so that some take the places of others.
        for pair in 0..1 << (PAIRS_BITS + 2) {
            assert_eq!(pairs.get(pair), None);
        }
        for pair in 0..1 << (PAIRS_BITS + 2) {
            assert_eq!(pairs.get(pair), None);
            pairs.put(pair, pair as u32 ^ 5);
            assert_eq!(pairs.get(pair), Some(pair as u32 ^ 5));
        }
    }

    #[test]
    fn a_root_is_known_only_if_it_was_put_there() {
        let mut roots = KnownRoots::new();
        for root in 1..1 << (ROOTS_BITS + 2) {
            assert!(!roots.put(root));
            assert!(roots.put(root));
        }
    }
}
