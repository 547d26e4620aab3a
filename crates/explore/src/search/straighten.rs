//! Of all shortest counterexamples, one with the fewest context switches.
//!
//! A breadth-first search remembers one way to each state, and it tends to switch at
//! every other step. Afterwards, dynamic programming finds a better one of the same
//! length: from the states that end a counterexample backwards, one level of the
//! search after another, it computes for each state that lies on a shortest
//! way to them, and for each thread that can make the first move there, the fewest
//! switches to the end. Only edges from a level to the next are on shortest ways, and
//! every state of the earlier levels is expanded once.
//!
//! Without memory of the edges this takes as long as the search did, so there is
//! a budget; where it does not suffice, the way that the search took is reported.

use std::collections::HashMap;
use std::ops::ControlFlow;

use raddle_store::StateId;

use super::findings::Finding;
use super::space::Space;
use super::worklist::Trails;
use crate::replay::{Legs, legs, replay};
use crate::system::{Action, System};

/// How many states are expanded for straightening in one run, at most.
pub(super) const MOST_EXPANSIONS: u64 = 2_000_000;

/// How many edges are looked at, at most: a choice can have billions of alternatives.
pub(super) const MOST_EDGES: u64 = 10 * MOST_EXPANSIONS;

/// Makes counterexamples straight while its budget lasts.
pub(super) struct Straightener<'i> {
    pub(super) budget: u64,
    pub(super) edges: u64,
    /// Whether to give up.
    pub(super) interrupted: &'i mut dyn FnMut() -> bool,
}

/// A straight counterexample.
pub(super) struct Straightened {
    /// Which candidate of the finding it ends with.
    pub(super) candidate: usize,
    /// The ways from each state to the next, and from the last one to the violation.
    pub(super) paths: Vec<Vec<Action>>,
}

/// A best way from a state to the end of a counterexample.
struct Way {
    /// The name of the thread that makes the first move; nobody at the end itself.
    first: Option<u64>,
    switches: u32,
    path: Vec<Action>,
    then: Then,
}

enum Then {
    /// Nothing: the violation of that candidate is reached.
    End(usize),
    /// That way of the next state.
    Next(StateId, usize),
}

/// For each state of a level that is on a shortest way, its best way for each first thread.
type Ways = HashMap<StateId, Vec<Way>>;

impl Straightener<'_> {
    /// A shortest way to one of the candidates that has the fewest switches, or nothing
    /// if the order of the search does not go by distance or the budget is too small.
    pub(super) fn straighten<S: System>(
        &mut self,
        space: &mut Space<'_, S>,
        trails: &dyn Trails,
        root: StateId,
        finding: &Finding,
    ) -> Option<Straightened> {
        let depth = finding.rank.length as usize;
        let mut needed = 0;
        for level in 0..depth.max(1) {
            needed += trails.level(level)?.len() as u64;
        }
        self.budget = self.budget.checked_sub(needed)?;

        let mut ways: Vec<Ways> = (0..=depth).map(|_| Ways::new()).collect();
        let mut state = S::State::default();
        for (number, candidate) in finding.candidates.iter().enumerate() {
            let at = StateId(candidate.node);
            // What is reached by a path is one level further.
            let level = depth - usize::from(!candidate.path.is_empty());
            space.decode(at, &mut state);
            let legs = legs(space.system, &state, &candidate.path);
            let way = Way {
                first: legs.map(|legs| legs.first),
                switches: legs.map_or(0, |legs| legs.switches),
                path: candidate.path.clone(),
                then: Then::End(number),
            };
            improve(ways[level].entry(at).or_default(), way);
        }
        for level in (0..depth).rev() {
            let (nearer, further) = ways.split_at_mut(level + 1);
            let (nearer, further) = (&mut nearer[level], &further[0]);
            if further.is_empty() {
                continue;
            }
            for &from in trails.level(level)? {
                if (self.interrupted)() {
                    return None;
                }
                let mut left = self.edges;
                space.for_each_edge(from, |system, edge| {
                    let Some(fewer) = left.checked_sub(1) else {
                        return ControlFlow::Break(());
                    };
                    left = fewer;
                    let Some((to, onward)) = edge.to.and_then(|to| Some((to, further.get(&to)?)))
                    else {
                        return ControlFlow::Continue(());
                    };
                    let path = edge.path(system);
                    let Some(legs) = legs_to_representative(system, edge.from, &path) else {
                        return ControlFlow::Continue(());
                    };
                    let cost = |way: &Way| {
                        let switch = way.first.is_some_and(|first| first != legs.last);
                        way.switches + u32::from(switch)
                    };
                    let Some((best, way)) =
                        onward.iter().enumerate().min_by_key(|(_, way)| cost(way))
                    else {
                        return ControlFlow::Continue(());
                    };
                    let way = Way {
                        first: Some(legs.first),
                        switches: legs.switches + cost(way),
                        path,
                        then: Then::Next(to, best),
                    };
                    improve(nearer.entry(from).or_default(), way);
                    ControlFlow::Continue(())
                });
                self.edges = left;
                if left == 0 {
                    return None;
                }
            }
        }
        follow(&ways, root)
    }
}

/// The legs of a path, the last of which is named as in the representative of the state where the path ends.
fn legs_to_representative<S: System>(
    system: &mut S,
    from: &S::State,
    path: &[Action],
) -> Option<Legs> {
    let mut legs = legs(system, from, path)?;
    if system.is_symmetric() {
        replay(system, from, path, |system, replayed| {
            let (mut after, thread) = (replayed.step.after.clone(), replayed.taken.thread);
            legs.last = NOBODY;
            if !system.ended(&after, thread) {
                let thread = system.canonicalise_following(&mut after, thread);
                let thread = system.represent_following(&mut after, thread);
                legs.last = system.thread_name(&after, thread);
            }
        });
    }
    Some(legs)
}

/// The name of a thread that has ended.
const NOBODY: u64 = u64::MAX;

/// Adds a way, unless there is one as good with the same first thread.
fn improve(ways: &mut Vec<Way>, way: Way) {
    match ways.iter_mut().find(|known| known.first == way.first) {
        None => ways.push(way),
        Some(known) if way.switches < known.switches => *known = way,
        Some(_) => {}
    }
}

/// The best way from the initial state.
fn follow(ways: &[Ways], root: StateId) -> Option<Straightened> {
    let mut paths = Vec::new();
    let mut state = root;
    let mut level = 0;
    let initial = ways[0].get(&state)?.iter().enumerate();
    let (mut number, _) = initial.min_by_key(|(_, way)| way.switches)?;
    loop {
        let way = &ways[level][&state][number];
        paths.push(way.path.clone());
        match way.then {
            Then::End(candidate) => {
                return Some(Straightened { candidate, paths });
            }
            Then::Next(next, next_number) => {
                (state, number) = (next, next_number);
                level += 1;
            }
        }
    }
}
