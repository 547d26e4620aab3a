//! Programs that were once judged wrong: each found its way past the checker, or was refused although it is right.

use std::ptr::null_mut;
use std::time::Duration;

use raddle::cell::UnsafeCell;
use raddle::hint::spin_loop;
use raddle::sync::atomic::{AtomicPtr, AtomicU32, Ordering::SeqCst};
use raddle::sync::{Arc, Condvar, Mutex, RwLock, mpsc};
use raddle::{Assumed, Checker, FailureKind, Report, thread};

const EXHAUSTIVE: [&str; 5] = ["optimal", "dfs", "bounded", "iterative", "algorithm2"];

/// Every explorer finds that it panics with this message.
fn finds(message: &str, body: fn()) {
    for explorer in EXHAUSTIVE {
        for workers in [1, 2] {
            let checker = Checker::new().explorer(explorer).workers(workers);
            let checker = if explorer == "bounded" {
                checker.bound(4)
            } else {
                checker
            };
            let failure = checker.run(body).map_or_else(
                |failed| failed.failure.message,
                |report| format!("{report:?}"),
            );
            assert!(
                failure.contains(message),
                "{explorer}, {workers} workers: {failure}"
            );
        }
    }
}

fn numbers() -> [Arc<AtomicU32>; 2] {
    [0, 0].map(|value| Arc::new(AtomicU32::new(value)))
}

fn wait(number: &AtomicU32, value: u32, limit: u32) -> bool {
    let mut looks = 0;
    while number.load(SeqCst) != value {
        looks += 1;
        if looks == limit {
            return false;
        }
        spin_loop();
    }
    true
}

/// What a scout has found of the first loop does not hold for the second, at the same place.
#[test]
fn a_function_that_polls_is_called_with_another_limit() {
    finds("gives up", || {
        let [x, y] = numbers();
        let child = {
            let (x, y) = (x.clone(), y.clone());
            thread::spawn(move || {
                x.store(1, SeqCst);
                y.store(1, SeqCst);
            })
        };
        wait(&x, 1, u32::MAX);
        assert!(wait(&y, 1, 2), "gives up");
        child.join().unwrap();
    });
}

#[test]
fn a_loop_gives_up_in_its_second_phase() {
    finds("gives up", || {
        let [x, _] = numbers();
        let child = {
            let x = x.clone();
            thread::spawn(move || {
                x.store(1, SeqCst);
                x.store(2, SeqCst);
            })
        };
        let mut looks = 0;
        loop {
            match x.load(SeqCst) {
                0 => {}
                1 => {
                    looks += 1;
                    assert!(looks < 3, "gives up");
                }
                _ => break,
            }
            spin_loop();
        }
        child.join().unwrap();
    });
}

/// The data behind the lock decides, which no operation shows.
#[test]
fn a_loop_gives_up_after_what_it_found_behind_a_lock() {
    finds("gives up", || {
        let number = Arc::new(Mutex::new(0));
        let child = {
            let number = number.clone();
            thread::spawn(move || {
                *number.lock().unwrap() = 1;
                *number.lock().unwrap() = 2;
            })
        };
        let mut looks = 0;
        loop {
            let found = number.try_lock().map_or(0, |guard| *guard);
            if found == 2 {
                break;
            }
            if found == 1 {
                looks += 1;
                assert!(looks < 3, "gives up");
            }
            thread::yield_now();
        }
        child.join().unwrap();
    });
}

/// Only the last of many states in which the loop is suspended is one in which it gives up.
#[test]
fn a_loop_gives_up_late() {
    for explorer in ["optimal", "iterative"] {
        let failed = Checker::new().explorer(explorer).run(|| {
            let [x, y] = numbers();
            let child = {
                let (x, y) = (x.clone(), y.clone());
                thread::spawn(move || {
                    for value in 1..=6 {
                        x.store(value, SeqCst);
                    }
                    y.store(1, SeqCst);
                })
            };
            let mut looks = 0;
            loop {
                if x.load(SeqCst) == 6 {
                    looks += 1;
                    assert!(looks < 6, "gives up");
                }
                if y.load(SeqCst) == 1 {
                    break;
                }
                spin_loop();
            }
            child.join().unwrap();
        });
        let failure = failed.expect_err(explorer).failure;
        assert!(failure.message.contains("gives up"), "{failure:?}");
    }
}

/// Iterations that change something take turns with others that do not.
#[test]
fn a_request_is_sent_again() {
    finds("sent twice", || {
        let [x, y] = numbers();
        let child = {
            let (x, y) = (x.clone(), y.clone());
            thread::spawn(move || {
                let requests = x.load(SeqCst);
                y.store(1, SeqCst);
                requests
            })
        };
        while y.load(SeqCst) == 0 {
            x.fetch_add(1, SeqCst);
            for _ in 0..2 {
                if y.load(SeqCst) == 1 {
                    break;
                }
                spin_loop();
            }
        }
        assert!(child.join().unwrap() < 2, "sent twice");
    });
}

/// They are suspended although not every iteration changes something.
#[test]
fn loops_that_count_now_and_then_come_to_an_end() {
    // Others could see each change, and not all are run.
    let is_cut = |report: &Report| {
        let mut kinds = report.assumptions.iter().map(|one| one.kind);
        !report.exhausted && kinds.any(|kind| kind == Assumed::ChangingLoop)
    };
    let report = Checker::new().check(|| {
        let [x, z] = numbers();
        let child = {
            let x = x.clone();
            thread::spawn(move || x.store(1, SeqCst))
        };
        let mut looks = 0;
        while x.load(SeqCst) == 0 {
            looks += 1;
            if looks % 2 == 0 {
                z.fetch_add(1, SeqCst);
            }
            spin_loop();
        }
        child.join().unwrap();
    });
    assert!(is_cut(&report), "{report:?}");
    let report = Checker::new().check(|| {
        let [x, z] = numbers();
        let child = {
            let x = x.clone();
            thread::spawn(move || x.store(1, SeqCst))
        };
        'waits: loop {
            for _ in 0..2 {
                if x.load(SeqCst) == 1 {
                    break 'waits;
                }
                spin_loop();
            }
            z.fetch_add(1, SeqCst);
            thread::yield_now();
        }
        child.join().unwrap();
    });
    assert!(is_cut(&report), "{report:?}");
}

/// Each of two loops undoes what the other waits for: none of them is ever undisturbed.
#[test]
fn loops_that_disturb_each_other_come_to_an_end() {
    let report = Checker::new().check(|| {
        let [x, z] = numbers();
        let poller = {
            let (x, z) = (x.clone(), z.clone());
            thread::spawn(move || {
                while x.load(SeqCst) == 0 {
                    z.fetch_xor(1, SeqCst);
                    spin_loop();
                }
            })
        };
        let setter = {
            let x = x.clone();
            thread::spawn(move || x.store(1, SeqCst))
        };
        while x.load(SeqCst) == 0 {
            z.fetch_xor(2, SeqCst);
            spin_loop();
        }
        poller.join().unwrap();
        setter.join().unwrap();
    });
    assert!(report.assumptions.find(Assumed::SuspendedLoop).is_some());
    assert!(!report.complete);
}

/// A send that finds the receiver gone could also have found the channel full, or have come first.
#[test]
fn a_send_that_fails_late_may_come_early() {
    for explorer in EXHAUSTIVE {
        let checker = Checker::new().explorer(explorer);
        let checker = if explorer == "bounded" {
            checker.bound(2)
        } else {
            checker
        };
        let failed = checker.run(|| {
            let (sender, receiver) = mpsc::sync_channel(1);
            let other = sender.clone();
            let child = thread::spawn(move || {
                let _ = other.send(1);
            });
            sender.send(2).unwrap();
            drop(receiver);
            child.join().unwrap();
        });
        let failure = failed.expect_err(explorer).failure;
        assert_eq!(failure.kind, FailureKind::Deadlock, "{explorer}");
    }
    finds("the channel was full", || {
        let (sender, receiver) = mpsc::sync_channel(1);
        let other = sender.clone();
        let child = thread::spawn(move || other.send(7).is_ok());
        let first = sender.try_send(0).is_ok();
        drop(receiver);
        assert!(first, "the channel was full");
        child.join().unwrap();
    });
}

struct Cell(UnsafeCell<u32>);

// SAFETY: who has the only reference uses it, or who is told to by who has.
unsafe impl Send for Cell {}
// SAFETY: as above.
unsafe impl Sync for Cell {}

/// Finding that a reference is the only one synchronises with the drops of the others.
#[test]
fn the_only_reference_comes_after_the_others() {
    let report = Checker::new().check(|| {
        let mut cell = Arc::new(Cell(UnsafeCell::new(0)));
        let other = cell.clone();
        let child = thread::spawn(move || {
            // SAFETY: the main thread looks only when this reference is gone.
            other.0.with_mut(|value| unsafe { *value = 1 });
            drop(other);
        });
        if let Some(cell) = Arc::get_mut(&mut cell) {
            // SAFETY: there is no other reference.
            cell.0.with(|value| unsafe { assert_eq!(*value, 1) });
        }
        child.join().unwrap();
    });
    assert!(report.complete, "{report:?}");
}

/// A thread that has ended is not thereby synchronised with.
#[test]
fn that_a_thread_has_ended_is_no_synchronisation() {
    let failed = Checker::new().run(|| {
        let cell = Arc::new(Cell(UnsafeCell::new(0)));
        let other = cell.clone();
        let child = thread::spawn(move || {
            // SAFETY: it is not: this is the race.
            other.0.with_mut(|value| unsafe { *value = 1 });
        });
        if child.is_finished() {
            // SAFETY: it is not: this is the race.
            cell.0.with(|value| unsafe { *value });
        }
        child.join().unwrap();
    });
    assert_eq!(
        failed.expect_err("a race").failure.kind,
        FailureKind::DataRace
    );
}

/// Room in a channel is made by receiving.
#[test]
fn a_send_comes_after_the_receive_that_made_room() {
    let report = Checker::new().check(|| {
        let (sender, receiver) = mpsc::sync_channel(1);
        let cell = Arc::new(Cell(UnsafeCell::new(0)));
        let other = cell.clone();
        let child = thread::spawn(move || {
            // SAFETY: the main thread looks when there is room for a second message.
            other.0.with_mut(|value| unsafe { *value = 1 });
            receiver.recv().unwrap();
            receiver.recv().unwrap();
        });
        sender.send(()).unwrap();
        sender.send(()).unwrap();
        // SAFETY: the first message was received.
        cell.0.with(|value| unsafe { assert_eq!(*value, 1) });
        child.join().unwrap();
    });
    assert!(report.complete, "{report:?}");
}

/// Readers behind a waiting writer are not explored: who waits while it reads may wait for one of those.
#[test]
fn waiting_while_reading_is_an_assumption() {
    let report = Checker::new().check(|| {
        let lock = Arc::new(RwLock::new(0));
        let (sender, receiver) = mpsc::channel();
        let writer = {
            let lock = lock.clone();
            thread::spawn(move || *lock.write().unwrap() += 1)
        };
        let reader = {
            let lock = lock.clone();
            thread::spawn(move || {
                let _guard = lock.read().unwrap();
                sender.send(()).unwrap();
            })
        };
        let guard = lock.read().unwrap();
        receiver.recv().unwrap();
        drop(guard);
        writer.join().unwrap();
        reader.join().unwrap();
    });
    assert!(report.assumptions.find(Assumed::WaitingWriters).is_some());
    assert!(!report.complete);
}

/// Reading alone is none.
#[test]
fn reading_beside_a_writer_is_complete() {
    let report = Checker::new().check(|| {
        let lock = Arc::new(RwLock::new(0));
        let other = lock.clone();
        let writer = thread::spawn(move || *other.write().unwrap() += 1);
        let seen = *lock.read().unwrap();
        writer.join().unwrap();
        assert!(seen <= *lock.read().unwrap());
    });
    assert!(report.complete, "{report:?}");
}

/// The code compares two addresses by itself, and no compare-exchange shows it.
#[test]
fn an_atomic_that_has_held_a_freed_address_is_an_assumption() {
    let report = Checker::new().check(|| {
        let head = Arc::new(AtomicPtr::new(Box::into_raw(Box::new(1u64))));
        let [version, _] = numbers();
        let child = {
            let (head, version) = (head.clone(), version.clone());
            thread::spawn(move || {
                let old = head.swap(null_mut(), SeqCst);
                // SAFETY: nobody else frees it.
                drop(unsafe { Box::from_raw(old) });
                version.store(1, SeqCst);
                head.store(Box::into_raw(Box::new(2u64)), SeqCst);
            })
        };
        let first = head.load(SeqCst);
        let versions = [version.load(SeqCst), version.load(SeqCst)];
        if head.load(SeqCst) == first && !first.is_null() {
            assert_eq!(versions[0], versions[1]);
        }
        child.join().unwrap();
        // SAFETY: nobody else frees it.
        drop(unsafe { Box::from_raw(head.load(SeqCst)) });
    });
    assert!(report.assumptions.find(Assumed::ReusedMemory).is_some());
    assert!(!report.complete);
}

/// Requests and responses between two threads that poll; somebody else looks after the last one.
fn rounds(count: u32) {
    let (requests, received) = mpsc::channel::<u32>();
    let [done, _] = numbers();
    let (responds, looks) = (done.clone(), done.clone());
    let server = thread::spawn(move || {
        for request in received {
            responds.store(request, SeqCst);
            thread::yield_now();
        }
    });
    let observer = thread::spawn(move || assert!(looks.load(SeqCst) != count, "seen"));
    for request in 1..=count {
        requests.send(request).unwrap();
        while done.load(SeqCst) != request {
            spin_loop();
        }
    }
    drop(requests);
    server.join().unwrap();
    done.store(count + 1, SeqCst);
    observer.join().unwrap();
}

/// A loop that other loops disturb may come to its end after more iterations than it is granted at first.
#[test]
fn two_threads_answer_each_other_many_times() {
    for count in [3, 7, 12] {
        let failed = Checker::new().bound(0).run(move || rounds(count));
        let failure = failed.expect_err("it is seen").failure;
        assert_eq!(failure.kind, FailureKind::Panic, "{count}: {failure:?}");
    }
}

/// The count is not on the stack.
#[test]
fn a_loop_that_counts_on_the_heap_gives_up() {
    fn wait(number: &AtomicU32, limit: u32) -> bool {
        let looks = Box::new(std::cell::Cell::new(0));
        let looks = std::hint::black_box(&looks);
        while number.load(SeqCst) == 0 {
            looks.set(looks.get() + 1);
            if looks.get() == limit {
                return false;
            }
            spin_loop();
        }
        true
    }
    finds("gives up", || {
        let [x, y] = numbers();
        let child = {
            let (x, y) = (x.clone(), y.clone());
            thread::spawn(move || {
                x.store(1, SeqCst);
                y.store(1, SeqCst);
            })
        };
        wait(&x, u32::MAX);
        assert!(wait(&y, 40), "gives up");
        child.join().unwrap();
    });
}

/// Where an explorer turns a choice round, all others have moved already; the thread would have come further before them.
#[test]
fn a_loop_around_a_wait_that_times_out_gives_up() {
    finds("gives up", || {
        let [number, _] = numbers();
        let child = {
            let number = number.clone();
            thread::spawn(move || number.store(1, SeqCst))
        };
        let mut waits = 0;
        while number.load(SeqCst) == 0 {
            thread::park_timeout(Duration::from_millis(1));
            waits += 1;
            assert!(waits < 6, "gives up");
        }
        child.join().unwrap();
    });
}

/// What a thread does alone depends on what it chooses.
#[test]
fn a_loop_that_chooses_gives_up() {
    finds("gives up", || {
        let [number, _] = numbers();
        let child = {
            let number = number.clone();
            thread::spawn(move || number.store(1, SeqCst))
        };
        let mut errors = 0;
        while number.load(SeqCst) == 0 {
            errors += u32::from(raddle::any_bool());
            assert!(errors < 3, "gives up");
            thread::yield_now();
        }
        child.join().unwrap();
    });
}

/// A worker has to stop in the middle of an execution, in which a panic unwinds a thread. Its real thread is that of the check, on which
/// locks are poisoned nevertheless when executions are run again.
#[test]
fn a_panic_that_is_given_up_does_not_last() {
    for _ in 0..50 {
        let checker = Checker::new().explorer("random").workers(2);
        checker.max_executions(200).check(|| {
            let lock = Arc::new(Mutex::new(0));
            let child = {
                let lock = lock.clone();
                thread::spawn(move || {
                    let _guard = lock.lock();
                    panic!("with the lock");
                })
            };
            let _ = lock.lock().is_ok();
            assert!(child.join().is_err());
            assert!(lock.is_poisoned());
        });
        assert!(!std::thread::panicking());
    }
}

/// Threads that take two locks in turn, and only look, do not wake each other for ever.
#[test]
fn pollers_that_only_look_come_to_an_end() {
    let report = Checker::new().explorer("optimal").max_steps(400).check(|| {
        let locks = Arc::new([Mutex::new(0), Mutex::new(0)]);
        let look = |locks: &[Mutex<u32>; 2]| {
            while locks.iter().all(|lock| *lock.lock().unwrap() == 0) {
                thread::yield_now();
            }
        };
        let (first, second) = (locks.clone(), locks.clone());
        let poller = thread::spawn(move || look(&first));
        let setter = thread::spawn(move || *second[1].lock().unwrap() = 1);
        look(&locks);
        poller.join().unwrap();
        setter.join().unwrap();
    });
    assert!(report.exhausted, "{report:?}");
}

/// What is freed beyond what can be kept may come back.
#[test]
fn memory_that_cannot_be_kept_is_an_assumption() {
    let report = Checker::new().check(|| {
        for _ in 0..1000 {
            drop(std::hint::black_box(vec![0u8; 512 << 10]));
        }
    });
    assert!(report.assumptions.find(Assumed::ReusedMemory).is_some());
}

/// A scan of three mutexes beside a thread that waits twice, until a time-out, with the first of them. A scout that comes to a mutex which the other
/// thread holds has not left its loop: the loop was allowed more and more iterations, until executions had too many steps.
#[test]
fn a_scan_comes_to_a_lock_that_is_held() {
    for steps in [500, 100_000] {
        let checker = Checker::new().explorer("optimal").spurious_wakeups(0);
        let report = checker.max_steps(steps).check(|| {
            let numbers = [0, 0, 0].map(|number| Mutex::new(Box::new(number)));
            let shared = Arc::new((numbers, Condvar::new()));
            let scan = {
                let shared = shared.clone();
                thread::spawn(move || {
                    let [x, y, z] = &shared.0;
                    let mut turn = 0;
                    loop {
                        let found = match turn {
                            0 => **x.lock().unwrap(),
                            1 => **y.lock().unwrap(),
                            _ => **z.lock().unwrap(),
                        };
                        if found == 2 {
                            break;
                        }
                        turn = (turn + 1) % 3;
                        spin_loop();
                    }
                })
            };
            let wait = thread::spawn(move || {
                let (numbers, never) = &*shared;
                let mut held = numbers[0].lock().unwrap();
                let mut waits = 0;
                while waits < 2 {
                    assert_eq!(**held, 0);
                    waits += 1;
                    let second = std::time::Duration::from_secs(1);
                    held = never.wait_timeout(held, second).unwrap().0;
                }
                **numbers[2].lock().unwrap() = 2;
            });
            scan.join().unwrap();
            wait.join().unwrap();
        });
        assert!(report.exhausted, "{steps}: {report:?}");
    }
}

/// Two threads that wait for each other until a time-out. An execution in which one of them does not time out, and nobody wakes it, is infeasible; the other
/// one waited a thousand times before that was noticed, and each time was another execution.
#[test]
fn two_threads_wait_for_each_other_until_a_time_out() {
    let report = Checker::new().explorer("optimal").check(|| {
        let [f, g] = numbers();
        let moment = std::time::Duration::from_millis(1);
        let other = {
            let (f, g) = (f.clone(), g.clone());
            thread::spawn(move || {
                let mut waits = 0;
                while f.load(SeqCst) == 0 {
                    thread::park_timeout(moment);
                    waits += 1;
                    if waits == 2 {
                        g.store(2, SeqCst);
                        return;
                    }
                }
                g.store(1, SeqCst);
            })
        };
        let mut is_first = true;
        while g.load(SeqCst) == 0 {
            if std::mem::take(&mut is_first) {
                f.store(1, SeqCst);
            }
            thread::park_timeout(moment);
        }
        other.join().unwrap();
    });
    assert!(report.exhausted, "{report:?}");
    assert!(report.executions < 100, "{report:?}");
}
