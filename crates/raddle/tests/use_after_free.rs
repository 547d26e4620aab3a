//! Memory that is used after it was freed, freed twice, or published too weakly is found in every schedule; and correct programs have none.

use std::ptr::null_mut;

use raddle::cell::UnsafeCell;
use raddle::sync::Arc;
use raddle::sync::atomic::{AtomicPtr, AtomicU32, AtomicUsize, Ordering, Ordering::*, fence};
use raddle::{Checker, Failed, FailureKind, Memory, Report, thread};

/// What finds errors in these executions: the checker as it is by default, and under each memory model.
fn checkers() -> Vec<(&'static str, Checker)> {
    let new = Checker::new;
    vec![
        ("default", new()),
        ("dfs", new().explorer("dfs")),
        ("threads", new().backend(raddle::Backend::Threads)),
        ("sc", new().memory(Memory::Sc)),
        ("rc11", new().memory(Memory::Rc11)),
    ]
}

/// The body fails in this way, whoever explores it; and not if nobody looks after memory.
#[track_caller]
fn fails(kind: FailureKind, body: impl Fn() + Send + Sync + Copy + 'static) -> Failed {
    let mut last = None;
    for (name, checker) in checkers() {
        let failed = checker.use_after_free(true).run(body);
        let failed = failed.expect_err(name);
        assert_eq!(failed.failure.kind, kind, "{name}: {}", failed.text);
        last = Some(failed);
    }
    last.expect("there are checkers")
}

/// The body has no error, and looking after memory makes no execution more.
#[track_caller]
fn passes(body: impl Fn() + Send + Sync + Copy + 'static) -> Report {
    let mut first = None;
    for (name, checker) in checkers() {
        let run = |on| match checker.clone().use_after_free(on).run(body) {
            Ok(report) => report,
            Err(failed) => panic!("{name}, {on}: {}", failed.text),
        };
        let (with, without) = (run(true), run(false));
        assert_eq!(with.executions, without.executions, "{name}");
        assert_eq!(
            with.complete, without.complete,
            "{name}: {:?}",
            with.assumptions
        );
        first.get_or_insert(with);
    }
    first.expect("there are checkers")
}

/// The lines that the remarks are about, and what they say.
fn remarks(failed: &Failed) -> Vec<(u32, String)> {
    let remarks = failed.failure.remarks.iter();
    remarks.map(|one| (one.at.line, one.text.clone())).collect()
}

/// A value in a box that the compiler does not leave out.
fn boxed<T>(value: T) -> *mut T {
    std::hint::black_box(Box::into_raw(Box::new(value)))
}

struct Node {
    value: AtomicU32,
    next: AtomicPtr<Node>,
}

impl Node {
    fn boxed(value: u32) -> *mut Self {
        boxed(Self {
            value: AtomicU32::new(value),
            next: AtomicPtr::new(null_mut()),
        })
    }
}

/// Treiber's stack, whose nodes are freed as soon as they were popped.
struct Stack(AtomicPtr<Node>);

impl Stack {
    fn of(values: &[u32]) -> Arc<Self> {
        let stack = Arc::new(Self(AtomicPtr::new(null_mut())));
        for &value in values {
            let node = Node::boxed(value);
            // SAFETY: nobody else knows the node yet.
            unsafe { (*node).next.store(stack.0.load(SeqCst), SeqCst) };
            stack.0.store(node, SeqCst);
        }
        stack
    }

    fn pop(&self) -> Option<u32> {
        loop {
            let head = self.0.load(SeqCst);
            if head.is_null() {
                return None;
            }
            // SAFETY: there is none: another thread may have popped and freed the node.
            let next = unsafe { (*head).next.load(SeqCst) };
            if self.0.compare_exchange(head, next, SeqCst, SeqCst).is_ok() {
                // SAFETY: as above.
                let value = unsafe { (*head).value.load(SeqCst) };
                // SAFETY: who popped it frees it.
                drop(unsafe { Box::from_raw(head) });
                return Some(value);
            }
        }
    }
}

impl Drop for Stack {
    fn drop(&mut self) {
        let mut node = *self.0.get_mut();
        while !node.is_null() {
            // SAFETY: nobody else has the stack.
            let mut owned = unsafe { Box::from_raw(node) };
            node = *owned.next.get_mut();
        }
    }
}

fn pop_twice() {
    let stack = Stack::of(&[1, 2]);
    let theirs = stack.clone();
    let other = thread::spawn(move || theirs.pop());
    stack.pop();
    other.join().unwrap();
}

#[test]
fn a_node_that_is_freed_while_another_thread_may_read_it() {
    let failed = fails(FailureKind::UseAfterFree, pop_twice);
    assert!(
        failed.failure.message.starts_with("use after free: "),
        "{}",
        failed.text
    );
    let texts = remarks(&failed);
    let says = |part: &str| {
        texts
            .iter()
            .any(|(line, text)| *line > 0 && text.contains(part))
    };
    for part in ["freed the memory", "allocated the memory", "reads atomic"] {
        assert!(says(part), "{part}: {texts:?}");
    }
    // Replaying finds it again.
    let again = Checker::new().replay(&failed.schedule).run(pop_twice);
    assert_eq!(again.unwrap_err().failure, failed.failure);
}

/// One execution is enough, whichever: what was used before the free counts as well.
#[test]
fn the_order_of_execution_does_not_matter() {
    let body = || {
        let number = boxed(AtomicUsize::new(0));
        let shared = number.expose_provenance();
        let user = thread::spawn(move || {
            let number = std::ptr::with_exposed_provenance::<AtomicUsize>(shared);
            // SAFETY: there is none.
            unsafe { (*number).fetch_add(1, SeqCst) };
        });
        // Something to do before the free.
        Arc::new(AtomicU32::new(0)).load(SeqCst);
        // SAFETY: it comes from a box.
        drop(unsafe { Box::from_raw(number) });
        user.join().unwrap();
    };
    let mut messages = std::collections::BTreeSet::new();
    for seed in 0..20 {
        let random = Checker::new().explorer("random").seed(seed);
        let failed = random.max_executions(1).run(body).unwrap_err();
        assert_eq!(failed.failure.kind, FailureKind::UseAfterFree);
        assert_eq!(failed.executions, 1);
        messages.insert(failed.failure.message);
    }
    assert_eq!(messages.len(), 2, "both orders: {messages:?}");
    fails(FailureKind::UseAfterFree, body);
}

/// A join orders the free.
#[test]
fn a_free_after_a_join() {
    passes(|| {
        let number = boxed(AtomicUsize::new(0));
        let shared = number.expose_provenance();
        let user = thread::spawn(move || {
            let number = std::ptr::with_exposed_provenance::<AtomicUsize>(shared);
            // SAFETY: it is freed after this thread has ended.
            unsafe { (*number).fetch_add(1, SeqCst) };
        });
        user.join().unwrap();
        // SAFETY: it comes from a box.
        drop(unsafe { Box::from_raw(number) });
    });
}

/// A thread that uses what it has freed itself.
#[test]
fn in_one_thread() {
    let failed = fails(FailureKind::UseAfterFree, || {
        let number = boxed(AtomicUsize::new(7));
        // SAFETY: it comes from a box.
        drop(unsafe { Box::from_raw(number) });
        // SAFETY: there is none.
        unsafe { (*number).load(Relaxed) };
    });
    assert!(!failed.failure.message.contains("nothing orders"));
}

#[test]
fn a_cell_or_a_lock_in_memory_that_was_freed() {
    struct Freed<T>(*mut T);
    impl<T> Freed<T> {
        fn new(value: T) -> Self {
            let block = boxed(value);
            // SAFETY: it comes from a box.
            drop(unsafe { Box::from_raw(block) });
            Self(block)
        }
    }
    fails(FailureKind::UseAfterFree, || {
        let cell = Freed::new(UnsafeCell::new(1));
        // SAFETY: there is none.
        unsafe { (*cell.0).with(|_| ()) };
    });
    fails(FailureKind::UseAfterFree, || {
        let mutex = Freed::new(raddle::sync::Mutex::new(1));
        // SAFETY: there is none.
        drop(unsafe { (*mutex.0).lock() });
    });
    fails(FailureKind::UseAfterFree, || {
        let condvar = Freed::new((raddle::sync::Condvar::new(), 1));
        // SAFETY: there is none.
        unsafe { (*condvar.0).0.notify_all() };
    });
    fails(FailureKind::UseAfterFree, || {
        let lock = Freed::new([raddle::sync::RwLock::new(1), raddle::sync::RwLock::new(2)]);
        // SAFETY: there is none.
        drop(unsafe { (&(*lock.0))[1].write() });
    });
}

/// A reference is made of a pointer to a value whose last reference is gone.
#[test]
fn an_arc_of_a_pointer_that_is_too_old() {
    fails(FailureKind::UseAfterFree, || {
        let pointer = Arc::into_raw(Arc::new(AtomicU32::new(1)));
        // SAFETY: it comes from `into_raw`.
        drop(unsafe { Arc::from_raw(pointer) });
        // SAFETY: there is none.
        unsafe { Arc::increment_strong_count(pointer) };
    });
}

#[test]
fn a_double_free() {
    let failed = fails(FailureKind::DoubleFree, || {
        let flag = Arc::new(AtomicU32::new(0));
        let block = boxed(AtomicU32::new(5));
        for _ in 0..2 {
            flag.fetch_add(1, SeqCst);
            // SAFETY: there is none: the block is freed twice.
            drop(unsafe { Box::from_raw(block) });
        }
        flag.load(SeqCst);
    });
    assert_eq!(remarks(&failed).len(), 3, "{}", failed.text);
}

/// The end of a thread is soon enough.
#[test]
fn a_double_free_at_the_end() {
    for size in [1, 8, 100] {
        for (name, checker) in checkers() {
            let failed = checker.run(move || {
                let mut block = std::mem::ManuallyDrop::new(vec![0u8; size]);
                for _ in 0..2 {
                    // SAFETY: there is none: the block is freed twice.
                    unsafe { std::mem::ManuallyDrop::drop(&mut block) };
                }
            });
            let kind = failed.unwrap_err().failure.kind;
            assert_eq!(kind, FailureKind::DoubleFree, "{name}");
        }
    }
}

/// A pointer to a new value is stored and loaded with these orderings.
fn publish<const RELEASES: bool, const ACQUIRES: bool>() {
    let slot = Arc::new(AtomicPtr::new(null_mut::<AtomicU32>()));
    let theirs = slot.clone();
    let reader = thread::spawn(move || {
        let order = if ACQUIRES { Acquire } else { Relaxed };
        let number = theirs.load(order);
        if !number.is_null() {
            // SAFETY: it is freed after this thread has ended.
            unsafe { (*number).load(Relaxed) };
        }
    });
    let number = boxed(AtomicU32::new(5));
    let order = if RELEASES { Release } else { Relaxed };
    slot.store(number, order);
    reader.join().unwrap();
    // SAFETY: it comes from a box, and nobody else uses it any more.
    drop(unsafe { Box::from_raw(number) });
}

#[test]
fn a_pointer_that_is_published_too_weakly() {
    let failed = fails(
        FailureKind::UnsynchronisedPublication,
        publish::<false, true>,
    );
    let texts = remarks(&failed);
    let find = |part: &str| {
        texts
            .iter()
            .any(|(line, text)| *line > 0 && text.contains(part))
    };
    assert!(find("allocated the memory"), "{texts:?}");
    assert!(
        find("publishes the pointer (Relaxed); `Release` would order it"),
        "{texts:?}"
    );
    assert!(find("reads the pointer (Acquire)"), "{texts:?}");
    let failed = fails(
        FailureKind::UnsynchronisedPublication,
        publish::<true, false>,
    );
    let texts = remarks(&failed);
    let find = |part: &str| {
        texts
            .iter()
            .any(|(line, text)| *line > 0 && text.contains(part))
    };
    assert!(find("publishes the pointer (Release)"), "{texts:?}");
    assert!(
        find("reads the pointer (Relaxed); `Acquire` would order it"),
        "{texts:?}"
    );
    passes(publish::<true, true>);
}

/// Fences order as much as the operations.
#[test]
fn a_pointer_that_is_published_by_fences() {
    passes(|| {
        let slot = Arc::new(AtomicPtr::new(null_mut::<AtomicU32>()));
        let theirs = slot.clone();
        let reader = thread::spawn(move || {
            let number = theirs.load(Relaxed);
            if !number.is_null() {
                fence(Acquire);
                // SAFETY: it is freed after this thread has ended.
                unsafe { (*number).load(Relaxed) };
            }
        });
        let number = boxed(AtomicU32::new(5));
        fence(Release);
        slot.store(number, Relaxed);
        reader.join().unwrap();
        // SAFETY: it comes from a box, and nobody else uses it any more.
        drop(unsafe { Box::from_raw(number) });
    });
}

/// What is allocated after a fence is not published by it.
#[test]
fn a_block_that_is_allocated_after_the_fence() {
    fails(FailureKind::UnsynchronisedPublication, || {
        let slot = Arc::new(AtomicPtr::new(null_mut::<AtomicU32>()));
        let theirs = slot.clone();
        let reader = thread::spawn(move || {
            let number = theirs.load(Acquire);
            if !number.is_null() {
                // SAFETY: it is freed after this thread has ended.
                unsafe { (*number).load(Relaxed) };
            }
        });
        fence(Release);
        let number = boxed(AtomicU32::new(5));
        slot.store(number, Relaxed);
        reader.join().unwrap();
        // SAFETY: it comes from a box, and nobody else uses it any more.
        drop(unsafe { Box::from_raw(number) });
    });
}

/// Counts of one's own, as `Arc` has them: `DROP` is the ordering with which a reference is dropped.
struct Counted(*const (AtomicUsize, AtomicU32), Ordering);

// SAFETY: what it refers to is used by atomic operations only.
unsafe impl Send for Counted {}

impl Counted {
    fn value(&self) -> &(AtomicUsize, AtomicU32) {
        // SAFETY: the count keeps it.
        unsafe { &*self.0 }
    }
}

impl Clone for Counted {
    fn clone(&self) -> Self {
        self.value().0.fetch_add(1, Relaxed);
        Self(self.0, self.1)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        if self.value().0.fetch_sub(1, self.1) == 1 {
            fence(Acquire);
            // SAFETY: it comes from a box, and the last reference is gone.
            drop(unsafe { Box::from_raw(self.0.cast_mut()) });
        }
    }
}

fn count(order: Ordering) {
    let value = (AtomicUsize::new(1), AtomicU32::new(0));
    let counted = Counted(boxed(value), order);
    let theirs = counted.clone();
    thread::spawn(move || theirs.value().1.load(Relaxed));
    counted.value().1.load(Relaxed);
}

#[test]
fn references_that_are_counted_by_hand() {
    passes(|| count(Release));
    passes(|| count(AcqRel));
    fails(FailureKind::UseAfterFree, || count(Relaxed));
    fails(FailureKind::UseAfterFree, || count(Acquire));
}

/// A reader says which node it needs, and looks again whether it is still there.
struct Hazard<const BUGGY: bool> {
    current: AtomicPtr<AtomicU32>,
    hazard: AtomicPtr<AtomicU32>,
}

impl<const BUGGY: bool> Hazard<BUGGY> {
    fn read(&self) -> Option<u32> {
        let node = self.current.load(Acquire);
        self.hazard.store(node, SeqCst);
        if !BUGGY && self.current.load(SeqCst) != node {
            self.hazard.store(null_mut(), Release);
            return None;
        }
        // SAFETY: the hazard keeps it, unless there is the bug.
        let value = unsafe { (*node).load(Relaxed) };
        self.hazard.store(null_mut(), Release);
        Some(value)
    }

    fn replace(&self, value: u32) -> *mut AtomicU32 {
        let old = self.current.swap(boxed(AtomicU32::new(value)), SeqCst);
        if self.hazard.load(SeqCst) == old {
            return old;
        }
        // SAFETY: it is not the current one, and nobody has said that he needs it.
        drop(unsafe { Box::from_raw(old) });
        null_mut()
    }
}

fn hazard<const BUGGY: bool>() {
    let shared = Arc::new(Hazard::<BUGGY> {
        current: AtomicPtr::new(boxed(AtomicU32::new(1))),
        hazard: AtomicPtr::new(null_mut()),
    });
    let theirs = shared.clone();
    let reader = thread::spawn(move || theirs.read());
    let retired = shared.replace(2);
    reader.join().unwrap();
    for node in [retired, shared.current.load(SeqCst)] {
        if !node.is_null() {
            // SAFETY: the only reader has ended.
            drop(unsafe { Box::from_raw(node) });
        }
    }
}

#[test]
fn hazard_pointers() {
    passes(hazard::<false>);
    fails(FailureKind::UseAfterFree, hazard::<true>);
}

/// The smallest form of epochs: a reader is inside or not, and who has taken a node away waits until it has seen the reader outside.
fn epochs(leave: Ordering) {
    let shared = Arc::new((
        AtomicPtr::new(boxed(AtomicU32::new(1))),
        AtomicUsize::new(0),
    ));
    let theirs = shared.clone();
    let reader = thread::spawn(move || {
        theirs.1.store(1, SeqCst);
        let node = theirs.0.load(SeqCst);
        if !node.is_null() {
            // SAFETY: nodes are not freed while there is a reader inside.
            unsafe { (*node).load(Relaxed) };
        }
        theirs.1.store(2, leave);
    });
    let node = shared.0.swap(null_mut(), SeqCst);
    if shared.1.load(SeqCst) == 1 {
        reader.join().unwrap();
    }
    // SAFETY: it comes from a box; a reader that comes later finds nothing.
    drop(unsafe { Box::from_raw(node) });
}

#[test]
fn epochs_of_one_reader() {
    passes(|| epochs(Release));
    fails(FailureKind::UseAfterFree, || epochs(Relaxed));
}
