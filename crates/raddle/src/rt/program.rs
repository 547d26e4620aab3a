//! [`Program`]: a closure as something that an explorer can run.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use raddle_outcome::Assumptions;
use raddle_report::graph::Graph;
use raddle_report::story::Story;
use raddle_schedule::{Cut, Diverged, Execution, Move, Observed, Readiness, ThreadId, Trace};

use super::account::Account;
use super::failure::Failure;
use super::fiber::{Fiber, Fibers};
use super::graph::InGraph;
use super::knowledge::{Knowledge, Lessons, Stepping};
use super::operation::Operation;
use super::panics::install_hook;
use super::state::{Phase, State};
use super::teardown::Left;
use super::{Place, Runtime, fiber};
use crate::options::Options;

/// A closure that is run again and again, by schedules that are given from outside.
///
/// This is what `raddle::check` hands to an explorer. An execution is over when no thread can move;
/// [`Program::finish`] then says whether something was wrong with it.
pub struct Program {
    /// In a box of its own, because fibers have its address.
    pub(super) runtime: Box<Runtime>,
    /// By thread.
    pub(super) fibers: Vec<Option<Fiber>>,
    pub(super) pool: Fibers,
    body: Arc<dyn Fn() + Send + Sync>,
    /// What all executions of this exploration know.
    known: Knowledge,
    lessons: Lessons,
    /// Whether that is more than the execution before knew.
    pub(super) wiser: bool,
    pub(super) finished: bool,
    pub(super) left: Left,
    /// Runs executions beside the exploration, and is kept for the next one.
    pub(super) companion: Option<Box<Self>>,
}

/// What a program can be made of on another thread.
pub(crate) struct Twin {
    body: Arc<dyn Fn() + Send + Sync>,
    options: Options,
    knowledge: Knowledge,
    lessons: Lessons,
    left: Left,
}

impl Twin {
    pub(crate) fn program(&self) -> Program {
        let mut program = Program::new(self.body.clone(), &self.options);
        program.left = self.left.clone();
        program.lessons = self.lessons.clone();
        program.know(self.knowledge.clone());
        program
    }
}

/// Executions of the whole process, so that no two have the same number.
static GENERATIONS: AtomicU64 = AtomicU64::new(1);

impl Program {
    /// A program that runs `body` as its main thread.
    pub fn new(body: Arc<dyn Fn() + Send + Sync>, options: &Options) -> Self {
        install_hook();
        #[cfg(unix)]
        super::overflow::install_handler();
        let pool = Fibers::new(options.backend, options.stack_size);
        let left = Left::new(options.backend);
        Self::in_state(State::new(options.settings()), body, pool, left)
    }

    /// The same program in a state of its own, for an execution beside the exploration. It knows what this one has learned. What it learns itself is forgotten.
    pub(super) fn take_companion(&mut self) -> Box<Self> {
        let mut companion = self.companion.take().unwrap_or_else(|| {
            let state = State::new(self.runtime.state.borrow().settings);
            let (pool, left) = (self.pool.empty(), self.left.clone());
            Box::new(Self::in_state(state, self.body.clone(), pool, left))
        });
        companion.wiser = true;
        {
            let own = self.runtime.state.borrow();
            let mut state = companion.runtime.state.borrow_mut();
            state.settings = own.settings;
            state.know(own.knowledge());
            let model = own.graph.as_ref().map(|graph| graph.model);
            state.graph = model.map(|model| Box::new(InGraph::new(model)));
            state.learned = false;
        }
        companion
    }

    fn in_state(state: State, body: Arc<dyn Fn() + Send + Sync>, pool: Fibers, left: Left) -> Self {
        let known = state.knowledge();
        Self {
            runtime: Box::new(Runtime {
                quarantine: state.quarantine.clone(),
                state: RefCell::new(state),
            }),
            fibers: Vec::new(),
            pool,
            body,
            known,
            lessons: Lessons::default(),
            wiser: false,
            finished: true,
            left,
            companion: None,
        }
    }

    /// What is left behind of executions that came to no end.
    pub(crate) fn left(&self) -> Left {
        self.left.clone()
    }

    /// What this program has learned.
    pub(crate) fn knowledge(&self) -> Knowledge {
        self.runtime.state.borrow().knowledge()
    }

    /// From now on, executions know what another worker, or this program itself, has learned.
    pub(crate) fn know(&mut self, knowledge: Knowledge) {
        self.wiser = true;
        self.known = knowledge.clone();
        let mut state = self.runtime.state.borrow_mut();
        state.know(knowledge);
        state.learned = false;
    }

    /// Keeps what the execution has learned for the time when the exploration begins again, and goes on without.
    fn keep_lesson(&mut self) {
        let mut state = self.runtime.state.borrow_mut();
        if state.learned {
            self.lessons.add(|| state.knowledge());
            state.unlearn(&self.known);
        }
    }

    /// The same program, which knows what this one has learned, for another worker.
    pub(crate) fn twin(&self, options: &Options) -> Twin {
        Twin {
            body: self.body.clone(),
            options: options.clone(),
            knowledge: self.knowledge(),
            lessons: self.lessons.clone(),
            left: self.left.clone(),
        }
    }

    /// What is wrong with this execution, as far as is known before it is over.
    #[must_use]
    pub fn failure(&self) -> Option<Failure> {
        self.runtime.state.borrow().failure.clone()
    }

    /// Says what is wrong with this execution, unless that is known.
    pub(crate) fn fail(&mut self, failure: &Failure) {
        self.runtime.state.borrow_mut().fail(failure.clone());
    }

    /// Ends an execution in which no thread can move any more, and says what is wrong with it.
    pub fn finish(&mut self) -> Option<Failure> {
        let failed = self.failure().is_some();
        let verdict = self.runtime.state.borrow().verdict();
        if let Some(failure) = verdict {
            if !failed {
                self.runtime.state.borrow_mut().fail(failure);
            }
        } else if !self.finished && self.runtime.state.borrow().is_over() && self.end() {
            let mut state = self.runtime.state.borrow_mut();
            if let Some(leak) = state.leak() {
                state.fail(leak);
            }
        }
        self.failure()
    }

    /// All that is wrong with an execution that was finished, each with the number of moves before it.
    pub(crate) fn failures(&self) -> Vec<(Failure, usize)> {
        let state = self.runtime.state.borrow();
        let mut failures = state.failures.clone();
        for (_, steps) in &mut failures {
            *steps = state.moves_of(*steps);
        }
        failures
    }

    /// Where the execution stops to count, because an assumption does not hold there.
    pub(crate) fn is_cut_at(&self) -> Option<Place> {
        self.runtime.state.borrow().is_cut_at()
    }

    /// Whether this is no execution of the program: a wait that was chosen not to time out never ends.
    ///
    /// Nothing is lost by leaving it out. In the program, the wait times out some time. That is one of the executions of the
    /// other alternative, in which the thread goes on at once: it may be scheduled as late as one likes, and until
    /// then it has touched nothing.
    pub(crate) fn is_infeasible(&self) -> bool {
        let state = self.runtime.state.borrow();
        let waits = !state.is_over() && state.waits_too_long();
        state.failure.is_none() && state.is_cut_at().is_none() && (state.impossible || waits)
    }

    /// Whether something was learned since the last call, by this program or one of its twins, that the executions so far should
    /// have known: the exploration has to begin again. This program then knows it. To find out, the closure may be run some more times, as long as
    /// `goes_on` says so.
    pub fn learned(&mut self, goes_on: &mut dyn FnMut() -> bool) -> bool {
        self.send_scouts(goes_on);
        self.keep_lesson();
        match self.lessons.take() {
            Some(knowledge) => {
                self.know(knowledge);
                true
            }
            None => false,
        }
    }

    /// Says where the check stands.
    pub(crate) fn checked_at(&mut self, place: Place) {
        self.runtime.state.borrow_mut().origin = place;
    }

    /// From now on, the first steps of executions are given, this many: threads that spun may have to go on where
    /// it is not known that they do not wait.
    pub(crate) fn replays(&mut self, steps: usize) {
        self.runtime.state.borrow_mut().settings.replayed = steps;
    }

    /// What decides which steps executions have.
    pub(crate) fn stepping(&self) -> Stepping {
        self.runtime.state.borrow().stepping(&self.known)
    }

    /// From now on, executions have the steps that another program of the same code had.
    pub(crate) fn step_by(&mut self, stepping: &Stepping) {
        self.run_from_graphs(stepping.model);
        self.runtime.state.borrow_mut().step_by(stepping);
        self.known = self.knowledge();
    }

    /// A new exploration begins: it rests on nothing yet. Returns where it is noted what it comes to rest on, by this program
    /// and its twins.
    pub(crate) fn open_account(&mut self) -> Account {
        let account = Account::default();
        self.runtime.state.borrow_mut().account = account.for_another();
        account
    }

    /// What the executions so far rest on, those of the twins included.
    #[must_use]
    pub fn assumptions(&self) -> Assumptions<&'static std::panic::Location<'static>> {
        self.runtime.state.borrow().account.assumptions()
    }

    /// Where a thread of this execution made the step with this number, or is about to make it.
    pub(crate) fn place_of(&self, thread: ThreadId, number: u32) -> Option<Place> {
        let state = self.runtime.state.borrow();
        let announced = state.thread(thread).announced.get(number as usize);
        announced.map(|announced| announced.place)
    }

    /// Where a thread is about to make its next step.
    pub(crate) fn place_of_next(&self, thread: ThreadId) -> Option<Place> {
        let state = self.runtime.state.borrow();
        state.thread(thread).next().map(|next| next.place)
    }

    /// How many steps this execution has made.
    pub(crate) fn steps(&self) -> usize {
        self.runtime.state.borrow().made.len()
    }

    /// The moves of this execution.
    #[must_use]
    pub fn moves(&self) -> Vec<Move> {
        self.runtime.state.borrow().deeds.moves().collect()
    }

    /// The moves of this execution with threads numbered in the order in which they were started. Unlike
    /// their ids, these numbers do not depend on earlier executions.
    #[must_use]
    pub fn schedule(&self) -> Vec<Move> {
        if let Some(moves) = self.moves_in_graph() {
            return moves;
        }
        let threads = self.threads();
        let position = |id: ThreadId| threads.iter().position(|&started| started == id);
        let number = |id| position(id).and_then(|position| u32::try_from(position).ok());
        let state = self.runtime.state.borrow();
        let moves = state.deeds.moves();
        moves
            .map(|made| Move {
                thread: ThreadId(number(made.thread).unwrap_or(u32::MAX)),
                ..made
            })
            .collect()
    }

    /// This execution in words.
    #[must_use]
    pub fn story(&self) -> Story {
        self.runtime.state.borrow().story()
    }

    /// This execution as a graph, to be drawn.
    #[must_use]
    pub fn picture(&self) -> Graph {
        self.runtime.state.borrow().picture()
    }

    /// What a thread of this execution is called.
    #[must_use]
    pub fn name_of(&self, thread: ThreadId) -> String {
        self.runtime.state.borrow().name_of(thread)
    }

    /// Makes the next step of a thread, and lets it run to the one after.
    fn make(&mut self, next: Move, step: &mut Observed) {
        let id = next.thread;
        let (runs_on, begins) = {
            let mut state = self.runtime.state.borrow_mut();
            let thread = state.threads.get(id.index());
            let operation = thread.and_then(|thread| Some(&thread.next()?.operation));
            let ends = matches!(operation, Some(Operation::End { .. }));
            let begins = matches!(operation, Some(Operation::Begin));
            (state.make(id, next.choice, step) && !ends, begins)
        };
        if runs_on {
            self.run(id, begins);
        }
    }

    /// Lets a thread run to its next operation.
    pub(super) fn run(&mut self, id: ThreadId, begins: bool) {
        if begins {
            let fiber = self.start(id);
            self.runtime.state.borrow_mut().thread_mut(id).guard = fiber.guard();
            if self.fibers.len() <= id.index() {
                self.fibers.resize_with(id.index() + 1, || None);
            }
            self.fibers[id.index()] = Some(fiber);
        }
        let Some(fiber) = &mut self.fibers[id.index()] else {
            return;
        };
        let ended = fiber.resume(&raw const *self.runtime);
        if ended {
            if let Some(fiber) = self.fibers[id.index()].take() {
                self.pool.recycle(fiber);
            }
            self.runtime.state.borrow_mut().thread_mut(id).suspender = None;
        }
    }

    fn start(&mut self, id: ThreadId) -> Fiber {
        let runtime = &raw const *self.runtime;
        let (body, stack_size) = {
            let mut state = self.runtime.state.borrow_mut();
            let thread = state.thread_mut(id);
            (thread.body.take(), thread.stack_size)
        };
        match body {
            Some(body) => self
                .pool
                .start(runtime, stack_size, move || run_thread(body)),
            None => {
                let main = self.body.clone();
                let main = move || run_thread(move || run_main(&*main));
                self.pool.start(runtime, stack_size, main)
            }
        }
    }
}

impl Execution for Program {
    fn restart(&mut self) {
        self.end();
        self.keep_lesson();
        // If it knows more, it may well do something else.
        let follows = !std::mem::take(&mut self.wiser);
        self.finished = false;
        let generation = GENERATIONS.fetch_add(1, Ordering::Relaxed);
        let mut state = self.runtime.state.borrow_mut();
        state.deeds.begin(follows);
        state.begin(generation);
    }

    fn threads(&self) -> &[ThreadId] {
        // SAFETY: the list changes only in `restart` and `step`, which need the program exclusively, and no
        // code under test runs otherwise.
        unsafe { &(*self.runtime.state.as_ptr()).started }
    }

    fn readiness(&self, thread: ThreadId) -> Readiness {
        let state = self.runtime.state.borrow();
        if state.thread(thread).ended {
            Readiness::Ended
        } else if state.goes_on() && state.can_move(thread) {
            Readiness::Enabled
        } else {
            Readiness::Blocked
        }
    }

    fn alternatives(&self, thread: ThreadId) -> u32 {
        self.runtime.state.borrow().alternatives(thread)
    }

    fn location_count(&self) -> usize {
        self.runtime.state.borrow().objects.location_count()
    }

    fn step(&mut self, next: Move, step: &mut Observed) -> Result<(), Diverged> {
        self.make(next, step);
        let mut state = self.runtime.state.borrow_mut();
        state.deeds.was_possible()?;
        state.check_progress(next.thread);
        state.compare(next)
    }

    /// A thread that moves several times in a row does so without coming back in between: see `State::runs_on`.
    fn replay(&mut self, trace: &mut Trace, step: &mut Observed) -> Result<(), Diverged> {
        self.restart();
        self.runtime
            .state
            .borrow_mut()
            .deeds
            .set_script(trace.moves());
        loop {
            let next = self.runtime.state.borrow().deeds.next_in_script();
            let Some(next) = next else { break };
            self.runtime.state.borrow_mut().deeds.follow();
            self.make(next, step);
            let mut state = self.runtime.state.borrow_mut();
            let last = state.deeds.last_in_script().unwrap_or(next);
            state.check_progress_again(last.thread);
            state.compare(last)?;
        }
        let state = self.runtime.state.borrow();
        for event in 0..trace.len() {
            trace.refresh(event, state.accesses_of(event));
        }
        Ok(())
    }

    fn foresee(
        &mut self,
        trace: &Trace,
        cut: &Cut,
        thread: ThreadId,
        number: u32,
        step: &mut Observed,
    ) -> bool {
        self.runtime
            .state
            .borrow()
            .foresee(trace, cut, thread, number, step)
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // A panic of the explorer itself may come from anywhere, also from the middle of a step: no code under test runs then.
        if std::thread::panicking() {
            self.abandon();
        } else {
            self.end();
        }
        self.keep_lesson();
    }
}

/// What runs on the fiber of a thread.
fn run_thread(body: impl FnOnce()) {
    let base = 0u64;
    if let Some(runtime) = super::try_current() {
        let mut state = runtime.state.borrow_mut();
        let current = state.current;
        state.thread_mut(current).stack_base =
            std::ptr::from_ref(std::hint::black_box(&base)).addr();
    }
    let ended = catch_unwind(AssertUnwindSafe(body));
    finish(ended.is_err());
    // Destructors of thread-locals may panic too, and make operations.
    let locals = catch_unwind(AssertUnwindSafe(crate::thread::drop_locals));
    let Some(runtime) = super::try_current() else {
        return;
    };
    let mut state = runtime.state.borrow_mut();
    if state.phase != Phase::Running {
        return;
    }
    let id = state.current;
    if ended.is_err() || locals.is_err() {
        state.note_panic(id);
        // As in `std`, nothing can catch what a thread-local's destructor throws.
        if id == ThreadId::MAIN || locals.is_err() {
            let failure = state.panic_failure();
            state.fail(failure);
            return;
        }
    }
    let end = state.end_of(id);
    let place = state.thread(id).announced[0].place;
    state.settle_memory(place);
    if let Some(failure) = state.memory_failure() {
        state.fail(failure);
        return;
    }
    state.announce(Operation::End { end }, place);
}

/// A thread has returned, or has panicked. Nobody has a handle to the main thread.
fn finish(panicked: bool) {
    let Some(runtime) = super::try_current() else {
        return;
    };
    let mut state = runtime.state.borrow_mut();
    let id = state.current;
    if state.phase != Phase::Running || id == ThreadId::MAIN || !state.thread(id).drops_locals {
        return;
    }
    if panicked {
        state.note_panic(id);
    }
    let end = state.end_of(id);
    let place = state.thread(id).announced[0].place;
    drop(state);
    super::perform_at(place, |_| Ok(Operation::Finish { end }));
}

fn run_main(main: &dyn Fn()) {
    main();
}

/// Where a thread runs, for the handler of stack overflows.
pub(super) fn running_thread() -> Option<(&'static Runtime, ThreadId)> {
    // SAFETY: see `try_current`.
    let runtime = unsafe { fiber::current().as_ref() }?;
    let current = runtime.state.try_borrow().ok()?.current;
    Some((runtime, current))
}
