//! What an [`Arc`] has in common with what it refers to.

use std::borrow::Borrow;
use std::cmp;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Deref;
use std::sync as std_sync;
use std::task::{Wake, Waker};

use super::Arc;

impl<T: ?Sized> Deref for Arc<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.inner
    }
}

impl<T: ?Sized> AsRef<T> for Arc<T> {
    fn as_ref(&self) -> &T {
        self
    }
}

impl<T: ?Sized> Borrow<T> for Arc<T> {
    fn borrow(&self) -> &T {
        self
    }
}

impl<T: Default> Default for Arc<T> {
    #[track_caller]
    fn default() -> Self {
        Self::new(T::default())
    }
}

/// Everything that an `Arc` of the standard library can be made of.
impl<T: ?Sized, F> From<F> for Arc<T>
where
    std_sync::Arc<T>: From<F>,
{
    #[track_caller]
    fn from(value: F) -> Self {
        Self::from_std(value.into())
    }
}

impl<T> FromIterator<T> for Arc<[T]> {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        Self::from_std(items.into_iter().collect())
    }
}

/// A waker that holds a reference, so that it is counted.
struct Held<W>(Arc<W>);

impl<W: Wake + Send + Sync> Wake for Held<W> {
    fn wake(self: std_sync::Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &std_sync::Arc<Self>) {
        W::wake_by_ref(&self.0.inner);
    }
}

/// [`Wake`] itself is written for the `Arc` of the standard library, since only that can be the type of `self`.
impl<W: Wake + Send + Sync + 'static> From<Arc<W>> for Waker {
    fn from(arc: Arc<W>) -> Self {
        Self::from(std_sync::Arc::new(Held(arc)))
    }
}

impl<T: ?Sized + PartialEq> PartialEq for Arc<T> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl<T: ?Sized + Eq> Eq for Arc<T> {}

impl<T: ?Sized + PartialOrd> PartialOrd for Arc<T> {
    fn partial_cmp(&self, other: &Self) -> Option<cmp::Ordering> {
        (**self).partial_cmp(&**other)
    }
}

impl<T: ?Sized + Ord> Ord for Arc<T> {
    fn cmp(&self, other: &Self) -> cmp::Ordering {
        (**self).cmp(&**other)
    }
}

impl<T: ?Sized + Hash> Hash for Arc<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (**self).hash(state);
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for Arc<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: ?Sized + fmt::Display> fmt::Display for Arc<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: ?Sized> fmt::Pointer for Arc<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Pointer::fmt(&*self.inner, f)
    }
}

impl<T: ?Sized + std::error::Error> std::error::Error for Arc<T> {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        (**self).source()
    }
}
