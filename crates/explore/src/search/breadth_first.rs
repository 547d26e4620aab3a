//! Breadth-first: states in the order of their distance from the initial one.
//!
//! States get their numbers in the order in which they are reached, so the queue is a
//! range of numbers and takes no memory.

use std::ops::Range;

use super::worklist::{Edge, Hop, NOBODY, Rank, Trails, Visit, Worklist, trail_of};
use crate::store::{BlockVec, Inserted, StateId, StoreFull};

pub(super) struct BreadthFirst {
    /// From which state each state was reached first.
    parents: BlockVec<u32>,
    next: u32,
    /// The number of the first state of each level that was begun.
    levels: Vec<u32>,
    /// The number of the first state after the current level.
    level_end: u32,
}

impl BreadthFirst {
    pub(super) fn new() -> Self {
        Self {
            parents: BlockVec::new(),
            next: 0,
            levels: Vec::new(),
            level_end: 0,
        }
    }
}

impl Worklist for BreadthFirst {
    const TRACKS_THREADS: bool = false;

    fn start(&mut self, root: StateId) -> Result<u32, StoreFull> {
        self.parents.push(NOBODY);
        Ok(root.0)
    }

    fn next(&mut self) -> Option<Visit> {
        if self.next as usize == self.parents.len() {
            return None;
        }
        if self.next == self.level_end {
            self.levels.push(self.next);
            self.level_end = self.parents.len() as u32;
        }
        let node = self.next;
        self.next += 1;
        Some(Visit {
            node,
            state: StateId(node),
            rank: Rank {
                switches: 0,
                length: self.levels.len() as u32 - 1,
            },
            last: None,
            first: true,
        })
    }

    fn edge(&mut self, from: &Visit, edge: Edge) -> Result<u32, StoreFull> {
        if edge.inserted == Inserted::New {
            debug_assert_eq!(edge.to.0 as usize, self.parents.len());
            self.parents.push(from.node);
        }
        Ok(edge.to.0)
    }

    /// The level is finished first: a later state of it may be a violation itself, one
    /// step shorter than a step that failed, and among violations at the same
    /// distance the one with the fewest switches is wanted.
    fn settled(&self, _best: Rank, first_found: Rank, next: &Visit) -> bool {
        next.rank > first_found
    }

    fn waiting(&self) -> usize {
        self.parents.len() - self.next as usize
    }

    fn memory_bytes(&self) -> usize {
        self.parents.memory_bytes() + self.levels.capacity() * size_of::<u32>()
    }
}

impl Trails for BreadthFirst {
    fn trail(&self, node: u32) -> Vec<Hop> {
        trail_of(node, |node| {
            let hop = Hop {
                state: StateId(node),
                last: None,
            };
            (hop, self.parents.get(node as usize))
        })
    }

    fn level(&self, depth: usize) -> Option<Range<u32>> {
        let begins = |depth| match self.levels.get(depth) {
            Some(&start) => Some(start),
            // The level that is being found now.
            None => (depth == self.levels.len()).then_some(self.level_end),
        };
        let end = begins(depth + 1).unwrap_or(self.parents.len() as u32);
        Some(begins(depth)?..end)
    }
}
