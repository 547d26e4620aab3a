//! Programs that are not determined by what they read.

use std::collections::HashSet;
use std::sync::atomic::{AtomicU32 as Plain, Ordering as PlainOrdering};

use raddle::sync::Arc;
use raddle::sync::atomic::{AtomicPtr, AtomicU32, Ordering::*};
use raddle::{Checker, FailureKind, Memory, thread};

fn checkers() -> [Checker; 3] {
    [
        Checker::new(),
        Checker::new().memory(Memory::Sc).explorer("graphs"),
        Checker::new().memory(Memory::Rc11),
    ]
}

#[track_caller]
fn is_noticed(body: impl Fn() + Send + Sync + Clone + 'static) {
    for checker in checkers() {
        let failed = checker.run(body.clone()).expect_err("it is not determined");
        let failure = &failed.failure;
        assert_eq!(failure.kind, FailureKind::Diverged, "{}", failed.text);
    }
}

/// The value that is written is another one each time, which changes nothing about the shape of the graph.
#[test]
fn a_value_that_changes_is_noticed() {
    is_noticed(|| {
        static RUNS: Plain = Plain::new(0);
        let shared = Arc::new(AtomicU32::new(0));
        let theirs = shared.clone();
        let child = thread::spawn(move || theirs.load(Relaxed));
        shared.store(RUNS.fetch_add(1, PlainOrdering::Relaxed), Relaxed);
        child.join().unwrap();
    });
}

/// There is one execution only.
#[test]
fn the_order_of_a_hash_set_is_noticed() {
    is_noticed(|| {
        let last = AtomicU32::new(0);
        for number in HashSet::from([1, 2, 3, 4, 5, 6]) {
            last.store(number, Relaxed);
        }
    });
}

/// Where something is on the heap may differ.
#[test]
fn addresses_may_differ() {
    for checker in checkers() {
        let report = checker.check(|| {
            let shared = Arc::new(AtomicPtr::new(std::ptr::null_mut::<u8>()));
            let theirs = shared.clone();
            let child = thread::spawn(move || {
                let new = Box::into_raw(Box::new(1));
                theirs.store(new, Release);
            });
            let found = shared.load(Acquire);
            child.join().unwrap();
            let last = shared.load(Relaxed);
            assert!(found.is_null() || found == last);
            // SAFETY: nobody else has it.
            drop(unsafe { Box::from_raw(last) });
        });
        assert!(report.complete || report.exhausted);
    }
}

/// The last store overwrites one of the others, which are in two orders with the same steps.
#[test]
fn what_a_store_overwrites_may_differ() {
    for checker in checkers() {
        let report = checker.check(|| {
            let shared = Arc::new(AtomicU32::new(0));
            let others = [1, 2].map(|value| {
                let shared = shared.clone();
                thread::spawn(move || shared.store(value, Relaxed))
            });
            for other in others {
                other.join().unwrap();
            }
            shared.store(3, Relaxed);
        });
        assert!(report.exhausted, "{:?}", report.assumptions);
    }
}
