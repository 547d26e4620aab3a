//! What the operations are called that others consist of where executions are graphs.
//!
//! Waiting on a condition variable, sending and receiving, barriers and scopes are reads and writes of locations that nobody has heard of who writes a program. What
//! each of them is there for follows from the operation, its location and what it has found.

use std::sync::atomic::Ordering;

use raddle_schedule::{LocationId, ThreadId};

use crate::rt::effect::FINISHED;
use crate::rt::objects::{Kind, OfMessage};
use crate::rt::operation::{Operation, Update, channel, count, waiting};
use crate::rt::state::{Made, State};

/// ` (relaxed)`; nothing for the strongest one.
fn ordering(order: Ordering) -> &'static str {
    match order {
        Ordering::Relaxed => " (relaxed)",
        Ordering::Acquire => " (acquire)",
        Ordering::Release => " (release)",
        Ordering::AcqRel => " (acq_rel)",
        _ => "",
    }
}

/// The references that a count is of, in words.
fn references(value: u64) -> String {
    let (strong, weak) = (value & count::STRONG, value / count::WEAK);
    let noun = if strong == 1 {
        "reference"
    } else {
        "references"
    };
    match weak {
        0 => format!("{strong} {noun}"),
        _ => format!("{strong} {noun}, {weak} weak"),
    }
}

impl State {
    /// A step in words, if executions that are no graphs have no such step, or do not show what matters of it.
    pub(in crate::rt) fn action_in_graph(&self, made: &Made) -> Option<String> {
        let name = |at| self.objects.name(at);
        Some(match made.operation {
            Operation::Load { at, order } => self.load(at, order, made.result)?,
            Operation::Store { at, value, order } => match self.objects.kind(at) {
                Kind::Atomic => format!("writes {value} to {}{}", name(at), ordering(order)),
                _ => self.store(at, value)?,
            },
            Operation::Update {
                at,
                update,
                operand,
                order,
            } => match self.objects.kind(at) {
                Kind::Atomic => format!("updates {}{}", name(at), ordering(order)),
                _ => self.update(at, update, operand, made.result)?,
            },
            Operation::CompareExchange {
                at,
                expected,
                success,
                failure,
                ..
            } => match made.result == expected {
                true => format!("exchanges {}{}", name(at), ordering(success)),
                false => format!(
                    "finds {} = {}, not {expected}{}",
                    name(at),
                    made.result,
                    ordering(failure)
                ),
            },
            Operation::Count { at, add } if self.objects.kind(at) == Kind::Count => {
                let verb = if add.cast_signed() > 0 {
                    "makes"
                } else {
                    "drops"
                };
                let weak = if add & count::STRONG == 0 {
                    "weak "
                } else {
                    ""
                };
                format!("{verb} a {weak}reference of {}", name(at))
            }
            Operation::Count { at, .. } if self.objects.kind(at) == Kind::Senders => {
                format!("clones the sender of {}", self.channel_of(at))
            }
            Operation::Fence { order } => format!("passes a fence{}", ordering(order)),
            Operation::Await { at, .. } => self.waited(at, made.result)?,
            Operation::Notify { condvar, all } => {
                let (name, found) = (name(condvar), made.result);
                let verb = if all {
                    "notifies all of"
                } else {
                    "notifies one of"
                };
                match found {
                    0 => format!("{verb} {name}: nobody waits"),
                    _ if waiting::are_taken(found, all) => {
                        format!("{verb} {name}: {}", self.who(found))
                    }
                    _ => format!("{verb} {name}: one of {}", self.who(found)),
                }
            }
            Operation::Pick { condvar, who } => {
                let name = name(condvar);
                match made.result & who {
                    0 => format!("finds that {} no longer waits on {name}", self.who(who)),
                    _ => format!("notifies {} of {name}", self.who(who)),
                }
            }
            Operation::Enlist { condvar, .. } => format!("waits on {}", name(condvar)),
            Operation::Ticket { tail, limit } => {
                let (channel, found) = (name(tail), made.result);
                match found {
                    _ if found & channel::GONE != 0 => {
                        format!("finds that {channel} has no receiver")
                    }
                    _ if found >= limit => {
                        format!("finds number {limit} on {channel} taken")
                    }
                    _ => format!("takes number {} on {channel}", found + 1),
                }
            }
            _ => return None,
        })
    }

    fn load(&self, at: LocationId, order: Ordering, found: u64) -> Option<String> {
        let name = self.objects.name(at);
        if let Some((channel, message, what)) = self.message_at(at) {
            let message = message + 1;
            return Some(match (what, found) {
                (_, channel::LAST) if what == OfMessage::Slot => {
                    format!("finds that {channel} has no senders")
                }
                (OfMessage::Slot, 0) => format!("finds no message {message} of {channel}"),
                (OfMessage::Slot, _) => format!("receives message {message} of {channel}"),
                (OfMessage::Offer, 0) => format!("finds that nobody waits for {channel}"),
                (OfMessage::Offer, _) => format!("finds that the receiver waits for {channel}"),
                (OfMessage::Room, 0) => format!("finds no room in {channel}"),
                (OfMessage::Room, channel::ABANDONED) => {
                    format!("finds that {channel} has no receiver")
                }
                (OfMessage::Room, _) => format!("finds room in {channel}"),
            });
        }
        Some(match self.objects.kind(at) {
            Kind::Atomic => format!("reads {name} = {found}{}", ordering(order)),
            Kind::Channel => match found & channel::GONE {
                0 => format!("looks at {name}: {found} sent"),
                _ => format!("finds that {name} has no receiver"),
            },
            Kind::Count => format!("reads {name}: {}", references(found)),
            Kind::Mutex | Kind::RwLock => format!("looks whether {name} is poisoned"),
            _ => return None,
        })
    }

    fn store(&self, at: LocationId, value: u64) -> Option<String> {
        if let Some((channel, message, what)) = self.message_at(at) {
            let message = message + 1;
            return Some(match (what, value) {
                (OfMessage::Slot, channel::LAST) => {
                    format!("says that {channel} has no senders")
                }
                (OfMessage::Slot, _) => format!("sends message {message} of {channel}"),
                (OfMessage::Offer, _) => format!("waits for a message of {channel}"),
                (OfMessage::Room, channel::ABANDONED) => {
                    format!("says that {channel} has no receiver")
                }
                (OfMessage::Room, _) if self.is_rendezvous(at) => {
                    format!("says that message {message} of {channel} was received")
                }
                (OfMessage::Room, _) => format!("makes room in {channel}"),
            });
        }
        match self.objects.kind(at) {
            Kind::Gathering => Some(format!("lets the others pass {}", self.barrier_of(at)?)),
            Kind::Notification => Some(format!("wakes {}", self.name_of(self.waiter_of(at)?))),
            _ => None,
        }
    }

    fn update(&self, at: LocationId, update: Update, operand: u64, found: u64) -> Option<String> {
        let name = self.objects.name(at);
        Some(match (self.objects.kind(at), update) {
            (Kind::Barrier, _) => format!("arrives at {name}, as number {}", found + 1),
            (Kind::Senders, _) => match found.wrapping_sub(operand) {
                0 => format!("drops the last sender of {}", self.channel_of(at)),
                left => format!("drops a sender of {}: {left} left", self.channel_of(at)),
            },
            (Kind::Channel, _) => format!("drops the receiver of {name}"),
            (Kind::Mutex | Kind::RwLock, Update::Or) => format!("poisons {name}"),
            (Kind::Mutex | Kind::RwLock, Update::And) => format!("clears the poison of {name}"),
            _ => return None,
        })
    }

    /// What a thread has waited for.
    fn waited(&self, at: LocationId, found: u64) -> Option<String> {
        if let Some((channel, message, what)) = self.message_at(at) {
            let message = message + 1;
            return Some(match (what, found) {
                (OfMessage::Slot, channel::LAST) => format!("finds that {channel} has no senders"),
                (OfMessage::Slot, _) => format!("receives message {message} of {channel}"),
                (OfMessage::Room, channel::ABANDONED) => {
                    format!("finds that {channel} has no receiver")
                }
                (OfMessage::Room, _) if self.is_rendezvous(at) => {
                    format!("finds that message {message} of {channel} was received")
                }
                (OfMessage::Room, _) => format!("finds room in {channel}"),
                (OfMessage::Offer, _) => return None,
            });
        }
        Some(match self.objects.kind(at) {
            Kind::End if found == FINISHED => {
                format!("finds that {} has returned", self.owner_of(at))
            }
            Kind::End => format!("joins {}", self.owner_of(at)),
            Kind::Gathering => format!("passes {}", self.barrier_of(at)?),
            Kind::Notification => "was notified".into(),
            _ => return None,
        })
    }

    /// What a thread waits for that cannot make this.
    pub(in crate::rt) fn what_for_in_graph(
        &self,
        id: ThreadId,
        operation: &Operation,
    ) -> Option<String> {
        let Operation::Await { at, .. } = *operation else {
            return None;
        };
        if let Some((channel, message, what)) = self.message_at(at) {
            return Some(match what {
                OfMessage::Room if self.is_rendezvous(at) => {
                    format!("waits for the receiver of {channel}")
                }
                OfMessage::Room => format!("waits for room in {channel}"),
                _ => format!("waits for message {} of {channel}", message + 1),
            });
        }
        match self.objects.kind(at) {
            Kind::Gathering => Some(format!("waits for others at {}", self.barrier_of(at)?)),
            Kind::Notification => {
                let mut made = self.made.iter().rev();
                let condvar = made.find_map(|made| match made.operation {
                    Operation::Enlist { condvar, .. } if made.thread == id => Some(condvar),
                    _ => None,
                });
                Some(format!(
                    "waits for a notification of {}",
                    self.objects.name(condvar?)
                ))
            }
            _ => None,
        }
    }

    /// Threads by their bits.
    fn who(&self, bits: u64) -> String {
        let ids = (0..u64::BITS).filter(|bit| bits >> bit & 1 != 0);
        let names: Vec<String> = ids.map(|id| self.name_of(ThreadId(id))).collect();
        names.join(", ")
    }

    /// The thread that waits for a notification.
    fn waiter_of(&self, at: LocationId) -> Option<ThreadId> {
        let waits = |made: &&Made| matches!(made.operation, Operation::Await { at: other, .. } if other == at);
        let made = self.made.iter().find(waits).map(|made| made.thread);
        made.or_else(|| {
            let mut threads = self.started.iter().copied();
            threads.find(|&id| self.thread(id).notification == Some(at))
        })
    }

    /// The channel whose count of senders a location is.
    fn channel_of(&self, senders: LocationId) -> String {
        let mut channels = self.objects.channels.iter();
        let channel = channels.find(|channel| channel.senders == senders);
        self.objects
            .name(channel.map_or(senders, |channel| channel.tail))
    }

    /// The channel that a location of a message belongs to, the number of the message, and what the location is for.
    fn message_at(&self, at: LocationId) -> Option<(String, usize, OfMessage)> {
        let (channel, message, what) = self.objects.message_at(at)?;
        Some((self.objects.name(channel.tail), message, what))
    }

    fn is_rendezvous(&self, at: LocationId) -> bool {
        let channel = self.objects.message_at(at).map(|found| found.0);
        channel.is_some_and(|channel| channel.capacity == Some(0))
    }

    fn barrier_of(&self, gathering: LocationId) -> Option<String> {
        Some(self.objects.name(self.barriers.of_gathering(gathering)?))
    }
}
