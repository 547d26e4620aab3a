//! Exact numbers, in every order.

use super::*;
use crate::testing::Op::*;

/// States, transitions, blocked steps, steps of ended threads.
fn counts(system: &Counters) -> (u64, u64, u64, u64) {
    let mut all = ORDERS.map(|order| {
        let outcome = run(Search::new().order(order).collect_all(), system);
        assert_eq!(outcome.explored.cut(), None);
        let s = outcome.statistics;
        assert!(s.peak_frontier > 0 && s.memory_bytes > 0);
        (s.states, s.transitions, s.blocked_steps, s.ended_steps)
    });
    assert_eq!(all[0], all[1], "depth-first counts differently");
    assert_eq!(all[0], all[2], "fewest switches counts differently");
    std::mem::take(&mut all[0])
}

#[test]
fn independent_threads_multiply() {
    // Two operations each: a thread is in one of three positions.
    let own = |c| [Set(c, 1), Set(c, 2)];
    let system = Counters::new(&[&own(0), &own(1), &own(2)]);
    // A thread has moves left in 2/3 of the 27 states.
    assert_eq!(counts(&system), (27, 54, 0, 27));
}

#[test]
fn lost_updates() {
    // Before any write, 4 states: who has read. With one thread done, the other has not
    // read, or has read 0, or 1: 3 states, for each thread. In the end both have read 0, or
    // one of them 1: 3 states.
    assert_eq!(counts(&Counters::racing(2)), (13, 14, 0, 12));
}

#[test]
fn blocked_steps_count() {
    let section = [Lock(0), Unlock(0)];
    // Positions (0,0), (1,0), (2,0), (0,1), (0,2), (2,1), (1,2), (2,2).
    let system = Counters::new(&[&section, &section]);
    assert_eq!(counts(&system), (8, 8, 2, 6));
}

#[test]
fn choices_are_all_taken() {
    let system = Counters::new(&[&[Choose(5), Assume(3)]]);
    // The initial state, one for each choice, the one after the assumption.
    assert_eq!(counts(&system), (7, 6, 4, 1));
}

#[test]
fn orders_of_spawns_leave_no_trace() {
    let nothing: [Op; 0] = [];
    let system = Counters::starting(&[&nothing, &nothing, &[Spawn(0)], &[Spawn(1)]], &[2, 3]);
    assert_eq!(counts(&system).0, 4);
}

#[test]
fn depth_is_the_longest_distance() {
    let system = Counters::racing(3);
    let outcome = run(Search::new(), &system);
    assert_eq!(outcome.statistics.max_depth, 6);
    // Only who read what before the last write matters in the end.
    assert!(outcome.is_verified());
    let ends = outcome.statistics.ends.terminated;
    assert_eq!(ends, outcome.statistics.ends.cut + ends);
}

#[test]
fn ends_are_told_apart() {
    // The first thread picks how the second one ends.
    let system = Counters::new(&[&[Choose(2), Assume(0), Lock(0)], &[Lock(0), Lock(1)]]);
    let outcome = run(Search::new().collect_all(), &system);
    let s = outcome.statistics;
    // Cut: chose 1, the other has done both locks. Deadlock: chose 0 and waits for lock 0.
    // Terminated: never, since lock 0 is held for ever by one of them.
    let s = s.ends;
    assert_eq!((s.terminated, s.cut, s.deadlocked, s.failed), (0, 1, 2, 0));
    assert_eq!(outcome.violations.len(), 2);
}

#[test]
fn a_failed_thread_excuses_a_deadlock() {
    // The first thread fails while it holds the lock for which the other waits.
    let system = Counters::new(&[&[Lock(0), Assert(0, 7), Unlock(0)], &[Lock(0), Unlock(0)]]);
    let outcome = run(Search::new().collect_all(), &system);
    assert_eq!(outcome.violations.len(), 1);
    assert_eq!(outcome.violations[0].places(), [crate::Place(1)]);
    let s = outcome.statistics;
    let s = s.ends;
    assert_eq!((s.terminated, s.deadlocked, s.failed), (0, 0, 2));
}

#[test]
fn a_system_without_threads_has_one_state() {
    let outcome = run(Search::new(), &Counters::new(&[]));
    assert!(outcome.is_verified());
    assert_eq!(outcome.statistics.states, 1);
    assert_eq!(outcome.statistics.ends.terminated, 1);
}
