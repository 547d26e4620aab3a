//! The registry: every explorer that users can name, with what can be set about it and what it guarantees. The command and the
//! library have it from here, and a test compares the page about explorers with it.
//!
//! ```
//! use raddle_schedule::explorers::{Guarantee, Parameters, by_name};
//!
//! let entry = by_name("bounded").unwrap();
//! assert_eq!((entry.guarantee, entry.has_bound()), (Guarantee::UpToBound, true));
//! let explorer = entry.make(&Parameters { bound: Some(1), ..Parameters::default() });
//! # drop(explorer);
//! assert!(by_name("no such").is_none());
//! ```

use super::{Algorithm1, Algorithm2, Bounded, Deepening, Dfs, Optimal, Pct, Random};
use crate::execution::{Diverged, Execution};
use crate::explorer::{Explorer, Visitor};
use raddle_outcome::Coverage;

/// The bound that is used where one is needed and none is said: most errors need no more preemptions.
pub const DEFAULT_BOUND: u32 = 2;

/// The depth of errors that is looked for if none is said: few need more.
pub const DEFAULT_DEPTH: u32 = 3;

/// What can be set about explorers. Each takes what it [has](Entry).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Parameters {
    /// The greatest number of preemptions.
    pub bound: Option<u32>,
    /// Where random numbers begin.
    pub seed: Option<u64>,
    /// The depth of the errors to look for.
    pub depth: Option<u32>,
}

/// What an explorer that comes to its end has covered. What it says in the end, by its [`Coverage`], counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Guarantee {
    /// Every class of executions.
    All,
    /// Every class with an execution within the bound.
    UpToBound,
    /// Nothing.
    Nothing,
}

/// Whether an explorer has a bound on preemptions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Bound {
    No,
    /// It has one, which is [`DEFAULT_BOUND`] unless something else is said.
    Always,
    /// It has one if one is said.
    Optional,
}

/// An explorer that users can name.
#[derive(Debug)]
pub struct Entry {
    /// Its name.
    pub name: &'static str,
    /// What it runs, in one line.
    pub runs: &'static str,
    /// What it guarantees.
    pub guarantee: Guarantee,
    bound: Bound,
    /// Whether it has a depth of errors.
    pub has_depth: bool,
    /// Whether it makes use of several workers. If not, one does all of it.
    pub uses_workers: bool,
    make: fn(&Parameters) -> Named,
}

impl Entry {
    /// Whether it has a bound on preemptions.
    #[must_use]
    pub fn has_bound(&self) -> bool {
        self.bound != Bound::No
    }

    /// Whether it chooses at random: it never ends by itself, and has a seed.
    #[must_use]
    pub fn is_random(&self) -> bool {
        self.guarantee == Guarantee::Nothing
    }

    /// What it is really run with: defaults where it needs something that is not said, and nothing that it does not have.
    #[must_use]
    pub fn effective(&self, said: &Parameters) -> Parameters {
        Parameters {
            bound: match self.bound {
                Bound::No => None,
                Bound::Always => Some(said.bound.unwrap_or(DEFAULT_BOUND)),
                Bound::Optional => said.bound,
            },
            seed: self.is_random().then(|| said.seed.unwrap_or_default()),
            depth: self.has_depth.then(|| said.depth.unwrap_or(DEFAULT_DEPTH)),
        }
    }

    /// The explorer.
    #[must_use]
    pub fn make(&self, said: &Parameters) -> Named {
        (self.make)(&self.effective(said))
    }
}

fn csb(with: &Parameters) -> u32 {
    with.bound.unwrap_or(DEFAULT_BOUND)
}

/// Every explorer that users can name.
pub static ALL: [Entry; 9] = [
    Entry {
        name: "optimal",
        runs: "One execution of each class: of those that differ only in the order of independent steps (optimal partial-order reduction)",
        guarantee: Guarantee::All,
        bound: Bound::No,
        has_depth: false,
        uses_workers: true,
        make: |_| Named::Optimal(Optimal::default()),
    },
    Entry {
        name: "bounded",
        runs: "Each class with an execution within a bound on preemptions, some more than once (bounded partial-order reduction)",
        guarantee: Guarantee::UpToBound,
        bound: Bound::Always,
        has_depth: false,
        uses_workers: false,
        make: |with| Named::Bounded(Bounded::new(csb(with))),
    },
    Entry {
        name: "iterative",
        runs: "The same for the bounds 0, 1, 2, ...",
        guarantee: Guarantee::All,
        bound: Bound::Optional,
        has_depth: false,
        uses_workers: false,
        make: |with| Named::Deepening(Deepening { bound: with.bound }),
    },
    Entry {
        name: "algorithm1",
        runs: "Each class within a bound once, and every prefix of them (algorithm 1 of the paper on context bounds)",
        guarantee: Guarantee::UpToBound,
        bound: Bound::Always,
        has_depth: false,
        uses_workers: true,
        make: |with| {
            Named::Algorithm1(Algorithm1 {
                bound: csb(with),
                states: 0,
            })
        },
    },
    Entry {
        name: "algorithm2",
        runs: "Each class within a bound once; remembers their prefixes (algorithm 2 of the paper on context bounds)",
        guarantee: Guarantee::UpToBound,
        bound: Bound::Always,
        has_depth: false,
        uses_workers: true,
        make: |with| Named::Algorithm2(Algorithm2 { bound: csb(with) }),
    },
    Entry {
        name: "cb-dfs",
        runs: "Every execution within a bound on preemptions",
        guarantee: Guarantee::UpToBound,
        bound: Bound::Always,
        has_depth: false,
        uses_workers: true,
        make: |with| {
            Named::Dfs(Dfs {
                bound: Some(csb(with)),
            })
        },
    },
    Entry {
        name: "dfs",
        runs: "Every execution",
        guarantee: Guarantee::All,
        bound: Bound::No,
        has_depth: false,
        uses_workers: true,
        make: |_| Named::Dfs(Dfs::default()),
    },
    Entry {
        name: "random",
        runs: "Random executions: each step by any thread that can move. Proves nothing",
        guarantee: Guarantee::Nothing,
        bound: Bound::No,
        has_depth: false,
        uses_workers: true,
        make: |with| {
            Named::Random(Random {
                seed: with.seed.unwrap_or_default(),
            })
        },
    },
    Entry {
        name: "pct",
        runs: "Random executions by priorities that rarely change (probabilistic concurrency testing). Proves nothing",
        guarantee: Guarantee::Nothing,
        bound: Bound::No,
        has_depth: true,
        uses_workers: true,
        make: |with| {
            Named::Pct(Pct {
                seed: with.seed.unwrap_or_default(),
                depth: with.depth.unwrap_or(DEFAULT_DEPTH),
            })
        },
    },
];

/// The explorer of that name.
#[must_use]
pub fn by_name(name: &str) -> Option<&'static Entry> {
    ALL.iter().find(|entry| entry.name == name)
}

/// The names of the explorers that have something in common, for messages: `random, pct`.
#[must_use]
pub fn names(wanted: impl Fn(&Entry) -> bool) -> String {
    let names: Vec<_> = ALL
        .iter()
        .filter(|entry| wanted(entry))
        .map(|entry| entry.name)
        .collect();
    names.join(", ")
}

/// An explorer of the registry.
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "each is what its name says")]
pub enum Named {
    Optimal(Optimal),
    Deepening(Deepening),
    Bounded(Bounded),
    Algorithm1(Algorithm1),
    Algorithm2(Algorithm2),
    Dfs(Dfs),
    Random(Random),
    Pct(Pct),
}

/// Calls a method of whichever explorer it is.
macro_rules! delegate {
    ($named:ident.$method:ident($($argument:expr),*)) => {
        match $named {
            Self::Optimal(explorer) => explorer.$method($($argument),*),
            Self::Deepening(explorer) => explorer.$method($($argument),*),
            Self::Bounded(explorer) => explorer.$method($($argument),*),
            Self::Algorithm1(explorer) => explorer.$method($($argument),*),
            Self::Algorithm2(explorer) => explorer.$method($($argument),*),
            Self::Dfs(explorer) => explorer.$method($($argument),*),
            Self::Random(explorer) => explorer.$method($($argument),*),
            Self::Pct(explorer) => explorer.$method($($argument),*),
        }
    };
}

impl Explorer for Named {
    fn explore<X: Execution>(
        &mut self,
        execution: &mut X,
        visitor: &mut impl Visitor<X>,
    ) -> Result<Coverage, Diverged> {
        delegate!(self.explore(execution, visitor))
    }

    fn explore_in_parallel<X: Execution, V: Visitor<X>>(
        &mut self,
        workers: usize,
        worker: impl Fn(usize) -> (X, V) + Sync,
    ) -> Result<Coverage, Diverged> {
        delegate!(self.explore_in_parallel(workers, worker))
    }
}

#[cfg(test)]
mod tests {
    use std::ops::ControlFlow;

    use raddle_outcome::Extent;

    use super::*;
    use crate::testing::{Op, Toy};
    use crate::trace::Trace;

    /// Two threads that write twice each have executions with more preemptions than 0.
    #[test]
    fn each_explorer_covers_what_it_guarantees() {
        let writes: &[Op] = &[Op::Write(0, 1), Op::Write(0, 2)];
        for entry in &ALL {
            let mut toy = Toy::new(&[writes, writes]);
            let said = Parameters {
                bound: (entry.guarantee == Guarantee::UpToBound).then_some(0),
                ..Parameters::default()
            };
            let mut left = 100;
            let mut ended = |_: &mut Toy, _: &Trace| {
                left -= 1;
                match left {
                    0 => ControlFlow::Break(()),
                    _ => ControlFlow::Continue(()),
                }
            };
            let coverage = entry.make(&said).explore(&mut toy, &mut ended);
            let extent = coverage.expect("a toy does the same again").extent();
            let guaranteed = match entry.guarantee {
                Guarantee::All => Extent::All,
                Guarantee::UpToBound => Extent::UpToBound(0),
                Guarantee::Nothing => Extent::Some,
            };
            assert_eq!(extent, guaranteed, "{}", entry.name);
        }
    }
}
