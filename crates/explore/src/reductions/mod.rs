//! The reductions, one per file, and the list of them.
//!
//! A new reduction is a new file here, a `mod` line, and a line in [`all`].

pub mod auto;
pub mod cartesian;
pub mod full;
pub mod optimistic;
pub mod transactions;
pub mod trial;

use crate::interior::Completion;
use crate::property::PropertySet;
use crate::reduction::Reduction;
use crate::system::System;

/// A new instance of every reduction, the plainest first.
#[must_use]
pub fn all<'s, S: System + 's>() -> Vec<Box<dyn Reduction<S> + 's>> {
    use transactions::Transactions;
    vec![
        Box::new(full::Full::default()),
        Box::new(optimistic::Optimistic::default()),
        Box::new(Transactions::with_completion(Completion::Scc)),
        Box::new(Transactions::with_completion(Completion::Cycle)),
        Box::new(Transactions::with_completion(Completion::Cpc)),
        Box::new(Transactions::with_completion(Completion::CpcL19)),
        Box::new(cartesian::Cartesian::default()),
    ]
}

/// The reduction of that name.
///
/// ```
/// use raddle_explore::{reductions, testing::Counters, Reduction};
///
/// assert_eq!(reductions::by_name::<Counters>("full").unwrap().name(), "full");
/// assert!(reductions::by_name::<Counters>("no such").is_none());
/// ```
#[must_use]
pub fn by_name<'s, S: System + 's>(name: &str) -> Option<Box<dyn Reduction<S> + 's>> {
    all().into_iter().find(|reduction| reduction.name() == name)
}

/// The names of the reductions that preserve all of the properties, the plainest
/// first. There always is one.
///
/// ```
/// use raddle_explore::{reductions, testing::Counters, PropertySet};
///
/// assert!(reductions::preserving::<Counters>(PropertySet::ALL).contains(&"full"));
/// ```
#[must_use]
pub fn preserving<S: System>(properties: PropertySet) -> Vec<&'static str> {
    all::<S>()
        .iter()
        .filter(|reduction| properties.minus(reduction.preserves()).is_empty())
        .map(|reduction| reduction.name())
        .collect()
}
