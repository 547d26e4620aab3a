//! `raddle check --explore`: executions one by one.

use serde_json::Value;

use std::time::{Duration, Instant};

use crate::support::{ENDLESS, Folder, raddle, raddle_reading, violated_programs};

const WAYS: [&str; 9] = [
    "optimal",
    "bounded",
    "iterative",
    "algorithm1",
    "algorithm2",
    "cb-dfs",
    "dfs",
    "random",
    "pct",
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
    for (how, executions) in [("optimal", 2), ("iterative", 5)] {
        raddle_reading(&["check", "-", "--explore", how], program)
            .exits(0)
            .complains_not()
            .says(&[&format!("verified: {executions} executions of 2 classes")]);
    }
}

#[test]
fn verified_up_to_a_bound_is_not_verified() {
    for how in ["bounded", "iterative", "algorithm1", "algorithm2", "cb-dfs"] {
        let arguments = ["check", "-", "--explore", how, "--bound", "0"];
        raddle_reading(&arguments, ONE_PREEMPTION).exits(3).says(&[
            "verified up to bound 0",
            "not all executions beyond the bound on preemptions were run: those with more than 0",
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

/// Whoever has found it, a schedule is a schedule.
#[test]
fn a_replay_tells_the_same_story_as_the_exploration() {
    let folder = Folder::new("explored-stories");
    let trace = folder.path("trace.json");
    let (mut replayed, mut differing) = (0, Vec::new());
    for program in violated_programs() {
        for how in ["optimal", "random"] {
            let _ = std::fs::remove_file(&trace);
            let limits = ["--max-executions", "200", "--max-depth", "300"];
            let arguments = ["check", &program, "-q", "--explore", how, "--trace", &trace];
            let checked = raddle(&[&arguments[..], &limits].concat());
            if !std::fs::exists(&trace).unwrap() {
                continue;
            }
            let again = raddle(&["replay", "-q", &trace]);
            if again.code != Some(1) || again.stdout + "\n" != checked.stdout {
                differing.push(format!("{program} ({how}): {}", again.stderr));
            }
            replayed += 1;
        }
    }
    assert!(differing.is_empty(), "{}", differing.join("\n"));
    assert!(replayed >= 80, "{replayed}");
}

#[test]
fn random_executions_prove_nothing() {
    let program = "int x; void a() { x = 1; } void b() { int y = x; } run a() || b();";
    let random = ["check", "-", "--explore", "random"];
    raddle_reading(&random, program).exits(3).says(&[
        "inconclusive: 10,000 executions of 2 classes",
        "(random, seed 0)",
        "executions were chosen at random, which proves nothing about others",
    ]);
    let few = ["--max-executions", "20", "--seed", "7", "--depth", "2"];
    let pct = [&["check", "-", "--explore", "pct"], &few[..]].concat();
    raddle_reading(&pct, program).exits(3).says(&[
        "inconclusive: 20 executions of 2 classes",
        "(pct, depth 2, seed 7)",
    ]);
    let json = [&pct[..], &["--format", "json"]].concat();
    let report = raddle_reading(&json, program).exits(3).json();
    assert_eq!(report["verdict"], "inconclusive");
    assert_eq!(report["exploration"]["seed"], 7);
    assert_eq!(report["exploration"]["depth"], 2);
    assert_eq!(report["exploration"]["executions"], 20);
    assert_eq!(report["exploration"]["verified_up_to_bound"], Value::Null);
    // The time is a limit too.
    let timed = [&random[..], &["--timeout", "200ms"]].concat();
    raddle_reading(&timed, program)
        .exits(3)
        .says(&["executions were chosen at random, which proves nothing about others; the limit on time was reached"]);
}

#[test]
fn the_same_seed_gives_the_same_executions() {
    let story = |how, seed| {
        let arguments = ["--explore", how, "--seed", seed, "-q"];
        raddle(&[&["check", "examples/bank.rad"], &arguments[..]].concat())
            .exits(1)
            .stdout
    };
    for how in ["random", "pct"] {
        assert_eq!(story(how, "1"), story(how, "1"));
        let distinct: std::collections::BTreeSet<_> = ["1", "2", "3", "4", "5"]
            .map(|seed| story(how, seed))
            .into();
        assert!(distinct.len() > 1);
    }
}

/// An error of depth 1, for which random schedules have a chance of 2^-11, and priorities one of almost 1/2.
#[test]
fn priorities_find_what_one_order_decides() {
    let program = "int x; int y;
        void slow() { y = 0; y = 1; y = 2; y = 3; y = 4; y = 5; y = 6; y = 7; y = 8; y = 9; x = 1; }
        void fast() { assert(x == 0); }
        run fast() || slow();";
    let found = |how: &str, seed: &str| {
        let few = ["--max-executions", "5", "--seed", seed, "-q"];
        let depth: &[&str] = if how == "pct" { &["--depth", "1"] } else { &[] };
        let said = raddle_reading(
            &[&["check", "-", "--explore", how], &few[..], depth].concat(),
            program,
        );
        said.code == Some(1)
    };
    let seeds = ["1", "2", "3", "4", "5", "6", "7", "8", "9", "10"];
    let times = |how| seeds.iter().filter(|seed| found(how, seed)).count();
    let (pct, random) = (times("pct"), times("random"));
    assert!(pct >= 8 && random <= 2, "{pct} {random}");
}

#[test]
fn time_is_honoured_where_threads_have_little_to_do_with_each_other() {
    // Their steps can be put in more orders than there are atoms.
    let program = "int x[30]; int y;
        void a() { x[tid] = 1; x[tid] = 2; y = tid; } run a()[30];";
    for how in WAYS {
        let started = Instant::now();
        let arguments = ["check", "-", "--explore", how, "--timeout", "300ms"];
        raddle_reading(&arguments, program)
            .exits(3)
            .says(&["the limit on time was reached"]);
        assert!(started.elapsed() < Duration::from_millis(1300), "{how}");
    }
}

#[test]
fn what_was_finished_before_a_limit_counts() {
    let program = "int x; void a() { x++; x++; x++; } run a()[3];";
    let few = ["check", "-", "--explore", "iterative", "--max-executions"];
    raddle_reading(&[&few[..], &["60"]].concat(), program).exits(3).says(&[
        "verified up to bound 0: 60 executions",
        "the limit on executions was reached; not all executions beyond the bound on preemptions were run: those with more than 0",
    ]);
    raddle_reading(&[&few[..], &["2"]].concat(), program)
        .exits(3)
        .says(&["inconclusive: 2 executions"]);
}

/// What a report says that does not depend on the number of workers.
fn without_chance(mut report: Value) -> Value {
    for name in ["seconds", "peak_memory_bytes", "transitions", "violations"] {
        report[name] = Value::Null;
    }
    report["exploration"]["steps"] = Value::Null;
    report
}

#[test]
fn several_workers_find_the_same() {
    let wrong = "int x; mutex m; mutex n;
        void a() { lock(m); lock(n); x = 1; unlock(n); unlock(m); assert(x == 1); if (x == 3) { x = 4; } }
        void b() { lock(n); lock(m); x = 2; unlock(m); unlock(n); if (x == 1) { reach; } if (x == 3) { reach; } }
        run a() || b() || a();";
    let right = "int x; void a() { atomic { x++; } if (x > 9) { x = 0; } } run a()[4];";
    let at_random = |how: &&str| ["random", "pct"].contains(how);
    for how in WAYS.into_iter().filter(|how| !at_random(how)) {
        for program in [wrong, right] {
            let report = |workers| {
                let options = ["--all", "--workers", workers, "--format", "json"];
                let arguments = [&["check", "-", "--explore", how], &options[..]].concat();
                let report = raddle_reading(&arguments, program).json();
                assert_ne!(report["verdict"], "error", "{report}");
                let mut found: Vec<_> = report["violations"]
                    .as_array()
                    .expect("a list")
                    .iter()
                    .map(|violation| violation["kind"].to_string())
                    .collect();
                found.sort();
                (found, without_chance(report))
            };
            assert_eq!(report("3"), report("1"), "{how}");
        }
    }
}

#[test]
fn several_workers_end_where_one_does() {
    for how in WAYS {
        let check = |more: &[&str], program: &str| {
            let workers = ["check", "-", "--explore", how, "--workers", "3"];
            raddle_reading(&[&workers[..], more].concat(), program)
        };
        check(&[], ONE_PREEMPTION)
            .exits(1)
            .says(&["assertion failed", "violation: "]);
        check(&["--max-depth", "100"], ENDLESS)
            .exits(3)
            .says(&["more than 100 steps"]);
        let increments = "int x; void a() { x++; x++; x++; } run a()[3];";
        check(&["--max-executions", "7"], increments)
            .exits(3)
            .says(&[": 7 executions"]);
        let started = Instant::now();
        let long = "int x; void a() { for (int i = 0; i < 9; i++) { x++; } } run a()[9];";
        check(&["--timeout", "300ms"], long)
            .exits(3)
            .says(&["the limit on time was reached"]);
        assert!(started.elapsed() < Duration::from_millis(1500), "{how}");
    }
}

/// Who asks for several workers is told if there is only one.
#[test]
fn one_worker_where_several_are_of_no_use() {
    let program = "int x; void a() { x = 1; } run a()[2];";
    for how in WAYS {
        let workers = ["check", "-", "--explore", how, "--max-executions", "9"];
        let alone = raddle_reading(&workers, program);
        assert!(alone.stderr.is_empty(), "{how}: {}", alone.stderr);
        let together = raddle_reading(&[&workers[..], &["--workers", "2"]].concat(), program);
        let is_told = together.stderr.contains("uses one worker");
        assert_eq!(is_told, ["bounded", "iterative"].contains(&how), "{how}");
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
fn what_cannot_be_combined_says_why() {
    for (more, complaint) in [
        (
            &["--explore", "dfs", "--reduction", "full"][..],
            "stores none",
        ),
        (&["--explore", "dfs", "--bound", "1"], "has no bound"),
        (&["--explore", "dfs", "--property", "race"], "data races"),
        (&["--explore", "dfs", "--workers", "0"], "from 1 to"),
        (&["--explore", "dfs", "--search", "dfs"], "--search"),
        (&["--explore", "pct", "--bound", "1"], "has no bound"),
        (&["--explore", "optimal", "--seed", "1"], "has no seed"),
        (&["--explore", "random", "--depth", "1"], "has no depth"),
        (&["--explore", "pct", "--depth", "0"], "from 1 to"),
        (&["--seed", "1"], "--explore"),
        (&["--bound", "1"], "--explore"),
        (&["--max-executions", "1"], "--explore"),
        (&["--explore", "x"], "optimal, bounded"),
    ] {
        let arguments = [&["check", "examples/bank.rad"], more].concat();
        raddle(&arguments).exits(2).complains(&[complaint]);
    }
}
