//! Checking without storing states: executions are run one after another.

mod report;
mod text;

use std::sync::Arc;
use std::time::{Duration, Instant};

use raddle_explore::{Place, Property, PropertySet, reductions};
use raddle_lang::Span;
use raddle_machine::narrate::Narrator;
use raddle_machine::{Machine, Program};
use raddle_outcome::{Assumption, Assumptions, Kind, Verdict};
use raddle_report::json::{self, ViolationKind};
use raddle_report::story::{Spot, Story};
use raddle_report::table::number;
use raddle_schedule::Extent;
use raddle_schedule::explorers::{Entry, Parameters, names};
use raddle_stateless::{Examination, MAX_LENGTH, Progress, Settings, examine_with_progress};

use super::Counterexample;
use super::searches::{Runner, unreached_goals};
use crate::args::{Check, goals_wanted, properties};
use crate::progress::ProgressLine;
use crate::terminal::Terminal;

pub(super) use report::report;
pub(super) use text::text;

/// How many random executions are run if nothing else ends them.
const RANDOM_EXECUTIONS: u64 = 10_000;

/// What to explore.
pub(super) struct Exploration {
    how: &'static Entry,
    /// What it is run with, defaults included.
    parameters: Parameters,
    properties: PropertySet,
}

impl Exploration {
    /// `optimal`, `pct, depth 3, seed 0`
    fn name(&self) -> String {
        let mut name = self.how.name.to_owned();
        if let Some(depth) = self.parameters.depth {
            name += &format!(", depth {depth}");
        }
        if let Some(seed) = self.parameters.seed {
            name += &format!(", seed {seed}");
        }
        name
    }
}

/// What the arguments ask for, or what is wrong with them.
pub(super) fn exploration(args: &Check, how: &'static Entry) -> Result<Exploration, String> {
    if args.reduction != "auto" || args.completion.is_some() || args.cycle_test.is_some() {
        return Err(format!(
            "`--reduction` leaves out steps of a search that stores states, and `--explore {}` stores \
             none: it leaves out executions in its own way; choose one of the two",
            how.name
        ));
    }
    let without = |what: &str, having: &str| {
        let name = how.name;
        Err(format!("`--explore {name}` has no {what}; {having}"))
    };
    let these = |wanted: fn(&Entry) -> bool| format!("these do: {}", names(wanted));
    if args.bound.is_some() && !how.has_bound() {
        return without("bound", &these(Entry::has_bound));
    }
    if args.seed.is_some() && !how.is_random() {
        return without("seed", &these(Entry::is_random));
    }
    if args.depth.is_some() && !how.has_depth {
        return without("depth", &these(|entry| entry.has_depth));
    }
    let parameters = how.effective(&Parameters {
        bound: args.bound,
        seed: args.seed,
        depth: args.depth,
    });
    let asked = properties(&args.asked.property);
    if asked.contains(Property::Race) {
        let only_race = PropertySet::NONE.with(Property::Race);
        let fit = reductions::preserving::<Machine>(only_race).join(", ");
        return Err(format!(
            "`--explore` does not look for data races; these reductions do: {fit} (and \
             `--reduction auto` chooses)"
        ));
    }
    Ok(Exploration {
        how,
        parameters,
        properties: asked,
    })
}

/// Everything there is to report.
pub(super) struct Findings {
    exploration: Exploration,
    found: Examination,
    elapsed: Duration,
    /// The violations, those of goals included.
    stories: Vec<(ViolationKind, Story)>,
    unreached: Vec<Span>,
    /// What the verdict rests on.
    assumptions: Assumptions<Spot>,
    /// Why nothing is proved, if that is so and there is no violation.
    reason: Option<String>,
}

impl Findings {
    pub(super) fn verdict(&self) -> json::Verdict {
        Verdict::of(self.stories.len(), &self.found.explored).into()
    }

    /// The bound up to which all is well, if there are executions beyond.
    fn verified_up_to_bound(&self) -> Option<u32> {
        let is_quiet = self.stories.is_empty() && !self.is_vacuous();
        self.found.explored.bound().filter(|_| is_quiet)
    }

    fn is_vacuous(&self) -> bool {
        let assumptions = self.found.explored.assumptions();
        assumptions.find(Kind::Vacuous).is_some()
    }

    /// The first violation, and its story.
    pub(super) fn into_counterexample(self) -> Option<Counterexample> {
        let violation = self.found.violations.into_iter().next()?;
        let (kind, story) = self.stories.into_iter().next()?;
        Some((violation, kind, story))
    }
}

/// Runs the executions.
pub(super) fn explore(
    args: &Check,
    program: &Arc<Program>,
    exploration: Exploration,
    terminal: Terminal,
) -> Findings {
    let runner = Runner::new(args, program, terminal);
    let started = Instant::now();
    let workers = args.workers.unwrap_or(1);
    if workers > 1 && !exploration.how.uses_workers {
        let how = exploration.how.name;
        terminal.warning(&format!(
            "`--explore {how}` uses one worker, whatever `--workers` says; these use all: {}",
            names(|entry| entry.uses_workers)
        ));
    }
    let settings = Settings {
        // Watching what invariants look at costs executions.
        properties: match program.checked().invariants.is_empty() {
            true => exploration.properties.without(Property::Invariant),
            false => exploration.properties,
        },
        all: args.all,
        max_length: max_length(args),
        max_executions: max_executions(args, &exploration),
        deadline: runner.deadline(),
        cancel: Some(Arc::clone(&runner.cancel)),
        workers,
    };
    let mut machine = runner.machine();
    let run = Run {
        machine: &mut machine,
        settings: &settings,
        line: ProgressLine::about(exploration.how.name, terminal),
    };
    let found = run.by(&exploration);
    let elapsed = started.elapsed();
    let mut findings = Findings {
        stories: runner.stories(found.violations.iter()),
        unreached: Vec::new(),
        reason: None,
        assumptions: Assumptions::default(),
        exploration,
        found,
        elapsed,
    };
    // Only who has seen everything knows what is never reached.
    if findings.found.explored.is_exhausted() && (args.all || findings.stories.is_empty()) {
        if goals_wanted(&args.asked.property) {
            let goals = unreached_goals(&machine, program);
            findings.stories.extend(goals);
        }
        findings.unreached = machine.unreached();
    }
    let found = &mut findings.found;
    if found.cut > 0 && found.cut == found.executions {
        found.explored.assume(Kind::Vacuous);
    }
    findings.assumptions = assumptions(args, &machine, found);
    findings.reason = reason(&findings);
    findings
}

/// A run of an explorer.
struct Run<'a> {
    machine: &'a mut Machine,
    settings: &'a Settings,
    line: Option<ProgressLine>,
}

impl Run<'_> {
    fn by(mut self, exploration: &Exploration) -> Examination {
        let mut explorer = exploration.how.make(&exploration.parameters);
        let mut show = |progress: &Progress| {
            if let Some(line) = &mut self.line {
                line.show_executions(progress);
            }
        };
        examine_with_progress(self.machine, &mut explorer, self.settings, &mut show)
    }
}

/// Random executions never end by themselves.
fn max_executions(args: &Check, exploration: &Exploration) -> Option<u64> {
    let endless = exploration.how.is_random() && args.timeout.is_none();
    args.max_executions
        .or_else(|| endless.then_some(RANDOM_EXECUTIONS))
}

fn max_length(args: &Check) -> usize {
    let steps = args.max_depth.map(usize::try_from);
    steps.map_or(MAX_LENGTH, |steps| steps.unwrap_or(usize::MAX))
}

/// What the verdict rests on, with the way out.
fn assumptions(args: &Check, machine: &Machine, found: &Examination) -> Assumptions<Spot> {
    let narrator = Narrator::new(machine.clone());
    let mut all = Assumptions::default();
    for assumption in found.explored.assumptions() {
        let mut told = (assumption.clone()).map_place(|place| narrator.statement_spot(place));
        if let Some(detail) = way_out(args, assumption) {
            told = told.because(detail);
        }
        all.add(told);
    }
    if found.cut > 0 {
        let cut = text::counted(found.cut, "execution");
        all.add(Assumption::from(Kind::Assume).because(cut));
    }
    all
}

/// What to say of an assumption beyond its kind.
fn way_out(args: &Check, assumption: &Assumption<Place>) -> Option<String> {
    const STATES: &str = "a search that stores states can do it: leave out `--explore`";
    match assumption.kind {
        Kind::Steps => Some(format!(
            "more than {} steps; running executions one by one is for programs that terminate; {STATES} (or raise --max-depth)",
            number(max_length(args) as u64),
        )),
        Kind::Alternatives => Some(STATES.into()),
        Kind::Remembered => {
            Some("`--explore bounded` and `--explore optimal` remember none".into())
        }
        _ => None,
    }
}

/// Why nothing is proved, if that is so.
fn reason(findings: &Findings) -> Option<String> {
    if !findings.stories.is_empty() {
        return None;
    }
    let found = &findings.found;
    let is_random = findings.exploration.how.is_random();
    // Random executions end at their number: it has not kept others from being run.
    let is_no_reason = |kind| match kind {
        Kind::Executions => is_random,
        Kind::Preemptions | Kind::Random | Kind::Vacuous => true,
        kind => !kind.makes_incomplete(),
    };
    let why = raddle_report::assumptions::lines(&findings.assumptions, |kind| !is_no_reason(kind));
    if why.is_empty() && findings.is_vacuous() {
        return Some(
            "vacuous: every execution was cut by an `assume`, so nothing was checked to its end"
                .into(),
        );
    }
    let not_run = match found.explored.extent() {
        _ if is_random => Some(format!(
            "no violation in {} at random, which proves nothing about others",
            text::counted(found.executions, "execution")
        )),
        Extent::All => None,
        Extent::UpToBound(bound) => Some(format!(
            "executions with more than {} were not run{}",
            text::counted(bound.into(), "preemption"),
            if why.is_empty() { "" } else { ", or not all" },
        )),
        Extent::Some if why.is_empty() => Some("not all executions were run".into()),
        Extent::Some => None,
    };
    let reasons: Vec<_> = why.into_iter().chain(not_run).collect();
    (!reasons.is_empty()).then(|| reasons.join("; "))
}
