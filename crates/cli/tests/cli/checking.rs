//! `raddle check`: verdicts, exit codes, and what selects them.

use crate::support::{Folder, raddle, raddle_reading};

const VERIFIED: &str = "corpus/classics/peterson.rad";

#[test]
fn verified_is_zero() {
    raddle(&["check", VERIFIED, "--reduction", "full"])
        .exits(0)
        .complains(&["warning: no execution ends: "])
        .says(&["verified: 72 states, 144 transitions"]);
}

#[test]
fn a_violation_is_one() {
    raddle(&["check", "examples/bank.rad"]).exits(1);
}

#[test]
fn what_cannot_be_checked_is_two() {
    for (arguments, complaint) in [
        (&["check", "no/such.rad"][..], "cannot read no/such.rad"),
        (&["check", "docs"], "cannot read docs"),
        (
            &["check", VERIFIED, "--reduction", "x"],
            "there are: auto, full",
        ),
        (&["check", VERIFIED, "--property", "x"], "no such property"),
        (&["check", VERIFIED, "--max-states", "0"], "more than zero"),
        (&["check", VERIFIED, "--timeout", "soon"], "such as 30s"),
        (
            &["check", VERIFIED, "--trace", "no/such/file"],
            "cannot write",
        ),
        (&["check"], "<FILE>"),
        (&["chekc"], "check"),
        (&[], "Usage"),
    ] {
        let said = raddle(arguments).exits(2).complains(&[complaint]);
        assert_eq!(said.stdout, "", "{arguments:?}");
    }
}

#[test]
fn without_a_counterexample_no_trace_is_written() {
    let trace = Folder::new("no-counterexample").path("trace.json");
    raddle(&["check", VERIFIED, "--trace", &trace])
        .exits(0)
        .complains(&["was not written"]);
    assert!(!std::fs::exists(&trace).unwrap());
}

#[test]
fn a_verdict_names_the_properties_it_is_about() {
    let program = "int x; void a() { assert(x == 1); } run a() || a();";
    raddle_reading(&["check", "-", "--property", "deadlock,goal"], program)
        .exits(0)
        .says(&[
            "checked: deadlock, goal",
            "2 steps failed, which was not asked for",
        ]);
}

#[test]
fn bytes_that_are_no_text_are_no_program() {
    let folder = Folder::new("no-text");
    let path = folder.path("binary.rad");
    std::fs::write(&path, [0xff, 0xfe, 0]).unwrap();
    raddle(&["check", &path])
        .exits(2)
        .complains(&["not text in UTF-8"]);
}

#[test]
fn the_program_can_come_from_standard_input() {
    let bank = std::fs::read_to_string(crate::support::root().join("examples/bank.rad")).unwrap();
    raddle_reading(&["check", "-"], &bank)
        .exits(1)
        .says(&["<stdin>:17:9"]);
    raddle_reading(&["check", "-"], "").exits(2);
}

#[test]
fn all_violations_are_found_on_request() {
    let program = "int x;
        void a() { x = 1; assert(x == 1, \"first\"); }
        void b() { x = 2; assert(x == 2, \"second\"); }
        run a() || b();";
    let said = raddle_reading(&["check", "-"], program).exits(1);
    assert_eq!(said.stdout.matches("error: ").count(), 1);
    let said = raddle_reading(&["check", "-", "--all"], program).exits(1);
    assert_eq!(said.stdout.matches("error: ").count(), 2);
    said.says(&["first", "second", "\n2 violations: "]);
}

#[test]
fn disciplines_are_not_checked_unless_asked_for() {
    let program = "mutex m; int x guarded_by m, y thread_local;
        void w() { x = 1; y = y + 1; assert(y < 2); } run w()[2];";
    raddle_reading(&["check", "-"], program).exits(1).says(&[
        "would write x",
        "`x` is guarded by `m`, which the thread does not hold",
    ]);
    let folder = Folder::new("disciplines");
    let path = folder.write("p.rad", program);
    let trace = folder.path("trace.json");
    for (property, message) in [
        ("discipline", "guarded by"),
        ("assertion", "assertion failed"),
    ] {
        let arguments = [
            "check",
            &path,
            "--property",
            property,
            "--trace",
            &trace,
            "-q",
        ];
        let _ = std::fs::remove_file(&trace);
        raddle(&arguments).exits(1).says(&[message]);
        raddle(&["replay", "-q", &trace]).exits(1).says(&[message]);
    }
    raddle_reading(&["check", "-", "--property", "runtime"], program).exits(0);
}

#[test]
fn only_the_properties_that_are_asked_for_are_checked() {
    let program = "int x; mutex m;
        void a() { x = 1; lock(m); lock(m); }
        void b() { assert(load(x) == 0); x = 0; }
        invariant x == 0;
        run a() || b();";
    for (property, message) in [
        ("assertion", "assertion failed"),
        ("assertions", "assertion failed"),
        ("deadlock", "deadlock: "),
        ("race", "data race: "),
        ("invariant", "invariant violated"),
    ] {
        let arguments = ["check", "-", "--all", "--property", property];
        let said = raddle_reading(&arguments, program).exits(1);
        assert_eq!(said.stdout.matches("error: ").count(), 1, "{property}");
        said.says(&[message]);
    }
    raddle_reading(&["check", "-", "--property", "runtime"], program).exits(0);
    let arguments = ["check", "-", "--all", "--property", "all"];
    raddle_reading(&arguments, program).exits(1).says(&[
        "assertion failed",
        "deadlock: ",
        "data race: ",
        "invariant violated",
    ]);
    let arguments = ["check", "-", "--all", "--property", "race,deadlock"];
    raddle_reading(&arguments, program).exits(1).says(&[
        "deadlock: ",
        "data race: ",
        "\n2 violations",
    ]);
}

#[test]
fn every_order_finds_the_violation() {
    for order in ["bfs", "dfs", "switches"] {
        raddle(&["check", "examples/bank.rad", "--search", order])
            .exits(1)
            .says(&["the account is overdrawn", &format!(", {order})")]);
    }
}

#[test]
fn statements_can_be_steps() {
    // The lost update needs a switch inside of a statement.
    let program = "int x; void w() { x++; }
        void main() { thread t = spawn w(); w(); join(t); assert(x == 2); }";
    raddle_reading(&["check", "-"], program).exits(1);
    let arguments = ["check", "-", "--granularity", "statement"];
    raddle_reading(&arguments, program).exits(0);
}

#[test]
fn states_are_kept_where_one_says() {
    for store in ["auto", "flat", "tree", "compact"] {
        let arguments = ["check", VERIFIED, "--stats", "--store", store];
        let kept_in = if store == "auto" { "flat" } else { store };
        let line = format!("store                   {kept_in}");
        raddle(&arguments).exits(0).says(&[&line, "of these bytes"]);
    }
    for wrong in ["attic", "bits:", "bits:many", "flat:1M", "fingerprint:32"] {
        raddle(&["check", VERIFIED, "--store", wrong]).exits(2);
    }
}

#[test]
fn approximate_stores_never_verify() {
    for (store, kept_in) in [
        ("fingerprint", "fingerprint"),
        ("fingerprint:64", "fingerprint"),
        ("fingerprint:128", "fingerprint:128"),
        ("bits", "bits"),
        ("bits:64K", "bits"),
    ] {
        let arguments = ["check", VERIFIED, "--stats", "--store", store];
        let line = format!("store                   {kept_in}");
        raddle(&arguments).exits(3).says(&[
            &line,
            "inconclusive",
            "so some may have been missed: with a probability of at most",
        ]);
    }
}

#[test]
fn statistics_are_printed_on_request() {
    raddle(&["check", VERIFIED, "--stats"]).exits(0).says(&[
        "blocked steps",
        "terminated ends",
        "bytes per state",
        "states per second",
    ]);
}

#[test]
fn the_machine_changes_no_answer() {
    for machine in ["auto", "interpreter", "native"] {
        raddle(&["check", "examples/bank.rad", "--machine", machine])
            .exits(1)
            .says(&["the account is overdrawn"]);
    }
    let arguments = ["check", VERIFIED, "--stats", "--machine", "interpreter"];
    raddle(&arguments)
        .exits(0)
        .says(&["machine                 interpreter"]);
}

#[test]
fn quiet_says_nothing_but_the_counterexample() {
    let said = raddle(&["check", VERIFIED, "--quiet"]).exits(0);
    assert_eq!((said.stdout.as_str(), said.stderr.as_str()), ("", ""));
    let said = raddle(&["check", "examples/bank.rad", "-q"]).exits(1);
    assert!(!said.stdout.contains("violation:"));
}

#[test]
fn what_is_never_reached_is_a_warning() {
    let program = "int x; void main() { if (x == 1) x = 2; }";
    raddle_reading(&["check", "-"], program)
        .exits(0)
        .complains(&["warning: never reached: <stdin>:1:34: x = 2;"]);
    let said = raddle_reading(&["check", "-", "--quiet"], program).exits(0);
    said.complains_not();
}

#[test]
fn goals_are_a_property_of_their_own() {
    let program = "int x; void main() { if (x == 1) reach(\"one\"); }";
    let check = |properties: &[&str]| {
        let arguments = [&["check", "-"], properties].concat();
        raddle_reading(&arguments, program)
    };
    for properties in [&[][..], &["--property", "goal"], &["--property", "all"]] {
        check(properties)
            .exits(1)
            .says(&["error: no execution reaches the goal \"one\""]);
    }
    check(&["--property", "deadlock"]).exits(0);
}

#[test]
fn what_is_not_meant_to_be_reached_is_no_warning_and_a_function_is_one() {
    let program = "int x;
void unused() { x = 1; x = 2; }
void main() {
    x = 1;
    if (x == 2) {
        x = 3;
        assert(false);
    }
}";
    let said = raddle_reading(&["check", "-"], program).exits(0);
    assert_eq!(
        said.stderr,
        "warning: never reached: <stdin>:2:6: unused\n\
         warning: never reached: <stdin>:6:9: x = 3;\n"
    );
}

#[test]
fn what_a_deadlock_waits_for_is_true_of_blocks_and_readers() {
    let waits = |globals: &str, body: &str, text: &str| {
        let program = format!("{globals} void a() {{ {body} }} run a();");
        let said = raddle_reading(&["check", "-"], &program).exits(1);
        let remark = format!("╰─ {text}\n");
        assert!(said.stdout.contains(&remark), "{remark}{}", said.stdout);
    };
    let itself = "which the atomic block has taken itself";
    waits(
        "mutex m;",
        "atomic { lock(m); lock(m); }",
        &format!("waits for m, {itself}"),
    );
    waits(
        "rwlock l;",
        "atomic { read_lock(l); write_lock(l); }",
        &format!("waits for l, {itself}"),
    );
    waits(
        "rwlock l;",
        "read_lock(l); write_lock(l);",
        "waits for l, read by a",
    );
    waits(
        "mutex m; int x;",
        "atomic { lock(m); await(x == 1); }",
        "waits for x to change",
    );
    waits(
        "mutex m;",
        "atomic { lock(m); await(false); }",
        "waits for ever",
    );
    waits(
        "chan<int, 1> c;",
        "send(c, 4); atomic { int n = recv(c); await(n == 3); }",
        "waits for c to change",
    );
}

#[test]
fn an_assumption_that_nobody_passes_is_not_called_unreached() {
    let program = "int x; void main() { x = 1; assume(x == 2); x = 3; }";
    raddle_reading(&["check", "-"], program)
        .exits(3)
        .complains(&["never passed: ", "never reached: "]);
}

/// Two variables of one name are never told as one: `v: 5 → 9` would say that a variable changed.
#[test]
fn variables_of_one_name_are_told_apart() {
    let program = "int x;
void main() {
    int v = 5, only = 1;
    x = v;
    { int v = 9; x = v; v = 8; x = v; }
    for (int i = 0; i < 1; i++) x = i;
    for (int i = 7; i < 8; i++) x = i; for (int i = 3; i < 4; i++) x = i;
    int a[1]; a[0] = v + only; x = a[0];
    assert(x == 0);
}
";
    let arguments = ["check", "-", "--reduction", "full", "--format", "json"];
    let report = raddle_reading(&arguments, program).exits(1).json();
    let trace = &report["violations"][0]["trace"];
    let steps = trace["steps"].as_array().expect("there are steps");
    let mut names: Vec<&str> = steps
        .iter()
        .flat_map(|step| step["changes"].as_array().expect("changes"))
        .map(|change| change["name"].as_str().expect("a name"))
        .collect();
    names.sort_unstable();
    names.dedup();
    let expected = [
        "a[0]",
        "i (line 6)",
        "i (line 7:14)",
        "i (line 7:49)",
        "v (line 5)",
        "x",
    ];
    assert_eq!(names, expected);
    raddle_reading(&["check", "-", "--reduction", "full"], program)
        .exits(1)
        .says(&["v (line 5): 9 → 8", "i (line 6)"]);
}

/// The report is about the thread that fails, which has made no step.
#[test]
fn failures_before_the_first_step_are_told() {
    raddle_reading(
        &["check", "-"],
        "void main() { assert(1 == 2, \"never\"); }",
    )
    .exits(1)
    .says(&[
        "assertion failed: never",
        "in main",
        "violation: 1 state, 0 transitions",
    ]);
    let program = "void worker(int i) { assert(i == 0, \"one too many\"); yield; }
void main() { spawn worker(0); spawn worker(1); }";
    for explorer in [&["check", "-"][..], &["check", "-", "--explore", "optimal"]] {
        raddle_reading(explorer, program)
            .exits(1)
            .says(&["assertion failed: one too many", "in worker#2"]);
    }
    raddle_reading(&["run", "-"], program)
        .exits(1)
        .says(&["one too many"]);
    let folder = Folder::new("failed_start");
    let (file, trace) = (
        folder.write("start.rad", program),
        folder.path("trace.json"),
    );
    raddle(&["check", &file, "--trace", &trace]).exits(1);
    // Where that is may be told on two lines: the path can be long.
    raddle(&["replay", &trace])
        .exits(1)
        .says(&["one too many", "worker#2"]);
}

/// What a step reads and writes in between is in no state, so it is not told.
#[test]
fn values_in_an_atomic_block_are_those_that_it_sees() {
    let program = "int x = 1, y, z;
void main() {
    atomic { z = x; x = 2; x = 3; y = x; }
    assert(y == 2);
}
";
    raddle_reading(
        &["check", "-", "--reduction", "full", "--width", "200"],
        program,
    )
    .exits(1)
    .says(&["reads x = 1, writes z = 1, writes x, writes x = 3, reads x = 3, writes y = 3"]);
}
