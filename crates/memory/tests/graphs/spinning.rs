//! Loops that wait: blocked executions, and live-locks.

use raddle_memory::Model::{Rc11, Sc};
use raddle_memory::Order::{Acquire, Relaxed, Release};
use raddle_memory::testing::{Halt, Round, Run, Toy};
use raddle_memory::{End, Trust};

use crate::compare::{compare, explore};

const FLAG: u32 = 0;
const LOCK: u32 = 1;

type Body = fn(&mut Run<'_>) -> Result<(), Halt>;

fn toy(threads: &[Body]) -> Toy {
    threads
        .iter()
        .fold(Toy::default(), |toy, &body| toy.thread(body))
}

fn repeated(body: Body, times: usize, last: Option<Body>) -> Toy {
    toy(&[vec![body; times], Vec::from_iter(last)].concat())
}

/// Asserts how many graphs are complete, and how many are blocked.
fn counts(toy: impl Fn() -> Toy, complete: u64, blocked: u64) {
    for model in [Sc, Rc11] {
        let explored = explore(&mut toy(), &mut Trust::new(model));
        assert_eq!(explored.numbers(), (complete, blocked), "{model:?}");
        if complete + blocked < 30 {
            compare(&mut toy(), model, 1, true);
        }
    }
}

/// Asserts whether a program hangs.
fn hangs(threads: &[Body], expected: bool) {
    for model in [Sc, Rc11] {
        let explored = explore(&mut toy(threads), &mut Trust::new(model));
        assert!(explored.is_all);
        assert_eq!(explored.counts.of(End::Livelock) > 0, expected, "{model:?}");
        assert!(explored.counts.of(End::Spinning) + explored.counts.of(End::Livelock) > 0);
    }
}

const SPIN: Body = |t| t.spin(|t| Ok(Round::leave_if(t.load(FLAG, Acquire)? == 1)));
const SPIN_LOCKED: Body = |t| {
    t.spin(|t| {
        t.lock(LOCK)?;
        let flag = t.load(FLAG, Relaxed)?;
        t.unlock(LOCK)?;
        Ok(Round::leave_if(flag == 1))
    })
};

#[test]
fn spinning_threads() {
    for (threads, blocked) in [(1, 1), (2, 3), (3, 7)] {
        let set: Body = |t| t.store(FLAG, 1, Release);
        counts(|| repeated(SPIN, threads, Some(set)), 1, blocked);
        let wait: Body = |t| {
            t.wait(FLAG, Acquire, |value, one| value == one, 1)
                .map(|_| ())
        };
        counts(|| repeated(wait, threads, Some(set)), 1, 0);
    }
    for (threads, complete, blocked) in [(1, 1, 1), (2, 2, 4), (3, 6, 18)] {
        let set: Body = |t| {
            t.lock(LOCK)?;
            t.store(FLAG, 1, Relaxed)?;
            t.unlock(LOCK)
        };
        counts(
            || repeated(SPIN_LOCKED, threads, Some(set)),
            complete,
            blocked,
        );
    }
}

#[test]
fn spin_locks() {
    let swap: Body = |t| {
        t.spin(|t| Ok(Round::leave_if(t.swap(LOCK, 1, Acquire)? == 0)))?;
        t.store(LOCK, 0, Release)
    };
    let exchange: Body = |t| {
        t.spin(|t| {
            let exchanged = t.compare_exchange(LOCK, 0, 1, Acquire, Relaxed)?;
            Ok(Round::leave_if(exchanged.is_ok()))
        })?;
        t.store(LOCK, 0, Release)
    };
    let wait: Body = |t| {
        t.lock(LOCK)?;
        t.store(LOCK, 0, Release)
    };
    counts(|| repeated(swap, 3, None), 6, 18);
    counts(|| repeated(swap, 4, None), 24, 168);
    counts(|| repeated(exchange, 4, None), 24, 124);
    counts(|| repeated(wait, 4, None), 24, 0);
}

#[test]
fn live_locks() {
    hangs(&[SPIN, |t| t.store(FLAG, 1, Release)], false);
    // The flag is taken back.
    let set_and_reset: Body = |t| {
        t.store(FLAG, 1, Release)?;
        t.store(FLAG, 0, Release)
    };
    hangs(&[SPIN, set_and_reset], true);
    hangs(&[SPIN], true);
    // They overwrite each other's lock with the same values. That a read is not of the last write does not matter.
    hangs(&[SPIN_LOCKED, SPIN_LOCKED], true);
    let add: Body = |t| t.spin(|t| Ok(Round::leave_if(t.add(FLAG, 0, Relaxed)? == 1)));
    hangs(&[add, add, SPIN], true);
    // One waits for a lock that the other one holds while it spins.
    let holds: Body = |t| {
        t.lock(LOCK)?;
        t.spin(|t| Ok(Round::leave_if(t.load(FLAG, Acquire)? == 1)))?;
        t.unlock(LOCK)
    };
    let would_set: Body = |t| {
        t.lock(LOCK)?;
        t.store(FLAG, 1, Release)?;
        t.unlock(LOCK)
    };
    hangs(&[holds, would_set], true);
    // A wait that may time out goes on when it does.
    let times_out: Body = |t| {
        t.spin(|t| {
            let set = t.load(FLAG, Acquire)? == 1;
            Ok(Round::leave_if(set || t.choose(2)? == 1))
        })
    };
    hangs(&[times_out], true);
}

#[test]
fn iterations_that_change_something_are_noted() {
    // It claims to change nothing, and adds to a counter.
    let counts_in_vain: Body = |t| {
        t.spin(|t| {
            t.add(LOCK, 1, Relaxed)?;
            Ok(Round::leave_if(t.load(FLAG, Acquire)? == 1))
        })
    };
    let mut toy = toy(&[counts_in_vain, |t| t.store(FLAG, 1, Release)]);
    assert!(!explore(&mut toy, &mut Trust::new(Rc11)).is_all);
}
