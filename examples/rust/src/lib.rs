//! Data structures under test, each with a bug and without: `Deque<true>` is the one with the bug.
//!
//! They use the types of `raddle` where a program of one's own would import them under `#[cfg(raddle)]` only,
//! and those of `std` otherwise. What is checked, and what is found, is in `tests/`.

pub mod async_channel;
pub mod bounded_queue;
pub mod deque;
pub mod hazard;
pub mod orderings;
pub mod primitives;
pub mod queue;
pub mod seqlock;
pub mod stack;

use raddle::{cell, hint, sync, thread};
