//! Litmus tests: what each memory model allows.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex as StdMutex};

use raddle::sync::atomic::{AtomicU32, Ordering::*, fence};
use raddle::{Checker, Memory, thread};

/// What two threads read, and how many executions there are.
fn outcomes(
    memory: Memory,
    one: fn(&AtomicU32, &AtomicU32) -> u32,
    other: fn(&AtomicU32, &AtomicU32) -> u32,
) -> (BTreeSet<(u32, u32)>, u64) {
    let log = Arc::new(StdMutex::new(BTreeSet::new()));
    let seen = log.clone();
    let report = Checker::new()
        .memory(memory)
        .explorer("graphs")
        .check(move || {
            let shared = raddle::sync::Arc::new((AtomicU32::new(0), AtomicU32::new(0)));
            let theirs = shared.clone();
            let child = thread::spawn(move || other(&theirs.0, &theirs.1));
            let mine = one(&shared.0, &shared.1);
            let other = child.join().unwrap();
            seen.lock().unwrap().insert((mine, other));
        });
    assert!(report.exhausted);
    let seen = log.lock().unwrap().clone();
    (seen, report.executions)
}

#[test]
fn store_buffering() {
    let of = |memory| {
        outcomes(
            memory,
            |x, y| {
                x.store(1, Relaxed);
                y.load(Relaxed)
            },
            |x, y| {
                y.store(1, Relaxed);
                x.load(Relaxed)
            },
        )
    };
    let weak = BTreeSet::from([(0, 0), (0, 1), (1, 0), (1, 1)]);
    let strong = BTreeSet::from([(0, 1), (1, 0), (1, 1)]);
    assert_eq!(of(Memory::Rc11), (weak.clone(), 4));
    assert_eq!(of(Memory::Ra), (weak, 4));
    assert_eq!(of(Memory::Sc), (strong, 3));
}

#[test]
fn fences_restore_store_buffering() {
    let found = outcomes(
        Memory::Rc11,
        |x, y| {
            x.store(1, Relaxed);
            fence(SeqCst);
            y.load(Relaxed)
        },
        |x, y| {
            y.store(1, Relaxed);
            fence(SeqCst);
            x.load(Relaxed)
        },
    );
    assert_eq!(found, (BTreeSet::from([(0, 1), (1, 0), (1, 1)]), 3));
}

#[test]
fn message_passing() {
    let send = |x: &AtomicU32, y: &AtomicU32| {
        x.store(1, Relaxed);
        y.store(1, Release);
        0
    };
    let acquire = |x: &AtomicU32, y: &AtomicU32| y.load(Acquire) * 2 + x.load(Relaxed);
    let relaxed = |x: &AtomicU32, y: &AtomicU32| y.load(Relaxed) * 2 + x.load(Relaxed);
    let (found, executions) = outcomes(Memory::Rc11, send, acquire);
    assert_eq!(found, BTreeSet::from([(0, 0), (0, 1), (0, 3)]));
    assert_eq!(executions, 3);
    let (found, executions) = outcomes(Memory::Rc11, send, relaxed);
    assert_eq!(found, BTreeSet::from([(0, 0), (0, 1), (0, 2), (0, 3)]));
    assert_eq!(executions, 4);
}

/// Several workers find the same executions, each once, and a failure that one of them finds can be replayed.
#[test]
fn several_workers_find_what_one_finds() {
    let body = |fails: bool| {
        move || {
            let shared = raddle::sync::Arc::new([const { AtomicU32::new(0) }; 3]);
            let threads: Vec<_> = (0..3)
                .map(|number: usize| {
                    let shared = shared.clone();
                    thread::spawn(move || {
                        shared[number].store(1, Relaxed);
                        shared[2].fetch_add(1, AcqRel);
                        shared[(number + 1) % 2].load(Acquire)
                    })
                })
                .collect();
            let seen: Vec<u32> = threads
                .into_iter()
                .map(|thread| thread.join().unwrap())
                .collect();
            assert!(!fails || seen != [0, 1, 0]);
        }
    };
    let checker = |workers| {
        Checker::new()
            .memory(Memory::Rc11)
            .explorer("graphs")
            .workers(workers)
    };
    let alone = checker(1).check(body(false));
    assert!(alone.complete && alone.executions > 50, "{alone:?}");
    for workers in [2, 3] {
        let together = checker(workers).check(body(false));
        assert!(together.complete);
        assert_eq!(together.executions, alone.executions);
        let failed = checker(workers).run(body(true)).expect_err("it can be so");
        let again = Checker::new().replay(&failed.schedule).run(body(true));
        assert_eq!(again.expect_err("as before").failure, failed.failure);
    }
}
