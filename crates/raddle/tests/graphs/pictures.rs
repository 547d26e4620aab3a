//! Executions as pictures.

use std::path::PathBuf;

use raddle::cell::UnsafeCell;
use raddle::sync::atomic::{AtomicBool, AtomicU32, Ordering::*, fence};
use raddle::sync::{Arc, Mutex};
use raddle::{Checker, Failed, Memory, thread};

fn drawn(name: &str, checker: Checker, body: fn()) -> (Failed, String) {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_file(&path);
    let failed = checker.graph_file(&path).run(body).expect_err("it fails");
    let ending = format!("its graph is in {}", path.display());
    assert!(failed.text.ends_with(&ending), "{}", failed.text);
    (failed, std::fs::read_to_string(path).unwrap())
}

fn rc11() -> Checker {
    Checker::new().memory(Memory::Rc11)
}

/// The labels of the events, and the arrows between them by their names, without program order.
fn relations(dot: &str) -> (Vec<String>, Vec<String>) {
    let (mut events, mut arrows) = (Vec::new(), Vec::new());
    for line in dot.lines().map(str::trim) {
        let label = || {
            let label = line.split_once("label=\"")?.1;
            label.split_once('"').map(|(label, _)| label)
        };
        let is_event = |name: &str| {
            let number = name.strip_prefix('e');
            number.is_some_and(|number| number.starts_with(|c: char| c.is_ascii_digit()))
        };
        let Some((name, _)) = line.split_once(" [").filter(|(name, _)| is_event(name)) else {
            continue;
        };
        match (name.contains("->"), label()) {
            (true, Some(label)) => arrows.push(format!("{name}: {label}")),
            (true, None) => {}
            (false, label) => {
                let label = label.unwrap().split("\\n").next().unwrap();
                let wrong = if line.contains("color") { "✗ " } else { "" };
                events.push(format!("{wrong}{name} {label}"));
            }
        }
    }
    (events, arrows)
}

fn message_passing() {
    let shared = Arc::new((AtomicU32::new(0), AtomicBool::new(false)));
    let theirs = shared.clone();
    let child = thread::spawn(move || {
        theirs.0.store(42, Relaxed);
        theirs.1.store(true, Relaxed);
    });
    if shared.1.load(Acquire) {
        assert!(shared.0.load(Relaxed) == 42);
    }
    child.join().unwrap();
}

#[test]
fn a_graph_as_dot() {
    let (failed, dot) = drawn("message-passing.dot", rc11(), message_passing);
    let line = |what: &str| {
        let text = include_str!("pictures.rs");
        let mut lines = text.lines().zip(1..);
        let found = lines.find(|(line, _)| line.trim().starts_with(what));
        format!("pictures.rs:{}", found.unwrap().1)
    };
    let expected = format!(
        r##"digraph execution {{
  label="main panicked: assertion failed: shared.0.load(Relaxed) == 42";
  labelloc=t;
  node [shape=box, style=rounded, fontname=monospace, fontsize=10];
  edge [fontname=monospace, fontsize=9];
  subgraph cluster_0 {{
    label="main";
    color="#cccccc";
    e0 [label="1: starts thread 1\n{spawn}"];
    e3 [label="4: reads atomic 1 = 1 (acquire)\n{flag}"];
    e4 [label="5: reads atomic 2 = 0 (relaxed)\n{message}"];
    e5 [label="panicked: assertion failed: shared.0.load(Relaxed) == 42\n{message}", color="#cf222e", fontcolor="#cf222e"];
  }}
  subgraph cluster_1 {{
    label="thread 1";
    color="#cccccc";
    e1 [label="2: writes 42 to atomic 2 (relaxed)\n{first}"];
    e2 [label="3: writes 1 to atomic 1 (relaxed)\n{second}"];
  }}
  e0 -> e1 [color="#b35900", fontcolor="#b35900", label="sw"];
  e0 -> e3 [color="#333333"];
  e1 -> e2 [color="#333333"];
  e2 -> e3 [color="#1a7f37", fontcolor="#1a7f37", label="rf"];
  e3 -> e4 [color="#333333"];
  e4 -> e1 [color="#8250df", fontcolor="#8250df", label="rb", style=dashed, constraint=false];
  e4 -> e5 [color="#333333"];
}}
"##,
        spawn = line("let child"),
        first = line("theirs.0"),
        second = line("theirs.1"),
        flag = line("if shared.1"),
        message = line("assert!(shared.0"),
    );
    assert_eq!(dot, expected);
    // The same execution once more, from the string, has the same picture.
    let again = Checker::new().replay(&failed.schedule);
    assert_eq!(
        drawn("message-passing-again.dot", again, message_passing).1,
        dot
    );
    let (_, svg) = drawn("message-passing.svg", rc11(), message_passing);
    assert!(
        svg.starts_with("<svg ") && svg.ends_with("</svg>\n"),
        "{svg}"
    );
    assert!(svg.contains("5: reads atomic 2 = 0 (relaxed)"), "{svg}");
}

struct Shared(UnsafeCell<u32>, AtomicBool);

// SAFETY: a check finds out whether it is.
unsafe impl Sync for Shared {}

fn race() {
    let shared = Arc::new(Shared(UnsafeCell::new(0), AtomicBool::new(false)));
    let theirs = shared.clone();
    thread::spawn(move || {
        theirs.0.with_mut(|_| ());
        theirs.1.store(true, Relaxed);
    });
    if shared.1.load(Acquire) {
        shared.0.with(|_| ());
    }
}

/// An access stands between the events of its thread where it was made. Under sequential consistency it is the same.
#[test]
fn a_race_is_an_arrow() {
    for checker in [rc11(), Checker::new().memory(Memory::Sc)] {
        let is_rc11 = checker.options().memory == Some(Memory::Rc11);
        let (_, dot) = drawn(&format!("race-{is_rc11}.dot"), checker, race);
        let (events, arrows) = relations(&dot);
        let number = |events: &[String], what: &str| {
            let mut found = events.iter().filter(|event| event.ends_with(what));
            let event = found
                .next()
                .unwrap_or_else(|| panic!("{what}: {events:#?}"));
            event
                .trim_start_matches("✗ ")
                .split(' ')
                .next()
                .unwrap()
                .to_owned()
        };
        let wrong = events.iter().filter(|event| event.starts_with('✗'));
        let wrong: Vec<&str> = wrong
            .map(|event| event.split(' ').nth(2).unwrap())
            .collect();
        assert_eq!(wrong, ["reads", "writes"], "{dot}");
        let (writes, reads) = (number(&events, " writes"), number(&events, " reads"));
        let race = format!("{writes} -> {reads}: race");
        assert!(arrows.contains(&race), "{arrows:?}");
        // The write was made before the flag was set.
        let flag = events
            .iter()
            .position(|event| event.contains("writes 1 to"));
        let plain = events.iter().position(|event| event.ends_with(" writes"));
        assert!(plain < flag, "{events:?}");
    }
}

fn locked() {
    let shared = Arc::new((Mutex::new(0), AtomicU32::new(0)));
    let theirs = shared.clone();
    let child = thread::spawn(move || {
        *theirs.0.lock().unwrap() += 1;
        fence(Release);
        theirs.1.store(1, Relaxed);
    });
    let found = shared.1.load(Relaxed);
    fence(Acquire);
    *shared.0.lock().unwrap() += 1;
    child.join().unwrap();
    assert!(found == 0);
}

/// Locks, fences and the end of a thread synchronise.
#[test]
fn what_synchronises_is_an_arrow() {
    let (_, dot) = drawn("locked.dot", rc11(), locked);
    let (events, arrows) = relations(&dot);
    assert_eq!(
        events,
        [
            "e0 1: starts thread 1",
            "e5 6: reads atomic 1 = 1 (relaxed)",
            "e6 7: passes a fence (acquire)",
            "e7 8: locks mutex 1",
            "e8 9: unlocks mutex 1",
            "e9 10: joins thread 1",
            "✗ e10 panicked: assertion failed: found == 0",
            "e1 2: locks mutex 1",
            "e2 3: unlocks mutex 1",
            "e3 4: passes a fence (release)",
            "e4 5: writes 1 to atomic 1 (relaxed)",
        ]
    );
    assert_eq!(
        arrows,
        [
            "e0 -> e1: sw",
            "e2 -> e7: rf, mo",
            "e3 -> e6: sw",
            "e4 -> e5: rf",
            "e4 -> e9: rf, sw",
        ]
    );
}

/// Nobody shall look for a picture that is not there.
#[test]
fn a_file_of_another_kind_is_refused() {
    let check = || Checker::new().graph_file("graph.png").run(|| ());
    let refused = std::panic::catch_unwind(check).unwrap_err();
    let said = refused.downcast_ref::<String>().unwrap();
    assert_eq!(
        said,
        "raddle: graph.png: a graph is written as DOT or SVG, so the file has to end in `.dot` or `.svg`"
    );
}
