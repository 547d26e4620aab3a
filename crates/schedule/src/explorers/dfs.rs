//! Depth-first search over all schedules, with or without a context bound.
//!
//! The naive search, against which the others are measured and tested; with a bound, the `cb-dfs` of
//! the paper on context-bounded search (section 4): it "prunes executions exceeding the bound while
//! performing a depth-first search".

use std::ops::ControlFlow;

use raddle_outcome::{Coverage, Extent, LeftOut};

use crate::execution::{Diverged, Execution, Move, Observed, Readiness, ThreadId};
use crate::explorer::{Explorer, Visitor, part_done};
use crate::trace::Trace;
use crate::workers::{Pool, Stoppable};

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
    /// How many were tried before the one that is being tried.
    tried: usize,
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
        let mut search = Search::new(*self, execution);
        search.begin();
        let ended = search.run(visitor, |_| ())?;
        // Nothing is left out but for the bound.
        Ok(LeftOut::default().covering(match ended {
            ControlFlow::Continue(()) => self.extent(search.cut_off),
            ControlFlow::Break(()) => Extent::Some,
        }))
    }

    fn explore_in_parallel<X: Execution, V: Visitor<X>>(
        &mut self,
        workers: usize,
        worker: impl Fn(usize) -> (X, V) + Sync,
    ) -> Result<Coverage, Diverged> {
        let pool = Pool::new(workers);
        let cut_off = pool.work(|number| {
            let (mut execution, mut visitor) = worker(number);
            let mut search = Search::new(*self, &mut execution);
            let mut visitor = Stoppable {
                visitor: &mut visitor,
                stop: pool.stop(),
            };
            search.work(&pool, number == 0, &mut visitor)?;
            Ok(search.cut_off)
        })?;
        let cut_off = cut_off.contains(&true);
        let extent = self.extent(cut_off);
        Ok(pool.stop().coverage(extent, LeftOut::default()))
    }
}

/// The search for what comes after some moves.
struct Search<'a, X> {
    dfs: Dfs,
    execution: &'a mut X,
    trace: Trace,
    step: Observed,
    /// The states on the path, from the one after the first moves on.
    nodes: Vec<Node>,
    /// Whether something was left out because of the bound.
    cut_off: bool,
}

/// Moves that are still to be tried, and how to get there.
struct Task {
    moves: Vec<Move>,
    node: Node,
}

impl<'a, X: Execution> Search<'a, X> {
    fn new(dfs: Dfs, execution: &'a mut X) -> Self {
        Self {
            dfs,
            execution,
            trace: Trace::new(),
            step: Observed::default(),
            nodes: Vec::new(),
            cut_off: false,
        }
    }

    /// Goes to the root.
    fn begin(&mut self) {
        self.execution.restart();
        let root = self.dfs.node(self.execution, None, 0, &mut self.cut_off);
        self.nodes.push(root);
    }

    /// Tries what is left, until nothing is or the visitor has seen enough. Between two executions, `pause` may look at
    /// the search.
    fn run(
        &mut self,
        visitor: &mut impl Visitor<X>,
        mut pause: impl FnMut(&mut Self),
    ) -> Result<ControlFlow<()>, Diverged> {
        loop {
            while let Some((node, next)) = next_move(&mut self.nodes) {
                self.execution.step(next, &mut self.step)?;
                self.trace.push(next, &self.step);
                if next.choice == 0 {
                    let others = (1..self.step.alternatives).rev();
                    node.left
                        .extend(others.map(|choice| Move { choice, ..next }));
                }
                let preemptions = node.preemptions_after(next);
                let last = Some(next.thread);
                let node = self
                    .dfs
                    .node(self.execution, last, preemptions, &mut self.cut_off);
                self.nodes.push(node);
                if visitor.pulse().is_break() {
                    return Ok(ControlFlow::Break(()));
                }
            }
            if visitor.ended(self.execution, &self.trace).is_break() {
                return Ok(ControlFlow::Break(()));
            }
            visitor.estimate(&|| {
                let path = self.nodes.iter();
                part_done(path.map(|node| (node.tried, node.tried + 1 + node.left.len())))
            });
            pause(self);
            while self.nodes.last().is_some_and(|node| node.left.is_empty()) {
                self.nodes.pop();
                if !self.nodes.is_empty() {
                    self.trace.truncate(self.trace.len() - 1);
                }
            }
            let Some(last) = self.nodes.last_mut() else {
                return Ok(ControlFlow::Continue(()));
            };
            last.tried += 1;
            self.execution.replay(&mut self.trace, &mut self.step)?;
        }
    }

    /// Tries what is left anywhere. The first worker begins at the root.
    fn work(
        &mut self,
        pool: &Pool<Task>,
        is_first: bool,
        visitor: &mut impl Visitor<X>,
    ) -> Result<(), Diverged> {
        if is_first {
            self.begin();
        }
        loop {
            if self.nodes.is_empty() {
                let Some(task) = pool.take() else {
                    return Ok(());
                };
                self.trace.truncate(0);
                self.execution.restart();
                for next in task.moves {
                    self.execution.step(next, &mut self.step)?;
                    self.trace.push(next, &self.step);
                }
                self.nodes.push(task.node);
            }
            let share = |search: &mut Self| {
                if pool.is_hungry() {
                    search.share(pool);
                }
            };
            if self.run(visitor, share)?.is_break() {
                return Ok(());
            }
        }
    }

    /// Gives away what is left of the first state that has something.
    fn share(&mut self, pool: &Pool<Task>) {
        let has_some = |node: &Node| !node.left.is_empty();
        let Some(position) = self.nodes.iter().position(has_some) else {
            return;
        };
        let first = self.trace.len() + 1 - self.nodes.len();
        let node = &mut self.nodes[position];
        let task = Task {
            moves: self.trace.moves().take(first + position).collect(),
            node: Node {
                left: std::mem::take(&mut node.left),
                ..*node
            },
        };
        pool.put(task);
    }
}

fn next_move(nodes: &mut [Node]) -> Option<(&mut Node, Move)> {
    let node = nodes.last_mut()?;
    let next = node.left.pop()?;
    Some((node, next))
}

impl Dfs {
    fn extent(self, cut_off: bool) -> Extent {
        match self.bound {
            Some(bound) if cut_off => Extent::UpToBound(bound),
            _ => Extent::All,
        }
    }

    /// The state that the execution is in, `last` having made the last move.
    fn node<X: Execution>(
        self,
        execution: &X,
        last: Option<ThreadId>,
        preemptions: u32,
        cut_off: &mut bool,
    ) -> Node {
        let can_move = |thread: &ThreadId| execution.readiness(*thread) == Readiness::Enabled;
        let mut node = Node {
            left: Vec::new(),
            tried: 0,
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
