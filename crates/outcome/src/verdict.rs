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
}

impl Verdict {
    /// What follows from the number of violations that were found, and from what was explored.
    #[must_use]
    pub fn of<P>(violations: usize, explored: &Explored<P>) -> Self {
        match (violations, explored.is_complete()) {
            (1.., _) => Self::Violation,
            (0, true) => Self::Verified,
            (0, false) => Self::Inconclusive,
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
}
