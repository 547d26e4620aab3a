//! [`UnsafeCell`] and the pointers that it gives.

use std::cell::Cell;
use std::fmt;
use std::sync::Arc;

/// As `std::cell::UnsafeCell`, but each access has a beginning and an end.
pub struct UnsafeCell<T: ?Sized> {
    watch: Arc<Watch>,
    data: std::cell::UnsafeCell<T>,
}

// SAFETY: the rest is used by the threads of one execution, which run one at a time.
unsafe impl<T: ?Sized + Send> Send for UnsafeCell<T> {}

/// Watches accesses. Pointers share it with their cell, which they may outlive.
#[derive(Default)]
struct Watch {
    cell: raddle::cell::UnsafeCell<()>,
    /// How many read now, or -1 if one writes.
    users: Cell<isize>,
}

impl Watch {
    #[track_caller]
    fn begin(&self, writes: bool) {
        let users = self.users.get();
        let clashes = if writes { users != 0 } else { users < 0 };
        // A second panic would be the end of the process.
        assert!(
            !clashes || raddle::thread::panicking(),
            "a cell is {} while it is {}",
            if writes { "written" } else { "read" },
            if users < 0 { "written" } else { "read" },
        );
        self.users.set(if writes { -1 } else { users + 1 });
    }

    fn end(&self, writes: bool) {
        let users = self.users.get();
        self.users.set(if writes { 0 } else { users - 1 });
    }

    #[track_caller]
    fn touch(&self, writes: bool) {
        if writes {
            self.cell.with_mut(|_| ());
        } else {
            self.cell.with(|_| ());
        }
    }
}

/// An access that goes on as long as a pointer lives.
///
/// As in loom, the end of the pointer is the end of the access but is no access itself: it only says that there may have been one since the
/// pointer was used last. So what was released by the last operation before the end is released with the cell. A guard whose `Drop` makes a
/// releasing store, and which then drops its pointer, is right.
struct Access {
    watch: Arc<Watch>,
    writes: bool,
}

impl Access {
    #[track_caller]
    fn begin(watch: &Arc<Watch>, writes: bool) -> Self {
        watch.touch(writes);
        watch.begin(writes);
        Self {
            watch: watch.clone(),
            writes,
        }
    }
}

impl Drop for Access {
    fn drop(&mut self) {
        self.watch.end(self.writes);
        self.watch.cell.accessed(self.writes);
    }
}

impl<T> UnsafeCell<T> {
    /// A cell with this value. That counts as writing it.
    #[track_caller]
    pub fn new(data: T) -> Self {
        let watch = Arc::<Watch>::default();
        watch.touch(true);
        Self {
            watch,
            data: std::cell::UnsafeCell::new(data),
        }
    }

    /// The value.
    pub fn into_inner(self) -> T {
        self.data.into_inner()
    }
}

impl<T: ?Sized> UnsafeCell<T> {
    /// Lets a closure read the value.
    #[track_caller]
    pub fn with<F, R>(&self, f: F) -> R
    where
        F: FnOnce(*const T) -> R,
    {
        self.during(false, |data| f(data))
    }

    /// Lets a closure read and write the value.
    #[track_caller]
    pub fn with_mut<F, R>(&self, f: F) -> R
    where
        F: FnOnce(*mut T) -> R,
    {
        self.during(true, f)
    }

    #[track_caller]
    fn during<R>(&self, writes: bool, f: impl FnOnce(*mut T) -> R) -> R {
        self.watch.touch(writes);
        self.watch.begin(writes);
        let end = End(&self.watch, writes);
        let result = f(self.data.get());
        drop(end);
        self.watch.touch(writes);
        result
    }

    /// A pointer that counts as reading as long as it lives.
    #[track_caller]
    pub fn get(&self) -> ConstPtr<T> {
        ConstPtr {
            access: Access::begin(&self.watch, false),
            data: self.data.get(),
        }
    }

    /// A pointer that counts as writing as long as it lives.
    #[track_caller]
    pub fn get_mut(&self) -> MutPtr<T> {
        MutPtr {
            access: Access::begin(&self.watch, true),
            data: self.data.get(),
        }
    }
}

/// Ends an access, also when it panics.
struct End<'a>(&'a Watch, bool);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.end(self.1);
    }
}

impl<T: Default> Default for UnsafeCell<T> {
    fn default() -> Self {
        Self::new(T::default())
    }
}

impl<T> From<T> for UnsafeCell<T> {
    fn from(data: T) -> Self {
        Self::new(data)
    }
}

impl<T: ?Sized> fmt::Debug for UnsafeCell<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UnsafeCell").finish_non_exhaustive()
    }
}

/// A pointer to what is in a cell; reads it as long as it lives.
pub struct ConstPtr<T: ?Sized> {
    access: Access,
    data: *const T,
}

impl<T: ?Sized> ConstPtr<T> {
    /// What it points to.
    ///
    /// # Safety
    ///
    /// As for a `*const T`.
    #[track_caller]
    pub unsafe fn deref(&self) -> &T {
        self.access.watch.touch(false);
        // SAFETY: the caller's.
        unsafe { &*self.data }
    }

    /// Lets a closure have the pointer.
    #[track_caller]
    pub fn with<F, R>(&self, f: F) -> R
    where
        F: FnOnce(*const T) -> R,
    {
        self.access.watch.touch(false);
        f(self.data)
    }
}

impl<T: ?Sized> fmt::Debug for ConstPtr<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        debug_assert!(!self.access.writes);
        fmt::Pointer::fmt(&self.data, f)
    }
}

/// A pointer to what is in a cell; writes it as long as it lives.
pub struct MutPtr<T: ?Sized> {
    access: Access,
    data: *mut T,
}

impl<T: ?Sized> MutPtr<T> {
    /// What it points to.
    ///
    /// # Safety
    ///
    /// As for a `*mut T`.
    #[allow(clippy::mut_from_ref)]
    #[track_caller]
    pub unsafe fn deref(&self) -> &mut T {
        self.access.watch.touch(true);
        // SAFETY: the caller's.
        unsafe { &mut *self.data }
    }

    /// Lets a closure have the pointer.
    #[track_caller]
    pub fn with<F, R>(&self, f: F) -> R
    where
        F: FnOnce(*mut T) -> R,
    {
        self.access.watch.touch(true);
        f(self.data)
    }
}

impl<T: ?Sized> fmt::Debug for MutPtr<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        debug_assert!(self.access.writes);
        fmt::Pointer::fmt(&self.data, f)
    }
}
