//! Steps keep to the declared disciplines, or fail.

use raddle_explore::{Access, AccessKind, Footprint, Location, Place, SyncOp};

use super::rules::{Need, Rules};
use super::{Owned, messages};
use crate::execute::{Execution, Halt, Scratch, Trouble};
use crate::program::Program;
use crate::state::State;
use crate::word;

/// Checks steps.
#[derive(Clone, Debug)]
pub(crate) struct Enforcer {
    pub(crate) enabled: bool,
    owned: Owned,
    /// For evaluating predicates.
    scratch: Scratch,
    probe: State,
    ignored: Footprint,
    /// What was looked at to tell whether the last step keeps to the disciplines.
    pub(crate) looks: Footprint,
}

/// The place of a look at what a discipline depends on: it is in no function.
pub(crate) const NOWHERE: Place = Place(u32::MAX);

fn look(location: Location, writes: bool) -> Access {
    Access {
        location,
        writes,
        kind: AccessKind::Atomic,
        place: NOWHERE,
    }
}

/// How a step breaks a discipline.
#[derive(Clone, Debug)]
pub(crate) struct Breach {
    /// The access in the footprint that does.
    pub(crate) access: usize,
    pub(crate) place: Place,
    pub(crate) message: String,
    pub(crate) decided_by: Decided,
}

/// What of a step decides that it breaks a discipline: this much of its footprint must be
/// reported, or a reduction takes the breach for independent of steps that would have prevented
/// it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Decided {
    /// The state before the step, and the accesses up to the one that breaks it. A thread is
    /// deterministic, so whatever leads to that access is among them.
    ByAccess,
    /// The state after the step, so all accesses. In `atomic { owner = 0; if (z == 1) owner = 1; }`
    /// the first write takes access away, and whether the block gives it back depends on `z`.
    ByWholeStep,
}

/// A step of a thread from one state to another.
pub(crate) struct Taken<'s> {
    pub(crate) before: &'s State,
    pub(crate) thread: usize,
    pub(crate) footprint: &'s [Access],
}

impl Enforcer {
    pub(crate) fn new(program: &Program) -> Self {
        Self {
            enabled: program.rules.are_there(),
            owned: Owned::default(),
            scratch: Scratch::new(program),
            probe: State::default(),
            ignored: Vec::new(),
            looks: Vec::new(),
        }
    }

    /// See [`raddle_explore::System::owns`].
    pub(crate) fn owns(
        &mut self,
        program: &Program,
        state: &State,
        thread: usize,
        location: Location,
    ) -> bool {
        self.owned.by(program, state, thread, location)
    }

    /// See [`raddle_explore::System::declared`].
    pub(crate) fn declared(
        &mut self,
        program: &Program,
        state: &State,
        thread: usize,
        access: &Access,
        reads: &mut Footprint,
    ) -> Option<bool> {
        if !self.enabled {
            return None;
        }
        let me = word::thread(state.threads[thread].name);
        Some(match Rules::need(program, state, access.location)? {
            Need::Lock { cell, reference } => {
                let may_read = !access.writes && state.read_holds(thread).contains(&reference);
                state.words[cell] == me || may_read
            }
            Need::First { cell } => state.words[cell] == me,
            Need::When { part } => {
                self.probe.clone_from(state);
                self.ignored.clear();
                let holds = self.holds_for(program, thread, part);
                reads.append(&mut self.ignored);
                holds.unwrap_or(false)
            }
        })
    }

    /// Whether the predicate of a part holds for a thread in the state of the probe. What is
    /// read to tell is left in `ignored`.
    fn holds_for(
        &mut self,
        program: &Program,
        thread: usize,
        part: usize,
    ) -> Result<bool, Trouble> {
        let part = &program.rules.parts[part];
        let pc = program.rules.predicates[part.predicate].pc;
        let mut execution = Execution::of_expression(
            program,
            &mut self.probe,
            Some(thread),
            &part.indices,
            pc,
            &mut self.ignored,
            &mut self.scratch,
        );
        match execution.run() {
            Halt::Value(value) => Ok(value != 0),
            Halt::Error(trouble) => Err(trouble),
            other => unreachable!("a predicate does not {other:?}"),
        }
    }

    /// The first access of a step that breaks a discipline.
    pub(crate) fn broken_by_access(
        &mut self,
        program: &Program,
        step: &Taken<'_>,
    ) -> Option<Breach> {
        let mut probed = false;
        self.looks.clear();
        for (number, access) in step.footprint.iter().enumerate() {
            // An object that does not exist yet is made by this very step.
            let Some(need) = Rules::need(program, step.before, access.location) else {
                continue;
            };
            let me = word::thread(step.before.threads[step.thread].name);
            let word = |cell: usize| step.before.words[cell];
            let mut trouble = None;
            let mut matters_who_is_left = false;
            let kept = match need {
                Need::Lock { cell, reference } => {
                    let reads_under_it =
                        || step.before.read_holds(step.thread).contains(&reference);
                    word(cell) == me || !access.writes && reads_under_it()
                }
                Need::First { cell } => {
                    // Somebody who comes second looks at what the first one wrote.
                    let claims = word(cell) == word::NULL;
                    self.looks.push(look(Location(cell as u64), claims));
                    matters_who_is_left = claims;
                    word(cell) == me || claims
                }
                Need::When { part } => {
                    if !std::mem::replace(&mut probed, true) {
                        self.probe.clone_from(step.before);
                    }
                    self.ignored.clear();
                    let holds = self.holds_for(program, step.thread, part);
                    trouble = holds.err();
                    self.keep_looks();
                    holds == Ok(true)
                }
            };
            if !kept {
                self.look_who_is_left(step, SyncOp::Census);
            } else if matters_who_is_left {
                // Whether the last thread claims it matters to nobody who is there.
                self.look_who_is_left(step, SyncOp::Join);
            }
            if kept || self.is_exempt(program, step, access) {
                continue;
            }
            return Some(Breach {
                access: number,
                place: access.place,
                message: messages::broken(program, step, access, need, trouble),
                decided_by: Decided::ByAccess,
            });
        }
        None
    }

    /// The last thread is exempt, so what it does depends on whether the others have ended.
    fn look_who_is_left(&mut self, step: &Taken<'_>, op: SyncOp) {
        for other in (0..step.before.threads.len()).filter(|other| *other != step.thread) {
            let location = word::location(word::thread(step.before.threads[other].name));
            self.looks.push(Access {
                kind: AccessKind::Sync(op),
                ..look(location, false)
            });
        }
    }

    /// That a thread ends matters to others; of the threads that nobody can join, no
    /// operation tells.
    pub(crate) fn note_end(&mut self, thread: i64) {
        self.looks.push(Access {
            kind: AccessKind::Sync(SyncOp::Exit),
            ..look(word::location(thread), true)
        });
    }

    fn keep_looks(&mut self) {
        let read = self.ignored.iter();
        self.looks
            .extend(read.map(|access| look(access.location, false)));
    }

    /// Whether an access needs no protection: nobody else ever knew the location, was ever
    /// started, or is left.
    fn is_exempt(&mut self, program: &Program, step: &Taken<'_>, access: &Access) -> bool {
        let (state, thread) = (step.before, step.thread);
        is_alone(state, thread) || Owned::is_private(program, state, access.location)
    }

    /// Takes note of the objects that others know after a step.
    pub(crate) fn note_escapes(
        &mut self,
        program: &Program,
        threads_before: usize,
        after: &mut State,
    ) {
        self.owned.note_escapes(program, threads_before, after);
    }

    /// Writes down who has accessed what is `thread_local` first.
    pub(crate) fn claim(&mut self, program: &Program, step: &Taken<'_>, after: &mut State) {
        if program.rules.ghosts == 0 {
            return;
        }
        for access in step.footprint {
            let need = Rules::need(program, step.before, access.location);
            if let Some(Need::First { cell }) = need
                && after.words[cell] == word::NULL
                && !self.is_exempt(program, step, access)
            {
                after.words[cell] = word::thread(step.before.threads[step.thread].name);
            }
        }
    }

    /// Whether a step leaves exclusive access exclusive, and does not take it away from anybody.
    pub(crate) fn broken_by_step(
        &mut self,
        program: &Program,
        step: &Taken<'_>,
        after: &State,
    ) -> Option<Breach> {
        for predicate in 0..program.rules.predicates.len() {
            let reads = &program.rules.predicates[predicate];
            let matters = |access: &Access| {
                access.kind == AccessKind::Sync(SyncOp::Spawn)
                    || access.writes && reads.reads(access.location)
            };
            let Some(access) = step.footprint.iter().position(matters) else {
                continue;
            };
            // Who has ended has no access any more.
            self.look_who_is_left(step, SyncOp::Census);
            let message = self.shared_in(program, after, predicate);
            let message = message.or_else(|| self.taken_in(program, step, after, predicate));
            if let Some(message) = message {
                let place = step.footprint[access].place;
                return Some(Breach {
                    access,
                    place,
                    message,
                    decided_by: Decided::ByWholeStep,
                });
            }
        }
        None
    }

    /// What is wrong if some predicate does not exclude anybody in this state.
    pub(crate) fn broken_in(&mut self, program: &Program, state: &State) -> Option<String> {
        self.probe.clone_from(state);
        let message = (0..program.rules.predicates.len())
            .find_map(|predicate| self.shared_in_probe(program, predicate));
        // What was looked at belongs to no step.
        self.looks.clear();
        message
    }

    /// What is wrong if a predicate gives several threads exclusive access, or has no value.
    fn shared_in(&mut self, program: &Program, state: &State, predicate: usize) -> Option<String> {
        self.probe.clone_from(state);
        self.shared_in_probe(program, predicate)
    }

    /// The same in the state of the probe, which evaluating predicates does not change.
    fn shared_in_probe(&mut self, program: &Program, predicate: usize) -> Option<String> {
        for part in parts(program, predicate) {
            let mut holder = None;
            for thread in 0..self.probe.threads.len() {
                if self.probe.has_stopped(thread) {
                    continue;
                }
                self.ignored.clear();
                let holds = self.holds_for(program, thread, part);
                self.keep_looks();
                match holds {
                    Ok(true) => {
                        if let Some(first) = holder.replace(thread) {
                            let threads = [first, thread];
                            return Some(messages::shared(program, &self.probe, part, threads));
                        }
                    }
                    Ok(false) => {}
                    Err(trouble) => return Some(messages::no_value(program, part, trouble)),
                }
            }
        }
        None
    }

    /// What is wrong if a step takes exclusive access away from another thread.
    fn taken_in(
        &mut self,
        program: &Program,
        step: &Taken<'_>,
        after: &State,
        predicate: usize,
    ) -> Option<String> {
        for part in parts(program, predicate) {
            for thread in 0..step.before.threads.len() {
                if thread == step.thread || after.has_stopped(thread) {
                    continue;
                }
                self.ignored.clear();
                self.probe.clone_from(step.before);
                let held = self.holds_for(program, thread, part);
                self.keep_looks();
                if held != Ok(true) {
                    continue;
                }
                self.probe.clone_from(after);
                if self.holds_for(program, thread, part) != Ok(true) {
                    return Some(messages::taken(program, step.before, part, thread));
                }
            }
        }
        None
    }
}

fn parts(program: &Program, predicate: usize) -> impl Iterator<Item = usize> + '_ {
    program.rules.predicates[predicate].parts.clone()
}

fn is_alone(state: &State, thread: usize) -> bool {
    let mut others = (0..state.threads.len()).filter(|other| *other != thread);
    others.all(|other| state.has_stopped(other))
}
