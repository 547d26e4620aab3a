//! Random schedules: uniform, and by priorities with a guarantee.

use crate::execution::{Diverged, Execution, Move, Status, Step, ThreadId};
use crate::explorer::{Coverage, Explorer, Visitor};
use crate::trace::Trace;

/// Random schedules, each step by any thread that can move, until the visitor has seen enough.
#[derive(Clone, Copy, Debug)]
pub struct Random {
    /// Where the random numbers begin: the same seed gives the same executions.
    pub seed: u64,
}

/// Probabilistic concurrency testing, after Burckhardt, Kothari, Musuvathi, Nagarakatte, *A randomized scheduler with
/// probabilistic guarantees of finding bugs* (ASPLOS 2010).
///
/// Each thread has a random priority, and the enabled one of highest priority moves. At `depth - 1` random points
/// of the execution, the thread that is about to move falls below all others. A bug that needs
/// `depth` ordering constraints is found by one execution with a probability of at least
/// `1 / (n * k^(depth - 1))`, for `n` threads and `k` steps.
#[derive(Clone, Copy, Debug)]
pub struct Pct {
    /// Where the random numbers begin.
    pub seed: u64,
    /// The depth `d` of the bugs to look for; at least 1.
    pub depth: u32,
}

impl Explorer for Random {
    fn explore<X: Execution>(
        &mut self,
        execution: &mut X,
        visitor: &mut impl Visitor<X>,
    ) -> Result<Coverage, Diverged> {
        let mut numbers = Numbers::new(self.seed);
        runs(
            execution,
            visitor,
            |enabled, _| enabled[numbers.below(enabled.len() as u64) as usize],
            self.seed,
        )
    }
}

impl Explorer for Pct {
    fn explore<X: Execution>(
        &mut self,
        execution: &mut X,
        visitor: &mut impl Visitor<X>,
    ) -> Result<Coverage, Diverged> {
        let mut numbers = Numbers::new(self.seed ^ 0x5eed);
        let depth = self.depth.max(1);
        // The length of the longest execution so far: where change points make sense.
        let mut length = 1;
        let mut priorities: Vec<u64> = Vec::new();
        let mut changes: Vec<usize> = Vec::new();
        runs(
            execution,
            visitor,
            |enabled, position| {
                if position == 0 {
                    priorities.clear();
                    changes.clear();
                    changes.extend((1..depth).map(|_| numbers.below(length as u64) as usize));
                }
                length = length.max(position + 1);
                let mut highest = |priorities: &mut Vec<u64>| {
                    let mut best = enabled[0];
                    for &thread in enabled {
                        while priorities.len() <= thread.index() {
                            // Below `depth` are the priorities of threads that fell.
                            priorities.push(u64::from(depth) + (numbers.next() >> 1));
                        }
                        if priorities[thread.index()] > priorities[best.index()] {
                            best = thread;
                        }
                    }
                    best
                };
                let first = highest(&mut priorities);
                match changes.iter().position(|&change| change == position) {
                    Some(rank) => {
                        priorities[first.index()] = rank as u64;
                        highest(&mut priorities)
                    }
                    None => first,
                }
            },
            self.seed,
        )
    }
}

/// Runs executions in which `pick` says who moves, given who can and how many steps were made.
fn runs<X: Execution>(
    execution: &mut X,
    visitor: &mut impl Visitor<X>,
    mut pick: impl FnMut(&[ThreadId], usize) -> ThreadId,
    seed: u64,
) -> Result<Coverage, Diverged> {
    let mut numbers = Numbers::new(!seed);
    let mut trace = Trace::new();
    let mut step = Step::default();
    let mut enabled: Vec<ThreadId> = Vec::new();
    loop {
        trace.truncate(0);
        execution.restart();
        loop {
            enabled.clear();
            let can_move = |thread: &ThreadId| execution.status(*thread) == Status::Enabled;
            enabled.extend(execution.threads().iter().copied().filter(can_move));
            if enabled.is_empty() {
                break;
            }
            let thread = pick(&enabled, trace.len());
            let choice = execution.alternatives(thread);
            let choice = if choice > 1 {
                numbers.below(u64::from(choice)) as u32
            } else {
                0
            };
            let next = Move { thread, choice };
            execution.step(next, &mut step)?;
            trace.push(next, &step);
            if visitor.pulse().is_break() {
                return Ok(Coverage::Some);
            }
        }
        if visitor.ended(execution, &trace).is_break() {
            return Ok(Coverage::Some);
        }
    }
}

/// A sequence of pseudo-random numbers (SplitMix64).
#[derive(Clone, Copy, Debug)]
struct Numbers(u64);

impl Numbers {
    fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut number = self.0;
        number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        number ^ (number >> 31)
    }

    fn below(&mut self, end: u64) -> u64 {
        // The bias is below end / 2^64.
        ((u128::from(self.next()) * u128::from(end)) >> 64) as u64
    }
}
