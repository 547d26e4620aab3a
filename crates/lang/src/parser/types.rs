//! Types, and telling whether one begins here.

use super::{Parsed, Parser, Role};
use crate::ast::{Expr, IntType, Name, Type, TypeKind};
use crate::diagnostic::Diagnostic;
use crate::span::Span;
use crate::token::TokenKind as T;

impl Parser<'_> {
    /// Whether a declaration begins here, rather than an expression.
    ///
    /// As in C, `a * b;` declares `b`.
    pub(super) fn at_declaration(&self) -> bool {
        match self.kind() {
            kind if kind.is_type_keyword() => true,
            T::Name => match self.peek(1).kind {
                T::Name => true,
                T::Star => self.at_pointer_declaration(),
                T::OpenBracket => self.at_array_type(),
                // `unsigned int x`
                next => next.is_type_keyword(),
            },
            _ => false,
        }
    }

    fn at_pointer_declaration(&self) -> bool {
        let stars = (1..).take_while(|&n| self.peek(n).kind == T::Star).count();
        self.peek(stars + 1).kind == T::Name
            && matches!(
                self.peek(stars + 2).kind,
                T::Assign
                    | T::ColonAssign
                    | T::Semicolon
                    | T::Comma
                    | T::OpenBracket
                    | T::GuardedBy
                    | T::ThreadLocal
            )
    }

    /// `Point[4] corners`, which is an error with a better message than the usual.
    fn at_array_type(&self) -> bool {
        self.peek(3).kind == T::CloseBracket && self.peek(4).kind == T::Name
    }

    /// Whether the head of a function begins here.
    pub(super) fn at_function(&self) -> bool {
        if !self.kind().is_type_keyword() && !self.is(T::Name) {
            return false;
        }
        let prefixed = matches!(self.kind(), T::Struct | T::Enum | T::Reentrant);
        let base = 1 + usize::from(prefixed);
        let stars = (base..)
            .take_while(|&n| self.peek(n).kind == T::Star)
            .count();
        let name = base + stars;
        self.peek(name).kind == T::Name
            && self.peek(name + 1).kind == T::OpenParen
            && self
                .find_close(name + 1)
                .is_some_and(|close| self.peek(close + 1).kind == T::OpenBrace)
    }

    /// A type: a base and any number of `*`.
    pub(super) fn ty(&mut self) -> Parsed<Type> {
        let start = self.span();
        let kind = self.nested(Self::base_type)?;
        let mut ty = Type {
            kind,
            span: self.span_from(start),
        };
        let mut height = 0;
        while self.is(T::Star) {
            height += 1;
            self.check_depth(height)?;
            self.bump_as(Role::TypeStar);
            ty = Type {
                kind: TypeKind::Pointer(Box::new(ty)),
                span: self.span_from(start),
            };
        }
        Ok(ty)
    }

    fn base_type(&mut self) -> Parsed<TypeKind> {
        let simple = match self.kind() {
            T::Void => TypeKind::Void,
            T::Bool => TypeKind::Bool,
            T::Int => return self.int_type(),
            T::I8 => TypeKind::Int(IntType::I8),
            T::I16 => TypeKind::Int(IntType::I16),
            T::I32 => TypeKind::Int(IntType::I32),
            T::U8 => TypeKind::Int(IntType::U8),
            T::U16 => TypeKind::Int(IntType::U16),
            T::U32 => TypeKind::Int(IntType::U32),
            T::Thread => TypeKind::Thread,
            T::Mutex => TypeKind::Mutex { reentrant: false },
            T::RwLock => TypeKind::RwLock,
            T::Cond => TypeKind::Cond,
            T::Semaphore => TypeKind::Semaphore,
            T::Reentrant => {
                self.bump();
                self.expect(T::Mutex)?;
                return Ok(TypeKind::Mutex { reentrant: true });
            }
            T::Chan => return self.channel_type(),
            T::Struct | T::Enum => {
                self.bump();
                return Ok(TypeKind::Named(self.expect_name("the name of a type")?));
            }
            T::Name => return Ok(self.named_type()),
            _ => return Err(self.unexpected("a type")),
        };
        self.bump();
        Ok(simple)
    }

    fn named_type(&mut self) -> TypeKind {
        let help = self.at_foreign_type();
        let span = self.bump();
        let text = self.text(span).to_owned();
        let Some(help) = help else {
            return TypeKind::Named(Name { text, span });
        };
        // `unsigned long int x`: the other words are of no use either.
        while self.is(T::Int) || self.at_foreign_type().is_some() {
            self.bump();
        }
        let span = self.span_from(span);
        let text = self.text(span).to_owned();
        let problem = Diagnostic::error(span, format!("there is no type `{text}`")).help(help);
        self.report(problem);
        TypeKind::Error
    }

    fn int_type(&mut self) -> Parsed<TypeKind> {
        self.bump();
        if !self.is(T::Less) {
            return Ok(TypeKind::Int(IntType::I32));
        }
        self.bump_as(Role::OpenAngle);
        let low = self.bound()?;
        if !self.is(T::DotDot) {
            let problem = Diagnostic::error(self.span(), "expected `..`")
                .help("a range of integers is written `int<0..7>`, with both ends included");
            return Err(self.report(problem));
        }
        self.bump();
        let high = self.bound()?;
        self.close_angle()?;
        Ok(TypeKind::Range(Box::new(low), Box::new(high)))
    }

    /// An expression before the `>` of a type, which is no comparison there.
    fn bound(&mut self) -> Parsed<Expr> {
        self.sum()
    }

    fn channel_type(&mut self) -> Parsed<TypeKind> {
        self.bump();
        if !self.is(T::Less) {
            let reported = self.unexpected("`<`");
            if let Some(problem) = self.problems.last_mut()
                && problem.help.is_empty()
            {
                let help = "a channel says what it carries and how much: `chan<int, 2>`";
                problem.help.push(help.to_owned());
            }
            return Err(reported);
        }
        self.bump_as(Role::OpenAngle);
        let message = if self.eat(T::OpenParen).is_some() {
            let mut types = vec![self.ty()?];
            while self.eat(T::Comma).is_some() {
                types.push(self.ty()?);
            }
            self.expect(T::CloseParen)?;
            types
        } else {
            vec![self.ty()?]
        };
        let capacity = match self.eat(T::Comma) {
            Some(_) => Some(Box::new(self.capacity()?)),
            None => None,
        };
        self.close_angle()?;
        Ok(TypeKind::Channel { message, capacity })
    }

    fn capacity(&mut self) -> Parsed<Expr> {
        if self.kind().is_type_keyword() {
            let problem = Diagnostic::error(self.span(), "expected a capacity, found a type")
                .help("a channel of several values is written `chan<(int, bool), 2>`");
            return Err(self.report(problem));
        }
        self.bound()
    }

    /// The `>` of a type. In `chan<int<0..3>>`, `>>` is two of them.
    fn close_angle(&mut self) -> Parsed<()> {
        if self.is(T::ShiftRight) {
            self.marks.roles[self.at] = Role::CloseAngle;
            let token = &mut self.tokens[self.at];
            token.kind = T::Greater;
            token.span.start += 1;
            self.last_end = token.span.start;
            return Ok(());
        }
        self.expect_as(T::Greater, Role::CloseAngle).map(|_| ())
    }

    /// The dimensions of `int[4] a`, in the wrong place; reports them, if any.
    pub(super) fn misplaced_dimensions(&mut self, ty: Span) -> Parsed<Vec<Expr>> {
        if !self.is(T::OpenBracket) {
            return Ok(Vec::new());
        }
        let start = self.span();
        let dimensions = self.dimensions()?;
        let span = self.span_from(start);
        let name = if self.is(T::Name) {
            self.span()
        } else {
            Span::default()
        };
        let right = format!("{} {}{}", self.text(ty), self.text(name), self.text(span));
        let problem = Diagnostic::error(span, "the length of an array goes after its name")
            .help(format!("write `{right}`"));
        self.report(problem);
        Ok(dimensions)
    }
}
