//! A small executor for tests and examples: threads that are lists of operations on shared variables.
//!
//! ```
//! use raddle_schedule::{Explorer, explorers::Optimal};
//! use raddle_schedule::testing::{Op::{Read, Write}, Toy};
//! use std::ops::ControlFlow;
//!
//! // One writer and two readers: each reads before or after the write.
//! let mut toy = Toy::new(&[&[Write(0, 1)], &[Read(0)], &[Read(0)]]);
//! let mut executions = 0;
//! let coverage = Optimal::default().explore(&mut toy, &mut |_: &mut Toy, _: &_| {
//!     executions += 1;
//!     ControlFlow::Continue(())
//! });
//! assert!(coverage.is_ok_and(|coverage| coverage.is_all()));
//! assert_eq!(executions, 4);
//! ```

use crate::execution::{
    Diverged, Execution, LocationId, Mode, Move, Observed, Readiness, ThreadId, ValuedAccess,
};
use crate::trace::{Cut, Trace};

/// One operation. Variables are numbers; each is used in one way: as data, as a mutex,
/// as a reader-writer lock, or as a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// Reads a variable.
    Read(u32),
    /// Writes a variable.
    Write(u32, u64),
    /// Adds to a variable and gets the old value.
    Add(u32, u64),
    /// Writes the third if the variable has the second; gets the old value.
    Cas(u32, u64, u64),
    /// Waits until a variable has a value.
    Await(u32, u64),
    /// Waits until the first has the second, or the third has the fourth. Does not look at the third if it need not.
    AwaitEither(u32, u64, u32, u64),
    /// Waits until the first has the second, and the third has the fourth. Does not look at the third if it need not.
    AwaitBoth(u32, u64, u32, u64),
    /// Waits until a variable is positive, and decrements it.
    Down(u32),
    /// Takes a mutex.
    Lock(u32),
    /// Gives it back.
    Unlock(u32),
    /// Takes a mutex if it is free; gets whether it was.
    TryLock(u32),
    /// Takes a reader-writer lock for reading.
    ReadLock(u32),
    /// Gives it back.
    ReadUnlock(u32),
    /// Takes a reader-writer lock for reading, if nobody writes.
    TryReadLock(u32),
    /// Takes a reader-writer lock for writing.
    WriteLock(u32),
    /// Gives it back.
    WriteUnlock(u32),
    /// Takes a reader-writer lock for writing, if nobody has it.
    TryWriteLock(u32),
    /// Waits on the first, a condition, giving up the second, a mutex, until it is notified; then takes
    /// the mutex again.
    Wait(u32, u32),
    /// Wakes one that waits on a condition.
    NotifyOne(u32),
    /// Wakes all that wait on a condition.
    NotifyAll(u32),
    /// Gets any number below this one.
    Choose(u32),
    /// Starts a thread.
    Spawn(u32),
    /// Waits for the end of a thread.
    Join(u32),
    /// Not a step: skips the second number of operations unless the last value got is the first.
    Unless(u64, usize),
}

impl Op {
    /// The variables that it may touch.
    fn variables(self) -> impl Iterator<Item = u32> {
        let (one, other) = match self {
            Self::Unless(..) | Self::Choose(_) | Self::Join(_) | Self::Spawn(_) => (None, None),
            Self::Wait(x, y) | Self::AwaitEither(x, _, y, _) | Self::AwaitBoth(x, _, y, _) => {
                (Some(x), Some(y))
            }
            Self::Read(x)
            | Self::Write(x, _)
            | Self::Add(x, _)
            | Self::Cas(x, ..)
            | Self::Await(x, _)
            | Self::Down(x)
            | Self::Lock(x)
            | Self::Unlock(x)
            | Self::TryLock(x)
            | Self::ReadLock(x)
            | Self::ReadUnlock(x)
            | Self::TryReadLock(x)
            | Self::WriteLock(x)
            | Self::WriteUnlock(x)
            | Self::TryWriteLock(x)
            | Self::NotifyOne(x)
            | Self::NotifyAll(x) => (Some(x), None),
        };
        one.into_iter().chain(other)
    }
}

const WRITER: u64 = 1 << 40;

#[derive(Clone, Debug, Default)]
struct Thread {
    started: bool,
    pc: usize,
    got: Vec<u64>,
    /// The condition it is asleep on, and the mutex.
    asleep: Option<(u32, u32)>,
    /// Woken: takes the mutex next.
    retaking: Option<u32>,
    /// Its steps so far: which operation, and whether it was to retake a mutex.
    steps: Vec<Pending>,
}

/// A step that a thread has made or is to make.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pending {
    Op(Op),
    Retake(u32),
    Asleep,
    End,
    Over,
}

/// A program that executes lists of operations.
#[derive(Clone, Debug)]
pub struct Toy {
    program: Vec<Vec<Op>>,
    /// Threads that another one starts.
    spawned: Vec<bool>,
    variables: u32,
    threads: Vec<Thread>,
    ids: Vec<ThreadId>,
    values: Vec<u64>,
    numbering: Option<Numbering>,
}

/// Numbers in the order of first use.
#[derive(Clone, Debug, Default)]
struct Numbering {
    numbers: Vec<Option<u32>>,
    used: u32,
}

impl Numbering {
    fn add(&mut self, at: LocationId) {
        let number = &mut self.numbers[at.index()];
        if number.is_none() {
            *number = Some(self.used);
            self.used += 1;
        }
    }
}

impl Toy {
    /// A program of these threads. Those that no operation starts are there from the beginning.
    #[must_use]
    pub fn new(threads: &[&[Op]]) -> Self {
        let program: Vec<Vec<Op>> = threads.iter().map(|ops| ops.to_vec()).collect();
        let mut spawned = vec![false; program.len()];
        let mut variables = 0;
        for op in program.iter().flatten() {
            if let Op::Spawn(thread) = *op {
                spawned[thread as usize] = true;
            }
            variables = op.variables().fold(variables, |most, x| most.max(x + 1));
        }
        Self {
            program,
            spawned,
            variables,
            threads: Vec::new(),
            ids: Vec::new(),
            values: Vec::new(),
            numbering: None,
        }
    }

    /// The same program, in which locations have numbers in the order in which an execution comes to them, as real
    /// objects do.
    #[must_use]
    pub fn numbered_by_first_use(mut self) -> Self {
        self.numbering = Some(Numbering::default());
        self
    }

    /// What each thread got from its operations.
    #[must_use]
    pub fn outcome(&self) -> Vec<Vec<u64>> {
        self.threads
            .iter()
            .map(|thread| thread.got.clone())
            .collect()
    }

    /// Whether some thread has not ended.
    #[must_use]
    pub fn is_stuck(&self) -> bool {
        self.ids
            .iter()
            .any(|&thread| self.readiness(thread) != Readiness::Ended)
    }

    /// The last value that the thread got.
    fn last(&self, thread: usize) -> u64 {
        self.threads[thread].got.last().copied().unwrap_or(0)
    }

    /// The location of a thread's end.
    fn end_of(&self, thread: usize) -> LocationId {
        LocationId(self.variables + u32::try_from(thread).unwrap_or(u32::MAX))
    }

    fn pending(&self, thread: usize) -> Pending {
        let Thread {
            pc,
            asleep,
            retaking,
            ..
        } = self.threads[thread];
        if asleep.is_some() {
            return Pending::Asleep;
        }
        if let Some(mutex) = retaking {
            return Pending::Retake(mutex);
        }
        let ops = &self.program[thread];
        match pc.cmp(&ops.len()) {
            std::cmp::Ordering::Less => Pending::Op(ops[pc]),
            std::cmp::Ordering::Equal => Pending::End,
            std::cmp::Ordering::Greater => Pending::Over,
        }
    }

    /// What a step does where locations have these values; whether it can be made.
    fn effect(
        &self,
        thread: usize,
        pending: Pending,
        value: impl Fn(LocationId) -> u64,
        step: &mut Observed,
    ) -> bool {
        let pending = match pending {
            Pending::Retake(mutex) => Pending::Op(Op::Lock(mutex)),
            pending => pending,
        };
        step.clear();
        let mut touch = |location: LocationId, mode: Mode, after: u64| {
            step.accesses.push(ValuedAccess {
                location,
                mode,
                before: value(location),
                after,
            });
        };
        let at = |x: u32| (LocationId(x), value(LocationId(x)));
        match pending {
            Pending::Asleep | Pending::Over | Pending::Retake(_) => return false,
            Pending::End => touch(self.end_of(thread), Mode::Write, 1),
            Pending::Op(op) => match op {
                Op::Lock(x) => {
                    let (x, held) = at(x);
                    touch(x, Mode::Write, 1);
                    return held == 0;
                }
                Op::Read(x) => touch(LocationId(x), Mode::Read, at(x).1),
                Op::Write(x, new) => touch(LocationId(x), Mode::Write, new),
                Op::Add(x, more) => touch(LocationId(x), Mode::Write, at(x).1 + more),
                Op::Cas(x, old, new) => {
                    if at(x).1 == old {
                        touch(LocationId(x), Mode::Write, new);
                    } else {
                        touch(LocationId(x), Mode::Read, at(x).1);
                    }
                }
                Op::Await(x, wanted) => {
                    let (x, found) = at(x);
                    touch(x, Mode::Read, found);
                    return found == wanted;
                }
                Op::AwaitEither(x, wanted, y, other) | Op::AwaitBoth(x, wanted, y, other) => {
                    let either = matches!(op, Op::AwaitEither(..));
                    let (x, found) = at(x);
                    touch(x, Mode::Read, found);
                    if (found == wanted) == either {
                        return either;
                    }
                    let (y, found) = at(y);
                    touch(y, Mode::Read, found);
                    return found == other;
                }
                Op::Down(x) => {
                    let (x, found) = at(x);
                    touch(x, Mode::Write, found.saturating_sub(1));
                    return found > 0;
                }
                Op::Unlock(x) | Op::WriteUnlock(x) => touch(LocationId(x), Mode::Write, 0),
                Op::TryLock(x) | Op::TryWriteLock(x) => {
                    let (x, held) = at(x);
                    let taken = if matches!(op, Op::TryLock(_)) {
                        1
                    } else {
                        WRITER
                    };
                    if held == 0 {
                        touch(x, Mode::Write, taken);
                    } else {
                        touch(x, Mode::Read, held);
                    }
                }
                Op::ReadLock(x) => {
                    let (x, held) = at(x);
                    touch(x, Mode::Shared, held + 1);
                    return held < WRITER;
                }
                Op::TryReadLock(x) => {
                    let (x, held) = at(x);
                    if held < WRITER {
                        touch(x, Mode::Shared, held + 1);
                    } else {
                        touch(x, Mode::Read, held);
                    }
                }
                Op::ReadUnlock(x) => touch(LocationId(x), Mode::Shared, at(x).1.wrapping_sub(1)),
                Op::WriteLock(x) => {
                    let (x, held) = at(x);
                    touch(x, Mode::Write, WRITER);
                    return held == 0;
                }
                Op::Wait(condition, mutex) => {
                    touch(LocationId(mutex), Mode::Write, 0);
                    touch(LocationId(condition), Mode::Write, at(condition).1 + 1);
                }
                Op::NotifyOne(x) | Op::NotifyAll(x) => {
                    let (x, waiting) = at(x);
                    if waiting == 0 {
                        touch(x, Mode::Read, 0);
                    } else if matches!(op, Op::NotifyAll(_)) {
                        touch(x, Mode::Write, 0);
                    } else {
                        touch(x, Mode::Write, waiting - 1);
                        step.alternatives = u32::try_from(waiting).unwrap_or(1);
                    }
                }
                Op::Choose(n) => step.alternatives = n,
                Op::Spawn(child) => step.wakes.push(ThreadId(child)),
                Op::Join(other) => {
                    let end = self.end_of(other as usize);
                    touch(end, Mode::Read, value(end));
                    return value(end) == 1;
                }
                Op::Unless(..) => {}
            },
        }
        true
    }

    /// Skips what is not a step.
    fn settle(&mut self, thread: usize) {
        while let Some(Op::Unless(wanted, skip)) =
            self.program[thread].get(self.threads[thread].pc).copied()
        {
            let pass = self.last(thread) == wanted;
            self.threads[thread].pc += 1 + if pass { 0 } else { skip };
        }
        let end = self.program[thread].len();
        self.threads[thread].pc = self.threads[thread].pc.min(end);
        self.number_pending(thread);
    }

    /// Gives numbers to what the next step of a thread may touch.
    fn number_pending(&mut self, thread: usize) {
        let end = match self.pending(thread) {
            Pending::Op(Op::Join(other)) => Some(self.end_of(other as usize)),
            _ => None,
        };
        let Some(numbering) = &mut self.numbering else {
            return;
        };
        end.into_iter().for_each(|at| numbering.add(at));
        if let Some(op) = self.program[thread].get(self.threads[thread].pc) {
            op.variables().for_each(|x| numbering.add(LocationId(x)));
        }
    }

    /// The number of a location in this execution.
    fn numbered(&self, at: LocationId) -> LocationId {
        match &self.numbering {
            None => at,
            Some(numbering) => LocationId(numbering.numbers[at.index()].unwrap_or(u32::MAX)),
        }
    }

    fn number_accesses(&self, step: &mut Observed) {
        for access in &mut step.accesses {
            access.location = self.numbered(access.location);
        }
    }

    fn start(&mut self, thread: u32) {
        self.ids.push(ThreadId(thread));
        self.threads[thread as usize].started = true;
        let end = self.end_of(thread as usize);
        if let Some(numbering) = &mut self.numbering {
            numbering.add(end);
        }
        self.settle(thread as usize);
    }
}

impl Execution for Toy {
    fn restart(&mut self) {
        self.values = vec![0; self.variables as usize + self.program.len()];
        self.threads = vec![Thread::default(); self.program.len()];
        self.ids.clear();
        if let Some(numbering) = &mut self.numbering {
            numbering.used = 0;
            numbering.numbers = vec![None; self.values.len()];
        }
        for thread in 0..self.program.len() {
            if !self.spawned[thread] {
                self.start(u32::try_from(thread).unwrap_or(u32::MAX));
            }
        }
    }

    fn threads(&self) -> &[ThreadId] {
        &self.ids
    }

    fn location_count(&self) -> usize {
        self.numbering
            .as_ref()
            .map_or(usize::MAX, |numbering| numbering.used as usize)
    }

    fn readiness(&self, thread: ThreadId) -> Readiness {
        let pending = self.pending(thread.index());
        if pending == Pending::Over {
            return Readiness::Ended;
        }
        let value = |x: LocationId| self.values[x.index()];
        if self.effect(thread.index(), pending, value, &mut Observed::default()) {
            Readiness::Enabled
        } else {
            Readiness::Blocked
        }
    }

    fn alternatives(&self, thread: ThreadId) -> u32 {
        let mut step = Observed::default();
        let value = |x: LocationId| self.values[x.index()];
        self.effect(
            thread.index(),
            self.pending(thread.index()),
            value,
            &mut step,
        );
        step.alternatives
    }

    fn step(&mut self, next: Move, step: &mut Observed) -> Result<(), Diverged> {
        let thread = next.thread.index();
        let pending = self.pending(thread);
        let value = |x: LocationId| self.values[x.index()];
        let enabled = self.effect(thread, pending, value, step);
        assert!(enabled, "{next:?} is not enabled");
        for access in &step.accesses {
            self.values[access.location.index()] = access.after;
        }
        self.threads[thread].steps.push(pending);
        self.threads[thread].retaking = None;
        let got = match pending {
            Pending::Op(Op::Choose(_)) => Some(u64::from(next.choice)),
            Pending::Op(Op::Read(_) | Op::Add(..) | Op::Cas(..)) => Some(step.accesses[0].before),
            Pending::Op(Op::TryLock(_) | Op::TryWriteLock(_) | Op::TryReadLock(_)) => {
                Some(u64::from(step.accesses[0].mode != Mode::Read))
            }
            _ => None,
        };
        self.threads[thread].got.extend(got);
        match pending {
            Pending::Op(Op::Wait(condition, mutex)) => {
                self.threads[thread].asleep = Some((condition, mutex));
            }
            Pending::Op(op @ (Op::NotifyOne(x) | Op::NotifyAll(x))) => {
                let waiting: Vec<usize> = (0..self.threads.len())
                    .filter(|&other| {
                        self.threads[other]
                            .asleep
                            .is_some_and(|(condition, _)| condition == x)
                    })
                    .collect();
                let choice = next.choice as usize;
                let woken = match op {
                    Op::NotifyOne(_) => waiting.get(choice..=choice).unwrap_or(&[]),
                    _ => &waiting[..],
                };
                for &other in woken {
                    let asleep = self.threads[other].asleep.take();
                    self.threads[other].retaking = asleep.map(|(_, mutex)| mutex);
                    step.wakes
                        .push(ThreadId(u32::try_from(other).unwrap_or(u32::MAX)));
                }
            }
            Pending::Op(Op::Spawn(child)) => self.start(child),
            _ => {}
        }
        if !matches!(pending, Pending::Retake(_)) {
            self.threads[thread].pc += 1;
        }
        self.number_accesses(step);
        if !matches!(pending, Pending::End) {
            self.settle(thread);
        }
        Ok(())
    }

    fn foresee(
        &mut self,
        trace: &Trace,
        cut: &Cut,
        thread: ThreadId,
        number: u32,
        step: &mut Observed,
    ) -> bool {
        let index = thread.index();
        let pending = match self.threads[index].steps.get(number as usize) {
            Some(pending) => *pending,
            None => self.pending(index),
        };
        let value = |x: LocationId| {
            let after = trace.value_at(self.numbered(x), cut);
            after.unwrap_or(self.values[x.index()])
        };
        let is_possible = self.effect(index, pending, value, step);
        self.number_accesses(step);
        is_possible
    }
}
