//! Types: what is written becomes what is meant; what may become what.

use std::sync::Arc;

use super::suggest::nearest;
use super::{Checker, MAX_PARAMETERS, MAX_TYPE_NESTING, TypeMeaning};
use crate::ast::{self, IntType, TypeKind};
use crate::diagnostic::Diagnostic;
use crate::hir::{Expr, ExprKind, Type, Value};
use crate::span::Span;

/// Where a type is used: what is allowed differs.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    Shared,
    Local,
    Parameter,
    Result,
}

impl<'a> Checker<'a> {
    /// The type that is written.
    pub(super) fn resolve(&mut self, ty: &'a ast::Type) -> Type {
        match &ty.kind {
            TypeKind::Void => Type::Void,
            TypeKind::Bool => Type::Bool,
            TypeKind::Int(int) => Type::Int(*int),
            TypeKind::Range(low, high) => {
                let low = self.constant_int(low, "the lower end of a range");
                let high = self.constant_int(high, "the upper end of a range");
                match (low, high) {
                    (Some(low), Some(high)) if low <= high => Type::Range(low, high),
                    (Some(low), Some(high)) => {
                        self.report(
                            Diagnostic::error(ty.span, "this range is empty")
                                .label(format!("{low} is greater than {high}"))
                                .help("write the smaller end first"),
                        );
                        Type::Error
                    }
                    _ => Type::Error,
                }
            }
            TypeKind::Named(name) => match self.type_names.get(name.text.as_str()) {
                Some((TypeMeaning::Enum(id), _)) => Type::Enum(*id),
                Some((TypeMeaning::Struct(id), _)) => Type::Struct(*id),
                None => {
                    self.report_with(|checker| checker.no_such_type(name));
                    Type::Error
                }
            },
            TypeKind::Pointer(to) => match self.resolve(to) {
                Type::Error => Type::Error,
                Type::Void => {
                    self.report(
                        Diagnostic::error(ty.span, "there is no `void*`")
                            .help("a reference says what it refers to, such as `int*`"),
                    );
                    Type::Error
                }
                to => Type::Pointer(Box::new(to)),
            },
            TypeKind::Thread => Type::Thread,
            TypeKind::Mutex { reentrant } => Type::Mutex {
                reentrant: *reentrant,
            },
            TypeKind::RwLock => Type::RwLock,
            TypeKind::Cond => Type::Cond,
            TypeKind::Semaphore => Type::Semaphore,
            TypeKind::Channel { message, .. } if message.len() > MAX_PARAMETERS => {
                self.report(
                    Diagnostic::error(ty.span, "a message of this channel has too many values")
                        .label(format!("{} values", message.len()))
                        .help(format!(
                            "at most {MAX_PARAMETERS}; send a reference to a struct instead"
                        )),
                );
                Type::Error
            }
            TypeKind::Channel { message, capacity } => {
                let mut types = Vec::new();
                for part in message {
                    let resolved = self.resolve(part);
                    if !resolved.is_scalar() {
                        let name = self.a_type(&resolved);
                        self.report(
                            Diagnostic::error(
                                part.span,
                                format!("a channel cannot carry {name}"),
                            )
                            .help("send integers, `bool`s, enums or references; several values as `chan<(int, bool), 4>`"),
                        );
                        return Type::Error;
                    }
                    types.push(resolved);
                }
                let capacity = match capacity {
                    None => Some(0),
                    Some(expr) => self.constant_int(expr, "the capacity of a channel"),
                };
                match capacity {
                    Some(capacity @ 0..=4096) => Type::Channel(types, capacity as u32),
                    Some(capacity) => {
                        self.report(
                            Diagnostic::error(
                                ty.span,
                                format!("a channel cannot have the capacity {capacity}"),
                            )
                            .help("0 (a rendezvous) to 4096 messages"),
                        );
                        Type::Error
                    }
                    None => Type::Error,
                }
            }
            TypeKind::Error => Type::Error,
        }
    }

    fn no_such_type(&self, name: &ast::Name) -> Diagnostic {
        let diagnostic = Diagnostic::error(name.span, format!("there is no type `{}`", name.text));
        let known = self.type_names.keys().copied();
        let builtin = [
            "int",
            "bool",
            "void",
            "thread",
            "mutex",
            "rwlock",
            "cond",
            "semaphore",
            "chan",
        ];
        match nearest(&name.text, known.chain(builtin)) {
            Some(near) => diagnostic.help(format!("did you mean `{near}`?")),
            None => diagnostic,
        }
    }

    /// How many arrays and structs are inside one another in a type.
    pub(super) fn nesting(&self, ty: &Type) -> u32 {
        let (mut ty, mut arrays) = (ty, 0);
        while let Type::Array(element, _) = ty {
            (ty, arrays) = (element, arrays + 1);
        }
        arrays
            + match ty {
                Type::Struct(id) => self.program.structs[id.0 as usize].nesting,
                _ => 0,
            }
    }

    /// Reports, once, that types nest too deeply: where there is one too many of a chain, there
    /// are as many as the chain is long.
    pub(super) fn too_deep(&mut self, span: Span) {
        if !std::mem::replace(&mut self.told_too_deep, true) {
            self.report(
                Diagnostic::error(span, "this type is nested too deeply").help(format!(
                    "arrays and structs may be {MAX_TYPE_NESTING} levels deep inside one another; \
                     use references between structs, or fewer dimensions"
                )),
            );
        }
    }

    /// The type of a declaration, which is resolved once for all variables of it.
    fn resolve_shared(&mut self, ty: &'a Arc<ast::Type>) -> Type {
        match &self.last_type {
            Some((last, resolved)) if Arc::ptr_eq(last, ty) => resolved.clone(),
            _ => {
                let resolved = self.resolve(ty);
                self.last_type = Some((ty, resolved.clone()));
                resolved
            }
        }
    }

    /// The type of a variable: the type before its name and the dimensions after it.
    pub(super) fn variable_type(&mut self, variable: &'a ast::Variable, role: Role) -> Type {
        let mut ty = self.resolve_shared(&variable.ty);
        let dimensions = &variable.dimensions;
        if dimensions.len() as u64 + u64::from(self.nesting(&ty)) > MAX_TYPE_NESTING.into() {
            self.too_deep(variable.name.span);
            return Type::Error;
        }
        for dimension in dimensions.iter().rev() {
            let length = self.constant_int(dimension, "the length of an array");
            ty = match length {
                Some(length @ 1..=65_535) if ty != Type::Error => {
                    Type::Array(Box::new(ty), length as u32)
                }
                Some(length) if ty != Type::Error => {
                    self.report(
                        Diagnostic::error(
                            dimension.span,
                            format!("an array cannot have {length} elements"),
                        )
                        .help("1 to 65535 elements"),
                    );
                    Type::Error
                }
                _ => Type::Error,
            };
        }
        let allowed = self.allow(&ty, role, variable.name.span, &variable.name.text);
        if allowed { ty } else { Type::Error }
    }

    /// Whether a type can be used in that role; reports it if not.
    pub(super) fn allow(&mut self, ty: &Type, role: Role, span: Span, name: &str) -> bool {
        let diagnostic = match role {
            _ if *ty == Type::Error => return true,
            Role::Result if *ty == Type::Void => return true,
            _ if *ty == Type::Void => Diagnostic::error(span, format!("`{name}` cannot be `void`"))
                .help("only the result of a function is `void`"),
            Role::Parameter | Role::Result if !ty.is_scalar() => {
                let what = if role == Role::Parameter {
                    "parameter"
                } else {
                    "result"
                };
                Diagnostic::error(span, format!("a {what} cannot be {}", self.a_type(ty))).help(
                    format!("pass a reference instead: `{}*`", self.type_name(ty)),
                )
            }
            Role::Local if self.contains_synchronisation(ty) => {
                Diagnostic::error(span, format!("`{name}` cannot be a local variable"))
                    .label(format!("{} is shared between threads", self.a_type(ty)))
                    .help("declare it at top level")
            }
            Role::Local if self.program.slots(ty) > 4096 => {
                Diagnostic::error(span, format!("`{name}` is too large for a local variable"))
                    .help("local variables have at most 4096 slots; declare it at top level")
            }
            _ => return true,
        };
        self.report(diagnostic);
        false
    }

    pub(super) fn contains_synchronisation(&self, ty: &Type) -> bool {
        match ty {
            Type::Array(element, _) => self.contains_synchronisation(element),
            Type::Struct(id) => self.program.structs[id.0 as usize].synchronises,
            _ => ty.is_synchronisation(),
        }
    }

    /// The value as a `bool`, for a condition.
    pub(super) fn condition(&mut self, value: Expr) -> Expr {
        match value.ty {
            Type::Bool | Type::Error => value,
            Type::Int(_) | Type::Range(..) => not_equal(value, Value::Int(0)),
            Type::Pointer(_) | Type::Thread | Type::Null => not_equal(value, Value::Null),
            _ => {
                let name = self.a_type(&value.ty);
                let mut diagnostic =
                    Diagnostic::error(value.span, "a condition must be true or false")
                        .label(format!("this is {name}"));
                if let Type::Enum(_) = value.ty {
                    diagnostic = diagnostic.help("compare it with one of the enum's values");
                }
                self.report(diagnostic);
                error(value.span)
            }
        }
    }

    /// The value, which must be an integer.
    pub(super) fn integer(&mut self, value: Expr, what: &str) -> Expr {
        if value.ty.is_integer() || value.ty == Type::Error {
            return value;
        }
        let name = self.a_type(&value.ty);
        let mut diagnostic = Diagnostic::error(value.span, format!("{what} must be an integer"))
            .label(format!("this is {name}"));
        if matches!(value.ty, Type::Bool | Type::Enum(_)) {
            diagnostic = diagnostic.help("`(int) e` gives its number");
        }
        self.report(diagnostic);
        error(value.span)
    }

    /// The value as one of type `to`, for an assignment, an argument, a result.
    pub(super) fn convert(&mut self, value: Expr, to: &Type) -> Expr {
        if value.ty == *to || value.ty == Type::Error {
            return value;
        }
        let span = value.span;
        let acceptable = match (&value.ty, to) {
            (_, Type::Error) => return error(span),
            (from, to) if from.is_integer() && to.is_integer() => true,
            (Type::Null, Type::Pointer(_) | Type::Thread) => true,
            _ => false,
        };
        if acceptable {
            self.warn_lossy_constant(&value, to);
            return Expr {
                span,
                ty: to.clone(),
                kind: ExprKind::Convert(Box::new(value)),
            };
        }
        let (found, wanted) = (self.a_type(&value.ty), self.a_type(to));
        let mut diagnostic = Diagnostic::error(span, "the types do not match")
            .label(format!("{wanted} is expected here, this is {found}"));
        diagnostic = match (&value.ty, to) {
            (from, Type::Bool) if from.is_integer() => {
                diagnostic.help("compare it with zero: `e != 0`")
            }
            (Type::Bool | Type::Enum(_), to) if to.is_integer() => {
                diagnostic.help("`(int) e` gives its number")
            }
            (Type::Pointer(inner), to) if **inner == *to => {
                diagnostic.help("`*` gives what a reference refers to")
            }
            (from, Type::Pointer(inner))
                if **inner == *from && !matches!(value.kind, ExprKind::Value(_)) =>
            {
                diagnostic.help("`&` gives a reference to it")
            }
            (from, Type::Pointer(_)) if from.is_integer() => {
                diagnostic.help("the reference to nothing is `null`")
            }
            (from, _) if from.is_synchronisation() => diagnostic.help(format!(
                "{found} has no value; it can only be used by its operations, or referred to by `&`"
            )),
            (Type::Array(..) | Type::Struct(_), _) => {
                diagnostic.help("arrays and structs are not copied as a whole")
            }
            (Type::Void, _) => diagnostic.help("this operation gives no value"),
            _ => diagnostic,
        };
        self.report(diagnostic);
        error(span)
    }

    /// A constant that cannot be what it is stored as is a mistake.
    fn warn_lossy_constant(&mut self, value: &Expr, to: &Type) {
        let ExprKind::Value(Value::Int(number)) = value.kind else {
            return;
        };
        let name = self.type_name(to);
        match *to {
            Type::Range(low, high) if !(low..=high).contains(&number) => self.report(
                Diagnostic::error(
                    value.span,
                    format!("{number} is not in the range of `{name}`"),
                )
                .label(format!("only {low} to {high} can be stored here")),
            ),
            Type::Int(int) if super::constants::wrap(number, int) != number => {
                // `x = -1` for an unsigned is common enough; other losses are not meant.
                let kept = super::constants::wrap(number, int);
                self.report(
                    Diagnostic::warning(value.span, format!("{number} does not fit in `{name}`"))
                        .label(format!("it will be stored as {kept}")),
                );
            }
            _ => {}
        }
    }
}

fn not_equal(value: Expr, zero: Value) -> Expr {
    let span = value.span;
    let right = Expr {
        kind: ExprKind::Value(zero),
        ty: value.ty.clone(),
        span,
    };
    Expr {
        kind: ExprKind::Binary(ast::BinaryOp::NotEqual, Box::new(value), Box::new(right)),
        ty: Type::Bool,
        span,
    }
}

/// The type in which two integers are computed together.
pub(super) fn promote(a: &Type, b: &Type) -> Type {
    let unsigned = [a, b].contains(&&Type::Int(IntType::U32));
    Type::Int(if unsigned { IntType::U32 } else { IntType::I32 })
}

/// Stands for an expression that has been reported as wrong.
pub(super) fn error(span: Span) -> Expr {
    Expr {
        kind: ExprKind::Value(Value::Int(0)),
        ty: Type::Error,
        span,
    }
}
