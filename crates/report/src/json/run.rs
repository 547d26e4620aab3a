//! [`Run`]: one of the searches that a check consists of.

use raddle_outcome::Verdict;
use serde::Serialize;

use super::report::{Unreached, by_name};

/// One search.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Run {
    /// The name of the reduction.
    pub reduction: String,
    /// The properties that it looked for.
    pub properties: Vec<String>,
    /// Its answer.
    #[serde(serialize_with = "by_name")]
    pub verdict: Verdict,
    /// Why there is none, if there is none.
    pub reason: Option<String>,
    /// States that were stored.
    pub states: u64,
    /// Steps that were executed.
    pub transitions: u64,
    /// The greatest depth that was reached.
    pub depth: u64,
    /// Boundary states and all states between them, if they were counted.
    pub visited_states: Option<u64>,
    /// Boundary states that are there only because a thread could go on for ever.
    pub forced_ends: u64,
    /// How often the search started.
    pub rounds: u64,
    /// The time it took.
    pub seconds: f64,
    /// The memory of the search itself.
    pub search_memory_bytes: u64,
}

/// Why there may be a deadlock.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PossibleDeadlock {
    /// Which reason it is.
    pub kind: PossibleDeadlockKind,
    /// The reason, in one line.
    pub message: String,
    /// Where to look.
    pub places: Vec<Unreached>,
}

/// The kinds of reasons why there may be a deadlock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum PossibleDeadlockKind {
    /// Locks are taken in a circle.
    Circle,
    /// A thread can wait for something that is no lock.
    Wait,
    /// A thread can end while it holds a lock.
    End,
}
