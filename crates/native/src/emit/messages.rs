//! Channels, condition variables and choices.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::I64;
use cranelift_codegen::ir::{InstBuilder, Value};
use raddle_machine::native::Field;
use raddle_machine::op::{ChannelShape, LockKind, Op, Reg};

use super::shared::{Cell, Writes};
use super::{Emitter, Exit, trusted};
use crate::frame::{MOST_PICKS, NativeFrame, Pick, kind};

/// The phases of a rendezvous, in the first word of its channel.
mod rendezvous {
    pub(super) const IDLE: i64 = 0;
    pub(super) const OFFERED: i64 = 1;
    pub(super) const TAKEN: i64 = 2;
}

/// How many slots a channel has.
fn slots(shape: ChannelShape) -> usize {
    1 + usize::from(shape.capacity).max(1) * usize::from(shape.values)
}

impl Emitter<'_> {
    fn shape(&self, shape: u16) -> ChannelShape {
        self.compiling.bytecode.shapes[shape as usize]
    }

    pub(super) fn message(&mut self, op: Op) {
        match op {
            Op::Send {
                channel,
                values,
                shape,
            } => self.send(channel, values, shape, None),
            Op::TrySend {
                to,
                channel,
                values,
                shape,
            } => self.send(channel, values, shape, Some(to)),
            Op::Handoff { channel } => {
                let cell = self.cell(channel, 1);
                let phase = self.load(cell, 0);
                let taken = self.constant(rendezvous::TAKEN);
                let taken = self.compare(IntCC::Equal, phase, taken);
                self.synchronise(cell, Writes::If(taken), kind::SEND);
                self.block_unless(taken);
                let idle = self.constant(rendezvous::IDLE);
                self.store(cell, 0, idle);
            }
            Op::Recv { channel, to, shape } => self.receive(channel, to, shape, None),
            Op::TryRecv {
                to,
                channel,
                values,
                shape,
            } => self.receive(channel, values, shape, Some(to)),
            Op::Len { to, channel, shape } => {
                let shape = self.shape(shape);
                let cell = self.cell(channel, slots(shape));
                self.synchronise(cell, Writes::No, kind::POLL);
                let mut count = self.load(cell, 0);
                if shape.capacity == 0 {
                    let offered = self.constant(rendezvous::OFFERED);
                    count = self.compare(IntCC::Equal, count, offered);
                }
                self.set(to, count);
            }
            Op::Choose { to, low, high } => {
                let (low, high) = (self.get(low), self.get(high));
                let is_one = self.compare(IntCC::SignedLessThanOrEqual, low, high);
                self.unless(is_one, Exit::GiveUp);
                let alternatives = self.builder.ins().isub(high, low);
                let alternatives = self.builder.ins().iadd_imm_s(alternatives, 1);
                let pick = self.pick(alternatives);
                let value = self.builder.ins().iadd(low, pick);
                self.set(to, value);
            }
            Op::ChooseBelow { to, below } => {
                let alternatives = self.constant(below.into());
                self.unless(alternatives, Exit::GiveUp);
                let pick = self.pick(alternatives);
                self.set(to, pick);
            }
            Op::Wait {
                object,
                mutex,
                saved,
                kind,
            } => self.wait(object, mutex, saved, kind),
            Op::Resume {
                object,
                mutex,
                saved,
                kind,
            } => self.resume(object, mutex, saved, kind),
            Op::Notify {
                object,
                all,
                monitor,
            } => self.notify(object, all, monitor),
            other => unreachable!("{other:?} is not compiled"),
        }
    }

    /// Puts a message into a channel: waits until there is room, or says in a register whether there is.
    fn send(&mut self, channel: Reg, values: Reg, shape: u16, tried: Option<Reg>) {
        let shape = self.shape(shape);
        let (cell, count, room) = self.has_room(channel, shape);
        self.if_possible(cell, room, kind::SEND, tried, |emitter| {
            emitter.put_message(cell, count, values, shape);
        });
    }

    /// Takes a message out of a channel: waits until there is one, or says in a register whether there is.
    fn receive(&mut self, channel: Reg, values: Reg, shape: u16, tried: Option<Reg>) {
        let shape = self.shape(shape);
        let (cell, count, ready) = self.has_message(channel, shape);
        self.if_possible(cell, ready, kind::RECEIVE, tried, |emitter| {
            emitter.take_message(cell, count, values, shape);
        });
    }

    /// An operation on a channel that waits until it is possible, or is only tried.
    fn if_possible(
        &mut self,
        cell: Cell,
        possible: Value,
        kind: i64,
        tried: Option<Reg>,
        operation: impl FnOnce(&mut Self),
    ) {
        match tried {
            None => {
                self.synchronise(cell, Writes::If(possible), kind);
                self.block_unless(possible);
                operation(self);
            }
            Some(to) => {
                self.synchronise(cell, Writes::If(possible), kind::POLL);
                self.when(possible, operation);
                self.set(to, possible);
            }
        }
    }

    /// A channel, its count, and whether there is room for a message.
    fn has_room(&mut self, channel: Reg, shape: ChannelShape) -> (Cell, Value, Value) {
        let cell = self.cell(channel, slots(shape));
        let count = self.load(cell, 0);
        // A rendezvous has room while it is idle.
        let capacity = i64::from(shape.capacity.max(1));
        let room = (self.builder.ins()).icmp_imm_s(IntCC::UnsignedLessThan, count, capacity);
        (cell, count, self.bit(room))
    }

    fn put_message(&mut self, cell: Cell, count: Value, values: Reg, shape: ChannelShape) {
        let width = usize::from(shape.values);
        for index in 0..width {
            let value = self.get(values + index as Reg);
            if shape.capacity <= 1 {
                self.store(cell, 1 + index, value);
                continue;
            }
            let behind = self.builder.ins().imul_imm_s(count, width as i64);
            let message = self.behind(cell, behind);
            self.store(message, 1 + index, value);
        }
        let more = self.builder.ins().iadd_imm_s(count, 1);
        self.store(cell, 0, more);
    }

    /// A channel, its count, and whether there is a message.
    fn has_message(&mut self, channel: Reg, shape: ChannelShape) -> (Cell, Value, Value) {
        let cell = self.cell(channel, slots(shape));
        let count = self.load(cell, 0);
        let limit = match shape.capacity {
            0 => self.constant(rendezvous::OFFERED),
            _ => self.constant(0),
        };
        let condition = match shape.capacity {
            0 => IntCC::Equal,
            _ => IntCC::SignedGreaterThan,
        };
        let ready = self.compare(condition, count, limit);
        (cell, count, ready)
    }

    /// Takes the oldest message. Behind the messages of a channel, all is zero, so that all can be moved.
    fn take_message(&mut self, cell: Cell, count: Value, to: Reg, shape: ChannelShape) {
        let width = usize::from(shape.values);
        for index in 0..width {
            let value = self.load(cell, 1 + index);
            self.set(to + index as Reg, value);
        }
        let all = usize::from(shape.capacity).max(1) * width;
        for slot in 1..=all {
            let value = match slot + width <= all {
                true => self.load(cell, slot + width),
                false => self.constant(0),
            };
            self.store(cell, slot, value);
        }
        let count = match shape.capacity {
            0 => self.constant(rendezvous::TAKEN),
            _ => self.builder.ins().iadd_imm_s(count, -1),
        };
        self.store(cell, 0, count);
    }

    /// One of that many alternatives.
    fn pick(&mut self, alternatives: Value) -> Value {
        let frame = self.frame;
        let offset = std::mem::offset_of!(NativeFrame, picked) as i32;
        let picked = self.builder.ins().load(I64, trusted(), frame, offset);
        self.below(picked, MOST_PICKS as i64);
        let more = self.builder.ins().iadd_imm_s(picked, 1);
        self.builder.ins().store(trusted(), more, frame, offset);
        let offset = std::mem::offset_of!(NativeFrame, choice) as i32;
        let choice = self.builder.ins().load(I64, trusted(), frame, offset);
        let pick = self.builder.ins().urem(choice, alternatives);
        let rest = self.builder.ins().udiv(choice, alternatives);
        self.builder.ins().store(trusted(), rest, frame, offset);
        let bytes = (self.builder.ins()).imul_imm_s(picked, size_of::<Pick>() as i64);
        let at = self.builder.ins().iadd(frame, bytes);
        let first = std::mem::offset_of!(NativeFrame, picks);
        let offset = (first + std::mem::offset_of!(Pick, pick)) as i32;
        self.builder.ins().store(trusted(), pick, at, offset);
        let offset = (first + std::mem::offset_of!(Pick, of)) as i32;
        (self.builder.ins()).store(trusted(), alternatives, at, offset);
        pick
    }

    /// Gives up the mutex. The thread is among the waiters of the object then.
    fn wait(&mut self, object: Reg, mutex: Reg, saved: Reg, kind: LockKind) {
        let same = self.is_same(object, mutex);
        let of_object = self.cell(object, 1);
        let of_mutex = self.cell(mutex, 1 + usize::from(kind == LockKind::Reentrant));
        self.synchronise(of_object, Writes::Yes, kind::WAIT);
        if !same {
            self.synchronise(of_mutex, Writes::Yes, kind::RELEASE);
        }
        let (owner, me) = (self.load(of_mutex, 0), self.me());
        let mine = self.compare(IntCC::Equal, owner, me);
        self.unless(mine, Exit::GiveUp);
        let zero = self.constant(0);
        self.store(of_mutex, 0, zero);
        let count = match kind {
            LockKind::Plain => self.constant(1),
            LockKind::Reentrant => {
                let count = self.load(of_mutex, 1);
                self.store(of_mutex, 1, zero);
                count
            }
        };
        self.set(saved, count);
    }

    /// Whether two registers refer to the same object. Gives up if that is to be seen only when the code runs, and it is so.
    fn is_same(&mut self, object: Reg, mutex: Reg) -> bool {
        if object == mutex {
            return true;
        }
        match (self.known(object), self.known(mutex)) {
            (Some(object), Some(mutex)) => object == mutex,
            _ => {
                let (object, mutex) = (self.get(object), self.get(mutex));
                let differ = self.compare(IntCC::NotEqual, object, mutex);
                self.unless(differ, Exit::GiveUp);
                false
            }
        }
    }

    /// The step of a thread that is among the waiters of an object.
    pub(super) fn wait_on(&mut self, object: Reg) {
        let cell = self.cell(object, 1);
        self.synchronise(cell, Writes::No, kind::RESUME);
        let exit = self.exit(Exit::Block);
        self.builder.ins().jump(exit, &[]);
    }

    /// Takes the mutex again, as often as before.
    fn resume(&mut self, object: Reg, mutex: Reg, saved: Reg, kind: LockKind) {
        let of_object = self.cell(object, 1);
        self.synchronise(of_object, Writes::No, kind::RESUME);
        let (of_mutex, free) = self.is_free(mutex, kind);
        self.synchronise(of_mutex, Writes::Yes, kind::RESUME);
        self.block_unless(free);
        self.own(of_mutex);
        if kind == LockKind::Reentrant {
            let (count, saved) = (self.load(of_mutex, 1), self.get(saved));
            let count = self.builder.ins().iadd(count, saved);
            self.store(of_mutex, 1, count);
        }
    }

    /// Wakes one waiter of an object, or all.
    fn notify(&mut self, object: Reg, all: bool, monitor: bool) {
        let cell = self.cell(object, 1);
        if monitor {
            let (owner, me) = (self.load(cell, 0), self.me());
            let mine = self.compare(IntCC::Equal, owner, me);
            self.unless(mine, Exit::GiveUp);
        }
        let object = self.get(object);
        let [count, left] = [I64; 2].map(|ty| self.builder.declare_var(ty));
        let zero = self.constant(0);
        self.builder.def_var(count, zero);
        self.for_each_thread(&mut |emitter, area| {
            let waiting = emitter.waits_for(area, object);
            let before = emitter.builder.use_var(count);
            let more = emitter.builder.ins().iadd(before, waiting);
            emitter.builder.def_var(count, more);
        });
        let waiters = self.builder.use_var(count);
        let some = self.compare(IntCC::NotEqual, waiters, zero);
        self.synchronise(cell, Writes::If(some), kind::NOTIFY);
        self.when(some, |emitter| {
            if !all {
                let picked = emitter.pick(waiters);
                emitter.builder.def_var(left, picked);
            }
            emitter.wakes();
            emitter.for_each_thread(&mut |emitter, area| {
                let waiting = emitter.waits_for(area, object);
                let is_next = match all {
                    true => waiting,
                    false => {
                        let before = emitter.builder.use_var(left);
                        let none_left = emitter.is_zero(before);
                        let is_next = emitter.builder.ins().band(waiting, none_left);
                        let after = emitter.builder.ins().isub(before, waiting);
                        emitter.builder.def_var(left, after);
                        is_next
                    }
                };
                emitter.when(is_next, |emitter| emitter.wake(area));
            });
        });
    }

    /// Tells the caller that other threads have changed.
    fn wakes(&mut self) {
        let one = self.constant(1);
        let offset = std::mem::offset_of!(NativeFrame, wakes) as i32;
        let frame = self.frame;
        self.builder.ins().store(trusted(), one, frame, offset);
    }

    /// Emits something for the area of each thread.
    fn for_each_thread(&mut self, emit: &mut dyn FnMut(&mut Self, Value)) {
        let layout = &self.compiling.bytecode.layout;
        for area in &layout.areas {
            let area = (self.builder.ins()).iadd_imm_s(self.state, i64::from(*area));
            emit(self, area);
        }
        let Some(spawned) = layout.spawned else {
            return;
        };
        let first = 8 * layout.size as i64;
        let offset = std::mem::offset_of!(NativeFrame, spawned) as i32;
        let frame = self.frame;
        let all = self.builder.ins().load(I64, trusted(), frame, offset);
        self.when(all, |emitter| {
            emitter.for_each(all, |emitter, number| {
                let bytes = (emitter.builder.ins()).imul_imm_s(number, 8 * spawned.words as i64);
                let area = emitter.builder.ins().iadd(emitter.state, bytes);
                let area = emitter.builder.ins().iadd_imm_s(area, first);
                emit(emitter, area);
            });
        });
    }

    /// The entry of a table for the stop of the thread with an area.
    fn entry_for_stop(&mut self, area: Value, table: i64, bits: i64) -> Value {
        let stop = self.compiling.bytecode.layout.stop;
        let number = self.read_code(area, stop);
        let table = self.constant(table);
        let bytes = self.builder.ins().ishl_imm_s(number, bits);
        self.builder.ins().iadd(table, bytes)
    }

    /// Whether the thread with an area is among the waiters of an object. Gives up if that is not to be seen.
    fn waits_for(&mut self, area: Value, object: Value) -> Value {
        let entry = self.entry_for_stop(area, self.tables.waits.as_ptr() as i64, 3);
        let known = self.builder.ins().load(I64, trusted(), entry, 0);
        let unknown = self.constant(crate::tables::UNKNOWN);
        let is_unknown = self.compare(IntCC::Equal, known, unknown);
        let waits_for = self.either(is_unknown, |emitter, is_unknown| {
            if !is_unknown {
                return known;
            }
            // It is in one of its registers.
            let table = emitter.tables.waits_at.as_ptr() as i64;
            let entry = emitter.entry_for_stop(area, table, 2);
            let field = emitter.builder.ins().uload32(trusted(), entry, 0);
            emitter.unless(field, Exit::GiveUp);
            let is_wide = emitter.builder.ins().band_imm_s(field, 1);
            let byte = emitter.builder.ins().ushr_imm_s(field, 1);
            let at = emitter.builder.ins().iadd(area, byte);
            emitter.either(is_wide, |emitter, wide| {
                emitter.read(at, Field { byte: 0, wide })
            })
        });
        self.compare(IntCC::Equal, waits_for, object)
    }

    /// Takes the thread with an area out of the waiters.
    fn wake(&mut self, area: Value) {
        let entry = self.entry_for_stop(area, self.tables.notified.as_ptr() as i64, 1);
        let notified = (self.builder.ins()).uload16(I64, trusted(), entry, 0);
        let nowhere = self.constant(crate::tables::NOWHERE.into());
        let fits = self.compare(IntCC::NotEqual, notified, nowhere);
        self.unless(fits, Exit::GiveUp);
        let stop = self.compiling.bytecode.layout.stop;
        self.write_code(area, stop, notified);
    }
}
