//! As `std::task`.

pub use std::task::{Context, Poll, RawWaker, RawWakerVTable, Wake, Waker, ready};
