//! What a step does to shared memory: accesses to globals and objects, and operations on locks and semaphores. Channels, waiting and choices are in
//! [`messages`](super::messages).

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::I64;
use cranelift_codegen::ir::{InstBuilder, Value};
use raddle_machine::native::{Field, Layout, code_of};
use raddle_machine::op::{LockKind, Op, Reg};

use super::heap::InObject;
use super::{Emitter, Exit, trusted};
use crate::frame::{MOST_ACCESSES, NativeAccess, NativeFrame, kind};

/// A global slot that exists, or one of an object.
#[derive(Clone, Copy)]
pub(super) struct Cell {
    /// The number of the global slot, if it is known.
    pub(super) known: Option<usize>,
    /// The number of the global slot; 0 if it is none.
    pub(super) slot: Value,
    /// Where it is if it is in an object, and that it is.
    pub(super) object: Option<(InObject, Value)>,
}

/// What is at an address.
const ONE_BYTE: Field = Field {
    byte: 0,
    wide: false,
};

/// Whether an access writes.
#[derive(Clone, Copy)]
pub(super) enum Writes {
    No,
    Yes,
    /// If this is 1, not if it is 0.
    If(Value),
}

/// Where a slot is.
pub(super) enum Spot {
    Known(Field),
    /// Behind this address, and whether all slots that it may be are wide.
    Computed(Value, bool),
    /// The same, with a condition that says whether it is wide.
    Either(Value, Value),
}

impl Emitter<'_> {
    pub(super) fn slots(&self) -> &[Field] {
        &self.compiling.bytecode.layout.slots
    }

    pub(super) fn known_cell(&mut self, slot: usize) -> Cell {
        Cell {
            known: Some(slot),
            slot: self.constant(slot as i64),
            object: None,
        }
    }

    /// The slot `first + index` of an object of so many slots.
    pub(super) fn computed_cell(&mut self, first: usize, index: Value, slots: usize) -> Cell {
        let room = (self.slots().len() + 1).saturating_sub(first + slots);
        self.below(index, room as i64);
        let slot = match first {
            0 => index,
            _ => self.builder.ins().iadd_imm_s(index, first as i64),
        };
        Cell {
            known: None,
            slot,
            object: None,
        }
    }

    /// What a register refers to, of so many slots. Gives up if that is neither a global nor an object that is there.
    pub(super) fn cell(&mut self, reference: Reg, slots: usize) -> Cell {
        let first = self.compiling.bytecode.global_reference;
        if let Some(reference) = self.known(reference) {
            let slot = reference.wrapping_sub(first) as u64 as usize;
            if slot.saturating_add(slots) <= self.slots().len() {
                return self.known_cell(slot);
            }
        }
        let reference = self.get(reference);
        let first = self.constant(first);
        let index = self.builder.ins().isub(reference, first);
        if self.compiling.bytecode.layout.heap.is_none() {
            return self.computed_cell(0, index, slots);
        }
        let object = self.in_object(reference);
        let room = (self.slots().len() + 1).saturating_sub(slots) as i64;
        let room = self.constant(room);
        let is_global = self.compare(IntCC::UnsignedLessThan, index, room);
        let is_there = self.is_there(object, slots);
        let exists = (self.builder.ins()).select(object.is_it, is_there, is_global);
        self.unless(exists, Exit::GiveUp);
        let zero = self.constant(0);
        let slot = self.builder.ins().select(object.is_it, zero, index);
        let address = self.address(object);
        Cell {
            known: None,
            slot,
            object: Some((object, address)),
        }
    }

    /// Where the slot is that is so many behind one.
    fn spot(&mut self, cell: Cell, further: usize) -> Spot {
        if let Some(slot) = cell.known {
            return Spot::Known(self.slots()[slot + further]);
        }
        if let Some((object, address)) = cell.object {
            return self.spot_of_either(object, address, cell.slot, further);
        }
        let slot = match further {
            0 => cell.slot,
            _ => self.builder.ins().iadd_imm_s(cell.slot, further as i64),
        };
        let entry = self.entry_of(slot);
        let byte = self.builder.ins().ushr_imm_s(entry, 1);
        let address = self.builder.ins().iadd(self.state, byte);
        let wide = self.slots().first().is_some_and(|field| field.wide);
        match self.slots().iter().all(|field| field.wide == wide) {
            true => Spot::Computed(address, wide),
            false => Spot::Either(address, self.builder.ins().band_imm_s(entry, 1)),
        }
    }

    /// The value of a slot.
    pub(super) fn load(&mut self, cell: Cell, further: usize) -> Value {
        let at = |wide| Field { byte: 0, wide };
        match self.spot(cell, further) {
            Spot::Known(field) => self.read(self.state, field),
            Spot::Computed(address, wide) => self.read(address, at(wide)),
            Spot::Either(address, is_wide) => {
                self.either(is_wide, |emitter, wide| emitter.read(address, at(wide)))
            }
        }
    }

    pub(super) fn store(&mut self, cell: Cell, further: usize, value: Value) {
        let at = |wide| Field { byte: 0, wide };
        match self.spot(cell, further) {
            Spot::Known(field) => self.write(self.state, field, value),
            Spot::Computed(address, wide) => self.write(address, at(wide), value),
            Spot::Either(address, is_wide) => {
                self.either(is_wide, |emitter, wide| {
                    emitter.write(address, at(wide), value);
                    value
                });
            }
        }
    }

    /// Writes an access to a slot down.
    pub(super) fn access(&mut self, cell: Cell, writes: Writes, kind: Value) {
        let location = match cell.object {
            None => cell.slot,
            Some((object, _)) => {
                let location = self.location(object);
                (self.builder.ins()).select(object.is_it, location, cell.slot)
            }
        };
        self.write_down(location, writes, kind);
        match writes {
            Writes::No => {}
            Writes::Yes => self.change(cell, None),
            Writes::If(value) => self.change(cell, Some(value)),
        }
    }

    /// Writes an access to any location down.
    pub(super) fn write_down(&mut self, location: Value, writes: Writes, kind: Value) {
        let first = std::mem::offset_of!(NativeFrame, accesses) as i64;
        let size = size_of::<NativeAccess>() as i64;
        let at = if self.has_one_access() {
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
        let offset = std::mem::offset_of!(NativeAccess, location) as i32;
        self.builder.ins().store(trusted(), location, at, offset);
        let place = i64::from(self.here().pc) << 16;
        let rest = match self.constants.get(&kind) {
            Some(kind) => self.constant(kind << 8 | place),
            None => {
                let kind = self.builder.ins().ishl_imm_s(kind, 8);
                self.builder.ins().bor_imm_s(kind, place)
            }
        };
        let is_plain = self
            .constants
            .get(&kind)
            .is_none_or(|kind| *kind == kind::PLAIN);
        self.writes_plainly |= is_plain && !matches!(writes, Writes::No);
        let rest = match writes {
            Writes::No => rest,
            Writes::Yes => match self.constants.get(&rest) {
                Some(known) => self.constant(known | 1),
                None => self.builder.ins().bor_imm_s(rest, 1),
            },
            Writes::If(value) => self.builder.ins().bor(rest, value),
        };
        let offset = std::mem::offset_of!(NativeAccess, rest) as i32;
        self.builder.ins().store(trusted(), rest, at, offset);
    }

    /// Notes which parts a write to a slot changes, if it is made.
    fn change(&mut self, cell: Cell, made: Option<Value>) {
        let changes = &self.tables.changes;
        let parts = match cell.known {
            Some(slot) => self.constant(changes[slot] as i64),
            None => {
                let table = self.constant(changes.as_ptr() as i64);
                let bytes = self.builder.ins().ishl_imm_s(cell.slot, 3);
                let entry = self.builder.ins().iadd(table, bytes);
                self.builder.ins().load(I64, trusted(), entry, 0)
            }
        };
        let parts = match cell.object {
            None => parts,
            Some((object, _)) => {
                let part = self.bit_of(object);
                self.builder.ins().select(object.is_it, part, parts)
            }
        };
        let parts = match made {
            None => parts,
            Some(made) => {
                let mask = self.builder.ins().ineg(made);
                self.builder.ins().band(parts, mask)
            }
        };
        self.change_parts(parts);
    }

    /// Notes that parts are changed, by their bits.
    pub(super) fn change_parts(&mut self, parts: Value) {
        let changed = self.builder.use_var(self.changed);
        let changed = match self.constants.get(&changed) {
            Some(0) => parts,
            _ => self.builder.ins().bor(changed, parts),
        };
        self.builder.def_var(self.changed, changed);
    }

    pub(super) fn synchronise(&mut self, cell: Cell, writes: Writes, kind: i64) {
        let kind = self.constant(kind);
        self.access(cell, writes, kind);
    }

    /// The kind of an access to data.
    fn data_kind(&mut self, cell: Cell, atomic: bool) -> Value {
        if let Some((object, _)) = cell.object
            && !atomic
            && self.node.depth == 0
        {
            let global = Cell {
                object: None,
                ..cell
            };
            let (plain, of_global) = (self.constant(kind::PLAIN), self.data_kind(global, false));
            return match self.constants.get(&of_global) {
                Some(&kind::PLAIN) => plain,
                _ => self.builder.ins().select(object.is_it, plain, of_global),
            };
        }
        let slots = &self.tables.atomic_slots;
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

    /// The name of the thread.
    pub(super) fn me(&mut self) -> Value {
        let offset = std::mem::offset_of!(NativeFrame, me) as i32;
        let frame = self.frame;
        self.builder.ins().load(I64, trusted(), frame, offset)
    }

    /// Leaves the function unless an operation was possible.
    pub(super) fn block_unless(&mut self, possible: Value) {
        self.unless(possible, Exit::Block);
    }

    pub(super) fn shared(&mut self, op: Op) {
        match op {
            Op::Join { thread } => self.join(thread),
            Op::Free { reference } => self.free(reference),
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
                let (cell, free) = self.is_free(mutex, kind);
                self.synchronise(cell, Writes::If(free), kind::ACQUIRE);
                self.block_unless(free);
                self.take(cell, kind);
            }
            Op::TryLock { to, mutex, kind } => {
                let (cell, free) = self.is_free(mutex, kind);
                self.synchronise(cell, Writes::If(free), kind::TRY);
                self.when(free, |emitter| emitter.take(cell, kind));
                self.set(to, free);
            }
            Op::Unlock { mutex, kind } => self.unlock(mutex, kind),
            Op::WriteLock { lock } => {
                let (cell, free) = self.is_unused(lock);
                self.synchronise(cell, Writes::If(free), kind::ACQUIRE);
                self.block_unless(free);
                self.own(cell);
            }
            Op::TryWriteLock { to, lock } => {
                let (cell, free) = self.is_unused(lock);
                self.synchronise(cell, Writes::If(free), kind::TRY);
                self.when(free, |emitter| emitter.own(cell));
                self.set(to, free);
            }
            Op::ReadLock { lock } => {
                let (cell, free) = self.has_no_writer(lock);
                self.synchronise(cell, Writes::If(free), kind::ACQUIRE_SHARED);
                self.block_unless(free);
                self.share(cell);
            }
            Op::TryReadLock { to, lock } => {
                let (cell, free) = self.has_no_writer(lock);
                self.synchronise(cell, Writes::If(free), kind::TRY_SHARED);
                self.when(free, |emitter| emitter.share(cell));
                self.set(to, free);
            }
            Op::UnlockRw { lock } => self.unlock_either(lock),
            Op::Down { semaphore } => {
                let (cell, count, positive) = self.count(semaphore);
                self.synchronise(cell, Writes::If(positive), kind::DOWN);
                self.block_unless(positive);
                let less = self.builder.ins().iadd_imm_s(count, -1);
                self.store(cell, 0, less);
            }
            Op::TryDown { to, semaphore } => {
                let (cell, count, positive) = self.count(semaphore);
                self.synchronise(cell, Writes::If(positive), kind::TRY);
                let less = self.builder.ins().isub(count, positive);
                self.store(cell, 0, less);
                self.set(to, positive);
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
            other => self.message(other),
        }
    }

    /// Emits something that is executed only if a value is not zero.
    pub(super) fn when(&mut self, condition: Value, emit: impl FnOnce(&mut Self)) {
        let [yes, done] = [(); 2].map(|()| self.builder.create_block());
        self.builder.ins().brif(condition, yes, &[], done, &[]);
        self.builder.switch_to_block(yes);
        emit(self);
        self.builder.ins().jump(done, &[]);
        self.builder.switch_to_block(done);
    }

    /// A mutex, and whether the thread can take it.
    pub(super) fn is_free(&mut self, mutex: Reg, kind: LockKind) -> (Cell, Value) {
        let cell = self.cell(mutex, 1 + usize::from(kind == LockKind::Reentrant));
        let owner = self.load(cell, 0);
        let nobody = self.is_zero(owner);
        let free = match kind {
            LockKind::Plain => nobody,
            LockKind::Reentrant => {
                let me = self.me();
                let mine = self.compare(IntCC::Equal, owner, me);
                let free = self.builder.ins().bor(nobody, mine);
                self.bits.insert(free);
                free
            }
        };
        (cell, free)
    }

    /// Takes a mutex that is free.
    fn take(&mut self, cell: Cell, kind: LockKind) {
        self.own(cell);
        if kind == LockKind::Reentrant {
            let count = self.load(cell, 1);
            let count = self.builder.ins().iadd_imm_s(count, 1);
            self.store(cell, 1, count);
        }
    }

    /// Writes the name of the thread.
    pub(super) fn own(&mut self, cell: Cell) {
        let bytecode = self.compiling.bytecode;
        let last = bytecode.thread_reference + bytecode.layout.most_threads() as i64 - 1;
        let narrow = self.slots().iter().all(|field| !field.wide);
        match (cell.known, code_of(last, false)) {
            // Every thread has a code.
            (Some(slot), Some(_)) if !self.slots()[slot].wide => {
                let field = self.slots()[slot];
                let code = self.my_code();
                self.write_code(self.state, field, code);
            }
            (None, Some(_)) if narrow && cell.object.is_none() => {
                let Spot::Computed(address, _) = self.spot(cell, 0) else {
                    unreachable!("all slots are narrow");
                };
                let code = self.my_code();
                self.write_code(address, ONE_BYTE, code);
            }
            _ => {
                let me = self.me();
                self.store(cell, 0, me);
            }
        }
    }

    /// Others can see that the thread ends.
    pub(super) fn end_is_seen(&mut self) {
        let (me, kind) = (self.me(), self.constant(kind::EXIT));
        self.write_down(me, Writes::Yes, kind);
    }

    /// Waits for a thread that was spawned. Gives up if there is none.
    fn join(&mut self, thread: Reg) {
        let bytecode = self.compiling.bytecode;
        let layout = &bytecode.layout;
        let Some(spawned) = layout.spawned else {
            unreachable!("only programs that spawn are compiled with this");
        };
        let handle = self.get(thread);
        let first = self.constant(bytecode.thread_reference + layout.run_threads() as i64);
        let number = self.builder.ins().isub(handle, first);
        let offset = std::mem::offset_of!(NativeFrame, spawned) as i32;
        let frame = self.frame;
        let all = (self.builder.ins()).load(I64, trusted(), frame, offset);
        let exists = (self.builder.ins()).icmp(IntCC::UnsignedLessThan, number, all);
        self.unless(exists, Exit::GiveUp);
        let kind = self.constant(kind::JOIN);
        self.write_down(handle, Writes::No, kind);
        let bytes = (self.builder.ins()).imul_imm_s(number, 8 * spawned.words as i64);
        let areas = (self.builder.ins()).iadd_imm_s(self.state, 8 * layout.size as i64);
        let area = self.builder.ins().iadd(areas, bytes);
        let stop = self.read_code(area, layout.stop);
        let ended = self.number_of_end();
        let has_ended = (self.builder.ins()).icmp_imm_s(IntCC::Equal, stop, ended);
        self.unless(has_ended, Exit::Block);
    }

    /// The code of the name of the thread in one byte.
    fn my_code(&mut self) -> Value {
        let offset = std::mem::offset_of!(NativeFrame, my_code) as i32;
        let frame = self.frame;
        self.builder.ins().load(I64, trusted(), frame, offset)
    }

    fn unlock(&mut self, mutex: Reg, kind: LockKind) {
        let me = self.me();
        let cell = self.cell(mutex, 1 + usize::from(kind == LockKind::Reentrant));
        let owner = self.load(cell, 0);
        let mine = self.compare(IntCC::Equal, owner, me);
        self.unless(mine, Exit::GiveUp);
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

    /// A reader-writer lock, and whether nobody holds it.
    fn is_unused(&mut self, lock: Reg) -> (Cell, Value) {
        let cell = self.cell(lock, 2);
        let (writer, readers) = (self.load(cell, 0), self.load(cell, 1));
        let users = self.builder.ins().bor(writer, readers);
        (cell, self.is_zero(users))
    }

    /// A reader-writer lock, and whether nobody holds it for writing.
    fn has_no_writer(&mut self, lock: Reg) -> (Cell, Value) {
        let cell = self.cell(lock, 2);
        let writer = self.load(cell, 0);
        (cell, self.is_zero(writer))
    }

    /// The address of how often the thread holds a lock for reading. Gives up if there is none.
    fn hold(&mut self, cell: Cell) -> Value {
        let holds = &self.tables.holds;
        let byte = match cell.known {
            Some(slot) => self.constant(holds[slot].into()),
            None => {
                let table = self.constant(holds.as_ptr() as i64);
                let entry = self.builder.ins().iadd(table, cell.slot);
                self.builder.ins().uload8(I64, trusted(), entry, 0)
            }
        };
        self.unless(byte, Exit::GiveUp);
        if let Some((object, _)) = cell.object {
            let is_global = self.is_zero(object.is_it);
            self.unless(is_global, Exit::GiveUp);
        }
        self.builder.ins().iadd(self.area, byte)
    }

    /// Takes a lock for reading, once more.
    fn share(&mut self, cell: Cell) {
        let at = self.hold(cell);
        let count = self.read_code(at, ONE_BYTE);
        self.below(count, Layout::MOST_HOLDS as i64);
        let count = self.builder.ins().iadd_imm_s(count, 1);
        self.write_code(at, ONE_BYTE, count);
        let readers = self.load(cell, 1);
        let readers = self.builder.ins().iadd_imm_s(readers, 1);
        self.store(cell, 1, readers);
    }

    /// Gives up a lock that the thread holds for writing or for reading.
    fn unlock_either(&mut self, lock: Reg) {
        let cell = self.cell(lock, 2);
        let (writer, me) = (self.load(cell, 0), self.me());
        let mine = self.compare(IntCC::Equal, writer, me);
        let nobody = self.constant(0);
        if self.compiling.bytecode.layout.holds.is_empty() {
            self.unless(mine, Exit::GiveUp);
            self.synchronise(cell, Writes::Yes, kind::RELEASE);
            self.store(cell, 0, nobody);
            return;
        }
        let at = self.hold(cell);
        let count = self.read_code(at, ONE_BYTE);
        let held = self.builder.ins().bor(mine, count);
        self.unless(held, Exit::GiveUp);
        let [release, shared] =
            [kind::RELEASE, kind::RELEASE_SHARED].map(|kind| self.constant(kind));
        let kind = self.builder.ins().select(mine, release, shared);
        self.access(cell, Writes::Yes, kind);
        let writer = self.builder.ins().select(mine, nobody, writer);
        self.store(cell, 0, writer);
        let one_less = self.builder.ins().bxor_imm_s(mine, 1);
        let readers = self.load(cell, 1);
        let readers = self.builder.ins().isub(readers, one_less);
        self.store(cell, 1, readers);
        let count = self.builder.ins().isub(count, one_less);
        self.write_code(at, ONE_BYTE, count);
    }

    /// A semaphore, its count, and whether it is positive.
    fn count(&mut self, semaphore: Reg) -> (Cell, Value, Value) {
        let cell = self.cell(semaphore, 1);
        let (count, zero) = (self.load(cell, 0), self.constant(0));
        let positive = self.compare(IntCC::SignedGreaterThan, count, zero);
        (cell, count, positive)
    }

    pub(super) fn is_zero(&mut self, value: Value) -> Value {
        let zero = self.builder.ins().icmp_imm_s(IntCC::Equal, value, 0);
        self.bit(zero)
    }
}
