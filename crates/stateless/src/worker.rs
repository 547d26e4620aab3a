//! One of the workers of an exploration: what it runs, and whom it tells.

use std::cell::Cell;
use std::ops::ControlFlow;
use std::rc::Rc;
use std::sync::Mutex;

use raddle_explore::System;
use raddle_outcome::{Assumption, Kind};
use raddle_schedule::{
    Clock, Cut, Diverged, Execution, Move, Observed, Omission, Readiness, ThreadId, Trace, Visitor,
    class_of,
};

use super::findings::{Findings, lock};
use super::{Stepwise, Stop};

/// The executions of a worker. Explorers keep what a worker runs to themselves, so it hands in what it has collected when it is
/// dropped.
pub(super) struct Worker<'w, 'a, S: System> {
    findings: &'w Mutex<Findings<'a, S>>,
    execution: Stepwise<S>,
}

impl<'w, 'a, S: System> Worker<'w, 'a, S> {
    pub(super) fn new(findings: &'w Mutex<Findings<'a, S>>, execution: Stepwise<S>) -> Self {
        Self {
            findings,
            execution,
        }
    }
}

impl<S: System> Drop for Worker<'_, '_, S> {
    fn drop(&mut self) {
        lock(self.findings).absorb(&mut self.execution);
    }
}

impl<S: System> Execution for Worker<'_, '_, S> {
    fn restart(&mut self) {
        self.execution.restart();
    }

    fn threads(&self) -> &[ThreadId] {
        self.execution.threads()
    }

    fn location_count(&self) -> usize {
        self.execution.location_count()
    }

    fn readiness(&self, thread: ThreadId) -> Readiness {
        self.execution.readiness(thread)
    }

    fn alternatives(&self, thread: ThreadId) -> u32 {
        self.execution.alternatives(thread)
    }

    fn step(&mut self, next: Move, step: &mut Observed) -> Result<(), Diverged> {
        self.execution.step(next, step)
    }

    fn foresee(
        &mut self,
        trace: &Trace,
        cut: &Cut,
        thread: ThreadId,
        number: u32,
        step: &mut Observed,
    ) -> bool {
        self.execution.foresee(trace, cut, thread, number, step)
    }
}

/// Looks at the executions of a worker.
pub(super) struct Examiner<'w, 'a, S> {
    findings: &'w Mutex<Findings<'a, S>>,
    /// Why this worker does not go on. An explorer then stops the others too.
    stop: Rc<Cell<Option<Stop>>>,
    clock: Clock,
    /// Whether time has gone by since the last estimate.
    wants_estimate: bool,
}

impl<'w, 'a, S: System> Examiner<'w, 'a, S> {
    pub(super) fn new(findings: &'w Mutex<Findings<'a, S>>, execution: &Stepwise<S>) -> Self {
        Self {
            findings,
            stop: execution.stop(),
            clock: Clock::default(),
            wants_estimate: false,
        }
    }
}

impl<S: System> Visitor<Worker<'_, '_, S>> for Examiner<'_, '_, S> {
    fn ended(&mut self, worker: &mut Worker<'_, '_, S>, trace: &Trace) -> ControlFlow<()> {
        if self.stop.get().is_some() {
            // It may have ended only because there was no reason to go on.
            return ControlFlow::Break(());
        }
        let class = class_of(trace);
        let mut findings = lock(self.findings);
        if findings.are_enough() {
            // Another worker was first.
            return ControlFlow::Break(());
        }
        findings.add(&mut worker.execution, trace.len(), class);
        if findings.are_as_many_as_allowed() {
            self.stop.set(Some((Kind::Executions, None)));
        }
        match findings.are_enough() {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    }

    fn pulse(&mut self) -> ControlFlow<()> {
        if let Some(now) = self.clock.tick() {
            let mut findings = lock(self.findings);
            self.wants_estimate = findings.are_of_one_worker();
            if let Some(stop) = findings.look_around(now) {
                self.stop.set(Some(stop));
            }
        }
        match self.stop.get() {
            Some(_) => ControlFlow::Break(()),
            None => ControlFlow::Continue(()),
        }
    }

    fn estimate(&mut self, done: &dyn Fn() -> f64) {
        if std::mem::take(&mut self.wants_estimate) {
            lock(self.findings).part_done(done());
        }
    }

    fn left_out(&mut self, worker: &mut Worker<'_, '_, S>, omission: Omission) {
        let step = omission.step;
        lock(self.findings).assume(Assumption {
            kind: omission.kind,
            place: step.and_then(|(thread, number)| worker.execution.place_of(thread, number)),
            detail: None,
        });
    }

    fn bound_reached(&mut self, bound: u32) -> ControlFlow<()> {
        lock(self.findings).bound_reached(bound);
        ControlFlow::Continue(())
    }
}
