//! What programs are asked for, and what they may do: names, values, threads, data races, limits.

use std::collections::{BTreeMap, HashMap};
use std::ops::ControlFlow;

use raddle_memory::Model::{Rc11, Sc};
use raddle_memory::Order::{AcqRel, Acquire, Relaxed, Release, SeqCst};
use raddle_memory::races::Access;
use raddle_memory::testing::{Profile, Script, Toy};
use raddle_memory::{
    Answer, End, EventId, Graph, Leaf, Location, Next, Operation, Program, Refused, Trust, Visitor,
};
use raddle_schedule::{Diverged, Omission, ThreadId};

use crate::compare::{SCHEDULES, compare, explore};

/// A program whose objects get their locations when they are first touched, and whose values are different in each run, like addresses.
struct Objects {
    toy: Toy,
    /// The object of each location.
    bound: HashMap<u32, Location>,
    runs: u64,
}

impl Objects {
    fn shift(&self) -> u64 {
        self.runs * 1_000
    }

    fn translate(&self, operation: Operation) -> Operation {
        let shift = self.shift();
        let mut operation = operation;
        if let Operation::Read { target, .. }
        | Operation::Write { target, .. }
        | Operation::Update { target, .. } = &mut operation
        {
            let object = target.location.expect("a toy names its locations").0;
            target.location = self.bound.get(&object).copied();
            target.initial += shift;
        }
        match &mut operation {
            Operation::Write { value, .. } => *value += shift,
            Operation::Update { update, .. } => {
                update.operands = update.operands.map(|value| value + shift);
            }
            _ => {}
        }
        operation
    }
}

impl Program for Objects {
    fn restart(&mut self) {
        self.bound.clear();
        self.runs += 1;
        self.toy.restart();
    }

    fn threads(&self) -> &[ThreadId] {
        self.toy.threads()
    }

    fn next(&mut self, thread: ThreadId) -> Next {
        match self.toy.next(thread) {
            Next::Operation(operation) => Next::Operation(self.translate(operation)),
            other => other,
        }
    }

    fn answer(&mut self, thread: ThreadId, answer: Answer<'_>) -> Result<(), Diverged> {
        let mut event = answer.event.clone();
        if let Next::Operation(operation) = self.toy.next(thread)
            && let (Some(target), Some(location)) = (operation.target(), event.location)
        {
            let object = target.location.expect("a toy names its locations").0;
            let bound = *self.bound.entry(object).or_insert(location);
            let others = self.bound.values().filter(|&&other| other == location);
            assert!(bound == location && others.count() == 1, "one name each");
            if event.kind.reads() {
                event.read -= self.shift();
            }
        }
        let event = &event;
        self.toy.answer(thread, Answer { event, ..answer })
    }
}

#[test]
fn objects_are_named_by_graphs_and_values_differ_from_run_to_run() {
    let toy = || {
        Toy::default()
            .thread(|t| {
                t.store(0, 1, Relaxed)?;
                let read = t.swap(1, 2, AcqRel)?;
                t.see(read);
                t.compare_exchange(2, 0, 3, Relaxed, Relaxed).map(|_| ())
            })
            .thread(|t| {
                let exchanged = t.compare_exchange(1, 0, 3, AcqRel, Acquire)?;
                t.see(u64::from(exchanged.is_ok()));
                let read = t.load(0, Relaxed)?;
                t.see(read);
                Ok(())
            })
            .thread(|t| {
                let read = t.swap(2, 1, Relaxed)?;
                t.see(read);
                t.store(1, 7, SeqCst)
            })
    };
    for model in [Sc, Rc11] {
        let expected = explore(&mut toy(), &mut Trust::new(model));
        for schedule in SCHEDULES {
            let mut objects = Objects {
                toy: toy(),
                bound: HashMap::new(),
                runs: 0,
            };
            let mut outcomes = std::collections::BTreeSet::new();
            let mut trust = Trust::new(model).schedule(schedule);
            let coverage = trust.explore(&mut objects, &mut |p: &mut Objects, leaf: &Leaf<'_>| {
                outcomes.insert((p.toy.seen(), leaf.end));
                ControlFlow::Continue(())
            });
            assert!(coverage.is_ok_and(|coverage| coverage.is_all()));
            assert_eq!(outcomes, expected.outcomes);
            assert_eq!(trust.counts().ends, expected.counts.ends);
            // One run for each graph.
            assert_eq!(trust.counts().runs, expected.counts.graphs());
            assert_eq!(objects.runs, trust.counts().runs);
        }
    }
}

/// A program that does something else in its third run.
struct Moody(Toy, u32);

impl Program for Moody {
    fn restart(&mut self) {
        self.1 += 1;
        self.0.restart();
    }

    fn threads(&self) -> &[ThreadId] {
        self.0.threads()
    }

    fn next(&mut self, thread: ThreadId) -> Next {
        match self.0.next(thread) {
            Next::Operation(Operation::Write { .. }) if self.1 == 3 => {
                Next::Operation(Operation::Fence { order: SeqCst })
            }
            next => next,
        }
    }

    fn answer(&mut self, thread: ThreadId, answer: Answer<'_>) -> Result<(), Diverged> {
        self.0.answer(thread, answer)
    }
}

#[test]
fn a_program_that_does_something_else_is_refused() {
    let toy = Toy::default()
        .thread(|t| t.store(0, 1, Relaxed))
        .thread(|t| t.store(0, 2, Relaxed))
        .thread(|t| t.load(0, Relaxed).map(|_| ()));
    let explored = Trust::new(Rc11)
        .explore(&mut Moody(toy, 0), &mut |_: &mut Moody, _: &Leaf<'_>| {
            ControlFlow::Continue(())
        });
    assert!(matches!(explored, Err(Refused::Diverged(_))));
}

#[test]
fn a_condition_that_is_undone_is_refused() {
    let mut toy = Toy::default()
        .thread(|t| t.wait(0, Acquire, |value, one| value == one, 1).map(|_| ()))
        .thread(|t| {
            t.store(0, 1, Release)?;
            t.store(0, 2, Release)
        });
    let refused = Trust::new(Rc11)
        .explore(&mut toy, &mut |_: &mut Toy, _: &Leaf<'_>| {
            ControlFlow::Continue(())
        })
        .expect_err("the condition is true for the first write only");
    assert!(refused.to_string().contains("read it in a loop"));
}

#[test]
fn threads_start_and_are_joined() {
    let mut toy = Toy::default()
        .thread(|t| {
            t.store(0, 1, Relaxed)?;
            t.spawn(1)?;
            t.spawn(2)?;
            let early = t.load(1, Relaxed)?;
            t.join(1)?;
            t.join(2)?;
            let (one, other) = (t.load(1, Relaxed)?, t.load(2, Relaxed)?);
            // What happens before the start of a thread, and before its end, is seen.
            t.assert(one == 2 && other == 1)?;
            t.see(early);
            Ok(())
        })
        .child(|t| {
            let first = t.load(0, Relaxed)?;
            t.assert(first == 1)?;
            t.store(1, 2, Relaxed)
        })
        .child(|t| {
            let value = t.load(0, Relaxed)?;
            t.store(2, value, Relaxed)
        });
    for model in [Sc, Rc11] {
        compare(&mut toy, model, 1, true);
        let explored = explore(&mut toy, &mut Trust::new(model));
        assert_eq!(explored.numbers(), (2, 0));
    }
    let mut waits_for_itself = Toy::default()
        .thread(|t| {
            t.spawn(1)?;
            t.lock(0)?;
            t.join(1)
        })
        .child(|t| t.lock(0));
    let explored = explore(&mut waits_for_itself, &mut Trust::new(Rc11));
    assert_eq!(explored.counts.of(End::Deadlock), 2);
    compare(&mut waits_for_itself, Rc11, 1, true);
}

fn races(toy: Toy) -> bool {
    let mut found = false;
    let mut toy = toy;
    let coverage = Trust::new(Rc11).explore(&mut toy, &mut |toy: &mut Toy, _: &Leaf<'_>| {
        found |= !toy.races().is_empty();
        ControlFlow::Continue(())
    });
    assert!(coverage.is_ok());
    found
}

#[test]
fn data_races() {
    let passes = |release, acquire| {
        Toy::default()
            .thread(move |t| {
                t.write_cell(0);
                t.store(0, 1, release)
            })
            .thread(move |t| {
                if t.load(0, acquire)? == 1 {
                    t.read_cell(0);
                }
                Ok(())
            })
    };
    assert!(!races(passes(Release, Acquire)));
    assert!(races(passes(Relaxed, Acquire)));
    assert!(races(passes(Release, Relaxed)));
    let joins = |joins: bool| {
        Toy::default()
            .thread(move |t| {
                t.write_cell(0);
                t.spawn(1)?;
                if joins {
                    t.join(1)?;
                }
                t.read_cell(0);
                Ok(())
            })
            .child(|t| {
                t.store(0, 1, Relaxed)?;
                t.write_cell(0);
                Ok(())
            })
    };
    assert!(!races(joins(true)));
    assert!(races(joins(false)));
    let locked = Toy::default()
        .thread(|t| {
            t.lock(0)?;
            t.write_cell(0);
            t.unlock(0)
        })
        .thread(|t| {
            t.lock(0)?;
            t.write_cell(0);
            t.unlock(0)
        });
    assert!(!races(locked));
}

/// Whether an access happens before another one: its next event does, or its thread was joined.
fn is_before(graph: &Graph, one: Access, other: Access) -> bool {
    if one.thread == other.thread {
        return one.events <= other.events;
    }
    let Some(last) = other.events.checked_sub(1) else {
        return false;
    };
    let last = EventId::new(other.thread, last as usize);
    let clock = graph.happens_before(last);
    clock
        .get(one.thread.index())
        .is_some_and(|&count| count > one.events)
}

#[test]
fn races_do_not_depend_on_the_order_of_replay() {
    let mut racy = 0;
    for seed in 0..300 {
        let script = Script::random(seed, Profile::Cells, 6);
        let mut toy = script.toy();
        let mut known: Option<BTreeMap<Vec<u32>, bool>> = None;
        for schedule in SCHEDULES {
            let mut found = BTreeMap::new();
            let mut trust = Trust::new(Rc11).schedule(schedule);
            let coverage = trust.explore(&mut toy, &mut |toy: &mut Toy, leaf: &Leaf<'_>| {
                let accesses = toy.accesses();
                let races = accesses.iter().any(|(cell, one)| {
                    accesses.iter().any(|(other_cell, other)| {
                        cell == other_cell
                            && one != other
                            && (one.writes || other.writes)
                            && !is_before(leaf.graph, *one, *other)
                            && !is_before(leaf.graph, *other, *one)
                    })
                });
                assert_eq!(races, !toy.races().is_empty(), "{script:?}");
                found.insert(leaf.graph.key(), races);
                ControlFlow::Continue(())
            });
            assert!(coverage.is_ok());
            racy += found.values().filter(|races| **races).count();
            assert_eq!(*known.get_or_insert_with(|| found.clone()), found);
        }
    }
    assert!(racy > 100);
}

/// Counts what it is told, and stops after some events.
#[derive(Default)]
struct Watch {
    leaves: u64,
    pulses: u64,
    most: u64,
    omissions: Vec<Omission>,
}

impl Visitor<Toy> for Watch {
    fn leaf(&mut self, _: &mut Toy, _: &Leaf<'_>) -> ControlFlow<()> {
        self.leaves += 1;
        ControlFlow::Continue(())
    }

    fn pulse(&mut self, _: &mut Toy, _: &Graph) -> ControlFlow<()> {
        self.pulses += 1;
        match self.pulses == self.most {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    }

    fn left_out(&mut self, _: &mut Toy, omission: Omission) {
        self.omissions.push(omission);
    }
}

#[test]
fn nothing_is_claimed_of_what_was_cut() {
    let toy = || {
        Toy::default()
            .thread(|t| {
                loop {
                    t.add(0, 1, Relaxed)?;
                }
            })
            .thread(|t| t.load(0, Relaxed).map(|_| ()))
    };
    let mut watch = Watch::default();
    let mut trust = Trust::new(Rc11).most_events(6);
    let coverage = trust.explore(&mut toy(), &mut watch).expect("a program");
    assert!(!coverage.is_all());
    assert_eq!(coverage.left_out(), [raddle_outcome::Kind::Steps]);
    assert_eq!(trust.counts().of(End::Cut), trust.counts().graphs());
    assert!(!watch.omissions.is_empty());
    // The visitor ends an execution that would not end.
    let mut watch = Watch {
        most: 50,
        ..Watch::default()
    };
    let coverage = Trust::new(Rc11).explore(&mut toy(), &mut watch);
    assert!(!coverage.expect("a program").is_all());
    assert_eq!((watch.leaves, watch.pulses), (0, 50));
}

#[test]
fn failures_choices_and_assumptions() {
    let mut toy = Toy::default()
        .thread(|t| {
            let chosen = t.choose(3)?;
            t.assume(chosen != 2)?;
            t.store(0, chosen, Relaxed)
        })
        .thread(|t| {
            let read = t.load(0, Relaxed)?;
            t.assert(read == 0)
        });
    let explored = explore(&mut toy, &mut Trust::new(Rc11));
    let of = |end| explored.counts.of(end);
    // Chosen 0: read or not; 1: not read, or read, which fails; 2: cut.
    assert_eq!(
        (of(End::Complete), of(End::Failed), of(End::Infeasible)),
        (3, 1, 1)
    );
    compare(&mut toy, Rc11, 1, true);
}
