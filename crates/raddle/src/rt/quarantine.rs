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

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

use raddle_outcome::Kind;
use raddle_schedule::{LocationId, ValuedAccess};

use super::deeds::LEAST_ADDRESS;
use super::hash::Table;
use super::objects::Kind as ObjectKind;
use super::state::State;
use super::{Place, fiber};

/// How much memory an execution may have in quarantine. What it frees beyond that goes back at once.
const MOST_BYTES: usize = 256 << 20;

/// The allocator of programs that use this crate with its feature `allocator`.
struct Quarantining;

#[cfg(feature = "allocator")]
#[global_allocator]
static ALLOCATOR: Quarantining = Quarantining;

// SAFETY: memory comes from the allocator of the system and goes back there, with the layout that it came with; what is in
// quarantine belongs to nobody in between.
unsafe impl GlobalAlloc for Quarantining {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: who runs code under test keeps its runtime.
        let kept = unsafe { fiber::current().as_ref() }
            .is_some_and(|runtime| runtime.quarantine.keep(block, layout));
        if !kept {
            // SAFETY: the caller's promise.
            unsafe { System.dealloc(block, layout) };
        }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if fiber::current().is_null() {
            // SAFETY: the caller's promise.
            return unsafe { System.realloc(block, layout, size) };
        }
        // SAFETY: the caller promises that the size is possible with this alignment, and that the block has this layout.
        unsafe {
            let new = self.alloc(Layout::from_size_align_unchecked(size, layout.align()));
            if !new.is_null() {
                new.copy_from_nonoverlapping(block, layout.size().min(size));
                self.dealloc(block, layout);
            }
            new
        }
    }
}

/// What was freed.
#[derive(Clone, Copy)]
struct Block {
    start: *mut u8,
    layout: Layout,
}

/// What an execution has freed. It allocates nothing by the allocator that it is part of.
#[derive(Default)]
pub(super) struct Quarantine {
    blocks: Cell<Option<*mut Block>>,
    count: Cell<usize>,
    room: Cell<usize>,
    bytes: Cell<usize>,
    /// Whether nothing is kept from now on.
    is_open: Cell<bool>,
    /// Whether something was freed for which there was no room.
    has_overflowed: Cell<bool>,
    /// The first of the blocks, by their addresses; made when somebody asks.
    known: RefCell<BTreeMap<usize, usize>>,
}

impl Quarantine {
    /// Keeps a block. Returns whether it does.
    #[inline]
    fn keep(&self, start: *mut u8, layout: Layout) -> bool {
        let bytes = self.bytes.get().saturating_add(layout.size());
        if self.is_open.get() {
            return false;
        }
        if bytes > MOST_BYTES {
            self.has_overflowed.set(true);
            return false;
        }
        let Some(blocks) = self.make_room() else {
            return false;
        };
        let count = self.count.get();
        // SAFETY: there is room for more blocks than there are.
        unsafe { blocks.add(count).write(Block { start, layout }) };
        self.count.set(count + 1);
        self.bytes.set(bytes);
        true
    }

    /// Where the blocks are, with room for another one.
    fn make_room(&self) -> Option<*mut Block> {
        let room = self.room.get();
        if self.count.get() < room {
            return self.blocks.get();
        }
        let more = (2 * room).max(256);
        let layout = Layout::array::<Block>(more).ok()?;
        let blocks = match self.blocks.get() {
            // SAFETY: the size is not 0.
            None => unsafe { System.alloc(layout) },
            // SAFETY: that is how it was allocated.
            Some(old) => unsafe {
                let before = Layout::array::<Block>(room).ok()?;
                System.realloc(old.cast(), before, layout.size())
            },
        };
        if blocks.is_null() {
            return None;
        }
        self.blocks.set(Some(blocks.cast()));
        self.room.set(more);
        self.blocks.get()
    }

    fn block(&self, index: usize) -> Option<Block> {
        let blocks = self.blocks.get().filter(|_| index < self.count.get())?;
        // SAFETY: that many blocks were written.
        Some(unsafe { blocks.add(index).read() })
    }

    /// Whether an address is in something that was freed. Pointers may have flags in their lowest bits.
    pub(super) fn has(&self, address: u64) -> bool {
        if self.count.get() == 0 {
            return false;
        }
        let Ok(address) = usize::try_from(address) else {
            return false;
        };
        let mut known = self.known.borrow_mut();
        while let Some(block) = self.block(known.len()) {
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
        while let Some(block) = self.block(index) {
            // SAFETY: it was allocated like this, and who freed it has given it up.
            unsafe { System.dealloc(block.start, block.layout) };
            index += 1;
        }
        self.count.set(0);
        self.bytes.set(0);
        self.is_open.set(false);
    }
}

impl Drop for Quarantine {
    fn drop(&mut self) {
        self.release();
        if let Some(blocks) = self.blocks.get()
            && let Ok(layout) = Layout::array::<Block>(self.room.get())
        {
            // SAFETY: it was allocated like this.
            unsafe { System.dealloc(blocks.cast(), layout) };
        }
    }
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
    use super::*;

    fn freed(quarantine: &Quarantine, size: usize) -> usize {
        let layout = Layout::from_size_align(size, 8).expect("a layout");
        // SAFETY: the size is not 0, and the block is not used again.
        let block = unsafe { System.alloc(layout) };
        assert!(quarantine.keep(block, layout));
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
        let layout = Layout::from_size_align(MOST_BYTES + 1, 8).expect("a layout");
        assert!(!quarantine.keep(std::ptr::null_mut(), layout));
        assert!(quarantine.has_overflowed());
        assert!(!quarantine.has_overflowed());
        quarantine.open();
        let layout = Layout::new::<u64>();
        assert!(!quarantine.keep(std::ptr::null_mut(), layout));
    }
}
