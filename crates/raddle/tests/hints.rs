//! A loop that gives up after some tries has the same outcomes whether it says that it polls or not.
//!
//! Without a hint such a loop is like any other code: every iteration is explored. With one, the runtime leaves out iterations, and has to know
//! which. So no other model of the programs is needed, and they may use everything.

mod common;

use std::collections::BTreeSet;
use std::time::Duration;

use common::Random;
use raddle::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use raddle::sync::mpsc::{Receiver, Sender, channel};
use raddle::sync::{Arc, Condvar, Mutex, Once, RwLock};
use raddle::{Checker, hint, thread};

const MOMENT: Duration = Duration::from_millis(1);

/// How a loop says that it polls, if it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Hint {
    None,
    Yield,
    Spin,
    Sleep,
}

impl Hint {
    fn give(self) {
        match self {
            Self::None => {}
            Self::Yield => thread::yield_now(),
            Self::Spin => hint::spin_loop(),
            Self::Sleep => thread::sleep(MOMENT),
        }
    }
}

/// What a loop waits for.
#[derive(Clone, Copy, Debug)]
enum Wanted {
    Flag(usize),
    Exchange(usize),
    Lock,
    Read,
    Write,
    Data,
    Message,
    OnlyReference,
    Once,
}

/// What a thread does.
#[derive(Clone, Copy, Debug)]
enum Act {
    Store(usize, usize),
    Load(usize),
    Lock,
    StoreInLock(usize),
    Read,
    Write,
    Send,
    Receive,
    DropReference,
    Once,
    Unpark,
    Park,
    Notify,
    Wait,
    /// Tries so often.
    Poll(Wanted, usize),
    /// The same, while it reads.
    PollReading(Wanted, usize),
}

fn some_wanted(random: &mut Random) -> Wanted {
    match random.below(10) {
        0 => Wanted::Exchange(random.below(2) as usize),
        1 => Wanted::Lock,
        2 => Wanted::Read,
        3 => Wanted::Write,
        4 => Wanted::Data,
        5 => Wanted::Message,
        6 => Wanted::OnlyReference,
        7 => Wanted::Once,
        _ => Wanted::Flag(random.below(2) as usize),
    }
}

fn some_act(random: &mut Random) -> Act {
    let tries = 2 + random.below(3) as usize;
    let flag = random.below(2) as usize;
    match random.below(20) {
        0 | 1 => Act::Store(flag, 1 + random.below(2) as usize),
        2 => Act::Load(flag),
        3 => Act::Lock,
        4 => Act::StoreInLock(flag),
        5 => Act::Read,
        6 => Act::Write,
        7 => Act::Send,
        8 => Act::Receive,
        9 => Act::DropReference,
        10 => Act::Once,
        11 => Act::Unpark,
        12 => Act::Park,
        13 => Act::Notify,
        14 => Act::Wait,
        15 => Act::PollReading(some_wanted(random), tries),
        _ => Act::Poll(some_wanted(random), tries),
    }
}

/// What both threads share.
#[derive(Default)]
struct Shared {
    flags: [AtomicUsize; 2],
    mutex: Mutex<usize>,
    data: RwLock<usize>,
    condition: Condvar,
    once: Once,
}

/// What a thread has of its own.
struct Own {
    shared: Arc<Shared>,
    counted: Option<Arc<()>>,
    sender: Sender<()>,
    receiver: Receiver<()>,
    other: thread::Thread,
    hint: Hint,
}

impl Own {
    fn finds(&self, wanted: Wanted) -> bool {
        let Shared {
            flags,
            mutex,
            data,
            once,
            ..
        } = &*self.shared;
        match wanted {
            Wanted::Flag(flag) => flags[flag].load(SeqCst) == 1,
            Wanted::Exchange(flag) => flags[flag].compare_exchange(1, 2, SeqCst, SeqCst).is_ok(),
            Wanted::Lock => mutex.try_lock().is_ok(),
            Wanted::Read => data.try_read().is_ok(),
            Wanted::Write => data.try_write().is_ok(),
            Wanted::Data => *data.read().unwrap() == 1,
            Wanted::Message => self.receiver.try_recv().is_ok(),
            Wanted::OnlyReference => match &self.counted {
                Some(counted) => Arc::strong_count(counted) == 1,
                None => true,
            },
            Wanted::Once => once.is_completed(),
        }
    }

    fn polls(&self, wanted: Wanted, tries: usize) -> usize {
        for _ in 0..tries {
            if self.finds(wanted) {
                return 1;
            }
            self.hint.give();
        }
        0
    }

    /// Acts, and says what it has seen.
    fn run(mut self, acts: &[Act]) -> (Vec<usize>, Self) {
        let mut seen = Vec::new();
        for &act in acts {
            let shared = &*self.shared;
            match act {
                Act::Store(flag, value) => shared.flags[flag].store(value, SeqCst),
                Act::Load(flag) => seen.push(shared.flags[flag].load(SeqCst)),
                Act::Lock => {
                    let mut held = shared.mutex.lock().unwrap();
                    seen.push(*held);
                    *held = 1;
                }
                Act::StoreInLock(flag) => {
                    let _held = shared.mutex.lock().unwrap();
                    shared.flags[flag].store(1, SeqCst);
                }
                Act::Read => seen.push(*shared.data.read().unwrap()),
                Act::Write => *shared.data.write().unwrap() = 1,
                Act::Send => {
                    let _ = self.sender.send(());
                }
                Act::Receive => seen.push(self.receiver.recv_timeout(MOMENT).is_ok().into()),
                Act::DropReference => drop(self.counted.take()),
                Act::Once => shared.once.call_once(|| {
                    shared.flags[0].fetch_add(1, SeqCst);
                }),
                Act::Unpark => self.other.unpark(),
                Act::Park => thread::park_timeout(MOMENT),
                Act::Notify => shared.condition.notify_one(),
                Act::Wait => {
                    let held = shared.mutex.lock().unwrap();
                    let (_held, in_time) = shared.condition.wait_timeout(held, MOMENT).unwrap();
                    seen.push(in_time.timed_out().into());
                }
                Act::Poll(wanted, tries) => seen.push(self.polls(wanted, tries)),
                Act::PollReading(wanted, tries) => {
                    let _held = shared.data.read().unwrap();
                    if !matches!(wanted, Wanted::Write | Wanted::Data) {
                        seen.push(self.polls(wanted, tries));
                    }
                }
            }
        }
        (seen, self)
    }
}

fn execute(acts: &[Vec<Act>; 2], hint: Hint) -> [Vec<usize>; 3] {
    let shared = Arc::new(Shared::default());
    let (sender, their_receiver) = channel();
    let (their_sender, receiver) = channel();
    let counted = Arc::new(());
    let (main, theirs, their_counted) = (thread::current(), Arc::clone(&shared), counted.clone());
    let their_acts = acts[1].clone();
    let child = thread::spawn(move || {
        let own = Own {
            shared: theirs,
            counted: Some(their_counted),
            sender: their_sender,
            receiver: their_receiver,
            other: main,
            hint,
        };
        own.run(&their_acts)
    });
    let own = Own {
        shared: Arc::clone(&shared),
        counted: Some(counted),
        sender,
        receiver,
        other: child.thread().clone(),
        hint,
    };
    let (seen, _own) = own.run(&acts[0]);
    let (theirs, _their_own) = child.join().unwrap();
    let flags = shared.flags.each_ref().map(|flag| flag.load(SeqCst));
    [seen, theirs, flags.to_vec()]
}

/// All that can be seen, if all was run.
fn outcomes<T: Ord + Send + 'static>(
    execute: impl Fn() -> T + Send + Sync + 'static,
) -> Option<(BTreeSet<T>, bool)> {
    let seen = std::sync::Arc::new(std::sync::Mutex::new(BTreeSet::new()));
    let all = std::sync::Arc::clone(&seen);
    let checker = Checker::new().max_executions(20_000);
    let checked = checker.run(move || {
        let outcome = execute();
        all.lock().unwrap().insert(outcome);
    });
    let is_all = match &checked {
        Ok(report) => report.exhausted,
        // Threads that wait for each other: the same with hints and without.
        Err(_) => true,
    };
    let seen = std::mem::take(&mut *seen.lock().unwrap());
    is_all.then_some((seen, checked.is_ok()))
}

#[test]
fn random_loops_that_give_up_do_the_same_with_hints_and_without() {
    let programs =
        std::env::var("RADDLE_TEST_PROGRAMS").map_or(400, |count| count.parse().unwrap());
    let mut random = Random(0x51ed_270b_0f3a_94c7);
    let mut compared = 0;
    for number in 0..programs {
        let mut some_acts = || {
            let count = 1 + random.below(4);
            (0..count)
                .map(|_| some_act(&mut random))
                .collect::<Vec<_>>()
        };
        let acts = [some_acts(), some_acts()];
        let hint = [Hint::Yield, Hint::Spin, Hint::Sleep][random.below(3) as usize];
        let [with, without] = [hint, Hint::None].map(|hint| {
            let acts = acts.clone();
            outcomes(move || execute(&acts, hint))
        });
        let (Some((with, passes)), Some((without, passes_without))) = (with, without) else {
            continue;
        };
        compared += 1;
        assert_eq!(
            passes, passes_without,
            "program {number}, {hint:?}: {acts:?}"
        );
        // Executions end with the first that fails.
        if passes {
            assert_eq!(with, without, "program {number}, {hint:?}: {acts:?}");
        }
    }
    assert!(
        compared >= programs / 2,
        "most are small enough: {compared} of {programs}"
    );
}

/// It may give up while the other thread has the lock, and get it by waiting.
#[test]
fn trying_a_lock_before_waiting_for_it_is_giving_up() {
    let run = |hint: Hint| {
        outcomes(move || {
            let shared = Arc::new((Mutex::new(()), AtomicUsize::new(0)));
            let theirs = Arc::clone(&shared);
            let child = thread::spawn(move || {
                drop(theirs.0.lock().unwrap());
                theirs.1.store(1, SeqCst);
            });
            let mut gave_up = true;
            for _ in 0..3 {
                if shared.0.try_lock().is_ok() {
                    gave_up = false;
                    break;
                }
                hint.give();
            }
            if gave_up {
                drop(shared.0.lock().unwrap());
            }
            let seen = (gave_up, shared.1.load(SeqCst));
            child.join().unwrap();
            seen
        })
    };
    let all = BTreeSet::from([(false, 0), (false, 1), (true, 0), (true, 1)]);
    for hint in [Hint::Yield, Hint::Spin, Hint::Sleep, Hint::None] {
        assert_eq!(run(hint), Some((all.clone(), true)), "{hint:?}");
    }
}

/// What a loop between two waits at one place has found decides how many iterations there are from one to the other.
#[test]
fn a_wait_at_one_place_is_not_the_same_after_another_loop() {
    fn park() {
        thread::park_timeout(MOMENT);
    }
    let run = |hint: Hint| {
        outcomes(move || {
            let (lock, counted) = (Arc::new(Mutex::new(0)), Arc::new(()));
            let (their_lock, their_counted) = (lock.clone(), counted.clone());
            let child = thread::spawn(move || {
                let got = their_lock.try_lock().is_ok();
                drop(their_counted);
                got
            });
            park();
            for _ in 0..4 {
                if Arc::strong_count(&counted) == 1 {
                    break;
                }
                hint.give();
            }
            park();
            *lock.lock().unwrap() += 1;
            child.join().unwrap()
        })
    };
    let all = BTreeSet::from([false, true]);
    for hint in [Hint::Yield, Hint::Spin, Hint::Sleep, Hint::None] {
        assert_eq!(run(hint), Some((all.clone(), true)), "{hint:?}");
    }
}
