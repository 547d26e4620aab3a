//! What a thread does next, as an operation of the memory model.
//!
//! The effect of an operation on its location is that of [`effect`](crate::rt::effect::effect), which makes the step; a test compares them.

use std::sync::atomic::Ordering;

use raddle_memory::{self as memory, Effect, Order, Target, Until};
use raddle_schedule::LocationId;

use crate::rt::effect::{ENDED, FINISHED, unlocked};
use crate::rt::operation::{Left, Operation, Update, Width, channel, count, once, rw, waiting};
use crate::rt::state::State;

/// What an operation is where executions are graphs.
#[derive(Clone, Copy, Debug)]
pub(super) enum Meaning {
    /// Nobody else notices it: it is made at once.
    Silent,
    Event(memory::Operation),
    /// The thread has stopped at an assumption.
    Infeasible,
}

pub(in crate::rt) fn order(order: Ordering) -> Order {
    match order {
        Ordering::Relaxed => Order::Relaxed,
        Ordering::Acquire => Order::Acquire,
        Ordering::Release => Order::Release,
        Ordering::AcqRel => Order::AcqRel,
        _ => Order::SeqCst,
    }
}

type Function = fn(u64, [u64; 2]) -> Effect;

fn update(order: Order, failure: Order, operands: [u64; 2], effect: Function) -> memory::Update {
    memory::Update {
        order,
        failure,
        effect,
        operands,
        waits: false,
    }
}

fn waiting(order: Order, operands: [u64; 2], effect: Function) -> memory::Update {
    memory::Update {
        waits: true,
        ..update(order, order, operands, effect)
    }
}

/// An update as a number, to be an operand.
fn code(update: Update) -> u64 {
    let (kind, width) = match update {
        Update::Swap => (0, 64),
        Update::Add(Width(width)) => (1, width),
        Update::Sub(Width(width)) => (2, width),
        Update::And => (3, 64),
        Update::Nand(Width(width)) => (4, width),
        Update::Or => (5, 64),
        Update::Xor => (6, 64),
        Update::Max => (7, 64),
        Update::Min => (8, 64),
        Update::SignedMax(Width(width)) => (9, width),
        Update::SignedMin(Width(width)) => (10, width),
    };
    kind << 8 | u64::from(width)
}

fn decoded(code: u64) -> Update {
    let width = Width(code as u8);
    match code >> 8 {
        0 => Update::Swap,
        1 => Update::Add(width),
        2 => Update::Sub(width),
        3 => Update::And,
        4 => Update::Nand(width),
        5 => Update::Or,
        6 => Update::Xor,
        7 => Update::Max,
        8 => Update::Min,
        9 => Update::SignedMax(width),
        _ => Update::SignedMin(width),
    }
}

/// The location of an operation that is an event on one.
pub(super) fn location(operation: &Operation) -> Option<LocationId> {
    Some(match *operation {
        Operation::Finish { end } | Operation::End { end } | Operation::Join { end } => end,
        Operation::Load { at, .. }
        | Operation::Store { at, .. }
        | Operation::Update { at, .. }
        | Operation::CompareExchange { at, .. }
        | Operation::Count { at, .. }
        | Operation::Await { at, .. } => at,
        Operation::Upgrade { count } | Operation::TakeOnly { count } => count,
        Operation::Lock { mutex }
        | Operation::TryLock { mutex }
        | Operation::Unlock { mutex, .. } => mutex,
        Operation::ReadLock { lock }
        | Operation::TryReadLock { lock }
        | Operation::ReadUnlock { lock }
        | Operation::WriteLock { lock }
        | Operation::TryWriteLock { lock }
        | Operation::WriteUnlock { lock, .. }
        | Operation::Downgrade { lock } => lock,
        Operation::Park { token } | Operation::Unpark { token } => token,
        Operation::OnceBegin { once, .. }
        | Operation::OnceFinish { once, .. }
        | Operation::OnceWait { once, .. } => once,
        Operation::Enlist { condvar, .. }
        | Operation::Notify { condvar, .. }
        | Operation::Pick { condvar, .. } => condvar,
        Operation::Ticket { tail, .. } => tail,
        _ => return None,
    })
}

fn unlock(left: Left) -> memory::Update {
    debug_assert_eq!(left, Left::Unchanged, "versions tell nothing in a graph");
    update(Order::Release, Order::Release, [0; 2], |read, _| {
        Effect::Write(unlocked(read, Left::Unchanged))
    })
}

/// An update whose effect needs nothing but the value, or one operand.
fn update_of(operation: &Operation) -> Option<memory::Update> {
    use Order::{Acquire, Relaxed, Release};
    Some(match *operation {
        Operation::Update {
            update: how,
            operand,
            order: asked,
            ..
        } => {
            let asked = order(asked);
            update(
                asked,
                asked,
                [operand, code(how)],
                |read, [operand, how]| Effect::Write(decoded(how).apply(read, operand)),
            )
        }
        Operation::CompareExchange {
            expected,
            new,
            success,
            failure,
            ..
        } => memory::Update::compare_exchange(order(success), order(failure), expected, new),
        // As in `std`: who makes a reference orders nothing, who drops one publishes what it has done.
        Operation::Count { add, .. } => {
            let order = match add.cast_signed() > 0 {
                true => Relaxed,
                false => Release,
            };
            update(order, order, [add, 0], |read, [add, _]| {
                Effect::Write(read.wrapping_add(add))
            })
        }
        Operation::Upgrade { .. } => update(Acquire, Relaxed, [0; 2], |read, _| {
            match read & count::STRONG {
                0 => Effect::Read,
                _ => Effect::Write(read + 1),
            }
        }),
        Operation::TakeOnly { .. } => update(Acquire, Relaxed, [0; 2], |read, _| {
            match read & count::STRONG {
                1 => Effect::Write(read - 1),
                _ => Effect::Read,
            }
        }),
        Operation::Lock { .. } => waiting(Acquire, [0; 2], |read, _| match read & 1 {
            0 => Effect::Write(read | 1),
            _ => Effect::Wait,
        }),
        Operation::TryLock { .. } => update(Acquire, Relaxed, [0; 2], |read, _| match read & 1 {
            0 => Effect::Write(read | 1),
            _ => Effect::Read,
        }),
        Operation::Unlock { left, .. } => unlock(left),
        Operation::ReadLock { .. } => waiting(Acquire, [0; 2], |read, _| match read & rw::WRITER {
            0 => Effect::Write(read + 1),
            _ => Effect::Wait,
        }),
        Operation::TryReadLock { .. } => update(Acquire, Relaxed, [0; 2], |read, _| {
            match read & rw::WRITER {
                0 => Effect::Write(read + 1),
                _ => Effect::Read,
            }
        }),
        Operation::ReadUnlock { .. } => update(Release, Release, [0; 2], |read, _| {
            Effect::Write(read.wrapping_sub(1))
        }),
        Operation::WriteLock { .. } => waiting(Acquire, [0; 2], |read, _| {
            match read & (rw::WRITER | rw::READERS) {
                0 => Effect::Write(read | rw::WRITER),
                _ => Effect::Wait,
            }
        }),
        Operation::TryWriteLock { .. } => update(Acquire, Relaxed, [0; 2], |read, _| {
            match read & (rw::WRITER | rw::READERS) {
                0 => Effect::Write(read | rw::WRITER),
                _ => Effect::Read,
            }
        }),
        Operation::WriteUnlock { left, .. } => {
            debug_assert_eq!(left, Left::Unchanged, "versions tell nothing in a graph");
            update(Release, Release, [0; 2], |read, _| {
                Effect::Write(read & !rw::WRITER)
            })
        }
        Operation::Downgrade { .. } => update(Release, Release, [0; 2], |read, _| {
            Effect::Write((read & !rw::WRITER).wrapping_add(rw::VERSION + 1))
        }),
        Operation::Park { .. } => waiting(Acquire, [0; 2], |read, _| match read {
            0 => Effect::Wait,
            _ => Effect::Write(0),
        }),
        Operation::Unpark { .. } => memory::Update::swap(Release, 1),
        Operation::OnceBegin { again, .. } => {
            waiting(Acquire, [again.into(), 0], |read, [again, _]| match read {
                once::RUNNING => Effect::Wait,
                once::NEW => Effect::Write(once::RUNNING),
                once::POISONED if again != 0 => Effect::Write(once::RUNNING),
                _ => Effect::Read,
            })
        }
        Operation::OnceFinish { state, .. } => memory::Update::swap(Release, state),
        Operation::OnceWait { again, .. } => {
            waiting(Acquire, [again.into(), 0], |read, [again, _]| match read {
                once::DONE => Effect::Read,
                once::POISONED if again == 0 => Effect::Read,
                _ => Effect::Wait,
            })
        }
        // Of waiting and notifying, only the mutex orders anything.
        Operation::Enlist { who, .. } => {
            memory::Update::write(Relaxed, |read, [who, _]| Effect::Write(read | who), who)
        }
        Operation::Notify { all, .. } => update(
            Relaxed,
            Relaxed,
            [all.into(), 0],
            |read, [all, _]| match waiting::are_taken(read, all != 0) {
                true => Effect::Write(0),
                false => Effect::Read,
            },
        ),
        Operation::Pick { who, .. } => update(Relaxed, Relaxed, [who, 0], |read, [who, _]| {
            match read & who {
                0 => Effect::Read,
                _ => Effect::Write(read & !who),
            }
        }),
        // As much as is needed for the messages of one sender, and of senders that know of each other, to come in order.
        Operation::Ticket { limit, .. } => {
            update(Relaxed, Relaxed, [limit, 0], |read, [limit, _]| {
                match read < limit && read & channel::GONE == 0 {
                    true => Effect::Write(read + 1),
                    false => Effect::Read,
                }
            })
        }
        _ => return None,
    })
}

/// The ordering of an operation that the code under test could not have given it: all, where it is made of others.
pub(in crate::rt) fn order_of(operation: &Operation) -> Order {
    match *operation {
        Operation::Finish { .. } | Operation::End { .. } => Order::Release,
        // In schedules they have versions, which those of graphs have not.
        Operation::Unlock { .. } | Operation::WriteUnlock { .. } => Order::Release,
        Operation::Join { .. } | Operation::JoinAll { .. } => Order::Acquire,
        Operation::Await { order: asked, .. } => order(asked),
        _ => update_of(operation).map_or(Order::AcqRel, |update| update.order),
    }
}

impl State {
    /// What an operation means for the graph.
    pub(super) fn meaning(&self, operation: &Operation) -> Meaning {
        let at = |location: LocationId| {
            let known = self.graph.as_ref().and_then(|graph| {
                let object = graph.objects.get(location.index())?;
                object.name.map(|name| (name, object.initial))
            });
            Target {
                location: known.map(|known| known.0),
                initial: known.map_or_else(|| self.objects.value(location), |known| known.1),
            }
        };
        let until = |location: LocationId, order: Order, least: u64| memory::Operation::Await {
            target: at(location),
            order,
            until: Until {
                holds: |value, least| value >= least,
                operand: least,
            },
        };
        let ends = |location: LocationId, value: u64| memory::Operation::Write {
            target: at(location),
            order: Order::Release,
            value,
        };
        if let (Some(update), Some(location)) = (update_of(operation), location(operation)) {
            return Meaning::Event(memory::Operation::Update {
                target: at(location),
                update,
            });
        }
        Meaning::Event(match *operation {
            Operation::Begin | Operation::Resume => return Meaning::Silent,
            Operation::Stop => return Meaning::Infeasible,
            Operation::Finish { end } => ends(end, FINISHED),
            Operation::End { end } => ends(end, ENDED),
            Operation::Join { end } => until(end, Order::Acquire, ENDED),
            Operation::Spawn { child } => memory::Operation::Spawn { child },
            Operation::Choose { alternatives, .. } => memory::Operation::Choose { alternatives },
            Operation::Load {
                at: location,
                order: asked,
            } => memory::Operation::Read {
                target: at(location),
                order: order(asked),
            },
            Operation::Store {
                at: location,
                value,
                order: asked,
            } => memory::Operation::Write {
                target: at(location),
                order: order(asked),
                value,
            },
            Operation::Fence { order: asked } => memory::Operation::Fence {
                order: order(asked),
            },
            Operation::Await {
                at: location,
                least,
                order: asked,
            } => until(location, order(asked), least),
            _ => unreachable!("{operation:?} is made of others where executions are graphs"),
        })
    }
}

#[cfg(test)]
mod tests {
    use raddle_schedule::Mode;

    use super::*;
    use crate::rt::effect::{self, Values};
    use crate::rt::objects::Channel;

    /// One value everywhere.
    struct All(u64);

    impl Values for All {
        fn value(&self, _: LocationId) -> u64 {
            self.0
        }

        fn channel(&self, _: u32) -> &Channel {
            unreachable!("no channels are asked for")
        }

        fn group(&self, _: u32) -> &[LocationId] {
            unreachable!("no groups are asked for")
        }
    }

    fn updates() -> Vec<Operation> {
        let at = LocationId(0);
        let order = Ordering::SeqCst;
        let width = Width(8);
        let kinds = [
            Update::Swap,
            Update::Add(width),
            Update::Sub(width),
            Update::And,
            Update::Nand(width),
            Update::Or,
            Update::Xor,
            Update::Max,
            Update::Min,
            Update::SignedMax(width),
            Update::SignedMin(width),
        ];
        let mut all: Vec<Operation> = kinds
            .into_iter()
            .flat_map(|update| {
                [0, 1, 7, 200].map(|operand| Operation::Update {
                    at,
                    update,
                    operand,
                    order,
                })
            })
            .collect();
        let left = Left::Unchanged;
        all.extend([
            Operation::CompareExchange {
                at,
                expected: 1,
                new: 9,
                success: order,
                failure: order,
            },
            Operation::Count { at, add: 1 },
            Operation::Count {
                at,
                add: 1u64.wrapping_neg(),
            },
            Operation::Upgrade { count: at },
            Operation::TakeOnly { count: at },
            Operation::Lock { mutex: at },
            Operation::TryLock { mutex: at },
            Operation::Unlock { mutex: at, left },
            Operation::ReadLock { lock: at },
            Operation::TryReadLock { lock: at },
            Operation::ReadUnlock { lock: at },
            Operation::WriteLock { lock: at },
            Operation::TryWriteLock { lock: at },
            Operation::WriteUnlock { lock: at, left },
            Operation::Downgrade { lock: at },
            Operation::Park { token: at },
            Operation::Unpark { token: at },
            Operation::OnceBegin {
                once: at,
                again: true,
            },
            Operation::OnceBegin {
                once: at,
                again: false,
            },
            Operation::OnceFinish { once: at, state: 2 },
            Operation::OnceWait {
                once: at,
                again: true,
            },
            Operation::OnceWait {
                once: at,
                again: false,
            },
            Operation::Enlist {
                condvar: at,
                who: 4,
            },
            Operation::Notify {
                condvar: at,
                all: true,
            },
            Operation::Notify {
                condvar: at,
                all: false,
            },
            Operation::Pick {
                condvar: at,
                who: 1,
            },
            Operation::Ticket { tail: at, limit: 2 },
        ]);
        all
    }

    /// The graph knows what a step does before it is made, by functions of its own.
    #[test]
    fn the_graph_and_the_runtime_agree_on_what_operations_do() {
        let values = [
            0,
            1,
            2,
            3,
            4,
            5,
            200,
            255,
            rw::WRITER,
            rw::WRITER | 2,
            rw::VERSION | 1,
            count::WEAK,
            count::WEAK | 1,
            3 << 62,
            channel::GONE | 1,
        ];
        for operation in updates() {
            let update = update_of(&operation).expect("an update");
            for value in values {
                let mut left = (value, Mode::Read);
                let made = effect::effect(&operation, &All(value), &mut |access| {
                    left = (access.after, access.mode);
                });
                let expected = match (made.enabled, left.1) {
                    (false, _) => Effect::Wait,
                    (true, Mode::Read) => Effect::Read,
                    (true, _) => Effect::Write(left.0),
                };
                assert_eq!(update.effect(value), expected, "{operation:?} of {value}");
                assert!(update.waits || expected != Effect::Wait, "{operation:?}");
            }
        }
    }
}
