//! Loops that continue because no thread can do anything else: they take turns, and a program that ends under every fair schedule does not fail.

use std::cell::Cell;
use std::time::Duration;

use raddle::sync::atomic::{AtomicU32, Ordering::SeqCst};
use raddle::sync::{Arc, Condvar, Mutex, RwLock};
use raddle::{Assumed, Checker, FailureKind, Report, thread};

/// A buffer for one number.
trait Slot: Send + Sync + 'static {
    /// Exchanges one number for another, if it is there.
    fn exchange(&self, from: u32, to: u32) -> bool;
}

impl Slot for Mutex<u32> {
    fn exchange(&self, from: u32, to: u32) -> bool {
        let mut slot = self.lock().unwrap();
        let found = *slot == from;
        if found {
            *slot = to;
        }
        found
    }
}

impl Slot for Mutex<Box<u32>> {
    fn exchange(&self, from: u32, to: u32) -> bool {
        let mut slot = self.lock().unwrap();
        let found = **slot == from;
        if found {
            **slot = to;
        }
        found
    }
}

impl Slot for Mutex<Vec<u32>> {
    fn exchange(&self, from: u32, to: u32) -> bool {
        let mut slot = self.lock().unwrap();
        let found = slot[0] == from;
        if found {
            slot[0] = to;
        }
        found
    }
}

/// Nobody needs an exclusive reference to change it.
impl Slot for Mutex<Box<Cell<u32>>> {
    fn exchange(&self, from: u32, to: u32) -> bool {
        let slot = self.lock().unwrap();
        let found = slot.get() == from;
        if found {
            slot.set(to);
        }
        found
    }
}

impl Slot for RwLock<Box<u32>> {
    fn exchange(&self, from: u32, to: u32) -> bool {
        let mut slot = self.write().unwrap();
        let found = **slot == from;
        if found {
            **slot = to;
        }
        found
    }
}

/// One thread fills a buffer and another one empties it, as often as this. Who finds nothing to do tries again.
fn hand_over<S: Slot>(new: fn() -> S, rounds: u32) -> impl Fn() + Send + Sync + 'static {
    move || {
        let slot = Arc::new(new());
        let other = slot.clone();
        let producer = thread::spawn(move || {
            for _ in 0..rounds {
                while !other.exchange(0, 1) {
                    thread::yield_now();
                }
            }
        });
        let mut taken = 0;
        while taken < rounds {
            taken += u32::from(slot.exchange(1, 0));
            thread::yield_now();
        }
        producer.join().unwrap();
    }
}

const EXPLORERS: [&str; 5] = ["optimal", "iterative", "bounded", "dfs", "random"];

fn check_all<S: Slot>(new: fn() -> S) {
    for rounds in [1, 2, 3, 4, 5, 40] {
        for explorer in EXPLORERS {
            let most = if rounds > 5 { 3 } else { 50 };
            let checker = Checker::new().explorer(explorer).max_executions(most);
            let report = checker.check(hand_over(new, rounds));
            assert!(report.executions > 0);
        }
    }
}

#[test]
fn a_number_behind_a_pointer_is_handed_over() {
    check_all(|| Mutex::new(Box::new(0)));
}

#[test]
fn an_element_is_handed_over() {
    check_all(|| Mutex::new(vec![0]));
}

#[test]
fn a_cell_behind_a_pointer_is_handed_over() {
    check_all(|| Mutex::new(Box::new(Cell::new(0))));
}

#[test]
fn a_number_behind_a_pointer_is_handed_over_under_a_lock_for_writing() {
    check_all(|| RwLock::new(Box::new(0)));
}

#[test]
fn a_number_is_handed_over() {
    check_all(|| Mutex::new(0));
}

/// There are more hand-overs than iterations in vain that make a live-lock.
#[test]
fn it_is_no_live_lock_if_something_may_have_changed() {
    let checker = Checker::new().spin_limit(20).max_executions(3);
    let report = checker.check(hand_over(|| Mutex::new(Box::new(0)), 100));
    assert!(report.executions > 0);
}

/// What wakes nobody may be missed, and the report says so.
#[test]
fn what_may_be_missed_behind_a_pointer_is_an_assumption() {
    let checker = || Checker::new().max_executions(5_000);
    let disturbed = |report: &Report| report.assumptions.find(Assumed::LoopsDisturbed).is_some();
    let boxed = checker().check(hand_over(|| Mutex::new(Box::new(0)), 2));
    assert!(disturbed(&boxed) && !boxed.exhausted, "{boxed:?}");
    let plain = checker().check(hand_over(|| Mutex::new(0), 2));
    assert!(!disturbed(&plain) && plain.exhausted, "{plain:?}");
}

/// What two threads poll may be behind a pointer, but nobody changes it.
#[test]
fn threads_that_poll_behind_a_pointer_for_ever_fail() {
    let failed = Checker::new().max_steps(5_000).run(|| {
        let slot = Arc::new(Mutex::new(Box::new(0)));
        let other = slot.clone();
        let poll = |slot: &Mutex<Box<u32>>| {
            while !slot.exchange(1, 2) {
                thread::yield_now();
            }
        };
        thread::spawn(move || poll(&other));
        poll(&slot);
    });
    assert_eq!(failed.unwrap_err().failure.kind, FailureKind::TooManySteps);
    let failed = Checker::new().run(|| {
        let slot = Mutex::new(Box::new(0));
        while !slot.exchange(1, 2) {
            thread::yield_now();
        }
    });
    assert_eq!(failed.unwrap_err().failure.kind, FailureKind::LiveLock);
}

/// Threads that give up after many iterations each: all of them together make more than one may.
fn give_up(threads: u32, rounds: u32) -> impl Fn() + Send + Sync + 'static {
    move || {
        let (done, never) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicU32::new(0)));
        let children: Vec<_> = (0..threads)
            .map(|_| {
                let (done, never) = (done.clone(), never.clone());
                thread::spawn(move || {
                    for _ in 0..rounds {
                        if never.load(SeqCst) == 1 {
                            break;
                        }
                        thread::yield_now();
                    }
                    done.fetch_add(1, SeqCst);
                })
            })
            .collect();
        while done.load(SeqCst) < threads {
            thread::yield_now();
        }
        for child in children {
            child.join().unwrap();
        }
    }
}

#[test]
fn iterations_of_several_threads_are_not_added_up() {
    for explorer in EXPLORERS {
        let checker = Checker::new().explorer(explorer).max_executions(20);
        assert!(checker.check(give_up(3, 400)).executions > 0);
    }
}

#[test]
fn iterations_of_several_loops_are_not_added_up() {
    for explorer in EXPLORERS {
        let checker = Checker::new().explorer(explorer).max_executions(20);
        let report = checker.check(|| {
            let (done, never) = (Arc::new(AtomicU32::new(0)), AtomicU32::new(0));
            let other = done.clone();
            let child = thread::spawn(move || {
                for _ in 0..700 {
                    if never.load(SeqCst) == 1 {
                        return;
                    }
                    thread::yield_now();
                }
                for _ in 0..700 {
                    if never.load(SeqCst) == 2 {
                        return;
                    }
                    thread::yield_now();
                }
                other.store(1, SeqCst);
            });
            while done.load(SeqCst) == 0 {
                thread::yield_now();
            }
            child.join().unwrap();
        });
        assert!(report.executions > 0);
    }
}

/// Threads that spin for ever still do.
#[test]
fn a_live_lock_is_found() {
    let failed = Checker::new().run(|| {
        let never = Arc::new((AtomicU32::new(0), Mutex::new(0), Condvar::new()));
        let (one, two) = (never.clone(), never.clone());
        thread::spawn(move || {
            while one.0.load(SeqCst) == 0 {
                thread::yield_now();
            }
        });
        thread::spawn(move || {
            let mut number = two.1.lock().unwrap();
            while *number == 0 {
                let moment = Duration::from_millis(1);
                number = two.2.wait_timeout(number, moment).unwrap().0;
            }
        });
        while *never.1.lock().unwrap() == 0 {
            thread::yield_now();
        }
    });
    assert_eq!(failed.unwrap_err().failure.kind, FailureKind::LiveLock);
}
