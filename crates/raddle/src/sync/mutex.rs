//! [`Mutex`].

use std::cell::UnsafeCell;
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{LockResult, PoisonError, TryLockError, TryLockResult};

use raddle_schedule::LocationId;

use super::changes::Changes;
use crate::rt::operation::{Left, Operation, Update, Width, mx};
use crate::rt::{self, Home, Id, Kind, Misuse, Place, State, here, home};

/// A lock: as `std::sync::Mutex`.
///
/// ```
/// static TOTAL: raddle::sync::Mutex<u32> = raddle::sync::Mutex::new(0);
///
/// raddle::check(|| {
///     let child = raddle::thread::spawn(|| *TOTAL.lock().unwrap() += 1);
///     *TOTAL.lock().unwrap() += 2;
///     child.join().unwrap();
///     assert_eq!(*TOTAL.lock().unwrap(), 3);
/// });
/// ```
pub struct Mutex<T: ?Sized> {
    id: Id,
    poisoned: AtomicBool,
    data: UnsafeCell<T>,
}

// SAFETY: only who holds the lock gets at the data; the runtime sees to it that this is one thread.
unsafe impl<T: ?Sized + Send> Send for Mutex<T> {}
// SAFETY: the same.
unsafe impl<T: ?Sized + Send> Sync for Mutex<T> {}
impl<T: ?Sized> UnwindSafe for Mutex<T> {}
impl<T: ?Sized> RefUnwindSafe for Mutex<T> {}

// SAFETY: its bits can be copied like those of everything that a constant is made of.
unsafe impl<T: ?Sized> Home for Mutex<T> {
    fn id(&self) -> &Id {
        &self.id
    }
}

impl<T> Mutex<T> {
    /// A lock that nobody holds.
    pub const fn new(value: T) -> Self {
        Self {
            id: Id::new(),
            poisoned: AtomicBool::new(false),
            data: UnsafeCell::new(value),
        }
    }

    /// What it protects.
    ///
    /// # Errors
    ///
    /// If a thread panicked while it held the lock.
    pub fn into_inner(self) -> LockResult<T> {
        let poisoned = self.poisoned.into_inner();
        checked(self.data.into_inner(), poisoned)
    }
}

pub(super) fn checked<G>(guard: G, poisoned: bool) -> LockResult<G> {
    if poisoned {
        Err(PoisonError::new(guard))
    } else {
        Ok(guard)
    }
}

impl<T: ?Sized> Mutex<T> {
    pub(super) fn locate(&self, state: &mut State) -> Result<LocationId, Misuse> {
        state.locate(&self.id, Kind::Mutex, || 0)
    }

    /// Waits until the lock is free, and takes it.
    ///
    /// # Errors
    ///
    /// If a thread panicked while it held the lock.
    #[track_caller]
    pub fn lock(&self) -> LockResult<MutexGuard<'_, T>> {
        let this = home(self);
        this.lock_at(here());
        this.guard(here())
    }

    pub(super) fn lock_at(&self, place: Place) {
        rt::perform_at(place, |state| {
            Ok(Operation::Lock {
                mutex: self.locate(state)?,
            })
        });
    }

    /// Takes the lock if it is free.
    ///
    /// # Errors
    ///
    /// If it is not free, or if a thread panicked while it held the lock.
    #[track_caller]
    pub fn try_lock(&self) -> TryLockResult<MutexGuard<'_, T>> {
        let this = home(self);
        let taken = rt::perform(|state| {
            Ok(Operation::TryLock {
                mutex: this.locate(state)?,
            })
        });
        if taken == 0 {
            return Err(TryLockError::WouldBlock);
        }
        Ok(this.guard(here())?)
    }

    /// The lock is held by the current thread.
    pub(super) fn guard(&self, place: Place) -> LockResult<MutexGuard<'_, T>> {
        let guard = MutexGuard {
            mutex: self,
            place,
            was_panicking: std::thread::panicking(),
            changes: Changes::default(),
            not_send: PhantomData,
        };
        checked(guard, self.poisoned.load(Ordering::Relaxed))
    }

    /// Whether a thread panicked while it held the lock.
    #[track_caller]
    pub fn is_poisoned(&self) -> bool {
        let this = home(self);
        let value = rt::perform(|state| {
            Ok(Operation::Load {
                at: this.locate(state)?,
                order: Ordering::Relaxed,
            })
        });
        match rt::is_graph() {
            true => value & mx::POISONED != 0,
            false => this.poisoned.load(Ordering::Relaxed),
        }
    }

    /// Forgets that a thread panicked.
    #[track_caller]
    pub fn clear_poison(&self) {
        home(self).set_poison(here(), false);
    }

    /// A step that everybody sees who looks at the mutex.
    fn set_poison(&self, place: Place, poisoned: bool) {
        if rt::try_current().is_some() {
            let (update, operand) = match (rt::is_graph(), poisoned) {
                (false, _) => (Update::Add(Width(64)), mx::VERSION),
                (true, true) => (Update::Or, mx::POISONED),
                (true, false) => (Update::And, !mx::POISONED),
            };
            rt::perform_at(place, |state| {
                Ok(Operation::Update {
                    at: self.locate(state)?,
                    update,
                    operand,
                    order: Ordering::Relaxed,
                })
            });
        }
        self.poisoned.store(poisoned, Ordering::Relaxed);
    }

    /// What it protects: nobody else has it.
    ///
    /// # Errors
    ///
    /// If a thread panicked while it held the lock.
    pub fn get_mut(&mut self) -> LockResult<&mut T> {
        let poisoned = *self.poisoned.get_mut();
        checked(self.data.get_mut(), poisoned)
    }
}

impl<T: Default> Default for Mutex<T> {
    fn default() -> Self {
        Self::new(T::default())
    }
}

impl<T> From<T> for Mutex<T> {
    fn from(value: T) -> Self {
        Self::new(value)
    }
}

impl<T: ?Sized> fmt::Debug for Mutex<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Looking at the value would be a step.
        f.debug_struct("Mutex").finish_non_exhaustive()
    }
}

/// Who has this holds the lock: as `std::sync::MutexGuard`. (It may be ignored without a warning, as loom's may.)
pub struct MutexGuard<'a, T: ?Sized> {
    mutex: &'a Mutex<T>,
    place: Place,
    was_panicking: bool,
    changes: Changes,
    not_send: PhantomData<*const ()>,
}

// SAFETY: it gives out shared references to the data only.
unsafe impl<T: ?Sized + Sync> Sync for MutexGuard<'_, T> {}

impl<T: ?Sized> UnwindSafe for MutexGuard<'_, T> {}
impl<T: ?Sized> RefUnwindSafe for MutexGuard<'_, T> {}

impl<'a, T: ?Sized> MutexGuard<'a, T> {
    /// The mutex, which stays locked, and how what it protects was left: for condition variables.
    pub(super) fn keep(self) -> (&'a Mutex<T>, Left) {
        let parts = (self.mutex, self.left());
        std::mem::forget(self);
        parts
    }

    fn data(&self) -> &T {
        // SAFETY: the lock is held.
        unsafe { &*self.mutex.data.get() }
    }

    fn left(&self) -> Left {
        self.changes.left(self.data())
    }
}

impl<T: ?Sized> Deref for MutexGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.changes.begin(self.data());
        self.data()
    }
}

impl<T: ?Sized> DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        self.changes.begin(self.data());
        // SAFETY: the lock is held, and the guard is borrowed exclusively.
        unsafe { &mut *self.mutex.data.get() }
    }
}

impl<T: ?Sized> Drop for MutexGuard<'_, T> {
    fn drop(&mut self) {
        if !self.was_panicking && std::thread::panicking() {
            self.mutex.set_poison(self.place, true);
        }
        unlock(self.mutex, self.place, self.left());
    }
}

/// Gives back a mutex that was locked at `place`.
pub(super) fn unlock<T: ?Sized>(mutex: &Mutex<T>, place: Place, left: Left) {
    if rt::try_current().is_none() {
        return;
    }
    rt::perform_at(place, |state| {
        let current = state.current;
        state.thread_mut(current).polling.leaves(left);
        Ok(Operation::Unlock {
            mutex: mutex.locate(state)?,
            left: Left::Changed,
        })
    });
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for MutexGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: ?Sized + fmt::Display> fmt::Display for MutexGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
