//! [`System`]: everything a reduction or a search knows about a program.
//!
//! A system has threads. In a given state, the next *step* of a thread is
//! determined but for explicit choices; it makes at most one shared access or one
//! synchronisation operation (or one indivisible group of them), and reports
//! what it touched as its [`Footprint`]. No reduction sees a language, no
//! front end sees a reduction: this trait is the whole border between them.
//!
//! # Example
//!
//! Walking one schedule of any system, always the first thread that can move:
//!
//! ```
//! use raddle_explore::{Choice, Status, Step, System, Position};
//!
//! fn run_to_the_end<S: System>(system: &mut S) -> usize {
//!     let mut state = system.initial();
//!     let mut step = Step::default();
//!     let mut length = 0;
//!     'moving: loop {
//!         for thread in 0..system.thread_count(&state) {
//!             system.step(&state, Position(thread as u32), Choice::FIRST, &mut step);
//!             if step.status == Status::Moved {
//!                 std::mem::swap(&mut state, &mut step.after);
//!                 system.canonicalise(&mut state);
//!                 length += 1;
//!                 continue 'moving;
//!             }
//!         }
//!         return length;
//!     }
//! }
//! # let _ = run_to_the_end::<raddle_explore::testing::Counters>;
//! ```

use raddle_store::Batch;

use crate::parts::{Changed, Packed, Parts, Renamed};

/// A thread, by its position in the thread table of a state. It is no name of the thread: see
/// [`System::thread_name`].
///
/// Positions are stable within a state and from a state to its successors until
/// [`System::canonicalise`] is called; that may renumber the threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Position(pub u32);

impl Position {
    /// The position as an index.
    #[must_use]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// Which of its alternatives a step takes, as a number that can be stored and
/// replayed. [`Step::next_choice`] enumerates the alternatives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Choice(pub u64);

impl Choice {
    /// The first alternative, and the only one of a deterministic step.
    pub const FIRST: Self = Self(0);
}

/// One step of a schedule: what is done from a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Action {
    /// Who moves.
    pub thread: Position,
    /// Which alternative it takes.
    pub choice: Choice,
}

/// A shared location: a slot of memory, a synchronisation object, the end of a
/// thread. Two steps from one state touch the same thing if and only if the
/// locations are equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Location(pub u64);

/// A place in the program, for messages. What it means is the front end's matter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Place(pub u32);

/// What a location is called in every state, whatever the threads do: the name under
/// which what is known about it is kept from state to state.
///
/// Locations are names within one state, and heap objects are renamed from state to
/// state. A variable is either one location for ever (a global slot), or stands for one
/// field of all heap objects of a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Variable(pub u64);

/// A lock that protects a variable, named relative to it: a global lock, a lock in the same
/// heap object, or the pseudo lock that a thread always holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Guard(pub u64);

/// A synchronisation operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SyncOp {
    /// Taking a mutex, or a reader-writer lock for writing.
    Acquire,
    /// Giving it back.
    Release,
    /// Taking a reader-writer lock for reading.
    AcquireShared,
    /// Giving that back.
    ReleaseShared,
    /// A try-operation on a lock or a semaphore: it looks at the object's state, whether
    /// or not it then takes it.
    Try,
    /// Trying to take a reader-writer lock for reading: those that succeed come in any order.
    TryShared,
    /// An operation on a channel that does not wait: trying to send or to receive, counting
    /// the messages.
    Poll,
    /// Giving up a mutex and joining the waiters of an object.
    Wait,
    /// Waking waiters of an object.
    Notify,
    /// Returning from a wait: taking the mutex again.
    Resume,
    /// Decrementing a semaphore.
    Down,
    /// Incrementing a semaphore.
    Up,
    /// Putting a message into a channel.
    Send,
    /// Taking a message out of a channel.
    Receive,
    /// Starting a thread.
    Spawn,
    /// Waiting for the end of a thread.
    Join,
    /// The end of a thread that others may wait for.
    Exit,
    /// Looking whether a thread has ended, without waiting for it: what a step may do can depend
    /// on who is left.
    Census,
    /// Freeing a heap object.
    Free,
    /// Freeing a heap object of which a lock or a semaphore is a part.
    Destroy,
}

/// What kind of access it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AccessKind {
    /// A plain read or write of data: it can be part of a data race.
    Plain,
    /// An indivisible operation on data.
    Atomic,
    /// An operation on a synchronisation object.
    Sync(SyncOp),
}

/// One access to one shared location.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Access {
    /// What is touched.
    pub location: Location,
    /// Whether it may have changed it. A failed compare-and-swap or try-lock did not.
    pub writes: bool,
    /// In which way it is touched.
    pub kind: AccessKind,
    /// The operation in the program that makes the access.
    pub place: Place,
}

impl Access {
    /// Whether the order of the two accesses can matter.
    ///
    /// Readers of a reader-writer lock come and go in any order, though each changes its
    /// state. Two blocked readers wait for the same writer, which is a conflict of each of
    /// them with that writer only.
    #[must_use]
    pub fn conflicts_with(&self, other: &Self) -> bool {
        self.location == other.location
            && (self.writes || other.writes)
            && !(self.is_of_a_reader() && other.is_of_a_reader())
    }

    fn is_of_a_reader(&self) -> bool {
        matches!(
            self.kind,
            AccessKind::Sync(SyncOp::AcquireShared | SyncOp::ReleaseShared)
        )
    }
}

/// Everything shared that one step touched, in order. Empty for a local step.
///
/// For a blocked step it is what its guard has read, and all are reads: the step can become enabled
/// only after another thread has written one of these locations.
pub type Footprint = Vec<Access>;

/// Why a step failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FaultKind {
    /// A false assertion.
    Assertion,
    /// A runtime error.
    Runtime,
    /// A false invariant.
    Invariant,
    /// An access that breaks the discipline declared for what it touches, or a declared
    /// discipline that does not exclude anybody.
    Discipline,
    /// Nothing is wrong with the program: the state after the step would be larger than the
    /// system can keep, in the way that is said here. That depends on everything that other
    /// threads have done or not done, so no footprint tells of it. It is no violation of any
    /// property but [cuts](raddle_outcome::Kind::Capacity) the search, which goes on elsewhere: a
    /// reduction may meet it or not.
    Capacity(&'static str),
}

/// A failure of the program.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Fault {
    /// What failed.
    pub kind: FaultKind,
    /// Where.
    pub place: Place,
    /// The reason, for people.
    pub message: String,
}

/// What became of a step.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Status {
    /// It was taken; [`Step::after`] is the state after it.
    Moved,
    /// The thread cannot move now. The footprint says what it waits for.
    Blocked {
        /// Whether it is blocked at an assumption: an execution that ends so is
        /// not a deadlock, it does not count at all.
        assumption: bool,
    },
    /// The thread has ended (or failed before) and never moves again.
    #[default]
    Ended,
    /// The thread failed. [`Step::after`] is the state in which it has stopped for
    /// good while the others go on.
    Failed(Fault),
}

impl Status {
    /// Whether the step makes the accesses of its footprint, so that they can race with
    /// others. A step that breaks a discipline fails before it.
    #[must_use]
    pub fn makes_its_accesses(&self) -> bool {
        match self {
            Self::Moved => true,
            Self::Failed(fault) => fault.kind != FaultKind::Discipline,
            Self::Blocked { .. } | Self::Ended => false,
        }
    }
}

/// The result of [`System::step`]; made once and reused, so that steps do not
/// allocate.
#[derive(Clone, Debug, Default)]
pub struct Step<State> {
    /// What became of it.
    pub status: Status,
    /// The state after it, if it moved or failed; otherwise meaningless.
    pub after: State,
    /// Which parts of the state differ after it, at most, if it moved or failed; otherwise
    /// meaningless.
    pub changed: Changed,
    /// What it touched.
    pub footprint: Footprint,
    /// The next alternative of this thread in the same state, if there is one. Some
    /// alternatives of a step may be blocked while others are not.
    pub next_choice: Option<Choice>,
}

/// What became of [all steps](System::successors) from a state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Successors {
    /// How many steps were taken.
    pub moved: u64,
    /// How many are blocked.
    pub blocked: u64,
    /// How many threads have ended.
    pub ended: u64,
    /// Whether some step makes a plain access that writes.
    pub writes_plainly: bool,
}

/// A set of small numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Numbers(Vec<bool>);

impl Numbers {
    fn insert(&mut self, number: usize) {
        if self.0.len() <= number {
            self.0.resize(number + 1, false);
        }
        self.0[number] = true;
    }

    #[inline]
    fn contains(&self, number: usize) -> bool {
        self.0.get(number) == Some(&true)
    }
}

/// Places of which something is known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlaceSet(Numbers);

impl PlaceSet {
    /// Adds a place.
    pub fn insert(&mut self, place: Place) {
        self.0.insert(place.0 as usize);
    }

    /// Whether it has a place.
    #[must_use]
    #[inline]
    pub fn contains(&self, place: Place) -> bool {
        self.0.contains(place.0 as usize)
    }
}

/// Variables of which something is known, if their numbers are small.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VariableSet(Numbers);

impl VariableSet {
    /// Adds a variable.
    pub fn insert(&mut self, variable: Variable) {
        self.0.insert(variable.0 as usize);
    }

    /// Whether it has a variable.
    #[must_use]
    #[inline]
    pub fn contains(&self, variable: Variable) -> bool {
        self.0.contains(variable.0 as usize)
    }
}

/// Which steps somebody need not look at one by one.
#[derive(Clone, Copy, Debug)]
pub enum Unseen<'p> {
    /// All of them.
    All,
    /// Those that are taken from a place of one set and lead to another one of it, or to the end of a thread that holds no lock; and those that are blocked at
    /// a place of the other set. If there are variables, those that access no others.
    Between {
        /// Where steps begin and end.
        taken: &'p PlaceSet,
        /// Where they are blocked.
        blocked: &'p PlaceSet,
        /// What they access.
        variables: Option<&'p VariableSet>,
    },
}

/// A multithreaded program as a transition system.
///
/// Methods take `&mut self` so that an implementation can keep scratch space and
/// statistics such as coverage; they are functions of their arguments otherwise.
/// Every worker of a search has its own copy.
pub trait System {
    /// A state. Cloning with `clone_from` should reuse memory.
    type State: Clone + Default + Send;

    /// The state in which every execution starts, in canonical form.
    fn initial(&mut self) -> Self::State;

    /// How many threads there are, ended ones included.
    fn thread_count(&self, state: &Self::State) -> usize;

    /// Executes one step of one thread.
    ///
    /// The state after it is *not* canonical: the names of threads and heap objects
    /// stay what they were, so that the footprints of several steps can be compared.
    fn step(
        &mut self,
        state: &Self::State,
        thread: Position,
        choice: Choice,
        step: &mut Step<Self::State>,
    );

    /// Makes every step of every thread from the state that was [begun](Batch::begun) in a batch, and adds the states after them,
    /// if there is nothing else to be known about these steps: each is taken or is blocked or its thread has ended, some step
    /// is taken, none starts a thread, all that are taken or blocked may go unseen, and the states that are added are canonical [representatives](Self::represent) of those after the steps. Otherwise it adds
    /// nothing, and somebody makes the steps [one by one](Self::step).
    fn successors(&mut self, batch: &mut Batch, unseen: Unseen<'_>) -> Option<Successors> {
        let _ = (batch, unseen);
        None
    }

    /// What a step from a place accesses, if that is known beforehand: whoever makes it, it accesses one of these variables at least and no
    /// others, all by plain or atomic accesses; there is one alternative only; the variables are [owned](Self::owns) by nobody, and no discipline is
    /// [declared](Self::declared) for them.
    fn accessed_from(&self, place: Place) -> Option<Vec<Variable>> {
        let _ = place;
        None
    }

    /// Brings a state into canonical form: names that differ only in the order in
    /// which independent things happened become equal, garbage disappears.
    ///
    /// Threads keep their positions, unless one was started since the state was in canonical form,
    /// or one that has ended disappears.
    fn canonicalise(&mut self, state: &mut Self::State) -> Renamed;

    /// Writes a canonical state in words, in place of what was in the buffer. The
    /// [module of parts](crate::parts) says what it promises.
    fn encode(&self, state: &Self::State, packed: &mut Packed);

    /// A canonical state in words, given those of a state that differs from it in the changed parts only. They are in
    /// the buffer, unless the state itself consists of such words. Also says which parts of the words differ, at most: those, unless
    /// the two states have not the same parts.
    fn encode_successor<'p>(
        &'p self,
        before: Parts<'_>,
        changed: Changed,
        state: &'p Self::State,
        packed: &'p mut Packed,
    ) -> (Parts<'p>, Changed) {
        let _ = before;
        self.encode(state, packed);
        (packed.parts(), changed)
    }

    /// Like [`encode`](Self::encode), of a state that was restored from these words.
    fn find_parts(&self, words: &[u64], state: &Self::State, packed: &mut Packed) {
        let _ = words;
        self.encode(state, packed);
    }

    /// Restores a state from the words that [`encode`](Self::encode) wrote.
    fn decode(&self, words: &[u64], state: &mut Self::State);

    /// Like [`canonicalise`](Self::canonicalise), and says where a thread is then that
    /// has not ended. Whoever renumbers threads must say.
    fn canonicalise_following(&mut self, state: &mut Self::State, thread: Position) -> Position {
        self.canonicalise(state);
        thread
    }

    /// Whether some threads are [interchangeable](crate::symmetry), and the search is to make use of that.
    #[inline]
    fn is_symmetric(&self) -> bool {
        false
    }

    /// Whether the threads at two positions of a canonical state are interchangeable. Then both were there in the initial state, at these positions.
    fn are_interchangeable(&self, one: Position, other: Position) -> bool {
        let _ = (one, other);
        false
    }

    /// Exchanges interchangeable threads of a canonical state, so that states which differ only in which of them is where become equal, as
    /// far as possible. The state is canonical then, too.
    #[inline]
    fn represent(&mut self, state: &mut Self::State) {
        let _ = state;
    }

    /// Like [`represent`](Self::represent), and says where a thread is then.
    fn represent_following(&mut self, state: &mut Self::State, thread: Position) -> Position {
        self.represent(state);
        thread
    }

    /// Exchanges interchangeable threads of a canonical state: the thread at position `i` goes to `places[i]`. Those that are not listed
    /// stay where they are. The state is canonical then, too.
    fn exchange(&mut self, state: &mut Self::State, places: &[Position]) {
        let _ = (state, places);
    }

    /// The same system, but the search makes no use of interchangeable threads; nothing if it does not anyway.
    fn without_symmetry(&self) -> Option<Self>
    where
        Self: Sized,
    {
        None
    }

    /// The first invariant of the program that does not hold in the state, if any. Appends
    /// everything that any invariant reads in this state to `reads`.
    fn broken_invariant(&mut self, state: &Self::State, reads: &mut Footprint) -> Option<Fault>;

    /// Whether the program has invariants at all.
    fn has_invariants(&self) -> bool {
        true
    }

    /// The threads of the state that have failed before their first step, each with what
    /// happened.
    ///
    /// What a thread does before its first step is part of the step that starts it, or of the initial
    /// state. So its failure is a fact about states: it holds in the state after that step, and in all that
    /// follow, for a failed thread never moves. A reduction need not look for it: whatever
    /// boundary state it reaches next shows it.
    fn failed_starts(&mut self, state: &Self::State) -> Vec<(Position, Fault)> {
        let _ = state;
        Vec::new()
    }

    /// Whether threads can fail before their first step in states other than the initial one and those behind it
    /// in which they have failed already: whether steps start threads.
    fn starts_threads(&self) -> bool {
        true
    }

    /// Whether some thread of the state has failed.
    ///
    /// A failed thread never moves again, just as one that has ended, but what the
    /// others then wait for may be its doing: such a state is no deadlock.
    fn failed(&self, state: &Self::State) -> bool;

    /// Whether a thread has ended or failed.
    fn ended(&self, state: &Self::State, thread: Position) -> bool;

    /// The variable that a location of this state belongs to.
    ///
    /// For as long as the location exists, no step changes the answer.
    fn variable(&self, state: &Self::State, location: Location) -> Variable {
        let _ = state;
        Variable(location.0)
    }

    /// For a location of something that a thread has made since the state was last in canonical form:
    /// which thread, and what the location is called among all of what that thread has made.
    ///
    /// Positions of new threads, and so names of what these make, depend on who spawned first. This
    /// way, whoever knows threads by other names can tell locations apart whatever the order.
    fn maker(&self, location: Location) -> Option<(Position, u64)> {
        let _ = location;
        None
    }

    /// Appends the locks that the thread holds and that can protect what the access touches,
    /// each once, in any order. A lock that is held for reading protects against writes, so it
    /// counts for reads only. A thread whose identity never changes holds a pseudo lock
    /// of its own.
    ///
    /// Only the thread itself can change the answer.
    fn guards(
        &self,
        state: &Self::State,
        thread: Position,
        access: &Access,
        guards: &mut Vec<Guard>,
    ) {
        let _ = (state, thread, access, guards);
    }

    /// Whether the thread has taken the mutex at that location, or the reader-writer lock
    /// there for writing.
    fn holds(&self, state: &Self::State, thread: Position, lock: Location) -> bool {
        let _ = (state, thread, lock);
        false
    }

    /// Appends the locations of all locks that the thread holds, for reading or writing, each
    /// once.
    fn held_locks(&self, state: &Self::State, thread: Position, locks: &mut Vec<Location>) {
        let _ = (state, thread, locks);
    }

    /// Whether some thread could ever wait for the end of this one.
    fn can_be_joined(&self, state: &Self::State, thread: Position) -> bool {
        let _ = (state, thread);
        true
    }

    /// Whether so much has piled up in a state that was not brought into canonical form for long
    /// that it should be soon.
    fn is_crowded(&self, state: &Self::State) -> bool {
        let _ = state;
        false
    }

    /// Whether no other thread can touch the location before this thread does something
    /// about it: no other thread was ever started, or the thread has made the object since
    /// the state was last in canonical form, and nobody else has a reference to it.
    ///
    /// Only the thread itself can change the answer.
    fn owns(&mut self, state: &Self::State, thread: Position, location: Location) -> bool {
        let _ = (state, thread, location);
        false
    }

    /// Whether the thread may make the access, by the discipline that the program declares
    /// for what it touches, and nobody else can then make one that conflicts with it; nothing
    /// if no discipline is declared. Appends what had to be read to tell to `reads`, but for the
    /// owners of locks.
    ///
    /// A system that declares disciplines also enforces them: a step that breaks one fails,
    /// unless nobody but the thread ever knew the location or all other threads have ended.
    /// What it reads to tell is in the footprint of the step.
    fn declared(
        &mut self,
        state: &Self::State,
        thread: Position,
        access: &Access,
        reads: &mut Footprint,
    ) -> Option<bool> {
        let _ = (state, thread, access, reads);
        None
    }

    /// Where a thread is: the place of its next visible operation.
    fn place(&self, state: &Self::State, thread: Position) -> Place;

    /// A name for a thread that, unlike its position, survives
    /// [`canonicalise`](Self::canonicalise) as far as possible.
    ///
    /// Names are used to count context switches, and to tell deadlocks apart; no verdict
    /// depends on them. So a name may pass to another thread when the first one is gone. The
    /// position is a good name if threads are never renumbered.
    fn thread_name(&self, state: &Self::State, thread: Position) -> u64 {
        let _ = state;
        u64::from(thread.0)
    }

    /// Takes over what a copy of this system has collected, such as coverage.
    fn absorb(&mut self, copy: &Self)
    where
        Self: Sized,
    {
        let _ = copy;
    }

    /// Calls `visit` for every alternative of the thread's next step.
    fn for_each_step(
        &mut self,
        state: &Self::State,
        thread: Position,
        step: &mut Step<Self::State>,
        mut visit: impl FnMut(&mut Self, Action, &mut Step<Self::State>),
    ) where
        Self: Sized,
    {
        let mut next = Some(Choice::FIRST);
        while let Some(choice) = next {
            self.step(state, thread, choice, step);
            next = step.next_choice;
            visit(self, Action { thread, choice }, step);
        }
    }
}
