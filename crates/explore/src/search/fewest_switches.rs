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

use hashbrown::HashTable;
use raddle_store::{StateId, StoreFull, Tell, hash_words};

use super::blocks::BlockVec;
use super::worklist::{Edge, Hop, NOBODY, Rank, Trails, Visit, Worklist, trail_of};

#[derive(Clone, Copy)]
struct Node {
    state: StateId,
    /// The name of the thread that moved last; nobody has in the first node.
    last: Option<u64>,
    /// The least cost known.
    rank: Rank,
    /// The node before it on the way of that cost.
    parent: u32,
}

pub(super) struct FewestSwitches {
    /// Nodes by state and thread.
    numbers: HashTable<u32>,
    nodes: BlockVec<Node>,
    queue: BTreeMap<Rank, Vec<u32>>,
    waiting: usize,
    /// The most that ever waited, outdated entries included.
    most_waiting: usize,
    /// The states that were visited.
    visited: HashTable<StateId>,
}

impl FewestSwitches {
    pub(super) fn new() -> Self {
        Self {
            numbers: HashTable::new(),
            nodes: BlockVec::new(),
            queue: BTreeMap::new(),
            waiting: 0,
            most_waiting: 0,
            visited: HashTable::new(),
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
        let Node { state, last, .. } = self.nodes.get(node as usize);
        Hop { state, last }
    }

    fn add(&mut self, node: Node) -> Result<u32, StoreFull> {
        let number = u32::try_from(self.nodes.len()).map_err(|_| StoreFull)?;
        if number == NOBODY {
            return Err(StoreFull);
        }
        self.nodes.push(node);
        let nodes = &self.nodes;
        let hash = |number: &u32| {
            let node = nodes.get(*number as usize);
            hash_of(node.state, node.last)
        };
        (self.numbers).insert_unique(hash_of(node.state, node.last), number, hash);
        Ok(number)
    }
}

fn hash_of(state: StateId, last: Option<u64>) -> u64 {
    hash_words(&[state.0, last.unwrap_or(u64::MAX)])
}

impl Worklist for FewestSwitches {
    const TRACKS_THREADS: bool = true;
    const AT_ONCE: bool = true;
    const BY_DISTANCE: bool = false;
    const TELL: Tell = Tell::All;

    fn start(&mut self, root: StateId) -> Result<u64, StoreFull> {
        // Nobody has moved, so the first move is no switch.
        let node = self.add(Node {
            state: root,
            last: None,
            rank: Rank::default(),
            parent: NOBODY,
        })?;
        self.push(node, Rank::default());
        Ok(node.into())
    }

    fn next(&mut self) -> Option<Visit> {
        loop {
            let (node, rank) = self.pop()?;
            if self.nodes.get(node as usize).rank != rank {
                continue;
            }
            let Hop { state, last } = self.hop(node);
            let hash = |state: &StateId| hash_words(&[state.0]);
            let entry = (self.visited).entry(hash(&state), |other| *other == state, hash);
            let first = matches!(entry, hashbrown::hash_table::Entry::Vacant(_));
            entry.or_insert(state);
            return Some(Visit {
                node: node.into(),
                state,
                rank,
                last,
                first,
            });
        }
    }

    fn edge(&mut self, from: &Visit, edge: Edge) -> Result<u64, StoreFull> {
        let legs = edge.legs.expect("edges come with legs for this order");
        let reached = Node {
            state: edge.to,
            last: Some(legs.last),
            rank: from.rank_after(false, Some(legs)),
            parent: from.node as u32,
        };
        let nodes = &self.nodes;
        let is_it = |number: &u32| {
            let node = nodes.get(*number as usize);
            (node.state, node.last) == (reached.state, reached.last)
        };
        let known = (self.numbers).find(hash_of(reached.state, reached.last), is_it);
        let node = match known.copied() {
            None => self.add(reached)?,
            Some(node) => {
                let known = self.nodes.get_mut(node as usize);
                if known.rank <= reached.rank {
                    return Ok(node.into());
                }
                *known = reached;
                node
            }
        };
        self.push(node, reached.rank);
        Ok(node.into())
    }

    fn settled(&self, best: Rank, _first_found: Rank, next: &Visit) -> bool {
        next.rank >= best
    }

    fn waiting(&self) -> usize {
        self.waiting
    }

    fn memory_bytes(&self) -> usize {
        let numbers = self.numbers.capacity() * 8 / 7 * (size_of::<u32>() + 1);
        let visited = self.visited.capacity() * 8 / 7 * (size_of::<StateId>() + 1);
        (numbers + visited) + self.nodes.memory_bytes() + self.most_waiting * size_of::<u32>()
    }
}

impl Trails for FewestSwitches {
    fn trail(&self, node: u64) -> Vec<Hop> {
        trail_of(node as u32, |node| {
            (self.hop(node), self.nodes.get(node as usize).parent)
        })
    }
}
