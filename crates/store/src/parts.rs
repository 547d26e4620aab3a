//! States as a store sees them: words, in parts.
//!
//! A system (a program under exploration) writes a canonical state as a sequence of words and says where its
//! parts end: a group of globals, a thread, a heap object. Steps mostly change few parts, and say
//! which ([`Changed`]), so whoever keeps states need not look at the others again.
//!
//! Two promises of a system that everything here relies on:
//!
//! 1. **The words tell states apart.** Different canonical states have different words, and the words tell where
//!    the parts end. So a store may compare words alone, need not keep the ends, and gives back
//!    the words alone.
//! 2. **`Changed` is never too small.** A part that is not in it has the words that it had before.
//!    Too much in it costs time; too little would lose states.

/// A state in words, with the ends of its parts; a buffer that is used again and again.
///
/// ```
/// use raddle_store::Packed;
///
/// let mut packed = Packed::default();
/// packed.extend(&[1, 2]);
/// packed.end_part();
/// packed.push(3);
/// packed.end_part();
/// assert_eq!(packed.parts().part(0), [1, 2]);
/// assert_eq!(packed.parts().part(1), [3]);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Packed {
    words: Vec<u64>,
    ends: Vec<u32>,
}

impl Packed {
    /// Removes all words and parts.
    pub fn clear(&mut self) {
        self.words.clear();
        self.ends.clear();
    }

    /// Appends a word to the part that has not ended yet.
    #[inline]
    pub fn push(&mut self, word: u64) {
        self.words.push(word);
    }

    /// Appends words to the part that has not ended yet.
    #[inline]
    pub fn extend(&mut self, words: &[u64]) {
        self.words.extend_from_slice(words);
    }

    /// Ends a part. It may be empty.
    #[inline]
    pub fn end_part(&mut self) {
        self.ends.push(self.words.len() as u32);
    }

    /// All words.
    #[must_use]
    #[inline]
    pub fn words(&self) -> &[u64] {
        &self.words
    }

    /// All words, to change some in place.
    #[must_use]
    #[inline]
    pub fn words_mut(&mut self) -> &mut [u64] {
        &mut self.words
    }

    /// The words of one part, to change them in place. Panics if there is no such part.
    #[must_use]
    #[inline]
    pub fn part_mut(&mut self, part: usize) -> &mut [u64] {
        let start = start_of(&self.ends, part);
        &mut self.words[start..self.ends[part] as usize]
    }

    /// A view of it.
    #[must_use]
    #[inline]
    pub fn parts(&self) -> Parts<'_> {
        Parts {
            words: &self.words,
            ends: &self.ends,
        }
    }

    /// Makes it a copy of another state.
    #[inline]
    pub fn copy_from(&mut self, parts: Parts<'_>) {
        self.clear();
        self.words.extend_from_slice(parts.words);
        self.ends.extend_from_slice(parts.ends);
    }
}

fn start_of(ends: &[u32], part: usize) -> usize {
    match part {
        0 => 0,
        _ => ends[part - 1] as usize,
    }
}

/// A view of a state in words and parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parts<'a> {
    /// The words of all parts, one after another.
    pub words: &'a [u64],
    /// Where each part ends.
    pub ends: &'a [u32],
}

impl<'a> Parts<'a> {
    /// How many parts there are.
    #[must_use]
    pub fn len(self) -> usize {
        self.ends.len()
    }

    /// Whether there is no part.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.ends.is_empty()
    }

    /// The words of a part. Panics if there is no such part.
    #[must_use]
    pub fn part(self, part: usize) -> &'a [u64] {
        &self.words[start_of(self.ends, part)..self.ends[part] as usize]
    }

    /// The words of all parts, in order.
    pub fn iter(self) -> impl Iterator<Item = &'a [u64]> {
        (0..self.len()).map(move |part| self.part(part))
    }
}

/// Which parts of a state differ from those of the state before, at most: a small set of numbers
/// of parts, or all of them. See [the module](self) for what it promises.
///
/// ```
/// use raddle_store::Changed;
///
/// let mut changed = Changed::NONE;
/// changed.add(3);
/// assert!(changed.contains(3) && !changed.contains(2));
/// changed.add(1000);
/// assert!(changed.is_all() && changed.contains(2));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Changed(u64);

impl Changed {
    /// No part has changed.
    pub const NONE: Self = Self(0);
    /// Every part may have changed, and there may be more or fewer of them.
    pub const ALL: Self = Self(u64::MAX);

    /// Adds a part. Parts with high numbers have no bit of their own: they stand for all.
    #[inline]
    pub fn add(&mut self, part: usize) {
        self.0 |= if part < 63 { 1 << part } else { u64::MAX };
    }

    /// Adds several parts by their bits: bit `i` stands for part `i`, and bit 63 for all.
    #[must_use]
    #[inline]
    pub fn with_bits(self, bits: u64) -> Self {
        match bits >> 63 {
            0 => Self(self.0 | bits),
            _ => Self::ALL,
        }
    }

    /// The parts as [bits](Self::with_bits).
    #[must_use]
    pub fn bits(self) -> u64 {
        self.0
    }

    /// The parts of both.
    #[must_use]
    #[inline]
    pub fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether that part may have changed.
    #[must_use]
    #[inline]
    pub fn contains(self, part: usize) -> bool {
        self.is_all() || part < 63 && self.0 & 1 << part != 0
    }

    /// Whether all parts may have changed.
    #[must_use]
    #[inline]
    pub fn is_all(self) -> bool {
        self.0 >> 63 != 0
    }

    /// The parts in it if it is not [`ALL`](Self::ALL), in order.
    #[inline]
    pub fn iter(self) -> impl Iterator<Item = usize> {
        let mut rest = self.0;
        std::iter::from_fn(move || {
            let next = rest.trailing_zeros() as usize;
            rest &= rest.wrapping_sub(1);
            (next < 64).then_some(next)
        })
    }
}

impl Default for Changed {
    /// Nothing is known, so all may have changed.
    fn default() -> Self {
        Self::ALL
    }
}
