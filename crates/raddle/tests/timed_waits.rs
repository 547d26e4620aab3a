//! Loops around waits that time out, in several threads, and checks of which no execution comes to its end.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use raddle::sync::atomic::{AtomicU32, Ordering::SeqCst};
use raddle::sync::{Arc, Condvar, Mutex};
use raddle::{Assumed, Checker, Report, thread};

const MOMENT: Duration = Duration::from_millis(1);

/// Two threads that hand a number to each other, as often as this. Nobody notifies.
fn two_pollers(rounds: u32) -> impl Fn() + Send + Sync + 'static {
    move || {
        let shared = Arc::new((Mutex::new(0), Condvar::new()));
        let other = shared.clone();
        let child = thread::spawn(move || {
            let mut number = other.0.lock().unwrap();
            for round in 0..rounds {
                *number = 2 * round + 1;
                while *number == 2 * round + 1 {
                    number = other.1.wait_timeout(number, MOMENT).unwrap().0;
                }
            }
        });
        let mut number = shared.0.lock().unwrap();
        for round in 0..rounds {
            while *number != 2 * round + 1 {
                number = shared.1.wait_timeout(number, MOMENT).unwrap().0;
            }
            *number = 2 * round + 2;
        }
        drop(number);
        child.join().unwrap();
    }
}

/// A thread that sleeps, because it has chosen not to time out, leaves the other one to poll for nothing. That one was taken to leave its loop when it chose not to time out
/// either, and was allowed more and more iterations: no execution ever counted.
#[test]
fn two_threads_poll_by_waits_that_time_out() {
    for explorer in ["optimal", "iterative", "bounded", "dfs"] {
        for spurious in [0, 1] {
            let checker = Checker::new().explorer(explorer).spurious_wakeups(spurious);
            let checker = checker.bound(if explorer == "bounded" { 40 } else { u32::MAX });
            let report = checker.max_executions(20_000).check(two_pollers(1));
            assert!(report.exhausted, "{explorer}, {spurious}: {report:?}");
        }
    }
    let report = Checker::new().spurious_wakeups(0).check(two_pollers(2));
    assert!(report.exhausted, "{report:?}");
}

/// What is infeasible is run and given up, and does not count.
#[test]
fn executions_that_are_infeasible_do_not_use_up_those_that_are_allowed() {
    let check = |most: u64| -> Report {
        let checker = Checker::new().explorer("optimal").spurious_wakeups(0);
        checker.max_executions(most).check(two_pollers(2))
    };
    let report = check(7);
    assert_eq!(report.executions, 7);
    let limit = report.assumptions.find(Assumed::Executions).unwrap();
    let detail = limit.detail.as_ref().unwrap();
    assert!(detail.contains("others were infeasible"), "{detail}");
}

/// Not one of the executions ends that were allowed, or there is no time for one: it seemed that all is well.
#[test]
fn a_check_without_an_execution_does_not_pass() {
    let says = |checker: Checker, body: fn()| {
        let checked = catch_unwind(AssertUnwindSafe(|| checker.run(body)));
        let panic = checked.expect_err("nothing was checked");
        let message = panic.downcast_ref::<String>().unwrap();
        assert!(message.contains("nothing was checked"), "{message}");
        message.clone()
    };
    let late = Checker::new().max_duration(Duration::ZERO);
    let message = says(late, || {
        let number = AtomicU32::new(0);
        for _ in 0..100_000 {
            number.store(1, SeqCst);
        }
    });
    assert!(message.contains("time"), "{message}");
    // It never ends in time: nobody unparks it.
    let replayed = Checker::new().replay("0,0:0");
    says(replayed, || thread::park_timeout(MOMENT));
}
