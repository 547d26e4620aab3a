//! Comparisons as tables, as JSON and as comma-separated values.

use raddle_outcome::{Kind, Verdict};
use raddle_report::assumptions;
use raddle_report::json::{self, ComparedFile, ComparedRow, Found};
use raddle_report::table::{Align, Table, bytes, duration, number};

use super::agreement::{Finding, disagreements, missed};
use super::rows::Row;
use crate::reduction;

/// A program and what became of it.
pub(super) struct Compared {
    pub(super) file: String,
    /// Why it could not be loaded.
    pub(super) error: Option<String>,
    pub(super) rows: Vec<Row>,
    pub(super) diagnostics: Vec<json::Diagnostic>,
}

impl Compared {
    fn missed_by(&self, row: &Row) -> Vec<Finding> {
        if row.sound {
            return Vec::new();
        }
        let all: Vec<_> = self.rows.iter().map(|row| &row.answers).collect();
        missed(&row.answers, &row.asked, &all)
    }

    /// The table of a program.
    pub(super) fn table(&self, ascii: bool) -> String {
        let mut table = Table::new(&[
            ("reduction", Align::Left),
            ("states", Align::Right),
            ("transitions", Align::Right),
            ("interior", Align::Right),
            ("forced", Align::Right),
            ("rounds", Align::Right),
            ("time", Align::Right),
            ("memory", Align::Right),
            ("verdict", Align::Left),
        ]);
        if ascii {
            table = table.ascii();
        }
        for row in &self.rows {
            let statistics = &row.statistics;
            let time = duration(statistics.elapsed);
            table.row([
                label(row),
                number(statistics.states),
                number(row.transitions),
                row.interior_states().map_or_else(|| "-".into(), number),
                number(statistics.forced_ends),
                number(statistics.rounds),
                if ascii { time.replace('µ', "u") } else { time },
                bytes(statistics.memory_bytes),
                verdict_cell(row, &self.missed_by(row)),
            ]);
        }
        table.render()
    }

    /// What should not be: reductions that do not agree, in words.
    pub(super) fn complaints(&self) -> Vec<String> {
        let all: Vec<_> = self.rows.iter().map(|row| &row.answers).collect();
        let list = disagreements(&all);
        list.iter()
            .map(|disagreement| {
                let place = match disagreement.about.at {
                    Some((line, column)) => format!("{}:{line}:{column}", self.file),
                    None => self.file.clone(),
                };
                let [found, missed] =
                    [disagreement.found_by, disagreement.missed_by].map(|index| &self.rows[index]);
                let line = |row: &Row, what: &str| {
                    format!("  {} {what}: {}", row.reduction, verdict_cell(row, &[]))
                };
                format!(
                    "internal error: the reductions do not agree about {} in {place}\n{}\n{}\n  \
                     please report: this program, and both lines",
                    disagreement.about.question.name(),
                    line(found, "finds it"),
                    line(missed, "does not"),
                )
            })
            .collect()
    }

    pub(super) fn to_json(&self) -> ComparedFile {
        let all: Vec<_> = self.rows.iter().map(|row| &row.answers).collect();
        let list = disagreements(&all);
        ComparedFile {
            file: self.file.clone(),
            error: self.error.clone(),
            rows: self.rows.iter().map(|row| self.json_row(row)).collect(),
            disagreements: (list.iter())
                .map(|disagreement| json::Disagreement {
                    about: found(&disagreement.about),
                    found_by: self.rows[disagreement.found_by].reduction.into(),
                    missed_by: self.rows[disagreement.missed_by].reduction.into(),
                })
                .collect(),
            diagnostics: self.diagnostics.clone(),
        }
    }

    fn json_row(&self, row: &Row) -> ComparedRow {
        let statistics = &row.statistics;
        let not_checked = row.not_checked.iter();
        let answer = row.answer();
        ComparedRow {
            reduction: row.reduction.into(),
            sound: row.sound,
            verdict: answer.verdict,
            reason: answer.reason,
            not_checked: not_checked.map(|property| property.name().into()).collect(),
            deadlock_excluded: row.deadlock_excluded,
            states: statistics.states,
            transitions: row.transitions,
            interior_states: row.interior_states(),
            forced_ends: statistics.forced_ends,
            rounds: statistics.rounds,
            seconds: statistics.elapsed.as_secs_f64(),
            search_memory_bytes: statistics.memory_bytes,
            violations: row.answers.findings.iter().map(found).collect(),
            misses: self.missed_by(row).iter().map(found).collect(),
        }
    }

    /// Lines of comma-separated values, without the header.
    pub(super) fn csv(&self) -> String {
        let mut text = String::new();
        for row in &self.rows {
            let statistics = &row.statistics;
            let cells = [
                quoted(&self.file),
                row.reduction.into(),
                row.sound.to_string(),
                statistics.states.to_string(),
                row.transitions.to_string(),
                row.interior_states()
                    .map_or_else(String::new, |count| count.to_string()),
                statistics.forced_ends.to_string(),
                statistics.rounds.to_string(),
                statistics.elapsed.as_secs_f64().to_string(),
                statistics.memory_bytes.to_string(),
                row.answer().verdict.name().into(),
                quoted(&verdict_cell(row, &self.missed_by(row))),
            ];
            text += &(cells.join(",") + "\n");
        }
        text
    }
}

/// The names of the columns of [`Compared::csv`].
pub(super) const CSV_HEADER: &str = "file,reduction,sound,states,transitions,interior_states,\
forced_ends,rounds,seconds,search_memory_bytes,verdict,details\n";

/// A value in quotes, if it needs them.
fn quoted(value: &str) -> String {
    match value.contains(['"', ',', '\n', '\r']) {
        true => format!("\"{}\"", value.replace('"', "\"\"")),
        false => value.to_owned(),
    }
}

fn found(finding: &Finding) -> Found {
    Found {
        kind: finding.question.name().into(),
        line: finding.at.map(|(line, _)| line),
        column: finding.at.map(|(_, column)| column),
    }
}

fn label(row: &Row) -> String {
    match row.reduction {
        reduction::UNSOUND => format!("{} (unsound)", row.reduction),
        name => name.into(),
    }
}

/// What was found; why that is not all; what was not looked for; what was missed.
fn verdict_cell(row: &Row, missed: &[Finding]) -> String {
    let list = |findings: &mut dyn Iterator<Item = &Finding>| {
        let texts: Vec<_> = findings.map(ToString::to_string).collect();
        texts.join(", ")
    };
    // That an unsound reduction proves nothing stands in its name.
    let came_to_nothing = !row.sound && row.answers.complete;
    let mut parts = vec![match row.answer().verdict {
        Verdict::Violation => list(&mut row.answers.findings.iter()),
        _ if came_to_nothing => "nothing found".into(),
        verdict => verdict.name().to_owned(),
    }];
    // What was not checked comes at the end.
    let is_reason = |kind: Kind| kind.makes_incomplete() && kind != Kind::NotPreserved;
    let reasons = assumptions::lines(row.explored.assumptions(), is_reason);
    if let Some(reason) = reasons.first().filter(|_| !came_to_nothing) {
        // The first words are enough for a table.
        parts[0] += &format!(": {}", reason.split(':').next().unwrap_or(reason));
    }
    if row.sound && !row.not_checked.is_empty() {
        parts.push(match row.deadlock_excluded {
            Some(true) => "deadlock excluded".into(),
            _ => format!("{} not checked", row.not_checked),
        });
    }
    if !missed.is_empty() {
        parts.push(format!("misses: {}", list(&mut missed.iter())));
    }
    parts.join("; ")
}
