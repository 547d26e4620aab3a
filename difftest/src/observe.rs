//! One search of one program, and what is worth comparing of it.

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;
use std::time::Duration;

use raddle_explore::{
    Assumption, FaultKind, Kind, Order, Outcome, Place, Property, PropertySet, Reduction, Search,
};
use raddle_machine::{Machine, Program};

use crate::granularity_of;
use crate::lock_sets::LockSets;
use crate::recorder::{Failed, Recorder};

/// Programs with more states are given up.
pub const MOST_STATES: u64 = 5_000;

/// No program of that size takes so long, unless something hangs.
const MOST_TIME: Duration = Duration::from_secs(30);

/// What a search came to.
pub struct Observation {
    /// What the search says.
    pub outcome: Outcome,
    /// The local states that were reached.
    pub local_states: HashSet<Vec<u8>>,
    /// The failures that steps met.
    pub failed: BTreeSet<Failed>,
    /// The locks that protect each variable, by the full search.
    pub lock_sets: Option<LockSets>,
    /// The goals that were not reached.
    pub unreached_goals: Vec<usize>,
}

/// What is made of interchangeable threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Symmetry {
    /// They are threads like others.
    Ignored,
    /// Their local states are those of one thread, but all threads are searched.
    Recorded,
    /// The search exchanges them.
    Used,
}

/// Searches for all violations of the properties.
pub fn observe(
    program: &Arc<Program>,
    reduction: &mut dyn Reduction<Recorder>,
    order: Order,
    properties: PropertySet,
    symmetry: Symmetry,
) -> Observation {
    let machine = Machine::new(Arc::clone(program), granularity_of(program))
        .with_symmetry(symmetry != Symmetry::Ignored);
    let mut recorder = Recorder::new(machine, symmetry == Symmetry::Used);
    recorder.lock_sets = (reduction.name() == "full").then(LockSets::default);
    let outcome = Search::new()
        .order(order)
        .properties(properties)
        .collect_all()
        .max_states(MOST_STATES)
        .timeout(MOST_TIME)
        .run(&mut recorder, reduction);
    Observation {
        unreached_goals: recorder.machine().unreached_goals(),
        outcome,
        local_states: recorder.local_states,
        failed: recorder.failed,
        lock_sets: recorder.lock_sets,
    }
}

impl Observation {
    /// The limit that cut the search.
    #[must_use]
    pub fn cut(&self) -> Option<&Assumption<Place>> {
        self.outcome.explored.cut()
    }

    /// The places of the violations of a property, those of each violation in order.
    #[must_use]
    pub fn places(&self, property: Property) -> BTreeSet<Vec<Place>> {
        let violations = self.outcome.violations.iter();
        violations
            .filter(|violation| violation.property() == property)
            .map(|violation| {
                let mut places = violation.places();
                places.sort_unstable();
                places
            })
            .collect()
    }

    /// Whether a property is violated.
    #[must_use]
    pub fn violates(&self, property: Property) -> bool {
        let mut violations = self.outcome.violations.iter();
        violations.any(|violation| violation.property() == property)
    }

    /// The failures of a kind that steps met.
    #[must_use]
    pub fn failed_by(&self, kind: FaultKind) -> BTreeSet<&Failed> {
        let failed = self.failed.iter();
        failed.filter(|(_, met, _)| *met == kind).collect()
    }

    /// Whether every execution was cut by an assumption.
    #[must_use]
    pub fn is_vacuous(&self) -> bool {
        let rests_on = self.outcome.explored.assumptions();
        rests_on.find(Kind::Vacuous).is_some() && rests_on.find(Kind::NotPreserved).is_none()
    }

    /// Whether no execution ended otherwise than by an assumption. Then it depends on the
    /// properties that were asked for whether the verdict says so.
    #[must_use]
    pub fn ends_only_by_assumptions(&self) -> bool {
        self.outcome.statistics.ends.are_all_cut()
    }
}
