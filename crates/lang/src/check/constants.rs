//! Constant expressions, and the arithmetic of the language.

use super::{Checker, ConstantState, Context};
use crate::ast::{self, BinaryOp, IntType, UnaryOp};
use crate::diagnostic::Diagnostic;
use crate::hir::{Expr, ExprKind, PlaceBase, Projection, Type, Value};
use crate::span::Span;

/// Wraps a value around to an integer type.
#[must_use]
pub fn wrap(value: i64, int: IntType) -> i64 {
    match int {
        IntType::I8 => i64::from(value as i8),
        IntType::I16 => i64::from(value as i16),
        IntType::I32 => i64::from(value as i32),
        IntType::U8 => i64::from(value as u8),
        IntType::U16 => i64::from(value as u16),
        IntType::U32 => i64::from(value as u32),
    }
}

/// Applies an operator to two integers of type `int` (`I32` or `U32`), or compares
/// two values of any type. `None` is a division by zero.
///
/// The short-circuit operators are not here: they do not always evaluate both sides.
#[must_use]
pub fn binary(op: BinaryOp, a: i64, b: i64, int: IntType) -> Option<i64> {
    let distance = (b & 31) as u32;
    Some(match op {
        BinaryOp::Add => wrap(a.wrapping_add(b), int),
        BinaryOp::Subtract => wrap(a.wrapping_sub(b), int),
        BinaryOp::Multiply => wrap(a.wrapping_mul(b), int),
        BinaryOp::Divide => wrap(a.checked_div(b)?, int),
        BinaryOp::Remainder => wrap(a.checked_rem(b)?, int),
        BinaryOp::ShiftLeft => wrap(a << distance, int),
        BinaryOp::ShiftRight => wrap(a >> distance, int),
        BinaryOp::BitAnd => wrap(a & b, int),
        BinaryOp::BitOr => wrap(a | b, int),
        BinaryOp::BitXor => wrap(a ^ b, int),
        BinaryOp::Equal => i64::from(a == b),
        BinaryOp::NotEqual => i64::from(a != b),
        BinaryOp::Less => i64::from(a < b),
        BinaryOp::LessEqual => i64::from(a <= b),
        BinaryOp::Greater => i64::from(a > b),
        BinaryOp::GreaterEqual => i64::from(a >= b),
        BinaryOp::And => i64::from(a != 0 && b != 0),
        BinaryOp::Or => i64::from(a != 0 || b != 0),
        BinaryOp::Implies => i64::from(a == 0 || b != 0),
    })
}

/// Applies an operator to an integer of type `int`, or negates a `bool`.
#[must_use]
pub fn unary(op: UnaryOp, a: i64, int: IntType) -> i64 {
    match op {
        UnaryOp::Negate => wrap(a.wrapping_neg(), int),
        UnaryOp::Complement => wrap(!a, int),
        UnaryOp::Not => i64::from(a == 0),
    }
}

/// Why an expression has no constant value.
enum NotConstant {
    Variable(Span),
    DivisionByZero(Span),
}

impl<'a> Checker<'a> {
    /// The type and value of a declared constant.
    pub(super) fn constant(&mut self, index: usize, used_at: Span) -> (Type, Value) {
        match std::mem::replace(&mut self.constants[index], ConstantState::InProgress) {
            ConstantState::Done(ty, value) => {
                self.constants[index] = ConstantState::Done(ty.clone(), value);
                (ty, value)
            }
            ConstantState::InProgress => {
                self.report(
                    Diagnostic::error(used_at, "a constant is defined by itself")
                        .help("give one of the constants in this circle a value of its own"),
                );
                (Type::Error, Value::Int(0))
            }
            ConstantState::Waiting(declaration) => {
                let result = self
                    .define_nested(declaration.span, |checker| {
                        let declaration =
                            |checker: &mut Self| checker.evaluate_declaration(declaration);
                        checker.in_context(Context::Constant, declaration).0
                    })
                    .unwrap_or((Type::Error, Value::Int(0)));
                self.constants[index] = ConstantState::Done(result.0.clone(), result.1);
                result
            }
        }
    }

    fn evaluate_declaration(&mut self, declaration: &'a ast::Const) -> (Type, Value) {
        let ty = match &declaration.ty {
            Some(ty) => self.resolve(ty),
            None => Type::INT,
        };
        let scalar = ty.is_integer() || matches!(ty, Type::Bool | Type::Enum(_) | Type::Error);
        if !scalar {
            let name = self.type_name(&ty);
            self.report(
                Diagnostic::error(
                    declaration.name.span,
                    format!("a constant cannot have the type `{name}`"),
                )
                .help("constants are integers, `bool`s or enum values"),
            );
            return (Type::Error, Value::Int(0));
        }
        let value = self.expr(&declaration.value);
        let value = self.convert(value, &ty);
        let folded = self.fold_or_report(&value, 0);
        (ty, folded)
    }

    /// A constant integer, such as the length of an array.
    pub(super) fn constant_int(&mut self, expr: &'a ast::Expr, what: &str) -> Option<i64> {
        let (value, _) = self.in_context(Context::Constant, |checker| {
            let value = checker.expr(expr);
            checker.integer(value, what)
        });
        if value.ty == Type::Error {
            return None;
        }
        match self.fold_or_report(&value, 0) {
            Value::Int(value) => Some(value),
            _ => None,
        }
    }

    /// The value of a constant expression; `tid` counts as `tid`.
    pub(super) fn fold_or_report(&mut self, expr: &Expr, tid: i64) -> Value {
        match self.fold(expr, tid) {
            Ok(value) => return value,
            Err(_) if expr.ty == Type::Error => {}
            Err(NotConstant::Variable(span)) => self.not_constant(span),
            Err(NotConstant::DivisionByZero(span)) => {
                self.report(Diagnostic::error(span, "division by zero").label("this is zero"));
            }
        }
        Value::Int(0)
    }

    /// Reports what a constant expression cannot contain.
    pub(super) fn not_constant(&mut self, span: Span) {
        self.report(
            Diagnostic::error(span, "this is not known before the program runs")
                .label("a constant expression is needed here")
                .help("use numbers, `const`s and enum values only"),
        );
    }

    fn fold(&self, expr: &Expr, tid: i64) -> Result<Value, NotConstant> {
        let fold = |expr: &Expr| self.fold(expr, tid);
        let int = |expr: &Expr| match self.fold(expr, tid)? {
            Value::Int(value) => Ok(value),
            Value::Null | Value::GlobalSlot(_) => Err(NotConstant::Variable(expr.span)),
        };
        Ok(match &expr.kind {
            ExprKind::Value(value) => *value,
            ExprKind::Tid => Value::Int(tid),
            ExprKind::Unary(op, operand) => {
                Value::Int(unary(*op, int(operand)?, int_type(&operand.ty)))
            }
            ExprKind::Binary(op, a, b) => {
                let result = binary(*op, int(a)?, int(b)?, int_type(&a.ty));
                Value::Int(result.ok_or(NotConstant::DivisionByZero(b.span))?)
            }
            ExprKind::Conditional(condition, a, b) => {
                fold(if int(condition)? != 0 { a } else { b })?
            }
            ExprKind::Convert(operand) => match (fold(operand)?, &expr.ty) {
                (Value::Int(value), Type::Int(to)) => Value::Int(wrap(value, *to)),
                (value, _) => value,
            },
            ExprKind::AddressOf(place) => match &place.base {
                PlaceBase::Global(global) => {
                    let mut slot = self.program.globals[global.0 as usize].slot;
                    for projection in &place.path {
                        slot += match projection {
                            Projection::Field(offset) => *offset,
                            Projection::Index {
                                index,
                                length,
                                stride,
                            } => {
                                let position = int(index)?;
                                if !(0..i64::from(*length)).contains(&position) {
                                    return Err(NotConstant::Variable(index.span));
                                }
                                position as u32 * stride
                            }
                            Projection::Offset { index, .. } => {
                                return Err(NotConstant::Variable(index.span));
                            }
                        };
                    }
                    Value::GlobalSlot(slot)
                }
                PlaceBase::Local(_) | PlaceBase::Deref(_) => {
                    return Err(NotConstant::Variable(expr.span));
                }
            },
            _ => return Err(NotConstant::Variable(expr.span)),
        })
    }
}

/// In which type the operands of this type are computed.
#[must_use]
pub fn int_type(ty: &Type) -> IntType {
    match ty {
        Type::Int(IntType::U32) => IntType::U32,
        _ => IntType::I32,
    }
}
