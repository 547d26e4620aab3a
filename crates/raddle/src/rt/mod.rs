//! The runtime: executions of real code, one step at a time.
//!
//! Every operation of the types of this crate goes through [`perform`]. It *announces* the operation
//! and suspends the thread; the explorer looks at what all threads have announced, and lets one of them
//! go on. That one's operation is made (`effect.rs`), the thread runs through code that nobody else can see, and
//! stops at its next operation.

mod account;
mod barriers;
mod clocks;
mod counts;
mod deeds;
mod effect;
mod failure;
mod fiber;
mod foresee;
mod graph;
mod hash;
mod kept;
mod knowledge;
mod make;
mod nested;
pub(crate) mod objects;
pub(crate) mod operation;
#[cfg(unix)]
mod overflow;
mod panics;
mod picture;
mod polling;
mod program;
mod quarantine;
mod state;
mod statics;
mod story;
mod teardown;
mod thread;
mod unordered;
mod unwinding;
mod verdict;
mod views;

use std::cell::RefCell;
use std::rc::Rc;

pub(crate) use account::Account;
pub(crate) use clocks::Kind as CellAccess;
pub(crate) use counts::Counted;
pub(crate) use deeds::{LEAST_ADDRESS, Record, not_the_same};
pub(crate) use effect::{ENDED, FINISHED};
pub(crate) use failure::spot;
pub use failure::{Failure, FailureKind, Remark};
pub use fiber::Backend;
use fiber::Suspender;
pub(crate) use graph::{Graphs, Verdict};
pub(crate) use hash::mix;
pub(crate) use knowledge::{Knowledge, Stepping};
pub(crate) use objects::{Id, Kind};
use operation::Operation;
pub(crate) use polling::poll_at;
pub use program::Program;
use quarantine::Quarantine;
pub(crate) use state::{Misuse, Phase, Settings, State};
pub(crate) use statics::{Home, home};
pub(crate) use teardown::Left;
pub(crate) use thread::Local;
pub(crate) use views::View;

/// Where an operation stands in the source.
pub(crate) type Place = &'static std::panic::Location<'static>;

/// The place that the caller of the caller stands at.
#[track_caller]
#[inline]
pub(crate) const fn here() -> Place {
    std::panic::Location::caller()
}

/// The runtime of one exploration.
pub(crate) struct Runtime {
    state: RefCell<State>,
    /// What the code under test has freed in this execution.
    quarantine: Rc<Quarantine>,
}

impl Runtime {
    /// Says how to suspend the thread that has just begun to run.
    pub(crate) fn entered(&self, suspender: Suspender) {
        let mut state = self.state.borrow_mut();
        let current = state.current;
        state.thread_mut(current).suspender = Some(suspender);
    }

    fn perform(
        &self,
        place: Place,
        make: impl FnOnce(&mut State) -> Result<Operation, Misuse>,
    ) -> u64 {
        let announced = {
            let mut state = self.state.borrow_mut();
            match make(&mut state) {
                Err(misuse) => Err(misuse),
                Ok(operation) if state.phase == Phase::Running => {
                    let current = state.current;
                    if !state.thread(current).dropping.is_empty() {
                        state.content_operates();
                    }
                    state.announce(operation, place);
                    if state.runs_on() {
                        return state.thread(current).result;
                    }
                    Ok(state.thread(current).suspender)
                }
                Ok(operation) => {
                    drop(state);
                    return self.perform_in_teardown(&operation);
                }
            }
        };
        match announced {
            Ok(Some(suspender)) => {
                // SAFETY: the suspender is that of the thread that is running.
                unsafe { suspender.suspend() };
                let (result, is_followed) = {
                    let state = self.state.borrow();
                    let current = state.current;
                    (state.thread(current).result, state.sites.follows(current))
                };
                if is_followed {
                    polling::scrub();
                }
                result
            }
            Ok(None) => unreachable!("a thread that runs has told how to suspend it"),
            Err(misuse) => misuse.panic(),
        }
    }

    /// Ends the execution with a failure that the current thread has found.
    fn fail(&self, failure: Failure) {
        let suspender = {
            let mut state = self.state.borrow_mut();
            if state.phase != Phase::Running {
                return;
            }
            state.fail(failure);
            state.thread(state.current).suspender
        };
        if let Some(suspender) = suspender {
            // SAFETY: the suspender is that of the thread that is running.
            unsafe { suspender.suspend() };
            unreachable!("a thread of an execution that has failed was resumed");
        }
    }
}

/// The runtime of the thread that is running, if it is run by one.
#[inline]
pub(crate) fn try_current() -> Option<&'static Runtime> {
    let runtime = fiber::current();
    // SAFETY: it is set only while a fiber of that runtime runs, and who uses the reference
    // is code on that fiber.
    unsafe { runtime.as_ref() }
}

#[track_caller]
fn current() -> &'static Runtime {
    match try_current() {
        Some(runtime) => runtime,
        None => panic!(
            "raddle: the types of this crate only work inside of `raddle::check`; \
             use those of `std` elsewhere"
        ),
    }
}

/// Makes an operation: the thread stops before it until the explorer lets it go on. Returns what it gives.
#[track_caller]
pub(crate) fn perform(make: impl FnOnce(&mut State) -> Result<Operation, Misuse>) -> u64 {
    current().perform(here(), make)
}

/// The same, for an operation that stands somewhere else.
#[track_caller]
pub(crate) fn perform_at(
    place: Place,
    make: impl FnOnce(&mut State) -> Result<Operation, Misuse>,
) -> u64 {
    current().perform(place, make)
}

/// Looks at the state, or changes what is no location, without a step.
#[track_caller]
pub(crate) fn with<R>(look: impl FnOnce(&mut State) -> R) -> R {
    look(&mut current().state.borrow_mut())
}

/// Whether executions are graphs: an operation then touches one location.
pub(crate) fn is_graph() -> bool {
    try_current().is_some_and(|runtime| runtime.state.borrow().is_graph())
}

/// Ends the execution with a failure that was found by looking, without an operation.
pub(crate) fn fail(failure: Failure) {
    if let Some(runtime) = try_current() {
        runtime.fail(failure);
    }
}

/// The current thread says that it polls. Returns whether it arrives somewhere, and if so, up to where its stack is to be compared, or 0.
pub(crate) fn arrives() -> Option<usize> {
    let mut state = current().state.borrow_mut();
    (!state.lets_time_pass()).then(|| state.stack_to_compare())
}

/// Whether the current thread has said that it polls.
#[inline]
pub(crate) fn is_polling() -> bool {
    try_current().is_some_and(|runtime| {
        let state = runtime.state.borrow();
        state.thread(state.current).polling.has_begun()
    })
}

/// The code under test asks which thread it runs on, in some way: a destructor that does can tell who has dropped the
/// last reference.
pub(crate) fn depends_on_thread() {
    if let Some(runtime) = try_current()
        && let Ok(mut state) = runtime.state.try_borrow_mut()
        && state.phase == Phase::Running
        && !state.thread(state.current).dropping.is_empty()
    {
        state.content_operates();
    }
}
