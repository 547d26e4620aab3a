//! `raddle check --explore`: executions one by one.

use serde_json::Value;

use crate::support::{ENDLESS, Folder, raddle, raddle_reading};

const WAYS: [&str; 6] = [
    "optimal",
    "bounded",
    "iterative",
    "algorithm1",
    "cb-dfs",
    "dfs",
];

/// Fails if both threads write before one of them looks, which takes one preemption.
const ONE_PREEMPTION: &str = "
    int x;
    void a() { x = 1; assert(x == 1); }
    void b() { x = 2; }
    run a() || b();
";

#[test]
fn every_way_finds_what_is_wrong() {
    for how in WAYS {
        raddle_reading(&["check", "-", "--explore", how], ONE_PREEMPTION)
            .exits(1)
            .says(&["assertion failed", "violation: ", how]);
    }
}

#[test]
fn what_is_correct_is_verified() {
    let program = "int x; void a() { atomic { x++; } } void main() { thread t = spawn a(); thread u = spawn a(); join(t); join(u); assert(x == 2); }";
    for (how, executions) in [("optimal", 2), ("iterative", 2)] {
        raddle_reading(&["check", "-", "--explore", how], program)
            .exits(0)
            .complains_not()
            .says(&[&format!(
                "verified: {executions} executions of {executions} classes"
            )]);
    }
}

#[test]
fn verified_up_to_a_bound_is_not_verified() {
    for how in ["bounded", "iterative", "algorithm1", "cb-dfs"] {
        let arguments = ["check", "-", "--explore", how, "--bound", "0"];
        raddle_reading(&arguments, ONE_PREEMPTION).exits(3).says(&[
            "verified up to bound 0",
            "executions with more than 0 preemptions were not run",
        ]);
        let json = [&arguments[..], &["--format", "json"]].concat();
        let report = raddle_reading(&json, ONE_PREEMPTION).exits(3).json();
        assert_eq!(report["verdict"], "inconclusive");
        assert_eq!(report["exploration"]["explorer"], how);
        assert_eq!(report["exploration"]["bound"], 0);
        assert_eq!(report["exploration"]["verified_up_to_bound"], 0);
    }
}

#[test]
fn a_complete_exploration_claims_no_bound() {
    let program = "int x; void a() { x = 1; } run a();";
    let arguments = ["check", "-", "--explore", "bounded", "--format", "json"];
    let report = raddle_reading(&arguments, program).exits(0).json();
    assert_eq!(report["verdict"], "verified");
    assert_eq!(report["exploration"]["verified_up_to_bound"], Value::Null);
    assert_eq!(report["exploration"]["executions"], 1);
    assert_eq!(report["runs"], serde_json::json!([]));
}

#[test]
fn invariants_over_several_variables_are_seen() {
    // No thread sees both variables: only their order breaks the invariant.
    let program = "int x; int y; invariant !(x == 1 && y == 0);
        void a() { x = 1; } void b() { y = 1; } run b() || a();";
    for how in WAYS {
        raddle_reading(&["check", "-", "--explore", how], program)
            .exits(1)
            .says(&["invariant violated"]);
    }
}

#[test]
fn a_counterexample_can_be_replayed() {
    let folder = Folder::new("explored");
    let trace = folder.path("trace.json");
    for how in WAYS {
        let arguments = ["check", "examples/queue.rad", "--explore", how];
        raddle(&[&arguments[..], &["--trace", &trace]].concat()).exits(1);
        raddle(&["replay", &trace]).exits(1).says(&["deadlock"]);
    }
}

#[test]
fn executions_without_end_end_the_exploration() {
    for how in WAYS {
        let arguments = ["check", "-", "--explore", how, "--max-depth", "100"];
        raddle_reading(&arguments, ENDLESS).exits(3).says(&[
            "inconclusive: 0 executions",
            "more than 100 steps",
            "x++",
            "leave out `--explore`",
        ]);
    }
}

#[test]
fn limits_are_honoured() {
    let program = "int x; void a() { x++; x++; x++; } run a()[3];";
    let few = ["check", "-", "--explore", "dfs", "--max-executions", "7"];
    raddle_reading(&few, program).exits(3).says(&[
        "inconclusive: 7 executions",
        "the limit on executions was reached",
    ]);
    let short = ["check", "-", "--explore", "dfs", "--timeout", "1ms"];
    raddle_reading(&short, program)
        .exits(3)
        .says(&["the limit on time was reached"]);
    let choice = "void a() { int x = choose(0..1000000); assert(x >= 0); } run a();";
    raddle_reading(&["check", "-", "--explore", "optimal"], choice)
        .exits(3)
        .says(&["too many alternatives"]);
}

#[test]
fn what_can_not_be_combined_says_why() {
    for (more, complaint) in [
        (
            &["--explore", "dfs", "--reduction", "full"][..],
            "stores none",
        ),
        (&["--explore", "dfs", "--bound", "1"], "has no bound"),
        (&["--explore", "dfs", "--property", "race"], "data races"),
        (&["--explore", "dfs", "--workers", "2"], "--workers"),
        (&["--bound", "1"], "--explore"),
        (&["--max-executions", "1"], "--explore"),
        (&["--explore", "x"], "optimal, bounded"),
    ] {
        let arguments = [&["check", "examples/bank.rad"], more].concat();
        raddle(&arguments).exits(2).complains(&[complaint]);
    }
}
