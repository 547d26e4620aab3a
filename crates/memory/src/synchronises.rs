//! [`synchronises`]: which steps of an execution synchronise with which, for pictures.
//!
//! The clocks of a graph know what happens before what, not by which edges. Here the edges are found, after the same rules: a release is the releasing write, or the last releasing fence
//! before it; updates carry on what they read; an acquire is the acquiring read, or the first acquiring fence after it.

use crate::missing::{Action, Step};

/// The pairs of steps of which the first synchronises with the second. The starts of threads and waits for their ends are among them. What follows from other pairs and program order
/// is left out. The steps come in an order that extends program order and reads-from.
///
/// ```
/// use raddle_memory::{Order, Step, synchronises};
/// use raddle_memory::Action::Access;
/// use raddle_schedule::ThreadId;
///
/// let step = |thread: u32, from: Vec<usize>, order| Step {
///     thread: ThreadId(thread),
///     action: Access { writes: from.is_empty(), from },
///     order,
///     is_open: true,
/// };
/// let store = step(0, vec![], Order::Release);
/// let acquires = step(1, vec![0], Order::Acquire);
/// let does_not = step(2, vec![0], Order::Relaxed);
/// assert_eq!(synchronises(&[store, acquires, does_not]), [(0, 1)]);
/// ```
#[must_use]
pub fn synchronises(steps: &[Step]) -> Vec<(usize, usize)> {
    let mut search = Search::default();
    for (number, step) in steps.iter().enumerate() {
        search.make(number, step);
    }
    search.edges
}

/// For each thread, how many of its steps are known.
type Clock = Vec<usize>;

fn join(clock: &mut Clock, other: &Clock) {
    if clock.len() < other.len() {
        clock.resize(other.len(), 0);
    }
    for (entry, other) in clock.iter_mut().zip(other) {
        *entry = (*entry).max(*other);
    }
}

#[derive(Debug, Default)]
struct Lane {
    made: usize,
    known: Clock,
    last: Option<usize>,
    started_by: Option<usize>,
    /// The last releasing fence.
    fence: Option<usize>,
    /// The releases that an acquiring fence would acquire.
    pending: Vec<usize>,
}

#[derive(Debug, Default)]
struct Search {
    lanes: Vec<Lane>,
    /// By step: its thread, its number there, and what happens before it and is it.
    names: Vec<(usize, usize)>,
    known: Vec<Clock>,
    /// By step: the releases that who acquires its write synchronises with.
    released: Vec<Vec<usize>>,
    edges: Vec<(usize, usize)>,
}

impl Search {
    fn lane(&mut self, thread: usize) -> &mut Lane {
        if self.lanes.len() <= thread {
            self.lanes.resize_with(thread + 1, Lane::default);
        }
        &mut self.lanes[thread]
    }

    /// Whether a step is known to who has this clock.
    fn is_known(&self, clock: &Clock, step: usize) -> bool {
        let (thread, index) = self.names[step];
        clock.get(thread).is_some_and(|&known| known > index)
    }

    /// A step with this clock comes after these.
    fn comes_after(&mut self, number: usize, clock: &mut Clock, mut sources: Vec<usize>) {
        sources.sort_unstable();
        sources.dedup();
        sources.retain(|&source| !self.is_known(clock, source));
        for (index, &source) in sources.iter().enumerate() {
            let mut others = sources.iter().enumerate();
            let follows = others
                .any(|(other, &later)| other != index && self.is_known(&self.known[later], source));
            if !follows {
                self.edges.push((source, number));
            }
        }
        for source in sources {
            join(clock, &self.known[source]);
        }
    }

    fn make(&mut self, number: usize, step: &Step) {
        let thread = step.thread.index();
        let lane = self.lane(thread);
        let index = lane.made;
        let mut clock = std::mem::take(&mut lane.known);
        let mut sources: Vec<usize> = match index {
            0 => lane.started_by.into_iter().collect(),
            _ => Vec::new(),
        };
        let mut carried = Vec::new();
        match &step.action {
            Action::Access { from, writes } => {
                let released = from.iter().flat_map(|&write| &self.released[write]);
                let released: Vec<usize> = released.copied().collect();
                if *writes {
                    carried.clone_from(&released);
                }
                match step.order.acquires() {
                    true => sources.extend(released),
                    false => self.lane(thread).pending.extend(released),
                }
            }
            Action::Fence if step.order.acquires() => {
                sources.append(&mut self.lane(thread).pending);
            }
            Action::Joins(child) => sources.extend(self.lane(child.index()).last),
            Action::Starts(child) => self.lane(child.index()).started_by = Some(number),
            Action::Fence | Action::None => {}
        }
        self.names.push((thread, index));
        self.comes_after(number, &mut clock, sources);
        if clock.len() <= thread {
            clock.resize(thread + 1, 0);
        }
        clock[thread] = index + 1;
        self.known.push(clock.clone());
        let releases = step.order.releases();
        let lane = self.lane(thread);
        lane.made += 1;
        lane.known = clock;
        lane.last = Some(number);
        if step.action == Action::Fence && releases {
            lane.fence = Some(number);
        }
        let own = if releases { Some(number) } else { lane.fence };
        let released = match step.action {
            Action::Access { writes: true, .. } => {
                let is_new =
                    |&head: &usize| !own.is_some_and(|own| self.is_known(&self.known[own], head));
                own.into_iter()
                    .chain(carried.into_iter().filter(is_new))
                    .collect()
            }
            _ => Vec::new(),
        };
        self.released.push(released);
    }
}
