//! Optimal dynamic partial-order reduction: every class exactly once.
//!
//! After Abdulla, Aronis, Jonsson, Sagonas, *Source sets: a foundation for optimal dynamic partial
//! order reduction* (J. ACM 2017). An execution is run to its end. Each *race* in it, a pair
//! of events `e`, `e'` of different threads that could happen next to one another, is reversed: from the
//! state before `e`, the sequence `v = notdep(e, E).e'` (what does not come after `e`, and then the step that made
//! `e'`) leads to executions in which `e'` comes first. It is run, unless the executions that begin like it
//! are covered by those that were run from that state or will be.
//!
//! The sequences that wait to be run from a state form its *wake-up tree* (section 5 of the paper, `WakeupTree`).
//!
//! # Departures
//!
//! - **Steps that wait.** A lock comes after the unlock before it, which it can't change places with; it races with
//!   the *lock* before that. In general: from the last conflicting event, go back until the
//!   step would have been possible without it. Threads that are still waiting when the execution
//!   ends race likewise. Why that is enough: let `p` be explored from `E`, and let `E.w.q` be an
//!   execution with `w` independent of `p`, in which `p` would keep `q` from moving. All executions from `E.p` are covered, so one that has
//!   `w` and lets `q` move as soon as it can; there, no event between `p` and `q` finds `q` able to move, and going back from `q`
//!   ends at `p`. When `q` moves at last, it may touch nothing that `p` has touched: then going back is going back from what `q` waits for
//!   without the last conflicting event (`Race::hidden_ways`).
//! - **Readers.** Taking a lock for reading commutes with other such steps. When a writer is moved before
//!   one reader, other readers that would then still hold the lock have to go too; see `Race::spare`.
//! - **Alternatives** of one step exclude each other like the two orders of a race, and are treated as one. An execution with alternative `i` of a step plans
//!   alternative `i + 1` only, and the last one plans the first, so a choice of a million values costs no more than
//!   those of its executions that are run. That is enough. Let an execution take alternative `i`, and let `w` be what does not come after the step. `w` and
//!   alternative `i + 1` are planned, so all executions that begin with them are covered, and one of these is run. It has
//!   all of `w` too among what does not come after the step, and plans alternative `i + 2` with that. After all
//!   alternatives but one, each of them was planned with `w`.
//! - **What a step would do elsewhere** may differ from what it did: a compare-exchange that failed
//!   may succeed. [`Execution::foresee`] tells.

mod names;
mod parallel;
mod race;
mod wakeup_tree;

use std::ops::ControlFlow;
use std::sync::Arc;

use names::Names;
use parallel::{Common, Taken};
use race::{Race, Second, conflict};
use raddle_outcome::{Coverage, Extent, Kind, LeftOut};
use wakeup_tree::{Branch, Here, Sequence, WakeupTree};

use crate::execution::{Diverged, Execution, Move, Observed, Readiness, ThreadId};
use crate::explorer::{Explorer, Omission, Visitor, default_thread, part_done};
use crate::trace::Trace;

/// The search that runs each class once.
#[derive(Clone, Copy, Debug, Default)]
pub struct Optimal {
    /// How many sequences were begun that turned out to be redundant, and given up. There are none if all locations
    /// have the same numbers in all executions.
    pub redundant: u64,
}

/// The state before an event.
#[derive(Debug, Default)]
struct Node {
    /// The moves whose executions, from here, are covered: those that slept in the state before, and those that were begun here
    /// before the one that is under way.
    sleep: Vec<Move>,
    /// How many slept in the state before.
    inherited: usize,
    /// What is still to be run.
    wakeup_tree: WakeupTree,
    /// How many locations have the same number in all executions that come by here.
    stable_locations: usize,
}

impl Explorer for Optimal {
    fn explore<X: Execution>(
        &mut self,
        execution: &mut X,
        visitor: &mut impl Visitor<X>,
    ) -> Result<Coverage, Diverged> {
        let mut search = Search::new(execution);
        search.execution.restart();
        let ended = search.run(WakeupTree::default(), visitor, |_| ())?;
        self.redundant = search.redundant;
        Ok(search.left_out.covering(match ended {
            ControlFlow::Continue(()) => Extent::All,
            ControlFlow::Break(()) => Extent::Some,
        }))
    }

    fn explore_in_parallel<X: Execution, V: Visitor<X>>(
        &mut self,
        workers: usize,
        worker: impl Fn(usize) -> (X, V) + Sync,
    ) -> Result<Coverage, Diverged> {
        self.explore_together(workers, worker)
    }
}

struct Search<'a, X> {
    execution: &'a mut X,
    /// The execution under way, E.
    trace: Trace,
    /// The state before each of its events.
    nodes: Vec<Node>,
    step: Observed,
    race: Race,
    sequence: Sequence,
    names: Names,
    /// The first events of the races that are looked at.
    found: Vec<usize>,
    /// Empty lists of moves, to be used again.
    spare: Vec<Vec<Move>>,
    redundant: u64,
    left_out: LeftOut,
    /// The states at the beginning of the execution that other workers go on from too.
    shared: Vec<Taken>,
    common: Option<Arc<Common>>,
    /// Whether the sequence that this execution begins with may be redundant.
    is_in_doubt: bool,
}

impl<'a, X: Execution> Search<'a, X> {
    fn new(execution: &'a mut X) -> Self {
        Self {
            execution,
            trace: Trace::new(),
            nodes: Vec::with_capacity(64),
            step: Observed::default(),
            race: Race::default(),
            sequence: Sequence::default(),
            names: Names::default(),
            found: Vec::new(),
            spare: Vec::new(),
            redundant: 0,
            left_out: LeftOut::default(),
            shared: Vec::new(),
            common: None,
            is_in_doubt: false,
        }
    }

    /// Goes on from the end of the trace, with what is planned there, until nothing is left but for what is shared, or the
    /// visitor has seen enough. Between two executions, `pause` may look at the search.
    fn run(
        &mut self,
        mut planned: WakeupTree,
        visitor: &mut impl Visitor<X>,
        mut pause: impl FnMut(&mut Self),
    ) -> Result<ControlFlow<()>, Diverged> {
        loop {
            let begin = self.trace.len().saturating_sub(1);
            let is_redundant = loop {
                if self.is_in_doubt && planned.is_empty() && self.settle(begin) {
                    break true;
                }
                let Some(next) = self.next_move(&mut planned) else {
                    break false;
                };
                self.execution.step(next, &mut self.step)?;
                self.trace.push(next, &self.step);
                if visitor.pulse().is_break() {
                    return Ok(ControlFlow::Break(()));
                }
            };
            if !is_redundant {
                if visitor.ended(self.execution, &self.trace).is_break() {
                    return Ok(ControlFlow::Break(()));
                }
                self.put_to_sleep(begin);
                let reversed = self.reverse_races(begin, visitor);
                if let Some(step) = self.race.gave_up.take() {
                    let omission = Omission {
                        kind: Kind::WakeupSequences,
                        step: Some(step),
                    };
                    omission.note(&mut self.left_out, self.execution, visitor);
                }
                if reversed.is_break() {
                    return Ok(ControlFlow::Break(()));
                }
                visitor.estimate(&|| self.part_done());
                pause(self);
            }
            let Some(branch) = self.backtrack(is_redundant) else {
                return Ok(ControlFlow::Continue(()));
            };
            self.execution.replay(&mut self.trace, &mut self.step)?;
            planned = self.take(branch)?;
        }
    }

    /// Makes the first step of a branch, and says what is planned after it.
    fn take(&mut self, branch: Branch) -> Result<WakeupTree, Diverged> {
        self.is_in_doubt = branch.doubtful;
        self.execution.step(branch.step, &mut self.step)?;
        self.trace.push(branch.step, &self.step);
        Ok(branch.then)
    }

    /// The next move of the execution, and a node for the state before it: what is planned there, or
    /// whatever comes.
    fn next_move(&mut self, planned: &mut WakeupTree) -> Option<Move> {
        let mut wakeup_tree = WakeupTree::default();
        let next = if let Some(branch) = planned.take_first() {
            self.is_in_doubt |= branch.doubtful;
            wakeup_tree = std::mem::replace(planned, branch.then);
            branch.step
        } else {
            let last = self.trace.events().last().map(|event| event.thread());
            let thread = default_thread(self.execution, last)?;
            Move { thread, choice: 0 }
        };
        self.nodes.push(Node {
            sleep: self.spare.pop().unwrap_or_default(),
            inherited: 0,
            wakeup_tree,
            stable_locations: self.execution.location_count(),
        });
        Some(next)
    }

    /// Which part of what is known to be run was run.
    fn part_done(&self) -> f64 {
        let events = self.trace.events().iter();
        part_done(self.nodes.iter().zip(events).map(|(node, event)| {
            let visited = node.sleep.len() - node.inherited;
            // Alternatives are planned one after the other, mostly from the first on.
            let alternatives = event.alternatives.saturating_sub(event.step.choice + 1);
            let planned = node.wakeup_tree.len().max(alternatives as usize);
            (visited, visited + 1 + planned)
        }))
    }

    /// Goes back to the last state from which something is left to run, and takes it.
    ///
    /// What was run from the last state sleeps there, unless it was given up: then it is as if it had never been planned.
    fn backtrack(&mut self, gave_up: bool) -> Option<Branch> {
        let end = self.nodes.len();
        loop {
            let last = self.nodes.len().checked_sub(1)?;
            if last < self.shared.len() {
                return None;
            }
            let node = &mut self.nodes[last];
            if let Some(branch) = node.wakeup_tree.take_first() {
                if !(gave_up && last + 1 == end) {
                    node.sleep.push(self.trace.events()[last].step);
                }
                self.trace.truncate(last);
                return Some(branch);
            }
            if let Some(mut node) = self.nodes.pop()
                && node.sleep.capacity() > 0
            {
                node.sleep.clear();
                self.spare.push(node.sleep);
            }
        }
    }

    /// The sequence that was in doubt has been run. It is redundant if something sleeps after it: then others cover what begins like
    /// it. Returns whether that is so.
    fn settle(&mut self, begin: usize) -> bool {
        self.is_in_doubt = false;
        let redundant = self.redundant;
        self.put_to_sleep(begin);
        let is_redundant = self.redundant > redundant;
        self.tell_others(is_redundant);
        is_redundant
    }

    /// Says for the new states which moves sleep there.
    fn put_to_sleep(&mut self, begin: usize) {
        self.race.before.set_to_first(&self.trace, begin);
        for event in begin..self.trace.len() {
            if self.nodes[event].sleep.is_empty() {
                // Nothing was begun in the states after it either.
                return;
            }
            self.inherit_sleep(event);
        }
    }

    /// Lets those moves sleep after an event that sleep before it and are independent of it. `race.before` has the events
    /// before this one, and then this one too.
    fn inherit_sleep(&mut self, event: usize) {
        let mut inherited = self.spare.pop().unwrap_or_default();
        let mover = self.trace.events()[event].thread();
        for &sleeping in &self.nodes[event].sleep {
            if sleeping.thread == mover {
                continue;
            }
            let cut = &self.race.before;
            let number = cut.count(sleeping.thread);
            self.execution
                .foresee(&self.trace, cut, sleeping.thread, number, &mut self.step);
            let moved = &self.trace.events()[event];
            let independent = !moved.last_resort && !conflict(&self.trace, event, &self.step);
            if independent {
                inherited.push(sleeping);
            }
        }
        let moved = &self.trace.events()[event];
        self.race.before.set(moved.thread(), moved.number + 1);
        match self.nodes.get_mut(event + 1) {
            Some(node) => {
                let begun = node.sleep.drain(node.inherited..);
                node.inherited = inherited.len();
                inherited.extend(begun);
                std::mem::swap(&mut node.sleep, &mut inherited);
            }
            None => self.redundant += u64::from(!inherited.is_empty()),
        }
        if inherited.capacity() > 0 {
            inherited.clear();
            self.spare.push(inherited);
        }
    }

    /// Reverses the races of the execution. A race of two events that were there before is another one now if the
    /// new events, those from `begin` on, do not all come after its first event: they are then part of its sequence.
    fn reverse_races(&mut self, begin: usize, visitor: &mut impl Visitor<X>) -> ControlFlow<()> {
        self.names.forget();
        self.race.begin_with(&self.trace, begin);
        for event in self.race.first_to_be_reversed(&self.trace, begin)..self.trace.len() {
            self.race.is_new = event >= begin;
            self.take_next_alternative(event);
            let thread = self.trace.events()[event].thread();
            let accesses = self.trace.accesses(event).count();
            self.race.separated = None;
            self.found.clear();
            let touches = self.trace.accesses(event);
            self.race.own.clear();
            let own = touches.map(|access| (access.location, access.mode));
            self.race.own.extend(own);
            for access in 0..accesses {
                self.race.second = Second::Event { event, access };
                self.find_races_of(thread, visitor)?;
            }
            self.reverse_found(thread);
        }
        self.race.is_new = true;
        for index in 0..self.execution.threads().len() {
            let thread = self.execution.threads()[index];
            if self.execution.readiness(thread) == Readiness::Blocked {
                self.race.everything(&self.trace);
                let number = self.trace.count(thread);
                let mut step = std::mem::take(&mut self.step);
                self.execution
                    .foresee(&self.trace, &self.race.cut, thread, number, &mut step);
                self.race.separated = None;
                self.found.clear();
                self.race.own.clear();
                let own = step.accesses.iter();
                let own = own.map(|access| (access.location, access.mode));
                self.race.own.extend(own);
                for access in &step.accesses {
                    self.race.second = Second::Waiting {
                        thread,
                        location: access.location,
                        mode: access.mode,
                    };
                    self.find_races_of(thread, visitor)?;
                }
                self.reverse_found(thread);
                self.step = step;
            }
        }
        ControlFlow::Continue(())
    }

    /// Has the next alternative of an event run, after the last one the first.
    fn take_next_alternative(&mut self, event: usize) {
        let taken = self.trace.events()[event];
        if taken.alternatives <= 1 || !self.race.is_to_be_reversed(&self.trace, event) {
            return;
        }
        self.race.second = Second::Event { event, access: 0 };
        self.race.last = Move {
            choice: (taken.step.choice + 1) % taken.alternatives,
            ..taken.step
        };
        self.race.separate(&self.trace, event, self.execution);
        self.keep_unless_covered(event);
    }

    /// Goes back over the events that one access of the second event comes after, up to those without which
    /// it would have been possible, and keeps these.
    fn find_races_of(
        &mut self,
        thread: ThreadId,
        visitor: &mut impl Visitor<X>,
    ) -> ControlFlow<()> {
        self.race.last = Move { thread, choice: 0 };
        let mut blocks = self.race.blocks(&self.trace);
        loop {
            let candidates = self.race.candidates(&self.trace, &mut blocks);
            let before = self.found.len();
            for candidate in 0..candidates {
                let first = self.race.firsts[candidate];
                if !self.race.is_to_be_reversed(&self.trace, first) && self.has_one_access() {
                    // Neither are those before it.
                    return ControlFlow::Continue(());
                }
                visitor.pulse()?;
                if self.race.separate(&self.trace, first, self.execution) {
                    self.found.push(first);
                }
                self.reverse_hidden(first);
            }
            if candidates == 0 || self.found.len() > before {
                return ControlFlow::Continue(());
            }
        }
    }

    /// Reverses races with events before `first` that show only if `first` is left out.
    fn reverse_hidden(&mut self, first: usize) {
        let ways = self.race.hidden_ways(&self.trace, first, self.execution);
        for (earliest, cut) in ways {
            if self.race.is_to_be_reversed(&self.trace, earliest) {
                self.race
                    .take_way(&self.trace, (earliest, cut), self.execution);
                self.keep_unless_covered(earliest);
            }
        }
    }

    /// Reverses the races with the events that were found. One that happens before another of them is no race: what the
    /// thread does may depend on the event between.
    fn reverse_found(&mut self, thread: ThreadId) {
        if self.found.len() > 1 {
            self.found.sort_unstable();
            self.found.dedup();
        }
        for index in 0..self.found.len() {
            let first = self.found[index];
            let is_between =
                |&other: &usize| other != first && self.trace.happens_before(first, other);
            if self.found.iter().any(is_between) || !self.race.is_to_be_reversed(&self.trace, first)
            {
                continue;
            }
            let last = Move { thread, choice: 0 };
            // Mostly it is what was looked at last.
            if self.race.separated != Some((first, last)) {
                self.race.last = last;
                self.race.separate(&self.trace, first, self.execution);
            }
            self.keep_unless_covered(first);
            while self.race.take_other_way(&self.trace, self.execution) {
                self.keep_unless_covered(first);
            }
        }
    }

    /// Whether the second event touches one location only.
    fn has_one_access(&self) -> bool {
        match self.race.second {
            Second::Event { event, .. } => self.trace.accesses(event).count() == 1,
            Second::Waiting { .. } => false,
        }
    }

    /// Adds the sequence of the race to the wake-up tree of the state before event `first`, unless a weak
    /// initial of it sleeps there: then what begins like it is covered.
    fn keep_unless_covered(&mut self, first: usize) {
        if first < self.shared.len() {
            self.keep_in_common(first);
            return;
        }
        let Self {
            execution,
            trace,
            nodes,
            step,
            race,
            sequence,
            names,
            ..
        } = self;
        // Many alternatives of one step may have been run: most are told from the planned one at a glance.
        let thread = race.last.thread;
        let is_first_step = race.cut.count(thread) <= race.before.count(thread);
        let mut covers = |begun: &Move| {
            !(is_first_step && begun.thread == thread && begun.choice != race.last.choice)
                && race.is_weak_initial(trace, first, *begun, *execution, step)
        };
        let node = &mut nodes[first];
        if !node.sleep.iter().any(&mut covers) {
            race.sequence(trace, first, sequence);
            let mut here = Here {
                trace,
                names,
                stable: node.stable_locations,
            };
            node.wakeup_tree.insert(&mut here, sequence, false);
        }
    }
}
