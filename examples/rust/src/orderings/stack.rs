//! Treiber's stack.

use std::ptr;
use std::sync::atomic::Ordering;

use super::Verdict::Race;
use super::sync::atomic::AtomicPtr;
use super::{Acquire, Plain, Program, Relaxed, Release, Site, all, cell, run};

struct Node {
    item: Plain,
    below: cell::UnsafeCell<*mut Node>,
}

/// The stack. Its nodes live as long as it does, and are pushed once.
struct Stack {
    nodes: Box<[Node; 2]>,
    top: AtomicPtr<Node>,
    orders: [Ordering; 2],
}

// SAFETY: the pointers point to nodes that live as long as the stack, and cells are what the checkers watch.
unsafe impl Send for Stack {}
// SAFETY: as above.
unsafe impl Sync for Stack {}

pub(super) const TREIBER: Program = Program {
    name: "treiber",
    threads: "two threads push an item and pop one",
    sites: &[
        Site::or_relaxed("exchange that pushes", Release, &Race),
        // The exchange that pops may be relaxed: it is in the release sequence of the one that has pushed what is on top then.
        Site::or_relaxed("load of the top", Acquire, &Race),
    ],
    run: |orders| {
        let node = || Node {
            item: Plain::new(0),
            below: cell::UnsafeCell::new(ptr::null_mut()),
        };
        let stack = Stack {
            nodes: Box::new([node(), node()]),
            top: AtomicPtr::new(ptr::null_mut()),
            orders: all(orders),
        };
        let stack = run(stack, &[|stack| stack.use_it(0), |stack| stack.use_it(1)]);
        assert!(stack.pop().is_none());
    },
};

impl Stack {
    fn use_it(&self, node: usize) {
        self.push(node);
        let item = self.pop().expect("there is one for each");
        assert!(item == 1 || item == 2);
    }

    fn push(&self, node: usize) {
        let [push, _] = self.orders;
        let node = &self.nodes[node];
        node.item.add(1);
        let mut top = self.top.load(Relaxed);
        loop {
            // SAFETY: nobody else knows the node yet.
            node.below.with_mut(|below| unsafe { *below = top });
            let new = ptr::from_ref(node).cast_mut();
            match self.top.compare_exchange(top, new, push, Relaxed) {
                Ok(_) => return,
                Err(now) => top = now,
            }
        }
    }

    fn pop(&self) -> Option<u32> {
        let [_, look] = self.orders;
        loop {
            let top = self.top.load(look);
            // SAFETY: nodes live as long as the stack.
            let node = unsafe { top.as_ref() }?;
            // SAFETY: what it points to is a node or null; races are what the checkers look for.
            let below = node.below.with(|below| unsafe { *below });
            let popped = self.top.compare_exchange(top, below, Relaxed, Relaxed);
            if popped.is_ok() {
                node.item.add(1);
                return Some(node.item.get() - 1);
            }
        }
    }
}
