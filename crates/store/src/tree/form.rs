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
use crate::interned::Own;

/// A byte of a state, by its number; no byte in leaves that are not full.
pub(super) type Byte = u16;
pub(super) const NO_BYTE: Byte = Byte::MAX;

/// Bytes of a leaf.
pub(super) const LEAF: usize = 4;
/// Sets of leaves and inner nodes are bits of a word.
const MOST_LEAVES: usize = 64;

/// All nodes of a state but the root. There is room for every number of 8 bits, so that looking at one needs no check.
pub(super) type Nodes = [u32; 1 << u8::BITS];

/// Where a byte of a word is in the tree.
#[derive(Clone, Copy, Debug, Default)]
struct Place {
    leaf: u8,
    /// By how many bits it is shifted there.
    shift: u8,
    /// The inner nodes above the leaf.
    above: u64,
}

/// Bytes of a word.
const WORD: usize = size_of::<u64>();

/// Calls `see` for every byte that is not zero: its number, and the byte.
#[inline]
fn for_each_byte(mut bits: u64, mut see: impl FnMut(usize, u8)) {
    while bits != 0 {
        let number = bits.trailing_zeros() / 8;
        let byte = (bits >> (8 * number)) as u8;
        see(number as usize, byte);
        bits ^= u64::from(byte) << (8 * number);
    }
}

/// How the states are split whose parts have certain ends.
#[derive(Clone, Debug)]
pub struct Form {
    ends: Box<[u32]>,
    words: usize,
    /// The bytes of leaves; any where there is none.
    leaves: Box<[[Byte; LEAF]]>,
    /// The same the other way round: where the bytes of words are.
    places: Box<[[Place; WORD]]>,
    /// The two nodes below each inner node. Leaves are the first nodes; what is below is before what is above, and the root is last.
    inner: Box<[(u8, u8)]>,
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
        let mut above = vec![0_u64; leaves.len() + inner.len()];
        for (number, &(left, right)) in inner.iter().enumerate().rev() {
            let up = above[leaves.len() + number] | 1 << number;
            above[usize::from(left)] = up;
            above[usize::from(right)] = up;
        }
        let mut places = vec![[Place::default(); WORD]; words];
        let mut bytes = 0;
        for (number, (leaf, &above)) in leaves.iter().zip(&above).enumerate() {
            let bytes_of_leaf = leaf.iter().enumerate();
            for (place, &byte) in bytes_of_leaf.filter(|(_, byte)| **byte != NO_BYTE) {
                places[usize::from(byte) / WORD][usize::from(byte) % WORD] = Place {
                    leaf: number as u8,
                    shift: 8 * place as u8,
                    above,
                };
                bytes += 1;
            }
        }
        // What is no byte never differs.
        for byte in leaves.as_flattened_mut() {
            *byte = if *byte == NO_BYTE { 0 } else { *byte };
        }
        debug_assert_eq!(bytes, words * WORD, "every byte is in one leaf");
        debug_assert!(
            places.iter().flatten().all(|place| place.above != 0),
            "every byte is in a leaf"
        );
        Some(Self {
            ends: ends.into(),
            words,
            leaves: leaves.into(),
            places: places.into(),
            inner: inner.into(),
        })
    }

    /// Whether it is the form of states whose parts end there.
    #[inline]
    pub(super) fn fits(&self, ends: &[u32]) -> bool {
        *self.ends == *ends
    }

    /// How many nodes there are, but for the root.
    #[inline]
    fn nodes(&self) -> usize {
        self.leaves.len() + self.inner.len() - 1
    }

    /// Changes the leaves as a word has changed, and returns the inner nodes above those that are others now.
    #[inline]
    fn change(&self, nodes: &mut Nodes, word: usize, differs: u64) -> u64 {
        let places = &self.places[word];
        let mut above = 0;
        for_each_byte(differs, |number, byte| {
            let place = &places[number];
            nodes[usize::from(place.leaf)] ^= u32::from(byte) << (place.shift % u32::BITS as u8);
            above |= place.above;
        });
        above
    }

    /// The root of a state. `nodes` become its nodes. If they are those of a state before it, its words are given, and only
    /// what differs is looked at.
    #[inline]
    pub(super) fn root<R>(
        &self,
        nodes: &mut Nodes,
        before: Option<&[u64]>,
        words: &[u64],
        mut number: impl FnMut(u64) -> Result<u32, R>,
    ) -> Result<u64, R> {
        let leaves = self.leaves.len();
        let mut to_do = 0_u64;
        match before {
            Some(before) => {
                for (word, (old, new)) in before.iter().zip(words).enumerate() {
                    if old != new {
                        to_do |= self.change(nodes, word, old ^ new);
                    }
                }
            }
            None => {
                nodes[..leaves].fill(0);
                for (word, &new) in words.iter().enumerate() {
                    self.change(nodes, word, new);
                }
                to_do = u64::MAX >> (64 - self.inner.len());
            }
        }
        let root = self.inner.len() - 1;
        to_do &= !(1 << root);
        while to_do != 0 {
            let next = to_do.trailing_zeros() as usize;
            to_do &= to_do - 1;
            let (left, right) = self.inner[next];
            let pair = super::pair(nodes[usize::from(left)], nodes[usize::from(right)]);
            nodes[usize::from((leaves + next) as u8)] = number(pair)?;
        }
        let (left, right) = self.inner[root];
        let (left, right) = (nodes[usize::from(left)], nodes[usize::from(right)]);
        Ok(super::pair(node::formed(left), right))
    }
}

/// A state by its form.
#[derive(Clone, Debug, Default)]
pub(super) struct Formed {
    pub(super) words: Vec<u64>,
    /// All nodes but the root, and others that mean nothing, so that they can be copied by the chunk.
    nodes: Vec<[u32; CHUNK]>,
}

const CHUNK: usize = 8;

/// What no inner node is.
const NO_NUMBER: u32 = u32::MAX;

impl Formed {
    /// Copies its nodes.
    #[inline]
    pub(super) fn copy_to(&self, nodes: &mut Nodes) {
        for (from, to) in self.nodes.iter().zip(nodes.as_chunks_mut().0) {
            *to = *from;
        }
    }

    /// Becomes another.
    #[inline]
    pub(super) fn become_like(&mut self, other: &Self) {
        if self.nodes.len() != other.nodes.len() {
            self.clone_from(other);
            return;
        }
        for (to, from) in self.nodes.iter_mut().zip(&other.nodes) {
            *to = *from;
        }
        for (to, from) in self.words.iter_mut().zip(&other.words) {
            *to = *from;
        }
    }

    /// Goes to the state with a root. Only what is below other nodes than those of the state before is looked at.
    pub(super) fn go_to<F: Family>(&mut self, form: &Form, pairs: &mut Own<'_, F>, root: u64) {
        let leaves = form.leaves.len();
        if self.nodes.is_empty() {
            // Leaves and words are those of each other.
            self.words.resize(form.words, 0);
            self.nodes.resize(form.nodes().div_ceil(CHUNK), [0; CHUNK]);
            self.nodes.as_flattened_mut()[leaves..].fill(NO_NUMBER);
        }
        let mut pair = super::pair(node::number_of_formed((root >> 32) as u32), root as u32);
        let mut next = form.inner.len() - 1;
        let mut to_do = 0_u64;
        loop {
            let (left, right) = form.inner[next];
            to_do |= self.set(form, left, (pair >> 32) as u32);
            to_do |= self.set(form, right, pair as u32);
            let Some(highest) = to_do.checked_ilog2() else {
                return;
            };
            next = highest as usize;
            to_do ^= 1 << next;
            pair = pairs.get(self.nodes.as_flattened()[leaves + next]);
        }
    }

    /// Sets a node, and returns the inner node that it is, if it was another.
    #[inline]
    fn set(&mut self, form: &Form, node: u8, value: u32) -> u64 {
        let there = &mut self.nodes.as_flattened_mut()[usize::from(node)];
        let differs = *there ^ value;
        if differs == 0 {
            return 0;
        }
        *there = value;
        let Some(leaf) = form.leaves.get(usize::from(node)) else {
            return 1 << (usize::from(node) - form.leaves.len());
        };
        // No branches: nobody knows which bytes differ.
        for (&byte, differs) in leaf.iter().zip(differs.to_le_bytes()) {
            let byte = usize::from(byte);
            self.words[byte / WORD] ^= u64::from(differs) << (8 * (byte % WORD));
        }
        0
    }
}
