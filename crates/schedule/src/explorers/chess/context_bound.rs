//! The context bounds of happens-before graphs, by memoised dynamic programming (section 3.2).

use std::cmp::Reverse;
use std::ops::ControlFlow;

use hashbrown::HashMap;
use rapidhash::fast::RandomState;

use crate::class::{ClassHash, event_hash, next_event_hash};
use crate::execution::{Execution, Move, Observed, Readiness, ThreadId};
use crate::explorer::Visitor;
use crate::trace::{Cut, Trace};

/// The least number of preemptions with which a step can be made after a graph, `CB(s, t)`, for
/// all graphs that were asked for.
#[derive(Clone, Debug, Default)]
pub struct ContextBounds {
    known: HashMap<(ClassHash, ThreadId), u32, RandomState>,
}

/// A successor of a graph.
#[derive(Clone, Copy, Debug)]
pub(super) struct Successor {
    /// The move that leads there.
    pub(super) step: Move,
    /// The graph after it, `next(s, t)`.
    pub(super) state: ClassHash,
}

/// A graph that is a prefix of the trace: a set of its events.
pub(super) struct Prefix<'a, X> {
    execution: &'a mut X,
    trace: &'a Trace,
    /// The events of each thread.
    lanes: Vec<Vec<usize>>,
    /// The hash of each event.
    hashes: Vec<ClassHash>,
    cut: Cut,
    state: ClassHash,
    step: Observed,
}

impl<'a, X: Execution> Prefix<'a, X> {
    /// The whole trace.
    pub(super) fn whole(execution: &'a mut X, trace: &'a Trace) -> Self {
        Self::first(trace.len(), execution, trace)
    }

    /// The first events of the trace.
    pub(super) fn first(count: usize, execution: &'a mut X, trace: &'a Trace) -> Self {
        let mut prefix = Self {
            execution,
            trace,
            lanes: vec![Vec::new(); trace.lanes()],
            hashes: (0..trace.len())
                .map(|event| event_hash(trace, event))
                .collect(),
            cut: Cut::default(),
            state: ClassHash::default(),
            step: Observed::default(),
        };
        for (index, event) in trace.events().iter().enumerate() {
            prefix.lanes[event.thread().index()].push(index);
            if index < count {
                prefix.put(index);
            }
        }
        prefix
    }

    /// The graph, to come back to it.
    pub(super) fn here(&self) -> (Cut, ClassHash) {
        (self.cut.clone(), self.state)
    }

    /// Goes to another graph of the same trace.
    pub(super) fn go_to(&mut self, (cut, state): (Cut, ClassHash)) {
        self.cut = cut;
        self.state = state;
    }

    /// The hash of the graph.
    pub(super) fn state(&self) -> ClassHash {
        self.state
    }

    /// Adds an event.
    pub(super) fn put(&mut self, event: usize) {
        let known = &self.trace.events()[event];
        self.cut.set(known.thread(), known.number + 1);
        self.state = self.state.with(self.hashes[event]);
    }

    /// Takes away an event of the frontier.
    pub(super) fn take(&mut self, event: usize) {
        let known = &self.trace.events()[event];
        self.cut.set(known.thread(), known.number);
        self.state = self.state.without(self.hashes[event]);
    }

    /// The last events: those that nothing of the graph comes after. `F(s)` are their threads.
    pub(super) fn frontier(&self, frontier: &mut Vec<usize>) {
        for thread in 0..self.lanes.len() {
            let Some(event) = self.last_of(thread) else {
                continue;
            };
            let is_last = (0..self.lanes.len()).all(|other| {
                other == thread
                    || self
                        .last_of(other)
                        .is_none_or(|later| !self.trace.happens_before(event, later))
            });
            if is_last {
                frontier.push(event);
            }
        }
    }

    fn last_of(&self, thread: usize) -> Option<usize> {
        let count = self.cut.count(thread_id(thread)).checked_sub(1)?;
        Some(self.lanes[thread][count as usize])
    }

    /// Whether a thread can move after the graph; what it would do is in `self.step`.
    fn is_enabled(&mut self, thread: ThreadId) -> bool {
        self.step.clear();
        let number = self.cut.count(thread);
        let lane = self.lanes.get(thread.index());
        let cause = match lane.and_then(|lane| lane.get(number as usize)) {
            Some(&event) => self.trace.cause_of(event),
            None => self.trace.pending_cause(thread),
        };
        cause.is_none_or(|cause| self.cut.contains(&self.trace.events()[cause]))
            && self
                .execution
                .foresee(self.trace, &self.cut, thread, number, &mut self.step)
    }

    /// All successors of the whole trace. There are none if the execution is over: also when it failed.
    pub(super) fn next(&mut self, successors: &mut Vec<Successor>) {
        let threads = self.execution.threads().iter();
        let over = threads
            .map(|&thread| self.execution.readiness(thread))
            .all(|status| status != Readiness::Enabled);
        if !over {
            self.successors(successors);
        }
    }

    /// All successors.
    pub(super) fn successors(&mut self, successors: &mut Vec<Successor>) {
        for index in 0..self.execution.threads().len() {
            let thread = self.execution.threads()[index];
            if !self.is_enabled(thread) {
                continue;
            }
            for choice in 0..self.step.alternatives {
                let step = Move { thread, choice };
                let hash = next_event_hash(self.trace, &self.cut, step, &self.step);
                successors.push(Successor {
                    step,
                    state: self.state.with(hash),
                });
            }
        }
    }
}

/// A graph whose bound is being computed.
struct Frame {
    /// The thread that is to move after it.
    thread: ThreadId,
    /// Its last events not looked at yet are those from here on in the list of all frames.
    frontier: usize,
    best: u32,
}

impl ContextBounds {
    /// `CB(s, t)`:
    ///
    /// ```text
    /// CB(s_I, t) = 0
    /// CB(s, t) = min over t' in F(s) of CB(s - t', t') + (if t' = t or t' not in E(s) then 0 else 1)
    /// ```
    ///
    /// What costs nothing comes first, and of that what happened last in the trace, which mostly leads to the least. What is left
    /// cannot be less than what it costs itself, so it often need not be looked at.
    ///
    /// The recursion is as deep as the trace is long, so its stack is a vector. It goes through all prefixes of the graph, so
    /// the visitor is asked on the way whether to go on; if not, the prefix is left anyhow.
    pub(super) fn of_step<X: Execution>(
        &mut self,
        prefix: &mut Prefix<'_, X>,
        thread: ThreadId,
        visitor: &mut impl Visitor<X>,
    ) -> ControlFlow<(), u32> {
        if let Some(bound) = self.get(prefix, thread) {
            return ControlFlow::Continue(bound);
        }
        // The last events, and what the step costs after them.
        let mut frontiers: Vec<(usize, u32)> = Vec::new();
        let mut frames = vec![Self::frame(prefix, thread, &mut frontiers)];
        while let Some(frame) = frames.last_mut() {
            let least = frontiers[frame.frontier..].last().map(|(_, cost)| *cost);
            if least.is_none_or(|least| frame.best <= least) {
                self.known.insert((prefix.state, frame.thread), frame.best);
                frontiers.truncate(frame.frontier);
                frames.pop();
                if let Some(&(event, _)) = frontiers.last() {
                    prefix.put(event);
                }
                continue;
            }
            let (event, cost) = frontiers[frontiers.len() - 1];
            let last = prefix.trace.events()[event].thread();
            prefix.take(event);
            if let Some(before) = self.get(prefix, last) {
                prefix.put(event);
                frontiers.pop();
                frame.best = frame.best.min(before + cost);
            } else {
                visitor.pulse()?;
                let frame = Self::frame(prefix, last, &mut frontiers);
                frames.push(frame);
            }
        }
        ControlFlow::Continue(self.get(prefix, thread).unwrap_or(0))
    }

    fn get<X>(&self, prefix: &Prefix<'_, X>, thread: ThreadId) -> Option<u32> {
        if prefix.state == ClassHash::default() {
            return Some(0);
        }
        self.known.get(&(prefix.state, thread)).copied()
    }

    fn frame<X: Execution>(
        prefix: &mut Prefix<'_, X>,
        thread: ThreadId,
        frontiers: &mut Vec<(usize, u32)>,
    ) -> Frame {
        let frontier = frontiers.len();
        let mut events = Vec::new();
        prefix.frontier(&mut events);
        for event in events {
            let last = prefix.trace.events()[event].thread();
            let preempts = last != thread && prefix.is_enabled(last);
            frontiers.push((event, u32::from(preempts)));
        }
        // They are looked at from the end.
        frontiers[frontier..].sort_unstable_by_key(|&(event, cost)| (Reverse(cost), event));
        Frame {
            thread,
            frontier,
            best: u32::MAX,
        }
    }

    /// How many bounds are remembered.
    #[must_use]
    pub fn len(&self) -> usize {
        self.known.len()
    }

    /// Whether none is.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.known.is_empty()
    }
}

fn thread_id(index: usize) -> ThreadId {
    ThreadId(u32::try_from(index).unwrap_or(u32::MAX))
}
