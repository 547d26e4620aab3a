//! Data structures, with the numbers of graphs that GenMC's tests of the same shape have.

use raddle_memory::Model::{self, Rc11, Sc};
use raddle_memory::Order::{AcqRel, Acquire, Relaxed, Release, SeqCst};
use raddle_memory::testing::{Halt, Round, Run, Toy};
use raddle_memory::{End, Trust};

use crate::compare::explore;

fn complete(toy: impl Fn() -> Toy, expected: &[(Model, u64)]) {
    for &(model, count) in expected {
        let explored = explore(&mut toy(), &mut Trust::new(model));
        assert_eq!(explored.counts.of(End::Complete), count, "{model:?}");
        assert_eq!(explored.counts.of(End::Failed), 0, "{model:?}");
        assert_eq!(explored.duplicates(), 0, "{model:?}");
        assert!(explored.is_all);
    }
}

/// The work-stealing deque of Chase and Lev, as Lê, Pop, Cohen and Zappa Nardelli give it for C11.
mod deque {
    use super::*;

    const BOTTOM: u32 = 0;
    const TOP: u32 = 1;
    const BUFFER: u32 = 2;
    const CAPACITY: u64 = 10;

    fn slot(index: u64) -> u32 {
        BUFFER + (index % CAPACITY) as u32
    }

    pub(super) fn push(t: &mut Run<'_>, value: u64) -> Result<bool, Halt> {
        let (bottom, top) = (t.load(BOTTOM, Relaxed)?, t.load(TOP, Acquire)?);
        if bottom.wrapping_sub(top).cast_signed() >= CAPACITY.cast_signed() {
            return Ok(false);
        }
        t.store(slot(bottom), value, Relaxed)?;
        t.store(BOTTOM, bottom + 1, Release)?;
        Ok(true)
    }

    pub(super) fn pop(t: &mut Run<'_>) -> Result<Option<u64>, Halt> {
        let bottom = t.load(BOTTOM, Relaxed)?;
        t.store(BOTTOM, bottom.wrapping_sub(1), Relaxed)?;
        t.fence(SeqCst)?;
        let top = t.load(TOP, Relaxed)?;
        let length = bottom.wrapping_sub(top).cast_signed();
        if length <= 0 {
            t.store(BOTTOM, bottom, Relaxed)?;
            return Ok(None);
        }
        let value = t.load(slot(bottom - 1), Relaxed)?;
        if length > 1 {
            return Ok(Some(value));
        }
        let won = t
            .compare_exchange(TOP, top, top + 1, AcqRel, Acquire)?
            .is_ok();
        t.store(BOTTOM, bottom, Relaxed)?;
        Ok(won.then_some(value))
    }

    pub(super) fn steal(t: &mut Run<'_>) -> Result<Option<u64>, Halt> {
        let top = t.load(TOP, Relaxed)?;
        t.fence(SeqCst)?;
        let bottom = t.load(BOTTOM, Acquire)?;
        if bottom.wrapping_sub(top).cast_signed() <= 0 {
            return Ok(None);
        }
        let value = t.load(slot(top), Relaxed)?;
        let won = t
            .compare_exchange(TOP, top, top + 1, Release, Relaxed)?
            .is_ok();
        Ok(won.then_some(value))
    }
}

#[test]
fn chase_lev() {
    let toy = |thieves: usize| {
        move || {
            let owner = |t: &mut Run<'_>| {
                let mut next = 1;
                for _ in 0..5 {
                    next += u64::from(deque::push(t, next)?);
                }
                for _ in 0..3 {
                    deque::pop(t)?;
                }
                for _ in 0..2 {
                    next += u64::from(deque::push(t, next)?);
                }
                Ok(())
            };
            let thief = |t: &mut Run<'_>| deque::steal(t).map(|_| ());
            (0..thieves).fold(Toy::default().thread(owner), |toy, _| toy.thread(thief))
        }
    };
    complete(toy(1), &[(Rc11, 65), (Sc, 59)]);
}

/// GenMC's `lock-nested`, whose threads that do the same it counts once: 6.
#[test]
fn nested_locks_and_assumptions() {
    const X: u32 = 0;
    const Y: u32 = 1;
    const TURN: u32 = 2;
    const FLAG: u32 = 3;
    let toy = || {
        let first = |t: &mut Run<'_>| {
            let turn = t.add(TURN, 1, SeqCst)?;
            t.assume(turn < 2)?;
            t.lock(Y)?;
            t.write_cell(0);
            t.unlock(Y)
        };
        Toy::default()
            .thread(first)
            .thread(first)
            .thread(|t| {
                t.lock(Y)?;
                let turn = t.add(TURN, 1, SeqCst)?;
                t.assume(turn == 3)?;
                t.store(FLAG, 1, SeqCst)?;
                t.lock(X)?;
                t.unlock(X)?;
                t.unlock(Y)
            })
            .thread(|t| {
                t.lock(X)?;
                let turn = t.add(TURN, 1, SeqCst)?;
                t.assume(turn == 2)?;
                let flag = t.load(FLAG, SeqCst)?;
                t.assume(flag == 1)?;
                t.unlock(X)
            })
    };
    complete(toy, &[(Rc11, 12), (Sc, 12)]);
}

#[test]
fn ticket_lock() {
    let toy = || {
        (0..2).fold(Toy::default(), |toy, thread| {
            toy.thread(move |t| {
                let (next, owner, shared) = (0, 1, 2);
                let ticket = t.add(next, 1, Relaxed)?;
                t.spin(|t| Ok(Round::leave_if(t.load(owner, Acquire)? == ticket)))?;
                t.store(shared, thread, Relaxed)?;
                let read = t.load(shared, Relaxed)?;
                t.assert(read == thread)?;
                t.store(owner, ticket + 1, Release)
            })
        })
    };
    complete(toy, &[(Rc11, 2), (Sc, 2)]);
}

#[test]
fn mcs_lock() {
    // Of each thread: the next one in the queue, and whether it has to wait.
    let next = |thread: u64| 1 + 2 * thread as u32;
    let waits = |thread: u64| 2 + 2 * thread as u32;
    let toy = || {
        (1..3).fold(Toy::default(), |toy, thread| {
            toy.thread(move |t| {
                let (tail, shared) = (0, 10);
                t.store(next(thread), 0, Relaxed)?;
                t.store(waits(thread), 1, Relaxed)?;
                let before = t.swap(tail, thread, AcqRel)?;
                if before != 0 {
                    t.store(next(before), thread, Release)?;
                    t.spin(|t| Ok(Round::leave_if(t.load(waits(thread), Acquire)? == 0)))?;
                }
                t.store(shared, thread, Relaxed)?;
                let read = t.load(shared, Relaxed)?;
                t.assert(read == thread)?;
                let mut after = t.load(next(thread), Acquire)?;
                if after == 0 {
                    let exchanged = t.compare_exchange(tail, thread, 0, Release, Relaxed)?;
                    if exchanged.is_ok() {
                        return Ok(());
                    }
                    t.spin(|t| {
                        after = t.load(next(thread), Acquire)?;
                        Ok(Round::leave_if(after != 0))
                    })?;
                }
                t.store(waits(after), 0, Release)
            })
        })
    };
    complete(toy, &[(Rc11, 6), (Sc, 6)]);
}
