//! What a state of a program consists of when it is packed; computed once.

use raddle_explore::{Access, AccessKind, Changed, Footprint, SyncOp};
use raddle_lang::ast::IntType;
use raddle_lang::hir::{self, Type};

use super::code::{Width, largest};
use super::constants::{Known, constants};
use super::fixed::Fixed;
use super::sample::Sample;
use crate::op::{Op, Pc, Reg};
use crate::program::Program;
use crate::state::Phase;

/// Globals are in at most that many parts, so that a step that writes one of them changes a small
/// part, and [`Changed`] has bits to spare for the threads.
const MOST_GLOBAL_PARTS: usize = 16;

/// Of the registers of a frame, the layout knows those below this number; large local arrays are behind
/// them.
const KNOWN_REGISTERS: usize = 256;
/// In programs with more instructions times registers than this, it knows none.
const MOST_KNOWN: usize = 1 << 22;

const PHASES: usize = 6;

/// A register in the frame of a thread that is at an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Register {
    /// It always has this value there, and takes no room.
    Constant(i64),
    Stored(Width),
}

/// The registers of a frame, up to [`KNOWN_REGISTERS`].
#[derive(Clone, Debug, Default)]
pub(super) struct Frame {
    pub(super) registers: Box<[Register]>,
    /// Those that take room.
    pub(super) stored: Box<[(u16, Width)]>,
}

/// A part of a state that consists of globals.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GlobalPart {
    pub(super) first: usize,
    pub(super) end: usize,
}

/// What a packed state of a program consists of.
#[derive(Clone, Debug, Default)]
pub(crate) struct Packing {
    /// The width of each global.
    pub(super) slots: Vec<Width>,
    pub(crate) globals: Vec<GlobalPart>,
    /// The parts that an operation on a global slot can change, as bits.
    touched: Vec<u64>,
    /// The parts of the ghost words.
    ghosts: u64,
    /// The frame of a thread that is at an instruction.
    pub(super) frames: Vec<Frame>,
    /// The width of registers that are integers.
    pub(super) integer: Width,
    /// The width of registers that no frame knows, and of the words of objects.
    pub(super) anything: Width,
    /// Short numbers for where a thread is and its phase: by instruction and phase, and back.
    numbers: Vec<u32>,
    stops: Vec<(Pc, Phase)>,
    /// How many words the part of each thread of `run` has, at least; none where threads call.
    pub(super) thread_words: Vec<u32>,
    /// How many words such a thread has in an unpacked state, at least, if states have a fixed size.
    pub(super) thread_rooms: Vec<u32>,
    /// The fast way, if there is one.
    pub(crate) fixed: Option<Fixed>,
}

impl Packing {
    /// What states of a program consist of, of which a few executions have shown something.
    pub(crate) fn new(program: &Program, sample: &Sample) -> Self {
        let widths = Widths::of(program);
        let slots = global_widths(program, &widths, sample);
        let globals = global_parts(&slots);
        let (numbers, stops) = number_stops(&program.code);
        let mut packing = Self {
            touched: Vec::new(),
            ghosts: 0,
            slots,
            globals,
            frames: frames(program, &widths),
            integer: widths.integer,
            anything: widths.anything,
            numbers,
            stops,
            thread_words: Vec::new(),
            thread_rooms: Vec::new(),
            fixed: None,
        };
        packing.size_threads(program);
        packing.fixed = Fixed::new(program, &packing, sample);
        if let Some(fixed) = &packing.fixed {
            packing.thread_rooms = vec![fixed.room(); program.hir.starts.len()];
        }
        packing.touched = touched(program, &packing);
        packing.ghosts = packing.parts_of(program.hir.initial.len()..packing.slots.len());
        packing
    }

    /// Threads that do not call keep the size of their part, whatever they do.
    fn size_threads(&mut self, program: &Program) {
        if program.features.calls {
            return;
        }
        for start in &program.hir.starts {
            let function = &program.functions[start.function.0 as usize];
            let code = function.entry as usize..function.end as usize;
            let words = |pc: usize| super::thread_words(program, self, pc as Pc);
            let stops = code.filter(|pc| program.code[*pc].is_visible());
            let most_words = stops.map(words).max().unwrap_or(1);
            self.thread_words.push(most_words);
        }
    }

    /// A short number for where a thread is and what it is doing.
    #[inline]
    pub(crate) fn number(&self, pc: Pc, phase: Phase) -> u32 {
        self.numbers[pc as usize * PHASES + phase as usize]
    }

    /// The value that a register has whenever a thread is at an instruction, if there is one.
    pub(crate) fn constant(&self, pc: usize, register: Reg) -> Option<i64> {
        match self.frames[pc].registers.get(register as usize) {
            Some(Register::Constant(value)) => Some(*value),
            _ => None,
        }
    }

    /// What a [number](Self::number) stands for.
    #[inline]
    pub(super) fn stop(&self, number: u32) -> (Pc, Phase) {
        self.stops[number as usize]
    }

    /// The parts that a write to a global slot can change.
    pub(crate) fn changed_by_write(&self, slot: usize) -> Changed {
        match self.touched.get(slot) {
            Some(parts) => Changed::NONE.with_bits(*parts),
            None => Changed::ALL,
        }
    }

    /// The parts of those slots, as bits.
    fn parts_of(&self, slots: std::ops::Range<usize>) -> u64 {
        if let Some(fixed) = &self.fixed {
            return slots.fold(0, |bits, slot| bits | fixed.parts_of_slot(slot));
        }
        let overlap = |part: &GlobalPart| part.first < slots.end && slots.start < part.end;
        let parts = self.globals.iter().enumerate();
        let overlapping = parts.filter(|(_, part)| overlap(part));
        overlapping.fold(0, |bits, (number, _)| bits | 1 << number.min(63))
    }

    /// The parts of a thread, as bits.
    #[inline]
    fn parts_of_thread(&self, thread: usize) -> u64 {
        match &self.fixed {
            Some(fixed) => fixed.parts_of_thread(thread),
            None => 1 << (self.globals.len() + thread).min(63),
        }
    }

    /// The parts that a step of a thread with that footprint can have changed, in a program without
    /// heap and spawned threads.
    ///
    /// Threads change shared memory by accesses that write, each at the first slot of what it changes; they
    /// change other threads by waking them up only. Rules claim ghost words.
    pub(crate) fn changed(&self, thread: usize, threads: usize, footprint: &Footprint) -> Changed {
        let changed = Changed::NONE.with_bits(self.ghosts);
        let mut changed = changed.with_bits(self.parts_of_thread(thread));
        for access in footprint.iter().filter(|access| access.writes) {
            match self.touched.get(access.location.0 as usize) {
                Some(parts) => changed = changed.with_bits(*parts),
                None => return Changed::ALL,
            }
            if wakes(access) {
                for thread in 0..threads {
                    changed = changed.with_bits(self.parts_of_thread(thread));
                }
            }
        }
        changed
    }
}

fn wakes(access: &Access) -> bool {
    access.kind == AccessKind::Sync(SyncOp::Notify)
}

/// How wide words of a kind are, as far as the program tells.
struct Widths {
    integer: Width,
    reference: Width,
    /// Names of threads in locks.
    owner: Width,
    anything: Width,
}

impl Widths {
    fn of(program: &Program) -> Self {
        let constants = program.code.iter().filter_map(|op| match *op {
            Op::Const { value, .. } => Some(i64::from(value)),
            Op::ConstUnsigned { value, .. } => Some(value.into()),
            Op::BinaryConst { b, .. } => Some(b.into()),
            _ => None,
        });
        let integer = fitting(constants.chain(program.hir.initial.iter().map(integer)));
        let reference = if program.features.heap || program.initial.len() > 32 {
            Width::Two
        } else {
            Width::One
        };
        let owner = match program.hir.starts.len() > 16 || program.features.spawn {
            true => Width::Two,
            false => Width::One,
        };
        Self {
            integer,
            reference,
            owner,
            anything: integer.max(reference),
        }
    }

    fn of_scalar(&self, ty: &Type) -> Width {
        match ty {
            Type::Int(IntType::I32 | IntType::U32) => self.integer,
            Type::Int(_) => Width::Two,
            Type::Range(low, high) => fitting([*low, *high].into_iter()),
            Type::Pointer(_) | Type::Null => self.reference,
            Type::Mutex { .. } | Type::RwLock => self.owner,
            _ => Width::One,
        }
    }
}

fn integer(value: &hir::Value) -> i64 {
    match value {
        hir::Value::Int(value) => *value,
        _ => 0,
    }
}

/// The width in which most of what is between these integers has a code.
fn fitting(mut values: impl Iterator<Item = i64>) -> Width {
    match values.all(|value| (-16..=largest(Width::One)).contains(&value)) {
        true => Width::One,
        false => Width::Two,
    }
}

fn global_widths(program: &Program, widths: &Widths, sample: &Sample) -> Vec<Width> {
    let mut slots = Vec::with_capacity(program.initial.len());
    for global in &program.hir.globals {
        debug_assert_eq!(slots.len(), global.slot as usize);
        add_widths(program, &global.ty, widths, &mut slots);
    }
    // The ghost words are names of threads.
    slots.resize(program.initial.len(), Width::One);
    let slots = slots.into_iter().enumerate();
    slots
        .map(|(slot, width)| sample.width_of_slot(slot, width))
        .collect()
}

fn add_widths(program: &Program, ty: &Type, widths: &Widths, slots: &mut Vec<Width>) {
    match ty {
        Type::Array(element, length) => {
            let first = slots.len();
            add_widths(program, element, widths, slots);
            let of_one = slots.len() - first;
            for _ in 1..*length {
                slots.extend_from_within(first..first + of_one);
            }
            if *length == 0 {
                slots.truncate(first);
            }
        }
        Type::Struct(id) => {
            for field in &program.hir.structs[id.0 as usize].fields {
                add_widths(program, &field.ty, widths, slots);
            }
        }
        Type::Channel(message, capacity) => {
            slots.push(Width::One);
            for _ in 0..(*capacity).max(1) {
                slots.extend(message.iter().map(|ty| widths.of_scalar(ty)));
            }
        }
        other => {
            let width = widths.of_scalar(other);
            let count = program.hir.slots(other) as usize;
            slots.resize(slots.len() + count, width);
        }
    }
}

fn global_parts(slots: &[Width]) -> Vec<GlobalPart> {
    let bytes: usize = slots.iter().map(|width| *width as usize).sum();
    let words = bytes.div_ceil(8).div_ceil(MOST_GLOBAL_PARTS).max(1);
    let mut parts = Vec::new();
    let (mut first, mut used) = (0, 0);
    for (slot, width) in slots.iter().enumerate() {
        if used + *width as usize > 8 * words {
            parts.push(GlobalPart { first, end: slot });
            (first, used) = (slot, 0);
        }
        used += *width as usize;
    }
    // There is always one, for the numbers of threads and objects.
    parts.push(GlobalPart {
        first,
        end: slots.len(),
    });
    parts
}

fn touched(program: &Program, packing: &Packing) -> Vec<u64> {
    let mut touched: Vec<u64> = (0..program.initial.len())
        .map(|slot| packing.parts_of(slot..slot + 1))
        .collect();
    for global in &program.hir.globals {
        whole_objects(program, &global.ty, global.slot as usize, &mut |slots| {
            touched[slots.start] = packing.parts_of(slots.clone());
        });
    }
    touched
}

/// Calls `see` with the slots of each synchronisation object in a value.
pub(crate) fn whole_objects(
    program: &Program,
    ty: &Type,
    slot: usize,
    see: &mut dyn FnMut(std::ops::Range<usize>),
) {
    match ty {
        Type::Array(element, length) => {
            let stride = program.hir.slots(element) as usize;
            for index in 0..*length as usize {
                whole_objects(program, element, slot + index * stride, see);
            }
        }
        Type::Struct(id) => {
            for field in &program.hir.structs[id.0 as usize].fields {
                whole_objects(program, &field.ty, slot + field.offset as usize, see);
            }
        }
        ty if ty.is_synchronisation() => see(slot..slot + program.hir.slots(ty) as usize),
        _ => {}
    }
}

fn frames(program: &Program, widths: &Widths) -> Vec<Frame> {
    let known = |height: &u16| (*height as usize).min(KNOWN_REGISTERS);
    let total: usize = program.heights.iter().map(known).sum();
    if total > MOST_KNOWN {
        return vec![Frame::default(); program.code.len()];
    }
    let register = |known: &Known| match known {
        Known::Constant(value) => Register::Constant(*value),
        Known::Integer => Register::Stored(widths.integer),
        Known::Anything | Known::Unreached => Register::Stored(widths.anything),
    };
    let frames = constants(program, KNOWN_REGISTERS).into_iter();
    let frames = frames.map(|known| {
        let registers: Box<[Register]> = known.iter().map(register).collect();
        let stored = registers.iter().enumerate();
        let stored = stored.filter_map(|(number, register)| match register {
            Register::Constant(_) => None,
            Register::Stored(width) => Some((number as u16, *width)),
        });
        Frame {
            stored: stored.collect(),
            registers,
        }
    });
    frames.collect()
}

/// Whether threads are there for long: before visible instructions, waiting to be resumed, at the end.
fn is_common(op: &Op, pc: Pc, phase: Phase) -> bool {
    match phase {
        Phase::Running => op.is_visible(),
        Phase::Waiting | Phase::Notified => matches!(op, Op::Resume { .. }),
        Phase::Ended => pc == 0,
        Phase::Failed | Phase::FailedAtStart => false,
    }
}

/// Where threads mostly are has the low numbers: before visible instructions, waiting to be resumed, at the end.
fn number_stops(code: &[Op]) -> (Vec<u32>, Vec<(Pc, Phase)>) {
    let phases = [
        Phase::Running,
        Phase::Waiting,
        Phase::Notified,
        Phase::Ended,
        Phase::Failed,
        Phase::FailedAtStart,
    ];
    let rank = |pc: Pc, phase: Phase| u8::from(!is_common(&code[pc as usize], pc, phase));
    let all = (0..code.len() as Pc).flat_map(|pc| phases.map(|phase| (pc, phase)));
    let mut stops: Vec<(Pc, Phase)> = all.collect();
    stops.sort_by_key(|(pc, phase)| rank(*pc, *phase));
    let mut numbers = vec![0; stops.len()];
    for (number, (pc, phase)) in stops.iter().enumerate() {
        numbers[*pc as usize * PHASES + *phase as usize] = number as u32;
    }
    (numbers, stops)
}
