//! The parts of a Markdown document.

use crate::table::grouped;

/// What there is nothing to say about.
pub(super) const NOTHING: &str = "";

/// A part of the document.
#[derive(Clone, Debug)]
pub(super) enum Block {
    Text(String),
    /// A table of numbers that are the same on every machine.
    Counts(Table),
    /// A table of numbers that are not.
    Measured(Table),
    /// A plot and the name of its file, without folder and ending.
    Plot {
        name: String,
        svg: String,
    },
}

impl Block {
    pub(super) fn text(text: &str) -> Self {
        Self::Text(text.trim().to_owned())
    }

    pub(super) fn markdown(&self) -> String {
        match self {
            Self::Text(text) => format!("{text}\n"),
            Self::Counts(table) | Self::Measured(table) => table.markdown(),
            Self::Plot { name, .. } => format!("![States of {name}](evaluation/{name}.svg)\n"),
        }
    }
}

/// A table. No line of it depends on another, so that lines can be compared alone.
#[derive(Clone, Debug)]
pub(super) struct Table {
    head: Vec<String>,
    /// How many columns are text; the others are numbers.
    text_columns: usize,
    rows: Vec<Vec<String>>,
}

impl Table {
    pub(super) fn new(text_columns: usize, head: &[&str]) -> Self {
        Self {
            head: head.iter().map(|&cell| cell.to_owned()).collect(),
            text_columns,
            rows: Vec::new(),
        }
    }

    pub(super) fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        let row: Vec<String> = cells.into_iter().collect();
        assert_eq!(row.len(), self.head.len(), "{row:?}");
        self.rows.push(row);
    }

    /// The lines of the rows, without the head.
    pub(super) fn lines(&self) -> impl Iterator<Item = String> {
        self.rows.iter().map(|row| line(row))
    }

    fn markdown(&self) -> String {
        let columns = (0..self.head.len()).map(|column| match column < self.text_columns {
            true => "---".to_owned(),
            false => "--:".to_owned(),
        });
        let mut text = line(&self.head) + "\n" + &line(&columns.collect::<Vec<_>>()) + "\n";
        for line in self.lines() {
            text += &(line + "\n");
        }
        text
    }
}

fn line(cells: &[String]) -> String {
    format!("| {} |", cells.join(" | "))
}

/// Two numbers that belong together: states and transitions.
pub(super) fn pair((one, other): (u64, u64)) -> String {
    format!("{} / {}", grouped(one), grouped(other))
}

/// How many times one number is the other.
pub(super) fn ratio(one: u64, other: u64) -> String {
    let ratio = one as f64 / other as f64;
    match ratio < 10.0 {
        true => format!("{ratio:.1}"),
        false => format!("{ratio:.0}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_to_the_right() {
        let mut table = Table::new(1, &["program", "states"]);
        table.row(["bakery".to_owned(), grouped(1_234)]);
        let expected = "| program | states |\n| --- | --: |\n| bakery | 1,234 |\n";
        assert_eq!(table.markdown(), expected);
    }

    #[test]
    fn small_ratios_have_a_digit_more() {
        assert_eq!(ratio(3, 2), "1.5");
        assert_eq!(ratio(2_204, 100), "22");
    }
}
