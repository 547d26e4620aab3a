//! Races, and the sequences that reverse them.

use std::collections::VecDeque;

use hashbrown::HashSet;
use rapidhash::fast::RandomState;

use super::wakeup_tree::{Element, Sequence};
use crate::execution::{Execution, LocationId, Mode, Move, Observed, ThreadId, ValuedAccess};
use crate::trace::{Blocks, Cut, Trace};

/// The second event of a race.
#[derive(Clone, Copy, Debug)]
pub(super) enum Second {
    /// One access of an event of the trace.
    Event { event: usize, access: usize },
    /// One access of the step that a thread waits to make.
    Waiting {
        thread: ThreadId,
        location: LocationId,
        mode: Mode,
    },
}

/// A race that is looked at, and the sequence `v` that reverses it.
#[derive(Debug)]
pub(super) struct Race {
    pub(super) second: Second,
    /// Whether the second event is a new one.
    pub(super) is_new: bool,
    /// How many events of each thread all new events come after.
    known_to_new: Vec<u32>,
    /// The events that the second one may race with.
    pub(super) firsts: Vec<usize>,
    /// The events before the first one.
    pub(super) before: Cut,
    /// Those, and what does not come after the first one: where the second event is to happen.
    pub(super) cut: Cut,
    /// What the second event does there.
    pub(super) step: Observed,
    /// The move that makes it.
    pub(super) last: Move,
    /// Other sequences that would do as well.
    ways: Vec<Cut>,
    /// What the second event touches in the execution: where it was made, or waits.
    pub(super) own: Vec<(LocationId, Mode)>,
    /// Where the second event waits if only the first one is left out, and what for, if it does.
    waits_at: Option<(Cut, Observed)>,
    /// What all of that is for: the first event, and the move of the second one.
    pub(super) separated: Option<(usize, Move)>,
    /// The step for which [`MOST_TRIED`] has ended the search for ways to reverse a race, so that sequences may be missing.
    pub(super) gave_up: Option<(ThreadId, u32)>,
}

/// How many sets of events are tried when it is searched what to leave out of a sequence so that a step becomes possible.
/// Where the step waits for one location after another, there are hardly more sets than locations. A step that looks
/// at `n` locations at once, each written by another thread, has 2^n, and which of them make the step possible is not known
/// without trying: a guard can be any function of what it reads. Beyond this number the exploration is incomplete
/// and says so.
const MOST_TRIED: usize = 1 << 12;

impl Default for Race {
    fn default() -> Self {
        Self {
            second: Second::Event {
                event: 0,
                access: 0,
            },
            is_new: true,
            known_to_new: Vec::new(),
            firsts: Vec::new(),
            before: Cut::default(),
            cut: Cut::default(),
            step: Observed::default(),
            last: Move::default(),
            ways: Vec::new(),
            own: Vec::new(),
            waits_at: None,
            separated: None,
            gave_up: None,
        }
    }
}

impl Race {
    /// Begins with a new execution, whose events from `begin` on are new.
    pub(super) fn begin_with(&mut self, trace: &Trace, begin: usize) {
        self.known_to_new.clear();
        self.known_to_new.resize(trace.lanes(), u32::MAX);
        for event in begin..trace.len() {
            for (known, &count) in self.known_to_new.iter_mut().zip(trace.clock(event)) {
                *known = (*known).min(count);
            }
        }
    }

    /// The first event, up to `begin`, that not all new events come after: no race of events before it is
    /// to be reversed.
    pub(super) fn first_to_be_reversed(&self, trace: &Trace, begin: usize) -> usize {
        let unknown = trace.events()[..begin]
            .iter()
            .position(|event| self.known_to_new[event.thread().index()] <= event.number);
        unknown.unwrap_or(begin)
    }

    /// Whether the sequence that reverses a race with this first event is another one than in earlier executions.
    pub(super) fn is_to_be_reversed(&self, trace: &Trace, first: usize) -> bool {
        let event = &trace.events()[first];
        self.is_new || self.known_to_new[event.thread().index()] <= event.number
    }

    /// The blocks that the access comes after, the last first.
    pub(super) fn blocks(&self, trace: &Trace) -> Blocks {
        match self.second {
            Second::Event { event, access } => trace.blocks_before(event, access),
            Second::Waiting { location, mode, .. } => trace.blocks_before_next(location, mode),
        }
    }

    /// Collects the events of the next block that the thread does not know of otherwise.
    pub(super) fn candidates(&mut self, trace: &Trace, blocks: &mut Blocks) -> usize {
        self.firsts.clear();
        let Some((_, members)) = blocks.next_block(trace) else {
            return 0;
        };
        for first in members {
            if !self.thread_knows(trace, first) {
                self.firsts.push(first);
            }
        }
        self.firsts.len()
    }

    /// Whether an event happens before the second event's thread gets there, whatever that touches.
    fn thread_knows(&self, trace: &Trace, first: usize) -> bool {
        let (previous, cause) = match self.second {
            Second::Event { event, .. } => (trace.previous_of(event), trace.cause_of(event)),
            Second::Waiting { thread, .. } => (trace.last_of(thread), trace.pending_cause(thread)),
        };
        [previous, cause]
            .into_iter()
            .flatten()
            .any(|known| trace.happens_before(first, known))
    }

    /// Finds the events that do not depend on the first one, and whether the second could happen after them, and would
    /// have to do with the first. (If it has nothing to do with it there, then what keeps the second from happening, or makes
    /// it do something else, is another event that is left out too. The second one races with that.)
    pub(super) fn separate(
        &mut self,
        trace: &Trace,
        first: usize,
        execution: &mut impl Execution,
    ) -> bool {
        self.ways.clear();
        self.separated = None;
        self.waits_at = None;
        self.prefix(trace, first);
        // The second event is not among those: it comes after the first.
        self.cut.add_independent(trace, first);
        loop {
            if self.is_possible(trace, execution) {
                self.separated = Some((first, self.last));
                return conflict(trace, first, &self.step);
            }
            if !self.spare(trace, first) {
                self.separated = Some((first, self.last));
                if self.are_in_the_way(trace, 0..first, |event| self.is_hidden(trace, event)) {
                    self.waits_at = Some((self.cut.clone(), self.step.clone()));
                }
                return self.make_way(trace, first, execution);
            }
        }
    }

    /// Takes more events out of the sequence until the second one is possible. That takes a step that waits for
    /// several locations, of which others than the first event keep it from happening. There may be several ways, none of which has
    /// all events of another; the others are kept for [`take_other_way`](Self::take_other_way).
    ///
    /// A step that waits says what it has looked at. As long as all events that have changed that are there, it waits: so one
    /// of them has to go, and each of them is tried.
    ///
    /// If there are too many sets to try, notes that, and looks for the ways that are found without trying all of them.
    fn make_way(&mut self, trace: &Trace, first: usize, execution: &mut impl Execution) -> bool {
        if !self.are_in_the_way(trace, first..trace.len(), |_| true) {
            return false;
        }
        let all = self.cut.clone();
        let waiting = self.step.clone();
        let mut tried = HashSet::<Cut, RandomState>::default();
        let mut blocked = VecDeque::from([(all.clone(), waiting.clone())]);
        while let Some((cut, step)) = blocked.pop_front() {
            for event in first + 1..trace.len() {
                self.cut.clone_from(&cut);
                self.step.clone_from(&step);
                if !self.is_in_the_way(trace, event) {
                    continue;
                }
                self.take_out(trace, event);
                let is_part = self.ways.iter().any(|way| self.cut.is_part_of(way));
                if is_part || !tried.insert(self.cut.clone()) {
                    continue;
                }
                if tried.len() > MOST_TRIED {
                    let thread = self.last.thread;
                    self.gave_up = Some((thread, all.count(thread)));
                    for end in [End::Last, End::First] {
                        self.cut.clone_from(&all);
                        self.step.clone_from(&waiting);
                        self.clear_the_way(trace, first, end, execution);
                    }
                    return self.take_other_way(trace, execution);
                }
                if !self.is_possible(trace, execution) {
                    blocked.push_back((self.cut.clone(), self.step.clone()));
                } else if conflict(trace, first, &self.step) {
                    self.keep_way();
                }
            }
        }
        self.take_other_way(trace, execution)
    }

    /// Whether an event keeps the second event from happening after the cut, but does not conflict with it in the execution: no race
    /// leads there.
    ///
    /// A step that waits for `x == 1 || y == 1` is possible first if `y` is 1. After `y = 0; x = 1` it touches only `x`. Without `x = 1` it waits
    /// for both, because of `y = 0`.
    fn is_hidden(&self, trace: &Trace, event: usize) -> bool {
        self.is_in_the_way(trace, event)
            && !trace.accesses(event).any(|theirs| {
                let mut own = self.own.iter();
                own.any(|(at, mode)| *at == theirs.location && mode.conflicts_with(theirs.mode))
            })
    }

    /// Ways to make the second event possible, if it waits without the first one because of events before that which are
    /// [hidden](Self::is_hidden): each with the earliest event that is left out, which the second one conflicts with there. As in
    /// [`make_way`](Self::make_way), one of the events that it waits because of has to go, and each of them is tried, those
    /// before the first one too.
    pub(super) fn hidden_ways(
        &mut self,
        trace: &Trace,
        first: usize,
        execution: &mut impl Execution,
    ) -> Vec<(usize, Cut)> {
        let mut ways: Vec<(usize, Cut)> = Vec::new();
        let Some((cut, step)) = self.waits_at.take() else {
            return ways;
        };
        // What was separated is to be separated again.
        self.separated = None;
        self.ways.clear();
        let mut tried = HashSet::<Cut, RandomState>::default();
        let mut blocked = VecDeque::from([(first, cut, step)]);
        while let Some((earliest, cut, step)) = blocked.pop_front() {
            for event in 0..trace.len() {
                self.cut.clone_from(&cut);
                self.step.clone_from(&step);
                if !self.is_in_the_way(trace, event) {
                    continue;
                }
                self.take_out(trace, event);
                let earliest = earliest.min(event);
                let is_part = ways
                    .iter()
                    .any(|(at, way)| *at == earliest && self.cut.is_part_of(way));
                if is_part || !tried.insert(self.cut.clone()) {
                    continue;
                }
                if tried.len() > MOST_TRIED {
                    let thread = self.last.thread;
                    self.gave_up = Some((thread, self.cut.count(thread)));
                    return ways;
                }
                if !self.is_possible(trace, execution) {
                    blocked.push_back((earliest, self.cut.clone(), self.step.clone()));
                } else if earliest < first && conflict(trace, earliest, &self.step) {
                    ways.push((earliest, self.cut.clone()));
                }
            }
        }
        ways
    }

    /// Takes a way that begins before an event.
    pub(super) fn take_way(
        &mut self,
        trace: &Trace,
        (first, cut): (usize, Cut),
        execution: &mut impl Execution,
    ) {
        self.ways.clear();
        self.separated = None;
        self.prefix(trace, first);
        self.cut = cut;
        self.is_possible(trace, execution);
    }

    /// Takes out what is in the way from one end of the trace on until the second event is possible.
    fn clear_the_way(
        &mut self,
        trace: &Trace,
        first: usize,
        end: End,
        execution: &mut impl Execution,
    ) {
        loop {
            let event = match end {
                End::First => self.next_in_the_way(trace, first..trace.len()),
                End::Last => self.next_in_the_way(trace, (first..trace.len()).rev()),
            };
            let Some(event) = event else {
                return;
            };
            self.take_out(trace, event);
            if self.is_possible(trace, execution) {
                let is_part = self.ways.iter().any(|way| self.cut.is_part_of(way));
                if !is_part && conflict(trace, first, &self.step) {
                    self.keep_way();
                }
                return;
            }
        }
    }

    /// The first of these events that keeps the second event from happening, but for the first event of the race, which is
    /// not in the cut.
    fn next_in_the_way(
        &self,
        trace: &Trace,
        mut events: impl Iterator<Item = usize>,
    ) -> Option<usize> {
        events.find(|&event| self.is_in_the_way(trace, event))
    }

    /// Whether some of these events keep the second event from happening, and are such. Only those that touch what it touches are looked at.
    fn are_in_the_way(
        &self,
        trace: &Trace,
        events: std::ops::Range<usize>,
        are_such: impl Fn(usize) -> bool,
    ) -> bool {
        self.step.accesses.iter().any(|access| {
            let mut blocks = trace.blocks_at(access.location);
            while let Some((mode, mut members)) = blocks.next_block(trace) {
                let is_one = |event| {
                    events.contains(&event) && self.is_in_the_way(trace, event) && are_such(event)
                };
                if mode.conflicts_with(access.mode) && members.any(is_one) {
                    return true;
                }
            }
            false
        })
    }

    /// Whether the second event, which is not possible after the cut, looks there at what an event of it has changed.
    fn is_in_the_way(&self, trace: &Trace, event: usize) -> bool {
        self.cut.contains(&trace.events()[event])
            && conflict(trace, event, &self.step)
            && !self.thread_knows(trace, event)
    }

    /// Whether the second event is possible after the cut, and what it does there.
    fn is_possible(&mut self, trace: &Trace, execution: &mut impl Execution) -> bool {
        let number = self.cut.count(self.last.thread);
        execution.foresee(trace, &self.cut, self.last.thread, number, &mut self.step)
    }

    /// Keeps the cut as a way, instead of those that it has all events of.
    fn keep_way(&mut self) {
        let Self { ways, cut, .. } = self;
        ways.retain(|way| !way.is_part_of(cut));
        ways.push(cut.clone());
    }

    /// Takes another way to make the second event possible, if there is one.
    pub(super) fn take_other_way(&mut self, trace: &Trace, execution: &mut impl Execution) -> bool {
        let Some(way) = self.ways.pop() else {
            return false;
        };
        self.cut = way;
        self.is_possible(trace, execution)
    }

    /// Takes a reader out of the sequence that keeps the second event from happening: one that comes in
    /// and does not leave in what is left of the sequence.
    ///
    /// Nothing is lost: a sequence after which the second event is possible has no such reader, and what is taken
    /// out only takes with it what depends on it. (That is so for a lock. A thread that polls a count may as well wait for others to come in.)
    fn spare(&mut self, trace: &Trace, first: usize) -> bool {
        if !trace.has_shared_changes() || self.step.polls {
            return false;
        }
        for wanted in 0..self.step.accesses.len() {
            let ValuedAccess { location, mode, .. } = self.step.accesses[wanted];
            let comes_in = |event: usize| {
                let mut accesses = trace.accesses(event);
                accesses.any(|it| it.location == location && it.mode == Mode::Shared)
            };
            if mode != Mode::Write || !(first..trace.len()).any(comes_in) {
                continue;
            }
            // Since when each thread is inside, and how many times it has come in more often than it has left.
            let mut inside: Vec<(usize, u32)> = vec![(0, 0); trace.lanes()];
            for (event, known) in trace.events().iter().enumerate() {
                if !self.cut.contains(known) {
                    continue;
                }
                let access = trace.accesses(event).find(|it| it.location == location);
                let (since, times) = &mut inside[known.thread().index()];
                match access {
                    Some(it) if it.mode != Mode::Shared => {}
                    Some(it) if it.after > it.before => {
                        if *times == 0 {
                            *since = event;
                        }
                        *times += 1;
                    }
                    // Who has come in for writing may leave as a reader.
                    Some(_) => *times = times.saturating_sub(1),
                    None => {}
                }
            }
            // What the second event's thread has got to know has to stay.
            let reader = inside.into_iter().find(|&(since, times)| {
                times > 0 && since >= first && !self.thread_knows(trace, since)
            });
            if let Some((since, _)) = reader {
                self.take_out(trace, since);
                return true;
            }
        }
        false
    }

    /// Takes an event and all that comes after it out of the sequence.
    fn take_out(&mut self, trace: &Trace, event: usize) {
        for later in (event..trace.len()).rev() {
            let known = &trace.events()[later];
            if self.cut.contains(known) && trace.happens_before(event, later) {
                self.cut.set(known.thread(), known.number);
            }
        }
    }

    /// Lets the sequence be empty, from the state before an event.
    pub(super) fn prefix(&mut self, trace: &Trace, first: usize) {
        self.before.set_to_first(trace, first);
        self.cut.clone_from(&self.before);
    }

    /// Lets the cut have all events.
    pub(super) fn everything(&mut self, trace: &Trace) {
        self.prefix(trace, trace.len());
    }

    /// The sequence: the events of the cut after the state before `first`, and the second event.
    pub(super) fn sequence(&self, trace: &Trace, first: usize, sequence: &mut Sequence) {
        let Sequence {
            elements,
            last,
            after,
        } = sequence;
        elements.clear();
        elements.reserve(trace.len() - first + 1);
        after.clear();
        for (event, known) in trace.events().iter().enumerate().skip(first) {
            if !self.cut.contains(known) {
                continue;
            }
            elements.push(Element {
                step: known.step,
                event: Some(event),
            });
            if known.thread() == self.last.thread
                || conflict(trace, event, &self.step)
                || self.thread_knows_in_sequence(trace, event)
            {
                after.push(event);
            }
        }
        elements.push(Element {
            step: self.last,
            event: None,
        });
        let touches = self.step.accesses.iter();
        last.clear();
        last.extend(touches.map(|access| (access.location, access.mode)));
    }

    /// Whether a move from the state before `first` is a weak initial of the sequence: some execution
    /// that begins with the move has the same events as one that begins with the sequence.
    pub(super) fn is_weak_initial(
        &self,
        trace: &Trace,
        first: usize,
        begun: Move,
        execution: &mut impl Execution,
        step: &mut Observed,
    ) -> bool {
        let number = self.before.count(begun.thread);
        if number < self.cut.count(begun.thread) {
            let event = (first..trace.len())
                .find(|&event| {
                    let known = &trace.events()[event];
                    known.thread() == begun.thread && known.number == number
                })
                .unwrap_or(first);
            return trace.events()[event].step == begun
                && trace
                    .clock(event)
                    .iter()
                    .enumerate()
                    .all(|(thread, &count)| {
                        let thread = thread_id(thread);
                        thread == begun.thread || count <= self.before.count(thread)
                    });
        }
        if begun.thread == self.last.thread {
            return begun == self.last && !self.last_comes_after_some(trace, first);
        }
        execution.foresee(trace, &self.before, begun.thread, number, step);
        let conflicts_with_last = step.accesses.iter().any(|mine| {
            self.step.accesses.iter().any(|theirs| {
                mine.location == theirs.location && mine.mode.conflicts_with(theirs.mode)
            })
        });
        !conflicts_with_last
            && !(first..trace.len()).any(|event| {
                self.cut.contains(&trace.events()[event]) && conflict(trace, event, step)
            })
    }

    /// Whether the second event comes after another one of the sequence.
    fn last_comes_after_some(&self, trace: &Trace, first: usize) -> bool {
        (first..trace.len()).any(|event| {
            self.cut.contains(&trace.events()[event])
                && (conflict(trace, event, &self.step)
                    || self.thread_knows_in_sequence(trace, event))
        })
    }

    fn thread_knows_in_sequence(&self, trace: &Trace, event: usize) -> bool {
        // The thread has no event in the sequence; only what woke it can be there.
        let cause = match self.second {
            Second::Event { event, .. } => trace.cause_of(event),
            Second::Waiting { thread, .. } => trace.pending_cause(thread),
        };
        cause.is_some_and(|cause| trace.happens_before(event, cause))
    }
}

/// An end of the trace.
#[derive(Clone, Copy)]
enum End {
    First,
    Last,
}

/// Whether the order of an event and of a step of another thread matters.
pub(super) fn conflict(trace: &Trace, event: usize, step: &Observed) -> bool {
    trace.accesses(event).any(|theirs| {
        step.accesses
            .iter()
            .any(|mine| mine.location == theirs.location && mine.mode.conflicts_with(theirs.mode))
    })
}

fn thread_id(index: usize) -> ThreadId {
    ThreadId(u32::try_from(index).unwrap_or(u32::MAX))
}
