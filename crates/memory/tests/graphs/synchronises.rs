//! The edges of a picture against the clocks of graphs.

use std::ops::ControlFlow;

use raddle_memory::testing::{Profile, Script, Toy};
use raddle_memory::{
    Action, EventId, Graph, Kind, Leaf, Model, Operation, Step, Trust, synchronises,
};
use raddle_schedule::ThreadId;

/// The events of a graph in an order that extends program order and reads-from.
fn ordered(graph: &Graph) -> Vec<EventId> {
    let mut events = graph.events().to_vec();
    events.sort_by_key(|&id| (graph.prefix(id).iter().sum::<u32>(), id));
    events
}

fn steps(graph: &Graph, events: &[EventId]) -> Vec<Step> {
    let number = |id: EventId| events.iter().position(|&other| other == id).unwrap();
    let step = |&id: &EventId| {
        let event = graph.event(id);
        let action = match (event.kind, event.operation) {
            (Kind::Read | Kind::Write | Kind::Update, _) => Action::Access {
                from: event
                    .from
                    .filter(|_| event.kind.reads())
                    .map(number)
                    .into_iter()
                    .collect(),
                writes: event.kind.writes(),
            },
            (Kind::Fence, _) => Action::Fence,
            (_, Operation::Spawn { child }) => Action::Starts(child),
            (_, Operation::Join { child }) => Action::Joins(child),
            _ => Action::None,
        };
        Step {
            thread: id.thread,
            action,
            order: event.order,
            is_open: true,
        }
    };
    events.iter().map(step).collect()
}

/// Program order and the edges, closed, are happens-before.
fn compare(graph: &Graph) {
    let events = ordered(graph);
    let edges = synchronises(&steps(graph, &events));
    let mut known: Vec<Vec<u32>> = Vec::new();
    for (number, &id) in events.iter().enumerate() {
        let mut clock = vec![0; graph.thread_count()];
        let before = events[..number]
            .iter()
            .rposition(|other| other.thread == id.thread);
        let sources = edges.iter().filter(|edge| edge.1 == number);
        for source in before.into_iter().chain(sources.map(|edge| edge.0)) {
            for (entry, other) in clock.iter_mut().zip(&known[source]) {
                *entry = (*entry).max(*other);
            }
        }
        clock[id.thread.index()] = id.index + 1;
        let expected = (0..graph.thread_count()).map(|thread| {
            let all = graph.thread(ThreadId(thread as u32)).len() as u32;
            let expected = graph.happens_before(id).get(thread).copied();
            expected.unwrap_or(0).min(all)
        });
        assert_eq!(
            clock,
            expected.collect::<Vec<_>>(),
            "{id:?} of {graph:?}, {edges:?}"
        );
        known.push(clock);
    }
}

#[test]
fn edges_and_program_order_are_happens_before() {
    let mut graphs = 0;
    for (profile, events) in [
        (Profile::Atomics, 8),
        (Profile::Locks, 10),
        (Profile::Threads, 7),
    ] {
        for seed in 0..60 {
            let script = Script::random(seed, profile, events);
            let mut leaf = |_: &mut Toy, leaf: &Leaf<'_>| {
                compare(leaf.graph);
                graphs += 1;
                ControlFlow::Continue(())
            };
            let explored = Trust::new(Model::Rc11).explore(&mut script.toy(), &mut leaf);
            explored.unwrap();
        }
    }
    assert!(graphs > 1000, "{graphs}");
}
