//! Loops that poll how many references there are. Clones and drops of several threads commute, so whether such a loop is suspended must not depend on their order.

mod common;

use std::collections::BTreeSet;
use std::sync::{Arc as StdArc, Mutex as StdMutex};

use common::{Random, some};
use raddle::sync::atomic::{AtomicU32, Ordering::SeqCst};
use raddle::sync::{Arc, RwLock, Weak};
use raddle::{Assumed, Checker, FailureKind, Options, thread};

/// No program of this file needs more executions, or more preemptions.
const MOST: u64 = 4_000;
const BOUND: u32 = 40;

fn checker(explorer: &str) -> Checker {
    let checker = Checker::new().explorer(explorer).leaks(false);
    let checker = checker
        .count_classes(true)
        .max_executions(MOST)
        .max_steps(500);
    match explorer {
        "algorithm2" | "bounded" => checker.bound(BOUND),
        _ => checker,
    }
}

/// All explorers run the same classes, and run all of them.
fn same_classes(body: fn()) -> u64 {
    let classes = ["dfs", "iterative", "bounded", "algorithm2", "optimal"].map(|explorer| {
        let report = checker(explorer).check(body);
        assert!(report.exhausted, "{explorer}");
        assert!(report.assumptions.find(Assumed::LoopsDisturbed).is_none());
        report.classes.unwrap()
    });
    assert!(
        classes.iter().all(|&count| count == classes[0]),
        "{classes:?}"
    );
    classes[0]
}

#[test]
fn a_loop_that_clones_and_then_counts_comes_to_an_end() {
    let classes = same_classes(|| {
        let a = Arc::new(1);
        let b = a.clone();
        let waits = thread::spawn(move || {
            loop {
                drop(a.clone());
                if Arc::strong_count(&a) == 1 {
                    break;
                }
                thread::yield_now();
            }
        });
        drop(b);
        waits.join().unwrap();
    });
    assert_eq!(classes, 3);
}

#[test]
fn two_loops_that_upgrade_come_to_an_end() {
    let classes = same_classes(|| {
        fn wait(weak: &Weak<u32>) {
            while weak.upgrade().is_some() {
                thread::yield_now();
            }
        }
        let a = Arc::new(1);
        let weak = Arc::downgrade(&a);
        let theirs = weak.clone();
        let waits = thread::spawn(move || wait(&theirs));
        drop(a);
        wait(&weak);
        waits.join().unwrap();
    });
    assert_eq!(classes, 20);
}

#[test]
fn a_loop_that_counts_and_then_clones_is_the_same_when_it_is_run_again() {
    let classes = same_classes(|| {
        let a = Arc::new(1);
        let b = a.clone();
        let x = Arc::new(AtomicU32::new(0));
        let z = x.clone();
        let waits = thread::spawn(move || {
            while Arc::strong_count(&a) > 1 {
                z.store(1, SeqCst);
                drop(a.clone());
                thread::yield_now();
            }
        });
        x.load(SeqCst);
        drop(b);
        waits.join().unwrap();
    });
    assert_eq!(classes, 6);
}

#[test]
fn two_loops_that_count_and_clone_disturb_each_other_in_the_same_way() {
    let classes = same_classes(|| {
        fn wait(a: &Arc<u32>) {
            while Arc::strong_count(a) > 2 {
                drop(a.clone());
                thread::yield_now();
            }
        }
        let a = Arc::new(1);
        let (b, c) = (a.clone(), a.clone());
        let waits = thread::spawn(move || {
            wait(&a);
            // So that the other one may end.
            std::mem::forget(a);
        });
        drop(c);
        wait(&b);
        waits.join().unwrap();
    });
    assert_eq!(classes, 19);
}

/// How many readers a lock has is such a count, too.
#[test]
fn a_loop_that_reads_and_tries_to_write_is_suspended_in_the_same_way() {
    same_classes(|| {
        let lock = Arc::new(RwLock::new(0));
        let theirs = lock.clone();
        let waits = thread::spawn(move || {
            loop {
                if let Ok(guard) = theirs.try_write()
                    && *guard == 1
                {
                    break;
                }
                drop(theirs.read());
                thread::yield_now();
            }
        });
        drop(lock.read());
        *lock.write().unwrap() = 1;
        waits.join().unwrap();
    });
}

/// What a thread does in a random program.
#[derive(Clone, Copy, Debug)]
enum Act {
    Load,
    Store,
    CloneAndDrop,
    DropOwn,
    Count,
    Upgrade,
    /// Waits until there are no more references than this.
    CountLoop(usize),
    /// The same, and makes one for a moment before or after it looks, and stores perhaps.
    CloneLoop(usize, bool, bool),
    UpgradeLoop,
}

fn act(act: Act, x: &AtomicU32, own: &mut Option<Arc<u32>>, weak: &Weak<u32>) -> u32 {
    match act {
        Act::Load => return x.load(SeqCst),
        Act::Store => x.store(1, SeqCst),
        Act::CloneAndDrop => drop(own.clone()),
        Act::DropOwn => *own = None,
        Act::Count => return weak.strong_count() as u32,
        Act::Upgrade => return weak.upgrade().is_some().into(),
        Act::CountLoop(most) => {
            while weak.strong_count() > most {
                thread::yield_now();
            }
        }
        Act::CloneLoop(most, first, stores) => loop {
            if first {
                drop(own.clone());
            }
            if weak.strong_count() <= most {
                break;
            }
            if stores {
                x.store(2, SeqCst);
            }
            if !first {
                drop(own.clone());
            }
            thread::yield_now();
        },
        Act::UpgradeLoop => {
            while weak.upgrade().is_some() {
                thread::yield_now();
            }
        }
    }
    0
}

fn run_acts(acts: &[Vec<Act>; 2]) -> [Vec<u32>; 2] {
    let x = StdArc::new(AtomicU32::new(0));
    let a = Arc::new(0);
    let weak = Arc::downgrade(&a);
    let run = |acts: Vec<Act>, mut own: Option<Arc<u32>>, weak: Weak<u32>| {
        let x = x.clone();
        move || {
            let acts = acts.into_iter();
            acts.map(|one| act(one, &x, &mut own, &weak))
                .collect::<Vec<_>>()
        }
    };
    let theirs = thread::spawn(run(acts[1].clone(), Some(a.clone()), weak.clone()));
    let mine = run(acts[0].clone(), Some(a), weak)();
    [mine, theirs.join().unwrap()]
}

fn random_acts(random: &mut Random) -> [Vec<Act>; 2] {
    let some_act = |random: &mut Random| match random.below(7) {
        0 => Act::Load,
        1 => Act::Store,
        2 | 3 => Act::CloneAndDrop,
        4 => Act::DropOwn,
        5 => Act::Count,
        _ => Act::Upgrade,
    };
    let some_loop = |random: &mut Random| match random.below(5) {
        0 => Act::CountLoop(1),
        1 => Act::UpgradeLoop,
        _ => Act::CloneLoop(1, random.below(2) == 0, random.below(3) == 0),
    };
    let mut acts = [0, 1].map(|_| {
        let length = random.below(3);
        (0..length).map(|_| some_act(random)).collect::<Vec<_>>()
    });
    acts[0].push(Act::DropOwn);
    acts[0].extend((0..random.below(2)).map(|_| some_act(random)));
    if random.below(3) == 0 {
        acts[0].push(some_loop(random));
    }
    acts[1].push(some_loop(random));
    acts[1].extend((0..random.below(2)).map(|_| some_act(random)));
    acts
}

/// The driver checks that steps which touch nothing in common change places, whether they are suspended or not.
#[test]
fn random_loops_over_references_are_foreseen() {
    let programs = std::env::var("RADDLE_TEST_PROGRAMS").map_or(40, |count| count.parse().unwrap());
    let mut options = Options::default();
    // Some of the loops have no end.
    options.max_steps = 300;
    options.spin_limit = 20;
    let mut random = Random(0x2545_f491_4f6c_dd1d);
    for _ in 0..programs {
        let acts = random_acts(&mut random);
        some(&options, 100, move || run_acts(&acts));
    }
}

/// All explorers see the same outcomes, and if they have run all, as many classes.
#[test]
fn random_loops_over_references_have_the_same_outcomes_for_all_explorers() {
    let programs = std::env::var("RADDLE_TEST_PROGRAMS").map_or(60, |count| count.parse().unwrap());
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let (mut compared, mut cut, mut stuck) = (0, 0, 0);
    for _ in 0..programs {
        let acts = random_acts(&mut random);
        let mut seen: Option<(Option<u64>, BTreeSet<_>)> = None;
        for explorer in ["dfs", "optimal", "bounded", "iterative"] {
            let outcomes = StdArc::new(StdMutex::new(BTreeSet::new()));
            let (all, body) = (outcomes.clone(), acts.clone());
            let checked = checker(explorer).run(move || {
                let outcome = run_acts(&body);
                all.lock().unwrap().insert(outcome);
            });
            let outcomes = std::mem::take(&mut *outcomes.lock().unwrap());
            match checked {
                Ok(report) if report.executions >= MOST => {
                    assert_eq!(explorer, "dfs", "{acts:?}");
                    cut += 1;
                    break;
                }
                Ok(report) => {
                    let classes = report.classes.filter(|_| report.exhausted);
                    match &seen {
                        None => seen = Some((classes, outcomes)),
                        Some((expected, all)) => {
                            assert_eq!(outcomes, *all, "{explorer}: {acts:?}");
                            assert_eq!(classes, *expected, "{explorer}: {acts:?}");
                        }
                    }
                }
                Err(failed) => {
                    // A loop of a thread whose own reference keeps it from ending.
                    let has_no_end = matches!(
                        failed.failure.kind,
                        FailureKind::LiveLock | FailureKind::TooManySteps
                    );
                    assert!(has_no_end, "{explorer}: {acts:?}: {}", failed.text);
                    assert_eq!(explorer, "dfs", "{acts:?}");
                    stuck += 1;
                    break;
                }
            }
        }
        compared += u32::from(seen.is_some());
    }
    println!("{compared} programs compared, {cut} cut, {stuck} stuck");
    assert!(compared > programs / 4);
}
