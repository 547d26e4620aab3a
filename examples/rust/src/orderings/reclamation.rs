//! Hazard pointers: a reader says which node it is going to read, and looks again whether the node is still there; a writer that has replaced a node overwrites it if nobody has said that.

use std::sync::atomic::Ordering;

use super::Verdict::Race;
use super::sync::atomic::AtomicUsize;
use super::{AcqRel, Acquire, Plain, Program, Relaxed, Release, SeqCst, Site, all, run};

/// No node. The first one has number 1.
const NONE: usize = 0;

struct Shared {
    nodes: [Plain; 3],
    current: AtomicUsize,
    hazard: AtomicUsize,
    orders: [Ordering; 5],
}

pub(super) const HAZARD_POINTERS: Program = Program {
    name: "hazard-pointers",
    threads: "one thread replaces the node twice, another one reads twice",
    sites: &[
        Site::new("store of the hazard", SeqCst, &[(Release, Race)]),
        Site::new("second look at what is current", SeqCst, &[(Acquire, Race)]),
        Site::or_relaxed("store that takes the hazard back", Release, &Race),
        Site::new("swap of what is current", SeqCst, &[(AcqRel, Race)]),
        Site::new("load of the hazard", SeqCst, &[(Acquire, Race)]),
    ],
    run: |orders| {
        let shared = Shared {
            nodes: [Plain::new(0), Plain::new(0), Plain::new(0)],
            current: AtomicUsize::new(1),
            hazard: AtomicUsize::new(NONE),
            orders: all(orders),
        };
        run(
            shared,
            &[
                |shared| {
                    shared.write(2);
                    shared.write(3);
                },
                |shared| {
                    shared.read();
                    shared.read();
                },
            ],
        );
    },
};

impl Shared {
    fn node(&self, number: usize) -> &Plain {
        &self.nodes[number - 1]
    }

    fn read(&self) -> u32 {
        let [store, look, take_back, ..] = self.orders;
        let mut node = self.current.load(Relaxed);
        loop {
            self.hazard.store(node, store);
            let now = self.current.load(look);
            if now == node {
                break;
            }
            node = now;
        }
        let value = self.node(node).get();
        self.hazard.store(NONE, take_back);
        value
    }

    fn write(&self, new: usize) {
        let [.., swap, look] = self.orders;
        self.node(new).set(new as u32);
        let old = self.current.swap(new, swap);
        if self.hazard.load(look) != old {
            self.node(old).set(u32::MAX);
        }
    }
}
