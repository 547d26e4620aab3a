//! What goes with [`lazy_static!`](crate::lazy_static!).

pub use raddle::thread::{AccessError, panicking, yield_now};
