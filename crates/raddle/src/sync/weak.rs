//! [`Weak`].

use std::fmt;
use std::mem::ManuallyDrop;
use std::sync as std_sync;
use std::sync::atomic::Ordering;

use super::Arc;
use super::arc::{add, leaves, observe, with_count};
use crate::rt::operation::{Operation, count};
use crate::rt::{self, Counted, Place, State, here};

/// A reference that does not keep what it refers to: as `std::sync::Weak`.
pub struct Weak<T: ?Sized> {
    pub(super) inner: ManuallyDrop<std_sync::Weak<T>>,
    pub(super) counted: Option<Counted>,
    pub(super) made: Place,
}

impl<T> Weak<T> {
    /// A reference to nothing.
    #[must_use]
    #[track_caller]
    pub const fn new() -> Self {
        Self {
            inner: ManuallyDrop::new(std_sync::Weak::new()),
            counted: None,
            made: here(),
        }
    }
}

impl<T: ?Sized> Weak<T> {
    /// Drops it without counting that.
    pub(super) fn drop_uncounted(self) {
        let mut this = ManuallyDrop::new(self);
        leaves(this.counted);
        // SAFETY: `this` is not used again.
        unsafe { ManuallyDrop::drop(&mut this.inner) };
    }

    /// A reference that keeps the value, if it is still there.
    #[must_use]
    #[track_caller]
    pub fn upgrade(&self) -> Option<Arc<T>> {
        if let Some(count) = with_count(self.counted, State::count_matters)
            && rt::perform(|_| Ok(Operation::Upgrade { count })) == 0
        {
            return None;
        }
        Some(Arc {
            inner: ManuallyDrop::new(self.inner.upgrade()?),
            counted: self.counted,
            made: self.made,
        })
    }

    /// Where the value is, or was.
    #[must_use]
    pub fn as_ptr(&self) -> *const T {
        self.inner.as_ptr()
    }

    /// Turns it into a pointer.
    #[must_use]
    pub fn into_raw(self) -> *const T {
        let mut this = ManuallyDrop::new(self);
        // SAFETY: `this` is not used again.
        let pointer = unsafe { ManuallyDrop::take(&mut this.inner) }.into_raw();
        if let Some(counted) = this.counted
            && rt::try_current().is_some()
        {
            rt::with(|state| state.remember_raw(pointer.cast::<()>().addr(), counted));
        }
        pointer
    }

    /// Turns a pointer back.
    ///
    /// # Safety
    ///
    /// It must come from [`into_raw`](Self::into_raw), which it undoes.
    #[must_use]
    #[track_caller]
    pub unsafe fn from_raw(pointer: *const T) -> Self {
        let address = pointer.cast::<()>().addr();
        let counted = rt::try_current().and_then(|_| rt::with(|state| state.recall_raw(address)));
        Self {
            // SAFETY: the caller promises it.
            inner: ManuallyDrop::new(unsafe { std_sync::Weak::from_raw(pointer) }),
            counted,
            made: here(),
        }
    }

    /// How many references there are that keep the value.
    #[must_use]
    #[track_caller]
    pub fn strong_count(&self) -> usize {
        let found = observe(self.counted, Ordering::Relaxed);
        found.map_or_else(|| self.inner.strong_count(), |found| found.strong)
    }

    /// How many weak references there are.
    #[must_use]
    #[track_caller]
    pub fn weak_count(&self) -> usize {
        let found = observe(self.counted, Ordering::Relaxed);
        // As in `std`: if nobody keeps the value, there are none.
        found.map_or_else(
            || self.inner.weak_count(),
            |found| if found.strong == 0 { 0 } else { found.weak },
        )
    }

    /// Whether two refer to the same.
    #[must_use]
    pub fn ptr_eq(&self, other: &Self) -> bool {
        self.inner.ptr_eq(&other.inner)
    }
}

impl<T: ?Sized> Clone for Weak<T> {
    #[track_caller]
    fn clone(&self) -> Self {
        add(self.counted, here(), count::WEAK);
        Self {
            inner: self.inner.clone(),
            counted: self.counted,
            made: self.made,
        }
    }
}

impl<T: ?Sized> Drop for Weak<T> {
    fn drop(&mut self) {
        add(self.counted, self.made, count::WEAK.wrapping_neg());
        leaves(self.counted);
        // SAFETY: it is not used again.
        unsafe { ManuallyDrop::drop(&mut self.inner) };
    }
}

impl<T> Default for Weak<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: ?Sized> fmt::Debug for Weak<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(Weak)")
    }
}
