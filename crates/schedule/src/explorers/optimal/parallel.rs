//! Several workers on one exploration.
//!
//! The states near the root are shared: a worker that has nothing to do takes a branch of one of their
//! wake-up trees and explores what begins with it, alone. A busy worker shares more of its states when
//! others are waiting. Races whose first event comes after a shared state are inserted there, whoever finds them.
//!
//! A branch is begun while others from the same state are still under way. It must not rely on them: only what is
//! *completed* sleeps for it, so what it explores is complete by itself. That is why a sequence need not be
//! inserted if a branch that was begun, completed or not, is a weak initial of it. The price is that a class that two
//! branches have in common may be run twice; who counts classes has to tell them apart.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use super::wakeup_tree::{Branch, Element, WakeupTree};
use super::{Node, Optimal, Search};
use crate::execution::{Diverged, Execution, Move};
use crate::explorer::{Coverage, ParallelExplorer, Visitor};
use crate::trace::Trace;

/// A state that several workers explore from.
pub(super) struct SharedNode {
    pool: Arc<Pool>,
    /// The state before it, and the move between.
    parent: Option<(Arc<SharedNode>, Move)>,
    stable_locations: usize,
    branches: Mutex<Branches>,
}

#[derive(Default)]
struct Branches {
    /// What is covered.
    sleep: Vec<Move>,
    /// What is covered, or going to be.
    begun: Vec<Move>,
    wakeup_tree: WakeupTree,
    /// How many branches were begun and not completed.
    under_way: usize,
}

/// What the workers share.
#[derive(Default)]
struct Pool {
    open: Mutex<Open>,
    changed: Condvar,
    /// How many workers wait.
    waiting: AtomicUsize,
    stopped: AtomicBool,
}

#[derive(Default)]
struct Open {
    /// States whose wake-up trees may have something left.
    nodes: Vec<Arc<SharedNode>>,
    /// Whether everything was explored.
    completed: bool,
}

/// A branch to be explored.
struct Task {
    node: Arc<SharedNode>,
    branch: Branch,
    sleep: Vec<Move>,
}

impl ParallelExplorer for Optimal {
    fn explore_in_parallel<X: Execution, V: Visitor<X>>(
        &mut self,
        workers: usize,
        worker: impl Fn(usize) -> (X, V) + Sync,
    ) -> Result<Coverage, Diverged> {
        let pool = Arc::new(Pool::default());
        let redundant = AtomicUsize::new(0);
        let work = |number: usize| -> Result<(), Diverged> {
            let (mut execution, mut visitor) = worker(number);
            let mut search = Search::new(&mut execution);
            let result = search.work(&pool, number == 0, &mut visitor);
            redundant.fetch_add(search.redundant as usize, Ordering::Relaxed);
            if result.is_err() {
                pool.stop();
            }
            result
        };
        let results: Vec<Result<(), Diverged>> = std::thread::scope(|scope| {
            let others: Vec<_> = (1..workers.max(1))
                .map(|number| {
                    let work = &work;
                    scope.spawn(move || work(number))
                })
                .collect();
            let first = work(0);
            let others = others.into_iter().map(|other| match other.join() {
                Ok(result) => result,
                Err(panic) => std::panic::resume_unwind(panic),
            });
            [first].into_iter().chain(others).collect()
        });
        self.redundant += redundant.into_inner() as u64;
        results.into_iter().collect::<Result<(), _>>()?;
        Ok(if pool.stopped.load(Ordering::Relaxed) {
            Coverage::Some
        } else {
            Coverage::All
        })
    }
}

impl<X: Execution> Search<'_, X> {
    /// Explores until nothing is left anywhere. The first worker begins at the root.
    fn work(
        &mut self,
        pool: &Arc<Pool>,
        is_first: bool,
        visitor: &mut impl Visitor<X>,
    ) -> Result<(), Diverged> {
        let mut begins = is_first;
        loop {
            let planned = if begins {
                self.execution.restart();
                begins = false;
                WakeupTree::default()
            } else {
                let Some(task) = pool.take() else {
                    return Ok(());
                };
                self.begin(task)?
            };
            let share = |search: &mut Self| {
                if pool.waiting.load(Ordering::Relaxed) > 0 {
                    search.share(pool);
                }
            };
            let mut stoppable = Stoppable { visitor, pool };
            if let ControlFlow::Break(()) = self.run(planned, &mut stoppable, share)? {
                pool.stop();
                return Ok(());
            }
            match self.shared.last() {
                Some(node) => node.complete(self.trace.events()[self.shared.len() - 1].step),
                None => pool.complete(),
            }
        }
    }

    /// Goes to the state of a task, and makes its first step.
    fn begin(&mut self, task: Task) -> Result<WakeupTree, Diverged> {
        self.shared.clear();
        let mut moves = Vec::new();
        let mut node = Some(task.node);
        while let Some(next) = node {
            node = next.parent.as_ref().map(|(parent, step)| {
                moves.push(*step);
                parent.clone()
            });
            self.shared.push(next);
        }
        self.shared.reverse();
        self.trace.truncate(0);
        self.nodes.clear();
        self.execution.restart();
        for next in moves.into_iter().rev() {
            self.execution.step(next, &mut self.step)?;
            self.trace.push(next, &self.step);
            self.nodes.push(Node::default());
        }
        self.nodes.push(Node {
            sleep: task.sleep,
            ..Node::default()
        });
        self.take(task.branch)
    }

    /// Shares the states down to the first one that has something for others.
    fn share(&mut self, pool: &Arc<Pool>) {
        let own = self.shared.len();
        let Some(last) =
            (own..self.nodes.len()).find(|&index| !self.nodes[index].wakeup_tree.is_empty())
        else {
            return;
        };
        for index in own..=last {
            let node = &mut self.nodes[index];
            let under_way = self.trace.events()[index].step;
            let branches = Branches {
                begun: node.sleep.iter().copied().chain([under_way]).collect(),
                sleep: std::mem::take(&mut node.sleep),
                wakeup_tree: std::mem::take(&mut node.wakeup_tree),
                under_way: 1,
            };
            let parent = self
                .shared
                .last()
                .map(|parent| (parent.clone(), self.trace.events()[index - 1].step));
            self.shared.push(Arc::new(SharedNode {
                pool: pool.clone(),
                parent,
                stable_locations: node.stable_locations,
                branches: Mutex::new(branches),
            }));
        }
        pool.open(&self.shared[last]);
    }
}

impl SharedNode {
    fn branches(&self) -> MutexGuard<'_, Branches> {
        self.branches.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a sequence to the wake-up tree, unless it is covered.
    pub(super) fn insert_unless(
        self: &Arc<Self>,
        covers: &mut impl FnMut(&Move) -> bool,
        trace: &Trace,
        sequence: impl FnOnce() -> Vec<Element>,
    ) {
        {
            let mut branches = self.branches();
            if branches.begun.iter().any(covers) {
                return;
            }
            branches
                .wakeup_tree
                .insert(trace, sequence(), self.stable_locations);
        }
        self.pool.open(self);
    }

    fn take(self: &Arc<Self>) -> Option<Task> {
        let mut branches = self.branches();
        let branch = branches.wakeup_tree.take_first()?;
        branches.begun.push(branch.step);
        branches.under_way += 1;
        Some(Task {
            node: self.clone(),
            branch,
            sleep: branches.sleep.clone(),
        })
    }

    /// A branch was explored. The state is completed when all of its branches are, and nobody is left who could
    /// find another.
    fn complete(&self, step: Move) {
        let completed = {
            let mut branches = self.branches();
            branches.sleep.push(step);
            branches.under_way -= 1;
            branches.under_way == 0 && branches.wakeup_tree.is_empty()
        };
        if completed {
            match &self.parent {
                Some((parent, step)) => parent.complete(*step),
                None => self.pool.complete(),
            }
        }
    }
}

impl Pool {
    fn lock(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn open(&self, node: &Arc<SharedNode>) {
        self.lock().nodes.push(node.clone());
        self.changed.notify_one();
    }

    fn complete(&self) {
        self.lock().completed = true;
        self.changed.notify_all();
    }

    fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
        self.complete();
    }

    /// A branch to explore; none if everything is explored, or somebody has seen enough.
    fn take(&self) -> Option<Task> {
        let mut open = self.lock();
        loop {
            if open.completed {
                return None;
            }
            if let Some(node) = open.nodes.pop() {
                if let Some(task) = node.take() {
                    // There may be more, for others.
                    open.nodes.push(node);
                    return Some(task);
                }
                continue;
            }
            self.waiting.fetch_add(1, Ordering::Relaxed);
            open = self
                .changed
                .wait(open)
                .unwrap_or_else(PoisonError::into_inner);
            self.waiting.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

/// A visitor that also stops when another worker has.
struct Stoppable<'a, V> {
    visitor: &'a mut V,
    pool: &'a Pool,
}

impl<X, V: Visitor<X>> Visitor<X> for Stoppable<'_, V> {
    fn ended(&mut self, execution: &mut X, trace: &Trace) -> ControlFlow<()> {
        self.visitor.ended(execution, trace)
    }

    fn pulse(&mut self) -> ControlFlow<()> {
        if self.pool.stopped.load(Ordering::Relaxed) {
            return ControlFlow::Break(());
        }
        self.visitor.pulse()
    }
}
