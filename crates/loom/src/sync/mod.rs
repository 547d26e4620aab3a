//! As `std::sync`, and [`Notify`].

pub mod atomic;
mod notify;

pub use notify::Notify;
pub use raddle::sync::mpsc;
pub use raddle::sync::{Arc, Barrier, Condvar, Mutex, MutexGuard, WaitTimeoutResult};
pub use raddle::sync::{LockResult, TryLockResult};
pub use raddle::sync::{RwLock, RwLockReadGuard, RwLockWriteGuard};
