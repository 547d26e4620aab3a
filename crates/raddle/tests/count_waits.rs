//! Loops that wait for a count of references, beside a thread that changes it and then polls itself. In the first execution a count is no location yet, so that its change is no step
//! and wakes nobody: that must not be taken for a live-lock.

use std::task::Poll;
use std::time::Duration;

use raddle::sync::atomic::{AtomicU32, Ordering::SeqCst};
use raddle::sync::{Arc, Weak};
use raddle::{Checker, future, thread};

/// How the thread that drops its reference waits afterwards.
#[derive(Clone, Copy, Debug)]
enum Then {
    Yields,
    PollsAFuture,
    ParksForAMoment,
}

impl Then {
    fn wait(self, go: &AtomicU32) {
        match self {
            Self::Yields => {
                while go.load(SeqCst) == 0 {
                    thread::yield_now();
                }
            }
            Self::PollsAFuture => future::block_on(std::future::poll_fn(|context| {
                if go.load(SeqCst) == 1 {
                    return Poll::Ready(());
                }
                context.waker().wake_by_ref();
                Poll::Pending
            })),
            Self::ParksForAMoment => {
                while go.load(SeqCst) == 0 {
                    thread::park_timeout(Duration::from_millis(1));
                }
            }
        }
    }
}

/// One thread drops what `share` gives it and then waits for the other one, which waits until `is_alone`.
fn comes_to_an_end<S: Send + 'static>(
    share: fn(&Arc<u32>) -> S,
    is_alone: fn(&mut Option<Arc<u32>>) -> bool,
) {
    for then in [Then::Yields, Then::PollsAFuture, Then::ParksForAMoment] {
        for explorer in ["optimal", "iterative", "bounded", "dfs", "random"] {
            let checker = Checker::new().explorer(explorer).max_steps(500);
            let report = checker.max_executions(300).check(move || {
                let go = Arc::new(AtomicU32::new(0));
                let mut own = Some(Arc::new(0));
                let (shared, go2) = (share(own.as_ref().unwrap()), go.clone());
                let other = thread::spawn(move || {
                    drop(shared);
                    then.wait(&go2);
                });
                while !is_alone(&mut own) {
                    thread::yield_now();
                }
                go.store(1, SeqCst);
                other.join().unwrap();
            });
            assert!(report.executions > 0, "{then:?}, {explorer}: {report:?}");
        }
    }
}

#[test]
fn until_there_is_one_strong_reference() {
    comes_to_an_end(Arc::clone, |own| {
        Arc::strong_count(own.as_ref().unwrap()) == 1
    });
}

#[test]
fn until_there_is_no_weak_reference() {
    comes_to_an_end(Arc::downgrade, |own| {
        Arc::weak_count(own.as_ref().unwrap()) == 0
    });
}

#[test]
fn until_the_value_can_be_changed() {
    comes_to_an_end(Arc::clone, |own| {
        Arc::get_mut(own.as_mut().unwrap()).is_some()
    });
}

#[test]
fn until_the_value_can_be_taken() {
    comes_to_an_end(Arc::clone, |own| {
        *own = Arc::try_unwrap(own.take().unwrap()).err();
        own.is_none()
    });
}

/// The references are all with the other thread.
fn weak_comes_to_an_end(is_gone: fn(&Weak<u32>) -> bool) {
    for then in [Then::Yields, Then::PollsAFuture, Then::ParksForAMoment] {
        for explorer in ["optimal", "iterative", "bounded", "dfs", "random"] {
            let checker = Checker::new().explorer(explorer).max_steps(500);
            let report = checker.max_executions(300).check(move || {
                let go = Arc::new(AtomicU32::new(0));
                let shared = Arc::new(0);
                let (weak, go2) = (Arc::downgrade(&shared), go.clone());
                let other = thread::spawn(move || {
                    drop(shared);
                    then.wait(&go2);
                });
                while !is_gone(&weak) {
                    thread::yield_now();
                }
                go.store(1, SeqCst);
                other.join().unwrap();
            });
            assert!(report.executions > 0, "{then:?}, {explorer}: {report:?}");
        }
    }
}

#[test]
fn until_a_weak_reference_counts_none() {
    weak_comes_to_an_end(|weak| weak.strong_count() == 0);
}

#[test]
fn until_a_weak_reference_cannot_be_upgraded() {
    weak_comes_to_an_end(|weak| weak.upgrade().is_none());
}
