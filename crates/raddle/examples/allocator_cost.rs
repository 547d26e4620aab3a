//! What it costs to look after memory: the same checks with and without, side by side. The numbers in `docs/memory-errors.md` come from
//! `cargo run --release -p raddle --example allocator_cost`.

use std::ptr::null_mut;
use std::time::{Duration, Instant};

use raddle::sync::atomic::{AtomicPtr, AtomicUsize, Ordering::*};
use raddle::sync::{Arc, Mutex, mpsc};
use raddle::{Checker, Memory, thread};

/// Each is measured this often; the least counts.
const ROUNDS: usize = 7;

fn counters() {
    let count = Arc::new(AtomicUsize::new(0));
    let threads: Vec<_> = (0..3)
        .map(|_| {
            let count = count.clone();
            thread::spawn(move || (count.fetch_add(1, SeqCst), count.load(SeqCst)))
        })
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
}

fn locks() {
    let table = Arc::new(Mutex::new(Vec::new()));
    let threads: Vec<_> = (0..4)
        .map(|number: u32| {
            let table = table.clone();
            thread::spawn(move || {
                let mut table = table.lock().unwrap();
                table.push(number.to_string());
            })
        })
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
    table.lock().unwrap().sort();
}

fn messages() {
    let (sender, receiver) = mpsc::channel();
    let threads: Vec<_> = (0..3)
        .map(|number| {
            let sender = sender.clone();
            thread::spawn(move || {
                sender.send(Box::new(number)).unwrap();
                sender.send(Box::new(number)).unwrap();
            })
        })
        .collect();
    drop(sender);
    assert_eq!(receiver.iter().map(|number| *number).sum::<i32>(), 6);
    for thread in threads {
        thread.join().unwrap();
    }
}

struct Node {
    next: AtomicPtr<Node>,
}

/// A stack from which one takes all nodes at once.
fn nodes() {
    let head = Arc::new(AtomicPtr::<Node>::new(null_mut()));
    let threads: Vec<_> = (0..2)
        .map(|_| {
            let head = head.clone();
            thread::spawn(move || {
                for _ in 0..2 {
                    let node = Box::into_raw(Box::new(Node {
                        next: AtomicPtr::new(null_mut()),
                    }));
                    let mut next = head.load(Acquire);
                    loop {
                        // SAFETY: nobody else knows the node yet.
                        unsafe { (*node).next.store(next, Relaxed) };
                        match head.compare_exchange(next, node, Release, Acquire) {
                            Ok(_) => break,
                            Err(now) => next = now,
                        }
                    }
                }
            })
        })
        .collect();
    for _ in 0..2 {
        let mut node = head.swap(null_mut(), Acquire);
        while !node.is_null() {
            // SAFETY: they belong to who took them.
            let owned = unsafe { Box::from_raw(node) };
            node = owned.next.load(Relaxed);
        }
    }
    for thread in threads {
        thread.join().unwrap();
    }
    let mut node = head.load(Relaxed);
    while !node.is_null() {
        // SAFETY: nobody else is left.
        let owned = unsafe { Box::from_raw(node) };
        node = owned.next.load(Relaxed);
    }
}

/// Much memory for few operations.
fn texts() {
    let count = Arc::new(AtomicUsize::new(0));
    let work = |count: &AtomicUsize| {
        for _ in 0..2 {
            let texts: Vec<Box<[usize; 4]>> =
                (0..100).map(|number| Box::new([number; 4])).collect();
            count.fetch_add(std::hint::black_box(texts)[7][0], SeqCst);
        }
    };
    let theirs = count.clone();
    let other = thread::spawn(move || work(&theirs));
    work(&count);
    other.join().unwrap();
}

fn measure(checker: &Checker, on: bool, body: fn()) -> (Duration, u64) {
    let begin = Instant::now();
    let report = checker.clone().use_after_free(on).run(body);
    let executions = report
        .unwrap_or_else(|failed| panic!("{}", failed.text))
        .executions;
    (begin.elapsed(), executions)
}

fn main() {
    let programs: [(&str, fn()); 5] = [
        ("counters", counters),
        ("a list behind a lock", locks),
        ("messages", messages),
        ("a stack of nodes", nodes),
        ("many allocations", texts),
    ];
    println!("| program | memory model | executions | without | with | |");
    println!("|---|---|--:|--:|--:|--:|");
    for (name, body) in programs {
        for memory in [Memory::Sc, Memory::Rc11] {
            let checker = Checker::new().memory(memory);
            let mut least = [Duration::MAX; 2];
            let mut executions = [0; 2];
            for _ in 0..ROUNDS {
                for on in [false, true] {
                    let (time, count) = measure(&checker, on, body);
                    let index = usize::from(on);
                    least[index] = least[index].min(time);
                    executions[index] = count;
                }
            }
            assert_eq!(executions[0], executions[1], "{name}");
            let micros = |time: Duration| time.as_secs_f64() * 1e6 / executions[0] as f64;
            let [without, with] = least.map(micros);
            println!(
                "| {name} | {} | {} | {without:.1} µs | {with:.1} µs | {:+.0} % |",
                memory.name(),
                executions[0],
                (with / without - 1.0) * 100.0
            );
        }
    }
}
