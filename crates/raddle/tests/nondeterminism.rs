//! Programs that are not determined by their schedule: what is claimed of them would be wrong.

use std::cell::Cell;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::atomic::{AtomicU64, AtomicUsize};
use std::time::Instant;

use raddle::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64 as Shared64, Ordering::SeqCst};
use raddle::sync::{Arc, Mutex};
use raddle::{Checker, FailureKind, thread};

const EXPLORERS: [&str; 8] = [
    "optimal",
    "iterative",
    "bounded",
    "algorithm1",
    "cb-dfs",
    "dfs",
    "random",
    "pct",
];

/// Checks that a program is reported, by several explorers.
#[track_caller]
fn is_noticed(explorers: &[&str], body: fn()) {
    for &explorer in explorers {
        let checker = Checker::new().explorer(explorer).max_executions(400);
        let failed = checker.run(body).expect_err("it is not determined");
        let failure = failed.failure;
        assert_eq!(
            failure.kind,
            FailureKind::Diverged,
            "{explorer}: {}",
            failed.text
        );
        assert!(failed.text.contains("BTreeMap"), "{}", failed.text);
    }
}

/// Locks in an order that the hasher decides; another thread takes one of them by name.
#[test]
fn the_order_of_a_hash_map_decides_who_waits() {
    fn body() {
        let names = ["a", "b", "c"];
        let locks: HashMap<_, _> = names.map(|name| (name, Mutex::new(0))).into();
        let locks = Arc::new(locks);
        let theirs = locks.clone();
        let child = thread::spawn(move || *theirs["a"].lock().unwrap() += 1);
        for lock in locks.values() {
            *lock.lock().unwrap() += 1;
        }
        child.join().unwrap();
    }
    // It is noticed each time, and not most of the time.
    for _ in 0..4 {
        is_noticed(&EXPLORERS, body);
    }
    is_noticed(&["optimal"; 17], body);
}

#[test]
fn the_order_of_a_hash_set_decides_what_is_written() {
    // There is only one execution.
    is_noticed(&["optimal", "iterative", "dfs"], || {
        let last = AtomicU32::new(0);
        for number in HashSet::from([1, 2, 3, 4]) {
            last.store(number, SeqCst);
        }
    });
    is_noticed(&EXPLORERS, || {
        let last = Arc::new(AtomicU32::new(0));
        let theirs = last.clone();
        let child = thread::spawn(move || theirs.load(SeqCst));
        for number in HashSet::from([1, 2, 3, 4]) {
            last.store(number, SeqCst);
        }
        child.join().unwrap();
    });
}

#[test]
fn the_order_of_a_hash_map_decides_which_threads_there_are() {
    is_noticed(&EXPLORERS, || {
        let numbers: HashMap<_, _> = [(1, 'a'), (2, 'b'), (3, 'c'), (4, 'd')].into();
        let first = numbers.keys().next().copied();
        let shared = Arc::new(AtomicU32::new(0));
        for _ in 1..first.unwrap() {
            let shared = shared.clone();
            thread::spawn(move || shared.fetch_add(1, SeqCst));
        }
        shared.load(SeqCst);
    });
}

#[test]
fn the_time_decides() {
    is_noticed(&EXPLORERS, || {
        thread_local!(static BEGIN: Cell<Option<Instant>> = const { Cell::new(None) });
        let begin = BEGIN.get().unwrap_or_else(Instant::now);
        BEGIN.set(Some(begin));
        let value = AtomicU32::new(0);
        match begin.elapsed().as_nanos() % 100 {
            0..20 => value.store(1, SeqCst),
            20..40 => drop(value.swap(1, SeqCst)),
            40..60 => drop(value.load(SeqCst)),
            60..80 => drop(value.fetch_add(1, SeqCst)),
            _ => {}
        }
    });
}

#[test]
fn a_static_of_std_survives() {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    is_noticed(&EXPLORERS, || {
        let number = COUNT.fetch_add(1, SeqCst) as u32;
        let value = Arc::new(AtomicU32::new(0));
        let theirs = value.clone();
        let child = thread::spawn(move || theirs.load(SeqCst));
        value.store(number % 100, SeqCst);
        child.join().unwrap();
    });
}

#[test]
fn an_initial_value_that_is_random_is_noticed_when_it_is_read() {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    is_noticed(&["optimal", "dfs"], || {
        let value = AtomicU32::new(COUNT.fetch_add(1, SeqCst) as u32 % 7);
        value.swap(0, SeqCst);
    });
}

#[test]
fn a_panic_that_comes_and_goes_is_told() {
    // It fails once, and then never again: that is no reason to say that all is well.
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    let failed = Checker::new()
        .run(|| {
            let value = Arc::new(AtomicU32::new(0));
            let theirs = value.clone();
            let child = thread::spawn(move || theirs.store(1, SeqCst));
            value.load(SeqCst);
            child.join().unwrap();
            assert_ne!(COUNT.fetch_add(1, SeqCst), 1, "the second time only");
        })
        .expect_err("it failed once");
    assert_eq!(failed.failure.kind, FailureKind::Diverged);
    assert!(
        failed.text.contains("the second time only"),
        "{}",
        failed.text
    );

    // It fails when it is run again.
    static AGAIN: AtomicUsize = AtomicUsize::new(0);
    let failed = Checker::new()
        .run(|| assert_ne!(AGAIN.fetch_add(1, SeqCst), 5, "the sixth time only"))
        .expect_err("it fails when it is run again");
    assert_eq!(failed.failure.kind, FailureKind::Diverged);
    assert!(
        failed.text.contains("the sixth time only"),
        "{}",
        failed.text
    );
}

#[test]
fn the_message_says_what_was_expected_and_what_was_found() {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    let failed = Checker::new()
        .run(|| {
            let value = AtomicU32::new(0);
            value.store(COUNT.fetch_add(1, SeqCst) as u32 + 7, SeqCst);
        })
        .expect_err("it is not determined");
    let message = failed.failure.message;
    let begin = "not the same when it is run again: first main writes 7 to atomic 1 at ";
    assert!(message.starts_with(begin), "{message}");
    assert!(
        message.contains("now main writes 8 to atomic 1 at "),
        "{message}"
    );
    assert!(message.contains("nondeterminism.rs:"), "{message}");
}

/// An update does not say what it found.
#[test]
fn the_message_tells_two_results_apart() {
    let failed = Checker::new().run(|| {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let next = u32::try_from(NEXT.fetch_add(1, SeqCst)).unwrap();
        AtomicU32::new(next).fetch_add(1, SeqCst);
    });
    let message = failed.unwrap_err().failure.message;
    let parts = message.split_once(", now ").expect("two steps are told");
    assert!(parts.0.ends_with("(with the result 0)"), "{message}");
    assert!(parts.1.ends_with("(with the result 1)"), "{message}");
}

/// What is an address may be another one each time, also with tags in it.
#[test]
fn addresses_may_differ() {
    static KEPT: std::sync::Mutex<Vec<Vec<u64>>> = std::sync::Mutex::new(Vec::new());
    for explorer in EXPLORERS {
        let checker = Checker::new().explorer(explorer).max_executions(100);
        let checked = checker.run(|| {
            // This moves what is allocated after it.
            KEPT.lock().unwrap().push(vec![0; 9]);
            let made = Box::into_raw(Box::new([1u64; 9]));
            let pointer = Arc::new(AtomicPtr::new(std::ptr::null_mut::<[u64; 9]>()));
            let tagged = Arc::new(Shared64::new(0));
            let (pointer2, tagged2) = (pointer.clone(), tagged.clone());
            let child = thread::spawn(move || {
                let _ = tagged2.compare_exchange(0, 3, SeqCst, SeqCst);
                pointer2.load(SeqCst).is_null()
            });
            pointer.store(made, SeqCst);
            tagged.store(made.expose_provenance() as u64 | 1, SeqCst);
            tagged.fetch_add(2, SeqCst);
            let swapped = pointer.swap(std::ptr::null_mut(), SeqCst);
            // SAFETY: it is what was made here.
            drop(unsafe { Box::from_raw(swapped) });
            child.join().unwrap();
        });
        assert!(checked.is_ok(), "{explorer}: {}", checked.unwrap_err().text);
    }
}

/// What is not determined but decides nothing is no failure.
#[test]
fn what_nobody_sees_may_differ() {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let report = Checker::new().run(|| {
        COUNT.fetch_add(1, SeqCst);
        let numbers: HashMap<_, _> = [(1, 10), (2, 20), (3, 30)].into();
        let sum = Arc::new(AtomicU32::new(0));
        let theirs = sum.clone();
        let child = thread::spawn(move || theirs.fetch_add(1, SeqCst));
        sum.fetch_add(numbers.values().sum(), SeqCst);
        let sorted: BTreeMap<_, _> = numbers.into_iter().collect();
        for number in sorted.into_values() {
            sum.fetch_add(number, SeqCst);
        }
        child.join().unwrap();
        assert_eq!(sum.load(SeqCst), 121);
    });
    let report = report.unwrap();
    assert!(report.complete);
    // What is run again does not count.
    assert_eq!(COUNT.load(SeqCst), report.executions + 16);
}

/// Executions with waits that never end and were chosen not to time out are not counted.
#[test]
fn infeasible_executions_do_not_count() {
    let checker = Checker::new().explorer("optimal").spurious_wakeups(0);
    let report = checker.check(|| thread::park_timeout(std::time::Duration::ZERO));
    assert!(report.complete);
    assert_eq!(report.executions, 1);
}

/// A program that does something else each time must not make the runtime do what is impossible.
#[test]
fn steps_that_are_not_possible_are_not_made() {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    is_noticed(&EXPLORERS, || {
        let number = COUNT.fetch_add(1, SeqCst);
        let lock = Arc::new(Mutex::new(0));
        let theirs = lock.clone();
        let child = thread::spawn(move || *theirs.lock().unwrap() += 1);
        let guard = lock.lock().unwrap();
        if number % 3 == 2 {
            drop(guard);
            child.join().unwrap();
            return;
        }
        let more = (number % 3 == 1).then(|| thread::spawn(|| ()));
        drop(guard);
        child.join().unwrap();
        drop(more);
    });
}

#[test]
fn running_again_can_be_left_out() {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let report = Checker::new().reruns(0).check(|| {
        COUNT.fetch_add(1, SeqCst);
    });
    assert_eq!(COUNT.load(SeqCst), report.executions);
}
