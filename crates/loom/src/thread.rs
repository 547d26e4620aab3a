//! Threads: as `std::thread`, but what they run and return need not be `Send`.

use std::fmt;
use std::io;

pub use raddle::thread::{AccessError, LocalKey, Thread, ThreadId};
pub use raddle::thread::{current, panicking, park, yield_now};

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
pub struct JoinHandle<T>(raddle::thread::JoinHandle<Carried<T>>);

impl<T> JoinHandle<T> {
    /// Waits for the thread to end. Returns what it returned, or what it panicked with.
    ///
    /// # Errors
    ///
    /// If the thread panicked.
    #[track_caller]
    pub fn join(self) -> std::thread::Result<T> {
        self.0.join().map(Carried::into_inner)
    }

    /// The thread.
    #[must_use]
    pub fn thread(&self) -> &Thread {
        self.0.thread()
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
    JoinHandle(raddle::thread::spawn(move || Carried(f.into_inner()())))
}

/// Starts threads with a name: as `std::thread::Builder`.
#[derive(Debug)]
pub struct Builder(raddle::thread::Builder);

impl Builder {
    /// No name.
    #[allow(clippy::new_without_default)]
    #[must_use]
    pub fn new() -> Self {
        Self(raddle::thread::Builder::new())
    }

    /// Names the thread.
    #[must_use]
    pub fn name(self, name: String) -> Self {
        Self(self.0.name(name))
    }

    /// How large its stack is at least, in words: loom counts so, unlike `std`.
    #[must_use]
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
        self.0.spawn(|| Carried(f())).map(JoinHandle)
    }
}
