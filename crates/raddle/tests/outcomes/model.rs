//! The model: all interleavings of single operations, from the documentation of `std`.

use std::collections::{BTreeSet, HashSet};

use crate::program::{DROPS, MAKES, OBJECTS, Op, Outcome, Program, got};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
enum Once {
    #[default]
    New,
    Running,
    Done(i64),
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Mutex {
    holder: Option<usize>,
    data: i64,
    poisoned: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct RwLock {
    writer: Option<usize>,
    readers: BTreeSet<usize>,
    data: i64,
    poisoned: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Channel {
    messages: Vec<i64>,
    senders: BTreeSet<usize>,
    receiver: bool,
    /// Without a buffer: who waits with which message.
    offered: Vec<(usize, i64)>,
    /// Without a buffer: whether the receiver waits, and what it was given.
    waits: bool,
    given: Option<i64>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
enum Sleep {
    #[default]
    Awake,
    /// On a condition variable.
    Condition(usize),
    /// Back, with what `wait_timeout` says, but without the mutex.
    Notified(bool),
    Barrier(usize),
    Released,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Thread {
    pc: usize,
    /// Within an operation.
    phase: u32,
    seen: i64,
    got: Vec<i64>,
    sleep: Sleep,
    token: bool,
    spurious: u32,
    panicking: bool,
    ended: bool,
    joined: usize,
    arcs: BTreeSet<usize>,
    /// Made the message go: the receiver has taken it.
    taken: bool,
    refused: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct State {
    variables: [i64; OBJECTS],
    mutexes: [Mutex; OBJECTS],
    locks: [RwLock; OBJECTS],
    onces: [Once; OBJECTS],
    channels: [Channel; OBJECTS],
    counts: [usize; OBJECTS],
    threads: Vec<Thread>,
    spawned: usize,
}

/// All outcomes of a program, if there are no more states than this.
pub(crate) fn outcomes(program: &Program, most: usize) -> Option<BTreeSet<Outcome>> {
    let mut first = State {
        threads: vec![Thread::default(); program.threads.len()],
        spawned: 1,
        ..State::default()
    };
    for channel in 0..OBJECTS {
        first.channels[channel].senders = program.senders(channel).into_iter().collect();
        first.channels[channel].receiver = true;
    }
    for arc in 0..OBJECTS {
        for owner in program.owners(arc) {
            first.counts[arc] += 1;
            first.threads[owner].arcs.insert(arc);
        }
    }
    let mut seen = HashSet::from([first.clone()]);
    let mut left = vec![first];
    let mut outcomes = BTreeSet::new();
    while let Some(state) = left.pop() {
        let (mut next, mut unlikely) = (Vec::new(), Vec::new());
        for thread in 0..state.spawned {
            let (next, unlikely) = (&mut next, &mut unlikely);
            Mover {
                program,
                state: &state,
                me: thread,
                next,
                unlikely,
            }
            .moves();
        }
        if next.is_empty() {
            outcomes.insert(Outcome {
                stuck: state.threads.iter().any(|thread| !thread.ended),
                got: state
                    .threads
                    .iter()
                    .map(|thread| thread.got.clone())
                    .collect(),
            });
        }
        next.append(&mut unlikely);
        for state in next {
            if !seen.contains(&state) {
                seen.insert(state.clone());
                left.push(state);
            }
        }
        if seen.len() > most {
            return None;
        }
    }
    Some(outcomes)
}

struct Mover<'a> {
    program: &'a Program,
    state: &'a State,
    me: usize,
    next: &'a mut Vec<State>,
    /// What may happen or not.
    unlikely: &'a mut Vec<State>,
}

impl Mover<'_> {
    fn thread(&self) -> &Thread {
        &self.state.threads[self.me]
    }

    /// One way to go on, within the operation.
    fn stay(&mut self, change: impl FnOnce(&mut State)) {
        let mut state = self.state.clone();
        change(&mut state);
        self.next.push(state);
    }

    /// One way to go on, to the next operation.
    fn go(&mut self, change: impl FnOnce(&mut State)) {
        let me = self.me;
        self.stay(|state| {
            change(state);
            let thread = &mut state.threads[me];
            thread.pc += 1;
            thread.phase = 0;
        });
    }

    fn get(&mut self, value: i64, change: impl FnOnce(&mut State)) {
        let me = self.me;
        self.go(|state| {
            change(state);
            state.threads[me].got.push(value);
        });
    }

    fn moves(&mut self) {
        let thread = self.thread();
        if thread.ended {
            return;
        }
        let me = self.me;
        if me == 0 && self.state.spawned < self.program.threads.len() {
            self.stay(|state| state.spawned += 1);
            return;
        }
        if thread.phase == 100 {
            // The content of what is counted goes away.
            let found = self.state.variables[DROPS];
            self.stay(|state| {
                state.variables[DROPS] += 1;
                state.threads[me].got.push(got::DROPPED + found);
                state.threads[me].phase = 0;
            });
            return;
        }
        match self.program.threads[me].get(thread.pc) {
            Some(&op) if !thread.panicking => self.make(op),
            _ => self.end(),
        }
    }

    /// Gives back what is left, one after the other, and ends.
    fn end(&mut self) {
        let (me, state) = (self.me, self.state);
        let panicking = self.thread().panicking;
        if let Some(m) = (0..OBJECTS).find(|&m| state.mutexes[m].holder == Some(me)) {
            if panicking && !state.mutexes[m].poisoned {
                self.stay(|state| state.mutexes[m].poisoned = true);
            } else {
                self.stay(|state| state.mutexes[m].holder = None);
            }
            return;
        }
        if let Some(l) = (0..OBJECTS)
            .find(|&l| state.locks[l].writer == Some(me) || state.locks[l].readers.contains(&me))
        {
            if panicking && state.locks[l].writer == Some(me) && !state.locks[l].poisoned {
                self.stay(|state| state.locks[l].poisoned = true);
            } else {
                self.stay(|state| {
                    state.locks[l].writer = state.locks[l].writer.filter(|&w| w != me);
                    state.locks[l].readers.remove(&me);
                });
            }
            return;
        }
        if let Some(&arc) = self.thread().arcs.first() {
            self.stay(|state| drop_arc(state, me, arc));
            return;
        }
        if let Some(c) = (0..OBJECTS).find(|&c| state.channels[c].senders.contains(&me)) {
            self.stay(|state| {
                state.channels[c].senders.remove(&me);
            });
            return;
        }
        let mine = |c: &usize| {
            self.program.is_used(*c)
                && state.channels[*c].receiver
                && self.program.receiver(*c) == me
        };
        if let Some(c) = (0..OBJECTS).find(mine) {
            self.stay(|state| drop_receiver(state, c));
            return;
        }
        if me != 0 {
            self.stay(|state| state.threads[me].ended = true);
            return;
        }
        let joined = self.thread().joined + 1;
        if joined < state.threads.len() {
            if state.threads[joined].ended {
                let panicked = state.threads[joined].panicking;
                self.stay(|state| {
                    state.threads[0].joined = joined;
                    if panicked {
                        state.threads[0].got.push(got::PANICKED);
                    }
                });
            }
            return;
        }
        self.stay(|state| {
            state.threads[0].ended = true;
            state.threads[0].got.extend(state.variables);
        });
    }

    fn make(&mut self, op: Op) {
        let (me, state) = (self.me, self.state);
        match op {
            Op::Load(v) => self.get(state.variables[v], |_| ()),
            Op::Store(v, value) => self.go(|state| state.variables[v] = value),
            Op::Swap(v, value) => self.get(state.variables[v], |state| state.variables[v] = value),
            Op::Add(v, value) => self.get(state.variables[v], |state| state.variables[v] += value),
            Op::Max(v, value) => self.get(state.variables[v], |state| {
                state.variables[v] = state.variables[v].max(value);
            }),
            Op::Cas(v, from, to) => {
                let found = state.variables[v];
                self.get(found, |state| {
                    if found == from {
                        state.variables[v] = to;
                    }
                });
            }
            Op::CasWeak(v, from, to) => {
                self.make(Op::Cas(v, from, to));
                if self.program.weak && state.variables[v] == from {
                    // What the real runner gets if it fails although the value was found.
                    self.get(from + 10, |_| ());
                }
            }
            Op::Update(v) => {
                let found = state.variables[v];
                let done = self.thread().phase == 1 && self.thread().seen == found;
                if done {
                    self.get(found, |state| state.variables[v] += 1);
                } else if found >= 2 {
                    self.get(got::NOT_NOW, |_| ());
                } else {
                    self.stay(|state| {
                        state.threads[me].phase = 1;
                        state.threads[me].seen = found;
                    });
                }
            }
            Op::Await(v, value) => {
                if state.variables[v] == value {
                    self.go(|_| ());
                }
            }
            Op::Poll(v, value, times) => {
                let looks = self.thread().phase;
                if state.variables[v] == value {
                    self.get(i64::from(looks), |_| ());
                } else if looks + 1 == times {
                    self.get(i64::from(times), |_| ());
                } else {
                    self.stay(|state| state.threads[me].phase += 1);
                }
            }
            Op::Choose(most) => {
                for value in 0..most {
                    self.get(i64::try_from(value).unwrap(), |_| ());
                }
            }
            Op::Panic => self.stay(|state| state.threads[me].panicking = true),
            Op::IsFinished(t) => self.get(i64::from(state.threads[t].ended), |_| ()),
            Op::Lock(..)
            | Op::TryLock(..)
            | Op::Set(..)
            | Op::Unlock(..)
            | Op::IsPoisoned(..)
            | Op::ClearPoison(..) => self.mutex(op),
            Op::Read(..)
            | Op::TryRead(..)
            | Op::Write(..)
            | Op::TryWrite(..)
            | Op::SetRw(..)
            | Op::Downgrade(..)
            | Op::UnlockRw(..) => self.rwlock(op),
            Op::Wait(c, m) => self.wait(c, m, false),
            Op::WaitTimeout(c, m) => self.wait(c, m, true),
            Op::NotifyOne(c) => {
                let sleepers: Vec<usize> = self.sleepers(Sleep::Condition(c));
                if sleepers.is_empty() {
                    self.go(|_| ());
                }
                for sleeper in sleepers {
                    self.go(|state| state.threads[sleeper].sleep = Sleep::Notified(false));
                }
            }
            Op::NotifyAll(c) => {
                let sleepers: Vec<usize> = self.sleepers(Sleep::Condition(c));
                self.go(|state| {
                    for sleeper in sleepers {
                        state.threads[sleeper].sleep = Sleep::Notified(false);
                    }
                });
            }
            Op::Barrier(b) => match self.thread().sleep {
                Sleep::Released => self.get(0, |state| state.threads[me].sleep = Sleep::Awake),
                Sleep::Barrier(_) => {}
                _ => match self.sleepers(Sleep::Barrier(b)).first() {
                    Some(&other) => {
                        self.get(1, |state| state.threads[other].sleep = Sleep::Released);
                    }
                    None => self.stay(|state| state.threads[me].sleep = Sleep::Barrier(b)),
                },
            },
            Op::Meet(b) => match self.thread().sleep {
                Sleep::Released => self.go(|state| state.threads[me].sleep = Sleep::Awake),
                Sleep::Barrier(_) => {}
                _ => match self.sleepers(Sleep::Barrier(b)).first() {
                    Some(&other) => {
                        self.go(|state| state.threads[other].sleep = Sleep::Released);
                    }
                    None => self.stay(|state| state.threads[me].sleep = Sleep::Barrier(b)),
                },
            },
            Op::GetOrInit(..) | Op::SetOnce(..) | Op::GetOnce(..) | Op::WaitOnce(..) => {
                self.once(op);
            }
            Op::Park => {
                if self.thread().token {
                    self.go(|state| state.threads[me].token = false);
                }
                if self.thread().spurious < self.program.spurious {
                    let mut state = state.clone();
                    state.threads[me].spurious += 1;
                    state.threads[me].pc += 1;
                    self.unlikely.push(state);
                }
            }
            Op::ParkTimeout => self.go(|state| state.threads[me].token = false),
            Op::Unpark(t) => self.go(|state| state.threads[t].token = true),
            Op::Send(..) | Op::TrySend(..) | Op::DropSender(..) => self.send(op),
            Op::Recv(..) | Op::TryRecv(..) | Op::RecvTimeout(..) | Op::DropReceiver(..) => {
                self.receive(op);
            }
            Op::Count(..) | Op::DropArc(..) | Op::Upgrade(..) | Op::TryUnwrap(..) => self.arc(op),
        }
    }

    fn sleepers(&self, how: Sleep) -> Vec<usize> {
        let threads = self.state.threads.iter().enumerate();
        threads
            .filter(|(_, thread)| thread.sleep == how)
            .map(|(index, _)| index)
            .collect()
    }

    fn mutex(&mut self, op: Op) {
        let (me, state) = (self.me, self.state);
        let (Op::Lock(m)
        | Op::TryLock(m)
        | Op::Set(m, _)
        | Op::Unlock(m)
        | Op::IsPoisoned(m)
        | Op::ClearPoison(m)) = op
        else {
            return;
        };
        let mutex = &state.mutexes[m];
        let mine = mutex.holder == Some(me);
        let content = mutex.data + if mutex.poisoned { got::POISONED } else { 0 };
        match op {
            Op::Lock(_) | Op::TryLock(_) if mine => self.go(|_| ()),
            Op::Lock(_) | Op::TryLock(_) if mutex.holder.is_none() => {
                self.get(content, |state| state.mutexes[m].holder = Some(me));
            }
            Op::Lock(_) => {}
            Op::TryLock(_) => self.get(got::NOT_NOW, |_| ()),
            Op::Set(_, value) => self.go(|state| {
                if mine {
                    state.mutexes[m].data = value;
                }
            }),
            Op::Unlock(_) => self.go(|state| {
                if mine {
                    state.mutexes[m].holder = None;
                }
            }),
            Op::IsPoisoned(_) => self.get(i64::from(mutex.poisoned), |_| ()),
            _ => self.go(|state| state.mutexes[m].poisoned = false),
        }
    }

    fn rwlock(&mut self, op: Op) {
        let (me, state) = (self.me, self.state);
        let (Op::Read(l)
        | Op::TryRead(l)
        | Op::Write(l)
        | Op::TryWrite(l)
        | Op::SetRw(l, _)
        | Op::Downgrade(l)
        | Op::UnlockRw(l)) = op
        else {
            return;
        };
        let lock = &state.locks[l];
        let (writes, reads) = (lock.writer == Some(me), lock.readers.contains(&me));
        let content = lock.data + if lock.poisoned { got::POISONED } else { 0 };
        match op {
            Op::Read(_) | Op::TryRead(_) | Op::Write(_) | Op::TryWrite(_) if writes || reads => {
                self.go(|_| ());
            }
            Op::Read(_) | Op::TryRead(_) if lock.writer.is_none() => self.get(content, |state| {
                state.locks[l].readers.insert(me);
            }),
            Op::Write(_) | Op::TryWrite(_) if lock.writer.is_none() && lock.readers.is_empty() => {
                self.get(content, |state| state.locks[l].writer = Some(me));
            }
            Op::Read(_) | Op::Write(_) => {}
            Op::TryRead(_) | Op::TryWrite(_) => self.get(got::NOT_NOW, |_| ()),
            Op::SetRw(_, value) => self.go(|state| {
                if writes {
                    state.locks[l].data = value;
                }
            }),
            Op::Downgrade(_) => self.go(|state| {
                if writes {
                    state.locks[l].writer = None;
                    state.locks[l].readers.insert(me);
                }
            }),
            _ => self.go(|state| {
                if writes {
                    state.locks[l].writer = None;
                }
                state.locks[l].readers.remove(&me);
            }),
        }
    }

    fn wait(&mut self, c: usize, m: usize, timed: bool) {
        let (me, state) = (self.me, self.state);
        match self.thread().sleep {
            Sleep::Condition(_) => {
                if timed {
                    self.stay(|state| state.threads[me].sleep = Sleep::Notified(true));
                }
                if self.thread().spurious < self.program.spurious {
                    let mut state = state.clone();
                    state.threads[me].spurious += 1;
                    state.threads[me].sleep = Sleep::Notified(false);
                    self.unlikely.push(state);
                }
            }
            Sleep::Notified(timed_out) => {
                let mutex = &state.mutexes[m];
                if mutex.holder.is_none() {
                    let content = mutex.data + if mutex.poisoned { got::POISONED } else { 0 };
                    self.go(|state| {
                        state.mutexes[m].holder = Some(me);
                        let thread = &mut state.threads[me];
                        thread.sleep = Sleep::Awake;
                        if timed {
                            thread.got.push(i64::from(timed_out));
                        }
                        thread.got.push(content);
                    });
                }
            }
            _ if state.mutexes[m].holder == Some(me) => self.stay(|state| {
                state.mutexes[m].holder = None;
                state.threads[me].sleep = Sleep::Condition(c);
            }),
            _ => self.go(|_| ()),
        }
    }

    fn once(&mut self, op: Op) {
        let (me, state) = (self.me, self.state);
        let (Op::GetOrInit(o, _) | Op::SetOnce(o, _) | Op::GetOnce(o) | Op::WaitOnce(o)) = op
        else {
            return;
        };
        match (op, self.thread().phase, state.onces[o]) {
            (Op::GetOnce(_), _, Once::Done(value)) | (Op::WaitOnce(_), _, Once::Done(value)) => {
                self.get(value, |_| ());
            }
            (Op::GetOnce(_), ..) => self.get(got::NOTHING, |_| ()),
            (Op::WaitOnce(_), ..) => {}
            (Op::GetOrInit(..), 1, _) => {
                let found = state.variables[MAKES];
                self.stay(|state| {
                    state.variables[MAKES] += 1;
                    state.threads[me].got.push(found);
                    state.threads[me].phase = 2;
                });
            }
            (Op::GetOrInit(_, value), 2, _) => {
                self.get(value, |state| state.onces[o] = Once::Done(value));
            }
            (Op::SetOnce(_, value), 1, _) => {
                self.get(1, |state| state.onces[o] = Once::Done(value));
            }
            (_, _, Once::New) => self.stay(|state| {
                state.onces[o] = Once::Running;
                state.threads[me].phase = 1;
            }),
            (_, _, Once::Running) => {}
            (Op::GetOrInit(..), _, Once::Done(value)) => self.get(value, |_| ()),
            _ => self.get(got::NOT_NOW, |_| ()),
        }
    }

    fn send(&mut self, op: Op) {
        let (me, state) = (self.me, self.state);
        let Some(c) = op.sends_on() else { return };
        let channel = &state.channels[c];
        if !channel.senders.contains(&me) {
            return self.go(|_| ());
        }
        let (value, blocking) = match op {
            Op::Send(_, value) => (value, true),
            Op::TrySend(_, value) => (value, false),
            _ => {
                return self.go(|state| {
                    state.channels[c].senders.remove(&me);
                });
            }
        };
        if self.thread().phase == 1 {
            // Waits for the receiver, on a channel without a buffer.
            if self.thread().taken || self.thread().refused {
                let result = if self.thread().taken {
                    1
                } else {
                    got::DISCONNECTED
                };
                self.get(result, |state| {
                    state.threads[me].taken = false;
                    state.threads[me].refused = false;
                });
            }
            return;
        }
        if !channel.receiver {
            return self.get(got::DISCONNECTED, |_| ());
        }
        match self.program.channels[c] {
            Some(0) if channel.waits => self.get(1, |state| {
                state.channels[c].waits = false;
                state.channels[c].given = Some(value);
            }),
            Some(0) if blocking => self.stay(|state| {
                state.channels[c].offered.push((me, value));
                state.threads[me].phase = 1;
            }),
            Some(capacity) if channel.messages.len() >= capacity => {
                if !blocking {
                    self.get(got::NOT_NOW, |_| ());
                }
            }
            _ => self.get(1, |state| state.channels[c].messages.push(value)),
        }
    }

    fn receive(&mut self, op: Op) {
        let (me, state) = (self.me, self.state);
        let Some(c) = op.receives_from() else { return };
        let channel = &state.channels[c];
        if !channel.receiver || self.program.receiver(c) != me {
            return self.go(|_| ());
        }
        if let Op::DropReceiver(_) = op {
            return self.go(|state| drop_receiver(state, c));
        }
        if self.thread().phase == 1 {
            match channel.given {
                Some(value) => self.get(value, |state| state.channels[c].given = None),
                None => {
                    if channel.senders.is_empty() {
                        self.get(got::DISCONNECTED, |state| state.channels[c].waits = false);
                    } else if let Op::RecvTimeout(_) = op {
                        self.get(got::NOT_NOW, |state| state.channels[c].waits = false);
                    }
                }
            }
            return;
        }
        if let Some(&(sender, value)) = channel.offered.first() {
            self.get(value, |state| {
                state.channels[c].offered.remove(0);
                state.threads[sender].taken = true;
            });
        } else if let Some(&value) = channel.messages.first() {
            self.get(value, |state| {
                state.channels[c].messages.remove(0);
            });
        } else if channel.senders.is_empty() {
            self.get(got::DISCONNECTED, |_| ());
        } else if let Op::TryRecv(_) = op {
            self.get(got::NOT_NOW, |_| ());
        } else {
            if let Op::RecvTimeout(_) = op {
                self.get(got::NOT_NOW, |_| ());
            }
            if self.program.channels[c] == Some(0) {
                self.stay(|state| {
                    state.channels[c].waits = true;
                    state.threads[me].phase = 1;
                });
            }
        }
    }

    fn arc(&mut self, op: Op) {
        let (me, state) = (self.me, self.state);
        let Some(a) = op.refers_to() else { return };
        let mine = self.thread().arcs.contains(&a);
        match op {
            Op::Upgrade(_) if !mine => {
                if state.counts[a] == 0 {
                    self.get(0, |_| ());
                } else {
                    self.get(1, |state| {
                        state.counts[a] += 1;
                        state.threads[me].arcs.insert(a);
                    });
                }
            }
            Op::Count(_) if mine => self.get(i64::try_from(state.counts[a]).unwrap(), |_| ()),
            Op::DropArc(_) if mine => self.stay(|state| {
                state.threads[me].pc += 1;
                drop_arc(state, me, a);
            }),
            Op::TryUnwrap(_) if mine && state.counts[a] == 1 => self.stay(|state| {
                state.threads[me].pc += 1;
                state.threads[me].got.push(1);
                drop_arc(state, me, a);
            }),
            Op::TryUnwrap(_) if mine => self.get(0, |_| ()),
            _ => self.go(|_| ()),
        }
    }
}

fn drop_arc(state: &mut State, me: usize, arc: usize) {
    state.threads[me].arcs.remove(&arc);
    state.counts[arc] -= 1;
    if state.counts[arc] == 0 {
        state.threads[me].phase = 100;
    }
}

fn drop_receiver(state: &mut State, c: usize) {
    let channel = &mut state.channels[c];
    channel.receiver = false;
    channel.messages.clear();
    for (sender, _) in std::mem::take(&mut channel.offered) {
        state.threads[sender].refused = true;
    }
}
