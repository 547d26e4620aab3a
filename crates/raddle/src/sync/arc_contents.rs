//! [`Arc`]s of what has no size known at compile time, of values that are not there yet, and of any type.

use std::any::Any;
use std::ffi::{CStr, OsStr};
use std::mem::{ManuallyDrop, MaybeUninit};
use std::path::Path;
use std::pin::Pin;
use std::sync as std_sync;

use super::Arc;

/// What [`Arc::make_mut`] can copy: what `std` can.
pub trait Duplicate {
    /// A copy of it.
    #[doc(hidden)]
    fn duplicate(&self) -> std_sync::Arc<Self>;

    /// It, of which this becomes the only reference: there are no others but weak ones.
    #[doc(hidden)]
    fn only(arc: &mut std_sync::Arc<Self>) -> &mut Self;
}

macro_rules! duplicate {
    ($([$($parameter:ident)?] $type:ty, $copy:expr;)*) => {
        $(
            impl$(<$parameter: Clone>)? Duplicate for $type {
                fn duplicate(&self) -> std_sync::Arc<Self> {
                    $copy(self)
                }

                fn only(arc: &mut std_sync::Arc<Self>) -> &mut Self {
                    std_sync::Arc::make_mut(arc)
                }
            }
        )*
    };
}

duplicate! {
    [T] T, |value: &T| std_sync::Arc::new(value.clone());
    [T] [T], std_sync::Arc::from;
    [] str, std_sync::Arc::from;
    [] CStr, std_sync::Arc::from;
    [] OsStr, std_sync::Arc::from;
    [] Path, std_sync::Arc::from;
}

impl<T: ?Sized> Arc<T> {
    /// The same reference with another type, which that of the standard library turns into by itself: `dyn Trait`, a slice. The
    /// closure does nothing but that.
    ///
    /// ```
    /// use std::fmt::Display;
    /// use raddle::sync::Arc;
    ///
    /// raddle::check(|| {
    ///     let number = Arc::new(5);
    ///     let shown = Arc::coerce(number.clone(), |arc| arc as std::sync::Arc<dyn Display>);
    ///     assert_eq!(shown.to_string(), "5");
    ///     assert_eq!(Arc::strong_count(&number), 2);
    /// });
    /// ```
    ///
    /// # Panics
    ///
    /// If the closure returns something else.
    #[must_use]
    #[track_caller]
    pub fn coerce<U: ?Sized>(
        this: Self,
        turn: impl FnOnce(std_sync::Arc<T>) -> std_sync::Arc<U>,
    ) -> Arc<U> {
        let address = Self::as_ptr(&this).cast::<()>();
        let (inner, counted, made) = this.into_parts();
        let inner = turn(inner);
        assert!(
            std::ptr::eq(address, std_sync::Arc::as_ptr(&inner).cast()),
            "the closure that coerces an `Arc` returns another one"
        );
        Arc {
            inner: ManuallyDrop::new(inner),
            counted,
            made,
        }
    }
}

impl<T> Arc<T> {
    /// A reference to a value that is not there yet.
    #[must_use]
    #[track_caller]
    pub fn new_uninit() -> Arc<MaybeUninit<T>> {
        Arc::from_std(std_sync::Arc::new_uninit())
    }

    /// The same, where all bytes are 0.
    #[must_use]
    #[track_caller]
    pub fn new_zeroed() -> Arc<MaybeUninit<T>> {
        Arc::from_std(std_sync::Arc::new_zeroed())
    }
}

impl<T> Arc<[T]> {
    /// A reference to values that are not there yet.
    #[must_use]
    #[track_caller]
    pub fn new_uninit_slice(length: usize) -> Arc<[MaybeUninit<T>]> {
        Arc::from_std(std_sync::Arc::new_uninit_slice(length))
    }

    /// The same, where all bytes are 0.
    #[must_use]
    #[track_caller]
    pub fn new_zeroed_slice(length: usize) -> Arc<[MaybeUninit<T>]> {
        Arc::from_std(std_sync::Arc::new_zeroed_slice(length))
    }
}

impl<T> Arc<MaybeUninit<T>> {
    /// The same reference, to a value that is there.
    ///
    /// # Safety
    ///
    /// The value must be there.
    #[must_use]
    #[track_caller]
    pub unsafe fn assume_init(self) -> Arc<T> {
        // SAFETY: the caller promises it.
        Self::coerce(self, |arc| unsafe { arc.assume_init() })
    }
}

impl<T> Arc<[MaybeUninit<T>]> {
    /// The same reference, to values that are there.
    ///
    /// # Safety
    ///
    /// The values must be there.
    #[must_use]
    #[track_caller]
    pub unsafe fn assume_init(self) -> Arc<[T]> {
        // SAFETY: the caller promises it.
        Self::coerce(self, |arc| unsafe { arc.assume_init() })
    }
}

impl Arc<dyn Any + Send + Sync> {
    /// The same reference with the type of its value, if that is `T`.
    ///
    /// # Errors
    ///
    /// If it is not.
    #[track_caller]
    pub fn downcast<T: Any + Send + Sync>(self) -> Result<Arc<T>, Self> {
        if !(*self).is::<T>() {
            return Err(self);
        }
        Ok(Self::coerce(self, |arc| match arc.downcast() {
            Ok(arc) => arc,
            Err(_) => unreachable!("the type was compared"),
        }))
    }
}

impl<T, const N: usize> TryFrom<Arc<[T]>> for Arc<[T; N]> {
    type Error = Arc<[T]>;

    #[track_caller]
    fn try_from(slice: Arc<[T]>) -> Result<Self, Arc<[T]>> {
        if slice.len() != N {
            return Err(slice);
        }
        Ok(Arc::coerce(slice, |arc| match arc.try_into() {
            Ok(arc) => arc,
            Err(_) => unreachable!("the length was compared"),
        }))
    }
}

impl<T> Default for Arc<[T]> {
    #[track_caller]
    fn default() -> Self {
        Self::from_std(std_sync::Arc::default())
    }
}

impl Default for Arc<str> {
    #[track_caller]
    fn default() -> Self {
        Self::from_std(std_sync::Arc::default())
    }
}

impl Default for Arc<CStr> {
    #[track_caller]
    fn default() -> Self {
        Self::from_std(std_sync::Arc::default())
    }
}

impl<T: ?Sized> Default for Pin<Arc<T>>
where
    Arc<T>: Default,
{
    #[track_caller]
    fn default() -> Self {
        // SAFETY: what an `Arc` refers to does not move.
        unsafe { Pin::new_unchecked(Arc::default()) }
    }
}

impl<T: ?Sized> Unpin for Arc<T> {}
