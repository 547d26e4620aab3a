//! An execution as a graph, to be drawn.
//!
//! Its events are the steps of the story, the fences between them, and the two accesses of a race. An execution that was run by a schedule has a graph too: reads are of the last write.

use std::collections::HashMap;

use raddle_memory::synchronises;
use raddle_report::graph::{Event, Graph, Relation};
use raddle_report::story::Story;
use raddle_schedule::{LocationId, Mode, ThreadId};

use super::clocks::Touch;
use super::failure::{FailureKind, Remark, spot};
use super::state::State;
use super::unordered::Steps;
use crate::source::Sources;

/// The events of a picture, as they are found.
#[derive(Default)]
struct Events {
    all: Vec<Event>,
    /// By step or fence: its event, if it is shown.
    of: Vec<Option<usize>>,
    /// By the number of a step in the story, from 0.
    told: Vec<usize>,
    racing: Vec<usize>,
}

impl State {
    /// This execution as a graph.
    pub(crate) fn picture(&self) -> Graph {
        let story = self.story();
        let steps = self.steps();
        let mut events = self.events(&story, &steps);
        let all = std::mem::take(&mut events.all);
        let mut graph = Graph {
            message: story.ending.message.clone(),
            threads: story.threads.clone(),
            events: all,
            edges: Vec::new(),
            notes: story.ending.notes.clone(),
        };
        let is_race =
            self.failure.as_ref().map(|failure| failure.kind) == Some(FailureKind::DataRace);
        if !is_race {
            graph.add_ending(&story.ending);
        }
        for (to, step) in steps.steps.iter().enumerate() {
            for &from in step.reads_from() {
                events.relate(&mut graph, from, to, Relation::Rf);
            }
        }
        for (from, to) in synchronises(&steps.steps) {
            events.relate(&mut graph, from, to, Relation::Sw);
        }
        for (from, to) in self.modification_order(&steps) {
            events.relate(&mut graph, from, to, Relation::Mo);
        }
        for (number, step) in story.steps.iter().enumerate() {
            if let Some(missed) = &step.writes.missed {
                let missed = events.told[missed.step - 1];
                graph.relate(events.told[number], missed, Relation::Rb);
            }
        }
        if let [one, other] = events.racing[..] {
            graph.relate(one, other, Relation::Race);
        }
        graph
    }

    fn events(&self, story: &Story, steps: &Steps) -> Events {
        let mut sources = Sources::default();
        let mut events = Events::default();
        let racing = self.racing(steps);
        let mut last: HashMap<ThreadId, usize> = HashMap::new();
        let mut told = story.steps.iter();
        for time in 0..=steps.steps.len() {
            for (_, remark) in racing.iter().filter(|(at, _)| *at == time) {
                events.racing.push(events.all.len());
                events.all.push(Event {
                    thread: remark.thread.map_or(0, |id| self.lane(id)),
                    step: None,
                    label: remark.text.clone(),
                    at: sources.with_text(remark.at.clone()),
                    is_wrong: true,
                });
            }
            let Some(step) = steps.steps.get(time) else {
                break;
            };
            let made = steps.made_by(time).map(|number| &self.made[number]);
            let event = match made {
                None => Some(Event {
                    thread: self.lane(step.thread),
                    label: "passes a fence".into(),
                    ..Event::default()
                }),
                Some(made) if self.goes_without_saying(made) => None,
                Some(_) => told.next().map(|step| {
                    events.told.push(events.all.len());
                    Event {
                        thread: step.thread,
                        step: Some(events.told.len()),
                        label: step.action.clone(),
                        at: step.at.clone(),
                        is_wrong: false,
                    }
                }),
            };
            if let Some(event) = event {
                last.insert(step.thread, events.all.len());
                events.all.push(event);
            }
            // The end of a thread is not shown: what is ordered by it comes after its last event. And what comes before its beginning comes before its first one.
            events.of.push(last.get(&step.thread).copied());
        }
        for (step, of) in steps.steps.iter().zip(&mut events.of) {
            let lane = self.lane(step.thread);
            let first = || events.all.iter().position(|event| event.thread == lane);
            *of = of.or_else(first);
        }
        events
    }

    /// The two accesses of a race, and before which step each was made.
    fn racing(&self, steps: &Steps) -> Vec<(usize, &Remark)> {
        let end = steps.steps.len();
        let failure = self.failure.as_ref();
        let Some(race) = failure.filter(|failure| failure.kind == FailureKind::DataRace) else {
            return Vec::new();
        };
        let known: Vec<Touch> = match &self.graph {
            Some(graph) => graph.touches().copied().collect(),
            None => self.clocks.touches().copied().collect(),
        };
        let time = |remark: &Remark| {
            let mut known = known.iter().rev();
            let is_it = |touch: &&Touch| {
                Some(touch.thread) == remark.thread && spot(touch.place) == remark.at
            };
            let touch = known.find(is_it)?;
            let mut before = steps.steps[..touch.at.min(end)].iter();
            let last = before.rposition(|step| step.thread == touch.thread);
            Some(match (touch.was_over, last) {
                (true, Some(last)) => last,
                _ => touch.at.min(end),
            })
        };
        let [one, other, ..] = &race.remarks[..] else {
            return Vec::new();
        };
        // The later one ends the execution.
        let earlier = time(one).map(|time| (time, one));
        earlier
            .into_iter()
            .chain([(time(other).unwrap_or(end), other)])
            .collect()
    }

    /// The writes of each location with those that follow them, but for those of the same thread: program order says that already.
    fn modification_order(&self, steps: &Steps) -> Vec<(usize, usize)> {
        let mut writes: HashMap<LocationId, Vec<(u32, usize)>> = HashMap::new();
        let mut order: Vec<LocationId> = Vec::new();
        for time in 0..steps.steps.len() {
            let Some(number) = steps
                .made_by(time)
                .filter(|&number| !self.goes_without_saying(&self.made[number]))
            else {
                continue;
            };
            for access in self.accesses_of(number) {
                let place = match &self.graph {
                    Some(graph) => graph.place_of(number),
                    None => (access.mode != Mode::Read).then_some(time as u32),
                };
                if let Some(place) = place {
                    let known = writes.entry(access.location).or_insert_with(|| {
                        order.push(access.location);
                        Vec::new()
                    });
                    known.push((place, time));
                }
            }
        }
        let mut pairs = Vec::new();
        for location in order {
            let writes = writes.entry(location).or_default();
            writes.sort_unstable();
            let next = writes.windows(2).map(|pair| (pair[0].1, pair[1].1));
            let thread = |time: usize| steps.steps[time].thread;
            pairs.extend(next.filter(|&(one, other)| thread(one) != thread(other)));
        }
        pairs
    }
}

impl Events {
    fn relate(&self, graph: &mut Graph, from: usize, to: usize, relation: Relation) {
        if let (Some(from), Some(to)) = (self.of[from], self.of[to])
            && graph.events[from].thread != graph.events[to].thread
        {
            graph.relate(from, to, relation);
        }
    }
}
