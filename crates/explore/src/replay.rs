//! Walking a schedule.

use crate::parts::Packed;
use crate::system::{Action, Position, Status, Step, System};

/// One move of a schedule as [`replay`] meets it.
pub struct Replayed<'r, S: System> {
    /// Its number, from 0.
    pub number: usize,
    /// The move.
    pub taken: Action,
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
/// use raddle_explore::{Choice, Action, Position, replay, System, testing::Counters};
///
/// let mut system = Counters::racing(2);
/// let schedule = [0, 1, 1, 0].map(|t| Action { thread: Position(t), choice: Choice::FIRST });
/// let initial = system.initial();
/// let last = replay(&mut system, &initial, &schedule, |_, _| {});
/// assert_eq!(last.counters[0], 1);
/// ```
pub fn replay<S: System>(
    system: &mut S,
    from: &S::State,
    schedule: &[Action],
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
pub fn canonical_path<S: System>(system: &mut S, from: &S::State, path: &[Action]) -> Vec<Action> {
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
        schedule.push(Action {
            thread: system.canonicalise_following(&mut canonical, taken.thread),
            ..taken
        });
        system.step(&state, taken.thread, taken.choice, &mut step);
        std::mem::swap(&mut state, &mut step.after);
    }
    schedule
}

/// Whether the last part of a schedule, from that move on, leads back to the state in which it begins,
/// and can be repeated for ever without being unfair to a thread: each of those that are there
/// at the beginning moves, ends, or cannot move at some point; and none that never moves waits
/// at an assumption all the time.
///
/// ```
/// use raddle_explore::{Choice, Action, Position, repeats_fairly, testing::{Counters, Op}};
///
/// let mut system = Counters::new(&[&[Op::Read(0), Op::Goto(0)], &[Op::Set(0, 1)]]);
/// let first = Action { thread: Position(0), choice: Choice::FIRST };
/// let second = Action { thread: Position(1), ..first };
/// assert!(!repeats_fairly(&mut system, &[first, first], 0));
/// assert!(repeats_fairly(&mut system, &[second, first, first, first, first], 3));
/// ```
pub fn repeats_fairly<S: System>(system: &mut S, schedule: &[Action], from: usize) -> bool {
    let initial = system.initial();
    let Some((stem, cycle)) = schedule.split_at_checked(from) else {
        return false;
    };
    let start = replay(system, &initial, stem, |_, _| {});
    /// What happened to a thread.
    #[derive(Default)]
    struct Treated {
        fairly: bool,
        could_move: bool,
        was_cut: bool,
    }
    let threads = 0..system.thread_count(&start) as u32;
    let mut threads: Vec<(Position, Treated)> = threads
        .map(|position| (Position(position), Treated::default()))
        .collect();
    let mut moves = true;
    let mut step = Step::default();
    let end =
        replay(system, &start, cycle, |system, replayed| {
            moves &= replayed.step.status == Status::Moved;
            for (thread, treated) in threads.iter_mut().filter(|(_, treated)| !treated.fairly) {
                let (mut enabled, mut waits, mut cut) = (false, false, false);
                system.for_each_step(replayed.before, *thread, &mut step, |_, _, step| match step
                    .status
                {
                    Status::Moved | Status::Failed(_) => enabled = true,
                    Status::Blocked { assumption: true } => cut = true,
                    Status::Blocked { assumption: false } => waits = true,
                    Status::Ended => {}
                });
                treated.could_move |= enabled;
                treated.was_cut |= cut && !enabled && !waits;
                treated.fairly |= *thread == replayed.taken.thread
                    || (!enabled && (waits || !cut))
                    || (treated.could_move && treated.was_cut)
                    || system.ended(&replayed.step.after, *thread);
                if !treated.fairly {
                    let after = &mut replayed.step.after.clone();
                    *thread = system.canonicalise_following(after, *thread);
                }
            }
        });
    let (mut first, mut last) = (Packed::default(), Packed::default());
    system.encode(&start, &mut first);
    system.encode(&end, &mut last);
    let fair = threads.iter().all(|(_, treated)| treated.fairly);
    moves && fair && !cycle.is_empty() && first == last && !system.failed(&start)
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
pub(crate) fn legs<S: System>(system: &mut S, from: &S::State, path: &[Action]) -> Option<Legs> {
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
