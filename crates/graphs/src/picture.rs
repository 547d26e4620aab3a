//! An execution graph as a picture.

use raddle_memory::{EventId, Graph, synchronises};
use raddle_report::graph::{Graph as Picture, Relation};
use raddle_report::story::Story;
use raddle_schedule::ThreadId;
use std::collections::HashMap;

use crate::races::{Access, Race};
use crate::run::Run;

/// The execution under way, of which these events were told in this story, as steps counted from 0.
pub(crate) fn picture(
    run: &Run,
    graph: &Graph,
    story: &Story,
    told: &HashMap<EventId, usize>,
    race: Option<&Race>,
) -> Picture {
    let mut picture = Picture::of(story);
    if let Some(race) = race {
        // Both accesses are steps.
        picture.events.truncate(story.steps.len());
        let event = |access: &Access| EventId {
            thread: ThreadId(access.thread as u32),
            index: access.index,
        };
        let ends = [race.one, race.other].map(|access| told.get(&event(&access)));
        for &end in ends.into_iter().flatten() {
            picture.events[end].is_wrong = true;
        }
        if let [Some(&one), Some(&other)] = ends {
            picture.relate(one, other, Relation::Race);
        }
    }
    let mut relate = |one: EventId, other: EventId, relation: Relation| {
        if let (Some(&from), Some(&to), true) =
            (told.get(&one), told.get(&other), one.thread != other.thread)
        {
            picture.relate(from, to, relation);
        }
    };
    let events = run.events();
    for (_, made) in &events {
        let from = made.event.from.filter(|_| made.event.kind.reads());
        if let Some(from) = from {
            relate(from, made.id, Relation::Rf);
        }
        let place = made.event.location.filter(|_| made.event.kind.writes());
        let writes = place.map_or(&[][..], |location| graph.writes(location));
        let own = writes.iter().position(|&write| write == made.id);
        if let Some(&next) = own.and_then(|own| writes.get(own + 1)) {
            relate(made.id, next, Relation::Mo);
        }
    }
    for (from, to) in synchronises(&run.steps()) {
        relate(events[from].1.id, events[to].1.id, Relation::Sw);
    }
    picture
}
