//! [`Retraced`]: how states were reached, found again.
//!
//! A breadth-first search keeps no links between states: most searches find no violation, and links would take half as much memory as
//! the states. After a violation, the levels up to it are searched once more among the stored states. An expansion is a function of
//! the state, so it gives the same levels. The order is that of one worker, however many there were.

use std::collections::HashMap;
use std::ops::ControlFlow;

use raddle_store::{StateId, Store};

use super::space::Space;
use super::straighten::MOST_EXPANSIONS;
use super::worklist::{Hop, NOBODY, Trails, trail_of};
use crate::system::System;

/// The levels of a search, and from which state each state was reached first.
pub(super) struct Retraced<'r> {
    store: &'r dyn Store,
    /// By indices of states.
    parents: Vec<u32>,
    /// Nothing if they are too large for what they are needed for.
    levels: Option<Vec<Vec<StateId>>>,
}

/// Not reached yet.
const UNKNOWN: u32 = NOBODY - 1;

/// States that are to be found again, and how far from the initial one.
pub(super) type Wanted = HashMap<StateId, u32>;

/// How many edges of a state are looked at in the first attempt.
const EDGES_AT_FIRST: u64 = 1 << 10;

impl<'r> Retraced<'r> {
    /// Searches until all states are found that are wanted.
    ///
    /// A choice can have billions of alternatives, and the search need not have seen all. So only some edges of each state are looked at, and
    /// more if that is not enough.
    pub(super) fn new<S: System>(space: &mut Space<'r, S>, root: StateId, wanted: &Wanted) -> Self {
        let mut edges = EDGES_AT_FIRST;
        loop {
            if let Some(retraced) = Self::within(space, root, wanted, edges) {
                return retraced;
            }
            assert!(
                edges < u64::MAX / 32,
                "the expansion of a state must depend on nothing else"
            );
            edges *= 32;
        }
    }

    /// Looks at that many edges of each state, at most.
    fn within<S: System>(
        space: &mut Space<'r, S>,
        root: StateId,
        wanted: &Wanted,
        most_edges: u64,
    ) -> Option<Self> {
        let store = space.store;
        let depth = wanted.values().copied().max().unwrap_or(0);
        let mut parents = vec![UNKNOWN; store.index_bound()];
        parents[store.index(root)] = NOBODY;
        let mut levels = Some(Vec::new());
        let mut known = 1;
        let mut missing = wanted.len() - usize::from(wanted.contains_key(&root));
        let mut level = vec![root];
        let mut skipped = false;
        for distance in 1..=depth {
            let mut next = Vec::new();
            for &from in &level {
                if missing == 0 {
                    break;
                }
                let parent = store.index(from) as u32;
                let mut edges = 0;
                space.for_each_edge(from, |_, edge| {
                    if let Some(to) = edge.to {
                        let index = store.index(to);
                        if parents[index] == UNKNOWN {
                            parents[index] = parent;
                            next.push(to);
                            missing -= usize::from(wanted.get(&to) == Some(&distance));
                        }
                    }
                    edges += 1;
                    skipped |= edges == most_edges;
                    match missing == 0 || edges == most_edges {
                        true => ControlFlow::Break(()),
                        false => ControlFlow::Continue(()),
                    }
                });
            }
            known += next.len() as u64;
            if known > MOST_EXPANSIONS {
                levels = None;
            }
            if let Some(levels) = &mut levels {
                levels.push(level);
            }
            level = next;
        }
        if let Some(levels) = &mut levels {
            levels.push(level);
        }
        assert!(
            missing == 0 || skipped,
            "the expansion of a state must depend on nothing else"
        );
        (missing == 0).then_some(Self {
            store,
            parents,
            levels,
        })
    }
}

impl Trails for Retraced<'_> {
    fn trail(&self, node: u64) -> Vec<Hop> {
        let start = self.store.index(StateId(node)) as u32;
        trail_of(start, |index| {
            let hop = Hop {
                state: self.store.at(index as usize),
                last: None,
            };
            (hop, self.parents[index as usize])
        })
    }

    fn level(&self, depth: usize) -> Option<&[StateId]> {
        let level = self.levels.as_ref()?.get(depth)?;
        (!level.is_empty()).then_some(level)
    }
}
