//! Cells that are watched for data races: as `std::cell`.
//!
//! An access is no step. Whether two accesses race is decided by the synchronisation between them: locks, starting and
//! joining threads, channels, and atomics with the orderings that they were given. So one execution finds the races of
//! all schedules that synchronise in the same way.
//!
//! ```
//! use raddle::cell::UnsafeCell;
//! use raddle::sync::atomic::{AtomicBool, Ordering};
//! use raddle::sync::Arc;
//!
//! struct Slot { value: UnsafeCell<u32>, full: AtomicBool }
//! unsafe impl Sync for Slot {}
//!
//! raddle::check(|| {
//!     let slot = Arc::new(Slot { value: UnsafeCell::new(0), full: AtomicBool::new(false) });
//!     let other = slot.clone();
//!     let child = raddle::thread::spawn(move || {
//!         other.value.with_mut(|value| unsafe { *value = 5 });
//!         other.full.store(true, Ordering::Release); // `Relaxed` would be a data race
//!     });
//!     if slot.full.load(Ordering::Acquire) {
//!         assert_eq!(slot.value.with(|value| unsafe { *value }), 5);
//!     }
//!     child.join().unwrap();
//! });
//! ```

use std::cmp::Ordering;
use std::fmt;

pub use std::cell::{BorrowError, BorrowMutError, LazyCell, OnceCell, Ref, RefCell, RefMut};

use crate::rt::{self, CellAccess, Home, Id, Phase, Place, here, home};

/// An access to a cell.
fn touch(id: &Id, writes: bool, place: Place) {
    let has_ended = false;
    access(id, CellAccess { writes, has_ended }, place);
}

fn access(id: &Id, kind: CellAccess, place: Place) {
    if rt::try_current().is_none() {
        return;
    }
    let race = rt::with(|state| {
        if state.phase != Phase::Running {
            return Ok(None);
        }
        state.touch_cell(id, kind, place)
    });
    match race {
        Ok(Some(race)) => rt::fail(race),
        Ok(None) => {}
        Err(misuse) => misuse.panic(),
    }
}

/// As `std::cell::UnsafeCell`.
pub struct UnsafeCell<T: ?Sized> {
    id: Id,
    value: std::cell::UnsafeCell<T>,
}

// SAFETY: its bits can be copied like those of everything that a constant is made of.
unsafe impl<T: ?Sized> Home for UnsafeCell<T> {
    fn id(&self) -> &Id {
        &self.id
    }
}

impl<T> UnsafeCell<T> {
    /// A cell with this value.
    pub const fn new(value: T) -> Self {
        Self {
            id: Id::new(),
            value: std::cell::UnsafeCell::new(value),
        }
    }

    /// The value.
    pub fn into_inner(self) -> T {
        self.value.into_inner()
    }
}

impl<T: ?Sized> UnsafeCell<T> {
    /// A pointer to the value. What is done with it is not known, so this counts as writing, here and now; better
    /// are [`with`](Self::with) and [`with_mut`](Self::with_mut).
    #[track_caller]
    pub fn get(&self) -> *mut T {
        let this = home(self);
        touch(&this.id, true, here());
        this.value.get()
    }

    /// Lets a closure read the value.
    #[track_caller]
    pub fn with<F, R>(&self, f: F) -> R
    where
        F: FnOnce(*const T) -> R,
    {
        let this = home(self);
        touch(&this.id, false, here());
        let result = f(this.value.get());
        // Steps may have been made in between.
        touch(&this.id, false, here());
        result
    }

    /// Lets a closure read and write the value.
    #[track_caller]
    pub fn with_mut<F, R>(&self, f: F) -> R
    where
        F: FnOnce(*mut T) -> R,
    {
        let this = home(self);
        touch(&this.id, true, here());
        let result = f(this.value.get());
        touch(&this.id, true, here());
        result
    }

    /// An access that began earlier, in the same thread, is over. It may have gone on until the thread's last operation.
    #[doc(hidden)]
    #[track_caller]
    pub fn accessed(&self, writes: bool) {
        let this = home(self);
        let has_ended = true;
        access(&this.id, CellAccess { writes, has_ended }, here());
    }

    /// The value: nobody else has it.
    pub fn get_mut(&mut self) -> &mut T {
        self.value.get_mut()
    }
}

impl<T: Default> Default for UnsafeCell<T> {
    fn default() -> Self {
        Self::new(T::default())
    }
}

impl<T> From<T> for UnsafeCell<T> {
    fn from(value: T) -> Self {
        Self::new(value)
    }
}

impl<T: ?Sized> fmt::Debug for UnsafeCell<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UnsafeCell").finish_non_exhaustive()
    }
}

/// As `std::cell::Cell`.
#[derive(Default)]
pub struct Cell<T: ?Sized>(UnsafeCell<T>);

impl<T> Cell<T> {
    /// A cell with this value.
    pub const fn new(value: T) -> Self {
        Self(UnsafeCell::new(value))
    }

    /// Sets the value.
    #[track_caller]
    pub fn set(&self, value: T) {
        drop(self.replace(value));
    }

    /// Sets the value, and returns the one before.
    #[track_caller]
    pub fn replace(&self, value: T) -> T {
        // SAFETY: nobody has a reference to the value.
        self.0
            .with_mut(|old| unsafe { std::mem::replace(&mut *old, value) })
    }

    /// A copy of the value.
    #[track_caller]
    pub fn get(&self) -> T
    where
        T: Copy,
    {
        // SAFETY: nobody has a reference to the value.
        self.0.with(|value| unsafe { *value })
    }

    /// Takes the value, and leaves the default.
    #[track_caller]
    pub fn take(&self) -> T
    where
        T: Default,
    {
        self.replace(T::default())
    }

    /// Changes the value.
    #[track_caller]
    pub fn update(&self, f: impl FnOnce(T) -> T)
    where
        T: Copy,
    {
        self.set(f(self.get()));
    }

    /// Exchanges two values.
    #[track_caller]
    pub fn swap(&self, other: &Self) {
        if std::ptr::eq(self, other) {
            return;
        }
        self.0.with_mut(|one| {
            other.0.with_mut(|other| {
                // SAFETY: nobody has a reference to either value, and they are two.
                unsafe { std::ptr::swap(one, other) };
            });
        });
    }

    /// The value.
    pub fn into_inner(self) -> T {
        self.0.into_inner()
    }
}

impl<T: ?Sized> Cell<T> {
    /// A pointer to the value: counts as writing.
    #[track_caller]
    pub fn as_ptr(&self) -> *mut T {
        self.0.get()
    }

    /// The value: nobody else has it.
    pub fn get_mut(&mut self) -> &mut T {
        self.0.get_mut()
    }
}

impl<T> From<T> for Cell<T> {
    fn from(value: T) -> Self {
        Self::new(value)
    }
}

impl<T: Copy> Clone for Cell<T> {
    #[track_caller]
    fn clone(&self) -> Self {
        Self::new(self.get())
    }
}

impl<T: Copy + fmt::Debug> fmt::Debug for Cell<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cell").field("value", &self.get()).finish()
    }
}

impl<T: Copy + PartialEq> PartialEq for Cell<T> {
    #[track_caller]
    fn eq(&self, other: &Self) -> bool {
        self.get() == other.get()
    }
}

impl<T: Copy + Eq> Eq for Cell<T> {}

impl<T: Copy + PartialOrd> PartialOrd for Cell<T> {
    #[track_caller]
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        self.get().partial_cmp(&other.get())
    }
}

impl<T: Copy + Ord> Ord for Cell<T> {
    #[track_caller]
    fn cmp(&self, other: &Self) -> Ordering {
        self.get().cmp(&other.get())
    }
}
