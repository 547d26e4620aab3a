//! Looking at tokens, consuming them, and saying what is wrong with them.

use super::{MAX_DEPTH, MAX_ERRORS, Parsed, Parser, Reported, Role, Start};
use crate::ast::Name;
use crate::diagnostic::Diagnostic;
use crate::span::Span;
use crate::token::{Token, TokenKind};

impl Parser<'_> {
    /// The `n`-th token from here; at the end, the end of the file.
    pub(super) fn peek(&self, n: usize) -> Token {
        self.tokens[(self.at + n).min(self.tokens.len() - 1)]
    }

    pub(super) fn kind(&self) -> TokenKind {
        self.peek(0).kind
    }

    pub(super) fn span(&self) -> Span {
        self.peek(0).span
    }

    pub(super) fn is(&self, kind: TokenKind) -> bool {
        self.kind() == kind
    }

    /// Whether the current token is this word, which is no keyword.
    pub(super) fn is_word(&self, word: &str) -> bool {
        self.is(TokenKind::Name) && self.text(self.span()) == word
    }

    pub(super) fn text(&self, span: Span) -> &str {
        self.source.snippet(span)
    }

    /// From `start` to the end of the last consumed token.
    pub(super) fn span_from(&self, start: Span) -> Span {
        Span::new(start.start, self.last_end.max(start.end))
    }

    /// Just after the last consumed token.
    pub(super) fn span_after(&self) -> Span {
        Span::new(self.last_end, self.last_end)
    }

    /// Whether the current token follows the last one without a blank.
    pub(super) fn is_adjacent(&self) -> bool {
        self.span().start == self.last_end
    }

    /// Whether the current token is the first of its line.
    pub(super) fn is_on_new_line(&self) -> bool {
        let between = Span::new(self.last_end, self.span().start);
        self.at == 0 || self.text(between).contains('\n')
    }

    /// Consumes the current token.
    pub(super) fn bump(&mut self) -> Span {
        let span = self.span();
        if !self.is(TokenKind::EndOfFile) {
            self.at += 1;
            self.last_end = span.end;
        }
        span
    }

    /// Consumes the current token and notes what it turned out to be.
    pub(super) fn bump_as(&mut self, role: Role) -> Span {
        self.marks.roles[self.at] = role;
        self.bump()
    }

    /// Consumes the current token if it is of this kind.
    pub(super) fn eat(&mut self, kind: TokenKind) -> Option<Span> {
        self.is(kind).then(|| self.bump())
    }

    pub(super) fn expect(&mut self, kind: TokenKind) -> Parsed<Span> {
        self.expect_as(kind, Role::Plain)
    }

    pub(super) fn expect_as(&mut self, kind: TokenKind, role: Role) -> Parsed<Span> {
        if self.is(kind) {
            return Ok(self.bump_as(role));
        }
        let expected = kind.text().map_or_else(String::new, |t| format!("`{t}`"));
        Err(self.unexpected(&expected))
    }

    pub(super) fn expect_name(&mut self, what: &str) -> Parsed<Name> {
        if self.is(TokenKind::Name) {
            let span = self.bump();
            let text = self.text(span).to_owned();
            return Ok(Name { text, span });
        }
        if self.kind().is_keyword() {
            let found = self.describe();
            let problem = Diagnostic::error(self.span(), format!("expected {what}, found {found}"))
                .label("a word of the language cannot be a name");
            return Err(self.report(problem));
        }
        Err(self.unexpected(what))
    }

    /// The `;` at the end of something. A missing one is taken as read if what
    /// follows looks like the start of something else.
    pub(super) fn expect_semicolon(&mut self) -> Parsed<()> {
        if self.eat(TokenKind::Semicolon).is_some() {
            return Ok(());
        }
        let goes_on = self.is_on_new_line()
            || self.kind().is_keyword()
            || matches!(self.kind(), TokenKind::CloseBrace | TokenKind::EndOfFile);
        let reported = if self.is(TokenKind::Unknown) {
            Reported
        } else {
            let found = self.describe();
            let message = format!("expected `;`, found {found}");
            let problem = Diagnostic::error(self.span_after(), message);
            let problem = match self.hint_instead_of_semicolon() {
                Some(help) => problem.help(help),
                None => problem.label("`;` is missing here"),
            };
            self.report(problem)
        };
        if goes_on { Ok(()) } else { Err(reported) }
    }

    /// Notes that the current token begins a part of the program.
    pub(super) fn start(&mut self, start: Start) -> usize {
        self.marks.starts[self.at] = Some(start);
        self.at
    }

    /// The current token, for a message.
    pub(super) fn describe(&self) -> String {
        let text = self.text(self.span());
        match self.kind() {
            TokenKind::EndOfFile => "the end of the file".to_owned(),
            TokenKind::String => "a string".to_owned(),
            kind if kind.is_keyword() => format!("the keyword `{text}`"),
            TokenKind::Name if text.len() > 40 => "a name".to_owned(),
            _ => format!("`{text}`"),
        }
    }

    /// Says that something else was expected here.
    pub(super) fn unexpected(&mut self, expected: &str) -> Reported {
        if self.is(TokenKind::Unknown) {
            // The lexer has said so already.
            return Reported;
        }
        let message = format!("expected {expected}, found {}", self.describe());
        let mut problem =
            Diagnostic::error(self.span(), message).label(format!("expected {expected}"));
        problem.help.extend(self.hint_at_unexpected());
        self.report(problem)
    }

    /// Puts an error in the list, unless there is one about the same token.
    pub(super) fn report(&mut self, problem: Diagnostic) -> Reported {
        if self.last_error != Some(self.at) {
            self.last_error = Some(self.at);
            self.problems.push(problem);
        }
        if self.problems.len() >= MAX_ERRORS {
            self.at = self.tokens.len() - 1;
        }
        Reported
    }

    /// Parses something one level further in.
    pub(super) fn nested<T>(&mut self, parse: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        self.check_depth(1)?;
        self.depth += 1;
        let result = parse(self);
        self.depth -= 1;
        result
    }

    /// Makes sure that a tree of this height still fits here.
    pub(super) fn check_depth(&mut self, height: usize) -> Parsed<()> {
        if self.depth + height <= MAX_DEPTH {
            return Ok(());
        }
        if !self.told_too_deep {
            self.told_too_deep = true;
            let problem = Diagnostic::error(self.span(), "this is nested too deeply").help(
                format!("expressions and statements may nest {MAX_DEPTH} levels deep"),
            );
            self.report(problem);
        }
        Err(Reported)
    }
}
