//! Searches that prove nothing.

use std::process::Stdio;

use crate::support::{ENDLESS, Said, command, raddle_reading};

/// No test waits or takes memory for ever, even if the limit it is about fails.
const GUARD: [&str; 2] = ["--max-states", "3M"];

fn check(options: &[&str], program: &str) -> crate::support::Said {
    let arguments = [&["check", "-"], options].concat();
    raddle_reading(&arguments, program)
}

#[test]
fn each_limit_is_inconclusive() {
    for (limit, value, reason) in [
        ("--max-states", "100", "the limit on states was reached"),
        ("--max-depth", "5", "the limit on depth was reached"),
        ("--timeout", "50ms", "the limit on time was reached"),
        ("--max-memory", "1M", "the limit on memory was reached"),
    ] {
        for order in ["bfs", "dfs", "switches"] {
            let mut options = vec![limit, value, "--search", order];
            if limit != "--max-states" {
                options.extend(GUARD);
            }
            check(&options, ENDLESS)
                .exits(3)
                .says(&["inconclusive: ", reason]);
            options.extend(["--format", "json"]);
            let report = check(&options, ENDLESS).exits(3).json();
            assert_eq!(report["verdict"], "inconclusive");
            let told = report["reason"].as_str().expect("there is a reason");
            assert!(told.starts_with(reason), "{told}");
        }
    }
}

/// Each step leads to a new state, and no step is seen by anybody: a reduction stores hardly any of them.
#[test]
fn a_lock_that_is_taken_again_and_again_comes_to_each_limit() {
    let program = "reentrant mutex m; int x;
        void taker() { while (true) { if (try_lock(m)) skip; } }
        void other() { x = 1; }
        run taker() || other();";
    for reduction in ["full", "cartesian", "transactions", "optimistic", "auto"] {
        for (limit, value, reason) in [
            ("--max-states", "1000", "the limit on states was reached"),
            ("--timeout", "100ms", "the limit on time was reached"),
        ] {
            let mut options = vec!["--reduction", reduction, limit, value];
            if limit != "--max-states" {
                options.extend(GUARD);
            }
            check(&options, program)
                .exits(3)
                .says(&["inconclusive: ", reason]);
        }
    }
}

/// The limit on time is for everything that the command does: it does not wait for ever for the
/// text of the program either.
#[test]
fn the_limit_on_time_covers_what_is_before_the_search() {
    for subcommand in ["check", "explain"] {
        for format in ["text", "json"] {
            let arguments = [subcommand, "-", "--timeout", "50ms", "--format", format];
            let child = command(&arguments).stdin(Stdio::piped()).spawn();
            let mut child = child.expect("the command can be run");
            // Nobody writes to it, and nobody closes it.
            let stdin = child.stdin.take().expect("it is piped");
            let output = child.wait_with_output().expect("the command ends");
            drop(stdin);
            let said = Said::from(output).exits(3);
            let reason = "the limit on time was reached before - was compiled";
            if format == "json" {
                let report = said.json();
                assert_eq!(report["verdict"], "inconclusive");
                assert_eq!(report["reason"], reason);
            } else {
                said.says(&["inconclusive: ", reason]);
            }
        }
    }
}

#[test]
fn a_limit_that_is_not_reached_changes_nothing() {
    let options = [
        "--max-states",
        "1k",
        "--timeout",
        "1m",
        "--max-memory",
        "1G",
    ];
    check(&options, "int x; void main() { x = 1; }")
        .exits(0)
        .says(&["verified: 1 state, 1 transition"]);
}

#[test]
fn a_violation_within_the_limit_is_one() {
    let program = "int x; void w() { while (true) x++; } void a() { assert(false); }
        run w()[3] || a();";
    check(&["--max-states", "1000"], program).exits(1);
    check(&["--max-states", "1000", "--all"], program)
        .exits(1)
        .says(&["there may be more: the limit on states was reached"]);
}

#[test]
fn a_vacuous_program_is_not_verified() {
    let program = "int x; void main() { x = 1; assume(x == 2); assert(false); }";
    check(&[], program).exits(3).says(&[
        "inconclusive: ",
        "vacuous: every execution that was seen to its end was cut by an `assume`",
    ]);
    let report = check(&["--format", "json"], program).exits(3).json();
    assert!(report["reason"].as_str().unwrap().contains("vacuous"));
}

#[test]
fn transactions_call_only_what_they_have_seen_vacuous() {
    // Whoever gets both locks is cut; the deadlock is in no transaction.
    let program = "mutex a, b; int x;
        void one() { lock(a); lock(b); x = 1; assume(x == 2); unlock(b); unlock(a); }
        void two() { lock(b); lock(a); x = 1; assume(x == 2); unlock(a); unlock(b); }
        run one() || two();";
    check(&["--reduction", "transactions"], program)
        .exits(3)
        .says(&["vacuous: every execution that was seen to its end was cut by an `assume`"]);
    check(&[], program).exits(1).says(&[
        "deadlock: 2 threads wait for ever",
        "every execution that was seen to its end was cut",
    ]);
}

#[test]
fn more_threads_than_can_be_kept_are_inconclusive() {
    let program = "int go; void waits() { await(go == 1); }
        void main() { atomic { for (int i = 0; i < 4096; i++) { spawn waits(); } } }";
    let reason = "an execution is larger than can be kept: more than 4096 threads at a time";
    check(&[], program)
        .exits(3)
        .says(&["inconclusive: ", reason]);
    raddle_reading(&["run", "-"], program)
        .exits(0)
        .says(&["stopped: more than 4096 threads at a time"]);
}

#[test]
fn ends_that_were_cut_are_counted() {
    let program = "void main() { int n = choose(1..3); assume(n != 2); }";
    check(&["--reduction", "full"], program).exits(0).says(&[
        "verified: ",
        "executions were cut by `assume`: 1 end state\n",
    ]);
    // A reduction may not come to an end state there.
    check(&["--reduction", "transactions"], program)
        .exits(0)
        .says(&["verified: ", "executions were cut by `assume`\n"]);
}

/// Guards against enumerating two billion alternatives before the first, which fails, is reported.
#[test]
fn the_first_alternative_that_fails_is_reported_at_once() {
    let program = "int x; mutex m;
        void main() { lock(m); x = 1; unlock(m);
            int c = choose(0..2000000000); assert(c != 0); }";
    let alone = "void main() { int c = choose(0..2000000000); assert(c != 0); }";
    for program in [program, alone] {
        for reduction in ["auto", "full", "optimistic", "transactions", "cartesian"] {
            for order in ["bfs", "dfs", "switches"] {
                let options = ["--reduction", reduction, "--search", order];
                let limit = ["--max-states", "10k"];
                check(&[&options[..], &["--timeout", "100s"]].concat(), program)
                    .exits(1)
                    .says(&["assertion failed: c != 0"]);
                check(&[&options[..], &limit].concat(), program).exits(1);
            }
        }
    }
}

#[test]
fn time_is_kept_within_one_expansion() {
    let program =
        "int x; void main() { int c = choose(0..2000000000); x = c; } run main() || main();";
    for reduction in ["auto", "full", "optimistic", "transactions", "cartesian"] {
        let options = ["--reduction", reduction, "--timeout", "50ms"];
        check(&options, program)
            .exits(3)
            .says(&["the limit on time was reached"]);
    }
}
