//! [`Table`]: the states of one macro-step.

use hashbrown::HashTable;

use crate::parts::hash_words;

/// A small set of states in words that is emptied again and again. States are numbered in the
/// order of insertion.
#[derive(Default)]
pub(super) struct Table {
    words: Vec<u64>,
    ends: Vec<usize>,
    numbers: HashTable<u32>,
}

/// Up to this size, looking at all states is faster than hashing.
const SMALL: usize = 8;

/// A table that was large once is not kept: emptying it would take long.
const LARGEST_KEPT: usize = 1 << 10;

impl Table {
    pub(super) fn clear(&mut self) {
        self.words.clear();
        self.words.shrink_to(LARGEST_KEPT << 7);
        self.ends.clear();
        if self.numbers.capacity() > LARGEST_KEPT {
            self.numbers = HashTable::new();
        }
        self.numbers.clear();
    }

    pub(super) fn held_bytes(&self) -> usize {
        let slot = size_of::<u32>() + 1;
        self.words.capacity() * size_of::<u64>()
            + self.ends.capacity() * size_of::<usize>()
            + self.numbers.capacity() * 8 / 7 * slot
    }

    pub(super) fn get(&self, number: u32) -> &[u64] {
        state(&self.words, &self.ends, number)
    }

    /// The number of a state, if it is in the set.
    pub(super) fn find(&self, wanted: &[u64]) -> Option<u32> {
        let is_it = |number: &u32| self.get(*number) == wanted;
        match self.ends.len() > SMALL {
            false => (0..self.ends.len() as u32).find(is_it),
            true => self.numbers.find(hash_words(wanted), is_it).copied(),
        }
    }

    /// Adds a state that is not in the set.
    pub(super) fn insert(&mut self, new: &[u64]) {
        debug_assert_eq!(self.find(new), None);
        let Self {
            words,
            ends,
            numbers,
        } = self;
        let number = ends.len() as u32;
        words.extend_from_slice(new);
        ends.push(words.len());
        let hash = |number: &u32| hash_words(state(words, ends, *number));
        if ends.len() == SMALL + 1 {
            for number in 0..=number {
                numbers.insert_unique(hash(&number), number, hash);
            }
        } else if ends.len() > SMALL {
            numbers.insert_unique(hash_words(new), number, hash);
        }
    }
}

fn state<'b>(words: &'b [u64], ends: &[usize], number: u32) -> &'b [u64] {
    let number = number as usize;
    let start = if number == 0 { 0 } else { ends[number - 1] };
    &words[start..ends[number]]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_are_numbered_in_order_also_when_there_are_many() {
        let mut table = Table::default();
        for round in 0..3 {
            for number in 0..50_u32 * (round + 1) {
                let state = [7, number.into()];
                assert_eq!(table.find(&state), None);
                table.insert(&state);
                assert_eq!(table.find(&state), Some(number));
                assert_eq!(table.find(&[7, 0]), Some(0));
                assert_eq!(table.get(number), state);
            }
            table.clear();
        }
    }
}
