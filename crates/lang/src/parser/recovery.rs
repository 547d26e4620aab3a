//! Getting back on track after an error.

use super::{Parsed, Parser, Reported, Role};
use crate::diagnostic::Diagnostic;
use crate::span::Span;
use crate::token::TokenKind as T;

impl Parser<'_> {
    /// Skips the rest of a broken statement or item: past its `;` or its block, or
    /// up to what ends the surrounding block or begins something else.
    pub(super) fn skip_broken(&mut self, begins_another: fn(T) -> bool) {
        let start = self.at;
        let mut braces = 0_usize;
        loop {
            match self.kind() {
                T::EndOfFile => return,
                T::CloseBrace if braces == 0 => return,
                T::OpenBrace => braces += 1,
                T::CloseBrace => {
                    braces -= 1;
                    self.bump();
                    if braces == 0 && !self.goes_on_after_block() {
                        self.eat(T::Semicolon);
                        return;
                    }
                    continue;
                }
                T::Semicolon if braces == 0 => {
                    self.bump();
                    if self.is(T::Else) {
                        continue;
                    }
                    return;
                }
                kind if braces == 0
                    && self.at > start
                    && begins_another(kind)
                    && self.is_on_new_line() =>
                {
                    return;
                }
                _ => {}
            }
            self.bump();
        }
    }

    fn goes_on_after_block(&self) -> bool {
        matches!(
            self.kind(),
            T::Else | T::Or | T::CloseParen | T::Comma | T::Semicolon
        )
    }

    /// Parses what is in a pair of brackets, the first of which has been consumed.
    /// If that fails, goes on after the second one, provided it can be found.
    pub(super) fn until_closed<R>(
        &mut self,
        open: Span,
        close: T,
        parse: impl FnOnce(&mut Self) -> Parsed<R>,
    ) -> Parsed<Option<R>> {
        let reported = match parse(self) {
            Ok(value) if self.is(close) => {
                self.bump();
                return Ok(Some(value));
            }
            Ok(_) => self.unexpected_in_brackets(open, close),
            Err(reported) => reported,
        };
        self.skip_to_close(close, reported)?;
        Ok(None)
    }

    fn unexpected_in_brackets(&mut self, open: Span, close: T) -> Reported {
        if self.is(T::Unknown) {
            return Reported;
        }
        let close = close.text().unwrap_or_default();
        let message = format!("expected `{close}`, found {}", self.describe());
        let mut problem = Diagnostic::error(self.span(), message)
            .label(format!("expected `{close}`"))
            .related(open, "to close this");
        problem.help.extend(self.hint_at_unexpected());
        self.report(problem)
    }

    /// Skips to the bracket that closes the current level, and past it.
    fn skip_to_close(&mut self, close: T, reported: Reported) -> Parsed<()> {
        let mut level = 0_usize;
        loop {
            match self.kind() {
                kind if kind == close && level == 0 => {
                    self.bump();
                    return Ok(());
                }
                T::EndOfFile | T::Semicolon | T::OpenBrace | T::CloseBrace => return Err(reported),
                T::OpenParen | T::OpenBracket => level += 1,
                T::CloseParen | T::CloseBracket => level = level.saturating_sub(1),
                _ => {}
            }
            self.bump();
        }
    }

    /// The number of tokens from here to the `)` that closes the `(` which is `from`
    /// tokens away, if it is in the same statement.
    pub(super) fn find_close(&self, from: usize) -> Option<usize> {
        let mut level = 0_usize;
        for n in from.. {
            match self.peek(n).kind {
                T::OpenParen => level += 1,
                T::CloseParen if level <= 1 => return Some(n),
                T::CloseParen => level -= 1,
                T::EndOfFile | T::Semicolon | T::OpenBrace | T::CloseBrace => return None,
                _ => {}
            }
        }
        None
    }

    /// The `}` of a block that began at `open`. If it is missing, that is said, and
    /// the block ends here all the same.
    pub(super) fn close_block(&mut self, open: Span) {
        if self.is(T::CloseBrace) {
            self.note_indentation(open);
            self.bump_as(Role::BlockClose);
            return;
        }
        if self.tokens.iter().any(|token| token.kind == T::Unknown) {
            // A string without an end, say, may have swallowed the brace.
            return;
        }
        let message = format!("expected `}}`, found {}", self.describe());
        let mut problem =
            Diagnostic::error(self.span(), message).related(open, "this brace is not closed");
        if let Some(suspect) = self.suspect.filter(|suspect| suspect.start > open.start) {
            problem = problem.related(suspect, "or this one: its `}` is indented differently");
        }
        self.report(problem);
    }

    /// Remembers a `{` whose `}`, the current token, is further left than it should be.
    fn note_indentation(&mut self, open: Span) {
        if self.suspect.is_some() || !self.is_on_new_line() {
            return;
        }
        let close = self.source.line_column(self.span().start);
        let line = self.source.line_column(open.start).line;
        let text = self.source.line(line);
        let indentation = text.chars().take_while(|c| c.is_whitespace()).count();
        if (close.column as usize) <= indentation {
            self.suspect = Some(open);
        }
    }
}
