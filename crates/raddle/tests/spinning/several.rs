//! Several threads that poll, and loops that poll several objects.

use std::collections::VecDeque;
use std::sync::Arc;

use raddle::sync::Mutex;
use raddle::sync::atomic::{AtomicBool, AtomicU32, Ordering::SeqCst};
use raddle::{Assumed, Checker, FailureKind, hint, thread};

use crate::common::all;
use crate::ends;

/// Each consumer could change the queue in vain, which must not wake the other one for ever.
#[test]
fn two_consumers_poll_an_empty_queue() {
    ends(|| {
        let queue = Arc::new(Mutex::new(VecDeque::new()));
        let consume = |queue: &Mutex<VecDeque<u32>>| {
            loop {
                if let Some(item) = queue.lock().unwrap().pop_front() {
                    return item;
                }
                thread::yield_now();
            }
        };
        let consumers =
            [queue.clone(), queue.clone()].map(|queue| thread::spawn(move || consume(&queue)));
        queue.lock().unwrap().push_back(1);
        queue.lock().unwrap().push_back(2);
        let sum: u32 = consumers
            .into_iter()
            .map(|consumer| consumer.join().unwrap())
            .sum();
        assert_eq!(sum, 3);
    });
}

/// Something comes between giving back the lock and going round.
#[test]
fn two_threads_poll_under_a_lock_and_then_look_elsewhere() {
    ends(|| {
        let (value, stop) = (Arc::new(Mutex::new(0)), Arc::new(AtomicBool::new(false)));
        let poll = |value: &Mutex<u32>, stop: &AtomicBool| {
            while *value.lock().unwrap() == 0 && !stop.load(SeqCst) {
                thread::yield_now();
            }
        };
        let both = [0; 2].map(|_| {
            let (value, stop) = (value.clone(), stop.clone());
            thread::spawn(move || poll(&value, &stop))
        });
        *value.lock().unwrap() = 1;
        for thread in both {
            thread.join().unwrap();
        }
    });
}

#[test]
fn two_consumers_poll_an_empty_queue_and_then_look_elsewhere() {
    ends(|| {
        let work = Arc::new((Mutex::new(VecDeque::new()), AtomicBool::new(false)));
        let consumers = [0; 2].map(|_| {
            let work = work.clone();
            thread::spawn(move || {
                loop {
                    if let Some(item) = work.0.lock().unwrap().pop_front() {
                        return item;
                    }
                    if work.1.load(SeqCst) {
                        return 0;
                    }
                    thread::yield_now();
                }
            })
        });
        work.0.lock().unwrap().push_back(1);
        work.1.store(true, SeqCst);
        let sum: u32 = consumers
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .sum();
        assert!(sum <= 1);
    });
}

#[test]
fn a_loop_waits_for_the_last_reference_to_go() {
    ends(|| {
        let value = raddle::sync::Arc::new(1);
        let weak = raddle::sync::Arc::downgrade(&value);
        let other = thread::spawn(move || drop(value));
        while weak.upgrade().is_some() {
            thread::yield_now();
        }
        other.join().unwrap();
    });
}

/// The worker goes round the same way whether it has done something or not; what it does is seen in the
/// queue itself, or only in what the vector points to.
#[test]
fn a_worker_goes_round_and_does_something_each_time() {
    ends(|| {
        let work = Arc::new((Mutex::new(VecDeque::from([1, 2])), AtomicBool::new(false)));
        let worker = {
            let work = work.clone();
            thread::spawn(move || {
                let mut done = 0;
                while !work.1.load(SeqCst) {
                    done += work.0.lock().unwrap().pop_front().map_or(0, |_| 1);
                    thread::yield_now();
                }
                done
            })
        };
        while !work.0.lock().unwrap().is_empty() {
            thread::yield_now();
        }
        work.1.store(true, SeqCst);
        assert_eq!(worker.join().unwrap(), 2);
    });
    // That the worker changes something behind a pointer wakes the other thread once.
    let report = Checker::new().check(|| {
        let work = Arc::new((Mutex::new(vec![false; 3]), AtomicBool::new(false)));
        let worker = {
            let work = work.clone();
            thread::spawn(move || {
                while !work.1.load(SeqCst) {
                    if let Some(undone) = work.0.lock().unwrap().iter_mut().find(|done| !**done) {
                        *undone = true;
                    }
                    thread::yield_now();
                }
            })
        };
        while !work.0.lock().unwrap().iter().all(|&done| done) {
            thread::yield_now();
        }
        work.1.store(true, SeqCst);
        worker.join().unwrap();
    });
    assert!(!report.exhausted);
    assert!(report.assumptions.find(Assumed::LoopsDisturbed).is_some());
}

#[test]
fn polling_under_a_lock_for_ever_is_a_live_lock() {
    for threads in 1..=2 {
        let failed = Checker::new()
            .explorer("optimal")
            .run(move || {
                let queue = Arc::new(Mutex::new(VecDeque::<u32>::new()));
                let poll = |queue: &Mutex<VecDeque<u32>>| {
                    while queue.lock().unwrap().pop_front().is_none() {
                        thread::yield_now();
                    }
                };
                for _ in 1..threads {
                    let queue = queue.clone();
                    thread::spawn(move || poll(&queue));
                }
                poll(&queue);
            })
            .unwrap_err();
        assert_eq!(
            failed.failure.kind,
            FailureKind::LiveLock,
            "{threads} threads"
        );
    }
}

/// What a thread polls in turn from one line is all looked at: suspending it after the first queue would hide the message in the last one.
#[test]
fn a_scan_of_several_queues_looks_at_each() {
    fn poll(queues: &[Mutex<Vec<u32>>]) -> u32 {
        loop {
            for queue in queues {
                if let Some(message) = queue.lock().unwrap().pop() {
                    return message;
                }
                hint::spin_loop();
            }
        }
    }
    for explorer in ["optimal", "iterative", "dfs"] {
        let failed = Checker::new()
            .explorer(explorer)
            .run(|| {
                let queues = Arc::new([const { Mutex::new(Vec::new()) }; 3]);
                let ready = Arc::new(AtomicBool::new(false));
                let (theirs, set) = (queues.clone(), ready.clone());
                let child = thread::spawn(move || {
                    theirs[2].lock().unwrap().push(7);
                    set.store(true, SeqCst);
                    theirs[1].lock().unwrap().push(8);
                });
                poll(&*queues);
                assert!(ready.load(SeqCst), "a message before it is ready");
                child.join().unwrap();
            })
            .unwrap_err();
        assert!(
            failed.failure.message.contains("before it is ready"),
            "{explorer}"
        );
    }
}

/// The period of a scan is not found by comparing two iterations.
#[test]
fn a_scan_that_looks_twice_at_one_flag_looks_at_the_other() {
    let all = all(|| {
        let flags = Arc::new([const { AtomicU32::new(0) }; 2]);
        let flags2 = flags.clone();
        let child = thread::spawn(move || {
            flags2[1].store(1, SeqCst);
            flags2[0].store(2, SeqCst);
        });
        let mut turn = 0;
        let seen = loop {
            let seen = flags[[0, 0, 1][turn % 3]].load(SeqCst);
            if seen != 0 {
                break seen;
            }
            turn += 1;
            hint::spin_loop();
        };
        child.join().unwrap();
        seen
    });
    assert_eq!(all.outcomes, [1, 2].into());
    assert!(all.failures.is_empty(), "{:?}", all.messages);
}

/// Each thread that waits for a flag has seen it unset or not.
#[test]
fn threads_that_wait_for_one_flag_have_two_executions_each() {
    for threads in 1..=4 {
        let report = Checker::new().explorer("optimal").check(move || {
            let flag = Arc::new(AtomicBool::new(false));
            let waiting: Vec<_> = (0..threads)
                .map(|_| {
                    let flag = flag.clone();
                    thread::spawn(move || {
                        while !flag.load(SeqCst) {
                            hint::spin_loop();
                        }
                    })
                })
                .collect();
            flag.store(true, SeqCst);
            for thread in waiting {
                thread.join().unwrap();
            }
        });
        assert_eq!(report.executions, 1 << threads);
    }
}

/// What a lock protects is changed through a shared reference.
#[test]
fn cells_behind_a_lock_are_polled() {
    use std::cell::{Cell, RefCell};
    let all = all(|| {
        let cell = Arc::new(Mutex::new(Cell::new(0)));
        let list = Arc::new(Mutex::new(RefCell::new(Vec::new())));
        let (cell2, list2) = (cell.clone(), list.clone());
        let child = thread::spawn(move || {
            while cell2.lock().unwrap().get() != 1 {
                thread::yield_now();
            }
            list2.lock().unwrap().borrow_mut().push(2);
        });
        cell.lock().unwrap().set(1);
        let message = loop {
            if let Some(message) = list.lock().unwrap().borrow_mut().pop() {
                break message;
            }
            thread::yield_now();
        };
        child.join().unwrap();
        message
    });
    assert_eq!(all.outcomes, [2].into());
    assert!(all.failures.is_empty(), "{:?}", all.messages);
}

/// Two threads poll and answer each other through cells that are behind locks.
#[test]
fn a_ping_pong_of_cells_behind_a_lock_ends() {
    use std::cell::Cell;
    ends(|| {
        let turn = Arc::new(Mutex::new(Cell::new(0)));
        let player = |turn: &Mutex<Cell<u32>>, mine: u32| {
            for round in 0..2 {
                loop {
                    let guard = turn.lock().unwrap();
                    if guard.get() == 2 * round + mine {
                        guard.set(guard.get() + 1);
                        break;
                    }
                    drop(guard);
                    thread::yield_now();
                }
            }
        };
        let theirs = turn.clone();
        let child = thread::spawn(move || player(&theirs, 1));
        player(&turn, 0);
        child.join().unwrap();
        assert_eq!(turn.lock().unwrap().get(), 4);
    });
}
