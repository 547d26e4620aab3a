//! Values of which each thread has its own: as `std::thread::LocalKey`.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::fmt;

use crate::rt::{self, Local};

/// Declares values of which each thread of an execution has its own: as `std::thread_local!`.
///
/// ```
/// use std::cell::Cell;
///
/// raddle::thread_local! {
///     static COUNT: Cell<u32> = const { Cell::new(1) };
/// }
///
/// raddle::check(|| {
///     COUNT.set(5);
///     raddle::thread::spawn(|| assert_eq!(COUNT.get(), 1)).join().unwrap();
///     assert_eq!(COUNT.get(), 5);
/// });
/// ```
#[macro_export]
macro_rules! thread_local {
    () => {};
    ($(#[$attribute:meta])* $visibility:vis static $name:ident: $type:ty = const $value:block; $($rest:tt)*) => {
        $crate::thread_local!(@key [$(#[$attribute])*] $visibility $name, $type, $value);
        $crate::thread_local!($($rest)*);
    };
    ($(#[$attribute:meta])* $visibility:vis static $name:ident: $type:ty = const $value:block) => {
        $crate::thread_local!(@key [$(#[$attribute])*] $visibility $name, $type, $value);
    };
    ($(#[$attribute:meta])* $visibility:vis static $name:ident: $type:ty = $value:expr; $($rest:tt)*) => {
        $crate::thread_local!(@key [$(#[$attribute])*] $visibility $name, $type, $value);
        $crate::thread_local!($($rest)*);
    };
    ($(#[$attribute:meta])* $visibility:vis static $name:ident: $type:ty = $value:expr) => {
        $crate::thread_local!(@key [$(#[$attribute])*] $visibility $name, $type, $value);
    };
    (@key [$($attributes:tt)*] $visibility:vis $name:ident, $type:ty, $value:expr) => {
        $($attributes)*
        $visibility static $name: $crate::thread::LocalKey<$type> = {
            fn initial() -> $type {
                $value
            }
            $crate::thread::LocalKey::new(initial)
        };
    };
}

/// A value of which each thread has its own; made by [`thread_local!`](crate::thread_local).
pub struct LocalKey<T: 'static> {
    initial: fn() -> T,
}

/// The value of a thread that ends is gone already.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct AccessError;

impl fmt::Debug for AccessError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AccessError")
    }
}

impl fmt::Display for AccessError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("already destroyed")
    }
}

impl std::error::Error for AccessError {}

impl<T: 'static> LocalKey<T> {
    #[doc(hidden)]
    #[must_use]
    pub const fn new(initial: fn() -> T) -> Self {
        Self { initial }
    }

    fn pointer(&'static self) -> Result<*const T, AccessError> {
        rt::depends_on_thread();
        let key = std::ptr::from_ref(self).addr();
        let known = |state: &mut rt::State| {
            let current = state.current;
            match state.thread(current).locals.get(&key) {
                Some(Local::Alive(value)) => Some(Ok(value
                    .downcast_ref::<T>()
                    .map_or(std::ptr::null(), std::ptr::from_ref))),
                Some(Local::Destroyed) => Some(Err(AccessError)),
                None => None,
            }
        };
        if let Some(known) = rt::with(known) {
            return known;
        }
        // This is code under test, and may make operations, and use this very key.
        let value: Box<dyn Any> = Box::new((self.initial)());
        rt::with(|state| {
            let current = state.current;
            let thread = state.thread_mut(current);
            thread.locals.insert(key, Local::Alive(value));
            thread.local_order.push(key);
            thread.drops_locals |= std::mem::needs_drop::<T>();
        });
        rt::with(known).unwrap_or(Err(AccessError))
    }

    /// Uses the current thread's value, unless that is gone already.
    ///
    /// # Errors
    ///
    /// If the value was destroyed because the thread ends.
    pub fn try_with<F, R>(&'static self, f: F) -> Result<R, AccessError>
    where
        F: FnOnce(&T) -> R,
    {
        let pointer = self.pointer()?;
        // SAFETY: the value is in a box of its own, which is dropped when the thread ends.
        Ok(f(unsafe { &*pointer }))
    }

    /// Uses the current thread's value.
    ///
    /// # Panics
    ///
    /// If the value was destroyed because the thread ends.
    #[track_caller]
    pub fn with<F, R>(&'static self, f: F) -> R
    where
        F: FnOnce(&T) -> R,
    {
        match self.try_with(f) {
            Ok(result) => result,
            Err(_) => panic!(
                "cannot access a Thread Local Storage value during or after destruction: AccessError"
            ),
        }
    }
}

impl<T: 'static> LocalKey<Cell<T>> {
    /// Sets the value.
    pub fn set(&'static self, value: T) {
        self.with(|cell| cell.set(value));
    }

    /// A copy of the value.
    pub fn get(&'static self) -> T
    where
        T: Copy,
    {
        self.with(Cell::get)
    }

    /// Takes the value and leaves the default.
    pub fn take(&'static self) -> T
    where
        T: Default,
    {
        self.with(Cell::take)
    }

    /// Sets the value and returns the one before.
    pub fn replace(&'static self, value: T) -> T {
        self.with(|cell| cell.replace(value))
    }
}

impl<T: 'static> LocalKey<RefCell<T>> {
    /// Borrows the value.
    pub fn with_borrow<F, R>(&'static self, f: F) -> R
    where
        F: FnOnce(&T) -> R,
    {
        self.with(|cell| f(&cell.borrow()))
    }

    /// Borrows the value to change it.
    pub fn with_borrow_mut<F, R>(&'static self, f: F) -> R
    where
        F: FnOnce(&mut T) -> R,
    {
        self.with(|cell| f(&mut cell.borrow_mut()))
    }

    /// Sets the value.
    pub fn set(&'static self, value: T) {
        self.with(|cell| *cell.borrow_mut() = value);
    }

    /// Takes the value and leaves the default.
    pub fn take(&'static self) -> T
    where
        T: Default,
    {
        self.with(RefCell::take)
    }

    /// Sets the value and returns the one before.
    pub fn replace(&'static self, value: T) -> T {
        self.with(|cell| cell.replace(value))
    }
}

impl<T: 'static> fmt::Debug for LocalKey<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LocalKey").finish_non_exhaustive()
    }
}

/// Destroys the values of the current thread, the last first. Destructors may use other values.
pub(crate) fn drop_locals() {
    loop {
        let local = rt::with(|state| {
            let current = state.current;
            let thread = state.thread_mut(current);
            let key = thread.local_order.pop()?;
            Some(thread.locals.insert(key, Local::Destroyed))
        });
        match local {
            Some(local) => drop(local),
            None => break,
        }
    }
    rt::with(|state| {
        let current = state.current;
        state.thread_mut(current).locals.clear();
    });
}
