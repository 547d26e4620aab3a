//! Tables of text and numbers, for terminals and for Markdown.

/// A table. No line of it in Markdown depends on another, so that lines can be compared alone.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    head: Vec<String>,
    /// How many columns are text; the others are numbers.
    text_columns: usize,
    rows: Vec<Vec<String>>,
}

impl Table {
    pub(crate) fn new(text_columns: usize, head: &[&str]) -> Self {
        Self {
            head: head.iter().map(|&cell| cell.to_owned()).collect(),
            text_columns,
            rows: Vec::new(),
        }
    }

    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        let row: Vec<String> = cells.into_iter().collect();
        assert_eq!(row.len(), self.head.len(), "{row:?}");
        self.rows.push(row);
    }

    /// The lines of the rows in Markdown, without the head.
    pub(crate) fn lines(&self) -> impl Iterator<Item = String> {
        self.rows.iter().map(|row| line(row))
    }

    pub(crate) fn markdown(&self) -> String {
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

    /// With columns of even width.
    pub(crate) fn text(&self) -> String {
        let all = || std::iter::once(&self.head).chain(&self.rows);
        let width = |column: usize| all().map(move |row| row[column].chars().count()).max();
        let widths: Vec<usize> = (0..self.head.len()).filter_map(width).collect();
        let mut text = String::new();
        for row in all() {
            let cells = row.iter().zip(&widths).enumerate();
            let cells: Vec<String> = cells
                .map(
                    |(column, (cell, &width))| match column < self.text_columns {
                        true => format!("{cell:<width$}"),
                        false => format!("{cell:>width$}"),
                    },
                )
                .collect();
            text += cells.join("  ").trim_end();
            text.push('\n');
        }
        text
    }
}

fn line(cells: &[String]) -> String {
    format!("| {} |", cells.join(" | "))
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

    fn table() -> Table {
        let mut table = Table::new(1, &["model", "states"]);
        table.row(["bakery".to_owned(), grouped(1_234)]);
        table
    }

    #[test]
    fn numbers_are_aligned_to_the_right() {
        assert_eq!(
            table().markdown(),
            "| model | states |\n| --- | --: |\n| bakery | 1,234 |\n"
        );
        assert_eq!(table().text(), "model   states\nbakery   1,234\n");
    }
}
