//! Reductions by the names that users write.

use raddle_explore::interior::Completion;
use raddle_explore::reductions::cartesian::{Cartesian, CycleTest};
use raddle_explore::reductions::transactions::Transactions;
use raddle_explore::{Reduction, Statistics, reductions};

use crate::native::Executor;

/// Transactions without a completion. What they preserve is nothing; `compare` shows them.
pub(crate) const UNSOUND: &str = "transactions-none";

/// Cartesian reduction with the cycle test behind the published tables.
const PAPER: &str = "cartesian-paper";

/// A new instance of the reduction of that name.
pub(crate) fn by_name(name: &str) -> Option<Box<dyn Reduction<Executor>>> {
    // Variants of a reduction that are not in the list of all of them go here.
    match name {
        PAPER => Some(Box::new(Cartesian::with_cycle_test(CycleTest::AsPublished))),
        UNSOUND => Some(Box::new(Transactions::with_completion(Completion::None))),
        name => reductions::by_name(name),
    }
}

/// The names of all reductions that can be relied on, the plainest first.
pub(crate) fn names() -> Vec<&'static str> {
    let all = reductions::all::<Executor>();
    let names = all.iter().map(|reduction| reduction.name());
    names.chain([PAPER]).collect()
}

/// The name of transactions that are completed that way.
pub(crate) fn transactions(completion: Completion) -> &'static str {
    Transactions::<Executor>::with_completion(completion).name()
}

/// The name of cartesian reduction with that cycle test.
pub(crate) fn cartesian(cycle_test: CycleTest) -> &'static str {
    Cartesian::<Executor>::with_cycle_test(cycle_test).name()
}

/// Boundary states and all between them, if a search that was to count them has.
pub(crate) fn visited(name: &str, statistics: &Statistics) -> Option<u64> {
    match (name, statistics.visited_states) {
        // Without a reduction there is nothing between them.
        ("full", _) => Some(statistics.states),
        // It does not count.
        (_, 0) => None,
        // A search that ended early may have stored states that it has not visited.
        (_, visited) => Some(visited.max(statistics.states)),
    }
}
