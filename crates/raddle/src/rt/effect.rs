//! What an operation does, as a function of the values of the locations that it names.
//!
//! There is one such function for making a step, for asking whether it is possible, and for
//! foreseeing it. That they agree is what an explorer relies on.

use raddle_schedule::{LocationId, Mode, ValuedAccess};

use super::objects::Channel;
use super::operation::{Left, Operation, channel, count, given_back, mx, once, rw, waiting};

/// A state: the values of locations.
pub(crate) trait Values {
    /// The value of a location.
    fn value(&self, at: LocationId) -> u64;
    /// What a channel consists of. That never changes but for messages that are added.
    fn channel(&self, number: u32) -> &Channel;
    /// The locations of a group. That never changes.
    fn group(&self, number: u32) -> &[LocationId];
}

/// What an operation would do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Effect {
    /// Whether it is possible.
    pub(crate) enabled: bool,
    /// What the thread gets back.
    pub(crate) result: u64,
    /// How many alternatives it has.
    pub(crate) alternatives: u32,
}

impl Effect {
    #[inline]
    fn gives(result: u64) -> Self {
        Self {
            enabled: true,
            result,
            alternatives: 1,
        }
    }

    const DONE: Self = Self {
        enabled: true,
        result: 0,
        alternatives: 1,
    };

    #[inline]
    fn when(self, enabled: bool) -> Self {
        Self { enabled, ..self }
    }
}

/// The value of the end of a thread that has returned, and has not dropped its thread-locals yet. As in `std`, its handle says that it is finished, and its
/// scope does not wait for it any longer; whoever joins it does.
pub(crate) const FINISHED: u64 = 1;
/// That of a thread that has ended.
pub(crate) const ENDED: u64 = 2;

/// Whether an operation is possible.
#[inline]
pub(crate) fn enabled(operation: &Operation, values: &impl Values) -> bool {
    match *operation {
        Operation::Join { end } => values.value(end) == ENDED,
        Operation::JoinAll { group } => values
            .group(group)
            .iter()
            .all(|&end| values.value(end) != 0),
        Operation::Lock { mutex } => values.value(mutex) & 1 == 0,
        Operation::ReadLock { lock } => values.value(lock) & rw::WRITER == 0,
        Operation::WriteLock { lock } => values.value(lock) & (rw::WRITER | rw::READERS) == 0,
        Operation::Park { token } => values.value(token) != 0,
        Operation::Pass {
            gathering, size, ..
        } => values.value(gathering) >= u64::from(size),
        Operation::Stop => false,
        Operation::Await { at, least, .. } => values.value(at) >= least,
        Operation::OnceBegin { .. }
        | Operation::OnceWait { .. }
        | Operation::Send { .. }
        | Operation::Taken { .. }
        | Operation::Receive { .. } => effect(operation, values, &mut |_| ()).enabled,
        _ => true,
    }
}

/// What an operation would do; each access is told to `touch`. If it is not possible, they are
/// those that it would make if it were.
pub(crate) fn effect(
    operation: &Operation,
    values: &impl Values,
    touch: &mut impl FnMut(ValuedAccess),
) -> Effect {
    let mut access = |location, mode, before, after| {
        touch(ValuedAccess {
            location,
            mode,
            before,
            after,
        });
    };
    match *operation {
        Operation::Begin
        | Operation::Spawn { .. }
        | Operation::Resume
        | Operation::Fence { .. } => Effect::DONE,
        // It reads nothing: nothing that others do makes it possible.
        Operation::Stop => Effect::DONE.when(false),
        Operation::Finish { end } => {
            access(end, Mode::Write, values.value(end), FINISHED);
            Effect::DONE
        }
        Operation::End { end } => {
            access(end, Mode::Write, values.value(end), ENDED);
            Effect::DONE
        }
        Operation::Join { end } => {
            let ended = values.value(end);
            access(end, Mode::Read, ended, ended);
            Effect::DONE.when(ended == ENDED)
        }
        Operation::JoinAll { group } => {
            for &end in values.group(group) {
                let ended = values.value(end);
                access(end, Mode::Read, ended, ended);
            }
            Effect::DONE.when(enabled(operation, values))
        }
        Operation::Choose { alternatives, .. } => Effect {
            alternatives,
            ..Effect::DONE
        },
        Operation::Load { at, .. } => {
            let value = values.value(at);
            access(at, Mode::Read, value, value);
            Effect::gives(value)
        }
        Operation::Store { at, value, .. } => {
            let old = values.value(at);
            access(at, Mode::Write, old, value);
            Effect::gives(old)
        }
        Operation::Update {
            at,
            update,
            operand,
            ..
        } => {
            let old = values.value(at);
            access(at, Mode::Write, old, update.apply(old, operand));
            Effect::gives(old)
        }
        Operation::CompareExchange {
            at, expected, new, ..
        } => {
            let old = values.value(at);
            if old == expected {
                access(at, Mode::Write, old, new);
            } else {
                access(at, Mode::Read, old, old);
            }
            Effect::gives(old)
        }
        Operation::Count { at, add } => {
            let old = values.value(at);
            access(at, Mode::Shared, old, old.wrapping_add(add));
            Effect::gives(old)
        }

        Operation::Upgrade { count } => {
            let old = values.value(count);
            if old & count::STRONG == 0 {
                access(count, Mode::Read, old, old);
            } else {
                access(count, Mode::Write, old, old + 1);
            }
            Effect::gives(old & count::STRONG)
        }
        Operation::TakeOnly { count } => {
            let old = values.value(count);
            if old & count::STRONG == 1 {
                access(count, Mode::Write, old, old - 1);
            } else {
                access(count, Mode::Read, old, old);
            }
            Effect::gives(old & count::STRONG)
        }

        // Odd while it is held; what is above counts, so that a thread that polls under the lock sees that
        // somebody else was there.
        Operation::Lock { mutex } => {
            let value = values.value(mutex);
            access(mutex, Mode::Write, value, value | 1);
            Effect::gives(1).when(value & 1 == 0)
        }
        Operation::TryLock { mutex } => {
            let value = values.value(mutex);
            if value & 1 == 0 {
                access(mutex, Mode::Write, value, value | 1);
                Effect::gives(1)
            } else {
                access(mutex, Mode::Read, value, value);
                Effect::gives(0)
            }
        }
        Operation::Unlock { mutex, left } => {
            let value = values.value(mutex);
            access(mutex, Mode::Write, value, unlocked(value, left));
            Effect::DONE
        }

        Operation::ReadLock { lock } => {
            let value = values.value(lock);
            access(lock, Mode::Shared, value, value + 1);
            Effect::gives(1).when(value & rw::WRITER == 0)
        }
        Operation::TryReadLock { lock } => {
            let value = values.value(lock);
            if value & rw::WRITER == 0 {
                access(lock, Mode::Shared, value, value + 1);
                Effect::gives(1)
            } else {
                access(lock, Mode::Read, value, value);
                Effect::gives(0)
            }
        }
        Operation::ReadUnlock { lock } => {
            let value = values.value(lock);
            access(lock, Mode::Shared, value, value.wrapping_sub(1));
            Effect::DONE
        }
        Operation::WriteLock { lock } => {
            let value = values.value(lock);
            access(lock, Mode::Write, value, value | rw::WRITER);
            Effect::gives(1).when(value & (rw::WRITER | rw::READERS) == 0)
        }
        Operation::TryWriteLock { lock } => {
            let value = values.value(lock);
            if value & (rw::WRITER | rw::READERS) == 0 {
                access(lock, Mode::Write, value, value | rw::WRITER);
                Effect::gives(1)
            } else {
                access(lock, Mode::Read, value, value);
                Effect::gives(0)
            }
        }
        Operation::WriteUnlock { lock, left } => {
            let value = values.value(lock);
            let free = value & !rw::WRITER;
            let after = given_back(free, left, rw::VERSION, rw::ALIKE, rw::BEHIND);
            access(lock, Mode::Write, value, after);
            Effect::DONE
        }
        Operation::Downgrade { lock } => {
            let value = values.value(lock);
            let after = (value & !rw::WRITER).wrapping_add(rw::VERSION + 1);
            access(lock, Mode::Write, value, after);
            Effect::DONE
        }

        Operation::Wait { condvar, mutex } => {
            let value = values.value(mutex);
            access(mutex, Mode::Write, value, unlocked(value, Left::Changed));
            let waiters = values.value(condvar);
            access(condvar, Mode::Write, waiters, waiters + 1);
            Effect::DONE
        }
        Operation::NotifyOne { condvar } => match values.value(condvar) {
            0 => {
                access(condvar, Mode::Read, 0, 0);
                Effect::DONE
            }
            waiters => {
                access(condvar, Mode::Write, waiters, waiters - 1);
                Effect {
                    alternatives: u32::try_from(waiters).unwrap_or(u32::MAX),
                    ..Effect::DONE
                }
            }
        },
        Operation::NotifyAll { condvar } => {
            let waiters = values.value(condvar);
            let mode = if waiters == 0 {
                Mode::Read
            } else {
                Mode::Write
            };
            access(condvar, mode, waiters, 0);
            Effect::DONE
        }

        Operation::Arrive { barrier, size } => {
            let arrived = values.value(barrier);
            let last = arrived + 1 >= u64::from(size);
            access(
                barrier,
                Mode::Write,
                arrived,
                if last { 0 } else { arrived + 1 },
            );
            Effect::gives(u64::from(last))
        }

        Operation::Gather {
            gathering, size, ..
        } => {
            let before = values.value(gathering);
            access(gathering, Mode::Shared, before, before + 1);
            Effect::gives(u64::from(before + 1 >= u64::from(size)))
        }
        Operation::Pass {
            gathering, size, ..
        } => {
            let arrived = values.value(gathering);
            access(gathering, Mode::Read, arrived, arrived);
            Effect::DONE.when(arrived >= u64::from(size))
        }

        Operation::Park { token } => {
            let value = values.value(token);
            access(token, Mode::Write, value, 0);
            Effect::DONE.when(value != 0)
        }
        Operation::Unpark { token } => {
            access(token, Mode::Write, values.value(token), 1);
            Effect::DONE
        }

        Operation::OnceBegin { once, again } => {
            let state = values.value(once);
            let begins = state == once::NEW || (state == once::POISONED && again);
            if begins || state == once::RUNNING {
                access(once, Mode::Write, state, once::RUNNING);
            } else {
                access(once, Mode::Read, state, state);
            }
            Effect::gives(state).when(state != once::RUNNING)
        }
        Operation::OnceFinish { once, state } => {
            access(once, Mode::Write, values.value(once), state);
            Effect::DONE
        }
        Operation::OnceWait { once, again } => {
            let state = values.value(once);
            access(once, Mode::Read, state, state);
            Effect::gives(state).when(state == once::DONE || (state == once::POISONED && !again))
        }

        Operation::Send { channel, blocking } => {
            send(values.channel(channel), blocking, values, &mut access)
        }
        Operation::Taken { channel, message } => {
            let channel = values.channel(channel);
            let slot = channel.messages[message as usize];
            let state = values.value(slot);
            access(slot, Mode::Read, state, state);
            if state == channel::TAKEN {
                return Effect::gives(channel::OK);
            }
            let receiver = values.value(channel.receiver);
            access(channel.receiver, Mode::Read, receiver, receiver);
            Effect::gives(channel::DISCONNECTED).when(receiver == 0)
        }
        Operation::Receive {
            channel,
            message,
            blocking,
        } => receive(
            values.channel(channel),
            message,
            blocking,
            values,
            &mut access,
        ),
        Operation::Offer { channel } => {
            let waiting = values.channel(channel).waiting;
            access(waiting, Mode::Write, values.value(waiting), 1);
            Effect::DONE
        }

        Operation::Await { at, least, .. } => {
            let value = values.value(at);
            access(at, Mode::Read, value, value);
            Effect::gives(value).when(value >= least)
        }
        Operation::Enlist { condvar, who } => {
            let before = values.value(condvar);
            access(condvar, Mode::Write, before, before | who);
            Effect::DONE
        }
        Operation::Notify { condvar, all } => {
            let before = values.value(condvar);
            match waiting::are_taken(before, all) {
                true => access(condvar, Mode::Write, before, 0),
                false => access(condvar, Mode::Read, before, before),
            }
            Effect::gives(before)
        }
        Operation::Pick { condvar, who } => {
            let before = values.value(condvar);
            match before & who {
                0 => access(condvar, Mode::Read, before, before),
                _ => access(condvar, Mode::Write, before, before & !who),
            }
            Effect::gives(before)
        }
        Operation::Ticket { tail, limit } => {
            let next = values.value(tail);
            match next < limit && next & channel::GONE == 0 {
                true => access(tail, Mode::Write, next, next + 1),
                false => access(tail, Mode::Read, next, next),
            }
            Effect::gives(next)
        }
    }
}

pub(super) fn unlocked(value: u64, left: Left) -> u64 {
    let free = value & !mx::LOCKED;
    given_back(free, left, mx::VERSION, mx::ALIKE, mx::BEHIND)
}

/// Sending touches the message and its number, which orders it after other sends and before
/// its own receive only. A message of a bounded channel also looks at the one whose room it takes.
fn send(
    channel: &Channel,
    blocking: bool,
    values: &impl Values,
    access: &mut impl FnMut(LocationId, Mode, u64, u64),
) -> Effect {
    let receiver = values.value(channel.receiver);
    access(channel.receiver, Mode::Read, receiver, receiver);
    if receiver == 0 {
        return Effect::gives(channel::DISCONNECTED);
    }
    let next = values.value(channel.tail);
    let room = match channel.capacity {
        None => true,
        // The sender waits for the receiver afterwards, unless it is not ready to.
        Some(0) if blocking => true,
        Some(0) => {
            let waiting = values.value(channel.waiting);
            access(channel.waiting, Mode::Read, waiting, waiting);
            let before = next
                .checked_sub(1)
                .map(|before| channel.messages[before as usize]);
            let nobody_before = before.is_none_or(|slot| {
                let state = values.value(slot);
                access(slot, Mode::Read, state, state);
                state == channel::TAKEN
            });
            waiting == 1 && nobody_before
        }
        Some(capacity) => next.checked_sub(u64::from(capacity)).is_none_or(|before| {
            let slot = channel.messages[before as usize];
            let state = values.value(slot);
            access(slot, Mode::Read, state, state);
            state == channel::TAKEN
        }),
    };
    if !room && !blocking {
        access(channel.tail, Mode::Read, next, next);
        return Effect::gives(channel::NOT_NOW);
    }
    access(channel.tail, Mode::Write, next, next + 1);
    let slot = channel.messages[next as usize];
    access(slot, Mode::Write, values.value(slot), channel::SENT);
    Effect::gives(channel::OK).when(room)
}

fn receive(
    channel: &Channel,
    message: u32,
    blocking: bool,
    values: &impl Values,
    access: &mut impl FnMut(LocationId, Mode, u64, u64),
) -> Effect {
    let slot = channel.messages[message as usize];
    let state = values.value(slot);
    if state == channel::SENT {
        access(slot, Mode::Write, state, channel::TAKEN);
        if channel.capacity == Some(0) {
            let waiting = values.value(channel.waiting);
            access(channel.waiting, Mode::Write, waiting, 0);
        }
        return Effect::gives(channel::OK);
    }
    let senders = values.value(channel.senders);
    access(slot, Mode::Read, state, state);
    access(channel.senders, Mode::Read, senders, senders);
    if senders == 0 {
        return Effect::gives(channel::DISCONNECTED);
    }
    Effect::gives(channel::NOT_NOW).when(!blocking)
}
