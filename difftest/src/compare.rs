//! Whether a reduction agrees with the full search on a program.

use std::collections::BTreeSet;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use raddle_explore::lock_order::Deadlocks;
use raddle_explore::reductions::{self, full::Full};
use raddle_explore::{FaultKind, Order, Property, PropertySet, Reduction};
use raddle_machine::{Machine, Program, counterexample};

use crate::granularity_of;
use crate::observe::{Observation, Symmetry, observe};
use crate::recorder::{Failed, Recorder};

/// A reduction that is to be compared.
pub struct Contender {
    /// What it is called.
    pub name: String,
    /// Whether it exchanges interchangeable threads. Then it is compared only where there are some.
    symmetry: bool,
    make: Box<dyn Fn() -> Box<dyn Reduction<Recorder>> + Send + Sync>,
}

impl Contender {
    /// A reduction of which new instances can be made.
    pub fn new<R: Reduction<Recorder> + 'static>(
        make: impl Fn() -> R + Send + Sync + 'static,
    ) -> Self {
        Self {
            name: make().name().to_owned(),
            symmetry: false,
            make: Box::new(move || Box::new(make())),
        }
    }

    /// Every reduction in the list, `full` among them: its orders are compared. Each without symmetry and with it.
    #[must_use]
    pub fn all() -> Vec<Self> {
        let names = reductions::all::<Recorder>();
        let contender = |name: &'static str, symmetry: bool| Self {
            name: match symmetry {
                false => name.to_owned(),
                true => format!("{name}, symmetric"),
            },
            symmetry,
            make: Box::new(|| reductions::by_name(name).expect("it is in the list")),
        };
        let names = names.iter().map(|reduction| reduction.name());
        let plain = names.clone().map(|name| contender(name, false));
        plain
            .chain(names.map(|name| contender(name, true)))
            .collect()
    }
}

/// In what a reduction differs from the full search.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Aspect {
    /// It panicked.
    Panic,
    /// It was cut where the full search was not.
    Cut,
    /// Other assertions fail, or in other threads; or other errors are met.
    Failures,
    /// Deadlock or no deadlock.
    Deadlock,
    /// Data races or none.
    Race,
    /// Other invariants are broken.
    Invariants,
    /// Other goals are reached.
    Goals,
    /// Other local states of threads are reached.
    LocalStates,
    /// Other variables are without a lock.
    LockSets,
    /// Every execution is cut, or not.
    Vacuity,
    /// It stores more states than there are.
    MoreStates,
    /// A schedule does not lead to its violation.
    Schedule,
    /// The numbers depend on the order, or change from one search to the next.
    Counts,
}

/// A difference between a reduction and the full search.
#[derive(Clone, Debug)]
pub struct Disagreement {
    /// The reduction.
    pub contender: String,
    /// In what they differ.
    pub aspect: Aspect,
    /// How.
    pub details: String,
}

impl fmt::Display for Disagreement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            contender,
            aspect,
            details,
        } = self;
        write!(f, "{contender}: {aspect:?}: {details}")
    }
}

/// What came of comparing one program.
#[derive(Default)]
pub struct Examined {
    /// The states of the full search.
    pub full_states: u64,
    /// There are too many of them, and nothing was compared.
    pub given_up: bool,
    /// What is violated.
    pub violated: BTreeSet<Property>,
    /// Every execution is cut.
    pub vacuous: bool,
    /// For each contender, the states that it stored, and whether it met all
    /// pairs of places that race. That it meets some is enough.
    pub contenders: Vec<Contended>,
    /// All differences.
    pub disagreements: Vec<Disagreement>,
}

/// What one contender did.
#[derive(Clone, Copy, Debug, Default)]
pub struct Contended {
    /// The states that it stored.
    pub states: u64,
    /// Whether the program has races, and not all of their pairs of places were met.
    pub missed_race_pairs: bool,
}

/// Compares all contenders with the full search on one program.
#[must_use]
pub fn examine<'c>(
    program: &Arc<Program>,
    contenders: impl IntoIterator<Item = &'c Contender>,
) -> Examined {
    let observe_full = |symmetry: Symmetry| {
        let (reduction, order) = (&mut Full::default(), Order::BreadthFirst);
        observe(program, reduction, order, PropertySet::SAFETY, symmetry)
    };
    let full = observe_full(Symmetry::Ignored);
    let mut examined = Examined {
        full_states: full.outcome.statistics.states,
        given_up: full.cut().is_some(),
        violated: full
            .outcome
            .violations
            .iter()
            .map(|v| v.property())
            .collect(),
        ..Examined::default()
    };
    if examined.given_up {
        return examined;
    }
    examined.vacuous = is_vacuous(program, &full, PropertySet::default());
    let is_symmetric = raddle_machine::Symmetry::of(program).is_some();
    let full_up_to_names = is_symmetric.then(|| observe_full(Symmetry::Recorded));
    for contender in contenders {
        let full = match (contender.symmetry, &full_up_to_names) {
            (false, _) => &full,
            (true, Some(up_to_names)) => up_to_names,
            (true, None) => {
                examined.contenders.push(Contended::default());
                continue;
            }
        };
        let mut comparison = Comparison {
            program,
            full,
            contender,
            preserved: PropertySet::NONE,
            contended: Contended::default(),
            disagreements: Vec::new(),
        };
        let finished = catch_unwind(AssertUnwindSafe(|| comparison.run()));
        if let Err(panic) = finished {
            let message = panic
                .downcast_ref::<String>()
                .map(String::as_str)
                .or_else(|| panic.downcast_ref::<&str>().copied())
                .unwrap_or("(no message)");
            comparison.disagree(Aspect::Panic, message);
        }
        examined.contenders.push(comparison.contended);
        examined.disagreements.extend(comparison.disagreements);
    }
    examined
}

/// Whether the full search for some of the properties is vacuous.
fn is_vacuous(program: &Arc<Program>, full: &Observation, properties: PropertySet) -> bool {
    let mut violations = full.outcome.violations.iter();
    if violations.any(|violation| properties.contains(violation.property())) {
        return false;
    }
    if full.outcome.violations.is_empty() || !full.ends_only_by_assumptions() {
        return full.is_vacuous();
    }
    // There are violations, but of other properties. So nobody has looked for cycles.
    let mut reduction = Full::default();
    let order = Order::BreadthFirst;
    observe(
        program,
        &mut reduction,
        order,
        properties,
        Symmetry::Ignored,
    )
    .is_vacuous()
}

struct Comparison<'c> {
    program: &'c Arc<Program>,
    full: &'c Observation,
    contender: &'c Contender,
    preserved: PropertySet,
    contended: Contended,
    disagreements: Vec<Disagreement>,
}

impl Comparison<'_> {
    fn run(&mut self) {
        let mut reduction = (self.contender.make)();
        self.preserved = reduction.preserves();
        if self.contender.symmetry {
            // It is looked for without.
            self.preserved = self.preserved.without(Property::Termination);
        }
        let first = self.observe(reduction.as_mut(), Order::BreadthFirst);
        self.contended.states = first.outcome.statistics.states;
        self.compare(&first);
        self.compare_lock_sets(reduction.as_ref());
        let excluded = first.outcome.noticed.deadlocks == Some(Deadlocks::Excluded);
        if excluded && self.full.violates(Property::Deadlock) {
            self.disagree(Aspect::Deadlock, "excluded by the order of locks");
        }
        let mut other = (self.contender.make)();
        let depth_first = self.observe(other.as_mut(), Order::DepthFirst);
        self.compare(&depth_first);
        self.compare_counts("depth-first", &first, &depth_first);
        // The reduction of the first search once more, with whatever it has learned.
        let again = self.observe(reduction.as_mut(), Order::BreadthFirst);
        self.compare_counts("once more", &first, &again);
    }

    fn observe(&self, reduction: &mut dyn Reduction<Recorder>, order: Order) -> Observation {
        let symmetry = match self.contender.symmetry {
            false => Symmetry::Ignored,
            true => Symmetry::Used,
        };
        observe(self.program, reduction, order, self.preserved, symmetry)
    }

    fn compare(&mut self, reduced: &Observation) {
        if let Some(limit) = reduced.cut() {
            self.disagree(Aspect::Cut, limit.to_string());
            return;
        }
        self.compare_failures(reduced);
        let [found, expected] = [reduced, self.full].map(|o| o.violates(Property::Deadlock));
        self.expect(Property::Deadlock, Aspect::Deadlock, &expected, &found);
        let [found, expected] = [reduced, self.full].map(|o| o.violates(Property::Race));
        self.expect(Property::Race, Aspect::Race, &expected, &found);
        let [found, expected] = [reduced, self.full].map(|o| o.places(Property::Race));
        self.contended.missed_race_pairs |=
            self.preserved.contains(Property::Race) && found != expected;
        let [found, expected] = [reduced, self.full].map(|o| o.places(Property::Invariant));
        self.expect(Property::Invariant, Aspect::Invariants, &expected, &found);
        let [found, expected] = [reduced, self.full].map(|o| &o.unreached_goals);
        self.expect(Property::Assertion, Aspect::Goals, expected, found);
        let expected = is_vacuous(self.program, self.full, self.preserved);
        let found = reduced.is_vacuous();
        // Who does not see the deadlocks may take all that ends for cut.
        let sees_ends =
            self.preserved.contains(Property::Deadlock) || !self.full.violates(Property::Deadlock);
        if sees_ends || expected {
            self.expect(Property::Assertion, Aspect::Vacuity, &expected, &found);
        }
        self.compare_local_states(reduced);
        let [found, all] = [reduced, self.full].map(|o| o.outcome.statistics.states);
        if found > all {
            let details = format!("{found} states, but there are only {all}");
            self.disagree(Aspect::MoreStates, details);
        }
        let granularity = granularity_of(self.program);
        for violation in &reduced.outcome.violations {
            if let Err(problem) = counterexample::verify(self.program, granularity, violation) {
                let details = format!("of a violation of {}: {problem}", violation.property());
                self.disagree(Aspect::Schedule, details);
            }
        }
    }

    /// Failures must be met, and reported.
    fn compare_failures(&mut self, reduced: &Observation) {
        let kinds = [
            (Property::Assertion, FaultKind::Assertion),
            (Property::Runtime, FaultKind::Runtime),
            (Property::Discipline, FaultKind::Discipline),
        ];
        for (property, kind) in kinds {
            let [found, expected] = [reduced, self.full].map(|o| o.failed_by(kind));
            if self.preserved.contains(property) && found != expected {
                let missed = self.tell_failures(expected.difference(&found));
                let invented = self.tell_failures(found.difference(&expected));
                let details = format!("missed: {missed}; not there: {invented}");
                self.disagree(Aspect::Failures, details);
            }
            let [found, expected] = [reduced, self.full].map(|o| o.places(property));
            self.expect(property, Aspect::Failures, &expected, &found);
        }
    }

    fn tell_failures<'f>(&self, failures: impl Iterator<Item = &'f &'f Failed>) -> String {
        let source = self.program.source();
        let tell = |(identity, kind, place): &Failed| {
            let line = source.line_column(self.program.span(*place).start).line;
            format!("{kind:?} in line {line} of thread {identity:?}")
        };
        let told: Vec<_> = failures.map(|failure| tell(failure)).collect();
        if told.is_empty() {
            "nothing".to_owned()
        } else {
            told.join(", ")
        }
    }

    /// A variable is without a lock by the reduction if it is by the full search. What
    /// observers read has none by the reduction alone.
    fn compare_lock_sets(&mut self, reduction: &dyn Reduction<Recorder>) {
        let checked = self.program.checked();
        let observed = !checked.invariants.is_empty() || !checked.exclusives.is_empty();
        if let (Some(inferred), Some(expected), false) =
            (reduction.protection(), &self.full.lock_sets, observed)
        {
            let machine = Machine::new(Arc::clone(self.program), granularity_of(self.program));
            let differences = expected.differences(&machine, inferred);
            if !differences.is_empty() {
                let details = format!("{differences:?}");
                self.disagree(Aspect::LockSets, details);
            }
        }
    }

    /// Whatever a reduction preserves, it must reach the same local states.
    fn compare_local_states(&mut self, reduced: &Observation) {
        let [found, expected] = [reduced, self.full].map(|o| &o.local_states);
        let missed = expected.difference(found).count();
        let invented = found.difference(expected).count();
        if missed + invented > 0 {
            let all = expected.len();
            let details = format!("{missed} of {all} not reached, {invented} that do not exist");
            self.disagree(Aspect::LocalStates, details);
        }
    }

    fn compare_counts(&mut self, what: &str, first: &Observation, other: &Observation) {
        let counts = |observation: &Observation| {
            let statistics = &observation.outcome.statistics;
            (statistics.states, statistics.transitions)
        };
        let (expected, found) = (counts(first), counts(other));
        if expected != found {
            let details = format!("{what}: {found:?} states and transitions, not {expected:?}");
            self.disagree(Aspect::Counts, details);
        }
    }

    fn expect<T: PartialEq + fmt::Debug>(
        &mut self,
        property: Property,
        aspect: Aspect,
        expected: &T,
        found: &T,
    ) {
        if self.preserved.contains(property) && expected != found {
            let details = format!("{property}: expected {expected:?}, found {found:?}");
            self.disagree(aspect, details);
        }
    }

    fn disagree(&mut self, aspect: Aspect, details: impl Into<String>) {
        self.disagreements.push(Disagreement {
            contender: self.contender.name.clone(),
            aspect,
            details: details.into(),
        });
    }
}
