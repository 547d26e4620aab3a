//! Threads that are plain functions, run one operation further in each step.
//!
//! A function cannot be stopped and continued, but it can be run again: each operation that was made before is answered
//! as it was, and at the first one that is new the function returns. What it does to memory that is no location happens
//! between operations; it is done once, and remembered among the answers.
//!
//! Creating a thread takes two steps. The first touches nothing; the second writes the *thread table*, which each thread reads
//! when it begins and when it ends. So it matters whether a thread begins or ends before or after another is created, but
//! beginnings and ends commute. Waiting for all threads is one step: waiting for one after the other would be places to switch
//! at for nothing.

use raddle_schedule::{
    Cut, Diverged, Execution, LocationId, Mode, Move, Observed, Readiness, ThreadId, Trace,
    ValuedAccess,
};

/// One step of a thread.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Operation {
    Begin,
    End,
    /// Accesses a variable and gives what it was. All accesses count as writes, as if each were interlocked.
    Access {
        variable: u32,
        new: Option<i64>,
    },
    Lock,
    Unlock,
    /// The first half of creating a thread.
    Fork,
    /// The second half: the thread can begin.
    Start(u32),
    /// Waits for the end of all threads from 1 to this one.
    JoinAll(u32),
}

const LOCK: LocationId = LocationId(0);
const THREAD_TABLE: LocationId = LocationId(1);

fn end_of(thread: u32) -> LocationId {
    LocationId(2 + 2 * thread)
}

fn variable_at(variable: u32) -> LocationId {
    LocationId(3 + 2 * variable)
}

/// How a thread goes on after an operation: with its result, or not yet, if it is this operation that the thread is to make
/// next.
pub(crate) type Reached<T> = Result<T, Operation>;

/// What the threads do.
pub(crate) trait Program {
    /// Memory whose accesses are not steps.
    type Plain: Default;

    /// The whole of a thread, between its beginning and its end.
    fn body(&self, thread: u32, context: &mut Context<'_, Self::Plain>) -> Reached<()>;
}

/// How a thread makes operations.
pub(crate) struct Context<'a, P> {
    answers: &'a mut Vec<i64>,
    /// How many answers were used in this run.
    used: usize,
    plain: &'a mut P,
}

impl<P> Context<'_, P> {
    pub(crate) fn make(&mut self, operation: Operation) -> Reached<i64> {
        let answer = self.answers.get(self.used).copied().ok_or(operation)?;
        self.used += 1;
        Ok(answer)
    }

    /// Accesses the memory that is no location.
    pub(crate) fn plain(&mut self, access: impl FnOnce(&mut P) -> i64) -> i64 {
        if self.used == self.answers.len() {
            self.answers.push(access(self.plain));
        }
        self.used += 1;
        self.answers[self.used - 1]
    }
}

#[derive(Debug, Default)]
struct Thread {
    /// What its operations and plain accesses gave.
    answers: Vec<i64>,
    made: Vec<Operation>,
    next: Option<Operation>,
}

/// A program under way.
pub(crate) struct Replayed<M: Program> {
    program: M,
    plain: M::Plain,
    threads: Vec<Thread>,
    ids: Vec<ThreadId>,
    values: Vec<u64>,
}

impl<M: Program> Replayed<M> {
    pub(crate) fn new(program: M) -> Self {
        Self {
            program,
            plain: M::Plain::default(),
            threads: Vec::new(),
            ids: Vec::new(),
            values: Vec::new(),
        }
    }

    pub(crate) fn plain(&self) -> &M::Plain {
        &self.plain
    }

    fn value(&self, location: LocationId) -> u64 {
        self.values.get(location.index()).copied().unwrap_or(0)
    }

    /// Adds a thread; all are started by the main thread, in the order of their numbers.
    fn start(&mut self) {
        let id = self.ids.len() as u32;
        self.ids.push(ThreadId(id));
        self.threads.push(Thread::default());
        self.run(id);
    }

    /// Runs a thread up to the operation that it has no answer to.
    fn run(&mut self, id: u32) {
        let thread = &mut self.threads[id as usize];
        let mut context = Context {
            answers: &mut thread.answers,
            used: 0,
            plain: &mut self.plain,
        };
        let mut whole = || {
            context.make(Operation::Begin)?;
            self.program.body(id, &mut context)?;
            context.make(Operation::End)
        };
        thread.next = whole().err();
    }
}

/// What an operation of a thread does where locations have these values; whether it can be made.
fn effect(
    thread: ThreadId,
    operation: Operation,
    value: impl Fn(LocationId) -> u64,
    step: &mut Observed,
) -> bool {
    step.clear();
    let mut touch = |location, mode, after| {
        step.accesses.push(ValuedAccess {
            location,
            mode,
            before: value(location),
            after,
        });
    };
    match operation {
        Operation::Begin => touch(THREAD_TABLE, Mode::Read, value(THREAD_TABLE)),
        Operation::End => {
            touch(THREAD_TABLE, Mode::Read, value(THREAD_TABLE));
            touch(end_of(thread.0), Mode::Write, 1);
        }
        Operation::Access { variable, new } => {
            let location = variable_at(variable);
            let after = new.map_or(value(location), i64::cast_unsigned);
            touch(location, Mode::Write, after);
        }
        Operation::Lock => {
            touch(LOCK, Mode::Write, 1);
            return value(LOCK) == 0;
        }
        Operation::Unlock => touch(LOCK, Mode::Write, 0),
        Operation::Fork => {}
        Operation::Start(child) => {
            touch(THREAD_TABLE, Mode::Write, u64::from(child));
            step.wakes.push(ThreadId(child));
        }
        Operation::JoinAll(last) => {
            for end in (1..=last).map(end_of) {
                touch(end, Mode::Read, value(end));
            }
            return (1..=last).all(|other| value(end_of(other)) == 1);
        }
    }
    true
}

impl<M: Program> Execution for Replayed<M> {
    fn restart(&mut self) {
        self.plain = M::Plain::default();
        self.threads.clear();
        self.ids.clear();
        self.values.clear();
        self.start();
    }

    fn threads(&self) -> &[ThreadId] {
        &self.ids
    }

    fn readiness(&self, thread: ThreadId) -> Readiness {
        let Some(next) = self.threads[thread.index()].next else {
            return Readiness::Ended;
        };
        let value = |location| self.value(location);
        if effect(thread, next, value, &mut Observed::default()) {
            Readiness::Enabled
        } else {
            Readiness::Blocked
        }
    }

    fn alternatives(&self, _: ThreadId) -> u32 {
        1
    }

    fn step(&mut self, next: Move, step: &mut Observed) -> Result<(), Diverged> {
        let id = next.thread;
        let operation = self.threads[id.index()].next.expect("it has not ended");
        let enabled = effect(id, operation, |location| self.value(location), step);
        assert!(enabled, "{operation:?} has to wait");
        for access in &step.accesses {
            let index = access.location.index();
            if self.values.len() <= index {
                self.values.resize(index + 1, 0);
            }
            self.values[index] = access.after;
        }
        let found = step.accesses.first().map_or(0, |access| access.before);
        let thread = &mut self.threads[id.index()];
        thread.made.push(operation);
        thread.answers.push(found.cast_signed());
        if let Operation::Start(_) = operation {
            self.start();
        }
        self.run(id.0);
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
        let known = &self.threads[thread.index()];
        let made = known.made.get(number as usize).copied();
        let Some(operation) = made.or(known.next) else {
            return false;
        };
        // What no event of the trace has touched is as it was in the beginning.
        let value = |location| trace.value_at(location, cut).unwrap_or(0);
        effect(thread, operation, value, step)
    }
}
