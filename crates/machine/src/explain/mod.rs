//! Explaining a program: which steps commute, what protects what, where transactions begin,
//! commit and end, which functions are atomic.
//!
//! All of it is what a search by [transactions](raddle_explore::reductions::transactions)
//! sees; this module writes it down while the search runs, and puts it into terms of the
//! source afterwards.

mod activations;
mod summary;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use raddle_explore::interior::{LastStep, StepEvent, Watch};
use raddle_explore::reductions::transactions::Transactions;
use raddle_explore::{Outcome, Position, Search};
use raddle_report::explanation::{Explanation, Mover};

use crate::op::Pc;
use crate::program::Program;
use crate::{Granularity, Machine, State};
use activations::Activations;

/// What was seen of the steps at one place of the program.
#[derive(Clone, Debug, Default)]
struct Seen {
    movers: BTreeSet<Mover>,
    taken: u64,
    began: u64,
    committed: u64,
    forced: bool,
}

/// Everything that was seen.
#[derive(Debug, Default)]
struct Log {
    /// By the place of the thread before the step.
    places: BTreeMap<Pc, Seen>,
    /// The functions of which something was executed.
    executed: BTreeSet<usize>,
    /// Which functions were interrupted, and where they were then.
    interrupted: BTreeSet<(usize, Pc)>,
}

/// Writes down what it is told.
struct Observer {
    program: Arc<Program>,
    log: Arc<Mutex<Log>>,
    activations: Activations,
}

impl Watch<Machine> for Observer {
    fn begin_round(&mut self) {
        *lock(&self.log) = Log::default();
    }

    fn step(
        &mut self,
        _: &Machine,
        before: &State,
        thread: Position,
        event: StepEvent<'_, Machine>,
    ) {
        let mut log = lock(&self.log);
        let pc = before.pc(thread.index());
        let seen = log.places.entry(pc).or_default();
        seen.movers.insert(mover(event.mover));
        seen.taken += 1;
        seen.began += u64::from(event.first);
        seen.committed += u64::from(event.phase_before && !event.phase_after);
        let active = self.program.frames(before, thread.index());
        let functions = active
            .iter()
            .map(|(pc, _)| self.program.function_index(*pc));
        log.executed.extend(functions);
    }

    fn end(&mut self, _: &Machine, last: LastStep<'_, Machine>) {
        let mut log = lock(&self.log);
        let thread = last.thread.index();
        if last.forced && !self.program.frames(last.after, thread).is_empty() {
            log.places.entry(last.after.pc(thread)).or_default().forced = true;
        }
        let interrupted =
            (self.activations).of_both(&self.program, last.before, last.after, thread);
        log.interrupted.extend(interrupted);
    }
}

/// A panic while it is locked ends the search.
fn lock(log: &Mutex<Log>) -> MutexGuard<'_, Log> {
    log.lock().unwrap_or_else(PoisonError::into_inner)
}

fn mover(mover: raddle_explore::movers::Mover) -> Mover {
    match (mover.left, mover.right) {
        (true, true) => Mover::Both,
        (true, false) => Mover::Left,
        (false, true) => Mover::Right,
        (false, false) => Mover::Non,
    }
}

/// Explains a program by a search, which should be for all violations: it says nothing about
/// what comes after the first one otherwise.
#[must_use]
pub fn explain(
    program: &Arc<Program>,
    granularity: Granularity,
    search: Search<'_>,
) -> (Explanation, Outcome) {
    let mut machine = Machine::new(Arc::clone(program), granularity);
    let log = Arc::new(Mutex::new(Log::default()));
    let mut transactions = Transactions::default();
    transactions.watch(Box::new(Observer {
        program: Arc::clone(program),
        log: Arc::clone(&log),
        activations: Activations::default(),
    }));
    let outcome = search.run(&mut machine, &mut transactions);
    let explanation = summary::summarise(&machine, &transactions, &lock(&log), &outcome);
    (explanation, outcome)
}
