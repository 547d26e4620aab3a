//! Algorithm 1 of the paper: every graph within the bound once.

use std::ops::ControlFlow;

use hashbrown::HashSet;
use rapidhash::fast::RandomState;

use super::ContextBounds;
use super::context_bound::{Prefix, Successor};
use crate::class::ClassHash;
use crate::execution::{Diverged, Execution, Step};
use crate::explorer::{Coverage, Explorer, Visitor, replay};
use crate::trace::Trace;

/// The basic algorithm.
#[derive(Clone, Debug, Default)]
pub struct Algorithm1 {
    /// The bound, `csb`.
    pub bound: u32,
    /// How many graphs were visited: the size of the paper's `H`.
    pub states: usize,
}

impl Explorer for Algorithm1 {
    fn explore<X: Execution>(
        &mut self,
        execution: &mut X,
        visitor: &mut impl Visitor<X>,
    ) -> Result<Coverage, Diverged> {
        let mut h: HashSet<ClassHash, RandomState> = HashSet::default();
        let mut bounds = ContextBounds::default();
        let mut trace = Trace::new();
        let mut step = Step::default();
        let mut cut_off = false;
        // The successors that are left of each state on the path.
        let mut path: Vec<Vec<Successor>> = Vec::new();
        execution.restart();
        h.insert(ClassHash::default());
        loop {
            let mut successors = Vec::new();
            Prefix::whole(execution, &trace).next(&mut successors);
            if successors.is_empty() && visitor.ended(execution, &trace).is_break() {
                return Ok(Coverage::Some);
            }
            path.push(successors);
            let next = loop {
                let Some(successors) = path.last_mut() else {
                    self.states = h.len();
                    return Ok(if cut_off {
                        Coverage::UpToBound(self.bound)
                    } else {
                        Coverage::All
                    });
                };
                let Some(next) = successors.pop() else {
                    path.pop();
                    continue;
                };
                if h.contains(&next.state) {
                    continue;
                }
                let mut prefix = Prefix::first(path.len() - 1, execution, &trace);
                let bound = bounds.of_step(&mut prefix, next.step.thread, visitor);
                let ControlFlow::Continue(bound) = bound else {
                    return Ok(Coverage::Some);
                };
                if bound <= self.bound {
                    h.insert(next.state);
                    break next.step;
                }
                cut_off = true;
            };
            if path.len() <= trace.len() {
                trace.truncate(path.len() - 1);
                replay(execution, &mut trace, &mut step)?;
            }
            execution.step(next, &mut step)?;
            trace.push(next, &step);
            if visitor.pulse().is_break() {
                return Ok(Coverage::Some);
            }
        }
    }
}
