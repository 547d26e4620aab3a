//! Uses all of `lib`, and returns what that gives.
//!
//! What is stable in `std` and not here, because an object of this crate is more than its value:
//!
//! - `Cell::{from_mut, as_slice_of_cells, as_array_of_cells}`, their `AsRef`, and `UnsafeCell::{from_mut, raw_get}` take memory for a cell.
//! - Methods that are constant functions in `std` beside constructors are ordinary ones here (`AtomicU32::{from_ptr, into_inner}`, most of
//!   `Cell`).
//! - An `Arc` is not coerced to `Arc<dyn Trait>` or `Arc<[T]>`, and is not the type of `self`: `From` and `Arc::coerce` are the way round.
//! - What belongs to an operating system: `JoinHandleExt`, `Arc<File>`.

use super::lib;

mod arcs;
mod atomics;
mod cells;
mod channels;
mod futures;
mod locks;
mod threads;

/// What was computed.
pub(crate) type Seen = Vec<String>;

macro_rules! see {
    ($seen:expr, $($value:expr),* $(,)?) => {
        $($seen.push(format!("{} = {:?}", stringify!($value), $value));)*
    };
}
use see;

fn is_send<T: ?Sized + Send>() {}
fn is_sync<T: ?Sized + Sync>() {}
fn is_unpin<T: ?Sized + Unpin>() {}
fn is_unwind_safe<T: ?Sized + std::panic::UnwindSafe>() {}
fn is_ref_unwind_safe<T: ?Sized + std::panic::RefUnwindSafe>() {}
fn is_debug<T: ?Sized + std::fmt::Debug>() {}
fn is_default<T: Default>() {}
fn is_error<T: ?Sized + std::error::Error>() {}

fn is_shared<T: Send + Sync + Unpin + std::panic::UnwindSafe + std::panic::RefUnwindSafe>() {}

pub(crate) fn run() -> Seen {
    let mut seen = Vec::new();
    atomics::run(&mut seen);
    arcs::run(&mut seen);
    cells::run(&mut seen);
    channels::run(&mut seen);
    futures::run(&mut seen);
    locks::run(&mut seen);
    threads::run(&mut seen);
    seen
}
