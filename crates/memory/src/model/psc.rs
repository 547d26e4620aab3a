//! The axiom SC of RC11, by clocks.
//!
//! The edges of psc are computed backwards: for each `SeqCst` event `s`, those that come before it.
//!
//! - `before(s)` is the right end, `[Esc] ∪ hb?;[Fsc]`: `s` itself, and for a fence everything that happens before it.
//! - The predecessors of an event `y` in `po;[..]`, `hb|loc`, `mo` and `rb` are found by its clock and by places in modification order.
//! - Those in `po≠loc ; hb ; po≠loc` are a clock. The last event before `y` in its thread that is not on the location of `y` has the largest hb-clock
//!   of all such. Of each thread that clock contains a beginning; the events in it that are followed there by one on another location are all but
//!   those at its end that are on one location (`alike`).
//! - The left end, `[Esc] ∪ [Fsc];hb?`, is what is found if it is `SeqCst`, and the fences that happen before it or are it.

use raddle_schedule::ThreadId;

use crate::graph::{Event, EventId, Graph, Kind, Row};
use crate::operation::Location;

fn is_node(event: &Event) -> bool {
    event.order.is_seq_cst() && (event.location.is_some() || event.kind == Kind::Fence)
}

/// How many events are `SeqCst`.
pub(super) fn seq_cst_count(graph: &Graph) -> usize {
    let ids = graph.events().iter();
    ids.filter(|id| is_node(graph.event(**id))).count()
}

/// Whether psc is acyclic. The graph must be coherent.
pub(super) fn is_acyclic(graph: &Graph) -> bool {
    let ids = graph.events().iter().copied();
    let nodes: Vec<EventId> = ids.filter(|&id| is_node(graph.event(id))).collect();
    if nodes.len() < 2 {
        return true;
    }
    let psc = Psc::new(graph, nodes);
    let edges: Vec<Vec<usize>> = (0..psc.nodes.len())
        .map(|node| psc.predecessors(node))
        .collect();
    !has_cycle(&edges)
}

struct Psc<'a> {
    graph: &'a Graph,
    nodes: Vec<EventId>,
    fences: Vec<usize>,
    /// The number of the first event of each thread.
    first: Vec<usize>,
    /// For each event by number, from which index on the events of its thread up to it are on one location. Its own index if it is on none.
    alike: Vec<u32>,
    /// For each event by number, which node it is.
    node: Vec<Option<usize>>,
}

/// A set of events, of each thread a beginning and some others.
struct Found<'a, 'b> {
    psc: &'a Psc<'b>,
    contains: Vec<bool>,
}

impl<'a> Psc<'a> {
    fn new(graph: &'a Graph, nodes: Vec<EventId>) -> Self {
        let (mut first, mut alike) = (Vec::new(), Vec::new());
        for thread in 0..graph.thread_count() {
            first.push(alike.len());
            let events = graph.thread(ThreadId(thread as u32));
            for (index, event) in events.iter().enumerate() {
                let goes_on = index > 0
                    && event.location.is_some()
                    && events[index - 1].location == event.location;
                alike.push(match goes_on {
                    true => alike[alike.len() - 1],
                    false => index as u32,
                });
            }
        }
        let mut node = vec![None; alike.len()];
        for (index, id) in nodes.iter().enumerate() {
            node[first[id.thread.index()] + id.index as usize] = Some(index);
        }
        let is_fence = |&node: &usize| graph.event(nodes[node]).kind == Kind::Fence;
        Self {
            fences: (0..nodes.len()).filter(is_fence).collect(),
            graph,
            nodes,
            first,
            alike,
            node,
        }
    }

    fn number(&self, id: EventId) -> usize {
        self.first[id.thread.index()] + id.index as usize
    }

    fn id(&self, number: usize) -> EventId {
        let thread = self.first.partition_point(|&first| first <= number) - 1;
        EventId::new(ThreadId(thread as u32), number - self.first[thread])
    }

    /// What happens before an event, by thread, without itself.
    fn happens_before(&self, id: EventId, mut found: impl FnMut(EventId)) {
        let clock = self.graph.clock(id, Row::Hb);
        for (thread, &count) in clock.iter().enumerate() {
            let thread = ThreadId(thread as u32);
            let count = count.min(self.graph.thread(thread).len() as u32);
            for index in (0..count).filter(|&index| thread != id.thread || index != id.index) {
                found(EventId { thread, index });
            }
        }
    }

    fn predecessors(&self, node: usize) -> Vec<usize> {
        let graph = self.graph;
        let last = self.nodes[node];
        let mut by_scb = Found::new(self);
        by_scb.add_scb(last);
        let mut by_eco = Found::new(self);
        let mut fences = vec![false; self.nodes.len()];
        if graph.event(last).kind == Kind::Fence {
            self.happens_before(last, |id| {
                by_scb.add_scb(id);
                by_eco.add_eco(id);
                if let Some(fence) = self.node[self.number(id)] {
                    fences[fence] |= graph.event(id).kind == Kind::Fence;
                }
            });
        }
        let mut predecessors = Vec::new();
        for &fence in &self.fences {
            let id = self.nodes[fence];
            let is_before = |found: &Found<'_, '_>| {
                found.iter().any(|later| {
                    later != id && graph.clock(later, Row::Hb)[id.thread.index()] > id.index
                })
            };
            if fences[fence] || is_before(&by_scb) || is_before(&by_eco) {
                predecessors.push(fence);
            }
        }
        let direct = by_scb.iter().filter_map(|id| self.node[self.number(id)]);
        predecessors.extend(direct);
        predecessors
    }
}

impl<'a, 'b> Found<'a, 'b> {
    fn new(psc: &'a Psc<'b>) -> Self {
        Self {
            psc,
            contains: vec![false; psc.alike.len()],
        }
    }

    fn iter(&self) -> impl Iterator<Item = EventId> + '_ {
        let numbers = (0..self.contains.len()).filter(|&number| self.contains[number]);
        numbers.map(|number| self.psc.id(number))
    }

    fn add(&mut self, id: EventId) {
        self.contains[self.psc.number(id)] = true;
    }

    /// The first events of a thread.
    fn add_first(&mut self, thread: usize, count: u32) {
        let first = self.psc.first[thread];
        self.contains[first..first + count as usize].fill(true);
    }

    /// The predecessors of an event in scb.
    fn add_scb(&mut self, id: EventId) {
        let (psc, graph) = (self.psc, self.psc.graph);
        let event = graph.event(id);
        self.add_first(id.thread.index(), id.index);
        // po≠loc ; hb ; po≠loc
        let alike = psc.alike[psc.number(id)];
        if alike > 0 {
            let elsewhere = EventId {
                index: alike - 1,
                ..id
            };
            for (thread, &count) in graph.clock(elsewhere, Row::Hb).iter().enumerate() {
                let length = graph.thread(ThreadId(thread as u32)).len() as u32;
                let count = match thread == id.thread.index() {
                    true => elsewhere.index,
                    false => count.min(length),
                };
                if count > 0 {
                    let end = psc.alike[psc.first[thread] + count as usize - 1];
                    self.add_first(thread, end);
                }
            }
        }
        let Some(location) = event.location else {
            return;
        };
        let clock = graph.clock(id, Row::Hb);
        let before = |other: &EventId| clock[other.thread.index()] > other.index && *other != id;
        let accesses = graph.writes(location).iter().chain(graph.reads(location));
        for other in accesses.copied().filter(before) {
            self.add(other);
        }
        if event.kind.writes() {
            self.add_overwritten(location, event.place, id);
        }
    }

    /// The writes before a place, and the reads that read from one of them.
    fn add_overwritten(&mut self, location: Location, place: u32, by: EventId) {
        let graph = self.psc.graph;
        for &write in &graph.writes(location)[..place as usize - 1] {
            self.add(write);
        }
        for &read in graph.reads(location) {
            if graph.place(graph.event(read).from) < place && read != by {
                self.add(read);
            }
        }
    }

    /// The predecessors of an event in eco.
    fn add_eco(&mut self, id: EventId) {
        let graph = self.psc.graph;
        let event = graph.event(id);
        let Some(location) = event.location else {
            return;
        };
        if event.kind.writes() {
            self.add_overwritten(location, event.place, id);
        } else if let Some(from) = event.from {
            self.add(from);
            self.add_overwritten(location, graph.place(Some(from)), from);
            // What `from` itself reads, if it is an update, is found too; and `from` as a read comes before its own writing part.
        }
    }
}

/// Whether a graph, given by predecessors, has a cycle.
fn has_cycle(edges: &[Vec<usize>]) -> bool {
    let mut open: Vec<usize> = vec![0; edges.len()];
    for predecessors in edges {
        for &predecessor in predecessors {
            open[predecessor] += 1;
        }
    }
    let mut ready: Vec<usize> = (0..edges.len()).filter(|&node| open[node] == 0).collect();
    let mut done = 0;
    while let Some(node) = ready.pop() {
        done += 1;
        for &predecessor in &edges[node] {
            open[predecessor] -= 1;
            if open[predecessor] == 0 {
                ready.push(predecessor);
            }
        }
    }
    done < edges.len()
}
