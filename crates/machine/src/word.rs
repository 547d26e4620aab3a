//! What a slot of a state holds.
//!
//! A word is an `i64`. Integers are themselves; they have at most 32 bits, so that
//! references can be told apart by a bit far above them. The low bits of a reference
//! are an offset, and adding to them moves it within its object.

use raddle_explore::{Location, Position};

/// The null reference, and the null thread.
pub(crate) const NULL: i64 = 0;

const GLOBAL: i64 = 1 << 60;
const HEAP: i64 = 1 << 61;
const THREAD: i64 = 1 << 62;

/// Offsets take the low bits of a reference, the name of a heap object those above.
const OFFSET_BITS: u32 = 20;
/// The most slots of one heap object.
pub(crate) const MAX_OBJECT_SLOTS: i64 = 65_536;

/// The name of a thread or a heap object.
///
/// In a canonical state, names are positions in the tables of the state. What is made later
/// is *fresh*: named by the thread that makes it and by how many that thread has made
/// before, so that two threads making things in either order make the same names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Name(pub(crate) u64);

impl Name {
    const FRESH: u64 = 1 << 39;

    pub(crate) fn canonical(position: usize) -> Self {
        Self(position as u64)
    }

    pub(crate) fn fresh(maker: usize, count: usize) -> Self {
        Self(Self::FRESH | (maker as u64) << 20 | count as u64)
    }

    pub(crate) fn position(self) -> Option<usize> {
        (self.0 & Self::FRESH == 0).then_some(self.0 as usize)
    }

    /// How many things its maker had made before, for a fresh name.
    pub(crate) fn count(self) -> usize {
        (self.0 & ((1 << 20) - 1)) as usize
    }

    /// Whether it is a fresh name given by that thread.
    pub(crate) fn made_by(self, maker: usize) -> bool {
        self.0 >> 20 == (Self::FRESH >> 20 | maker as u64)
    }
}

/// A word that is a reference, taken apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reference {
    Null,
    Global(usize),
    Heap(Name, usize),
    Thread(Name),
}

impl Reference {
    pub(crate) fn of(word: i64) -> Self {
        if word & THREAD != 0 {
            Self::Thread(Name((word & (THREAD - 1)) as u64))
        } else if word & HEAP != 0 {
            let name = (word & (HEAP - 1)) as u64 >> OFFSET_BITS;
            Self::Heap(Name(name), (word & ((1 << OFFSET_BITS) - 1)) as usize)
        } else if word & GLOBAL != 0 {
            Self::Global((word & (GLOBAL - 1)) as usize)
        } else {
            Self::Null
        }
    }
}

/// Whether a word is a reference other than null.
pub(crate) fn is_reference(word: i64) -> bool {
    word >= GLOBAL
}

/// Whether a word is a reference to anything that can be renamed.
pub(crate) fn is_renamable(word: i64) -> bool {
    word >= HEAP
}

pub(crate) fn global(slot: usize) -> i64 {
    GLOBAL | slot as i64
}

pub(crate) fn heap(name: Name, offset: usize) -> i64 {
    HEAP | (name.0 as i64) << OFFSET_BITS | offset as i64
}

pub(crate) fn thread(name: Name) -> i64 {
    THREAD | name.0 as i64
}

/// The shared location that a reference refers to.
pub(crate) fn location(reference: i64) -> Location {
    match Reference::of(reference) {
        Reference::Global(slot) => Location(slot as u64),
        _ => Location(reference as u64),
    }
}

/// A reference to a shared location.
pub(crate) fn reference(location: Location) -> i64 {
    match at(location) {
        Reference::Global(slot) => global(slot),
        _ => location.0 as i64,
    }
}

/// What a shared location is.
pub(crate) fn at(location: Location) -> Reference {
    let word = location.0 as i64;
    match is_renamable(word) {
        true => Reference::of(word),
        false => Reference::Global(word as usize),
    }
}

/// Who has made what a location is part of since the state was last canonical, and what the location
/// is called among all that this thread has made.
pub(crate) fn maker(location: Location) -> Option<(Position, u64)> {
    const MAKER: u64 = ((1 << 19) - 1) << 20;
    let (name, shift) = match at(location) {
        Reference::Heap(name, _) => (name, OFFSET_BITS),
        Reference::Thread(name) => (name, 0),
        Reference::Null | Reference::Global(_) => return None,
    };
    let thread = Position(((name.0 & MAKER) >> 20) as u32);
    let thing = location.0 & !(MAKER << shift);
    (name.position().is_none()).then_some((thread, thing))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_survive_the_round_trip_and_differ_from_integers() {
        let fresh = Name::fresh(4095, 65_535);
        assert_eq!(Reference::of(global(65_535)), Reference::Global(65_535));
        assert_eq!(
            Reference::of(heap(fresh, 65_535)),
            Reference::Heap(fresh, 65_535)
        );
        assert_eq!(Reference::of(thread(fresh)), Reference::Thread(fresh));
        assert_eq!(Reference::of(heap(fresh, 3) + 4), Reference::Heap(fresh, 7));
        for integer in [0, 1, i64::from(i32::MAX), i64::from(u32::MAX)] {
            assert_eq!(Reference::of(integer), Reference::Null);
        }
        assert!(fresh.made_by(4095) && !fresh.made_by(4094));
        assert_eq!(fresh.count(), 65_535);
        for (made, other) in [
            (heap(fresh, 3), heap(Name::fresh(7, 65_535), 3)),
            (thread(fresh), thread(Name::fresh(7, 65_535))),
        ] {
            let (maker_of_made, thing) = maker(location(made)).expect("it is fresh");
            assert_eq!(maker_of_made, Position(4095));
            assert_eq!(maker(location(other)), Some((Position(7), thing)));
        }
        assert_eq!(maker(location(heap(Name::canonical(3), 1))), None);
        assert_eq!(maker(location(global(3))), None);
        assert!(!is_renamable(-1) && is_renamable(thread(fresh)) && is_renamable(heap(fresh, 0)));
    }
}
