//! Whether a counterexample is one.

use std::sync::Arc;

use crate::narrate::{Narrator, Told};
use crate::{Granularity, Machine, Program, State};
use raddle_explore::{
    Access, AccessKind, Cause, Position, Race, Status, Step, System, Violation, repeats_fairly,
    replay,
};

/// Runs the schedule of a violation again, one step per access, and says what is wrong if it
/// does not end in the violation, or cannot be told.
///
/// # Errors
///
/// What is wrong, for people.
pub fn verify(
    program: &Arc<Program>,
    granularity: Granularity,
    violation: &Violation,
) -> Result<(), String> {
    let mut machine = Machine::new(Arc::clone(program), granularity);
    let last = violation.schedule.len().wrapping_sub(1);
    let mut complaint = None;
    let mut switches = 0;
    let mut running = None;
    let initial = machine.initial();
    let end = replay(
        &mut machine,
        &initial,
        &violation.schedule,
        |_, replayed| {
            let fails = match &violation.cause {
                Cause::Fault { fault, .. } if replayed.number == last => Some(fault),
                _ => None,
            };
            let fits = match (&replayed.step.status, fails) {
                // A thread that fails stops, and a search for all violations goes on.
                (Status::Moved | Status::Failed(_), None) => true,
                (Status::Failed(met), Some(fault)) => met == fault,
                _ => false,
            };
            if !fits && complaint.is_none() {
                let (number, status) = (replayed.number + 1, &replayed.step.status);
                complaint = Some(format!("step {number} does not fit: {status:?}"));
            }
            let name = Some(replayed.thread_name);
            switches += usize::from(running.is_some() && running != name);
            running = name;
        },
    );
    if let Some(complaint) = complaint {
        return Err(complaint);
    }
    if switches != violation.switches {
        let claimed = violation.switches;
        return Err(format!("{switches} context switches, not {claimed}"));
    }
    if !holds_at(&mut machine, &end, &violation.cause) {
        return Err("it does not end in the violation".into());
    }
    if let Cause::Endless { repeats_from, .. } = &violation.cause
        && !repeats_fairly(&mut machine, &violation.schedule, *repeats_from)
    {
        return Err("its last part is no cycle that is fair to all threads".into());
    }
    narrate(program, granularity, violation)
}

/// Whether the last state is wrong in the way that the cause says.
fn holds_at(machine: &mut Machine, state: &State, cause: &Cause) -> bool {
    match cause {
        // The last step has failed, which has been looked at.
        Cause::Fault { .. } => machine.failed(state),
        Cause::Start { thread, fault } => {
            let failed = machine.failed_starts(state);
            failed.contains(&(*thread, fault.clone()))
        }
        Cause::Invariant { fault } => {
            machine.broken_invariant(state, &mut Vec::new()).as_ref() == Some(fault)
        }
        Cause::Deadlock { blocked } => {
            let threads = 0..machine.thread_count(state) as u32;
            let waiting: Vec<_> = threads
                .map(Position)
                .filter(|thread| !statuses(machine, state, *thread).contains(&Status::Ended))
                .collect();
            let still = |thread: &Position| {
                let statuses = statuses(machine, state, *thread);
                let blocked = |status: &Status| matches!(status, Status::Blocked { .. });
                // Of the choices of one step, some may be cut by an assumption. One that waits
                // for the program itself is enough, as it is for every reduction.
                statuses.iter().all(blocked)
                    && statuses.contains(&Status::Blocked { assumption: false })
            };
            waiting.iter().eq(blocked.iter().map(|b| &b.thread)) && waiting.iter().all(still)
        }
        Cause::Race(race) => is_race(machine, state, race),
        // It is looked at as a whole.
        Cause::Endless { .. } => true,
    }
}

fn is_race(machine: &mut Machine, state: &State, race: &Race) -> bool {
    let [first, second] = [&race.first, &race.second];
    let plain = |access: &Access| access.kind == AccessKind::Plain;
    first.thread != second.thread
        && plain(&first.access)
        && plain(&second.access)
        && first.access.conflicts_with(&second.access)
        && [first, second].into_iter().all(|pending| {
            let mut met = false;
            let mut step = Step::default();
            machine.for_each_step(state, pending.thread, &mut step, |_, _, step| {
                met |= step.footprint.contains(&pending.access);
            });
            met
        })
}

fn statuses(machine: &mut Machine, state: &State, thread: Position) -> Vec<Status> {
    let mut statuses = Vec::new();
    let mut step = Step::default();
    machine.for_each_step(state, thread, &mut step, |_, _, step| {
        statuses.push(step.status.clone());
    });
    statuses
}

/// Tells the schedule as a story.
fn narrate(
    program: &Arc<Program>,
    granularity: Granularity,
    violation: &Violation,
) -> Result<(), String> {
    let machine = Machine::new(Arc::clone(program), granularity);
    let mut narrator = Narrator::new(machine);
    for (number, &step) in violation.schedule.iter().enumerate() {
        if narrator.step(step) == Told::Impossible {
            return Err(format!("step {} cannot be told", number + 1));
        }
    }
    Ok(())
}
