//! The exact text of every format: other programs read it.

use raddle_outcome::{Kind, Verdict};

use super::*;
use crate::story::{Change, Ending, Event, Note, Spot, Story, Writes, Written};

fn spot(line: u32, column: u32, text: &str) -> Spot {
    Spot {
        file: "a.rad".to_owned(),
        line,
        column,
        text: text.to_owned(),
    }
}

fn story() -> Story {
    Story {
        threads: vec!["main".to_owned(), "worker".to_owned()],
        steps: vec![
            Event {
                thread: 1,
                at: spot(3, 5, "lock(m)"),
                action: "locks m".to_owned(),
                changes: Vec::new(),
                holds: vec!["m".to_owned()],
                ..Event::default()
            },
            Event {
                thread: 0,
                at: spot(7, 5, "x = 1"),
                action: "writes x = 1".to_owned(),
                changes: vec![Change {
                    name: "x".to_owned(),
                    before: Some("0".to_owned()),
                    after: "1".to_owned(),
                    shared: true,
                }],
                writes: Writes {
                    comes_before: Some(Written {
                        step: 1,
                        value: Some("2".to_owned()),
                    }),
                    ..Writes::default()
                },
                ..Event::default()
            },
        ],
        ending: Ending {
            message: "x == 0".to_owned(),
            in_last_step: true,
            notes: vec![Note {
                thread: Some(0),
                at: spot(8, 5, "assert(x == 0)"),
                text: "x is 1".to_owned(),
            }],
            ..Ending::default()
        },
    }
}

#[test]
fn a_whole_report() {
    let report = CheckReport {
        verdict: Verdict::Violation,
        file: "a.rad".to_owned(),
        reduction: "full".to_owned(),
        plan: "full, as asked for".to_owned(),
        search: "breadth-first".to_owned(),
        granularity: "access".to_owned(),
        properties: vec!["assertion".to_owned(), "deadlock".to_owned()],
        states: 12,
        transitions: 34,
        depth: 5,
        seconds: 0.25,
        peak_memory_bytes: Some(1_048_576),
        statistics: Statistics {
            blocked_steps: 1,
            ended_steps: 2,
            terminated: 3,
            cut: 4,
            deadlocked: 5,
            failed: 6,
            peak_frontier: 7,
            search_memory_bytes: 8,
            visited_states: Some(20),
            interior_states: Some(8),
            forced_ends: 9,
            endless: 10,
            rounds: 2,
        },
        runs: vec![Run {
            reduction: "full".to_owned(),
            properties: vec!["assertion".to_owned()],
            verdict: Verdict::Violation,
            reason: None,
            states: 12,
            transitions: 34,
            depth: 5,
            visited_states: None,
            forced_ends: 0,
            rounds: 1,
            seconds: 0.25,
            search_memory_bytes: 8,
        }],
        symmetry: vec![vec!["reader[0]".into(), "reader[1]".into()]],
        possible_deadlocks: vec![PossibleDeadlock {
            kind: PossibleDeadlockKind::Circle,
            message: "locks are taken in a circle".to_owned(),
            places: vec![Unreached::from(&spot(3, 5, "lock(m)"))],
        }],
        assumptions: vec![Assumption::from(
            &Kind::Steps.at(spot(4, 5, "x++;")).because("more than 100"),
        )],
        violations: vec![Violation::new(ViolationKind::Assertion, &story())],
        unreached: vec![Unreached::from(&spot(9, 5, "skip;"))],
        diagnostics: vec![Diagnostic {
            severity: Severity::Warning,
            message: "y is never read".to_owned(),
            file: "a.rad".to_owned(),
            line: 1,
            column: 5,
            help: vec!["remove it".to_owned()],
        }],
        ..CheckReport::default()
    };
    insta::assert_snapshot!(report.to_json());
}

#[test]
fn a_comparison() {
    let found = Found {
        kind: "assertion".to_owned(),
        line: Some(8),
        column: Some(5),
    };
    let row = ComparedRow {
        reduction: "transactions-none".to_owned(),
        sound: false,
        verdict: Verdict::Verified,
        reason: None,
        not_checked: vec!["deadlock".to_owned()],
        deadlock_excluded: None,
        states: 12,
        transitions: 34,
        interior_states: Some(5),
        forced_ends: 0,
        rounds: 2,
        seconds: 0.25,
        search_memory_bytes: 8,
        violations: Vec::new(),
        misses: vec![found.clone()],
    };
    let file = ComparedFile {
        file: "a.rad".to_owned(),
        rows: vec![row],
        disagreements: vec![Disagreement {
            about: found,
            found_by: "full".to_owned(),
            missed_by: "other".to_owned(),
        }],
        ..ComparedFile::default()
    };
    insta::assert_snapshot!(Comparison::new(vec![file]).to_json());
}

#[test]
fn what_is_not_known_is_null() {
    let nowhere = Violation::new(ViolationKind::Goal, &Story::default());
    let report = CheckReport {
        verdict: Verdict::Inconclusive,
        reason: Some("the limit on states was reached".to_owned()),
        violations: vec![nowhere],
        ..CheckReport::default()
    };
    insta::assert_snapshot!(report.to_json());
}

#[test]
fn a_violation_without_remarks_is_where_the_last_step_was() {
    let mut story = story();
    story.ending.notes.clear();
    let violation = Violation::new(ViolationKind::Invariant, &story);
    assert_eq!(violation.line, Some(7));
    assert_eq!(violation.thread.as_deref(), Some("main"));
    assert_eq!(violation.switches, 1);
}

#[test]
fn kinds_are_written_as_they_are_displayed() {
    use ViolationKind::{Assertion, Deadlock, Discipline, Goal, Invariant, Race, Runtime};
    for kind in [
        Assertion, Deadlock, Race, Runtime, Invariant, Discipline, Goal,
    ] {
        let json = serde_json::to_string(&kind).expect("a string");
        assert_eq!(json, format!("\"{kind}\""));
    }
}

fn trace_file() -> TraceFile {
    TraceFile::new(
        TracedProgram {
            file: "a.rad".to_owned(),
            hash: "00c0ffee".to_owned(),
        },
        "access",
        vec![
            ScheduledMove {
                thread: 1,
                choice: 0,
            },
            ScheduledMove {
                thread: 0,
                choice: u64::MAX,
            },
        ],
        TracedViolation {
            kind: ViolationKind::Assertion,
            message: "x == 0".to_owned(),
            line: Some(8),
            column: Some(5),
            repeats_from: None,
        },
    )
}

#[test]
fn a_trace_file() {
    let text = trace_file().to_json();
    insta::assert_snapshot!(text);
    assert_eq!(TraceFile::parse(&text), Ok(trace_file()));
}

#[test]
fn what_is_wrong_with_a_trace_file() {
    let whole = trace_file().to_json();
    let errors = [
        "",
        "int x;",
        "[]",
        "{\"format\": \"other\"}",
        "{\"format\": \"raddle-trace\"}",
        "{\"format\": \"raddle-trace\", \"version\": 0}",
        "{\"format\": \"raddle-trace\", \"version\": 7, \"schedule\": 3}",
        &whole.replace("\"thread\": 1", "\"thread\": -1"),
        &whole.replace("\"hash\"", "\"hush\""),
        &whole.replace("\"assertion\"", "\"rage\""),
        &whole[..whole.len() / 2],
    ]
    .map(|text| {
        TraceFile::parse(text)
            .expect_err("no trace file")
            .to_string()
    });
    insta::assert_snapshot!(errors.join("\n"));
}
