//! [`Roots`]: the set of roots, in one of two ways.

use super::hash_of;
use super::quotients::{Entered, Quotients};
use crate::family::{Family, Word};
use crate::lines::{Claim, Lines, Probe};

/// A set of roots.
pub(super) enum Roots<F: Family> {
    /// Each takes 64 bits.
    Whole(Lines<F::Word>),
    /// Each takes as many bits as are needed.
    Quotients(Quotients<F>),
}

/// Adds a root where somebody else was faster with another, or with the same.
#[cold]
fn enter_further<W: Word>(lines: &Lines<W>, root: u64) -> Entered {
    match lines.find_or_claim(hash_of(root), |there| there == root, || root) {
        Claim::Found(_) => Entered::Known,
        Claim::Claimed => Entered::New,
        Claim::Full => Entered::Crowded,
    }
}

impl<F: Family> Roots<F> {
    pub(super) fn set_budget(&mut self, bytes: usize) {
        match self {
            Self::Whole(lines) => lines.set_budget(bytes),
            Self::Quotients(quotients) => quotients.set_budget(bytes),
        }
    }

    #[inline]
    pub(super) fn prefetch(&self, root: u64) {
        match self {
            Self::Whole(lines) => lines.prefetch(hash_of(root)),
            Self::Quotients(quotients) => quotients.prefetch(root),
        }
    }

    /// Adds a root to a set of so many.
    #[inline]
    pub(super) fn enter(&self, root: u64, len: usize) -> Entered {
        match self {
            Self::Whole(lines) if len >= lines.room() => match self.contains(root) {
                true => Entered::Known,
                false => Entered::Crowded,
            },
            Self::Whole(lines) => match lines.probe(hash_of(root), |there| there == root) {
                None => Entered::Crowded,
                Some(Probe { entry: 0, slot }) => match lines.claim_at(slot, root) {
                    Ok(()) => Entered::New,
                    Err(_) => enter_further(lines, root),
                },
                Some(_) => Entered::Known,
            },
            Self::Quotients(quotients) => quotients.enter(root),
        }
    }

    pub(super) fn contains(&self, root: u64) -> bool {
        match self {
            Self::Whole(lines) => {
                let found = lines.find(hash_of(root), |there| there == root);
                found.is_some()
            }
            Self::Quotients(quotients) => quotients.contains(root),
        }
    }

    /// Makes room for a root in a set of so many, if there is none.
    pub(super) fn make_room(&mut self, root: u64, len: usize) {
        match self {
            Self::Whole(lines) => {
                if len >= lines.room() || !lines.has_place(hash_of(root)) {
                    lines.grow(hash_of);
                }
            }
            Self::Quotients(quotients) => quotients.make_room(root),
        }
    }

    pub(super) fn for_each(&self, see: &mut dyn FnMut(u64)) {
        match self {
            Self::Whole(lines) => {
                let slots = (0..lines.slot_bound()).map(|slot| lines.slot(slot));
                slots.filter(|root| *root != 0).for_each(see);
            }
            Self::Quotients(quotients) => quotients.for_each(see),
        }
    }

    pub(super) fn index_bound(&self) -> usize {
        match self {
            Self::Whole(lines) => lines.slot_bound(),
            Self::Quotients(quotients) => quotients.index_bound(),
        }
    }

    pub(super) fn index(&self, root: u64) -> Option<usize> {
        match self {
            Self::Whole(lines) => {
                let found = lines.find(hash_of(root), |there| there == root);
                found.map(|(slot, _)| slot)
            }
            Self::Quotients(quotients) => quotients.index(root),
        }
    }

    pub(super) fn at(&self, index: usize) -> u64 {
        match self {
            Self::Whole(lines) => lines.slot(index),
            Self::Quotients(quotients) => quotients.at(index),
        }
    }

    pub(super) fn memory_bytes(&self) -> usize {
        match self {
            Self::Whole(lines) => lines.memory_bytes(),
            Self::Quotients(quotients) => quotients.memory_bytes(),
        }
    }
}
