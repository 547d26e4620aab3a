//! What loom has and Raddle has not.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;

use loom::alloc::{Layout, Track, alloc, dealloc};
use loom::cell::UnsafeCell;
use loom::model::Builder;
use loom::sync::atomic::{AtomicPtr, AtomicUsize, Ordering::*};
use loom::sync::{Arc, Notify};
use loom::thread;

/// What a model that fails says.
#[track_caller]
fn failure(f: impl Fn() + Send + Sync + 'static) -> String {
    let payload = catch_unwind(AssertUnwindSafe(|| loom::model(f))).expect_err("it fails");
    let text = payload.downcast_ref::<String>().expect("it says why");
    text.lines().next().unwrap_or_default().to_owned()
}

#[test]
fn atomics_have_more() {
    loom::model(|| {
        let mut number = AtomicUsize::new(1);
        assert_eq!(number.compare_and_swap(1, 2, AcqRel), 1);
        assert_eq!(number.compare_and_swap(1, 3, Release), 2);
        number.with_mut(|number| *number += 1);
        // SAFETY: nobody else has it.
        assert_eq!(unsafe { number.unsync_load() }, 3);
        assert_eq!(number.fetch_add(1, Relaxed), 3);
        assert_eq!(number.into_inner(), 4);
        assert!(AtomicPtr::<u8>::default().load(Relaxed).is_null());
    });
}

/// `UnsafeCell`, for several threads.
struct Shared(UnsafeCell<u32>);

// SAFETY: it is not, but that is what is tested.
unsafe impl Sync for Shared {}

#[test]
fn making_a_cell_writes_it() {
    let message = failure(|| {
        let place = Arc::new(AtomicPtr::<Shared>::default());
        let theirs = place.clone();
        let child = thread::spawn(move || {
            let made = Box::into_raw(Box::new(Shared(UnsafeCell::new(1))));
            theirs.store(made, Relaxed);
        });
        let made = place.load(Acquire);
        if !made.is_null() {
            // SAFETY: it is not freed yet.
            unsafe { (*made).0.with(|value| assert_eq!(*value, 1)) };
        }
        child.join().unwrap();
        // SAFETY: it was made, and there is one.
        drop(unsafe { Box::from_raw(place.load(Relaxed)) });
    });
    assert!(message.starts_with("data race"), "{message}");
}

#[test]
fn a_cell_is_not_written_while_it_is_read() {
    loom::model(|| {
        let cell = UnsafeCell::new(1);
        let (one, other) = (cell.get(), cell.get());
        // SAFETY: nobody writes it.
        assert_eq!(unsafe { *one.deref() + other.with(|value| *value) }, 2);
        drop((one, other));
        // SAFETY: nobody else has it.
        cell.with_mut(|value| unsafe { *value = 2 });
        assert_eq!(cell.into_inner(), 2);
    });
    let message = failure(|| {
        let cell = UnsafeCell::new(1);
        let _reads = cell.get();
        cell.with_mut(|_| ());
    });
    assert!(
        message.ends_with("a cell is written while it is read"),
        "{message}"
    );
    let message = failure(|| {
        let cell = UnsafeCell::new(1);
        let _writes = cell.get_mut();
        cell.with(|_| ());
    });
    assert!(
        message.ends_with("a cell is read while it is written"),
        "{message}"
    );
}

#[test]
fn what_is_allocated_is_given_back() {
    let layout = Layout::new::<u64>();
    loom::model(move || {
        // SAFETY: the layout has a size, and is the same.
        unsafe { dealloc(alloc(layout), layout) };
        assert_eq!(Track::new(5).into_inner(), 5);
    });
    let message = failure(move || {
        // SAFETY: the layout has a size.
        unsafe { alloc(layout) };
    });
    assert!(message.starts_with("leak"), "{message}");
    let message = failure(|| std::mem::forget(Track::new(5)));
    assert!(message.starts_with("leak"), "{message}");
}

#[test]
fn a_notification_is_not_lost() {
    loom::model(|| {
        let notify = Arc::new(Notify::new());
        let theirs = notify.clone();
        thread::spawn(move || theirs.notify());
        notify.wait();
    });
    let message = failure(|| {
        let notify = Notify::new();
        notify.notify();
        notify.notify();
        notify.wait();
        notify.wait();
    });
    assert!(message.starts_with("deadlock"), "{message}");
}

loom::lazy_static! {
    static ref LAZY: AtomicUsize = AtomicUsize::new(1);
}

loom::thread_local! {
    static LOCAL: AtomicUsize = AtomicUsize::new(1);
}

#[test]
fn statics_begin_again() {
    loom::model(|| {
        let child = thread::spawn(|| {
            LOCAL.with(|local| assert_eq!(local.fetch_add(1, SeqCst), 1));
            LAZY.fetch_add(1, SeqCst)
        });
        LOCAL.with(|local| assert_eq!(local.fetch_add(1, SeqCst), 1));
        assert_eq!(LAZY.fetch_add(1, SeqCst) + child.join().unwrap(), 3);
    });
}

#[test]
fn what_threads_get_need_not_be_send() {
    loom::model(|| {
        let number = Rc::new(5);
        let child = thread::spawn(move || number);
        assert_eq!(*child.join().unwrap(), 5);
        let named = thread::Builder::new().name("a".into());
        let child = named.spawn(|| thread::current().name() == Some("a"));
        assert!(child.unwrap().join().unwrap());
    });
}

#[test]
fn preemptions_can_be_bounded() {
    let mut builder = Builder::new();
    builder.preemption_bound = Some(0);
    builder.check(|| {
        let count = Arc::new(AtomicUsize::new(0));
        let theirs = count.clone();
        let increment = |count: &AtomicUsize| count.store(count.load(SeqCst) + 1, SeqCst);
        let child = thread::spawn(move || increment(&theirs));
        increment(&count);
        child.join().unwrap();
        assert_eq!(count.load(SeqCst), 2, "only preemptions would lose one");
    });
}

#[cfg(feature = "futures")]
#[test]
fn wakers_are_kept() {
    use std::task::Poll;

    loom::model(|| {
        let shared = Arc::new((AtomicUsize::new(0), loom::future::AtomicWaker::new()));
        let theirs = shared.clone();
        thread::spawn(move || {
            theirs.0.store(1, Release);
            theirs.1.wake();
        });
        loom::future::block_on(std::future::poll_fn(|context| {
            shared.1.register_by_ref(context.waker());
            if shared.0.load(Acquire) == 1 {
                Poll::Ready(())
            } else {
                Poll::Pending
            }
        }));
    });
}
