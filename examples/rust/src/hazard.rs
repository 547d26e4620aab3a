//! Hazard pointers: a reader says which node it is going to look at, and a writer that has replaced a node frees it
//! only when no reader has said so.
//!
//! The bug: a reader does not look again whether the node is still there after having said that it needs it. A
//! writer that replaced it before that frees it under the reader's hands.
//!
//! A node that is freed is overwritten here, and given back to the allocator with the structure: so that reading it
//! is a data race, and not the end of the test.

use std::ptr;

use raddle::cell::UnsafeCell;
use raddle::sync::Mutex;
use raddle::sync::atomic::{AtomicPtr, Ordering::*};

/// How many readers there may be.
pub const READERS: usize = 2;

struct Node(UnsafeCell<u32>);

impl Node {
    fn boxed(value: u32) -> *mut Self {
        Box::into_raw(Box::new(Self(UnsafeCell::new(value))))
    }
}

/// A value that is replaced as a whole.
pub struct Shared<const BUGGY: bool> {
    current: AtomicPtr<Node>,
    hazards: [AtomicPtr<Node>; READERS],
    old: Mutex<Old>,
}

/// Nodes that were replaced.
#[derive(Default)]
struct Old {
    /// Some reader may need them.
    retired: Vec<*mut Node>,
    /// Nobody does.
    freed: Vec<*mut Node>,
}

// SAFETY: nodes are reached through atomics, or with a lock.
unsafe impl<const BUGGY: bool> Send for Shared<BUGGY> {}
// SAFETY: as above.
unsafe impl<const BUGGY: bool> Sync for Shared<BUGGY> {}

impl<const BUGGY: bool> Shared<BUGGY> {
    /// With this value.
    #[must_use]
    pub fn new(value: u32) -> Self {
        Self {
            current: AtomicPtr::new(Node::boxed(value)),
            hazards: std::array::from_fn(|_| AtomicPtr::default()),
            old: Mutex::default(),
        }
    }

    /// The value. Each reader has its own number.
    pub fn read(&self, reader: usize) -> u32 {
        let hazard = &self.hazards[reader];
        let mut node = self.current.load(SeqCst);
        loop {
            hazard.store(node, SeqCst);
            let now = if BUGGY {
                node
            } else {
                self.current.load(SeqCst)
            };
            if now == node {
                break;
            }
            node = now;
        }
        // SAFETY: nobody frees the node as long as the hazard says that it is needed.
        let value = unsafe { (*node).0.with(|value| *value) };
        hazard.store(ptr::null_mut(), Release);
        value
    }

    /// Replaces the value, and frees what can be freed.
    pub fn write(&self, value: u32) {
        let mut old = self.old.lock().unwrap();
        let replaced = self.current.swap(Node::boxed(value), SeqCst);
        old.retired.push(replaced);
        let needed = self.hazards.each_ref().map(|hazard| hazard.load(SeqCst));
        let Old { retired, freed } = &mut *old;
        for node in retired.extract_if(.., |node| !needed.contains(node)) {
            // SAFETY: it is not the current one, and nobody has said that he needs it.
            unsafe { (*node).0.with_mut(|value| *value = u32::MAX) };
            freed.push(node);
        }
    }

    /// How many nodes were freed.
    pub fn freed(&self) -> usize {
        self.old.lock().unwrap().freed.len()
    }
}

impl<const BUGGY: bool> Drop for Shared<BUGGY> {
    fn drop(&mut self) {
        let old = std::mem::take(
            self.old
                .get_mut()
                .unwrap_or_else(|error| error.into_inner()),
        );
        let current = *self.current.get_mut();
        for node in old.retired.into_iter().chain(old.freed).chain([current]) {
            // SAFETY: nobody else has the structure, and each node is in one place.
            drop(unsafe { Box::from_raw(node) });
        }
    }
}
