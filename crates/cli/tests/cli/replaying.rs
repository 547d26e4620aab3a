//! Trace files, `raddle replay`, and stepping through by hand.

use crate::support::{Folder, Said, raddle, raddle_reading, violated_programs};

const BANK: &str = "examples/bank.rad";

/// The trace file of the bank.
fn bank_trace(folder: &Folder) -> String {
    let trace = folder.path("bank.json");
    raddle(&["check", BANK, "--trace", &trace, "-q"]).exits(1);
    trace
}

/// Goes through the trace of the bank by these commands.
fn interactive(test: &str, commands: &str) -> Said {
    let trace = bank_trace(&Folder::new(test));
    raddle_reading(&["replay", &trace, "--interactive"], commands)
        .exits(1)
        .complains_not()
}

#[test]
fn a_replay_tells_the_same_story_as_the_check() {
    let folder = Folder::new("same-story");
    let mut differing = Vec::new();
    for program in violated_programs() {
        for property in ["assertion,runtime,deadlock,invariant", "race"] {
            let trace = folder.path("trace.json");
            let _ = std::fs::remove_file(&trace);
            let check = [
                "check",
                &program,
                "-q",
                "--trace",
                &trace,
                "--property",
                property,
            ];
            let checked = raddle(&check);
            if checked.stderr.contains("panicked") {
                differing.push(format!("{program}: {}", checked.stderr));
            }
            if std::fs::exists(&trace).unwrap() {
                let replayed = raddle(&["replay", "-q", &trace]);
                if replayed.code != Some(1) || replayed.stdout + "\n" != checked.stdout {
                    differing.push(format!("{program} ({property}): {}", replayed.stderr));
                }
            }
        }
    }
    assert!(differing.is_empty(), "{}", differing.join("\n"));
}

#[test]
fn a_changed_program_is_noticed() {
    let folder = Folder::new("changed-program");
    let text = "int x;\nvoid main() { x = 1; assert(x == 2); }\n";
    let program = folder.write("p.rad", text);
    let trace = folder.path("trace.json");
    raddle(&["check", &program, "--trace", &trace]).exits(1);

    // A comment changes nothing that matters, but who knows.
    folder.write("p.rad", &format!("{text}// nothing\n"));
    raddle(&["replay", &trace])
        .exits(1)
        .complains(&["warning: the program has changed"]);
    for other in [
        text.replace("== 2", "== 1"),
        text.replace("assert(x == 2);", ""),
        text.replace("x = 1;", "x = 1; x = 3;"),
        text.replace("assert(x == 2);", "assert(x == 2, \"another message\");"),
    ] {
        folder.write("p.rad", &other);
        let said = raddle(&["replay", &trace]).exits(2);
        assert_eq!(said.stdout, "");
        said.complains(&["no longer fits the program", "run `raddle check` again"]);
    }
}

#[test]
fn the_program_is_found_beside_the_trace_or_where_one_says() {
    let folder = Folder::new("moved-program");
    let program = folder.write("p.rad", "void main() { assert(false); }");
    let trace = folder.path("trace.json");
    raddle(&["check", &program, "--trace", &trace]).exits(1);

    let elsewhere = Folder::new("moved-program-elsewhere");
    let moved = elsewhere.write("trace.json", &folder.read("trace.json"));
    std::fs::rename(&program, elsewhere.path("p.rad")).unwrap();
    raddle(&["replay", &moved]).exits(1).complains_not();
    raddle(&["replay", &trace])
        .exits(2)
        .complains(&["cannot read"]);
    let named = elsewhere.path("p.rad");
    raddle(&["replay", &trace, "--program", &named]).exits(1);
}

#[test]
fn a_program_from_standard_input_must_be_named() {
    let folder = Folder::new("trace-of-stdin");
    let text = "void main() { assert(false); }";
    let trace = folder.path("trace.json");
    raddle_reading(&["check", "-", "--trace", &trace], text).exits(1);
    raddle(&["replay", &trace])
        .exits(2)
        .complains(&["--program"]);
    raddle_reading(&["replay", &trace, "--program", "-"], text)
        .exits(1)
        .complains_not();
}

#[test]
fn what_is_no_trace_is_refused() {
    let folder = Folder::new("no-traces");
    let whole = std::fs::read_to_string(bank_trace(&folder)).unwrap();
    let far = whole.replacen("\"thread\": 0", "\"thread\": 77", 1);
    let choice = whole.replacen("\"choice\": 0", "\"choice\": 99", 1);
    for (text, complaint) in [
        ("", "not JSON"),
        ("garbage", "not JSON"),
        ("[1, 2]", "not a trace file"),
        (
            r#"{"format": "raddle-trace", "version": 99}"#,
            "a newer raddle",
        ),
        (
            r#"{"format": "raddle-trace", "version": 1}"#,
            "damaged trace file",
        ),
        (&whole[..whole.len() / 2], "not JSON"),
        (&far, "no longer fits"),
        (&whole.replace("access", "leap"), "unknown granularity"),
    ] {
        let trace = folder.write("trace.json", text);
        let said = raddle(&["replay", &trace]).exits(2).complains(&[complaint]);
        assert_eq!(said.stdout, "");
        assert!(!said.stderr.contains("panicked"));
    }
    // A choice that there is not may be taken for one that there is, but nothing breaks.
    let trace = folder.write("trace.json", &choice);
    assert!(!raddle(&["replay", &trace]).stderr.contains("panicked"));
}

#[test]
fn steps_forward_and_back() {
    let said = interactive("steps", "n\nnext\n\nb\nback\nb\nb\nq\n");
    said.says(&[
        "15 steps, 2 threads; h for help\n",
        "[0/15] withdraw#1 examples/bank.rad:10: lock(m);\n    locks m\n    holds m\n",
        "[1/15] withdraw#1 examples/bank.rad:11: bool enough = balance >= amount;\n",
        "[2/15] withdraw#1 examples/bank.rad:12: unlock(m);\n",
        "[1/15] the beginning\n",
        "[0/15] this is the beginning\n",
    ]);
}

#[test]
fn jumps_to_threads_and_steps() {
    let said = interactive(
        "jumps",
        "t withdraw#2\ng 3\ng 99\ng\nt nobody\nt\ne\nt withdraw#2\n",
    );
    said.says(&[
        "[0/15] withdraw#2 examples/bank.rad:10: lock(m);\n",
        "[4/15] withdraw#1 examples/bank.rad:12: unlock(m);\n",
        "[3/15] a number from 0 to 15 is needed\n",
        "[3/15] the threads are: withdraw#1, withdraw#2\n",
        "error: assertion failed: the account is overdrawn\n",
        "[15/15] withdraw#2 makes no more steps\n",
    ]);
}

#[test]
fn shows_variables_and_threads_and_the_story() {
    let said = interactive("shows", "g 4\np balance\np enough\np nothing\nv\nw\ns\nq\n");
    said.says(&[
        "[4/15] balance = 100\n",
        "[4/15] withdraw#1: enough = true\n",
        "[4/15] there is no variable `nothing` here\n",
        "withdraw#2: amount = 50\n",
        "[4/15] withdraw#1: examples/bank.rad:15: lock(m);\nwithdraw#2: examples/bank.rad:11:",
        "[4/15] 4 steps · 1 context switch",
    ]);
}

#[test]
fn help_and_mistakes() {
    let said = interactive("help", "h\nfly\nquit\n");
    said.says(&["one step back", "there is no command `fly`; h for help\n"]);
}

#[test]
fn the_end_of_input_is_the_end() {
    for commands in ["", "n\n", "n"] {
        let said = interactive("end-of-input", commands);
        assert!(said.stdout.ends_with("] \n"), "{}", said.stdout);
    }
    let said = interactive("leave", "q\nn\n");
    assert!(said.stdout.ends_with("[0/15] "), "{}", said.stdout);
}

/// A trace of one program does not fit another that ends otherwise, though every step of it
/// can be taken.
#[test]
fn another_ending_is_not_confirmed() {
    let waits = |word: &str, threads: &str| {
        format!("int x; void a() {{ yield; {word}(x == 1); }} run {threads};")
    };
    let breaks =
        |invariant: &str| format!("int x; invariant {invariant}; void a() {{ x = 7; }} run a();");
    let two = "a() || a()";
    for (number, (before, after, lost)) in [
        (
            waits("await", two),
            waits("assume", two),
            "2 threads wait for ever",
        ),
        (
            waits("await", two),
            "int x; void a() { yield; await(x == 1); } void b() { yield; } run a() || b();".into(),
            "2 threads wait for ever",
        ),
        (
            breaks("x != 7"),
            breaks("x < 5"),
            "invariant violated: x != 7",
        ),
        (
            breaks("x != 7"),
            breaks("x < 9"),
            "invariant violated: x != 7",
        ),
    ]
    .into_iter()
    .enumerate()
    {
        let folder = Folder::new(&format!("another-ending-{number}"));
        let program = folder.write("p.rad", &before);
        let trace = folder.path("t.json");
        raddle(&["check", &program, "--trace", &trace, "-q"]).exits(1);
        folder.write("p.rad", &after);
        raddle(&["replay", &trace])
            .exits(2)
            .complains(&["no longer fits", lost]);
    }
}
