//! Which reads a write may revisit.

use super::Rule;
use super::search::Rules;
use crate::graph::{EventId, Graph, Kind, Row};
use crate::operation::Operation;

/// A write that is in its thread but not in modification order, and what a revisit by it keeps.
pub(super) struct Revisiting<'a> {
    pub(super) graph: &'a Graph,
    pub(super) write: EventId,
    pub(super) rules: Rules,
    prefix: &'a [u32],
}

impl<'a> Revisiting<'a> {
    pub(super) fn new(graph: &'a Graph, write: EventId, rules: Rules) -> Self {
        Self {
            graph,
            write,
            rules,
            prefix: graph.clock(write, Row::Porf),
        }
    }

    fn is_in_prefix(&self, id: EventId) -> bool {
        let prefix = self.prefix.get(id.thread.index());
        prefix.is_some_and(|&prefix| id.index < prefix)
    }

    /// The reads that it revisits, the oldest first.
    ///
    /// A revisit of `r` deletes what is younger than `r` and not in the prefix. All of that, and `r`, must be default events. So the younger `r` is,
    /// the less has to be checked, and once an event is found that is no default one, everything older is out of question.
    pub(super) fn reads(&self) -> Vec<EventId> {
        let graph = self.graph;
        let event = graph.event(self.write);
        let mut found = Vec::new();
        for &id in graph.events().iter().rev() {
            if self.is_in_prefix(id) {
                continue;
            }
            if !self.is_default(id) {
                break;
            }
            let read = graph.event(id);
            if !read.kind.reads() || read.location != event.location {
                continue;
            }
            match read.operation {
                // A waiting read is not there before what it waits for.
                Operation::Await { until, .. } if !until.holds(event.written) => {}
                _ => found.push(id),
            }
        }
        found.reverse();
        found
    }

    /// Whether a write was there at a time, or is there whatever is deleted.
    fn was_there(&self, write: EventId, time: u32) -> bool {
        write != self.write
            && (!self.rules.has(Rule::Previous)
                || self.is_in_prefix(write)
                || self.graph.event(write).stamp <= time)
    }

    /// `maximal` of the paper: whether an event is as it was added, or would be, without a choice. It reads the last write that was there, is the
    /// last write itself, is the first alternative.
    fn is_default(&self, id: EventId) -> bool {
        let graph = self.graph;
        let event = graph.event(id);
        if self.rules.has(Rule::Settled) && graph.is_settled(id) {
            return false;
        }
        let Some(location) = event.location else {
            return event.kind != Kind::Choice || event.read == 0;
        };
        let was_there = |write| self.was_there(write, event.stamp);
        let is_last = |place: u32| {
            let later = &graph.writes(location)[place as usize..];
            !later.iter().any(|&write| write != id && was_there(write))
        };
        let reads_last = || event.from.is_none_or(was_there) && is_last(graph.place(event.from));
        (!event.kind.reads() || reads_last()) && (!event.kind.writes() || is_last(event.place))
    }
}
