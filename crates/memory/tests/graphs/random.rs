//! Random programs.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};

use raddle_memory::testing::{Profile, Script};
use raddle_memory::{End, Model, Schedule, Trust};

use crate::compare::{Outcome, compare, explore};
use crate::states::{Outcomes, outcomes};

fn number(name: &str, default: u64) -> u64 {
    let asked = std::env::var(name);
    asked.map_or(default, |value| value.parse().expect("a number"))
}

const MODELS: [Model; 3] = [Model::Sc, Model::Ra, Model::Rc11];

/// Checks many programs, and shows those that fail.
fn campaign(profile: Profile, programs: u64, events: u64, check: fn(&Script, u64) -> u64) {
    let programs = number("RADDLE_GRAPH_PROGRAMS", programs);
    let seed = number("RADDLE_GRAPH_SEED", 1) << 32;
    let events = number("RADDLE_GRAPH_EVENTS", events) as usize;
    let (mut graphs, mut failed) = (0, 0);
    for seed in seed..seed + programs {
        let script = Script::random(seed, profile, events);
        match catch_unwind(AssertUnwindSafe(|| check(&script, seed))) {
            Ok(found) => graphs += found,
            Err(_) => {
                failed += 1;
                eprintln!("{seed}: {script:?}");
                assert!(failed < 5, "many programs fail");
            }
        }
    }
    eprintln!("{programs} programs of {profile:?}, {graphs} graphs");
    assert_eq!(failed, 0);
}

/// Compares with enumeration.
fn against_enumeration(script: &Script, seed: u64) -> u64 {
    let has_oracle = number("RADDLE_GRAPH_ORACLE", 1) != 0;
    let models = MODELS.into_iter();
    models
        .map(|model| compare(&mut script.toy(), model, seed, has_oracle))
        .sum()
}

/// A loop that is blocked after its first iteration that changes nothing has all outcomes and all live-locks that it has if it is blocked later.
fn against_more_iterations(script: &Script, seed: u64) -> u64 {
    let mut graphs = 0;
    for model in [Model::Sc, Model::Rc11] {
        let outcomes = |iterations: usize| {
            let script = Script {
                iterations,
                ..script.clone()
            };
            let mut trust = Trust::new(model).schedule(Schedule::Random(seed));
            let explored = explore(&mut script.toy(), &mut trust);
            assert!(explored.is_all);
            assert_eq!(explored.duplicates(), 0);
            let outcomes = explored.outcomes.into_iter();
            let counts = |outcome: &Outcome| outcome.1 != End::Spinning;
            (explored.counts.graphs(), outcomes.filter(counts).collect())
        };
        let (found, outcomes_of_one): (u64, BTreeSet<Outcome>) = outcomes(1);
        graphs += found;
        for iterations in 2..4 {
            assert_eq!(
                outcomes_of_one,
                outcomes(iterations).1,
                "{iterations}, {model:?}"
            );
        }
    }
    graphs
}

/// Complete executions, and those that hang, against all states with loops without bound.
fn against_states(script: &Script, seed: u64) -> u64 {
    let Some(expected) = outcomes(&script.toy(), script.threads.len()) else {
        return 0;
    };
    let mut trust = Trust::new(Model::Sc).schedule(Schedule::Random(seed));
    let explored = explore(&mut script.toy(), &mut trust);
    let told = |ends: &[End]| {
        let outcomes = explored.outcomes.iter();
        let outcomes = outcomes.filter(|(_, end)| ends.contains(end));
        outcomes.map(|(told, _)| told.clone()).collect()
    };
    let found = Outcomes {
        complete: told(&[End::Complete]),
        hanging: told(&[End::Deadlock, End::Livelock]),
    };
    assert_eq!(found, expected);
    explored.counts.graphs()
}

#[test]
fn random_atomics() {
    campaign(Profile::Atomics, 150, 8, against_enumeration);
}

#[test]
fn random_locks() {
    campaign(Profile::Locks, 60, 10, against_enumeration);
}

#[test]
fn random_loops() {
    campaign(Profile::Loops, 100, 7, against_more_iterations);
    campaign(Profile::Loops, 40, 6, against_enumeration);
    campaign(Profile::Loops, 200, 7, against_states);
}

#[test]
fn random_threads() {
    campaign(Profile::Threads, 100, 7, against_enumeration);
}

#[test]
fn random_flags() {
    campaign(Profile::Flags, 100, 8, against_enumeration);
}

#[test]
fn random_waiting() {
    campaign(Profile::Waiting, 100, 8, against_enumeration);
}

#[test]
fn random_waiting_writes() {
    campaign(Profile::WaitingWrites, 100, 7, against_enumeration);
}
