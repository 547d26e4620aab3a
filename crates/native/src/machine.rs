//! [`NativeMachine`]: a program as a system whose states are packed words.

mod making;

use std::sync::Arc;

use raddle_explore::{
    Access, Batch, Changed, Choice, Fault, Footprint, Guard, Location, Packed, Parts, Place,
    Position, Renamed, Step, Successors, System, Unseen, Variable,
};
use raddle_machine::native::{
    Field, Layout, Spawned, Stop, code_of, lock_slots, pseudo_lock, thread_word,
};
use raddle_machine::{Machine, State, Symmetry};

use crate::disciplines::Disciplines;
use crate::objects::{self, Walk};
use crate::report::{Interpreted, Report};
use crate::steps::Native;
use crate::{Code, PackedState};

/// Runs a program by native code where there is some, and by the interpreter otherwise.
///
/// ```
/// use std::sync::Arc;
/// use raddle_explore::{Choice, Position, Status, Step, System};
/// use raddle_lang::Source;
/// use raddle_machine::{Granularity, Machine};
/// use raddle_native::{Code, NativeMachine};
///
/// let source = Source::new("hello.rad", "int x; void main() { x = 1; assert(x == 1); }");
/// let (program, problems) = raddle_machine::load(source);
/// assert!(problems.is_empty());
/// let program = Arc::new(program.unwrap());
/// let code = Code::compile(&program).map(Arc::new);
/// let mut machine = NativeMachine::new(Machine::new(program, Granularity::Access), code);
/// let mut step = Step::default();
/// let before = machine.initial();
/// machine.step(&before, Position(0), Choice::FIRST, &mut step);
/// assert_eq!(step.status, Status::Moved);
/// ```
#[derive(Clone, Debug)]
pub struct NativeMachine {
    interpreter: Machine,
    native: Option<Native>,
    /// For canonical names, if there is a heap.
    walk: Option<Walk>,
    /// Where states are, if they have the common size.
    layout: Option<Arc<Layout>>,
    /// Where the locks are in these, by slot.
    locks: Arc<[(u32, Field)]>,
    /// The codes of the names of threads, in one byte and in two.
    names: Arc<[[Option<u16>; 2]]>,
    /// The threads that may be exchanged, if the search is to make use of that.
    symmetry: Option<Symmetry>,
    /// The disciplines that are enforced, if some are and native code may be executed.
    disciplines: Option<Arc<Disciplines>>,
    /// What the interpreter is given.
    step: Step<State>,
    packed: Packed,
    steps: u64,
    interpreted: Interpreted,
}

impl NativeMachine {
    /// A machine that makes the steps of another one, by native code as far as possible.
    #[must_use]
    pub fn new(interpreter: Machine, code: Option<Arc<Code>>) -> Self {
        let program = interpreter.program();
        let layout = Layout::of(program).map(Arc::new);
        let checked = || Disciplines::of(&interpreter, layout.as_deref()?);
        let disciplines = match interpreter.enforces_disciplines() {
            false => None,
            true => checked().map(Arc::new),
        };
        let is_native = interpreter.makes_plain_steps()
            && disciplines.is_some() == interpreter.enforces_disciplines();
        let code = code.filter(|_| is_native);
        let locks = layout.iter().flat_map(|layout| {
            let slots = lock_slots(program).iter();
            slots.map(|slot| (*slot, layout.slots[*slot as usize]))
        });
        let locks: Arc<[(u32, Field)]> = locks.collect();
        let threads = 0..layout.as_ref().map_or(0, |layout| layout.most_threads());
        let names = threads.map(|thread| {
            let name = thread_word(thread);
            [false, true].map(|wide| code_of(name, wide))
        });
        Self {
            names: names.collect(),
            symmetry: interpreter.symmetry().cloned(),
            disciplines,
            walk: (layout.as_deref())
                .filter(|layout| layout.heap.is_some())
                .map(Walk::new),
            layout,
            native: code.map(|code| Native::new(code, !locks.is_empty())),
            locks,
            interpreter,
            step: Step::default(),
            packed: Packed::default(),
            steps: 0,
            interpreted: Interpreted::default(),
        }
    }

    /// The interpreter, which knows what was executed.
    #[must_use]
    pub fn interpreter(&self) -> &Machine {
        &self.interpreter
    }

    /// The interpreter, which knows what was executed.
    #[must_use]
    pub fn into_interpreter(self) -> Machine {
        self.interpreter
    }

    /// What was executed by native code, if there is some.
    #[must_use]
    pub fn report(&self) -> Option<Report> {
        let native = self.native.as_ref()?;
        Some(Report {
            places: native.code.places,
            not_compiled: native.code.not_compiled,
            steps: self.steps,
            interpreted: self.interpreted,
        })
    }

    /// Why there can be no native code for this program or these steps, if that is so.
    #[must_use]
    pub fn why_there_is_none(&self) -> Option<&'static str> {
        match &self.layout {
            None => Some(
                "functions have very many variables, or there are very many reader-writer locks or types of objects",
            ),
            Some(_) if !self.interpreter.makes_plain_steps() => Some("statements are steps"),
            Some(_) if self.interpreter.enforces_disciplines() && self.disciplines.is_none() => {
                Some("a discipline is broken from the start")
            }
            Some(_) => None,
        }
    }

    /// The layout of a state, if it is packed and has the common size.
    #[inline]
    fn layout_of(&self, state: &PackedState) -> Option<&Layout> {
        let layout = self.layout.as_deref()?;
        (state.is_packed && layout.fits(&state.words)).then_some(layout)
    }

    /// Where a thread is, if that can be seen in the words of the state.
    #[inline]
    fn stop(&self, state: &PackedState, thread: Position) -> Option<Stop> {
        let layout = self.layout_of(state)?;
        let number = layout.stop_number(&state.words, thread.index());
        layout.stops.get(number).copied()
    }

    /// The slots of the locks that a thread has taken, if that can be seen in the words of the state.
    #[inline]
    fn taken_locks(
        &self,
        state: &PackedState,
        thread: Position,
    ) -> Option<impl Iterator<Item = u32>> {
        // Objects have locks too.
        self.layout_of(state)
            .filter(|layout| layout.heap.is_none())?;
        let [narrow, wide] = self.names[thread.index()];
        let locks = self.locks.iter();
        Some(locks.filter_map(move |(slot, field)| {
            let mine = if field.wide { wide } else { narrow };
            (Some(Layout::code(*field, &state.words)) == mine).then_some(*slot)
        }))
    }

    /// The number of a thread that no other ever has, if that is so, in a state where it can be seen in the words.
    #[inline]
    fn lasting_number(&self, state: &PackedState, thread: usize) -> Option<usize> {
        let layout = self.layout_of(state)?;
        if thread < layout.run_threads() {
            return Some(thread);
        }
        let tid = layout.spawned.as_ref()?.tid?;
        Some(layout.word_in_area(&state.words, thread, tid) as usize)
    }

    /// The slots of the locks that a thread has taken for reading, of a state where that can be seen in the words.
    #[inline]
    fn read_holds(&self, state: &PackedState, thread: Position) -> impl Iterator<Item = u32> {
        let layout = self.layout_of(state).into_iter();
        layout.flat_map(move |layout| layout.read_holds(&state.words, thread.index()))
    }
}

impl System for NativeMachine {
    type State = PackedState;

    fn initial(&mut self) -> PackedState {
        let initial = self.interpreter.initial();
        self.interpreter.encode(&initial, &mut self.packed);
        let mut state = PackedState::default();
        state.set_words(self.packed.words());
        state
    }

    #[inline]
    fn thread_count(&self, state: &PackedState) -> usize {
        match (&self.layout, self.layout_of(state)) {
            (Some(layout), _) if layout.spawned.is_none() => layout.run_threads(),
            (_, Some(layout)) => layout.threads(&state.words),
            _ => (self.interpreter).thread_count(&state.unpacked(&self.interpreter)),
        }
    }

    #[inline]
    fn step(
        &mut self,
        state: &PackedState,
        thread: Position,
        choice: Choice,
        step: &mut Step<PackedState>,
    ) {
        self.steps += 1;
        step.footprint.clear();
        step.next_choice = None;
        if let Err(why) = self.step_natively(state, thread.index(), choice, step) {
            self.interpreted.count(why);
            self.interpret(state, thread, choice, step);
        }
    }

    fn successors(&mut self, batch: &mut Batch, unseen: Unseen<'_>) -> Option<Successors> {
        let native = self.native.as_mut()?;
        let before = batch.len();
        let disciplines = self.disciplines.as_deref();
        let steps = native.add_successors(batch, unseen, self.symmetry.as_mut(), disciplines);
        if steps.is_none() {
            batch.truncate(before);
        }
        let steps = steps?;
        self.steps += steps.moved + steps.blocked + steps.ended;
        Some(steps)
    }

    fn accessed_from(&self, place: Place) -> Option<Vec<Variable>> {
        self.interpreter.accessed_from(place)
    }

    #[inline]
    fn canonicalise(&mut self, state: &mut PackedState) -> Renamed {
        if let Some(renamed) = self.canonicalise_words(state) {
            return renamed;
        }
        let unpacked = state.unpacked_mut(&self.interpreter);
        let renamed = self.interpreter.canonicalise(unpacked);
        self.pack(state);
        renamed
    }

    fn canonicalise_following(&mut self, state: &mut PackedState, thread: Position) -> Position {
        if self.canonicalise_words(state).is_some() {
            return thread;
        }
        let unpacked = state.unpacked_mut(&self.interpreter);
        let thread = self.interpreter.canonicalise_following(unpacked, thread);
        self.pack(state);
        thread
    }

    #[inline]
    fn is_symmetric(&self) -> bool {
        self.symmetry.is_some()
    }

    fn are_interchangeable(&self, one: Position, other: Position) -> bool {
        self.interpreter.are_interchangeable(one, other)
    }

    fn represent(&mut self, state: &mut PackedState) {
        self.represent_following(state, Position(0));
    }

    fn represent_following(&mut self, state: &mut PackedState, thread: Position) -> Position {
        let is_fixed = self.layout_of(state).is_some();
        match &mut self.symmetry {
            None => thread,
            Some(symmetry) if is_fixed && symmetry.exchanges_words() => {
                symmetry.represent(state.words_mut());
                Position(symmetry.moved_to(thread.index()) as u32)
            }
            Some(_) => {
                let unpacked = state.unpacked_mut(&self.interpreter);
                let thread = self.interpreter.represent_following(unpacked, thread);
                self.pack(state);
                thread
            }
        }
    }

    fn exchange(&mut self, state: &mut PackedState, places: &[Position]) {
        let unpacked = state.unpacked_mut(&self.interpreter);
        self.interpreter.exchange(unpacked, places);
    }

    fn without_symmetry(&self) -> Option<Self> {
        let interpreter = self.interpreter.without_symmetry()?;
        Some(Self {
            interpreter,
            symmetry: None,
            ..self.clone()
        })
    }

    fn encode(&self, state: &PackedState, packed: &mut Packed) {
        match self.layout_of(state) {
            Some(layout) if layout.heap.is_some() => {
                objects::find_parts(layout, &state.words, packed);
            }
            Some(layout) => packed.copy_from(Parts {
                words: &state.words,
                ends: layout.ends(&state.words),
            }),
            None => (self.interpreter).encode(&state.unpacked(&self.interpreter), packed),
        }
    }

    #[inline]
    fn encode_successor<'p>(
        &'p self,
        before: Parts<'_>,
        changed: Changed,
        state: &'p PackedState,
        packed: &'p mut Packed,
    ) -> (Parts<'p>, Changed) {
        if let Some(layout) = self.layout_of(state) {
            let words = &*state.words;
            // One that was not of the fixed size has other parts.
            let changed = match layout.fits(before.words) && before.words.len() == words.len() {
                true => changed,
                false => Changed::ALL,
            };
            if layout.heap.is_some() {
                objects::find_parts(layout, words, packed);
                return (packed.parts(), changed);
            }
            let ends = layout.ends(words);
            return (Parts { words, ends }, changed);
        }
        let changed = self.encode_unpacked(before, changed, state, packed);
        (packed.parts(), changed)
    }

    fn find_parts(&self, words: &[u64], state: &PackedState, packed: &mut Packed) {
        match self.layout_of(state) {
            Some(layout) if layout.heap.is_some() => objects::find_parts(layout, words, packed),
            Some(layout) => packed.copy_from(Parts {
                words,
                ends: layout.ends(words),
            }),
            None => {
                let unpacked = state.unpacked(&self.interpreter);
                self.interpreter.find_parts(words, &unpacked, packed);
            }
        }
    }

    #[inline]
    fn decode(&self, words: &[u64], state: &mut PackedState) {
        state.set_words(words);
    }

    fn broken_invariant(&mut self, state: &PackedState, reads: &mut Footprint) -> Option<Fault> {
        if !self.interpreter.has_invariants() {
            return None;
        }
        let unpacked = state.unpacked(&self.interpreter);
        self.interpreter.broken_invariant(&unpacked, reads)
    }

    #[inline]
    fn has_invariants(&self) -> bool {
        self.interpreter.has_invariants()
    }

    fn failed_starts(&mut self, state: &PackedState) -> Vec<(Position, Fault)> {
        let unpacked = state.unpacked(&self.interpreter);
        self.interpreter.failed_starts(&unpacked)
    }

    #[inline]
    fn starts_threads(&self) -> bool {
        self.interpreter.starts_threads()
    }

    fn failed(&self, state: &PackedState) -> bool {
        let Some(layout) = self.layout_of(state) else {
            return self.interpreter.failed(&state.unpacked(&self.interpreter));
        };
        (0..layout.threads(&state.words)).any(|thread| {
            let stop = self.stop(state, Position(thread as u32));
            stop.is_none_or(|stop| matches!(stop, Stop::Stopped(_, true)))
        })
    }

    #[inline]
    fn ended(&self, state: &PackedState, thread: Position) -> bool {
        match self.stop(state, thread) {
            Some(stop) => matches!(stop, Stop::Stopped(..)),
            None => (self.interpreter).ended(&state.unpacked(&self.interpreter), thread),
        }
    }

    #[inline]
    fn variable(&self, state: &PackedState, location: Location) -> Variable {
        match &self.layout {
            // There is nothing but globals; and the ends of threads, where disciplines are enforced.
            Some(layout) if location.0 < layout.slots.len() as u64 => Variable(location.0),
            _ => (self.interpreter).variable(&state.unpacked(&self.interpreter), location),
        }
    }

    fn maker(&self, location: Location) -> Option<(Position, u64)> {
        self.interpreter.maker(location)
    }

    #[inline]
    fn guards(
        &self,
        state: &PackedState,
        thread: Position,
        access: &Access,
        guards: &mut Vec<Guard>,
    ) {
        if let Some(locks) = self.taken_locks(state, thread) {
            guards.extend(locks.map(|slot| Guard(slot.into())));
            if !access.writes {
                guards.extend((self.read_holds(state, thread)).map(|slot| Guard(slot.into())));
            }
            let symmetry = self.symmetry.as_ref();
            let is_exchanged = symmetry.is_some_and(|symmetry| symmetry.has(thread.index()));
            let number = self.lasting_number(state, thread.index());
            guards.extend((number.filter(|_| !is_exchanged)).map(pseudo_lock));
            return;
        }
        let unpacked = state.unpacked(&self.interpreter);
        self.interpreter.guards(&unpacked, thread, access, guards);
    }

    #[inline]
    fn holds(&self, state: &PackedState, thread: Position, lock: Location) -> bool {
        match self.taken_locks(state, thread) {
            Some(mut locks) => locks.any(|slot| u64::from(slot) == lock.0),
            None => (self.interpreter).holds(&state.unpacked(&self.interpreter), thread, lock),
        }
    }

    fn held_locks(&self, state: &PackedState, thread: Position, locks: &mut Vec<Location>) {
        if let Some(taken) = self.taken_locks(state, thread) {
            locks.extend(taken.map(|slot| Location(slot.into())));
            locks.extend((self.read_holds(state, thread)).map(|slot| Location(slot.into())));
            return;
        }
        let unpacked = state.unpacked(&self.interpreter);
        self.interpreter.held_locks(&unpacked, thread, locks);
    }

    #[inline]
    fn can_be_joined(&self, state: &PackedState, thread: Position) -> bool {
        // Only spawned threads can.
        match &self.layout {
            Some(layout) => thread.index() >= layout.run_threads(),
            None => (self.interpreter).can_be_joined(&state.unpacked(&self.interpreter), thread),
        }
    }

    #[inline]
    fn is_crowded(&self, state: &PackedState) -> bool {
        // Packed states have few objects.
        (self.layout.as_deref()).is_none_or(|layout| layout.heap.is_some())
            && self.layout_of(state).is_none()
            && (self.interpreter).is_crowded(&state.unpacked(&self.interpreter))
    }

    #[inline]
    fn owns(&mut self, state: &PackedState, thread: Position, location: Location) -> bool {
        // Globals belong to everybody there is, or was.
        if let Some(layout) = (self.layout_of(state)).filter(|layout| layout.heap.is_none()) {
            let is_alone = layout.threads(&state.words) == 1;
            let has_spawned =
                |spawned: &Spawned| layout.word_in_area(&state.words, 0, spawned.children) != 0;
            return is_alone && !layout.spawned.as_ref().is_some_and(has_spawned);
        }
        let unpacked = state.unpacked(&self.interpreter);
        self.interpreter.owns(&unpacked, thread, location)
    }

    #[inline]
    fn declared(
        &mut self,
        state: &PackedState,
        thread: Position,
        access: &Access,
        reads: &mut Footprint,
    ) -> Option<bool> {
        if !self.interpreter.enforces_disciplines() {
            return None;
        }
        if let (Some(disciplines), Some(layout)) = (&self.disciplines, self.layout_of(state)) {
            let (location, writes) = (access.location.0, access.writes);
            let words = &state.words;
            if let Ok(allowed) = disciplines.allows(layout, words, thread.index(), location, writes)
            {
                return allowed;
            }
        }
        let unpacked = state.unpacked(&self.interpreter);
        (self.interpreter).declared(&unpacked, thread, access, reads)
    }

    #[inline]
    fn place(&self, state: &PackedState, thread: Position) -> Place {
        match self.stop(state, thread) {
            Some(stop) => Place(stop.pc()),
            None => (self.interpreter).place(&state.unpacked(&self.interpreter), thread),
        }
    }

    #[inline]
    fn thread_name(&self, state: &PackedState, thread: Position) -> u64 {
        match &self.layout {
            Some(layout) if thread.index() < layout.run_threads() => thread.0.into(),
            _ => (self.interpreter).thread_name(&state.unpacked(&self.interpreter), thread),
        }
    }

    fn absorb(&mut self, copy: &Self) {
        self.interpreter.absorb(&copy.interpreter);
        self.steps += copy.steps;
        self.interpreted.add(&copy.interpreted);
    }
}
