//! How many classes programs have that others have counted.

use raddle::Options;
use raddle::sync::atomic::{AtomicU32, AtomicU64, Ordering::SeqCst};
use raddle::sync::{Arc, Mutex, RwLock};
use raddle::thread;

use crate::explore::{How, results};

/// Under the explorer, there are this many classes, and each is run once.
fn classes(how: How, body: impl Fn() + Send + Sync + 'static) -> u64 {
    let mut options = Options::default();
    options.leaks = false;
    let found = results(how, &options, 10_000_000, body);
    assert_eq!(found.outcomes.into_iter().collect::<Vec<_>>(), [Ok(())]);
    assert_eq!(
        found.executions,
        found.classes.len() as u64,
        "{how:?}: classes"
    );
    found.executions
}

/// Both explorers find this many.
fn count(expected: u64, body: impl Fn() + Send + Sync + Clone + 'static) {
    count_optimal(expected, body.clone());
    assert_eq!(classes(How::Algorithm2(u32::MAX), body), expected);
}

/// For many threads: the other explorer looks at all parts of an execution, of which there are 2^threads and more.
fn count_optimal(expected: u64, body: impl Fn() + Send + Sync + 'static) {
    assert_eq!(classes(How::Optimal, body), expected);
}

fn run_all(threads: impl IntoIterator<Item = Box<dyn FnOnce() + Send>>) {
    let children: Vec<_> = threads.into_iter().map(thread::spawn).collect();
    for child in children {
        child.join().unwrap();
    }
}

/// Objects that have the same numbers in all executions.
fn atomics(count: usize) -> std::sync::Arc<Vec<AtomicU32>> {
    let made: Vec<AtomicU32> = (0..count).map(|_| AtomicU32::new(0)).collect();
    for one in &made {
        one.load(SeqCst);
    }
    made.into()
}

fn readers(n: usize) {
    let shared = atomics(1);
    run_all((0..=n).map(|reader| {
        let shared = shared.clone();
        let body: Box<dyn FnOnce() + Send> = Box::new(move || {
            if reader == 0 {
                shared[0].store(1, SeqCst);
            } else {
                shared[0].load(SeqCst);
            }
        });
        body
    }));
}

#[test]
fn one_writer_and_readers() {
    for n in [1, 2, 5] {
        count(1 << n, move || readers(n));
    }
    for n in [8, 10] {
        count_optimal(1 << n, move || readers(n));
    }
}

fn last_zero(n: usize) {
    let array = atomics(n + 1);
    run_all((0..=n).map(|j| {
        let array = array.clone();
        let body: Box<dyn FnOnce() + Send> = Box::new(move || {
            if j == 0 {
                let mut i = n;
                while array[i].load(SeqCst) != 0 {
                    i -= 1;
                }
            } else {
                let before = array[j - 1].load(SeqCst);
                array[j].store(before + 1, SeqCst);
            }
        });
        body
    }));
}

#[test]
fn last_zero_small() {
    for (n, expected) in [(2, 5), (3, 12), (5, 64), (7, 320)] {
        assert_eq!(expected, (n as u64 + 3) << (n - 2));
        count_optimal(expected, move || last_zero(n));
        if n <= 3 {
            count(expected, move || last_zero(n));
        }
    }
}

#[test]
fn last_zero_large() {
    count_optimal(3328, || last_zero(10));
    count_optimal(15 << 10, || last_zero(12));
}

fn indexer(threads: u32) {
    const SIZE: u32 = 128;
    let table = atomics(SIZE as usize);
    run_all((0..threads).map(|tid| {
        let table = table.clone();
        let body: Box<dyn FnOnce() + Send> = Box::new(move || {
            for m in 1..=4 {
                let w = m * 11 + tid;
                let mut h = (w * 7) % SIZE;
                while table[h as usize]
                    .compare_exchange(0, w, SeqCst, SeqCst)
                    .is_err()
                {
                    h = (h + 1) % SIZE;
                }
            }
        });
        body
    }));
}

#[test]
fn indexer_small() {
    count_optimal(1, || indexer(11));
    count_optimal(8, || indexer(12));
    count_optimal(64, || indexer(13));
}

#[test]
fn indexer_large() {
    count_optimal(512, || indexer(14));
    count_optimal(4096, || indexer(15));
}

fn file_system(threads: usize) {
    const BLOCKS: usize = 26;
    const INODES: usize = 32;
    let inodes: Vec<Mutex<usize>> = (0..INODES).map(|_| Mutex::new(0)).collect();
    let blocks: Vec<Mutex<bool>> = (0..BLOCKS).map(|_| Mutex::new(false)).collect();
    for inode in &inodes {
        drop(inode.lock());
    }
    for block in &blocks {
        drop(block.lock());
    }
    let shared = std::sync::Arc::new((inodes, blocks));
    run_all((0..threads).map(|tid| {
        let shared = shared.clone();
        let body: Box<dyn FnOnce() + Send> = Box::new(move || {
            let (inodes, blocks) = &*shared;
            let i = tid % INODES;
            let mut inode = inodes[i].lock().unwrap();
            if *inode == 0 {
                let mut b = (i * 2) % BLOCKS;
                loop {
                    let mut busy = blocks[b].lock().unwrap();
                    if !*busy {
                        *busy = true;
                        *inode = b + 1;
                        break;
                    }
                    drop(busy);
                    b = (b + 1) % BLOCKS;
                }
            }
        });
        body
    }));
}

#[test]
fn file_system_small() {
    count_optimal(1, || file_system(13));
    count_optimal(2, || file_system(14));
    count_optimal(8, || file_system(16));
    count_optimal(32, || file_system(18));
    count_optimal(64, || file_system(19));
}

/// The main thread reads both, at any time.
fn fib_bench(n: usize) {
    let shared: std::sync::Arc<[AtomicU64; 2]> = [AtomicU64::new(1), AtomicU64::new(1)].into();
    for one in shared.iter() {
        one.load(SeqCst);
    }
    let mut children = Vec::new();
    for (mine, other) in [(0, 1), (1, 0)] {
        let shared = shared.clone();
        children.push(thread::spawn(move || {
            for _ in 0..n {
                let sum = shared[mine].load(SeqCst) + shared[other].load(SeqCst);
                shared[mine].store(sum, SeqCst);
            }
        }));
    }
    shared[0].load(SeqCst);
    shared[1].load(SeqCst);
    for child in children {
        child.join().unwrap();
    }
}

#[test]
fn fib_bench_small() {
    let counts: Vec<u64> = (1..=3)
        .map(|n| classes(How::Optimal, move || fib_bench(n)))
        .collect();
    let again: Vec<u64> = (1..=3)
        .map(|n| classes(How::Algorithm2(u32::MAX), move || fib_bench(n)))
        .collect();
    assert_eq!(counts, again);
    println!("fib_bench: {counts:?}");
}

#[test]
fn fib_bench_5() {
    count_optimal(218_243, || fib_bench(5));
}

fn one_mutex(n: usize, k: usize) {
    let mutex = std::sync::Arc::new(Mutex::new(0));
    drop(mutex.lock());
    run_all((0..n).map(|_| {
        let mutex = mutex.clone();
        let body: Box<dyn FnOnce() + Send> = Box::new(move || {
            for _ in 0..k {
                *mutex.lock().unwrap() += 1;
            }
        });
        body
    }));
}

#[test]
fn threads_that_lock_a_mutex() {
    fn factorial(n: usize) -> u64 {
        (1..=n as u64).product()
    }
    for (n, k) in [(2, 1), (2, 2), (2, 3), (3, 1), (3, 2), (4, 1)] {
        let expected = factorial(n * k) / factorial(k).pow(u32::try_from(n).unwrap());
        count(expected, move || one_mutex(n, k));
    }
}

#[test]
fn private_then_common() {
    for (n, k, expected) in [(2, 3, 2), (3, 3, 6), (4, 2, 24)] {
        count(expected, move || {
            let shared = atomics(1 + n * k);
            run_all((0..n).map(|thread| {
                let shared = shared.clone();
                let body: Box<dyn FnOnce() + Send> = Box::new(move || {
                    for own in 0..k {
                        shared[1 + thread * k + own].store(1, SeqCst);
                    }
                    shared[0].store(1, SeqCst);
                });
                body
            }));
        });
    }
}

#[test]
fn philosophers_with_an_order() {
    for (n, expected) in [(2, 2), (3, 6), (4, 14)] {
        count(expected, move || {
            let forks: Vec<Mutex<()>> = (0..n).map(|_| Mutex::new(())).collect();
            for fork in &forks {
                drop(fork.lock());
            }
            let forks = std::sync::Arc::new(forks);
            run_all((0..n).map(|who| {
                let forks = forks.clone();
                let body: Box<dyn FnOnce() + Send> = Box::new(move || {
                    let (left, right) = (who, (who + 1) % n);
                    let _first = forks[left.min(right)].lock().unwrap();
                    let _second = forks[left.max(right)].lock().unwrap();
                });
                body
            }));
        });
    }
}

#[test]
fn readers_and_writers() {
    for (readers, writers, expected) in [(2, 1, 4), (1, 2, 6), (2, 2, 18)] {
        count(expected, move || {
            let lock = std::sync::Arc::new(RwLock::new(0));
            drop(lock.read());
            run_all((0..readers + writers).map(|who| {
                let lock = lock.clone();
                let body: Box<dyn FnOnce() + Send> = Box::new(move || {
                    if who < readers {
                        drop(lock.read());
                    } else {
                        *lock.write().unwrap() += 1;
                    }
                });
                body
            }));
        });
    }
}

#[test]
fn references_that_nobody_counts_are_free() {
    count(1, || {
        let arc = Arc::new(5);
        run_all((0..4).map(|_| {
            let arc = arc.clone();
            let body: Box<dyn FnOnce() + Send> = Box::new(move || drop(arc));
            body
        }));
    });
}
