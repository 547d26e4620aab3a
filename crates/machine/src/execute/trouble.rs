//! What can go wrong at run time.

use raddle_explore::FaultKind;

/// A runtime error. Small and copied freely; the words for it are made only when it is
/// reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trouble {
    DivisionByZero,
    OutOfBounds { index: i64, length: i64 },
    NotInArray,
    NullReference,
    UseAfterFree,
    DoubleFree,
    BadFree,
    OutOfRange { value: i64, low: i64, high: i64 },
    EmptyChoice { low: i64, high: i64 },
    TooManyChoices,
    NotHeld,
    WaitNotHeld,
    NotifyNotHeld,
    StackLimit,
    AtomicNeverEnds,
    NullThread,
    BadSize(i64),
    TooManyThreads,
    TooManyObjects,
    TooManyChildren,
    ThreadNumber,
}

impl Trouble {
    /// Whose fault it is. How many threads and objects there are at a time depends on what the
    /// other threads have done so far.
    pub(crate) fn kind(self) -> FaultKind {
        match self {
            Self::TooManyThreads => FaultKind::Capacity("more than 4096 threads at a time"),
            Self::TooManyObjects => FaultKind::Capacity("more than 65535 heap objects at a time"),
            _ => FaultKind::Runtime,
        }
    }
}

/// How deep calls may nest.
pub(crate) const MAX_CALLS: usize = 256;
/// How many loop iterations and calls of local code one step may make.
pub(crate) const LOCAL_FUEL: u32 = 1_000;
/// How many loop iterations and calls an atomic block may make.
pub(crate) const ATOMIC_FUEL: u32 = 100_000;
pub(crate) const MAX_THREADS: usize = 4_096;
pub(crate) const MAX_OBJECTS: usize = 65_535;
/// The k-th child of thread p has the number `CHILDREN_PER_THREAD * p + k + n`.
pub(crate) const CHILDREN_PER_THREAD: i64 = 1_024;

impl std::fmt::Display for Trouble {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match *self {
            Self::DivisionByZero => write!(f, "division by zero"),
            Self::OutOfBounds { index, length: 0 } => write!(
                f,
                "index out of bounds: there is no element {index}, the array is empty"
            ),
            Self::OutOfBounds { index, length: 1 } => write!(
                f,
                "index out of bounds: there is no element {index}, only 0"
            ),
            Self::OutOfBounds { index, length } => write!(
                f,
                "index out of bounds: there is no element {index}, only 0 to {}",
                length - 1
            ),
            Self::NotInArray => write!(
                f,
                "index out of bounds: the reference does not refer into an array"
            ),
            Self::NullReference => write!(f, "use of a null reference"),
            Self::UseAfterFree => write!(f, "use of a freed object"),
            Self::DoubleFree => write!(f, "the object was freed before"),
            Self::BadFree => write!(f, "only what `new` gave can be freed"),
            Self::OutOfRange { value, low, high } => {
                write!(f, "{value} is outside the range {low}..{high}")
            }
            Self::EmptyChoice { low, high } => {
                write!(f, "nothing to choose from: {low} is greater than {high}")
            }
            Self::TooManyChoices => write!(f, "too many choices in one step"),
            Self::NotHeld => write!(f, "unlock of a lock that the thread does not hold"),
            Self::WaitNotHeld => write!(f, "wait without holding the mutex"),
            Self::NotifyNotHeld => write!(f, "notify without holding the mutex"),
            Self::StackLimit => write!(f, "stack limit: more than {MAX_CALLS} nested calls"),
            Self::AtomicNeverEnds => write!(
                f,
                "the atomic block does not end (more than {ATOMIC_FUEL} loop iterations and calls)"
            ),
            Self::NullThread => write!(f, "join of a null thread"),
            Self::BadSize(size) => write!(f, "cannot allocate {size} slots"),
            Self::TooManyThreads => write!(f, "more than {MAX_THREADS} threads at a time"),
            Self::TooManyObjects => write!(f, "more than {MAX_OBJECTS} heap objects at a time"),
            Self::TooManyChildren => write!(
                f,
                "more than {CHILDREN_PER_THREAD} threads spawned by one, in a program that uses `tid`"
            ),
            Self::ThreadNumber => write!(f, "the number of the new thread does not fit in an int"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_that_others_can_fill_are_told_with_their_numbers() {
        for trouble in [Trouble::TooManyThreads, Trouble::TooManyObjects] {
            let FaultKind::Capacity(what) = trouble.kind() else {
                panic!("{trouble:?} is a limit");
            };
            assert_eq!(what, trouble.to_string());
        }
        assert_eq!(Trouble::TooManyChildren.kind(), FaultKind::Runtime);
    }
}
