//! Every explorer against naive enumeration.
#![allow(missing_docs)]

mod bounded;
mod pulse;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::sync::Mutex;

use raddle_schedule::explorers::{
    ALL, Algorithm1, Algorithm2, Bounded, Deepening, Dfs, Guarantee, Named, Optimal, Parameters,
    Pct, Random, Replay,
};
use raddle_schedule::testing::{Op, Op::*, Toy};
use raddle_schedule::{ClassHash, Explorer, Extent, Move, ThreadId, Trace, class_of};

type Outcome = (Vec<Vec<u64>>, bool);

/// The classes that an explorer runs, with how often, and what came out.
#[derive(Debug, Default, PartialEq, Eq)]
struct Seen {
    executions: u64,
    classes: BTreeMap<ClassHash, u64>,
    outcomes: BTreeSet<Outcome>,
}

impl Seen {
    fn executions(&self) -> u64 {
        self.executions
    }
}

fn explore(explorer: &mut impl Explorer, threads: &[&[Op]]) -> (Extent, Seen) {
    explore_up_to(2_000, explorer, threads)
}

fn explore_without_limit(explorer: &mut impl Explorer, threads: &[&[Op]]) -> (Extent, Seen) {
    explore_up_to(u64::MAX, explorer, threads)
}

fn explore_up_to(most: u64, explorer: &mut impl Explorer, threads: &[&[Op]]) -> (Extent, Seen) {
    let mut seen = Seen::default();
    let mut visit = |toy: &mut Toy, trace: &Trace| {
        seen.executions += 1;
        *seen.classes.entry(class_of(trace)).or_default() += 1;
        seen.outcomes.insert((toy.outcome(), toy.is_stuck()));
        if seen.executions() < most {
            ControlFlow::Continue(())
        } else {
            ControlFlow::Break(())
        }
    };
    let coverage = explorer
        .explore(&mut Toy::new(threads), &mut visit)
        .expect("toys are deterministic");
    (coverage.extent(), seen)
}

fn optimal_count(threads: &[&[Op]]) -> u64 {
    let (coverage, optimal) = explore(&mut Optimal::default(), threads);
    assert_eq!(coverage, Extent::All);
    assert!(optimal.classes.values().all(|&times| times == 1));
    let (coverage, naive) = explore(&mut Dfs::default(), threads);
    if coverage == Extent::All {
        assert_eq!(optimal.outcomes, naive.outcomes);
        assert!(optimal.classes.keys().eq(naive.classes.keys()));
    }
    optimal.executions()
}

#[test]
fn a_writer_and_readers() {
    let reader: &[Op] = &[Read(0)];
    let writer: &[Op] = &[Write(0, 1)];
    assert_eq!(optimal_count(&[writer, reader]), 2);
    assert_eq!(optimal_count(&[writer, reader, reader]), 4);
    assert_eq!(optimal_count(&[writer, reader, reader, reader]), 8);
}

#[test]
fn one_mutex() {
    let once: &[Op] = &[Lock(0), Unlock(0)];
    let twice: &[Op] = &[Lock(0), Unlock(0), Lock(0), Unlock(0)];
    assert_eq!(optimal_count(&[once, once]), 2);
    assert_eq!(optimal_count(&[once, once, once]), 6);
    assert_eq!(optimal_count(&[once, once, once, once]), 24);
    assert_eq!(optimal_count(&[twice, twice]), 6);
}

#[test]
fn one_reader_writer_lock() {
    let reader: &[Op] = &[ReadLock(0), ReadUnlock(0)];
    let writer: &[Op] = &[WriteLock(0), WriteUnlock(0)];
    assert_eq!(optimal_count(&[reader, reader, writer]), 4);
    assert_eq!(optimal_count(&[reader, writer, writer]), 6);
    assert_eq!(optimal_count(&[reader, reader, writer, writer]), 18);
}

/// A generator of random numbers, good enough for programs.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let mut x = self.0;
        x ^= x >> 33;
        x = x.wrapping_mul(0xff51_afd7_ed55_8ccd);
        x ^= x >> 33;
        x % n
    }
}

fn random_op(random: &mut Numbers, kinds: u64) -> Vec<Op> {
    let x = random.below(2) as u32;
    let value = 1 + random.below(2);
    match random.below(kinds) {
        0 => vec![Read(x)],
        1 => vec![Write(x, value)],
        2 => vec![Cas(x, random.below(2), value)],
        3 => vec![Lock(2 + x), Read(x), Unlock(2 + x)],
        4 => vec![Lock(2 + x), Write(x, value), Unlock(2 + x)],
        5 => vec![TryLock(2 + x), Unless(1, 2), Write(x, value), Unlock(2 + x)],
        6 => vec![ReadLock(4), Read(x), ReadUnlock(4)],
        7 => vec![WriteLock(4), Write(x, value), WriteUnlock(4)],
        8 => vec![
            TryWriteLock(4),
            Unless(1, 2),
            Write(x, value),
            WriteUnlock(4),
        ],
        9 => vec![TryReadLock(4), Unless(1, 2), Read(x), ReadUnlock(4)],
        10 => vec![Read(x), Unless(1, 1), Write(1 - x, 2)],
        11 => vec![Choose(2), Unless(1, 1), Write(x, value)],
        21 => vec![Choose(4), Unless(2, 1), Write(x, value)],
        12 => vec![Await(x, value)],
        13 => vec![Add(5, 1)],
        14 => vec![Down(5)],
        15 => vec![Lock(2), Wait(6, 2), Read(x), Unlock(2)],
        16 => vec![NotifyOne(6)],
        17 => vec![NotifyAll(6)],
        18 => vec![Lock(2), Lock(3), Unlock(3), Unlock(2)],
        20 => vec![AwaitEither(x, value, 1 - x, random.below(2))],
        _ => vec![Lock(3), Lock(2), Read(x), Unlock(2), Unlock(3)],
    }
}

/// How many programs to try: more, if `RADDLE_TEST_PROGRAMS` says so.
fn programs(usual: u64) -> u64 {
    let wanted = std::env::var("RADDLE_TEST_PROGRAMS");
    wanted.ok().and_then(|n| n.parse().ok()).unwrap_or(usual)
}

/// A program: threads, made of groups of operations that belong together.
type Program = Vec<Vec<Vec<Op>>>;

fn flat(program: &Program) -> Vec<Vec<Op>> {
    program.iter().map(|thread| thread.concat()).collect()
}

fn random_program(seed: u64, kinds: u64) -> Program {
    let mut random = Numbers(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    random.below(2);
    let threads = 2 + random.below(2);
    (0..threads)
        .map(|_| {
            let ops = 1 + random.below(if threads == 2 { 3 } else { 2 });
            (0..ops).map(|_| random_op(&mut random, kinds)).collect()
        })
        .collect()
}

#[test]
fn random_programs() {
    optimal_runs_each_class_once(3000, |seed| {
        random_program(seed, [3, 6, 11, 13, 16, 22][seed as usize % 6])
    });
}

/// Each alternative plans the next one: all of them are run, after whatever may come before.
#[test]
fn random_programs_with_many_alternatives() {
    optimal_runs_each_class_once(1500, |seed| {
        let mut random = Numbers(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 77);
        random.below(2);
        let threads = 2 + random.below(3);
        let most = if threads == 2 { 2 } else { 1 };
        let thread = |random: &mut Numbers| {
            let ops = 1 + random.below(most);
            (0..ops).map(|_| op_with_alternatives(random)).collect()
        };
        (0..threads).map(|_| thread(&mut random)).collect()
    });
}

fn op_with_alternatives(random: &mut Numbers) -> Vec<Op> {
    let x = random.below(2) as u32;
    let value = 1 + random.below(2);
    let (alternatives, one) = (2 + random.below(3) as u32, random.below(4));
    match random.below(10) {
        0 | 1 => vec![Choose(alternatives), Unless(one, 1), Write(x, value)],
        2 => vec![Choose(alternatives), Unless(one, 1), Read(x)],
        3 => vec![
            Read(x),
            Unless(1, 1),
            Choose(alternatives),
            Unless(one, 1),
            Add(5, 1),
        ],
        4 => vec![
            Lock(2),
            Choose(alternatives),
            Unless(one, 1),
            Write(x, value),
            Unlock(2),
        ],
        5 => vec![Lock(2), Wait(6, 2), Read(x), Unlock(2)],
        6 | 7 => vec![NotifyOne(6)],
        8 => vec![Read(x)],
        _ => vec![Write(x, value)],
    }
}

fn optimal_runs_each_class_once(usual: u64, program: impl Fn(u64) -> Program) {
    let count = programs(usual);
    let mut looked_at = 0;
    for seed in 0..count {
        let program = program(seed);
        let flat = flat(&program);
        let threads: Vec<&[Op]> = flat.iter().map(Vec::as_slice).collect();
        let mut optimal = Optimal::default();
        let (_, reduced) = explore(&mut optimal, &threads);
        let (coverage, naive) = explore(&mut Dfs::default(), &threads);
        if coverage != Extent::All {
            continue;
        }
        looked_at += 1;
        let twice = reduced.classes.values().filter(|&&n| n > 1).count();
        if reduced.outcomes != naive.outcomes
            || !reduced.classes.keys().eq(naive.classes.keys())
            || twice > 0
            || optimal.redundant > 0
        {
            panic!(
                "seed {seed}: {program:#?}\noptimal {} classes of {}, {twice} twice, {} redundant",
                reduced.classes.len(),
                naive.classes.len(),
                optimal.redundant
            );
        }
    }
    assert!(looked_at * 2 > count, "{looked_at}");
}

#[test]
fn random_programs_within_bounds() {
    let count = programs(600);
    for seed in 0..count {
        let kinds = [3, 6, 11, 13, 16, 22][seed as usize % 6];
        let program = random_program(seed, kinds);
        let flat = flat(&program);
        let threads: Vec<&[Op]> = flat.iter().map(Vec::as_slice).collect();
        let (coverage, all) = explore(&mut Dfs::default(), &threads);
        if coverage != Extent::All {
            continue;
        }
        for bound in 0..=4 {
            let (coverage, naive) = explore(&mut Dfs { bound: Some(bound) }, &threads);
            let (coverage1, first) = explore(&mut Algorithm1 { bound, states: 0 }, &threads);
            let (coverage2, second) = explore(&mut Algorithm2 { bound }, &threads);
            for (name, seen) in [("1", &first), ("2", &second)] {
                assert!(
                    seen.classes.values().all(|&times| times == 1),
                    "seed {seed}, {name}"
                );
                assert!(
                    seen.classes.keys().eq(naive.classes.keys()),
                    "seed {seed}, bound {bound}, {name}: {} of {}, {program:?}",
                    seen.classes.len(),
                    naive.classes.len()
                );
                assert_eq!(seen.outcomes, naive.outcomes, "seed {seed}, {name}");
            }
            let complete = naive.classes.len() == all.classes.len();
            if coverage2 == Extent::All || coverage == Extent::All {
                assert!(complete);
            }
            let _ = coverage1;
        }
        let (coverage, unbounded) = explore(&mut Algorithm2::UNBOUNDED.clone(), &threads);
        assert_eq!(coverage, Extent::All);
        assert!(
            unbounded.classes.keys().eq(all.classes.keys()),
            "seed {seed}"
        );
    }
}

/// Random schedules find only what is there, and with time all of it.
#[test]
fn random_schedules() {
    let increments: &[Op] = &[Read(0), Write(0, 1), Choose(2), Read(0)];
    let threads: &[&[Op]] = &[increments, &[Write(0, 2), Read(0)]];
    let (_, naive) = explore(&mut Dfs::default(), threads);
    let (coverage, uniform) = explore(&mut Random { seed: 1 }, threads);
    assert_eq!(coverage, Extent::Some);
    assert!(uniform.classes.keys().eq(naive.classes.keys()));
    let (_, pct) = explore(&mut Pct { seed: 1, depth: 3 }, threads);
    assert!(pct.classes.keys().eq(naive.classes.keys()));
    let (_, shallow) = explore(&mut Pct { seed: 1, depth: 1 }, threads);
    // Without changes of priority there is one order of the threads or the other.
    assert_eq!(shallow.classes.len(), 4);
    let again = explore(&mut Random { seed: 1 }, threads).1;
    assert_eq!(uniform, again);
}

#[test]
fn a_schedule_is_replayed() {
    let threads: &[&[Op]] = &[&[Write(0, 1)], &[Read(0)]];
    let reader_first = Move {
        thread: ThreadId(1),
        choice: 0,
    };
    let (_, seen) = explore(
        &mut Replay {
            schedule: vec![reader_first],
        },
        threads,
    );
    assert_eq!(
        seen.outcomes.into_iter().collect::<Vec<_>>(),
        [(vec![vec![], vec![0]], false)]
    );
    let unknown = Move {
        thread: ThreadId(7),
        choice: 0,
    };
    let mut replay = Replay {
        schedule: vec![reader_first, unknown],
    };
    let diverged = replay.explore(&mut Toy::new(threads), &mut |_: &mut Toy, _: &Trace| {
        ControlFlow::Continue(())
    });
    assert_eq!(
        diverged.unwrap_err().expected,
        "thread 7 makes step 2 of the schedule"
    );
    let other_choice = Move {
        choice: 5,
        ..reader_first
    };
    let mut replay = Replay {
        schedule: vec![other_choice],
    };
    let diverged = replay.explore(&mut Toy::new(threads), &mut |_: &mut Toy, _: &Trace| {
        ControlFlow::Continue(())
    });
    let diverged = diverged.unwrap_err();
    assert_eq!(
        (diverged.expected.as_str(), diverged.found.as_str()),
        (
            "thread 1 takes alternative 5 at step 1 of the schedule",
            "there are none"
        )
    );
}

/// Programs that naive search is too slow for: two algorithms that have nothing in common but the
/// trace run the same classes.
#[test]
fn larger_random_programs() {
    for seed in 0..programs(300) {
        let kinds = [3, 6, 11, 13, 16, 22][seed as usize % 6];
        let mut program = random_program(seed * 3 + 1_000_000, kinds);
        program.extend(random_program(seed * 3 + 2_000_000, kinds));
        program.truncate(4);
        if let Some(difference) = difference(&program) {
            let (program, difference) = shrink(program, difference);
            panic!("seed {seed}: {difference}\n{program:?}");
        }
    }
}

/// How the optimal search differs from Algorithm 2, if it does.
fn difference(program: &Program) -> Option<String> {
    let flat = flat(program);
    let threads: Vec<&[Op]> = flat.iter().map(Vec::as_slice).collect();
    let mut optimal = Optimal::default();
    let (coverage, once) = explore(&mut optimal, &threads);
    if coverage != Extent::All {
        return None;
    }
    let (coverage, other) = explore(&mut Algorithm2::UNBOUNDED.clone(), &threads);
    let same = once == other && coverage == Extent::All && optimal.redundant == 0;
    (!same).then(|| {
        format!(
            "{} executions of {} classes, {} redundant, against {} of {}, {coverage:?}",
            once.executions,
            once.classes.len(),
            optimal.redundant,
            other.executions,
            other.classes.len(),
        )
    })
}

/// A program without what does not matter.
fn shrink(mut program: Program, mut last: String) -> (Program, String) {
    'again: loop {
        for thread in 0..program.len() {
            for op in 0..program[thread].len() {
                let mut smaller = program.clone();
                smaller[thread].remove(op);
                if let Some(found) = difference(&smaller) {
                    (program, last) = (smaller, found);
                    continue 'again;
                }
            }
        }
        return (program, last);
    }
}

/// The thread that waits can move first, and touches both variables then. After the other two it touches only the one that lets it go
/// on: it has nothing to do with the write that has kept it waiting in between.
#[test]
fn a_step_that_was_possible_before_it_was_blocked() {
    let threads: &[&[Op]] = &[&[Write(1, 1)], &[Write(0, 1)], &[AwaitEither(0, 1, 1, 0)]];
    let (_, naive) = explore(&mut Dfs::default(), threads);
    assert_eq!(naive.classes.len(), 2);
    let classes = |explorer: &mut Named| explore(explorer, threads).1.classes;
    for entry in &ALL {
        let many = Parameters {
            bound: Some(5),
            ..Parameters::default()
        };
        let found = classes(&mut entry.make(&many));
        assert!(found.keys().eq(naive.classes.keys()), "{}", entry.name);
        if entry.guarantee == Guarantee::UpToBound {
            let none = Parameters {
                bound: Some(0),
                ..Parameters::default()
            };
            let (_, expected) = explore(&mut Dfs { bound: Some(0) }, threads);
            let found = classes(&mut entry.make(&none));
            assert!(found.keys().eq(expected.classes.keys()), "{}", entry.name);
        }
    }
}

/// The thread that waits at the end looks at one variable and, without the write to that, at the other.
#[test]
fn a_step_that_is_blocked_by_one_write_after_another() {
    for waiting in [AwaitBoth(1, 0, 0, 0), AwaitBoth(0, 0, 1, 0)] {
        let threads: &[&[Op]] = &[&[Write(0, 1)], &[Write(1, 1)], &[waiting]];
        let (_, naive) = explore(&mut Dfs::default(), threads);
        let (_, found) = explore(&mut Optimal::default(), threads);
        assert!(found.classes.keys().eq(naive.classes.keys()));
    }
}

/// A program of threads that wait for two variables: what such a step touches depends on what it finds, and it can be possible,
/// blocked, and possible again.
fn random_program_that_waits(seed: u64) -> Program {
    let mut random = Numbers(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    random.below(2);
    let threads = 3 + random.below(2);
    (0..threads)
        .map(|_| {
            let ops = 1 + random.below(2);
            let mut op = || {
                let x = random.below(3) as u32;
                let y = (x + 1 + random.below(2) as u32) % 3;
                let (value, other) = (random.below(2), random.below(2));
                match random.below(7) {
                    0..=2 => Write(x, value),
                    3 => Read(x),
                    4 => AwaitBoth(x, value, y, other),
                    _ => AwaitEither(x, value, y, other),
                }
            };
            (0..ops).map(|_| vec![op()]).collect()
        })
        .collect()
}

#[test]
fn random_programs_that_wait() {
    let mut again = 0;
    for seed in 0..programs(1_000) {
        let program = random_program_that_waits(seed);
        let flat = flat(&program);
        let threads: Vec<&[Op]> = flat.iter().map(Vec::as_slice).collect();
        let same = |found: &Seen, expected: &Seen, who: &str| {
            assert!(
                found.classes.keys().eq(expected.classes.keys()),
                "seed {seed}, {who}: {} of {} classes, {program:?}",
                found.classes.len(),
                expected.classes.len(),
            );
        };
        let (coverage, naive) = explore(&mut Dfs::default(), &threads);
        if coverage != Extent::All {
            continue;
        }
        for bound in 0..=2 {
            let (_, expected) = explore(&mut Dfs { bound: Some(bound) }, &threads);
            let (_, found) = explore(&mut Algorithm2 { bound }, &threads);
            same(&found, &expected, &format!("algorithm2, bound {bound}"));
            let (_, found) = explore(&mut Bounded::new(bound), &threads);
            same(&found, &expected, &format!("bounded, bound {bound}"));
        }
        let (_, found) = explore(&mut Deepening::default(), &threads);
        same(&found, &naive, "iterative");
        let (_, found) = explore(&mut Optimal::default(), &threads);
        same(&found, &naive, "optimal");
        again += found.executions - found.classes.len() as u64;
    }
    assert_eq!(again, 0, "optimal runs each class once");
}

/// A reader that the writer has heard of cannot be moved out of the writer's way.
#[test]
fn a_reader_that_is_known() {
    let a: &[Op] = &[Write(0, 1), WriteLock(4), Write(0, 2), WriteUnlock(4)];
    let b: &[Op] = &[
        TryReadLock(4),
        Unless(1, 2),
        Read(0),
        ReadUnlock(4),
        TryWriteLock(4),
        Unless(1, 2),
        Write(0, 2),
        WriteUnlock(4),
    ];
    let c: &[Op] = &[TryReadLock(4), Unless(1, 2), Read(0), ReadUnlock(4)];
    assert_eq!(optimal_count(&[a, b, c]), 62);
}

fn explore_in_parallel(explorer: &mut impl Explorer, threads: &[&[Op]]) -> (Extent, Seen) {
    let seen = Mutex::new(Seen::default());
    let worker = |_| {
        let visit = |toy: &mut Toy, trace: &Trace| {
            let mut seen = seen.lock().expect("nobody panics");
            seen.executions += 1;
            *seen.classes.entry(class_of(trace)).or_default() += 1;
            seen.outcomes.insert((toy.outcome(), toy.is_stuck()));
            ControlFlow::Continue(())
        };
        (Toy::new(threads), visit)
    };
    let coverage = explorer
        .explore_in_parallel(3, worker)
        .expect("toys are deterministic");
    (coverage.extent(), seen.into_inner().expect("nobody panics"))
}

/// Several workers run the classes that one runs, each as often.
fn together_as_alone(explorer: &(impl Explorer + Clone), program: &Program) {
    let flat = flat(program);
    let threads: Vec<&[Op]> = flat.iter().map(Vec::as_slice).collect();
    let (coverage, alone) = explore(&mut explorer.clone(), &threads);
    if coverage == Extent::Some {
        // It takes too long.
        return;
    }
    let (together_covered, together) = explore_in_parallel(&mut explorer.clone(), &threads);
    assert_eq!(together_covered, coverage, "{program:?}");
    assert_eq!(together.outcomes, alone.outcomes, "{program:?}");
    assert!(
        together.classes == alone.classes,
        "{} executions of {} classes instead of {} of {}: {program:?}",
        together.executions,
        together.classes.len(),
        alone.executions,
        alone.classes.len(),
    );
}

fn program_for_workers(seed: u64) -> Program {
    let kinds = [3, 6, 11, 13, 16, 22][seed as usize % 6];
    let mut program = random_program(seed * 3 + 3_000_000, kinds);
    program.extend(random_program(seed * 3 + 4_000_000, kinds));
    program.truncate(4);
    program
}

#[test]
fn workers() {
    for seed in 0..programs(300) {
        together_as_alone(&Optimal::default(), &program_for_workers(seed));
    }
}

#[test]
fn naive_workers() {
    for seed in 0..programs(150) {
        let mut program = program_for_workers(seed);
        program.truncate(3);
        together_as_alone(&Dfs::default(), &program);
        together_as_alone(&Dfs { bound: Some(1) }, &program);
    }
}

#[test]
fn workers_within_bounds() {
    for seed in 0..programs(150) {
        let mut program = program_for_workers(seed);
        program.truncate(3);
        let bound = seed as u32 % 3;
        together_as_alone(&Algorithm2 { bound }, &program);
        together_as_alone(&Algorithm1 { bound, states: 0 }, &program);
        together_as_alone(&Algorithm2::UNBOUNDED, &program);
    }
}

/// What thread 1 does is independent of all others, and so it is a weak initial of everything: when it is begun, all that
/// comes after it is said to be covered, which it is only if what others find later is run after it too.
#[test]
fn what_others_find_is_run_where_it_is_covered() {
    let threads: &[&[Op]] = &[
        &[Write(1, 2), Cas(0, 0, 2)],
        &[],
        &[Write(0, 2)],
        &[Write(0, 2), Read(1)],
    ];
    let (_, alone) = explore(&mut Optimal::default(), threads);
    for _ in 0..20 {
        let (_, together) = explore_in_parallel(&mut Optimal::default(), threads);
        assert_eq!(together.classes, alone.classes);
    }
}

/// Random executions are known by their numbers, whoever runs them.
#[test]
fn random_workers() {
    let threads: &[&[Op]] = &[
        &[Write(0, 1), Read(1)],
        &[Write(1, 1), Read(0)],
        &[Read(0), Read(1)],
    ];
    let seen = |workers: usize| {
        let all = Mutex::new(Vec::new());
        let worker = |_| {
            let visit = |_: &mut Toy, trace: &Trace| {
                let mut all = all.lock().expect("nobody panics");
                all.push(trace.moves().collect::<Vec<_>>());
                if all.len() < 200 {
                    ControlFlow::Continue(())
                } else {
                    ControlFlow::Break(())
                }
            };
            (Toy::new(threads), visit)
        };
        let coverage = Random { seed: 7 }.explore_in_parallel(workers, worker);
        assert!(coverage.is_ok_and(|coverage| coverage.extent() == Extent::Some));
        all.into_inner().expect("nobody panics")
    };
    let alone = seen(1);
    // Each worker may have one more under way than is asked for.
    let together = seen(3);
    assert!((200..=203).contains(&together.len()));
    let missing = alone.iter().filter(|moves| !together.contains(moves));
    assert!(missing.count() <= 3);
}
