//! What is wrong with an execution.

use raddle_outcome::{Assumption, Kind as Assumed};
use raddle_report::story::Spot;
use raddle_schedule::ThreadId;

use super::Place;
use super::failure::{Failure, FailureKind, Remark, spot};
use super::operation::Operation;
use super::panics::Panic;
use super::state::State;

impl State {
    /// Remembers that a panic ended a thread.
    pub(crate) fn note_panic(&mut self, id: ThreadId) {
        let mine = self.panics.iter().rposition(|panic| panic.thread == id);
        let index = mine.unwrap_or_else(|| {
            // It was resumed, without a word.
            self.panics.push(Panic {
                thread: id,
                message: "a panic that was resumed".into(),
                at: Spot::default(),
            });
            self.panics.len() - 1
        });
        self.thread_mut(id).panicked = Some(index);
    }

    /// What to say of a panic: the last one is why the execution fails, the first one what it began with.
    pub(super) fn panic_failure(&self) -> Failure {
        let last = self.panics.last();
        let mut remarks: Vec<Remark> = Vec::new();
        for panic in &self.panics {
            remarks.push(Remark {
                thread: Some(panic.thread),
                at: panic.at.clone(),
                text: format!("panicked: {}", panic.message),
                ..Remark::default()
            });
        }
        let message = match last {
            Some(panic) => format!("{} panicked: {}", self.name_of(panic.thread), panic.message),
            None => "panic".into(),
        };
        Failure::new(FailureKind::Panic, message, remarks)
    }

    /// Whether all threads have ended.
    pub(super) fn is_over(&self) -> bool {
        self.started.iter().all(|&id| self.thread(id).ended)
    }

    /// Where a thread has stopped because an assumption does not hold.
    ///
    /// Such an execution does not count. But the other threads go on to their ends: what they do still races with what was done
    /// before, so the explorer must see it to find the executions in which the assumption holds. (`assume(x.load() == 1)` beside
    /// `x.store(1)`: if the execution ended with the thread that assumes, no explorer would learn of the store.) The result is the same
    /// for all schedules of a class: the thread stops as a function of what it has read, and others cannot see that it has. So
    /// a failure of another thread counts even if it comes later in this schedule: in another one of the class it comes before.
    pub(super) fn is_cut_at(&self) -> Option<Place> {
        let mut next = self.started.iter().filter_map(|&id| self.thread(id).next());
        let stopped = next.find(|next| next.operation == Operation::Stop)?;
        Some(stopped.place)
    }

    /// Whether threads move on.
    #[inline]
    pub(super) fn goes_on(&self) -> bool {
        !self.impossible && (self.failure.is_none() || self.settings.keep_going)
    }

    /// What is wrong with an execution in which no thread can move.
    pub(super) fn verdict(&self) -> Option<Failure> {
        if let Some(failure) = &self.failure {
            return Some(failure.clone());
        }
        if self.impossible {
            return None;
        }
        if let Some(failure) = self.nested_reader() {
            return Some(failure);
        }
        if !self.is_over() {
            return (!self.waits_too_long() && self.is_cut_at().is_none()).then(|| self.deadlock());
        }
        let unseen = self
            .started
            .iter()
            .any(|&id| self.thread(id).panicked.is_some() && !self.thread(id).joined);
        unseen.then(|| self.panic_failure())
    }

    pub(super) fn leak(&self) -> Option<Failure> {
        if !self.settings.leaks {
            return None;
        }
        let remarks: Vec<_> = self
            .counts
            .leaked()
            .map(|place| Remark {
                at: spot(place),
                text: "made here, and never dropped".into(),
                ..Remark::default()
            })
            .collect();
        let message = match remarks.len() {
            0 => return None,
            1 => "leak: an Arc is still alive at the end".into(),
            count => format!("leak: {count} Arcs are still alive at the end"),
        };
        Some(Failure::new(FailureKind::Leak, message, remarks))
    }

    /// Looks for what can be seen without an end: a lock taken twice, spinning, no end in sight.
    pub(super) fn check_progress(&mut self, id: ThreadId) {
        if !self.goes_on() {
            return;
        }
        if self.counts.may_wake_nobody() && self.made.last().is_some_and(|made| made.last_resort) {
            // It has been learned that counts matter, so the exploration begins again.
            self.impossible = true;
            return;
        }
        // What is replayed was known to lead on. Less is known now of where threads poll, so they take turns earlier.
        let is_given = self.is_replayed();
        let is_stuck = self.turns.are_over() && !is_given;
        let is_long = is_stuck || self.made.len() >= self.settings.max_steps;
        if is_long && (self.failure.is_some() || self.is_cut_at().is_some()) {
            // They may well wait for the thread that has failed, or that has stopped.
            self.impossible = true;
        } else if let Some(failure) = self.self_deadlock(id) {
            self.fail(failure);
        } else if (is_long || !is_given && self.polls_for_nothing()) && self.waits_too_long() {
            // The wait would have timed out by now, and then others may come to their ends.
            self.impossible = true;
        } else if !is_given && self.polls_for_long() && self.waits_too_long() {
            // As far as is known. Something may have changed now and then that would have woken it later.
            let place = self.made.last().map(|made| made.place);
            self.assume(Assumption {
                place,
                ..Assumed::GivenUp.into()
            });
            self.impossible = true;
        } else if is_stuck {
            let failure = self.live_lock();
            self.fail(failure);
        } else if self.made.len() >= self.settings.max_steps {
            let failure = self.no_end(self.made.len());
            self.fail(failure);
        }
    }

    /// What to say of an execution that has as many steps as it may.
    pub(super) fn no_end(&self, steps: usize) -> Failure {
        Failure::new(
            FailureKind::TooManySteps,
            format!("no end after {steps} steps"),
            self.live_lock().remarks,
        )
    }

    /// The same for a step that is made again. There is something to see only if executions go on after a failure: otherwise none is run beyond it.
    #[inline]
    pub(super) fn check_progress_again(&mut self, id: ThreadId) {
        if self.settings.keep_going {
            self.check_progress(id);
        }
    }
}
