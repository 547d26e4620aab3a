//! [`Explored`]: what was explored, and what that rests on.

use crate::{Assumption, Assumptions, Coverage, Extent, Kind};

/// What was explored, and what that rests on. What may be claimed is computed from it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explored<P> {
    /// What the explorer has covered, if it came to its end.
    coverage: Option<Coverage>,
    /// The last bound on preemptions that was finished before anything was left out.
    finished_bound: Option<u32>,
    assumptions: Assumptions<P>,
}

impl<P> Default for Explored<P> {
    fn default() -> Self {
        Self {
            coverage: None,
            finished_bound: None,
            assumptions: Assumptions::default(),
        }
    }
}

impl<P: PartialEq> Explored<P> {
    /// Something was left out, bounded or guessed.
    pub fn assume(&mut self, assumption: impl Into<Assumption<P>>) {
        self.assumptions.add(assumption);
    }

    /// All executions within a bound on preemptions were run, but for those that were left out so far: after an omission no
    /// bound is finished any more.
    pub fn bound_reached(&mut self, bound: u32) {
        if self.assumptions.are_of_the_model() {
            self.finished_bound = Some(bound);
        }
    }

    /// The explorer has ended, and has covered that much.
    pub fn covered(&mut self, coverage: Coverage) {
        for &kind in coverage.left_out() {
            if self.assumptions.find(kind).is_none() {
                self.assume(kind);
            }
        }
        self.coverage = Some(coverage);
        if let Extent::UpToBound(bound) = self.extent() {
            let bounded = Assumption::from(Kind::Preemptions);
            self.assume(bounded.because(beyond(bound)));
        }
    }
}

impl<P: PartialEq> Explored<P> {
    /// Both together, if each is about another question to the same program: what both cover, resting on what either of them
    /// rests on.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        self.assumptions.absorb(other.assumptions);
        let mut both = Self {
            coverage: self
                .coverage
                .zip(other.coverage)
                .map(|(one, other)| one.and(other)),
            finished_bound: self
                .finished_bound
                .zip(other.finished_bound)
                .map(|(one, other)| one.min(other)),
            assumptions: self.assumptions,
        };
        if let Some(bound) = both.bound() {
            both.explain(|kind| (kind == Kind::Preemptions).then(|| beyond(bound)));
        }
        both
    }
}

/// Which executions are beyond a bound on preemptions.
fn beyond(bound: u32) -> String {
    format!("those with more than {bound}")
}

impl<P> Explored<P> {
    /// How much was explored: everything, or up to the last bound that was finished.
    #[must_use]
    pub fn extent(&self) -> Extent {
        let covered = self.coverage.as_ref().map(Coverage::extent);
        match (covered, self.finished_bound) {
            (Some(Extent::All), _) if self.assumptions.are_of_the_model() => Extent::All,
            (Some(Extent::UpToBound(bound)), _) if self.are_only_beyond_bound() => {
                Extent::UpToBound(bound)
            }
            (_, Some(bound)) => Extent::UpToBound(bound),
            (_, None) => Extent::Some,
        }
    }

    /// Whether no execution was left out that is within the bound.
    fn are_only_beyond_bound(&self) -> bool {
        self.limits().all(|one| one.kind == Kind::Preemptions)
    }

    fn limits(&self) -> impl Iterator<Item = &Assumption<P>> {
        let all = self.assumptions.iter();
        all.filter(|one| one.kind.nature() == crate::Nature::Limit)
    }

    /// The bound on preemptions up to which all executions were run, if there are others.
    #[must_use]
    pub fn bound(&self) -> Option<u32> {
        match self.extent() {
            Extent::UpToBound(bound) => Some(bound),
            Extent::All | Extent::Some => None,
        }
    }

    /// The bound on preemptions up to which the program is right, if nothing is wrong with what was explored, and there is more. That is
    /// no more than [`bound`](Self::bound) says, and nothing if no execution was checked to its end.
    #[must_use]
    pub fn verified_up_to_bound(&self, violations: usize) -> Option<u32> {
        let is_right = violations == 0 && self.assumptions.find(Kind::Vacuous).is_none();
        self.bound().filter(|_| is_right)
    }

    /// Whether every execution was run that the explorer can run. A real machine may have others: see
    /// [`Nature::Model`](crate::Nature::Model).
    #[must_use]
    pub fn is_exhausted(&self) -> bool {
        self.extent() == Extent::All
    }

    /// Whether the program has no execution that was left out.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.is_exhausted() && self.assumptions.are_none()
    }

    /// The first limit that left out executions, if one did.
    ///
    /// That the way of exploring does not preserve a property, or that no execution counts, is no such limit: all may have been
    /// run.
    #[must_use]
    pub fn cut(&self) -> Option<&Assumption<P>> {
        let is_about_the_answer = |kind| matches!(kind, Kind::NotPreserved | Kind::Vacuous);
        let mut limits = self.limits();
        limits.find(|one| !is_about_the_answer(one.kind))
    }

    /// Says more of the assumptions of a kind, in place of what is said beyond the kind.
    pub fn explain(&mut self, more: impl Fn(Kind) -> Option<String>) {
        self.assumptions.explain(more);
    }

    /// The same, with places as somebody else knows them.
    pub fn map_places<Q>(self, place: impl FnMut(P) -> Q) -> Explored<Q> {
        Explored {
            coverage: self.coverage,
            finished_bound: self.finished_bound,
            assumptions: self.assumptions.map_places(place),
        }
    }

    /// What it rested on.
    #[must_use]
    pub fn into_assumptions(self) -> Assumptions<P> {
        self.assumptions
    }

    /// What it rests on.
    #[must_use]
    pub fn assumptions(&self) -> &Assumptions<P> {
        &self.assumptions
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LeftOut;

    fn explored(kinds: &[Kind], claim: Extent) -> Explored<u32> {
        let mut explored = Explored::default();
        for &kind in kinds {
            explored.assume(kind);
        }
        explored.covered(LeftOut::default().covering(claim));
        explored
    }

    #[test]
    fn no_claim_survives_an_omission() {
        assert!(explored(&[], Extent::All).is_complete());
        assert!(
            !Explored::<u32>::default().is_complete(),
            "nothing was covered"
        );
        for &kind in Kind::ALL {
            let explored = explored(&[kind], Extent::All);
            assert_eq!(explored.is_complete(), !kind.makes_incomplete(), "{kind:?}");
            let exhausted = kind.nature() != crate::Nature::Limit;
            assert_eq!(explored.is_exhausted(), exhausted, "{kind:?}");
        }
    }

    #[test]
    fn only_limits_on_executions_cut() {
        for &kind in Kind::ALL {
            let mut all = Explored::<u32>::default();
            all.assume(kind);
            let is_no_limit = matches!(kind, Kind::NotPreserved | Kind::Vacuous);
            let is_cut = kind.nature() == crate::Nature::Limit && !is_no_limit;
            assert_eq!(all.cut().is_some(), is_cut, "{kind:?}");
        }
        let all = explored(&[Kind::Vacuous, Kind::Time, Kind::Memory], Extent::All);
        assert_eq!(all.cut().map(|one| one.kind), Some(Kind::Time));
    }

    #[test]
    fn a_bound_counts_if_nothing_was_left_out_before() {
        let mut all = Explored::<u32>::default();
        all.bound_reached(0);
        all.bound_reached(1);
        all.assume(Kind::WakeupSequences);
        all.bound_reached(2);
        assert_eq!(all.bound(), Some(1));
        all.covered(LeftOut::default().covering(Extent::UpToBound(3)));
        assert_eq!(all.bound(), Some(1));
        assert!(all.assumptions().find(Kind::Preemptions).is_some());

        let bounded = explored(&[], Extent::UpToBound(2));
        assert_eq!(bounded.bound(), Some(2));
        assert!(!bounded.is_complete() && !bounded.is_exhausted());
    }

    /// Two questions are answered together only as far as each is.
    #[test]
    fn both_cover_what_each_covers() {
        let claims = [
            Extent::Some,
            Extent::UpToBound(1),
            Extent::UpToBound(2),
            Extent::All,
        ];
        for (index, &one) in claims.iter().enumerate() {
            for &other in &claims[index..] {
                let together = explored(&[], one).and(explored(&[], other));
                assert_eq!(together.extent(), one, "{one:?}, {other:?}");
                if let Extent::UpToBound(bound) = one {
                    let beyond = together.assumptions().find(Kind::Preemptions);
                    let detail = beyond.and_then(|beyond| beyond.detail.as_deref());
                    assert_eq!(detail, Some(super::beyond(bound).as_str()));
                }
                let together = explored(&[], other).and(explored(&[], one));
                assert_eq!(together.extent(), one, "{other:?}, {one:?}");
            }
        }
        for &kind in Kind::ALL {
            let complete = !kind.makes_incomplete();
            let (with, without) = (explored(&[kind], Extent::All), explored(&[], Extent::All));
            assert_eq!(with.clone().and(without.clone()).is_complete(), complete);
            assert_eq!(without.and(with).is_complete(), complete, "{kind:?}");
        }
        let nothing = Explored::<u32>::default();
        assert!(!explored(&[], Extent::All).and(nothing).is_complete());
    }

    #[test]
    fn nothing_is_right_up_to_a_bound_if_nothing_was_checked() {
        let mut all = Explored::<u32>::default();
        all.bound_reached(1);
        all.covered(LeftOut::default().covering(Extent::UpToBound(2)));
        assert_eq!(all.verified_up_to_bound(0), Some(2));
        assert_eq!(all.verified_up_to_bound(1), None);
        all.assume(Kind::Vacuous);
        assert_eq!(all.verified_up_to_bound(0), None);
    }

    #[test]
    fn what_nobody_was_told_of_is_listed_too() {
        let mut left_out = LeftOut::default();
        left_out.note(Kind::WakeupSequences);
        let mut all = Explored::<u32>::default();
        all.covered(left_out.covering(Extent::All));
        assert_eq!(all.extent(), Extent::Some);
        assert!(all.assumptions().find(Kind::WakeupSequences).is_some());
    }
}
