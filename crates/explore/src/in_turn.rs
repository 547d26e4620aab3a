//! One execution, in which all threads take turns.

use std::collections::HashMap;

use crate::parts::Packed;
use crate::system::{Action, Choice, Position, Status, Step, System};

/// An execution that comes back to a state, and then goes on as before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repeating {
    /// The moves from the initial state, as [`replay`](crate::replay()) takes them.
    pub schedule: Vec<Action>,
    /// How many of them come before the part that repeats.
    pub repeats_from: usize,
}

/// Lets all threads that can move do so in turn, each by its first alternative that is possible, until a
/// state comes back with the same thread next. Nothing if the execution ends before, or takes
/// more than that many steps.
///
/// ```
/// use raddle_explore::{run_in_turn, testing::{Counters, Op}};
///
/// let mut ends = Counters::racing(2);
/// assert_eq!(run_in_turn(&mut ends, 100), None);
/// let mut polls = Counters::new(&[&[Op::Set(1, 1), Op::Read(0), Op::Goto(1)], &[Op::Set(1, 2)]]);
/// let repeating = run_in_turn(&mut polls, 100).unwrap();
/// assert_eq!(repeating.schedule.len() - repeating.repeats_from, 2);
/// ```
pub fn run_in_turn<S: System>(system: &mut S, most_steps: usize) -> Option<Repeating> {
    /// Of a choice without end, not all alternatives are tried.
    const MOST_ALTERNATIVES: usize = 1024;
    let mut state = system.initial();
    let mut step = Step::default();
    let mut schedule = Vec::new();
    let mut seen = HashMap::new();
    let mut turn = 0;
    while schedule.len() <= most_steps {
        let mut packed = Packed::default();
        system.encode(&state, &mut packed);
        if let Some(repeats_from) = seen.insert((turn, packed), schedule.len()) {
            return Some(Repeating {
                schedule,
                repeats_from,
            });
        }
        let threads = system.thread_count(&state);
        let mut in_turn = (0..threads).map(|offset| (turn + offset) % threads.max(1));
        let taken = in_turn.find_map(|position| {
            let thread = Position(position as u32);
            let mut next = Some(Choice::FIRST);
            for _ in 0..MOST_ALTERNATIVES {
                let choice = next?;
                system.step(&state, thread, choice, &mut step);
                next = step.next_choice;
                if step.status == Status::Moved {
                    return Some(Action { thread, choice });
                }
            }
            None
        })?;
        schedule.push(taken);
        std::mem::swap(&mut state, &mut step.after);
        system.canonicalise(&mut state);
        turn = (taken.thread.index() + 1) % system.thread_count(&state).max(1);
    }
    None
}
