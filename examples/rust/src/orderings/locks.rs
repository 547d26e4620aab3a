//! Locks on which threads spin.

use std::sync::atomic::Ordering;

use super::Verdict::Race;
use super::sync::atomic::{AtomicBool, AtomicI32, AtomicU32};
use super::{Acquire, Plain, Program, Relaxed, Release, Site, all, hint, run};

/// A lock that is one flag: who waits looks at it before he tries again.
struct SpinLock {
    taken: AtomicBool,
    sum: Plain,
    orders: [Ordering; 2],
}

pub(super) const SPINLOCK: Program = Program {
    name: "spinlock",
    threads: "three threads add to a sum",
    sites: &[
        Site::or_relaxed("swap by which the lock is taken", Acquire, &Race),
        Site::or_relaxed("store by which it is given back", Release, &Race),
    ],
    run: |orders| {
        let lock = SpinLock {
            taken: AtomicBool::new(false),
            sum: Plain::new(0),
            orders: all(orders),
        };
        let lock = run(lock, &[SpinLock::add, SpinLock::add, SpinLock::add]);
        assert_eq!(lock.sum.get(), 3);
    },
};

impl SpinLock {
    fn add(&self) {
        let [take, give_back] = self.orders;
        while self.taken.swap(true, take) {
            while self.taken.load(Relaxed) {
                hint::spin_loop();
            }
        }
        self.sum.add(1);
        self.taken.store(false, give_back);
    }
}

/// A lock whose tickets are served in turn.
struct TicketLock {
    next: AtomicU32,
    served: AtomicU32,
    sum: Plain,
    orders: [Ordering; 2],
}

pub(super) const TICKET_LOCK: Program = Program {
    name: "ticket-lock",
    threads: "three threads add to a sum",
    sites: &[
        Site::or_relaxed("load of the ticket that is served", Acquire, &Race),
        Site::or_relaxed("store of the next one", Release, &Race),
    ],
    run: |orders| {
        let lock = TicketLock {
            next: AtomicU32::new(0),
            served: AtomicU32::new(0),
            sum: Plain::new(0),
            orders: all(orders),
        };
        let lock = run(lock, &[TicketLock::add, TicketLock::add, TicketLock::add]);
        assert_eq!(lock.sum.get(), 3);
    },
};

impl TicketLock {
    fn add(&self) {
        let [look, give_back] = self.orders;
        let mine = self.next.fetch_add(1, Relaxed);
        while self.served.load(look) != mine {
            hint::spin_loop();
        }
        self.sum.add(1);
        self.served.store(mine + 1, give_back);
    }
}

/// What a writer takes.
const ALL: i32 = 0x10_0000;

/// The lock for readers and writers that Linux once had: a reader takes one, a writer takes all, and who gets less than that gives it back and waits.
struct RwLock {
    left: AtomicI32,
    data: Plain,
    orders: [Ordering; 6],
}

pub(super) const LINUX_RWLOCK: Program = Program {
    name: "linux-rwlock",
    threads: "one thread reads and then writes, another one writes",
    sites: &[
        Site::or_relaxed("a reader's first attempt", Acquire, &Race),
        Site::or_relaxed("a reader's further attempts", Acquire, &Race),
        Site::or_relaxed("a reader's end", Release, &Race),
        Site::or_relaxed("a writer's first attempt", Acquire, &Race),
        Site::or_relaxed("a writer's further attempts", Acquire, &Race),
        Site::or_relaxed("a writer's end", Release, &Race),
    ],
    run: |orders| {
        let lock = RwLock {
            left: AtomicI32::new(ALL),
            data: Plain::new(0),
            orders: all(orders),
        };
        run(
            lock,
            &[
                |lock| {
                    lock.read();
                    lock.write();
                },
                |lock| {
                    lock.write();
                },
            ],
        );
    },
};

impl RwLock {
    fn read(&self) {
        let [first, further, end, ..] = self.orders;
        let mut before = self.left.fetch_sub(1, first);
        while before <= 0 {
            self.left.fetch_add(1, Relaxed);
            while self.left.load(Relaxed) <= 0 {
                hint::spin_loop();
            }
            before = self.left.fetch_sub(1, further);
        }
        self.data.get();
        self.left.fetch_add(1, end);
    }

    fn write(&self) {
        let [.., first, further, end] = self.orders;
        let mut before = self.left.fetch_sub(ALL, first);
        while before != ALL {
            self.left.fetch_add(ALL, Relaxed);
            while self.left.load(Relaxed) != ALL {
                hint::spin_loop();
            }
            before = self.left.fetch_sub(ALL, further);
        }
        self.data.add(1);
        self.left.fetch_add(ALL, end);
    }
}
