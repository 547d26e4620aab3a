//! How executions end, and who is told.

use std::ops::ControlFlow;

use raddle_outcome::{Ends, Kind as Limit};
use raddle_schedule::{Omission, ThreadId};

use crate::graph::{Event, EventId, Graph, Kind};
use crate::operation::{Effect, Location, Operation, Until, Update};
use crate::program::Blocked;

/// Why a thread makes no event any more.
#[derive(Clone, Copy, Debug)]
pub enum Stop {
    /// It has ended.
    Ended,
    /// It has failed.
    Failed,
    /// It waits to make this: for a lock that is held, for a value, for the end of a thread.
    Waits(Operation),
    /// It does nothing more after what it has read.
    Blocked(Blocked),
    /// The execution has as many events as it may.
    Limit,
}

/// How an execution ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum End {
    /// All threads have ended.
    Complete,
    /// The others have ended, and wait for each other.
    Deadlock,
    /// Some threads spin, the others have ended or wait, and nothing that a spinning thread could read would let it go on.
    Livelock,
    /// Some threads spin, but could go on if they looked again. The execution is the beginning of others that are explored.
    Spinning,
    /// Cut by the program.
    Infeasible,
    /// A thread has failed.
    Failed,
    /// Cut by a limit, of events or of the program.
    Cut,
}

/// A graph to which no thread can add an event.
#[derive(Clone, Copy, Debug)]
pub struct Leaf<'a> {
    /// The graph.
    pub graph: &'a Graph,
    /// How it ends.
    pub end: End,
    /// Why each thread has stopped.
    pub threads: &'a [(ThreadId, Stop)],
}

/// Who is told of executions.
pub trait Visitor<P> {
    /// An execution has ended. The program is in its state. The visitor says whether to go on.
    fn leaf(&mut self, program: &mut P, leaf: &Leaf<'_>) -> ControlFlow<()>;

    /// Asked before each new event whether to go on. The program has made the events of the graph, and may have found something already, a data race say.
    fn pulse(&mut self, _program: &mut P, _graph: &Graph) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    /// Executions are left out that should have been explored.
    fn left_out(&mut self, _program: &mut P, _omission: Omission) {}
}

impl<P, F: FnMut(&mut P, &Leaf<'_>) -> ControlFlow<()>> Visitor<P> for F {
    fn leaf(&mut self, program: &mut P, leaf: &Leaf<'_>) -> ControlFlow<()> {
        self(program, leaf)
    }
}

/// What an exploration took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Graphs by their [`End`].
    pub ends: [u64; 7],
    /// How often the program was run. It is the number of graphs, but for runs that were given up and values that had to be found again.
    pub runs: u64,
    /// Events that were added to graphs, not counting replays.
    pub events: u64,
    /// Events that were made again by replays.
    pub replayed: u64,
    /// Choices that were checked for consistency.
    pub checks: u64,
    /// Graphs that may have been visited more than once, because of how an update waits. See [the module](super).
    pub in_doubt: u64,
    /// Backward revisits, which copy the graph.
    pub revisits: u64,
    /// The most graphs that were put aside at one time.
    pub deepest: u64,
    /// The events of the largest graph.
    pub longest: u64,
}

impl Counts {
    /// Adds what another worker has done.
    pub(super) fn absorb(&mut self, other: &Self) {
        let Self {
            ends,
            runs,
            events,
            replayed,
            checks,
            in_doubt,
            revisits,
            deepest,
            longest,
        } = other;
        for (mine, theirs) in self.ends.iter_mut().zip(ends) {
            *mine += theirs;
        }
        self.runs += runs;
        self.events += events;
        self.replayed += replayed;
        self.checks += checks;
        self.in_doubt += in_doubt;
        self.revisits += revisits;
        self.deepest = self.deepest.max(*deepest);
        self.longest = self.longest.max(*longest);
    }

    /// How many graphs end so.
    #[must_use]
    pub fn of(&self, end: End) -> u64 {
        self.ends[end as usize]
    }

    /// All graphs.
    #[must_use]
    pub fn graphs(&self) -> u64 {
        self.ends.iter().sum()
    }

    /// The graphs that the program, or the limit, or a loop that goes on elsewhere has cut.
    #[must_use]
    pub fn blocked(&self) -> u64 {
        self.of(End::Spinning) + self.of(End::Infeasible) + self.of(End::Cut)
    }

    /// The same for a report.
    #[must_use]
    pub fn as_ends(&self) -> Ends {
        Ends {
            terminated: self.of(End::Complete),
            cut: self.blocked(),
            deadlocked: self.of(End::Deadlock) + self.of(End::Livelock),
            failed: self.of(End::Failed),
        }
    }
}

impl<'a> Leaf<'a> {
    pub(crate) fn new(graph: &'a Graph, threads: &'a [(ThreadId, Stop)]) -> Self {
        Self {
            graph,
            end: end(graph, threads),
            threads,
        }
    }

    /// What is left out because of how the threads have stopped.
    pub(super) fn omissions(&self) -> impl Iterator<Item = Omission> {
        let omission = |(thread, stop): &(ThreadId, Stop)| {
            let kind = match *stop {
                Stop::Limit => Limit::Steps,
                Stop::Blocked(Blocked::LeftOut(kind)) => kind,
                Stop::Blocked(Blocked::Spinning { since })
                    if !leaves_all_as_it_was(self.graph, *thread, since) =>
                {
                    Limit::ChangingLoop
                }
                _ => return None,
            };
            let step = self.graph.thread(*thread).len() as u32;
            Some(Omission {
                kind,
                step: Some((*thread, step)),
            })
        };
        self.threads.iter().filter_map(omission)
    }

    /// Whether an update can wait for a location that is also written by others than updates, or for values some of which it would only read.
    pub(super) fn may_be_repeated(&self) -> bool {
        let in_graph = self.graph.events().iter().map(|id| {
            let event = self.graph.event(*id);
            (event.operation, event.location)
        });
        let waiting = self.threads.iter().filter_map(|(_, stop)| match stop {
            Stop::Waits(operation) => Some((*operation, operation.target()?.location)),
            _ => None,
        });
        let mut all = in_graph.chain(waiting);
        all.any(|(operation, location)| match (operation, location) {
            (Operation::Update { update, .. }, Some(location)) if update.waits => {
                has_free_write(self.graph, location) || can_read(self.graph, location, update)
            }
            _ => false,
        })
    }

    /// A waiting read whose condition was true for a write and not for a later one.
    pub(super) fn broken_promise(&self) -> Option<(ThreadId, Location)> {
        let condition = |operation: &Operation| match *operation {
            Operation::Await { until, .. } => Some(until),
            _ => None,
        };
        let in_graph = self.graph.events().iter().filter_map(|id| {
            let event = self.graph.event(*id);
            Some((id.thread, event.location?, condition(&event.operation)?))
        });
        let waiting = self.threads.iter().filter_map(|(thread, stop)| match stop {
            Stop::Waits(operation) => {
                let location = operation.target()?.location?;
                Some((*thread, location, condition(operation)?))
            }
            _ => None,
        });
        let mut all = in_graph.chain(waiting);
        let (thread, location, _) =
            all.find(|(_, location, until)| !stays_true(self.graph, *location, *until))?;
        Some((thread, location))
    }
}

fn stays_true(graph: &Graph, location: Location, until: Until) -> bool {
    let writes = graph.writes(location).iter();
    let mut holds = match graph.last_value(location) {
        None => return true,
        Some(_) => until.holds(graph.value(location, None)),
    };
    for &write in writes {
        let now = until.holds(graph.value(location, Some(write)));
        if holds && !now {
            return false;
        }
        holds = now;
    }
    true
}

fn end(graph: &Graph, threads: &[(ThreadId, Stop)]) -> End {
    let any = |is: fn(&Stop) -> bool| threads.iter().any(|(_, stop)| is(stop));
    if any(|stop| matches!(stop, Stop::Failed)) {
        End::Failed
    } else if any(|stop| matches!(stop, Stop::Limit | Stop::Blocked(Blocked::LeftOut(_)))) {
        End::Cut
    } else if any(|stop| matches!(stop, Stop::Blocked(Blocked::Infeasible))) {
        End::Infeasible
    } else if any(|stop| matches!(stop, Stop::Blocked(_))) {
        let hangs = |(thread, stop): &(ThreadId, Stop)| match *stop {
            Stop::Blocked(Blocked::Spinning { since }) => {
                looks_the_same(graph, *thread, since) && is_last(graph, threads, *thread, since)
            }
            _ => true,
        };
        match threads.iter().all(hangs) {
            true => End::Livelock,
            false => End::Spinning,
        }
    } else if any(|stop| matches!(stop, Stop::Waits(_))) {
        End::Deadlock
    } else {
        End::Complete
    }
}

fn is_waiting_update(operation: &Operation) -> bool {
    matches!(operation, Operation::Update { update, .. } if update.waits)
}

/// Whether a write of a location is no update and does not immediately follow a write of its own thread.
fn has_free_write(graph: &Graph, location: Location) -> bool {
    let mut before = None;
    graph.writes(location).iter().any(|write| {
        let follows_own = before.replace(write.thread) == Some(write.thread);
        graph.event(*write).kind == Kind::Write && !follows_own
    })
}

/// Whether an update does not write if it reads some write of a location.
fn can_read(graph: &Graph, location: Location, update: Update) -> bool {
    let Some(_) = graph.last_value(location) else {
        return false;
    };
    let writes = graph.writes(location).iter().copied().map(Some);
    let mut values = writes
        .chain([None])
        .map(|write| graph.value(location, write));
    values.any(|value| update.effect(value) == Effect::Read)
}

/// The events of an iteration.
fn iteration(graph: &Graph, thread: ThreadId, since: u32) -> &[Event] {
    graph.thread(thread).get(since as usize..).unwrap_or(&[])
}

/// The locations of the locks that an iteration takes.
fn locks(graph: &Graph, thread: ThreadId, since: u32) -> Vec<Location> {
    let events = iteration(graph, thread, since).iter();
    let locks = events.filter(|event| is_waiting_update(&event.operation));
    locks.filter_map(|event| event.location).collect()
}

/// Whether an iteration would do the same if it read the last values: it has read them, but for those of locks that it takes and gives back. The
/// values matter, not from which writes they are: two threads that spin with updates of one location overwrite each other's values by the same ones.
fn looks_the_same(graph: &Graph, thread: ThreadId, since: u32) -> bool {
    let locks = locks(graph, thread, since);
    iteration(graph, thread, since)
        .iter()
        .all(|event| match (event.kind, event.location) {
            (Kind::Choice, _) => event.read == 0,
            (kind, Some(location)) if kind.reads() && !locks.contains(&location) => {
                graph.last_value(location) == Some(event.read)
            }
            _ => true,
        })
}

/// Whether nothing was written after what an iteration has read, but by iterations of threads that spin too.
///
/// What a location protects need not be in the graph: what a lock is for, or a cell behind a flag. So if others have taken a lock since, and given it back, the
/// iteration may do something else now, although the lock has the same value. No live-lock is missed: where the others have come to their ends or wait, and
/// threads spin for ever, there is a graph in which the iterations that spin read what was left to them.
fn is_last(graph: &Graph, threads: &[(ThreadId, Stop)], thread: ThreadId, since: u32) -> bool {
    let spins = |write: &EventId| {
        threads.iter().any(|(spinner, stop)| match *stop {
            Stop::Blocked(Blocked::Spinning { since }) => {
                *spinner == write.thread && write.index >= since
            }
            _ => false,
        })
    };
    let mut reads = iteration(graph, thread, since)
        .iter()
        .filter(|event| event.kind.reads());
    reads.all(|event| {
        let writes = event.location.map_or(&[][..], |at| graph.writes(at));
        let later = writes.get(graph.place(event.from) as usize..);
        later.unwrap_or_default().iter().all(spins)
    })
}

/// Whether an iteration leaves all locations as they were: its updates write what they have read, and locks that it takes have the same value after it.
fn leaves_all_as_it_was(graph: &Graph, thread: ThreadId, since: u32) -> bool {
    let iteration = iteration(graph, thread, since);
    let locks = locks(graph, thread, since);
    let is_silent = iteration.iter().all(|event| match event.kind {
        Kind::Write | Kind::Update if event.location.is_some_and(|l| locks.contains(&l)) => true,
        Kind::Update => event.read == event.written,
        Kind::Write | Kind::Spawn => false,
        _ => true,
    });
    let is_restored = |&lock: &Location| {
        let mut events = iteration
            .iter()
            .filter(|event| event.location == Some(lock));
        let first = events
            .clone()
            .find(|event| event.kind.reads())
            .map(|event| event.read);
        let last = events.rfind(|event| event.kind.writes());
        first == last.map(|event| event.written)
    };
    is_silent && locks.iter().all(is_restored)
}
