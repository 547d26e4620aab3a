//! The libraries: the same programs on each of them, and how each runs a program under all schedules.

#![allow(clippy::duplicate_mod)] // That the programs are the same is the point.

use std::collections::HashSet;
use std::ops::ControlFlow;
use std::sync::Arc;

use raddle_schedule::explorers::Optimal;
use raddle_schedule::{ClassHash, Explorer as _, Trace, class_of};

pub(crate) use on_raddle::programs::Body;

#[path = "."]
mod on_raddle {
    pub(crate) use raddle::{sync, thread};
    #[path = "programs.rs"]
    pub(crate) mod programs;
}

#[path = "."]
mod on_loom {
    pub(crate) use loom::{sync, thread};
    #[path = "programs.rs"]
    pub(crate) mod programs;
}

#[path = "."]
mod on_shuttle {
    pub(crate) use shuttle::{sync, thread};
    #[path = "programs.rs"]
    pub(crate) mod programs;
}

/// A library, and how it is asked to explore.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tool {
    /// As it is by default: few preemptions first.
    Raddle,
    /// One execution for each happens-before class.
    Optimal,
    Loom,
    Shuttle,
}

/// What came of a run that was not stopped.
pub(crate) enum Outcome {
    Complete,
    Bug(String),
}

impl Tool {
    pub(crate) const ALL: [Self; 4] = [Self::Optimal, Self::Raddle, Self::Loom, Self::Shuttle];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Raddle => "raddle",
            Self::Optimal => "raddle optimal",
            Self::Loom => "loom",
            Self::Shuttle => "shuttle",
        }
    }

    pub(crate) fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|tool| tool.name() == name)
    }

    /// A program for this library.
    pub(crate) fn program(self, name: &str, size: &[usize]) -> Option<Body> {
        match self {
            Self::Raddle | Self::Optimal => on_raddle::programs::program(name, size),
            Self::Loom => on_loom::programs::program(name, size),
            Self::Shuttle => on_shuttle::programs::program(name, size),
        }
    }

    /// Runs a program of this library under all of its schedules. Loom and Shuttle panic if one fails.
    pub(crate) fn check(self, body: impl Fn() + Send + Sync + 'static) -> Outcome {
        match self {
            Self::Raddle | Self::Optimal => {
                // The executions are those that begin, and running some again would add to them.
                let mut checker = raddle::Checker::new().reruns(0);
                if self == Self::Optimal {
                    checker = checker.explorer("optimal");
                }
                match checker.run(body) {
                    Ok(report) => {
                        assert!(report.exhausted, "ended before its time");
                        Outcome::Complete
                    }
                    Err(failed) => Outcome::Bug(failed.failure.message),
                }
            }
            Self::Loom => {
                let mut builder = loom::model::Builder::new();
                builder.max_branches = 100_000;
                builder.check(body);
                Outcome::Complete
            }
            Self::Shuttle => {
                let mut config = shuttle::Config::new();
                config.failure_persistence = shuttle::FailurePersistence::None;
                let scheduler = shuttle::scheduler::DfsScheduler::new(None, false);
                shuttle::Runner::new(scheduler, config).run(body);
                Outcome::Complete
            }
        }
    }
}

/// Runs a program under `optimal` and tells its executions apart by their happens-before relations. Returns how many
/// different ones there are, if there are no more executions than `most`.
pub(crate) fn count_classes(name: &str, size: &[usize], most: usize) -> Option<u64> {
    let body = Tool::Optimal.program(name, size)?;
    let mut program = raddle::Program::new(Arc::from(body), &raddle::Options::default());
    let mut classes: HashSet<ClassHash> = HashSet::new();
    let mut executions = 0;
    let mut count = |program: &mut raddle::Program, trace: &Trace| {
        classes.insert(class_of(trace));
        executions += 1;
        if program.finish().is_some() || executions > most {
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    };
    let explored = Optimal::default().explore(&mut program, &mut count).ok()?;
    explored.is_all().then_some(classes.len() as u64)
}
