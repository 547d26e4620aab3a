//! Tables that take their memory from the system, not from the allocator of the program: for what that allocator itself writes down.
//!
//! They hold plain values and are used by one thread at a time, so a [`Cell`] is enough for interior mutability, and nothing is ever borrowed while
//! memory is allocated.

use std::alloc::{GlobalAlloc as _, Layout, System};
use std::cell::Cell;
use std::ptr::null_mut;

use super::hash::mix;

/// A list that grows.
pub(super) struct List<T: Copy> {
    entries: Cell<*mut T>,
    count: Cell<usize>,
    room: Cell<usize>,
}

impl<T: Copy> Default for List<T> {
    fn default() -> Self {
        const { assert!(size_of::<T>() > 0) };
        Self {
            entries: Cell::new(null_mut()),
            count: Cell::new(0),
            room: Cell::new(0),
        }
    }
}

impl<T: Copy> List<T> {
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.count.get()
    }

    #[inline]
    pub(super) fn get(&self, index: usize) -> Option<T> {
        // SAFETY: so many entries were written.
        (index < self.len()).then(|| unsafe { self.entries.get().add(index).read() })
    }

    /// Adds an entry. Returns whether there was memory for it.
    #[inline]
    #[must_use]
    pub(super) fn push(&self, entry: T) -> bool {
        let count = self.len();
        if count == self.room.get() && !self.grow() {
            return false;
        }
        // SAFETY: there is room for more entries than there are.
        unsafe { self.entries.get().add(count).write(entry) };
        self.count.set(count + 1);
        true
    }

    #[cold]
    fn grow(&self) -> bool {
        let room = self.room.get();
        let more = (2 * room).max(256);
        let (Ok(before), Ok(layout)) = (Layout::array::<T>(room), Layout::array::<T>(more)) else {
            return false;
        };
        let entries = match room {
            // SAFETY: the size is not 0.
            0 => unsafe { System.alloc(layout) },
            // SAFETY: that is how they were allocated.
            _ => unsafe { System.realloc(self.entries.get().cast(), before, layout.size()) },
        };
        if !entries.is_null() {
            self.entries.set(entries.cast());
            self.room.set(more);
        }
        !entries.is_null()
    }

    /// Forgets all entries. The memory is kept.
    pub(super) fn clear(&self) {
        self.count.set(0);
    }
}

impl<T: Copy> Drop for List<T> {
    fn drop(&mut self) {
        if let (Ok(layout), 1..) = (Layout::array::<T>(self.room.get()), self.room.get()) {
            // SAFETY: that is how they were allocated.
            unsafe { System.dealloc(self.entries.get().cast(), layout) };
        }
    }
}

/// A set of addresses: a table with open addressing, in which an address is in the first free slot after the one that it hashes to.
#[derive(Default)]
pub(super) struct Addresses {
    slots: Cell<Option<(*mut Slot, usize)>>,
    count: Cell<usize>,
    /// How often the set was emptied. Slots that were used before are free.
    era: Cell<u64>,
}

#[derive(Clone, Copy)]
struct Slot {
    address: usize,
    /// When it was used, plus one.
    used: u64,
}

/// What came of adding an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Added {
    New,
    Known,
    /// There is no memory for it.
    Failed,
}

impl Addresses {
    const LEAST: usize = 512;

    #[inline]
    pub(super) fn add(&self, address: usize) -> Added {
        let is_full = |(_, room): &(_, usize)| 2 * self.count.get() >= *room;
        let slots = match self.slots.get().filter(|slots| !is_full(slots)) {
            Some(slots) => slots,
            None => match self.grow() {
                Some(slots) => slots,
                None => return Added::Failed,
            },
        };
        let slot = self.slot(slots, address);
        // SAFETY: it is one of the slots, and all of them are initialised.
        unsafe {
            if self.is_used(slot) {
                return Added::Known;
            }
            slot.write(Slot {
                address,
                used: self.era.get() + 1,
            });
        }
        self.count.set(self.count.get() + 1);
        Added::New
    }

    /// Forgets all addresses. The memory is kept.
    pub(super) fn clear(&self) {
        self.era.set(self.era.get() + 1);
        self.count.set(0);
    }

    /// # Safety
    ///
    /// It must be one of the slots.
    #[inline]
    unsafe fn is_used(&self, slot: *const Slot) -> bool {
        // SAFETY: all slots are initialised.
        unsafe { (*slot).used == self.era.get() + 1 }
    }

    /// The slot of an address: where it is, or a free one where it is to be. At least half of the slots are free.
    #[inline]
    fn slot(&self, (slots, room): (*mut Slot, usize), address: usize) -> *mut Slot {
        // The lowest bits of addresses are mostly 0.
        let hash = mix(0, address as u64) as usize;
        let mut index = hash & (room - 1);
        loop {
            // SAFETY: the index is below the number of slots.
            let slot = unsafe { slots.add(index) };
            // SAFETY: it is one of the slots, and all of them are initialised.
            if unsafe { !self.is_used(slot) || (*slot).address == address } {
                return slot;
            }
            index = (index + 1) & (room - 1);
        }
    }

    #[cold]
    fn grow(&self) -> Option<(*mut Slot, usize)> {
        let old = self.slots.get();
        let room = old.map_or(Self::LEAST, |(_, room)| 2 * room);
        let layout = Layout::array::<Slot>(room).ok()?;
        // SAFETY: the size is not 0.
        let slots = unsafe { System.alloc_zeroed(layout) }.cast::<Slot>();
        if slots.is_null() {
            return None;
        }
        for index in 0..old.map_or(0, |(_, room)| room) {
            let (old, _) = old?;
            // SAFETY: there are so many slots, all of them initialised.
            let (is_used, slot) = unsafe { (self.is_used(old.add(index)), old.add(index).read()) };
            if is_used {
                // SAFETY: it is one of the new slots.
                unsafe { self.slot((slots, room), slot.address).write(slot) };
            }
        }
        self.release();
        self.slots.set(Some((slots, room)));
        self.slots.get()
    }

    fn release(&self) {
        if let Some((slots, room)) = self.slots.take()
            && let Ok(layout) = Layout::array::<Slot>(room)
        {
            // SAFETY: that is how they were allocated.
            unsafe { System.dealloc(slots.cast(), layout) };
        }
    }
}

impl Drop for Addresses {
    fn drop(&mut self) {
        self.release();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_grow_and_keep_their_memory() {
        let list = List::default();
        for round in 0..3 {
            for number in 0..1000 {
                assert!(list.push((number, round)));
            }
            assert_eq!((list.len(), list.get(999)), (1000, Some((999, round))));
            assert_eq!(list.get(1000), None);
            list.clear();
            assert_eq!((list.len(), list.get(0)), (0, None));
        }
    }

    #[test]
    fn addresses_are_known_until_they_are_forgotten() {
        let set = Addresses::default();
        for _ in 0..3 {
            for address in 1..5000 {
                assert_eq!(set.add(16 * address), Added::New);
                assert_eq!(set.add(16 * (address / 2).max(1)), Added::Known);
            }
            set.clear();
        }
    }
}
