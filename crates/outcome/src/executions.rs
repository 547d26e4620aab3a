//! [`Executions`] and [`Ends`]: what was run, in numbers.

use std::time::Duration;

use crate::{Explored, Kind};

/// How executions ended: how many so, and how many so. For a search they are end states.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ends {
    /// All threads have ended.
    pub terminated: u64,
    /// Cut by an `assume`: these do not count.
    pub cut: u64,
    /// Threads wait for ever, and none has failed.
    pub deadlocked: u64,
    /// A thread has failed.
    pub failed: u64,
}

impl Ends {
    /// All of them.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.terminated + self.cut + self.deadlocked + self.failed
    }

    /// Whether there are some, and all were cut: then nothing was checked to its end.
    #[must_use]
    pub fn are_all_cut(&self) -> bool {
        self.cut > 0 && self.cut == self.count()
    }

    /// Adds those of another part of the same exploration.
    pub fn absorb(&mut self, other: &Self) {
        self.terminated += other.terminated;
        self.cut += other.cut;
        self.deadlocked += other.deadlocked;
        self.failed += other.failed;
    }
}

/// What it took to run executions one by one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Executions {
    /// How many executions were run to their end.
    pub executions: u64,
    /// How many classes they are of, if that was counted: those of a class differ in the order of independent steps only.
    pub classes: Option<u64>,
    /// How many steps were made, if that was counted. Those with which an execution begins like the one before of the same
    /// worker count once.
    pub steps: Option<u64>,
    /// The steps of the longest execution, if they were counted.
    pub longest: Option<u64>,
    /// How the executions ended.
    pub ends: Ends,
    /// How many executions there were when all within a bound had been run, by the bound.
    pub within_bounds: Vec<u64>,
    /// The time it took.
    pub elapsed: Duration,
}

impl<P: PartialEq> Explored<P> {
    /// These executions are all that were run. If an `assume` has cut each of them, nothing was checked.
    pub fn ended(&mut self, ends: &Ends) {
        if ends.are_all_cut() {
            self.assume(Kind::Vacuous);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_end_that_counts_is_enough() {
        let cut = Ends {
            cut: 2,
            ..Ends::default()
        };
        assert!(cut.are_all_cut() && !Ends::default().are_all_cut());
        for end in 0..3 {
            let mut ends = Ends::default();
            *[&mut ends.terminated, &mut ends.deadlocked, &mut ends.failed][end] += 1;
            ends.absorb(&cut);
            assert_eq!(ends.count(), 3);
            assert!(!ends.are_all_cut());
        }
    }

    #[test]
    fn nothing_is_claimed_of_executions_that_do_not_count() {
        let mut explored = Explored::<u32>::default();
        let mut ends = Ends {
            cut: 1,
            terminated: 1,
            ..Ends::default()
        };
        explored.ended(&ends);
        assert!(explored.assumptions().find(Kind::Vacuous).is_none());
        ends.terminated = 0;
        explored.ended(&ends);
        assert!(explored.assumptions().find(Kind::Vacuous).is_some());
    }
}
