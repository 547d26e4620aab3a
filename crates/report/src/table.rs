//! Numbers for people: thousands separators, durations, sizes, and aligned columns.

use std::time::Duration;

use crate::text::width;

/// A number with a comma every three digits.
///
/// ```
/// assert_eq!(raddle_report::table::number(1_234_567), "1,234,567");
/// ```
#[must_use]
pub fn number(value: u64) -> String {
    let digits = value.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A duration with about three digits.
///
/// ```
/// use std::time::Duration;
/// use raddle_report::table::duration;
///
/// assert_eq!(duration(Duration::from_micros(7)), "7 µs");
/// assert_eq!(duration(Duration::from_micros(12_345)), "12.3 ms");
/// assert_eq!(duration(Duration::from_millis(2_500)), "2.50 s");
/// assert_eq!(duration(Duration::from_secs(3_725)), "1 h 02 min");
/// ```
#[must_use]
pub fn duration(time: Duration) -> String {
    // Rounded first, so that nothing becomes "1000 ms" or "60.0 s".
    let micros = time.as_micros();
    let seconds = (time.as_millis() + 500) / 1000;
    match micros {
        0..1_000 => format!("{micros} µs"),
        1_000..999_500 => three_digits(micros as f64 / 1e3, "ms"),
        999_500..59_950_000 => three_digits(micros as f64 / 1e6, "s"),
        _ if seconds < 3_600 => format!("{} min {:02} s", seconds / 60, seconds % 60),
        _ => {
            let minutes = (seconds + 30) / 60;
            format!("{} h {:02} min", minutes / 60, minutes % 60)
        }
    }
}

/// A size in bytes, with about three digits.
///
/// ```
/// use raddle_report::table::bytes;
///
/// assert_eq!(bytes(512), "512 B");
/// assert_eq!(bytes(1_536), "1.50 KiB");
/// assert_eq!(bytes(300 << 20), "300 MiB");
/// ```
#[must_use]
pub fn bytes(size: u64) -> String {
    const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    if size < 1024 {
        return format!("{size} B");
    }
    let mut value = size as f64 / 1024.0;
    let mut unit = 0;
    while value >= 1023.5 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    three_digits(value, UNITS[unit])
}

fn three_digits(value: f64, unit: &str) -> String {
    if value < 9.995 {
        format!("{value:.2} {unit}")
    } else if value < 99.95 {
        format!("{value:.1} {unit}")
    } else {
        format!("{value:.0} {unit}")
    }
}

/// Where the text of a column stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    /// At the left: names.
    Left,
    /// At the right: numbers.
    Right,
}

/// A table with a header, columns aligned.
///
/// ```
/// use raddle_report::table::{Align, Table};
///
/// let mut table = Table::new(&[("reduction", Align::Left), ("states", Align::Right)]);
/// table.row(["none", "1,024"]);
/// table.row(["sleep sets", "96"]);
/// assert_eq!(
///     table.render(),
///     "\
/// reduction   states
/// ──────────  ──────
/// none         1,024
/// sleep sets      96
/// ",
/// );
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    aligns: Vec<Align>,
    header: Vec<String>,
    rows: Vec<Vec<String>>,
    rule: char,
}

impl Table {
    /// An empty table with these columns.
    #[must_use]
    pub fn new(columns: &[(&str, Align)]) -> Self {
        Self {
            aligns: columns.iter().map(|&(_, align)| align).collect(),
            header: columns.iter().map(|&(name, _)| name.to_owned()).collect(),
            rows: Vec::new(),
            rule: '─',
        }
    }

    /// Draws with ASCII characters only.
    #[must_use]
    pub fn ascii(mut self) -> Self {
        self.rule = '-';
        self
    }

    /// Adds a row. Cells that are missing are empty; there is no place for more cells
    /// than columns.
    pub fn row<T: Into<String>>(&mut self, cells: impl IntoIterator<Item = T>) {
        let mut row: Vec<String> = cells.into_iter().map(Into::into).collect();
        row.resize(self.header.len(), String::new());
        self.rows.push(row);
    }

    /// The table as text.
    #[must_use]
    pub fn render(&self) -> String {
        let widths: Vec<usize> = (0..self.header.len())
            .map(|column| {
                let cells = self.rows.iter().map(|row| width(&row[column]));
                cells.max().unwrap_or(0).max(width(&self.header[column]))
            })
            .collect();
        let rule: Vec<String> = widths
            .iter()
            .map(|&columns| self.rule.to_string().repeat(columns))
            .collect();
        let mut text = String::new();
        for row in [&self.header, &rule].into_iter().chain(&self.rows) {
            push_row(&mut text, row, &widths, &self.aligns);
        }
        text
    }
}

fn push_row(text: &mut String, row: &[String], widths: &[usize], aligns: &[Align]) {
    let mut line = String::new();
    for ((cell, &columns), align) in row.iter().zip(widths).zip(aligns) {
        if !line.is_empty() {
            line.push_str("  ");
        }
        match align {
            Align::Left => line.push_str(&format!("{cell:<columns$}")),
            Align::Right => line.push_str(&format!("{cell:>columns$}")),
        }
    }
    text.push_str(line.trim_end());
    text.push('\n');
}

/// Names and values below one another, the values aligned at the left.
///
/// ```
/// use raddle_report::table::{key_values, number};
///
/// assert_eq!(
///     key_values(&[("states", number(1024)), ("transitions", number(3072))]),
///     "\
/// states       1,024
/// transitions  3,072
/// ",
/// );
/// ```
#[must_use]
pub fn key_values(entries: &[(&str, String)]) -> String {
    let widest = entries.iter().map(|(key, _)| width(key)).max().unwrap_or(0);
    let mut text = String::new();
    for (key, value) in entries {
        text.push_str(format!("{key:<widest$}  {value}").trim_end());
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped_by_three() {
        for (value, text) in [
            (0, "0"),
            (999, "999"),
            (1_000, "1,000"),
            (100_000, "100,000"),
            (u64::MAX, "18,446,744,073,709,551,615"),
        ] {
            assert_eq!(number(value), text);
        }
    }

    #[test]
    fn durations_take_the_unit_that_they_round_to() {
        for (micros, text) in [
            (0, "0 µs"),
            (999, "999 µs"),
            (1_000, "1.00 ms"),
            (9_994, "9.99 ms"),
            (9_996, "10.0 ms"),
            (999_499, "999 ms"),
            (999_500, "1.00 s"),
            (59_949_000, "59.9 s"),
            (59_950_000, "1 min 00 s"),
            (61_000_000, "1 min 01 s"),
            (3_599_600_000, "1 h 00 min"),
            (360_000_000_000, "100 h 00 min"),
        ] {
            assert_eq!(duration(Duration::from_micros(micros)), text);
        }
    }

    #[test]
    fn sizes_take_the_unit_that_they_round_to() {
        for (size, text) in [
            (0, "0 B"),
            (1_023, "1023 B"),
            (1_024, "1.00 KiB"),
            (99 * 1024, "99.0 KiB"),
            (1_023 * 1024, "1023 KiB"),
            ((1 << 20) - 1, "1.00 MiB"),
            (5 << 30, "5.00 GiB"),
            (u64::MAX, "16.0 EiB"),
        ] {
            assert_eq!(bytes(size), text);
        }
    }

    #[test]
    fn a_table_takes_rows_of_any_length() {
        let mut table = Table::new(&[("größe", Align::Right), ("a", Align::Left)]).ascii();
        table.row(["1"]);
        table.row(["22", "b", "c"]);
        assert_eq!(table.render(), "größe  a\n-----  -\n    1\n   22  b\n");
        assert_eq!(Table::new(&[]).render(), "\n\n");
        assert_eq!(key_values(&[]), "");
    }
}
