//! Table 1 of "Cartesian Partial-Order Reduction" (2007): every row of a program whose text
//! the paper gives, up to sizes that only the reduction can finish.
//!
//! The programs are those of the corpus, with another constant for the larger sizes.

use std::path::Path;
use std::sync::Arc;

use raddle_explore::Search;
use raddle_explore::reductions::cartesian::{Cartesian, CycleTest};
use raddle_lang::Source;
use raddle_machine::{Granularity, Machine, Program};

/// States and transitions.
type Counts = (u64, u64);

/// Which threads that cannot move count as transitions.
#[derive(Clone, Copy, PartialEq)]
enum SelfLoops {
    Blocked,
    All,
}

/// A program of the corpus in which `constant` has another value.
fn program(name: &str, constant: &str, value: u32) -> Arc<Program> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/papers");
    let path = folder.join(format!("{name}.rad"));
    let text = std::fs::read_to_string(&path).expect("it is in the corpus");
    let definition = format!("const int {constant} = ");
    let (before, after) = text.split_once(&definition).expect("it has the constant");
    let (_, after) = after.split_once(';').expect("a definition ends");
    let text = format!("{before}{definition}{value};{after}");
    let (program, _) = raddle_machine::load(Source::new("program.rad", text));
    Arc::new(program.expect("it compiles"))
}

fn counts(program: &Arc<Program>, cycle_test: CycleTest, self_loops: SelfLoops) -> Counts {
    let mut machine = Machine::new(Arc::clone(program), Granularity::Access);
    let mut cartesian = Cartesian::with_cycle_test(cycle_test);
    let outcome = Search::new().run(&mut machine, &mut cartesian);
    assert!(outcome.is_verified());
    let statistics = outcome.statistics;
    let mut transitions = statistics.transitions + statistics.blocked_steps;
    if self_loops == SelfLoops::All {
        transitions += statistics.ended_steps;
    }
    (statistics.states, transitions)
}

/// Compares the published counts, and those of figure 6 to the letter.
fn check(program: &Arc<Program>, self_loops: SelfLoops, published: Counts, letter: Counts) {
    let found = [CycleTest::AsPublished, CycleTest::ToTheLetter]
        .map(|cycle_test| counts(program, cycle_test, self_loops));
    assert_eq!(found, [published, letter]);
}

#[test]
fn file_system() {
    let program = |threads| program("cartesian-file-system-2", "THREADS", threads);
    for threads in 2..=13 {
        let counts = (1, 8 * u64::from(threads));
        check(&program(threads), SelfLoops::Blocked, counts, counts);
    }
    for (threads, published, letter) in [
        (14, (10, 1_026), (5, 524)),
        (15, (100, 10_120), (25, 2_640)),
        (16, (1_000, 99_800), (125, 13_300)),
        (17, (10_000, 984_000), (625, 67_000)),
    ] {
        check(&program(threads), SelfLoops::Blocked, published, letter);
    }
}

#[test]
fn indexer() {
    let program = |threads| program("cartesian-indexer-2", "THREADS", threads);
    for threads in 2..=11 {
        let counts = (1, 4 * u64::from(threads));
        check(&program(threads), SelfLoops::Blocked, counts, counts);
    }
    for (threads, counts) in [
        (12, (9, 394)),
        (13, (81, 3_528)),
        (14, (729, 31_590)),
        (15, (6_561, 282_852)),
        (16, (59_049, 2_532_546)),
    ] {
        check(&program(threads), SelfLoops::Blocked, counts, counts);
    }
}

#[test]
fn philosophers() {
    for (philosophers, published, letter) in [
        (2, (9, 28), (9, 26)),
        (3, (27, 174), (27, 145)),
        (4, (94, 750), (91, 628)),
        (5, (295, 2_984), (289, 2_503)),
        (6, (942, 11_233), (913, 9_364)),
        (7, (2_955, 41_091), (2_867, 34_254)),
        (8, (9_212, 145_717), (8_938, 121_563)),
        (9, (28_675, 509_218), (27_823, 424_815)),
    ] {
        let program = program("cartesian-philosophers-2", "N", philosophers);
        check(&program, SelfLoops::All, published, letter);
    }
}

#[test]
fn robots() {
    for (robots, published, letter) in
        [(2, (56, 2_635), (56, 2_623)), (3, (56, 6_387), (56, 6_375))]
    {
        let program = program(&format!("cartesian-robots-{robots}"), "N", 12);
        check(&program, SelfLoops::All, published, letter);
    }
}

#[test]
fn shared_memory() {
    let shared_ptr = program("cartesian-shared-ptr", "N", 100);
    check(&shared_ptr, SelfLoops::All, (418, 12_785), (418, 12_368));
    let shared_array = program("cartesian-shared-array", "N", 64);
    check(&shared_array, SelfLoops::All, (132, 1_648), (132, 1_516));
}
