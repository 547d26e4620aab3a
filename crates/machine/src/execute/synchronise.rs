//! Locks, condition variables, semaphores and channels.

use raddle_explore::SyncOp;

use super::{Execution, Halt, Trouble};
use crate::op::{LockKind, Op, Reg};
use crate::state::{Phase, header};
use crate::word;

const BLOCKED: Halt = Halt::Block { assumption: false };

/// The phases of a rendezvous, in the first word of its channel.
mod rendezvous {
    pub(super) const IDLE: i64 = 0;
    pub(super) const OFFERED: i64 = 1;
    pub(super) const TAKEN: i64 = 2;
}

/// Whether an operation waits until it is possible.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Patience {
    Waits,
    Tries,
}

impl Execution<'_> {
    /// Visible instructions that the main loop does not handle itself.
    pub(super) fn visible_operation(&mut self, op: Op) -> Result<(), Halt> {
        match op {
            Op::Resume {
                object,
                mutex,
                saved,
                kind,
            } => {
                self.visible_alone()?;
                return self.resume(object, mutex, saved, kind);
            }
            Op::Handoff { channel } => {
                self.visible_alone()?;
                return self.handoff(channel);
            }
            _ => self.visible()?,
        }
        match op {
            Op::Lock { mutex, kind } => {
                let taken = self.take(mutex, kind, 1)?;
                self.acquired(mutex, taken, SyncOp::Acquire)?;
            }
            Op::TryLock { to, mutex, kind } => {
                let taken = self.take(mutex, kind, 1)?;
                self.tried(to, mutex, taken, SyncOp::Try);
            }
            Op::Unlock { mutex, kind } => {
                self.synchronise(self.get(mutex), true, SyncOp::Release);
                self.unlock(mutex, kind)?;
            }
            Op::ReadLock { lock } => {
                let taken = self.read_lock(lock)?;
                self.acquired(lock, taken, SyncOp::AcquireShared)?;
            }
            Op::TryReadLock { to, lock } => {
                let taken = self.read_lock(lock)?;
                self.tried(to, lock, taken, SyncOp::TryShared);
            }
            Op::WriteLock { lock } => {
                let taken = self.write_lock(lock)?;
                self.acquired(lock, taken, SyncOp::Acquire)?;
            }
            Op::TryWriteLock { to, lock } => {
                let taken = self.write_lock(lock)?;
                self.tried(to, lock, taken, SyncOp::Try);
            }
            Op::UnlockRw { lock } => self.unlock_rw(lock)?,
            Op::Wait {
                object,
                mutex,
                saved,
                kind,
            } => self.wait(object, mutex, saved, kind)?,
            Op::Notify {
                object,
                all,
                monitor,
            } => self.notify(object, all, monitor)?,
            Op::Down { semaphore } => {
                let taken = self.down(semaphore)?;
                self.acquired(semaphore, taken, SyncOp::Down)?;
            }
            Op::TryDown { to, semaphore } => {
                let taken = self.down(semaphore)?;
                self.tried(to, semaphore, taken, SyncOp::Try);
            }
            Op::Up { semaphore } => {
                self.synchronise(self.get(semaphore), true, SyncOp::Up);
                let cell = self.cell(self.get(semaphore))?;
                let count = &mut self.memory.words[cell];
                *count = (*count + 1).min(i32::MAX.into());
            }
            Op::Send {
                channel,
                values,
                shape,
            } => {
                self.send(channel, values, shape, Patience::Waits)?;
            }
            Op::TrySend {
                to,
                channel,
                values,
                shape,
            } => {
                let sent = self.send(channel, values, shape, Patience::Tries)?;
                self.set(to, i64::from(sent));
            }
            Op::Recv { channel, to, shape } => {
                self.receive(channel, to, shape, Patience::Waits)?;
            }
            Op::TryRecv {
                to,
                channel,
                values,
                shape,
            } => {
                let received = self.receive(channel, values, shape, Patience::Tries)?;
                self.set(to, i64::from(received));
            }
            Op::Len { to, channel, shape } => {
                self.synchronise(self.get(channel), false, SyncOp::Poll);
                let cell = self.cell(self.get(channel))?;
                let count = self.memory.words[cell];
                let rendezvous = self.program.shapes[shape as usize].capacity == 0;
                let waiting = count == rendezvous::OFFERED;
                self.set(
                    to,
                    if rendezvous {
                        i64::from(waiting)
                    } else {
                        count
                    },
                );
            }
            Op::Spawn {
                to,
                function,
                arguments,
            } => self.spawn(to, function, arguments)?,
            Op::Join { thread } => self.join(thread)?,
            memory => self.memory_operation(memory)?,
        }
        Ok(())
    }

    /// The end of an operation that blocks unless it took its object.
    fn acquired(&mut self, object: Reg, taken: bool, op: SyncOp) -> Result<(), Halt> {
        self.synchronise(self.get(object), taken, op);
        if taken { Ok(()) } else { Err(BLOCKED) }
    }

    /// The end of an operation that says whether it took its object.
    fn tried(&mut self, to: Reg, object: Reg, taken: bool, op: SyncOp) {
        self.synchronise(self.get(object), taken, op);
        self.set(to, i64::from(taken));
    }

    /// Takes a mutex `count` times, if it is free for this thread.
    fn take(&mut self, mutex: Reg, kind: LockKind, count: i64) -> Result<bool, Trouble> {
        let cell = self.cell(self.get(mutex))?;
        let free = kind.is_free_for(self.me, self.memory.words[cell]);
        if free {
            self.memory.words[cell] = self.me;
            if kind == LockKind::Reentrant {
                self.memory.words[cell + 1] += count;
            }
        }
        Ok(free)
    }

    fn unlock(&mut self, mutex: Reg, kind: LockKind) -> Result<(), Trouble> {
        let cell = self.cell(self.get(mutex))?;
        if self.memory.words[cell] != self.me {
            return Err(Trouble::NotHeld);
        }
        if kind == LockKind::Reentrant {
            self.memory.words[cell + 1] -= 1;
            if self.memory.words[cell + 1] > 0 {
                return Ok(());
            }
        }
        self.memory.words[cell] = word::NULL;
        Ok(())
    }

    /// The words of a reader-writer lock: the writer; the number of read holds.
    fn read_lock(&mut self, lock: Reg) -> Result<bool, Trouble> {
        let reference = self.get(lock);
        let cell = self.cell(reference)?;
        if self.memory.words[cell] != word::NULL {
            return Ok(false);
        }
        self.memory.words[cell + 1] += 1;
        let holds = &mut self.scratch.read_holds;
        let position = holds.partition_point(|hold| *hold <= reference);
        holds.insert(position, reference);
        Ok(true)
    }

    fn write_lock(&mut self, lock: Reg) -> Result<bool, Trouble> {
        let cell = self.cell(self.get(lock))?;
        let free = self.memory.words[cell] == word::NULL && self.memory.words[cell + 1] == 0;
        if free {
            self.memory.words[cell] = self.me;
        }
        Ok(free)
    }

    fn unlock_rw(&mut self, lock: Reg) -> Result<(), Trouble> {
        let reference = self.get(lock);
        let cell = self.cell(reference)?;
        let holds = &mut self.scratch.read_holds;
        if self.memory.words[cell] == self.me {
            self.memory.words[cell] = word::NULL;
            self.synchronise(reference, true, SyncOp::Release);
        } else if let Some(position) = holds.iter().position(|hold| *hold == reference) {
            holds.remove(position);
            self.memory.words[cell + 1] -= 1;
            self.synchronise(reference, true, SyncOp::ReleaseShared);
        } else {
            self.synchronise(reference, false, SyncOp::Release);
            return Err(Trouble::NotHeld);
        }
        Ok(())
    }

    fn wait(&mut self, object: Reg, mutex: Reg, saved: Reg, kind: LockKind) -> Result<(), Trouble> {
        let (object, reference) = (self.get(object), self.get(mutex));
        self.cell(object)?;
        let cell = self.cell(reference)?;
        self.synchronise(object, true, SyncOp::Wait);
        if object != reference {
            self.synchronise(reference, true, SyncOp::Release);
        }
        if self.memory.words[cell] != self.me {
            return Err(Trouble::WaitNotHeld);
        }
        self.memory.words[cell] = word::NULL;
        let count = match kind {
            LockKind::Plain => 1,
            LockKind::Reentrant => std::mem::take(&mut self.memory.words[cell + 1]),
        };
        self.set(saved, count);
        self.memory.thread_mut(self.thread)[header::PHASE] = Phase::Waiting as i64;
        Ok(())
    }

    fn resume(&mut self, object: Reg, mutex: Reg, saved: Reg, kind: LockKind) -> Result<(), Halt> {
        self.synchronise(self.get(object), false, SyncOp::Resume);
        if self.memory.phase(self.thread) == Phase::Waiting {
            return Err(BLOCKED);
        }
        self.synchronise(self.get(mutex), true, SyncOp::Resume);
        if !self.take(mutex, kind, self.get(saved))? {
            return Err(BLOCKED);
        }
        self.memory.thread_mut(self.thread)[header::PHASE] = Phase::Running as i64;
        Ok(())
    }

    /// Whether a thread is among the waiters of an object.
    fn waits_on(&self, thread: usize, object: i64) -> bool {
        if self.memory.phase(thread) != Phase::Waiting {
            return false;
        }
        let pc = self.memory.pc(thread) as usize;
        let Op::Resume { object: reg, .. } = self.program.code[pc] else {
            unreachable!("a waiting thread resumes next");
        };
        let frames = self.memory.frames(thread);
        let base = frames.len() - self.program.heights[pc] as usize;
        frames[base + reg as usize] == object
    }

    fn notify(&mut self, object: Reg, all: bool, monitor: bool) -> Result<(), Halt> {
        let object = self.get(object);
        let cell = self.cell(object)?;
        if monitor && self.memory.words[cell] != self.me {
            self.synchronise(object, false, SyncOp::Notify);
            return Err(Trouble::NotifyNotHeld.into());
        }
        let waiters =
            (0..self.memory.threads.len()).filter(|thread| self.waits_on(*thread, object));
        let count = waiters.count();
        self.synchronise(object, count > 0, SyncOp::Notify);
        if count == 0 {
            return Ok(());
        }
        let picked = if all {
            None
        } else {
            let number = self.choose(count as u64)? as usize;
            Some(self.waiter(number, object))
        };
        for thread in 0..self.memory.threads.len() {
            let is_picked = picked.is_none_or(|picked| picked == thread);
            if is_picked && self.waits_on(thread, object) {
                self.memory.thread_mut(thread)[header::PHASE] = Phase::Notified as i64;
            }
        }
        Ok(())
    }

    /// The waiter with this number. They are counted in the order that threads have in canonical states: positions
    /// depend on who has spawned first, and then the same number would mean different waiters in executions that differ in
    /// nothing else.
    fn waiter(&self, number: usize, object: i64) -> usize {
        let threads = 0..self.memory.threads.len();
        let waits = |thread: &usize| self.waits_on(*thread, object);
        let elder = |thread: usize| {
            let before = |other: &usize| self.memory.canonical_order(*other, thread).is_lt();
            threads.clone().filter(waits).filter(before).count()
        };
        let mut waiters = threads.clone().filter(waits);
        let found = waiters.find(|thread| elder(*thread) == number);
        found.expect("there are more waiters than this number")
    }

    fn down(&mut self, semaphore: Reg) -> Result<bool, Trouble> {
        let cell = self.cell(self.get(semaphore))?;
        let count = &mut self.memory.words[cell];
        let positive = *count > 0;
        *count -= i64::from(positive);
        Ok(positive)
    }

    /// The outcome of an operation that is not possible now.
    fn not_now(&mut self, object: i64, op: SyncOp, patience: Patience) -> Result<bool, Halt> {
        match patience {
            Patience::Waits => {
                self.synchronise(object, false, op);
                Err(BLOCKED)
            }
            Patience::Tries => {
                self.synchronise(object, false, SyncOp::Poll);
                Ok(false)
            }
        }
    }

    fn done(&mut self, object: i64, op: SyncOp, patience: Patience) -> Result<bool, Halt> {
        let op = if patience == Patience::Waits {
            op
        } else {
            SyncOp::Poll
        };
        self.synchronise(object, true, op);
        Ok(true)
    }

    /// A channel is the number of its messages, then the messages, oldest first.
    fn send(
        &mut self,
        channel: Reg,
        values: Reg,
        shape: u16,
        patience: Patience,
    ) -> Result<bool, Halt> {
        let object = self.get(channel);
        let cell = self.cell(object)?;
        let shape = self.program.shapes[shape as usize];
        let (width, count) = (shape.values as usize, self.memory.words[cell]);
        let room = match shape.capacity {
            0 => count == rendezvous::IDLE,
            capacity => count < i64::from(capacity),
        };
        if !room {
            return self.not_now(object, SyncOp::Send, patience);
        }
        let message = cell + 1 + count as usize * width;
        for index in 0..width {
            self.memory.words[message + index] = self.get(values + index as Reg);
        }
        // For a rendezvous, one message is one offer.
        self.memory.words[cell] += 1;
        self.done(object, SyncOp::Send, patience)
    }

    fn handoff(&mut self, channel: Reg) -> Result<(), Halt> {
        let object = self.get(channel);
        let cell = self.cell(object)?;
        if self.memory.words[cell] != rendezvous::TAKEN {
            self.synchronise(object, false, SyncOp::Send);
            return Err(BLOCKED);
        }
        self.synchronise(object, true, SyncOp::Send);
        self.memory.words[cell] = rendezvous::IDLE;
        Ok(())
    }

    fn receive(
        &mut self,
        channel: Reg,
        to: Reg,
        shape: u16,
        patience: Patience,
    ) -> Result<bool, Halt> {
        let object = self.get(channel);
        let cell = self.cell(object)?;
        let shape = self.program.shapes[shape as usize];
        let (width, count) = (shape.values as usize, self.memory.words[cell]);
        let ready = match shape.capacity {
            0 => count == rendezvous::OFFERED,
            _ => count > 0,
        };
        if !ready {
            return self.not_now(object, SyncOp::Receive, patience);
        }
        for index in 0..width {
            self.set(to + index as Reg, self.memory.words[cell + 1 + index]);
        }
        if shape.capacity == 0 {
            self.memory.words[cell] = rendezvous::TAKEN;
            self.memory.words[cell + 1..][..width].fill(0);
        } else {
            let used = cell + 1..cell + 1 + count as usize * width;
            self.memory
                .words
                .copy_within(used.start + width..used.end, used.start);
            self.memory.words[used.end - width..used.end].fill(0);
            self.memory.words[cell] -= 1;
        }
        self.done(object, SyncOp::Receive, patience)
    }
}
