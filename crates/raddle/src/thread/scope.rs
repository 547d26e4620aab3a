//! Threads that borrow: as `std::thread::scope`.

use std::cell::RefCell;
use std::fmt;
use std::io;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::Ordering;

use super::Thread;
use super::spawn::{Builder, Child};
use crate::rt::{self, operation::Operation};

/// A scope in which threads can be started: as `std::thread::Scope`.
pub struct Scope<'scope, 'env: 'scope> {
    children: Children,
    scope: PhantomData<&'scope mut &'scope ()>,
    env: PhantomData<&'env mut &'env ()>,
}

/// Who was started in a scope.
struct Children(RefCell<Vec<raddle_schedule::ThreadId>>);

// SAFETY: the threads of an execution run one at a time, and the list is never used across a step.
unsafe impl Sync for Children {}

/// Starts threads that may borrow what lives outside of the scope, and waits for them all.
#[track_caller]
pub fn scope<'env, F, T>(f: F) -> T
where
    F: for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> T,
{
    let scope = Scope {
        children: Children(RefCell::new(Vec::new())),
        scope: PhantomData,
        env: PhantomData,
    };
    let result = catch_unwind(AssertUnwindSafe(|| f(&scope)));
    let mut panicked = false;
    let mut waited = 0;
    // A thread of the scope can start others while this waits.
    loop {
        let children = scope.children.0.borrow()[waited..].to_vec();
        if children.is_empty() {
            break;
        }
        waited += children.len();
        if rt::is_graph() {
            for &child in &children {
                rt::perform(|state| {
                    Ok(Operation::Await {
                        at: state.end_of(child),
                        least: rt::FINISHED,
                        order: Ordering::Acquire,
                    })
                });
            }
        } else {
            rt::perform(|state| {
                let ends = children.iter().map(|&id| state.end_of(id)).collect();
                Ok(Operation::JoinAll {
                    group: state.objects.add_group(ends),
                })
            });
        }
        panicked |= rt::with(|state| {
            let mut panicked = false;
            for &id in &children {
                let child = state.thread_mut(id);
                panicked |= child.panicked.is_some() && !child.joined;
                child.joined = true;
            }
            panicked
        });
    }
    match result {
        Err(payload) => resume_unwind(payload),
        Ok(_) if panicked => panic!("a scoped thread panicked"),
        Ok(result) => result,
    }
}

impl<'scope, 'env> Scope<'scope, 'env> {
    /// Starts a thread that ends before the scope does.
    #[track_caller]
    pub fn spawn<F, T>(&'scope self, f: F) -> ScopedJoinHandle<'scope, T>
    where
        F: FnOnce() -> T + Send + 'scope,
        T: Send + 'scope,
    {
        self.start(Builder::new(), f)
    }

    #[track_caller]
    fn start<F, T>(&'scope self, builder: Builder, f: F) -> ScopedJoinHandle<'scope, T>
    where
        F: FnOnce() -> T + Send + 'scope,
        T: Send + 'scope,
    {
        // SAFETY: `scope` returns or unwinds only when all children have ended. If that never happens, its frame stays
        // where it is: it is left behind like those of the children.
        let child = unsafe { Child::start(builder, f) };
        self.children.0.borrow_mut().push(child.thread.id().0);
        ScopedJoinHandle {
            child,
            scope: PhantomData,
        }
    }
}

impl fmt::Debug for Scope<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scope").finish_non_exhaustive()
    }
}

/// A thread of a scope: as `std::thread::ScopedJoinHandle`.
pub struct ScopedJoinHandle<'scope, T> {
    child: Child<T>,
    scope: PhantomData<&'scope ()>,
}

impl<T> ScopedJoinHandle<'_, T> {
    /// Waits for the thread to end. Returns what it returned, or what it panicked with.
    ///
    /// # Errors
    ///
    /// If the thread panicked.
    #[track_caller]
    pub fn join(self) -> super::Result<T> {
        self.child.join()
    }

    /// The thread.
    #[must_use]
    pub fn thread(&self) -> &Thread {
        &self.child.thread
    }

    /// Whether the thread has ended.
    #[must_use]
    #[track_caller]
    pub fn is_finished(&self) -> bool {
        self.child.is_finished()
    }
}

impl<T> fmt::Debug for ScopedJoinHandle<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScopedJoinHandle").finish_non_exhaustive()
    }
}

impl Builder {
    /// Starts a thread in a scope.
    ///
    /// # Errors
    ///
    /// Never.
    #[track_caller]
    pub fn spawn_scoped<'scope, 'env, F, T>(
        self,
        scope: &'scope Scope<'scope, 'env>,
        f: F,
    ) -> io::Result<ScopedJoinHandle<'scope, T>>
    where
        F: FnOnce() -> T + Send + 'scope,
        T: Send + 'scope,
    {
        Ok(scope.start(self, f))
    }
}
