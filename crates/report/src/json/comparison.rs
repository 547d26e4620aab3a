//! [`Comparison`]: what `raddle compare` prints.

use raddle_outcome::Verdict;
use serde::Serialize;

use super::pretty;
use super::report::{Diagnostic, VERSION, by_name};

/// Reductions side by side, for every file.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// The version of this format.
    pub version: u32,
    /// One for each file, in the order of the command line.
    pub files: Vec<ComparedFile>,
}

impl Comparison {
    /// The comparison of these files.
    #[must_use]
    pub fn new(files: Vec<ComparedFile>) -> Self {
        Self {
            version: VERSION,
            files,
        }
    }

    /// The comparison as JSON, indented, with a newline at the end.
    #[must_use]
    pub fn to_json(&self) -> String {
        pretty(self)
    }
}

/// One program through several reductions.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ComparedFile {
    /// The program, as it was named by the user.
    pub file: String,
    /// Why it could not be checked, if it could not.
    pub error: Option<String>,
    /// What each reduction did.
    pub rows: Vec<ComparedRow>,
    /// What reductions that preserve it do not agree on. It should be empty.
    pub disagreements: Vec<Disagreement>,
    /// Errors and warnings about the source text.
    pub diagnostics: Vec<Diagnostic>,
}

/// What one reduction did.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ComparedRow {
    /// The name of the reduction.
    pub reduction: String,
    /// Whether it claims to preserve anything.
    pub sound: bool,
    /// The answer.
    #[serde(serialize_with = "by_name")]
    pub verdict: Verdict,
    /// Why there is none, if there is none.
    pub reason: Option<String>,
    /// The properties that were asked for and not checked, as it does not preserve them.
    pub not_checked: Vec<String>,
    /// Whether the order of locks excludes deadlocks; null if that is not known or not needed.
    pub deadlock_excluded: Option<bool>,
    /// States that were stored.
    pub states: u64,
    /// Steps that were executed.
    pub transitions: u64,
    /// States between those that were stored, if the reduction counts them.
    pub interior_states: Option<u64>,
    /// Boundary states that are there only because a thread could go on for ever.
    pub forced_ends: u64,
    /// How often the search started.
    pub rounds: u64,
    /// The time it took.
    pub seconds: f64,
    /// The memory of the search itself.
    pub search_memory_bytes: u64,
    /// What is wrong with the program.
    pub violations: Vec<Found>,
    /// What an unsound reduction has not found, and others have.
    pub misses: Vec<Found>,
}

/// Something that is wrong with a program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Found {
    /// Which kind of property is violated.
    pub kind: String,
    /// The line, from 1, for kinds that are told apart by their place.
    pub line: Option<u32>,
    /// The column, from 1.
    pub column: Option<u32>,
}

/// Two reductions should agree on this, and do not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Disagreement {
    /// What is wrong with the program, or is not.
    #[serde(flatten)]
    pub about: Found,
    /// The reduction that has found it.
    pub found_by: String,
    /// A reduction that says that there is no such thing.
    pub missed_by: String,
}
