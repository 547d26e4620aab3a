//! The end of an execution.
//!
//! Most executions are over when they end: all of their threads have ended. Others are *given up* while threads still
//! have something to do: an explorer has found out that what comes is covered by other executions, a scout has seen
//! enough, time is up, or the execution is infeasible (a wait that was chosen not to time out never ends).
//!
//! Code under test must never run in a state that no execution has. Its destructors assert what holds whenever they run,
//! and they loop until something happens that does happen whenever they run. So an execution that is given up is
//! neither unwound (its destructors would see half-finished states; one that asserts would panic, a second one would
//! abort the process) nor are its destructors run with operations that do nothing (one that loops would hang). It is
//! *run on*, by some schedule without preemptions: what happens then is one of its executions, in which destructors run where they
//! run anyway, and all memory comes back. A wait that was chosen not to time out, and that nothing else can end, times
//! out then, as it would. What is found on the way counts for nothing: the explorer has given the execution up because
//! others cover it, or because it claims nothing about it.
//!
//! A scout of an execution that is a graph sees what one thread has seen ([`super::graph`]). Where that is not what is there, the state is none of an
//! execution. Its threads are left behind at once.
//!
//! Running on may lead to no end: the execution has failed, is deadlocked, or goes on for long. Its threads are then
//! *left behind*. Their frames are never entered again, and what they own is leaked; no code runs.
//! In a program without failures this happens to few executions, if any: each of them has threads that loop for
//! longer than is worth waiting for, without saying that they spin. As many threads may be left behind as memory
//! allows ([`Left`]), and beyond that the exploration ends and claims nothing.
//!
//! Statics are the exception. They have no destructors in Rust, but their copies (`statics.rs`) are dropped after each
//! execution: without that, every execution would leak them, and an `Arc` in one would look like a leak. Their destructors run when
//! all threads have ended, on a fiber of their own; operations are made at once, panics are swallowed, and a destructor
//! that waits is left behind.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use raddle_outcome::{Assumption, Kind as Assumed};
use raddle_schedule::{Execution as _, Move, Observed, ThreadId};

use super::Runtime;
use super::effect::effect;
use super::fiber::Backend;
use super::operation::{Operation, channel, once};
use super::polling::Turns;
use super::program::Program;
use super::state::{Phase, State};

/// Destructors of statics that make more operations than this wait for something that will not happen.
const PATIENCE: u32 = 10_000;

/// An execution that is given up may make this many steps more, and as many again as it has made.
const LONG: usize = 2_000;

/// How many threads may be left behind. What each of them owns stays in memory.
const MOST_COROUTINES: usize = 50_000;

/// The same for real threads, which the system has fewer of.
const MOST_REAL_THREADS: usize = 1_000;

/// How many threads were left behind, in all executions of all workers of a check.
#[derive(Clone, Debug, Default)]
pub(crate) struct Left {
    threads: Arc<AtomicUsize>,
    most: usize,
}

impl Left {
    pub(super) fn new(backend: Backend) -> Self {
        Self {
            threads: Arc::default(),
            most: match backend {
                Backend::Coroutines => MOST_COROUTINES,
                Backend::Threads => MOST_REAL_THREADS,
            },
        }
    }

    fn add_one(&self) {
        self.threads.fetch_add(1, Ordering::Relaxed);
    }

    /// How many there are, if that is too many.
    pub(crate) fn too_many(&self) -> Option<usize> {
        let threads = self.threads.load(Ordering::Relaxed);
        (threads > self.most).then_some(threads)
    }
}

impl Program {
    /// Ends the execution, if it has not ended already. Returns whether all of its memory has come back, but for what it
    /// leaks.
    pub(super) fn end(&mut self) -> bool {
        if std::mem::replace(&mut self.finished, true) {
            return false;
        }
        let runs_on = {
            let state = self.runtime.state.borrow();
            !state.is_over() && !state.is_frozen()
        };
        if runs_on {
            self.run_on();
        }
        let dropped = self.tear_down();
        if self.runtime.quarantine.has_overflowed() {
            let mut state = self.runtime.state.borrow_mut();
            let reused = Assumption::from(Assumed::ReusedMemory);
            state.assume(reused.because(
                "an execution frees more than can be kept, and what uses it afterwards is not found",
            ));
        }
        self.runtime.quarantine.release();
        dropped
    }

    /// The same without running any code.
    pub(super) fn abandon(&mut self) {
        if !std::mem::replace(&mut self.finished, true) {
            self.leave_behind();
            self.runtime.quarantine.release();
        }
    }

    fn tear_down(&mut self) -> bool {
        let is_over = {
            let mut state = self.runtime.state.borrow_mut();
            state.phase = Phase::Teardown;
            state.is_over() && state.failure.is_none() && !state.is_frozen()
        };
        let dropped = is_over && self.drop_statics();
        if !is_over {
            self.leave_behind();
        }
        dropped
    }

    /// Makes steps until all threads have ended or there is no end in sight.
    fn run_on(&mut self) {
        // Nobody is preempted, so that a bound on preemptions holds for the whole of it.
        let (scout, limit, mut last, account) = {
            let mut state = self.runtime.state.borrow_mut();
            state.deeds.follow_nobody();
            state.forget_sites();
            // Nothing that was explored rests on what comes now.
            let account = std::mem::take(&mut state.account);
            // A scout has seen what it was sent for.
            let limit = 2 * state.made.len() + LONG;
            let last = state.made.last().map(|made| made.thread);
            (state.sites.scout.take(), limit, last, account)
        };
        let mut step = Observed::default();
        while let Some(thread) = self.some_thread(last) {
            if self.runtime.state.borrow().made.len() >= limit {
                break;
            }
            last = Some(thread);
            let next = Move { thread, choice: 0 };
            // There is nothing to compare it with.
            let _ = self.step(next, &mut step);
        }
        let mut state = self.runtime.state.borrow_mut();
        state.sites.scout = scout;
        state.account = account;
    }

    /// A thread that can move: the same as before, if it can.
    fn some_thread(&self, last: Option<ThreadId>) -> Option<ThreadId> {
        let mut state = self.runtime.state.borrow_mut();
        if state.failure.is_some() {
            return None;
        }
        loop {
            let can_move = |&id: &ThreadId| !state.thread(id).ended && state.can_move(id);
            let thread = last
                .filter(can_move)
                .or_else(|| state.started.iter().copied().find(can_move));
            let is_idle = state.impossible;
            if let Some(thread) = thread
                && !is_idle
            {
                return Some(thread);
            }
            if !state.time_out_late() {
                return None;
            }
        }
    }

    /// Drops the copies of statics of an execution that is over. Returns whether all of what they own was dropped.
    fn drop_statics(&mut self) -> bool {
        if !self.runtime.state.borrow().copies.are_some() {
            return true;
        }
        self.runtime.state.borrow_mut().current = ThreadId::MAIN;
        let runtime = &raw const *self.runtime;
        let dropped = Rc::new(Cell::new(false));
        let all = dropped.clone();
        let mut fiber = self.pool.start(runtime, 0, move || {
            // SAFETY: the runtime lives until the fiber has ended or was abandoned.
            all.set(unsafe { (*runtime).drop_statics() });
        });
        if fiber.resume(runtime) {
            self.pool.recycle(fiber);
        } else {
            self.left.add_one();
            self.pool.abandon(fiber);
            self.runtime.leak_statics();
        }
        dropped.get()
    }

    /// Abandons what is left of an execution, without running any of its code.
    fn leave_behind(&mut self) {
        let mut state = self.runtime.state.borrow_mut();
        state.phase = Phase::Teardown;
        std::mem::forget(state.take_bodies());
        for index in 0..state.started.len() {
            let id = state.started[index];
            state.thread_mut(id).forget_locals();
            let fiber = self.fibers.get_mut(id.index()).and_then(Option::take);
            let Some(fiber) = fiber else { continue };
            self.left.add_one();
            self.pool.abandon(fiber);
        }
        drop(state);
        self.runtime.leak_statics();
    }
}

impl State {
    /// Lets a wait time out that was chosen not to, and that nothing else can end. Returns whether there is one.
    fn time_out_late(&mut self) -> bool {
        let waits = |id: &ThreadId| self.waits_for_time(*id);
        let Some(id) = self.started.iter().copied().find(waits) else {
            return false;
        };
        self.impossible = false;
        self.turns = Turns::default();
        if let Some(condvar) = self.bed_of(id) {
            let waiters = self.objects.value(condvar);
            self.objects.set(condvar, waiters - 1);
            self.sleepers.retain(|&(_, thread)| thread != id);
        }
        let thread = self.thread_mut(id);
        thread.asleep = false;
        thread.waits_in_time = false;
        thread.timed_out_late = true;
        if let Some(next) = thread.announced.last_mut() {
            match &mut next.operation {
                operation @ (Operation::Park { .. } | Operation::Await { .. }) => {
                    *operation = Operation::Resume;
                }
                Operation::Receive { blocking, .. } => *blocking = false,
                _ => {}
            }
        }
        true
    }

    /// Whether a thread is blocked in a wait that was chosen not to time out, and can be woken as if it had.
    fn waits_for_time(&self, id: ThreadId) -> bool {
        let thread = self.thread(id);
        let Some(next) = thread.next().filter(|_| thread.waits_in_time) else {
            return false;
        };
        match next.operation {
            _ if thread.asleep => true,
            Operation::Park { .. } | Operation::Await { .. } => !self.is_ready(id),
            Operation::Receive { channel, .. } => {
                // Who waits for a message without a buffer has told senders so, and can't take that back.
                let has_buffer = self.objects.channels[channel as usize].capacity != Some(0);
                has_buffer && !self.is_ready(id)
            }
            _ => false,
        }
    }
}

impl Runtime {
    /// An operation of a destructor of a static. Nobody looks at what comes of it.
    pub(super) fn perform_in_teardown(&self, operation: &Operation) -> u64 {
        let mut state = self.state.borrow_mut();
        let current = state.current;
        let thread = state.thread_mut(current);
        thread.operations_in_teardown += 1;
        if thread.operations_in_teardown > PATIENCE
            && let Some(suspender) = thread.suspender
        {
            drop(state);
            // SAFETY: the suspender is that of the fiber that is running. It is not resumed again.
            unsafe { suspender.suspend() };
            unreachable!("a thread that was left behind was resumed");
        }
        let mut accesses = Vec::new();
        let effect = effect(operation, &state.objects, &mut |access| {
            accesses.push(access);
        });
        for access in accesses {
            state.objects.set(access.location, access.after);
        }
        if let Operation::Send { channel, .. } = *operation {
            state.objects.make_room_in(channel);
        }
        match operation {
            Operation::Receive { .. } | Operation::Taken { .. } if !effect.enabled => {
                channel::DISCONNECTED
            }
            Operation::OnceBegin { .. } if !effect.enabled => once::NEW,
            _ => effect.result,
        }
    }
}
