//! `raddle check`

mod deadlocks;
mod findings;
mod graphs;
mod models;
mod plan;
mod report;
mod searches;
mod stateless;
mod strategy;
mod text;

use std::fs::OpenOptions;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use raddle_explore::{Outcome, Property, PropertySet, Violation};
use raddle_machine::{Machine, Program};
use raddle_outcome::Verdict;
use raddle_report::graph::Format;
use raddle_report::json::{self, CheckReport, ViolationKind};
use raddle_report::story::Story;

use crate::args::{Check, goals_wanted, properties};
use crate::load::{Loaded, load};
use crate::terminal::{Terminal, complain, print};
use crate::{Exit, picture, reduction, replay};
use findings::Findings;
use models::Way;
use stateless::Exploration;
use strategy::Strategy;

pub(crate) fn check(args: &Check) -> Exit {
    let started = Instant::now();
    let terminal = Terminal::new(args.output, args.drawing);
    let asked = models::way(args).and_then(|way| match way {
        Way::Searches => strategy::strategy(args).map(Asked::Searches),
        Way::Executions(how) => stateless::exploration(args, how).map(Asked::Exploration),
        Way::Graphs(model) => graphs::exploration(args, model).map(Asked::Graphs),
    });
    let asked = match asked {
        Ok(asked) => asked,
        Err(problem) => return failed(args, &problem),
    };
    let format = args.graph.as_deref().map(Format::of);
    if let Some(Err(problem)) = format {
        return failed(args, &problem);
    }
    let mut files = args.trace.iter().chain(&args.graph);
    if let Some(problem) = files.find_map(|file| not_writable(file)) {
        return failed(args, &problem);
    }
    let Loaded {
        program,
        diagnostics,
    } = match load(&args.file, terminal, args.timeout) {
        Ok(loaded) => loaded,
        Err(not_loaded) => {
            let verdict = not_loaded.verdict();
            if terminal.is_json() {
                let report = error_report(args, not_loaded.reason, not_loaded.diagnostics);
                print(&CheckReport { verdict, ..report }.to_json());
            }
            return Exit::of(verdict);
        }
    };
    if let Some(problem) = asked.problem_with(args, &program) {
        return failed(args, &problem);
    }
    // The time is for compiling and searching together.
    let left = args
        .timeout
        .map(|time| time.saturating_sub(started.elapsed()));
    let args = &Check {
        timeout: left,
        ..args.clone()
    };
    let runs_as_sc = !matches!(asked, Asked::Graphs(_));
    let (mut findings, report, details) = match asked {
        Asked::Searches(strategy) => {
            let strategy = strategy.for_program(args, &program);
            let (findings, searched) = searches::explore(args, &program, strategy, terminal);
            let report = report::report(args, &program, &searched);
            let details = text::details(args, &program, &findings, &searched);
            (findings, report, details)
        }
        Asked::Exploration(exploration) => {
            let (findings, examined) = stateless::explore(args, &program, exploration, terminal);
            let report = stateless::report(&findings, &examined);
            let details = stateless::details(args, &examined);
            (findings, report, details)
        }
        Asked::Graphs(exploration) => {
            match graphs::explore(args, &program, exploration, terminal) {
                Ok(found) => found,
                Err(problem) => return failed(args, &problem),
            }
        }
    };
    if runs_as_sc {
        models::assume(&mut findings, &program);
    }
    if terminal.is_json() {
        print(
            &findings
                .report(args, &program, diagnostics, report)
                .to_json(),
        );
    } else {
        print(&findings.text(args, &program, &details, terminal));
    }
    let verdict = findings.answer().verdict;
    // Last: whatever happens to the files, what was found has been said.
    if let Err(problem) = write_graph(args, &program, &findings) {
        terminal.error(&problem);
        return Exit::ERROR;
    }
    if let Err(problem) = write_trace(args, &program, findings.into_counterexample()) {
        terminal.error(&problem);
        return Exit::ERROR;
    }
    Exit::of(verdict)
}

/// How a question is to be answered.
enum Asked {
    /// By searches that store states.
    Searches(Strategy),
    /// By running executions.
    Exploration(Exploration),
    /// By exploring execution graphs.
    Graphs(graphs::Exploration),
}

impl Asked {
    /// Why the question does not fit the program.
    fn problem_with(&self, args: &Check, program: &Program) -> Option<String> {
        match self {
            Self::Graphs(exploration) => exploration.problem_with(program),
            _ => models::problem(args, program),
        }
    }
}

/// A violation that has a schedule, and its story.
type Counterexample = (Violation, ViolationKind, Story);

/// Reports a problem with the command line or the files it names.
fn failed(args: &Check, problem: &str) -> Exit {
    let terminal = Terminal::new(args.output, args.drawing);
    terminal.error(problem);
    if terminal.is_json() {
        print(&error_report(args, problem.to_owned(), Vec::new()).to_json());
    }
    Exit::ERROR
}

fn error_report(args: &Check, reason: String, diagnostics: Vec<json::Diagnostic>) -> CheckReport {
    CheckReport {
        verdict: Verdict::Error,
        reason: Some(reason),
        file: args.file.display().to_string(),
        reduction: match args.explore {
            Some(_) => String::new(),
            None => args.reduction.clone(),
        },
        search: match args.explore {
            Some(_) => String::new(),
            None => args.search.name().into(),
        },
        granularity: args.step.granularity.name().into(),
        properties: property_names(properties(&args.asked.property), args),
        diagnostics,
        ..CheckReport::default()
    }
}

/// The names of the properties in a set, and of goals.
fn property_names(properties: PropertySet, args: &Check) -> Vec<String> {
    let goal = goals_wanted(&args.asked.property).then_some("goal");
    let names = properties.iter().map(Property::name).chain(goal);
    names.map(str::to_owned).collect()
}

/// Why a file cannot be written. It is better to know before a long search than after it.
fn not_writable(path: &Path) -> Option<String> {
    let existed = path.exists();
    let opened = OpenOptions::new().append(true).create(true).open(path);
    match opened {
        Ok(_) if existed => None,
        Ok(_) => std::fs::remove_file(path)
            .err()
            .map(|error| error.to_string()),
        Err(error) => Some(format!("cannot write {}: {error}", path.display())),
    }
}

fn write_trace(
    args: &Check,
    program: &Program,
    counterexample: Option<Counterexample>,
) -> Result<(), String> {
    let Some(path) = &args.trace else {
        return Ok(());
    };
    let Some((violation, kind, story)) = counterexample else {
        if !args.output.quiet {
            complain(&format!(
                "no counterexample: {} was not written\n",
                path.display()
            ));
        }
        return Ok(());
    };
    let trace = replay::trace_file(program, args.step.granularity, &violation, kind, &story);
    std::fs::write(path, trace.to_json())
        .map_err(|error| format!("cannot write {}: {error}", path.display()))
}

/// Draws the first counterexample. One without a graph of its own has been found by a search or an execution, and has a schedule.
fn write_graph(args: &Check, program: &Arc<Program>, findings: &Findings) -> Result<(), String> {
    let Some(path) = &args.graph else {
        return Ok(());
    };
    let drawn = match (
        &findings.picture,
        &findings.violation,
        findings.stories.first(),
    ) {
        (Some(picture), ..) => Some(picture.clone()),
        (None, Some(violation), Some((_, story))) => {
            let granularity = args.step.granularity.granularity();
            let machine = Machine::new(Arc::clone(program), granularity);
            Some(picture::of_schedule(machine, &violation.schedule, story))
        }
        _ => None,
    };
    match drawn {
        Some(graph) => picture::write(path, &graph),
        None => {
            if !args.output.quiet {
                let file = path.display();
                complain(&format!("no counterexample: {file} was not written\n"));
            }
            Ok(())
        }
    }
}

/// How many steps of the reduction the search has gone from the initial state. Without a
/// reduction, steps that failed are among them.
fn depth(outcome: &Outcome) -> u64 {
    let mut depth = outcome.statistics.max_depth;
    if outcome.asked.reduction == "full" {
        let violations = outcome.violations.iter();
        let longest = violations.map(|violation| violation.schedule.len() as u64);
        depth = depth.max(longest.max().unwrap_or(0));
    }
    depth
}

/// Boundary states and all between them, if they were counted.
fn visited(args: &Check, outcome: &Outcome) -> Option<u64> {
    let visited = || reduction::visited(outcome.asked.reduction, &outcome.statistics);
    counts_visited(args).then(visited).flatten()
}

/// Whether states between boundary states are counted. One thread does that alone, so several do without.
fn counts_visited(args: &Check) -> bool {
    args.stats && args.workers.is_none_or(|workers| workers == 1)
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or("").trim().to_owned()
}
