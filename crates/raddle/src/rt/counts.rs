//! References that are counted: which are alive, and whose counts matter.
//!
//! Cloning and dropping a reference is no step as long as nobody looks at the count and the
//! content goes away quietly: nobody can see it. Where somebody does, that is remembered by the place where such
//! references are made, and the exploration begins again, with steps.

use std::collections::{HashMap, HashSet};

use raddle_schedule::Location;

use super::Place;
use super::objects::Kind;
use super::state::{Phase, State};

/// Which counted allocation a reference belongs to. Means something in one execution only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Counted {
    generation: u64,
    index: u32,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    place: Place,
    alive: bool,
    /// Its strong count, if that matters.
    count: Option<Location>,
}

type Site = (&'static str, u32, u32);

fn site(place: Place) -> Site {
    (place.file(), place.line(), place.column())
}

/// The counted allocations of an execution.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    /// Where references are made whose counts matter. Outlives executions.
    matter: HashSet<Site>,
    entries: Vec<Entry>,
    /// Those that were turned into pointers, by their address.
    raw: HashMap<usize, Counted>,
}

impl Counts {
    pub(crate) fn begin(&mut self) {
        self.entries.clear();
        self.raw.clear();
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
    /// Something counted was made, with one reference.
    pub(crate) fn add_counted(&mut self, place: Place) -> Counted {
        let matters = !self.counts.matter.is_empty() && self.counts.matter.contains(&site(place));
        let count = matters.then(|| self.objects.add(Kind::Count, 1));
        self.counts.entries.push(Entry {
            place,
            alive: true,
            count,
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
    pub(crate) fn count_of(&self, counted: Counted) -> Option<Location> {
        self.entry(counted)?.count
    }

    /// Somebody looks at a count, or would see when the content goes away. Returns the count if its
    /// changes are steps already.
    pub(crate) fn count_matters(&mut self, counted: Counted) -> Option<Location> {
        let entry = *self.entry(counted)?;
        if entry.count.is_none() {
            self.counts.matter.insert(site(entry.place));
            self.learned = true;
        }
        entry.count
    }

    /// The last reference goes away, or the content is taken.
    pub(crate) fn remove_counted(&mut self, counted: Counted) {
        if counted.generation == self.generation {
            self.counts.entries[counted.index as usize].alive = false;
        }
    }

    /// A reference goes away.
    pub(crate) fn drop_reference(&mut self, counted: Counted, last: bool) {
        if self.entry(counted).is_some() {
            let current = self.current;
            self.clocks.drop_reference(current, counted.index, last);
        }
    }

    pub(crate) fn remember_raw(&mut self, address: usize, counted: Counted) {
        self.counts.raw.insert(address, counted);
    }

    pub(crate) fn recall_raw(&self, address: usize) -> Option<Counted> {
        self.counts.raw.get(&address).copied()
    }
}
