//! Names of locations that mean the same in every execution.
//!
//! Real objects have no names. An execution numbers them in the order in which it comes to them, so what was number 5 there may be number 7
//! here. The explorer compares steps of different executions where it inserts sequences into wake-up trees, and has
//! to know there whether two steps touch the same location.
//!
//! What a thread does next is a function of what it has done and of what that has found, which is a function of what
//! happened before. So an event is known by its *past*: the events that happen before it, and how these
//! are ordered. **"What the second access of that event touches" is a name** that makes sense in every execution that has an event with this
//! past. Its first access is at a location that was known before the step was made (see [`Observed::accesses`]), so "what the thread touches first
//! after that event" is a name too, and one that more executions have. A location has many names.
//!
//! Why two names that mean one location in an execution mean one location in every execution that has both: let the pasts be `P` and `Q`.
//! An event of `P` alone and one of `Q` alone are independent, for otherwise one would happen before the other
//! and be in both. So `P` and `Q` say how all of `P ∪ Q` is ordered, every execution that has both has an equivalent one that begins with
//! `P ∪ Q`, and after `P ∪ Q` the program is in the same state, but for where its objects lie in memory.

use hashbrown::HashMap;
use rapidhash::fast::RandomState;

use crate::class::{ClassHash, event_hash, step_hash};
use crate::execution::LocationId;
#[cfg(doc)]
use crate::execution::Observed;
use crate::trace::Trace;

/// What an access of an event with a certain past touches, as a hash of 128 bits (see [`crate::class`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Name(u128);

/// How many names of a location are kept. The more, the likelier another execution has one of the events.
const MOST: usize = 4;

/// The names of the locations of the execution under way. They are found when they are first asked for.
#[derive(Debug, Default)]
pub(super) struct Names {
    located: HashMap<Name, LocationId, RandomState>,
    of: HashMap<LocationId, Vec<Name>, RandomState>,
    is_known: bool,
}

impl Names {
    /// Another execution begins.
    pub(super) fn forget(&mut self) {
        self.is_known = false;
    }

    /// Some names of a location of the trace.
    pub(super) fn of(&mut self, trace: &Trace, location: LocationId) -> Box<[Name]> {
        self.find_all(trace);
        let names = self.of.get(&location).map(Vec::as_slice);
        names.unwrap_or_default().into()
    }

    /// The location of the trace that has one of the names, if there is one.
    pub(super) fn locate(&mut self, trace: &Trace, names: &[Name]) -> Option<LocationId> {
        self.find_all(trace);
        names
            .iter()
            .find_map(|name| self.located.get(name).copied())
    }

    fn find_all(&mut self, trace: &Trace) {
        if std::mem::replace(&mut self.is_known, true) {
            return;
        }
        self.located.clear();
        self.of.clear();
        let pasts = pasts(trace);
        let mut in_order: Vec<usize> = (0..trace.len()).collect();
        // Events with a small past are likely to be in other executions.
        in_order.sort_by_cached_key(|&event| trace.clock(event).iter().sum::<u32>());
        for event in in_order {
            for (number, access) in trace.accesses(event).enumerate() {
                let Past { before, with } = pasts[event];
                let name = match number {
                    0 => Name(before.0),
                    _ => Name(with.0.wrapping_add(number as u128)),
                };
                self.located.insert(name, access.location);
                let names = self.of.entry(access.location).or_default();
                if names.len() < MOST {
                    names.push(name);
                }
            }
        }
    }
}

/// What happened before an event, as a hash.
#[derive(Clone, Copy)]
struct Past {
    /// What its thread knew when it came to the step.
    before: ClassHash,
    /// That, the step, and what the step comes after.
    with: ClassHash,
}

fn pasts(trace: &Trace) -> Vec<Past> {
    let mut pasts: Vec<Past> = Vec::with_capacity(trace.len());
    let mut lanes: Vec<Vec<usize>> = vec![Vec::new(); trace.lanes()];
    for (event, known) in trace.events().iter().enumerate() {
        let thread = known.thread();
        let known_before = [trace.previous_of(event), trace.cause_of(event)];
        let before = known_before
            .into_iter()
            .flatten()
            .fold(step_hash(thread, known.number), |before, earlier| {
                before.after(pasts[earlier].with)
            });
        // The last events of all threads that happen before it: all others happen before these.
        let lasts = lanes
            .iter()
            .zip(trace.clock(event))
            .filter_map(|(lane, &count)| {
                let last = (count as usize).min(lane.len()).checked_sub(1)?;
                Some(lane[last])
            });
        let with = lasts.fold(event_hash(trace, event), |with, last| {
            with.after(pasts[last].with)
        });
        lanes[thread.index()].push(event);
        pasts.push(Past { before, with });
    }
    pasts
}
