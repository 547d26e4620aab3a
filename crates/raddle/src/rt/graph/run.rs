//! [`Graphs`]: a closure as a program that execution graphs are explored of.

use std::cell::RefMut;

use raddle_memory::{Answer, Blocked, EventId, Kind, Next};
use raddle_schedule::{Diverged, Execution as _, Move, Observed, ThreadId};

use super::Made;
use super::events::{Meaning, location};
use crate::rt::Place;
use crate::rt::clocks;
use crate::rt::failure::Failure;
use crate::rt::objects::{Id, Known};
use crate::rt::operation::Operation;
use crate::rt::program::Program;
use crate::rt::state::{Misuse, State};
use crate::rt::{Kind as ObjectKind, clocks::Touch};

/// A program whose executions are run from graphs.
pub(crate) struct Graphs<'a> {
    pub(crate) program: &'a mut Program,
    step: Observed,
}

impl<'a> Graphs<'a> {
    /// The program has to be [set up](Program::run_from_graphs) for it.
    pub(crate) fn new(program: &'a mut Program) -> Self {
        Self {
            program,
            step: Observed::default(),
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
        Ok(())
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
            next.suspended.is_none()
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
        if let Some(blocked) = self.blocked_in_graph(id) {
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
        runs_on
    }

    /// What is wrong with the memory that the last step has used.
    fn uses_memory_in_graph(&mut self, step: &Observed) -> Option<Failure> {
        let &made = self.made.last()?;
        self.uses_memory(&made.operation, made.place, &step.accesses)
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

    fn next_location(&self, id: ThreadId) -> Option<raddle_schedule::LocationId> {
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
            if made.place > 0 && made.place >= object.place {
                (object.place, object.last) = (made.place, after);
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

    /// A cell is accessed. Returns the race that this is.
    pub(crate) fn touch_cell_in_graph(
        &mut self,
        id: &Id,
        kind: clocks::Kind,
        place: Place,
    ) -> Result<Option<Failure>, Misuse> {
        // What a scout does races with nothing, since others have done no more than it takes.
        if self.sites.has_scout() {
            return Ok(None);
        }
        let (generation, current) = (self.generation, self.current);
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
        let racing = graph.races.touch(cell, current, kind, place);
        Ok(racing.map(|(thread, writes, earlier)| {
            let earlier = Touch::new(thread, earlier, writes);
            self.race(&earlier, kind.writes, place)
        }))
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

impl raddle_memory::Program for Graphs<'_> {
    fn restart(&mut self) {
        self.program.restart();
        if let Some(graph) = &mut self.state().graph {
            graph.begin();
        }
        // The first step of the main thread is always possible.
        let begun = self.advance(ThreadId::MAIN);
        debug_assert!(begun.is_ok());
    }

    fn threads(&self) -> &[ThreadId] {
        self.program.threads()
    }

    fn next(&mut self, thread: ThreadId) -> Next {
        self.state().next_in_graph(thread)
    }

    fn answer(&mut self, thread: ThreadId, answer: Answer<'_>) -> Result<(), Diverged> {
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
        if let (Kind::Spawn, Some(child)) = (answer.event.kind, child) {
            self.advance(child)?;
        }
        self.advance(thread)
    }
}
