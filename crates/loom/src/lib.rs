//! The interface of [loom] 0.7, on top of Raddle.
//!
//! Tests that were written for loom run unchanged:
//!
//! ```toml
//! [patch.crates-io]
//! loom = { path = "raddle/crates/loom" }
//! ```
//!
//! # What differs
//!
//! - What a thread may read is what RC11 allows, the memory model of C++ without load buffering: no less and no more. Loom leaves out
//!   stores that are put before others, and takes `SeqCst` accesses for `AcqRel`, so that it reads values that C++ forbids. As in
//!   [`raddle::Checker::memory`], schedules come first, and a model that asks for weaker orderings than `SeqCst` goes on with all that these allow. Where a
//!   bound on preemptions was asked for, it does not hold there. It takes no more than twice the steps of the schedules, or a million steps.
//! - Threads are not limited to [`MAX_THREADS`]; nor is there anything to gain by
//!   [`stop_exploring`] and [`skip_branch`], which do nothing.
//! - A model fails if it makes 100,000 steps, unless `max_branches` is more than that, or less than loom's default: then it
//!   is the limit.
//! - [`Notify::wait`](sync::Notify::wait) does not wake for no reason.
//! - A thread that panics fails the model only when nobody joins it, or who does unwraps the error.
//! - The access of a [`with_mut`](cell::UnsafeCell::with_mut) lasts until its closure returns. In loom it may be over at the last
//!   operation in the closure, as that of a [`MutPtr`](cell::MutPtr) is here too.
//! - `with_mut` of an atomic does not look for stores of other threads.
//! - There are no checkpoints. What fails says how to run it again: `RADDLE_REPLAY`. The other variables
//!   of Raddle count too, and come after those of loom.
//! - What `loom` reports is Raddle's text.
//!
//! [loom]: https://docs.rs/loom/0.7

pub mod alloc;
pub mod cell;
mod explore;
#[cfg(feature = "futures")]
pub mod future;
pub mod hint;
pub mod lazy_static;
pub mod model;
pub mod sync;
pub mod thread;

pub use explore::{explore, skip_branch, stop_exploring};
pub use model::model;
pub use raddle::thread_local;

/// How many threads loom has at most. There may be more here.
pub const MAX_THREADS: usize = 5;
