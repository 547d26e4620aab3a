//! The lock of Mellor-Crummey and Scott: a queue in which each thread spins on a flag of its own.

use std::sync::atomic::Ordering;

use super::Verdict::{Race, Stuck};
use super::sync::atomic::{AtomicBool, AtomicUsize};
use super::{AcqRel, Acquire, Plain, Program, Relaxed, Release, Site, all, hint, run};

/// A place in the queue. Places are numbered from 1; 0 is none.
struct Node {
    next: AtomicUsize,
    waits: AtomicBool,
}

struct McsLock {
    tail: AtomicUsize,
    nodes: [Node; 2],
    sum: Plain,
    orders: [Ordering; 7],
}

pub(super) const MCS_LOCK: Program = Program {
    name: "mcs-lock",
    threads: "two threads add to a sum",
    sites: &[
        Site::new(
            "swap of the tail",
            AcqRel,
            &[
                // The successor's link may come before the node's own initialisation, which then hides it.
                (Acquire, Stuck),
                // The lock may have been given back by emptying the queue, and nothing orders that with this.
                (Release, Race),
            ],
        ),
        // The flag may be cleared before the successor has set it.
        Site::or_relaxed("link to the successor", Release, &Stuck),
        Site::or_relaxed("load of the flag", Acquire, &Race),
        // As with the link.
        Site::or_relaxed("first look for a successor", Acquire, &Stuck),
        Site::or_relaxed("further looks for one", Acquire, &Stuck),
        Site::or_relaxed("exchange that empties the queue", Release, &Race),
        Site::or_relaxed("store that clears the successor's flag", Release, &Race),
    ],
    run: |orders| {
        let node = || Node {
            next: AtomicUsize::new(0),
            waits: AtomicBool::new(false),
        };
        let lock = McsLock {
            tail: AtomicUsize::new(0),
            nodes: [node(), node()],
            sum: Plain::new(0),
            orders: all(orders),
        };
        let lock = run(lock, &[|lock| lock.add(1), |lock| lock.add(2)]);
        assert_eq!(lock.sum.get(), 2);
    },
};

impl McsLock {
    fn add(&self, me: usize) {
        self.lock(me);
        self.sum.add(1);
        self.unlock(me);
    }

    fn lock(&self, me: usize) {
        let [swap, link, look, ..] = self.orders;
        let mine = &self.nodes[me - 1];
        mine.next.store(0, Relaxed);
        mine.waits.store(true, Relaxed);
        let before = self.tail.swap(me, swap);
        if before != 0 {
            self.nodes[before - 1].next.store(me, link);
            while mine.waits.load(look) {
                hint::spin_loop();
            }
        }
    }

    fn unlock(&self, me: usize) {
        let [.., first, further, empty, hand_over] = self.orders;
        let mine = &self.nodes[me - 1];
        let mut next = mine.next.load(first);
        if next == 0 {
            let emptied = self.tail.compare_exchange(me, 0, empty, Relaxed);
            if emptied.is_ok() {
                return;
            }
            loop {
                next = mine.next.load(further);
                if next != 0 {
                    break;
                }
                hint::spin_loop();
            }
        }
        self.nodes[next - 1].waits.store(false, hand_over);
    }
}
