//! Executions in words.
//!
//! An execution graph is told in the order in which its events were made, which extends program order and reads-from; there need be no order in which every read
//! sees the last write. Where a read does not, the story says what it has missed; and where a write comes before one that was made
//! earlier, which one ([`Writes`]).

use raddle_explore::{Action, Fault, Location as Address, Place, Position};
use raddle_machine::narrate::{self, Narrator};
use raddle_memory::{EventId, Graph, Kind, Location, Order};
use raddle_report::graph::Graph as Picture;
use raddle_report::story::{Ending, Event, Note, Spot, Story, Writes, Written};
use std::collections::HashMap;

use crate::operations::word;
use crate::picture::picture;
use crate::races::Race;
use crate::run::{Made, MadeEvent, Run};

/// A write that was told.
#[derive(Clone, Copy)]
struct Told {
    id: EventId,
    /// The number of the step, from 1.
    step: usize,
    word: i64,
}

/// Tells an execution.
pub(crate) struct Teller<'r> {
    run: &'r Run,
    graph: &'r Graph,
    narrator: Narrator,
    steps: Vec<Event>,
    /// Where each event was told, from 0.
    told: HashMap<EventId, usize>,
    /// The writes of each location, in the order in which they were told.
    written: HashMap<Location, Vec<Told>>,
}

impl<'r> Teller<'r> {
    /// Tells the first steps of the execution under way. The graph is the one that it is of.
    pub(crate) fn new(run: &'r Run, graph: &'r Graph, steps: usize) -> Self {
        let mut teller = Self {
            run,
            graph,
            narrator: Narrator::new(run.machine.clone()).keeping_places(),
            steps: Vec::new(),
            told: HashMap::new(),
            written: HashMap::new(),
        };
        for made in &run.made[..steps] {
            teller.tell(made, graph);
        }
        teller
    }

    fn tell(&mut self, made: &Made, graph: &Graph) {
        if made.is_prelude {
            return;
        }
        let taken = Action {
            thread: Position(made.position as u32),
            choice: made.choice,
        };
        let Some(event) = &made.event else {
            // What touches nothing shared is told only if it fails.
            if let narrate::Told::Failed(told, _) = self.narrator.step(taken) {
                self.steps.push(told);
            }
            return;
        };
        let writes = self.writes(event, graph);
        let reads = event.event.kind.reads().then_some(event.address).flatten();
        let mut old = reads.map(|address| {
            let word = word(event.event.read);
            (address, self.narrator.replace_word(address, word))
        });
        if let (None, Some(_), Some(address)) = (old, &writes.comes_before, event.address) {
            old = Some((address, self.narrator.word_at(address)));
        }
        let (narrate::Told::Moved(mut told) | narrate::Told::Failed(mut told, _)) =
            self.narrator.step(taken)
        else {
            return;
        };
        let is_read = event.event.kind == Kind::Read;
        if let (Some((address, old)), true) = (old, is_read || writes.comes_before.is_some()) {
            // What is last in modification order stays.
            let name = self.narrator.name_at(address);
            self.narrator.replace_word(address, old);
            told.changes.retain(|change| change.name != name);
        }
        told.action += &Self::ordering(event);
        self.told.insert(event.id, self.steps.len());
        told.writes = writes;
        self.steps.push(told);
        self.note_write(event);
    }

    /// ` (relaxed)`
    fn ordering(event: &MadeEvent) -> String {
        let name = match event.event.order {
            _ if !(event.is_data && event.is_atomic) => return String::new(),
            Order::Relaxed => "relaxed",
            Order::Acquire => "acquire",
            Order::Release => "release",
            Order::AcqRel => "acq_rel",
            Order::SeqCst => return String::new(),
        };
        format!(" ({name})")
    }

    fn note_write(&mut self, event: &MadeEvent) {
        if let (Some(location), true) = (event.event.location, event.event.kind.writes()) {
            let told = Told {
                id: event.id,
                step: self.steps.len(),
                word: word(event.event.written),
            };
            self.written.entry(location).or_default().push(told);
        }
    }

    /// How an event stands to the writes that were told.
    fn writes(&self, event: &MadeEvent, graph: &Graph) -> Writes {
        let told = event.event.location.and_then(|at| self.written.get(&at));
        let Some(told) = told else {
            return Writes::default();
        };
        let place = |id: EventId| graph.event(id).place();
        let address = event.address.filter(|_| event.is_data);
        let written = |told: &Told| Written {
            step: told.step,
            value: address.map(|address| self.narrator.show_at(address, told.word)),
        };
        let after = |least: u32| told.iter().filter(move |told| place(told.id) > least);
        let kind = event.event.kind;
        let from = event.event.from.filter(|_| kind.reads());
        let missed = || after(from.map_or(0, place)).max_by_key(|told| place(told.id));
        let next = || after(place(event.id)).min_by_key(|told| place(told.id));
        let step_of = |id: EventId| told.iter().find(|told| told.id == id);
        Writes {
            reads_from: from.and_then(step_of).map(|told| told.step),
            missed: (kind == Kind::Read).then(missed).flatten().map(written),
            comes_before: kind.writes().then(next).flatten().map(written),
        }
    }

    fn spot(&self, place: Place) -> Spot {
        self.narrator.statement_spot(place)
    }

    fn story(self, mut ending: Ending, race: Option<&Race>) -> (Story, Picture) {
        let too_weak = match race {
            Some(race) => self.run.too_weak(race),
            None => self.run.lets_miss_writes(self.graph),
        };
        let help = too_weak.into_iter().filter_map(|one| {
            let step = self.steps.get(*self.told.get(&one.event)?)?;
            Some(Note {
                thread: Some(one.thread),
                at: step.at.clone(),
                text: one.text,
            })
        });
        ending.help = help.collect();
        let story = Story {
            threads: self.narrator.threads().to_vec(),
            steps: self.steps,
            ending,
        };
        let picture = picture(self.run, self.graph, &story, &self.told, race);
        (story, picture)
    }

    /// A thread has failed in the last step, or before its first one.
    pub(crate) fn failed(self, position: usize, fault: &Fault) -> (Story, Picture) {
        let is_last = self
            .steps
            .last()
            .is_some_and(|last| last.thread == position);
        let ending = Ending {
            message: fault.message.clone(),
            in_last_step: is_last,
            notes: vec![Note {
                thread: Some(position),
                at: self.spot(fault.place),
                text: String::new(),
            }],
            ..Ending::default()
        };
        self.story(ending, None)
    }

    /// Two accesses race.
    pub(crate) fn races(self, race: &Race, address: Address) -> (Story, Picture) {
        let name = self.narrator.name_at(address);
        let accesses = [race.one, race.other].map(|access| {
            let does = if access.writes { "writes" } else { "reads" };
            let how = if access.is_atomic { ", atomically" } else { "" };
            Note {
                thread: Some(access.position),
                at: self.spot(access.place),
                text: format!("{does} {name}{how}"),
            }
        });
        let ending = Ending {
            message: format!(
                "data race: neither of two accesses of {name} happens before the other"
            ),
            notes: accesses.to_vec(),
            ..Ending::default()
        };
        self.story(ending, Some(race))
    }

    /// These threads wait for ever, or do the same for ever.
    pub(crate) fn hangs(self, message: String, waiting: &[(usize, String)]) -> (Story, Picture) {
        let notes = waiting.iter().map(|(position, text)| Note {
            thread: Some(*position),
            at: self.spot(self.run.place(*position)),
            text: text.clone(),
        });
        let ending = Ending {
            message,
            notes: notes.collect(),
            ..Ending::default()
        };
        self.story(ending, None)
    }

    /// What a shared location is called.
    pub(crate) fn name_at(&self, address: Address) -> String {
        self.narrator.name_at(address)
    }

    /// How a word is shown that is at a shared location.
    pub(crate) fn show_at(&self, address: Address, word: i64) -> String {
        self.narrator.show_at(address, word)
    }
}
