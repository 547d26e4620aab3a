//! [`Table`]: the states of one macro-step.

use hashbrown::HashTable;
use rapidhash::v3::rapidhash_v3;

use crate::store::Inserted;

/// A small set of byte strings that is emptied again and again. Strings are numbered in the
/// order of insertion.
#[derive(Default)]
pub(super) struct Table {
    bytes: Vec<u8>,
    ends: Vec<u32>,
    numbers: HashTable<u32>,
}

/// Up to this size, looking at all strings is faster than hashing.
const SMALL: usize = 8;

/// A table that was large once is not kept: emptying it would take long.
const LARGEST_KEPT: usize = 1 << 10;

impl Table {
    pub(super) fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
        if self.numbers.capacity() > LARGEST_KEPT {
            self.numbers = HashTable::new();
        }
        self.numbers.clear();
    }

    pub(super) fn get(&self, number: u32) -> &[u8] {
        string(&self.bytes, &self.ends, number)
    }

    /// Makes sure that a string is in the set; gives its number.
    pub(super) fn insert(&mut self, new: &[u8]) -> (u32, Inserted) {
        let Self {
            bytes,
            ends,
            numbers,
        } = self;
        let len = ends.len() as u32;
        let known = match ends.len() > SMALL {
            false => (0..len).find(|number| string(bytes, ends, *number) == new),
            true => {
                let is_it = |number: &u32| string(bytes, ends, *number) == new;
                numbers.find(rapidhash_v3(new), is_it).copied()
            }
        };
        if let Some(known) = known {
            return (known, Inserted::Known);
        }
        bytes.extend_from_slice(new);
        ends.push(bytes.len() as u32);
        let hash = |number: &u32| rapidhash_v3(string(bytes, ends, *number));
        if ends.len() == SMALL + 1 {
            for number in 0..=len {
                numbers.insert_unique(hash(&number), number, hash);
            }
        } else if ends.len() > SMALL {
            numbers.insert_unique(rapidhash_v3(new), len, hash);
        }
        (len, Inserted::New)
    }
}

fn string<'b>(bytes: &'b [u8], ends: &[u32], number: u32) -> &'b [u8] {
    let number = number as usize;
    let start = if number == 0 { 0 } else { ends[number - 1] };
    &bytes[start as usize..ends[number] as usize]
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
                assert_eq!(table.insert(text.as_bytes()), (number, Inserted::New));
                assert_eq!(table.insert(text.as_bytes()), (number, Inserted::Known));
                assert_eq!(table.insert(b"state 0"), (0, Inserted::Known));
                assert_eq!(table.get(number), text.as_bytes());
            }
            table.clear();
        }
    }
}
