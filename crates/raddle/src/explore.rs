//! The one place where an explorer is chosen and run.

use std::time::Instant;

use raddle_schedule::{Execution as _, Move, Status, Step, ThreadId};

use crate::Options;
use crate::rt::{Failure, FailureKind, Program};

/// What came of exploring.
#[derive(Debug, Default)]
pub(crate) struct Explored {
    pub(crate) executions: u64,
    pub(crate) failure: Option<Failure>,
    /// Whether all schedules were run that are asked for.
    pub(crate) complete: bool,
}

/// Runs a program by all schedules, until one fails.
pub(crate) fn explore(program: &mut Program, options: &Options) -> Explored {
    let deadline = options
        .max_duration
        .and_then(|longest| Instant::now().checked_add(longest));
    let mut explored = Explored::default();
    let mut search = DepthFirst::default();
    loop {
        explored.executions += 1;
        explored.failure = search.run(program);
        if program.learned() && explored.failure.is_none() {
            // What steps there are was not known before.
            search = DepthFirst::default();
            continue;
        }
        if explored.failure.is_some() {
            return explored;
        }
        if !search.backtrack() {
            explored.complete = true;
            return explored;
        }
        let enough = options
            .max_executions
            .is_some_and(|most| explored.executions >= most);
        if enough || deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            return explored;
        }
    }
}

/// Runs a program by one schedule; where that ends, the first thread that can move does.
pub(crate) fn replay(program: &mut Program, moves: &[Move]) -> Explored {
    let mut search = DepthFirst {
        taken: moves
            .iter()
            .map(|&next| Taken {
                next,
                others: Vec::new(),
            })
            .collect(),
    };
    let failure = search.run(program);
    Explored {
        executions: 1,
        failure,
        complete: false,
    }
}

/// All schedules, one after the other: simple, and only good for small programs.
#[derive(Default)]
struct DepthFirst {
    taken: Vec<Taken>,
}

struct Taken {
    next: Move,
    /// What is left to try instead.
    others: Vec<Move>,
}

impl DepthFirst {
    fn run(&mut self, program: &mut Program) -> Option<Failure> {
        program.restart();
        let mut step = Step::default();
        let mut depth = 0;
        loop {
            if depth == self.taken.len() {
                let enabled = program
                    .threads()
                    .iter()
                    .filter(|&&thread| program.status(thread) == Status::Enabled);
                let mut others: Vec<Move> = enabled
                    .map(|&thread| Move { thread, choice: 0 })
                    .rev()
                    .collect();
                let Some(next) = others.pop() else {
                    break;
                };
                self.taken.push(Taken { next, others });
            }
            let next = self.taken[depth].next;
            if !self.possible(program, next.thread) {
                break;
            }
            if let Err(diverged) = program.step(next, &mut step) {
                return Some(Failure {
                    kind: FailureKind::Diverged,
                    message: format!(
                        "not the same when it is run again: first {}, now {}",
                        diverged.expected, diverged.found
                    ),
                    remarks: Vec::new(),
                });
            }
            if next.choice == 0 && depth + 1 == self.taken.len() {
                let alternatives = (1..step.alternatives).rev().map(|choice| Move {
                    thread: next.thread,
                    choice,
                });
                self.taken[depth].others.extend(alternatives);
            }
            depth += 1;
        }
        program.finish()
    }

    fn possible(&self, program: &Program, thread: ThreadId) -> bool {
        program.threads().contains(&thread) && program.status(thread) == Status::Enabled
    }

    fn backtrack(&mut self) -> bool {
        while let Some(last) = self.taken.last_mut() {
            if let Some(next) = last.others.pop() {
                last.next = next;
                return true;
            }
            self.taken.pop();
        }
        false
    }
}
