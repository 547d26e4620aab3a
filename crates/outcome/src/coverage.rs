//! [`Coverage`]: how much of the executions of a program was explored.
//!
//! An explorer keeps a [`LeftOut`], and notes there everything that it does not run although it should. Only by consuming this
//! record it gets a [`Coverage`], so it cannot forget what it has noted, and only an empty record gives [`Extent::All`].

use crate::Kind;

/// How much was explored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Extent {
    /// Every execution, up to the order of independent steps.
    All,
    /// Every execution that has at most this many preemptions, up to the order of independent steps.
    UpToBound(u32),
    /// Some executions; nothing is claimed.
    Some,
}

/// What an explorer has left out so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[must_use = "what was left out limits what was covered"]
pub struct LeftOut {
    kinds: Vec<Kind>,
}

impl LeftOut {
    /// Something was left out, for this reason.
    pub fn note(&mut self, kind: Kind) {
        if !self.kinds.contains(&kind) {
            self.kinds.push(kind);
        }
    }

    /// Another worker on the same exploration has left out something too.
    pub fn absorb(&mut self, other: Self) {
        for kind in other.kinds {
            self.note(kind);
        }
    }

    /// What was covered, if that is `claim` but for what was left out.
    pub fn covering(self, claim: Extent) -> Coverage {
        Coverage {
            extent: match self.kinds.is_empty() {
                true => claim,
                false => Extent::Some,
            },
            left_out: self.kinds,
        }
    }
}

impl FromIterator<Self> for LeftOut {
    fn from_iter<I: IntoIterator<Item = Self>>(all: I) -> Self {
        let mut together = Self::default();
        for one in all {
            together.absorb(one);
        }
        together
    }
}

/// What an explorer has covered. It comes from a [`LeftOut`] only.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Coverage {
    extent: Extent,
    left_out: Vec<Kind>,
}

impl Coverage {
    /// What both cover.
    pub(crate) fn and(mut self, other: Self) -> Self {
        let mut left_out = LeftOut {
            kinds: std::mem::take(&mut self.left_out),
        };
        left_out.absorb(LeftOut {
            kinds: other.left_out,
        });
        left_out.covering(match (self.extent, other.extent) {
            (Extent::Some, _) | (_, Extent::Some) => Extent::Some,
            (Extent::All, extent) | (extent, Extent::All) => extent,
            (Extent::UpToBound(one), Extent::UpToBound(other)) => Extent::UpToBound(one.min(other)),
        })
    }

    /// How much was covered.
    #[must_use]
    pub fn extent(&self) -> Extent {
        self.extent
    }

    /// Whether nothing is left to run.
    #[must_use]
    pub fn is_all(&self) -> bool {
        self.extent == Extent::All
    }

    /// Why something was left out.
    #[must_use]
    pub fn left_out(&self) -> &[Kind] {
        &self.left_out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_one_worker_left_out_nobody_covers() {
        let mut one = LeftOut::default();
        one.note(Kind::WakeupSequences);
        one.note(Kind::WakeupSequences);
        for claim in [Extent::All, Extent::UpToBound(2), Extent::Some] {
            let workers = [LeftOut::default(), one.clone(), LeftOut::default()];
            let coverage = LeftOut::from_iter(workers).covering(claim);
            assert_eq!(coverage.extent(), Extent::Some);
            assert_eq!(coverage.left_out(), [Kind::WakeupSequences]);
        }
        assert!(LeftOut::default().covering(Extent::All).is_all());
    }
}
