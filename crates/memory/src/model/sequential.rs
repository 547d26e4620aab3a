//! Sequential consistency of one event: whether it is on a cycle of `po ∪ rf ∪ mo ∪ rb`.
//!
//! What can be reached from an event is, of each thread, all events from some index on, and of each location, all writes from some place on. So it is
//! kept as a number for each thread and each location, and every event is looked at once for each of them.

use crate::graph::{EventId, Graph, Kind};
use crate::operation::Location;
use raddle_schedule::ThreadId;

struct Reached<'a> {
    graph: &'a Graph,
    /// The first event of each thread that is reached.
    threads: Vec<u32>,
    /// The place of the first write of each location that is reached.
    places: Vec<u32>,
    /// Events whose successors were not followed: of a thread, those of a range.
    todo: Vec<(ThreadId, u32, u32)>,
}

pub(super) fn is_on_cycle(graph: &Graph, id: EventId) -> bool {
    let lengths = (0..graph.thread_count()).map(|t| graph.thread(ThreadId(t as u32)).len() as u32);
    let places = (0..graph.location_count()).map(|l| graph.last_place(Location(l as u32)) + 1);
    let mut reached = Reached {
        graph,
        threads: lengths.collect(),
        places: places.collect(),
        todo: Vec::new(),
    };
    reached.thread(id.thread, id.index + 1);
    reached.successors(id, 1);
    while let Some((thread, from, to)) = reached.todo.pop() {
        for index in from..to {
            reached.successors(EventId { thread, index }, 0);
        }
        if reached.threads[id.thread.index()] <= id.index {
            return true;
        }
    }
    false
}

impl Reached<'_> {
    /// The events of a thread from an index on are reached.
    fn thread(&mut self, thread: ThreadId, index: u32) {
        let known = std::mem::replace(&mut self.threads[thread.index()], index);
        match index < known {
            true => self.todo.push((thread, index, known)),
            false => self.threads[thread.index()] = known,
        }
    }

    /// The writes of a location from a place on are reached, and what reads from them.
    fn location(&mut self, location: Location, place: u32) {
        let graph = self.graph;
        let known = self.places[location.index()];
        if place >= known {
            return;
        }
        self.places[location.index()] = place;
        for write in &graph.writes(location)[place as usize - 1..known as usize - 1] {
            self.thread(write.thread, write.index);
        }
        for read in graph.reads(location) {
            if graph.place(graph.event(*read).from) >= place {
                self.thread(read.thread, read.index);
            }
        }
    }

    /// The successors of an event but for those in its thread; of its place in modification order, only what is at least this much later.
    fn successors(&mut self, id: EventId, later: u32) {
        let graph = self.graph;
        let event = graph.event(id);
        if let Some(location) = event.location {
            if event.kind.writes() {
                self.location(location, event.place + later);
                // What reads from it, if that place was too late.
                for read in graph.reads(location) {
                    if graph.event(*read).from == Some(id) {
                        self.thread(read.thread, read.index);
                    }
                }
            } else {
                self.location(location, graph.place(event.from) + 1);
            }
        }
        if event.kind == Kind::Spawn {
            self.thread(event.operation.child(), 0);
        }
        for join in graph.joins() {
            if graph.event(*join).from == Some(id) {
                self.thread(join.thread, join.index);
            }
        }
    }
}
