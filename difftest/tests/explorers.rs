//! Running executions one by one agrees with the full search on random programs that end.

use std::collections::BTreeSet;

use raddle_difftest::syntax::Program;
use raddle_difftest::{Campaign, compile, granularity_of, shrink};
use raddle_explore::reductions::full::Full;
use raddle_explore::{Place, Property, Search, Violation};
use raddle_machine::Machine;
use raddle_schedule::explorers::{Algorithm2, Bounded, Deepening, Dfs, Optimal};
use raddle_schedule::{Explorer, Extent};
use raddle_stateless::{Examination, Settings, examine};

/// How many programs there are, and their seed; `RADDLE_TEST_PROGRAMS` and `RADDLE_TEST_SEED` say otherwise.
const PROGRAMS: u64 = 450;
const SEED: u64 = 1;
/// Programs with longer executions are left out, and those with more of them.
const LONGEST: usize = 60;
const MOST_EXECUTIONS: u64 = 200;
const MOST_NAIVE_EXECUTIONS: u64 = 1_000;
const MOST_STATES: u64 = 100_000;

/// What is wrong where.
fn found(violations: &[Violation]) -> BTreeSet<(Property, Vec<Place>)> {
    let key = |violation: &Violation| {
        let mut places = violation.places();
        places.sort_unstable();
        (violation.property(), places)
    };
    violations.iter().map(key).collect()
}

fn run(machine: &Machine, explorer: &mut impl Explorer, most: u64) -> Examination {
    run_with(1, machine, explorer, most)
}

fn run_with(
    workers: usize,
    machine: &Machine,
    explorer: &mut impl Explorer,
    most: u64,
) -> Examination {
    let settings = Settings {
        all: true,
        max_length: LONGEST,
        max_executions: Some(most),
        workers,
        ..Settings::default()
    };
    examine(&mut machine.clone(), explorer, &settings)
}

/// What became of a comparison.
enum Compared {
    TooLarge,
    Same,
    Differ(String),
}

/// How often an explorer runs a class.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Runs {
    Once,
    Again,
}

/// Compares what an explorer finds with the full search, and its classes with those of the naive search.
fn compare<E: Explorer + Clone>(
    (workers, runs): (usize, Runs),
    explorer: &E,
    program: &Program,
) -> Compared {
    let Ok(program) = compile(&program.to_string()) else {
        return Compared::TooLarge;
    };
    let machine = Machine::new(program.clone(), granularity_of(&program));
    let most = match runs {
        Runs::Once => MOST_EXECUTIONS,
        Runs::Again => MOST_NAIVE_EXECUTIONS,
    };
    let explored = run_with(workers, &machine, &mut explorer.clone(), most);
    let full = Search::new()
        .collect_all()
        .max_states(MOST_STATES)
        .run(&mut machine.clone(), &mut Full::default());
    if !explored.explored.is_exhausted() || full.explored.cut().is_some() {
        return Compared::TooLarge;
    }
    let (expected, found) = (found(&full.violations), found(&explored.violations));
    if found != expected {
        return Compared::Differ(format!("finds {found:?}, and not {expected:?}"));
    }
    let naive = run(&machine, &mut Dfs::default(), MOST_NAIVE_EXECUTIONS);
    let classes = match naive.explored.is_exhausted() {
        true => classes_of(&naive),
        false => classes_of(&explored),
    };
    let are_once = runs == Runs::Again || explored.statistics.executions == classes;
    match are_once && classes_of(&explored) == classes {
        true => Compared::Same,
        false => Compared::Differ(format!(
            "has {} executions of {} classes, there are {classes}",
            explored.statistics.executions,
            classes_of(&explored)
        )),
    }
}

/// The classes of the executions, which are always counted.
fn classes_of(found: &Examination) -> u64 {
    found.statistics.classes.expect("they are counted")
}

fn compare_all<E: Explorer + Clone>(workers: usize, runs: Runs, explorer: &E) {
    let how = (workers, runs);
    let campaign = Campaign::as_asked(SEED, PROGRAMS);
    let programs = campaign.count;
    let mut compared = 0;
    for number in 0..programs {
        let (_, program) = campaign.program(number);
        match compare(how, explorer, &program) {
            Compared::TooLarge => {}
            Compared::Same => compared += 1,
            Compared::Differ(what) => {
                let differs = |smaller: &Program| {
                    matches!(compare(how, explorer, smaller), Compared::Differ(_))
                };
                let shrunk = shrink(&program, differs);
                panic!("program {number} {what}; shrunk:\n{shrunk}");
            }
        }
    }
    println!("{compared} of {programs} programs were compared");
    assert!(
        compared >= programs / 3 * 2,
        "only {compared} programs were compared"
    );
}

#[test]
fn optimal_agrees_with_the_full_search() {
    compare_all(1, Runs::Once, &Optimal::default());
}

#[test]
fn two_workers_agree_with_the_full_search() {
    compare_all(2, Runs::Once, &Optimal::default());
}

#[test]
fn algorithm2_agrees_with_the_full_search() {
    compare_all(1, Runs::Once, &Algorithm2::UNBOUNDED);
}

#[test]
fn iterative_agrees_with_the_full_search() {
    compare_all(1, Runs::Again, &Deepening::default());
}

/// Within a bound, `bounded` runs the classes of `algorithm2`, and finds what that finds.
#[test]
fn bounded_agrees_with_algorithm2() {
    let campaign = Campaign::as_asked(SEED, PROGRAMS);
    let programs = campaign.count;
    let mut compared = 0;
    for number in 0..programs {
        let (_, program) = campaign.program(number);
        for bound in 0..=2 {
            match compare_within(bound, &program) {
                Compared::TooLarge => {}
                Compared::Same => compared += 1,
                Compared::Differ(what) => {
                    let differs = |smaller: &Program| {
                        matches!(compare_within(bound, smaller), Compared::Differ(_))
                    };
                    let shrunk = shrink(&program, differs);
                    panic!("program {number}, bound {bound}: {what}; shrunk:\n{shrunk}");
                }
            }
        }
    }
    println!("{compared} comparisons of {programs} programs");
    assert!(compared >= programs, "only {compared} comparisons");
}

fn compare_within(bound: u32, program: &Program) -> Compared {
    let Ok(program) = compile(&program.to_string()) else {
        return Compared::TooLarge;
    };
    let machine = Machine::new(program.clone(), granularity_of(&program));
    let expected = run(&machine, &mut Algorithm2 { bound }, MOST_EXECUTIONS);
    let bounded = run(&machine, &mut Bounded::new(bound), MOST_NAIVE_EXECUTIONS);
    let is_over = |examined: &Examination| examined.explored.extent() != Extent::Some;
    if !is_over(&expected) || !is_over(&bounded) {
        return Compared::TooLarge;
    }
    let essence = |examined: &Examination| {
        let found = found(&examined.violations);
        format!("{} classes, {found:?}", classes_of(examined))
    };
    match (essence(&bounded), essence(&expected)) {
        (bounded, expected) if bounded == expected => Compared::Same,
        (bounded, expected) => Compared::Differ(format!("{bounded}, and not {expected}")),
    }
}
