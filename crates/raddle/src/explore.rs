//! The one place where an explorer is chosen and run.

use std::ops::ControlFlow;
use std::time::Instant;

use raddle_schedule::explorers::{
    Algorithm1, Algorithm2, Dfs, Iterative, Optimal, Pct, Random, Replay,
};
use raddle_schedule::{Coverage, Diverged, Explorer, Move, Trace, Visitor};

use crate::Options;
use crate::rt::{Failure, FailureKind, Program};

/// What came of exploring.
#[derive(Debug, Default)]
pub(crate) struct Explored {
    pub(crate) executions: u64,
    pub(crate) failure: Option<Failure>,
    /// What was covered, if nothing failed.
    pub(crate) coverage: Option<Coverage>,
}

/// Runs a program by the schedules that the explorer of the options chooses, until one fails.
pub(crate) fn explore(program: &mut Program, options: &Options) -> Explored {
    let bound = options.bound;
    let csb = bound.unwrap_or(2);
    let seed = options.seed.unwrap_or(0);
    match options.explorer.as_deref() {
        None | Some("iterative") => run(Iterative { bound }, program, options),
        Some("optimal") => run(Optimal::default(), program, options),
        Some("bounded" | "algorithm2") => run(Algorithm2 { bound: csb }, program, options),
        Some("algorithm1") => run(
            Algorithm1 {
                bound: csb,
                states: 0,
            },
            program,
            options,
        ),
        Some("dfs") => run(Dfs { bound: None }, program, options),
        Some("cb-dfs") => run(Dfs { bound: Some(csb) }, program, options),
        Some("random") => run(Random { seed }, program, options),
        Some("pct") => run(Pct { seed, depth: 3 }, program, options),
        Some(other) => panic!("raddle: there is no explorer `{other}`"),
    }
}

/// Runs a program by one schedule; where that ends, each thread moves as long as it can.
pub(crate) fn replay(program: &mut Program, moves: &[Move], options: &Options) -> Explored {
    let schedule = moves.to_vec();
    run(Replay { schedule }, program, options)
}

fn run<E: Explorer + Clone>(explorer: E, program: &mut Program, options: &Options) -> Explored {
    let mut watch = Watch {
        options,
        deadline: options
            .max_duration
            .and_then(|longest| Instant::now().checked_add(longest)),
        explored: Explored::default(),
        learned: false,
        pulses: 0,
    };
    loop {
        watch.learned = false;
        match explorer.clone().explore(program, &mut watch) {
            // What steps there are was not known before: what was done so far counts for nothing.
            Ok(_) if watch.learned => watch.explored.executions = 0,
            Ok(coverage) => {
                watch.explored.coverage = Some(coverage);
                return watch.explored;
            }
            Err(diverged) => {
                watch.explored.failure = Some(failure_of(&diverged));
                return watch.explored;
            }
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
    explored: Explored,
    /// Whether the exploration has to begin again.
    learned: bool,
    pulses: u32,
}

impl Watch<'_> {
    fn is_too_late(&self) -> bool {
        self.deadline
            .is_some_and(|deadline| Instant::now() >= deadline)
    }
}

impl Visitor<Program> for Watch<'_> {
    fn ended(&mut self, program: &mut Program, _trace: &Trace) -> ControlFlow<()> {
        self.explored.executions += 1;
        self.explored.failure = program.finish();
        if program.learned() && self.explored.failure.is_none() {
            self.learned = true;
            return ControlFlow::Break(());
        }
        let enough = self
            .options
            .max_executions
            .is_some_and(|most| self.explored.executions >= most);
        if self.explored.failure.is_some() || enough {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    }

    fn pulse(&mut self) -> ControlFlow<()> {
        self.pulses = self.pulses.wrapping_add(1);
        if self.pulses.is_multiple_of(1024) && self.is_too_late() {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    }
}
