//! [`Violation`]: a [`Story`] as JSON.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::story::{Change, Event, Note, Spot, Story};

/// What is wrong with a program, where, and how to get there.
///
/// The place is that of the first remark that has one; without any, that of the last step.
///
/// ```
/// use raddle_report::json::{Violation, ViolationKind};
/// use raddle_report::story::{Ending, Note, Spot, Story};
///
/// let story = Story {
///     threads: vec!["main".into()],
///     steps: Vec::new(),
///     ending: Ending {
///         message: "division by zero".into(),
///         notes: vec![Note {
///             thread: Some(0),
///             at: Spot { file: "a.rad".into(), line: 3, column: 9, text: "1 / x".into() },
///             text: "x is 0".into(),
///         }],
///         ..Ending::default()
///     },
/// };
/// let violation = Violation::new(ViolationKind::Runtime, &story);
/// assert_eq!(violation.thread.as_deref(), Some("main"));
/// assert_eq!(violation.line, Some(3));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Violation {
    /// Which kind of property is violated.
    pub kind: ViolationKind,
    /// What is wrong, in one line.
    pub message: String,
    /// The file, if the place is known.
    pub file: Option<String>,
    /// The line, from 1.
    pub line: Option<u32>,
    /// The column, from 1.
    pub column: Option<u32>,
    /// The thread that does it, if one does.
    pub thread: Option<String>,
    /// The places that matter.
    pub notes: Vec<Remark>,
    /// What could be done about it, and where.
    pub help: Vec<Remark>,
    /// The execution that leads there.
    pub trace: Trace,
    /// How often the trace changes from one thread to another.
    pub switches: usize,
    /// What runs the execution of Rust code again: see `Checker::replay`.
    pub replay: Option<String>,
}

impl Violation {
    /// The violation that a story ends in.
    #[must_use]
    pub fn new(kind: ViolationKind, story: &Story) -> Self {
        let ending = &story.ending;
        let note = ending.notes.iter().find(|note| note.at.line > 0);
        let (at, thread) = match (note, story.steps.last()) {
            (Some(note), _) => (Some(&note.at), note.thread),
            (None, Some(step)) => (Some(&step.at), Some(step.thread)),
            (None, None) => (None, None),
        };
        let at = at.filter(|at| at.line > 0);
        let remarks = |notes: &[Note]| notes.iter().map(|note| Remark::new(story, note)).collect();
        Self {
            kind,
            message: ending.message.clone(),
            file: at.map(|at| at.file.clone()),
            line: at.map(|at| at.line),
            column: at.map(|at| at.column),
            thread: thread.map(|thread| name_of(story, thread)),
            notes: remarks(&ending.notes),
            help: remarks(&ending.help),
            trace: Trace::from(story),
            switches: story.switches(),
            replay: None,
        }
    }
}

/// Which kind of property a violation violates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ViolationKind {
    /// An assertion failed.
    Assertion,
    /// Threads wait for one another.
    Deadlock,
    /// Two threads access one location at the same time.
    Race,
    /// An operation has no result.
    Runtime,
    /// An invariant does not hold.
    Invariant,
    /// An access breaks the discipline declared for what it touches.
    Discipline,
    /// A goal cannot be reached.
    Goal,
    /// Rust code panicked.
    Panic,
    /// Something that is counted is still there at the end.
    Leak,
    /// Threads spin for ever.
    Livelock,
    /// There was no end in sight.
    Steps,
    /// The program did something else when the same schedule was run again.
    Nondeterminism,
    /// An execution does not end.
    Termination,
}

impl fmt::Display for ViolationKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Assertion => "assertion",
            Self::Deadlock => "deadlock",
            Self::Race => "race",
            Self::Runtime => "runtime",
            Self::Invariant => "invariant",
            Self::Discipline => "discipline",
            Self::Goal => "goal",
            Self::Panic => "panic",
            Self::Leak => "leak",
            Self::Livelock => "livelock",
            Self::Steps => "steps",
            Self::Nondeterminism => "nondeterminism",
            Self::Termination => "termination",
        })
    }
}

/// A remark about a place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Remark {
    /// The thread it is about, if it is about one.
    pub thread: Option<String>,
    /// The file, if the place is known.
    pub file: Option<String>,
    /// The line, from 1.
    pub line: Option<u32>,
    /// The column, from 1.
    pub column: Option<u32>,
    /// The source text at the place.
    pub text: String,
    /// The remark.
    pub message: String,
}

impl Remark {
    fn new(story: &Story, note: &Note) -> Self {
        let (file, line, column) = place(&note.at);
        Self {
            thread: note.thread.map(|thread| name_of(story, thread)),
            file,
            line,
            column,
            text: note.at.text.clone(),
            message: note.text.clone(),
        }
    }
}

/// An execution, step by step.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Trace {
    /// The threads that took part.
    pub threads: Vec<String>,
    /// The steps, in the order in which they happened.
    pub steps: Vec<TraceStep>,
    /// If the execution does not end: how many steps come before those that repeat for ever.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repeats_from: Option<usize>,
}

impl From<&Story> for Trace {
    fn from(story: &Story) -> Self {
        Self {
            threads: story.threads.clone(),
            steps: story
                .steps
                .iter()
                .map(|step| TraceStep::new(story, step))
                .collect(),
            repeats_from: story.ending.repeats_from,
        }
    }
}

/// One step of one thread.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TraceStep {
    /// Who moved.
    pub thread: String,
    /// The file, if the place is known.
    pub file: Option<String>,
    /// The line, from 1.
    pub line: Option<u32>,
    /// The column, from 1.
    pub column: Option<u32>,
    /// The source text of the operation.
    pub text: String,
    /// What it did.
    pub action: String,
    /// The variables that have other values now.
    pub changes: Vec<Change>,
    /// The locks that the thread holds afterwards.
    pub holds: Vec<String>,
    /// In an execution graph, the number of the step, from 1, that has written what it reads.
    pub reads_from: Option<usize>,
    /// The step whose write it could be expected to read, and does not.
    pub missed: Option<usize>,
    /// If it writes, the step whose write was told before it and comes after it in modification order.
    pub comes_before: Option<usize>,
}

impl TraceStep {
    fn new(story: &Story, step: &Event) -> Self {
        let (file, line, column) = place(&step.at);
        Self {
            thread: name_of(story, step.thread),
            file,
            line,
            column,
            text: step.at.text.clone(),
            action: match step.writes.remark() {
                remark if remark.is_empty() => step.action.clone(),
                remark => format!("{}, {remark}", step.action),
            },
            changes: step.changes.clone(),
            holds: step.holds.clone(),
            reads_from: step.writes.reads_from,
            missed: step.writes.missed.as_ref().map(|missed| missed.step),
            comes_before: step.writes.comes_before.as_ref().map(|next| next.step),
        }
    }
}

fn place(spot: &Spot) -> (Option<String>, Option<u32>, Option<u32>) {
    let known = (spot.line > 0).then_some(spot);
    (
        known.map(|spot| spot.file.clone()),
        known.map(|spot| spot.line),
        known.map(|spot| spot.column),
    )
}

fn name_of(story: &Story, thread: usize) -> String {
    story
        .threads
        .get(thread)
        .map_or_else(|| format!("thread {thread}"), Clone::clone)
}
