//! [`Thread`]: what names a thread.

use std::fmt;

use crate::rt::{self, operation::Operation};

/// What tells threads of an execution apart: as `std::thread::ThreadId`.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct ThreadId(pub(crate) raddle_schedule::ThreadId);

impl fmt::Debug for ThreadId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ThreadId({})", self.0.0)
    }
}

/// A thread of an execution: as `std::thread::Thread`.
#[derive(Clone)]
pub struct Thread {
    id: ThreadId,
    name: Option<std::sync::Arc<str>>,
}

impl Thread {
    pub(crate) fn new(id: raddle_schedule::ThreadId, name: Option<&str>) -> Self {
        Self {
            id: ThreadId(id),
            name: name.map(Into::into),
        }
    }

    /// What tells it apart from others.
    pub fn id(&self) -> ThreadId {
        self.id
    }

    /// The name that it was given. Unlike [`name`](Self::name), the main thread has none.
    #[doc(hidden)]
    #[must_use]
    pub fn given_name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// Its name, if it was given one.
    pub fn name(&self) -> Option<&str> {
        match &self.name {
            Some(name) => Some(name),
            None if self.id.0 == raddle_schedule::ThreadId::MAIN => Some("main"),
            None => None,
        }
    }

    /// Gives it the token that [`park`](super::park) waits for.
    #[track_caller]
    pub fn unpark(&self) {
        rt::perform(|state| {
            let token = state.token_of(self.id.0);
            Ok(Operation::Unpark { token })
        });
    }
}

impl fmt::Debug for Thread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Thread")
            .field("id", &self.id())
            .field("name", &self.name())
            .finish_non_exhaustive()
    }
}

/// The thread that is running.
#[track_caller]
pub fn current() -> Thread {
    rt::depends_on_thread();
    rt::with(|state| {
        let id = state.current;
        Thread::new(id, state.thread(id).name.as_deref())
    })
}
