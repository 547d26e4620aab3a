//! What a compiler of steps to native code needs to know of a program: its instructions, and where everything is in the words
//! of a packed state.
//!
//! States nearly always have one size for each number of threads, and every field has its place in them ([`Layout`]). (Those in which calls are nested
//! more deeply than mostly do not.) Behind everything else come the objects of the [heap](Heap). Native code executes steps in these words. The interpreter
//! defines what a step is, and what the words of a state are; everything here is derived from it.
//!
//! Where functions call functions, the code of a function is repeated for each chain of calls that leads to it: a [`Spot`] is an instruction
//! in such a copy. The registers of all frames of a thread are numbered through, from the outermost frame on; those of the innermost frame
//! begin at the base of the spot. So calls and returns are jumps to other spots that copy a few registers. Recursion ends at a call that [is cut](Link::Cut).

use raddle_explore::{Changed, Guard, Packed};

use crate::machine::Machine;
use crate::op::{Op, Pc, Reg};
use crate::pack::code::{self, Width};
use crate::pack::constants::written;
use crate::pack::{Packing, Sample, objects};
use crate::program::{Granularity, Program};
use crate::state::State;
use crate::word::{self, Name, Reference};

/// Where a value is: in the bytes of a state for globals, in those of the part of a thread for registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// Its first byte.
    pub byte: u32,
    /// Whether it takes two bytes, not one.
    pub wide: bool,
}

/// An instruction in the copy of its function that a chain of calls leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spot {
    pub pc: Pc,
    /// Where the registers of the innermost frame begin among those of all frames of a thread.
    pub base: Reg,
    /// The first spot of the function that the thread starts with.
    pub tree: u32,
    pub link: Link,
}

/// How an instruction leads to another frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Link {
    /// Not at all.
    None,
    /// A call: to this spot.
    Calls(u32),
    /// A call that leads to where there are no spots.
    Cut,
    /// A return from a call.
    Returns {
        /// The register for the result, among those of all frames.
        to: Reg,
        /// Behind the call.
        spot: u32,
    },
    /// The end of what a thread starts with: if it was spawned, it goes on to this spot, its `Exit`, without any variables.
    Exits(u32),
}

/// Where a thread is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct At {
    /// The number of the spot.
    pub spot: u32,
    /// Its instruction.
    pub pc: Pc,
}

/// Where a thread can be, and what it is doing there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// Before an instruction.
    Running(At),
    /// Among the waiters of an object, before its `Resume`.
    Waiting(At),
    /// Taken out of them.
    Notified(At),
    /// It never moves again: whether it has failed.
    Stopped(Pc, bool),
}

impl Stop {
    /// The instruction.
    #[must_use]
    pub fn pc(self) -> Pc {
        match self {
            Self::Running(at) | Self::Waiting(at) | Self::Notified(at) => at.pc,
            Self::Stopped(pc, _) => pc,
        }
    }
}

/// Where everything is in a packed state of the fixed size.
///
/// A state has it if it has that many words, and those of the threads that were [spawned](Spawned), and the first is not [`Layout::GENERAL`].
#[derive(Clone, Debug)]
pub struct Layout {
    /// How many words a state has, but for those of threads that were spawned.
    pub size: usize,
    /// Where each part ends, in words; those of all threads that may be spawned are among them.
    pub ends: Vec<u32>,
    /// How many parts there are, but for those of threads that were spawned.
    pub own_parts: usize,
    /// Those threads, if there can be some.
    pub spawned: Option<Spawned>,
    /// By spot, of which kind spawned threads are that are there.
    pub kinds: Vec<Option<usize>>,
    /// The first byte of the area of each thread of `run`.
    pub areas: Vec<u32>,
    /// How many bytes each of these has.
    pub area_bytes: Vec<u32>,
    /// The parts of each of them, as bits of [`Changed`].
    pub area_bits: Vec<u64>,
    /// Where each global slot is.
    pub slots: Vec<Field>,
    /// By spot, where the registers of all frames are in the area of a thread that is there; those that are constant are nowhere.
    pub frames: Vec<Vec<(Reg, Field)>>,
    /// By spot, which registers are constant when a thread is there, and where their values begin among those of its kind.
    pub constants: Vec<(usize, Vec<Reg>)>,
    /// All constants of each kind of threads, those of `run` first.
    pub thread_constants: Vec<Box<[i64]>>,
    /// Where the number of the stop is in the area of a thread.
    pub stop: Field,
    /// The global slot of each lock that is taken for reading, in order, and where in the area of a thread is how often it holds it so, in
    /// one byte.
    pub holds: Vec<(u32, Field)>,
    /// What the numbers of stops mean.
    pub stops: Vec<Stop>,
    /// The heap, if there is one.
    pub heap: Option<Heap>,
}

impl Layout {
    /// The first word of a state that has not the fixed size.
    pub const GENERAL: u64 = crate::pack::GENERAL;
    /// How often a thread can hold a lock for reading in a state of the fixed size.
    pub const MOST_HOLDS: usize = crate::pack::MOST_HOLDS;

    /// The layout of a program's states; none if they have no fixed size.
    #[must_use]
    pub fn of(program: &Program) -> Option<Self> {
        let packing = &program.packing;
        let fixed = packing.fixed.as_ref()?;
        Some(fixed.for_native_code())
    }

    /// How many words a state has, but for those of threads that were spawned.
    #[must_use]
    #[inline]
    pub fn size(&self) -> usize {
        self.size
    }

    /// How many threads of `run` there are.
    #[must_use]
    pub fn run_threads(&self) -> usize {
        self.areas.len()
    }

    /// How many threads were spawned that are in a state of these words, which has the fixed size.
    #[must_use]
    #[inline]
    pub fn spawned_threads(&self, words: &[u64]) -> usize {
        match (&self.spawned, &self.heap) {
            (None, _) => 0,
            (Some(spawned), None) => (words.len() - self.size) / spawned.words,
            (Some(_), Some(_)) => usize::from(words[0] as u8),
        }
    }

    /// How many threads there are in a state of these words, which has the fixed size.
    #[must_use]
    #[inline]
    pub fn threads(&self, words: &[u64]) -> usize {
        self.areas.len() + self.spawned_threads(words)
    }

    /// How many threads there can be, in states of the fixed size.
    #[must_use]
    pub fn most_threads(&self) -> usize {
        let spawned = self.spawned.as_ref();
        self.areas.len() + spawned.map_or(0, |spawned| spawned.most)
    }

    /// Whether a state in these words has the fixed size.
    #[must_use]
    #[inline]
    pub fn fits(&self, words: &[u64]) -> bool {
        let has_size = words.len() == self.size
            || self.heap.is_some()
            || self.spawned.as_ref().is_some_and(|spawned| {
                let more = words.len().wrapping_sub(self.size);
                more.is_multiple_of(spawned.words) && more / spawned.words <= spawned.most
            });
        has_size && words[0] != Self::GENERAL
    }

    /// The ends of the parts of a state of these words, which has the fixed size; but for those of objects.
    #[must_use]
    #[inline]
    pub fn ends(&self, words: &[u64]) -> &[u32] {
        match self.spawned {
            None => &self.ends,
            Some(_) => &self.ends[..self.own_parts + self.spawned_threads(words)],
        }
    }

    /// The first byte of the area of the thread at a position.
    #[must_use]
    #[inline]
    pub fn area(&self, thread: usize) -> u32 {
        match (self.areas.get(thread), &self.spawned) {
            (None, Some(spawned)) => {
                let word = self.size + (thread - self.areas.len()) * spawned.words;
                8 * word as u32
            }
            _ => self.areas[thread],
        }
    }

    /// The word in a field of the area of the thread at a position.
    #[must_use]
    #[inline]
    pub fn word_in_area(&self, words: &[u64], thread: usize, field: Field) -> i64 {
        let byte = self.area(thread) + field.byte;
        let code = Self::code(Field { byte, ..field }, words);
        code::word(code.into(), width(field.wide))
    }

    /// The parts of the thread at a position, as bits of [`Changed`].
    #[must_use]
    pub fn bits(&self, thread: usize) -> u64 {
        let spawned = || 1 << (self.own_parts + thread - self.areas.len());
        self.area_bits.get(thread).copied().unwrap_or_else(spawned)
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

    /// The global slots of the locks that a thread holds for reading, in the words of a state.
    pub fn read_holds(&self, words: &[u64], thread: usize) -> impl Iterator<Item = u32> {
        let area = self.area(thread);
        let held = self.holds.iter().filter(move |(_, field)| {
            let byte = area + field.byte;
            Self::code(Field { byte, ..*field }, words) != 0
        });
        held.map(|(slot, _)| *slot)
    }

    /// The number of the stop of a thread, in the words of a state.
    #[must_use]
    #[inline]
    pub fn stop_number(&self, words: &[u64], thread: usize) -> usize {
        let byte = self.area(thread);
        let bits = words[(byte / 8) as usize] >> (byte % 8 * 8);
        match self.stop.wide {
            false => usize::from(bits as u8),
            true => usize::from(bits as u16),
        }
    }
}

/// Heap objects: each has an area of whole words behind those of threads, and each area is a part. It begins with a [header](Heap::HEADER), and each slot has
/// two bytes.
#[derive(Clone, Copy, Debug)]
pub struct Heap {
    /// States with more objects and spawned threads together do not have the fixed size.
    pub most_areas: usize,
}

impl Heap {
    /// How many bytes a header has: the layout and flags, then how many slots there are.
    pub const HEADER: u32 = objects::HEADER;
    /// The flag of an object that was freed. The bytes of its slots are zero.
    pub const FREED: u64 = objects::FREED;
    /// The flag of an object that others than its maker have known; kept where a discipline depends on it.
    pub const ESCAPED: u64 = objects::ESCAPED;
    /// Objects with more slots are in no state of the fixed size.
    pub const MOST_SLOTS: usize = objects::MOST_SLOTS;
    /// How many offsets into an object a reference in a state may have.
    pub const OFFSETS: u64 = code::OFFSETS;

    /// How many words the area has that begins with a word.
    #[must_use]
    #[inline]
    pub fn words_at(first: u64) -> usize {
        objects::words_at(first)
    }

    /// The layout of the object whose area begins with a word.
    #[must_use]
    #[inline]
    pub fn layout_of(first: u64) -> usize {
        usize::from(objects::layout_at(first))
    }

    /// The first byte of the header of an object that was not freed, and which only its maker knows.
    #[must_use]
    pub fn header(layout: u16) -> u64 {
        objects::header(layout)
    }
}

/// Threads that are spawned: each has an area of these words, behind those of the state without them, and each area is a part.
#[derive(Clone, Copy, Debug)]
pub struct Spawned {
    /// How many words an area has.
    pub words: usize,
    /// States with more such threads do not have the fixed size.
    pub most: usize,
    /// How many threads the thread has spawned, where that matters. Threads of `run` have this too.
    pub children: Field,
    /// Who has spawned the thread.
    pub parent: Field,
    /// Its number, where threads ask for it.
    pub tid: Option<Field>,
}

/// What gives a thread exclusive access to a slot, as declared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// Holding the lock in this global slot.
    Lock(u32),
    /// Holding the lock at this offset of the same element of the same object.
    Sibling(u32),
    /// Having been the first to access it, which the ghost word in this global slot tells.
    First { ghost: u32 },
    /// A condition.
    When,
}

/// All rules of a program.
#[derive(Clone, Debug)]
pub struct Declared {
    /// By global slot.
    pub globals: Vec<Option<Rule>>,
    /// By layout, for each slot of an element.
    pub layouts: Vec<Vec<Option<Rule>>>,
    /// By global slot, whether a condition may depend on it.
    pub decides: Vec<bool>,
    /// Whether a condition may depend on any object.
    pub anything_decides: bool,
}

/// A program as a compiler to native code sees it.
#[derive(Clone, Debug)]
pub struct Bytecode {
    pub layout: Layout,
    pub code: Vec<Op>,
    /// How many parameters each function has.
    pub parameters: Vec<u16>,
    /// All code that threads can execute.
    pub spots: Vec<Spot>,
    /// Where threads of each kind start: each thread of `run` is one, then come those that are spawned with one function.
    pub starts: Vec<u32>,
    /// How many registers of the innermost frame are alive before each instruction.
    pub heights: Vec<u16>,
    /// How many registers all frames of a thread use together.
    pub registers: u32,
    /// The registers of the innermost frame that each instruction may write, but for calls and returns.
    pub written: Vec<std::ops::Range<u16>>,
    /// By spot, the registers of all frames that have the same value whenever any thread is there.
    pub constants: Vec<Vec<Option<i64>>>,
    pub atomic_slots: Vec<bool>,
    pub ranges: Vec<(i64, i64)>,
    pub shapes: Vec<crate::op::ChannelShape>,
    /// The word of a reference to the global slot 0; others follow.
    pub global_reference: i64,
    /// The name of the first thread as a word; others follow.
    pub thread_reference: i64,
    /// The word of a reference to the first object of a canonical state.
    pub heap_reference: i64,
    /// How many slots an element of each layout has, and which of a new one are not zero.
    pub layouts: Vec<(u32, Vec<(u32, i64)>)>,
}

impl Bytecode {
    /// The code of a program; none if its states have no [`Layout`].
    #[must_use]
    pub fn of(program: &Program) -> Option<Self> {
        let layout = Layout::of(program)?;
        let spots = program.packing.fixed.as_ref()?.spots();
        Some(Self {
            constants: constants(&layout),
            starts: (0..spots.kinds())
                .map(|thread| spots.start(thread))
                .collect(),
            layout,
            code: program.code.clone(),
            parameters: (program.functions.iter())
                .map(|function| function.parameters)
                .collect(),
            spots: spots.all().to_vec(),
            heights: program.heights.clone(),
            registers: spots.registers() as u32,
            written: (program.code.iter())
                .map(|op| written(program, *op))
                .map(|registers| registers.start as u16..registers.end as u16)
                .collect(),
            atomic_slots: program.atomic_slots.clone(),
            ranges: program.ranges.clone(),
            shapes: program.shapes.clone(),
            global_reference: word::global(0),
            thread_reference: word::thread(Name::canonical(0)),
            heap_reference: heap_word(0, 0),
            layouts: (program.layouts.iter())
                .map(|layout| (layout.slots, layout.defaults.clone()))
                .collect(),
        })
    }

    /// The instruction at a spot.
    #[must_use]
    pub fn op(&self, spot: u32) -> Op {
        self.code[self.spots[spot as usize].pc as usize]
    }

    /// A spot with its instruction.
    #[must_use]
    pub fn at(&self, spot: u32) -> At {
        let pc = self.spots[spot as usize].pc;
        At { spot, pc }
    }

    /// How many bytes the areas of the threads have that can be at a spot, at least.
    #[must_use]
    pub fn area_bytes(&self, spot: u32) -> u32 {
        let tree = self.spots[spot as usize].tree;
        let kind = self.starts.iter().position(|start| *start == tree);
        let of_run = kind.and_then(|kind| self.layout.area_bytes.get(kind));
        let of_spawned = self.layout.spawned.map(|spawned| 8 * spawned.words as u32);
        of_run.copied().or(of_spawned).unwrap_or(0)
    }

    /// The number of a stop, if threads can be there in a state of the fixed size.
    #[must_use]
    pub fn number(&self, program: &Program, stop: Stop) -> Option<u16> {
        let number = program.packing.fixed.as_ref()?.number(stop);
        number.map(|number| number as u16)
    }
}

/// The constants that are the same for all threads.
fn constants(layout: &Layout) -> Vec<Vec<Option<i64>>> {
    let of_spot = |(first, registers): &(usize, Vec<Reg>)| {
        let mut constants = Vec::new();
        for (index, register) in registers.iter().enumerate() {
            constants.resize(*register as usize + 1, None);
            // Those that never come there have the value of one that does.
            let mut values = (layout.thread_constants.iter()).map(|own| own[first + index]);
            let value = values.next();
            constants[*register as usize] = value.filter(|value| values.all(|own| own == *value));
        }
        constants
    };
    layout.constants.iter().map(of_spot).collect()
}

/// The place of a look at what a discipline depends on.
pub const NOWHERE: u32 = crate::exclusive::NOWHERE.0;

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

/// A reference to a slot of the object at a position of a canonical state, as a word.
#[must_use]
#[inline]
pub fn heap_word(position: usize, slot: usize) -> i64 {
    word::heap(Name::canonical(position), slot)
}

/// A reference to what a thread makes after so many other objects, as a word.
#[must_use]
#[inline]
pub fn fresh_word(thread: usize, made: usize) -> i64 {
    word::heap(Name::fresh(thread, made), 0)
}

/// The parts that a write to a global slot changes, at most, where no discipline is enforced.
#[must_use]
pub fn changed_by_write(program: &Program, slot: usize) -> Changed {
    program.packing.changed_by_write(slot)
}

/// Whether somebody can take what is at a slot of an element of a layout.
#[must_use]
pub fn can_be_taken(program: &Program, layout: u16, slot: usize) -> bool {
    program.locks.can_be_taken(layout, slot)
}

impl Program {
    /// The same program, packed as if its executions had shown nothing but how often a function is in a chain of calls.
    #[must_use]
    pub fn packed_for_rounds(mut self, rounds: usize) -> Self {
        self.packing = Packing::new(&self, &Sample::of_rounds(rounds));
        self
    }

    /// Whether it allocates objects on a heap.
    #[must_use]
    pub fn allocates(&self) -> bool {
        self.features.heap
    }
}

impl Machine {
    /// Gives the last objects of a state whose names are canonical other ones, which are references to their first slots.
    pub fn name_last_objects(state: &mut State, names: &[i64]) {
        let first = state.objects.len() - names.len();
        for word in &mut state.words {
            if let Reference::Heap(name, offset) = Reference::of(*word)
                && let Some(number) = (name.position()).and_then(|place| place.checked_sub(first))
                && let Some(name) = names.get(number)
            {
                *word = name + offset as i64;
            }
        }
        for (object, name) in state.objects[first..].iter_mut().zip(names) {
            if let Reference::Heap(name, _) = Reference::of(*name) {
                object.name = name;
            }
        }
    }

    /// Writes the changed parts of a state again, in place of the words of a state that differs in these parts only. Says which
    /// parts of the words differ.
    pub fn encode_changed(&self, changed: Changed, state: &State, packed: &mut Packed) -> Changed {
        crate::pack::encode_changed(&self.program, state, changed, packed)
    }

    /// Whether its steps are single accesses.
    #[must_use]
    pub fn makes_plain_steps(&self) -> bool {
        self.granularity == Granularity::Access
    }

    /// Whether it enforces declared disciplines.
    #[must_use]
    pub fn enforces_disciplines(&self) -> bool {
        self.enforcer.enabled
    }

    /// What is declared, and not broken from the start.
    #[must_use]
    pub fn declared_rules(&self) -> Option<Declared> {
        let is_broken = self.broken_from_the_start.is_some();
        (!is_broken).then(|| self.program.rules.declared())
    }
}
