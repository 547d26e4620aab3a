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
//! itself: [`lift`] follows the way, and whenever a thread moves it has a thread move that is now where the other one was.

use crate::parts::Packed;
use crate::system::{Action, Choice, Position, Status, Step, System};

/// An execution of the system itself.
pub(crate) struct Lifted {
    pub(crate) schedule: Vec<Action>,
    /// For each position in the last state of the paths, where that thread is in the last state of the schedule.
    pub(crate) positions: Vec<Position>,
}

/// Makes one schedule of paths, each of which begins in the representative of the state in which the one before it ends, and the first
/// in that of the initial state.
///
/// If several threads will do, the one that moved last goes on. So there are no more context switches than there are on the paths: from
/// then on that thread and the other one have changed their roles.
pub(crate) fn lift<S: System>(system: &mut S, paths: &[Vec<Action>]) -> Lifted {
    let mut walk = Walk {
        on_path: system.initial(),
        real: system.initial(),
        last: None,
        step: Step::default(),
        wanted: Packed::default(),
        reached: Packed::default(),
    };
    let mut schedule = Vec::new();
    for path in paths {
        system.represent(&mut walk.on_path);
        for &taken in path {
            schedule.push(walk.advance(system, taken));
        }
    }
    Lifted {
        schedule,
        positions: walk.positions(system),
    }
}

/// Where [`lift`] is: on the paths, and in the system itself. Both states have one representative.
struct Walk<S: System> {
    on_path: S::State,
    real: S::State,
    /// Who moved last, if that thread has not ended.
    last: Option<Position>,
    step: Step<S::State>,
    wanted: Packed,
    reached: Packed,
}

impl<S: System> Walk<S> {
    /// Makes a step of the paths, and one in the system itself that leads to a state with the same representative.
    fn advance(&mut self, system: &mut S, taken: Action) -> Action {
        system.step(&self.on_path, taken.thread, taken.choice, &mut self.step);
        let status = std::mem::take(&mut self.step.status);
        let twin = self.twin(system, taken.thread);
        std::mem::swap(&mut self.on_path, &mut self.step.after);
        system.canonicalise(&mut self.on_path);
        encode_representative::<S>(system, &self.on_path, &mut self.wanted);

        let threads = 0..system.thread_count(&self.real) as u32;
        let others = threads.map(Position).filter(|t| *t != twin);
        let candidates: Vec<Position> = (self.last.into_iter()).chain([twin]).chain(others).collect();
        let same = candidates.into_iter().map(|thread| Action { thread, ..taken });
        let real = same.into_iter().find(|action| self.leads_there(system, *action, &status));
        let real = real.unwrap_or_else(|| self.by_another_choice(system, twin, &status));

        // The step is still that of the action which was found.
        self.last = match system.ended(&self.step.after, real.thread) {
            true => None,
            false => Some(system.canonicalise_following(&mut self.step.after.clone(), real.thread)),
        };
        std::mem::swap(&mut self.real, &mut self.step.after);
        system.canonicalise(&mut self.real);
        real
    }

    /// Which thread of the system itself is where that thread of the path is.
    fn twin(&self, system: &mut S, thread: Position) -> Position {
        let represented = system.represent_following(&mut self.on_path.clone(), thread);
        let threads = 0..system.thread_count(&self.real) as u32;
        let twin = threads.map(Position).find(|twin| {
            system.represent_following(&mut self.real.clone(), *twin) == represented
        });
        twin.expect("both states have one representative")
    }

    /// Alternatives may be numbered by the positions of other threads.
    fn by_another_choice(&mut self, system: &mut S, thread: Position, status: &Status) -> Action {
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

    fn leads_there(&mut self, system: &mut S, action: Action, status: &Status) -> bool {
        system.step(&self.real, action.thread, action.choice, &mut self.step);
        if self.step.status != *status {
            return false;
        }
        let mut after = self.step.after.clone();
        system.canonicalise(&mut after);
        encode_representative::<S>(system, &after, &mut self.reached);
        self.reached == self.wanted
    }

    fn positions(&self, system: &mut S) -> Vec<Position> {
        let threads = 0..system.thread_count(&self.on_path) as u32;
        threads.map(|thread| self.twin(system, Position(thread))).collect()
    }
}

fn encode_representative<S: System>(system: &mut S, state: &S::State, packed: &mut Packed) {
    let mut state = state.clone();
    system.represent(&mut state);
    system.encode(&state, packed);
}
