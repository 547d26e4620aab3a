//! [`Trace`]: one execution as its happens-before relation.
//!
//! An event comes after the previous event of its thread, after the event that started or
//! woke its thread, and after the events that touched one of its locations in a conflicting
//! way. The transitive closure of that is the happens-before relation; two executions with the
//! same relation are one *class*, and every order of the events that respects it is an execution of the class.
//!
//! The accesses to one location fall into *blocks*: a block is a run of accesses that commute (all reads,
//! or all shared changes), or a single write. All of a block come after all of the block before. So the blocks
//! say everything about the order at a location, in every execution of the class.
//!
//! Everything here is a stack: an event that is pushed can be popped again, and the trace is what
//! it was. Nothing is allocated in the steady state.

use crate::execution::{LocationId, Mode, Move, Observed, ThreadId, ValuedAccess};

const NONE: u32 = u32::MAX;

/// A step that was made.
#[derive(Clone, Copy, Debug)]
pub struct Event {
    /// Who moved, and which alternative it took.
    pub step: Move,
    /// It is the thread's step with this number, from 0.
    pub number: u32,
    /// How many alternatives it had.
    pub alternatives: u32,
    /// Whether it comes after everything before it.
    pub last_resort: bool,
    /// The event that started or woke the thread since its previous event.
    cause: u32,
    /// The thread's previous event.
    previous: u32,
    /// Where its accesses begin.
    first_access: u32,
    /// Where the threads that it wakes begin, in `woken`.
    first_woken: u32,
}

impl Event {
    /// The thread that moved.
    #[must_use]
    #[inline]
    pub fn thread(&self) -> ThreadId {
        self.step.thread
    }
}

/// An access of an event, and where it stands among those to its location.
#[derive(Clone, Copy, Debug)]
struct Touch {
    access: ValuedAccess,
    event: u32,
    block: u32,
    /// The access before it in its block.
    previous_in_block: u32,
}

/// A run of accesses to one location that commute.
#[derive(Clone, Copy, Debug)]
struct Block {
    mode: Mode,
    last: u32,
    /// The block before it at its location.
    previous: u32,
}

/// What is known of a thread.
#[derive(Clone, Copy, Debug)]
struct Lane {
    last: u32,
    cause: u32,
    count: u32,
}

impl Lane {
    const EMPTY: Self = Self {
        last: NONE,
        cause: NONE,
        count: 0,
    };
}

/// What a woken thread's cause was before.
#[derive(Clone, Copy, Debug)]
struct Woken {
    thread: ThreadId,
    earlier_cause: u32,
}

/// A set of events that has, with an event, all that happens before it: how many events of each
/// thread. Threads beyond the end have none.
#[derive(Debug, Default, PartialEq, Eq, Hash)]
pub struct Cut {
    counts: Vec<u32>,
}

impl Clone for Cut {
    fn clone(&self) -> Self {
        Self {
            counts: self.counts.clone(),
        }
    }

    // Keeps its memory.
    fn clone_from(&mut self, source: &Self) {
        self.counts.clone_from(&source.counts);
    }
}

impl Cut {
    /// How many events of a thread it has.
    #[must_use]
    #[inline]
    pub fn count(&self, thread: ThreadId) -> u32 {
        self.counts.get(thread.index()).copied().unwrap_or(0)
    }

    /// Sets how many events of a thread it has.
    #[inline]
    pub fn set(&mut self, thread: ThreadId, count: u32) {
        if self.counts.len() <= thread.index() {
            self.counts.resize(thread.index() + 1, 0);
        }
        self.counts[thread.index()] = count;
    }

    /// Whether it has an event.
    #[must_use]
    #[inline]
    pub fn contains(&self, event: &Event) -> bool {
        event.number < self.count(event.thread())
    }

    /// Whether another one has all of its events.
    #[must_use]
    pub fn is_part_of(&self, other: &Self) -> bool {
        let theirs = other.counts.iter().chain(std::iter::repeat(&0));
        self.counts
            .iter()
            .zip(theirs)
            .all(|(mine, their)| mine <= their)
    }

    /// Makes it empty.
    pub fn clear(&mut self) {
        self.counts.clear();
    }

    /// Makes it have the first events of a trace, this many.
    #[inline]
    pub(crate) fn set_to_first(&mut self, trace: &Trace, count: usize) {
        self.counts.clear();
        if count <= trace.len() / 2 {
            self.counts.resize(trace.lanes.len(), 0);
            for event in &trace.events[..count] {
                self.counts[event.thread().index()] = event.number + 1;
            }
        } else {
            self.counts
                .extend(trace.lanes.iter().map(|lane| lane.count));
            for event in trace.events[count..].iter().rev() {
                self.counts[event.thread().index()] = event.number;
            }
        }
    }

    /// Adds the events of a trace that do not come after `first`, which is one whose
    /// predecessors it has.
    pub(crate) fn add_independent(&mut self, trace: &Trace, first: usize) {
        if self.counts.len() < trace.lanes.len() {
            self.counts.resize(trace.lanes.len(), 0);
        }
        let event = &trace.events[first];
        let (column, number) = (event.thread().index(), event.number);
        let later = trace.events[first + 1..].iter();
        let clocks = trace.clocks[(first + 1) * trace.width..].chunks_exact(trace.width);
        for (event, clock) in later.zip(clocks) {
            if clock[column] <= number {
                self.counts[event.thread().index()] = event.number + 1;
            }
        }
    }
}

/// The events of an execution, in the order in which they happened, with their happens-before relation.
#[derive(Clone, Debug, Default)]
pub struct Trace {
    events: Vec<Event>,
    touches: Vec<Touch>,
    blocks: Vec<Block>,
    woken: Vec<Woken>,
    /// The current block of each location.
    locations: Vec<u32>,
    lanes: Vec<Lane>,
    /// For each event, how many events of each thread happen before it or are it: `width`
    /// numbers each.
    clocks: Vec<u32>,
    width: usize,
    /// How many accesses are shared changes.
    shared: usize,
}

impl Trace {
    /// The empty trace.
    #[must_use]
    pub fn new() -> Self {
        Self {
            events: Vec::with_capacity(64),
            touches: Vec::with_capacity(64),
            blocks: Vec::with_capacity(64),
            locations: Vec::with_capacity(16),
            ..Self::default()
        }
    }

    /// How many events it has.
    #[must_use]
    #[inline]
    pub fn len(&self) -> usize {
        self.events.len()
    }

    /// Whether it has no event.
    #[must_use]
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.events.is_empty()
    }

    /// The events, in the order in which they happened.
    #[must_use]
    #[inline]
    pub fn events(&self) -> &[Event] {
        &self.events
    }

    /// The moves, in the order in which they happened.
    pub fn moves(&self) -> impl Iterator<Item = Move> {
        self.events.iter().map(|event| event.step)
    }

    /// What an event touched.
    #[inline]
    pub fn accesses(&self, event: usize) -> impl Iterator<Item = &ValuedAccess> {
        self.touches_of(event).iter().map(|touch| &touch.access)
    }

    /// Whether there is a shared change among the accesses.
    pub(crate) fn has_shared_changes(&self) -> bool {
        self.shared > 0
    }

    /// How many events a thread has made.
    #[must_use]
    #[inline]
    pub fn count(&self, thread: ThreadId) -> u32 {
        self.lane(thread).count
    }

    /// How many threads have a lane: all ids of threads that moved or were woken are below.
    #[must_use]
    #[inline]
    pub fn lanes(&self) -> usize {
        self.lanes.len()
    }

    /// The last event of a thread.
    #[must_use]
    #[inline]
    pub fn last_of(&self, thread: ThreadId) -> Option<usize> {
        known(self.lane(thread).last)
    }

    /// The event before it of the same thread.
    #[must_use]
    #[inline]
    pub fn previous_of(&self, event: usize) -> Option<usize> {
        known(self.events[event].previous)
    }

    /// The event that woke or started its thread just before.
    #[must_use]
    #[inline]
    pub fn cause_of(&self, event: usize) -> Option<usize> {
        known(self.events[event].cause)
    }

    /// The threads that an event starts or wakes.
    pub(crate) fn woken_by(&self, event: usize) -> impl Iterator<Item = ThreadId> {
        let first = self.events[event].first_woken as usize;
        let next = self.events.get(event + 1);
        let end = next.map_or(self.woken.len(), |next| next.first_woken as usize);
        self.woken[first..end].iter().map(|woken| woken.thread)
    }

    /// The event that woke or started a thread since its last event.
    #[must_use]
    #[inline]
    pub fn pending_cause(&self, thread: ThreadId) -> Option<usize> {
        known(self.lane(thread).cause)
    }

    /// How many events of each thread happen before an event or are it.
    #[must_use]
    #[inline]
    pub fn clock(&self, event: usize) -> &[u32] {
        &self.clocks[event * self.width..][..self.width]
    }

    /// Whether an event happens before another, or is it.
    #[must_use]
    #[inline]
    pub fn happens_before(&self, earlier: usize, later: usize) -> bool {
        let event = &self.events[earlier];
        self.clock(later)[event.thread().index()] > event.number
    }

    /// Adds the step that was just made.
    #[inline]
    pub fn push(&mut self, next: Move, step: &Observed) {
        let index = small(self.events.len());
        let highest = step
            .wakes
            .iter()
            .fold(next.thread, |id, &woken| id.max(woken));
        if highest.index() >= self.lanes.len() {
            self.make_room(highest);
        }
        let lane = self.lanes[next.thread.index()];
        self.events.push(Event {
            step: next,
            number: lane.count,
            alternatives: step.alternatives,
            last_resort: step.last_resort,
            cause: lane.cause,
            previous: lane.last,
            first_access: small(self.touches.len()),
            first_woken: small(self.woken.len()),
        });
        self.new_clock(lane);
        for access in &step.accesses {
            self.touch(index, *access);
        }
        if step.last_resort {
            for thread in 0..self.lanes.len() {
                self.join_clock(self.lanes[thread].last);
            }
        }
        let own = index as usize * self.width + next.thread.index();
        self.clocks[own] = lane.count + 1;
        self.lanes[next.thread.index()] = Lane {
            last: index,
            cause: NONE,
            count: lane.count + 1,
        };
        for &thread in &step.wakes {
            let lane = &mut self.lanes[thread.index()];
            self.woken.push(Woken {
                thread,
                earlier_cause: lane.cause,
            });
            lane.cause = index;
        }
    }

    /// Takes the values that an event has found and left when it was made again.
    #[inline]
    pub fn refresh(&mut self, event: usize, accesses: &[ValuedAccess]) {
        let first = self.events[event].first_access as usize;
        for (index, access) in accesses.iter().enumerate() {
            let Some(touch) = self.touches.get_mut(first + index) else {
                return;
            };
            touch.access.before = access.before;
            touch.access.after = access.after;
        }
    }

    /// Takes back all but the first events.
    pub fn truncate(&mut self, len: usize) {
        while self.events.len() > len {
            self.pop();
        }
        self.clocks.truncate(self.events.len() * self.width);
    }

    fn pop(&mut self) {
        let Some(event) = self.events.pop() else {
            return;
        };
        while self.woken.len() > event.first_woken as usize
            && let Some(woken) = self.woken.pop()
        {
            self.lanes[woken.thread.index()].cause = woken.earlier_cause;
        }
        while self.touches.len() > event.first_access as usize
            && let Some(touch) = self.touches.pop()
        {
            self.shared -= usize::from(touch.access.mode == Mode::Shared);
            let block = &mut self.blocks[touch.block as usize];
            block.last = touch.previous_in_block;
            if block.last == NONE {
                self.locations[touch.access.location.index()] = block.previous;
                self.blocks.pop();
            }
        }
        self.lanes[event.thread().index()] = Lane {
            last: event.previous,
            cause: event.cause,
            count: event.number,
        };
    }

    /// The value of a location after the events of a cut, if the location was ever touched.
    #[must_use]
    #[inline]
    pub fn value_at(&self, location: LocationId, cut: &Cut) -> Option<u64> {
        let mut block = *self.locations.get(location.index())?;
        let mut oldest = None;
        while block != NONE {
            let mut inside = None::<u64>;
            let mut added = 0u64;
            for touch in self.members(block) {
                oldest = Some(touch.access.before);
                if cut.contains(&self.events[touch.event as usize]) {
                    inside = Some(touch.access.after);
                    added = added
                        .wrapping_add(touch.access.after)
                        .wrapping_sub(touch.access.before);
                }
            }
            if let Some(after) = inside {
                return Some(match self.blocks[block as usize].mode {
                    Mode::Read | Mode::Write => after,
                    // The oldest of the block has found the value before all of it.
                    Mode::Shared => oldest.unwrap_or(0).wrapping_add(added),
                });
            }
            block = self.blocks[block as usize].previous;
        }
        oldest
    }

    /// The events that an access of this mode would come after, if it were made after the
    /// events of the cut: those of the last block there that conflicts with it.
    pub(crate) fn conflicting_at<'a>(
        &'a self,
        location: LocationId,
        mode: Mode,
        cut: &'a Cut,
    ) -> impl Iterator<Item = usize> + 'a {
        let in_cut = |touch: &&Touch| cut.contains(&self.events[touch.event as usize]);
        let mut block = self.current_block(location);
        while block != NONE
            && (!self.blocks[block as usize].mode.conflicts_with(mode)
                || !self.members(block).any(|touch| in_cut(&touch)))
        {
            block = self.blocks[block as usize].previous;
        }
        self.members(block)
            .filter(in_cut)
            .map(|touch| touch.event as usize)
    }

    /// The blocks at a location that an access which is made now would come after, the last first: those
    /// from the last conflicting one on.
    #[inline]
    pub(crate) fn blocks_before_next(&self, location: LocationId, mode: Mode) -> Blocks {
        let mut block = self.current_block(location);
        if block != NONE && !self.blocks[block as usize].mode.conflicts_with(mode) {
            block = self.blocks[block as usize].previous;
        }
        Blocks { block }
    }

    /// All blocks at a location, the last first.
    #[inline]
    pub(crate) fn blocks_at(&self, location: LocationId) -> Blocks {
        Blocks {
            block: self.current_block(location),
        }
    }

    /// The blocks that the access with this number of an event comes after.
    #[inline]
    pub(crate) fn blocks_before(&self, event: usize, access: usize) -> Blocks {
        let touch = &self.touches_of(event)[access];
        Blocks {
            block: self.blocks[touch.block as usize].previous,
        }
    }

    /// The access with this number of an event, and the blocks that it comes after.
    #[inline]
    pub(crate) fn access(&self, event: usize, number: usize) -> Option<(&ValuedAccess, Blocks)> {
        let touch = self.touches_of(event).get(number)?;
        let block = self.blocks[touch.block as usize].previous;
        Some((&touch.access, Blocks { block }))
    }

    /// How many accesses some events have made, one event after the other.
    #[inline]
    pub(crate) fn access_count(&self, events: std::ops::Range<usize>) -> usize {
        let begin = |event: usize| match self.events.get(event) {
            Some(event) => event.first_access as usize,
            None => self.touches.len(),
        };
        begin(events.end) - begin(events.start)
    }

    #[inline]
    fn lane(&self, thread: ThreadId) -> Lane {
        self.lanes
            .get(thread.index())
            .copied()
            .unwrap_or(Lane::EMPTY)
    }

    #[inline]
    fn touches_of(&self, event: usize) -> &[Touch] {
        let end = self
            .events
            .get(event + 1)
            .map_or(self.touches.len(), |next| next.first_access as usize);
        &self.touches[self.events[event].first_access as usize..end]
    }

    #[inline]
    fn current_block(&self, location: LocationId) -> u32 {
        self.locations
            .get(location.index())
            .copied()
            .unwrap_or(NONE)
    }

    /// The accesses of a block, the last first.
    #[inline]
    fn members(&self, block: u32) -> Members<'_> {
        let next = known(block).map_or(NONE, |block| self.blocks[block].last);
        Members { trace: self, next }
    }

    fn make_room(&mut self, thread: ThreadId) {
        if thread.index() >= self.lanes.len() {
            self.lanes.resize(thread.index() + 1, Lane::EMPTY);
        }
        if self.lanes.len() > self.width {
            let width = self.lanes.len().next_power_of_two();
            let mut clocks = Vec::with_capacity(self.events.len().max(64) * width);
            for event in 0..self.events.len() {
                clocks.extend_from_slice(self.clock(event));
                clocks.resize((event + 1) * width, 0);
            }
            self.clocks = clocks;
            self.width = width;
        }
    }

    /// Begins the clock of the last event with that of its thread and of what woke it.
    #[inline]
    fn new_clock(&mut self, lane: Lane) {
        let start = self.clocks.len();
        if let Some(previous) = known(lane.last) {
            let from = previous * self.width;
            self.clocks.extend_from_within(from..from + self.width);
        } else {
            self.clocks.resize(start + self.width, 0);
        }
        self.join_clock(lane.cause);
    }

    /// Joins the clock of an event into that of the last one.
    #[inline]
    fn join_clock(&mut self, event: u32) {
        let Some(event) = known(event) else {
            return;
        };
        let (earlier, last) = self
            .clocks
            .split_at_mut((self.events.len() - 1) * self.width);
        let joined = &self.events[event];
        if event + 1 == self.events.len() || last[joined.thread().index()] > joined.number {
            return;
        }
        let theirs = &earlier[event * self.width..][..last.len()];
        for (thread, mine) in last.iter_mut().enumerate() {
            *mine = (*mine).max(theirs[thread]);
        }
    }

    #[inline]
    fn touch(&mut self, event: u32, access: ValuedAccess) {
        let location = access.location.index();
        if self.locations.len() <= location {
            self.locations.resize(location + 1, NONE);
        }
        let current = self.locations[location];
        let joins = current != NONE
            && !self.blocks[current as usize]
                .mode
                .conflicts_with(access.mode);
        let block = if joins {
            current
        } else {
            self.blocks.push(Block {
                mode: access.mode,
                last: NONE,
                previous: current,
            });
            small(self.blocks.len() - 1)
        };
        self.locations[location] = block;
        let before = self.blocks[block as usize].previous;
        let mut next = known(before).map_or(NONE, |before| self.blocks[before].last);
        while let Some(touch) = known(next) {
            let Touch {
                event,
                previous_in_block,
                ..
            } = self.touches[touch];
            self.join_clock(event);
            next = previous_in_block;
        }
        self.shared += usize::from(access.mode == Mode::Shared);
        let number = small(self.touches.len());
        self.touches.push(Touch {
            access,
            event,
            block,
            previous_in_block: self.blocks[block as usize].last,
        });
        self.blocks[block as usize].last = number;
    }
}

/// The accesses of a block, the last first.
struct Members<'a> {
    trace: &'a Trace,
    next: u32,
}

impl<'a> Iterator for Members<'a> {
    type Item = &'a Touch;

    #[inline]
    fn next(&mut self) -> Option<&'a Touch> {
        let touch = &self.trace.touches[known(self.next)?];
        self.next = touch.previous_in_block;
        Some(touch)
    }
}

/// Blocks of one location of a trace, the last first.
#[derive(Clone, Copy)]
pub(crate) struct Blocks {
    block: u32,
}

impl Blocks {
    /// The mode of the accesses of the next block, and their events, the last first.
    #[inline]
    pub(crate) fn next_block<'a>(
        &mut self,
        trace: &'a Trace,
    ) -> Option<(Mode, impl Iterator<Item = usize> + use<'a>)> {
        let block = &trace.blocks[known(self.block)?];
        let members = trace.members(self.block);
        self.block = block.previous;
        Some((block.mode, members.map(|touch| touch.event as usize)))
    }
}

#[inline]
fn known(index: u32) -> Option<usize> {
    (index != NONE).then_some(index as usize)
}

#[inline]
fn small(index: usize) -> u32 {
    // An execution of four thousand million events would have run out of memory before.
    u32::try_from(index).expect("too many events")
}
