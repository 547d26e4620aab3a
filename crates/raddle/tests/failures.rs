//! What is said when something is wrong, and what happens to what is left.

use raddle::sync::atomic::{AtomicU32, Ordering::SeqCst};
use raddle::sync::{Arc, Mutex};
use raddle::{Checker, Failed, FailureKind, thread};
use std::sync::atomic::AtomicUsize;

fn fails(body: impl Fn() + Send + Sync + 'static) -> Failed {
    Checker::new().run(body).expect_err("this fails")
}

#[test]
fn a_panic_is_told_with_its_place_and_can_be_run_again() {
    let body = || {
        let value = Arc::new(AtomicU32::new(0));
        let value2 = value.clone();
        thread::spawn(move || value2.store(1, SeqCst));
        assert_eq!(value.load(SeqCst), 0, "too late");
    };
    let failed = fails(body);
    assert_eq!(failed.failure.kind, FailureKind::Panic);
    assert!(failed.text.contains("too late"), "{}", failed.text);
    assert!(failed.text.contains("starts thread 1"), "{}", failed.text);
    assert!(failed.text.contains("atomic 1: 0 → 1"), "{}", failed.text);
    assert!(failed.text.contains("RADDLE_REPLAY="), "{}", failed.text);
    let at = &failed.failure.remarks[0].at;
    assert!(at.file.ends_with("failures.rs"));
    let again = Checker::new().replay(&failed.schedule).run(body);
    let again = again.expect_err("it fails again");
    assert_eq!(again.failure.message, failed.failure.message);
    assert_eq!(again.schedule, failed.schedule);
    assert_eq!(again.executions, 1);
}

#[test]
fn a_story_has_no_places_of_its_own() {
    let failed = fails(|| panic!("at once"));
    assert!(!failed.text.contains("state.rs"), "{}", failed.text);
    let failed = fails(|| {
        let lock = Arc::new(raddle::sync::RwLock::new(()));
        let other = lock.clone();
        let child = thread::spawn(move || drop(other.write()));
        drop((lock.read(), lock.read()));
        child.join().unwrap();
    });
    assert_eq!(failed.failure.kind, FailureKind::Deadlock);
    let message = &failed.failure.message;
    assert!(message.contains("may keep readers out"), "{message}");
    assert_eq!(failed.failure.remarks.len(), 2);
    assert!(!failed.text.contains("state.rs"), "{}", failed.text);
}

#[test]
fn a_deadlock_says_who_waits_for_whom() {
    let failed = fails(|| {
        let (a, b) = (Arc::new(Mutex::new(())), Arc::new(Mutex::new(())));
        let (a2, b2) = (a.clone(), b.clone());
        let child = thread::Builder::new().name("other".into());
        let child = child.spawn(move || {
            let _a = a2.lock().unwrap();
            let _b = b2.lock().unwrap();
        });
        {
            let _b = b.lock().unwrap();
            let _a = a.lock().unwrap();
        }
        child.unwrap().join().unwrap();
    });
    assert_eq!(failed.failure.kind, FailureKind::Deadlock);
    let texts: Vec<&str> = failed
        .failure
        .remarks
        .iter()
        .map(|remark| remark.text.as_str())
        .collect();
    assert_eq!(texts.len(), 2);
    assert!(texts[0].contains("held by other since"), "{texts:?}");
    assert!(texts[1].contains("held by main since"), "{texts:?}");
}

#[test]
fn a_lock_taken_twice_has_both_places() {
    let failed = fails(|| {
        let lock = Mutex::new(());
        let _one = lock.lock().unwrap();
        let _two = lock.lock().unwrap();
    });
    assert_eq!(failed.failure.kind, FailureKind::SelfDeadlock);
    let lines: Vec<u32> = failed.failure.remarks.iter().map(|r| r.at.line).collect();
    assert_eq!(lines[0], lines[1] + 1);
}

#[test]
fn the_panic_of_a_child_comes_first() {
    let failed = fails(|| {
        let child = thread::spawn(|| panic!("the cause"));
        child.join().unwrap();
    });
    let texts: Vec<&str> = failed
        .failure
        .remarks
        .iter()
        .map(|remark| remark.text.as_str())
        .collect();
    assert_eq!(texts[0], "panicked: the cause");
    assert!(texts[1].starts_with("panicked: called `Result::unwrap()`"));
}

#[test]
#[should_panic(expected = "only work inside of `raddle::check`")]
fn outside_of_a_check_there_is_a_message() {
    let _ = AtomicU32::new(0).load(SeqCst);
}

#[test]
fn what_comes_from_outside_is_refused() {
    let outside = std::sync::Arc::new(AtomicU32::new(0));
    let failed = fails(move || {
        let outside2 = outside.clone();
        let child = thread::spawn(move || outside2.load(SeqCst));
        outside.store(1, SeqCst);
        child.join().unwrap();
    });
    assert!(
        failed
            .failure
            .message
            .contains("create it inside the closure"),
        "{}",
        failed.failure.message
    );
}

#[test]
fn what_is_not_the_same_again_is_noticed() {
    let count = AtomicUsize::new(0);
    let failed = fails(move || {
        let value = Arc::new(AtomicU32::new(0));
        let value2 = value.clone();
        let child = thread::spawn(move || value2.store(1, SeqCst));
        if count.fetch_add(1, std::sync::atomic::Ordering::SeqCst) == 0 {
            value.load(SeqCst);
        } else {
            value.store(2, SeqCst);
        }
        child.join().unwrap();
    });
    assert_eq!(failed.failure.kind, FailureKind::Diverged);
    assert!(failed.failure.message.contains("first main reads"));
}

#[test]
fn several_checks_can_run_at_once() {
    static SHARED: Mutex<u32> = Mutex::new(0);
    let checks: Vec<_> = (0..3)
        .map(|_| {
            std::thread::spawn(|| {
                raddle::check(|| {
                    let child = thread::spawn(|| *SHARED.lock().unwrap() += 1);
                    *SHARED.lock().unwrap() += 1;
                    child.join().unwrap();
                    assert_eq!(*SHARED.lock().unwrap(), 2);
                });
            })
        })
        .collect();
    for check in checks {
        check.join().unwrap();
    }
}

/// Which steps there are is learned, and goes with the schedule.
#[test]
fn failures_of_programs_that_count_are_replayed() {
    fn replays(body: fn()) {
        let failed = Checker::new().run(body).unwrap_err();
        let again = Checker::new()
            .replay(&failed.schedule)
            .run(body)
            .unwrap_err();
        assert_eq!(
            again.failure.message, failed.failure.message,
            "{}",
            failed.schedule
        );
        assert_eq!(again.schedule, failed.schedule);
    }
    replays(|| {
        let counted = Arc::new(());
        let theirs = Arc::clone(&counted);
        let child = thread::spawn(move || Arc::strong_count(&theirs));
        drop(counted);
        assert_eq!(child.join().unwrap(), 1);
    });
    replays(|| {
        let barrier = Arc::new(raddle::sync::Barrier::new(2));
        let theirs = Arc::clone(&barrier);
        let child = thread::spawn(move || theirs.wait().is_leader());
        assert!(barrier.wait().is_leader());
        child.join().unwrap();
    });
    replays(|| {
        struct Stores(Arc<AtomicU32>);
        impl Drop for Stores {
            fn drop(&mut self) {
                self.0.store(1, SeqCst);
            }
        }
        let flag = Arc::new(AtomicU32::new(0));
        let one = Arc::new(Stores(Arc::clone(&flag)));
        let other = Arc::clone(&one);
        let child = thread::spawn(move || drop(other));
        drop(one);
        assert_eq!(flag.load(SeqCst), 1);
        child.join().unwrap();
    });
}
