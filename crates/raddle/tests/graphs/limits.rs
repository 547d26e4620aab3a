//! How far graphs are explored by default, after schedules.

use std::sync::atomic::{AtomicU32 as Plain, Ordering as PlainOrdering};

use raddle::sync::Arc;
use raddle::sync::atomic::{AtomicU32, Ordering::Relaxed};
use raddle::{Assumed, Checker, FailureKind, Memory, Report, thread};

/// Each thread stores to one atomic and reads all: with Relaxed, there are far more graphs than the default makes.
fn stores_and_reads(threads: usize) -> impl Fn() + Send + Sync + Clone + 'static {
    move || {
        let atomics: Arc<[AtomicU32]> = (0..threads).map(|_| AtomicU32::new(0)).collect();
        let all: Vec<_> = (0..threads)
            .map(|number| {
                let atomics = atomics.clone();
                thread::spawn(move || {
                    atomics[number].store(1, Relaxed);
                    atomics.iter().map(|one| one.load(Relaxed)).sum::<u32>()
                })
            })
            .collect();
        for thread in all {
            thread.join().unwrap();
        }
    }
}

/// Why not all executions under RC11 were run.
fn left_out_of_rc11(report: &Report) -> Option<&str> {
    let weak = report.assumptions.find(Assumed::WeakOrdering)?;
    weak.detail.as_deref()
}

#[test]
fn graphs_that_nobody_asked_for_take_a_limited_number_of_steps() {
    let small = Checker::new().check(stores_and_reads(3));
    assert!(small.complete, "{:?}", small.assumptions);
    let large = || Checker::new().check(stores_and_reads(5));
    let (first, again) = (large(), large());
    let why = left_out_of_rc11(&first).expect("there are more");
    let only = "not all executions under RC11 were run: only the first ";
    assert!(why.starts_with(only), "{why}");
    assert!(!first.complete);
    assert_eq!(Some(why), left_out_of_rc11(&again));
    assert_eq!(first.executions, again.executions);
}

/// The same where preemptions are bounded: there are few schedules, and the graphs are limited all the same.
#[test]
fn graphs_beside_bounded_schedules_are_limited_too() {
    let report = Checker::new().bound(1).check(stores_and_reads(5));
    assert_eq!(report.bound, Some(1));
    assert!(left_out_of_rc11(&report).is_some());
    assert!(report.executions < 100_000, "{}", report.executions);
}

/// Here an execution that is no schedule is not determined. The schedules are, so what is claimed of them holds.
#[test]
fn what_only_graphs_find_undetermined_is_no_failure_of_the_default() {
    static RUNS: Plain = Plain::new(0);
    let body = || {
        let data = Arc::new([const { AtomicU32::new(0) }; 3]);
        let theirs = data.clone();
        let child = thread::spawn(move || {
            theirs[0].store(1, Relaxed);
            theirs[1].store(1, Relaxed);
        });
        if data[1].load(Relaxed) == 1 && data[0].load(Relaxed) == 0 {
            data[2].store(RUNS.fetch_add(1, PlainOrdering::Relaxed), Relaxed);
            data[0].load(Relaxed);
        }
        child.join().unwrap();
    };
    let report = Checker::new().check(body);
    assert!(report.exhausted && !report.complete);
    let why = left_out_of_rc11(&report).expect("graphs are not determined");
    assert!(why.contains("does something else"), "{why}");
    let failed = Checker::new().memory(Memory::Rc11).run(body).unwrap_err();
    assert_eq!(failed.failure.kind, FailureKind::Diverged);
}
