//! Expressions: every value ends up in a register.

use raddle_lang::ast::{BinaryOp, Direction, Fix, IntType};
use raddle_lang::check::constants::int_type;
use raddle_lang::hir::{Expr, ExprKind, FunctionId, Place, PlaceBase, Projection, Type, Value};

use super::Compiler;
use super::places::Used;
use crate::op::{Fit, Op, Reg};

impl Compiler<'_> {
    /// The register with the value: that of a variable, or a temporary.
    pub(super) fn value(&mut self, expr: &Expr) -> Reg {
        self.at(expr.span, |compiler| compiler.value_here(expr))
    }

    /// Computes a value into a given register.
    pub(super) fn value_into(&mut self, expr: &Expr, to: Reg) {
        let mark = self.frame.height;
        let from = self.value(expr);
        let there = from == to || self.is_temp(from, mark) && self.retarget(from, to);
        if !there {
            self.emit(Op::Move { to, from });
        }
        self.frame.height = mark;
    }

    /// Makes the last instruction leave its result elsewhere, if that is possible.
    fn retarget(&mut self, from: Reg, to: Reg) -> bool {
        if self.joined_at == Some(self.pc()) {
            return false;
        }
        match self.code.last_mut().and_then(Op::target_mut) {
            Some(target) if *target == from => {
                *target = to;
                true
            }
            _ => false,
        }
    }

    /// The register with the value of `first`, which computing `second` will not change.
    pub(super) fn value_before(&mut self, first: &Expr, second: &[&Expr]) -> Reg {
        let mark = self.frame.height;
        let reg = self.value(first);
        if second.iter().any(|expr| changes_locals(expr)) {
            return self.own(reg, mark);
        }
        reg
    }

    fn value_here(&mut self, expr: &Expr) -> Reg {
        let mark = self.frame.height;
        match &expr.kind {
            ExprKind::Value(value) => self.constant(*value),
            ExprKind::Tid => self.result(mark, |to| Op::Tid { to }),
            ExprKind::Any => self.result(mark, |to| Op::ChooseBelow { to, below: 2 }),
            ExprKind::Load(place) => {
                let target = self.place(place, Used::AtOnce);
                self.load(&target, mark)
            }
            ExprKind::AddressOf(place) => self.reference(place, mark),
            ExprKind::Unary(op, operand) => {
                let a = self.value(operand);
                let (op, int) = (*op, int_type(&operand.ty));
                self.result(mark, |to| Op::Unary { op, int, to, a })
            }
            ExprKind::Binary(op @ (BinaryOp::And | BinaryOp::Or | BinaryOp::Implies), a, b) => {
                self.short_circuit(*op, a, b)
            }
            ExprKind::Binary(op, a, b) => self.binary(*op, a, b),
            ExprKind::Conditional(condition, a, b) => {
                let condition = self.value(condition);
                let otherwise = self.emit(Op::JumpUnless {
                    reg: condition,
                    to: 0,
                });
                self.frame.height = mark;
                let to = self.temp();
                self.frame.height = mark;
                self.value_into(a, to);
                let end = self.jump_over(to);
                self.join([otherwise]);
                self.frame.height = mark;
                self.value_into(b, to);
                self.frame.height = mark + 1;
                self.join([end]);
                to
            }
            ExprKind::Convert(operand) => {
                let from = self.value(operand);
                match self.fit(&operand.ty, &expr.ty) {
                    Fit::AsIs => from,
                    fit => {
                        let reg = self.own(from, mark);
                        self.emit(Op::Fit { reg, fit });
                        reg
                    }
                }
            }
            ExprKind::Step {
                place,
                direction,
                fix,
            } => self.step(place, *direction, *fix),
            ExprKind::Call(function, arguments) => self.call(*function, arguments),
            ExprKind::Spawn(function, arguments) => {
                let arguments = self.consecutive(arguments);
                let function = function.0 as u16;
                self.result(mark, |to| Op::Spawn {
                    to,
                    function,
                    arguments,
                })
            }
            ExprKind::Choose(low, high) => {
                let low = self.value_before(low, &[high]);
                let high = self.value(high);
                self.result(mark, |to| Op::Choose { to, low, high })
            }
            ExprKind::New(ty, count) => {
                let layout = self.layout(ty);
                let count = count.as_ref().map(|count| self.value(count));
                self.result(mark, |to| Op::New { to, layout, count })
            }
            ExprKind::Operation(operation) => self.operation(operation),
        }
    }

    /// The jump at the end of a branch whose result is in `to`.
    fn jump_over(&mut self, to: Reg) -> u32 {
        self.frame.height = u32::from(to) + 1;
        self.jump()
    }

    pub(super) fn constant(&mut self, value: Value) -> Reg {
        let mark = self.frame.height;
        self.result(mark, |to| match value {
            Value::Int(value) => match (i32::try_from(value), u32::try_from(value)) {
                (Ok(value), _) => Op::Const { to, value },
                (_, Ok(value)) => Op::ConstUnsigned { to, value },
                _ => unreachable!("integers have at most 32 bits"),
            },
            Value::Null => Op::Const { to, value: 0 },
            Value::GlobalSlot(slot) => Op::GlobalRef {
                to,
                slot: slot as u16,
            },
        })
    }

    fn binary(&mut self, op: BinaryOp, a: &Expr, b: &Expr) -> Reg {
        let mark = self.frame.height;
        let int = int_type(&a.ty);
        let left = self.value_before(a, &[b]);
        if let ExprKind::Value(Value::Int(value)) = b.kind
            && let Ok(b) = i16::try_from(value)
        {
            return self.result(mark, |to| Op::BinaryConst {
                op,
                int,
                to,
                a: left,
                b,
            });
        }
        let right = self.value(b);
        self.result(mark, |to| Op::Binary {
            op,
            int,
            to,
            a: left,
            b: right,
        })
    }

    /// `a && b`: the result is that of `a` if it decides, otherwise that of `b`.
    fn short_circuit(&mut self, op: BinaryOp, a: &Expr, b: &Expr) -> Reg {
        let mark = self.frame.height;
        let to = self.temp();
        self.frame.height = mark;
        self.value_into(a, to);
        self.frame.height = mark + 1;
        let decided = match op {
            BinaryOp::And => self.emit(Op::JumpUnless { reg: to, to: 0 }),
            BinaryOp::Or => self.emit(Op::JumpIf { reg: to, to: 0 }),
            _ => {
                // `a ==> b` is `!a || b`.
                let not = raddle_lang::ast::UnaryOp::Not;
                self.emit(Op::Unary {
                    op: not,
                    int: IntType::I32,
                    to,
                    a: to,
                });
                self.emit(Op::JumpIf { reg: to, to: 0 })
            }
        };
        self.frame.height = mark;
        self.value_into(b, to);
        self.frame.height = mark + 1;
        self.join([decided]);
        to
    }

    fn step(&mut self, place: &Place, direction: Direction, fix: Fix) -> Reg {
        let mark = self.frame.height;
        let by: i16 = match direction {
            Direction::Up => 1,
            Direction::Down => -1,
        };
        let int = int_type(&place.ty);
        let fit = self.fit(&Type::Int(int), &place.ty);
        let add = |to, a| Op::BinaryConst {
            op: BinaryOp::Add,
            int,
            to,
            a,
            b: by,
        };
        if place.atomic {
            let reference = self.reference(place, mark);
            let operand = self.constant(Value::Int(i64::from(by)));
            let op = BinaryOp::Add;
            let old = self.result(mark, |to| Op::Update {
                op,
                int,
                to,
                reference,
                operand,
                fit,
            });
            if fix == Fix::Prefix {
                self.emit(add(old, old));
                self.emit_fit(old, fit);
            }
            return old;
        }
        let target = self.place(place, Used::AtOnce);
        let old = self.load(&target, self.frame.height);
        // The old value is wanted afterwards, or is the variable itself.
        let new = match fix {
            Fix::Postfix => {
                let old_copy = self.own(old, mark);
                let height = self.frame.height;
                let new = self.temp();
                self.emit_at(height, add(new, old_copy));
                self.emit_fit(new, fit);
                self.store(&target, new);
                old_copy
            }
            Fix::Prefix => {
                let height = self.frame.height;
                let new = self.temp();
                self.emit_at(height, add(new, old));
                self.emit_fit(new, fit);
                self.store(&target, new);
                new
            }
        };
        if u32::from(new) == mark {
            self.frame.height = mark + 1;
            return new;
        }
        self.result(mark, |to| Op::Move { to, from: new })
    }

    pub(super) fn emit_fit(&mut self, reg: Reg, fit: Fit) {
        if fit != Fit::AsIs {
            self.emit(Op::Fit { reg, fit });
        }
    }

    /// Values in consecutive temporaries; gives the first.
    pub(super) fn consecutive(&mut self, values: &[Expr]) -> Reg {
        let first = self.frame.height;
        for value in values {
            let mark = self.frame.height;
            let height = mark;
            let to = self.temp();
            self.frame.height = height;
            self.value_into(value, to);
            self.frame.height = mark + 1;
        }
        self.narrow(first)
    }

    fn call(&mut self, function: FunctionId, arguments: &[Expr]) -> Reg {
        let mark = self.frame.height;
        let arguments = self.consecutive(arguments);
        let height = self.narrow(mark);
        let function = self.narrow(function.0);
        self.result(mark, |to| Op::Call {
            function,
            arguments,
            height,
            to,
        })
    }
}

/// Whether computing an expression can change a local variable.
pub(super) fn changes_locals(expr: &Expr) -> bool {
    let place = |place: &Place| {
        let through = match &place.base {
            PlaceBase::Deref(reference) => changes_locals(reference),
            _ => false,
        };
        through
            || place.path.iter().any(|projection| match projection {
                Projection::Index { index, .. } | Projection::Offset { index, .. } => {
                    changes_locals(index)
                }
                Projection::Field(_) => false,
            })
    };
    match &expr.kind {
        ExprKind::Value(_) | ExprKind::Tid | ExprKind::Any => false,
        ExprKind::Load(inner) | ExprKind::AddressOf(inner) => place(inner),
        ExprKind::Step { place: stepped, .. } => {
            matches!(stepped.base, PlaceBase::Local(_)) || place(stepped)
        }
        ExprKind::Unary(_, a) | ExprKind::Convert(a) => changes_locals(a),
        ExprKind::Binary(_, a, b) | ExprKind::Choose(a, b) => {
            changes_locals(a) || changes_locals(b)
        }
        ExprKind::Conditional(a, b, c) => [a, b, c].into_iter().any(|e| changes_locals(e)),
        ExprKind::Call(_, arguments) | ExprKind::Spawn(_, arguments) => {
            arguments.iter().any(changes_locals)
        }
        ExprKind::New(_, count) => count.as_ref().is_some_and(|count| changes_locals(count)),
        ExprKind::Operation(operation) => {
            !operation.targets.is_empty()
                || operation.arguments.iter().any(changes_locals)
                || operation.places.iter().any(place)
        }
    }
}
