//! Plain loads of atomics, which loom's `unsync_load` is: no atomic access, so a store that nothing orders with one races with it.

use raddle::sync::Arc;
use raddle::sync::atomic::{AtomicU32, Ordering::*};
use raddle::{Checker, FailureKind, Memory, thread};

/// Whichever of the two comes first.
#[test]
fn a_plain_load_races_with_a_store() {
    for memory in [Memory::Sc, Memory::Rc11] {
        for stores_first in [true, false] {
            let checker = Checker::new().memory(memory).explorer("graphs");
            let failed = checker.run(move || {
                let one = Arc::new((AtomicU32::new(0), AtomicU32::new(0)));
                let two = one.clone();
                let child = thread::spawn(move || {
                    if stores_first || two.1.load(Relaxed) == 1 {
                        two.0.store(1, Release);
                        two.1.store(2, Relaxed);
                    }
                });
                if !stores_first || one.1.load(Relaxed) == 2 {
                    one.0.plain_load();
                    one.1.store(1, Relaxed);
                }
                child.join().unwrap();
            });
            let failed = failed.expect_err("a race");
            assert_eq!(failed.failure.kind, FailureKind::DataRace);
        }
    }
}

#[test]
fn a_plain_load_that_is_ordered_reads_what_is_there() {
    for memory in [Memory::Sc, Memory::Rc11] {
        let report = Checker::new()
            .memory(memory)
            .explorer("graphs")
            .check(move || {
                let one = Arc::new((AtomicU32::new(0), AtomicU32::new(0)));
                let two = one.clone();
                assert_eq!(one.0.plain_load(), 0);
                let child = thread::spawn(move || {
                    two.0.store(1, Relaxed);
                    two.1.store(1, Release);
                });
                if one.1.load(Acquire) == 1 {
                    assert_eq!(one.0.plain_load(), 1);
                }
                child.join().unwrap();
                assert_eq!(one.0.plain_load(), 1);
            });
        assert!(report.exhausted);
    }
}
