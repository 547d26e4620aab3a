//! Cells and counted references.

mod common;

use common::all;
use raddle::cell::UnsafeCell;
use raddle::sync::atomic::Ordering::{self, Acquire, Relaxed, Release, SeqCst};
use raddle::sync::atomic::{AtomicBool, AtomicU32, fence};
use raddle::sync::{Arc, Mutex, RwLock, Weak};
use raddle::{Checker, FailureKind, thread};

struct Shared {
    cell: UnsafeCell<u32>,
    flag: AtomicBool,
}

// SAFETY: that is what the tests are about.
unsafe impl Sync for Shared {}

fn shared() -> Arc<Shared> {
    Arc::new(Shared {
        cell: UnsafeCell::new(0),
        flag: AtomicBool::new(false),
    })
}

fn write(cell: &UnsafeCell<u32>, value: u32) {
    // SAFETY: races are found before they happen.
    cell.with_mut(|pointer| unsafe { *pointer = value });
}

fn read(cell: &UnsafeCell<u32>) -> u32 {
    // SAFETY: the same.
    cell.with(|pointer| unsafe { *pointer })
}

fn publish(store: Ordering, load: Ordering) -> Vec<String> {
    let all = all(move || {
        let one = shared();
        let two = one.clone();
        let child = thread::spawn(move || {
            write(&two.cell, 5);
            two.flag.store(true, store);
        });
        if one.flag.load(load) {
            assert_eq!(read(&one.cell), 5);
        }
        child.join().unwrap();
    });
    all.failures.into_keys().collect()
}

#[test]
fn release_and_acquire_order() {
    assert!(publish(Release, Acquire).is_empty());
    assert!(publish(SeqCst, SeqCst).is_empty());
    assert_eq!(publish(Relaxed, Acquire), ["DataRace"]);
    assert_eq!(publish(Release, Relaxed), ["DataRace"]);
}

#[test]
fn fences_order() {
    let all = all(|| {
        let one = shared();
        let two = one.clone();
        let child = thread::spawn(move || {
            write(&two.cell, 5);
            fence(Release);
            two.flag.store(true, Relaxed);
        });
        if one.flag.load(Relaxed) {
            fence(Acquire);
            assert_eq!(read(&one.cell), 5);
        }
        child.join().unwrap();
    });
    assert!(all.failures.is_empty(), "{:?}", all.messages);
}

#[test]
fn joining_orders_and_starting_does() {
    let all = all(|| {
        let one = shared();
        write(&one.cell, 1);
        let two = one.clone();
        let child = thread::spawn(move || write(&two.cell, 2));
        child.join().unwrap();
        read(&one.cell)
    });
    assert_eq!(all.outcomes, [2].into());
    assert!(all.failures.is_empty(), "{:?}", all.messages);
}

#[test]
fn what_comes_after_starting_is_not_ordered() {
    let all = all(|| {
        let one = shared();
        let two = one.clone();
        let child = thread::spawn(move || read(&two.cell));
        write(&one.cell, 1);
        child.join().unwrap();
    });
    assert!(all.outcomes.is_empty());
    assert_eq!(all.failures.keys().collect::<Vec<_>>(), ["DataRace"]);
}

#[test]
fn locks_order_but_readers_do_not_order_readers() {
    let mutex = all(|| {
        let one = Arc::new((Mutex::new(()), shared()));
        let two = one.clone();
        let child = thread::spawn(move || {
            let _guard = two.0.lock().unwrap();
            write(&two.1.cell, 1);
        });
        {
            let _guard = one.0.lock().unwrap();
            write(&one.1.cell, 2);
        }
        child.join().unwrap();
    });
    assert!(mutex.failures.is_empty(), "{:?}", mutex.messages);
    let readers = all(|| {
        let one = Arc::new((RwLock::new(()), shared()));
        let two = one.clone();
        let child = thread::spawn(move || {
            let _guard = two.0.read().unwrap();
            write(&two.1.cell, 1);
        });
        {
            let _guard = one.0.read().unwrap();
            write(&one.1.cell, 2);
        }
        child.join().unwrap();
    });
    assert!(readers.outcomes.is_empty());
    assert_eq!(readers.failures.keys().collect::<Vec<_>>(), ["DataRace"]);
}

#[test]
fn dropping_the_last_reference_is_ordered() {
    struct Last(UnsafeCell<u32>);
    // SAFETY: that is what the test is about.
    unsafe impl Sync for Last {}
    impl Drop for Last {
        fn drop(&mut self) {
            assert_eq!(read(&self.0), 1);
        }
    }
    let all = all(|| {
        let one = Arc::new(Last(UnsafeCell::new(0)));
        let two = one.clone();
        thread::spawn(move || write(&two.0, 1));
        drop(one);
    });
    // Where the main thread is the last one, it knows what the other did before it let go.
    assert!(all.failures.is_empty(), "{:?}", all.messages);
}

#[test]
fn clones_are_no_steps_unless_somebody_looks() {
    let quiet = all(|| {
        let one = Arc::new(AtomicU32::new(0));
        let two = one.clone();
        let child = thread::spawn(move || {
            let three = two.clone();
            three.fetch_add(1, SeqCst);
            drop(two);
        });
        let four = one.clone();
        four.fetch_add(1, SeqCst);
        drop(one);
        child.join().unwrap();
    });
    // start, begin, add, add, end, join, end: only the additions can come in two orders, and the end of the
    // child before or after the addition of main.
    assert_eq!(quiet.executions, 4);
    let looked = all(|| {
        let one = Arc::new(());
        let two = one.clone();
        let child = thread::spawn(move || drop(two));
        let seen = Arc::strong_count(&one);
        child.join().unwrap();
        (seen, Arc::strong_count(&one))
    });
    assert_eq!(looked.outcomes, [(1, 1), (2, 1)].into());
}

#[test]
fn upgrading_fails_when_nothing_is_left() {
    let all = all(|| {
        let one = Arc::new(3);
        let weak = Arc::downgrade(&one);
        let child = thread::spawn(move || drop(one));
        let seen = weak.upgrade().map(|value| *value);
        child.join().unwrap();
        (seen, weak.upgrade().is_some())
    });
    assert_eq!(all.outcomes, [(None, false), (Some(3), false)].into());
    assert!(all.failures.is_empty(), "{:?}", all.messages);
}

#[test]
fn the_last_one_unwraps() {
    let all = all(|| {
        let one = Arc::new(3);
        let two = one.clone();
        let child = thread::spawn(move || Arc::into_inner(two));
        let mine = Arc::into_inner(one);
        (mine, child.join().unwrap())
    });
    assert_eq!(all.outcomes, [(None, Some(3)), (Some(3), None)].into());
    let tried = common::all(|| {
        let one = Arc::new(3);
        let two = one.clone();
        let child = thread::spawn(move || Arc::try_unwrap(two).is_ok());
        let mine = Arc::try_unwrap(one).is_ok();
        (mine, child.join().unwrap())
    });
    assert_eq!(
        tried.outcomes,
        [(false, false), (false, true), (true, false)].into()
    );
    assert!(tried.failures.is_empty(), "{:?}", tried.messages);
}

#[test]
fn destructors_that_make_operations_are_seen() {
    struct Says(Arc<AtomicU32>, u32);
    impl Drop for Says {
        fn drop(&mut self) {
            self.0.store(self.1, SeqCst);
        }
    }
    let all = all(|| {
        let said = Arc::new(AtomicU32::new(0));
        let one = Arc::new(Says(said.clone(), 1));
        let two = one.clone();
        let child = thread::spawn(move || drop(two));
        drop(one);
        let seen = said.load(SeqCst);
        child.join().unwrap();
        (seen, said.load(SeqCst))
    });
    assert_eq!(all.outcomes, [(0, 1), (1, 1)].into());
    assert!(all.failures.is_empty(), "{:?}", all.messages);
}

#[test]
fn a_cycle_is_a_leak() {
    struct Node(Mutex<Option<Arc<Node>>>);
    let all = all(|| {
        let node = Arc::new(Node(Mutex::new(None)));
        *node.0.lock().unwrap() = Some(node.clone());
    });
    assert_eq!(
        all.messages,
        ["leak: an Arc is still alive at the end".to_owned()].into()
    );
}

#[test]
fn a_cycle_with_a_weak_reference_is_none() {
    struct Node(Weak<Node>, u32);
    let all = all(|| {
        let node = Arc::new_cyclic(|weak| Node(weak.clone(), 4));
        let again = node.0.upgrade().unwrap();
        (again.1, Arc::strong_count(&node), Arc::weak_count(&node))
    });
    assert_eq!(all.outcomes, [(4, 2, 1)].into());
    assert!(all.failures.is_empty(), "{:?}", all.messages);
}

#[test]
fn pointers_come_back() {
    let all = all(|| {
        let pointer = Arc::into_raw(Arc::new(5));
        // SAFETY: it comes from `into_raw`.
        let value = unsafe { Arc::from_raw(pointer) };
        *value
    });
    assert_eq!(all.outcomes, [5].into());
    assert!(all.failures.is_empty(), "{:?}", all.messages);
}

/// A reference can be forgotten and made again of a pointer that did not consume it, as `join_set` of tokio does.
#[test]
fn a_reference_that_is_forgotten_and_made_again_is_no_leak() {
    let report = Checker::new().run(|| {
        let shared = Arc::new(AtomicU32::new(0));
        let pointer = Arc::as_ptr(&shared);
        std::mem::forget(shared.clone());
        let address = pointer.expose_provenance();
        let child = thread::spawn(move || {
            let pointer = std::ptr::with_exposed_provenance::<AtomicU32>(address);
            // SAFETY: one reference was forgotten.
            let theirs = unsafe { Arc::from_raw(pointer) };
            theirs.fetch_add(1, SeqCst);
        });
        shared.fetch_add(1, SeqCst);
        child.join().unwrap();
        assert_eq!(Arc::strong_count(&shared), 1);

        let cyclic = Arc::new_cyclic(|weak: &Weak<AtomicU32>| {
            assert!(weak.upgrade().is_none());
            AtomicU32::new(1)
        });
        let pointer = Arc::as_ptr(&cyclic);
        std::mem::forget(cyclic);
        // SAFETY: the reference was forgotten.
        drop(unsafe { Arc::from_raw(pointer) });
    });
    assert!(report.unwrap().complete);
    let failed = Checker::new().run(|| std::mem::forget(Arc::new(1)));
    assert_eq!(failed.unwrap_err().failure.kind, FailureKind::Leak);
}

/// What comes after a releasing fence was not published by it.
#[test]
fn a_fence_publishes_what_came_before_it() {
    let failures = |order: Ordering, write_first: bool| {
        let all = all(move || {
            let one = shared();
            let two = one.clone();
            let child = thread::spawn(move || {
                if write_first {
                    write(&two.cell, 5);
                }
                fence(order);
                if !write_first {
                    write(&two.cell, 5);
                }
                two.flag.store(true, Relaxed);
            });
            if one.flag.load(Relaxed) {
                fence(Acquire);
                read(&one.cell);
            }
            child.join().unwrap();
        });
        all.failures.into_keys().collect::<Vec<_>>()
    };
    for order in [Release, Ordering::AcqRel, SeqCst] {
        assert!(failures(order, true).is_empty());
        assert_eq!(failures(order, false), ["DataRace"]);
    }
    assert_eq!(failures(Acquire, true), ["DataRace"]);
}
