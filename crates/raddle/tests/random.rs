//! Random programs: what a step does was foreseen, steps that touch nothing in common change places, and
//! executions with one happens-before relation come to one end. The driver checks all of that.

mod common;

use common::{Random, some};
use raddle::sync::atomic::{AtomicU32, Ordering::SeqCst};
use raddle::sync::{Arc, Barrier, Condvar, Mutex, Once, OnceLock, RwLock, mpsc};
use raddle::{Checker, Options, thread};
use std::collections::BTreeSet;
use std::time::Duration;

/// What the threads of a random program share.
struct Shared {
    atomics: [AtomicU32; 2],
    mutex: Mutex<u32>,
    other: Mutex<u32>,
    rwlock: RwLock<u32>,
    condvar: Condvar,
    barrier: Barrier,
    once: Once,
    cell: OnceLock<u32>,
    counted: Arc<u32>,
}

/// Makes one thing of many, and returns what it saw.
fn act(shared: &Shared, sender: &mpsc::SyncSender<u32>, main: &thread::Thread, code: u64) -> u32 {
    let (what, with) = (code % 20, (code / 20) as usize);
    let atomic = &shared.atomics[with % 2];
    let value = with as u32 % 3;
    match what {
        0 => atomic.load(SeqCst),
        1 => atomic.swap(value, SeqCst),
        2 => atomic.fetch_add(1, SeqCst),
        3 => match atomic.compare_exchange(0, value, SeqCst, SeqCst) {
            Ok(old) => old,
            Err(now) => 10 + now,
        },
        4 => {
            let mut guard = shared.mutex.lock().unwrap();
            *guard += 1;
            *guard
        }
        5 => {
            let _guard = shared.mutex.lock().unwrap();
            *shared.other.lock().unwrap()
        }
        6 => {
            let _guard = shared.other.lock().unwrap();
            *shared.mutex.lock().unwrap()
        }
        7 => shared.mutex.try_lock().map_or(9, |guard| *guard),
        8 => *shared.rwlock.read().unwrap(),
        9 => {
            *shared.rwlock.write().unwrap() += 1;
            0
        }
        10 => shared.rwlock.try_write().map_or(9, |guard| *guard),
        11 => {
            let guard = shared.mutex.lock().unwrap();
            *shared.condvar.wait(guard).unwrap()
        }
        12 => {
            shared.condvar.notify_one();
            0
        }
        13 => {
            shared.condvar.notify_all();
            0
        }
        14 => sender.try_send(value).is_ok().into(),
        15 => {
            main.unpark();
            0
        }
        16 => {
            thread::park_timeout(Duration::from_secs(1));
            0
        }
        17 => {
            let mut called = 0;
            shared.once.call_once(|| called = 1 + atomic.load(SeqCst));
            called + *shared.cell.get_or_init(|| value)
        }
        18 => {
            let copy = shared.counted.clone();
            (Arc::strong_count(&copy) + raddle::choose(0..2)) as u32
        }
        _ => {
            let mut rounds = 0;
            while atomic.load(SeqCst) == 0 && rounds < 4 {
                rounds += 1;
                thread::yield_now();
            }
            u32::from(shared.barrier.wait().is_leader()) * 10 + rounds
        }
    }
}

fn run(codes: &[Vec<u64>; 3]) -> (Vec<u32>, Vec<Option<Vec<u32>>>, Vec<u32>) {
    let shared = Arc::new(Shared {
        atomics: [AtomicU32::new(0), AtomicU32::new(0)],
        mutex: Mutex::new(0),
        other: Mutex::new(0),
        rwlock: RwLock::new(0),
        condvar: Condvar::new(),
        barrier: Barrier::new(2),
        once: Once::new(),
        cell: OnceLock::new(),
        counted: Arc::new(0),
    });
    let (sender, receiver) = mpsc::sync_channel(1);
    let main = thread::current();
    let work = |codes: &[u64], shared: &Shared, sender: &_, main: &_| -> Vec<u32> {
        let codes = codes.iter();
        codes.map(|&code| act(shared, sender, main, code)).collect()
    };
    let children: Vec<_> = codes[1..]
        .iter()
        .map(|codes| {
            let codes = codes.clone();
            let (shared, sender, main) = (shared.clone(), sender.clone(), main.clone());
            thread::spawn(move || work(&codes, &shared, &sender, &main))
        })
        .collect();
    let mine = work(&codes[0], &shared, &sender, &main);
    drop(sender);
    let messages = receiver.try_iter().collect();
    let theirs = children.into_iter().map(|child| child.join().ok());
    (mine, theirs.collect(), messages)
}

#[test]
fn random_programs_keep_what_is_promised() {
    let programs = std::env::var("RADDLE_TEST_PROGRAMS").map_or(80, |count| count.parse().unwrap());
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let (mut executions, mut classes, mut failures) = (0, 0, 0);
    for _ in 0..programs {
        let codes = [0; 3].map(|_: u64| {
            let length = 1 + random.below(4);
            (0..length).map(|_| random.below(120)).collect::<Vec<_>>()
        });
        let all = some(&Options::default(), 600, move || run(&codes));
        executions += all.executions;
        classes += all.classes;
        failures += all.failures.len();
    }
    println!(
        "{programs} programs, {executions} executions, {classes} classes, {failures} kinds of failures"
    );
    assert!(classes > programs);
}

/// Several workers run the classes of one, and their executions have the same outcomes.
#[test]
fn several_workers_run_random_programs_as_one_does() {
    let programs = std::env::var("RADDLE_TEST_PROGRAMS").map_or(60, |count| count.parse().unwrap());
    let mut random = Random(0x5851_f42d_4c95_7f2d);
    let (mut compared, mut failed) = (0, 0);
    for _ in 0..programs {
        let codes = [0; 3].map(|_: u64| {
            let length = 1 + random.below(3);
            (0..length).map(|_| random.below(120)).collect::<Vec<_>>()
        });
        let check = |workers: usize| {
            let outcomes = std::sync::Arc::new(std::sync::Mutex::new(BTreeSet::new()));
            let (seen, codes) = (outcomes.clone(), codes.clone());
            let checker = Checker::new().explorer("optimal").workers(workers);
            let checker = checker.count_classes(true).max_executions(3_000);
            let checked = checker.run(move || {
                let outcome = run(&codes);
                seen.lock().unwrap().insert(outcome);
            });
            (checked, std::mem::take(&mut *outcomes.lock().unwrap()))
        };
        match (check(1), check(3)) {
            ((Ok(alone), saw), (Ok(together), seen)) => {
                if !alone.exhausted {
                    continue;
                }
                assert!(together.exhausted, "{codes:?}");
                assert_eq!(together.classes, alone.classes, "{codes:?}");
                assert_eq!(seen, saw, "{codes:?}");
                compared += 1;
            }
            ((Err(_), _), (Err(_), _)) => failed += 1,
            // Who comes to a failure first within a limit is a matter of luck.
            ((Ok(report), _), (Err(failed), _)) | ((Err(failed), _), (Ok(report), _)) => {
                assert!(!report.exhausted, "{codes:?}: {}", failed.text);
            }
        }
    }
    println!("{compared} programs without and {failed} with a failure");
    assert!(compared > 0 && failed > 0);
}

/// Within a bound, `bounded` runs the classes that `algorithm2` runs, which leaves out nothing, and their executions have the same outcomes. Every second
/// program sends into a channel of one message and receives, so that what a step touches depends on whether it waits.
#[test]
fn bounded_runs_random_programs_as_algorithm2_does() {
    let programs = std::env::var("RADDLE_TEST_PROGRAMS").map_or(60, |count| count.parse().unwrap());
    let mut random = Random(0x2545_f491_4f6c_dd1d);
    let (mut compared, mut failed) = (0, 0);
    for number in 0..programs {
        let codes = [0; 3].map(|_: u64| {
            let length = 1 + random.below(4);
            // How many rounds a loop needs is learned on the way, and then the exploration begins again. Outcomes of executions before that are collected
            // too, and each explorer has run others by then.
            let codes = (0..length).map(|_| random.below(120));
            codes.filter(|code| code % 20 != 19).collect::<Vec<_>>()
        });
        let bound = number as u32 % 3;
        let waits = number % 2 == 1;
        let check = |explorer: &str| {
            let outcomes = std::sync::Arc::new(std::sync::Mutex::new(BTreeSet::new()));
            let (seen, codes) = (outcomes.clone(), codes.clone());
            let checker = Checker::new().explorer(explorer).bound(bound);
            let checker = checker.count_classes(true).max_executions(4_000);
            let checked = checker.run(move || {
                let outcome = match waits {
                    true => run_with_channel(&codes),
                    false => run(&codes),
                };
                seen.lock().unwrap().insert(outcome);
            });
            (checked, std::mem::take(&mut *outcomes.lock().unwrap()))
        };
        match (check("algorithm2"), check("bounded")) {
            ((Ok(expected), saw), (Ok(found), seen)) => {
                let cut = |report: &raddle::Report| report.executions >= 4_000;
                if cut(&expected) || cut(&found) {
                    continue;
                }
                assert_eq!(found.classes, expected.classes, "{bound}: {codes:?}");
                assert_eq!(seen, saw, "{bound}: {codes:?}");
                compared += 1;
            }
            ((Err(_), _), (Err(_), _)) => failed += 1,
            ((Ok(report), _), (Err(failed), _)) | ((Err(failed), _), (Ok(report), _)) => {
                assert!(
                    report.executions >= 4_000,
                    "{bound}: {codes:?}: {}",
                    failed.text
                );
            }
        }
    }
    println!("{compared} programs without and {failed} with a failure");
    assert!(compared > 0 && failed > 0);
}

/// Threads that send, receive, lock and look, and drop both ends of a channel in between.
fn run_with_channel(codes: &[Vec<u64>; 3]) -> (Vec<u32>, Vec<Option<Vec<u32>>>, Vec<u32>) {
    let (sender, receiver) = mpsc::sync_channel::<u32>(1);
    let shared = Arc::new((AtomicU32::new(0), Mutex::new(0)));
    let senders = codes[1..].iter().map(|codes| {
        let (codes, sender, shared) = (codes.clone(), sender.clone(), shared.clone());
        thread::spawn(move || {
            let mut seen = Vec::new();
            for code in codes {
                seen.push(match code % 5 {
                    0 => shared.0.fetch_add(1, SeqCst),
                    1 => {
                        let mut guard = shared.1.lock().unwrap();
                        *guard += 1;
                        *guard
                    }
                    2 => {
                        let _guard = shared.1.lock().unwrap();
                        u32::from(sender.send(1).is_ok())
                    }
                    _ => u32::from(sender.send(code as u32).is_ok()),
                });
            }
            seen
        })
    });
    let senders: Vec<_> = senders.collect();
    drop(sender);
    let mut mine = Vec::new();
    for code in &codes[0] {
        mine.push(match code % 4 {
            0 => shared.0.load(SeqCst),
            1 => *shared.1.lock().unwrap(),
            2 => receiver.try_recv().unwrap_or(9),
            _ => receiver.recv().unwrap_or(8),
        });
    }
    drop(receiver);
    let theirs = senders.into_iter().map(|child| child.join().ok());
    (mine, theirs.collect(), Vec::new())
}
