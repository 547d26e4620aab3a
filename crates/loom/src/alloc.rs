//! Memory that must not leak.

use std::collections::HashMap;
use std::sync::{LazyLock, Mutex, PoisonError};

pub use std::alloc::Layout;

use raddle::sync::Arc;

/// What is alive, by address. What keeps it from being a leak is an `Arc` of the execution, whose drop Raddle waits for.
static ALIVE: LazyLock<Mutex<HashMap<usize, Arc<()>>>> = LazyLock::new(Mutex::default);

#[track_caller]
fn born(pointer: *mut u8) {
    let token = Arc::new(());
    let mut alive = ALIVE.lock().unwrap_or_else(PoisonError::into_inner);
    // One that was given back behind our back belongs to another execution.
    std::mem::forget(alive.insert(pointer.addr(), token));
}

/// Allocates memory, and watches whether it leaks: as `std::alloc::alloc`.
///
/// # Safety
///
/// As for `std::alloc::alloc`.
#[track_caller]
pub unsafe fn alloc(layout: Layout) -> *mut u8 {
    // SAFETY: the caller's.
    let pointer = unsafe { std::alloc::alloc(layout) };
    born(pointer);
    pointer
}

/// Allocates memory that is 0, and watches whether it leaks: as `std::alloc::alloc_zeroed`.
///
/// # Safety
///
/// As for `std::alloc::alloc_zeroed`.
#[track_caller]
pub unsafe fn alloc_zeroed(layout: Layout) -> *mut u8 {
    // SAFETY: the caller's.
    let pointer = unsafe { std::alloc::alloc_zeroed(layout) };
    born(pointer);
    pointer
}

/// Gives memory back: as `std::alloc::dealloc`.
///
/// # Safety
///
/// As for `std::alloc::dealloc`.
#[track_caller]
pub unsafe fn dealloc(pointer: *mut u8, layout: Layout) {
    let mut alive = ALIVE.lock().unwrap_or_else(PoisonError::into_inner);
    let token = alive.remove(&pointer.addr());
    drop(alive);
    drop(token);
    // SAFETY: the caller's.
    unsafe { std::alloc::dealloc(pointer, layout) };
}

/// A value that must be dropped before the execution ends.
#[derive(Debug)]
pub struct Track<T> {
    value: T,
    _token: Arc<()>,
}

impl<T> Track<T> {
    /// Watches a value.
    #[track_caller]
    pub fn new(value: T) -> Self {
        Self {
            value,
            _token: Arc::new(()),
        }
    }

    /// The value.
    pub fn get_ref(&self) -> &T {
        &self.value
    }

    /// The value.
    pub fn get_mut(&mut self) -> &mut T {
        &mut self.value
    }

    /// The value, which is no longer watched.
    pub fn into_inner(self) -> T {
        self.value
    }
}
