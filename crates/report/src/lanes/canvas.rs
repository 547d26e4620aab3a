//! [`Canvas`]: a page that is drawn line by line, and the characters to draw with.

use std::fmt::Write as _;

use crate::style::{Palette, Role};
use crate::text::Span;

/// The characters that frames and marks are made of.
pub(super) struct Glyphs {
    pub(super) rule: char,
    /// Where a lane hangs from the rule below the header.
    pub(super) lane_top: char,
    /// A lane whose thread does not move.
    pub(super) idle: char,
    /// A lane whose thread moves.
    pub(super) active: char,
    /// The arrow from one lane to another: its beginning, its shaft, its head.
    pub(super) leave_right: char,
    pub(super) leave_left: char,
    pub(super) shaft: char,
    pub(super) head_right: char,
    pub(super) head_left: char,
    /// Steps that are left out.
    pub(super) gap: char,
    pub(super) wrong: char,
    pub(super) ellipsis: &'static str,
    pub(super) separator: &'static str,
    pub(super) becomes: &'static str,
    /// Beside a read: where it reads from, if that is not the last write. Beside a write: where it is read so.
    pub(super) reads_from: &'static str,
    pub(super) read_at: &'static str,
    /// Beside the source text of a remark, and beside the remark.
    pub(super) quote: &'static str,
    pub(super) remark: &'static str,
}

pub(super) const UNICODE: Glyphs = Glyphs {
    rule: '─',
    lane_top: '┬',
    idle: '┊',
    active: '┃',
    leave_right: '╰',
    leave_left: '╯',
    shaft: '┄',
    head_right: '▸',
    head_left: '◂',
    gap: '⋮',
    wrong: '✗',
    ellipsis: "…",
    separator: " · ",
    becomes: "→",
    reads_from: "↖",
    read_at: "↘",
    quote: "│",
    remark: "╰─",
};

pub(super) const ASCII: Glyphs = Glyphs {
    rule: '-',
    lane_top: '+',
    idle: ':',
    active: '|',
    leave_right: '`',
    leave_left: '\'',
    shaft: '-',
    head_right: '>',
    head_left: '<',
    gap: ':',
    wrong: 'X',
    ellipsis: "...",
    separator: "; ",
    becomes: "->",
    reads_from: "^",
    read_at: "v",
    quote: "|",
    remark: "=",
};

/// A page. What is put outside of it is cut off.
pub(super) struct Canvas {
    pub(super) glyphs: &'static Glyphs,
    palette: Palette,
    line: Vec<(char, Role)>,
    width: usize,
    page: String,
}

impl Canvas {
    pub(super) fn new(width: usize, palette: Palette, glyphs: &'static Glyphs) -> Self {
        Self {
            glyphs,
            palette,
            line: Vec::with_capacity(width),
            width,
            page: String::new(),
        }
    }

    pub(super) fn width(&self) -> usize {
        self.width
    }

    /// Puts a text at a column of the current line; returns the column after it.
    pub(super) fn put(&mut self, at: usize, role: Role, text: &str) -> usize {
        let mut column = at;
        for c in text.chars() {
            self.put_char(column, role, c);
            column += 1;
        }
        column
    }

    pub(super) fn put_char(&mut self, at: usize, role: Role, c: char) {
        if at >= self.width {
            return;
        }
        if self.line.len() <= at {
            self.line.resize(at + 1, (' ', Role::Plain));
        }
        self.line[at] = (c, role);
    }

    /// Puts a text so that it ends before a column.
    pub(super) fn put_right(&mut self, end: usize, role: Role, text: &str) {
        self.put(end.saturating_sub(crate::text::width(text)), role, text);
    }

    pub(super) fn put_spans(&mut self, at: usize, spans: &[Span]) -> usize {
        spans
            .iter()
            .fold(at, |column, span| self.put(column, span.role, &span.text))
    }

    pub(super) fn fill(&mut self, columns: std::ops::Range<usize>, role: Role, c: char) {
        for column in columns {
            self.put_char(column, role, c);
        }
    }

    pub(super) fn end_line(&mut self) {
        while self.line.last().is_some_and(|&(c, _)| c == ' ') {
            self.line.pop();
        }
        for run in self.line.chunk_by(|(_, one), (_, other)| one == other) {
            let style = self.palette.style(run[0].1);
            let text: String = run.iter().map(|&(c, _)| c).collect();
            write!(self.page, "{style}{text}{style:#}").expect("a String takes any text");
        }
        self.page.push('\n');
        self.line.clear();
    }

    pub(super) fn finish(self) -> String {
        self.page
    }
}
