//! [`Arc`].

use std::mem::ManuallyDrop;
use std::pin::Pin;
use std::sync as std_sync;
use std::sync::atomic::Ordering;

use raddle_schedule::LocationId;

use super::Weak;
use super::arc_contents::Duplicate;
use crate::rt::operation::{Operation, Update, Width, count};
use crate::rt::{self, Counted, Place, State, Use, here};

/// A counted reference: as `std::sync::Arc`.
///
/// It is a failure if one is still alive at the end of an execution (see `Checker::leaks`). One that was made
/// outside of a check behaves as that of the standard library.
///
/// It does not turn into an `Arc<dyn Trait>` or an `Arc<[T]>` by itself, as only that of the standard library can on stable Rust. A box
/// does, and becomes an `Arc` of the one or the other library by [`From`]; what is an `Arc` already is turned by
/// [`coerce`](Self::coerce). Nor can it be the type of `self`: where a method takes `self: Arc<Self>`, let it take `this: Arc<Self>`.
///
/// ```
/// use std::fmt::Display;
/// use raddle::sync::Arc;
///
/// raddle::check(|| {
///     let shown: Arc<dyn Display> = Arc::from(Box::new(5) as Box<dyn Display>);
///     assert_eq!(shown.to_string(), "5");
///     let list: Arc<[u32]> = Arc::from([1, 2, 3]);
///     assert_eq!(list.len(), 3);
///     let text: Arc<str> = "abc".into();
///     assert_eq!(&*text, "abc");
/// });
/// ```
pub struct Arc<T: ?Sized> {
    pub(super) inner: ManuallyDrop<std_sync::Arc<T>>,
    /// None outside of a check.
    pub(super) counted: Option<Counted>,
    /// Where it was made: destructors have no place of their own.
    pub(super) made: Place,
}

/// Looks at the state of something that is counted, if there is an execution that it belongs to.
pub(super) fn with_count<R>(
    counted: Option<Counted>,
    look: impl FnOnce(&mut State, Counted) -> Option<R>,
) -> Option<R> {
    let counted = counted?;
    rt::try_current()?;
    rt::with(|state| look(state, counted))
}

/// Changes a count, if changing it is a step.
pub(super) fn add(counted: Option<Counted>, place: Place, amount: u64) {
    if let Some(at) = with_count(counted, |state, counted| state.count_of(counted)) {
        rt::perform_at(place, |_| Ok(Operation::Count { at, add: amount }));
    }
}

/// What a thread finds that looks at a count, where that need not be the count now: where executions are graphs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Counts {
    pub(super) strong: usize,
    pub(super) weak: usize,
}

/// Looks at a count: from now on, changing it is a step.
#[track_caller]
pub(super) fn observe(counted: Option<Counted>, order: Ordering) -> Option<Counts> {
    let at = with_count(counted, State::count_matters)?;
    let found = rt::perform(|_| Ok(Operation::Load { at, order }));
    rt::is_graph().then_some(Counts {
        strong: (found & count::STRONG) as usize,
        weak: (found / count::WEAK) as usize,
    })
}

/// A reference goes away, as a step. Who drops the last one knows what was done with the others.
fn count_down(at: LocationId, place: Place, is_ordered: bool) {
    let add = 1u64.wrapping_neg();
    if !rt::is_graph() {
        rt::perform_at(place, |_| {
            Ok(if is_ordered {
                Operation::Update {
                    at,
                    update: Update::Sub(Width(64)),
                    operand: 1,
                    order: Ordering::AcqRel,
                }
            } else {
                Operation::Count { at, add }
            })
        });
        return;
    }
    let found = rt::perform_at(place, |_| Ok(Operation::Count { at, add }));
    if found & count::STRONG == 1 {
        let order = Ordering::Acquire;
        rt::perform_at(place, |_| Ok(Operation::Fence { order }));
    }
}

/// There is no other reference: what follows comes after what was done with the others.
fn is_the_only_one(counted: Option<Counted>) {
    with_count(counted, |state, counted| {
        state.finds_only_reference(counted);
        Some(())
    });
}

#[track_caller]
fn new_count(strong: u64, address: usize) -> Option<Counted> {
    let place = here();
    rt::try_current().map(|_| rt::with(|state| state.add_counted(place, strong, address)))
}

fn address_of<T: ?Sized>(inner: &std_sync::Arc<T>) -> usize {
    std_sync::Arc::as_ptr(inner).cast::<()>().addr()
}

/// While the content is dropped, operations are remembered to have been made by that.
struct Dropping;

impl Dropping {
    fn begin(counted: Option<Counted>) -> Option<Self> {
        with_count(counted, |state, counted| {
            state.remove_counted(counted);
            let current = state.current;
            state.thread_mut(current).dropping.push(counted);
            Some(Self)
        })
    }
}

impl Drop for Dropping {
    fn drop(&mut self) {
        rt::with(|state| {
            let current = state.current;
            state.thread_mut(current).dropping.pop();
        });
    }
}

impl<T> Arc<T> {
    /// A reference to a new value.
    #[track_caller]
    pub fn new(value: T) -> Self {
        Self::from_std(std_sync::Arc::new(value))
    }

    /// The same, in a way that never moves.
    #[track_caller]
    pub fn pin(value: T) -> Pin<Self> {
        // SAFETY: what an `Arc` refers to does not move.
        unsafe { Pin::new_unchecked(Self::new(value)) }
    }

    /// A reference to a new value that has a weak one to itself.
    #[track_caller]
    pub fn new_cyclic<F>(make: F) -> Self
    where
        F: FnOnce(&Weak<T>) -> T,
    {
        let made = here();
        let counted = new_count(0, 0);
        let inner = std_sync::Arc::new_cyclic(|weak| {
            let weak = Weak {
                inner: ManuallyDrop::new(weak.clone()),
                counted,
                made,
            };
            let value = make(&weak);
            // It was made without counting it.
            weak.drop_uncounted();
            value
        });
        with_count(counted, |state, counted| {
            state.set_address(counted, address_of(&inner));
            Some(())
        });
        add(counted, made, 1);
        Self {
            inner: ManuallyDrop::new(inner),
            counted,
            made,
        }
    }

    /// The value, if this is the only reference.
    ///
    /// # Errors
    ///
    /// If it is not.
    #[track_caller]
    pub fn try_unwrap(this: Self) -> Result<T, Self> {
        if take_only(this.counted) == Taken::Others {
            return Err(this);
        }
        let (inner, counted, made) = this.into_parts();
        let last = std_sync::Arc::strong_count(&inner) == 1;
        drop_reference(counted, last);
        std_sync::Arc::try_unwrap(inner)
            .inspect(|_| removed(counted))
            .map_err(|inner| Self {
                inner: ManuallyDrop::new(inner),
                counted,
                made,
            })
    }

    /// The value, if this was the last reference.
    #[track_caller]
    pub fn into_inner(this: Self) -> Option<T> {
        if let Some(at) = with_count(this.counted, State::count_matters) {
            count_down(at, here(), true);
        }
        let (inner, counted, _) = this.into_parts();
        drop_reference(counted, std_sync::Arc::strong_count(&inner) == 1);
        std_sync::Arc::into_inner(inner).inspect(|_| removed(counted))
    }

    /// The value, or a copy of it if this is not the only reference.
    #[track_caller]
    pub fn unwrap_or_clone(this: Self) -> T
    where
        T: Clone,
    {
        Self::try_unwrap(this).unwrap_or_else(|this| (*this).clone())
    }
}

/// Whether there are other references.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Taken {
    /// There are, as far as the thread knows: where executions are graphs, some may be gone.
    Others,
    /// What the count says now decides.
    AsCounted,
}

#[track_caller]
fn take_only(counted: Option<Counted>) -> Taken {
    let Some(count) = with_count(counted, State::count_matters) else {
        return Taken::AsCounted;
    };
    match rt::perform(|_| Ok(Operation::TakeOnly { count })) {
        strong if strong != 1 && rt::is_graph() => Taken::Others,
        _ => Taken::AsCounted,
    }
}

fn drop_reference(counted: Option<Counted>, last: bool) {
    with_count(counted, |state, counted| {
        state.drop_reference(counted, last);
        Some(())
    });
}

/// The thread has nothing to do any more with what a reference refers to: with its memory neither.
pub(super) fn leaves(counted: Option<Counted>) {
    with_count(counted, |state, counted| {
        state.leaves_memory(counted);
        Some(())
    });
}

fn removed(counted: Option<Counted>) {
    with_count(counted, |state, counted| {
        state.remove_counted(counted);
        Some(())
    });
}

impl<T: ?Sized> Arc<T> {
    /// Makes one of that of the standard library. If there are several of those for one value, each becomes one that is
    /// counted by itself.
    #[track_caller]
    pub fn from_std(inner: std_sync::Arc<T>) -> Self {
        let counted = new_count(1, address_of(&inner));
        if std_sync::Arc::strong_count(&inner) > 1 || std_sync::Arc::weak_count(&inner) > 0 {
            with_count(counted, |state, _| {
                state.is_shared_with_std(address_of(&inner));
                Some(())
            });
        }
        Self {
            inner: ManuallyDrop::new(inner),
            counted,
            made: here(),
        }
    }

    pub(super) fn into_parts(self) -> (std_sync::Arc<T>, Option<Counted>, Place) {
        let mut this = ManuallyDrop::new(self);
        // SAFETY: `this` is not used again.
        let inner = unsafe { ManuallyDrop::take(&mut this.inner) };
        (inner, this.counted, this.made)
    }

    /// How many references there are.
    #[must_use]
    #[track_caller]
    pub fn strong_count(this: &Self) -> usize {
        let found = observe(this.counted, Ordering::Relaxed);
        found.map_or_else(
            || std_sync::Arc::strong_count(&this.inner),
            |found| found.strong,
        )
    }

    /// How many weak references there are.
    #[must_use]
    #[track_caller]
    pub fn weak_count(this: &Self) -> usize {
        let found = observe(this.counted, Ordering::Relaxed);
        found.map_or_else(
            || std_sync::Arc::weak_count(&this.inner),
            |found| found.weak,
        )
    }

    /// The value, if this is the only reference.
    #[track_caller]
    pub fn get_mut(this: &mut Self) -> Option<&mut T> {
        let found = observe(this.counted, Ordering::Acquire);
        if found.is_some_and(|found| found.strong != 1) {
            return None;
        }
        let counted = this.counted;
        std_sync::Arc::get_mut(&mut this.inner).inspect(|_| is_the_only_one(counted))
    }

    /// The value, of which this becomes the only reference.
    #[track_caller]
    pub fn make_mut(this: &mut Self) -> &mut T
    where
        T: Duplicate,
    {
        let found = observe(this.counted, Ordering::Acquire);
        let strong = found.map_or_else(
            || std_sync::Arc::strong_count(&this.inner),
            |found| found.strong,
        );
        if strong != 1 {
            *this = Self::from_std((**this).duplicate());
        }
        is_the_only_one(this.counted);
        T::only(&mut this.inner)
    }

    /// A weak reference.
    #[must_use]
    #[track_caller]
    pub fn downgrade(this: &Self) -> Weak<T> {
        add(this.counted, here(), count::WEAK);
        Weak {
            inner: ManuallyDrop::new(std_sync::Arc::downgrade(&this.inner)),
            counted: this.counted,
            made: this.made,
        }
    }

    /// Whether two refer to the same.
    #[must_use]
    pub fn ptr_eq(this: &Self, other: &Self) -> bool {
        std_sync::Arc::ptr_eq(&this.inner, &other.inner)
    }

    /// Where the value is.
    #[must_use]
    pub fn as_ptr(this: &Self) -> *const T {
        std_sync::Arc::as_ptr(&this.inner)
    }

    /// Turns it into a pointer.
    #[must_use]
    pub fn into_raw(this: Self) -> *const T {
        let (inner, counted, _) = this.into_parts();
        let pointer = std_sync::Arc::into_raw(inner);
        with_count(counted, |state, counted| {
            state.remember_raw(pointer.cast::<()>().addr(), counted);
            Some(())
        });
        pointer
    }

    /// Turns a pointer back.
    ///
    /// # Safety
    ///
    /// As for `std::sync::Arc::from_raw`: it undoes [`into_raw`](Self::into_raw), or forgetting a reference whose
    /// [`as_ptr`](Self::as_ptr) this is.
    #[track_caller]
    pub unsafe fn from_raw(pointer: *const T) -> Self {
        let address = pointer.cast::<()>().addr();
        let place = here();
        let used = |state: &mut State| state.uses_address(address, Use::Reference, place);
        if let Some(failure) = rt::try_current().and_then(|_| rt::with(used)) {
            rt::fail(failure);
        }
        // SAFETY: the caller promises it.
        let inner = unsafe { std_sync::Arc::from_raw(pointer) };
        let counted = rt::try_current().and_then(|_| rt::with(|state| state.recall_raw(address)));
        Self {
            inner: ManuallyDrop::new(inner),
            counted,
            made: here(),
        }
    }

    /// Adds a reference to what a pointer refers to.
    ///
    /// # Safety
    ///
    /// It must come from [`into_raw`](Self::into_raw), and the reference must be alive.
    #[track_caller]
    pub unsafe fn increment_strong_count(pointer: *const T) {
        // SAFETY: the caller promises it; the reference is only borrowed.
        let this = ManuallyDrop::new(unsafe { Self::from_raw(pointer) });
        std::mem::forget((*this).clone());
    }

    /// Drops a reference to what a pointer refers to.
    ///
    /// # Safety
    ///
    /// It must come from [`into_raw`](Self::into_raw), and the reference must be alive.
    #[track_caller]
    pub unsafe fn decrement_strong_count(pointer: *const T) {
        // SAFETY: the caller promises it.
        drop(unsafe { Self::from_raw(pointer) });
    }
}

impl<T: ?Sized> Clone for Arc<T> {
    #[track_caller]
    fn clone(&self) -> Self {
        add(self.counted, here(), 1);
        Self {
            inner: self.inner.clone(),
            counted: self.counted,
            made: self.made,
        }
    }
}

impl<T: ?Sized> Drop for Arc<T> {
    fn drop(&mut self) {
        let count = with_count(self.counted, |state, counted| state.count_to_drop(counted));
        if let Some((at, is_ordered)) = count {
            count_down(at, self.made, is_ordered);
        }
        // Others may have dropped theirs until now.
        let last = std_sync::Arc::strong_count(&self.inner) == 1;
        drop_reference(self.counted, last);
        let _dropping = if last {
            Dropping::begin(self.counted)
        } else {
            None
        };
        // SAFETY: it is not used again.
        unsafe { ManuallyDrop::drop(&mut self.inner) };
        if last {
            // Its destructor has used it. Who drops the last weak reference comes after that.
            leaves(self.counted);
        }
    }
}
