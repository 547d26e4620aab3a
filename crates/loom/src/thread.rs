//! Threads: as `std::thread`, but what they run and return need not be `Send`.

use std::fmt;
use std::io;

pub use raddle::thread::{AccessError, LocalKey, ThreadId};
pub use raddle::thread::{panicking, park, yield_now};

/// A thread: as `std::thread::Thread`, but the main thread of a model has no name.
#[derive(Clone, Debug)]
pub struct Thread(raddle::thread::Thread);

impl Thread {
    /// What tells it apart from others.
    pub fn id(&self) -> ThreadId {
        self.0.id()
    }

    /// Its name, if it was given one.
    pub fn name(&self) -> Option<&str> {
        self.0.given_name()
    }

    /// Gives it the token that [`park`] waits for.
    #[track_caller]
    pub fn unpark(&self) {
        self.0.unpark();
    }
}

/// The thread that is running.
#[track_caller]
pub fn current() -> Thread {
    Thread(raddle::thread::current())
}

/// What crosses threads although its type does not say that it may.
struct Carried<T>(T);

// SAFETY: the threads of an execution run one at a time, and loom's promise no more.
unsafe impl<T> Send for Carried<T> {}

impl<T> Carried<T> {
    fn into_inner(self) -> T {
        self.0
    }
}

/// A thread that can be joined: as `std::thread::JoinHandle`.
pub struct JoinHandle<T> {
    handle: raddle::thread::JoinHandle<Carried<T>>,
    thread: Thread,
}

impl<T> JoinHandle<T> {
    fn new(handle: raddle::thread::JoinHandle<Carried<T>>) -> Self {
        Self {
            thread: Thread(handle.thread().clone()),
            handle,
        }
    }

    /// Waits for the thread to end. Returns what it returned, or what it panicked with.
    ///
    /// # Errors
    ///
    /// If the thread panicked.
    #[track_caller]
    pub fn join(self) -> std::thread::Result<T> {
        self.handle.join().map(Carried::into_inner)
    }

    /// The thread.
    pub fn thread(&self) -> &Thread {
        &self.thread
    }
}

impl<T> fmt::Debug for JoinHandle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JoinHandle").finish_non_exhaustive()
    }
}

/// Starts a thread.
#[track_caller]
pub fn spawn<F, T>(f: F) -> JoinHandle<T>
where
    F: FnOnce() -> T + 'static,
    T: 'static,
{
    let f = Carried(f);
    JoinHandle::new(raddle::thread::spawn(move || Carried(f.into_inner()())))
}

/// Starts threads with a name: as `std::thread::Builder`.
#[derive(Debug)]
pub struct Builder(raddle::thread::Builder);

impl Builder {
    /// No name.
    #[allow(clippy::new_without_default)]
    pub fn new() -> Self {
        Self(raddle::thread::Builder::new())
    }

    /// Names the thread.
    pub fn name(self, name: String) -> Self {
        Self(self.0.name(name))
    }

    /// How large its stack is at least, in words: loom counts so, unlike `std`.
    pub fn stack_size(self, size: usize) -> Self {
        let bytes = size.saturating_mul(size_of::<usize>());
        Self(self.0.stack_size(bytes))
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
        self.0.spawn(|| Carried(f())).map(JoinHandle::new)
    }
}
