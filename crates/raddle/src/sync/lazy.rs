//! [`LazyLock`].

use std::cell::Cell;
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::panic::{RefUnwindSafe, UnwindSafe};

use super::OnceLock;
use super::once::Once;
use crate::rt::{Home, Id, home};

/// A value that is made when it is first used: as `std::sync::LazyLock`.
///
/// ```
/// use raddle::sync::{LazyLock, Mutex};
///
/// static NAMES: LazyLock<Mutex<Vec<&str>>> = LazyLock::new(|| Mutex::new(vec!["a"]));
///
/// raddle::check(|| {
///     let child = raddle::thread::spawn(|| NAMES.lock().unwrap().push("b"));
///     child.join().unwrap();
///     assert_eq!(*NAMES.lock().unwrap(), ["a", "b"]);
/// });
/// ```
pub struct LazyLock<T, F = fn() -> T> {
    /// What was made.
    value: OnceLock<T>,
    /// Whether it was begun: it is poisoned if making the value panics.
    begun: Once,
    make: Cell<Option<F>>,
}

// SAFETY: the function is taken by who makes the value, while everybody else waits.
unsafe impl<T: Sync + Send, F: Send> Sync for LazyLock<T, F> {}
impl<T: RefUnwindSafe + UnwindSafe, F: UnwindSafe> RefUnwindSafe for LazyLock<T, F> {}
impl<T: UnwindSafe, F: UnwindSafe> UnwindSafe for LazyLock<T, F> {}

// SAFETY: the function is part of a constant, and the value is not there yet.
unsafe impl<T, F> Home for LazyLock<T, F> {
    fn id(&self) -> &Id {
        self.begun.id()
    }
}

impl<T, F: FnOnce() -> T> LazyLock<T, F> {
    /// A value that this function makes.
    pub const fn new(f: F) -> Self {
        Self {
            value: OnceLock::new(),
            begun: Once::new(),
            make: Cell::new(Some(f)),
        }
    }

    /// Makes the value, unless it is there.
    ///
    /// # Panics
    ///
    /// If making it panicked before.
    #[track_caller]
    pub fn force(this: &Self) -> &T {
        let this = home(this);
        this.begun.call_once(|| {
            if let Some(make) = this.make.take() {
                this.value.set_quietly(make());
            }
        });
        this.value.value_that_is_set()
    }
}

impl<T, F: FnOnce() -> T> LazyLock<T, F> {
    /// Makes the value, unless it is there. Nobody else has it.
    ///
    /// # Panics
    ///
    /// If making it panicked before.
    #[track_caller]
    pub fn force_mut(this: &mut Self) -> &mut T {
        Self::force(this);
        this.value.get_mut().expect("the value was just made")
    }
}

impl<T, F> LazyLock<T, F> {
    /// The value, if it was made.
    #[must_use]
    #[track_caller]
    pub fn get(this: &Self) -> Option<&T> {
        let this = home(this);
        this.begun
            .is_completed()
            .then(|| this.value.value_that_is_set())
    }

    /// The value, if it was made. Nobody else has it.
    #[must_use]
    pub fn get_mut(this: &mut Self) -> Option<&mut T> {
        this.value.get_mut()
    }
}

impl<T, F: FnOnce() -> T> DerefMut for LazyLock<T, F> {
    #[track_caller]
    fn deref_mut(&mut self) -> &mut T {
        Self::force_mut(self)
    }
}

impl<T, F: FnOnce() -> T> Deref for LazyLock<T, F> {
    type Target = T;

    #[track_caller]
    fn deref(&self) -> &T {
        Self::force(self)
    }
}

impl<T: Default> Default for LazyLock<T> {
    fn default() -> Self {
        Self::new(T::default)
    }
}

impl<T: fmt::Debug, F> fmt::Debug for LazyLock<T, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LazyLock").finish_non_exhaustive()
    }
}
