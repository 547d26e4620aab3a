//! Executions that number their locations in the order of first use, as real objects are: the same classes, each once.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use raddle_schedule::explorers::Optimal;
use raddle_schedule::testing::{
    Op::{self, Choose, Join, Read, Spawn, Unless, Write},
    Toy,
};
use raddle_schedule::{ClassHash, Explorer, Trace, class_of};

/// How often each class is run, and how many sequences were begun in vain.
fn classes(mut toy: Toy) -> (BTreeMap<ClassHash, u64>, u64) {
    let mut classes = BTreeMap::new();
    let mut visit = |_: &mut Toy, trace: &Trace| {
        *classes.entry(class_of(trace)).or_default() += 1;
        ControlFlow::Continue(())
    };
    let mut optimal = Optimal::default();
    let coverage = optimal.explore(&mut toy, &mut visit);
    assert!(coverage.expect("toys are deterministic").is_all());
    (classes, optimal.redundant)
}

/// The last element of an array that is zero is looked for, while each is made different from the one before it. Threads come to
/// the array only after their first step, as real ones do.
fn last_zero(size: u32) -> Vec<Vec<Op>> {
    let threads = 1..=size + 1;
    let starter = threads.clone().map(Spawn).chain(threads.map(Join));
    let mut reader = vec![Choose(1)];
    for left in (0..=size).rev() {
        reader.extend([Read(left), Unless(1, 2 * left as usize)]);
    }
    let writers = (1..=size).map(|cell| vec![Choose(1), Read(cell - 1), Write(cell, 1)]);
    [starter.collect(), reader]
        .into_iter()
        .chain(writers)
        .collect()
}

#[test]
fn no_sequence_is_begun_in_vain() {
    for (size, expected) in [(3, 12), (6, 144), (10, 3328)] {
        let program = last_zero(size);
        let threads: Vec<&[Op]> = program.iter().map(Vec::as_slice).collect();
        let (named, redundant) = classes(Toy::new(&threads));
        assert_eq!((named.len(), redundant), (expected, 0));
        let (numbered, redundant) = classes(Toy::new(&threads).numbered_by_first_use());
        assert!(named == numbered);
        assert_eq!(redundant, 0, "of {expected} classes");
    }
}
