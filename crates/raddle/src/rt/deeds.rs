//! What executions do: to notice one that does not do what another did by the same moves, and to do it again.
//!
//! An explorer claims something about executions that it has not run, because it knows what they would do. That is true
//! only if the program is *determined*: the same moves give the same steps. Something that Raddle does not control may
//! decide what the program does: the hasher of a `HashMap`, the time, an address, random numbers, a static of the standard
//! library that survives an execution. Then no claim holds, and the check has to fail.
//!
//! So an execution is compared with the one before it, step by step, for as long as both make the same moves: what
//! each step gives, and which operation its thread announces next, with its place, its objects and its values. An
//! explorer that goes back to a state runs the moves to it again, so that all steps but those at the end of executions are
//! compared at least once; and at the end of an exploration a sample of whole executions is run again ([`Record`]).
//!
//! What may differ:
//!
//! - *Values that may be addresses.* A program may keep pointers in atomics, and what is allocated where is not the same in each
//!   execution. That is no difference as long as it does the same with them; so two values that are both as large as
//!   addresses are taken to be the same. Whether a compare-exchange succeeds is compared nevertheless.
//! - *How a lock is left*, and the version that its value has because of that: see `polling`. It says how threads that
//!   poll are run, and not what the program does.
//!
//! Not everything can be noticed: what decides only about data that no operation shows, or decides otherwise once in a million
//! executions, may be missed.

use raddle_schedule::{Diverged, Execution as _, LocationId, Move, Observed, Readiness, ThreadId};

use super::Place;
use super::failure::{Failure, FailureKind, Remark};
use super::graph::Scripted;
use super::objects::Kind;
use super::operation::Operation;
use super::program::Program;
use super::state::{Made, State};
use super::thread::Announced;

/// No address is below this.
pub(crate) const LEAST_ADDRESS: u64 = 1 << 20;

/// A move, what it gave, and what its thread announced after it.
#[derive(Clone, Copy, Debug)]
struct Deed {
    made: Move,
    /// The step that it has read from, where executions are graphs.
    from: Option<usize>,
    result: u64,
    /// Whether it is no compare-exchange that failed.
    succeeded: bool,
    next: Option<(Operation, Place)>,
}

/// What a whole execution did.
#[derive(Clone, Debug)]
pub(crate) struct Record {
    deeds: Vec<Deed>,
    /// Where executions are graphs: how to do it again.
    script: Vec<Scripted>,
}

impl Record {
    /// How many steps it made.
    pub(crate) fn steps(&self) -> usize {
        self.deeds.len()
    }
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

    /// This execution is no longer to do what another one did.
    pub(super) fn follow_nobody(&mut self) {
        self.follows = false;
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
    #[inline]
    pub(super) fn next_in_script(&self) -> Option<Move> {
        self.script.get(self.followed).copied()
    }

    /// A thread was to move that cannot.
    pub(super) fn cannot_move(&mut self, thread: ThreadId, next: Option<(Operation, Place)>) {
        let thread = match thread {
            ThreadId::MAIN => "main".into(),
            ThreadId(number) => format!("thread {number}"),
        };
        let found = match next {
            Some((operation, place)) => {
                format!("it waits: {thread} {} at {place}", operation.verb())
            }
            None => "it has nothing to do".into(),
        };
        self.diverged = Some(Diverged {
            expected: format!("{thread} could go on"),
            found,
        });
    }

    /// Whether the thread could move that was to.
    #[inline]
    pub(super) fn was_possible(&mut self) -> Result<(), Diverged> {
        self.diverged.take().map_or(Ok(()), Err)
    }

    /// That move is being made.
    #[inline]
    pub(super) fn follow(&mut self) {
        self.followed += 1;
    }

    /// The last of those moves that was made.
    #[inline]
    pub(super) fn last_in_script(&self) -> Option<Move> {
        self.script.get(self.followed.checked_sub(1)?).copied()
    }

    /// Compares a step with the one that another execution made instead. Returns that one if it is not the same.
    #[inline]
    fn compare(
        &mut self,
        made: (Move, Option<usize>),
        step: &Made,
        next: Option<&Announced>,
        failed: bool,
    ) -> Option<Deed> {
        let (made, from) = made;
        let index = self.done;
        self.done += 1;
        let deed = || Deed {
            made,
            from,
            result: step.result,
            succeeded: succeeds(step),
            next: next.map(|next| (next.operation, next.place)),
        };
        if self.follows
            && !failed
            && let Some(earlier) = self.deeds.get_mut(index)
            && (earlier.made, earlier.from) == (made, from)
        {
            if earlier.gives_the_same(step) && earlier.is_before(next) {
                return None;
            }
            return Some(std::mem::replace(earlier, deed()));
        }
        self.follows = false;
        self.deeds.truncate(index);
        self.deeds.push(deed());
        None
    }
}

/// Whether a step is no compare-exchange that failed.
#[inline]
fn succeeds(step: &Made) -> bool {
    match step.operation {
        Operation::CompareExchange { expected, .. } => step.result == expected,
        _ => true,
    }
}

/// Whether two values are the same, as far as the program decides: two addresses may differ.
#[inline]
fn is_same_value(one: u64, other: u64) -> bool {
    one == other || one >= LEAST_ADDRESS && other >= LEAST_ADDRESS
}

fn is_same_operation(one: &Operation, other: &Operation) -> bool {
    use Operation::{CompareExchange, Store, Unlock, Update, WriteUnlock};
    if one == other {
        return true;
    }
    match (*one, *other) {
        (
            Store { at, value, order },
            Store {
                at: at2,
                value: value2,
                order: order2,
            },
        ) => at == at2 && order == order2 && is_same_value(value, value2),
        (
            Update {
                at,
                update,
                operand,
                order,
            },
            Update {
                at: at2,
                update: update2,
                operand: operand2,
                order: order2,
            },
        ) => (at, update, order) == (at2, update2, order2) && is_same_value(operand, operand2),
        (
            CompareExchange {
                at,
                expected,
                new,
                success,
                failure,
            },
            CompareExchange {
                at: at2,
                expected: expected2,
                new: new2,
                success: success2,
                failure: failure2,
            },
        ) => {
            (at, success, failure) == (at2, success2, failure2)
                && is_same_value(expected, expected2)
                && is_same_value(new, new2)
        }
        (Unlock { mutex, .. }, Unlock { mutex: mutex2, .. }) => mutex == mutex2,
        (WriteUnlock { lock, .. }, WriteUnlock { lock: lock2, .. }) => lock == lock2,
        _ => false,
    }
}

impl Deed {
    /// Whether a step gives what this one gave.
    #[inline]
    fn gives_the_same(&self, step: &Made) -> bool {
        self.succeeded == succeeds(step) && is_same_value(self.result, step.result)
    }

    /// Whether this is what the thread announces after it.
    #[inline]
    fn is_before(&self, next: Option<&Announced>) -> bool {
        match (&self.next, next) {
            (Some((operation, place)), Some(next)) => {
                is_same_operation(operation, &next.operation)
                    && (std::ptr::eq(*place, next.place) || *place == next.place)
            }
            (None, None) => true,
            _ => false,
        }
    }
}

impl State {
    /// Compares the step that was just made with the one of another execution after the same moves, and also what its
    /// thread announces next.
    #[inline]
    pub(super) fn compare(&mut self, made: Move) -> Result<(), Diverged> {
        self.deeds.was_possible()?;
        let Some(step) = self.made.get(self.deeds.done) else {
            return Ok(());
        };
        let next = self.threads[made.thread.index()].next();
        let failed = self.failure.is_some();
        let from = self.graph.as_ref().and_then(|graph| {
            let link = graph.link(self.deeds.done)?;
            link.from
        });
        match self.deeds.compare((made, from), step, next, failed) {
            None => Ok(()),
            Some(before) => self.tell_apart(made, &before),
        }
    }

    /// The step that was just made, or what its thread announces next, is not that of another execution after the same moves.
    /// Some differences do not matter.
    #[cold]
    fn tell_apart(&self, made: Move, before: &Deed) -> Result<(), Diverged> {
        let step = &self.made[self.deeds.done - 1];
        if !before.gives_the_same(step) && !self.gives_version(step) {
            let earlier = Made {
                result: before.result,
                ..*step
            };
            let (mut expected, mut found) = (self.tell(&earlier), self.tell(step));
            if expected == found {
                // What is told of it does not say what came of it.
                expected.push_str(&format!(" (with the result {})", earlier.result));
                found.push_str(&format!(" (with the result {})", step.result));
            }
            return Err(Diverged { expected, found });
        }
        let next = self.thread(made.thread).next();
        if !before.is_before(next) {
            let next = next.map(|next| (next.operation, next.place));
            return Err(Diverged {
                expected: self.tell_next(step, before.next),
                found: self.tell_next(step, next),
            });
        }
        Ok(())
    }

    /// Whether a step gives the value of a lock, with its version.
    fn gives_version(&self, step: &Made) -> bool {
        let is_lock = |at: LocationId| matches!(self.objects.kind(at), Kind::Mutex | Kind::RwLock);
        match step.operation {
            Operation::Load { at, .. } | Operation::Update { at, .. } => is_lock(at),
            _ => false,
        }
    }

    /// A step in words, with its place.
    fn tell(&self, step: &Made) -> String {
        let thread = self.name_of(step.thread);
        format!("{thread} {} at {}", self.action(step), step.place)
    }

    /// What a thread does after a step, in words.
    fn tell_next(&self, step: &Made, next: Option<(Operation, Place)>) -> String {
        let thread = self.name_of(step.thread);
        match next {
            None => format!("{thread} has ended"),
            Some((operation, place)) => {
                format!("{thread} {} at {place}", self.plan(step.thread, operation))
            }
        }
    }
}

impl Program {
    /// What this execution did.
    pub(crate) fn record(&self) -> Record {
        let state = self.runtime.state.borrow();
        Record {
            deeds: state.deeds.deeds[..state.deeds.done].to_vec(),
            script: state.script(),
        }
    }

    /// Runs an execution again.
    ///
    /// # Errors
    ///
    /// If it does something else.
    pub(crate) fn repeat(&mut self, record: &Record) -> Result<(), Failure> {
        self.restart();
        {
            let deeds = &mut self.runtime.state.borrow_mut().deeds;
            deeds.deeds.clone_from(&record.deeds);
            deeds.follows = true;
        }
        let mut step = Observed::default();
        if !record.script.is_empty() {
            let made = self.make_script_again(&record.script);
            made.map_err(|diverged| not_the_same(&diverged))?;
            return self.is_still_right();
        }
        for deed in &record.deeds {
            let thread = deed.made.thread;
            if !self.threads().contains(&thread) || self.readiness(thread) != Readiness::Enabled {
                let name = self.runtime.state.borrow().name_of(thread);
                return Err(not_the_same(&Diverged {
                    expected: format!("{name} could go on"),
                    found: self
                        .failure()
                        .map_or_else(|| format!("{name} cannot"), |failure| failure.message),
                }));
            }
            let made = self.step(deed.made, &mut step);
            made.map_err(|diverged| not_the_same(&diverged))?;
        }
        self.is_still_right()
    }

    /// Ends an execution that was made again and had not failed.
    fn is_still_right(&mut self) -> Result<(), Failure> {
        match self.finish() {
            Some(failure) => Err(not_the_same(&Diverged {
                expected: "the execution did not fail".into(),
                found: failure.message,
            })),
            None => Ok(()),
        }
    }
}

/// What to say of a program that is not determined.
pub(crate) fn not_the_same(diverged: &Diverged) -> Failure {
    Failure::new(FailureKind::Diverged, format!(
            "not the same when it is run again: first {}, now {}",
            diverged.expected, diverged.found
        ), vec![Remark {
            text: "something decides what the closure does that Raddle does not control, so nothing can be claimed about \
                   schedules that were not run. It may be the order of a `HashMap` or `HashSet` (use a `BTreeMap`, or a \
                   fixed hasher), time, random numbers, an address that is used as a number, or a static of `std` that \
                   keeps its value from one execution to the next (use those of `raddle::sync`); what may vary is \
                   `raddle::choose`"
                .into(),
            ..Remark::default()
        }])
}

impl State {
    /// Makes what the current thread has just announced, if that is the next move of those that are made again. Returns
    /// whether the thread is to run on: nobody else has to move before.
    pub(super) fn runs_on(&mut self) -> bool {
        let Some(next) = self.deeds.next_in_script() else {
            return false;
        };
        if next.thread != self.current {
            return false;
        }
        if let Some(last) = self.deeds.last_in_script() {
            self.check_progress_again(last.thread);
            if let Err(diverged) = self.compare(last) {
                self.deeds.diverged = Some(diverged);
                return false;
            }
        }
        self.deeds.follow();
        let mut step = std::mem::take(&mut self.made_again);
        let runs_on = self.make(next.thread, next.choice, &mut step);
        // What was there in between owns nothing.
        std::mem::forget(std::mem::replace(&mut self.made_again, step));
        runs_on
    }
}
