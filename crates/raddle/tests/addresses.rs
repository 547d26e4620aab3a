//! Whether memory is allocated again where it was freed must not decide what a check does.

use std::ptr::null_mut;

use raddle::sync::Arc;
use raddle::sync::atomic::{AtomicPtr, AtomicUsize, Ordering::SeqCst};
use raddle::{Assumed, Checker, thread};

struct Node {
    next: *mut Node,
}

/// Treiber's stack. What is popped is freed at once, though another thread may be about to compare with its address.
struct Stack {
    head: AtomicPtr<Node>,
}

impl Stack {
    fn push(&self) {
        let node = Box::into_raw(Box::new(Node { next: null_mut() }));
        loop {
            let head = self.head.load(SeqCst);
            // SAFETY: nobody else knows the node yet.
            unsafe { (*node).next = head };
            if self
                .head
                .compare_exchange(head, node, SeqCst, SeqCst)
                .is_ok()
            {
                return;
            }
        }
    }

    /// Takes all nodes, which keeps the stack itself free of the ABA problem.
    fn pop_all(&self) -> usize {
        let mut node = self.head.swap(null_mut(), SeqCst);
        let mut count = 0;
        while !node.is_null() {
            // SAFETY: they belong to who took them.
            let owned = unsafe { Box::from_raw(node) };
            node = owned.next;
            count += 1;
        }
        count
    }
}

fn push_and_pop_all() {
    let stack = Arc::new(Stack {
        head: AtomicPtr::new(null_mut()),
    });
    let popped = Arc::new(AtomicUsize::new(0));
    let children: Vec<_> = (0..2)
        .map(|_| {
            let (stack, popped) = (stack.clone(), popped.clone());
            thread::spawn(move || {
                stack.push();
                popped.fetch_add(stack.pop_all(), SeqCst);
                stack.push();
            })
        })
        .collect();
    for child in children {
        child.join().unwrap();
    }
    assert_eq!(popped.load(SeqCst) + stack.pop_all(), 4);
}

/// A push compares with the address of a node that may have been freed, and the next node may get that address. Without a quarantine it
/// depended on earlier executions whether it did, and this correct program failed as one that is not determined.
#[test]
fn freed_memory_does_not_come_back_within_an_execution() {
    for explorer in ["optimal", "dfs"] {
        // Other allocations in between, so that the heap is not always the same.
        let kept = std::sync::Mutex::new(Vec::new());
        let executions = std::sync::atomic::AtomicUsize::new(0);
        let report = Checker::new()
            .explorer(explorer)
            .max_executions(3_000)
            .run(move || {
                let number = executions.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                if number.is_multiple_of(3) {
                    kept.lock().unwrap().push(Box::new([0u64; 2]));
                }
                push_and_pop_all();
            });
        assert!(report.is_ok(), "{explorer}: {report:?}");
    }
}

/// What is not explored because of the quarantine is said.
#[test]
fn a_stale_address_that_is_compared_is_an_assumption() {
    let report = Checker::new().check(push_and_pop_all);
    assert!(!report.complete);
    assert!(report.exhausted);
    let place = report
        .assumptions
        .find(Assumed::ReusedMemory)
        .and_then(|one| one.place.as_ref());
    assert!(place.is_some_and(|place| place.file().ends_with("addresses.rs")));
}

/// Freed memory alone is no reason to doubt.
#[test]
fn memory_that_nobody_compares_is_no_assumption() {
    let report = Checker::new().check(|| {
        let value = Arc::new(AtomicUsize::new(0));
        let other = value.clone();
        let child = thread::spawn(move || {
            let boxed = Box::new(1);
            other.fetch_add(*boxed, SeqCst);
        });
        let _ = value.compare_exchange(0, 5, SeqCst, SeqCst);
        child.join().unwrap();
    });
    assert!(report.complete, "{report:?}");
}

/// A loop that allocates in each iteration is still seen to repeat.
#[test]
fn a_polling_loop_may_allocate() {
    let report = Checker::new().check(|| {
        let flag = Arc::new(AtomicUsize::new(0));
        let other = flag.clone();
        let child = thread::spawn(move || other.store(1, SeqCst));
        loop {
            let seen = Box::new([flag.load(SeqCst); 3]);
            if seen[2] == 1 {
                break;
            }
            thread::yield_now();
        }
        child.join().unwrap();
    });
    assert!(report.executions <= 16, "{report:?}");
}
