//! Tests of the tests: each rule of the algorithm is missed somewhere.

use raddle_memory::testing::{Profile, Script};
use raddle_memory::{Model, Rule};

use crate::compare::{Difference, without};

/// How much explorations without a rule differ, over some random programs.
fn without_on(rule: Rule, profile: Profile, programs: u64, events: usize) -> Difference {
    let mut together = Difference::default();
    for seed in 0..programs {
        let mut toy = Script::random(seed, profile, events).toy();
        together.add(without(&mut toy, Model::Rc11, rule));
    }
    eprintln!("without {rule:?}, {profile:?}: {together:?}");
    together
}

#[test]
fn every_rule_is_needed_or_redundant() {
    for rule in Rule::ALL {
        let atomics = without_on(rule, Profile::Atomics, 60, 6);
        let locks = without_on(rule, Profile::Locks, 40, 10);
        let none = Difference::default();
        match rule {
            rule if rule.is_redundant() => assert_eq!((atomics, locks), (none, none), "{rule:?}"),
            Rule::StickyWrites => assert!(atomics == none && locks.duplicates > 0),
            Rule::WaitingAtLeaves => assert!(atomics == none && locks.missing > 0),
            Rule::RevisitsOfInconsistentUpdates => {
                assert!(atomics.missing > 0 && locks.missing > 0);
            }
            _ => assert!(atomics.missing > 0, "{rule:?}"),
        }
    }
}
