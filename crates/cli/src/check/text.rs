//! What searches add to the text for people.

use std::sync::Arc;
use std::time::Duration;

use raddle_explore::Outcome;
use raddle_machine::Program;
use raddle_outcome::{Kind, Verdict};
use raddle_report::table::{bytes, duration, key_values, number};

use super::findings::{Details, Findings};
use super::searches::{Searched, answer_of};
use super::{depth, plan, visited};
use crate::args::Check;
use crate::memory;

pub(super) fn details(
    args: &Check,
    program: &Arc<Program>,
    findings: &Findings,
    searched: &Searched,
) -> Details {
    let decisive = searched.decisive();
    let mut statistics = String::new();
    if args.stats {
        for (run, machine) in searched.runs.iter().zip(&searched.machines) {
            if searched.runs.len() > 1 {
                statistics += &format!("{} ({}):\n", run.asked.reduction, about(searched, run));
            }
            statistics += &statistics_table(args, run, machine);
            statistics += "\n";
        }
    }
    let mut lines = plan::remarks(searched, args, program);
    for (index, other) in searched.runs.iter().enumerate() {
        if index != searched.decisive {
            let subject = about(searched, other);
            let answer = answer_of(other);
            let verdict = answer.verdict.name();
            lines.push(format!("{subject}: {verdict}, {}", numbers(args, other)));
            lines.extend(answer.reason.map(|reason| format!("  {reason}")));
        }
    }
    Details {
        statistics,
        numbers: numbers(args, decisive),
        plan: lines,
        remarks: remarks(findings, searched),
        told: Some(Kind::NotPreserved),
    }
}

fn remarks(findings: &Findings, searched: &Searched) -> Vec<String> {
    let decisive = searched.decisive();
    let mut remarks = Vec::new();
    let failed = decisive.statistics.faults_not_asked;
    if findings.stories.is_empty() && failed > 0 {
        let steps = counted(failed, "step");
        remarks.push(format!("{steps} failed, which was not asked for"));
    }
    if let Some(limit) = &decisive.noticed.switches_cut {
        remarks.push(format!(
            "there may be a schedule with fewer context switches: {limit}"
        ));
    }
    let is_verified = findings.answer().verdict == Verdict::Verified;
    if is_verified && searched.runs.iter().all(|run| run.noticed.may_race) {
        remarks
            .push("data races were not asked for, and there may be some (--property race)".into());
    }
    remarks
}

/// What a search was for, if there are two.
fn about(searched: &Searched, run: &Outcome) -> &'static str {
    match std::ptr::eq(run, &raw const searched.runs[0]) {
        true => "everything else",
        false => "deadlock",
    }
}

/// `19 states, 18 transitions, depth 9, 27 µs (full, bfs)`
fn numbers(args: &Check, outcome: &Outcome) -> String {
    format!(
        "{}, {}, depth {}, {} ({}, {})",
        counted(outcome.statistics.states, "state"),
        counted(args.counting.transitions(&outcome.statistics), "transition"),
        number(depth(outcome)),
        time(args, outcome),
        outcome.asked.reduction,
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

fn statistics_table(args: &Check, outcome: &Outcome, machine: &str) -> String {
    let statistics = &outcome.statistics;
    let visited = visited(args, outcome);
    let interior = visited.map(|visited| visited - statistics.states);
    let if_counted = |count: Option<u64>| count.map_or_else(|| "not counted".into(), number);
    let states = statistics.states.max(1) as f64;
    let per_state = statistics.memory_bytes as f64 / states;
    let seconds = statistics.elapsed.as_secs_f64().max(1e-9);
    let per_second = |count: u64| number((count as f64 / seconds) as u64);
    let by_kind: Vec<String> = (outcome.noticed.memory.iter())
        .map(|(what, bytes)| format!("{:.1} {what}", *bytes as f64 / states))
        .collect();
    key_values(&[
        ("states", number(statistics.states)),
        ("transitions", number(args.counting.transitions(statistics))),
        ("visited states", if_counted(visited)),
        ("interior states", if_counted(interior)),
        ("forced ends", number(statistics.forced_ends)),
        ("endless threads", number(statistics.endless)),
        ("rounds", number(statistics.rounds)),
        ("blocked steps", number(statistics.blocked_steps)),
        ("steps of ended threads", number(statistics.ended_steps)),
        ("depth", number(depth(outcome))),
        ("terminated ends", number(statistics.ends.terminated)),
        ("deadlocked ends", number(statistics.ends.deadlocked)),
        ("failed ends", number(statistics.ends.failed)),
        ("ends cut by assume", number(statistics.ends.cut)),
        ("largest frontier", number(statistics.peak_frontier)),
        ("memory of the search", bytes(statistics.memory_bytes)),
        ("bytes per state", format!("{per_state:.1}")),
        ("store", outcome.noticed.store.into()),
        ("of these bytes", by_kind.join(", ")),
        (
            "peak memory",
            memory::peak_bytes().map_or_else(|| "unknown".into(), bytes),
        ),
        ("machine", machine.to_owned()),
        ("workers", number(statistics.workers as u64)),
        ("time", time(args, outcome)),
        ("states per second", per_second(statistics.states)),
        ("transitions per second", per_second(statistics.transitions)),
    ])
}
