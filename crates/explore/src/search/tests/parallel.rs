//! Several workers do what one does.

use crate::parts::{Packed, Renamed};
use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::*;
use crate::property::Property;
use crate::reductions::cartesian::Cartesian;
use crate::system::{Choice, Fault, Footprint, Place, Position, Step};
use crate::testing::{Op::*, State};

/// Many states in every level.
fn wide() -> Counters {
    let busy = [Increment(0), Read(1), Increment(1), Read(2), Increment(2)];
    Counters::new(&[&busy, &busy, &busy, &busy])
}

fn violations(outcome: &Outcome) -> BTreeSet<(Property, Vec<Place>)> {
    let violations = outcome.violations.iter();
    violations.map(|v| (v.property(), v.places())).collect()
}

/// What does not depend on the number of workers.
fn essence(outcome: &Outcome) -> impl PartialEq + std::fmt::Debug + use<> {
    let s = outcome.statistics;
    let counts = [s.states, s.transitions, s.blocked_steps, s.ended_steps];
    let ends = s.ends;
    let depth = (s.max_depth, s.endless);
    let lengths: Vec<usize> = outcome
        .violations
        .iter()
        .map(|v| v.schedule.len())
        .collect();
    (
        (
            outcome.verdict(),
            outcome.explored.clone(),
            violations(outcome),
        ),
        (counts, ends, depth),
        lengths.into_iter().max(),
    )
}

#[test]
fn counts_do_not_depend_on_workers() {
    let failing = [Increment(0), Assert(0, 1), Lock(0), Increment(1), Lock(1)];
    let other = [Lock(1), Read(0), WriteNext(0), Assert(1, 0), Lock(0)];
    for system in [
        wide(),
        wide().with_limit(3),
        Counters::new(&[&failing, &other, &failing]),
        Counters::new(&[]),
    ] {
        let run = |workers| {
            let search = Search::new().properties(PropertySet::ALL).workers(workers);
            let outcome = super::run(search.collect_all(), &system);
            assert_eq!(outcome.statistics.workers, workers);
            outcome
        };
        let alone = essence(&run(1));
        for workers in 2..=4 {
            assert_eq!(essence(&run(workers)), alone, "{workers} workers");
        }
    }
}

#[test]
fn the_first_violation_is_as_near() {
    let system = wide().with_limit(2);
    let run = |workers| super::run(Search::new().workers(workers), &system);
    let alone = run(1);
    let together = run(3);
    assert_eq!(together.verdict(), Verdict::Violation);
    assert_eq!(together.violations.len(), 1);
    let length = |outcome: &Outcome| outcome.violations[0].schedule.len();
    assert_eq!(length(&together), length(&alone));
    assert_eq!(together.statistics.states, alone.statistics.states);
}

#[test]
fn the_limit_on_states_is_exact() {
    let states = super::run(Search::new(), &wide()).statistics.states;
    for max in [0, 1, 100, states - 1] {
        let outcome = super::run(Search::new().workers(4).max_states(max), &wide());
        assert_eq!(outcome.explored.cut(), Some(&Kind::States.into()));
        assert_eq!(outcome.statistics.states, max.max(1));
    }
    let outcome = super::run(Search::new().workers(4).max_states(states), &wide());
    assert_eq!(outcome.verdict(), Verdict::Verified);
}

#[test]
fn other_limits_work() {
    let depth = |workers| {
        let outcome = super::run(Search::new().workers(workers).max_depth(7), &wide());
        (outcome.explored.cut().cloned(), outcome.statistics.states)
    };
    assert_eq!(depth(1).0, Some(Kind::Depth.into()));
    assert_eq!(depth(3), depth(1));
    let little = Search::new().workers(2).max_memory(1);
    assert_eq!(
        super::run(little, &wide()).explored.cut(),
        Some(&Kind::Memory.into())
    );
    let cancelled = Search::new().workers(2).cancel(Arc::new(true.into()));
    assert_eq!(
        super::run(cancelled, &wide()).explored.cut(),
        Some(&Kind::Cancelled.into())
    );
    let hurried = Search::new().workers(2).timeout(Duration::ZERO);
    assert_eq!(
        super::run(hurried, &wide()).explored.cut(),
        Some(&Kind::Time.into())
    );
}

#[test]
fn vacuous_searches_and_cycles_are_told_apart() {
    let cut = [Choose(2), Assume(7)];
    let ending = Counters::new(&[&cut, &[Increment(0)]]);
    let endless = Counters::new(&[&cut, &[Set(0, 1), Goto(0)]]);
    let run = |system| super::run(Search::new().workers(2), system);
    assert_eq!(super::reasons(&run(&ending)), [Kind::Vacuous]);
    assert_eq!(run(&endless).verdict(), Verdict::Verified);
}

#[test]
fn orders_that_cannot_be_shared_out_have_one_worker() {
    for order in [Order::DepthFirst, Order::FewestSwitches] {
        let outcome = super::run(Search::new().order(order).workers(4), &wide());
        assert_eq!(outcome.statistics.workers, 1);
    }
}

#[test]
fn other_reductions_are_shared_out_as_well() {
    let run = |workers| {
        let search = Search::new().workers(workers).collect_all();
        search.run(&mut wide(), &mut Cartesian::default())
    };
    assert_eq!(run(2).statistics.workers, 2);
    assert_eq!(essence(&run(2)), essence(&run(1)));
}

/// Panics in some step, wherever it is made.
#[derive(Clone)]
struct Panicking(Counters);

impl System for Panicking {
    type State = State;

    fn initial(&mut self) -> State {
        self.0.initial()
    }

    fn thread_count(&self, state: &State) -> usize {
        self.0.thread_count(state)
    }

    fn step(&mut self, state: &State, thread: Position, choice: Choice, step: &mut Step<State>) {
        assert!(state.counters[2] < 2, "by intention");
        self.0.step(state, thread, choice, step);
    }

    fn canonicalise(&mut self, state: &mut State) -> Renamed {
        self.0.canonicalise(state)
    }

    fn encode(&self, state: &State, packed: &mut Packed) {
        self.0.encode(state, packed);
    }

    fn decode(&self, words: &[u64], state: &mut State) {
        self.0.decode(words, state);
    }

    fn broken_invariant(&mut self, state: &State, reads: &mut Footprint) -> Option<Fault> {
        self.0.broken_invariant(state, reads)
    }

    fn failed(&self, state: &State) -> bool {
        self.0.failed(state)
    }

    fn ended(&self, state: &State, thread: Position) -> bool {
        self.0.ended(state, thread)
    }

    fn place(&self, state: &State, thread: Position) -> Place {
        self.0.place(state, thread)
    }
}

#[test]
fn a_panic_comes_through() {
    for workers in 1..=4 {
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            let search = Search::new().workers(workers);
            search.run(&mut Panicking(wide()), &mut Full::default())
        }));
        let message = panicked.unwrap_err();
        assert_eq!(message.downcast_ref(), Some(&"by intention"));
    }
}
