//! Executions in words: what each step did, for people.

mod phrases;

use raddle_explore::{
    Access, AccessKind, Action, Choice, Fault, Location, Place, Position, Status, Step, System,
};
use raddle_lang::Span;
use raddle_lang::hir::Type;
use raddle_report::story::{Change, Event, Spot};

use crate::exclusive::NOWHERE;
use crate::machine::Machine;
use crate::names::Names;
use crate::state::{Phase, State};
use crate::word;

/// Follows an execution and tells what happens.
///
/// Threads keep their lane for good, also when the machine renumbers them, and heap
/// objects their name.
#[derive(Clone, Debug)]
pub struct Narrator {
    machine: Machine,
    state: State,
    names: Names,
    /// The lane of every thread, by position.
    lanes: Vec<usize>,
    /// The names of all threads that ever were, by lane.
    all_threads: Vec<String>,
    objects_made: usize,
    /// Whether threads and objects keep their places in the state.
    keeps_places: bool,
}

/// What became of a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Told {
    /// It was taken.
    Moved(Event),
    /// It failed.
    Failed(Event, Fault),
    /// It could not be taken: the schedule does not fit the program.
    Impossible,
}

/// A variable and its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shown {
    /// Its name; variables of a thread have the thread's name before them.
    pub name: String,
    /// Its value.
    pub value: String,
    /// Whether other threads can see it.
    pub shared: bool,
    /// The call that a local variable belongs to; the outermost one is 0.
    pub frame: usize,
}

impl Narrator {
    /// Starts in the initial state.
    #[must_use]
    pub fn new(mut machine: Machine) -> Self {
        let state = machine.initial();
        let starts = &machine.program().hir.starts;
        let threads: Vec<String> = starts.iter().map(|start| start.name.clone()).collect();
        let mut narrator = Self {
            lanes: (0..threads.len()).collect(),
            all_threads: threads.clone(),
            names: Names {
                threads,
                objects: Vec::new(),
            },
            machine,
            state,
            objects_made: 0,
            keeps_places: false,
        };
        narrator.name_new_objects();
        narrator
    }

    /// Never brings the state into canonical form: positions of threads are those of executions in which nobody does, and so are the words of references.
    #[must_use]
    pub fn keeping_places(mut self) -> Self {
        self.keeps_places = true;
        self
    }

    /// Puts another word at a shared location, and gives the one that was there.
    pub fn replace_word(&mut self, location: Location, word: i64) -> i64 {
        let old = self.state.word(location);
        self.state.set_word(location, word);
        old
    }

    /// The word at a shared location.
    #[must_use]
    pub fn word_at(&self, location: Location) -> i64 {
        self.state.word(location)
    }

    /// What a shared location is called.
    #[must_use]
    pub fn name_at(&self, location: Location) -> String {
        let program = self.machine.program();
        program.name_of(&self.state, &self.names, word::reference(location))
    }

    /// How a word is shown, if it is at a shared location.
    #[must_use]
    pub fn show_at(&self, location: Location, word: i64) -> String {
        let program = self.machine.program();
        let cell = program.cell_of(&self.state, word::reference(location));
        let leaf = cell.and_then(|cell| program.leaf_at(&self.state, &self.names, cell));
        let shown = leaf.filter(|leaf| program.hir.slots(leaf.ty) == 1);
        match shown {
            Some(leaf) => program.show(&self.state, &self.names, leaf.ty, &[word]),
            None => word.to_string(),
        }
    }

    /// The state that the execution is in.
    #[must_use]
    pub fn state(&self) -> &State {
        &self.state
    }

    /// The machine that runs it.
    pub fn machine(&mut self) -> &mut Machine {
        &mut self.machine
    }

    /// The names of all threads so far, by lane.
    #[must_use]
    pub fn threads(&self) -> &[String] {
        &self.all_threads
    }

    /// The lane of a thread of the current state.
    #[must_use]
    pub fn lane(&self, thread: Position) -> usize {
        self.lanes[thread.index()]
    }

    /// The thread of the current state that has a lane, if it still exists.
    #[must_use]
    pub fn thread_in_lane(&self, lane: usize) -> Option<Position> {
        let position = self.lanes.iter().position(|of| *of == lane);
        position.map(|position| Position(position as u32))
    }

    /// The moves that are possible now. Of a thread with very many alternatives, only the first
    /// few thousand are listed.
    #[must_use]
    pub fn possible(&mut self) -> Vec<Action> {
        let mut moves = Vec::new();
        self.for_each_alternative(|step_move, step| {
            if matches!(step.status, Status::Moved | Status::Failed(_)) {
                moves.push(step_move);
            }
        });
        moves
    }

    /// The threads that are blocked, whatever they choose.
    #[must_use]
    pub fn blocked(&mut self) -> Vec<Position> {
        let mut blocked = self.threads_whose_steps_all(|status| {
            matches!(status, Status::Blocked { .. } | Status::Ended)
        });
        blocked.retain(|thread| !self.state.has_stopped(thread.index()));
        blocked
    }

    /// Whether some thread is blocked at assumptions, whatever it chooses.
    #[must_use]
    pub fn is_cut(&mut self) -> bool {
        let at_assumptions = |status: &Status| *status == Status::Blocked { assumption: true };
        !self.threads_whose_steps_all(at_assumptions).is_empty()
    }

    fn threads_whose_steps_all(&mut self, test: impl Fn(&Status) -> bool) -> Vec<Position> {
        let mut holds = vec![true; self.state.threads.len()];
        self.for_each_alternative(|step_move, step| {
            holds[step_move.thread.index()] &= test(&step.status);
        });
        let threads = holds.iter().enumerate().filter(|(_, holds)| **holds);
        threads.map(|(thread, _)| Position(thread as u32)).collect()
    }

    /// Calls `visit` for every alternative of every thread, up to a limit for each thread.
    fn for_each_alternative(&mut self, mut visit: impl FnMut(Action, &Step<State>)) {
        const MOST: usize = 4096;
        let mut step = Step::default();
        for thread in 0..self.state.threads.len() {
            let thread = Position(thread as u32);
            let mut next = Some(Choice::FIRST);
            for _ in 0..MOST {
                let Some(choice) = next else { break };
                self.machine.step(&self.state, thread, choice, &mut step);
                visit(Action { thread, choice }, &step);
                next = step.next_choice;
            }
        }
    }

    /// Two accesses that are about to race, if there are any.
    #[must_use]
    pub fn race(&mut self) -> Option<[(Position, Access); 2]> {
        let mut next: Vec<(Position, Access)> = Vec::new();
        self.for_each_alternative(|step_move, step| {
            if matches!(step.status, Status::Moved | Status::Failed(_)) {
                let plain = step
                    .footprint
                    .iter()
                    .filter(|a| a.kind == AccessKind::Plain);
                next.extend(plain.map(|access| (step_move.thread, *access)));
            }
        });
        next.iter().enumerate().find_map(|(index, first)| {
            let mut later = next[index + 1..].iter();
            let second =
                later.find(|second| first.0 != second.0 && first.1.conflicts_with(&second.1))?;
            Some([*first, *second])
        })
    }

    /// Where the thread of a lane is; `None` if it has ended.
    #[must_use]
    pub fn whereabouts(&self, lane: usize) -> Option<Spot> {
        let thread = self.thread_in_lane(lane)?;
        if self.state.phase(thread.index()) == Phase::Ended {
            return None;
        }
        Some(self.statement_spot(self.machine.place(&self.state, thread)))
    }

    /// Takes a step.
    pub fn step(&mut self, step_move: Action) -> Told {
        self.take(step_move, true)
    }

    /// Takes a step, and tells only who moves where. To find out what it does, which variables have
    /// other values then and which locks the thread holds takes as long as there are variables.
    pub fn step_in_brief(&mut self, step_move: Action) -> Told {
        self.take(step_move, false)
    }

    fn take(&mut self, step_move: Action, with_values: bool) -> Told {
        let thread = step_move.thread;
        if thread.index() >= self.state.threads.len() {
            return Told::Impossible;
        }
        let mut step = Step::default();
        self.machine
            .step(&self.state, thread, step_move.choice, &mut step);
        step.footprint.retain(|access| access.place != NOWHERE);
        let fault = match step.status {
            Status::Moved => None,
            Status::Failed(ref fault) => Some(fault.clone()),
            Status::Blocked { .. } | Status::Ended => return Told::Impossible,
        };
        let place = step.footprint.first().map_or_else(
            || self.machine.place(&self.state, thread),
            |access| access.place,
        );
        self.name_new_threads(&step.after);
        let action = match with_values {
            true => self.action(step_move, place, &step),
            false => "moves".to_owned(),
        };
        let before = with_values.then(|| self.values());
        let lane = self.lanes[thread.index()];
        self.state = step.after;
        self.name_new_objects();
        let (changes, holds) = match before {
            None => (Vec::new(), Vec::new()),
            Some(before) => (
                self.changes_since(&before, thread),
                self.holds(thread.index()),
            ),
        };
        let at = self.statement_spot(place);
        self.rename();
        let event = Event {
            thread: lane,
            at,
            action,
            changes,
            holds,
            ..Event::default()
        };
        match fault {
            None => Told::Moved(event),
            Some(fault) => Told::Failed(event, fault),
        }
    }

    /// What a step of a thread has changed.
    fn changes_since(&self, before: &[Shown], thread: Position) -> Vec<Change> {
        let mut changes = changes(before, &self.values());
        // Its own variables need no name before them; those of a new thread are no news.
        let own = format!("{}: ", self.names.threads[thread.index()]);
        changes.retain_mut(|change| {
            if let Some(name) = change.name.strip_prefix(&own) {
                change.name = name.to_owned();
                return true;
            }
            change.shared
        });
        changes
    }

    fn name_new_threads(&mut self, after: &State) {
        let program = self.machine.program();
        for position in self.names.threads.len()..after.threads.len() {
            let outermost = program.frames(after, position).last().map(|(pc, _)| *pc);
            let pc = outermost.unwrap_or_else(|| after.pc(position));
            let function = program
                .function_at(pc)
                .map_or("thread", |f| f.name.as_str());
            let taken = self.all_threads.iter();
            let namesakes = taken
                .filter(|name| name.split(['#', '[']).next() == Some(function))
                .count();
            let name = match namesakes {
                0 => function.to_owned(),
                n => format!("{function}#{}", n + 1),
            };
            self.lanes.push(self.all_threads.len());
            self.all_threads.push(name.clone());
            self.names.threads.push(name);
        }
    }

    fn name_new_objects(&mut self) {
        let program = self.machine.program();
        for object in &self.state.objects[self.names.objects.len()..] {
            self.objects_made += 1;
            let ty = program
                .hir
                .type_name(&program.layouts[object.layout as usize].ty);
            self.names
                .objects
                .push(format!("{ty}#{}", self.objects_made));
        }
    }

    /// Brings the state into canonical form, and the names with it.
    fn rename(&mut self) {
        if self.keeps_places {
            return;
        }
        let mut state = std::mem::take(&mut self.state);
        if let Some(renaming) = self.machine.canonicalise_with_renaming(&mut state) {
            let names = &mut self.names;
            names.threads = renamed(&renaming.threads, &names.threads);
            self.lanes = renamed(&renaming.threads, &self.lanes);
            names.objects = renamed(&renaming.objects, &names.objects);
        }
        self.state = state;
    }

    /// A place in the source.
    #[must_use]
    pub fn spot(&self, span: Span) -> Spot {
        let source = self.machine.program().source();
        let at = source.line_column(span.start);
        Spot {
            file: source.name.clone(),
            line: at.line,
            column: at.column,
            text: one_line(source.snippet(span)),
        }
    }

    /// The statement that a place of the program belongs to.
    #[must_use]
    pub fn statement_spot(&self, place: Place) -> Spot {
        let program = self.machine.program();
        let statement = program.statement(place);
        // The end of a thread belongs to no statement.
        if statement == Span::default() {
            self.spot_of(place)
        } else {
            self.spot(statement)
        }
    }

    /// The place that a place of the program stands for.
    #[must_use]
    pub fn spot_of(&self, place: Place) -> Spot {
        self.spot(self.machine.program().span(place))
    }

    /// All variables and their values.
    #[must_use]
    pub fn values(&self) -> Vec<Shown> {
        let program = self.machine.program();
        let mut values = Vec::new();
        program.shared_leaves(&self.state, &self.names, &mut |leaf| {
            // Who holds a lock is told otherwise.
            let lock = matches!(leaf.ty, Type::Mutex { .. } | Type::RwLock | Type::Cond);
            if !lock {
                let slots = program.hir.slots(leaf.ty) as usize;
                let words = &self.state.words[leaf.offset..leaf.offset + slots];
                values.push(Shown {
                    value: program.show(&self.state, &self.names, leaf.ty, words),
                    name: leaf.name,
                    shared: true,
                    frame: 0,
                });
            }
        });
        for thread in 0..self.state.threads.len() {
            self.local_values(thread, &mut values);
        }
        values
    }

    fn local_values(&self, thread: usize, values: &mut Vec<Shown>) {
        let program = self.machine.program();
        // Outermost first, so that a frame has the same number as long as it exists.
        let frames = program.frames(&self.state, thread).into_iter().rev();
        for (frame, (pc, registers)) in frames.enumerate() {
            for variable in program.variables_at(pc) {
                let name = format!("{}: {}", self.names.threads[thread], variable.name);
                let declared_at = program.declared_at(variable);
                let first = variable.register as usize;
                program.leaves(&name, &variable.ty, first, &mut |leaf| {
                    let slots = program.hir.slots(leaf.ty) as usize;
                    // During a call, a variable that is being initialised is not there yet.
                    let Some(words) = registers.get(leaf.offset..leaf.offset + slots) else {
                        return;
                    };
                    values.push(Shown {
                        value: program.show(&self.state, &self.names, leaf.ty, words),
                        name: leaf.name + &declared_at,
                        shared: false,
                        frame,
                    });
                });
            }
        }
    }

    /// The locks that a thread holds.
    fn holds(&self, thread: usize) -> Vec<String> {
        let program = self.machine.program();
        let me = word::thread(self.state.threads[thread].name);
        let mut holds = Vec::new();
        program.shared_leaves(&self.state, &self.names, &mut |leaf| {
            let lock = matches!(leaf.ty, Type::Mutex { .. } | Type::RwLock);
            if lock && self.state.words[leaf.offset] == me {
                holds.push(leaf.name);
            }
        });
        for &hold in self.state.read_holds(thread) {
            let name = program.name_of(&self.state, &self.names, hold);
            holds.push(format!("{name} (reading)"));
        }
        holds
    }
}

/// The reference to the location of an access.
fn reference_of(access: &Access) -> i64 {
    word::reference(access.location)
}

fn renamed<T: Clone + Default>(new_positions: &[Option<usize>], old: &[T]) -> Vec<T> {
    let count = new_positions.iter().flatten().count();
    let mut new = vec![T::default(); count];
    for (value, position) in old.iter().zip(new_positions) {
        if let Some(position) = position {
            new[*position] = value.clone();
        }
    }
    new
}

/// What is different afterwards. Both lists are in the same order, but for
/// variables that come and go.
fn changes(before: &[Shown], after: &[Shown]) -> Vec<Change> {
    let key = |shown: &Shown| (shown.frame, shown.name.clone());
    let old: std::collections::HashMap<_, &str> = before
        .iter()
        .map(|shown| (key(shown), shown.value.as_str()))
        .collect();
    after
        .iter()
        .filter_map(|shown| {
            let earlier = old.get(&key(shown)).copied();
            (earlier != Some(&shown.value)).then(|| Change {
                name: shown.name.clone(),
                before: earlier.map(str::to_owned),
                after: shown.value.clone(),
                shared: shown.shared,
            })
        })
        .collect()
}

/// A piece of source text on one line, comments and all.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
