//! Which violations are found, and by which schedules.

use raddle_outcome::Extent;

use super::*;
use crate::property::Property;
use crate::testing::Op::*;

fn threads_of(violation: &Violation) -> Vec<u32> {
    violation.schedule.iter().map(|m| m.thread.0).collect()
}

fn only(property: Property) -> PropertySet {
    PropertySet::NONE.with(property)
}

#[test]
fn the_shortest_way_is_found() {
    // The first thread fails after five steps of its own, the second after two of
    // its own and one of the third.
    let system = Counters::new(&[
        &[Set(1, 1), Set(1, 2), Set(1, 3), Set(1, 4), Assert(1, 0)],
        &[Read(3), Assert(0, 0)],
        &[Set(0, 1)],
    ]);
    let outcome = run(Search::new(), &system);
    assert_eq!(outcome.verdict(), Verdict::Violation);
    assert_eq!(outcome.violations.len(), 1);
    // Straight: the second thread does not let the third in between twice.
    assert_eq!(threads_of(&outcome.violations[0]), [2, 1, 1]);
    assert_eq!(outcome.violations[0].switches, 1);

    let fewest = run(Search::new().order(Order::FewestSwitches), &system);
    assert_eq!(threads_of(&fewest.violations[0]), [0; 5]);
    assert_eq!(fewest.violations[0].switches, 0);
}

#[test]
fn a_deadlock_one_step_nearer_wins() {
    // At depth 2 there are both the deadlock and, one step further, a failing assertion
    // whose state comes first in the level.
    let system = Counters::new(&[
        &[Lock(0), Lock(1), Assert(0, 9)],
        &[Lock(1), Lock(0), Unlock(0), Unlock(1)],
    ]);
    let outcome = run(Search::new(), &system);
    assert_eq!(outcome.violations[0].property(), Property::Deadlock);
    assert_eq!(outcome.violations[0].schedule.len(), 2);
    assert_eq!(outcome.violations[0].threads().len(), 2);
}

#[test]
fn renumbered_threads_are_recognised() {
    // The thread of code 1 spawns code 0, which takes its position; it goes on by itself.
    let codes: [&[Op]; 2] = [&[Set(3, 1)], &[Spawn(0), Set(0, 1), Assert(0, 0)]];
    let system = Counters::starting(&codes, &[1]);
    for order in [Order::BreadthFirst, Order::FewestSwitches] {
        let outcome = run(Search::new().order(order), &system);
        assert_eq!(threads_of(&outcome.violations[0]), [0, 1, 1]);
        assert_eq!(outcome.violations[0].switches, 0);
    }
}

#[test]
fn invariants_are_checked_after_every_step() {
    let system = Counters::new(&[&[Set(0, 3), Set(0, 0)], &[Set(1, 1)]]).with_limit(2);
    for order in ORDERS {
        let outcome = run(Search::new().order(order), &system);
        assert_eq!(outcome.violations[0].property(), Property::Invariant);
        assert_eq!(outcome.violations[0].places(), [crate::Place(9999)]);
        if order != Order::DepthFirst {
            assert_eq!(threads_of(&outcome.violations[0]), [0]);
        }
        let other = run(
            Search::new().order(order).properties(only(Property::Race)),
            &system,
        );
        assert!(other.is_verified());
    }
}

#[test]
fn races_are_found_where_they_are() {
    let races = |codes: &[&[Op]]| {
        let search = Search::new().properties(only(Property::Race)).collect_all();
        let outcome = run(search, &Counters::new(codes));
        let mut places: Vec<_> = outcome
            .violations
            .iter()
            .map(|v| v.places().iter().map(|p| p.0).collect::<Vec<_>>())
            .collect();
        places.sort();
        places
    };
    assert_eq!(races(&[&[Read(0)], &[Set(0, 1)]]), [[0, 100]]);
    assert!(races(&[&[Read(0)], &[Read(0)]]).is_empty());
    assert!(races(&[&[Set(1, 1)], &[Set(0, 1)]]).is_empty());
    assert!(races(&[&[Set(0, 1)], &[Increment(0)]]).is_empty());
    let locked = [Lock(0), Read(0), WriteNext(0), Unlock(0)];
    assert!(races(&[&locked, &locked]).is_empty());
    // A write never meets itself; the second read can meet the write, not before the first.
    let two = races(&[&[Read(0), Read(0)], &[Set(0, 1)]]);
    assert_eq!(two, [[0, 100], [1, 100]]);
    // An access that can fail is an access.
    assert_eq!(races(&[&[Assert(0, 1)], &[Set(0, 1)]]), [[0, 100]]);
    // Blocked threads are not about to do anything.
    assert!(races(&[&[Await(0, 9), Set(1, 1)], &[Set(1, 1)]]).is_empty());
    // Races are not looked for unless asked.
    assert!(run(Search::new(), &Counters::racing(2)).is_verified());
}

#[test]
fn runtime_errors_are_told_from_assertions() {
    let system = Counters::new(&[&[Unlock(0)], &[Assert(0, 1)]]);
    for (property, place) in [(Property::Runtime, 0), (Property::Assertion, 100)] {
        let outcome = run(Search::new().properties(only(property)), &system);
        assert_eq!(outcome.violations[0].property(), property);
        assert_eq!(outcome.violations[0].places(), [crate::Place(place)]);
    }
    let ignored = run(Search::new().properties(PropertySet::NONE), &system);
    assert!(ignored.is_verified());
    // The initial state, either thread failed, both.
    assert_eq!(ignored.statistics.states, 4);
}

#[test]
fn all_distinct_violations_are_collected() {
    let system = Counters::new(&[
        &[Assert(0, 1)],
        &[Set(1, 1), Assert(0, 1)],
        &[Lock(0), Lock(0)],
    ]);
    for order in ORDERS {
        let first = run(Search::new().order(order), &system);
        assert_eq!(first.violations.len(), 1);
        assert_eq!(first.explored.extent(), Extent::Some, "it stopped there");
        let all = run(Search::new().order(order).collect_all(), &system);
        assert_eq!(all.explored.extent(), Extent::All);
        let mut places: Vec<_> = all.violations.iter().map(Violation::places).collect();
        places.sort();
        // No deadlock of the third thread: others have always failed by then.
        assert_eq!(places, [[crate::Place(0)], [crate::Place(101)]]);
        if order == Order::BreadthFirst {
            let lengths = all.violations.iter().map(|v| v.schedule.len());
            assert_eq!(lengths.collect::<Vec<_>>(), [1, 2]);
        }
        assert_eq!(all.explored.cut(), None);
    }
}

#[test]
fn deadlocks_differ_by_who_is_blocked_where() {
    let one = [Lock(0), Lock(1), Unlock(1), Unlock(0)];
    let other = [Lock(1), Lock(0), Unlock(0), Unlock(1)];
    let system = Counters::new(&[&one, &one, &other]);
    let outcome = run(Search::new().collect_all(), &system);
    let mut blocked: Vec<_> = outcome
        .violations
        .iter()
        .map(|v| v.places().iter().map(|p| p.0).collect::<Vec<_>>())
        .collect();
    blocked.sort();
    // One of the first two has lock 0; the other waits for it, or has been through before.
    assert_eq!(
        blocked,
        [
            vec![0, 101, 201],
            vec![1, 100, 201],
            vec![1, 201],
            vec![101, 201]
        ]
    );
    for violation in &outcome.violations {
        let waits_at_start = violation.places().len() == 3;
        let shortest = if waits_at_start { 2 } else { 6 };
        assert_eq!(violation.schedule.len(), shortest);
    }
}

#[test]
fn the_answer_is_the_same_every_time() {
    let system = Counters::new(&[
        &[Read(0), WriteNext(0), Assert(0, 2)],
        &[Read(0), WriteNext(0), Assert(0, 2)],
    ]);
    for order in ORDERS {
        let answer = || run(Search::new().order(order).collect_all(), &system).violations;
        assert_eq!(answer(), answer());
    }
}
