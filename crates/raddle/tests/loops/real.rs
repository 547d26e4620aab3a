//! The same programs, as Rust code that uses `raddle`.

use std::cell::{Cell, RefCell};
use std::ops::{ControlFlow, Deref, DerefMut};
use std::sync::{Arc as StdArc, Mutex as StdMutex};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use raddle::sync::atomic::{AtomicI64, Ordering::SeqCst};
use raddle::sync::mpsc::{Receiver, RecvTimeoutError, Sender, TryRecvError, channel};
use raddle::sync::{
    Arc, Condvar, Mutex, MutexGuard, OnceLock, RwLock, RwLockReadGuard, RwLockWriteGuard, Weak,
};
use raddle::thread::{self, JoinHandle, Thread};
use raddle::{future, hint};

use crate::syntax::{
    DISCONNECTED, Inside, Mark, NOTHING, OBJECTS, Op, Outcome, Program, REGISTERS, Statement, Test,
    Value,
};

/// What came of one execution so far: the registers of the threads that have come to the end of their statements, and what
/// the objects hold once all have ended.
#[derive(Clone, Debug, Default)]
pub(crate) struct Log {
    pub(crate) done: Vec<Option<[i64; REGISTERS]>>,
    pub(crate) objects: Option<Vec<i64>>,
}

impl Log {
    /// What came of the execution, if it has ended.
    pub(crate) fn ended(&self) -> Option<Outcome> {
        Some(Outcome {
            stuck: false,
            threads: self.done.clone(),
            objects: self.objects.clone()?,
        })
    }

    /// What came of it if its threads wait or spin for ever.
    pub(crate) fn stuck(&self) -> Outcome {
        Outcome {
            stuck: true,
            threads: self.done.clone(),
            objects: Vec::new(),
        }
    }
}

pub(crate) type SharedLog = StdArc<StdMutex<Log>>;

/// A mutex whose value is changed through `DerefMut`, or through a shared reference, or behind a pointer.
enum AnyMutex {
    Plain(Mutex<i64>),
    Cell(Mutex<Cell<i64>>),
    RefCell(Mutex<RefCell<i64>>),
    Boxed(Mutex<Box<i64>>),
}

enum AnyGuard<'a> {
    Plain(MutexGuard<'a, i64>),
    Cell(MutexGuard<'a, Cell<i64>>),
    RefCell(MutexGuard<'a, RefCell<i64>>),
    Boxed(MutexGuard<'a, Box<i64>>),
}

impl AnyMutex {
    fn new(inside: Inside) -> Self {
        match inside {
            Inside::Plain => Self::Plain(Mutex::default()),
            Inside::Cell => Self::Cell(Mutex::default()),
            Inside::RefCell => Self::RefCell(Mutex::default()),
            Inside::Boxed => Self::Boxed(Mutex::default()),
        }
    }

    #[track_caller]
    fn lock(&self) -> AnyGuard<'_> {
        match self {
            Self::Plain(mutex) => AnyGuard::Plain(mutex.lock().unwrap()),
            Self::Cell(mutex) => AnyGuard::Cell(mutex.lock().unwrap()),
            Self::RefCell(mutex) => AnyGuard::RefCell(mutex.lock().unwrap()),
            Self::Boxed(mutex) => AnyGuard::Boxed(mutex.lock().unwrap()),
        }
    }

    #[track_caller]
    fn try_lock(&self) -> Option<AnyGuard<'_>> {
        Some(match self {
            Self::Plain(mutex) => AnyGuard::Plain(mutex.try_lock().ok()?),
            Self::Cell(mutex) => AnyGuard::Cell(mutex.try_lock().ok()?),
            Self::RefCell(mutex) => AnyGuard::RefCell(mutex.try_lock().ok()?),
            Self::Boxed(mutex) => AnyGuard::Boxed(mutex.try_lock().ok()?),
        })
    }
}

impl<'a> AnyGuard<'a> {
    fn get(&self) -> i64 {
        match self {
            Self::Plain(guard) => **guard,
            Self::Cell(guard) => guard.get(),
            Self::RefCell(guard) => *guard.borrow(),
            Self::Boxed(guard) => ***guard,
        }
    }

    fn put(&mut self, value: i64) {
        match self {
            Self::Plain(guard) => **guard = value,
            Self::Cell(guard) => guard.set(value),
            Self::RefCell(guard) => *guard.borrow_mut() = value,
            Self::Boxed(guard) => ***guard = value,
        }
    }

    fn take(&mut self) -> i64 {
        match self {
            Self::Plain(guard) => std::mem::take(&mut **guard),
            Self::Cell(guard) => guard.take(),
            Self::RefCell(guard) => guard.take(),
            Self::Boxed(guard) => std::mem::take(&mut ***guard),
        }
    }

    #[track_caller]
    fn wait(self, condition: &Condvar) -> Self {
        match self {
            Self::Plain(guard) => Self::Plain(condition.wait(guard).unwrap()),
            Self::Cell(guard) => Self::Cell(condition.wait(guard).unwrap()),
            Self::RefCell(guard) => Self::RefCell(condition.wait(guard).unwrap()),
            Self::Boxed(guard) => Self::Boxed(condition.wait(guard).unwrap()),
        }
    }

    #[track_caller]
    fn wait_timeout(self, condition: &Condvar) -> (Self, bool) {
        #[track_caller]
        fn wait<'a, T>(condition: &Condvar, guard: MutexGuard<'a, T>) -> (MutexGuard<'a, T>, bool) {
            let (guard, waited) = condition.wait_timeout(guard, SOON).unwrap();
            (guard, waited.timed_out())
        }
        match self {
            Self::Plain(guard) => {
                let (guard, timed_out) = wait(condition, guard);
                (Self::Plain(guard), timed_out)
            }
            Self::Cell(guard) => {
                let (guard, timed_out) = wait(condition, guard);
                (Self::Cell(guard), timed_out)
            }
            Self::RefCell(guard) => {
                let (guard, timed_out) = wait(condition, guard);
                (Self::RefCell(guard), timed_out)
            }
            Self::Boxed(guard) => {
                let (guard, timed_out) = wait(condition, guard);
                (Self::Boxed(guard), timed_out)
            }
        }
    }

    #[track_caller]
    fn wait_while(self, condition: &Condvar, unwanted: i64) -> Self {
        match self {
            Self::Plain(guard) => Self::Plain(
                condition
                    .wait_while(guard, |value| *value == unwanted)
                    .unwrap(),
            ),
            Self::Cell(guard) => Self::Cell(
                condition
                    .wait_while(guard, |value| value.get() == unwanted)
                    .unwrap(),
            ),
            Self::RefCell(guard) => Self::RefCell(
                condition
                    .wait_while(guard, |value| *value.borrow() == unwanted)
                    .unwrap(),
            ),
            Self::Boxed(guard) => Self::Boxed(
                condition
                    .wait_while(guard, |value| **value == unwanted)
                    .unwrap(),
            ),
        }
    }
}

enum RwGuard<'a> {
    Read(RwLockReadGuard<'a, i64>),
    Write(RwLockWriteGuard<'a, i64>),
}

struct World {
    atomics: [AtomicI64; OBJECTS],
    mutexes: [AnyMutex; OBJECTS],
    locks: [RwLock<i64>; OBJECTS],
    conditions: [Condvar; OBJECTS],
    onces: [OnceLock<i64>; OBJECTS],
    slots: [Mutex<Option<Waker>>; OBJECTS],
    references: [Weak<u8>; OBJECTS],
    threads: StdMutex<Vec<Thread>>,
    log: SharedLog,
}

impl World {
    fn new(program: &Program, references: [Weak<u8>; OBJECTS], log: SharedLog) -> Self {
        Self {
            atomics: Default::default(),
            mutexes: program.mutexes.map(AnyMutex::new),
            locks: Default::default(),
            conditions: Default::default(),
            onces: Default::default(),
            slots: Default::default(),
            references,
            threads: StdMutex::new(vec![thread::current()]),
            log,
        }
    }

    /// Uses every object.
    fn touch(&self) {
        for number in 0..OBJECTS {
            self.atomics[number].load(SeqCst);
            drop(self.mutexes[number].lock());
            drop(self.locks[number].read());
            self.conditions[number].notify_all();
            let _ = self.onces[number].get();
            drop(self.slots[number].lock());
            let _ = self.references[number].strong_count();
        }
    }

    fn done(&self, thread: usize, registers: [i64; REGISTERS]) {
        self.log.lock().unwrap().done[thread] = Some(registers);
    }
}

/// What a thread owns: ends of channels, of which senders go away first, and then references.
#[derive(Default)]
struct Ends {
    senders: [Option<Sender<i64>>; OBJECTS],
    receivers: Option<[Receiver<i64>; OBJECTS]>,
    references: [Vec<Arc<u8>>; OBJECTS],
}

/// What each thread owns at first, and what is shared by all of them.
fn ends(program: &Program) -> (Vec<Ends>, [Weak<u8>; OBJECTS]) {
    let mut ends: Vec<Ends> = program.threads.iter().map(|_| Ends::default()).collect();
    if program.has_channels() {
        let receivers = std::array::from_fn(|number| {
            let (sender, receiver) = channel();
            for (thread, ends) in ends.iter_mut().enumerate() {
                if program.sends(thread, number) {
                    ends.senders[number] = Some(sender.clone());
                }
            }
            receiver
        });
        ends[program.receiver()].receivers = Some(receivers);
    }
    let references = std::array::from_fn(|number| {
        let reference = Arc::new(0);
        for (thread, ends) in ends.iter_mut().enumerate() {
            if program.shares(thread, number) {
                ends.references[number].push(reference.clone());
            }
        }
        Arc::downgrade(&reference)
    });
    (ends, references)
}

/// Runs a program. The log is its own.
pub(crate) fn run(program: &Program, log: &SharedLog) {
    log.lock().unwrap().done = vec![None; program.threads.len()];
    let (ends, references) = ends(program);
    let world = StdArc::new(World::new(program, references, log.clone()));
    if program.touched {
        world.touch();
    }
    let mut ends = ends.into_iter();
    let mine = ends.next().unwrap_or_default();
    let mut children = Vec::new();
    for (index, ends) in ends.enumerate() {
        let (world, body) = (world.clone(), program.threads[index + 1].clone());
        let theirs = world.clone();
        let registers = Registers::new(program.heap);
        let child = thread::spawn(move || {
            Runner::new(index + 1, &theirs, ends, registers).run_all(&body);
        });
        // There is no step in between.
        world.threads.lock().unwrap().push(child.thread().clone());
        children.push(child);
    }
    let mut runner = Runner::new(0, &world, mine, Registers::new(program.heap));
    runner.children = &children;
    runner.run_all(&program.threads[0]);
    for child in children {
        child.join().unwrap();
    }
    let atomics = world.atomics.iter().map(|atomic| atomic.load(SeqCst));
    let mutexes = world.mutexes.iter().map(|mutex| mutex.lock().get());
    let objects = atomics.chain(mutexes).collect();
    log.lock().unwrap().objects = Some(objects);
}

/// The registers of a thread, where a look at its stack sees them, or not.
enum Registers {
    OnStack([i64; REGISTERS]),
    OnHeap(Box<[i64; REGISTERS]>),
}

impl Registers {
    fn new(heap: bool) -> Self {
        match heap {
            false => Self::OnStack([0; _]),
            true => Self::OnHeap(Box::new([0; _])),
        }
    }
}

impl Deref for Registers {
    type Target = [i64; REGISTERS];

    fn deref(&self) -> &Self::Target {
        match self {
            Self::OnStack(registers) => registers,
            Self::OnHeap(registers) => registers,
        }
    }
}

impl DerefMut for Registers {
    fn deref_mut(&mut self) -> &mut Self::Target {
        match self {
            Self::OnStack(registers) => registers,
            Self::OnHeap(registers) => registers,
        }
    }
}

const SOON: Duration = Duration::from_millis(1);

/// A thread. What it still has goes away in this order.
struct Runner<'a> {
    me: usize,
    world: &'a World,
    children: &'a [JoinHandle<()>],
    registers: Registers,
    mutexes: [Option<AnyGuard<'a>>; OBJECTS],
    locks: [Option<RwGuard<'a>>; OBJECTS],
    ends: Ends,
}

/// Leaves so many loops, or goes on.
type Flow = ControlFlow<usize>;

impl<'a> Runner<'a> {
    fn new(me: usize, world: &'a World, ends: Ends, registers: Registers) -> Self {
        Self {
            me,
            world,
            children: &[],
            registers,
            mutexes: Default::default(),
            locks: Default::default(),
            ends,
        }
    }

    fn run_all(mut self, body: &[Statement]) {
        let _ = self.run(body, None);
        self.world.done(self.me, *self.registers);
    }

    fn run(&mut self, body: &[Statement], waker: Option<&Waker>) -> Flow {
        for statement in body {
            match statement {
                Statement::Do(op, into, site) => {
                    let got = self.make_at(*site, *op, waker);
                    if let (Some(into), Some(got)) = (into, got) {
                        self.registers[*into] = got;
                    }
                }
                Statement::Set(register, value) => self.registers[*register] = self.value(*value),
                Statement::Count(register, most) => {
                    self.registers[*register] = (self.registers[*register] + 1) % most;
                }
                Statement::If(test, one, other) => {
                    let taken = if self.holds(*test) { one } else { other };
                    self.run(taken, waker)?;
                }
                Statement::Loop(body) => loop {
                    match self.run(body, waker) {
                        ControlFlow::Continue(()) => {}
                        ControlFlow::Break(1) => break,
                        ControlFlow::Break(levels) => return ControlFlow::Break(levels - 1),
                    }
                },
                Statement::Break(levels) => return ControlFlow::Break(*levels),
                Statement::Mark(mark, site) => mark_at(*site, *mark),
                Statement::BlockOn(body, site) => {
                    block_on_at(*site, |waker| self.run(body, Some(waker)).is_break());
                }
            }
        }
        ControlFlow::Continue(())
    }

    fn value(&self, value: Value) -> i64 {
        match value {
            Value::Is(value) => value,
            Value::Of(register) => self.registers[register],
            Value::Next(register) => self.registers[register] + 1,
            Value::Pick(values, register) => {
                values[self.registers[register].rem_euclid(values.len() as i64) as usize]
            }
        }
    }

    fn object(&self, value: Value) -> usize {
        self.value(value).rem_euclid(OBJECTS as i64) as usize
    }

    fn holds(&self, test: Test) -> bool {
        match test {
            Test::Is(register, value) => self.registers[register] == value,
            Test::IsNot(register, value) => self.registers[register] != value,
            Test::Same(one, other) => self.registers[one] == self.registers[other],
            Test::AtMost(register, most) => self.registers[register] <= most,
        }
    }

    /// Each place is another line of source code.
    fn make_at(&mut self, site: usize, op: Op, waker: Option<&Waker>) -> Option<i64> {
        match site % 12 {
            0 => self.make(op, waker),
            1 => self.make(op, waker),
            2 => self.make(op, waker),
            3 => self.make(op, waker),
            4 => self.make(op, waker),
            5 => self.make(op, waker),
            6 => self.make(op, waker),
            7 => self.make(op, waker),
            8 => self.make(op, waker),
            9 => self.make(op, waker),
            10 => self.make(op, waker),
            _ => self.make(op, waker),
        }
    }

    #[track_caller]
    fn make(&mut self, op: Op, waker: Option<&Waker>) -> Option<i64> {
        let world = self.world;
        match op {
            Op::Load(x) => return Some(world.atomics[self.object(x)].load(SeqCst)),
            Op::Store(x, to) => world.atomics[self.object(x)].store(self.value(to), SeqCst),
            Op::Swap(x, to) => {
                return Some(world.atomics[self.object(x)].swap(self.value(to), SeqCst));
            }
            Op::Add(x, added) => {
                return Some(world.atomics[self.object(x)].fetch_add(added, SeqCst));
            }
            Op::Or(x, bits) => return Some(world.atomics[self.object(x)].fetch_or(bits, SeqCst)),
            Op::Xor(x, bits) => return Some(world.atomics[self.object(x)].fetch_xor(bits, SeqCst)),
            Op::Max(x, least) => {
                return Some(world.atomics[self.object(x)].fetch_max(least, SeqCst));
            }
            Op::Cas(x, from, to) => {
                let (from, to) = (self.value(from), self.value(to));
                let atomic = &world.atomics[self.object(x)];
                let (Ok(found) | Err(found)) = atomic.compare_exchange(from, to, SeqCst, SeqCst);
                return Some(found);
            }
            Op::Lock(_)
            | Op::TryLock(_)
            | Op::Unlock(_)
            | Op::Get(_)
            | Op::Put(..)
            | Op::Take(_)
            | Op::Wait(_)
            | Op::WaitTimeout(_)
            | Op::WaitWhile(..) => return self.mutex(op),
            Op::Read(_)
            | Op::TryRead(_)
            | Op::Write(_)
            | Op::TryWrite(_)
            | Op::UnlockRw(_)
            | Op::GetRw(_)
            | Op::PutRw(..) => return self.rwlock(op),
            Op::NotifyOne(c) => world.conditions[c].notify_one(),
            Op::NotifyAll(c) => world.conditions[c].notify_all(),
            Op::Send(..)
            | Op::DropSender(_)
            | Op::Recv(_)
            | Op::TryRecv(_)
            | Op::RecvTimeout(_) => return self.channel(op),
            Op::Park => thread::park(),
            Op::ParkTimeout => thread::park_timeout(SOON),
            Op::Unpark(thread) => {
                let thread = world.threads.lock().unwrap()[thread].clone();
                thread.unpark();
            }
            Op::IsFinished(thread) => {
                let count = self.children.len() + 1;
                let thread = self.value(thread).rem_euclid(count as i64) as usize;
                let child = self.children.get(thread.checked_sub(1)?)?;
                return Some(i64::from(child.is_finished()));
            }
            Op::OnceGet(o) => {
                let found = world.onces[self.object(o)].get();
                return Some(found.copied().unwrap_or(NOTHING));
            }
            Op::OnceSet(o, to) => return Some(i64::from(world.onces[o].set(to).is_ok())),
            Op::Clone(r) => {
                let own = &mut self.ends.references[self.object(r)];
                let reference = own.last()?.clone();
                own.push(reference);
            }
            Op::Release(r) => drop(self.ends.references[self.object(r)].pop()),
            Op::Strong(r) => {
                return Some(world.references[self.object(r)].strong_count() as i64);
            }
            Op::Upgrade(r) => {
                let r = self.object(r);
                let upgraded = world.references[r].upgrade();
                let is_there = upgraded.is_some();
                self.ends.references[r].extend(upgraded);
                return Some(i64::from(is_there));
            }
            Op::WakeSelf => waker?.wake_by_ref(),
            Op::Register(w) => *world.slots[w].lock().unwrap() = Some(waker?.clone()),
            Op::Wake(w) => {
                let waker = world.slots[w].lock().unwrap().take();
                if let Some(waker) = waker {
                    waker.wake();
                }
            }
        }
        None
    }

    #[track_caller]
    fn mutex(&mut self, op: Op) -> Option<i64> {
        let world = self.world;
        let m = match op {
            Op::Lock(m)
            | Op::TryLock(m)
            | Op::Unlock(m)
            | Op::Get(m)
            | Op::Put(m, _)
            | Op::Take(m) => self.object(m),
            Op::Wait(c) | Op::WaitTimeout(c) | Op::WaitWhile(c, _) => c,
            _ => return None,
        };
        let condition = &world.conditions[m];
        match op {
            Op::Lock(_) if self.mutexes[m].is_none() => {
                self.mutexes[m] = Some(world.mutexes[m].lock());
            }
            Op::TryLock(_) if self.mutexes[m].is_none() => {
                self.mutexes[m] = world.mutexes[m].try_lock();
                return Some(i64::from(self.mutexes[m].is_some()));
            }
            Op::Unlock(_) => drop(self.mutexes[m].take()),
            Op::Get(_) => return Some(self.mutexes[m].as_ref()?.get()),
            Op::Put(_, value) => {
                let value = self.value(value);
                self.mutexes[m].as_mut()?.put(value);
            }
            Op::Take(_) => return Some(self.mutexes[m].as_mut()?.take()),
            Op::Wait(_) => self.mutexes[m] = Some(self.mutexes[m].take()?.wait(condition)),
            Op::WaitWhile(_, unwanted) => {
                self.mutexes[m] = Some(self.mutexes[m].take()?.wait_while(condition, unwanted));
            }
            Op::WaitTimeout(_) => {
                let (guard, timed_out) = self.mutexes[m].take()?.wait_timeout(condition);
                self.mutexes[m] = Some(guard);
                return Some(i64::from(timed_out));
            }
            _ => {}
        }
        None
    }

    #[track_caller]
    fn rwlock(&mut self, op: Op) -> Option<i64> {
        let world = self.world;
        let (Op::Read(l)
        | Op::TryRead(l)
        | Op::Write(l)
        | Op::TryWrite(l)
        | Op::UnlockRw(l)
        | Op::GetRw(l)
        | Op::PutRw(l, _)) = op
        else {
            return None;
        };
        let l = self.object(l);
        let lock = &world.locks[l];
        match op {
            Op::Read(_) if self.locks[l].is_none() => {
                self.locks[l] = Some(RwGuard::Read(lock.read().unwrap()));
            }
            Op::Write(_) if self.locks[l].is_none() => {
                self.locks[l] = Some(RwGuard::Write(lock.write().unwrap()));
            }
            Op::TryRead(_) if self.locks[l].is_none() => {
                self.locks[l] = lock.try_read().ok().map(RwGuard::Read);
                return Some(i64::from(self.locks[l].is_some()));
            }
            Op::TryWrite(_) if self.locks[l].is_none() => {
                self.locks[l] = lock.try_write().ok().map(RwGuard::Write);
                return Some(i64::from(self.locks[l].is_some()));
            }
            Op::UnlockRw(_) => drop(self.locks[l].take()),
            Op::GetRw(_) => {
                return Some(match self.locks[l].as_ref()? {
                    RwGuard::Read(guard) => **guard,
                    RwGuard::Write(guard) => **guard,
                });
            }
            Op::PutRw(_, value) => {
                let value = self.value(value);
                if let Some(RwGuard::Write(guard)) = &mut self.locks[l] {
                    **guard = value;
                }
            }
            _ => {}
        }
        None
    }

    #[track_caller]
    fn channel(&mut self, op: Op) -> Option<i64> {
        let (c, receivers) = match op {
            Op::Send(c, message) => {
                let message = self.value(message);
                let sent = self.ends.senders[c].as_ref()?.send(message);
                return Some(sent.map_or(DISCONNECTED, |()| 1));
            }
            Op::DropSender(c) => {
                drop(self.ends.senders[c].take());
                return None;
            }
            Op::Recv(c) | Op::TryRecv(c) | Op::RecvTimeout(c) => {
                (self.object(c), self.ends.receivers.as_ref()?)
            }
            _ => return None,
        };
        Some(match op {
            Op::Recv(_) => receivers[c].recv().unwrap_or(DISCONNECTED),
            Op::TryRecv(_) => match receivers[c].try_recv() {
                Ok(message) => message,
                Err(TryRecvError::Empty) => NOTHING,
                Err(TryRecvError::Disconnected) => DISCONNECTED,
            },
            _ => match receivers[c].recv_timeout(SOON) {
                Ok(message) => message,
                Err(RecvTimeoutError::Timeout) => NOTHING,
                Err(RecvTimeoutError::Disconnected) => DISCONNECTED,
            },
        })
    }
}

fn mark_at(site: usize, mark: Mark) {
    #[track_caller]
    fn leave(mark: Mark) {
        match mark {
            Mark::Yield => thread::yield_now(),
            Mark::SpinLoop => hint::spin_loop(),
            Mark::Sleep => thread::sleep(SOON),
        }
    }
    match site % 6 {
        0 => leave(mark),
        1 => leave(mark),
        2 => leave(mark),
        3 => leave(mark),
        4 => leave(mark),
        _ => leave(mark),
    }
}

/// Polls until it is ready.
fn block_on_at(site: usize, mut poll: impl FnMut(&Waker) -> bool) {
    let polled = std::future::poll_fn(|context: &mut Context<'_>| {
        if poll(context.waker()) {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    });
    match site % 2 {
        0 => future::block_on(polled),
        _ => future::block_on(polled),
    }
}
