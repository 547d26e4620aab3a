//! Algorithm 2 of the paper: every terminal graph within the bound once; and for all bounds in turn.
//!
//! The paper's `H` has the graphs from which no terminal graph within the bound is left to be found. Here
//! every graph has a *level*: the greatest bound for which it would be in `H`. A terminal
//! graph has the level `Level::ALL`; `Mark` raises the level of a graph to
//!
//! ```text
//! level(x) = min over t in E(x) of max(CB(x, t) - 1, level(next(x, t)))
//! ```
//!
//! since for a bound below `CB(x, t)` the step `t` is not to be taken. For one bound `csb`, `level(x) >= csb` is exactly
//! `x in H`, and the invariant of the paper holds for every bound at the same time: a terminal graph is
//! marked when it is found, for all bounds, and has all graphs that lead to it as its prefixes. So when the search
//! for one bound is over, that for the next one goes on where something is left, and runs nothing again.

use std::ops::ControlFlow;

use hashbrown::{HashMap, HashSet};
use rapidhash::fast::RandomState;

use super::ContextBounds;
use super::context_bound::{Prefix, Successor};
use crate::class::ClassHash;
use crate::execution::{Diverged, Execution, Step};
use crate::explorer::{Coverage, Explorer, Visitor, replay};
use crate::trace::Trace;

/// The improved algorithm.
#[derive(Clone, Copy, Debug, Default)]
pub struct Algorithm2 {
    /// The bound, `csb`.
    pub bound: u32,
}

/// Algorithm 2 for the bounds 0, 1, 2, ...
#[derive(Clone, Copy, Debug, Default)]
pub struct Iterative {
    /// The last bound, if there is one. Otherwise it ends when a bound has cut off nothing.
    pub bound: Option<u32>,
}

impl Explorer for Algorithm2 {
    fn explore<X: Execution>(
        &mut self,
        execution: &mut X,
        visitor: &mut impl Visitor<X>,
    ) -> Result<Coverage, Diverged> {
        let mut marks = Marks::default();
        let went_on = marks.search(self.bound, execution, visitor)?;
        Ok(marks.coverage(self.bound, went_on))
    }
}

impl Explorer for Iterative {
    fn explore<X: Execution>(
        &mut self,
        execution: &mut X,
        visitor: &mut impl Visitor<X>,
    ) -> Result<Coverage, Diverged> {
        let mut marks = Marks::default();
        let mut bound = 0;
        loop {
            let went_on = marks.search(bound, execution, visitor)?;
            let coverage = marks.coverage(bound, went_on);
            if !matches!(coverage, Coverage::UpToBound(_)) {
                return Ok(coverage);
            }
            if self.bound == Some(bound) || visitor.bound_reached(bound).is_break() {
                return Ok(coverage);
            }
            bound += 1;
        }
    }
}

/// The greatest bound for which nothing is left to be found after a graph, plus 1; 0 if there is none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Level(u32);

impl Level {
    /// Nothing is left, whatever the bound.
    const ALL: Self = Self(u32::MAX);

    fn up_to(bound: u32) -> Self {
        Self(bound.saturating_add(1))
    }
}

/// What is marked.
#[derive(Default)]
struct Marks {
    levels: HashMap<ClassHash, Level, RandomState>,
    bounds: ContextBounds,
}

impl Marks {
    fn level(&self, state: ClassHash) -> Level {
        self.levels.get(&state).copied().unwrap_or_default()
    }

    fn coverage(&self, bound: u32, went_on: bool) -> Coverage {
        if !went_on {
            Coverage::Some
        } else if self.level(ClassHash::default()) == Level::ALL {
            Coverage::All
        } else {
            Coverage::UpToBound(bound)
        }
    }

    /// `Search`: runs one execution of every class within the bound that was not run yet. Returns whether the visitor
    /// wanted all of it.
    fn search<X: Execution>(
        &mut self,
        csb: u32,
        execution: &mut X,
        visitor: &mut impl Visitor<X>,
    ) -> Result<bool, Diverged> {
        let mut trace = Trace::new();
        let mut step = Step::default();
        // The successors that are left of each state on the path.
        let mut path: Vec<Vec<Successor>> = Vec::new();
        execution.restart();
        loop {
            let mut successors = Vec::new();
            let mut prefix = Prefix::whole(execution, &trace);
            prefix.next(&mut successors);
            if successors.is_empty() {
                if self.level(prefix.state()) < Level::ALL {
                    // It counts before it is marked, which can take long.
                    if visitor.ended(execution, &trace).is_break() {
                        return Ok(false);
                    }
                    let mut prefix = Prefix::whole(execution, &trace);
                    if self.mark(&mut prefix, visitor).is_break() {
                        return Ok(false);
                    }
                }
            } else {
                prefer(&trace, &mut successors);
            }
            path.push(successors);
            let next = loop {
                let Some(successors) = path.last_mut() else {
                    return Ok(true);
                };
                let Some(next) = successors.pop() else {
                    path.pop();
                    continue;
                };
                if self.level(next.state) >= Level::up_to(csb) {
                    continue;
                }
                let mut prefix = Prefix::first(path.len() - 1, execution, &trace);
                let bound = self.bounds.of_step(&mut prefix, next.step.thread, visitor);
                match bound {
                    ControlFlow::Continue(bound) if bound <= csb => break next.step,
                    ControlFlow::Continue(_) => {}
                    ControlFlow::Break(()) => return Ok(false),
                }
            };
            if path.len() <= trace.len() {
                trace.truncate(path.len() - 1);
                replay(execution, &mut trace, &mut step)?;
            }
            execution.step(next, &mut step)?;
            trace.push(next, &step);
            if visitor.pulse().is_break() {
                return Ok(false);
            }
        }
    }

    /// `Mark`: nothing is left after this terminal graph; and what that means for the graphs before it.
    fn mark<X: Execution>(
        &mut self,
        prefix: &mut Prefix<'_, X>,
        visitor: &mut impl Visitor<X>,
    ) -> ControlFlow<()> {
        self.levels.insert(prefix.state(), Level::ALL);
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
                    let after = self.level(next.state);
                    // Otherwise the bound does not matter, and it is what takes long.
                    if after < level {
                        let bound = self.bounds.of_step(prefix, next.step.thread, visitor)?;
                        level = level.min(Level(bound).max(after));
                    }
                }
                if level > self.level(prefix.state()) {
                    self.levels.insert(prefix.state(), level);
                    raised.push(prefix.here());
                }
            }
        }
        ControlFlow::Continue(())
    }
}

/// Puts last what is to be tried first: the thread that is running.
fn prefer(trace: &Trace, successors: &mut [Successor]) {
    successors.reverse();
    if let Some(last) = trace.events().last() {
        successors.sort_by_key(|next| next.step.thread == last.thread());
    }
}
