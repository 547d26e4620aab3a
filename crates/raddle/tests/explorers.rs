//! Which explorer runs, how far it goes, and what it says.

#[path = "../../report/tests/support/schema.rs"]
mod schema;

use std::time::{Duration, Instant};

use raddle::sync::Arc;
use raddle::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use raddle::{Checker, thread};

/// Threads that each add to one counter some times.
fn adds(threads: usize, times: usize) -> impl Fn() + Send + Sync {
    move || {
        let sum = Arc::new(AtomicUsize::new(0));
        let handles: Vec<_> = (0..threads)
            .map(|_| {
                let sum = sum.clone();
                thread::spawn(move || {
                    for _ in 0..times {
                        sum.fetch_add(1, SeqCst);
                    }
                })
            })
            .collect();
        for handle in handles {
            handle.join().unwrap();
        }
        assert_eq!(sum.load(SeqCst), threads * times);
    }
}

/// A thread that finds the counter at 2 when nobody has been between.
fn lost_update() {
    let sum = Arc::new(AtomicUsize::new(0));
    let other = {
        let sum = sum.clone();
        thread::spawn(move || sum.store(sum.load(SeqCst) + 1, SeqCst))
    };
    sum.store(sum.load(SeqCst) + 1, SeqCst);
    other.join().unwrap();
    assert_eq!(sum.load(SeqCst), 2);
}

#[test]
fn all_explorers_cover_a_small_program() {
    for explorer in ["optimal", "iterative"] {
        let checker = Checker::new().explorer(explorer).count_classes(true);
        let report = checker.check(adds(3, 2));
        assert_eq!(
            (report.classes, report.complete),
            (Some(90), true),
            "{explorer}"
        );
    }
    let report = Checker::new().check(adds(3, 2));
    assert_eq!((report.executions, report.complete), (90, true));
    let naive = Checker::new()
        .explorer("dfs")
        .count_classes(true)
        .check(adds(2, 2));
    assert_eq!((naive.classes, naive.complete), (Some(6), true));
    assert!(naive.executions > 6);
}

/// The cells of an array are numbered in the order in which threads come to them, and are told apart all the same: the closure is called once for each
/// class. (Before, 6,264 times for 3,328 classes of an array of eleven.)
#[test]
fn objects_are_told_apart_across_executions() {
    const SIZE: usize = 8;
    static STARTS: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);
    let report = Checker::new().reruns(0).check(|| {
        STARTS.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let cells: Arc<Vec<_>> = Arc::new((0..=SIZE).map(|_| AtomicUsize::new(0)).collect());
        let last_zero = cells.clone();
        let last_zero = thread::spawn(move || {
            let mut cells = last_zero.iter().rev();
            assert!(cells.any(|cell| cell.load(SeqCst) == 0));
        });
        for cell in 1..=SIZE {
            let cells = cells.clone();
            thread::spawn(move || cells[cell].store(cells[cell - 1].load(SeqCst) + 1, SeqCst));
        }
        last_zero.join().unwrap();
    });
    assert_eq!((report.executions, report.complete), (704, true));
    assert_eq!(STARTS.load(std::sync::atomic::Ordering::Relaxed), 704);
}

#[test]
fn a_bound_is_no_proof() {
    let report = Checker::new().bound(1).check(adds(3, 2));
    assert!(!report.complete);
    assert_eq!(report.bound, Some(1));
    let report = Checker::new().bound(40).check(adds(2, 1));
    assert!(report.complete, "no execution has so many preemptions");
}

#[test]
fn limits_are_honoured() {
    let report = Checker::new().max_executions(17).check(adds(3, 2));
    assert_eq!((report.executions, report.complete), (17, false));
    let report = Checker::new()
        .explorer("random")
        .seed(3)
        .max_executions(50)
        .check(adds(2, 1));
    assert_eq!((report.executions, report.complete), (50, false));
    let report = Checker::new()
        .max_duration(Duration::from_millis(50))
        .check(adds(4, 4));
    assert!(!report.complete);
}

/// The steps of these threads can be put in more orders than there are atoms.
#[test]
fn time_is_noticed_while_bounds_are_computed() {
    for explorer in ["iterative", "bounded", "algorithm1", "algorithm2", "cb-dfs"] {
        let begun = Instant::now();
        let report = Checker::new()
            .explorer(explorer)
            .max_duration(Duration::from_millis(300))
            .check(adds(30, 1));
        assert!(!report.complete, "{explorer}");
        let elapsed = begun.elapsed();
        assert!(
            elapsed < Duration::from_millis(1300),
            "{explorer}: {elapsed:?}"
        );
    }
}

#[test]
fn the_failure_with_the_fewest_preemptions_is_shown_and_replays() {
    let failed = Checker::new().run(lost_update).unwrap_err();
    assert!(
        failed.text.contains("2 context switches"),
        "{}",
        failed.text
    );
    let again = Checker::new()
        .replay(&failed.schedule)
        .run(lost_update)
        .unwrap_err();
    assert_eq!(again.failure.message, failed.failure.message);
    assert_eq!((again.executions, &again.schedule), (1, &failed.schedule));
}

#[test]
fn a_schedule_that_does_not_fit_is_refused() {
    let failed = Checker::new().replay("0*2,7").run(lost_update).unwrap_err();
    let message = &failed.failure.message;
    assert!(message.contains("there is no such thread"), "{message}");
}

#[test]
#[should_panic(expected = "there is no explorer `fast`; there are optimal, bounded")]
fn an_unknown_explorer_is_refused() {
    Checker::new().explorer("fast").check(|| ());
}

#[test]
fn reports_are_written() {
    let path = std::env::temp_dir().join(format!("raddle-report-{}.json", std::process::id()));
    Checker::new().report_file(&path).check(adds(2, 1));
    let report = std::fs::read_to_string(&path).unwrap();
    assert!(report.contains(r#""verdict": "verified""#), "{report}");
    fits(&report);
    let failed = Checker::new().report_file(&path).run(lost_update);
    let report = std::fs::read_to_string(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    assert!(report.contains(&failed.unwrap_err().schedule), "{report}");
    assert!(report.contains(r#""verdict": "violation""#), "{report}");
    fits(&report);
}

/// Two executions terminate, and one each fails, waits for itself, and is cut.
#[test]
fn every_execution_has_one_end_in_a_report() {
    let path = std::env::temp_dir().join(format!("raddle-ends-{}.json", std::process::id()));
    let checker = Checker::new().keep_going(true).report_file(&path);
    let failed = checker.run(|| match raddle::choose(0..5) {
        0 | 1 => {}
        2 => panic!("wrong"),
        3 => {
            let lock = raddle::sync::Mutex::new(());
            let _held = lock.lock();
            let _again = lock.lock();
        }
        _ => raddle::assume(false),
    });
    let failed = failed.unwrap_err();
    let report = std::fs::read_to_string(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    let report: serde_json::Value = serde_json::from_str(&report).unwrap();
    let ends = ["terminated", "failed", "deadlocked", "cut"];
    let counts = ends.map(|end| report["statistics"][end].as_u64().unwrap());
    assert_eq!(counts, [2, 1, 1, 1]);
    assert_eq!(report["exploration"]["executions"], 5);
    assert_eq!((failed.executions, failed.found.executions), (5, 2));
    assert_eq!(failed.schedule, failed.found.different[0].schedule);
}

/// What is written is what `docs/report.schema.json` says.
#[track_caller]
fn fits(report: &str) {
    let report = serde_json::from_str(report).unwrap();
    assert_eq!(schema::differences(&report), [""; 0]);
}

#[test]
fn the_verdict_in_a_report_follows_from_its_assumptions() {
    let path = std::env::temp_dir().join(format!("raddle-assumed-{}.json", std::process::id()));
    for (checker, kind) in [
        (Checker::new().max_executions(1), "executions"),
        (Checker::new().explorer("bounded").bound(0), "preemptions"),
        (Checker::new().explorer("pct").max_executions(9), "random"),
    ] {
        checker.report_file(&path).check(adds(2, 2));
        let report = std::fs::read_to_string(&path).unwrap();
        fits(&report);
        let report: serde_json::Value = serde_json::from_str(&report).unwrap();
        assert_eq!(report["verdict"], "inconclusive");
        let assumptions = report["assumptions"].as_array().unwrap().iter();
        let kinds: Vec<_> = assumptions.map(|one| &one["kind"]).collect();
        assert!(kinds.contains(&&kind.into()), "{report}");
    }
    std::fs::remove_file(&path).unwrap();
}

/// A stack whose nodes come from the heap, and go back there.
fn treiber_stack() {
    use raddle::sync::atomic::AtomicPtr;
    use std::ptr;

    struct Node {
        value: usize,
        next: *mut Node,
    }
    let head = Arc::new(AtomicPtr::new(ptr::null_mut::<Node>()));
    let push = |head: &AtomicPtr<Node>, value| {
        let node = Box::into_raw(Box::new(Node {
            value,
            next: ptr::null_mut(),
        }));
        loop {
            let next = head.load(SeqCst);
            // SAFETY: it is not in the stack yet.
            unsafe { (*node).next = next };
            if head.compare_exchange(next, node, SeqCst, SeqCst).is_ok() {
                return;
            }
        }
    };
    let threads: Vec<_> = (0..3)
        .map(|number| {
            let head = head.clone();
            thread::spawn(move || push(&head, number))
        })
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
    let mut sum = 0;
    let mut next = head.load(SeqCst);
    while !next.is_null() {
        // SAFETY: all threads have ended, and all nodes come from `push`.
        let node = unsafe { Box::from_raw(next) };
        sum += node.value;
        next = node.next;
    }
    assert_eq!(sum, 3);
}

#[test]
fn several_workers_run_each_class_once() {
    type Program = std::sync::Arc<dyn Fn() + Send + Sync>;
    let adds: Program = std::sync::Arc::new(adds(3, 2));
    let stack: Program = std::sync::Arc::new(treiber_stack);
    for (name, program) in [("adds", adds), ("stack", stack)] {
        for explorer in ["optimal", "iterative", "bounded", "algorithm2", "cb-dfs"] {
            let run = |workers: usize| {
                let program = program.clone();
                let checker = Checker::new().explorer(explorer).workers(workers);
                checker.count_classes(true).check(move || program())
            };
            let (alone, together) = (run(1), run(3));
            assert_eq!(together.executions, alone.executions, "{name}, {explorer}");
            assert_eq!(together.classes, alone.classes, "{name}, {explorer}");
            assert_eq!(together.complete, alone.complete, "{name}, {explorer}");
            assert_eq!(together.bound, alone.bound, "{name}, {explorer}");
        }
    }
}

#[test]
fn several_workers_find_what_one_finds() {
    for explorer in ["optimal", "iterative", "dfs", "random", "pct"] {
        let checker = Checker::new().explorer(explorer).workers(2);
        let failed = checker.run(lost_update).unwrap_err();
        assert!(failed.failure.message.contains("panicked"), "{explorer}");
        let again = Checker::new()
            .replay(&failed.schedule)
            .run(lost_update)
            .unwrap_err();
        assert_eq!(again.failure.message, failed.failure.message);
    }
}

/// Statics are fresh for each execution of each worker, and what one learns all know.
#[test]
fn several_workers_have_their_own_statics() {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    let program = || {
        let shared = Arc::new(raddle::sync::Mutex::new(0));
        let threads: Vec<_> = (0..3)
            .map(|_| {
                let shared = shared.clone();
                thread::spawn(move || {
                    COUNT.fetch_add(1, SeqCst);
                    Arc::strong_count(&shared)
                })
            })
            .collect();
        for thread in threads {
            assert!(thread.join().unwrap() <= 4);
        }
        assert_eq!(COUNT.load(SeqCst), 3);
    };
    let alone = Checker::new().explorer("optimal").check(program);
    let together = Checker::new().explorer("optimal").workers(3).check(program);
    // A count of references is read without acquiring, so there is more than schedules show.
    assert!(alone.exhausted && together.exhausted);
    assert_eq!(together.executions, alone.executions);
}

/// Limits hold for all workers together.
#[test]
fn several_workers_keep_to_limits() {
    let report = Checker::new()
        .explorer("optimal")
        .workers(3)
        .max_executions(50)
        .check(adds(3, 3));
    assert_eq!((report.executions, report.complete), (50, false));
}

/// A choice of many values costs nothing before they are taken, so limits hold.
#[test]
fn limits_hold_for_a_choice_of_many_values() {
    for explorer in ["optimal", "bounded", "dfs"] {
        for workers in [1, 2] {
            let begin = Instant::now();
            let report = Checker::new()
                .explorer(explorer)
                .workers(workers)
                .max_executions(1000)
                .check(|| {
                    let _ = raddle::choose(0..1_000_000);
                });
            assert_eq!((report.executions, report.complete), (1000, false));
            assert!(
                begin.elapsed() < Duration::from_secs(5),
                "{explorer}: {:?}",
                begin.elapsed()
            );
        }
    }
    let begin = Instant::now();
    let report = Checker::new()
        .explorer("optimal")
        .max_duration(Duration::from_millis(500))
        .check(|| {
            let _ = raddle::choose(0..1_000_000_000);
        });
    assert!(!report.complete);
    assert!(begin.elapsed() < Duration::from_secs(2));
}

/// All values are taken, once each.
#[test]
fn all_values_of_a_choice_are_taken() {
    for workers in [1, 2] {
        let checker = Checker::new().explorer("optimal").workers(workers);
        let report = checker.check(|| {
            let number = Arc::new(AtomicUsize::new(0));
            let other = number.clone();
            let child = thread::spawn(move || other.store(raddle::choose(0..100), SeqCst));
            number.store(raddle::choose(0..50), SeqCst);
            child.join().unwrap();
        });
        assert_eq!((report.executions, report.complete), (10_000, true));
    }
}
