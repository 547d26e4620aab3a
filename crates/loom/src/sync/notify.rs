//! [`Notify`].

use raddle::sync::{Condvar, Mutex, PoisonError};

/// A token that one thread waits for and others give.
#[derive(Debug, Default)]
pub struct Notify {
    state: Mutex<State>,
    given: Condvar,
}

#[derive(Debug, Default)]
struct State {
    token: bool,
    waiting: bool,
}

impl Notify {
    /// Without a token.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Gives the token.
    #[track_caller]
    pub fn notify(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.token = true;
        self.given.notify_one();
    }

    /// Waits for the token, and takes it.
    ///
    /// # Panics
    ///
    /// If another thread waits too.
    #[track_caller]
    pub fn wait(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        assert!(!state.waiting, "only a single thread may wait on `Notify`");
        state.waiting = true;
        while !state.token {
            state = self
                .given
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
        *state = State::default();
    }
}
