//! Statements, loops and branches excepted.

use super::{Parsed, Parser, Reported, Role, Start};
use crate::ast::{BinaryOp, Block, Expr, ExprKind, Statement, StatementKind};
use crate::diagnostic::Diagnostic;
use crate::span::Span;
use crate::token::{TokenKind as T, unescape};

/// Whether this token, first on its line, is likely to begin a statement.
fn begins_statement(kind: T) -> bool {
    kind.is_type_keyword()
        || matches!(
            kind,
            T::If
                | T::While
                | T::Do
                | T::For
                | T::Switch
                | T::Case
                | T::Default
                | T::Break
                | T::Continue
                | T::Return
                | T::Goto
                | T::Assert
                | T::Assume
                | T::Await
                | T::Atomic
                | T::Run
                | T::Invariant
        )
}

/// The operator of an assignment: `None` if this is none, `Some(None)` for a plain one.
pub(super) fn assignment(kind: T) -> Option<Option<BinaryOp>> {
    Some(match kind {
        T::Assign | T::ColonAssign => None,
        T::PlusAssign => Some(BinaryOp::Add),
        T::MinusAssign => Some(BinaryOp::Subtract),
        T::StarAssign => Some(BinaryOp::Multiply),
        T::SlashAssign => Some(BinaryOp::Divide),
        T::PercentAssign => Some(BinaryOp::Remainder),
        T::AndAssign => Some(BinaryOp::BitAnd),
        T::OrAssign => Some(BinaryOp::BitOr),
        T::XorAssign => Some(BinaryOp::BitXor),
        T::ShiftLeftAssign => Some(BinaryOp::ShiftLeft),
        T::ShiftRightAssign => Some(BinaryOp::ShiftRight),
        _ => return None,
    })
}

impl Parser<'_> {
    pub(super) fn block(&mut self) -> Parsed<Block> {
        let open = self.expect_as(T::OpenBrace, Role::BlockOpen)?;
        let mut statements = Vec::new();
        while !self.at_block_end() {
            statements.push(self.statement_or_hole(Start::Line));
        }
        self.close_block(open);
        Ok(Block {
            statements,
            span: self.span_from(open),
        })
    }

    /// Whether the block ends here, be it because its `}` is missing.
    pub(super) fn at_block_end(&self) -> bool {
        matches!(
            self.kind(),
            T::CloseBrace | T::EndOfFile | T::Run | T::Invariant | T::Exclusive
        ) || self.at_function()
    }

    /// A statement, or what is left of it after an error.
    pub(super) fn statement_or_hole(&mut self, start: Start) -> Statement {
        let first = self.span();
        let before = self.at;
        self.statement(start).unwrap_or_else(|Reported| {
            self.skip_broken(begins_statement);
            if self.at == before {
                self.bump();
            }
            Statement {
                kind: StatementKind::Error,
                span: self.span_from(first),
            }
        })
    }

    /// A statement that is part of the one that begins with token `owner`.
    pub(super) fn body(&mut self, owner: usize) -> Parsed<Box<Statement>> {
        self.statement(Start::Body { owner }).map(Box::new)
    }

    pub(super) fn statement(&mut self, start: Start) -> Parsed<Statement> {
        self.nested(|parser| {
            parser.skip_foreign_prefixes();
            parser.start(start);
            let first = parser.span();
            let kind = parser.statement_kind()?;
            Ok(Statement {
                kind,
                span: parser.span_from(first),
            })
        })
    }

    fn statement_kind(&mut self) -> Parsed<StatementKind> {
        match self.kind() {
            T::OpenBrace => self.block().map(StatementKind::Block),
            T::Semicolon => {
                self.bump();
                Ok(StatementKind::Skip)
            }
            T::Name if self.peek(1).kind == T::Colon => self.label(),
            T::If => self.if_statement(),
            T::While => self.while_statement(),
            T::Do => self.do_statement(),
            T::For => self.for_statement(),
            T::Switch => self.switch_statement(),
            T::Break => self.word(StatementKind::Break),
            T::Continue => self.word(StatementKind::Continue),
            T::Skip => self.word(StatementKind::Skip),
            T::Yield => self.word(StatementKind::Yield),
            T::Return => self.return_statement(),
            T::Goto => {
                self.bump();
                let target = self.expect_name("a label")?;
                self.terminated(StatementKind::Goto(target))
            }
            T::Assert => self.assert_statement(),
            T::Assume => self.guard(StatementKind::Assume),
            T::Await => self.guard(StatementKind::Await),
            T::Reach => self.reach_statement(),
            T::Atomic => self.atomic_statement(),
            T::Choose if self.peek(1).kind == T::OpenBrace => self.choose_statement(),
            T::Const => self.local_constant(),
            T::Else | T::Or | T::Case | T::Default => Err(self.stray_word()),
            _ if self.at_declaration() => self.local_declaration(),
            _ => {
                let simple = self.simple()?;
                self.terminated(simple)
            }
        }
    }

    /// The statement, once its `;` is there.
    pub(super) fn terminated(&mut self, kind: StatementKind) -> Parsed<StatementKind> {
        self.expect_semicolon()?;
        Ok(kind)
    }

    /// A statement of one word.
    fn word(&mut self, kind: StatementKind) -> Parsed<StatementKind> {
        self.bump();
        self.terminated(kind)
    }

    fn label(&mut self) -> Parsed<StatementKind> {
        let owner = self.at;
        let name = self.expect_name("a label")?;
        self.expect_as(T::Colon, Role::LabelColon)?;
        let labelled = if matches!(self.kind(), T::CloseBrace | T::Case | T::Default) {
            // At the end of a block, as C23 allows.
            Box::new(Statement {
                kind: StatementKind::Skip,
                span: self.span_after(),
            })
        } else {
            self.body(owner)?
        };
        Ok(StatementKind::Label(name, labelled))
    }

    fn return_statement(&mut self) -> Parsed<StatementKind> {
        self.bump();
        let ends_here = matches!(self.kind(), T::Semicolon | T::CloseBrace);
        let value = if ends_here {
            None
        } else {
            Some(self.expression()?)
        };
        self.terminated(StatementKind::Return(value))
    }

    fn assert_statement(&mut self) -> Parsed<StatementKind> {
        self.bump();
        // `assert (a) == b;` begins with a parenthesis, too.
        let enclosed = self.is(T::OpenParen)
            && self
                .find_close(0)
                .is_none_or(|close| !continues_expression(self.peek(close + 1).kind));
        let (condition, message) = if enclosed {
            let open = self.bump();
            let inner = self.until_closed(open, T::CloseParen, |parser| {
                let condition = parser.expression()?;
                let message = match parser.eat(T::Comma) {
                    Some(_) => Some(parser.string("a message in quotes")?),
                    None => None,
                };
                Ok((condition, message))
            })?;
            inner.unwrap_or_else(|| (self.hole(open), None))
        } else {
            let condition = self.expression()?;
            let message = match self.eat(T::Comma) {
                Some(_) => Some(self.string("a message in quotes")?),
                None => None,
            };
            (condition, message)
        };
        self.terminated(StatementKind::Assert { condition, message })
    }

    /// `assume(e);`, `await(e);`
    fn guard(&mut self, kind: fn(Expr) -> StatementKind) -> Parsed<StatementKind> {
        let condition = self.head(Self::expression)?;
        let condition = condition.unwrap_or_else(|| self.hole(self.span_after()));
        self.terminated(kind(condition))
    }

    fn reach_statement(&mut self) -> Parsed<StatementKind> {
        self.bump();
        let name = match self.eat(T::OpenParen) {
            Some(open) => self.until_closed(open, T::CloseParen, |parser| {
                parser.string("a name in quotes")
            })?,
            None => None,
        };
        self.terminated(StatementKind::Reach(name))
    }

    fn string(&mut self, what: &str) -> Parsed<String> {
        if !self.is(T::String) {
            return Err(self.unexpected(what));
        }
        let span = self.bump();
        Ok(unescape(self.text(span)))
    }

    fn atomic_statement(&mut self) -> Parsed<StatementKind> {
        let span = self.span();
        if self.peek(1).kind.is_type_keyword() || self.peek(1).kind == T::Name {
            let problem = Diagnostic::error(span, "a local variable cannot be `atomic`")
                .help("no other thread can see it");
            self.report(problem);
            self.bump();
            return self.statement_kind();
        }
        self.bump();
        self.block().map(StatementKind::Atomic)
    }

    fn choose_statement(&mut self) -> Parsed<StatementKind> {
        self.bump();
        let mut blocks = vec![self.block()?];
        while self.eat(T::Or).is_some() {
            blocks.push(self.block()?);
        }
        Ok(StatementKind::Choose(blocks))
    }

    fn local_constant(&mut self) -> Parsed<StatementKind> {
        let problem = Diagnostic::error(self.span(), "constants are global")
            .help("move it out of the function, or drop `const`");
        self.report(problem);
        self.bump();
        if self.at_declaration() {
            return self.local_declaration();
        }
        let simple = self.simple()?;
        self.terminated(simple)
    }

    fn local_declaration(&mut self) -> Parsed<StatementKind> {
        if self.at_bare_operation() {
            let operation = self.text(self.span());
            let argument = self.text(self.peek(1).span);
            let help = format!("write `{operation}({argument});`");
            let message = format!("`{operation}` needs parentheses");
            let problem = Diagnostic::error(self.span(), message).help(help);
            return Err(self.report(problem));
        }
        let variables = self.declaration()?;
        self.terminated(StatementKind::Declare(variables))
    }

    /// An assignment or an expression.
    pub(super) fn simple(&mut self) -> Parsed<StatementKind> {
        let place = self.place()?;
        let Some(operator) = assignment(self.kind()) else {
            self.check_effect(&place);
            return Ok(StatementKind::Expr(place));
        };
        if self.is(T::ColonAssign) {
            self.report_colon_assign();
        }
        self.bump();
        Ok(StatementKind::Assign {
            place,
            operator,
            value: self.expression()?,
        })
    }

    /// Reports a comparison that must have been meant as an assignment.
    fn check_effect(&mut self, expr: &Expr) {
        let ExprKind::Binary(operator, left, right) = &expr.kind else {
            return;
        };
        let between = self.text(Span::new(left.span.end, right.span.end));
        let (place, value) = (self.text(left.span), self.text(right.span));
        let value = match operator {
            BinaryOp::Equal => value,
            BinaryOp::Less if between.trim_start().starts_with("<-") => {
                value.trim_start_matches('-').trim_start()
            }
            _ => return,
        };
        let help = format!("to assign, write `{place} = {value}`");
        let problem = Diagnostic::error(expr.span, "this comparison has no effect").help(help);
        self.report(problem);
    }

    fn stray_word(&mut self) -> Reported {
        let (what, needs) = match self.kind() {
            T::Else => ("else", "an `if`"),
            T::Or => ("or", "a `choose { ... }`"),
            T::Case => ("case", "a `switch`"),
            _ => ("default", "a `switch`"),
        };
        let place = match self.kind() {
            T::Else | T::Or => "does not follow",
            _ => "is not directly in",
        };
        let mut problem = Diagnostic::error(self.span(), format!("this `{what}` {place} {needs}"));
        if self.is(T::Else) {
            problem = problem.help("put several statements of an `if` in braces");
        }
        self.report(problem)
    }

    /// In place of an expression that could not be read.
    pub(super) fn hole(&self, start: Span) -> Expr {
        Expr {
            kind: ExprKind::Error,
            span: self.span_from(start),
        }
    }
}

/// Whether an expression in parentheses goes on with this token.
fn continues_expression(kind: T) -> bool {
    super::expressions::binary_operator(kind).is_some() || kind == T::Question
}
