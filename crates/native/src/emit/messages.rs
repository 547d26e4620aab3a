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
            let slot = self.builder.ins().iadd(cell.slot, behind);
            let message = Cell { known: None, slot };
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
        let threads = self.stops();
        let mut waits = Vec::new();
        let mut count = self.constant(0);
        for stop in &threads {
            let waiting = self.waits_for(*stop, cell);
            count = self.builder.ins().iadd(count, waiting);
            waits.push(waiting);
        }
        let zero = self.constant(0);
        let some = self.compare(IntCC::NotEqual, count, zero);
        self.synchronise(cell, Writes::If(some), kind::NOTIFY);
        self.when(some, |emitter| {
            let mut left = match all {
                true => emitter.constant(0),
                false => emitter.pick(count),
            };
            emitter.wakes();
            for (stop, waiting) in threads.iter().zip(waits) {
                let is_next = match all {
                    true => waiting,
                    false => {
                        let none_left = emitter.is_zero(left);
                        let is_next = emitter.builder.ins().band(waiting, none_left);
                        left = emitter.builder.ins().isub(left, waiting);
                        is_next
                    }
                };
                emitter.when(is_next, |emitter| emitter.wake(*stop));
            }
        });
    }

    /// Tells the caller that other threads have changed.
    fn wakes(&mut self) {
        let one = self.constant(1);
        let offset = std::mem::offset_of!(NativeFrame, wakes) as i32;
        let frame = self.frame;
        self.builder.ins().store(trusted(), one, frame, offset);
    }

    /// The number of the stop of each thread.
    fn stops(&self) -> Vec<Field> {
        let layout = &self.compiling.bytecode.layout;
        let stops = layout.areas.iter().map(|area| Field {
            byte: area + layout.stop.byte,
            wide: layout.stop.wide,
        });
        stops.collect()
    }

    /// Whether the thread whose number is there is among the waiters of an object.
    fn waits_for(&mut self, stop: Field, cell: Cell) -> Value {
        let number = self.read_code(self.state, stop);
        let table = self.constant(self.tables.waits.as_ptr() as i64);
        let bytes = self.builder.ins().ishl_imm_s(number, 3);
        let entry = self.builder.ins().iadd(table, bytes);
        let object = self.builder.ins().load(I64, trusted(), entry, 0);
        // Which object it waits for is to be found in its registers.
        let unknown = self.constant(crate::tables::UNKNOWN);
        let is_known = self.compare(IntCC::NotEqual, object, unknown);
        self.unless(is_known, Exit::GiveUp);
        self.compare(IntCC::Equal, object, cell.slot)
    }

    /// Takes the thread out of the waiters.
    fn wake(&mut self, stop: Field) {
        let number = self.read_code(self.state, stop);
        let table = self.constant(self.tables.notified.as_ptr() as i64);
        let bytes = self.builder.ins().ishl_imm_s(number, 1);
        let entry = self.builder.ins().iadd(table, bytes);
        let notified = (self.builder.ins()).uload16(I64, trusted(), entry, 0);
        let nowhere = self.constant(crate::tables::NOWHERE.into());
        let fits = self.compare(IntCC::NotEqual, notified, nowhere);
        self.unless(fits, Exit::GiveUp);
        self.write_code(self.state, stop, notified);
    }
}
