//! Running the searches that a strategy consists of.

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use raddle_explore::lock_order::Deadlocks;
use raddle_explore::reductions::auto::{self, Attempt, Plan};
use raddle_explore::reductions::trial::{self, Trial};
use raddle_explore::{
    Outcome, Place, Property, PropertySet, Reduction, Search, System, Violation, not_preserved,
    replay, run_in_turn,
};
use raddle_machine::narrate::Narrator;
use raddle_machine::{Machine, Program, Symmetry};
use raddle_outcome::{Explored, Kind, Verdict};
use raddle_report::answer::Answer;
use raddle_report::json::ViolationKind;
use raddle_report::story::{Spot, Story};

use super::counts_visited;
use super::findings::Findings;
use super::strategy::Strategy;
use crate::args::{Check, MachineArg, SymmetryArg, goals_wanted, properties};
use crate::native::{Compiled, Executor};
use crate::progress::ProgressLine;
use crate::terminal::Terminal;
use crate::{interrupt, memory, native, reduction, tell};

/// The searches of a check.
pub(super) struct Searched {
    /// The searches, in their order.
    pub(super) runs: Vec<Outcome>,
    /// What executed the steps of each.
    pub(super) machines: Vec<String>,
    /// The names of the threads that were interchangeable, in groups, if that was made use of.
    pub(super) symmetry: Vec<Vec<String>>,
    /// The position of the one that has decided.
    pub(super) decisive: usize,
    pub(super) strategy: Strategy,
    /// What became of deadlocks, if the first search does not preserve them.
    pub(super) deadlocks: Option<DeadlockAnswer>,
}

/// What is known about deadlocks after a search that does not preserve them.
pub(super) enum DeadlockAnswer {
    /// There are none, by the order of locks.
    Excluded,
    /// There may be one. In what follows, it was looked for if that was planned.
    Possible(Deadlocks),
    /// The first search did not come to its end, for this reason.
    NotLookedFor(&'static str),
}

impl Searched {
    /// What all of them together have explored.
    fn explored(&self) -> Explored<Place> {
        let all = self.runs.iter().map(|run| run.explored.clone());
        all.reduce(Explored::and).unwrap_or_default()
    }

    /// Whether no execution has an end: neither all threads ended, nor did they wait for each other, fail, or meet
    /// an assumption.
    fn sees_no_end(&self) -> bool {
        let ends = |run: &Outcome| {
            let statistics = &run.statistics;
            statistics.ends.count() + statistics.cut_between > 0
        };
        !self.runs.iter().any(ends)
    }

    pub(super) fn decisive(&self) -> &Outcome {
        &self.runs[self.decisive]
    }

    /// The properties that the verdict is about.
    fn checked(&self, args: &Check) -> PropertySet {
        match (&self.strategy, &self.deadlocks) {
            (Strategy::Fixed { properties, .. }, Some(DeadlockAnswer::Excluded)) => {
                properties.with(Property::Deadlock)
            }
            (Strategy::Fixed { properties, .. }, _) => *properties,
            (Strategy::Auto(_), _) => properties(&args.asked.property),
        }
    }
}

/// The first search with a violation, or else the first that is inconclusive. A goal that is not reached is a violation that
/// the first search has found.
fn decisive(runs: &[Outcome], stories: &[(ViolationKind, Story)]) -> usize {
    let first = |verdict| runs.iter().position(|run| run.verdict() == verdict);
    let inconclusive = || first(Verdict::Inconclusive).filter(|_| stories.is_empty());
    first(Verdict::Violation).or_else(inconclusive).unwrap_or(0)
}

/// What one search says. It knows no places.
pub(super) fn answer_of(run: &Outcome) -> Answer {
    let explored = run.explored.clone().map_places(|_| Spot::default());
    Answer::of(&explored, run.violations.len())
}

/// Runs the searches.
pub(super) fn explore(
    args: &Check,
    program: &Arc<Program>,
    strategy: Strategy,
    terminal: Terminal,
) -> (Findings, Searched) {
    let runner = Runner::new(args, program, terminal);
    let asked = properties(&args.asked.property);
    let (strategy, (machine, executed_by, mut outcome)) = match strategy {
        Strategy::Auto(plan) => {
            let (plan, run) = runner.run_plan(plan, asked);
            (Strategy::Auto(plan), run)
        }
        Strategy::Fixed {
            ref reduction,
            properties,
            ..
        } => {
            let run = runner.run(reduction, properties);
            (strategy, run)
        }
    };
    let loses_deadlocks = match &strategy {
        Strategy::Auto(plan) => matches!(plan, Plan::DeadlocksApart { .. }),
        Strategy::Fixed { lost, .. } => lost.contains(Property::Deadlock),
    };
    let deadlocks = loses_deadlocks.then(|| answer(&outcome, args));
    // The verdict is about everything that was asked for, also if the user chose the reduction.
    if let Strategy::Fixed { lost, .. } = &strategy
        && !matches!(deadlocks, None | Some(DeadlockAnswer::Excluded))
    {
        not_preserved(&mut outcome.explored, *lost);
    }
    let mut runs = vec![outcome];
    let mut machines = vec![executed_by];
    if let Strategy::Auto(Plan::DeadlocksApart { deadlocks: by, .. }) = &strategy
        && let Some(DeadlockAnswer::Possible(_)) = deadlocks
    {
        let only_deadlocks = PropertySet::NONE.with(Property::Deadlock);
        let plan = Plan::One {
            reduction: by,
            because: "deadlocks are looked for",
        };
        let (_, (_, executed_by, outcome)) = runner.run_plan(plan, only_deadlocks);
        runs.push(outcome);
        machines.push(executed_by);
    }

    let violations = runs.iter().flat_map(|run| &run.violations);
    let mut stories = runner.stories(violations);
    // Only a search that has seen everything knows what is never reached.
    let complete = runs[0].explored.cut().is_none() && (args.all || stories.is_empty());
    let mut unreached = Vec::new();
    if complete {
        if goals_wanted(&args.asked.property) {
            stories.extend(unreached_goals(&machine, program));
        }
        unreached = machine.unreached();
    }
    let used_symmetry = runs.iter().any(|run| run.noticed.used_symmetry);
    let groups = machine.symmetry().filter(|_| used_symmetry);
    let searched = Searched {
        symmetry: groups
            .map(|groups| names(program, groups))
            .unwrap_or_default(),
        decisive: decisive(&runs, &stories),
        runs,
        machines,
        strategy,
        deadlocks,
    };
    let narrator = Narrator::new(runner.machine());
    let explored = searched.explored();
    let mut violations = searched.runs.iter().flat_map(|run| &run.violations);
    let mut findings = Findings {
        explored: explored.map_places(|place| narrator.statement_spot(place)),
        checked: searched.checked(args),
        stories,
        violation: violations.next().cloned(),
        picture: None,
        unreached,
        never_ends: None,
    };
    if findings.answer().verdict == Verdict::Verified && searched.sees_no_end() {
        findings.never_ends = Some(loops(runner.machine()));
    }
    (findings, searched)
}

/// The names of interchangeable threads.
fn names(program: &Program, symmetry: &Symmetry) -> Vec<Vec<String>> {
    let name = |thread: &usize| program.checked().starts[*thread].name.clone();
    let groups = symmetry.groups().iter();
    groups
        .map(|group| group.iter().map(name).collect())
        .collect()
}

/// Where the threads go on for ever if they take turns: for each, the first statement in the text of
/// those that it repeats. Nothing if that takes too long to find out.
fn loops(mut machine: Machine) -> Vec<Spot> {
    const MOST_STEPS: usize = 100_000;
    let Some(repeating) = run_in_turn(&mut machine, MOST_STEPS) else {
        return Vec::new();
    };
    let mut places: Vec<(u64, Place)> = Vec::new();
    let initial = machine.initial();
    replay(
        &mut machine,
        &initial,
        &repeating.schedule,
        |machine, replayed| {
            if replayed.number >= repeating.repeats_from {
                let place = machine.place(replayed.before, replayed.taken.thread);
                places.push((replayed.thread_name, place));
            }
        },
    );
    let narrator = Narrator::new(machine);
    let mut first: BTreeMap<u64, Spot> = BTreeMap::new();
    for (thread, place) in places {
        let spot = narrator.statement_spot(place);
        let known = first.entry(thread).or_insert_with(|| spot.clone());
        if (spot.line, spot.column) < (known.line, known.column) {
            *known = spot;
        }
    }
    let mut spots: Vec<Spot> = first.into_values().collect();
    spots.sort_by_key(|spot| (spot.line, spot.column));
    spots.dedup();
    spots
}

/// What a search that does not preserve deadlocks tells about them.
fn answer(outcome: &Outcome, args: &Check) -> DeadlockAnswer {
    let violated = outcome.verdict() == Verdict::Violation && !args.all;
    let cut = outcome.explored.cut().map(|limit| limit.kind);
    match (&outcome.noticed.deadlocks, cut) {
        _ if violated => DeadlockAnswer::NotLookedFor("there is another violation"),
        (Some(Deadlocks::Excluded), None) => DeadlockAnswer::Excluded,
        (Some(possible), None) => DeadlockAnswer::Possible(possible.clone()),
        // Whoever limits the depth wants to see all there is up to that depth.
        (_, Some(Kind::Depth)) => DeadlockAnswer::Possible(Deadlocks::Possible(Vec::new())),
        _ => DeadlockAnswer::NotLookedFor("the search was cut"),
    }
}

/// What is left out of a story because the time was over, and how to see it.
fn hurried(in_brief: &Range<usize>, steps: usize) -> String {
    format!(
        "the time was over: of steps {} to {} of {steps}, only who moves where is told \
         (--trace FILE keeps the schedule, `raddle replay FILE` tells everything)",
        in_brief.start + 1,
        in_brief.end,
    )
}

pub(super) fn unreached_goals(
    machine: &Machine,
    program: &Arc<Program>,
) -> Vec<(ViolationKind, Story)> {
    let narrator = Narrator::new(machine.clone());
    let goals = machine.unreached_goals().into_iter();
    goals
        .map(|goal| {
            let goal = &program.checked().goals[goal];
            let story = tell::unreached_goal(&narrator, goal.span, goal.name.as_deref());
            (ViolationKind::Goal, story)
        })
        .collect()
}

/// The limit that ended a search.
fn cut((_, _, outcome): &Run) -> Option<Kind> {
    outcome.explored.cut().map(|limit| limit.kind)
}

/// The machine that a search has used, what has executed its steps, and what came of it.
type Run = (Machine, String, Outcome);

/// What was found out about a plan.
enum Decision {
    /// A search has come to its end, or to that of its time.
    Done(Plan, Box<Run>),
    /// The first search of this plan is the best to do.
    Search(Plan),
}

/// What all searches of one check have in common.
pub(super) struct Runner<'a> {
    args: &'a Check,
    program: &'a Arc<Program>,
    terminal: Terminal,
    compiled: OnceCell<Compiled>,
    pub(super) cancel: Arc<AtomicBool>,
    started: Instant,
}

impl<'a> Runner<'a> {
    /// To be called once: there is one Ctrl-C.
    pub(super) fn new(args: &'a Check, program: &'a Arc<Program>, terminal: Terminal) -> Self {
        Self {
            args,
            program,
            terminal,
            compiled: OnceCell::new(),
            cancel: interrupt::flag(),
            started: Instant::now(),
        }
    }

    /// A machine that has made no step. All searches have the same, so that every schedule
    /// fits every machine.
    pub(super) fn machine(&self) -> Machine {
        let granularity = self.args.step.granularity.granularity();
        let asked = properties(&self.args.asked.property);
        Machine::new(Arc::clone(self.program), granularity)
            .with_disciplines(asked.contains(Property::Discipline))
    }

    /// Whether searches make use of interchangeable threads. Where the reduction was chosen by hand, its counts are to be those of its paper
    /// and of other tools.
    fn uses_symmetry(&self) -> bool {
        match self.args.symmetry {
            SymmetryArg::On => true,
            SymmetryArg::Off => false,
            SymmetryArg::Auto => self.args.reduction == "auto",
        }
    }

    /// The compiled steps of the program, if they are wanted. They are compiled once.
    fn compiled(&self) -> Compiled {
        if self.args.machine == MachineArg::Interpreter {
            return Compiled::nothing();
        }
        if !native::IS_GENERATED && self.args.machine == MachineArg::Native {
            self.terminal
                .warning("this build generates no native code: the interpreter executes all steps");
        }
        let compiled = self.compiled.get_or_init(|| Compiled::new(self.program));
        compiled.clone()
    }

    /// When the time is over.
    pub(super) fn deadline(&self) -> Option<Instant> {
        let time = self.args.timeout;
        time.and_then(|time| self.started.checked_add(time))
    }

    /// Tells what was found.
    pub(super) fn stories<'v>(
        &self,
        violations: impl Iterator<Item = &'v Violation>,
    ) -> Vec<(ViolationKind, Story)> {
        let patience = tell::Patience::new(self.deadline(), Arc::clone(&self.cancel));
        let mut stories = Vec::new();
        for violation in violations {
            let told = tell::story(self.machine(), violation, &patience);
            if !told.in_brief.is_empty() {
                let steps = told.story.steps.len();
                self.terminal.warning(&hurried(&told.in_brief, steps));
            }
            stories.push((tell::kind(violation), told.story));
        }
        stories
    }

    /// Does the first search of a plan, or another one if that turns out to be better.
    fn run_plan(&self, plan: Plan, asked: PropertySet) -> (Plan, Run) {
        match self.decide(plan, asked, &auto::ATTEMPTS) {
            Decision::Done(plan, run) => (plan, *run),
            Decision::Search(plan) => {
                let (first, looked_for) = plan.first(asked);
                (plan, self.run(first, looked_for))
            }
        }
    }

    /// Finds out which search is best, unless one comes to its end meanwhile.
    fn decide(&self, plan: Plan, asked: PropertySet, attempts: &[Attempt]) -> Decision {
        let (first, looked_for) = plan.first(asked);
        if first == "full" || !self.may_exceed(trial::STATES) {
            return Decision::Search(plan);
        }
        let (run, pays) = self.try_out(first, looked_for);
        if cut(&run) != Some(Kind::States) {
            return Decision::Done(plan, Box::new(run));
        }
        self.decide_after(plan, pays, asked, attempts)
    }

    /// The same after a trial of the plan, which pays or not.
    fn decide_after(
        &self,
        plan: Plan,
        pays: bool,
        asked: PropertySet,
        attempts: &[Attempt],
    ) -> Decision {
        let Some((&(name, states), others)) = attempts.split_first() else {
            return match pays {
                true => Decision::Search(plan),
                false => self.decide(plan.instead(), asked, &[]),
            };
        };
        if !self.may_exceed(Search::MANY * states) {
            return self.decide_after(plan, pays, asked, others);
        }
        // What is known by now of the full search is not thrown away: it waits until all others have been tried.
        let mut decision = None;
        let mut goes_on_with = None;
        let run = self.attempt(name, asked, states, || {
            let rest = self.decide_after(plan, pays, asked, others);
            match rest {
                Decision::Search(plan) if plan.first(asked) == (name, asked) => {
                    goes_on_with = Some(plan);
                }
                _ => decision = Some(rest),
            }
            goes_on_with.is_some()
        });
        if let Some(plan) = goes_on_with {
            return Decision::Done(plan, Box::new(run));
        }
        match (cut(&run), decision) {
            (_, Some(decision)) => decision,
            (None, None) => Decision::Done(Plan::done_by(name), Box::new(run)),
            // There is no time left for another one.
            (Some(Kind::Time | Kind::Cancelled), None) => {
                Decision::Done(Plan::cut_in(name), Box::new(run))
            }
            // The reduction that was planned may do with less memory, or see further.
            (Some(_), None) => self.decide_after(plan, pays, asked, others),
        }
    }

    /// Whether a search may store more states than that.
    fn may_exceed(&self, states: u64) -> bool {
        (self.args.limits.max_states).is_none_or(|all| all > states)
    }

    /// Searches for as long as there are few states, and then asks whether to go on.
    fn attempt(
        &self,
        name: &str,
        properties: PropertySet,
        states: u64,
        go_on: impl FnOnce() -> bool,
    ) -> Run {
        let mut reduction = reduction::by_name(name).expect("the strategy knows its names");
        let search = self.limited().while_small(states, go_on);
        self.run_with(reduction.as_mut(), properties, search)
    }

    /// Searches a few states with a reduction. Also says whether more of that pays.
    fn try_out(&self, name: &str, properties: PropertySet) -> (Run, bool) {
        let mut reduction = reduction::by_name(name).expect("the strategy knows its names");
        let mut trial = Trial::of(reduction.as_mut());
        let search = Search::new().max_states(trial::STATES);
        let run = self.run_with(&mut trial, properties, search);
        (run, trial.pays())
    }

    /// Searches with a reduction for violations of the properties.
    fn run(&self, name: &str, properties: PropertySet) -> Run {
        let mut reduction = reduction::by_name(name).expect("the strategy knows its names");
        self.run_with(reduction.as_mut(), properties, self.limited())
    }

    /// A search of as many states as are allowed.
    fn limited<'s>(&self) -> Search<'s> {
        match self.args.limits.max_states {
            Some(states) => Search::new().max_states(states),
            None => Search::new(),
        }
    }

    fn run_with(
        &self,
        reduction: &mut dyn Reduction<Executor>,
        properties: PropertySet,
        search: Search<'_>,
    ) -> Run {
        let args = self.args;
        let machine = self.machine().with_symmetry(self.uses_symmetry());
        let mut executor = native::executor(machine, self.compiled());
        if counts_visited(args) {
            reduction.count_visited();
        }
        let mut line = ProgressLine::about(reduction.name(), self.terminal);
        let mut search = search
            .order(args.search.order())
            .store(args.store)
            .properties(properties)
            .cancel(Arc::clone(&self.cancel));
        if args.all {
            search = search.collect_all();
        }
        if let Some(workers) = args.workers {
            search = search.workers(workers);
        }
        if let Some(depth) = args.max_depth {
            search = search.max_depth(depth);
        }
        if let Some(memory) = args.limits.max_memory.or_else(memory::half_of_all) {
            search = search.max_memory(memory);
        }
        if let Some(time) = args.timeout {
            // The time is for all searches together.
            let left = time.saturating_sub(self.started.elapsed());
            search = search.timeout(left.max(Duration::from_nanos(1)));
        }
        if let Some(line) = &mut line {
            search = search.on_progress(|progress| line.show(progress));
        }
        let outcome = search.run(&mut executor, reduction);
        let described = native::describe(&executor);
        (native::interpreter(executor), described, outcome)
    }
}
