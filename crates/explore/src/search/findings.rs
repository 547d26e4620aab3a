//! [`Findings`]: the violations met so far, each kind and place once.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use raddle_store::StateId;

use super::outcome::Cause;
use super::worklist::Rank;
use crate::property::Property;
use crate::system::{Action, Place};

/// What makes two violations the same one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Key {
    Fault(Property, Place),
    /// The places in order.
    Race(Place, Place),
    /// The names of the blocked threads and where they are, in order.
    Deadlock(Vec<(u64, Place)>),
}

/// A violation that was met: after a path from a node.
pub(super) struct Candidate {
    pub(super) cause: Cause,
    pub(super) node: u64,
    pub(super) path: Vec<Action>,
}

/// A distinct violation: the best ways to it that were met.
pub(super) struct Finding {
    pub(super) rank: Rank,
    /// All of that rank, in the order in which they were met.
    pub(super) candidates: Vec<Candidate>,
}

impl Finding {
    /// The states from which it is reached, and how far they are from the initial one; if the order goes
    /// by distance.
    pub(super) fn nodes(&self) -> impl Iterator<Item = (StateId, u32)> {
        let candidates = self.candidates.iter();
        candidates.map(|one| {
            // What is reached by a path is one further.
            let distance = self.rank.length - u32::from(!one.path.is_empty());
            (StateId(one.node), distance)
        })
    }
}

/// How many equally good candidates are kept for one violation. More would hardly make a
/// better counterexample.
const MOST_CANDIDATES: usize = 256;

#[derive(Default)]
pub(super) struct Findings {
    by_key: HashMap<Key, usize>,
    /// In the order in which they were met first.
    pub(super) list: Vec<Finding>,
    best: Option<Rank>,
}

impl Findings {
    /// Takes note of a violation, unless a better way to it is known.
    pub(super) fn record(&mut self, key: Key, rank: Rank, candidate: impl FnOnce() -> Candidate) {
        self.best = Some(self.best.map_or(rank, |best| best.min(rank)));
        match self.by_key.entry(key) {
            Entry::Vacant(entry) => {
                entry.insert(self.list.len());
                self.list.push(Finding {
                    rank,
                    candidates: vec![candidate()],
                });
            }
            Entry::Occupied(entry) => {
                let finding = &mut self.list[*entry.get()];
                if rank < finding.rank {
                    finding.rank = rank;
                    finding.candidates.clear();
                }
                if rank == finding.rank && finding.candidates.len() < MOST_CANDIDATES {
                    finding.candidates.push(candidate());
                }
            }
        }
    }

    /// Takes over what was found elsewhere.
    pub(super) fn absorb(&mut self, other: Self) {
        let mut findings: Vec<_> = other.list.into_iter().map(Some).collect();
        for (key, number) in other.by_key {
            let finding = findings[number].take().expect("keys are different");
            for candidate in finding.candidates {
                self.record(key.clone(), finding.rank, || candidate);
            }
        }
    }

    /// The nodes from which violations are reached.
    pub(super) fn nodes_mut(&mut self) -> impl Iterator<Item = &mut u64> {
        let findings = self.list.iter_mut();
        findings.flat_map(|finding| finding.candidates.iter_mut().map(|one| &mut one.node))
    }

    /// The best rank of all, if anything was found.
    pub(super) fn best(&self) -> Option<Rank> {
        self.best
    }

    /// Merges all violations of the best rank into one, of which any candidate will do,
    /// and forgets the others.
    pub(super) fn into_best(self) -> Option<Finding> {
        let rank = self.best()?;
        let best = self.list.into_iter().filter(|f| f.rank == rank);
        let candidates = best.flat_map(|finding| finding.candidates).collect();
        Some(Finding { rank, candidates })
    }
}
