//! Systems that are given as graphs, for what programs rarely do: steps back, and one
//! state that different threads reach by one step.

use super::*;
use crate::parts::{Packed, Renamed};
use crate::system::{Choice, Fault, FaultKind, Footprint, Place, Position, Step};

/// Steps of two threads between numbered states, from 0: (from, thread, to). The invariant
/// does not hold in the last state.
#[derive(Clone)]
struct Graph(&'static [(u8, u32, u8)]);

impl System for Graph {
    type State = u8;

    fn initial(&mut self) -> u8 {
        0
    }
    fn thread_count(&self, _: &u8) -> usize {
        2
    }
    fn step(&mut self, state: &u8, thread: Position, choice: Choice, step: &mut Step<u8>) {
        let alternatives = self.0.iter().filter(|e| (e.0, e.1) == (*state, thread.0));
        let mut alternatives = alternatives.skip(choice.0 as usize);
        step.status = Status::Ended;
        if let Some(edge) = alternatives.next() {
            step.status = Status::Moved;
            step.after = edge.2;
        }
        step.next_choice = alternatives.next().map(|_| Choice(choice.0 + 1));
    }
    fn canonicalise(&mut self, _: &mut u8) -> Renamed {
        Renamed::Nothing
    }
    fn encode(&self, state: &u8, packed: &mut Packed) {
        packed.clear();
        packed.push((*state).into());
        packed.end_part();
    }
    fn decode(&self, words: &[u64], state: &mut u8) {
        *state = words[0] as u8;
    }
    fn broken_invariant(&mut self, state: &u8, _: &mut Footprint) -> Option<Fault> {
        let last = self.0.iter().map(|edge| edge.2).max();
        (Some(*state) == last).then(|| Fault {
            kind: FaultKind::Invariant,
            place: Place(0),
            message: String::new(),
        })
    }
    fn failed(&self, _: &u8) -> bool {
        false
    }
    fn ended(&self, state: &u8, thread: Position) -> bool {
        !self
            .0
            .iter()
            .any(|edge| (edge.0, edge.1) == (*state, thread.0))
    }
    fn place(&self, _: &u8, _: Position) -> Place {
        Place(0)
    }
}

/// Who moves in the counterexample.
fn movers(order: Order, edges: &'static [(u8, u32, u8)]) -> Vec<u32> {
    let outcome = Search::new()
        .order(order)
        .run(&mut Graph(edges), &mut Full::default());
    let schedule = &outcome.violations[0].schedule;
    schedule.iter().map(|taken| taken.thread.0).collect()
}

#[test]
fn a_straight_way_is_no_longer_than_the_shortest() {
    // The way round through state 1 needs no switch, but a step more.
    let edges = &[(0, 0, 2), (0, 1, 1), (1, 1, 2), (2, 1, 3)];
    assert_eq!(movers(Order::BreadthFirst, edges), [0, 1]);
    assert_eq!(movers(Order::FewestSwitches, edges), [1, 1, 1]);
}

#[test]
fn the_straightest_choice_is_taken() {
    // Both choices of the first thread lead there in three steps, the second one straight.
    let edges = &[
        (0, 0, 1),
        (0, 0, 2),
        (1, 1, 3),
        (2, 0, 4),
        (3, 0, 5),
        (4, 0, 5),
    ];
    assert_eq!(movers(Order::BreadthFirst, edges), [0, 0, 0]);
    assert_eq!(movers(Order::FewestSwitches, edges), [0, 0, 0]);
}

#[test]
fn the_thread_that_moved_last_matters() {
    // Either thread reaches state 1, only one of them goes on.
    let edges = &[(0, 0, 1), (0, 1, 1), (1, 1, 2)];
    assert_eq!(movers(Order::BreadthFirst, edges), [1, 1]);
    assert_eq!(movers(Order::FewestSwitches, edges), [1, 1]);
}

#[test]
fn cycles_do_not_confuse() {
    let edges = &[
        (0, 0, 0),
        (0, 1, 1),
        (1, 0, 0),
        (1, 0, 1),
        (1, 0, 2),
        (2, 1, 1),
        (2, 0, 3),
    ];
    for order in ORDERS {
        assert_eq!(movers(order, edges), [1, 0, 0]);
    }
}

#[test]
fn the_initial_state_counts() {
    for order in ORDERS {
        assert!(movers(order, &[(0, 0, 0)]).is_empty());
    }
}
