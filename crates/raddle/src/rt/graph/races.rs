//! Data races on cells, by happens-before of the graph.
//!
//! A cell is no location of the graph. An access that a thread makes after some of its events happens before whatever its next event happens before;
//! see [`raddle_memory::races`]. Two things come in addition to what the graph knows:
//!
//! - **References that are not counted by steps.** Whoever drops the last one has what they refer to alone. That no event says so changes no
//!   behaviour: what goes away with the last reference makes no operations, otherwise the count matters, and its changes are events.
//! - **Accesses that go on.** One that lasts until the thread's last operation is compared as it was before that operation.

use raddle_memory::races::{Access, Cells};
use raddle_schedule::{LocationId, ThreadId};

use crate::rt::Place;
use crate::rt::clocks::{Kind, Touch};

/// For each thread, how many of its events are known.
type Clock = Vec<u32>;

fn join(clock: &mut Clock, other: &[u32]) {
    if clock.len() < other.len() {
        clock.resize(other.len(), 0);
    }
    for (entry, other) in clock.iter_mut().zip(other) {
        *entry = (*entry).max(*other);
    }
}

/// What a thread knows.
#[derive(Clone, Debug, Default)]
struct Known {
    /// How many events it has made.
    events: u32,
    now: Clock,
    /// The same before its last event.
    before: Clock,
    /// From references that others have dropped.
    from_references: Clock,
}

/// The accesses of an execution to cells.
#[derive(Debug, Default)]
pub(super) struct Races {
    cells: Cells,
    count: usize,
    threads: Vec<Known>,
    /// What those knew who have dropped a reference, by what it refers to.
    references: Vec<Clock>,
    /// The accesses by their cells.
    touches: Vec<(usize, Access, Touch)>,
    /// Plain loads of atomics. A plain load is no atomic access, so nothing orders it with stores.
    plain_loads: Vec<(LocationId, Access, Touch)>,
}

impl Races {
    pub(super) fn begin(&mut self) {
        self.cells.clear();
        self.count = 0;
        self.threads.clear();
        self.references.clear();
        self.touches.clear();
        self.plain_loads.clear();
    }

    fn thread(&mut self, thread: ThreadId) -> &mut Known {
        if self.threads.len() <= thread.index() {
            self.threads.resize_with(thread.index() + 1, Known::default);
        }
        &mut self.threads[thread.index()]
    }

    /// A thread makes an event, after which it has this clock.
    pub(super) fn event(&mut self, thread: ThreadId, clock: &[u32]) {
        let known = self.thread(thread);
        known.events += 1;
        std::mem::swap(&mut known.now, &mut known.before);
        known.now.clear();
        known.now.extend_from_slice(clock);
        let more = std::mem::take(&mut known.from_references);
        join(&mut known.now, &more);
        known.from_references = more;
    }

    /// A thread is started by the last event of another one.
    pub(super) fn start(&mut self, child: ThreadId, parent: ThreadId) {
        let now = self.thread(parent).now.clone();
        let child = self.thread(child);
        (child.from_references, child.now) = (now.clone(), now);
    }

    pub(super) fn add_cell(&mut self) -> u32 {
        self.count += 1;
        (self.count - 1) as u32
    }

    /// A cell is accessed. Returns the earlier access that this races with.
    pub(super) fn touch(
        &mut self,
        cell: u32,
        thread: ThreadId,
        kind: Kind,
        when: (Place, usize),
    ) -> Option<Touch> {
        let cell = cell as usize;
        let Known {
            events,
            now,
            before,
            ..
        } = self.thread(thread).clone();
        let has_ended = kind.has_ended && events > 0;
        let access = Access {
            thread,
            events: events - u32::from(has_ended),
            writes: kind.writes,
        };
        let clock = if has_ended { &before } else { &now };
        let race = self.cells.access(cell, access, clock);
        let earlier = race.and_then(|race| {
            let mut touches = self.touches.iter().rev();
            let found = touches.find(|(at, one, _)| (*at, *one) == (cell, race.one));
            found.map(|found| found.2)
        });
        let was_over = Kind { has_ended, ..kind };
        self.touches
            .push((cell, access, Touch::new(thread, when, was_over)));
        earlier
    }

    /// All accesses.
    pub(super) fn touches(&self) -> impl Iterator<Item = &Touch> {
        let cells = self.touches.iter().map(|access| &access.2);
        cells.chain(self.plain_loads.iter().map(|load| &load.2))
    }

    /// Whether an event happens before what a thread does now.
    pub(super) fn is_known(&self, thread: ThreadId, of: ThreadId, index: u32) -> bool {
        let known = self.threads.get(thread.index());
        let known = known.and_then(|known| known.now.get(of.index()).copied());
        thread == of || known.unwrap_or(0) > index
    }

    /// An atomic is read by a plain load.
    pub(super) fn plain_load(&mut self, at: LocationId, thread: ThreadId, when: (Place, usize)) {
        let access = Access {
            thread,
            events: self.thread(thread).events,
            writes: false,
        };
        let kind = Kind {
            writes: false,
            has_ended: false,
        };
        self.plain_loads
            .push((at, access, Touch::new(thread, when, kind)));
    }

    /// A thread has written an atomic with its last event. Returns a plain load that races with that.
    pub(super) fn races_with_plain_load(&self, at: LocationId, thread: ThreadId) -> Option<Touch> {
        let mut loads = self.plain_loads.iter();
        let found = loads.find(|(location, load, _)| {
            *location == at && !self.is_known(thread, load.thread, load.events)
        });
        found.map(|found| found.2)
    }

    /// A reference goes away whose count is no location.
    pub(super) fn drop_reference(&mut self, thread: ThreadId, counted: usize, last: bool) {
        if self.references.len() <= counted {
            self.references.resize_with(counted + 1, Clock::default);
        }
        // What the thread has done since its last event is known too.
        let known = self.thread(thread);
        let mut mine = known.now.clone();
        let events = known.events + 1;
        if mine.len() <= thread.index() {
            mine.resize(thread.index() + 1, 0);
        }
        mine[thread.index()] = events;
        join(&mut self.references[counted], &mine);
        if last {
            self.only_reference(thread, counted);
        }
    }

    /// A thread finds that its reference is the only one.
    pub(super) fn only_reference(&mut self, thread: ThreadId, counted: usize) {
        let Some(gone) = self.references.get(counted).cloned() else {
            return;
        };
        let known = self.thread(thread);
        join(&mut known.from_references, &gone);
        join(&mut known.now, &gone);
    }
}
