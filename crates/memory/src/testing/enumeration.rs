//! All consistent graphs of a program, by brute force.

use std::collections::{BTreeMap, HashSet};

use raddle_schedule::ThreadId;

use crate::graph::{EventId, Graph};
use crate::model::Model;
use crate::operation::{Effect, Operation};
use crate::program::{Next, Program};
use crate::trust::{End, Leaf, Stop, replay};

/// The graphs to which no thread can add an event, with how they end: found by adding events in every order, with every choice, and keeping what is
/// consistent by [`Model::defines`]. The program names its locations itself.
///
/// # Panics
///
/// If the program does not do the same when it is run again.
pub fn enumerate<P: Program>(
    program: &mut P,
    model: Model,
    mut leaf: impl FnMut(&mut P, &Leaf<'_>),
) -> BTreeMap<Vec<u32>, End> {
    let mut leaves = BTreeMap::new();
    let mut seen = HashSet::new();
    let mut todo = vec![Graph::default()];
    while let Some(mut graph) = todo.pop() {
        replay(program, &mut graph).expect("a program that does the same again");
        let threads = program.threads().to_vec();
        let mut stops = Vec::new();
        for &thread in &threads {
            let stop = match program.next(thread) {
                Next::Operation(operation) => {
                    let waits = waits(program, &graph, &operation);
                    // What waits for the last value may have come before it, but a join comes after what it waits for.
                    if !waits || operation.target().is_some() {
                        for extended in extensions(&graph, thread, operation) {
                            if seen.insert(extended.key()) && model.defines(&extended) {
                                todo.push(extended);
                            }
                        }
                    }
                    match waits {
                        true => Stop::Waits(operation),
                        false => continue,
                    }
                }
                Next::Blocked(blocked) => Stop::Blocked(blocked),
                Next::Ended => Stop::Ended,
                Next::Failed => Stop::Failed,
            };
            stops.push((thread, stop));
        }
        if stops.len() == threads.len() {
            let found = Leaf::new(&graph, &stops);
            leaf(program, &found);
            leaves.insert(graph.key(), found.end);
        }
    }
    leaves
}

fn waits<P: Program>(program: &mut P, graph: &Graph, operation: &Operation) -> bool {
    let last = operation.target().map_or(0, |target| {
        let location = target.location.expect("a program that names its locations");
        graph.last_value(location).unwrap_or(target.initial)
    });
    match *operation {
        Operation::Update { update, .. } => update.effect(last) == Effect::Wait,
        Operation::Await { until, .. } => !until.holds(last),
        Operation::Join { child } => !matches!(program.next(child), Next::Ended),
        _ => false,
    }
}

/// The graph with an event, in every way.
fn extensions(graph: &Graph, thread: ThreadId, operation: Operation) -> Vec<Graph> {
    let mut with_event = graph.clone();
    let id = with_event.add(thread, operation);
    let Some(location) = with_event.event(id).location else {
        return match operation {
            Operation::Choose { alternatives } => {
                let chosen = (0..alternatives).map(|chosen| {
                    let mut graph = with_event.clone();
                    graph.event_mut(id).read = chosen.into();
                    graph
                });
                chosen.collect()
            }
            _ => vec![with_event],
        };
    };
    let places = 0..=with_event.last_place(location);
    let extended = places.filter_map(|place| {
        let mut graph = with_event.clone();
        let from = graph.write_at(location, place);
        match operation {
            Operation::Write { .. } => graph.insert(id, place + 1),
            _ => read(&mut graph, id, from)?,
        }
        Some(graph)
    });
    extended.collect()
}

/// Lets an event read, and write if it is an update. `None` if it would wait.
fn read(graph: &mut Graph, id: EventId, from: Option<EventId>) -> Option<()> {
    graph.read_from(id, from);
    let event = graph.event(id);
    match event.operation {
        Operation::Await { until, .. } if !until.holds(event.read) => return None,
        Operation::Update { .. } if graph.effect(id) == Some(Effect::Wait) => return None,
        _ => {}
    }
    if graph.add_writing_part(id) {
        graph.insert_after_source(id);
    }
    Some(())
}
