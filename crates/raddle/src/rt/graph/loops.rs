//! Loops that wait, where executions are graphs.
//!
//! [Polling](crate::rt::polling) decides after how many iterations a thread is suspended, from what the thread has done and found. Here a suspended thread is
//! *blocked*: it makes no event any more.
//!
//! **Claim.** If what is inferred about the loop is right, no outcome is lost, and no failure is invented. **Why.** Let an iteration begin and end in the same local state, and let it leave all
//! locations as they were. Leave it out of an execution graph: whoever has read a write of it reads what that write had read, whoever took a lock after it
//! takes it after what the iteration did. Happens-before and all other relations only become smaller, so the graph is consistent. So each execution in which the thread leaves
//! its loop has one in which it has made no such iteration, and that is explored: the reads of the blocked thread can still be revisited. **What would break it:** local state that is not
//! what it is inferred to be (the assumption of the verdict that every suspended loop is), and an iteration that others can notice. The latter is therefore never blocked in silence: the
//! exploration is then not exhausted ([`Stop::LeftOut`]).
//!
//! Three things differ from schedules:
//!
//! - **Nothing wakes a blocked thread,** so locks need no versions: they always get the value back that says that nobody has them. An iteration that has changed what a lock protects has an effect.
//! - **Who has changed something** ([`Outside`]) is what the graph says that is read, not what happens to be there.
//! - **Scouts** do what leads to the thread's last event again, event by event, as the graph said, and then run the thread alone. Each location has the value then that the thread has last seen, or else the last one.

use raddle_memory::Blocked;
use raddle_outcome::Kind;
use raddle_schedule::{Diverged, LocationId, Move, Observed, ThreadId};

use super::{InGraph, Made};
use crate::rt::objects::Outside;
use crate::rt::operation::{Left, Operation};
use crate::rt::program::Program;
use crate::rt::state::State;

/// Why a thread makes no event any more that is in a loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::rt) enum Stop {
    /// Its events from this one on are an iteration that has changed nothing.
    Pure { since: u32 },
    /// It would go on, but that is left out.
    LeftOut(Kind),
}

/// Which iteration it is after which a thread is suspended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::rt) enum Iteration {
    /// The one from the last arrival but one to the last.
    Last,
    /// The last operation.
    LastOperation,
    /// One without operations.
    Empty,
}

/// A step of an execution, to be made again as the graph said.
#[derive(Clone, Copy, Debug)]
pub(in crate::rt) struct Scripted {
    step: Move,
    made: Option<Made>,
}

/// Some of the steps of a script, with all that they read from.
pub(in crate::rt) fn select(script: &[Scripted], steps: &[usize]) -> Vec<Scripted> {
    let number = |step: usize| steps.binary_search(&step).ok();
    let selected = steps.iter().map(|&step| {
        let Scripted { step, made } = script[step];
        let made = made.map(|made| Made {
            from: made.from.and_then(number),
            ..made
        });
        Scripted { step, made }
    });
    selected.collect()
}

impl InGraph {
    /// A thread arrives at a site.
    fn arrives(&mut self, thread: ThreadId) {
        let lane = self.lane(thread);
        lane.arrivals = [lane.arrivals[1], lane.events.len() as u32];
    }
}

impl State {
    /// The current thread arrives at a site.
    pub(in crate::rt) fn arrives_in_graph(&mut self) {
        let current = self.current;
        if let Some(graph) = &mut self.graph {
            graph.arrives(current);
        }
    }

    /// The current thread is about to be suspended after an iteration; `left_out` says what that leaves out, if it does so for certain.
    pub(in crate::rt) fn stops_in_graph(&mut self, after: Iteration, left_out: Option<Kind>) {
        let current = self.current;
        let Some(graph) = &mut self.graph else {
            return;
        };
        let lane = graph.lane(current);
        let count = lane.events.len() as u32;
        lane.stop = Some(match left_out {
            Some(kind) => Stop::LeftOut(kind),
            None => Stop::Pure {
                since: match after {
                    Iteration::Last => lane.arrivals[0],
                    // An execution that is given up runs on by steps that are no events.
                    Iteration::LastOperation => count.saturating_sub(1),
                    Iteration::Empty => count,
                },
            },
        });
    }

    /// Why a thread is blocked that is suspended before its next operation.
    pub(super) fn blocked_in_graph(&self, thread: ThreadId) -> Option<Blocked> {
        self.thread(thread).next()?.suspended?;
        let lane = self.graph.as_ref()?.threads.get(thread.index())?;
        Some(match lane.stop? {
            Stop::LeftOut(kind) => Blocked::LeftOut(kind),
            Stop::Pure { since } => {
                // A lock that it has given back after its arrival belongs to the iteration before.
                let gives_back = |step: &usize| {
                    matches!(
                        self.made[*step].operation,
                        Operation::Unlock { .. }
                            | Operation::ReadUnlock { .. }
                            | Operation::WriteUnlock { .. }
                    )
                };
                let events = lane.events.get(since as usize..).unwrap_or_default();
                let first = events.iter().take_while(|step| gives_back(step)).count();
                Blocked::Spinning {
                    since: since + first as u32,
                }
            }
        })
    }

    /// The current thread has announced an operation: locks get no versions, and what they protect may have changed.
    pub(in crate::rt) fn forget_versions(&mut self) {
        if self.graph.is_none() {
            return;
        }
        let current = self.current;
        let thread = self.thread_mut(current);
        if let Some(next) = thread.announced.last_mut()
            && let Operation::Unlock { left, .. } | Operation::WriteUnlock { left, .. } =
                &mut next.operation
            && std::mem::replace(left, Left::Unchanged) == Left::Changed
        {
            thread.polling.changes_data();
        }
    }

    /// A thread is about to make a step that reads what another step has written. Says to polling who has changed the location, and on what the value depends.
    pub(super) fn is_told(&mut self, id: ThreadId, at: LocationId, from: Option<usize>) {
        let writer = from.and_then(|step| {
            let made = self.graph.as_ref()?.made.get(step).copied().flatten()?;
            Some((step, made))
        });
        let known = self.thread(id).polling.outside(at);
        let outside = match writer {
            Some((_, made)) if !made.in_loop && made.id.thread != id => {
                Outside::of_event(made.id.thread.0, made.id.index)
            }
            _ => known,
        };
        self.objects.set_outside(at, outside);
        let past = writer.map(|(_, made)| made.past);
        self.pasts.set(at, past.unwrap_or_default());
    }

    /// The steps of this execution that come before the last one of a thread in program order and reads-from, or are it, by their numbers.
    ///
    /// A scout makes no others. They do not change what the thread has read. But they may have changed what a lock protects, which is in no graph: the thread
    /// would find it, and would seem to leave its loop by itself.
    pub(in crate::rt) fn steps_that_lead_to(&self, thread: ThreadId) -> Vec<usize> {
        // By thread: how many steps of the execution there are up to the last one that is needed.
        let mut needed: Vec<usize> = vec![0; self.threads.len()];
        needed[thread.index()] = self.made.len();
        let mut steps = Vec::new();
        for (number, made) in self.made.iter().enumerate().rev() {
            let starts = match made.operation {
                Operation::Spawn { child } => needed[child.index()] > 0,
                _ => false,
            };
            if number >= needed[made.thread.index()] && !starts {
                continue;
            }
            steps.push(number);
            let own = &mut needed[made.thread.index()];
            *own = (*own).max(number + 1);
            let link = self.graph.as_ref().and_then(|graph| graph.link(number));
            if let Some(from) = link.and_then(|link| link.from) {
                let writer = &mut needed[self.made[from].thread.index()];
                *writer = (*writer).max(from + 1);
            }
        }
        steps.reverse();
        steps
    }

    /// What was made so far, to be made again.
    pub(in crate::rt) fn script(&self) -> Vec<Scripted> {
        let Some(graph) = &self.graph else {
            return Vec::new();
        };
        let steps = self.made.iter().enumerate();
        let scripted = steps.map(|(number, made)| Scripted {
            step: Move {
                thread: made.thread,
                choice: made.choice,
            },
            made: graph.made.get(number).copied().flatten(),
        });
        scripted.collect()
    }

    /// Gives each location the value that a thread has last seen there.
    fn freeze_for(&mut self, thread: ThreadId) {
        let Some(graph) = &mut self.graph else {
            return;
        };
        let mut is_frozen = false;
        for &(at, value) in &graph.lane(thread).seen {
            is_frozen |= self.objects.value(at) != value;
            self.objects.set(at, value);
        }
        graph.is_frozen = is_frozen;
    }

    /// Whether the values are those that one thread has seen, at different times. No execution has them all at once, so no code may run on from there: it would find lists
    /// that others have taken, and free what is in them once more.
    pub(in crate::rt) fn is_frozen(&self) -> bool {
        self.graph.as_ref().is_some_and(|graph| graph.is_frozen)
    }
}

impl Program {
    /// Makes the steps of a script, and freezes what one thread sees. Returns whether that was possible.
    pub(in crate::rt) fn follow_script(&mut self, thread: ThreadId, script: &[Scripted]) -> bool {
        let mut step = Observed::default();
        let mut script = script.iter();
        let is_made = script.all(|scripted| self.make_scripted(scripted, &mut step).is_ok());
        if is_made {
            self.runtime.state.borrow_mut().freeze_for(thread);
        }
        is_made
    }

    /// Makes the steps of a script in a new execution, and compares them with what they did before.
    pub(in crate::rt) fn make_script_again(&mut self, script: &[Scripted]) -> Result<(), Diverged> {
        if let Some(graph) = &mut self.runtime.state.borrow_mut().graph {
            graph.begin();
            graph.is_scripted = true;
        }
        let mut step = Observed::default();
        for scripted in script {
            let thread = scripted.step.thread;
            let is_there = {
                let state = self.runtime.state.borrow();
                state.started.contains(&thread) && state.thread(thread).next().is_some()
            };
            if !is_there {
                let name = self.runtime.state.borrow().name_of(thread);
                return Err(Diverged {
                    expected: format!("{name} could go on"),
                    found: format!("{name} cannot"),
                });
            }
            self.make_scripted(scripted, &mut step)?;
            self.runtime.state.borrow_mut().compare(scripted.step)?;
        }
        Ok(())
    }

    fn make_scripted(&mut self, scripted: &Scripted, step: &mut Observed) -> Result<(), Diverged> {
        let Scripted { step: next, made } = *scripted;
        let (runs_on, is_begin) = {
            let mut state = self.runtime.state.borrow_mut();
            let runs_on = match made {
                Some(made) => state.make_event_again(next, made, step),
                None => state.make(next.thread, next.choice, step),
            };
            state.deeds.was_possible()?;
            (runs_on, made.is_none() && state.is_beginning(next.thread))
        };
        if runs_on {
            self.run(next.thread, is_begin);
        }
        Ok(())
    }
}
