//! What a thread does next, as something that can be said before it is done: for who explores executions under weak memory models, in which
//! a read need not give the value that was written last.
//!
//! [`Machine::act`] looks at the thread's own part of a state only, which no other thread changes. So what it says holds whatever the
//! others do meanwhile. [Making the step](raddle_explore::System::step) then looks at one shared word, or at none: whoever puts another word
//! [there](State::set_word) before decides what the thread reads.

use raddle_explore::{Changed, Choice, Location, Position, Status, Step, System};
use raddle_lang::ast::{BinaryOp, IntType};
use raddle_lang::check::constants::{binary, wrap};
use raddle_lang::hir::{Order, Orders};

use crate::execute::{Execution, Halt, Mode};
use crate::machine::Machine;
use crate::op::{Fit, LockKind, Op, Reg};
use crate::program::Program;
use crate::state::{Phase, State};
use crate::word::{self, Reference};

/// What a thread does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    /// Nothing any more.
    Stopped {
        /// Whether it has failed.
        failed: bool,
    },
    /// Something that touches nothing shared. It may fail.
    Silent,
    /// Local code that has run for long. [`Machine::run_on`] goes on with it; a step would not stop before the operation that follows it.
    Local,
    /// It accesses one location.
    Access {
        /// Which.
        location: Location,
        /// How.
        access: Access,
        /// Whether no other access can race with it.
        is_atomic: bool,
    },
    /// A fence.
    Fence(Order),
    /// It chooses one of this many alternatives.
    Choose(u64),
    /// It starts a thread.
    Spawn,
    /// It waits for the end of a thread.
    Join(Position),
    /// Something that is not an access of one location: what it is.
    Other(&'static str),
}

/// An access of one location.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Reads it.
    Read(Order),
    /// Writes this.
    Write(Order, i64),
    /// Reads and writes it, or waits until it can.
    Update(Orders, Update),
}

/// What a read-modify-write makes of the word that it reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Update {
    /// Stores a word if it finds another one.
    CompareExchange {
        /// What it looks for.
        expected: i64,
        /// What it stores.
        new: i64,
    },
    /// Stores a word.
    Swap(i64),
    /// Computes.
    Compute(Computation),
    /// Takes a mutex, or waits.
    Lock(Mutex),
    /// Takes a mutex if it is free.
    TryLock(Mutex),
    /// Gives a mutex back, which then has this word. It fails if the thread does not hold it.
    Unlock {
        /// A reference to the thread.
        holder: i64,
        /// What is stored.
        after: i64,
    },
    /// Decrements a semaphore, or waits.
    Down,
    /// Decrements a semaphore if it is positive.
    TryDown,
    /// Increments a semaphore.
    Up,
}

/// A mutex as a thread takes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mutex {
    /// A reference to the thread.
    pub thread: i64,
    /// Whether the thread may hold it already.
    pub is_reentrant: bool,
}

/// An operator with its right-hand side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Computation {
    /// The operator.
    pub op: BinaryOp,
    /// The type in which it computes.
    pub int: IntType,
    /// The right-hand side.
    pub operand: i64,
    /// What becomes of the result.
    pub result: Fitting,
}

/// How a result gets into a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fitting {
    /// As it is.
    AsIs,
    /// Its low bits.
    Wrap(IntType),
    /// If it is in this range.
    Range(i64, i64),
}

/// What came of an update.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Updated {
    /// It has to wait for another word.
    Waits,
    /// It leaves the word, because it did not find what it looked for or because the thread fails.
    Leaves,
    /// It stores this.
    Stores(i64),
}

impl Computation {
    fn of(self, word: i64) -> Option<i64> {
        let (a, b) = (wrap(word, self.int), wrap(self.operand, self.int));
        let result = binary(self.op, a, b, self.int)?;
        match self.result {
            Fitting::AsIs => Some(result),
            Fitting::Wrap(int) => Some(wrap(result, int)),
            Fitting::Range(low, high) => (low..=high).contains(&result).then_some(result),
        }
    }
}

impl Mutex {
    fn is_free(self, word: i64) -> bool {
        word == word::NULL || self.is_reentrant && word == self.thread
    }
}

impl Update {
    /// What it does if it finds this word: the same as the step.
    #[must_use]
    pub fn of(self, word: i64) -> Updated {
        use Updated::{Leaves, Stores, Waits};
        match self {
            Self::CompareExchange { expected, new } if word == expected => Stores(new),
            Self::CompareExchange { .. } => Leaves,
            Self::Swap(new) => Stores(new),
            Self::Compute(computation) => computation.of(word).map_or(Leaves, Stores),
            Self::Lock(mutex) | Self::TryLock(mutex) if mutex.is_free(word) => Stores(mutex.thread),
            Self::Unlock { holder, after } if word == holder => Stores(after),
            Self::Down | Self::TryDown if word > 0 => Stores(word - 1),
            Self::Up => Stores((word + 1).min(i32::MAX.into())),
            Self::Lock(_) | Self::Down => Waits,
            Self::TryLock(_) | Self::TryDown | Self::Unlock { .. } => Leaves,
        }
    }

    /// Whether it is of data, not of a lock or a semaphore.
    #[must_use]
    pub fn is_of_data(self) -> bool {
        matches!(
            self,
            Self::CompareExchange { .. } | Self::Swap(_) | Self::Compute(_)
        )
    }

    /// Whether it may have to wait.
    #[must_use]
    pub fn waits(self) -> bool {
        matches!(self, Self::Lock(_) | Self::Down)
    }
}

/// What locks and semaphores do to the order of memory, as those of C++ and Rust: taking acquires, giving back releases, and an attempt
/// that fails orders nothing.
const TAKES: Orders = Orders {
    order: Order::Acquire,
    failure: Order::Relaxed,
};
const GIVES: Orders = Orders {
    order: Order::Release,
    failure: Order::Relaxed,
};

/// The registers of the innermost frame of a thread.
struct Registers<'s> {
    frame: &'s [i64],
}

impl Registers<'_> {
    fn get(&self, reg: Reg) -> i64 {
        // Those above the height are not alive.
        self.frame.get(reg as usize).copied().unwrap_or(0)
    }
}

impl Machine {
    /// What a thread does next. Blocks are tried on the state, so what they touch first has to be there.
    pub fn act(&mut self, state: &State, thread: Position) -> Act {
        match state.phase(thread.index()) {
            Phase::Ended => return Act::Stopped { failed: false },
            Phase::Failed | Phase::FailedAtStart => return Act::Stopped { failed: true },
            Phase::Running | Phase::Waiting | Phase::Notified => {}
        }
        let pc = state.pc(thread.index());
        let op = self.program.code[pc as usize];
        match op {
            Op::AtomicBegin => self.block(state, thread),
            local if !local.is_visible() => Act::Local,
            _ => self.program.act_at(state, thread.index(), pc, op),
        }
    }

    /// Goes on with the local code of a thread, up to its next visible operation or until it has run for long again.
    pub fn run_on(&mut self, state: &State, thread: Position, step: &mut Step<State>) {
        step.footprint.clear();
        step.next_choice = None;
        step.changed = Changed::ALL;
        step.after.clone_from(state);
        let mut execution = Execution::of_thread(
            &self.program,
            &mut step.after,
            thread.index(),
            Mode::Prologue,
            &mut step.footprint,
            &mut self.scratch,
        );
        let halt = execution.run();
        let place = execution.place();
        match halt {
            Halt::Pause => execution.suspend(),
            Halt::End => execution.finish(Phase::Ended),
            _ => execution.finish(Phase::Failed),
        }
        self.scratch.count_coverage();
        step.status = match halt {
            Halt::Pause | Halt::End => Status::Moved,
            failure => Status::Failed(self.fault(failure, place)),
        };
    }

    /// What an atomic block does, as far as its first access tells. That is what it does unless it makes a second one: who makes the step notices.
    fn block(&mut self, state: &State, thread: Position) -> Act {
        let mut step = Step::default();
        self.step(state, thread, Choice::FIRST, &mut step);
        let Some(first) = step.footprint.first() else {
            return match step.next_choice {
                Some(_) => Act::Other("a choice in an atomic block"),
                None => Act::Silent,
            };
        };
        let location = first.location;
        let orders = self.program.orders_at(first.place.0);
        let is_only = step.footprint.len() == 1 && step.next_choice.is_none();
        let access = match self.program.code[first.place.0 as usize] {
            Op::Load { .. } | Op::LoadElement { .. } | Op::LoadAt { .. } => {
                Access::Read(Order::SeqCst)
            }
            Op::AtomicLoad { .. } => Access::Read(orders.order),
            Op::Store { .. } | Op::StoreElement { .. } | Op::StoreAt { .. } if is_only => {
                Access::Write(Order::SeqCst, step.after.word(location))
            }
            Op::AtomicStore { .. } if is_only => {
                Access::Write(orders.order, step.after.word(location))
            }
            _ => return Act::Other("an atomic block that does more than one load or store"),
        };
        Act::Access {
            location,
            access,
            is_atomic: true,
        }
    }
}

impl Program {
    fn act_at(&self, state: &State, thread: usize, pc: u32, op: Op) -> Act {
        let frames = state.frames(thread);
        let base = frames.len() - self.heights[pc as usize] as usize;
        let registers = Registers {
            frame: &frames[base..],
        };
        let get = |reg| registers.get(reg);
        let orders = self.orders_at(pc);
        let (order, me) = (orders.order, word::thread(state.threads[thread].name));
        let slot = |slot: u16, index: i64| word::global(slot as usize + index as usize);
        let plain = |reference, access| self.access(state, reference, access, false);
        let atomic = |reference: Reg, access| self.access(state, get(reference), access, true);
        let taking = |kind| Mutex {
            thread: me,
            is_reentrant: kind == LockKind::Reentrant,
        };
        match op {
            Op::Load { slot: at, .. } => plain(slot(at, 0), Access::Read(order)),
            Op::LoadElement {
                slot: at, index, ..
            } => plain(slot(at, get(index)), Access::Read(order)),
            Op::LoadAt { reference, .. } => plain(get(reference), Access::Read(order)),
            Op::Store { slot: at, from } => plain(slot(at, 0), Access::Write(order, get(from))),
            Op::StoreElement {
                slot: at,
                index,
                from,
            } => plain(slot(at, get(index)), Access::Write(order, get(from))),
            Op::StoreAt { reference, from } => {
                plain(get(reference), Access::Write(order, get(from)))
            }
            Op::AtomicLoad { reference, .. } => atomic(reference, Access::Read(order)),
            Op::AtomicStore { reference, from } => {
                atomic(reference, Access::Write(order, get(from)))
            }
            Op::Cas {
                reference,
                expected,
                ..
            } => {
                let update = Update::CompareExchange {
                    expected: get(expected),
                    new: get(expected + 1),
                };
                atomic(reference, Access::Update(orders, update))
            }
            Op::Swap {
                reference, from, ..
            } => atomic(reference, Access::Update(orders, Update::Swap(get(from)))),
            Op::Update {
                op,
                int,
                reference,
                operand,
                fit,
                ..
            } => {
                let computation = Computation {
                    op,
                    int,
                    operand: get(operand),
                    result: match fit {
                        Fit::AsIs => Fitting::AsIs,
                        Fit::Wrap(int) => Fitting::Wrap(int),
                        Fit::Range(range) => {
                            let (low, high) = self.ranges[range as usize];
                            Fitting::Range(low, high)
                        }
                    },
                };
                let update = Update::Compute(computation);
                atomic(reference, Access::Update(orders, update))
            }
            Op::Lock { mutex, kind } => {
                atomic(mutex, Access::Update(TAKES, Update::Lock(taking(kind))))
            }
            Op::TryLock { mutex, kind, .. } => {
                atomic(mutex, Access::Update(TAKES, Update::TryLock(taking(kind))))
            }
            Op::Unlock { mutex, kind } => {
                let after = self.after_unlock(state, get(mutex), kind, me);
                let update = Update::Unlock { holder: me, after };
                atomic(mutex, Access::Update(GIVES, update))
            }
            Op::Down { semaphore } => atomic(semaphore, Access::Update(TAKES, Update::Down)),
            Op::TryDown { semaphore, .. } => {
                atomic(semaphore, Access::Update(TAKES, Update::TryDown))
            }
            Op::Up { semaphore } => atomic(semaphore, Access::Update(GIVES, Update::Up)),
            Op::Choose { low, high, .. } => match u64::try_from(get(high) - get(low) + 1) {
                Ok(alternatives @ 1..) => Act::Choose(alternatives),
                _ => Act::Silent,
            },
            Op::ChooseBelow { below, .. } => Act::Choose(below.into()),
            Op::Spawn { .. } => Act::Spawn,
            Op::Join { thread } => match Reference::of(get(thread)) {
                Reference::Thread(name) => {
                    let child = state.find_thread(name);
                    Act::Join(Position(child.expect("a thread stays") as u32))
                }
                // It fails.
                _ => Act::Silent,
            },
            Op::Yield => self.fence_at(pc).map_or(Act::Silent, Act::Fence),
            Op::ReadLock { .. }
            | Op::WriteLock { .. }
            | Op::UnlockRw { .. }
            | Op::TryReadLock { .. }
            | Op::TryWriteLock { .. } => Act::Other("a reader-writer lock"),
            Op::Wait { .. } | Op::Resume { .. } | Op::Notify { .. } => {
                Act::Other("a condition variable")
            }
            Op::Send { .. }
            | Op::Handoff { .. }
            | Op::Recv { .. }
            | Op::TrySend { .. }
            | Op::TryRecv { .. }
            | Op::Len { .. } => Act::Other("a channel"),
            Op::Free { .. } => Act::Other("`free`"),
            // The end of a thread, and what fails before it touches anything.
            _ => Act::Silent,
        }
    }

    /// What a mutex holds after it was given back. How often its holder has taken it only the holder knows.
    fn after_unlock(&self, state: &State, mutex: i64, kind: LockKind, me: i64) -> i64 {
        let count = match (kind, self.cell(state, mutex)) {
            (LockKind::Reentrant, Some(cell)) => state.words[cell + 1],
            _ => 1,
        };
        if count > 1 { me } else { word::NULL }
    }

    /// The word that a reference refers to, if it refers to one.
    fn cell(&self, state: &State, reference: i64) -> Option<usize> {
        match Reference::of(reference) {
            Reference::Global(slot) => Some(slot),
            Reference::Heap(name, offset) => {
                let object = state.objects[state.find_object(name)?];
                let is_inside = !object.freed && offset < object.length as usize;
                is_inside.then_some(object.start as usize + offset)
            }
            Reference::Null | Reference::Thread(_) => None,
        }
    }

    fn access(&self, state: &State, reference: i64, access: Access, is_atomic: bool) -> Act {
        let Some(cell) = self.cell(state, reference) else {
            // It fails.
            return Act::Silent;
        };
        let declared = self.atomic_slots.get(cell).copied();
        Act::Access {
            location: word::location(reference),
            access,
            is_atomic: is_atomic || declared == Some(true),
        }
    }

    /// Whether threads can make objects.
    #[must_use]
    pub fn has_heap(&self) -> bool {
        self.features.heap
    }
}

impl State {
    fn cell_at(&self, location: Location) -> Option<usize> {
        match word::at(location) {
            Reference::Global(slot) => Some(slot),
            Reference::Heap(name, offset) => {
                let object = self.objects[self.find_object(name)?];
                Some(object.start as usize + offset)
            }
            Reference::Null | Reference::Thread(_) => None,
        }
    }

    /// The word at a location.
    ///
    /// # Panics
    ///
    /// If it is not a location of shared memory.
    #[must_use]
    pub fn word(&self, location: Location) -> i64 {
        self.words[self.cell_at(location).expect("shared memory")]
    }

    /// Puts another word at a location.
    ///
    /// # Panics
    ///
    /// If it is not a location of shared memory.
    pub fn set_word(&mut self, location: Location, word: i64) {
        let cell = self.cell_at(location).expect("shared memory");
        self.words[cell] = word;
    }

    /// Everything that only a thread itself can change: where it is, and its variables.
    #[must_use]
    pub fn local(&self, thread: Position) -> &[i64] {
        self.thread(thread.index())
    }

    /// All locations of heap objects from a number on, in the order in which the objects were made, and how many objects there are.
    #[must_use]
    pub fn objects_from(&self, first: usize) -> (Vec<Location>, usize) {
        let objects = self.objects[first..].iter();
        let locations = objects.flat_map(|object| {
            let offsets = 0..object.length as usize;
            offsets.map(|offset| word::location(word::heap(object.name, offset)))
        });
        (locations.collect(), self.objects.len())
    }
}
