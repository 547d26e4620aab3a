//! Futures that poll, loops around time-outs, and what a verdict says of suspended loops.

use std::future;
use std::sync::Arc;
use std::task::Poll;

use raddle::sync::Mutex;
use raddle::sync::atomic::{AtomicBool, AtomicU32, Ordering::SeqCst};
use raddle::{Checker, FailureKind, hint, thread};

use crate::common::all;
use crate::ends;

/// A future that wakes itself until another thread is done.
#[test]
fn a_future_that_wakes_itself_is_polled_again() {
    use std::task::Poll;
    let all = all(|| {
        let flag = Arc::new(AtomicBool::new(false));
        let flag2 = flag.clone();
        let child = thread::spawn(move || flag2.store(true, SeqCst));
        raddle::future::block_on(std::future::poll_fn(|context| {
            if flag.load(SeqCst) {
                return Poll::Ready(());
            }
            context.waker().wake_by_ref();
            Poll::Pending
        }));
        child.join().unwrap();
    });
    assert_eq!(all.outcomes, [()].into());
    assert!(all.failures.is_empty(), "{:?}", all.messages);
}

/// A future that counts how often it is polled gives up, while others can still move.
#[test]
fn a_future_that_gives_up_does() {
    use std::task::Poll;
    let all = all(|| {
        let flag = Arc::new(AtomicBool::new(false));
        let flag2 = flag.clone();
        let child = thread::spawn(move || flag2.store(true, SeqCst));
        let mut polled = Box::new(0);
        let seen = raddle::future::block_on(std::future::poll_fn(|context| {
            *polled += 1;
            if flag.load(SeqCst) || *polled == 3 {
                return Poll::Ready(*polled);
            }
            context.waker().wake_by_ref();
            Poll::Pending
        }));
        let late = flag.load(SeqCst);
        child.join().unwrap();
        (seen, late)
    });
    assert_eq!(
        all.outcomes,
        [(1, true), (2, true), (3, false), (3, true)].into()
    );
    assert!(all.failures.is_empty(), "{:?}", all.messages);
}

/// Waits that time out again and again come to an end.
#[test]
fn loops_around_timeouts_end() {
    use raddle::sync::{Condvar, mpsc};
    use std::time::Duration;
    let short = Duration::from_millis(1);
    ends(move || {
        let flag = Arc::new(AtomicBool::new(false));
        let (flag2, waiting) = (flag.clone(), thread::current());
        let child = thread::spawn(move || {
            flag2.store(true, SeqCst);
            waiting.unpark();
        });
        while !flag.load(SeqCst) {
            thread::park_timeout(short);
        }
        child.join().unwrap();
    });
    ends(move || {
        let pair = Arc::new((Mutex::new(false), Condvar::new()));
        let pair2 = pair.clone();
        let child = thread::spawn(move || {
            *pair2.0.lock().unwrap() = true;
            pair2.1.notify_one();
        });
        let mut done = pair.0.lock().unwrap();
        while !*done {
            done = pair.1.wait_timeout(done, short).unwrap().0;
        }
        drop(done);
        child.join().unwrap();
    });
    ends(move || {
        let (sender, receiver) = mpsc::channel();
        let child = thread::spawn(move || sender.send(1).unwrap());
        while receiver.recv_timeout(short).is_err() {}
        child.join().unwrap();
    });
}

/// A wait that times out a few times and then gives up does so while others can move.
#[test]
fn a_wait_that_times_out_three_times_gives_up() {
    use std::time::Duration;
    let all = all(|| {
        let flag = Arc::new(AtomicBool::new(false));
        let flag2 = flag.clone();
        let child = thread::spawn(move || flag2.store(true, SeqCst));
        let mut tries = 0;
        while !flag.load(SeqCst) && tries < 3 {
            thread::park_timeout(Duration::from_millis(1));
            tries += 1;
        }
        let late = flag.load(SeqCst);
        child.join().unwrap();
        (tries, late)
    });
    let seen = [(0, true), (1, true), (2, true), (3, false), (3, true)];
    assert_eq!(all.outcomes, seen.into());
    assert!(all.failures.is_empty(), "{:?}", all.messages);
}

/// A verdict that rests on a suspended loop says so, with its place, and is not complete.
#[test]
fn a_suspended_loop_is_an_assumption() {
    let report = Checker::new().explorer("optimal").check(|| {
        let flag = Arc::new(AtomicBool::new(false));
        let flag2 = flag.clone();
        let child = thread::spawn(move || flag2.store(true, SeqCst));
        while !flag.load(SeqCst) {
            hint::spin_loop();
        }
        child.join().unwrap();
    });
    assert!(report.exhausted && !report.complete);
    let assumed = report.assumptions.iter().map(|one| {
        let place = one.place.expect("a loop has a place");
        (one.kind, place.file().ends_with("futures.rs"))
    });
    assert_eq!(
        assumed.collect::<Vec<_>>(),
        [(raddle::Assumed::SuspendedLoop, true)]
    );
}

/// A loop that gives up by itself is explored as it is: nothing is assumed.
#[test]
fn a_loop_that_gives_up_is_no_assumption() {
    let report = Checker::new().explorer("optimal").check(|| {
        let flag = Arc::new(AtomicBool::new(false));
        let flag2 = flag.clone();
        let child = thread::spawn(move || flag2.store(true, SeqCst));
        for _ in 0..3 {
            if flag.load(SeqCst) {
                break;
            }
            hint::spin_loop();
        }
        child.join().unwrap();
    });
    assert!(report.complete);
}

/// What a loop counts on its stack, and acts on later, is seen.
#[test]
#[cfg(target_arch = "x86_64")]
fn a_loop_that_counts_to_three_and_begins_again() {
    let all = all(|| {
        let flag = Arc::new(AtomicBool::new(false));
        let flag2 = flag.clone();
        let child = thread::spawn(move || flag2.store(true, SeqCst));
        let mut turn = 0;
        while !flag.load(SeqCst) {
            turn = (turn + 1) % 3;
            hint::spin_loop();
        }
        child.join().unwrap();
        turn
    });
    assert_eq!(all.outcomes, [0, 1, 2].into());
}

/// What takes very many iterations to repeat on the stack, as the address of a buffer that grows does, is no reason to run all of them: the
/// loop would have a hundred executions.
#[test]
fn a_stack_that_repeats_late_does_not_count() {
    let report = raddle::Checker::new().check(|| {
        let flag = Arc::new(AtomicBool::new(false));
        let flag2 = flag.clone();
        let child = thread::spawn(move || flag2.store(true, SeqCst));
        let mut count = 0;
        while !flag.load(SeqCst) {
            count = std::hint::black_box(100.min(count + 1));
            hint::spin_loop();
        }
        child.join().unwrap();
        assert!(count <= 100);
    });
    assert!(report.executions <= 4, "{}", report.executions);
    assert!(!report.complete, "the loop is assumed to do the same");
}

/// A scout runs the execution so far once more. One for each iteration of a loop without an end would take time that grows with the square of the steps.
#[test]
fn no_scouts_are_sent_from_an_execution_that_ends_the_check() {
    async fn again() {
        let mut is_ready = false;
        future::poll_fn(move |context| {
            if is_ready {
                return Poll::Ready(());
            }
            is_ready = true;
            context.waker().wake_by_ref();
            Poll::Pending
        })
        .await;
    }
    let runs = Arc::new(std::sync::atomic::AtomicU32::new(0));
    let counted = runs.clone();
    let failed = Checker::new().max_steps(5_000).run(move || {
        counted.fetch_add(1, SeqCst);
        let word = Arc::new(AtomicU32::new(1));
        let other = word.clone();
        thread::spawn(move || other.fetch_add(1, SeqCst));
        raddle::future::block_on(async {
            loop {
                again().await;
                if word.fetch_xor(1, SeqCst) == 0 {
                    break;
                }
                again().await;
            }
        });
    });
    assert_eq!(failed.unwrap_err().failure.kind, FailureKind::TooManySteps);
    assert!(runs.load(SeqCst) < 200, "{}", runs.load(SeqCst));
}
