//! [`Queue`]: the states that a worker has queued.

use crate::parts::Parts;

/// States in words and parts, one after another.
#[derive(Default)]
pub(crate) struct Queue {
    words: Vec<u64>,
    ends: Vec<u32>,
    /// Where the words and the ends of each state stop.
    stops: Vec<(usize, usize)>,
}

impl Queue {
    pub(crate) fn push(&mut self, state: Parts<'_>) {
        self.words.extend_from_slice(state.words);
        self.ends.extend_from_slice(state.ends);
        self.stops.push((self.words.len(), self.ends.len()));
    }

    pub(crate) fn len(&self) -> usize {
        self.stops.len()
    }

    #[inline]
    pub(crate) fn get(&self, number: usize) -> Parts<'_> {
        let (words, ends) = self.stops[number];
        let (first_word, first_end) = match number {
            0 => (0, 0),
            _ => self.stops[number - 1],
        };
        Parts {
            words: &self.words[first_word..words],
            ends: &self.ends[first_end..ends],
        }
    }

    pub(crate) fn clear(&mut self) {
        self.words.clear();
        self.ends.clear();
        self.stops.clear();
    }
}
