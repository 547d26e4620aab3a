//! Execution graphs under weak memory models, each explored exactly once.
//!
//! An execution under a weak memory model is no sequence of steps. It is a [graph]: which events each thread makes, which write each read reads from,
//! and in which order the writes of each location are. A [model] says which graphs there are. The explorer ([`Trust`]) adds event by event to a
//! graph, and tries everything that the model admits. Of a [program] it knows what each thread does next, and it answers every read.
//!
//! ```
//! use std::ops::ControlFlow;
//!
//! use raddle_memory::testing::Toy;
//! use raddle_memory::{Leaf, Model, Order::Relaxed, Trust};
//!
//! // Store buffering: each thread writes its location, then reads the other one.
//! let mut toy = Toy::default()
//!     .thread(|t| {
//!         t.store(0, 1, Relaxed)?;
//!         let other = t.load(1, Relaxed)?;
//!         t.see(other);
//!         Ok(())
//!     })
//!     .thread(|t| {
//!         t.store(1, 1, Relaxed)?;
//!         let other = t.load(0, Relaxed)?;
//!         t.see(other);
//!         Ok(())
//!     });
//!
//! for (model, graphs, both_read_0) in [(Model::Sc, 3, false), (Model::Rc11, 4, true)] {
//!     let mut seen = Vec::new();
//!     let coverage = Trust::new(model).explore(&mut toy, &mut |toy: &mut Toy, _: &Leaf<'_>| {
//!         seen.push(toy.seen());
//!         ControlFlow::Continue(())
//!     });
//!     assert!(coverage.is_ok_and(|coverage| coverage.is_all()));
//!     assert_eq!(seen.len(), graphs);
//!     assert_eq!(seen.contains(&vec![vec![0], vec![0]]), both_read_0);
//! }
//! ```
//!
//! # What is covered
//!
//! [`Extent::All`](raddle_outcome::Extent::All) means every graph that the model admits. What is left out is noted in the coverage, which then is not
//! all. What no graph of the models has, and a real machine may have: load buffering (see [`model`]), and accesses of different sizes to one
//! location. Data races on cells that are not atomic are found by [`races`], if the program reports their accesses there.
//!
//! # Where things are
//!
//! - [`operation`]: what a thread announces that it does next, as a plain value. [`program`]: what a program is asked. Start reading there.
//! - [`graph`]: events, relations, clocks.
//! - [`model`]: the models, as definitions in relations and as checks of one new event.
//! - [`trust`]: the algorithm, its departures from the paper, and why each graph is visited once.
//! - [`testing`]: toy programs, random ones, and the enumeration of all graphs.
//!
//! # Large campaigns
//!
//! `tests/graphs` compares the exploration of random programs with enumeration, with five schedules and three models, and each check with the
//! definition of the model. As many programs as one likes:
//!
//! ```sh
//! RADDLE_GRAPH_PROGRAMS=100000 RADDLE_GRAPH_SEED=7 cargo test --release -p raddle-memory --test graphs random_atomics
//! ```
//!
//! `RADDLE_GRAPH_EVENTS` is the number of events of a program, and `RADDLE_GRAPH_ORACLE=0` leaves out the comparison of each check.
#![forbid(unsafe_code)]

pub mod graph;
mod missing;
pub mod model;
pub mod operation;
pub mod program;
pub mod races;
mod synchronises;
pub mod testing;
pub mod trust;

pub use graph::{Event, EventId, Graph, Kind};
pub use missing::{Action, Missing, Point, Step, missing};
pub use model::Model;
pub use operation::{Effect, Location, Operation, Order, Target, Until, Update};
pub use program::{Answer, Blocked, Next, Program};
pub use synchronises::synchronises;
pub use trust::{Counts, End, Leaf, Misled, Refused, Rule, Schedule, Stop, Trust, Visitor};
