//! The machine: a program as a [`System`].

use std::collections::HashSet;
use std::sync::Arc;

use raddle_explore::repair::Repair;
use raddle_explore::{
    Access, AccessKind, Changed, Choice, Fault, FaultKind, Footprint, Guard, Location, Packed,
    Parts, Place, Position, Renamed, Status, Step, SyncOp, System, Variable,
};
use raddle_lang::Span;

use crate::canonical::{Canonicaliser, Renaming};
use crate::compile::NO_STATEMENT;
use crate::exclusive::{self, Breach, Decided, Enforcer, Taken};
use crate::execute::{Execution, Halt, MAX_THREADS, Mode, Scratch};
use crate::op::Op;
use crate::pack;
use crate::program::{Granularity, Program};
use crate::state::{Phase, State, header};
use crate::symmetry::Symmetry;
use crate::word::{self, Name, Reference};

/// With more heap objects than this, garbage among them, a state is to be made canonical: far fewer
/// than there may be, so that no limit is met only because of garbage.
const CROWD: usize = 8192;

/// Runs a program, step by step.
///
/// ```
/// use std::sync::Arc;
/// use raddle_explore::{Choice, Status, Step, System, Position};
/// use raddle_lang::Source;
/// use raddle_machine::{Granularity, Machine};
///
/// let source = Source::new("hello.rad", "int x; void main() { x = 1; assert(x == 1); }");
/// let (program, problems) = raddle_machine::load(source);
/// assert!(problems.is_empty());
/// let mut machine = Machine::new(Arc::new(program.unwrap()), Granularity::Access);
/// let mut step = Step::default();
/// let before = machine.initial();
/// machine.step(&before, Position(0), Choice::FIRST, &mut step);
/// assert_eq!(step.status, Status::Moved);
/// assert!(step.footprint[0].writes);
/// ```
#[derive(Clone, Debug)]
pub struct Machine {
    pub(crate) program: Arc<Program>,
    pub(crate) granularity: Granularity,
    pub(crate) scratch: Scratch,
    canonicaliser: Canonicaliser,
    /// The threads that may be exchanged, if the search is to make use of that.
    symmetry: Option<Symmetry>,
    /// For evaluating invariants.
    probe: Step<State>,
    pub(crate) enforcer: Enforcer,
    /// What is wrong with the declared disciplines from the start.
    pub(crate) broken_from_the_start: Option<String>,
    /// The operation at which the last step has stopped: where it waits, if it was blocked.
    pub(crate) stopped_at: Place,
    /// How many loop iterations and calls there were in the last step.
    turns: u32,
}

impl Machine {
    /// A machine for a program.
    #[must_use]
    pub fn new(program: Arc<Program>, granularity: Granularity) -> Self {
        let mut machine = Self {
            scratch: Scratch::new(&program),
            enforcer: Enforcer::new(&program),
            program,
            granularity,
            canonicaliser: Canonicaliser::default(),
            symmetry: None,
            probe: Step::default(),
            broken_from_the_start: None,
            stopped_at: Place(0),
            turns: 0,
        };
        if !machine.program.hir.exclusives.is_empty() {
            let state = machine.initial();
            machine.broken_from_the_start = machine.enforcer.broken_in(&machine.program, &state);
        }
        machine
    }

    /// Whether steps that break a declared discipline fail. They do unless told otherwise.
    #[must_use]
    pub fn with_disciplines(mut self, enforced: bool) -> Self {
        self.enforcer.enabled = enforced && self.program.rules.are_there();
        self
    }

    /// Whether searches make use of [interchangeable](raddle_explore::symmetry) threads, if the program has some. They do not unless told
    /// so.
    #[must_use]
    pub fn with_symmetry(mut self, used: bool) -> Self {
        self.symmetry = used.then(|| Symmetry::of(&self.program)).flatten();
        self
    }

    /// How many loop iterations and calls there were in the last step.
    pub(crate) fn turns(&self) -> u32 {
        self.turns
    }

    /// The threads that may be exchanged, if searches make use of that.
    #[must_use]
    pub fn symmetry(&self) -> Option<&Symmetry> {
        self.symmetry.as_ref()
    }

    /// Exchanges threads, and says what became of them: new positions by old ones.
    fn represent_with_positions(&mut self, state: &mut State) -> Option<impl Fn(usize) -> usize> {
        let symmetry = self.symmetry.as_mut()?;
        let mut packed = Packed::default();
        pack::encode(&self.program, state, &mut packed);
        let is_fixed = symmetry.exchanges_words()
            && (self.program.packing.fixed.as_ref())
                .is_some_and(|fixed| fixed.has_form(packed.words()));
        if is_fixed {
            symmetry.represent(packed.words_mut());
            pack::decode(&self.program, packed.words(), state);
        } else {
            (self.canonicaliser).exchange(&self.program, state, |state, threads| {
                symmetry.sort(&self.program, state, threads);
            });
        }
        let (symmetry, renaming) = (&*symmetry, &self.canonicaliser.renaming);
        Some(move |thread: usize| match is_fixed {
            true => symmetry.moved_to(thread),
            false => renaming.threads[thread].expect("canonical states have no others"),
        })
    }

    /// The parts that differ after a step that was made.
    pub(crate) fn changed(&self, state: &State, thread: usize, step: &Step<State>) -> Changed {
        let features = &self.program.features;
        if features.spawn || features.heap {
            return Changed::ALL;
        }
        let packing = &self.program.packing;
        packing.changed(thread, state.threads.len(), &step.footprint)
    }

    /// What a variable is called in the program: `x`, `a[2]`, `accounts[0].balance`; `Node.next`
    /// for a field of heap objects.
    #[must_use]
    pub fn variable_name(&self, variable: Variable) -> String {
        self.program.variable_name(variable)
    }

    /// What a lock is called in the program: `m`, `locks[1]`; `this.guard` for a lock in the same heap
    /// object as what it protects, `thread worker` for the pseudo lock of a thread.
    #[must_use]
    pub fn guard_name(&self, guard: Guard) -> String {
        self.program.guard_name(guard)
    }

    /// Whether a variable is a global variable, or part of one.
    #[must_use]
    pub fn is_global(&self, variable: Variable) -> bool {
        (variable.0 as usize) < self.program.checked().initial.len()
    }

    /// Whether a lock is the pseudo lock of a thread.
    #[must_use]
    pub fn is_pseudo_lock(&self, guard: Guard) -> bool {
        exclusive::is_pseudo_lock(guard)
    }

    /// The program that it runs.
    #[must_use]
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// What no step so far has executed, in the order of the source: statements, or
    /// the name of a function if nothing of it was. What asserts `false` is not
    /// meant to be reached, and is left out.
    #[must_use]
    pub fn unreached(&self) -> Vec<Span> {
        let mut unreached = Vec::new();
        let checked = self.program.hir.functions.iter();
        for (function, checked) in self.program.functions.iter().zip(checked) {
            let code = function.entry as usize..function.end as usize;
            if !self.scratch.covered[code.clone()].contains(&true) {
                unreached.push(checked.span);
                continue;
            }
            let (reached, others): (Vec<usize>, Vec<usize>) =
                code.partition(|pc| self.scratch.covered[*pc]);
            let statement = |pc: usize| self.program.statement_of[pc];
            let excused: HashSet<u32> = reached
                .into_iter()
                .map(statement)
                .chain(self.program.asserts_false.iter().copied())
                .chain([NO_STATEMENT])
                .collect();
            let mut missed: Vec<u32> = others.into_iter().map(statement).collect();
            missed.retain(|statement| !excused.contains(statement));
            missed.sort_unstable();
            missed.dedup();
            let spans = missed
                .iter()
                .map(|missed| self.program.statements[*missed as usize]);
            unreached.extend(spans);
        }
        unreached.sort();
        unreached
    }

    /// The goals (`reach`) that no step so far has reached, as indices into the
    /// checked program's goals.
    #[must_use]
    pub fn unreached_goals(&self) -> Vec<usize> {
        let goals = self.program.code.iter().zip(&self.scratch.covered);
        let mut unreached: Vec<usize> = goals
            .filter_map(|(op, covered)| match op {
                Op::Reach { goal } if !covered => Some(*goal as usize),
                _ => None,
            })
            .collect();
        unreached.sort_unstable();
        unreached
    }

    /// Like [`System::canonicalise`], and says what became of threads and objects.
    pub(crate) fn canonicalise_with_renaming(&mut self, state: &mut State) -> Option<&Renaming> {
        let features = &self.program.features;
        if !features.spawn && !features.heap {
            return None;
        }
        self.canonicaliser.canonicalise(&self.program, state);
        Some(&self.canonicaliser.renaming)
    }

    fn prologues(&mut self, state: &mut State, threads: std::ops::Range<usize>) {
        let mut footprint = Vec::new();
        for thread in threads {
            let mut execution = Execution::of_thread(
                &self.program,
                state,
                thread,
                Mode::Prologue,
                &mut footprint,
                &mut self.scratch,
            );
            let halt = execution.run();
            match halt {
                Halt::End => execution.finish(Phase::Ended),
                _ => execution.suspend(),
            }
            // That there is no room is no failure: it is left to the thread's first step.
            if is_failure(halt) {
                state.thread_mut(thread)[header::PHASE] = Phase::FailedAtStart as i64;
            }
            self.scratch.count_coverage();
        }
    }

    /// How the step that was just made breaks a declared discipline, if it does; otherwise
    /// what it has claimed is in the state after it.
    fn breach(
        &mut self,
        state: &State,
        thread: usize,
        halt: Halt,
        step: &mut Step<State>,
    ) -> Option<Breach> {
        if let Some(message) = &self.broken_from_the_start {
            return Some(Breach {
                access: 0,
                place: Place(state.pc(thread)),
                message: message.clone(),
                decided_by: Decided::ByAccess,
            });
        }
        let taken = Taken {
            before: state,
            thread,
            footprint: &step.footprint,
        };
        let broken = self.enforcer.broken_by_access(&self.program, &taken);
        if broken.is_some() || matches!(halt, Halt::Block { .. }) {
            return broken;
        }
        self.enforcer.claim(&self.program, &taken, &mut step.after);
        match halt {
            Halt::Pause | Halt::End => {
                self.enforcer
                    .broken_by_step(&self.program, &taken, &step.after)
            }
            _ => None,
        }
    }

    /// The step stops at the access that breaks a discipline, and nothing of it happens. The
    /// footprint keeps whatever decided that.
    fn fail(&mut self, state: &State, thread: usize, breach: Breach, step: &mut Step<State>) {
        step.after.clone_from(state);
        step.after.fail(thread, breach.place.0);
        let whole = breach.decided_by == Decided::ByWholeStep;
        if !(whole && Repair::BreachIsDecidedByWholeStep.is_on()) {
            step.footprint.truncate(breach.access + 1);
        }
        self.scratch.forget_after(breach.access, breach.place);
        self.scratch.count_coverage();
        step.status = Status::Failed(Fault {
            kind: FaultKind::Discipline,
            place: breach.place,
            message: breach.message,
        });
    }

    /// What a thread waits for whose next operation is on a global mutex or semaphore that
    /// is not free. The interpreter would find out the same, after copying the state; in
    /// programs with locks this is what most attempted steps come to.
    fn waits_for_lock(&self, state: &State, thread: usize) -> Option<Access> {
        let pc = state.pc(thread);
        let (object, op) = match self.program.code[pc as usize] {
            Op::Lock { mutex, .. } => (mutex, SyncOp::Acquire),
            Op::Down { semaphore } => (semaphore, SyncOp::Down),
            _ => return None,
        };
        let frames = state.frames(thread);
        let base = frames.len() - self.program.heights[pc as usize] as usize;
        let reference = frames[base + object as usize];
        let Reference::Global(cell) = Reference::of(reference) else {
            return None;
        };
        let word = state.words[cell];
        let free = match self.program.code[pc as usize] {
            Op::Lock { kind, .. } => {
                kind.is_free_for(word::thread(state.threads[thread].name), word)
            }
            _ => word > 0,
        };
        (!free).then(|| Access {
            location: word::location(reference),
            writes: false,
            kind: AccessKind::Sync(op),
            place: Place(pc),
        })
    }

    pub(crate) fn fault(&self, halt: Halt, place: Place) -> Fault {
        let (kind, message) = match halt {
            Halt::Assertion { message } => {
                let text = &self.program.messages[message as usize];
                (FaultKind::Assertion, format!("assertion failed: {text}"))
            }
            Halt::Error(trouble) => (trouble.kind(), trouble.to_string()),
            other => unreachable!("{other:?} is not a failure"),
        };
        Fault {
            kind,
            place,
            message,
        }
    }
}

/// Whether a thread fails with that.
fn is_failure(halt: Halt) -> bool {
    match halt {
        Halt::Assertion { .. } => true,
        Halt::Error(trouble) => !matches!(trouble.kind(), FaultKind::Capacity(_)),
        _ => false,
    }
}

impl System for Machine {
    type State = State;

    fn initial(&mut self) -> State {
        let mut state = State {
            words: self.program.initial.clone(),
            ..State::default()
        };
        let program = Arc::clone(&self.program);
        for (position, start) in program.hir.starts.iter().enumerate() {
            let thread = state.push_thread(Name::canonical(position));
            let arguments = start
                .arguments
                .iter()
                .map(|value| crate::compile::initial_word(*value));
            state.resize_thread(thread, header::LENGTH + start.arguments.len());
            let words = state.thread_mut(thread);
            words[header::PC] = program.functions[start.function.0 as usize].entry.into();
            words[header::TID] = position as i64;
            for (word, argument) in words[header::LENGTH..].iter_mut().zip(arguments) {
                *word = argument;
            }
        }
        let threads = state.threads.len();
        self.prologues(&mut state, 0..threads);
        self.canonicalise(&mut state);
        state
    }

    fn thread_count(&self, state: &State) -> usize {
        state.threads.len()
    }

    fn step(&mut self, state: &State, thread: Position, choice: Choice, step: &mut Step<State>) {
        let thread = thread.index();
        step.footprint.clear();
        step.changed = Changed::ALL;
        step.next_choice = None;
        self.turns = 0;
        if state.has_stopped(thread) {
            step.status = Status::Ended;
            return;
        }
        if let Some(access) = self.waits_for_lock(state, thread) {
            step.footprint.push(access);
            self.stopped_at = access.place;
            step.status = Status::Blocked { assumption: false };
            return;
        }
        step.after.clone_from(state);
        self.scratch.choices.begin(choice);
        let mut execution = Execution::of_thread(
            &self.program,
            &mut step.after,
            thread,
            Mode::Step(self.granularity),
            &mut step.footprint,
            &mut self.scratch,
        );
        let halt = execution.run();
        let place = execution.place();
        self.turns = execution.turns();
        self.stopped_at = place;
        match halt {
            Halt::Pause => execution.suspend(),
            Halt::End => execution.finish(Phase::Ended),
            Halt::Assertion { .. } | Halt::Error(_) => execution.finish(Phase::Failed),
            Halt::Block { .. } => {}
            Halt::Value(_) => unreachable!("a thread is not an expression"),
        }
        step.next_choice = self.scratch.choices.next();
        if self.enforcer.enabled {
            let breach = self.breach(state, thread, halt, step);
            let broken = breach.is_some();
            if let Some(breach) = breach {
                self.fail(state, thread, breach, step);
            }
            let taken = broken || !matches!(halt, Halt::Block { .. });
            if taken && step.after.has_stopped(thread) {
                (self.enforcer).note_end(word::thread(state.threads[thread].name));
            }
            step.footprint.append(&mut self.enforcer.looks);
            if broken {
                step.changed = Changed::ALL;
                return;
            }
        }
        if !matches!(halt, Halt::Block { .. }) {
            self.scratch.count_coverage();
        }
        step.status = match halt {
            Halt::Pause | Halt::End => Status::Moved,
            Halt::Block { assumption } => {
                // Nothing has happened: what the guard looked at was only read.
                for access in &mut step.footprint {
                    access.writes = false;
                }
                Status::Blocked { assumption }
            }
            failure => Status::Failed(self.fault(failure, place)),
        };
        if self.enforcer.enabled && self.program.rules.are_on_heap() {
            // Before new threads make objects of their own.
            let threads_before = state.threads.len();
            self.enforcer
                .note_escapes(&self.program, threads_before, &mut step.after);
        }
        step.changed = self.changed(state, thread, step);
        let spawned = state.threads.len()..step.after.threads.len();
        if !spawned.is_empty() && !matches!(halt, Halt::Block { .. }) {
            self.prologues(&mut step.after, spawned);
        }
    }

    fn canonicalise(&mut self, state: &mut State) -> Renamed {
        match self.canonicalise_with_renaming(state) {
            None => Renamed::Nothing,
            Some(_) => Renamed::Something,
        }
    }

    fn encode(&self, state: &State, packed: &mut Packed) {
        pack::encode(&self.program, state, packed);
    }

    fn encode_successor<'p>(
        &'p self,
        before: Parts<'_>,
        changed: Changed,
        state: &'p State,
        packed: &'p mut Packed,
    ) -> (Parts<'p>, Changed) {
        packed.copy_from(before);
        let changed = pack::encode_changed(&self.program, state, changed, packed);
        (packed.parts(), changed)
    }

    fn find_parts(&self, words: &[u64], state: &State, packed: &mut Packed) {
        pack::find_parts(&self.program, words, state, packed);
    }

    fn decode(&self, words: &[u64], state: &mut State) {
        pack::decode(&self.program, words, state);
    }

    fn canonicalise_following(&mut self, state: &mut State, thread: Position) -> Position {
        let Some(renaming) = self.canonicalise_with_renaming(state) else {
            return thread;
        };
        let position = renaming.threads[thread.index()].expect("it has not ended");
        Position(position as u32)
    }

    fn is_symmetric(&self) -> bool {
        self.symmetry.is_some()
    }

    fn are_interchangeable(&self, one: Position, other: Position) -> bool {
        let symmetry = self.symmetry.as_ref();
        symmetry.is_some_and(|symmetry| symmetry.joins(one.index(), other.index()))
    }

    fn represent(&mut self, state: &mut State) {
        self.represent_with_positions(state);
    }

    fn represent_following(&mut self, state: &mut State, thread: Position) -> Position {
        match self.represent_with_positions(state) {
            Some(moved_to) => Position(moved_to(thread.index()) as u32),
            None => thread,
        }
    }

    fn exchange(&mut self, state: &mut State, places: &[Position]) {
        (self.canonicaliser).exchange(&self.program, state, |_, threads| {
            for (thread, place) in places.iter().enumerate() {
                threads[place.index()] = thread;
            }
        });
    }

    fn without_symmetry(&self) -> Option<Self> {
        (self.symmetry.is_some()).then(|| self.clone().with_symmetry(false))
    }

    fn starts_threads(&self) -> bool {
        self.program.features.spawn
    }

    fn has_invariants(&self) -> bool {
        !self.program.invariants.is_empty()
    }

    fn broken_invariant(&mut self, state: &State, reads: &mut Footprint) -> Option<Fault> {
        let mut broken = None;
        for (number, &pc) in self.program.invariants.iter().enumerate() {
            self.probe.after.clone_from(state);
            let mut execution = Execution::of_expression(
                &self.program,
                &mut self.probe.after,
                None,
                &[],
                pc,
                reads,
                &mut self.scratch,
            );
            let halt = execution.run();
            let place = execution.place();
            let span = self.program.hir.invariants[number].condition.span;
            let text = self.program.source.snippet(span);
            let message = match halt {
                Halt::Value(0) => format!("invariant violated: {text}"),
                Halt::Value(_) => continue,
                Halt::Error(trouble) => format!("invariant has no value: {trouble}"),
                other => unreachable!("an invariant does not {other:?}"),
            };
            broken.get_or_insert(Fault {
                kind: FaultKind::Invariant,
                place,
                message,
            });
        }
        broken
    }

    fn absorb(&mut self, copy: &Self) {
        let covered = self.scratch.covered.iter_mut();
        for (mine, other) in covered.zip(&copy.scratch.covered) {
            *mine |= other;
        }
    }

    fn place(&self, state: &State, thread: Position) -> Place {
        Place(state.pc(thread.index()))
    }

    fn ended(&self, state: &State, thread: Position) -> bool {
        state.has_stopped(thread.index())
    }

    fn variable(&self, state: &State, location: Location) -> Variable {
        exclusive::variable(&self.program, state, location)
    }

    fn accessed_from(&self, place: Place) -> Option<Vec<Variable>> {
        if self.granularity != Granularity::Access {
            return None;
        }
        let slots = self.program.accessed_from(place.0)?;
        Some(slots.iter().map(|slot| Variable((*slot).into())).collect())
    }

    fn maker(&self, location: Location) -> Option<(Position, u64)> {
        word::maker(location)
    }

    fn guards(&self, state: &State, thread: Position, access: &Access, guards: &mut Vec<Guard>) {
        exclusive::guards(&self.program, state, thread.index(), access, guards);
        let symmetry = self.symmetry.as_ref();
        if symmetry.is_some_and(|symmetry| symmetry.has(thread.index())) {
            let own = exclusive::pseudo_lock(thread.index() as u64);
            guards.retain(|guard| *guard != own);
        }
    }

    fn holds(&self, state: &State, thread: Position, lock: Location) -> bool {
        exclusive::holds(&self.program, state, thread.index(), lock)
    }

    fn held_locks(&self, state: &State, thread: Position, locks: &mut Vec<Location>) {
        exclusive::held_locks(&self.program, state, thread.index(), locks);
    }

    fn owns(&mut self, state: &State, thread: Position, location: Location) -> bool {
        self.enforcer
            .owns(&self.program, state, thread.index(), location)
    }

    fn declared(
        &mut self,
        state: &State,
        thread: Position,
        access: &Access,
        reads: &mut Footprint,
    ) -> Option<bool> {
        self.enforcer
            .declared(&self.program, state, thread.index(), access, reads)
    }

    fn is_crowded(&self, state: &State) -> bool {
        state.objects.len() > CROWD
    }

    fn can_be_joined(&self, state: &State, thread: Position) -> bool {
        state.thread(thread.index())[header::PARENT] != word::NULL
    }

    fn failed(&self, state: &State) -> bool {
        let failed = |phase| matches!(phase, Phase::Failed | Phase::FailedAtStart);
        (0..state.threads.len()).any(|thread| failed(state.phase(thread)))
    }

    fn failed_starts(&mut self, state: &State) -> Vec<(Position, Fault)> {
        let failed = |thread: &usize| state.phase(*thread) == Phase::FailedAtStart;
        let failed: Vec<usize> = (0..state.threads.len()).filter(failed).collect();
        // What it did then was local, so it does the same now.
        let again = failed.into_iter().map(|thread| {
            self.probe.after.clone_from(state);
            self.probe.footprint.clear();
            let mut execution = Execution::of_thread(
                &self.program,
                &mut self.probe.after,
                thread,
                Mode::Prologue,
                &mut self.probe.footprint,
                &mut self.scratch,
            );
            let (halt, place) = (execution.run(), execution.place());
            (Position(thread as u32), self.fault(halt, place))
        });
        again.collect()
    }

    fn thread_name(&self, state: &State, thread: Position) -> u64 {
        let parent = state.thread(thread.index())[header::PARENT];
        let Reference::Thread(name) = Reference::of(parent) else {
            return thread.0.into();
        };
        // A path in the tree of who spawned whom: siblings keep their order.
        let parent_position = state.find_thread(name).expect("references are valid");
        let elder = (0..thread.index())
            .filter(|other| state.thread(*other)[header::PARENT] == parent)
            .count();
        let of_parent = self.thread_name(state, Position(parent_position as u32));
        let siblings = MAX_THREADS as u64;
        of_parent
            .wrapping_mul(siblings)
            .wrapping_add(elder as u64 + siblings)
    }
}
