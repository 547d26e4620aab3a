//! A failure as text.

use std::fmt::Write as _;

use raddle_outcome::{Assumptions, Nature};
use raddle_report::{assumptions, lanes};
use raddle_schedule::{Move, ThreadId};

use crate::explore::{Checked, found_by_going_on};
use crate::options::Options;
use crate::rt::{Failure, FailureKind, Place, Program, Stepping, spot};

/// What to say of the execution that a program has just made.
pub(crate) fn failure(program: &Program, failure: &Failure, executions: u64) -> String {
    let moves = program.schedule();
    let drawn = lanes::render(
        &program.story(),
        &lanes::Options {
            max_steps: Some(200),
            ..lanes::Options::default()
        },
    );
    let mut text = format!("{}\n\n{drawn}", failure.message);
    if !text.ends_with('\n') {
        text.push('\n');
    }
    for line in notes(&program.assumptions()) {
        let _ = writeln!(text, "\n{line}");
    }
    let _ = write!(
        text,
        "\nfound in execution {executions}; to run it again: {}RADDLE_REPLAY={}",
        limit_of(failure, moves.len()),
        schedule(&moves, &program.stepping())
    );
    text
}

/// The limit on steps that an execution has come to, if it has come to one and another limit is the default: with a higher one, it would not fail there.
fn limit_of(failure: &Failure, steps: usize) -> String {
    match failure.kind {
        FailureKind::TooManySteps if steps != Options::default().max_steps => {
            format!("RADDLE_MAX_STEPS={steps} ")
        }
        _ => String::new(),
    }
}

/// What to say of all failures of a check that went on after the first, beside that.
pub(crate) fn found(program: &Program, checked: &Checked) -> String {
    let (different, executions) = found_by_going_on(checked);
    let mut text = String::new();
    if different.is_empty() {
        return text;
    }
    let count = different.len();
    let failures = if count == 1 { "failure" } else { "failures" };
    let _ = write!(
        text,
        "\n\n{executions} executions failed, with {count} different {failures}:"
    );
    for finding in different {
        let _ = write!(
            text,
            "\n- {} ({} executions): RADDLE_KEEP_GOING=1 {}RADDLE_REPLAY={}",
            finding.failure.message,
            finding.executions,
            limit_of(&finding.failure, finding.schedule.len()),
            schedule(&finding.schedule, &program.stepping())
        );
    }
    let mut left_out = Assumptions::default();
    let assumptions = checked.explored.assumptions().iter();
    for limit in assumptions.filter(|one| one.kind.nature() == Nature::Limit) {
        left_out.add(limit.clone());
    }
    for line in notes(&left_out) {
        let _ = write!(text, "\n{line}");
    }
    text
}

/// What a check rests on: one line for each kind.
pub(crate) fn notes(all: &Assumptions<Place>) -> Vec<String> {
    let lines = assumptions::lines(&all.clone().map_places(spot), |_| true);
    lines
        .into_iter()
        .map(|line| format!("note: {line}"))
        .collect()
}

/// A schedule as a string: `0*3,1,0,2:1` is three steps of thread 0, one of thread 1, one of thread 0, and one of
/// thread 2 that takes alternative 1. Threads are numbered as they are started. What decides which steps there are comes behind a slash.
pub(crate) fn schedule(moves: &[Move], stepping: &Stepping) -> String {
    let mut text = String::new();
    let mut rest = moves;
    while let Some(&first) = rest.first() {
        let count = rest.iter().take_while(|&&next| next == first).count();
        if !text.is_empty() {
            text.push(',');
        }
        let _ = write!(text, "{}", first.thread.0);
        if first.choice != 0 {
            let _ = write!(text, ":{}", first.choice);
        }
        if count > 1 {
            let _ = write!(text, "*{count}");
        }
        rest = &rest[count..];
    }
    if !stepping.is_empty() {
        let _ = write!(text, "/{stepping}");
    }
    text
}

/// Reads what [`schedule`] has written.
pub(crate) fn parse_schedule(text: &str) -> Result<(Vec<Move>, Stepping), String> {
    let (text, stepping) = match text.split_once('/') {
        Some((text, stepping)) => (text, stepping.parse()?),
        None => (text, Stepping::default()),
    };
    let mut moves = Vec::new();
    for part in text.split(',').filter(|part| !part.trim().is_empty()) {
        let wrong = || format!("`{part}` is no part of a schedule");
        let part = part.trim();
        let (what, count) = part.split_once('*').unwrap_or((part, "1"));
        let (thread, choice) = what.split_once(':').unwrap_or((what, "0"));
        let next = Move {
            thread: ThreadId(thread.parse().map_err(|_| wrong())?),
            choice: choice.parse().map_err(|_| wrong())?,
        };
        let count = count.parse::<u32>().map_err(|_| wrong())?;
        moves.extend(std::iter::repeat_n(next, count as usize));
    }
    Ok((moves, stepping))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schedules_can_be_read_again() {
        let text = "0*3,1,0,2:1,2:1*2";
        let (moves, stepping) = parse_schedule(text).unwrap();
        assert_eq!(moves.len(), 8);
        assert_eq!(schedule(&moves, &stepping), "0*3,1,0,2:1*3");
        assert!(parse_schedule("0,x").is_err());
        let text = "0*3/o,0000002a,3f2a91bc+";
        let (moves, stepping) = parse_schedule(text).unwrap();
        assert_eq!(moves.len(), 3);
        assert_eq!(schedule(&moves, &stepping), text);
        assert!(parse_schedule("0/x").is_err());
    }
}
