//! Random programs.

use std::panic::{AssertUnwindSafe, catch_unwind};

use raddle_memory::Model;
use raddle_memory::testing::{Profile, Script};

use crate::compare::compare;

fn number(name: &str, default: u64) -> u64 {
    let asked = std::env::var(name);
    asked.map_or(default, |value| value.parse().expect("a number"))
}

const MODELS: [Model; 3] = [Model::Sc, Model::Ra, Model::Rc11];

/// Compares many programs, and shows those that differ.
fn campaign(profile: Profile, programs: u64, events: u64) {
    let programs = number("RADDLE_GRAPH_PROGRAMS", programs);
    let seed = number("RADDLE_GRAPH_SEED", 1) << 32;
    let events = number("RADDLE_GRAPH_EVENTS", events) as usize;
    let has_oracle = number("RADDLE_GRAPH_ORACLE", 1) != 0;
    let (mut graphs, mut different) = (0, 0);
    for seed in seed..seed + programs {
        let script = Script::random(seed, profile, events);
        let compared = catch_unwind(AssertUnwindSafe(|| {
            let models = MODELS.into_iter();
            models
                .map(|model| compare(&mut script.toy(), model, seed, has_oracle))
                .sum::<u64>()
        }));
        match compared {
            Ok(found) => graphs += found,
            Err(_) => {
                different += 1;
                eprintln!("{seed}: {script:?}");
                assert!(different < 5, "many programs differ");
            }
        }
    }
    eprintln!("{programs} programs of {profile:?}, {graphs} graphs");
    assert_eq!(different, 0);
}

#[test]
fn random_atomics() {
    campaign(Profile::Atomics, 150, 8);
}

#[test]
fn random_locks() {
    campaign(Profile::Locks, 60, 10);
}
