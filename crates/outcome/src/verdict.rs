//! [`Verdict`]: the answer.

use crate::Explored;

/// The answer of a check. It is computed, and stored nowhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// Everything was explored, and nothing is wrong.
    Verified,
    /// Something is wrong. That is certain, whatever was left out.
    Violation,
    /// Nothing wrong was found in what was explored, which is not everything.
    Inconclusive,
    /// There was nothing to check: the program or the question is wrong.
    Error,
}

impl Verdict {
    /// All of them.
    pub const ALL: [Self; 4] = [
        Self::Verified,
        Self::Violation,
        Self::Inconclusive,
        Self::Error,
    ];

    /// What follows from the number of violations that were found, and from what was explored.
    #[must_use]
    pub fn of<P>(violations: usize, explored: &Explored<P>) -> Self {
        match (violations, explored.is_complete()) {
            (1.., _) => Self::Violation,
            (0, true) => Self::Verified,
            (0, false) => Self::Inconclusive,
        }
    }

    /// Its name, for people and for programs.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Verified => "verified",
            Self::Violation => "violation",
            Self::Inconclusive => "inconclusive",
            Self::Error => "error",
        }
    }

    /// The exit code of a command whose answer it is.
    #[must_use]
    pub const fn exit_code(self) -> u8 {
        match self {
            Self::Verified => 0,
            Self::Violation => 1,
            Self::Error => 2,
            Self::Inconclusive => 3,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Extent, Kind, LeftOut};

    #[test]
    fn only_what_is_complete_is_verified() {
        let mut explored = Explored::<u32>::default();
        assert_eq!(Verdict::of(0, &explored), Verdict::Inconclusive);
        explored.covered(LeftOut::default().covering(Extent::All));
        assert_eq!(Verdict::of(0, &explored), Verdict::Verified);
        explored.assume(Kind::Assume);
        assert_eq!(Verdict::of(0, &explored), Verdict::Verified);
        explored.assume(Kind::Time);
        assert_eq!(Verdict::of(0, &explored), Verdict::Inconclusive);
        assert_eq!(Verdict::of(2, &explored), Verdict::Violation);
    }

    /// Scripts rely on them.
    #[test]
    fn names_and_exit_codes() {
        let told = Verdict::ALL.map(|verdict| (verdict.name(), verdict.exit_code()));
        let expected = [
            ("verified", 0),
            ("violation", 1),
            ("inconclusive", 3),
            ("error", 2),
        ];
        assert_eq!(told, expected);
    }
}
