//! [`Counters`]: a small system for examples and tests.
//!
//! Threads work on shared counters. A thread has a register of its own and runs a
//! list of [`Op`]s, one per step. There is enough to show everything that a
//! system can do: races, locks, choices, assumptions, deadlocks, faults, endless
//! executions, and threads that are renumbered.

use crate::parts::{Changed, Packed, Renamed};
use crate::system::{
    Access, AccessKind, Choice, Fault, FaultKind, Footprint, Location, Place, Position, Status,
    Step, SyncOp, System,
};

/// One step of a thread of [`Counters`]. Counters, locks and codes go by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// Copies a counter to the register.
    Read(u8),
    /// Copies the register, plus one, to a counter.
    WriteNext(u8),
    /// Sets a counter (first) to a value (second).
    Set(u8, u8),
    /// Adds one to a counter, indivisibly.
    Increment(u8),
    /// Takes a lock when it is free.
    Lock(u8),
    /// Frees a lock; a runtime error if the thread does not hold it.
    Unlock(u8),
    /// Chooses a value for the register, below a bound.
    Choose(u8),
    /// Passes if the register has the value; the execution does not count otherwise.
    Assume(u8),
    /// Waits until a counter (first) has a value (second).
    Await(u8, u8),
    /// Fails unless a counter (first) has a value (second).
    Assert(u8, u8),
    /// Goes on at another operation of the same code.
    Goto(u8),
    /// Starts a thread that runs a code. A code can be started only once.
    Spawn(u8),
}

/// A state of [`Counters`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct State {
    /// The values of the counters.
    pub counters: Vec<u8>,
    /// Who holds each lock: 0 for nobody, or the name of a thread plus one.
    pub locks: Vec<u8>,
    /// The threads that were started.
    pub threads: Vec<Thread>,
}

/// A thread of a [`State`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Thread {
    /// Which code it runs; its name.
    pub code: u8,
    /// Its next operation.
    pub next: u8,
    /// Its register.
    pub register: u8,
    /// Whether it has failed.
    pub failed: bool,
}

/// Threads that work on shared counters.
///
/// ```
/// use raddle_explore::{Search, testing::{Counters, Op}, reductions::full::Full};
///
/// let increment = [Op::Read(0), Op::WriteNext(0)];
/// let mut system = Counters::new(&[&increment, &increment]);
/// let outcome = Search::new().run(&mut system, &mut Full::default());
/// assert!(outcome.is_verified());
/// assert_eq!(outcome.statistics.states, 13);
/// ```
#[derive(Clone, Debug)]
pub struct Counters {
    codes: Vec<Vec<Op>>,
    initial: State,
    /// No counter may exceed it.
    limit: u8,
}

impl Counters {
    /// A system that starts with one thread for each of the codes. All counters
    /// are zero.
    #[must_use]
    pub fn new(codes: &[&[Op]]) -> Self {
        let started: Vec<u8> = (0..codes.len() as u8).collect();
        Self::starting(codes, &started)
    }

    /// A system of which only some codes run at the start; others are for [`Op::Spawn`].
    #[must_use]
    pub fn starting(codes: &[&[Op]], started: &[u8]) -> Self {
        let mut initial = State {
            counters: vec![0; 4],
            locks: vec![0; 4],
            threads: started.iter().map(|&code| Thread::new(code)).collect(),
        };
        initial.threads.sort_by_key(|thread| thread.code);
        Self {
            codes: codes.iter().map(|code| code.to_vec()).collect(),
            initial,
            limit: u8::MAX,
        }
    }

    /// Threads that all increment one counter, by a read and a write.
    #[must_use]
    pub fn racing(threads: usize) -> Self {
        Self::new(&vec![&[Op::Read(0), Op::WriteNext(0)][..]; threads])
    }

    /// The same system with the invariant that no counter exceeds the limit.
    #[must_use]
    pub fn with_limit(mut self, limit: u8) -> Self {
        self.limit = limit;
        self
    }

    fn next_op(&self, thread: &Thread) -> Option<Op> {
        let code = &self.codes[usize::from(thread.code)];
        code.get(usize::from(thread.next)).copied()
    }

    fn place_of(thread: &Thread) -> Place {
        Place(u32::from(thread.code) * 100 + u32::from(thread.next))
    }
}

impl Thread {
    fn new(code: u8) -> Self {
        Self {
            code,
            next: 0,
            register: 0,
            failed: false,
        }
    }
}

/// The result of an operation that was taken.
enum Taken {
    Moved,
    Blocked { assumption: bool },
    Failed(FaultKind, &'static str),
}

impl System for Counters {
    type State = State;

    fn initial(&mut self) -> State {
        self.initial.clone()
    }

    fn thread_count(&self, state: &State) -> usize {
        state.threads.len()
    }

    fn step(&mut self, state: &State, thread: Position, choice: Choice, step: &mut Step<State>) {
        step.footprint.clear();
        step.next_choice = None;
        step.changed = Changed::NONE;
        step.changed.add(0);
        step.changed.add(1 + thread.index());
        let me = &state.threads[thread.index()];
        let (Some(op), false) = (self.next_op(me), me.failed) else {
            step.status = Status::Ended;
            return;
        };
        step.after.counters.clone_from(&state.counters);
        step.after.locks.clone_from(&state.locks);
        step.after.threads.clone_from(&state.threads);
        let place = Self::place_of(me);
        let counter = |counter: u8, writes, kind| Access {
            location: Location(u64::from(counter)),
            writes,
            kind,
            place,
        };
        let lock = |lock: u8, operation| Access {
            location: Location(1000 + u64::from(lock)),
            writes: true,
            kind: AccessKind::Sync(operation),
            place,
        };
        let State {
            counters,
            locks,
            threads,
        } = &mut step.after;
        let mover = &mut threads[thread.index()];
        let register = mover.register;
        let holder = mover.code + 1;
        mover.next += 1;
        let taken = match op {
            Op::Read(c) => {
                step.footprint.push(counter(c, false, AccessKind::Plain));
                mover.register = counters[usize::from(c)];
                Taken::Moved
            }
            Op::WriteNext(c) => {
                step.footprint.push(counter(c, true, AccessKind::Plain));
                counters[usize::from(c)] = register.wrapping_add(1);
                Taken::Moved
            }
            Op::Set(c, value) => {
                step.footprint.push(counter(c, true, AccessKind::Plain));
                counters[usize::from(c)] = value;
                Taken::Moved
            }
            Op::Increment(c) => {
                step.footprint.push(counter(c, true, AccessKind::Atomic));
                counters[usize::from(c)] = counters[usize::from(c)].wrapping_add(1);
                Taken::Moved
            }
            Op::Lock(l) => {
                step.footprint.push(lock(l, SyncOp::Acquire));
                if locks[usize::from(l)] == 0 {
                    locks[usize::from(l)] = holder;
                    Taken::Moved
                } else {
                    Taken::Blocked { assumption: false }
                }
            }
            Op::Unlock(l) => {
                step.footprint.push(lock(l, SyncOp::Release));
                if locks[usize::from(l)] == holder {
                    locks[usize::from(l)] = 0;
                    Taken::Moved
                } else {
                    Taken::Failed(FaultKind::Runtime, "unlock of a lock that is not held")
                }
            }
            Op::Choose(bound) => {
                mover.register = choice.0 as u8;
                if choice.0 + 1 < u64::from(bound) {
                    step.next_choice = Some(Choice(choice.0 + 1));
                }
                Taken::Moved
            }
            Op::Assume(value) if register == value => Taken::Moved,
            Op::Assume(_) => Taken::Blocked { assumption: true },
            Op::Await(c, value) => {
                step.footprint.push(counter(c, false, AccessKind::Atomic));
                if counters[usize::from(c)] == value {
                    Taken::Moved
                } else {
                    Taken::Blocked { assumption: false }
                }
            }
            Op::Assert(c, value) => {
                step.footprint.push(counter(c, false, AccessKind::Plain));
                if counters[usize::from(c)] == value {
                    Taken::Moved
                } else {
                    Taken::Failed(FaultKind::Assertion, "the counter has another value")
                }
            }
            Op::Goto(target) => {
                mover.next = target;
                Taken::Moved
            }
            Op::Spawn(code) => {
                threads.push(Thread::new(code));
                step.changed = Changed::ALL;
                Taken::Moved
            }
        };
        step.status = match taken {
            Taken::Moved => Status::Moved,
            Taken::Blocked { assumption } => {
                // Nothing has happened: the lock was only looked at.
                for access in &mut step.footprint {
                    access.writes = false;
                }
                Status::Blocked { assumption }
            }
            Taken::Failed(kind, message) => {
                step.after.threads[thread.index()].failed = true;
                Status::Failed(Fault {
                    kind,
                    place,
                    message: message.to_owned(),
                })
            }
        };
    }

    /// Threads are ordered by name, so that the order of spawns leaves no trace.
    fn canonicalise(&mut self, state: &mut State) -> Renamed {
        if state.threads.is_sorted_by_key(|thread| thread.code) {
            return Renamed::Nothing;
        }
        state.threads.sort_by_key(|thread| thread.code);
        Renamed::Something
    }

    /// One part for the counters and locks, and one for each thread.
    fn encode(&self, state: &State, packed: &mut Packed) {
        let word = |bytes: &[u8]| {
            let mut word = [0; 8];
            word[..bytes.len()].copy_from_slice(bytes);
            u64::from_le_bytes(word)
        };
        packed.clear();
        packed.push(word(&state.counters) | word(&state.locks) << 32);
        packed.end_part();
        for thread in &state.threads {
            let failed = u8::from(thread.failed);
            packed.push(word(&[thread.code, thread.next, thread.register, failed]));
            packed.end_part();
        }
    }

    fn decode(&self, words: &[u64], state: &mut State) {
        let (shared, threads) = words.split_first().expect("an encoded state is complete");
        let shared = shared.to_le_bytes();
        let (counters, locks) = shared.split_at(4);
        state.counters.clear();
        state.counters.extend_from_slice(counters);
        state.locks.clear();
        state.locks.extend_from_slice(locks);
        state.threads.clear();
        let threads = threads.iter().map(|word| {
            let [code, next, register, failed, ..] = word.to_le_bytes();
            Thread {
                code,
                next,
                register,
                failed: failed != 0,
            }
        });
        state.threads.extend(threads);
    }

    fn broken_invariant(&mut self, state: &State, reads: &mut Footprint) -> Option<Fault> {
        // Without a limit there is no invariant.
        let watched = if self.limit == u8::MAX {
            0
        } else {
            state.counters.len()
        };
        reads.extend((0..watched).map(|counter| Access {
            location: Location(counter as u64),
            writes: false,
            kind: AccessKind::Atomic,
            place: Place(9999),
        }));
        let broken = state.counters.iter().any(|&value| value > self.limit);
        broken.then(|| Fault {
            kind: FaultKind::Invariant,
            place: Place(9999),
            message: "a counter exceeds the limit".to_owned(),
        })
    }

    fn failed(&self, state: &State) -> bool {
        state.threads.iter().any(|thread| thread.failed)
    }

    fn ended(&self, state: &State, thread: Position) -> bool {
        {
            let thread = &state.threads[thread.index()];
            thread.failed || self.next_op(thread).is_none()
        }
    }

    fn place(&self, state: &State, thread: Position) -> Place {
        Self::place_of(&state.threads[thread.index()])
    }

    fn thread_name(&self, state: &State, thread: Position) -> u64 {
        u64::from(state.threads[thread.index()].code)
    }
}

/// A small generator of pseudo-random numbers (xorshift64*).
#[cfg(test)]
pub(crate) struct Random(pub(crate) u64);

#[cfg(test)]
impl Random {
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 16) % bound
    }
}
