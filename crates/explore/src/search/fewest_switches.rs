//! Fewest switches: nodes in the order of the context switches that it takes to get
//! there, and among those of the steps.
//!
//! A move by the thread that moved last is free and a move by another one costs a
//! switch, so a node must say who moved last: it is a state and the name of a thread.
//! This is Dijkstra's algorithm over such nodes, with costs compared first by switches,
//! then by steps; both are small integers, so the queue is a map from costs to nodes of
//! that cost. A node whose cost was lowered is left where it was and skipped later.
//!
//! A state is expanded once for every thread that can have moved last.

use std::collections::BTreeMap;

use super::worklist::{Edge, Hop, NOBODY, Rank, Trails, Visit, Worklist, trail_of};
use crate::store::{BlockVec, ExactStore, Inserted, StateId, Store, StoreFull};

#[derive(Clone, Copy)]
struct Node {
    /// The least cost known.
    rank: Rank,
    /// The node before it on the way of that cost.
    parent: u32,
}

pub(super) struct FewestSwitches {
    /// The names of nodes, see [`node_name`].
    names: ExactStore,
    nodes: BlockVec<Node>,
    queue: BTreeMap<Rank, Vec<u32>>,
    waiting: usize,
    /// The most that ever waited, outdated entries included.
    most_waiting: usize,
    /// For each state, whether it was visited.
    visited: BlockVec<bool>,
}

impl FewestSwitches {
    pub(super) fn new() -> Self {
        Self {
            names: ExactStore::new(),
            nodes: BlockVec::new(),
            queue: BTreeMap::new(),
            waiting: 0,
            most_waiting: 0,
            visited: BlockVec::new(),
        }
    }

    fn push(&mut self, node: u32, rank: Rank) {
        self.queue.entry(rank).or_default().push(node);
        self.waiting += 1;
        self.most_waiting = self.most_waiting.max(self.waiting);
    }

    /// Takes a node of least cost, current or not.
    fn pop(&mut self) -> Option<(u32, Rank)> {
        loop {
            let mut least = self.queue.first_entry()?;
            if let Some(node) = least.get_mut().pop() {
                self.waiting -= 1;
                return Some((node, *least.key()));
            }
            least.remove();
        }
    }

    fn hop(&self, node: u32) -> Hop {
        let name = self.names.get(StateId(node));
        let (state, last) = name.split_at(4);
        let state = state.try_into().expect("four bytes of a state");
        Hop {
            state: StateId(u32::from_le_bytes(state)),
            last: last.try_into().ok().map(u64::from_le_bytes),
        }
    }
}

/// The number of the state, and the name of the thread that moved last.
fn node_name(state: StateId, last: u64) -> [u8; 12] {
    let mut name = [0; 12];
    name[..4].copy_from_slice(&state.0.to_le_bytes());
    name[4..].copy_from_slice(&last.to_le_bytes());
    name
}

impl Worklist for FewestSwitches {
    const TRACKS_THREADS: bool = true;

    fn start(&mut self, root: StateId) -> Result<u32, StoreFull> {
        // Nobody has moved, so the first move is no switch.
        self.names.insert(&root.0.to_le_bytes())?;
        self.nodes.push(Node {
            rank: Rank::default(),
            parent: NOBODY,
        });
        self.visited.push(false);
        self.push(0, Rank::default());
        Ok(0)
    }

    fn next(&mut self) -> Option<Visit> {
        loop {
            let (node, rank) = self.pop()?;
            if self.nodes.get(node as usize).rank != rank {
                continue;
            }
            let Hop { state, last } = self.hop(node);
            let visited = self.visited.get_mut(state.0 as usize);
            return Some(Visit {
                node,
                state,
                rank,
                last,
                first: !std::mem::replace(visited, true),
            });
        }
    }

    fn edge(&mut self, from: &Visit, edge: Edge) -> Result<u32, StoreFull> {
        if edge.inserted == Inserted::New {
            debug_assert_eq!(edge.to.0 as usize, self.visited.len());
            self.visited.push(false);
        }
        let legs = edge.legs.expect("edges come with legs for this order");
        let reached = Node {
            rank: from.rank_after(false, Some(legs)),
            parent: from.node,
        };
        let (StateId(node), inserted) = self.names.insert(&node_name(edge.to, legs.last))?;
        match inserted {
            Inserted::New => self.nodes.push(reached),
            Inserted::Known => {
                let known = self.nodes.get_mut(node as usize);
                if known.rank <= reached.rank {
                    return Ok(node);
                }
                *known = reached;
            }
        }
        self.push(node, reached.rank);
        Ok(node)
    }

    fn settled(&self, best: Rank, _first_found: Rank, next: &Visit) -> bool {
        next.rank >= best
    }

    fn waiting(&self) -> usize {
        self.waiting
    }

    fn memory_bytes(&self) -> usize {
        self.names.memory_bytes()
            + self.nodes.memory_bytes()
            + self.visited.memory_bytes()
            + self.most_waiting * size_of::<u32>()
    }
}

impl Trails for FewestSwitches {
    fn trail(&self, node: u32) -> Vec<Hop> {
        trail_of(node, |node| {
            (self.hop(node), self.nodes.get(node as usize).parent)
        })
    }
}
