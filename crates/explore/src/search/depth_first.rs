//! Depth-first: always the state that was reached last.
//!
//! Counterexamples are long, and found early when there are many. A node is the number of a state in
//! the order in which they were reached.

use raddle_store::{Inserted, StateId, StoreFull, Tell};

use super::blocks::BlockVec;
use super::worklist::{Edge, Hop, NOBODY, Rank, Trails, Visit, Worklist, trail_of};

pub(super) struct DepthFirst {
    states: BlockVec<StateId>,
    /// From which node each node was reached first.
    parents: BlockVec<u32>,
    /// Nodes and their depths.
    stack: Vec<(u32, u32)>,
}

impl DepthFirst {
    pub(super) fn new() -> Self {
        Self {
            states: BlockVec::new(),
            parents: BlockVec::new(),
            stack: Vec::new(),
        }
    }

    fn push(&mut self, state: StateId, parent: u32, depth: u32) -> Result<u64, StoreFull> {
        let node = u32::try_from(self.states.len()).map_err(|_| StoreFull)?;
        if node == NOBODY {
            return Err(StoreFull);
        }
        self.states.push(state);
        self.parents.push(parent);
        self.stack.push((node, depth));
        Ok(node.into())
    }
}

impl Worklist for DepthFirst {
    const TRACKS_THREADS: bool = false;
    const AT_ONCE: bool = true;
    const BY_DISTANCE: bool = false;
    const TELL: Tell = Tell::All;

    fn start(&mut self, root: StateId) -> Result<u64, StoreFull> {
        self.push(root, NOBODY, 0)
    }

    fn next(&mut self) -> Option<Visit> {
        let (node, length) = self.stack.pop()?;
        Some(Visit {
            node: node.into(),
            state: self.states.get(node as usize),
            rank: Rank {
                switches: 0,
                length,
            },
            last: None,
            first: true,
        })
    }

    fn edge(&mut self, from: &Visit, edge: Edge) -> Result<u64, StoreFull> {
        match edge.inserted {
            Inserted::New => self.push(edge.to, from.node as u32, from.rank.length + 1),
            // Only new states are checked.
            Inserted::Known => Ok(from.node),
        }
    }

    fn settled(&self, _best: Rank, _first_found: Rank, _next: &Visit) -> bool {
        true
    }

    fn waiting(&self) -> usize {
        self.stack.len()
    }

    fn memory_bytes(&self) -> usize {
        self.states.memory_bytes()
            + self.parents.memory_bytes()
            + self.stack.capacity() * size_of::<(u32, u32)>()
    }
}

impl Trails for DepthFirst {
    fn trail(&self, node: u64) -> Vec<Hop> {
        trail_of(node as u32, |node| {
            let hop = Hop {
                state: self.states.get(node as usize),
                last: None,
            };
            (hop, self.parents.get(node as usize))
        })
    }
}
