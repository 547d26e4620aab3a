//! The page of the documentation.

use std::fmt::Write as _;

use crate::data::Expected;
use crate::tests::{Outcome, Ran};
use crate::{CrateResult, Options, Test};

const HEAD: &str = "# Loom tests of other crates

[`crates/loom`](../crates/loom/src/lib.rs) has the interface of loom 0.7 on top of Raddle. These are loom's own tests, and crates from the
registry whose loom tests are run with it, as they are.

This page is written by one command, which downloads the packages, builds their tests with `crates/loom` in the place of loom, runs each
test by itself, and compares what comes of it with [what is expected](../bench/loom/crates.toml):

```console
$ cargo run --release --manifest-path bench/loom/Cargo.toml -- --page docs/loom-crates.md
```

[Its own page](../bench/loom/README.md) tells more. The exit code is 1 if a test does something else than is expected.
";

pub(crate) fn text(results: &[CrateResult], options: &Options) -> String {
    let mut text = HEAD.to_owned();
    let _ = write!(
        text,
        "\n## What comes of it\n\n\
         *Limit* means not within {} s of CPU time. Executions and CPU seconds are sums over the tests that pass{}.\n\n",
        options.cap,
        if options.beside_loom {
            " with both. They do not count the same: loom also lets atomics read old values"
        } else {
            ""
        }
    );
    text.push_str("| crate | `--cfg` | preemptions | tests | pass | fail | limit |");
    text.push_str(if options.beside_loom {
        " loom: executions | CPU | Raddle: executions | CPU |\n|---|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n"
    } else {
        " executions | CPU |\n|---|---|--:|--:|--:|--:|--:|--:|--:|\n"
    });
    for result in results {
        row(&mut text, result, options);
    }
    text.push_str("\n## What does not pass\n\n");
    for result in results {
        exceptions(&mut text, result);
    }
    text.push('\n');
    text.push_str(include_str!("../notes.md"));
    text
}

fn row(text: &mut String, result: &CrateResult, options: &Options) {
    let krate = &result.krate;
    let loom = krate
        .loom
        .as_deref()
        .map(|version| format!(" (loom {version})"));
    let _ = write!(
        text,
        "| {} {}{} | {} | {} |",
        krate.name,
        krate.version,
        loom.unwrap_or_default(),
        krate
            .cfg
            .iter()
            .map(|cfg| format!("`{cfg}`"))
            .collect::<Vec<_>>()
            .join(" "),
        krate.bound.map_or(String::new(), |bound| bound.to_string()),
    );
    if let Some(error) = &result.broken {
        let _ = writeln!(text, " {} ||||||", error.lines().next().unwrap_or_default());
        return;
    }
    let count = |outcome| {
        result
            .tests
            .iter()
            .filter(|test| test.raddle.outcome == outcome)
            .count()
    };
    let _ = write!(
        text,
        " {} | {} | {} | {} |",
        result.tests.len(),
        count(Outcome::Passes),
        count(Outcome::Fails),
        count(Outcome::Limit)
    );
    let passes = |ran: &Ran| ran.outcome == Outcome::Passes;
    let both: Vec<&Test> = result
        .tests
        .iter()
        .filter(|test| passes(&test.raddle))
        .filter(|test| !options.beside_loom || test.loom.as_ref().is_some_and(passes))
        .collect();
    if options.beside_loom {
        sums(text, both.iter().filter_map(|test| test.loom.as_ref()));
    }
    sums(text, both.iter().map(|test| &test.raddle));
    text.push('\n');
}

fn sums<'a>(text: &mut String, ran: impl Iterator<Item = &'a Ran>) {
    let (executions, cpu) = ran.fold((0, 0.0), |sum, ran| {
        (sum.0 + ran.executions, sum.1 + ran.cpu)
    });
    let _ = write!(text, " {} | {cpu:.2} |", grouped(executions));
}

fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// The tests of a crate that do not pass, and why.
fn exceptions(text: &mut String, result: &CrateResult) {
    let failing = result
        .tests
        .iter()
        .filter(|test| test.raddle.outcome != Outcome::Passes);
    for test in failing {
        let what = match test.raddle.outcome {
            Outcome::Limit => "at the limit",
            _ => "fails",
        };
        let why = match result.krate.expected_of(&test.name) {
            Expected::Fails(why) | Expected::Limit(why) => why,
            Expected::Passes => format!(
                "**not expected**: {}",
                test.raddle
                    .message
                    .as_deref()
                    .unwrap_or("no reason is known")
            ),
        };
        let _ = writeln!(
            text,
            "- {} `{}` {what}: {why}",
            result.krate.name, test.name
        );
    }
}
