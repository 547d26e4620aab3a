//! The depth-first search over graphs that both algorithms make.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use hashbrown::HashMap;
use raddle_outcome::{Kind, LeftOut};
use rapidhash::fast::RandomState;

use super::ContextBounds;
use super::context_bound::{Prefix, Successor};
use crate::class::ClassHash;
use crate::execution::{Diverged, Execution, Observed};
use crate::explorer::{Omission, Visitor};
use crate::trace::Trace;

/// What an algorithm knows of graphs.
pub(super) trait Algorithm {
    /// How many graphs it remembers.
    fn known(&self) -> usize;

    /// Whether nothing is left to be found after a graph.
    fn is_done(&self, graph: ClassHash) -> bool;

    /// The search is about to go on to a graph. Returns whether it shall: another worker may have been first.
    fn enter(&mut self, graph: ClassHash) -> bool;

    /// A graph is not within the bound, on the way that the search has taken.
    fn leave_out(&mut self, graph: ClassHash);

    /// The search has come to a terminal graph. Returns whether nobody was there before.
    fn end(&mut self, graph: ClassHash) -> bool;

    /// That graph was reported.
    fn reported<X: Execution>(
        &mut self,
        prefix: &mut Prefix<'_, X>,
        bounds: &mut ContextBounds,
        visitor: &mut impl Visitor<X>,
    ) -> ControlFlow<()>;
}

/// One worker's search.
#[derive(Debug)]
pub(super) struct Search {
    /// The number of the worker: they begin at different ends.
    pub(super) worker: usize,
    pub(super) bounds: ContextBounds,
    /// How many graphs and bounds it may know before it gives up.
    pub(super) most: usize,
    pub(super) left_out: LeftOut,
}

/// Some gigabytes.
const MOST_KNOWN: usize = 1 << 26;

impl Default for Search {
    fn default() -> Self {
        Self {
            worker: 0,
            bounds: ContextBounds::default(),
            most: MOST_KNOWN,
            left_out: LeftOut::default(),
        }
    }
}

impl Search {
    /// `Search`: goes to all graphs within the bound that are not done. Returns whether the visitor wanted all of it.
    pub(super) fn run<X: Execution>(
        &mut self,
        csb: u32,
        algorithm: &mut impl Algorithm,
        execution: &mut X,
        visitor: &mut impl Visitor<X>,
    ) -> Result<ControlFlow<()>, Diverged> {
        let mut trace = Trace::new();
        let mut step = Observed::default();
        // The successors that are left of each state on the path.
        let mut path: Vec<Vec<Successor>> = Vec::new();
        execution.restart();
        loop {
            let mut successors = Vec::new();
            let mut prefix = Prefix::whole(execution, &trace);
            prefix.next(&mut successors);
            if !successors.is_empty() {
                self.prefer(&trace, &mut successors);
            } else if algorithm.end(prefix.state()) {
                // It counts before anything is made of it, which can take long.
                if visitor.ended(execution, &trace).is_break() {
                    return Ok(ControlFlow::Break(()));
                }
                let mut prefix = Prefix::whole(execution, &trace);
                let marked = algorithm.reported(&mut prefix, &mut self.bounds, visitor);
                if marked.is_break() {
                    return Ok(ControlFlow::Break(()));
                }
            }
            if self.bounds.len() + algorithm.known() > self.most {
                Omission::from(Kind::Remembered).note(&mut self.left_out, execution, visitor);
                return Ok(ControlFlow::Break(()));
            }
            path.push(successors);
            let next = loop {
                let Some(successors) = path.last_mut() else {
                    return Ok(ControlFlow::Continue(()));
                };
                let Some(next) = successors.pop() else {
                    path.pop();
                    continue;
                };
                if algorithm.is_done(next.state) {
                    continue;
                }
                let mut prefix = Prefix::first(path.len() - 1, execution, &trace);
                let bound = self.bounds.of_step(&mut prefix, next.step.thread, visitor);
                let ControlFlow::Continue(bound) = bound else {
                    return Ok(ControlFlow::Break(()));
                };
                if bound > csb {
                    algorithm.leave_out(next.state);
                } else if algorithm.enter(next.state) {
                    break next.step;
                }
            };
            if path.len() <= trace.len() {
                trace.truncate(path.len() - 1);
                execution.replay(&mut trace, &mut step)?;
            }
            execution.step(next, &mut step)?;
            trace.push(next, &step);
            if visitor.pulse().is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
    }

    /// Puts last what is to be tried first: the thread that is running, if there is one worker.
    fn prefer(&self, trace: &Trace, successors: &mut [Successor]) {
        successors.reverse();
        if let Some(last) = trace.events().last() {
            successors.sort_by_key(|next| next.step.thread == last.thread());
        }
        successors.rotate_right(self.worker % successors.len());
    }
}

/// The greatest bound for which nothing is left to be found after a graph, plus 1; 0 if there is none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Level(pub(super) u32);

impl Level {
    /// Nothing is left, whatever the bound.
    pub(super) const ALL: Self = Self(u32::MAX);

    pub(super) fn up_to(bound: u32) -> Self {
        Self(bound.saturating_add(1))
    }
}

/// The levels of graphs, which only rise. All workers have one table.
#[derive(Debug)]
pub(super) struct Levels {
    shards: Vec<Mutex<HashMap<ClassHash, Level, RandomState>>>,
    count: AtomicUsize,
}

impl Levels {
    /// For so many workers.
    pub(super) fn new(workers: usize) -> Self {
        // Few enough to cost nothing, and enough to seldom wait for one another.
        let shards = if workers > 1 { 64 } else { 1 };
        Self {
            shards: (0..shards).map(|_| Mutex::default()).collect(),
            count: AtomicUsize::new(0),
        }
    }

    pub(super) fn get(&self, graph: ClassHash) -> Level {
        self.shard(graph).get(&graph).copied().unwrap_or_default()
    }

    /// Raises the level of a graph. Returns whether it was lower.
    ///
    /// Workers that each raise one of two graphs and then look at both see each other's: at least one of them sees both.
    pub(super) fn raise(&self, graph: ClassHash, level: Level) -> bool {
        if level == Level::default() {
            return false;
        }
        let mut shard = self.shard(graph);
        let known = shard.entry(graph).or_default();
        let lower = *known < level;
        if *known == Level::default() {
            self.count.fetch_add(1, Ordering::Relaxed);
        }
        *known = level.max(*known);
        lower
    }

    /// How many graphs have a level.
    pub(super) fn len(&self) -> usize {
        self.count.load(Ordering::Relaxed)
    }

    fn shard(&self, graph: ClassHash) -> MutexGuard<'_, HashMap<ClassHash, Level, RandomState>> {
        let index = (graph.0 >> 64) as usize % self.shards.len();
        self.shards[index]
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::explorer::Explorer as _;
    use crate::explorers::Algorithm2;
    use crate::explorers::chess::algorithm2::Marks;
    use crate::testing::{Op, Toy};
    use raddle_outcome::Extent;

    struct Told(bool);

    impl Visitor<Toy> for Told {
        fn ended(&mut self, _: &mut Toy, _: &Trace) -> ControlFlow<()> {
            ControlFlow::Continue(())
        }

        fn left_out(&mut self, _: &mut Toy, omission: Omission) {
            self.0 = omission.kind == Kind::Remembered;
        }
    }

    #[test]
    fn what_is_remembered_has_a_limit() {
        let writes: &[Op] = &[Op::Write(0, 1), Op::Write(0, 2)];
        let mut toy = Toy::new(&[writes, writes]);
        let marks = Levels::new(1);
        let mut search = Search {
            most: 10,
            ..Search::default()
        };
        let mut told = Told(false);
        let mut algorithm = Marks::new(4, &marks);
        let ended = search.run(4, &mut algorithm, &mut toy, &mut told);
        assert_eq!((ended, told.0), (Ok(ControlFlow::Break(())), true));
        assert_eq!(search.left_out.covering(Extent::All).extent(), Extent::Some);

        let mut told = Told(false);
        let coverage = Algorithm2::UNBOUNDED.clone().explore(&mut toy, &mut told);
        assert!(coverage.is_ok_and(|coverage| coverage.is_all()));
        assert!(!told.0);
    }
}
