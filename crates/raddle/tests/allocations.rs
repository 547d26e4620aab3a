//! Looking after memory blames no correct program, whatever it does with memory, and changes nothing else.

use std::collections::{BTreeMap, HashMap};
use std::hash::{BuildHasherDefault, DefaultHasher};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::null_mut;
use std::rc::Rc;

use raddle::sync::atomic::{AtomicPtr, AtomicU32, AtomicUsize, Ordering::*};
use raddle::sync::{Arc, Barrier, Condvar, LazyLock, Mutex, OnceLock, RwLock, Weak, mpsc};
use raddle::{Assumed, Backend, Checker, FailureKind, Memory, Report, future, thread};

fn checkers() -> Vec<(&'static str, Checker)> {
    let new = Checker::new;
    vec![
        ("default", new()),
        ("optimal", new().explorer("optimal")),
        ("threads", new().backend(Backend::Threads)),
        ("sc", new().memory(Memory::Sc)),
        ("rc11", new().memory(Memory::Rc11)),
        ("workers", new().workers(2)),
    ]
}

/// The body passes, with as many executions and the same claims as if nobody looked after memory.
#[track_caller]
fn passes(body: impl Fn() + Send + Sync + Copy + 'static) -> Report {
    let mut first = None;
    for (name, checker) in checkers() {
        let run = |on| match checker.clone().use_after_free(on).run(body) {
            Ok(report) => report,
            Err(failed) => panic!("{name}, {on}: {}", failed.text),
        };
        let (with, without) = (run(true), run(false));
        let claims = |report: &Report| {
            let kinds = report.assumptions.iter().map(|one| one.kind);
            let kinds: std::collections::BTreeSet<_> = kinds.collect();
            (report.executions, report.complete, kinds)
        };
        assert_eq!(claims(&with), claims(&without), "{name}");
        first.get_or_insert(with);
    }
    first.expect("there are checkers")
}

type Fixed<K, V> = HashMap<K, V, BuildHasherDefault<DefaultHasher>>;

type Shared = (Fixed<String, Box<AtomicU32>>, Vec<AtomicU32>, String);

#[test]
fn strings_lists_and_tables_behind_a_lock() {
    passes(|| {
        let shared = Arc::new(Mutex::new(Shared::default()));
        let work = |shared: &Mutex<Shared>| {
            for round in 0..2 {
                let mut all = shared.lock().unwrap();
                let (table, list, text) = &mut *all;
                let name = format!("{}{round}", table.len());
                table.insert(name.clone(), Box::new(AtomicU32::new(round)));
                table.retain(|_, number| number.load(SeqCst) == round);
                for number in 0..9 {
                    list.push(AtomicU32::new(number));
                    list[0].fetch_add(1, Relaxed);
                }
                text.push_str(&name);
            }
        };
        let theirs = shared.clone();
        let other = thread::spawn(move || work(&theirs));
        work(&shared);
        other.join().unwrap();
        assert_eq!(shared.lock().unwrap().1.len(), 36);
    });
}

/// A list of atomics that grows moves them to another block.
#[test]
fn objects_that_move() {
    passes(|| {
        let list = Arc::new(RwLock::new(vec![AtomicUsize::new(1)]));
        let theirs = list.clone();
        let other = thread::spawn(move || {
            theirs.write().unwrap().push(AtomicUsize::new(2));
            theirs.read().unwrap()[0].fetch_add(1, SeqCst);
        });
        list.read().unwrap()[0].fetch_add(1, SeqCst);
        other.join().unwrap();
        let list = Arc::into_inner(list).unwrap().into_inner().unwrap();
        assert_eq!(list[0].load(SeqCst), 3);
        let boxed = list.into_boxed_slice();
        assert_eq!(boxed[1].load(SeqCst), 2);
    });
}

/// Whoever drops the last reference frees the block: a strong one or a weak one, and in any order.
#[test]
fn references_that_are_counted() {
    passes(|| {
        let strong = Arc::new((AtomicU32::new(0), AtomicU32::new(1)));
        let theirs = strong.clone();
        let weak = Arc::downgrade(&strong);
        thread::spawn(move || {
            theirs.0.fetch_add(1, Relaxed);
            drop(theirs);
            drop(weak);
        });
        strong.0.fetch_add(1, Relaxed);
    });
    passes(|| {
        let strong = Arc::new(AtomicU32::new(0));
        let weak: Weak<AtomicU32> = Arc::downgrade(&strong);
        let theirs = weak.clone();
        thread::spawn(move || {
            if let Some(strong) = theirs.upgrade() {
                strong.fetch_add(1, Relaxed);
            }
        });
        strong.fetch_add(1, Relaxed);
        drop(strong);
        drop(weak);
    });
}

/// What is dropped with the last reference uses what it is in.
#[test]
fn a_destructor_that_uses_its_own_block() {
    struct Loud(AtomicU32);
    impl Drop for Loud {
        fn drop(&mut self) {
            self.0.fetch_add(1, SeqCst);
        }
    }
    passes(|| {
        let loud = Arc::new(Loud(AtomicU32::new(0)));
        let (theirs, weak) = (loud.clone(), Arc::downgrade(&loud));
        thread::spawn(move || drop(theirs));
        let last = thread::spawn(move || drop(weak));
        drop(loud);
        last.join().unwrap();
    });
}

#[test]
fn arcs_that_are_taken_apart() {
    passes(|| {
        let mut number = Arc::new(AtomicU32::new(0));
        let theirs = number.clone();
        let other = thread::spawn(move || theirs.fetch_add(1, Relaxed));
        if let Some(number) = Arc::get_mut(&mut number) {
            *number.get_mut() = 5;
        }
        match Arc::try_unwrap(number) {
            Ok(number) => drop(Box::new(number)),
            Err(number) => drop(number),
        }
        other.join().unwrap();
    });
    passes(|| {
        let pointer = Arc::into_raw(Arc::new(AtomicU32::new(0)));
        let address = pointer.expose_provenance();
        // SAFETY: it comes from `into_raw`, and there are two references now.
        unsafe { Arc::increment_strong_count(pointer) };
        thread::spawn(move || {
            let pointer = std::ptr::with_exposed_provenance::<AtomicU32>(address);
            // SAFETY: one of the references is this thread's.
            let number = unsafe { Arc::from_raw(pointer) };
            number.fetch_add(1, Relaxed);
        });
        // SAFETY: the other one.
        unsafe { Arc::decrement_strong_count(pointer) };
    });
}

/// What `std` counts is not seen: nobody is blamed, and the check says so if it matters.
#[test]
fn references_that_are_counted_by_std() {
    let body = || {
        let numbers = std::sync::Arc::new([AtomicU32::new(0), AtomicU32::new(0)]);
        let theirs = numbers.clone();
        thread::spawn(move || theirs[1].fetch_add(1, SeqCst));
        numbers[0].fetch_add(1, SeqCst);
    };
    for (name, checker) in checkers() {
        let report = checker.check(body);
        assert!(
            report.assumptions.find(Assumed::UnseenCounts).is_some(),
            "{name}"
        );
        assert!(report.complete && report.exhausted, "{name}");
    }
    // Where others have ended before, there is nothing to doubt.
    passes(|| {
        let number = std::sync::Arc::new(AtomicU32::new(0));
        let theirs = number.clone();
        let other = thread::spawn(move || theirs.fetch_add(1, SeqCst));
        other.join().unwrap();
        let number = Arc::from_std(number);
        assert_eq!(number.load(SeqCst), 1);
        let counted = Rc::new(AtomicU32::new(1));
        let again = Rc::clone(&counted);
        drop(counted);
        again.fetch_add(1, SeqCst);
    });
}

#[test]
fn messages() {
    passes(|| {
        let (sender, receiver) = mpsc::channel();
        let mine = sender.clone();
        let other = thread::spawn(move || {
            let number: Box<AtomicU32> = receiver.recv().unwrap();
            number.fetch_add(1, Relaxed);
            drop(number);
            drop(receiver.try_recv());
        });
        let number = Box::new(AtomicU32::new(1));
        number.fetch_add(1, Relaxed);
        sender.send(number).unwrap();
        drop(mine);
        drop(sender);
        other.join().unwrap();
    });
    passes(|| {
        let (sender, receiver) = mpsc::sync_channel(0);
        thread::spawn(move || drop(sender.send(Arc::new(AtomicU32::new(1)))));
        if let Ok(number) = receiver.recv() {
            number.fetch_add(1, Relaxed);
        }
    });
}

/// What is sent and never received is freed by who drops the receiver, or by who sends too late.
#[test]
fn messages_that_nobody_receives() {
    passes(|| {
        let (sender, receiver) = mpsc::channel();
        thread::spawn(move || {
            let number = Box::new(AtomicU32::new(1));
            number.fetch_add(1, Relaxed);
            let _ = sender.send(number);
        });
        drop(receiver);
    });
    passes(|| {
        let (sender, receiver) = mpsc::channel();
        let theirs = sender.clone();
        thread::spawn(move || {
            let number = Box::new(AtomicU32::new(1));
            number.fetch_add(1, Relaxed);
            let _ = theirs.send(number);
        });
        let number = Box::new(AtomicU32::new(1));
        number.fetch_add(1, Relaxed);
        let _ = sender.send(number);
        drop(receiver.try_recv());
    });
}

/// What a thread returns is freed by who drops the handle, if nobody joins.
#[test]
fn threads_that_nobody_joins() {
    passes(|| {
        let flag = Arc::new(AtomicU32::new(0));
        let theirs = flag.clone();
        let other = thread::spawn(move || {
            let number = Box::new(AtomicU32::new(1));
            number.fetch_add(1, Relaxed);
            theirs.store(1, Relaxed);
            number
        });
        flag.load(Relaxed);
        flag.load(Relaxed);
        drop(other);
    });
    passes(|| {
        let task = future::spawn(async {
            let number = Box::new(AtomicU32::new(1));
            number.fetch_add(1, Relaxed);
            number
        });
        drop(task);
    });
    passes(|| {
        let other = thread::spawn(|| {
            let number = Box::new(AtomicU32::new(1));
            number.fetch_add(1, Relaxed);
            number
        });
        let is_finished = other.is_finished();
        drop(other);
        std::hint::black_box(is_finished);
    });
}

/// Who is woken frees what the other one has woken it with.
#[test]
fn a_condition_variable_in_the_block() {
    passes(|| {
        let shared = Arc::new((Mutex::new(false), Condvar::new()));
        let theirs = shared.clone();
        thread::spawn(move || {
            *theirs.0.lock().unwrap() = true;
            theirs.1.notify_one();
        });
        let mut done = shared.0.lock().unwrap();
        while !*done {
            done = shared.1.wait(done).unwrap();
        }
    });
}

#[test]
fn what_threads_return_and_keep() {
    raddle::thread_local! {
        static OWN: std::cell::RefCell<Vec<AtomicU32>> = std::cell::RefCell::default();
    }
    passes(|| {
        let other = thread::spawn(|| {
            OWN.with(|own| own.borrow_mut().push(AtomicU32::new(1)));
            OWN.with(|own| own.borrow()[0].fetch_add(1, SeqCst));
            Box::new(AtomicU32::new(5))
        });
        OWN.with(|own| own.borrow_mut().push(AtomicU32::default()));
        assert_eq!(other.join().unwrap().load(SeqCst), 5);
    });
    passes(|| {
        let mut list = vec![Box::new(AtomicU32::new(0)), Box::new(AtomicU32::new(0))];
        thread::scope(|scope| {
            for number in &list {
                scope.spawn(|| number.fetch_add(1, Relaxed));
            }
        });
        list.retain(|number| number.load(Relaxed) == 0);
        assert!(list.is_empty());
    });
}

#[test]
fn statics_and_barriers() {
    static TABLE: LazyLock<Mutex<BTreeMap<u32, Box<AtomicU32>>>> = LazyLock::new(Mutex::default);
    static ONCE: OnceLock<Box<AtomicU32>> = OnceLock::new();
    passes(|| {
        let use_it = || {
            let mut table = TABLE.lock().unwrap();
            table.entry(1).or_default().fetch_add(1, SeqCst);
            table.remove(&1);
            ONCE.get_or_init(Box::default).fetch_add(1, Relaxed);
        };
        let other = thread::spawn(use_it);
        use_it();
        other.join().unwrap();
        assert_eq!(ONCE.get().unwrap().load(SeqCst), 2);
    });
    passes(|| {
        let shared = Arc::new((Barrier::new(2), AtomicPtr::new(null_mut::<AtomicU32>())));
        let theirs = shared.clone();
        let other = thread::spawn(move || {
            theirs.0.wait();
            let number = theirs.1.load(Relaxed);
            // SAFETY: it was stored before the barrier, and is freed after this thread has ended.
            unsafe { (*number).fetch_add(1, Relaxed) };
        });
        let number = Box::into_raw(Box::new(AtomicU32::new(1)));
        shared.1.store(number, Relaxed);
        shared.0.wait();
        other.join().unwrap();
        // SAFETY: it comes from a box.
        drop(unsafe { Box::from_raw(number) });
    });
}

/// Panics allocate and free while they unwind.
#[test]
fn panics() {
    passes(|| {
        let shared = Arc::new(Mutex::new(vec![Box::new(AtomicU32::new(0))]));
        let theirs = shared.clone();
        let other = thread::spawn(move || {
            let _boxed = Box::new(AtomicU32::new(1));
            let list = theirs.lock().unwrap();
            list[0].fetch_add(1, SeqCst);
            panic!("{}", "as it should");
        });
        let caught = catch_unwind(AssertUnwindSafe(|| {
            let number = Box::new(AtomicU32::new(1));
            number.load(SeqCst);
            std::panic::resume_unwind(number);
        }));
        assert!(caught.is_err());
        assert!(other.join().is_err());
        shared.clear_poison();
        shared.lock().unwrap().clear();
    });
}

#[test]
fn futures() {
    passes(|| {
        let shared = Arc::new(AtomicU32::new(0));
        let theirs = shared.clone();
        future::block_on(async move {
            let task = future::spawn(async move {
                let number = Box::new(AtomicU32::new(4));
                theirs.fetch_add(number.load(SeqCst), SeqCst);
                number
            });
            assert_eq!(task.await.unwrap().load(SeqCst), 4);
        });
        assert_eq!(shared.load(SeqCst), 4);
    });
}

/// What was allocated outside is freed inside, and the other way round.
#[test]
fn memory_of_others() {
    let outside = std::sync::Mutex::new((0..100_000).map(Box::new).collect::<Vec<_>>());
    let report = Checker::new().check(move || {
        let number = Arc::new(AtomicU32::new(0));
        let theirs = number.clone();
        let other = thread::spawn(move || theirs.fetch_add(1, SeqCst));
        number.fetch_add(1, SeqCst);
        // Executions do not see what is in there.
        let mut outside = outside.lock().unwrap();
        drop(outside.pop());
        outside.insert(0, Box::new(1));
        drop(outside);
        other.join().unwrap();
    });
    assert!(report.complete, "{report:?}");
}

/// More memory than is kept: what is large enough keeps its addresses, and the rest is said.
#[test]
fn more_memory_than_is_kept() {
    let report = Checker::new().check(|| {
        let number = AtomicU32::new(0);
        for round in 0..20 {
            let mut large = vec![0u64; 4 << 20];
            large[round] = 1;
            number.fetch_add(
                u32::try_from(std::hint::black_box(&large)[round]).unwrap(),
                SeqCst,
            );
        }
    });
    if cfg!(target_os = "linux") {
        assert!(report.complete, "{report:?}");
    }
    let report = Checker::new().check(|| {
        for _ in 0..1200 {
            std::hint::black_box(vec![1u8; 300 << 10]);
        }
    });
    assert!(report.assumptions.find(Assumed::ReusedMemory).is_some());
    assert!(!report.complete);
}

/// Uses of a large block are found although its pages are gone.
#[test]
fn a_large_block() {
    let failed = Checker::new().run(|| {
        let mut list: Vec<AtomicU32> = Vec::with_capacity(1 << 17);
        list.resize_with(1 << 17, AtomicU32::default);
        let number: *const AtomicU32 = std::hint::black_box(&raw const list[1 << 16]);
        drop(list);
        // SAFETY: there is none.
        unsafe { (*number).load(SeqCst) };
    });
    assert_eq!(failed.unwrap_err().failure.kind, FailureKind::UseAfterFree);
}

/// Each check has its own memory.
#[test]
fn many_checks_at_the_same_time() {
    std::thread::scope(|scope| {
        for number in 0..8 {
            scope.spawn(move || {
                for _ in 0..20 {
                    let checker = match number % 3 {
                        0 => Checker::new().backend(Backend::Threads),
                        1 => Checker::new().memory(Memory::Rc11),
                        _ => Checker::new(),
                    };
                    let is_buggy = number % 2 == 1;
                    let found = checker.run(move || {
                        let slot =
                            Arc::new(AtomicPtr::new(Box::into_raw(Box::new(AtomicU32::new(1)))));
                        let theirs = slot.clone();
                        let other = thread::spawn(move || {
                            let number = theirs.swap(null_mut(), SeqCst);
                            // SAFETY: who takes it has it alone, unless there is the bug.
                            unsafe { number.as_ref() }.map(|number| number.load(SeqCst));
                            if !number.is_null() && !is_buggy {
                                // SAFETY: it comes from a box.
                                drop(unsafe { Box::from_raw(number) });
                            }
                            number.is_null()
                        });
                        let number = match is_buggy {
                            true => slot.load(SeqCst),
                            false => slot.swap(null_mut(), SeqCst),
                        };
                        if !number.is_null() {
                            // SAFETY: as above.
                            drop(unsafe { Box::from_raw(number) });
                        }
                        other.join().unwrap();
                    });
                    let kind = found.err().map(|failed| failed.failure.kind);
                    assert_eq!(kind, is_buggy.then_some(FailureKind::UseAfterFree));
                }
            });
        }
    });
}
