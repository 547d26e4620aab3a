//! The tokens of a text with all that the layout depends on.

use crate::parser::{Marks, Role, Start};
use crate::span::{Source, Span};
use crate::token::{Token, TokenKind};

use super::spacing::{Space, space};

/// A token, or a comment, and how it was written.
#[derive(Clone, Copy, Debug)]
pub(super) struct Piece<'s> {
    pub(super) kind: TokenKind,
    pub(super) text: &'s str,
    pub(super) role: Role,
    /// How it begins a part of the program; owners are numbers of pieces.
    pub(super) start: Option<Start>,
    /// The line breaks before it in the source.
    pub(super) breaks: usize,
    /// The column that it began at in the source.
    pub(super) column: usize,
    /// The space before it when it shares a line with the piece before.
    pub(super) space: Space,
    /// Where it begins and ends if the whole text is put on one line.
    pub(super) from: usize,
    pub(super) to: usize,
}

impl Piece<'_> {
    pub(super) fn is_comment(&self) -> bool {
        self.kind.is_comment()
    }

    /// Whether it was the first on its line.
    pub(super) fn led_its_line(&self) -> bool {
        self.breaks > 0
    }
}

/// All pieces of a text.
pub(super) struct Text<'s> {
    pub(super) pieces: Vec<Piece<'s>>,
    /// For each `{` its `}`.
    closers: Vec<usize>,
    /// For each piece that begins a line, the last token of its part of the program.
    ends: Vec<usize>,
    /// For each piece, the last token before it and the next at or after it.
    neighbours: Vec<(Option<usize>, Option<usize>)>,
}

impl<'s> Text<'s> {
    pub(super) fn new(source: &'s Source, tokens: Vec<Token>, marks: &Marks) -> Self {
        let numbers: Vec<usize> = (0..tokens.len())
            .filter(|&at| !tokens[at].kind.is_comment())
            .collect();
        let mut pieces: Vec<Piece<'s>> = Vec::with_capacity(tokens.len());
        let (mut end, mut column) = (0, 0);
        for token in tokens {
            let gap = source.snippet(Span::new(end, token.span.start));
            end = token.span.end;
            column = match gap.rsplit_once('\n') {
                Some((_, indentation)) => indentation.chars().count(),
                None => column + gap.chars().count(),
            };
            let text = source.snippet(token.span);
            let piece = Piece {
                kind: token.kind,
                text,
                role: Role::Plain,
                start: None,
                breaks: gap.matches('\n').count(),
                column,
                space: Space::No,
                from: 0,
                to: 0,
            };
            pieces.push(piece);
            column = match text.rsplit_once('\n') {
                Some((_, last)) => last.chars().count(),
                None => column + text.chars().count(),
            };
        }
        let renumber = |start| match start {
            Start::Line => Start::Line,
            Start::Body { owner } => Start::Body {
                owner: numbers[owner],
            },
            Start::Continue { owner } => Start::Continue {
                owner: numbers[owner],
            },
        };
        for (number, &at) in numbers.iter().enumerate() {
            pieces[at].role = marks.roles[number];
            pieces[at].start = marks.starts[number].map(renumber);
        }
        measure(&mut pieces);
        let (closers, ends) = extents(&pieces);
        Self {
            neighbours: neighbours(&pieces),
            pieces,
            closers,
            ends,
        }
    }

    /// The `}` of the `{` at `open`.
    pub(super) fn closer(&self, open: usize) -> usize {
        self.closers[open]
    }

    /// The last token of the part of the program that begins at `start`.
    pub(super) fn end(&self, start: usize) -> usize {
        self.ends[start]
    }

    /// How wide the pieces are on one line.
    pub(super) fn width(&self, first: usize, last: usize) -> usize {
        self.pieces[last].to - self.pieces[first].from
    }

    /// Whether the pieces were on one line, and can be.
    pub(super) fn was_one_line(&self, first: usize, last: usize) -> bool {
        let inner = &self.pieces[first..=last];
        inner[1..].iter().all(|piece| !piece.led_its_line())
            && inner
                .iter()
                .all(|p| p.kind != TokenKind::LineComment && !p.text.contains('\n'))
    }

    /// The first token at or after `at` that is no comment.
    pub(super) fn next_token(&self, at: usize) -> Option<usize> {
        self.neighbours.get(at).and_then(|&(_, next)| next)
    }

    /// The last token before `at` that is no comment.
    pub(super) fn previous_token(&self, at: usize) -> Option<usize> {
        self.neighbours[at].0
    }

    /// Whether there was a line break between the token at `at` and the token before.
    pub(super) fn follows_break(&self, at: usize) -> bool {
        let first = self.previous_token(at).map_or(0, |previous| previous + 1);
        self.pieces[first..=at].iter().any(Piece::led_its_line)
    }
}

/// Finds the spaces between pieces, and their places if all were on one line.
fn measure(pieces: &mut [Piece<'_>]) {
    let mut at = 0;
    for index in 0..pieces.len() {
        if index > 0 {
            pieces[index].space = space(&pieces[index - 1], &pieces[index]);
        }
        let piece = &mut pieces[index];
        piece.from = at + usize::from(piece.space == Space::Yes);
        piece.to = piece.from + piece.text.chars().count();
        at = piece.to;
    }
}

/// For each piece, the last token before it and the next at or after it.
fn neighbours(pieces: &[Piece<'_>]) -> Vec<(Option<usize>, Option<usize>)> {
    let mut neighbours = vec![(None, None); pieces.len()];
    let mut previous = None;
    for (at, piece) in pieces.iter().enumerate() {
        neighbours[at].0 = previous;
        previous = if piece.is_comment() {
            previous
        } else {
            Some(at)
        };
    }
    let mut next = None;
    for (at, piece) in pieces.iter().enumerate().rev() {
        next = if piece.is_comment() { next } else { Some(at) };
        neighbours[at].1 = next;
    }
    neighbours
}

/// Matches braces, and finds where each part of the program ends: before the next one
/// at its level, or before the brace that closes the level.
fn extents(pieces: &[Piece<'_>]) -> (Vec<usize>, Vec<usize>) {
    let mut closers = vec![0; pieces.len()];
    let mut ends = vec![0; pieces.len()];
    let mut opened: Vec<usize> = Vec::new();
    // The part of the program that is under way, for each level.
    let mut parts: Vec<Option<usize>> = vec![None];
    let mut last = 0;
    for (at, piece) in pieces.iter().enumerate() {
        if piece.is_comment() {
            continue;
        }
        if piece.role == Role::BlockClose {
            end_part(&mut ends, parts.pop().flatten(), last);
        }
        if piece.start == Some(Start::Line)
            && let Some(part) = parts.last_mut()
        {
            end_part(&mut ends, part.replace(at), last);
        }
        match piece.role {
            Role::BlockOpen => {
                opened.push(at);
                parts.push(None);
            }
            Role::ListOpen => opened.push(at),
            Role::BlockClose | Role::ListClose => {
                if let Some(open) = opened.pop() {
                    closers[open] = at;
                }
            }
            _ => {}
        }
        last = at;
    }
    end_part(&mut ends, parts.pop().flatten(), last);
    (closers, ends)
}

fn end_part(ends: &mut [usize], part: Option<usize>, last: usize) {
    if let Some(first) = part {
        ends[first] = last;
    }
}
