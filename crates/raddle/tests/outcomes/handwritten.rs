//! Programs whose outcomes are spelt out.

use std::collections::BTreeSet;
use std::fmt::Debug;

use raddle::Options;
use raddle::sync::atomic::{AtomicU32, Ordering::SeqCst};
use raddle::sync::{Arc, LazyLock, Mutex, Once, RwLock};
use raddle::thread;

use crate::explore::{How, results};

/// All that a program can return, or go wrong with, is this: under all explorers.
fn gives<T: Ord + Clone + Debug + Send + 'static>(
    expected: impl IntoIterator<Item = Result<T, &'static str>>,
    body: impl Fn() -> T + Send + Sync + Clone + 'static,
) {
    gives_with(&Options::default(), expected, body);
}

fn gives_with<T: Ord + Clone + Debug + Send + 'static>(
    options: &Options,
    expected: impl IntoIterator<Item = Result<T, &'static str>>,
    body: impl Fn() -> T + Send + Sync + Clone + 'static,
) {
    let expected: BTreeSet<_> = expected
        .into_iter()
        .map(|one| one.map_err(str::to_owned))
        .collect();
    let reduced = [How::Optimal, How::Iterative, How::Bounded(60)];
    for how in reduced
        .into_iter()
        .chain([How::Dfs, How::CbDfs(60), How::Algorithm1(60)])
    {
        let found = results(how, options, 100_000, body.clone());
        if found.complete {
            assert_eq!(found.outcomes, expected, "{how:?}");
        } else {
            assert!(!reduced.contains(&how), "{how:?}: too large");
            assert!(
                found.outcomes.is_subset(&expected),
                "{how:?}: {:?}",
                found.outcomes
            );
        }
    }
    for how in [How::Random(3), How::Pct(4)] {
        let found = results(how, options, 50, body.clone());
        assert!(
            found.outcomes.is_subset(&expected),
            "{how:?}: {:?}",
            found.outcomes
        );
    }
}

#[test]
fn a_lock_is_poisoned_by_a_panic_on_another_thread() {
    gives([Ok((false, true)), Ok((true, true))], || {
        let lock = Arc::new(RwLock::new(0));
        let other = lock.clone();
        let child = thread::spawn(move || {
            let _guard = other.write();
            panic!("with the lock");
        });
        let poisoned = lock.write().is_err();
        let panicked = child.join().is_err();
        (poisoned, panicked)
    });
}

#[test]
fn a_lock_is_poisoned_before_it_is_given_back() {
    // Whether it is poisoned, and whether it can be taken.
    gives(
        [
            Ok((false, false)),
            Ok((false, true)),
            Ok((true, false)),
            Ok((true, true)),
        ],
        || {
            let mutex = Arc::new(Mutex::new(0));
            let other = mutex.clone();
            let child = thread::spawn(move || {
                let _guard = other.lock();
                panic!("with the lock");
            });
            let poisoned = mutex.is_poisoned();
            let free = !matches!(
                mutex.try_lock(),
                Err(raddle::sync::TryLockError::WouldBlock)
            );
            let _ = child.join();
            (poisoned, free)
        },
    );
}

#[test]
fn poison_can_be_cleared_at_any_time() {
    gives(
        [Ok((false, false)), Ok((true, true)), Ok((true, false))],
        || {
            let mutex = Arc::new(Mutex::new(0));
            let other = mutex.clone();
            let child = thread::spawn(move || {
                let _guard = other.lock();
                panic!("with the lock");
            });
            let _ = child.join();
            let other = mutex.clone();
            let child = thread::spawn(move || other.clear_poison());
            let first = mutex.is_poisoned();
            let second = mutex.lock().is_err();
            child.join().unwrap();
            (first, second)
        },
    );
}

/// What is dropped last does something only on one of the threads.
#[test]
fn who_drops_last_matters_to_a_destructor_that_asks_where_it_is() {
    struct Content(Arc<AtomicU32>);
    impl Drop for Content {
        fn drop(&mut self) {
            if thread::current().name() == Some("main") {
                self.0.store(1, SeqCst);
            }
        }
    }
    gives([Ok(0), Ok(1)], || {
        let flag = Arc::new(AtomicU32::new(0));
        let content = Arc::new(Content(flag.clone()));
        let other = content.clone();
        let child = thread::spawn(move || drop(other));
        drop(content);
        child.join().unwrap();
        flag.load(SeqCst)
    });
}

#[test]
fn who_drops_last_matters_to_a_destructor_with_thread_locals() {
    raddle::thread_local! {
        static DROPPED: std::cell::Cell<u32> = const { std::cell::Cell::new(0) };
    }
    struct Content;
    impl Drop for Content {
        fn drop(&mut self) {
            DROPPED.set(DROPPED.get() + 1);
        }
    }
    gives([Ok((0, 1)), Ok((1, 0))], || {
        let content = Arc::new(Content);
        let other = content.clone();
        let child = thread::spawn(move || {
            drop(other);
            DROPPED.get()
        });
        drop(content);
        let theirs = child.join().unwrap();
        (DROPPED.get(), theirs)
    });
}

#[test]
fn a_loop_with_a_limit_may_give_up_early() {
    // How often it looked in vain, and what it saw afterwards.
    let mut expected = vec![];
    for (rounds, seen) in [(0, 1), (1, 1), (2, 1), (3, 0), (3, 1)] {
        expected.push(Ok((rounds, seen)));
    }
    gives(expected, || {
        let (ready, first) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicU32::new(0)));
        let (ready2, first2) = (ready.clone(), first.clone());
        let child = thread::spawn(move || {
            first2.store(1, SeqCst);
            ready2.store(1, SeqCst);
        });
        let mut rounds = 0;
        while rounds < 3 && ready.load(SeqCst) == 0 {
            rounds += 1;
            thread::yield_now();
        }
        let seen = first.load(SeqCst);
        child.join().unwrap();
        (rounds, seen)
    });
}

#[test]
fn once_and_lazy() {
    gives([Ok((0, 7)), Ok((1, 7))], || {
        static LAZY: LazyLock<u32> = LazyLock::new(|| 7);
        let once = Arc::new(Once::new());
        let ran = Arc::new(AtomicU32::new(9));
        let (once2, ran2) = (once.clone(), ran.clone());
        let child = thread::spawn(move || {
            once2.call_once(|| ran2.store(1, SeqCst));
            *LAZY
        });
        once.call_once(|| ran.store(0, SeqCst));
        let lazy = *LAZY;
        assert_eq!(child.join().unwrap(), lazy);
        (ran.load(SeqCst), lazy)
    });
}

#[test]
fn a_loop_that_ends_by_itself_ends() {
    gives([Ok(())], || {
        let variable = AtomicU32::new(0);
        for _ in 0..5 {
            assert_eq!(variable.load(SeqCst), 0);
            thread::yield_now();
        }
    });
}

/// As in spin locks that back off.
#[test]
fn a_loop_that_ends_by_itself_ends_although_another_one_does_not() {
    for spinner_first in [false, true] {
        gives([Ok(())], move || {
            let flag = Arc::new(AtomicU32::new(0));
            let other = flag.clone();
            let back_off = move || {
                for _ in 0..10 {
                    raddle::hint::spin_loop();
                }
                other.store(1, SeqCst);
            };
            let spin = move || {
                while flag.load(SeqCst) == 0 {
                    raddle::hint::spin_loop();
                }
            };
            if spinner_first {
                let child = thread::spawn(spin);
                back_off();
                child.join().unwrap();
            } else {
                let child = thread::spawn(back_off);
                spin();
                child.join().unwrap();
            }
        });
    }
}

#[test]
fn a_loop_that_never_ends_is_found() {
    let mut options = Options::default();
    options.max_steps = 100;
    options.spin_limit = 30;
    gives_with(&options, [Err::<(), _>("TooManySteps")], || {
        let variable = AtomicU32::new(0);
        while variable.load(SeqCst) == 0 {}
    });
    gives_with(&options, [Err::<(), _>("LiveLock")], || {
        let variable = AtomicU32::new(0);
        while variable.load(SeqCst) == 0 {
            thread::yield_now();
        }
    });
}

/// The documentation of `RwLock` leaves open whether a writer that waits keeps new readers out; on Linux it does.
#[test]
#[ignore = "is not found"]
fn a_writer_that_waits_may_keep_readers_out() {
    gives([Ok(()), Err("Deadlock")], || {
        let lock = Arc::new(RwLock::new(0));
        let other = lock.clone();
        let child = thread::spawn(move || drop(other.write()));
        let first = lock.read();
        let second = lock.read();
        drop((first, second));
        child.join().unwrap();
    });
}

/// "`park` may also return spuriously."
#[test]
#[ignore = "is not found"]
fn parking_may_end_for_no_reason() {
    gives([Ok(()), Err("Deadlock")], thread::park);
}
