//! [`Graphs`]: a closure as a program that execution graphs are explored of.

use std::cell::RefMut;
use std::ops::DerefMut;

use raddle_memory::{Answer, Blocked, EventId, Kind, Next};
use raddle_schedule::{Diverged, Execution as _, LocationId, Move, Observed, ThreadId};

use super::Made;
use super::events::{Meaning, location};
use crate::rt::Kind as ObjectKind;
use crate::rt::Place;
use crate::rt::clocks::{self, Touch};
use crate::rt::failure::Failure;
use crate::rt::objects::{Id, Known};
use crate::rt::operation::Operation;
use crate::rt::program::Program;
use crate::rt::state::{Misuse, State};

/// A program whose executions are run from graphs.
pub(crate) struct Graphs<P> {
    pub(crate) program: P,
    step: Observed,
    /// The beginning of the run was not the same as before.
    diverged: Option<Diverged>,
}

impl<P: DerefMut<Target = Program>> Graphs<P> {
    /// The program has to be [set up](Program::run_from_graphs) for it.
    pub(crate) fn new(program: P) -> Self {
        Self {
            program,
            step: Observed::default(),
            diverged: None,
        }
    }

    fn state(&self) -> RefMut<'_, State> {
        self.program.runtime.state.borrow_mut()
    }

    /// Makes a step that is no event, and the code after it.
    fn make_silently(&mut self, thread: ThreadId) -> Result<(), Diverged> {
        let (runs_on, begins) = {
            let mut state = self.program.runtime.state.borrow_mut();
            let runs_on = state.make(thread, 0, &mut self.step);
            (runs_on, state.is_beginning(thread))
        };
        self.state().deeds.was_possible()?;
        if runs_on {
            self.program.run(thread, begins);
        }
        self.state().compare(Move { thread, choice: 0 })
    }

    /// Makes the steps of a thread that are no events.
    fn advance(&mut self, thread: ThreadId) -> Result<(), Diverged> {
        while self.state().is_next_silent(thread) {
            self.make_silently(thread)?;
        }
        Ok(())
    }
}

impl State {
    /// Whether the last step of a thread was its first.
    pub(super) fn is_beginning(&self, thread: ThreadId) -> bool {
        let last = self.made.last().filter(|made| made.thread == thread);
        last.is_some_and(|made| made.operation == Operation::Begin)
    }

    fn is_next_silent(&self, thread: ThreadId) -> bool {
        let next = self.thread(thread).next();
        next.is_some_and(|next| {
            (next.suspended.is_none() || self.is_replayed())
                && matches!(next.operation, Operation::Begin | Operation::Resume)
        })
    }

    fn next_in_graph(&mut self, id: ThreadId) -> Next {
        let thread = self.thread(id);
        if thread.ended {
            return Next::Ended;
        }
        let Some(next) = thread.next().copied() else {
            return Next::Failed;
        };
        if !self.goes_on() {
            return Next::Failed;
        }
        // Who is suspended in a replay did not have to wait where more was known of its loop.
        if !self.is_replayed()
            && let Some(blocked) = self.blocked_in_graph(id)
        {
            return Next::Blocked(blocked);
        }
        match self.meaning(&next.operation) {
            Meaning::Event(operation) => Next::Operation(operation),
            Meaning::Infeasible | Meaning::Silent => Next::Blocked(Blocked::Infeasible),
        }
    }

    /// The thread makes its next step as an event of the graph. Returns whether it is to run on.
    fn make_event(&mut self, id: ThreadId, answer: &Answer<'_>, step: &mut Observed) -> bool {
        let event = answer.event;
        let choice = match event.kind {
            Kind::Choice => u32::try_from(event.read).unwrap_or(0),
            _ => 0,
        };
        let graph = self.graph.as_ref();
        let from = event.from.and_then(|from| graph?.step_of(from));
        let index = graph
            .and_then(|graph| graph.threads.get(id.index()))
            .map_or(0, |lane| lane.events.len());
        let made = Made {
            id: EventId::new(id, index),
            from,
            reads: event.kind.reads(),
            place: event.place(),
            is_last: event.kind.writes() && self.is_last_write(event.place(), answer.writes),
            in_loop: false,
            past: Default::default(),
        };
        let at = self.next_location(id);
        if let (Some(at), Some(name)) = (at, event.location) {
            let initial = self.objects.value(at);
            if let Some(graph) = &mut self.graph {
                let object = graph.object(at);
                if object.name.is_none() {
                    (object.initial, object.last) = (initial, initial);
                }
                object.name = Some(name);
            }
        }
        let next = Move { thread: id, choice };
        let runs_on = self.make_event_with(next, made, event.read, step);
        if let Some(graph) = &mut self.graph {
            graph.races.event(id, answer.clock);
        }
        let races = event.kind.writes() && self.is_stored_in_graph(id, at);
        if let (Kind::Spawn, Some(child)) = (event.kind, step.wakes.first()) {
            let child = *child;
            if let Some(graph) = &mut self.graph {
                graph.races.start(child, id);
            }
        }
        if let Some(failure) = self.uses_memory_in_graph(step) {
            self.fail(failure);
            return false;
        }
        runs_on && (!races || self.goes_on())
    }

    /// Whether no write that comes after a place of modification order was made in this run.
    fn is_last_write(&self, place: u32, writes: &[EventId]) -> bool {
        let is_made = |id: &EventId| {
            let graph = self.graph.as_ref();
            graph.is_some_and(|graph| graph.step_of(*id).is_some())
        };
        !writes[place as usize..].iter().any(is_made)
    }

    /// What is wrong with the memory that the last step has used.
    fn uses_memory_in_graph(&mut self, step: &Observed) -> Option<Failure> {
        let &made = self.made.last()?;
        let own = self.own_accesses.min(step.accesses.len());
        self.uses_memory(&made.operation, made.place, &step.accesses[..own])
    }

    /// Makes a step again as the graph has said: for a scout.
    pub(super) fn make_event_again(&mut self, next: Move, made: Made, step: &mut Observed) -> bool {
        let at = self.next_location(next.thread);
        let written = |(at, from): (_, usize)| {
            let mut accesses = self.accesses_of(from).iter();
            accesses.find(|access| access.location == at)
        };
        let before = at.map_or(0, |at| {
            let initial = self.graph.as_ref().and_then(|graph| {
                let object = graph.objects.get(at.index())?;
                object.name.map(|_| object.initial)
            });
            initial.unwrap_or_else(|| self.objects.value(at))
        });
        let read = match (at, made.from) {
            (Some(at), Some(from)) => written((at, from)).map_or(before, |access| access.after),
            _ => before,
        };
        if let (Some(at), Some(graph)) = (at, &mut self.graph) {
            let object = graph.object(at);
            if object.name.is_none() {
                // Any name will do: nobody asks for it.
                object.name = Some(raddle_memory::Location(at.0));
                (object.initial, object.last) = (before, before);
            }
        }
        self.make_event_with(next, made, read, step)
    }

    fn next_location(&self, id: ThreadId) -> Option<LocationId> {
        location(&self.thread(id).next()?.operation)
    }

    fn make_event_with(&mut self, next: Move, made: Made, read: u64, step: &mut Observed) -> bool {
        let id = next.thread;
        let at = self.next_location(id);
        if let Some(at) = at
            && made.reads
        {
            self.objects.set(at, read);
            self.is_told(id, at, made.from);
        }
        let runs_on = self.make(id, next.choice, step);
        let past = self.thread(id).past;
        let number = self.made.len() - 1;
        if !made.reads && at.is_some() {
            // What was there before a write depends on the order in which a run makes events, and nobody sees it.
            self.made[number].result = 0;
        }
        let Some(graph) = &mut self.graph else {
            return runs_on;
        };
        let in_loop = std::mem::take(&mut self.is_in_loop);
        graph.made.resize(number, None);
        graph.made.push(Some(Made {
            in_loop,
            past,
            ..made
        }));
        graph.lane(id).events.push(number);
        if let Some(at) = at {
            let after = self.objects.value(at);
            let object = graph.object(at);
            if made.is_last {
                object.last = after;
            }
            let last = object.last;
            self.objects.set(at, last);
            let seen = &mut graph.lane(id).seen;
            match seen.iter_mut().find(|seen| seen.0 == at) {
                Some(seen) => seen.1 = after,
                None => seen.push((at, after)),
            }
        }
        runs_on
    }

    /// Whether it is known what happens before what. What a scout does races with nothing, since others have done no more than it takes; and what is made again by a script has no clocks.
    pub(in crate::rt) fn knows_order(&self) -> bool {
        let is_scripted = self.graph.as_ref().is_some_and(|graph| graph.is_scripted);
        !self.sites.has_scout() && !is_scripted
    }

    /// A cell is accessed. Returns the race that this is.
    pub(crate) fn touch_cell_in_graph(
        &mut self,
        id: &Id,
        kind: clocks::Kind,
        place: Place,
    ) -> Result<Option<Failure>, Misuse> {
        if !self.knows_order() {
            return Ok(None);
        }
        let (generation, current, when) = (self.generation, self.current, (place, self.time()));
        let Some(graph) = &mut self.graph else {
            return Ok(None);
        };
        let cell = match id.number(generation) {
            Known::Number(number) => number,
            Known::New => {
                let number = graph.races.add_cell();
                if !id.set(generation, number) {
                    return Err(Misuse::Stale(ObjectKind::Cell));
                }
                number
            }
            Known::Stale => return Err(Misuse::Stale(ObjectKind::Cell)),
        };
        let racing = graph.races.touch(cell, current, kind, when);
        Ok(racing.map(|earlier| self.race(&earlier, kind.writes, place)))
    }

    /// An atomic is read by a plain load. Returns the race that this is.
    pub(crate) fn plain_load_in_graph(&mut self, id: &Id, place: Place) -> Option<Failure> {
        let (generation, current, when) = (self.generation, self.current, (place, self.time()));
        let Known::Number(number) = id.number(generation) else {
            return None;
        };
        let at = LocationId(number);
        if !self.knows_order() {
            return None;
        }
        let graph = self.graph.as_mut()?;
        graph.races.plain_load(at, current, when);
        let graph = self.graph.as_ref()?;
        let mut made = graph.made.iter().enumerate();
        let (step, _) = made.find(|(step, made)| {
            let writes = made.is_some_and(|made| {
                made.place > 0 && !graph.races.is_known(current, made.id.thread, made.id.index)
            });
            writes && location(&self.made[*step].operation) == Some(at)
        })?;
        let writer = &self.made[step];
        let kind = clocks::Kind {
            writes: true,
            has_ended: false,
        };
        let earlier = Touch::new(writer.thread, (writer.place, step), kind);
        Some(self.race(&earlier, false, place))
    }

    /// The last step of a thread has written a location. Returns whether a plain load races with that.
    fn is_stored_in_graph(&mut self, id: ThreadId, at: Option<LocationId>) -> bool {
        let (Some(at), Some(graph), true) = (at, &self.graph, self.knows_order()) else {
            return false;
        };
        let Some(earlier) = graph.races.races_with_plain_load(at, id) else {
            return false;
        };
        let place = self.made.last().map_or(earlier.place, |made| made.place);
        let race = self.race(&earlier, true, place);
        self.fail(race);
        true
    }

    /// A reference goes away whose count is no location.
    pub(crate) fn drop_reference_in_graph(&mut self, counted: usize, last: bool) {
        let current = self.current;
        if let Some(graph) = &mut self.graph {
            graph.races.drop_reference(current, counted, last);
        }
    }

    /// The current thread finds that its reference is the only one.
    pub(crate) fn finds_only_reference_in_graph(&mut self, counted: usize) {
        let current = self.current;
        if let Some(graph) = &mut self.graph {
            graph.races.only_reference(current, counted);
        }
    }
}

impl<P: DerefMut<Target = Program>> raddle_memory::Program for Graphs<P> {
    fn restart(&mut self) {
        self.program.restart();
        if let Some(graph) = &mut self.state().graph {
            graph.begin();
        }
        self.diverged = self.advance(ThreadId::MAIN).err();
    }

    fn threads(&self) -> &[ThreadId] {
        self.program.threads()
    }

    fn next(&mut self, thread: ThreadId) -> Next {
        self.state().next_in_graph(thread)
    }

    fn answer(&mut self, thread: ThreadId, answer: Answer<'_>) -> Result<(), Diverged> {
        self.diverged.take().map_or(Ok(()), Err)?;
        let mut step = std::mem::take(&mut self.step);
        let (runs_on, ends) = {
            let mut state = self.state();
            let operation = state.thread(thread).next().map(|next| next.operation);
            let ends = matches!(operation, Some(Operation::End { .. }));
            (state.make_event(thread, &answer, &mut step), ends)
        };
        let child = step.wakes.first().copied();
        self.step = step;
        self.state().deeds.was_possible()?;
        if runs_on && !ends {
            self.program.run(thread, false);
        }
        let choice = self.state().made.last().map_or(0, |made| made.choice);
        self.state().compare(Move { thread, choice })?;
        if let (Kind::Spawn, Some(child)) = (answer.event.kind, child) {
            self.advance(child)?;
        }
        self.advance(thread)
    }
}
