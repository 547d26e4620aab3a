//! Holds explorers against the model.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use raddle::{FailureKind, Memory, Options};

use crate::explore::{Explored, How, explore};
use crate::program::{Outcome, Program};
use crate::{model, real};

/// How much is tried.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Effort {
    /// The most executions of an exploration without reduction.
    pub(crate) naive: u64,
    /// The most executions of one with.
    pub(crate) reduced: u64,
    /// The most states of the model.
    pub(crate) states: usize,
}

pub(crate) const DEFAULT: Effort = Effort {
    naive: 1000,
    reduced: 1000,
    states: 50_000,
};

/// What was compared.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Compared {
    pub(crate) explorations: u64,
    pub(crate) executions: u64,
    pub(crate) classes: u64,
    pub(crate) outcomes: u64,
    /// How many executions of classes that were run before.
    pub(crate) redundant: u64,
    /// Whether the exploration without reduction was small enough.
    pub(crate) naive: bool,
    /// Whether anything was.
    pub(crate) any: bool,
}

fn options(program: &Program) -> Options {
    let mut options = Options::default();
    options.spurious_wakeups = program.spurious;
    options.weak_failures = program.weak;
    options.leaks = false;
    // More than the polls of a thread can look in vain, one after the other.
    options.spin_limit = 24;
    options
}

/// Runs a program by one explorer.
pub(crate) fn run(program: &Program, how: How, most: u64) -> Explored<Outcome> {
    let log = Arc::new(Mutex::new((false, Vec::new())));
    let body = {
        let (log, program) = (log.clone(), program.clone());
        move || real::run(&program, &log)
    };
    explore(how, &options(program), most, body, |failure| {
        let (done, got) = log.lock().unwrap().clone();
        let stuck = match failure {
            None if !done => return None,
            None => false,
            Some(failure) => match failure.kind {
                FailureKind::Deadlock | FailureKind::LiveLock => true,
                _ => panic!("{failure:?}"),
            },
        };
        Some(Outcome { stuck, got })
    })
}

/// Compares all explorers with the model and with each other; says where they differ.
pub(crate) fn compare(program: &Program, effort: Effort) -> Result<Compared, String> {
    let mut compared = Compared::default();
    let Some(expected) = model::outcomes(program, effort.states) else {
        return Ok(compared);
    };
    let mut run = |how, most| {
        let explored = run(program, how, most);
        compared.explorations += 1;
        compared.executions += explored.executions;
        explored
    };
    let optimal = run(How::Optimal, effort.reduced);
    let graphs = run(How::Graphs(Memory::Sc), 4 * effort.reduced);
    let some = match graphs.complete {
        true => graphs.outcomes,
        false => expected.union(&graphs.outcomes).cloned().collect(),
    };
    same("outcomes", How::Graphs(Memory::Sc), &expected, &some)?;
    for how in [How::Random(1), How::Pct(2)] {
        let some = run(how, 20);
        same(
            "outcomes",
            how,
            &expected,
            &expected.union(&some.outcomes).cloned().collect(),
        )?;
    }
    if !optimal.complete {
        same(
            "outcomes",
            How::Optimal,
            &expected,
            &expected.union(&optimal.outcomes).cloned().collect(),
        )?;
        return Ok(compared);
    }
    same("outcomes", How::Optimal, &expected, &optimal.outcomes)?;
    compared.redundant = optimal.executions - optimal.classes.len() as u64;
    if compared.redundant > 0 {
        return Err(format!(
            "optimal: {} executions of {} classes",
            optimal.executions,
            optimal.classes.len()
        ));
    }
    let classes = optimal.class_set();
    for how in [
        How::Iterative,
        How::Bounded(60),
        How::Algorithm2(60),
        How::Algorithm1(60),
        How::Dfs,
    ] {
        let most = match how {
            How::Dfs | How::Algorithm1(_) => effort.naive,
            _ => 2 * effort.reduced,
        };
        let explored = run(how, most);
        if explored.complete {
            same("outcomes", how, &expected, &explored.outcomes)?;
            same("classes", how, &classes, &explored.class_set())?;
        } else {
            same(
                "outcomes",
                how,
                &expected,
                &expected.union(&explored.outcomes).cloned().collect(),
            )?;
        }
        if how == How::Dfs {
            compared.naive = explored.complete;
        }
    }
    let run = |how, most| crate::compare::run(program, how, most);
    // What is known of loops that give up depends on the executions that were made, and with it what is a preemption.
    let bounds = if program.gives_up() { 0..0 } else { 0..5 };
    for bound in bounds {
        let naive = run(How::CbDfs(bound), effort.naive);
        if !naive.complete {
            break;
        }
        let expected = naive.class_set();
        for how in [
            How::Bounded(bound),
            How::Algorithm2(bound),
            How::Algorithm1(bound),
        ] {
            let explored = run(how, effort.naive);
            same("classes", how, &expected, &explored.class_set())?;
            compared.explorations += 1;
            compared.executions += explored.executions;
        }
    }
    compared.classes = optimal.classes.len() as u64;
    compared.outcomes = expected.len() as u64;
    compared.any = true;
    Ok(compared)
}

fn same<T: Ord + std::fmt::Debug>(
    what: &str,
    how: How,
    expected: &BTreeSet<T>,
    found: &BTreeSet<T>,
) -> Result<(), String> {
    if expected == found {
        return Ok(());
    }
    let missing: Vec<_> = expected.difference(found).take(4).collect();
    let wrong: Vec<_> = found.difference(expected).take(4).collect();
    Err(format!(
        "{how:?}: {} {what} instead of {}\n  missing: {missing:?}\n  wrong: {wrong:?}",
        found.len(),
        expected.len()
    ))
}
