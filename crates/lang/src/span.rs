//! Places in a source text.

/// A half-open range of bytes in the source text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Span {
    /// The first byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

impl Span {
    /// The span from `start` to `end`.
    #[must_use]
    pub fn new(start: u32, end: u32) -> Self {
        Self { start, end }
    }

    /// The smallest span that covers both.
    #[must_use]
    pub fn to(self, other: Self) -> Self {
        Self {
            start: self.start.min(other.start),
            end: self.end.max(other.end),
        }
    }

    /// The span as a range of bytes.
    #[must_use]
    pub fn range(self) -> std::ops::Range<usize> {
        self.start as usize..self.end as usize
    }
}

/// A source text with its name, and the way from bytes to lines.
#[derive(Clone, Debug)]
pub struct Source {
    /// The name to print in messages, usually a path.
    pub name: String,
    /// The whole text.
    pub text: String,
    line_starts: Vec<u32>,
}

/// A line and a column, both counted from 1; columns count characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LineColumn {
    /// The line, from 1.
    pub line: u32,
    /// The column, from 1.
    pub column: u32,
}

impl Source {
    /// A source text under a name.
    #[must_use]
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> Self {
        let text = text.into();
        let line_starts = std::iter::once(0)
            .chain(text.match_indices('\n').map(|(at, _)| at as u32 + 1))
            .collect();
        Self {
            name: name.into(),
            text,
            line_starts,
        }
    }

    /// The line and column of a byte.
    #[must_use]
    pub fn line_column(&self, at: u32) -> LineColumn {
        let line = self.line_of(at) as usize - 1;
        let start = self.line_starts[line] as usize;
        let before = self.text.get(start..at as usize).unwrap_or("");
        LineColumn {
            line: line as u32 + 1,
            column: before.chars().count() as u32 + 1,
        }
    }

    /// The line of a byte.
    #[must_use]
    pub fn line_of(&self, at: u32) -> u32 {
        self.line_starts.partition_point(|&start| start <= at) as u32
    }

    /// The text of a line (counted from 1), without its line break.
    #[must_use]
    pub fn line(&self, line: u32) -> &str {
        let index = line.saturating_sub(1) as usize;
        let Some(&start) = self.line_starts.get(index) else {
            return "";
        };
        let end = self
            .line_starts
            .get(index + 1)
            .map_or(self.text.len(), |&next| next as usize);
        self.text[start as usize..end].trim_end_matches(['\n', '\r'])
    }

    /// The text under a span.
    #[must_use]
    pub fn snippet(&self, span: Span) -> &str {
        self.text.get(span.range()).unwrap_or("")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_columns_count_from_one_in_characters() {
        let source = Source::new("a.rad", "int x;\nint é = y;\n");
        let at = source.text.find('y').unwrap() as u32;
        assert_eq!(source.line_column(at), LineColumn { line: 2, column: 9 });
        assert_eq!(source.line(2), "int é = y;");
        assert_eq!(source.line(9), "");
    }
}
