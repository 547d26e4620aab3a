//! What a step does to shared memory: accesses to globals, and operations on locks and semaphores.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::I64;
use cranelift_codegen::ir::{InstBuilder, Value};
use raddle_machine::native::{MOST_ACCESSES, NativeAccess, NativeFrame};
use raddle_machine::op::{LockKind, Op, Reg};

use super::{Emitter, Exit, trusted};
use crate::status;

/// The numbers of kinds of accesses.
mod kind {
    pub(super) const PLAIN: i64 = 0;
    pub(super) const ATOMIC: i64 = 1;
    pub(super) const ACQUIRE: i64 = 2;
    pub(super) const RELEASE: i64 = 3;
    pub(super) const TRY: i64 = 4;
    pub(super) const DOWN: i64 = 5;
    pub(super) const UP: i64 = 6;
}

/// A global slot that exists.
#[derive(Clone, Copy)]
struct Cell {
    /// Its number, if it is known.
    known: Option<usize>,
    slot: Value,
    address: Value,
    offset: i32,
}

/// Whether an access writes.
#[derive(Clone, Copy)]
enum Writes {
    No,
    Yes,
    /// If this is 1, not if it is 0.
    If(Value),
}

impl Emitter<'_> {
    fn known_cell(&mut self, slot: usize) -> Cell {
        Cell {
            known: Some(slot),
            slot: self.constant(slot as i64),
            address: self.words,
            offset: slot as i32 * 8,
        }
    }

    /// The slot `first + index` of an object of so many slots.
    fn computed_cell(&mut self, first: usize, index: Value, slots: usize) -> Cell {
        let room = (self.bytecode.globals + 1).saturating_sub(first + slots);
        self.below(index, room as i64);
        let slot = match first {
            0 => index,
            _ => self.builder.ins().iadd_imm_s(index, first as i64),
        };
        let bytes = self.builder.ins().ishl_imm_s(index, 3);
        Cell {
            known: None,
            slot,
            address: self.builder.ins().iadd(self.words, bytes),
            offset: first as i32 * 8,
        }
    }

    /// What a register refers to, of so many slots. Gives up if that is no global.
    fn cell(&mut self, reference: Reg, slots: usize) -> Cell {
        let first = self.bytecode.global_reference;
        if let Some(reference) = self.known(reference) {
            let slot = reference.wrapping_sub(first) as u64 as usize;
            if slot.saturating_add(slots) <= self.bytecode.globals {
                return self.known_cell(slot);
            }
        }
        let reference = self.get(reference);
        let first = self.constant(first);
        let index = self.builder.ins().isub(reference, first);
        self.computed_cell(0, index, slots)
    }

    fn load(&mut self, cell: Cell, further: i32) -> Value {
        let offset = cell.offset + further * 8;
        (self.builder.ins()).load(I64, trusted(), cell.address, offset)
    }

    fn store(&mut self, cell: Cell, further: i32, value: Value) {
        let offset = cell.offset + further * 8;
        (self.builder.ins()).store(trusted(), value, cell.address, offset);
    }

    /// Writes an access down.
    fn access(&mut self, cell: Cell, writes: Writes, kind: Value) {
        let first = std::mem::offset_of!(NativeFrame, accesses) as i64;
        let size = size_of::<NativeAccess>() as i64;
        let at = if self.has_one_operation() {
            let one = self.constant(1);
            let count = std::mem::offset_of!(NativeFrame, count) as i32;
            let frame = self.frame;
            self.builder.ins().store(trusted(), one, frame, count);
            self.builder.ins().iadd_imm_s(frame, first)
        } else {
            let count = self.builder.use_var(self.count);
            self.below(count, MOST_ACCESSES as i64);
            let more = self.builder.ins().iadd_imm_s(count, 1);
            self.builder.def_var(self.count, more);
            let bytes = self.builder.ins().imul_imm_s(count, size);
            let at = self.builder.ins().iadd(self.frame, bytes);
            self.builder.ins().iadd_imm_s(at, first)
        };
        let location = std::mem::offset_of!(NativeAccess, location) as i32;
        self.builder.ins().store(trusted(), cell.slot, at, location);
        let kind = self.builder.ins().ishl_imm_s(kind, 8);
        let place = i64::from(self.node.pc) << 16;
        let rest = match writes {
            Writes::No => self.builder.ins().bor_imm_s(kind, place),
            Writes::Yes => self.builder.ins().bor_imm_s(kind, place | 1),
            Writes::If(value) => {
                let rest = self.builder.ins().bor_imm_s(kind, place);
                self.builder.ins().bor(rest, value)
            }
        };
        let offset = std::mem::offset_of!(NativeAccess, rest) as i32;
        self.builder.ins().store(trusted(), rest, at, offset);
    }

    fn synchronise(&mut self, cell: Cell, writes: Writes, kind: i64) {
        let kind = self.constant(kind);
        self.access(cell, writes, kind);
    }

    /// The kind of an access to data.
    fn data_kind(&mut self, cell: Cell, atomic: bool) -> Value {
        let slots = self.atomic_slots;
        let kind = match cell.known {
            _ if atomic || self.node.depth > 0 => Some(kind::ATOMIC),
            Some(slot) => Some(slots[slot].into()),
            None if slots.iter().all(|slot| *slot == 0) => Some(kind::PLAIN),
            None if slots.iter().all(|slot| *slot == 1) => Some(kind::ATOMIC),
            None => None,
        };
        match kind {
            Some(kind) => self.constant(kind),
            None => {
                let table = self.constant(slots.as_ptr() as i64);
                let entry = self.builder.ins().iadd(table, cell.slot);
                self.builder.ins().uload8(I64, trusted(), entry, 0)
            }
        }
    }

    fn touch(&mut self, cell: Cell, writes: Writes, atomic: bool) {
        let kind = self.data_kind(cell, atomic);
        self.access(cell, writes, kind);
    }

    fn me(&mut self) -> Value {
        let offset = std::mem::offset_of!(NativeFrame, me) as i32;
        let frame = self.frame;
        self.builder.ins().load(I64, trusted(), frame, offset)
    }

    /// Leaves the function unless an operation was possible.
    fn block_unless(&mut self, possible: Value) {
        let exit = Exit {
            status: status::BLOCKED,
            pc: self.node.pc,
        };
        self.unless(possible, exit);
    }

    pub(super) fn shared(&mut self, op: Op) {
        match op {
            Op::Load { to, slot } => {
                let cell = self.known_cell(slot.into());
                self.touch(cell, Writes::No, false);
                let value = self.load(cell, 0);
                self.set(to, value);
            }
            Op::LoadElement { to, slot, index } => {
                let index = self.get(index);
                let cell = self.computed_cell(slot.into(), index, 1);
                self.touch(cell, Writes::No, false);
                let value = self.load(cell, 0);
                self.set(to, value);
            }
            Op::LoadAt { to, reference } | Op::AtomicLoad { to, reference } => {
                let cell = self.cell(reference, 1);
                self.touch(cell, Writes::No, matches!(op, Op::AtomicLoad { .. }));
                let value = self.load(cell, 0);
                self.set(to, value);
            }
            Op::Store { slot, from } => {
                let cell = self.known_cell(slot.into());
                self.touch(cell, Writes::Yes, false);
                let value = self.get(from);
                self.store(cell, 0, value);
            }
            Op::StoreElement { slot, index, from } => {
                let index = self.get(index);
                let cell = self.computed_cell(slot.into(), index, 1);
                self.touch(cell, Writes::Yes, false);
                let value = self.get(from);
                self.store(cell, 0, value);
            }
            Op::StoreAt { reference, from } | Op::AtomicStore { reference, from } => {
                let cell = self.cell(reference, 1);
                self.touch(cell, Writes::Yes, matches!(op, Op::AtomicStore { .. }));
                let value = self.get(from);
                self.store(cell, 0, value);
            }
            Op::Cas {
                to,
                reference,
                expected,
            } => {
                let cell = self.cell(reference, 1);
                let (old, expects) = (self.load(cell, 0), self.get(expected));
                let equal = self.compare(IntCC::Equal, old, expects);
                self.touch(cell, Writes::If(equal), true);
                let new = self.get(expected + 1);
                let new = self.builder.ins().select(equal, new, old);
                self.store(cell, 0, new);
                self.set(to, equal);
            }
            Op::Update {
                op,
                int,
                to,
                reference,
                operand,
                fit,
            } => {
                let cell = self.cell(reference, 1);
                self.touch(cell, Writes::Yes, true);
                let old = self.load(cell, 0);
                let operand = self.get(operand);
                let (a, b) = (self.wrap(old, int), self.wrap(operand, int));
                let new = self.binary(op, int, a, b);
                let new = self.fit(new, fit);
                self.store(cell, 0, new);
                self.set(to, old);
            }
            Op::Swap {
                to,
                reference,
                from,
            } => {
                let cell = self.cell(reference, 1);
                self.touch(cell, Writes::Yes, true);
                let old = self.load(cell, 0);
                let new = self.get(from);
                self.store(cell, 0, new);
                self.set(to, old);
            }
            other => self.synchronisation(other),
        }
    }

    fn synchronisation(&mut self, op: Op) {
        match op {
            Op::Lock { mutex, kind } => {
                let (cell, taken) = self.take(mutex, kind);
                self.synchronise(cell, Writes::If(taken), kind::ACQUIRE);
                self.block_unless(taken);
            }
            Op::TryLock { to, mutex, kind } => {
                let (cell, taken) = self.take(mutex, kind);
                self.synchronise(cell, Writes::If(taken), kind::TRY);
                self.set(to, taken);
            }
            Op::Unlock { mutex, kind } => self.unlock(mutex, kind),
            Op::WriteLock { lock } => {
                let (cell, taken) = self.write_lock(lock);
                self.synchronise(cell, Writes::If(taken), kind::ACQUIRE);
                self.block_unless(taken);
            }
            Op::TryWriteLock { to, lock } => {
                let (cell, taken) = self.write_lock(lock);
                self.synchronise(cell, Writes::If(taken), kind::TRY);
                self.set(to, taken);
            }
            Op::UnlockRw { lock } => {
                // Who holds it for reading, the interpreter knows.
                let cell = self.cell(lock, 2);
                let (writer, me) = (self.load(cell, 0), self.me());
                let mine = self.compare(IntCC::Equal, writer, me);
                self.unless(mine, Exit::GIVE_UP);
                self.synchronise(cell, Writes::Yes, kind::RELEASE);
                let nobody = self.constant(0);
                self.store(cell, 0, nobody);
            }
            Op::Down { semaphore } => {
                let (cell, taken) = self.down(semaphore);
                self.synchronise(cell, Writes::If(taken), kind::DOWN);
                self.block_unless(taken);
            }
            Op::TryDown { to, semaphore } => {
                let (cell, taken) = self.down(semaphore);
                self.synchronise(cell, Writes::If(taken), kind::TRY);
                self.set(to, taken);
            }
            Op::Up { semaphore } => {
                let cell = self.cell(semaphore, 1);
                self.synchronise(cell, Writes::Yes, kind::UP);
                let count = self.load(cell, 0);
                let more = self.builder.ins().iadd_imm_s(count, 1);
                let most = self.constant(i32::MAX.into());
                let more = self.builder.ins().smin(more, most);
                self.store(cell, 0, more);
            }
            other => unreachable!("{other:?} is not compiled"),
        }
    }

    /// Takes a mutex if it is free for the thread; says which it is, and whether it was.
    fn take(&mut self, mutex: Reg, kind: LockKind) -> (Cell, Value) {
        let me = self.me();
        match kind {
            LockKind::Plain => {
                let cell = self.cell(mutex, 1);
                let owner = self.load(cell, 0);
                let free = self.is_zero(owner);
                let owner = self.builder.ins().select(free, me, owner);
                self.store(cell, 0, owner);
                (cell, free)
            }
            LockKind::Reentrant => {
                let cell = self.cell(mutex, 2);
                let (owner, count) = (self.load(cell, 0), self.load(cell, 1));
                let (nobody, mine) = (self.is_zero(owner), self.compare(IntCC::Equal, owner, me));
                let free = self.builder.ins().bor(nobody, mine);
                let owner = self.builder.ins().select(free, me, owner);
                self.store(cell, 0, owner);
                let count = self.builder.ins().iadd(count, free);
                self.store(cell, 1, count);
                (cell, free)
            }
        }
    }

    fn unlock(&mut self, mutex: Reg, kind: LockKind) {
        let me = self.me();
        let cell = self.cell(mutex, 1 + usize::from(kind == LockKind::Reentrant));
        let owner = self.load(cell, 0);
        let mine = self.compare(IntCC::Equal, owner, me);
        self.unless(mine, Exit::GIVE_UP);
        self.synchronise(cell, Writes::Yes, kind::RELEASE);
        let mut owner = self.constant(0);
        if kind == LockKind::Reentrant {
            let count = self.load(cell, 1);
            let count = self.builder.ins().iadd_imm_s(count, -1);
            self.store(cell, 1, count);
            let zero = owner;
            let held = self.compare(IntCC::SignedGreaterThan, count, zero);
            owner = self.builder.ins().select(held, me, zero);
        }
        self.store(cell, 0, owner);
    }

    fn write_lock(&mut self, lock: Reg) -> (Cell, Value) {
        let me = self.me();
        let cell = self.cell(lock, 2);
        let (writer, readers) = (self.load(cell, 0), self.load(cell, 1));
        let users = self.builder.ins().bor(writer, readers);
        let free = self.is_zero(users);
        let writer = self.builder.ins().select(free, me, writer);
        self.store(cell, 0, writer);
        (cell, free)
    }

    fn down(&mut self, semaphore: Reg) -> (Cell, Value) {
        let cell = self.cell(semaphore, 1);
        let (count, zero) = (self.load(cell, 0), self.constant(0));
        let positive = self.compare(IntCC::SignedGreaterThan, count, zero);
        let count = self.builder.ins().isub(count, positive);
        self.store(cell, 0, count);
        (cell, positive)
    }

    fn is_zero(&mut self, value: Value) -> Value {
        let zero = self.builder.ins().icmp_imm_s(IntCC::Equal, value, 0);
        self.builder.ins().uextend(I64, zero)
    }
}
