//! Scouts: what a suspended thread would do if it were not suspended.
//!
//! A scout runs the execution so far once more, in a state of its own, and then only the one thread, for as many iterations as it takes. What
//! others have done that the thread would find [is left out](super::alone), if the thread has seen nothing of it yet. The
//! exploration does not notice, unless it learns that the site needs another allowance.
//!
//! # How long a scout stays
//!
//! If the operations, locations, values, registers and the stack repeat, so does the local state, but for what is on the heap: the loop goes on like this
//! for ever, unless it counts there. A loop that counts on its stack does not repeat it, so each scout follows it up to `spin_limit` iterations. Only for
//! loops that count on the heap is it of use to stay longer than it takes the stack to repeat.
//!
//! So the first scouts of a place in the source stay for `spin_limit` iterations, and later ones for fewer and fewer, down to [`BRIEF`]. If one of them shows that a loop there does
//! something else although its stack has repeated, the stack *deceives*: what brief scouts of the place have found is forgotten, all scouts of it stay for long from then on, and the
//! exploration begins again. What is left is a loop that counts on the heap in some local states only, and in none of those that the first scouts saw. As any other
//! loop that is suspended, it is an assumption of the verdict.
//!
//! The stack contains addresses. One of them may change later because the allocator gives out another block, while the operations stay the same. The local
//! state has repeated before that, so what the thread seemed to repeat then counts, as long as its operations go on like that. Otherwise the allowance would be
//! too large, the next scout would find a still larger one, and so on.
//!
//! All scouts of a worker run in one companion of its program: their tables need not grow while a thread is followed, which would move its own allocations.

use raddle_outcome::Kind as Assumed;
use raddle_schedule::{Execution, Move, Observed, ThreadId};

use super::Polling;
use super::iterations::{Iterations, Repetition};
use super::past::Past;
use crate::rt::graph::{Scripted, select};
use crate::rt::operation::{Operation, Reason};
use crate::rt::program::Program;

/// After how many iterations a stack has to repeat for its contents to count as local state.
pub(super) const LONGEST_ON_STACK: usize = 64;

/// How many iterations a scout makes at least.
const BRIEF: u32 = 16;

/// How many scouts are sent from one place because the thread chooses what to do: each of them has it always choose the same.
const MOST_CHOICES: u32 = 8;

/// A thread was suspended at a site of which too little is known.
#[derive(Clone, Debug)]
pub(super) struct Wanted {
    pub(super) thread: ThreadId,
    pub(super) site: usize,
    /// The steps that led there, by their numbers in the execution.
    pub(super) steps: Vec<usize>,
    /// What the thread's local state depends on.
    pub(super) past: Past,
}

/// What is known of a thread that is followed.
#[derive(Clone, Copy, Debug)]
pub(in crate::rt) struct Scout {
    pub(super) thread: ThreadId,
    pub(super) site: usize,
    /// Whether the execution has come to where the thread is suspended.
    is_there: bool,
    /// The count of undisturbed iterations where the thread is suspended, and the last one.
    first_count: u32,
    count: u32,
    /// The highest count after which the thread has left the loop.
    left_after: u32,
    /// Whether it has left the loop.
    has_left: bool,
    /// Whether it has made so many iterations that it will make them for ever.
    is_over: bool,
    /// After how many iterations it may come back if the thread's stack repeats.
    least: u32,
    /// What the thread seemed to repeat when its stack first did so.
    seemed: Option<Repetition>,
    /// Whether it has done something else later.
    is_deceived: bool,
    /// What the thread repeats.
    repeats: Option<Repetition>,
    single: bool,
    /// Whether another thread holds a lock that the loop needs, so that nothing more can be found out here.
    is_hindered: bool,
    /// Whether the thread has done something else than to poll, but something may have changed behind a lock since it was last disturbed.
    may_be_told: bool,
    /// Which alternative it takes of what the program chooses, as far as there are as many.
    choice: u32,
    /// How many alternatives it has met at most.
    alternatives: u32,
}

impl Scout {
    fn new(wanted: &Wanted, least: u32, choice: u32) -> Self {
        Self {
            thread: wanted.thread,
            site: wanted.site,
            is_there: false,
            first_count: 0,
            count: 0,
            left_after: 0,
            has_left: false,
            is_over: false,
            least: least.max(BRIEF),
            seemed: None,
            is_deceived: false,
            repeats: None,
            single: false,
            is_hindered: false,
            may_be_told: false,
            choice,
            alternatives: 1,
        }
    }

    pub(super) fn follows(&self, thread: ThreadId) -> bool {
        self.is_there && self.thread == thread
    }

    /// The thread arrives at a site.
    pub(super) fn comes_to(&mut self, site: usize, polling: &Polling, limit: u32) {
        let iterations = &polling.iterations;
        let count = iterations.count(self.site);
        if count < self.count {
            // It has done something else in between: it was disturbed, or has changed something.
            self.leaves(polling);
        }
        self.count = count;
        let longest = count.max(iterations.count(site)).max(iterations.effects());
        let mut is_enough = longest >= limit;
        if cfg!(target_arch = "x86_64")
            && count >= BRIEF
            && count.is_power_of_two()
            && let Some(found) = Repetition::with_stack(iterations.since(self.site))
        {
            is_enough |= count >= self.least;
            if found.length() <= LONGEST_ON_STACK {
                self.seemed.get_or_insert(found);
            }
        }
        if is_enough {
            self.conclude(iterations);
        }
    }

    /// The thread is taken to repeat for ever what it did last.
    fn conclude(&mut self, iterations: &Iterations) {
        self.is_over = true;
        let iterations = iterations.since(self.site);
        let seemed = self.seemed.filter(|seemed| seemed.holds(iterations));
        self.is_deceived |= self.seemed.is_some() && seemed.is_none();
        // If the stack does not repeat, or only after very many iterations, what it contains does not matter (the address of a buffer
        // that grows, say), or the loop counts without end.
        self.repeats = seemed
            .or_else(|| Repetition::with_stack(iterations))
            .filter(|found| found.length() <= LONGEST_ON_STACK)
            .or_else(|| Repetition::of(iterations));
        self.single = self
            .repeats
            .is_some_and(|found| found.is_single(iterations));
    }

    /// The thread does something else than to poll.
    fn leaves(&mut self, polling: &Polling) {
        if polling.has_guessed {
            // Not by itself, perhaps: another thread may have told it to, in a way that wakes nobody. If that were taken for what the loop does by itself, it would be allowed
            // one more iteration, would be told after that one, and so on.
            (self.may_be_told, self.is_over) = (true, true);
            return;
        }
        self.has_left = true;
        self.is_deceived |= self.seemed.take().is_some();
        self.left_after = self.left_after.max(self.count);
    }

    /// Whether it has found out what it was sent for.
    pub(super) fn is_conclusive(&self) -> bool {
        !self.is_hindered && !self.may_be_told
    }

    /// How many undisturbed iterations the site is to be allowed: those after which the thread leaves by itself, and those after which it has gone once
    /// through what repeats.
    pub(super) fn allowance(&self) -> u32 {
        let repeats = self.repeats.map_or(0, |found| found.length() - 1);
        let most = self
            .left_after
            .max(u32::try_from(repeats).unwrap_or(u32::MAX));
        match self.choice {
            0 => most,
            // The thread has chosen otherwise before. It may as well choose so from the beginning.
            _ => most.saturating_sub(self.first_count),
        }
    }

    /// Whether the thread has come to a choice. What it would do if it chose now this and now that is not tried, and neither are more than so many
    /// alternatives: there are more ways to go on than are known.
    fn chooses(&self) -> bool {
        self.alternatives > 1
    }

    /// Whether the thread's stack had repeated, and the thread has then done something else: its loop counts where nobody looks.
    pub(super) fn is_deceived(&self) -> bool {
        self.is_deceived
    }

    pub(super) fn is_single(&self) -> bool {
        self.single && !self.has_left
    }
}

/// What leads to where a thread was suspended.
enum Way {
    Moves(Vec<Move>),
    /// Where executions are graphs.
    Script(Vec<Scripted>),
}

impl Program {
    /// Finds out about the sites of this execution of which too little is known, as long as `goes_on` says so.
    pub(crate) fn send_scouts(&mut self, goes_on: &mut dyn FnMut() -> bool) {
        let wanted = self.runtime.state.borrow_mut().sites.take_wanted();
        if wanted.is_empty() {
            return;
        }
        let moves = self.moves();
        let script = self.runtime.state.borrow().script();
        for wanted in wanted {
            if !goes_on() {
                break;
            }
            let way = match script.is_empty() {
                true => Way::Moves(wanted.steps.iter().map(|&step| moves[step]).collect()),
                false => Way::Script(select(&script, &wanted.steps)),
            };
            let mut is_conclusive = true;
            for choice in 0..MOST_CHOICES {
                let scout = self.send(&wanted, &way, choice);
                let mut state = self.runtime.state.borrow_mut();
                let place = state.sites.site(wanted.site).place;
                if scout.chooses() {
                    state.assume(Assumed::Scouts.at(place));
                }
                if scout.may_be_told {
                    state.assume(Assumed::LoopsDisturbed.at(place));
                }
                if scout.is_conclusive() {
                    state.learned |= state.sites.learn(&scout);
                } else {
                    is_conclusive = false;
                }
                if choice + 1 >= scout.alternatives {
                    break;
                }
            }
            if !is_conclusive {
                let mut state = self.runtime.state.borrow_mut();
                state.sites.take_back(&wanted);
            }
        }
    }

    fn send(&mut self, wanted: &Wanted, way: &Way, choice: u32) -> Scout {
        let least = self.runtime.state.borrow_mut().sites.send(wanted);
        let mut other = self.take_companion();
        other.runtime.state.borrow_mut().sites.scout = Some(Scout::new(wanted, least, choice));
        std::mem::swap(&mut self.pool, &mut other.pool);
        other.follow(wanted.thread, way);
        std::mem::swap(&mut self.pool, &mut other.pool);
        let scout = other.scout_mut(|scout| *scout);
        self.companion = Some(other);
        scout
    }

    /// Goes this way, and then runs one thread alone.
    fn follow(&mut self, thread: ThreadId, way: &Way) {
        self.restart();
        let mut step = Observed::default();
        let is_there = match way {
            Way::Moves(moves) => moves.iter().all(|&next| self.advance(next, &mut step)),
            Way::Script(script) => self.follow_script(thread, script),
        };
        if is_there {
            self.find_suspended(thread);
            while !self.scout_mut(|scout| scout.is_over) {
                let choice = self.choice_of(thread);
                if self.has_too_many_steps() {
                    self.conclude(thread);
                } else if !self.advance(Move { thread, choice }, &mut step) {
                    let is_hindered = self.waits_for_known_lock(thread);
                    let mut state = self.runtime.state.borrow_mut();
                    let state = &mut *state;
                    let scout = state.sites.scout.as_mut();
                    let scout = scout.expect("a scout is under way");
                    match is_hindered {
                        true => scout.is_hindered = true,
                        false => scout.leaves(&state.threads[thread.index()].polling),
                    }
                    break;
                }
            }
        }
        self.end();
    }

    /// The execution has come to where the thread was suspended.
    fn find_suspended(&self, thread: ThreadId) {
        let mut state = self.runtime.state.borrow_mut();
        let state = &mut *state;
        if let Some(scout) = &mut state.sites.scout {
            scout.is_there = true;
            let iterations = &state.threads[thread.index()].polling.iterations;
            scout.count = iterations.count(scout.site);
            scout.first_count = scout.count;
        }
    }

    /// The execution is as long as it may be.
    fn conclude(&self, thread: ThreadId) {
        let mut state = self.runtime.state.borrow_mut();
        let state = &mut *state;
        if let Some(scout) = &mut state.sites.scout {
            scout.conclude(&state.threads[thread.index()].polling.iterations);
        }
    }

    /// Whether the thread waits for a lock that it has taken at the same place in earlier iterations, and has done nothing in this one that it has not done in
    /// those. It does not leave its loop then: another thread happens to hold the lock. To be suspended until the lock changes is the same to it
    /// as to wait for the lock, so it needs no allowance to come as far as that. (If it had one, it would be suspended an iteration later, and another scout would be hindered
    /// there.)
    fn waits_for_known_lock(&self, thread: ThreadId) -> bool {
        let state = self.runtime.state.borrow();
        let thread = state.thread(thread);
        let polling = &thread.polling;
        let next = thread
            .next()
            .filter(|next| next.operation.locks().is_some());
        state.failure.is_none()
            && polling.memory.does_as_before()
            && next.is_some_and(|next| polling.has_made(next, &thread.announced))
    }

    fn scout_mut<R>(&self, change: impl FnOnce(&mut Scout) -> R) -> R {
        let mut state = self.runtime.state.borrow_mut();
        change(state.sites.scout.as_mut().expect("a scout is under way"))
    }

    fn has_too_many_steps(&self) -> bool {
        let state = self.runtime.state.borrow();
        state.made.len() >= state.settings.max_steps
    }

    /// Which alternative a thread takes that is followed. A wait times out: nobody else would end it.
    fn choice_of(&self, thread: ThreadId) -> u32 {
        let mut state = self.runtime.state.borrow_mut();
        let next = state.thread(thread).next().map(|next| next.operation);
        let Some(Operation::Choose {
            alternatives,
            reason,
        }) = next
        else {
            return 0;
        };
        match (reason, &mut state.sites.scout) {
            (Reason::Timeout, _) => 1,
            (Reason::Asked | Reason::WeakFailure, Some(scout)) => {
                scout.alternatives = scout.alternatives.max(alternatives);
                scout.choice.min(alternatives - 1)
            }
            _ => 0,
        }
    }

    /// Makes a step, if it is possible whatever the thread watches.
    fn advance(&mut self, next: Move, step: &mut Observed) -> bool {
        let can_move = {
            let state = self.runtime.state.borrow();
            state.failure.is_none()
                && state.started.contains(&next.thread)
                && state.is_ready(next.thread)
        };
        can_move && self.step(next, step).is_ok()
    }
}
