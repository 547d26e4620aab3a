//! [`TraceFile`]: a violation that can be replayed.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::pretty;
use super::violation::ViolationKind;

/// The version of the format of [`TraceFile`].
pub const TRACE_VERSION: u32 = 1;

/// What `format` says in every trace file.
const FORMAT: &str = "raddle-trace";

/// A schedule that leads to a violation, and what it is a schedule of.
///
/// ```
/// use raddle_report::json::{
///     ScheduledMove, TraceFile, TracedProgram, TracedViolation, ViolationKind,
/// };
///
/// let trace = TraceFile::new(
///     TracedProgram { file: "bank.rad".into(), hash: "8d3f".into() },
///     "access",
///     vec![ScheduledMove { thread: 0, choice: 0 }, ScheduledMove { thread: 1, choice: 0 }],
///     TracedViolation {
///         kind: ViolationKind::Assertion,
///         message: "balance == 180".into(),
///         line: Some(13),
///         column: Some(5),
///         repeats_from: None,
///     },
/// );
/// assert_eq!(TraceFile::parse(&trace.to_json()), Ok(trace));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TraceFile {
    format: String,
    version: u32,
    /// The program.
    pub program: TracedProgram,
    /// What a step is.
    pub granularity: String,
    /// The moves from the initial state.
    pub schedule: Vec<ScheduledMove>,
    /// What is wrong at their end.
    pub violation: TracedViolation,
}

/// The program that a schedule belongs to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TracedProgram {
    /// The file, as it was named by the user.
    pub file: String,
    /// A hash of its text: the schedule means nothing for any other text.
    pub hash: String,
}

/// One move of one thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScheduledMove {
    /// Who moves.
    pub thread: u32,
    /// Which of its possible steps it takes.
    pub choice: u64,
}

/// The violation at the end of a schedule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TracedViolation {
    /// Which kind of property is violated.
    pub kind: ViolationKind,
    /// What is wrong, in one line.
    pub message: String,
    /// The line, from 1, if the place is known.
    pub line: Option<u32>,
    /// The column, from 1.
    pub column: Option<u32>,
    /// If the execution does not end: how many moves come before those that repeat for ever.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repeats_from: Option<usize>,
}

impl TraceFile {
    /// A trace file of the current version.
    #[must_use]
    pub fn new(
        program: TracedProgram,
        granularity: impl Into<String>,
        schedule: Vec<ScheduledMove>,
        violation: TracedViolation,
    ) -> Self {
        Self {
            format: FORMAT.to_owned(),
            version: TRACE_VERSION,
            program,
            granularity: granularity.into(),
            schedule,
            violation,
        }
    }

    /// Reads a trace file.
    ///
    /// # Errors
    ///
    /// If the text is not that of a trace file of this version or an older one.
    ///
    /// ```
    /// use raddle_report::json::{TraceError, TraceFile};
    ///
    /// let error = TraceFile::parse(r#"{"format": "raddle-trace", "version": 2}"#);
    /// assert_eq!(error, Err(TraceError::NewerVersion { version: 2 }));
    /// ```
    pub fn parse(text: &str) -> Result<Self, TraceError> {
        let value: Value = serde_json::from_str(text).map_err(|error| TraceError::NotJson {
            line: error.line(),
            column: error.column(),
            message: without_position(&error),
        })?;
        if value.get("format").and_then(Value::as_str) != Some(FORMAT) {
            return Err(TraceError::NotATrace);
        }
        // The version comes first: the other fields of a newer one may be anything.
        match value.get("version").and_then(Value::as_u64) {
            Some(version) if version > u64::from(TRACE_VERSION) => {
                Err(TraceError::NewerVersion { version })
            }
            Some(1..) => serde_json::from_value(value).map_err(|error| TraceError::Malformed {
                message: error.to_string(),
            }),
            _ => Err(TraceError::Malformed {
                message: "the version is not a positive number".to_owned(),
            }),
        }
    }

    /// The trace file as JSON, indented, with a newline at the end.
    #[must_use]
    pub fn to_json(&self) -> String {
        pretty(self)
    }
}

/// The message of an error, which ends with the position that is told separately.
fn without_position(error: &serde_json::Error) -> String {
    let message = error.to_string();
    match message.rfind(" at line ") {
        Some(end) => message[..end].to_owned(),
        None => message,
    }
}

/// Why a text is not a trace file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TraceError {
    /// It is not JSON.
    NotJson {
        /// The line, from 1.
        line: usize,
        /// The column, from 1; 0 if the line is empty.
        column: usize,
        /// What is wrong there.
        message: String,
    },
    /// It is JSON, but does not say that it is a trace file.
    NotATrace,
    /// It is a trace file of a version that did not exist yet.
    NewerVersion {
        /// Which.
        version: u64,
    },
    /// It says that it is a trace file, but something is missing or wrong.
    Malformed {
        /// What.
        message: String,
    },
}

impl fmt::Display for TraceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotJson {
                line,
                column,
                message,
            } => write!(f, "not JSON: {message} (line {line}, column {column})"),
            Self::NotATrace => write!(
                f,
                "not a trace file: its \"format\" is not \"{FORMAT}\"; `--trace` writes one"
            ),
            Self::NewerVersion { version } => write!(
                f,
                "a trace file of version {version}, written by a newer raddle; \
                 this one reads up to version {TRACE_VERSION}"
            ),
            Self::Malformed { message } => write!(f, "a damaged trace file: {message}"),
        }
    }
}

impl std::error::Error for TraceError {}
