//! `raddle check --memory`: orderings, and execution graphs.

use crate::support::{Folder, raddle, raddle_reading};

/// Both threads may read the old values, unless accesses are sequentially consistent.
const STORE_BUFFERING: &str = "atomic int x, y; int a, b;
void left() { store(x, 1, relaxed); a = load(y, relaxed); }
void right() { store(y, 1, relaxed); b = load(x, relaxed); }
void main() {
    thread l = spawn left(); thread r = spawn right();
    join(l); join(r);
    assert(a == 1 || b == 1);
}
";

#[test]
fn weaker_orderings_are_refused_unless_a_memory_model_is_named() {
    for (ways, what) in [
        (&[][..], "a search that stores states"),
        (&["--reduction", "full"], "a search that stores states"),
        (&["--explore", "optimal"], "`--explore optimal`"),
        (&["--explore", "random"], "`--explore random`"),
    ] {
        let arguments = [&["check", "-"], ways].concat();
        raddle_reading(&arguments, STORE_BUFFERING)
            .exits(2)
            .complains(&[
                "<stdin>:2:15: `store(x, 1, relaxed)` asks for less than sequential consistency",
                what,
                "--explore optimal --memory rc11",
                "--memory sc",
            ]);
    }
}

#[test]
fn sequentially_consistent_programs_need_no_memory_model() {
    let program =
        "atomic int x; void main() { store(x, 1, seq_cst); fence(seq_cst); assert(load(x) == 1); }";
    raddle_reading(&["check", "-"], program).exits(0);
    raddle_reading(&["check", "-", "--memory", "sc"], program).exits(0);
}

#[test]
fn what_was_run_as_sequentially_consistent_is_not_verified() {
    for ways in [
        &["--reduction", "transactions"][..],
        &["--explore", "optimal"],
        &["--explore", "dfs"],
    ] {
        let arguments = [&["check", "-", "--memory", "sc"], ways].concat();
        raddle_reading(&arguments, STORE_BUFFERING).exits(3).says(&[
            "inconclusive: ",
            "atomics were run as sequentially consistent, though the program asks for less, at <stdin>:2:15 (`store(x, 1, relaxed)`)",
        ]);
        let json = [&arguments[..], &["--format", "json"]].concat();
        let report = raddle_reading(&json, STORE_BUFFERING).exits(3).json();
        assert_eq!(report["assumptions"][0]["kind"], "weak-ordering");
        assert_eq!(report["assumptions"].as_array().unwrap().len(), 4);
    }
}

#[test]
fn execution_graphs_have_weak_outcomes() {
    for ways in [
        &["--explore", "optimal", "--memory", "rc11"][..],
        &["--explore", "graphs", "--memory", "ra"],
        &["--explore", "graphs"],
    ] {
        let arguments = [&["check", "-", "--ascii"], ways].concat();
        raddle_reading(&arguments, STORE_BUFFERING).exits(1).says(&[
            "assertion failed: a == 1 || b == 1",
            "not the",
            "not the 1 written",
            "violation: ",
        ]);
    }
    let sc = ["check", "-", "--explore", "graphs", "--memory", "sc"];
    raddle_reading(&sc, STORE_BUFFERING)
        .exits(0)
        .says(&["verified: 3 graphs, ", "(graphs, sc)"]);
    let json = [
        "check",
        "-",
        "--explore",
        "graphs",
        "--all",
        "--format",
        "json",
    ];
    let report = raddle_reading(&json, STORE_BUFFERING).exits(1).json();
    let exploration = &report["exploration"];
    assert_eq!(exploration["explorer"], "graphs");
    assert_eq!(exploration["memory"], "rc11");
    assert_eq!(exploration["executions"], 4);
    assert_eq!(exploration["blocked"], 0);
    assert_eq!(report["statistics"]["failed"], 1);
    let steps = report["violations"][0]["trace"]["steps"]
        .as_array()
        .unwrap();
    let stale = steps
        .iter()
        .filter(|step| step["action"].as_str().unwrap().contains(", not the 1"));
    assert_eq!(stale.count(), 1);
}

#[test]
fn a_data_race_is_a_violation_whatever_was_asked_for() {
    let program = "int data; atomic int flag;
        void writer() { data = 1; store(flag, 1, relaxed); }
        void reader() { while (load(flag, relaxed) == 0) skip; assert(data == 1); }
        run writer() || reader();";
    let arguments = [
        "check",
        "-",
        "--explore",
        "graphs",
        "--property",
        "assertion",
    ];
    raddle_reading(&arguments, program).exits(1).says(&[
        "data race: neither of two accesses of data happens before the other",
        "checked: assertion, race",
    ]);
    let all = [&arguments[..], &["--all"]].concat();
    raddle_reading(&all, program)
        .exits(1)
        .says(&["there may be more: "]);
}

#[test]
fn what_does_not_fit_a_memory_model_is_refused() {
    let graphs: &[&str] = &["check", "-", "--explore", "graphs"];
    for (more, program, complaint) in [
        (&["--bound", "1"][..], "", "execution graphs have no bound"),
        (&["--trace", "t.json"], "", "`--trace` keeps a schedule"),
        (
            &["--granularity", "statement"],
            "",
            "`--granularity statement`",
        ),
        (&["--reduction", "full"], "", "choose one of the two"),
        (
            &["--memory", "sc", "--property", "race"],
            "",
            "does not look for data races",
        ),
        (
            &[],
            "invariant x < 2;",
            "<stdin>:1:25: an invariant is about the states between steps",
        ),
        (&[], "mutex m; int y guarded_by m;", "disciplines"),
    ] {
        let text = format!("atomic int x; {program} void main() {{ x = 1; }}");
        let arguments = [graphs, more].concat();
        raddle_reading(&arguments, &text)
            .exits(2)
            .complains(&[complaint]);
    }
    for (statement, what) in [
        ("send(c, 1);", "a channel (`send(c, 1);`)"),
        ("read_lock(l);", "a reader-writer lock"),
        ("wait(v, m);", "a condition variable"),
        ("atomic { x++; y++; }", "an atomic block"),
        (
            "await(x == 0 && y == 0);",
            "an atomic block or condition with several accesses",
        ),
        ("Node* n = new Node; free(n);", "`free`"),
    ] {
        let text = format!(
            "struct Node {{ int value; }}; atomic int x; int y; mutex m; rwlock l; cond v; chan<int, 1> c;\n\
             void main() {{ {statement} }}"
        );
        raddle_reading(graphs, &text)
            .exits(2)
            .complains(&["<stdin>:2:", what, "--memory sc"]);
    }
}

#[test]
fn weak_models_need_execution_graphs() {
    let program = "atomic int x; void main() { x = 1; }";
    let arguments = ["check", "-", "--memory", "rc11"];
    raddle_reading(&arguments, program)
        .exits(2)
        .complains(&["--explore optimal --memory rc11"]);
    let arguments = ["check", "-", "--memory", "ra", "--explore", "bounded"];
    raddle_reading(&arguments, program)
        .exits(2)
        .complains(&["--explore optimal --memory ra"]);
}

#[test]
fn executions_that_do_not_end_are_cut_and_that_is_said() {
    let program = "atomic int x; void main() { while (true) x++; }";
    let arguments = ["check", "-", "--explore", "graphs", "--max-depth", "20"];
    raddle_reading(&arguments, program).exits(3).says(&[
        "inconclusive: 1 graph, 1 of them blocked",
        "more than 20 events (--max-depth sets another limit)",
    ]);
}

#[test]
fn threads_that_spin_for_ever_violate_termination_and_threads_that_wait_deadlock() {
    let spins = "atomic int x; void main() { while (load(x, acquire) == 0) skip; }";
    let graphs = ["check", "-", "--explore", "graphs"];
    raddle_reading(&graphs, spins)
        .exits(0)
        .says(&["in 1 graph threads go round loops for ever"]);
    let termination = [&graphs[..], &["--property", "termination"]].concat();
    raddle_reading(&termination, spins)
        .exits(1)
        .says(&["the execution does not end: one thread waits for ever"]);
    let waits = "atomic int x; void main() { await(x == 1); }";
    raddle_reading(&graphs, waits).exits(1).says(&[
        "deadlock: one thread waits for ever",
        "waits, having read x = 0",
    ]);
}

#[test]
fn stories_are_told_across_long_local_code() {
    let wait = "for (int i = 0; i < 2500; i++) skip;";
    let program = STORE_BUFFERING.replace("= load", &format!("= 0; {wait} a = load"));
    let program = program.replace("a = load(x", "b = load(x");
    raddle_reading(&["check", "-", "--explore", "graphs"], &program)
        .exits(1)
        .says(&["assertion failed: a == 1 || b == 1", "not the"]);
}

#[test]
fn goals_are_reached_by_weak_executions() {
    let program = STORE_BUFFERING.replace(
        "assert(a == 1 || b == 1)",
        "if (a + b == 0) reach(\"weak\")",
    );
    let graphs = ["check", "-", "--explore", "graphs"];
    raddle_reading(&graphs, &program).exits(0);
    let sc = [&graphs[..], &["--memory", "sc"]].concat();
    raddle_reading(&sc, &program)
        .exits(1)
        .says(&["no execution reaches the goal \"weak\""]);
}

#[test]
fn other_commands_say_that_they_ignore_orderings() {
    for command in ["run", "compare", "explain"] {
        raddle(&[command, "corpus/litmus/sb-relaxed.rad"])
            .exits(0)
            .complains(&["asks for less than sequential consistency"]);
    }
}

/// What the model leaves out is said where it could matter, and is no reason not to verify.
#[test]
fn load_buffering_is_said_to_be_left_out() {
    let program = |order: &str| {
        format!(
            "atomic int x, y; int a, b;
void left() {{ a = load(x, {order}); store(y, 1, relaxed); }}
void right() {{ b = load(y, {order}); store(x, 1, relaxed); }}
void main() {{
    thread l = spawn left(); thread r = spawn right();
    join(l); join(r);
    assert(a == 0 || b == 0);
}}
"
        )
    };
    let arguments = ["check", "-", "--explore", "optimal", "--memory", "rc11"];
    raddle_reading(&arguments, &program("relaxed"))
        .exits(0)
        .says(&[
            "verified: ",
            "the memory model has no load buffering",
            "<stdin>:2:15 (`a = load(x, relaxed);`)",
        ]);
    let json = [&arguments[..], &["--format", "json"]].concat();
    let report = raddle_reading(&json, &program("relaxed")).exits(0).json();
    assert_eq!(report["assumptions"][0]["kind"], "load-buffering");
    assert_eq!(report["assumptions"][0]["incomplete"], false);
    let report = raddle_reading(&json, &program("acquire")).exits(0).json();
    assert_eq!(report["assumptions"].as_array().unwrap().len(), 0);
}

/// The picture has everything that the story says, as text for other programs.
#[test]
fn a_graph_is_drawn_as_dot() {
    let folder = Folder::new("graph-dot");
    let path = folder.path("sb.dot");
    let arguments = ["check", "-", "--memory", "rc11", "--explore", "optimal"];
    let drawing = [&arguments[..], &["--graph", &path]].concat();
    raddle_reading(&drawing, STORE_BUFFERING).exits(1);
    insta::assert_snapshot!(folder.read("sb.dot"));
}

#[test]
fn a_graph_is_drawn_as_svg() {
    let folder = Folder::new("graph-svg");
    let path = folder.path("sb.svg");
    let arguments = ["check", "-", "--memory", "rc11", "--explore", "optimal"];
    let drawing = [&arguments[..], &["--graph", &path]].concat();
    raddle_reading(&drawing, STORE_BUFFERING).exits(1);
    let svg = folder.read("sb.svg");
    let events = svg.matches("class=\"event").count();
    assert_eq!(events, 12, "{svg}");
    assert!(svg.contains("7: reads x = 0 (relaxed)"), "{svg}");
}

/// Two accesses of a race are joined by an arrow, and nothing else is wrong.
#[test]
fn a_race_is_drawn() {
    let folder = Folder::new("graph-race");
    let path = folder.path("race.dot");
    let program = "int x; void one() { x = 1; } void two() { x = 2; } run one() || two();";
    let arguments = ["check", "-", "--memory", "rc11", "--explore", "optimal"];
    let drawing = [&arguments[..], &["--graph", &path]].concat();
    raddle_reading(&drawing, program).exits(1);
    let dot = folder.read("race.dot");
    let races = dot.lines().filter(|line| line.contains("race\", dir=both"));
    assert_eq!(races.count(), 1, "{dot}");
    let wrong = dot
        .lines()
        .filter(|line| line.contains("[label=\"") && line.contains("fontcolor"));
    assert_eq!(wrong.count(), 2, "{dot}");
}

/// A search has a schedule: reads are of the last write. Replaying it draws the same.
#[test]
fn a_schedule_is_drawn_too() {
    let folder = Folder::new("graph-schedule");
    let (graph, trace) = (folder.path("bank.dot"), folder.path("bank.json"));
    raddle(&[
        "check",
        "examples/bank.rad",
        "--graph",
        &graph,
        "--trace",
        &trace,
    ])
    .exits(1);
    let again = folder.path("again.dot");
    raddle(&["replay", &trace, "--graph", &again]).exits(1);
    let dot = folder.read("bank.dot");
    assert_eq!(folder.read("again.dot"), dot);
    for arrow in ["label=\"rf, mo\"", "label=\"rf\"", "label=\"mo\""] {
        assert!(dot.contains(arrow), "{arrow}: {dot}");
    }
}

#[test]
fn a_graph_is_written_only_if_there_is_something_to_draw() {
    let folder = Folder::new("graph-none");
    let path = folder.path("none.svg");
    let program = "int x; void main() { x = 1; assert(x == 1); }";
    raddle_reading(&["check", "-", "--graph", &path], program)
        .exits(0)
        .complains(&["no counterexample", "none.svg was not written"]);
    assert!(!std::path::Path::new(&path).exists());
    raddle_reading(&["check", "-", "--graph", "graph.png"], program)
        .exits(2)
        .complains(&["graph.png: a graph is written as DOT or SVG, so the file has to end in `.dot` or `.svg`"]);
}
