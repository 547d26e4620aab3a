//! What the structures of the examples have found.

use raddle::sync::Arc;
use raddle::sync::atomic::{AtomicU32, Ordering::SeqCst};
use raddle::{Checker, FailureKind, thread};

#[test]
fn two_threads_that_spin_for_ever_are_a_live_lock() {
    let failed = Checker::new()
        .run(|| {
            let flag = Arc::new(AtomicU32::new(0));
            let theirs = flag.clone();
            let child = thread::spawn(move || {
                while theirs.load(SeqCst) != 2 {
                    thread::yield_now();
                }
            });
            while flag.load(SeqCst) != 1 {
                thread::yield_now();
            }
            child.join().unwrap();
        })
        .unwrap_err();
    assert_eq!(failed.failure.kind, FailureKind::LiveLock);
}

/// A lock-free stack whose nodes are boxes: the addresses are not the same in each execution.
fn stack(threads: u32) {
    use raddle::sync::atomic::AtomicPtr;
    struct Node {
        next: *mut Node,
    }
    let top = Arc::new(AtomicPtr::<Node>::default());
    let pushers: Vec<_> = (0..threads)
        .map(|_| {
            let top = top.clone();
            thread::spawn(move || {
                let node = Box::into_raw(Box::new(Node {
                    next: std::ptr::null_mut(),
                }));
                loop {
                    let old = top.load(SeqCst);
                    // SAFETY: nobody else knows the node yet.
                    unsafe { (*node).next = old };
                    if top.compare_exchange(old, node, SeqCst, SeqCst).is_ok() {
                        break;
                    }
                }
            })
        })
        .collect();
    for pusher in pushers {
        pusher.join().unwrap();
    }
    let mut node = top.load(SeqCst);
    while !node.is_null() {
        // SAFETY: each node is in the stack once, and all threads have ended.
        node = unsafe { Box::from_raw(node) }.next;
    }
}

#[test]
fn addresses_do_not_make_executions_differ() {
    for (threads, classes) in [(2, 4), (3, 60)] {
        for explorer in ["optimal", "iterative"] {
            let checker = Checker::new().explorer(explorer).count_classes(true);
            let report = checker.check(move || stack(threads));
            assert_eq!((report.classes, report.complete), (Some(classes), true));
        }
    }
}
