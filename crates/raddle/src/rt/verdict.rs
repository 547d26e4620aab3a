//! What is wrong with an execution.

use raddle_report::story::Spot;
use raddle_schedule::ThreadId;

use super::failure::{Failure, FailureKind, Remark, spot};
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
        let thread = self.thread_mut(id);
        thread.panicked = Some(index);
        thread.panicking = false;
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
            });
        }
        let message = match last {
            Some(panic) => format!("{} panicked: {}", self.name_of(panic.thread), panic.message),
            None => "panic".into(),
        };
        Failure {
            kind: FailureKind::Panic,
            message,
            remarks,
        }
    }

    /// Whether all threads have ended.
    pub(super) fn is_over(&self) -> bool {
        self.started.iter().all(|&id| self.thread(id).ended)
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
            return (!self.waits_too_long()).then(|| self.deadlock());
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
                thread: None,
                at: spot(place),
                text: "made here, and never dropped".into(),
            })
            .collect();
        let message = match remarks.len() {
            0 => return None,
            1 => "leak: an Arc is still alive at the end".into(),
            count => format!("leak: {count} Arcs are still alive at the end"),
        };
        Some(Failure {
            kind: FailureKind::Leak,
            message,
            remarks,
        })
    }

    /// Looks for what can be seen without an end: a lock taken twice, spinning, no end in sight.
    pub(super) fn check_progress(&mut self, id: ThreadId) {
        if self.failure.is_some() {
            return;
        }
        if let Some(failure) = self.self_deadlock(id) {
            self.fail(failure);
        } else if self.idle >= self.settings.spin_limit && self.waits_too_long() {
            self.impossible = true;
        } else if self.idle >= self.settings.spin_limit {
            let failure = self.live_lock();
            self.fail(failure);
        } else if self.made.len() >= self.settings.max_steps {
            let remarks = self.live_lock().remarks;
            self.fail(Failure {
                kind: FailureKind::TooManySteps,
                message: format!("no end after {} steps", self.made.len()),
                remarks,
            });
        }
    }
}
