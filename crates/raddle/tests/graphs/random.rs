//! Random programs as real code, compared with the toy programs that `raddle-memory` explores, and enumerates.
//!
//! More than CI runs:
//!
//! ```text
//! RADDLE_GRAPH_PROGRAMS=10000 RADDLE_GRAPH_SEED=7 cargo test --release -p raddle --test graphs random
//! ```

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex as StdMutex};

use raddle::cell::UnsafeCell;
use raddle::sync::atomic::{AtomicU64, Ordering, fence};
use raddle::sync::{Mutex, MutexGuard};
use raddle::thread::{self, JoinHandle};
use raddle::{Checker, FailureKind, Memory};
use raddle_memory::testing::{Profile, Script, Step, Toy};
use raddle_memory::{End, Leaf, Model, Order, Trust};

/// What each thread has seen, in all executions that end.
type Outcomes = BTreeSet<Vec<Vec<u64>>>;

/// What came of all executions.
#[derive(Debug, PartialEq, Eq)]
struct Found {
    complete: Outcomes,
    ended: u64,
    deadlocked: u64,
    races: bool,
}

fn order(order: Order) -> Ordering {
    match order {
        Order::Relaxed => Ordering::Relaxed,
        Order::Acquire => Ordering::Acquire,
        Order::Release => Ordering::Release,
        Order::AcqRel => Ordering::AcqRel,
        Order::SeqCst => Ordering::SeqCst,
    }
}

/// What the threads share.
struct Shared {
    atomics: [AtomicU64; 3],
    locks: [Mutex<()>; 2],
    cell: UnsafeCell<u64>,
    seen: StdMutex<Vec<Vec<u64>>>,
    handles: StdMutex<Vec<Option<JoinHandle<()>>>>,
}

// SAFETY: races on the cell are what is looked for; it is a plain number, and threads run one at a time.
unsafe impl Sync for Shared {}

const LOCKS: u32 = 3;

fn see(shared: &Shared, thread: usize, value: u64) {
    shared.seen.lock().unwrap()[thread].push(value);
}

fn spawn(script: &Arc<Script>, shared: &Arc<Shared>, thread: usize) {
    let (script, theirs) = (script.clone(), shared.clone());
    let handle = thread::spawn(move || run(&script, &theirs, thread));
    shared.handles.lock().unwrap()[thread] = Some(handle);
}

fn join(shared: &Shared, thread: usize) {
    let handle = shared.handles.lock().unwrap()[thread].take();
    match handle {
        Some(handle) => handle.join().unwrap(),
        // A thread that was not started: it waits for ever.
        None => loop {
            thread::park();
        },
    }
}

fn run(script: &Arc<Script>, shared: &Arc<Shared>, thread: usize) {
    let steps = &script.threads[thread];
    let mut guards: [Option<MutexGuard<'_, ()>>; 2] = [None, None];
    let (mut last, mut at) = (0, 0);
    while let Some(&step) = steps.get(at) {
        at += 1;
        let atomic = |location: u32| &shared.atomics[location as usize];
        match step {
            Step::Read(location, how) => last = atomic(location).load(order(how)),
            Step::Write(location, value, how) => atomic(location).store(value, order(how)),
            Step::Copy(location, how) => atomic(location).store(last + 1, order(how)),
            Step::Add(location, value, how) => {
                last = atomic(location).fetch_add(value, order(how));
            }
            Step::CompareExchange(location, expected, new, how, failure) => {
                let exchanged =
                    atomic(location).compare_exchange(expected, new, order(how), order(failure));
                last = exchanged.unwrap_or_else(|read| read);
            }
            Step::Fence(how) => fence(order(how)),
            Step::Choose(alternatives) => last = raddle::choose(0..alternatives as usize) as u64,
            Step::SkipUnlessZero(count) => at += if last == 0 { 0 } else { count },
            Step::Lock(lock) => {
                let index = (lock - LOCKS) as usize;
                guards[index] = Some(shared.locks[index].lock().unwrap());
            }
            Step::TryLock(lock) => {
                let index = (lock - LOCKS) as usize;
                match shared.locks[index].try_lock() {
                    Ok(guard) => guards[index] = Some(guard),
                    Err(_) => {
                        let unlock = steps[at..].iter().position(|&s| s == Step::Unlock(lock));
                        at = unlock.map_or(steps.len(), |unlock| at + unlock + 1);
                    }
                }
            }
            Step::Unlock(lock) => drop(guards[(lock - LOCKS) as usize].take()),
            Step::Spawn(child) => spawn(script, shared, child as usize),
            Step::Join(child) => join(shared, child as usize),
            Step::ReadCell(_) => shared.cell.with(|cell| {
                // SAFETY: races are found before they happen. What is read does not matter.
                let _ = std::hint::black_box(unsafe { *cell });
            }),
            // SAFETY: the same.
            Step::WriteCell(_) => shared.cell.with_mut(|cell| unsafe { *cell = 1 }),
            Step::Spin(location, value, how) => loop {
                last = atomic(location).load(order(how));
                if last == value {
                    break;
                }
                thread::yield_now();
            },
            other => unreachable!("{other:?} is not made in these profiles"),
        }
        see(shared, thread, last);
    }
}

/// The first thread that another one starts.
fn first_child(script: &Script) -> usize {
    let is_started = |thread: usize| {
        let mut steps = script.threads.iter().flatten();
        steps.any(|&step| step == Step::Spawn(thread as u32))
    };
    let threads = script.threads.len();
    (0..threads).find(|&t| is_started(t)).unwrap_or(threads)
}

fn real(script: &Script, memory: Memory) -> Found {
    let complete = Arc::new(StdMutex::new(Outcomes::new()));
    let checker = Checker::new()
        .memory(memory)
        .explorer("graphs")
        .spurious_wakeups(0)
        .keep_going(true);
    let log = complete.clone();
    let script = Arc::new(script.clone());
    let checked = checker.run(move || {
        let threads = script.threads.len();
        let shared = Arc::new(Shared {
            atomics: Default::default(),
            locks: Default::default(),
            cell: UnsafeCell::new(0),
            seen: StdMutex::new(vec![Vec::new(); threads]),
            handles: StdMutex::new((0..threads).map(|_| None).collect()),
        });
        let first = first_child(&script);
        for thread in 0..first {
            spawn(&script, &shared, thread);
        }
        for thread in 0..first {
            join(&shared, thread);
        }
        // Others may not have been joined by who has started them.
        for thread in first..threads {
            let handle = shared.handles.lock().unwrap()[thread].take();
            if let Some(handle) = handle {
                handle.join().unwrap();
            }
        }
        let seen = shared.seen.lock().unwrap().clone();
        log.lock().unwrap().insert(seen);
    });
    let complete = complete.lock().unwrap().clone();
    match checked {
        Ok(report) => {
            assert!(report.exhausted, "{report:?}");
            Found {
                complete,
                ended: report.executions,
                deadlocked: 0,
                races: false,
            }
        }
        Err(failed) => {
            let kinds = failed.found.different.iter().map(|one| one.failure.kind);
            for kind in kinds.clone() {
                let expected = matches!(
                    kind,
                    FailureKind::Deadlock | FailureKind::SelfDeadlock | FailureKind::DataRace
                );
                assert!(expected, "{}", failed.text);
            }
            let races = kinds.clone().any(|kind| kind == FailureKind::DataRace);
            assert!(
                races || failed.found.exhausted,
                "{:?}, {}",
                failed.found.assumptions,
                failed.text
            );
            Found {
                complete,
                ended: failed.executions - failed.found.executions,
                deadlocked: failed.found.executions,
                races,
            }
        }
    }
}

fn toy(script: &Script, model: Model) -> Found {
    let mut found = Found {
        complete: Outcomes::new(),
        ended: 0,
        deadlocked: 0,
        races: false,
    };
    let mut toy = script.toy();
    let explored = Trust::new(model).explore(&mut toy, &mut |toy: &mut Toy, leaf: &Leaf<'_>| {
        found.races |= !toy.races().is_empty();
        match leaf.end {
            End::Complete => {
                found.ended += 1;
                found.complete.insert(toy.seen());
            }
            End::Deadlock => found.deadlocked += 1,
            End::Spinning => {}
            end => panic!("{end:?}"),
        }
        ControlFlow::Continue(())
    });
    assert!(explored.unwrap().is_all());
    found
}

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| text.parse().expect("a number"))
}

fn compare(profile: Profile, events: usize, programs: u64) {
    let seed = number("RADDLE_GRAPH_SEED", 1);
    for seed in seed..seed + number("RADDLE_GRAPH_PROGRAMS", programs) {
        let script = Script::random(seed, profile, events);
        for (memory, model) in [
            (Memory::Sc, Model::Sc),
            (Memory::Ra, Model::Ra),
            (Memory::Rc11, Model::Rc11),
        ] {
            let expected = toy(&script, model);
            let found = real(&script, memory);
            if expected.races {
                assert!(found.races, "{seed} {model:?} {script:#?}");
            } else {
                assert_eq!(found, expected, "{seed} {model:?} {script:#?}");
            }
        }
    }
}

#[test]
fn random_atomics() {
    compare(Profile::Atomics, 6, 150);
}

#[test]
fn random_locks() {
    compare(Profile::Locks, 7, 100);
}

#[test]
fn random_threads() {
    compare(Profile::Threads, 5, 100);
}

#[test]
fn random_cells() {
    compare(Profile::Cells, 5, 150);
}
