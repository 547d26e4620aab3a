//! Checking without storing states: executions are run one after another.

mod report;
mod text;

use std::sync::Arc;
use std::time::{Duration, Instant};

use raddle_explore::{Property, PropertySet, reductions};
use raddle_lang::Span;
use raddle_machine::narrate::Narrator;
use raddle_machine::{Machine, Program};
use raddle_report::json::{self, ViolationKind};
use raddle_report::story::Story;
use raddle_report::table::number;
use raddle_schedule::Coverage;
use raddle_schedule::explorers::{Algorithm1, Algorithm2, Dfs, Iterative, Optimal};
use raddle_schedule::system::{Examination, MAX_LENGTH, Settings, Stop, examine};

use super::Counterexample;
use super::searches::{Runner, unreached_goals};
use crate::args::{Check, ExploreArg, goals_wanted, properties};
use crate::terminal::Terminal;

pub(super) use report::report;
pub(super) use text::text;

/// The bound that is used where one is needed and none is said: most errors need no more preemptions.
const DEFAULT_BOUND: u32 = 2;

/// What to explore.
pub(super) struct Exploration {
    how: ExploreArg,
    /// The greatest number of preemptions, if there is one.
    bound: Option<u32>,
    properties: PropertySet,
}

/// What the arguments ask for, or what is wrong with them.
pub(super) fn exploration(args: &Check, how: ExploreArg) -> Result<Exploration, String> {
    if args.reduction != "auto" || args.completion.is_some() || args.cycle_test.is_some() {
        return Err(format!(
            "`--reduction` leaves out steps of a search that stores states, and `--explore {}` stores \
             none: it leaves out executions in its own way; choose one of the two",
            how.name()
        ));
    }
    let bound = match (how, args.bound) {
        (ExploreArg::Dfs | ExploreArg::Optimal, Some(_)) => {
            return Err(format!(
                "`--explore {}` has no bound; these do: bounded, iterative, algorithm1, cb-dfs",
                how.name()
            ));
        }
        (ExploreArg::Dfs | ExploreArg::Optimal, None) => None,
        (ExploreArg::Iterative, bound) => bound,
        (_, bound) => Some(bound.unwrap_or(DEFAULT_BOUND)),
    };
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
        bound,
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
    /// Why nothing is proved, if that is so and there is no violation.
    reason: Option<String>,
}

impl Findings {
    pub(super) fn verdict(&self) -> json::Verdict {
        match (&self.reason, self.stories.is_empty()) {
            (_, false) => json::Verdict::Violation,
            (None, true) => json::Verdict::Verified,
            (Some(_), true) => json::Verdict::Inconclusive,
        }
    }

    /// The bound up to which all is well, if there are executions beyond.
    fn verified_up_to_bound(&self) -> Option<u32> {
        match self.found.coverage {
            Coverage::UpToBound(bound) if self.is_quiet() && !self.is_vacuous() => Some(bound),
            _ => None,
        }
    }

    fn is_quiet(&self) -> bool {
        self.stories.is_empty() && self.found.stop.is_none()
    }

    fn is_vacuous(&self) -> bool {
        self.found.cut > 0 && self.found.cut == self.found.executions
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
    let settings = Settings {
        // Watching what invariants look at costs executions.
        properties: match program.checked().invariants.is_empty() {
            true => exploration.properties.without(Property::Invariant),
            false => exploration.properties,
        },
        all: args.all,
        max_length: max_length(args),
        max_executions: args.max_executions,
        deadline: runner.deadline(),
        cancel: Some(Arc::clone(&runner.cancel)),
    };
    let mut machine = runner.machine();
    let found = run(&mut machine, &exploration, &settings);
    let elapsed = started.elapsed();
    let mut findings = Findings {
        stories: runner.stories(found.violations.iter()),
        unreached: Vec::new(),
        reason: None,
        exploration,
        found,
        elapsed,
    };
    // Only who has seen everything knows what is never reached.
    let complete = findings.found.coverage == Coverage::All && findings.found.stop.is_none();
    if complete && (args.all || findings.stories.is_empty()) {
        if goals_wanted(&args.asked.property) {
            let goals = unreached_goals(&machine, program);
            findings.stories.extend(goals);
        }
        findings.unreached = machine.unreached();
    }
    findings.reason = reason(args, machine, &findings);
    findings
}

fn run(machine: &mut Machine, exploration: &Exploration, settings: &Settings) -> Examination {
    let bound = exploration.bound.unwrap_or(DEFAULT_BOUND);
    match exploration.how {
        ExploreArg::Optimal => examine(machine, &mut Optimal::default(), settings),
        ExploreArg::Bounded => examine(machine, &mut Algorithm2 { bound }, settings),
        ExploreArg::Iterative => {
            let bound = exploration.bound;
            examine(machine, &mut Iterative { bound }, settings)
        }
        ExploreArg::Algorithm1 => {
            let mut algorithm = Algorithm1 {
                bound,
                ..Algorithm1::default()
            };
            examine(machine, &mut algorithm, settings)
        }
        ExploreArg::CbDfs => examine(machine, &mut Dfs { bound: Some(bound) }, settings),
        ExploreArg::Dfs => examine(machine, &mut Dfs::default(), settings),
    }
}

fn max_length(args: &Check) -> usize {
    let steps = args.max_depth.map(usize::try_from);
    steps.map_or(MAX_LENGTH, |steps| steps.unwrap_or(usize::MAX))
}

/// Why nothing is proved, if that is so.
fn reason(args: &Check, machine: Machine, findings: &Findings) -> Option<String> {
    if !findings.stories.is_empty() {
        return None;
    }
    if let Some(stop) = findings.found.stop {
        return Some(given_up(args, machine, stop));
    }
    if findings.is_vacuous() {
        return Some(
            "vacuous: every execution was cut by an `assume`, so nothing was checked to its end"
                .into(),
        );
    }
    match findings.found.coverage {
        Coverage::All => None,
        Coverage::UpToBound(bound) => Some(format!(
            "executions with more than {} were not run",
            text::counted(bound.into(), "preemption")
        )),
        Coverage::Some => Some("not all executions were run".into()),
    }
}

/// Why it was given up, and the way out.
fn given_up(args: &Check, machine: Machine, stop: Stop) -> String {
    let narrator = Narrator::new(machine);
    let at = |place| {
        let spot = narrator.statement_spot(place);
        format!(
            "{}:{}:{} (`{}`)",
            spot.file, spot.line, spot.column, spot.text
        )
    };
    const STATES: &str = "a search that stores states can do it: leave out `--explore`";
    match stop {
        Stop::TooLong(place) => format!(
            "an execution has more than {} steps, the last one at {}; running executions one \
             by one is for programs that terminate; {STATES} (or raise --max-depth)",
            number(max_length(args) as u64),
            at(place),
        ),
        Stop::TooManyAlternatives(place) => format!(
            "too many alternatives to run each of them, at {}; {STATES}",
            at(place)
        ),
        Stop::Executions => "the limit on executions was reached".into(),
        Stop::Time => "the limit on time was reached".into(),
        Stop::Cancelled => "the exploration was cancelled".into(),
        Stop::Capacity(what) => format!("some execution has {what}"),
    }
}
