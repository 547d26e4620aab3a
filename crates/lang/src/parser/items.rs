//! Declarations at top level.

use super::{Parsed, Parser, Reported, Role, Start, hints};
use crate::ast::{
    Const, Enum, Exclusive, Expr, ExprKind, Function, Global, Invariant, Item, Name, Parameter,
    Program, Run, Struct, Type, Variable,
};
use crate::diagnostic::Diagnostic;
use crate::span::Span;
use crate::token::TokenKind as T;

/// Whether this token, first on its line, is likely to begin an item.
fn begins_item(kind: T) -> bool {
    kind.is_type_keyword()
        || matches!(
            kind,
            T::Const | T::Run | T::Invariant | T::Exclusive | T::Atomic
        )
}

impl Parser<'_> {
    pub(super) fn program(&mut self) -> Program {
        let mut items = Vec::new();
        while !self.is(T::EndOfFile) {
            let before = self.at;
            match self.item() {
                Ok(item) => items.push(item),
                Err(_) => {
                    self.skip_broken(begins_item);
                    if self.at == before {
                        self.bump();
                    }
                }
            }
        }
        Program { items }
    }

    fn item(&mut self) -> Parsed<Item> {
        self.skip_foreign_prefixes();
        self.start(Start::Line);
        match self.kind() {
            T::Const => self.constant().map(Item::Const),
            T::Enum if self.peek(2).kind == T::OpenBrace => self.enumeration().map(Item::Enum),
            T::Struct if self.peek(2).kind == T::OpenBrace => self.structure().map(Item::Struct),
            T::Run => self.run().map(Item::Run),
            T::Invariant => self.invariant().map(Item::Invariant),
            T::Exclusive => self.exclusive().map(Item::Exclusive),
            T::Atomic => self.global_or_function(),
            // There are no expressions here, so this is no product.
            T::Name if self.peek(1).kind == T::Star => self.global_or_function(),
            _ if self.at_declaration() => self.global_or_function(),
            _ => Err(self.not_an_item()),
        }
    }

    /// Steps over `static`, a misplaced `thread_local` and the like, with a message.
    pub(super) fn skip_foreign_prefixes(&mut self) {
        loop {
            let word = self.text(self.span());
            let problem = if self.is(T::ThreadLocal) {
                Diagnostic::error(self.span(), "`thread_local` goes after the name")
                    .help("write `int x thread_local;`")
            } else if let Some(help) = self.at_useless_prefix() {
                Diagnostic::error(self.span(), format!("there is no `{word}`")).help(help)
            } else {
                return;
            };
            self.report(problem);
            self.bump();
        }
    }

    fn constant(&mut self) -> Parsed<Const> {
        let start = self.bump();
        let typed = self.at_declaration();
        let ty = if typed { Some(self.ty()?) } else { None };
        let name = self.expect_name("a name")?;
        if !self.eat_assign() {
            return Err(self.unexpected("`=` and the value of the constant"));
        }
        let value = self.expression()?;
        self.expect_semicolon()?;
        Ok(Const {
            ty,
            name,
            value,
            span: self.span_from(start),
        })
    }

    fn enumeration(&mut self) -> Parsed<Enum> {
        let start = self.bump();
        let name = self.expect_name("the name of the enum")?;
        let open = self.bump_as(Role::BlockOpen);
        let mut values = Vec::new();
        while !self.is(T::CloseBrace) {
            self.start(Start::Line);
            values.push(self.expect_name("the name of a value")?);
            if self.is(T::Assign) {
                let problem = Diagnostic::error(self.span(), "enum values cannot be chosen")
                    .help("they are 0, 1, 2, ... in order; use `const int` for other numbers");
                return Err(self.report(problem));
            }
            if self.eat(T::Comma).is_none() {
                break;
            }
        }
        if values.is_empty() && self.is(T::CloseBrace) {
            self.unexpected("the name of a value");
        }
        self.close_block(open);
        self.eat(T::Semicolon);
        Ok(Enum {
            name,
            values,
            span: self.span_from(start),
        })
    }

    fn structure(&mut self) -> Parsed<Struct> {
        let start = self.bump();
        let name = self.expect_name("the name of the struct")?;
        let open = self.bump_as(Role::BlockOpen);
        let mut fields = Vec::new();
        while !matches!(self.kind(), T::CloseBrace | T::EndOfFile) {
            let before = self.at;
            match self.fields() {
                Ok(more) => fields.extend(more),
                Err(_) => {
                    self.skip_broken(begins_item);
                    if self.at == before {
                        break;
                    }
                }
            }
        }
        self.close_block(open);
        self.eat(T::Semicolon);
        Ok(Struct {
            name,
            fields,
            span: self.span_from(start),
        })
    }

    fn fields(&mut self) -> Parsed<Vec<Variable>> {
        self.skip_foreign_prefixes();
        self.start(Start::Line);
        if self.is(T::Atomic) {
            let problem = Diagnostic::error(self.span(), "a field cannot be `atomic`")
                .help("declare the global variable `atomic`, or use `load`, `store`, `cas`, ...");
            self.report(problem);
            self.bump();
        }
        let fields = self.declaration()?;
        self.expect_semicolon()?;
        Ok(fields)
    }

    fn global_or_function(&mut self) -> Parsed<Item> {
        let start = self.span();
        let atomic = self.eat(T::Atomic);
        if let Some(span) = atomic
            && self.is(T::OpenBrace)
        {
            return Err(self.statement_at_top_level(span));
        }
        self.skip_foreign_prefixes();
        let ty = self.ty()?;
        let dimensions = self.misplaced_dimensions(ty.span)?;
        let name = self.expect_name("a name")?;
        if self.is(T::OpenParen) {
            if let Some(span) = atomic {
                let problem = Diagnostic::error(span, "a function cannot be `atomic`")
                    .help("put `atomic { ... }` around its statements");
                self.report(problem);
            }
            return self.function(ty, name).map(Item::Function);
        }
        let variables = self.declarators(ty, name, dimensions)?;
        self.expect_semicolon()?;
        Ok(Item::Global(Global {
            atomic,
            variables,
            span: self.span_from(start),
        }))
    }

    /// A function, from its parameters on.
    fn function(&mut self, result: Type, name: Name) -> Parsed<Function> {
        let start = result.span;
        let open = self.bump();
        let parameters = self.until_closed(open, T::CloseParen, Self::parameters)?;
        let span = self.span_from(start);
        if self.is(T::Semicolon) {
            let problem = Diagnostic::error(self.span(), "a function needs a body")
                .help("functions may be used before they are declared: drop this line");
            return Err(self.report(problem));
        }
        Ok(Function {
            result,
            name,
            parameters: parameters.unwrap_or_default(),
            body: self.block()?,
            span,
        })
    }

    fn parameters(&mut self) -> Parsed<Vec<Parameter>> {
        let mut parameters = Vec::new();
        if self.is(T::Void) && self.peek(1).kind == T::CloseParen {
            let problem = Diagnostic::error(self.span(), "expected a parameter, found `void`")
                .help("a function without parameters is written `f()`");
            self.report(problem);
            self.bump();
        }
        if self.is(T::CloseParen) {
            return Ok(parameters);
        }
        loop {
            let ty = self.ty()?;
            let name = self.expect_name("the name of a parameter")?;
            if self.is(T::OpenBracket) {
                let help = format!(
                    "pass a reference to its first element: `{}* {}`",
                    self.text(ty.span),
                    name.text
                );
                let problem =
                    Diagnostic::error(self.span(), "a parameter cannot be an array").help(help);
                return Err(self.report(problem));
            }
            parameters.push(Parameter { ty, name });
            if self.eat(T::Comma).is_none() {
                return Ok(parameters);
            }
        }
    }

    fn run(&mut self) -> Parsed<Run> {
        let start = self.bump();
        let mut starts = vec![self.run_start()?];
        loop {
            match self.kind() {
                T::OrOr => {}
                T::Comma | T::Pipe | T::AndAnd | T::Or => {
                    let found = self.describe();
                    let problem = Diagnostic::error(self.span(), format!("unexpected {found}"))
                        .help("the threads of `run` are separated by `||`");
                    self.report(problem);
                }
                _ => break,
            }
            self.bump();
            starts.push(self.run_start()?);
        }
        self.expect_semicolon()?;
        Ok(Run {
            starts,
            span: self.span_from(start),
        })
    }

    fn run_start(&mut self) -> Parsed<crate::ast::Start> {
        let function = self.expect_name("the name of a function")?;
        let start = function.span;
        let arguments = self.arguments()?.0;
        let count = match self.eat(T::OpenBracket) {
            Some(open) => {
                let count = self.expression()?;
                self.close_bracket(open)?;
                Some(count)
            }
            None => None,
        };
        Ok(crate::ast::Start {
            function,
            arguments,
            count,
            span: self.span_from(start),
        })
    }

    fn invariant(&mut self) -> Parsed<Invariant> {
        let start = self.bump();
        let condition = self.expression()?;
        self.expect_semicolon()?;
        Ok(Invariant {
            condition,
            span: self.span_from(start),
        })
    }

    fn exclusive(&mut self) -> Parsed<Exclusive> {
        let start = self.bump();
        let place = self.exclusive_place()?;
        self.expect(T::When)?;
        let condition = self.expression()?;
        self.expect_semicolon()?;
        Ok(Exclusive {
            place,
            condition,
            span: self.span_from(start),
        })
    }

    /// A variable with fresh names as indices: `x`, `a[i]`, `s.f`.
    fn exclusive_place(&mut self) -> Parsed<Expr> {
        let variable = |name: Name| Expr {
            kind: ExprKind::Name(name.text),
            span: name.span,
        };
        let mut place = variable(self.expect_name("the name of a variable")?);
        let start = place.span;
        for height in 1.. {
            self.check_depth(height)?;
            let kind = if self.eat(T::Dot).is_some() {
                ExprKind::Field(Box::new(place), self.expect_name("the name of a field")?)
            } else if let Some(open) = self.eat(T::OpenBracket) {
                let index = variable(self.expect_name("a fresh name for the index")?);
                self.close_bracket(open)?;
                ExprKind::Index(Box::new(place), Box::new(index))
            } else {
                break;
            };
            let span = self.span_from(start);
            place = Expr { kind, span };
        }
        Ok(place)
    }

    fn statement_at_top_level(&mut self, span: Span) -> Reported {
        let problem = Diagnostic::error(span, "a statement outside of any function")
            .help("statements belong in a function, such as `void main() { ... }`");
        self.report(problem)
    }

    /// Says why what is here is no declaration.
    fn not_an_item(&mut self) -> Reported {
        let span = self.span();
        let text = self.text(span).to_owned();
        match self.kind() {
            T::CloseBrace => {
                self.report(Diagnostic::error(span, "this `}` closes nothing"));
                // The caller steps over it.
                Reported
            }
            T::Semicolon => {
                let problem = Diagnostic::error(span, "there is nothing before this `;`")
                    .help("no `;` is needed after a function");
                self.report(problem)
            }
            T::Name if self.peek(1).kind == T::OpenParen => {
                let problem = if self
                    .find_close(1)
                    .is_some_and(|close| self.peek(close + 1).kind == T::OpenBrace)
                {
                    Diagnostic::error(span, format!("the function `{text}` has no result type"))
                        .help(format!("write `void {text}(...)` if it gives no result"))
                } else {
                    Diagnostic::error(span, "a statement outside of any function")
                        .help("statements belong in a function, such as `void main() { ... }`")
                };
                self.report(problem)
            }
            T::Name if hints::foreign_item(&text).is_some() => self.unexpected("a declaration"),
            T::Name | T::OpenBrace => self.statement_at_top_level(span),
            kind if kind.is_keyword() => self.statement_at_top_level(span),
            _ => self.unexpected("a declaration"),
        }
    }
}
