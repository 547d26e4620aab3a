//! Locks, and other operations that wait: how many graphs there are of each primitive, made of few events.

use raddle_memory::Model::{Rc11, Sc};
use raddle_memory::Order::{AcqRel, Acquire, Relaxed, Release};
use raddle_memory::testing::{Halt, Run, Toy};
use raddle_memory::{Effect, End, Trust, Update};

use crate::compare::{compare, explore};

/// Asserts how many complete graphs and deadlocks a program has, and that enumeration agrees if there are few.
fn graphs(name: &str, toy: impl Fn() -> Toy, complete: u64, deadlocks: u64) {
    for model in [Sc, Rc11] {
        let explored = explore(&mut toy(), &mut Trust::new(model));
        let counts = explored.counts;
        let found = (counts.of(End::Complete), counts.of(End::Deadlock));
        assert_eq!(found, (complete, deadlocks), "{name}, {model:?}");
        assert_eq!(explored.duplicates(), 0, "{name}, {model:?}");
        if complete <= 36 {
            compare(&mut toy(), model, 1, true);
        }
    }
}

fn same(threads: u32, body: fn(&mut Run<'_>, u32) -> Result<(), Halt>) -> Toy {
    (0..threads).fold(Toy::default(), |toy, thread| {
        toy.thread(move |t| body(t, thread))
    })
}

fn at_least(value: u64, least: u64) -> bool {
    value >= least
}

/// Locks.
const A: u32 = 0;
const B: u32 = 1;

#[test]
fn locks() {
    for (threads, orders) in [(2, 2), (3, 6), (4, 24), (5, 120)] {
        let increment = || {
            same(threads, |t, _| {
                t.lock(A)?;
                let value = t.load(B, Relaxed)?;
                t.store(B, value + 1, Relaxed)?;
                t.unlock(A)
            })
        };
        graphs("a counter", increment, orders, 0);
    }
    let nested = |t: &mut Run<'_>, thread| {
        if thread < 2 {
            t.lock(A)?;
        }
        t.lock(B)?;
        t.unlock(B)?;
        if thread < 2 {
            t.unlock(A)?;
        }
        Ok(())
    };
    graphs("A{B{}} ∥ A{B{}} ∥ B{}", || same(3, nested), 6, 0);
    let crossed = |t: &mut Run<'_>, thread| {
        t.lock(thread)?;
        t.lock(1 - thread)?;
        t.unlock(1 - thread)?;
        t.unlock(thread)
    };
    graphs("A{B{}} ∥ B{A{}}", || same(2, crossed), 2, 1);
    let held = |t: &mut Run<'_>, _| t.lock(A);
    graphs("a lock that is not given back", || same(2, held), 0, 2);
    graphs(
        "a thread that waits for itself",
        || {
            Toy::default().thread(|t| {
                t.lock(A)?;
                t.lock(A)
            })
        },
        0,
        1,
    );
}

#[test]
fn failed_tries_synchronise_with_nothing() {
    // Both may fail, as in store buffering.
    let tries = |t: &mut Run<'_>, thread| {
        t.lock(thread)?;
        let other = t.try_lock(1 - thread)?;
        t.see(u64::from(other));
        Ok(())
    };
    let explored = explore(&mut same(2, tries), &mut Trust::new(Rc11));
    let failed = (vec![vec![0], vec![0]], End::Complete);
    assert!(explored.outcomes.contains(&failed));
    compare(&mut same(2, tries), Rc11, 1, true);
}

/// A counter orders all arrivals. Slots have as many graphs as there are answers to who leads, and one if nobody asks.
#[test]
fn barriers() {
    for (threads, orders) in [(2, 2), (3, 6), (4, 24)] {
        let counter = || {
            (0..threads).fold(Toy::default(), |toy, _| {
                toy.thread(move |t| match t.add(A, 1, AcqRel)? == threads - 1 {
                    true => t.store(B, 1, Release),
                    false => t.wait(B, Acquire, at_least, 1).map(|_| ()),
                })
            })
        };
        graphs("a barrier by a counter", counter, orders, 0);
        let slots = |asks_for_leader: bool| {
            move || {
                let threads = threads as u32;
                (0..threads).fold(Toy::default(), |toy, thread| {
                    toy.thread(move |t| {
                        for generation in 0..2 {
                            let first = generation * (threads + 1);
                            t.store(first + thread, 1, Release)?;
                            for other in (0..threads).filter(|&other| other != thread) {
                                t.wait(first + other, Acquire, at_least, 1)?;
                            }
                        }
                        if asks_for_leader {
                            let leader = t.compare_exchange(threads, 0, 1, Relaxed, Relaxed)?;
                            t.see(u64::from(leader.is_ok()));
                        }
                        Ok(())
                    })
                })
            }
        };
        graphs("a barrier by slots, twice", slots(false), 1, 0);
        graphs("a barrier by slots with a leader", slots(true), threads, 0);
    }
}

fn write_if(can: bool, written: u64) -> Effect {
    match can {
        true => Effect::Write(written),
        false => Effect::Wait,
    }
}

#[test]
fn reader_writer_locks_of_one_word() {
    const WRITER: u64 = 100;
    let toy = |readers: usize, writers: usize| {
        move || {
            let read = |t: &mut Run<'_>| {
                let begin = |read: u64, _| write_if(read < WRITER, read.wrapping_add(1));
                t.update(A, Update::waiting(Acquire, begin, [0, 0]))?;
                t.add(A, u64::MAX, Release).map(|_| ())
            };
            let write = |t: &mut Run<'_>| {
                let begin = |read, _| write_if(read == 0, WRITER);
                t.update(A, Update::waiting(Acquire, begin, [0, 0]))?;
                t.swap(A, 0, Release).map(|_| ())
            };
            let toy = (0..readers).fold(Toy::default(), |toy, _| toy.thread(read));
            (0..writers).fold(toy, |toy, _| toy.thread(write))
        }
    };
    for (readers, writers, count) in [(1, 1, 2), (2, 1, 14), (3, 1, 216), (2, 2, 48), (3, 2, 768)] {
        graphs("a reader-writer lock", toy(readers, writers), count, 0);
    }
}

#[test]
fn once_and_parking() {
    for threads in 2..=4 {
        let once = || {
            same(threads, |t, _| {
                let begin = |read, _| match read {
                    0 => Effect::Write(1),
                    1 => Effect::Wait,
                    _ => Effect::Read,
                };
                let (before, _) = t.update(A, Update::waiting(Acquire, begin, [0, 0]))?;
                match before {
                    0 => t.store(A, 2, Release),
                    _ => Ok(()),
                }
            })
        };
        graphs("once", once, threads.into(), 0);
    }
    for (unparks, count) in [(1, 1), (2, 4), (3, 18)] {
        let parking = || {
            let park = |t: &mut Run<'_>| {
                let take = |read, _| write_if(read == 1, 0);
                t.update(A, Update::waiting(Acquire, take, [0, 0]))
                    .map(|_| ())
            };
            let toy = Toy::default().thread(park);
            (0..unparks).fold(toy, |toy, _| {
                toy.thread(|t| t.swap(A, 1, Release).map(|_| ()))
            })
        };
        graphs("park", parking, count, 0);
    }
}

#[test]
fn channels() {
    for messages in 1..=4 {
        for (capacity, count) in [(1, 1), (2, 1 << (messages - 1))] {
            let word = || {
                let send = move |t: &mut Run<'_>| {
                    for _ in 0..messages {
                        let send = |read: u64, [capacity, _]: [u64; 2]| {
                            write_if(read < capacity, read.wrapping_add(1))
                        };
                        t.update(A, Update::waiting(AcqRel, send, [capacity, 0]))?;
                    }
                    Ok(())
                };
                let receive = move |t: &mut Run<'_>| {
                    for _ in 0..messages {
                        let receive = |read: u64, _| write_if(read > 0, read.wrapping_sub(1));
                        t.update(A, Update::waiting(AcqRel, receive, [0, 0]))?;
                    }
                    Ok(())
                };
                Toy::default().thread(send).thread(receive)
            };
            graphs("a channel of one word", word, count, 0);
            let slots = || {
                let send = move |t: &mut Run<'_>| {
                    for message in 0..messages {
                        if message >= capacity as u32 {
                            let taken = messages + message - capacity as u32;
                            t.wait(taken, Acquire, at_least, 1)?;
                        }
                        t.store(message, 1, Release)?;
                    }
                    Ok(())
                };
                let receive = move |t: &mut Run<'_>| {
                    for message in 0..messages {
                        t.wait(message, Acquire, at_least, 1)?;
                        t.store(messages + message, 1, Release)?;
                    }
                    Ok(())
                };
                Toy::default().thread(send).thread(receive)
            };
            graphs("a channel of slots", slots, 1, 0);
        }
    }
}

#[test]
fn condition_variables() {
    // As many as the orders of the mutex: of the n waiters, j wait.
    for (waiters, count) in [(1u32, 2), (2, 10), (3, 96)] {
        for inside in [true, false] {
            let toy = || {
                let (mutex, queue, flag, tokens) = (0, 1, 2, 3);
                let wait = move |t: &mut Run<'_>, waiter: u32| {
                    t.lock(mutex)?;
                    if t.load(flag, Relaxed)? == 0 {
                        let enlist = |read, [bit, _]: [u64; 2]| Effect::Write(read | bit);
                        t.update(queue, Update::write(AcqRel, enlist, 1 << waiter))?;
                        t.unlock(mutex)?;
                        t.wait(tokens + waiter, Acquire, at_least, 1)?;
                        t.lock(mutex)?;
                    }
                    t.unlock(mutex)
                };
                let toy = (0..waiters).fold(Toy::default(), |toy, waiter| {
                    toy.thread(move |t| wait(t, waiter))
                });
                toy.thread(move |t| {
                    t.lock(mutex)?;
                    t.store(flag, 1, Relaxed)?;
                    if !inside {
                        t.unlock(mutex)?;
                    }
                    let all = |read, _| match read {
                        0 => Effect::Read,
                        _ => Effect::Write(0),
                    };
                    let (waiting, _) = t.update(queue, Update::write(AcqRel, all, 0))?;
                    for waiter in (0..waiters).filter(|waiter| waiting >> waiter & 1 == 1) {
                        t.store(tokens + waiter, 1, Release)?;
                    }
                    if inside {
                        t.unlock(mutex)?;
                    }
                    Ok(())
                })
            };
            graphs("a condition variable", toy, count, 0);
        }
    }
}
