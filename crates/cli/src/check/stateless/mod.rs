//! Checking without storing states: executions are run one after another.

mod report;
mod text;

use std::sync::Arc;

use raddle_explore::{Property, PropertySet, reductions};
use raddle_machine::narrate::Narrator;
use raddle_machine::{Machine, Program};
use raddle_outcome::Kind;
use raddle_report::table::number;
use raddle_schedule::explorers::{Entry, Parameters, names};
use raddle_stateless::{Examination, MAX_LENGTH, Progress, Settings, examine_with_progress};

use super::findings::Findings;
use super::searches::{Runner, unreached_goals};
use crate::args::{Check, goals_wanted, properties};
use crate::progress::ProgressLine;
use crate::terminal::Terminal;

pub(super) use report::report;
pub(super) use text::details;

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

/// Whoever stores no states has no use for a reduction.
pub(super) fn without_reduction(args: &Check, explorer: &str) -> Result<(), String> {
    if args.reduction == "auto" && args.completion.is_none() && args.cycle_test.is_none() {
        return Ok(());
    }
    Err(format!(
        "`--reduction` leaves out steps of a search that stores states, and `--explore {explorer}` stores \
         none: it leaves out executions in its own way; choose one of the two"
    ))
}

/// What the arguments ask for, or what is wrong with them.
pub(super) fn exploration(args: &Check, how: &'static Entry) -> Result<Exploration, String> {
    without_reduction(args, how.name)?;
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

/// The executions that were run.
pub(super) struct Examined {
    exploration: Exploration,
    found: Examination,
}

/// Runs the executions.
pub(super) fn explore(
    args: &Check,
    program: &Arc<Program>,
    exploration: Exploration,
    terminal: Terminal,
) -> (Findings, Examined) {
    let runner = Runner::new(args, program, terminal);
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
    let mut found = run.by(&exploration);
    found.explored.explain(|kind| way_out(args, kind));
    let mut stories = runner.stories(found.violations.iter());
    let mut unreached = Vec::new();
    // Only who has seen everything knows what is never reached.
    if found.explored.is_exhausted() && (args.all || stories.is_empty()) {
        if goals_wanted(&args.asked.property) {
            stories.extend(unreached_goals(&machine, program));
        }
        unreached = machine.unreached();
    }
    let narrator = Narrator::new(machine);
    let explored = found.explored.clone();
    let findings = Findings {
        explored: explored.map_places(|place| narrator.statement_spot(place)),
        checked: exploration.properties,
        stories,
        violation: found.violations.first().cloned(),
        picture: None,
        unreached,
        never_ends: None,
    };
    (findings, Examined { exploration, found })
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

/// What to say of an assumption beyond its kind.
fn way_out(args: &Check, kind: Kind) -> Option<String> {
    const STATES: &str = "a search that stores states can do it: leave out `--explore`";
    match kind {
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
