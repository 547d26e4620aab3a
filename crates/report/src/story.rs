//! [`Story`]: one execution, in words.
//!
//! A story knows nothing of the front end that it comes from: a `.rad` program and
//! Rust code under test tell theirs in the same form, and every way to show one
//! (lanes of text, JSON) is written once.

use serde::Serialize;

/// One execution, step by step, and how it ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Story {
    /// The threads that took part, in the order of their lanes.
    pub threads: Vec<String>,
    /// The steps, in the order in which they happened.
    pub steps: Vec<Event>,
    /// How it ended.
    pub ending: Ending,
}

/// One step of one thread.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Event {
    /// Who moved: an index into [`Story::threads`].
    pub thread: usize,
    /// Where: the operation that the step made.
    pub at: Spot,
    /// What it did, in a few words: `reads x = 1`, `locks m`, `chooses 2`.
    pub action: String,
    /// The variables that have other values now.
    pub changes: Vec<Change>,
    /// The locks that the thread holds afterwards.
    pub holds: Vec<String>,
    /// How it stands to writes that were told before it, where the execution is a graph.
    pub writes: Writes,
}

/// How a step of an execution graph stands to writes that were told before it.
///
/// Such an execution is told in an order that extends program order and reads-from. There need be no order in which every read sees the last write, and in which all
/// writes stand as in modification order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Writes {
    /// If it reads: the number of the step, from 1, that has written what it reads. `None` if no step has: it is the initial value, or that is not known.
    pub reads_from: Option<usize>,
    /// If it reads: the last of the writes before it that come later in modification order than the one that it reads from.
    pub missed: Option<Written>,
    /// If it writes: the first of the writes before it that come later in modification order.
    pub comes_before: Option<Written>,
}

/// A write that was told.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Written {
    /// The number of the step, from 1.
    pub step: usize,
    /// What was written, if that is a value that means something to people: not the state of a lock.
    pub value: Option<String>,
}

impl Writes {
    /// What is to be said of a step that is not what one would expect in the order in which it is told. Empty if it is.
    ///
    /// ```
    /// use raddle_report::story::{Writes, Written};
    ///
    /// let missed = Some(Written { step: 4, value: Some("1".into()) });
    /// let writes = Writes { missed, ..Writes::default() };
    /// assert_eq!(
    ///     writes.remark(),
    ///     "not the 1 written at step 4: nothing orders that write before this read"
    /// );
    /// ```
    #[must_use]
    pub fn remark(&self) -> String {
        let mut parts = Vec::new();
        if let Some(Written { step, value }) = &self.missed {
            parts.push(match value {
                Some(value) => format!(
                    "not the {value} written at step {step}: nothing orders that write before this read"
                ),
                None => format!("without what step {step} has done: nothing orders that before this"),
            });
        }
        if let Some(Written { step, value }) = &self.comes_before {
            parts.push(match value {
                Some(value) => {
                    format!("in modification order before the {value} written at step {step}")
                }
                None => format!("in modification order before step {step}"),
            });
        }
        parts.join("; ")
    }
}

/// A variable whose value changed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Change {
    /// Its name: `x`, `table[3]`, `i`.
    pub name: String,
    /// The value before; `None` if it has just come into being.
    pub before: Option<String>,
    /// The value after.
    pub after: String,
    /// Whether other threads can see it.
    pub shared: bool,
}

/// A place in a source text.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Spot {
    /// The file, as it was named by the user.
    pub file: String,
    /// The line, from 1; 0 if the place is unknown.
    pub line: u32,
    /// The column, from 1.
    pub column: u32,
    /// The text of that statement or expression, as written, on one line.
    pub text: String,
}

/// How an execution ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Ending {
    /// What is wrong, in one line; empty if nothing is.
    pub message: String,
    /// Whether the last step is what went wrong. Otherwise it is the state after it.
    #[serde(skip)]
    pub in_last_step: bool,
    /// If the execution does not end: how many steps come before those that repeat for ever.
    #[serde(skip)]
    pub repeats_from: Option<usize>,
    /// The places that matter, each with what to say about it: the assertion that failed,
    /// the two accesses of a race, what each thread of a deadlock waits for.
    pub notes: Vec<Note>,
    /// What could be done about it, and where: an ordering that is too weak.
    pub help: Vec<Note>,
}

/// A remark about a place.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Note {
    /// The thread it is about: an index into [`Story::threads`].
    pub thread: Option<usize>,
    /// The place.
    pub at: Spot,
    /// The remark: `waits for fork[1], held by philosopher[1]`.
    pub text: String,
}

impl Story {
    /// How often the story changes from one thread to another.
    #[must_use]
    pub fn switches(&self) -> usize {
        self.steps
            .windows(2)
            .filter(|pair| pair[0].thread != pair[1].thread)
            .count()
    }
}
