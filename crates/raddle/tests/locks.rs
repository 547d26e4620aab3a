//! Reader-writer locks, condition variables, barriers, parking, things done once.

mod common;

use common::{all, all_with};
use raddle::sync::atomic::{AtomicU32, Ordering::SeqCst};
use raddle::sync::{Barrier, Condvar, LazyLock, Mutex, Once, OnceLock, RwLock};
use raddle::{Checker, Options, thread};
use std::sync::Arc;
use std::time::Duration;

#[test]
fn readers_share_and_writers_do_not() {
    let all = all(|| {
        let lock = Arc::new(RwLock::new(0));
        let (lock2, lock3) = (lock.clone(), lock.clone());
        let reader = thread::spawn(move || {
            let guard = lock2.read().unwrap();
            (*guard, lock2.try_read().is_ok(), lock2.try_write().is_ok())
        });
        let writer = thread::spawn(move || *lock3.write().unwrap() += 1);
        let seen = reader.join().unwrap();
        writer.join().unwrap();
        (seen, *lock.read().unwrap())
    });
    assert_eq!(
        all.outcomes,
        [((0, true, false), 1), ((1, true, false), 1)].into()
    );
    assert!(all.failures.is_empty(), "{:?}", all.messages);
}

#[test]
fn two_readers_can_be_there_at_once() {
    let all = all(|| {
        let lock = Arc::new(RwLock::new(()));
        let inside = Arc::new(AtomicU32::new(0));
        let (lock2, inside2) = (lock.clone(), inside.clone());
        let child = thread::spawn(move || {
            let _guard = lock2.read().unwrap();
            inside2.fetch_add(1, SeqCst);
        });
        let both = {
            let _guard = lock.read().unwrap();
            inside.load(SeqCst)
        };
        child.join().unwrap();
        both
    });
    assert_eq!(all.outcomes, [0, 1].into());
}

#[test]
fn a_write_lock_can_become_one_for_reading() {
    let all = all(|| {
        let lock = RwLock::new(1);
        let guard = lock.write().unwrap();
        let guard = raddle::sync::RwLockWriteGuard::downgrade(guard);
        (*guard, lock.try_read().is_ok(), lock.try_write().is_ok())
    });
    assert_eq!(all.outcomes, [(1, true, false)].into());
}

fn quiet() -> Options {
    let mut options = Options::default();
    options.spurious_wakeups = 0;
    options
}

#[test]
fn a_notification_before_waiting_is_lost() {
    let all = all_with(&quiet(), || {
        let pair = Arc::new((Mutex::new(()), Condvar::new()));
        let pair2 = pair.clone();
        let child = thread::spawn(move || pair2.1.notify_one());
        let guard = pair.0.lock().unwrap();
        drop(pair.1.wait(guard).unwrap());
        child.join().unwrap();
    });
    assert_eq!(all.outcomes, [()].into());
    assert_eq!(all.failures.keys().collect::<Vec<_>>(), ["Deadlock"]);
}

#[test]
fn waiting_in_a_loop_is_right() {
    for spurious_wakeups in [0, 1] {
        let mut options = quiet();
        options.spurious_wakeups = spurious_wakeups;
        let all = all_with(&options, || {
            let pair = Arc::new((Mutex::new(0), Condvar::new()));
            let pair2 = pair.clone();
            let child = thread::spawn(move || {
                *pair2.0.lock().unwrap() = 1;
                pair2.1.notify_one();
            });
            let guard = pair.0.lock().unwrap();
            let seen = *pair.1.wait_while(guard, |value| *value == 0).unwrap();
            child.join().unwrap();
            seen
        });
        assert_eq!(all.outcomes, [1].into());
        assert!(all.failures.is_empty(), "{:?}", all.messages);
    }
}

#[test]
fn a_thread_may_be_woken_for_no_reason() {
    let body = || {
        let pair = Arc::new((Mutex::new(false), Condvar::new()));
        let pair2 = pair.clone();
        let child = thread::spawn(move || {
            let mut guard = pair2.0.lock().unwrap();
            *guard = true;
            pair2.1.notify_one();
        });
        let mut guard = pair.0.lock().unwrap();
        if !*guard {
            guard = pair.1.wait(guard).unwrap();
        }
        let seen = *guard;
        drop(guard);
        child.join().unwrap();
        seen
    };
    assert_eq!(all_with(&quiet(), body).outcomes, [true].into());
    assert_eq!(all(body).outcomes, [false, true].into());
}

#[test]
fn one_of_two_is_notified() {
    let all = all_with(&quiet(), || {
        let shared = Arc::new((Mutex::new((0, 0)), Condvar::new()));
        for _ in 0..2 {
            let shared = shared.clone();
            thread::spawn(move || {
                let mut guard = shared.0.lock().unwrap();
                guard.0 += 1;
                let mut guard = shared.1.wait(guard).unwrap();
                guard.1 += 1;
            });
        }
        let guard = shared.0.lock().unwrap();
        if guard.0 == 2 {
            shared.1.notify_one();
        } else {
            drop(guard);
            shared.1.notify_all();
        }
    });
    // Somebody is always left behind, except where both were there for `notify_all`.
    assert!(all.failures["Deadlock"] > 0);
    assert_eq!(
        all.messages,
        [
            "deadlock: a thread waits for ever".to_owned(),
            "deadlock: 2 threads wait for ever".to_owned()
        ]
        .into()
    );
}

#[test]
fn the_time_may_pass() {
    let all = all_with(&quiet(), || {
        let pair = Arc::new((Mutex::new(0), Condvar::new()));
        let pair2 = pair.clone();
        let child = thread::spawn(move || {
            *pair2.0.lock().unwrap() = 1;
            pair2.1.notify_all();
        });
        let guard = pair.0.lock().unwrap();
        let (guard, result) = pair
            .1
            .wait_timeout_while(guard, Duration::from_secs(1), |value| *value == 0)
            .unwrap();
        let seen = (*guard, result.timed_out());
        drop(guard);
        child.join().unwrap();
        seen
    });
    assert_eq!(all.outcomes, [(0, true), (1, false)].into());
    assert!(all.failures.is_empty(), "{:?}", all.messages);
}

#[test]
fn a_barrier_has_one_leader() {
    let all = all(|| {
        let barrier = Arc::new(Barrier::new(3));
        let before = Arc::new(AtomicU32::new(0));
        let children: Vec<_> = (0..2)
            .map(|_| {
                let (barrier, before) = (barrier.clone(), before.clone());
                thread::spawn(move || {
                    before.fetch_add(1, SeqCst);
                    barrier.wait().is_leader()
                })
            })
            .collect();
        let mine = barrier.wait().is_leader();
        let seen = before.load(SeqCst);
        let theirs: Vec<bool> = children
            .into_iter()
            .map(|child| child.join().unwrap())
            .collect();
        (mine, theirs, seen)
    });
    assert_eq!(
        all.outcomes,
        [
            (true, vec![false, false], 2),
            (false, vec![true, false], 2),
            (false, vec![false, true], 2)
        ]
        .into()
    );
    assert!(all.failures.is_empty(), "{:?}", all.messages);
}

#[test]
fn a_token_is_kept() {
    let body = || {
        let flag = Arc::new(AtomicU32::new(0));
        let (flag2, main) = (flag.clone(), thread::current());
        let child = thread::spawn(move || {
            flag2.store(1, SeqCst);
            main.unpark();
        });
        thread::park();
        let seen = flag.load(SeqCst);
        child.join().unwrap();
        seen
    };
    let mut options = Options::default();
    options.spurious_wakeups = 0;
    let exact = all_with(&options, body);
    assert_eq!(exact.outcomes, [1].into());
    assert!(exact.failures.is_empty(), "{:?}", exact.messages);
    let all = all(body);
    assert_eq!(all.outcomes, [0, 1].into(), "it may return for no reason");
    assert!(all.failures.is_empty(), "{:?}", all.messages);
}

#[test]
fn parking_may_take_too_long() {
    let all = all(|| {
        let flag = Arc::new(AtomicU32::new(0));
        let (flag2, main) = (flag.clone(), thread::current());
        let child = thread::spawn(move || {
            flag2.store(1, SeqCst);
            main.unpark();
        });
        thread::park_timeout(Duration::from_millis(1));
        let seen = flag.load(SeqCst);
        child.join().unwrap();
        seen
    });
    assert_eq!(all.outcomes, [0, 1].into());
}

#[test]
fn parking_without_a_token_is_a_deadlock() {
    let all = all(thread::park);
    assert_eq!(all.failures, [("Deadlock".to_owned(), 1)].into());
}

#[test]
fn once_is_once() {
    let all = all(|| {
        let once = Arc::new(Once::new());
        let calls = Arc::new(AtomicU32::new(0));
        let (once2, calls2) = (once.clone(), calls.clone());
        let child = thread::spawn(move || {
            once2.call_once(|| {
                calls2.fetch_add(1, SeqCst);
            });
            calls2.load(SeqCst)
        });
        once.call_once(|| {
            calls.fetch_add(1, SeqCst);
        });
        (
            calls.load(SeqCst),
            child.join().unwrap(),
            once.is_completed(),
        )
    });
    assert_eq!(all.outcomes, [(1, 1, true)].into());
    assert!(all.failures.is_empty(), "{:?}", all.messages);
}

#[test]
fn a_panic_poisons_once() {
    let all = all(|| {
        let once = Arc::new(Once::new());
        let once2 = once.clone();
        let child = thread::spawn(move || once2.call_once(|| panic!("on purpose")));
        assert!(child.join().is_err());
        let mut poisoned = false;
        once.call_once_force(|state| poisoned = state.is_poisoned());
        once.call_once(|| unreachable!());
        poisoned
    });
    assert_eq!(all.outcomes, [true].into());
    assert!(all.failures.is_empty(), "{:?}", all.messages);
}

static FIRST: OnceLock<u32> = OnceLock::new();
static LAZY: LazyLock<Mutex<Vec<u32>>> = LazyLock::new(|| Mutex::new(vec![]));

#[test]
fn statics_are_new_in_each_execution() {
    let all = all(|| {
        assert_eq!(FIRST.get(), None);
        let child = thread::spawn(|| {
            LAZY.lock().unwrap().push(1);
            *FIRST.get_or_init(|| 1)
        });
        LAZY.lock().unwrap().push(0);
        let mine = *FIRST.get_or_init(|| 0);
        let theirs = child.join().unwrap();
        assert_eq!(mine, theirs);
        (mine, LAZY.lock().unwrap().clone())
    });
    let orders = [vec![0, 1], vec![1, 0]];
    let expected = orders
        .iter()
        .flat_map(|order| [(0, order.clone()), (1, order.clone())]);
    assert_eq!(all.outcomes, expected.collect());
    assert!(all.failures.is_empty(), "{:?}", all.messages);
}

/// `threads` threads meet at a barrier so many times, and say whether they came last.
fn meet(threads: usize, size: usize, times: usize, asks: bool) -> raddle::Report {
    Checker::new().explorer("optimal").check(move || {
        let barrier = Arc::new(Barrier::new(size));
        let children: Vec<_> = (0..threads)
            .map(|_| {
                let barrier = barrier.clone();
                thread::spawn(move || {
                    let mut led = 0;
                    for _ in 0..times {
                        let waited = barrier.wait();
                        led += usize::from(asks && waited.is_leader());
                    }
                    led
                })
            })
            .collect();
        let led: usize = children
            .into_iter()
            .map(|child| child.join().unwrap())
            .sum();
        assert_eq!(led, if asks { times * threads / size } else { 0 });
    })
}

#[test]
fn the_order_of_arrivals_at_a_barrier_is_no_difference() {
    for (threads, times) in [(2, 1), (4, 1), (8, 1), (12, 1), (3, 2), (3, 4)] {
        let report = meet(threads, threads, times, false);
        assert!(report.complete);
        assert_eq!(report.executions, 1, "{threads} threads, {times} times");
    }
}

#[test]
fn the_order_of_arrivals_matters_where_it_can_be_seen() {
    assert_eq!(meet(3, 3, 1, true).executions, 6);
    assert_eq!(meet(2, 2, 2, true).executions, 4);
    // More threads than it is for: who meets whom.
    assert!(meet(4, 2, 1, false).executions > 1);
    assert!(meet(4, 2, 1, true).complete);
}

/// A barrier for two, used by three, is left by those that meet; the third one waits for ever.
#[test]
fn a_barrier_for_two_keeps_the_third() {
    let failed = Checker::new().run(|| {
        let barrier = Arc::new(Barrier::new(2));
        let children: Vec<_> = (0..3)
            .map(|_| {
                let barrier = barrier.clone();
                thread::spawn(move || {
                    barrier.wait();
                })
            })
            .collect();
        for child in children {
            child.join().unwrap();
        }
    });
    let failure = failed.expect_err("one of them waits for ever").failure;
    assert!(failure.message.contains("deadlock"), "{failure:?}");
    assert!(
        failure
            .remarks
            .iter()
            .any(|remark| remark.text.contains("waits for others at barrier 1")),
        "{failure:?}"
    );
}

struct Shared {
    barrier: Barrier,
    cell: raddle::cell::UnsafeCell<u32>,
}

// SAFETY: only those use the cell who have met at the barrier, or are about to.
unsafe impl Sync for Shared {}

/// Waiting at a barrier orders what was done before with what comes after.
#[test]
fn a_barrier_synchronises() {
    let report = Checker::new().check(|| {
        let shared = Arc::new(Shared {
            barrier: Barrier::new(2),
            cell: raddle::cell::UnsafeCell::new(0),
        });
        let other = shared.clone();
        let child = thread::spawn(move || {
            // SAFETY: nobody else uses it before the barrier.
            other.cell.with_mut(|value| unsafe { *value = 1 });
            other.barrier.wait();
        });
        shared.barrier.wait();
        // SAFETY: nobody else uses it after the barrier.
        assert_eq!(shared.cell.with(|value| unsafe { *value }), 1);
        child.join().unwrap();
    });
    assert!(report.complete);
}
