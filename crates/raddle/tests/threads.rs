//! Scopes, names, thread-locals, futures, choices, and real threads.

mod common;

use common::{all, all_with};
use raddle::sync::atomic::{AtomicU32, Ordering::SeqCst};
use raddle::sync::{Condvar, Mutex, mpsc};
use raddle::{Backend, Options, thread};
use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Poll, Waker};

#[test]
fn scoped_threads_borrow() {
    let all = all(|| {
        let value = AtomicU32::new(0);
        let mut list = vec![1];
        let returned = thread::scope(|scope| {
            let one = scope.spawn(|| value.fetch_add(1, SeqCst));
            scope.spawn(|| list.push(2));
            one.join().unwrap()
        });
        (returned, value.load(SeqCst), list)
    });
    assert_eq!(all.outcomes, [(0, 1, vec![1, 2])].into());
    assert!(all.failures.is_empty(), "{:?}", all.messages);
}

#[test]
fn a_scope_ends_with_the_panics_of_its_threads() {
    let all = all(|| {
        let result = std::panic::catch_unwind(|| {
            thread::scope(|scope| {
                scope.spawn(|| panic!("on purpose"));
            });
        });
        *result.unwrap_err().downcast::<&str>().unwrap()
    });
    assert_eq!(all.outcomes, ["a scoped thread panicked"].into());
    assert!(all.failures.is_empty(), "{:?}", all.messages);
}

#[test]
fn a_deadlock_in_a_scope_is_told() {
    let all = all(|| {
        let (a, b) = (Mutex::new(()), Mutex::new(()));
        thread::scope(|scope| {
            scope.spawn(|| {
                let _a = a.lock().unwrap();
                let _b = b.lock().unwrap();
            });
            let _b = b.lock().unwrap();
            let _a = a.lock().unwrap();
        });
    });
    assert!(all.failures["Deadlock"] > 0);
}

#[test]
fn threads_have_names() {
    let all = all(|| {
        let child = thread::Builder::new().name("worker".into());
        let child = child.spawn(|| thread::current().name().map(str::to_owned));
        let child = child.unwrap();
        assert_eq!(child.thread().name(), Some("worker"));
        assert_ne!(child.thread().id(), thread::current().id());
        (
            child.join().unwrap(),
            thread::current().name().map(str::to_owned),
        )
    });
    assert_eq!(
        all.outcomes,
        [(Some("worker".to_owned()), Some("main".to_owned()))].into()
    );
}

raddle::thread_local! {
    static COUNT: Cell<u32> = const { Cell::new(7) };
    static LIST: RefCell<Vec<u32>> = RefCell::new(vec![]);
    static SAYS: Option<Says> = Some(Says);
}

static SAID: AtomicU32 = AtomicU32::new(0);

struct Says;

impl Drop for Says {
    fn drop(&mut self) {
        SAID.fetch_add(1, SeqCst);
    }
}

#[test]
fn each_thread_has_its_own() {
    let all = all(|| {
        COUNT.set(1);
        LIST.with_borrow_mut(|list| list.push(1));
        let child = thread::spawn(|| {
            SAYS.with(|_| ());
            LIST.with_borrow_mut(|list| list.push(2));
            (COUNT.get(), LIST.take())
        });
        let theirs = child.join().unwrap();
        (COUNT.get(), LIST.take(), theirs, SAID.load(SeqCst))
    });
    assert_eq!(all.outcomes, [(1, vec![1], (7, vec![2]), 1)].into());
    assert!(all.failures.is_empty(), "{:?}", all.messages);
}

raddle::lazy_static! {
    static ref LAZY: Mutex<u32> = Mutex::new(1);
}

#[test]
fn lazy_statics_are_new_in_each_execution() {
    let all = all(|| {
        let child = thread::spawn(|| *LAZY.lock().unwrap() += 1);
        let seen = *LAZY.lock().unwrap();
        child.join().unwrap();
        seen
    });
    assert_eq!(all.outcomes, [1, 2].into());
}

#[test]
fn futures_are_woken() {
    let all = all(|| {
        let shared = Arc::new(Mutex::new((None::<Waker>, false)));
        let shared2 = shared.clone();
        let child = thread::spawn(move || {
            let waker = {
                let mut guard = shared2.lock().unwrap();
                guard.1 = true;
                guard.0.take()
            };
            if let Some(waker) = waker {
                waker.wake();
            }
        });
        let mut polls = 0;
        raddle::future::block_on(poll_fn(|context| {
            polls += 1;
            let mut guard = shared.lock().unwrap();
            if guard.1 {
                return Poll::Ready(());
            }
            guard.0 = Some(context.waker().clone());
            Poll::Pending
        }));
        child.join().unwrap();
        polls
    });
    assert_eq!(all.outcomes, [1, 2].into());
    assert!(all.failures.is_empty(), "{:?}", all.messages);
}

#[test]
fn all_choices_are_made() {
    let all = all(|| (raddle::choose(2..4), raddle::any_bool()));
    assert_eq!(
        all.outcomes,
        [(2, false), (2, true), (3, false), (3, true)].into()
    );
    assert_eq!(all.executions, 4);
}

/// A bit of everything.
fn mixed() -> (u32, Vec<u32>) {
    let shared = Arc::new((Mutex::new(0), Condvar::new()));
    let (sender, receiver) = mpsc::channel();
    let shared2 = shared.clone();
    let child = thread::spawn(move || {
        *shared2.0.lock().unwrap() += 1;
        shared2.1.notify_one();
        sender.send(1).unwrap();
    });
    let guard = shared.0.lock().unwrap();
    let seen = *shared.1.wait_while(guard, |value| *value == 0).unwrap();
    let messages = receiver.iter().collect();
    child.join().unwrap();
    (seen, messages)
}

#[test]
fn real_threads_do_the_same() {
    let coroutines = all(mixed);
    let mut options = Options::default();
    options.backend = Backend::Threads;
    let threads = all_with(&options, mixed);
    assert_eq!(coroutines.outcomes, threads.outcomes);
    assert_eq!(coroutines.executions, threads.executions);
    assert_eq!(coroutines.failures, threads.failures);
    assert!(threads.failures.is_empty(), "{:?}", threads.messages);
}

#[test]
fn real_threads_fail_in_the_same_way() {
    let body = || {
        let value = Arc::new(Mutex::new(0));
        let value2 = value.clone();
        thread::spawn(move || *value2.lock().unwrap() = 1);
        assert_eq!(*value.lock().unwrap(), 0, "on purpose");
    };
    let mut options = Options::default();
    options.backend = Backend::Threads;
    let (one, two) = (all(body), all_with(&options, body));
    assert_eq!(one.failures, two.failures);
    assert_eq!(one.executions, two.executions);
}

#[test]
fn a_thread_may_have_a_larger_stack() {
    fn deep(left: u32) -> u32 {
        let frame = std::hint::black_box([left; 1024]);
        if left == 0 {
            return 0;
        }
        deep(left - 1) + u32::from(frame[1] == left)
    }
    for backend in [Backend::Coroutines, Backend::Threads] {
        raddle::Checker::new().backend(backend).check(|| {
            let children: Vec<_> = (0..2)
                .map(|_| {
                    let large = thread::Builder::new().stack_size(4 << 20);
                    large.spawn(|| deep(200)).unwrap()
                })
                .collect();
            for child in children {
                assert_eq!(child.join().unwrap(), 200);
            }
        });
    }
}

/// In `std` it ends the process.
#[test]
fn a_thread_local_that_panics_in_its_destructor_is_a_failure() {
    struct Bad;
    impl Drop for Bad {
        fn drop(&mut self) {
            panic!("not this way");
        }
    }
    raddle::thread_local! {
        static BAD: Bad = Bad;
    }
    for explorer in ["optimal", "iterative"] {
        let failed = raddle::Checker::new()
            .explorer(explorer)
            .run(|| {
                let child = thread::spawn(|| BAD.with(|_| ()));
                drop(child.join());
            })
            .unwrap_err();
        assert_eq!(
            failed.failure.kind,
            raddle::FailureKind::Panic,
            "{explorer}"
        );
        assert!(failed.text.contains("not this way"), "{}", failed.text);
    }
}

static DROPPED: AtomicU32 = AtomicU32::new(0);

struct CountsDrops;

impl Drop for CountsDrops {
    fn drop(&mut self) {
        DROPPED.fetch_add(1, SeqCst);
    }
}

raddle::thread_local! {
    static DROPS: CountsDrops = CountsDrops;
    static PLAIN: Cell<u32> = const { Cell::new(0) };
}

/// As in `std`: a thread is finished when it has returned, and only who joins it waits for the destructors.
#[test]
fn destructors_of_thread_locals_come_after_the_result() {
    let scope = all(|| {
        thread::scope(|scope| {
            scope.spawn(|| DROPS.with(|_| ()));
        });
        DROPPED.load(SeqCst)
    });
    assert_eq!(scope.outcomes, [0, 1].into());
    let joined = all(|| {
        thread::scope(|scope| {
            scope.spawn(|| DROPS.with(|_| ())).join().unwrap();
        });
        DROPPED.load(SeqCst)
    });
    assert_eq!(joined.outcomes, [1].into());
    let finished = all(|| {
        let child = thread::spawn(|| DROPS.with(|_| ()));
        let seen = (child.is_finished(), DROPPED.load(SeqCst));
        child.join().unwrap();
        assert_eq!(DROPPED.load(SeqCst), 1);
        seen
    });
    let every = [(false, 0), (false, 1), (true, 0), (true, 1)];
    assert_eq!(finished.outcomes, every.into());
    assert!(finished.failures.is_empty(), "{:?}", finished.messages);
}

/// A scope knows that a thread has panicked before its thread-locals are dropped.
#[test]
fn a_scope_knows_of_panics_before_destructors_run() {
    let all = all(|| {
        let result = std::panic::catch_unwind(|| {
            thread::scope(|scope| {
                scope.spawn(|| {
                    DROPS.with(|_| ());
                    panic!("on purpose");
                });
            });
        });
        (result.is_err(), DROPPED.load(SeqCst))
    });
    assert_eq!(all.outcomes, [(true, 0), (true, 1)].into());
}

/// Where nothing is dropped there is nothing to tell apart.
#[test]
fn plain_thread_locals_cost_nothing() {
    let classes = |local: bool| {
        let all = all(move || {
            let child = thread::spawn(move || {
                if local {
                    PLAIN.with(|plain| plain.set(1));
                }
            });
            let finished = child.is_finished();
            child.join().unwrap();
            finished
        });
        all.classes
    };
    assert_eq!(classes(true), classes(false));
}
