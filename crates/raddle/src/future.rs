//! Futures: as `std::future`, and ways to run them.

use std::fmt;
pub use std::future::{Future, IntoFuture, Pending, PollFn, Ready, pending, poll_fn, ready};
use std::pin::{Pin, pin};
use std::sync::{Arc, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

use raddle_schedule::LocationId;

use crate::rt::operation::Operation;
use crate::rt::{self, Id, Kind, Misuse, State, here, poll_at};
use crate::sync::Mutex;
use crate::thread;

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
        // A future that wakes itself is polled again and again.
        poll_at(place);
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
    fn locate(&self, state: &mut State) -> Result<LocationId, Misuse> {
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

/// Runs a future beside others, on a thread of its own. What it returns is a future too.
///
/// So tasks run as an executor with many threads may run them: in any order, and at the same time.
///
/// ```
/// use raddle::future;
///
/// raddle::check(|| {
///     let six = future::spawn(async { 6 });
///     let seven = future::spawn(async { 7 });
///     let product = future::block_on(async { six.await.unwrap() * seven.await.unwrap() });
///     assert_eq!(product, 42);
/// });
/// ```
#[track_caller]
pub fn spawn<F>(future: F) -> JoinHandle<F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    let end = Arc::new(Mutex::new(End::Ahead(None)));
    let theirs = Ending(end.clone());
    let thread = thread::spawn(move || {
        let _ending = theirs;
        block_on(future)
    });
    JoinHandle {
        thread: Some(thread),
        end,
    }
}

/// Whether a task has ended.
enum End {
    /// It has not. Who waits for it has left this waker.
    Ahead(Option<Waker>),
    Reached,
}

/// Says that a task has ended, also when it panics.
struct Ending(Arc<Mutex<End>>);

impl Drop for Ending {
    fn drop(&mut self) {
        let mut end = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let before = std::mem::replace(&mut *end, End::Reached);
        drop(end);
        if let End::Ahead(Some(waker)) = before {
            waker.wake();
        }
    }
}

/// A future that [`spawn`] runs: is ready when that has ended. If it is dropped, the task goes on.
pub struct JoinHandle<T> {
    /// Is taken when the task has ended.
    thread: Option<thread::JoinHandle<T>>,
    end: Arc<Mutex<End>>,
}

impl<T> JoinHandle<T> {
    /// Whether the task has ended.
    #[must_use]
    #[track_caller]
    pub fn is_finished(&self) -> bool {
        self.thread
            .as_ref()
            .is_none_or(thread::JoinHandle::is_finished)
    }
}

impl<T> Future for JoinHandle<T> {
    /// What the task returns, or what it panicked with.
    type Output = thread::Result<T>;

    #[track_caller]
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        {
            let mut end = self.end.lock().unwrap_or_else(PoisonError::into_inner);
            if let End::Ahead(waker) = &mut *end {
                *waker = Some(context.waker().clone());
                return Poll::Pending;
            }
        }
        let thread = self.thread.take();
        // The thread has nothing left to do but to end.
        Poll::Ready(
            thread
                .expect("a future is not polled again when it is ready")
                .join(),
        )
    }
}

impl<T> Unpin for JoinHandle<T> {}

impl<T> fmt::Debug for JoinHandle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JoinHandle").finish_non_exhaustive()
    }
}
