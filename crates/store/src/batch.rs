//! [`Batch`]: states that are to be inserted together.
//!
//! Whoever searches [begins](crate::Worker::begin) a state, puts its successors into the batch, begins another one,
//! and so on until there are enough of them to be [inserted](crate::Worker::flush). A successor that differs little from the
//! state before it is best written in place: [`Batch::open`] is a copy of that state.

use std::ops::Range;

use crate::parts::{Changed, Parts};

/// States that are to be inserted together.
///
/// ```
/// use raddle_store::{Batch, Changed, Packed};
///
/// let mut batch = Batch::default();
/// let mut state = Packed::default();
/// state.extend(&[1, 2]);
/// state.end_part();
/// batch.push(state.parts(), Changed::ALL);
/// assert_eq!(batch.words(0), [1, 2]);
/// ```
#[derive(Debug, Default)]
pub struct Batch {
    /// The words of all states, one after another, and room for more.
    words: Vec<u64>,
    /// How many of these words are taken.
    taken: usize,
    states: Vec<Waiting>,
    /// The ends of the parts of states. Those with the same ends share them.
    ends: Vec<u32>,
    /// Those of the last states.
    last_ends: Range<u32>,
    /// The state that was begun last, and how many have been.
    begun: Vec<u64>,
    parent: u32,
    /// How many words each state is expected to have, and whether some have another number of them.
    length: usize,
    is_mixed: bool,
}

/// A state of a batch.
#[derive(Clone, Debug)]
struct Waiting {
    /// Where its words stop.
    stop: u32,
    /// Which of the states that were begun is before it.
    parent: u32,
    ends: Range<u32>,
    changed: Changed,
}

impl Batch {
    /// How many states there are.
    #[must_use]
    #[inline]
    pub fn len(&self) -> usize {
        self.states.len()
    }

    /// Whether there are none.
    #[must_use]
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.states.is_empty()
    }

    /// Adds a state. `changed` are the parts that differ from those of the state that was begun last, at most.
    ///
    /// # Panics
    ///
    /// If all states together have more than `2^32` words.
    pub fn push(&mut self, state: Parts<'_>, changed: Changed) {
        self.set_ends(state.ends);
        let stop = self.taken + state.words.len();
        if self.words.len() < stop {
            self.make_room(stop);
        }
        self.words[self.taken..stop].copy_from_slice(state.words);
        self.add(stop, changed);
    }

    #[cold]
    fn make_room(&mut self, needed: usize) {
        assert!(u32::try_from(needed).is_ok(), "a batch is small");
        self.words.resize(needed + needed / 2, 0);
    }

    #[inline]
    fn add(&mut self, stop: usize, changed: Changed) {
        self.is_mixed |= stop - self.taken != self.length;
        self.states.push(Waiting {
            stop: stop as u32,
            parent: self.parent,
            ends: self.last_ends.clone(),
            changed,
        });
        self.taken = stop;
    }

    /// The words of a state. Panics if there is no such state.
    #[must_use]
    #[inline]
    pub fn words(&self, number: usize) -> &[u64] {
        &self.words[self.start(number)..self.states[number].stop as usize]
    }

    #[inline]
    fn start(&self, number: usize) -> usize {
        match number {
            0 => 0,
            _ => self.states[number - 1].stop as usize,
        }
    }

    /// The words of all states from a number on.
    #[inline]
    pub(crate) fn words_from(&self, number: usize) -> impl Iterator<Item = &[u64]> {
        let mut start = self.start(number);
        self.states[number..].iter().map(move |state| {
            let words = &self.words[start..state.stop as usize];
            start = state.stop as usize;
            words
        })
    }

    /// The words of all states, if each has that many.
    #[inline]
    pub(crate) fn as_chunks<const N: usize>(&self) -> Option<&[[u64; N]]> {
        let is_even = !self.is_mixed && self.length == N;
        is_even.then(|| self.words[..self.taken].as_chunks().0)
    }

    /// How many words each state has, if all have the same number.
    #[inline]
    pub(crate) fn length(&self) -> Option<usize> {
        (!self.is_mixed).then_some(self.length)
    }

    /// A state in parts. Panics if there is no such state.
    #[inline]
    pub(crate) fn parts(&self, number: usize) -> Parts<'_> {
        let Range { start, end } = self.states[number].ends.clone();
        Parts {
            words: self.words(number),
            ends: &self.ends[start as usize..end as usize],
        }
    }

    /// Where the ends of a state are kept. States for which that is the same have the same ends, until the batch is cleared.
    #[inline]
    pub(crate) fn ends_of(&self, number: usize) -> Range<u32> {
        self.states[number].ends.clone()
    }

    /// The parts of a state that differ from those of the one before it, and which of those that were begun that is: 1 for the first, 0 if
    /// there is none.
    #[inline]
    pub(crate) fn changed(&self, number: usize) -> (Changed, usize) {
        let state = &self.states[number];
        (state.changed, state.parent as usize)
    }

    /// Begins another state, whose words are to be put where this returns. Says also which one it is. A
    /// [worker](crate::Worker::begin) does that, which knows what it has begun.
    #[inline]
    pub fn begin(&mut self) -> (&mut Vec<u64>, usize) {
        if self.states.is_empty() {
            self.parent = 0;
        }
        self.parent += 1;
        (&mut self.begun, self.parent as usize)
    }

    /// The state that was begun last.
    #[must_use]
    #[inline]
    pub fn begun(&self) -> &[u64] {
        &self.begun
    }

    /// Where the parts of the states end that are [kept](Self::keep) from now on, until another one is pushed.
    #[inline]
    pub fn set_ends(&mut self, ends: &[u32]) {
        let Range { start, end } = self.last_ends;
        let last = &self.ends[start as usize..end as usize];
        // They are few: a loop is faster than a call.
        let are_same = last.len() == ends.len() && last.iter().zip(ends).all(|(a, b)| a == b);
        if !are_same {
            self.last_ends = self.ends.len() as u32..(self.ends.len() + ends.len()) as u32;
            self.ends.extend_from_slice(ends);
        }
    }

    /// A copy of the state that was begun last, to be changed in place. It is not part of the batch, unless it is [kept](Self::keep).
    #[inline(always)]
    pub fn open(&mut self) -> &mut [u64] {
        let stop = self.taken + self.begun.len();
        if self.words.len() < stop {
            self.make_room(stop);
        }
        let open = &mut self.words[self.taken..][..self.begun.len()];
        copy(&self.begun, open);
        open
    }

    /// The same, and room for so many words more behind it, which may be anything.
    #[inline]
    pub fn open_with_room(&mut self, room: usize) -> &mut [u64] {
        let stop = self.taken + self.begun.len();
        if self.words.len() < stop + room {
            self.make_room(stop + room);
        }
        let open = &mut self.words[self.taken..stop + room];
        open[..self.begun.len()].copy_from_slice(&self.begun);
        open
    }

    /// The first words of what was [opened](Self::open_with_room) last, as they are now.
    #[inline]
    pub fn opened_words(&mut self, words: usize) -> &mut [u64] {
        &mut self.words[self.taken..self.taken + words]
    }

    /// Adds the first words of what was [opened](Self::open_with_room) last, as they are now: a state with parts of its own.
    #[inline]
    pub fn keep_words(&mut self, words: usize, ends: &[u32], changed: Changed) {
        self.set_ends(ends);
        self.add(self.taken + words, changed);
    }

    /// What was [opened](Self::open) last, as it is now.
    #[inline]
    pub fn opened(&mut self) -> &mut [u64] {
        let stop = self.taken + self.begun.len();
        &mut self.words[self.taken..stop]
    }

    /// Adds what was [opened](Self::open) last, as it is now. `changed` are the parts in which it may differ from the state that
    /// was begun.
    #[inline]
    pub fn keep(&mut self, changed: Changed) {
        self.add(self.taken + self.begun.len(), changed);
    }

    /// Removes all states but the first ones.
    pub fn truncate(&mut self, len: usize) {
        self.taken = self.start(len);
        self.states.truncate(len);
    }

    /// Removes all states. The one that was begun last may have more successors: it is the first then.
    pub(crate) fn clear(&mut self) {
        // The next ones are probably like the last.
        self.length = self.taken - self.start(self.len().saturating_sub(1));
        self.is_mixed = false;
        self.taken = 0;
        self.states.clear();
        self.parent = self.parent.min(1);
        // Most states have the same.
        if self.last_ends.start > 0 {
            self.ends.clear();
            self.last_ends = 0..0;
        }
    }
}

/// Copies words. States are mostly short, and then this takes no call.
#[inline]
fn copy(from: &[u64], to: &mut [u64]) {
    fn all<const N: usize>(from: &[u64], to: &mut [u64]) {
        if let (Some(from), Some(to)) = (from.first_chunk::<N>(), to.first_chunk_mut()) {
            *to = *from;
        }
    }
    match from.len() {
        1 => all::<1>(from, to),
        2 => all::<2>(from, to),
        3 => all::<3>(from, to),
        4 => all::<4>(from, to),
        5 => all::<5>(from, to),
        6 => all::<6>(from, to),
        7 => all::<7>(from, to),
        8 => all::<8>(from, to),
        _ => to.copy_from_slice(from),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_open_is_part_of_it_only_if_it_is_kept() {
        for length in 1..12 {
            let mut batch = Batch::default();
            let (begun, number) = batch.begin();
            *begun = (1..=length).collect();
            assert_eq!(number, 1);
            batch.set_ends(&[length as u32]);
            batch.open()[0] = 50;
            batch.open()[length as usize - 1] += 100;
            batch.keep(Changed::ALL);
            batch.open();
            batch.keep(Changed::NONE);
            let mut changed: Vec<u64> = (1..=length).collect();
            assert_eq!(batch.words(1), changed);
            *changed.last_mut().unwrap() += 100;
            assert_eq!(batch.words(0), changed);
            assert_eq!(batch.parts(0).ends, [length as u32]);
            assert_eq!(batch.changed(1), (Changed::NONE, 1));
            batch.truncate(1);
            assert_eq!((batch.len(), batch.words(0)), (1, &*changed));
            batch.open();
            batch.keep(Changed::NONE);
            assert_eq!(batch.words_from(1).collect::<Vec<_>>(), [batch.begun()]);
        }
    }

    #[test]
    fn states_keep_their_own_ends() {
        let mut batch = Batch::default();
        for (words, ends) in [([1, 2], &[2][..]), ([3, 4], &[1, 2]), ([5, 6], &[1, 2])] {
            let words = &words;
            batch.push(Parts { words, ends }, Changed::ALL);
        }
        let ends: Vec<&[u32]> = (0..3).map(|number| batch.parts(number).ends).collect();
        assert_eq!(ends, [&[2][..], &[1, 2], &[1, 2]]);
        batch.clear();
        batch.push(
            Parts {
                words: &[7],
                ends: &[1],
            },
            Changed::ALL,
        );
        assert_eq!(
            batch.parts(0),
            Parts {
                words: &[7],
                ends: &[1]
            }
        );
    }
}
