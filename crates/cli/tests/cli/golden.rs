//! The text of reports, to the letter.

use crate::support::{Said, raddle, raddle_reading};

/// Every report ends with a line that says how long the search took.
fn without_time(said: &Said) -> String {
    let lines = said.stdout.lines().map(|line| {
        let (Some(start), Some(end)) = (line.rfind(", depth "), line.rfind(" (")) else {
            return line.to_owned();
        };
        let depth = line[start + 2..].split(", ").next().unwrap_or_default();
        format!("{}, {depth}, TIME{}", &line[..start], &line[end..])
    });
    lines.flat_map(|line| [line, "\n".into()]).collect()
}

#[test]
fn the_bank() {
    let said = raddle(&["check", "examples/bank.rad"])
        .exits(1)
        .complains_not();
    insta::assert_snapshot!("bank", without_time(&said));
}

#[test]
fn a_deadlock() {
    let said = raddle(&["check", "examples/queue.rad"])
        .exits(1)
        .complains_not();
    insta::assert_snapshot!("deadlock", without_time(&said));
}

#[test]
fn a_race() {
    let arguments = ["check", "examples/publish.rad", "--property", "race"];
    let said = raddle(&arguments).exits(1).complains_not();
    insta::assert_snapshot!("race", without_time(&said));
}

#[test]
fn an_invariant() {
    let program = "int x, y;\ninvariant x + y < 2;\nvoid a() { x = 1; }\nvoid b() { y = 1; }\n\
                   run a() || b();\n";
    let said = raddle_reading(&["check", "-"], program).exits(1);
    insta::assert_snapshot!("invariant", without_time(&said));
}

#[test]
fn a_goal() {
    let program = "int x;\nvoid main() {\n    x = 1;\n    if (x == 2) reach(\"two\");\n}\n";
    let said = raddle_reading(&["check", "-"], program).exits(1);
    insta::assert_snapshot!("goal", without_time(&said));
}

#[test]
fn a_runtime_error_in_ascii() {
    let arguments = ["check", "corpus/classics/division-race.rad", "--ascii"];
    let said = raddle(&arguments).exits(1);
    assert!(said.stdout.is_ascii(), "{}", said.stdout);
    insta::assert_snapshot!("ascii", without_time(&said));
}

#[test]
fn an_error_in_a_program() {
    let said = raddle_reading(&["check", "-"], "int x\nvoid main() { x = 1; }\n").exits(2);
    assert_eq!(said.stdout, "");
    insta::assert_snapshot!("program_error", said.stderr);
}

/// A correct program with one access that breaks the discipline of the others.
const NEARLY_PROTECTED: &str = "\
mutex m;
int hits;

void hit() {
    lock(m);
    hits++;
    unlock(m);
}

void look() {
    int seen = hits;
}

run hit() || look();
";

#[test]
fn an_explanation() {
    let said = raddle_reading(&["explain", "-"], NEARLY_PROTECTED)
        .exits(0)
        .complains_not();
    insta::assert_snapshot!("explanation", said.stdout);
}

#[test]
fn an_explanation_in_ascii() {
    let said = raddle_reading(&["explain", "-", "--ascii"], NEARLY_PROTECTED).exits(0);
    assert!(said.stdout.is_ascii(), "{}", said.stdout);
    insta::assert_snapshot!("explanation_ascii", said.stdout);
}

#[test]
fn an_explanation_as_json() {
    let said = raddle_reading(&["explain", "-", "--format", "json"], NEARLY_PROTECTED)
        .exits(0)
        .complains_not();
    insta::assert_snapshot!("explanation_json", said.stdout);
}
