//! How a graph grows by what a thread does.

use raddle_schedule::ThreadId;

use super::{Event, EventId, Graph, Kind};
use crate::operation::{Effect, Operation};

impl Graph {
    /// Adds the event of an operation. It reads nothing yet, and has no place in modification order.
    pub(crate) fn add(&mut self, thread: ThreadId, operation: Operation) -> EventId {
        let kind = match operation {
            Operation::Read { .. } | Operation::Await { .. } | Operation::Update { .. } => {
                Kind::Read
            }
            Operation::Write { .. } => Kind::Write,
            Operation::Fence { .. } => Kind::Fence,
            Operation::Choose { .. } => Kind::Choice,
            Operation::Spawn { .. } => Kind::Spawn,
            Operation::Join { .. } => Kind::Join,
        };
        let target = operation.target();
        let location = target.map(|target| {
            let known = target.location;
            known.unwrap_or_else(|| self.fresh_location())
        });
        let mut event = Event::new(kind, operation, location);
        if let (Some(location), Some(target)) = (location, target) {
            self.set_initial(location, target.initial);
        }
        match operation {
            Operation::Write { value, .. } => event.written = value,
            Operation::Update { update, .. } => event.order = update.failure,
            Operation::Join { child } => {
                let last = self.thread(child).len().checked_sub(1);
                let last = last.map(|index| EventId::new(child, index));
                event.from = last.or(self.spawned_by(child));
            }
            _ => {}
        }
        self.push(thread, event)
    }

    /// What an event does with the value that it has read, if it is an update, also one that only reads.
    pub(crate) fn effect(&self, id: EventId) -> Option<Effect> {
        let event = self.event(id);
        match event.operation {
            Operation::Update { update, .. } => Some(update.effect(event.read)),
            _ => None,
        }
    }

    /// Takes the writing part of an update away.
    pub(crate) fn take_writing_part(&mut self, id: EventId) {
        let event = self.event_mut(id);
        if let Operation::Update { update, .. } = event.operation {
            (event.kind, event.order) = (Kind::Read, update.failure);
            event.written = 0;
        }
    }

    /// Gives the reading part of an update the ordering that the whole has if it writes.
    pub(crate) fn order_as_update(&mut self, id: EventId) {
        let order = self.event(id).operation.order();
        self.event_mut(id).order = order;
        self.compute_clocks(id);
    }

    /// Gives an update its writing part, not yet a place. Whether it writes.
    pub(crate) fn add_writing_part(&mut self, id: EventId) -> bool {
        let Some(Effect::Write(written)) = self.effect(id) else {
            return false;
        };
        let event = self.event_mut(id);
        (event.kind, event.order) = (Kind::Update, event.operation.order());
        event.written = written;
        self.compute_clocks(id);
        true
    }

    /// Puts an update immediately after what it reads.
    pub(crate) fn insert_after_source(&mut self, update: EventId) {
        let place = self.place(self.event(update).from) + 1;
        self.insert(update, place);
    }
}
