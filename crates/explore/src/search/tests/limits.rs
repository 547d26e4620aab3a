//! Every limit cuts, says so, and never lets a search claim more than it knows.

use super::*;
use crate::parts::{Packed, Renamed};
use crate::system::{Choice, Fault, Footprint, Place, Position, Step};
use crate::testing::Op::*;
use std::sync::atomic::Ordering;
use std::time::Instant;

fn cut_by(outcome: &Outcome, limit: Kind) {
    assert_eq!(outcome.explored.cut(), Some(&limit.into()));
    assert_eq!(reasons(outcome), [limit]);
}

#[test]
fn states() {
    for order in ORDERS {
        let search = || Search::new().order(order);
        let all = run(search(), &Counters::racing(3)).statistics.states;
        let exactly = run(search().max_states(all), &Counters::racing(3));
        assert!(exactly.is_verified());
        for max in [0, 1, 5, all - 1] {
            let outcome = run(search().max_states(max), &Counters::racing(3));
            cut_by(&outcome, Kind::States);
            assert_eq!(outcome.statistics.states, max.max(1));
        }
    }
}

#[test]
fn depth() {
    for order in ORDERS {
        let search = || Search::new().order(order);
        let system = Counters::racing(3);
        assert!(run(search().max_depth(6), &system).is_verified());
        for max in 0..6 {
            cut_by(&run(search().max_depth(max), &system), Kind::Depth);
        }
        let failing = Counters::new(&[&[Set(0, 1), Assert(0, 0)]]);
        cut_by(&run(search().max_depth(1), &failing), Kind::Depth);
        assert_eq!(run(search().max_depth(2), &failing).violations.len(), 1);
    }
    let states = |depth| {
        run(Search::new().max_depth(depth), &Counters::racing(2))
            .statistics
            .states
    };
    assert_eq!([0, 1, 4].map(states), [1, 3, 13]);
}

#[test]
fn memory() {
    for order in ORDERS {
        let search = || Search::new().order(order).store(StoreKind::Flat);
        let needed = run(search(), &Counters::racing(5)).statistics.memory_bytes;
        cut_by(
            &run(search().max_memory(needed / 2), &Counters::racing(5)),
            Kind::Memory,
        );
        let enough = run(search().max_memory(needed), &Counters::racing(5));
        assert!(
            enough.is_verified(),
            "{order:?}: {needed}, {:?}",
            enough.statistics
        );
    }
}

#[test]
fn a_full_store() {
    let mut store = Flat::<Std>::with_limit(10);
    let outcome = Search::new().run_in(&mut Counters::racing(3), &mut Full::default(), &mut store);
    cut_by(&outcome, Kind::StoreFull);
    assert_eq!(outcome.statistics.states, 10);
    let mut none = Flat::<Std>::with_limit(0);
    let outcome = Search::new().run_in(&mut Counters::racing(3), &mut Full::default(), &mut none);
    cut_by(&outcome, Kind::StoreFull);
}

#[test]
fn a_violation_stays_one_when_the_search_is_cut() {
    let failing: [&[Op]; 3] = [&[Assert(0, 1)], &[Set(1, 1); 3], &[Set(2, 1); 3]];
    let search = Search::new().collect_all().max_states(4);
    let outcome = run(search, &Counters::new(&failing));
    assert_eq!(outcome.verdict(), Verdict::Violation);
    assert_eq!(outcome.explored.cut(), Some(&Kind::States.into()));
}

/// A system that never ends and takes its time for every step.
#[derive(Clone)]
struct Slow(Duration);

impl System for Slow {
    type State = u64;

    fn initial(&mut self) -> u64 {
        0
    }
    fn thread_count(&self, _: &u64) -> usize {
        1
    }
    fn step(&mut self, state: &u64, _: Position, _: Choice, step: &mut Step<u64>) {
        std::thread::sleep(self.0);
        step.status = Status::Moved;
        step.after = state + 1;
    }
    fn canonicalise(&mut self, _: &mut u64) -> Renamed {
        Renamed::Nothing
    }
    fn encode(&self, state: &u64, packed: &mut Packed) {
        packed.clear();
        packed.push(*state);
        packed.end_part();
    }
    fn decode(&self, words: &[u64], state: &mut u64) {
        *state = words[0];
    }
    fn broken_invariant(&mut self, _: &u64, _: &mut Footprint) -> Option<Fault> {
        None
    }
    fn failed(&self, _: &u64) -> bool {
        false
    }
    fn ended(&self, _: &u64, _: Position) -> bool {
        false
    }
    fn place(&self, _: &u64, _: Position) -> Place {
        Place(0)
    }
}

#[test]
fn time_is_kept_on_fast_and_slow_systems() {
    for pause in [Duration::ZERO, Duration::from_millis(30)] {
        let start = Instant::now();
        let search = Search::new().timeout(Duration::from_millis(200));
        let outcome = search.run(&mut Slow(pause), &mut Full::default());
        cut_by(&outcome, Kind::Time);
        assert!(start.elapsed() >= Duration::from_millis(200));
        assert!(start.elapsed() < Duration::from_millis(1200));
    }
}

#[test]
fn cancellation_and_progress() {
    let flag = Arc::new(AtomicBool::new(false));
    let mut reports = Vec::new();
    let search = Search::new().cancel(flag.clone()).on_progress(|progress| {
        reports.push(*progress);
        if reports.len() == 3 {
            flag.store(true, Ordering::Relaxed);
        }
    });
    let outcome = search.run(&mut Slow(Duration::ZERO), &mut Full::default());
    cut_by(&outcome, Kind::Cancelled);
    assert_eq!(reports.len(), 3);
    for pair in reports.windows(2) {
        assert!(pair[1].elapsed - pair[0].elapsed >= Duration::from_millis(100));
        assert!(pair[1].states > pair[0].states && pair[1].depth > pair[0].depth);
    }
}

#[test]
fn all_executions_cut_is_no_proof() {
    for order in ORDERS {
        let verdict = |codes: &[&[Op]]| {
            let outcome = run(Search::new().order(order), &Counters::new(codes));
            assert!(outcome.statistics.ends.cut > 0);
            if outcome.explored.assumptions().find(Kind::Vacuous).is_some() {
                assert_eq!(reasons(&outcome), [Kind::Vacuous]);
            }
            outcome.verdict()
        };
        let vacuous = Verdict::Inconclusive;
        assert_eq!(verdict(&[&[Assume(1)]]), vacuous);
        assert_eq!(verdict(&[&[Choose(2), Assume(2)], &[Set(0, 1)]]), vacuous);
        // Two ways to one state are no cycle.
        assert_eq!(verdict(&[&[Set(0, 1), Assume(1)], &[Set(1, 1)]]), vacuous);
        assert_eq!(verdict(&[&[Choose(2), Assume(1)]]), Verdict::Verified);
        // The second thread never ends, so an execution can go on beside the blocked one.
        let endless: [&[Op]; 2] = [&[Assume(1)], &[Goto(0)]];
        let outcome = run(Search::new().order(order), &Counters::new(&endless));
        assert_eq!(outcome.verdict(), Verdict::Verified);
    }
}

#[test]
fn an_endless_alternative_is_no_cut() {
    // Choosing 1 is cut; choosing 0 may be repeated for ever.
    let code = [Choose(2), Assume(0), Goto(0)];
    let outcome = run(Search::new(), &Counters::new(&[&code]));
    assert_eq!(
        (
            outcome.statistics.ends.cut,
            outcome.statistics.ends.terminated
        ),
        (1, 0)
    );
    assert!(outcome.is_verified());
}

/// A thread that makes a few steps, then one of very many choices, then one more step. Counts the
/// steps that are tried.
#[derive(Clone, Default)]
struct Wide {
    /// How many steps come before the choice.
    before: u64,
    /// The alternative that fails, if one does.
    failing: Option<u64>,
    tried: u64,
}

/// How many steps were made, and what was chosen.
type Chosen = (u64, u64);

impl Wide {
    /// More than any test could wait for.
    const ALTERNATIVES: u64 = 1 << 40;
}

impl System for Wide {
    type State = Chosen;

    fn initial(&mut self) -> Chosen {
        (0, 0)
    }
    fn thread_count(&self, _: &Chosen) -> usize {
        1
    }
    fn step(&mut self, state: &Chosen, thread: Position, choice: Choice, step: &mut Step<Chosen>) {
        self.tried += 1;
        step.footprint.clear();
        step.next_choice = None;
        step.after = (state.0 + 1, state.1);
        step.status = Status::Moved;
        if self.ended(state, thread) {
            step.status = Status::Ended;
        } else if state.0 == self.before {
            step.after.1 = choice.0;
            let next = choice.0 + 1;
            step.next_choice = (next < Self::ALTERNATIVES).then_some(Choice(next));
            if self.failing == Some(choice.0) {
                step.status = Status::Failed(Fault {
                    kind: crate::FaultKind::Assertion,
                    place: Place(0),
                    message: "the wrong choice".into(),
                });
            }
        }
    }
    fn canonicalise(&mut self, _: &mut Chosen) -> Renamed {
        Renamed::Nothing
    }
    fn encode(&self, state: &Chosen, packed: &mut Packed) {
        packed.clear();
        packed.extend(&[state.0, state.1]);
        packed.end_part();
    }
    fn decode(&self, words: &[u64], state: &mut Chosen) {
        *state = (words[0], words[1]);
    }
    fn broken_invariant(&mut self, _: &Chosen, _: &mut Footprint) -> Option<Fault> {
        None
    }
    fn failed(&self, _: &Chosen) -> bool {
        false
    }
    fn ended(&self, state: &Chosen, _: Position) -> bool {
        state.0 > self.before + 1
    }
    fn place(&self, _: &Chosen, _: Position) -> Place {
        Place(0)
    }
}

/// Guards against looking at all alternatives of a choice before one that fails is reported, in the
/// search, in what a macro-step looks at ahead, and in finding the schedule again.
#[test]
fn a_failing_alternative_is_reported_at_once() {
    for mut reduction in crate::reductions::all::<Wide>() {
        for order in ORDERS {
            for before in 0..4 {
                for failing in [0, 1000] {
                    let mut system = Wide {
                        before,
                        failing: Some(failing),
                        tried: 0,
                    };
                    let search = Search::new().order(order).properties(PropertySet::ALL);
                    let outcome = search.run(&mut system, reduction.as_mut());
                    let name = reduction.name();
                    assert_eq!(outcome.verdict(), Verdict::Violation, "{name}");
                    assert_eq!(outcome.violations[0].schedule.len() as u64, before + 1);
                    assert!(system.tried < 20_000, "{name}: {} steps", system.tried);
                }
            }
        }
    }
}

/// Guards against tables inside an expansion that grow with a choice, and against memory that a
/// reduction holds and the limit does not see.
#[test]
fn reductions_remember_little_of_a_choice_and_count_it() {
    for before in [0, 2] {
        for counts_visited in [false, true] {
            for mut reduction in crate::reductions::all::<Wide>() {
                if counts_visited {
                    reduction.count_visited();
                }
                let mut system = Wide {
                    before,
                    ..Wide::default()
                };
                let limit = 2 << 20;
                let search = Search::new().max_memory(limit);
                let outcome = search.run(&mut system, reduction.as_mut());
                let name = reduction.name();
                assert_eq!(outcome.explored.cut(), Some(&Kind::Memory.into()), "{name}");
                let held = reduction.held_bytes() as u64;
                let all = outcome.statistics.memory_bytes;
                assert!(held < limit && all >= held, "{name}: {held} of {all}");
                if !counts_visited {
                    assert!(held < 1 << 20, "{name}: {held}");
                }
            }
        }
    }
}

/// The full search, under the claim that it preserves nothing.
struct Modest(Full<Counters>);

impl Reduction<Counters> for Modest {
    fn name(&self) -> &'static str {
        "modest"
    }
    fn preserves(&self) -> PropertySet {
        PropertySet::NONE.with(crate::Property::Assertion)
    }
    fn expand(
        &mut self,
        system: &mut Counters,
        state: &crate::testing::State,
        visitor: &mut dyn crate::Visitor<Counters>,
    ) -> crate::Effort {
        self.0.expand(system, state, visitor)
    }
}

#[test]
fn what_is_not_preserved_is_not_verified() {
    let reduction = &mut Modest(Full::default());
    let asked = PropertySet::NONE.with(crate::Property::Assertion);
    let outcome = Search::new()
        .properties(asked)
        .run(&mut Counters::racing(2), reduction);
    assert!(outcome.is_verified());
    let outcome = Search::new()
        .properties(asked.with(crate::Property::Deadlock))
        .run(&mut Counters::racing(2), reduction);
    let lost = PropertySet::NONE.with(crate::Property::Deadlock);
    assert_eq!(super::lost(&outcome), Some(lost.to_string()));
    assert_eq!(reasons(&outcome), [Kind::NotPreserved]);
    assert_eq!(outcome.asked.reduction, "modest");
}

/// A search of few states gives up while levels grow, and goes on when they become smaller.
#[test]
fn a_search_of_few_states_gives_up_while_they_grow() {
    let search = |few: u64| {
        let mut system = Counters::racing(5);
        let search = Search::new().while_small(few, || false);
        search.run(&mut system, &mut Full::default())
    };
    let all = Search::new().run(&mut Counters::racing(5), &mut Full::default());
    let all = all.statistics.states;
    let early = search(all / 10);
    assert_eq!(early.explored.cut().map(|cut| cut.kind), Some(Kind::States));
    assert!(early.statistics.states > all / 10 && early.statistics.states < all);
    let late = search(all * 9 / 10);
    assert_eq!(late.explored.cut(), None);
    assert_eq!(late.statistics.states, all);
}

/// Whoever goes on finds what a search finds that did not pause, in whatever store.
#[test]
fn a_search_of_few_states_goes_on_where_it_was() {
    let system = Counters::racing(5).with_limit(4);
    for kind in [StoreKind::Flat, StoreKind::Tree, StoreKind::Compact] {
        for workers in [1, 3] {
            let search = || Search::new().collect_all().store(kind).workers(workers);
            let alone = search().run(&mut system.clone(), &mut Full::default());
            for few in [1, 20, alone.statistics.states / 10] {
                let mut asked = 0;
                let paused = search().while_small(few, || {
                    asked += 1;
                    true
                });
                let paused = paused.run(&mut system.clone(), &mut Full::default());
                assert_eq!(asked, 1);
                let essence = |outcome: &Outcome| {
                    let statistics = &outcome.statistics;
                    let found = outcome.violations.len();
                    let counts = (statistics.states, statistics.transitions);
                    (counts, statistics.max_depth, outcome.verdict(), found)
                };
                assert_eq!(essence(&paused), essence(&alone), "{kind:?}, {few}");
            }
        }
    }
}

/// One state can have more successors than a search of few states may have.
#[test]
fn a_search_of_few_states_gives_up_within_a_level_too() {
    let mut system = Counters::racing(6);
    let mut reduction = Full::default();
    let search = Search::new().order(Order::DepthFirst);
    let search = search.while_small(10, || unreachable!("nobody is asked"));
    let outcome = search.run(&mut system, &mut reduction);
    assert_eq!(
        outcome.explored.cut().map(|cut| cut.kind),
        Some(Kind::States)
    );
    assert!(outcome.statistics.states < 100);
}
