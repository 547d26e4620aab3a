//! The work-stealing deque of Chase and Lev, with room for a fixed number of items: its owner pushes and pops at the
//! bottom, thieves steal from the top.
//!
//! The bug: `pop` looks at the top *before* it takes the bottom item away. A thief that comes in between finds the
//! same item, and both have it.

use raddle::sync::atomic::{AtomicIsize, AtomicU32, Ordering::*};

const ROOM: usize = 4;

/// The deque.
#[derive(Debug, Default)]
pub struct Deque<const BUGGY: bool> {
    /// The oldest item.
    top: AtomicIsize,
    /// Where the next item goes.
    bottom: AtomicIsize,
    items: [AtomicU32; ROOM],
}

/// What came of trying to steal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stolen {
    /// This item.
    Item(u32),
    /// There was nothing to steal.
    Nothing,
    /// Somebody else was faster.
    Retry,
}

impl<const BUGGY: bool> Deque<BUGGY> {
    /// Without items.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    fn slot(&self, index: isize) -> &AtomicU32 {
        &self.items[index as usize % ROOM]
    }

    /// Adds an item at the bottom. Only the owner does.
    ///
    /// # Panics
    ///
    /// If there is no room.
    pub fn push(&self, item: u32) {
        let bottom = self.bottom.load(Relaxed);
        let top = self.top.load(Acquire);
        assert!(bottom - top < ROOM as isize, "the deque is full");
        self.slot(bottom).store(item, Relaxed);
        self.bottom.store(bottom + 1, Release);
    }

    /// Takes the item at the bottom. Only the owner does.
    pub fn pop(&self) -> Option<u32> {
        let bottom = self.bottom.load(Relaxed) - 1;
        let top = if BUGGY {
            let top = self.top.load(SeqCst);
            self.bottom.store(bottom, SeqCst);
            top
        } else {
            self.bottom.store(bottom, SeqCst);
            self.top.load(SeqCst)
        };
        if top > bottom {
            // It was empty before.
            self.bottom.store(bottom + 1, Relaxed);
            return None;
        }
        let item = self.slot(bottom).load(Relaxed);
        if top < bottom {
            return Some(item);
        }
        // It is the last one: a thief may be after it too.
        let mine = self.top.compare_exchange(top, top + 1, SeqCst, Relaxed);
        self.bottom.store(bottom + 1, Relaxed);
        mine.ok().map(|_| item)
    }

    /// Takes the item at the top. Everybody may.
    pub fn steal(&self) -> Stolen {
        let top = self.top.load(SeqCst);
        let bottom = self.bottom.load(SeqCst);
        if top >= bottom {
            return Stolen::Nothing;
        }
        let item = self.slot(top).load(Relaxed);
        match self.top.compare_exchange(top, top + 1, SeqCst, Relaxed) {
            Ok(_) => Stolen::Item(item),
            Err(_) => Stolen::Retry,
        }
    }
}
