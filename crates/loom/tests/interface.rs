//! What loom has and Raddle has not.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;

use loom::alloc::{Layout, Track, alloc, dealloc};
use loom::cell::{MutPtr, UnsafeCell};
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

/// A lock whose guard has a pointer, as thingbuf's.
struct Lock {
    held: AtomicUsize,
    value: UnsafeCell<u32>,
}

// SAFETY: the value is accessed by who holds the lock.
unsafe impl Sync for Lock {}

struct Guard<'a> {
    lock: &'a Lock,
    value: MutPtr<u32>,
}

impl Lock {
    fn new() -> Self {
        Self {
            held: AtomicUsize::new(0),
            value: UnsafeCell::new(0),
        }
    }

    fn try_lock(&self) -> Option<Guard<'_>> {
        let taken = self.held.compare_exchange(0, 1, Acquire, Relaxed);
        taken.is_ok().then(|| Guard {
            lock: self,
            value: self.value.get_mut(),
        })
    }
}

/// The pointer is dropped after this.
impl Drop for Guard<'_> {
    fn drop(&mut self) {
        self.lock.held.store(0, Release);
    }
}

fn increment(lock: &Lock) {
    if let Some(guard) = lock.try_lock() {
        // SAFETY: the lock is held.
        unsafe { *guard.value.deref() += 1 };
    }
}

/// What is released just before a pointer goes away is released with what it points to.
#[test]
fn a_guard_releases_before_its_pointer_goes_away() {
    loom::model(|| {
        let lock = Arc::new(Lock::new());
        let theirs = lock.clone();
        let child = thread::spawn(move || increment(&theirs));
        increment(&lock);
        child.join().unwrap();
    });
    loom::model(|| {
        let lock = Arc::new(Lock::new());
        let theirs = lock.clone();
        let child = thread::spawn(move || {
            let reads = theirs.value.get();
            // SAFETY: nobody writes it yet.
            assert_eq!(unsafe { *reads.deref() }, 0);
            theirs.held.store(1, Release);
            drop(reads);
        });
        if lock.held.load(Acquire) == 1 {
            // SAFETY: the other one has read it.
            lock.value.with_mut(|value| unsafe { *value = 1 });
        }
        child.join().unwrap();
    });
}

/// Using it after that, or keeping it beyond the next operation, is a race.
#[test]
fn a_guard_that_keeps_its_pointer_is_found() {
    for use_it in [true, false] {
        let message = failure(move || {
            let lock = Arc::new(Lock::new());
            let theirs = lock.clone();
            let child = thread::spawn(move || {
                let pointer = theirs.value.get_mut();
                theirs.held.store(1, Release);
                if use_it {
                    // SAFETY: it is not, but that is what is tested.
                    unsafe { *pointer.deref() = 2 };
                } else {
                    theirs.held.load(Relaxed);
                }
            });
            if lock.held.load(Acquire) == 1 {
                // SAFETY: as above.
                lock.value.with_mut(|value| unsafe { *value = 1 });
            }
            child.join().unwrap();
        });
        let expected = ["data race", "thread 1 panicked", "main panicked"];
        let is_found = expected.iter().any(|start| message.starts_with(start));
        assert!(is_found, "{use_it}: {message}");
    }
    // One that begins after the release is no better for ending at once.
    let message = failure(|| {
        let lock = Arc::new(Lock::new());
        let theirs = lock.clone();
        let child = thread::spawn(move || {
            theirs.held.store(1, Release);
            drop(theirs.value.get_mut());
        });
        if lock.held.load(Acquire) == 1 {
            // SAFETY: as above.
            lock.value.with_mut(|value| unsafe { *value = 1 });
        }
        child.join().unwrap();
    });
    assert!(message.starts_with("data race"), "{message}");
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

/// The count is no location in the first execution, in which its change wakes nobody.
#[test]
fn a_thread_that_drops_its_reference_polls_afterwards() {
    loom::model(|| {
        let go = Arc::new(AtomicUsize::new(0));
        let counted = Arc::new(0);
        let (shared, go2) = (counted.clone(), go.clone());
        let child = thread::spawn(move || {
            drop(shared);
            while go2.load(SeqCst) == 0 {
                thread::yield_now();
            }
        });
        while Arc::strong_count(&counted) > 1 {
            thread::yield_now();
        }
        go.store(1, SeqCst);
        child.join().unwrap();
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

/// As loom's `basic_usage`: the value is dropped when it is 1, in each execution.
#[test]
fn a_drop_that_asserts() {
    struct State {
        data: UnsafeCell<u32>,
        ready: AtomicUsize,
    }
    // SAFETY: `ready` says who may access it.
    unsafe impl Sync for State {}
    impl Drop for State {
        fn drop(&mut self) {
            // SAFETY: nobody else has it.
            self.data.with(|data| unsafe { assert_eq!(1, *data) });
        }
    }
    loom::model(|| {
        let state = Arc::new(State {
            data: UnsafeCell::new(0),
            ready: AtomicUsize::new(0),
        });
        let theirs = state.clone();
        thread::spawn(move || {
            // SAFETY: nobody else accesses it yet.
            theirs.data.with_mut(|data| unsafe { *data = 1 });
            theirs.ready.store(1, Release);
        });
        while state.ready.load(Acquire) == 0 {
            thread::yield_now();
        }
    });
}

loom::lazy_static! {
    static ref SHUT_DOWN: usize = 5;
}

/// As loom's `lazy_static_arc_shutdown`.
#[test]
fn a_lazy_static_is_gone_with_the_main_thread() {
    let message = failure(|| {
        thread::spawn(|| assert_eq!(*SHUT_DOWN, 5));
    });
    assert!(message.contains("during shutdown"), "{message}");
    loom::model(|| {
        let child = thread::spawn(|| assert_eq!(*SHUT_DOWN, 5));
        assert_eq!(*SHUT_DOWN, 5);
        child.join().unwrap();
    });
}

/// As loom's `thread_local::drop`, which counts in a static of `std`.
#[test]
fn a_model_with_one_execution_is_run_once() {
    static RUNS: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);
    loom::model(|| assert_eq!(RUNS.fetch_add(1, SeqCst), 0));
}

/// As loom's `double_panic_at_branch_max`.
#[test]
fn few_branches_can_be_too_many() {
    let mut builder = Builder::new();
    builder.max_branches = 2;
    let check = AssertUnwindSafe(|| {
        builder.check(|| {
            let _arc = Arc::new(());
            thread::yield_now();
            thread::yield_now();
            thread::yield_now();
        });
    });
    let payload = catch_unwind(check).expect_err("it fails");
    let text = payload.downcast_ref::<String>().expect("it says why");
    assert!(text.starts_with("no end after 2 steps"), "{text}");
    // More than loom's default is no less than Raddle's.
    builder.max_branches = 1001;
    builder.check(|| {
        let count = AtomicUsize::new(0);
        while count.fetch_add(1, SeqCst) < 2000 {}
    });
}

/// As loom's `thread_stack_size`: an array of 512 kB on a stack of 128 Ki words.
#[test]
fn a_stack_is_measured_in_words() {
    const SIZE: usize = 1 << 16;
    loom::model(|| {
        let body = || {
            std::hint::black_box(&mut [0usize; SIZE]);
        };
        let child = thread::Builder::new().stack_size(2 * SIZE).spawn(body);
        child.unwrap().join().unwrap();
    });
}

/// As in loom's `thread_api`, which denies warnings.
#[test]
#[deny(warnings)]
fn guards_and_ids_may_be_ignored() {
    loom::model(|| {
        let (mutex, rwlock) = (loom::sync::Mutex::new(()), loom::sync::RwLock::new(()));
        thread::current().id();
        mutex.lock().unwrap();
        rwlock.read().unwrap();
        rwlock.write().unwrap();
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

#[test]
fn the_main_thread_has_no_name() {
    loom::model(|| {
        assert_eq!(thread::current().name(), None);
        let named = thread::Builder::new().name("other".into());
        let named = named.spawn(|| thread::current().name().map(String::from));
        let named = named.unwrap();
        assert_eq!(named.thread().name(), Some("other"));
        assert_eq!(named.join().unwrap().as_deref(), Some("other"));
    });
}

/// `unsync_load` is no atomic access: an unordered store of another thread races with it, whoever comes first.
#[test]
fn an_unsynchronised_load_races_with_a_store() {
    let racy = |first: bool| {
        failure(move || {
            let number = Arc::new(AtomicUsize::new(0));
            let seen = Arc::new(AtomicUsize::new(0));
            let (theirs, saw) = (number.clone(), seen.clone());
            let child = thread::spawn(move || {
                if first || saw.load(Relaxed) == 1 {
                    theirs.store(1, Release);
                    saw.store(2, Relaxed);
                }
            });
            if !first || seen.load(Relaxed) == 2 {
                // SAFETY: it is not safe, which is to be found.
                unsafe { number.unsync_load() };
                seen.store(1, Relaxed);
            }
            child.join().unwrap();
        })
    };
    for first in [true, false] {
        let message = racy(first);
        assert!(message.starts_with("data race"), "{message}");
    }
}

#[test]
fn an_unsynchronised_load_after_a_join_is_no_race() {
    loom::model(|| {
        let number = Arc::new(AtomicUsize::new(0));
        let theirs = number.clone();
        // SAFETY: nobody else has it.
        assert_eq!(unsafe { number.unsync_load() }, 0);
        let child = thread::spawn(move || theirs.store(1, Relaxed));
        child.join().unwrap();
        // SAFETY: the thread that stores has ended.
        assert_eq!(unsafe { number.unsync_load() }, 1);
    });
}

/// tokio names the error of thread-locals by the module of lazy statics.
#[test]
fn the_error_of_a_local_that_is_gone_has_two_names() {
    loom::thread_local! {
        static LOCAL: u32 = 1;
    }
    loom::model(|| {
        let found: Result<u32, loom::lazy_static::AccessError> = LOCAL.try_with(|local| *local);
        let same: Result<u32, loom::thread::AccessError> = found;
        assert_eq!(same.unwrap(), 1);
    });
}
