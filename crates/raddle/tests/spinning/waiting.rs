//! Loops that wait for a flag, give up, or never end.

use std::sync::Arc;

use raddle::sync::Mutex;
use raddle::sync::atomic::{AtomicBool, AtomicU32, Ordering::SeqCst};
use raddle::{Checker, FailureKind, Options, hint, thread};

use crate::common::{self, all, all_with};
use crate::impatient;

#[test]
fn a_flag_is_waited_for() {
    let all = all(|| {
        let flag = Arc::new(AtomicBool::new(false));
        let flag2 = flag.clone();
        let child = thread::spawn(move || flag2.store(true, SeqCst));
        let mut rounds = 0;
        while !flag.load(SeqCst) {
            rounds += 1;
            hint::spin_loop();
        }
        child.join().unwrap();
        rounds
    });
    assert_eq!(all.outcomes, [0, 1].into());
    assert!(all.failures.is_empty(), "{:?}", all.messages);
}

#[test]
fn a_spin_lock_excludes() {
    let all = all(|| {
        let lock = Arc::new(AtomicBool::new(false));
        let value = Arc::new(AtomicU32::new(0));
        let children: Vec<_> = (0..2)
            .map(|_| {
                let (lock, value) = (lock.clone(), value.clone());
                thread::spawn(move || {
                    while lock.swap(true, SeqCst) {
                        thread::yield_now();
                    }
                    let seen = value.load(SeqCst);
                    value.store(seen + 1, SeqCst);
                    lock.store(false, SeqCst);
                })
            })
            .collect();
        for child in children {
            child.join().unwrap();
        }
        value.load(SeqCst)
    });
    assert_eq!(all.outcomes, [2].into());
    assert!(all.failures.is_empty(), "{:?}", all.messages);
}

#[test]
fn polling_under_a_lock_ends() {
    let all = all(|| {
        let ready = Arc::new(Mutex::new(false));
        let pollers: Vec<_> = (0..2)
            .map(|_| {
                let ready = ready.clone();
                thread::spawn(move || {
                    while !*ready.lock().unwrap() {
                        thread::yield_now();
                    }
                })
            })
            .collect();
        *ready.lock().unwrap() = true;
        for poller in pollers {
            poller.join().unwrap();
        }
    });
    assert_eq!(all.outcomes, [()].into());
    assert!(all.failures.is_empty(), "{:?}", all.messages);
}

#[test]
fn yielding_outside_of_a_loop_hides_nothing() {
    let all = all(|| {
        let value = Arc::new(AtomicU32::new(0));
        let value2 = value.clone();
        let child = thread::spawn(move || value2.store(1, SeqCst));
        thread::yield_now();
        let one = value.load(SeqCst);
        thread::sleep(std::time::Duration::from_secs(1));
        let two = value.load(SeqCst);
        child.join().unwrap();
        (one, two)
    });
    assert_eq!(all.outcomes, [(0, 0), (0, 1), (1, 1)].into());
}

#[test]
fn spinning_for_ever_is_a_live_lock() {
    let all = all_with(&impatient(), || {
        let flag = AtomicBool::new(false);
        while !flag.load(SeqCst) {
            thread::yield_now();
        }
    });
    assert_eq!(all.failures, [("LiveLock".to_owned(), 1)].into());
    let nothing = common::all_with(&impatient(), || {
        while std::hint::black_box(true) {
            thread::yield_now();
        }
    });
    assert_eq!(nothing.failures, [("LiveLock".to_owned(), 1)].into());
}

#[test]
fn a_loop_that_gives_up_does() {
    let all = all(|| {
        let flag = AtomicBool::new(false);
        let mut rounds = 0;
        while !flag.load(SeqCst) && rounds < 5 {
            rounds += 1;
            thread::yield_now();
        }
        rounds
    });
    assert_eq!(all.outcomes, [5].into());
    assert!(all.failures.is_empty(), "{:?}", all.messages);
}

#[test]
fn polling_the_end_of_a_thread_ends() {
    let all = all(|| {
        let child = thread::spawn(|| 3);
        while !child.is_finished() {
            thread::yield_now();
        }
        child.join().unwrap()
    });
    assert_eq!(all.outcomes, [3].into());
    assert!(all.failures.is_empty(), "{:?}", all.messages);
}

#[test]
fn no_end_in_sight_is_a_failure() {
    let mut options = Options::default();
    options.max_steps = 100;
    let all = all_with(&options, || {
        let value = AtomicU32::new(0);
        while std::hint::black_box(true) {
            value.fetch_add(1, SeqCst);
        }
    });
    assert_eq!(all.failures, [("TooManySteps".to_owned(), 1)].into());
}

/// Loops that give up when nothing moves any more: either may do so first.
#[test]
fn who_gives_up_first() {
    use raddle::sync::atomic::{AtomicUsize, Ordering::SeqCst};
    use std::collections::BTreeSet;
    use std::sync::{Arc, Mutex};

    let outcomes = Arc::new(Mutex::new(BTreeSet::new()));
    let seen = outcomes.clone();
    let report = raddle::Checker::new().explorer("optimal").check(move || {
        let flag = Arc::new(AtomicUsize::new(0));
        let last = Arc::new(AtomicUsize::new(0));
        let threads: Vec<_> = (1..=2)
            .map(|number| {
                let (flag, last) = (flag.clone(), last.clone());
                raddle::thread::spawn(move || {
                    for _ in 0..4 {
                        if flag.load(SeqCst) != 0 {
                            return;
                        }
                        raddle::thread::yield_now();
                    }
                    last.store(number, SeqCst);
                })
            })
            .collect();
        for thread in threads {
            thread.join().unwrap();
        }
        seen.lock().unwrap().insert(last.load(SeqCst));
    });
    assert!(report.complete);
    assert_eq!(*outcomes.lock().unwrap(), BTreeSet::from([1, 2]));
}

#[test]
fn a_loop_that_also_writes_ends() {
    let all = all(|| {
        let flag = Arc::new(AtomicBool::new(false));
        let flag2 = flag.clone();
        let rounds = AtomicU32::new(0);
        let child = thread::spawn(move || flag2.store(true, SeqCst));
        while !flag.load(SeqCst) {
            rounds.fetch_add(1, SeqCst);
            thread::yield_now();
        }
        child.join().unwrap();
        rounds.load(SeqCst)
    });
    // There is no bound, but so many iterations in a row.
    assert_eq!(all.outcomes, [0, 1, 2, 3, 4].into());
    assert!(all.failures.is_empty(), "{:?}", all.messages);
}

#[test]
fn consumers_that_poll_see_every_message() {
    let all = all(|| {
        let queue = Arc::new(Mutex::new(Vec::new()));
        let queue2 = queue.clone();
        let child = thread::spawn(move || {
            queue2.lock().unwrap().push(1);
            queue2.lock().unwrap().push(2);
        });
        let mut seen = Vec::new();
        while seen.len() < 2 {
            // The last one first: what is seen depends on when it is looked at.
            // The lock is still held while it yields.
            match queue.lock().unwrap().pop() {
                Some(message) => seen.push(message),
                None => thread::yield_now(),
            }
        }
        child.join().unwrap();
        seen
    });
    assert_eq!(all.outcomes, [vec![1, 2], vec![2, 1]].into());
    assert!(all.failures.is_empty(), "{:?}", all.messages);
}

/// Schedules do not say which loops give up: they can be run again by who does not know yet.
#[test]
fn what_happens_when_a_loop_gives_up_can_be_run_again() {
    let gives_up = || {
        let (flag, done) = (Arc::new(AtomicBool::new(false)), AtomicBool::new(false));
        let flag2 = flag.clone();
        let child = thread::spawn(move || flag2.store(true, SeqCst));
        for _ in 0..4 {
            if flag.load(SeqCst) {
                done.store(true, SeqCst);
                break;
            }
            thread::yield_now();
        }
        child.join().unwrap();
        assert!(done.load(SeqCst), "too impatient");
    };
    for explorer in ["optimal", "iterative", "dfs"] {
        let failed = Checker::new().explorer(explorer).run(gives_up);
        let failed = failed.unwrap_err();
        assert!(failed.failure.message.contains("too impatient"));
        let again = Checker::new().replay(&failed.schedule).run(gives_up);
        let again = again.unwrap_err();
        assert_eq!(again.failure.message, failed.failure.message);
        assert_eq!((again.executions, again.schedule), (1, failed.schedule));
    }
}

#[test]
fn a_live_lock_can_be_run_again() {
    let spins = || {
        let flag = Arc::new(AtomicU32::new(0));
        let theirs = flag.clone();
        let child = thread::spawn(move || {
            while theirs.load(SeqCst) != 2 {
                thread::yield_now();
            }
        });
        flag.store(1, SeqCst);
        while flag.load(SeqCst) != 3 {
            thread::yield_now();
        }
        child.join().unwrap();
    };
    let failed = Checker::new().spin_limit(30).run(spins).unwrap_err();
    assert_eq!(failed.failure.kind, FailureKind::LiveLock);
    let again = Checker::new().spin_limit(30).replay(&failed.schedule);
    let again = again.run(spins).unwrap_err();
    assert_eq!(again.failure.kind, FailureKind::LiveLock);
    // Who replays it does not know the loops yet, and is patient a little longer.
    assert_eq!(again.executions, 1);
    assert!(again.schedule.starts_with(&failed.schedule));
}

/// Each round takes one message, and there may be more.
#[test]
fn a_loop_that_gets_somewhere_goes_on() {
    use raddle::sync::mpsc::channel;
    let all = all(|| {
        let flag = Arc::new(AtomicBool::new(false));
        let flag2 = flag.clone();
        let (sender, receiver) = channel();
        let child = thread::spawn(move || {
            for message in 0..3 {
                sender.send(message).unwrap();
            }
            flag2.store(true, SeqCst);
        });
        let mut seen = 0;
        while seen < 3 {
            seen += u32::from(receiver.try_recv().is_ok());
            thread::yield_now();
        }
        let late = flag.load(SeqCst);
        child.join().unwrap();
        late
    });
    assert_eq!(all.outcomes, [false, true].into());
    assert!(all.failures.is_empty(), "{:?}", all.messages);
}

/// Only letting time pass is no step.
#[test]
fn a_delay_is_not_a_round() {
    let all = all(|| {
        let value = Arc::new(AtomicU32::new(0));
        let value2 = value.clone();
        let child = thread::spawn(move || value2.store(1, SeqCst));
        for _ in 0..1000 {
            hint::spin_loop();
        }
        let seen = value.load(SeqCst);
        child.join().unwrap();
        seen
    });
    assert_eq!((all.classes, all.outcomes), (2, [0, 1].into()));
}
