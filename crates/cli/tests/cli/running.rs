//! `raddle run`: one random schedule.

use crate::support::{programs, raddle, raddle_reading};

#[test]
fn a_seed_determines_the_schedule() {
    let run = |seed: &str| raddle(&["run", "examples/bank.rad", "--seed", seed]).stdout;
    assert_eq!(run("7"), run("7"));
    assert!(run("7").contains("seed 7: "));
    let schedules: std::collections::BTreeSet<_> = (0..10)
        .map(|seed| run(&seed.to_string()).replace(&format!("seed {seed}"), ""))
        .collect();
    assert!(schedules.len() > 3);
}

#[test]
fn steps_are_limited() {
    let program = "int x; void main() { while (true) x = 1 - x; }";
    raddle_reading(&["run", "-", "--seed", "1", "--steps", "7"], program)
        .exits(0)
        .says(&["7 steps", "seed 1: 7 steps, stopped by the limit on steps"]);
    let report = [
        "run", "-", "--seed", "1", "--steps", "7", "--format", "json",
    ];
    let report = raddle_reading(&report, program).exits(0).json();
    assert_eq!(report["verdict"], "inconclusive");
    assert_eq!(report["depth"], 7);
    raddle_reading(&["run", "-", "--seed", "1"], program)
        .exits(0)
        .says(&["seed 1: 1000 steps"]);
}

#[test]
fn ends_are_told_apart() {
    for (program, code, text) in [
        ("void main() { }", 0, "all threads have ended"),
        ("void main() { assume(false); }", 0, "cut by an `assume`"),
        ("void main() { await(false); }", 1, "error: deadlock"),
        (
            "void main() { atomic { choose { assume(false); } or { await(false); } } }",
            1,
            "error: deadlock",
        ),
        ("void main() { assert(false); }", 1, "assertion failed"),
        ("int x; void main() { x = 1 / x; }", 1, "division by zero"),
        (
            "int x; invariant x == 0; void main() { x = 1; }",
            1,
            "x = 1",
        ),
    ] {
        raddle_reading(&["run", "-", "--seed", "1"], program)
            .exits(code)
            .says(&[text]);
    }
}

#[test]
fn every_program_runs() {
    let mut broken = Vec::new();
    for program in programs() {
        let said = raddle(&["run", &program, "--seed", "1", "--steps", "100"]);
        if !matches!(said.code, Some(0 | 1)) {
            broken.push(format!("{program}: {}", said.stderr));
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

#[test]
fn very_many_alternatives_are_no_burden() {
    let program = "int x; void main() { x = choose(0..2147483647); }";
    raddle_reading(&["run", "-", "--seed", "1"], program)
        .exits(0)
        .says(&["all threads have ended"]);
}

#[test]
fn a_broken_discipline_is_a_violation() {
    let program = "mutex m; int x guarded_by m; void a() { x = 1; } run a() || a();";
    raddle_reading(&["run", "-", "--seed", "1"], program)
        .exits(1)
        .says(&["1 steps, violation"]);
}
