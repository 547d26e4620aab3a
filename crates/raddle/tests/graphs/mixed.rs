//! Random programs of all primitives: under sequential consistency, graphs have the outcomes that schedules have, and RC11 has them too.
//!
//! More than CI runs:
//!
//! ```text
//! RADDLE_GRAPH_PROGRAMS=10000 RADDLE_GRAPH_SEED=7 cargo test --release -p raddle --test graphs mixed
//! ```

use std::collections::BTreeSet;
use std::sync::{Arc as StdArc, Mutex as StdMutex};

use raddle::sync::atomic::{AtomicBool, AtomicU32, Ordering, Ordering::*};
use raddle::sync::mpsc::{Receiver, SyncSender, channel, sync_channel};
use raddle::sync::{Arc, Barrier, Condvar, Mutex, OnceLock, RwLock, mpsc};
use raddle::thread::{self, Thread};
use raddle::{Checker, FailureKind, Memory, hint};

const THREADS: usize = 3;

/// What a thread does.
#[derive(Clone, Copy, Debug)]
enum Step {
    Load(usize, Ordering),
    Store(usize, Ordering),
    Add(usize, Ordering),
    Lock(usize),
    TryLock(usize),
    LockBoth(usize),
    Read,
    Write,
    TryRead,
    TryWrite,
    ReadAndLoad(Ordering),
    Set,
    WaitUntilSet,
    Once,
    Peek,
    Park,
    Unpark(usize),
    Barrier,
    Send,
    SendToFew,
    Count,
    CloneAndDrop,
    Upgrade,
    Unwrap,
    Scope(Ordering),
    /// Loops that poll.
    SpinUntilSet(usize, Ordering),
    SpinUntilBoth(Ordering),
    SpinUntilEither(Ordering),
    SpinLock,
    SpinWithSwap,
    PollLock,
    PollWithLock(usize),
    PollRead,
    GiveUp(usize, Ordering),
    ReadTwice(Ordering),
    Increment(Ordering),
    WaitForChange(usize, Ordering),
}

/// SplitMix64.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut random = self.0;
        random = (random ^ (random >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        random = (random ^ (random >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((random ^ (random >> 31)) % n as u64) as usize
    }

    fn step(&mut self) -> Step {
        let load = [Relaxed, Acquire, SeqCst][self.below(3)];
        let store = [Relaxed, Release, SeqCst][self.below(3)];
        let update = [Relaxed, AcqRel, SeqCst][self.below(3)];
        let which = self.below(2);
        match self.below(34) {
            0..4 => Step::Load(which, load),
            4..8 => Step::Store(which, store),
            8..10 => Step::Add(which, update),
            10 | 11 => Step::Lock(which),
            12 => Step::TryLock(which),
            13 => Step::LockBoth(which),
            14 | 15 => Step::Read,
            16 | 17 => Step::Write,
            18 => Step::TryRead,
            19 => Step::TryWrite,
            20 => Step::ReadAndLoad(load),
            21 => Step::Set,
            22 => Step::WaitUntilSet,
            23 => Step::Once,
            24 => Step::Peek,
            25 => Step::Park,
            26 => Step::Unpark(self.below(THREADS)),
            27 => Step::Barrier,
            28 => Step::Send,
            29 => Step::SendToFew,
            30 => Step::Count,
            31 => Step::CloneAndDrop,
            32 => Step::Upgrade,
            _ => match which {
                0 => Step::Unwrap,
                _ => Step::Scope(update),
            },
        }
    }

    fn polling_step(&mut self) -> Step {
        let load = [Relaxed, Acquire, SeqCst][self.below(3)];
        let store = [Relaxed, Release, SeqCst][self.below(3)];
        let which = self.below(2);
        match self.below(26) {
            0 => Step::SpinUntilSet(which, load),
            1 => Step::SpinUntilBoth(load),
            2 => Step::SpinUntilEither(load),
            3 => Step::SpinLock,
            4 => Step::SpinWithSwap,
            5 => Step::PollLock,
            6 => Step::PollWithLock(which),
            7 => Step::PollRead,
            8 => Step::GiveUp(which, load),
            9 => Step::ReadTwice(load),
            10 => Step::Increment(load),
            11 => Step::WaitForChange(which, load),
            12..19 => Step::Store(which, store),
            19..22 => Step::Lock(which),
            22 => Step::Write,
            23 => Step::Add(which, Relaxed),
            _ => Step::Load(which, load),
        }
    }

    /// Up to so many steps for each thread.
    fn program(&mut self, most: usize, step: fn(&mut Self) -> Step) -> Vec<Vec<Step>> {
        let mut thread = || {
            let count = 1 + self.below(most);
            (0..count).map(|_| step(self)).collect()
        };
        (0..THREADS).map(|_| thread()).collect()
    }
}

/// What the threads share.
struct Shared {
    atomics: [AtomicU32; 2],
    locks: [Mutex<u32>; 2],
    rwlock: RwLock<u32>,
    flag: Mutex<bool>,
    condvar: Condvar,
    once: OnceLock<usize>,
    spin: AtomicBool,
    barrier: Barrier,
    threads: StdMutex<Vec<Option<Thread>>>,
}

/// What one thread has of its own.
struct Own {
    me: usize,
    seen: Vec<u32>,
    counted: Option<Arc<()>>,
    weak: raddle::sync::Weak<()>,
    sender: mpsc::Sender<usize>,
    few: SyncSender<usize>,
}

impl Own {
    fn take(&mut self, step: Step, shared: &Shared) {
        let value = match step {
            Step::Load(at, order) => shared.atomics[at].load(order),
            Step::Store(at, order) => {
                shared.atomics[at].store(self.me as u32 + 1, order);
                return;
            }
            Step::Add(at, order) => shared.atomics[at].fetch_add(10, order),
            Step::Lock(lock) => {
                let mut guard = shared.locks[lock].lock().unwrap();
                *guard += 1;
                *guard
            }
            Step::TryLock(lock) => match shared.locks[lock].try_lock() {
                Ok(mut guard) => {
                    *guard += 1;
                    *guard
                }
                Err(_) => 100,
            },
            Step::LockBoth(first) => {
                let mut one = shared.locks[first].lock().unwrap();
                let other = shared.locks[1 - first].lock().unwrap();
                *one += 1;
                *one * 10 + *other
            }
            Step::Read => *shared.rwlock.read().unwrap(),
            Step::Write => {
                let mut guard = shared.rwlock.write().unwrap();
                *guard += 1;
                *guard
            }
            Step::TryRead => shared.rwlock.try_read().map_or(100, |guard| *guard),
            Step::TryWrite => shared.rwlock.try_write().map_or(100, |mut guard| {
                *guard += 1;
                *guard
            }),
            Step::ReadAndLoad(order) => {
                let guard = shared.rwlock.read().unwrap();
                shared.atomics[0].load(order) * 10 + *guard
            }
            Step::Set => {
                *shared.flag.lock().unwrap() = true;
                shared.condvar.notify_one();
                return;
            }
            Step::WaitUntilSet => {
                let mut flag = shared.flag.lock().unwrap();
                while !*flag {
                    flag = shared.condvar.wait(flag).unwrap();
                }
                return;
            }
            Step::Once => *shared.once.get_or_init(|| self.me) as u32,
            Step::Peek => shared.once.get().map_or(100, |&who| who as u32),
            Step::Park => {
                thread::park();
                return;
            }
            // The others may not have been started yet.
            Step::Unpark(other) if other >= self.me => return,
            Step::Unpark(other) => {
                let other = shared.threads.lock().unwrap()[other].clone();
                if let Some(other) = other {
                    other.unpark();
                }
                return;
            }
            Step::Barrier => u32::from(shared.barrier.wait().is_leader()),
            Step::Send => {
                let _ = self.sender.send(self.me);
                return;
            }
            Step::SendToFew => {
                let _ = self.few.send(self.me);
                return;
            }
            Step::Count => self.counted.as_ref().map_or(0, Arc::strong_count) as u32,
            Step::CloneAndDrop => {
                let _again = self.counted.clone();
                return;
            }
            Step::Upgrade => self.weak.upgrade().is_some().into(),
            Step::Unwrap => match self.counted.take().map(Arc::try_unwrap) {
                Some(Ok(())) => 1,
                Some(Err(arc)) => {
                    self.counted = Some(arc);
                    0
                }
                None => 2,
            },
            Step::Scope(order) => thread::scope(|scope| {
                let inner = scope.spawn(|| shared.atomics[1].fetch_add(100, order));
                let mine = shared.atomics[0].load(Relaxed);
                mine * 1000 + inner.join().unwrap()
            }),
            Step::SpinUntilSet(at, order) => spin(|| {
                let value = shared.atomics[at].load(order);
                (value > 0).then_some(value)
            }),
            Step::SpinUntilBoth(order) => spin(|| {
                let value = shared.atomics[0].load(order);
                (value > 0 && shared.atomics[1].load(order) > 0).then_some(value)
            }),
            Step::SpinUntilEither(order) => {
                let mut at = 0;
                spin(|| {
                    at = 1 - at;
                    let value = shared.atomics[at].load(order);
                    (value > 0).then_some(value)
                })
            }
            Step::SpinLock => {
                while shared.spin.swap(true, Acquire) {
                    hint::spin_loop();
                }
                let value = shared.atomics[0].load(Relaxed);
                shared.spin.store(false, Release);
                value
            }
            Step::SpinWithSwap => {
                while shared.spin.swap(true, Acquire) {
                    while shared.spin.load(Relaxed) {
                        hint::spin_loop();
                    }
                }
                let value = shared.atomics[1].load(Relaxed);
                shared.spin.store(false, Release);
                value
            }
            Step::PollLock => spin(|| {
                let mut guard = shared.locks[0].try_lock().ok()?;
                *guard += 1;
                Some(*guard)
            }),
            Step::PollWithLock(lock) => spin(|| {
                let value = *shared.locks[lock].lock().unwrap();
                (value > 0).then_some(value)
            }),
            Step::PollRead => spin(|| {
                let value = *shared.rwlock.read().unwrap();
                (value > 0).then_some(value)
            }),
            Step::GiveUp(at, order) => {
                let mut tries = 0;
                while tries < 2 && shared.atomics[at].load(order) == 0 {
                    tries += 1;
                    hint::spin_loop();
                }
                tries
            }
            Step::ReadTwice(order) => spin(|| {
                let one = shared.atomics[0].load(order);
                let other = shared.atomics[1].load(order);
                (shared.atomics[0].load(order) == one).then_some(one * 10 + other)
            }),
            Step::Increment(order) => spin(|| {
                let value = shared.atomics[0].load(order);
                let exchanged =
                    shared.atomics[0].compare_exchange(value, value + 10, AcqRel, Relaxed);
                exchanged.ok()
            }),
            Step::WaitForChange(at, order) => {
                let first = shared.atomics[at].load(order);
                spin(|| {
                    let value = shared.atomics[at].load(order);
                    (value != first || value > 0).then_some(value)
                })
            }
        };
        self.seen.push(value);
    }
}

/// Tries again and again.
fn spin<T>(mut attempt: impl FnMut() -> Option<T>) -> T {
    loop {
        if let Some(value) = attempt() {
            return value;
        }
        hint::spin_loop();
    }
}

fn drain(receiver: &Receiver<usize>) -> Vec<u32> {
    receiver.iter().map(|who| who as u32).collect()
}

/// What all threads have seen, if they come to their end.
fn run(steps: &StdArc<Vec<Vec<Step>>>) -> Vec<Vec<u32>> {
    let waits = |step: &&Step| matches!(step, Step::Barrier);
    let barriers = steps.iter().flatten().filter(waits).count();
    let shared = Arc::new(Shared {
        atomics: Default::default(),
        locks: Default::default(),
        rwlock: RwLock::default(),
        flag: Mutex::default(),
        condvar: Condvar::new(),
        once: OnceLock::new(),
        spin: AtomicBool::new(false),
        barrier: Barrier::new(barriers),
        threads: StdMutex::new(vec![None; THREADS]),
    });
    let (sender, receiver) = channel();
    let (few, from_few) = sync_channel(1);
    let counted = Arc::new(());
    let threads: Vec<_> = (0..THREADS)
        .map(|me| {
            let (steps, shared) = (steps.clone(), shared.clone());
            let mut own = Own {
                me,
                seen: Vec::new(),
                weak: Arc::downgrade(&counted),
                counted: Some(counted.clone()),
                sender: sender.clone(),
                few: few.clone(),
            };
            let thread = thread::spawn({
                let shared = shared.clone();
                move || {
                    for &step in &steps[me] {
                        own.take(step, &shared);
                    }
                    own.seen
                }
            });
            shared.threads.lock().unwrap()[me] = Some(thread.thread().clone());
            thread
        })
        .collect();
    drop((sender, few, counted));
    let mut seen = vec![drain(&from_few), drain(&receiver)];
    seen.extend(threads.into_iter().map(|thread| thread.join().unwrap()));
    seen
}

/// The outcomes of the executions that end, and what is wrong with others.
type Found = (BTreeSet<Vec<Vec<u32>>>, BTreeSet<String>);

fn found(steps: &StdArc<Vec<Vec<Step>>>, memory: Memory, explorer: &str) -> Option<(Found, u64)> {
    let outcomes = StdArc::new(StdMutex::new(BTreeSet::new()));
    let (log, program) = (outcomes.clone(), steps.clone());
    let checked = Checker::new()
        .memory(memory)
        .explorer(explorer)
        .spurious_wakeups(0)
        .max_executions(1_000)
        .reruns(0)
        .keep_going(true)
        .run(move || {
            let seen = run(&program);
            log.lock().unwrap().insert(seen);
        });
    let outcomes = outcomes.lock().unwrap().clone();
    let name = |kind| format!("{kind:?}");
    match checked {
        Ok(report) => report
            .exhausted
            .then_some(((outcomes, BTreeSet::new()), report.executions)),
        Err(failed) => {
            let different = failed.found.different.iter();
            let kinds = different.map(|one| name(one.failure.kind)).collect();
            failed
                .found
                .exhausted
                .then_some(((outcomes, kinds), failed.executions))
        }
    }
}

/// Compares schedules with graphs on random programs.
fn compare(programs: u64, step: fn(&mut Random) -> Step) {
    let number = |name: &str, default: u64| {
        std::env::var(name).map_or(default, |text| text.parse().expect("a number"))
    };
    let first = number("RADDLE_GRAPH_SEED", 1);
    let mut compared = 0;
    for seed in first..first + number("RADDLE_GRAPH_PROGRAMS", programs) {
        let steps = StdArc::new(Random(seed).program(3, step));
        let Some((schedules, _)) = found(&steps, Memory::Sc, "optimal") else {
            continue;
        };
        let Some((graphs, _)) = found(&steps, Memory::Sc, "graphs") else {
            continue;
        };
        compared += 1;
        assert_eq!(schedules, graphs, "{seed}: {steps:#?}");
        let Some((weak, _)) = found(&steps, Memory::Rc11, "graphs") else {
            continue;
        };
        assert!(schedules.0.is_subset(&weak.0), "{seed}: {steps:#?}");
        assert!(schedules.1.is_subset(&weak.1), "{seed}: {steps:#?}");
        let program = steps.clone();
        let checked = Checker::new().spurious_wakeups(0).run(move || {
            run(&program);
        });
        let kind = checked.err().map(|failed| failed.failure.kind);
        assert_ne!(kind, Some(FailureKind::Diverged), "{seed}: {steps:#?}");
        assert_eq!(kind.is_some(), !weak.1.is_empty(), "{seed}: {steps:#?}");
    }
    assert!(compared > 0);
    println!("{compared} compared");
}

#[test]
fn all_primitives() {
    compare(30, Random::step);
}

#[test]
fn loops_that_poll() {
    compare(30, Random::polling_step);
}
