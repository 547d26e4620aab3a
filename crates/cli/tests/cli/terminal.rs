//! Colours, width, help, closed pipes and Ctrl-C.

use std::process::Stdio;

use crate::support::{ENDLESS, Folder, Said, command, raddle, violated_programs};

const BANK: [&str; 2] = ["check", "examples/bank.rad"];

#[test]
fn colours_only_where_they_are_wanted() {
    let coloured = |options: &[&str], no_color: &str| {
        let arguments = [&BANK[..], options].concat();
        let output = command(&arguments).env("NO_COLOR", no_color).output();
        Said::from(output.unwrap()).stdout.contains('\x1b')
    };
    // Standard output is no terminal here.
    assert!(!coloured(&[], ""));
    assert!(!coloured(&["--colour", "auto"], ""));
    assert!(!coloured(&["--colour", "never"], ""));
    assert!(coloured(&["--colour", "always"], ""));
    assert!(coloured(&["--color", "always"], "1"));
    assert!(!coloured(&[], "1"));

    let plain = raddle(&[&BANK[..], &["-q"]].concat()).stdout;
    let coloured = raddle(&[&BANK[..], &["-q", "--colour", "always"]].concat()).stdout;
    assert_eq!(plain, without_escapes(&coloured));
}

fn without_escapes(text: &str) -> String {
    let mut parts = text.split("\x1b[");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |plain, part| {
        plain + part.split_once('m').map_or(part, |(_, rest)| rest)
    })
}

#[test]
fn no_line_of_a_counterexample_is_longer_than_the_page() {
    let mut problems = Vec::new();
    for program in violated_programs() {
        for width in ["80", "60"] {
            let said = raddle(&["check", &program, "--all", "--quiet", "--width", width]);
            if said.code != Some(1) {
                problems.push(format!("{program}: {}", said.stderr));
            }
            // All programs are written in characters that are one column wide.
            let widest = said.stdout.lines().map(|line| line.chars().count()).max();
            if widest > width.parse().ok() {
                problems.push(format!("{program}: {widest:?} columns of {width}"));
            }
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn help_mentions_the_options() {
    let drawing = ["--ascii", "--width"];
    for (name, draws, options) in [
        (
            "check",
            true,
            &[
                "--reduction",
                "--completion",
                "--cycle-test",
                "--workers",
                "--search",
                "--granularity",
                "--property",
                "--all",
                "--max-states",
                "--max-depth",
                "--max-memory",
                "--timeout",
                "--stats",
                "--count-self-loops",
                "--trace",
            ][..],
        ),
        (
            "compare",
            false,
            &[
                "--reduction",
                "--search",
                "--granularity",
                "--property",
                "--max-states",
                "--max-memory",
                "--timeout",
                "--ascii",
            ],
        ),
        ("run", true, &["--seed", "--steps", "--granularity"]),
        ("replay", true, &["--program", "--interactive"]),
        ("fmt", false, &["--check"]),
    ] {
        let said = raddle(&[name, "--help"])
            .exits(0)
            .says(options)
            .says(&["--format", "--quiet", "--colour"]);
        if draws {
            said.says(&drawing);
        }
    }
    raddle(&["--help"])
        .exits(0)
        .says(&[
            "Checks multithreaded programs",
            "check",
            "compare",
            "run",
            "replay",
            "fmt",
        ])
        .says(&["Exit codes: 0 verified", "4 reductions disagree"]);
    raddle(&["--version"]).exits(0).says(&["raddle 0"]);
}

/// Runs every command that prints something, with standard output set up by `redirect`.
fn printing_to(test: &str, redirect: impl Fn() -> Stdio) -> Vec<Said> {
    let folder = Folder::new(test);
    let trace = folder.path("trace.json");
    raddle(&[&BANK[..], &["--trace", &trace]].concat()).exits(1);
    let commands: [&[&str]; 9] = [
        &BANK,
        &["check", "examples/bank.rad", "--format", "json"],
        &["compare", "examples/bank.rad"],
        &["explain", "examples/bank.rad"],
        &["run", "corpus/classics/burns.rad", "--seed", "1"],
        &["replay", &trace],
        &["replay", &trace, "--interactive"],
        &["check", "--help"],
        &["--version"],
    ];
    let said = commands.into_iter().map(|arguments| {
        let child = command(arguments).stdout(redirect()).spawn();
        Said::from(child.unwrap().wait_with_output().unwrap())
    });
    said.collect()
}

/// Guards against an exit code that says "verified" though nobody has got the report.
#[test]
fn a_closed_pipe_is_neither_a_panic_nor_a_verdict() {
    let closed = || {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        Stdio::from(writer)
    };
    for said in printing_to("closed-pipe", closed) {
        // Whoever closes a pipe knows that it did.
        let noise = ["panicked", "cannot write"];
        assert!(
            !noise.iter().any(|text| said.stderr.contains(text)),
            "{said:?}"
        );
        said.exits(2);
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_device_is_an_error() {
    let full = || {
        let file = std::fs::OpenOptions::new().write(true).open("/dev/full");
        Stdio::from(file.unwrap())
    };
    for said in printing_to("full-device", full) {
        said.exits(2)
            .complains(&["error: cannot write to standard output: No space left"]);
    }
}

/// Sends SIGINT as soon as the command is ready for it.
#[cfg(target_os = "linux")]
#[test]
fn an_interrupted_search_ends_with_its_numbers() {
    let folder = Folder::new("interrupted");
    let program = folder.write("endless.rad", ENDLESS);
    interrupted(&["check", &program]).exits(3).says(&[
        "inconclusive: ",
        " states, ",
        "the search was cancelled",
    ]);
}

#[cfg(target_os = "linux")]
#[test]
fn an_interrupted_comparison_ends_with_its_rows() {
    let folder = Folder::new("interrupted-comparison");
    let program = folder.write("endless.rad", ENDLESS);
    let said = interrupted(&["compare", &program, "no/such.rad"])
        .exits(3)
        .says(&["full ", "inconclusive: the search was cancelled"])
        .complains(&["interrupted"]);
    assert!(!said.stdout.contains("optimistic"), "{}", said.stdout);
}

/// Runs the command until it can be interrupted, and then does that.
#[cfg(target_os = "linux")]
fn interrupted(arguments: &[&str]) -> Said {
    // The limits are there in case that it cannot be interrupted.
    let guard = ["--max-states", "20M", "--timeout", "60s"];
    let child = command(&[arguments, &guard[..]].concat()).spawn();
    let child = child.unwrap();
    let status = format!("/proc/{}/status", child.id());
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(20);
    while !catches_interrupts(&status) {
        assert!(std::time::Instant::now() < deadline, "there is no handler");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    // A comparison has to come to its first row.
    std::thread::sleep(std::time::Duration::from_millis(300));
    let kill = std::process::Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status();
    assert!(kill.unwrap().success());
    Said::from(child.wait_with_output().unwrap())
}

/// Whether a process has a handler for SIGINT.
#[cfg(target_os = "linux")]
fn catches_interrupts(status: &str) -> bool {
    const SIGINT: u64 = 2;
    let status = std::fs::read_to_string(status).expect("the process runs");
    let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
    let caught = caught.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    caught.is_some_and(|mask| mask & (1 << (SIGINT - 1)) != 0)
}
