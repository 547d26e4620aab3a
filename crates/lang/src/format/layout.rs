//! Where lines begin and how far they are indented.

use crate::parser::{Role, Start};
use crate::token::TokenKind as T;

use super::text::{Piece, Text};
use super::{INDENT, JOINED_WIDTH};

/// What is put before a piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Gap {
    /// It stays on the line, unless that gets too long and there is a way out.
    Inline { overflow: Option<Overflow> },
    /// It begins a line at this level, after a blank one or not.
    Line { level: usize, blank: bool },
}

/// A place where a line may be broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Overflow {
    /// The level of the new line.
    pub(super) level: usize,
    /// Places with the lowest rank are used first: those in the fewest brackets, and
    /// among them those before the operator that binds most loosely.
    pub(super) rank: usize,
}

impl Gap {
    fn line(level: usize) -> Self {
        Self::Line {
            level,
            blank: false,
        }
    }
}

/// An open pair of braces.
enum Frame {
    /// A block of a statement at this level, on several lines.
    Block { level: usize, switch: bool },
    /// An initialiser of a declaration at this level, on one line or several.
    List { level: usize, rows: bool },
}

/// Decides what is put before each piece.
pub(super) fn layout(text: &Text<'_>) -> Vec<Gap> {
    let mut layout = Layout {
        text,
        frames: Vec::new(),
        level: 0,
        levels: vec![0; text.pieces.len()],
        joined: None,
        apart: false,
        brackets: 0,
        after_switch: false,
    };
    (0..text.pieces.len()).map(|at| layout.gap(at)).collect()
}

struct Layout<'t, 's> {
    text: &'t Text<'s>,
    frames: Vec<Frame>,
    /// The level of the statement that is under way.
    level: usize,
    /// The level of each statement, by its first token.
    levels: Vec<usize>,
    /// The last piece of a stretch that stays on one line.
    joined: Option<usize>,
    /// Whether the statements of this source line each get a line.
    apart: bool,
    /// How many parentheses, brackets and lists are open.
    brackets: usize,
    /// Whether the next block is that of a `switch`.
    after_switch: bool,
}

impl<'s> Layout<'_, 's> {
    fn piece(&self, at: usize) -> &Piece<'s> {
        &self.text.pieces[at]
    }

    fn gap(&mut self, at: usize) -> Gap {
        let piece = *self.piece(at);
        if self.joined.is_some_and(|end| at <= end) {
            return Gap::Inline { overflow: None };
        }
        if piece.is_comment() {
            return self.comment(at);
        }
        let gap = match piece.start {
            Some(Start::Line) => self.line(at),
            Some(Start::Body { owner }) => self.body(at, owner),
            Some(Start::Continue { owner }) => self.continuation_of(at, owner),
            None => self.token(at),
        };
        if piece.kind == T::Switch {
            self.after_switch = true;
        }
        self.count_brackets(at);
        self.open(at);
        match gap {
            Gap::Inline { .. } if self.must_break_before(at) => Gap::line(self.overflow_level()),
            gap => gap,
        }
    }

    /// A token that begins an item or a statement of a block.
    fn line(&mut self, at: usize) -> Gap {
        let mut level = self.line_level(at);
        if self.is_lone_label(at) {
            level = level.saturating_sub(1);
        }
        self.level = level;
        self.levels[at] = level;
        self.joined = self.joined_end(at, level);
        let previous = at.checked_sub(1).map(|before| *self.piece(before));
        match previous {
            // `/* why */ x = 1;`
            Some(previous)
                if previous.kind == T::BlockComment
                    && !self.piece(at).led_its_line()
                    && (previous.led_its_line() || at == 1) =>
            {
                Gap::Inline { overflow: None }
            }
            _ => Gap::Line {
                level,
                blank: self.keeps_blank(at),
            },
        }
    }

    /// The level of a line in the innermost block.
    fn line_level(&self, at: usize) -> usize {
        match self.frames.last() {
            Some(Frame::Block { level, switch }) => {
                let in_arm = *switch && !matches!(self.piece(at).kind, T::Case | T::Default);
                level + 1 + usize::from(in_arm)
            }
            _ => 0,
        }
    }

    /// The end of the stretch from `at` on that stays on one line, if any.
    fn joined_end(&mut self, at: usize, level: usize) -> Option<usize> {
        let text = self.text;
        let fits = |last: usize| {
            level * INDENT + text.width(at, last) <= JOINED_WIDTH && text.was_one_line(at, last)
        };
        if text.pieces[at].led_its_line() {
            self.apart = false;
        } else if at > 0 && text.pieces[at - 1].role == Role::BlockOpen {
            // Its block was on one line, and has just been opened up.
            self.apart = true;
        }
        let own = text.end(at);
        let mut last = own;
        while !self.apart
            && let Some(next) = text.pieces.get(last + 1)
            && next.start == Some(Start::Line)
            && !next.led_its_line()
        {
            last = text.end(last + 1);
            self.apart = !fits(last);
        }
        if self.apart {
            last = own;
            if matches!(text.pieces[at].kind, T::Case | T::Default) {
                return None;
            }
        }
        fits(last).then_some(last)
    }

    /// Whether a label is alone on its line.
    fn is_lone_label(&self, at: usize) -> bool {
        let mut tokens =
            (at + 1..self.text.pieces.len()).filter(|&at| !self.piece(at).is_comment());
        let colon = tokens.next().map(|at| *self.piece(at));
        let is_label = self.piece(at).kind == T::Name
            && colon.is_some_and(|colon| colon.role == Role::LabelColon);
        let shares_line = tokens.next().is_some_and(|next| {
            matches!(self.piece(next).start, Some(Start::Body { owner }) if owner == at)
                && !self.body_has_own_line(next)
        });
        is_label && !shares_line
    }

    fn body_has_own_line(&self, at: usize) -> bool {
        let Some(Start::Body { owner }) = self.piece(at).start else {
            return false;
        };
        // If the statements after a `case` each get a line, so does the first.
        let case_apart = self.apart && matches!(self.piece(owner).kind, T::Case | T::Default);
        self.piece(at).role != Role::BlockOpen && (case_apart || self.text.follows_break(at))
    }

    /// A token that begins a statement which is part of another one.
    fn body(&mut self, at: usize, owner: usize) -> Gap {
        let own_line = self.body_has_own_line(at);
        let mut level = self.levels[owner] + usize::from(own_line);
        if own_line && self.is_lone_label(at) {
            level = level.saturating_sub(1);
        }
        self.level = level;
        self.levels[at] = level;
        if own_line {
            Gap::line(level)
        } else {
            Gap::Inline { overflow: None }
        }
    }

    /// The `else` of an `if`, or the `while` of a `do`.
    fn continuation_of(&mut self, at: usize, owner: usize) -> Gap {
        // `level` is still that of the block that has just been closed.
        let previous = self.text.previous_token(at);
        let after_block = previous.is_some_and(|at| self.piece(at).role == Role::BlockClose);
        let follows_own_block = after_block && self.level == self.levels[owner];
        self.level = self.levels[owner];
        if !follows_own_block && self.text.follows_break(at) || self.must_break_before(at) {
            Gap::line(self.level)
        } else {
            Gap::Inline { overflow: None }
        }
    }

    /// A token within a statement.
    fn token(&mut self, at: usize) -> Gap {
        let piece = *self.piece(at);
        match piece.role {
            Role::BlockClose | Role::ListClose => match self.frames.pop() {
                Some(Frame::Block { level, .. } | Frame::List { level, rows: true }) => {
                    self.level = level;
                    return Gap::line(level);
                }
                _ => return Gap::Inline { overflow: None },
            },
            _ => {}
        }
        let previous = self.text.previous_token(at).map(|at| *self.piece(at));
        let after_comma = previous.is_some_and(|previous| previous.kind == T::Comma);
        if let Some(&Frame::List { level, rows: true }) = self.frames.last()
            && previous.is_some_and(|previous| previous.role == Role::ListOpen)
        {
            return Gap::line(level + 1);
        }
        let looseness = match piece.kind {
            _ if after_comma => 0,
            T::Implies => 1,
            T::OrOr => 2,
            T::AndAnd => 3,
            _ => return Gap::Inline { overflow: None },
        };
        let level = self.overflow_level();
        if self.text.follows_break(at) {
            return Gap::line(level);
        }
        let rank = 4 * self.brackets + looseness;
        let overflow = Some(Overflow { level, rank });
        Gap::Inline { overflow }
    }

    fn count_brackets(&mut self, at: usize) {
        match (self.piece(at).kind, self.piece(at).role) {
            (T::OpenParen | T::OpenBracket, _) | (_, Role::ListOpen) => self.brackets += 1,
            (T::CloseParen | T::CloseBracket, _) | (_, Role::ListClose) => {
                self.brackets = self.brackets.saturating_sub(1);
            }
            _ => {}
        }
    }

    /// Enters the block or the list that begins with this token.
    fn open(&mut self, at: usize) {
        match self.piece(at).role {
            Role::BlockOpen => {
                let switch = std::mem::take(&mut self.after_switch);
                let close = self.text.closer(at);
                let is_empty = self.text.next_token(at + 1) == Some(close);
                if is_empty && self.text.was_one_line(at, close) || close == at + 1 {
                    self.joined = Some(close);
                } else {
                    let level = self.level;
                    self.frames.push(Frame::Block { level, switch });
                }
            }
            Role::ListOpen => {
                let rows = self
                    .text
                    .next_token(at + 1)
                    .is_some_and(|next| self.text.follows_break(next));
                let level = match self.frames.last() {
                    Some(Frame::List { level, rows: true }) => level + 1,
                    Some(Frame::List { level, rows: false }) => *level,
                    _ => self.level,
                };
                self.frames.push(Frame::List { level, rows });
            }
            _ => {}
        }
    }

    fn comment(&mut self, at: usize) -> Gap {
        if !self.piece(at).led_its_line() && at > 0 {
            return Gap::Inline { overflow: None };
        }
        let next = self.text.next_token(at);
        let level = match next.map(|next| (next, *self.piece(next))) {
            None => 0,
            Some((next, piece)) => match (piece.start, piece.role) {
                (Some(Start::Line), _) => self.line_level(next),
                (Some(Start::Body { owner }), _) => self.levels[owner] + 1,
                (Some(Start::Continue { owner }), _) => self.levels[owner],
                (None, Role::BlockClose) => match self.frames.last() {
                    Some(Frame::Block { level, switch }) => level + 1 + usize::from(*switch),
                    _ => self.overflow_level(),
                },
                _ => self.overflow_level(),
            },
        };
        Gap::Line {
            level,
            blank: self.keeps_blank(at),
        }
    }

    /// Whether a blank line before this piece is kept.
    fn keeps_blank(&self, at: usize) -> bool {
        self.piece(at).breaks > 1 && at > 0 && self.piece(at - 1).role != Role::BlockOpen
    }

    /// Whether the comment before this token does not let it stay on the line.
    fn must_break_before(&self, at: usize) -> bool {
        let Some(previous) = at.checked_sub(1).map(|before| self.piece(before)) else {
            return false;
        };
        match previous.kind {
            T::LineComment => true,
            T::BlockComment => previous.led_its_line() && self.piece(at).led_its_line(),
            _ => false,
        }
    }

    /// The level of a line that goes on with a statement.
    fn overflow_level(&self) -> usize {
        match self.frames.last() {
            Some(Frame::List { level, .. }) => level + 1,
            _ => self.level + 1,
        }
    }
}
