//! What executions do: to notice one that does not do what the one before did by the same moves, and to do it again.

use std::mem::discriminant;

use raddle_schedule::{Diverged, Move};

use super::Place;
use super::operation::Operation;
use super::state::State;
use super::thread::Announced;

/// A move, and what its thread announced after it.
#[derive(Clone, Copy)]
struct Deed {
    made: Move,
    next: Option<(Operation, Place)>,
}

/// What this execution did, and after that, while it follows it, what the one before did.
pub(crate) struct Deeds {
    deeds: Vec<Deed>,
    done: usize,
    /// Whether this execution has made the same moves as the one before so far.
    follows: bool,
    /// The moves that are to be made again, and how many of them were.
    script: Vec<Move>,
    followed: usize,
    /// What was not the same.
    diverged: Option<Diverged>,
}

impl Deeds {
    pub(super) fn new(room: usize) -> Self {
        Self {
            deeds: Vec::with_capacity(room),
            done: 0,
            follows: false,
            script: Vec::new(),
            followed: 0,
            diverged: None,
        }
    }

    /// A new execution begins, which is to do what the one before did, or need not.
    pub(super) fn begin(&mut self, follows: bool) {
        self.deeds.truncate(self.done);
        self.done = 0;
        self.follows = follows;
        self.script.clear();
        self.followed = 0;
        self.diverged = None;
    }

    /// The moves of this execution.
    pub(super) fn moves(&self) -> impl Iterator<Item = Move> {
        self.deeds[..self.done].iter().map(|deed| deed.made)
    }

    /// Sets the moves that are to be made again.
    pub(super) fn set_script(&mut self, moves: impl Iterator<Item = Move>) {
        self.script.extend(moves);
    }

    /// The next move that is to be made again.
    pub(super) fn next_in_script(&self) -> Option<Move> {
        self.script.get(self.followed).copied()
    }

    /// That move is being made.
    pub(super) fn follow(&mut self) {
        self.followed += 1;
    }

    /// The last of those moves that was made.
    pub(super) fn last_in_script(&self) -> Option<Move> {
        self.script.get(self.followed.checked_sub(1)?).copied()
    }

    /// Compares what a thread announces after a move with what it announced in the execution before. What is not the
    /// same has to be described.
    fn compare(&mut self, made: Move, next: Option<&Announced>, failed: bool) -> Option<[Deed; 2]> {
        let index = self.done;
        self.done += 1;
        let deed = Deed { made, next: None };
        if self.follows
            && !failed
            && let Some(earlier) = self.deeds.get_mut(index)
            && earlier.made == made
        {
            if earlier.is_before(next) {
                return None;
            }
            let now = deed.then(next);
            let before = std::mem::replace(earlier, now);
            return Some([before, now]);
        }
        self.follows = false;
        self.deeds.truncate(index);
        self.deeds.push(deed.then(next));
        None
    }
}

impl Deed {
    fn then(self, next: Option<&Announced>) -> Self {
        Self {
            next: next.map(|next| (next.operation, next.place)),
            ..self
        }
    }

    /// Whether this is what the thread announces after it.
    fn is_before(&self, next: Option<&Announced>) -> bool {
        match (&self.next, next) {
            (Some((operation, place)), Some(next)) => {
                discriminant(operation) == discriminant(&next.operation)
                    && (std::ptr::eq(*place, next.place) || *place == next.place)
            }
            (None, None) => true,
            _ => false,
        }
    }

    fn describe(&self, thread: &str) -> String {
        match self.next {
            Some((operation, place)) => format!("{thread} {} at {place}", operation.verb()),
            None => format!("{thread} has ended"),
        }
    }
}

impl State {
    /// Compares what a thread announces after a move with what it announced in the execution before.
    pub(super) fn compare(&mut self, made: Move) -> Result<(), Diverged> {
        if let Some(diverged) = self.deeds.diverged.take() {
            return Err(diverged);
        }
        let next = self.threads[made.thread.index()].next();
        match self.deeds.compare(made, next, self.failure.is_some()) {
            None => Ok(()),
            Some([before, now]) => {
                let name = self.name_of(made.thread);
                Err(Diverged {
                    expected: before.describe(&name),
                    found: now.describe(&name),
                })
            }
        }
    }

    /// Makes what the current thread has just announced, if that is the next move of those that are made again. Returns
    /// whether the thread is to run on: nobody else has to move before.
    pub(super) fn runs_on(&mut self) -> bool {
        let Some(next) = self.deeds.next_in_script() else {
            return false;
        };
        if next.thread != self.current {
            return false;
        }
        if let Some(last) = self.deeds.last_in_script()
            && let Err(diverged) = self.compare(last)
        {
            self.deeds.diverged = Some(diverged);
            return false;
        }
        self.deeds.follow();
        self.corrected = None;
        let mut step = std::mem::take(&mut self.made_again);
        let runs_on = self.make(next.thread, next.choice, &mut step);
        self.made_again = step;
        runs_on
    }
}
