//! Places: what can be read, written, or referred to.

use super::types::error;
use super::{Checker, Context, Meaning};
use crate::ast;
use crate::diagnostic::Diagnostic;
use crate::hir::{Expr, ExprKind, Place, PlaceBase, Projection, StructId, Type, Value};
use crate::span::Span;

impl<'a> Checker<'a> {
    /// The place that an expression names. Reports what is no place.
    pub(super) fn place(&mut self, expr: &'a ast::Expr) -> Option<Place> {
        let span = expr.span;
        match &expr.kind {
            ast::ExprKind::Name(name) => self.named_place(name, span),
            ast::ExprKind::Paren(inner) => self.place(inner),
            ast::ExprKind::Deref(reference) => {
                let reference = self.expr(reference);
                self.deref(reference, span, "`*`")
            }
            ast::ExprKind::Arrow(reference, field) => {
                let reference = self.expr(reference);
                let place = self.deref(reference, span, "`->`")?;
                self.field(place, field, span)
            }
            ast::ExprKind::Field(base, field) => {
                let place = self.place(base)?;
                self.field(place, field, span)
            }
            ast::ExprKind::Index(base, index) => {
                let base = self.indexable(base);
                let index = self.expr(index);
                let index = self.integer(index, "an index");
                let index = self.convert(index, &Type::INT);
                self.index(base?, index, span)
            }
            ast::ExprKind::Error => None,
            _ => {
                let value = self.expr(expr);
                if value.ty != Type::Error {
                    let mut diagnostic = Diagnostic::error(span, "this is a value, not a variable")
                        .label("it cannot be stored to or operated on");
                    if let ast::ExprKind::AddressOf(_) = expr.kind {
                        diagnostic = diagnostic.help("name the variable itself: leave out the `&`");
                    }
                    self.report(diagnostic);
                }
                None
            }
        }
    }

    fn named_place(&mut self, name: &'a str, span: Span) -> Option<Place> {
        if let Some(local) = self.find_local(name) {
            return Some(Place {
                base: PlaceBase::Local(local),
                path: Vec::new(),
                ty: self.body.locals[local.0 as usize].ty.clone(),
                atomic: false,
                span,
            })
            .filter(|place| place.ty != Type::Error);
        }
        match self.names.get(name).copied() {
            Some((Meaning::Global(id), _)) => {
                // Constants are evaluated before the globals have their slots.
                let Some(global) = self.program.globals.get(id.0 as usize) else {
                    self.not_constant(span);
                    return None;
                };
                Some(Place {
                    base: PlaceBase::Global(id),
                    path: Vec::new(),
                    ty: global.ty.clone(),
                    atomic: global.atomic,
                    span,
                })
                .filter(|place| place.ty != Type::Error)
            }
            Some((_, declared)) => {
                self.report(
                    Diagnostic::error(span, format!("`{name}` is not a variable"))
                        .label("it cannot be stored to or referred to")
                        .related(declared, "declared here"),
                );
                None
            }
            None => {
                self.unknown_name(name, span);
                None
            }
        }
    }

    /// The place of an array, or what a reference refers to, before `[i]`.
    fn indexable(&mut self, base: &'a ast::Expr) -> Option<Indexable> {
        let is_place = matches!(
            strip(base).kind,
            ast::ExprKind::Name(_)
                | ast::ExprKind::Deref(_)
                | ast::ExprKind::Index(..)
                | ast::ExprKind::Field(..)
                | ast::ExprKind::Arrow(..)
        );
        let reference = if is_place {
            let place = self.place(base)?;
            if !matches!(place.ty, Type::Pointer(_)) {
                return Some(Indexable::Array(place));
            }
            Expr {
                ty: place.ty.clone(),
                span: place.span,
                kind: ExprKind::Load(place),
            }
        } else {
            self.expr(base)
        };
        self.deref(reference, base.span, "`[ ]`")
            .map(Indexable::FirstElement)
    }

    fn index(&mut self, base: Indexable, index: Expr, span: Span) -> Option<Place> {
        if index.ty == Type::Error {
            return None;
        }
        let mut place = match base {
            Indexable::FirstElement(mut place) => {
                let element = place.ty.clone();
                place.path.push(Projection::Offset { index, element });
                place.span = span;
                return Some(place);
            }
            Indexable::Array(place) => place,
        };
        place.span = span;
        let Type::Array(element, length) = place.ty else {
            let name = self.a_type(&place.ty);
            self.report(
                Diagnostic::error(span, "only arrays and references have elements")
                    .label(format!("this is {name}")),
            );
            return None;
        };
        if let ExprKind::Value(Value::Int(position)) = index.kind
            && !(0..i64::from(length)).contains(&position)
        {
            self.report(
                Diagnostic::error(index.span, format!("there is no element {position}"))
                    .label(format!("the array has the elements 0 to {}", length - 1)),
            );
            return None;
        }
        let stride = self.program.slots(&element);
        place.path.push(Projection::Index {
            index,
            length,
            stride,
        });
        place.ty = *element;
        Some(place)
    }

    fn field(&mut self, mut place: Place, field: &'a ast::Name, span: Span) -> Option<Place> {
        place.span = span;
        let Type::Struct(id) = place.ty else {
            let name = self.a_type(&place.ty);
            let mut diagnostic = Diagnostic::error(field.span, "only structs have fields")
                .label(format!("this belongs to {name}"));
            if let Type::Pointer(to) = &place.ty
                && let Type::Struct(_) = **to
            {
                diagnostic = diagnostic.help("through a reference, write `->` instead of `.`");
            }
            self.report(diagnostic);
            return None;
        };
        let Some(found) = self.field_named(id, &field.text) else {
            self.report_with(|checker| checker.no_such_field(id, field));
            return None;
        };
        place.path.push(Projection::Field(found.offset));
        place.ty = found.ty.clone();
        Some(place).filter(|place| place.ty != Type::Error)
    }

    fn no_such_field(&self, id: StructId, field: &ast::Name) -> Diagnostic {
        let definition = &self.program.structs[id.0 as usize];
        let fields: Vec<_> = definition.fields.iter().map(|f| f.name.as_str()).collect();
        let diagnostic = Diagnostic::error(
            field.span,
            format!("`{}` has no field `{}`", definition.name, field.text),
        );
        match super::suggest::nearest(&field.text, fields.iter().copied()) {
            Some(near) => diagnostic.help(format!("did you mean `{near}`?")),
            None => diagnostic.help(format!("its fields are: {}", fields.join(", "))),
        }
    }

    fn deref(&mut self, reference: Expr, span: Span, operator: &str) -> Option<Place> {
        match reference.ty.clone() {
            Type::Pointer(to) => Some(Place {
                base: PlaceBase::Deref(Box::new(reference)),
                path: Vec::new(),
                ty: *to,
                atomic: false,
                span,
            }),
            Type::Error => None,
            other => {
                let name = self.a_type(&other);
                let mut diagnostic =
                    Diagnostic::error(reference.span, format!("{operator} needs a reference"))
                        .label(format!("this is {name}"));
                if operator == "`->`" && matches!(other, Type::Struct(_)) {
                    diagnostic = diagnostic.help("write `.` instead of `->`");
                }
                self.report(diagnostic);
                None
            }
        }
    }

    pub(super) fn address_of(&mut self, operand: &'a ast::Expr, span: Span) -> Expr {
        let Some(place) = self.place(operand) else {
            return error(span);
        };
        if let PlaceBase::Local(local) = place.base {
            let declared = self.body.locals[local.0 as usize].span;
            self.report(
                Diagnostic::error(span, "a local variable cannot be referred to")
                    .related(declared, "it belongs to one call of one thread")
                    .help("declare it at top level, or allocate it with `new`"),
            );
            return error(span);
        }
        if self.body.context == Context::Constant && !matches!(place.base, PlaceBase::Global(_)) {
            self.report(
                Diagnostic::error(span, "this is not known before the program runs")
                    .help("a constant reference is `&` of a global variable"),
            );
            return error(span);
        }
        Expr {
            ty: Type::Pointer(Box::new(place.ty.clone())),
            kind: ExprKind::AddressOf(place),
            span,
        }
    }
}

/// What can stand before `[i]`.
enum Indexable {
    Array(Place),
    /// The element that a reference refers to; `[i]` counts from there.
    FirstElement(Place),
}

fn strip(expr: &ast::Expr) -> &ast::Expr {
    match &expr.kind {
        ast::ExprKind::Paren(inner) => strip(inner),
        _ => expr,
    }
}
