//! Queues.

use std::ptr;
use std::sync::atomic::Ordering;

use super::Verdict::{Harmless, Race};
use super::sync::atomic::{AtomicPtr, AtomicUsize};
use super::{Acquire, Plain, Program, Relaxed, Release, Site, all, hint, run};

const ROOM: usize = 2;

/// A ring for one producer and one consumer, who count what they have put in and taken out.
struct Ring {
    items: [Plain; ROOM],
    pushed: AtomicUsize,
    popped: AtomicUsize,
    orders: [Ordering; 4],
}

pub(super) const RING: Program = Program {
    name: "ring",
    threads: "one thread pushes three items, another one pops them; there is room for two",
    sites: &[
        Site::or_relaxed("the producer's look at what was popped", Acquire, &Race),
        Site::or_relaxed("store that says that an item was pushed", Release, &Race),
        Site::or_relaxed("the consumer's look at what was pushed", Acquire, &Race),
        Site::or_relaxed("store that says that one was popped", Release, &Race),
    ],
    run: |orders| {
        let ring = Ring {
            items: [Plain::new(0), Plain::new(0)],
            pushed: AtomicUsize::new(0),
            popped: AtomicUsize::new(0),
            orders: all(orders),
        };
        run(
            ring,
            &[
                |ring| (1..=3).for_each(|item| ring.push(item)),
                |ring| assert_eq!([ring.pop(), ring.pop(), ring.pop()], [1, 2, 3]),
            ],
        );
    },
};

impl Ring {
    fn push(&self, item: u32) {
        let [look, tell, ..] = self.orders;
        let pushed = self.pushed.load(Relaxed);
        while pushed - self.popped.load(look) == ROOM {
            hint::spin_loop();
        }
        self.items[pushed % ROOM].set(item);
        self.pushed.store(pushed + 1, tell);
    }

    fn pop(&self) -> u32 {
        let [.., look, tell] = self.orders;
        let popped = self.popped.load(Relaxed);
        while self.pushed.load(look) == popped {
            hint::spin_loop();
        }
        let item = self.items[popped % ROOM].get();
        self.popped.store(popped + 1, tell);
        item
    }
}

struct Slot {
    /// The position of the producer, or one more than that of the consumer, whose turn it is.
    turn: AtomicUsize,
    item: Plain,
}

/// The bounded queue of Vyukov.
struct BoundedQueue {
    slots: [Slot; ROOM],
    tail: AtomicUsize,
    head: AtomicUsize,
    orders: [Ordering; 4],
}

pub(super) const BOUNDED_QUEUE: Program = Program {
    name: "bounded-queue",
    threads: "one thread pushes two items, one pushes a third, one pops two; there is room for two",
    sites: &[
        Site::or_relaxed("a producer's look at whose turn it is", Acquire, &Race),
        Site::or_relaxed(
            "a producer's store of whose turn it is then",
            Release,
            &Race,
        ),
        Site::or_relaxed("a consumer's look", Acquire, &Race),
        Site::or_relaxed("a consumer's store", Release, &Race),
    ],
    run: |orders| {
        let slot = |turn| Slot {
            turn: AtomicUsize::new(turn),
            item: Plain::new(0),
        };
        let queue = BoundedQueue {
            slots: [slot(0), slot(1)],
            tail: AtomicUsize::new(0),
            head: AtomicUsize::new(0),
            orders: all(orders),
        };
        let queue = run(
            queue,
            &[
                |queue| {
                    assert_ne!(queue.pop(), queue.pop());
                },
                |queue| {
                    queue.push(1);
                    queue.push(2);
                },
                |queue| queue.push(3),
            ],
        );
        assert!((1..=3).contains(&queue.pop()));
    },
};

impl BoundedQueue {
    fn push(&self, item: u32) {
        let [look, tell, ..] = self.orders;
        let position = self.claim(&self.tail, 0, look);
        let slot = &self.slots[position % ROOM];
        slot.item.set(item);
        slot.turn.store(position + 1, tell);
    }

    fn pop(&self) -> u32 {
        let [.., look, tell] = self.orders;
        let position = self.claim(&self.head, 1, look);
        let slot = &self.slots[position % ROOM];
        let item = slot.item.get();
        slot.turn.store(position + ROOM, tell);
        item
    }

    /// Takes the next position, when the slot there says `ahead` more than that.
    fn claim(&self, next: &AtomicUsize, ahead: usize, look: Ordering) -> usize {
        loop {
            let position = next.load(Relaxed);
            let turn = self.slots[position % ROOM].turn.load(look);
            if turn == position + ahead {
                let taken = next.compare_exchange(position, position + 1, Relaxed, Relaxed);
                if taken.is_ok() {
                    return position;
                }
            }
            // There is no room or no item, or somebody else has the position, which may be an old one.
            hint::spin_loop();
        }
    }
}

struct Node {
    item: Plain,
    next: AtomicPtr<Node>,
}

/// The queue of Michael and Scott. Its nodes live as long as it does.
struct Queue {
    nodes: [Node; 4],
    head: AtomicPtr<Node>,
    tail: AtomicPtr<Node>,
    orders: [Ordering; 5],
}

/// Nodes are made before the threads are. A queue that makes one for each item needs the ordering.
const MADE_BEFORE: &[(Ordering, super::Verdict)] =
    &[(Relaxed, Harmless("all nodes are made before the threads"))];

pub(super) const MICHAEL_SCOTT: Program = Program {
    name: "michael-scott",
    threads: "one thread pushes two items, one pushes a third, one pops two",
    sites: &[
        Site::new("load of the tail", Acquire, MADE_BEFORE),
        Site::or_relaxed("exchange that links an item", Release, &Race),
        Site::new("exchange of the tail", Release, MADE_BEFORE),
        Site::or_relaxed("load of the next item", Acquire, &Race),
        Site::new("exchange of the head", Release, MADE_BEFORE),
    ],
    run: |orders| {
        let node = || Node {
            item: Plain::new(0),
            next: AtomicPtr::new(ptr::null_mut()),
        };
        let queue = Queue {
            nodes: [node(), node(), node(), node()],
            head: AtomicPtr::new(ptr::null_mut()),
            tail: AtomicPtr::new(ptr::null_mut()),
            orders: all(orders),
        };
        let queue = run(
            Begun::new(queue),
            &[
                |queue| {
                    let taken = [queue.pop(), queue.pop()];
                    assert!(taken != [Some(2), Some(1)], "out of order");
                    assert!(taken[0].is_none() || taken[0] != taken[1], "taken twice");
                },
                |queue| {
                    queue.push(1);
                    queue.push(2);
                },
                |queue| queue.push(3),
            ],
        );
        while queue.pop().is_some() {}
    },
};

/// A queue that stays where it is, with its first node.
struct Begun(Box<Queue>);

// SAFETY: the pointers point to nodes that live as long as the queue, which are shared.
unsafe impl Send for Begun {}
// SAFETY: as above.
unsafe impl Sync for Begun {}

impl Begun {
    fn new(queue: Queue) -> Self {
        let queue = Box::new(queue);
        let first = ptr::from_ref(&queue.nodes[0]).cast_mut();
        queue.head.store(first, Relaxed);
        queue.tail.store(first, Relaxed);
        Self(queue)
    }

    /// Items are numbers of nodes.
    fn push(&self, item: usize) {
        let queue = &*self.0;
        let [load, link, move_on, ..] = queue.orders;
        let node = &queue.nodes[item];
        node.item.set(item as u32);
        let node = ptr::from_ref(node).cast_mut();
        loop {
            let tail = queue.tail.load(load);
            // SAFETY: nodes live as long as the queue.
            let next = unsafe { &(*tail).next };
            let linked = next.compare_exchange(ptr::null_mut(), node, link, Relaxed);
            let last = match linked {
                Ok(_) => node,
                Err(further) => further,
            };
            // If this fails, somebody has helped.
            let _ = queue.tail.compare_exchange(tail, last, move_on, Relaxed);
            if linked.is_ok() {
                return;
            }
        }
    }

    fn pop(&self) -> Option<u32> {
        let queue = &*self.0;
        let [.., look, take] = queue.orders;
        loop {
            let head = queue.head.load(Acquire);
            // SAFETY: nodes live as long as the queue.
            let next = unsafe { (*head).next.load(look) };
            if next.is_null() {
                return None;
            }
            let taken = queue.head.compare_exchange(head, next, take, Relaxed);
            if taken.is_ok() {
                // SAFETY: as above.
                return Some(unsafe { (*next).item.get() });
            }
        }
    }
}
