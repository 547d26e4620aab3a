//! Runs a program by an explorer, also after executions that fail, and tells the classes.

use std::collections::{BTreeSet, HashMap};
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex};

use raddle::{Failure, Memory, Options, Program};
use raddle_schedule::explorers::{
    Algorithm1, Algorithm2, Bounded, Deepening, Dfs, Optimal, Pct, Random,
};
use raddle_schedule::{ClassHash, Explorer, Trace, class_of};

/// How to explore.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum How {
    Optimal,
    Iterative,
    Bounded(u32),
    Algorithm1(u32),
    Algorithm2(u32),
    Dfs,
    CbDfs(u32),
    Random(u64),
    Pct(u64),
    Graphs(Memory),
}

/// What came of it.
#[derive(Debug)]
pub(crate) struct Explored<T> {
    pub(crate) outcomes: BTreeSet<T>,
    /// How often each class was run.
    pub(crate) classes: HashMap<ClassHash, u64>,
    pub(crate) executions: u64,
    /// Whether the limit did not end it.
    pub(crate) complete: bool,
}

impl<T> Explored<T> {
    pub(crate) fn class_set(&self) -> BTreeSet<ClassHash> {
        self.classes.keys().copied().collect()
    }
}

/// How many steps the executions of a limit may have, on average.
const STEPS: u64 = 60;

/// Explores, on a thread of its own, no more than about so many executions: what panics and never ends is counted for the thread that it is on. `outcome` says at the end of each execution what came of it, unless it was given up.
pub(crate) fn explore<T: Ord + Send>(
    how: How,
    options: &Options,
    most: u64,
    body: impl Fn() + Send + Sync + 'static,
    outcome: impl Fn(Option<Failure>) -> Option<T> + Send,
) -> Explored<T> {
    std::thread::scope(|scope| {
        let explored = scope.spawn(|| explore_here(how, options, most, body, outcome));
        let explored = explored.join();
        explored.unwrap_or_else(|payload| std::panic::resume_unwind(payload))
    })
}

fn explore_here<T: Ord>(
    how: How,
    options: &Options,
    most: u64,
    body: impl Fn() + Send + Sync + 'static,
    outcome: impl Fn(Option<Failure>) -> Option<T>,
) -> Explored<T> {
    let mut program = Program::new(Arc::new(body), options);
    loop {
        let mut explored = Explored {
            outcomes: BTreeSet::new(),
            classes: HashMap::new(),
            executions: 0,
            complete: true,
        };
        let (mut learned, mut steps) = (false, 0);
        let mut ended = |program: &mut Program, trace: &Trace| {
            let class = class_of(trace);
            let failure = program.finish();
            // Before the body is run again.
            let outcome = outcome(failure);
            learned = program.learned(&mut || true);
            if learned {
                return ControlFlow::Break(());
            }
            explored.executions += 1;
            steps += trace.events().len() as u64;
            explored.outcomes.extend(outcome);
            *explored.classes.entry(class).or_default() += 1;
            if explored.executions >= most || steps >= most.saturating_mul(STEPS) {
                explored.complete = false;
                return ControlFlow::Break(());
            }
            ControlFlow::Continue(())
        };
        if let How::Graphs(memory) = how {
            let mut ended = |program: &mut Program, failure: Option<Option<Failure>>| {
                // Before the body is run again.
                let outcome = failure.and_then(&outcome);
                learned = program.learned(&mut || true);
                if learned {
                    return ControlFlow::Break(());
                }
                explored.executions += 1;
                explored.outcomes.extend(outcome);
                if explored.executions >= most {
                    explored.complete = false;
                    return ControlFlow::Break(());
                }
                ControlFlow::Continue(())
            };
            let coverage = program.explore_graphs(memory, &mut ended);
            let coverage = coverage.unwrap_or_else(|refused| panic!("{how:?}: {refused:?}"));
            if learned || program.learned(&mut || true) {
                continue;
            }
            assert!(
                coverage.is_all() || !explored.complete,
                "{how:?} {coverage:?}"
            );
            return explored;
        }
        let coverage = match how {
            How::Optimal => Optimal::default().explore(&mut program, &mut ended),
            How::Iterative => Deepening { bound: None }.explore(&mut program, &mut ended),
            How::Bounded(bound) => Bounded::new(bound).explore(&mut program, &mut ended),
            How::Algorithm2(bound) => Algorithm2 { bound }.explore(&mut program, &mut ended),
            How::Algorithm1(bound) => {
                Algorithm1 { bound, states: 0 }.explore(&mut program, &mut ended)
            }
            How::Dfs => Dfs { bound: None }.explore(&mut program, &mut ended),
            How::CbDfs(bound) => Dfs { bound: Some(bound) }.explore(&mut program, &mut ended),
            How::Random(seed) => Random { seed }.explore(&mut program, &mut ended),
            How::Pct(seed) => Pct { seed, depth: 3 }.explore(&mut program, &mut ended),
            How::Graphs(_) => unreachable!("it was handled above"),
        };
        let coverage = coverage.unwrap_or_else(|diverged| panic!("{how:?}: {diverged:?}"));
        if learned {
            continue;
        }
        if let (true, How::Optimal | How::Iterative | How::Dfs) = (explored.complete, how) {
            assert!(coverage.is_all(), "{how:?}");
        }
        return explored;
    }
}

/// What a closure returns under an explorer, or what is wrong.
pub(crate) fn results<T: Ord + Clone + Send + 'static>(
    how: How,
    options: &Options,
    most: u64,
    body: impl Fn() -> T + Send + Sync + 'static,
) -> Explored<Result<T, String>> {
    let result = Arc::new(Mutex::new(None));
    let theirs = result.clone();
    let body = move || {
        *theirs.lock().unwrap() = None;
        let got = body();
        *theirs.lock().unwrap() = Some(got);
    };
    explore(how, options, most, body, |failure| match failure {
        None => result.lock().unwrap().clone().map(Ok),
        Some(failure) => Some(Err(format!("{:?}", failure.kind))),
    })
}
