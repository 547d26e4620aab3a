//! The shape of the tree of a state.
//!
//! A range of words of one part, or a range of parts, is split in the middle. So a place between two words of a part,
//! or between two parts, is where exactly one node is split, and names that node.

use super::node;
use crate::family::Family;
use crate::interned::Interned;
use crate::parts::{Changed, Parts};

/// Who has numbers for words and pairs.
pub(super) trait Source {
    /// Why there is none.
    type Refused;

    fn word(&mut self, word: u64) -> Result<u32, Self::Refused>;
    fn pair(&mut self, pair: u64) -> Result<u32, Self::Refused>;
}

fn middle(from: usize, to: usize) -> usize {
    from + (to - from).div_ceil(2)
}

/// The nodes of the tree of one state.
#[derive(Default)]
pub(super) struct Nodes {
    pub(super) words: Vec<u64>,
    ends: Vec<u32>,
    /// The node of each word.
    word: Vec<u32>,
    /// The node that is split before that word.
    words_split: Vec<u32>,
    /// The node that is split before that part.
    parts_split: Vec<u32>,
    /// Whether it is those of a state.
    is_some: bool,
}

impl Nodes {
    /// Finds the nodes under a root.
    pub(super) fn descend<F: Family>(
        &mut self,
        words: &Interned<F>,
        pairs: &Interned<F>,
        root: u64,
    ) {
        self.words.clear();
        self.ends.clear();
        self.word.clear();
        self.words_split.clear();
        self.parts_split.clear();
        self.is_some = true;
        self.parts(words, pairs, (root >> 32) as u32);
        self.parts(words, pairs, root as u32);
        self.words_split.resize(self.words.len(), 0);
        self.parts_split.resize(self.ends.len(), 0);
    }

    fn parts<F: Family>(&mut self, words: &Interned<F>, pairs: &Interned<F>, at: u32) {
        match node::kind(at) {
            node::PARTS => {
                let pair = pairs.get(node::number(at));
                self.parts(words, pairs, (pair >> 32) as u32);
                let split = self.ends.len();
                self.parts_split
                    .resize(self.parts_split.len().max(split + 1), 0);
                self.parts_split[split] = at;
                self.parts(words, pairs, pair as u32);
            }
            _ if at == node::NOTHING => {}
            _ => {
                if at != node::EMPTY {
                    self.part(words, pairs, at);
                }
                self.ends.push(self.words.len() as u32);
            }
        }
    }

    fn part<F: Family>(&mut self, words: &Interned<F>, pairs: &Interned<F>, at: u32) {
        if node::kind(at) == node::WORD {
            self.words.push(words.get(node::number(at)));
            self.word.push(at);
            return;
        }
        let pair = pairs.get(node::number(at));
        self.part(words, pairs, (pair >> 32) as u32);
        let split = self.words.len();
        self.words_split
            .resize(self.words_split.len().max(split + 1), 0);
        self.words_split[split] = at;
        self.part(words, pairs, pair as u32);
    }

    /// Lists the words of a state that differ from those here. Says no if the parts are not as
    /// long as here, so that nothing can be reused.
    pub(super) fn note_changes(
        &self,
        state: Parts<'_>,
        parts: Changed,
        changed: &mut Vec<u32>,
    ) -> bool {
        if !self.is_some || self.ends != state.ends {
            return false;
        }
        changed.clear();
        let mut note = |range: std::ops::Range<usize>| {
            let words = range.clone().zip(&self.words[range.clone()]);
            for ((number, old), new) in words.zip(&state.words[range]) {
                if old != new {
                    changed.push(number as u32);
                }
            }
        };
        if parts.is_all() {
            note(0..state.words.len());
        } else {
            for part in parts.iter().take_while(|part| *part < state.ends.len()) {
                let start = if part == 0 {
                    0
                } else {
                    state.ends[part - 1] as usize
                };
                note(start..state.ends[part] as usize);
            }
        }
        true
    }

    fn of_words(&self, from: usize, to: usize) -> u32 {
        match to - from {
            0 => node::EMPTY,
            1 => self.word[from],
            _ => self.words_split[middle(from, to)],
        }
    }

    fn of_parts(&self, from: usize, to: usize) -> u32 {
        if to - from > 1 {
            return self.parts_split[middle(from, to)];
        }
        let start = if from == 0 { 0 } else { self.ends[from - 1] };
        self.of_words(start as usize, self.ends[from] as usize)
    }
}

/// The root of a state. If a state before it is given, its nodes are reused where no word has
/// changed.
pub(super) fn root<S: Source>(
    source: &mut S,
    state: Parts<'_>,
    before: Option<&Nodes>,
    changed: &[u32],
) -> Result<u64, S::Refused> {
    let mut builder = Builder {
        source,
        state,
        before,
    };
    let parts = state.ends.len();
    let (left, right) = match parts {
        0 => (node::NOTHING, node::NOTHING),
        1 => (builder.parts(0, 1, changed)?, node::NOTHING),
        _ => {
            let split = middle(0, parts);
            let (early, late) = builder.cut(changed, state.ends[split - 1] as usize);
            (
                builder.parts(0, split, early)?,
                builder.parts(split, parts, late)?,
            )
        }
    };
    Ok(super::pair(left, right))
}

struct Builder<'a, S> {
    source: &'a mut S,
    state: Parts<'a>,
    before: Option<&'a Nodes>,
}

impl<S: Source> Builder<'_, S> {
    /// Those before a word, and the others.
    fn cut<'c>(&self, changed: &'c [u32], word: usize) -> (&'c [u32], &'c [u32]) {
        changed.split_at(changed.partition_point(|&number| (number as usize) < word))
    }

    fn parts(&mut self, from: usize, to: usize, changed: &[u32]) -> Result<u32, S::Refused> {
        if let (Some(before), []) = (self.before, changed) {
            return Ok(before.of_parts(from, to));
        }
        let ends = self.state.ends;
        if to - from == 1 {
            let start = if from == 0 { 0 } else { ends[from - 1] };
            return self.words(start as usize, ends[from] as usize, changed);
        }
        let split = middle(from, to);
        let (early, late) = self.cut(changed, ends[split - 1] as usize);
        let left = self.parts(from, split, early)?;
        let right = self.parts(split, to, late)?;
        let number = self.source.pair(super::pair(left, right))?;
        Ok(node::new(node::PARTS, number))
    }

    fn words(&mut self, from: usize, to: usize, changed: &[u32]) -> Result<u32, S::Refused> {
        if let (Some(before), []) = (self.before, changed) {
            return Ok(before.of_words(from, to));
        }
        match to - from {
            0 => Ok(node::EMPTY),
            1 => {
                let number = self.source.word(self.state.words[from])?;
                Ok(node::new(node::WORD, number))
            }
            _ => {
                let split = middle(from, to);
                let (early, late) = self.cut(changed, split);
                let left = self.words(from, split, early)?;
                let right = self.words(split, to, late)?;
                let number = self.source.pair(super::pair(left, right))?;
                Ok(node::new(node::WORDS, number))
            }
        }
    }
}

/// Appends the words under a root.
pub(super) fn read<F: Family>(
    words: &Interned<F>,
    pairs: &Interned<F>,
    root: u64,
    read: &mut Vec<u64>,
) {
    for at in [(root >> 32) as u32, root as u32] {
        match node::kind(at) {
            node::WORD => read.push(words.get(node::number(at))),
            node::PARTS | node::WORDS => {
                self::read(words, pairs, pairs.get(node::number(at)), read);
            }
            _ => {}
        }
    }
}
