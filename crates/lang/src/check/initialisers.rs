//! The first values of variables.

use super::types::Role;
use super::{Checker, Context};
use crate::ast;
use crate::diagnostic::Diagnostic;
use crate::hir::{Expr, Statement, StatementKind, Type, Value};
use crate::span::Span;

impl<'a> Checker<'a> {
    pub(super) fn local_variable(
        &mut self,
        variable: &'a ast::Variable,
        span: Span,
        out: &mut Vec<Statement>,
    ) {
        let ty = self.variable_type(variable, Role::Local);
        if let Some(discipline) = variable.disciplines.first() {
            let span = match discipline {
                ast::Discipline::GuardedBy { span, .. } | ast::Discipline::ThreadLocal(span) => {
                    *span
                }
            };
            self.report(
                Diagnostic::error(span, "a local variable needs no protection")
                    .help("no other thread can see it; leave this out"),
            );
        }
        // The initialiser is evaluated before the name is in scope.
        let mut init = Vec::new();
        if let Some(initialiser) = &variable.init {
            self.local_init(initialiser, &ty, 0, &mut init);
        }
        let local = self.declare_local(&variable.name, ty);
        out.push(Statement {
            kind: StatementKind::Declare { local, init },
            span,
        });
    }

    fn local_init(
        &mut self,
        init: &'a ast::Init,
        ty: &Type,
        offset: u32,
        out: &mut Vec<(u32, Type, Expr)>,
    ) {
        let slots = |checker: &Self, ty: &Type| checker.program.slots(ty);
        match (init, ty) {
            (_, Type::Error) => {}
            (ast::Init::Value(expr), ty) if ty.is_scalar() => {
                let value = self.expr(expr);
                let value = self.convert(value, ty);
                out.push((offset, ty.clone(), value));
            }
            (ast::Init::List(parts, span), Type::Array(element, length)) => {
                self.fits(parts.len(), *length as usize, *span);
                let stride = slots(self, element);
                for (index, part) in parts.iter().enumerate() {
                    self.local_init(part, element, offset + index as u32 * stride, out);
                }
            }
            (ast::Init::List(parts, span), Type::Struct(id)) => {
                let fields: Vec<_> = self.program.structs[id.0 as usize]
                    .fields
                    .iter()
                    .map(|field| (field.offset, field.ty.clone()))
                    .collect();
                self.fits(parts.len(), fields.len(), *span);
                for (part, (at, ty)) in parts.iter().zip(&fields) {
                    self.local_init(part, ty, offset + at, out);
                }
            }
            (init, ty) => self.wrong_init(init, ty),
        }
    }

    /// Reports an initialiser list that is too long.
    fn fits(&mut self, found: usize, room: usize, span: Span) {
        if found > room {
            self.report(
                Diagnostic::error(span, "too many values")
                    .label(format!("{found} values for {room} places")),
            );
        }
    }

    /// Reports an initialiser of the wrong shape.
    fn wrong_init(&mut self, init: &'a ast::Init, ty: &Type) {
        let span = match init {
            ast::Init::Value(expr) => expr.span,
            ast::Init::List(_, span) => *span,
        };
        let name = self.a_type(ty);
        let help = match ty {
            Type::Array(..) | Type::Struct(_) => "write the values in braces: `{1, 2, 3}`",
            Type::Mutex { .. } | Type::RwLock | Type::Cond | Type::Channel(..) => {
                "it starts out unlocked or empty; leave the initialiser out"
            }
            _ => "a single value is needed",
        };
        self.report(Diagnostic::error(span, format!("{name} cannot start with this")).help(help));
    }

    /// Appends the initial values of a variable without an initialiser.
    pub(super) fn push_defaults(&mut self, ty: &Type) {
        match ty {
            Type::Array(element, length) => {
                for _ in 0..*length {
                    self.push_defaults(element);
                }
            }
            Type::Struct(id) => {
                let types: Vec<Type> = self.program.structs[id.0 as usize]
                    .fields
                    .iter()
                    .map(|field| field.ty.clone())
                    .collect();
                for ty in types {
                    self.push_defaults(&ty);
                }
            }
            _ => {
                let default = default_value(ty);
                for _ in 0..self.program.slots(ty) {
                    self.program.initial.push(default);
                }
            }
        }
    }

    pub(super) fn global_init(&mut self, init: &'a ast::Init, ty: &Type, slot: u32) {
        match (init, ty) {
            (_, Type::Error) => {}
            (ast::Init::Value(expr), Type::Semaphore) => {
                if let Some(count) = self.constant_int(expr, "the count of a semaphore") {
                    if count < 0 {
                        self.report(Diagnostic::error(
                            expr.span,
                            "a semaphore cannot start below zero",
                        ));
                    }
                    self.program.initial[slot as usize] = Value::Int(count);
                }
            }
            (ast::Init::Value(expr), ty) if ty.is_scalar() => {
                let (value, _) = self.in_context(Context::Constant, |checker| {
                    let value = checker.expr(expr);
                    checker.convert(value, ty)
                });
                let folded = self.fold_or_report(&value, 0);
                self.check_range(folded, ty, expr.span);
                self.program.initial[slot as usize] = folded;
            }
            (ast::Init::List(parts, span), Type::Array(element, length)) => {
                self.fits(parts.len(), *length as usize, *span);
                let stride = self.program.slots(element);
                for (index, part) in parts.iter().take(*length as usize).enumerate() {
                    self.global_init(part, element, slot + index as u32 * stride);
                }
            }
            (ast::Init::List(parts, span), Type::Struct(id)) => {
                let fields: Vec<_> = self.program.structs[id.0 as usize]
                    .fields
                    .iter()
                    .map(|field| (field.offset, field.ty.clone()))
                    .collect();
                self.fits(parts.len(), fields.len(), *span);
                for (part, (offset, ty)) in parts.iter().zip(&fields) {
                    self.global_init(part, ty, slot + offset);
                }
            }
            (init, ty) => self.wrong_init(init, ty),
        }
    }

    pub(super) fn check_range(&mut self, value: Value, ty: &Type, span: Span) {
        if let (Value::Int(number), Type::Range(low, high)) = (value, ty)
            && !(*low..=*high).contains(&number)
            && !self.diagnostics.iter().any(|d| d.span == span)
        {
            let name = self.type_name(ty);
            self.report(Diagnostic::error(
                span,
                format!("{number} is not in the range of `{name}`"),
            ));
        }
    }
}

/// The value of a variable without an initialiser.
fn default_value(ty: &Type) -> Value {
    match ty {
        Type::Range(low, high) if !(*low..=*high).contains(&0) => Value::Int(*low),
        Type::Pointer(_) | Type::Thread => Value::Null,
        _ => Value::Int(0),
    }
}
