//! Channels where executions are graphs: each operation touches one location.
//!
//! A sender takes a *ticket*, the number of its message, and then puts the message in the *slot* of that number. The receiver waits for one slot after the other. Each
//! slot is written once, so all orders of sending and receiving that differ in nothing but that are one graph; tickets are ordered, as messages are.
//!
//! - *Room.* With a buffer for `n` messages, message `i` is put in its slot after message `i - n` was received. Without a buffer, the sender waits until its own message was
//!   received; who only tries to send does so if the receiver has *offered* to wait for a message with that number.
//! - *No more senders.* The last one says so in the next slot.
//! - *No receiver.* A mark in the number of messages tells those who want a ticket. Those who have one and wait for room are told there. All other messages are waited for, and
//!   dropped, as `std` does.

use std::sync::atomic::Ordering;

use raddle_schedule::LocationId;

use super::{Shared, TryRecvError, TrySendError};
use crate::rt::objects::OfMessage;
use crate::rt::operation::{Operation, Update, Width, channel as outcome};
use crate::rt::{self, Misuse, Place, State};

/// What a sender is told that wants to send now or not at all.
enum Ready {
    Full,
    Disconnected,
    Ticket(u32),
}

fn number(ticket: u64) -> u32 {
    u32::try_from(ticket & !outcome::GONE).expect("too many messages")
}

impl<T> Shared<T> {
    fn at(
        &self,
        place: Place,
        message: u32,
        what: OfMessage,
        make: impl FnOnce(LocationId) -> Operation,
    ) -> u64 {
        rt::perform_at(place, |state| {
            let channel = self.locate(state)?;
            Ok(make(state.objects.of_message(channel, message, what)))
        })
    }

    fn read(&self, place: Place, message: u32, what: OfMessage) -> u64 {
        let order = Ordering::Acquire;
        self.at(place, message, what, |at| Operation::Load { at, order })
    }

    fn wait(&self, place: Place, message: u32, what: OfMessage) -> u64 {
        self.at(place, message, what, |at| Operation::Await {
            at,
            least: 1,
            order: Ordering::Acquire,
        })
    }

    fn write(&self, place: Place, message: u32, what: OfMessage, value: u64) {
        self.at(place, message, what, |at| Operation::Store {
            at,
            value,
            order: Ordering::Release,
        });
    }

    fn tail(&self, state: &mut State) -> Result<LocationId, Misuse> {
        let channel = self.locate(state)?;
        Ok(state.objects.channels[channel as usize].tail)
    }

    /// How many tickets were taken, and whether the receiver is gone.
    fn tickets(&self, place: Place) -> u64 {
        rt::perform_at(place, |state| {
            Ok(Operation::Load {
                at: self.tail(state)?,
                order: Ordering::Relaxed,
            })
        })
    }

    fn ticket(&self, place: Place, limit: u64) -> u64 {
        rt::perform_at(place, |state| {
            Ok(Operation::Ticket {
                tail: self.tail(state)?,
                limit,
            })
        })
    }

    pub(super) fn send_in_graph(
        &self,
        place: Place,
        value: T,
        blocking: bool,
    ) -> Result<(), TrySendError<T>> {
        let message = if blocking {
            let ticket = self.ticket(place, outcome::GONE);
            if ticket & outcome::GONE != 0 {
                return Err(TrySendError::Disconnected(value));
            }
            number(ticket)
        } else {
            match self.ticket_now(place) {
                Ready::Full => return Err(TrySendError::Full(value)),
                Ready::Disconnected => return Err(TrySendError::Disconnected(value)),
                Ready::Ticket(message) => message,
            }
        };
        let before = self.capacity.filter(|&capacity| capacity > 0);
        if let Some(before) = before.and_then(|capacity| message.checked_sub(capacity))
            && self.wait(place, before, OfMessage::Room) == outcome::ABANDONED
        {
            return Err(TrySendError::Disconnected(value));
        }
        self.queue().insert(message, value);
        self.write(place, message, OfMessage::Slot, outcome::SENT);
        if self.capacity == Some(0)
            && blocking
            && self.wait(place, message, OfMessage::Room) == outcome::ABANDONED
            && let Some(value) = self.queue().remove(&message)
        {
            return Err(TrySendError::Disconnected(value));
        }
        Ok(())
    }

    /// A ticket, if there is room for its message.
    fn ticket_now(&self, place: Place) -> Ready {
        loop {
            let tickets = self.tickets(place);
            if tickets & outcome::GONE != 0 {
                return Ready::Disconnected;
            }
            let message = number(tickets);
            let room = match self.capacity {
                None => 1,
                Some(0) => self.read(place, message, OfMessage::Offer),
                Some(capacity) => match message.checked_sub(capacity) {
                    None => 1,
                    Some(before) => self.read(place, before, OfMessage::Room),
                },
            };
            match room {
                0 => return Ready::Full,
                outcome::ABANDONED => return Ready::Disconnected,
                _ => {}
            }
            let ticket = self.ticket(place, tickets + 1);
            if ticket & outcome::GONE != 0 {
                return Ready::Disconnected;
            }
            if ticket == tickets {
                return Ready::Ticket(message);
            }
            // Another sender was faster.
        }
    }

    pub(super) fn receive_in_graph(&self, place: Place, blocking: bool) -> Result<T, TryRecvError> {
        let message = self.head.get();
        let is_sent = if blocking {
            if self.capacity == Some(0) {
                self.write(place, message, OfMessage::Offer, 1);
            }
            self.wait(place, message, OfMessage::Slot)
        } else if number(self.tickets(place)) > message {
            // Who has the ticket is about to send. A later message may have been sent already.
            self.wait(place, message, OfMessage::Slot)
        } else {
            self.read(place, message, OfMessage::Slot)
        };
        match is_sent {
            0 => return Err(TryRecvError::Empty),
            outcome::LAST => return Err(TryRecvError::Disconnected),
            _ => {}
        }
        // It is empty only in the destructor of a static.
        let value = self.queue().remove(&message);
        let value = value.ok_or(TryRecvError::Disconnected)?;
        self.head.set(message + 1);
        if self.capacity.is_some() {
            self.write(place, message, OfMessage::Room, 1);
        }
        Ok(value)
    }

    /// A sender goes away.
    pub(super) fn drop_sender_in_graph(&self, place: Place) {
        let senders = rt::perform_at(place, |state| {
            let channel = self.locate(state)?;
            Ok(Operation::Update {
                at: state.objects.channels[channel as usize].senders,
                update: Update::Sub(Width(64)),
                operand: 1,
                order: Ordering::AcqRel,
            })
        });
        if senders == 1 {
            let tickets = self.tickets(place);
            self.write(place, number(tickets), OfMessage::Slot, outcome::LAST);
        }
    }

    /// The receiver goes away.
    pub(super) fn drop_receiver_in_graph(&self, place: Place) {
        let tickets = rt::perform_at(place, |state| {
            Ok(Operation::Update {
                at: self.tail(state)?,
                update: Update::Or,
                operand: outcome::GONE,
                order: Ordering::AcqRel,
            })
        });
        let (head, tickets) = (self.head.get(), number(tickets));
        let sent = match self.capacity {
            None => tickets,
            Some(capacity) => tickets.min(head.saturating_add(capacity)),
        };
        for message in sent..tickets {
            let before = message - self.capacity.unwrap_or(0);
            self.write(place, before, OfMessage::Room, outcome::ABANDONED);
        }
        for message in head..sent {
            self.wait(place, message, OfMessage::Slot);
            let dropped = self.queue().remove(&message);
            drop(dropped);
        }
    }
}
