//! [`Outcome`]: everything that a check has to tell.

use crate::{Explored, Verdict};

/// What came of a check, whichever way it was made. Verdicts, reports and exit codes are derived from it.
///
/// Each way to check has its own types for the parts: `A` for what was asked, `P` for places in the program, `V` for
/// violations, `C` for what it cost, and `N` for what it noticed by the way.
///
/// ```
/// use raddle_outcome::{Explored, Extent, LeftOut, Outcome, Verdict};
///
/// let mut explored = Explored::<u32>::default();
/// explored.covered(LeftOut::default().covering(Extent::All));
/// let mut outcome = Outcome {
///     asked: "does it end?",
///     explored,
///     violations: Vec::new(),
///     statistics: 7,
///     noticed: (),
/// };
/// assert_eq!(outcome.verdict(), Verdict::Verified);
/// outcome.violations.push("it does not");
/// assert_eq!(outcome.verdict(), Verdict::Violation);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome<A, P, V, C, N = ()> {
    /// What was asked.
    pub asked: A,
    /// What was explored, and what that rests on.
    pub explored: Explored<P>,
    /// What was found to be wrong.
    pub violations: Vec<V>,
    /// What it cost.
    pub statistics: C,
    /// What was noticed beyond what was asked. No verdict depends on it.
    pub noticed: N,
}

impl<A, P, V, C, N> Outcome<A, P, V, C, N> {
    /// The answer.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        Verdict::of(self.violations.len(), &self.explored)
    }

    /// Whether nothing is wrong with any execution.
    #[must_use]
    pub fn is_verified(&self) -> bool {
        self.verdict() == Verdict::Verified
    }
}
