//! [`Touches`]: which prefixes of a cartesian vector touch which location, and how.
//!
//! A transition is compared with all prefixes at once: a look-up per location, whatever the
//! lengths of the prefixes.

use rapidhash::RapidHashMap;

use crate::system::{Access, AccessKind, Footprint, Location, SyncOp};

/// A set of ways to touch a location.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Ways(u8);

impl Ways {
    const NONE: Self = Self(0);
    const READ: Self = Self(1);
    const WRITE: Self = Self(2);
    /// A reader of a reader-writer lock comes or goes.
    const SHARE: Self = Self(4);
    /// A reader of a reader-writer lock waits.
    const WAIT_TO_SHARE: Self = Self(8);

    fn of(access: &Access) -> Self {
        let reader = matches!(
            access.kind,
            AccessKind::Sync(SyncOp::AcquireShared | SyncOp::ReleaseShared)
        );
        match (reader, access.writes) {
            (false, false) => Self::READ,
            (false, true) => Self::WRITE,
            (true, true) => Self::SHARE,
            (true, false) => Self::WAIT_TO_SHARE,
        }
    }

    fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    fn has(self, way: Self) -> bool {
        self.0 & way.0 != 0
    }

    /// Whether one of these conflicts with one of those, as
    /// [`Access::conflicts_with`] says.
    fn conflict_with(self, other: Self) -> bool {
        let one_sided = |a: Self, b: Self| {
            (a.has(Self::WRITE) && b != Self::NONE) || (a.has(Self::SHARE) && b.has(Self::READ))
        };
        one_sided(self, other) || one_sided(other, self)
    }
}

/// How one prefix touches one location.
struct Touch {
    prefix: usize,
    /// By transitions other than the last.
    inner: Ways,
    last: Ways,
    /// The next touch of the same location.
    next: Option<u32>,
}

/// How the prefixes of a vector touch locations.
#[derive(Default)]
pub(super) struct Touches {
    first: First,
    all: Vec<Touch>,
}

/// The first touch of each location.
#[derive(Default)]
struct First {
    /// Of locations with small numbers, which most have.
    small: Vec<Option<u32>>,
    /// Which of these are not empty.
    touched: Vec<usize>,
    others: RapidHashMap<Location, u32>,
}

/// Locations below this number are small.
const SMALL: u64 = 4096;

impl First {
    #[inline]
    fn get(&self, location: Location) -> Option<u32> {
        match location.0 < SMALL {
            true => self.small.get(location.0 as usize).copied().flatten(),
            false => self.others.get(&location).copied(),
        }
    }

    fn insert(&mut self, location: Location, number: u32) {
        if location.0 >= SMALL {
            self.others.insert(location, number);
            return;
        }
        let at = location.0 as usize;
        if self.small.len() <= at {
            self.small.resize(at + 1, None);
        }
        if self.small[at].replace(number).is_none() {
            self.touched.push(at);
        }
    }

    fn clear(&mut self) {
        for at in self.touched.drain(..) {
            self.small[at] = None;
        }
        if !self.others.is_empty() {
            self.others.clear();
        }
    }

    fn held_bytes(&self) -> usize {
        self.small.capacity() * size_of::<Option<u32>>()
            + self.touched.capacity() * size_of::<usize>()
            + self.others.capacity() * (size_of::<(Location, u32)>() + 1)
    }
}

impl Touches {
    pub(super) fn clear(&mut self) {
        self.first.clear();
        self.all.clear();
    }

    pub(super) fn held_bytes(&self) -> usize {
        self.all.capacity() * size_of::<Touch>() + self.first.held_bytes()
    }

    /// Whether a transition of a prefix depends on an inner transition of another one.
    pub(super) fn depends_on_inner(&self, prefix: usize, transition: &Footprint) -> bool {
        transition.iter().any(|access| {
            let ways = Ways::of(access);
            self.touches_of(access.location)
                .any(|touch| touch.prefix != prefix && touch.inner.conflict_with(ways))
        })
    }

    /// Finds the prefixes on whose last transition a transition of another prefix depends.
    pub(super) fn depends_on_last(
        &self,
        prefix: usize,
        transition: &Footprint,
        others: &mut Vec<usize>,
    ) {
        others.clear();
        for access in transition {
            let ways = Ways::of(access);
            for touch in self.touches_of(access.location) {
                if touch.prefix != prefix
                    && touch.last.conflict_with(ways)
                    && !others.contains(&touch.prefix)
                {
                    others.push(touch.prefix);
                }
            }
        }
    }

    /// Adds the last transition of a prefix.
    pub(super) fn add_last(&mut self, prefix: usize, transition: &Footprint) {
        for access in transition {
            let touch = self.touch_mut(access.location, prefix);
            touch.last = touch.last.and(Ways::of(access));
        }
    }

    /// The last transition of a prefix is its last no more.
    pub(super) fn last_becomes_inner(&mut self, prefix: usize, transition: &Footprint) {
        for access in transition {
            let touch = self.touch_mut(access.location, prefix);
            touch.inner = touch.inner.and(touch.last);
            touch.last = Ways::NONE;
        }
    }

    fn touches_of(&self, location: Location) -> impl Iterator<Item = &Touch> {
        let at = |number: u32| &self.all[number as usize];
        let first = self.first.get(location).map(at);
        std::iter::successors(first, move |touch| touch.next.map(at))
    }

    fn touch_mut(&mut self, location: Location, prefix: usize) -> &mut Touch {
        let first = self.first.get(location);
        let mut next = first;
        while let Some(number) = next
            && self.all[number as usize].prefix != prefix
        {
            next = self.all[number as usize].next;
        }
        let number = next.unwrap_or_else(|| {
            let number = self.all.len() as u32;
            self.all.push(Touch {
                prefix,
                inner: Ways::NONE,
                last: Ways::NONE,
                next: first,
            });
            self.first.insert(location, number);
            number
        });
        &mut self.all[number as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::Place;

    fn accesses() -> Vec<Access> {
        let kinds = [
            AccessKind::Plain,
            AccessKind::Atomic,
            AccessKind::Sync(SyncOp::Acquire),
            AccessKind::Sync(SyncOp::AcquireShared),
            AccessKind::Sync(SyncOp::ReleaseShared),
        ];
        let locations = [Location(1), Location(2)];
        let mut all = Vec::new();
        for kind in kinds {
            for location in locations {
                all.extend([false, true].map(|writes| Access {
                    location,
                    writes,
                    kind,
                    place: Place(0),
                }));
            }
        }
        all
    }

    #[test]
    fn agrees_with_the_definition_of_a_conflict() {
        for one in accesses() {
            for other in accesses() {
                let mut touches = Touches::default();
                touches.add_last(0, &vec![one]);
                let depends_on_last = |touches: &Touches, prefix| {
                    let mut others = Vec::new();
                    touches.depends_on_last(prefix, &vec![other], &mut others);
                    others == [0]
                };
                assert_eq!(depends_on_last(&touches, 1), one.conflicts_with(&other));
                assert!(!depends_on_last(&touches, 0), "of the same prefix");
                assert!(!touches.depends_on_inner(1, &vec![other]));

                touches.last_becomes_inner(0, &vec![one]);
                assert!(!depends_on_last(&touches, 1));
                let depends = touches.depends_on_inner(1, &vec![other]);
                assert_eq!(depends, one.conflicts_with(&other));
            }
        }
    }
}
