//! Which accesses to cells are ordered by synchronisation, and which race.
//!
//! The order of an execution is one thing, what a program may rely on another: a relaxed store that
//! happens to come first orders nothing. These clocks know only the edges that the memory model of Rust gives: locks,
//! starting and joining threads, releasing stores that are read by acquiring loads, channels.
//!
//! Nothing is tracked until a cell is used for the first time in an exploration.

use std::sync::atomic::Ordering;

use raddle_schedule::{LocationId, Mode, ThreadId, ValuedAccess};

use super::Place;
use super::kept::{Kept, Renew};
use super::operation::{Operation, channel};

/// How many steps of each thread are known.
#[derive(Clone, Debug, Default)]
struct Clock(Vec<u32>);

impl Clock {
    #[inline]
    fn join(&mut self, other: &Self) {
        if self.0.len() < other.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        let mine = &mut self.0[..other.0.len()];
        for (thread, &theirs) in other.0.iter().enumerate() {
            mine[thread] = mine[thread].max(theirs);
        }
    }

    #[inline]
    fn copy(&mut self, other: &Self) {
        self.0.clear();
        self.0.extend_from_slice(&other.0);
    }

    #[inline]
    fn of(&self, thread: ThreadId) -> u32 {
        self.0.get(thread.index()).copied().unwrap_or(0)
    }

    /// Whether an access is known.
    #[inline]
    fn knows(&self, earlier: &Touch) -> bool {
        self.of(earlier.thread) >= earlier.time
    }

    #[inline]
    fn tick(&mut self, thread: ThreadId) {
        if self.0.len() <= thread.index() {
            self.0.resize(thread.index() + 1, 0);
        }
        self.0[thread.index()] += 1;
    }
}

impl Renew for Clock {
    fn renew(&mut self) {
        self.0.clear();
    }
}

#[derive(Debug, Default)]
struct OfThread {
    now: Clock,
    /// Its own time before its last operation.
    before: u32,
    /// What its last releasing fence knew.
    fence: Clock,
    /// What it has read without acquiring it.
    unacquired: Clock,
}

impl Renew for OfThread {
    fn renew(&mut self) {
        let Self {
            now,
            before,
            fence,
            unacquired,
        } = self;
        now.renew();
        *before = 0;
        fence.renew();
        unacquired.renew();
    }
}

impl OfThread {
    /// It makes an operation.
    #[inline]
    fn tick(&mut self, id: ThreadId) {
        self.before = self.now.of(id);
        self.now.tick(id);
    }
}

#[derive(Debug, Default)]
struct OfLocation {
    released: Clock,
    /// What those knew who gave it back after reading.
    readers: Clock,
    /// When each thread stored there last, where, and the last plain load of each: a plain load is no atomic access, so nothing orders
    /// it with stores.
    stores: Vec<Touch>,
    plain_loads: Vec<Touch>,
}

impl Renew for OfLocation {
    fn renew(&mut self) {
        let Self {
            released,
            readers,
            stores,
            plain_loads,
        } = self;
        released.renew();
        readers.renew();
        stores.clear();
        plain_loads.clear();
    }
}

/// An access to a cell.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Touch {
    pub(crate) thread: ThreadId,
    pub(crate) place: Place,
    pub(crate) writes: bool,
    /// How many steps and fences of the execution were made before it, and whether it was over before the last of those of its thread.
    pub(crate) at: usize,
    pub(crate) was_over: bool,
    /// The time of the thread.
    time: u32,
}

impl Touch {
    /// An access that somebody else has found out about.
    pub(crate) fn new(thread: ThreadId, (place, at): (Place, usize), kind: Kind) -> Self {
        Self {
            thread,
            place,
            writes: kind.writes,
            at,
            was_over: kind.has_ended,
            time: 0,
        }
    }
}

/// How a cell is accessed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Kind {
    pub(crate) writes: bool,
    /// Whether the access goes on until now, but was over before the thread's last operation if it had begun by then.
    pub(crate) has_ended: bool,
}

#[derive(Debug, Default)]
struct OfCell {
    write: Option<Touch>,
    reads: Vec<Touch>,
}

impl Renew for OfCell {
    fn renew(&mut self) {
        let Self { write, reads } = self;
        *write = None;
        reads.clear();
    }
}

/// Whether it was known that clocks are needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Need {
    Known,
    /// Now it is.
    Learned,
    /// It is known, but not since the beginning of this execution.
    Late,
}

/// The clocks of an execution.
#[derive(Debug, Default)]
pub(crate) struct Clocks {
    /// Whether cells are used: known from the execution after the one that uses one for the first time.
    pub(super) needed: bool,
    active: bool,
    threads: Kept<OfThread>,
    locations: Kept<OfLocation>,
    /// The counts of references, whose changes need not be steps.
    counts: Kept<Clock>,
    cells: Kept<OfCell>,
}

impl Clocks {
    /// An execution begins. `wanted`: nobody else looks after races in it.
    pub(crate) fn begin(&mut self, wanted: bool) {
        self.active = self.needed && wanted;
        self.threads.clear();
        self.locations.clear();
        self.counts.clear();
        self.cells.clear();
    }

    /// They are needed. If they are not kept in this execution, they will be from the next one on.
    #[inline]
    pub(crate) fn need(&mut self) -> Need {
        if self.active {
            Need::Known
        } else if std::mem::replace(&mut self.needed, true) {
            Need::Late
        } else {
            Need::Learned
        }
    }

    #[inline]
    fn thread(&mut self, id: ThreadId) -> &mut OfThread {
        self.threads.at(id.index())
    }

    pub(crate) fn start(&mut self, id: ThreadId, parent: Option<ThreadId>) {
        if self.active {
            self.thread(id).now.renew();
            if let Some(parent) = parent {
                self.learn(id, parent);
            }
            self.thread(id).now.tick(id);
        }
    }

    /// A thread learns what another one knows.
    fn learn(&mut self, id: ThreadId, from: ThreadId) {
        if id != from {
            let known = std::mem::take(&mut self.thread(from).now);
            self.thread(id).now.join(&known);
            self.thread(from).now = known;
        }
    }

    /// A thread that was woken knows what the one knew that woke it.
    pub(crate) fn wake(&mut self, sleeper: ThreadId, by: ThreadId) {
        if self.active {
            self.learn(sleeper, by);
        }
    }

    #[inline]
    pub(crate) fn tick(&mut self, id: ThreadId) {
        if self.active {
            self.thread(id).tick(id);
        }
    }

    #[inline]
    fn acquire(&mut self, id: ThreadId, at: LocationId) {
        let released = &self.locations.at(at.index()).released;
        self.threads.at(id.index()).now.join(released);
    }

    #[inline]
    fn release(&mut self, id: ThreadId, at: LocationId) {
        let now = &self.threads.at(id.index()).now;
        self.locations.at(at.index()).released.join(now);
    }

    #[inline]
    fn load(&mut self, id: ThreadId, at: LocationId, order: Ordering) {
        let thread = self.threads.at(id.index());
        let released = &self.locations.at(at.index()).released;
        match order {
            Ordering::Acquire | Ordering::AcqRel | Ordering::SeqCst => thread.now.join(released),
            _ => thread.unacquired.join(released),
        }
    }

    /// `update`: it also reads, and so carries on what was released before.
    #[inline]
    fn store(&mut self, id: ThreadId, at: LocationId, order: Ordering, update: bool) {
        let thread = self.threads.at(id.index());
        let released = &mut self.locations.at(at.index()).released;
        let known = match order {
            Ordering::Release | Ordering::AcqRel | Ordering::SeqCst => &thread.now,
            _ => &thread.fence,
        };
        if update {
            released.join(known);
        } else {
            released.copy(known);
        }
    }

    /// A store was made at a place. Returns an earlier plain load that races with it.
    pub(crate) fn stored(
        &mut self,
        id: ThreadId,
        at: LocationId,
        when: (Place, usize),
    ) -> Option<Touch> {
        if !self.active {
            return None;
        }
        let touch = self.touch_now(id, when, true);
        let location = self.locations.at(at.index());
        location.stores.retain(|store| store.thread != id);
        location.stores.push(touch);
        let now = &self.threads.at(id.index()).now;
        let mut loads = location.plain_loads.iter();
        loads
            .find(|load| load.thread != id && !now.knows(load))
            .copied()
    }

    /// An atomic is read by a plain load. Returns an earlier store that races with it.
    pub(crate) fn plain_load(
        &mut self,
        id: ThreadId,
        at: LocationId,
        when: (Place, usize),
    ) -> Option<Touch> {
        let touch = self.touch_now(id, when, false);
        let location = self.locations.at(at.index());
        location.plain_loads.retain(|load| load.thread != id);
        location.plain_loads.push(touch);
        let now = &self.threads.at(id.index()).now;
        let mut stores = location.stores.iter();
        stores
            .find(|store| store.thread != id && !now.knows(store))
            .copied()
    }

    /// The accesses that are known still.
    pub(super) fn touches(&self) -> impl Iterator<Item = &Touch> {
        let cells = self.cells.iter();
        let cells = cells.flat_map(|cell| cell.reads.iter().chain(&cell.write));
        let locations = self.locations.iter();
        cells.chain(locations.flat_map(|at| at.plain_loads.iter().chain(&at.stores)))
    }

    fn touch_now(&mut self, id: ThreadId, when: (Place, usize), writes: bool) -> Touch {
        let kind = Kind {
            writes,
            has_ended: false,
        };
        Touch {
            time: self.thread(id).now.of(id),
            ..Touch::new(id, when, kind)
        }
    }

    /// A fence.
    pub(crate) fn fence(&mut self, id: ThreadId, order: Ordering) {
        if !self.active {
            return;
        }
        let thread = self.thread(id);
        if matches!(
            order,
            Ordering::Acquire | Ordering::AcqRel | Ordering::SeqCst
        ) {
            thread.now.join(&thread.unacquired);
        }
        if matches!(
            order,
            Ordering::Release | Ordering::AcqRel | Ordering::SeqCst
        ) {
            thread.fence.copy(&thread.now);
            // What the thread does next was not published by the fence, which is no operation.
            thread.now.tick(id);
        }
    }

    /// A step was made.
    #[inline]
    pub(crate) fn synchronise(
        &mut self,
        id: ThreadId,
        operation: &Operation,
        result: u64,
        accesses: &[ValuedAccess],
    ) {
        if !self.active {
            return;
        }
        match *operation {
            Operation::Join { end } => self.acquire(id, end),
            Operation::JoinAll { .. } => {
                for access in accesses {
                    self.acquire(id, access.location);
                }
            }
            Operation::Finish { end } | Operation::End { end } => self.release(id, end),
            Operation::Load { at, order } => self.load(id, at, order),
            Operation::Store { at, order, .. } => self.store(id, at, order, false),
            Operation::Update { at, order, .. } => {
                self.load(id, at, order);
                self.store(id, at, order, true);
            }
            Operation::CompareExchange {
                at,
                expected,
                success,
                failure,
                ..
            } => {
                if result == expected {
                    self.load(id, at, success);
                    self.store(id, at, success, true);
                } else {
                    self.load(id, at, failure);
                }
            }
            Operation::Count { at, .. } => self.release(id, at),
            Operation::Lock { mutex } => self.acquire(id, mutex),
            Operation::TryLock { mutex } if result == 1 => self.acquire(id, mutex),
            Operation::Unlock { mutex, .. } | Operation::Wait { mutex, .. } => {
                self.release(id, mutex);
            }
            Operation::ReadLock { lock } => self.acquire(id, lock),
            Operation::TryReadLock { lock } if result == 1 => self.acquire(id, lock),
            Operation::ReadUnlock { lock } => {
                let now = &self.threads.at(id.index()).now;
                self.locations.at(lock.index()).readers.join(now);
            }
            Operation::WriteLock { lock } => self.acquire_for_writing(id, lock),
            Operation::TryWriteLock { lock } if result == 1 => self.acquire_for_writing(id, lock),
            Operation::WriteUnlock { lock, .. } | Operation::Downgrade { lock } => {
                self.release(id, lock);
            }
            Operation::Arrive { barrier, .. } => {
                self.acquire(id, barrier);
                self.release(id, barrier);
            }
            Operation::Gather { gathering, .. } => self.release(id, gathering),
            Operation::Pass { gathering, .. } => self.acquire(id, gathering),
            Operation::Park { token } => self.acquire(id, token),
            Operation::Unpark { token } => self.release(id, token),
            Operation::OnceBegin { once, .. } | Operation::OnceWait { once, .. } => {
                self.acquire(id, once);
            }
            Operation::OnceFinish { once, .. } => self.release(id, once),
            Operation::Send { .. } if result == channel::OK => {
                // Who received the message whose room this one takes has made it.
                let is_room = |access: &&ValuedAccess| {
                    access.mode == Mode::Read && access.before == channel::TAKEN
                };
                for room in accesses.iter().filter(is_room) {
                    self.acquire(id, room.location);
                }
                if let Some(message) = accesses
                    .iter()
                    .rfind(|access| access.after == channel::SENT)
                {
                    self.release(id, message.location);
                }
            }
            Operation::Receive { .. } => {
                for access in accesses {
                    self.acquire(id, access.location);
                }
                if result == channel::OK {
                    self.release(id, accesses[0].location);
                }
            }
            Operation::Send { .. } | Operation::Taken { .. } => {
                for access in accesses {
                    self.acquire(id, access.location);
                }
            }
            _ => {}
        }
    }

    fn acquire_for_writing(&mut self, id: ThreadId, lock: LocationId) {
        self.acquire(id, lock);
        let readers = &self.locations.at(lock.index()).readers;
        self.threads.at(id.index()).now.join(readers);
    }

    /// A thread finds that its reference to something counted is the only one, and knows what those knew that are gone.
    pub(crate) fn only_reference(&mut self, id: ThreadId, count: u32) {
        if let (true, Some(gone)) = (self.active, self.counts.get(count as usize)) {
            self.threads.at(id.index()).now.join(gone);
        }
    }

    /// A reference to something counted goes away; the last one knows what all others knew.
    pub(crate) fn drop_reference(&mut self, id: ThreadId, count: u32, last: bool) {
        if !self.active {
            return;
        }
        let thread = self.threads.at(id.index());
        let count = self.counts.at(count as usize);
        count.join(&thread.now);
        if last {
            thread.now.join(count);
        } else {
            // What the thread does next is not known to who drops the last reference.
            thread.tick(id);
        }
    }

    /// A new cell.
    pub(crate) fn add_cell(&mut self) -> u32 {
        let number = self.cells.len();
        self.cells.at(number);
        u32::try_from(number).expect("too many cells")
    }

    /// A cell is accessed. Returns an earlier access that races with that.
    #[inline]
    pub(crate) fn touch(
        &mut self,
        cell: u32,
        id: ThreadId,
        kind: Kind,
        when: (Place, usize),
    ) -> Option<Touch> {
        let writes = kind.writes;
        if !self.active {
            return None;
        }
        let OfThread { now, before, .. } = self.threads.at(id.index());
        let cell = self.cells.at(cell as usize);
        let ordered =
            |earlier: &Touch| earlier.thread == id || now.of(earlier.thread) >= earlier.time;
        let mut touch = Touch {
            time: now.of(id),
            ..Touch::new(id, when, kind)
        };
        if kind.has_ended {
            // It was over when the thread made its last operation, unless it began after that.
            let mut mine = cell.write.iter().chain(&cell.reads);
            let begun = mine.find(|earlier| earlier.thread == id && earlier.writes == writes);
            let latest = begun.map_or(touch.time, |begun| begun.time);
            touch.time = latest.max(*before);
            touch.was_over = touch.time == *before;
        }
        let racing = cell.write.filter(|write| !ordered(write)).or_else(|| {
            let mut reads = cell.reads.iter().copied().filter(|_| writes);
            reads.find(|read| !ordered(read))
        });
        if writes {
            cell.write = Some(touch);
            cell.reads.clear();
        } else {
            cell.reads.retain(|read| read.thread != id);
            cell.reads.push(touch);
        }
        racing
    }
}
