//! What is printed.

use std::fmt::Write as _;

use crate::cases::PROGRAMS;
use crate::libraries::Tool;
use crate::measure::{Measured, Status};
use crate::{Options, Row};

/// Everything, one line for each library.
pub(crate) fn csv(rows: &[Row]) -> String {
    let mut text = String::from(
        "program,size,classes,tool,status,executions,cpu_seconds,executions_per_cpu_second\n",
    );
    for row in rows {
        for (tool, measured) in &row.measured {
            let status = match measured.status {
                Status::Complete => "complete",
                Status::Stopped => "stopped",
                Status::Bug(_) => "bug",
                Status::Broken(_) => "broken",
            };
            let classes = row.classes.map(|classes| classes.to_string());
            let _ = writeln!(
                text,
                "{},{},{},{},{status},{},{:.6},{:.0}",
                row.case.program,
                row.case.size_text(),
                classes.unwrap_or_default(),
                tool.name(),
                measured.executions,
                measured.seconds,
                measured.rate(),
            );
        }
    }
    text
}

/// The tables: programs without a bug, and those with one.
pub(crate) fn tables(rows: &[Row]) -> String {
    let mut text = String::new();
    let correct: Vec<_> = rows.iter().filter(|row| !row.case.has_bug).collect();
    if !correct.is_empty() {
        text += "| program | size | classes | library | executions | per class | CPU s | executions / CPU s | rate of optimal | time to that of optimal |\n";
        text += "| --- | --- | --: | --- | --: | --: | --: | --: | --: | --: |\n";
        for row in correct {
            for (tool, measured) in &row.measured {
                exhaustion(&mut text, row, *tool, measured);
            }
        }
    }
    let buggy: Vec<_> = rows.iter().filter(|row| row.case.has_bug).collect();
    if !buggy.is_empty() {
        if !text.is_empty() {
            text.push('\n');
        }
        text += "| program | size | library | found | executions | CPU ms | time to that of optimal |\n";
        text += "| --- | --- | --- | --- | --: | --: | --: |\n";
        for row in buggy {
            for (tool, measured) in &row.measured {
                bug(&mut text, row, *tool, measured);
            }
        }
    }
    text
}

fn exhaustion(text: &mut String, row: &Row, tool: Tool, measured: &Measured) {
    let optimal = row.of(Tool::Optimal);
    let more = match measured.status {
        Status::Complete => "",
        Status::Stopped => "> ",
        Status::Bug(_) | Status::Broken(_) => {
            let _ = writeln!(
                text,
                "| {} | {} | {} | {} | failed | | | | | |",
                row.case.program,
                row.case.size_text(),
                number(row.classes),
                tool.name()
            );
            return;
        }
    };
    let per_class = row.classes.map(|classes| {
        let ratio = measured.executions as f64 / classes as f64;
        format!("{more}{}", short(ratio))
    });
    let rate = optimal.map(|optimal| format!("{}×", short(optimal.rate() / measured.rate())));
    let time = optimal
        .filter(|optimal| optimal.status == Status::Complete)
        .map(|optimal| format!("{more}{}×", short(measured.seconds / optimal.seconds)));
    let _ = writeln!(
        text,
        "| {} | {} | {} | {} | {more}{} | {} | {more}{} | {} | {} | {} |",
        row.case.program,
        row.case.size_text(),
        number(row.classes),
        tool.name(),
        grouped(measured.executions),
        per_class.unwrap_or_default(),
        short(measured.seconds),
        grouped(measured.rate() as u64),
        rate.unwrap_or_default(),
        time.unwrap_or_default(),
    );
}

fn bug(text: &mut String, row: &Row, tool: Tool, measured: &Measured) {
    let (found, more) = match measured.status {
        Status::Bug(_) => ("yes", ""),
        Status::Stopped => ("not yet", "> "),
        Status::Complete => ("no", ""),
        Status::Broken(_) => ("failed", ""),
    };
    let time = row
        .of(Tool::Optimal)
        .filter(|optimal| matches!(optimal.status, Status::Bug(_)))
        .map(|optimal| format!("{more}{}×", short(measured.seconds / optimal.seconds)));
    let _ = writeln!(
        text,
        "| {} | {} | {} | {found} | {more}{} | {more}{} | {} |",
        row.case.program,
        row.case.size_text(),
        tool.name(),
        grouped(measured.executions),
        short(measured.seconds * 1e3),
        time.unwrap_or_default(),
    );
}

fn number(known: Option<u64>) -> String {
    known.map(grouped).unwrap_or_default()
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

/// With two or three digits that mean something.
fn short(number: f64) -> String {
    if number >= 100.0 {
        grouped(number.round() as u64)
    } else if number >= 10.0 {
        format!("{number:.1}")
    } else if number >= 0.1 {
        format!("{number:.2}")
    } else if number > 0.0 && number.is_finite() {
        let digits = (-number.log10()).ceil() as usize + 1;
        format!("{number:.digits$}")
    } else {
        "0".into()
    }
}

/// The smallest, the middle and the largest of some ratios.
fn spread(mut ratios: Vec<f64>) -> Option<String> {
    ratios.sort_by(f64::total_cmp);
    let (first, last) = (ratios.first()?, ratios.last()?);
    let middle = ratios[ratios.len() / 2];
    Some(format!(
        "{} to {}, {} in the middle",
        short(*first),
        short(*last),
        short(middle)
    ))
}

/// A page of the documentation.
pub(crate) fn page(rows: &[Row], options: &Options, arguments: &[String]) -> String {
    let mut text = String::from(
        "# Evaluation: Rust programs\n\n\
         Raddle beside [Loom](https://crates.io/crates/loom) and the depth-first search of \
         [Shuttle](https://crates.io/crates/shuttle), on the same Rust programs. What is measured, and what is not, says \
         [bench/rust/README.md](../bench/rust/README.md).\n\n```sh\n",
    );
    let _ = writeln!(
        text,
        "cargo run --release --manifest-path bench/rust/Cargo.toml -- {}\n```\n\n\
         wrote this page, all of it. A run was stopped after {} s of CPU time, which is what `>` means. Counts of executions are \
         the same on every machine; times and rates are of a machine that did other work as well, the best of {} each.\n",
        arguments.join(" "),
        options.cap,
        options.best,
    );
    text += "## Programs\n\n| program | |\n| --- | --- |\n";
    for (name, what) in PROGRAMS {
        let _ = writeln!(text, "| {name} | {what} |");
    }
    text += "\n## In short\n\n";
    for tool in [Tool::Loom, Tool::Shuttle] {
        let ratios = |with_bug: bool, ratio: fn(&Measured, &Measured) -> f64| {
            let ratios = rows.iter().filter_map(|row| {
                let (optimal, other) = (row.of(Tool::Optimal)?, row.of(tool)?);
                (row.case.has_bug == with_bug).then(|| ratio(optimal, other))
            });
            spread(ratios.collect()).unwrap_or_default()
        };
        let _ = writeln!(
            text,
            "- Executions per CPU second of `optimal`, in those of {}: {}.\n- CPU time of {} to the end (or until it was stopped), in that of \
             `optimal`: {}.",
            tool.name(),
            ratios(false, |optimal, other| optimal.rate() / other.rate()),
            tool.name(),
            ratios(false, |optimal, other| other.seconds / optimal.seconds),
        );
    }
    text += "\n## Results\n\n\
             *Size* is what the table of programs has in its sentences, in that order. *Classes* are happens-before classes. *Rate of optimal* is how many times as many executions per CPU second \
             `raddle optimal` makes as the library of the line.\n\n";
    text += &tables(rows);
    text
}
