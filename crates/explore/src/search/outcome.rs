//! [`Outcome`]: what a search found out.

use std::time::Duration;

use raddle_outcome::{Assumption, Ends, Explored, Extent, Kind, LeftOut};

use raddle_store::{Approximation, Remembers};

use crate::lock_order::Deadlocks;
use crate::property::{Property, PropertySet};
use crate::reduction::{BlockedThread, Race};
use crate::search::Order;
use crate::system::{Action, Fault, Place, Position};

/// Everything that a search found out. All reports are derived from this value.
///
/// The violation that is reached first in the order of the search comes first. There is at most one unless
/// [all](super::Search::collect_all) were asked for. Violations are real whatever the search has left out.
pub type Outcome = raddle_outcome::Outcome<Asked, Place, Violation, Statistics, Noticed>;

/// What a search was asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asked {
    /// The properties that were checked.
    pub properties: PropertySet,
    /// In which order.
    pub order: Order,
    /// The name of the reduction.
    pub reduction: &'static str,
}

/// What a search noticed beyond what it was asked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Noticed {
    /// What a reduction that does not preserve deadlocks can tell about them anyway, if
    /// the search was complete.
    pub deadlocks: Option<Deadlocks>,
    /// Whether there may be a data race, if races were not asked for and the search was complete.
    pub may_race: bool,
    /// If counterexamples with the fewest context switches were asked for: the limit that ended the
    /// search for one with fewer than those that were found.
    pub switches_cut: Option<Assumption<Place>>,
    /// Whether states that differ only in which of several [interchangeable](crate::symmetry) threads is where were one state.
    pub used_symmetry: bool,
    /// The name of the store that was used last.
    pub store: &'static str,
    /// The memory of that store in bytes, by what it is taken for.
    pub memory: Vec<(&'static str, u64)>,
}

/// What a search has explored that has expanded what it could: all executions, but for what it was told to leave out.
pub(super) struct Account {
    /// The limit that cut the search, if one did.
    pub(super) cut: Option<Assumption<Place>>,
    /// The properties that were asked for, and that the reduction does not preserve.
    pub(super) not_preserved: PropertySet,
    /// Whether every execution that was seen to its end was cut by an assumption of the program.
    pub(super) vacuous: bool,
    /// Whether it stopped at a violation.
    pub(super) stopped_early: bool,
    /// What is known of states that were missed, if the store was not exact.
    pub(super) approximation: Option<Approximation>,
}

impl Account {
    pub(super) fn explored(self, statistics: &Statistics) -> Explored<Place> {
        let mut explored = Explored::default();
        if let Some(limit) = self.cut {
            explored.assume(limit);
        }
        if let Some(approximation) = self.approximation {
            explored.assume(missed(approximation));
        }
        not_preserved(&mut explored, self.not_preserved);
        if self.vacuous {
            explored.ended(&statistics.ends);
        }
        match (statistics.ends.cut, statistics.cut_between) {
            (0, 0) => {}
            (0, _) => explored.assume(Kind::Assume),
            (cut, _) => {
                let states = if cut == 1 { "end state" } else { "end states" };
                explored.assume(Assumption::from(Kind::Assume).because(format!("{cut} {states}")));
            }
        }
        // A search that does not stop at a violation ends when it is cut, or when nothing is left to expand.
        explored.covered(LeftOut::default().covering(match self.stopped_early {
            true => Extent::Some,
            false => Extent::All,
        }));
        explored
    }
}

/// What an answer rests on that was found with a store that is not exact.
fn missed(approximation: Approximation) -> Assumption<Place> {
    let kind = match approximation.remembers {
        Remembers::Fingerprints => Kind::Fingerprints,
        Remembers::Bits => Kind::Bits,
    };
    let probability = match approximation.missed {
        missed if missed >= 0.001 => format!("{missed:.3}"),
        missed => format!("{missed:.1e}"),
    };
    Assumption::from(kind).because(format!("with a probability of at most {probability}"))
}

/// The verdict is about these properties too, which the reduction does not preserve. They are named in place of those
/// that were named before.
pub fn not_preserved(explored: &mut Explored<Place>, lost: PropertySet) {
    if !lost.is_empty() {
        explored.assume(Kind::NotPreserved);
        explored.explain(|kind| (kind == Kind::NotPreserved).then(|| lost.to_string()));
    }
}

/// A violation and a schedule that leads to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// What is wrong.
    pub cause: Cause,
    /// The moves from the initial state, as [`replay`](crate::replay()) takes them: the
    /// state is brought into canonical form after each. The last move is the one that
    /// fails, if one does; otherwise the schedule ends in the state that is wrong.
    pub schedule: Vec<Action>,
    /// How often the schedule changes from one thread to another.
    pub switches: usize,
}

/// What is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cause {
    /// A step failed: the last of the schedule.
    Fault {
        /// The thread that made it, by its position in the state before.
        thread: Position,
        /// What happened.
        fault: Fault,
    },
    /// A thread has failed before its first step: that was part of the step that started it, or
    /// of the initial state.
    Start {
        /// The thread, by its position in the last state.
        thread: Position,
        /// What happened.
        fault: Fault,
    },
    /// An invariant does not hold in the last state.
    Invariant {
        /// Which.
        fault: Fault,
    },
    /// Nothing can move in the last state.
    Deadlock {
        /// Who is blocked where, by positions in that state.
        blocked: Vec<BlockedThread>,
    },
    /// Two threads are about to race in the last state.
    Race(Race),
    /// The execution does not end: the last part of the schedule leads back to the state in which it
    /// began, and can be repeated for ever. That treats no thread unfairly.
    Endless {
        /// How many moves of the schedule come before the part that repeats.
        repeats_from: usize,
        /// Who moves in that part, by positions in the state in which it begins or in which they
        /// move first, and where.
        moving: Vec<(Position, Place)>,
    },
}

impl Violation {
    /// The property that is violated.
    #[must_use]
    pub fn property(&self) -> Property {
        match &self.cause {
            Cause::Fault { fault, .. } | Cause::Start { fault, .. } => {
                let property = fault.kind.property();
                property.expect("what only cuts the search is no violation")
            }
            Cause::Invariant { .. } => Property::Invariant,
            Cause::Deadlock { .. } => Property::Deadlock,
            Cause::Race(_) => Property::Race,
            Cause::Endless { .. } => Property::Termination,
        }
    }

    /// Who is involved, in the order of [`places`](Self::places); for an invariant
    /// nobody in particular.
    #[must_use]
    pub fn threads(&self) -> Vec<Position> {
        match &self.cause {
            Cause::Fault { thread, .. } | Cause::Start { thread, .. } => vec![*thread],
            Cause::Invariant { .. } => Vec::new(),
            Cause::Deadlock { blocked } => blocked.iter().map(|b| b.thread).collect(),
            Cause::Race(race) => vec![race.first.thread, race.second.thread],
            Cause::Endless { moving, .. } => moving.iter().map(|(thread, _)| *thread).collect(),
        }
    }

    /// The places involved.
    #[must_use]
    pub fn places(&self) -> Vec<Place> {
        match &self.cause {
            Cause::Fault { fault, .. }
            | Cause::Start { fault, .. }
            | Cause::Invariant { fault } => vec![fault.place],
            Cause::Deadlock { blocked } => blocked.iter().map(|b| b.place).collect(),
            Cause::Race(race) => vec![race.first.access.place, race.second.access.place],
            Cause::Endless { moving, .. } => moving.iter().map(|(_, place)| *place).collect(),
        }
    }

    /// What is wrong, for people.
    #[must_use]
    pub fn message(&self) -> &str {
        match &self.cause {
            Cause::Fault { fault, .. }
            | Cause::Start { fault, .. }
            | Cause::Invariant { fault } => &fault.message,
            Cause::Deadlock { .. } => "deadlock",
            Cause::Race(_) => "data race",
            Cause::Endless { .. } => "the execution does not end",
        }
    }
}

/// What a search did, in numbers.
///
/// States and steps are counted once, however often a state was expanded: a search
/// that was neither cut nor ended by a violation has the same numbers in every order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Boundary states that were stored.
    pub states: u64,
    /// Steps that were executed.
    pub transitions: u64,
    /// Steps that were tried and blocked.
    pub blocked_steps: u64,
    /// Threads that were found to have ended, once per state.
    pub ended_steps: u64,
    /// Boundary states and all states between them, if those were to be counted.
    pub visited_states: u64,
    /// Boundary states that are there only because an execution could go on for ever
    /// without meeting another.
    pub forced_ends: u64,
    /// States between boundary states that count for the [limit](super::Search::max_states): those of prefixes and transactions that were ended by force because they
    /// went through very many.
    pub passed_states: u64,
    /// How often a thread could go on for ever without meeting a boundary state.
    pub endless: u64,
    /// How often an assumption cut some executions of a thread between boundary states; those
    /// are no end states.
    pub cut_between: u64,
    /// Steps that failed in a way that was not asked for.
    pub faults_not_asked: u64,
    /// How often the search started, because the reduction learned more on the way.
    pub rounds: u64,
    /// The greatest number of expansions from the initial state to one that was expanded,
    /// on the way that the search took.
    pub max_depth: u64,
    /// The end states.
    pub ends: Ends,
    /// The most nodes that waited to be expanded.
    pub peak_frontier: u64,
    /// The memory of store, links and frontier.
    pub memory_bytes: u64,
    /// How many threads expanded states. It can be one although more were
    /// [allowed](super::Search::workers).
    pub workers: usize,
    /// The time it took.
    pub elapsed: Duration,
}

impl Statistics {
    /// Adds what another worker of the same search did.
    pub(super) fn absorb(&mut self, other: &Self) {
        self.transitions += other.transitions;
        self.blocked_steps += other.blocked_steps;
        self.ended_steps += other.ended_steps;
        self.visited_states += other.visited_states;
        self.forced_ends += other.forced_ends;
        self.passed_states += other.passed_states;
        self.endless += other.endless;
        self.cut_between += other.cut_between;
        self.faults_not_asked += other.faults_not_asked;
        self.ends.absorb(&other.ends);
        self.max_depth = self.max_depth.max(other.max_depth);
        self.peak_frontier = self.peak_frontier.max(other.peak_frontier);
    }
}
