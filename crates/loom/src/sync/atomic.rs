//! As `std::sync::atomic`.

use std::ops::Deref;

use raddle::sync::atomic as raddle;

pub use self::raddle::{Ordering, fence};

/// As [`hint::spin_loop`](crate::hint::spin_loop).
#[track_caller]
pub fn spin_loop_hint() {
    crate::hint::spin_loop();
}

macro_rules! atomic {
    ($name:ident $(<$parameter:ident>)?, $type:ty) => {
        /// As its namesake in `std::sync::atomic`, with what loom adds.
        pub struct $name$(<$parameter>)?(raddle::$name$(<$parameter>)?);

        impl$(<$parameter>)? $name$(<$parameter>)? {
            /// An atomic with this value.
            pub const fn new(value: $type) -> Self {
                Self(raddle::$name::new(value))
            }

            /// Reads it by an access that is not atomic. It is a data race if that is not ordered with a store of another thread.
            ///
            /// # Safety
            ///
            /// In a program that is not under test this would be no atomic access.
            #[track_caller]
            pub unsafe fn unsync_load(&self) -> $type {
                self.0.plain_load()
            }

            /// Lets a closure have the value: nobody else has it.
            #[track_caller]
            pub fn with_mut<R>(&mut self, f: impl FnOnce(&mut $type) -> R) -> R {
                f(self.0.get_mut())
            }

            /// The value.
            #[track_caller]
            pub fn into_inner(self) -> $type {
                self.0.into_inner()
            }

            /// Writes it if it has the value `current`. Returns what was there.
            #[track_caller]
            pub fn compare_and_swap(&self, current: $type, new: $type, order: Ordering) -> $type {
                let failure = match order {
                    Ordering::Release => Ordering::Relaxed,
                    Ordering::AcqRel => Ordering::Acquire,
                    order => order,
                };
                match self.0.compare_exchange(current, new, order, failure) {
                    Ok(old) | Err(old) => old,
                }
            }
        }

        impl$(<$parameter>)? Deref for $name$(<$parameter>)? {
            type Target = raddle::$name$(<$parameter>)?;

            fn deref(&self) -> &Self::Target {
                &self.0
            }
        }

        impl$(<$parameter>)? Default for $name$(<$parameter>)? {
            fn default() -> Self {
                Self(raddle::$name::default())
            }
        }

        impl$(<$parameter>)? From<$type> for $name$(<$parameter>)? {
            fn from(value: $type) -> Self {
                Self::new(value)
            }
        }

        impl$(<$parameter>)? std::fmt::Debug for $name$(<$parameter>)? {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

atomic!(AtomicBool, bool);
atomic!(AtomicU8, u8);
atomic!(AtomicU16, u16);
atomic!(AtomicU32, u32);
atomic!(AtomicU64, u64);
atomic!(AtomicUsize, usize);
atomic!(AtomicI8, i8);
atomic!(AtomicI16, i16);
atomic!(AtomicI32, i32);
atomic!(AtomicI64, i64);
atomic!(AtomicIsize, isize);
atomic!(AtomicPtr<T>, *mut T);
