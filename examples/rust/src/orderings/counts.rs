//! What is done once: by the first, or by the last.

use std::sync::atomic::Ordering;

use super::Verdict::Race;
use super::sync::atomic::AtomicU32;
use super::{Acquire, Plain, Program, Relaxed, Release, Site, all, fence, hint, run};

/// A value that the first one makes who wants it.
struct Once {
    state: AtomicU32,
    value: Plain,
    orders: [Ordering; 3],
}

const NEW: u32 = 0;
const RUNNING: u32 = 1;
const DONE: u32 = 2;

pub(super) const ONCE: Program = Program {
    name: "once",
    threads: "three threads want the value",
    sites: &[
        Site::or_relaxed("load that finds the value", Acquire, &Race),
        Site::or_relaxed("load by which it is waited for", Acquire, &Race),
        Site::or_relaxed("store that says it is there", Release, &Race),
    ],
    run: |orders| {
        let once = Once {
            state: AtomicU32::new(NEW),
            value: Plain::new(0),
            orders: all(orders),
        };
        let want: fn(&Once) = |once| assert_eq!(once.get(), 7);
        run(once, &[want, want, want]);
    },
};

impl Once {
    fn get(&self) -> u32 {
        let [find, wait, done] = self.orders;
        if self.state.load(find) != DONE {
            let first = self.state.compare_exchange(NEW, RUNNING, Relaxed, Relaxed);
            if first.is_ok() {
                self.value.set(7);
                self.state.store(DONE, done);
            } else {
                while self.state.load(wait) != DONE {
                    hint::spin_loop();
                }
            }
        }
        self.value.get()
    }
}

/// A value that goes away with the last reference to it, as in an `Arc`.
struct References {
    count: AtomicU32,
    value: Plain,
    orders: [Ordering; 2],
}

pub(super) const REFERENCES: Program = Program {
    name: "references",
    threads: "two threads read and drop a reference, one of them a copy of it too",
    sites: &[
        Site::or_relaxed("decrement", Release, &Race),
        Site::or_relaxed("fence after the last one", Acquire, &Race),
    ],
    run: |orders| {
        let references = References {
            count: AtomicU32::new(2),
            value: Plain::new(1),
            orders: all(orders),
        };
        let shared = run(
            references,
            &[
                |shared| {
                    shared.count.fetch_add(1, Relaxed);
                    shared.read_and_drop();
                    shared.read_and_drop();
                },
                References::read_and_drop,
            ],
        );
        assert_eq!(shared.value.get(), 0);
    },
};

impl References {
    fn read_and_drop(&self) {
        let [drop, last] = self.orders;
        assert_eq!(self.value.get(), 1);
        if self.count.fetch_sub(1, drop) == 1 {
            fence(last);
            self.value.set(0);
        }
    }
}
