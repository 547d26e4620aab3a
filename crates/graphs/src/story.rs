//! Executions in words.
//!
//! An execution graph is told in the order in which its events were made, which extends program order and reads-from; there need be no order in which every read
//! sees the last write. Where a read does not, the story says what it has missed; and where a write comes before one that was made
//! earlier, which one.

use raddle_explore::{Action, Fault, Location as Address, Place, Position};
use raddle_machine::narrate::{Narrator, Told};
use raddle_memory::{EventId, Graph, Kind, Location, Order};
use raddle_report::story::{Ending, Event, Note, Spot, Story};
use std::collections::HashMap;

use crate::operations::word;
use crate::races::Race;
use crate::run::{Made, MadeEvent, Run};

/// A write that was told.
#[derive(Clone, Copy)]
struct Written {
    id: EventId,
    /// The number of the step, from 1.
    step: usize,
    word: i64,
}

/// Tells an execution.
pub(crate) struct Teller<'r> {
    run: &'r Run,
    narrator: Narrator,
    steps: Vec<Event>,
    /// Where each event was told, from 0.
    told: HashMap<EventId, usize>,
    /// The writes of each location, in the order in which they were told.
    written: HashMap<Location, Vec<Written>>,
}

impl<'r> Teller<'r> {
    /// Tells the first steps of the execution under way. The graph is the one that it is of.
    pub(crate) fn new(run: &'r Run, graph: Option<&Graph>, steps: usize) -> Self {
        let mut teller = Self {
            run,
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

    fn tell(&mut self, made: &Made, graph: Option<&Graph>) {
        if made.is_prelude {
            return;
        }
        let taken = Action {
            thread: Position(made.position as u32),
            choice: made.choice,
        };
        let Some(event) = &made.event else {
            // What touches nothing shared is told only if it fails.
            if let Told::Failed(told, _) = self.narrator.step(taken) {
                self.steps.push(told);
            }
            return;
        };
        let reads = event.event.kind.reads().then_some(event.address).flatten();
        let old = reads.map(|address| {
            let word = word(event.event.read);
            (address, self.narrator.replace_word(address, word))
        });
        let (Told::Moved(mut told) | Told::Failed(mut told, _)) = self.narrator.step(taken) else {
            return;
        };
        if let (Some((address, old)), Kind::Read) = (old, event.event.kind) {
            self.narrator.replace_word(address, old);
        }
        told.action += &Self::ordering(event);
        if let Some(remark) = self.remark(event, graph) {
            told.action += ", ";
            told.action += &remark;
        }
        self.told.insert(event.id, self.steps.len());
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
            let written = Written {
                id: event.id,
                step: self.steps.len(),
                word: word(event.event.written),
            };
            self.written.entry(location).or_default().push(written);
        }
    }

    /// What is to be said of an event that is not what one would expect in this order.
    fn remark(&self, event: &MadeEvent, graph: Option<&Graph>) -> Option<String> {
        let location = event.event.location?;
        let address = event.address.filter(|_| event.is_data)?;
        let written = self.written.get(&location)?;
        let last = written.last()?;
        let shown = |written: &Written| self.narrator.show_at(address, written.word);
        match event.event.kind {
            Kind::Read if event.event.from != Some(last.id) => Some(format!(
                "not the {} that was written at step {}",
                shown(last),
                last.step
            )),
            Kind::Write | Kind::Update => {
                let order = graph?.writes(location);
                let place = |id: EventId| order.iter().position(|known| *known == id);
                let own = place(event.id)?;
                let later = written.iter().filter(|other| place(other.id) > Some(own));
                let next = later.min_by_key(|other| place(other.id))?;
                Some(format!(
                    "which comes before the {} of step {}",
                    shown(next),
                    next.step
                ))
            }
            _ => None,
        }
    }

    fn spot(&self, place: Place) -> Spot {
        self.narrator.statement_spot(place)
    }

    fn story(self, ending: Ending) -> Story {
        Story {
            threads: self.narrator.threads().to_vec(),
            steps: self.steps,
            ending,
        }
    }

    /// A thread has failed in the last step, or before its first one.
    pub(crate) fn failed(self, position: usize, fault: &Fault) -> Story {
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
        self.story(ending)
    }

    /// Two accesses race.
    pub(crate) fn races(self, race: &Race, address: Address) -> Story {
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
        let too_weak = self.run.too_weak(race);
        let too_weak = too_weak.into_iter().filter_map(|one| {
            let step = self.steps.get(*self.told.get(&one.event)?)?;
            Some(Note {
                thread: Some(one.thread),
                at: step.at.clone(),
                text: one.text,
            })
        });
        let ending = Ending {
            message: format!(
                "data race: neither of two accesses of {name} happens before the other"
            ),
            notes: accesses.into_iter().chain(too_weak).collect(),
            ..Ending::default()
        };
        self.story(ending)
    }

    /// These threads wait for ever, or do the same for ever.
    pub(crate) fn hangs(self, message: String, waiting: &[(usize, String)]) -> Story {
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
        self.story(ending)
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
