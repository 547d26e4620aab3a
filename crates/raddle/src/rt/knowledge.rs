//! What executions have shown that all others need to know from their beginning.
//!
//! Some things are steps in a program only if something else happens in it, which an execution may show late: the
//! exploration then begins again ([`State::learned`]).
//!
//! All executions of one exploration, of all its workers, are run with the same knowledge: an explorer claims something about executions that it has
//! not run, and it knows their steps from others. So what an execution shows is kept as a [lesson](Lessons) until the exploration begins again. That goes for
//! those too that no visitor hears of, because they are given up, or are run on to their end.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::Place;
use super::account::Account;
use super::counts::{Matter, Site};
use super::polling::Sites;
use super::state::State;
use super::thread::Names;

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
