//! Executions as schedules that others can replay.

use raddle_explore::{Action, Choice, Packed, Position, Status, Step, System};

/// The moves of an execution in which no state was brought into canonical form as a schedule for
/// [`raddle_explore::replay`], which does so after every move; and the state after them, as it was without that.
///
/// A system may number alternatives by the positions of threads, and canonical form can change the order of threads that were
/// started by different parents. So an alternative is known by the state that it leads to.
pub(super) fn canonical_schedule<S: System>(
    system: &mut S,
    moves: impl Iterator<Item = Action>,
) -> (Vec<Action>, S::State) {
    let mut state = system.initial();
    let mut canonical = state.clone();
    let mut step = Step::default();
    let mut schedule = Vec::new();
    let (mut wanted, mut found) = (Packed::default(), Packed::default());
    for taken in moves {
        let thread = system.canonicalise_following(&mut state.clone(), taken.thread);
        system.step(&state, taken.thread, taken.choice, &mut step);
        std::mem::swap(&mut state, &mut step.after);
        encode_canonical(system, &mut state.clone(), &mut wanted);
        let mut next = Some(Choice::FIRST);
        let mut taken = taken.choice;
        while let Some(choice) = next {
            system.step(&canonical, thread, choice, &mut step);
            next = step.next_choice;
            if matches!(step.status, Status::Moved | Status::Failed(_)) {
                encode_canonical(system, &mut step.after, &mut found);
                if found == wanted {
                    taken = choice;
                    break;
                }
            }
        }
        std::mem::swap(&mut canonical, &mut step.after);
        schedule.push(Action {
            thread,
            choice: taken,
        });
    }
    (schedule, state)
}

fn encode_canonical<S: System>(system: &mut S, state: &mut S::State, packed: &mut Packed) {
    system.canonicalise(state);
    system.encode(state, packed);
}

/// Where a thread is once the state is in canonical form.
pub(super) fn canonical_position<S: System>(
    system: &mut S,
    state: &S::State,
    thread: Position,
) -> Position {
    system.canonicalise_following(&mut state.clone(), thread)
}
