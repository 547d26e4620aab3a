//! What is missing between two accesses that race: the stores that do not publish, and the loads that do not acquire.
//!
//! A program that races has mostly relied on something: a flag was set after the one access, and the other one was made after the flag was found to be set.
//! So there is a path of program order and reads-from from the one to the other. Each part of it orders, but for some reads: what is read was not released, or the read
//! does not acquire it. [`missing`] finds the path with the fewest such orderings, after the rules of the clocks of a graph: release sequences and fences count.
//!
//! **What it means:** with these orderings made stronger, this execution has the one access happen before the other, since then every part of the path is
//! an edge of happens-before. **What it does not:** that the program is right then. Other executions may need more, and are explored when it is checked again.

use raddle_schedule::ThreadId;

use crate::operation::Order;

/// A step of an execution, as far as it can order others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// Who makes it.
    pub thread: ThreadId,
    /// What it does.
    pub action: Action,
    /// The ordering that it has.
    pub order: Order,
    /// Whether somebody could give it another ordering.
    pub is_open: bool,
}

impl Step {
    /// The steps whose writes it reads.
    #[must_use]
    pub fn reads_from(&self) -> &[usize] {
        match &self.action {
            Action::Access { from, .. } => from,
            _ => &[],
        }
    }
}

/// What a step does that can order others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// It is an atomic access.
    Access {
        /// The steps whose writes it reads.
        from: Vec<usize>,
        /// Whether it writes.
        writes: bool,
    },
    /// A fence.
    Fence,
    /// It starts a thread.
    Starts(ThreadId),
    /// It has waited for the end of a thread.
    Joins(ThreadId),
    /// Nothing.
    None,
}

/// An ordering that is too weak.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missing {
    /// What was done before this step is not published by it.
    Release {
        /// The step that writes.
        write: usize,
    },
    /// This step reads what another one publishes, and does not acquire it.
    Acquire {
        /// The step that reads.
        read: usize,
        /// The step that it reads from.
        write: usize,
    },
}

/// The orderings that are missing on a way from an access; `None` if there is no way.
type Way = Option<Vec<Missing>>;

fn shorten(way: &mut Way, other: Way) {
    let is_shorter = match (&*way, &other) {
        (_, None) => false,
        (None, Some(_)) => true,
        (Some(way), Some(other)) => other.len() < way.len(),
    };
    if is_shorter {
        *way = other;
    }
}

fn with(way: &Way, missing: Missing) -> Way {
    let mut way = way.clone()?;
    way.push(missing);
    Some(way)
}

/// How an access has become known.
#[derive(Clone, Debug, Default)]
struct Lane {
    /// To the thread.
    known: Way,
    /// To who acquires what the thread writes from now on, since it was known before a releasing fence.
    fenced: Way,
    /// To the thread, as soon as it makes an acquiring fence.
    pending: Way,
}

/// A place between two steps of an execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Point {
    /// Of this thread.
    pub thread: ThreadId,
    /// After this many of its steps.
    pub steps: usize,
}

/// The orderings that are too weak on the way from one point of an execution to another one, as few as possible; none if one point happens before the other, or if
/// no reads-from leads from one to the other. The steps come in an order that extends program order and reads-from.
///
/// ```
/// use raddle_memory::{Missing, Order, Point, Step, missing};
/// use raddle_memory::Action::Access;
/// use raddle_schedule::ThreadId;
///
/// let (one, two) = (ThreadId(0), ThreadId(1));
/// let store = Step {
///     thread: one,
///     action: Access { from: vec![], writes: true },
///     order: Order::Relaxed,
///     is_open: true,
/// };
/// let load = Step {
///     thread: two,
///     action: Access { from: vec![0], writes: false },
///     order: Order::Acquire,
///     is_open: true,
/// };
/// let before = Point { thread: one, steps: 0 };
/// let after = Point { thread: two, steps: 1 };
/// assert_eq!(
///     missing(&[store, load], before, after),
///     [Missing::Release { write: 0 }]
/// );
/// ```
#[must_use]
pub fn missing(steps: &[Step], one: Point, other: Point) -> Vec<Missing> {
    let mut search = Search::default();
    let mut made = vec![0; 1];
    let begin = |search: &mut Search, thread: ThreadId, made: usize| {
        if (Point {
            thread,
            steps: made,
        }) == one
        {
            search.lane(thread).known = Some(Vec::new());
        }
    };
    begin(&mut search, one.thread, 0);
    for (number, step) in steps.iter().enumerate() {
        let thread = step.thread;
        if made.len() <= thread.index() {
            made.resize(thread.index() + 1, 0);
        }
        if thread == other.thread && made[thread.index()] == other.steps {
            break;
        }
        search.make(number, step);
        made[thread.index()] += 1;
        begin(&mut search, thread, made[thread.index()]);
    }
    search.lane(other.thread).known.take().unwrap_or_default()
}

#[derive(Debug, Default)]
struct Search {
    lanes: Vec<Lane>,
    /// By step: to who acquires what it writes.
    released: Vec<Way>,
}

impl Search {
    fn lane(&mut self, thread: ThreadId) -> &mut Lane {
        if self.lanes.len() <= thread.index() {
            self.lanes.resize_with(thread.index() + 1, Lane::default);
        }
        &mut self.lanes[thread.index()]
    }

    fn make(&mut self, number: usize, step: &Step) {
        let thread = step.thread;
        self.released.resize(number, None);
        let mut released = None;
        match &step.action {
            Action::Access { from, writes } => {
                for &write in from {
                    self.read(number, step, write);
                    if *writes {
                        shorten(&mut released, self.released[write].clone());
                    }
                }
                if *writes {
                    let lane = self.lane(thread);
                    shorten(&mut released, lane.fenced.clone());
                    if step.order.releases() {
                        shorten(&mut released, lane.known.clone());
                    } else if step.is_open {
                        let weak = Missing::Release { write: number };
                        shorten(&mut released, with(&lane.known, weak));
                    }
                }
            }
            Action::Fence => {
                let lane = self.lane(thread);
                if step.order.acquires() {
                    let pending = lane.pending.clone();
                    shorten(&mut lane.known, pending);
                }
                if step.order.releases() {
                    let known = lane.known.clone();
                    shorten(&mut lane.fenced, known);
                }
            }
            Action::Starts(child) => {
                let known = self.lane(thread).known.clone();
                shorten(&mut self.lane(*child).known, known);
            }
            Action::Joins(child) => {
                let known = self.lane(*child).known.clone();
                shorten(&mut self.lane(thread).known, known);
            }
            Action::None => {}
        }
        self.released.push(released);
    }

    fn read(&mut self, number: usize, step: &Step, write: usize) {
        let view = self.released[write].clone();
        let lane = self.lane(step.thread);
        if step.order.acquires() {
            shorten(&mut lane.known, view);
            return;
        }
        if step.is_open {
            let weak = Missing::Acquire {
                read: number,
                write,
            };
            shorten(&mut lane.known, with(&view, weak));
        }
        shorten(&mut lane.pending, view);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: ThreadId = ThreadId(0);
    const TWO: ThreadId = ThreadId(1);
    const THREE: ThreadId = ThreadId(2);

    fn step(thread: ThreadId, action: Action, order: Order) -> Step {
        Step {
            thread,
            action,
            order,
            is_open: true,
        }
    }

    fn store(thread: ThreadId, order: Order) -> Step {
        let action = Action::Access {
            from: Vec::new(),
            writes: true,
        };
        step(thread, action, order)
    }

    fn load(thread: ThreadId, from: usize, order: Order) -> Step {
        let action = Action::Access {
            from: vec![from],
            writes: false,
        };
        step(thread, action, order)
    }

    fn update(thread: ThreadId, from: usize, order: Order) -> Step {
        let action = Action::Access {
            from: vec![from],
            writes: true,
        };
        step(thread, action, order)
    }

    fn fence(thread: ThreadId, order: Order) -> Step {
        step(thread, Action::Fence, order)
    }

    /// From the beginning of the first thread to the end of another one.
    fn between(steps: &[Step], other: ThreadId) -> Vec<Missing> {
        let made = steps.iter().filter(|step| step.thread == other).count();
        let one = Point {
            thread: ONE,
            steps: 0,
        };
        let other = Point {
            thread: other,
            steps: made,
        };
        missing(steps, one, other)
    }

    #[test]
    fn each_side_of_a_read_can_be_too_weak() {
        use Order::{Acquire, Relaxed, Release};
        let release = Missing::Release { write: 0 };
        let acquire = Missing::Acquire { read: 1, write: 0 };
        let cases = [
            (Release, Acquire, vec![]),
            (Relaxed, Acquire, vec![release]),
            (Release, Relaxed, vec![acquire]),
            (Relaxed, Relaxed, vec![release, acquire]),
        ];
        for (write, read, expected) in cases {
            let steps = [store(ONE, write), load(TWO, 0, read)];
            assert_eq!(between(&steps, TWO), expected);
        }
    }

    #[test]
    fn nothing_is_missing_where_nothing_is_read() {
        let steps = [store(ONE, Order::Relaxed), store(TWO, Order::Relaxed)];
        assert_eq!(between(&steps, TWO), []);
    }

    #[test]
    fn fences_count() {
        use Order::{Acquire, Relaxed, Release, SeqCst};
        let with_fences = [
            fence(ONE, Release),
            store(ONE, Relaxed),
            load(TWO, 1, Relaxed),
            fence(TWO, Acquire),
        ];
        assert_eq!(between(&with_fences, TWO), []);
        let without_the_last = [
            fence(ONE, SeqCst),
            store(ONE, Relaxed),
            load(TWO, 1, Relaxed),
        ];
        let acquire = Missing::Acquire { read: 2, write: 1 };
        assert_eq!(between(&without_the_last, TWO), [acquire]);
    }

    #[test]
    fn an_update_carries_on_what_it_reads_whatever_its_ordering() {
        use Order::{Acquire, Relaxed, Release};
        let steps = [
            store(ONE, Release),
            update(TWO, 0, Relaxed),
            load(THREE, 1, Acquire),
        ];
        assert_eq!(between(&steps, THREE), []);
        // To the thread that makes it, it is not known.
        assert_eq!(
            between(&steps, TWO),
            [Missing::Acquire { read: 1, write: 0 }]
        );
    }

    #[test]
    fn the_way_with_the_fewest_is_taken() {
        use Order::{Acquire, Relaxed};
        let steps = [
            store(ONE, Relaxed),
            load(TWO, 0, Relaxed),
            store(ONE, Relaxed),
            load(TWO, 2, Acquire),
        ];
        assert_eq!(between(&steps, TWO), [Missing::Release { write: 2 }]);
    }

    #[test]
    fn what_nobody_can_change_is_not_named() {
        let mut write = store(ONE, Order::Relaxed);
        write.is_open = false;
        let steps = [write, load(TWO, 0, Order::Acquire)];
        assert_eq!(between(&steps, TWO), []);
    }

    #[test]
    fn an_access_after_a_store_is_not_published_by_it() {
        let steps = [store(ONE, Order::Relaxed), load(TWO, 0, Order::Acquire)];
        let late = Point {
            thread: ONE,
            steps: 1,
        };
        let other = Point {
            thread: TWO,
            steps: 1,
        };
        assert_eq!(missing(&steps, late, other), []);
    }

    #[test]
    fn threads_carry_what_is_known() {
        use Order::{Acquire, Relaxed};
        let steps = [
            step(TWO, Action::Starts(THREE), Relaxed),
            store(ONE, Relaxed),
            load(THREE, 1, Acquire),
            step(TWO, Action::Joins(THREE), Relaxed),
        ];
        assert_eq!(between(&steps, TWO), [Missing::Release { write: 1 }]);
    }
}
