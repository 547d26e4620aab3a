//! The one place where an explorer is chosen and run.

use std::ops::ControlFlow;
use std::time::Instant;

use raddle_schedule::explorers::{
    Algorithm1, Algorithm2, Dfs, Iterative, Optimal, Pct, Random, Replay,
};
use raddle_schedule::{ClassHash, Coverage, Diverged, Explorer, Move, Trace, Visitor, class_of};

use crate::Options;
use crate::progress::Progress;
use crate::rt::{Failure, FailureKind, Program};

/// The names of the explorers, for messages.
pub(crate) const NAMES: &str = "iterative, optimal, bounded, algorithm1, cb-dfs, dfs, random, pct";

/// How many executions the default explorer makes to exhaust a program before it turns to bounds. Most tests have
/// fewer classes, and exhausting them takes a fraction of the time that bounds take.
const ATTEMPT: u64 = 10_000;

/// How many executions are worth making to find a simpler failure than the first one.
const SIMPLER: u64 = 2_000;

/// What came of exploring.
#[derive(Debug, Default)]
pub(crate) struct Explored {
    pub(crate) executions: u64,
    pub(crate) failure: Option<Failure>,
    /// What was covered, if nothing failed.
    pub(crate) coverage: Option<Coverage>,
    /// The classes that were seen, if they are counted.
    pub(crate) classes: Option<u64>,
}

/// Runs a program by the schedules that the explorer of the options chooses, until one fails.
pub(crate) fn explore(program: &mut Program, options: &Options) -> Result<Explored, String> {
    let bound = options.bound;
    let csb = bound.unwrap_or(2);
    let seed = options.seed.unwrap_or(0);
    let mut run = Run::new(program, options);
    let explored = match options.explorer.as_deref() {
        None if bound.is_none() => run.by_default(),
        None | Some("iterative") => run.with(&Iterative { bound }),
        Some("optimal") => run.with(&Optimal::default()),
        Some("bounded" | "algorithm2") => run.with(&Algorithm2 { bound: csb }),
        Some("algorithm1") => run.with(&Algorithm1 {
            bound: csb,
            states: 0,
        }),
        Some("cb-dfs") => run.with(&Dfs { bound: Some(csb) }),
        Some("dfs") => run.with(&Dfs { bound: None }),
        Some("random") => run.with(&Random { seed }),
        Some("pct") => run.with(&Pct { seed, depth: 3 }),
        Some(other) => {
            return Err(format!("there is no explorer `{other}`; there are {NAMES}"));
        }
    };
    Ok(explored)
}

/// Runs a program by one schedule; where that ends, each thread moves as long as it can.
pub(crate) fn replay(program: &mut Program, schedule: Vec<Move>, options: &Options) -> Explored {
    Run::new(program, options).again(schedule)
}

/// A program, and the limits of all that is done with it.
struct Run<'a> {
    program: &'a mut Program,
    options: &'a Options,
    deadline: Option<Instant>,
    progress: Progress,
    /// The executions of explorations that are over.
    executions: u64,
}

impl<'a> Run<'a> {
    fn new(program: &'a mut Program, options: &'a Options) -> Self {
        let deadline = options
            .max_duration
            .and_then(|longest| Instant::now().checked_add(longest));
        Self {
            program,
            options,
            deadline,
            progress: Progress::new(),
            executions: 0,
        }
    }

    /// Exhausts the program if it has few classes. If not, or if it fails, looks at those with few
    /// preemptions first: for what can be claimed, or for the failure that is easiest to understand.
    fn by_default(&mut self) -> Explored {
        let attempt = self.within(ATTEMPT, &Optimal::default());
        if attempt.failure.is_none() {
            return match attempt.coverage {
                Some(Coverage::Some) if !self.is_over() => self.with(&Iterative { bound: None }),
                _ => attempt,
            };
        }
        if matches!(&attempt.failure, Some(failure) if failure.kind == FailureKind::Diverged) {
            return attempt;
        }
        let first = self.program.schedule();
        let simpler = self.within(SIMPLER, &Iterative { bound: None });
        if simpler.failure.is_some() {
            return simpler;
        }
        self.executions -= 1;
        self.again(first)
    }

    /// Runs one schedule.
    fn again(&mut self, schedule: Vec<Move>) -> Explored {
        self.program.replays(schedule.len());
        let explored = self.with(&Replay { schedule });
        self.program.replays(0);
        explored
    }

    fn is_over(&self) -> bool {
        let enough = |most| self.executions >= most;
        self.options.max_executions.is_some_and(enough)
            || self
                .deadline
                .is_some_and(|deadline| Instant::now() >= deadline)
    }

    fn with<E: Explorer + Clone>(&mut self, explorer: &E) -> Explored {
        self.within(u64::MAX, explorer)
    }

    fn within<E: Explorer + Clone>(&mut self, limit: u64, explorer: &E) -> Explored {
        loop {
            let mut watch = Watch {
                options: self.options,
                deadline: self.deadline,
                progress: &mut self.progress,
                earlier: self.executions,
                limit,
                executions: 0,
                failure: None,
                classes: self.options.count_classes.then(Default::default),
                bound: None,
                learned: false,
                pulses: 0,
            };
            let result = explorer.clone().explore(self.program, &mut watch);
            if watch.learned && watch.failure.is_none() {
                // What steps there are was not known before: what was done so far counts for nothing.
                continue;
            }
            self.executions += watch.executions;
            let mut explored = Explored {
                executions: self.executions,
                failure: watch.failure,
                coverage: None,
                classes: watch.classes.map(|classes| classes.len() as u64),
            };
            match result {
                Ok(Coverage::Some) => {
                    let bounded = watch.bound.map(Coverage::UpToBound);
                    explored.coverage = bounded.or(Some(Coverage::Some));
                }
                Ok(coverage) => explored.coverage = Some(coverage),
                Err(diverged) => explored.failure = Some(failure_of(&diverged)),
            }
            return explored;
        }
    }
}

fn failure_of(diverged: &Diverged) -> Failure {
    Failure {
        kind: FailureKind::Diverged,
        message: format!(
            "not the same when it is run again: first {}, now {}",
            diverged.expected, diverged.found
        ),
        remarks: Vec::new(),
    }
}

/// Counts executions, and ends the exploration at a failure or a limit.
struct Watch<'a> {
    options: &'a Options,
    deadline: Option<Instant>,
    progress: &'a mut Progress,
    /// The executions before this exploration.
    earlier: u64,
    /// The most executions of this exploration.
    limit: u64,
    executions: u64,
    failure: Option<Failure>,
    classes: Option<std::collections::HashSet<ClassHash>>,
    /// The last bound that was finished.
    bound: Option<u32>,
    /// Whether the exploration has to begin again.
    learned: bool,
    pulses: u32,
}

impl Visitor<Program> for Watch<'_> {
    fn ended(&mut self, program: &mut Program, trace: &Trace) -> ControlFlow<()> {
        self.executions += 1;
        if let Some(classes) = &mut self.classes {
            classes.insert(class_of(trace));
        }
        self.failure = program.finish();
        if program.learned() && self.failure.is_none() {
            self.learned = true;
            return ControlFlow::Break(());
        }
        let all = self.earlier + self.executions;
        let enough = self.options.max_executions.is_some_and(|most| all >= most);
        if self.failure.is_some() || enough || self.executions >= self.limit {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    }

    fn pulse(&mut self) -> ControlFlow<()> {
        self.pulses = self.pulses.wrapping_add(1);
        if !self.pulses.is_multiple_of(4096) {
            return ControlFlow::Continue(());
        }
        let now = Instant::now();
        self.progress.show(now, self.earlier + self.executions);
        match self.deadline {
            Some(deadline) if now >= deadline => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        }
    }

    fn bound_reached(&mut self, bound: u32) -> ControlFlow<()> {
        self.bound = Some(bound);
        self.progress.bound_reached(bound);
        ControlFlow::Continue(())
    }
}
