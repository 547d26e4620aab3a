//! Exploring the states of multithreaded programs.
//!
//! Three interfaces and one engine over them:
//!
//! - a [`System`] is a program: threads, their steps, what each step touches;
//! - a [`Reduction`] is a function from boundary states to boundary states, and
//!   decides which schedules need not be tried; the [`reductions`] are one file each;
//! - a [`Store`] keeps the boundary states that were reached;
//! - a [`Search`] explores a system under a reduction in some order, within limits, and
//!   gives an [`Outcome`]: a verdict, violations with schedules, statistics.
//!
//! No reduction knows the language a system comes from, no search knows the
//! reduction, and neither knows the store.
//!
//! # Example
//!
//! Two threads that lock two mutexes in opposite order:
//!
//! ```
//! use raddle_explore::{Cause, Order, Search, reductions::full::Full};
//! use raddle_explore::testing::{Counters, Op::{Lock, Unlock}};
//!
//! let one = [Lock(0), Lock(1), Unlock(1), Unlock(0)];
//! let other = [Lock(1), Lock(0), Unlock(0), Unlock(1)];
//! let mut system = Counters::new(&[&one, &other]);
//!
//! let outcome = Search::new().order(Order::BreadthFirst).run(&mut system, &mut Full::default());
//!
//! let deadlock = &outcome.violations[0];
//! assert!(matches!(deadlock.cause, Cause::Deadlock { .. }));
//! assert_eq!(deadlock.schedule.len(), 2);
//! ```

mod in_turn;
pub mod interior;
pub mod lock_order;
pub mod movers;
pub mod parts;
pub mod property;
pub mod reduction;
pub mod reductions;
pub mod repair;
mod replay;
pub mod search;
pub mod symmetry;
pub mod system;
pub mod testing;

pub use in_turn::{Repeating, run_in_turn};
pub use parts::{Changed, Packed, Parts, Renamed};
pub use property::{Property, PropertySet};
pub use raddle_outcome::{Assumption, Kind, Verdict};
pub use raddle_store::{Batch, Flat, Inserted, StateId, Store, StoreFull, Tree};
pub use reduction::{
    BlockedThread, Effort, End, Lessons, PendingAccess, Race, Reduction, Visitor, for_each_race,
};
pub use replay::{Replayed, canonical_path, repeats_fairly, replay};
pub use search::{
    Asked, Cause, HashWidth, Noticed, Order, Outcome, Progress, Search, Statistics, StoreKind,
    Violation, not_preserved,
};
pub use system::{
    Access, AccessKind, Action, Choice, Fault, FaultKind, Footprint, Guard, Location, Place,
    PlaceSet, Position, Status, Step, Successors, SyncOp, System, Unseen, Variable, VariableSet,
};
