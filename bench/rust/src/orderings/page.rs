//! The page of the documentation.

use std::fmt::Write as _;

use raddle_examples::orderings::{Verdict, Weakened};

use crate::measure::{Measured, Status};
use crate::{Row, Structure};

/// Whether nothing is wrong with a weaker ordering.
pub(crate) fn is_harmless(weakened: &Weakened) -> bool {
    matches!(weakened.verdict, Verdict::Harmless(_))
}

/// What is expected of a weaker ordering.
fn expected(weakened: &Weakened) -> String {
    match weakened.verdict {
        Verdict::Race => "a data race".into(),
        Verdict::Wrong => "a failed assertion".into(),
        Verdict::Stuck => "a live-lock".into(),
        Verdict::Harmless(why) => format!("nothing: {why}"),
    }
}

pub(crate) fn page(
    structures: &[Structure],
    primitives: &[Row],
    cap: f64,
    arguments: &[String],
) -> String {
    let mut text = String::from(
        "# Evaluation: weak orderings\n\n\
         Raddle beside [Loom](https://crates.io/crates/loom) on the structures of \
         [`examples/rust/src/orderings`](../examples/rust/src/orderings/mod.rs), each with the orderings that it needs and with each of them weaker; \
         and graphs beside schedules, on programs of one primitive each.\n\n```sh\n",
    );
    let _ = writeln!(
        text,
        "cargo run --release --manifest-path bench/rust/Cargo.toml --bin orderings -- {}\n```\n\n\
         wrote this page, all of it. A run was stopped after {cap} s of CPU time, which is what `>` means; loom *gives up* when an execution has 10,000 steps. Times are of a machine that did other work as well.\n",
        arguments.join(" "),
    );
    in_short(&mut text, structures);
    right(&mut text, structures);
    weaker(&mut text, structures);
    sequential(&mut text, primitives);
    text
}

fn in_short(text: &mut String, structures: &[Structure]) {
    let weakened = || structures.iter().flat_map(|structure| &structure.weakened);
    let bugs = weakened().filter(|weaker| !is_harmless(&weaker.weakened));
    let count = bugs.clone().count();
    let by_raddle = bugs.clone().filter(|weaker| weaker.raddle.fails()).count();
    let by_loom = bugs.clone().filter(|weaker| weaker.loom.fails()).count();
    let missed = bugs.filter(|weaker| weaker.loom.passes()).count();
    let harmless = weakened().filter(|weaker| is_harmless(&weaker.weakened));
    let invented = structures
        .iter()
        .map(|structure| &structure.loom)
        .chain(harmless.clone().map(|weaker| &weaker.loom))
        .filter(|loom| loom.fails())
        .count();
    let false_alarms = harmless.filter(|weaker| weaker.raddle.fails()).count();
    let right = structures.iter().filter(|one| one.loom.passes()).count();
    let _ = writeln!(
        text,
        "## In short\n\n\
         - {} structures are right. Raddle says so of {}, loom of {right}.\n\
         - {count} weaker orderings are bugs. Raddle finds {by_raddle}; loom finds {by_loom}, says of {missed} that nothing is wrong, and comes to no end with the others.\n\
         - Of what is right or does no harm, Raddle reports {false_alarms}, loom {invented}.\n",
        structures.len(),
        structures.iter().filter(|one| one.graphs.passes()).count(),
    );
}

fn right(text: &mut String, structures: &[Structure]) {
    *text += "## Right\n\n\
              *Classes* are happens-before classes under sequential consistency, *graphs* those of RC11; *runs* is how often the program began: more than there are graphs if \
              threads spin, because a graph in which a thread would go on spinning is the beginning of others. \
              Where loom reports a structure that is right, because it takes `SeqCst` accesses for `AcqRel`, what it finds in weaker ones says nothing.\n\n\
              | structure | threads | classes | runs | CPU ms | graphs | runs | CPU ms | loom: runs | CPU ms | |\n\
              | --- | --- | --: | --: | --: | --: | --: | --: | --: | --: | --- |\n";
    for one in structures {
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} |",
            one.program.name,
            one.program.threads,
            executions(&one.schedules),
            runs(&one.schedules),
            time(&one.schedules),
            executions(&one.graphs),
            runs(&one.graphs),
            time(&one.graphs),
            runs(&one.loom),
            time(&one.loom),
            of_loom(&one.loom, false),
        );
    }
    text.push('\n');
}

fn weaker(text: &mut String, structures: &[Structure]) {
    *text += "## One ordering weaker\n\n\
              Raddle is run as it is by default: schedules first, then the graphs of RC11.\n\n\
              | structure | where | weaker | what comes of it | Raddle | runs | CPU ms | loom | runs | CPU ms |\n\
              | --- | --- | --- | --- | --- | --: | --: | --- | --: | --: |\n";
    for structure in structures {
        for one in &structure.weakened {
            let is_bug = !is_harmless(&one.weakened);
            let raddle = match &one.raddle.status {
                Status::Passes => "passes",
                Status::Fails(_) => "found",
                Status::Stopped | Status::GivesUp => "no end",
                Status::Broken(why) => why,
            };
            let _ = writeln!(
                text,
                "| {} | {} | `{:?}` | {} | {raddle} | {} | {} | {} | {} | {} |",
                structure.program.name,
                one.weakened.site.name,
                one.weakened.order,
                expected(&one.weakened),
                runs(&one.raddle),
                time(&one.raddle),
                of_loom(&one.loom, is_bug),
                runs(&one.loom),
                time(&one.loom),
            );
        }
    }
    text.push('\n');
}

fn sequential(text: &mut String, primitives: &[Row]) {
    *text += "## Primitives under sequential consistency\n\n\
              One schedule for each happens-before class (`optimal`), beside one run for each graph (`graphs`, `Memory::Sc`).\n\n\
              | program | classes | CPU µs | graphs | CPU µs | time of a graph to that of a schedule |\n\
              | --- | --: | --: | --: | --: | --: |\n";
    for one in primitives {
        let each = |measured: &Measured| measured.seconds / measured.runs as f64;
        let _ = writeln!(
            text,
            "| {} | {} | {:.0} | {} | {:.0} | {:.1} |",
            one.primitive.name,
            executions(&one.schedules),
            one.schedules.seconds * 1e6,
            executions(&one.graphs),
            one.graphs.seconds * 1e6,
            each(&one.graphs) / each(&one.schedules),
        );
    }
    *text += "\nWhere there are more graphs than classes, a graph orders what commutes:\n\n\
              - **Reader-writer locks** are one location, whose updates are ordered, those of readers too: of *k* readers and a writer there are (k+1)! orders of taking the lock, and more of giving it back, for 2ᵏ classes.\n\
              - **Barriers**: the arrivals of *n* threads are ordered, n! for each generation, where a schedule is one class as long as nobody asks who leads.\n\
              - **Channels**: messages are put in slots, which costs nothing. But the clones and drops of senders are updates of one number.\n\
              - **`Arc`**: so are those of references, if somebody looks at their number. If nobody does, they are no events.\n\n\
              So graphs do not take the place of schedules yet: readers, arrivals and counts would have to commute in them.\n";
}

/// What loom says.
fn of_loom(loom: &Measured, is_bug: bool) -> String {
    match (&loom.status, is_bug) {
        (Status::Passes, false) => "passes".into(),
        (Status::Passes, true) => "**missed**".into(),
        (Status::Stopped, _) => "no end".into(),
        (Status::GivesUp, _) => "gives up".into(),
        (Status::Fails(_), true) => "found".into(),
        (Status::Fails(_), false) => "**false alarm**".into(),
        (Status::Broken(why), _) => why.clone(),
    }
}

fn more(measured: &Measured) -> &'static str {
    match measured.status {
        Status::Stopped => "> ",
        _ => "",
    }
}

fn executions(measured: &Measured) -> String {
    match measured.passes() {
        true => grouped(measured.executions),
        false => String::new(),
    }
}

fn runs(measured: &Measured) -> String {
    format!("{}{}", more(measured), grouped(measured.runs))
}

fn time(measured: &Measured) -> String {
    let milliseconds = measured.seconds * 1e3;
    let digits = match milliseconds {
        ..1.0 => 2,
        ..10.0 => 1,
        _ => 0,
    };
    format!("{}{milliseconds:.digits$}", more(measured))
}

/// With commas between thousands.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
