//! States as bytes, for the store.
//!
//! Small integers, which nearly all words are, take one byte. What a program does not
//! use (calls, spawned threads, the heap, read locks) takes none.

use crate::program::Program;
use crate::state::{Block, Object, Phase, State, header};
use crate::word::{self, Name, Reference};

/// Integers below this take one byte: the byte itself.
const ONE_BYTE: i64 = 0xD0;
/// Integers below 4096 + `ONE_BYTE` take two: the first has the upper four bits.
const TWO_BYTES: u8 = 0xD0;
const TWO_BYTES_END: u8 = 0xE0;
/// The low positions of threads.
const SMALL_THREAD: u8 = 0xE0;
const SMALL_THREAD_END: u8 = 0xF0;
const MINUS_ONE: u8 = 0xF0;
/// Four bytes follow.
const INTEGER: u8 = 0xF1;
const NEGATIVE: u8 = 0xF2;
const GLOBAL: u8 = 0xF3;
const THREAD: u8 = 0xF4;
/// A name in four bytes and an offset in four bytes.
const HEAP: u8 = 0xF5;
/// A name and an offset in one byte each.
const SMALL_HEAP: u8 = 0xF6;
/// A global slot in one byte.
const SMALL_GLOBAL: u8 = 0xF7;

#[inline]
fn write(word: i64, bytes: &mut Vec<u8>) {
    if (0..ONE_BYTE).contains(&word) {
        bytes.push(word as u8);
    } else {
        write_long(word, bytes);
    }
}

/// Writes several words. Runs of small integers are written at once.
fn write_all(words: &[i64], bytes: &mut Vec<u8>) {
    let mut chunks = words.chunks_exact(8);
    for chunk in &mut chunks {
        if chunk.iter().all(|word| (*word as u64) < ONE_BYTE as u64) {
            let mut small = [0; 8];
            for (byte, word) in small.iter_mut().zip(chunk) {
                *byte = *word as u8;
            }
            bytes.extend_from_slice(&small);
        } else {
            for &word in chunk {
                write(word, bytes);
            }
        }
    }
    for &word in chunks.remainder() {
        write(word, bytes);
    }
}

fn write_long(word: i64, bytes: &mut Vec<u8>) {
    let mut tagged = |tag: u8, value: u32| {
        bytes.push(tag);
        bytes.extend_from_slice(&value.to_le_bytes());
    };
    match Reference::of(word) {
        _ if word == -1 => bytes.push(MINUS_ONE),
        _ if word < 0 => tagged(NEGATIVE, word as i32 as u32),
        Reference::Null => {
            let rest = word - ONE_BYTE;
            if rest < 4096 {
                bytes.extend([TWO_BYTES + (rest >> 8) as u8, rest as u8]);
            } else {
                tagged(INTEGER, word as u32);
            }
        }
        Reference::Global(slot) if slot < 256 => bytes.extend([SMALL_GLOBAL, slot as u8]),
        Reference::Global(slot) => tagged(GLOBAL, slot as u32),
        Reference::Thread(Name(name)) if name < u64::from(SMALL_THREAD_END - SMALL_THREAD) => {
            bytes.push(SMALL_THREAD + name as u8);
        }
        Reference::Thread(Name(name)) => tagged(THREAD, name as u32),
        Reference::Heap(Name(name), offset) if name < 256 && offset < 256 => {
            bytes.extend([SMALL_HEAP, name as u8, offset as u8]);
        }
        Reference::Heap(Name(name), offset) => {
            tagged(HEAP, name as u32);
            bytes.extend_from_slice(&(offset as u32).to_le_bytes());
        }
    }
}

/// Reads words back from bytes that [`write`] has written.
struct Reader<'b> {
    bytes: &'b [u8],
}

impl Reader<'_> {
    fn byte(&mut self) -> u8 {
        let (&first, rest) = self
            .bytes
            .split_first()
            .expect("an encoded state is complete");
        self.bytes = rest;
        first
    }

    fn number(&mut self) -> u32 {
        let (number, rest) = self
            .bytes
            .split_first_chunk()
            .expect("an encoded state is complete");
        self.bytes = rest;
        u32::from_le_bytes(*number)
    }

    #[inline]
    fn word(&mut self) -> i64 {
        let first = self.byte();
        if i64::from(first) < ONE_BYTE {
            return i64::from(first);
        }
        match first {
            TWO_BYTES..TWO_BYTES_END => {
                ONE_BYTE + (i64::from(first - TWO_BYTES) << 8) + i64::from(self.byte())
            }
            SMALL_THREAD..SMALL_THREAD_END => {
                word::thread(Name::canonical((first - SMALL_THREAD).into()))
            }
            MINUS_ONE => -1,
            INTEGER => i64::from(self.number()),
            NEGATIVE => i64::from(self.number() as i32),
            SMALL_GLOBAL => word::global(self.byte().into()),
            GLOBAL => word::global(self.number() as usize),
            THREAD => word::thread(Name::canonical(self.number() as usize)),
            HEAP => {
                let name = Name::canonical(self.number() as usize);
                word::heap(name, self.number() as usize)
            }
            _ => {
                let name = Name::canonical(self.byte().into());
                word::heap(name, self.byte().into())
            }
        }
    }

    fn words(&mut self, count: usize, words: &mut Vec<i64>) {
        for _ in 0..count {
            let word = self.word();
            words.push(word);
        }
    }
}

/// Appends the encoding of a canonical state.
pub(crate) fn encode(program: &Program, state: &State, bytes: &mut Vec<u8>) {
    let features = &program.features;
    write_all(&state.words[..program.initial.len()], bytes);
    if features.spawn {
        // Whether the first thread has spawned, where children are not counted, is a bit here.
        let first = state.words[state.threads[0].start as usize + header::CHILDREN];
        let spawned = !features.numbers_threads && first != 0;
        write(
            (state.threads.len() as i64) << 1 | i64::from(spawned),
            bytes,
        );
    }
    for thread in 0..state.threads.len() {
        let words = state.thread(thread);
        // The phase is nearly always zero, and then one bit beside the position.
        let (pc, phase) = (words[header::PC] as usize, words[header::PHASE]);
        write(
            i64::from(program.stops.number[pc]) << 1 | i64::from(phase != 0),
            bytes,
        );
        if phase != 0 {
            write(phase, bytes);
        }
        if features.spawn {
            write(words[header::PARENT], bytes);
        }
        if features.numbers_threads {
            write(words[header::CHILDREN], bytes);
            write(words[header::TID], bytes);
        }
        if features.read_locks {
            write(words[header::READ_HOLDS], bytes);
        }
        let rest = &words[header::LENGTH..];
        if features.calls {
            write(rest.len() as i64, bytes);
        }
        write_all(rest, bytes);
    }
    if features.heap {
        write(state.objects.len() as i64, bytes);
        for object in &state.objects {
            write(
                i64::from(object.length) << 2
                    | i64::from(object.escaped) << 1
                    | i64::from(object.freed),
                bytes,
            );
            write(i64::from(object.layout), bytes);
            if !object.freed {
                let words = &state.words[object.start as usize..][..object.length as usize];
                write_all(words, bytes);
            }
        }
    }
}

/// Restores a state from its encoding.
pub(crate) fn decode(program: &Program, bytes: &[u8], state: &mut State) {
    let features = &program.features;
    let mut reader = Reader { bytes };
    state.words.clear();
    state.threads.clear();
    state.objects.clear();
    reader.words(program.initial.len(), &mut state.words);
    let (threads, spawned) = match features.spawn {
        true => {
            let combined = reader.word();
            ((combined >> 1) as usize, combined & 1)
        }
        false => (program.hir.starts.len(), 0),
    };
    for position in 0..threads {
        let start = state.words.len();
        let combined = reader.word();
        let pc = i64::from(program.stops.pc[(combined >> 1) as usize]);
        let phase = if combined & 1 == 1 { reader.word() } else { 0 };
        let parent = if features.spawn {
            reader.word()
        } else {
            word::NULL
        };
        let (children, tid) = match features.numbers_threads {
            true => (reader.word(), reader.word()),
            false => (if position == 0 { spawned } else { 0 }, position as i64),
        };
        let holds = if features.read_locks {
            reader.word()
        } else {
            0
        };
        let rest = if features.calls {
            reader.word() as usize
        } else if matches!(Phase::of(phase), Phase::Ended | Phase::Failed) {
            holds as usize
        } else {
            holds as usize + program.heights[pc as usize] as usize
        };
        state
            .words
            .extend([pc, phase, parent, children, tid, holds]);
        reader.words(rest, &mut state.words);
        state.threads.push(Block {
            start: start as u32,
            length: (state.words.len() - start) as u32,
            name: Name::canonical(position),
        });
    }
    if features.heap {
        for position in 0..reader.word() as usize {
            let start = state.words.len();
            let combined = reader.word();
            let (length, freed) = ((combined >> 2) as usize, combined & 1 == 1);
            let escaped = combined & 2 != 0;
            let layout = reader.word() as u16;
            if freed {
                state.words.resize(start + length, 0);
            } else {
                reader.words(length, &mut state.words);
            }
            state.objects.push(Object {
                start: start as u32,
                length: length as u32,
                name: Name::canonical(position),
                layout,
                freed,
                escaped,
            });
        }
    }
    debug_assert!(reader.bytes.is_empty(), "nothing is left over");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_word_survives_the_round_trip() {
        let words = [
            0,
            1,
            ONE_BYTE - 1,
            ONE_BYTE,
            ONE_BYTE + 4095,
            ONE_BYTE + 4096,
            i64::from(i32::MAX),
            i64::from(u32::MAX),
            -1,
            -2,
            i64::from(i32::MIN),
            word::global(0),
            word::global(255),
            word::global(256),
            word::global(65_535),
            word::thread(Name::canonical(0)),
            word::thread(Name::canonical(15)),
            word::thread(Name::canonical(16)),
            word::thread(Name::canonical(4095)),
            word::heap(Name::canonical(0), 0),
            word::heap(Name::canonical(255), 255),
            word::heap(Name::canonical(256), 0),
            word::heap(Name::canonical(65_535), 65_535),
        ];
        let mut bytes = Vec::new();
        for word in words {
            write(word, &mut bytes);
        }
        write_all(&words, &mut bytes);
        write_all(&[7; 21], &mut bytes);
        let mut reader = Reader { bytes: &bytes };
        for word in words.into_iter().chain(words).chain([7; 21]) {
            assert_eq!(reader.word(), word);
        }
        assert!(reader.bytes.is_empty());
    }
}
