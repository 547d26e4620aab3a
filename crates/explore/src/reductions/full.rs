//! No reduction: one step of every thread, with every choice.
//!
//! Guarantee: preserves everything. Every state is a boundary state, and every step
//! of the program is a step of the search, so each reachable state is stored and
//! each step that a thread can make in it is tried. This is the semantics against
//! which all other reductions are compared.

use raddle_store::Batch;

use crate::property::{Property, PropertySet};
use crate::reduction::{
    BlockedThread, Effort, End, Lessons, PendingAccess, Reduction, Visitor, add_pending,
    for_each_race,
};
use crate::system::{Access, AccessKind, Action, Choice, Position, Status, Step, System, Unseen};

/// One step of every thread, with every choice.
pub struct Full<S: System> {
    step: Step<S::State>,
    blocked: Vec<BlockedThread>,
    pending: Vec<PendingAccess>,
    /// Whether some step makes a plain access that writes.
    writes_plainly: bool,
}

impl<S: System> Default for Full<S> {
    fn default() -> Self {
        Self {
            step: Step::default(),
            blocked: Vec::new(),
            pending: Vec::new(),
            writes_plainly: false,
        }
    }
}

/// All other buffers are as small as a state.
fn held_bytes(pending: &Vec<PendingAccess>) -> usize {
    pending.capacity() * size_of::<PendingAccess>()
}

/// What the alternatives of one thread's next step add up to.
#[derive(Default)]
struct Alternatives {
    blocked: bool,
    blocked_without_assumption: bool,
}

impl<S: System> Reduction<S> for Full<S> {
    fn name(&self) -> &'static str {
        "full"
    }

    fn preserves(&self) -> PropertySet {
        PropertySet::ALL
    }

    fn expand(&mut self, system: &mut S, state: &S::State, visitor: &mut dyn Visitor<S>) -> Effort {
        let races_wanted = visitor.properties().contains(Property::Race);
        let mut effort = Effort::default();
        let mut stuck = true;
        self.blocked.clear();
        self.pending.clear();
        for position in 0..system.thread_count(state) {
            let thread = Position(position as u32);
            let mut alternatives = Alternatives::default();
            let mut choice = Choice::FIRST;
            loop {
                let step = &mut self.step;
                let taken = Action { thread, choice };
                system.step(state, thread, choice, step);
                let next = step.next_choice;
                match &step.status {
                    Status::Ended => effort.ended_steps += 1,
                    Status::Blocked { assumption } => {
                        effort.blocked_steps += 1;
                        alternatives.blocked = true;
                        alternatives.blocked_without_assumption |= !assumption;
                    }
                    Status::Moved | Status::Failed(_) => {
                        effort.transitions += 1;
                        stuck = false;
                        if races_wanted && step.status.makes_its_accesses() {
                            add_pending(&mut self.pending, thread, step);
                        }
                        if !self.writes_plainly {
                            let mut accesses = step.footprint.iter();
                            let plain = |a: &Access| a.writes && a.kind == AccessKind::Plain;
                            self.writes_plainly = accesses.any(plain);
                        }
                        let goes_on = match &step.status {
                            Status::Failed(fault) => visitor.fault(system, &[taken], fault),
                            _ => true,
                        };
                        if goes_on {
                            let renamed = system.canonicalise(&mut step.after);
                            let changed = renamed.after(step.changed);
                            visitor.successor(system, &[taken], &step.after, changed);
                        }
                    }
                }
                let Some(next) = next else { break };
                choice = next;
                // A choice can have billions of alternatives.
                if visitor.interrupted(held_bytes(&self.pending)) {
                    return effort;
                }
            }
            // Only looked at if nobody is enabled.
            if alternatives.blocked && stuck {
                self.blocked.push(BlockedThread {
                    thread,
                    place: system.place(state, thread),
                    // One alternative that waits for the program itself is enough for
                    // a deadlock: only executions that chose another one were cut.
                    assumption: !alternatives.blocked_without_assumption,
                });
            }
        }
        for_each_race(&self.pending, |race| {
            visitor.race(system, &[], state, race);
        });
        if stuck {
            let end = End::of(&self.blocked, system.failed(state));
            visitor.end(system, &[], state, end, &self.blocked);
        }
        effort
    }

    fn expand_plainly(
        &mut self,
        system: &mut S,
        properties: PropertySet,
        batch: &mut Batch,
    ) -> Option<Effort> {
        if properties.contains(Property::Race) {
            return None;
        }
        let steps = system.successors(batch, Unseen::All)?;
        self.writes_plainly |= steps.writes_plainly;
        Some(Effort::of_steps(&steps))
    }

    fn may_race(&self) -> bool {
        self.writes_plainly
    }

    fn keeps_every_step(&self) -> bool {
        true
    }

    fn held_bytes(&self) -> usize {
        held_bytes(&self.pending)
    }

    fn lessons(&self) -> Option<Lessons> {
        Some(Lessons {
            writes_plainly: self.writes_plainly,
            ..Lessons::default()
        })
    }

    fn adopt(&mut self, lessons: &Lessons) {
        self.writes_plainly = lessons.writes_plainly;
    }

    fn for_another_worker<'w>(&self) -> Option<Box<dyn Reduction<S> + Send + 'w>>
    where
        S: 'w,
    {
        Some(Box::new(Self::default()))
    }
}
