//! [`Search`]: one engine for every order, reduction and store.
//!
//! A search is set up by a builder and gives an [`Outcome`]. The engine takes nodes from a
//! worklist, has the reduction expand them and stores what is new; an order of search
//! is a worklist. The schedule of a counterexample is found again by expanding the states on the way to it.
//! [Several workers](Search::workers) are several engines.

mod blocks;
mod breadth_first;
mod counterexample;
mod depth_first;
mod engine;
mod fewer_switches;
mod fewest_switches;
mod findings;
mod monitor;
mod outcome;
mod retrace;
mod space;
mod stores;
mod straighten;
mod termination;
#[cfg(test)]
mod tests;
mod vacuity;
mod worklist;

pub use monitor::Progress;
pub use outcome::{Asked, Cause, Noticed, Outcome, Statistics, Violation, not_preserved};
pub use stores::{HashWidth, StoreKind};

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use raddle_outcome::{Assumption, Kind};
use raddle_store::{StateId, Store};

use crate::property::{Property, PropertySet};
use crate::reduction::Reduction;
use crate::system::{Place, System};
use breadth_first::{Because, Begin};
use engine::Engine;
use findings::{Finding, Findings};
use monitor::{Monitor, OnProgress};
use outcome::Account;
use retrace::Retraced;
use space::Space;
use stores::{Limits, Pause, Stage};
use straighten::Straightener;
use worklist::{Trails, Worklist};

/// In which order states are expanded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Order {
    /// By distance from the initial state. A counterexample has the fewest expansions
    /// possible (steps, for the full search), and of those of its length the fewest
    /// context switches, unless telling that would take over two million expansions or
    /// there are hundreds of ends to choose from.
    #[default]
    BreadthFirst,
    /// Always the state that was reached last.
    DepthFirst,
    /// By the number of context switches, then by distance. A counterexample has the fewest
    /// switches of all schedules, also of those that the reduction leaves out: after a violation
    /// was found, the full system is searched for one with fewer switches, unless a limit ends that
    /// ([`Noticed::switches_cut`]). States are expanded once for every thread that can have
    /// moved last; the statistics count them once, and the second search not at all.
    FewestSwitches,
}

/// When a search stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stop {
    AtFirst,
    Never,
}

/// What a search is to do.
struct Settings {
    order: Order,
    properties: PropertySet,
    stop: Stop,
    max_states: Option<u64>,
    /// Pauses if there are more and more states.
    while_small: Option<u64>,
    max_depth: Option<u64>,
    /// Leaves out what takes more context switches, if the order counts them.
    max_switches: Option<u32>,
    /// When a search by distance pauses at the end of a level.
    pause_at: Option<Pause>,
}

/// A search to be: what to look for, in which order, and when to give up.
///
/// ```
/// use raddle_explore::{
///     Property, Search, Verdict, reductions::full::Full, testing::{Counters, Op},
/// };
///
/// // One thread sets the counter, the other one hopes that it did.
/// let mut system = Counters::new(&[&[Op::Set(0, 1)], &[Op::Assert(0, 1)]]);
/// let outcome = Search::new().run(&mut system, &mut Full::default());
///
/// assert_eq!(outcome.verdict(), Verdict::Violation);
/// let violation = &outcome.violations[0];
/// assert_eq!(violation.property(), Property::Assertion);
/// assert_eq!(violation.schedule.len(), 1);
/// ```
#[must_use = "a search does nothing until it is run"]
pub struct Search<'a> {
    settings: Settings,
    timeout: Option<Duration>,
    max_memory: Option<u64>,
    cancel: Option<Arc<AtomicBool>>,
    on_progress: Option<OnProgress<'a>>,
    workers: usize,
    store: StoreKind,
    /// Whether to go on when there are more and more states.
    go_on: Option<Box<dyn FnOnce() -> bool + 'a>>,
}

impl Default for Search<'_> {
    fn default() -> Self {
        Self::new()
    }
}

impl<'a> Search<'a> {
    /// A breadth-first search for the first violation of the default properties, without
    /// limits.
    pub fn new() -> Self {
        Self {
            settings: Settings {
                order: Order::default(),
                properties: PropertySet::default(),
                stop: Stop::AtFirst,
                max_states: None,
                while_small: None,
                max_depth: None,
                max_switches: None,
                pause_at: None,
            },
            timeout: None,
            max_memory: None,
            cancel: None,
            on_progress: None,
            workers: 1,
            store: StoreKind::default(),
            go_on: None,
        }
    }

    /// Sets the order in which states are expanded.
    pub fn order(mut self, order: Order) -> Self {
        self.settings.order = order;
        self
    }

    /// Sets the properties to check.
    pub fn properties(mut self, properties: PropertySet) -> Self {
        self.settings.properties = properties;
        self
    }

    /// Does not stop at the first violation, but finds every distinct one: those that
    /// differ in their property or in the places involved, deadlocks in who is
    /// blocked where. A thread that failed stops, and the others go on. Of the
    /// invariants that are broken in one state, only the first counts.
    pub fn collect_all(mut self) -> Self {
        self.settings.stop = Stop::Never;
        self
    }

    /// Stores at most that many states. [States that were passed through](Statistics::passed_states) count too.
    pub fn max_states(mut self, states: u64) -> Self {
        self.settings.max_states = Some(states);
        self
    }

    /// A search of [few states](Self::while_small) gives up where there are so many times as many.
    pub const MANY: u64 = 4;

    /// Asks whether to go on when there are more states than that at the end of a level; unless levels have
    /// become smaller, for then the end is near. If not, it gives up, as if that were the [limit](Self::max_states). If so, there is no limit
    /// any more.
    ///
    /// Without asking, it gives up where there are [some times](Self::MANY) as many. In other orders than breadth-first, nobody is asked.
    pub fn while_small(mut self, states: u64, go_on: impl FnOnce() -> bool + 'a) -> Self {
        self.settings.while_small = Some(states);
        self.go_on = Some(Box::new(go_on));
        self
    }

    /// Takes no state that is more than that many expansions from the initial one.
    pub fn max_depth(mut self, depth: u64) -> Self {
        self.settings.max_depth = Some(depth);
        self
    }

    /// Takes at most about that much memory for states, links and frontier. It
    /// is looked at now and then, so one growth of the store may go beyond it.
    pub fn max_memory(mut self, bytes: u64) -> Self {
        self.max_memory = Some(bytes);
        self
    }

    /// Stops after about that time.
    pub fn timeout(mut self, time: Duration) -> Self {
        self.timeout = Some(time);
        self
    }

    /// Stops soon after the flag has become true.
    pub fn cancel(mut self, flag: Arc<AtomicBool>) -> Self {
        self.cancel = Some(flag);
        self
    }

    /// Reports the progress, at most ten times per second.
    pub fn on_progress(mut self, report: impl FnMut(&Progress) + 'a) -> Self {
        self.on_progress = Some(Box::new(report));
        self
    }

    /// Lets that many threads expand states at the same time, each with its own copy of the
    /// system. Verdict, violations and counts are the same, and so are counterexamples, up to the choice among
    /// equally good ones.
    ///
    /// Only a breadth-first search is shared out, and only with a reduction that
    /// [allows it](Reduction::for_another_worker). [`Statistics::workers`] says how many there were.
    pub fn workers(mut self, workers: usize) -> Self {
        self.workers = workers;
        self
    }

    /// Sets where states are kept.
    pub fn store(mut self, store: StoreKind) -> Self {
        self.store = store;
        self
    }

    /// Runs the search.
    ///
    /// # Panics
    ///
    /// If the system does, or if the expansion of a state by the reduction is not the same
    /// whenever it is asked for.
    pub fn run<S: System + Clone + Send>(
        self,
        system: &mut S,
        reduction: &mut dyn Reduction<S>,
    ) -> Outcome {
        let stages = self.store.stages(self.max_memory);
        let mut store = stages[0].kind.new_store(self.limits(), None);
        self.run_through(system, reduction, store.as_mut(), &stages)
    }

    fn limits(&self) -> Limits {
        let most = |limit: Option<u64>| match limit {
            Some(limit) => usize::try_from(limit.max(1)).unwrap_or(usize::MAX),
            None => usize::MAX,
        };
        Limits {
            states: most(self.settings.max_states),
            bytes: most(self.max_memory),
        }
    }

    /// Runs the search with a given store, which must be empty.
    ///
    /// # Panics
    ///
    /// If the store is not empty, if the system panics, or if the expansion of a state by the reduction is
    /// not the same whenever it is asked for.
    pub fn run_in<S: System + Clone + Send>(
        self,
        system: &mut S,
        reduction: &mut dyn Reduction<S>,
        store: &mut dyn Store,
    ) -> Outcome {
        self.run_through(system, reduction, store, &[])
    }

    /// Runs the search with a given store, and if it goes by distance, goes over to the stores after the first stage.
    fn run_through<S: System + Clone + Send>(
        self,
        system: &mut S,
        reduction: &mut dyn Reduction<S>,
        store: &mut dyn Store,
        stages: &[Stage],
    ) -> Outcome {
        assert!(store.is_empty(), "a search must start with an empty store");
        let names_matter = self.settings.order == Order::FewestSwitches
            || self.settings.properties.contains(Property::Termination);
        if names_matter && let Some(mut plain) = system.without_symmetry() {
            let outcome = self.run_through(&mut plain, reduction, store, stages);
            system.absorb(&plain);
            return outcome;
        }
        let is_symmetric = system.is_symmetric();
        assert!(
            !(names_matter && is_symmetric),
            "a symmetric system has a twin without symmetry"
        );
        match self.settings.order {
            Order::BreadthFirst => self.run_by_levels(system, reduction, store, stages),
            Order::DepthFirst => {
                self.run_by(system, reduction, store, depth_first::DepthFirst::new)
            }
            Order::FewestSwitches => {
                let new = fewest_switches::FewestSwitches::new;
                self.run_by(system, reduction, store, new)
            }
        }
    }

    fn run_by_levels<S: System + Clone + Send>(
        mut self,
        system: &mut S,
        reduction: &mut dyn Reduction<S>,
        store: &mut dyn Store,
        stages: &[Stage],
    ) -> Outcome {
        let allowed = self.workers.max(1);
        let limits = self.limits();
        let mut go_on = self.go_on.take();
        let (settings, monitor) = self.start();
        let pauses = || stages.iter().map(|stage| stage.until).chain([None]);
        let by_stage = |while_small| -> Vec<Settings> {
            let by_stage = pauses().map(|pause_at| Settings {
                pause_at,
                while_small,
                ..settings
            });
            by_stage.collect()
        };
        let (while_small, for_long) = (by_stage(settings.while_small), by_stage(None));
        let mut all_settings = &while_small;
        let mut stage = 0;
        // What a search has gone over to.
        let mut smaller: Option<Box<dyn Store>> = None;
        let mut begin = Begin::New(monitor);
        let mut rounds = 1;
        let (found, workers) = loop {
            let now = smaller.as_deref().unwrap_or(&*store);
            let settings = &all_settings[stage];
            let round = breadth_first::run(settings, begin, now, system, reduction, allowed);
            let mut found = round.found;
            found.statistics.rounds = rounds;
            if let Some((mut frontier, because)) = round.paused {
                if because == Because::Grows {
                    if !go_on.take().is_some_and(|go_on| go_on()) {
                        found.cut = Some(Kind::States.into());
                        break (found, round.workers);
                    }
                    all_settings = &for_long;
                    let found = found.with_settings(&all_settings[stage]);
                    begin = Begin::Paused(Box::new(found), frontier);
                    continue;
                }
                stage += 1;
                let form = stores::learn(system, now);
                let target = stages[stage].kind.new_store(limits, form);
                if stores::copy_all(system, now, target.as_ref()).is_err() {
                    found.cut = Some(Kind::StoreFull.into());
                    break (found, round.workers);
                }
                let mut nodes: Vec<_> = found.findings.nodes_mut().map(|n| StateId(*n)).collect();
                let renamed = (frontier.states.iter_mut()).chain(&mut nodes);
                let renamed = renamed.chain([&mut found.root]);
                stores::rename(system, now, target.as_ref(), renamed);
                for (node, StateId(new)) in found.findings.nodes_mut().zip(nodes) {
                    *node = new;
                }
                store.clear();
                smaller = Some(target);
                let settings = &all_settings[stage];
                begin = Begin::Paused(Box::new(found.with_settings(settings)), frontier);
                continue;
            }
            if !reduction.is_outdated() {
                break (found, round.workers);
            }
            // What was found is real, but cannot be told: it will be found again.
            found.findings = Findings::default();
            // One that was cut but not stopped, in depth for one, has learned all the same.
            if round.stopped {
                break (found, round.workers);
            }
            begin = Begin::New(found.monitor);
            rounds += 1;
            // The next round needs as much memory.
            match &mut smaller {
                Some(smaller) => smaller.clear(),
                None => store.clear(),
            }
        };
        let last = smaller.as_deref().unwrap_or(&*store);
        let (mut outcome, _) = conclude(found, last, None, system, reduction);
        outcome.statistics.workers = workers;
        if workers > 1 && reduction.lessons().is_none() {
            // What the other workers have seen is not known.
            outcome.noticed.may_race |= outcome.explored.cut().is_none()
                && !outcome.asked.properties.contains(Property::Race);
        }
        outcome
    }

    fn run_by<S: System, W: Worklist + Trails>(
        self,
        system: &mut S,
        reduction: &mut dyn Reduction<S>,
        store: &mut dyn Store,
        new_worklist: fn() -> W,
    ) -> Outcome {
        let (settings, mut monitor) = self.start();
        let mut rounds = 0;
        let (found, worklist) = loop {
            let mut engine = Engine::new(&settings, &*store, new_worklist(), monitor);
            engine.statistics.rounds = rounds;
            engine.run(system, reduction);
            let outdated = reduction.is_outdated();
            if outdated {
                // What was found is real, but cannot be told: it will be found again.
                engine.findings = Findings::default();
            }
            // One that was cut but not stopped, in depth for one, has learned all the same.
            let again = outdated && !engine.stopped;
            let (found, worklist) = Found::by(engine);
            if !again {
                break (found, worklist);
            }
            rounds = found.statistics.rounds;
            monitor = found.monitor;
            store.clear();
        };
        let (mut outcome, monitor) = conclude(found, store, Some(&worklist), system, reduction);
        drop(worklist);
        if settings.order == Order::FewestSwitches && !reduction.keeps_every_step() {
            fewer_switches::improve(&mut outcome, &settings, monitor, store, system);
        }
        outcome
    }

    fn start(self) -> (Settings, Monitor<'a>) {
        let mut monitor = Monitor::start();
        monitor.timeout = self.timeout;
        monitor.max_memory = self.max_memory;
        monitor.cancel = self.cancel;
        monitor.on_progress = self.on_progress;
        (self.settings, monitor)
    }
}

/// What a search that has ended leaves behind, besides the states and the ways to them.
struct Found<'r> {
    settings: &'r Settings,
    monitor: Monitor<'r>,
    findings: Findings,
    statistics: Statistics,
    cut: Option<Assumption<Place>>,
    progress: Progress,
    root: StateId,
}

impl<'r> Found<'r> {
    /// The same for a search with other settings.
    fn with_settings(self, settings: &'r Settings) -> Self {
        Self { settings, ..self }
    }

    /// What an engine has found, and its worklist.
    fn by<W: Worklist>(engine: Engine<'r, '_, W>) -> (Self, W) {
        let found = Self {
            settings: engine.settings,
            progress: engine.progress(),
            monitor: engine.monitor,
            findings: engine.findings,
            statistics: engine.statistics,
            cut: engine.cut,
            root: engine.root,
        };
        (found, engine.worklist)
    }
}

/// Makes the outcome of a search that has ended.
///
/// Without trails, the order was by distance, and how states were reached is found again if it is needed.
fn conclude<'r, S: System>(
    found: Found<'r>,
    store: &dyn Store,
    trails: Option<&dyn Trails>,
    system: &mut S,
    reduction: &mut dyn Reduction<S>,
) -> (Outcome, Monitor<'r>) {
    let Found {
        settings,
        mut monitor,
        findings,
        mut statistics,
        mut cut,
        progress,
        root,
    } = found;
    let lost = settings.properties.minus(reduction.preserves());
    let reduction_name = reduction.name();
    let keeps_every_step = reduction.keeps_every_step();
    let races_unknown = !settings.properties.contains(Property::Race);
    let stopped_early = settings.stop == Stop::AtFirst && !findings.list.is_empty();
    let saw_all = cut.is_none() && store.approximation().is_none();
    let may_race = races_unknown && saw_all && reduction.may_race();
    let deadlocks = (reduction.deadlocks()).filter(|_| saw_all && !stopped_early);
    let memory = store.memory().into_iter();
    let memory = memory.map(|(what, bytes)| (what, bytes as u64)).collect();
    store.end_reading();
    let mut space = Space::new(system, reduction, store, settings.properties);

    let mut findings = match settings.stop {
        Stop::AtFirst => findings.into_best().into_iter().collect(),
        Stop::Never => findings.list,
    };
    findings.sort_by_key(|finding| finding.rank);
    // A store that is exact needs a few bytes for each state.
    let most_bytes = match (store.approximation(), monitor.max_memory) {
        (Some(_), Some(most)) => usize::try_from(most).unwrap_or(usize::MAX),
        _ => usize::MAX,
    };
    let most_bytes = most_bytes.saturating_sub(store.memory_bytes());
    let retraced = match trails {
        None if !findings.is_empty() => {
            let wanted = findings.iter().flat_map(Finding::nodes).collect();
            let retraced = Retraced::new(&mut space, root, &wanted, most_bytes);
            if retraced.is_err() {
                let why = "a violation was found, but to tell how it is reached takes more";
                cut = Some(Assumption::from(Kind::Memory).because(why));
                findings.clear();
            }
            retraced.ok()
        }
        _ => None,
    };
    let trails = trails.or(retraced.as_ref().map(|retraced| retraced as &dyn Trails));
    let mut straightener = Straightener {
        budget: straighten::MOST_EXPANSIONS,
        edges: straighten::MOST_EDGES,
        interrupted: &mut || monitor.tick(|| progress).is_some(),
    };
    let mut violations: Vec<_> = findings
        .into_iter()
        .map(|finding| {
            let trails = trails.expect("there are some if anything was found");
            counterexample::violation(&mut space, trails, root, finding, &mut straightener)
        })
        .collect();

    let approximation = store.approximation();
    let has_all_states = cut.is_none()
        && !stopped_early
        && settings.max_switches.is_none()
        && approximation.is_none();
    // Only a graph of all states, with all steps between them, tells which executions go on for
    // ever.
    if has_all_states && keeps_every_step && settings.properties.contains(Property::Termination) {
        let mut interrupted = |held_bytes: usize| {
            monitor.tick(|| Progress {
                memory_bytes: progress.memory_bytes + held_bytes as u64,
                ..progress
            })
        };
        match termination::endless(space.system, space.store, root, &mut interrupted) {
            Ok(None) => {}
            Ok(Some(lasso)) => violations.push(counterexample::endless(space.system, lasso)),
            Err(limit) => cut = Some(limit.into()),
        }
    }

    let all_cut = statistics.ends.are_all_cut() && statistics.endless == 0;
    let mut vacuous = false;
    if violations.is_empty() && cut.is_none() && has_all_states && all_cut {
        match vacuity::has_cycle(&mut space, root, || monitor.tick(|| progress)) {
            Ok(cycle) => vacuous = !cycle,
            Err(limit) => cut = Some(limit.into()),
        }
    }
    statistics.elapsed = monitor.started.elapsed();
    statistics.workers = 1;
    let account = Account {
        cut,
        not_preserved: lost,
        vacuous,
        stopped_early,
        approximation,
    };
    let outcome = Outcome {
        asked: Asked {
            properties: settings.properties,
            order: settings.order,
            reduction: reduction_name,
        },
        explored: account.explored(&statistics),
        violations,
        statistics,
        noticed: Noticed {
            deadlocks,
            may_race,
            switches_cut: None,
            used_symmetry: space.system.is_symmetric(),
            store: store.name(),
            memory,
        },
    };
    (outcome, monitor)
}
