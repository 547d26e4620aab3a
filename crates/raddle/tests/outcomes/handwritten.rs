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
    let reduced = [
        How::Optimal,
        How::Iterative,
        How::Bounded(60),
        How::Algorithm2(60),
    ];
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

/// Two rounds in which something changes on the way are no reason to wait for something else.
#[test]
fn a_torn_round_is_not_in_vain() {
    let mut expected = vec![];
    for rounds in 0..3 {
        expected.extend([Ok((rounds, 0)), Ok((rounds, 1))]);
    }
    gives(expected, || {
        let (version, flag) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicU32::new(0)));
        let (version2, flag2) = (version.clone(), flag.clone());
        let child = thread::spawn(move || {
            version2.store(1, SeqCst);
            version2.store(2, SeqCst);
            flag2.store(1, SeqCst);
        });
        let mut rounds = 0;
        while version.load(SeqCst) != version.load(SeqCst) {
            rounds += 1;
            thread::yield_now();
        }
        let seen = flag.load(SeqCst);
        child.join().unwrap();
        (rounds, seen)
    });
}

/// What was found is only looked at after yielding.
#[test]
fn a_loop_may_look_late() {
    gives([Ok(0), Ok(1)], || {
        let (ready, flag) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicU32::new(0)));
        let (ready2, flag2) = (ready.clone(), flag.clone());
        let child = thread::spawn(move || {
            ready2.store(1, SeqCst);
            flag2.store(1, SeqCst);
        });
        let mut found = 0;
        while found == 0 {
            found = ready.load(SeqCst);
            thread::yield_now();
        }
        let seen = flag.load(SeqCst);
        child.join().unwrap();
        seen
    });
}

/// As in crates that spin a little, yield a little, and then park.
#[test]
fn backing_off_ends_with_parking() {
    let mut options = Options::default();
    options.spurious_wakeups = 0;
    // Whether it parked, and what it saw then.
    gives_with(&options, [Ok((false, 1)), Ok((true, 1))], || {
        let ready = Arc::new(AtomicU32::new(0));
        let (ready2, main) = (ready.clone(), thread::current());
        let child = thread::spawn(move || {
            ready2.store(1, SeqCst);
            main.unpark();
        });
        let mut parked = false;
        let mut step = 0;
        while ready.load(SeqCst) == 0 {
            if step < 3 {
                for _ in 0..1 << step {
                    raddle::hint::spin_loop();
                }
            } else if step < 5 {
                thread::yield_now();
            } else {
                parked = true;
                thread::park();
            }
            step += 1;
        }
        child.join().unwrap();
        (parked, ready.load(SeqCst))
    });
}

/// Every round does something else after a few.
#[test]
fn a_loop_in_a_loop_gives_up_at_any_time() {
    gives([Ok((1, 0)), Ok((1, 1)), Ok((0, 9))], || {
        let (ready, other) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicU32::new(0)));
        let (ready2, other2) = (ready.clone(), other.clone());
        let child = thread::spawn(move || {
            other2.store(1, SeqCst);
            ready2.store(1, SeqCst);
        });
        // Whether it gave up at all, and what it saw when it did so for the first time.
        let mut seen = (0, 9);
        'found: loop {
            for _ in 0..3 {
                if ready.load(SeqCst) == 1 {
                    break 'found;
                }
                thread::yield_now();
            }
            let other = other.load(SeqCst);
            if seen.0 == 0 {
                seen = (1, other);
            }
        }
        child.join().unwrap();
        seen
    });
}

/// Who looks under a lock, and how often.
fn polls_under_a_lock(
    look: impl Fn(&(Mutex<u32>, RwLock<u32>)) -> bool + Copy + Send + Sync + 'static,
    limit: Option<u32>,
) -> (bool, bool) {
    let shared = Arc::new((Mutex::new(0), RwLock::new(0)));
    let pollers = [0, 1].map(|_| {
        let shared = shared.clone();
        thread::spawn(move || {
            let mut rounds = 0;
            while limit.is_none_or(|limit| rounds < limit) {
                if look(&shared) {
                    return true;
                }
                rounds += 1;
                thread::yield_now();
            }
            false
        })
    });
    *shared.0.lock().unwrap() = 1;
    *shared.1.write().unwrap() = 1;
    let [one, two] = pollers.map(|poller| poller.join().unwrap());
    (one, two)
}

#[test]
fn polling_under_locks_ends_or_gives_up() {
    let mutex = |shared: &(Mutex<u32>, RwLock<u32>)| *shared.0.lock().unwrap() == 1;
    let reading = |shared: &(Mutex<u32>, RwLock<u32>)| *shared.1.read().unwrap() == 1;
    gives([Ok((true, true))], move || polls_under_a_lock(mutex, None));
    gives([Ok((true, true))], move || {
        polls_under_a_lock(reading, None)
    });
    let any = [(false, false), (false, true), (true, false), (true, true)].map(Ok);
    gives(any, move || polls_under_a_lock(mutex, Some(2)));
    gives(any, move || polls_under_a_lock(reading, Some(2)));
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
    // It never gets it.
    gives([Err::<(), _>("Deadlock")], || {
        let lock = Arc::new(RwLock::new(0));
        let other = lock.clone();
        let first = lock.read();
        let child = thread::spawn(move || drop(other.write()));
        let second = lock.read();
        child.join().unwrap();
        drop((first, second));
    });
}

#[test]
fn a_writer_that_does_not_wait_keeps_nobody_out() {
    // It comes later, or has come before.
    gives([Ok(())], || {
        let lock = Arc::new(RwLock::new(0));
        let other = lock.clone();
        thread::spawn(move || drop(other.write())).join().unwrap();
        let (first, second) = (lock.read(), lock.read());
        let other = lock.clone();
        let child = thread::spawn(move || drop(other.write()));
        drop((first, second));
        child.join().unwrap();
    });
    // A mutex keeps it away.
    gives([Ok(())], || {
        let shared = Arc::new((Mutex::new(()), RwLock::new(0)));
        let other = shared.clone();
        let child = thread::spawn(move || {
            let _guard = other.0.lock();
            drop(other.1.write());
        });
        let guard = shared.0.lock();
        let (first, second) = (shared.1.read(), shared.1.read());
        drop((first, second));
        drop(guard);
        child.join().unwrap();
    });
    // It is woken later.
    gives([Ok(())], || {
        let lock = Arc::new(RwLock::new(0));
        let other = lock.clone();
        let (sender, receiver) = raddle::sync::mpsc::channel();
        let child = thread::spawn(move || {
            receiver.recv().unwrap();
            drop(other.write());
        });
        let (first, second) = (lock.read(), lock.read());
        sender.send(()).unwrap();
        drop((first, second));
        child.join().unwrap();
    });
    // It does not wait, and the readers are two.
    gives([Ok(())], || {
        let lock = Arc::new(RwLock::new(0));
        let (one, two) = (lock.clone(), lock.clone());
        let children = [
            thread::spawn(move || drop((one.read(), one.read()))),
            thread::spawn(move || drop(two.try_write())),
        ];
        let seen = lock.read();
        drop(seen);
        for child in children {
            child.join().unwrap();
        }
    });
}

/// "`park` may also return spuriously."
#[test]
fn parking_may_end_for_no_reason() {
    gives([Ok(()), Err("Deadlock")], thread::park);
}
