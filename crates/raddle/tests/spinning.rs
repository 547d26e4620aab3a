//! Loops that wait for other threads.

mod common;

use common::{all, all_with};
use raddle::sync::Mutex;
use raddle::sync::atomic::{AtomicBool, AtomicU32, Ordering::SeqCst};
use raddle::{Assumed, Checker, FailureKind, Options, hint, thread};
use std::collections::VecDeque;
use std::sync::Arc;

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

fn impatient() -> Options {
    let mut options = Options::default();
    options.spin_limit = 20;
    options
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

/// Under every explorer, all schedules are covered but for those that suspended loops leave out, and nothing fails.
fn ends(body: impl Fn() + Clone + Send + Sync + 'static) {
    for (explorer, workers) in [("optimal", 1), ("algorithm2", 1), ("optimal", 3)] {
        let checker = Checker::new().explorer(explorer).workers(workers);
        // More preemptions than any execution has.
        let report = checker
            .bound(1_000)
            .max_executions(50_000)
            .check(body.clone());
        assert!(report.exhausted, "{explorer}, {workers} workers");
    }
}

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
        (one.kind, place.file().ends_with("spinning.rs"))
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
