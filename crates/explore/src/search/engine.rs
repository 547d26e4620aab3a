//! The search itself: takes nodes from a worklist, has the reduction expand them, stores
//! what is new and takes note of what is wrong.

use raddle_outcome::{Assumption, Kind};
use raddle_store::{Batch, Inserted, Insertion, StateId, Store, Tell, Worker};

use super::findings::{Candidate, Findings, Key};
use super::monitor::{Monitor, Progress};
use super::outcome::{Cause, Statistics};
use super::worklist::{Edge, Rank, Visit, Worklist};
use super::{Found, Search, Settings, Stop};
use crate::parts::{Changed, Packed};
use crate::property::{Property, PropertySet};
use crate::reduction::{BlockedThread, Effort, End, Race, Reduction, Visitor};
use crate::replay::{Legs, canonical_path, legs};
use crate::system::{Action, Fault, Footprint, Place, System};

/// A search under way.
pub(super) struct Engine<'r, 's, W> {
    pub(super) settings: &'r Settings,
    pub(super) store: &'s dyn Store,
    /// Absent only while it is flushed.
    worker: Option<Box<dyn Worker + 's>>,
    /// What is to be inserted.
    batch: Batch,
    /// How each state of the batch was reached, but for the last ones that were reached [plainly](Queued::plainly).
    queued: Vec<Queued>,
    /// The nodes that were visited since the batch was empty, if anything is to be told of them.
    visits: Vec<Visit>,
    pub(super) worklist: W,
    pub(super) monitor: Monitor<'r>,
    pub(super) findings: Findings,
    pub(super) statistics: Statistics,
    /// The limit that cut the search. A search that is cut in depth, or where a state is too
    /// large, goes on elsewhere.
    pub(super) cut: Option<Assumption<Place>>,
    pub(super) stopped: bool,
    pub(super) root: StateId,
    /// The node that is being expanded.
    visit: Visit,
    /// How much memory the reduction held when it last said so.
    held_bytes: usize,
    /// How often this expansion has asked whether to go on since a violation is known that
    /// cannot be bettered by it.
    asked_in_vain: u32,
    /// The expanded state, and the successor that is looked at.
    current: Packed,
    packed: Packed,
    /// How many states were expanded in this round, and how many may be, if it is in vain.
    expanded: u64,
    most_expanded: Option<u64>,
    /// Whether there is something to check in every state, or only in those with new threads.
    checks_all_states: bool,
    checks_new_threads: bool,
    /// What invariants have read; of no interest here.
    reads: Footprint,
}

/// How a state of a batch was reached.
#[derive(Clone)]
struct Queued {
    /// From which of the nodes that were visited, or from any.
    from: Option<u32>,
    path_is_empty: bool,
    /// Whether there is anything to check in the state, should it be new.
    to_check: bool,
    legs: Option<Legs>,
}

impl Queued {
    /// By [`Engine::expand_plainly`]: all nodes that are expanded so are as far from the initial state as the present one.
    fn plainly(to_check: bool) -> Self {
        Self {
            from: None,
            path_is_empty: false,
            to_check,
            legs: None,
        }
    }
}

/// How many states are inserted together.
const BATCH: usize = 64;

impl<'r, 's, W: Worklist> Engine<'r, 's, W> {
    pub(super) fn new(
        settings: &'r Settings,
        store: &'s dyn Store,
        worklist: W,
        monitor: Monitor<'r>,
    ) -> Self {
        Self {
            settings,
            store,
            worker: Some(store.worker()),
            batch: Batch::default(),
            queued: Vec::new(),
            visits: Vec::new(),
            worklist,
            monitor,
            findings: Findings::default(),
            statistics: Statistics::default(),
            cut: None,
            stopped: false,
            root: StateId(0),
            visit: Visit {
                node: 0,
                state: StateId(0),
                rank: Rank::default(),
                last: None,
                first: true,
            },
            held_bytes: 0,
            asked_in_vain: 0,
            current: Packed::default(),
            packed: Packed::default(),
            expanded: 0,
            most_expanded: None,
            checks_all_states: true,
            checks_new_threads: true,
            reads: Footprint::new(),
        }
    }

    /// Goes on with what was found, in another store.
    pub(super) fn resume(store: &'s dyn Store, worklist: W, found: Found<'r>) -> Self {
        Self {
            findings: found.findings,
            statistics: found.statistics,
            cut: found.cut,
            root: found.root,
            ..Self::new(found.settings, store, worklist, found.monitor)
        }
    }

    /// Searches until there is nothing left to do or reason to stop. If the reduction is
    /// outdated then, all this was only to learn.
    pub(super) fn run<S: System>(&mut self, system: &mut S, reduction: &mut dyn Reduction<S>) {
        reduction.begin_round();
        self.statistics.rounds += 1;
        self.enter_initial(system);
        self.expand_waiting(system, reduction);
        self.count_states();
    }

    pub(super) fn count_states(&mut self) {
        self.statistics.states = self.store.len() as u64;
        self.statistics.memory_bytes = self.progress().memory_bytes;
    }

    /// Expands what is in the worklist, and what comes in on the way.
    pub(super) fn expand_waiting<S: System>(
        &mut self,
        system: &mut S,
        reduction: &mut dyn Reduction<S>,
    ) {
        self.checks_all_states = self.checks(Property::Invariant) && system.has_invariants();
        self.checks_new_threads = system.starts_threads();
        let mut current = S::State::default();
        let mut representative = S::State::default();
        let mut first_found = None;
        while !self.stopped {
            let Some(visit) = self.worklist.next() else {
                if self.batch.is_empty() {
                    break;
                }
                self.flush(system);
                continue;
            };
            if let Some(first_found) = first_found
                && let Some(best) = self.findings.best()
                && self.settings.stop == Stop::AtFirst
                && self.worklist.settled(best, first_found, &visit)
            {
                break;
            }
            self.expanded += 1;
            if reduction.is_outdated() {
                // Mostly there is more to learn nearby, and a round for each bit of it would
                // be too many. But this one will have to be done again.
                let most = 2 * self.expanded + EXPANSIONS_TO_LEARN_MORE;
                if self.expanded > *self.most_expanded.get_or_insert(most) {
                    self.worklist.give_up();
                    break;
                }
            }
            self.visit = visit;
            let worker = self.worker.as_mut().expect("it is not being flushed");
            worker.begin(visit.state, &mut self.batch);
            if !self.expand_plainly(system, reduction) {
                self.expand(system, reduction, &mut current, &mut representative);
            }
            self.note_depth();
            if first_found.is_none() && !self.findings.list.is_empty() {
                first_found = Some(visit.rank);
                self.worklist.tell_found();
            }
            self.tick();
        }
        self.flush(system);
        if !self.findings.list.is_empty() {
            self.worklist.tell_found();
        }
    }

    /// Has the node expanded whose state was begun. There is room for that state, and for representatives of its successors.
    fn expand<S: System>(
        &mut self,
        system: &mut S,
        reduction: &mut dyn Reduction<S>,
        current: &mut S::State,
        representative: &mut S::State,
    ) {
        let visit = self.visit;
        if self.batch.is_empty() {
            self.visits.clear();
        }
        self.visits.push(visit);
        let words = self.batch.begun();
        system.decode(words, current);
        system.find_parts(words, current, &mut self.current);
        if W::TRACKS_THREADS {
            // It may have been new on a worse way than the best.
            self.check_state(system, current, visit.node, visit.rank, visit.first);
        }
        self.asked_in_vain = 0;
        let mut expansion = Expansion::<S, _> {
            engine: self,
            from: current,
            representative,
        };
        let effort = reduction.expand(system, current, &mut expansion);
        self.held_bytes = reduction.held_bytes();
        if visit.first {
            self.count(&effort);
            self.look_at_passed_states();
        }
        if W::AT_ONCE {
            self.flush(system);
        }
    }

    /// Expands the node whose state was begun without looking at each step, if nobody wants to know more of them. Says whether it has.
    #[inline]
    fn expand_plainly<S: System>(
        &mut self,
        system: &mut S,
        reduction: &mut dyn Reduction<S>,
    ) -> bool {
        let looks_at_steps = !W::BY_DISTANCE || self.at_max_depth() || self.nears_max_states();
        if looks_at_steps {
            return false;
        }
        let properties = self.settings.properties;
        let Some(effort) = reduction.expand_plainly(system, properties, &mut self.batch) else {
            return false;
        };
        self.count(&effort);
        if self.batch.len() >= BATCH || self.nears_max_states() {
            self.flush(system);
        }
        true
    }

    fn count(&mut self, effort: &Effort) {
        let statistics = &mut self.statistics;
        statistics.transitions += effort.transitions;
        statistics.blocked_steps += effort.blocked_steps;
        statistics.ended_steps += effort.ended_steps;
        statistics.visited_states += effort.visited_states;
        statistics.forced_ends += effort.forced_ends;
        statistics.passed_states += effort.passed_states;
        statistics.endless += effort.endless;
        statistics.cut_between += effort.cut_between;
    }

    /// Inserts the batch, and takes note of what is new.
    fn flush<S: System>(&mut self, system: &mut S) {
        if self.batch.is_empty() {
            return;
        }
        let mut batch = std::mem::take(&mut self.batch);
        let queued = std::mem::take(&mut self.queued);
        let mut worker = self.worker.take().expect("it is not being flushed");
        let mut state = None;
        let plainly = Queued::plainly(self.checks_all_states);
        worker.flush(&mut batch, W::TELL, &mut |number, words, insertion| {
            let reached = queued.get(number).unwrap_or(&plainly);
            self.arrive(system, reached, words, insertion, &mut state);
        });
        self.worker = Some(worker);
        self.batch = batch;
        self.queued = queued;
        self.queued.clear();
        self.visits.clear();
        self.visits.push(self.visit);
        // More wait than before only now.
        let frontier = self.worklist.waiting() as u64;
        let statistics = &mut self.statistics;
        statistics.peak_frontier = statistics.peak_frontier.max(frontier);
    }

    /// Tells the worklist about the way to a state, and checks the state if it is new.
    fn arrive<S: System>(
        &mut self,
        system: &mut S,
        queued: &Queued,
        words: &[u64],
        insertion: Insertion,
        state: &mut Option<S::State>,
    ) {
        let Ok((to, inserted)) = insertion else {
            let allowed = self.at_max_states();
            self.stop(if allowed {
                Kind::States
            } else {
                Kind::StoreFull
            });
            return;
        };
        let edge = Edge {
            to,
            inserted,
            legs: queued.legs,
        };
        let from = match queued.from {
            Some(from) => &self.visits[from as usize],
            None => &self.visit,
        };
        let Ok(node) = self.worklist.edge(from, edge) else {
            self.stop(Kind::StoreFull);
            return;
        };
        if inserted == Inserted::New && queued.to_check {
            let rank = from.rank_after(queued.path_is_empty, queued.legs);
            let first = from.first;
            let state = state.get_or_insert_default();
            system.decode(words, state);
            self.check_state(system, state, node, rank, first);
        }
    }

    pub(super) fn enter_initial<S: System>(&mut self, system: &mut S) {
        let mut initial = system.initial();
        system.represent(&mut initial);
        system.encode(&initial, &mut self.packed);
        self.batch.push(self.packed.parts(), Changed::ALL);
        let mut entered = None;
        let worker = self.worker.as_mut().expect("it is not being flushed");
        worker.flush(&mut self.batch, Tell::All, &mut |_, _, insertion| {
            entered = insertion.ok();
        });
        self.root = entered.map_or(self.root, |(root, _)| root);
        match entered.and_then(|(root, _)| self.worklist.start(root).ok()) {
            Some(root) => self.check_state(system, &initial, root, Rank::default(), true),
            None => self.stop(Kind::StoreFull),
        }
        if self.settings.max_states == Some(0) {
            self.stop(Kind::States);
        }
    }

    #[inline]
    fn note_depth(&mut self) {
        let depth = u64::from(self.visit.rank.length);
        self.statistics.max_depth = self.statistics.max_depth.max(depth);
    }

    #[cold]
    fn stop(&mut self, limit: Kind) {
        self.stopped = true;
        self.cut = Some(limit.into());
    }

    /// Looks for limits at once.
    pub(super) fn look(&mut self) {
        self.monitor.hurry();
        self.tick();
    }

    /// Looks for limits that are too slow to look for at every step.
    #[inline(always)]
    fn tick(&mut self) {
        if self.monitor.is_due() {
            let progress = self.progress();
            if let Some(limit) = self.monitor.look(progress) {
                self.stop(limit);
            }
        }
        if let Some(few) = self.settings.while_small {
            self.look_whether_small(few);
        }
        self.stopped |= self.worklist.interrupted();
    }

    fn look_whether_small(&mut self, few: u64) {
        if self.states() >= Search::MANY * few {
            self.stop(Kind::States);
        }
    }

    #[cold]
    pub(super) fn progress(&self) -> Progress {
        let memory = self.store.memory_bytes() + self.worklist.memory_bytes() + self.held_bytes;
        Progress {
            states: self.store.len() as u64,
            transitions: self.statistics.transitions,
            frontier: self.worklist.waiting() as u64,
            depth: u64::from(self.visit.rank.length),
            memory_bytes: memory as u64,
            ..Progress::default()
        }
    }

    /// Checks the state of a node of that rank. `first` says whether what it counts was not counted before.
    fn check_state<S: System>(
        &mut self,
        system: &mut S,
        state: &S::State,
        node: u64,
        rank: Rank,
        first: bool,
    ) {
        for (thread, fault) in system.failed_starts(state) {
            match fault.kind.property() {
                Err(limit) => {
                    self.cut.get_or_insert(limit);
                }
                Ok(property) if self.checks(property) => {
                    let key = Key::Fault(property, fault.place);
                    self.findings.record(key, rank, || Candidate {
                        cause: Cause::Start { thread, fault },
                        node,
                        path: Vec::new(),
                    });
                }
                Ok(_) => {
                    self.statistics.faults_not_asked += u64::from(first);
                }
            }
        }
        if !self.checks(Property::Invariant) {
            return;
        }
        self.reads.clear();
        if let Some(fault) = system.broken_invariant(state, &mut self.reads) {
            let key = Key::Fault(Property::Invariant, fault.place);
            self.findings.record(key, rank, || Candidate {
                cause: Cause::Invariant { fault },
                node,
                path: Vec::new(),
            });
        }
    }

    fn checks(&self, property: Property) -> bool {
        self.settings.properties.contains(property)
    }

    /// Whether the rest of the expansion can be left out, because a violation is known than which
    /// it has none better: whatever comes after a move from here is one expansion further away.
    /// (Of two races or deadlocks in one state, one is enough.)
    ///
    /// A few more alternatives are looked at all the same: a violation at the same distance may
    /// have a schedule with fewer context switches.
    fn has_enough(&mut self) -> bool {
        let best_after_a_move = Rank {
            length: self.visit.rank.length + 1,
            ..self.visit.rank
        };
        let known = self
            .findings
            .best()
            .is_some_and(|best| best <= best_after_a_move)
            || self.worklist.found_elsewhere();
        if self.settings.stop == Stop::Never || !known {
            return false;
        }
        self.asked_in_vain += 1;
        self.asked_in_vain > QUESTIONS_AFTER_A_VIOLATION
    }

    fn at_max_states(&self) -> bool {
        let states = self.store.len() as u64;
        self.settings.max_states.is_some_and(|max| states >= max)
    }

    /// Stops if states that were passed through are too many together with those that are stored. Whether they are by the end of the search depends neither on the order nor on
    /// how many workers there are.
    pub(super) fn look_at_passed_states(&mut self) {
        let is_too_much = |max| self.states() > max;
        if self.statistics.passed_states > 0 && self.settings.max_states.is_some_and(is_too_much) {
            self.stop(Kind::States);
        }
    }

    /// How many states there are, with those that were passed through.
    pub(super) fn states(&self) -> u64 {
        self.store.len() as u64 + self.statistics.passed_states
    }

    /// Whether the batch could be more than allowed. What is beyond it ends the search at once.
    fn nears_max_states(&self) -> bool {
        let states = || (self.store.len() + self.batch.len()) as u64;
        (self.settings.max_states).is_some_and(|max| states() >= max)
    }

    fn has_too_many_switches(&self, rank: Rank) -> bool {
        let most = self.settings.max_switches;
        most.is_some_and(|most| rank.switches > most)
    }

    fn at_max_depth(&self) -> bool {
        self.visit.is_at_depth(self.settings.max_depth)
    }
}

/// How often an expansion may ask whether to go on when a violation is known that it cannot better:
/// more alternatives than most choices have, and few enough to take no time.
const QUESTIONS_AFTER_A_VIOLATION: u32 = 256;

/// How much longer a round goes on that is known to be in vain.
const EXPANSIONS_TO_LEARN_MORE: u64 = 64;

/// The expansion of one node: what the reduction reports to.
struct Expansion<'e, 'r, 's, S: System, W> {
    engine: &'e mut Engine<'r, 's, W>,
    from: &'e S::State,
    representative: &'e mut S::State,
}

impl<S: System, W: Worklist> Expansion<'_, '_, '_, S, W> {
    /// Stores a boundary state and tells the worklist about the way to it.
    fn reach(&mut self, system: &mut S, path: &[Action], state: &S::State, changed: Changed) {
        let legs = self.legs_if_tracked(system, path);
        let engine = &mut *self.engine;
        if W::TRACKS_THREADS
            && engine.has_too_many_switches(engine.visit.rank_after(path.is_empty(), legs))
        {
            return;
        }
        let (state, changed) = match system.is_symmetric() {
            false => (state, changed),
            true => {
                self.representative.clone_from(state);
                system.represent(self.representative);
                (&*self.representative, Changed::ALL)
            }
        };
        let before = engine.current.parts();
        let (words, changed) = system.encode_successor(before, changed, state, &mut engine.packed);
        if engine.visit.is_at_depth(engine.settings.max_depth) {
            // A state that is known is expanded anyway. All of this distance are known, or are
            // not wanted: none is queued.
            let worker = engine.worker.as_mut().expect("it is not being flushed");
            if worker.find(words).is_none() {
                engine.cut.get_or_insert(Kind::Depth.into());
            }
            return;
        }
        engine.batch.push(words, changed);
        let plainly = Queued::plainly(engine.checks_all_states);
        engine.queued.resize(engine.batch.len() - 1, plainly);
        engine.queued.push(Queued {
            from: Some(engine.visits.len() as u32 - 1),
            path_is_empty: path.is_empty(),
            to_check: engine.checks_all_states || engine.checks_new_threads && system.failed(state),
            legs,
        });
        if engine.batch.len() >= BATCH || engine.nears_max_states() {
            engine.flush(system);
        }
    }

    fn legs_if_tracked(&self, system: &mut S, path: &[Action]) -> Option<Legs> {
        if !W::TRACKS_THREADS {
            return None;
        }
        let schedule = canonical_path(system, self.from, path);
        legs(system, self.from, &schedule)
    }

    /// Takes note of a violation after a path from the node that is being expanded.
    fn record(
        &mut self,
        system: &mut S,
        key: Key,
        path: &[Action],
        cause: impl FnOnce(&[Action]) -> Cause,
    ) {
        let legs = self.legs_if_tracked(system, path);
        let visit = self.engine.visit;
        let rank = visit.rank_after(path.is_empty(), legs);
        if self.engine.has_too_many_switches(rank) {
            return;
        }
        let from = self.from;
        self.engine.findings.record(key, rank, || {
            let path = canonical_path(system, from, path);
            Candidate {
                cause: cause(&path),
                node: visit.node,
                path,
            }
        });
    }
}

impl<S: System, W: Worklist> Visitor<S> for Expansion<'_, '_, '_, S, W> {
    fn properties(&self) -> PropertySet {
        self.engine.settings.properties
    }

    fn successor(&mut self, system: &mut S, path: &[Action], state: &S::State, changed: Changed) {
        self.reach(system, path, state, changed);
    }

    fn fault(&mut self, system: &mut S, path: &[Action], fault: &Fault) -> bool {
        let property = match fault.kind.property() {
            Ok(property) => property,
            Err(limit) => {
                self.engine.cut.get_or_insert(limit);
                return false;
            }
        };
        if !self.engine.checks(property) {
            self.engine.statistics.faults_not_asked += u64::from(self.engine.visit.first);
            return true;
        }
        if self.engine.at_max_depth() {
            self.engine.cut.get_or_insert(Kind::Depth.into());
            return false;
        }
        let key = Key::Fault(property, fault.place);
        self.record(system, key, path, |path| Cause::Fault {
            thread: path[path.len() - 1].thread,
            fault: fault.clone(),
        });
        self.engine.settings.stop == Stop::Never
    }

    fn race(&mut self, system: &mut S, path: &[Action], _: &S::State, race: &Race) {
        if self.engine.checks(Property::Race) {
            let places = [race.first.access.place, race.second.access.place];
            let key = Key::Race(places[0].min(places[1]), places[0].max(places[1]));
            self.record(system, key, path, |_| Cause::Race(*race));
        }
    }

    fn end(
        &mut self,
        system: &mut S,
        path: &[Action],
        state: &S::State,
        end: End,
        blocked: &[BlockedThread],
    ) {
        if self.engine.visit.first {
            end.count_in(&mut self.engine.statistics.ends);
        }
        if end == End::Deadlock && self.engine.checks(Property::Deadlock) {
            let named = |b: &BlockedThread| {
                let mut state = state.clone();
                let thread = system.represent_following(&mut state, b.thread);
                (system.thread_name(&state, thread), b.place)
            };
            let mut names: Vec<_> = blocked.iter().map(named).collect();
            names.sort_unstable();
            self.record(system, Key::Deadlock(names), path, |_| Cause::Deadlock {
                blocked: blocked.to_vec(),
            });
        }
    }

    fn interrupted(&mut self, held_bytes: usize) -> bool {
        self.engine.held_bytes = held_bytes;
        self.engine.tick();
        self.engine.stopped || self.engine.has_enough()
    }
}
