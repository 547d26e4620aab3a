//! [`Graph`]: an execution as a picture, with its relations as arrows.
//!
//! A [`Story`] has the steps in one order; which write a read reads from, and what orders what, has to be found in the words. Here it is drawn: as DOT, for
//! Graphviz and for other programs, or as SVG, which every browser shows.

mod dot;
mod svg;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::path::Path;

use crate::story::{Ending, Note, Spot, Story};
use crate::text::clean;

/// An execution, as it is drawn.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Graph {
    /// What is wrong, in one line; empty if nothing is.
    pub message: String,
    /// The threads, in the order of their columns.
    pub threads: Vec<String>,
    /// The events, in an order that extends program order and reads-from.
    pub events: Vec<Event>,
    /// The relations, but for program order, which follows from the order of the events of a thread.
    pub edges: Vec<Edge>,
    /// What is said of places, below the picture.
    pub notes: Vec<Note>,
}

/// An event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Event {
    /// Whose it is: an index into [`Graph::threads`].
    pub thread: usize,
    /// The number of the step in the story, from 1; `None` for what is no step: an access of plain memory, or what a thread waits for at the end.
    pub step: Option<usize>,
    /// What it does.
    pub label: String,
    /// Where.
    pub at: Spot,
    /// Whether it is what is wrong, or a part of that.
    pub is_wrong: bool,
}

/// A pair of a relation: indices into [`Graph::events`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Edge {
    /// The first event.
    pub from: usize,
    /// The second event.
    pub to: usize,
    /// How they are related.
    pub relation: Relation,
}

/// The relations that are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Relation {
    /// Program order.
    Po,
    /// From a write to who reads it.
    Rf,
    /// Synchronises with.
    Sw,
    /// Modification order, from a write to the next one.
    Mo,
    /// From a read to a write that it misses.
    Rb,
    /// A data race, in either direction.
    Race,
}

impl Relation {
    const ALL: [Self; 6] = [Self::Po, Self::Rf, Self::Sw, Self::Mo, Self::Rb, Self::Race];

    /// The name that papers have for it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Po => "po",
            Self::Rf => "rf",
            Self::Sw => "sw",
            Self::Mo => "mo",
            Self::Rb => "rb",
            Self::Race => "race",
        }
    }

    fn meaning(self) -> &'static str {
        match self {
            Self::Po => "program order",
            Self::Rf => "a read reads this write",
            Self::Sw => "synchronises with",
            Self::Mo => "modification order of a location",
            Self::Rb => "a read misses this write",
            Self::Race => "data race: nothing orders the two",
        }
    }

    fn colour(self) -> &'static str {
        match self {
            Self::Po => "#333333",
            Self::Rf => "#1a7f37",
            Self::Sw => "#b35900",
            Self::Mo => "#0550ae",
            Self::Rb => "#8250df",
            Self::Race => "#cf222e",
        }
    }

    /// Whether the second event comes after the first in every order in which the execution can be told.
    fn is_downwards(self) -> bool {
        matches!(self, Self::Po | Self::Rf | Self::Sw)
    }
}

/// What a picture is written as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// The language of Graphviz.
    Dot,
    /// A picture that needs no other program.
    Svg,
}

impl Format {
    /// The format that the ending of a file asks for.
    ///
    /// # Errors
    ///
    /// If it asks for another one.
    ///
    /// ```
    /// use raddle_report::graph::Format;
    ///
    /// assert_eq!(Format::of("race.svg".as_ref()), Ok(Format::Svg));
    /// assert_eq!(
    ///     Format::of("race.png".as_ref()).unwrap_err(),
    ///     "race.png: a graph is written as DOT or SVG, so the file has to end in `.dot` or `.svg`"
    /// );
    /// ```
    pub fn of(file: &Path) -> Result<Self, String> {
        let ending = file.extension().and_then(|ending| ending.to_str());
        match ending.map(str::to_ascii_lowercase).as_deref() {
            Some("dot" | "gv") => Ok(Self::Dot),
            Some("svg") => Ok(Self::Svg),
            _ => Err(format!(
                "{}: a graph is written as DOT or SVG, so the file has to end in `.dot` or `.svg`",
                file.display()
            )),
        }
    }
}

impl Graph {
    /// The picture in a format.
    #[must_use]
    pub fn to_text(&self, format: Format) -> String {
        match format {
            Format::Dot => dot::write(self),
            Format::Svg => svg::write(self),
        }
    }

    /// The steps of a story as events, and its ending as what is wrong. The relations come from elsewhere.
    ///
    /// Where the last step is not what went wrong, each thread that the ending is about gets one more event: what it waits for, say.
    #[must_use]
    pub fn of(story: &Story) -> Self {
        let events = story.steps.iter().enumerate().map(|(index, step)| Event {
            thread: step.thread,
            step: Some(index + 1),
            label: step.action.clone(),
            at: step.at.clone(),
            is_wrong: false,
        });
        let mut graph = Self {
            message: story.ending.message.clone(),
            threads: story.threads.clone(),
            events: events.collect(),
            edges: Vec::new(),
            notes: story.ending.notes.clone(),
        };
        if let Some(last) = graph.events.last_mut()
            && story.ending.in_last_step
        {
            last.is_wrong = true;
        } else {
            graph.add_ending(&story.ending);
        }
        for (index, step) in story.steps.iter().enumerate() {
            let missed = step.writes.missed.as_ref();
            graph.edges.extend(missed.map(|missed| Edge {
                from: index,
                to: missed.step - 1,
                relation: Relation::Rb,
            }));
        }
        graph
    }

    /// Adds an event for each thread that an ending is about: where it stands at the end.
    pub fn add_ending(&mut self, ending: &Ending) {
        let mut told = Vec::new();
        for note in &ending.notes {
            let Some(thread) = note.thread.filter(|thread| !told.contains(thread)) else {
                continue;
            };
            told.push(thread);
            self.events.push(Event {
                thread,
                step: None,
                label: match note.text.is_empty() {
                    true => ending.message.clone(),
                    false => note.text.clone(),
                },
                at: note.at.clone(),
                is_wrong: true,
            });
        }
    }

    /// Adds an event before the one with this index, and gives its own index, which is the same.
    pub fn insert(&mut self, index: usize, event: Event) -> usize {
        self.events.insert(index, event);
        for edge in &mut self.edges {
            edge.from += usize::from(edge.from >= index);
            edge.to += usize::from(edge.to >= index);
        }
        index
    }

    /// Adds a pair of a relation.
    pub fn relate(&mut self, from: usize, to: usize, relation: Relation) {
        self.edges.push(Edge { from, to, relation });
    }

    /// All arrows: pairs of events with all that relates them, program order too.
    fn arrows(&self) -> BTreeMap<(usize, usize), Vec<Relation>> {
        let mut arrows: BTreeMap<(usize, usize), Vec<Relation>> = BTreeMap::new();
        let mut last: Vec<Option<usize>> = vec![None; self.columns()];
        for (index, event) in self.events.iter().enumerate() {
            if let Some(before) = last[event.thread].replace(index) {
                arrows
                    .entry((before, index))
                    .or_default()
                    .push(Relation::Po);
            }
        }
        let count = self.events.len();
        let known = self
            .edges
            .iter()
            .filter(|edge| edge.from < count && edge.to < count);
        for edge in known.filter(|edge| edge.from != edge.to) {
            let arrow = arrows.entry((edge.from, edge.to)).or_default();
            arrow.push(edge.relation);
            arrow.sort_unstable();
            arrow.dedup();
        }
        arrows
    }

    /// The number of columns: one for each thread, also for one without a name.
    fn columns(&self) -> usize {
        let threads = self.events.iter().map(|event| event.thread + 1);
        threads.max().unwrap_or(0).max(self.threads.len())
    }

    fn thread_name(&self, thread: usize) -> String {
        let name = self.threads.get(thread);
        name.map_or_else(|| format!("thread {thread}"), |name| clean(name))
    }
}

/// The relation that gives an arrow its colour: what says most.
fn main_relation(relations: &[Relation]) -> Relation {
    let order = [
        Relation::Race,
        Relation::Sw,
        Relation::Rf,
        Relation::Mo,
        Relation::Rb,
    ];
    let found = order
        .into_iter()
        .find(|relation| relations.contains(relation));
    found.unwrap_or(Relation::Po)
}

/// `rf, sw`: program order is clear from where the events stand.
fn names(relations: &[Relation]) -> String {
    let named = relations
        .iter()
        .filter(|relation| **relation != Relation::Po);
    let names: Vec<&str> = named.map(|relation| relation.name()).collect();
    names.join(", ")
}

/// `5: reads x = 0`
fn title(event: &Event) -> String {
    match event.step {
        Some(step) => format!("{step}: {}", clean(&event.label)),
        None => clean(&event.label),
    }
}

/// `bank.rad:13`; empty if it is not known.
fn place(at: &Spot) -> String {
    match at.line {
        0 => String::new(),
        line => {
            let file = at.file.rsplit(['/', '\\']).next().unwrap_or("");
            format!("{}:{line}", clean(file))
        }
    }
}
