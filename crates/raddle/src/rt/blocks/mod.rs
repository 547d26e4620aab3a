//! Blocks of memory, and whether the operations on what is in them come after their allocation and before their end.
//!
//! The [allocator](crate::Allocator) writes down what threads allocate and free. That are no steps: nobody else notices it. Whether it was right is decided by
//! happens-before, as for [cells](crate::cell): by the clocks of `rt/clocks.rs` in executions that are schedules, by those of the graph in executions that are
//! graphs. Both know for each thread how much of it happens before what another thread does now ([`State::comes_after`]).
//!
//! # What is an error
//!
//! A *use* is an operation on an object of this crate, an access to a cell, or making an `Arc` of a pointer. It happens at the address of the object.
//!
//! 1. **Use after free.** A use comes after the end of its block in this execution. Or the end of a block comes after a use by another thread that does not happen before it.
//! 2. **Double free.** A block is freed that is in quarantine.
//! 3. **Unsynchronised publication.** A thread uses a block that another one has allocated, and the allocation does not happen before the use.
//!
//! # Why there are no false alarms
//!
//! **Claim 1.** *If the clocks miss no synchronisation, an error is one of the program.* Allocating initialises memory and freeing ends it; both are accesses that are not atomic. A use of which neither happens before the
//! other races with it, which is undefined behaviour. If a use comes after the end in an execution, it does not happen before it, because
//! the order of an execution extends happens-before; so it races, or happens after the end, which is an error too.
//!
//! What the clocks know has to include all that orders a free, as there are more frees than accesses to cells:
//!
//! - *References that are counted by `raddle::sync::Arc`* need not be counted by steps. Who drops the last strong one knows what was done with the others (`rt/clocks.rs`).
//!   Whoever drops the last weak one frees the block, and knows in addition what those knew who have dropped theirs ([`Blocks::gone`]). This is not told to the clocks: nothing
//!   but the free relies on it.
//! - *Other counted references* (`std::sync::Arc`, which programs may use, and `std::rc::Rc` in what is sent to other threads) are counted by operations that Raddle does not see. The blocks of both begin with two counts that are 0
//!   when they are freed. A block that looks so is not blamed for uses that are not ordered with its end, unless this crate has counted its references; if there are such uses, the check rests on the assumption
//!   [`Kind::UnseenCounts`].
//! - *Other synchronisation that Raddle does not see* (a lock of `std`) is not allowed where it matters, here as everywhere.
//! - *What the library hands over itself* (what a thread returns, messages that nobody receives) is counted by `std` too, and who drops it comes after what was done with it: the
//!   library tells that to the clocks ([`State::add_handed_over`], [`State::finds_messages`]).
//! - *Objects of the library itself* (channels, wakers, what threads return) are in blocks whose references are counted by `std`. They have no address here. Copies of
//!   statics are made while the state is borrowed, so they are in no known block.
//! - *Blocks of other executions, of other checks at the same time, or from outside* are not known until they are freed here. Where blocks overlap, the one that was
//!   allocated last counts: those before were freed somewhere else.
//!
//! # What is found
//!
//! **Claim 2.** *If two executions of a program differ only in the order of a free and a use that are not ordered by happens-before, each of them shows the error.* In the one that makes the use first, the clocks do not have it
//! before the free; in the other one, it comes after the end. So no execution is added: whether there is an error is the same for all schedules of a class.
//!
//! What is not found: what is done with memory that is no object of this crate (a field that is read through a pointer; put it into a [cell](crate::cell)); uses of blocks whose alignment is less than that of all objects;
//! uses of blocks that found no room in quarantine (the assumption [`Kind::ReusedMemory`]); what happens while statics are dropped; frees by threads that do not belong to the check.
//!
//! # When
//!
//! The allocator only writes down. A thread's events are [settled](State::settle_memory) at the next point at which its knowledge may grow or become known: at its
//! next operation or access to a cell, at a fence, and when it drops a reference. Until then, its clock is what it was when it allocated or freed.

mod failures;
mod log;

use raddle_outcome::Kind;
use raddle_schedule::{LocationId, ThreadId, ValuedAccess};

use super::Place;
use super::counts::Counted;
use super::failure::Failure;
use super::hash::Table;
use super::kept::{Kept, Renew};
use super::objects::{Id, Kind as ObjectKind, Known};
use super::operation::Operation;
use super::quarantine::{Event, What};
use super::state::{Phase, State};
use super::system::List;
use log::Log;

/// No object is in a block that is aligned to less.
pub(super) const LEAST_ALIGNMENT: usize = align_of::<Id>();

/// Something that a thread has done between two of its operations, or as one.
#[derive(Clone, Copy, Debug)]
struct Moment {
    thread: ThreadId,
    /// How much of the thread somebody has to know to know that.
    time: u32,
    place: Place,
}

/// How a block is used.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Use {
    Operation(Operation),
    Cell {
        writes: bool,
    },
    /// An `Arc` is made of a pointer to it.
    Reference,
    /// An operation on an object of which nothing is left that could be used.
    Remains(ObjectKind),
}

/// A block in which there is an object.
#[derive(Debug, Default)]
struct Block {
    start: usize,
    end: usize,
    /// The last event that is known of it.
    event: usize,
    /// None if it was allocated elsewhere.
    allocated: Option<Moment>,
    freed: Option<Moment>,
    /// The last use by each thread. Those before it happen before it.
    uses: Vec<(Moment, Use)>,
    /// The threads that are known to use it after its allocation.
    reached: Vec<ThreadId>,
}

impl Renew for Block {
    fn renew(&mut self) {
        self.allocated = None;
        self.freed = None;
        self.uses.clear();
        self.reached.clear();
    }
}

/// Where the object of a location is.
#[derive(Clone, Copy, Debug, Default)]
struct Position {
    address: usize,
    /// The number of its block, if that is known.
    block: Option<u32>,
}

/// The blocks of an execution.
#[derive(Debug, Default)]
pub(crate) struct Blocks {
    /// Whether they are looked after.
    is_watched: bool,
    log: Log,
    /// Those in which there are objects.
    used: Kept<Block>,
    /// The last of these that begins at an address.
    by_start: Table<usize, u32>,
    /// By location, and by cell.
    positions: Vec<Position>,
    cells: Vec<Position>,
    /// What those knew who have dropped a reference: for each thread, up to which time. By what they referred to.
    gone: Table<u32, Vec<u32>>,
    /// Where things are whose references are also counted by `std`.
    shared: Vec<usize>,
    /// What the current thread is about to do.
    next: Option<Place>,
    /// What was found wrong since the last operation.
    failure: Option<Failure>,
}

impl Blocks {
    pub(super) fn begin(&mut self, is_watched: bool) {
        self.is_watched = is_watched;
        self.log.clear();
        self.used.clear();
        self.by_start.clear();
        self.positions.clear();
        self.cells.clear();
        self.gone.clear();
        self.shared.clear();
        self.next = None;
        self.failure = None;
    }

    /// The block that an address is in.
    fn find(&mut self, events: &List<Event>, address: usize) -> Option<u32> {
        let (number, Event { start, size, what }) = self.log.find(events, address)?;
        if let Some(&block) = self.by_start.get(&start)
            && self
                .used
                .get(block as usize)
                .is_some_and(|block| block.event == number)
        {
            return Some(block);
        }
        let moment = self.log.moment(number, what);
        let (allocated, freed) = match what {
            What::Allocated => (moment, None),
            What::Freed { .. } | What::FreedTwice => (self.log.allocation(events, number), moment),
        };
        let added = u32::try_from(self.used.len()).expect("too many blocks");
        let block = self.used.at(added as usize);
        (block.start, block.end, block.event) = (start, start + size, number);
        (block.allocated, block.freed) = (allocated, freed);
        self.by_start.insert(start, added);
        Some(added)
    }

    /// The block that an object is in which is known by a number.
    fn find_for(&mut self, events: &List<Event>, which: Which, address: usize) -> Option<u32> {
        let (positions, number) = match which {
            Which::Location(location) => (&mut self.positions, location.index()),
            Which::Cell(number) => (&mut self.cells, number as usize),
        };
        if positions.len() <= number {
            positions.resize(number + 1, Position::default());
        }
        let known = positions[number];
        if known.address == address {
            return known.block;
        }
        let block = self.find(events, address);
        let positions = match which {
            Which::Location(_) => &mut self.positions,
            Which::Cell(_) => &mut self.cells,
        };
        positions[number] = Position { address, block };
        block
    }
}

/// What an object is known by.
#[derive(Clone, Copy, Debug)]
enum Which {
    Location(LocationId),
    Cell(u32),
}

impl State {
    /// Whether memory is looked after in what happens now. What a scout does is not what an execution does, and what it frees goes back at once. What is made again by a script has no
    /// clocks.
    #[inline]
    fn watches_memory(&self) -> bool {
        self.blocks.is_watched && self.phase == Phase::Running && self.knows_order()
    }

    /// What the current thread does now, between two operations.
    fn moment(&mut self, place: Place) -> Moment {
        let thread = self.current;
        let time = match &mut self.graph {
            Some(graph) => graph.knows(thread).0 + 1,
            None => self.clocks.time_of(thread),
        };
        Moment {
            thread,
            time,
            place,
        }
    }

    /// Whether what the current thread does now comes after this.
    fn comes_after(&mut self, earlier: &Moment) -> bool {
        let known = match &mut self.graph {
            Some(graph) => graph.knows(self.current).1,
            None => self.clocks.known_by(self.current),
        };
        let known = known.get(earlier.thread.index()).copied();
        earlier.thread == self.current || known.unwrap_or(0) >= earlier.time
    }

    /// An object is named by an operation that the current thread is about to announce.
    #[inline]
    pub(super) fn is_at(&mut self, location: LocationId, kind: ObjectKind, address: usize) {
        let is_owned = matches!(kind, ObjectKind::Waker | ObjectKind::Channel);
        if !self.blocks.is_watched || is_owned {
            return;
        }
        let events = &self.quarantine.events;
        let which = Which::Location(location);
        self.blocks.find_for(events, which, address);
    }

    /// An object is used that belongs to another execution, as far as what is there tells. If its memory was freed, that means nothing.
    pub(super) fn finds_remains(&mut self, kind: ObjectKind, address: usize) {
        let place = self.blocks.next.unwrap_or(self.origin);
        let events = &self.quarantine.events;
        if let Some(block) = self.blocks.find(events, address)
            && self.blocks.used.at(block as usize).freed.is_some()
            && self.blocks.failure.is_none()
        {
            let moment = self.moment(place);
            self.blocks.failure = self.uses_block(block, moment, Use::Remains(kind));
        }
    }

    /// The current thread is about to announce an operation on what it has just named, or ends. Returns what is wrong with what it has allocated and freed.
    #[inline]
    pub(crate) fn memory_failure(&mut self) -> Option<Failure> {
        self.blocks.failure.take()
    }

    /// Looks at what the current thread has allocated and freed since the last call. `next` is what it does next.
    #[inline]
    pub(crate) fn settle_memory(&mut self, next: Place) {
        self.blocks.next = Some(next);
        if self.quarantine.events.len() > self.blocks.log.known() {
            self.settle_events(next);
        }
    }

    fn settle_events(&mut self, next: Place) {
        let last = self.stands_at();
        let (allocated, freed) = (self.moment(next), self.moment(last));
        let events = self.blocks.log.known()..self.quarantine.events.len();
        self.blocks.log.know(events.end, allocated, freed);
        if !self.watches_memory() {
            return;
        }
        for number in events {
            let Some(Event { start, what, .. }) = self.quarantine.events.get(number) else {
                return;
            };
            match what {
                What::Allocated => {
                    // What was there before was freed somewhere else.
                    self.blocks.by_start.remove(&start);
                }
                What::Freed { looks_counted } => {
                    if let Some(&block) = self.blocks.by_start.get(&start) {
                        self.free(block, number, freed, looks_counted);
                    }
                }
                What::FreedTwice => {
                    let failure = self.double_free(start, &freed);
                    self.blocks.failure.get_or_insert(failure);
                }
            }
        }
    }

    /// The current thread has freed a block.
    fn free(&mut self, number: u32, event: usize, freed: Moment, looks_counted: bool) {
        let block = self.blocks.used.at(number as usize);
        if block.freed.is_some() {
            // Another one is there now, in which there is nothing.
            return;
        }
        (block.freed, block.event) = (Some(freed), event);
        let uses = std::mem::take(&mut block.uses);
        let racing = uses.iter().find(|(used, _)| !self.comes_after(used));
        if let Some(&(used, how)) = racing {
            let is_ordered = match looks_counted {
                true => self.is_counted_down(number, &uses, freed.place),
                false => false,
            };
            if !is_ordered {
                let failure = self.freed_too_early(number, &used, how);
                self.blocks.failure.get_or_insert(failure);
            }
        }
        self.blocks.used.at(number as usize).uses = uses;
    }

    /// Whether the references to a block that is freed have been counted so that its uses come before its end. If somebody else has counted them, that is assumed.
    fn is_counted_down(&mut self, number: u32, uses: &[(Moment, Use)], place: Place) -> bool {
        let block = self.blocks.used.at(number as usize);
        let inside = block.start..block.end;
        let is_shared = self.blocks.shared.iter().any(|at| inside.contains(at));
        let Some(counted) = self.counts.inside(&inside).filter(|_| !is_shared) else {
            self.assume(Kind::UnseenCounts.at(place));
            return true;
        };
        let is_ordered = |used: &Moment| {
            let gone = self.blocks.gone.get(&counted);
            let known = gone.and_then(|gone| gone.get(used.thread.index()));
            known.is_some_and(|&known| known >= used.time)
        };
        let unordered: Vec<_> = uses.iter().filter(|(used, _)| !is_ordered(used)).collect();
        unordered.iter().all(|(used, _)| self.comes_after(used))
    }

    /// The current thread gives up a reference, strong or weak, and with it what it knows of what is referred to.
    pub(crate) fn leaves_memory(&mut self, counted: Counted) {
        if !self.watches_memory() || !counted.is_of(self.generation) {
            return;
        }
        let place = self.origin;
        let now = self.moment(place);
        let known = match &mut self.graph {
            Some(graph) => graph.knows(now.thread).1,
            None => self.clocks.known_by(now.thread),
        };
        let gone = self.blocks.gone.entry(counted.index()).or_default();
        let length = known.len().max(now.thread.index() + 1).max(gone.len());
        gone.resize(length, 0);
        for (entry, &known) in gone.iter_mut().zip(known) {
            *entry = known.max(*entry);
        }
        let own = &mut gone[now.thread.index()];
        *own = now.time.max(*own);
    }

    /// What is at this address has references that `std` counts too.
    pub(crate) fn is_shared_with_std(&mut self, address: usize) {
        if self.watches_memory() {
            self.blocks.shared.push(address);
        }
    }

    /// The current thread makes a step. Returns what is wrong with that. Its clock has to be that of the step.
    #[inline]
    pub(super) fn uses_memory(
        &mut self,
        operation: &Operation,
        place: Place,
        accesses: &[ValuedAccess],
    ) -> Option<Failure> {
        if !self.blocks.is_watched {
            return None;
        }
        for access in accesses {
            let position = self.blocks.positions.get(access.location.index());
            if let Some(block) = position.and_then(|position| position.block) {
                let mut moment = self.moment(place);
                // In a graph, the event counts already.
                moment.time -= u32::from(self.is_graph());
                let failure = self.uses_block(block, moment, Use::Operation(*operation));
                if failure.is_some() {
                    return failure;
                }
            }
        }
        None
    }

    /// The current thread uses what is at an address, between two operations. Returns what is wrong with that, or with what it has done before.
    #[inline]
    pub(crate) fn uses_address(
        &mut self,
        address: usize,
        how: Use,
        place: Place,
    ) -> Option<Failure> {
        if !self.blocks.is_watched {
            return None;
        }
        self.settle_memory(place);
        if let Some(failure) = self.blocks.failure.take() {
            return Some(failure);
        }
        let block = self.blocks.find(&self.quarantine.events, address)?;
        let moment = self.moment(place);
        self.uses_block(block, moment, how)
    }

    /// The same for a cell.
    #[inline]
    pub(super) fn uses_cell(&mut self, id: &Id, writes: bool, place: Place) -> Option<Failure> {
        if !self.blocks.is_watched {
            return None;
        }
        let address = std::ptr::from_ref(id).addr();
        let how = Use::Cell { writes };
        let Known::Number(number) = id.number(self.generation) else {
            return self.uses_address(address, how, place);
        };
        self.settle_memory(place);
        if let Some(failure) = self.blocks.failure.take() {
            return Some(failure);
        }
        let events = &self.quarantine.events;
        let block = self.blocks.find_for(events, Which::Cell(number), address)?;
        let moment = self.moment(place);
        self.uses_block(block, moment, how)
    }

    fn uses_block(&mut self, number: u32, used: Moment, how: Use) -> Option<Failure> {
        if !self.watches_memory() {
            return None;
        }
        let id = used.thread;
        let block = self.blocks.used.at(number as usize);
        if block.freed.is_some() {
            return Some(self.used_too_late(number, &used, how));
        }
        match block
            .uses
            .iter_mut()
            .find(|(earlier, _)| earlier.thread == id)
        {
            Some(known) => *known = (used, how),
            None => block.uses.push((used, how)),
        }
        let allocated = block.allocated?;
        if allocated.thread == id || block.reached.contains(&id) {
            return None;
        }
        if !self.comes_after(&allocated) {
            return Some(self.used_too_early(number, &used, how));
        }
        self.blocks.used.at(number as usize).reached.push(id);
        None
    }
}
