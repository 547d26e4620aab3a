//! What an exploration rests on.
//!
//! Whatever the runtime leaves out, bounds or guesses, it says so by [`State::assume`], at the place in the source that it has
//! to do with. There is one account for all workers of an exploration, and for the scouts that they send. It begins anew
//! with the exploration, so an assumption that was given up before does not count.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use raddle_outcome::{Assumption, Assumptions, Kind};

use super::Place;
use super::hash::Table;
use super::state::State;

/// The assumptions of an exploration, as one of its workers sees them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Account {
    all: Arc<Mutex<Assumptions<Place>>>,
    /// Those that this worker has noted, by the address of their place: most are made again in every execution.
    noted: Table<(Kind, usize), ()>,
    /// Some of those, each at a place that its address decides.
    recent: Recent,
}

/// Assumptions that were noted lately, to be recognised at a glance: an access with a weak ordering makes one each time.
#[derive(Clone, Debug, Default)]
struct Recent([Option<(Kind, usize)>; 32]);

impl Recent {
    /// Whether an assumption is known; if it was not, it is now.
    #[inline]
    fn knows(&mut self, assumption: (Kind, usize)) -> bool {
        // Places are aligned to 8 bytes.
        let slot = &mut self.0[(assumption.1 >> 3) % 32];
        slot.replace(assumption) == Some(assumption)
    }
}

impl Account {
    /// The same account, for another worker.
    pub(super) fn for_another(&self) -> Self {
        Self {
            all: Arc::clone(&self.all),
            noted: Table::default(),
            recent: Recent::default(),
        }
    }

    #[inline]
    fn note(&mut self, assumption: Assumption<Place>) {
        let address = assumption
            .place
            .map_or(0, |place| std::ptr::from_ref(place).addr());
        let told = (assumption.kind, address);
        if !self.recent.knows(told) && self.noted.insert(told, ()).is_none() {
            self.lock().add(assumption);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Assumptions<Place>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What was noted so far, by all.
    pub(crate) fn assumptions(&self) -> Assumptions<Place> {
        self.lock().clone()
    }
}

impl State {
    /// From now on, what is claimed of the exploration rests on this.
    pub(crate) fn assume(&mut self, assumption: impl Into<Assumption<Place>>) {
        self.account.note(assumption.into());
    }
}
