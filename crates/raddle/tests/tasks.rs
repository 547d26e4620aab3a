//! `raddle::future::spawn`.

use std::collections::BTreeSet;
use std::sync::{Arc as StdArc, Mutex as StdMutex};

use raddle::future::{block_on, spawn};
use raddle::sync::Arc;
use raddle::sync::atomic::{AtomicU32, Ordering::SeqCst};
use raddle::{Checker, FailureKind};

#[test]
fn tasks_run_at_the_same_time_and_give_what_they_return() {
    let seen = StdArc::new(StdMutex::new(BTreeSet::new()));
    let all = seen.clone();
    let report = Checker::new().check(move || {
        let number = Arc::new(AtomicU32::new(0));
        let (one, two) = (number.clone(), number);
        let one = spawn(async move { one.swap(1, SeqCst) });
        let two = spawn(async move { two.swap(2, SeqCst) });
        let both = block_on(async { (one.await.unwrap(), two.await.unwrap()) });
        all.lock().unwrap().insert(both);
    });
    assert!(report.complete);
    assert_eq!(*seen.lock().unwrap(), [(0, 1), (2, 0)].into());
}

#[test]
fn a_task_that_waits_for_another_is_woken() {
    raddle::check(|| {
        let inner = spawn(async { 3 });
        let outer = spawn(async move { inner.await.unwrap() + 1 });
        assert_eq!(block_on(outer).unwrap(), 4);
    });
}

#[test]
fn a_panic_is_what_the_handle_gives() {
    raddle::check(|| {
        let task = spawn(async { std::panic::resume_unwind(Box::new(5_u32)) });
        let payload: Result<(), _> = block_on(task);
        assert_eq!(payload.unwrap_err().downcast_ref::<u32>(), Some(&5));
    });
}

#[test]
fn a_panic_that_nobody_sees_is_a_failure() {
    let failed = Checker::new().run(|| drop(spawn(async { panic!("nobody waits for it") })));
    let failed = failed.expect_err("the task panics");
    assert_eq!(failed.failure.kind, FailureKind::Panic);
    assert!(failed.failure.message.contains("nobody waits for it"));
}

#[test]
fn a_task_that_is_let_go_still_runs() {
    let report = Checker::new().check(|| {
        let number = Arc::new(AtomicU32::new(0));
        let other = number.clone();
        drop(spawn(async move { other.store(1, SeqCst) }));
        raddle::assume(number.load(SeqCst) == 1);
    });
    assert!(report.complete && report.cut < report.executions);
}

#[test]
fn a_task_that_is_never_woken_is_a_deadlock() {
    let failed = Checker::new().run(|| {
        let task = spawn(std::future::pending::<()>());
        drop(block_on(task));
    });
    assert_eq!(failed.unwrap_err().failure.kind, FailureKind::Deadlock);
}
