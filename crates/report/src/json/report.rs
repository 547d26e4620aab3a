//! [`CheckReport`]: the one object that a command prints.

use raddle_outcome::{Ends, Executions, Explored, Verdict};
use serde::{Serialize, Serializer};

use super::pretty;
use super::run::{PossibleDeadlock, Run};
use super::violation::Violation;
use crate::answer::Answer;
use crate::story::Spot;

/// The version of the format of [`CheckReport`].
pub const VERSION: u32 = 1;

/// What a check found out.
///
/// ```
/// use raddle_outcome::Verdict;
/// use raddle_report::json::CheckReport;
///
/// let report = CheckReport {
///     verdict: Verdict::Verified,
///     file: "bank.rad".into(),
///     states: 42,
///     ..CheckReport::default()
/// };
/// assert!(report.to_json().starts_with("{\n  \"version\": 1,\n  \"verdict\": \"verified\","));
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CheckReport {
    /// The version of this format: [`VERSION`].
    pub version: u32,
    /// The answer.
    #[serde(serialize_with = "by_name")]
    pub verdict: Verdict,
    /// Why there is no answer, if there is none.
    pub reason: Option<String>,
    /// The program, as it was named by the user.
    pub file: String,
    /// The name of the reduction: that of the run that decided.
    pub reduction: String,
    /// Which reductions were used and why, in one line.
    pub plan: String,
    /// The order of the search.
    pub search: String,
    /// What a step is.
    pub granularity: String,
    /// The properties that were checked.
    pub properties: Vec<String>,
    /// States that were stored.
    pub states: u64,
    /// Steps that were executed.
    pub transitions: u64,
    /// The greatest depth that was reached.
    pub depth: u64,
    /// The time it took.
    pub seconds: f64,
    /// The most memory that the process had, if the system tells.
    pub peak_memory_bytes: Option<u64>,
    /// The other numbers.
    pub statistics: Statistics,
    /// All searches, in their order. The numbers above are those of the one that decided.
    pub runs: Vec<Run>,
    /// The names of the threads that were interchangeable in these searches, in groups.
    pub symmetry: Vec<Vec<String>>,
    /// Why there may be a deadlock, if deadlocks were asked for and not looked for.
    pub possible_deadlocks: Vec<PossibleDeadlock>,
    /// What the verdict rests on: what was left out, cut, bounded or guessed.
    pub assumptions: Vec<Assumption>,
    /// What was explored, if executions were run one by one instead of searching states.
    pub exploration: Option<Exploration>,
    /// What is wrong with the program.
    pub violations: Vec<Violation>,
    /// Statements that no execution gets to.
    pub unreached: Vec<Unreached>,
    /// If no execution ends: where threads go on for ever, as far as that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub never_ends: Option<Vec<Unreached>>,
    /// Errors and warnings about the source text.
    pub diagnostics: Vec<Diagnostic>,
}

/// A verdict as its name.
pub(super) fn by_name<S: Serializer>(verdict: &Verdict, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(verdict.name())
}

impl CheckReport {
    /// What follows from what was explored and found: the verdict, its reason, and what it rests on. The rest is as by
    /// default.
    ///
    /// Every report of a check begins with this, so that none claims what another one would not.
    #[must_use]
    pub fn of(explored: &Explored<Spot>, violations: Vec<Violation>) -> Self {
        let answer = Answer::of(explored, violations.len());
        Self {
            verdict: answer.verdict,
            reason: answer.reason,
            assumptions: explored
                .assumptions()
                .iter()
                .map(Assumption::from)
                .collect(),
            violations,
            ..Self::default()
        }
    }

    /// The report as JSON, indented, with a newline at the end.
    #[must_use]
    pub fn to_json(&self) -> String {
        pretty(self)
    }
}

/// An error without a reason, about nothing.
impl Default for CheckReport {
    fn default() -> Self {
        Self {
            version: VERSION,
            verdict: Verdict::Error,
            reason: None,
            file: String::new(),
            reduction: String::new(),
            plan: String::new(),
            search: String::new(),
            granularity: String::new(),
            properties: Vec::new(),
            states: 0,
            transitions: 0,
            depth: 0,
            seconds: 0.0,
            peak_memory_bytes: None,
            statistics: Statistics::default(),
            runs: Vec::new(),
            symmetry: Vec::new(),
            possible_deadlocks: Vec::new(),
            assumptions: Vec::new(),
            exploration: None,
            violations: Vec::new(),
            unreached: Vec::new(),
            never_ends: None,
            diagnostics: Vec::new(),
        }
    }
}

/// What running executions one by one has covered.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Exploration {
    /// The name of the explorer.
    pub explorer: String,
    /// The bound on preemptions, if there is one.
    pub bound: Option<u32>,
    /// All executions with at most this many preemptions are covered and none is wrong, but there are others.
    pub verified_up_to_bound: Option<u32>,
    /// Where random choices began, if there were any.
    pub seed: Option<u64>,
    /// The depth of the errors that were looked for, if the explorer has one.
    pub depth: Option<u32>,
    /// Executions that were run to their end.
    pub executions: u64,
    /// How many of them differ in more than the order of independent steps, if they were counted.
    pub classes: Option<u64>,
    /// Steps that were made, if they were counted; what an execution has in common with the one before counts once.
    pub steps: Option<u64>,
    /// The steps of the longest execution, if they were counted.
    pub longest: Option<u64>,
    /// The memory model, if execution graphs were explored.
    pub memory: Option<String>,
    /// How many graphs are only the beginning of others, because a thread waits for something that has happened already.
    pub blocked: Option<u64>,
}

impl Exploration {
    /// What an explorer of that name has run, and what follows from that.
    #[must_use]
    pub fn of(explorer: &str, statistics: &Executions, answer: &Answer) -> Self {
        Self {
            explorer: explorer.into(),
            verified_up_to_bound: answer.verified_up_to_bound,
            executions: statistics.executions,
            classes: statistics.classes,
            steps: statistics.steps,
            longest: statistics.longest,
            ..Self::default()
        }
    }
}

/// What the search did, beyond states and transitions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Statistics {
    /// Steps that were tried and blocked.
    pub blocked_steps: u64,
    /// Threads that were found to have ended, once per state.
    pub ended_steps: u64,
    /// End states in which all threads have ended.
    pub terminated: u64,
    /// End states that an assumption has cut.
    pub cut: u64,
    /// End states that are deadlocks.
    pub deadlocked: u64,
    /// End states in which a thread had failed.
    pub failed: u64,
    /// The most states that waited to be expanded.
    pub peak_frontier: u64,
    /// The memory of the search itself.
    pub search_memory_bytes: u64,
    /// Boundary states and all states between them, if they were counted.
    pub visited_states: Option<u64>,
    /// Those between boundary states, if they were counted.
    pub interior_states: Option<u64>,
    /// Boundary states that are there only because a thread could go on for ever.
    pub forced_ends: u64,
    /// How often a thread could go on for ever without meeting a boundary state.
    pub endless: u64,
    /// How often the search started.
    pub rounds: u64,
}

/// How executions ended, and nothing else.
impl From<Ends> for Statistics {
    fn from(ends: Ends) -> Self {
        Self {
            terminated: ends.terminated,
            cut: ends.cut,
            deadlocked: ends.deadlocked,
            failed: ends.failed,
            ..Self::default()
        }
    }
}

/// A statement that no execution gets to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Unreached {
    /// The file.
    pub file: String,
    /// The line, from 1.
    pub line: u32,
    /// The column, from 1.
    pub column: u32,
    /// The text of the statement.
    pub text: String,
}

impl From<&Spot> for Unreached {
    fn from(spot: &Spot) -> Self {
        Self {
            file: spot.file.clone(),
            line: spot.line,
            column: spot.column,
            text: spot.text.clone(),
        }
    }
}

/// Something that the verdict rests on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Assumption {
    /// Its kind: see [`raddle_outcome::Kind`].
    pub kind: &'static str,
    /// What was left out, cut, bounded or guessed, in one line.
    pub message: String,
    /// Where, if it is about one place.
    pub place: Option<Spot>,
    /// Whether there may be executions that were not checked because of it.
    pub incomplete: bool,
}

impl From<&raddle_outcome::Assumption<Spot>> for Assumption {
    fn from(assumption: &raddle_outcome::Assumption<Spot>) -> Self {
        Self {
            kind: assumption.kind.name(),
            message: assumption.to_string(),
            place: assumption.place.clone(),
            incomplete: assumption.kind.makes_incomplete(),
        }
    }
}

/// A message about the source text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Diagnostic {
    /// How bad it is.
    pub severity: Severity,
    /// What is wrong, in one line.
    pub message: String,
    /// The file.
    pub file: String,
    /// The line, from 1.
    pub line: u32,
    /// The column, from 1.
    pub column: u32,
    /// What to do about it.
    pub help: Vec<String>,
}

/// How bad a [`Diagnostic`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The program means something, but perhaps not what was meant.
    Warning,
    /// The program has no meaning.
    Error,
}
