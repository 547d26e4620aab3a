//! What executions have shown that all others need to know from their beginning.
//!
//! Some things are steps in a program only if something else happens in it, which an execution may show late: the
//! exploration then begins again ([`State::learned`]). Several workers on one exploration have to know the same.

use std::collections::HashMap;

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
    /// The sites at which threads poll.
    sites: Sites,
    names: Names,
    /// Where the check stands, if that is known.
    origin: Option<Place>,
    /// What the exploration rests on so far.
    account: Account,
}

impl State {
    /// What was learned so far.
    pub(super) fn knowledge(&self) -> Knowledge {
        Knowledge {
            clocks: self.clocks.needed,
            counts: self.counts.matter.clone(),
            sites: self.sites.clone(),
            names: self.names.clone(),
            origin: Some(self.origin),
            account: self.account.for_another(),
        }
    }

    /// Takes over what another one has learned.
    pub(super) fn know(&mut self, knowledge: Knowledge) {
        self.clocks.needed = knowledge.clocks;
        self.counts.matter = knowledge.counts;
        self.sites = knowledge.sites;
        self.names = knowledge.names;
        self.origin = knowledge.origin.unwrap_or(self.origin);
        self.account = knowledge.account.for_another();
    }
}
