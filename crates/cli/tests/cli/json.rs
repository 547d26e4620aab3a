//! `--format json`: one object on standard output, whatever happens.

use serde_json::Value;

use crate::schema;
use crate::support::{Folder, raddle, raddle_reading};

/// The fields of every report, in their order.
const FIELDS: [&str; 23] = [
    "version",
    "verdict",
    "reason",
    "file",
    "reduction",
    "plan",
    "search",
    "granularity",
    "properties",
    "states",
    "transitions",
    "depth",
    "seconds",
    "peak_memory_bytes",
    "statistics",
    "runs",
    "symmetry",
    "possible_deadlocks",
    "assumptions",
    "exploration",
    "violations",
    "unreached",
    "diagnostics",
];

#[track_caller]
fn has_all_fields(report: &Value) {
    let fields: Vec<_> = report.as_object().unwrap().keys().collect();
    assert_eq!(fields, FIELDS);
    assert_eq!(report["version"], 1);
    assert_eq!(schema::differences(report), [""; 0]);
}

#[test]
fn a_check_is_a_report() {
    let said = raddle(&["check", "examples/bank.rad", "--format", "json"]);
    let report = said.exits(1).complains_not().json();
    has_all_fields(&report);
    assert_eq!(report["verdict"], "violation");
    assert_eq!(report["reason"], Value::Null);
    assert_eq!(report["file"], "examples/bank.rad");
    assert_eq!(report["reduction"], "transactions");
    assert!(report["plan"].as_str().unwrap().starts_with("auto: "));
    assert_eq!(report["search"], "bfs");
    assert_eq!(report["granularity"], "access");
    let properties = [
        "assertion",
        "runtime",
        "deadlock",
        "invariant",
        "discipline",
        "goal",
    ];
    assert_eq!(report["properties"], serde_json::json!(properties));
    assert!(report["states"].as_u64() > Some(0) && report["transitions"].as_u64() > Some(0));

    let [violation] = report["violations"].as_array().unwrap().as_slice() else {
        panic!("{report}");
    };
    assert_eq!(violation["kind"], "assertion");
    assert_eq!(
        violation["message"],
        "assertion failed: the account is overdrawn"
    );
    assert_eq!(violation["line"], 17);
    assert_eq!(violation["thread"], "withdraw#1");
    assert_eq!(violation["switches"], 2);
    let steps = violation["trace"]["steps"].as_array().unwrap();
    assert_eq!(steps.len(), 15);
    for field in [
        "thread", "file", "line", "column", "text", "action", "changes", "holds",
    ] {
        assert!(steps[0].get(field).is_some(), "{field}");
    }
}

#[test]
fn kinds_of_violations_are_named() {
    let invariant = "int x; invariant x == 0; void main() { x = 1; }";
    let goal = "int x; void main() { if (x == 1) reach; }";
    let race = "int x; void w() { x = 1; } run w()[2];";
    let deadlock = "mutex m; void main() { lock(m); lock(m); }";
    let discipline = "mutex m; int x guarded_by m; void w() { x = 1; } run w()[2];";
    let runtime = "int x; void main() { x = 1 / x; }";
    for (program, property, kind) in [
        (invariant, "invariant", "invariant"),
        (goal, "goal", "goal"),
        (race, "race", "race"),
        (deadlock, "deadlock", "deadlock"),
        (runtime, "runtime", "runtime"),
        (discipline, "discipline", "discipline"),
    ] {
        let arguments = ["check", "-", "--format", "json", "--property", property];
        let report = raddle_reading(&arguments, program).exits(1).json();
        has_all_fields(&report);
        assert_eq!(report["violations"][0]["kind"], kind);
    }
}

#[test]
fn errors_are_reports_too() {
    let folder = Folder::new("json-errors");
    let broken = folder.write("broken.rad", "int x\nvoid main() { x = 1; }");
    let garbage = folder.write("garbage.json", "garbage");
    let bank = "examples/bank.rad";
    for (arguments, reason) in [
        (&["check", "no/such.rad"][..], "cannot read"),
        (&["check", &broken], "has an error"),
        (&["check", bank, "--reduction", "x"], "no reduction `x`"),
        (&["compare", bank, "--reduction", "x"], "no reduction `x`"),
        (&["check", bank, "--trace", "no/such/file"], "cannot write"),
        (&["run", "no/such.rad"], "cannot read"),
        (&["run", &broken], "has an error"),
        (&["replay", "no/such.json"], "cannot read"),
        (&["replay", &garbage], "not JSON"),
        (&["replay", bank], "is a program, not a trace"),
        (&["replay", bank, "-i"], "leave out --format json"),
        (&["check", bank, "--bogus"], "unexpected argument '--bogus'"),
        (&["check"], "required arguments were not provided"),
    ] {
        let said = raddle(&[arguments, &["--format", "json"]].concat()).exits(2);
        let report = said.json();
        has_all_fields(&report);
        assert_eq!(report["verdict"], "error", "{arguments:?}");
        assert!(
            report["reason"].as_str().unwrap().contains(reason),
            "{report}"
        );
        assert!(
            said.stderr.contains(reason),
            "{arguments:?}: {}",
            said.stderr
        );
        let diagnostics = report["diagnostics"].as_array().unwrap();
        assert_eq!(
            diagnostics.is_empty(),
            !arguments.contains(&broken.as_str())
        );
    }
}

#[test]
fn diagnostics_are_in_the_report_and_on_standard_error() {
    let program = "mutex m; void main() { try_lock(m); }";
    let said = raddle_reading(&["check", "-", "--format", "json"], program).exits(0);
    let report = said.json();
    let diagnostic = &report["diagnostics"][0];
    assert_eq!(diagnostic["severity"], "warning");
    assert_eq!(
        (&diagnostic["line"], &diagnostic["column"]),
        (&1.into(), &24.into())
    );
    said.complains(&["warning: the result of `try_lock` is not used"]);
}

#[test]
fn a_run_is_a_report() {
    let arguments = [
        "run",
        "examples/bank.rad",
        "--seed",
        "1",
        "--format",
        "json",
    ];
    let report = raddle(&arguments).json();
    has_all_fields(&report);
    assert_eq!(report["search"], "random, seed 1");
    assert_eq!(report, raddle(&arguments).json());
}

#[test]
fn a_replay_is_a_report() {
    let folder = Folder::new("json-replay");
    let trace = folder.path("trace.json");
    let check = [
        "check",
        "examples/bank.rad",
        "--trace",
        &trace,
        "--format",
        "json",
    ];
    let checked = raddle(&check).exits(1).json();
    let replayed = raddle(&["replay", &trace, "--format", "json"])
        .exits(1)
        .json();
    has_all_fields(&replayed);
    assert_eq!(replayed["search"], "replay");
    assert_eq!(replayed["violations"], checked["violations"]);
}

#[test]
fn replaying_a_program_with_errors_says_so() {
    let folder = Folder::new("json-replay-broken");
    let program = folder.write("p.rad", "void main() { assert(false); }");
    let trace = folder.path("trace.json");
    raddle(&["check", &program, "--trace", &trace]).exits(1);
    folder.write("p.rad", "void main() { assert(false) }");
    let said = raddle(&["replay", &trace, "--format", "json"]).exits(2);
    let report = said.json();
    assert!(report["reason"].as_str().unwrap().contains("has an error"));
    assert_eq!(report["diagnostics"].as_array().unwrap().len(), 1);
    assert_eq!(said.stderr.matches("has an error").count(), 1);
}

#[test]
fn formatting_is_a_list_of_files() {
    let folder = Folder::new("json-fmt");
    let good = folder.write("good.rad", "int x;\n");
    let ugly = folder.write("ugly.rad", "int   x ;");
    let broken = folder.write("broken.rad", "int x");
    let check = ["fmt", "--check", &good, &ugly, "--format", "json"];
    let report = raddle(&check).exits(1).json();
    assert_eq!(report["version"], 1);
    assert_eq!(report["files"][0]["status"], "unchanged");
    assert_eq!(report["files"][1]["status"], "would change");
    assert_eq!(report["files"][1]["file"], ugly);

    let said = raddle(&["fmt", &ugly, &broken, "--format", "json"]).exits(2);
    let report = said.json();
    assert_eq!(report["files"][0]["status"], "changed");
    assert_eq!(report["files"][1]["status"], "error");
    assert!(report["files"][1]["reason"].is_string());
    assert!(said.stderr.contains("cannot be formatted"));
}

/// Whatever cuts a check, the report says what, and the verdict follows.
#[test]
fn what_was_left_out_is_in_the_report() {
    let endless = "int x; void w() { while (true) x++; } run w()[3];";
    let vacuous = "int x; void main() { assume(x == 1); }";
    let increments = "int x; void a() { x++; x++; } run a()[2];";
    for (program, more, kind) in [
        (endless, &["--max-states", "5"][..], "states"),
        (endless, &["--max-depth", "3"], "depth"),
        (vacuous, &[], "vacuous"),
        (vacuous, &["--explore", "optimal"], "vacuous"),
        (endless, &["--explore", "dfs", "--max-depth", "9"], "steps"),
        (
            increments,
            &["--explore", "bounded", "--bound", "0"],
            "preemptions",
        ),
        (increments, &["--explore", "pct"], "random"),
    ] {
        let arguments = [&["check", "-", "--format", "json"], more].concat();
        let report = raddle_reading(&arguments, program).exits(3).json();
        has_all_fields(&report);
        assert_eq!(report["verdict"], "inconclusive");
        let assumptions = report["assumptions"].as_array().unwrap().iter();
        let mut kinds = assumptions.map(|one| &one["kind"]);
        assert!(kinds.any(|one| one == kind), "{report}");
    }
    let complete = ["check", "-", "--format", "json", "--explore", "optimal"];
    let report = raddle_reading(&complete, increments).exits(0).json();
    has_all_fields(&report);
    assert_eq!(report["assumptions"], serde_json::json!([]));
}
