//! Runs a program by all schedules, through the same trait as the real explorers, and holds what steps
//! do against what was foreseen of them.
#![allow(dead_code, unreachable_pub)]

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Debug;
use std::sync::{Arc, Mutex};

use raddle::{FailureKind, Options, Program};
use raddle_schedule::{Cut, Execution, Move, Observed, Readiness, Trace};

/// What all executions of a program came to.
pub struct All<T> {
    /// What the main thread returned.
    pub outcomes: BTreeSet<T>,
    /// What went wrong, how often.
    pub failures: BTreeMap<String, u64>,
    /// The messages, without repetition.
    pub messages: BTreeSet<String>,
    pub executions: u64,
    /// How many happens-before relations they have.
    pub classes: usize,
}

/// Runs `body` by all schedules.
pub fn all<T: Ord + Clone + Debug + Send + 'static>(
    body: impl Fn() -> T + Send + Sync + 'static,
) -> All<T> {
    all_with(&Options::default(), body)
}

pub fn all_with<T: Ord + Clone + Debug + Send + 'static>(
    options: &Options,
    body: impl Fn() -> T + Send + Sync + 'static,
) -> All<T> {
    explore(options, None, body)
}

/// Runs this many random schedules.
pub fn some<T: Ord + Clone + Debug + Send + 'static>(
    options: &Options,
    count: u64,
    body: impl Fn() -> T + Send + Sync + 'static,
) -> All<T> {
    explore(options, Some(count), body)
}

fn explore<T: Ord + Clone + Debug + Send + 'static>(
    options: &Options,
    random: Option<u64>,
    body: impl Fn() -> T + Send + Sync + 'static,
) -> All<T> {
    let latest = Arc::new(Mutex::new(None));
    let record = latest.clone();
    let body = move || {
        let outcome = body();
        *record.lock().unwrap() = Some(outcome);
    };
    let mut outcomes = BTreeSet::new();
    let mut classes = Classes::new();
    let mut program = Program::new(Arc::new(body), options);
    let mut failures = BTreeMap::new();
    let mut messages = BTreeSet::new();
    let mut executions = 0;
    let mut chance = random.map(|_| Random(0x9e37_79b9_7f4a_7c15));
    let mut schedule: Vec<(Move, Vec<Move>)> = Vec::new();
    loop {
        executions += 1;
        assert!(executions < 3_000_000, "too many executions");
        program.restart();
        // The execution before may have been run on.
        latest.lock().unwrap().take();
        let (failure, trace) = run(&mut program, &mut schedule, chance.as_mut());
        let outcome = latest.lock().unwrap().take();
        if program.learned(&mut || true) {
            outcomes.clear();
            classes.clear();
            failures.clear();
            messages.clear();
            schedule.clear();
            continue;
        }
        if classes.len() < 20_000 {
            let end = (
                outcome.clone(),
                failure.as_ref().map(|failure| name(failure.kind)),
            );
            let before = classes.entry(class(&trace)).or_insert_with(|| end.clone());
            assert_eq!(*before, end, "one class, two ends: {:?}", program.moves());
        }
        if failure
            .as_ref()
            .is_none_or(|failure| failure.kind != FailureKind::Panic)
        {
            outcomes.extend(outcome);
        }
        if let Some(failure) = failure {
            *failures.entry(name(failure.kind)).or_default() += 1;
            messages.insert(failure.message);
        }
        while let Some((last, others)) = schedule.last_mut() {
            if let Some(next) = others.pop() {
                *last = next;
                break;
            }
            schedule.pop();
        }
        if random.map_or(schedule.is_empty(), |count| executions >= count) {
            break;
        }
    }
    drop(program);
    All {
        outcomes,
        failures,
        messages,
        executions,
        classes: classes.len(),
    }
}

fn name(kind: FailureKind) -> String {
    format!("{kind:?}")
}

/// Small, and the same everywhere.
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 20) % limit
    }
}

/// What each class of executions came to.
type Classes<T> = HashMap<Class, (Option<T>, Option<String>)>;

/// An execution without what does not matter: each event with what happens before it.
type Class = Vec<(Move, u32, Vec<u32>)>;

fn class(trace: &Trace) -> Class {
    let mut class: Class = Vec::new();
    for (index, event) in trace.events().iter().enumerate() {
        let mut clock = trace.clock(index).to_vec();
        while clock.last() == Some(&0) {
            clock.pop();
        }
        class.push((event.step, event.number, clock));
    }
    class.sort();
    class
}

fn run(
    program: &mut Program,
    schedule: &mut Vec<(Move, Vec<Move>)>,
    mut chance: Option<&mut Random>,
) -> (Option<raddle::Failure>, Trace) {
    let (mut step, mut foreseen) = (Observed::default(), Observed::default());
    let mut trace = Trace::new();
    let mut cut = Cut::default();
    for depth in 0.. {
        let mut enabled: Vec<Move> = Vec::new();
        for &thread in program.threads() {
            if program.readiness(thread) == Readiness::Enabled {
                enabled.push(Move { thread, choice: 0 });
            }
        }
        if depth == schedule.len() {
            if let (Some(chance), false) = (&mut chance, enabled.is_empty()) {
                let mut next = enabled[chance.below(enabled.len() as u64) as usize];
                let number = trace.count(next.thread);
                program.foresee(&trace, &cut, next.thread, number, &mut foreseen);
                next.choice = chance.below(u64::from(foreseen.alternatives)) as u32;
                enabled = vec![next];
            }
            enabled.reverse();
            let Some(next) = enabled.pop() else { break };
            schedule.push((next, enabled));
        }
        let next = schedule[depth].0;
        let number = trace.count(next.thread);
        let possible = program.foresee(&trace, &cut, next.thread, number, &mut foreseen);
        program.step(next, &mut step).expect("the same again");
        assert!(possible || step.last_resort, "{next:?} was not foreseen");
        if program.failure().is_none() {
            // A step may be corrected by the code after it, so only the shape is compared.
            let shape = |step: &Observed| -> Vec<_> {
                let accesses = step.accesses.iter();
                accesses.map(|a| (a.location, a.mode, a.before)).collect()
            };
            assert_eq!(shape(&foreseen), shape(&step), "{next:?}");
            assert_eq!(foreseen.alternatives, step.alternatives);
        }
        if chance.is_none() && next.choice == 0 && depth + 1 == schedule.len() {
            let thread = next.thread;
            let others = (1..step.alternatives).map(|choice| Move { thread, choice });
            schedule[depth].1.extend(others.rev());
        }
        trace.push(next, &step);
        cut.set(next.thread, number + 1);
        commutes(program, &trace, &cut, &step);
    }
    (program.finish(), trace)
}

/// If the last two steps touch nothing in common, the last one would have been the same before the other.
fn commutes(program: &mut Program, trace: &Trace, cut: &Cut, step: &Observed) {
    let [.., before, last] = trace.events() else {
        return;
    };
    let (first, second) = (trace.len() - 2, trace.len() - 1);
    if step.last_resort || trace.happens_before(first, second) || program.failure().is_some() {
        return;
    }
    let mut without = cut.clone();
    without.set(before.thread(), before.number);
    without.set(last.thread(), last.number);
    let mut foreseen = Observed::default();
    let thread = last.thread();
    let possible = program.foresee(trace, &without, thread, last.number, &mut foreseen);
    assert!(possible, "{last:?} depends on {before:?}");
    for (one, other) in foreseen.accesses.iter().zip(&step.accesses) {
        assert_eq!((one.location, one.mode), (other.location, other.mode));
    }
}
