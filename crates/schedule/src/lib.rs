//! Stateless exploration: running a program again and again, each time by another schedule.
#![forbid(unsafe_code)]

pub mod class;
pub mod clock;
pub mod execution;
pub mod explorer;
pub mod explorers;
pub mod testing;
pub mod trace;
pub mod workers;

pub use class::{ClassHash, class_of};
pub use clock::Clock;
pub use execution::{
    Diverged, Execution, LocationId, Mode, Move, Observed, Readiness, ThreadId, ValuedAccess,
};
pub use explorer::{Explorer, Omission, Visitor};
pub use raddle_outcome::{Coverage, Extent, LeftOut};
pub use trace::{Cut, Event, Trace};
