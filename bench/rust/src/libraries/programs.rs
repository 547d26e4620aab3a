//! The programs, written once. This file is a module inside of one module per library (see
//! `mod.rs`), and takes `sync` and `thread` from there; nothing else differs.
//!
//! Everything is sequentially consistent. What only one thread at a time can get at is in plain memory, which none of
//! the libraries sees; so are the `Arc`s that threads share things by, which are those of `std`.

use std::sync::Arc;

use super::sync::atomic::Ordering::SeqCst;
use super::sync::atomic::{AtomicUsize, fence};
use super::sync::{Mutex, RwLock};
use super::thread;

/// What is run again and again.
pub(crate) type Body = Box<dyn Fn() + Send + Sync>;

/// The program of a name, of a size.
pub(crate) fn program(name: &str, size: &[usize]) -> Option<Body> {
    Some(match (name, size) {
        ("mutex", &[threads, rounds]) => Box::new(move || mutex(threads, rounds)),
        ("rwlock", &[readers, writers]) => Box::new(move || rwlock(readers, writers)),
        ("philosophers", &[seats, meals]) => Box::new(move || philosophers(seats, meals, true)),
        ("disjoint", &[threads, own]) => Box::new(move || disjoint(threads, own)),
        ("stack", &[threads, rounds]) => Box::new(move || stack(threads, rounds)),
        ("deque", &[items, thieves]) => Box::new(move || deque(items, thieves, true)),
        ("queue", &[producers, consumers]) => Box::new(move || queue(producers, consumers)),
        ("lost-update", &[threads]) => Box::new(move || lost_update(threads)),
        ("stack-aba", &[others]) => Box::new(move || stack_aba(others)),
        ("deque-no-cas", &[items, thieves]) => Box::new(move || deque(items, thieves, false)),
        ("deadlock", &[seats]) => Box::new(move || philosophers(seats, 1, false)),
        _ => return None,
    })
}

/// Runs threads, and returns what they return.
fn run<T: Send + 'static>(
    count: usize,
    body: impl Fn(usize) -> T + Send + Sync + 'static,
) -> Vec<T> {
    let body = Arc::new(body);
    let children: Vec<_> = (0..count)
        .map(|number| {
            let body = body.clone();
            thread::spawn(move || body(number))
        })
        .collect();
    children
        .into_iter()
        .map(|child| child.join().unwrap())
        .collect()
}

fn atomics(count: usize) -> Vec<AtomicUsize> {
    (0..count).map(|_| AtomicUsize::new(0)).collect()
}

/// Each thread increments a counter under a lock, some times.
fn mutex(threads: usize, rounds: usize) {
    let counter = Arc::new(Mutex::new(0));
    let theirs = counter.clone();
    run(threads, move |_| {
        for _ in 0..rounds {
            *theirs.lock().unwrap() += 1;
        }
    });
    assert_eq!(*counter.lock().unwrap(), threads * rounds);
}

/// Each reader reads once, each writer writes once.
fn rwlock(readers: usize, writers: usize) {
    let lock = RwLock::new(0);
    run(readers + writers, move |number| {
        if number < readers {
            assert!(*lock.read().unwrap() <= writers);
        } else {
            *lock.write().unwrap() += 1;
        }
    });
}

/// Philosophers around a table. Ordered: each takes the fork with the lower number first.
fn philosophers(seats: usize, meals: usize, ordered: bool) {
    let forks: Vec<_> = (0..seats).map(|_| Mutex::new(())).collect();
    run(seats, move |seat| {
        let (left, right) = (seat, (seat + 1) % seats);
        let (first, second) = if ordered && right < left {
            (right, left)
        } else {
            (left, right)
        };
        for _ in 0..meals {
            let one = forks[first].lock().unwrap();
            let other = forks[second].lock().unwrap();
            drop((one, other));
        }
    });
}

/// Each thread writes atomics of its own, and then one that all share.
fn disjoint(threads: usize, own: usize) {
    let private = atomics(threads * own);
    let common = AtomicUsize::new(0);
    run(threads, move |number| {
        for atomic in &private[number * own..][..own] {
            atomic.store(1, SeqCst);
        }
        common.store(number, SeqCst);
    });
}

/// Treiber's stack, of nodes that have numbers. The head is such a number and, above it, a count
/// of changes: without that, a thread may take a head for unchanged that was away and came back.
struct Stack {
    head: AtomicUsize,
    next: Vec<AtomicUsize>,
    counts: bool,
}

const NODE: usize = 0xff;
const CHANGE: usize = 0x100;

impl Stack {
    /// The stack of the nodes below `full`, the lowest on top, with room for more. Nodes are numbered from 1.
    fn new(full: usize, room: usize, counts: bool) -> Self {
        let below = |node| if node < full { node + 1 } else { 0 };
        Self {
            head: AtomicUsize::new(usize::from(full > 0)),
            next: (0..=room)
                .map(|node| AtomicUsize::new(below(node)))
                .collect(),
            counts,
        }
    }

    fn change(&self, head: usize, node: usize) -> bool {
        let count = if self.counts {
            (head & !NODE) + CHANGE
        } else {
            0
        };
        self.head
            .compare_exchange(head, count | node, SeqCst, SeqCst)
            .is_ok()
    }

    fn push(&self, node: usize) {
        loop {
            let head = self.head.load(SeqCst);
            self.next[node].store(head & NODE, SeqCst);
            if self.change(head, node) {
                return;
            }
        }
    }

    fn pop(&self) -> Option<usize> {
        loop {
            let head = self.head.load(SeqCst);
            let node = head & NODE;
            if node == 0 {
                return None;
            }
            let next = self.next[node].load(SeqCst);
            if self.change(head, next) {
                return Some(node);
            }
        }
    }
}

/// No node was taken twice.
fn assert_distinct(mut taken: Vec<usize>) {
    taken.sort_unstable();
    assert!(
        taken.windows(2).all(|pair| pair[0] != pair[1]),
        "taken twice"
    );
}

/// Each thread pushes a node of its own and pops any, some times.
fn stack(threads: usize, rounds: usize) {
    let stack = Stack::new(0, threads * rounds, true);
    let taken = run(threads, move |number| {
        let mine = (0..rounds).map(|round| number * rounds + round + 1);
        mine.map(|node| {
            stack.push(node);
            stack.pop().unwrap()
        })
        .collect::<Vec<_>>()
    });
    assert_distinct(taken.concat());
}

/// One thread pops; another pops two nodes and pushes the first one again; others pop one and push it again.
fn stack_aba(others: usize) {
    let stack = Arc::new(Stack::new(3 + others, 3 + others, false));
    let theirs = stack.clone();
    let taken = run(2 + others, move |number| match number {
        0 => theirs.pop(),
        1 => {
            let first = theirs.pop();
            let second = theirs.pop();
            if let Some(first) = first {
                theirs.push(first);
            }
            second
        }
        _ => {
            if let Some(node) = theirs.pop() {
                theirs.push(node);
            }
            None
        }
    });
    // If the stack is broken it may have no end.
    let left = (0..3 + others).map_while(|_| stack.pop());
    assert_distinct(taken.into_iter().flatten().chain(left).collect());
}

/// The deque of Chase and Lev, with a buffer that is never too small.
struct Deque {
    top: AtomicUsize,
    bottom: AtomicUsize,
    items: Vec<AtomicUsize>,
    /// Whether the owner takes the last item only if no thief was faster: it has to.
    competes: bool,
}

impl Deque {
    fn push(&self, item: usize) {
        let bottom = self.bottom.load(SeqCst);
        self.items[bottom].store(item, SeqCst);
        self.bottom.store(bottom + 1, SeqCst);
    }

    fn take(&self) -> Option<usize> {
        let bottom = self.bottom.load(SeqCst);
        if bottom == 0 {
            return None;
        }
        self.bottom.store(bottom - 1, SeqCst);
        // For Loom, to which no access is sequentially consistent, but fences are.
        fence(SeqCst);
        let top = self.top.load(SeqCst);
        if top + 1 < bottom {
            return Some(self.items[bottom - 1].load(SeqCst));
        }
        let mut item = None;
        if top + 1 == bottom && self.take_last(top) {
            item = Some(self.items[bottom - 1].load(SeqCst));
        }
        self.bottom.store(bottom, SeqCst);
        item
    }

    fn steal(&self) -> Option<usize> {
        let top = self.top.load(SeqCst);
        fence(SeqCst);
        let bottom = self.bottom.load(SeqCst);
        if top >= bottom {
            return None;
        }
        let item = self.items[top].load(SeqCst);
        self.advance(top).then_some(item)
    }

    fn take_last(&self, top: usize) -> bool {
        if self.competes {
            return self.advance(top);
        }
        self.top.store(top + 1, SeqCst);
        true
    }

    fn advance(&self, top: usize) -> bool {
        self.top
            .compare_exchange(top, top + 1, SeqCst, SeqCst)
            .is_ok()
    }
}

/// The owner pushes items and takes as many, each thief tries once to steal one.
fn deque(items: usize, thieves: usize, competes: bool) {
    let deque = Deque {
        top: AtomicUsize::new(0),
        bottom: AtomicUsize::new(0),
        items: atomics(items),
        competes,
    };
    let taken = run(1 + thieves, move |number| {
        if number > 0 {
            return deque.steal().into_iter().collect();
        }
        for item in 1..=items {
            deque.push(item);
        }
        (0..items).filter_map(|_| deque.take()).collect::<Vec<_>>()
    });
    assert_distinct(taken.concat());
}

/// Vyukov's bounded queue: a slot has a number that says whose turn it is.
struct Queue {
    head: AtomicUsize,
    tail: AtomicUsize,
    turns: Vec<AtomicUsize>,
    /// Nobody but whose turn it is looks at an item.
    items: Vec<std::sync::atomic::AtomicUsize>,
}

impl Queue {
    fn new(room: usize) -> Self {
        Self {
            head: AtomicUsize::new(0),
            tail: AtomicUsize::new(0),
            turns: (0..room).map(AtomicUsize::new).collect(),
            items: (0..room).map(|_| 0.into()).collect(),
        }
    }

    /// Takes the next number, if it is its turn.
    fn number(&self, next: &AtomicUsize, ahead: usize) -> Option<usize> {
        let mut number = next.load(SeqCst);
        loop {
            let turn = self.turns[number % self.turns.len()].load(SeqCst);
            if turn < number + ahead {
                return None;
            }
            if turn > number + ahead {
                number = next.load(SeqCst);
                continue;
            }
            match next.compare_exchange(number, number + 1, SeqCst, SeqCst) {
                Ok(_) => return Some(number),
                Err(now) => number = now,
            }
        }
    }

    fn push(&self, item: usize) -> bool {
        let Some(number) = self.number(&self.tail, 0) else {
            return false;
        };
        let slot = number % self.turns.len();
        self.items[slot].store(item, SeqCst);
        self.turns[slot].store(number + 1, SeqCst);
        true
    }

    fn pop(&self) -> Option<usize> {
        let number = self.number(&self.head, 1)?;
        let slot = number % self.turns.len();
        let item = self.items[slot].load(SeqCst);
        self.turns[slot].store(number + self.turns.len(), SeqCst);
        Some(item)
    }
}

/// Each producer pushes one item into a queue with room for two, if there is room; each consumer pops one, if
/// there is one.
fn queue(producers: usize, consumers: usize) {
    let queue = Queue::new(2);
    let taken = run(producers + consumers, move |number| {
        if number < producers {
            queue.push(number + 1);
            None
        } else {
            queue.pop()
        }
    });
    assert_distinct(taken.into_iter().flatten().collect());
}

/// Each thread increments a counter by reading and then writing it.
fn lost_update(threads: usize) {
    let counter = Arc::new(AtomicUsize::new(0));
    let theirs = counter.clone();
    run(threads, move |_| {
        let seen = theirs.load(SeqCst);
        theirs.store(seen + 1, SeqCst);
    });
    assert_eq!(counter.load(SeqCst), threads);
}
