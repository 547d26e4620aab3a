//! [`Visited`]: the states of each prefix, to see when one comes back.
//!
//! States are compared whole, word by word, in canonical form: a thread that frees an object
//! and makes a new one in every round is back where it was, though the name is another.

use std::ops::Range;

use rapidhash::RapidHashMap;

use crate::parts::hash_words;

/// A state of a prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct VisitedId(u32);

struct State {
    prefix: usize,
    /// Where its encoding is.
    start: usize,
    end: usize,
    /// The hash of its encoding.
    hash: u64,
    /// The next state with the same key.
    next: Option<u32>,
    /// Whether its prefix was extended from it.
    extended: bool,
}

/// States of different prefixes are different.
fn key(hash: u64, prefix: usize) -> u64 {
    hash.wrapping_add(prefix as u64)
}

/// The states of all prefixes of one vector.
#[derive(Default)]
pub(super) struct Visited {
    first: RapidHashMap<u64, u32>,
    all: Vec<State>,
    /// The encodings, one after another.
    words: Vec<u64>,
}

impl Visited {
    pub(super) fn clear(&mut self) {
        self.first.clear();
        self.all.clear();
        self.words.clear();
    }

    pub(super) fn held_bytes(&self) -> usize {
        self.words.capacity() * size_of::<u64>()
            + self.all.capacity() * size_of::<State>()
            + self.first.capacity() * (size_of::<(u64, u32)>() + 1)
    }

    /// Adds a state of a prefix, by its encoding, and says whether it was new.
    pub(super) fn add(&mut self, prefix: usize, encoding: &[u64]) -> (VisitedId, bool) {
        let hash = hash_words(encoding);
        let mut next = self.first.get(&key(hash, prefix)).copied();
        while let Some(number) = next {
            let state = &self.all[number as usize];
            if state.prefix == prefix && self.words[state.start..state.end] == *encoding {
                return (VisitedId(number), false);
            }
            next = state.next;
        }
        let start = self.words.len();
        self.words.extend_from_slice(encoding);
        (self.push(prefix, start..self.words.len(), hash), true)
    }

    /// Adds a state of another prefix as the first one of a prefix.
    pub(super) fn add_first(&mut self, prefix: usize, state: VisitedId) -> VisitedId {
        let State {
            start, end, hash, ..
        } = self.all[state.0 as usize];
        self.push(prefix, start..end, hash)
    }

    fn push(&mut self, prefix: usize, encoding: Range<usize>, hash: u64) -> VisitedId {
        let number = self.all.len() as u32;
        let next = self.first.insert(key(hash, prefix), number);
        self.all.push(State {
            prefix,
            start: encoding.start,
            end: encoding.end,
            hash,
            next,
            extended: false,
        });
        VisitedId(number)
    }

    /// Whether the prefix was extended from that state.
    pub(super) fn extended(&self, state: VisitedId) -> bool {
        self.all[state.0 as usize].extended
    }

    /// Takes note that it was.
    pub(super) fn extend_from(&mut self, state: VisitedId) {
        self.all[state.0 as usize].extended = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_of_different_prefixes_are_different() {
        let mut visited = Visited::default();
        let mut add = |prefix, state: &[u64]| visited.add(prefix, state);
        let (one, new) = add(0, &[1, 2]);
        assert!(new);
        assert_eq!(add(0, &[1, 2]), (one, false));
        assert!(add(1, &[1, 2]).1);
        assert!(add(0, &[1, 3]).1);
        assert!(add(0, &[]).1);
        let copy = visited.add_first(2, one);
        assert_eq!(visited.add(2, &[1, 2]), (copy, false));
        visited.extend_from(one);
        assert!(visited.extended(one));
        let (other, _) = visited.add(1, &[1, 2]);
        assert!(!visited.extended(other));
    }
}
