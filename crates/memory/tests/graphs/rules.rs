//! Tests of the tests: each rule of the algorithm is missed somewhere.

use std::panic::{AssertUnwindSafe, catch_unwind};

use raddle_memory::testing::{Profile, Script};
use raddle_memory::{Model, Rule};

use crate::compare::{Difference, without};

/// How much explorations without a rule differ, over some random programs, and with how many of them they fail because a graph is not closed.
fn without_on(rule: Rule, profile: Profile, programs: u64, events: usize) -> (Difference, u64) {
    let (mut together, mut astray) = (Difference::default(), 0);
    for seed in 0..programs {
        let mut toy = Script::random(seed, profile, events).toy();
        let difference = || without(&mut toy, Model::Rc11, &[rule]);
        match catch_unwind(AssertUnwindSafe(difference)) {
            Ok(difference) => together.add(difference),
            Err(_) => astray += 1,
        }
    }
    eprintln!("without {rule:?}, {profile:?}: {together:?}, {astray} astray");
    (together, astray)
}

#[test]
fn every_rule_is_needed() {
    for rule in Rule::ALL {
        let (atomics, atomics_astray) = without_on(rule, Profile::Atomics, 60, 6);
        let (locks, locks_astray) = without_on(rule, Profile::Locks, 40, 10);
        match rule {
            Rule::WaitingAtLeaves => {
                assert_eq!(atomics, Difference::default());
                assert!(locks.missing > 0);
            }
            Rule::Settled => {
                assert!(atomics_astray > 0 && locks_astray + locks.duplicates > 0);
            }
            _ => assert!(atomics.missing > 0 && locks.missing > 0, "{rule:?}"),
        }
    }
}
