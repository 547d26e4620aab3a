//! A work-stealing queue, the kind of program that the paper on context-bounded search measures in section 4.
//!
//! The numbers are reference values for the queue as it is written here, not those of the paper's table, whose program is not
//! printed. They depend on what is a step and on what each step touches: a scheduling point or a dependency more or less
//! would change them. With two stealers that includes how a thread is created. The library for Rust code does it in one step that
//! touches nothing, and has other numbers there; [`replayed`] does it in the way that belongs to these.
#![allow(missing_docs)]

mod queue;
mod replayed;

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use queue::{Driver, Push};
use raddle_schedule::explorers::{Algorithm1, Algorithm2, Bounded, Deepening, Dfs, Optimal};
use raddle_schedule::{ClassHash, Explorer, Extent, Trace, class_of};
use replayed::Replayed;

const ONE_STEALER: Driver = Driver {
    stealers: 1,
    attempts: 2,
    items: 4,
    push: Push::Fixed,
};

const TWO_STEALERS: Driver = Driver {
    stealers: 2,
    attempts: 1,
    items: 4,
    push: Push::Fixed,
};

/// What an explorer has run.
#[derive(Debug, Default)]
struct Seen {
    executions: u64,
    classes: BTreeSet<ClassHash>,
    /// How many executions lost an item or took one twice.
    failing: u64,
}

impl Seen {
    fn counts(&self) -> (u64, usize) {
        (self.executions, self.classes.len())
    }
}

fn explore(explorer: &mut impl Explorer, driver: Driver) -> (Extent, Seen) {
    let mut seen = Seen::default();
    let mut visit = |program: &mut Replayed<Driver>, trace: &Trace| {
        seen.executions += 1;
        seen.classes.insert(class_of(trace));
        seen.failing += u64::from(!program.plain().each_taken_once());
        ControlFlow::Continue(())
    };
    let coverage = explorer
        .explore(&mut Replayed::new(driver), &mut visit)
        .expect("it does the same every time");
    (coverage.extent(), seen)
}

/// Asserts how many executions and classes, and failing executions, there are within a bound, that the algorithms of the paper run every
/// class once, and that `bounded` and `iterative` run the same classes.
///
/// The failing ones are those of the naive search. The elements of the queue are no locations, and with the bug threads race for
/// them; so executions of one class may differ in what is taken, and one of each class does not tell.
fn assert_counts(driver: Driver, bound: u32, (executions, classes): (u64, usize), failing: u64) {
    let (_, naive) = explore(&mut Dfs { bound: Some(bound) }, driver);
    assert_eq!(naive.counts(), (executions, classes), "bound {bound}");
    assert_eq!(naive.failing, failing, "bound {bound}");
    let (_, first) = explore(&mut Algorithm1 { bound, states: 0 }, driver);
    let (_, second) = explore(&mut Algorithm2 { bound }, driver);
    for (name, reduced) in [("1", first), ("2", second)] {
        assert_eq!(
            reduced.counts(),
            (classes as u64, classes),
            "bound {bound}, {name}"
        );
        assert!(reduced.classes == naive.classes, "bound {bound}, {name}");
    }
    let (_, bounded) = explore(&mut Bounded::new(bound), driver);
    let (_, iterated) = explore(&mut Deepening { bound: Some(bound) }, driver);
    for (name, reduced) in [("bounded", bounded), ("iterative", iterated)] {
        assert!(reduced.classes == naive.classes, "bound {bound}, {name}");
    }
}

#[test]
fn one_stealer() {
    let driver = ONE_STEALER;
    assert_counts(driver, 0, (1, 1), 0);
    assert_counts(driver, 1, (34, 25), 0);
    assert_counts(driver, 2, (469, 150), 0);
    assert_counts(driver, 3, (5171, 886), 0);
}

#[test]
fn one_stealer_and_the_bug() {
    let driver = Driver {
        push: Push::Buggy,
        ..ONE_STEALER
    };
    assert_counts(driver, 0, (1, 1), 0);
    assert_counts(driver, 1, (34, 25), 0);
    assert_counts(driver, 2, (389, 151), 23);
}

#[test]
fn two_stealers() {
    let driver = TWO_STEALERS;
    assert_counts(driver, 0, (2, 2), 0);
    assert_counts(driver, 1, (186, 99), 0);
    assert_counts(driver, 2, (6338, 953), 0);
}

/// Without a bound, `optimal` runs as many executions as there are classes, and these are the classes that another
/// explorer sees.
fn assert_optimal(driver: Driver, classes: usize, other: &mut impl Explorer) {
    let mut optimal = Optimal::default();
    let (coverage, once) = explore(&mut optimal, driver);
    assert_eq!(coverage, Extent::All);
    assert_eq!(once.counts(), (classes as u64, classes));
    assert_eq!(optimal.redundant, 0);
    assert_eq!(once.failing, 0);
    let (coverage, seen) = explore(other, driver);
    assert_eq!(coverage, Extent::All);
    assert!(once.classes == seen.classes);
}

#[test]
fn optimal_against_all_schedules() {
    let driver = Driver {
        attempts: 1,
        items: 2,
        ..ONE_STEALER
    };
    assert_optimal(driver, 68, &mut Dfs::default());
}

/// All schedules would be too many.
#[test]
fn optimal_against_algorithm_2() {
    let fewer_items = Driver {
        items: 2,
        ..TWO_STEALERS
    };
    assert_optimal(ONE_STEALER, 11052, &mut Algorithm2::UNBOUNDED.clone());
    assert_optimal(fewer_items, 5044, &mut Algorithm2::UNBOUNDED.clone());
}
