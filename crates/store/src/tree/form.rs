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

/// Bits that a word and a leaf have in common.
///
/// Leaves and words are sums of them, so a change of a leaf follows from that of a word, and the other way round.
#[derive(Clone, Copy, Debug)]
struct Portion {
    word: u8,
    leaf: u8,
    /// By how much a word is rotated to the right, so that the bits are where they are in the leaf.
    rotation: u8,
    /// Which bits of the leaf they are.
    bits: u32,
    /// The inner nodes above the leaf.
    above: u64,
}

impl Portion {
    #[inline]
    fn of_word(&self, word: u64) -> u32 {
        word.rotate_right(self.rotation.into()) as u32 & self.bits
    }

    #[inline]
    fn of_leaf(&self, leaf: u32) -> u64 {
        u64::from(leaf & self.bits).rotate_left(self.rotation.into())
    }
}

/// The same bytes of a leaf, so that few are moved by distances of their own: each where it is in its half of a word, if no other is.
fn arranged(bytes: [Byte; LEAF]) -> [Byte; LEAF] {
    let mut leaf = [NO_BYTE; LEAF];
    let mut rest = Vec::new();
    for byte in bytes.into_iter().filter(|byte| *byte != NO_BYTE) {
        match &mut leaf[usize::from(byte) % LEAF] {
            place if *place == NO_BYTE => *place = byte,
            _ => rest.push(byte),
        }
    }
    for place in leaf.iter_mut().filter(|place| **place == NO_BYTE) {
        *place = rest.pop().unwrap_or(NO_BYTE);
    }
    leaf
}

/// The portions of leaves whose inner nodes above are these. Bytes that are moved by the same distance are one.
fn portions(leaves: &[[Byte; LEAF]], above: &[u64]) -> Vec<Portion> {
    let mut portions: Vec<Portion> = Vec::new();
    for (number, (leaf, &above)) in leaves.iter().zip(above).enumerate() {
        for (place, byte) in arranged(*leaf).into_iter().enumerate() {
            if byte == NO_BYTE {
                continue;
            }
            let portion = Portion {
                word: (byte / 8) as u8,
                leaf: number as u8,
                rotation: ((usize::from(byte) + 8 - place) % 8 * 8) as u8,
                bits: 0xff << (8 * place),
                above,
            };
            let like = portions.iter_mut().find(|other| {
                (other.word, other.leaf, other.rotation)
                    == (portion.word, portion.leaf, portion.rotation)
            });
            match like {
                Some(like) => like.bits |= portion.bits,
                None => portions.push(portion),
            }
        }
    }
    portions
}

/// How the states are split whose parts have certain ends.
#[derive(Clone, Debug)]
pub struct Form {
    ends: Box<[u32]>,
    words: usize,
    /// The portions of each leaf, and those of each word.
    leaves: Box<[Box<[Portion]>]>,
    of_word: Box<[Box<[Portion]>]>,
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
        let portions = portions(&leaves, &above);
        debug_assert_eq!(
            portions
                .iter()
                .map(|portion| portion.bits.count_ones())
                .sum::<u32>() as usize,
            words * u64::BITS as usize,
            "every byte is in one leaf"
        );
        let those = |is_it: &dyn Fn(&Portion) -> bool| {
            let those = portions.iter().filter(|portion| is_it(portion));
            those.copied().collect()
        };
        Some(Self {
            ends: ends.into(),
            words,
            leaves: (0..leaves.len())
                .map(|leaf| those(&|portion| usize::from(portion.leaf) == leaf))
                .collect(),
            of_word: (0..words)
                .map(|word| those(&|portion| usize::from(portion.word) == word))
                .collect(),
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
        let mut above = 0;
        for portion in &self.of_word[word] {
            let differs = portion.of_word(differs);
            nodes[usize::from(portion.leaf)] ^= differs;
            above |= if differs == 0 { 0 } else { portion.above };
        }
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
        let left = node::number_of_formed((root >> 32) as u32);
        let mut to_do = self.set_below(form, form.inner.len() - 1, left, root as u32);
        while to_do != 0 {
            let next = to_do.ilog2() as usize;
            let pair = pairs.get(self.nodes.as_flattened()[leaves + next]);
            to_do ^= 1 << next;
            to_do |= self.set_below(form, next, (pair >> 32) as u32, pair as u32);
        }
    }

    /// Sets the nodes below an inner one, and returns those inner nodes of them that are others now.
    #[inline]
    fn set_below(&mut self, form: &Form, inner: usize, left: u32, right: u32) -> u64 {
        let (left_node, right_node) = form.inner[inner];
        self.set(form, left_node, left) | self.set(form, right_node, right)
    }

    #[inline]
    fn set(&mut self, form: &Form, node: u8, value: u32) -> u64 {
        let there = &mut self.nodes.as_flattened_mut()[usize::from(node)];
        let differs = *there ^ value;
        if differs == 0 {
            return 0;
        }
        *there = value;
        let Some(portions) = form.leaves.get(usize::from(node)) else {
            return 1 << (usize::from(node) - form.leaves.len());
        };
        for portion in portions {
            self.words[usize::from(portion.word)] ^= portion.of_leaf(differs);
        }
        0
    }
}
