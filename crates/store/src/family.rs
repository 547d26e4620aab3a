//! [`Family`]: the atomics and locks that a store is made of.
//!
//! Stores are generic over them, so that their code can be run under every schedule by a checker
//! that brings its own (`tests/schedules.rs`), and not only a model of it.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{PoisonError, RwLock};

/// 64 bits that several threads change.
pub trait Word: Send + Sync {
    /// A word of that value.
    fn new(value: u64) -> Self;

    /// That many zeros.
    fn zeros(len: usize) -> Box<[Self]>
    where
        Self: Sized,
    {
        (0..len).map(|_| Self::new(0)).collect()
    }

    /// The value, and everything that was written before whoever wrote it has
    /// [claimed](Self::claim) the word.
    fn load(&self) -> u64;

    /// The value alone.
    fn peek(&self) -> u64;

    /// Changes the value. Nobody learns of it but by other means.
    fn put(&self, value: u64);

    /// Replaces zero by a value and publishes what was written before, or says what is there
    /// instead.
    fn claim(&self, value: u64) -> Result<(), u64>;

    /// Sets bits, and returns what the value was.
    fn set(&self, bits: u64) -> u64;
}

/// A lock for many readers or one writer.
pub trait Lock<T>: Send + Sync {
    /// A lock that protects a value.
    fn new(value: T) -> Self;

    /// Looks at the value; others may as well.
    fn read<R>(&self, see: impl FnOnce(&T) -> R) -> R;

    /// Changes the value while nobody looks at it.
    fn write<R>(&self, change: impl FnOnce(&mut T) -> R) -> R;

    /// The value, if nobody else knows the lock.
    fn get_mut(&mut self) -> &mut T;
}

/// Where atomics and locks come from.
pub trait Family: Send + Sync + 'static {
    /// Its atomics.
    type Word: Word;
    /// Its locks.
    type Lock<T: Send + Sync>: Lock<T>;
}

/// Those of the standard library.
#[derive(Clone, Copy, Debug)]
pub struct Std;

impl Family for Std {
    type Word = AtomicU64;
    type Lock<T: Send + Sync> = RwLock<T>;
}

impl Word for AtomicU64 {
    #[inline]
    fn new(value: u64) -> Self {
        Self::new(value)
    }

    /// Memory that the system gives out is zero: whoever writes there first touches it, not whoever asks for it, who may hold a lock
    /// meanwhile.
    fn zeros(len: usize) -> Box<[Self]> {
        vec![0; len].into_iter().map(Self::new).collect()
    }

    #[inline]
    fn load(&self) -> u64 {
        self.load(Ordering::Acquire)
    }

    #[inline]
    fn peek(&self) -> u64 {
        self.load(Ordering::Relaxed)
    }

    #[inline]
    fn put(&self, value: u64) {
        self.store(value, Ordering::Relaxed);
    }

    #[inline]
    fn claim(&self, value: u64) -> Result<(), u64> {
        self.compare_exchange(0, value, Ordering::Release, Ordering::Acquire)
            .map(|_| ())
    }

    #[inline]
    fn set(&self, bits: u64) -> u64 {
        self.fetch_or(bits, Ordering::Relaxed)
    }
}

/// A thread that panicks while it holds the lock ends the whole search; what others see until then
/// does not matter.
impl<T: Send + Sync> Lock<T> for RwLock<T> {
    fn new(value: T) -> Self {
        Self::new(value)
    }

    fn read<R>(&self, see: impl FnOnce(&T) -> R) -> R {
        see(&self.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn write<R>(&self, change: impl FnOnce(&mut T) -> R) -> R {
        change(&mut self.write().unwrap_or_else(PoisonError::into_inner))
    }

    fn get_mut(&mut self) -> &mut T {
        self.get_mut().unwrap_or_else(PoisonError::into_inner)
    }
}
