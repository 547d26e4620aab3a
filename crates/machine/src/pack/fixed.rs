//! States of a fixed size: those in which every value has a code, and no thread is in a [chain of calls](super::spots) that is too long.
//! That is, nearly all states of most programs. (Where threads are spawned or objects allocated, the size is fixed for each number of threads and each sequence of objects.)
//!
//! Every field has its place, which is computed once; there are no gaps between the fields of different threads, and the
//! parts of a state are its words (or a few of them, if there are many). A thread has an *area* that is large enough for all
//! of its [stops](super::stops): the number of the stop, how often it holds each reader-writer lock for reading (if the program does that), then the registers of all of its frames there, from the
//! outermost on, but for those that are [constant](super::constants) whenever that thread is there. The rest of the area is zero.
//!
//! A stop tells the [spot](super::spots) of the thread, so how many frames there are, and which words they have. As in the general form, a word of a frame is part of the state if it is below the
//! height of the frame: at its instruction for the innermost one, during its call for the others.
//!
//! Threads that were [spawned](Spawned) have areas of one size, behind everything else, in the order of their positions. The [objects](super::objects) of the heap are behind those. Where there are both, the first byte
//! says how many threads were spawned.
//!
//! A state that does not fit is written in the [general form](super), behind the word [`GENERAL`].
//!
//! # Why no two states have the same words
//!
//! The word [`GENERAL`] comes first in no state of the fixed form: it would be the escape in all fields of its first word, and there is
//! one, but no field has the escape. So the first word tells the form, and the number of words how many threads there are. Where there is a heap, the first byte tells that, and each object how many words it has. Of the general form, the [module](super) says why.
//! In the fixed form, the place of every field is known, once the numbers of the stops are, whose places are always
//! known; and a code stands for one word. What has no field is the same at that stop: constants, and where calls return to. Of a thread that has failed there are no frames, so
//! its stop is its instruction, whatever it was called by: two states that are the same have the same words.

use raddle_explore::{Changed, Packed, Parts};

use super::code::{self, Width};
use super::frames::{Field, Frame, Knowledge, WORD, frames_of};
use super::layout::Packing;
use super::objects;
use super::places::{Area, Words, place_slots};
use super::sample::Sample;
use super::spots::Spots;
use super::stops::{Stop, Stops};
use crate::native;
use crate::program::Program;
use crate::state::{Block, Phase, State, header};
use crate::word::{self, Name};

/// The first word of a state that is not of the fixed size.
pub(crate) const GENERAL: u64 = u64::MAX;

/// The parts of a state are as small as possible, but no more than that.
const MOST_PARTS: usize = 60;

/// The same, but for those of threads that are spawned and of objects.
const MOST_PARTS_BEFORE_SPAWNED: usize = 30;

/// Programs with more reader-writer locks than this have no states of a fixed size, if they take read locks.
const MOST_READ_LOCKS: usize = 8;
/// A thread that holds a lock for reading more often than this does not fit.
pub(crate) const MOST_HOLDS: usize = 3;

/// Threads that are spawned: each has an area of these words, which are one part. What is behind how often it holds locks is there for all threads of the program.
#[derive(Clone, Debug)]
struct Spawned {
    words: usize,
    /// States with more of them do not fit.
    most: usize,
    /// How many threads the thread has spawned, where that matters.
    children: Field,
    /// Who has spawned it, if somebody has.
    parent: Field,
    /// Its number, where threads ask for it, if it was spawned.
    tid: Option<Field>,
}

/// What is in a part.
#[derive(Clone, Debug, Default)]
struct Part {
    slots: Vec<u32>,
    threads: Vec<u32>,
}

/// Where everything is in states of a fixed size.
#[derive(Clone, Debug)]
pub(crate) struct Fixed {
    /// The ends of the parts, those of all threads that may be spawned among them.
    ends: Vec<u32>,
    /// How many parts and words there are when no thread was spawned.
    own_parts: usize,
    size: usize,
    words_per_part: usize,
    slots: Vec<Field>,
    /// Those of the threads of `run`.
    areas: Vec<Area>,
    spawned: Option<Spawned>,
    heap: bool,
    /// The number of a stop.
    stop: Field,
    /// The global slot of each lock that is taken for reading, in order, and how often the thread holds it so.
    holds: Vec<(u32, Field)>,
    spots: Spots,
    stops: Stops,
    /// By spot.
    frames: Vec<Frame>,
    /// The constants of all frames, by kind of threads.
    constants: Vec<Box<[i64]>>,
    parts: Vec<Part>,
    /// The threads of `run` in an unpacked state, and how many words it has.
    threads: Vec<Block>,
    unpacked: usize,
}

impl Fixed {
    /// Nothing for a program whose states have no fixed size.
    pub(super) fn new(program: &Program, packing: &Packing, sample: &Sample) -> Option<Self> {
        let features = &program.features;
        if program.layouts.len() > objects::MOST_LAYOUTS || program.hir.starts.is_empty() {
            return None;
        }
        let locks: &[u32] = match features.read_locks {
            true => program.locks.shared_in_globals(),
            false => &[],
        };
        if locks.len() > MOST_READ_LOCKS {
            return None;
        }
        let spots = Spots::of(program, sample.rounds())?;
        let known = Knowledge::of(program, &spots);
        let is_reached: Vec<bool> = (0..spots.len())
            .map(|spot| known.is_reached(spot))
            .collect();
        let stops = Stops::new(program, &spots, &is_reached);
        let stop = Field {
            byte: 0,
            width: stops.width(),
        };
        let holds = locks.iter().zip(stop.width as u32..);
        let holds: Vec<(u32, Field)> = holds
            .map(|(slot, byte)| {
                let width = Width::One;
                (*slot, Field { byte, width })
            })
            .collect();
        let mut head = stop.width as u32 + holds.len() as u32;
        let mut spawned = features
            .spawn
            .then(|| Spawned::new(features.numbers_threads, &mut head));
        let (frames, constants) = frames_of(program, packing, sample, &spots, &known, head);
        let bytes_of_kind = |kind: usize| {
            let tree = spots.start(kind);
            let all = spots.all().iter().enumerate();
            let stops = all.filter(|(_, spot)| {
                spot.tree == tree && program.code[spot.pc as usize].is_visible()
            });
            let bytes = stops.map(|(spot, _)| frames[spot].end);
            bytes.max().unwrap_or(head)
        };
        let run = program.hir.starts.len();
        let mut words = Words::default();
        if features.heap && features.spawn {
            let counts_spawned = words.place(0, 1);
            debug_assert_eq!(counts_spawned, 0, "it comes first");
        }
        let areas: Vec<Area> = (0..run)
            .map(|kind| words.place_area(bytes_of_kind(kind)))
            .collect();
        let slots = place_slots(program, packing, &areas, &mut words);
        let size = words.len();
        let most_parts = match features.spawn || features.heap {
            true => MOST_PARTS_BEFORE_SPAWNED,
            false => MOST_PARTS,
        };
        let words_per_part = size.div_ceil(most_parts);
        let mut ends: Vec<u32> = (1..=size.div_ceil(words_per_part))
            .map(|part| (part * words_per_part).min(size) as u32)
            .collect();
        let own_parts = ends.len();
        if let Some(spawned) = &mut spawned {
            let bytes = (run..spots.kinds())
                .map(bytes_of_kind)
                .max()
                .unwrap_or(head);
            spawned.words = bytes.div_ceil(WORD) as usize;
            spawned.most = MOST_PARTS - own_parts;
            ends.extend((1..=spawned.most).map(|count| (size + count * spawned.words) as u32));
        }
        let mut unpacked = program.initial.len();
        let room = room(&spots, holds.len());
        let threads = (0..areas.len()).map(|position| {
            let start = unpacked as u32;
            unpacked += room as usize;
            Block {
                start,
                length: 0,
                room,
                name: Name::canonical(position),
            }
        });
        let threads = threads.collect();
        let mut fixed = Self {
            parts: Vec::new(),
            ends,
            own_parts,
            size,
            words_per_part,
            slots,
            areas,
            spawned,
            heap: features.heap,
            stop,
            holds,
            spots,
            stops,
            frames,
            constants,
            threads,
            unpacked,
        };
        fixed.parts = fixed.contents();
        Some(fixed)
    }

    fn contents(&self) -> Vec<Part> {
        let mut parts = vec![Part::default(); self.own_parts];
        for (slot, field) in self.slots.iter().enumerate() {
            let part = (field.byte / WORD) as usize / self.words_per_part;
            parts[part].slots.push(slot as u32);
        }
        for (thread, area) in self.areas.iter().enumerate() {
            let mut known = None;
            for word in area.words() {
                let part = word / self.words_per_part;
                if known != Some(part) {
                    parts[part].threads.push(thread as u32);
                }
                known = Some(part);
            }
        }
        parts
    }

    /// How many words a thread has in an unpacked state, at most.
    pub(super) fn room(&self) -> u32 {
        room(&self.spots, self.holds.len())
    }

    /// Where threads can be.
    pub(crate) fn spots(&self) -> &Spots {
        &self.spots
    }

    /// The number of a stop, if threads can be there in a state of the fixed size.
    pub(crate) fn number(&self, stop: native::Stop) -> Option<u32> {
        self.stops.number(match stop {
            native::Stop::Running(at) => Stop::At(at.spot, Phase::Running),
            native::Stop::Waiting(at) => Stop::At(at.spot, Phase::Waiting),
            native::Stop::Notified(at) => Stop::At(at.spot, Phase::Notified),
            native::Stop::Stopped(_, false) => Stop::Ended,
            native::Stop::Stopped(pc, true) => Stop::Failed(pc),
        })
    }

    /// The bits of the part of a slot.
    pub(super) fn parts_of_slot(&self, slot: usize) -> u64 {
        let word = (self.slots[slot].byte / WORD) as usize;
        1 << (word / self.words_per_part)
    }

    /// The bits of the parts of a thread.
    pub(super) fn parts_of_thread(&self, thread: usize) -> u64 {
        let Some(area) = self.areas.get(thread) else {
            return 1 << (self.own_parts + thread - self.areas.len());
        };
        let words = area.words();
        words.fold(0, |bits, word| bits | 1 << (word / self.words_per_part))
    }

    /// The places of everything, for native code.
    pub(crate) fn for_native_code(&self) -> native::Layout {
        let of_frame = |frame: &Frame| {
            let fields = frame.fields.iter();
            let fields = fields.map(|(reg, field)| (*reg, field.for_native_code()));
            fields.collect()
        };
        native::Layout {
            size: self.size,
            ends: self.ends.clone(),
            own_parts: self.own_parts,
            areas: self.areas.iter().map(|area| area.start).collect(),
            area_bytes: self.areas.iter().map(|area| area.bytes).collect(),
            area_bits: (0..self.areas.len())
                .map(|thread| self.parts_of_thread(thread))
                .collect(),
            spawned: self.spawned.as_ref().map(|spawned| native::Spawned {
                words: spawned.words,
                most: spawned.most,
                children: spawned.children.for_native_code(),
                parent: spawned.parent.for_native_code(),
                tid: spawned.tid.map(Field::for_native_code),
            }),
            kinds: (self.spots.all().iter())
                .map(|spot| {
                    let mut kinds = self.areas.len()..self.spots.kinds();
                    kinds.find(|kind| self.spots.start(*kind) == spot.tree)
                })
                .collect(),
            slots: (self.slots.iter())
                .map(|field| field.for_native_code())
                .collect(),
            frames: self.frames.iter().map(of_frame).collect(),
            constants: (self.frames.iter())
                .map(|frame| (frame.first, frame.constants.to_vec()))
                .collect(),
            thread_constants: self.constants.clone(),
            stop: self.stop.for_native_code(),
            holds: (self.holds.iter())
                .map(|(slot, field)| (*slot, field.for_native_code()))
                .collect(),
            stops: self.stops.for_native_code(&self.spots),
            heap: self.heap.then(|| native::Heap {
                most_areas: MOST_PARTS - self.own_parts,
            }),
        }
    }

    /// Whether a state in these words has the fixed form.
    #[inline]
    pub(crate) fn has_form(&self, words: &[u64]) -> bool {
        words[0] != GENERAL && (self.heap || self.spawned_in(words).is_some())
    }

    /// How many threads were spawned that are in a state of these words.
    #[inline]
    fn spawned_in(&self, words: &[u64]) -> Option<usize> {
        if self.heap {
            return Some(self.spawned.as_ref().map_or(0, |_| words[0] as u8 as usize));
        }
        let words = words.len();
        if words == self.size {
            return Some(0);
        }
        let spawned = self.spawned.as_ref()?;
        let more = words.checked_sub(self.size)?;
        let count = more / spawned.words;
        (more % spawned.words == 0 && count <= spawned.most).then_some(count)
    }

    /// The words before those of the objects.
    fn words_before_heap(&self, spawned: usize) -> usize {
        let of_one = self.spawned.as_ref().map_or(0, |spawned| spawned.words);
        self.size + spawned * of_one
    }

    /// The area of the thread at a position.
    #[inline]
    fn area(&self, thread: usize) -> Area {
        match (self.areas.get(thread), &self.spawned) {
            (None, Some(spawned)) => {
                let word = self.size + (thread - self.areas.len()) * spawned.words;
                Area {
                    start: word as u32 * WORD,
                    bytes: spawned.words as u32 * WORD,
                }
            }
            _ => self.areas[thread],
        }
    }

    /// Tells the parts of a state in these words, which has the fixed form.
    pub(super) fn find_parts(&self, words: &[u64], packed: &mut Packed) {
        let spawned = self.spawned_in(words).unwrap_or(0);
        let ends = &self.ends[..self.own_parts + spawned];
        if !self.heap {
            packed.copy_from(Parts { words, ends });
            return;
        }
        packed.clear();
        let mut rest = words;
        let mut pass = |count: usize| {
            let (part, behind) = rest.split_at(count);
            rest = behind;
            packed.extend(part);
            packed.end_part();
            rest.first().copied()
        };
        let mut word = 0;
        let mut next = None;
        for end in ends {
            next = pass((*end - word) as usize);
            word = *end;
        }
        while let Some(first) = next {
            next = pass(objects::words_at(first));
        }
    }

    /// Writes a state. Says whether it could: otherwise the words are in disorder.
    pub(super) fn encode(&self, program: &Program, state: &State, packed: &mut Packed) -> bool {
        packed.clear();
        let spawned = state.threads.len() - self.areas.len();
        let most = match (self.heap, &self.spawned) {
            (true, _) => MOST_PARTS - self.own_parts,
            (false, spawned) => spawned.as_ref().map_or(0, |spawned| spawned.most),
        };
        if spawned + state.objects.len() > most {
            return false;
        }
        let mut word = 0;
        let mut add = |count: u32| {
            for _ in 0..count {
                packed.push(0);
            }
            packed.end_part();
        };
        for end in &self.ends[..self.own_parts + spawned] {
            add(*end - word);
            word = *end;
        }
        for object in &state.objects {
            if object.length as usize > objects::MOST_SLOTS {
                return false;
            }
            add(objects::words_of(object.length as usize) as u32);
        }
        let words = packed.words_mut();
        let mut slots = 0..self.slots.len();
        let mut threads = 0..state.threads.len();
        let fits = slots.all(|slot| self.write_slot(state, slot, words))
            && threads.all(|thread| self.write_thread(program, state, thread, words));
        if !self.heap || !fits {
            return fits;
        }
        if self.spawned.is_some() {
            words[0] |= spawned as u64;
        }
        let mut rest = &mut words[word as usize..];
        state.objects.iter().all(|object| {
            let words = std::mem::take(&mut rest);
            let (area, behind) = words.split_at_mut(objects::words_of(object.length as usize));
            rest = behind;
            objects::write(state, object, area)
        })
    }

    /// Writes parts into their places; `packed` is a state of the fixed size. Says whether it could: otherwise the words are in
    /// disorder.
    #[inline]
    pub(super) fn write(
        &self,
        program: &Program,
        state: &State,
        changed: Changed,
        packed: &mut Packed,
    ) -> bool {
        let words = packed.words_mut();
        for part in changed.iter() {
            let start = part * self.words_per_part;
            words[start..self.ends[part] as usize].fill(0);
        }
        let mut parts = changed.iter();
        parts.all(|part| {
            let part = &self.parts[part];
            let mut slots = part.slots.iter();
            let mut threads = part.threads.iter();
            slots.all(|slot| self.write_slot(state, *slot as usize, words))
                // A thread in several parts is written in each of them, which changes nothing.
                && threads.all(|thread| self.write_thread(program, state, *thread as usize, words))
        })
    }

    #[inline]
    fn write_slot(&self, state: &State, slot: usize, words: &mut [u64]) -> bool {
        let field = self.slots[slot];
        let code = code::code(state.words[slot], field.width);
        field.put(0, words, code);
        fits(code, field.width)
    }

    #[inline]
    fn write_thread(
        &self,
        program: &Program,
        state: &State,
        thread: usize,
        words: &mut [u64],
    ) -> bool {
        let Area { start, bytes } = self.area(thread);
        let (pc, phase) = (state.pc(thread), state.phase(thread));
        let registers = state.frames(thread);
        let stop = match phase {
            Phase::Ended => Stop::Ended,
            Phase::Failed => Stop::Failed(pc),
            phase => match self.spots.find(program, thread, pc, registers) {
                Some(spot) => Stop::At(spot, phase),
                None => return false,
            },
        };
        let Some(number) = self.stops.number(stop) else {
            return false;
        };
        self.stop.put(start, words, number.into());
        if !self.write_holds(state.read_holds(thread), start, words)
            || !self.write_origin(state.thread(thread), thread, start, words)
        {
            return false;
        }
        let Stop::At(spot, _) = stop else {
            return true;
        };
        let frame = &self.frames[spot as usize];
        let values = &self.constants[self.spots.kind(thread, spot)];
        debug_assert!(
            (frame.constants.iter().zip(&values[frame.first..]))
                .all(|(register, value)| registers[*register as usize] == *value),
            "constants have their values"
        );
        // A thread that has failed at the start may be where its area is not meant for.
        frame.end <= bytes
            && frame.fields.iter().all(|(register, field)| {
                let code = code::code(registers[*register as usize], field.width);
                field.put(start, words, code);
                fits(code, field.width)
            })
    }

    /// Writes where a thread comes from, and how many it has spawned.
    #[inline]
    fn write_origin(&self, header: &[i64], thread: usize, start: u32, words: &mut [u64]) -> bool {
        let Some(spawned) = &self.spawned else {
            return true;
        };
        let mut write = |field: Field, word: i64| {
            let code = code::code(word, field.width);
            field.put(start, words, code);
            code != field.width.escape()
        };
        let is_of_run = thread < self.areas.len();
        write(spawned.children, header[header::CHILDREN])
            && (is_of_run || write(spawned.parent, header[header::PARENT]))
            && (is_of_run || (spawned.tid).is_none_or(|tid| write(tid, header[header::TID])))
    }

    /// Writes how often a thread holds each lock for reading, if that is not too often.
    #[inline]
    fn write_holds(&self, holds: &[i64], start: u32, words: &mut [u64]) -> bool {
        let mut left = holds.len();
        for (slot, field) in &self.holds {
            let lock = word::global(*slot as usize);
            let count = holds.iter().filter(|hold| **hold == lock).count();
            field.put(start, words, count as u64);
            left -= count;
            if count > MOST_HOLDS {
                return false;
            }
        }
        left == 0
    }

    /// Who has spawned the thread at a position, how many it has spawned, and its number.
    #[inline]
    fn origin(&self, position: usize, area: Area, words: &[u64]) -> (i64, i64, i64) {
        let read = |field: Field| code::word(field.take(area.start, words), field.width);
        match &self.spawned {
            None => (word::NULL, 0, position as i64),
            Some(spawned) if position < self.areas.len() => {
                (word::NULL, read(spawned.children), position as i64)
            }
            Some(spawned) => {
                let tid = spawned.tid.map_or(0, read);
                (read(spawned.parent), read(spawned.children), tid)
            }
        }
    }

    /// Restores a state of the fixed size from its words.
    pub(super) fn read(&self, program: &Program, words: &[u64], state: &mut State) {
        state.objects.clear();
        let spawned = self.spawned_in(words).unwrap_or(0);
        let room = self.room();
        state.threads.clone_from(&self.threads);
        state.threads.extend((0..spawned).map(|number| Block {
            start: (self.unpacked + number * room as usize) as u32,
            length: 0,
            room,
            name: Name::canonical(self.areas.len() + number),
        }));
        (state.words).resize(self.unpacked + spawned * room as usize, 0);
        for (word, field) in state.words.iter_mut().zip(&self.slots) {
            *word = code::word(field.take(0, words), field.width);
        }
        for position in 0..self.areas.len() + spawned {
            let area = self.area(position);
            let number = self.stop.take(area.start, words);
            let (pc, phase, spot) = match self.stops.stop(number) {
                Stop::At(spot, phase) => (self.spots.at(spot).pc, phase, Some(spot)),
                Stop::Ended => (0, Phase::Ended, None),
                Stop::Failed(pc) => (pc, Phase::Failed, None),
            };
            let block = &mut state.threads[position];
            let mut length = header::LENGTH;
            let thread = &mut state.words[block.start as usize..][..block.room as usize];
            // Holds are sorted, as the slots of the locks are.
            for (slot, field) in &self.holds {
                for _ in 0..field.take(area.start, words) {
                    thread[length] = word::global(*slot as usize);
                    length += 1;
                }
            }
            let holds = (length - header::LENGTH) as i64;
            let (head, registers) = thread.split_at_mut(length);
            let (parent, children, tid) = self.origin(position, area, words);
            let header = [pc.into(), phase as i64, parent, children, tid, holds];
            head[..header::LENGTH].copy_from_slice(&header);
            if let Some(spot) = spot {
                let frame = &self.frames[spot as usize];
                let kind = self.spots.kind(position, spot);
                let values = &self.constants[kind][frame.first..];
                for (register, value) in frame.constants.iter().zip(values) {
                    registers[*register as usize] = *value;
                }
                for (register, field) in &frame.fields {
                    let code = field.take(area.start, words);
                    registers[*register as usize] = code::word(code, field.width);
                }
                length += self.spots.height(program, spot);
            }
            block.length = length as u32;
        }
        let mut rest = &words[self.words_before_heap(spawned)..];
        while let Some(first) = rest.first() {
            let (area, behind) = rest.split_at(objects::words_at(*first));
            objects::read(area, state);
            rest = behind;
        }
    }
}

impl Spawned {
    /// Where the fields are behind those that all threads have. How many words an area has is not known yet.
    fn new(numbers_threads: bool, head: &mut u32) -> Self {
        let mut place = |width: Width| {
            let bytes = width as u32;
            if *head / WORD != (*head + bytes - 1) / WORD {
                *head = head.next_multiple_of(WORD);
            }
            let byte = *head;
            *head += bytes;
            Field { byte, width }
        };
        Self {
            words: 0,
            most: 0,
            children: place(Width::One),
            parent: place(Width::Two),
            tid: numbers_threads.then(|| place(Width::Two)),
        }
    }
}

/// Whether a code may be in a field: references to objects are in wide ones only, where they can be found.
#[inline]
pub(super) fn fits(code: u64, width: Width) -> bool {
    code < match width {
        Width::One => code::FIRST_NARROW_OBJECT,
        Width::Two => width.escape(),
    }
}

/// How many words a thread has in an unpacked state, at most.
fn room(spots: &Spots, locks: usize) -> u32 {
    (header::LENGTH + MOST_HOLDS * locks + spots.registers()) as u32
}
