//! [`Stepwise`]: any [`System`] as an [`Execution`], so that explorers that store no states run it.
//!
//! A system has states that can be kept, so running the same moves again costs nothing, and what a step would
//! do after some of the events of an execution is found by making these steps. No state is brought into canonical
//! form within an execution: positions and names then stay what they are, up to the order in which different threads
//! have spawned, and that is taken care of by [`System::maker`].
//!
//! [`examine`](examine()) runs an explorer over a system and collects what is wrong with it.
//!
//! ```
//! use raddle_explore::testing::{Counters, Op};
//! use raddle_schedule::explorers::Optimal;
//! use raddle_stateless::{Settings, examine};
//! use raddle_schedule::Extent;
//!
//! // One thread sets the counter, the other one hopes that it did.
//! let mut system = Counters::new(&[&[Op::Set(0, 1)], &[Op::Assert(0, 1)]]);
//! let settings = Settings { all: true, ..Settings::default() };
//! let found = examine(&mut system, &mut Optimal::default(), &settings);
//!
//! assert_eq!(found.explored.extent(), Extent::All);
//! assert_eq!((found.statistics.executions, found.violations.len()), (2, 1));
//! assert_eq!(found.violations[0].schedule.len(), 1);
//! ```

mod accesses;
mod examine;
mod findings;
mod foreseen;
mod names;
mod schedule;
mod stepper;
mod worker;

pub use examine::{Examination, Progress, Settings, examine, examine_with_progress};

use std::cell::Cell;
use std::rc::Rc;

use raddle_explore::{Action, BlockedThread, End, Fault, Place, Position, System};
use raddle_outcome::Kind;
use raddle_schedule::{Cut, Diverged, Execution, Move, Observed, Readiness, ThreadId, Trace};

use foreseen::Foreseen;
use names::Names;
use stepper::{Node, Stepper, position_at};

/// Why an exploration cannot go on, and where that shows.
type Stop = (Kind, Option<Place>);

/// How many steps an execution may have, unless something else is said.
pub const MAX_LENGTH: usize = 10_000;

/// A system that is run again and again.
#[derive(Debug)]
pub struct Stepwise<S: System> {
    stepper: Stepper<S>,
    /// The states of the execution under way, and then those of the one before, as long as nothing else
    /// was done than there.
    path: Vec<Node<S::State>>,
    /// The moves between them.
    made: Vec<Made>,
    /// How many moves the execution under way has.
    length: usize,
    max_length: usize,
    foreseen: Foreseen<S::State>,
    /// Why no explorer should go on. Shared with who is asked whether to go on.
    stop: Rc<Cell<Option<Stop>>>,
    steps: u64,
}

/// A move that was made.
#[derive(Debug)]
struct Made {
    taken: Move,
    step: Observed,
}

impl<S: System> Stepwise<S> {
    /// The executions of a system, of at most that many steps. With `invariants`, those are
    /// evaluated in every state, and writes to what they look at are ordered.
    pub fn new(system: S, max_length: usize, invariants: bool) -> Self {
        Self::with_names(system, Names::default(), max_length, invariants)
    }

    /// The same, where others give the same names.
    fn with_names(system: S, names: Names, max_length: usize, invariants: bool) -> Self {
        let mut stepper = Stepper::new(system, names, invariants);
        let initial = stepper.initial();
        let mut execution = Self {
            stepper,
            path: vec![initial],
            made: Vec::new(),
            length: 0,
            max_length,
            foreseen: Foreseen::default(),
            stop: Rc::default(),
            steps: 0,
        };
        execution.find_all_next();
        execution
    }

    /// Why no explorer should go on.
    fn stop(&self) -> Rc<Cell<Option<Stop>>> {
        Rc::clone(&self.stop)
    }

    /// How many steps were made, without those that were known from the execution before.
    #[must_use]
    pub fn steps(&self) -> u64 {
        self.steps
    }

    fn system(&mut self) -> &mut S {
        &mut self.stepper.system
    }

    /// The first moves of the execution under way, as the system knows them.
    fn system_moves(&self, count: usize) -> Vec<Action> {
        let states = self.path.iter().zip(&self.made).take(count);
        states
            .filter_map(|(node, made)| {
                let position = node.position(made.taken.thread)?;
                Some(Action {
                    thread: position_at(position),
                    choice: node.known_next(position)?.choice(made.taken.choice),
                })
            })
            .collect()
    }

    /// Names for blocked threads of the last state, and where they are.
    fn names_of(&self, blocked: &[BlockedThread]) -> Vec<(u64, Place)> {
        let (system, state) = (&self.stepper.system, &self.path[self.length].state);
        blocked
            .iter()
            .map(|waiting| (system.thread_name(state, waiting.thread), waiting.place))
            .collect()
    }

    /// Where a thread made the step with this number, in the execution under way, or is about to make it.
    fn place_of(&self, thread: ThreadId, number: u32) -> Option<Place> {
        let made = self.made[..self.length].iter().enumerate();
        let mut own = made.filter(|(_, made)| made.taken.thread == thread);
        let before = own.nth(number as usize).map_or(self.length, |(at, _)| at);
        let node = &self.path[before];
        let position = node.position(thread)?;
        let thread = position_at(position);
        Some(self.stepper.system.place(&node.state, thread))
    }

    /// How the step with this number failed, if it did.
    #[must_use]
    pub fn fault(&self, number: usize) -> Option<&Fault> {
        self.path[number + 1].fault.as_ref()
    }

    /// The threads that have failed before their first step, of those that there are after
    /// that many steps.
    fn failed_starts(&self, steps: usize) -> Rc<Vec<(Position, Fault)>> {
        Rc::clone(&self.path[steps].failed_starts)
    }

    /// The first invariant that does not hold after that many steps.
    #[must_use]
    pub fn broken_invariant(&self, steps: usize) -> Option<&Fault> {
        self.path[steps].broken.as_ref()
    }

    /// How an execution has ended, in which no thread can move; appends the threads that are blocked, by
    /// their positions.
    pub fn end(&self, blocked: &mut Vec<BlockedThread>) -> End {
        let node = &self.path[self.length];
        for position in 0..node.threads.len() {
            let Some(next) = node.known_next(position) else {
                continue;
            };
            if next.readiness == Readiness::Blocked {
                let thread = position_at(position);
                blocked.push(BlockedThread {
                    thread,
                    place: self.stepper.system.place(&node.state, thread),
                    assumption: next.assumption,
                });
            }
        }
        End::of(blocked, self.stepper.system.failed(&node.state))
    }

    /// Finds what each thread of the last state does next.
    fn find_all_next(&mut self) {
        let node = &mut self.path[self.length];
        for position in 0..node.threads.len() {
            let next = self.stepper.next(node, position);
            if next.unbounded {
                let thread = position_at(position);
                let place = self.stepper.system.place(&node.state, thread);
                self.stop.set(Some((Kind::Alternatives, Some(place))));
            }
        }
    }

    /// Makes a step that is not known from the execution before.
    fn make(&mut self, next: Move) {
        self.path.truncate(self.length + 1);
        if self.made.len() > self.length {
            self.made.truncate(self.length);
            self.foreseen.clear();
        }
        let before = &mut self.path[self.length];
        let position = before.position(next.thread);
        let position = position.expect("only threads that were started move");
        let mut step = self.stepper.next(before, position).step.clone();
        let after = self
            .stepper
            .after(before, position, next.choice, &mut step.wakes);
        self.path.push(after);
        self.made.push(Made { taken: next, step });
        self.steps += 1;
        if self.made.len() > self.max_length {
            let thread = position_at(position);
            let state = &self.path[self.length].state;
            let place = self.stepper.system.place(state, thread);
            self.stop.set(Some((Kind::Steps, Some(place))));
        }
    }
}

impl<S: System> Execution for Stepwise<S> {
    fn restart(&mut self) {
        self.length = 0;
    }

    fn threads(&self) -> &[ThreadId] {
        &self.path[self.length].threads
    }

    fn readiness(&self, thread: ThreadId) -> Readiness {
        let node = &self.path[self.length];
        let position = node.position(thread);
        let next = position.and_then(|position| node.known_next(position));
        next.map_or(Readiness::Ended, |next| next.readiness)
    }

    fn alternatives(&self, thread: ThreadId) -> u32 {
        let node = &self.path[self.length];
        let position = node.position(thread);
        let next = position.and_then(|position| node.known_next(position));
        next.map_or(1, |next| next.step.alternatives)
    }

    fn step(&mut self, next: Move, step: &mut Observed) -> Result<(), Diverged> {
        let known = self.made.get(self.length);
        if known.is_none_or(|known| known.taken != next) {
            self.make(next);
        }
        step.clone_from(&self.made[self.length].step);
        self.length += 1;
        self.find_all_next();
        Ok(())
    }

    fn foresee(
        &mut self,
        trace: &Trace,
        cut: &Cut,
        thread: ThreadId,
        number: u32,
        step: &mut Observed,
    ) -> bool {
        debug_assert_eq!(cut.count(thread), number, "a thread's steps come in order");
        step.clear();
        let node = self
            .foreseen
            .after(&mut self.stepper, &mut self.path, trace, cut);
        let Some(position) = node.position(thread) else {
            return false;
        };
        let next = self.stepper.next(node, position);
        step.clone_from(&next.step);
        next.readiness == Readiness::Enabled
    }
}
