//! The fast way for states of a fixed size: those of programs whose threads neither call nor spawn nor take read
//! locks, and which have no heap, while every value has a code. That is, nearly all states of most programs.
//!
//! It writes the same words as the general way, and reads them; where each field is was computed before. A state has this
//! size only if every part has its least size, because parts are never smaller. Then nothing was written whole, since
//! that comes on top of the least size. What remains to be seen is whether the number of a stop is a [long one](super::fields::LONG).

use raddle_explore::Packed;

use super::code::{self, Width};
use super::fields::LONG;
use super::layout::{Packing, Register};
use crate::native;
use crate::op::{Pc, Reg};
use crate::program::Program;
use crate::state::{Block, Phase, State, header};
use crate::word::{self, Name};

/// Where a word of the state is in its part.
#[derive(Clone, Copy, Debug)]
struct Field {
    /// Which word it is, of those that are packed together.
    index: u16,
    width: Width,
    shift: u8,
    word: u32,
}

impl Field {
    /// Its place in bytes, if its part begins with that word.
    fn in_bytes(&self, start: u32) -> native::Field {
        native::Field {
            byte: (start + self.word) * 8 + u32::from(self.shift) / 8,
            wide: self.width == Width::Two,
        }
    }
}

/// A frame at an instruction.
#[derive(Clone, Debug, Default)]
struct Frame {
    fields: Box<[Field]>,
    constants: Box<[(u16, i64)]>,
}

/// Where everything is in states of a fixed size.
#[derive(Clone, Debug)]
pub(crate) struct Fixed {
    /// The ends of the parts.
    ends: Vec<u32>,
    /// The fields of each part of globals.
    globals: Vec<Box<[Field]>>,
    /// The first slot of each part of globals.
    first_slots: Vec<usize>,
    /// By instruction.
    frames: Vec<Frame>,
    /// The threads of an unpacked state, and how many words it has.
    threads: Vec<Block>,
    words: usize,
}

/// Puts fields behind each other, as [`Writer`](super::fields::Writer) does.
#[derive(Default)]
struct Place {
    word: u32,
    used: u32,
}

impl Place {
    fn next(&mut self, index: usize, width: Width) -> Field {
        if self.used + width.bits() > 64 {
            self.word += 1;
            self.used = 0;
        }
        let shift = self.used as u8;
        self.used += width.bits();
        Field {
            index: index as u16,
            width,
            shift,
            word: self.word,
        }
    }
}

impl Fixed {
    /// Nothing for a program whose states have no fixed size.
    pub(super) fn new(program: &Program, packing: &Packing) -> Option<Self> {
        let features = &program.features;
        let all_known =
            |frame: (&super::layout::Frame, &u16)| frame.0.registers.len() == *frame.1 as usize;
        let frames = packing.frames.iter().zip(&program.heights);
        if features.calls
            || features.spawn
            || features.heap
            || features.read_locks
            || packing.slots.len() > usize::from(u16::MAX)
            || !frames.into_iter().all(all_known)
        {
            return None;
        }
        let mut ends: Vec<u32> = Vec::new();
        let mut end = |words: u32| {
            let before = ends.last().copied().unwrap_or(0);
            ends.push(before + words);
        };
        let mut globals = Vec::new();
        for part in &packing.globals {
            let mut place = Place::default();
            let widths = packing.slots[part.first..part.end].iter().enumerate();
            let fields: Box<[Field]> = widths
                .map(|(index, width)| place.next(index, *width))
                .collect();
            end(fields.last().map_or(0, |field| field.word + 1));
            globals.push(fields);
        }
        let mut words = program.initial.len();
        let mut threads = Vec::new();
        for (position, room) in packing.thread_rooms.iter().enumerate() {
            end(packing.thread_words[position]);
            threads.push(Block {
                start: words as u32,
                length: 0,
                room: *room,
                name: Name::canonical(position),
            });
            words += *room as usize;
        }
        let frames = packing.frames.iter().map(|frame| {
            // Behind the number of the stop.
            let mut place = Place { word: 0, used: 8 };
            let stored = frame.stored.iter();
            let constants = frame.registers.iter().enumerate();
            let constants = constants.filter_map(|(number, register)| match register {
                Register::Constant(value) => Some((number as u16, *value)),
                Register::Stored(_) => None,
            });
            Frame {
                fields: stored
                    .map(|(register, width)| place.next(*register as usize, *width))
                    .collect(),
                constants: constants.collect(),
            }
        });
        Some(Self {
            frames: frames.collect(),
            ends,
            globals,
            first_slots: packing.globals.iter().map(|part| part.first).collect(),
            threads,
            words,
        })
    }

    /// The ends of all parts.
    pub(crate) fn all_ends(&self) -> &[u32] {
        &self.ends
    }

    /// Where each global slot is, in the bytes of a state.
    pub(crate) fn slot_fields(&self) -> Vec<native::Field> {
        let mut fields = Vec::new();
        for (part, of_part) in self.globals.iter().enumerate() {
            let start = if part == 0 { 0 } else { self.ends[part - 1] };
            fields.extend(of_part.iter().map(|field| field.in_bytes(start)));
        }
        fields
    }

    /// Where each register is in the bytes of its thread, by instruction.
    pub(crate) fn frame_fields(&self) -> Vec<Vec<(Reg, native::Field)>> {
        let of_frame = |frame: &Frame| {
            let fields = frame.fields.iter();
            fields.map(|field| (field.index, field.in_bytes(0))).collect()
        };
        self.frames.iter().map(of_frame).collect()
    }

    fn size(&self) -> usize {
        self.ends.last().copied().unwrap_or(0) as usize
    }

    /// The ends of the parts of a state in these words, if it is one of that size.
    pub(super) fn ends(&self, words: &[u64]) -> Option<&[u32]> {
        (words.len() == self.size()).then_some(&self.ends)
    }

    /// Writes a part into its place; `packed` is a state of the fixed size. Says whether it could: otherwise the part is
    /// in disorder.
    #[inline]
    pub(super) fn write(
        &self,
        program: &Program,
        state: &State,
        part: usize,
        packed: &mut Packed,
    ) -> bool {
        let start = if part == 0 { 0 } else { self.ends[part - 1] };
        let words = &mut packed.words_mut()[start as usize..self.ends[part] as usize];
        words.fill(0);
        if let Some(fields) = self.globals.get(part) {
            let first = self.first_slots[part];
            return put(fields, &state.words[first..], words);
        }
        let thread = state.thread(part - self.globals.len());
        let (pc, phase) = (thread[header::PC] as Pc, Phase::of(thread[header::PHASE]));
        let number = program.packing.number(pc, phase);
        words[0] = number.into();
        let frame = &self.frames[pc as usize];
        debug_assert!(
            !super::has_frames(phase) || {
                let mut constants = frame.constants.iter();
                constants
                    .all(|(register, value)| thread[header::LENGTH + *register as usize] == *value)
            },
            "constants have their values"
        );
        number < LONG
            && (!super::has_frames(phase) || put(&frame.fields, &thread[header::LENGTH..], words))
    }

    /// Restores a state from its words, if it is one of the fixed size.
    pub(super) fn read(
        &self,
        packing: &Packing,
        program: &Program,
        words: &[u64],
        state: &mut State,
    ) -> bool {
        if words.len() != self.size() {
            return false;
        }
        state.objects.clear();
        state.threads.clone_from(&self.threads);
        state.words.resize(self.words, 0);
        let mut start = 0;
        for (part, fields) in self.globals.iter().enumerate() {
            let first = self.first_slots[part];
            take(fields, &words[start..], &mut state.words[first..]);
            start = self.ends[part] as usize;
        }
        for position in 0..self.threads.len() {
            let part = &words[start..];
            start = self.ends[self.globals.len() + position] as usize;
            let number = part[0] as u8;
            if u32::from(number) == LONG {
                return false;
            }
            let (pc, phase) = packing.stop(number.into());
            let block = &mut state.threads[position];
            let mut length = header::LENGTH;
            let thread = &mut state.words[block.start as usize..][..block.room as usize];
            let (head, registers) = thread.split_at_mut(header::LENGTH);
            head.copy_from_slice(&[pc.into(), phase as i64, word::NULL, 0, position as i64, 0]);
            if super::has_frames(phase) {
                let frame = &self.frames[pc as usize];
                for (register, value) in &frame.constants {
                    registers[*register as usize] = *value;
                }
                take(&frame.fields, part, registers);
                length += program.heights[pc as usize] as usize;
            }
            block.length = length as u32;
        }
        true
    }
}

#[inline]
fn put(fields: &[Field], values: &[i64], words: &mut [u64]) -> bool {
    for field in fields {
        let code = code::code(values[field.index as usize], field.width);
        if code == field.width.escape() {
            return false;
        }
        // Where threads rarely stop, a frame may need more words.
        let Some(word) = words.get_mut(field.word as usize) else {
            return false;
        };
        *word |= code << field.shift;
    }
    true
}

#[inline]
fn take(fields: &[Field], words: &[u64], values: &mut [i64]) {
    for field in fields {
        let code = words[field.word as usize] >> field.shift & field.width.escape();
        values[field.index as usize] = code::word(code, field.width);
    }
}
