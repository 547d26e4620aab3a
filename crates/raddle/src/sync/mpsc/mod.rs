//! Channels: as `std::sync::mpsc`.
//!
//! ```
//! use raddle::sync::mpsc;
//!
//! raddle::check(|| {
//!     let (sender, receiver) = mpsc::channel();
//!     let child = raddle::thread::spawn(move || {
//!         sender.send(1).unwrap();
//!         sender.send(2).unwrap();
//!     });
//!     assert_eq!(receiver.iter().collect::<Vec<_>>(), [1, 2]);
//!     child.join().unwrap();
//! });
//! ```

mod slots;

use std::cell::{Cell, UnsafeCell};
use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

pub use std::sync::mpsc::{RecvError, RecvTimeoutError, SendError, TryRecvError, TrySendError};

use crate::rt::operation::{Operation, channel as outcome};
use crate::rt::poll_at;
use crate::rt::{self, Id, Misuse, Place, State, here};
use crate::thread::{in_time, times_out};

/// What both sides of a channel share.
struct Shared<T> {
    id: Id,
    capacity: Option<u32>,
    /// Where the channel was made: destructors have no place of their own.
    made: Place,
    /// The messages that were sent and not received, by their numbers.
    queue: UnsafeCell<BTreeMap<u32, T>>,
    /// The number of the next message to receive.
    head: Cell<u32>,
}

// SAFETY: the threads of an execution run one at a time, and the queue is never used across a step.
unsafe impl<T: Send> Sync for Shared<T> {}
// SAFETY: it owns the messages.
unsafe impl<T: Send> Send for Shared<T> {}

impl<T> Shared<T> {
    fn new(capacity: Option<u32>, made: Place) -> Arc<Self> {
        Arc::new(Self {
            id: Id::new(),
            capacity,
            made,
            queue: UnsafeCell::new(BTreeMap::new()),
            head: Cell::new(0),
        })
    }

    fn locate(&self, state: &mut State) -> Result<u32, Misuse> {
        state.locate_channel(&self.id, self.capacity)
    }

    #[allow(clippy::mut_from_ref)]
    fn queue(&self) -> &mut BTreeMap<u32, T> {
        // SAFETY: see `Sync`: the reference is gone before the next step.
        unsafe { &mut *self.queue.get() }
    }

    #[track_caller]
    fn send(&self, value: T, blocking: bool) -> Result<(), TrySendError<T>> {
        if rt::is_graph() {
            return self.send_in_graph(here(), value, blocking);
        }
        let mut channel = 0;
        let sent = rt::perform(|state| {
            channel = self.locate(state)?;
            Ok(Operation::Send { channel, blocking })
        });
        match sent {
            outcome::DISCONNECTED => return Err(TrySendError::Disconnected(value)),
            outcome::NOT_NOW => return Err(TrySendError::Full(value)),
            _ => {}
        }
        let message = rt::with(|state| state.last_message(channel));
        self.queue().insert(message, value);
        if self.capacity == Some(0) && blocking {
            let taken = rt::perform(|_| Ok(Operation::Taken { channel, message }));
            if taken != outcome::OK
                && let Some(value) = self.queue().remove(&message)
            {
                return Err(TrySendError::Disconnected(value));
            }
        }
        Ok(())
    }

    /// Adds to the number of senders.
    #[track_caller]
    fn count(&self, place: Place, add: u64) {
        if rt::try_current().is_none() {
            return;
        }
        rt::perform_at(place, |state| {
            let channel = self.locate(state)?;
            Ok(Operation::Count {
                at: state.objects.channels[channel as usize].senders,
                add,
            })
        });
    }
}

/// A channel without a limit.
#[must_use]
#[track_caller]
pub fn channel<T>() -> (Sender<T>, Receiver<T>) {
    let shared = Shared::new(None, here());
    (Sender(shared.clone()), Receiver::new(shared))
}

/// A channel for at most `bound` messages at a time. If that is 0, a sender waits for the receiver.
///
/// # Panics
///
/// If the bound is more than `u32::MAX`.
#[must_use]
#[track_caller]
pub fn sync_channel<T>(bound: usize) -> (SyncSender<T>, Receiver<T>) {
    let bound = u32::try_from(bound).expect("too large a bound");
    let shared = Shared::new(Some(bound), here());
    (SyncSender(shared.clone()), Receiver::new(shared))
}

/// Sends: as `std::sync::mpsc::Sender`.
pub struct Sender<T>(Arc<Shared<T>>);

impl<T> Sender<T> {
    /// Sends a message.
    ///
    /// # Errors
    ///
    /// If the receiver is gone.
    #[track_caller]
    pub fn send(&self, value: T) -> Result<(), SendError<T>> {
        self.0.send(value, true).map_err(SendError::from_try)
    }
}

/// Sends, and may wait: as `std::sync::mpsc::SyncSender`.
pub struct SyncSender<T>(Arc<Shared<T>>);

impl<T> SyncSender<T> {
    /// Sends a message, as soon as there is room for it.
    ///
    /// # Errors
    ///
    /// If the receiver is gone.
    #[track_caller]
    pub fn send(&self, value: T) -> Result<(), SendError<T>> {
        self.0.send(value, true).map_err(SendError::from_try)
    }

    /// Sends a message if there is room for it.
    ///
    /// # Errors
    ///
    /// If there is none, or if the receiver is gone.
    #[track_caller]
    pub fn try_send(&self, value: T) -> Result<(), TrySendError<T>> {
        self.0.send(value, false)
    }
}

trait FromTry<T> {
    fn from_try(error: TrySendError<T>) -> Self;
}

impl<T> FromTry<T> for SendError<T> {
    fn from_try(error: TrySendError<T>) -> Self {
        match error {
            TrySendError::Full(value) | TrySendError::Disconnected(value) => Self(value),
        }
    }
}

macro_rules! sender {
    ($($sender:ident)*) => {
        $(
            impl<T> Clone for $sender<T> {
                #[track_caller]
                fn clone(&self) -> Self {
                    self.0.count(here(), 1);
                    Self(self.0.clone())
                }
            }

            impl<T> Drop for $sender<T> {
                fn drop(&mut self) {
                    if rt::is_graph() {
                        self.0.drop_sender_in_graph(self.0.made);
                    } else {
                        self.0.count(self.0.made, 1u64.wrapping_neg());
                    }
                }
            }

            impl<T> fmt::Debug for $sender<T> {
                fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                    f.debug_struct(stringify!($sender)).finish_non_exhaustive()
                }
            }
        )*
    };
}

sender!(Sender SyncSender);

/// Receives: as `std::sync::mpsc::Receiver`.
pub struct Receiver<T> {
    shared: Arc<Shared<T>>,
    not_sync: PhantomData<Cell<()>>,
}

impl<T> Receiver<T> {
    fn new(shared: Arc<Shared<T>>) -> Self {
        Self {
            shared,
            not_sync: PhantomData,
        }
    }

    fn receive(&self, place: Place, blocking: bool) -> Result<T, TryRecvError> {
        let shared = &*self.shared;
        if rt::is_graph() {
            return shared.receive_in_graph(place, blocking);
        }
        if blocking && shared.capacity == Some(0) {
            rt::perform_at(place, |state| {
                let channel = shared.locate(state)?;
                Ok(Operation::Offer { channel })
            });
        }
        let received = rt::perform_at(place, |state| {
            Ok(Operation::Receive {
                channel: shared.locate(state)?,
                message: shared.head.get(),
                blocking,
            })
        });
        match received {
            outcome::OK => match shared.queue().pop_first() {
                Some((message, value)) => {
                    shared.head.set(message + 1);
                    Ok(value)
                }
                // Only in the destructor of a static.
                None => Err(TryRecvError::Disconnected),
            },
            outcome::DISCONNECTED => Err(TryRecvError::Disconnected),
            _ => Err(TryRecvError::Empty),
        }
    }

    /// Receives a message, as soon as there is one.
    ///
    /// # Errors
    ///
    /// If there is none and all senders are gone.
    #[track_caller]
    pub fn recv(&self) -> Result<T, RecvError> {
        self.receive(here(), true).map_err(|_| RecvError)
    }

    /// Receives a message if there is one.
    ///
    /// # Errors
    ///
    /// If there is none.
    #[track_caller]
    pub fn try_recv(&self) -> Result<T, TryRecvError> {
        self.receive(here(), false)
    }

    /// As [`recv`](Self::recv), but the time may pass first.
    ///
    /// # Errors
    ///
    /// If there is no message.
    #[track_caller]
    pub fn recv_timeout(&self, _timeout: Duration) -> Result<T, RecvTimeoutError> {
        let received = if times_out() {
            let received = self.receive(here(), false);
            if received.is_err() {
                // A loop around a wait that times out polls.
                poll_at(here());
            }
            received
        } else {
            let place = here();
            in_time(|| self.receive(place, true))
        };
        received.map_err(|error| match error {
            TryRecvError::Empty => RecvTimeoutError::Timeout,
            TryRecvError::Disconnected => RecvTimeoutError::Disconnected,
        })
    }

    /// The messages, as they come, until all senders are gone.
    pub fn iter(&self) -> Iter<'_, T> {
        Iter(self)
    }

    /// The messages that are there.
    pub fn try_iter(&self) -> TryIter<'_, T> {
        TryIter(self)
    }
}

impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        if rt::try_current().is_none() {
            return;
        }
        let shared = &*self.shared;
        if rt::is_graph() {
            shared.drop_receiver_in_graph(shared.made);
            return;
        }
        let mut dropped = None;
        rt::perform_at(shared.made, |state| {
            let channel = shared.locate(state)?;
            dropped = Some(channel);
            Ok(Operation::Store {
                at: state.objects.channels[channel as usize].receiver,
                value: 0,
                order: Ordering::Release,
            })
        });
        if let Some(channel) = dropped {
            rt::with(|state| state.finds_messages(channel));
        }
        // Without a buffer, those who wait with a message get it back.
        if shared.capacity != Some(0) {
            let messages = std::mem::take(shared.queue());
            drop(messages);
        }
    }
}

impl<T> fmt::Debug for Receiver<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Receiver").finish_non_exhaustive()
    }
}

/// See [`Receiver::iter`].
#[derive(Debug)]
pub struct Iter<'a, T>(&'a Receiver<T>);

impl<T> Iterator for Iter<'_, T> {
    type Item = T;

    #[track_caller]
    fn next(&mut self) -> Option<T> {
        self.0.recv().ok()
    }
}

/// See [`Receiver::try_iter`].
#[derive(Debug)]
pub struct TryIter<'a, T>(&'a Receiver<T>);

impl<T> Iterator for TryIter<'_, T> {
    type Item = T;

    #[track_caller]
    fn next(&mut self) -> Option<T> {
        self.0.try_recv().ok()
    }
}

/// The messages of a receiver, which it owns.
#[derive(Debug)]
pub struct IntoIter<T>(Receiver<T>);

impl<T> Iterator for IntoIter<T> {
    type Item = T;

    #[track_caller]
    fn next(&mut self) -> Option<T> {
        self.0.recv().ok()
    }
}

impl<T> IntoIterator for Receiver<T> {
    type Item = T;
    type IntoIter = IntoIter<T>;

    fn into_iter(self) -> IntoIter<T> {
        IntoIter(self)
    }
}

impl<'a, T> IntoIterator for &'a Receiver<T> {
    type Item = T;
    type IntoIter = Iter<'a, T>;

    fn into_iter(self) -> Iter<'a, T> {
        self.iter()
    }
}
