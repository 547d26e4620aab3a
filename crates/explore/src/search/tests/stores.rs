//! All stores give the same, and so does a search that goes over from one to another.

use super::*;
use crate::property::PropertySet;
use crate::testing::Op::*;

/// What does not depend on the store.
fn essence(outcome: &Outcome) -> impl PartialEq + std::fmt::Debug + use<> {
    let statistics = Statistics {
        memory_bytes: 0,
        peak_frontier: 0,
        elapsed: Duration::ZERO,
        ..outcome.statistics
    };
    let found: Vec<_> = (outcome.violations.iter())
        .map(|v| (v.property(), v.places(), v.schedule.len(), v.switches))
        .collect();
    (
        outcome.verdict(),
        outcome.explored.cut().cloned(),
        statistics,
        found,
    )
}

#[test]
fn all_stores_give_the_same() {
    let failing = [Increment(0), Assert(0, 1), Lock(0), Increment(1), Lock(1)];
    let other = [Lock(1), Read(0), WriteNext(0), Assert(1, 0), Lock(0)];
    let polling = [Set(1, 1), Read(0), Goto(1)];
    for system in [
        Counters::racing(4),
        Counters::racing(4).with_limit(2),
        Counters::new(&[&failing, &other, &failing]),
        Counters::new(&[&polling, &[Set(1, 2), Set(0, 1)]]),
        Counters::new(&[]),
    ] {
        for order in ORDERS {
            let run = |store| {
                let search = Search::new().order(order).properties(PropertySet::ALL);
                super::run(search.store(store).collect_all(), &system)
            };
            let (flat, tree) = (run(StoreKind::Flat), run(StoreKind::Tree));
            assert_eq!((flat.noticed.store, tree.noticed.store), ("flat", "tree"));
            assert_eq!(essence(&flat), essence(&tree));
        }
    }
}

#[test]
fn the_tree_is_smaller_and_auto_goes_over_to_it() {
    // The invariant is broken early and late, in states that are renamed on the way.
    for system in [Counters::racing(6), Counters::racing(6).with_limit(4)] {
        for workers in [1, 3] {
            let search = || Search::new().collect_all().workers(workers);
            let flat = run(search().store(StoreKind::Flat), &system);
            let needed = flat.statistics.memory_bytes;
            let auto = run(search().max_memory(needed), &system);
            assert_eq!(auto.noticed.store, "tree");
            assert_eq!(essence(&auto), essence(&flat));
            assert!(auto.statistics.memory_bytes < needed);
            let enough = run(search().max_memory(10 * needed), &system);
            assert_eq!(enough.noticed.store, "flat");
        }
    }
}

#[test]
fn the_limit_on_states_is_exact_after_going_over() {
    let system = Counters::racing(6);
    let flat = run(Search::new(), &system).statistics;
    let search = Search::new().max_memory(flat.memory_bytes);
    let cut = run(search.max_states(flat.states - 1), &system);
    assert_eq!(cut.noticed.store, "tree");
    assert_eq!(cut.explored.cut(), Some(&Kind::States.into()));
    assert_eq!(cut.statistics.states, flat.states - 1);
}
