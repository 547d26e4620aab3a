//! Structures with a number that goes up.

use std::sync::atomic::Ordering;

use super::Verdict::{Race, Wrong};
use super::sync::atomic::AtomicU32;
use super::{AcqRel, Acquire, Plain, Program, Relaxed, Release, Site, all, fence, hint, run};

/// A sequence lock: the version is odd while somebody writes, and who has read while it changed reads again.
struct SeqLock {
    version: AtomicU32,
    pair: [AtomicU32; 2],
    orders: [Ordering; 4],
}

pub(super) const SEQLOCK: Program = Program {
    name: "seqlock",
    threads: "one thread writes a pair twice, another one reads it",
    sites: &[
        Site::or_relaxed("fence after the version becomes odd", Release, &Wrong),
        Site::or_relaxed("store that makes it even again", Release, &Wrong),
        Site::or_relaxed("load of the version at first", Acquire, &Wrong),
        Site::or_relaxed("fence before it is loaded again", Acquire, &Wrong),
    ],
    run: |orders| {
        let atomic = || AtomicU32::new(0);
        let lock = SeqLock {
            version: atomic(),
            pair: [atomic(), atomic()],
            orders: all(orders),
        };
        run(
            lock,
            &[
                |lock| {
                    lock.write(1);
                    lock.write(2);
                },
                |lock| {
                    let [one, other] = lock.read();
                    assert_eq!(one, other, "half of a write was read");
                },
            ],
        );
    },
};

impl SeqLock {
    fn write(&self, value: u32) {
        let [odd, even, ..] = self.orders;
        let version = self.version.load(Relaxed);
        self.version.store(version + 1, Relaxed);
        fence(odd);
        self.pair[0].store(value, Relaxed);
        self.pair[1].store(value, Relaxed);
        self.version.store(version + 2, even);
    }

    fn read(&self) -> [u32; 2] {
        let [.., first, again] = self.orders;
        loop {
            let before = self.version.load(first);
            let pair = [self.pair[0].load(Relaxed), self.pair[1].load(Relaxed)];
            fence(again);
            if before.is_multiple_of(2) && self.version.load(Relaxed) == before {
                return pair;
            }
            hint::spin_loop();
        }
    }
}

/// A barrier: the last one that arrives begins the next generation.
struct Barrier {
    arrived: AtomicU32,
    generation: AtomicU32,
    data: [Plain; 2],
    orders: [Ordering; 3],
}

pub(super) const BARRIER: Program = Program {
    name: "barrier",
    threads: "two threads write, read what the other one has written, and write again, with a barrier in between",
    sites: &[
        Site::new("arrival", AcqRel, &[(Acquire, Race), (Release, Race)]),
        Site::or_relaxed("store of the next generation", Release, &Race),
        Site::or_relaxed("load of the generation", Acquire, &Race),
    ],
    run: |orders| {
        let barrier = Barrier {
            arrived: AtomicU32::new(0),
            generation: AtomicU32::new(0),
            data: [Plain::new(0), Plain::new(0)],
            orders: all(orders),
        };
        run(
            barrier,
            &[|barrier| barrier.cross(0), |barrier| barrier.cross(1)],
        );
    },
};

impl Barrier {
    fn wait(&self) {
        let [arrive, begin, look] = self.orders;
        let generation = self.generation.load(Relaxed);
        if self.arrived.fetch_add(1, arrive) == 1 {
            self.arrived.store(0, Relaxed);
            self.generation.store(generation + 1, begin);
            return;
        }
        while self.generation.load(look) == generation {
            hint::spin_loop();
        }
    }

    fn cross(&self, me: usize) {
        self.data[me].set(1);
        self.wait();
        assert_eq!(self.data[1 - me].get(), 1);
        self.wait();
        self.data[me].set(2);
    }
}
