//! Random programs. `RADDLE_RANDOM_PROGRAMS` says how many, `RADDLE_RANDOM_SEED` where they begin.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::compare::{Compared, DEFAULT, compare};
use crate::generate::{program, shrink};
use crate::program::Program;

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |value| value.parse().expect("a number"))
}

fn checked(program: &Program) -> Result<Compared, String> {
    let compared = catch_unwind(AssertUnwindSafe(|| compare(program, DEFAULT)));
    compared.unwrap_or_else(|panic| {
        let message = panic.downcast_ref::<String>().cloned();
        Err(format!("panic: {}", message.unwrap_or_default()))
    })
}

#[test]
fn every_explorer_agrees_with_the_model() {
    let count = number("RADDLE_RANDOM_PROGRAMS", 60);
    let first = number("RADDLE_RANDOM_SEED", 0);
    let mut all = Compared::default();
    let (mut small, mut compared) = (0, 0);
    let mut failures = Vec::new();
    for seed in first..first + count {
        let program = program(seed);
        match checked(&program) {
            Ok(one) => {
                all.explorations += one.explorations;
                all.executions += one.executions;
                all.classes += one.classes;
                all.outcomes += one.outcomes;
                all.redundant += one.redundant;
                small += u64::from(one.naive);
                compared += u64::from(one.any);
            }
            Err(_) => {
                let smaller = shrink(program, |smaller| checked(smaller).is_err());
                let difference = checked(&smaller).unwrap_err();
                eprintln!("seed {seed}: {smaller:?}\n  {difference}");
                failures.push(seed);
                if failures.len() >= 8 {
                    break;
                }
            }
        }
    }
    eprintln!(
        "{count} programs, {compared} compared, {small} of them also without reduction: {} explorations, {} executions; \
         {} classes ({} redundant executions), {} outcomes",
        all.explorations, all.executions, all.classes, all.redundant, all.outcomes
    );
    assert!(failures.is_empty(), "{failures:?}");
}
