//! `.rad` programs under weak memory models: their execution graphs, each explored once.
//!
//! [`Run`] is a program of the machine as a [`Program`](raddle_memory::Program) of the memory model, and [`examine`](examine()) explores it and collects what is wrong.
//!
//! ```
//! use std::sync::Arc;
//! use raddle_graphs::{Settings, examine};
//! use raddle_lang::Source;
//! use raddle_machine::{Granularity, Machine};
//! use raddle_memory::Model;
//!
//! let text = "
//!     atomic int x, y; int a, b;
//!     void left() { store(x, 1, relaxed); a = load(y, relaxed); }
//!     void right() { store(y, 1, relaxed); b = load(x, relaxed); }
//!     run left() || right();
//! ";
//! let (program, _) = raddle_machine::load(Source::new("sb.rad", text));
//! let mut machine = Machine::new(Arc::new(program.unwrap()), Granularity::Access);
//!
//! let graphs = |machine: &mut Machine, model| {
//!     let found = examine(machine, model, &Settings::default(), &mut |_| {}).unwrap();
//!     assert!(found.explored.is_complete());
//!     found.statistics.executions
//! };
//! assert_eq!(graphs(&mut machine, Model::Rc11), 4);
//! assert_eq!(graphs(&mut machine, Model::Sc), 3);
//! ```
#![forbid(unsafe_code)]

mod examine;
mod names;
mod operations;
mod picture;
mod races;
mod run;
mod spin;
mod story;
mod unordered;

pub use examine::{Examination, Graphs, MAX_EVENTS, Progress, Settings, Violation, examine};
pub use raddle_memory::Model;
pub use run::{Reason, Run, Unsupported};
