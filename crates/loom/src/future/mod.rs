//! Futures.

mod atomic_waker;

pub use atomic_waker::AtomicWaker;
pub use raddle::future::block_on;
