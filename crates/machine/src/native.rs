//! What a compiler of steps to native code needs to know of a program: its instructions, and where everything is in the words
//! of a packed state.
//!
//! States of programs whose threads neither call nor spawn nor take read locks, and which have no heap, nearly
//! always have one size, and every field has its place in them ([`Layout`]). Native code executes steps in these words. The interpreter
//! defines what a step is, and what the words of a state are; everything here is derived from it.

use raddle_explore::{Changed, Guard, Packed};

use crate::machine::Machine;
use crate::op::{Op, Pc, Reg};
use crate::pack::code::{self, Width};
use crate::pack::constants::{Known, constants, frame_size, written};
use crate::program::{Granularity, Program};
use crate::state::{Phase, State};
use crate::word::{self, Name};

/// Where a value is: in the bytes of a state for globals, in those of the part of a thread for registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// Its first byte.
    pub byte: u32,
    /// Whether it takes two bytes, not one.
    pub wide: bool,
}

/// Where a thread can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// Before an instruction.
    Running(Pc),
    /// Among the waiters of an object, before its `Resume`.
    Waiting(Pc),
    /// Taken out of them.
    Notified(Pc),
    /// It never moves again: whether it has failed.
    Stopped(Pc, bool),
}

impl Stop {
    /// The instruction.
    #[must_use]
    pub fn pc(self) -> Pc {
        match self {
            Self::Running(pc) | Self::Waiting(pc) | Self::Notified(pc) | Self::Stopped(pc, _) => pc,
        }
    }

    pub(crate) fn of((pc, phase): (Pc, Phase)) -> Self {
        match phase {
            Phase::Running => Self::Running(pc),
            Phase::Waiting => Self::Waiting(pc),
            Phase::Notified => Self::Notified(pc),
            Phase::Ended => Self::Stopped(pc, false),
            Phase::Failed | Phase::FailedAtStart => Self::Stopped(pc, true),
        }
    }

    fn parts(self) -> (Pc, Phase) {
        match self {
            Self::Running(pc) => (pc, Phase::Running),
            Self::Waiting(pc) => (pc, Phase::Waiting),
            Self::Notified(pc) => (pc, Phase::Notified),
            Self::Stopped(pc, false) => (pc, Phase::Ended),
            Self::Stopped(pc, true) => (pc, Phase::Failed),
        }
    }
}

/// Where everything is in a packed state of the fixed size.
///
/// A state has it if it has that many words, and the first is not [`Layout::GENERAL`].
#[derive(Clone, Debug)]
pub struct Layout {
    /// How many words a state has.
    pub size: usize,
    /// Where each part ends, in words.
    pub ends: Vec<u32>,
    /// The first byte of the area of each thread.
    pub areas: Vec<u32>,
    /// The parts of each thread, as bits of [`Changed`].
    pub area_bits: Vec<u64>,
    /// Where each global slot is.
    pub slots: Vec<Field>,
    /// Where the registers are in the area of a thread that is at an instruction; those that are constant there are nowhere.
    pub frames: Vec<Vec<(Reg, Field)>>,
    /// Which registers are constant when a thread is at an instruction, and where their values begin among those of the thread.
    pub constants: Vec<(usize, Vec<Reg>)>,
    /// All constants of each thread.
    pub thread_constants: Vec<Box<[i64]>>,
    /// Where the number of the stop is in the area of a thread.
    pub stop: Field,
    /// What the numbers of stops mean.
    pub stops: Vec<Stop>,
}

impl Layout {
    /// The first word of a state that has not the fixed size.
    pub const GENERAL: u64 = crate::pack::GENERAL;

    /// The layout of a program's states; none if they have no fixed size.
    #[must_use]
    pub fn of(program: &Program) -> Option<Self> {
        let packing = &program.packing;
        let fixed = packing.fixed.as_ref()?;
        Some(fixed.for_native_code(packing.stops()))
    }

    /// How many words a state has.
    #[must_use]
    #[inline]
    pub fn size(&self) -> usize {
        self.size
    }

    /// How many threads there are.
    #[must_use]
    pub fn threads(&self) -> usize {
        self.areas.len()
    }

    /// Whether a state in these words has the fixed size.
    #[must_use]
    #[inline]
    pub fn fits(&self, words: &[u64]) -> bool {
        words.len() == self.size() && words[0] != Self::GENERAL
    }

    /// The code of a field, in the words of a state.
    #[must_use]
    #[inline]
    pub fn code(field: Field, words: &[u64]) -> u16 {
        let bits = words[(field.byte / 8) as usize] >> (field.byte % 8 * 8);
        match field.wide {
            false => u16::from(bits as u8),
            true => bits as u16,
        }
    }

    /// The number of the stop of a thread, in the words of a state.
    #[must_use]
    #[inline]
    pub fn stop_number(&self, words: &[u64], thread: usize) -> usize {
        let byte = self.areas[thread];
        let bits = words[(byte / 8) as usize] >> (byte % 8 * 8);
        match self.stop.wide {
            false => usize::from(bits as u8),
            true => usize::from(bits as u16),
        }
    }
}

/// A program as a compiler to native code sees it.
#[derive(Clone, Debug)]
pub struct Bytecode {
    pub layout: Layout,
    pub code: Vec<Op>,
    /// The code of each function. What is not in a function, no thread executes.
    pub functions: Vec<std::ops::Range<u32>>,
    /// How many registers are alive before each instruction.
    pub heights: Vec<u16>,
    /// How many registers the function of each instruction uses.
    pub frame_sizes: Vec<u32>,
    /// The registers that each instruction may write.
    pub written: Vec<std::ops::Range<u16>>,
    /// Registers that are constant before each instruction.
    pub constants: Vec<Vec<Option<i64>>>,
    pub atomic_slots: Vec<bool>,
    pub ranges: Vec<(i64, i64)>,
    pub shapes: Vec<crate::op::ChannelShape>,
    /// The word of a reference to the global slot 0; others follow.
    pub global_reference: i64,
    /// The name of the first thread as a word; others follow.
    pub thread_reference: i64,
}

impl Bytecode {
    /// The code of a program; none if its states have no [`Layout`].
    #[must_use]
    pub fn of(program: &Program) -> Option<Self> {
        let layout = Layout::of(program)?;
        let known = constants(program, 256).into_iter();
        let constant = |known: Known| match known {
            Known::Constant(value) => Some(value),
            _ => None,
        };
        Some(Self {
            layout,
            code: program.code.clone(),
            functions: (program.functions.iter())
                .map(|function| function.entry..function.end)
                .collect(),
            heights: program.heights.clone(),
            frame_sizes: frame_sizes(program),
            written: (program.code.iter())
                .map(|op| written(program, *op))
                .map(|registers| registers.start as u16..registers.end as u16)
                .collect(),
            constants: known
                .map(|registers| registers.into_iter().map(constant).collect())
                .collect(),
            atomic_slots: program.atomic_slots.clone(),
            ranges: program.ranges.clone(),
            shapes: program.shapes.clone(),
            global_reference: word::global(0),
            thread_reference: word::thread(Name::canonical(0)),
        })
    }

    /// The number of a stop, if threads can be there in a state of the fixed size.
    #[must_use]
    pub fn number(&self, program: &Program, stop: Stop) -> Option<u16> {
        let (pc, phase) = stop.parts();
        let number = program.packing.number(pc, phase);
        ((number as usize) < self.layout.stops.len()).then_some(number as u16)
    }
}

fn frame_sizes(program: &Program) -> Vec<u32> {
    let mut sizes = vec![0; program.code.len()];
    for function in &program.functions {
        let code = function.entry..function.end;
        sizes[code.start as usize..code.end as usize].fill(frame_size(program, code));
    }
    sizes
}

/// The code of a word in one byte or two, if it has one.
#[must_use]
pub fn code_of(word: i64, wide: bool) -> Option<u16> {
    let width = width(wide);
    let code = code::code(word, width);
    (code != width.escape()).then_some(code as u16)
}

/// The ranges of codes in one byte or two: the code of zero; the first code that is no integer, if codes below that of zero are
/// integers too; how many negative integers come right before the globals; where globals, threads and objects begin.
#[must_use]
pub fn codes(wide: bool) -> [i64; 6] {
    code::ranges(width(wide)).map(|code| code as i64)
}

/// The word of a code in one byte; zero if it stands for none.
#[must_use]
pub fn word_of(byte: u8) -> i64 {
    match u64::from(byte) == Width::One.escape() {
        true => 0,
        false => code::word(byte.into(), Width::One),
    }
}

fn width(wide: bool) -> Width {
    match wide {
        true => Width::Two,
        false => Width::One,
    }
}

/// The global slots at which a lock begins, in order.
#[must_use]
pub fn lock_slots(program: &Program) -> &[u32] {
    program.locks.in_globals()
}

/// The pseudo lock of a thread of `run`.
#[must_use]
pub fn pseudo_lock(position: usize) -> Guard {
    crate::exclusive::pseudo_lock(position as u64)
}

/// The name of the thread at a position, as a word.
#[must_use]
pub fn thread_word(position: usize) -> i64 {
    word::thread(Name::canonical(position))
}

/// The parts that a write to a global slot changes, at most, where no discipline is enforced.
#[must_use]
pub fn changed_by_write(program: &Program, slot: usize) -> Changed {
    program.packing.changed_by_write(slot)
}

impl Machine {
    /// Writes the changed parts of a state again, in place of the words of a state that differs in these parts only. Says which
    /// parts of the words differ.
    pub fn encode_changed(&self, changed: Changed, state: &State, packed: &mut Packed) -> Changed {
        crate::pack::encode_changed(&self.program, state, changed, packed)
    }

    /// Whether its steps are single accesses, and no discipline is enforced.
    #[must_use]
    pub fn makes_plain_steps(&self) -> bool {
        self.granularity == Granularity::Access && !self.enforcer.enabled
    }
}
