//! Execution graphs under weak memory models, each explored exactly once.
#![forbid(unsafe_code)]

pub mod graph;
pub mod model;
pub mod operation;
pub mod program;
pub mod races;
pub mod testing;
pub mod trust;

pub use graph::{Event, EventId, Graph, Kind};
pub use model::Model;
pub use operation::{Effect, Location, Operation, Order, Target, Until, Update};
pub use program::{Answer, Blocked, Next, Program};
pub use trust::{Counts, End, Leaf, Refused, Rule, Schedule, Stop, Trust, Visitor};
