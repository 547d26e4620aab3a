//! The search within a bound against Algorithm 2 and naive enumeration.

use raddle_schedule::Extent;
use raddle_schedule::explorers::{Algorithm2, Bounded, Deepening, Dfs};
use raddle_schedule::testing::Op::{self, *};

use super::{
    Numbers, Program, explore, explore_without_limit, flat, programs, random_op, random_program,
};

/// A program with more and other threads than `random_program` has: up to four, some of which are spawned and joined.
fn random_program_with_spawns(seed: u64) -> Program {
    let kinds = [3, 6, 11, 13, 16, 22][seed as usize % 6];
    let mut random = Numbers(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    random.below(2);
    let threads = 2 + random.below(3);
    let mut program: Program = (0..threads)
        .map(|_| {
            let ops = 1 + random.below([4, 3, 2][threads as usize - 2]);
            (0..ops).map(|_| random_op(&mut random, kinds)).collect()
        })
        .collect();
    if random.below(3) == 0 {
        let child = threads as u32 - 1;
        let parent = &mut program[0];
        let at = random.below(parent.len() as u64 + 1) as usize;
        parent.insert(at, vec![Spawn(child)]);
        if random.below(2) == 0 {
            let at = at + 1 + random.below((parent.len() - at) as u64) as usize;
            parent.insert(at, vec![Join(child)]);
        }
    }
    program
}

/// A program of threads that take and give back locks, one within the other and one after the other, so that they often arrive where they have to wait. A
/// third and a fourth thread have little to do, and may have to wait as well.
fn random_program_with_locks(seed: u64) -> Program {
    let mut random = Numbers(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    random.below(2);
    let threads = 2 + random.below(3);
    let mut program: Program = (0..threads)
        .map(|thread| {
            let most = if thread < 2 { 5 - threads.min(3) } else { 1 };
            let ops = 1 + random.below(most);
            (0..ops).map(|_| op_with_locks(&mut random)).collect()
        })
        .collect();
    if random.below(3) == 0 {
        let child = threads as u32 - 1;
        let parent = &mut program[0];
        parent.insert(random.below(2) as usize, vec![Spawn(child)]);
        if random.below(2) == 0 {
            parent.push(vec![Join(child)]);
        }
    }
    program
}

fn op_with_locks(random: &mut Numbers) -> Vec<Op> {
    let x = random.below(2) as u32;
    let (mine, other) = (2 + x, 3 - x);
    let value = 1 + random.below(2);
    match random.below(14) {
        0 | 1 => vec![Lock(mine), Unlock(mine)],
        2 => vec![Lock(mine), Write(x, value), Unlock(mine)],
        3 => vec![Lock(mine), Lock(other), Unlock(other), Unlock(mine)],
        4 => vec![Lock(2), Lock(3), Unlock(2), Read(x), Unlock(3)],
        5 => vec![Lock(2), Unlock(2), Lock(2), Read(x), Unlock(2)],
        6 => vec![Read(x), Lock(mine), Unlock(mine)],
        7 => vec![ReadLock(4), Read(x), ReadUnlock(4)],
        8 => vec![WriteLock(4), Write(x, value), WriteUnlock(4)],
        9 => vec![Read(x), Await(1 - x, value)],
        10 => vec![Lock(2), Wait(6, 2), Unlock(2)],
        11 => vec![NotifyAll(6)],
        12 => vec![TryLock(mine), Unless(1, 1), Unlock(mine)],
        _ => vec![Write(x, value)],
    }
}

/// `bounded` runs exactly the classes of Algorithm 2 with the same bound, and each at most a few times.
#[test]
fn bounded_reduction_runs_the_classes_of_algorithm_2() {
    runs_the_classes_of_algorithm_2(programs(400), random_program_with_spawns);
}

/// The same for programs in which threads often arrive where they have to wait.
#[test]
fn bounded_reduction_runs_the_classes_of_threads_that_wait() {
    runs_the_classes_of_algorithm_2(programs(400), random_program_with_locks);
}

fn runs_the_classes_of_algorithm_2(count: u64, random_program: fn(u64) -> Program) {
    // Of each bound.
    let mut classes = [0; 4];
    let mut executions = [0; 4];
    for seed in 0..count {
        let program = random_program(seed);
        let flat = flat(&program);
        let threads: Vec<&[Op]> = flat.iter().map(Vec::as_slice).collect();
        for bound in 0..4 {
            let (covered, expected) = explore(&mut Algorithm2 { bound }, &threads);
            if covered == Extent::Some {
                // It takes too long.
                break;
            }
            let (coverage, seen) = explore_without_limit(&mut Bounded::new(bound), &threads);
            assert!(
                seen.classes.keys().eq(expected.classes.keys()),
                "seed {seed}, bound {bound}: {} of {} classes, {program:?}",
                seen.classes.len(),
                expected.classes.len(),
            );
            assert_eq!(seen.outcomes, expected.outcomes, "seed {seed}");
            let is_sound = match coverage {
                Extent::All => covered == Extent::All,
                Extent::UpToBound(known) => known == bound,
                Extent::Some => false,
            };
            assert!(is_sound, "seed {seed}: {coverage:?} for {covered:?}");
            classes[bound as usize] += seen.classes.len() as u64;
            executions[bound as usize] += seen.executions();
        }
    }
    // How often a class is run is no promise, but it should be noticed if it changes.
    eprintln!("{executions:?} executions of {classes:?} classes");
    for bound in 0..4 {
        assert!(executions[bound] < 3 * classes[bound], "bound {bound}");
    }
}

/// Without a bound that cuts something off, `bounded` sees what naive enumeration sees.
#[test]
fn bounded_reduction_with_a_large_bound_sees_everything() {
    for seed in 0..programs(600) {
        let kinds = [3, 6, 11, 13, 16, 22][seed as usize % 6];
        let flat = flat(&random_program(seed + 5_000_000, kinds));
        let threads: Vec<&[Op]> = flat.iter().map(Vec::as_slice).collect();
        let (coverage, naive) = explore(&mut Dfs::default(), &threads);
        if coverage == Extent::All {
            let (coverage, seen) = explore_without_limit(&mut Bounded::new(1_000), &threads);
            assert_eq!(coverage, Extent::All);
            assert!(
                seen.classes.keys().eq(naive.classes.keys()),
                "seed {seed}: {flat:?}"
            );
            let (coverage, seen) = explore_without_limit(&mut Deepening::default(), &threads);
            assert_eq!(coverage, Extent::All);
            assert!(seen.classes.keys().eq(naive.classes.keys()), "seed {seed}");
        }
    }
}

/// The bound is on the fewest preemptions of a class, and a thread that is left at a lock which another one holds is left for free. To let
/// the third thread arrive there, the first one has to be preempted before it gives the lock back.
#[test]
fn a_thread_is_preempted_before_it_unlocks() {
    let holds: &[Op] = &[Lock(0), Write(1, 1), Unlock(0), Write(2, 1)];
    let waits: &[Op] = &[Write(3, 1), Lock(0), Read(2), Unlock(0)];
    let reads: &[Op] = &[Read(3), Read(2), Write(1, 2)];
    for bound in 0..=3 {
        let threads: &[&[Op]] = &[holds, waits, reads, waits];
        let (_, expected) = explore(&mut Algorithm2 { bound }, threads);
        let (_, seen) = explore_without_limit(&mut Bounded::new(bound), threads);
        assert!(
            seen.classes.keys().eq(expected.classes.keys()),
            "bound {bound}"
        );
    }
}

/// Nothing is computed before the first execution that grows with the number of prefixes: twenty threads of ten steps have 11^20.
#[test]
fn many_threads_begin_at_once() {
    let writes: Vec<Vec<Op>> = (0..20)
        .map(|thread| {
            (0..10)
                .map(|_| Write(thread, 1))
                .chain([Add(20, 1)])
                .collect()
        })
        .collect();
    let threads: Vec<&[Op]> = writes.iter().map(Vec::as_slice).collect();
    let (coverage, seen) = explore(&mut Bounded::new(2), &threads);
    assert_eq!((coverage, seen.executions), (Extent::Some, 2_000));
}

/// A thread that arrives at a lock while another one holds it does not do so each time that the other one holds it: that would be one execution for
/// each of these times, and for each two of them with a bound of 2.
#[test]
fn a_thread_arrives_once() {
    let holds = [Lock(0), Unlock(0)].repeat(10);
    let arrives: &[Op] = &[
        Write(1, 1),
        Lock(0),
        Unlock(0),
        Write(1, 2),
        Lock(0),
        Unlock(0),
    ];
    let seen = |bound| {
        let (_, seen) = explore_without_limit(&mut Bounded::new(bound), &[&holds, arrives]);
        (seen.classes.len(), seen.executions)
    };
    assert_eq!([0, 1, 2].map(seen), [(2, 2), (12, 12), (30, 30)]);
}

/// Where it does matter when a thread arrives: because a third one can go on for free while it waits, because the one that was preempted would not be blocked without
/// it, or because that one may choose to do something else.
#[test]
fn when_a_thread_arrives_matters() {
    let third: [&[Op]; 4] = [
        &[Spawn(3), Read(1), Lock(3), Unlock(3), Write(1, 1), Join(3)],
        &[Lock(3), Lock(2), Unlock(2), Unlock(3), Lock(2), Unlock(2)],
        &[Lock(2), Write(0, 2), Unlock(2)],
        &[Write(1, 2)],
    ];
    let blocked: [&[Op]; 3] = [
        &[
            Lock(2),
            Lock(3),
            Unlock(2),
            Read(0),
            Unlock(3),
            Lock(2),
            Unlock(2),
        ],
        &[
            Lock(3),
            Write(1, 2),
            Unlock(3),
            Lock(2),
            Wait(6, 2),
            Unlock(2),
        ],
        &[Lock(2), Lock(3), Unlock(2), Read(1), Unlock(3)],
    ];
    let leaves: [&[Op]; 2] = [
        &[
            Spawn(1),
            TryWriteLock(4),
            Unless(1, 2),
            Write(0, 1),
            WriteUnlock(4),
            Lock(3),
            Write(1, 1),
            Unlock(3),
        ],
        &[Read(1), ReadLock(4), Read(1), ReadUnlock(4)],
    ];
    let chooses: [&[Op]; 3] = [
        &[
            Lock(2),
            Read(0),
            Unlock(2),
            WriteLock(4),
            Write(0, 1),
            WriteUnlock(4),
        ],
        &[
            WriteLock(4),
            Write(0, 2),
            WriteUnlock(4),
            Choose(2),
            Unless(1, 1),
            Write(0, 2),
        ],
        &[
            Choose(2),
            Unless(1, 1),
            Write(0, 2),
            NotifyAll(6),
            Await(1, 1),
        ],
    ];
    for threads in [&third[..], &blocked, &leaves, &chooses] {
        for bound in 0..4 {
            let (_, expected) = explore_without_limit(&mut Algorithm2 { bound }, threads);
            let (_, seen) = explore_without_limit(&mut Bounded::new(bound), threads);
            let is_same = seen.classes.keys().eq(expected.classes.keys());
            assert!(is_same, "bound {bound}: {threads:?}");
        }
    }
}
