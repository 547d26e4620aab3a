//! The table, for people.

use crate::measure::{Comparison, Run};

const HEAD: [&str; 9] = [
    "model",
    "tool",
    "states",
    "transitions",
    "user s",
    "transitions/s",
    "states/s",
    "bytes/state",
    "total MB",
];

const NOTE: &str = "\
bytes/state: everything the search keeps (states, hash table, and links or stack); for SPIN
in parentheses the states alone. Ratios are Raddle / SPIN: rates above 1 and bytes
below 1 are better for Raddle. \"-\": too fast or too small to measure.
";

type Row = [String; HEAD.len()];

/// The table with columns of even width.
pub(crate) fn text(comparisons: &[Comparison]) -> String {
    let rows = rows(comparisons);
    let width = |column: usize| {
        let cells = rows.iter().map(|row| row[column].chars().count());
        cells.max().unwrap_or(0).max(HEAD[column].len())
    };
    let widths: Vec<usize> = (0..HEAD.len()).map(width).collect();
    let line = |row: &[String]| {
        let cells = row.iter().zip(&widths).enumerate();
        let cells: Vec<String> = cells
            .map(|(column, (cell, &width))| match column {
                0 | 1 => format!("{cell:<width$}"),
                _ => format!("{cell:>width$}"),
            })
            .collect();
        cells.join("  ").trim_end().to_owned() + "\n"
    };
    let mut text = line(&HEAD.map(str::to_owned));
    for row in &rows {
        text += &line(row);
    }
    text + "\n" + NOTE
}

/// The table in Markdown.
pub(crate) fn markdown(comparisons: &[Comparison]) -> String {
    let mut text = format!(
        "| {} |\n|---|---|{}\n",
        HEAD.join(" | "),
        "--:|".repeat(HEAD.len() - 2)
    );
    for row in rows(comparisons) {
        text += &format!("| {} |\n", row.join(" | "));
    }
    text + "\n" + NOTE
}

fn rows(comparisons: &[Comparison]) -> Vec<Row> {
    let mut rows = Vec::new();
    for comparison in comparisons {
        rows.push(row(comparison.model, "Raddle", &comparison.raddle));
        if let Some(spin) = &comparison.spin {
            rows.push(row("", "SPIN", spin));
            rows.push(ratios(&comparison.raddle, spin));
        }
    }
    rows
}

fn row(model: &str, tool: &str, run: &Run) -> Row {
    let mut bytes = decimal(run.bytes_per_state(), 1);
    if let Some(bare) = run.bare_bytes_per_state() {
        bytes += &format!(" ({bare:.1})");
    }
    [
        model.into(),
        tool.into(),
        grouped(run.states),
        grouped(run.transitions),
        format!("{:.2}", run.user_seconds),
        rate(run.transitions_per_second()),
        rate(run.states_per_second()),
        bytes,
        decimal(run.total_bytes.map(|bytes| bytes as f64 / 1e6), 1),
    ]
}

fn ratios(raddle: &Run, spin: &Run) -> Row {
    let ratio = |of: fn(&Run) -> Option<f64>| {
        let ratio = of(raddle).zip(of(spin)).map(|(raddle, spin)| raddle / spin);
        decimal(ratio, 2)
    };
    [
        String::new(),
        "ratio".into(),
        ratio(|run| Some(run.states as f64)),
        ratio(|run| Some(run.transitions as f64)),
        ratio(|run| run.transitions_per_second().map(|_| run.user_seconds)),
        ratio(Run::transitions_per_second),
        ratio(Run::states_per_second),
        ratio(Run::bytes_per_state),
        ratio(|run| run.total_bytes.map(|bytes| bytes as f64)),
    ]
}

fn decimal(number: Option<f64>, digits: usize) -> String {
    number.map_or_else(|| "-".into(), |number| format!("{number:.digits$}"))
}

/// A rate to three digits; the clock gives no more.
fn rate(rate: Option<f64>) -> String {
    rate.map_or_else(|| "-".into(), |rate| format!("{:.2} M", rate / 1e6))
}

/// A number with commas between the thousands.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(states: u64, user_seconds: f64) -> Run {
        Run {
            states,
            transitions: 3 * states,
            depth: 1,
            user_seconds,
            system_seconds: 0.0,
            own_seconds: None,
            search_bytes: Some(40 * states),
            state_bytes: None,
            total_bytes: None,
        }
    }

    #[test]
    fn shows_both_tools_and_their_ratio() {
        let comparisons = [Comparison {
            model: "bakery",
            raddle: run(1_200_000, 1.5),
            spin: Some(run(1_200_000, 0.75)),
        }];
        let markdown = markdown(&comparisons);
        let lines: Vec<&str> = markdown.lines().collect();
        assert_eq!(
            lines[2],
            "| bakery | Raddle | 1,200,000 | 3,600,000 | 1.50 | 2.40 M | 0.80 M | 40.0 | - |"
        );
        assert_eq!(
            lines[4],
            "|  | ratio | 1.00 | 1.00 | 2.00 | 0.50 | 0.50 | 1.00 | - |"
        );
        assert!(text(&comparisons).starts_with("model   tool       states  transitions"));
    }

    #[test]
    fn a_run_that_is_too_short_has_no_rate() {
        assert_eq!(row("m", "t", &run(10, 0.02))[5], "-");
    }
}
