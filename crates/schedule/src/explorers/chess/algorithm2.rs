//! Algorithm 2 of the paper: every terminal graph within the bound once.
//!
//! The paper's `H` has the graphs from which no terminal graph within the bound is left to be found. Here
//! every graph has a *level*: the greatest bound for which it would be in `H`. So the level of the root says in the end whether a
//! class needs more preemptions than the bound allows. A terminal
//! graph has the level `Level::ALL`; `Mark` raises the level of a graph to
//!
//! ```text
//! level(x) = min over t in E(x) of max(CB(x, t) - 1, level(next(x, t)))
//! ```
//!
//! since for a bound below `CB(x, t)` the step `t` is not to be taken. For one bound `csb`, `level(x) >= csb` is exactly
//! `x in H`, and the invariant of the paper holds for every bound at the same time: a terminal graph is
//! marked when it is found, for all bounds, and has all graphs that lead to it as its prefixes.
//!
//! Several workers have one table of levels. A terminal graph is reported by the first that comes there. Levels only rise, and
//! who raises one looks at the graphs before it afterwards, so nothing is marked too early, and what two workers
//! have to be done for is marked by the last. They begin at different ends and meet somewhere, where both may be under way to
//! the same terminal graph.

use std::ops::ControlFlow;

use hashbrown::HashSet;
use raddle_outcome::{Coverage, Extent};
use rapidhash::fast::RandomState;

use super::ContextBounds;
use super::context_bound::Prefix;
use super::search::{Algorithm, Level, Levels, Search};
use crate::class::ClassHash;
use crate::execution::{Diverged, Execution};
use crate::explorer::{Explorer, Visitor};
use crate::workers::{Stop, Stoppable, work};

/// The improved algorithm.
#[derive(Clone, Copy, Debug, Default)]
pub struct Algorithm2 {
    /// The bound, `csb`.
    pub bound: u32,
}

impl Algorithm2 {
    /// Every class, whatever preemptions it needs.
    pub const UNBOUNDED: Self = Self { bound: u32::MAX };
}

impl Explorer for Algorithm2 {
    fn explore<X: Execution>(
        &mut self,
        execution: &mut X,
        visitor: &mut impl Visitor<X>,
    ) -> Result<Coverage, Diverged> {
        let levels = Levels::new(1);
        let mut search = Search::default();
        let mut marks = Marks::new(self.bound, &levels);
        let ended = search.run(self.bound, &mut marks, execution, visitor)?;
        Ok(search.left_out.covering(match ended {
            ControlFlow::Continue(()) => extent(&levels, self.bound),
            ControlFlow::Break(()) => Extent::Some,
        }))
    }

    fn explore_in_parallel<X: Execution, V: Visitor<X>>(
        &mut self,
        workers: usize,
        worker: impl Fn(usize) -> (X, V) + Sync,
    ) -> Result<Coverage, Diverged> {
        let csb = self.bound;
        let levels = Levels::new(workers);
        let stop = Stop::default();
        let one = |number: usize| {
            let (mut execution, mut visitor) = worker(number);
            let mut visitor = Stoppable {
                visitor: &mut visitor,
                stop: &stop,
            };
            let mut search = Search {
                worker: number,
                ..Search::default()
            };
            let mut marks = Marks::new(csb, &levels);
            let ended = search.run(csb, &mut marks, &mut execution, &mut visitor);
            stop.unless_done(ended)?;
            Ok(search.left_out)
        };
        let left_out = work(workers, || one(0), one)?;
        Ok(stop.coverage(extent(&levels, csb), left_out.into_iter().collect()))
    }
}

/// What is covered when the search for a bound is over.
fn extent(marks: &Levels, bound: u32) -> Extent {
    if marks.get(ClassHash::default()) == Level::ALL {
        Extent::All
    } else {
        Extent::UpToBound(bound)
    }
}

/// What is marked, and for which bound the search is.
pub(super) struct Marks<'a> {
    csb: u32,
    marks: &'a Levels,
}

impl<'a> Marks<'a> {
    pub(super) fn new(csb: u32, marks: &'a Levels) -> Self {
        Self { csb, marks }
    }
}

impl Algorithm for Marks<'_> {
    fn known(&self) -> usize {
        self.marks.len()
    }

    fn is_done(&self, graph: ClassHash) -> bool {
        self.marks.get(graph) >= Level::up_to(self.csb)
    }

    fn enter(&mut self, _graph: ClassHash) -> bool {
        true
    }

    fn leave_out(&mut self, _graph: ClassHash) {
        // The level of the root says in the end whether something was.
    }

    fn end(&mut self, graph: ClassHash) -> bool {
        self.marks.raise(graph, Level::ALL)
    }

    /// `Mark`: nothing is left after this terminal graph; and what that means for the graphs before it.
    fn reported<X: Execution>(
        &mut self,
        prefix: &mut Prefix<'_, X>,
        bounds: &mut ContextBounds,
        visitor: &mut impl Visitor<X>,
    ) -> ControlFlow<()> {
        // The graphs whose level was raised, all of one size. Those that are smaller by one event are looked at together: then
        // the levels of all their successors are what they will be.
        let mut raised = vec![prefix.here()];
        let mut known: HashSet<ClassHash, RandomState> = HashSet::default();
        let mut events = Vec::new();
        let mut successors = Vec::new();
        while !raised.is_empty() {
            let mut smaller = Vec::new();
            known.clear();
            for graph in raised.drain(..) {
                prefix.go_to(graph);
                events.clear();
                prefix.frontier(&mut events);
                for &event in &events {
                    prefix.take(event);
                    if known.insert(prefix.state()) {
                        smaller.push(prefix.here());
                    }
                    prefix.put(event);
                }
            }
            for graph in smaller {
                visitor.pulse()?;
                prefix.go_to(graph);
                successors.clear();
                prefix.successors(&mut successors);
                let mut level = Level::ALL;
                for next in &successors {
                    let after = self.marks.get(next.state);
                    // Otherwise the bound does not matter, and it is what takes long.
                    if after < level {
                        let bound = bounds.of_step(prefix, next.step.thread, visitor)?;
                        level = level.min(Level(bound).max(after));
                    }
                }
                if self.marks.raise(prefix.state(), level) {
                    raised.push(prefix.here());
                }
            }
        }
        ControlFlow::Continue(())
    }
}
