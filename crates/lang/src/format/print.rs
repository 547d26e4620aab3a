//! From pieces and gaps to text.

use crate::token::TokenKind as T;

use super::layout::{Gap, Overflow};
use super::spacing::Space;
use super::text::{Piece, Text};
use super::{INDENT, LINE_WIDTH};

/// The text with these gaps.
pub(super) fn print(text: &Text<'_>, gaps: &[Gap]) -> String {
    let mut printer = Printer {
        text,
        gaps,
        breaks: vec![None; gaps.len()],
        lines: Vec::new(),
    };
    printer.break_lines();
    printer.write();
    align_comments(&mut printer.lines);
    printer.lines.iter().map(Line::finish).collect()
}

/// A line of the output, in two parts so that comments can be aligned.
#[derive(Default)]
struct Line {
    code: String,
    /// A comment at its end.
    comment: String,
    /// Where the comment was in its line of the source.
    comment_column: usize,
    /// How many spaces there are before it.
    padding: usize,
}

impl Line {
    fn width(&self) -> usize {
        self.code.chars().count()
    }

    fn finish(&self) -> String {
        let Self { code, comment, .. } = self;
        format!("{code}{:1$}{comment}\n", "", self.padding)
    }
}

struct Printer<'t, 's> {
    text: &'t Text<'s>,
    gaps: &'t [Gap],
    /// For each piece, the level of the line that it begins because the line before it
    /// would be too long.
    breaks: Vec<Option<usize>>,
    lines: Vec<Line>,
}

impl Printer<'_, '_> {
    /// Breaks the lines that are too long.
    fn break_lines(&mut self) {
        let starts_line = |at: &usize| matches!(self.gaps[*at], Gap::Line { .. });
        let mut starts: Vec<usize> = (0..self.gaps.len()).filter(starts_line).collect();
        starts.push(self.gaps.len());
        for line in starts.windows(2) {
            if let Gap::Line { level, .. } = self.gaps[line[0]] {
                self.break_line(line[0], line[1] - 1, level);
            }
        }
    }

    /// Breaks the line of these pieces if it is too long: at the places of the lowest
    /// rank if that helps, and then at others.
    fn break_line(&mut self, first: usize, last: usize, level: usize) {
        if level * INDENT + self.width(first, last) <= LINE_WIDTH {
            return;
        }
        let places = || (first + 1..=last).filter_map(|at| Some((at, self.overflow(at)?)));
        let Some(rank) = places().map(|(_, place)| place.rank).min() else {
            return;
        };
        let places: Vec<(usize, usize)> = places()
            .filter(|(_, place)| place.rank == rank)
            .map(|(at, place)| (at, place.level))
            .collect();
        let (mut start, mut start_level) = (first, level);
        for (n, &(at, place_level)) in places.iter().enumerate() {
            let end = places.get(n + 1).map_or(last, |&(next, _)| next - 1);
            if start_level * INDENT + self.width(start, end) > LINE_WIDTH {
                self.breaks[at] = Some(place_level);
                self.break_line(start, at - 1, start_level);
                (start, start_level) = (at, place_level);
            }
        }
        if start > first {
            self.break_line(start, last, start_level);
        }
    }

    fn overflow(&self, at: usize) -> Option<Overflow> {
        match self.gaps[at] {
            Gap::Inline { overflow } => overflow,
            Gap::Line { .. } => None,
        }
    }

    /// How wide these pieces are on a line; a comment at the end may be as long as it likes.
    fn width(&self, first: usize, last: usize) -> usize {
        let trailing = last > first && self.text.pieces[last].kind == T::LineComment;
        self.text.width(first, last - usize::from(trailing))
    }

    fn write(&mut self) {
        for (at, piece) in self.text.pieces.iter().enumerate() {
            let begins = match (self.gaps[at], self.breaks[at]) {
                (Gap::Line { level, blank }, _) => Some((level, blank)),
                (_, Some(level)) => Some((level, false)),
                _ => None,
            };
            if let Some((level, blank)) = begins {
                if blank && !self.lines.is_empty() {
                    self.lines.push(Line::default());
                }
                self.lines.push(Line {
                    code: " ".repeat(level * INDENT),
                    ..Line::default()
                });
            }
            if self.lines.is_empty() {
                self.lines.push(Line::default());
            }
            self.push(piece, begins.is_some());
        }
    }

    /// Adds a piece to the last line.
    fn push(&mut self, piece: &Piece<'_>, is_first: bool) {
        let Some(line) = self.lines.last_mut() else {
            return;
        };
        if piece.kind == T::LineComment && !is_first {
            line.comment = piece.text.to_owned();
            line.comment_column = piece.column;
            line.padding = 1;
            return;
        }
        if piece.space == Space::Yes && !is_first {
            line.code.push(' ');
        }
        if !piece.text.contains('\n') {
            line.code.push_str(piece.text);
            return;
        }
        let column = line.width();
        let mut rows = piece.text.split('\n');
        line.code
            .push_str(rows.next().unwrap_or_default().trim_end());
        for row in rows {
            let row = row.trim_end();
            // The rows of a comment that begin with `*` are aligned.
            let code = match row.trim_start() {
                aligned if aligned.starts_with('*') => " ".repeat(column + 1) + aligned,
                _ => row.to_owned(),
            };
            self.lines.push(Line {
                code,
                ..Line::default()
            });
        }
    }
}

/// Aligns comments at the ends of successive lines that were aligned in the source.
fn align_comments(lines: &mut [Line]) {
    let is_aligned = |a: &Line, b: &Line| {
        !a.comment.is_empty() && !b.comment.is_empty() && a.comment_column == b.comment_column
    };
    for run in lines.chunk_by_mut(is_aligned) {
        let width = run.iter().map(Line::width).max().unwrap_or_default();
        for line in run.iter_mut().filter(|line| !line.comment.is_empty()) {
            line.padding = width + 1 - line.width();
        }
    }
}
