//! The work-stealing queue of the paper on context-bounded search, section 4.
//!
//! Executions of `cb-dfs` and classes at each bound are exact: a scheduling point more or less, or a
//! dependency more or less, would change them.

use std::sync::Arc;
use std::sync::Mutex as Plain;

use raddle::sync::Mutex;
use raddle::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use raddle::{Checker, thread};

/// A location whose every access counts as a write, as an interlocked operation of CHESS does.
struct Interlocked(AtomicUsize);

impl Interlocked {
    fn get(&self) -> usize {
        self.0.fetch_add(0, SeqCst)
    }

    fn set(&self, value: usize) {
        self.0.swap(value, SeqCst);
    }
}

/// What is not synchronised: no scheduling points.
struct Elements {
    items: Vec<usize>,
    mask: usize,
}

struct Queue {
    head: Interlocked,
    tail: Interlocked,
    elements: Plain<Elements>,
    lock: Mutex<()>,
    /// One more item fits than there is room for.
    buggy: bool,
}

impl Queue {
    fn new(buggy: bool) -> Self {
        let queue = Self {
            head: Interlocked(AtomicUsize::new(0)),
            tail: Interlocked(AtomicUsize::new(0)),
            elements: Plain::new(Elements {
                items: vec![0; 2],
                mask: 1,
            }),
            lock: Mutex::new(()),
            buggy,
        };
        queue.head.set(0);
        queue.tail.set(0);
        queue
    }

    fn mask(&self) -> usize {
        self.elements.lock().unwrap().mask
    }

    fn put(&self, index: usize, item: usize) {
        let mut elements = self.elements.lock().unwrap();
        let index = index & elements.mask;
        elements.items[index] = item;
    }

    fn item(&self, index: usize) -> usize {
        let elements = self.elements.lock().unwrap();
        elements.items[index & elements.mask]
    }

    fn push(&self, item: usize) {
        let tail = self.tail.get();
        let head = self.head.get();
        if tail < head + self.mask() + usize::from(self.buggy) {
            self.put(tail, item);
            self.tail.set(tail + 1);
        } else {
            self.sync_push(item);
        }
    }

    fn pop(&self) -> Option<usize> {
        let tail = self.tail.get().wrapping_sub(1);
        self.tail.set(tail);
        if (self.head.get() as isize) <= tail as isize {
            return Some(self.item(tail));
        }
        self.tail.set(tail.wrapping_add(1));
        self.sync_pop()
    }

    fn steal(&self) -> Option<usize> {
        let _lock = self.lock.lock().unwrap();
        let head = self.head.get();
        self.head.set(head + 1);
        if (head as isize) < self.tail.get() as isize {
            Some(self.item(head))
        } else {
            self.head.set(head);
            None
        }
    }

    fn sync_pop(&self) -> Option<usize> {
        let _lock = self.lock.lock().unwrap();
        let tail = self.tail.get().wrapping_sub(1);
        self.tail.set(tail);
        let mut taken = None;
        if (self.head.get() as isize) <= tail as isize {
            taken = Some(self.item(tail));
        } else {
            self.tail.set(tail.wrapping_add(1));
        }
        if taken.is_none() && (self.head.get() as isize) > tail as isize {
            self.head.set(0);
            self.tail.set(0);
        }
        taken
    }

    fn sync_push(&self, item: usize) {
        let _lock = self.lock.lock().unwrap();
        let head = self.head.get();
        let count = self.tail.get() - head;
        let head = head & self.mask();
        self.head.set(head);
        self.tail.set(head + count);
        if count >= self.mask() {
            let mut elements = self.elements.lock().unwrap();
            let size = (elements.mask + 1) * 2;
            let mut items = vec![0; size];
            for (index, item) in items.iter_mut().enumerate().take(count) {
                *item = elements.items[(head + index) & elements.mask];
            }
            elements.items = items;
            elements.mask = size - 1;
            drop(elements);
            self.head.set(0);
            self.tail.set(count);
        }
        let tail = self.tail.get();
        self.put(tail, item);
        self.tail.set(tail + 1);
    }
}

/// The owner pushes twice and pops once, half as often as there are items, and then pops the rest; thieves steal.
fn driver(thieves: usize, items: usize, attempts: usize, buggy: bool) -> impl Fn() -> bool {
    move || {
        let queue = Queue::new(buggy);
        let taken = Plain::new(vec![0; items]);
        let take = |item: Option<usize>, taken: &Plain<Vec<usize>>| {
            if let Some(item) = item {
                taken.lock().unwrap()[item] += 1;
            }
        };
        // The end of the scope waits for all thieves in one step.
        thread::scope(|scope| {
            for _ in 0..thieves {
                scope.spawn(|| {
                    for _ in 0..attempts {
                        take(queue.steal(), &taken);
                    }
                });
            }
            for round in 0..items / 2 {
                queue.push(2 * round);
                queue.push(2 * round + 1);
                take(queue.pop(), &taken);
            }
            for _ in 0..items / 2 {
                take(queue.pop(), &taken);
            }
        });
        taken.lock().unwrap().iter().all(|&times| times == 1)
    }
}

/// How many executions an explorer runs, and how many of them fail.
fn count(
    explorer: &str,
    bound: u32,
    program: impl Fn() -> bool + Send + Sync + 'static,
) -> (u64, u64) {
    let failing = Arc::new(Plain::new(0));
    let failed = failing.clone();
    let report = Checker::new()
        .explorer(explorer)
        .bound(bound)
        .check(move || {
            if !program() {
                *failed.lock().unwrap() += 1;
            }
        });
    let failing = *failing.lock().unwrap();
    (report.executions, failing)
}

#[test]
fn one_thief() {
    for (bound, executions, classes) in [(0, 1, 1), (1, 34, 25), (2, 469, 150), (3, 5171, 886)] {
        assert_eq!(
            count("cb-dfs", bound, driver(1, 4, 2, false)),
            (executions, 0),
            "{bound}"
        );
        assert_eq!(
            count("algorithm2", bound, driver(1, 4, 2, false)),
            (classes, 0),
            "{bound}"
        );
    }
}

#[test]
fn the_bug() {
    for (bound, executions, classes, failing) in [(0, 1, 1, 0), (1, 34, 25, 0), (2, 389, 151, 23)] {
        assert_eq!(
            count("cb-dfs", bound, driver(1, 4, 2, true)),
            (executions, failing),
            "{bound}"
        );
        assert_eq!(
            count("algorithm2", bound, driver(1, 4, 2, true)).0,
            classes,
            "{bound}"
        );
    }
}

#[test]
fn two_thieves() {
    for (bound, executions, classes) in [(0, 2, 2), (1, 185, 98), (2, 6280, 916)] {
        assert_eq!(
            count("cb-dfs", bound, driver(2, 4, 1, false)),
            (executions, 0),
            "{bound}"
        );
        assert_eq!(
            count("algorithm2", bound, driver(2, 4, 1, false)),
            (classes, 0),
            "{bound}"
        );
    }
}
