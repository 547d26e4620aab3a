//! Places: where a value is loaded from and stored to.

use raddle_lang::ast::{BinaryOp, IntType};
use raddle_lang::check::constants::int_type;
use raddle_lang::hir::{Expr, ExprKind, Place, PlaceBase, Projection, Type, Value};

use super::Compiler;
use super::expressions::changes_locals;
use crate::op::{Fit, Op, Reg};

/// A place whose indices and references have been computed.
pub(super) enum Target {
    /// A local variable.
    Register(Reg),
    /// Part of a local variable, by an offset in a register.
    LocalPart { base: Reg, offset: Reg },
    /// A global slot.
    Slot(u16),
    /// An element of a global array of single slots, by an index that is in bounds.
    Element { slot: u16, index: Reg },
    /// Whatever a reference refers to.
    Reference(Reg),
}

/// When the place is used: whether the local variables in its indices may change before.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Used {
    /// By the next instruction.
    AtOnce,
    /// After other expressions have been computed.
    Later,
}

impl Used {
    /// After a value has been computed.
    pub(super) fn after(value: &Expr) -> Self {
        if changes_locals(value) {
            Self::Later
        } else {
            Self::AtOnce
        }
    }
}

impl Compiler<'_> {
    pub(super) fn place(&mut self, place: &Place, used: Used) -> Target {
        self.at(place.span, |compiler| compiler.place_here(place, used))
    }

    fn place_here(&mut self, place: &Place, used: Used) -> Target {
        match &place.base {
            PlaceBase::Local(local) => {
                let base = self.frame.registers[local.0 as usize];
                match constant_offset(&place.path) {
                    Some(offset) => {
                        let reg = self.narrow(u32::from(base) + offset);
                        Target::Register(reg)
                    }
                    None => {
                        let offset = self.constant(Value::Int(0));
                        self.walk(offset, &place.path);
                        Target::LocalPart { base, offset }
                    }
                }
            }
            PlaceBase::Global(global) => {
                let slot = self.hir.globals[global.0 as usize].slot;
                if let Some(offset) = constant_offset(&place.path) {
                    return Target::Slot((slot + offset) as u16);
                }
                if let [
                    Projection::Index {
                        index,
                        length,
                        stride: 1,
                    },
                ] = &place.path[..]
                {
                    let mark = self.frame.height;
                    let mut index = self.value(index);
                    if used == Used::Later {
                        index = self.own(index, mark);
                    }
                    let length = self.narrow(*length);
                    self.emit(Op::InBounds { index, length });
                    return Target::Element {
                        slot: slot as u16,
                        index,
                    };
                }
                let reference = self.constant(Value::GlobalSlot(slot));
                self.walk(reference, &place.path);
                Target::Reference(reference)
            }
            PlaceBase::Deref(reference) => {
                let mark = self.frame.height;
                let reg = self.value(reference);
                let reg = self.own(reg, mark);
                if !place.path.is_empty() {
                    self.emit(Op::NonNull { reg });
                    self.walk(reg, &place.path);
                }
                Target::Reference(reg)
            }
        }
    }

    /// Moves a reference, or an offset, along a path.
    fn walk(&mut self, reg: Reg, path: &[Projection]) {
        for projection in path {
            let mark = self.frame.height;
            match projection {
                Projection::Field(0) => {}
                Projection::Field(offset) => {
                    let by = self.narrow(*offset);
                    self.emit(Op::Advance { reg, by });
                }
                Projection::Index {
                    index,
                    length,
                    stride,
                } => {
                    let index = self.value(index);
                    let (length, stride) = (self.narrow(*length), self.narrow(*stride));
                    self.consume(
                        mark,
                        Op::Element {
                            reg,
                            index,
                            length,
                            stride,
                        },
                    );
                }
                Projection::Offset { index, element } => {
                    let index = self.value(index);
                    let layout = self.layout(element);
                    self.consume(mark, Op::Offset { reg, index, layout });
                }
            }
        }
    }

    /// A reference to a place, in a temporary at `mark`.
    pub(super) fn reference(&mut self, place: &Place, mark: u32) -> Reg {
        match self.place(place, Used::AtOnce) {
            Target::Slot(slot) => self.constant(Value::GlobalSlot(u32::from(slot))),
            Target::Element { slot, index } => {
                let reference = self.constant(Value::GlobalSlot(u32::from(slot)));
                self.emit(Op::Slide {
                    reg: reference,
                    by: index,
                });
                if u32::from(reference) == mark {
                    return reference;
                }
                // The index was in the temporary at `mark`, and is no longer needed.
                self.result(mark, |to| Op::Move {
                    to,
                    from: reference,
                })
            }
            Target::Reference(reg) => reg,
            Target::Register(_) | Target::LocalPart { .. } => {
                unreachable!("local variables are not referred to")
            }
        }
    }

    /// The value at a place; the temporaries above `mark` are used up.
    pub(super) fn load(&mut self, target: &Target, mark: u32) -> Reg {
        match *target {
            Target::Register(reg) => reg,
            Target::LocalPart { base, offset } => {
                self.result(mark, |to| Op::GetLocal { to, base, offset })
            }
            Target::Slot(slot) => self.result(mark, |to| Op::Load { to, slot }),
            Target::Element { slot, index } => {
                self.result(mark, |to| Op::LoadElement { to, slot, index })
            }
            Target::Reference(reference) => self.result(mark, |to| Op::LoadAt { to, reference }),
        }
    }

    /// Stores a register.
    pub(super) fn store(&mut self, target: &Target, from: Reg) {
        match *target {
            Target::Register(to) if to == from => return,
            Target::Register(to) => self.emit(Op::Move { to, from }),
            Target::LocalPart { base, offset } => self.emit(Op::SetLocal { base, offset, from }),
            Target::Slot(slot) => self.emit(Op::Store { slot, from }),
            Target::Element { slot, index } => self.emit(Op::StoreElement { slot, index, from }),
            Target::Reference(reference) => self.emit(Op::StoreAt { reference, from }),
        };
    }

    /// `place = value`
    pub(super) fn assign(&mut self, place: &Place, value: &Expr) {
        let mark = self.frame.height;
        match self.place(place, Used::after(value)) {
            Target::Register(reg) => self.value_into(value, reg),
            target => {
                let from = self.value(value);
                self.store(&target, from);
            }
        }
        self.frame.height = mark;
    }

    /// `place op= value`
    pub(super) fn update(&mut self, place: &Place, op: BinaryOp, value: &Expr) {
        let mark = self.frame.height;
        let int = int_type(&value.ty);
        let fit = self.fit(&Type::Int(int), &place.ty);
        if place.atomic {
            let reference = self.reference(place, mark);
            let operand = self.value(value);
            self.result(mark, |to| Op::Update {
                op,
                int,
                to,
                reference,
                operand,
                fit,
            });
        } else {
            let target = self.place(place, Used::after(value));
            let mut old = self.load(&target, self.frame.height);
            if changes_locals(value) {
                old = self.own(old, mark);
            }
            if let fit @ Fit::Wrap(_) = self.fit(&place.ty, &Type::Int(int)) {
                old = self.own(old, mark);
                self.emit(Op::Fit { reg: old, fit });
            }
            let new = self.combine(op, int, old, value, &target);
            self.emit_fit(new, fit);
            self.store(&target, new);
        }
        self.frame.height = mark;
    }

    /// The new value of a place: in the place itself if that is a register, otherwise
    /// where the old value was.
    fn combine(
        &mut self,
        op: BinaryOp,
        int: IntType,
        old: Reg,
        value: &Expr,
        target: &Target,
    ) -> Reg {
        let operand = match value.kind {
            ExprKind::Value(Value::Int(number)) => i16::try_from(number).ok(),
            _ => None,
        };
        let make = |to, operand: Result<i16, Reg>| match operand {
            Ok(b) => Op::BinaryConst {
                op,
                int,
                to,
                a: old,
                b,
            },
            Err(b) => Op::Binary {
                op,
                int,
                to,
                a: old,
                b,
            },
        };
        let operand = operand.ok_or(()).map_err(|()| self.value(value));
        match *target {
            Target::Register(to) => {
                self.emit(make(to, operand));
                to
            }
            _ => self.result(u32::from(old), |to| make(to, operand)),
        }
    }
}

/// The offset of a path without computed indices.
fn constant_offset(path: &[Projection]) -> Option<u32> {
    path.iter()
        .map(|projection| match projection {
            Projection::Field(offset) => Some(*offset),
            Projection::Index { index, stride, .. } => match index.kind {
                ExprKind::Value(Value::Int(position)) => Some(position as u32 * stride),
                _ => None,
            },
            Projection::Offset { .. } => None,
        })
        .sum()
}
