//! Executions that are graphs: real code under a memory model that is weaker than sequential consistency.
//!
//! `raddle-memory` explores execution graphs. It asks what each thread does next, and answers with what the thread reads. Here the runtime of
//! this crate becomes a program that it can ask ([`run`]).
//!
//! # How an execution is made from a graph
//!
//! A step of the runtime is a function of the values of the locations that it names. So before a step is made, its location gets the value that the
//! graph says is read, and the step is made as ever. Afterwards the location has the value of the last write in modification order, of those that
//! were made in this run. Hence
//!
//! **Lemma 1.** *Whatever looks at the value of a location without a step sees the last one in modification order.* Whoever does so in a program without data races has
//! the object alone, so all writes of it happen before, were made in this run, and the last of them is the value.
//!
//! **Lemma 2.** *Whenever an execution is given up, the values are those of a state that the program can be in:* a run that goes on by reading the last write of each location is consistent
//! in all models (extensibility, see `raddle_memory::model`). So code under test may run on from there.
//!
//! # Steps and events
//!
//! An event touches one location. Operations that touch several are made of others where executions are graphs: waiting on a condition variable, sending,
//! receiving, the end of a scope, barriers ([`crate::rt::is_graph`] is where the API asks). Each has the orderings that `std` has, or less. What is not supported is
//! [refused](InGraph::refuse): the exploration ends without a claim. Steps that touch nothing that is shared are no events, and are made at once.
//!
//! # Names
//!
//! A location of the runtime has a number by the order in which objects are first used, which depends on the order in which a run makes events. The
//! graph has names of its own. An object is bound to the name of the event that touches it first in a run.
//!
//! # Loops that wait
//!
//! [Polling](super::polling) finds out that a thread goes round in a loop, by what the thread itself has done and found; here what it has found is what the graph says.
//! A thread that would be suspended is blocked: it makes no event any more, and what it has read can still be revisited. Nothing wakes it, and nothing has to. What differs, and why it stays sound, is in [`loops`].
//!
//! # Data races
//!
//! By happens-before of the graph: see [`races`].

mod ends;
mod events;
mod loops;
mod moves;
mod races;
mod run;
mod story;
mod words;

use raddle_memory::{EventId, Location, Model};
use raddle_schedule::{LocationId, ThreadId};

use super::Place;
use super::polling::Past;
use super::program::Program;
use super::state::State;
pub(crate) use ends::Verdict;
pub(super) use events::{order, order_of};
pub(super) use loops::{Iteration, Scripted, Stop, select};
pub(crate) use run::Graphs;
pub(super) use story::Told;

/// What an execution has that is run from a graph, beside what others have.
#[derive(Debug)]
pub(crate) struct InGraph {
    pub(crate) model: Model,
    /// By location.
    objects: Vec<Object>,
    /// By thread.
    threads: Vec<Lane>,
    races: races::Races,
    /// By step.
    made: Vec<Option<Made>>,
    /// Whether it is made again by a script.
    is_scripted: bool,
    /// Whether a location has a value that one thread has seen, and not the last one: no execution has such a state.
    is_frozen: bool,
    /// What is not supported was about to be done.
    refused: Option<(Place, &'static str)>,
}

/// What is known of a location.
#[derive(Clone, Copy, Debug, Default)]
struct Object {
    /// Its name in the graph, once an event has touched it.
    name: Option<Location>,
    /// Its value before all writes, and after those that were made in this run.
    initial: u64,
    last: u64,
}

/// What is known of a thread.
#[derive(Clone, Debug, Default)]
struct Lane {
    /// The steps that are its events.
    events: Vec<usize>,
    /// The values that it has last seen, of each location that it has touched.
    seen: Vec<(LocationId, u64)>,
    /// How many events it had made when it last arrived at a site, and the time before.
    arrivals: [u32; 2],
    /// Why it makes no event any more, if it is suspended.
    stop: Option<Stop>,
}

/// An event that was made.
#[derive(Clone, Copy, Debug)]
struct Made {
    id: EventId,
    /// The step whose value it has read, if it was written.
    from: Option<usize>,
    /// Whether it has read something.
    reads: bool,
    /// Its place in modification order, if it has written, and whether no write that was made before it comes later.
    place: u32,
    is_last: bool,
    /// Whether its thread was in a loop in which it polls.
    in_loop: bool,
    /// What the local state of its thread depended on after it.
    past: Past,
}

/// How a step is connected with others.
#[derive(Clone, Copy, Debug)]
pub(super) struct Link {
    /// The step that it has read from.
    pub(super) from: Option<usize>,
    pub(super) writes: bool,
}

impl InGraph {
    pub(crate) fn new(model: Model) -> Self {
        Self {
            model,
            objects: Vec::new(),
            threads: Vec::new(),
            races: races::Races::default(),
            made: Vec::new(),
            is_scripted: false,
            is_frozen: false,
            refused: None,
        }
    }

    fn begin(&mut self) {
        self.objects.clear();
        self.threads.clear();
        self.races.begin();
        self.made.clear();
        self.is_scripted = false;
        self.is_frozen = false;
        self.refused = None;
    }

    fn lane(&mut self, thread: ThreadId) -> &mut Lane {
        if self.threads.len() <= thread.index() {
            self.threads.resize_with(thread.index() + 1, Lane::default);
        }
        &mut self.threads[thread.index()]
    }

    fn object(&mut self, at: LocationId) -> &mut Object {
        if self.objects.len() <= at.index() {
            self.objects.resize(at.index() + 1, Object::default());
        }
        &mut self.objects[at.index()]
    }

    /// The step that is an event, if it was made.
    fn step_of(&self, id: EventId) -> Option<usize> {
        let lane = self.threads.get(id.thread.index())?;
        lane.events.get(id.index as usize).copied()
    }

    /// What a step that is an event has read from, and whether it writes.
    pub(super) fn link(&self, step: usize) -> Option<Link> {
        let made = self.made.get(step).copied().flatten()?;
        Some(Link {
            from: made.from,
            writes: made.place > 0,
        })
    }

    /// The place in modification order of a step that writes.
    pub(super) fn place_of(&self, step: usize) -> Option<u32> {
        let made = self.made.get(step).copied().flatten()?;
        (made.place > 0).then_some(made.place)
    }

    /// The accesses of plain memory.
    pub(super) fn touches(&self) -> impl Iterator<Item = &super::clocks::Touch> {
        self.races.touches()
    }

    /// How many events a thread has made, and how many of each thread it knows.
    pub(in crate::rt) fn knows(&mut self, thread: ThreadId) -> (u32, &[u32]) {
        self.races.known_by(thread)
    }
}

impl Program {
    /// From now on, executions are run from graphs; or, without a model, by schedules.
    pub(crate) fn run_from_graphs(&mut self, model: Option<Model>) {
        self.end();
        let graph = model.map(|model| Box::new(InGraph::new(model)));
        self.runtime.state.borrow_mut().graph = graph;
        self.companion = None;
        // Waiting operations are others then, so executions are not compared with earlier ones.
        self.wiser = true;
    }

    /// The model whose graphs executions are run from.
    pub(crate) fn model(&self) -> Option<Model> {
        let state = self.runtime.state.borrow();
        state.graph.as_ref().map(|graph| graph.model)
    }

    /// What was refused in this execution, and where.
    pub(crate) fn refused(&self) -> Option<(Place, &'static str)> {
        self.runtime.state.borrow().graph.as_ref()?.refused
    }
}

impl State {
    /// Something is about to be done that is not supported where executions are graphs.
    pub(crate) fn refuse_in_graph(&mut self, place: Place, what: &'static str) {
        if let Some(graph) = &mut self.graph {
            graph.refused.get_or_insert((place, what));
        }
    }

    /// How many moves lead to the first steps of this execution, this many.
    pub(super) fn moves_of(&self, steps: usize) -> usize {
        match &self.graph {
            Some(graph) => graph.made.iter().take(steps).flatten().count(),
            None => steps,
        }
    }

    /// Whether this execution is run from a graph.
    #[inline]
    pub(crate) fn is_graph(&self) -> bool {
        self.graph.is_some()
    }
}
