//! Several workers on one exploration: a [`Pool`] of what is left to be done.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use raddle_outcome::{Coverage, Extent, LeftOut};

use crate::explorer::{Omission, Visitor};
use crate::trace::Trace;

/// Runs as many workers, each on a thread of the operating system, and waits for all of them. The first one runs
/// here.
///
/// A worker that returns an error should have stopped the others: see [`Stop`].
pub(crate) fn work<R: Send, E: Send>(
    workers: usize,
    first: impl FnOnce() -> Result<R, E>,
    other: impl Fn(usize) -> Result<R, E> + Sync,
) -> Result<Vec<R>, E> {
    let other = &other;
    std::thread::scope(|scope| {
        let others: Vec<_> = (1..workers)
            .map(|number| scope.spawn(move || other(number)))
            .collect();
        let first = first();
        let others = others.into_iter().map(|other| match other.join() {
            Ok(result) => result,
            Err(panic) => std::panic::resume_unwind(panic),
        });
        [first].into_iter().chain(others).collect()
    })
}

/// Whether somebody has seen enough.
#[derive(Debug, Default)]
pub struct Stop(AtomicBool);

impl Stop {
    /// Whether it is so.
    #[must_use]
    pub fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Now it is so.
    pub fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Stops the others unless a worker was done with all it had to do.
    ///
    /// # Errors
    ///
    /// Those of the worker.
    pub fn unless_done<E>(&self, ended: Result<ControlFlow<()>, E>) -> Result<(), E> {
        if !matches!(ended, Ok(ControlFlow::Continue(()))) {
            self.set();
        }
        ended.map(|_| ())
    }

    /// What was covered, if that is so much unless somebody has stopped the others.
    #[must_use]
    pub fn coverage(&self, otherwise: Extent, left_out: LeftOut) -> Coverage {
        left_out.covering(match self.is_set() {
            true => Extent::Some,
            false => otherwise,
        })
    }
}

/// Work that any worker may do.
#[derive(Debug)]
pub struct Pool<T> {
    workers: usize,
    open: Mutex<Open<T>>,
    changed: Condvar,
    /// How many workers wait for something to do. It changes under the lock only.
    hungry: AtomicUsize,
    stop: Stop,
}

#[derive(Debug)]
struct Open<T> {
    tasks: Vec<T>,
    /// Nothing is left, or somebody has stopped the others.
    is_over: bool,
}

impl<T: Send> Pool<T> {
    /// A pool without tasks. One worker has to begin with something else than taking one.
    #[must_use]
    pub fn new(workers: usize) -> Self {
        Self {
            workers,
            open: Mutex::new(Open {
                tasks: Vec::new(),
                is_over: false,
            }),
            changed: Condvar::new(),
            hungry: AtomicUsize::new(0),
            stop: Stop::default(),
        }
    }

    /// Whether somebody has seen enough.
    #[must_use]
    pub fn stop(&self) -> &Stop {
        &self.stop
    }

    /// Whether somebody has nothing to do.
    #[must_use]
    pub fn is_hungry(&self) -> bool {
        self.hungry.load(Ordering::Relaxed) > 0
    }

    /// Adds a task.
    pub fn put(&self, task: T) {
        self.lock().tasks.push(task);
        self.changed.notify_one();
    }

    /// The next task, which may take a while to come. There is none if all workers wait for one, or
    /// somebody has stopped them.
    #[must_use]
    pub fn take(&self) -> Option<T> {
        let mut open = self.lock();
        self.hungry.fetch_add(1, Ordering::Relaxed);
        loop {
            if open.is_over {
                return None;
            }
            if let Some(task) = open.tasks.pop() {
                self.hungry.fetch_sub(1, Ordering::Relaxed);
                return Some(task);
            }
            if self.hungry.load(Ordering::Relaxed) == self.workers {
                open.is_over = true;
                self.changed.notify_all();
                return None;
            }
            open = self
                .changed
                .wait(open)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Runs as many workers. What one of them returns, or fails with, ends the work of the others; and so does a panic.
    ///
    /// # Errors
    ///
    /// The first error of a worker.
    pub fn work<R: Send, E: Send>(
        &self,
        worker: impl Fn(usize) -> Result<R, E> + Sync,
    ) -> Result<Vec<R>, E> {
        let one = |number| {
            let _leaving = Leaving(self);
            worker(number)
        };
        work(self.workers, || one(0), one)
    }

    fn end(&self) {
        self.lock().is_over = true;
        self.changed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, Open<T>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A worker that leaves before everything is done will not come back, and the others would wait for it.
struct Leaving<'a, T: Send>(&'a Pool<T>);

impl<T: Send> Drop for Leaving<'_, T> {
    fn drop(&mut self) {
        let is_over = self.0.lock().is_over;
        if !is_over {
            self.0.stop.set();
            self.0.end();
        }
    }
}

/// A visitor that also stops when another worker has.
pub(crate) struct Stoppable<'a, V> {
    pub(crate) visitor: &'a mut V,
    pub(crate) stop: &'a Stop,
}

impl<X, V: Visitor<X>> Visitor<X> for Stoppable<'_, V> {
    fn ended(&mut self, execution: &mut X, trace: &Trace) -> ControlFlow<()> {
        self.visitor.ended(execution, trace)
    }

    fn pulse(&mut self) -> ControlFlow<()> {
        if self.stop.is_set() {
            return ControlFlow::Break(());
        }
        self.visitor.pulse()
    }

    fn left_out(&mut self, execution: &mut X, omission: Omission) {
        self.visitor.left_out(execution, omission);
    }

    fn bound_reached(&mut self, bound: u32) -> ControlFlow<()> {
        self.visitor.bound_reached(bound)
    }
}
