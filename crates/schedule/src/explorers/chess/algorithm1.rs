//! Algorithm 1 of the paper: every graph within the bound once.

use std::ops::ControlFlow;

use hashbrown::HashSet;
use raddle_outcome::{Coverage, Extent, LeftOut};
use rapidhash::fast::RandomState;

use super::ContextBounds;
use super::context_bound::Prefix;
use super::search::{Algorithm, Level, Levels, Search};
use crate::class::ClassHash;
use crate::execution::{Diverged, Execution};
use crate::explorer::{Explorer, Visitor};
use crate::workers::{Stop, Stoppable, work};

/// The basic algorithm.
#[derive(Clone, Debug, Default)]
pub struct Algorithm1 {
    /// The bound, `csb`.
    pub bound: u32,
    /// How many graphs were visited: the size of the paper's `H`.
    pub states: usize,
}

/// The graphs that were visited, or are about to be: the paper's `H`. These have the level [`Level::ALL`], all
/// others none.
struct H<'a> {
    levels: &'a Levels,
    /// What was not within the bound on some way: another one may have led there.
    beyond: HashSet<ClassHash, RandomState>,
}

impl<'a> H<'a> {
    fn new(levels: &'a Levels) -> Self {
        Self {
            levels,
            beyond: HashSet::default(),
        }
    }
}

impl Algorithm for H<'_> {
    fn known(&self) -> usize {
        self.levels.len() + self.beyond.len()
    }

    fn is_done(&self, graph: ClassHash) -> bool {
        self.levels.get(graph) == Level::ALL
    }

    fn enter(&mut self, graph: ClassHash) -> bool {
        self.levels.raise(graph, Level::ALL)
    }

    fn leave_out(&mut self, graph: ClassHash) {
        self.beyond.insert(graph);
    }

    fn end(&mut self, graph: ClassHash) -> bool {
        // Only one worker has entered it; but all begin at the root.
        graph != ClassHash::default() || self.levels.raise(graph, Level::ALL)
    }

    fn reported<X: Execution>(
        &mut self,
        _prefix: &mut Prefix<'_, X>,
        _bounds: &mut ContextBounds,
        _visitor: &mut impl Visitor<X>,
    ) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

impl Algorithm1 {
    fn extent<'a>(
        &mut self,
        levels: &Levels,
        beyond: impl IntoIterator<Item = &'a ClassHash>,
    ) -> Extent {
        // Nobody enters the root.
        levels.raise(ClassHash::default(), Level::ALL);
        self.states = levels.len();
        let mut beyond = beyond.into_iter();
        if beyond.any(|&graph| levels.get(graph) < Level::ALL) {
            Extent::UpToBound(self.bound)
        } else {
            Extent::All
        }
    }
}

impl Explorer for Algorithm1 {
    fn explore<X: Execution>(
        &mut self,
        execution: &mut X,
        visitor: &mut impl Visitor<X>,
    ) -> Result<Coverage, Diverged> {
        let levels = Levels::new(1);
        let mut h = H::new(&levels);
        let mut search = Search::default();
        let ended = search.run(self.bound, &mut h, execution, visitor)?;
        Ok(search.left_out.covering(match ended {
            ControlFlow::Continue(()) => self.extent(&levels, &h.beyond),
            ControlFlow::Break(()) => Extent::Some,
        }))
    }

    fn explore_in_parallel<X: Execution, V: Visitor<X>>(
        &mut self,
        workers: usize,
        worker: impl Fn(usize) -> (X, V) + Sync,
    ) -> Result<Coverage, Diverged> {
        let levels = Levels::new(workers);
        let stop = Stop::default();
        let bound = self.bound;
        let one = |number: usize| {
            let (mut execution, mut visitor) = worker(number);
            let mut search = Search {
                worker: number,
                ..Search::default()
            };
            let mut visitor = Stoppable {
                visitor: &mut visitor,
                stop: &stop,
            };
            let mut h = H::new(&levels);
            let ended = search.run(bound, &mut h, &mut execution, &mut visitor);
            stop.unless_done(ended)?;
            Ok((h.beyond, search.left_out))
        };
        let workers = work(workers, || one(0), one)?;
        let (beyond, left_out): (Vec<_>, Vec<LeftOut>) = workers.into_iter().unzip();
        let extent = self.extent(&levels, beyond.iter().flatten());
        Ok(stop.coverage(extent, left_out.into_iter().collect()))
    }
}
