//! `raddle::assume`: which executions are left out, and that all others are made.

use std::collections::BTreeSet;
use std::sync::{Arc as StdArc, Mutex as StdMutex};

use raddle::sync::atomic::{AtomicU32, Ordering::SeqCst};
use raddle::sync::{Arc, Mutex};
use raddle::{Checker, FailureKind, Report, thread};

/// What a program sees in the executions that count, by an explorer.
fn outcomes<F>(explorer: &str, body: F) -> (BTreeSet<Vec<u32>>, Report)
where
    F: Fn() -> Vec<u32> + Send + Sync + 'static,
{
    let seen = StdArc::new(StdMutex::new(BTreeSet::new()));
    let all = seen.clone();
    let report = Checker::new().explorer(explorer).check(move || {
        let found = body();
        all.lock().unwrap().insert(found);
    });
    let seen = seen.lock().unwrap().clone();
    (seen, report)
}

/// Small random programs: threads that store, add, load, lock, and assume something of what they have seen.
fn random_program(seed: u64) -> impl Fn() -> Vec<u32> + Send + Sync + 'static {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut random = move |below: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) % below
    };
    let mut threads = Vec::new();
    // Brute force takes all interleavings.
    let (count, most) = if random(3) == 0 { (3, 1) } else { (2, 3) };
    for _ in 0..count {
        let operations = 1 + random(most);
        threads.push(
            (0..operations)
                .map(|_| (random(5), random(2) as usize, random(3) as u32))
                .collect::<Vec<_>>(),
        );
    }
    move || {
        let shared = Arc::new((
            [AtomicU32::new(0), AtomicU32::new(0)],
            [Mutex::new(0), Mutex::new(0)],
        ));
        let threads: Vec<_> = threads
            .iter()
            .cloned()
            .map(|operations| {
                let shared = shared.clone();
                thread::spawn(move || {
                    let (atomics, mutexes) = &*shared;
                    let mut seen = 0;
                    for (kind, which, value) in operations {
                        seen = seen * 4
                            + match kind {
                                0 => atomics[which].swap(value, SeqCst),
                                1 => atomics[which].fetch_add(1, SeqCst),
                                2 => atomics[which].load(SeqCst),
                                3 => {
                                    let mut guard = mutexes[which].lock().unwrap();
                                    *guard += 1;
                                    // Who has the lock may stop too.
                                    raddle::assume(*guard != value + 1);
                                    *guard
                                }
                                _ => {
                                    raddle::assume(seen % 4 != value);
                                    0
                                }
                            };
                    }
                    seen
                })
            })
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .collect()
    }
}

/// Guards against cuts that keep executions from being found in which the assumption holds.
#[test]
fn all_explorers_see_what_brute_force_sees() {
    let (mut cut, mut vacuous) = (0, 0);
    for seed in 1..=60 {
        let (expected, all) = outcomes("dfs", random_program(seed));
        cut += u32::from(all.cut > 0);
        vacuous += u32::from(all.is_vacuous());
        assert_eq!(all.is_vacuous(), expected.is_empty(), "program {seed}");
        for explorer in ["optimal", "iterative"] {
            let (found, report) = outcomes(explorer, random_program(seed));
            assert_eq!(found, expected, "program {seed} with {explorer}");
            assert_eq!(
                report.is_vacuous(),
                all.is_vacuous(),
                "program {seed} with {explorer}"
            );
            assert_eq!(
                report.complete,
                !all.is_vacuous(),
                "program {seed} with {explorer}"
            );
        }
    }
    assert!(cut > 20, "only {cut} programs have executions that are cut");
    assert!(vacuous > 2, "only {vacuous} programs are vacuous");
}

/// If the execution ended where the assumption fails, nobody would learn of the store that makes it hold.
#[test]
fn what_makes_an_assumption_hold_is_found_behind_the_cut() {
    let (seen, report) = outcomes("optimal", || {
        let ready = Arc::new(AtomicU32::new(0));
        let other = ready.clone();
        let child = thread::spawn(move || other.store(1, SeqCst));
        raddle::assume(ready.load(SeqCst) == 1);
        child.join().unwrap();
        vec![1]
    });
    assert_eq!(seen, [vec![1]].into());
    assert_eq!(
        (report.executions, report.cut, report.complete),
        (2, 1, true)
    );
}

#[test]
fn a_check_in_which_no_assumption_holds_is_vacuous_and_not_complete() {
    let report = Checker::new().check(|| raddle::assume(false));
    assert_eq!((report.executions, report.cut), (1, 1));
    assert!(report.is_vacuous() && !report.complete);
    let report = Checker::new().check(|| raddle::assume(true));
    assert_eq!((report.executions, report.cut), (1, 0));
    assert!(!report.is_vacuous() && report.complete);
}

#[test]
fn who_waits_for_a_thread_that_has_stopped_is_no_deadlock_no_live_lock_and_no_leak() {
    let report = Checker::new().spin_limit(50).check(|| {
        let held = Arc::new((Mutex::new(0), AtomicU32::new(0)));
        let other = held.clone();
        let child = thread::spawn(move || {
            let _guard = other.0.lock().unwrap();
            raddle::assume(other.1.load(SeqCst) == 7);
            other.1.store(1, SeqCst);
        });
        if raddle::any_bool() {
            while held.1.load(SeqCst) == 0 {
                thread::yield_now();
            }
        }
        drop(held.0.lock());
        child.join().unwrap();
    });
    assert!(report.is_vacuous());
}

#[test]
fn a_failure_of_another_thread_counts_whoever_comes_first() {
    for explorer in ["dfs", "optimal", "iterative"] {
        let failed = Checker::new().explorer(explorer).run(|| {
            let number = Arc::new(AtomicU32::new(0));
            let other = number.clone();
            thread::spawn(move || raddle::assume(other.load(SeqCst) == 1));
            assert_ne!(number.load(SeqCst), 0, "main fails by itself");
        });
        let failed = failed.expect_err("main fails in all executions");
        assert_eq!(failed.failure.kind, FailureKind::Panic);
        assert!(failed.failure.message.contains("main fails by itself"));
    }
}
