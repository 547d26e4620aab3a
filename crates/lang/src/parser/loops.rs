//! Branches and loops.

use super::{Parsed, Parser, Role, Start};
use crate::ast::{Arm, Condition, Statement, StatementKind};
use crate::diagnostic::Diagnostic;
use crate::span::Span;
use crate::token::TokenKind as T;

/// The three parts of the head of a `for`.
type ForHead = (
    Option<Box<Statement>>,
    Option<Condition>,
    Option<Box<Statement>>,
);

impl Parser<'_> {
    /// The word of a statement and what is in parentheses after it; `None` after an error.
    pub(super) fn head<R>(
        &mut self,
        parse: impl FnOnce(&mut Self) -> Parsed<R>,
    ) -> Parsed<Option<R>> {
        let word = self.bump();
        if let Some(open) = self.eat(T::OpenParen) {
            return self.until_closed(open, T::CloseParen, parse);
        }
        if self.is(T::Unknown) {
            return Err(super::Reported);
        }
        let word = self.text(word);
        let message = format!("expected `(` after `{word}`, found {}", self.describe());
        let problem = Diagnostic::error(self.span(), message)
            .help(format!("put parentheses around it: `{word} (...)`"));
        self.report(problem);
        parse(self).map(Some)
    }

    fn condition(&mut self) -> Parsed<Condition> {
        let alone = matches!(
            self.peek(1).kind,
            T::CloseParen | T::Semicolon | T::OpenBrace
        );
        if self.is(T::Star) && alone {
            return Ok(Condition::Any(self.bump_as(Role::Any)));
        }
        self.expression().map(Condition::Expr)
    }

    /// A word and the condition after it.
    fn condition_head(&mut self) -> Parsed<Condition> {
        let condition = self.head(Self::condition)?;
        Ok(condition.unwrap_or_else(|| Condition::Expr(self.hole(self.span_after()))))
    }

    pub(super) fn if_statement(&mut self) -> Parsed<StatementKind> {
        let owner = self.at;
        let condition = self.condition_head()?;
        let then = self.body(owner)?;
        self.skip_elif();
        let otherwise = if self.is(T::Else) {
            self.start(Start::Continue { owner });
            self.bump();
            Some(self.body(owner)?)
        } else {
            None
        };
        Ok(StatementKind::If {
            condition,
            then,
            otherwise,
        })
    }

    /// Reads `elif` as `else if`, with a message.
    fn skip_elif(&mut self) {
        let word = self.text(self.span());
        if self.peek(1).kind != T::OpenParen || !matches!(word, "elif" | "elsif" | "elseif") {
            return;
        }
        let problem =
            Diagnostic::error(self.span(), format!("there is no `{word}`")).help("write `else if`");
        self.report(problem);
        // What follows is read as a statement of its own, an `if`.
        self.tokens[self.at].kind = T::If;
    }

    pub(super) fn while_statement(&mut self) -> Parsed<StatementKind> {
        let owner = self.at;
        let condition = self.condition_head()?;
        let body = self.body(owner)?;
        Ok(StatementKind::While { condition, body })
    }

    pub(super) fn do_statement(&mut self) -> Parsed<StatementKind> {
        let owner = self.at;
        self.bump();
        let body = self.body(owner)?;
        if !self.is(T::While) {
            return Err(self.unexpected("`while`"));
        }
        self.start(Start::Continue { owner });
        let condition = self.condition_head()?;
        self.terminated(StatementKind::DoWhile { body, condition })
    }

    pub(super) fn for_statement(&mut self) -> Parsed<StatementKind> {
        let owner = self.at;
        let head = self.head(Self::for_head)?;
        let (init, condition, step) = head.unwrap_or_default();
        let body = self.body(owner)?;
        Ok(StatementKind::For {
            init,
            condition,
            step,
            body,
        })
    }

    fn for_head(&mut self) -> Parsed<ForHead> {
        let result = self.for_parts();
        if result.is_err() {
            // The `;` of the head would pass for the end of the statement.
            while matches!(self.kind(), T::Semicolon)
                || !matches!(
                    self.kind(),
                    T::CloseParen | T::OpenBrace | T::CloseBrace | T::EndOfFile
                ) && !self.is_on_new_line()
            {
                self.bump();
            }
        }
        result
    }

    fn for_parts(&mut self) -> Parsed<ForHead> {
        let init = if self.is(T::Semicolon) {
            None
        } else {
            Some(Box::new(self.for_init()?))
        };
        self.for_separator()?;
        let condition = if self.is(T::Semicolon) {
            None
        } else {
            Some(self.condition()?)
        };
        self.for_separator()?;
        let step = if self.is(T::CloseParen) {
            None
        } else {
            Some(Box::new(self.for_part(Self::simple)?))
        };
        Ok((init, condition, step))
    }

    fn for_init(&mut self) -> Parsed<Statement> {
        if self.at_declaration() && !self.at_iteration() {
            return self.for_part(|parser| parser.declaration().map(StatementKind::Declare));
        }
        if self.at_iteration() {
            return Err(self.report_iteration());
        }
        self.for_part(Self::simple)
    }

    fn for_part(
        &mut self,
        parse: impl FnOnce(&mut Self) -> Parsed<StatementKind>,
    ) -> Parsed<Statement> {
        let start = self.span();
        let kind = parse(self)?;
        Ok(Statement {
            kind,
            span: self.span_from(start),
        })
    }

    /// `for (i in ...)`, `for (int i : ...)`
    fn at_iteration(&self) -> bool {
        let typed = usize::from(self.peek(1).kind == T::Name && !self.is_in(1));
        self.peek(typed).kind == T::Name
            && (self.is_in(typed + 1) || self.peek(typed + 1).kind == T::Colon)
    }

    fn is_in(&self, n: usize) -> bool {
        self.peek(n).kind == T::Name && self.text(self.peek(n).span) == "in"
    }

    fn report_iteration(&mut self) -> super::Reported {
        let problem = Diagnostic::error(self.span(), "there is no `for` over a collection")
            .help("count instead: `for (int i = 0; i < n; i++)`");
        self.report(problem)
    }

    fn for_separator(&mut self) -> Parsed<()> {
        if self.eat(T::Semicolon).is_some() {
            return Ok(());
        }
        if self.is(T::Comma) {
            let problem = Diagnostic::error(self.span(), "unexpected `,` in the head of `for`")
                .help("there is no comma operator: put the other assignment before the loop, or at the end of its body");
            return Err(self.report(problem));
        }
        if self.is(T::CloseParen) {
            let problem = Diagnostic::error(self.span(), "the head of `for` has three parts")
                .help("write `for (int i = 0; i < n; i++)`, or use `while`");
            return Err(self.report(problem));
        }
        Err(self.unexpected("`;`"))
    }

    pub(super) fn switch_statement(&mut self) -> Parsed<StatementKind> {
        let scrutinee = self.head(Self::expression)?;
        let scrutinee = scrutinee.unwrap_or_else(|| self.hole(self.span_after()));
        let open = self.expect_as(T::OpenBrace, Role::BlockOpen)?;
        let mut arms: Vec<Arm> = Vec::new();
        let mut last_label = None;
        while !self.at_block_end() {
            if matches!(self.kind(), T::Case | T::Default) {
                last_label = Some(self.start(Start::Line));
                let first = self.span();
                let label = self.case_label().unwrap_or_else(|_| {
                    self.skip_case();
                    (Some(self.hole(first)), self.span_from(first))
                });
                add_label(&mut arms, label);
                continue;
            }
            let start = match last_label.take() {
                Some(owner) => Start::Body { owner },
                None => Start::Line,
            };
            if arms.is_empty() {
                self.unexpected("`case` or `default`");
            }
            let statement = self.statement_or_hole(start);
            if let Some(arm) = arms.last_mut() {
                arm.span = arm.span.to(statement.span);
                arm.statements.push(statement);
            }
        }
        self.close_block(open);
        Ok(StatementKind::Switch { scrutinee, arms })
    }

    fn case_label(&mut self) -> Parsed<(Option<crate::ast::Expr>, Span)> {
        let start = self.span();
        let value = if self.eat(T::Default).is_some() {
            None
        } else {
            self.bump();
            Some(self.expression()?)
        };
        self.expect_as(T::Colon, Role::LabelColon)?;
        Ok((value, self.span_from(start)))
    }

    /// Skips a broken label up to its `:` or the end of its line.
    fn skip_case(&mut self) {
        while !matches!(
            self.kind(),
            T::Colon | T::Semicolon | T::OpenBrace | T::CloseBrace | T::EndOfFile
        ) && !self.is_on_new_line()
        {
            self.bump();
        }
        self.eat(T::Colon);
    }
}

/// Adds a label to the last arm, or to a new one if the last has statements.
fn add_label(arms: &mut Vec<Arm>, label: (Option<crate::ast::Expr>, Span)) {
    let span = label.1;
    match arms.last_mut() {
        Some(arm) if arm.statements.is_empty() => {
            arm.span = arm.span.to(span);
            arm.labels.push(label);
        }
        _ => arms.push(Arm {
            labels: vec![label],
            statements: Vec::new(),
            span,
        }),
    }
}
