//! An execution as a list of moves: what somebody can keep to see it again.
//!
//! An execution graph is no schedule, but the order in which a run has made its events is one, and extends program order and reads-from. Beside each event stands what was
//! chosen there, against the graph of the events before it: for a choice, the alternative; for a read, how many writes come after the one that it reads from, in
//! modification order; for a write, how many come after it. So 0 is the default everywhere, and an execution that is sequentially consistent in this order has few other
//! numbers. Threads are numbered in the order in which [`Program::threads`] has them: their ids may be others in another process.

use std::ops::ControlFlow;

use raddle_schedule::Move;

use super::ends::Visitor;
use super::search::Search;
use super::{Refused, Trust};
use crate::graph::EventId;
use crate::operation::{Effect, Operation};
use crate::program::{Next, Program};

/// A list of moves does not lead to an execution of the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Misled {
    /// The number of the move that is not possible, from 0.
    pub at: usize,
    /// Why.
    pub because: &'static str,
}

impl Trust {
    /// Makes one execution: by these moves, and by default from there on. The visitor sees how it ends. Nothing is claimed of others.
    ///
    /// # Errors
    ///
    /// If the moves are not possible, or if the program does not keep to what [`Program`] asks of it.
    pub fn follow<P: Program>(
        &mut self,
        program: &mut P,
        visitor: &mut impl Visitor<P>,
        moves: &[Move],
    ) -> Result<Result<(), Misled>, Refused> {
        let mut search = self.search(program, visitor);
        let followed = search.follow(moves);
        self.counts = search.counts;
        followed
    }
}

impl<P: Program, V: Visitor<P>> Search<'_, P, V> {
    fn follow(&mut self, moves: &[Move]) -> Result<Result<(), Misled>, Refused> {
        self.begin()?;
        for (at, next) in moves.iter().enumerate() {
            if self.visitor.pulse(self.program, &self.graph).is_break() {
                return Ok(Ok(()));
            }
            if let Err(because) = self.make_as(*next)? {
                return Ok(Err(Misled { at, because }));
            }
        }
        let (ControlFlow::Continue(()) | ControlFlow::Break(())) = self.extend_to_leaf()?;
        Ok(Ok(()))
    }

    /// Adds the event that a move says.
    fn make_as(&mut self, next: Move) -> Result<Result<(), &'static str>, Refused> {
        let choice = next.choice;
        let Some(&thread) = self.program.threads().get(next.thread.index()) else {
            return Ok(Err("the thread was not started"));
        };
        let Next::Operation(operation) = self.program.next(thread) else {
            return Ok(Err("the thread does nothing more"));
        };
        if matches!(operation, Operation::Join { .. }) && self.waits(&operation) {
            return Ok(Err("the thread waits"));
        }
        let id = self.graph.add(thread, operation);
        match self.choose(id, choice) {
            Ok(()) => self.answer(id).map(Ok),
            Err(because) => Ok(Err(because)),
        }
    }

    /// Lets a new event be as the choice says.
    fn choose(&mut self, id: EventId, choice: u32) -> Result<(), &'static str> {
        let operation = self.graph.event(id).operation;
        if let Operation::Choose { alternatives } = operation {
            self.graph.event_mut(id).read = choice.into();
            return match choice < alternatives {
                true => Ok(()),
                false => Err("there are not so many alternatives"),
            };
        }
        let Some(location) = self.graph.event(id).location else {
            return Ok(());
        };
        let last = self.graph.last_place(location);
        let place = last
            .checked_sub(choice)
            .ok_or("there are not so many writes")?;
        if let Operation::Write { .. } = operation {
            self.graph.insert(id, place + 1);
        } else {
            let from = self.graph.write_at(location, place);
            self.graph.read_from(id, from);
            let value = self.graph.event(id).read;
            let waits = match operation {
                Operation::Update { update, .. } => update.effect(value) == Effect::Wait,
                Operation::Await { until, .. } => !until.holds(value),
                _ => false,
            };
            if waits {
                return Err("the thread waits");
            }
            if self.graph.add_writing_part(id) {
                self.graph.insert_after_source(id);
            }
        }
        match choice == 0 || self.admits(&[id]) {
            true => Ok(()),
            false => Err("the memory model does not allow it"),
        }
    }
}
