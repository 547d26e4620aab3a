//! Atomics: as `std::sync::atomic`.
//!
//! A check begins with sequentially consistent executions, whatever ordering is asked for. If weaker ones than `SeqCst` are, it goes on with the executions
//! that a [memory model](crate::Memory) allows in addition. The orderings also decide what is a data race: see [`cell`](crate::cell).

use std::cell::{Cell, UnsafeCell};
use std::fmt;
use std::panic::RefUnwindSafe;

pub use std::sync::atomic::{Ordering, compiler_fence};

use raddle_outcome::Kind as Assumed;
use raddle_schedule::LocationId;

use crate::rt::operation::{Operation, Reason, Update, Width};
use crate::rt::{self, Home, Id, Kind, Misuse, Place, State, View, here, home};

/// A fence: as `std::sync::atomic::fence`. Where all atomics are sequentially consistent, it is no step, and only orders accesses to
/// [cells](crate::cell).
///
/// # Panics
///
/// If the ordering is `Relaxed`.
#[track_caller]
pub fn fence(order: Ordering) {
    assert!(
        order != Ordering::Relaxed,
        "there is no such thing as a relaxed fence"
    );
    if rt::is_graph() {
        rt::perform(|_| Ok(Operation::Fence { order }));
        return;
    }
    rt::with(|state| state.note_fence(order));
}

/// As [`hint::spin_loop`](crate::hint::spin_loop).
#[deprecated(note = "as in `std`: use `hint::spin_loop` instead")]
#[track_caller]
pub fn spin_loop_hint() {
    crate::hint::spin_loop();
}

/// As its namesake in `std::sync::atomic`.
#[deprecated(note = "as in `std`: the `new` function is preferred")]
#[allow(clippy::declare_interior_mutable_const)]
pub const ATOMIC_BOOL_INIT: AtomicBool = AtomicBool::new(false);
/// As its namesake in `std::sync::atomic`.
#[deprecated(note = "as in `std`: the `new` function is preferred")]
#[allow(clippy::declare_interior_mutable_const)]
pub const ATOMIC_ISIZE_INIT: AtomicIsize = AtomicIsize::new(0);
/// As its namesake in `std::sync::atomic`.
#[deprecated(note = "as in `std`: the `new` function is preferred")]
#[allow(clippy::declare_interior_mutable_const)]
pub const ATOMIC_USIZE_INIT: AtomicUsize = AtomicUsize::new(0);

/// What all atomics have in common: 64 bits that the runtime keeps.
struct Word<'a> {
    id: &'a Id,
    initial: u64,
}

impl Word<'_> {
    fn locate(
        &self,
        state: &mut State,
        order: Ordering,
        place: Place,
    ) -> Result<LocationId, Misuse> {
        state.orders(order, place);
        state.locate(self.id, Kind::Atomic, || self.initial)
    }

    #[track_caller]
    fn load(&self, order: Ordering) -> u64 {
        match order {
            Ordering::Release => panic!("there is no such thing as a release load"),
            Ordering::AcqRel => panic!("there is no such thing as an acquire-release load"),
            _ => {}
        }
        let place = here();
        rt::perform_at(place, |state| {
            let at = self.locate(state, order, place)?;
            state.reads(order, place);
            Ok(Operation::Load { at, order })
        })
    }

    #[track_caller]
    fn store(&self, value: u64, order: Ordering) {
        match order {
            Ordering::Acquire => panic!("there is no such thing as an acquire store"),
            Ordering::AcqRel => panic!("there is no such thing as an acquire-release store"),
            _ => {}
        }
        let place = here();
        rt::perform_at(place, |state| {
            let at = self.locate(state, order, place)?;
            Ok(Operation::Store { at, value, order })
        });
    }

    #[track_caller]
    fn update(&self, update: Update, operand: u64, order: Ordering) -> u64 {
        let place = here();
        rt::perform_at(place, |state| {
            let at = self.locate(state, order, place)?;
            state.reads(order, place);
            Ok(Operation::Update {
                at,
                update,
                operand,
                order,
            })
        })
    }

    #[track_caller]
    fn compare_exchange(
        &self,
        expected: u64,
        new: u64,
        success: Ordering,
        failure: Ordering,
    ) -> Result<u64, u64> {
        match failure {
            Ordering::Release => panic!("there is no such thing as a release failure ordering"),
            Ordering::AcqRel => {
                panic!("there is no such thing as an acquire-release failure ordering")
            }
            _ => {}
        }
        let place = here();
        let old = rt::perform_at(place, |state| {
            state.orders(failure, place);
            state.reads(success, place);
            state.reads(failure, place);
            let at = self.locate(state, success, place)?;
            Ok(Operation::CompareExchange {
                at,
                expected,
                new,
                success,
                failure,
            })
        });
        if old == expected { Ok(old) } else { Err(old) }
    }

    #[track_caller]
    fn compare_exchange_weak(
        &self,
        expected: u64,
        new: u64,
        success: Ordering,
        failure: Ordering,
    ) -> Result<u64, u64> {
        let place = here();
        let may_fail = rt::with(|state| {
            if !state.settings.weak_failures {
                state.assume(Assumed::WeakFailures.at(place));
            }
            state.settings.weak_failures
        });
        let fails = may_fail
            && rt::perform(|_| {
                Ok(Operation::Choose {
                    alternatives: 2,
                    reason: Reason::WeakFailure,
                })
            }) == 1;
        if fails {
            return Err(self.load(failure));
        }
        self.compare_exchange(expected, new, success, failure)
    }

    /// The value now, without a step.
    fn peek(&self) -> u64 {
        let known = rt::try_current().and_then(|_| rt::with(|state| state.peek(self.id)));
        known.unwrap_or(self.initial)
    }
}

macro_rules! common {
    ($name:ident $(<$parameter:ident>)?, $type:ty, $bits:expr, $value:expr) => {
        // SAFETY: the runtime keeps the value; what is inside is read at the first use and written by who has it
        // exclusively.
        unsafe impl$(<$parameter>)? Sync for $name$(<$parameter>)? {}
        // SAFETY: it is only a value.
        unsafe impl$(<$parameter>)? Send for $name$(<$parameter>)? {}
        impl$(<$parameter>)? RefUnwindSafe for $name$(<$parameter>)? {}

        // SAFETY: it has no destructor.
        unsafe impl$(<$parameter>)? View for $name$(<$parameter>)? {}

        // SAFETY: it consists of plain values.
        unsafe impl$(<$parameter>)? Home for $name$(<$parameter>)? {
            fn id(&self) -> &Id {
                &self.id
            }
        }

        impl$(<$parameter>)? $name$(<$parameter>)? {
            /// An atomic with this value.
            pub const fn new(value: $type) -> Self {
                Self {
                    id: Id::new(),
                    value: UnsafeCell::new(value),
                    memory: Cell::new(std::ptr::null_mut()),
                }
            }

            /// An atomic that stands for this memory. What is stored in it is also written to the memory.
            ///
            /// All references to the same memory are one atomic. If the memory was changed by other means since the last
            /// call, it is a new one. Unlike its namesake in `std`, it is no constant function.
            ///
            /// # Safety
            ///
            /// As in `std`: the memory must be valid for `'a`, and may not be accessed by other means at the same time.
            #[must_use]
            #[track_caller]
            pub unsafe fn from_ptr<'a>(pointer: *mut $type) -> &'a Self {
                // SAFETY: the caller promises that the memory is valid, and that nobody writes it by other means.
                let now = unsafe { *pointer };
                let make = || {
                    let atomic = Self::new(now);
                    atomic.memory.set(pointer);
                    atomic
                };
                let name = stringify!($name);
                let view = rt::with(|state| {
                    state.view(pointer.addr(), name, make, |state, view: &Self| {
                        let known = state.peek(&view.id);
                        // SAFETY: it is written by who has it exclusively only.
                        let value = known.unwrap_or_else(|| $bits(unsafe { *view.value.get() }));
                        value == $bits(now)
                    })
                });
                // SAFETY: views are kept until the execution is over, and so is all code that has the reference.
                unsafe { &*view }
            }

            #[track_caller]
            fn change(&self, update: Update, operand: u64, order: Ordering) -> $type {
                let old = self.word().update(update, operand, order);
                self.write_through();
                $value(old)
            }

            /// Writes its value to the memory that this stands for, if it does: the last one in modification order.
            fn write_through(&self) {
                let memory = self.memory.get();
                if !memory.is_null() {
                    let value = $value(self.word().peek());
                    // SAFETY: who called `from_ptr` has promised that the memory is valid. No other thread runs between
                    // the step that has changed the atomic and this.
                    unsafe { *memory = value };
                }
            }

            fn word(&self) -> Word<'_> {
                let this = home(self);
                Word {
                    id: &this.id,
                    // SAFETY: it is written by who has it exclusively only.
                    initial: $bits(unsafe { *this.value.get() }),
                }
            }

            /// Reads it.
            #[track_caller]
            pub fn load(&self, order: Ordering) -> $type {
                $value(self.word().load(order))
            }

            /// Reads it by a plain load: a data race, unless all stores are ordered with it by synchronisation.
            #[doc(hidden)]
            #[track_caller]
            pub fn plain_load(&self) -> $type {
                let place = here();
                let value = self.load(Ordering::Relaxed);
                let id = home(self).id();
                if let Some(race) = rt::with(|state| state.plain_load(id, place)) {
                    rt::fail(race);
                }
                value
            }

            /// Writes it.
            #[track_caller]
            pub fn store(&self, value: $type, order: Ordering) {
                self.word().store($bits(value), order);
                self.write_through();
            }

            /// Writes it, and returns what was there.
            #[track_caller]
            pub fn swap(&self, value: $type, order: Ordering) -> $type {
                self.change(Update::Swap, $bits(value), order)
            }

            /// Writes it if it has the value `current`.
            ///
            /// # Errors
            ///
            /// If it has another value.
            #[track_caller]
            pub fn compare_exchange(
                &self,
                current: $type,
                new: $type,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$type, $type> {
                self.word()
                    .compare_exchange($bits(current), $bits(new), success, failure)
                    .inspect(|_| self.write_through())
                    .map($value)
                    .map_err($value)
            }

            /// The same, but may fail for no reason: see `Checker::weak_failures`.
            ///
            /// # Errors
            ///
            /// If it has another value, or for no reason.
            #[track_caller]
            pub fn compare_exchange_weak(
                &self,
                current: $type,
                new: $type,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$type, $type> {
                self.word()
                    .compare_exchange_weak($bits(current), $bits(new), success, failure)
                    .inspect(|_| self.write_through())
                    .map($value)
                    .map_err($value)
            }

            /// Changes it by a function, again and again until nobody comes in between.
            ///
            /// # Errors
            ///
            /// If the function returns `None`.
            #[track_caller]
            pub fn fetch_update<F>(
                &self,
                set_order: Ordering,
                fetch_order: Ordering,
                f: F,
            ) -> Result<$type, $type>
            where
                F: FnMut($type) -> Option<$type>,
            {
                self.try_update(set_order, fetch_order, f)
            }

            /// Changes it by a function, again and again until nobody comes in between. Returns what was there.
            ///
            /// # Errors
            ///
            /// If the function returns `None`.
            #[track_caller]
            pub fn try_update(
                &self,
                set_order: Ordering,
                fetch_order: Ordering,
                mut f: impl FnMut($type) -> Option<$type>,
            ) -> Result<$type, $type> {
                let mut current = self.load(fetch_order);
                while let Some(new) = f(current) {
                    match self.compare_exchange_weak(current, new, set_order, fetch_order) {
                        Ok(old) => return Ok(old),
                        Err(now) => current = now,
                    }
                }
                Err(current)
            }

            /// Changes it by a function, again and again until nobody comes in between. Returns what was there.
            #[track_caller]
            pub fn update(
                &self,
                set_order: Ordering,
                fetch_order: Ordering,
                mut f: impl FnMut($type) -> $type,
            ) -> $type {
                let mut current = self.load(fetch_order);
                loop {
                    let new = f(current);
                    match self.compare_exchange_weak(current, new, set_order, fetch_order) {
                        Ok(old) => return old,
                        Err(now) => current = now,
                    }
                }
            }

            /// Writes it if it has the value `current`. Returns what was there.
            #[deprecated(note = "as in `std`: use `compare_exchange` or `compare_exchange_weak` instead")]
            #[track_caller]
            pub fn compare_and_swap(&self, current: $type, new: $type, order: Ordering) -> $type {
                let failure = match order {
                    Ordering::Release => Ordering::Relaxed,
                    Ordering::AcqRel => Ordering::Acquire,
                    order => order,
                };
                match self.compare_exchange(current, new, order, failure) {
                    Ok(old) | Err(old) => old,
                }
            }

            /// The value: nobody else has it.
            pub fn get_mut(&mut self) -> &mut $type {
                let value = self.word().peek();
                // What comes next is another location, with another first value.
                self.id.forget();
                let inside = self.value.get_mut();
                *inside = $value(value);
                inside
            }

            /// The value.
            pub fn into_inner(self) -> $type {
                $value(self.word().peek())
            }

            /// A pointer to the value. What is done with it is not seen.
            pub const fn as_ptr(&self) -> *mut $type {
                self.value.get()
            }
        }

        impl$(<$parameter>)? From<$type> for $name$(<$parameter>)? {
            fn from(value: $type) -> Self {
                Self::new(value)
            }
        }

        impl$(<$parameter>)? fmt::Debug for $name$(<$parameter>)? {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(&$value(self.word().peek()), f)
            }
        }
    };
}

macro_rules! fetch {
    ($type:ty, $bits:expr, $value:expr; $($(#[$attribute:meta])* $method:ident: $update:expr;)*) => {
        $(
            $(#[$attribute])*
            #[track_caller]
            pub fn $method(&self, value: $type, order: Ordering) -> $type {
                self.change($update, $bits(value), order)
            }
        )*
    };
}

macro_rules! integer {
    ($name:ident, $type:ty, $unsigned:ty, $max:expr, $min:expr) => {
        /// As its namesake in `std::sync::atomic`.
        pub struct $name {
            id: Id,
            value: UnsafeCell<$type>,
    /// The memory that it stands for, if it was made by `from_ptr`.
    memory: Cell<*mut $type>,
        }

        common!(
            $name,
            $type,
            |value: $type| value as $unsigned as u64,
            |bits: u64| bits as $unsigned as $type
        );

        impl $name {
            const WIDTH: Width = Width(<$type>::BITS as u8);

            fetch! {
                $type, |value: $type| value as $unsigned as u64, |bits: u64| bits as $unsigned as $type;
                /// Adds to it, and returns what was there.
                fetch_add: Update::Add(Self::WIDTH);
                /// Subtracts from it, and returns what was there.
                fetch_sub: Update::Sub(Self::WIDTH);
                /// Keeps the bits that are set in both, and returns what was there.
                fetch_and: Update::And;
                /// Keeps the bits that are not set in both, and returns what was there.
                fetch_nand: Update::Nand(Self::WIDTH);
                /// Sets bits, and returns what was there.
                fetch_or: Update::Or;
                /// Turns bits over, and returns what was there.
                fetch_xor: Update::Xor;
                /// Makes it at least this, and returns what was there.
                fetch_max: $max(Self::WIDTH);
                /// Makes it at most this, and returns what was there.
                fetch_min: $min(Self::WIDTH);
            }
        }

        impl Default for $name {
            fn default() -> Self {
                Self::new(0)
            }
        }
    };
}

macro_rules! integers {
    ($($unsigned:ident $type:ty, $signed:ident $signed_type:ty;)*) => {
        $(
            integer!($unsigned, $type, $type, |_| Update::Max, |_| Update::Min);
            integer!($signed, $signed_type, $type, Update::SignedMax, Update::SignedMin);
        )*
    };
}

integers! {
    AtomicU8 u8, AtomicI8 i8;
    AtomicU16 u16, AtomicI16 i16;
    AtomicU32 u32, AtomicI32 i32;
    AtomicU64 u64, AtomicI64 i64;
    AtomicUsize usize, AtomicIsize isize;
}

/// As `std::sync::atomic::AtomicBool`.
pub struct AtomicBool {
    id: Id,
    value: UnsafeCell<bool>,
    /// The memory that it stands for, if it was made by `from_ptr`.
    memory: Cell<*mut bool>,
}

common!(AtomicBool, bool, u64::from, |bits: u64| bits != 0);

impl AtomicBool {
    fetch! {
        bool, u64::from, |bits: u64| bits != 0;
        /// Ands it, and returns what was there.
        fetch_and: Update::And;
        /// Nands it, and returns what was there.
        fetch_nand: Update::Nand(Width(1));
        /// Ors it, and returns what was there.
        fetch_or: Update::Or;
        /// Xors it, and returns what was there.
        fetch_xor: Update::Xor;
    }

    /// Turns it over, and returns what was there.
    #[track_caller]
    pub fn fetch_not(&self, order: Ordering) -> bool {
        self.fetch_xor(true, order)
    }
}

impl Default for AtomicBool {
    fn default() -> Self {
        Self::new(false)
    }
}

/// As `std::sync::atomic::AtomicPtr`.
// Views of the same memory may differ in what is pointed to.
#[repr(C)]
pub struct AtomicPtr<T> {
    id: Id,
    value: UnsafeCell<*mut T>,
    /// The memory that it stands for, if it was made by `from_ptr`.
    memory: Cell<*mut *mut T>,
}

common!(
    AtomicPtr<T>,
    *mut T,
    |pointer: *mut T| pointer.expose_provenance() as u64,
    |bits: u64| std::ptr::with_exposed_provenance_mut::<T>(bits as usize)
);

/// By how much to change an address to move a pointer by a number of values.
fn bytes_of<T>(values: usize) -> usize {
    values.wrapping_mul(size_of::<T>())
}

macro_rules! fetch_pointer {
    ($($(#[$attribute:meta])* $method:ident: $update:expr, $operand:expr;)*) => {
        $(
            $(#[$attribute])*
            #[track_caller]
            pub fn $method(&self, value: usize, order: Ordering) -> *mut T {
                self.change($update, $operand(value) as u64, order)
            }
        )*
    };
}

impl<T> AtomicPtr<T> {
    const WIDTH: Width = Width(usize::BITS as u8);

    fetch_pointer! {
        /// Moves the pointer forward by this many values, and returns what was there.
        fetch_ptr_add: Update::Add(Self::WIDTH), bytes_of::<T>;
        /// Moves the pointer back by this many values, and returns what was there.
        fetch_ptr_sub: Update::Sub(Self::WIDTH), bytes_of::<T>;
        /// Moves the pointer forward by this many bytes, and returns what was there.
        fetch_byte_add: Update::Add(Self::WIDTH), bytes_of::<u8>;
        /// Moves the pointer back by this many bytes, and returns what was there.
        fetch_byte_sub: Update::Sub(Self::WIDTH), bytes_of::<u8>;
        /// Sets bits of the address, and returns what was there.
        fetch_or: Update::Or, bytes_of::<u8>;
        /// Keeps the bits of the address that are set in both, and returns what was there.
        fetch_and: Update::And, bytes_of::<u8>;
        /// Turns bits of the address over, and returns what was there.
        fetch_xor: Update::Xor, bytes_of::<u8>;
    }
}

impl<T> Default for AtomicPtr<T> {
    fn default() -> Self {
        Self::new(std::ptr::null_mut())
    }
}

impl<T> fmt::Pointer for AtomicPtr<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pointer: *mut T = std::ptr::with_exposed_provenance_mut(self.word().peek() as usize);
        fmt::Pointer::fmt(&pointer, f)
    }
}
