//! One program through every reduction and every order of search.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;

use raddle_explore::reductions::cartesian::{Cartesian, CycleTest};
use raddle_explore::{
    Order, Outcome, Property, PropertySet, Reduction, Search, StoreKind, Violation, reductions,
};
use raddle_lang::{Severity, Source, Span};
use raddle_machine::{Granularity, Machine, Program, counterexample};

use crate::expectation::{Counts, Expectation, SelfLoops, with_counts};

/// Larger programs are not searched by context switches, which expands states several
/// times.
const MOST_STATES_BY_SWITCHES: u64 = 20_000;

/// What is wrong with a program, or with its `.expect` file; nothing, it is to be hoped.
pub(crate) fn examine(path: &Path, update: bool) -> Vec<String> {
    let examination = catch_unwind(AssertUnwindSafe(|| {
        let mut examination = match Examination::open(path) {
            Ok(examination) => examination,
            Err(problem) => return vec![problem],
        };
        if update && let Err(problem) = examination.update_counts(path) {
            return vec![problem];
        }
        examination.run();
        examination.problems
    }));
    examination.unwrap_or_else(|panic| {
        let message = panic
            .downcast_ref::<String>()
            .map(String::as_str)
            .or_else(|| panic.downcast_ref::<&str>().copied())
            .unwrap_or("(no message)");
        vec![format!("panic: {message}")]
    })
}

struct Examination {
    program: Arc<Program>,
    expectation: Expectation,
    /// The violations that the full search finds.
    all_violations: BTreeSet<(Property, Vec<u32>)>,
    problems: Vec<String>,
}

/// A search of the corpus: which reduction, in which order.
#[derive(Clone, Copy)]
struct Way {
    reduction: &'static str,
    order: Order,
}

impl Examination {
    fn open(path: &Path) -> Result<Self, String> {
        let read = |path: &Path| {
            std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
        };
        let expectation = Expectation::parse(&read(&path.with_extension("expect"))?)
            .map_err(|error| format!(".expect: {error}"))?;
        let (program, problems) = raddle_machine::load(Source::new("program.rad", read(path)?));
        let errors: Vec<_> = problems
            .into_iter()
            .filter(|problem| problem.severity == Severity::Error)
            .map(|problem| problem.message)
            .collect();
        let program = program.ok_or_else(|| format!("does not compile: {}", errors.join("; ")))?;
        Ok(Self {
            program: Arc::new(program),
            expectation,
            all_violations: BTreeSet::new(),
            problems: Vec::new(),
        })
    }

    /// Counts the states, and writes the numbers into the `.expect` file.
    fn update_counts(&mut self, path: &Path) -> Result<(), String> {
        let full = Way {
            reduction: "full",
            order: Order::BreadthFirst,
        };
        let counts = counts(&self.search(full, Search::new().collect_all()).0);
        if self.expectation.counts == Some(counts) {
            return Ok(());
        }
        self.expectation.counts = Some(counts);
        let path = path.with_extension("expect");
        std::fs::read_to_string(&path)
            .and_then(|text| std::fs::write(&path, with_counts(&text, counts)))
            .map_err(|error| format!("{}: {error}", path.display()))
    }

    fn run(&mut self) {
        let Some(counts) = self.expectation.counts else {
            self.problems.push(
                ".expect: `states` and `transitions` are missing (RADDLE_UPDATE=1 adds them)"
                    .into(),
            );
            return;
        };
        let mut orders = vec![Order::BreadthFirst, Order::DepthFirst];
        if counts.states <= MOST_STATES_BY_SWITCHES {
            orders.push(Order::FewestSwitches);
        }
        for reduction in reductions::all::<Machine>() {
            let reduction = reduction.name();
            let ways = orders.iter().map(|&order| Way { reduction, order });
            let ways: Vec<_> = ways.collect();
            self.check_all_violations(&ways, counts);
            self.check_first_violation(&ways);
            self.check_workers(reduction);
        }
        self.check_published_cycle_test();
        self.check_statements(counts);
    }

    /// Searches that go on after violations find what is expected, and agree on the size.
    fn check_all_violations(&mut self, ways: &[Way], expected: Counts) {
        let mut agreed = None;
        for &way in ways {
            let properties = instance(way.reduction).preserves();
            let search = Search::new().properties(properties).collect_all();
            let (outcome, machine) = self.search(way, search);
            let found = self.violations(&outcome, &machine);
            self.check_found(way, properties, &found);
            self.check_races(way, &outcome);
            self.check_termination(way, &outcome);
            self.check_distinct(way, &outcome);
            for violation in &outcome.violations {
                self.check_schedule(way, violation);
            }

            self.check_published(way, &outcome);
            let counts = counts(&outcome);
            let agreed = *agreed.get_or_insert(counts);
            self.expect(way, "counts of every order", &agreed, &counts);
            if way.reduction == "full" {
                self.expect(way, "counts", &expected, &counts);
            } else if counts.states > expected.states {
                // Whatever a reduction stores is a state of the program.
                let (more, all) = (counts.states, expected.states);
                self.complain(way, format!("{more} states, but there are only {all}"));
            }
        }
    }

    /// Several workers count the same and find the same, in every store.
    fn check_workers(&mut self, reduction: &'static str) {
        let way = Way {
            reduction,
            order: Order::BreadthFirst,
        };
        let mut alone = None;
        for (workers, store) in [
            (1, StoreKind::Flat),
            (1, StoreKind::Tree),
            (1, StoreKind::Compact),
            (2, StoreKind::Tree),
            (3, StoreKind::Flat),
            (3, StoreKind::Compact),
            (8, StoreKind::Tree),
        ] {
            let properties = instance(reduction).preserves();
            let search = Search::new().properties(properties).collect_all();
            let (outcome, machine) = self.search(way, search.workers(workers).store(store));
            self.expect(way, "workers", &workers, &outcome.statistics.workers);
            let statistics = outcome.statistics;
            let found = (
                outcome.verdict(),
                self.violations(&outcome, &machine),
                distinct(&outcome),
                counts(&outcome),
                (statistics.blocked_steps, statistics.ended_steps),
                (statistics.max_depth, statistics.endless),
            );
            for violation in &outcome.violations {
                self.check_schedule(way, violation);
            }
            let alone = alone.get_or_insert_with(|| found.clone());
            self.expect(way, &format!("{workers} workers, {store:?}"), alone, &found);
        }
    }

    /// A reduction must find a violation of each property that it preserves and that is
    /// violated, and nothing else. It need not find it everywhere; the full search does.
    fn check_found(&mut self, way: Way, properties: PropertySet, found: &BTreeSet<String>) {
        let expected: BTreeSet<String> = self
            .expectation
            .violations
            .iter()
            .filter(|violation| is_preserved(properties, kind(violation)))
            .cloned()
            .collect();
        if way.reduction == "full" {
            self.expect(way, "violations", &expected, found);
            return;
        }
        let kinds = |set: &BTreeSet<String>| -> BTreeSet<String> {
            set.iter()
                .map(|violation| kind(violation).to_owned())
                .collect()
        };
        self.expect(way, "kinds of violations", &kinds(&expected), &kinds(found));
        let invented: Vec<_> = found.difference(&self.expectation.violations).collect();
        if !invented.is_empty() {
            self.complain(way, format!("there is no violation {invented:?}"));
        }
    }

    /// Cartesian reduction promises more than it must: every violation, wherever it is.
    fn check_distinct(&mut self, way: Way, outcome: &Outcome) {
        match way.reduction {
            "full" => self.all_violations = distinct(outcome),
            "cartesian" => {
                let expected = self.all_violations.clone();
                self.expect(way, "distinct violations", &expected, &distinct(outcome));
            }
            _ => {}
        }
    }

    fn check_races(&mut self, way: Way, outcome: &Outcome) {
        if outcome.asked.properties.contains(Property::Race) {
            let mut violations = outcome.violations.iter();
            let found = violations.any(|violation| violation.property() == Property::Race);
            self.expect(way, "races", &self.expectation.races.clone(), &found);
        }
    }

    fn check_termination(&mut self, way: Way, outcome: &Outcome) {
        if outcome.asked.properties.contains(Property::Termination)
            && let Some(terminates) = self.expectation.terminates
        {
            let mut violations = outcome.violations.iter();
            let ends = violations.all(|violation| violation.property() != Property::Termination);
            self.expect(way, "terminates", &terminates, &ends);
        }
    }

    fn check_published(&mut self, way: Way, outcome: &Outcome) {
        let Some(published) = &self.expectation.published else {
            return;
        };
        let expected = match way.reduction {
            "full" => Some(published.counts),
            "cartesian" => published.cartesian,
            _ => None,
        };
        if let Some(expected) = expected {
            let found = with_self_loops(outcome, &published.self_loops);
            self.expect(way, "published counts", &expected, &found);
        }
    }

    /// The paper's tables come from another cycle test than its figure.
    fn check_published_cycle_test(&mut self) {
        let Some(published) = &self.expectation.published else {
            return;
        };
        let Some(expected) = published.cartesian_paper else {
            return;
        };
        let mut machine = Machine::new(Arc::clone(&self.program), Granularity::Access);
        let mut cartesian = Cartesian::with_cycle_test(CycleTest::AsPublished);
        let outcome = Search::new().run(&mut machine, &mut cartesian);
        let found = with_self_loops(&outcome, &published.self_loops);
        let way = Way {
            reduction: "cartesian as published",
            order: Order::BreadthFirst,
        };
        self.expect(way, "published counts", &expected, &found);
    }

    /// Searches that stop at the first violation come to the same verdict, with
    /// counterexamples as short as their orders promise.
    fn check_first_violation(&mut self, ways: &[Way]) {
        let mut examples: Vec<(Order, Violation)> = Vec::new();
        for &way in ways {
            let preserved = instance(way.reduction).preserves();
            let properties: PropertySet = PropertySet::default()
                .iter()
                .filter(|property| preserved.contains(*property))
                .collect();
            let (outcome, machine) = self.search(way, Search::new().properties(properties));
            let mut violations = self.expectation.violations.iter();
            let expected = violations.any(|v| is_preserved(properties, kind(v)));
            let found = !self.violations(&outcome, &machine).is_empty();
            self.expect(way, "verdict `violation`", &expected, &found);
            if outcome.violations.len() > 1 {
                self.complain(way, "more than one violation is the first");
            }
            for violation in outcome.violations {
                self.check_schedule(way, &violation);
                examples.push((way.order, violation));
            }
        }
        // Other reductions count expansions, not steps.
        if ways[0].reduction != "full" {
            return;
        }
        let steps = |(_, violation): &(Order, Violation)| violation.schedule.len();
        let switches = |(_, violation): &(Order, Violation)| violation.switches;
        for example in &examples {
            let (order, length, changes) = (example.0, steps(example), switches(example));
            let fewest_steps = examples.iter().map(steps).min();
            if order == Order::BreadthFirst && Some(length) != fewest_steps {
                self.complain(ways[0], format!("{length} steps, not {fewest_steps:?}"));
            }
            let fewest_switches = examples.iter().map(switches).min();
            if order == Order::FewestSwitches && Some(changes) != fewest_switches {
                let fewest = format!("{changes} switches, not {fewest_switches:?}");
                self.complain(ways[0], fewest);
            }
        }
    }

    /// Statements as steps: each of them is some steps of one thread in a row, so there
    /// cannot be more states.
    fn check_statements(&mut self, accesses: Counts) {
        let mut machine = Machine::new(Arc::clone(&self.program), Granularity::Statement);
        let outcome = Search::new()
            .collect_all()
            .run(&mut machine, instance("full").as_mut());
        let states = outcome.statistics.states;
        if states > accesses.states {
            let problem = format!("by statements: {states} states, over {}", accesses.states);
            self.problems.push(problem);
        }
    }

    fn check_schedule(&mut self, way: Way, violation: &Violation) {
        if let Err(problem) = counterexample::verify(&self.program, Granularity::Access, violation)
        {
            let property = violation.property();
            self.complain(way, format!("the schedule of a {property}: {problem}"));
        }
    }

    fn search(&self, way: Way, search: Search<'_>) -> (Outcome, Machine) {
        let mut machine = Machine::new(Arc::clone(&self.program), Granularity::Access);
        let mut reduction = instance(way.reduction);
        let outcome = search
            .order(way.order)
            .run(&mut machine, reduction.as_mut());
        (outcome, machine)
    }

    /// The violations as `.expect` files write them, but for races and endless executions. After a search that
    /// stopped at a violation, goals that were not reached mean nothing, but do no harm.
    fn violations(&self, outcome: &Outcome, machine: &Machine) -> BTreeSet<String> {
        let program = &self.program;
        let line = |span: Span| program.source().line_column(span.start).line;
        let mut found: BTreeSet<String> = outcome
            .violations
            .iter()
            .filter(|violation| {
                !matches!(violation.property(), Property::Race | Property::Termination)
            })
            .map(|violation| {
                let place = violation.places()[0];
                match (violation.property(), program.statement(place)) {
                    (Property::Deadlock, _) => "deadlock".into(),
                    // An invariant belongs to no statement.
                    (property, span) if span == Span::default() => {
                        format!("{property} @ {}", line(program.span(place)))
                    }
                    (property, span) => format!("{property} @ {}", line(span)),
                }
            })
            .collect();
        if is_preserved(outcome.asked.properties, "goal") {
            let goals = &program.checked().goals;
            let unreached = machine.unreached_goals().into_iter();
            found.extend(unreached.map(|goal| format!("goal @ {}", line(goals[goal].span))));
        }
        found
    }

    fn expect<T: PartialEq + std::fmt::Debug>(
        &mut self,
        way: Way,
        what: &str,
        expected: &T,
        found: &T,
    ) {
        if expected != found {
            let problem = format!("{what}: expected {expected:?}, found {found:?}");
            self.complain(way, problem);
        }
    }

    fn complain(&mut self, way: Way, problem: impl AsRef<str>) {
        let Way { reduction, order } = way;
        let problem = problem.as_ref();
        self.problems
            .push(format!("{reduction}, {order:?}: {problem}"));
    }
}

fn instance(reduction: &str) -> Box<dyn Reduction<Machine>> {
    reductions::by_name(reduction).expect("it is in the list")
}

fn counts(outcome: &Outcome) -> Counts {
    Counts {
        states: outcome.statistics.states,
        transitions: outcome.statistics.transitions,
    }
}

/// What tells violations apart. Which of the names of threads in a deadlock or the order of
/// places in a race come first is a matter of chance.
///
/// Endless executions are left out: only the full search looks for them.
fn distinct(outcome: &Outcome) -> BTreeSet<(Property, Vec<u32>)> {
    let violations = outcome.violations.iter();
    let violations = violations.filter(|violation| violation.property() != Property::Termination);
    let distinct = violations.map(|violation| {
        let mut places: Vec<u32> = violation.places().iter().map(|place| place.0).collect();
        places.sort_unstable();
        (violation.property(), places)
    });
    distinct.collect()
}

/// The counts as tables have them that count threads that cannot move.
fn with_self_loops(outcome: &Outcome, self_loops: &SelfLoops) -> Counts {
    let statistics = &outcome.statistics;
    let stuck = match self_loops {
        SelfLoops::Blocked => statistics.blocked_steps,
        SelfLoops::All => statistics.blocked_steps + statistics.ended_steps,
    };
    Counts {
        states: statistics.states,
        transitions: statistics.transitions + stuck,
    }
}

/// The first word of a violation.
fn kind(violation: &str) -> &str {
    violation.split(' ').next().unwrap_or(violation)
}

/// Whether a search for these properties must find a violation of a kind. A goal is as good as
/// an assertion that fails there.
fn is_preserved(properties: PropertySet, kind: &str) -> bool {
    let name = if kind == "goal" { "assertion" } else { kind };
    Property::from_name(name).is_some_and(|property| properties.contains(property))
}
