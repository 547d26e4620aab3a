//! The structures on each library, and how each explores them.

use raddle_examples::orderings as on_raddle;
use raddle_examples::primitives::PRIMITIVES;

use crate::measure::Subject;

#[path = "."]
mod on_loom {
    pub(crate) use loom::{cell, hint, sync, thread};

    #[path = "../../../../examples/rust/src/orderings/mod.rs"]
    #[allow(dead_code, unreachable_pub)]
    pub(crate) mod orderings;
}

/// A library, and how it is asked to explore.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tool {
    /// Raddle, as it is by default.
    Default,
    /// One schedule for each happens-before class.
    Schedules,
    /// The graphs of RC11.
    Graphs,
    /// The graphs of sequential consistency.
    SequentialGraphs,
    Loom,
}

/// What came of a run that was not stopped.
pub(crate) enum Outcome {
    /// With this many executions.
    Passes(u64),
    Fails(String),
}

impl Tool {
    const ALL: [Self; 5] = [
        Self::Default,
        Self::Schedules,
        Self::Graphs,
        Self::SequentialGraphs,
        Self::Loom,
    ];

    pub(crate) fn name(self) -> String {
        format!("{self:?}")
    }

    pub(crate) fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|tool| tool.name() == name)
    }

    /// Runs something under all of its executions. Loom panics if one fails.
    pub(crate) fn check(
        self,
        subject: Subject<'_>,
        begins: impl Fn() + Send + Sync + 'static,
    ) -> Option<Outcome> {
        Some(match (self, subject) {
            (Self::Loom, Subject::Structure { name, weaker }) => {
                let mut programs = on_loom::orderings::PROGRAMS.iter();
                let program = programs.find(|program| program.name == name)?;
                let orders = match weaker {
                    Some(number) => program.weakened().nth(number)?.orders(program),
                    None => program.orders(),
                };
                let mut builder = loom::model::Builder::new();
                builder.max_branches = MOST_BRANCHES;
                builder.check(move || {
                    begins();
                    (program.run)(&orders);
                });
                Outcome::Passes(0)
            }
            (Self::Loom, Subject::Primitive(_)) => return None,
            (_, Subject::Structure { name, weaker }) => {
                let mut programs = on_raddle::PROGRAMS.iter();
                let program = programs.find(|program| program.name == name)?;
                let orders = match weaker {
                    Some(number) => program.weakened().nth(number)?.orders(program),
                    None => program.orders(),
                };
                self.explore(move || {
                    begins();
                    (program.run)(&orders);
                })
            }
            (_, Subject::Primitive(name)) => {
                let mut primitives = PRIMITIVES.iter();
                let primitive = primitives.find(|primitive| primitive.name == name)?;
                self.explore(move || {
                    begins();
                    (primitive.run)();
                })
            }
        })
    }

    fn explore(self, body: impl Fn() + Send + Sync + 'static) -> Outcome {
        // The executions are those that begin, and running some again would add to them.
        let checker = raddle::Checker::new().reruns(0).spurious_wakeups(0);
        let checker = match self {
            Self::Default | Self::Loom => checker,
            Self::Schedules => checker.memory(raddle::Memory::Sc).explorer("optimal"),
            Self::Graphs => checker.memory(raddle::Memory::Rc11).explorer("graphs"),
            Self::SequentialGraphs => checker.memory(raddle::Memory::Sc).explorer("graphs"),
        };
        match checker.run(body) {
            Ok(report) => {
                assert!(report.exhausted, "ended before its time");
                Outcome::Passes(report.executions)
            }
            Err(failed) => Outcome::Fails(failed.failure.message),
        }
    }
}

/// After so many steps, loom gives an execution up.
const MOST_BRANCHES: usize = 10_000;
