//! Heap objects: where they are, allocation, and what is freed.
//!
//! Registers name objects by their positions in the state, whatever they are called; what they are called is in footprints only. A
//! reference is compared with how many objects there are, and an offset with how many slots the object has, before anything is accessed.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::I64;
use cranelift_codegen::ir::{Block, InstBuilder, Value};
use raddle_machine::native::{Heap, code_of};
use raddle_machine::op::Reg;

use super::shared::{Cell, Spot, Writes};
use super::{Emitter, Exit, trusted};
use crate::frame::NativeFrame;
use crate::objects::Objects;

/// How many bits of a reference are its offset.
pub(super) const OFFSET_BITS: i64 = 20;

/// What a reference refers to, if that is in an object. Otherwise nothing of this means anything.
#[derive(Clone, Copy)]
pub(super) struct InObject {
    /// Whether it is.
    pub(super) is_it: Value,
    pub(super) position: Value,
    /// Which slot of the object.
    pub(super) offset: Value,
    /// Where the object begins in the bytes of the state; its header.
    start: Value,
    header: Value,
}

impl Emitter<'_> {
    /// The objects of the state.
    pub(super) fn objects(&mut self) -> Value {
        let offset = std::mem::offset_of!(NativeFrame, objects) as i32;
        let frame = self.frame;
        self.builder.ins().load(I64, trusted(), frame, offset)
    }

    /// Finds out whether a reference is one to an object.
    pub(super) fn in_object(&mut self, reference: Value) -> InObject {
        let first = self.constant(self.compiling.bytecode.heap_reference);
        let objects = self.objects();
        let distance = self.builder.ins().isub(reference, first);
        let position = self.builder.ins().ushr_imm_s(distance, OFFSET_BITS);
        let offset = (self.builder.ins()).band_imm_s(distance, (1 << OFFSET_BITS) - 1);
        let at = std::mem::offset_of!(Objects, count) as i32;
        let count = self.builder.ins().load(I64, trusted(), objects, at);
        let is_it = self.compare(IntCC::UnsignedLessThan, position, count);
        let zero = self.constant(0);
        let index = self.builder.ins().select(is_it, position, zero);
        let index = self.builder.ins().ishl_imm_s(index, 2);
        let entry = self.builder.ins().iadd(objects, index);
        let at = std::mem::offset_of!(Objects, bytes) as i32;
        let byte = self.builder.ins().uload32(trusted(), entry, at);
        // A state has bytes, if not those of an object.
        let byte = self.builder.ins().select(is_it, byte, zero);
        let start = self.builder.ins().iadd(self.state, byte);
        let header = (self.builder.ins()).uload16(I64, trusted(), start, 0);
        InObject {
            is_it,
            position,
            offset,
            start,
            header,
        }
    }

    /// How many slots an object has.
    fn length(&mut self, object: InObject) -> Value {
        self.builder.ins().ushr_imm_s(object.header, 8)
    }

    /// Whether an object was not freed, and has so many slots from the offset on.
    pub(super) fn is_there(&mut self, object: InObject, slots: usize) -> Value {
        let length = self.length(object);
        let end = (self.builder.ins()).iadd_imm_s(object.offset, slots as i64);
        let fits = self.compare(IntCC::UnsignedLessThanOrEqual, end, length);
        let freed = (self.builder.ins()).band_imm_s(object.header, Heap::FREED as i64);
        let exists = self.is_zero(freed);
        self.builder.ins().band(fits, exists)
    }

    /// The address of the slot.
    pub(super) fn address(&mut self, object: InObject) -> Value {
        let bytes = self.builder.ins().ishl_imm_s(object.offset, 1);
        let address = self.builder.ins().iadd(object.start, bytes);
        (self.builder.ins()).iadd_imm_s(address, i64::from(Heap::HEADER))
    }

    /// What an object is called, as a reference to its first slot.
    fn name(&mut self, object: InObject) -> Value {
        let zero = self.constant(0);
        let index = (self.builder.ins()).select(object.is_it, object.position, zero);
        let bytes = self.builder.ins().ishl_imm_s(index, 3);
        let objects = self.objects();
        let entry = self.builder.ins().iadd(objects, bytes);
        let at = std::mem::offset_of!(Objects, names) as i32;
        self.builder.ins().load(I64, trusted(), entry, at)
    }

    /// The location that the reference refers to.
    pub(super) fn location(&mut self, object: InObject) -> Value {
        let name = self.name(object);
        self.builder.ins().iadd(name, object.offset)
    }

    /// The slot that is so many behind another one.
    pub(super) fn behind(&mut self, cell: Cell, slots: Value) -> Cell {
        let Some((object, address)) = cell.object else {
            let slot = self.builder.ins().iadd(cell.slot, slots);
            return Cell {
                known: None,
                slot,
                object: None,
            };
        };
        let zero = self.constant(0);
        let further = (self.builder.ins()).select(object.is_it, zero, slots);
        let slot = self.builder.ins().iadd(cell.slot, further);
        let bytes = self.builder.ins().ishl_imm_s(slots, 1);
        let address = self.builder.ins().iadd(address, bytes);
        Cell {
            known: None,
            slot,
            object: Some((object, address)),
        }
    }

    /// Where the slot is that is so many behind one that may be in an object, and whose global slot is 0 then.
    pub(super) fn spot_of_either(
        &mut self,
        object: InObject,
        address: Value,
        slot: Value,
        further: usize,
    ) -> Spot {
        let address = (self.builder.ins()).iadd_imm_s(address, 2 * further as i64);
        if further >= self.slots().len() {
            return Spot::Computed(address, true);
        }
        let slot = self.builder.ins().iadd_imm_s(slot, further as i64);
        let entry = self.entry_of(slot);
        let byte = self.builder.ins().ushr_imm_s(entry, 1);
        let global = self.builder.ins().iadd(self.state, byte);
        let address = (self.builder.ins()).select(object.is_it, address, global);
        if self.slots().iter().all(|field| field.wide) {
            return Spot::Computed(address, true);
        }
        let is_wide = self.builder.ins().band_imm_s(entry, 1);
        let is_wide = self.builder.ins().bor(is_wide, object.is_it);
        Spot::Either(address, is_wide)
    }

    /// The part of an object, as a bit.
    pub(super) fn bit_of(&mut self, object: InObject) -> Value {
        let objects = self.objects();
        let at = std::mem::offset_of!(Objects, first_part) as i32;
        let first = self.builder.ins().load(I64, trusted(), objects, at);
        let part = self.builder.ins().iadd(first, object.position);
        let one = self.constant(1);
        self.builder.ins().ishl(one, part)
    }

    /// Allocates an object. Gives up if there is no room for it.
    pub(super) fn allocate(&mut self, to: Reg, layout: u16, count: Option<Reg>) {
        let (slots, defaults) = self.compiling.bytecode.layouts[layout as usize].clone();
        let (length, words) = match count {
            None => {
                let words = Heap::words_at(u64::from(slots) << 8);
                (self.constant(slots.into()), self.constant(words as i64))
            }
            Some(count) => {
                let count = self.get(count);
                self.below(count, Heap::MOST_SLOTS as i64 / i64::from(slots.max(1)) + 1);
                let length = self.builder.ins().imul_imm_s(count, i64::from(slots));
                let more = (self.builder.ins()).iadd_imm_s(length, i64::from(Heap::HEADER) / 2 + 3);
                (length, self.builder.ins().ushr_imm_s(more, 2))
            }
        };
        let objects = self.objects();
        let [number, end, limit, most, name] = [
            std::mem::offset_of!(Objects, count),
            std::mem::offset_of!(Objects, end),
            std::mem::offset_of!(Objects, limit),
            std::mem::offset_of!(Objects, most),
            std::mem::offset_of!(Objects, fresh),
        ]
        .map(|at| (self.builder.ins()).load(I64, trusted(), objects, at as i32));
        let is_one_more = self.compare(IntCC::UnsignedLessThan, number, most);
        self.unless(is_one_more, Exit::GiveUp);
        let bytes = self.builder.ins().ishl_imm_s(words, 3);
        let new_end = self.builder.ins().iadd(end, bytes);
        let fits = self.compare(IntCC::UnsignedLessThanOrEqual, new_end, limit);
        self.unless(fits, Exit::GiveUp);
        let start = self.builder.ins().iadd(self.state, end);
        let header = self.builder.ins().ishl_imm_s(length, 8);
        let header = (self.builder.ins()).bor_imm_s(header, Heap::header(layout) as i64);
        self.builder.ins().istore16(trusted(), header, start, 0);
        self.initialise(start, length, words, &defaults);
        let index = self.builder.ins().ishl_imm_s(number, 2);
        let entry = self.builder.ins().iadd(objects, index);
        let at = std::mem::offset_of!(Objects, bytes) as i32;
        self.builder.ins().istore32(trusted(), end, entry, at);
        let index = self.builder.ins().ishl_imm_s(number, 3);
        let entry = self.builder.ins().iadd(objects, index);
        let at = std::mem::offset_of!(Objects, names) as i32;
        self.builder.ins().store(trusted(), name, entry, at);
        let next_name = self.builder.ins().iadd_imm_s(name, 1 << OFFSET_BITS);
        let next = self.builder.ins().iadd_imm_s(number, 1);
        for (value, at) in [
            (next, std::mem::offset_of!(Objects, count)),
            (new_end, std::mem::offset_of!(Objects, end)),
            (next_name, std::mem::offset_of!(Objects, fresh)),
        ] {
            (self.builder.ins()).store(trusted(), value, objects, at as i32);
        }
        let first = self.constant(self.compiling.bytecode.heap_reference);
        let position = self.builder.ins().ishl_imm_s(number, OFFSET_BITS);
        let reference = self.builder.ins().iadd(first, position);
        self.set(to, reference);
    }

    /// Writes the slots of a new object, and what is behind them in its last word.
    fn initialise(&mut self, start: Value, length: Value, words: Value, defaults: &[(u32, i64)]) {
        let zero_code = code_of(0, true).map_or(0, i64::from);
        let slots = start;
        let first = Heap::HEADER as i32;
        if let Some(length) = self.constants.get(&length).copied() {
            let words = self.constants[&words];
            for slot in 0..4 * words - i64::from(Heap::HEADER / 2) {
                let default = defaults.iter().find(|(at, _)| i64::from(*at) == slot);
                let code = match default {
                    _ if slot >= length => 0,
                    Some((_, value)) => code_of(*value, true).map_or(0, i64::from),
                    None => zero_code,
                };
                let code = self.constant(code);
                let at = first + 2 * slot as i32;
                self.builder.ins().istore16(trusted(), code, slots, at);
            }
            return;
        }
        let all = self.builder.ins().ishl_imm_s(words, 2);
        let all = (self.builder.ins()).iadd_imm_s(all, -i64::from(Heap::HEADER / 2));
        self.for_each(all, |emitter, slot| {
            let is_one = (emitter.builder.ins()).icmp(IntCC::UnsignedLessThan, slot, length);
            let [code, none] = [zero_code, 0].map(|code| emitter.constant(code));
            let code = emitter.builder.ins().select(is_one, code, none);
            let bytes = emitter.builder.ins().ishl_imm_s(slot, 1);
            let at = emitter.builder.ins().iadd(slots, bytes);
            (emitter.builder.ins()).istore16(trusted(), code, at, first);
        });
    }

    /// Emits something that is executed with each number below a bound, which is not zero.
    pub(super) fn for_each(&mut self, bound: Value, emit: impl FnOnce(&mut Self, Value)) {
        let [body, done]: [Block; 2] = [(); 2].map(|()| self.builder.create_block());
        self.builder.append_block_param(body, I64);
        let zero = self.constant(0);
        self.builder.ins().jump(body, &[zero.into()]);
        self.builder.switch_to_block(body);
        let number = self.builder.block_params(body)[0];
        emit(self, number);
        let next = self.builder.ins().iadd_imm_s(number, 1);
        let more = (self.builder.ins()).icmp(IntCC::UnsignedLessThan, next, bound);
        let next = [next.into()];
        self.builder.ins().brif(more, body, &next, done, &[]);
        self.builder.switch_to_block(done);
    }

    /// Frees an object. Gives up if there is none that can be freed.
    pub(super) fn free(&mut self, reference: Reg) {
        let reference = self.get(reference);
        self.when(reference, |emitter| {
            let object = emitter.in_object(reference);
            emitter.unless(object.is_it, Exit::GiveUp);
            let exists = emitter.is_there(object, 0);
            let is_first = emitter.is_zero(object.offset);
            let can_be_freed = emitter.builder.ins().band(exists, is_first);
            emitter.unless(can_be_freed, Exit::GiveUp);
            let length = emitter.length(object);
            let one = emitter.constant(1);
            let locations = emitter.builder.ins().umax(length, one);
            let name = emitter.name(object);
            // Its layout is what is left of the first byte of the header.
            let layout = (emitter.builder.ins()).band_imm_s(object.header, 0xFC);
            let table = emitter.constant(emitter.tables.freed.as_ptr() as i64);
            let bytes = emitter.builder.ins().ishl_imm_s(layout, 1);
            let entry = emitter.builder.ins().iadd(table, bytes);
            let [slots, first] = [0, 4].map(|at| {
                let ins = emitter.builder.ins();
                ins.uload32(trusted(), entry, at)
            });
            let kinds = emitter.constant(emitter.tables.freed_kinds.as_ptr() as i64);
            let kinds = emitter.builder.ins().iadd(kinds, first);
            emitter.for_each(locations, |emitter, slot| {
                let location = emitter.builder.ins().iadd(name, slot);
                let of_element = emitter.builder.ins().urem(slot, slots);
                let at = emitter.builder.ins().iadd(kinds, of_element);
                let kind = (emitter.builder.ins()).uload8(I64, trusted(), at, 0);
                emitter.write_down(location, Writes::Yes, kind);
            });
            let header = (emitter.builder.ins()).bor_imm_s(object.header, Heap::FREED as i64);
            let zero = emitter.constant(0);
            (emitter.builder.ins()).istore16(trusted(), header, object.start, 0);
            emitter.when(length, |emitter| {
                emitter.for_each(length, |emitter, slot| {
                    let bytes = emitter.builder.ins().ishl_imm_s(slot, 1);
                    let at = emitter.builder.ins().iadd(object.start, bytes);
                    let first = Heap::HEADER as i32;
                    (emitter.builder.ins()).istore16(trusted(), zero, at, first);
                });
            });
            let part = emitter.bit_of(object);
            emitter.change_parts(part);
        });
    }

    /// Moves a reference to another element of the array that it refers to. Gives up if that is not one that was allocated as such.
    pub(super) fn move_reference(&mut self, reg: Reg, index: Reg, layout: u16) {
        let (reference, index) = (self.get(reg), self.get(index));
        let object = self.in_object(reference);
        self.unless(object.is_it, Exit::GiveUp);
        let of_object = (self.builder.ins()).band_imm_s(object.header, 0xFC);
        let expected = self.constant(Heap::header(layout) as i64);
        let is_alike = self.compare(IntCC::Equal, of_object, expected);
        self.unless(is_alike, Exit::GiveUp);
        let slots = self.compiling.bytecode.layouts[layout as usize].0;
        let each = self.constant(slots.max(1).into());
        let length = self.length(object);
        let count = self.builder.ins().udiv(length, each);
        let position = self.builder.ins().udiv(object.offset, each);
        let wanted = self.builder.ins().iadd(position, index);
        let exists = self.compare(IntCC::UnsignedLessThan, wanted, count);
        self.unless(exists, Exit::GiveUp);
        let distance = self.builder.ins().imul_imm_s(index, i64::from(slots));
        let moved = self.builder.ins().iadd(reference, distance);
        self.set(reg, moved);
    }
}
