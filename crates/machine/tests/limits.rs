//! How much fits into a state is a limit of the search. Whether it is met depends on what all
//! threads have done, so no reduction could promise to meet it; none says "verified" if it did.

mod common;

use common::machine;
use raddle_explore::{Assumption, Kind, Outcome, PropertySet, Search, Verdict, reductions};

/// The outcomes with all reductions, each with its name.
fn outcomes(text: &str) -> Vec<(&'static str, Outcome)> {
    let mut outcomes = Vec::new();
    for mut reduction in reductions::all() {
        let preserved = reduction.preserves();
        let properties: PropertySet = PropertySet::default()
            .iter()
            .filter(|property| preserved.contains(*property))
            .collect();
        let search = Search::new().properties(properties);
        let outcome = search.run(&mut machine(text), reduction.as_mut());
        outcomes.push((reduction.name(), outcome));
    }
    outcomes
}

const THREADS: &str = "more than 4096 threads at a time";
const OBJECTS: &str = "more than 65535 heap objects at a time";

/// The search was cut because a state would have had so many.
fn assert_cut(outcome: &Outcome, what: &'static str) {
    let capacity = Assumption::from(Kind::Capacity).because(what);
    let reduction = outcome.asked.reduction;
    assert_eq!(outcome.explored.cut(), Some(&capacity), "{reduction}");
    assert_eq!(outcome.verdict(), Verdict::Inconclusive, "{reduction}");
}

#[test]
fn too_many_threads_prove_nothing() {
    let text = "int go;
         void waits() { await(go == 1); }
         void main() { atomic { for (int i = 0; i < 4096; i++) { spawn waits(); } } }";
    for (_, outcome) in outcomes(text) {
        assert_cut(&outcome, THREADS);
    }
}

#[test]
fn too_many_objects_prove_nothing() {
    let text = "struct Node { Node* next; } Node* list;
         void main() {
             atomic {
                 for (int i = 0; i < 65536; i++) {
                     Node* node = new Node;
                     node->next = list;
                     list = node;
                 }
             }
         }";
    for (_, outcome) in outcomes(text) {
        assert_cut(&outcome, OBJECTS);
    }
}

#[test]
fn violations_elsewhere_are_still_found() {
    let text = "int go, x;
         void waits() { await(go == 1); }
         void many() { atomic { for (int i = 0; i < 4096; i++) { spawn waits(); } } }
         void other() { x = 1; x = 2; assert(x == 0); }
         run many() || other();";
    for (reduction, outcome) in outcomes(text) {
        assert_eq!(outcome.verdict(), Verdict::Violation, "{reduction}");
        let message = outcome.violations[0].message();
        assert_eq!(message, "assertion failed: x == 0", "{reduction}");
    }
}

#[test]
fn a_limit_on_depth_does_not_keep_a_reduction_from_learning() {
    // That `x` is unprotected is learned late, and the first round goes beyond the depth.
    let text = "int x; mutex m;
         void writer() { lock(m); x = 1; x = 2; unlock(m); lock(m); unlock(m); lock(m); unlock(m); }
         void reader() { int r = x; assert(r != 1); }
         run writer() || reader();";
    let mut transactions = reductions::by_name("transactions").expect("it is one");
    let search = Search::new()
        .properties(transactions.preserves())
        .max_depth(2);
    let outcome = search.run(&mut machine(text), transactions.as_mut());
    assert_eq!(outcome.verdict(), Verdict::Violation);
    assert_eq!(outcome.statistics.rounds, 2);
}
