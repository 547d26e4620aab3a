//! Heap objects in states of the fixed form.
//!
//! Behind the areas of threads comes the heap: each object has an *area* of whole words, which is a part of the state, in the order of names. An area is a header of two bytes
//! ([layout and flags](header), then how many slots there are) and two bytes for each slot. What was freed keeps the size of its area, but all bytes of its slots are zero.
//! So the words of a state tell where each object begins: whoever needs that walks over the [headers](words_at).
//!
//! A state does not fit if an object has more than [`MOST_SLOTS`], or a slot has no code, or there are more parts than a state may have.

use super::code::{self, Width};
use super::frames::WORD;
use crate::state::{Object, State};
use crate::word::Name;

/// Objects with more slots do not fit.
pub(crate) const MOST_SLOTS: usize = 255;
/// Programs that allocate more types than this have no states of a fixed form.
pub(super) const MOST_LAYOUTS: usize = 62;
/// How many bytes a header has.
pub(crate) const HEADER: u32 = 2;

pub(crate) const FREED: u64 = 1;
pub(crate) const ESCAPED: u64 = 2;
const LAYOUT_SHIFT: u32 = 2;

/// The first byte of the header of an object.
pub(crate) const fn header(layout: u16) -> u64 {
    (layout as u64) << LAYOUT_SHIFT
}

/// How many words the area of an object has that has so many slots.
#[inline]
pub(crate) const fn words_of(slots: usize) -> usize {
    (HEADER as usize + 2 * slots).div_ceil(WORD as usize)
}

/// How many words the area has that begins with a word.
#[inline]
pub(crate) fn words_at(first: u64) -> usize {
    words_of((first >> 8) as usize & MOST_SLOTS)
}

/// The layout of the object whose area begins with a word.
#[inline]
pub(crate) fn layout_at(first: u64) -> u16 {
    (first as u8 >> LAYOUT_SHIFT).into()
}

/// Where a slot is in the words of its area.
fn place(slot: usize) -> (usize, u32) {
    let byte = HEADER + 2 * slot as u32;
    ((byte / WORD) as usize, byte % WORD * 8)
}

/// Writes an object into words that are zero. Says whether it could.
pub(super) fn write(state: &State, object: &Object, words: &mut [u64]) -> bool {
    words[0] = header(object.layout) | u64::from(object.length) << 8;
    if object.freed {
        words[0] |= FREED;
    }
    if object.escaped {
        words[0] |= ESCAPED;
    }
    if object.freed {
        return true;
    }
    let slots = &state.words[object.start as usize..][..object.length as usize];
    slots.iter().enumerate().all(|(slot, word)| {
        let code = code::code(*word, Width::Two);
        let (at, shift) = place(slot);
        words[at] |= code << shift;
        code != Width::Two.escape()
    })
}

/// Appends the object of an area to a state.
pub(super) fn read(words: &[u64], state: &mut State) {
    let start = state.words.len();
    let length = (words[0] >> 8) as usize & MOST_SLOTS;
    let freed = words[0] & FREED != 0;
    let slots = (0..length).map(|slot| {
        let (at, shift) = place(slot);
        match freed {
            true => 0,
            false => code::word(words[at] >> shift & Width::Two.escape(), Width::Two),
        }
    });
    state.words.extend(slots);
    state.objects.push(Object {
        start: start as u32,
        length: length as u32,
        name: Name::canonical(state.objects.len()),
        layout: layout_at(words[0]),
        freed,
        escaped: words[0] & ESCAPED != 0,
    });
}
