//! [`Answer`]: what a check says in a line, and why.

use raddle_outcome::{Explored, Verdict};

use crate::assumptions;
use crate::story::Spot;
use crate::style::Role;

/// The answer of a check, whichever way it was made. It is computed from what was explored and found, and stored nowhere.
///
/// ```
/// use raddle_outcome::{Explored, Extent, Kind, LeftOut};
/// use raddle_report::answer::Answer;
///
/// let mut explored = Explored::default();
/// explored.covered(LeftOut::default().covering(Extent::All));
/// assert_eq!(Answer::of(&explored, 0).headline(), "verified");
/// assert_eq!(Answer::of(&explored, 2).headline(), "2 violations");
/// explored.assume(Kind::Time);
/// let answer = Answer::of(&explored, 0);
/// assert_eq!(answer.headline(), "inconclusive");
/// assert_eq!(answer.reason.unwrap(), "the limit on time was reached");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The verdict.
    pub verdict: Verdict,
    /// Why it is inconclusive, if it is.
    pub reason: Option<String>,
    /// How many violations were found.
    pub violations: usize,
    /// The bound on preemptions up to which all is well, if there are executions beyond.
    pub verified_up_to_bound: Option<u32>,
}

impl Answer {
    /// What follows from what was explored, and from how many violations were found.
    #[must_use]
    pub fn of(explored: &Explored<Spot>, violations: usize) -> Self {
        let verdict = Verdict::of(violations, explored);
        Self {
            verdict,
            reason: (verdict == Verdict::Inconclusive).then(|| reason(explored)),
            violations,
            verified_up_to_bound: explored.verified_up_to_bound(violations),
        }
    }

    /// The verdict in a word or two: `verified`, `2 violations`, `verified up to bound 1`.
    #[must_use]
    pub fn headline(&self) -> String {
        match (self.verdict, self.violations, self.verified_up_to_bound) {
            (Verdict::Violation, 2.., _) => format!("{} violations", self.violations),
            (Verdict::Inconclusive, _, Some(bound)) => {
                format!("{} up to bound {bound}", Verdict::Verified.name())
            }
            (verdict, _, _) => verdict.name().to_owned(),
        }
    }

    /// What it looks like.
    #[must_use]
    pub fn role(&self) -> Role {
        match self.verdict {
            Verdict::Verified => Role::Success,
            Verdict::Violation | Verdict::Error => Role::Error,
            Verdict::Inconclusive => Role::Warning,
        }
    }
}

/// Everything that keeps an exploration from being complete.
fn reason(explored: &Explored<Spot>) -> String {
    let reasons = assumptions::lines(explored.assumptions(), |kind| kind.makes_incomplete());
    match reasons.is_empty() {
        true => "not all executions were run".into(),
        false => reasons.join("; "),
    }
}
