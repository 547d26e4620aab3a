//! Barriers: which arrivals belong together.
//!
//! `n` threads can come to a barrier in `n!` orders, but all that can be seen of the order is who came last, the leader; and
//! few programs ask for that. So, as long as nobody does, an arrival adds to the count of a *gathering*, which commutes with other arrivals, and
//! then the thread waits until the count is `n`. All orders are one class.
//!
//! **Which gathering.** The `g`-th wait of a thread belongs to the `g`-th gathering of the barrier. That is so if no more than `n` threads come
//! to it: none of them arrives for the `g+1`-st time before all have arrived `g` times, since it has to wait for that. So the arrivals
//! number `g·n` to `(g+1)·n` are those in which each of the threads arrives for the `g`-th time, as in `std`. Each gathering is a
//! location of its own: a thread that still has to go on from one is not ordered with those that come to the next.
//!
//! **Otherwise**, if somebody asks who leads, or if one more thread comes, the order matters. That is noticed before anything follows from
//! it: up to then, executions are as they are with the order. So every execution of the program either never comes to that, or has a
//! beginning that is explored, after which it is noticed; and then the exploration begins again, with arrivals that are ordered.

use raddle_schedule::{LocationId, ThreadId};

use super::objects::Kind;
use super::state::State;

/// The barriers of an execution.
#[derive(Debug, Default)]
pub(crate) struct Barriers {
    /// Whether the order of arrivals matters. Outlives executions.
    pub(super) order_matters: bool,
    /// Whether arrivals are ordered in this execution.
    are_ordered: bool,
    used: Vec<Used>,
}

/// A barrier that threads have come to.
#[derive(Debug)]
struct Used {
    barrier: LocationId,
    /// The threads that have come to it, and how often.
    comers: Vec<(ThreadId, usize)>,
    gatherings: Vec<LocationId>,
}

impl Used {
    fn new(barrier: LocationId) -> Self {
        Self {
            barrier,
            comers: Vec::new(),
            gatherings: Vec::new(),
        }
    }
}

impl Barriers {
    pub(super) fn begin(&mut self) {
        self.are_ordered = self.order_matters;
        self.used.clear();
    }

    /// The barrier that threads gather at there.
    pub(super) fn of_gathering(&self, gathering: LocationId) -> Option<LocationId> {
        let mut used = self.used.iter();
        let used = used.find(|used| used.gatherings.contains(&gathering))?;
        Some(used.barrier)
    }
}

impl State {
    /// The current thread comes to a barrier for this many threads. Returns the gathering that it belongs to, unless the order of arrivals matters.
    pub(crate) fn come_to_barrier(&mut self, barrier: LocationId, size: u32) -> Option<LocationId> {
        // Nobody waits at a barrier for one.
        if self.barriers.are_ordered || size <= 1 {
            return None;
        }
        let current = self.current;
        let used = &mut self.barriers.used;
        let index = used.iter().position(|one| one.barrier == barrier);
        let index = index.unwrap_or_else(|| {
            used.push(Used::new(barrier));
            used.len() - 1
        });
        let used = &mut used[index];
        let known = used.comers.iter().position(|comer| comer.0 == current);
        let count = match known {
            Some(known) => {
                used.comers[known].1 += 1;
                used.comers[known].1
            }
            None if used.comers.len() < size as usize => {
                used.comers.push((current, 0));
                0
            }
            None => {
                // What this execution would do from here on is not known.
                self.order_of_arrivals_matters();
                self.impossible = true;
                return None;
            }
        };
        if used.gatherings.len() <= count {
            used.gatherings.push(self.objects.add(Kind::Gathering, 0));
        }
        Some(used.gatherings[count])
    }

    /// Where executions are graphs: what those wait for who come to a barrier together, by the number of their gathering.
    pub(crate) fn gathering(&mut self, barrier: LocationId, number: u64) -> LocationId {
        let known = self
            .barriers
            .used
            .iter()
            .position(|one| one.barrier == barrier);
        let index = known.unwrap_or_else(|| {
            self.barriers.used.push(Used::new(barrier));
            self.barriers.used.len() - 1
        });
        while self.barriers.used[index].gatherings.len() as u64 <= number {
            let gathering = self.objects.add(Kind::Gathering, 0);
            self.barriers.used[index].gatherings.push(gathering);
        }
        self.barriers.used[index].gatherings[number as usize]
    }

    /// Somebody looks at the order in which threads have arrived at a barrier.
    pub(crate) fn order_of_arrivals_matters(&mut self) {
        if !self.barriers.order_matters {
            self.barriers.order_matters = true;
            self.learned = true;
        }
    }
}
