//! [`Worklist`]: in which order states are expanded, and how each was reached.
//!
//! The engine knows no order; a search order is an implementation of this trait, in a
//! file of its own. A worklist deals in *nodes*. For most orders a node is a stored state
//! and has its number; for [fewest switches](super::fewest_switches) it is a state
//! together with the thread that moved last.

use raddle_store::{Inserted, StateId, StoreFull, Tell};

use crate::replay::Legs;

/// No node: the parent of the first.
pub(super) const NOBODY: u32 = u32::MAX;

/// How far it is to a node; lower is better.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Rank {
    /// Context switches, if the order cares for them; 0 otherwise.
    pub(super) switches: u32,
    /// Expansions.
    pub(super) length: u32,
}

/// A node that is to be expanded now.
#[derive(Clone, Copy, Debug)]
pub(super) struct Visit {
    pub(super) node: u64,
    pub(super) state: StateId,
    pub(super) rank: Rank,
    /// The name of the thread that moved last, if the order cares.
    pub(super) last: Option<u64>,
    /// Whether this is the first visit to the state.
    pub(super) first: bool,
}

impl Visit {
    /// Whether it is that many expansions from the initial state, or more.
    pub(super) fn is_at_depth(&self, max: Option<u64>) -> bool {
        max.is_some_and(|max| u64::from(self.rank.length) >= max)
    }

    /// The rank of what a path from here leads to. `legs` are those of the path, if the
    /// order cares for them; a path that is not empty counts as one expansion.
    pub(super) fn rank_after(&self, path_is_empty: bool, legs: Option<Legs>) -> Rank {
        let mut rank = self.rank;
        rank.length += u32::from(!path_is_empty);
        if let Some(legs) = legs {
            let switch = self.last.is_some_and(|last| last != legs.first);
            rank.switches += legs.switches + u32::from(switch);
        }
        rank
    }
}

/// A way from the node that is being expanded to a stored state.
#[derive(Clone, Copy, Debug)]
pub(super) struct Edge {
    pub(super) to: StateId,
    pub(super) inserted: Inserted,
    /// Present if the order [tracks threads](Worklist::TRACKS_THREADS).
    pub(super) legs: Option<Legs>,
}

/// One node on the way to another.
#[derive(Clone, Copy, Debug)]
pub(super) struct Hop {
    pub(super) state: StateId,
    /// The name of the thread that moved last to get here, if the order cares.
    pub(super) last: Option<u64>,
}

/// How the nodes of a search were reached.
pub(super) trait Trails {
    /// The nodes from the initial state to a node, both included.
    fn trail(&self, node: u64) -> Vec<Hop>;

    /// The states at that distance from the initial one, if nodes are states, the order goes by distance,
    /// and some were found at that distance.
    fn level(&self, depth: usize) -> Option<&[StateId]> {
        let _ = depth;
        None
    }
}

/// A search order.
pub(super) trait Worklist {
    /// Whether edges must come with their [`Legs`].
    const TRACKS_THREADS: bool;

    /// Whether it must know of the successors of a node before it can say which is next.
    const AT_ONCE: bool;

    /// Whether all nodes that are expanded between two flushes are equally far from the initial state, and it does not matter
    /// from which of them a state was reached.
    const BY_DISTANCE: bool;

    /// Which [edges](Self::edge) it wants to know of.
    const TELL: Tell;

    /// Enters the initial state, and returns its node.
    fn start(&mut self, root: StateId) -> Result<u64, StoreFull>;

    /// Takes the next node to expand.
    fn next(&mut self) -> Option<Visit>;

    /// Takes an edge from a node that was taken, and returns the node it leads to.
    fn edge(&mut self, from: &Visit, edge: Edge) -> Result<u64, StoreFull>;

    /// Whether no better violation than the best one found can come, now that `next` is
    /// to be expanded. `first_found` is the rank of the node during whose expansion
    /// the first one was found.
    fn settled(&self, best: Rank, first_found: Rank, next: &Visit) -> bool;

    /// Whether somebody else has stopped the search.
    fn interrupted(&self) -> bool {
        false
    }

    /// A violation was found: tells other workers, if there are any.
    fn tell_found(&self) {}

    /// Whether another worker has found a violation at this distance or the next.
    fn found_elsewhere(&self) -> bool {
        false
    }

    /// What was found in this round is in vain: tells other workers.
    fn give_up(&self) {}

    /// How many nodes wait.
    fn waiting(&self) -> usize;

    /// How much memory the order takes, or took at most.
    fn memory_bytes(&self) -> usize;
}

/// The trail of a node whose parents are given by a function.
pub(super) fn trail_of(node: u32, hop: impl Fn(u32) -> (Hop, u32)) -> Vec<Hop> {
    let mut trail = Vec::new();
    let mut node = node;
    while node != NOBODY {
        let (here, parent) = hop(node);
        trail.push(here);
        node = parent;
    }
    trail.reverse();
    trail
}
