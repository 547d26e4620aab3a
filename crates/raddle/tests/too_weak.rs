//! A data race names the orderings that are too weak to keep the two accesses apart, with their places.

use raddle::cell::UnsafeCell;
use raddle::sync::Arc;
use raddle::sync::atomic::Ordering::{self, AcqRel, Acquire, Relaxed, Release, SeqCst};
use raddle::sync::atomic::{AtomicU32, fence};
use raddle::{Checker, Failed, FailureKind, Memory, thread};

#[derive(Default)]
struct Shared {
    cell: UnsafeCell<u32>,
    flag: AtomicU32,
}

// SAFETY: that is what the tests are about.
unsafe impl Sync for Shared {}

impl Shared {
    fn write(&self, value: u32) {
        // SAFETY: races are found before they happen.
        self.cell.with_mut(|pointer| unsafe { *pointer = value });
    }

    fn read(&self) -> u32 {
        // SAFETY: the same.
        self.cell.with(|pointer| unsafe { *pointer })
    }
}

/// The lines of the orderings that are named, each with what is said there.
fn named(failed: &Failed) -> Vec<(u32, String)> {
    assert_eq!(
        failed.failure.kind,
        FailureKind::DataRace,
        "{}",
        failed.text
    );
    let help = failed.failure.help();
    help.map(|remark| (remark.at.line, remark.text.clone()))
        .collect()
}

/// A check finds the same, however it explores.
fn in_each_way(body: impl Fn() + Send + Sync + Clone + 'static) -> Vec<(u32, String)> {
    let ways = [None, Some(Memory::Sc), Some(Memory::Rc11)];
    let mut found = ways.map(|memory| {
        let checker = match memory {
            Some(memory) => Checker::new().memory(memory).explorer("graphs"),
            None => Checker::new(),
        };
        let failed = checker.run(body.clone()).expect_err("a race");
        named(&failed)
    });
    assert_eq!(found[0], found[1]);
    assert_eq!(found[0], found[2]);
    std::mem::take(&mut found[0])
}

const STORE: u32 = line!() + 8;
const LOAD: u32 = line!() + 9;

fn passes_on(store: Ordering, load: Ordering) -> impl Fn() + Send + Sync + Clone + 'static {
    move || {
        let (one, two) = shared();
        let child = thread::spawn(move || {
            two.write(5);
            two.flag.store(1, store);
        });
        if one.flag.load(load) == 1 {
            assert_eq!(one.read(), 5);
        }
        child.join().unwrap();
    }
}

fn shared() -> (Arc<Shared>, Arc<Shared>) {
    let one = Arc::new(Shared::default());
    (one.clone(), one)
}

#[test]
fn a_relaxed_store_does_not_publish() {
    let found = in_each_way(passes_on(Relaxed, Acquire));
    let [(STORE, text)] = &found[..] else {
        panic!("{found:?}");
    };
    assert_eq!(
        text,
        "this store is Relaxed, so it does not publish what its thread did before: it has to be Release"
    );
}

#[test]
fn a_relaxed_load_does_not_acquire() {
    let found = in_each_way(passes_on(Release, Relaxed));
    let [(LOAD, text)] = &found[..] else {
        panic!("{found:?}");
    };
    assert!(text.starts_with("this load is Relaxed, so it does not acquire what"));
    assert!(text.ends_with(": it has to be Acquire"), "{text}");
    assert!(text.contains(&format!("too_weak.rs:{STORE},")), "{text}");
}

#[test]
fn both_sides_can_be_too_weak() {
    let lines: Vec<u32> = in_each_way(passes_on(Relaxed, Relaxed))
        .into_iter()
        .map(|one| one.0)
        .collect();
    assert_eq!(lines, [STORE, LOAD]);
}

/// What is strong enough stays: the program with the orderings that were named passes.
#[test]
fn with_what_is_named_there_is_no_race() {
    Checker::new().check(passes_on(Release, Acquire));
}

#[test]
fn fences_are_counted() {
    let found = in_each_way(|| {
        let (one, two) = shared();
        let child = thread::spawn(move || {
            two.write(5);
            fence(Release);
            two.flag.store(1, Relaxed);
        });
        if one.flag.load(Relaxed) == 1 {
            one.read();
        }
        child.join().unwrap();
    });
    let [(_, text)] = &found[..] else {
        panic!("{found:?}");
    };
    assert!(text.starts_with("this load"), "{text}");
}

/// An update that releases and has to acquire too needs both, and one whose failure is read needs an ordering for that.
#[test]
fn updates_and_exchanges_are_told_what_they_need() {
    let update = |order: Ordering| {
        move || {
            let (one, two) = shared();
            let child = thread::spawn(move || {
                two.write(5);
                two.flag.fetch_add(1, Release);
            });
            if one.flag.fetch_add(1, order) == 1 {
                one.read();
            }
            child.join().unwrap();
        }
    };
    let found = in_each_way(update(Release));
    assert!(
        found[0].1.starts_with("this update is Release"),
        "{found:?}"
    );
    assert!(found[0].1.ends_with("it has to be AcqRel"), "{found:?}");
    Checker::new().check(update(AcqRel));

    let exchange = |failure: Ordering| {
        move || {
            let (one, two) = shared();
            let child = thread::spawn(move || {
                two.write(5);
                two.flag.store(1, Release);
            });
            let found = one.flag.compare_exchange(0, 2, SeqCst, failure);
            if found.is_err() {
                one.read();
            }
            child.join().unwrap();
        }
    };
    let found = in_each_way(exchange(Relaxed));
    let text = &found[0].1;
    assert!(
        text.starts_with("this compare-exchange, which fails here and then is Relaxed"),
        "{text}"
    );
    Checker::new().check(exchange(Acquire));
}

/// Where nobody has read anything, no ordering would help.
#[test]
fn nothing_is_named_where_no_ordering_would_help() {
    let found = in_each_way(|| {
        let (one, two) = shared();
        let child = thread::spawn(move || two.write(1));
        one.write(2);
        child.join().unwrap();
    });
    assert_eq!(found, []);
}

/// The lines of the orderings that let a failing execution come about, and what is said there.
fn helped(body: impl Fn() + Send + Sync + 'static) -> Vec<(u32, String)> {
    let failed = Checker::new().run(body).expect_err("it fails");
    assert_eq!(failed.failure.kind, FailureKind::Panic, "{}", failed.text);
    let help = failed.failure.help();
    help.map(|remark| (remark.at.line, remark.text.clone()))
        .collect()
}

/// No data race, but a read of an old value: the same orderings are named, with what was missed.
#[test]
fn a_missed_write_names_the_ordering_that_let_it_be_missed() {
    let passes_on = |store: Ordering, load: Ordering| {
        move || {
            let one = Arc::new((AtomicU32::new(0), AtomicU32::new(0)));
            let two = one.clone();
            let child = thread::spawn(move || {
                two.0.store(5, Relaxed);
                two.1.store(1, store);
            });
            if one.1.load(load) == 1 {
                assert_eq!(one.0.load(Relaxed), 5);
            }
            child.join().unwrap();
        }
    };
    let (store, load) = (line!() - 8, line!() - 6);
    let release = helped(passes_on(Relaxed, Acquire));
    let [(line, text)] = &release[..] else {
        panic!("{release:?}");
    };
    assert_eq!(*line, store);
    assert!(text.starts_with("this store is Relaxed"), "{text}");
    assert!(text.contains("what main missed at"), "{text}");
    assert!(text.ends_with("it has to be Release"), "{text}");
    let acquire = helped(passes_on(Release, Relaxed));
    assert_eq!(acquire.len(), 1);
    assert_eq!(acquire[0].0, load);
    let both: Vec<u32> = helped(passes_on(Relaxed, Relaxed))
        .into_iter()
        .map(|one| one.0)
        .collect();
    assert_eq!(both, [store, load]);
    Checker::new().check(passes_on(Release, Acquire));
}

/// Nothing leads from the writes to the reads that miss them, so no ordering of an access would help.
#[test]
fn store_buffering_has_no_such_help() {
    let help = helped(|| {
        let one = Arc::new((AtomicU32::new(0), AtomicU32::new(0)));
        let two = one.clone();
        let child = thread::spawn(move || {
            two.0.store(1, Release);
            two.1.load(Acquire)
        });
        one.1.store(1, Release);
        let mine = one.0.load(Acquire);
        assert!(mine == 1 || child.join().unwrap() == 1);
    });
    assert_eq!(help, []);
}
