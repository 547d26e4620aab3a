//! Dynamic partial-order reduction within a bound on preemptions.
//!
//! After Coons, Musuvathi, McKinley, *Bounded partial-order reduction* (OOPSLA 2013). Only schedules with at most
//! `bound` preemptions are run, and for every class that has such a schedule one of that class. The search keeps one execution
//! and a few numbers for each of its states, whatever the number of classes. It may run a class more than once.
//!
//! An execution is run to its end by letting each thread run as long as it can. For every *race*, a pair of
//! conflicting events `e`, `q` of different threads where `q`'s thread did not know of `e` before `q`, a thread that leads to `q`
//! is *requested* in two states: the one before `e`, and the one where the run that `e` belongs to began. The first is that of
//! every dynamic reduction. It costs a preemption. The second is the *conservative* one: a switch there costs
//! nothing if the thread before had ended or was blocked, so `q` may come before the whole run of `e` within the bound even if
//! it cannot come just before `e`.
//!
//! # Why nothing is missed
//!
//! Notation. `E` is the sequence of events that leads to an explored state, `c` its last thread. `T(b)` is what thread `b` does from `E` on
//! until it ends or is blocked; its last state is explored too, because every new state is left by the thread that arrived there, if it can move.
//! `s(x, y)` is the cost of a switch from `x` to `y`: 1 if `x` could go on, else 0. A *pending* step is one that a thread is blocked at. `β` is any
//! sequence, maximal or not, with which `E.β` has at most `bound` preemptions. `P` are the threads explored from `E`.
//!
//! **Claim.** For every explored `E` and every `β`, some explored execution that begins with `E` is `E.β.γ` up to the order of independent
//! steps, for some `γ`. If `β` ends with a step at which a thread is blocked, there is a state in that execution in which the thread is blocked at it and waits
//! for the same. (For `E` empty and `β` a whole schedule, that is what the search promises.) By induction on how much can follow `E`.
//!
//! 1. If the thread of `β[0]` is in `P`, the claim holds for the state after that step. All alternatives of a thread's step are explored.
//! 2. *Free order.* For a `b` in `P`, let `T(b)` be independent of all of `β` before the first run of `b` in `β`, and of the pending steps at
//!    which threads are left for free there. Then the first run `R` of `b` can move to the front: `E.R.β'`. That is no more expensive. `s(c, b)` is
//!    at most `s(c, β[0])`: either `c` can move, then `c` is in `P` and `β` begins with another thread, or both cost nothing. To leave `b` after `R` costs
//!    at the front what it cost before: whether the next step of `b` is possible does not depend on what `R` is moved over. And what was
//!    left for `b` is now left for the thread after `R`, at the same cost, since `R` makes no pending step possible. Then 1 applies.
//! 3. For `b = c` less is enough: to move the part of `R` before its first conflict costs nothing either, since `c` is preempted anyway, once, before
//!    that part or after it. So unless 2 applies, the first step of `c` from `E` conflicts.
//! 4. Otherwise each `b` in `P` has a first conflict of `T(b)` with `β`: a step or pending step `q`, with `β = w.q…`. `E.T(b).w.q`
//!    (where `q` may be blocked) has no more preemptions than `E.β`, because to leave `b` after `T(b)` costs nothing. By induction it is covered by
//!    executions that begin with `E.T(b)`. There `q`, as an event or as pending in some state, conflicts with an event of `T(b)`, which its thread does not know of, and
//!    `E` is the state where the run began (for `c`, the one before the event, by 3). So all threads that have a first step in what leads to `q` were requested: there is one
//!    whose first step `x` is in `w.q` and depends on nothing in `β` before it. It is enabled at `E`, so it is in `P`. Its own first conflict comes before `x`, so before that
//!    of `b`. This descent ends, and where it ends 1 or 2 applies.
//!
//! What makes the difference to a search without bound:
//!
//! - An event races with *all* earlier conflicting events that its thread does not know of, not only with the last. Those between may be
//!   affordable only later or never.
//! - A thread that is blocked in some state races there, as if it had tried its next step. When it is made later, that step may touch something else: one that waits for
//!   `x == 1 || y == 1` with `x` 0 and `y` 0 touches both, and only `x` after `x` was set. The write that made `y` 0 is what it races with.
//! - `q` may be blocked at `E`, and what leads to it then contains a step `g` that makes it possible. Either `g` conflicts with `q` where that was made, and so with what
//!   was in its way, or `q` waits at `E` for something that it did not touch where it was made. In that case all threads are requested.
//! - A lock races with the unlock before it. It can't come first; but its thread can arrive earlier, and is left for free while it is blocked.
//! - All threads with which the way to `q` can begin are requested, not one of them.
//!
//! Executions that fail end although threads could move, so `E.T(b).w.q` need not exist if `T(b)` fails. Then all threads are requested in all
//! states of the run that failed, and 1 applies there.
//!
//! # Sleep
//!
//! Without more, independent runs would be tried in every order. A thread `s` that was explored from `E` *sleeps* in the states
//! after the branches taken later, until a step, or the pending step of a thread that is left, conflicts with `T(s)` or with the pending
//! step that ends it. A thread that sleeps is not run: by the argument of 2, `s` can be moved to the front of everything since `E`, and
//! the schedule that results was covered when `s` was explored. Three points need care.
//!
//! - A request for a thread that sleeps: what leads to `q` may begin with it, but in a schedule where its run conflicts with something that comes
//!   before it, and such a schedule is not covered. Then all threads that do not sleep are requested.
//! - The claim is then for sequences `β` in which no sleeping thread can be moved to the front. 1: what sleeps after `β[0]` slept before, or was explored
//!   from `E` earlier, and can then be moved before `β[0]`. 2: likewise. 4: `w.q` has such a thread only if `β` has. The thread of `β[0]`
//!   neither sleeps nor is in `P`, so no request at `E` was for a thread that sleeps.
//! - An execution in which all that could move sleep is redundant, but it has the races that lead elsewhere, like every other.
//!
//! The thread `c` that could go on at `E`, and was explored there first, sleeps by its *first step* `x` alone: until a step, or the pending step of a thread that
//! is left, conflicts with `x`. Every other thread is explored from `E` after a preemption of `c`. Let `V` come next, with which `x` does not conflict, and let `c`
//! go on then. By 3, `x` moves before `V` at no cost:
//!
//! - `c` is preempted after `x` instead of before it, or is left for free there.
//! - The last thread of `V` is left for `c`, or, if `c` made no other step than `x`, for the thread that came after `c`. That costs what it cost to leave it for
//!   `c`, because whether its next step is possible does not depend on `x`.
//!
//! So of all places where `c` may be preempted for `V`, only the last one before a conflict is tried.
//!
//! A run with alternatives, or with a step of last resort, never sleeps; nor does a thread by such a step.
//!
//! # Preempted in vain
//!
//! Let thread `c` be preempted in a run, of which `R` was done, then `V` happen, and `c` go on, where nothing in `V`, and no pending step at
//! which a thread is left for free in `V`, depends on `R`. Then `V` can move before `R`: the same class with one preemption less. So `c` is not resumed there, and
//! counts as asleep for requests. Schedules with this pattern are not needed in the claim:
//!
//! - The schedule of a class with the fewest preemptions does not have it, so the claim for `E` empty says the same.
//! - Moving a run to the front, as in 2 and 3, does not bring about the pattern. If it is there afterwards, with `R`, `V` and `c`, then it was there before
//!   with the part of `V` that was not moved; if there is no such part, `β` began with `c`, which is in `P`.
//! - `E.T(b).w.q` in 4 does not have it, unless `E.w.q` has: `T(b)` ends where `b` is not preempted, and as part of `V` it only adds to what must not depend on `R`.
//!
//! A schedule that is left out for this reason is covered by one with fewer preemptions, one that is left out because of sleep by one that was
//! explored earlier and has no more of them. So they never rely on each other in a circle.
//!
//! # Arriving in vain
//!
//! A lock races with each unlock before it, so its thread is requested before each of them, to arrive there and wait. Mostly it might as well arrive before the last one.
//!
//! Let `c` be running at `E`, let `t` be the only other thread that can move there, and `V = T(t)`, which ends with a pending step `p`. Let no third thread be able to move after
//! a part of `V` either. Let `W` be a part of `T(c)` that is independent of `V`, and let one of these be so:
//!
//! - a: `p` is not possible after `E.W.V` either;
//! - b: `c` cannot go on after `E.W`;
//! - c: neither `c` nor a third thread can move after `E.V.W`.
//!
//! Then `t` need not be explored from `E`. Whatever begins with it can be rearranged to begin with `c`, and has no more preemptions then:
//!
//! - If `t` is preempted within `V`, the next step is one of `c`. It moves to the front by 3.
//! - Otherwise `c` is preempted for `V`, `t` is left for free, and a part `W'` of `W` comes next. If another thread than `c` comes before the end of `W`, `E.V.W'` has cost one preemption,
//!   and to leave `c` costs one more. `E.W'.V` costs one, and to leave `t` at most one more.
//! - After the whole of `W`, `E.V.W` has cost one. a: `E.W.V` costs at most one, and it is free to leave `t`. b: `E.W.V` costs nothing, and to leave `t` at most one, whoever comes next.
//!   c: the next one is `t`, which goes on after `E.W.V`.
//!
//! So the claim for `E` is about sequences that begin with `c`, which is in `P`. In the claims for the states before `E`, sequences that come by `E` and begin with `t` there are replaced by
//! the rearranged ones. They are of the same class and begin with the same run. What sleeps at `E` and can be moved there could move at `E`, but is neither `c` nor a third thread. And they are
//! not preempted in vain unless the others are: for a third thread this could be so if it had been preempted before `E`, because `t` is no longer left at `p`; such states are excepted.
//!
//! That a third thread must not be able to move is essential: it could go on for free while `t` waits. What it does then may conflict with `W`, and be too expensive later.
//!
//! There is one more reason to explore `t` from `E`: the races of `p`. A step may touch more in one state than in another (a send that finds its channel full, or the receiver gone). So `p` must touch
//! nothing after `E.V` that it does not touch in this execution, where its races have been found.
//!
//! All this is found in an execution where `V` comes after `W`. It then holds of `E` for good, since `V` and `W` have no alternatives.
//!
//! # Departures
//!
//! - The paper has no sleep sets in this form, and its requests are for one thread or for all.
//! - Steps, dependence and blocking are those of [`Execution`]. What a thread waits for is what its pending step touches.

mod arrivals;
mod asleep;
mod races;

use std::ops::ControlFlow;
use std::rc::Rc;

use asleep::{Asleep, Run};
use raddle_outcome::{Coverage, Extent, LeftOut};

use crate::execution::{Diverged, Execution, Move, Observed, ThreadId};
use crate::explorer::{Explorer, Visitor, part_done};
use crate::trace::{Cut, Trace};

/// The search within a bound.
#[derive(Clone, Copy, Debug, Default)]
pub struct Bounded {
    /// How many preemptions a schedule may have.
    pub bound: u32,
    /// How many executions turned out on the way to be of classes that others are of, too.
    pub redundant: u64,
}

/// [`Bounded`] for the bounds 0, 1, 2, ... The search for a bound runs what those before it have run, too.
#[derive(Clone, Copy, Debug, Default)]
pub struct Deepening {
    /// The last bound, if there is one. Otherwise it ends when a bound has cut off nothing.
    pub bound: Option<u32>,
}

impl Bounded {
    /// The search within this bound.
    #[must_use]
    pub fn new(bound: u32) -> Self {
        Self {
            bound,
            redundant: 0,
        }
    }
}

impl Explorer for Bounded {
    fn explore<X: Execution>(
        &mut self,
        execution: &mut X,
        visitor: &mut impl Visitor<X>,
    ) -> Result<Coverage, Diverged> {
        let mut search = Search::new(execution, self.bound);
        let ended = search.run(visitor)?;
        self.redundant = search.redundant;
        Ok(LeftOut::default().covering(search.extent(ended)))
    }

    /// One worker does it all.
    fn explore_in_parallel<X: Execution, V: Visitor<X>>(
        &mut self,
        _workers: usize,
        worker: impl Fn(usize) -> (X, V) + Sync,
    ) -> Result<Coverage, Diverged> {
        let (mut execution, mut visitor) = worker(0);
        self.explore(&mut execution, &mut visitor)
    }
}

impl Explorer for Deepening {
    fn explore<X: Execution>(
        &mut self,
        execution: &mut X,
        visitor: &mut impl Visitor<X>,
    ) -> Result<Coverage, Diverged> {
        let mut bound = 0;
        loop {
            let coverage = Bounded::new(bound).explore(execution, visitor)?;
            if !matches!(coverage.extent(), Extent::UpToBound(_))
                || self.bound == Some(bound)
                || visitor.bound_reached(bound).is_break()
            {
                return Ok(coverage);
            }
            bound += 1;
        }
    }

    /// One worker does it all.
    fn explore_in_parallel<X: Execution, V: Visitor<X>>(
        &mut self,
        _workers: usize,
        worker: impl Fn(usize) -> (X, V) + Sync,
    ) -> Result<Coverage, Diverged> {
        let (mut execution, mut visitor) = worker(0);
        self.explore(&mut execution, &mut visitor)
    }
}

/// The state before an event.
#[derive(Debug, Default)]
struct Node {
    /// How many preemptions it took to get here.
    preemptions: u32,
    /// The thread that moved last, if it can go on: to let another one move is a preemption.
    running: Option<ThreadId>,
    /// Whether the thread that moved last is blocked.
    is_blocked: bool,
    /// Where the threads that can move begin in the list of those of all nodes.
    first_enabled: usize,
    /// How many locations have the same number in all executions that come by here.
    stable_locations: usize,
    /// Threads that are still to be explored.
    requested: Vec<ThreadId>,
    /// Those that were, without the one that is, and those that never need to be.
    explored: Vec<ThreadId>,
    /// Those that need not be.
    asleep: Vec<Asleep>,
    /// What the thread that is being explored does from here on if it is let: a run, from one of its steps on.
    run: Option<(Rc<Run>, usize)>,
}

struct Search<'a, X> {
    execution: &'a mut X,
    bound: u32,
    trace: Trace,
    /// The state before each event of the trace, but for those that were made after the execution was known to be redundant.
    nodes: Vec<Node>,
    /// How many of them are in use.
    depth: usize,
    /// The threads that can move in each state, one state after the other.
    enabled: Vec<ThreadId>,
    /// The event with which the run of each event began.
    run_starts: Vec<usize>,
    /// The events of each thread.
    lanes: Vec<Vec<usize>>,
    /// The threads that are blocked in each state, one state after the other.
    blocked: Vec<races::Second>,
    /// Where those of each state begin.
    first_blocked: Vec<usize>,
    /// The threads that can move in the state after the trace.
    ready: Vec<ThreadId>,
    races: races::Races,
    step: Observed,
    cut: Cut,
    redundant: u64,
    /// Whether the bound has kept something from being run.
    was_cut: bool,
}

impl<'a, X: Execution> Search<'a, X> {
    fn new(execution: &'a mut X, bound: u32) -> Self {
        Self {
            execution,
            bound,
            trace: Trace::new(),
            nodes: Vec::new(),
            depth: 0,
            enabled: Vec::new(),
            run_starts: Vec::new(),
            lanes: Vec::new(),
            blocked: Vec::new(),
            first_blocked: Vec::new(),
            ready: Vec::new(),
            races: races::Races::default(),
            step: Observed::default(),
            cut: Cut::default(),
            redundant: 0,
            was_cut: false,
        }
    }

    fn extent(&self, ended: ControlFlow<()>) -> Extent {
        match ended {
            ControlFlow::Break(()) => Extent::Some,
            ControlFlow::Continue(()) if self.was_cut => Extent::UpToBound(self.bound),
            ControlFlow::Continue(()) => Extent::All,
        }
    }

    fn run(&mut self, visitor: &mut impl Visitor<X>) -> Result<ControlFlow<()>, Diverged> {
        self.execution.restart();
        let mut begin = 0;
        loop {
            while let Some(next) = self.next_move() {
                self.make(next)?;
                if visitor.pulse().is_break() {
                    return Ok(ControlFlow::Break(()));
                }
            }
            if visitor.ended(self.execution, &self.trace).is_break() {
                return Ok(ControlFlow::Break(()));
            }
            if self.remember_runs(begin, visitor).is_break()
                || self.request_all(begin, visitor).is_break()
            {
                return Ok(ControlFlow::Break(()));
            }
            visitor.estimate(&|| self.part_done());
            let Some(next) = self.backtrack() else {
                return Ok(ControlFlow::Continue(()));
            };
            begin = self.trace.len();
            self.execution.replay(&mut self.trace, &mut self.step)?;
            self.make(next)?;
        }
    }

    /// What to do after the trace, if something can be done. Makes a node for the state, unless all that can move there sleep, or have
    /// slept before: then all classes that the execution may become one of are covered. It is run to its end nevertheless, since
    /// whoever watches learns from whole executions only.
    fn next_move(&mut self) -> Option<Move> {
        self.look_at_threads();
        let last = self.trace.events().last().map(|event| event.thread());
        let next = match self.depth == self.trace.len() {
            true => self.arrive(last),
            false => None,
        };
        let thread = next.or_else(|| {
            // Nobody is preempted.
            let goes_on = last.filter(|last| self.ready.contains(last));
            let any = goes_on.or_else(|| self.ready.first().copied())?;
            self.redundant += u64::from(self.depth == self.trace.len());
            Some(any)
        })?;
        Some(Move { thread, choice: 0 })
    }

    /// Makes a node for the state after the trace, and says who moves there first, if somebody who does not sleep can.
    fn arrive(&mut self, last: Option<ThreadId>) -> Option<ThreadId> {
        let first_enabled = self.enabled.len();
        self.enabled.extend_from_slice(&self.ready);
        if self.nodes.len() == self.depth {
            self.nodes.push(Node::default());
        }
        let blocked = &self.blocked[self.first_blocked[self.trace.len()]..];
        let is_blocked = last.is_some_and(|last| blocked.iter().any(|it| it.thread == last));
        let asleep = std::mem::take(&mut self.nodes[self.depth].asleep);
        let asleep = self.sleep_on(asleep, is_blocked);
        let running = last.filter(|last| self.ready.contains(last));
        let node = &mut self.nodes[self.depth];
        node.preemptions = 0;
        node.running = running;
        node.is_blocked = is_blocked;
        node.first_enabled = first_enabled;
        node.stable_locations = self.execution.location_count();
        node.requested.clear();
        node.explored.clear();
        node.asleep = asleep;
        node.run = None;
        if let (Some(before), Some(last)) = (self.depth.checked_sub(1), last) {
            let before = &self.nodes[before];
            let preempts = before.running.is_some_and(|running| running != last);
            self.nodes[self.depth].preemptions = before.preemptions + u32::from(preempts);
        }
        let next = running.or_else(|| {
            let mut awake = first_enabled..self.enabled.len();
            let awake = awake.find(|&index| !self.sleeps(self.depth, self.enabled[index]))?;
            Some(self.enabled[awake])
        });
        if next.is_some() {
            self.depth += 1;
        } else {
            self.enabled.truncate(first_enabled);
        }
        next
    }

    /// Makes a move.
    fn make(&mut self, next: Move) -> Result<(), Diverged> {
        self.execution.step(next, &mut self.step)?;
        let event = self.trace.len();
        self.trace.push(next, &self.step);
        let start = match event.checked_sub(1) {
            Some(before) if self.trace.events()[before].thread() == next.thread => {
                self.run_starts[before]
            }
            _ => event,
        };
        self.run_starts.push(start);
        let lane = next.thread.index();
        if self.lanes.len() <= lane {
            self.lanes.resize_with(lane + 1, Vec::new);
        }
        self.lanes[lane].push(event);
        Ok(())
    }

    /// Goes back to the last state from which something is left to run, and says what.
    fn backtrack(&mut self) -> Option<Move> {
        loop {
            let last = self.depth.checked_sub(1)?;
            let event = self.trace.events()[last];
            let Move { thread, choice } = event.step;
            if choice + 1 < event.alternatives {
                self.truncate(last);
                return Some(Move {
                    thread,
                    choice: choice + 1,
                });
            }
            let bound = self.bound;
            let node = &mut self.nodes[last];
            // Only who is running goes on for free, and was explored first.
            if node.running.is_some() && node.preemptions == bound && !node.requested.is_empty() {
                node.requested.clear();
                self.was_cut = true;
            }
            if node.requested.is_empty() {
                self.enabled.truncate(node.first_enabled);
                self.depth = last;
                continue;
            }
            node.explored.push(thread);
            let run = node.run.take();
            let stable = node.stable_locations;
            let extent = match node.running == Some(thread) {
                true => asleep::Extent::FirstStep,
                false => asleep::Extent::Whole,
            };
            node.asleep
                .extend(run.and_then(|run| Asleep::new(thread, run, extent, stable)));
            let thread = node.requested.remove(0);
            self.truncate(last);
            return Some(Move { thread, choice: 0 });
        }
    }

    /// Takes back all but the first events.
    fn truncate(&mut self, len: usize) {
        for event in &self.trace.events()[len..] {
            self.lanes[event.thread().index()].pop();
        }
        self.run_starts.truncate(len);
        self.trace.truncate(len);
        // The state after these events is still known.
        if let Some(&end) = self.first_blocked.get(len + 1) {
            self.blocked.truncate(end);
            self.first_blocked.truncate(len + 1);
        }
    }

    /// Which part of what is known to be run was run.
    fn part_done(&self) -> f64 {
        part_done(self.nodes[..self.depth].iter().map(|node| {
            let explored = node.explored.len();
            (explored, explored + 1 + node.requested.len())
        }))
    }
}
