//! [`Graph`]: an execution as a graph.
//!
//! The nodes are [`Event`]s. The edges are program order (`po`), from each read to the write that it reads from (`rf`), the modification order (`mo`)
//! of each location, and what follows from them. A graph under construction is always
//!
//! - **acyclic** in `porf = (po ∪ rf)⁺`, where the start of a thread precedes its events, and its events precede a join;
//! - **closed** under `porf`: what an event reads from is there.
//!
//! So a new event has no `porf`-successors, and everything that comes before it in `porf`, and so in happens-before (`hb ⊆ porf`), is fixed as long
//! as the event reads from the same write. Each event therefore keeps its clocks (`clocks.rs`); only those of an event that is made to read from
//! another write are computed anew.
//!
//! Events have *stamps*: the times at which they were added. A graph is cut back to a time by removing what is younger.

mod build;
mod clocks;
mod event;

pub use event::{Event, EventId, Kind};

use raddle_schedule::ThreadId;

use crate::operation::Location;
pub(crate) use clocks::Row;

#[derive(Clone, Debug, Default)]
struct Thread {
    events: Vec<Event>,
    /// The clocks of the events, one after the other.
    clocks: Vec<u32>,
    /// The event that has started it; `None` for a thread that is there from the beginning.
    spawned_by: Option<EventId>,
}

/// What is known of a location.
#[derive(Clone, Debug, Default)]
struct Accesses {
    initial: u64,
    /// Its writes and updates in modification order, without the initial value.
    writes: Vec<EventId>,
    /// Its reads and updates, the youngest last.
    reads: Vec<EventId>,
}

/// An execution graph.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    threads: Vec<Thread>,
    locations: Vec<Accesses>,
    /// All events, the youngest last.
    by_age: Vec<EventId>,
    /// The joins, the youngest last.
    joins: Vec<EventId>,
    /// How many entries a clock has: at least one for each thread.
    width: usize,
    /// The time of the last event.
    now: u32,
    /// How many events of each thread are settled: they belong to the prefix of a write that has revisited something. It may be shorter than `threads`.
    settled: Vec<u32>,
    /// The run of the program that the values are from.
    pub(crate) run: u64,
}

/// The place of the initial value in modification order. Writes are counted from 1.
pub(crate) const INITIAL: u32 = 0;

impl Graph {
    /// How many events it has.
    #[must_use]
    pub fn len(&self) -> usize {
        self.by_age.len()
    }

    /// Whether it has no events.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.by_age.is_empty()
    }

    /// The number of threads that have events or were started, or more.
    #[must_use]
    pub fn thread_count(&self) -> usize {
        self.threads.len()
    }

    /// The events of a thread in program order.
    #[must_use]
    pub fn thread(&self, thread: ThreadId) -> &[Event] {
        self.threads
            .get(thread.index())
            .map_or(&[], |thread| &thread.events)
    }

    /// The event that has started a thread.
    #[must_use]
    pub fn spawned_by(&self, thread: ThreadId) -> Option<EventId> {
        self.threads.get(thread.index())?.spawned_by
    }

    /// An event.
    #[must_use]
    #[inline]
    pub fn event(&self, id: EventId) -> &Event {
        &self.threads[id.thread.index()].events[id.index as usize]
    }

    #[inline]
    pub(crate) fn event_mut(&mut self, id: EventId) -> &mut Event {
        &mut self.threads[id.thread.index()].events[id.index as usize]
    }

    /// All events, in the order in which they were added.
    #[must_use]
    pub fn events(&self) -> &[EventId] {
        &self.by_age
    }

    /// The number of locations that have events, or more.
    #[must_use]
    pub fn location_count(&self) -> usize {
        self.locations.len()
    }

    /// The writes and updates of a location in modification order, without the initial value.
    #[must_use]
    #[inline]
    pub fn writes(&self, location: Location) -> &[EventId] {
        self.locations
            .get(location.index())
            .map_or(&[], |accesses| &accesses.writes)
    }

    /// The reads and updates of a location.
    #[must_use]
    #[inline]
    pub fn reads(&self, location: Location) -> &[EventId] {
        self.locations
            .get(location.index())
            .map_or(&[], |accesses| &accesses.reads)
    }

    pub(crate) fn joins(&self) -> &[EventId] {
        &self.joins
    }

    /// The value before all writes, if the location has events.
    pub(crate) fn initial(&self, location: Location) -> u64 {
        self.locations[location.index()].initial
    }

    pub(crate) fn set_initial(&mut self, location: Location, initial: u64) {
        if self.locations.len() <= location.index() {
            self.locations
                .resize_with(location.index() + 1, Accesses::default);
        }
        self.locations[location.index()].initial = initial;
    }

    /// A location that no event is on.
    pub(crate) fn fresh_location(&self) -> Location {
        let is_free = |accesses: &Accesses| accesses.writes.is_empty() && accesses.reads.is_empty();
        let free = self.locations.iter().position(is_free);
        Location(free.unwrap_or(self.locations.len()) as u32)
    }

    /// The write at a place of modification order, `None` for the initial value.
    #[inline]
    pub(crate) fn write_at(&self, location: Location, place: u32) -> Option<EventId> {
        match place {
            INITIAL => None,
            _ => Some(self.writes(location)[place as usize - 1]),
        }
    }

    /// The place of the last write.
    #[inline]
    pub(crate) fn last_place(&self, location: Location) -> u32 {
        self.writes(location).len() as u32
    }

    /// The place of a write.
    #[inline]
    pub(crate) fn place(&self, write: Option<EventId>) -> u32 {
        write.map_or(INITIAL, |write| self.event(write).place)
    }

    /// What a write has written.
    #[must_use]
    #[inline]
    pub fn value(&self, location: Location, write: Option<EventId>) -> u64 {
        match write {
            None => self.initial(location),
            Some(write) => self.event(write).written,
        }
    }

    /// The last value of a location, if events are on it.
    #[must_use]
    pub fn last_value(&self, location: Location) -> Option<u64> {
        let accesses = self.locations.get(location.index())?;
        match accesses.writes.last() {
            Some(&last) => Some(self.event(last).written),
            None if accesses.reads.is_empty() => None,
            None => Some(accesses.initial),
        }
    }

    pub(crate) fn now(&self) -> u32 {
        self.now
    }

    pub(crate) fn is_settled(&self, id: EventId) -> bool {
        let count = self.settled.get(id.thread.index());
        count.is_some_and(|&count| id.index < count)
    }

    /// Makes room for a thread.
    fn ensure_thread(&mut self, thread: ThreadId) {
        if self.threads.len() <= thread.index() {
            self.threads
                .resize_with(thread.index() + 1, Thread::default);
        }
        if self.width < self.threads.len() {
            self.widen(self.threads.len());
        }
    }

    /// Adds an event at the end of a thread. A write gets no place yet.
    pub(crate) fn push(&mut self, thread: ThreadId, mut event: Event) -> EventId {
        self.ensure_thread(thread);
        let id = EventId::new(thread, self.threads[thread.index()].events.len());
        self.now += 1;
        event.stamp = self.now;
        if event.kind == Kind::Spawn {
            let child = event.operation.child();
            self.ensure_thread(child);
            self.threads[child.index()].spawned_by = Some(id);
        }
        if event.kind == Kind::Join {
            self.joins.push(id);
        }
        if let (true, Some(location)) = (event.kind.reads(), event.location) {
            self.locations[location.index()].reads.push(id);
        }
        self.by_age.push(id);
        self.threads[thread.index()].events.push(event);
        self.compute_clocks(id);
        id
    }

    /// Lets a read read from a write.
    pub(crate) fn read_from(&mut self, read: EventId, from: Option<EventId>) {
        let location = self.event(read).location.expect("a read has a location");
        let value = self.value(location, from);
        let event = self.event_mut(read);
        (event.from, event.read) = (from, value);
        self.compute_clocks(read);
    }

    /// Puts a write at a place of modification order.
    pub(crate) fn insert(&mut self, write: EventId, place: u32) {
        let location = self.event(write).location.expect("a write has a location");
        debug_assert_eq!(self.event(write).place, 0);
        let writes = &mut self.locations[location.index()].writes;
        writes.insert(place as usize - 1, write);
        self.number(location, place);
    }

    /// Takes an event out of modification order, if it is there.
    pub(crate) fn withdraw(&mut self, write: EventId) {
        let event = self.event_mut(write);
        let place = std::mem::take(&mut event.place);
        if let (1.., Some(location)) = (place, event.location) {
            let writes = &mut self.locations[location.index()].writes;
            writes.remove(place as usize - 1);
            self.number(location, place);
        }
    }

    /// Numbers the writes of a location from a place on.
    fn number(&mut self, location: Location, from: u32) {
        let writes = &self.locations[location.index()].writes;
        for (index, write) in writes.iter().enumerate().skip(from as usize - 1) {
            let thread = &mut self.threads[write.thread.index()];
            thread.events[write.index as usize].place = index as u32 + 1;
        }
    }

    /// Removes all events that are younger.
    pub(crate) fn cut(&mut self, time: u32) {
        while let Some(&id) = self.by_age.last() {
            if self.event(id).stamp <= time {
                break;
            }
            self.by_age.pop();
            self.forget(id);
        }
        self.now = time;
    }

    /// Removes the last event of a thread, which need not be the youngest one.
    pub(crate) fn remove(&mut self, id: EventId) {
        self.by_age.retain(|&other| other != id);
        self.forget(id);
    }

    fn forget(&mut self, id: EventId) {
        self.withdraw(id);
        let thread = &mut self.threads[id.thread.index()];
        let event = thread.events.pop().expect("the event");
        debug_assert_eq!(thread.events.len(), id.index as usize);
        self.drop_clocks(id);
        match (event.kind, event.location) {
            (Kind::Spawn, _) => {
                self.threads[event.operation.child().index()].spawned_by = None;
            }
            (Kind::Join, _) => self.joins.retain(|&other| other != id),
            (kind, Some(location)) if kind.reads() => {
                // It is the last one, but for removals of events that are not the youngest.
                let reads = &mut self.locations[location.index()].reads;
                let at = reads.iter().rposition(|&other| other == id);
                reads.remove(at.expect("a read"));
            }
            _ => {}
        }
    }

    /// How many events of each thread are to be kept in a revisit of `read` by `write`: all but those that are younger than `read` and not in the
    /// prefix of `write`. Of each thread the first ones are kept, because stamps ascend in program order.
    pub(crate) fn kept_by_revisit(&self, read: EventId, write: EventId) -> Vec<usize> {
        let prefix = self.clock(write, Row::Porf);
        let stamp = self.event(read).stamp;
        let kept = |(thread, &prefix): (&Thread, &u32)| {
            let older = thread.events.partition_point(|event| event.stamp <= stamp);
            older.max(prefix as usize)
        };
        self.threads.iter().zip(prefix).map(kept).collect()
    }

    /// The graph with only the first events of each thread. What they read from must be among them.
    pub(crate) fn restricted(&self, kept: &[usize]) -> Self {
        let is_kept = |id: &EventId| (id.index as usize) < kept[id.thread.index()];
        let filter = |ids: &[EventId]| ids.iter().copied().filter(is_kept).collect();
        let threads = self.threads.iter().zip(kept).map(|(thread, &kept)| Thread {
            events: thread.events[..kept].to_vec(),
            clocks: thread.clocks[..kept * Row::COUNT * self.width].to_vec(),
            spawned_by: thread.spawned_by.filter(is_kept),
        });
        let locations = self.locations.iter().map(|accesses| Accesses {
            initial: accesses.initial,
            writes: filter(&accesses.writes),
            reads: filter(&accesses.reads),
        });
        let mut graph = Self {
            threads: threads.collect(),
            locations: locations.collect(),
            by_age: filter(&self.by_age),
            joins: filter(&self.joins),
            width: self.width,
            now: self.now,
            settled: self.settled.clone(),
            run: self.run,
        };
        for location in 0..graph.locations.len() {
            graph.number(Location(location as u32), 1);
        }
        graph
    }

    /// The prefix of a write that has revisited something is settled.
    pub(crate) fn settle_prefix(&mut self, write: EventId) {
        let prefix = self.clock(write, Row::Porf).to_vec();
        self.settled.resize(prefix.len(), 0);
        for (settled, prefix) in self.settled.iter_mut().zip(prefix) {
            *settled = prefix.max(*settled);
        }
    }

    /// The graph as words, without what the exploration adds to it: equal for equal graphs of one program whose locations have fixed names.
    #[must_use]
    pub fn key(&self) -> Vec<u32> {
        let name = |id: EventId| [id.thread.0, id.index];
        let mut key = Vec::with_capacity(4 * self.len() + 8);
        let threads = self.threads.iter().enumerate();
        for (index, thread) in threads.filter(|(_, thread)| !thread.events.is_empty()) {
            key.extend([u32::MAX, index as u32]);
            for event in &thread.events {
                key.push(event.kind as u32);
                if event.kind == Kind::Choice {
                    key.push(event.read as u32);
                }
                if event.kind.reads() {
                    key.extend(event.from.map_or([u32::MAX; 2], name));
                }
            }
        }
        let locations = self.locations.iter().enumerate();
        for (index, accesses) in locations.filter(|(_, accesses)| !accesses.writes.is_empty()) {
            key.extend([u32::MAX, index as u32]);
            key.extend(accesses.writes.iter().copied().flat_map(name));
        }
        key
    }
}
