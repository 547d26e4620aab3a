//! The bounded queue of Vyukov, for many producers and many consumers: each slot says by a sequence number whose turn
//! it is.
//!
//! The bug: a consumer leaves a slot to the next position instead of the one a round later. When the queue comes
//! round, producers wait for a turn that never comes.

use raddle::cell::UnsafeCell;
use raddle::sync::atomic::{AtomicUsize, Ordering::*};

/// How many items there may be.
const ROOM: usize = 2;

#[derive(Debug)]
struct Slot {
    /// The position of the producer, or one more than that of the consumer, whose turn it is.
    turn: AtomicUsize,
    item: UnsafeCell<u32>,
}

/// The queue.
#[derive(Debug)]
pub struct BoundedQueue<const BUGGY: bool> {
    slots: [Slot; ROOM],
    /// The next producer's position.
    tail: AtomicUsize,
    /// The next consumer's position.
    head: AtomicUsize,
}

// SAFETY: a slot is used by the one whose turn it is.
unsafe impl<const BUGGY: bool> Sync for BoundedQueue<BUGGY> {}

impl<const BUGGY: bool> BoundedQueue<BUGGY> {
    /// Without items.
    #[must_use]
    pub fn new() -> Self {
        Self {
            slots: std::array::from_fn(|index| Slot {
                turn: AtomicUsize::new(index),
                item: UnsafeCell::new(0),
            }),
            tail: AtomicUsize::new(0),
            head: AtomicUsize::new(0),
        }
    }

    /// Adds an item; waits for room.
    pub fn push(&self, item: u32) {
        while !self.try_push(item) {
            raddle::hint::spin_loop();
        }
    }

    /// Takes the oldest item; waits for one.
    pub fn pop(&self) -> u32 {
        loop {
            if let Some(item) = self.try_pop() {
                return item;
            }
            raddle::hint::spin_loop();
        }
    }

    /// Adds an item, if there is room.
    #[must_use]
    pub fn try_push(&self, item: u32) -> bool {
        let Some((slot, position)) = self.claim(&self.tail, 0) else {
            return false;
        };
        // SAFETY: it is this producer's turn.
        slot.item.with_mut(|place| unsafe { *place = item });
        slot.turn.store(position + 1, Release);
        true
    }

    /// Takes the oldest item, if there is one.
    pub fn try_pop(&self) -> Option<u32> {
        let (slot, position) = self.claim(&self.head, 1)?;
        // SAFETY: it is this consumer's turn.
        let item = slot.item.with(|place| unsafe { *place });
        let next = if BUGGY { position + 1 } else { position + ROOM };
        slot.turn.store(next, Release);
        Some(item)
    }

    /// Takes the next position, if the slot there says `ahead` more than that.
    fn claim(&self, next: &AtomicUsize, ahead: usize) -> Option<(&Slot, usize)> {
        let mut position = next.load(Relaxed);
        loop {
            let slot = &self.slots[position % ROOM];
            let turn = slot.turn.load(Acquire);
            if turn < position + ahead {
                return None;
            }
            if turn > position + ahead {
                // Somebody else has it already.
                position = next.load(Relaxed);
                continue;
            }
            match next.compare_exchange_weak(position, position + 1, Relaxed, Relaxed) {
                Ok(_) => return Some((slot, position)),
                Err(now) => position = now,
            }
        }
    }
}

impl<const BUGGY: bool> Default for BoundedQueue<BUGGY> {
    fn default() -> Self {
        Self::new()
    }
}
