//! References that are counted: which are alive, and whose counts matter.
//!
//! Cloning and dropping a reference is no step as long as nobody looks at the count and the
//! content goes away quietly: nobody can see it. Where somebody does, that is remembered by the place where such
//! references are made, and the exploration begins again, with steps.
//!
//! An execution in which somebody has looked at a count without such steps is still one of the program's: what it finds wrong is wrong, but for one thing. A
//! loop that waits for such a count is [suspended](super::polling) until something changes that it has touched, and the change that it waits for is no step. So
//! where it is concluded that nothing wakes anybody, nothing may be concluded: the execution is [given up](Counts::may_wake_nobody) as soon as a thread continues as
//! a last resort. The one that is run in its place has the steps.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use raddle_schedule::LocationId;

use super::Place;
use super::hash::Table;
use super::objects::Kind;
use super::state::{Phase, State};

/// Which counted allocation a reference belongs to. Means something in one execution only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Counted {
    generation: u64,
    index: u32,
}

impl Counted {
    pub(super) fn index(self) -> u32 {
        self.index
    }

    /// Whether it belongs to this execution.
    pub(super) fn is_of(self, generation: u64) -> bool {
        self.generation == generation
    }
}

/// How the counts of references matter that are made at a place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Matter {
    /// When the content goes away, operations are made: who drops the last reference matters, and two
    /// threads that drop theirs cannot change places.
    pub(super) content_operates: bool,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    place: Place,
    /// Where the content is.
    address: usize,
    alive: bool,
    /// Its count, if that matters.
    count: Option<(LocationId, Matter)>,
}

/// A place, by what it says: it may have several addresses.
pub(crate) type Site = (&'static str, u32, u32);

pub(super) fn site(place: Place) -> Site {
    (place.file(), place.line(), place.column())
}

/// A number for a place that is the same in every process.
pub(super) fn fingerprint((file, line, column): Site) -> u32 {
    let numbers = [line, column].map(u32::to_le_bytes);
    let bytes = file.bytes().chain(numbers.into_iter().flatten());
    bytes.fold(0x811c_9dc5, |hash, byte| {
        (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
    })
}

/// The counted allocations of an execution.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    /// Where references are made whose counts matter. Outlives executions.
    pub(super) matter: HashMap<Site, Matter>,
    /// The same for an execution that is replayed, by fingerprints.
    pub(super) given: BTreeMap<u32, Matter>,
    entries: Vec<Entry>,
    /// Those that were turned into pointers, by their address.
    raw: Table<usize, Counted>,
    /// Whether somebody has looked at a count in this execution whose changes are no steps.
    looked_in_vain: bool,
}

impl Counts {
    pub(crate) fn begin(&mut self) {
        self.entries.clear();
        self.raw.clear();
        self.looked_in_vain = false;
    }

    /// Whether a thread may wait for a change of a count that is no step in this execution: nothing wakes it.
    #[inline]
    pub(super) fn may_wake_nobody(&self) -> bool {
        self.looked_in_vain
    }

    /// What is counted at one of these addresses.
    pub(super) fn inside(&self, addresses: &Range<usize>) -> Option<u32> {
        let mut entries = self.entries.iter();
        let index = entries.rposition(|entry| addresses.contains(&entry.address))?;
        u32::try_from(index).ok()
    }

    /// Where those were made that are still alive.
    pub(crate) fn leaked(&self) -> impl Iterator<Item = Place> {
        self.entries
            .iter()
            .filter(|entry| entry.alive)
            .map(|entry| entry.place)
    }
}

impl State {
    /// Something counted was made, with this many strong references. Its content is at this address.
    pub(crate) fn add_counted(&mut self, place: Place, strong: u64, address: usize) -> Counted {
        let Counts { matter, given, .. } = &self.counts;
        let matter = if matter.is_empty() && given.is_empty() {
            None
        } else {
            let known = matter.get(&site(place));
            known
                .or_else(|| given.get(&fingerprint(site(place))))
                .copied()
        };
        let count = matter.map(|matter| (self.objects.add(Kind::Count, strong), matter));
        self.counts.entries.push(Entry {
            place,
            address,
            alive: true,
            count,
        });
        Counted {
            generation: self.generation,
            index: u32::try_from(self.counts.entries.len() - 1).expect("too many references"),
        }
    }

    /// Something that the library hands from one thread to another by references that it counts itself. It is not in memory that code under test knows of, and
    /// nobody looks at the count.
    pub(crate) fn add_handed_over(&mut self, place: Place) -> Counted {
        self.counts.entries.push(Entry {
            place,
            address: 0,
            alive: false,
            count: None,
        });
        Counted {
            generation: self.generation,
            index: u32::try_from(self.counts.entries.len() - 1).expect("too many references"),
        }
    }

    fn entry(&self, counted: Counted) -> Option<&Entry> {
        let current = counted.generation == self.generation && self.phase == Phase::Running;
        current.then(|| &self.counts.entries[counted.index as usize])
    }

    /// The count of an allocation, if changing it is a step.
    pub(crate) fn count_of(&self, counted: Counted) -> Option<LocationId> {
        Some(self.entry(counted)?.count?.0)
    }

    /// The same, and whether dropping references does not commute.
    pub(crate) fn count_to_drop(&self, counted: Counted) -> Option<(LocationId, bool)> {
        let (count, matter) = self.entry(counted)?.count?;
        Some((count, matter.content_operates))
    }

    /// Somebody looks at a count. Returns the count if its changes are steps already.
    pub(crate) fn count_matters(&mut self, counted: Counted) -> Option<LocationId> {
        let entry = *self.entry(counted)?;
        if entry.count.is_none() {
            self.counts.matter.entry(site(entry.place)).or_default();
            self.counts.looked_in_vain = true;
            self.learned = true;
        }
        entry.count.map(|count| count.0)
    }

    /// An operation is made while the content of an allocation goes away.
    pub(super) fn content_operates(&mut self) {
        let current = self.current;
        for index in 0..self.thread(current).dropping.len() {
            let counted = self.thread(current).dropping[index];
            let Some(&entry) = self.entry(counted) else {
                continue;
            };
            if !entry
                .count
                .is_some_and(|(_, matter)| matter.content_operates)
            {
                let matter = self.counts.matter.entry(site(entry.place)).or_default();
                matter.content_operates = true;
                self.learned = true;
            }
        }
    }

    /// The content of an allocation begins to go away, or was taken.
    pub(crate) fn remove_counted(&mut self, counted: Counted) {
        if counted.generation == self.generation {
            self.counts.entries[counted.index as usize].alive = false;
        }
    }

    /// A reference goes away.
    pub(crate) fn drop_reference(&mut self, counted: Counted, last: bool) {
        if self.entry(counted).is_some() {
            let current = self.current;
            self.settle_memory(self.stands_at());
            self.leaves_memory(counted);
            self.clocks.drop_reference(current, counted.index, last);
            self.drop_reference_in_graph(counted.index as usize, last);
        }
    }

    /// The current thread finds that its reference is the only one.
    pub(crate) fn finds_only_reference(&mut self, counted: Counted) {
        if self.entry(counted).is_some() {
            let current = self.current;
            self.settle_memory(self.stands_at());
            self.clocks.only_reference(current, counted.index);
            self.finds_only_reference_in_graph(counted.index as usize);
        }
    }

    pub(crate) fn remember_raw(&mut self, address: usize, counted: Counted) {
        self.counts.raw.insert(address, counted);
    }

    /// The address of something counted is known only now.
    pub(crate) fn set_address(&mut self, counted: Counted, address: usize) {
        if counted.generation == self.generation {
            self.counts.entries[counted.index as usize].address = address;
        }
    }

    /// What a pointer belongs to that a reference is made of again. Mostly it was made of a reference, but there are other ways
    /// to come by it: `as_ptr`, and then forgetting the reference.
    pub(crate) fn recall_raw(&self, address: usize) -> Option<Counted> {
        let is_alive = |counted: &Counted| {
            let entry = self.counts.entries.get(counted.index as usize);
            counted.generation == self.generation && entry.is_some_and(|entry| entry.alive)
        };
        let raw = self.counts.raw.get(&address).copied();
        raw.filter(is_alive).or_else(|| {
            let is_it = |entry: &Entry| entry.alive && entry.address == address;
            let index = self.counts.entries.iter().rposition(is_it)?;
            Some(Counted {
                generation: self.generation,
                index: u32::try_from(index).ok()?,
            })
        })
    }
}
