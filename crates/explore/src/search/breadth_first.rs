//! Breadth-first: states in the order of their distance from the initial one, one level after another, with one
//! worker or several. Figure 8 of Gueta, Flanagan, Yahav, Sagiv, "Cartesian Partial-Order Reduction"
//! (2007).
//!
//! All workers expand states of the same level, the paper's `WorkSet`; the store is the
//! paper's `CoveredSet`. A worker takes the states of the level in chunks, and keeps what
//! it finds new to itself. When nothing of the level is left, what all of them have found is
//! the next level, of which a worker takes first what it has found itself: that may still be in its cache. So levels, distances, counts and the point at which a search for the first violation stops do not depend
//! on the number of workers. How a state was reached is not remembered; if that is needed, it is
//! [found again](super::retrace).
//!
//! *It misses nothing:* a state enters the next level when it is inserted into the store, by the one
//! worker to whom the store says that it is new; and each state of a level is in one chunk,
//! which one worker takes. What a worker has queued at the end of its last chunk is inserted before it says that it has come to the end.
//!
//! *It terminates:* whoever has taken a chunk works it off, and
//! takes no other level before everybody has come to the end of this one. No level is begun
//! that is empty. A worker that is stopped by a limit or panics says so to all others, who leave
//! after the state that they are expanding.
//!
//! *Reductions that learn:* each worker has its own copy of what the reduction has learned. At the end of a level the copies
//! are [merged](crate::reduction::Lessons::merge), and all workers go on with the merged one. What one worker has relied on
//! in a level, and another found to be wrong in the same level, is noticed then, and the round is done again as it is with one worker.
//! So in the last round nobody has relied on anything that anybody found to be wrong, and every expansion is the one
//! that the merged knowledge gives.
//!
//! A small level is not worth the trouble of waking the others; the first worker does
//! it alone.
//!
//! *What waiting costs:* to wake a thread that sleeps takes longer than to expand a hundred states, so whoever waits looks for
//! news [for a while](BEFORE_SLEEPING) before sleeping. Chunks get smaller towards the end of a level. The room of a level that was expanded is that of the
//! level after the next: giving it back, and touching other memory, would have all workers wait for the kernel.

use std::ops::Range;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use raddle_outcome::Assumption;
use raddle_store::{Inserted, StateId, Store, StoreFull, Tell};

use super::engine::Engine;
use super::findings::Findings;
use super::monitor::Monitor;
use super::outcome::Statistics;
use super::worklist::{Edge, Rank, Visit, Worklist};
use super::{Found, Settings, Stop};
use crate::reduction::{Lessons, Reduction};
use crate::system::{Place, System};

/// Levels of fewer states than this per worker are expanded by one worker.
const WORTH_WAKING: usize = 16;

/// The most states that a worker takes at a time.
const LARGEST_CHUNK: usize = 64;

/// How long a worker that waits looks for news before it sleeps.
const BEFORE_SLEEPING: Duration = Duration::from_micros(50);

/// How long the first worker waits for the others before it looks at the clock.
const BETWEEN_LOOKS: Duration = Duration::from_millis(20);

/// The states at one distance from the initial one.
#[derive(Default)]
struct Level {
    depth: u32,
    /// What each worker has found.
    segments: Vec<Segment>,
    /// How many share it out.
    workers: usize,
}

/// Those that one worker has found. Each is in cache lines of its own: its worker changes it more often than others.
#[derive(Default)]
#[repr(align(128))]
struct Segment {
    states: Vec<StateId>,
    /// The first that nobody has taken.
    next: AtomicUsize,
}

impl Segment {
    fn new(states: Vec<StateId>) -> Self {
        Self {
            states,
            next: AtomicUsize::new(0),
        }
    }

    fn left(&self) -> usize {
        let taken = self.next.load(Ordering::Relaxed);
        self.states.len().saturating_sub(taken)
    }

    fn take_chunk(&self, chunk: usize) -> Range<usize> {
        // Nothing else is published through the counter: states are read-only by now.
        let start = self.next.fetch_add(chunk, Ordering::Relaxed);
        let end = self.states.len();
        start.min(end)..(start + chunk).min(end)
    }
}

impl Level {
    /// A chunk of what that worker has found, or others after it, and whose it is. Nothing if all are taken.
    fn take_chunk(&self, worker: usize) -> Option<(usize, Range<usize>)> {
        let segments = (0..self.segments.len()).map(|next| (worker + next) % self.segments.len());
        let mut with_some = segments.filter(|segment| self.segments[*segment].left() > 0);
        with_some.find_map(|segment| {
            // Small enough that all are busy until the end.
            let size = (self.left() / (4 * self.workers)).clamp(1, LARGEST_CHUNK);
            let chunk = self.segments[segment].take_chunk(size);
            (!chunk.is_empty()).then_some((segment, chunk))
        })
    }

    fn left(&self) -> usize {
        self.segments.iter().map(Segment::left).sum()
    }

    /// How many states there is room for.
    fn capacity(&self) -> usize {
        let segments = self.segments.iter();
        segments.map(|segment| segment.states.capacity()).sum()
    }
}

/// The part of one worker: a [`Worklist`] that takes states of the current level, and
/// keeps those of the next.
struct Share<'c> {
    crew: &'c Crew,
    /// The number of the worker.
    worker: usize,
    level: Arc<Level>,
    /// What it has taken of a segment.
    segment: usize,
    chunk: Range<usize>,
    found: Vec<StateId>,
}

impl<'c> Share<'c> {
    fn new(crew: &'c Crew, worker: usize) -> Self {
        Self {
            crew,
            worker,
            level: Arc::default(),
            segment: 0,
            chunk: 0..0,
            found: Vec::new(),
        }
    }

    /// Makes room for more states, by less than a list would by itself: a frontier can be large, and the limit on memory is to hold.
    #[cold]
    fn make_room(&mut self) {
        let more = self.found.len() / 8 + LARGEST_CHUNK;
        self.found.reserve_exact(more);
    }
}

impl Worklist for Share<'_> {
    const TRACKS_THREADS: bool = false;
    const AT_ONCE: bool = false;
    const BY_DISTANCE: bool = true;
    const TELL: Tell = Tell::New;

    fn start(&mut self, root: StateId) -> Result<u64, StoreFull> {
        self.found.push(root);
        Ok(root.0)
    }

    #[inline]
    fn next(&mut self) -> Option<Visit> {
        if self.interrupted() || self.crew.in_vain.load(Ordering::Relaxed) {
            return None;
        }
        if self.chunk.is_empty() {
            (self.segment, self.chunk) = self.level.take_chunk(self.worker)?;
        }
        let state = self.level.segments[self.segment].states[self.chunk.next()?];
        Some(Visit {
            node: state.0,
            state,
            rank: Rank {
                switches: 0,
                length: self.level.depth,
            },
            last: None,
            first: true,
        })
    }

    #[inline]
    fn edge(&mut self, _: &Visit, edge: Edge) -> Result<u64, StoreFull> {
        if edge.inserted == Inserted::New {
            if self.found.len() == self.found.capacity() {
                self.make_room();
            }
            self.found.push(edge.to);
        }
        Ok(edge.to.0)
    }

    /// The level is finished first: a later state of it may be a violation itself, one
    /// step shorter than a step that failed, and among violations at the same
    /// distance the one with the fewest switches is wanted.
    fn settled(&self, _best: Rank, _first_found: Rank, _next: &Visit) -> bool {
        false
    }

    fn interrupted(&self) -> bool {
        self.crew.stop.load(Ordering::Relaxed)
    }

    fn tell_found(&self) {
        self.crew.found.store(true, Ordering::Relaxed);
    }

    fn found_elsewhere(&self) -> bool {
        self.crew.found.load(Ordering::Relaxed)
    }

    fn give_up(&self) {
        self.crew.in_vain.store(true, Ordering::Relaxed);
    }

    fn waiting(&self) -> usize {
        self.level.left() + self.chunk.len() + self.found.len()
    }

    /// What other workers have found in this level is not known yet; they are as fast.
    fn memory_bytes(&self) -> usize {
        let found = self.found.capacity() * self.crew.workers;
        let now = (self.level.capacity() + found) * size_of::<StateId>();
        now.max(self.crew.most_bytes.load(Ordering::Relaxed))
    }
}

/// What the workers have in common, but for the store.
#[derive(Default)]
struct Crew {
    orders: Mutex<Orders>,
    changed: Condvar,
    /// Whether everybody is to stop as soon as possible.
    stop: AtomicBool,
    /// Whether somebody has found a violation.
    found: AtomicBool,
    /// Whether this round will have to be done again.
    in_vain: AtomicBool,
    workers: usize,
    /// The most memory that two levels took.
    most_bytes: AtomicUsize,
    /// How often the orders were changed in a way that somebody waits for.
    changes: AtomicUsize,
}

#[derive(Default)]
struct Orders {
    /// The level to be expanded, and how many were before it.
    level: Arc<Level>,
    number: usize,
    /// What the reductions of all workers have learned before it.
    lessons: Option<Arc<Lessons>>,
    /// How many workers besides the first have not come to its end.
    working: usize,
    /// Whether there is no more to do.
    done: bool,
    /// What these workers have brought back from it.
    harvests: Vec<Harvest>,
    /// Room for what each worker finds: that of levels that were expanded.
    room: Vec<Vec<StateId>>,
}

/// What a worker brings back from a level.
#[derive(Default)]
struct Harvest {
    worker: usize,
    states: Vec<StateId>,
    lessons: Option<Lessons>,
    findings: Findings,
    statistics: Statistics,
    cut: Option<Assumption<Place>>,
    stopped: bool,
}

impl Crew {
    /// Nothing of what is locked is left half done by a panic.
    fn orders(&self) -> MutexGuard<'_, Orders> {
        self.orders.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Says that the orders, which are locked, have changed.
    fn announce(&self) {
        self.changes.fetch_add(1, Ordering::Relaxed);
        self.changed.notify_all();
    }

    /// Waits until the orders may have changed, or somebody has slept for that long; says whether the latter.
    fn wait<'g>(
        &'g self,
        orders: MutexGuard<'g, Orders>,
        longest: Duration,
    ) -> (MutexGuard<'g, Orders>, bool) {
        let seen = self.changes.load(Ordering::Relaxed);
        let has_changed = || self.changes.load(Ordering::Relaxed) != seen;
        drop(orders);
        let begun = Instant::now();
        while !has_changed() && begun.elapsed() < BEFORE_SLEEPING {
            std::hint::spin_loop();
        }
        let orders = self.orders();
        // Nobody changes them now.
        if has_changed() {
            return (orders, false);
        }
        let woken = self.changed.wait_timeout(orders, longest);
        let (orders, timeout) = woken.unwrap_or_else(PoisonError::into_inner);
        (orders, timeout.timed_out())
    }

    /// Has the other workers begin with a level.
    fn begin(&self, level: &Arc<Level>, lessons: Option<Lessons>) {
        let mut orders = self.orders();
        orders.level = Arc::clone(level);
        orders.number += 1;
        orders.lessons = lessons.map(Arc::new);
        orders.working = self.workers - 1;
        self.announce();
    }

    /// Waits until the other workers have come to the end of the level, and calls `meanwhile`
    /// now and then.
    fn gather(&self, mut meanwhile: impl FnMut()) -> Vec<Harvest> {
        let mut orders = self.orders();
        while orders.working > 0 {
            let timed_out;
            (orders, timed_out) = self.wait(orders, BETWEEN_LOOKS);
            if timed_out {
                meanwhile();
            }
        }
        orders.level = Arc::default();
        std::mem::take(&mut orders.harvests)
    }

    /// Takes room that a worker has for what it finds.
    fn room(&self, worker: usize) -> Vec<StateId> {
        let mut orders = self.orders();
        orders
            .room
            .get_mut(worker)
            .map(std::mem::take)
            .unwrap_or_default()
    }

    /// Keeps the room of a level that was expanded, which nobody else knows any more.
    fn keep_room(&self, level: Arc<Level>) {
        let Some(level) = Arc::into_inner(level) else {
            return;
        };
        let mut orders = self.orders();
        orders.room.resize_with(self.workers, Vec::new);
        for (room, segment) in orders.room.iter_mut().zip(level.segments) {
            if room.capacity() < segment.states.capacity() {
                *room = segment.states;
                room.clear();
            }
        }
    }

    /// What the others do: level after level, until there is no more.
    fn work<S: System>(
        &self,
        worker: usize,
        settings: &Settings,
        store: &dyn Store,
        system: &mut S,
        reduction: &mut dyn Reduction<S>,
    ) {
        let _guard = StopOnPanic(self);
        let mut engine = Engine::new(settings, store, Share::new(self, worker), Monitor::start());
        let mut seen = 0;
        loop {
            let mut orders = self.orders();
            while orders.number == seen && !orders.done {
                (orders, _) = self.wait(orders, Duration::MAX);
            }
            if orders.done {
                return;
            }
            seen = orders.number;
            engine.worklist.level = Arc::clone(&orders.level);
            if let Some(room) = orders.room.get_mut(worker) {
                engine.worklist.found = std::mem::take(room);
            }
            let lessons = orders.lessons.clone();
            drop(orders);
            if let Some(lessons) = lessons {
                reduction.adopt(&lessons);
            }

            engine.expand_waiting(system, reduction);
            let harvest = harvest(&mut engine, reduction.lessons());
            if harvest.stopped {
                self.stop.store(true, Ordering::Relaxed);
            }
            let mut orders = self.orders();
            orders.harvests.push(harvest);
            orders.working = orders.working.saturating_sub(1);
            self.announce();
        }
    }
}

/// Takes what an engine has found in a level.
fn harvest(engine: &mut Engine<'_, '_, Share<'_>>, lessons: Option<Lessons>) -> Harvest {
    engine.worklist.level = Arc::default();
    Harvest {
        worker: engine.worklist.worker,
        lessons,
        states: std::mem::take(&mut engine.worklist.found),
        findings: std::mem::take(&mut engine.findings),
        statistics: std::mem::take(&mut engine.statistics),
        cut: engine.cut.clone(),
        stopped: engine.stopped,
    }
}

/// Has the others leave if a worker panics: nobody waits for it in vain.
struct StopOnPanic<'c>(&'c Crew);

impl Drop for StopOnPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.stop.store(true, Ordering::Relaxed);
            let mut orders = self.0.orders();
            orders.done = true;
            orders.working = 0;
            self.0.announce();
        }
    }
}

/// A round of the search: one worker for each of the reductions besides the first.
///
/// # Panics
///
/// If a worker does.
pub(super) fn run<'r, S: System + Clone + Send>(
    settings: &'r Settings,
    begin: Begin<'r>,
    store: &dyn Store,
    system: &mut S,
    reduction: &mut dyn Reduction<S>,
    workers: usize,
) -> Round<'r> {
    if let Begin::New(_) = begin {
        reduction.begin_round();
    }
    let others: Option<Vec<_>> = (1..workers)
        .map(|_| reduction.for_another_worker())
        .collect();
    let others = others.unwrap_or_default();
    let crew = Crew {
        workers: others.len() + 1,
        ..Crew::default()
    };
    let systems: Vec<S> = others.iter().map(|_| system.clone()).collect();
    std::thread::scope(|scope| {
        let crew = &crew;
        let workers: Vec<_> = (1..)
            .zip(others.into_iter().zip(systems))
            .map(|(worker, (mut reduction, mut system))| {
                scope.spawn(move || {
                    crew.work(worker, settings, store, &mut system, reduction.as_mut());
                    system
                })
            })
            .collect();
        let round = lead(settings, begin, store, system, reduction, crew);
        for worker in workers {
            match worker.join() {
                Ok(other) => system.absorb(&other),
                Err(panic) => resume_unwind(panic),
            }
        }
        round
    })
}

/// With what a round begins.
pub(super) enum Begin<'r> {
    /// The initial state.
    New(Monitor<'r>),
    /// What it had come to in another store.
    Paused(Box<Found<'r>>, Frontier),
}

/// States that wait to be expanded, all at one distance.
pub(super) struct Frontier {
    pub(super) states: Vec<StateId>,
    depth: u32,
}

/// What came of a round.
pub(super) struct Round<'r> {
    pub(super) found: Found<'r>,
    pub(super) stopped: bool,
    pub(super) workers: usize,
    /// What is left to do, if it has not come to an end.
    pub(super) paused: Option<(Frontier, Because)>,
}

/// Why a round pauses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Because {
    /// There are more and more states.
    Grows,
    /// The store has become too large.
    StoreIsLarge,
}

/// Whether there are too many states for a search of [few](super::Search::while_small), given the next level and the largest one so far. Where levels become
/// smaller, there are mostly no more to come than there are.
fn grows(settings: &Settings, states: u64, next: usize, largest: usize) -> bool {
    let is_much = |few: u64| states > few && (next >= largest || states > 2 * few);
    next > 0 && settings.while_small.is_some_and(is_much)
}

fn count(segments: &[Segment]) -> usize {
    segments.iter().map(|segment| segment.states.len()).sum()
}

/// What the first worker does: it says which level is next.
fn lead<'r, S: System>(
    settings: &'r Settings,
    begin: Begin<'r>,
    store: &dyn Store,
    system: &mut S,
    reduction: &mut dyn Reduction<S>,
    crew: &Crew,
) -> Round<'r> {
    let _guard = StopOnPanic(crew);
    let share = Share::new(crew, 0);
    let (mut engine, mut segments, mut depth) = match begin {
        Begin::New(monitor) => {
            let mut engine = Engine::new(settings, store, share, monitor);
            engine.enter_initial(system);
            let states = std::mem::take(&mut engine.worklist.found);
            (engine, vec![Segment::new(states)], 0)
        }
        Begin::Paused(found, frontier) => {
            let engine = Engine::resume(store, share, *found);
            (engine, vec![Segment::new(frontier.states)], frontier.depth)
        }
    };
    let mut paused = None;
    let mut largest = 0;
    let mut states = count(&segments);
    while states > 0 && !engine.stopped {
        store.begin_level();
        let share = states / crew.workers;
        let level = Arc::new(Level {
            depth,
            workers: crew.workers,
            segments,
        });
        depth += 1;
        engine.worklist.level = Arc::clone(&level);
        engine.worklist.found = crew.room(0);
        let together = share >= WORTH_WAKING && crew.workers > 1;
        if together {
            crew.begin(&level, reduction.lessons());
        }
        engine.expand_waiting(system, reduction);
        if engine.stopped {
            crew.stop.store(true, Ordering::Relaxed);
        }
        segments = vec![Segment::new(std::mem::take(&mut engine.worklist.found))];
        if together {
            // The expansion of one state can take longer than the search is allowed to.
            let harvests = crew.gather(|| {
                engine.look();
                if engine.stopped {
                    crew.stop.store(true, Ordering::Relaxed);
                }
            });
            let mut lessons = reduction.lessons();
            segments.resize_with(crew.workers, Segment::default);
            for harvest in harvests {
                segments[harvest.worker].states = harvest.states;
                engine.findings.absorb(harvest.findings);
                engine.statistics.absorb(&harvest.statistics);
                engine.stopped |= harvest.stopped;
                // A limit that stops the search says more than one on depth.
                if engine.cut.is_none() || harvest.stopped && harvest.cut.is_some() {
                    engine.cut = harvest.cut;
                }
                if let (Some(lessons), Some(others)) = (&mut lessons, harvest.lessons) {
                    lessons.merge(others);
                }
            }
            if let Some(lessons) = lessons {
                reduction.adopt(&lessons);
            }
            engine.stopped |= crew.stop.load(Ordering::Relaxed);
            // Each worker has counted its own.
            engine.look_at_passed_states();
        }
        states = count(&segments);
        let next = segments.iter().map(|segment| segment.states.capacity());
        let both = level.capacity() + next.sum::<usize>();
        (crew.most_bytes).fetch_max(both * size_of::<StateId>(), Ordering::Relaxed);
        engine.worklist.level = Arc::default();
        crew.keep_room(level);
        let found = settings.stop == Stop::AtFirst && !engine.findings.list.is_empty();
        if found || crew.in_vain.load(Ordering::Relaxed) {
            break;
        }
        let is_large = || (settings.pause_at).is_some_and(|pause| pause.is_due(store));
        let because = if grows(settings, engine.states(), states, largest) {
            Some(Because::Grows)
        } else {
            is_large().then_some(Because::StoreIsLarge)
        };
        largest = largest.max(states);
        if let Some(because) = because
            && !engine.stopped
        {
            let states = segments.into_iter().flat_map(|segment| segment.states);
            let states = states.collect();
            paused = Some((Frontier { states, depth }, because));
            break;
        }
    }
    let mut orders = crew.orders();
    orders.done = true;
    crew.announce();
    drop(orders);
    engine.count_states();
    Round {
        stopped: engine.stopped,
        workers: crew.workers,
        paused,
        found: Found::by(engine).0,
    }
}
