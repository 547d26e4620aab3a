//! Symmetry: threads that run the same code from the same values are interchangeable.
//!
//! Let five threads do the same. Of a state in which one of them is here and four are there, there are five copies, which differ in *which*
//! one is here, and the program goes on from all of them in the same way. A search that knows this stores one of the five, their
//! [representative](crate::System::represent). Then the threads cost as many states as there are multisets of five local states, not sequences.
//!
//! # Why nothing is lost
//!
//! Let `G` be the exchanges of interchangeable threads: each maps states to states and threads to threads. A [system](System) that
//! says it [is symmetric](System::is_symmetric) promises:
//!
//! 1. *Steps are the same up to names.* Thread `t` can make a step from `s` to `s'` if and only if thread `g(t)` can make one from
//!    `g(s)` to `g(s')`, for all `g` in `G`; the two make the same accesses at the same places, and one fails if and only if the other does.
//! 2. *A representative is an exchange*: `represent(s) = g(s)` for some `g` in `G`. It need not be the same for all copies of a state; then there
//!    are more states than necessary, and nothing else is wrong.
//! 3. *No name of an interchangeable thread is learned*: what [`guards`](System::guards) tells of the locks that a thread holds
//!    contains no pseudo lock of such a thread.
//!
//! By 1, whether a violation can be reached from a state, how, and by how many steps, is the same for `s` and `g(s)`, because all properties but
//! termination speak of places and shared variables, not of who is who. A reduction is a function of the state that it expands. That it is sound means:
//! whatever can be reached from a state by an execution of some length, but for what the expansion meets itself, can be reached from one of the successors that
//! it tells by a shorter one (or by what else becomes smaller, which is the same for copies too). By 2 the search may go on from a copy
//! of that successor, and the induction goes through. What is learned on the way (who protects what, in which order locks are taken) speaks of variables
//! and locks, which no exchange renames, and by 3 of no thread that could be exchanged; so what holds in all representatives holds in all states.
//!
//! Whether an execution goes on for ever without being *unfair* to a thread is about who is who. Therefore [termination](crate::Property::Termination) is
//! looked for without symmetry, and so are schedules with [the fewest context switches](crate::search::Order::FewestSwitches).
//!
//! # Schedules
//!
//! Between two representatives on the way to a violation, threads were exchanged. A schedule that a person reads is one of the system
//! itself: `lift` follows the way, and whenever a thread moves it has the thread move that is in its place.

use crate::parts::Packed;
use crate::system::{Action, Choice, Position, Status, Step, System};

/// An execution of the system itself.
pub(crate) struct Lifted {
    pub(crate) schedule: Vec<Action>,
    /// For each position in the last state of the paths, where that thread is in the last state of the schedule.
    places: Vec<Position>,
}

impl Lifted {
    /// Where a thread of the last state of the paths is in the last state of the schedule.
    pub(crate) fn place_of(&self, thread: Position) -> Position {
        place_of(&self.places, thread)
    }
}

/// Those that are not listed have no other place.
fn place_of(places: &[Position], thread: Position) -> Position {
    places.get(thread.index()).copied().unwrap_or(thread)
}

/// Makes one schedule of paths, each of which begins in the representative of the state in which the one before it ends, and the first
/// in that of the initial state.
///
/// If the thread that moved last can go on as well as the one whose turn it is, it does, and from then on the two have changed their roles. So there
/// are no more context switches than there are on the paths.
pub(crate) fn lift<S: System>(system: &mut S, paths: &[Vec<Action>]) -> Lifted {
    let initial = system.initial();
    let threads = 0..system.thread_count(&initial) as u32;
    let mut walk = Walk {
        on_path: initial.clone(),
        real: initial,
        places: threads.map(Position).collect(),
        last: None,
        step: Step::default(),
        wanted: Packed::default(),
        reached: Packed::default(),
    };
    let mut schedule = Vec::new();
    for path in paths {
        walk.represent(system);
        for &taken in path {
            schedule.push(walk.advance(system, taken));
        }
    }
    Lifted {
        schedule,
        places: walk.places,
    }
}

/// Where [`lift`] is: on the paths, and in the system itself. Whoever exchanges the threads of the first state as `places` says gets the second
/// one.
struct Walk<S: System> {
    on_path: S::State,
    real: S::State,
    /// For each of the threads that were there at the beginning, its position in `real` by that in `on_path`. The others have the same
    /// position in both: only those that were there at the beginning are exchanged, and these are at the beginning of every state.
    places: Vec<Position>,
    /// Who moved last in `real`.
    last: Option<Position>,
    step: Step<S::State>,
    wanted: Packed,
    reached: Packed,
}

impl<S: System> Walk<S> {
    /// Goes on from the representative of the state on the path.
    fn represent(&mut self, system: &mut S) {
        let mut places = self.places.clone();
        for thread in 0..places.len() {
            let (mut state, old) = (self.on_path.clone(), Position(thread as u32));
            let new = system.represent_following(&mut state, old);
            places[new.index()] = self.places[thread];
        }
        self.places = places;
        system.represent(&mut self.on_path);
    }

    /// Makes a step of the paths, and the same in the system itself.
    fn advance(&mut self, system: &mut S, taken: Action) -> Action {
        system.step(&self.on_path, taken.thread, taken.choice, &mut self.step);
        let status = std::mem::take(&mut self.step.status);
        std::mem::swap(&mut self.on_path, &mut self.step.after);
        system.canonicalise(&mut self.on_path);

        let twin = place_of(&self.places, taken.thread);
        let by_last = self.last.filter(|last| *last != twin);
        let by_last = by_last.and_then(|last| self.change_roles(system, taken, last, &status));
        let real = by_last.unwrap_or_else(|| self.find_step(system, taken, twin, &status));
        self.last = Some(real.thread);
        std::mem::swap(&mut self.real, &mut self.step.after);
        system.canonicalise(&mut self.real);
        real
    }

    /// Has another thread make the step, if from then on it can be where the one whose turn it is would be, and the other way round.
    fn change_roles(
        &mut self,
        system: &mut S,
        taken: Action,
        other: Position,
        status: &Status,
    ) -> Option<Action> {
        let of_other = self.places.iter().position(|place| *place == other)?;
        let moves = taken.thread.index();
        if !system.are_interchangeable(taken.thread, Position(of_other as u32)) {
            return None;
        }
        self.places.swap(of_other, moves);
        self.want(system);
        let action = Action {
            thread: other,
            choice: taken.choice,
        };
        let leads_there = self.leads_there(system, action, status);
        if !leads_there {
            self.places.swap(of_other, moves);
        }
        leads_there.then_some(action)
    }

    /// The alternative of a thread that leads to where the path leads. Some alternatives are numbered by the positions of other threads.
    fn find_step(
        &mut self,
        system: &mut S,
        taken: Action,
        thread: Position,
        status: &Status,
    ) -> Action {
        self.want(system);
        let same = Action { thread, ..taken };
        if self.leads_there(system, same, status) {
            return same;
        }
        let mut choice = Some(Choice::FIRST);
        while let Some(next) = choice {
            let action = Action {
                thread,
                choice: next,
            };
            if self.leads_there(system, action, status) {
                return action;
            }
            choice = self.step.next_choice;
        }
        panic!("interchangeable threads must make the same steps");
    }

    /// Where the path leads, as a state of the system itself.
    fn want(&mut self, system: &mut S) {
        let mut wanted = self.on_path.clone();
        system.exchange(&mut wanted, &self.places);
        system.encode(&wanted, &mut self.wanted);
    }

    fn leads_there(&mut self, system: &mut S, action: Action, status: &Status) -> bool {
        system.step(&self.real, action.thread, action.choice, &mut self.step);
        if self.step.status != *status {
            return false;
        }
        let mut after = self.step.after.clone();
        system.canonicalise(&mut after);
        system.encode(&after, &mut self.reached);
        self.reached == self.wanted
    }
}
