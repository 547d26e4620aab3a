//! What operations do.

use super::machine::{LARGEST, Machine, Moves};
use super::state::{Once, Sleep, State};
use super::{Instruction, Unbounded};
use crate::syntax::{DISCONNECTED, NOTHING, OBJECTS, Op, Register};

/// What one thread can do in a state.
pub(super) struct Step<'a> {
    pub(super) machine: &'a Machine<'a>,
    pub(super) state: &'a State,
    pub(super) me: usize,
    pub(super) into: Option<Register>,
    pub(super) next: usize,
    pub(super) moves: &'a mut Moves,
}

impl Step<'_> {
    /// A way to go on within the operation.
    pub(super) fn stay(&mut self, change: impl FnOnce(&mut State)) {
        let mut state = self.state.clone();
        change(&mut state);
        self.moves.likely.push(state);
    }

    /// A way to go on after the operation.
    pub(super) fn after(&self, change: impl FnOnce(&mut State)) -> Result<State, Unbounded> {
        let mut state = self.state.clone();
        change(&mut state);
        state.threads[self.me].pc = self.next;
        self.machine.run_local(&mut state, self.me)?;
        let atomics = state.atomics.iter();
        let messages = state.channels.iter().map(|channel| channel.messages.len());
        let references = state.threads.iter().flat_map(|own| own.references);
        if atomics.max() > Some(&LARGEST) || messages.max() > Some(8) || references.max() > Some(8)
        {
            return Err(Unbounded);
        }
        Ok(state)
    }

    pub(super) fn go(&mut self, change: impl FnOnce(&mut State)) -> Result<(), Unbounded> {
        let state = self.after(change)?;
        self.moves.likely.push(state);
        Ok(())
    }

    /// Reads a value.
    pub(super) fn get(
        &mut self,
        value: i64,
        change: impl FnOnce(&mut State),
    ) -> Result<(), Unbounded> {
        let (me, into) = (self.me, self.into);
        self.go(|state| {
            change(state);
            if let Some(into) = into {
                state.threads[me].registers[into] = value;
            }
        })
    }

    pub(super) fn make(&mut self, op: Op) -> Result<(), Unbounded> {
        let (me, state) = (self.me, self.state);
        let number = |value| state.object(me, value);
        let value = |value| state.value(me, value);
        match op {
            Op::Load(x) => self.get(state.atomics[number(x)], |_| ()),
            Op::Store(x, to) => self.go(|s| s.atomics[number(x)] = value(to)),
            Op::Swap(x, to) => self.update(number(x), |_| value(to)),
            Op::Add(x, added) => self.update(number(x), |found| found + added),
            Op::Or(x, bits) => self.update(number(x), |found| found | bits),
            Op::Xor(x, bits) => self.update(number(x), |found| found ^ bits),
            Op::Max(x, least) => self.update(number(x), |found| found.max(least)),
            Op::Cas(x, from, to) => {
                let (from, to) = (value(from), value(to));
                self.update(number(x), |found| if found == from { to } else { found })
            }
            Op::Lock(_) | Op::TryLock(_) | Op::Unlock(_) => self.mutex(op),
            Op::Read(_) | Op::TryRead(_) | Op::Write(_) | Op::TryWrite(_) | Op::UnlockRw(_) => {
                self.rwlock(op)
            }
            // These are done between operations.
            Op::Get(_) | Op::Put(..) | Op::Take(_) | Op::GetRw(_) | Op::PutRw(..) => Err(Unbounded),
            Op::Wait(c) | Op::WaitTimeout(c) | Op::WaitWhile(c, _) => self.wait(op, c),
            Op::NotifyOne(c) => {
                let waiting = self.waiting(c);
                if waiting.is_empty() {
                    self.go(|_| ())?;
                }
                for thread in waiting {
                    self.go(|s| s.threads[thread].sleep = Sleep::Back { timed_out: false })?;
                }
                Ok(())
            }
            Op::NotifyAll(c) => {
                let waiting = self.waiting(c);
                self.go(|s| {
                    for thread in waiting {
                        s.threads[thread].sleep = Sleep::Back { timed_out: false };
                    }
                })
            }
            Op::Send(c, message) => {
                if state.channels[c].receiver {
                    self.get(1, |s| s.channels[c].messages.push(value(message)))
                } else {
                    self.get(DISCONNECTED, |_| ())
                }
            }
            Op::DropSender(c) => self.go(|s| {
                s.channels[c].senders.remove(&me);
            }),
            Op::Recv(c) | Op::TryRecv(c) | Op::RecvTimeout(c) => {
                if let Op::RecvTimeout(_) = op {
                    self.machine.marked.set(true);
                }
                let c = number(c);
                let channel = &state.channels[c];
                if let Some(&message) = channel.messages.first() {
                    self.get(message, |s| {
                        s.channels[c].messages.remove(0);
                    })
                } else if channel.senders.is_empty() {
                    self.get(DISCONNECTED, |_| ())
                } else if let Op::Recv(_) = op {
                    Ok(())
                } else {
                    self.get(NOTHING, |_| ())
                }
            }
            Op::Park => {
                if state.threads[me].token {
                    self.go(|s| s.threads[me].token = false)?;
                }
                if state.threads[me].spurious < self.machine.spurious {
                    let next = self.after(|s| s.threads[me].spurious += 1)?;
                    self.moves.unlikely.push(next);
                }
                Ok(())
            }
            Op::ParkTimeout => {
                self.machine.marked.set(true);
                self.go(|s| s.threads[me].token = false)
            }
            Op::Unpark(thread) => self.go(|s| s.threads[thread].token = true),
            Op::IsFinished(thread) => {
                let thread = state.thread(me, thread);
                self.get(i64::from(state.threads[thread].ended), |_| ())
            }
            Op::OnceGet(o) => match state.onces[number(o)] {
                Once::Done(found) => self.get(found, |_| ()),
                _ => self.get(NOTHING, |_| ()),
            },
            Op::OnceSet(o, to) => match state.onces[o] {
                _ if state.threads[me].setting => self.get(1, |s| {
                    s.onces[o] = Once::Done(to);
                    s.threads[me].setting = false;
                }),
                Once::New => {
                    self.stay(|s| {
                        s.onces[o] = Once::Running;
                        s.threads[me].setting = true;
                    });
                    Ok(())
                }
                Once::Running => Ok(()),
                Once::Done(_) => self.get(0, |_| ()),
            },
            Op::Clone(r) => self.go(|s| s.threads[me].references[number(r)] += 1),
            Op::Release(r) => self.go(|s| s.threads[me].references[number(r)] -= 1),
            Op::Strong(r) => self.get(state.references(number(r)), |_| ()),
            Op::Upgrade(r) => {
                let is_there = state.references(number(r)) > 0;
                self.get(i64::from(is_there), |s| {
                    s.threads[me].references[number(r)] += u8::from(is_there);
                })
            }
            Op::WakeSelf => self.go(|s| s.threads[me].woken = true),
            Op::Register(w) => {
                let waker = (me, state.threads[me].future);
                self.go(|s| s.slots[w] = Some(waker))
            }
            Op::Wake(w) => match (state.threads[me].waking, state.slots[w]) {
                (Some((thread, future)), _) => self.go(|s| {
                    s.threads[me].waking = None;
                    let woken = &mut s.threads[thread];
                    woken.woken |= woken.polls && woken.future == future;
                }),
                (None, None) => self.go(|_| ()),
                (None, taken) => {
                    self.stay(|s| {
                        s.slots[w] = None;
                        s.threads[me].waking = taken;
                    });
                    Ok(())
                }
            },
        }
    }

    pub(super) fn update(
        &mut self,
        x: usize,
        to: impl FnOnce(i64) -> i64,
    ) -> Result<(), Unbounded> {
        let found = self.state.atomics[x];
        self.get(found, |state| state.atomics[x] = to(found))
    }

    pub(super) fn mutex(&mut self, op: Op) -> Result<(), Unbounded> {
        let (me, state) = (self.me, self.state);
        let (Op::Lock(m) | Op::TryLock(m) | Op::Unlock(m)) = op else {
            return Err(Unbounded);
        };
        let m = state.object(me, m);
        match (op, state.mutexes[m].holder) {
            (Op::Unlock(_), _) => self.go(|s| s.mutexes[m].holder = None),
            (Op::Lock(_), None) => self.go(|s| s.mutexes[m].holder = Some(me)),
            (_, None) => self.get(1, |s| s.mutexes[m].holder = Some(me)),
            (Op::Lock(_), Some(_)) => Ok(()),
            (_, Some(_)) => self.get(0, |_| ()),
        }
    }

    pub(super) fn rwlock(&mut self, op: Op) -> Result<(), Unbounded> {
        let (me, state) = (self.me, self.state);
        let (Op::Read(l) | Op::TryRead(l) | Op::Write(l) | Op::TryWrite(l) | Op::UnlockRw(l)) = op
        else {
            return Err(Unbounded);
        };
        let l = state.object(me, l);
        let lock = &state.locks[l];
        let (readable, writable) = (
            lock.writer.is_none(),
            lock.writer.is_none() && lock.readers.is_empty(),
        );
        let read = |s: &mut State| {
            s.locks[l].readers.insert(me);
        };
        let write = |s: &mut State| s.locks[l].writer = Some(me);
        match op {
            Op::Read(_) if readable => self.go(read),
            Op::Write(_) if writable => self.go(write),
            Op::TryRead(_) if readable => self.get(1, read),
            Op::TryWrite(_) if writable => self.get(1, write),
            Op::TryRead(_) | Op::TryWrite(_) => self.get(0, |_| ()),
            Op::UnlockRw(_) => self.go(|s| {
                s.locks[l].readers.remove(&me);
                s.locks[l].writer = s.locks[l].writer.filter(|&writer| writer != me);
            }),
            _ => Ok(()),
        }
    }

    /// Who waits for a condition variable.
    pub(super) fn waiting(&self, condition: usize) -> Vec<usize> {
        let waits = |thread: &usize| {
            let code = &self.machine.codes[*thread];
            let thread = &self.state.threads[*thread];
            let op = code.get(thread.pc);
            thread.sleep == Sleep::Waits
                && matches!(op, Some(Instruction::Do(Op::Wait(c) | Op::WaitTimeout(c) | Op::WaitWhile(c, _), _)) if *c == condition)
        };
        (0..self.state.threads.len()).filter(waits).collect()
    }

    pub(super) fn wait(&mut self, op: Op, c: usize) -> Result<(), Unbounded> {
        let (me, state) = (self.me, self.state);
        let goes_on = |value: i64| !matches!(op, Op::WaitWhile(_, unwanted) if value == unwanted);
        match state.threads[me].sleep {
            Sleep::Awake if matches!(op, Op::WaitWhile(..)) && goes_on(state.mutexes[c].value) => {
                self.go(|_| ())
            }
            Sleep::Awake => {
                self.stay(|s| {
                    s.mutexes[c].holder = None;
                    s.threads[me].sleep = Sleep::Waits;
                });
                Ok(())
            }
            Sleep::Waits => {
                if let Op::WaitTimeout(_) = op {
                    self.machine.marked.set(true);
                    self.stay(|s| s.threads[me].sleep = Sleep::Back { timed_out: true });
                }
                if state.threads[me].spurious < self.machine.spurious {
                    let mut next = state.clone();
                    next.threads[me].spurious += 1;
                    next.threads[me].sleep = Sleep::Back { timed_out: false };
                    self.moves.unlikely.push(next);
                }
                Ok(())
            }
            Sleep::Back { .. } if state.mutexes[c].holder.is_some() => Ok(()),
            // It holds the mutex, and waits again.
            Sleep::Back { .. } if !goes_on(state.mutexes[c].value) => {
                self.stay(|s| {
                    s.mutexes[c].holder = Some(me);
                    s.threads[me].sleep = Sleep::Awake;
                });
                Ok(())
            }
            Sleep::Back { timed_out } => {
                let back = |s: &mut State| {
                    s.mutexes[c].holder = Some(me);
                    s.threads[me].sleep = Sleep::Awake;
                };
                match op {
                    Op::WaitTimeout(_) => self.get(i64::from(timed_out), back),
                    _ => self.go(back),
                }
            }
        }
    }

    /// Gives back what is left, one after the other, and ends.
    pub(super) fn end(&mut self) {
        let (me, state) = (self.me, self.state);
        let mut objects = 0..OBJECTS;
        if let Some(m) = objects.find(|&m| state.mutexes[m].holder == Some(me)) {
            return self.stay(|s| s.mutexes[m].holder = None);
        }
        let holds = |l: &usize| {
            let lock = &state.locks[*l];
            lock.writer == Some(me) || lock.readers.contains(&me)
        };
        if let Some(l) = (0..OBJECTS).find(holds) {
            return self.stay(|s| {
                s.locks[l].readers.remove(&me);
                s.locks[l].writer = s.locks[l].writer.filter(|&writer| writer != me);
            });
        }
        if let Some(c) = (0..OBJECTS).find(|&c| state.channels[c].senders.contains(&me)) {
            return self.stay(|s| {
                s.channels[c].senders.remove(&me);
            });
        }
        let receives = self.machine.receiver == me;
        if let Some(c) = (0..OBJECTS).find(|&c| receives && state.channels[c].receiver) {
            return self.stay(|s| {
                s.channels[c].receiver = false;
                s.channels[c].messages.clear();
            });
        }
        if let Some(r) = (0..OBJECTS).find(|&r| state.threads[me].references[r] > 0) {
            return self.stay(|s| s.threads[me].references[r] -= 1);
        }
        let joined = state.threads[me].joined + 1;
        if me == 0 && joined < state.threads.len() {
            if state.threads[joined].ended {
                self.stay(|s| s.threads[0].joined = joined);
            }
            return;
        }
        self.stay(|s| s.threads[me].ended = true);
    }
}
