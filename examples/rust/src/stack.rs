//! Treiber's stack: a list of nodes of which the first one is exchanged.
//!
//! The bug: who has popped a node frees it at once. Another thread may have found the same node at the head, and is about to read which one comes after it. The correct
//! stack keeps the nodes that were popped until nobody is popping any more.

use std::ptr;

use raddle::cell::UnsafeCell;
use raddle::sync::atomic::{AtomicPtr, AtomicUsize, Ordering::*};

struct Node {
    value: UnsafeCell<u32>,
    next: AtomicPtr<Node>,
}

/// A stack of numbers.
pub struct Stack<const BUGGY: bool> {
    head: AtomicPtr<Node>,
    /// Nodes that were popped.
    popped: AtomicPtr<Node>,
    /// How many threads are popping.
    popping: AtomicUsize,
}

// SAFETY: nodes are reached through atomics, and the value of one belongs to who has pushed it, and then to who has popped it.
unsafe impl<const BUGGY: bool> Send for Stack<BUGGY> {}
// SAFETY: as above.
unsafe impl<const BUGGY: bool> Sync for Stack<BUGGY> {}

/// Adds a node to a list.
fn push(list: &AtomicPtr<Node>, node: *mut Node) {
    let mut next = list.load(Relaxed);
    loop {
        // SAFETY: the node belongs to the caller.
        unsafe { (*node).next.store(next, Relaxed) };
        match list.compare_exchange(next, node, Release, Relaxed) {
            Ok(_) => return,
            Err(now) => next = now,
        }
    }
}

/// Frees a list that nobody else has.
fn free(mut node: *mut Node) {
    while !node.is_null() {
        // SAFETY: it comes from a box.
        let mut owned = unsafe { Box::from_raw(node) };
        node = *owned.next.get_mut();
    }
}

impl<const BUGGY: bool> Default for Stack<BUGGY> {
    fn default() -> Self {
        Self::new()
    }
}

impl<const BUGGY: bool> Stack<BUGGY> {
    /// An empty one.
    #[must_use]
    pub fn new() -> Self {
        Self {
            head: AtomicPtr::default(),
            popped: AtomicPtr::default(),
            popping: AtomicUsize::new(0),
        }
    }

    /// Puts a number on top.
    pub fn push(&self, value: u32) {
        let node = Box::new(Node {
            value: UnsafeCell::new(value),
            next: AtomicPtr::default(),
        });
        push(&self.head, Box::into_raw(node));
    }

    /// Takes the number on top.
    pub fn pop(&self) -> Option<u32> {
        if !BUGGY {
            self.popping.fetch_add(1, SeqCst);
        }
        let mut node = self.head.load(Acquire);
        let popped = loop {
            if node.is_null() {
                break None;
            }
            // SAFETY: the node is not freed while this thread is popping, unless there is the bug.
            let next = unsafe { (*node).next.load(Relaxed) };
            match self.head.compare_exchange(node, next, AcqRel, Acquire) {
                // SAFETY: who has taken the node away has its value alone.
                Ok(_) => break Some(unsafe { (*node).value.with(|value| *value) }),
                Err(now) => node = now,
            }
        };
        if BUGGY {
            if popped.is_some() {
                // SAFETY: it comes from a box. (But others may be reading it.)
                drop(unsafe { Box::from_raw(node) });
            }
        } else {
            if popped.is_some() {
                push(&self.popped, node);
            }
            self.leave();
        }
        popped
    }

    /// A thread has popped. The last one frees what was popped until then.
    fn leave(&self) {
        let old = self.popped.swap(ptr::null_mut(), SeqCst);
        if self.popping.fetch_sub(1, SeqCst) == 1 {
            // Whoever comes now does not find these nodes any more.
            free(old);
            return;
        }
        // Others may have them in their hands: back to the list, one by one.
        let mut node = old;
        while !node.is_null() {
            // SAFETY: the nodes of this list belong to this thread now.
            let next = unsafe { (*node).next.load(Relaxed) };
            push(&self.popped, node);
            node = next;
        }
    }
}

impl<const BUGGY: bool> Drop for Stack<BUGGY> {
    fn drop(&mut self) {
        free(*self.head.get_mut());
        free(*self.popped.get_mut());
    }
}
