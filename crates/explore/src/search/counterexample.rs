//! From what was met during the search to [`Violation`]s with schedules.

use std::ops::ControlFlow;

use raddle_store::StateId;

use super::findings::Finding;
use super::outcome::{Cause, Violation};
use super::space::Space;
use super::straighten::{Straightened, Straightener};
use super::termination::Lasso;
use super::worklist::{Hop, Trails};
use crate::replay::{legs, replay};
use crate::symmetry::{Lifted, lift};
use crate::system::{Action, Place, Position, System};

/// Makes a violation of a finding: the candidate with the fewest switches where that
/// can be told, or else the first.
pub(super) fn violation<S: System>(
    space: &mut Space<'_, S>,
    trails: &dyn Trails,
    root: StateId,
    mut finding: Finding,
    straightener: &mut Straightener<'_>,
) -> Violation {
    let straightened = straightener.straighten(space, trails, root, &finding);
    let (mut cause, paths) = match straightened {
        Some(Straightened { candidate, paths }) => {
            (finding.candidates.swap_remove(candidate).cause, paths)
        }
        None => {
            let candidate = finding.candidates.swap_remove(0);
            let mut paths = paths_along(space, &trails.trail(candidate.node));
            paths.push(candidate.path);
            (candidate.cause, paths)
        }
    };
    let schedule = match space.system.is_symmetric() {
        false => paths.concat(),
        true => {
            let lifted = lift(space.system, &paths);
            rename(&mut cause, &lifted);
            lifted.schedule
        }
    };
    Violation {
        switches: switches(space.system, &schedule),
        cause,
        schedule,
    }
}

/// Names the threads of a cause as at the end of a lifted schedule.
fn rename(cause: &mut Cause, lifted: &Lifted) {
    let real = |thread: &mut Position| *thread = lifted.place_of(*thread);
    match cause {
        // It is named as in the state before the last move.
        Cause::Fault { thread, .. } => {
            let last = lifted
                .schedule
                .last()
                .expect("the last move is the one that fails");
            *thread = last.thread;
        }
        Cause::Start { thread, .. } => real(thread),
        Cause::Invariant { .. } => {}
        Cause::Deadlock { blocked } => {
            blocked
                .iter_mut()
                .for_each(|blocked| real(&mut blocked.thread));
            blocked.sort_by_key(|blocked| blocked.thread);
        }
        Cause::Race(race) => {
            real(&mut race.first.thread);
            real(&mut race.second.thread);
            if race.second.thread < race.first.thread {
                std::mem::swap(&mut race.first, &mut race.second);
            }
        }
        Cause::Endless { .. } => unreachable!("it is looked for without symmetry"),
    }
}

/// Makes a violation of an execution that does not end.
pub(super) fn endless<S: System>(system: &mut S, lasso: Lasso) -> Violation {
    let repeats_from = lasso.stem.len();
    let mut schedule = lasso.stem;
    schedule.extend(lasso.cycle);
    let mut moving: Vec<(Position, Place)> = Vec::new();
    let mut names = Vec::new();
    let initial = system.initial();
    replay(system, &initial, &schedule, |system, replayed| {
        if replayed.number >= repeats_from && !names.contains(&replayed.thread_name) {
            names.push(replayed.thread_name);
            let thread = replayed.taken.thread;
            moving.push((thread, system.place(replayed.before, thread)));
        }
    });
    Violation {
        switches: switches(system, &schedule),
        cause: Cause::Endless {
            repeats_from,
            moving,
        },
        schedule,
    }
}

/// The ways from each state of a trail to the next.
fn paths_along<S: System>(space: &mut Space<'_, S>, trail: &[Hop]) -> Vec<Vec<Action>> {
    let mut paths = Vec::new();
    space.begin_at_root();
    for hops in trail.windows(2) {
        let (from, to) = (hops[0], hops[1]);
        let mut found = false;
        space.for_each_edge(from.state, |system, edge| {
            if edge.to != Some(to.state) {
                return ControlFlow::Continue(());
            }
            let path = edge.path(system);
            if to.last.is_some() {
                let legs = legs(system, edge.from, &path);
                if legs.map(|legs| legs.last) != to.last {
                    return ControlFlow::Continue(());
                }
            }
            found = true;
            paths.push(path);
            ControlFlow::Break(())
        });
        assert!(
            found,
            "the expansion of a state must depend on nothing else"
        );
        space.begin_level();
    }
    paths
}

/// How often a schedule changes from one thread to another.
fn switches<S: System>(system: &mut S, schedule: &[Action]) -> usize {
    let initial = system.initial();
    let mut switches = 0;
    let mut last = None;
    replay(system, &initial, schedule, |_, replayed| {
        let name = replayed.thread_name;
        switches += usize::from(last.is_some_and(|last| last != name));
        last = Some(name);
    });
    switches
}
