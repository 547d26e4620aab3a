//! The search itself: takes nodes from a worklist, has the reduction expand them, stores
//! what is new and takes note of what is wrong.

use raddle_outcome::{Assumption, Kind};

use super::findings::{Candidate, Findings, Key};
use super::monitor::{Monitor, Progress};
use super::outcome::{Cause, Statistics, property_of};
use super::states::States;
use super::worklist::{Edge, Rank, Visit, Worklist};
use super::{Settings, Stop};
use crate::parts::{Changed, Packed, read_bytes, write_bytes};
use crate::property::{Property, PropertySet};
use crate::reduction::{BlockedThread, End, Race, Reduction, Visitor};
use crate::replay::{Legs, canonical_path, legs};
use crate::store::{Inserted, StateId, Store};
use crate::system::{Action, Fault, Footprint, Place, System};

/// A search under way.
pub(super) struct Engine<'r, St, W> {
    pub(super) settings: &'r Settings,
    pub(super) states: St,
    pub(super) worklist: W,
    pub(super) monitor: Monitor<'r>,
    pub(super) findings: Findings,
    pub(super) statistics: Statistics,
    /// The limit that cut the search. A search that is cut in depth, or where a state is too
    /// large, goes on elsewhere.
    pub(super) cut: Option<Assumption<Place>>,
    pub(super) stopped: bool,
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
    /// What the store wants and gives: the words of a state as bytes.
    bytes: Vec<u8>,
    words: Vec<u64>,
    /// What invariants have read; of no interest here.
    reads: Footprint,
}

impl<'r, St: Store, W: Worklist> Engine<'r, &mut St, W> {
    /// A search of the same from nothing.
    pub(super) fn start_again(self, worklist: W) -> Self {
        self.states.clear();
        let mut engine = Self::new(self.settings, self.states, worklist, self.monitor);
        engine.statistics.rounds = self.statistics.rounds;
        engine
    }
}

impl<'r, St: States, W: Worklist> Engine<'r, St, W> {
    pub(super) fn new(
        settings: &'r Settings,
        states: St,
        worklist: W,
        monitor: Monitor<'r>,
    ) -> Self {
        Self {
            settings,
            states,
            worklist,
            monitor,
            findings: Findings::default(),
            statistics: Statistics::default(),
            cut: None,
            stopped: false,
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
            bytes: Vec::new(),
            words: Vec::new(),
            reads: Footprint::new(),
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
        self.statistics.states = self.states.len() as u64;
        self.statistics.memory_bytes = self.progress().memory_bytes;
    }

    /// Expands what is in the worklist, and what comes in on the way.
    pub(super) fn expand_waiting<S: System>(
        &mut self,
        system: &mut S,
        reduction: &mut dyn Reduction<S>,
    ) {
        let mut expanded = 0;
        let mut most_expanded = None;
        let mut current = S::State::default();
        let mut first_found = None;
        while !self.stopped
            && let Some(visit) = self.worklist.next()
        {
            if let Some(first_found) = first_found
                && let Some(best) = self.findings.best()
                && self.settings.stop == Stop::AtFirst
                && self.worklist.settled(best, first_found, &visit)
            {
                break;
            }
            expanded += 1;
            if reduction.is_outdated() {
                // Mostly there is more to learn nearby, and a round for each bit of it would
                // be too many. But this one will have to be done again.
                let most = *most_expanded.get_or_insert(2 * expanded + EXPANSIONS_TO_LEARN_MORE);
                if expanded > most {
                    break;
                }
            }
            self.visit = visit;
            (self.states).read(visit.state, |bytes| read_bytes(bytes, &mut self.words));
            system.decode(&self.words, &mut current);
            system.find_parts(&self.words, &current, &mut self.current);
            let mut expansion = Expansion::<S, _, _> {
                engine: self,
                from: &current,
            };
            if W::TRACKS_THREADS {
                // It may have been new on a worse way than the best.
                expansion.check_state(system, &current, visit.node, visit.rank);
            }
            expansion.engine.asked_in_vain = 0;
            let effort = reduction.expand(system, &current, &mut expansion);
            self.held_bytes = reduction.held_bytes();
            if visit.first {
                self.statistics.transitions += effort.transitions;
                self.statistics.blocked_steps += effort.blocked_steps;
                self.statistics.ended_steps += effort.ended_steps;
                self.statistics.visited_states += effort.visited_states;
                self.statistics.forced_ends += effort.forced_ends;
                self.statistics.endless += effort.endless;
                self.statistics.cut_between += effort.cut_between;
            }
            self.note_extremes();
            if first_found.is_none() && !self.findings.list.is_empty() {
                first_found = Some(visit.rank);
                self.worklist.tell_found();
            }
            self.tick();
        }
    }

    pub(super) fn enter_initial<S: System>(&mut self, system: &mut S) {
        let initial = system.initial();
        system.encode(&initial, &mut self.packed);
        write_bytes(self.packed.words(), &mut self.bytes);
        let entered = self.states.insert(&self.bytes);
        match entered.and_then(|(root, _)| self.worklist.start(root)) {
            Ok(root) => Expansion::<S, _, _> {
                engine: self,
                from: &initial,
            }
            .check_state(system, &initial, root, Rank::default()),
            Err(_) => self.stop(Kind::StoreFull),
        }
        if self.settings.max_states == Some(0) {
            self.stop(Kind::States);
        }
    }

    fn note_extremes(&mut self) {
        let statistics = &mut self.statistics;
        let depth = u64::from(self.visit.rank.length);
        statistics.max_depth = statistics.max_depth.max(depth);
        let frontier = self.worklist.waiting() as u64;
        statistics.peak_frontier = statistics.peak_frontier.max(frontier);
    }

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
    fn tick(&mut self) {
        // A field of its own for the borrow checker: the rest is only read.
        let (states, worklist) = (&self.states, &self.worklist);
        let (statistics, visit, held_bytes) = (&self.statistics, &self.visit, self.held_bytes);
        let limit = self
            .monitor
            .tick(|| progress(states, worklist, statistics, visit, held_bytes));
        if let Some(limit) = limit {
            self.stop(limit);
        }
        self.stopped |= self.worklist.interrupted();
    }

    pub(super) fn progress(&self) -> Progress {
        progress(
            &self.states,
            &self.worklist,
            &self.statistics,
            &self.visit,
            self.held_bytes,
        )
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
        let states = self.states.len() as u64;
        self.settings.max_states.is_some_and(|max| states >= max)
    }

    fn has_too_many_switches(&self, rank: Rank) -> bool {
        let most = self.settings.max_switches;
        most.is_some_and(|most| rank.switches > most)
    }

    fn at_max_depth(&self) -> bool {
        let depth = u64::from(self.visit.rank.length);
        self.settings.max_depth.is_some_and(|max| depth >= max)
    }
}

fn progress<St: States, W: Worklist>(
    states: &St,
    worklist: &W,
    statistics: &Statistics,
    visit: &Visit,
    held_bytes: usize,
) -> Progress {
    Progress {
        states: states.len() as u64,
        transitions: statistics.transitions,
        frontier: worklist.waiting() as u64,
        depth: u64::from(visit.rank.length),
        memory_bytes: (states.memory_bytes() + worklist.memory_bytes() + held_bytes) as u64,
        elapsed: std::time::Duration::ZERO,
    }
}

/// How often an expansion may ask whether to go on when a violation is known that it cannot better:
/// more alternatives than most choices have, and few enough to take no time.
const QUESTIONS_AFTER_A_VIOLATION: u32 = 256;

/// How much longer a round goes on that is known to be in vain.
const EXPANSIONS_TO_LEARN_MORE: u64 = 64;

/// The expansion of one node: what the reduction reports to.
struct Expansion<'e, 'r, S: System, St, W> {
    engine: &'e mut Engine<'r, St, W>,
    from: &'e S::State,
}

impl<S: System, St: States, W: Worklist> Expansion<'_, '_, S, St, W> {
    /// Stores a boundary state and tells the worklist about the way to it.
    fn reach(&mut self, system: &mut S, path: &[Action], state: &S::State, changed: Changed) {
        let legs = self.legs_if_tracked(system, path);
        let engine = &mut *self.engine;
        if engine.has_too_many_switches(engine.visit.rank_after(path.is_empty(), legs)) {
            return;
        }
        engine.packed.copy_from(engine.current.parts());
        system.encode_changed(state, changed, &mut engine.packed);
        write_bytes(engine.packed.words(), &mut engine.bytes);
        if engine.at_max_depth() {
            // A state that is known is expanded anyway.
            if !engine.states.contains(&engine.bytes) {
                engine.cut.get_or_insert(Kind::Depth.into());
            }
            return;
        }
        if engine.at_max_states() && !engine.states.contains(&engine.bytes) {
            engine.stop(Kind::States);
            return;
        }
        let Ok((to, inserted)) = engine.states.insert(&engine.bytes) else {
            // Another worker may have taken the last place.
            let allowed = engine.at_max_states();
            engine.stop(if allowed {
                Kind::States
            } else {
                Kind::StoreFull
            });
            return;
        };
        let edge = Edge { to, inserted, legs };
        let Ok(node) = engine.worklist.edge(&engine.visit, edge) else {
            engine.stop(Kind::StoreFull);
            return;
        };
        if inserted == Inserted::New {
            let rank = engine.visit.rank_after(path.is_empty(), edge.legs);
            self.check_state(system, state, node, rank);
        }
    }

    /// Checks the state of a node of that rank.
    fn check_state(&mut self, system: &mut S, state: &S::State, node: u32, rank: Rank) {
        for (thread, fault) in system.failed_starts(state) {
            match property_of(fault.kind) {
                Err(limit) => {
                    self.engine.cut.get_or_insert(limit);
                }
                Ok(property) if self.checks(property) => {
                    let key = Key::Fault(property, fault.place);
                    self.engine.findings.record(key, rank, || Candidate {
                        cause: Cause::Start { thread, fault },
                        node,
                        path: Vec::new(),
                    });
                }
                Ok(_) => {
                    let visit = &self.engine.visit;
                    self.engine.statistics.faults_not_asked += u64::from(visit.first);
                }
            }
        }
        if !self.checks(Property::Invariant) {
            return;
        }
        self.engine.reads.clear();
        if let Some(fault) = system.broken_invariant(state, &mut self.engine.reads) {
            let key = Key::Fault(Property::Invariant, fault.place);
            self.engine.findings.record(key, rank, || Candidate {
                cause: Cause::Invariant { fault },
                node,
                path: Vec::new(),
            });
        }
    }

    fn checks(&self, property: Property) -> bool {
        self.engine.settings.properties.contains(property)
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

impl<S: System, St: States, W: Worklist> Visitor<S> for Expansion<'_, '_, S, St, W> {
    fn properties(&self) -> PropertySet {
        self.engine.settings.properties
    }

    fn successor(&mut self, system: &mut S, path: &[Action], state: &S::State, changed: Changed) {
        self.reach(system, path, state, changed);
    }

    fn fault(&mut self, system: &mut S, path: &[Action], fault: &Fault) -> bool {
        let property = match property_of(fault.kind) {
            Ok(property) => property,
            Err(limit) => {
                self.engine.cut.get_or_insert(limit);
                return false;
            }
        };
        if !self.checks(property) {
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
        if self.checks(Property::Race) {
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
            let statistics = &mut self.engine.statistics;
            *match end {
                End::Terminated => &mut statistics.terminated,
                End::Cut => &mut statistics.cut,
                End::Deadlock => &mut statistics.deadlocked,
                End::Failed => &mut statistics.failed,
            } += 1;
        }
        if end == End::Deadlock && self.checks(Property::Deadlock) {
            let named = |b: &BlockedThread| (system.thread_name(state, b.thread), b.place);
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
