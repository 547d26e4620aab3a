//! Depth-first search over all schedules, with or without a context bound.
//!
//! The naive search, against which the others are measured and tested; with a bound, the `cb-dfs` of
//! the paper on context-bounded search (section 4): it "prunes executions exceeding the bound while
//! performing a depth-first search".

use crate::execution::{Diverged, Execution, Move, Status, Step, ThreadId};
use crate::explorer::{Coverage, Explorer, Visitor, replay};
use crate::trace::Trace;

/// The naive search.
#[derive(Clone, Copy, Debug, Default)]
pub struct Dfs {
    /// The greatest number of preemptions of an execution, if there is one.
    pub bound: Option<u32>,
}

/// A state on the path.
struct Node {
    /// The moves that are still to be tried.
    left: Vec<Move>,
    /// The preemptions on the way here.
    preemptions: u32,
    /// The thread that made the last move, if it could make another: all others would preempt it.
    running: Option<ThreadId>,
}

impl Node {
    /// The preemptions on the way to the state after a move.
    fn preemptions_after(&self, next: Move) -> u32 {
        let preempts = self.running.is_some_and(|thread| thread != next.thread);
        self.preemptions + u32::from(preempts)
    }
}

impl Explorer for Dfs {
    fn explore<X: Execution>(
        &mut self,
        execution: &mut X,
        visitor: &mut impl Visitor<X>,
    ) -> Result<Coverage, Diverged> {
        let mut trace = Trace::new();
        let mut step = Step::default();
        let mut cut_off = false;
        execution.restart();
        let mut nodes = vec![self.node(execution, None, 0, &mut cut_off)];
        loop {
            while let Some((node, next)) = next_move(&mut nodes) {
                execution.step(next, &mut step)?;
                trace.push(next, &step);
                if next.choice == 0 {
                    let others = (1..step.alternatives).rev();
                    node.left
                        .extend(others.map(|choice| Move { choice, ..next }));
                }
                let preemptions = node.preemptions_after(next);
                let node = self.node(execution, Some(next.thread), preemptions, &mut cut_off);
                nodes.push(node);
                if visitor.pulse().is_break() {
                    return Ok(Coverage::Some);
                }
            }
            if visitor.ended(execution, &trace).is_break() {
                return Ok(Coverage::Some);
            }
            while nodes.last().is_some_and(|node| node.left.is_empty()) {
                nodes.pop();
            }
            if nodes.is_empty() {
                return Ok(match self.bound {
                    Some(bound) if cut_off => Coverage::UpToBound(bound),
                    _ => Coverage::All,
                });
            }
            trace.truncate(nodes.len() - 1);
            replay(execution, &mut trace, &mut step)?;
        }
    }
}

fn next_move(nodes: &mut [Node]) -> Option<(&mut Node, Move)> {
    let node = nodes.last_mut()?;
    let next = node.left.pop()?;
    Some((node, next))
}

impl Dfs {
    /// The state that the execution is in, `last` having made the last move.
    fn node<X: Execution>(
        self,
        execution: &X,
        last: Option<ThreadId>,
        preemptions: u32,
        cut_off: &mut bool,
    ) -> Node {
        let can_move = |thread: &ThreadId| execution.status(*thread) == Status::Enabled;
        let mut node = Node {
            left: Vec::new(),
            preemptions,
            running: last.filter(can_move),
        };
        for thread in execution.threads().iter().copied().filter(can_move) {
            let next = Move { thread, choice: 0 };
            if self
                .bound
                .is_none_or(|bound| node.preemptions_after(next) <= bound)
            {
                node.left.push(next);
            } else {
                *cut_off = true;
            }
        }
        // The last one is tried first: whoever is running, or the first.
        node.left.reverse();
        if let Some(position) = node
            .left
            .iter()
            .position(|next| Some(next.thread) == node.running)
        {
            let next = node.left.remove(position);
            node.left.push(next);
        }
        node
    }
}
