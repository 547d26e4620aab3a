//! Expressions, by precedence climbing.

use super::statements::assignment;
use super::{Parsed, Parser, Reported, Role};
use crate::ast::{BinaryOp, Direction, Expr, ExprKind, Fix, Name, UnaryOp};
use crate::diagnostic::Diagnostic;
use crate::span::Span;
use crate::token::{TokenKind as T, number};

/// An expression and how deep it nests.
///
/// Recursion alone does not bound the depth of a tree: `1 + 1 + 1 + ...` grows to
/// the left without any.
pub(super) struct Measured {
    pub(super) expr: Expr,
    height: usize,
}

/// How tightly the loosest operator binds.
const LOOSEST: u8 = 1;
/// How tightly `+` and `-` bind.
const SUM: u8 = 10;

/// A binary operator and how tightly it binds.
pub(super) fn binary_operator(kind: T) -> Option<(BinaryOp, u8)> {
    Some(match kind {
        T::Implies | T::FatArrow => (BinaryOp::Implies, LOOSEST),
        T::OrOr => (BinaryOp::Or, 2),
        T::AndAnd => (BinaryOp::And, 3),
        T::Pipe => (BinaryOp::BitOr, 4),
        T::Caret => (BinaryOp::BitXor, 5),
        T::Ampersand => (BinaryOp::BitAnd, 6),
        T::EqualEqual => (BinaryOp::Equal, 7),
        T::NotEqual => (BinaryOp::NotEqual, 7),
        T::Less => (BinaryOp::Less, 8),
        T::LessEqual => (BinaryOp::LessEqual, 8),
        T::Greater => (BinaryOp::Greater, 8),
        T::GreaterEqual => (BinaryOp::GreaterEqual, 8),
        T::ShiftLeft => (BinaryOp::ShiftLeft, 9),
        T::ShiftRight => (BinaryOp::ShiftRight, 9),
        T::Plus => (BinaryOp::Add, SUM),
        T::Minus => (BinaryOp::Subtract, SUM),
        T::Star => (BinaryOp::Multiply, 11),
        T::Slash => (BinaryOp::Divide, 11),
        T::Percent => (BinaryOp::Remainder, 11),
        _ => return None,
    })
}

impl Parser<'_> {
    pub(super) fn expression(&mut self) -> Parsed<Expr> {
        Ok(self.measured()?.expr)
    }

    /// What may be on the left of an assignment: any expression, but a `=` after it
    /// is no mistake.
    pub(super) fn place(&mut self) -> Parsed<Expr> {
        Ok(self.nested(Self::conditional)?.expr)
    }

    /// An expression without comparisons and shifts, so that a `>` ends it.
    pub(super) fn sum(&mut self) -> Parsed<Expr> {
        Ok(self.nested(|parser| parser.binary(SUM))?.expr)
    }

    fn measured(&mut self) -> Parsed<Measured> {
        let left = self.nested(Self::conditional)?;
        if assignment(self.kind()).is_none() {
            return Ok(left);
        }
        self.report_assignment();
        self.bump();
        if self.is_adjacent() {
            // `=<`, read as `<=`.
            self.eat(T::Less);
        }
        let right = self.nested(Self::measured)?;
        let span = left.expr.span.to(right.expr.span);
        self.tree(ExprKind::Error, span, 0)
    }

    /// A node over parts of which the highest has this height.
    fn tree(&mut self, kind: ExprKind, span: Span, height: usize) -> Parsed<Measured> {
        self.check_depth(height + 1)?;
        Ok(Measured {
            expr: Expr { kind, span },
            height: height + 1,
        })
    }

    fn conditional(&mut self) -> Parsed<Measured> {
        let condition = self.binary(LOOSEST)?;
        if self.eat(T::Question).is_none() {
            return Ok(condition);
        }
        let yes = self.nested(Self::conditional)?;
        self.expect(T::Colon)?;
        let no = self.nested(Self::conditional)?;
        let height = condition.height.max(yes.height).max(no.height);
        let span = condition.expr.span.to(no.expr.span);
        let [condition, yes, no] = [condition, yes, no].map(|part| Box::new(part.expr));
        self.tree(ExprKind::Conditional(condition, yes, no), span, height)
    }

    /// Operands and the operators between them that bind at least this tightly.
    fn binary(&mut self, loosest: u8) -> Parsed<Measured> {
        let mut left = self.prefix()?;
        loop {
            self.replace_word_operator();
            let Some((operator, tightness)) = binary_operator(self.kind()) else {
                return Ok(left);
            };
            if tightness < loosest {
                return Ok(left);
            }
            self.check_operator();
            self.bump();
            self.check_adjacent_operator();
            let groups_right = operator == BinaryOp::Implies;
            let right = self.nested(|parser| parser.binary(tightness + u8::from(!groups_right)))?;
            self.check_mixture(operator, &left.expr, &right.expr);
            let height = left.height.max(right.height);
            let span = left.expr.span.to(right.expr.span);
            let kind = ExprKind::Binary(operator, Box::new(left.expr), Box::new(right.expr));
            left = self.tree(kind, span, height)?;
        }
    }

    /// A prefix operator and its operand.
    fn prefix(&mut self) -> Parsed<Measured> {
        let start = self.span();
        let build: fn(Box<Expr>) -> ExprKind = match self.kind() {
            T::Minus => |e| ExprKind::Unary(UnaryOp::Negate, e),
            T::Bang => |e| ExprKind::Unary(UnaryOp::Not, e),
            T::Tilde => |e| ExprKind::Unary(UnaryOp::Complement, e),
            T::Star => ExprKind::Deref,
            T::Ampersand => ExprKind::AddressOf,
            T::PlusPlus => |e| step(e, Direction::Up, Fix::Prefix),
            T::MinusMinus => |e| step(e, Direction::Down, Fix::Prefix),
            T::OpenParen if self.at_cast() => return self.cast(),
            T::Name if self.at_word_not() => |e| ExprKind::Unary(UnaryOp::Not, e),
            _ => return self.postfix(),
        };
        self.bump_as(Role::Prefix);
        let operand = self.nested(Self::prefix)?;
        let span = start.to(operand.expr.span);
        self.tree(build(Box::new(operand.expr)), span, operand.height)
    }

    /// Whether `(` begins a cast: a type in parentheses before an operand.
    fn at_cast(&self) -> bool {
        if self.peek(1).kind.is_type_keyword() {
            return true;
        }
        let stars = (2..).take_while(|&n| self.peek(n).kind == T::Star).count();
        self.peek(1).kind == T::Name
            && self.peek(2 + stars).kind == T::CloseParen
            && (stars > 0 || is_operand_only(self.peek(3).kind))
    }

    fn cast(&mut self) -> Parsed<Measured> {
        let start = self.bump();
        let ty = self.ty()?;
        self.expect_as(T::CloseParen, Role::CastClose)?;
        let operand = self.nested(Self::prefix)?;
        let span = start.to(operand.expr.span);
        let kind = ExprKind::Cast(ty, Box::new(operand.expr));
        self.tree(kind, span, operand.height)
    }

    /// An operand and what follows it: indices, fields, `++`.
    fn postfix(&mut self) -> Parsed<Measured> {
        let mut operand = self.primary()?;
        let start = operand.expr.span;
        loop {
            let mut height = operand.height;
            let kind = match self.kind() {
                T::OpenBracket => {
                    let open = self.bump();
                    let index = self.measured()?;
                    height = height.max(index.height);
                    if self.is(T::Comma) {
                        self.report_comma_in_index(&operand.expr, &index.expr);
                    }
                    self.close_bracket(open)?;
                    ExprKind::Index(Box::new(operand.expr), Box::new(index.expr))
                }
                T::Dot => ExprKind::Field(Box::new(operand.expr), self.field()?),
                T::Arrow => ExprKind::Arrow(Box::new(operand.expr), self.field()?),
                T::PlusPlus => {
                    self.bump_as(Role::Postfix);
                    step(Box::new(operand.expr), Direction::Up, Fix::Postfix)
                }
                T::MinusMinus => {
                    self.bump_as(Role::Postfix);
                    step(Box::new(operand.expr), Direction::Down, Fix::Postfix)
                }
                T::OpenParen => {
                    self.report_indirect_call(&operand.expr);
                    height = height.max(self.arguments()?.1);
                    ExprKind::Error
                }
                _ => return Ok(operand),
            };
            let span = self.span_from(start);
            operand = self.tree(kind, span, height)?;
        }
    }

    fn field(&mut self) -> Parsed<Name> {
        self.bump();
        self.expect_name("the name of a field")
    }

    fn primary(&mut self) -> Parsed<Measured> {
        let start = self.span();
        let kind = match self.kind() {
            T::Number => match number(self.text(start)) {
                Ok(value) => ExprKind::Int(i64::from(value)),
                // The lexer has said so already.
                Err(_) => ExprKind::Error,
            },
            T::True => ExprKind::Bool(true),
            T::False => ExprKind::Bool(false),
            T::Null => ExprKind::Null,
            T::Tid => ExprKind::Tid,
            T::Name if self.peek(1).kind == T::OpenParen => return self.call(ExprKind::Call),
            T::Name => ExprKind::Name(self.text(start).to_owned()),
            T::OpenParen => return self.parentheses(),
            T::Choose => return self.choice(),
            T::New => return self.allocation(),
            T::Spawn => {
                self.bump();
                let mut call = self.call(ExprKind::Spawn)?;
                call.expr.span = start.to(call.expr.span);
                return Ok(call);
            }
            _ => return Err(self.unexpected("an expression")),
        };
        self.bump();
        self.tree(kind, start, 0)
    }

    fn call(&mut self, build: fn(Name, Vec<Expr>) -> ExprKind) -> Parsed<Measured> {
        let name = self.expect_name("the name of a function")?;
        let start = name.span;
        let (arguments, height) = self.arguments()?;
        let span = self.span_from(start);
        self.tree(build(name, arguments), span, height)
    }

    /// Arguments in parentheses, and the height of the highest.
    pub(super) fn arguments(&mut self) -> Parsed<(Vec<Expr>, usize)> {
        let open = self.expect(T::OpenParen)?;
        let arguments = self.until_closed(open, T::CloseParen, |parser| {
            let mut arguments = Vec::new();
            let mut height = 0;
            if parser.is(T::CloseParen) {
                return Ok((arguments, height));
            }
            loop {
                let argument = parser.measured()?;
                height = height.max(argument.height);
                arguments.push(argument.expr);
                if parser.eat(T::Comma).is_none() {
                    return Ok((arguments, height));
                }
            }
        })?;
        Ok(arguments.unwrap_or_default())
    }

    fn parentheses(&mut self) -> Parsed<Measured> {
        let open = self.bump();
        if self.is(T::Star) && self.peek(1).kind == T::CloseParen {
            return self.misplaced_choice(open);
        }
        let inner = self.measured()?;
        self.until_closed(open, T::CloseParen, |_| Ok(()))?;
        let span = self.span_from(open);
        self.tree(ExprKind::Paren(Box::new(inner.expr)), span, inner.height)
    }

    /// `(*)` within an expression: reports it, and leaves a hole.
    fn misplaced_choice(&mut self, open: Span) -> Parsed<Measured> {
        let problem = Diagnostic::error(self.span(), "`*` is not a whole condition here")
            .help("`*` stands for either value in `if (*)`; elsewhere, use `choose(0..1)`");
        self.report(problem);
        self.bump();
        self.bump();
        let span = self.span_from(open);
        self.tree(ExprKind::Error, span, 0)
    }

    /// `choose(lo..hi)`
    fn choice(&mut self) -> Parsed<Measured> {
        let start = self.bump();
        let open = self.expect(T::OpenParen)?;
        let bounds = self.until_closed(open, T::CloseParen, |parser| {
            let low = parser.measured()?;
            if !parser.is(T::DotDot) {
                return Err(parser.report_choice());
            }
            parser.bump();
            Ok((low, parser.measured()?))
        })?;
        let span = self.span_from(start);
        match bounds {
            Some((low, high)) => {
                let height = low.height.max(high.height);
                let kind = ExprKind::Choose(Box::new(low.expr), Box::new(high.expr));
                self.tree(kind, span, height)
            }
            None => self.tree(ExprKind::Error, span, 0),
        }
    }

    fn report_choice(&mut self) -> Reported {
        let message = format!("expected `..`, found {}", self.describe());
        let problem = Diagnostic::error(self.span(), message)
            .help("`choose(1..3)` is 1, 2 or 3; to choose between statements, write `choose { ... } or { ... }`");
        self.report(problem)
    }

    /// `new T`, `new T[n]`
    fn allocation(&mut self) -> Parsed<Measured> {
        let start = self.bump();
        let ty = self.ty()?;
        if self.is(T::OpenParen) {
            let help = format!("write `new {}`", self.text(ty.span));
            let problem = Diagnostic::error(self.span(), "there are no constructors").help(help);
            return Err(self.report(problem));
        }
        let (length, height) = match self.eat(T::OpenBracket) {
            Some(open) => {
                let length = self.measured()?;
                self.close_bracket(open)?;
                (Some(Box::new(length.expr)), length.height)
            }
            None => (None, 0),
        };
        let span = self.span_from(start);
        self.tree(ExprKind::New(ty, length), span, height)
    }
}

fn step(place: Box<Expr>, direction: Direction, fix: Fix) -> ExprKind {
    ExprKind::Step {
        place,
        direction,
        fix,
    }
}

/// Whether this token begins an operand and cannot be a binary operator: after
/// `(T)`, it makes that a cast.
fn is_operand_only(kind: T) -> bool {
    matches!(
        kind,
        T::Name
            | T::Number
            | T::True
            | T::False
            | T::Null
            | T::Tid
            | T::Spawn
            | T::New
            | T::Choose
            | T::Bang
            | T::Tilde
    )
}
