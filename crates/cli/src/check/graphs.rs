//! Checking under a memory model: execution graphs are explored one after another.

use std::sync::Arc;

use raddle_explore::{Property, PropertySet};
use raddle_graphs::{Examination, MAX_EVENTS, Model, Settings, examine};
use raddle_machine::narrate::Narrator;
use raddle_machine::{Granularity, Machine, Program};
use raddle_outcome::Kind;
use raddle_report::json::{self, CheckReport};
use raddle_report::table::{key_values, number};
use raddle_stateless::Progress;

use super::findings::{Details, Findings};
use super::searches::{Runner, unreached_goals};
use super::stateless::without_reduction;
use super::text::{counted, elapsed};
use crate::args::{Check, goals_wanted, properties};
use crate::orderings::spot;
use crate::progress::ProgressLine;
use crate::tell;
use crate::terminal::Terminal;

/// What `--explore` calls it.
const NAME: &str = "graphs";

/// What to explore.
#[derive(Clone, Copy)]
pub(super) struct Exploration {
    model: Model,
    properties: PropertySet,
}

/// What the arguments ask for, or what is wrong with them.
pub(super) fn exploration(args: &Check, model: Model) -> Result<Exploration, String> {
    without_reduction(args, NAME)?;
    for (given, what) in [
        (args.bound.is_some(), "bound"),
        (args.seed.is_some(), "seed"),
        (args.depth.is_some(), "depth"),
    ] {
        if given {
            return Err(format!(
                "execution graphs have no {what}: leave out `--{what}`"
            ));
        }
    }
    if args.step.granularity.granularity() != Granularity::Access {
        return Err(
            "a memory model is about single accesses: `--granularity statement` goes with `--memory sc` \
             and no `--explore graphs`"
                .into(),
        );
    }
    if args.trace.is_some() {
        return Err(
            "`--trace` keeps a schedule for `raddle replay`, and an execution graph is none: there need be \
             no order of its steps in which every read sees the last write; leave out `--trace`"
                .into(),
        );
    }
    let asked = properties(&args.asked.property);
    if model == Model::Sc && asked.contains(Property::Race) {
        return Err(
            "`--explore graphs --memory sc` does not look for data races: `--memory rc11` does, and so do \
             searches that store states"
                .into(),
        );
    }
    let properties = match model {
        Model::Sc => asked,
        // With a race, nothing else means anything.
        _ => asked.with(Property::Race),
    };
    Ok(Exploration { model, properties })
}

impl Exploration {
    /// Why the question does not fit the program.
    pub(super) fn problem_with(&self, program: &Program) -> Option<String> {
        let way_out = "choose other properties, such as `--property assertion,deadlock,runtime`";
        if let (true, Some(invariant)) = (
            self.properties.contains(Property::Invariant),
            program.checked().invariants.first(),
        ) {
            let at = spot(program, invariant.condition.span);
            return Some(format!(
                "{}:{}:{}: an invariant is about the states between steps, and an execution graph has none; \
                 assert `{}` where it matters, or {way_out}",
                at.file, at.line, at.column, at.text,
            ));
        }
        (self.properties.contains(Property::Discipline) && program.has_disciplines()).then(|| {
            format!(
                "{}: `--explore graphs` does not check the disciplines that it declares; {way_out}",
                program.source().name
            )
        })
    }
}

/// Explores the graphs. An error names what is not supported.
pub(super) fn explore(
    args: &Check,
    program: &Arc<Program>,
    exploration: Exploration,
    terminal: Terminal,
) -> Result<(Findings, CheckReport, Details), String> {
    let runner = Runner::new(args, program, terminal);
    if args.workers.is_some_and(|workers| workers > 1) {
        terminal.warning("execution graphs are explored by one worker, whatever `--workers` says");
    }
    let max_events = args.max_depth.map(usize::try_from);
    let settings = Settings {
        properties: exploration.properties,
        all: args.all,
        max_events: max_events.map_or(MAX_EVENTS, |most| most.unwrap_or(usize::MAX)),
        max_executions: args.max_executions,
        deadline: runner.deadline(),
        cancel: Some(Arc::clone(&runner.cancel)),
    };
    let mut machine = runner.machine();
    let mut line = ProgressLine::about(NAME, terminal);
    let mut show = |progress: &raddle_graphs::Progress| {
        if let Some(line) = &mut line {
            line.show_executions(&Progress {
                executions: progress.graphs,
                classes: progress.graphs,
                longest: progress.longest,
                elapsed: progress.elapsed,
                ..Progress::default()
            });
        }
    };
    let found = examine(&mut machine, exploration.model, &settings, &mut show);
    drop(line);
    let mut found = found.map_err(|unsupported| {
        let at = spot(program, program.statement(unsupported.place));
        format!(
            "{}:{}:{}: execution graphs are not explored for programs with {} (`{}`); searches that store states \
             check it as sequentially consistent: leave out `--explore` and use `--memory sc`",
            at.file, at.line, at.column, unsupported.what, at.text,
        )
    })?;
    let most = number(settings.max_events as u64);
    found.explored.explain(|kind| match kind {
        Kind::Steps => Some(format!(
            "more than {most} events (--max-depth sets another limit)"
        )),
        _ => None,
    });
    let details = details(args, &exploration, &found);
    let stories = found.violations.iter();
    let mut stories: Vec<_> = stories
        .map(|violation| (tell::kind_of(violation.property), violation.story.clone()))
        .collect();
    let mut unreached = Vec::new();
    if found.explored.is_exhausted() && (args.all || stories.is_empty()) {
        if goals_wanted(&args.asked.property) {
            stories.extend(unreached_goals(&machine, program));
        }
        unreached = machine.unreached();
    }
    let findings = findings(exploration.properties, machine, &found, stories, unreached);
    let report = report(&exploration, &found, &findings);
    Ok((findings, report, details))
}

fn findings(
    checked: PropertySet,
    machine: Machine,
    found: &Examination,
    stories: Vec<(json::ViolationKind, raddle_report::story::Story)>,
    unreached: Vec<raddle_lang::Span>,
) -> Findings {
    let narrator = Narrator::new(machine);
    let explored = found.explored.clone();
    Findings {
        explored: explored.map_places(|place| narrator.statement_spot(place)),
        checked,
        stories,
        violation: None,
        picture: found.violations.first().map(|first| first.picture.clone()),
        unreached,
        never_ends: None,
    }
}

fn report(exploration: &Exploration, found: &Examination, findings: &Findings) -> CheckReport {
    let statistics = &found.statistics;
    let model = exploration.model.name();
    CheckReport {
        plan: format!("execution graphs of {model}, as asked for"),
        transitions: statistics.steps.unwrap_or(0),
        depth: statistics.longest.unwrap_or(0),
        seconds: statistics.elapsed.as_secs_f64(),
        statistics: json::Statistics::from(statistics.ends),
        exploration: Some(json::Exploration {
            memory: Some(model.into()),
            blocked: Some(found.noticed.blocked),
            ..json::Exploration::of(NAME, statistics, &findings.answer())
        }),
        ..CheckReport::default()
    }
}

/// `4 graphs, 1 blocked, 19 events, 93 µs (graphs, rc11)`
fn details(args: &Check, exploration: &Exploration, found: &Examination) -> Details {
    let statistics = &found.statistics;
    let blocked = match found.noticed.blocked {
        0 => String::new(),
        blocked => format!(", {} of them blocked", number(blocked)),
    };
    let mut remarks = Vec::new();
    if found.noticed.hanging > 0 && !exploration.properties.contains(Property::Termination) {
        remarks.push(format!(
            "in {} threads go round loops for ever (--property termination shows how)",
            counted(found.noticed.hanging, "graph"),
        ));
    }
    Details {
        statistics: match args.stats {
            true => statistics_table(args, found) + "\n",
            false => String::new(),
        },
        numbers: format!(
            "{}{blocked}, {}, {} ({NAME}, {})",
            counted(statistics.executions, "graph"),
            counted(statistics.steps.unwrap_or(0), "event"),
            elapsed(args, statistics.elapsed),
            exploration.model.name(),
        ),
        plan: Vec::new(),
        remarks,
        told: None,
    }
}

fn statistics_table(args: &Check, found: &Examination) -> String {
    let statistics = &found.statistics;
    let seconds = statistics.elapsed.as_secs_f64().max(1e-9);
    let per_second = (statistics.executions as f64 / seconds) as u64;
    key_values(&[
        ("graphs", number(statistics.executions)),
        ("complete", number(statistics.ends.terminated)),
        ("deadlocked", number(statistics.ends.deadlocked)),
        ("failed", number(statistics.ends.failed)),
        ("cut by assume", number(statistics.ends.cut)),
        ("spinning for ever", number(found.noticed.hanging)),
        ("blocked", number(found.noticed.blocked)),
        ("events", number(statistics.steps.unwrap_or(0))),
        ("longest", number(statistics.longest.unwrap_or(0))),
        ("time", elapsed(args, statistics.elapsed)),
        ("graphs per second", number(per_second)),
    ])
}
