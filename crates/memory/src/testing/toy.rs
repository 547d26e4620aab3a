//! [`Toy`]: threads that are closures.

use raddle_schedule::{Diverged, ThreadId};

use crate::operation::{Location, Operation, Order, Target, Until, Update};
use crate::program::{Answer, Blocked, Next, Program};
use crate::races::{Access, Cells, Race};

/// Why a closure does not go on: it is begun again for each event, and stops at the first operation that was not answered.
#[derive(Clone, Copy, Debug)]
pub struct Halt(Next);

/// What an iteration of a spin loop has found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Round {
    /// The thread leaves the loop.
    Leave,
    /// The thread is in the same state as before, and has left everything as it was.
    Pure,
    /// Something has changed.
    Changed,
}

impl Round {
    /// Either the thread leaves the loop, or nothing has changed.
    #[must_use]
    pub fn leave_if(leaves: bool) -> Self {
        if leaves { Self::Leave } else { Self::Pure }
    }
}

/// What a thread does.
pub type Body = Box<dyn Fn(&mut Run<'_>) -> Result<(), Halt>>;

/// The answer to an operation.
#[derive(Clone, Copy, Debug)]
struct Made {
    read: u64,
    wrote: bool,
}

/// A thread that runs: its operations are answered from what it has done, until one is new.
#[derive(Debug)]
pub struct Run<'a> {
    made: &'a [Made],
    at: usize,
    seen: Vec<u64>,
    /// The cells that it has accessed since its last event, and whether it has written.
    plain: Vec<(usize, bool)>,
}

impl<'a> Run<'a> {
    fn new(made: &'a [Made]) -> Self {
        Self {
            made,
            at: 0,
            seen: Vec::new(),
            plain: Vec::new(),
        }
    }

    fn make(&mut self, operation: Operation) -> Result<Made, Halt> {
        let made = self.made.get(self.at).copied();
        self.at += 1;
        made.ok_or(Halt(Next::Operation(operation)))
    }

    /// Reads a location.
    pub fn load(&mut self, location: u32, order: Order) -> Result<u64, Halt> {
        let target = at(location);
        Ok(self.make(Operation::Read { target, order })?.read)
    }

    /// Writes a location.
    pub fn store(&mut self, location: u32, value: u64, order: Order) -> Result<(), Halt> {
        let target = at(location);
        let write = Operation::Write {
            target,
            order,
            value,
        };
        self.make(write).map(|_| ())
    }

    /// Updates a location: the value read, and whether it was written.
    pub fn update(&mut self, location: u32, update: Update) -> Result<(u64, bool), Halt> {
        let target = at(location);
        let made = self.make(Operation::Update { target, update })?;
        Ok((made.read, made.wrote))
    }

    /// Adds to a location: the value before.
    pub fn add(&mut self, location: u32, value: u64, order: Order) -> Result<u64, Halt> {
        Ok(self.update(location, Update::add(order, value))?.0)
    }

    /// Writes a location: the value before.
    pub fn swap(&mut self, location: u32, value: u64, order: Order) -> Result<u64, Halt> {
        Ok(self.update(location, Update::swap(order, value))?.0)
    }

    /// Writes a value if it finds another one.
    pub fn compare_exchange(
        &mut self,
        location: u32,
        expected: u64,
        new: u64,
        order: Order,
        failure: Order,
    ) -> Result<Result<u64, u64>, Halt> {
        let update = Update::compare_exchange(order, failure, expected, new);
        let (read, wrote) = self.update(location, update)?;
        Ok(if wrote { Ok(read) } else { Err(read) })
    }

    /// Waits for a value of which a condition holds, and reads it.
    pub fn wait(
        &mut self,
        location: u32,
        order: Order,
        holds: fn(u64, u64) -> bool,
        operand: u64,
    ) -> Result<u64, Halt> {
        let wait = Operation::Await {
            target: at(location),
            order,
            until: Until { holds, operand },
        };
        Ok(self.make(wait)?.read)
    }

    /// Takes a lock.
    pub fn lock(&mut self, location: u32) -> Result<(), Halt> {
        self.update(location, Update::lock()).map(|_| ())
    }

    /// Takes a lock if it is free.
    pub fn try_lock(&mut self, location: u32) -> Result<bool, Halt> {
        Ok(self.update(location, Update::try_lock())?.1)
    }

    /// Gives a lock back.
    pub fn unlock(&mut self, location: u32) -> Result<(), Halt> {
        self.update(location, Update::unlock()).map(|_| ())
    }

    /// A fence.
    pub fn fence(&mut self, order: Order) -> Result<(), Halt> {
        self.make(Operation::Fence { order }).map(|_| ())
    }

    /// Any number below this one.
    pub fn choose(&mut self, alternatives: u32) -> Result<u64, Halt> {
        Ok(self.make(Operation::Choose { alternatives })?.read)
    }

    /// Starts a thread.
    pub fn spawn(&mut self, child: u32) -> Result<(), Halt> {
        let child = ThreadId(child);
        self.make(Operation::Spawn { child }).map(|_| ())
    }

    /// Waits for the end of a thread.
    pub fn join(&mut self, child: u32) -> Result<(), Halt> {
        let child = ThreadId(child);
        self.make(Operation::Join { child }).map(|_| ())
    }

    /// Reads a cell that is not atomic.
    pub fn read_cell(&mut self, cell: usize) {
        self.access(cell, false);
    }

    /// Writes a cell that is not atomic.
    pub fn write_cell(&mut self, cell: usize) {
        self.access(cell, true);
    }

    fn access(&mut self, cell: usize, writes: bool) {
        if self.at == self.made.len() {
            self.plain.push((cell, writes));
        }
    }

    /// Tells the test something.
    pub fn see(&mut self, value: u64) {
        self.seen.push(value);
    }

    /// The execution does not count otherwise.
    pub fn assume(&self, holds: bool) -> Result<(), Halt> {
        match holds {
            true => Ok(()),
            false => Err(Halt(Next::Blocked(Blocked::Infeasible))),
        }
    }

    /// The thread fails otherwise.
    pub fn assert(&self, holds: bool) -> Result<(), Halt> {
        match holds {
            true => Ok(()),
            false => Err(Halt(Next::Failed)),
        }
    }

    /// Repeats iterations until one leaves the loop. After the first pure one the thread is blocked.
    pub fn spin(
        &mut self,
        iteration: impl FnMut(&mut Self) -> Result<Round, Halt>,
    ) -> Result<(), Halt> {
        self.spin_for(1, iteration)
    }

    /// Repeats iterations until one leaves the loop. After some pure ones the thread is blocked.
    pub fn spin_for(
        &mut self,
        pure: usize,
        mut iteration: impl FnMut(&mut Self) -> Result<Round, Halt>,
    ) -> Result<(), Halt> {
        let mut left = pure;
        loop {
            let since = self.at as u32;
            match iteration(self)? {
                Round::Leave => return Ok(()),
                Round::Changed => {}
                Round::Pure => left -= 1,
            }
            if left == 0 {
                return Err(Halt(Next::Blocked(Blocked::Spinning { since })));
            }
        }
    }
}

fn at(location: u32) -> Target {
    Target {
        location: Some(Location(location)),
        initial: 0,
    }
}

#[derive(Debug)]
struct Thread {
    made: Vec<Made>,
    next: Next,
    seen: Vec<u64>,
}

/// A program whose threads are closures on numbered locations, all 0 in the beginning.
pub struct Toy {
    bodies: Vec<Body>,
    /// How many threads are there from the beginning.
    first: usize,
    threads: Vec<Thread>,
    started: Vec<ThreadId>,
    cells: Cells,
    accesses: Vec<(usize, Access)>,
    races: Vec<Race>,
}

impl Toy {
    /// Threads that are there from the beginning.
    #[must_use]
    pub fn new(bodies: Vec<Body>) -> Self {
        let first = bodies.len();
        Self::with_children(bodies, first)
    }

    /// Threads of which the first ones are there from the beginning, and others start the rest.
    #[must_use]
    pub fn with_children(bodies: Vec<Body>, first: usize) -> Self {
        Self {
            first,
            bodies,
            threads: Vec::new(),
            started: Vec::new(),
            cells: Cells::default(),
            accesses: Vec::new(),
            races: Vec::new(),
        }
    }

    /// One more thread that is there from the beginning.
    #[must_use]
    pub fn thread(mut self, body: impl Fn(&mut Run<'_>) -> Result<(), Halt> + 'static) -> Self {
        assert_eq!(
            self.first,
            self.bodies.len(),
            "before those that are started"
        );
        self.bodies.push(Box::new(body));
        self.first += 1;
        self
    }

    /// One more thread that another one starts.
    #[must_use]
    pub fn child(mut self, body: impl Fn(&mut Run<'_>) -> Result<(), Halt> + 'static) -> Self {
        self.bodies.push(Box::new(body));
        self
    }

    /// What a thread does next after operations that have read this, and written or not, and what it has told until then.
    #[must_use]
    pub fn after(&self, thread: ThreadId, made: &[(u64, bool)]) -> (Next, Vec<u64>) {
        let answers = made.iter().map(|&(read, wrote)| Made { read, wrote });
        let made: Vec<Made> = answers.collect();
        let mut run = Run::new(&made);
        let next = match self.bodies[thread.index()](&mut run) {
            Ok(()) => Next::Ended,
            Err(Halt(next)) => next,
        };
        (next, run.seen)
    }

    /// What the threads have told in the execution under way.
    #[must_use]
    pub fn seen(&self) -> Vec<Vec<u64>> {
        let threads = self.threads.iter();
        threads.map(|thread| thread.seen.clone()).collect()
    }

    /// The accesses of cells in the execution under way.
    #[must_use]
    pub fn accesses(&self) -> &[(usize, Access)] {
        &self.accesses
    }

    /// The data races in the execution under way.
    #[must_use]
    pub fn races(&self) -> &[Race] {
        &self.races
    }

    /// Runs a thread up to its next operation.
    fn run(&mut self, thread: ThreadId, clock: &[u32]) {
        let state = &mut self.threads[thread.index()];
        let mut run = Run::new(&state.made);
        state.next = match self.bodies[thread.index()](&mut run) {
            Ok(()) => Next::Ended,
            Err(Halt(next)) => next,
        };
        state.seen = run.seen;
        for (cell, writes) in run.plain {
            let access = Access {
                thread,
                events: state.made.len() as u32,
                writes,
            };
            self.accesses.push((cell, access));
            self.races.extend(self.cells.access(cell, access, clock));
        }
    }

    fn start(&mut self, thread: ThreadId, clock: &[u32]) {
        self.started.push(thread);
        self.run(thread, clock);
    }
}

impl Default for Toy {
    fn default() -> Self {
        Self::new(Vec::new())
    }
}

impl Program for Toy {
    fn restart(&mut self) {
        self.started.clear();
        self.cells.clear();
        self.accesses.clear();
        self.races.clear();
        self.threads.clear();
        self.threads.extend(self.bodies.iter().map(|_| Thread {
            made: Vec::new(),
            // Until it is started.
            next: Next::Blocked(Blocked::Infeasible),
            seen: Vec::new(),
        }));
        for thread in 0..self.first {
            self.start(ThreadId(thread as u32), &[]);
        }
    }

    fn threads(&self) -> &[ThreadId] {
        &self.started
    }

    fn next(&mut self, thread: ThreadId) -> Next {
        self.threads[thread.index()].next
    }

    fn answer(&mut self, thread: ThreadId, answer: Answer<'_>) -> Result<(), Diverged> {
        let event = answer.event;
        self.threads[thread.index()].made.push(Made {
            read: event.read,
            wrote: event.kind.writes(),
        });
        if let Operation::Spawn { child } = event.operation {
            self.start(child, answer.clock);
        }
        self.run(thread, answer.clock);
        Ok(())
    }
}
