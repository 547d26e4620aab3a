//! Futures: a way to run one.

pub use std::future::{Future, IntoFuture, Pending, PollFn, Ready, pending, poll_fn, ready};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

use raddle_schedule::Location;

use crate::rt::operation::Operation;
use crate::rt::{self, Id, Kind, Misuse, State, here};

/// Runs a future on the current thread, which waits for its waker whenever the future does.
///
/// ```
/// raddle::check(|| {
///     assert_eq!(raddle::future::block_on(async { 6 * 7 }), 42);
/// });
/// ```
#[track_caller]
pub fn block_on<F: Future>(future: F) -> F::Output {
    let place = here();
    let token = Arc::new(Token { id: Id::new() });
    let waker = Waker::from(token.clone());
    let mut context = Context::from_waker(&waker);
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut context) {
            return output;
        }
        rt::perform_at(place, |state| {
            Ok(Operation::Park {
                token: token.locate(state)?,
            })
        });
    }
}

/// What a waker gives and [`block_on`] waits for.
struct Token {
    id: Id,
}

impl Token {
    fn locate(&self, state: &mut State) -> Result<Location, Misuse> {
        state.locate(&self.id, Kind::Waker, || 0)
    }
}

impl Wake for Token {
    #[track_caller]
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    #[track_caller]
    fn wake_by_ref(self: &Arc<Self>) {
        rt::perform(|state| {
            Ok(Operation::Unpark {
                token: self.locate(state)?,
            })
        });
    }
}
