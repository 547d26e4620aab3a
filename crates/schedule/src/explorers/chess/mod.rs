//! Context-bounded search of happens-before graphs.
//!
//! After Musuvathi, Qadeer, *Partial-order reduction for context-bounded state exploration* (Microsoft Research,
//! MSR-TR-2007-12), the search of the CHESS checker. A state is the happens-before graph of what
//! was executed so far. Its context bound is the least number of preemptions of an
//! execution that leads there; [`ContextBounds`] computes it. The searches visit the graphs
//! within a bound `csb`:
//!
//! - [`Algorithm1`] every one of them, each once;
//! - [`Algorithm2`] only those that it takes to reach each terminal graph once: every class of executions
//!   within the bound exactly once, and no other run.
//!
//! # Departures
//!
//! - The happens-before relation comes from locations that may be read, written, or changed in commuting ways, instead of
//!   variables that are read or written; a graph is known by its hash of 128 bits ([`crate::class`]).
//! - The alternatives of a step (a choice, which waiter is notified) are part of the action: the successors of a state are
//!   its moves, not its threads.
//! - What is enabled in a graph that was never executed, and what a thread would do there, is derived from one that was:
//!   [`Execution::foresee`](crate::Execution::foresee). A thread that was woken is enabled only where what woke it is.
//! - `Mark` keeps for each graph up to which bound nothing is left to be found after it, instead of one set `H` for one
//!   bound. See [`algorithm2`].

pub mod algorithm1;
pub mod algorithm2;
mod context_bound;
mod search;

pub use algorithm1::Algorithm1;
pub use algorithm2::Algorithm2;
pub use context_bound::ContextBounds;
