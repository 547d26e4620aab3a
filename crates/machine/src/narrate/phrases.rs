//! What a step does, and what a blocked one waits for, in a few words.

use std::collections::{HashMap, HashSet};

use raddle_explore::{
    Access, AccessKind, Action, Choice, FaultKind, Location, Place, Position, Status, Step, SyncOp,
    System,
};
use raddle_lang::hir::Type;
use raddle_report::story::Note;

use super::{Narrator, reference_of};
use crate::exclusive::NOWHERE;
use crate::op::Op;
use crate::state::{Phase, State};
use crate::word;

impl Narrator {
    pub(super) fn action(&self, step_move: Action, place: Place, step: &Step<State>) -> String {
        let thread = step_move.thread.index();
        if step.footprint.is_empty() {
            return match step.status {
                Status::Failed(_) => "fails".into(),
                _ => self.silent_action(step_move, place),
            };
        }
        let mut phrases: Vec<String> = Vec::new();
        let mut seen = Seen::new(&step.footprint);
        for (number, access) in step.footprint.iter().enumerate() {
            let value_in = match seen.value_of(number, access) {
                Some(When::Before) => Some(&self.state),
                Some(When::After) if !breaks_discipline(step) => Some(&step.after),
                _ => None,
            };
            let phrase = self.phrase(access, thread, step, value_in);
            if phrases.last() != Some(&phrase) {
                phrases.push(phrase);
            }
        }
        if phrases.len() > 6 {
            let more = phrases.len() - 5;
            phrases.truncate(5);
            phrases.push(format!("and {more} more"));
        }
        phrases.join(", ")
    }

    /// A step that touches nothing shared.
    fn silent_action(&self, step_move: Action, place: Place) -> String {
        let program = self.machine.program();
        let pick = step_move.choice.0;
        match program.code[place.0 as usize] {
            Op::ChooseBelow { below: 2, .. }
                if program.source().snippet(program.span(place)) == "*" =>
            {
                format!("chooses {}", pick == 1)
            }
            Op::ChooseBelow { below, .. } => format!("chooses block {} of {below}", pick + 1),
            Op::Choose { low, .. } => {
                let frames = program.frames(&self.state, step_move.thread.index());
                let low = frames
                    .first()
                    .map_or(0, |(_, registers)| registers[low as usize]);
                format!("chooses {}", low + pick as i64)
            }
            Op::Yield => match program.fence_at(place.0) {
                Some(order) => format!("fence ({order})"),
                None => "yields".into(),
            },
            Op::AtomicBegin => "atomically".into(),
            _ => "runs local code".into(),
        }
    }

    /// What an access does. What it reads or writes is the value that there is in the state
    /// `known`, if it is in one.
    fn phrase(
        &self,
        access: &Access,
        thread: usize,
        step: &Step<State>,
        known: Option<&State>,
    ) -> String {
        let program = self.machine.program();
        let reference = reference_of(access);
        let named_in = if program.cell_of(&self.state, reference).is_some() {
            &self.state
        } else {
            &step.after
        };
        let name = program.name_of(named_in, &self.names, reference);
        let value_in = |state: &State| {
            let cell = program.cell_of(state, reference)?;
            let leaf = program.leaf_at(state, &self.names, cell)?;
            let slots = program.hir.slots(leaf.ty) as usize;
            let words = state.words.get(leaf.offset..leaf.offset + slots)?;
            Some(program.show(state, &self.names, leaf.ty, words))
        };
        let value = known.and_then(value_in);
        let value = value.map_or(String::new(), |value| format!(" = {value}"));
        let op = program.code[access.place.0 as usize];
        let stopped = breaks_discipline(step);
        match (access.kind, op) {
            (AccessKind::Plain | AccessKind::Atomic, _) if stopped && access.writes => {
                format!("would write {name}")
            }
            (AccessKind::Sync(sync), _) => self.sync_phrase(sync, access, &name, thread, step),
            (_, Op::Cas { .. }) if access.writes => format!("cas on {name} succeeds"),
            (_, Op::Cas { .. }) => match known.and_then(value_in) {
                Some(value) => format!("cas on {name} fails: it is {value}"),
                None => format!("cas on {name} fails"),
            },
            (_, Op::Update { .. } | Op::Swap { .. }) => format!("updates {name}"),
            _ if access.writes => format!("writes {name}{value}"),
            _ => format!("reads {name}{value}"),
        }
    }

    fn sync_phrase(
        &self,
        sync: SyncOp,
        access: &Access,
        name: &str,
        thread: usize,
        step: &Step<State>,
    ) -> String {
        match sync {
            SyncOp::Acquire => format!("locks {name}"),
            SyncOp::Release => format!("unlocks {name}"),
            SyncOp::AcquireShared => format!("locks {name} for reading"),
            SyncOp::ReleaseShared => format!("unlocks {name} (reading)"),
            SyncOp::Try | SyncOp::TryShared | SyncOp::Poll => {
                let looks = matches!(
                    self.machine.program().code[access.place.0 as usize],
                    Op::Len { .. }
                );
                match (looks, access.writes) {
                    (true, _) => format!("looks at {name}"),
                    (_, true) => format!("tries {name} and succeeds"),
                    (_, false) => format!("tries {name} and fails"),
                }
            }
            SyncOp::Wait => format!("waits on {name}"),
            SyncOp::Notify => {
                let woken: Vec<&str> = (0..self.state.threads.len())
                    .filter(|other| {
                        self.state.phase(*other) == Phase::Waiting
                            && step.after.phase(*other) == Phase::Notified
                    })
                    .map(|other| self.names.threads[other].as_str())
                    .collect();
                match woken.as_slice() {
                    [] => format!("notifies {name}: nobody waits"),
                    woken => format!("notifies {name}: wakes {}", woken.join(", ")),
                }
            }
            SyncOp::Resume if access.writes => format!("takes {name} again"),
            SyncOp::Resume => "wakes up".into(),
            SyncOp::Down => format!("decrements {name}"),
            SyncOp::Up => format!("increments {name}"),
            SyncOp::Send => match self.machine.program().code[access.place.0 as usize] {
                Op::Handoff { .. } => format!("has handed over its message on {name}"),
                _ => format!("sends to {name}"),
            },
            SyncOp::Receive => format!("receives from {name}"),
            SyncOp::Spawn => format!("starts {name}"),
            SyncOp::Join | SyncOp::Census => format!("joins {name}"),
            SyncOp::Exit => format!("{} ends", self.names.threads[thread]),
            SyncOp::Free | SyncOp::Destroy => {
                let object = name.split('.').next().unwrap_or(name);
                format!("frees {object}")
            }
        }
    }

    /// What an access that has not happened yet would do.
    #[must_use]
    pub fn about_to(&self, access: &Access) -> String {
        let program = self.machine.program();
        let name = program.name_of(&self.state, &self.names, reference_of(access));
        match access.writes {
            true => format!("is about to write {name}"),
            false => format!("is about to read {name}"),
        }
    }

    /// What a blocked thread waits for.
    #[must_use]
    pub fn waiting(&mut self, thread: Position) -> Note {
        let mut step = Step::default();
        let place = self.machine.place(&self.state, thread);
        self.machine
            .step(&self.state, thread, Choice::FIRST, &mut step);
        step.footprint.retain(|access| access.place != NOWHERE);
        Note {
            thread: Some(self.lane(thread)),
            at: self.statement_spot(place),
            text: self.waits_for(&step),
        }
    }

    /// Who keeps others from taking a lock; nothing if the location is no lock.
    fn holder_of(&self, reference: i64) -> Option<String> {
        let program = self.machine.program();
        let cell = program.cell_of(&self.state, reference)?;
        let leaf = program.leaf_at(&self.state, &self.names, cell)?;
        if !matches!(leaf.ty, Type::Mutex { .. } | Type::RwLock) {
            return None;
        }
        let slots = program.hir.slots(leaf.ty) as usize;
        let words = &self.state.words[leaf.offset..leaf.offset + slots];
        let readers: Vec<&str> = (0..self.state.threads.len())
            .filter(|thread| self.state.read_holds(*thread).contains(&reference))
            .map(|thread| self.names.threads[thread].as_str())
            .collect();
        Some(match words[0] == word::NULL {
            true if !readers.is_empty() => format!("read by {}", readers.join(", ")),
            // Nobody has it, and still the thread waits: it is in the midst of an atomic block,
            // which as a whole cannot happen.
            true => "which the atomic block has taken itself".into(),
            false => program.show(&self.state, &self.names, leaf.ty, words),
        })
    }

    fn waits_for(&self, step: &Step<State>) -> String {
        let program = self.machine.program();
        let Some(last) = step.footprint.last() else {
            return "waits for ever".into();
        };
        let reference = reference_of(last);
        let name = program.name_of(&self.state, &self.names, reference);
        let holder = self.holder_of(reference);
        let held = holder.map_or(String::new(), |holder| format!(", {holder}"));
        match last.kind {
            // An atomic block that was past its last access, and waits for what it has seen to
            // be different.
            AccessKind::Sync(_) if last.place != self.machine.stopped_at => {
                self.waits_for_change(step)
            }
            AccessKind::Sync(SyncOp::Resume) if step.footprint.len() == 1 => {
                format!("waits to be notified on {name}")
            }
            AccessKind::Sync(SyncOp::Resume) => format!("was notified, waits for {name}{held}"),
            AccessKind::Sync(SyncOp::Down) => format!("waits for {name} to be incremented"),
            AccessKind::Sync(SyncOp::Send) => match program.code[last.place.0 as usize] {
                Op::Handoff { .. } => format!("waits for a receiver on {name}"),
                _ => format!("waits for room in {name}"),
            },
            AccessKind::Sync(SyncOp::Receive) => format!("waits for a message on {name}"),
            AccessKind::Sync(SyncOp::Join) => format!("waits for {name} to end"),
            AccessKind::Sync(_) => format!("waits for {name}{held}"),
            AccessKind::Plain | AccessKind::Atomic => self.waits_for_change(step),
        }
    }

    /// What a step has read whose condition was false.
    fn waits_for_change(&self, step: &Step<State>) -> String {
        let program = self.machine.program();
        // That an atomic block could take a lock, and has given it back, is not what it waits for.
        let passed = |kind| {
            use SyncOp::{Acquire, AcquireShared, Release, ReleaseShared};
            matches!(
                kind,
                AccessKind::Sync(Acquire | AcquireShared | Release | ReleaseShared)
            )
        };
        let mut names: Vec<String> = Vec::new();
        for access in step.footprint.iter().filter(|access| !passed(access.kind)) {
            let name = program.name_of(&self.state, &self.names, reference_of(access));
            if !names.contains(&name) {
                names.push(name);
            }
        }
        match names.as_slice() {
            [] => "waits for ever".into(),
            names => format!("waits for {} to change", names.join(", ")),
        }
    }
}

/// Nothing of a step happens that breaks a discipline.
fn breaks_discipline(step: &Step<State>) -> bool {
    matches!(&step.status, Status::Failed(fault) if fault.kind == FaultKind::Discipline)
}

/// A state in which the value of a location is that of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum When {
    Before,
    After,
}

/// Which values the accesses of a step see. An atomic block may write a location several times: only
/// the first and the last of its values are in a state.
struct Seen {
    last_write: HashMap<Location, usize>,
    written: HashSet<Location>,
}

impl Seen {
    fn new(footprint: &[Access]) -> Self {
        let writes = footprint.iter().enumerate();
        let writes = writes.filter(|(_, access)| access.writes);
        Self {
            last_write: writes.map(|(number, a)| (a.location, number)).collect(),
            written: HashSet::new(),
        }
    }

    /// Where the value is that the next access reads or writes.
    fn value_of(&mut self, number: usize, access: &Access) -> Option<When> {
        let first = match access.writes {
            true => {
                self.written.insert(access.location);
                false
            }
            false => !self.written.contains(&access.location),
        };
        let last = self.last_write.get(&access.location);
        match first {
            true => Some(When::Before),
            false => (last <= Some(&number)).then_some(When::After),
        }
    }
}
