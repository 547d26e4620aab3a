//! What can be wrong with an execution.

use raddle_report::story::Spot;
use raddle_schedule::ThreadId;

use super::Place;

/// What is wrong with an execution.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// What kind of failure it is.
    pub kind: FailureKind,
    /// What is wrong, in one line.
    pub message: String,
    /// The places that matter, each with what to say about it.
    pub remarks: Vec<Remark>,
}

/// Kinds of failures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FailureKind {
    /// The main thread panicked, or another one that nobody joined.
    Panic,
    /// Threads wait for each other, or for nobody.
    Deadlock,
    /// A thread waits for a lock that it holds itself.
    SelfDeadlock,
    /// Two accesses to a cell are not ordered by any synchronisation.
    DataRace,
    /// Something that is counted is still there at the end.
    Leak,
    /// Threads spin for ever.
    LiveLock,
    /// There was no end in sight.
    TooManySteps,
    /// The program did something else when the same schedule was run again.
    Diverged,
}

/// Something about a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remark {
    /// The thread it is about.
    pub thread: Option<ThreadId>,
    /// The place; line 0 if it is not known.
    pub at: Spot,
    /// What to say.
    pub text: String,
}

impl Remark {
    pub(crate) fn new(thread: ThreadId, place: Place, text: impl Into<String>) -> Self {
        Self {
            thread: Some(thread),
            at: spot(place),
            text: text.into(),
        }
    }
}

/// A place, without its text.
pub(crate) fn spot(place: Place) -> Spot {
    Spot {
        file: place.file().into(),
        line: place.line(),
        column: place.column(),
        text: String::new(),
    }
}
