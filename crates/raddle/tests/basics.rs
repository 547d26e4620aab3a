//! Threads, atomics and mutexes.

mod common;

use common::all;
use raddle::sync::Mutex;
use raddle::sync::atomic::{AtomicBool, AtomicI8, AtomicU32, AtomicUsize, Ordering::SeqCst};
use raddle::thread;
use std::sync::Arc;

#[test]
fn store_buffering_is_sequentially_consistent() {
    let all = all(|| {
        let x = Arc::new(AtomicU32::new(0));
        let y = Arc::new(AtomicU32::new(0));
        let (x2, y2) = (x.clone(), y.clone());
        let child = thread::spawn(move || {
            x2.store(1, SeqCst);
            y2.load(SeqCst)
        });
        y.store(1, SeqCst);
        let mine = x.load(SeqCst);
        (mine, child.join().unwrap())
    });
    assert_eq!(all.outcomes, [(0, 1), (1, 0), (1, 1)].into());
    assert!(all.failures.is_empty(), "{:?}", all.messages);
}

#[test]
fn message_passing() {
    let all = all(|| {
        let x = Arc::new(AtomicU32::new(0));
        let flag = Arc::new(AtomicBool::new(false));
        let (x2, flag2) = (x.clone(), flag.clone());
        let child = thread::spawn(move || {
            x2.store(1, SeqCst);
            flag2.store(true, SeqCst);
        });
        let seen = (flag.load(SeqCst), x.load(SeqCst));
        child.join().unwrap();
        seen
    });
    assert_eq!(all.outcomes, [(false, 0), (false, 1), (true, 1)].into());
}

#[test]
fn an_update_in_two_steps_can_be_lost() {
    let all = all(|| {
        let x = Arc::new(AtomicUsize::new(0));
        let children: Vec<_> = (0..2)
            .map(|_| {
                let x = x.clone();
                thread::spawn(move || x.store(x.load(SeqCst) + 1, SeqCst))
            })
            .collect();
        for child in children {
            child.join().unwrap();
        }
        x.load(SeqCst)
    });
    assert_eq!(all.outcomes, [1, 2].into());
}

#[test]
fn updates_in_one_step_are_not_lost() {
    let all = all(|| {
        let x = Arc::new(AtomicI8::new(-1));
        let x2 = x.clone();
        let child = thread::spawn(move || x2.fetch_max(3, SeqCst));
        let before = x.fetch_add(1, SeqCst);
        (before, child.join().unwrap(), x.load(SeqCst))
    });
    assert_eq!(all.outcomes, [(-1, 0, 3), (3, -1, 4)].into());
}

#[test]
fn compare_exchange_succeeds_once() {
    let all = all(|| {
        let x = Arc::new(AtomicU32::new(0));
        let x2 = x.clone();
        let child = thread::spawn(move || x2.compare_exchange(0, 1, SeqCst, SeqCst));
        let mine = x.compare_exchange(0, 2, SeqCst, SeqCst);
        (mine, child.join().unwrap())
    });
    assert_eq!(all.outcomes, [(Ok(0), Err(2)), (Err(1), Ok(0))].into());
}

#[test]
fn a_mutex_protects_a_counter() {
    let all = all(|| {
        let total = Arc::new(Mutex::new(0));
        let children: Vec<_> = (0..2)
            .map(|_| {
                let total = total.clone();
                thread::spawn(move || {
                    let mut total = total.lock().unwrap();
                    *total += 1;
                })
            })
            .collect();
        let seen = *total.lock().unwrap();
        for child in children {
            child.join().unwrap();
        }
        (seen, *total.lock().unwrap())
    });
    assert_eq!(all.outcomes, [(0, 2), (1, 2), (2, 2)].into());
    assert!(all.failures.is_empty(), "{:?}", all.messages);
}

#[test]
fn try_lock_fails_while_it_is_held() {
    let all = all(|| {
        let lock = Arc::new(Mutex::new(()));
        let lock2 = lock.clone();
        let child = thread::spawn(move || drop(lock2.lock().unwrap()));
        let free = lock.try_lock().is_ok();
        child.join().unwrap();
        free
    });
    assert_eq!(all.outcomes, [false, true].into());
}

#[test]
fn locks_in_opposite_orders_deadlock() {
    let all = all(|| {
        let a = Arc::new(Mutex::new(()));
        let b = Arc::new(Mutex::new(()));
        let (a2, b2) = (a.clone(), b.clone());
        let child = thread::spawn(move || {
            let _a = a2.lock().unwrap();
            let _b = b2.lock().unwrap();
        });
        {
            let _b = b.lock().unwrap();
            let _a = a.lock().unwrap();
        }
        child.join().unwrap();
    });
    assert_eq!(all.outcomes, [()].into());
    assert_eq!(
        all.messages,
        ["deadlock: 2 threads wait for ever".to_owned()].into()
    );
}

#[test]
fn a_lock_taken_twice_is_told_apart() {
    let all = all(|| {
        let a = Mutex::new(());
        let _one = a.lock().unwrap();
        let _two = a.lock().unwrap();
    });
    assert!(all.outcomes.is_empty());
    assert_eq!(all.failures, [("SelfDeadlock".to_owned(), 1)].into());
}

#[test]
fn a_panic_poisons() {
    let all = all(|| {
        let lock = Arc::new(Mutex::new(0));
        let lock2 = lock.clone();
        let child = thread::spawn(move || {
            let _guard = lock2.lock().unwrap();
            panic!("on purpose");
        });
        let poisoned = lock.lock().is_err();
        let panicked = child.join().is_err();
        (poisoned, panicked, lock.lock().is_err())
    });
    assert_eq!(
        all.outcomes,
        [(false, true, true), (true, true, true)].into()
    );
    assert!(all.failures.is_empty(), "{:?}", all.messages);
}

#[test]
fn a_panic_that_nobody_joins_fails() {
    let all = all(|| {
        thread::spawn(|| panic!("on purpose"));
    });
    assert_eq!(
        all.messages,
        ["thread 1 panicked: on purpose".to_owned()].into()
    );
    assert_eq!(all.executions, all.failures["Panic"]);
}

#[test]
fn a_panic_of_main_fails() {
    let all = all(|| {
        let x = Arc::new(AtomicU32::new(0));
        let x2 = x.clone();
        thread::spawn(move || x2.store(1, SeqCst));
        assert_eq!(x.load(SeqCst), 0, "early");
    });
    assert_eq!(all.outcomes, [()].into());
    assert_eq!(all.failures.keys().collect::<Vec<_>>(), ["Panic"]);
}
