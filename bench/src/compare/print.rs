//! The comparison as a table, for people.

use crate::measure::{Comparison, Mean, Means, Run};
use crate::table::{Table, grouped};

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

/// The table, and what must be known to read it.
pub(super) fn table(comparisons: &[Comparison]) -> (Table, String) {
    let mut table = Table::new(2, &HEAD);
    for comparison in comparisons {
        table.row(row(comparison.model, "Raddle", &comparison.raddle));
        if let Some(spin) = &comparison.spin {
            table.row(row("", "SPIN", spin));
            table.row(ratios(&comparison.raddle, spin));
        }
    }
    let mut note = NOTE.to_owned();
    if let Some(means) = Means::of(comparisons) {
        let million = |mean: f64| rate(Some(mean));
        let plain = |mean: f64| decimal(Some(mean), 2);
        table.row(mean("geometric mean", "Raddle", &means.raddle, million));
        if let Some((spin, ratio)) = means.spin.zip(means.ratio()) {
            table.row(mean("", "SPIN", &spin, million));
            table.row(mean("", "ratio", &ratio, plain));
        }
        note += &format!(
            "Geometric means are over the {} of {} models that have a rate: {}.\n",
            means.models.len(),
            comparisons.len(),
            means.models.join(", ")
        );
    }
    (table, note)
}

/// A row about all models: only what does not depend on their sizes.
fn mean(model: &str, tool: &str, mean: &Mean, show_rate: impl Fn(f64) -> String) -> Row {
    let digits = if tool == "ratio" { 2 } else { 1 };
    let mut row: Row = std::array::from_fn(|_| String::new());
    row[0] = model.into();
    row[1] = tool.into();
    row[5] = show_rate(mean.transitions_per_second);
    row[7] = decimal(Some(mean.bytes_per_state), digits);
    row
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
    fn shows_both_tools_their_ratio_and_the_means() {
        let comparisons = [Comparison {
            model: "bakery",
            raddle: run(1_200_000, 1.5),
            spin: Some(run(1_200_000, 0.75)),
        }];
        let (table, note) = table(&comparisons);
        let lines: Vec<String> = table.lines().collect();
        assert_eq!(
            lines,
            [
                "| bakery | Raddle | 1,200,000 | 3,600,000 | 1.50 | 2.40 M | 0.80 M | 40.0 | - |",
                "|  | SPIN | 1,200,000 | 3,600,000 | 0.75 | 4.80 M | 1.60 M | 40.0 | - |",
                "|  | ratio | 1.00 | 1.00 | 2.00 | 0.50 | 0.50 | 1.00 | - |",
                "| geometric mean | Raddle |  |  |  | 2.40 M |  | 40.0 |  |",
                "|  | SPIN |  |  |  | 4.80 M |  | 40.0 |  |",
                "|  | ratio |  |  |  | 0.50 |  | 1.00 |  |",
            ]
        );
        assert!(note.contains("over the 1 of 1 models that have a rate: bakery."));
    }

    #[test]
    fn a_run_that_is_too_short_has_no_rate() {
        assert_eq!(row("m", "t", &run(10, 0.02))[5], "-");
    }
}
