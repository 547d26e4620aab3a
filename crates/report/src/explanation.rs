//! [`Explanation`]: what a program's steps do to each other, line by line.
//!
//! The same value is printed as text ([`render`]) and as JSON.

mod draw;

use serde::Serialize;

pub use draw::{Options, render};

/// The version of the format of [`Explanation`].
pub const VERSION: u32 = 1;

/// A program, annotated.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Explanation {
    /// The version of this format: [`VERSION`].
    pub version: u32,
    /// The program, as it was named by the user.
    pub file: String,
    /// Whether every execution was looked at. If not, what is said holds for those that were.
    pub complete: bool,
    /// Why not.
    pub reason: Option<String>,
    /// The source, line by line.
    pub lines: Vec<Line>,
    /// The shared variables, in the order of the source; fields of heap objects last.
    pub variables: Vec<Variable>,
    /// The functions, in the order of the source.
    pub functions: Vec<Function>,
    /// What the order of locks tells about deadlocks.
    pub deadlocks: Option<String>,
}

impl Explanation {
    /// The explanation as JSON, indented, with a newline at the end.
    #[must_use]
    pub fn to_json(&self) -> String {
        crate::json::pretty(self)
    }
}

/// A line of the source.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Line {
    /// Its number, from 1.
    pub number: u32,
    /// Its text.
    pub text: String,
    /// The steps that begin in it, in the order of the program.
    pub steps: Vec<Step>,
    /// Remarks about what is declared in it.
    pub remarks: Vec<String>,
}

/// How a step commutes with those of other threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Mover {
    /// Both ways.
    Both,
    /// To the left: it could have come earlier.
    Left,
    /// To the right: it could have come later.
    Right,
    /// Not at all.
    Non,
}

impl Mover {
    fn letter(self) -> char {
        match self {
            Self::Both => 'B',
            Self::Left => 'L',
            Self::Right => 'R',
            Self::Non => 'N',
        }
    }
}

/// How often something happens when a step is taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Often {
    /// Never.
    #[default]
    Never,
    /// Sometimes.
    Sometimes,
    /// Whenever it is taken.
    Always,
}

/// A step of the program that touches something shared.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Step {
    /// The column in which it begins, from 1.
    pub column: u32,
    /// Its text.
    pub text: String,
    /// The movers that it was seen to be; several if that depends on where it comes from.
    pub movers: Vec<Mover>,
    /// Whether a transaction begins with it; then the one before ends there.
    pub begins: Often,
    /// Whether the transaction commits with it.
    pub commits: Often,
    /// Whether a transaction had to be ended by force before it, because it could go on for ever.
    pub forced: bool,
}

/// How a variable is protected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Protection {
    /// By locks.
    Locks,
    /// Only one thread accesses it.
    ThreadLocal,
    /// Nobody writes it after the first thread was started.
    ReadOnly,
    /// A declared discipline.
    Declared,
    /// Not at all.
    Unprotected,
    /// It is a lock or a semaphore that somebody tries, so taking it and giving it back do
    /// not commute with that.
    Tried,
}

/// A shared variable.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Variable {
    /// Its name, such as `table[3].next`; `Node.next` for a field of heap objects.
    pub name: String,
    /// How it is protected.
    pub protection: Protection,
    /// The locks that are held at every access that needs one.
    pub locks: Vec<String>,
    /// Whether it is only protected if one does not count accesses by a thread when all
    /// others have ended.
    pub except_when_alone: bool,
    /// The lock that is held at most of its accesses, if it is unprotected and there is one.
    pub nearly: Option<String>,
    /// The accesses that break the discipline: those without that lock, or all.
    pub broken_by: Vec<Access>,
}

/// An access to a variable.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Access {
    /// The line, from 1.
    pub line: u32,
    /// The column, from 1.
    pub column: u32,
    /// The statement.
    pub text: String,
}

/// A function of the program.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Function {
    /// Its name.
    pub name: String,
    /// The line in which it is declared, from 1.
    pub line: u32,
    /// Whether it was ever called.
    pub executed: bool,
    /// Whether all that it does, from call to return, is part of one transaction.
    pub atomic: bool,
    /// Before which places it can be interrupted, if it is not atomic.
    pub interrupted_at: Vec<Access>,
}
