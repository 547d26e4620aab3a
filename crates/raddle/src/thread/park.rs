//! Waiting without a lock.

use std::sync::atomic::Ordering;
use std::time::Duration;

use raddle_outcome::Kind;

use crate::rt::{
    self, Place, here,
    operation::{Operation, Reason},
    poll_at,
};

/// Waits until somebody [unparks](super::Thread::unpark) the thread, or has done so before.
///
/// In some executions it returns for no reason, as the documentation of `std` warns (see `Checker::spurious_wakeups`).
#[track_caller]
pub fn park() {
    if !wakes_for_no_reason() {
        park_at(here());
    }
}

fn park_at(place: Place) {
    rt::perform_at(place, |state| {
        let token = state.token_of(state.current);
        Ok(Operation::Park { token })
    });
}

/// The same, but may also return when nobody has. How long that takes is not modelled: both are tried.
#[track_caller]
pub fn park_timeout(_duration: Duration) {
    if times_out() {
        // A token that is there is taken nevertheless.
        rt::perform(|state| {
            let at = state.token_of(state.current);
            Ok(Operation::CompareExchange {
                at,
                expected: 1,
                new: 0,
                success: Ordering::Acquire,
                failure: Ordering::Relaxed,
            })
        });
        // A loop around a wait that times out polls.
        poll_at(std::panic::Location::caller());
    } else {
        let place = here();
        in_time(|| park_at(place));
    }
}

/// Waits for something that may take too long but does not. If it never happens, there is no such execution.
pub(crate) fn in_time<R>(wait: impl FnOnce() -> R) -> R {
    let set = |waits| {
        rt::with(|state| {
            let current = state.current;
            let timeouts = state.settings.timeouts;
            state.thread_mut(current).waits_in_time = waits && timeouts;
        });
    };
    set(true);
    let result = wait();
    set(false);
    result
}

/// Whether what the thread has just waited for [in time](in_time) took too long after all: see `rt/teardown.rs`.
pub(crate) fn timed_out_late() -> bool {
    rt::with(|state| {
        let current = state.current;
        std::mem::take(&mut state.thread_mut(current).timed_out_late)
    })
}

/// Whether something that may take too long does so: a choice, and a step.
#[track_caller]
pub(crate) fn times_out() -> bool {
    let place = here();
    let may = rt::with(|state| {
        if !state.settings.timeouts {
            state.assume(Kind::Timeouts.at(place));
        }
        state.settings.timeouts
    });
    may && rt::perform(|_| {
        Ok(Operation::Choose {
            alternatives: 2,
            reason: Reason::Timeout,
        })
    }) == 1
}

/// Whether what waits is woken for no reason: a choice, and a step.
#[track_caller]
pub(crate) fn wakes_for_no_reason() -> bool {
    let place = here();
    let may = rt::with(|state| {
        let may = state.thread(state.current).spurious < state.settings.spurious_wakeups;
        if !may {
            state.assume(Kind::SpuriousWakeups.at(place));
        }
        may
    });
    let wakes = may
        && rt::perform(|_| {
            Ok(Operation::Choose {
                alternatives: 2,
                reason: Reason::Spurious,
            })
        }) == 1;
    if wakes {
        rt::with(|state| {
            let current = state.current;
            state.thread_mut(current).spurious += 1;
        });
    }
    wakes
}

/// Says that the thread waits for others in a loop. After an iteration that found everything as the thread had left it, the
/// loop is suspended until something changes that it has touched.
#[track_caller]
#[inline(always)]
pub fn yield_now() {
    poll_at(std::panic::Location::caller());
}

/// As [`yield_now`]: how long it takes is not modelled.
#[track_caller]
#[inline(always)]
pub fn sleep(_duration: Duration) {
    poll_at(std::panic::Location::caller());
}

/// As [`sleep`].
#[deprecated(note = "as in `std`: replaced by `thread::sleep`")]
#[track_caller]
#[inline(always)]
pub fn sleep_ms(_ms: u32) {
    poll_at(std::panic::Location::caller());
}

/// As [`park_timeout`].
#[deprecated(note = "as in `std`: replaced by `thread::park_timeout`")]
#[track_caller]
pub fn park_timeout_ms(ms: u32) {
    park_timeout(Duration::from_millis(ms.into()));
}
