//! Synchronisation: as `std::sync`.

//X mod arc;
pub mod atomic;
//X mod barrier;
//X mod condvar;
//X mod lazy;
//X pub mod mpsc;
mod mutex;
//X mod once;
//X mod rwlock;

//X pub use arc::{Arc, Weak};
//X pub use barrier::{Barrier, BarrierWaitResult};
//X pub use condvar::{Condvar, WaitTimeoutResult};
//X pub use lazy::LazyLock;
pub use mutex::{Mutex, MutexGuard};
//X pub use once::{Once, OnceLock, OnceState};
//X pub use rwlock::{RwLock, RwLockReadGuard, RwLockWriteGuard};
pub use std::sync::{LockResult, PoisonError, TryLockError, TryLockResult};
