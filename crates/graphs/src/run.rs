//! [`Run`]: a `.rad` program as a [`Program`] of the memory model.
//!
//! All threads are in one state of the machine, and a step of a thread touches its own part and one shared word. Before a step that reads, the word is set to what the
//! explorer says is read; what other words hold does not matter, because the step looks at none of them. So threads are independent of each other but for what
//! the graph says.
//!
//! - **Events** are the accesses of shared memory, plain ones too, operations on locks and semaphores, fences, choices, starts of threads, and joins. Everything else is
//!   *silent*: it is done at once, since it touches nothing shared.
//! - **Plain accesses** are relaxed events, and each is checked for [races](crate::races). A race is undefined behaviour, so the exploration ends with the first one. In a
//!   program without races they cost no graphs: a plain read that could read from two writes races with one of them, and so do two plain
//!   writes that could be put in either order. That is why accesses of one location may be plain and atomic. Under sequential consistency, where the language gives all
//!   interleavings of plain accesses a meaning, they are as good as atomic.
//! - **Conditions** (`await`, `assume`) and atomic blocks make one access, or are refused: several accesses at once have no meaning in a memory model of single locations. A thread
//!   at an `await` that does not hold spins, one at such an `assume` is infeasible. Both have read something, and are tried with everything else that
//!   they could have read.
//! - **Loops**: see [`spin`](crate::spin).
//!
//! Whatever else a program does is refused when a thread gets there.

use raddle_explore::{Choice, Fault, Location as Address, Place, Position, Status, Step, System};
use raddle_machine::events::{Access as Accessed, Act, Update};
use raddle_machine::{Machine, State};
use raddle_memory::{
    Answer, Blocked, Event, EventId, Kind, Location, Model, Next, Operation, Program, Target,
};
use raddle_schedule::{Diverged, ThreadId};

use crate::names::Names;
use crate::operations::{access, fence, value, word};
use crate::races::{Access, Accesses, Race};
use crate::spin::{Past, Role, iteration};

/// How many steps in a row a thread may make that touch nothing shared.
const MOST_SILENT: usize = 10_000;
/// How many alternatives of a choice are tried.
const MOST_ALTERNATIVES: u64 = 10_000;

/// Why a thread makes no event any more, though it has not stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// It is at an `assume` that does not hold.
    Assume,
    /// It is at an `await` that does not hold.
    Await,
    /// It does the same again and again, until something changes that it reads.
    Spins,
    /// It repeats a loop in which it chooses; it could choose otherwise.
    Chooses,
    /// It goes on for too long without touching anything shared.
    TooLong,
    /// It does something that is not supported.
    Unsupported,
}

/// Something that cannot be explored under a memory model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unsupported {
    /// Where.
    pub place: Place,
    /// What, as it is called in a sentence.
    pub what: &'static str,
}

/// A step, for who tells of it.
#[derive(Clone, Debug)]
pub(crate) struct Made {
    pub(crate) position: usize,
    pub(crate) choice: Choice,
    /// Whether it is local code that leads to the next step of the thread: for the machine it is a part of that.
    pub(crate) is_prelude: bool,
    pub(crate) event: Option<MadeEvent>,
}

/// The event that a step has made.
#[derive(Clone, Debug)]
pub(crate) struct MadeEvent {
    pub(crate) id: EventId,
    pub(crate) address: Option<Address>,
    /// Whether it is about data, not a lock or a semaphore.
    pub(crate) is_data: bool,
    pub(crate) is_atomic: bool,
    pub(crate) event: Event,
}

/// What is known of a thread in the execution under way.
#[derive(Clone, Debug)]
struct Life {
    next: Next,
    act: Act,
    reason: Option<Reason>,
    past: Vec<Past>,
    children: u32,
}

impl Default for Life {
    fn default() -> Self {
        Self {
            next: Next::Ended,
            act: Act::Silent,
            reason: None,
            past: Vec::new(),
            children: 0,
        }
    }
}

/// A program that is run again and again.
#[derive(Debug)]
pub struct Run {
    pub(crate) machine: Machine,
    /// Tries steps that are not made: what it executes does not count as executed.
    prober: Machine,
    model: Model,
    initial: State,
    state: State,
    step: Step<State>,
    names: Names,
    /// By position.
    threads: Vec<ThreadId>,
    lives: Vec<Life>,
    /// The first words of heap objects, and how many objects there are.
    objects: (Vec<(Address, i64)>, usize),
    accesses: Accesses,
    /// A race, and the address that it is about.
    pub(crate) race: Option<(Race, Address)>,
    pub(crate) made: Vec<Made>,
    /// Failures: the position of the thread, and how many steps were made then.
    pub(crate) faults: Vec<(usize, Fault, usize)>,
    pub(crate) unsupported: Option<Unsupported>,
}

impl Run {
    /// The program that a machine runs.
    #[must_use]
    pub fn new(machine: &Machine, model: Model) -> Self {
        // Disciplines look at all of a state.
        let mut machine = machine.clone().with_disciplines(false);
        let initial = machine.initial();
        let threads = machine.thread_count(&initial);
        let mut run = Self {
            prober: machine.clone(),
            machine,
            model,
            state: State::default(),
            initial,
            step: Step::default(),
            names: Names::new(threads),
            threads: Vec::new(),
            lives: Vec::new(),
            objects: (Vec::new(), 0),
            accesses: Accesses::default(),
            race: None,
            made: Vec::new(),
            faults: Vec::new(),
            unsupported: None,
        };
        run.restart();
        run
    }

    /// Why a thread makes no event any more, if it has not stopped.
    #[must_use]
    pub fn reason(&self, thread: ThreadId) -> Option<Reason> {
        self.lives[self.position(thread)].reason
    }

    /// What has turned out not to be supported.
    #[must_use]
    pub fn unsupported(&self) -> Option<&Unsupported> {
        self.unsupported.as_ref()
    }

    /// Whether there is a data race in the execution under way.
    #[must_use]
    pub fn has_race(&self) -> bool {
        self.race.is_some()
    }

    /// How many threads have failed in the execution under way.
    #[must_use]
    pub fn failed(&self) -> usize {
        self.faults.len()
    }

    /// The location of a global slot, as the graph knows it.
    pub fn location_of(&mut self, slot: u32) -> Location {
        let address = Address(slot.into());
        (self.names).location(&self.machine, &self.threads, address)
    }

    /// The word that a global slot has before all writes.
    #[must_use]
    pub fn initial_word(&self, slot: u32) -> i64 {
        self.initial.word(Address(slot.into()))
    }

    /// Whether some thread makes no event any more for this reason.
    pub(crate) fn has_stopped_for(&self, reason: Reason) -> bool {
        self.lives.iter().any(|life| life.reason == Some(reason))
    }

    /// The address of what a thread accesses next, or has accessed if it waits.
    pub(crate) fn address_of(&self, thread: ThreadId) -> Option<Address> {
        match self.lives[self.position(thread)].act {
            Act::Access { location, .. } => Some(location),
            _ => None,
        }
    }

    pub(crate) fn position(&self, thread: ThreadId) -> usize {
        let found = self.threads.iter().position(|known| *known == thread);
        found.expect("only threads that were started are asked for")
    }

    /// Where a thread is.
    pub(crate) fn place(&self, position: usize) -> Place {
        self.machine.place(&self.state, at(position))
    }

    fn initial_value(&self, address: Address) -> i64 {
        let of_object = self.objects.0.iter().find(|(known, _)| *known == address);
        of_object.map_or_else(|| self.initial.word(address), |(_, word)| *word)
    }

    /// Makes a step. Whether it was taken.
    fn make(&mut self, position: usize, choice: Choice, event: Option<MadeEvent>) -> bool {
        let thread = at(position);
        let is_local = self.lives[position].act == Act::Local;
        match is_local {
            true => (self.machine).run_on(&self.state, thread, &mut self.step),
            false => (self.machine).step(&self.state, thread, choice, &mut self.step),
        }
        let is_access = matches!(self.lives[position].act, Act::Access { .. });
        let is_more = self.step.footprint.len() > 1 || self.step.next_choice.is_some();
        if is_access && is_more {
            self.refuse(
                position,
                "an atomic block or condition with several accesses",
            );
            return false;
        }
        match &self.step.status {
            Status::Blocked { assumption } => {
                self.lives[position].reason = Some(match assumption {
                    true => Reason::Assume,
                    false => Reason::Await,
                });
                return false;
            }
            Status::Ended => return false,
            Status::Moved => {}
            Status::Failed(fault) => {
                let fault = fault.clone();
                self.faults.push((position, fault, self.made.len() + 1));
            }
        }
        std::mem::swap(&mut self.state, &mut self.step.after);
        let mut leads_on = || {
            let next = self.prober.act(&self.state, thread);
            !matches!(next, Act::Local | Act::Stopped { .. })
        };
        let is_prelude = is_local && leads_on();
        self.made.push(Made {
            position,
            choice,
            is_prelude,
            event,
        });
        true
    }

    /// Threads have made objects: that initialises them, for whoever accesses them. Nobody else knows those that were there before the first step.
    fn note_objects(&mut self) {
        if !self.machine.program().has_heap() {
            return;
        }
        let (new, count) = self.state.objects_from(self.objects.1);
        self.objects.1 = count;
        for address in new {
            let word = self.state.word(address);
            self.objects.0.push((address, word));
            let Some((maker, _)) = self.machine.maker(address) else {
                continue;
            };
            let position = maker.index();
            let initialised = Access {
                position,
                thread: self.threads[position].index(),
                index: self.lives[position].past.len() as u32,
                writes: true,
                is_atomic: false,
                place: self.place(position),
            };
            let location = (self.names).location(&self.machine, &self.threads, address);
            self.accesses.add(location, initialised, &[]);
        }
    }

    fn refuse(&mut self, position: usize, what: &'static str) {
        let place = self.place(position);
        self.unsupported.get_or_insert(Unsupported { place, what });
        self.lives[position].reason = Some(Reason::Unsupported);
    }

    /// Takes note of threads that were started, and runs each up to its first event.
    fn note_threads(&mut self) {
        let known = self.lives.len();
        let count = self.threads.len();
        self.lives.resize(count, Life::default());
        if known < count {
            let failed = self.machine.failed_starts(&self.state).into_iter();
            let new = failed.filter(|(thread, _)| (known..count).contains(&thread.index()));
            let made = self.made.len();
            (self.faults).extend(new.map(|(thread, fault)| (thread.index(), fault, made)));
        }
        for position in known..count {
            self.advance(position);
        }
    }

    /// Makes the silent steps of a thread, and finds out what it does then.
    fn advance(&mut self, position: usize) {
        for _ in 0..MOST_SILENT {
            self.note_objects();
            let act = self.prober.act(&self.state, at(position));
            self.lives[position].act = act;
            if !matches!(act, Act::Silent | Act::Local) {
                self.announce(position, act);
                return;
            }
            let before = self.state.local(at(position)).to_vec();
            if !self.make(position, Choice::FIRST, None) {
                self.block(position, self.lives[position].past.len());
                return;
            }
            if self.state.local(at(position)) == before {
                self.lives[position].reason = Some(Reason::Spins);
                self.block(position, self.lives[position].past.len());
                return;
            }
        }
        self.lives[position].reason = Some(Reason::TooLong);
        self.block(position, 0);
    }

    /// A thread makes no event any more. If it repeats something, its events from `since` on are an iteration.
    fn block(&mut self, position: usize, since: usize) {
        let life = &mut self.lives[position];
        let since = since as u32;
        life.next = Next::Blocked(match life.reason {
            Some(Reason::Await | Reason::Spins) => Blocked::Spinning { since },
            _ => Blocked::Infeasible,
        });
    }

    /// Finds the operation that a thread announces.
    fn announce(&mut self, position: usize, act: Act) {
        let next = match act {
            Act::Stopped { failed: true } => Next::Failed,
            Act::Stopped { failed: false } => Next::Ended,
            Act::Access {
                location,
                access: how,
                is_atomic,
            } => {
                let target = Target {
                    location: Some((self.names).location(&self.machine, &self.threads, location)),
                    initial: value(self.initial_value(location)),
                };
                Next::Operation(access(target, how, is_atomic, self.model))
            }
            Act::Fence(order) => Next::Operation(fence(order)),
            Act::Choose(alternatives) if alternatives > MOST_ALTERNATIVES => {
                self.refuse(position, "a choice among more than 10000 alternatives");
                Next::Blocked(Blocked::Infeasible)
            }
            Act::Choose(alternatives) => Next::Operation(Operation::Choose {
                alternatives: alternatives as u32,
            }),
            Act::Spawn => {
                let number = self.lives[position].children;
                let child = self.names.child(self.threads[position], number);
                Next::Operation(Operation::Spawn { child })
            }
            Act::Join(child) => Next::Operation(Operation::Join {
                child: self.threads[child.index()],
            }),
            Act::Other(what) => {
                self.refuse(position, what);
                Next::Blocked(Blocked::Infeasible)
            }
            Act::Silent | Act::Local => unreachable!("silent steps are made at once"),
        };
        self.lives[position].next = next;
        if let Next::Operation(_) = next {
            let life = &mut self.lives[position];
            let repeated = iteration(&life.past, self.state.local(at(position)));
            if let Some(iteration) = repeated {
                life.reason = Some(match iteration.chooses {
                    true => Reason::Chooses,
                    false => Reason::Spins,
                });
                self.block(position, iteration.since);
            }
        }
    }

    /// Whether the access of an event races with one that was made before.
    fn check_race(&mut self, position: usize, event: &Event, index: u32, clock: &[u32]) {
        let Act::Access {
            location: address,
            is_atomic,
            ..
        } = self.lives[position].act
        else {
            return;
        };
        let Some(location) = event.location.filter(|_| self.model != Model::Sc) else {
            return;
        };
        let access = Access {
            position,
            thread: self.threads[position].index(),
            index,
            writes: event.kind.writes(),
            is_atomic,
            place: self.place(position),
        };
        let race = self.accesses.add(location, access, clock);
        self.race = self.race.or(race.map(|race| (race, address)));
    }
}

/// What an event means for an iteration of a loop.
fn role(act: Act, event: &Event) -> Role {
    let update = match act {
        Act::Access {
            access: Accessed::Update(_, update),
            ..
        } => Some(update),
        _ => None,
    };
    match (event.kind, update, event.location) {
        (Kind::Read | Kind::Fence, _, _) => Role::Looks,
        (Kind::Update, _, _) if event.read == event.written => Role::Looks,
        (Kind::Update, Some(Update::Lock(_)), Some(lock)) => Role::Locks(lock),
        (Kind::Update, Some(Update::Unlock { .. }), Some(lock)) => Role::Unlocks(lock),
        (Kind::Choice, _, _) => Role::Chooses,
        _ => Role::Changes,
    }
}

fn at(position: usize) -> Position {
    Position(position as u32)
}

impl Program for Run {
    fn restart(&mut self) {
        self.state.clone_from(&self.initial);
        let count = self.machine.thread_count(&self.state);
        self.threads.clear();
        self.threads.extend((0..count as u32).map(ThreadId));
        self.lives.clear();
        self.objects.0.clear();
        self.objects.1 = 0;
        self.accesses.clear();
        self.race = None;
        self.made.clear();
        self.faults.clear();
        self.note_threads();
    }

    fn threads(&self) -> &[ThreadId] {
        &self.threads
    }

    fn next(&mut self, thread: ThreadId) -> Next {
        self.lives[self.position(thread)].next
    }

    fn answer(&mut self, thread: ThreadId, answer: Answer<'_>) -> Result<(), Diverged> {
        let position = self.position(thread);
        let event = answer.event;
        let act = self.lives[position].act;
        let index = self.lives[position].past.len() as u32;
        self.check_race(position, event, index, answer.clock);
        let address = match act {
            Act::Access { location, .. } => Some(location),
            _ => None,
        };
        if let (Some(address), true) = (address, event.kind.reads()) {
            self.state.set_word(address, word(event.read));
        }
        let choice = match event.kind {
            Kind::Choice => Choice(event.read),
            _ => Choice::FIRST,
        };
        let (is_data, is_atomic) = match act {
            Act::Access {
                access, is_atomic, ..
            } => match access {
                Accessed::Update(_, update) => (update.is_of_data(), is_atomic),
                _ => (true, is_atomic),
            },
            _ => (false, false),
        };
        let made = MadeEvent {
            id: EventId { thread, index },
            address,
            is_data,
            is_atomic,
            event: event.clone(),
        };
        let local = self.state.local(at(position)).to_vec();
        self.lives[position].past.push(Past {
            local,
            role: role(act, event),
        });
        if !self.make(position, choice, Some(made)) {
            self.block(position, index as usize);
            return Ok(());
        }
        if event.kind == Kind::Spawn {
            let count = self.machine.thread_count(&self.state);
            if count > self.threads.len() {
                let number = self.lives[position].children;
                self.lives[position].children += 1;
                let child = self.names.child(thread, number);
                self.threads.push(child);
            }
            self.note_threads();
        }
        self.advance(position);
        Ok(())
    }
}
