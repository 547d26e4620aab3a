//! Futures.

mod atomic_waker;

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;

pub use atomic_waker::AtomicWaker;

/// Runs a future on the current thread, which waits for its waker whenever the future does. In some executions, it polls the future once
/// more, although nobody has woken it.
#[track_caller]
pub fn block_on<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    let mut was_polled_for_no_reason = false;
    raddle::future::block_on(poll_fn(move |context| {
        loop {
            match future.as_mut().poll(context) {
                Poll::Pending if !was_polled_for_no_reason && raddle::any_bool() => {
                    was_polled_for_no_reason = true;
                }
                poll => return poll,
            }
        }
    }))
}
