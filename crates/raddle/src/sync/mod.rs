//! Synchronisation: as `std::sync`.

mod arc;
mod arc_contents;
mod arc_traits;
pub mod atomic;
mod barrier;
mod changes;
mod condvar;
mod lazy;
pub mod mpsc;
mod mutex;
mod once;
mod rwlock;
mod weak;

pub use arc::Arc;
pub use barrier::{Barrier, BarrierWaitResult};
pub use condvar::{Condvar, WaitTimeoutResult};
pub use lazy::LazyLock;
pub use mutex::{Mutex, MutexGuard};
#[allow(deprecated)]
pub use once::ONCE_INIT;
pub use once::{Once, OnceLock, OnceState};
pub use rwlock::{RwLock, RwLockReadGuard, RwLockWriteGuard};
pub use std::sync::{LockResult, PoisonError, TryLockError, TryLockResult};
pub use weak::Weak;
