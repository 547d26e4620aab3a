//! Structures with the orderings that they need, and what becomes of them if one ordering is weaker.
//!
//! Each [`Program`] is a structure and a few threads that use it. It has a list of [`Site`]s: the places with an ordering that is not `Relaxed`, and for each
//! weaker ordering the verdict that follows from the memory model. The verdicts are worked out by hand, and the reasons are beside them.
//!
//! A fence that is `Relaxed` is none.
//!
//! This module is also compiled with loom (`bench/rust`), so it takes `cell`, `hint`, `sync` and `thread` from the module around it.

mod counts;
mod deque;
mod exclusion;
mod locks;
mod mcs;
mod queues;
mod reclamation;
mod stack;
mod versions;

use std::sync::Arc;
use std::sync::atomic::Ordering::{self, AcqRel, Acquire, Relaxed, Release, SeqCst};

use super::{cell, hint, sync, thread};

/// A structure, and threads that use it.
#[derive(Clone, Copy, Debug)]
pub struct Program {
    /// Its name.
    pub name: &'static str,
    /// What its threads do.
    pub threads: &'static str,
    /// Its orderings.
    pub sites: &'static [Site],
    /// Runs it with these orderings, one for each site.
    pub run: fn(&[Ordering]),
}

/// A place with an ordering.
#[derive(Clone, Copy, Debug)]
pub struct Site {
    /// What is done there.
    pub name: &'static str,
    /// The ordering that is usual there.
    pub order: Ordering,
    /// What becomes of the program with a weaker one.
    pub weaker: &'static [(Ordering, Verdict)],
}

/// What is wrong with a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Two threads access plain memory, and nothing orders that.
    Race,
    /// An assertion fails.
    Wrong,
    /// A thread spins for ever.
    Stuck,
    /// Nothing, for this reason.
    Harmless(&'static str),
}

/// An ordering in the place of that of a site.
#[derive(Clone, Copy, Debug)]
pub struct Weakened {
    /// Which site it is.
    pub site: &'static Site,
    /// Its ordering.
    pub order: Ordering,
    /// What becomes of the program.
    pub verdict: Verdict,
    position: usize,
}

impl Program {
    /// The orderings that are right.
    #[must_use]
    pub fn orders(&self) -> Vec<Ordering> {
        self.sites.iter().map(|site| site.order).collect()
    }

    /// All programs in which one ordering is weaker.
    pub fn weakened(&self) -> impl Iterator<Item = Weakened> + use<> {
        self.sites.iter().enumerate().flat_map(|(position, site)| {
            site.weaker.iter().map(move |&(order, verdict)| Weakened {
                site,
                order,
                verdict,
                position,
            })
        })
    }
}

impl Weakened {
    /// The orderings of a program with this one in its place.
    #[must_use]
    pub fn orders(&self, program: &Program) -> Vec<Ordering> {
        let mut orders = program.orders();
        orders[self.position] = self.order;
        orders
    }
}

impl Site {
    const fn new(
        name: &'static str,
        order: Ordering,
        weaker: &'static [(Ordering, Verdict)],
    ) -> Self {
        Self {
            name,
            order,
            weaker,
        }
    }

    /// A site with one weaker ordering, `Relaxed`.
    const fn or_relaxed(name: &'static str, order: Ordering, verdict: &'static Verdict) -> Self {
        let weaker: &'static [(Ordering, Verdict)] = match verdict {
            Verdict::Race => &[(Relaxed, Verdict::Race)],
            Verdict::Wrong => &[(Relaxed, Verdict::Wrong)],
            Verdict::Stuck => &[(Relaxed, Verdict::Stuck)],
            Verdict::Harmless(_) => panic!("a reason needs a site of its own"),
        };
        Self::new(name, order, weaker)
    }
}

/// All programs.
pub const PROGRAMS: &[Program] = &[
    locks::SPINLOCK,
    locks::TICKET_LOCK,
    mcs::MCS_LOCK,
    locks::LINUX_RWLOCK,
    exclusion::PETERSON,
    exclusion::DEKKER,
    exclusion::FLAGS,
    versions::SEQLOCK,
    versions::BARRIER,
    counts::ONCE,
    counts::REFERENCES,
    queues::RING,
    queues::BOUNDED_QUEUE,
    queues::MICHAEL_SCOTT,
    stack::TREIBER,
    deque::CHASE_LEV,
    reclamation::HAZARD_POINTERS,
];

/// A plain variable: threads that access it, one of them by writing, have to be ordered.
#[derive(Debug)]
struct Plain(cell::UnsafeCell<u32>);

// SAFETY: threads that are not ordered are what the checkers report, and they run one thread at a time.
unsafe impl Sync for Plain {}

impl Plain {
    fn new(value: u32) -> Self {
        Self(cell::UnsafeCell::new(value))
    }

    fn get(&self) -> u32 {
        // SAFETY: see above.
        self.0.with(|value| unsafe { *value })
    }

    fn set(&self, value: u32) {
        // SAFETY: see above.
        self.0.with_mut(|place| unsafe { *place = value });
    }

    fn add(&self, more: u32) {
        self.set(self.get() + more);
    }
}

/// A fence, if the ordering is one that a fence can have.
fn fence(order: Ordering) {
    if order != Relaxed {
        sync::atomic::fence(order);
    }
}

/// Runs each function on a thread of its own, all but the first on new ones. Returns what they share when they have ended.
fn run<T: Send + Sync + 'static>(shared: T, bodies: &[fn(&T)]) -> Arc<T> {
    let shared = Arc::new(shared);
    let (first, others) = bodies.split_first().expect("there are threads");
    let others: Vec<_> = others
        .iter()
        .map(|&body| {
            let shared = shared.clone();
            thread::spawn(move || body(&shared))
        })
        .collect();
    first(&shared);
    for other in others {
        other.join().unwrap();
    }
    shared
}

/// The orderings of a program, as many as it has sites.
fn all<const N: usize>(orders: &[Ordering]) -> [Ordering; N] {
    orders.try_into().expect("one for each site")
}
