//! Variables: what `int a = 1, b[3] guarded_by m;` declares.

use std::sync::Arc;

use super::{Parsed, Parser, Role};
use crate::ast::{Discipline, Expr, ExprKind, Init, Name, Type, Variable};
use crate::diagnostic::Diagnostic;
use crate::span::Span;
use crate::token::TokenKind as T;

impl Parser<'_> {
    /// A type and the variables of that type, without the `;`.
    pub(super) fn declaration(&mut self) -> Parsed<Vec<Variable>> {
        let ty = self.ty()?;
        let dimensions = self.misplaced_dimensions(ty.span)?;
        let name = self.expect_name("a name")?;
        self.declarators(ty, name, dimensions)
    }

    /// The variables of a declaration, from after the first name on.
    pub(super) fn declarators(
        &mut self,
        ty: Type,
        first: Name,
        dimensions: Vec<Expr>,
    ) -> Parsed<Vec<Variable>> {
        let ty = Arc::new(ty);
        let mut variables = vec![self.declarator(Arc::clone(&ty), first, dimensions)?];
        while self.eat(T::Comma).is_some() {
            if self.is(T::Star) {
                let problem = Diagnostic::error(self.span(), "unexpected `*`")
                    .help("the `*` belongs to the type: `int* p, q;` declares two references");
                self.report(problem);
                self.bump();
            }
            let name = self.expect_name("a name")?;
            variables.push(self.declarator(Arc::clone(&ty), name, Vec::new())?);
        }
        Ok(variables)
    }

    fn declarator(
        &mut self,
        ty: Arc<Type>,
        name: Name,
        mut dimensions: Vec<Expr>,
    ) -> Parsed<Variable> {
        dimensions.extend(self.dimensions()?);
        let mut disciplines = Vec::new();
        while let Some(discipline) = self.discipline()? {
            disciplines.push(discipline);
        }
        let init = if self.eat_assign() {
            Some(self.init()?)
        } else {
            None
        };
        Ok(Variable {
            ty,
            dimensions,
            disciplines,
            init,
            span: self.span_from(name.span),
            name,
        })
    }

    /// `[2][3]` after a name.
    pub(super) fn dimensions(&mut self) -> Parsed<Vec<Expr>> {
        let mut dimensions = Vec::new();
        while let Some(open) = self.eat(T::OpenBracket) {
            if self.is(T::CloseBracket) {
                let problem = Diagnostic::error(self.span(), "an array needs a length")
                    .help("write it out, as in `int a[3] = {1, 2, 3};`");
                return Err(self.report(problem));
            }
            dimensions.push(self.expression()?);
            while self.is(T::Comma) {
                let problem = Diagnostic::error(self.span(), "unexpected `,` between dimensions")
                    .help("each dimension has its own brackets: `bool A[2][3];`");
                self.report(problem);
                self.bump();
                dimensions.push(self.expression()?);
            }
            self.close_bracket(open)?;
        }
        Ok(dimensions)
    }

    /// The `]` of a `[`.
    pub(super) fn close_bracket(&mut self, open: Span) -> Parsed<()> {
        self.until_closed(open, T::CloseBracket, |_| Ok(()))?;
        Ok(())
    }

    fn discipline(&mut self) -> Parsed<Option<Discipline>> {
        if let Some(span) = self.eat(T::ThreadLocal) {
            return Ok(Some(Discipline::ThreadLocal(span)));
        }
        let Some(start) = self.eat(T::GuardedBy) else {
            return Ok(None);
        };
        let parenthesised = self.eat(T::OpenParen);
        if let Some(span) = parenthesised {
            let problem = Diagnostic::error(span, "`guarded_by` takes no parentheses")
                .help("write `int x guarded_by m;`");
            self.report(problem);
        }
        let (lock, elementwise) = self.lock_path()?;
        if parenthesised.is_some() {
            self.eat(T::CloseParen);
        }
        Ok(Some(Discipline::GuardedBy {
            lock,
            elementwise,
            span: self.span_from(start),
        }))
    }

    /// `m`, `pool.locks[2]`, `m[]`: the lock, and whether it ends in `[]`.
    fn lock_path(&mut self) -> Parsed<(Expr, bool)> {
        let name = self.expect_name("the name of a lock")?;
        let start = name.span;
        let mut lock = Expr {
            kind: ExprKind::Name(name.text),
            span: start,
        };
        for height in 1.. {
            self.check_depth(height)?;
            let kind = if self.eat(T::Dot).is_some() {
                ExprKind::Field(Box::new(lock), self.expect_name("the name of a field")?)
            } else if let Some(open) = self.eat(T::OpenBracket) {
                if self.eat(T::CloseBracket).is_some() {
                    return Ok((lock, true));
                }
                let index = self.expression()?;
                self.close_bracket(open)?;
                ExprKind::Index(Box::new(lock), Box::new(index))
            } else {
                break;
            };
            let span = self.span_from(start);
            lock = Expr { kind, span };
        }
        Ok((lock, false))
    }

    /// Consumes `=`; `:=` too, with a word of advice.
    pub(super) fn eat_assign(&mut self) -> bool {
        if self.is(T::ColonAssign) {
            self.report_colon_assign();
        }
        self.eat(T::Assign)
            .or_else(|| self.eat(T::ColonAssign))
            .is_some()
    }

    pub(super) fn report_colon_assign(&mut self) {
        let problem = Diagnostic::error(self.span(), "`:=` is not an operator")
            .help("assign with `=`, compare with `==`");
        self.report(problem);
    }

    fn init(&mut self) -> Parsed<Init> {
        if !self.is(T::OpenBrace) {
            return Ok(Init::Value(self.expression()?));
        }
        self.nested(Self::init_list)
    }

    fn init_list(&mut self) -> Parsed<Init> {
        let open = self.bump_as(Role::ListOpen);
        let mut values = Vec::new();
        while !self.is(T::CloseBrace) {
            values.push(self.init()?);
            if self.eat(T::Comma).is_none() {
                break;
            }
        }
        if !self.is(T::CloseBrace) {
            let message = format!("expected `,` or `}}`, found {}", self.describe());
            let problem = Diagnostic::error(self.span(), message).related(open, "in this list");
            return Err(self.report(problem));
        }
        self.bump_as(Role::ListClose);
        Ok(Init::List(values, self.span_from(open)))
    }
}
