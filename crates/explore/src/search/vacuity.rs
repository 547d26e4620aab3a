//! Whether there is a cycle among the stored states: an execution that goes on for ever.

use std::ops::ControlFlow;

use raddle_outcome::Kind;
use raddle_store::StateId;

use super::space::Space;
use crate::system::System;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Colour {
    /// Not reached yet.
    White,
    /// On the way from the initial state to the current one.
    Grey,
    /// Left behind: no cycle goes through it.
    Black,
}

enum Task {
    Enter(StateId),
    Leave(StateId),
}

/// Searches depth-first for a state that is reached again from itself. The search
/// must have been complete. `interrupted` is asked for every edge.
pub(super) fn has_cycle<S: System>(
    space: &mut Space<'_, S>,
    root: StateId,
    mut interrupted: impl FnMut() -> Option<Kind>,
) -> Result<bool, Kind> {
    let mut colours = vec![Colour::White; space.store.index_bound()];
    let store = space.store;
    let mut tasks = vec![Task::Enter(root)];
    let mut cycle = false;
    while let Some(task) = tasks.pop() {
        match task {
            Task::Leave(state) => colours[store.index(state)] = Colour::Black,
            Task::Enter(state) if colours[store.index(state)] == Colour::White => {
                colours[store.index(state)] = Colour::Grey;
                tasks.push(Task::Leave(state));
                let mut limit = None;
                space.for_each_edge(state, |_, edge| {
                    let to = edge
                        .to
                        .expect("a complete search has stored every successor");
                    match colours[store.index(to)] {
                        Colour::White => tasks.push(Task::Enter(to)),
                        Colour::Grey => cycle = true,
                        Colour::Black => {}
                    }
                    limit = interrupted();
                    match cycle || limit.is_some() {
                        true => ControlFlow::Break(()),
                        false => ControlFlow::Continue(()),
                    }
                });
                if cycle {
                    return Ok(true);
                }
                if let Some(limit) = limit {
                    return Err(limit);
                }
            }
            // It was reached a second time before it was entered.
            Task::Enter(_) => {}
        }
    }
    Ok(false)
}
