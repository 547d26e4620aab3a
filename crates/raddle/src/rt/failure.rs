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
    /// The places that matter, each with what to say about it, and then the [help](Self::help).
    pub remarks: Vec<Remark>,
}

/// What a remark is told from others by.
type Told<'a> = (Option<ThreadId>, &'a Spot, String);

impl Failure {
    pub(crate) fn new(kind: FailureKind, message: impl Into<String>, remarks: Vec<Remark>) -> Self {
        Self {
            kind,
            message: message.into(),
            remarks,
        }
    }

    /// What could be done about it, and where: an ordering that is too weak.
    pub fn help(&self) -> impl Iterator<Item = &Remark> {
        self.remarks.iter().filter(|remark| remark.is_help)
    }

    /// The places that matter.
    pub(crate) fn places(&self) -> impl Iterator<Item = &Remark> {
        self.remarks.iter().filter(|remark| !remark.is_help)
    }

    /// Whether it is the same failure as that of another execution.
    ///
    /// Objects and threads are numbered in the order in which an execution comes by them, so what is "mutex 1" in one execution may be "mutex 2" in another. So
    /// failures are told apart by the threads, which have ids, by the places, and by what is said there without
    /// the numbers. What a panic says is the program's own, and its numbers count.
    pub(crate) fn is_like(&self, other: &Self) -> bool {
        self.kind == other.kind && self.essence() == other.essence()
    }

    fn essence(&self) -> (String, Vec<Told<'_>>) {
        let is_own = !matches!(self.kind, FailureKind::Panic | FailureKind::Diverged);
        let without_numbers = |text: &str| {
            let is_number = |word: &&str| {
                let word = word.trim_end_matches(',');
                !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit())
            };
            let words = text.split(' ').filter(|word| !is_number(word));
            words.collect::<Vec<_>>().join(" ")
        };
        let message = match self.kind {
            // It names the thread of the last remark, and repeats it.
            FailureKind::Panic if !self.remarks.is_empty() => String::new(),
            _ if is_own => without_numbers(&self.message),
            _ => self.message.clone(),
        };
        let mut remarks = Vec::new();
        for Remark {
            thread, at, text, ..
        } in self.places()
        {
            let text = if is_own {
                without_numbers(text)
            } else {
                text.clone()
            };
            remarks.push((*thread, at, text));
        }
        if is_own {
            // They come in the order in which the threads were started.
            remarks.sort_by_key(|remark| remark.0);
        }
        (message, remarks)
    }
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
    /// Memory is used that was freed, or is freed while another thread may still use it: see [`Allocator`](crate::Allocator).
    UseAfterFree,
    /// Memory is freed that was freed before.
    DoubleFree,
    /// A thread uses memory that another one has allocated, and no synchronisation orders that: a pointer was published too weakly.
    UnsynchronisedPublication,
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
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Remark {
    /// The thread it is about.
    pub thread: Option<ThreadId>,
    /// The place; line 0 if it is not known.
    pub at: Spot,
    /// What to say.
    pub text: String,
    /// Whether it says what could be done.
    pub is_help: bool,
}

impl Remark {
    /// What could be done at a place.
    pub(crate) fn help(thread: ThreadId, place: Place, text: impl Into<String>) -> Self {
        Self {
            is_help: true,
            ..Self::new(thread, place, text)
        }
    }

    pub(crate) fn new(thread: ThreadId, place: Place, text: impl Into<String>) -> Self {
        Self {
            thread: Some(thread),
            at: spot(place),
            text: text.into(),
            is_help: false,
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
