//! Programs that go wrong in every way there is.

use std::cell::RefCell;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use raddle::cell::UnsafeCell;
use raddle::sync::atomic::{AtomicU32, Ordering::*};
use raddle::sync::{Arc, Barrier, Condvar, LazyLock, Mutex, OnceLock, mpsc};
use raddle::{Checker, FailureKind, thread};

const EXPLORERS: [&str; 8] = [
    "optimal",
    "iterative",
    "bounded",
    "algorithm1",
    "dfs",
    "cb-dfs",
    "random",
    "pct",
];

/// All explorers find nothing wrong.
fn fine(body: impl Fn() + Send + Sync + Clone + 'static) {
    for explorer in EXPLORERS {
        let checker = Checker::new().explorer(explorer).max_executions(300);
        if let Err(failed) = checker.run(body.clone()) {
            panic!("{explorer}: {}", failed.text);
        }
    }
}

/// All explorers find this, and the schedule that they give leads there again.
fn wrong(kind: FailureKind, says: &str, body: impl Fn() + Send + Sync + Clone + 'static) {
    for explorer in EXPLORERS {
        let checker = Checker::new()
            .explorer(explorer)
            .max_executions(20_000)
            .spin_limit(50)
            .max_steps(60_000);
        let failed = checker.run(body.clone()).expect_err(explorer);
        assert_eq!(failed.failure.kind, kind, "{explorer}: {}", failed.text);
        assert!(failed.text.contains(says), "{explorer}: {}", failed.text);
        let checker = Checker::new().spin_limit(50).max_steps(60_000);
        let again = checker
            .replay(&failed.schedule)
            .run(body.clone())
            .expect_err("the same again");
        assert_eq!(
            again.failure.kind, kind,
            "replayed after {explorer}: {}",
            again.text
        );
        assert_eq!(
            again.failure.message, failed.failure.message,
            "replayed after {explorer}"
        );
    }
}

#[test]
fn statics_are_new_in_each_execution() {
    static LIST: Mutex<Vec<u32>> = Mutex::new(Vec::new());
    static NUMBER: AtomicU32 = AtomicU32::new(5);
    static ONCE: OnceLock<u32> = OnceLock::new();
    static LAZY: LazyLock<Mutex<Vec<u32>>> = LazyLock::new(|| Mutex::new(vec![1]));
    raddle::thread_local! {
        static LOCAL: RefCell<Vec<u32>> = RefCell::new(vec![7]);
    }
    fine(|| {
        assert!(LIST.lock().unwrap().is_empty());
        assert_eq!(NUMBER.load(SeqCst), 5);
        assert!(ONCE.get().is_none());
        assert_eq!(*LAZY.lock().unwrap(), [1]);
        assert_eq!(LOCAL.with_borrow(Vec::len), 1);
        let child = thread::spawn(|| {
            LIST.lock().unwrap().push(1);
            NUMBER.fetch_add(1, SeqCst);
            ONCE.set(1).is_ok()
        });
        LIST.lock().unwrap().push(2);
        NUMBER.fetch_add(1, SeqCst);
        let mine = ONCE.set(2).is_ok();
        LAZY.lock().unwrap().push(2);
        LOCAL.with_borrow_mut(|local| local.push(8));
        assert_ne!(child.join().unwrap(), mine);
        assert_eq!(NUMBER.load(SeqCst), 7);
        assert_eq!(LIST.lock().unwrap().len(), 2);
    });
}

struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        if !thread::panicking() {
            panic!("bomb");
        }
    }
}

#[test]
fn panics_everywhere() {
    wrong(FailureKind::Panic, "in a critical section", || {
        let mutex = Mutex::new(0);
        let _guard = mutex.lock();
        panic!("in a critical section");
    });
    wrong(FailureKind::Panic, "bomb", || drop(Bomb));
    wrong(FailureKind::Panic, "while another thread waits", || {
        let mutex = Arc::new(Mutex::new(()));
        let guard = mutex.lock();
        let other = mutex.clone();
        thread::spawn(move || drop(other.lock()));
        let _guard = guard;
        panic!("while another thread waits");
    });
    wrong(FailureKind::Panic, "a scoped thread panicked", || {
        thread::scope(|scope| {
            scope.spawn(|| panic!("inside"));
        });
    });
    wrong(FailureKind::Panic, "lazily", || {
        static LAZY: LazyLock<u32> = LazyLock::new(|| panic!("lazily"));
        let _ = *LAZY;
    });
    wrong(FailureKind::Panic, "in a future", || {
        raddle::future::block_on(async { panic!("in a future") });
    });
    wrong(FailureKind::Panic, "nobody joins", || {
        thread::spawn(|| panic!("nobody joins"));
    });
    wrong(FailureKind::Panic, "only sometimes", || {
        let flag = Arc::new(AtomicU32::new(0));
        let other = flag.clone();
        let child = thread::spawn(move || {
            other.store(1, SeqCst);
            other.store(0, SeqCst);
        });
        assert_eq!(flag.load(SeqCst), 0, "only sometimes");
        child.join().unwrap();
    });
    fine(|| {
        let child = thread::spawn(|| panic!("joined"));
        assert!(child.join().is_err());
        let two = std::panic::catch_unwind(|| panic!("caught"));
        assert!(two.is_err() && !thread::panicking());
    });
    // Two threads unwind at the same time.
    fine(|| {
        let mutex = Arc::new(Mutex::new(0));
        let children: Vec<_> = (0..2)
            .map(|_| {
                let mutex = mutex.clone();
                thread::spawn(move || {
                    let _guard = mutex.lock();
                    panic!("both");
                })
            })
            .collect();
        for child in children {
            assert!(child.join().is_err());
        }
        assert!(mutex.is_poisoned());
    });
}

#[test]
fn after_a_panic_that_never_ends_checks_work() {
    // A thread waits for ever in a destructor, while it unwinds.
    struct Waits(Arc<Barrier>);
    impl Drop for Waits {
        fn drop(&mut self) {
            self.0.wait();
        }
    }
    wrong(FailureKind::Deadlock, "deadlock", || {
        let barrier = Arc::new(Barrier::new(2));
        let child = thread::spawn(move || {
            let _waits = Waits(barrier);
            panic!("and wait");
        });
        let _ = child.join();
    });
    fine(|| {
        let mutex = Arc::new(Mutex::new(0));
        let other = mutex.clone();
        let child = thread::spawn(move || {
            let _guard = other.lock();
            panic!("with the lock");
        });
        assert!(child.join().is_err());
        assert!(mutex.is_poisoned());
        assert!(!thread::panicking());
    });
}

#[test]
fn deadlocks() {
    wrong(FailureKind::SelfDeadlock, "holds itself", || {
        let mutex = Mutex::new(0);
        let _one = mutex.lock();
        let _two = mutex.lock();
    });
    wrong(FailureKind::Deadlock, "2 threads", || {
        let (a, b) = (Arc::new(Mutex::new(0)), Arc::new(Mutex::new(0)));
        let (a2, b2) = (a.clone(), b.clone());
        let child = thread::spawn(move || {
            let _b = b2.lock();
            let _a = a2.lock();
        });
        {
            let _a = a.lock();
            let _b = b.lock();
        }
        child.join().unwrap();
    });
    wrong(FailureKind::Deadlock, "deadlock", || {
        let (sender, receiver) = mpsc::channel::<u32>();
        let _ = receiver.recv();
        drop(sender);
    });
    wrong(FailureKind::Deadlock, "deadlock", || {
        let mutex = Mutex::new(0);
        let condition = Condvar::new();
        let _guard = condition.wait_while(mutex.lock().unwrap(), |_| true);
    });
    wrong(FailureKind::Deadlock, "deadlock", || {
        Barrier::new(2).wait();
    });
    wrong(FailureKind::Deadlock, "deadlock", thread::park);
    // Each joins the other.
    wrong(FailureKind::Deadlock, "deadlock", || {
        let (sender, receiver) = mpsc::channel::<thread::JoinHandle<()>>();
        let one = thread::spawn(move || {
            let other = receiver.recv().unwrap();
            other.join().unwrap();
        });
        let two = thread::spawn(move || one.join().unwrap());
        sender.send(two).unwrap();
        thread::park();
    });
}

#[test]
fn what_takes_too_long_is_no_deadlock() {
    let soon = Duration::from_millis(1);
    fine(move || thread::park_timeout(soon));
    fine(move || {
        let (_sender, receiver) = mpsc::channel::<u32>();
        assert_eq!(
            receiver.recv_timeout(soon),
            Err(mpsc::RecvTimeoutError::Timeout)
        );
    });
    fine(move || {
        let (mutex, condition) = (Mutex::new(0), Condvar::new());
        let _ = condition.wait_timeout(mutex.lock().unwrap(), soon);
    });
    fine(move || {
        let flag = Arc::new(AtomicU32::new(0));
        let other = flag.clone();
        let child = thread::spawn(move || {
            thread::park_timeout(soon);
            other.store(1, SeqCst);
        });
        while flag.load(SeqCst) == 0 {
            thread::yield_now();
        }
        child.join().unwrap();
    });
}

struct Shared(UnsafeCell<u32>);

// SAFETY: it is what the tests are about.
unsafe impl Sync for Shared {}

impl Shared {
    fn new() -> Arc<Self> {
        Arc::new(Self(UnsafeCell::new(0)))
    }

    fn write(&self, value: u32) {
        // SAFETY: the cell finds races before they happen.
        self.0.with_mut(|cell| unsafe { *cell = value });
    }

    fn read(&self) -> u32 {
        // SAFETY: the same.
        self.0.with(|cell| unsafe { *cell })
    }
}

#[test]
fn data_races() {
    wrong(FailureKind::DataRace, "data race", || {
        let cell = Shared::new();
        let other = cell.clone();
        let child = thread::spawn(move || other.write(1));
        cell.read();
        child.join().unwrap();
    });
    fn publish(store: raddle::sync::atomic::Ordering, load: raddle::sync::atomic::Ordering) {
        let (cell, flag) = (Shared::new(), Arc::new(AtomicU32::new(0)));
        let (cell2, flag2) = (cell.clone(), flag.clone());
        let child = thread::spawn(move || {
            cell2.write(1);
            flag2.store(1, store);
        });
        if flag.load(load) == 1 {
            assert_eq!(cell.read(), 1);
        }
        child.join().unwrap();
        assert_eq!(cell.read(), 1);
    }
    wrong(FailureKind::DataRace, "data race", || {
        publish(Relaxed, Relaxed);
    });
    wrong(FailureKind::DataRace, "data race", || {
        publish(Release, Relaxed);
    });
    wrong(FailureKind::DataRace, "data race", || {
        publish(Relaxed, Acquire);
    });
    fine(|| publish(Release, Acquire));
    fine(|| publish(SeqCst, SeqCst));
    fine(|| {
        let (cell, mutex) = (Shared::new(), Arc::new(Mutex::new(())));
        let (cell2, mutex2) = (cell.clone(), mutex.clone());
        let child = thread::spawn(move || {
            let _guard = mutex2.lock();
            cell2.write(1);
        });
        {
            let _guard = mutex.lock();
            cell.write(2);
        }
        child.join().unwrap();
        cell.read();
    });
    fine(|| {
        let cell = Shared::new();
        let other = cell.clone();
        let (sender, receiver) = mpsc::channel();
        let child = thread::spawn(move || {
            other.write(1);
            sender.send(()).unwrap();
        });
        receiver.recv().unwrap();
        assert_eq!(cell.read(), 1);
        child.join().unwrap();
    });
}

#[test]
fn what_is_not_controlled_is_found() {
    static RUNS: AtomicU64 = AtomicU64::new(0);
    for explorer in ["optimal", "iterative", "dfs"] {
        let failed = Checker::new()
            .explorer(explorer)
            .run(|| {
                let flag = Arc::new(AtomicU32::new(0));
                let other = flag.clone();
                let child = thread::spawn(move || other.store(1, SeqCst));
                if RUNS.fetch_add(1, Ordering::SeqCst).is_multiple_of(2) {
                    flag.load(SeqCst);
                } else {
                    flag.store(2, SeqCst);
                    flag.store(3, SeqCst);
                }
                child.join().unwrap();
            })
            .expect_err(explorer);
        assert_eq!(
            failed.failure.kind,
            FailureKind::Diverged,
            "{explorer}: {}",
            failed.text
        );
    }
}

#[test]
fn leaks() {
    wrong(FailureKind::Leak, "leak", || std::mem::forget(Arc::new(1)));
    wrong(FailureKind::Leak, "leak", || {
        struct Node(Mutex<Option<Arc<Node>>>);
        let node = Arc::new(Node(Mutex::new(None)));
        *node.0.lock().unwrap() = Some(node.clone());
    });
}

#[test]
fn many_threads_and_many_steps() {
    let report = Checker::new().explorer("optimal").check(|| {
        let count = Arc::new(AtomicU32::new(0));
        let children: Vec<_> = (0..40)
            .map(|_| {
                let count = count.clone();
                thread::spawn(move || count.load(SeqCst))
            })
            .collect();
        for child in children {
            child.join().unwrap();
        }
    });
    assert_eq!(report.executions, 1);
    let report = Checker::new().explorer("optimal").check(|| {
        let count = AtomicU32::new(0);
        for _ in 0..50_000 {
            count.fetch_add(1, SeqCst);
        }
    });
    assert_eq!(report.executions, 1);
}

#[test]
fn many_threads_and_many_steps_by_default() {
    Checker::new()
        .max_duration(Duration::from_secs(1))
        .check(|| {
            let children: Vec<_> = (0..40).map(|_| thread::spawn(|| ())).collect();
            for child in children {
                child.join().unwrap();
            }
        });
    let report = Checker::new().check(|| {
        let count = AtomicU32::new(0);
        for _ in 0..50_000 {
            count.fetch_add(1, SeqCst);
        }
    });
    assert_eq!(report.executions, 1);
}

#[test]
fn limits_end_a_check() {
    let body = || {
        let count = Arc::new(AtomicU32::new(0));
        let children: Vec<_> = (0..5)
            .map(|_| {
                let count = count.clone();
                thread::spawn(move || {
                    for _ in 0..5 {
                        count.fetch_add(1, SeqCst);
                    }
                })
            })
            .collect();
        for child in children {
            child.join().unwrap();
        }
    };
    for explorer in EXPLORERS {
        let report = Checker::new()
            .explorer(explorer)
            .max_executions(17)
            .check(body);
        assert!(
            report.executions <= 17 && !report.complete,
            "{explorer}: {report:?}"
        );
        let begun = Instant::now();
        let report = Checker::new()
            .explorer(explorer)
            .bound(30)
            .max_duration(Duration::from_millis(200))
            .check(body);
        assert!(!report.complete, "{explorer}");
        assert!(
            begun.elapsed() < Duration::from_secs(10),
            "{explorer}: {:?}",
            begun.elapsed()
        );
    }
}
