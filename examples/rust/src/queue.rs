//! The queue of Michael and Scott: a list of nodes that threads append to and take from without locks.
//!
//! The bug: a node is linked with `Relaxed` instead of `Release`. Who finds it need not see what is in it: the publication of the node is not
//! synchronised.
//!
//! Nodes are freed with the queue, not before: see [`hazard`](crate::hazard) for how that can be had earlier.

use std::ptr;

use raddle::cell::UnsafeCell;
use raddle::sync::atomic::{AtomicPtr, Ordering, Ordering::*};

struct Node {
    item: UnsafeCell<u32>,
    next: AtomicPtr<Node>,
}

impl Node {
    fn boxed(item: u32) -> *mut Self {
        let node = Self {
            item: UnsafeCell::new(0),
            next: AtomicPtr::default(),
        };
        // SAFETY: nobody else knows the node yet. (What a cell is made with is not watched; this is.)
        node.item.with_mut(|place| unsafe { *place = item });
        Box::into_raw(Box::new(node))
    }
}

/// The queue.
#[derive(Debug)]
pub struct Queue<const BUGGY: bool> {
    /// The first node that there ever was.
    first: *mut Node,
    /// The node whose item was taken last; the next one has the oldest.
    head: AtomicPtr<Node>,
    /// The last node, or one that was not long ago.
    tail: AtomicPtr<Node>,
}

// SAFETY: nodes are reached through atomics, and live as long as the queue.
unsafe impl<const BUGGY: bool> Send for Queue<BUGGY> {}
// SAFETY: as above.
unsafe impl<const BUGGY: bool> Sync for Queue<BUGGY> {}

impl<const BUGGY: bool> Queue<BUGGY> {
    const LINK: Ordering = if BUGGY { Relaxed } else { Release };

    /// Without items.
    #[must_use]
    pub fn new() -> Self {
        let first = Node::boxed(0);
        Self {
            first,
            head: AtomicPtr::new(first),
            tail: AtomicPtr::new(first),
        }
    }

    /// Adds an item.
    pub fn push(&self, item: u32) {
        let node = Node::boxed(item);
        loop {
            let tail = self.tail.load(Acquire);
            // SAFETY: nodes live as long as the queue.
            let next = unsafe { &(*tail).next };
            match next.compare_exchange(ptr::null_mut(), node, Self::LINK, Acquire) {
                Ok(_) => {
                    // If this fails, somebody has helped.
                    let _ = self.tail.compare_exchange(tail, node, Release, Relaxed);
                    return;
                }
                Err(further) => {
                    let _ = self.tail.compare_exchange(tail, further, Release, Relaxed);
                }
            }
        }
    }

    /// Takes the oldest item.
    pub fn pop(&self) -> Option<u32> {
        loop {
            let head = self.head.load(Acquire);
            let tail = self.tail.load(Acquire);
            // SAFETY: nodes live as long as the queue.
            let next = unsafe { (*head).next.load(Acquire) };
            if next.is_null() {
                return None;
            }
            if head == tail {
                let _ = self.tail.compare_exchange(tail, next, Release, Relaxed);
            }
            if self
                .head
                .compare_exchange(head, next, AcqRel, Acquire)
                .is_ok()
            {
                // SAFETY: the node lives, and only who has moved the head to it looks at its item.
                return Some(unsafe { (*next).item.with(|item| *item) });
            }
        }
    }
}

impl<const BUGGY: bool> Default for Queue<BUGGY> {
    fn default() -> Self {
        Self::new()
    }
}

impl<const BUGGY: bool> Drop for Queue<BUGGY> {
    fn drop(&mut self) {
        let mut node = self.first;
        while !node.is_null() {
            // SAFETY: nobody else has the queue, and each node is in the list once.
            let mut boxed = unsafe { Box::from_raw(node) };
            node = *boxed.next.get_mut();
        }
    }
}
