//! How the steps of an execution stand to each other's writes, for who tells of it.

use std::collections::HashMap;

use raddle_memory::Graph;
use raddle_report::story::{Writes, Written};
use raddle_schedule::LocationId;

use super::InGraph;
use crate::rt::objects::Kind;
use crate::rt::state::State;

/// The writes that were told, of each location.
#[derive(Debug, Default)]
pub(in crate::rt) struct Told(HashMap<LocationId, Vec<Write>>);

/// One of them.
#[derive(Clone, Copy, Debug)]
struct Write {
    /// Its number among the steps of the execution, and among those that are told, from 1.
    made: usize,
    step: usize,
    /// Its place in modification order.
    place: u32,
    value: u64,
}

impl InGraph {
    /// The execution is over, and has this graph. A write may have been made after one that it comes before in modification order.
    pub(super) fn settle(&mut self, graph: &Graph) {
        for made in self.made.iter_mut().flatten() {
            made.place = graph.event(made.id).place();
        }
    }
}

impl InGraph {
    /// The reads of this execution that miss a write which was made before, each with the last such write.
    pub(in crate::rt) fn missed_writes(&self, state: &State) -> Vec<(usize, usize)> {
        let place = |step: usize| self.place_of(step).unwrap_or(0);
        let mut written: HashMap<LocationId, usize> = HashMap::new();
        let mut missed = Vec::new();
        for (step, event) in self.made.iter().enumerate() {
            let (Some(event), Some(access)) = (event, state.accesses_of(step).first()) else {
                continue;
            };
            let last = written.get(&access.location).copied();
            if let (true, 0, Some(last)) = (event.reads, event.place, last)
                && event.from.map_or(0, place) < place(last)
            {
                missed.push((step, last));
            }
            if event.place > last.map_or(0, place) {
                written.insert(access.location, step);
            }
        }
        missed
    }
}

impl State {
    /// How a step stands to the writes that were told, and takes note of what it writes itself.
    pub(in crate::rt) fn tell_writes(&self, told: &mut Told, made: usize, step: usize) -> Writes {
        let graph = self.graph.as_ref();
        let event = graph.and_then(|graph| *graph.made.get(made)?);
        let access = self.accesses_of(made).first();
        let (Some(event), Some(access)) = (event, access) else {
            return Writes::default();
        };
        let at = access.location;
        let written = told.0.entry(at).or_default();
        let has_values = matches!(self.objects.kind(at), Kind::Atomic | Kind::Count);
        let tell = |write: &Write| Written {
            step: write.step,
            value: has_values.then(|| self.shown(at, write.value)),
        };
        let after = |least: u32| written.iter().filter(move |write| write.place > least);
        let source = event
            .from
            .and_then(|from| Some((from, self.place_of_write(from)?)));
        let is_write = event.place > 0;
        let missed = match event.reads && !is_write {
            true => after(source.map_or(0, |source| source.1)).max_by_key(|write| write.place),
            false => None,
        };
        let next = match is_write {
            true => after(event.place).min_by_key(|write| write.place),
            false => None,
        };
        let from = source.and_then(|source| written.iter().find(|write| write.made == source.0));
        let writes = Writes {
            reads_from: from.map(|from| from.step),
            missed: missed.map(tell),
            comes_before: next.map(tell),
        };
        if is_write {
            written.push(Write {
                made,
                step,
                place: event.place,
                value: access.after,
            });
        }
        writes
    }

    fn place_of_write(&self, made: usize) -> Option<u32> {
        Some((*self.graph.as_ref()?.made.get(made)?)?.place)
    }
}
