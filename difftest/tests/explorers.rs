//! Running executions one by one agrees with the full search on random programs that end.

use std::collections::BTreeSet;

use raddle_difftest::syntax::Program;
use raddle_difftest::{Campaign, compile, granularity_of, shrink};
use raddle_explore::reductions::full::Full;
use raddle_explore::{Place, Property, Search, Violation};
use raddle_machine::Machine;
use raddle_schedule::Explorer;
use raddle_schedule::explorers::{Dfs, Iterative, Optimal};
use raddle_schedule::system::{Examination, Settings, examine};

const PROGRAMS: u64 = 1_000;
/// Programs with longer executions are left out, and those with more of them.
const LONGEST: usize = 60;
const MOST_EXECUTIONS: u64 = 200;
const MOST_NAIVE_EXECUTIONS: u64 = 1_000;

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
    let settings = Settings {
        all: true,
        max_length: LONGEST,
        max_executions: Some(most),
        ..Settings::default()
    };
    examine(&mut machine.clone(), explorer, &settings)
}

/// What became of a comparison.
#[derive(Debug, PartialEq, Eq)]
enum Compared {
    TooLarge,
    Same,
    Differ(String),
}

fn compare(program: &Program) -> Compared {
    let Ok(program) = compile(&program.to_string()) else {
        return Compared::TooLarge;
    };
    let machine = Machine::new(program.clone(), granularity_of(&program));
    let iterative = run(&machine, &mut Iterative::default(), MOST_EXECUTIONS);
    if iterative.stop.is_some() {
        return Compared::TooLarge;
    }
    let full = Search::new()
        .collect_all()
        .max_states(100_000)
        .run(&mut machine.clone(), &mut Full::default());
    if full.cut.is_some() {
        return Compared::TooLarge;
    }
    let expected = found(&full.violations);
    let optimal = run(&machine, &mut Optimal::default(), 2 * MOST_EXECUTIONS);
    let naive = run(&machine, &mut Dfs::default(), MOST_NAIVE_EXECUTIONS);
    let classes = match naive.stop {
        None => naive.classes,
        Some(_) => iterative.classes,
    };
    for (what, explored) in [("iterative", &iterative), ("optimal", &optimal)] {
        let found = found(&explored.violations);
        if found != expected {
            return Compared::Differ(format!("{what} finds {found:?}, and not {expected:?}"));
        }
        if (explored.classes, explored.executions) != (classes, classes) {
            return Compared::Differ(format!(
                "{what} has {} executions of {} classes, there are {classes}",
                explored.executions, explored.classes
            ));
        }
    }
    Compared::Same
}

#[test]
fn explorers_agree_with_the_full_search() {
    let first: u64 = std::env::var("FIRST").ok().and_then(|n| n.parse().ok()).unwrap_or(0);
    let campaign = Campaign::new(1, PROGRAMS);
    let (mut compared, mut differ) = (0, 0);
    for number in first..first + PROGRAMS {
        let (_, program) = campaign.program(number);
        if std::panic::catch_unwind(|| compare(&program)).is_err() {
            println!("program {number}:\n{program}");
            let shrunk = shrink(&program, |p| std::panic::catch_unwind(|| compare(p)).is_err());
            println!("shrunk {number}:\n{shrunk}");
            panic!();
        }
        match compare(&program) {
            Compared::TooLarge => {}
            Compared::Same => compared += 1,
            Compared::Differ(_) => {
                differ += 1;
                let wrong = |smaller: &Program| matches!(compare(smaller), Compared::Differ(_));
                let shrunk = shrink(&program, wrong);
                println!("program {number}: {:?}\n{shrunk}", compare(&shrunk));
                if differ > 5 {
                    break;
                }
            }
        }
    }
    println!("{compared} of {PROGRAMS} programs were compared");
    assert!(compared >= 300 && differ == 0, "only {compared} programs were compared");
}
