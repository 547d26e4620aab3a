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

const WEAK: &str = "
## What needs weak memory

Of loom's own tests, these want something that is not sequentially consistent, and pass: `litmus::store_buffering`, `spec::acq_rel`, \
`atomic_relaxed::check_ordering_invalid_1` and `_2`. `spec::acq_rel` bounds preemptions: schedules are bounded then, and graphs are explored besides. The two that \
want load buffering fail.

Where the schedules of a test are many, its graphs are explored in part: see [the rule](rust.md#memory-orderings).
";

pub(crate) fn text(results: &[CrateResult], options: &Options) -> String {
    let mut text = HEAD.to_owned();
    let _ = write!(
        text,
        "\n## What comes of it\n\n\
         *Limit* means not within {} s of CPU time. *RC11* counts the tests that pass and that leave out nothing that RC11 allows where an \
         [ordering is weaker than `SeqCst`](rust.md#memory-orderings). Executions and CPU seconds are sums over the tests that \
         pass, memory is the most that one of them had resident.\n\n\
         | crate | `--cfg` | preemptions | tests | pass | RC11 | fail | limit | executions | CPU | memory |\n\
         |---|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n",
        options.cap,
    );
    for result in results {
        row(&mut text, result);
    }
    text.push_str(WEAK);
    text.push_str("\n## What does not pass\n\n");
    for result in results {
        exceptions(&mut text, result);
    }
    if results.iter().any(has_loom) {
        beside_loom(&mut text, results);
    }
    text
}

fn row(text: &mut String, result: &CrateResult) {
    let krate = &result.krate;
    let _ = write!(
        text,
        "| {} | {} | {} |",
        name_of(result),
        krate
            .cfg
            .iter()
            .map(|cfg| format!("`{cfg}`"))
            .collect::<Vec<_>>()
            .join(" "),
        krate.bound.map_or(String::new(), |bound| bound.to_string()),
    );
    if let Some(error) = &result.broken {
        let _ = writeln!(
            text,
            " {} ||||||||",
            error.lines().next().unwrap_or_default()
        );
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
        " {} | {} | {} | {} | {} |",
        result.tests.len(),
        count(Outcome::Passes),
        has_all_of_rc11(result).map_or(String::new(), |count| count.to_string()),
        count(Outcome::Fails),
        count(Outcome::Limit)
    );
    sums(
        text,
        result.tests.iter().map(|test| &test.raddle).filter(passes),
    );
    text.push('\n');
}

fn name_of(result: &CrateResult) -> String {
    let krate = &result.krate;
    let loom = krate.loom.as_deref();
    let loom = loom.map_or(String::new(), |version| format!(" (loom {version})"));
    format!("{} {}{loom}", krate.name, krate.version)
}

fn passes(ran: &&Ran) -> bool {
    ran.outcome == Outcome::Passes
}

/// How many tests pass that have left out nothing that weak orderings allow, if that is known. (A bound on preemptions does not bound that.)
fn has_all_of_rc11(result: &CrateResult) -> Option<usize> {
    let mut count = 0;
    for test in result.tests.iter().map(|test| &test.raddle).filter(passes) {
        count += usize::from(!test.leaves_out_weak?);
    }
    Some(count)
}

/// The sum of the executions and of the CPU seconds, and the most memory.
fn sums<'a>(text: &mut String, ran: impl Iterator<Item = &'a Ran>) {
    let (mut executions, mut cpu, mut memory) = (0, 0.0, 0);
    for ran in ran {
        executions += ran.executions;
        cpu += ran.cpu;
        memory = memory.max(ran.memory);
    }
    // Not all of them say how many there were.
    let executions = match executions {
        0 => String::new(),
        executions => grouped(executions),
    };
    let _ = write!(
        text,
        " {executions} | {cpu:.2} | {:.0} MB |",
        memory as f64 / 1e6
    );
}

fn has_loom(result: &CrateResult) -> bool {
    result.tests.iter().any(|test| test.loom.is_some())
}

/// How long a test takes with one of the two, at least, to have a row of its own.
const WORTH_A_ROW: f64 = 0.1;

/// Both libraries side by side, for crates that were run with loom itself too.
fn beside_loom(text: &mut String, results: &[CrateResult]) {
    text.push_str(
        "\n## Beside loom\n\n\
         The same tests with loom itself, from the registry, by the same command with `--beside-loom`. Executions, CPU seconds and memory are of the tests \
         that both finish. Executions do not count the same thing: loom lets atomics read old values in the same executions, and Raddle counts the executions under sequential \
         consistency and, after them, those under RC11.\n\n\
         | crate | preemptions | both finish | only Raddle | only loom | neither | loom: executions | CPU | memory | Raddle: executions | CPU | memory |\n\
         |---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n",
    );
    for result in results.iter().filter(|result| has_loom(result)) {
        let both = || {
            let pairs = result.tests.iter();
            let pairs = pairs.filter_map(|test| Some((&test.raddle, test.loom.as_ref()?)));
            pairs.filter(|(raddle, loom)| passes(raddle) && passes(loom))
        };
        let count = |raddle: bool, loom: bool| {
            let wanted = |test: &&Test| {
                let with_loom = test.loom.as_ref();
                with_loom.is_some_and(|it| passes(&it) == loom) && passes(&&test.raddle) == raddle
            };
            result.tests.iter().filter(wanted).count()
        };
        let bound = result.krate.bound;
        let _ = write!(
            text,
            "| {} | {} | {} | {} | {} | {} |",
            name_of(result),
            bound.map_or(String::new(), |bound| bound.to_string()),
            both().count(),
            count(true, false),
            count(false, true),
            count(false, false),
        );
        sums(text, both().map(|(_, loom)| loom));
        sums(text, both().map(|(raddle, _)| raddle));
        text.push('\n');
    }
    let _ = write!(
        text,
        "\nThe tests that take one of the two more than {WORTH_A_ROW} s:\n\n\
         | test | loom: executions | CPU | memory | Raddle: executions | CPU | memory |\n\
         |---|--:|--:|--:|--:|--:|--:|\n",
    );
    for result in results {
        for test in &result.tests {
            let Some(loom) = &test.loom else { continue };
            if test.raddle.cpu.max(loom.cpu) > WORTH_A_ROW {
                let _ = write!(text, "| {} `{}` |", result.krate.name, test.name);
                one(text, loom);
                one(text, &test.raddle);
                text.push('\n');
            }
        }
    }
}

fn one(text: &mut String, ran: &Ran) {
    match ran.outcome {
        Outcome::Passes => sums(text, std::iter::once(ran)),
        Outcome::Limit => {
            let _ = write!(text, " limit | | {:.0} MB |", ran.memory as f64 / 1e6);
        }
        Outcome::Fails => text.push_str(" fails | | |"),
    }
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
