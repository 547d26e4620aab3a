//! Whatever a check leaves out, bounds or guesses is listed, with its place, and then nothing is complete.

use raddle::Checker;
use raddle::sync::atomic::{AtomicU32, Ordering};
use raddle::sync::{Arc, Condvar, Mutex};
use raddle::{Assumed, Memory, Report, thread};

/// The kinds of the assumptions, each with the line of its place.
fn assumed(report: &Report) -> Vec<(Assumed, Option<u32>)> {
    let assumptions = report.assumptions.iter();
    assumptions
        .map(|one| (one.kind, one.place.map(|place| place.line())))
        .collect()
}

/// Two threads that add to a counter with this ordering.
fn adds(order: Ordering) -> impl Fn() + Send + Sync + 'static {
    move || {
        let count = Arc::new(AtomicU32::new(0));
        let other = Arc::clone(&count);
        let child = thread::spawn(move || other.fetch_add(1, order));
        count.fetch_add(1, Ordering::SeqCst);
        child.join().unwrap();
        assert_eq!(count.load(Ordering::SeqCst), 2);
    }
}

const LINE_OF_CHILD: u32 = line!() - 7;

#[test]
fn nothing_is_assumed_of_code_that_is_explored_as_it_is() {
    for explorer in ["optimal", "iterative", "dfs"] {
        let report = Checker::new()
            .explorer(explorer)
            .check(adds(Ordering::SeqCst));
        assert!(report.complete && report.exhausted, "{explorer}");
        assert_eq!(assumed(&report), [], "{explorer}");
    }
}

/// All orderings are run as sequentially consistent: what less of one allows is left out, and the check said that it was
/// complete.
#[test]
fn weak_orderings_are_not_complete_under_sequential_consistency() {
    for workers in [1, 2] {
        let report = Checker::new()
            .memory(Memory::Sc)
            .workers(workers)
            .check(adds(Ordering::Relaxed));
        assert!(!report.complete && report.exhausted);
        assert_eq!(
            assumed(&report),
            [(Assumed::WeakOrdering, Some(LINE_OF_CHILD))]
        );
    }
}

/// What they allow is explored by default, but for load buffering, which the memory model does not have.
#[test]
fn weak_orderings_are_complete_under_the_memory_model_of_rust() {
    for workers in [1, 2] {
        let report = Checker::new()
            .workers(workers)
            .check(adds(Ordering::Relaxed));
        assert!(report.complete && report.exhausted);
        assert_eq!(
            assumed(&report),
            [(Assumed::LoadBuffering, Some(LINE_OF_CHILD))]
        );
    }
}

/// A compare-exchange has two orderings, and either can be too weak.
#[test]
fn the_ordering_of_a_failure_counts() {
    let exchange = || {
        let value = AtomicU32::new(0);
        let _ = value.compare_exchange(1, 2, Ordering::SeqCst, Ordering::Relaxed);
    };
    let line = line!() - 2;
    let report = Checker::new().memory(Memory::Sc).check(exchange);
    assert!(!report.complete);
    assert_eq!(assumed(&report), [(Assumed::WeakOrdering, Some(line))]);
    let report = Checker::new().check(exchange);
    assert!(report.complete);
    assert_eq!(assumed(&report), [(Assumed::LoadBuffering, Some(line))]);
}

#[test]
fn weak_failures_that_never_happen_are_not_complete() {
    let exchange = || {
        let value = AtomicU32::new(0);
        let _ = value.compare_exchange_weak(0, 1, Ordering::SeqCst, Ordering::SeqCst);
    };
    let line = line!() - 2;
    let report = Checker::new().check(exchange);
    assert!(!report.complete && report.exhausted);
    assert_eq!(assumed(&report), [(Assumed::WeakFailures, Some(line))]);
    let report = Checker::new().weak_failures(true).check(exchange);
    assert!(report.complete);
}

/// A thread that can wait once more can also be woken for no reason once more.
#[test]
fn spurious_wake_ups_are_bounded() {
    let waits = || {
        let pair = Arc::new((Mutex::new(false), Condvar::new()));
        let other = Arc::clone(&pair);
        let child = thread::spawn(move || {
            *other.0.lock().unwrap() = true;
            other.1.notify_one();
        });
        let ready = pair.0.lock().unwrap();
        drop(pair.1.wait_while(ready, |ready| !*ready).unwrap());
        child.join().unwrap();
    };
    let report = Checker::new().check(waits);
    assert!(!report.complete && report.exhausted);
    let [(kind, Some(_))] = assumed(&report)[..] else {
        panic!("{report:?}")
    };
    assert_eq!(kind, Assumed::SpuriousWakeups);
}

#[test]
fn time_outs_that_never_happen_are_not_complete() {
    let parks = || thread::park_timeout(std::time::Duration::from_secs(1));
    let unparked = move || {
        thread::current().unpark();
        parks();
    };
    let report = Checker::new().timeouts(false).check(unparked);
    assert!(!report.complete && report.exhausted);
    assert_eq!(assumed(&report)[0].0, Assumed::Timeouts);
    assert!(Checker::new().check(unparked).complete);
}

#[test]
fn limits_are_listed() {
    let kinds = |checker: Checker| {
        let report = checker.check(adds(Ordering::SeqCst));
        assert!(!report.complete && !report.exhausted);
        let kinds = report.assumptions.iter().map(|one| one.kind);
        kinds.collect::<Vec<_>>()
    };
    let one = Checker::new().max_executions(1);
    assert_eq!(
        kinds(one.clone().explorer("optimal")),
        [Assumed::Executions]
    );
    assert_eq!(
        kinds(one.explorer("random")),
        [Assumed::Random, Assumed::Executions]
    );
    assert_eq!(kinds(Checker::new().replay("0")), [Assumed::OneSchedule]);
    let bounded = Checker::new().explorer("bounded").bound(0);
    assert_eq!(kinds(bounded), [Assumed::Preemptions]);
}

/// What a loop that was suspended would do if it chose now this and now that, or the ninth alternative, is not tried: the
/// check said that it was exhausted. Both loops can end before the flag is set.
#[test]
fn a_suspended_loop_that_chooses_is_a_limit() {
    fn polls(goes_on: impl Fn(&mut usize) -> bool + Send + Sync + 'static) -> Report {
        Checker::new().explorer("optimal").check(move || {
            let flag = Arc::new(AtomicU32::new(0));
            let other = Arc::clone(&flag);
            let child = thread::spawn(move || other.store(1, Ordering::SeqCst));
            let mut last = 0;
            while flag.load(Ordering::SeqCst) == 0 && goes_on(&mut last) {
                raddle::hint::spin_loop();
            }
            child.join().unwrap();
        })
    }
    let scouts = |report: &Report| {
        let mut kinds = report.assumptions.iter().map(|one| one.kind);
        kinds.any(|kind| kind == Assumed::Scouts)
    };
    let many = polls(|_| raddle::choose(0..9) < 8);
    assert!(!many.exhausted && scouts(&many), "{many:?}");
    let mixed = polls(|turn| {
        // It takes ten turns, each of which has to be chosen otherwise than the one before.
        *turn = if raddle::choose(0..2) == *turn % 2 {
            *turn + 1
        } else {
            0
        };
        *turn < 10
    });
    assert!(!mixed.exhausted && scouts(&mixed), "{mixed:?}");
    // Without a choice, one that comes after the same iterations.
    let none = polls(|_| true);
    assert!(none.exhausted && !scouts(&none), "{none:?}");
}

/// Others can see each iteration of such a loop, and not all of them are run.
#[test]
fn a_loop_that_changes_something_each_time_is_a_limit() {
    let counts = |rounds: u32| {
        Checker::new().check(move || {
            let counter = Arc::new(AtomicU32::new(0));
            let theirs = Arc::clone(&counter);
            let child = thread::spawn(move || theirs.swap(100, Ordering::SeqCst));
            for _ in 0..rounds {
                counter.fetch_add(1, Ordering::SeqCst);
                raddle::hint::spin_loop();
            }
            child.join().unwrap();
        })
    };
    let changing = |report: &Report| {
        let mut kinds = report.assumptions.iter().map(|one| one.kind);
        kinds.any(|kind| kind == Assumed::ChangingLoop)
    };
    let (few, many) = (counts(2), counts(20));
    assert!(few.exhausted && !changing(&few), "{few:?}");
    assert!(!many.exhausted && changing(&many), "{many:?}");
}
