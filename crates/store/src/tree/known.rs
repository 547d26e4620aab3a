//! What a worker has found lately: searches come back to the same pairs and the same states soon.
//!
//! Each place holds the last one whose hash leads there, whole. Pairs keep their numbers and roots stay in their set, so what is found
//! here is still true.

use crate::hash::mix;

const PAIRS_BITS: u32 = 12;
const ROOTS_BITS: u32 = 14;

/// Some pairs and their numbers.
pub(super) struct KnownPairs(Box<[(u64, u32); 1 << PAIRS_BITS]>);

fn place(value: u64, bits: u32) -> usize {
    (mix(value) >> (64 - bits)) as usize
}

impl KnownPairs {
    pub(super) fn new() -> Self {
        // None is found where another one belongs.
        let mut pairs = Box::new([(0, 0); _]);
        pairs[place(0, PAIRS_BITS)] = (1, 0);
        debug_assert_ne!(place(0, PAIRS_BITS), place(1, PAIRS_BITS));
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

/// Some roots that are in the set, or will be before another one is looked for there.
pub(super) struct KnownRoots(Box<[u64; 1 << ROOTS_BITS]>);

impl KnownRoots {
    pub(super) fn new() -> Self {
        // Zero is no root.
        Self(
            vec![0; 1 << ROOTS_BITS]
                .try_into()
                .expect("it has this length"),
        )
    }

    /// Puts a root here, and says whether it was.
    #[inline]
    pub(super) fn put(&mut self, root: u64) -> bool {
        let there = &mut self.0[place(root, ROOTS_BITS)];
        std::mem::replace(there, root) == root
    }
}
