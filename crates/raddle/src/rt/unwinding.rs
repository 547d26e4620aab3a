//! How many panics unwind each thread.
//!
//! A guard poisons its lock if a panic unwinds the thread that drops it, so that has to be known exactly. The standard library counts panics by
//! real thread: a count goes up when a panic is raised (by `panic!` or by `resume_unwind`, which calls no hook) and down when
//! `catch_unwind` catches it, and `std::thread::panicking` tells whether it is above 0. All coroutines of a worker run on one real thread. A thread under test
//! that stops in a destructor, while a panic unwinds it, would leave its count to whoever runs next.
//!
//! So the count is switched with the coroutine, like its stack: [`take`] brings it to 0 when a coroutine stops and tells what it was, and
//! [`give`] brings it back when the coroutine goes on. In between, `std::thread::panicking` is right for every thread under test, for the
//! explorer, and for code that asks `std` itself. Real threads ([`Backend::Threads`](super::fiber::Backend)) need none of that.
//!
//! Nobody can set the count, but whoever raises a panic and catches it moves it. A [`Decoy`] is a coroutine of ours that does
//! nothing else. It raises a panic and stops in a destructor: the count is one higher. When it goes on, it catches the panic: the count is one lower. The second
//! may happen long after the first, and on another real thread. That gives both directions:
//!
//! - *Up:* an idle decoy raises its panic, and is kept.
//! - *Down:* a decoy that has raised its panic before catches it now. If there is none, a real thread is started for one to raise its panic on. That
//!   thread ends with a count of 1 and runs nothing else.
//!
//! The loop of `take` knows when the count is 0: `std::thread::panicking` is false then. So no count goes below 0, and counts above 1 (a destructor that catches a
//! panic of its own while another one unwinds its thread) come out right. Threads that are left behind while a panic unwinds them leave
//! nothing: their counts were taken when they stopped.
//!
//! A switch costs one look at a counter of the process if nobody unwinds, and two switches and an exception for each panic of who stops.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Mutex, PoisonError};

use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, Yielder};

/// The unwinder takes a few kilobytes.
const STACK_SIZE: usize = 64 << 10;

/// A coroutine that raises a panic, stops, catches the panic, stops, and so on.
struct Decoy(Coroutine<(), (), (), DefaultStack>);

// SAFETY: its frames are those of `Decoy::new` and what that calls, which borrow from each other only. None of those that are alive while it is stopped has
// touched the count: `resume_unwind` has, whose frames are gone by then, and the catching end of `catch_unwind` does afterwards. So nobody
// has an address of something that belongs to the real thread before.
unsafe impl Send for Decoy {}

/// Stops a decoy while its panic unwinds it.
struct Stop<'a>(&'a Yielder<(), ()>);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.suspend(());
    }
}

impl Decoy {
    fn new() -> Self {
        let stack = DefaultStack::new(STACK_SIZE).expect("raddle: no memory for a stack");
        Self(Coroutine::with_stack(stack, |yielder, ()| {
            loop {
                raise_and_catch(yielder);
                yielder.suspend(());
            }
        }))
    }

    fn resume(&mut self) {
        // It never returns.
        let _ = self.0.resume(());
    }
}

#[inline(never)]
fn raise_and_catch(yielder: &Yielder<(), ()>) {
    let caught = catch_unwind(AssertUnwindSafe(|| raise(yielder)));
    drop(caught);
}

#[inline(never)]
fn raise(yielder: &Yielder<(), ()>) {
    let _stop = Stop(yielder);
    resume_unwind(Box::new(()));
}

/// The decoys of all real threads.
struct Decoys {
    /// Those that have raised a panic.
    raised: Vec<Decoy>,
    idle: Vec<Decoy>,
}

static DECOYS: Mutex<Decoys> = Mutex::new(Decoys {
    raised: Vec::new(),
    idle: Vec::new(),
});

fn with_decoys<R>(change: impl FnOnce(&mut Decoys) -> R) -> R {
    change(&mut DECOYS.lock().unwrap_or_else(PoisonError::into_inner))
}

/// One panic more unwinds who runs on this real thread.
fn raise_one() -> Decoy {
    let idle = with_decoys(|decoys| decoys.idle.pop());
    let mut decoy = idle.unwrap_or_else(Decoy::new);
    decoy.resume();
    decoy
}

/// One panic less unwinds who runs on this real thread.
#[cold]
fn catch_one() {
    let raised = with_decoys(|decoys| decoys.raised.pop());
    let mut decoy = raised.unwrap_or_else(|| {
        let elsewhere = std::thread::Builder::new().spawn(raise_one);
        let elsewhere = elsewhere.expect("raddle: no more threads");
        elsewhere.join().expect("a decoy catches its own panics")
    });
    decoy.resume();
    with_decoys(|decoys| decoys.idle.push(decoy));
}

/// The number of panics that unwind who runs on this real thread, which are none from now on.
#[inline]
pub(super) fn take() -> u32 {
    let mut count = 0;
    while std::thread::panicking() {
        catch_one();
        count += 1;
    }
    count
}

/// From now on, this many panics unwind who runs on this real thread, instead of none.
#[inline]
pub(super) fn give(count: u32) {
    for _ in 0..count {
        let decoy = raise_one();
        with_decoys(|decoys| decoys.raised.push(decoy));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_taken_is_given_back() {
        struct Look;
        impl Drop for Look {
            fn drop(&mut self) {
                let nested = catch_unwind(|| {
                    struct Inside;
                    impl Drop for Inside {
                        fn drop(&mut self) {
                            assert_eq!(take(), 2);
                            assert!(!std::thread::panicking());
                            assert!(catch_unwind(|| resume_unwind(Box::new(()))).is_err());
                            assert_eq!(take(), 0);
                            give(2);
                        }
                    }
                    let _inside = Inside;
                    resume_unwind(Box::new(()));
                });
                assert!(nested.is_err() && std::thread::panicking());
            }
        }
        for _ in 0..3 {
            let caught = catch_unwind(|| {
                let _look = Look;
                resume_unwind(Box::new(()));
            });
            assert!(caught.is_err() && !std::thread::panicking());
            assert_eq!(take(), 0);
        }
    }

    /// A thread that is left behind takes nothing from those that come later.
    #[test]
    fn what_is_taken_may_be_lost() {
        for _ in 0..5 {
            let mut decoy = raise_one();
            assert!(std::thread::panicking());
            assert_eq!(take(), 1);
            // SAFETY: its frames own nothing, and are never entered again.
            unsafe { decoy.0.force_reset() };
            assert!(!std::thread::panicking());
        }
    }
}
