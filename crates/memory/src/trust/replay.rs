//! A new run of a program, up to a graph.
//!
//! The events are made in an order that is a function of the graph and extends `porf`: of each thread in turn as many as possible. Every read is
//! answered by what the write that it reads from has written *in this run*, since what is an address differs from run to run. So all values of a
//! graph are of one run. What decides about the shape of the graph is compared.
//!
//! A program may fail on the way: by what a thread does after a read that was revisited, which nobody has seen yet, and which this order may come to before the
//! events of other threads. The events that were made are a graph of their own, so the failure is one of the program.

use raddle_schedule::{Diverged, ThreadId};

use crate::graph::{EventId, Graph, Kind, Row};
use crate::operation::{Effect, Location, Operation};
use crate::program::{Answer, Next, Program};

/// How far a replay has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Replayed {
    /// All events were made.
    All,
    /// Some were not, because the program has failed.
    Failed,
}

impl Graph {
    /// What the program is told of an event.
    pub(super) fn answer(&self, id: EventId) -> Answer<'_> {
        let event = self.event(id);
        let writes = event.location.filter(|_| event.kind.writes());
        Answer {
            event,
            clock: self.clock(id, Row::Hb),
            writes: writes.map_or(&[], |location| self.writes(location)),
        }
    }
}

/// Runs a program up to a graph, which gets the values of this run.
pub(crate) fn replay<P: Program>(program: &mut P, graph: &mut Graph) -> Result<Replayed, Diverged> {
    program.restart();
    let mut done = vec![0; graph.thread_count()];
    loop {
        let before: usize = done.iter().sum();
        for index in 0..done.len() {
            let thread = ThreadId(index as u32);
            while done[index] < graph.thread(thread).len() {
                let id = EventId::new(thread, done[index]);
                let first = match id.index {
                    0 => graph.spawned_by(thread),
                    _ => None,
                };
                let is_made = |id: EventId| done[id.thread.index()] > id.index as usize;
                let mut sources = first.into_iter().chain(graph.event(id).from);
                if !sources.all(is_made) {
                    break;
                }
                let next = program.next(thread);
                if matches!(next, Next::Failed) {
                    return Ok(Replayed::Failed);
                }
                refresh(graph, id, next)?;
                program.answer(thread, graph.answer(id))?;
                done[index] += 1;
            }
        }
        let after: usize = done.iter().sum();
        if after == graph.len() {
            return Ok(Replayed::All);
        }
        assert!(after > before, "a graph is closed and acyclic");
    }
}

/// Compares an event with what the thread does in this run, and gives it the values of this run.
fn refresh(graph: &mut Graph, id: EventId, next: Next) -> Result<(), Diverged> {
    let diverged = |graph: &Graph| Diverged {
        expected: format!("{:?} of {id:?}", graph.event(id).operation),
        found: format!("{next:?}"),
    };
    let Next::Operation(operation) = next else {
        return Err(diverged(graph));
    };
    if !is_same(
        &graph.event(id).operation,
        &operation,
        graph.event(id).location,
    ) {
        return Err(diverged(graph));
    }
    if let (Some(location), Some(target)) = (graph.event(id).location, operation.target()) {
        graph.set_initial(location, target.initial);
        let value = graph.value(location, graph.event(id).from);
        let event = graph.event_mut(id);
        if event.kind.reads() {
            event.read = value;
        }
        match operation {
            Operation::Write { value, .. } => event.written = value,
            Operation::Update { update, .. } => match (update.effect(value), event.kind) {
                (Effect::Write(written), Kind::Update) => event.written = written,
                (Effect::Read, Kind::Read) => {}
                _ => return Err(diverged(graph)),
            },
            Operation::Await { until, .. } if !until.holds(value) => return Err(diverged(graph)),
            _ => {}
        }
    }
    graph.event_mut(id).operation = operation;
    Ok(())
}

/// Whether two operations are the same but for values, on the location of an event.
fn is_same(before: &Operation, now: &Operation, location: Option<Location>) -> bool {
    let is_like = match (before, now) {
        (Operation::Read { order: one, .. }, Operation::Read { order: other, .. })
        | (Operation::Write { order: one, .. }, Operation::Write { order: other, .. })
        | (Operation::Await { order: one, .. }, Operation::Await { order: other, .. })
        | (Operation::Fence { order: one }, Operation::Fence { order: other }) => one == other,
        (Operation::Update { update: one, .. }, Operation::Update { update: other, .. }) => {
            one.order == other.order && one.failure == other.failure && one.waits == other.waits
        }
        (
            Operation::Choose { alternatives: one },
            Operation::Choose {
                alternatives: other,
            },
        ) => one == other,
        (Operation::Spawn { child: one }, Operation::Spawn { child: other })
        | (Operation::Join { child: one }, Operation::Join { child: other }) => one == other,
        _ => false,
    };
    let known = now.target().and_then(|target| target.location);
    is_like && known.is_none_or(|known| Some(known) == location)
}
