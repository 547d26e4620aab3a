//! Tables that native code reads. They stay where they are for as long as the code exists.

use raddle_machine::Program;
use raddle_machine::native::{Bytecode, Stop, changed_by_write, codes, word_of};
use raddle_machine::op::Op;

/// A range of codes for each kind of word.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Codes {
    /// The code of zero.
    pub(crate) zero: i64,
    /// Codes below this one are integers, from that of zero on or from the smallest on.
    pub(crate) integers: i64,
    /// How many negative integers come right before the globals.
    pub(crate) negative: i64,
    pub(crate) globals: i64,
    pub(crate) threads: i64,
    pub(crate) objects: i64,
}

impl Codes {
    fn of(wide: bool) -> Self {
        let [zero, integers, negative, globals, threads, objects] = codes(wide);
        Self {
            zero,
            integers,
            negative,
            globals,
            threads,
            objects,
        }
    }
}

/// There is no such stop in states of the fixed size.
pub(crate) const NOWHERE: u16 = u16::MAX;
/// It waits for nothing.
pub(crate) const NOTHING: i64 = -1;
/// Its registers tell what it waits for, if anything.
pub(crate) const UNKNOWN: i64 = -2;

/// What is the same for all functions of a program.
#[derive(Debug)]
pub(crate) struct Tables {
    /// Whether accesses to each global are atomic.
    pub(crate) atomic_slots: Box<[u8]>,
    /// Where each global slot is: its byte, and whether it is wide in the lowest bit.
    pub(crate) slots: Box<[u32]>,
    /// By global slot, the parts that a write to it changes, as bits.
    pub(crate) changes: Box<[u64]>,
    /// By global slot, the byte of the area of a thread that says how often it holds the lock there for reading; 0 if there is none.
    pub(crate) holds: Box<[u8]>,
    /// By the number of a stop, the slot of the object that a thread there waits for; [`NOTHING`] or [`UNKNOWN`].
    pub(crate) waits: Box<[i64]>,
    /// By the number of a stop of a waiting thread, that of the stop where it is after it was notified; [`NOWHERE`].
    pub(crate) notified: Box<[u16]>,
    /// The words of codes in one byte.
    pub(crate) words: Box<[i64]>,
    pub(crate) narrow: Codes,
    pub(crate) wide: Codes,
}

impl Tables {
    pub(crate) fn new(program: &Program, bytecode: &Bytecode) -> Self {
        let stops = &bytecode.layout.stops;
        let notified = |stop: &Stop| match *stop {
            Stop::Waiting(at) => bytecode.number(program, Stop::Notified(at)),
            _ => None,
        };
        let mut waits: Vec<i64> = stops.iter().map(|stop| waits(bytecode, *stop)).collect();
        let mut all_notified: Vec<u16> = (stops.iter())
            .map(|stop| notified(stop).unwrap_or(NOWHERE))
            .collect();
        // Whatever the number is.
        let numbers = if bytecode.layout.stop.wide {
            1 << 16
        } else {
            1 << 8
        };
        waits.resize(numbers, UNKNOWN);
        all_notified.resize(numbers, NOWHERE);
        let slots = bytecode.layout.slots.iter();
        let mut holds = vec![0; slots.len()];
        for (slot, field) in &bytecode.layout.holds {
            // Behind the number of the stop, and there are few.
            holds[*slot as usize] = field.byte as u8;
        }
        Self {
            atomic_slots: (bytecode.atomic_slots.iter().copied().map(u8::from)).collect(),
            slots: slots
                .map(|field| field.byte << 1 | u32::from(field.wide))
                .collect(),
            changes: (0..bytecode.layout.slots.len())
                .map(|slot| changed_by_write(program, slot).bits())
                .collect(),
            holds: holds.into(),
            waits: waits.into(),
            notified: all_notified.into(),
            words: (0..=u8::MAX).map(word_of).collect(),
            narrow: Codes::of(false),
            wide: Codes::of(true),
        }
    }
}

/// The object that a thread waits for which is there.
fn waits(bytecode: &Bytecode, stop: Stop) -> i64 {
    let Stop::Waiting(at) = stop else {
        return NOTHING;
    };
    let Op::Resume { object, .. } = bytecode.code[at.pc as usize] else {
        return NOTHING;
    };
    let object = bytecode.spots[at.spot as usize].base + object;
    let constants = &bytecode.constants[at.spot as usize];
    match constants.get(object as usize).copied().flatten() {
        Some(reference) => reference - bytecode.global_reference,
        None => UNKNOWN,
    }
}
