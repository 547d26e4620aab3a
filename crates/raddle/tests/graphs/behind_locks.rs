//! Loops that poll what a lock protects, which is in no graph.

use raddle::cell::UnsafeCell;
use raddle::sync::atomic::{AtomicBool, Ordering::*};
use raddle::sync::{Arc, Mutex, RwLock};
use raddle::{Assumed, Checker, FailureKind, Memory, hint, thread};

fn checkers() -> [Checker; 3] {
    [Memory::Sc, Memory::Ra, Memory::Rc11]
        .map(|memory| Checker::new().memory(memory).explorer("graphs"))
}

/// The loop ends in each execution, since somebody makes its condition true.
#[track_caller]
fn ends(body: fn()) {
    for checker in checkers() {
        let report = checker.check(body);
        assert!(report.exhausted, "{:?}", report.assumptions);
    }
}

/// The same of a loop that changes something each time: not all of its iterations are made, and the check says so.
#[track_caller]
fn ends_as_far_as_is_known(body: fn()) {
    for checker in checkers() {
        let report = checker.check(body);
        assert!(!report.exhausted);
        let changes = report.assumptions.find(Assumed::ChangingLoop);
        assert!(changes.is_some(), "{:?}", report.assumptions);
    }
}

/// The threads go round for ever in some execution.
#[track_caller]
fn hangs(body: fn()) {
    for checker in checkers() {
        let failed = checker.run(body).expect_err("a live-lock");
        assert_eq!(
            failed.failure.kind,
            FailureKind::LiveLock,
            "{}",
            failed.text
        );
    }
}

#[test]
fn a_mutex() {
    ends(|| {
        let number = Arc::new(Mutex::new(0));
        let theirs = number.clone();
        let child = thread::spawn(move || *theirs.lock().unwrap() += 1);
        while *number.lock().unwrap() < 1 {
            thread::yield_now();
        }
        child.join().unwrap();
    });
    hangs(|| {
        let number = Arc::new(Mutex::new(0));
        let theirs = number.clone();
        let child = thread::spawn(move || *theirs.lock().unwrap() += 1);
        while *number.lock().unwrap() < 2 {
            thread::yield_now();
        }
        child.join().unwrap();
    });
}

#[test]
fn a_mutex_that_is_tried() {
    ends_as_far_as_is_known(|| {
        let number = Arc::new(Mutex::new(0));
        let theirs = number.clone();
        let child = thread::spawn(move || *theirs.lock().unwrap() += 1);
        while number.try_lock().is_ok_and(|number| *number < 1) {
            thread::yield_now();
        }
        child.join().unwrap();
    });
}

#[test]
fn a_lock_for_readers() {
    ends(|| {
        let number = Arc::new(RwLock::new(0));
        let theirs = number.clone();
        let child = thread::spawn(move || *theirs.write().unwrap() += 1);
        while *number.read().unwrap() < 1 {
            thread::yield_now();
        }
        child.join().unwrap();
    });
}

/// A lock that the program has made itself, of an atomic and a cell.
struct Spinlock {
    is_held: AtomicBool,
    number: UnsafeCell<u32>,
}

// SAFETY: the number is only touched by who holds the lock.
unsafe impl Sync for Spinlock {}

impl Spinlock {
    fn shared() -> Arc<Self> {
        Arc::new(Self {
            is_held: AtomicBool::new(false),
            number: UnsafeCell::new(0),
        })
    }

    fn with<R>(&self, body: impl FnOnce(&mut u32) -> R) -> R {
        while self.is_held.swap(true, Acquire) {
            hint::spin_loop();
        }
        // SAFETY: the lock is held.
        let found = self.number.with_mut(|number| body(unsafe { &mut *number }));
        self.is_held.store(false, Release);
        found
    }
}

#[test]
fn a_lock_of_the_program_s_own() {
    ends_as_far_as_is_known(|| {
        let lock = Spinlock::shared();
        let theirs = lock.clone();
        let child = thread::spawn(move || theirs.with(|number| *number += 1));
        while lock.with(|number| *number < 1) {
            thread::yield_now();
        }
        child.join().unwrap();
    });
}

/// Two threads wait for each other, behind one lock.
#[test]
fn two_that_poll() {
    ends(|| {
        let turn = Arc::new(Mutex::new(0));
        let theirs = turn.clone();
        let child = thread::spawn(move || {
            while *theirs.lock().unwrap() != 1 {
                thread::yield_now();
            }
            *theirs.lock().unwrap() = 2;
        });
        *turn.lock().unwrap() = 1;
        while *turn.lock().unwrap() != 2 {
            thread::yield_now();
        }
        child.join().unwrap();
    });
    hangs(|| {
        let turn = Arc::new(Mutex::new(0));
        let theirs = turn.clone();
        let child = thread::spawn(move || {
            while *theirs.lock().unwrap() != 1 {
                thread::yield_now();
            }
        });
        while *turn.lock().unwrap() != 2 {
            thread::yield_now();
        }
        child.join().unwrap();
    });
}
