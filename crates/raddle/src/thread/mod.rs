//! Threads: as `std::thread`.
//!
//! ```
//! raddle::check(|| {
//!     let child = raddle::thread::spawn(|| 6 * 7);
//!     assert_eq!(child.join().unwrap(), 42);
//! });
//! ```

mod handle;
mod local;
mod park;
mod scope;
mod spawn;

pub use handle::{Thread, ThreadId, current};
pub(crate) use local::drop_locals;
pub use local::{AccessError, LocalKey};
pub(crate) use park::{in_time, timed_out_late, times_out, wakes_for_no_reason};
pub use park::{park, park_timeout, sleep, yield_now};
#[allow(deprecated)]
pub use park::{park_timeout_ms, sleep_ms};
pub use scope::{Scope, ScopedJoinHandle, scope};
#[doc(hidden)]
pub use spawn::main_has_ended;
pub use spawn::{Builder, JoinHandle, spawn};
pub use std::thread::Result;

/// Whether a panic unwinds the current thread: as `std::thread::panicking`.
#[must_use]
pub fn panicking() -> bool {
    crate::rt::depends_on_thread();
    std::thread::panicking()
}

/// How many threads can run at once: as `std::thread::available_parallelism`, but the same in each
/// execution and on each machine.
///
/// # Errors
///
/// Never.
pub fn available_parallelism() -> std::io::Result<std::num::NonZeroUsize> {
    Ok(const { std::num::NonZeroUsize::new(2).expect("2 is not 0") })
}
