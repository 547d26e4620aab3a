//! Executions that do not end.

use crate::support::{Folder, Said, raddle, raddle_reading};

fn check(options: &[&str], program: &str) -> Said {
    raddle_reading(&[&["check", "-"], options].concat(), program)
}

/// A thread that polls for what nobody does, and one that is done.
const POLLS: &str = "bool go; int x;
    void polls() { while (!go) skip; }
    void writes() { x = 1; }
    run polls() || writes();";

#[test]
fn termination_is_checked_on_request_and_by_the_full_search() {
    check(&["--property", "termination"], POLLS)
        .exits(1)
        .says(&[
            "from here on, again and again",
            "error: the execution does not end: one thread goes on for ever",
            "goes on for ever",
            "auto: full, because termination is asked for",
        ]);
    check(&["--property", "all"], POLLS).exits(0);
    check(&["--property", "all,termination"], POLLS).exits(1);
    check(
        &["--property", "termination", "--reduction", "cartesian"],
        POLLS,
    )
    .exits(2)
    .complains(&["does not preserve: termination; these do: full"]);
    // A fair scheduler runs the thread that sets it.
    let set = POLLS.replace("x = 1", "go = true");
    check(&["--property", "termination"], &set).exits(0);
    check(&["--property", "termination", "--max-states", "1"], &set).exits(3);
}

#[test]
fn an_endless_execution_can_be_replayed() {
    let folder = Folder::new("endless-trace");
    let program = folder.write("polls.rad", POLLS);
    let trace = folder.path("trace.json");
    let arguments = [
        "check",
        &program,
        "--property",
        "termination",
        "--trace",
        &trace,
    ];
    let said = raddle(&[&arguments[..], &["--format", "json"]].concat()).exits(1);
    let violation = &said.json()["violations"][0];
    assert_eq!(violation["kind"], "termination");
    let repeats_from = violation["trace"]["repeats_from"].as_u64().unwrap() as usize;
    let steps = violation["trace"]["steps"].as_array().unwrap();
    assert!(repeats_from < steps.len());
    raddle(&["replay", &trace])
        .exits(1)
        .says(&["again and again", "the execution does not end"]);
    // The part that repeats must come back to where it began.
    let text = folder.read("trace.json");
    let here = format!("\"repeats_from\": {repeats_from}");
    assert!(text.contains(&here), "{text}");
    let text = text.replace(&here, "\"repeats_from\": 1000");
    let wrong = folder.write("wrong.json", &text);
    raddle(&["replay", &wrong])
        .exits(2)
        .complains(&["no longer fits"]);
}

/// Guards against a silent `verified` for a program that only goes round.
#[test]
fn a_program_that_never_ends_is_verified_with_a_warning() {
    for options in [
        &[][..],
        &["--reduction", "full"],
        &["--reduction", "optimistic"],
    ] {
        check(options, POLLS)
            .exits(0)
            .complains(&["warning: no execution ends: <stdin>:2:20: while (!go) goes on for ever"]);
    }
    let report = check(&["--format", "json"], POLLS).exits(0).json();
    assert_eq!(report["never_ends"][0]["line"], 2);
    // Some execution ends.
    let some = POLLS.replace("x = 1", "go = true");
    let said = check(&[], &some).exits(0);
    assert!(
        !said.stderr.contains("no execution ends"),
        "{}",
        said.stderr
    );
}

#[test]
fn races_that_were_not_asked_for_are_mentioned() {
    let line = "data races were not asked for, and there may be some (--property race)";
    let races = "int x; void w() { x = 1; } run w() || w();";
    for reduction in ["auto", "full", "optimistic", "transactions", "cartesian"] {
        check(&["--reduction", reduction], races)
            .exits(0)
            .says(&[line]);
    }
    let locked = "int x; mutex m; void w() { lock(m); x = x + 1; unlock(m); } run w() || w();";
    let atomic = "atomic int x; void w() { x = 1; } run w() || w();";
    for program in [locked, atomic] {
        for reduction in ["auto", "optimistic", "transactions", "cartesian"] {
            let said = check(&["--reduction", reduction], program).exits(0);
            assert!(
                !said.stdout.contains("data races"),
                "{reduction}: {}",
                said.stdout
            );
        }
    }
}
