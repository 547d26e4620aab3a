//! Programs whose atomics are all `SeqCst`, or that have none, and that are not sequentially consistent: what the library finds without acquiring it.

use raddle::sync::atomic::{AtomicU32, Ordering::SeqCst};
use raddle::sync::{Arc, Mutex};
use raddle::{Checker, FailureKind, thread};

#[track_caller]
fn fails(body: fn()) {
    let failed = Checker::new().run(body).expect_err("RC11 has a failure");
    assert_eq!(failed.failure.kind, FailureKind::Panic, "{}", failed.text);
}

/// How many references there are is read without acquiring what those did that are gone.
#[test]
fn a_count_of_references() {
    fails(|| {
        let number = Arc::new(AtomicU32::new(0));
        let theirs = number.clone();
        let counted = Arc::new(());
        let other = counted.clone();
        let child = thread::spawn(move || {
            theirs.store(1, SeqCst);
            drop(other);
        });
        if Arc::strong_count(&counted) == 1 {
            assert_eq!(number.load(SeqCst), 1);
        }
        child.join().unwrap();
    });
}

/// That a lock is held says nothing about what its holder did before.
#[test]
fn a_lock_that_is_tried_in_vain() {
    fails(|| {
        let locks = Arc::new([Mutex::new(()), Mutex::new(())]);
        let theirs = locks.clone();
        let child = thread::spawn(move || {
            let _first = theirs[0].lock().unwrap();
            drop(theirs[1].lock().unwrap());
        });
        if locks[1].try_lock().is_err() {
            assert!(locks[0].try_lock().is_err());
        }
        child.join().unwrap();
    });
}

/// Locks that are taken and given back, and `SeqCst` atomics, leave nothing to ask.
#[test]
fn locks_and_strong_atomics_alone_are_sequentially_consistent() {
    let report = Checker::new().check(|| {
        let shared = Arc::new((Mutex::new(0), AtomicU32::new(0)));
        let theirs = shared.clone();
        let child = thread::spawn(move || {
            *theirs.0.lock().unwrap() += 1;
            theirs.1.store(1, SeqCst);
        });
        *shared.0.lock().unwrap() += 1;
        shared.1.load(SeqCst);
        child.join().unwrap();
    });
    assert!(report.complete);
    assert_eq!(report.assumptions.iter().count(), 0);
}
