//! Loops that poll a few times and go on, where the first execution that is run does not yet know that they do.

use std::ptr::null_mut;

use raddle::sync::Arc;
use raddle::sync::atomic::{AtomicPtr, AtomicU32, Ordering::*};
use raddle::{Checker, FailureKind, Memory, cell::UnsafeCell, thread};

const MODELS: [Memory; 3] = [Memory::Sc, Memory::Ra, Memory::Rc11];

fn number() -> Arc<AtomicU32> {
    Arc::new(AtomicU32::new(0))
}

#[test]
fn a_loop_that_gives_up_is_no_live_lock() {
    for memory in MODELS {
        let report = Checker::new().memory(memory).check(|| {
            let number = number();
            let mut rounds = 0;
            while number.load(Relaxed) == 0 && rounds < 3 {
                rounds += 1;
                thread::yield_now();
            }
            assert_eq!(rounds, 3);
        });
        assert_eq!(report.executions, 1);
        assert!(report.exhausted);
    }
}

/// Neither is one in a thread that another one waits for, nor one that comes after writes which a schedule may miss.
#[test]
fn a_loop_that_gives_up_in_a_thread_is_no_live_lock() {
    for memory in MODELS {
        let report = Checker::new().memory(memory).check(|| {
            let number = number();
            let theirs = number.clone();
            let child = thread::spawn(move || {
                for _ in 0..3 {
                    theirs.load(Relaxed);
                    thread::yield_now();
                }
            });
            number.store(1, Relaxed);
            number.store(0, Relaxed);
            child.join().unwrap();
        });
        assert_eq!(report.executions, 10);
    }
}

#[test]
fn a_loop_that_gives_up_is_no_live_lock_if_only_weak_executions_have_it() {
    let report = Checker::new().check(|| {
        let (one, two, other) = (number(), number(), number());
        let theirs = (one.clone(), two.clone());
        let child = thread::spawn(move || {
            theirs.0.store(1, Relaxed);
            theirs.1.load(Relaxed)
        });
        two.store(1, Relaxed);
        let found = one.load(Relaxed);
        if found == 0 && child.join().unwrap() == 0 {
            for _ in 0..3 {
                other.load(Relaxed);
                thread::yield_now();
            }
        }
    });
    assert!(report.complete);
}

#[test]
fn who_polls_the_number_of_references_finds_them_gone() {
    for memory in MODELS {
        Checker::new().memory(memory).check(|| {
            let number = number();
            let theirs = number.clone();
            let child = thread::spawn(move || theirs.store(1, Relaxed));
            while Arc::strong_count(&number) > 1 {
                thread::yield_now();
            }
            child.join().unwrap();
            assert_eq!(number.load(Relaxed), 1);
        });
    }
}

#[test]
fn who_polls_to_be_the_only_owner_becomes_it() {
    struct Shared(UnsafeCell<u32>);
    // SAFETY: accesses are ordered by the count of references; the check says so.
    unsafe impl Sync for Shared {}
    for memory in MODELS {
        Checker::new().memory(memory).check(|| {
            let mut shared = Arc::new(Shared(UnsafeCell::new(0)));
            let theirs = shared.clone();
            // SAFETY: nobody else looks while there are two references.
            let child = thread::spawn(move || theirs.0.with_mut(|value| unsafe { *value = 1 }));
            let value = loop {
                if let Some(shared) = Arc::get_mut(&mut shared) {
                    // SAFETY: this is the only reference.
                    break shared.0.with(|value| unsafe { *value });
                }
                thread::yield_now();
            };
            assert_eq!(value, 1);
            child.join().unwrap();
        });
    }
}

/// The loop is not the last thing that its thread does, but its memory is gone when the next operation comes.
#[test]
fn what_was_polled_may_be_freed_after_the_loop() {
    let program = || {
        let number = Box::new(AtomicU32::new(0));
        for _ in 0..3 {
            number.load(SeqCst);
            thread::yield_now();
        }
    };
    assert!(Checker::new().check(program).complete);
    for memory in MODELS {
        assert!(Checker::new().memory(memory).check(program).exhausted);
    }
}

#[test]
fn a_failure_after_a_loop_that_gives_up_can_be_replayed() {
    let program = || {
        let (one, two) = (number(), number());
        let theirs = (one.clone(), two.clone());
        let child = thread::spawn(move || {
            theirs.0.store(1, Relaxed);
            theirs.1.load(Relaxed)
        });
        two.store(1, Relaxed);
        let mut rounds = 0;
        while one.load(Relaxed) == 0 && rounds < 5 {
            rounds += 1;
            thread::yield_now();
        }
        assert!(rounds < 5 || child.join().unwrap() == 1);
    };
    for checker in [Checker::new(), Checker::new().memory(Memory::Rc11)] {
        let failed = checker.run(program).expect_err("the two stores are missed");
        assert_eq!(failed.failure.kind, FailureKind::Panic);
        let again = Checker::new().replay(&failed.schedule).run(program);
        let again = again.expect_err("the same execution");
        assert_eq!(again.failure.kind, FailureKind::Panic);
    }
}

/// To find out about a loop, an execution is made again in which the polling thread alone goes on; what comes then is ignored, but must not be impossible: the null
/// pointer was overwritten by the thread that loads it.
#[test]
fn no_thread_misses_what_it_has_written_itself() {
    for memory in MODELS {
        Checker::new().memory(memory).check(|| {
            let shared = Arc::new((
                AtomicPtr::<u32>::new(null_mut()),
                AtomicU32::new(0),
                AtomicU32::new(0),
            ));
            let (one, two, three) = (shared.clone(), shared.clone(), shared.clone());
            let children = [
                thread::spawn(move || {
                    one.0.load(Acquire);
                    while one.1.load(SeqCst) != 2 {
                        thread::yield_now();
                    }
                }),
                thread::spawn(move || two.1.store(2, Relaxed)),
                thread::spawn(move || {
                    three.1.store(2, SeqCst);
                    three.2.store(2, SeqCst);
                }),
            ];
            let number = Box::into_raw(Box::new(7));
            shared.0.store(number, Relaxed);
            for child in children {
                child.join().unwrap();
            }
            let found = shared.0.load(Relaxed);
            // The whole process would fail, not only the check.
            if found.is_null() {
                eprintln!("a store was lost");
                std::process::abort();
            }
            // SAFETY: it comes from a box, and nobody else has it.
            drop(unsafe { Box::from_raw(number) });
        });
    }
}
