//! Values in the words of a packed state: where they are, and how they are written there.
//!
//! A value is a code of one byte or two (`pack/code.rs` of the machine). Reading a code looks up its word in a table, or
//! computes it; writing a word computes its code, and gives up if it has none: the interpreter writes it whole.

use std::collections::BTreeSet;

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::I64;
use cranelift_codegen::ir::{InstBuilder, Value};
use raddle_machine::native::{Field, Heap, Stop, code_of};

use super::heap::OFFSET_BITS;
use super::{Emitter, Exit, trusted};
use crate::Compiling;
use crate::objects::MOST_OBJECTS;

impl Emitter<'_> {
    /// The code at a field behind an address.
    pub(super) fn read_code(&mut self, at: Value, field: Field) -> Value {
        let offset = field.byte as i32;
        match field.wide {
            false => self.builder.ins().uload8(I64, trusted(), at, offset),
            true => self.builder.ins().uload16(I64, trusted(), at, offset),
        }
    }

    pub(super) fn write_code(&mut self, at: Value, field: Field, code: Value) {
        let offset = field.byte as i32;
        match field.wide {
            false => self.builder.ins().istore8(trusted(), code, at, offset),
            true => self.builder.ins().istore16(trusted(), code, at, offset),
        };
    }

    /// The value of a field.
    pub(super) fn read(&mut self, at: Value, field: Field) -> Value {
        let code = self.read_code(at, field);
        self.word(code, field.wide)
    }

    pub(super) fn write(&mut self, at: Value, field: Field, value: Value) {
        let code = self.code(value, field.wide);
        self.write_code(at, field, code);
    }

    /// The word of a code.
    pub(super) fn word(&mut self, code: Value, wide: bool) -> Value {
        if !wide {
            let table = self.constant(self.tables.words.as_ptr() as i64);
            let bytes = self.builder.ins().ishl_imm_s(code, 3);
            let entry = self.builder.ins().iadd(table, bytes);
            return self.builder.ins().load(I64, trusted(), entry, 0);
        }
        let codes = self.tables.wide;
        let integer = (self.builder.ins()).iadd_imm_s(code, -codes.zero);
        let is_integer = self.is_below(code, codes.globals);
        let global = (self.builder.ins()).iadd_imm_s(code, -codes.globals);
        let global = self.plus(global, self.compiling.bytecode.global_reference);
        let is_global = self.is_below(code, codes.threads);
        let thread = (self.builder.ins()).iadd_imm_s(code, -codes.threads);
        let thread = self.plus(thread, self.compiling.bytecode.thread_reference);
        let mut reference = self.builder.ins().select(is_global, global, thread);
        if self.compiling.bytecode.layout.heap.is_some() {
            let object = (self.builder.ins()).iadd_imm_s(code, -codes.objects);
            let is_object = self.is_below(object, 1 << 16);
            let offset = (self.builder.ins()).band_imm_s(object, Heap::OFFSETS as i64 - 1);
            let bits = i64::from(Heap::OFFSETS.trailing_zeros());
            let position = self.builder.ins().ushr_imm_s(object, bits);
            let position = self.builder.ins().ishl_imm_s(position, OFFSET_BITS);
            let object = self.builder.ins().iadd(position, offset);
            let object = self.plus(object, self.compiling.bytecode.heap_reference);
            reference = self.builder.ins().select(is_object, object, reference);
        }
        self.builder.ins().select(is_integer, integer, reference)
    }

    fn plus(&mut self, value: Value, constant: i64) -> Value {
        let constant = self.constant(constant);
        self.builder.ins().iadd(value, constant)
    }

    /// Whether a value is at least 0 and below a bound, as a condition.
    fn is_below(&mut self, value: Value, bound: i64) -> Value {
        (self.builder.ins()).icmp_imm_s(IntCC::UnsignedLessThan, value, bound)
    }

    /// The code of a word. Gives up if it has none.
    pub(super) fn code(&mut self, value: Value, wide: bool) -> Value {
        if let Some(constant) = self.constants.get(&value)
            && let Some(code) = code_of(*constant, wide)
        {
            return self.constant(code.into());
        }
        if !wide && self.bits.contains(&value) {
            return value;
        }
        let codes = if wide {
            self.tables.wide
        } else {
            self.tables.narrow
        };
        let shifted = match codes.zero {
            0 => value,
            zero => self.builder.ins().iadd_imm_s(value, zero),
        };
        let common = self.is_below(shifted, codes.integers);
        let [rare, done] = [(); 2].map(|()| self.builder.create_block());
        self.builder.set_cold_block(rare);
        self.builder.append_block_param(done, I64);
        let args = [shifted.into()];
        self.builder.ins().brif(common, done, &args, rare, &[]);
        self.builder.switch_to_block(rare);
        let code = self.rare_code(value, wide);
        self.builder.ins().jump(done, &[code.into()]);
        self.builder.switch_to_block(done);
        self.builder.block_params(done)[0]
    }

    /// The code of a word that is a reference, or a negative integer in one byte.
    fn rare_code(&mut self, value: Value, wide: bool) -> Value {
        let codes = if wide {
            self.tables.wide
        } else {
            self.tables.narrow
        };
        let bytecode = self.compiling.bytecode;
        let none = self.constant(-1);
        let mut code = none;
        let ranges = [
            (bytecode.thread_reference, codes.threads, codes.objects),
            (bytecode.global_reference, codes.globals, codes.threads),
            (
                -codes.negative,
                codes.globals - codes.negative,
                codes.globals,
            ),
        ];
        for (first, from, to) in ranges {
            let number = self.plus(value, first.wrapping_neg());
            let is_it = self.is_below(number, to - from);
            let of_it = self.builder.ins().iadd_imm_s(number, from);
            code = self.builder.ins().select(is_it, of_it, code);
        }
        if wide && bytecode.layout.heap.is_some() {
            let of_it = self.code_of_object(value);
            let is_it = (self.builder.ins()).icmp(IntCC::NotEqual, of_it, none);
            code = self.builder.ins().select(is_it, of_it, code);
        }
        let exists = (self.builder.ins()).icmp(IntCC::NotEqual, code, none);
        self.unless(exists, Exit::GiveUp);
        code
    }

    /// The code of a reference to an object in two bytes, or -1.
    fn code_of_object(&mut self, value: Value) -> Value {
        let first = self.compiling.bytecode.heap_reference;
        let number = self.plus(value, first.wrapping_neg());
        let position = self.builder.ins().ushr_imm_s(number, OFFSET_BITS);
        let offset = (self.builder.ins()).band_imm_s(number, (1 << OFFSET_BITS) - 1);
        let exists = self.is_below(position, MOST_OBJECTS as i64);
        let is_near = self.is_below(offset, Heap::OFFSETS as i64);
        let has_one = self.builder.ins().band(exists, is_near);
        let bits = i64::from(Heap::OFFSETS.trailing_zeros());
        let code = self.builder.ins().ishl_imm_s(position, bits);
        let code = self.builder.ins().iadd(code, offset);
        let code = (self.builder.ins()).iadd_imm_s(code, self.tables.wide.objects);
        let none = self.constant(-1);
        self.builder.ins().select(has_one, code, none)
    }

    fn number(&self, stop: Stop) -> Option<u16> {
        let Compiling {
            program, bytecode, ..
        } = self.compiling;
        bytecode.number(program, stop)
    }

    /// The thread stops before an instruction: writes its registers and where it is. Says whether that can be written.
    pub(super) fn suspend(&mut self, stop: Stop) -> bool {
        let Some(number) = self.number(stop) else {
            return false;
        };
        let frames = &self.compiling.bytecode.layout.frames;
        let (Stop::Running(at) | Stop::Waiting(at) | Stop::Notified(at)) = stop else {
            return false;
        };
        let (before, after) = (
            &frames[self.region.start.spot as usize],
            &frames[at.spot as usize],
        );
        for (register, field) in after {
            let in_place = before.contains(&(*register, *field));
            if in_place && !self.region.written.contains(register) {
                continue;
            }
            let value = self.register(*register);
            self.write(self.area, *field, value);
        }
        let bytes = |fields: &[(u16, Field)]| -> BTreeSet<u32> {
            let bytes = fields.iter();
            bytes
                .flat_map(|(_, field)| field.byte..field.byte + 1 + u32::from(field.wide))
                .collect()
        };
        let stale: Vec<u32> = (bytes(before).difference(&bytes(after))).copied().collect();
        self.clear(&stale);
        self.stop_at(number);
        true
    }

    /// The number of the stop of a thread that has ended; one that no thread has if there is none.
    pub(super) fn number_of_end(&self) -> i64 {
        self.number(Stop::Stopped(0, false)).map_or(-1, i64::from)
    }

    /// The thread has ended: of its area, only that is left.
    pub(super) fn end_thread(&mut self) -> bool {
        let Some(number) = self.number(Stop::Stopped(0, false)) else {
            return false;
        };
        let frames = &self.compiling.bytecode.layout.frames;
        let before = frames[self.region.start.spot as usize].iter();
        let stale: Vec<u32> = before
            .flat_map(|(_, field)| field.byte..field.byte + 1 + u32::from(field.wide))
            .collect();
        self.clear(&stale);
        self.stop_at(number);
        true
    }

    fn clear(&mut self, bytes: &[u32]) {
        let zero = self.constant(0);
        let area = self.area;
        for byte in bytes {
            (self.builder.ins()).istore8(trusted(), zero, area, *byte as i32);
        }
    }

    fn stop_at(&mut self, number: u16) {
        let number = self.constant(number.into());
        let stop = self.compiling.bytecode.layout.stop;
        self.write_code(self.area, stop, number);
    }

    /// A field of the table of global slots: its byte (from bit 1) and whether it is wide (bit 0).
    pub(super) fn entry_of(&mut self, slot: Value) -> Value {
        let table = self.constant(self.tables.slots.as_ptr() as i64);
        let bytes = self.builder.ins().ishl_imm_s(slot, 2);
        let entry = self.builder.ins().iadd(table, bytes);
        self.builder.ins().uload32(trusted(), entry, 0)
    }

    /// Calls one of two ways to emit, by a condition, and joins their values.
    pub(super) fn either(
        &mut self,
        condition: Value,
        emit: impl Fn(&mut Self, bool) -> Value,
    ) -> Value {
        let [yes, no, done] = [(); 3].map(|()| self.builder.create_block());
        self.builder.append_block_param(done, I64);
        self.builder.ins().brif(condition, yes, &[], no, &[]);
        for (block, holds) in [(yes, true), (no, false)] {
            self.builder.switch_to_block(block);
            let value = emit(self, holds);
            self.builder.ins().jump(done, &[value.into()]);
        }
        self.builder.switch_to_block(done);
        self.builder.block_params(done)[0]
    }
}
