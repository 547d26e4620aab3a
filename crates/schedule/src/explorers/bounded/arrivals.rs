//! Threads that need not arrive early at a step with which they have to wait.

use super::Search;
use super::races::Second;
use crate::execution::{Execution, Readiness, ThreadId};

/// How many of the later events that a step races with are looked at: two are enough where a lock is given back and taken again.
const MOST_LATER: usize = 4;

/// A thread that would preempt another one, and go as far as it can.
#[derive(Clone, Copy, Debug)]
struct Arrival {
    thread: ThreadId,
    /// The numbers of its first step and of the one that it arrives at.
    begin: u32,
    end: u32,
    /// The thread that would be preempted, and the event that it would not have made yet.
    preempted: ThreadId,
    at: usize,
}

impl<X: Execution> Search<'_, X> {
    /// Whether the thread of the second event of a race need not preempt the one that makes event `at`: it would have to wait with the second event, and may
    /// as well arrive later.
    ///
    /// `firsts` are the events that the second one races with, and `at` is one of them. What leads from the state before `at` to the second event are steps of its own thread.
    pub(super) fn may_arrive_later(&mut self, at: usize, second: Second, firsts: &[usize]) -> bool {
        let events = self.trace.events();
        let arrival = Arrival {
            thread: second.thread,
            begin: self.count_before(second.thread.index(), at),
            end: second.previous.map_or(0, |last| events[last].number + 1),
            preempted: events[at].thread(),
            at,
        };
        if self.nodes[at].running != Some(arrival.preempted) || arrival.begin >= arrival.end {
            return false;
        }
        let run = events[at..].iter();
        let run = run.take_while(|event| event.thread() == arrival.preempted);
        let end = at + run.count();
        let from = firsts.partition_point(|&first| first <= at);
        let later = firsts[from..].iter().copied().take(MOST_LATER);
        let mut later = later.take_while(|&later| later < end).chain([end]);
        self.has_to_wait(arrival, at)
            && self.touches_no_more(arrival)
            && self.third_threads_wait(arrival, at)
            && (later.any(|later| self.is_free(arrival, later) && self.has_to_wait(arrival, later))
                || self.is_free(arrival, end) && self.run_ends(arrival, end))
    }

    /// The steps that lead to the arrival, as events that come later in the trace.
    fn steps(&self, arrival: Arrival) -> &[usize] {
        &self.lanes[arrival.thread.index()][arrival.begin as usize..arrival.end as usize]
    }

    /// Whether neither these steps nor the events from `at` to `end` have alternatives or come after everything.
    fn is_free(&self, arrival: Arrival, end: usize) -> bool {
        let events = self.trace.events();
        let is_fixed = |event: usize| events[event].alternatives > 1 || events[event].last_resort;
        let mut all = self.steps(arrival).iter().copied().chain(arrival.at..end);
        !all.any(is_fixed)
    }

    /// Whether a thread that arrives in the state before an event has to wait there.
    fn has_to_wait(&mut self, arrival: Arrival, event: usize) -> bool {
        self.cut.set_to_first(&self.trace, event);
        self.cut.set(arrival.thread, arrival.end);
        !self.is_possible(arrival.thread, arrival.end)
    }

    /// Whether all that the step just foreseen touches is touched by it in this execution too, so that its races are known without arriving.
    fn touches_no_more(&mut self, arrival: Arrival) -> bool {
        let there: Vec<_> = self
            .step
            .accesses
            .iter()
            .map(|it| (it.location, it.mode))
            .collect();
        let made = self.lanes[arrival.thread.index()].get(arrival.end as usize);
        let here: Vec<_> = if let Some(&made) = made {
            let accesses = self.trace.accesses(made);
            accesses.map(|it| (it.location, it.mode)).collect()
        } else {
            self.cut.set_to_first(&self.trace, self.trace.len());
            self.is_possible(arrival.thread, arrival.end);
            self.step
                .accesses
                .iter()
                .map(|it| (it.location, it.mode))
                .collect()
        };
        there.iter().all(|access| here.contains(access))
    }

    /// Whether the thread that would be preempted cannot go on in the state before event `end`; or it cannot if the other one has arrived before, and neither can a third one.
    fn run_ends(&mut self, arrival: Arrival, end: usize) -> bool {
        self.cut.set_to_first(&self.trace, end);
        let number = self.cut.count(arrival.preempted);
        if !self.is_possible(arrival.preempted, number) {
            return true;
        }
        self.cut.set(arrival.thread, arrival.end);
        !self.is_possible(arrival.preempted, number) && self.third_threads_wait(arrival, end)
    }

    /// Whether a step is possible after the events of the cut.
    fn is_possible(&mut self, thread: ThreadId, number: u32) -> bool {
        self.execution
            .foresee(&self.trace, &self.cut, thread, number, &mut self.step)
    }

    /// Whether no third thread can move in the state before event `at`, nor while the one arrives and the other goes on then until `end`; and none of them was preempted.
    fn third_threads_wait(&mut self, arrival: Arrival, end: usize) -> bool {
        (0..self.execution.threads().len()).all(|index| {
            let thread = self.execution.threads()[index];
            thread == arrival.thread
                || thread == arrival.preempted
                || self.has_ended(thread, arrival.at)
                || self.keeps_waiting(thread, arrival, end)
        })
    }

    /// Whether a thread makes no steps from the state before an event on.
    fn has_ended(&self, thread: ThreadId, event: usize) -> bool {
        self.count_before(thread.index(), event) == self.trace.count(thread)
            && self.execution.readiness(thread) == Readiness::Ended
    }

    fn keeps_waiting(&mut self, thread: ThreadId, arrival: Arrival, end: usize) -> bool {
        let at = arrival.at;
        let blocked = &self.blocked[self.first_blocked[at]..self.first_blocked[at + 1]];
        let last = self.last_before(thread, at);
        let was_preempted = last.is_some_and(|last| self.nodes[last + 1].running == Some(thread));
        if was_preempted || !blocked.iter().any(|it| it.thread == thread) {
            return false;
        }
        self.cut.set_to_first(&self.trace, at);
        let number = self.cut.count(thread);
        self.is_possible(thread, number);
        let waits_for = &self.step.accesses;
        let mut events = self.steps(arrival).iter().copied().chain(at..end);
        !events.any(|event| {
            let mut theirs = self.trace.accesses(event);
            self.trace.woken_by(event).any(|woken| woken == thread)
                || theirs.any(|theirs| {
                    waits_for.iter().any(|mine| {
                        mine.location == theirs.location && mine.mode.conflicts_with(theirs.mode)
                    })
                })
        })
    }
}
