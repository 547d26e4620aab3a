//! Whether a panic unwinds a thread is known for each thread by itself, also while other threads unwind.

use std::collections::BTreeSet;
use std::panic::{catch_unwind, panic_any, resume_unwind};

use raddle::sync::atomic::{AtomicU32, Ordering::SeqCst};
use raddle::sync::{Arc, Mutex, RwLock};
use raddle::{Backend, Checker, thread};

/// Makes steps while it is dropped, so that others run in the middle of a panic.
struct Steps(Arc<AtomicU32>);

impl Drop for Steps {
    fn drop(&mut self) {
        self.0.fetch_add(1, SeqCst);
        self.0.fetch_add(1, SeqCst);
    }
}

/// Runs every execution of a body by several explorers, on coroutines and on real threads. Returns what it gave.
fn outcomes<T: Ord + Send + 'static>(body: fn() -> T) -> BTreeSet<T> {
    let mut all: Option<BTreeSet<T>> = None;
    for backend in [Backend::Coroutines, Backend::Threads] {
        for explorer in ["optimal", "iterative"] {
            let seen = std::sync::Arc::new(std::sync::Mutex::new(BTreeSet::new()));
            let inside = seen.clone();
            let report = Checker::new()
                .explorer(explorer)
                .backend(backend)
                .check(move || {
                    let seen = body();
                    inside.lock().unwrap().insert(seen);
                });
            assert!(report.exhausted);
            let seen = std::mem::take(&mut *seen.lock().unwrap());
            match &all {
                Some(all) => assert!(*all == seen, "{backend:?}, {explorer}"),
                None => all = Some(seen),
            }
        }
    }
    assert!(!std::thread::panicking());
    all.unwrap_or_default()
}

/// A thread unwinds, and nobody panics while holding the locks. Returns whether they are poisoned, and whether the main thread ever takes itself for
/// panicking.
fn beside(raise: fn()) -> bool {
    let (mutex, lock) = (Mutex::new(0), RwLock::new(0));
    let number = Arc::new(AtomicU32::new(0));
    let theirs = number.clone();
    let child = thread::spawn(move || {
        let _steps = Steps(theirs);
        raise();
    });
    let guards = (mutex.lock().unwrap(), lock.write().unwrap());
    number.load(SeqCst);
    let mistaken = thread::panicking() || std::thread::panicking();
    drop(guards);
    assert!(child.join().is_err());
    mistaken || mutex.is_poisoned() || lock.is_poisoned()
}

#[test]
fn locks_of_others_are_not_poisoned() {
    assert_eq!(outcomes(|| beside(|| panic!("die"))), [false].into());
    assert_eq!(
        outcomes(|| beside(|| resume_unwind(Box::new("die")))),
        [false].into()
    );
    assert_eq!(outcomes(|| beside(|| panic_any(1))), [false].into());
}

#[test]
fn panics_are_handed_on() {
    let joined = || {
        beside(|| {
            let payload = thread::spawn(|| panic!("die")).join().unwrap_err();
            resume_unwind(payload);
        })
    };
    assert_eq!(outcomes(joined), [false].into());
    let caught = || {
        beside(|| {
            let payload = catch_unwind(|| panic!("die")).unwrap_err();
            resume_unwind(payload);
        })
    };
    assert_eq!(outcomes(caught), [false].into());
    let scoped = || {
        beside(|| {
            thread::scope(|scope| {
                scope.spawn(|| ());
                panic!("die");
            });
        })
    };
    assert_eq!(outcomes(scoped), [false].into());
}

/// Two threads unwind at the same time, one of them with a lock.
fn together(one: fn(), two: fn()) -> (bool, bool) {
    let (mutex, lock) = (Arc::new(Mutex::new(0)), Arc::new(RwLock::new(0)));
    let number = Arc::new(AtomicU32::new(0));
    let (first, second) = (number.clone(), number);
    let (my_mutex, my_lock) = (mutex.clone(), lock.clone());
    let one = thread::spawn(move || {
        let _steps = Steps(first);
        one();
    });
    let two = thread::spawn(move || {
        let _guards = (my_mutex.lock().unwrap(), my_lock.write().unwrap());
        let _steps = Steps(second);
        two();
    });
    assert!(one.join().is_err() && two.join().is_err());
    (mutex.is_poisoned(), lock.is_poisoned())
}

#[test]
fn own_locks_are_poisoned() {
    let poisoned = BTreeSet::from([(true, true)]);
    let resume = || together(|| panic!("die"), || resume_unwind(Box::new("die")));
    assert_eq!(outcomes(resume), poisoned);
    let both = || together(|| resume_unwind(Box::new(1)), || resume_unwind(Box::new(2)));
    assert_eq!(outcomes(both), poisoned);
    let after_another = || {
        together(
            || panic!("die"),
            || {
                let payload = catch_unwind(|| panic!("die")).unwrap_err();
                resume_unwind(payload);
            },
        )
    };
    assert_eq!(outcomes(after_another), poisoned);
}

/// A panic is caught while another thread unwinds, and nobody is mistaken for panicking afterwards.
#[test]
fn a_caught_panic_is_over() {
    fn body(raise: fn()) -> bool {
        let mutex = Mutex::new(0);
        let number = Arc::new(AtomicU32::new(0));
        let theirs = number.clone();
        let child = thread::spawn(move || {
            let _steps = Steps(theirs);
            panic!("die");
        });
        let guard = mutex.lock().unwrap();
        number.load(SeqCst);
        assert!(catch_unwind(raise).is_err());
        let mistaken = thread::panicking();
        drop(guard);
        assert!(child.join().is_err());
        mistaken || mutex.is_poisoned()
    }
    assert_eq!(outcomes(|| body(|| panic!("caught"))), [false].into());
    assert_eq!(
        outcomes(|| body(|| resume_unwind(Box::new("caught")))),
        [false].into()
    );
}

/// A destructor catches a panic of its own in the middle of another one, with steps on the way.
struct Nests(Arc<AtomicU32>, Arc<Mutex<u32>>, Arc<Mutex<u32>>);

impl Drop for Nests {
    fn drop(&mut self) {
        // It was taken while panicking, so it is not poisoned: as in `std`.
        let outer = self.1.lock().unwrap();
        let caught = catch_unwind(std::panic::AssertUnwindSafe(|| {
            let _steps = Steps(self.0.clone());
            let _inner = self.2.lock().unwrap();
            resume_unwind(Box::new("inside"));
        }));
        assert!(caught.is_err() && thread::panicking());
        self.0.fetch_add(1, SeqCst);
        assert!(thread::panicking());
        drop(outer);
    }
}

#[test]
fn panics_are_nested() {
    fn body() -> (bool, bool, bool, bool) {
        let number = Arc::new(AtomicU32::new(0));
        let locks: [_; 3] = std::array::from_fn(|_| Arc::new(Mutex::new(0)));
        let nests = Nests(number.clone(), locks[0].clone(), locks[1].clone());
        let held = locks[2].clone();
        let child = thread::spawn(move || {
            let _held = held.lock().unwrap();
            let _nests = nests;
            panic!("outside");
        });
        let before = number.load(SeqCst);
        let caught = catch_unwind(|| resume_unwind(Box::new(before)));
        let mistaken = caught.is_ok() || thread::panicking();
        assert!(child.join().is_err());
        let [first, second, third] = locks.map(|lock| lock.is_poisoned());
        (mistaken, first, second, third)
    }
    assert_eq!(outcomes(body), [(false, false, false, true)].into());
}

/// An execution is left behind in the middle of a panic, again and again: neither those that come after it nor the checks that do notice.
#[test]
fn what_is_left_behind_does_not_count() {
    for _ in 0..3 {
        let failed = Checker::new().keep_going(true).explorer("dfs").run(|| {
            let mutex = Arc::new(Mutex::new(0));
            let (theirs, number) = (mutex.clone(), Arc::new(AtomicU32::new(0)));
            let other = number.clone();
            thread::spawn(move || {
                let _steps = Steps(other);
                let _ = theirs.lock();
                resume_unwind(Box::new("die"));
            });
            let _one = mutex.lock().unwrap();
            number.load(SeqCst);
            assert!(!thread::panicking());
            let _two = mutex.lock();
        });
        let failed = failed.unwrap_err();
        assert!(failed.found.executions > 1);
        assert!(
            failed
                .found
                .different
                .iter()
                .all(|found| found.failure.kind == raddle::FailureKind::SelfDeadlock),
            "{}",
            failed.text
        );
        assert!(!std::thread::panicking());
    }
}
