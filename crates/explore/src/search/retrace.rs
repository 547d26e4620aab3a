//! [`Retraced`]: how states were reached, found again.
//!
//! A breadth-first search keeps no links between states: most searches find no violation, and links would take half as much memory as
//! the states. After a violation, the levels up to it are searched once more among the stored states. An expansion is a function of
//! the state, so it gives the same levels. The order is that of one worker, however many there were.
//!
//! After a search with a store that is not exact, it may see more: a state that was missed is expanded like any that the store has. So a way can be
//! shorter than the one that the search took, but it is a way.
//!
//! It takes more memory then than the search, which knew the words of two levels only: of tables of bits, from which state each was reached has to be known by
//! names. Where that is more than is allowed, [nothing is told](TooLarge) of the violation but that there is one.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::ops::ControlFlow;

use raddle_store::{StateId, Store};

use super::space::{Space, map_bytes};
use super::straighten::MOST_EXPANSIONS;
use super::worklist::{Hop, NOBODY, Trails, trail_of};
use crate::system::System;

/// The levels of a search, and from which state each state was reached first.
pub(super) struct Retraced<'r> {
    parents: Parents<'r>,
    /// Nothing if they are too large for what they are needed for, or if the store has forgotten their words.
    levels: Option<Vec<Vec<StateId>>>,
}

/// From which state each state was reached first.
enum Parents<'r> {
    /// By indices of states.
    ByIndex(&'r dyn Store, Vec<u32>),
    /// By their names, if the store has no indices. The initial state has itself.
    ByName(HashMap<StateId, StateId>),
}

/// Not reached yet.
const UNKNOWN: u32 = NOBODY - 1;

impl<'r> Parents<'r> {
    fn new(store: &'r dyn Store, root: StateId) -> Self {
        match store.index_bound() {
            0 => Self::ByName(HashMap::from([(root, root)])),
            bound => {
                let mut parents = vec![UNKNOWN; bound];
                parents[store.index(root)] = NOBODY;
                Self::ByIndex(store, parents)
            }
        }
    }

    fn memory_bytes(&self) -> usize {
        match self {
            Self::ByIndex(_, parents) => size_of_val(parents.as_slice()),
            Self::ByName(parents) => map_bytes(parents),
        }
    }

    /// Takes note of an edge, and says whether the state at its end was not reached before.
    fn add(&mut self, from: StateId, to: StateId) -> bool {
        match self {
            Self::ByIndex(store, parents) => {
                let parent = &mut parents[store.index(to)];
                let is_new = *parent == UNKNOWN;
                if is_new {
                    *parent = store.index(from) as u32;
                }
                is_new
            }
            Self::ByName(parents) => match parents.entry(to) {
                Entry::Occupied(_) => false,
                Entry::Vacant(entry) => {
                    entry.insert(from);
                    true
                }
            },
        }
    }
}

/// States that are to be found again, and how far from the initial one.
pub(super) type Wanted = HashMap<StateId, u32>;

/// How many edges of a state are looked at in the first attempt.
const EDGES_AT_FIRST: u64 = 1 << 10;

/// It would take more memory than is allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TooLarge;

impl<'r> Retraced<'r> {
    /// Searches until all states are found that are wanted, in that much memory.
    ///
    /// A choice can have billions of alternatives, and the search need not have seen all. So only some edges of each state are looked at, and
    /// more if that is not enough.
    pub(super) fn new<S: System>(
        space: &mut Space<'r, S>,
        root: StateId,
        wanted: &Wanted,
        most_bytes: usize,
    ) -> Result<Self, TooLarge> {
        let mut edges = EDGES_AT_FIRST;
        loop {
            if let Some(retraced) = Self::within(space, root, wanted, edges, most_bytes)? {
                return Ok(retraced);
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
        most_bytes: usize,
    ) -> Result<Option<Self>, TooLarge> {
        let store = space.store;
        let depth = wanted.values().copied().max().unwrap_or(0);
        let is_exact = store.approximation().is_none();
        let mut parents = Parents::new(store, root);
        let mut levels = is_exact.then(Vec::new);
        space.begin_at_root();
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
                let states = (level.len() + next.capacity()) * size_of::<StateId>();
                if states + parents.memory_bytes() + space.memory_bytes() > most_bytes {
                    return Err(TooLarge);
                }
                let mut edges = 0;
                space.for_each_edge(from, |_, edge| {
                    if let Some(to) = edge.to
                        && parents.add(from, to)
                    {
                        next.push(to);
                        // A state that was missed on the way may make it shorter.
                        let is_wanted = match is_exact {
                            true => wanted.get(&to) == Some(&distance),
                            false => wanted.contains_key(&to),
                        };
                        missing -= usize::from(is_wanted);
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
            space.begin_level();
        }
        if let Some(levels) = &mut levels {
            levels.push(level);
        }
        assert!(
            missing == 0 || skipped,
            "the expansion of a state must depend on nothing else"
        );
        Ok((missing == 0).then_some(Self { parents, levels }))
    }
}

impl Trails for Retraced<'_> {
    fn trail(&self, node: u64) -> Vec<Hop> {
        let hop = |state| Hop { state, last: None };
        match &self.parents {
            Parents::ByIndex(store, parents) => {
                let start = store.index(StateId(node)) as u32;
                trail_of(start, |index| {
                    let state = store.at(index as usize);
                    (hop(state), parents[index as usize])
                })
            }
            Parents::ByName(parents) => {
                let mut state = StateId(node);
                let mut trail = vec![hop(state)];
                while parents[&state] != state {
                    state = parents[&state];
                    trail.push(hop(state));
                }
                trail.reverse();
                trail
            }
        }
    }

    fn level(&self, depth: usize) -> Option<&[StateId]> {
        let level = self.levels.as_ref()?.get(depth)?;
        (!level.is_empty()).then_some(level)
    }
}
