//! States packed into words, in parts, for the store.
//!
//! Nearly all states of most programs have a [fixed size](fixed), and their parts are words. What follows is about the others,
//! the *general form*.
//!
//! The parts are groups of globals, then each thread, then each heap object. A part is a sequence of
//! *fields*, in an order that the fields before tell:
//!
//! - a *number* says where a thread is, or how many of something follow: one byte, or five;
//! - a *value* is a word of the state as a [code](code) of one or two bytes;
//! - the values that have no code follow behind the fields, whole, one word each.
//!
//! Fields fill words from their low end; a field that would cross the end of a word begins the next one.
//! What a program does not use (calls, spawned threads, the heap, read locks) takes no room, and
//! neither do registers that have the [same value](constants) whenever a thread is there. Parts are padded so that
//! the part of a thread of `run` that does not call has the same size in nearly all states.
//!
//! # Why no two canonical states have the same words
//!
//! 1. **A part is determined by its words, and so is its end.** By induction over its fields: what comes before
//!    a field tells its width. (The number of a thread's stop tells its frame; a count tells how many values
//!    follow; the program tells the rest.) A code stands for one word or for the next of the whole words behind
//!    the fields; how many of those there are, the fields tell.
//! 2. **Every word of a canonical state is in the fields of a part**, or is determined by them: a constant register by
//!    the instruction that its thread is at, the number of a thread by its position where nobody asks for it.
//!    Names are positions in canonical states.
//! 3. **No value is cut off.** Whether a code exists is decided by the code table, both ways
//!    (`codes_and_words_are_one_to_one`); everything else is written whole.
//!
//! So unpacking gives back the state: tested on the whole corpus in debug builds, where
//! every packed state is unpacked again.

pub(crate) mod code;
pub(crate) mod constants;
mod fields;
mod fixed;
mod frames;
mod layout;
pub(crate) mod objects;
mod places;
mod sample;
mod spots;
mod stops;

use raddle_explore::{Changed, Packed};

use self::code::Width;
use self::fields::{Count, Escaped, Fields, InPlace, Reader, Sink, Writer};
pub(crate) use self::fixed::{GENERAL, MOST_HOLDS};
use self::layout::Register;
pub(crate) use self::layout::{Packing, whole_objects};
pub(crate) use self::sample::Sample;
use crate::op::Pc;
use crate::program::Program;
use crate::state::{Block, Object, Phase, State, header};
use crate::word::{self, Name};

/// Writes a canonical state.
pub(crate) fn encode(program: &Program, state: &State, packed: &mut Packed) {
    let fixed = program.packing.fixed.as_ref();
    if fixed.is_some_and(|fixed| fixed.encode(program, state, packed)) {
        return;
    }
    packed.clear();
    if fixed.is_some() {
        packed.push(GENERAL);
    }
    let parts = program.packing.globals.len() + state.threads.len() + state.objects.len();
    for part in 0..parts {
        write_part(program, state, part, packed);
        packed.end_part();
    }
}

/// Writes those parts of a canonical state again that have changed, in place of the words of a state that differs in these parts only. Says
/// which parts of the words differ, at most.
pub(crate) fn encode_changed(
    program: &Program,
    state: &State,
    changed: Changed,
    packed: &mut Packed,
) -> Changed {
    let mut changed = changed;
    let fits = match &program.packing.fixed {
        _ if changed.is_all() => false,
        Some(fixed) => {
            let is_fixed = fixed.has_form(packed.words());
            is_fixed && fixed.write(program, state, changed, packed)
        }
        None => write_changed(program, state, changed, packed),
    };
    if !fits {
        encode(program, state, packed);
        // Both forms have parts of their own.
        if program.packing.fixed.is_some() {
            changed = Changed::ALL;
        }
    }
    #[cfg(debug_assertions)]
    check(program, state, packed);
    changed
}

/// Writes the changed parts in place; says whether all of them fit.
fn write_changed(program: &Program, state: &State, changed: Changed, packed: &mut Packed) -> bool {
    let parts = program.packing.globals.len() + state.threads.len() + state.objects.len();
    packed.parts().len() == parts
        && changed.iter().all(|part| {
            let mut sink = InPlace::new(packed.part_mut(part));
            write_part(program, state, part, &mut sink);
            sink.is_full()
        })
}

/// Tells the parts of a state whose words are known.
pub(crate) fn find_parts(program: &Program, words: &[u64], state: &State, packed: &mut Packed) {
    match &program.packing.fixed {
        Some(fixed) if fixed.has_form(words) => fixed.find_parts(words, packed),
        _ => encode(program, state, packed),
    }
}

/// Checks that the parts which have not changed are right, and that unpacking gives back the state.
#[cfg(debug_assertions)]
fn check(program: &Program, state: &State, packed: &Packed) {
    thread_local! {
        static SCRATCH: std::cell::RefCell<(Packed, State)> = std::cell::RefCell::default();
    }
    SCRATCH.with_borrow_mut(|(whole, unpacked)| {
        encode(program, state, whole);
        assert!(whole == packed, "a step says what it changes");
        decode(program, packed.words(), unpacked);
        assert!(unpacked == state, "unpacking gives back the state");
    });
}

/// Writes one part: its fields, and the values that have no code.
fn write_part(program: &Program, state: &State, part: usize, sink: &mut impl Sink) {
    let least = least_words(program, state, part);
    let mut writer = Writer::new(sink);
    part_fields(program, state, part, &mut writer);
    if writer.end(least) {
        part_fields(program, state, part, &mut Escaped { sink });
    }
}

fn least_words(program: &Program, state: &State, part: usize) -> u32 {
    let packing = &program.packing;
    let thread = part.wrapping_sub(packing.globals.len());
    match thread < state.threads.len() {
        true => packing.thread_words.get(thread).copied().unwrap_or(0),
        false => 0,
    }
}

/// Tells the fields of a part, in order.
#[inline]
fn part_fields(program: &Program, state: &State, part: usize, fields: &mut impl Fields) {
    let packing = &program.packing;
    let thread = part.wrapping_sub(packing.globals.len());
    if part < packing.globals.len() {
        global_fields(program, state, part, fields);
    } else if thread < state.threads.len() {
        thread_fields(program, state, thread, fields);
    } else {
        object_fields(program, state, thread - state.threads.len(), fields);
    }
}

fn global_fields(program: &Program, state: &State, part: usize, fields: &mut impl Fields) {
    let packing = &program.packing;
    if part == 0 {
        if program.features.spawn {
            fields.number(state.threads.len() as u32);
        }
        if program.features.heap {
            fields.number(state.objects.len() as u32);
        }
    }
    let slots = packing.globals[part].first..packing.globals[part].end;
    let widths = &packing.slots[slots.clone()];
    for (word, width) in state.words[slots].iter().zip(widths) {
        fields.value(*word, *width);
    }
}

fn thread_fields(program: &Program, state: &State, thread: usize, fields: &mut impl Fields) {
    let features = &program.features;
    let words = state.thread(thread);
    let (pc, phase) = (words[header::PC] as Pc, Phase::of(words[header::PHASE]));
    fields.number(program.packing.number(pc, phase));
    if features.spawn {
        fields.value(words[header::PARENT], Width::Two);
        fields.value(words[header::CHILDREN], Width::One);
    }
    if features.numbers_threads {
        fields.value(words[header::TID], Width::Two);
    }
    let mut rest = &words[header::LENGTH..];
    if features.read_locks {
        let (holds, frames) = rest.split_at(words[header::READ_HOLDS] as usize);
        fields.number(holds.len() as u32);
        for hold in holds {
            fields.value(*hold, Width::Two);
        }
        rest = frames;
    }
    if has_frames(phase) {
        let height = program.heights[pc as usize] as usize;
        if features.calls {
            let (outer, innermost) = rest.split_at(rest.len() - height);
            fields.number(outer.len() as u32);
            for word in outer {
                fields.value(*word, Width::Two);
            }
            rest = innermost;
        }
        frame_fields(program, pc, rest, fields);
    }
}

/// Threads that have ended or failed have none, but those that have failed at the start do.
fn has_frames(phase: Phase) -> bool {
    !matches!(phase, Phase::Ended | Phase::Failed)
}

#[inline]
fn frame_fields(program: &Program, pc: Pc, registers: &[i64], fields: &mut impl Fields) {
    let frame = &program.packing.frames[pc as usize];
    for (register, width) in &frame.stored {
        fields.value(registers[*register as usize], *width);
    }
    for register in &registers[frame.registers.len()..] {
        fields.value(*register, program.packing.anything);
    }
    debug_assert!(
        frame.registers.iter().zip(registers).all(|(known, word)| {
            !matches!(known, Register::Constant(constant) if constant != word)
        }),
        "constants have their values"
    );
}

fn object_fields(program: &Program, state: &State, object: usize, fields: &mut impl Fields) {
    let object = &state.objects[object];
    let flags = u32::from(object.escaped) << 1 | u32::from(object.freed);
    fields.number(object.length);
    fields.number(u32::from(object.layout) << 2 | flags);
    if !object.freed {
        for word in &state.words[object.start as usize..][..object.length as usize] {
            fields.value(*word, program.packing.anything);
        }
    }
}

/// How many words the part of a thread has that does not call and is at that instruction, if every value has a code.
fn thread_words(program: &Program, packing: &Packing, pc: Pc) -> u32 {
    let mut count = Count::default();
    let mut writer = Writer::new(&mut count);
    let features = &program.features;
    writer.number(packing.number(pc, Phase::Running));
    if features.spawn {
        writer.value(0, Width::Two);
        writer.value(0, Width::One);
    }
    if features.numbers_threads {
        writer.value(0, Width::Two);
    }
    if features.read_locks {
        writer.number(0);
    }
    let frame = &packing.frames[pc as usize];
    for (_, width) in &frame.stored {
        writer.value(0, *width);
    }
    for _ in frame.registers.len()..program.heights[pc as usize] as usize {
        writer.value(0, packing.anything);
    }
    writer.end(0);
    count.words
}

/// Restores a state from its words.
pub(crate) fn decode(program: &Program, words: &[u64], state: &mut State) {
    let (packing, features) = (&program.packing, &program.features);
    let mut words = words;
    if let Some(fixed) = &packing.fixed {
        if fixed.has_form(words) {
            fixed.read(program, words, state);
            return;
        }
        words = &words[1..];
    }
    let mut reader = Reader::new(words);
    state.words.clear();
    state.threads.clear();
    state.objects.clear();
    let (mut threads, mut objects) = (program.hir.starts.len(), 0);
    for (part, slots) in packing.globals.iter().enumerate() {
        if part == 0 && features.spawn {
            threads = reader.number() as usize;
        }
        if part == 0 && features.heap {
            objects = reader.number() as usize;
        }
        for width in &packing.slots[slots.first..slots.end] {
            let word = reader.value(*width);
            state.words.push(word);
        }
        reader.end(0, &mut state.words[slots.first..]);
    }
    for position in 0..threads {
        decode_thread(program, position, &mut reader, state);
    }
    for position in 0..objects {
        decode_object(packing, position, &mut reader, state);
    }
    debug_assert!(reader.is_at_end(), "nothing is left over");
}

fn decode_thread(program: &Program, position: usize, reader: &mut Reader<'_>, state: &mut State) {
    let (packing, features) = (&program.packing, &program.features);
    let start = state.words.len();
    let (pc, phase) = packing.stop(reader.number());
    let (parent, children) = match features.spawn {
        true => (reader.value(Width::Two), reader.value(Width::One)),
        false => (word::NULL, 0),
    };
    let tid = match features.numbers_threads {
        true => reader.value(Width::Two),
        // Nobody asks a spawned thread.
        false if position < program.hir.starts.len() => position as i64,
        false => 0,
    };
    let holds = match features.read_locks {
        true => reader.number(),
        false => 0,
    };
    let header = [
        i64::from(pc),
        phase as i64,
        parent,
        children,
        tid,
        holds.into(),
    ];
    state.words.extend(header);
    for _ in 0..holds {
        state.words.push(reader.value(Width::Two));
    }
    if has_frames(phase) {
        let outer = if features.calls { reader.number() } else { 0 };
        for _ in 0..outer {
            state.words.push(reader.value(Width::Two));
        }
        let frame = &packing.frames[pc as usize];
        for register in &frame.registers {
            let word = match register {
                Register::Constant(value) => *value,
                Register::Stored(width) => reader.value(*width),
            };
            state.words.push(word);
        }
        for _ in frame.registers.len()..program.heights[pc as usize] as usize {
            state.words.push(reader.value(packing.anything));
        }
    }
    let least = packing.thread_words.get(position).copied().unwrap_or(0);
    reader.end(least, &mut state.words[start..]);
    let length = state.words.len() - start;
    let room = packing.thread_rooms.get(position).copied().unwrap_or(0);
    let room = (room as usize).max(length);
    state.words.resize(start + room, 0);
    state.threads.push(Block {
        start: start as u32,
        length: length as u32,
        room: room as u32,
        name: Name::canonical(position),
    });
}

fn decode_object(packing: &Packing, position: usize, reader: &mut Reader<'_>, state: &mut State) {
    let start = state.words.len();
    let length = reader.number();
    let shape = reader.number();
    let freed = shape & 1 != 0;
    if freed {
        state.words.resize(start + length as usize, 0);
    } else {
        for _ in 0..length {
            state.words.push(reader.value(packing.anything));
        }
    }
    reader.end(0, &mut state.words[start..]);
    state.objects.push(Object {
        start: start as u32,
        length,
        name: Name::canonical(position),
        layout: (shape >> 2) as u16,
        freed,
        escaped: shape & 2 != 0,
    });
}
