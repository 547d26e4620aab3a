//! Threads that need not be run again.

use std::ops::ControlFlow;
use std::rc::Rc;

use super::Search;
use crate::execution::{Execution, LocationId, Mode, Readiness, ThreadId, ValuedAccess};
use crate::explorer::Visitor;

/// What a thread does from some state on until it ends or is blocked.
#[derive(Debug)]
pub(super) struct Run {
    /// What its steps touch, and the step at which it is blocked.
    touches: Vec<(LocationId, Mode)>,
    /// Its steps, and the one at which it is blocked.
    steps: Vec<Step>,
}

/// A step of a run.
#[derive(Clone, Copy, Debug)]
struct Step {
    /// Where its touches begin.
    first_touch: usize,
    /// Whether it has alternatives or comes after everything: it cannot be moved.
    is_fixed: bool,
}

/// How much of a run has to be moved before others for the rest to be the same.
#[derive(Clone, Copy, Debug)]
pub(super) enum Extent {
    /// All of it: to leave the thread earlier would cost a preemption.
    Whole,
    /// One step: the thread is preempted anyway, before it or after it.
    FirstStep,
}

/// A thread whose run from some earlier state on was explored, and that no step since then conflicts with.
#[derive(Clone, Debug)]
pub(super) struct Asleep {
    pub(super) thread: ThreadId,
    run: Rc<Run>,
    /// Which touches of the run count.
    from: usize,
    to: usize,
    /// The locations below this had the same numbers then.
    stable_locations: usize,
}

impl Asleep {
    /// A thread that sleeps before a step of a run; nothing, if that much of the run cannot be moved before others.
    pub(super) fn new(
        thread: ThreadId,
        (run, step): (Rc<Run>, usize),
        extent: Extent,
        stable_locations: usize,
    ) -> Option<Self> {
        let (end, to) = match extent {
            Extent::Whole => (run.steps.len() - 1, run.touches.len()),
            Extent::FirstStep => (step + 1, run.steps[step + 1].first_touch),
        };
        let is_fixed = run.steps[step..end].iter().any(|step| step.is_fixed);
        (!is_fixed).then(|| Self {
            thread,
            from: run.steps[step].first_touch,
            to,
            run,
            stable_locations,
        })
    }

    /// Whether its run may conflict with such an access.
    fn conflicts_with(&self, access: &ValuedAccess) -> bool {
        self.run.touches[self.from..self.to]
            .iter()
            .any(|&(at, mode)| {
                // Two locations that were not known then may be the same, whatever their numbers.
                let may_be_same = at == access.location
                    || at.index().min(access.location.index()) >= self.stable_locations;
                may_be_same && mode.conflicts_with(access.mode)
            })
    }
}

impl<X: Execution> Search<'_, X> {
    /// Those that sleep after the last event of the trace: who has slept before it, or was explored instead of it, and has nothing
    /// to do with it. `is_blocked`: the thread of the event is. The list is used again.
    pub(super) fn sleep_on(&mut self, mut asleep: Vec<Asleep>, is_blocked: bool) -> Vec<Asleep> {
        asleep.clear();
        let Some(last) = self.trace.len().checked_sub(1) else {
            return asleep;
        };
        let event = &self.trace.events()[last];
        let thread = event.thread();
        if event.last_resort || self.nodes[last].asleep.is_empty() {
            return asleep;
        }
        for sleeping in &self.nodes[last].asleep {
            let mut accesses = self.trace.accesses(last);
            if sleeping.thread != thread && !accesses.any(|it| sleeping.conflicts_with(it)) {
                asleep.push(sleeping.clone());
            }
        }
        // A thread that is left because it is blocked: where it is not, to leave it would cost a preemption.
        if !asleep.is_empty() && is_blocked {
            self.cut.set_to_first(&self.trace, self.trace.len());
            let number = self.trace.count(thread);
            self.execution
                .foresee(&self.trace, &self.cut, thread, number, &mut self.step);
            let accesses = &self.step.accesses;
            asleep.retain(|it| !accesses.iter().any(|access| it.conflicts_with(access)));
        }
        asleep
    }

    /// Whether a thread need not be run from a state on.
    pub(super) fn sleeps(&mut self, node: usize, thread: ThreadId) -> bool {
        self.nodes[node].asleep.iter().any(|it| it.thread == thread)
            || self.was_preempted_in_vain(node, thread)
    }

    /// Whether a thread that was preempted would go on although nothing since depends on the run that was interrupted: then all of that
    /// could have come before the run, with a preemption less.
    fn was_preempted_in_vain(&mut self, node: usize, thread: ThreadId) -> bool {
        let Some(last) = self.last_before(thread, node) else {
            return false;
        };
        // The state where it was preempted, if it was.
        if last + 1 >= node || self.nodes[last + 1].running != Some(thread) {
            return false;
        }
        let start = self.run_starts[last];
        let number = self.trace.events()[start].number;
        let depends = |event| self.trace.clock(event)[thread.index()] > number;
        if (last + 1..node).any(depends) {
            return false;
        }
        // Where it is not blocked, to leave a thread would cost a preemption.
        for left in last + 2..=node {
            let event = self.trace.events()[left - 1];
            if self.nodes[left].is_blocked && self.waits_for(left, event.thread(), start..=last) {
                return false;
            }
        }
        true
    }

    /// Whether a thread that is blocked in a state waits for what some events have touched.
    fn waits_for(
        &mut self,
        node: usize,
        thread: ThreadId,
        mut events: std::ops::RangeInclusive<usize>,
    ) -> bool {
        self.cut.set_to_first(&self.trace, node);
        let number = self.cut.count(thread);
        self.execution
            .foresee(&self.trace, &self.cut, thread, number, &mut self.step);
        let accesses = &self.step.accesses;
        events.any(|event| {
            self.trace.accesses(event).any(|theirs| {
                accesses.iter().any(|mine| {
                    mine.location == theirs.location && mine.mode.conflicts_with(theirs.mode)
                })
            })
        })
    }

    /// The last event of a thread before a state.
    pub(super) fn last_before(&self, thread: ThreadId, node: usize) -> Option<usize> {
        let lane = self.lanes.get(thread.index())?;
        let count = lane.partition_point(|&event| event < node);
        Some(lane[count.checked_sub(1)?])
    }

    /// Remembers the runs that begin with the new events, those from `begin` on.
    pub(super) fn remember_runs(
        &mut self,
        begin: usize,
        visitor: &mut impl Visitor<X>,
    ) -> ControlFlow<()> {
        let mut start = begin;
        while start < self.depth {
            visitor.pulse()?;
            let events = self.trace.events();
            let thread = events[start].thread();
            let others = events[start..].iter();
            let length = others.take_while(|event| event.thread() == thread).count();
            self.remember_run(thread, start, start + length);
            start += length;
        }
        ControlFlow::Continue(())
    }

    fn remember_run(&mut self, thread: ThreadId, start: usize, end: usize) {
        // The step at which it is blocked touches a location or two.
        let touches = self.trace.access_count(start..end) + 2;
        let mut run = Run {
            touches: Vec::with_capacity(touches),
            steps: Vec::with_capacity(end - start + 1),
        };
        for event in start..end {
            let known = &self.trace.events()[event];
            run.steps.push(Step {
                first_touch: run.touches.len(),
                is_fixed: known.alternatives > 1 || known.last_resort,
            });
            let accesses = self.trace.accesses(event);
            run.touches
                .extend(accesses.map(|access| (access.location, access.mode)));
        }
        run.steps.push(Step {
            first_touch: run.touches.len(),
            is_fixed: false,
        });
        let number = self.trace.events()[end - 1].number + 1;
        let goes_on = number < self.trace.count(thread);
        if goes_on || self.execution.readiness(thread) != Readiness::Ended {
            self.cut.set_to_first(&self.trace, end);
            self.execution
                .foresee(&self.trace, &self.cut, thread, number, &mut self.step);
            let accesses = self.step.accesses.iter();
            run.touches
                .extend(accesses.map(|access| (access.location, access.mode)));
        }
        let run = Rc::new(run);
        for event in start..end.min(self.depth) {
            self.nodes[event].run = Some((Rc::clone(&run), event - start));
        }
    }
}
