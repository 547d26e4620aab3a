//! The deque of Chase and Lev.
//!
//! The orderings are those of Lê, Pop, Cohen and Zappa Nardelli (*Correct and efficient work-stealing for weak memory models*, PPoPP 2013) with one difference: they have a fence before a relaxed
//! store of the bottom, which also releases what is stored after it. With a store that releases, as many implementations have it, a thief may read the bottom from a store of `pop` instead.
//! That was in the release sequence of the former until C++20, and is not since. So it has to release, too.

use std::sync::atomic::Ordering;

use super::Verdict::{Harmless, Wrong};
use super::sync::atomic::{AtomicIsize, AtomicU32};
use super::{AcqRel, Acquire, Program, Relaxed, Release, SeqCst, Site, all, fence, run};

const ROOM: isize = 2;

struct Deque {
    top: AtomicIsize,
    bottom: AtomicIsize,
    items: [AtomicU32; ROOM as usize],
    /// By item: how often it was taken.
    taken: [AtomicU32; 4],
    orders: [Ordering; 10],
}

/// A thief loads an item before it makes known that it has it, and the owner overwrites the item when it knows that.
const BEFORE: &str =
    "without it, a thief would have to read what is written only after it has read";

pub(super) const CHASE_LEV: Program = Program {
    name: "chase-lev",
    threads: "the owner pushes two items, pops one, pushes another one and pops; a thief steals twice; there is room for two",
    sites: &[
        Site::new(
            "the owner's look at the top before a push",
            Acquire,
            &[(Relaxed, Harmless(BEFORE))],
        ),
        Site::or_relaxed("store of the bottom after a push", Release, &Wrong),
        Site::or_relaxed("store that lowers the bottom", Release, &Wrong),
        Site::new(
            "store that raises it again",
            Release,
            &[(
                Relaxed,
                Harmless("nothing is left then, so no thief gets what it reads there"),
            )],
        ),
        Site::new("fence of the owner", SeqCst, &[(AcqRel, Wrong)]),
        Site::new(
            "the owner's exchange of the top",
            AcqRel,
            &[
                (Acquire, Harmless("the two fences order what it releases")),
                (Release, Harmless(BEFORE)),
            ],
        ),
        Site::new(
            "the same, if it fails",
            Acquire,
            &[(Relaxed, Harmless(BEFORE))],
        ),
        Site::new("fence of a thief", SeqCst, &[(AcqRel, Wrong)]),
        Site::or_relaxed("a thief's load of the bottom", Acquire, &Wrong),
        Site::new(
            "a thief's exchange of the top",
            Release,
            &[(Relaxed, Harmless(BEFORE))],
        ),
    ],
    run: |orders| {
        let atomic = || AtomicU32::new(0);
        let deque = Deque {
            top: AtomicIsize::new(0),
            bottom: AtomicIsize::new(0),
            items: [atomic(), atomic()],
            taken: [atomic(), atomic(), atomic(), atomic()],
            orders: all(orders),
        };
        run(
            deque,
            &[
                |deque| {
                    deque.push(1);
                    deque.push(2);
                    deque.pop();
                    deque.push(3);
                    deque.pop();
                },
                |deque| {
                    deque.steal();
                    deque.steal();
                },
            ],
        );
    },
};

impl Deque {
    fn slot(&self, position: isize) -> &AtomicU32 {
        &self.items[(position % ROOM) as usize]
    }

    /// Somebody has an item.
    fn has(&self, item: u32) {
        assert_ne!(item, 0, "an item was taken that was not there yet");
        let before = self.taken[item as usize].fetch_add(1, Relaxed);
        assert_eq!(before, 0, "an item was taken twice");
    }

    fn push(&self, item: u32) {
        let [look, tell, ..] = self.orders;
        let bottom = self.bottom.load(Relaxed);
        if bottom - self.top.load(look) == ROOM {
            return;
        }
        self.slot(bottom).store(item, Relaxed);
        self.bottom.store(bottom + 1, tell);
    }

    fn pop(&self) {
        let [_, _, lower, raise, order, take, fail, ..] = self.orders;
        let bottom = self.bottom.load(Relaxed) - 1;
        self.bottom.store(bottom, lower);
        fence(order);
        let top = self.top.load(Relaxed);
        if top > bottom {
            self.bottom.store(bottom + 1, raise);
            return;
        }
        let item = self.slot(bottom).load(Relaxed);
        if top < bottom {
            return self.has(item);
        }
        let mine = self.top.compare_exchange(top, top + 1, take, fail);
        self.bottom.store(bottom + 1, raise);
        if mine.is_ok() {
            self.has(item);
        }
    }

    fn steal(&self) {
        let [.., order, look, take] = self.orders;
        let top = self.top.load(Relaxed);
        fence(order);
        let bottom = self.bottom.load(look);
        if top >= bottom {
            return;
        }
        let item = self.slot(top).load(Relaxed);
        let mine = self.top.compare_exchange(top, top + 1, take, Relaxed);
        if mine.is_ok() {
            self.has(item);
        }
    }
}
