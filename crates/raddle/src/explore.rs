//! The one place where an explorer is chosen and run.

use std::ops::ControlFlow;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use raddle_outcome::{Assumption, Ends, Executions, Explored, Kind, Nature, Outcome};
use raddle_schedule::explorers::{Bounded, Deepening, Optimal, Parameters, Replay, by_name, names};
use raddle_schedule::{
    ClassHash, Clock, Diverged, Explorer, Extent, Move, Omission, Trace, Visitor, class_of,
};

use crate::Options;
use crate::progress::Progress;
use crate::rt::{
    Account, Failure, FailureKind, Knowledge, Left, Place, Program, Record, Stepping, not_the_same,
};

/// How many executions the default explorer makes to exhaust a program before it turns to bounds. Most tests have
/// fewer classes. Within bounds, a class may be run more than once, and all of it is run again for the next bound.
const ATTEMPT: u64 = 100_000;

/// Which part of the time and of the executions that are allowed that may take.
const PART: u32 = 2;

/// How many executions are worth making to find a simpler failure than the first one.
const SIMPLER: u64 = 2_000;

/// How long that may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// For each execution that is allowed, how many may turn out to be infeasible; and how many in any case, since an exploration may begin with many of them.
const INFEASIBLE: u64 = 10;
const INFEASIBLE_AT_LEAST: u64 = 10_000;

/// How many steps are made at the end to see that executions do the same when they are run again.
const MOST_STEPS_AGAIN: usize = 200_000;

/// What came of a check of real code. The program has just made the execution of the first violation.
pub(crate) type Checked = Outcome<Options, Place, Finding, Executions>;

/// A failure that was found.
#[derive(Clone, Debug)]
pub(crate) struct Finding {
    pub(crate) failure: Failure,
    /// The moves that lead to it.
    pub(crate) schedule: Vec<Move>,
    /// How many of the executions failed so. None, if the program only did something else when it was run again.
    pub(crate) executions: u64,
}

/// The failures that were found by going on after the first, and how many executions failed.
pub(crate) fn found_by_going_on(checked: &Checked) -> (Vec<&Finding>, u64) {
    if !checked.asked.keep_going {
        return (Vec::new(), 0);
    }
    let found = checked.violations.iter().filter(|one| one.executions > 0);
    let ends = &checked.statistics.ends;
    (found.collect(), ends.failed + ends.deadlocked)
}

/// Adds failures that differ, and counts those that do not.
fn join(known: &mut Vec<Finding>, others: impl IntoIterator<Item = Finding>) {
    for finding in others {
        let same = |known: &&mut Finding| known.failure.is_like(&finding.failure);
        match known.iter_mut().find(same) {
            Some(known) => known.executions += finding.executions,
            None => known.push(finding),
        }
    }
}

/// What came of one exploration, of those that a check consists of.
#[derive(Debug, Default)]
struct Attempt {
    /// Why it ended, if the execution that the program has just made is wrong.
    failure: Option<Failure>,
    /// What was covered, if nothing failed, and what that rests on.
    explored: Explored<Place>,
    /// The classes that were seen, if they are counted.
    classes: Option<u64>,
}

/// Runs a program by the schedules that the explorer of the options chooses, until one fails.
pub(crate) fn explore(program: &mut Program, options: &Options) -> Result<Checked, String> {
    let bound = options.bound;
    let mut run = Run::new(program, options);
    let attempt = match options.explorer.as_deref() {
        None => match bound {
            None => run.by_default(),
            Some(bound) => run.within_bound(bound),
        },
        Some(name) => match by_name(name) {
            Some(entry) => run.with(&entry.make(&Parameters {
                bound,
                seed: options.seed,
                depth: Some(options.depth),
            })),
            None => {
                let names = names(|_| true);
                return Err(format!("there is no explorer `{name}`; there are {names}"));
            }
        },
    };
    let attempt = run.repeat_some(attempt);
    has_checked_something(run.told(attempt))
}

/// Runs a program by one schedule; where that ends, each thread moves as long as it can.
pub(crate) fn replay(
    program: &mut Program,
    (schedule, stepping): (Vec<Move>, Stepping),
    options: &Options,
) -> Result<Checked, String> {
    program.step_by(&stepping);
    let mut run = Run::new(program, options);
    let attempt = run.again(schedule);
    has_checked_something(run.told(attempt))
}

/// A check in which no execution came to its end says nothing about the program. It must not pass, as it would if no execution had been allowed.
fn has_checked_something(checked: Checked) -> Result<Checked, String> {
    if !checked.violations.is_empty() || checked.statistics.executions > 0 {
        return Ok(checked);
    }
    let limits = checked.explored.assumptions().iter();
    let limits = limits.filter(|one| one.kind.nature() == Nature::Limit);
    let limits: Vec<String> = limits
        .map(|one| match &one.detail {
            Some(detail) => format!("{}: {detail}", one.kind.message()),
            None => one.kind.message().into(),
        })
        .collect();
    Err(format!(
        "no execution came to its end, so nothing was checked ({})",
        limits.join("; ")
    ))
}

/// What ends one exploration, beside what ends all.
#[derive(Clone, Copy)]
struct Limits {
    executions: u64,
    deadline: Option<Instant>,
}

impl Limits {
    const NONE: Self = Self {
        executions: u64::MAX,
        deadline: None,
    };
}

/// A program, and the limits of all that is done with it.
struct Run<'a> {
    program: &'a mut Program,
    options: &'a Options,
    deadline: Option<Instant>,
    started: Instant,
    progress: Progress,
    /// The ends of all executions of explorations that are over.
    ends: Ends,
    /// Some of those of the last one.
    sample: Sample,
    /// What was found, if it goes on after a failure.
    found: Vec<Finding>,
}

impl<'a> Run<'a> {
    fn new(program: &'a mut Program, options: &'a Options) -> Self {
        let started = Instant::now();
        let deadline = options
            .max_duration
            .and_then(|longest| started.checked_add(longest));
        Self {
            program,
            options,
            deadline,
            started,
            progress: Progress::new(),
            ends: Ends::default(),
            sample: Sample::default(),
            found: Vec::new(),
        }
    }

    /// Exhausts the program if it has few classes. If not, or if it fails, looks at those with few
    /// preemptions first: for what can be claimed, or for the failure that is easiest to understand.
    fn by_default(&mut self) -> Attempt {
        let part = self
            .options
            .max_executions
            .map(|most| most / u64::from(PART));
        let attempt = Limits {
            executions: part.map_or(ATTEMPT, |part| part.clamp(1, ATTEMPT)),
            deadline: self
                .options
                .max_duration
                .and_then(|longest| Instant::now().checked_add(longest / PART)),
        };
        let attempt = self.within(attempt, self.workers(), &Optimal::default());
        if attempt.failure.is_some() {
            return self.with_few_preemptions(attempt);
        }
        // A limit that ended the attempt does not end what comes now. How loops are run is the same for all explorers, and an execution without an end has none within any bound.
        let is_same = |kind: Kind| matches!(kind, Kind::LoopsDisturbed | Kind::Steps);
        let is_limit = |kind: Kind| kind.nature() == Nature::Limit && !is_same(kind);
        let mut assumptions = attempt.explored.assumptions().iter();
        match attempt.explored.extent() {
            Extent::Some if !self.is_over() && assumptions.any(|one| is_limit(one.kind)) => {
                self.with(&Deepening::default())
            }
            _ => attempt,
        }
    }

    /// Looks at all executions with few preemptions.
    fn within_bound(&mut self, bound: u32) -> Attempt {
        let attempt = self.with(&Bounded::new(bound));
        if attempt.failure.is_some() {
            return self.with_few_preemptions(attempt);
        }
        attempt
    }

    /// The failure with the fewest preemptions, if it is found soon, instead of one that was found.
    fn with_few_preemptions(&mut self, found: Attempt) -> Attempt {
        if matches!(&found.failure, Some(failure) if failure.kind == FailureKind::Diverged) {
            return found;
        }
        let first = self.program.schedule();
        let simpler = Limits {
            executions: SIMPLER,
            deadline: Some(Instant::now() + PATIENCE),
        };
        let simpler = self.within(simpler, self.workers(), &Deepening::default());
        if simpler.failure.is_some() {
            return simpler;
        }
        let again = self.uncounted(first);
        match (again.failure, found.failure) {
            (None, Some(failure)) => {
                let failure = not_the_same(&Diverged {
                    expected: format!("the execution failed ({})", failure.message),
                    found: "it does not".into(),
                });
                self.program.fail(&failure);
                Attempt {
                    failure: Some(failure),
                    ..found
                }
            }
            // What was explored was explored before.
            (failure, _) => Attempt { failure, ..found },
        }
    }

    /// Runs some of the executions once more that were run, to see that they do the same: see `rt/deeds.rs`. They do not
    /// count.
    fn repeat_some(&mut self, mut attempt: Attempt) -> Attempt {
        let Sample { records, .. } = std::mem::take(&mut self.sample);
        let is_the_only_one = records.len() == 1 && self.ends.count() == 1;
        let are_run = self.options.reruns_of_one || !is_the_only_one;
        if attempt.failure.is_some() || records.is_empty() || !are_run {
            return attempt;
        }
        let reruns = self.options.reruns as usize;
        let mut steps = 0;
        for (number, record) in records.iter().cycle().take(reruns).enumerate() {
            steps += record.steps();
            let is_late = |deadline| Instant::now() >= deadline;
            if number > 0 && (steps > MOST_STEPS_AGAIN || self.deadline.is_some_and(is_late)) {
                break;
            }
            if let Err(failure) = self.program.repeat(record) {
                self.program.fail(&failure);
                attempt.failure = Some(failure);
                break;
            }
        }
        attempt
    }

    /// What came of all, the last exploration being this one. The program has then made the execution of the first violation.
    fn told(&mut self, attempt: Attempt) -> Checked {
        let mut violations = std::mem::take(&mut self.found);
        if let Some(failure) = attempt.failure {
            let found = violations
                .iter()
                .position(|one| one.failure.is_like(&failure));
            let told = match found {
                Some(position) => violations.remove(position),
                None => Finding {
                    executions: u64::from(failure.kind != FailureKind::Diverged),
                    failure,
                    schedule: self.program.schedule(),
                },
            };
            violations.insert(0, told);
        } else if let Some(first) = violations.first() {
            self.uncounted(first.schedule.clone());
        }
        let mut explored = attempt.explored;
        explored.ended(&self.ends);
        Checked {
            asked: self.options.clone(),
            explored,
            violations,
            statistics: Executions {
                executions: self.ends.count(),
                classes: attempt.classes,
                ends: self.ends,
                elapsed: self.started.elapsed(),
                ..Executions::default()
            },
            noticed: (),
        }
    }

    /// Runs one schedule that was run before.
    fn uncounted(&mut self, schedule: Vec<Move>) -> Attempt {
        let ends = self.ends;
        let again = self.again(schedule);
        self.ends = ends;
        again
    }

    /// Runs one schedule.
    fn again(&mut self, schedule: Vec<Move>) -> Attempt {
        self.program.replays(schedule.len());
        // One execution comes to its end, also when the time is over: otherwise a failure would seem to come and go.
        let deadline = self.deadline.take();
        let attempt = self.within(Limits::NONE, 1, &Replay { schedule });
        self.deadline = deadline;
        self.program.replays(0);
        attempt
    }

    fn is_over(&self) -> bool {
        let enough = |most| self.ends.count() >= most;
        self.options.max_executions.is_some_and(enough)
            || self
                .deadline
                .is_some_and(|deadline| Instant::now() >= deadline)
    }

    fn workers(&self) -> usize {
        match self.options.workers {
            0 => std::thread::available_parallelism().map_or(1, usize::from),
            workers => workers,
        }
    }

    fn with<E: Explorer + Clone + Sync>(&mut self, explorer: &E) -> Attempt {
        self.within(Limits::NONE, self.workers(), explorer)
    }

    fn within<E: Explorer + Clone + Sync>(
        &mut self,
        limits: Limits,
        workers: usize,
        explorer: &E,
    ) -> Attempt {
        let deadline = [self.deadline, limits.deadline].into_iter().flatten().min();
        loop {
            let account = self.program.open_account();
            let all = Mutex::new(All {
                progress: &mut self.progress,
                ends: Ends::default(),
                attempts: 0,
                found: Vec::new(),
                classes: self.options.count_classes.then(Default::default),
                failure: None,
                explored: Explored::default(),
                account,
                learned: None,
                sample: Sample::default(),
            });
            let left = self.program.left();
            let watch = || Watch {
                all: &all,
                options: self.options,
                deadline,
                earlier: self.ends.count(),
                limit: limits.executions,
                clock: Clock::default(),
                wants_estimate: false,
                left: left.clone(),
            };
            let result = if workers > 1 {
                let twin = self.program.twin(self.options);
                let worker = |_| (twin.program(), watch());
                explorer.clone().explore_in_parallel(workers, worker)
            } else {
                explorer.clone().explore(self.program, &mut watch())
            };
            let mut all = all.into_inner().unwrap_or_else(PoisonError::into_inner);
            all.settle();
            // Executions that were given up may have shown something too.
            let mut is_late = false;
            let mut learns = || {
                let learned = self.program.learned(&mut || {
                    is_late |= deadline.is_some_and(|deadline| Instant::now() >= deadline);
                    !is_late
                });
                learned.then(|| self.program.knowledge())
            };
            if all.failure.is_none()
                && let Some(knowledge) = all.learned.take().or_else(&mut learns)
            {
                self.program.know(knowledge);
                if deadline.is_none_or(|deadline| Instant::now() < deadline) {
                    // What steps there are was not known before: what was done so far counts for nothing.
                    continue;
                }
                // There is no time to begin again. Executions were run, but what was explored is not known.
                all.explored = Explored::default();
                all.settle();
                all.explored.assume(Kind::Time);
                self.ends.absorb(&all.ends);
                self.sample = Sample::default();
                join(&mut self.found, all.found);
                return Attempt {
                    explored: all.explored,
                    ..Attempt::default()
                };
            }
            if is_late {
                // A scout that was wanted has not been sent.
                all.explored.assume(Kind::Time);
            }
            self.ends.absorb(&all.ends);
            self.sample = all.sample;
            join(&mut self.found, all.found);
            let mut attempt = Attempt {
                failure: None,
                explored: all.explored,
                classes: all.classes.map(|classes| classes.len() as u64),
            };
            if let Some((failure, schedule)) = all.failure {
                attempt.failure = Some(failure);
                if workers > 1 {
                    // It was another program that failed; this one has to tell.
                    let again = self.uncounted(schedule);
                    attempt.failure = again.failure.or(attempt.failure);
                }
                return attempt;
            }
            match result {
                Ok(coverage) => attempt.explored.covered(coverage),
                Err(diverged) => {
                    let failure = not_the_same(&diverged);
                    self.program.fail(&failure);
                    attempt.failure = Some(failure);
                }
            }
            return attempt;
        }
    }
}

/// What all workers of an exploration have seen.
struct All<'a> {
    progress: &'a mut Progress,
    ends: Ends,
    /// How many executions there were, with those that turned out to be infeasible.
    attempts: u64,
    found: Vec<Finding>,
    classes: Option<std::collections::HashSet<ClassHash>>,
    /// The first failure, and its schedule.
    failure: Option<(Failure, Vec<Move>)>,
    /// The bounds that were finished, and what was left out.
    explored: Explored<Place>,
    /// What the programs of the workers have left out.
    account: Account,
    /// What was learned by an execution after which the exploration has to begin again.
    learned: Option<Knowledge>,
    sample: Sample,
}

impl All<'_> {
    /// Takes over what the programs have noted so far.
    fn settle(&mut self) {
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
struct Sample {
    records: Vec<Record>,
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

/// Counts the executions of a worker, and ends the exploration at a failure or a limit.
struct Watch<'a, 'p> {
    all: &'a Mutex<All<'p>>,
    options: &'a Options,
    deadline: Option<Instant>,
    /// The executions before this exploration.
    earlier: u64,
    /// The most executions of this exploration.
    limit: u64,
    clock: Clock,
    /// Whether time has gone by since the last estimate. There is none if several workers have a part each.
    wants_estimate: bool,
    /// What executions have left behind.
    left: Left,
}

impl<'p> Watch<'_, 'p> {
    fn all(&self) -> MutexGuard<'_, All<'p>> {
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
        is_reached(self.limit, 0) || most.is_some_and(|most| is_reached(most, self.earlier))
    }
}

impl Visitor<Program> for Watch<'_, '_> {
    fn ended(&mut self, program: &mut Program, trace: &Trace) -> ControlFlow<()> {
        let class = self.options.count_classes.then(|| class_of(trace));
        let failure = program.finish();
        let is_infeasible = program.is_infeasible();
        // A failure that ends the check is one whatever scouts would find.
        let ends_check = failure.is_some() && !self.options.keep_going;
        let learned = !ends_check && program.learned(&mut || self.pulse().is_continue());
        let mut all = self.all();
        let is_late = self.are_enough(&all) && failure.is_none();
        if all.failure.is_some() || all.learned.is_some() || is_late {
            // Another worker was first.
            return ControlFlow::Break(());
        }
        all.attempts += 1;
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
        if failure.is_none() && !learned {
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

    fn pulse(&mut self) -> ControlFlow<()> {
        let Some(now) = self.clock.tick() else {
            return ControlFlow::Continue(());
        };
        let mut all = self.all();
        let executions = self.earlier + all.ends.count();
        let classes = all.classes.as_ref().map(std::collections::HashSet::len);
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
