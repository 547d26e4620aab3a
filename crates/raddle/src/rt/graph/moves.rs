//! The moves that lead to an execution that is run from a graph: what [`Trust::follow`](raddle_memory::Trust::follow) makes it again from.
//!
//! A move says which thread makes an event, and how many later writes of the location that were made before it a read has not read, or a write comes before.

use std::collections::HashMap;

use raddle_schedule::{LocationId, Move, ThreadId};

use super::events::location;
use crate::rt::operation::Operation;
use crate::rt::program::Program;
use crate::rt::state::State;

impl Program {
    /// The moves that lead to this execution, if it is run from a graph. Threads are numbered in the order in which they were started.
    pub(in crate::rt) fn moves_in_graph(&self) -> Option<Vec<Move>> {
        self.runtime.state.borrow().moves_in_graph()
    }
}

impl State {
    fn moves_in_graph(&self) -> Option<Vec<Move>> {
        let graph = self.graph.as_ref()?;
        let number = |id| self.started.iter().position(|&started| started == id);
        // The places in modification order of the writes so far.
        let mut written: HashMap<LocationId, Vec<u32>> = HashMap::new();
        let mut moves = Vec::new();
        for (step, event) in graph.made.iter().enumerate() {
            let Some(event) = event else { continue };
            let made = &self.made[step];
            let writes = location(&made.operation).map(|at| written.entry(at).or_default());
            let choice = match (made.operation, writes) {
                (Operation::Choose { .. }, _) => made.choice,
                (_, None) => 0,
                (_, Some(writes)) => {
                    let from = event.from.and_then(|from| graph.made[from]);
                    let before = match event.reads {
                        true => from.map_or(0, |from| from.place),
                        false => event.place,
                    };
                    let at = writes.partition_point(|&place| place <= before);
                    let later = writes.len() - at;
                    if event.place > 0 {
                        writes.insert(at, event.place);
                    }
                    later as u32
                }
            };
            moves.push(Move {
                thread: ThreadId(number(event.id.thread).map_or(u32::MAX, |at| at as u32)),
                choice,
            });
        }
        Some(moves)
    }
}
