//! Random small programs, compared with the plainest search possible: all executions, one
//! after another.

use crate::parts::Packed;
use std::collections::{BTreeMap, BTreeSet};

use super::*;
use crate::property::Property;
use crate::system::{Choice, Position, Step};
use crate::testing::{Op::*, Random, State};

/// What identifies a violation, for the purposes of comparison.
type Name = (Property, Vec<(u64, u32)>);

/// Length, then switches, of each way to a violation.
#[derive(Default)]
struct Oracle {
    states: BTreeSet<Vec<u64>>,
    ways: BTreeMap<Name, BTreeSet<(usize, usize)>>,
    steps: usize,
}

/// Gives up on programs with too many executions.
const MOST_STEPS: usize = 60_000;

impl Oracle {
    fn explore(
        &mut self,
        system: &mut Counters,
        state: &State,
        length: usize,
        switches: usize,
        last: Option<u64>,
    ) {
        self.steps += 1;
        if self.steps > MOST_STEPS {
            return;
        }
        let mut packed = Packed::default();
        system.encode(state, &mut packed);
        self.states.insert(packed.words().to_vec());
        if system.broken_invariant(state, &mut Vec::new()).is_some() {
            self.note((Property::Invariant, vec![(0, 9999)]), length, switches);
        }
        let mut blocked = Vec::new();
        let mut cut = false;
        let mut stuck = true;
        for position in 0..state.threads.len() {
            let thread = Position(position as u32);
            let name = system.thread_name(state, thread);
            let mut next = Some(Choice::FIRST);
            while let Some(choice) = next {
                let mut step = Step::default();
                system.step(state, thread, choice, &mut step);
                next = step.next_choice;
                let switches = switches + usize::from(last.is_some_and(|last| last != name));
                match &step.status {
                    Status::Ended => continue,
                    Status::Blocked { assumption } => {
                        cut |= assumption;
                        blocked.push((name, system.place(state, thread).0));
                        continue;
                    }
                    Status::Moved => {}
                    Status::Failed(fault) => {
                        let property = fault.kind.property().expect("a violation");
                        let name = (property, vec![(0, fault.place.0)]);
                        self.note(name, length + 1, switches);
                    }
                }
                stuck = false;
                system.canonicalise(&mut step.after);
                self.explore(system, &step.after, length + 1, switches, Some(name));
            }
        }
        if stuck && !blocked.is_empty() && !cut && !system.failed(state) {
            self.note((Property::Deadlock, blocked), length, switches);
        }
    }

    fn note(&mut self, name: Name, length: usize, switches: usize) {
        self.ways
            .entry(name)
            .or_default()
            .insert((length, switches));
    }
}

/// As the oracle names it.
fn name_of(system: &Counters, violation: &Violation) -> Name {
    let property = violation.property();
    let Cause::Deadlock { blocked } = &violation.cause else {
        return (property, vec![(0, violation.places()[0].0)]);
    };
    let system = &mut system.clone();
    let initial = system.initial();
    let end = crate::replay(system, &initial, &violation.schedule, |_, _| {});
    let named = blocked
        .iter()
        .map(|b| (system.thread_name(&end, b.thread), b.place.0));
    (property, named.collect())
}

fn random_program(random: &mut Random) -> Counters {
    let codes: Vec<Vec<Op>> = (0..2 + random.below(2))
        .map(|_| {
            let operation = |random: &mut Random| {
                let object = random.below(2) as u8;
                let value = random.below(2) as u8;
                match random.below(11) {
                    0 => Read(object),
                    1 => WriteNext(object),
                    2 | 3 => Set(object, value + 1),
                    4 => Increment(object),
                    5 | 6 => Lock(object),
                    7 => Unlock(object),
                    8 => Choose(2),
                    9 => Assert(object, value),
                    _ if value == 0 => Assume(object),
                    _ => Await(object, value),
                }
            };
            (0..2 + random.below(3))
                .map(|_| operation(random))
                .collect()
        })
        .collect();
    let mut codes: Vec<&[Op]> = codes.iter().map(Vec::as_slice).collect();
    let limit = 1 + random.below(3) as u8;
    // The last thread starts the others, and is renumbered by that.
    let spawner = [Spawn(0), Increment(1), Spawn(1)];
    if random.below(3) == 0 {
        codes.truncate(2);
        codes.push(&spawner);
        return Counters::starting(&codes, &[2]).with_limit(limit);
    }
    Counters::new(&codes).with_limit(limit)
}

#[test]
fn agrees_with_the_enumeration_of_all_executions() {
    let mut random = Random(2024);
    let (mut compared, mut with_violations) = (0, 0);
    for _ in 0..1500 {
        let system = random_program(&mut random);
        let mut oracle = Oracle::default();
        let initial = system.clone().initial();
        oracle.explore(&mut system.clone(), &initial, 0, 0, None);
        if oracle.steps > MOST_STEPS {
            continue;
        }
        compared += 1;
        with_violations += usize::from(!oracle.ways.is_empty());
        for order in ORDERS {
            compare_all(&system, order, &oracle);
            compare_first(&system, order, &oracle);
        }
        compare_switches_of_reductions(&system, &oracle);
    }
    assert!(compared > 1000, "only {compared} programs were compared");
    assert!((300..compared).contains(&with_violations));
}

fn compare_all(system: &Counters, order: Order, oracle: &Oracle) {
    let outcome = run(Search::new().order(order).collect_all(), system);
    assert_eq!(
        outcome.statistics.states,
        oracle.states.len() as u64,
        "{system:?}"
    );
    let found: BTreeMap<Name, (usize, usize)> = outcome
        .violations
        .iter()
        .map(|v| (name_of(system, v), (v.schedule.len(), v.switches)))
        .collect();
    assert_eq!(found.len(), outcome.violations.len());
    assert!(found.keys().eq(oracle.ways.keys()), "{system:?}");
    for (name, way) in &found {
        let ways = &oracle.ways[name];
        match order {
            Order::BreadthFirst => assert_eq!(Some(way), ways.first(), "{name:?} of {system:?}"),
            Order::FewestSwitches => {
                assert_eq!(*way, fewest(ways), "{name:?} of {system:?}");
            }
            Order::DepthFirst => assert!(ways.contains(way)),
        }
    }
}

fn compare_first(system: &Counters, order: Order, oracle: &Oracle) {
    let outcome = run(Search::new().order(order), system);
    assert_eq!(outcome.violations.is_empty(), oracle.ways.is_empty());
    let Some(violation) = outcome.violations.first() else {
        return;
    };
    let found = (violation.schedule.len(), violation.switches);
    assert!(oracle.ways[&name_of(system, violation)].contains(&found));
    let ways = oracle.ways.values().flatten().copied();
    match order {
        Order::BreadthFirst => {
            let shortest = ways.map(|(length, _)| length).min().unwrap();
            assert_eq!(found.0, shortest, "{system:?}");
            // A deadlock is seen one level later than a fault of the same length.
            let of_its_kind = |name: &Name| {
                (name.0 == Property::Deadlock) == (violation.property() == Property::Deadlock)
            };
            let rivals = oracle.ways.iter().filter(|(name, _)| of_its_kind(name));
            let best = rivals.flat_map(|(_, ways)| ways).min().unwrap();
            assert_eq!(found, *best, "{system:?}");
        }
        Order::FewestSwitches => assert_eq!(found, fewest(&ways.collect())),
        Order::DepthFirst => {}
    }
}

fn fewest(ways: &BTreeSet<(usize, usize)>) -> (usize, usize) {
    let by_switches = ways
        .iter()
        .min_by_key(|(length, switches)| (switches, length));
    *by_switches.unwrap()
}

/// Guards the promise that a search by switches finds the fewest of all schedules, those included that
/// the reduction leaves out.
fn compare_switches_of_reductions(system: &Counters, oracle: &Oracle) {
    // A spawn of this system has no footprint, so movers cannot be told.
    let spawns = system.clone().initial().threads.len() == 1;
    for mut reduction in crate::reductions::all::<Counters>() {
        if spawns && reduction.protection().is_some() {
            continue;
        }
        let asked = PropertySet::default();
        let asked = asked.minus(asked.minus(reduction.preserves()));
        let search = || Search::new().order(Order::FewestSwitches).properties(asked);
        let first = search().run(&mut system.clone(), reduction.as_mut());
        let ways = oracle
            .ways
            .iter()
            .filter(|(name, _)| asked.contains(name.0));
        let fewest_of_all = ways
            .flat_map(|(_, ways)| ways)
            .map(|(_, switches)| *switches);
        let found = first.violations.first().map(|violation| violation.switches);
        let name = reduction.name();
        assert_eq!(found, fewest_of_all.min(), "{name}: {system:?}");
        assert_eq!(first.noticed.switches_cut, None);

        let all = search()
            .collect_all()
            .run(&mut system.clone(), reduction.as_mut());
        for violation in first.violations.iter().chain(&all.violations) {
            check_schedule(system, violation);
        }
        for violation in &all.violations {
            let (_, fewest) = fewest(&oracle.ways[&name_of(system, violation)]);
            assert_eq!(violation.switches, fewest, "{name}: {system:?}");
        }
        assert!(
            all.violations
                .is_sorted_by_key(|violation| violation.switches)
        );
    }
}
