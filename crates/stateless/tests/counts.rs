//! How many classes `.rad` programs have that others have counted: `optimal` runs each once.
#![allow(missing_docs)]

use std::sync::Arc;

use raddle_lang::Source;
use raddle_machine::{Granularity, Machine};
use raddle_schedule::explorers::{Algorithm2, Optimal};
use raddle_schedule::{Explorer, Extent};
use raddle_stateless::{Settings, examine};

/// An explorer runs this many classes, each once, and nothing is wrong with them.
#[track_caller]
fn runs(explorer: &mut impl Explorer, text: &str, classes: u64) {
    runs_with(1, explorer, text, classes);
}

#[track_caller]
fn runs_with(workers: usize, explorer: &mut impl Explorer, text: &str, classes: u64) {
    let (program, _) = raddle_machine::load(Source::new("counts.rad", text));
    let program = Arc::new(program.expect("it is correct"));
    let mut machine = Machine::new(program, Granularity::Access);
    let settings = Settings {
        workers,
        ..Settings::default()
    };
    let found = examine(&mut machine, explorer, &settings);
    assert_eq!(found.explored.extent(), Extent::All);
    assert_eq!(found.statistics.executions, classes);
    assert_eq!(found.statistics.classes, Some(classes));
    assert_eq!(found.statistics.ends.terminated, classes);
}

#[track_caller]
fn count(text: &str, classes: u64) {
    let mut optimal = Optimal::default();
    runs(&mut optimal, text, classes);
    assert_eq!(optimal.redundant, 0);
}

/// A program of the corpus, where it has few threads.
fn from_corpus(name: &str, threads: u64) -> String {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../corpus/papers");
    let text = std::fs::read_to_string(format!("{folder}/{name}-2.rad")).expect("it can be read");
    assert!(text.contains("THREADS = 2;"));
    text.replace("THREADS = 2;", &format!("THREADS = {threads};"))
}

fn readers(n: u64) -> String {
    format!(
        "int x; void writes() {{ x = 1; }} void reads() {{ int r = x; }}
         run writes() || reads()[{n}];"
    )
}

/// Each reads before the write, or after it.
#[test]
fn one_writer_and_readers() {
    for n in 1..=11 {
        count(&readers(n), 1 << n);
    }
    for n in 1..=8 {
        runs(&mut Algorithm2::UNBOUNDED.clone(), &readers(n), 1 << n);
    }
}

/// The first thread looks for the last zero of an array, whose elements the others make one more than the one before.
fn last_zero(n: u64) -> String {
    format!(
        "const int N = {n}; int array[N + 1];
         void looks() {{ int i = N; while (array[i] != 0) {{ i--; }} }}
         void writes() {{ int before = array[tid - 1]; array[tid] = before + 1; }}
         run looks() || writes()[N];"
    )
}

#[test]
fn last_zeros() {
    for n in [2, 3, 5, 7, 10] {
        count(&last_zero(n), (n + 3) << (n - 2));
    }
    for n in [2, 3, 5] {
        runs(
            &mut Algorithm2::UNBOUNDED.clone(),
            &last_zero(n),
            (n + 3) << (n - 2),
        );
    }
}

/// Up to eleven threads do not meet. Each further one meets another in three slots.
#[test]
fn indexers() {
    for (threads, classes) in [(11, 1), (12, 8), (13, 64), (14, 512)] {
        count(&from_corpus("cartesian-indexer", threads), classes);
    }
}

#[test]
fn fifteen_indexers() {
    count(&from_corpus("cartesian-indexer", 15), 4096);
}

/// Up to thirteen threads do not meet.
#[test]
fn file_systems() {
    for (threads, classes) in [(13, 1), (14, 2), (16, 8), (18, 32), (19, 64)] {
        count(&from_corpus("cartesian-file-system", threads), classes);
    }
}

/// Critical sections in every order.
#[test]
fn one_mutex() {
    for (threads, times, classes) in [(2, 3, 20), (3, 2, 90), (4, 1, 24), (6, 1, 720)] {
        let text = format!(
            "mutex m; void locks() {{ for (int i = 0; i < {times}; i++) {{ lock(m); unlock(m); }} }}
             run locks()[{threads}];"
        );
        count(&text, classes);
        runs(&mut Algorithm2::UNBOUNDED.clone(), &text, classes);
    }
}

/// Threads and objects that different threads make, in any order: they have the same numbers, whoever of the workers makes
/// them first.
#[test]
fn workers_give_the_same_names() {
    let text = "
        struct Cell { int value; };
        int x;
        void leaf(Cell* c) { c->value++; x = 2; }
        void starts() { Cell* c = new Cell; thread t = spawn leaf(c); c->value++; x = 1; join(t); }
        run starts()[2];";
    count(text, 384);
    for _ in 0..20 {
        runs_with(3, &mut Optimal::default(), text, 384);
    }
}
