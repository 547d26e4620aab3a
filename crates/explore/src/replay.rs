//! Walking a schedule.

use crate::system::{Move, Step, System};

/// One move of a schedule as [`replay`] meets it.
pub struct Replayed<'r, S: System> {
    /// Its number, from 0.
    pub number: usize,
    /// The move.
    pub taken: Move,
    /// The [name](System::thread_name) of the thread that moves.
    pub thread_name: u64,
    /// The state before it, in canonical form.
    pub before: &'r S::State,
    /// What became of it. The state after it is not yet in canonical form.
    pub step: &'r Step<S::State>,
}

/// Takes the moves of a schedule one after another from a canonical state, brings
/// the state into canonical form after every one, and returns the last state.
///
/// ```
/// use raddle_explore::{Choice, Move, ThreadId, replay, System, testing::Counters};
///
/// let mut system = Counters::racing(2);
/// let schedule = [0, 1, 1, 0].map(|t| Move { thread: ThreadId(t), choice: Choice::FIRST });
/// let initial = system.initial();
/// let last = replay(&mut system, &initial, &schedule, |_, _| {});
/// assert_eq!(last.counters[0], 1);
/// ```
pub fn replay<S: System>(
    system: &mut S,
    from: &S::State,
    schedule: &[Move],
    mut see: impl FnMut(&mut S, Replayed<'_, S>),
) -> S::State {
    let mut state = from.clone();
    let mut step = Step::default();
    for (number, &taken) in schedule.iter().enumerate() {
        let thread_name = system.thread_name(&state, taken.thread);
        system.step(&state, taken.thread, taken.choice, &mut step);
        let replayed = Replayed {
            number,
            taken,
            thread_name,
            before: &state,
            step: &step,
        };
        see(system, replayed);
        std::mem::swap(&mut state, &mut step.after);
        system.canonicalise(&mut state);
    }
    state
}

/// A [path](crate::Visitor) as a schedule that [`replay`] takes: after every move
/// the state is brought into canonical form, and each move names its thread by the
/// position that it has then.
///
/// The alternatives of a step need no translation: they are numbered in the order of
/// threads, which canonical form keeps for threads that were there before, and a thread that
/// the path has started has not done anything that another could choose.
pub fn canonical_path<S: System>(system: &mut S, from: &S::State, path: &[Move]) -> Vec<Move> {
    // One move needs no translation, and that is what most paths are.
    if path.len() <= 1 {
        return path.to_vec();
    }
    let mut state = from.clone();
    let mut canonical = S::State::default();
    let mut step = Step::default();
    let mut schedule = Vec::with_capacity(path.len());
    for &taken in path {
        canonical.clone_from(&state);
        schedule.push(Move {
            thread: system.canonicalise_following(&mut canonical, taken.thread),
            ..taken
        });
        system.step(&state, taken.thread, taken.choice, &mut step);
        std::mem::swap(&mut state, &mut step.after);
    }
    schedule
}

/// Which threads a path runs through, and how often it changes between them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Legs {
    /// The name of the first thread.
    pub(crate) first: u64,
    /// The name of the last one.
    pub(crate) last: u64,
    /// The context switches between them.
    pub(crate) switches: u32,
}

/// The legs of a schedule, or nothing if it is empty.
pub(crate) fn legs<S: System>(system: &mut S, from: &S::State, path: &[Move]) -> Option<Legs> {
    let name = system.thread_name(from, path.first()?.thread);
    let mut legs = Legs {
        first: name,
        last: name,
        switches: 0,
    };
    // One move needs no replay, and that is what most paths are.
    if path.len() > 1 {
        replay(system, from, path, |_, replayed| {
            legs.switches += u32::from(replayed.thread_name != legs.last);
            legs.last = replayed.thread_name;
        });
    }
    Some(legs)
}
