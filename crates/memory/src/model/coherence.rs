//! Coherence and atomicity of one event, by clocks.
//!
//! Let `place(e)` be the place in mo of `e` (a write or update) or of what it reads from (a read), and `least(e)` the greatest `place(f)` of all
//! other events `f` of the location in `hb(e)`. If `e` has no hb-successors, then `hb` and `hb;eco` have no cycle through `e` iff
//!
//! - R: `place(e) ≥ least(e)`. Otherwise `e` reads something that was overwritten before it.
//! - W: `place(e) > least(e)`.
//! - U: `place(e) = place(rf) + 1`, which is ATOMICITY, and `place(rf) ≥ least(e)`.
//!
//! So what a read may read from, and where a write may be put, is an interval that ends with the last write. A read that acquires has more in `hb(e)`
//! than its predecessor; but everything that a write `w` releases has a place up to that of `w`, because the graph without `e` is coherent. So the
//! interval can be computed before it is known what is read.

use super::Model;
use crate::graph::{EventId, Graph, INITIAL};
use crate::operation::Location;

/// The greatest place of an access of a location that a clock contains, other than `except`.
pub(crate) fn least_place(
    graph: &Graph,
    location: Location,
    clock: &[u32],
    except: Option<EventId>,
) -> u32 {
    let counts = |id: &EventId| {
        let before = clock.get(id.thread.index());
        before.is_some_and(|&before| id.index < before) && Some(*id) != except
    };
    let writes = graph.writes(location);
    let written = writes
        .iter()
        .rposition(counts)
        .map_or(INITIAL, |index| index as u32 + 1);
    let reads = graph
        .reads(location)
        .iter()
        .copied()
        .filter(|id| counts(id));
    reads
        .map(|read| graph.place(graph.event(read).from))
        .max()
        .unwrap_or(INITIAL)
        .max(written)
}

/// Whether an event without hb-successors keeps to COHERENCE and ATOMICITY.
pub(super) fn is_coherent(model: Model, graph: &Graph, id: EventId) -> bool {
    let event = graph.event(id);
    let Some(location) = event.location else {
        return true;
    };
    let least = least_place(graph, location, graph.clock(id, model.order()), Some(id));
    if event.kind.reads() && graph.place(event.from) < least {
        return false;
    }
    if !event.kind.writes() {
        return true;
    }
    if event.kind.reads() && event.place != graph.place(event.from) + 1 {
        return false;
    }
    // It must not come between an update and what that reads.
    let next = graph.writes(location).get(event.place as usize);
    let splits = next.is_some_and(|&next| {
        let next = graph.event(next);
        next.kind.reads() && next.from != Some(id)
    });
    event.place > least && !splits
}
