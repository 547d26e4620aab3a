//! A channel whose receiver is a future: it leaves its waker when there is nothing to receive.
//!
//! The bug: the receiver looks for a message and leaves its waker in two steps. A message that is sent in
//! between wakes nobody, and the receiver sleeps for ever.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::task::{Context, Poll, Waker};

use raddle::sync::{Arc, Mutex};

#[derive(Default)]
struct State {
    messages: VecDeque<u32>,
    senders: usize,
    waker: Option<Waker>,
}

impl State {
    fn next(&mut self) -> Poll<Option<u32>> {
        match self.messages.pop_front() {
            Some(message) => Poll::Ready(Some(message)),
            None if self.senders == 0 => Poll::Ready(None),
            None => Poll::Pending,
        }
    }
}

/// The end that sends.
pub struct Sender(Arc<Mutex<State>>);

/// The end that receives. There is one.
pub struct Receiver<const BUGGY: bool>(Arc<Mutex<State>>);

/// A channel.
#[must_use]
pub fn channel<const BUGGY: bool>() -> (Sender, Receiver<BUGGY>) {
    let state = Arc::new(Mutex::new(State {
        senders: 1,
        ..State::default()
    }));
    (Sender(state.clone()), Receiver(state))
}

impl Sender {
    /// Sends a message.
    pub fn send(&self, message: u32) {
        self.change(|state| state.messages.push_back(message));
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        let mut state = self.0.lock().unwrap();
        change(&mut state);
        let waker = state.waker.take();
        drop(state);
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

impl Clone for Sender {
    fn clone(&self) -> Self {
        self.0.lock().unwrap().senders += 1;
        Self(self.0.clone())
    }
}

impl Drop for Sender {
    fn drop(&mut self) {
        self.change(|state| state.senders -= 1);
    }
}

impl<const BUGGY: bool> Receiver<BUGGY> {
    /// The next message, or `None` when there will be no more.
    pub async fn receive(&mut self) -> Option<u32> {
        poll_fn(|context| self.poll(context)).await
    }

    fn poll(&self, context: &Context<'_>) -> Poll<Option<u32>> {
        let mut state = self.0.lock().unwrap();
        let next = state.next();
        if next.is_pending() {
            if BUGGY {
                drop(state);
                state = self.0.lock().unwrap();
            }
            state.waker = Some(context.waker().clone());
        }
        next
    }
}
