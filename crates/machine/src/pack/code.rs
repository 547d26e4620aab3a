//! Words as short codes.
//!
//! A word of a state is an integer or a reference. Nearly all are small, so a word has a *code* of one
//! or two bytes, which differs from that of every other word that has one. A word that has none is
//! [escaped](ESCAPE): the whole word follows elsewhere. Nothing is ever cut off.

use crate::word::{self, Name, Reference};

/// How many bytes a code has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Width {
    #[default]
    One = 1,
    Two = 2,
}

impl Width {
    pub(super) const fn bits(self) -> u32 {
        8 * self as u32
    }

    /// The code of a word that has none.
    pub(crate) const fn escape(self) -> u64 {
        (1 << self.bits()) - 1
    }
}

/// A range of codes for each kind of word.
struct Codes {
    /// The code of zero, and of the first words of each kind. Integers below it are negative.
    zero: u64,
    globals: u64,
    threads: u64,
    objects: u64,
    end: u64,
    /// How many offsets into each heap object have a code.
    offsets: u64,
}

const ONE: Codes = Codes {
    zero: 0,
    // Sixteen negative integers are in between.
    globals: 0xB0,
    threads: 0xD0,
    objects: 0xE0,
    end: 0xFF,
    offsets: 1,
};
/// In one byte, references to heap objects have this code or a larger one.
pub(super) const FIRST_NARROW_OBJECT: u64 = ONE.objects;
/// Codes of one byte below this are the integer itself.
const ONE_INTEGERS: u64 = 0xA0;

/// Whether a word is its own code, in one byte.
#[inline]
pub(super) fn is_small_integer(word: i64) -> bool {
    (word as u64) < ONE_INTEGERS
}

const TWO: Codes = Codes {
    zero: 0x1000,
    globals: 0x8000,
    threads: 0xA000,
    objects: 0xB000,
    end: 0xFFFF,
    offsets: 16,
};

/// How many offsets into each object have a code in two bytes.
pub(crate) const OFFSETS: u64 = TWO.offsets;

/// The ranges of codes of a width: where integers begin (the code of zero) and end, how many negative integers come right before the globals,
/// and where globals, threads and objects begin.
pub(crate) const fn ranges(width: Width) -> [u64; 6] {
    let (codes, integers, negative) = match width {
        Width::One => (ONE, ONE_INTEGERS, ONE.globals - ONE_INTEGERS),
        Width::Two => (TWO, TWO.globals, 0),
    };
    [
        codes.zero,
        integers,
        negative,
        codes.globals,
        codes.threads,
        codes.objects,
    ]
}

/// The largest integer that has a code of that width.
pub(super) const fn largest(width: Width) -> i64 {
    match width {
        Width::One => ONE_INTEGERS as i64 - 1,
        Width::Two => (TWO.globals - TWO.zero) as i64 - 1,
    }
}

/// The code of a word, or [`Width::escape`].
#[inline]
pub(crate) fn code(word: i64, width: Width) -> u64 {
    match width {
        Width::One if (word as u64) < ONE_INTEGERS => word as u64,
        Width::One => {
            // Owners of locks, references to globals.
            let thread = word.wrapping_sub(word::thread(Name(0))) as u64;
            if thread < ONE.objects - ONE.threads {
                return ONE.threads + thread;
            }
            let global = word.wrapping_sub(word::global(0)) as u64;
            if global < ONE.threads - ONE.globals {
                return ONE.globals + global;
            }
            if (-16..0).contains(&word) {
                return ONE.globals.wrapping_add_signed(word);
            }
            reference_code(word, &ONE).unwrap_or(Width::One.escape())
        }
        Width::Two => {
            let shifted = word.wrapping_add(TWO.zero as i64) as u64;
            if shifted < TWO.globals {
                return shifted;
            }
            reference_code(word, &TWO).unwrap_or(Width::Two.escape())
        }
    }
}

#[cold]
fn reference_code(word: i64, codes: &Codes) -> Option<u64> {
    if word < 0 {
        return None;
    }
    let (first, end, number) = match Reference::of(word) {
        Reference::Null => return None,
        Reference::Global(slot) => (codes.globals, codes.threads, slot as u64),
        Reference::Thread(Name(name)) => (codes.threads, codes.objects, name),
        Reference::Heap(Name(name), offset) => {
            let in_reach = (offset as u64) < codes.offsets && name < codes.end;
            let number = in_reach.then_some(name * codes.offsets + offset as u64)?;
            (codes.objects, codes.end, number)
        }
    };
    (number < end - first).then_some(first + number)
}

/// The word of a code that is no escape.
#[inline]
pub(crate) fn word(code: u64, width: Width) -> i64 {
    match width {
        Width::One if code < ONE_INTEGERS => code as i64,
        Width::One if code < ONE.globals => code as i64 - ONE.globals as i64,
        Width::One => reference(code, &ONE),
        Width::Two if code < TWO.globals => code as i64 - TWO.zero as i64,
        Width::Two => reference(code, &TWO),
    }
}

fn reference(code: u64, codes: &Codes) -> i64 {
    if code < codes.threads {
        word::global((code - codes.globals) as usize)
    } else if code < codes.objects {
        word::thread(Name(code - codes.threads))
    } else {
        let number = code - codes.objects;
        let name = Name(number / codes.offsets);
        word::heap(name, (number % codes.offsets) as usize)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    /// Every code but the escape stands for one word, and that word has this code.
    #[test]
    fn codes_and_words_are_one_to_one() {
        for width in [Width::One, Width::Two] {
            let mut words = HashMap::new();
            for number in 0..width.escape() {
                let word = word(number, width);
                assert_eq!(code(word, width), number, "{word:#x}");
                assert_eq!(words.insert(word, number), None);
            }
        }
    }

    #[test]
    fn what_has_no_code_is_escaped() {
        for width in [Width::One, Width::Two] {
            for word in [
                largest(width) + 1,
                -5000,
                i64::from(i32::MIN),
                i64::from(u32::MAX),
                word::global(10_000),
                word::thread(Name::canonical(4096)),
                word::thread(Name::fresh(0, 0)),
                word::heap(Name::canonical(0), 16),
                word::heap(Name::canonical(5000), 0),
                word::heap(Name::fresh(3, 1), 0),
            ] {
                assert_eq!(code(word, width), width.escape(), "{word:#x}");
            }
            assert_ne!(code(largest(width), width), width.escape());
        }
    }
}
