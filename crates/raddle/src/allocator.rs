//! [`Allocator`]: the allocator under which memory errors are found.
//!
//! # The interface
//!
//! It is installed as the global allocator of a test binary, either by the feature `allocator` of this crate, which is on by default, or by a static of
//! the binary's own. Outside of checks it hands everything on. Inside, it does two things:
//!
//! - **It keeps what is freed** until the execution ends (`rt/quarantine.rs`), so that no two allocations of one execution have the same address.
//! - **It writes down what is allocated and freed**, and the runtime compares that with the operations on objects in
//!   these blocks (`rt/blocks/mod.rs`, where the argument is).
//!
//! # Who calls it
//!
//! An allocator is called from anywhere: by code under test, by the runtime in the middle of a step, by the standard library while it holds locks, by threads
//! that have nothing to do with a check. So it never suspends the thread, never panics, and takes the memory for what it writes from the system
//! (`rt/system.rs`), not from itself. What it finds is told at the thread's next operation.
//!
//! Only a thread that runs code under test has a runtime ([`fiber::current`](crate::rt)), and each check has its own. The runtime's own
//! allocations are those that are made while its state is borrowed, which it never is while code under test runs: they
//! are not written down. What is freed is kept in both cases.

use std::alloc::{GlobalAlloc, Layout, System};

use crate::rt;

#[cfg(feature = "allocator")]
#[global_allocator]
static ALLOCATOR: Allocator = Allocator::new();

/// The global allocator of tests: with it, a check finds memory that is used after it was freed, freed twice, or published without synchronisation.
///
/// The feature `allocator` of this crate, which is on by default, installs it. A binary that wants to name its allocator itself, to build it
/// [on another one](Self::over) or to have it in some of its tests only, depends on `raddle` with `default-features = false` and says:
///
/// ```
/// # #[cfg(not(feature = "allocator"))]
/// #[global_allocator]
/// static ALLOCATOR: raddle::Allocator = raddle::Allocator::new();
///
/// # fn main() {
/// use raddle::sync::atomic::{AtomicPtr, AtomicU32, Ordering::SeqCst};
/// use raddle::{Checker, FailureKind, thread};
///
/// let failed = Checker::new().run(|| {
///     let current = raddle::sync::Arc::new(AtomicPtr::new(Box::into_raw(Box::new(AtomicU32::new(5)))));
///     let theirs = current.clone();
///     let reader = thread::spawn(move || {
///         let number = theirs.load(SeqCst);
///         if !number.is_null() {
///             // SAFETY: there is none: nothing keeps the number alive.
///             unsafe { (*number).load(SeqCst) };
///         }
///     });
///     let number = current.swap(std::ptr::null_mut(), SeqCst);
///     // SAFETY: it comes from a box.
///     drop(unsafe { Box::from_raw(number) });
///     reader.join().unwrap();
/// });
/// assert_eq!(failed.unwrap_err().failure.kind, FailureKind::UseAfterFree);
/// # }
/// ```
///
/// What it finds, and what not, is told in `docs/memory-errors.md` of the repository.
pub struct Allocator {
    under: &'static (dyn GlobalAlloc + Sync),
}

impl Allocator {
    /// On top of the allocator of the system.
    #[must_use]
    pub const fn new() -> Self {
        static SYSTEM: System = System;
        Self { under: &SYSTEM }
    }

    /// On top of another allocator.
    ///
    /// ```
    /// # #[cfg(not(feature = "allocator"))]
    /// # mod binary {
    /// static SYSTEM: std::alloc::System = std::alloc::System;
    ///
    /// #[global_allocator]
    /// static ALLOCATOR: raddle::Allocator = raddle::Allocator::over(&SYSTEM);
    /// # }
    /// ```
    #[must_use]
    pub const fn over(under: &'static (dyn GlobalAlloc + Sync)) -> Self {
        Self { under }
    }
}

impl Default for Allocator {
    fn default() -> Self {
        Self::new()
    }
}

impl std::fmt::Debug for Allocator {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Allocator").finish_non_exhaustive()
    }
}

// SAFETY: memory comes from the allocator below and goes back there, once, with the layout that it came with; what is in quarantine belongs to
// nobody in between.
unsafe impl GlobalAlloc for Allocator {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise.
        let block = unsafe { self.under.alloc(layout) };
        rt::allocated(block, layout);
        block
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise.
        let block = unsafe { self.under.alloc_zeroed(layout) };
        rt::allocated(block, layout);
        block
    }

    #[inline]
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise: the block is valid, and given up.
        if unsafe { rt::freed(block, layout, self.under) } {
            // SAFETY: the caller's promise.
            unsafe { self.under.dealloc(block, layout) };
        }
    }

    #[inline]
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if !rt::runs_code_under_test() {
            // SAFETY: the caller's promise.
            return unsafe { self.under.realloc(block, layout, size) };
        }
        // SAFETY: the caller promises that the size is possible with this alignment, and that the block has this layout.
        unsafe {
            let new = self.alloc(Layout::from_size_align_unchecked(size, layout.align()));
            if !new.is_null() {
                new.copy_from_nonoverlapping(block, layout.size().min(size));
                self.dealloc(block, layout);
            }
            new
        }
    }
}
