//! Stateless exploration: running a program again and again, each time by another schedule.
#![forbid(unsafe_code)]

pub mod execution;
pub mod trace;

pub use execution::{Access, Diverged, Execution, Location, Mode, Move, Status, Step, ThreadId};
pub use trace::{Cut, Event, Trace};
