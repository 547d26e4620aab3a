//! Which reductions to search with, if nobody says.
//!
//! Where there are locks, transactions leave out the most, but preserve neither deadlocks nor
//! races. Deadlocks are often excluded by the order of locks, which a search by transactions
//! finds by the way. So it comes first, and only if it cannot tell, deadlocks are looked for
//! by a reduction that preserves them. Races need such a reduction anyway, and that does for
//! everything; so it does where there are no locks, and little to tell transactions by. Termination
//! is decided by the full search only, which does for everything as well.
//!
//! How much a reduction leaves out, the first states of a search [show](super::trial). One that would leave out too little
//! makes way for the [next best](Plan::instead), and that is the full search in the end.
//!
//! What they show is a guess. Some programs are small, and the full search, which is the fastest per step, is through them before a reduction is; of some, another reduction
//! leaves out nearly everything, and that does not show at the start. So before the search that was planned goes on for long, [others](ATTEMPTS) have a short
//! time each to come to the end. One that has not, and turns out to be the best in the end, goes on where it was.

use crate::property::{Property, PropertySet};
use crate::system::System;

/// Which searches answer for a set of properties.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Plan {
    /// One search for all of them.
    One {
        /// The name of the reduction.
        reduction: &'static str,
        /// Why that one.
        because: &'static str,
    },
    /// A search for all but deadlocks, and one for deadlocks, unless the first one excludes
    /// them.
    DeadlocksApart {
        /// The reduction of the first search.
        first: &'static str,
        /// The reduction that preserves deadlocks.
        deadlocks: &'static str,
    },
}

impl Plan {
    /// The reduction of the first search, and which of these properties that looks for.
    #[must_use]
    pub fn first(&self, asked: PropertySet) -> (&'static str, PropertySet) {
        match *self {
            Self::One { reduction, .. } => (reduction, asked),
            Self::DeadlocksApart { first, .. } => (first, asked.without(Property::Deadlock)),
        }
    }

    /// One search that has come to its end.
    #[must_use]
    pub fn done_by(reduction: &'static str) -> Self {
        Self::One {
            reduction,
            because: "it came to the end first",
        }
    }

    /// One search that a limit has ended while it was tried.
    #[must_use]
    pub fn cut_in(reduction: &'static str) -> Self {
        Self::One {
            reduction,
            because: "it was tried when the search was ended",
        }
    }

    /// What to do if the reduction of the first search leaves out too little.
    #[must_use]
    pub fn instead(self) -> Self {
        match self {
            Self::DeadlocksApart { deadlocks, .. } => Self::One {
                reduction: deadlocks,
                because: "transactions would leave out too little",
            },
            Self::One {
                reduction: "transactions",
                ..
            } => Self::One {
                reduction: PRESERVING_ALL[0],
                because: "transactions would leave out too little",
            },
            Self::One { .. } => Self::One {
                reduction: "full",
                because: "no reduction would leave out enough",
            },
        }
    }
}

/// A search for everything that is asked for which is tried before a longer one, and for how many states, about.
pub type Attempt = (&'static str, u64);

/// All attempts, in their order.
pub const ATTEMPTS: [Attempt; 3] = [
    ("optimistic", 1 << 11),
    ("full", 1 << 18),
    ("optimistic", 1 << 15),
];

/// Whether a program has locks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Locks {
    /// It does.
    Some,
    /// It does not.
    None,
}

/// The reductions that preserve everything, the one that leaves out the most first.
const PRESERVING_ALL: [&str; 3] = ["cartesian", "optimistic", "full"];

/// The plan for these properties.
///
/// ```
/// use raddle_explore::reductions::auto::{Locks, Plan, plan};
/// use raddle_explore::{PropertySet, testing::Counters};
///
/// let all_but_races = plan::<Counters>(PropertySet::default(), Locks::Some);
/// assert!(matches!(all_but_races, Plan::DeadlocksApart { first: "transactions", .. }));
/// ```
#[must_use]
pub fn plan<S: System>(asked: PropertySet, locks: Locks) -> Plan {
    plan_with(asked, locks, &super::preserving::<S>(PropertySet::SAFETY))
}

/// The plan, given the names of all reductions that preserve everything.
fn plan_with(asked: PropertySet, locks: Locks, preserving_all: &[&'static str]) -> Plan {
    let best = PRESERVING_ALL
        .into_iter()
        .find(|name| preserving_all.contains(name))
        .unwrap_or("full");
    if asked.contains(Property::Termination) {
        Plan::One {
            reduction: "full",
            because: "termination is asked for, which no reduction preserves",
        }
    } else if asked.contains(Property::Race) {
        Plan::One {
            reduction: best,
            because: "races are asked for",
        }
    } else if locks == Locks::None {
        Plan::One {
            reduction: best,
            because: "there are no locks to tell transactions by",
        }
    } else if asked.contains(Property::Deadlock) {
        Plan::DeadlocksApart {
            first: "transactions",
            deadlocks: best,
        }
    } else {
        Plan::One {
            reduction: "transactions",
            because: "neither deadlocks nor races are asked for",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reductions::by_name;
    use crate::testing::Counters;

    #[test]
    fn what_is_planned_is_preserved() {
        for bits in 0..1 << Property::ALL.len() {
            let asked: PropertySet = (Property::ALL.into_iter().enumerate())
                .filter(|(index, _)| bits & (1 << index) != 0)
                .map(|(_, property)| property)
                .collect();
            let preserves = |name| by_name::<Counters>(name).expect("it exists").preserves();
            let locks = [Locks::Some, Locks::None][bits % 2];
            let covered = match plan::<Counters>(asked, locks) {
                Plan::One { reduction, .. } => asked.minus(preserves(reduction)),
                Plan::DeadlocksApart { first, deadlocks } => {
                    assert!(preserves(deadlocks).contains(Property::Deadlock));
                    asked.without(Property::Deadlock).minus(preserves(first))
                }
            };
            assert!(covered.is_empty(), "{asked}: {covered} is lost");
        }
    }

    #[test]
    fn in_the_end_it_is_the_full_search() {
        for locks in [Locks::Some, Locks::None] {
            for asked in [
                PropertySet::default(),
                PropertySet::SAFETY,
                PropertySet::NONE,
            ] {
                let mut plan = plan::<Counters>(asked, locks);
                for _ in 0..3 {
                    let (first, looked_for) = plan.first(asked);
                    let preserved = by_name::<Counters>(first).expect("it exists").preserves();
                    assert!(
                        looked_for.minus(preserved).is_empty(),
                        "{first}: {looked_for}"
                    );
                    plan = plan.instead();
                }
                assert_eq!(plan.first(asked), ("full", asked));
            }
        }
    }

    #[test]
    fn the_best_that_there_is_looks_for_races() {
        let race = PropertySet::SAFETY;
        for (registered, expected) in [
            (&["full", "optimistic", "cartesian"][..], "cartesian"),
            (&["full", "optimistic"], "optimistic"),
            (&["full"], "full"),
        ] {
            let plan = plan_with(race, Locks::Some, registered);
            assert!(matches!(plan, Plan::One { reduction, .. } if reduction == expected));
        }
    }
}
