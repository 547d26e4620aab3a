//! Which threads are requested in which states.

use std::ops::ControlFlow;

use super::Search;
use crate::execution::{Execution, LocationId, Mode, Readiness, ThreadId};
use crate::explorer::Visitor;
use crate::trace::Blocks;

/// What is known of the second event of a race.
#[derive(Debug, Default)]
pub(super) struct Races {
    /// The earlier events that conflict with it and that its thread does not know of.
    firsts: Vec<usize>,
    /// What it touches.
    own: Vec<LocationId>,
    /// How many events of each thread its thread knows of.
    known: Vec<u32>,
    /// Those that come before it if the events from some state on that depend on the one after that state are left out.
    leading: Vec<u32>,
    /// What each thread waited for in the last state in which it was blocked and looked at.
    pending: Vec<Pending>,
}

/// What a thread that is blocked waits for.
#[derive(Debug, Default)]
struct Pending {
    /// The number of the state.
    state: usize,
    touches: Vec<(LocationId, Mode)>,
}

/// The second event of a race: a step that a thread has made or would make next.
#[derive(Clone, Copy, Debug)]
pub(super) struct Second {
    pub(super) thread: ThreadId,
    /// The last events that the thread knows of without it.
    pub(super) previous: Option<usize>,
    cause: Option<usize>,
}

impl<X: Execution> Search<'_, X> {
    /// Requests threads for all races of the new events, those from `begin` on, and of the steps that threads would make next.
    pub(super) fn request_all(
        &mut self,
        begin: usize,
        visitor: &mut impl Visitor<X>,
    ) -> ControlFlow<()> {
        for event in begin..self.trace.len() {
            visitor.pulse()?;
            let second = Second {
                thread: self.trace.events()[event].thread(),
                previous: self.trace.previous_of(event),
                cause: self.trace.cause_of(event),
            };
            self.know(second);
            let mut access = 0;
            while let Some((it, blocks)) = self.trace.access(event, access) {
                let touch = (it.location, it.mode);
                self.find_firsts(second.thread, touch, event, blocks);
                access += 1;
            }
            self.request(second, visitor)?;
        }
        self.request_for_blocked(begin, visitor)?;
        let mut ended_early = false;
        for index in 0..self.execution.threads().len() {
            let thread = self.execution.threads()[index];
            let status = self.execution.readiness(thread);
            if status == Readiness::Ended {
                continue;
            }
            visitor.pulse()?;
            let second = Second {
                thread,
                previous: self.trace.last_of(thread),
                cause: self.trace.pending_cause(thread),
            };
            self.know(second);
            self.cut.set_to_first(&self.trace, self.trace.len());
            let number = self.trace.count(thread);
            let is_possible =
                self.execution
                    .foresee(&self.trace, &self.cut, thread, number, &mut self.step);
            ended_early |= is_possible && status == Readiness::Blocked;
            for access in 0..self.step.accesses.len() {
                let it = self.step.accesses[access];
                let blocks = self.trace.blocks_before_next(it.location, it.mode);
                let touch = (it.location, it.mode);
                self.find_firsts(thread, touch, self.trace.len(), blocks);
            }
            self.request(second, visitor)?;
        }
        if ended_early {
            self.request_everything();
        }
        ControlFlow::Continue(())
    }

    /// Takes note of the threads that are blocked in the state after the trace, and of those that can move.
    pub(super) fn look_at_threads(&mut self) {
        debug_assert_eq!(self.first_blocked.len(), self.trace.len());
        self.first_blocked.push(self.blocked.len());
        self.ready.clear();
        for &thread in self.execution.threads() {
            match self.execution.readiness(thread) {
                Readiness::Enabled => self.ready.push(thread),
                Readiness::Blocked => self.blocked.push(Second {
                    thread,
                    previous: self.trace.last_of(thread),
                    cause: self.trace.pending_cause(thread),
                }),
                Readiness::Ended => {}
            }
        }
    }

    /// Requests threads for the races of steps at which threads were blocked in the new states, but for the last one.
    ///
    /// What a thread waits for changes only by an event that conflicts with it. So it is looked at when the thread gets blocked, and
    /// after such an event.
    fn request_for_blocked(
        &mut self,
        begin: usize,
        visitor: &mut impl Visitor<X>,
    ) -> ControlFlow<()> {
        for pending in &mut self.races.pending {
            // No state has this number.
            pending.state = usize::MAX;
        }
        for state in begin + 1..self.trace.len() {
            for index in self.first_blocked[state]..self.first_blocked[state + 1] {
                let second = self.blocked[index];
                if self.waits_as_before(second.thread, state) {
                    continue;
                }
                visitor.pulse()?;
                self.know(second);
                self.cut.set_to_first(&self.trace, state);
                let number = self.cut.count(second.thread);
                self.execution.foresee(
                    &self.trace,
                    &self.cut,
                    second.thread,
                    number,
                    &mut self.step,
                );
                let pending = &mut self.races.pending[second.thread.index()];
                pending.touches.clear();
                for access in 0..self.step.accesses.len() {
                    let it = self.step.accesses[access];
                    let pending = &mut self.races.pending[second.thread.index()];
                    pending.touches.push((it.location, it.mode));
                    let blocks = self.trace.blocks_at(it.location);
                    self.find_firsts(second.thread, (it.location, it.mode), state, blocks);
                }
                self.request(second, visitor)?;
            }
        }
        ControlFlow::Continue(())
    }

    /// Whether a thread that is blocked in a state waits for what it has waited for in the state before, and the event between them has
    /// nothing to do with it.
    fn waits_as_before(&mut self, thread: ThreadId, state: usize) -> bool {
        let all = &mut self.races.pending;
        if all.len() <= thread.index() {
            all.resize_with(thread.index() + 1, || Pending {
                state: usize::MAX,
                touches: Vec::new(),
            });
        }
        let pending = &mut all[thread.index()];
        let was_blocked = pending.state.wrapping_add(1) == state;
        pending.state = state;
        let event = state - 1;
        was_blocked
            && self.trace.events()[event].thread() != thread
            && !self.trace.accesses(event).any(|theirs| {
                let mut mine = pending.touches.iter();
                mine.any(|(location, mode)| {
                    *location == theirs.location && mode.conflicts_with(theirs.mode)
                })
            })
    }

    /// A failure has ended the execution although threads could move. What they would have raced with is not known, so all of them are
    /// requested in all states of the last run: of the others, what comes after them was seen.
    fn request_everything(&mut self) {
        let Some(last) = self.trace.len().checked_sub(1) else {
            return;
        };
        for at in self.run_starts[last]..self.depth {
            for index in self.enabled_at(at) {
                self.request_thread(at, self.enabled[index]);
            }
        }
    }

    /// Begins with a second event.
    fn know(&mut self, second: Second) {
        let Races {
            firsts, own, known, ..
        } = &mut self.races;
        firsts.clear();
        own.clear();
        known.clear();
        let lanes = self.trace.lanes();
        match second.previous {
            Some(previous) => known.extend_from_slice(&self.trace.clock(previous)[..lanes]),
            None => known.resize(lanes, 0),
        }
        if let Some(cause) = second.cause {
            join(known, self.trace.clock(cause));
        }
    }

    /// Collects the events of other threads before a state that conflict with an access, up to those that its thread knows of.
    fn find_firsts(
        &mut self,
        thread: ThreadId,
        (location, mode): (LocationId, Mode),
        state: usize,
        mut blocks: Blocks,
    ) {
        self.races.own.push(location);
        while let Some((their_mode, members)) = blocks.next_block(&self.trace) {
            let conflicts = their_mode.conflicts_with(mode);
            let mut is_known = false;
            for first in members.filter(|first| *first < state) {
                let event = &self.trace.events()[first];
                if event.number < self.races.known[event.thread().index()] {
                    // All blocks before this one come before the event.
                    is_known = true;
                    continue;
                }
                if conflicts && event.thread() != thread {
                    self.races.firsts.push(first);
                }
            }
            if is_known {
                return;
            }
        }
    }

    /// Requests what leads to the second event before each of the first events, and before the run that it belongs to.
    fn request(&mut self, second: Second, visitor: &mut impl Visitor<X>) -> ControlFlow<()> {
        if self.races.firsts.is_empty() {
            return ControlFlow::Continue(());
        }
        let mut firsts = std::mem::take(&mut self.races.firsts);
        firsts.sort_unstable();
        firsts.dedup();
        let mut last_start = None;
        for &first in &firsts {
            visitor.pulse()?;
            self.request_at(first, second, &firsts);
            let start = self.run_starts[first];
            if start != first && last_start != Some(start) {
                self.request_at(start, second, &firsts);
                last_start = Some(start);
            }
        }
        self.races.firsts = firsts;
        ControlFlow::Continue(())
    }

    /// Requests, in the state before event `at`, all threads with which the way to the second event can begin if the
    /// event and what depends on it are left out.
    fn request_at(&mut self, at: usize, second: Second, firsts: &[usize]) {
        if at >= self.depth {
            return;
        }
        let avoided = self.trace.events()[at];
        if avoided.number < self.races.known[avoided.thread().index()] {
            return;
        }
        if self.was_cut && self.is_out_of_bounds(at) {
            return;
        }
        let mut enabled = self.enabled_at(at).map(|index| self.enabled[index]);
        if enabled.all(|thread| self.is_known(at, thread)) {
            // Nothing is left to request.
            return;
        }
        let mut leading = std::mem::take(&mut self.races.leading);
        leading.clone_from(&self.races.known);
        for &first in firsts.iter().rev().take_while(|&&first| first > at) {
            if !self.trace.happens_before(at, first) {
                join(&mut leading, self.trace.clock(first));
            }
        }
        let own = second.thread.index();
        let mut others = leading.iter().enumerate();
        let is_alone =
            others.all(|(index, &count)| index == own || count <= self.count_before(index, at));
        if is_alone
            && firsts.binary_search(&at).is_ok()
            && self.may_arrive_later(at, second, firsts)
        {
            let node = &mut self.nodes[at];
            node.requested.retain(|&thread| thread != second.thread);
            node.explored.push(second.thread);
            self.races.leading = leading;
            return;
        }
        let mut is_first = true;
        for (index, &count) in leading.iter().enumerate() {
            let before = self.count_before(index, at);
            if count <= before {
                continue;
            }
            is_first = false;
            let event = self.lanes[index][before as usize];
            let clock = self.trace.clock(event);
            let is_possible = clock
                .iter()
                .enumerate()
                .all(|(other, &count)| other == index || count <= self.count_before(other, at));
            if is_possible {
                self.request_thread(at, self.trace.events()[event].thread());
            }
        }
        if is_first {
            self.request_thread(at, second.thread);
            if self.may_be_made_possible(at, second.thread) {
                for index in self.enabled_at(at) {
                    self.request_thread(at, self.enabled[index]);
                }
            }
        }
        self.races.leading = leading;
    }

    /// Whether the thread of the second event is blocked in the state before an event, and waits there for something that the second
    /// event does not touch. Then others than those that the second event conflicts with may make it possible.
    fn may_be_made_possible(&mut self, at: usize, thread: ThreadId) -> bool {
        let waiting = self.first_blocked[at]..self.first_blocked[at + 1];
        if !self.blocked[waiting].iter().any(|it| it.thread == thread) {
            return false;
        }
        self.cut.set_to_first(&self.trace, at);
        let number = self.cut.count(thread);
        self.execution
            .foresee(&self.trace, &self.cut, thread, number, &mut self.step);
        let own = &self.races.own;
        let mut accesses = self.step.accesses.iter();
        accesses.any(|access| !own.contains(&access.location))
    }

    /// Whether no thread but the one that is running can move in the state before an event within the bound.
    fn is_out_of_bounds(&self, at: usize) -> bool {
        let node = &self.nodes[at];
        node.running.is_some() && node.preemptions == self.bound
    }

    /// How many events a thread has made before an event.
    pub(super) fn count_before(&self, thread: usize, at: usize) -> u32 {
        let Some(lane) = self.lanes.get(thread) else {
            return 0;
        };
        u32::try_from(lane.partition_point(|&event| event < at)).unwrap_or(u32::MAX)
    }

    fn request_thread(&mut self, at: usize, thread: ThreadId) {
        let candidates = self.enabled_at(at);
        let mut enabled = candidates.clone().map(|index| self.enabled[index]);
        // If it can't move, it is there already, and blocked.
        if !enabled.any(|it| it == thread) || self.is_known(at, thread) {
            return;
        }
        if self.is_out_of_bounds(at) {
            self.was_cut = true;
            return;
        }
        if !self.sleeps(at, thread) {
            self.nodes[at].requested.push(thread);
            return;
        }
        for index in candidates {
            let thread = self.enabled[index];
            if !self.is_known(at, thread) && !self.sleeps(at, thread) {
                self.nodes[at].requested.push(thread);
            }
        }
    }

    /// Where the threads are in `enabled` that can move in the state before an event.
    fn enabled_at(&self, at: usize) -> std::ops::Range<usize> {
        let end = match self.nodes[..self.depth].get(at + 1) {
            Some(next) => next.first_enabled,
            None => self.enabled.len(),
        };
        self.nodes[at].first_enabled..end
    }

    /// Whether a thread was explored in the state before an event, or will be.
    fn is_known(&self, at: usize, thread: ThreadId) -> bool {
        let node = &self.nodes[at];
        thread == self.trace.events()[at].thread()
            || node.explored.contains(&thread)
            || node.requested.contains(&thread)
    }
}

fn join(clock: &mut [u32], other: &[u32]) {
    let other = &other[..clock.len()];
    for (thread, mine) in clock.iter_mut().enumerate() {
        *mine = (*mine).max(other[thread]);
    }
}
