//! [`Form`]: the shape of the trees of most states, learned from some of them.
//!
//! Most programs have states whose parts all have the same sizes. For those, the tree need not follow the parts: its leaves
//! are groups of four bytes from anywhere in the state, chosen so that what depends on each other is near (`learn.rs`), and what
//! a node is follows from where it is. A leaf is 32 bits, and an inner node the number of a pair, so
//! leaves of two have no number of their own.
//!
//! Whatever the form, every byte of a state is in exactly one leaf, so the root determines the state, and the state its root.

use super::node;
use crate::family::Family;
use crate::interned::Interned;

/// A byte of a state, by its number; no byte in leaves that are not full.
pub(super) type Byte = u16;
pub(super) const NO_BYTE: Byte = Byte::MAX;

/// Bytes of a leaf.
pub(super) const LEAF: usize = 4;
/// Sets of leaves and inner nodes are bits of a word.
const MOST_LEAVES: usize = 64;

/// The leaves with bytes of a word, and which bits of it.
type Portions = Box<[(u8, u64)]>;

/// How the states are split whose parts have certain ends.
#[derive(Clone, Debug)]
pub struct Form {
    ends: Box<[u32]>,
    words: usize,
    leaves: Box<[[Byte; LEAF]]>,
    /// The two nodes below each inner node. Leaves are the first nodes; what is below is before what is above, and the root is last.
    inner: Box<[(u8, u8)]>,
    /// The leaves of each word.
    of_word: Box<[Portions]>,
    /// The inner nodes above each leaf.
    above: Box<[u64]>,
}

impl Form {
    /// The most words that a state may have.
    pub(super) const MOST_WORDS: usize = MOST_LEAVES * LEAF / size_of::<u64>();

    /// A form with given leaves and inner nodes, for states with parts of these ends. Nothing if it is too large.
    ///
    /// Leaves below the root are paired with one that is empty, so that the root is a pair of numbers.
    pub(super) fn new(
        ends: &[u32],
        mut leaves: Vec<[Byte; LEAF]>,
        mut inner: Vec<(u8, u8)>,
    ) -> Option<Self> {
        let words = *ends.last()? as usize;
        let (left, right) = inner.pop()?;
        let below = [left, right].map(usize::from);
        let alone = below.iter().filter(|node| **node < leaves.len()).count();
        let first_empty = leaves.len();
        leaves.extend(vec![[NO_BYTE; LEAF]; alone]);
        if leaves.len() > MOST_LEAVES {
            return None;
        }
        // Inner nodes are numbered behind the leaves.
        let shifted = |node: u8| match usize::from(node) < first_empty {
            true => node,
            false => node + alone as u8,
        };
        for (left, right) in &mut inner {
            (*left, *right) = (shifted(*left), shifted(*right));
        }
        let mut empty = first_empty;
        let root = [left, right].map(|node| {
            if usize::from(node) >= first_empty {
                return shifted(node);
            }
            inner.push((node, empty as u8));
            empty += 1;
            (leaves.len() + inner.len() - 1) as u8
        });
        inner.push((root[0], root[1]));
        debug_assert_eq!(inner.len() + 1, leaves.len());
        let mut of_word = vec![Vec::new(); words];
        for (number, leaf) in leaves.iter().enumerate() {
            for (word, portions) in of_word.iter_mut().enumerate() {
                let bits: u64 = (leaf.iter())
                    .filter(|&&byte| byte != NO_BYTE && usize::from(byte) / 8 == word)
                    .map(|&byte| 0xff << (byte % 8 * 8))
                    .sum();
                if bits != 0 {
                    portions.push((number as u8, bits));
                }
            }
        }
        debug_assert!(
            (of_word.iter()).all(|portions: &Vec<_>| portions
                .iter()
                .map(|(_, bits)| *bits)
                .sum::<u64>()
                == u64::MAX),
            "every byte is in one leaf"
        );
        let mut above = vec![0_u64; leaves.len() + inner.len()];
        for (number, &(left, right)) in inner.iter().enumerate().rev() {
            let up = above[leaves.len() + number] | 1 << number;
            above[usize::from(left)] = up;
            above[usize::from(right)] = up;
        }
        above.truncate(leaves.len());
        Some(Self {
            ends: ends.into(),
            words,
            leaves: leaves.into(),
            inner: inner.into(),
            of_word: of_word.into_iter().map(Vec::into_boxed_slice).collect(),
            above: above.into(),
        })
    }

    /// Whether it is the form of states whose parts end there.
    #[inline]
    pub(super) fn fits(&self, ends: &[u32]) -> bool {
        *self.ends == *ends
    }

    #[inline]
    fn leaf(&self, number: usize, words: &[u64]) -> u32 {
        let mut leaf = 0;
        for (place, &byte) in self.leaves[number].iter().enumerate() {
            if byte != NO_BYTE {
                let value = words[usize::from(byte) / 8] >> (byte % 8 * 8);
                leaf |= u32::from(value as u8) << (8 * place);
            }
        }
        leaf
    }

    /// The root of a state. `nodes` become its nodes, but for the root. If they are those of a state before it, its words are given, and only
    /// what differs is looked at.
    #[inline]
    pub(super) fn root<R>(
        &self,
        nodes: &mut Vec<u32>,
        before: Option<&[u64]>,
        words: &[u64],
        mut number: impl FnMut(u64) -> Result<u32, R>,
    ) -> Result<u64, R> {
        let mut to_do = 0_u64;
        if before.is_none() {
            nodes.clear();
            nodes.extend((0..self.leaves.len()).map(|leaf| self.leaf(leaf, words)));
            nodes.resize(self.leaves.len() + self.inner.len() - 1, 0);
            to_do = u64::MAX >> (64 - self.inner.len());
        }
        let before = before.unwrap_or(words);
        for (word, (old, new)) in before.iter().zip(words).enumerate() {
            let differs = old ^ new;
            if differs != 0 {
                for &(leaf, bits) in &self.of_word[word] {
                    if differs & bits != 0 {
                        nodes[usize::from(leaf)] = self.leaf(leaf.into(), words);
                        to_do |= self.above[usize::from(leaf)];
                    }
                }
            }
        }
        let root = self.inner.len() - 1;
        to_do &= !(1 << root);
        while to_do != 0 {
            let next = to_do.trailing_zeros() as usize;
            to_do &= to_do - 1;
            let (left, right) = self.inner[next];
            let pair = super::pair(nodes[usize::from(left)], nodes[usize::from(right)]);
            nodes[self.leaves.len() + next] = number(pair)?;
        }
        let (left, right) = self.inner[root];
        let (left, right) = (nodes[usize::from(left)], nodes[usize::from(right)]);
        Ok(super::pair(node::formed(left), right))
    }
}

/// A state by its form, with all its nodes but the root.
#[derive(Clone, Debug, Default)]
pub(super) struct Formed {
    pub(super) words: Vec<u64>,
    pub(super) nodes: Vec<u32>,
}

impl Formed {
    /// Goes to the state with a root. Only what is below other nodes than those of the state before is looked at.
    pub(super) fn go_to<F: Family>(&mut self, form: &Form, pairs: &Interned<F>, root: u64) {
        let leaves = form.leaves.len();
        let last = form.inner.len() - 1;
        let is_first = self.nodes.is_empty();
        if is_first {
            self.words.resize(form.words, 0);
            self.nodes.resize(leaves + last, 0);
        }
        let mut to_do = 1_u64 << last;
        while to_do != 0 {
            let next = to_do.ilog2() as usize;
            to_do &= !(1 << next);
            let pair = match next == last {
                true => super::pair(node::number_of_formed((root >> 32) as u32), root as u32),
                false => pairs.get(self.nodes[leaves + next]),
            };
            let (left, right) = form.inner[next];
            for (child, value) in [(left, (pair >> 32) as u32), (right, pair as u32)] {
                let child = usize::from(child);
                if self.nodes[child] == value && !is_first {
                    continue;
                }
                self.nodes[child] = value;
                match child.checked_sub(leaves) {
                    Some(inner) => to_do |= 1 << inner,
                    None => self.put_leaf(&form.leaves[child], value),
                }
            }
        }
    }

    fn put_leaf(&mut self, leaf: &[Byte; LEAF], value: u32) {
        for (place, &byte) in leaf.iter().enumerate() {
            if byte != NO_BYTE {
                let (word, shift) = (usize::from(byte) / 8, byte % 8 * 8);
                let value = u64::from((value >> (8 * place)) as u8);
                let word = &mut self.words[word];
                *word = *word & !(0xff << shift) | value << shift;
            }
        }
    }
}
