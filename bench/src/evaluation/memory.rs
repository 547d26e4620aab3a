//! The memory that optimistic reduction saves, as in the table of its paper.

use raddle_explore::{Outcome, Statistics};

use super::Extent;
use super::document::{Block, NOTHING, ratio};
use super::run::{Subject, Way, program};
use crate::Result;
use crate::table::{Table, grouped};

const TEXT: &str = r#"
## Optimistic reduction

Stoller and Cohen, "Optimistic Synchronization-Based State-Space Reduction" (2003), compare the memory of the reduced
search with that of searches in which one bytecode instruction, or one line, is a step.
Here these are `--granularity access` and `--granularity statement`, both without
reduction. *Ratio* is how many times more than the reduced search.
"#;

const SHOWS: &str = r#"
The paper's programs are Java, ours are written anew after their descriptions, and its quicksort is a merge sort here, so this
compares kinds of programs, not numbers. What carries over is that the reduction saves at both granularities, most
where much is done under locks, and more as threads are added. What does not is the distance between the two: a line of Java is many bytecode instructions,
most of them local, but here local code belongs to the step before it at either granularity, and
a line with a lock operation is one step at both. The
search by statements also pays in another way: it hides the schedules inside of statements, so it can miss
failures. The reduced search cannot.
"#;

/// The paper's ratios: bytecode instructions, and lines.
type Paper = Option<(&'static str, &'static str, &'static str)>;

/// Name, file, constants, and the program of the paper that is of its kind.
type Model = (
    &'static str,
    &'static str,
    &'static [(&'static str, u32)],
    Paper,
);

const MODELS: &[Model] = &[
    (
        "HaltException, 2 workers",
        "corpus/papers/optimistic-halt-exception",
        &[],
        Some(("HaltException", "22", "2.0")),
    ),
    (
        "HaltException, 4 workers, 4 rounds",
        "corpus/papers/optimistic-halt-exception",
        &[("WORKERS", 4), ("ROUNDS", 4)],
        Some(("HaltException", "22", "2.0")),
    ),
    (
        "Clean",
        "corpus/papers/optimistic-clean",
        &[],
        Some(("Clean", "3.6", "1.6")),
    ),
    (
        "Philosophers 4",
        "corpus/classics/philosophers-ordered",
        &[("N", 4)],
        Some(("Xtango-DP", ">7.6", "2.6")),
    ),
    (
        "Philosophers 6",
        "corpus/classics/philosophers-ordered",
        &[("N", 6)],
        Some(("Xtango-DP", ">7.6", "2.6")),
    ),
    (
        "Merge-insertion sort 8",
        "corpus/papers/cartesian-cmis-2-8",
        &[],
        Some(("Xtango-QS", ">20", "3.8")),
    ),
    (
        "Bounded buffer",
        "corpus/classics/bounded-buffer",
        &[],
        None,
    ),
    (
        "Tellers, 3",
        "examples/tellers",
        &[("TELLERS", 3), ("ROUNDS", 2)],
        None,
    ),
    (
        "Tellers, 4",
        "examples/tellers",
        &[("TELLERS", 4), ("ROUNDS", 2)],
        None,
    ),
];

const MEMORY: &str = r#"
The memory of the same searches, in KB: everything that they keep, which is states, hash table,
links, frontier, and what the reduction has learned. In the smallest programs the latter is most of it, and nothing is saved.
"#;

const HEAD: [&str; 9] = [
    "program",
    "optimistic",
    "statements",
    "ratio",
    "accesses",
    "ratio",
    "paper's program",
    "paper: lines",
    "paper: bytecode",
];

pub(super) fn section(extent: Extent) -> Result<Vec<Block>> {
    let (mut states, mut memory) = (Table::new(1, &HEAD), Table::new(1, &HEAD));
    for (name, file, constants, paper) in MODELS {
        extent.progress(name);
        let program = program(&format!("{file}.rad"), constants)?;
        let subject = Subject::new(program, extent.most_states);
        let mut outcomes = subject.search_all(name, &[Way::Optimistic, Way::Full])?;
        outcomes.push(subject.by_statements().search(Way::Full));
        if extent.leaves_out(&outcomes) {
            continue;
        }
        states.row(row(name, &outcomes, *paper, |s| s.states));
        memory.row(row(name, &outcomes, *paper, |s| s.memory_bytes / 1_000));
    }
    Ok(vec![
        Block::text(TEXT),
        Block::Counts(states),
        Block::text(MEMORY),
        Block::Measured(memory),
        Block::text(SHOWS),
    ])
}

/// A row about the reduced search, that by accesses, and that by statements.
fn row(
    name: &str,
    outcomes: &[Outcome],
    paper: Paper,
    of: impl Fn(&Statistics) -> u64,
) -> [String; HEAD.len()] {
    let [reduced, accesses, statements] = [0, 1, 2].map(|i: usize| of(&outcomes[i].statistics));
    let (kind, bytecode, lines) = paper.unwrap_or((NOTHING, NOTHING, NOTHING));
    [
        name.into(),
        grouped(reduced),
        grouped(statements),
        ratio(statements, reduced),
        grouped(accesses),
        ratio(accesses, reduced),
        kind.into(),
        lines.into(),
        bytecode.into(),
    ]
}
