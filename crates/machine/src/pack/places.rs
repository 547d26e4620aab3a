//! Places for everything in states of the fixed form, in as few words as possible.

use raddle_lang::hir::Type;

use super::frames::{Field, WORD};
use super::layout::Packing;
use crate::program::Program;

/// The bytes of a thread.
#[derive(Clone, Copy, Debug)]
pub(super) struct Area {
    pub(super) start: u32,
    pub(super) bytes: u32,
}

impl Area {
    pub(super) fn words(self) -> std::ops::Range<usize> {
        let end = self.start + self.bytes;
        (self.start / WORD) as usize..end.div_ceil(WORD) as usize
    }
}

/// How many bytes of each word are taken.
#[derive(Default)]
pub(super) struct Words(Vec<u32>);

impl Words {
    /// How many words there are.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// Room for a few bytes in one word, from a word on.
    pub(super) fn place(&mut self, from: usize, bytes: u32) -> u32 {
        let fits = |used: &u32| used + bytes <= WORD;
        let found = self.0[from..].iter().position(fits);
        let word = found.map_or(self.0.len(), |found| from + found);
        if word == self.0.len() {
            self.0.push(0);
        }
        self.place_in(word, bytes)
    }

    fn place_in(&mut self, word: usize, bytes: u32) -> u32 {
        let byte = word as u32 * WORD + self.0[word];
        self.0[word] += bytes;
        byte
    }

    /// Room for an area.
    pub(super) fn place_area(&mut self, bytes: u32) -> Area {
        if bytes <= WORD {
            let start = self.place(0, bytes);
            return Area { start, bytes };
        }
        let start = self.0.len() as u32 * WORD;
        let last = bytes.div_ceil(WORD) - 1;
        self.0.resize(self.0.len() + last as usize, WORD);
        self.0.push(bytes - last * WORD);
        Area { start, bytes }
    }
}

/// Places for all global slots. What belongs to a thread (one element of an array that has as many as there are threads) goes
/// beside it, if there is room: it changes together with it.
pub(super) fn place_slots(
    program: &Program,
    packing: &Packing,
    areas: &[Area],
    words: &mut Words,
) -> Vec<Field> {
    let mut fields: Vec<Option<Field>> = vec![None; packing.slots.len()];
    for global in &program.hir.globals {
        let Type::Array(element, length) = &global.ty else {
            continue;
        };
        let slots = program.hir.slots(element) as usize;
        if *length as usize != areas.len() || slots == 0 {
            continue;
        }
        for (thread, area) in areas.iter().enumerate() {
            let first = global.slot as usize + thread * slots;
            let widths = &packing.slots[first..first + slots];
            let bytes: u32 = widths.iter().map(|width| *width as u32).sum();
            let word = area.words().end - 1;
            if words.0[word] + bytes <= WORD {
                for (slot, width) in (first..).zip(widths) {
                    let byte = words.place_in(word, *width as u32);
                    fields[slot] = Some(Field {
                        byte,
                        width: *width,
                    });
                }
            }
        }
    }
    let from = words.0.len();
    let all = fields.into_iter().zip(&packing.slots);
    all.map(|(field, width)| {
        field.unwrap_or_else(|| Field {
            byte: words.place(from, *width as u32),
            width: *width,
        })
    })
    .collect()
}
