//! [`Once`] and [`OnceLock`].

use std::cell::{Cell, UnsafeCell};
use std::fmt;
use std::mem::MaybeUninit;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::atomic::Ordering;

use raddle_schedule::LocationId;

use crate::rt::operation::{Operation, once};
use crate::rt::{self, Home, Id, Kind, Misuse, Place, State, here, home};

/// Something that is done once: as `std::sync::Once`.
pub struct Once {
    id: Id,
    /// What it is when it is used for the first time.
    initial: Cell<u64>,
}

// SAFETY: it is changed only by who has it alone.
unsafe impl Sync for Once {}
impl UnwindSafe for Once {}
impl RefUnwindSafe for Once {}

// SAFETY: it consists of plain values.
unsafe impl Home for Once {
    fn id(&self) -> &Id {
        &self.id
    }
}

/// What is known to the closure of [`Once::call_once_force`]: as `std::sync::OnceState`.
pub struct OnceState {
    poisoned: bool,
    /// What the initialisation ends with.
    pub(super) end: Cell<u64>,
}

impl OnceState {
    /// Whether an earlier attempt panicked.
    #[must_use]
    pub fn is_poisoned(&self) -> bool {
        self.poisoned
    }
}

impl fmt::Debug for OnceState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OnceState")
            .field("poisoned", &self.poisoned)
            .finish_non_exhaustive()
    }
}

impl Once {
    /// Nothing is done yet.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            id: Id::new(),
            initial: Cell::new(once::NEW),
        }
    }

    fn locate(&self, state: &mut State) -> Result<LocationId, Misuse> {
        state.locate(&self.id, Kind::Once, || self.initial.get())
    }

    /// Calls the closure unless that was done before, and waits until it is done.
    ///
    /// # Panics
    ///
    /// If an earlier call panicked.
    #[track_caller]
    pub fn call_once<F: FnOnce()>(&self, f: F) {
        self.call(false, |_| f());
    }

    /// The same, but calls the closure again if an earlier call panicked.
    #[track_caller]
    pub fn call_once_force<F: FnOnce(&OnceState)>(&self, f: F) {
        self.call(true, f);
    }

    #[track_caller]
    pub(super) fn call(&self, again: bool, f: impl FnOnce(&OnceState)) {
        let this = home(self);
        let found = rt::perform(|state| {
            Ok(Operation::OnceBegin {
                once: this.locate(state)?,
                again,
            })
        });
        match found {
            once::DONE => {}
            once::POISONED if !again => {
                panic!("Once instance has previously been poisoned");
            }
            _ => {
                let mut finish = Finish {
                    once: this,
                    place: here(),
                    state: once::POISONED,
                };
                let state = OnceState {
                    poisoned: found == once::POISONED,
                    end: Cell::new(once::DONE),
                };
                f(&state);
                finish.state = state.end.get();
            }
        }
    }

    /// Whether it is done.
    #[must_use]
    #[track_caller]
    pub fn is_completed(&self) -> bool {
        let this = home(self);
        let state = rt::perform(|state| {
            Ok(Operation::Load {
                at: this.locate(state)?,
                order: Ordering::Acquire,
            })
        });
        state == once::DONE
    }

    /// Waits until somebody has done it.
    ///
    /// # Panics
    ///
    /// If a call panicked.
    #[track_caller]
    pub fn wait(&self) {
        assert!(
            self.wait_until_done(false),
            "Once instance has previously been poisoned"
        );
    }

    /// The same, but waits on if a call panicked.
    #[track_caller]
    pub fn wait_force(&self) {
        self.wait_until_done(true);
    }

    #[track_caller]
    fn wait_until_done(&self, again: bool) -> bool {
        let this = home(self);
        let state = rt::perform(|state| {
            Ok(Operation::OnceWait {
                once: this.locate(state)?,
                again,
            })
        });
        state == once::DONE
    }

    /// Whether it is done, without a step.
    pub(super) fn peek(&self) -> bool {
        let known = rt::try_current().and_then(|_| rt::with(|state| state.peek(&self.id)));
        known.unwrap_or(self.initial.get()) == once::DONE
    }
}

/// As `std::sync::ONCE_INIT`.
#[deprecated(note = "as in `std`: the `Once::new()` function is preferred")]
#[allow(clippy::declare_interior_mutable_const)]
pub const ONCE_INIT: Once = Once::new();

impl Default for Once {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Once {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Once").finish_non_exhaustive()
    }
}

/// Ends an initialisation, also when it panics.
struct Finish<'a> {
    once: &'a Once,
    place: Place,
    state: u64,
}

impl Drop for Finish<'_> {
    fn drop(&mut self) {
        rt::perform_at(self.place, |state| {
            Ok(Operation::OnceFinish {
                once: self.once.locate(state)?,
                state: self.state,
            })
        });
    }
}

/// A value that is set once: as `std::sync::OnceLock`.
///
/// ```
/// use raddle::sync::OnceLock;
///
/// static NAME: OnceLock<String> = OnceLock::new();
///
/// raddle::check(|| {
///     let child = raddle::thread::spawn(|| NAME.get_or_init(|| "child".into()).clone());
///     let mine = NAME.get_or_init(|| "main".into());
///     assert_eq!(*mine, child.join().unwrap());
/// });
/// ```
pub struct OnceLock<T> {
    once: Once,
    value: UnsafeCell<MaybeUninit<T>>,
    /// Whether the value is there: what the destructor goes by.
    set: Cell<bool>,
}

// SAFETY: the value is written by who initialises it, while everybody else waits.
unsafe impl<T: Sync + Send> Sync for OnceLock<T> {}
// SAFETY: it owns its value.
unsafe impl<T: Send> Send for OnceLock<T> {}
impl<T: RefUnwindSafe + UnwindSafe> RefUnwindSafe for OnceLock<T> {}
impl<T: UnwindSafe> UnwindSafe for OnceLock<T> {}

// SAFETY: the value of a constant is not there, and all else is plain.
unsafe impl<T> Home for OnceLock<T> {
    fn id(&self) -> &Id {
        &self.once.id
    }
}

impl<T> OnceLock<T> {
    /// No value.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            once: Once::new(),
            value: UnsafeCell::new(MaybeUninit::uninit()),
            set: Cell::new(false),
        }
    }

    /// # Safety
    ///
    /// The value must be there.
    unsafe fn value(&self) -> &T {
        // SAFETY: the caller knows that the value is there; it is not changed any more.
        unsafe { (*self.value.get()).assume_init_ref() }
    }

    /// The value, if it is set.
    #[track_caller]
    pub fn get(&self) -> Option<&T> {
        let this = home(self);
        if this.once.is_completed() {
            // SAFETY: it is done.
            Some(unsafe { this.value() })
        } else {
            None
        }
    }

    /// The value, which nobody else has.
    pub fn get_mut(&mut self) -> Option<&mut T> {
        if self.set.get() {
            // SAFETY: it is set.
            Some(unsafe { self.value.get_mut().assume_init_mut() })
        } else {
            None
        }
    }

    /// Waits until the value is set.
    #[track_caller]
    pub fn wait(&self) -> &T {
        let this = home(self);
        this.once.wait_force();
        // SAFETY: it is done.
        unsafe { this.value() }
    }

    /// Sets the value.
    ///
    /// # Errors
    ///
    /// If it is set already.
    #[track_caller]
    pub fn set(&self, value: T) -> Result<(), T> {
        let mut value = Some(value);
        self.get_or_init(|| value.take().expect("the closure is called once"));
        match value {
            None => Ok(()),
            Some(value) => Err(value),
        }
    }

    /// The value, which is set first if it was not.
    #[track_caller]
    pub fn get_or_init<F: FnOnce() -> T>(&self, f: F) -> &T {
        let this = home(self);
        this.once.call(true, |_| {
            let value = f();
            // SAFETY: everybody else waits until this is done.
            unsafe { (*this.value.get()).write(value) };
            this.set.set(true);
        });
        // SAFETY: it is done.
        unsafe { this.value() }
    }

    /// Takes the value.
    pub fn take(&mut self) -> Option<T> {
        if !self.set.replace(false) {
            return None;
        }
        // It is as new.
        self.once.id.forget();
        self.once.initial.set(once::NEW);
        // SAFETY: it was set, and is no longer.
        Some(unsafe { self.value.get_mut().assume_init_read() })
    }

    /// The value.
    pub fn into_inner(mut self) -> Option<T> {
        self.take()
    }

    /// Sets the value without a step: for who knows that it is alone, and that nobody looks before.
    pub(super) fn set_quietly(&self, value: T) {
        debug_assert!(!self.set.get());
        // SAFETY: the caller is alone.
        unsafe { (*self.value.get()).write(value) };
        self.set.set(true);
    }

    /// The value, for who knows that it was set.
    pub(super) fn value_that_is_set(&self) -> &T {
        assert!(self.set.get(), "the value is not set");
        // SAFETY: it is set.
        unsafe { self.value() }
    }

    /// The value if it is set, without a step.
    fn peek(&self) -> Option<&T> {
        let this = home(self);
        // SAFETY: it is done.
        this.once.peek().then(|| unsafe { this.value() })
    }
}

impl<T> Drop for OnceLock<T> {
    fn drop(&mut self) {
        drop(self.take());
    }
}

impl<T> Default for OnceLock<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: Clone> Clone for OnceLock<T> {
    #[track_caller]
    fn clone(&self) -> Self {
        self.get()
            .map_or_else(Self::new, |value| value.clone().into())
    }
}

impl<T> From<T> for OnceLock<T> {
    fn from(value: T) -> Self {
        let new = Self::new();
        new.set_quietly(value);
        new.once.initial.set(once::DONE);
        new
    }
}

impl<T: PartialEq> PartialEq for OnceLock<T> {
    fn eq(&self, other: &Self) -> bool {
        self.get() == other.get()
    }
}

impl<T: Eq> Eq for OnceLock<T> {}

impl<T: fmt::Debug> fmt::Debug for OnceLock<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_tuple("OnceLock");
        match self.peek() {
            Some(value) => shown.field(value),
            None => shown.field(&format_args!("<uninit>")),
        };
        shown.finish()
    }
}
