//! Programs as people write them: with statics, pointers, memory that is freed, futures.

use std::ptr;

use raddle::cell::UnsafeCell;
use raddle::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicUsize, Ordering::*, fence};
use raddle::sync::{Arc, LazyLock, Mutex, OnceLock};
use raddle::{Checker, FailureKind, Memory, Report, hint, thread};

fn passes(body: impl Fn() + Clone + Send + Sync + 'static) -> Report {
    let by_default = Checker::new().check(body.clone());
    assert!(by_default.exhausted, "{:?}", by_default.assumptions);
    let graphs = Checker::new().memory(Memory::Rc11).check(body);
    assert!(graphs.exhausted, "{:?}", graphs.assumptions);
    graphs
}

fn fails(body: impl Fn() + Clone + Send + Sync + 'static) -> FailureKind {
    let failed = Checker::new().run(body.clone()).expect_err("it is wrong");
    let again = Checker::new().memory(Memory::Rc11).run(body);
    let again = again.expect_err("it is wrong").failure.kind;
    assert_eq!(failed.failure.kind, again, "{}", failed.text);
    again
}

#[test]
fn statics() {
    static X: AtomicU32 = AtomicU32::new(0);
    static Y: AtomicU32 = AtomicU32::new(0);
    static SEEN: Mutex<u32> = Mutex::new(0);
    let report = passes(|| {
        let other = thread::spawn(|| {
            X.store(1, Relaxed);
            *SEEN.lock().unwrap() += Y.load(Relaxed);
        });
        Y.store(1, Relaxed);
        *SEEN.lock().unwrap() += X.load(Relaxed);
        other.join().unwrap();
        assert!(*SEEN.lock().unwrap() <= 2);
    });
    assert!(report.executions >= 4);
    let kind = fails(|| {
        let other = thread::spawn(|| {
            X.store(1, Relaxed);
            *SEEN.lock().unwrap() += Y.load(Relaxed);
        });
        Y.store(1, Relaxed);
        *SEEN.lock().unwrap() += X.load(Relaxed);
        other.join().unwrap();
        assert!(*SEEN.lock().unwrap() >= 1);
    });
    assert_eq!(kind, FailureKind::Panic);
}

#[test]
fn lazy_statics() {
    static ONE: LazyLock<AtomicU32> = LazyLock::new(|| AtomicU32::new(7));
    static OTHER: OnceLock<Box<u32>> = OnceLock::new();
    passes(|| {
        let other = thread::spawn(|| {
            ONE.fetch_add(1, Relaxed);
            **OTHER.get_or_init(|| Box::new(1))
        });
        ONE.fetch_add(1, Relaxed);
        let mine = **OTHER.get_or_init(|| Box::new(2));
        assert_eq!(other.join().unwrap(), mine);
        assert_eq!(ONE.load(Relaxed), 9);
    });
}

struct Node {
    value: UnsafeCell<u32>,
    next: *mut Node,
}

/// Treiber's stack of boxes. What is popped is freed by who has taken all.
struct Stack(AtomicPtr<Node>);

// SAFETY: nodes are given from one thread to another.
unsafe impl Send for Stack {}
// SAFETY: as above.
unsafe impl Sync for Stack {}

impl Stack {
    fn push(&self, value: u32, order: raddle::sync::atomic::Ordering) {
        let node = Box::into_raw(Box::new(Node {
            value: UnsafeCell::new(0),
            next: ptr::null_mut(),
        }));
        // SAFETY: nobody else knows it.
        unsafe { (*node).value.with_mut(|place| *place = value) };
        let mut top = self.0.load(Relaxed);
        loop {
            // SAFETY: as above.
            unsafe { (*node).next = top };
            match self.0.compare_exchange_weak(top, node, order, Relaxed) {
                Ok(_) => return,
                Err(now) => top = now,
            }
        }
    }

    fn take_all(&self) -> Vec<u32> {
        let mut node = self.0.swap(ptr::null_mut(), Acquire);
        let mut values = Vec::new();
        while !node.is_null() {
            // SAFETY: who takes all is alone with it.
            let boxed = unsafe { Box::from_raw(node) };
            // SAFETY: as above.
            values.push(boxed.value.with(|value| unsafe { *value }));
            node = boxed.next;
        }
        values
    }
}

impl Drop for Stack {
    fn drop(&mut self) {
        self.take_all();
    }
}

fn stack(order: raddle::sync::atomic::Ordering) {
    let stack = Arc::new(Stack(AtomicPtr::new(ptr::null_mut())));
    let others = [1, 2].map(|value| {
        let stack = stack.clone();
        thread::spawn(move || {
            stack.push(value, order);
            stack.take_all()
        })
    });
    stack.push(3, order);
    let mut taken = stack.take_all();
    for other in others {
        taken.extend(other.join().unwrap());
    }
    taken.extend(stack.take_all());
    taken.sort_unstable();
    assert_eq!(taken, [1, 2, 3]);
}

#[test]
fn boxes_in_a_stack() {
    passes(|| stack(Release));
    // It begins with the memory of the box, whose contents come after that.
    assert_eq!(
        fails(|| stack(Relaxed)),
        FailureKind::UnsynchronisedPublication
    );
}

/// A value that is replaced, of which readers take references by counting.
#[test]
fn arcs_behind_a_lock() {
    passes(|| {
        let current = Arc::new(Mutex::new(Arc::new(1)));
        let theirs = current.clone();
        let reader = thread::spawn(move || {
            let value = theirs.lock().unwrap().clone();
            *value
        });
        let old = std::mem::replace(&mut *current.lock().unwrap(), Arc::new(2));
        let is_only = Arc::try_unwrap(old).is_ok();
        let read = reader.join().unwrap();
        assert!(read == 1 || is_only);
    });
}

/// A count of references by hand, as in `std`, of a box.
struct Counted {
    count: AtomicUsize,
    value: UnsafeCell<u32>,
}

struct Handle(*mut Counted);

// SAFETY: the count says who is the last.
unsafe impl Send for Handle {}

fn drop_counted(handle: &Handle, fenced: bool) {
    // SAFETY: it lives until the last reference is dropped.
    let counted = unsafe { &*handle.0 };
    counted.value.with(|_| ());
    if counted.count.fetch_sub(1, Release) == 1 {
        if fenced {
            fence(Acquire);
        }
        counted.value.with_mut(|_| ());
        // SAFETY: this was the last one.
        drop(unsafe { Box::from_raw(handle.0) });
    }
}

fn counted(fenced: bool) {
    let handle = Box::into_raw(Box::new(Counted {
        count: AtomicUsize::new(3),
        value: UnsafeCell::new(1),
    }));
    let others = [handle, handle].map(|handle| {
        let handle = Handle(handle);
        thread::spawn(move || {
            let handle = handle;
            drop_counted(&handle, fenced);
        })
    });
    drop_counted(&Handle(handle), fenced);
    for other in others {
        other.join().unwrap();
    }
}

#[test]
fn a_box_that_the_last_reference_frees() {
    passes(|| counted(true));
    assert_eq!(fails(|| counted(false)), FailureKind::DataRace);
}

/// A flag that is polled with a fence after the loop, and one that is not.
fn polled(fenced: bool) {
    let shared = Arc::new((AtomicBool::new(false), AtomicU32::new(0)));
    let theirs = shared.clone();
    let other = thread::spawn(move || {
        while !theirs.0.load(Relaxed) {
            hint::spin_loop();
        }
        if fenced {
            fence(Acquire);
        }
        assert_eq!(theirs.1.load(Relaxed), 1);
    });
    shared.1.store(1, Relaxed);
    fence(Release);
    shared.0.store(true, Relaxed);
    other.join().unwrap();
}

#[test]
fn a_flag_that_is_polled() {
    passes(|| polled(true));
    assert_eq!(fails(|| polled(false)), FailureKind::Panic);
}

/// Two threads of which the later one uses what the other one has made, without having seen that it is published.
#[test]
fn a_thread_that_is_started_by_another_one() {
    passes(|| {
        let x = Arc::new(AtomicU32::new(0));
        let theirs = x.clone();
        let outer = thread::spawn(move || {
            theirs.store(1, Relaxed);
            thread::spawn(move || assert_eq!(theirs.load(Relaxed), 1))
                .join()
                .unwrap();
        });
        x.load(Relaxed);
        outer.join().unwrap();
        assert_eq!(x.load(Relaxed), 1);
    });
}

/// A panic in a thread, which somebody looks at, in the midst of weak behaviour.
#[test]
fn a_panic_that_is_joined() {
    let report = passes(|| {
        let x = Arc::new(AtomicU32::new(0));
        let theirs = x.clone();
        let other = thread::spawn(move || {
            if theirs.load(Relaxed) == 1 {
                std::panic::resume_unwind(Box::new(()));
            }
        });
        x.store(1, Relaxed);
        let _ = other.join();
    });
    assert_eq!(report.executions, 2);
}

/// Where executions are graphs, a channel is made of other operations. That is no difference between executions.
#[test]
fn a_channel_under_both_models() {
    passes(|| {
        let (sender, receiver) = raddle::sync::mpsc::channel();
        let other = thread::spawn(move || {
            let flag = AtomicBool::new(false);
            flag.store(true, Relaxed);
            sender.send(flag.load(Relaxed)).unwrap();
        });
        assert!(receiver.recv().unwrap());
        other.join().unwrap();
    });
}
