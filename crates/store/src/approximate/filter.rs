//! [`Filter`]: which fingerprints were seen.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::family::{Family, Lock, Word};
use crate::hash::{mix, upper};
use crate::lines::{Claim, Lines};
use crate::prefetch::prefetch;

/// A set of fingerprints, or less.
pub(super) enum Filter<F: Family> {
    /// All of them.
    Fingerprints(Lines<F::Word>),
    /// A few bits for each.
    Bits(Bits<F>),
}

/// What became of a fingerprint that was to be in the set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Entered {
    New,
    Known,
    /// The table must grow first.
    Crowded,
}

fn find<W: Word>(lines: &Lines<W>, name: u64) -> Option<usize> {
    let found = lines.find(upper(name), |there| there == name);
    found.map(|(slot, _)| slot)
}

impl<F: Family> Filter<F> {
    pub(super) fn prefetch(&self, name: u64) {
        match self {
            Self::Fingerprints(lines) => lines.prefetch(upper(name)),
            Self::Bits(bits) => bits.prefetch(name),
        }
    }

    /// Adds a fingerprint to a set of so many.
    pub(super) fn enter(&self, name: u64, len: usize) -> Entered {
        match self {
            Self::Bits(bits) => match bits.set(name) {
                true => Entered::New,
                false => Entered::Known,
            },
            Self::Fingerprints(lines) if len >= lines.room() => match find(lines, name) {
                Some(_) => Entered::Known,
                None => Entered::Crowded,
            },
            Self::Fingerprints(lines) => {
                match lines.find_or_claim(upper(name), |there| there == name, || name) {
                    Claim::Found(_) => Entered::Known,
                    Claim::Claimed => Entered::New,
                    Claim::Full => Entered::Crowded,
                }
            }
        }
    }

    pub(super) fn contains(&self, name: u64) -> bool {
        match self {
            Self::Fingerprints(lines) => find(lines, name).is_some(),
            Self::Bits(bits) => bits.are_set(name),
        }
    }

    pub(super) fn index(&self, name: u64) -> Option<usize> {
        match self {
            Self::Fingerprints(lines) => find(lines, name),
            Self::Bits(_) => None,
        }
    }

    /// Makes room for a fingerprint in a set of so many, if there is none.
    pub(super) fn make_room(&mut self, name: u64, len: usize) {
        if let Self::Fingerprints(lines) = self
            && (len >= lines.room() || !lines.has_place(upper(name)))
        {
            lines.grow(upper);
        }
    }

    pub(super) fn set_budget(&mut self, bytes: usize) {
        if let Self::Fingerprints(lines) = self {
            lines.set_budget(bytes);
        }
    }

    pub(super) fn memory_bytes(&self) -> usize {
        match self {
            Self::Fingerprints(lines) => lines.memory_bytes(),
            Self::Bits(bits) => bits.memory_bytes(),
        }
    }
}

/// Bits for each fingerprint.
const EACH: u32 = 3;
const LOCKS: usize = 256;

/// A table of bits that never grows.
pub(super) struct Bits<F: Family> {
    words: Box<[F::Word]>,
    /// By fingerprint, so that of several workers with the same one, one is told that it is new.
    locks: Box<[F::Lock<()>]>,
    /// How many bits are set.
    set: AtomicU64,
}

impl<F: Family> Bits<F> {
    pub(super) fn new(bytes: usize) -> Self {
        let words = (bytes / size_of::<u64>()).max(1);
        Self {
            words: (0..words).map(|_| F::Word::new(0)).collect(),
            locks: (0..LOCKS).map(|_| F::Lock::new(())).collect(),
            set: AtomicU64::new(0),
        }
    }

    /// The words and bits of a fingerprint.
    fn places(&self, name: u64) -> impl Iterator<Item = (&F::Word, u64)> {
        let mut state = name;
        (0..EACH).map(move |_| {
            state = mix(state.wrapping_add(0x9e37_79b9_7f4a_7c15));
            let word = (u128::from(state) * self.words.len() as u128) >> 64;
            // The lowest bits hardly decide on the word.
            (&self.words[word as usize], 1 << (state % 64))
        })
    }

    fn prefetch(&self, name: u64) {
        self.places(name).for_each(|(word, _)| prefetch(word));
    }

    /// Sets the bits of a fingerprint, and says whether one of them was not set.
    fn set(&self, name: u64) -> bool {
        if self.are_set(name) {
            return false;
        }
        let set = self.locks[name as usize % LOCKS].write(|()| {
            let places = self.places(name);
            let new = places.filter(|(word, bit)| word.set(*bit) & bit == 0);
            new.count()
        });
        self.set.fetch_add(set as u64, Ordering::Relaxed);
        set > 0
    }

    fn are_set(&self, name: u64) -> bool {
        self.places(name).all(|(word, bit)| word.peek() & bit != 0)
    }

    /// The probability that the bits of a state are all set.
    pub(super) fn chance(&self) -> f64 {
        let all = self.words.len() as f64 * 64.0;
        (self.set.load(Ordering::Relaxed) as f64 / all).powi(EACH as i32)
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.words.len() * size_of::<F::Word>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::family::Std;

    /// The part of new fingerprints that are taken for known ones is what it should be.
    #[test]
    fn bits_are_as_good_as_random() {
        let bits = Bits::<Std>::new(1 << 17);
        let mut missed = 0.0;
        let mut expected = 0.0;
        for number in 0..300_000_u64 {
            expected += bits.chance();
            if !bits.set(crate::hash::fingerprint(&[number, 3])) {
                missed += 1.0;
            }
        }
        assert!(
            missed > 0.9 * expected && missed < 1.1 * expected,
            "{missed} {expected}"
        );
        assert!(missed <= 300_000.0 * bits.chance());
    }
}
