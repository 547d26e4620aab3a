//! [`Lines`]: a set of 64-bit entries, found by hashes, that several threads fill.
//!
//! Open addressing in lines of one cache line. The upper bits of the hash choose the line, the lower ones the slot of it that is
//! tried first; then the others are tried in a circle, and then those of the next line. An entry is never removed, and zero is no entry.
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
//! group or behind it, where everything has been moved already. There is never a second table; a byte for each line says meanwhile which of its slots are
//! taken.

use crate::family::Word;
use crate::prefetch::prefetch;

/// Slots per line.
const LINE: usize = 8;

/// Slots at the start that nobody uses. Large blocks of memory mostly begin two words behind a page, so this is where a line of the cache
/// begins. If they do not, only speed is lost.
const UNUSED: usize = LINE - 2;

/// Lines at the end that are nobody's home, for what overflows from the last ones.
const SPARE_LINES: usize = 32;

const FEWEST_HOMES: usize = 8;

/// How full a table gets, and by how much it grows then, in percent.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    /// More entries than this part of all slots are slow to find.
    pub most: usize,
    /// What is added to a table that is not small.
    pub growth: usize,
    /// Up to this many homes, a table is small: it doubles, unless memory is short.
    pub small: usize,
}

impl Load {
    /// Faster, and larger.
    pub const LIGHT: Self = Self {
        most: 75,
        growth: 50,
        small: 1 << 15,
    };
    /// Smaller, and slower.
    pub const HEAVY: Self = Self {
        most: 86,
        growth: 17,
        small: 1 << 10,
    };
}

/// By how much a table grows, in percent, that takes so much of a budget: by little when that comes to its end, so that the limit is not
/// passed by far.
pub(crate) fn growth(usual: usize, bytes: usize, budget: usize) -> usize {
    match bytes > budget / 3 {
        true => usual.min(8),
        false => usual,
    }
}

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
    load: Load,
    /// How much memory all of what it is part of should take.
    budget: usize,
}

/// The first slot for a hash that may hold the entry, or that holds none.
#[derive(Clone, Copy, Debug)]
pub struct Probe {
    /// Which slot it is.
    pub slot: usize,
    /// What it holds; zero if nothing.
    pub entry: u64,
}

impl<W: Word> Lines<W> {
    /// An empty set.
    #[must_use]
    pub fn new(load: Load) -> Self {
        Self {
            load,
            ..Self::with_homes(FEWEST_HOMES, SPARE_LINES)
        }
    }

    /// How much memory all of what it is part of should take. It grows by less when it comes near.
    pub fn set_budget(&mut self, bytes: usize) {
        self.budget = bytes;
    }

    /// An empty set of few lines, for tests.
    #[must_use]
    pub fn with_homes(homes: usize, spare_lines: usize) -> Self {
        let needed = (homes + spare_lines) * LINE;
        let mut slots: Vec<W> = Vec::with_capacity(needed + LINE - 1);
        // Not what the address would say: a table is not to depend on addresses, and this one moves when it grows.
        let unused = UNUSED;
        slots.resize_with(unused + needed, || W::new(0));
        Self {
            slots,
            unused,
            homes,
            load: Load::LIGHT,
            budget: usize::MAX,
        }
    }

    /// How many entries there may be before the table should grow. More are slower to find.
    #[must_use]
    pub fn room(&self) -> usize {
        self.homes * LINE * self.load.most / 100
    }

    fn homes_after_growth(&self) -> usize {
        match self.homes < self.load.small && self.memory_bytes() < self.budget / 16 {
            true => 2 * self.homes,
            false => {
                self.homes
                    + self.homes * growth(self.load.growth, self.memory_bytes(), self.budget) / 100
            }
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

    /// The line that begins at a slot, if there is one.
    #[inline]
    fn line_at(&self, start: usize) -> Option<&[W; LINE]> {
        self.slots.get(start..)?.first_chunk()
    }

    /// Looks at the slots that are tried for a hash, in order, until `see` has found something.
    #[inline]
    fn try_slots<R>(&self, hash: u32, mut see: impl FnMut(usize, &W) -> Option<R>) -> Option<R> {
        let mut start = self.start_of(self.home(hash));
        let mut line = self.line_at(start)?;
        // Mostly there is no need to look further, nor to compute which slots come next.
        let first = hash as usize % LINE;
        let seen = see(start + first, &line[first]);
        if seen.is_some() {
            return seen;
        }
        let mut tried = 1;
        loop {
            // In a circle.
            for place in tried..LINE {
                let place = (hash as usize + place) % LINE;
                let seen = see(start + place, &line[place]);
                if seen.is_some() {
                    return seen;
                }
            }
            tried = 0;
            start += LINE;
            line = self.line_at(start)?;
        }
    }

    /// The first slot for a hash that is empty or for whose entry `may_be` holds. Nothing if all others are taken.
    #[inline]
    pub fn probe(&self, hash: u32, mut may_be: impl FnMut(u64) -> bool) -> Option<Probe> {
        self.try_slots(hash, |slot, there| {
            let entry = there.load();
            (entry == 0 || may_be(entry)).then_some(Probe { slot, entry })
        })
    }

    /// Puts an entry into the empty slot that was the [first](Self::probe) of its hash, and says what is there now
    /// instead, if somebody was faster.
    #[inline]
    pub fn claim_at(&self, slot: usize, entry: u64) -> Result<(), u64> {
        self.slots[slot].claim(entry)
    }

    /// The slot and the entry with that hash for which `is_it` holds, if it is there.
    #[inline]
    pub fn find(&self, hash: u32, mut is_it: impl FnMut(u64) -> bool) -> Option<(usize, u64)> {
        let found = self.try_slots(hash, |slot, there| match there.load() {
            0 => Some(None),
            entry if is_it(entry) => Some(Some((slot, entry))),
            _ => None,
        });
        found.flatten()
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
        let claim = self.try_slots(hash, |_, slot| {
            let mut there = slot.load();
            if there == 0 {
                if own == 0 {
                    own = entry();
                    debug_assert_ne!(own, 0, "zero is no entry");
                }
                match slot.claim(own) {
                    Ok(()) => return Some(Claim::Claimed),
                    Err(other) => there = other,
                }
            }
            is_it(there).then_some(Claim::Found(there))
        });
        claim.unwrap_or(Claim::Full)
    }

    /// Whether there is a place for another entry of that hash.
    #[must_use]
    pub fn has_place(&self, hash: u32) -> bool {
        let free = |_, slot: &W| (slot.peek() == 0).then_some(());
        self.try_slots(hash, free).is_some()
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
        // Which slots of each line are taken, of those that were moved from.
        let mut taken = vec![0_u8; (self.slots.len() - self.unused) / LINE];
        let mut entries = vec![0_u64; 2 * LINE];
        // The first ones are a group, of which a line may be missing.
        let mut group = 0;
        while line > 0 {
            line -= 1;
            entries.resize(entries.len().max(group + LINE), 0);
            let more = self.take_line(line, &mut entries[group..]);
            if more == LINE {
                group += LINE;
                continue;
            }
            for &entry in &entries[..group] {
                self.put(hash_of(entry), entry, &mut taken);
            }
            entries.copy_within(group..group + more, 0);
            group = more;
        }
        for &entry in &entries[..group] {
            self.put(hash_of(entry), entry, &mut taken);
        }
    }

    fn is_empty(&self, line: usize) -> bool {
        let start = self.start_of(line);
        self.slots[start..start + LINE]
            .iter()
            .all(|slot| slot.peek() == 0)
    }

    /// Moves the entries of a line to the front of others, and says how many there were.
    #[inline]
    fn take_line(&self, line: usize, entries: &mut [u64]) -> usize {
        let line = self.line_at(self.start_of(line)).expect("it is a line");
        let entries = entries.first_chunk_mut::<LINE>().expect("there is room");
        let mut count = 0;
        // No branches: nobody knows which slots are taken.
        for slot in line {
            let entry = slot.peek();
            slot.put(0);
            entries[count % LINE] = entry;
            count += usize::from(entry != 0);
        }
        count
    }

    /// Adds an entry while nobody else looks, where whoever looks for it comes first to a slot that is not taken.
    #[inline]
    fn put(&mut self, hash: u32, entry: u64, taken: &mut Vec<u8>) {
        let mut line = self.home(hash);
        while taken[line] == u8::MAX {
            line += 1;
            if line == taken.len() {
                taken.push(0);
                let end = self.slots.len();
                self.slots.resize_with(end + LINE, || W::new(0));
            }
        }
        let first = hash % LINE as u32;
        let after = taken[line].rotate_right(first).trailing_ones();
        let place = (first + after) as usize % LINE;
        taken[line] |= 1 << place;
        self.slots[self.start_of(line) + place].put(entry);
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
