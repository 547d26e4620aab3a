//! [`RwLock`].

use std::cell::UnsafeCell;
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{LockResult, TryLockError, TryLockResult};

use raddle_schedule::LocationId;

use super::changes::Changes;
use super::mutex::checked;
use crate::rt::operation::{Left, Operation, Update, Width, rw};
use crate::rt::{self, Home, Id, Kind, Misuse, Place, State, here, home};

/// A lock for many readers or one writer: as `std::sync::RwLock`.
///
/// A reader never waits for a writer that only waits itself, but a thread that reads again what it is reading fails if a writer
/// could wait in between: `std` allows that writer to keep readers out.
///
/// ```
/// use raddle::sync::{Arc, RwLock};
///
/// raddle::check(|| {
///     let value = Arc::new(RwLock::new(1));
///     let other = value.clone();
///     let child = raddle::thread::spawn(move || *other.write().unwrap() = 2);
///     let seen = *value.read().unwrap();
///     assert!(seen == 1 || seen == 2);
///     child.join().unwrap();
/// });
/// ```
pub struct RwLock<T: ?Sized> {
    id: Id,
    poisoned: AtomicBool,
    data: UnsafeCell<T>,
}

// SAFETY: the runtime sees to it that who writes is alone.
unsafe impl<T: ?Sized + Send> Send for RwLock<T> {}
// SAFETY: the same; readers share the data.
unsafe impl<T: ?Sized + Send + Sync> Sync for RwLock<T> {}
impl<T: ?Sized> UnwindSafe for RwLock<T> {}
impl<T: ?Sized> RefUnwindSafe for RwLock<T> {}

// SAFETY: its bits can be copied like those of everything that a constant is made of.
unsafe impl<T: ?Sized> Home for RwLock<T> {
    fn id(&self) -> &Id {
        &self.id
    }
}

impl<T> RwLock<T> {
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
    /// If a thread panicked while it held the lock for writing.
    pub fn into_inner(self) -> LockResult<T> {
        let poisoned = self.poisoned.into_inner();
        checked(self.data.into_inner(), poisoned)
    }
}

impl<T: ?Sized> RwLock<T> {
    fn locate(&self, state: &mut State) -> Result<LocationId, Misuse> {
        state.locate(&self.id, Kind::RwLock, || 0)
    }

    /// Waits until nobody writes, and takes the lock for reading.
    ///
    /// # Errors
    ///
    /// If a thread panicked while it held the lock for writing.
    #[track_caller]
    pub fn read(&self) -> LockResult<RwLockReadGuard<'_, T>> {
        let this = home(self);
        rt::perform(|state| {
            Ok(Operation::ReadLock {
                lock: this.locate(state)?,
            })
        });
        this.reading(here())
    }

    /// Takes the lock for reading if nobody writes.
    ///
    /// # Errors
    ///
    /// If somebody does, or if a thread panicked while it held the lock for writing.
    #[track_caller]
    pub fn try_read(&self) -> TryLockResult<RwLockReadGuard<'_, T>> {
        let this = home(self);
        let taken = rt::perform(|state| {
            Ok(Operation::TryReadLock {
                lock: this.locate(state)?,
            })
        });
        if taken == 0 {
            return Err(TryLockError::WouldBlock);
        }
        Ok(this.reading(here())?)
    }

    /// Waits until nobody else has the lock, and takes it for writing.
    ///
    /// # Errors
    ///
    /// If a thread panicked while it held the lock for writing.
    #[track_caller]
    pub fn write(&self) -> LockResult<RwLockWriteGuard<'_, T>> {
        let this = home(self);
        rt::perform(|state| {
            Ok(Operation::WriteLock {
                lock: this.locate(state)?,
            })
        });
        this.writing(here())
    }

    /// Takes the lock for writing if nobody has it.
    ///
    /// # Errors
    ///
    /// If somebody has, or if a thread panicked while it held the lock for writing.
    #[track_caller]
    pub fn try_write(&self) -> TryLockResult<RwLockWriteGuard<'_, T>> {
        let this = home(self);
        let taken = rt::perform(|state| {
            Ok(Operation::TryWriteLock {
                lock: this.locate(state)?,
            })
        });
        if taken == 0 {
            return Err(TryLockError::WouldBlock);
        }
        Ok(this.writing(here())?)
    }

    fn reading(&self, place: Place) -> LockResult<RwLockReadGuard<'_, T>> {
        let guard = RwLockReadGuard {
            lock: self,
            place,
            not_send: PhantomData,
        };
        checked(guard, self.poisoned.load(Ordering::Relaxed))
    }

    fn writing(&self, place: Place) -> LockResult<RwLockWriteGuard<'_, T>> {
        let guard = RwLockWriteGuard {
            lock: self,
            place,
            was_panicking: std::thread::panicking(),
            changes: Changes::default(),
            not_send: PhantomData,
        };
        checked(guard, self.poisoned.load(Ordering::Relaxed))
    }

    /// Whether a thread panicked while it held the lock for writing.
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
            true => value & rw::POISONED != 0,
            false => this.poisoned.load(Ordering::Relaxed),
        }
    }

    /// Forgets that a thread panicked.
    #[track_caller]
    pub fn clear_poison(&self) {
        home(self).set_poison(here(), false);
    }

    /// A step that everybody sees who looks at the lock.
    fn set_poison(&self, place: Place, poisoned: bool) {
        if rt::try_current().is_some() {
            let (update, operand) = match (rt::is_graph(), poisoned) {
                (false, _) => (Update::Add(Width(64)), rw::VERSION),
                (true, true) => (Update::Or, rw::POISONED),
                (true, false) => (Update::And, !rw::POISONED),
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
    /// If a thread panicked while it held the lock for writing.
    pub fn get_mut(&mut self) -> LockResult<&mut T> {
        let poisoned = *self.poisoned.get_mut();
        checked(self.data.get_mut(), poisoned)
    }
}

impl<T: Default> Default for RwLock<T> {
    fn default() -> Self {
        Self::new(T::default())
    }
}

impl<T> From<T> for RwLock<T> {
    fn from(value: T) -> Self {
        Self::new(value)
    }
}

impl<T: ?Sized> fmt::Debug for RwLock<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Looking at the value would be a step.
        f.debug_struct("RwLock").finish_non_exhaustive()
    }
}

/// Who has this holds the lock for reading: as `std::sync::RwLockReadGuard`.
pub struct RwLockReadGuard<'a, T: ?Sized> {
    lock: &'a RwLock<T>,
    place: Place,
    not_send: PhantomData<*const ()>,
}

// SAFETY: it gives out shared references to the data only.
unsafe impl<T: ?Sized + Sync> Sync for RwLockReadGuard<'_, T> {}

impl<T: ?Sized> Deref for RwLockReadGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: nobody writes while the lock is held for reading.
        unsafe { &*self.lock.data.get() }
    }
}

impl<T: ?Sized> Drop for RwLockReadGuard<'_, T> {
    fn drop(&mut self) {
        if rt::try_current().is_none() {
            return;
        }
        rt::perform_at(self.place, |state| {
            Ok(Operation::ReadUnlock {
                lock: self.lock.locate(state)?,
            })
        });
    }
}

/// Who has this holds the lock for writing: as `std::sync::RwLockWriteGuard`.
pub struct RwLockWriteGuard<'a, T: ?Sized> {
    lock: &'a RwLock<T>,
    place: Place,
    was_panicking: bool,
    changes: Changes,
    not_send: PhantomData<*const ()>,
}

// SAFETY: it gives out shared references to the data only, where it is shared itself.
unsafe impl<T: ?Sized + Sync> Sync for RwLockWriteGuard<'_, T> {}

impl<T: ?Sized> RwLockWriteGuard<'_, T> {
    fn data(&self) -> &T {
        // SAFETY: the lock is held.
        unsafe { &*self.lock.data.get() }
    }
}

impl<'a, T: ?Sized> RwLockWriteGuard<'a, T> {
    /// Keeps the lock for reading only.
    #[track_caller]
    pub fn downgrade(guard: Self) -> RwLockReadGuard<'a, T> {
        let guard = std::mem::ManuallyDrop::new(guard);
        rt::perform(|state| {
            Ok(Operation::Downgrade {
                lock: guard.lock.locate(state)?,
            })
        });
        RwLockReadGuard {
            lock: guard.lock,
            place: here(),
            not_send: PhantomData,
        }
    }
}

impl<T: ?Sized> Deref for RwLockWriteGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.changes.begin(self.data());
        self.data()
    }
}

impl<T: ?Sized> DerefMut for RwLockWriteGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        self.changes.begin(self.data());
        // SAFETY: the lock is held for writing, and the guard is borrowed exclusively.
        unsafe { &mut *self.lock.data.get() }
    }
}

impl<T: ?Sized> Drop for RwLockWriteGuard<'_, T> {
    fn drop(&mut self) {
        if !self.was_panicking && std::thread::panicking() {
            self.lock.set_poison(self.place, true);
        }
        if rt::try_current().is_none() {
            return;
        }
        let left = self.changes.left(self.data());
        rt::perform_at(self.place, |state| {
            let current = state.current;
            state.thread_mut(current).polling.leaves(left);
            Ok(Operation::WriteUnlock {
                lock: self.lock.locate(state)?,
                left: Left::Changed,
            })
        });
    }
}

macro_rules! shown {
    ($($guard:ident)*) => {
        $(
            impl<T: ?Sized> UnwindSafe for $guard<'_, T> {}
            impl<T: ?Sized> RefUnwindSafe for $guard<'_, T> {}

            impl<T: ?Sized + fmt::Debug> fmt::Debug for $guard<'_, T> {
                fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                    (**self).fmt(f)
                }
            }

            impl<T: ?Sized + fmt::Display> fmt::Display for $guard<'_, T> {
                fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                    (**self).fmt(f)
                }
            }
        )*
    };
}

shown!(RwLockReadGuard RwLockWriteGuard);
