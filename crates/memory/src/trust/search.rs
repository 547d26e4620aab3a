//! The search: a graph, and a stack of what is still to be tried.

use std::ops::ControlFlow;

use raddle_outcome::LeftOut;
use raddle_schedule::ThreadId;

use super::ends::{Leaf, Stop, Visitor};
use super::maximal::Revisiting;
use super::{Counts, Refused, Replayed, Rule, Schedule, replay};
use crate::graph::{EventId, Graph, Kind, Row};
use crate::model::{Model, least_place};
use crate::operation::{Effect, Location, Operation, Target};
use crate::program::{Next, Program};

/// The rules that hold: all, but for tests of the tests.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Rules {
    without: u32,
}

impl Rules {
    pub(super) fn leave_out(&mut self, rule: Rule) {
        self.without |= 1 << rule as u32;
    }

    pub(super) fn has_all(self) -> bool {
        self.without == 0
    }

    pub(super) fn has(self, rule: Rule) -> bool {
        self.without & 1 << rule as u32 == 0
    }
}

/// What was not tried yet. The graph on which it is tried is the one that the search has, cut back to the time of the frame, or one that was put aside.
#[derive(Debug)]
pub(super) enum Frame {
    /// What one event does otherwise.
    Event {
        event: EventId,
        /// The write that has revisited it, which is younger than everything in its graph.
        by: Option<EventId>,
        time: u32,
        todo: Vec<Alternative>,
    },
    /// Threads that wait at a leaf. The operations are those of a run.
    Leaf {
        time: u32,
        run: u64,
        waiting: Vec<(ThreadId, Operation)>,
    },
    /// A backward revisit is over when this is the last frame: the graph before it.
    Revisit(Box<Graph>),
}

impl Frame {
    /// How much is still to be tried.
    pub(super) fn left(&self) -> usize {
        match self {
            Self::Event { todo, .. } => todo.len(),
            Self::Leaf { waiting, .. } => waiting.len(),
            Self::Revisit(_) => 0,
        }
    }

    /// Takes what is still to be tried, or half of it, for another worker.
    pub(super) fn take(&mut self, half: bool) -> Self {
        let from = |left: usize| if half { left / 2 } else { 0 };
        match self {
            Self::Event {
                event,
                by,
                time,
                todo,
            } => Self::Event {
                event: *event,
                by: *by,
                time: *time,
                todo: todo.split_off(from(todo.len())),
            },
            Self::Leaf { time, waiting, .. } => Self::Leaf {
                time: *time,
                // The program of the other worker has made no run of that number.
                run: u64::MAX,
                waiting: waiting.split_off(from(waiting.len())),
            },
            Self::Revisit(_) => unreachable!("a revisit has nothing left to be tried"),
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Alternative {
    /// It chooses this.
    Choose(u32),
    /// It reads from this write.
    Read(Option<EventId>),
    /// It is put at this place of modification order.
    Place(u32),
    /// It is an update and reads from this write.
    Update(Option<EventId>),
    /// The write that revisits it is put at this place of modification order.
    RevisitedAt(u32),
    /// It revisits this read.
    Revisits(EventId),
}

pub(super) struct Search<'a, P, V> {
    pub(super) program: &'a mut P,
    pub(super) visitor: &'a mut V,
    pub(super) model: Model,
    pub(super) schedule: Schedule,
    pub(super) rules: Rules,
    pub(super) most_events: usize,
    has_oracle: bool,
    pub(super) graph: Graph,
    pub(super) counts: Counts,
    pub(super) left_out: LeftOut,
    pub(super) stack: Vec<Frame>,
    seed: u64,
    /// How many graphs are put aside.
    aside: u64,
    /// Whether the program has made exactly the events of the graph.
    is_in_step: bool,
}

impl<'a, P: Program, V: Visitor<P>> Search<'a, P, V> {
    pub(super) fn new(
        program: &'a mut P,
        visitor: &'a mut V,
        model: Model,
        schedule: Schedule,
        rules: Rules,
        most_events: Option<usize>,
        has_oracle: bool,
    ) -> Self {
        Self {
            program,
            visitor,
            model,
            schedule,
            rules,
            most_events: most_events.unwrap_or(usize::MAX),
            has_oracle,
            graph: Graph::default(),
            counts: Counts::default(),
            left_out: LeftOut::default(),
            stack: Vec::new(),
            seed: match schedule {
                Schedule::Random(seed) => seed.max(1),
                _ => 1,
            },
            aside: 0,
            is_in_step: false,
        }
    }

    /// Visits the graph, and all that follows from it and from what is still to be tried. Between two leaves, `pause` may look at the search.
    pub(super) fn run(
        &mut self,
        pause: &mut impl FnMut(&mut Self),
    ) -> Result<ControlFlow<()>, Refused> {
        loop {
            if self.extend_to_leaf()?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
            pause(self);
            if !self.backtrack()? {
                return Ok(ControlFlow::Continue(()));
            }
        }
    }

    pub(super) fn admits(&mut self, changed: &[EventId]) -> bool {
        self.counts.checks += 1;
        let admits = self.model.admits(&self.graph, changed);
        if self.has_oracle {
            assert_eq!(
                admits,
                self.model.defines(&self.graph),
                "{changed:?} in {:?}",
                self.graph
            );
        }
        admits
    }

    /// Adds default events until no thread can make one. The graph is consistent.
    pub(super) fn extend_to_leaf(&mut self) -> Result<ControlFlow<()>, Refused> {
        if !self.is_in_step && self.replay()? == Replayed::Failed {
            return self.end();
        }
        loop {
            if self.visitor.pulse(self.program, &self.graph).is_break() {
                return Ok(ControlFlow::Break(()));
            }
            match self.pick() {
                Some((thread, operation)) => self.make(thread, operation)?,
                None => return self.end(),
            }
        }
    }

    /// A thread that can make an event, and the event.
    fn pick(&mut self) -> Option<(ThreadId, Operation)> {
        let count = self.program.threads().len();
        let last = self.graph.events().last().map(|id| id.thread);
        if self.graph.len() >= self.most_events {
            return None;
        }
        let start = match (self.schedule, last) {
            (Schedule::Random(_), _) => self.random(count),
            (Schedule::Latest, Some(last)) => {
                let threads = self.program.threads().iter();
                threads
                    .copied()
                    .position(|thread| thread == last)
                    .unwrap_or(0)
            }
            _ => 0,
        };
        let mut other = None;
        for at in 0..count {
            let at = match self.schedule {
                Schedule::Backward => count - 1 - at,
                _ => (start + at) % count,
            };
            let thread = self.program.threads()[at];
            let Some(operation) = self.can_make(thread) else {
                continue;
            };
            let writes = matches!(
                operation,
                Operation::Write { .. } | Operation::Update { .. }
            );
            if self.schedule != Schedule::WritesFirst || writes {
                return Some((thread, operation));
            }
            other = other.or(Some((thread, operation)));
        }
        other
    }

    fn can_make(&mut self, thread: ThreadId) -> Option<Operation> {
        match self.program.next(thread) {
            Next::Operation(operation) if !self.waits(&operation) => Some(operation),
            _ => None,
        }
    }

    /// The last value of a location.
    fn last_value(&self, target: Target) -> u64 {
        let known = target.location.and_then(|l| self.graph.last_value(l));
        known.unwrap_or(target.initial)
    }

    /// Whether an operation waits for other threads.
    pub(super) fn waits(&mut self, operation: &Operation) -> bool {
        match *operation {
            Operation::Update { target, update } if update.waits => {
                update.effect(self.last_value(target)) == Effect::Wait
            }
            Operation::Await { target, until, .. } => !until.holds(self.last_value(target)),
            Operation::Join { child } => !matches!(self.program.next(child), Next::Ended),
            _ => false,
        }
    }

    /// Adds the event of an operation as the default, keeps the alternatives in mind, and goes on with the program.
    fn make(&mut self, thread: ThreadId, operation: Operation) -> Result<(), Refused> {
        self.counts.events += 1;
        let id = self.graph.add(thread, operation);
        let todo = match operation {
            Operation::Fence { .. } | Operation::Spawn { .. } | Operation::Join { .. } => {
                Vec::new()
            }
            Operation::Choose { alternatives } => {
                (1..alternatives).rev().map(Alternative::Choose).collect()
            }
            Operation::Read { .. } | Operation::Await { .. } | Operation::Update { .. } => {
                let mut todo = self.sources(id);
                let last = todo.pop().expect("a read reads from something");
                if let Alternative::Read(from) | Alternative::Update(from) = last {
                    self.graph.read_from(id, from);
                }
                if self.graph.add_writing_part(id) {
                    todo.extend(self.revisits(id));
                    self.graph.insert_after_source(id);
                }
                todo
            }
            Operation::Write { .. } => {
                let mut todo = self.revisits(id);
                todo.extend(self.places(id));
                if let Some(Alternative::Place(last)) = todo.pop() {
                    self.graph.insert(id, last);
                }
                todo
            }
        };
        if !todo.is_empty() {
            let (event, time) = (id, self.graph.now());
            self.stack.push(Frame::Event {
                event,
                by: None,
                time,
                todo,
            });
        }
        if self.has_oracle {
            assert!(
                self.model.defines(&self.graph),
                "{id:?} in {:?}",
                self.graph
            );
        }
        self.answer(id)
    }

    /// The program makes an event of the graph.
    pub(super) fn answer(&mut self, id: EventId) -> Result<(), Refused> {
        Ok(self.program.answer(id.thread, self.graph.answer(id))?)
    }

    /// The least place of what a new event may read from; a write has to come after it.
    fn least_place(&self, id: EventId, location: Location) -> u32 {
        let clock = self.graph.clock(id, self.model.order());
        least_place(&self.graph, location, clock, Some(id))
    }

    /// What a new event may read from, as far as its thread is concerned and if it does not wait: the last write comes last, but for threads that wait.
    fn sources(&self, id: EventId) -> Vec<Alternative> {
        let graph = &self.graph;
        let event = graph.event(id);
        let location = event.location.expect("a read has a location");
        let least = self.least_place(id, location);
        let mut sources = Vec::new();
        for place in least..=graph.last_place(location) {
            let from = graph.write_at(location, place);
            let value = graph.value(location, from);
            match event.operation {
                Operation::Update { update, .. } => {
                    if update.effect(value) != Effect::Wait && self.is_useful(id, location, from) {
                        sources.push(Alternative::Update(from));
                    }
                }
                Operation::Await { until, .. } if !until.holds(value) => {}
                _ => sources.push(Alternative::Read(from)),
            }
        }
        sources
    }

    /// Whether an update may read from a write: an update that has read it already must be one that can be revisited.
    fn is_useful(&self, id: EventId, location: Location, from: Option<EventId>) -> bool {
        let graph = &self.graph;
        let next = graph.writes(location).get(graph.place(from) as usize);
        let Some(&next) = next.filter(|next| graph.event(**next).kind.reads()) else {
            return true;
        };
        let precedes = |id: EventId| {
            let prefix = graph.clock(id, Row::Porf);
            prefix[next.thread.index()] > next.index
        };
        let Operation::Update { update, .. } = graph.event(id).operation else {
            return true;
        };
        match update.effect(graph.value(location, from)) {
            // It may turn out to be a read.
            Effect::Read => true,
            _ => !graph.is_settled(next) && !precedes(id) && !from.is_some_and(precedes),
        }
    }

    /// Where a new write may be put, as far as its thread and atomicity are concerned: the end comes last.
    fn places(&self, id: EventId) -> Vec<Alternative> {
        let graph = &self.graph;
        let location = graph.event(id).location.expect("a write has a location");
        let least = self.least_place(id, location);
        let splits = |place: u32| {
            let next = graph.writes(location).get(place as usize - 1);
            next.is_some_and(|&next| graph.event(next).kind.reads())
        };
        let places = (least + 1..=graph.last_place(location) + 1).filter(|&place| !splits(place));
        places.map(Alternative::Place).collect()
    }

    /// The revisits that a write makes, which is not in modification order.
    fn revisits(&self, write: EventId) -> Vec<Alternative> {
        let reads = Revisiting::new(&self.graph, write, self.rules).reads();
        reads.into_iter().map(Alternative::Revisits).collect()
    }

    /// No thread can make an event.
    fn end(&mut self) -> Result<ControlFlow<()>, Refused> {
        let stops = self.stops();
        let leaf = Leaf::new(&self.graph, &stops);
        if let Some((thread, location)) = leaf.broken_promise() {
            return Err(Refused::Condition { thread, location });
        }
        for omission in leaf.omissions() {
            self.left_out.note(omission.kind);
            self.visitor.left_out(self.program, omission);
        }
        self.counts.ends[leaf.end as usize] += 1;
        self.counts.in_doubt += u64::from(leaf.may_be_repeated());
        self.counts.longest = self.counts.longest.max(self.graph.len() as u64);
        let flow = self.visitor.leaf(self.program, &leaf);
        let retries = self.rules.has(Rule::WaitingAtLeaves);
        let waiting = stops.iter().filter_map(|(thread, stop)| match stop {
            Stop::Waits(operation @ Operation::Update { .. }) if retries => {
                Some((*thread, *operation))
            }
            _ => None,
        });
        let waiting: Vec<_> = waiting.collect();
        if !waiting.is_empty() {
            self.stack.push(Frame::Leaf {
                time: self.graph.now(),
                run: self.graph.run,
                waiting,
            });
        }
        Ok(flow)
    }

    fn stops(&mut self) -> Vec<(ThreadId, Stop)> {
        let threads = self.program.threads().to_vec();
        let is_full = self.graph.len() >= self.most_events;
        let stop = |thread: ThreadId| {
            let stop = match self.program.next(thread) {
                Next::Operation(_) if is_full => Stop::Limit,
                Next::Operation(operation) => Stop::Waits(operation),
                Next::Blocked(blocked) => Stop::Blocked(blocked),
                Next::Ended => Stop::Ended,
                Next::Failed => Stop::Failed,
            };
            (thread, stop)
        };
        threads.into_iter().map(stop).collect()
    }

    /// Nothing is left to be tried but this frame, on this graph.
    pub(super) fn go_on_with(&mut self, graph: Graph, frame: Frame) {
        self.graph = graph;
        self.stack.clear();
        self.stack.push(frame);
        self.is_in_step = false;
    }

    /// Takes the next alternative that is consistent. Whether there was one.
    pub(super) fn backtrack(&mut self) -> Result<bool, Refused> {
        while let Some(frame) = self.stack.last_mut() {
            self.is_in_step = false;
            match frame {
                Frame::Event {
                    event,
                    by,
                    time,
                    todo,
                } => {
                    let (event, by, time) = (*event, *by, *time);
                    match todo.pop() {
                        None => {
                            self.stack.pop();
                        }
                        Some(alternative) => {
                            self.graph.cut(time);
                            self.graph.withdraw(event);
                            if self.take(event, by, alternative) {
                                return Ok(true);
                            }
                        }
                    }
                }
                Frame::Leaf { time, run, waiting } => {
                    let (time, run) = (*time, *run);
                    match waiting.pop() {
                        None => {
                            self.stack.pop();
                        }
                        Some((thread, operation)) => {
                            self.graph.cut(time);
                            self.try_older_values(thread, operation, run)?;
                        }
                    }
                }
                Frame::Revisit(_) => {
                    if let Some(Frame::Revisit(before)) = self.stack.pop() {
                        self.graph = *before;
                        self.aside -= 1;
                    }
                }
            }
        }
        Ok(false)
    }

    /// Takes an alternative of an event, which is not in modification order. Whether the graph is consistent then, and to be visited.
    fn take(&mut self, id: EventId, by: Option<EventId>, alternative: Alternative) -> bool {
        match alternative {
            Alternative::Choose(chosen) => {
                self.graph.event_mut(id).read = chosen.into();
                true
            }
            Alternative::Read(from) => {
                self.graph.read_from(id, from);
                self.admits(&[id])
            }
            Alternative::Place(place) => {
                self.graph.insert(id, place);
                self.admits(&[id])
            }
            Alternative::Update(from) => {
                self.graph.take_writing_part(id);
                self.graph.read_from(id, from);
                self.complete(id, None)
            }
            Alternative::RevisitedAt(place) => {
                let by = by.expect("a write has revisited it");
                self.graph.take_writing_part(id);
                self.graph.withdraw(by);
                self.graph.insert(by, place);
                self.graph.read_from(id, Some(by));
                self.complete(id, Some(by))
            }
            Alternative::Revisits(read) => {
                self.revisit(id, read);
                false
            }
        }
    }

    /// `complete(G, u, op)` of the paper: an event has got what it reads from. If it is an update, it gets its ordering and its writing part, with
    /// the revisits of that. Whether the graph is consistent then.
    fn complete(&mut self, id: EventId, by: Option<EventId>) -> bool {
        let both = [id, by.unwrap_or(id)];
        let changed = match by {
            Some(_) => &both[..],
            None => &both[..1],
        };
        let Some(Effect::Write(_)) = self.graph.effect(id) else {
            return self.admits(changed);
        };
        self.graph.order_as_update(id);
        if !self.admits(changed) {
            return false;
        }
        self.graph.add_writing_part(id);
        let revisits = self.revisits(id);
        self.graph.insert_after_source(id);
        let is_consistent = self.admits(changed);
        if (is_consistent || self.rules.has(Rule::RevisitsOfInconsistentUpdates))
            && let Some(Frame::Event { todo, .. }) = self.stack.last_mut()
        {
            todo.extend(revisits);
        }
        is_consistent
    }

    /// `revisit(G, a)` of the paper, for one read: the graph without what is younger than the read and not before the write, in which the read reads
    /// from the write. It takes the place of the graph, which is put aside, and where the write can be put there is still to be tried.
    fn revisit(&mut self, write: EventId, read: EventId) {
        self.counts.revisits += 1;
        let mut graph = self
            .graph
            .restricted(&self.graph.kept_by_revisit(read, write));
        graph.withdraw(read);
        graph.settle_prefix(write);
        let waits = match graph.event(read).operation {
            Operation::Update { update, .. } => {
                update.effect(graph.event(write).written) == Effect::Wait
            }
            _ => false,
        };
        if waits {
            // It was the last of its thread: it is made again when it need not wait any more.
            graph.remove(read);
        }
        let before = std::mem::replace(&mut self.graph, graph);
        self.stack.push(Frame::Revisit(Box::new(before)));
        self.aside += 1;
        self.counts.deepest = self.counts.deepest.max(self.aside);
        if !waits {
            self.graph.take_writing_part(read);
        }
        let event = self.graph.event(write);
        let places = match event.kind {
            Kind::Update => vec![Alternative::Place(self.graph.place(event.from) + 1)],
            _ => self.places(write),
        };
        let location = event.location.expect("a write has a location");
        let end = self.graph.last_place(location) + 1;
        let todo = places.into_iter().filter_map(|place| match place {
            // It waits only for the last value.
            Alternative::Place(place) if waits => {
                (place == end).then_some(Alternative::Place(place))
            }
            Alternative::Place(place) => Some(Alternative::RevisitedAt(place)),
            _ => None,
        });
        let (event, by) = match waits {
            true => (write, None),
            false => (read, Some(write)),
        };
        self.stack.push(Frame::Event {
            event,
            by,
            time: self.graph.now(),
            todo: todo.collect(),
        });
    }

    /// A thread waits at a leaf. Its event is tried with the older values that it need not wait for. That is inconsistent as it stands, but the
    /// revisits that the event makes need not be: in these, the threads that this one waits for come later.
    fn try_older_values(
        &mut self,
        thread: ThreadId,
        mut operation: Operation,
        run: u64,
    ) -> Result<(), Refused> {
        if self.graph.run != run {
            // Its values are those of an earlier run.
            self.replay()?;
            if let Next::Operation(again) = self.program.next(thread) {
                operation = again;
            }
            self.is_in_step = false;
        }
        let known = |target: Target| {
            target
                .location
                .is_some_and(|l| self.graph.last_value(l).is_some())
        };
        if !operation.target().is_some_and(known) {
            // Nothing was ever there but the value that it waits to change.
            return Ok(());
        }
        let event = self.graph.add(thread, operation);
        let todo = self.sources(event);
        self.stack.push(Frame::Event {
            event,
            by: None,
            time: self.graph.now(),
            todo,
        });
        Ok(())
    }

    /// Begins with the empty graph.
    pub(super) fn begin(&mut self) -> Result<(), Refused> {
        self.replay().map(|_| ())
    }

    /// Runs the program anew up to the graph. The graph gets the values of this run.
    fn replay(&mut self) -> Result<Replayed, Refused> {
        self.counts.runs += 1;
        self.counts.replayed += self.graph.len() as u64;
        self.graph.run = self.counts.runs;
        let replayed = replay(self.program, &mut self.graph)?;
        self.is_in_step = replayed == Replayed::All;
        Ok(replayed)
    }

    fn random(&mut self, below: usize) -> usize {
        self.seed ^= self.seed << 13;
        self.seed ^= self.seed >> 7;
        self.seed ^= self.seed << 17;
        (self.seed >> 11) as usize % below
    }
}
