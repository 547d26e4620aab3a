//! Depth-first: always the state that was reached last.
//!
//! Counterexamples are long, and found early when there are many.

use super::worklist::{Edge, Hop, NOBODY, Rank, Trails, Visit, Worklist, trail_of};
use crate::store::{BlockVec, Inserted, StateId, StoreFull};

pub(super) struct DepthFirst {
    /// From which state each state was reached first.
    parents: BlockVec<u32>,
    /// States and their depths.
    stack: Vec<(u32, u32)>,
}

impl DepthFirst {
    pub(super) fn new() -> Self {
        Self {
            parents: BlockVec::new(),
            stack: Vec::new(),
        }
    }
}

impl Worklist for DepthFirst {
    const TRACKS_THREADS: bool = false;

    fn start(&mut self, root: StateId) -> Result<u32, StoreFull> {
        self.parents.push(NOBODY);
        self.stack.push((root.0, 0));
        Ok(root.0)
    }

    fn next(&mut self) -> Option<Visit> {
        let (node, length) = self.stack.pop()?;
        Some(Visit {
            node,
            state: StateId(node),
            rank: Rank {
                switches: 0,
                length,
            },
            last: None,
            first: true,
        })
    }

    fn edge(&mut self, from: &Visit, edge: Edge) -> Result<u32, StoreFull> {
        if edge.inserted == Inserted::New {
            debug_assert_eq!(edge.to.0 as usize, self.parents.len());
            self.parents.push(from.node);
            self.stack.push((edge.to.0, from.rank.length + 1));
        }
        Ok(edge.to.0)
    }

    fn settled(&self, _best: Rank, _first_found: Rank, _next: &Visit) -> bool {
        true
    }

    fn waiting(&self) -> usize {
        self.stack.len()
    }

    fn memory_bytes(&self) -> usize {
        self.parents.memory_bytes() + self.stack.capacity() * size_of::<(u32, u32)>()
    }
}

impl Trails for DepthFirst {
    fn trail(&self, node: u32) -> Vec<Hop> {
        trail_of(node, |node| {
            let hop = Hop {
                state: StateId(node),
                last: None,
            };
            (hop, self.parents.get(node as usize))
        })
    }
}
