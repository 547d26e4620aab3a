//! [`Table`]: from hashes to numbers, four bytes per slot.
//!
//! Open addressing in buckets of one cache line: an entry is in the bucket that its
//! hash chooses or, if that is full, in one of the next. A table of 2^k slots holds
//! fewer than 2^k numbers, which need k bits; the other 32 - k bits of a slot hold bits
//! of the hash (the *tag*), so that most strings that are not the wanted one are passed
//! by without looking at them.
//!
//! All slots of a bucket are compared without a branch: what is then predicted is
//! whether the string is there, not in which slot.
//!
//! A slot has too few bits of the hash to be moved to a larger table. Growing asks for
//! all hashes again; in return the old table is freed before the new one is made, and there
//! is never a moment with two.

/// Slots per bucket.
const BUCKET: usize = 16;

/// An unused slot. No used one looks like it: its number part is all ones, and a table
/// filled to 3/4 does not have that number.
const EMPTY: u32 = u32::MAX;

const SMALLEST: usize = 1 << 8;
const LARGEST: usize = 1 << 32;

/// Used slots come before unused ones: entries are never removed.
#[repr(align(64))]
#[derive(Clone, Copy)]
struct Bucket([u32; BUCKET]);

/// The answer of [`Table::probe`].
pub(super) enum Probe {
    /// The number that is there.
    Found(u32),
    /// It is not there, and belongs into that slot.
    Free(Slot),
}

/// A free slot. It is good until the table changes.
#[derive(Clone, Copy)]
pub(super) struct Slot {
    bucket: u32,
    position: u32,
}

/// A set of numbers, each found by a hash of what it stands for.
#[derive(Default)]
pub(super) struct Table {
    buckets: Vec<Bucket>,
    /// The number of slots less one: the bits of a slot that hold a number.
    number_bits: u32,
}

impl Table {
    /// How many entries the largest table can have.
    pub(super) const MOST_ENTRIES: usize = LARGEST / 4 * 3;

    pub(super) fn new() -> Self {
        let mut table = Self::default();
        table.clear_to(SMALLEST);
        table
    }

    fn clear_to(&mut self, slots: usize) {
        self.buckets = Vec::new();
        self.buckets = vec![Bucket([EMPTY; BUCKET]); slots / BUCKET];
        self.number_bits = (slots - 1) as u32;
    }

    /// How many entries there may be before the table must grow.
    pub(super) fn room(&self) -> usize {
        self.buckets.len() * BUCKET / 4 * 3
    }

    /// Looks for the number with that hash for which `is_it` holds.
    #[inline]
    pub(super) fn probe(&self, hash: u64, is_it: impl Fn(u32) -> bool) -> Probe {
        let tag = self.tag(hash);
        let mut bucket = self.home(hash);
        loop {
            let slots = &self.buckets[bucket as usize].0;
            let mut used = 0;
            let mut hits = 0u32;
            for (i, &slot) in slots.iter().enumerate() {
                let in_use = slot != EMPTY;
                used += u32::from(in_use);
                hits |= u32::from(in_use & (slot & !self.number_bits == tag)) << i;
            }
            while hits != 0 {
                let number = slots[hits.trailing_zeros() as usize] & self.number_bits;
                if is_it(number) {
                    return Probe::Found(number);
                }
                hits &= hits - 1;
            }
            if used < BUCKET as u32 {
                let position = used;
                return Probe::Free(Slot { bucket, position });
            }
            bucket = self.after(bucket);
        }
    }

    /// The slot for a hash that is new.
    pub(super) fn free_slot(&self, hash: u64) -> Slot {
        let mut bucket = self.home(hash);
        loop {
            let slots = &self.buckets[bucket as usize].0;
            let position: u32 = slots.iter().map(|&slot| u32::from(slot != EMPTY)).sum();
            if position < BUCKET as u32 {
                return Slot { bucket, position };
            }
            bucket = self.after(bucket);
        }
    }

    /// Puts a number into the free slot that was found for its hash. There must be
    /// [`room`](Self::room), and the number must be smaller than that.
    #[inline]
    pub(super) fn fill(&mut self, slot: Slot, hash: u64, number: u32) {
        self.buckets[slot.bucket as usize].0[slot.position as usize] = self.tag(hash) | number;
    }

    /// Doubles the table. `hashes` are those of the numbers 0, 1, 2, ... in the table.
    pub(super) fn grow(&mut self, hashes: impl Iterator<Item = u64>) {
        self.clear_to(self.buckets.len() * BUCKET * 2);
        for (number, hash) in (0..).zip(hashes) {
            let slot = self.free_slot(hash);
            self.fill(slot, hash, number);
        }
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.buckets.capacity() * size_of::<Bucket>()
    }

    #[inline]
    fn home(&self, hash: u64) -> u32 {
        (hash as u32 & self.number_bits) / BUCKET as u32
    }

    #[inline]
    fn after(&self, bucket: u32) -> u32 {
        (bucket + 1) & (self.number_bits / BUCKET as u32)
    }

    /// The bits of a slot that do not hold a number. They come from the half of the
    /// hash that does not choose the bucket.
    #[inline]
    fn tag(&self, hash: u64) -> u32 {
        (hash >> 32) as u32 & !self.number_bits
    }
}
