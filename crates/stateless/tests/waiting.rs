//! Steps that wait for more than one thing.
#![allow(missing_docs)]

use std::sync::Arc;

use raddle_explore::Search;
use raddle_explore::reductions::full::Full;
use raddle_lang::Source;
use raddle_machine::{Granularity, Machine};
use raddle_outcome::Kind;
use raddle_schedule::explorers::{
    ALL, Algorithm1, Algorithm2, Bounded, Deepening, Dfs, Named, Optimal, Parameters,
};
use raddle_schedule::{Explorer, Extent};
use raddle_stateless::{Examination, Settings, examine};

/// How many executions and classes an explorer runs, and how many of them end in a deadlock.
fn run(text: &str, explorer: &mut impl Explorer) -> (u64, u64, u64) {
    let found = examine_all(text, explorer, 1);
    let statistics = &found.statistics;
    (
        statistics.executions,
        classes_of(&found),
        statistics.ends.deadlocked,
    )
}

/// The classes of the executions, which are always counted.
fn classes_of(found: &Examination) -> u64 {
    found.statistics.classes.expect("they are counted")
}

fn examine_all(text: &str, explorer: &mut impl Explorer, workers: usize) -> Examination {
    let (program, _) = raddle_machine::load(Source::new("waiting.rad", text));
    let program = Arc::new(program.expect("it is correct"));
    let settings = Settings {
        all: true,
        workers,
        ..Settings::default()
    };
    let mut machine = Machine::new(program, Granularity::Access);
    examine(&mut machine, explorer, &settings)
}

/// The second thread never gives its lock back; it gets it first or last. Between the first thread's lock and
/// the second's lies the read, which cannot be reversed with the second: that would not get the lock.
const LOCK_AND_WRITE: &str = "
    int data; mutex m;
    void reads() { int r = 0; lock(m); r = data; unlock(m); }
    void keeps() { atomic { lock(m); data = 0; } }
    run reads() || keeps();
";

/// Either write keeps the third thread from moving, so both have to go for it to move first.
const TWO_GUARDS: &str = "
    int x = 1; int y = 1; int z;
    void a() { x = 0; }
    void b() { y = 0; }
    void c() { await(x == 1 && y == 1); z = 1; }
    run a() || b() || c();
";

#[test]
fn context_bounded_search_sees_all_classes() {
    for text in [LOCK_AND_WRITE, TWO_GUARDS] {
        let (_, classes, _) = run(text, &mut Dfs::default());
        assert_eq!(classes, 2);
        assert_eq!(run(text, &mut Algorithm2::UNBOUNDED.clone()), (2, 2, 1));
        let mut unbounded = Algorithm1 {
            bound: u32::MAX,
            ..Algorithm1::default()
        };
        assert_eq!(run(text, &mut unbounded), (2, 2, 1));
    }
}

#[test]
fn optimal_goes_back_beyond_what_cannot_be_reversed() {
    assert_eq!(run(LOCK_AND_WRITE, &mut Optimal::default()), (2, 2, 1));
}

#[test]
fn optimal_takes_out_all_that_keeps_a_step_from_happening() {
    assert_eq!(run(TWO_GUARDS, &mut Optimal::default()), (2, 2, 1));
}

/// What the search that stores states finds: how many deadlocks, at how many places.
fn deadlocks(text: &str) -> usize {
    let (program, _) = raddle_machine::load(Source::new("waiting.rad", text));
    let mut machine = Machine::new(
        Arc::new(program.expect("it is correct")),
        Granularity::Access,
    );
    let found = Search::new()
        .collect_all()
        .run(&mut machine, &mut Full::default());
    found.violations.len()
}

/// Every explorer runs this many classes, those that promise it each once, and as many of them end in a deadlock.
#[track_caller]
fn all_run(text: &str, classes: u64, deadlocked: u64) {
    let (_, naive, _) = run(text, &mut Dfs::default());
    assert_eq!(naive, classes, "naive");
    let expected = (classes, classes, deadlocked);
    assert_eq!(run(text, &mut Optimal::default()), expected, "optimal");
    assert_eq!(
        run(text, &mut Algorithm2::UNBOUNDED.clone()),
        expected,
        "algorithm2"
    );
    let many = u32::MAX;
    let (_, bounded, _) = run(text, &mut Bounded::new(many));
    let (_, iterated, _) = run(text, &mut Deepening::default());
    assert_eq!(
        (bounded, iterated),
        (classes, classes),
        "bounded, iterative"
    );
    assert_eq!(deadlocks(text) > 0, deadlocked > 0, "full");
}

/// Nine writes keep the last thread from moving, whether its guard looks at one variable after another or at all of them:
/// it moves first, or never.
#[test]
fn all_of_many_guards_are_taken_out() {
    let all_at_once = "a[0] + a[1] + a[2] + a[3] + a[4] + a[5] + a[6] + a[7] + a[8] == 0";
    let one_by_one = all_at_once.replace(" +", " == 0 &&");
    for guard in [all_at_once, &one_by_one] {
        let text = format!(
            "int a[9]; int z;
             void writes(int i) {{ a[i] = 1; }}
             void waits() {{ await({guard}); z = 1; }}
             run writes(0) || writes(1) || writes(2) || writes(3) || writes(4) || writes(5)
                 || writes(6) || writes(7) || writes(8) || waits();"
        );
        assert_eq!(run(&text, &mut Optimal::default()), (2, 2, 1));
    }
}

/// Fourteen writes keep the last thread from moving, and its guard looks at all of them at once: more sets of writes to
/// leave out than are tried. The execution in which the thread moves first is found nevertheless, and nothing is
/// claimed of others, since some guards that look at as much are true for a few of those sets only.
#[test]
fn too_many_guards_are_not_complete() {
    let locations = |n: u32| (0..n).map(|i| format!("a[{i}]")).collect::<Vec<_>>();
    let writers = |n: u32| (0..n).map(|i| format!("writes({i})")).collect::<Vec<_>>();
    for workers in [1, 2] {
        let text = format!(
            "int a[14];
             void writes(int i) {{ a[i] = 1; }}
             void waits() {{ await({} == 0); assert(false); }}
             run {} || waits();",
            locations(14).join(" + "),
            writers(14).join(" || "),
        );
        let found = examine_all(&text, &mut Optimal::default(), workers);
        assert_eq!(
            found.statistics.ends.failed, 1,
            "the waiting thread moves first"
        );
        assert_eq!(found.explored.extent(), Extent::Some);
        let assumptions = found.explored.assumptions();
        let dropped = assumptions.find(Kind::WakeupSequences);
        assert!(dropped.is_some_and(|dropped| dropped.place.is_some()));
    }
}

/// Waiters of different parents, which start them in any order: who is woken does not depend on that order.
#[test]
fn waiters_are_known_by_name() {
    let text = "
        mutex m; cond c; int x;
        void waits(int value) { lock(m); wait(c, m); x = value; unlock(m); }
        void starts(int value) { spawn waits(value); }
        void wakes() { lock(m); notify(c); unlock(m); }
        run starts(1) || starts(2) || wakes();
    ";
    let (executions, classes, deadlocked) = run(text, &mut Algorithm2::UNBOUNDED.clone());
    assert_eq!(executions, classes);
    all_run(text, classes, deadlocked);
}

/// The third thread can move first, if it looks at both variables. When the first has kept it waiting and the second lets it go on, it
/// looks at one only. Guards against going back from a step by what it touched where it was made.
#[test]
fn what_was_possible_before_it_waited_is_seen() {
    let text = "
        int x; int y = 1;
        void b() { y = 0; }
        void c() { x = 1; }
        void t() { await(x == 1 || y == 1); assert(x == 1); }
        run b() || c() || t();
    ";
    let failed = |explorer: &mut Named| {
        let found = examine_all(text, explorer, 1);
        (found.violations.len(), classes_of(&found))
    };
    for entry in ALL.iter().filter(|entry| !entry.is_random()) {
        let bounds: &[u32] = if entry.has_bound() { &[0, 9] } else { &[0] };
        for &bound in bounds {
            let bound = Some(bound);
            let parameters = Parameters {
                bound,
                ..Parameters::default()
            };
            let (violations, classes) = failed(&mut entry.make(&parameters));
            assert_eq!(violations, 1, "{} {bound:?}", entry.name);
            let expected = examine_all(
                text,
                &mut Dfs {
                    bound: bound.filter(|_| entry.has_bound()),
                },
                1,
            );
            assert_eq!(classes, classes_of(&expected), "{} {bound:?}", entry.name);
        }
    }
}

/// Readers do not race, however they come in.
#[test]
fn readers_that_try_are_independent() {
    let text = "
        rwlock l; int x;
        void tries() { if (try_read_lock(l)) { unlock(l); } }
        run tries() || tries() || tries();
    ";
    all_run(text, 1, 0);
}

/// A reader that came in twice and left once is still there. Each reader is there before the writer, or after it.
#[test]
fn a_reader_may_come_in_twice() {
    let program = |readers| {
        format!(
            "rwlock l; int x;
             void reads() {{ read_lock(l); read_lock(l); unlock(l); int r = x; unlock(l); }}
             void writes() {{ write_lock(l); x = 1; unlock(l); }}
             run reads()[{readers}] || writes();"
        )
    };
    assert_eq!(run(&program(1), &mut Dfs::default()).1, 2);
    for readers in 1..=4 {
        let classes = 1 << readers;
        let text = program(readers);
        assert_eq!(run(&text, &mut Optimal::default()), (classes, classes, 0));
        assert_eq!(
            run(&text, &mut Algorithm2::UNBOUNDED.clone()),
            (classes, classes, 0)
        );
    }
}

/// Whoever writes something touches what stands for the invariants. What was only read there before the last write does not race
/// with what reads it, although the lock has to wait for something else.
#[test]
fn what_only_reads_does_not_race() {
    let text = "
        int y; int data; mutex m;
        invariant data == 0;
        void writes() { y = 0; }
        void keeps() { lock(m); }
        void locks() { lock(m); data = 0; unlock(m); }
        run writes() || keeps() || locks();
    ";
    all_run(text, 3, 1);
}
