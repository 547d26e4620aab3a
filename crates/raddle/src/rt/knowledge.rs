//! What executions have shown that all others need to know from their beginning.
//!
//! Some things are steps in a program only if something else happens in it, which an execution may show late: the
//! exploration then begins again ([`State::learned`]).
//!
//! All executions of one exploration, of all its workers, are run with the same knowledge: an explorer claims something about executions that it has
//! not run, and it knows their steps from others. So what an execution shows is kept as a [lesson](Lessons) until the exploration begins again. That goes for
//! those too that no visitor hears of, because they are given up, or are run on to their end.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::str::FromStr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use raddle_memory::Model;

use super::Place;
use super::account::Account;
use super::counts::{Matter, Site, fingerprint};
use super::polling::Sites;
use super::state::State;
use super::thread::Names;
use crate::options::Memory;

/// What is known of a program.
#[derive(Clone, Debug, Default)]
pub(crate) struct Knowledge {
    /// Whether cells are used.
    clocks: bool,
    /// Which counts of references matter.
    counts: HashMap<Site, Matter>,
    /// Whether the order of arrivals at barriers matters.
    arrivals: bool,
    /// The sites at which threads poll.
    sites: Sites,
    names: Names,
    /// Where the check stands, if that is known.
    origin: Option<Place>,
    /// What the exploration rests on so far.
    account: Account,
}

/// What is known of a program that decides what its steps are. A schedule means something only together with it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Stepping {
    /// The model whose graphs executions are run from, if they are.
    pub(super) model: Option<Model>,
    /// Whether the order of arrivals at barriers matters.
    arrivals: bool,
    /// Which counts of references matter, by fingerprints of the places where they are made.
    counts: BTreeMap<u32, Matter>,
}

impl Stepping {
    /// Whether there is nothing to know.
    pub(crate) fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// In parts that are separated by commas: `rc11` is a memory model, `o` says that arrivals are ordered, `3f2a91bc` that the counts made at a place matter, and `3f2a91bc+` that what goes away
/// with the last reference makes operations.
impl fmt::Display for Stepping {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let model = self.model.map(|model| model.name().to_owned());
        let arrivals = self.arrivals.then(|| "o".to_owned());
        let counts = self.counts.iter().map(|(place, matter)| {
            let operates = if matter.content_operates { "+" } else { "" };
            format!("{place:08x}{operates}")
        });
        let parts: Vec<String> = model.into_iter().chain(arrivals).chain(counts).collect();
        f.write_str(&parts.join(","))
    }
}

impl FromStr for Stepping {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut stepping = Self::default();
        for part in text.split(',').map(str::trim) {
            if part == "o" {
                stepping.arrivals = true;
                continue;
            }
            if let Some(memory) = Memory::by_name(part) {
                stepping.model = Some(memory.into());
                continue;
            }
            let (place, content_operates) = match part.strip_suffix('+') {
                Some(place) => (place, true),
                None => (part, false),
            };
            let place = u32::from_str_radix(place, 16);
            let place = place.map_err(|_| format!("`{part}` is no part of a schedule"))?;
            stepping.counts.insert(place, Matter { content_operates });
        }
        Ok(stepping)
    }
}

/// What was learned since the exploration began, by any of its workers.
#[derive(Clone, Debug, Default)]
pub(super) struct Lessons(Arc<Mutex<Option<Box<Knowledge>>>>);

impl Lessons {
    /// One is enough: the exploration begins again, and learns the others then.
    pub(super) fn add(&self, knowledge: impl FnOnce() -> Knowledge) {
        self.lock().get_or_insert_with(|| Box::new(knowledge()));
    }

    pub(super) fn take(&self) -> Option<Knowledge> {
        self.lock().take().map(|knowledge| *knowledge)
    }

    fn lock(&self) -> MutexGuard<'_, Option<Box<Knowledge>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// What was learned so far.
    pub(super) fn knowledge(&self) -> Knowledge {
        Knowledge {
            clocks: self.clocks.needed,
            counts: self.counts.matter.clone(),
            arrivals: self.barriers.order_matters,
            sites: self.sites.known(),
            names: self.names.clone(),
            origin: Some(self.origin),
            account: self.account.for_another(),
        }
    }

    /// What decides which steps there are, of what is known and of what was given.
    pub(super) fn stepping(&self, known: &Knowledge) -> Stepping {
        let counts = known.counts.iter();
        let counts = counts.map(|(&site, &matter)| (fingerprint(site), matter));
        let given = self.counts.given.iter();
        Stepping {
            model: self.graph.as_ref().map(|graph| graph.model),
            arrivals: known.arrivals,
            counts: counts
                .chain(given.map(|(&place, &matter)| (place, matter)))
                .collect(),
        }
    }

    /// Takes over what decides which steps there are.
    pub(super) fn step_by(&mut self, stepping: &Stepping) {
        self.barriers.order_matters = stepping.arrivals;
        self.counts.given.clone_from(&stepping.counts);
    }

    /// Takes over what another one has learned.
    pub(super) fn know(&mut self, knowledge: Knowledge) {
        self.clocks.needed = knowledge.clocks;
        self.counts.matter = knowledge.counts;
        self.barriers.order_matters = knowledge.arrivals;
        self.sites = knowledge.sites;
        self.names = knowledge.names;
        self.origin = knowledge.origin.unwrap_or(self.origin);
        self.account = knowledge.account.for_another();
    }

    /// Forgets what was learned since. What things are called stays as it is: other executions use the names.
    pub(super) fn unlearn(&mut self, knowledge: &Knowledge) {
        self.learned = false;
        self.clocks.needed = knowledge.clocks;
        self.counts.matter.clone_from(&knowledge.counts);
        self.barriers.order_matters = knowledge.arrivals;
        self.sites.clone_from(&knowledge.sites);
    }
}
