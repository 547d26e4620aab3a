//! Expressions.

use super::constants::{binary, int_type, unary};
use super::suggest::{nearest, translated};
use super::types::{error, promote};
use super::{Checker, Context, Meaning, Signature};
use crate::ast::{self, BinaryOp, UnaryOp};
use crate::diagnostic::Diagnostic;
use crate::hir::{Expr, ExprKind, FunctionId, Type, Value};
use crate::span::Span;

impl<'a> Checker<'a> {
    /// The value of an expression.
    pub(super) fn expr(&mut self, expr: &'a ast::Expr) -> Expr {
        let span = expr.span;
        let make = |kind, ty| Expr { kind, ty, span };
        match &expr.kind {
            ast::ExprKind::Int(value) => {
                let unsigned = *value > i64::from(i32::MAX);
                let int = if unsigned {
                    ast::IntType::U32
                } else {
                    ast::IntType::I32
                };
                make(ExprKind::Value(Value::Int(*value)), Type::Int(int))
            }
            ast::ExprKind::Bool(value) => {
                make(ExprKind::Value(Value::Int(i64::from(*value))), Type::Bool)
            }
            ast::ExprKind::Null => make(ExprKind::Value(Value::Null), Type::Null),
            ast::ExprKind::Tid => self.tid(span),
            ast::ExprKind::Name(name) => self.name(name, expr),
            ast::ExprKind::Paren(inner) => self.expr(inner),
            ast::ExprKind::Cast(ty, operand) => self.cast(ty, operand, span),
            ast::ExprKind::Unary(op, operand) => self.unary(*op, operand, span),
            ast::ExprKind::Binary(op, a, b) => self.binary(*op, a, b, span),
            ast::ExprKind::Conditional(condition, a, b) => {
                let condition = self.expr(condition);
                let condition = self.condition(condition);
                let (a, b) = (self.expr(a), self.expr(b));
                let (a, b) = self.agree(a, b, "the two results of `? :`");
                if let Some(ty) = self.value_type(&a) {
                    let parts = (Box::new(condition), Box::new(a), Box::new(b));
                    make(ExprKind::Conditional(parts.0, parts.1, parts.2), ty)
                } else {
                    error(span)
                }
            }
            ast::ExprKind::Deref(_)
            | ast::ExprKind::Index(..)
            | ast::ExprKind::Field(..)
            | ast::ExprKind::Arrow(..) => self.load(expr),
            ast::ExprKind::AddressOf(place) => self.address_of(place, span),
            ast::ExprKind::Step {
                place,
                direction,
                fix,
            } => {
                if !self.effect_allowed(span, "`++` and `--`") {
                    return error(span);
                }
                let Some(place) = self.place(place) else {
                    return error(span);
                };
                if !place.ty.is_integer() {
                    let name = self.a_type(&place.ty);
                    self.report(
                        Diagnostic::error(span, "only integers count up and down")
                            .label(format!("this is {name}")),
                    );
                    return error(span);
                }
                let ty = place.ty.clone();
                let (direction, fix) = (*direction, *fix);
                make(
                    ExprKind::Step {
                        place,
                        direction,
                        fix,
                    },
                    ty,
                )
            }
            ast::ExprKind::Call(name, arguments) => self.call(name, arguments, span),
            ast::ExprKind::Spawn(name, arguments) => {
                if !self.effect_allowed(span, "`spawn`") {
                    return error(span);
                }
                let Some(function) = self.function(name) else {
                    self.check_all(arguments);
                    return error(span);
                };
                let arguments = self.arguments(name, function, arguments, span);
                make(ExprKind::Spawn(function, arguments), Type::Thread)
            }
            ast::ExprKind::Choose(low, high) => {
                if !self.effect_allowed(span, "`choose`") {
                    return error(span);
                }
                let (low, high) = (self.expr(low), self.expr(high));
                let low = self.integer(low, "the lower end of `choose`");
                let high = self.integer(high, "the upper end of `choose`");
                if let (ExprKind::Value(Value::Int(a)), ExprKind::Value(Value::Int(b))) =
                    (&low.kind, &high.kind)
                    && a > b
                {
                    self.report(
                        Diagnostic::error(span, "there is nothing to choose from")
                            .label(format!("{a} is greater than {b}")),
                    );
                }
                let ty = promote(&low.ty, &high.ty);
                let (low, high) = (self.convert(low, &ty), self.convert(high, &ty));
                make(ExprKind::Choose(Box::new(low), Box::new(high)), ty)
            }
            ast::ExprKind::New(ty, count) => self.new_object(ty, count.as_deref(), span),
            ast::ExprKind::Error => error(span),
        }
    }

    /// A condition: an expression, or `*`.
    pub(super) fn condition_of(&mut self, condition: &'a ast::Condition) -> Expr {
        match condition {
            ast::Condition::Any(span) => Expr {
                kind: ExprKind::Any,
                ty: Type::Bool,
                span: *span,
            },
            ast::Condition::Expr(expr) => {
                let value = self.expr(expr);
                self.condition(value)
            }
        }
    }

    fn tid(&mut self, span: Span) -> Expr {
        if matches!(self.body.context, Context::Constant | Context::Invariant) {
            self.report(
                Diagnostic::error(span, "there is no current thread here")
                    .help("`tid` is the number of a thread; use it in functions and `run`"),
            );
            return error(span);
        }
        Expr {
            kind: ExprKind::Tid,
            ty: Type::INT,
            span,
        }
    }

    fn name(&mut self, name: &'a str, expr: &'a ast::Expr) -> Expr {
        let span = expr.span;
        if self.find_local(name).is_some() {
            return self.load(expr);
        }
        match self.names.get(name).copied() {
            Some((Meaning::Constant(index), _)) => {
                let (ty, value) = self.constant(index, span);
                Expr {
                    kind: ExprKind::Value(value),
                    ty,
                    span,
                }
            }
            Some((Meaning::EnumValue(id, value), _)) => Expr {
                kind: ExprKind::Value(Value::Int(value)),
                ty: Type::Enum(id),
                span,
            },
            Some((Meaning::Function(_), declared)) => {
                self.report(
                    Diagnostic::error(span, format!("`{name}` is a function, not a value"))
                        .related(declared, "declared here")
                        .help(format!("call it: `{name}(...)`")),
                );
                error(span)
            }
            Some((Meaning::Global(_), _)) | None => self.load(expr),
        }
    }

    /// Reports a name that means nothing.
    pub(super) fn unknown_name(&mut self, name: &str, span: Span) {
        self.report_with(|checker| {
            let diagnostic = Diagnostic::error(span, format!("there is no `{name}` here"));
            let scopes = checker.body.scopes.iter();
            let locals = scopes.flat_map(|scope| scope.keys().copied());
            let globals = checker.names.keys().copied();
            if let Some(word) = translated(name) {
                diagnostic.help(format!("here that is `{word}`"))
            } else if let Some(near) = nearest(name, locals.chain(globals)) {
                diagnostic.help(format!("did you mean `{near}`?"))
            } else {
                diagnostic
            }
        });
    }

    fn load(&mut self, expr: &'a ast::Expr) -> Expr {
        let Some(place) = self.place(expr) else {
            return error(expr.span);
        };
        if self.body.context == Context::Constant || self.body.context == Context::Start {
            self.not_constant(expr.span);
            return error(expr.span);
        }
        Expr {
            ty: place.ty.clone(),
            span: expr.span,
            kind: ExprKind::Load(place),
        }
    }

    fn cast(&mut self, ty: &'a ast::Type, operand: &'a ast::Expr, span: Span) -> Expr {
        let to = self.resolve(ty);
        let value = self.expr(operand);
        if to == Type::Error || value.ty == Type::Error {
            return error(span);
        }
        let from_ok = value.ty.is_integer() || matches!(value.ty, Type::Bool | Type::Enum(_));
        if !to.is_integer() || !from_ok {
            let (from, into) = (self.a_type(&value.ty), self.a_type(&to));
            self.report(
                Diagnostic::error(span, format!("{from} cannot become {into}"))
                    .help("integers, `bool`s and enum values can become integers"),
            );
            return error(span);
        }
        let kind = ExprKind::Convert(Box::new(value));
        Expr { kind, ty: to, span }
    }

    fn unary(&mut self, op: UnaryOp, operand: &'a ast::Expr, span: Span) -> Expr {
        // The least `int`: the number without its sign would be a `u32`.
        let least = i64::from(i32::MIN);
        if op == UnaryOp::Negate && matches!(operand.kind, ast::ExprKind::Int(n) if n == -least) {
            return Expr {
                kind: ExprKind::Value(Value::Int(least)),
                ty: Type::INT,
                span,
            };
        }
        let value = self.expr(operand);
        let (value, ty) = if op == UnaryOp::Not {
            (self.condition(value), Type::Bool)
        } else {
            let value = self.integer(value, "the operand");
            let ty = promote(&value.ty, &value.ty);
            (self.convert(value, &ty), ty)
        };
        if value.ty == Type::Error {
            return error(span);
        }
        let kind = match value.kind {
            ExprKind::Value(Value::Int(number)) => {
                ExprKind::Value(Value::Int(unary(op, number, int_type(&ty))))
            }
            _ => ExprKind::Unary(op, Box::new(value)),
        };
        Expr { kind, ty, span }
    }

    fn binary(&mut self, op: BinaryOp, a: &'a ast::Expr, b: &'a ast::Expr, span: Span) -> Expr {
        let (a, b) = (self.expr(a), self.expr(b));
        let (a, b, ty) = match op {
            BinaryOp::And | BinaryOp::Or | BinaryOp::Implies => {
                (self.condition(a), self.condition(b), Type::Bool)
            }
            BinaryOp::Equal | BinaryOp::NotEqual => {
                let (a, b) = self.agree(a, b, "the two sides of a comparison");
                if self.value_type(&a).is_none() {
                    return error(span);
                }
                (a, b, Type::Bool)
            }
            _ => {
                let a = self.integer(a, "the left operand");
                let b = self.integer(b, "the right operand");
                let promoted = promote(&a.ty, &b.ty);
                let (a, b) = (self.convert(a, &promoted), self.convert(b, &promoted));
                let comparison = matches!(
                    op,
                    BinaryOp::Less
                        | BinaryOp::LessEqual
                        | BinaryOp::Greater
                        | BinaryOp::GreaterEqual
                );
                (a, b, if comparison { Type::Bool } else { promoted })
            }
        };
        if a.ty == Type::Error || b.ty == Type::Error {
            return error(span);
        }
        let folded = match (&a.kind, &b.kind) {
            (ExprKind::Value(Value::Int(x)), ExprKind::Value(Value::Int(y))) => {
                binary(op, *x, *y, int_type(&a.ty))
            }
            _ => None,
        };
        let kind = match folded {
            Some(value) => ExprKind::Value(Value::Int(value)),
            None => ExprKind::Binary(op, Box::new(a), Box::new(b)),
        };
        Expr { kind, ty, span }
    }

    /// Brings two values to one type.
    fn agree(&mut self, a: Expr, b: Expr, what: &str) -> (Expr, Expr) {
        if a.ty == Type::Error || b.ty == Type::Error {
            return (error(a.span), error(b.span));
        }
        if a.ty == b.ty && !a.ty.is_integer() {
            return (a, b);
        }
        let nullable = |ty: &Type| matches!(ty, Type::Pointer(_) | Type::Thread);
        if a.ty.is_integer() && b.ty.is_integer() {
            let ty = promote(&a.ty, &b.ty);
            return (self.convert(a, &ty), self.convert(b, &ty));
        }
        if a.ty == Type::Null && nullable(&b.ty) {
            let ty = b.ty.clone();
            return (self.convert(a, &ty), b);
        }
        if b.ty == Type::Null && nullable(&a.ty) {
            let ty = a.ty.clone();
            return (a, self.convert(b, &ty));
        }
        let (left, right) = (self.a_type(&a.ty), self.a_type(&b.ty));
        let mut diagnostic =
            Diagnostic::error(a.span.to(b.span), format!("{what} have different types"))
                .label(format!("{left} and {right}"));
        if a.ty.is_synchronisation() || b.ty.is_synchronisation() {
            diagnostic = diagnostic.help("a synchronisation object has no value");
        }
        self.report(diagnostic);
        (error(a.span), error(b.span))
    }

    /// The type of a value that fits in a register; reports any other.
    fn value_type(&mut self, value: &Expr) -> Option<Type> {
        match &value.ty {
            Type::Error => None,
            ty if ty.is_scalar() => Some(ty.clone()),
            ty => {
                let name = self.a_type(ty);
                self.report(
                    Diagnostic::error(value.span, format!("{name} has no value here"))
                        .help("name one of its parts, or refer to it by `&`"),
                );
                None
            }
        }
    }

    fn call(&mut self, name: &'a ast::Name, arguments: &'a [ast::Expr], span: Span) -> Expr {
        if let Some(result) = self.operation(name, arguments, span) {
            return result;
        }
        let Some(function) = self.function(name) else {
            self.check_all(arguments);
            return error(span);
        };
        if !self.effect_allowed(span, "a call") {
            return error(span);
        }
        let arguments = self.arguments(name, function, arguments, span);
        Expr {
            kind: ExprKind::Call(function, arguments),
            ty: self.signatures[function.0 as usize].result.clone(),
            span,
        }
    }

    /// Checks expressions whose values do not matter, for their own mistakes.
    pub(super) fn check_all(&mut self, exprs: &'a [ast::Expr]) {
        for expr in exprs {
            self.expr(expr);
        }
    }

    pub(super) fn function(&mut self, name: &'a ast::Name) -> Option<FunctionId> {
        match self.names.get(name.text.as_str()) {
            Some((Meaning::Function(id), _)) => Some(*id),
            Some((_, declared)) => {
                let diagnostic =
                    Diagnostic::error(name.span, format!("`{}` is not a function", name.text))
                        .related(*declared, "declared here");
                self.report(diagnostic);
                None
            }
            None => {
                self.report_with(|checker| checker.no_such_function(name));
                None
            }
        }
    }

    fn no_such_function(&self, name: &ast::Name) -> Diagnostic {
        let diagnostic =
            Diagnostic::error(name.span, format!("there is no function `{}`", name.text));
        let functions = self
            .names
            .iter()
            .filter(|(_, (meaning, _))| matches!(meaning, Meaning::Function(_)))
            .map(|(name, _)| *name);
        let all = functions.chain(super::operations::NAMES.iter().copied());
        if let Some(word) = translated(&name.text) {
            diagnostic.help(format!("here that is `{word}`"))
        } else if let Some(near) = nearest(&name.text, all) {
            diagnostic.help(format!("did you mean `{near}`?"))
        } else {
            diagnostic
        }
    }

    /// The arguments of a call, checked against the parameters.
    pub(super) fn arguments(
        &mut self,
        name: &ast::Name,
        function: FunctionId,
        arguments: &'a [ast::Expr],
        span: Span,
    ) -> Vec<Expr> {
        let Signature {
            parameters,
            span: declared,
            ..
        } = self.signatures[function.0 as usize].clone();
        if arguments.len() != parameters.len() {
            self.report(
                Diagnostic::error(
                    span,
                    format!(
                        "`{}` takes {}, not {}",
                        name.text,
                        count(parameters.len(), "argument"),
                        arguments.len()
                    ),
                )
                .related(declared, "declared here"),
            );
            self.check_all(arguments);
            return Vec::new();
        }
        let pairs = arguments.iter().zip(&parameters);
        pairs
            .map(|(argument, ty)| {
                let value = self.expr(argument);
                self.convert(value, ty)
            })
            .collect()
    }

    fn new_object(&mut self, ty: &'a ast::Type, count: Option<&'a ast::Expr>, span: Span) -> Expr {
        if !self.effect_allowed(span, "`new`") {
            return error(span);
        }
        let object = self.resolve(ty);
        let count = count.map(|count| {
            let count = self.expr(count);
            let count = self.integer(count, "the number of elements");
            Box::new(self.convert(count, &Type::INT))
        });
        if object == Type::Void {
            self.report(Diagnostic::error(ty.span, "a heap object cannot be `void`"));
            return error(span);
        }
        if object == Type::Error {
            return error(span);
        }
        Expr {
            ty: Type::Pointer(Box::new(object.clone())),
            kind: ExprKind::New(object, count),
            span,
        }
    }

    /// Reports an effect where none is allowed.
    pub(super) fn effect_allowed(&mut self, span: Span, what: &str) -> bool {
        let place = match self.body.context {
            Context::Body => return true,
            Context::Constant => "a constant expression",
            Context::Start => "the arguments of `run`",
            Context::Invariant => "an invariant",
            Context::Discipline => "a discipline",
        };
        self.report(
            Diagnostic::error(span, format!("{what} cannot be part of {place}"))
                .help("only operators, constants and variables can"),
        );
        false
    }
}

/// `1 argument`, `2 arguments`
pub(super) fn count(n: usize, what: &str) -> String {
    match n {
        0 => format!("no {what}s"),
        1 => format!("1 {what}"),
        n => format!("{n} {what}s"),
    }
}
