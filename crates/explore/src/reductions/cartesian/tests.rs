//! The reduction on the toy system: small vectors by hand, random programs against the full
//! search.

use std::collections::BTreeSet;

use super::*;
use crate::parts::Changed;
use crate::reductions::full::Full;
#[cfg(feature = "mutations")]
use crate::repair::Repair;
use crate::search::{Cause, Order, Outcome, Search};
use crate::system::Fault;
use crate::testing::{Counters, Op, Op::*, Random, State};
use raddle_outcome::Kind;

/// Everything that an expansion reports.
#[derive(Default)]
struct Reports {
    /// Who moved, and how often.
    successors: Vec<(u32, usize)>,
    faults: Vec<usize>,
    races: Vec<usize>,
    ends: Vec<(usize, End)>,
}

impl Visitor<Counters> for Reports {
    fn properties(&self) -> PropertySet {
        PropertySet::SAFETY
    }

    fn successor(&mut self, _: &mut Counters, path: &[Action], _: &State, _: Changed) {
        self.successors.push((path[0].thread.0, path.len()));
    }

    fn fault(&mut self, _: &mut Counters, path: &[Action], _: &Fault) -> bool {
        self.faults.push(path.len());
        true
    }

    fn race(&mut self, _: &mut Counters, path: &[Action], _: &State, _: &crate::Race) {
        self.races.push(path.len());
    }

    fn end(&mut self, _: &mut Counters, path: &[Action], _: &State, end: End, _: &[BlockedThread]) {
        self.ends.push((path.len(), end));
    }
}

fn expand_with(cycle_test: CycleTest, system: &Counters) -> (Reports, Effort) {
    let mut system = system.clone();
    let initial = system.initial();
    let mut reports = Reports::default();
    let effort = Cartesian::with_cycle_test(cycle_test).expand(&mut system, &initial, &mut reports);
    (reports, effort)
}

fn expand(system: &Counters) -> (Reports, Effort) {
    expand_with(CycleTest::ToTheLetter, system)
}

#[test]
fn independent_threads_run_to_their_ends() {
    let own = |c| [Set(c, 1), Set(c, 2)];
    let system = Counters::new(&[&own(0), &own(1), &own(2)]);
    let (reports, effort) = expand(&system);
    assert_eq!(reports.successors, []);
    assert_eq!(reports.ends, [(6, End::Terminated)]);
    assert_eq!((effort.transitions, effort.ended_steps), (6, 3));
    assert_eq!(effort.endless, 0);
    // Their ends are noticed one round later.
    let (_, effort) = expand_with(CycleTest::AsPublished, &system);
    assert_eq!((effort.transitions, effort.ended_steps), (6, 6));
}

#[test]
fn dependent_first_steps_stop_both() {
    let system = Counters::new(&[&[Set(0, 1), Set(1, 1)], &[Set(0, 2), Set(2, 1)]]);
    let (reports, effort) = expand(&system);
    assert_eq!(reports.successors, [(0, 1), (1, 1)]);
    assert_eq!(reports.races, [0]);
    assert_eq!(effort.transitions, 2);
}

#[test]
fn dependent_last_steps_stop_both() {
    // The second step of one thread depends on the second of the other.
    let system = Counters::new(&[
        &[Set(1, 1), Set(0, 1), Set(1, 2)],
        &[Set(2, 1), Read(0), Set(2, 2)],
    ]);
    let (reports, _) = expand(&system);
    assert_eq!(reports.successors, [(0, 2), (1, 2)]);
    assert_eq!(reports.races, [2], "after the first steps of both");
}

#[test]
fn a_step_that_depends_on_an_inner_one_is_not_added() {
    let system = Counters::new(&[
        &[Set(0, 1), Set(1, 1), Set(1, 2)],
        &[Set(2, 1), Set(2, 2), Read(0)],
    ]);
    let (reports, effort) = expand(&system);
    // The other thread runs to its end.
    assert_eq!(reports.successors, [(1, 2)]);
    assert_eq!(effort.transitions, 6, "with the one that was not added");
    assert_eq!(effort.ended_steps, 1);
}

#[test]
fn a_loop_that_nobody_minds_is_endless() {
    let system = Counters::new(&[&[Set(0, 1), Goto(0)], &[Set(1, 1)]]);
    let (reports, effort) = expand(&system);
    assert_eq!(reports.successors, []);
    assert_eq!(reports.ends, []);
    assert_eq!(effort.endless, 1);
}

#[test]
fn who_wakes_a_blocked_thread_depends_on_it() {
    let system = Counters::new(&[
        &[Await(0, 1), Set(1, 1)],
        &[Set(2, 1), Set(0, 1), Set(2, 2)],
    ]);
    let (reports, effort) = expand(&system);
    // The blocked thread is stuck, so its wait has no last transition but the one that
    // is made again and again.
    assert_eq!(reports.successors.len(), 1);
    assert!(effort.blocked_steps > 0);
    assert_eq!(reports.ends, []);
}

#[test]
fn choices_are_prefixes_of_one_step() {
    let system = Counters::new(&[&[Choose(3), Set(0, 1)], &[Set(1, 1), Choose(2)]]);
    let (reports, _) = expand(&system);
    assert_eq!(reports.successors, [(0, 1), (0, 1), (0, 1), (1, 1)]);
}

#[test]
fn a_spawn_ends_its_prefix() {
    let system = Counters::starting(&[&[Set(1, 1)], &[Set(0, 1), Spawn(0), Set(0, 2)]], &[1]);
    let (reports, _) = expand(&system);
    assert_eq!(reports.successors, [(0, 2)]);
}

#[test]
fn a_fault_is_reported_where_it_is_and_ends_the_thread() {
    let system = Counters::new(&[&[Set(0, 1), Assert(0, 2), Set(0, 3)], &[Set(1, 1)]]);
    let (reports, _) = expand(&system);
    assert_eq!(reports.faults, [2]);
    assert_eq!(reports.ends, [(3, End::Failed)]);
}

#[test]
fn the_observer_of_an_invariant_stops_those_who_write() {
    let own = |c| [Set(c, 1), Set(c, 2)];
    let system = Counters::new(&[&own(0), &own(1)]).with_limit(3);
    let (reports, effort) = expand(&system);
    assert_eq!(reports.successors, [(0, 1), (1, 1)]);
    assert_eq!(effort.blocked_steps, 0, "the observer is no thread");
}

#[test]
fn an_endless_execution_is_not_vacuous() {
    // One thread is cut by an assumption; with the loop there is an execution that counts.
    let cut = [Choose(1), Assume(1)];
    let endless = Counters::new(&[&cut, &[Set(0, 1), Goto(0)]]);
    let ending = Counters::new(&[&cut, &[Set(0, 1)]]);
    let run = |system: &Counters| Search::new().run(&mut system.clone(), &mut cartesian());
    assert!(run(&endless).is_verified());
    let vacuous = run(&ending);
    assert!(vacuous.explored.assumptions().find(Kind::Vacuous).is_some() && !vacuous.is_verified());
}

fn cartesian() -> Cartesian<Counters> {
    Cartesian::default()
}

fn random_program(random: &mut Random) -> Counters {
    let codes: Vec<Vec<Op>> = (0..2 + random.below(2))
        .map(|_| {
            let length = 2 + random.below(4);
            let operation = |random: &mut Random| {
                let object = random.below(3) as u8;
                let value = random.below(2) as u8;
                match random.below(13) {
                    0 | 1 => Read(object),
                    2 => WriteNext(object),
                    3 | 4 => Set(object, value + 1),
                    5 => Increment(object),
                    6 => Lock(object),
                    7 => Unlock(object),
                    8 => Choose(2),
                    9 => Assert(object, value),
                    10 => Goto(random.below(length) as u8),
                    _ if value == 0 => Assume(object),
                    _ => Await(object, value),
                }
            };
            (0..length).map(|_| operation(random)).collect()
        })
        .collect();
    let mut codes: Vec<&[Op]> = codes.iter().map(Vec::as_slice).collect();
    let spawner = [Increment(2), Spawn(0), Set(1, 1), Spawn(1)];
    let system = if random.below(3) == 0 {
        codes.truncate(2);
        codes.push(&spawner);
        Counters::starting(&codes, &[2])
    } else {
        Counters::new(&codes)
    };
    if random.below(3) == 0 {
        system.with_limit(1 + random.below(3) as u8)
    } else {
        system
    }
}

/// The violations, each with its places and threads.
fn violations(outcome: &Outcome) -> BTreeSet<(Property, Vec<u32>)> {
    let named = outcome.violations.iter().map(|violation| {
        let mut places: Vec<u32> = violation.places().iter().map(|place| place.0).collect();
        if matches!(violation.cause, Cause::Race(_)) {
            places.sort_unstable();
        }
        (violation.property(), places)
    });
    named.collect()
}

/// Whether the reduction says about a program what the full search says.
fn agrees(system: &Counters, cycle_test: CycleTest) -> bool {
    let search = || {
        let search = Search::new()
            .properties(PropertySet::SAFETY)
            .max_states(5_000);
        search.collect_all()
    };
    let full = search().run(&mut system.clone(), &mut Full::default());
    if full.explored.cut().is_some() {
        return true;
    }
    let mut reduction = Cartesian::with_cycle_test(cycle_test);
    let reduced = search().run(&mut system.clone(), &mut reduction);
    let ends = |outcome: &Outcome| {
        let ends = outcome.statistics.ends;
        [ends.terminated, ends.cut, ends.deadlocked, ends.failed].map(|count| count > 0)
    };
    violations(&full) == violations(&reduced)
        && full.verdict() == reduced.verdict()
        && ends(&full) == ends(&reduced)
        && reduced.statistics.states <= full.statistics.states
}

#[test]
fn agrees_with_the_full_search_on_random_programs() {
    let mut random = Random(2007);
    for _ in 0..4_000 {
        let system = random_program(&mut random);
        for cycle_test in [CycleTest::ToTheLetter, CycleTest::AsPublished] {
            assert!(agrees(&system, cycle_test), "{cycle_test:?}: {system:?}");
        }
    }
}

#[test]
fn all_orders_count_alike() {
    let mut random = Random(1);
    for _ in 0..200 {
        let system = random_program(&mut random);
        let count = |order| {
            let search = Search::new().order(order).collect_all().max_states(2_000);
            let outcome = search.run(&mut system.clone(), &mut cartesian());
            let s = outcome.statistics;
            (outcome.explored.cut().is_none()).then_some((s.states, s.transitions, s.blocked_steps))
        };
        let breadth_first = count(Order::BreadthFirst);
        assert_eq!(count(Order::DepthFirst), breadth_first);
        assert_eq!(count(Order::FewestSwitches), breadth_first);
    }
}

/// Without any one of the repairs, some random program is judged wrongly.
#[cfg(feature = "mutations")]
#[test]
fn every_repair_is_needed() {
    for repair in [
        Repair::TerminationIsATransition,
        Repair::BlockedReadsItsGuard,
        Repair::BothStopOnConflict,
        Repair::CycleTestComparesWholeStates,
        Repair::ChoiceEndsPrefix,
        Repair::SpawnEndsPrefix,
        Repair::InvariantObserver,
    ] {
        let mut random = Random(2007);
        let mut programs = (0..4_000).map(|_| random_program(&mut random));
        let noticed = crate::repair::without(repair, || {
            programs.any(|system| !agrees(&system, CycleTest::ToTheLetter))
        });
        assert!(noticed, "nothing shows that {repair:?} is needed");
    }
}
