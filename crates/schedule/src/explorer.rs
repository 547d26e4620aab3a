//! [`Explorer`]: which schedules are run.

use std::ops::ControlFlow;

use raddle_outcome::{Coverage, Kind, LeftOut};

use crate::execution::{Diverged, Execution, Readiness, ThreadId};
use crate::trace::Trace;

/// A way to explore the schedules of a program.
pub trait Explorer {
    /// Runs executions until there is nothing left to run or the visitor has seen enough.
    ///
    /// # Errors
    ///
    /// If the program does not do the same when it is run again.
    fn explore<X: Execution>(
        &mut self,
        execution: &mut X,
        visitor: &mut impl Visitor<X>,
    ) -> Result<Coverage, Diverged>;

    /// The same with several workers, each on a thread of the operating system. `worker` makes what each of them runs
    /// and reports to, on its thread, from its number. The programs of all workers are the same, and so are the
    /// ids of their threads. The classes that are run are those that one worker runs; who is told of them, and in which
    /// order, differs from time to time. The exploration ends when one of the visitors has seen enough.
    ///
    /// # Errors
    ///
    /// If the program does not do the same when it is run again.
    fn explore_in_parallel<X: Execution, V: Visitor<X>>(
        &mut self,
        workers: usize,
        worker: impl Fn(usize) -> (X, V) + Sync,
    ) -> Result<Coverage, Diverged>;
}

/// Who is told of executions.
pub trait Visitor<X> {
    /// An execution has ended: no thread can move. The visitor says whether to go on.
    fn ended(&mut self, execution: &mut X, trace: &Trace) -> ControlFlow<()>;

    /// Asked now and then, also within an execution and while the explorer thinks about what to run next, whether to go
    /// on. No two calls are further apart than it takes to make the steps of one execution.
    fn pulse(&mut self) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    /// Told between executions how to find out which part of all that is known to be run was run. Other things to run may
    /// be found later, so it is an estimate, and mostly too high. Not every explorer knows.
    fn estimate(&mut self, _done: &dyn Fn() -> f64) {}

    /// The explorer leaves out executions that it should have run. See [`Omission::note`].
    fn left_out(&mut self, _execution: &mut X, _omission: Omission) {}

    /// All executions within a bound were run, and others are left.
    fn bound_reached(&mut self, _bound: u32) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

impl<X, F: FnMut(&mut X, &Trace) -> ControlFlow<()>> Visitor<X> for F {
    fn ended(&mut self, execution: &mut X, trace: &Trace) -> ControlFlow<()> {
        self(execution, trace)
    }
}

/// Executions that an explorer leaves out although it should have run them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Omission {
    /// Why.
    pub kind: Kind,
    /// A step of the execution under way that they have to do with: its thread, and its number among that thread's steps.
    pub step: Option<(ThreadId, u32)>,
}

impl Omission {
    /// Takes note of it: in the record that limits what the explorer covers, and by telling the visitor, who knows the place
    /// of the step.
    pub fn note<X>(self, left_out: &mut LeftOut, execution: &mut X, visitor: &mut impl Visitor<X>) {
        left_out.note(self.kind);
        visitor.left_out(execution, self);
    }
}

impl From<Kind> for Omission {
    fn from(kind: Kind) -> Self {
        Self { kind, step: None }
    }
}

/// The thread that goes on if nothing else is asked for: the same one while it can, which preempts
/// nobody, then the first one that can.
pub(crate) fn default_thread<X: Execution>(
    execution: &X,
    last: Option<ThreadId>,
) -> Option<ThreadId> {
    let can_move = |thread: &ThreadId| execution.readiness(*thread) == Readiness::Enabled;
    last.filter(can_move)
        .or_else(|| execution.threads().iter().copied().find(can_move))
}

/// Which part of a tree was visited, given how many branches were visited and how many are known in each state on the
/// path to the leaf that was visited last, if all branches of a state are equally large.
pub(crate) fn part_done(path: impl Iterator<Item = (usize, usize)>) -> f64 {
    let (mut done, mut part) = (0.0, 1.0);
    for (visited, known) in path {
        part /= known.max(1) as f64;
        done += part * visited as f64;
    }
    done + part
}

#[cfg(test)]
mod tests {
    use super::part_done;

    #[test]
    fn parts_of_a_tree() {
        assert!((part_done([].into_iter()) - 1.0).abs() < 1e-9);
        // The first leaf of a tree with two branches that have two each, and the last one.
        assert!((part_done([(0, 2), (0, 2)].into_iter()) - 0.25).abs() < 1e-9);
        assert!((part_done([(1, 2), (1, 2)].into_iter()) - 1.0).abs() < 1e-9);
    }
}
