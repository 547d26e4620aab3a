//! [`Table`]: the states of one macro-step.

use hashbrown::HashTable;
use rapidhash::v3::rapidhash_v3;

/// A small set of byte strings that is emptied again and again. Strings are numbered in the
/// order of insertion.
#[derive(Default)]
pub(super) struct Table {
    bytes: Vec<u8>,
    ends: Vec<usize>,
    numbers: HashTable<u32>,
}

/// Up to this size, looking at all strings is faster than hashing.
const SMALL: usize = 8;

/// A table that was large once is not kept: emptying it would take long.
const LARGEST_KEPT: usize = 1 << 10;

impl Table {
    pub(super) fn clear(&mut self) {
        self.bytes.clear();
        self.bytes.shrink_to(LARGEST_KEPT << 10);
        self.ends.clear();
        if self.numbers.capacity() > LARGEST_KEPT {
            self.numbers = HashTable::new();
        }
        self.numbers.clear();
    }

    pub(super) fn held_bytes(&self) -> usize {
        let slot = size_of::<u32>() + 1;
        self.bytes.capacity()
            + self.ends.capacity() * size_of::<usize>()
            + self.numbers.capacity() * 8 / 7 * slot
    }

    pub(super) fn get(&self, number: u32) -> &[u8] {
        string(&self.bytes, &self.ends, number)
    }

    /// The number of a string, if it is in the set.
    pub(super) fn find(&self, wanted: &[u8]) -> Option<u32> {
        let is_it = |number: &u32| self.get(*number) == wanted;
        match self.ends.len() > SMALL {
            false => (0..self.ends.len() as u32).find(is_it),
            true => self.numbers.find(rapidhash_v3(wanted), is_it).copied(),
        }
    }

    /// Adds a string that is not in the set.
    pub(super) fn insert(&mut self, new: &[u8]) {
        debug_assert_eq!(self.find(new), None);
        let Self {
            bytes,
            ends,
            numbers,
        } = self;
        let number = ends.len() as u32;
        bytes.extend_from_slice(new);
        ends.push(bytes.len());
        let hash = |number: &u32| rapidhash_v3(string(bytes, ends, *number));
        if ends.len() == SMALL + 1 {
            for number in 0..=number {
                numbers.insert_unique(hash(&number), number, hash);
            }
        } else if ends.len() > SMALL {
            numbers.insert_unique(rapidhash_v3(new), number, hash);
        }
    }
}

fn string<'b>(bytes: &'b [u8], ends: &[usize], number: u32) -> &'b [u8] {
    let number = number as usize;
    let start = if number == 0 { 0 } else { ends[number - 1] };
    &bytes[start..ends[number]]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_numbered_in_order_also_when_there_are_many() {
        let mut table = Table::default();
        for round in 0..3 {
            for number in 0..50_u32 * (round + 1) {
                let text = format!("state {number}");
                assert_eq!(table.find(text.as_bytes()), None);
                table.insert(text.as_bytes());
                assert_eq!(table.find(text.as_bytes()), Some(number));
                assert_eq!(table.find(b"state 0"), Some(0));
                assert_eq!(table.get(number), text.as_bytes());
            }
            table.clear();
        }
    }
}
