//! What the runtime knows of a thread.

use std::any::Any;
use std::sync::{Arc, Mutex, PoisonError};

use raddle_schedule::{LocationId, ThreadId};

use super::Place;
use super::counts::Counted;
use super::fiber::Suspender;
use super::hash::Table;
use super::operation::Operation;
use super::polling::{Past, Polling, Suspended};

/// An operation that a thread made or is about to make.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Announced {
    pub(crate) operation: Operation,
    pub(crate) place: Place,
    /// Whether the thread is suspended before it, because it polls.
    pub(crate) suspended: Option<Suspended>,
    /// The step that woke or started the thread: who made it, and which number it had.
    pub(crate) woken_by: Option<(ThreadId, u32)>,
}

/// What runs as a thread.
pub(crate) type Body = Box<dyn FnOnce()>;

/// A thread of an execution. All of its memory is kept for the next one.
#[derive(Default)]
pub(crate) struct Thread {
    pub(crate) name: Option<String>,
    /// Whether it was started in this execution.
    pub(crate) started: bool,
    pub(crate) ended: bool,
    /// Whether it sleeps: its next operation has to wait until another thread wakes it.
    pub(crate) asleep: bool,
    /// Everything it made in this execution, and the operation it will make next.
    pub(crate) announced: Vec<Announced>,
    /// How many steps it has made.
    pub(crate) steps: u32,
    /// What its last operation gave.
    pub(crate) result: u64,
    /// Where and how it polls.
    pub(crate) polling: Polling,
    /// What its local state depends on.
    pub(crate) past: Past,
    pub(crate) children: u32,
    /// Its end, as a location.
    pub(crate) end: Option<LocationId>,
    /// Its token for parking.
    pub(crate) token: Option<LocationId>,
    /// Where executions are graphs: what it waits for on a condition variable.
    pub(crate) notification: Option<LocationId>,
    pub(crate) body: Option<Body>,
    /// How large its stack is at least.
    pub(crate) stack_size: usize,
    pub(crate) suspender: Option<Suspender>,
    /// The address of a variable of the function that runs it.
    pub(crate) stack_base: usize,
    /// The addresses below its stack that nobody may touch.
    pub(crate) guard: std::ops::Range<usize>,
    /// The locks that it holds, and where it took them.
    pub(crate) held: Vec<(LocationId, Place)>,
    /// Its thread-local values, by the address of their key.
    pub(crate) locals: Table<usize, Local>,
    pub(crate) local_order: Vec<usize>,
    /// Whether some of these have destructors.
    pub(crate) drops_locals: bool,
    /// The number of its panic, if one ended it.
    pub(crate) panicked: Option<usize>,
    /// Whether another thread has seen how it ended.
    pub(crate) joined: bool,
    /// Whether it waits for something that may take too long, in an execution in which it does not.
    pub(crate) waits_in_time: bool,
    /// How often it was woken for no reason.
    pub(crate) spurious: u32,
    /// The counted allocations whose content it is dropping.
    pub(crate) dropping: Vec<Counted>,
    /// Whether a wait has timed out that was chosen not to.
    pub(crate) timed_out_late: bool,
    /// How many operations destructors of statics have made.
    pub(crate) operations_in_teardown: u32,
}

/// A thread-local value.
pub(crate) enum Local {
    Alive(Box<dyn Any>),
    /// Its destructor has run or is running.
    Destroyed,
}

impl Thread {
    /// Makes it a thread that was not started.
    pub(crate) fn reset(&mut self) {
        self.name = None;
        self.started = false;
        self.ended = false;
        self.asleep = false;
        self.announced.clear();
        self.steps = 0;
        self.result = 0;
        self.polling.reset();
        self.past = Past::default();
        self.children = 0;
        self.end = None;
        self.token = None;
        self.notification = None;
        self.stack_size = 0;
        self.suspender = None;
        self.stack_base = 0;
        self.guard = 0..0;
        self.held.clear();
        self.local_order.clear();
        self.drops_locals = false;
        if !self.locals.is_empty() {
            // One of their destructors has panicked.
            self.forget_locals();
        }
        self.panicked = None;
        self.joined = false;
        self.waits_in_time = false;
        self.spurious = 0;
        self.dropping.clear();
        self.timed_out_late = false;
        self.operations_in_teardown = 0;
    }

    /// Leaks its thread-local values.
    pub(crate) fn forget_locals(&mut self) {
        std::mem::forget(std::mem::take(&mut self.locals));
    }

    /// Its next operation.
    #[inline]
    pub(crate) fn next(&self) -> Option<&Announced> {
        self.announced.get(self.steps as usize)
    }

    #[inline]
    pub(crate) fn announce(&mut self, mut operation: Operation, place: Place) {
        let suspended = self
            .polling
            .announce(&self.announced, &mut operation, place);
        self.announced.push(Announced {
            operation,
            place,
            suspended,
            woken_by: None,
        });
    }

    #[inline]
    pub(crate) fn remember_lock(&mut self, lock: LocationId, place: Place) {
        self.held.push((lock, place));
    }

    #[inline]
    pub(crate) fn forget_lock(&mut self, lock: LocationId) {
        if let Some(index) = self.held.iter().rposition(|held| held.0 == lock) {
            self.held.remove(index);
        }
    }
}

/// Names threads so that a thread has the same number in all executions, whoever of several workers runs them: by its
/// parent, and how many threads that had started before.
#[derive(Clone, Debug, Default)]
pub(crate) struct Names {
    /// The children of each thread, as far as this worker knows them.
    known: Vec<Vec<ThreadId>>,
    all: Arc<Mutex<AllNames>>,
}

#[derive(Debug, Default)]
struct AllNames {
    children: Vec<Vec<ThreadId>>,
    count: u32,
}

impl Names {
    pub(crate) fn of_child(&mut self, parent: ThreadId, child: u32) -> ThreadId {
        let known = self.known.get(parent.index());
        if let Some(&id) = known.and_then(|children| children.get(child as usize)) {
            return id;
        }
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        let AllNames { children, count } = &mut *all;
        if children.len() <= parent.index() {
            children.resize_with(parent.index() + 1, Vec::new);
        }
        let children = &mut children[parent.index()];
        while children.len() <= child as usize {
            // 0 is the main thread.
            *count = count.checked_add(1).expect("too many threads");
            children.push(ThreadId(*count));
        }
        if self.known.len() <= parent.index() {
            self.known.resize_with(parent.index() + 1, Vec::new);
        }
        self.known[parent.index()].clone_from(children);
        children[child as usize]
    }
}
