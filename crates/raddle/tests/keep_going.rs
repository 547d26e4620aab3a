//! `Checker::keep_going`: all failures, not only the first.

use std::collections::BTreeSet;

use raddle::sync::atomic::{AtomicU32, Ordering::SeqCst};
use raddle::sync::{Arc, Mutex};
use raddle::{Assumed, Checker, Failed, FailureKind, thread};

fn messages(failed: &Failed) -> BTreeSet<String> {
    let messages = failed.found.different.iter();
    messages
        .map(|found| format!("{:?}: {}", found.failure.kind, found.failure.message))
        .collect()
}

/// Fails in different ways, and in one that others hide: who reads first fails at once, and the other thread has not moved.
fn fails() {
    let number = Arc::new(AtomicU32::new(0));
    let locks = Arc::new((Mutex::new(()), Mutex::new(())));
    let (other, theirs) = (number.clone(), locks.clone());
    let child = thread::spawn(move || {
        other.store(1, SeqCst);
        other.store(2, SeqCst);
        let _first = theirs.0.lock().unwrap();
        let _second = theirs.1.lock().unwrap();
    });
    match number.load(SeqCst) {
        0 => panic!("too early"),
        1 => panic!("half done"),
        _ => {}
    }
    {
        let _second = locks.1.lock().unwrap();
        let _first = locks.0.lock().unwrap();
    }
    child.join().unwrap();
}

#[test]
fn all_failures_are_found_by_all_explorers() {
    let expected = Checker::new().explorer("dfs").keep_going(true).run(fails);
    let expected = messages(&expected.unwrap_err());
    assert_eq!(expected.len(), 3, "{expected:?}");
    for explorer in [Some("optimal"), Some("iterative"), None] {
        for workers in [1, 2] {
            let mut checker = Checker::new().keep_going(true).workers(workers);
            if let Some(explorer) = explorer {
                checker = checker.explorer(explorer);
            }
            let failed = checker.run(fails).unwrap_err();
            assert_eq!(
                messages(&failed),
                expected,
                "{explorer:?}, {workers} workers"
            );
            assert!(
                failed.found.executions < failed.executions,
                "some do not fail"
            );
            let counted: u64 = failed
                .found
                .different
                .iter()
                .map(|found| found.executions)
                .sum();
            assert_eq!(counted, failed.found.executions);
            assert!(
                failed.text.contains("3 different failures"),
                "{}",
                failed.text
            );
        }
    }
}

#[test]
fn each_failure_can_be_replayed() {
    let failed = Checker::new().keep_going(true).run(fails).unwrap_err();
    for found in &failed.found.different {
        for keep_going in [true, false] {
            let checker = Checker::new()
                .replay(&found.schedule)
                .keep_going(keep_going);
            let again = checker.run(fails).unwrap_err();
            assert_eq!(again.failure, found.failure);
            assert_eq!(again.executions, 1);
        }
    }
}

/// Two threads fail, and neither knows of the other: one schedule of the class shows both.
#[test]
fn failures_that_come_after_others_are_found() {
    let failed = Checker::new().explorer("optimal").keep_going(true).run(|| {
        let cell = Arc::new(Racy(raddle::cell::Cell::new(0)));
        let (one, two) = (cell.clone(), cell);
        thread::spawn(move || one.0.set(1));
        thread::spawn(move || two.0.set(2));
        panic!("main has enough");
    });
    let failed = failed.unwrap_err();
    let kinds: Vec<_> = failed
        .found
        .different
        .iter()
        .map(|found| found.failure.kind)
        .collect();
    assert!(kinds.contains(&FailureKind::Panic), "{kinds:?}");
    assert!(kinds.contains(&FailureKind::DataRace), "{kinds:?}");
}

struct Racy(raddle::cell::Cell<u32>);

// SAFETY: it is not: that is what is to be found.
unsafe impl Sync for Racy {}
// SAFETY: the same.
unsafe impl Send for Racy {}

#[test]
fn a_check_without_failures_reports_as_before() {
    let report = Checker::new().keep_going(true).check(|| {
        thread::spawn(|| ()).join().unwrap();
    });
    assert!(report.complete);
}

/// A failure in the part of an execution that was run before is seen again, however often that part is run.
#[test]
fn a_self_deadlock_is_one_failure() {
    fn body() {
        thread::spawn(|| {
            let _ = raddle::choose(0..3);
        });
        let mutex = Mutex::new(0);
        let _one = mutex.lock();
        let _two = mutex.lock();
    }
    for explorer in ["optimal", "dfs", "bounded", "iterative"] {
        let failed = Checker::new().explorer(explorer).keep_going(true).run(body);
        let failed = failed.unwrap_err();
        let [found] = &failed.found.different[..] else {
            panic!("{explorer}: {}", failed.text);
        };
        assert_eq!(found.failure.kind, FailureKind::SelfDeadlock);
        assert_eq!(found.executions, failed.executions);
        let again = Checker::new().keep_going(true).replay(&found.schedule);
        assert_eq!(again.run(body).unwrap_err().failure, found.failure);
    }
}

/// Which mutex is the first one depends on who comes first, and the failure does not.
#[test]
fn objects_with_other_numbers_make_no_other_failure() {
    let failed = Checker::new().explorer("dfs").keep_going(true).run(|| {
        let other = Mutex::new(0);
        thread::spawn(move || drop(other.lock()));
        AtomicU32::new(0).load(SeqCst);
        let own = Mutex::new(0);
        let _one = own.lock();
        let _two = own.lock();
    });
    let failed = failed.unwrap_err();
    assert!(failed.executions > 1);
    assert_eq!(failed.found.different.len(), 1, "{}", failed.text);
    assert_eq!(failed.found.different[0].executions, failed.executions);
}

/// Numbers that the program itself tells make a difference, and so do places.
#[test]
fn other_messages_and_places_make_other_failures() {
    let failed = Checker::new().keep_going(true).run(|| {
        let mutex = Mutex::new(0);
        let _one = mutex.lock();
        match raddle::choose(0..4) {
            0 => panic!("number 0"),
            1 => panic!("number 1"),
            2 => drop(mutex.lock()),
            _ => {
                let _two = mutex.lock();
            }
        }
    });
    let failed = failed.unwrap_err();
    assert_eq!(failed.found.different.len(), 4, "{}", failed.text);
}

/// What threads would have done that could still move is not known: that shows, also where other failures were found.
#[test]
fn an_execution_without_an_end_is_an_assumption() {
    let failed = Checker::new().keep_going(true).max_steps(500).run(|| {
        let flag = Arc::new(AtomicU32::new(0));
        let other = flag.clone();
        let child = thread::spawn(move || other.store(1, SeqCst));
        while flag.load(SeqCst) == 0 {}
        child.join().unwrap();
        panic!("found only if the other thread moves first");
    });
    let failed = failed.unwrap_err();
    assert_eq!(failed.failure.kind, FailureKind::TooManySteps);
    assert!(!failed.found.exhausted);
    let mut assumptions = failed.found.assumptions.iter();
    assert!(assumptions.any(|one| one.kind == Assumed::Steps));
    assert!(
        failed
            .text
            .contains("an execution has more steps than allowed")
    );
    assert!(
        failed
            .text
            .contains("RADDLE_KEEP_GOING=1 RADDLE_MAX_STEPS=500 RADDLE_REPLAY=0*500")
    );
}
