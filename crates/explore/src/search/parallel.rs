//! Breadth-first with several workers: figure 8 of Gueta, Flanagan, Yahav, Sagiv, "Cartesian
//! Partial-Order Reduction" (2007), one level after another.
//!
//! All workers expand states of the same level, the paper's `WorkSet`; the store is the
//! paper's `CoveredSet`. A worker takes the states of the level in chunks, and keeps what
//! it finds new to itself. When nothing of the level is left, what all of them have found is
//! the next level. The levels are those of the sequential search, so distances, counts and
//! the point at which a search for the first violation stops are the same. Which of several
//! shortest ways to a state is remembered is a matter of chance.
//!
//! *It misses nothing:* a state enters the next level when it is inserted into the store, by the one
//! worker to whom the store says that it is new; and each state of a level is in one chunk,
//! which one worker takes.
//!
//! *It terminates when the sequential search does:* whoever has taken a chunk works it off, and
//! takes no other level before everybody has come to the end of this one. No level is begun
//! that is empty. A worker that is stopped by a limit or panics says so to all others, who leave
//! after the state that they are expanding.
//!
//! A small level is not worth the trouble of waking the others; the first worker does
//! it alone.

use std::ops::Range;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use raddle_outcome::Assumption;

use super::engine::Engine;
use super::findings::Findings;
use super::monitor::Monitor;
use super::outcome::Statistics;
use super::worklist::{Edge, Hop, NOBODY, Rank, Trails, Visit, Worklist, trail_of};
use super::{Found, Settings, Stop};
use crate::reduction::Reduction;
use crate::store::{Inserted, ShardedStore, StateId, StoreFull};
use crate::system::{Place, System};

/// Levels of fewer states than this per worker are expanded by one worker.
const WORTH_WAKING: usize = 16;

/// The most states that a worker takes at a time.
const LARGEST_CHUNK: usize = 64;

/// How long the first worker waits for the others before it looks at the clock.
const BETWEEN_LOOKS: Duration = Duration::from_millis(20);

/// A state, and that from which it was reached first.
#[derive(Clone, Copy)]
struct Link {
    state: u32,
    parent: u32,
}

/// The states at one distance from the initial one.
#[derive(Default)]
struct Level {
    depth: u32,
    links: Vec<Link>,
    /// The first that nobody has taken.
    next: AtomicUsize,
    chunk: usize,
}

impl Level {
    fn take_chunk(&self) -> Range<usize> {
        // Nothing else is published through the counter: links are read-only by now.
        let start = self.next.fetch_add(self.chunk, Ordering::Relaxed);
        let end = self.links.len();
        start.min(end)..(start + self.chunk).min(end)
    }
}

/// The part of one worker: a [`Worklist`] that takes states of the current level, and
/// keeps those of the next.
struct Share<'c> {
    crew: &'c Crew,
    level: Arc<Level>,
    chunk: Range<usize>,
    found: Vec<Link>,
}

impl<'c> Share<'c> {
    fn new(crew: &'c Crew) -> Self {
        Self {
            crew,
            level: Arc::default(),
            chunk: 0..0,
            found: Vec::new(),
        }
    }
}

impl Worklist for Share<'_> {
    const TRACKS_THREADS: bool = false;

    fn start(&mut self, root: StateId) -> Result<u32, StoreFull> {
        self.found.push(Link {
            state: root.0,
            parent: NOBODY,
        });
        Ok(root.0)
    }

    fn next(&mut self) -> Option<Visit> {
        if self.interrupted() {
            return None;
        }
        if self.chunk.is_empty() {
            self.chunk = self.level.take_chunk();
        }
        let link = self.level.links[self.chunk.next()?];
        Some(Visit {
            node: link.state,
            state: StateId(link.state),
            rank: Rank {
                switches: 0,
                length: self.level.depth,
            },
            last: None,
            first: true,
        })
    }

    fn edge(&mut self, from: &Visit, edge: Edge) -> Result<u32, StoreFull> {
        if edge.inserted == Inserted::New {
            self.found.push(Link {
                state: edge.to.0,
                parent: from.node,
            });
        }
        Ok(edge.to.0)
    }

    /// The level is finished first, as always with breadth first.
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

    fn waiting(&self) -> usize {
        let taken = self.level.next.load(Ordering::Relaxed);
        self.level.links.len().saturating_sub(taken) + self.chunk.len() + self.found.len()
    }

    fn memory_bytes(&self) -> usize {
        let links = self.crew.links.load(Ordering::Relaxed) + self.found.len();
        links * size_of::<Link>()
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
    /// The links of all levels so far.
    links: AtomicUsize,
}

#[derive(Default)]
struct Orders {
    /// The level to be expanded, and how many were before it.
    level: Arc<Level>,
    number: usize,
    /// How many workers besides the first have not come to its end.
    working: usize,
    /// Whether there is no more to do.
    done: bool,
    /// What these workers have brought back from it.
    harvests: Vec<Harvest>,
}

/// What a worker brings back from a level.
#[derive(Default)]
struct Harvest {
    links: Vec<Link>,
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

    fn wait<'g>(&self, orders: MutexGuard<'g, Orders>) -> MutexGuard<'g, Orders> {
        let orders = self.changed.wait(orders);
        orders.unwrap_or_else(PoisonError::into_inner)
    }

    /// Has the other workers begin with a level.
    fn begin(&self, level: &Arc<Level>, others: usize) {
        let mut orders = self.orders();
        orders.level = Arc::clone(level);
        orders.number += 1;
        orders.working = others;
        self.changed.notify_all();
    }

    /// Waits until the other workers have come to the end of the level, and calls `meanwhile`
    /// now and then.
    fn gather(&self, mut meanwhile: impl FnMut()) -> Vec<Harvest> {
        let mut orders = self.orders();
        while orders.working > 0 {
            let woken = self.changed.wait_timeout(orders, BETWEEN_LOOKS);
            let (guard, timeout) = woken.unwrap_or_else(PoisonError::into_inner);
            orders = guard;
            if timeout.timed_out() {
                meanwhile();
            }
        }
        std::mem::take(&mut orders.harvests)
    }

    /// What the others do: level after level, until there is no more.
    fn work<S: System>(
        &self,
        settings: &Settings,
        store: &ShardedStore,
        system: &mut S,
        reduction: &mut dyn Reduction<S>,
    ) {
        let _guard = StopOnPanic(self);
        let mut engine = Engine::new(settings, store, Share::new(self), Monitor::start());
        let mut seen = 0;
        loop {
            let mut orders = self.orders();
            while orders.number == seen && !orders.done {
                orders = self.wait(orders);
            }
            if orders.done {
                return;
            }
            seen = orders.number;
            engine.worklist.level = Arc::clone(&orders.level);
            drop(orders);

            engine.expand_waiting(system, reduction);
            let harvest = harvest(&mut engine);
            if harvest.stopped {
                self.stop.store(true, Ordering::Relaxed);
            }
            let mut orders = self.orders();
            orders.harvests.push(harvest);
            orders.working = orders.working.saturating_sub(1);
            self.changed.notify_all();
        }
    }
}

/// Takes what an engine has found in a level.
fn harvest(engine: &mut Engine<'_, &ShardedStore, Share<'_>>) -> Harvest {
    Harvest {
        links: std::mem::take(&mut engine.worklist.found),
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
            self.0.changed.notify_all();
        }
    }
}

/// The links between the states when the search has ended.
pub(super) struct Links {
    /// By numbers of states.
    parents: Vec<u32>,
}

impl Links {
    fn new(levels: &[Arc<Level>], last: &[Link]) -> Self {
        let links = || levels.iter().flat_map(|level| &level.links).chain(last);
        let bound = links().map(|link| link.state + 1).max().unwrap_or(0);
        let mut parents = vec![NOBODY; bound as usize];
        for link in links() {
            parents[link.state as usize] = link.parent;
        }
        Self { parents }
    }
}

impl Trails for Links {
    fn trail(&self, node: u32) -> Vec<Hop> {
        trail_of(node, |node| {
            let hop = Hop {
                state: StateId(node),
                last: None,
            };
            (hop, self.parents[node as usize])
        })
    }
}

/// Searches breadth-first with one worker for each of the reductions besides the first.
///
/// # Panics
///
/// If a worker does.
pub(super) fn run<'r, S: System + Clone + Send>(
    settings: &'r Settings,
    monitor: Monitor<'r>,
    store: &ShardedStore,
    system: &mut S,
    reduction: &mut dyn Reduction<S>,
    others: Vec<Box<dyn Reduction<S> + Send + '_>>,
) -> (Found<'r>, Links) {
    let crew = Crew::default();
    let systems: Vec<S> = others.iter().map(|_| system.clone()).collect();
    std::thread::scope(|scope| {
        let crew = &crew;
        let workers: Vec<_> = (others.into_iter().zip(systems))
            .map(|(mut reduction, mut system)| {
                scope.spawn(move || {
                    crew.work(settings, store, &mut system, reduction.as_mut());
                    system
                })
            })
            .collect();
        let result = lead(
            settings,
            monitor,
            store,
            system,
            reduction,
            crew,
            workers.len(),
        );
        for worker in workers {
            match worker.join() {
                Ok(other) => system.absorb(&other),
                Err(panic) => resume_unwind(panic),
            }
        }
        result
    })
}

/// What the first worker does: it says which level is next.
fn lead<'r, S: System>(
    settings: &'r Settings,
    monitor: Monitor<'r>,
    store: &ShardedStore,
    system: &mut S,
    reduction: &mut dyn Reduction<S>,
    crew: &Crew,
    others: usize,
) -> (Found<'r>, Links) {
    let _guard = StopOnPanic(crew);
    let mut engine = Engine::new(settings, store, Share::new(crew), monitor);
    let mut levels: Vec<Arc<Level>> = Vec::new();
    engine.enter_initial(system);
    let mut links = std::mem::take(&mut engine.worklist.found);
    let root = StateId(links.first().map_or(0, |link| link.state));
    while !links.is_empty() && !engine.stopped {
        let share = links.len() / (others + 1);
        let level = Arc::new(Level {
            depth: levels.len() as u32,
            next: AtomicUsize::new(0),
            // Small enough that all are busy until the end.
            chunk: (share / 8).clamp(1, LARGEST_CHUNK),
            links,
        });
        crew.links.fetch_add(level.links.len(), Ordering::Relaxed);
        engine.worklist.level = Arc::clone(&level);
        let together = share >= WORTH_WAKING;
        if together {
            crew.begin(&level, others);
        }
        levels.push(level);
        engine.expand_waiting(system, reduction);
        if engine.stopped {
            crew.stop.store(true, Ordering::Relaxed);
        }
        links = std::mem::take(&mut engine.worklist.found);
        if together {
            // The expansion of one state can take longer than the search is allowed to.
            let harvests = crew.gather(|| {
                engine.look();
                if engine.stopped {
                    crew.stop.store(true, Ordering::Relaxed);
                }
            });
            for harvest in harvests {
                links.extend(harvest.links);
                engine.findings.absorb(harvest.findings);
                engine.statistics.absorb(&harvest.statistics);
                engine.stopped |= harvest.stopped;
                // A limit that stops the search says more than one on depth.
                if engine.cut.is_none() || harvest.stopped && harvest.cut.is_some() {
                    engine.cut = harvest.cut;
                }
            }
            engine.stopped |= crew.stop.load(Ordering::Relaxed);
        }
        if settings.stop == Stop::AtFirst && !engine.findings.list.is_empty() {
            break;
        }
    }
    let mut orders = crew.orders();
    orders.done = true;
    crew.changed.notify_all();
    drop(orders);
    let links = if engine.findings.list.is_empty() {
        // Only counterexamples need them.
        Links::new(&[], &[])
    } else {
        Links::new(&levels, &links)
    };
    engine.count_states();
    (Found::by(engine, root).0, links)
}
