//! [`Queue`]: the words of the states that a worker has queued.

/// States in words, one after another.
#[derive(Default)]
pub(crate) struct Queue {
    words: Vec<u64>,
    /// Where the words of each state stop.
    stops: Vec<usize>,
}

impl Queue {
    #[inline]
    pub(crate) fn push(&mut self, words: &[u64]) {
        self.words.extend_from_slice(words);
        self.stops.push(self.words.len());
    }

    pub(crate) fn len(&self) -> usize {
        self.stops.len()
    }

    #[inline]
    pub(crate) fn get(&self, number: usize) -> &[u64] {
        let start = match number {
            0 => 0,
            _ => self.stops[number - 1],
        };
        &self.words[start..self.stops[number]]
    }

    pub(crate) fn clear(&mut self) {
        self.words.clear();
        self.stops.clear();
    }
}
