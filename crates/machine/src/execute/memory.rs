//! Shared memory: globals and heap objects.

use raddle_explore::{AccessKind, Location, SyncOp};
use raddle_lang::check::constants::{binary, wrap};

use super::trouble::MAX_OBJECTS;
use super::{Execution, Halt, Trouble};
use crate::op::{Op, Reg};
use crate::program::Element;
use crate::word::{self, MAX_OBJECT_SLOTS, Name, Reference};

impl Execution<'_> {
    fn slot_kind(&self, slot: usize) -> AccessKind {
        if self.atomic_depth > 0 || self.program.atomic_slots[slot] {
            AccessKind::Atomic
        } else {
            AccessKind::Plain
        }
    }

    #[inline]
    pub(super) fn load_slot(&mut self, slot: usize) -> i64 {
        self.access(Location(slot as u64), false, self.slot_kind(slot));
        self.memory.words[slot]
    }

    #[inline]
    pub(super) fn store_slot(&mut self, slot: usize, value: i64) {
        self.access(Location(slot as u64), true, self.slot_kind(slot));
        self.memory.words[slot] = value;
    }

    /// The word that a reference refers to. That an object was freed is something that
    /// somebody else has done to it, so to notice it is an access.
    pub(super) fn cell(&mut self, reference: i64) -> Result<usize, Trouble> {
        match Reference::of(reference) {
            Reference::Global(slot) => Ok(slot),
            Reference::Heap(name, offset) => {
                let object = *self.object(name);
                if object.freed {
                    self.access(word::location(reference), false, AccessKind::Atomic);
                    return Err(Trouble::UseAfterFree);
                }
                if offset >= object.length as usize {
                    return Err(Trouble::OutOfBounds {
                        index: offset as i64,
                        length: object.length.into(),
                    });
                }
                Ok(object.start as usize + offset)
            }
            Reference::Null | Reference::Thread(_) => Err(Trouble::NullReference),
        }
    }

    fn object(&self, name: Name) -> &crate::state::Object {
        let position = self.memory.find_object(name);
        &self.memory.objects[position.expect("an object stays while it is referred to")]
    }

    /// Accesses what a reference refers to; gives the word that it is.
    fn touch(&mut self, reference: i64, writes: bool, atomic: bool) -> Result<usize, Trouble> {
        let cell = self.cell(reference)?;
        let global = cell < self.program.initial.len();
        let kind = match global {
            _ if atomic || self.atomic_depth > 0 => AccessKind::Atomic,
            true => self.slot_kind(cell),
            false => AccessKind::Plain,
        };
        self.access(word::location(reference), writes, kind);
        Ok(cell)
    }

    pub(super) fn memory_operation(&mut self, op: Op) -> Result<(), Halt> {
        match op {
            Op::LoadAt { to, reference } => {
                let cell = self.touch(self.get(reference), false, false)?;
                self.set(to, self.memory.words[cell]);
            }
            Op::AtomicLoad { to, reference } => {
                let cell = self.touch(self.get(reference), false, true)?;
                self.set(to, self.memory.words[cell]);
            }
            Op::StoreAt { reference, from } => {
                let cell = self.touch(self.get(reference), true, false)?;
                self.memory.words[cell] = self.get(from);
            }
            Op::AtomicStore { reference, from } => {
                let cell = self.touch(self.get(reference), true, true)?;
                self.memory.words[cell] = self.get(from);
            }
            Op::Cas {
                to,
                reference,
                expected,
            } => {
                let reference = self.get(reference);
                let cell = self.cell(reference)?;
                let equal = self.memory.words[cell] == self.get(expected);
                let cell = self.touch(reference, equal, true)?;
                if equal {
                    self.memory.words[cell] = self.get(expected + 1);
                }
                self.set(to, i64::from(equal));
            }
            Op::Update {
                op,
                int,
                to,
                reference,
                operand,
                fit,
            } => {
                let cell = self.touch(self.get(reference), true, true)?;
                let old = self.memory.words[cell];
                let new = binary(op, wrap(old, int), wrap(self.get(operand), int), int);
                let new = self.fit(new.ok_or(Trouble::DivisionByZero)?, fit)?;
                self.memory.words[cell] = new;
                self.set(to, old);
            }
            Op::Swap {
                to,
                reference,
                from,
            } => {
                let cell = self.touch(self.get(reference), true, true)?;
                let new = self.get(from);
                let old = std::mem::replace(&mut self.memory.words[cell], new);
                self.set(to, old);
            }
            Op::Free { reference } => self.free(self.get(reference))?,
            other => unreachable!("{other:?} is not an operation on memory"),
        }
        Ok(())
    }

    pub(super) fn offset(&mut self, reg: Reg, index: Reg, layout: u16) -> Result<(), Trouble> {
        let (reference, index) = (self.get(reg), self.get(index));
        let element = &self.program.layouts[layout as usize];
        let stride = i64::from(element.slots);
        // The element of an array that the reference refers to, if it does.
        let found = match Reference::of(reference) {
            Reference::Global(slot) => self.program.global_at(slot).and_then(|global| {
                let offset = slot - global.slot as usize;
                self.program.element_at(&global.ty, offset, &element.ty)
            }),
            Reference::Heap(name, offset) => {
                // Whether it was freed is not looked at: this is local code.
                let object = self.object(name);
                let whole = &self.program.layouts[object.layout as usize];
                let slots = whole.slots.max(1) as usize;
                if object.layout == layout {
                    Some(Element {
                        position: (offset / slots) as i64,
                        length: (object.length as usize / slots) as i64,
                    })
                } else {
                    (self.program).element_at(&whole.ty, offset % slots, &element.ty)
                }
            }
            Reference::Null | Reference::Thread(_) => return Err(Trouble::NullReference),
        };
        let Some(Element { position, length }) = found else {
            // A variable on its own is an array of one.
            return if index == 0 {
                Ok(())
            } else {
                Err(Trouble::NotInArray)
            };
        };
        if !(0..length).contains(&(position + index)) {
            return Err(Trouble::OutOfBounds {
                index: position + index,
                length,
            });
        }
        self.set(reg, reference + index * stride);
        Ok(())
    }

    pub(super) fn allocate(
        &mut self,
        to: Reg,
        layout: u16,
        count: Option<Reg>,
    ) -> Result<(), Trouble> {
        let program = self.program;
        let element = &program.layouts[layout as usize];
        let slots = i64::from(element.slots);
        let length = slots * count.map_or(1, |count| self.get(count));
        if !(0..=MAX_OBJECT_SLOTS).contains(&length) {
            return Err(Trouble::BadSize(length));
        }
        if self.memory.objects.len() >= MAX_OBJECTS {
            return Err(Trouble::TooManyObjects);
        }
        let name = self.memory.next_object(self.thread);
        let start = self.memory.words.len();
        self.memory.push_object(name, layout, length as usize);
        if !element.defaults.is_empty() {
            for words in self.memory.words[start..].chunks_mut(slots as usize) {
                for &(offset, value) in &element.defaults {
                    words[offset as usize] = value;
                }
            }
        }
        self.set(to, word::heap(name, 0));
        Ok(())
    }

    fn free(&mut self, reference: i64) -> Result<(), Trouble> {
        let (name, offset) = match Reference::of(reference) {
            Reference::Null => return Ok(()),
            Reference::Heap(name, offset) => (name, offset),
            Reference::Global(_) | Reference::Thread(_) => return Err(Trouble::BadFree),
        };
        let object = *self.object(name);
        if object.freed {
            self.access(word::location(reference), false, AccessKind::Atomic);
            return Err(Trouble::DoubleFree);
        }
        if offset != 0 {
            return Err(Trouble::BadFree);
        }
        // Freeing conflicts with every access to the object.
        let program = self.program;
        let slots = program.layouts[object.layout as usize].slots.max(1) as usize;
        for offset in 0..object.length.max(1) as usize {
            let op = match program.locks.can_be_taken(object.layout, offset % slots) {
                true => SyncOp::Destroy,
                false => SyncOp::Free,
            };
            self.synchronise(word::heap(name, offset), true, op);
        }
        let position = self.memory.find_object(name).expect("it was just there");
        self.memory.objects[position].freed = true;
        self.memory.words[object.start as usize..][..object.length as usize].fill(0);
        Ok(())
    }
}
