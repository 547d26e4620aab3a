//! Memory that the code under test frees is not given out again before its execution ends.
//!
//! Whether a new allocation gets the address of one that was freed is up to the allocator, which remembers earlier executions. The program
//! can see it: a compare-exchange on a pointer succeeds if the pointer was freed and the address is back (the ABA problem). So the
//! same moves would not give the same steps, and a correct program would fail as one that is not determined. With a quarantine, two allocations of one
//! execution never have the same address.
//!
//! That leaves out executions: those in which an address is back. That can matter only to who compares an address of something that was freed with
//! another one. Where a compare-exchange does, or where an atomic holds an address and has held one that was freed, the check rests on an
//! assumption ([`Kind::ReusedMemory`]). Addresses that are kept elsewhere, behind a lock, say, are not seen.

use std::alloc::{GlobalAlloc, Layout};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

use raddle_outcome::Kind;
use raddle_schedule::{LocationId, ValuedAccess};

use super::Place;
use super::deeds::LEAST_ADDRESS;
use super::hash::Table;
use super::objects::Kind as ObjectKind;
use super::state::State;
use super::system::{Added, Addresses, List};

/// How much memory an execution may have in quarantine. What it frees beyond that goes back at once.
const MOST_BYTES: usize = 256 << 20;

/// A block as large as this gives its pages back to the system while it is in quarantine, and keeps only its addresses.
const LARGE: usize = 1 << 20;

/// How many bytes of addresses all large blocks may have.
const MOST_ADDRESSES: usize = 4 << 30;

/// As large as pages are anywhere.
const PAGE: usize = 1 << 16;

/// What was freed.
#[derive(Clone, Copy)]
struct Block {
    start: *mut u8,
    layout: Layout,
    /// Where it goes back to.
    home: &'static (dyn GlobalAlloc + Sync),
}

/// What happened to memory in an execution.
#[derive(Clone, Copy, Debug)]
pub(super) struct Event {
    pub(super) start: usize,
    pub(super) size: usize,
    pub(super) what: What,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What {
    Allocated,
    Freed {
        /// Whether it begins as what `std::sync::Arc` and `std::rc::Rc` refer to: with two counts, which are 0 by now.
        looks_counted: bool,
    },
    FreedTwice,
}

/// What has become of a block that was freed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    Kept,
    /// It is in quarantine already.
    KeptBefore,
    /// There is no room for it.
    GoesBack,
}

/// What an execution has freed. It allocates nothing by the allocator that it is part of.
#[derive(Default)]
pub(super) struct Quarantine {
    blocks: List<Block>,
    starts: Addresses,
    bytes: Cell<usize>,
    addresses: Cell<usize>,
    /// Whether nothing is kept from now on.
    is_open: Cell<bool>,
    /// Whether something was freed for which there was no room.
    has_overflowed: Cell<bool>,
    /// The first of the blocks, by their addresses; made when somebody asks.
    known: RefCell<BTreeMap<usize, usize>>,
    /// Whether it is written down what is allocated and freed.
    pub(super) is_watched: Cell<bool>,
    /// What was, in this execution.
    pub(super) events: List<Event>,
}

impl Quarantine {
    /// Keeps a block.
    #[inline]
    pub(super) fn keep(
        &self,
        start: *mut u8,
        layout: Layout,
        home: &'static (dyn GlobalAlloc + Sync),
    ) -> Fate {
        if self.is_open.get() {
            return Fate::GoesBack;
        }
        let is_large = cfg!(target_os = "linux") && layout.size() >= LARGE;
        let resident = if is_large { 2 * PAGE } else { layout.size() };
        let bytes = self.bytes.get().saturating_add(resident);
        let addresses = match is_large {
            true => self.addresses.get().saturating_add(layout.size()),
            false => self.addresses.get(),
        };
        if bytes > MOST_BYTES || addresses > MOST_ADDRESSES {
            self.has_overflowed.set(true);
            return Fate::GoesBack;
        }
        match self.starts.add(start.addr()) {
            Added::New => {}
            Added::Known => return Fate::KeptBefore,
            Added::Failed => return Fate::GoesBack,
        }
        let block = Block {
            start,
            layout,
            home,
        };
        if !self.blocks.push(block) {
            return Fate::GoesBack;
        }
        if is_large {
            give_back_pages(start, layout.size());
        }
        self.bytes.set(bytes);
        self.addresses.set(addresses);
        Fate::Kept
    }

    pub(super) fn is_empty(&self) -> bool {
        self.blocks.len() == 0
    }

    /// Writes down what has happened.
    #[inline]
    pub(super) fn note(&self, event: Event) {
        // Without memory for that, there is none for the program either.
        let _ = self.events.push(event);
    }

    /// Whether an address is in something that was freed. Pointers may have flags in their lowest bits.
    pub(super) fn has(&self, address: u64) -> bool {
        if self.is_empty() {
            return false;
        }
        let Ok(address) = usize::try_from(address) else {
            return false;
        };
        let mut known = self.known.borrow_mut();
        while let Some(block) = self.blocks.get(known.len()) {
            known.insert(block.start.addr(), block.layout.size());
        }
        let before = known.range(..=address).next_back();
        before.is_some_and(|(&start, &size)| address - start < size)
    }

    /// From now on, what is freed goes back at once.
    pub(super) fn open(&self) {
        self.is_open.set(true);
    }

    /// Whether addresses may have come back, since the last call.
    pub(super) fn has_overflowed(&self) -> bool {
        self.has_overflowed.take()
    }

    /// Gives all memory back: the execution has ended. No code under test may be running.
    pub(super) fn release(&self) {
        self.known.borrow_mut().clear();
        let mut index = 0;
        while let Some(Block {
            start,
            layout,
            home,
        }) = self.blocks.get(index)
        {
            // SAFETY: it was allocated there like this, and who freed it has given it up. It is in the list once.
            unsafe { home.dealloc(start, layout) };
            index += 1;
        }
        self.blocks.clear();
        self.starts.clear();
        self.events.clear();
        self.bytes.set(0);
        self.addresses.set(0);
        self.is_open.set(false);
    }
}

impl Drop for Quarantine {
    fn drop(&mut self) {
        self.release();
    }
}

/// Lets the system have the pages of a block that nobody owns. Whoever reads there all the same finds zeros.
fn give_back_pages(start: *mut u8, size: usize) {
    #[cfg(target_os = "linux")]
    {
        let before = start.addr().next_multiple_of(PAGE) - start.addr();
        let length = size.saturating_sub(before) & !(PAGE - 1);
        if length > 0 {
            // SAFETY: the pages are within the block, and nothing of what is there matters any more. It is only advice: if
            // the memory is of a kind that cannot be given back, it stays.
            unsafe { libc::madvise(start.add(before).cast(), length, libc::MADV_DONTNEED) };
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = (start, size);
}

/// How many addresses are remembered of each atomic.
const MOST_EARLIER: usize = 8;

/// The addresses that atomics have held before those that they hold.
#[derive(Debug, Default)]
pub(super) struct Earlier(Table<LocationId, Vec<u64>>);

impl Earlier {
    pub(super) fn begin(&mut self) {
        self.0.clear();
    }
}

impl State {
    /// A step touches a location. If that is an atomic which has held an address of something that was freed, and holds another one, they might
    /// be the same if that memory had been allocated again; and then whoever knows the first would take the one for the other.
    #[inline]
    pub(super) fn note_address(&mut self, access: &ValuedAccess, place: Place) {
        if access.before < LEAST_ADDRESS || self.objects.kind(access.location) != ObjectKind::Atomic
        {
            return;
        }
        if let Some(earlier) = self.earlier.0.get(&access.location) {
            let is_back = |&old: &u64| old != access.before && self.quarantine.has(old);
            if earlier.iter().any(is_back) {
                self.assume(Kind::ReusedMemory.at(place));
            }
        }
        if access.after != access.before {
            let earlier = self.earlier.0.entry(access.location).or_default();
            if earlier.len() == MOST_EARLIER {
                earlier.remove(0);
            }
            earlier.push(access.before);
        }
    }

    /// A compare-exchange has expected one value and found another. If both are addresses, of which one was freed, they might
    /// be the same if that memory had been allocated again.
    #[inline]
    pub(super) fn compare_addresses(&mut self, expected: u64, found: u64, place: Place) {
        let may_be_addresses = expected.min(found) >= LEAST_ADDRESS;
        if expected != found
            && may_be_addresses
            && (self.quarantine.has(expected) || self.quarantine.has(found))
        {
            self.assume(Kind::ReusedMemory.at(place));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::alloc::System;

    use super::*;

    fn freed(quarantine: &Quarantine, size: usize) -> usize {
        let layout = Layout::from_size_align(size, 8).expect("a layout");
        // SAFETY: the size is not 0, and the block is not used again.
        let block = unsafe { System.alloc(layout) };
        assert_eq!(quarantine.keep(block, layout, &System), Fate::Kept);
        assert_eq!(quarantine.keep(block, layout, &System), Fate::KeptBefore);
        block.addr()
    }

    #[test]
    fn what_was_freed_is_known_until_it_is_released() {
        let quarantine = Quarantine::default();
        let blocks: Vec<_> = (0..1000).map(|_| freed(&quarantine, 40)).collect();
        for (index, &block) in blocks.iter().enumerate() {
            assert!(quarantine.has(block as u64), "{index}");
            assert!(quarantine.has(block as u64 + 1));
        }
        assert!(!quarantine.has(8));
        quarantine.release();
        assert!(!quarantine.has(blocks[0] as u64));
    }

    #[test]
    fn it_does_not_grow_without_bound() {
        let quarantine = Quarantine::default();
        let keep = |size| {
            let layout = Layout::from_size_align(size, 8).expect("a layout");
            quarantine.keep(std::ptr::null_mut(), layout, &System)
        };
        assert_eq!(keep(MOST_ADDRESSES + 1), Fate::GoesBack);
        assert!(quarantine.has_overflowed());
        assert!(!quarantine.has_overflowed());
        quarantine.open();
        assert_eq!(keep(8), Fate::GoesBack);
    }

    /// Of large blocks only the addresses are kept.
    #[test]
    #[cfg(target_os = "linux")]
    fn large_blocks_take_no_memory() {
        let quarantine = Quarantine::default();
        let block = freed(&quarantine, 2 * MOST_BYTES);
        assert!(quarantine.has((block + MOST_BYTES) as u64));
        assert!(!quarantine.has_overflowed());
        assert_eq!(quarantine.bytes.get(), 2 * PAGE);
    }
}
