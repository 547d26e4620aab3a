//! [`AtomicWaker`].

use std::task::Waker;

use raddle::sync::{Mutex, PoisonError};

/// Keeps the waker of one task.
#[derive(Debug, Default)]
pub struct AtomicWaker {
    waker: Mutex<Option<Waker>>,
}

impl AtomicWaker {
    /// Without a waker.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Keeps a waker, or wakes it if another thread is here.
    #[track_caller]
    pub fn register(&self, waker: Waker) {
        let Ok(mut place) = self.waker.try_lock() else {
            waker.wake();
            crate::thread::yield_now();
            return;
        };
        let old = place.replace(waker);
        drop(place);
        drop(old);
    }

    /// Keeps a clone of a waker.
    #[track_caller]
    pub fn register_by_ref(&self, waker: &Waker) {
        self.register(waker.clone());
    }

    /// Takes the waker and wakes it.
    #[track_caller]
    pub fn wake(&self) {
        if let Some(waker) = self.take_waker() {
            waker.wake();
        }
    }

    /// Takes the waker.
    #[track_caller]
    pub fn take_waker(&self) -> Option<Waker> {
        let mut place = self.waker.lock().unwrap_or_else(PoisonError::into_inner);
        place.take()
    }
}
