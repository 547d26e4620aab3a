//! Tables that native code reads. They stay where they are for as long as the code exists.

use raddle_machine::Program;
use raddle_machine::native::{Bytecode, Stop, can_be_taken, changed_by_write, codes, word_of};
use raddle_machine::op::Op;

use crate::frame::kind;

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
    /// By the number of a stop, a reference to the object that a thread there waits for; [`NOTHING`] or [`UNKNOWN`].
    pub(crate) waits: Box<[i64]>,
    /// By the number of a stop, where such a reference is in the area of a thread: its byte, and whether it is wide in the lowest bit; 0 if that is not known.
    pub(crate) waits_at: Box<[u32]>,
    /// By the number of a stop of a waiting thread, that of the stop where it is after it was notified; [`NOWHERE`].
    pub(crate) notified: Box<[u16]>,
    /// By layout, how many slots an element has (one at least), and where the kinds of accesses begin to the slots of one that is freed.
    pub(crate) freed: Box<[[u32; 2]]>,
    pub(crate) freed_kinds: Box<[u8]>,
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
        let mut all_waits_at: Vec<u32> = (stops.iter())
            .map(|stop| waits_at(bytecode, *stop).unwrap_or(0))
            .collect();
        waits.resize(numbers, UNKNOWN);
        all_waits_at.resize(numbers, 0);
        all_notified.resize(numbers, NOWHERE);
        let slots = bytecode.layout.slots.iter();
        // One more than there are: what is in an object has the global slot 0 here, whatever else there is.
        let mut holds = vec![0; slots.len() + 1];
        for (slot, field) in &bytecode.layout.holds {
            // Behind the number of the stop, and there are few.
            holds[*slot as usize] = field.byte as u8;
        }
        let (mut freed, mut freed_kinds) = (Vec::new(), Vec::new());
        for (number, (slots, _)) in (0..).zip(&bytecode.layouts) {
            let slots = (*slots).max(1);
            freed.push([slots, freed_kinds.len() as u32]);
            freed_kinds.extend((0..slots as usize).map(|slot| {
                let is_lock = can_be_taken(program, number, slot);
                (if is_lock { kind::DESTROY } else { kind::FREE }) as u8
            }));
        }
        // Whatever the layout of an object is.
        freed.resize(1 << 6, [1, 0]);
        Self {
            freed: freed.into(),
            freed_kinds: freed_kinds.into(),
            atomic_slots: (bytecode.atomic_slots.iter().copied())
                .chain(bytecode.atomic_slots.is_empty().then_some(false))
                .map(u8::from)
                .collect(),
            slots: slots
                .map(|field| field.byte << 1 | u32::from(field.wide))
                .chain([0])
                .collect(),
            changes: (0..bytecode.layout.slots.len())
                .map(|slot| changed_by_write(program, slot).bits())
                .chain([0])
                .collect(),
            holds: holds.into(),
            waits: waits.into(),
            waits_at: all_waits_at.into(),
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
        Some(reference) => reference,
        None => UNKNOWN,
    }
}

/// Where the reference to the object is in the area of a thread that waits.
fn waits_at(bytecode: &Bytecode, stop: Stop) -> Option<u32> {
    let Stop::Waiting(at) = stop else {
        return None;
    };
    let Op::Resume { object, .. } = bytecode.code[at.pc as usize] else {
        return None;
    };
    let object = bytecode.spots[at.spot as usize].base + object;
    let fields = bytecode.layout.frames[at.spot as usize].iter();
    let (_, field) = fields.clone().find(|(register, _)| *register == object)?;
    Some(field.byte << 1 | u32::from(field.wide))
}
