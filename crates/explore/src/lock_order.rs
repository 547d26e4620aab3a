//! Whether threads could wait for one another in a circle.
//!
//! A reduction that does not preserve deadlocks still sees every local state of
//! every thread. So it sees which locks a thread holds whenever it goes for another
//! (Flanagan and Qadeer suggest this in their section on related work). If no thread ever waits for
//! anything but locks, no thread ends while it holds one, and locks are always
//! taken in the same order, then there is no deadlock: of all the locks that
//! blocked threads wait for, take the last in that order; who holds it has not ended, so
//! it waits for a lock, and that comes later. A thread that nobody can join may also wait
//! for the end of others while it holds no lock: it does not hold the lock in question, and
//! there is no circle of threads that wait for each other's ends.
//!
//! In all other cases there may or may not be a deadlock. A thread that waits for a lock that
//! nobody is known to hold waits for more than a lock: an indivisible block may take one lock
//! twice.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::system::{
    AccessKind, Location, Place, Position, Status, Step, SyncOp, System, Variable,
};

/// What is known about deadlocks without having looked for them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Deadlocks {
    /// There are none.
    Excluded,
    /// There may be one, because of these.
    Possible(Vec<PossibleDeadlock>),
}

/// Why there may be a deadlock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PossibleDeadlock {
    /// Locks are taken in a circle: the lock that each entry takes is held by the next
    /// one, and the last takes what the first one holds.
    Circle(Vec<Taken>),
    /// A thread can wait for something that is no lock.
    Waits(Place),
    /// A thread can end while it holds a lock.
    EndsHolding {
        /// The lock.
        lock: Variable,
        /// The last operation of the thread.
        place: Place,
    },
}

/// Where a lock is taken while another is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Taken {
    /// The lock that is held.
    pub held: Variable,
    /// The lock that is taken.
    pub taken: Variable,
    /// Where.
    pub place: Place,
}

/// In which order locks are taken, as far as was seen.
#[derive(Clone, Debug, Default)]
pub(crate) struct LockOrder {
    /// For a lock that is held and one that is taken then, where.
    edges: HashMap<(Variable, Variable), Place>,
    waits: BTreeSet<Place>,
    ends_holding: BTreeMap<Variable, Place>,
    held: Vec<Location>,
}

impl LockOrder {
    /// How much memory it takes, about: a map keeps some room for every entry.
    pub(crate) fn held_bytes(&self) -> usize {
        let edge = size_of::<((Variable, Variable), Place)>() + 1;
        let other = size_of::<(Variable, Place)>();
        self.edges.capacity() * edge + (self.waits.len() + self.ends_holding.len()) * 2 * other
    }

    /// Adds what another worker has seen.
    pub(crate) fn merge(&mut self, other: Self) {
        for (edge, place) in other.edges {
            let known = self.edges.entry(edge).or_insert(place);
            *known = place.min(*known);
        }
        self.waits.extend(other.waits);
        for (lock, place) in other.ends_holding {
            let known = self.ends_holding.entry(lock).or_insert(place);
            *known = place.min(*known);
        }
    }

    /// Takes note of a step that was tried in a state, whether or not it moved.
    pub(crate) fn note<S: System>(
        &mut self,
        system: &S,
        state: &S::State,
        thread: Position,
        step: &Step<S::State>,
    ) {
        let blocked = match step.status {
            Status::Ended => return,
            Status::Blocked { assumption } => {
                // An execution that ends at an assumption is no deadlock.
                if assumption {
                    return;
                }
                true
            }
            Status::Moved | Status::Failed(_) => false,
        };
        if blocked && step.footprint.is_empty() {
            // It waits for itself.
            self.waits.insert(system.place(state, thread));
        }
        for access in &step.footprint {
            let takes = matches!(
                access.kind,
                AccessKind::Sync(SyncOp::Acquire | SyncOp::AcquireShared | SyncOp::Resume)
            );
            if takes {
                self.held.clear();
                system.held_locks(state, thread, &mut self.held);
                let taken = system.variable(state, access.location);
                // Taking a lock again that is owned waits for nobody, nor does reading once more.
                let again = system.holds(state, thread, access.location)
                    || access.kind == AccessKind::Sync(SyncOp::AcquireShared);
                for &held in &self.held {
                    if held == access.location && again && !blocked {
                        continue;
                    }
                    let held = system.variable(state, held);
                    self.edges.entry((held, taken)).or_insert(access.place);
                }
            }
            let harmless = match access.kind {
                AccessKind::Sync(SyncOp::Acquire | SyncOp::AcquireShared) => {
                    !blocked || self.is_held(system, state, access.location)
                }
                AccessKind::Sync(SyncOp::Join) => {
                    self.held.clear();
                    system.held_locks(state, thread, &mut self.held);
                    self.held.is_empty() && !system.can_be_joined(state, thread)
                }
                _ => false,
            };
            // A right mover that waits may never be seen to: what it waits for can be taken by a
            // transaction that has not committed.
            let may_wait = matches!(
                access.kind,
                AccessKind::Sync(
                    SyncOp::Down | SyncOp::Wait | SyncOp::Resume | SyncOp::Send | SyncOp::Receive
                )
            );
            if may_wait || blocked && !harmless {
                self.waits.insert(access.place);
            }
        }
        let ended = !blocked && system.ended(&step.after, thread);
        if ended && !matches!(step.status, Status::Failed(_)) {
            self.held.clear();
            system.held_locks(&step.after, thread, &mut self.held);
            let place = step.footprint.last().map(|access| access.place);
            for &lock in &self.held {
                let lock = system.variable(&step.after, lock);
                let place = place.unwrap_or_else(|| system.place(state, thread));
                self.ends_holding.entry(lock).or_insert(place);
            }
        }
    }

    /// Whether some thread holds the lock.
    fn is_held<S: System>(&mut self, system: &S, state: &S::State, lock: Location) -> bool {
        (0..system.thread_count(state)).any(|position| {
            self.held.clear();
            system.held_locks(state, Position(position as u32), &mut self.held);
            self.held.contains(&lock)
        })
    }

    /// What follows from it.
    pub(crate) fn deadlocks(&self) -> Deadlocks {
        let mut possible: Vec<PossibleDeadlock> = Vec::new();
        possible.extend(self.circle().map(PossibleDeadlock::Circle));
        possible.extend(
            self.waits
                .first()
                .map(|&place| PossibleDeadlock::Waits(place)),
        );
        let ends = self.ends_holding.first_key_value();
        possible.extend(ends.map(|(&lock, &place)| PossibleDeadlock::EndsHolding { lock, place }));
        match possible.is_empty() {
            true => Deadlocks::Excluded,
            false => Deadlocks::Possible(possible),
        }
    }

    /// A shortest circle, if there is one.
    fn circle(&self) -> Option<Vec<Taken>> {
        let mut edges: Vec<Taken> = (self.edges.iter())
            .map(|(&(held, taken), &place)| Taken { held, taken, place })
            .collect();
        edges.sort_unstable();
        let circles = edges
            .iter()
            .filter_map(|edge| circle_through(&edges, *edge));
        circles.min_by_key(Vec::len)
    }
}

/// A shortest circle that begins with an edge: breadth-first search for a way back.
fn circle_through(edges: &[Taken], first: Taken) -> Option<Vec<Taken>> {
    let mut ways = vec![vec![first]];
    let mut met = BTreeSet::from([first.taken]);
    let mut next = 0;
    while next < ways.len() {
        let way = ways[next].clone();
        let end = way[way.len() - 1].taken;
        if end == first.held {
            return Some(way);
        }
        for &edge in edges.iter().filter(|edge| edge.held == end) {
            if met.insert(edge.taken) {
                let mut longer = way.clone();
                longer.push(edge);
                ways.push(longer);
            }
        }
        next += 1;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reductions::transactions::Transactions;
    use crate::testing::{Counters, Op};
    use crate::{PropertySet, Search};

    #[test]
    fn a_system_that_tells_no_locks_excludes_no_deadlock() {
        let one = [Op::Lock(0), Op::Lock(1), Op::Unlock(1), Op::Unlock(0)];
        let other = [Op::Lock(1), Op::Lock(0), Op::Unlock(0), Op::Unlock(1)];
        let mut system = Counters::new(&[&one, &other]);
        let search = Search::new().properties(PropertySet::NONE);
        let outcome = search.run(&mut system, &mut Transactions::default());
        assert!(matches!(
            outcome.noticed.deadlocks,
            Some(Deadlocks::Possible(_))
        ));
    }
}
