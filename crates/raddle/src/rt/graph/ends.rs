//! How executions end that are run from graphs.

use std::ops::ControlFlow;

use raddle_memory::{End, Leaf, Refused, Stop, Trust};
use raddle_outcome::Coverage;

use super::Graphs;
use crate::Memory;
use crate::rt::failure::{Failure, FailureKind};
use crate::rt::program::Program;
use crate::rt::state::State;

/// What an execution comes to.
#[derive(Clone, Debug)]
pub(crate) struct Verdict {
    /// What is wrong with it.
    pub(crate) failure: Option<Failure>,
    /// Whether it is none: the beginning of others, which are explored, or a wait that was chosen not to time out never ends.
    pub(crate) is_infeasible: bool,
}

impl Verdict {
    const NONE: Self = Self {
        failure: None,
        is_infeasible: true,
    };
}

impl Program {
    /// Explores the execution graphs under a memory model, each once, and tells what is wrong with each, if it is an execution: for tests.
    ///
    /// # Errors
    ///
    /// If it does not do the same when it is run again.
    #[doc(hidden)]
    #[allow(clippy::type_complexity, reason = "it is for tests only")]
    pub fn explore_graphs(
        &mut self,
        memory: Memory,
        ended: &mut dyn FnMut(&mut Self, Option<Option<Failure>>) -> ControlFlow<()>,
    ) -> Result<Coverage, Refused> {
        if self.model() != Some(memory.into()) {
            self.run_from_graphs(Some(memory.into()));
        }
        let mut leaf = |graphs: &mut Graphs<&mut Self>, leaf: &Leaf<'_>| {
            let verdict = graphs.program.finish_graph(leaf);
            let failure = (!verdict.is_infeasible).then_some(verdict.failure);
            ended(&mut *graphs.program, failure)
        };
        Trust::new(memory.into()).explore(&mut Graphs::new(self), &mut leaf)
    }

    /// Ends an execution to whose graph no thread can add an event, and says what is wrong with it.
    pub(crate) fn finish_graph(&mut self, leaf: &Leaf<'_>) -> Verdict {
        let failure = match leaf.end {
            End::Failed | End::Complete => None,
            End::Spinning | End::Infeasible if self.is_cut_at().is_none() => return Verdict::NONE,
            End::Cut => match self.is_too_long(leaf) {
                Some(failure) => Some(failure),
                None => return Verdict::NONE,
            },
            End::Spinning | End::Infeasible => None,
            End::Deadlock => self.runtime.state.borrow().waits_for_itself(leaf),
            End::Livelock => {
                let state = self.runtime.state.borrow();
                let counts = !state.waits_too_long() && state.is_cut_at().is_none();
                counts.then(|| state.live_lock())
            }
        };
        if let Some(failure) = failure {
            self.fail(&failure);
        }
        let failure = self.finish();
        Verdict {
            failure: failure.map(|failure| self.explain(failure, leaf)),
            is_infeasible: self.is_infeasible(),
        }
    }

    /// Says which orderings let the execution come about, as far as that is known.
    fn explain(&mut self, mut failure: Failure, leaf: &Leaf<'_>) -> Failure {
        let mut state = self.runtime.state.borrow_mut();
        if let Some(graph) = &mut state.graph {
            graph.settle(leaf.graph);
        }
        if failure.help().next().is_none() && failure.kind != FailureKind::Diverged {
            let help = state.help_with_missed_writes();
            failure.remarks.extend(help);
            if let Some(told) = &mut state.failure {
                told.remarks.clone_from(&failure.remarks);
            }
        }
        failure
    }

    /// What to say of an execution that has as many events as it may.
    fn is_too_long(&self, leaf: &Leaf<'_>) -> Option<Failure> {
        let state = self.runtime.state.borrow();
        let mut stops = leaf.threads.iter();
        let is_too_long = stops.any(|(_, stop)| matches!(stop, Stop::Limit))
            && !state.waits_too_long()
            && state.is_cut_at().is_none();
        is_too_long.then(|| state.no_end(leaf.graph.len()))
    }
}

impl State {
    /// A thread that waits for a lock which it holds.
    fn waits_for_itself(&self, leaf: &Leaf<'_>) -> Option<Failure> {
        let mut threads = leaf.threads.iter();
        threads.find_map(|(thread, _)| self.self_deadlock(*thread))
    }
}
