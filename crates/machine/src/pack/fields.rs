//! Fields in words: writing and reading them.

use raddle_explore::Packed;

use super::code::{self, Width};

/// A number that takes five bytes begins with this one.
const LONG: u32 = 0xFF;

/// In place of a value that was written whole, until it is read. It is no word of a state.
const TO_COME: i64 = i64::MIN;

/// Who is told the fields of a part.
pub(super) trait Fields {
    /// A number that the fields behind it depend on.
    fn number(&mut self, number: u32);
    /// A word of the state.
    fn value(&mut self, word: i64, width: Width);
}

/// Where words go.
pub(super) trait Sink {
    fn put(&mut self, word: u64);
}

impl Sink for Packed {
    #[inline]
    fn put(&mut self, word: u64) {
        self.push(word);
    }
}

/// Counts words.
#[derive(Default)]
pub(super) struct Count {
    pub(super) words: u32,
}

impl Sink for Count {
    fn put(&mut self, _: u64) {
        self.words += 1;
    }
}

/// Writes over words, as many as there are.
pub(super) struct InPlace<'p> {
    words: &'p mut [u64],
    next: usize,
}

impl<'p> InPlace<'p> {
    pub(super) fn new(words: &'p mut [u64]) -> Self {
        Self { words, next: 0 }
    }

    /// Whether exactly as many words came as there was room for.
    pub(super) fn is_full(&self) -> bool {
        self.next == self.words.len()
    }
}

impl Sink for InPlace<'_> {
    #[inline]
    fn put(&mut self, word: u64) {
        if let Some(old) = self.words.get_mut(self.next) {
            *old = word;
        }
        self.next += 1;
    }
}

/// Writes fields.
pub(super) struct Writer<'s, S> {
    sink: &'s mut S,
    word: u64,
    used: u32,
    words: u32,
    /// Whether a value has no code.
    escapes: bool,
}

impl<'s, S: Sink> Writer<'s, S> {
    pub(super) fn new(sink: &'s mut S) -> Self {
        Self {
            sink,
            word: 0,
            used: 0,
            words: 0,
            escapes: false,
        }
    }

    #[inline]
    fn field(&mut self, code: u64, width: Width) {
        if self.used + width.bits() > 64 {
            self.flush();
        }
        self.word |= code << self.used;
        self.used += width.bits();
    }

    #[inline]
    fn flush(&mut self) {
        self.sink.put(self.word);
        self.words += 1;
        self.word = 0;
        self.used = 0;
    }

    /// The fields are complete; there are to be at least that many words. Says whether some values
    /// must be written whole behind them.
    #[inline]
    pub(super) fn end(mut self, least: u32) -> bool {
        if self.used > 0 {
            self.flush();
        }
        while self.words < least {
            self.flush();
        }
        self.escapes
    }
}

impl<S: Sink> Fields for Writer<'_, S> {
    #[inline]
    fn number(&mut self, number: u32) {
        if number < LONG {
            self.field(number.into(), Width::One);
        } else {
            self.field(LONG.into(), Width::One);
            self.field((number & 0xFFFF).into(), Width::Two);
            self.field((number >> 16).into(), Width::Two);
        }
    }

    #[inline]
    fn value(&mut self, word: i64, width: Width) {
        let code = code::code(word, width);
        self.escapes |= code == width.escape();
        self.field(code, width);
    }
}

/// Writes the values that have no code, whole.
pub(super) struct Escaped<'s, S> {
    pub(super) sink: &'s mut S,
}

impl<S: Sink> Fields for Escaped<'_, S> {
    fn number(&mut self, _: u32) {}

    fn value(&mut self, word: i64, width: Width) {
        if code::code(word, width) == width.escape() {
            self.sink.put(word as u64);
        }
    }
}

/// Reads fields.
pub(super) struct Reader<'w> {
    /// What was not begun.
    rest: &'w [u64],
    word: u64,
    used: u32,
    /// How many words of this part were begun.
    words: u32,
    /// How many values are to come whole.
    escapes: u32,
}

impl<'w> Reader<'w> {
    pub(super) fn new(words: &'w [u64]) -> Self {
        Self {
            rest: words,
            word: 0,
            used: 64,
            words: 0,
            escapes: 0,
        }
    }

    fn next(&mut self) -> u64 {
        let (first, rest) = self.rest.split_first().expect("a packed state is complete");
        self.rest = rest;
        *first
    }

    #[inline]
    fn field(&mut self, width: Width) -> u64 {
        if self.used + width.bits() > 64 {
            self.word = self.next();
            self.words += 1;
            self.used = 0;
        }
        let code = self.word >> self.used & width.escape();
        self.used += width.bits();
        code
    }

    #[inline]
    pub(super) fn number(&mut self) -> u32 {
        let number = self.field(Width::One) as u32;
        if number < LONG {
            return number;
        }
        let low = self.field(Width::Two) as u32;
        (self.field(Width::Two) as u32) << 16 | low
    }

    #[inline]
    pub(super) fn value(&mut self, width: Width) -> i64 {
        let code = self.field(width);
        if code == width.escape() {
            self.escapes += 1;
            return TO_COME;
        }
        code::word(code, width)
    }

    /// A part ends that has at least that many words; `values` are those that were read from it, in order.
    #[inline]
    pub(super) fn end(&mut self, least: u32, values: &mut [i64]) {
        for _ in self.words..least {
            self.next();
        }
        if self.escapes > 0 {
            for value in values.iter_mut().filter(|value| **value == TO_COME) {
                *value = self.next() as i64;
            }
        }
        self.used = 64;
        self.words = 0;
        self.escapes = 0;
    }

    pub(super) fn is_at_end(&self) -> bool {
        self.rest.is_empty()
    }
}
