//! Small programs whose outcomes are known: they check the interpreter, the runner and each other.

use std::collections::BTreeSet;

use crate::compare::{EVERYBODY, Effort, compare};
use crate::interpret::{outcomes, spins_unmarked};
use crate::syntax::{Inside, Mark, Op, Program, Statement, Test, Value};

const EFFORT: Effort = Effort {
    executions: 1000,
    states: 1000,
};

fn program<const N: usize>(threads: [Vec<Statement>; N]) -> Program {
    Program {
        threads: threads.into(),
        ..Program::default()
    }
}

fn make(op: Op) -> Statement {
    Statement::Do(op, None, 0)
}

fn into(register: usize, op: Op) -> Statement {
    Statement::Do(op, Some(register), 1)
}

fn leave_if(test: Test) -> Statement {
    Statement::If(test, vec![Statement::Break(1)], vec![])
}

fn wait_for(object: i64, value: i64) -> Statement {
    Statement::Loop(vec![
        into(0, Op::Load(Value::Is(object))),
        leave_if(Test::Is(0, value)),
        Statement::Mark(Mark::Yield, 0),
    ])
}

fn store(object: i64, value: i64) -> Statement {
    make(Op::Store(Value::Is(object), Value::Is(value)))
}

/// What the threads have in a register in the executions that end, and whether there are others.
fn seen(program: &Program, register: usize) -> (BTreeSet<Vec<i64>>, bool) {
    let expected = outcomes(program, EFFORT.states).unwrap();
    let ended = expected.outcomes.iter().filter(|outcome| !outcome.stuck);
    let registers = ended.map(|outcome| {
        let threads = outcome.threads.iter().flatten();
        threads.map(|registers| registers[register]).collect()
    });
    (registers.collect(), expected.has_stuck())
}

/// Raddle says the same.
fn agrees(program: &Program) {
    let compared = compare(program, &EVERYBODY, EFFORT).unwrap();
    if let Err(difference) = compared {
        panic!("{difference:?}\n{program}");
    }
}

#[test]
fn a_flag_is_waited_for() {
    let program = program([
        vec![store(1, 7), store(0, 1)],
        vec![wait_for(0, 1), into(3, Op::Load(Value::Is(1)))],
    ]);
    assert_eq!(seen(&program, 3), ([vec![0, 7]].into(), false));
    agrees(&program);
}

#[test]
fn a_flag_that_nobody_sets_is_waited_for_in_vain() {
    let program = program([vec![store(0, 2), store(0, 1)], vec![wait_for(0, 2)]]);
    assert_eq!(seen(&program, 0), ([vec![0, 2]].into(), true));
    agrees(&program);
}

#[test]
fn two_threads_that_wait_for_each_other_are_stuck() {
    let program = program([
        vec![wait_for(0, 1), store(1, 1)],
        vec![wait_for(1, 1), store(0, 1)],
    ]);
    assert_eq!(seen(&program, 0), (BTreeSet::new(), true));
    agrees(&program);
}

/// A spurious wake-up may help, but need not come.
#[test]
fn a_lost_wake_up_is_stuck() {
    let mutex = Value::Is(0);
    let waits = vec![
        make(Op::Lock(mutex)),
        make(Op::Wait(0)),
        into(0, Op::Get(mutex)),
        make(Op::Unlock(mutex)),
    ];
    let sets = vec![
        make(Op::Lock(mutex)),
        make(Op::Put(mutex, Value::Is(1))),
        make(Op::Unlock(mutex)),
        make(Op::NotifyOne(0)),
    ];
    let mut program = program([waits, sets]);
    assert_eq!(seen(&program, 0), ([vec![1, 0]].into(), true));
    agrees(&program);
    program.spurious = 1;
    assert_eq!(seen(&program, 0), ([vec![0, 0], vec![1, 0]].into(), true));
    agrees(&program);
}

/// How often it looked is all that can be seen.
#[test]
fn a_loop_gives_up_at_any_time() {
    let gives_up = Statement::Loop(vec![
        into(0, Op::Load(Value::Is(0))),
        leave_if(Test::Is(0, 1)),
        Statement::Count(1, 9),
        leave_if(Test::Is(1, 3)),
        Statement::Mark(Mark::SpinLoop, 0),
    ]);
    let program = program([vec![store(0, 1)], vec![gives_up]]);
    let rounds = [vec![0, 0], vec![0, 1], vec![0, 2], vec![0, 3]];
    assert_eq!(seen(&program, 1), (rounds.into(), false));
    agrees(&program);
}

#[test]
fn a_waker_in_a_slot_wakes() {
    let future = Statement::BlockOn(
        vec![
            make(Op::Register(0)),
            into(0, Op::Load(Value::Is(0))),
            leave_if(Test::Is(0, 1)),
        ],
        0,
    );
    let wakes = vec![store(0, 1), make(Op::Wake(0))];
    let program = program([vec![future], wakes]);
    assert_eq!(seen(&program, 0), ([vec![1, 0]].into(), false));
    agrees(&program);
}

#[test]
fn a_loop_that_does_not_say_that_it_spins_is_told_apart() {
    let marked = program([vec![store(0, 1)], vec![wait_for(0, 1)]]);
    assert_eq!(spins_unmarked(&marked, EFFORT.states), Ok(false));
    let Statement::Loop(mut body) = wait_for(0, 1) else {
        unreachable!("it is a loop");
    };
    body.pop();
    let unmarked = program([vec![store(0, 1)], vec![Statement::Loop(body)]]);
    assert_eq!(spins_unmarked(&unmarked, EFFORT.states), Ok(true));
}

/// Waits at one place in the source until the mutex protects a value, and puts another one there.
fn exchange(mutex: i64, from: i64, to: i64, gives_back: bool) -> Statement {
    let mutex = Value::Is(mutex);
    let mut leaves = vec![
        Statement::Do(Op::Put(mutex, Value::Is(to)), None, 0),
        Statement::Break(1),
    ];
    if gives_back {
        leaves.insert(1, Statement::Do(Op::Unlock(mutex), None, 1));
    }
    Statement::Loop(vec![
        Statement::Do(Op::Lock(mutex), None, 0),
        Statement::Do(Op::Get(mutex), Some(0), 0),
        Statement::If(Test::Is(0, from), leaves, vec![]),
        Statement::Do(Op::Unlock(mutex), None, 1),
        Statement::Mark(Mark::Sleep, 0),
    ])
}

/// A value behind a pointer changes unseen. A thread that is told to leave its loop in that way, and then waits for a lock at the same place, has not done so by itself: else it would be
/// allowed one more iteration each time, without end.
#[test]
fn a_thread_that_is_told_behind_a_pointer_does_not_leave_by_itself() {
    let lock = Value::Pick([0, 1, 0, 1], 2);
    let reads = Statement::Loop(vec![
        Statement::Do(Op::Read(lock), None, 0),
        Statement::Do(Op::GetRw(lock), Some(0), 1),
        Statement::Do(Op::UnlockRw(lock), None, 0),
        Statement::If(Test::IsNot(0, 0), vec![Statement::Break(1)], vec![]),
        Statement::Mark(Mark::Sleep, 0),
        Statement::Count(2, 2),
    ]);
    let mut program = program([
        vec![
            Statement::Do(Op::Write(Value::Is(1)), None, 1),
            Statement::Do(Op::PutRw(Value::Is(1), Value::Is(2)), None, 0),
            exchange(0, 1, 0, false),
        ],
        vec![exchange(0, 0, 1, true), exchange(0, 0, 1, true), reads],
    ]);
    program.mutexes[0] = Inside::Boxed;
    agrees(&program);
}
