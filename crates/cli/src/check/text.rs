//! The findings of a check, for people.

use std::sync::Arc;
use std::time::Duration;

use raddle_explore::{Inconclusive, Outcome, Verdict};
use raddle_lang::Span;
use raddle_machine::Program;
use raddle_report::json::{self, ViolationKind};
use raddle_report::lanes;
use raddle_report::story::{Spot, Story};
use raddle_report::style::Role;
use raddle_report::table::{bytes, duration, key_values, number};

use super::searches::{Findings, reason_of, verdict_of};
use super::{depth, first_line, plan, property_names, transitions, visited};
use crate::args::Check;
use crate::memory;
use crate::terminal::Terminal;

pub(super) fn text(
    args: &Check,
    program: &Arc<Program>,
    findings: &Findings,
    terminal: Terminal,
) -> String {
    let mut text = stories(&findings.stories, terminal);
    if terminal.is_quiet() {
        return text;
    }
    warn_unreached(program, &findings.unreached, terminal);
    if let Some(places) = &findings.never_ends {
        warn_never_ends(places, terminal);
    }
    if args.stats {
        for run in &findings.runs {
            if findings.runs.len() > 1 {
                text += &format!("{} ({}):\n", run.reduction, about(findings, run));
            }
            text += &statistics_table(args, run);
            text += "\n";
        }
    }
    text + &summary(args, program, findings, terminal)
}

/// The stories, one below the other.
pub(super) fn stories(stories: &[(ViolationKind, Story)], terminal: Terminal) -> String {
    let mut text = String::new();
    for (kind, story) in stories {
        text += &match kind {
            ViolationKind::Goal => lanes::render_ending(story, &terminal.lanes()),
            _ => lanes::render(story, &terminal.lanes()),
        };
        text += "\n";
    }
    text
}

pub(super) fn warn_unreached(program: &Program, unreached: &[Span], terminal: Terminal) {
    const MOST: usize = 10;
    let source = program.source();
    for span in unreached.iter().take(MOST) {
        let at = source.line_column(span.start);
        let text = first_line(source.snippet(*span));
        // Whether it was reached, and never let anybody pass, is not known; this holds either way.
        let waits = ["assume", "await"].iter().any(|word| {
            let rest = text.strip_prefix(word).map(str::trim_start);
            rest.is_some_and(|rest| rest.starts_with('('))
        });
        let never = if waits { "passed" } else { "reached" };
        terminal.warning(&format!(
            "never {never}: {}:{}:{}: {text}",
            source.name, at.line, at.column,
        ));
    }
    if unreached.len() > MOST {
        let more = unreached.len() - MOST;
        terminal.warning(&format!(
            "never reached: {more} more places (see --format json)"
        ));
    }
}

/// Says that the program never ends, and where it goes round.
fn warn_never_ends(places: &[Spot], terminal: Terminal) {
    const MOST: usize = 3;
    let hint = "(--property termination shows how)";
    if places.is_empty() {
        terminal.warning(&format!("no execution ends {hint}"));
    }
    for at in places.iter().take(MOST) {
        terminal.warning(&format!(
            "no execution ends: {}:{}:{}: {} goes on for ever {hint}",
            at.file, at.line, at.column, at.text
        ));
    }
}

fn summary(
    args: &Check,
    program: &Arc<Program>,
    findings: &Findings,
    terminal: Terminal,
) -> String {
    let decisive = findings.decisive();
    let statistics = &decisive.statistics;
    let (role, verdict) = headline(findings.verdict(), findings.stories.len());
    let verdict = terminal.palette().paint(role, &verdict);
    let mut lines = vec![format!("{verdict}: {}", numbers(args, decisive))];
    let mut remark = |remark: String| lines.push(format!("  {remark}"));
    for line in plan::remarks(findings, args, program) {
        remark(line);
    }
    for (index, other) in findings.runs.iter().enumerate() {
        if index != findings.decisive_index() {
            let subject = about(findings, other);
            let verdict = verdict_word(other);
            remark(format!("{subject}: {verdict}, {}", numbers(args, other)));
            if let Some(reason) = reason_of(other) {
                remark(format!("  {reason}"));
            }
        }
    }
    if !args.asked.property.is_empty() {
        let names = property_names(findings.checked(args), args);
        remark(format!("checked: {}", names.join(", ")));
    }
    if findings.stories.is_empty() && statistics.faults_not_asked > 0 {
        let steps = counted(statistics.faults_not_asked, "step");
        remark(format!("{steps} failed, which was not asked for"));
    }
    if let Some(limit) = decisive.switches_cut {
        remark(format!(
            "there may be a schedule with fewer context switches: {limit}"
        ));
    }
    let lost = !decisive.vacuous
        && matches!(
            decisive.verdict(),
            Verdict::Inconclusive(Inconclusive::NotPreserved(_))
        );
    if findings.verdict() == json::Verdict::Verified && findings.runs.iter().all(|run| run.may_race)
    {
        remark("data races were not asked for, and there may be some (--property race)".into());
    }
    if let Some(reason) = findings.reason() {
        // What was lost has been said with the reduction.
        if !lost {
            remark(reason);
        }
    } else if let Some(limit) = decisive.cut {
        remark(format!("there may be more: {limit}"));
    } else if statistics.cut > 0 {
        remark(format!(
            "{} cut by `assume`",
            counted(statistics.cut, "end state")
        ));
    } else if statistics.cut_between > 0 {
        remark("some executions were cut by `assume`".into());
    }
    lines.join("\n") + "\n"
}

/// The verdict in a word or two.
pub(super) fn headline(verdict: json::Verdict, violations: usize) -> (Role, String) {
    match verdict {
        json::Verdict::Verified => (Role::Success, "verified".to_owned()),
        json::Verdict::Violation => (
            Role::Error,
            match violations {
                1 => "violation".to_owned(),
                n => format!("{n} violations"),
            },
        ),
        _ => (Role::Warning, "inconclusive".to_owned()),
    }
}

/// What a search was for, if there are two.
fn about(findings: &Findings, run: &Outcome) -> &'static str {
    match std::ptr::eq(run, &raw const findings.runs[0]) {
        true => "everything else",
        false => "deadlock",
    }
}

fn verdict_word(run: &Outcome) -> &'static str {
    match verdict_of(run) {
        json::Verdict::Verified => "verified",
        json::Verdict::Violation => "violation",
        json::Verdict::Inconclusive | json::Verdict::Error => "inconclusive",
    }
}

/// `19 states, 18 transitions, depth 9, 27 µs (full, bfs)`
fn numbers(args: &Check, outcome: &Outcome) -> String {
    format!(
        "{}, {}, depth {}, {} ({}, {})",
        counted(outcome.statistics.states, "state"),
        counted(transitions(args, outcome), "transition"),
        number(depth(outcome)),
        time(args, outcome),
        outcome.reduction,
        args.search.name(),
    )
}

/// `1 state`, `2 states`
pub(super) fn counted(count: u64, what: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{} {what}{plural}", number(count))
}

/// The time that the search took.
fn time(args: &Check, outcome: &Outcome) -> String {
    elapsed(args, outcome.statistics.elapsed)
}

pub(super) fn elapsed(args: &Check, time: Duration) -> String {
    let time = duration(time);
    match args.drawing.ascii {
        true => time.replace('µ', "u"),
        false => time,
    }
}

fn statistics_table(args: &Check, outcome: &Outcome) -> String {
    let statistics = &outcome.statistics;
    let visited = visited(args, outcome);
    let interior = visited.map(|visited| visited - statistics.states);
    let if_counted = |count: Option<u64>| count.map_or_else(|| "not counted".into(), number);
    let per_state = statistics.memory_bytes / statistics.states.max(1);
    let seconds = statistics.elapsed.as_secs_f64().max(1e-9);
    let per_second = |count: u64| number((count as f64 / seconds) as u64);
    key_values(&[
        ("states", number(statistics.states)),
        ("transitions", number(transitions(args, outcome))),
        ("visited states", if_counted(visited)),
        ("interior states", if_counted(interior)),
        ("forced ends", number(statistics.forced_ends)),
        ("endless threads", number(statistics.endless)),
        ("rounds", number(statistics.rounds)),
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
        ("states per second", per_second(statistics.states)),
        ("transitions per second", per_second(statistics.transitions)),
    ])
}
