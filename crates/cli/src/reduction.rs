//! Reductions by the names that users write.

use raddle_explore::interior::Completion;
use raddle_explore::reductions::transactions::Transactions;
use raddle_explore::{Reduction, reductions};
use raddle_machine::Machine;

/// Transactions without a completion. What they preserve is nothing; `compare` shows them.
pub(crate) const UNSOUND: &str = "transactions-none";

/// A new instance of the reduction of that name.
pub(crate) fn by_name(name: &str) -> Option<Box<dyn Reduction<Machine>>> {
    // Variants of a reduction that are not in the list of all of them go here.
    match name {
        UNSOUND => Some(Box::new(Transactions::with_completion(Completion::None))),
        name => reductions::by_name(name),
    }
}

/// The names of all reductions that can be relied on, the plainest first.
pub(crate) fn names() -> Vec<&'static str> {
    let all = reductions::all::<Machine>();
    all.iter().map(|reduction| reduction.name()).collect()
}

/// The name of transactions that are completed that way.
pub(crate) fn transactions(completion: Completion) -> &'static str {
    Transactions::<Machine>::with_completion(completion).name()
}
