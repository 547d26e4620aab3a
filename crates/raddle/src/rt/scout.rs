//! Scouts: what a thread that has to wait in a loop would do if it did not.
//!
//! A scout runs the execution so far once more, in a state of its own, and then only the one thread, for as many
//! rounds as it takes. The exploration does not notice, unless the thread leaves its loop by itself: see `spin.rs`.

use raddle_schedule::{Execution, Move, Step, ThreadId};

use super::program::Program;
use super::spin::{Mark, Wanted};

/// What is known of a thread that is followed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scout {
    thread: ThreadId,
    /// The number of the mark that it came to.
    pub(super) mark: usize,
    /// Whether the execution has come to where the thread waits.
    is_there: bool,
    /// The most rounds in vain that it made there.
    most: u32,
    /// After how many it left the loop for the first time.
    first: u32,
    /// Whether it left the loop.
    left: bool,
    /// Whether it goes on in vain for ever.
    pub(super) waits: bool,
}

impl Scout {
    fn new(wanted: Wanted) -> Self {
        Self {
            thread: wanted.thread,
            mark: wanted.mark,
            is_there: false,
            most: 0,
            first: 0,
            left: false,
            waits: false,
        }
    }

    pub(super) fn follows(&self, thread: ThreadId) -> bool {
        self.is_there && self.thread == thread
    }

    /// The thread comes to a mark.
    pub(super) fn comes_to(&mut self, mark: &Mark, limit: u32) {
        if mark.number == self.mark {
            self.most = self.most.max(mark.rounds);
        }
        self.waits |= mark.rounds >= limit;
    }

    /// The thread does something else than to go round at its mark.
    pub(super) fn sees_it_leave(&mut self, mark: &Mark) {
        self.most = self.most.max(mark.rounds);
        self.left = true;
        if !mark.left {
            self.first = self.first.max(mark.rounds);
        }
    }

    /// How many rounds in vain it is to be granted: all that it makes, if they come to an end; otherwise those until it does
    /// something else for the first time.
    pub(super) fn patience(&self) -> u32 {
        match (self.left, self.waits) {
            (true, false) => self.most,
            (true, true) => self.first,
            (false, _) => 0,
        }
    }
}

impl Program {
    /// Finds out about the loops of this execution that are not known yet.
    pub(super) fn send_scouts(&mut self) {
        let wanted = self.runtime.state.borrow_mut().loops.take_wanted();
        if wanted.is_empty() {
            return;
        }
        let moves = self.moves();
        for wanted in wanted {
            let scout = self.send(wanted, &moves[..wanted.steps]);
            let mut state = self.runtime.state.borrow_mut();
            state.learned |= state.loops.learn(&scout);
        }
    }

    fn send(&mut self, wanted: Wanted, moves: &[Move]) -> Scout {
        let mut state = self.runtime.state.borrow().apprentice();
        state.loops.scout = Some(Scout::new(wanted));
        let mut other = self.with_state(state);
        std::mem::swap(&mut self.pool, &mut other.pool);
        other.follow(wanted.thread, moves);
        std::mem::swap(&mut self.pool, &mut other.pool);
        // What is left behind is left on this thread.
        let left = other.runtime.state.borrow().stuck_unwinding;
        self.runtime.state.borrow_mut().stuck_unwinding = left;
        other.scout_mut(|scout| *scout)
    }

    /// Runs these moves, and then one thread alone.
    fn follow(&mut self, thread: ThreadId, moves: &[Move]) {
        self.restart();
        let mut step = Step::default();
        if moves.iter().all(|&next| self.advance(next, &mut step)) {
            self.scout_mut(|scout| scout.is_there = true);
            let next = Move { thread, choice: 0 };
            while !self.scout_mut(|scout| scout.waits) && self.advance(next, &mut step) {}
            if self.has_too_many_steps() {
                self.scout_mut(|scout| scout.waits = true);
            }
        }
        self.end();
    }

    fn scout_mut<R>(&self, change: impl FnOnce(&mut Scout) -> R) -> R {
        let mut state = self.runtime.state.borrow_mut();
        change(state.loops.scout.as_mut().expect("a scout is under way"))
    }

    fn has_too_many_steps(&self) -> bool {
        let state = self.runtime.state.borrow();
        state.made.len() >= state.settings.max_steps
    }

    /// Makes a step, if it is possible whatever the thread watches.
    fn advance(&mut self, next: Move, step: &mut Step) -> bool {
        let can_move = {
            let state = self.runtime.state.borrow();
            state.failure.is_none()
                && state.started.contains(&next.thread)
                && state.is_ready(next.thread)
        };
        can_move && self.step(next, step).is_ok()
    }
}
