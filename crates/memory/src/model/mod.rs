//! Memory models: which execution graphs there are.
//!
//! ```text
//! rs   = [W ∪ U] ; (rf ; [U])*                     release sequence
//! sw   = [release] ; ([F];po)? ; rs ; rf ; [R ∪ U] ; (po;[F])? ; [acquire]    and spawn → child, child → join
//! hb   = (po ∪ sw)⁺                                initial values come before everything
//! rb   = rf⁻¹ ; mo \ id
//! eco  = (rf ∪ mo ∪ rb)⁺
//! ATOMICITY   an update is immediately after what it reads in mo
//! COHERENCE   hb and hb;eco irreflexive
//! PORF        po ∪ rf acyclic
//! SC          psc acyclic:
//!   scb  = po ∪ (po≠loc ; hb ; po≠loc) ∪ hb|loc ∪ mo ∪ rb
//!   psc  = ([Esc] ∪ [Fsc];hb?) ; scb ; ([Esc] ∪ hb?;[Fsc])   ∪   [Fsc] ; (hb ∪ hb;eco;hb) ; [Fsc]
//! ```
//!
//! This is RC11 (Lahav, Vafeiadis, Kang, Hur, Dreyer, *Repairing sequential consistency in C/C++11*, PLDI 2017) with the release sequences of C++20,
//! which later writes of the same thread do not belong to. It has no load buffering (PORF), which the C++ standard and some hardware allow.
//!
//! [`Model::defines`] is this definition, in relations. [`Model::admits`] is what the exploration asks: whether a graph that is consistent without
//! its newest event is consistent with it. Tests compare the two.
//!
//! **Extensibility.** An event that reads the last write of its location, and is itself the last one there, or is on no location, never makes a
//! consistent graph inconsistent: no relation leads from it to another event, so it is in no cycle, and an update is next to what it reads. So such
//! choices need no check.
//!
//! # Which SC axiom
//!
//! Three candidates are in use. That of the paper is the weakest, and so misses nothing that one of the others allows.
//!
//! - C++20 to the letter forbids what x86 does with a store buffer: the order of `SeqCst` events then contains `mo;rf`.
//! - GenMC 0.11 drops `≠loc`, and makes an update two events. [`Model::Genmc`] does so too, to compare counts with its tests.

mod coherence;
mod definition;
mod psc;
mod relation;
mod sequential;

use crate::graph::{EventId, Graph, Row};

pub(crate) use coherence::least_place;

/// A memory model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Model {
    /// Sequential consistency: `po ∪ rf ∪ mo ∪ rb` is acyclic.
    Sc,
    /// Release and acquire: RC11 without the axiom SC.
    Ra,
    /// RC11.
    Rc11,
    /// RC11 with the axiom SC of GenMC 0.11. For tests.
    Genmc,
}

impl Model {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Sc, Self::Ra, Self::Rc11, Self::Genmc];

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Sc => "sc",
            Self::Ra => "ra",
            Self::Rc11 => "rc11",
            Self::Genmc => "genmc",
        }
    }

    /// What comes before an event on its location, as far as coherence is concerned.
    pub(crate) fn order(self) -> Row {
        match self {
            // All of porf is in the order of sequential consistency.
            Self::Sc => Row::Porf,
            Self::Ra | Self::Rc11 | Self::Genmc => Row::Hb,
        }
    }

    /// Whether a graph is consistent, if it is so without the events of `changed`, which are all that was added to it. They have no `porf`-successors
    /// but each other.
    #[must_use]
    pub fn admits(self, graph: &Graph, changed: &[EventId]) -> bool {
        changed
            .iter()
            .all(|&id| coherence::is_coherent(self, graph, id))
            && match self {
                Self::Sc => !changed.iter().any(|&id| sequential::is_on_cycle(graph, id)),
                Self::Ra => true,
                Self::Rc11 => psc::is_acyclic(graph),
                Self::Genmc => psc::seq_cst_count(graph) < 2 || self.defines(graph),
            }
    }
}
