//! The one place where an explorer is chosen and run.

mod graphs;
mod watch;

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use raddle_memory::Model;
use raddle_outcome::{Coverage, Ends, Executions, Explored, Kind, Nature, Outcome};
use raddle_schedule::explorers::{Bounded, Deepening, Optimal, Parameters, Replay, by_name, names};
use raddle_schedule::{Diverged, Explorer, Extent, Move};

use crate::Options;
use crate::options::Memory;
use crate::progress::Progress;
use crate::rt::{Failure, FailureKind, Place, Program, Stepping, not_the_same};
use graphs::Unsupported;
use watch::{All, Sample, Watches};

/// How many executions the default explorer makes to exhaust a program before it turns to bounds. Most tests have
/// fewer classes. Within bounds, a class may be run more than once, and all of it is run again for the next bound.
const ATTEMPT: u64 = 100_000;

/// The default explores graphs for as many steps as the schedules had, times this. Steps of graphs take about twice the time.
const STEPS_OF_GRAPHS: u64 = 2;

/// How many steps of graphs are always worth making: about two seconds.
const STEPS_OF_GRAPHS_AT_LEAST: u64 = 1_000_000;

/// Which part of the time and of the executions that are allowed that may take.
const PART: u32 = 2;

/// The name of the exploration of execution graphs.
const GRAPHS: &str = "graphs";

/// How many executions are worth making to find a simpler failure than the first one.
const SIMPLER: u64 = 2_000;

/// How long that may take.
const PATIENCE: Duration = Duration::from_secs(10);

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

impl Attempt {
    /// Whether the program has asked for weaker orderings than `SeqCst`.
    fn is_weak(&self) -> bool {
        let assumptions = self.explored.assumptions();
        assumptions.find(Kind::WeakOrdering).is_some()
    }

    /// Says why not everything was explored that weaker orderings allow.
    fn leave_out_weak(&mut self, why: &str) {
        self.explored
            .explain(|kind| (kind == Kind::WeakOrdering).then(|| why.to_owned()));
    }
}

/// Runs a program by the schedules that the explorer of the options chooses, until one fails.
pub(crate) fn explore(program: &mut Program, options: &Options) -> Result<Checked, String> {
    let bound = options.bound;
    let mut run = Run::new(program, options);
    let attempt = match (options.explorer.as_deref(), options.memory) {
        (None | Some(GRAPHS), Some(memory @ (Memory::Ra | Memory::Rc11))) => {
            run.with_graphs(memory.into())?
        }
        (Some(GRAPHS), memory) => run.with_graphs(memory.unwrap_or(Memory::Rc11).into())?,
        (Some(name), Some(memory @ (Memory::Ra | Memory::Rc11))) => {
            return Err(format!(
                "the explorer `{name}` knows sequentially consistent executions only; leave it out, or do without RADDLE_MEMORY={}",
                memory.name()
            ));
        }
        (None, memory) => match bound {
            None => run.by_default(memory.is_none()),
            Some(bound) => run.within_bound(bound, memory.is_none()),
        },
        (Some(name), _) => match by_name(name) {
            Some(entry) => run.with(&entry.make(&Parameters {
                bound,
                seed: options.seed,
                depth: Some(options.depth),
            })),
            None => {
                let names = names(|_| true);
                return Err(format!(
                    "there is no explorer `{name}`; there are {names} and `{GRAPHS}`"
                ));
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

/// One exploration: of a program, watched like this.
type Explore<'a> = dyn FnMut(&mut Program, &Watches<'_, '_>) -> Result<Coverage, Diverged> + 'a;

/// What ends one exploration, beside what ends all.
#[derive(Clone, Copy)]
struct Limits {
    executions: u64,
    /// How many steps they have altogether.
    steps: u64,
    deadline: Option<Instant>,
}

impl Limits {
    const NONE: Self = Self {
        executions: u64::MAX,
        steps: u64::MAX,
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
    /// How many steps they had.
    steps: u64,
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
            steps: 0,
            sample: Sample::default(),
            found: Vec::new(),
        }
    }

    /// Exhausts the program if it has few classes. If not, or if it fails, looks at those with few
    /// preemptions first: for what can be claimed, or for the failure that is easiest to understand. If it asks for weaker orderings than
    /// `SeqCst`, exhausts its graphs too, if those are few and `goes_on_weakly`.
    ///
    /// A program that asks for none has no others: one without data races, all of whose atomics are `SeqCst`, is sequentially consistent. And one whose
    /// graphs are exhausted needs no schedules: they are graphs too.
    fn by_default(&mut self, goes_on_weakly: bool) -> Attempt {
        let mut attempt = self.within(self.part(), self.workers(), &Optimal::default());
        if attempt.failure.is_some() {
            return self.with_few_preemptions(attempt);
        }
        if goes_on_weakly
            && attempt.is_weak()
            && !self.is_over()
            && let Some(graphs) = self.weakly(&mut attempt)
        {
            return graphs;
        }
        // A limit that ended the attempt does not end what comes now. How loops are run is the same for all explorers, and an execution without an end has none within any bound.
        let is_same = |kind: Kind| matches!(kind, Kind::LoopsDisturbed | Kind::Steps);
        let is_limit = |kind: Kind| kind.nature() == Nature::Limit && !is_same(kind);
        let mut assumptions = attempt.explored.assumptions().iter();
        match attempt.explored.extent() {
            Extent::Some if !self.is_over() && assumptions.any(|one| is_limit(one.kind)) => {
                let why = attempt.explored.assumptions().find(Kind::WeakOrdering);
                let why = why.and_then(|weak| weak.detail.clone());
                let mut deepened = self.with(&Deepening::default());
                if let Some(why) = why {
                    deepened.leave_out_weak(&why);
                }
                deepened
            }
            _ => attempt,
        }
    }

    /// The graphs of a program that has passed under sequential consistency, if they are exhausted or one of them fails.
    ///
    /// They may take as much as the schedules, times a constant, or what takes a few seconds at most: whoever has a test that takes a second does not want it to take a
    /// minute. Steps are counted, and not seconds, so that the same test has the same answer on any machine. Where the schedules were not exhausted, the graphs
    /// would not be either: each class of schedules has a graph of its own, but for threads that wait.
    fn weakly(&mut self, attempt: &mut Attempt) -> Option<Attempt> {
        let steps = match attempt.explored.extent() {
            Extent::Some => 0,
            Extent::All | Extent::UpToBound(_) => self.steps.saturating_mul(STEPS_OF_GRAPHS),
        };
        let limits = Limits {
            steps: steps.max(STEPS_OF_GRAPHS_AT_LEAST),
            ..self.part()
        };
        let sample = std::mem::take(&mut self.sample);
        let before = self.ends.count();
        let graphs = self.graphs(Model::Rc11, limits);
        let diverged = |graphs: &Attempt| {
            let failure = graphs.failure.as_ref();
            failure.is_some_and(|failure| failure.kind == FailureKind::Diverged)
        };
        let why = match graphs {
            // In each schedule the program did the same again. It may look at something that Raddle does not see, as the count of an `Arc` of `std`: what it finds there depends on
            // the order in which a run makes the events of a graph, and not on the graph.
            Ok(graphs) if diverged(&graphs) => {
                "the program does something else when it is run from the same graph again".into()
            }
            Ok(graphs) if graphs.failure.is_some() || graphs.explored.is_exhausted() => {
                return Some(graphs);
            }
            Ok(graphs) => match graphs.explored.cut() {
                Some(limit) if limit.kind == Kind::Executions => format!(
                    "only the first {}; RADDLE_MEMORY=rc11 goes on to the end",
                    self.ends.count() - before
                ),
                Some(limit) => limit.kind.message().to_owned(),
                None => "some were left out".into(),
            },
            Err(Unsupported { what, place }) => format!("{what} is not supported there, {place}"),
        };
        self.program.run_from_graphs(None);
        self.sample = sample;
        let why = format!("not all executions under RC11 were run: {why}");
        attempt.leave_out_weak(&why);
        None
    }

    /// The graphs under a model, as far as the limits go.
    fn with_graphs(&mut self, model: Model) -> Result<Attempt, String> {
        if self.options.bound.is_some() {
            return Err(format!(
                "preemptions are not bounded where execution graphs are explored (RADDLE_MEMORY={}): leave out the bound",
                model.name()
            ));
        }
        self.graphs(model, Limits::NONE)
            .map_err(|Unsupported { what, place }| {
                format!(
                    "{what} is not supported under the memory model `{}`: {place}",
                    model.name()
                )
            })
    }

    /// Looks at all executions with few preemptions. If the program asks for weaker orderings than `SeqCst`, looks at its graphs too, if those are few
    /// and `goes_on_weakly`: they have no preemptions that could be bounded.
    fn within_bound(&mut self, bound: u32, goes_on_weakly: bool) -> Attempt {
        let mut attempt = self.with(&Bounded::new(bound));
        if attempt.failure.is_some() {
            return self.with_few_preemptions(attempt);
        }
        if !goes_on_weakly || !attempt.is_weak() || self.is_over() {
            return attempt;
        }
        let graphs = self.weakly(&mut attempt);
        graphs.unwrap_or(attempt)
    }

    /// The failure with the fewest preemptions, if it is found soon, instead of one that was found.
    fn with_few_preemptions(&mut self, found: Attempt) -> Attempt {
        if matches!(&found.failure, Some(failure) if failure.kind == FailureKind::Diverged) {
            return found;
        }
        let first = self.program.schedule();
        let simpler = Limits {
            executions: SIMPLER,
            steps: u64::MAX,
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
        let (ends, steps) = (self.ends, self.steps);
        let again = self.again(schedule);
        (self.ends, self.steps) = (ends, steps);
        again
    }

    /// Runs one schedule.
    fn again(&mut self, schedule: Vec<Move>) -> Attempt {
        self.program.replays(schedule.len());
        // One execution comes to its end, also when the time is over: otherwise a failure would seem to come and go.
        let deadline = self.deadline.take();
        let attempt = match self.program.model() {
            Some(model) => self.graph_again(model, &schedule),
            None => self.within(Limits::NONE, 1, &Replay { schedule }),
        };
        self.deadline = deadline;
        self.program.replays(0);
        attempt
    }

    /// What an attempt may take that others may follow.
    fn part(&self) -> Limits {
        let part = self.options.max_executions;
        let part = part.map(|most| most.saturating_sub(self.ends.count()) / u64::from(PART));
        let now = Instant::now();
        let left = self
            .deadline
            .map(|deadline| deadline.saturating_duration_since(now));
        Limits {
            executions: part.map_or(ATTEMPT, |part| part.clamp(1, ATTEMPT)),
            steps: u64::MAX,
            deadline: left.and_then(|left| now.checked_add(left / PART)),
        }
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
        let options = self.options;
        self.attempt(limits, workers, &mut |program, watches| {
            if workers > 1 {
                let twin = program.twin(options);
                let worker = |_| (twin.program(), watches.watch());
                explorer.clone().explore_in_parallel(workers, worker)
            } else {
                explorer.clone().explore(program, &mut watches.watch())
            }
        })
    }

    /// Explores, and begins again as often as it learns what it should have known from the beginning.
    fn attempt(&mut self, limits: Limits, workers: usize, explore: &mut Explore<'_>) -> Attempt {
        let deadline = [self.deadline, limits.deadline].into_iter().flatten().min();
        let mut steps_before = 0;
        loop {
            let account = self.program.open_account();
            let counts_classes = self.options.count_classes;
            let all = Mutex::new(All::new(&mut self.progress, account, counts_classes));
            let result = explore(
                self.program,
                &Watches {
                    all: &all,
                    options: self.options,
                    deadline,
                    earlier: self.ends.count(),
                    limit: limits.executions,
                    limit_of_steps: limits.steps.saturating_sub(steps_before),
                    left: self.program.left(),
                },
            );
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
                steps_before += all.steps;
                if deadline.is_none_or(|deadline| Instant::now() < deadline) {
                    // What steps there are was not known before: what was done so far counts for nothing.
                    continue;
                }
                // There is no time to begin again. Executions were run, but what was explored is not known.
                all.explored = Explored::default();
                all.settle();
                all.explored.assume(Kind::Time);
                self.ends.absorb(&all.ends);
                self.steps += all.steps;
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
            self.steps += all.steps;
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
