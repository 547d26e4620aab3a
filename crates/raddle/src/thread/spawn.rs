//! Starting and joining threads.

use std::fmt;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};

use super::Thread;
use crate::rt::{self, Counted, here, operation::Operation};

/// Where a thread leaves what it returns.
pub(super) struct Packet<T> {
    result: Mutex<Option<super::Result<T>>>,
    counted: Counted,
}

impl<T> Packet<T> {
    fn set(&self, result: super::Result<T>) {
        *self.result.lock().unwrap_or_else(PoisonError::into_inner) = Some(result);
        rt::with(|state| state.drop_reference(self.counted, false));
    }

    fn take(&self) -> Option<super::Result<T>> {
        let mut result = self.result.lock().unwrap_or_else(PoisonError::into_inner);
        result.take()
    }
}

impl<T> Drop for Packet<T> {
    /// If nobody has joined the thread, what it returned is dropped here. As in `std`, that comes after all that the thread has done with it.
    fn drop(&mut self) {
        if rt::try_current().is_some() {
            rt::with(|state| state.finds_only_reference(self.counted));
        }
    }
}

/// A thread that was started, and can be joined.
pub(super) struct Child<T> {
    pub(super) thread: Thread,
    packet: Arc<Packet<T>>,
}

impl<T> Child<T> {
    /// Starts a thread.
    ///
    /// # Safety
    ///
    /// What `body` and its result borrow must live until the thread has ended or was left behind.
    #[track_caller]
    pub(super) unsafe fn start(builder: Builder, body: impl FnOnce() -> T) -> Self {
        let place = here();
        let packet = Arc::new(Packet {
            result: Mutex::new(None),
            counted: rt::with(|state| state.add_handed_over(place)),
        });
        let theirs = packet.clone();
        let run = move || {
            let result = catch_unwind(AssertUnwindSafe(body));
            if result.is_err() {
                rt::with(|state| {
                    let current = state.current;
                    state.note_panic(current);
                });
            }
            theirs.set(result);
        };
        let run: Box<dyn FnOnce() + '_> = Box::new(run);
        // SAFETY: the caller promises that everything lives long enough.
        let run = unsafe { std::mem::transmute::<Box<dyn FnOnce() + '_>, Box<dyn FnOnce()>>(run) };
        let mut thread = None;
        rt::perform(|state| {
            let child = state.new_child();
            thread = Some(Thread::new(child, builder.name.as_deref()));
            let slot = state.thread_mut(child);
            slot.name = builder.name;
            slot.stack_size = builder.stack_size;
            slot.body = Some(run);
            Ok(Operation::Spawn { child })
        });
        Self {
            thread: thread.expect("a thread gets its name when it is announced"),
            packet,
        }
    }

    fn id(&self) -> raddle_schedule::ThreadId {
        self.thread.id().0
    }

    #[track_caller]
    pub(super) fn wait(&self) {
        let id = self.id();
        rt::perform(|state| {
            Ok(Operation::Join {
                end: state.end_of(id),
            })
        });
    }

    #[track_caller]
    pub(super) fn join(self) -> super::Result<T> {
        let id = self.id();
        self.wait();
        rt::with(|state| state.thread_mut(id).joined = true);
        // It is empty only if the destructor of a static joins a thread.
        self.packet
            .take()
            .unwrap_or_else(|| Err(Box::new("the execution is over")))
    }

    #[track_caller]
    pub(super) fn is_finished(&self) -> bool {
        let id = self.id();
        let ended = rt::perform(|state| {
            Ok(Operation::Load {
                at: state.end_of(id),
                // As in `std`: only joining it synchronises.
                order: std::sync::atomic::Ordering::Relaxed,
            })
        });
        ended != 0
    }
}

/// Whether the main thread has ended, as another thread sees it: a step, if it is another thread that asks.
#[doc(hidden)]
#[must_use]
#[track_caller]
pub fn main_has_ended() -> bool {
    let main = raddle_schedule::ThreadId::MAIN;
    if rt::try_current().is_none() || rt::with(|state| state.current == main) {
        return false;
    }
    let ended = rt::perform(|state| {
        Ok(Operation::Load {
            at: state.end_of(main),
            order: std::sync::atomic::Ordering::Acquire,
        })
    });
    ended == rt::ENDED
}

/// Starts a thread.
#[track_caller]
pub fn spawn<F, T>(f: F) -> JoinHandle<T>
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    // SAFETY: nothing is borrowed.
    JoinHandle(unsafe { Child::start(Builder::new(), f) })
}

/// A thread that can be joined: as `std::thread::JoinHandle`.
pub struct JoinHandle<T>(Child<T>);

impl<T> JoinHandle<T> {
    /// Waits for the thread to end. Returns what it returned, or what it panicked with.
    ///
    /// # Errors
    ///
    /// If the thread panicked.
    #[track_caller]
    pub fn join(self) -> super::Result<T> {
        self.0.join()
    }

    /// The thread.
    #[must_use]
    pub fn thread(&self) -> &Thread {
        &self.0.thread
    }

    /// Whether the thread has returned. As in `std`, the destructors of its thread-locals may still be running.
    #[must_use]
    #[track_caller]
    pub fn is_finished(&self) -> bool {
        self.0.is_finished()
    }
}

impl<T> fmt::Debug for JoinHandle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JoinHandle").finish_non_exhaustive()
    }
}

/// Starts threads with a name: as `std::thread::Builder`.
#[derive(Debug, Default)]
#[must_use]
pub struct Builder {
    name: Option<String>,
    stack_size: usize,
}

impl Builder {
    /// No name.
    pub fn new() -> Self {
        Self::default()
    }

    /// Names the thread.
    pub fn name(mut self, name: String) -> Self {
        self.name = Some(name);
        self
    }

    /// How large its stack is, in bytes, if it is not to be smaller than others: see `Checker::stack_size`.
    pub fn stack_size(mut self, size: usize) -> Self {
        self.stack_size = size;
        self
    }

    /// Starts the thread.
    ///
    /// # Errors
    ///
    /// Never.
    #[track_caller]
    pub fn spawn<F, T>(self, f: F) -> io::Result<JoinHandle<T>>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        // SAFETY: nothing is borrowed.
        Ok(JoinHandle(unsafe { Child::start(self, f) }))
    }

    /// Starts the thread, which may borrow what it likes.
    ///
    /// # Errors
    ///
    /// Never.
    ///
    /// # Safety
    ///
    /// As in `std`: what the thread borrows must live until it was joined.
    #[track_caller]
    pub unsafe fn spawn_unchecked<F, T>(self, f: F) -> io::Result<JoinHandle<T>>
    where
        F: FnOnce() -> T + Send,
        T: Send,
    {
        // SAFETY: the caller promises that everything lives long enough.
        Ok(JoinHandle(unsafe { Child::start(self, f) }))
    }
}
