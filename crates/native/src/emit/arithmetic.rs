//! Arithmetic on words: the same as the interpreter's, which computes with 64 bits and wraps.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::{I8, I16, I32, I64};
use cranelift_codegen::ir::{InstBuilder, Value};
use raddle_lang::ast::{BinaryOp, IntType};
use raddle_machine::op::Fit;

use super::{Emitter, Exit};

impl Emitter<'_> {
    pub(super) fn wrap(&mut self, value: Value, int: IntType) -> Value {
        let (ty, signed) = match int {
            IntType::I8 => (I8, true),
            IntType::I16 => (I16, true),
            IntType::I32 => (I32, true),
            IntType::U8 => (I8, false),
            IntType::U16 => (I16, false),
            IntType::U32 => (I32, false),
        };
        let small = self.builder.ins().ireduce(ty, value);
        match signed {
            true => self.builder.ins().sextend(I64, small),
            false => self.builder.ins().uextend(I64, small),
        }
    }

    /// The result of a comparison as a word.
    pub(super) fn bit(&mut self, condition: Value) -> Value {
        let bit = self.builder.ins().uextend(I64, condition);
        self.bits.insert(bit);
        bit
    }

    pub(super) fn compare(&mut self, condition: IntCC, a: Value, b: Value) -> Value {
        let result = self.builder.ins().icmp(condition, a, b);
        self.bit(result)
    }

    fn is_set(&mut self, value: Value) -> Value {
        if self.bits.contains(&value) {
            return value;
        }
        let set = self.builder.ins().icmp_imm_s(IntCC::NotEqual, value, 0);
        self.bit(set)
    }

    pub(super) fn binary(&mut self, op: BinaryOp, int: IntType, a: Value, b: Value) -> Value {
        let raw = match op {
            BinaryOp::Add => self.builder.ins().iadd(a, b),
            BinaryOp::Subtract => self.builder.ins().isub(a, b),
            BinaryOp::Multiply => self.builder.ins().imul(a, b),
            BinaryOp::Divide | BinaryOp::Remainder => {
                // Both are integers of 32 bits, so only zero is a problem.
                self.unless(b, Exit::GiveUp);
                match op {
                    BinaryOp::Divide => self.builder.ins().sdiv(a, b),
                    _ => self.builder.ins().srem(a, b),
                }
            }
            BinaryOp::ShiftLeft | BinaryOp::ShiftRight => {
                let distance = self.builder.ins().band_imm_s(b, 31);
                match op {
                    BinaryOp::ShiftLeft => self.builder.ins().ishl(a, distance),
                    _ => self.builder.ins().sshr(a, distance),
                }
            }
            BinaryOp::BitAnd => self.builder.ins().band(a, b),
            BinaryOp::BitOr => self.builder.ins().bor(a, b),
            BinaryOp::BitXor => self.builder.ins().bxor(a, b),
            BinaryOp::Equal => return self.compare(IntCC::Equal, a, b),
            BinaryOp::NotEqual => return self.compare(IntCC::NotEqual, a, b),
            BinaryOp::Less => return self.compare(IntCC::SignedLessThan, a, b),
            BinaryOp::LessEqual => return self.compare(IntCC::SignedLessThanOrEqual, a, b),
            BinaryOp::Greater => return self.compare(IntCC::SignedGreaterThan, a, b),
            BinaryOp::GreaterEqual => return self.compare(IntCC::SignedGreaterThanOrEqual, a, b),
            BinaryOp::And | BinaryOp::Or => {
                let (a, b) = (self.is_set(a), self.is_set(b));
                let value = match op {
                    BinaryOp::And => self.builder.ins().band(a, b),
                    _ => self.builder.ins().bor(a, b),
                };
                self.bits.insert(value);
                return value;
            }
            BinaryOp::Implies => {
                let a = self.is_set(a);
                let not_a = self.builder.ins().bxor_imm_s(a, 1);
                let b = self.is_set(b);
                let value = self.builder.ins().bor(not_a, b);
                self.bits.insert(value);
                return value;
            }
        };
        self.wrap(raw, int)
    }

    pub(super) fn fit(&mut self, value: Value, fit: Fit) -> Value {
        match fit {
            Fit::AsIs => value,
            Fit::Wrap(int) => self.wrap(value, int),
            Fit::Range(range) => {
                let (low, high) = self.compiling.bytecode.ranges[range as usize];
                let distance = self.builder.ins().iadd_imm_s(value, -low);
                self.below(distance, high - low + 1);
                value
            }
        }
    }
}
