//! [`Condvar`].

use std::fmt;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::atomic::Ordering;
use std::sync::{LockResult, PoisonError};
use std::time::Duration;

use raddle_schedule::{LocationId, ThreadId};

use super::MutexGuard;
use super::mutex::unlock;
use crate::rt::operation::{Operation, Reason, waiting};
use crate::rt::poll_at;
use crate::rt::{self, Home, Id, Kind, Misuse, Place, State, here, home};
use crate::thread::{in_time, timed_out_late, times_out, wakes_for_no_reason};

/// A condition variable: as `std::sync::Condvar`.
///
/// A thread that waits is also woken for no reason in some executions (see `Checker::spurious_wakeups`), and where
/// it waits with a timeout, that passes in some executions.
///
/// ```
/// use raddle::sync::{Arc, Condvar, Mutex};
///
/// raddle::check(|| {
///     let pair = Arc::new((Mutex::new(false), Condvar::new()));
///     let other = pair.clone();
///     let child = raddle::thread::spawn(move || {
///         *other.0.lock().unwrap() = true;
///         other.1.notify_one();
///     });
///     let ready = pair.1.wait_while(pair.0.lock().unwrap(), |ready| !*ready).unwrap();
///     assert!(*ready);
///     drop(ready);
///     child.join().unwrap();
/// });
/// ```
#[derive(Default)]
pub struct Condvar {
    id: Id,
}

impl UnwindSafe for Condvar {}
impl RefUnwindSafe for Condvar {}

// SAFETY: it consists of plain values.
unsafe impl Home for Condvar {
    fn id(&self) -> &Id {
        &self.id
    }
}

/// Whether waiting took too long: as `std::sync::WaitTimeoutResult`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WaitTimeoutResult(bool);

impl WaitTimeoutResult {
    /// Whether it did.
    #[must_use]
    pub fn timed_out(&self) -> bool {
        self.0
    }
}

impl Condvar {
    /// One that nobody waits for.
    #[must_use]
    pub const fn new() -> Self {
        Self { id: Id::new() }
    }

    fn locate(&self, state: &mut State) -> Result<LocationId, Misuse> {
        state.locate(&self.id, Kind::Condvar, || 0)
    }

    /// Gives back the mutex, waits for a notification, and takes the mutex again.
    ///
    /// # Errors
    ///
    /// If a thread panicked while it held the mutex.
    #[track_caller]
    pub fn wait<'a, T: ?Sized>(&self, guard: MutexGuard<'a, T>) -> LockResult<MutexGuard<'a, T>> {
        if wakes_for_no_reason() {
            Self::give_back_for_a_moment(guard, false)
        } else {
            self.sleep(guard, false)
        }
    }

    /// Waits until a condition is no longer true.
    ///
    /// # Errors
    ///
    /// If a thread panicked while it held the mutex.
    #[track_caller]
    pub fn wait_while<'a, T, F>(
        &self,
        mut guard: MutexGuard<'a, T>,
        mut condition: F,
    ) -> LockResult<MutexGuard<'a, T>>
    where
        T: ?Sized,
        F: FnMut(&mut T) -> bool,
    {
        while condition(&mut *guard) {
            guard = self.wait(guard)?;
        }
        Ok(guard)
    }

    /// As [`wait`](Self::wait), but the time may pass first.
    ///
    /// # Errors
    ///
    /// If a thread panicked while it held the mutex.
    #[track_caller]
    pub fn wait_timeout<'a, T: ?Sized>(
        &self,
        guard: MutexGuard<'a, T>,
        _duration: Duration,
    ) -> LockResult<(MutexGuard<'a, T>, WaitTimeoutResult)> {
        let timed_out = times_out();
        let waited = if timed_out || wakes_for_no_reason() {
            Self::give_back_for_a_moment(guard, timed_out)
        } else {
            self.sleep(guard, true)
        };
        let timed_out = timed_out || timed_out_late();
        match waited {
            Ok(guard) => Ok((guard, WaitTimeoutResult(timed_out))),
            Err(poisoned) => Err(PoisonError::new((
                poisoned.into_inner(),
                WaitTimeoutResult(timed_out),
            ))),
        }
    }

    /// As [`wait_timeout`](Self::wait_timeout). Returns whether the time did not pass.
    ///
    /// # Errors
    ///
    /// If a thread panicked while it held the mutex.
    #[deprecated(note = "as in `std`: replaced by `Condvar::wait_timeout`")]
    #[track_caller]
    pub fn wait_timeout_ms<'a, T: ?Sized>(
        &self,
        guard: MutexGuard<'a, T>,
        ms: u32,
    ) -> LockResult<(MutexGuard<'a, T>, bool)> {
        match self.wait_timeout(guard, Duration::from_millis(ms.into())) {
            Ok((guard, result)) => Ok((guard, !result.timed_out())),
            Err(poisoned) => {
                let (guard, result) = poisoned.into_inner();
                Err(PoisonError::new((guard, !result.timed_out())))
            }
        }
    }

    /// As [`wait_while`](Self::wait_while), but the time may pass first.
    ///
    /// # Errors
    ///
    /// If a thread panicked while it held the mutex.
    #[track_caller]
    pub fn wait_timeout_while<'a, T, F>(
        &self,
        mut guard: MutexGuard<'a, T>,
        duration: Duration,
        mut condition: F,
    ) -> LockResult<(MutexGuard<'a, T>, WaitTimeoutResult)>
    where
        T: ?Sized,
        F: FnMut(&mut T) -> bool,
    {
        let mut timed_out = false;
        loop {
            if !condition(&mut *guard) {
                return Ok((guard, WaitTimeoutResult(false)));
            }
            if timed_out {
                return Ok((guard, WaitTimeoutResult(true)));
            }
            let waited = self.wait_timeout(guard, duration)?;
            guard = waited.0;
            timed_out = waited.1.timed_out();
        }
    }

    #[track_caller]
    fn sleep<'a, T: ?Sized>(
        &self,
        guard: MutexGuard<'a, T>,
        timed: bool,
    ) -> LockResult<MutexGuard<'a, T>> {
        let place = here();
        let this = home(self);
        let (mutex, left) = guard.keep();
        if rt::is_graph() {
            self.enlist(place);
            unlock(mutex, place, left);
            let sleep = || {
                Self::wait_for_notification(place);
                mutex.lock_at(place);
            };
            match timed {
                true => in_time(sleep),
                false => sleep(),
            }
            return mutex.guard(place);
        }
        let sleep = || {
            rt::perform_at(place, |state| {
                Ok(Operation::Wait {
                    condvar: this.locate(state)?,
                    mutex: mutex.locate(state)?,
                })
            })
        };
        if timed {
            in_time(sleep)
        } else {
            sleep()
        };
        mutex.guard(place)
    }

    /// Where executions are graphs: says that the current thread waits.
    fn enlist(&self, place: Place) {
        let this = home(self);
        rt::perform_at(place, |state| {
            let who = state.enlists(place);
            Ok(Operation::Enlist {
                condvar: this.locate(state)?,
                who,
            })
        });
    }

    /// The same: waits until somebody has taken the current thread from those who wait.
    fn wait_for_notification(place: Place) {
        rt::perform_at(place, |state| {
            Ok(Operation::Await {
                at: state.notification_of(state.current),
                least: 1,
                // As in `std`: only the mutex orders anything.
                order: Ordering::Relaxed,
            })
        });
    }

    /// Where executions are graphs: wakes one of those who wait, or all.
    fn notify_in_graph(&self, place: Place, all: bool) {
        let this = home(self);
        let woken = loop {
            let waiting = rt::perform_at(place, |state| {
                Ok(Operation::Notify {
                    condvar: this.locate(state)?,
                    all,
                })
            });
            if waiting == 0 || waiting::are_taken(waiting, all) {
                break waiting;
            }
            let choice = rt::perform_at(place, |_| {
                Ok(Operation::Choose {
                    alternatives: waiting.count_ones(),
                    reason: Reason::Waiters,
                })
            });
            let who = bits(waiting).nth(choice as usize).unwrap_or(0);
            let found = rt::perform_at(place, |state| {
                Ok(Operation::Pick {
                    condvar: this.locate(state)?,
                    who,
                })
            });
            if found & who != 0 {
                break who;
            }
            // Somebody else was faster.
        };
        for who in bits(woken) {
            rt::perform_at(place, |state| {
                Ok(Operation::Store {
                    at: state.notification_of(ThreadId(who.trailing_zeros())),
                    value: 1,
                    order: Ordering::Relaxed,
                })
            });
        }
    }

    /// What waiting is when nobody notifies, because the time passes or for no reason.
    #[track_caller]
    fn give_back_for_a_moment<T: ?Sized>(
        guard: MutexGuard<'_, T>,
        timed_out: bool,
    ) -> LockResult<MutexGuard<'_, T>> {
        let place = here();
        let (mutex, left) = guard.keep();
        unlock(mutex, place, left);
        if timed_out {
            // A loop around a wait that times out polls.
            poll_at(place);
        }
        mutex.lock()
    }

    /// Wakes one of the threads that wait: each is tried.
    #[track_caller]
    pub fn notify_one(&self) {
        if rt::is_graph() {
            return self.notify_in_graph(here(), false);
        }
        let this = home(self);
        rt::perform(|state| {
            Ok(Operation::NotifyOne {
                condvar: this.locate(state)?,
            })
        });
    }

    /// Wakes all threads that wait.
    #[track_caller]
    pub fn notify_all(&self) {
        if rt::is_graph() {
            return self.notify_in_graph(here(), true);
        }
        let this = home(self);
        rt::perform(|state| {
            Ok(Operation::NotifyAll {
                condvar: this.locate(state)?,
            })
        });
    }
}

/// The bits of a number, from the lowest.
fn bits(mut number: u64) -> impl Iterator<Item = u64> {
    std::iter::from_fn(move || {
        let lowest = number & number.wrapping_neg();
        number ^= lowest;
        (lowest != 0).then_some(lowest)
    })
}

impl fmt::Debug for Condvar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Condvar").finish_non_exhaustive()
    }
}
