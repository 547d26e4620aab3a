//! Which executions go on for ever, compared with another way to tell: a product of the states with
//! a counter of what is still owed to whom, searched node by node for one that comes back.

use crate::parts::Packed;
use std::collections::{BTreeSet, HashMap};

use super::*;
use crate::property::Property;
use crate::system::{Action, Choice, Position, Step};
use crate::testing::{Op::*, Random, State};

/// What a thread can do in a state: the moves of each thread by name, and who waits at what.
struct Expanded {
    moves: Vec<(u64, Action, State)>,
    waiting: Vec<u64>,
    at_assumptions: Vec<u64>,
}

fn expanded(system: &mut Counters, state: &State) -> Expanded {
    let mut all = Expanded {
        moves: Vec::new(),
        waiting: Vec::new(),
        at_assumptions: Vec::new(),
    };
    for position in 0..state.threads.len() {
        let thread = Position(position as u32);
        let name = system.thread_name(state, thread);
        let mut next = Some(Choice::FIRST);
        while let Some(choice) = next {
            let mut step = Step::default();
            system.step(state, thread, choice, &mut step);
            next = step.next_choice;
            match step.status {
                Status::Moved | Status::Failed(_) => {
                    system.canonicalise(&mut step.after);
                    all.moves
                        .push((name, Action { thread, choice }, step.after));
                }
                Status::Blocked { assumption: true } => all.at_assumptions.push(name),
                Status::Blocked { assumption: false } => all.waiting.push(name),
                Status::Ended => {}
            }
        }
    }
    all
}

/// A state, and the first of the debts that is open. There are two for each thread: that it moves or
/// cannot, and that it moves or is not cut by an assumption.
type Node = (Vec<u64>, usize);

/// Whether there is a weakly fair execution that does not end, told slowly.
fn goes_on_for_ever(system: &mut Counters, threads: usize) -> bool {
    let mut successors: HashMap<Node, Vec<Node>> = HashMap::new();
    let mut accepting = BTreeSet::new();
    let initial = system.initial();
    let encoded = |system: &Counters, state: &State| {
        let mut packed = Packed::default();
        system.encode(state, &mut packed);
        packed.words().to_vec()
    };
    let debts = 2 * threads;
    let mut work = vec![(initial.clone(), 0)];
    let root = (encoded(system, &initial), 0);
    successors.insert(root, Vec::new());
    while let Some((state, debt)) = work.pop() {
        let node = (encoded(system, &state), debt);
        if system.failed(&state) {
            continue;
        }
        let all = expanded(system, &state);
        let can_move = |name: u64| all.moves.iter().any(|(mover, ..)| *mover == name);
        for (mover, _, after) in &all.moves {
            // Pays as many debts as this step does, one after another.
            let mut open = debt;
            let mut wrapped = false;
            for _ in 0..debts {
                let name = (open / 2) as u64;
                let is_cut = all.at_assumptions.contains(&name)
                    && !all.waiting.contains(&name)
                    && !can_move(name);
                let paid = *mover == name
                    || if open % 2 == 0 {
                        !can_move(name)
                    } else {
                        !is_cut
                    };
                if !paid {
                    break;
                }
                open = (open + 1) % debts;
                wrapped |= open == 0;
            }
            let to = (encoded(system, after), open);
            if wrapped {
                accepting.insert((node.clone(), to.clone()));
            }
            if !successors.contains_key(&to) {
                successors.insert(to.clone(), Vec::new());
                work.push((after.clone(), open));
            }
            successors.get_mut(&node).unwrap().push(to);
        }
    }
    // An edge that pays the last debt, from whose end one gets back to its start.
    accepting.iter().any(|(from, to)| {
        let mut seen = BTreeSet::from([to]);
        let mut work = vec![to];
        while let Some(node) = work.pop() {
            if node == from {
                return true;
            }
            work.extend(successors[node].iter().filter(|next| seen.insert(next)));
        }
        false
    })
}

/// Replays an endless execution and checks that it is one, and fair.
fn check_lasso(system: &mut Counters, violation: &Violation) {
    let Cause::Endless {
        repeats_from,
        moving,
    } = &violation.cause
    else {
        panic!("{violation:?}");
    };
    let initial = system.initial();
    let (stem, cycle) = violation.schedule.split_at(*repeats_from);
    let start = crate::replay(system, &initial, stem, |_, replayed| {
        assert_eq!(replayed.step.status, Status::Moved);
    });
    assert!(!cycle.is_empty() && !moving.is_empty());
    let mut moved = BTreeSet::new();
    let mut could_not = BTreeSet::new();
    let mut not_cut = BTreeSet::new();
    let end = crate::replay(system, &start, cycle, |system, replayed| {
        assert_eq!(replayed.step.status, Status::Moved);
        moved.insert(replayed.thread_name);
        let all = expanded(system, replayed.before);
        for position in 0..replayed.before.threads.len() {
            let name = system.thread_name(replayed.before, Position(position as u32));
            let can = all.moves.iter().any(|(mover, ..)| *mover == name);
            if !can {
                could_not.insert(name);
            }
            if can || !all.at_assumptions.contains(&name) || all.waiting.contains(&name) {
                not_cut.insert(name);
            }
        }
    });
    assert_eq!(start, end, "it comes back");
    assert!(crate::repeats_fairly(
        system,
        &violation.schedule,
        *repeats_from
    ));
    assert!(!system.failed(&start));
    for position in 0..start.threads.len() {
        let name = system.thread_name(&start, Position(position as u32));
        let fair = moved.contains(&name) || could_not.contains(&name) && not_cut.contains(&name);
        assert!(fair, "thread {name} is treated unfairly");
    }
}

fn termination() -> PropertySet {
    PropertySet::NONE.with(Property::Termination)
}

fn search(order: Order) -> Search<'static> {
    Search::new().order(order).properties(termination())
}

fn random_program(random: &mut Random) -> (Counters, usize) {
    let threads = 1 + random.below(3) as usize;
    let spawned = random.below(2) as usize;
    let codes: Vec<Vec<Op>> = (0..threads + spawned)
        .map(|code| {
            let length = 1 + random.below(4);
            let operation = |random: &mut Random| {
                let object = random.below(2) as u8;
                let value = random.below(2) as u8;
                match random.below(12) {
                    0 => Read(object),
                    1 | 2 => Set(object, value),
                    3 => Lock(object),
                    4 => Unlock(object),
                    5 => Choose(2),
                    6 => Assert(object, value),
                    7 => Assume(value),
                    8 | 9 => Await(object, value),
                    _ => Goto(random.below(length) as u8),
                }
            };
            let mut code: Vec<Op> = (0..length)
                .map(|_| operation(random))
                .chain(
                    // A thread that spawns once and for all, at the end.
                    (code == 0 && spawned > 0).then_some(Spawn(threads as u8)),
                )
                .collect();
            if random.below(3) == 0 && spawned == 0 {
                code.push(Goto(random.below(length) as u8));
            }
            code
        })
        .collect();
    let codes: Vec<&[Op]> = codes.iter().map(Vec::as_slice).collect();
    let started: Vec<u8> = (0..threads as u8).collect();
    (Counters::starting(&codes, &started), threads + spawned)
}

/// Guards the search for fair cycles by components against a slow one that shares no code with it.
#[test]
fn random_programs_end_or_not_as_a_slow_search_says() {
    let mut random = Random(20_261_116);
    let (mut endless, mut ending) = (0, 0);
    for _ in 0..1500 {
        let (mut system, threads) = random_program(&mut random);
        let expected = goes_on_for_ever(&mut system, threads);
        for order in ORDERS {
            let outcome = search(order).run(&mut system, &mut Full::default());
            match outcome.violations.first() {
                Some(violation) => check_lasso(&mut system, violation),
                None => assert!(!matches!(outcome.verdict(), Verdict::Violation)),
            }
            let found = !outcome.violations.is_empty();
            assert_eq!(found, expected, "{system:?}");
        }
        let outcome = search(Order::BreadthFirst)
            .workers(2)
            .run(&mut system, &mut Full::default());
        assert_eq!(!outcome.violations.is_empty(), expected, "{system:?}");
        *if expected { &mut endless } else { &mut ending } += 1;
    }
    assert!(endless > 300 && ending > 300, "{endless} {ending}");
}

#[test]
fn waiting_for_what_somebody_does_is_no_endless_execution() {
    // The first thread polls; a fair scheduler runs the second.
    let polls = [Read(0), Await(1, 0), Goto(0)];
    let ends = |codes: &[&[Op]]| {
        let outcome = run(search(Order::BreadthFirst), &Counters::new(codes));
        outcome.violations.is_empty()
    };
    assert!(ends(&[&polls, &[Set(1, 1)]]));
    assert!(!ends(&[&polls, &[Set(0, 1)]]));
    // Two threads that hand a turn over to each other for ever.
    let (one, other) = (
        [Await(0, 0), Set(0, 1), Goto(0)],
        [Await(0, 1), Set(0, 0), Goto(0)],
    );
    assert!(!ends(&[&one, &other]));
    // A thread is cut by an assumption, or has failed: these executions do not count.
    assert!(ends(&[&[Goto(0)], &[Assume(1)]]));
    assert!(ends(&[&[Goto(0)], &[Assert(0, 1)]]));
    assert!(!ends(&[&[Goto(0)], &[Await(0, 1)]]));
}

#[test]
fn a_reduction_does_not_claim_what_it_cannot_see() {
    let system = Counters::new(&[&[Goto(0)]]);
    for mut reduction in crate::reductions::all::<Counters>() {
        let outcome = search(Order::BreadthFirst).run(&mut system.clone(), reduction.as_mut());
        match reduction.keeps_every_step() {
            true => assert_eq!(outcome.verdict(), Verdict::Violation),
            false => {
                assert_eq!(super::lost(&outcome), Some(termination().to_string()));
                assert_eq!(reasons(&outcome), [Kind::NotPreserved]);
            }
        }
    }
}

#[test]
fn limits_hold_while_cycles_are_looked_for() {
    let system = Counters::racing(5);
    let search = || search(Order::BreadthFirst).store(StoreKind::Flat);
    let needed = run(search(), &system).statistics.memory_bytes;
    let outcome = run(search().max_memory(needed), &system);
    assert_eq!(outcome.explored.cut(), Some(&Kind::Memory.into()));
    assert!(!outcome.is_verified());
}
