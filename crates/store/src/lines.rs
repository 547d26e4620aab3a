//! [`Lines`]: a set of 64-bit entries, found by hashes, that several threads fill.
//!
//! Open addressing in lines of one cache line. The upper bits of the hash choose the line, the
//! lowest the slot in which the search within it begins; it goes round the line, and then
//! on to the next. An entry is never removed, and zero is no entry.
//!
//! # Why each key is there once
//!
//! *Claim.* Of all threads that look for a key and bring an entry for it, exactly one is told
//! [`Claimed`](Claim::Claimed), and all others find that entry.
//!
//! 1. The slots that are tried for a key are a fixed sequence, as long as the table does not grow. A slot
//!    changes once, from zero to an entry.
//! 2. A thread claims a slot by a compare-and-exchange from zero, after it has seen that all slots
//!    before it in the sequence hold entries of other keys. By (1) they do so for ever. So an
//!    entry of the key can never be in an earlier slot, and whoever looks for the key comes to this slot.
//! 3. There the thread finds the entry, or zero. If zero, it tries to claim the slot itself, and of several
//!    that do, one succeeds. The others are told what is there now, and look at it as if they
//!    had found it.
//!
//! What a thread wrote before it claimed a slot is seen by whoever finds the entry: the exchange
//! releases, the load acquires.
//!
//! The table grows only while nobody else looks at it: `grow` takes `&mut self`.
//!
//! # Growing in place
//!
//! A line is `hash * lines / 2^32`, which never gets smaller when there are more lines. So the entries can
//! be moved within the same memory, from the last line to the first, a *group* of lines at a time: a line and
//! all full lines directly before it. The line before a group is not full, so no entry of the group has
//! its home before the group, and none outside is where it is because of the group. All new homes are in the
//! group or behind it, where everything has been moved already. There is never a second table.

use crate::family::Word;
use crate::prefetch::prefetch;

/// Bytes of a line of the cache.
const CACHE_LINE: usize = 64;

/// Slots per line.
const LINE: usize = 8;

/// Lines at the end that are nobody's home, for what overflows from the last ones.
const SPARE_LINES: usize = 32;

const FEWEST_HOMES: usize = 8;

/// Up to this many homes, tables double.
const SMALL: usize = 1 << 10;

/// What became of an entry that was to be in the set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Claim {
    /// This entry was there.
    Found(u64),
    /// It is there now.
    Claimed,
    /// The table must grow first.
    Full,
}

/// A set of entries.
pub struct Lines<W> {
    /// Unused ones first, so that lines are not split by cache lines.
    slots: Vec<W>,
    unused: usize,
    homes: usize,
}

impl<W: Word> Lines<W> {
    /// An empty set.
    #[must_use]
    pub fn new() -> Self {
        Self::with_homes(FEWEST_HOMES, SPARE_LINES)
    }

    /// An empty set of few lines, for tests.
    #[must_use]
    pub fn with_homes(homes: usize, spare_lines: usize) -> Self {
        let needed = (homes + spare_lines) * LINE;
        let mut slots: Vec<W> = Vec::with_capacity(needed + LINE - 1);
        // Large tables stay aligned when they grow: the allocator moves whole pages. If it does not,
        // only speed is lost.
        let unused = slots.as_ptr().align_offset(CACHE_LINE);
        let unused = if unused < LINE { unused } else { 0 };
        slots.resize_with(unused + needed, || W::new(0));
        Self {
            slots,
            unused,
            homes,
        }
    }

    /// How many entries there may be before the table should grow. More are slower to find.
    #[must_use]
    pub fn room(&self) -> usize {
        self.homes * LINE * 82 / 100
    }

    fn homes_after_growth(&self) -> usize {
        match self.homes < SMALL {
            true => 2 * self.homes,
            false => self.homes / 4 * 5,
        }
    }

    /// All slots are below this one.
    #[must_use]
    pub fn slot_bound(&self) -> usize {
        self.slots.len()
    }

    /// The entry in a slot, or zero.
    #[must_use]
    #[inline]
    pub fn slot(&self, slot: usize) -> u64 {
        self.slots[slot].load()
    }

    /// The memory that it takes.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        self.slots.capacity() * size_of::<W>()
    }

    #[inline]
    fn start_of(&self, line: usize) -> usize {
        self.unused + line * LINE
    }

    #[inline]
    fn home(&self, hash: u32) -> usize {
        ((u64::from(hash) * self.homes as u64) >> 32) as usize
    }

    /// Has the line of a hash brought nearer.
    #[inline]
    pub fn prefetch(&self, hash: u32) {
        prefetch(&self.slots[self.start_of(self.home(hash))]);
    }

    /// The slots that are tried for a hash, in order.
    #[inline]
    fn slots_for(&self, hash: u32) -> impl Iterator<Item = usize> {
        let first = hash as usize % LINE;
        let lines = (self.start_of(self.home(hash))..self.slots.len()).step_by(LINE);
        lines.flat_map(move |line| (0..LINE).map(move |i| line + (first + i) % LINE))
    }

    /// The slot and the entry with that hash for which `is_it` holds, if it is there.
    #[inline]
    pub fn find(&self, hash: u32, mut is_it: impl FnMut(u64) -> bool) -> Option<(usize, u64)> {
        for slot in self.slots_for(hash) {
            match self.slots[slot].load() {
                0 => return None,
                entry if is_it(entry) => return Some((slot, entry)),
                _ => {}
            }
        }
        None
    }

    /// Makes sure that an entry with that hash for which `is_it` holds is in the set. `entry` is
    /// asked for if there is none, at most once.
    #[inline]
    pub fn find_or_claim(
        &self,
        hash: u32,
        mut is_it: impl FnMut(u64) -> bool,
        mut entry: impl FnMut() -> u64,
    ) -> Claim {
        let mut own = 0;
        for slot in self.slots_for(hash) {
            let slot = &self.slots[slot];
            let mut there = slot.load();
            if there == 0 {
                if own == 0 {
                    own = entry();
                    debug_assert_ne!(own, 0, "zero is no entry");
                }
                match slot.claim(own) {
                    Ok(()) => return Claim::Claimed,
                    Err(other) => there = other,
                }
            }
            if is_it(there) {
                return Claim::Found(there);
            }
        }
        Claim::Full
    }

    /// Whether there is a place for another entry of that hash.
    #[must_use]
    pub fn has_place(&self, hash: u32) -> bool {
        self.slots_for(hash)
            .any(|slot| self.slots[slot].peek() == 0)
    }

    /// Makes room for more entries, given their hashes.
    pub fn grow(&mut self, hash_of: impl Fn(u64) -> u32) {
        let mut line = (self.slots.len() - self.unused) / LINE;
        let homes = self.homes_after_growth();
        // Where entries have come to the last line, more would get no further.
        let crowded = !self.is_empty(line - 1);
        let spare = (line - self.homes).max(SPARE_LINES) << usize::from(crowded);
        let needed = self.unused + (homes + spare) * LINE;
        let more = needed - self.slots.len();
        // As much as if all were unused at the start, so that memory does not depend on addresses.
        self.slots.reserve_exact(more + LINE - 1 - self.unused);
        self.slots
            .resize_with(self.slots.len() + more, || W::new(0));
        self.homes = homes;
        let mut group = Vec::new();
        while line > 0 {
            line -= 1;
            self.take_line(line, &mut group);
            while line > 0 && self.is_full(line - 1) {
                line -= 1;
                self.take_line(line, &mut group);
            }
            for entry in group.drain(..) {
                self.put(hash_of(entry), entry);
            }
        }
    }

    fn is_empty(&self, line: usize) -> bool {
        let start = self.start_of(line);
        self.slots[start..start + LINE]
            .iter()
            .all(|slot| slot.peek() == 0)
    }

    fn is_full(&self, line: usize) -> bool {
        let start = self.start_of(line);
        self.slots[start..start + LINE]
            .iter()
            .all(|slot| slot.peek() != 0)
    }

    fn take_line(&self, line: usize, entries: &mut Vec<u64>) {
        let start = self.start_of(line);
        for slot in &self.slots[start..start + LINE] {
            let entry = slot.peek();
            if entry != 0 {
                slot.put(0);
                entries.push(entry);
            }
        }
    }

    /// Adds an entry while nobody else looks.
    fn put(&mut self, hash: u32, entry: u64) {
        let free = self
            .slots_for(hash)
            .find(|&slot| self.slots[slot].peek() == 0);
        let free = free.unwrap_or_else(|| {
            let end = self.slots.len();
            self.slots.resize_with(end + LINE, || W::new(0));
            end + hash as usize % LINE
        });
        self.slots[free].put(entry);
    }
}

impl<W: Word> Default for Lines<W> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::{mix, upper};
    use std::collections::HashSet;
    use std::sync::atomic::AtomicU64;

    fn hash_of(entry: u64) -> u32 {
        upper(mix(entry))
    }

    #[test]
    fn holds_what_was_put_in_while_it_grows() {
        // Also with hashes that all lead to the last lines, or to one.
        let hashes: [fn(u64) -> u32; 3] = [
            hash_of,
            |e| !(e as u32 % 50),
            |e| {
                if e % 2 == 0 { 5 } else { hash_of(e) }
            },
        ];
        for hash_of in hashes {
            let mut lines = Lines::<AtomicU64>::with_homes(1, 1);
            let mut known = HashSet::new();
            let mut count = 0;
            for number in 0..3000_u64 {
                let entry = mix(number % 2000) | 1;
                let claim = loop {
                    match lines.find_or_claim(hash_of(entry), |e| e == entry, || entry) {
                        Claim::Full => lines.grow(hash_of),
                        claim => break claim,
                    }
                };
                assert_eq!(claim == Claim::Claimed, known.insert(entry));
                count += usize::from(claim == Claim::Claimed);
                if count > lines.room() {
                    lines.grow(hash_of);
                }
            }
            for &entry in &known {
                assert!(lines.find(hash_of(entry), |e| e == entry).is_some());
            }
            let held = (0..lines.slot_bound()).filter(|&slot| lines.slot(slot) != 0);
            assert_eq!(held.count(), known.len());
        }
    }
}
