//! The same programs, as real code.

use std::sync::Arc as StdArc;
use std::sync::Mutex as StdMutex;
use std::time::Duration;

use raddle::sync::atomic::{AtomicI64, Ordering::SeqCst};
use raddle::sync::mpsc::{
    Receiver, RecvTimeoutError, Sender, SyncSender, TryRecvError, TrySendError, channel,
    sync_channel,
};
use raddle::sync::{
    Arc, Barrier, Condvar, Mutex, MutexGuard, OnceLock, PoisonError, RwLock, RwLockReadGuard,
    RwLockWriteGuard, TryLockError, Weak,
};
use raddle::thread::{self, Thread};

use crate::program::{DROPS, MAKES, OBJECTS, Op, Program, got};

/// Whether the execution under way is over, and what each thread got in it.
pub(crate) type Log = StdArc<StdMutex<(bool, Vec<Vec<i64>>)>>;

struct World {
    variables: [AtomicI64; OBJECTS],
    mutexes: [Mutex<i64>; OBJECTS],
    locks: [RwLock<i64>; OBJECTS],
    conditions: [Condvar; OBJECTS],
    barriers: [Barrier; OBJECTS],
    onces: [OnceLock<i64>; OBJECTS],
    threads: StdMutex<Vec<Thread>>,
    log: Log,
}

impl World {
    fn get(&self, thread: usize, value: i64) {
        self.log.lock().unwrap().1[thread].push(value);
    }

    /// Uses every object.
    fn touch(&self) {
        for number in 0..OBJECTS {
            self.variables[number].load(SeqCst);
            drop(self.mutexes[number].lock());
            drop(self.locks[number].read());
            self.conditions[number].notify_all();
            let _ = self.onces[number].get();
        }
    }
}

enum AnySender {
    Unbounded(Sender<i64>),
    Bounded(SyncSender<i64>),
}

impl AnySender {
    fn another(&self) -> Self {
        match self {
            Self::Unbounded(sender) => Self::Unbounded(sender.clone()),
            Self::Bounded(sender) => Self::Bounded(sender.clone()),
        }
    }
}

/// What is counted.
struct Content(StdArc<World>);

impl Drop for Content {
    fn drop(&mut self) {
        let found = self.0.variables[DROPS].fetch_add(1, SeqCst);
        let me = format!("{:?}", thread::current().id());
        let me: String = me.chars().filter(char::is_ascii_digit).collect();
        self.0.get(me.parse().unwrap(), got::DROPPED + found);
    }
}

enum RwGuard<'a> {
    Read(RwLockReadGuard<'a, i64>),
    Write(RwLockWriteGuard<'a, i64>),
}

/// What a thread owns. It goes away in this order.
struct Owned {
    arcs: [Option<Arc<Content>>; OBJECTS],
    weak: [Option<Weak<Content>>; OBJECTS],
    senders: [Option<AnySender>; OBJECTS],
    receivers: [Option<Receiver<i64>>; OBJECTS],
}

struct Runner<'a> {
    me: usize,
    world: &'a World,
    mutexes: [Option<MutexGuard<'a, i64>>; OBJECTS],
    locks: [Option<RwGuard<'a>>; OBJECTS],
    owned: Owned,
}

/// Runs a program.
pub(crate) fn run(program: &Program, log: &Log) {
    let count = program.threads.len();
    *log.lock().unwrap() = (false, vec![Vec::new(); count]);
    let world = StdArc::new(World {
        variables: Default::default(),
        mutexes: Default::default(),
        locks: Default::default(),
        conditions: Default::default(),
        barriers: std::array::from_fn(|_| Barrier::new(2)),
        onces: Default::default(),
        threads: StdMutex::new(vec![thread::current()]),
        log: log.clone(),
    });
    if program.stable {
        world.touch();
    }
    let mut owned: Vec<Owned> = (0..count).map(|_| Owned::none()).collect();
    for number in 0..OBJECTS {
        if program.is_used(number) {
            let (sender, receiver) = match program.channels[number] {
                Some(capacity) => {
                    let (sender, receiver) = sync_channel(capacity);
                    (AnySender::Bounded(sender), receiver)
                }
                None => {
                    let (sender, receiver) = channel();
                    (AnySender::Unbounded(sender), receiver)
                }
            };
            for thread in program.senders(number) {
                owned[thread].senders[number] = Some(sender.another());
            }
            owned[program.receiver(number)].receivers[number] = Some(receiver);
        }
        let owners = program.owners(number);
        if !owners.is_empty() {
            let arc = Arc::new(Content(world.clone()));
            for thread in owners {
                owned[thread].arcs[number] = Some(arc.clone());
                owned[thread].weak[number] = Some(Arc::downgrade(&arc));
            }
        }
    }
    let mut owned = owned.into_iter();
    let mine = owned.next().unwrap();
    let mut children = Vec::new();
    for (index, owned) in owned.enumerate() {
        let (theirs, ops) = (world.clone(), program.threads[index + 1].clone());
        let child = thread::spawn(move || run_thread(index + 1, &theirs, owned, &ops));
        // There is no step in between.
        world.threads.lock().unwrap().push(child.thread().clone());
        children.push(child);
    }
    let children = {
        let mut runner = Runner::new(0, &world, mine);
        for &op in &program.threads[0] {
            if let Op::IsFinished(thread) = op {
                world.get(0, i64::from(children[thread - 1].is_finished()));
            } else {
                runner.make(op);
            }
        }
        children
    };
    for child in children {
        if child.join().is_err() {
            world.get(0, got::PANICKED);
        }
    }
    for variable in &world.variables {
        world.get(0, variable.load(SeqCst));
    }
    log.lock().unwrap().0 = true;
}

fn run_thread(me: usize, world: &World, owned: Owned, ops: &[Op]) {
    let mut runner = Runner::new(me, world, owned);
    for &op in ops {
        runner.make(op);
    }
}

impl Owned {
    fn none() -> Self {
        Self {
            arcs: Default::default(),
            weak: Default::default(),
            senders: Default::default(),
            receivers: Default::default(),
        }
    }
}

/// What a lock protects, and the guard.
fn content<G: std::ops::Deref<Target = i64>>(locked: Result<G, PoisonError<G>>) -> (i64, G) {
    match locked {
        Ok(guard) => (*guard, guard),
        Err(poisoned) => {
            let guard = poisoned.into_inner();
            (*guard + got::POISONED, guard)
        }
    }
}

/// The same, if it can be taken.
fn try_content<G: std::ops::Deref<Target = i64>>(
    locked: Result<G, TryLockError<G>>,
) -> (i64, Option<G>) {
    let (value, guard) = match locked {
        Ok(guard) => content(Ok(guard)),
        Err(TryLockError::Poisoned(poisoned)) => content(Err(poisoned)),
        Err(TryLockError::WouldBlock) => return (got::NOT_NOW, None),
    };
    (value, Some(guard))
}

const SOON: Duration = Duration::from_millis(1);

impl<'a> Runner<'a> {
    fn new(me: usize, world: &'a World, owned: Owned) -> Self {
        Self {
            me,
            world,
            mutexes: Default::default(),
            locks: Default::default(),
            owned,
        }
    }

    fn get(&self, value: i64) {
        self.world.get(self.me, value);
    }

    fn make(&mut self, op: Op) {
        let world = self.world;
        match op {
            Op::Load(v) => self.get(world.variables[v].load(SeqCst)),
            Op::Store(v, value) => world.variables[v].store(value, SeqCst),
            Op::Swap(v, value) => self.get(world.variables[v].swap(value, SeqCst)),
            Op::Add(v, value) => self.get(world.variables[v].fetch_add(value, SeqCst)),
            Op::Max(v, value) => self.get(world.variables[v].fetch_max(value, SeqCst)),
            Op::Cas(v, from, to) => {
                let (Ok(found) | Err(found)) =
                    world.variables[v].compare_exchange(from, to, SeqCst, SeqCst);
                self.get(found);
            }
            Op::CasWeak(v, from, to) => {
                match world.variables[v].compare_exchange_weak(from, to, SeqCst, SeqCst) {
                    Err(found) if found == from => self.get(found + 10),
                    Ok(found) | Err(found) => self.get(found),
                }
            }
            Op::Update(v) => {
                let updated = world.variables[v]
                    .fetch_update(SeqCst, SeqCst, |old| (old < 2).then_some(old + 1));
                self.get(updated.unwrap_or(got::NOT_NOW));
            }
            Op::Await(v, value) => {
                while world.variables[v].load(SeqCst) != value {
                    thread::yield_now();
                }
            }
            Op::Poll(v, value, times) => {
                let mut looks = 0;
                while looks < times && world.variables[v].load(SeqCst) != value {
                    looks += 1;
                    thread::yield_now();
                }
                self.get(i64::from(looks));
            }
            Op::Choose(most) => self.get(i64::try_from(raddle::choose(0..most)).unwrap()),
            Op::Panic => panic!("as it was told to"),
            Op::IsFinished(_) => unreachable!("only the main thread asks"),
            Op::Lock(m) if self.mutexes[m].is_none() => {
                let (value, guard) = content(world.mutexes[m].lock());
                self.get(value);
                self.mutexes[m] = Some(guard);
            }
            Op::TryLock(m) if self.mutexes[m].is_none() => {
                let (value, guard) = try_content(world.mutexes[m].try_lock());
                self.get(value);
                self.mutexes[m] = guard;
            }
            Op::Set(m, value) => {
                if let Some(guard) = &mut self.mutexes[m] {
                    **guard = value;
                }
            }
            Op::Unlock(m) => self.mutexes[m] = None,
            Op::IsPoisoned(m) => self.get(i64::from(world.mutexes[m].is_poisoned())),
            Op::ClearPoison(m) => world.mutexes[m].clear_poison(),
            Op::Read(l) if self.locks[l].is_none() => {
                let (value, guard) = content(world.locks[l].read());
                self.get(value);
                self.locks[l] = Some(RwGuard::Read(guard));
            }
            Op::TryRead(l) if self.locks[l].is_none() => {
                let (value, guard) = try_content(world.locks[l].try_read());
                self.get(value);
                self.locks[l] = guard.map(RwGuard::Read);
            }
            Op::Write(l) if self.locks[l].is_none() => {
                let (value, guard) = content(world.locks[l].write());
                self.get(value);
                self.locks[l] = Some(RwGuard::Write(guard));
            }
            Op::TryWrite(l) if self.locks[l].is_none() => {
                let (value, guard) = try_content(world.locks[l].try_write());
                self.get(value);
                self.locks[l] = guard.map(RwGuard::Write);
            }
            Op::SetRw(l, value) => {
                if let Some(RwGuard::Write(guard)) = &mut self.locks[l] {
                    **guard = value;
                }
            }
            Op::Downgrade(l) => {
                self.locks[l] = self.locks[l].take().map(|guard| match guard {
                    RwGuard::Write(guard) => RwGuard::Read(RwLockWriteGuard::downgrade(guard)),
                    RwGuard::Read(guard) => RwGuard::Read(guard),
                });
            }
            Op::UnlockRw(l) => self.locks[l] = None,
            Op::Wait(c, m) => {
                if let Some(guard) = self.mutexes[m].take() {
                    let (value, guard) = content(world.conditions[c].wait(guard));
                    self.get(value);
                    self.mutexes[m] = Some(guard);
                }
            }
            Op::WaitTimeout(c, m) => {
                if let Some(guard) = self.mutexes[m].take() {
                    let (poisoned, (guard, waited)) =
                        match world.conditions[c].wait_timeout(guard, SOON) {
                            Ok(waited) => (0, waited),
                            Err(poisoned) => (got::POISONED, poisoned.into_inner()),
                        };
                    self.get(i64::from(waited.timed_out()));
                    self.get(*guard + poisoned);
                    self.mutexes[m] = Some(guard);
                }
            }
            Op::NotifyOne(c) => world.conditions[c].notify_one(),
            Op::NotifyAll(c) => world.conditions[c].notify_all(),
            Op::Barrier(b) => self.get(i64::from(world.barriers[b].wait().is_leader())),
            Op::Meet(b) => {
                world.barriers[b].wait();
            }
            Op::GetOrInit(o, value) => {
                let value = world.onces[o].get_or_init(|| {
                    self.get(world.variables[MAKES].fetch_add(1, SeqCst));
                    value
                });
                self.get(*value);
            }
            Op::SetOnce(o, value) => {
                self.get(world.onces[o].set(value).map_or(got::NOT_NOW, |()| 1));
            }
            Op::GetOnce(o) => self.get(world.onces[o].get().copied().unwrap_or(got::NOTHING)),
            Op::WaitOnce(o) => self.get(*world.onces[o].wait()),
            Op::Park => thread::park(),
            Op::ParkTimeout => thread::park_timeout(SOON),
            Op::Unpark(thread) => {
                let thread = world.threads.lock().unwrap()[thread].clone();
                thread.unpark();
            }
            Op::Send(c, value) => {
                let sent = match &self.owned.senders[c] {
                    Some(AnySender::Unbounded(sender)) => sender.send(value),
                    Some(AnySender::Bounded(sender)) => sender.send(value),
                    None => return,
                };
                self.get(sent.map_or(got::DISCONNECTED, |()| 1));
            }
            Op::TrySend(c, value) => {
                let sent = match &self.owned.senders[c] {
                    Some(AnySender::Unbounded(sender)) => {
                        sender.send(value).map_err(TrySendError::from)
                    }
                    Some(AnySender::Bounded(sender)) => sender.try_send(value),
                    None => return,
                };
                self.get(match sent {
                    Ok(()) => 1,
                    Err(TrySendError::Full(_)) => got::NOT_NOW,
                    Err(TrySendError::Disconnected(_)) => got::DISCONNECTED,
                });
            }
            Op::DropSender(c) => self.owned.senders[c] = None,
            Op::Recv(c) => {
                if let Some(receiver) = &self.owned.receivers[c] {
                    self.get(receiver.recv().unwrap_or(got::DISCONNECTED));
                }
            }
            Op::TryRecv(c) => {
                if let Some(receiver) = &self.owned.receivers[c] {
                    self.get(receiver.try_recv().unwrap_or_else(|error| match error {
                        TryRecvError::Empty => got::NOT_NOW,
                        TryRecvError::Disconnected => got::DISCONNECTED,
                    }));
                }
            }
            Op::RecvTimeout(c) => {
                if let Some(receiver) = &self.owned.receivers[c] {
                    self.get(
                        receiver
                            .recv_timeout(SOON)
                            .unwrap_or_else(|error| match error {
                                RecvTimeoutError::Timeout => got::NOT_NOW,
                                RecvTimeoutError::Disconnected => got::DISCONNECTED,
                            }),
                    );
                }
            }
            Op::DropReceiver(c) => self.owned.receivers[c] = None,
            Op::Count(a) => {
                if let Some(arc) = &self.owned.arcs[a] {
                    self.get(i64::try_from(Arc::strong_count(arc)).unwrap());
                }
            }
            Op::DropArc(a) => self.owned.arcs[a] = None,
            Op::Upgrade(a) => {
                if self.owned.arcs[a].is_none() {
                    let weak = self.owned.weak[a].as_ref().unwrap();
                    self.owned.arcs[a] = weak.upgrade();
                    self.get(i64::from(self.owned.arcs[a].is_some()));
                }
            }
            Op::TryUnwrap(a) => {
                if let Some(arc) = self.owned.arcs[a].take() {
                    match Arc::try_unwrap(arc) {
                        Ok(content) => {
                            self.get(1);
                            drop(content);
                        }
                        Err(arc) => {
                            self.get(0);
                            self.owned.arcs[a] = Some(arc);
                        }
                    }
                }
            }
            Op::Lock(_)
            | Op::TryLock(_)
            | Op::Read(_)
            | Op::TryRead(_)
            | Op::Write(_)
            | Op::TryWrite(_) => {}
        }
    }
}
