//! Steps that wait for more than one thing.
#![allow(missing_docs)]

use std::sync::Arc;

use raddle_lang::Source;
use raddle_machine::{Granularity, Machine};
use raddle_schedule::Explorer;
use raddle_schedule::explorers::{Algorithm1, Dfs, Iterative, Optimal};
use raddle_schedule::system::{Settings, examine};

/// How many executions and classes an explorer runs, and how many of them end in a deadlock.
fn run(text: &str, explorer: &mut impl Explorer) -> (u64, u64, u64) {
    let (program, _) = raddle_machine::load(Source::new("waiting.rad", text));
    let program = Arc::new(program.expect("it is correct"));
    let settings = Settings {
        all: true,
        ..Settings::default()
    };
    let mut machine = Machine::new(program, Granularity::Access);
    let found = examine(&mut machine, explorer, &settings);
    (found.executions, found.classes, found.deadlocked)
}

/// The second thread never gives its lock back; it gets it first or last. Between the first thread's lock and
/// the second's lies the read, which can not be reversed with the second: that would not get the lock.
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
        assert_eq!(run(text, &mut Iterative::default()), (2, 2, 1));
        let mut unbounded = Algorithm1 {
            bound: u32::MAX,
            ..Algorithm1::default()
        };
        assert_eq!(run(text, &mut unbounded), (2, 2, 1));
    }
}

#[test]
fn optimal_goes_back_beyond_what_can_not_be_reversed() {
    assert_eq!(run(LOCK_AND_WRITE, &mut Optimal::default()), (2, 2, 1));
}

#[test]
fn optimal_takes_out_all_that_keeps_a_step_from_happening() {
    assert_eq!(run(TWO_GUARDS, &mut Optimal::default()), (2, 2, 1));
}
