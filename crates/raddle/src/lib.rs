//! Runs multithreaded Rust code under every schedule that matters.
//!
//! A test that starts threads sees one of the many orders in which their steps can come.
//! [`check`] runs it again and again, each time in another order, until all have been seen that can
//! make a difference. What the test uses instead of `std` for that is here, module for module:
//! [`sync`], [`thread`], [`cell`], [`hint`], [`future`], [`task`].
//!
//! ```
//! use raddle::sync::Arc;
//! use raddle::sync::atomic::{AtomicU32, Ordering};
//!
//! raddle::check(|| {
//!     let count = Arc::new(AtomicU32::new(0));
//!     let other = count.clone();
//!     let child = raddle::thread::spawn(move || other.fetch_add(1, Ordering::SeqCst));
//!     count.fetch_add(1, Ordering::SeqCst);
//!     child.join().unwrap();
//!     assert_eq!(count.load(Ordering::SeqCst), 2);
//! });
//! ```
//!
//! # What is modelled
//!
//! - Atomics have the orderings that are asked for. A check begins with sequentially consistent executions; if it meets an
//!   ordering weaker than `SeqCst`, it goes on with all that [RC11](Memory::Rc11) allows. [Cells](cell) that are accessed
//!   without synchronisation are data races.
//! - Time does not pass. What may take too long does so in some executions and does not in others.
//! - Loops that wait for other threads say so by [`thread::yield_now`] or [`hint::spin_loop`]; see there.
//! - An execution is over when all threads have ended. If the main thread has, but others wait for ever, that is a
//!   deadlock too.
//! - Threads run one at a time, as coroutines of one real thread: a lock of `std` that is held across an operation of
//!   this crate stops everything, and thread-locals of `std` are shared by all (see [`Backend`]).
//! - The code under test has to do the same when it is run again: no clock, no random numbers, no
//!   addresses, nothing kept from one execution to the next.

pub mod cell;
mod check;
mod choice;
mod explore;
pub mod future;
pub mod hint;
mod lazy_static;
mod options;
mod print;
mod progress;
mod report_file;
mod rt;
mod source;
pub mod sync;
pub mod task;
pub mod thread;

pub use check::{Checker, Failed, Findings, Found, Report, check};
pub use choice::{any_bool, assume, choose};
pub use options::{Memory, Options};
pub use raddle_outcome::{Assumption, Assumptions, Kind as Assumed};
pub use rt::{Backend, Failure, FailureKind, Program, Remark};
