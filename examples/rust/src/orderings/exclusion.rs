//! Mutual exclusion by loads and stores: what one thread writes before it reads, the other has to see, or the other way round. Only sequential consistency gives that.

use std::sync::atomic::Ordering;

use super::Verdict::Race;
use super::sync::atomic::{AtomicBool, AtomicUsize};
use super::{
    AcqRel, Acquire, Plain, Program, Relaxed, Release, SeqCst, Site, all, fence, hint, run,
};

/// Two threads, with a flag each, and whose turn it is to wait or to go on.
struct Two<const N: usize> {
    wants: [AtomicBool; 2],
    turn: AtomicUsize,
    sum: Plain,
    orders: [Ordering; N],
}

impl<const N: usize> Two<N> {
    fn new(orders: &[Ordering]) -> Self {
        Self {
            wants: [AtomicBool::new(false), AtomicBool::new(false)],
            turn: AtomicUsize::new(0),
            sum: Plain::new(0),
            orders: all(orders),
        }
    }
}

/// Peterson's algorithm. A thread lets the other one go first if both want to.
type Peterson = Two<5>;

pub(super) const PETERSON: Program = Program {
    name: "peterson-fences",
    threads: "one thread adds to a sum, another one does so twice",
    sites: &[
        // The order of the two stores to `turn` does not tell then who sees whose flag.
        Site::new(
            "fence before the turn is given away",
            SeqCst,
            &[(AcqRel, Race)],
        ),
        // Both may see that the other one does not want to.
        Site::new("fence after that", SeqCst, &[(AcqRel, Race)]),
        Site::or_relaxed("load of the other's flag", Acquire, &Race),
        // The other one may have been in and wants to be in again, so that its flag says nothing.
        Site::or_relaxed("load of the turn", Acquire, &Race),
        Site::or_relaxed("store of the flag at the end", Release, &Race),
    ],
    run: |orders| {
        let two = run(
            Peterson::new(orders),
            &[
                |two| two.enter(0),
                |two| {
                    two.enter(1);
                    two.enter(1);
                },
            ],
        );
        assert_eq!(two.sum.get(), 3);
    },
};

impl Peterson {
    fn enter(&self, me: usize) {
        let [before, after, flag, turn, leave] = self.orders;
        let other = 1 - me;
        self.wants[me].store(true, Relaxed);
        fence(before);
        self.turn.store(other, Relaxed);
        fence(after);
        while self.wants[other].load(flag) && self.turn.load(turn) == other {
            hint::spin_loop();
        }
        self.sum.add(1);
        self.wants[me].store(false, leave);
    }
}

/// Dekker's algorithm. A thread whose turn it is not takes back that it wants to.
type Dekker = Two<4>;

pub(super) const DEKKER: Program = Program {
    name: "dekker-fences",
    threads: "one thread adds to a sum, another one does so twice",
    sites: &[
        Site::new("fence after the flag is raised", SeqCst, &[(AcqRel, Race)]),
        // The other one comes a second time, and both see no flag.
        Site::new("fence after it is raised again", SeqCst, &[(AcqRel, Race)]),
        Site::or_relaxed(
            "fence at the beginning of what is protected",
            Acquire,
            &Race,
        ),
        Site::or_relaxed("fence at the end of it", Release, &Race),
    ],
    run: |orders| {
        let two = run(
            Dekker::new(orders),
            &[
                |two| {
                    two.enter(0);
                    two.enter(0);
                },
                |two| two.enter(1),
            ],
        );
        assert_eq!(two.sum.get(), 3);
    },
};

impl Dekker {
    fn enter(&self, me: usize) {
        let [raised, again, begin, end] = self.orders;
        let other = 1 - me;
        self.wants[me].store(true, Relaxed);
        fence(raised);
        while self.wants[other].load(Relaxed) {
            if self.turn.load(Relaxed) == me {
                hint::spin_loop();
                continue;
            }
            self.wants[me].store(false, Relaxed);
            while self.turn.load(Relaxed) != me {
                hint::spin_loop();
            }
            self.wants[me].store(true, Relaxed);
            fence(again);
        }
        fence(begin);
        self.sum.add(1);
        self.turn.store(other, Relaxed);
        fence(end);
        self.wants[me].store(false, Relaxed);
    }
}

/// Who sees no flag of the other one goes in; if both see one, neither does.
type Flags = Two<2>;

pub(super) const FLAGS: Program = Program {
    name: "flags-seq-cst",
    threads: "two threads add to a sum, or do not",
    sites: &[
        Site::new("store of the flag", SeqCst, &[(Release, Race)]),
        Site::new("load of the other's", SeqCst, &[(Acquire, Race)]),
    ],
    run: |orders| {
        let two = run(
            Flags::new(orders),
            &[|two| two.try_enter(0), |two| two.try_enter(1)],
        );
        assert!(two.sum.get() <= 1);
    },
};

impl Flags {
    fn try_enter(&self, me: usize) {
        let [raise, look] = self.orders;
        self.wants[me].store(true, raise);
        if !self.wants[1 - me].load(look) {
            self.sum.add(1);
        }
    }
}
