//! Random schedules: uniform, and by priorities with a guarantee.

use std::sync::atomic::{AtomicU64, Ordering};

use raddle_outcome::{Coverage, Extent, Kind, LeftOut};

use crate::execution::{Diverged, Execution, Move, Observed, Readiness, ThreadId};
use crate::explorer::{Explorer, Omission, Visitor};
use crate::trace::Trace;
use crate::workers::{Pool, Stoppable};

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
        let mut scheduler = Uniform {
            seed: self.seed,
            numbers: Numbers::new(0, 0),
        };
        let left_out = runs(&AtomicU64::new(0), &mut scheduler, execution, visitor)?;
        Ok(left_out.covering(Extent::Some))
    }

    fn explore_in_parallel<X: Execution, V: Visitor<X>>(
        &mut self,
        workers: usize,
        worker: impl Fn(usize) -> (X, V) + Sync,
    ) -> Result<Coverage, Diverged> {
        let scheduler = Uniform {
            seed: self.seed,
            numbers: Numbers::new(0, 0),
        };
        runs_in_parallel(workers, worker, &scheduler)
    }
}

impl Explorer for Pct {
    fn explore<X: Execution>(
        &mut self,
        execution: &mut X,
        visitor: &mut impl Visitor<X>,
    ) -> Result<Coverage, Diverged> {
        let mut scheduler = Priorities::new(*self);
        let left_out = runs(&AtomicU64::new(0), &mut scheduler, execution, visitor)?;
        Ok(left_out.covering(Extent::Some))
    }

    fn explore_in_parallel<X: Execution, V: Visitor<X>>(
        &mut self,
        workers: usize,
        worker: impl Fn(usize) -> (X, V) + Sync,
    ) -> Result<Coverage, Diverged> {
        runs_in_parallel(workers, worker, &Priorities::new(*self))
    }
}

/// Who moves next.
trait Scheduler {
    /// A new execution begins, with this number.
    fn begin(&mut self, execution: u64);

    /// One of those who can move, when so many steps were made.
    fn pick(&mut self, enabled: &[ThreadId], position: usize) -> ThreadId;

    fn numbers(&mut self) -> &mut Numbers;
}

#[derive(Clone)]
struct Uniform {
    seed: u64,
    numbers: Numbers,
}

impl Scheduler for Uniform {
    fn begin(&mut self, execution: u64) {
        self.numbers = Numbers::new(self.seed, execution);
    }

    fn pick(&mut self, enabled: &[ThreadId], _position: usize) -> ThreadId {
        enabled[self.numbers.below(enabled.len() as u64) as usize]
    }

    fn numbers(&mut self) -> &mut Numbers {
        &mut self.numbers
    }
}

#[derive(Clone)]
struct Priorities {
    seed: u64,
    depth: u32,
    numbers: Numbers,
    /// The length of the longest execution so far: where change points make sense.
    length: usize,
    /// By thread. Below `depth` are the priorities of threads that fell.
    priorities: Vec<u64>,
    /// Where threads fall.
    changes: Vec<usize>,
}

impl Priorities {
    fn new(pct: Pct) -> Self {
        Self {
            seed: pct.seed,
            depth: pct.depth.max(1),
            numbers: Numbers::new(0, 0),
            length: 1,
            priorities: Vec::new(),
            changes: Vec::new(),
        }
    }

    fn highest(&mut self, enabled: &[ThreadId]) -> ThreadId {
        let mut best = enabled[0];
        for &thread in enabled {
            while self.priorities.len() <= thread.index() {
                self.priorities
                    .push(u64::from(self.depth) + (self.numbers.next() >> 1));
            }
            if self.priorities[thread.index()] > self.priorities[best.index()] {
                best = thread;
            }
        }
        best
    }
}

impl Scheduler for Priorities {
    fn begin(&mut self, execution: u64) {
        self.numbers = Numbers::new(self.seed, execution);
        self.priorities.clear();
        self.changes.clear();
        for _ in 1..self.depth {
            let change = self.numbers.below(self.length as u64);
            self.changes.push(change as usize);
        }
    }

    fn pick(&mut self, enabled: &[ThreadId], position: usize) -> ThreadId {
        self.length = self.length.max(position + 1);
        let first = self.highest(enabled);
        match self.changes.iter().position(|&change| change == position) {
            Some(rank) => {
                self.priorities[first.index()] = rank as u64;
                self.highest(enabled)
            }
            None => first,
        }
    }

    fn numbers(&mut self) -> &mut Numbers {
        &mut self.numbers
    }
}

/// Runs executions whose numbers come from a counter, until the visitor has seen enough.
fn runs<X: Execution>(
    executions: &AtomicU64,
    scheduler: &mut impl Scheduler,
    execution: &mut X,
    visitor: &mut impl Visitor<X>,
) -> Result<LeftOut, Diverged> {
    let mut left_out = LeftOut::default();
    Omission::from(Kind::Random).note(&mut left_out, execution, visitor);
    let mut trace = Trace::new();
    let mut step = Observed::default();
    let mut enabled: Vec<ThreadId> = Vec::new();
    loop {
        scheduler.begin(executions.fetch_add(1, Ordering::Relaxed));
        trace.truncate(0);
        execution.restart();
        loop {
            enabled.clear();
            let can_move = |thread: &ThreadId| execution.readiness(*thread) == Readiness::Enabled;
            enabled.extend(execution.threads().iter().copied().filter(can_move));
            if enabled.is_empty() {
                break;
            }
            let thread = scheduler.pick(&enabled, trace.len());
            let choice = execution.alternatives(thread);
            let choice = if choice > 1 {
                scheduler.numbers().below(u64::from(choice)) as u32
            } else {
                0
            };
            let next = Move { thread, choice };
            execution.step(next, &mut step)?;
            trace.push(next, &step);
            if visitor.pulse().is_break() {
                return Ok(left_out);
            }
        }
        if visitor.ended(execution, &trace).is_break() {
            return Ok(left_out);
        }
    }
}

/// The same executions, whoever runs them. (But for how long executions are, which priorities are made for: each worker
/// knows its own.)
fn runs_in_parallel<X: Execution, V: Visitor<X>>(
    workers: usize,
    worker: impl Fn(usize) -> (X, V) + Sync,
    scheduler: &(impl Scheduler + Clone + Sync),
) -> Result<Coverage, Diverged> {
    let executions = AtomicU64::new(0);
    let pool: Pool<()> = Pool::new(workers);
    let left_out = pool.work(|number| {
        let (mut execution, mut visitor) = worker(number);
        let mut visitor = Stoppable {
            visitor: &mut visitor,
            stop: pool.stop(),
        };
        runs(
            &executions,
            &mut scheduler.clone(),
            &mut execution,
            &mut visitor,
        )
    })?;
    Ok(LeftOut::from_iter(left_out).covering(Extent::Some))
}

/// A sequence of pseudo-random numbers (SplitMix64).
#[derive(Clone, Copy, Debug)]
struct Numbers(u64);

impl Numbers {
    /// Those of an execution.
    fn new(seed: u64, execution: u64) -> Self {
        let mut of_execution = Self(execution);
        Self(seed ^ of_execution.next())
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
