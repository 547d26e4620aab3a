//! `raddle check`

use std::fs::OpenOptions;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use raddle_explore::{Inconclusive, Outcome, Property, Search, Verdict, reductions};
use raddle_lang::Span;
use raddle_machine::narrate::Narrator;
use raddle_machine::{Machine, Program};
use raddle_report::json::{self, CheckReport, ViolationKind};
use raddle_report::lanes;
use raddle_report::story::Story;
use raddle_report::style::Role;
use raddle_report::table::{bytes, duration, key_values, number};

use crate::args::{Check, SelfLoops, goals_wanted, properties};
use crate::load::{Loaded, load};
use crate::progress::ProgressLine;
use crate::terminal::{Terminal, complain, print};
use crate::{Exit, memory, replay, tell};

/// Everything there is to report about a check.
struct Findings {
    outcome: Outcome,
    /// The violations, those of goals included.
    stories: Vec<(ViolationKind, Story)>,
    unreached: Vec<Span>,
}

impl Findings {
    fn verdict(&self) -> json::Verdict {
        match self.outcome.verdict {
            _ if !self.stories.is_empty() => json::Verdict::Violation,
            Verdict::Verified => json::Verdict::Verified,
            Verdict::Violated => json::Verdict::Violation,
            Verdict::Inconclusive(_) => json::Verdict::Inconclusive,
        }
    }

    fn reason(&self) -> Option<String> {
        match self.outcome.verdict {
            Verdict::Inconclusive(reason) if self.stories.is_empty() => Some(explain(reason)),
            _ => None,
        }
    }
}

fn explain(reason: Inconclusive) -> String {
    match reason {
        Inconclusive::Vacuous => {
            "vacuous: every execution was cut by an `assume`, so nothing was checked to its end"
                .into()
        }
        other => other.to_string(),
    }
}

pub(crate) fn check(args: &Check) -> Exit {
    let terminal = Terminal::new(args.output, args.drawing);
    let asked = properties(&args.property);
    let Some(reduction) = reductions::by_name::<Machine>(&args.reduction) else {
        let known: Vec<_> = reductions::all::<Machine>()
            .iter()
            .map(|r| r.name())
            .collect();
        return failed(
            args,
            &format!(
                "there is no reduction `{}`; there are: {}",
                args.reduction,
                known.join(", ")
            ),
        );
    };
    let lost = asked.minus(reduction.preserves());
    if !lost.is_empty() {
        let fit = reductions::preserving::<Machine>(asked).join(", ");
        return failed(
            args,
            &format!(
                "the reduction `{}` does not preserve: {lost}; these do: {fit}",
                args.reduction
            ),
        );
    }
    if let Some(problem) = args.trace.as_deref().and_then(not_writable) {
        return failed(args, &problem);
    }
    let Loaded {
        program,
        diagnostics,
    } = match load(&args.file, terminal) {
        Ok(loaded) => loaded,
        Err(not_loaded) => {
            if terminal.is_json() {
                print(&error_report(args, not_loaded.reason, not_loaded.diagnostics).to_json());
            }
            return Exit::Error;
        }
    };
    let findings = explore(args, &program, reduction, terminal);
    if terminal.is_json() {
        print(&report(args, &program, &findings, diagnostics).to_json());
    } else {
        print(&text(args, &program, &findings, terminal));
    }
    // Last: whatever happens to the file, what was found has been said.
    if let Err(problem) = write_trace(args, &program, &findings) {
        terminal.error(&problem);
        return Exit::Error;
    }
    match findings.verdict() {
        json::Verdict::Verified => Exit::Success,
        json::Verdict::Violation => Exit::Violation,
        json::Verdict::Inconclusive => Exit::Inconclusive,
        json::Verdict::Error => Exit::Error,
    }
}

/// Reports a problem with the command line or the files it names.
fn failed(args: &Check, problem: &str) -> Exit {
    let terminal = Terminal::new(args.output, args.drawing);
    terminal.error(problem);
    if terminal.is_json() {
        print(&error_report(args, problem.to_owned(), Vec::new()).to_json());
    }
    Exit::Error
}

fn error_report(args: &Check, reason: String, diagnostics: Vec<json::Diagnostic>) -> CheckReport {
    CheckReport {
        verdict: json::Verdict::Error,
        reason: Some(reason),
        file: args.file.display().to_string(),
        reduction: args.reduction.clone(),
        search: args.search.name().into(),
        granularity: args.step.granularity.name().into(),
        properties: property_names(args),
        diagnostics,
        ..CheckReport::default()
    }
}

fn explore(
    args: &Check,
    program: &Arc<Program>,
    mut reduction: Box<dyn raddle_explore::Reduction<Machine> + '_>,
    terminal: Terminal,
) -> Findings {
    let granularity = args.step.granularity.granularity();
    let asked = properties(&args.property);
    let fresh_machine = || {
        Machine::new(Arc::clone(program), granularity)
            .with_disciplines(asked.contains(Property::Discipline))
    };
    let mut machine = fresh_machine();
    let mut line = ProgressLine::on(terminal);
    let mut search = Search::new()
        .order(args.search.order())
        .properties(asked)
        .cancel(interruption());
    if args.all {
        search = search.collect_all();
    }
    if let Some(states) = args.max_states {
        search = search.max_states(states);
    }
    if let Some(depth) = args.max_depth {
        search = search.max_depth(depth);
    }
    if let Some(memory) = args.max_memory.or_else(memory::half_of_all) {
        search = search.max_memory(memory);
    }
    if let Some(time) = args.timeout {
        search = search.timeout(time);
    }
    if let Some(line) = &mut line {
        search = search.on_progress(|progress| line.show(progress));
    }
    let outcome = search.run(&mut machine, reduction.as_mut());
    drop(line);

    let mut stories: Vec<_> = outcome
        .violations
        .iter()
        .map(|violation| {
            (
                tell::kind(violation),
                tell::story(fresh_machine(), violation),
            )
        })
        .collect();
    // Only a search that has seen everything knows what is never reached.
    let complete = outcome.cut.is_none() && (args.all || outcome.violations.is_empty());
    let mut unreached = Vec::new();
    if complete {
        let narrator = Narrator::new(fresh_machine());
        let goals = match goals_wanted(&args.property) {
            true => machine.unreached_goals(),
            false => Vec::new(),
        };
        for goal in goals {
            let goal = &program.checked().goals[goal];
            let story = tell::unreached_goal(&narrator, goal.span, goal.name.as_deref());
            stories.push((ViolationKind::Goal, story));
        }
        unreached = machine.unreached();
    }
    Findings {
        outcome,
        stories,
        unreached,
    }
}

/// A flag that Ctrl-C sets. A second Ctrl-C does not wait.
pub(crate) fn interruption() -> Arc<AtomicBool> {
    let flag = Arc::new(AtomicBool::new(false));
    let set = Arc::clone(&flag);
    // Without a handler, Ctrl-C ends the process as usual: nothing is lost but the numbers.
    let _ = ctrlc::set_handler(move || {
        if set.swap(true, Ordering::SeqCst) {
            std::process::exit(130);
        }
    });
    flag
}

/// The names of the properties that were asked for.
fn property_names(args: &Check) -> Vec<String> {
    let asked = properties(&args.property);
    let goal = goals_wanted(&args.property).then_some("goal");
    let names = asked.iter().map(|property| property.name()).chain(goal);
    names.map(str::to_owned).collect()
}

/// Why a file can not be written. It is better to know before a long search than after it.
fn not_writable(path: &Path) -> Option<String> {
    let existed = path.exists();
    let opened = OpenOptions::new().append(true).create(true).open(path);
    match opened {
        Ok(_) if existed => None,
        Ok(_) => std::fs::remove_file(path)
            .err()
            .map(|error| error.to_string()),
        Err(error) => Some(format!("can not write {}: {error}", path.display())),
    }
}

fn write_trace(args: &Check, program: &Program, findings: &Findings) -> Result<(), String> {
    let Some(path) = &args.trace else {
        return Ok(());
    };
    let (Some(violation), Some((kind, story))) = (
        findings.outcome.violations.first(),
        findings.stories.first(),
    ) else {
        if !args.output.quiet {
            complain(&format!(
                "no counterexample: {} was not written\n",
                path.display()
            ));
        }
        return Ok(());
    };
    let trace = replay::trace_file(program, args.step.granularity, violation, *kind, story);
    std::fs::write(path, trace.to_json())
        .map_err(|error| format!("can not write {}: {error}", path.display()))
}

/// The number of transitions, by the accounting that was asked for.
fn transitions(args: &Check, outcome: &Outcome) -> u64 {
    let statistics = &outcome.statistics;
    statistics.transitions
        + match args.count_self_loops {
            SelfLoops::None => 0,
            SelfLoops::Blocked => statistics.blocked_steps,
            SelfLoops::All => statistics.blocked_steps + statistics.ended_steps,
        }
}

fn report(
    args: &Check,
    program: &Program,
    findings: &Findings,
    diagnostics: Vec<json::Diagnostic>,
) -> CheckReport {
    let statistics = &findings.outcome.statistics;
    let source = program.source();
    CheckReport {
        verdict: findings.verdict(),
        reason: findings.reason(),
        file: source.name.clone(),
        reduction: findings.outcome.reduction.into(),
        search: args.search.name().into(),
        granularity: args.step.granularity.name().into(),
        properties: property_names(args),
        states: statistics.states,
        transitions: transitions(args, &findings.outcome),
        depth: depth(&findings.outcome),
        seconds: statistics.elapsed.as_secs_f64(),
        peak_memory_bytes: memory::peak_bytes(),
        statistics: json::Statistics {
            blocked_steps: statistics.blocked_steps,
            ended_steps: statistics.ended_steps,
            terminated: statistics.terminated,
            cut: statistics.cut,
            deadlocked: statistics.deadlocked,
            failed: statistics.failed,
            peak_frontier: statistics.peak_frontier,
            search_memory_bytes: statistics.memory_bytes,
        },
        violations: findings
            .stories
            .iter()
            .map(|(kind, story)| json::Violation::new(*kind, story))
            .collect(),
        unreached: findings
            .unreached
            .iter()
            .map(|span| {
                let at = source.line_column(span.start);
                json::Unreached {
                    file: source.name.clone(),
                    line: at.line,
                    column: at.column,
                    text: first_line(source.snippet(*span)),
                }
            })
            .collect(),
        diagnostics,
        ..CheckReport::default()
    }
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or("").trim().to_owned()
}

fn text(args: &Check, program: &Program, findings: &Findings, terminal: Terminal) -> String {
    let mut text = String::new();
    for (kind, story) in &findings.stories {
        text += &match kind {
            ViolationKind::Goal => lanes::render_ending(story, &terminal.lanes()),
            _ => lanes::render(story, &terminal.lanes()),
        };
        text += "\n";
    }
    if terminal.is_quiet() {
        return text;
    }
    warn_unreached(program, findings, terminal);
    if args.stats {
        text += &statistics_table(args, &findings.outcome);
        text += "\n";
    }
    text + &summary(args, findings, terminal)
}

fn warn_unreached(program: &Program, findings: &Findings, terminal: Terminal) {
    const MOST: usize = 10;
    let source = program.source();
    for span in findings.unreached.iter().take(MOST) {
        let at = source.line_column(span.start);
        terminal.warning(&format!(
            "never reached: {}:{}:{}: {}",
            source.name,
            at.line,
            at.column,
            first_line(source.snippet(*span)),
        ));
    }
    if findings.unreached.len() > MOST {
        let more = findings.unreached.len() - MOST;
        terminal.warning(&format!(
            "never reached: {more} more places (see --format json)"
        ));
    }
}

fn summary(args: &Check, findings: &Findings, terminal: Terminal) -> String {
    let outcome = &findings.outcome;
    let statistics = &outcome.statistics;
    let (role, verdict) = match findings.verdict() {
        json::Verdict::Verified => (Role::Success, "verified".to_owned()),
        json::Verdict::Violation => (
            Role::Error,
            match findings.stories.len() {
                1 => "violation".to_owned(),
                n => format!("{n} violations"),
            },
        ),
        _ => (Role::Warning, "inconclusive".to_owned()),
    };
    let mut line = format!(
        "{}: {}, {}, depth {}, {} ({}, {})\n",
        terminal.palette().paint(role, &verdict),
        counted(statistics.states, "state"),
        counted(transitions(args, outcome), "transition"),
        number(depth(outcome)),
        time(args, outcome),
        outcome.reduction,
        args.search.name(),
    );
    if !args.property.is_empty() {
        line += &format!("  checked: {}\n", property_names(args).join(", "));
    }
    if findings.stories.is_empty() && statistics.failed > 0 {
        let ends = counted(statistics.failed, "end state");
        line += &format!("  in {ends} a thread had failed, which was not asked for\n");
    }
    if let Some(reason) = findings.reason() {
        line += &format!("  {reason}\n");
    } else if let Some(limit) = outcome.cut {
        line += &format!("  there may be more: {limit}\n");
    } else if statistics.cut > 0 {
        let cut = counted(statistics.cut, "end state");
        line += &format!("  {cut} cut by `assume`\n");
    }
    line
}

/// How many steps the search has gone from the initial state, those that failed included.
fn depth(outcome: &Outcome) -> u64 {
    let violations = outcome.violations.iter();
    let longest = violations
        .map(|violation| violation.schedule.len() as u64)
        .max();
    outcome.statistics.max_depth.max(longest.unwrap_or(0))
}

/// `1 state`, `2 states`
fn counted(count: u64, what: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{} {what}{plural}", number(count))
}

/// The time that the search took.
fn time(args: &Check, outcome: &Outcome) -> String {
    let time = duration(outcome.statistics.elapsed);
    match args.drawing.ascii {
        true => time.replace('µ', "u"),
        false => time,
    }
}

fn statistics_table(args: &Check, outcome: &Outcome) -> String {
    let statistics = &outcome.statistics;
    let per_state = statistics.memory_bytes / statistics.states.max(1);
    let seconds = statistics.elapsed.as_secs_f64().max(1e-9);
    key_values(&[
        ("states", number(statistics.states)),
        ("transitions", number(transitions(args, outcome))),
        ("blocked steps", number(statistics.blocked_steps)),
        ("steps of ended threads", number(statistics.ended_steps)),
        ("depth", number(depth(outcome))),
        ("terminated ends", number(statistics.terminated)),
        ("deadlocked ends", number(statistics.deadlocked)),
        ("failed ends", number(statistics.failed)),
        ("ends cut by assume", number(statistics.cut)),
        ("largest frontier", number(statistics.peak_frontier)),
        ("memory of the search", bytes(statistics.memory_bytes)),
        ("bytes per state", number(per_state)),
        (
            "peak memory",
            memory::peak_bytes().map_or_else(|| "unknown".into(), bytes),
        ),
        ("time", time(args, outcome)),
        (
            "states per second",
            number((statistics.states as f64 / seconds) as u64),
        ),
        (
            "transitions per second",
            number((statistics.transitions as f64 / seconds) as u64),
        ),
    ])
}
