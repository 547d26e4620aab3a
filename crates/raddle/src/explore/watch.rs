//! What becomes of the executions of an exploration: [`Watch`] counts them, and ends the exploration at a failure or a limit.

use std::collections::HashSet;
use std::ops::ControlFlow;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use raddle_outcome::{Assumption, Ends, Explored, Kind};
use raddle_schedule::{ClassHash, Clock, Move, Omission, Trace, Visitor, class_of};

use super::{Finding, MOST_STEPS_AGAIN, join};
use crate::Options;
use crate::progress::Progress;
use crate::rt::{Account, Failure, FailureKind, Knowledge, Left, Place, Program, Record};

/// For each execution that is allowed, how many may turn out to be infeasible; and how many in any case, since an exploration may begin with many of them.
const INFEASIBLE: u64 = 10;
const INFEASIBLE_AT_LEAST: u64 = 10_000;

/// What all workers of an exploration have seen.
pub(super) struct All<'a> {
    pub(super) progress: &'a mut Progress,
    pub(super) ends: Ends,
    /// How many executions there were, with those that turned out to be infeasible.
    attempts: u64,
    /// How many steps they made.
    pub(super) steps: u64,
    pub(super) found: Vec<Finding>,
    pub(super) classes: Option<HashSet<ClassHash>>,
    /// The first failure, and its schedule.
    pub(super) failure: Option<(Failure, Vec<Move>)>,
    /// The bounds that were finished, and what was left out.
    pub(super) explored: Explored<Place>,
    /// What the programs of the workers have left out.
    account: Account,
    /// What was learned by an execution after which the exploration has to begin again.
    pub(super) learned: Option<Knowledge>,
    pub(super) sample: Sample,
}

impl<'a> All<'a> {
    /// Nothing yet.
    pub(super) fn new(progress: &'a mut Progress, account: Account, counts_classes: bool) -> Self {
        Self {
            progress,
            ends: Ends::default(),
            attempts: 0,
            steps: 0,
            found: Vec::new(),
            classes: counts_classes.then(Default::default),
            failure: None,
            explored: Explored::default(),
            account,
            learned: None,
            sample: Sample::default(),
        }
    }

    /// Takes over what the programs have noted so far.
    pub(super) fn settle(&mut self) {
        for assumption in &self.account.assumptions() {
            self.explored.assume(assumption.clone());
        }
    }

    /// That there were enough executions, and how many did not count for that.
    fn limit_of_executions(&self) -> Assumption<Place> {
        let limit = Assumption::from(Kind::Executions);
        match self.attempts - self.ends.count() {
            0 => limit,
            others => limit.because(format!(
                "{others} others were infeasible, because a wait that was chosen not to time out never ended"
            )),
        }
    }
}

/// Some of the executions of an exploration: the first, and others of which each is as likely to be here.
#[derive(Default)]
pub(super) struct Sample {
    pub(super) records: Vec<Record>,
    /// How many executions there were.
    seen: u64,
    /// The last number of a pseudo-random sequence.
    random: u64,
}

impl Sample {
    /// An execution has ended. It is kept in the place of another one, or not at all, if there are enough of them.
    fn add(&mut self, program: &Program, most: usize) {
        self.seen += 1;
        if self.records.len() < most.min(1) {
            self.records.push(program.record());
            return;
        }
        if most == 0 || program.steps() > MOST_STEPS_AGAIN / most {
            // There would be no time to run several of them again, and no room to keep them.
            return;
        }
        if self.records.len() < most {
            self.records.push(program.record());
            return;
        }
        // SplitMix64.
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut random = self.random;
        random = (random ^ (random >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        random = (random ^ (random >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        let place = ((random ^ (random >> 31)) % self.seen) as usize;
        if (1..most).contains(&place) {
            self.records[place] = program.record();
        }
    }
}

/// What the watches of all workers of an exploration are made of.
pub(super) struct Watches<'a, 'p> {
    pub(super) all: &'a Mutex<All<'p>>,
    pub(super) options: &'a Options,
    pub(super) deadline: Option<Instant>,
    pub(super) earlier: u64,
    pub(super) limit: u64,
    pub(super) limit_of_steps: u64,
    pub(super) left: Left,
}

impl<'a, 'p> Watches<'a, 'p> {
    /// One for another worker.
    pub(super) fn watch(&self) -> Watch<'a, 'p> {
        Watch {
            all: self.all,
            options: self.options,
            deadline: self.deadline,
            earlier: self.earlier,
            limit: self.limit,
            limit_of_steps: self.limit_of_steps,
            clock: Clock::default(),
            wants_estimate: false,
            left: self.left.clone(),
        }
    }
}

/// Counts the executions of a worker, and ends the exploration at a failure or a limit.
pub(super) struct Watch<'a, 'p> {
    all: &'a Mutex<All<'p>>,
    options: &'a Options,
    deadline: Option<Instant>,
    /// The executions before this exploration.
    earlier: u64,
    /// The most executions of this exploration.
    limit: u64,
    /// How many steps those have at most, but for the last one.
    limit_of_steps: u64,
    clock: Clock,
    /// Whether time has gone by since the last estimate. There is none if several workers have a part each.
    wants_estimate: bool,
    /// What executions have left behind.
    left: Left,
}

/// How an execution has ended.
pub(super) struct Ended {
    pub(super) failure: Option<Failure>,
    /// It turned out to be none.
    pub(super) is_infeasible: bool,
    /// Its class, if classes are counted.
    pub(super) class: Option<ClassHash>,
    /// Whether it may be run again at the end, to see that it does the same.
    pub(super) is_sampled: bool,
}

impl<'p> Watch<'_, 'p> {
    pub(super) fn all(&self) -> MutexGuard<'_, All<'p>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether there were as many executions as are wanted, or too many that were none.
    fn are_enough(&self, all: &All<'_>) -> bool {
        let executions = all.ends.count();
        let is_reached = |most: u64, earlier: u64| {
            let attempts = most.saturating_mul(INFEASIBLE).max(INFEASIBLE_AT_LEAST);
            earlier + executions >= most || all.attempts >= attempts
        };
        let most = self.options.max_executions;
        let are_long = all.steps >= self.limit_of_steps;
        are_long
            || is_reached(self.limit, 0)
            || most.is_some_and(|most| is_reached(most, self.earlier))
    }
}

impl Watch<'_, '_> {
    /// Takes note of an execution.
    pub(super) fn note(&mut self, program: &mut Program, ended: Ended) -> ControlFlow<()> {
        let Ended {
            failure,
            is_infeasible,
            class,
            is_sampled,
        } = ended;
        // A failure that ends the check is one whatever scouts would find. But that threads spin for ever is said of a graph because of what is known of their loops.
        let rests_on_loops =
            |failure: &Failure| failure.kind == FailureKind::LiveLock && program.model().is_some();
        let ends_check = !self.options.keep_going
            && (failure.as_ref()).is_some_and(|failure| !rests_on_loops(failure));
        let learned = !ends_check && program.learned(&mut || self.look_around().is_continue());
        // Everything begins again then.
        let failure = failure.filter(|_| !learned);
        let mut all = self.all();
        let is_late = self.are_enough(&all) && failure.is_none();
        if all.failure.is_some() || all.learned.is_some() || is_late {
            // Another worker was first.
            return ControlFlow::Break(());
        }
        all.attempts += 1;
        all.steps += program.steps() as u64;
        match (&failure, program.is_cut_at()) {
            _ if is_infeasible => {}
            (Some(failure), _) => match failure.kind {
                FailureKind::Deadlock | FailureKind::SelfDeadlock => all.ends.deadlocked += 1,
                FailureKind::TooManySteps => {
                    all.ends.failed += 1;
                    // The threads that could have moved then have not been asked what they would do.
                    all.explored.assume(Kind::Steps);
                }
                _ => all.ends.failed += 1,
            },
            (None, Some(place)) => {
                all.ends.cut += 1;
                all.explored.assume(Kind::Assume.at(place));
            }
            (None, None) => all.ends.terminated += 1,
        }
        if let (Some(classes), Some(class), false) = (&mut all.classes, class, is_infeasible) {
            classes.insert(class);
        }
        if is_sampled && failure.is_none() && !learned {
            all.sample.add(program, self.options.reruns as usize);
        }
        if failure.is_some() && self.options.keep_going {
            let schedule = program.schedule();
            let failures = program.failures().into_iter();
            let findings = failures.map(|(failure, steps)| Finding {
                failure,
                schedule: schedule[..steps.min(schedule.len())].to_vec(),
                executions: 1,
            });
            join(&mut all.found, findings);
        }
        if let Some(failure) = failure
            && !self.options.keep_going
        {
            all.failure = Some((failure, program.schedule()));
            ControlFlow::Break(())
        } else if learned {
            all.learned = Some(program.knowledge());
            ControlFlow::Break(())
        } else if self.are_enough(&all) {
            let limit = all.limit_of_executions();
            all.explored.assume(limit);
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    }

    /// Shows how far it has come, and looks whether time or memory are over.
    pub(super) fn look_around(&mut self) -> ControlFlow<()> {
        let Some(now) = self.clock.tick() else {
            return ControlFlow::Continue(());
        };
        let mut all = self.all();
        let executions = self.earlier + all.ends.count();
        let classes = all.classes.as_ref().map(HashSet::len);
        all.progress.show(now, executions, classes);
        drop(all);
        self.wants_estimate = self.options.workers == 1;
        if let Some(threads) = self.left.too_many() {
            let left = format!(
                "{threads} threads of executions that came to no end are left there; threads that loop without an end in \
                 sight should call `yield_now` or `spin_loop`"
            );
            let memory = Assumption::from(Kind::Memory);
            self.all().explored.assume(memory.because(left));
            return ControlFlow::Break(());
        }
        match self.deadline {
            Some(deadline) if now >= deadline => {
                self.all().explored.assume(Kind::Time);
                ControlFlow::Break(())
            }
            _ => ControlFlow::Continue(()),
        }
    }
}

impl Visitor<Program> for Watch<'_, '_> {
    fn ended(&mut self, program: &mut Program, trace: &Trace) -> ControlFlow<()> {
        let class = self.options.count_classes.then(|| class_of(trace));
        let failure = program.finish();
        let is_infeasible = program.is_infeasible();
        self.note(
            program,
            Ended {
                failure,
                is_infeasible,
                class,
                is_sampled: true,
            },
        )
    }

    fn pulse(&mut self) -> ControlFlow<()> {
        self.look_around()
    }

    fn estimate(&mut self, done: &dyn Fn() -> f64) {
        if std::mem::take(&mut self.wants_estimate) {
            self.all().progress.done(done());
        }
    }

    fn left_out(&mut self, program: &mut Program, omission: Omission) {
        let step = omission.step;
        self.all().explored.assume(Assumption {
            kind: omission.kind,
            place: step.and_then(|(thread, number)| program.place_of(thread, number)),
            detail: match omission.kind {
                Kind::Remembered => {
                    Some("RADDLE_EXPLORER=bounded and =optimal remember none".into())
                }
                _ => None,
            },
        });
    }

    fn bound_reached(&mut self, bound: u32) -> ControlFlow<()> {
        let mut all = self.all();
        // A bound is not finished if a program has left out something.
        all.settle();
        all.explored.bound_reached(bound);
        all.progress.bound_reached(bound);
        ControlFlow::Continue(())
    }
}
