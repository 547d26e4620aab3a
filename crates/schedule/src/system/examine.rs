//! What is wrong with a system, as an explorer sees it.

use std::cell::Cell;
use std::ops::ControlFlow;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use hashbrown::HashSet;
use raddle_explore::{
    BlockedThread, Cause, End, FaultKind, Place, Property, PropertySet, System, Violation,
};
use rapidhash::fast::RandomState;

use super::schedule::{canonical_position, canonical_schedule};
use super::{MAX_LENGTH, Stepwise, Stop};
use crate::class::{ClassHash, class_of};
use crate::clock::Clock;
use crate::explorer::{Coverage, Explorer, Visitor};
use crate::trace::Trace;

/// What is looked for, and when to give up.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The properties to check. Races are not looked for.
    pub properties: PropertySet,
    /// Whether to go on after the first violation, for every distinct one.
    pub all: bool,
    /// How many steps an execution may have.
    pub max_length: usize,
    /// How many executions to run at most.
    pub max_executions: Option<u64>,
    /// When to give up.
    pub deadline: Option<Instant>,
    /// Gives up soon after this has become true.
    pub cancel: Option<Arc<AtomicBool>>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            properties: PropertySet::default(),
            all: false,
            max_length: MAX_LENGTH,
            max_executions: None,
            deadline: None,
            cancel: None,
        }
    }
}

/// What an exploration found out.
#[derive(Clone, Debug)]
pub struct Examination {
    /// What was explored, up to the last bound that was finished.
    pub coverage: Coverage,
    /// Why it was given up, if it was.
    pub stop: Option<Stop>,
    /// The distinct violations, in the order in which they were met.
    pub violations: Vec<Violation>,
    /// How many executions were run to their end.
    pub executions: u64,
    /// How many classes they are of.
    pub classes: u64,
    /// How many steps were made. Those with which an execution begins like the one before
    /// count once.
    pub steps: u64,
    /// The steps of the longest execution.
    pub longest: usize,
    /// Executions in which all threads have ended.
    pub terminated: u64,
    /// Executions that an assumption has cut.
    pub cut: u64,
    /// Executions that end in a deadlock.
    pub deadlocked: u64,
    /// Executions in which a thread has failed.
    pub failed: u64,
    /// How many executions there were when all within a bound had been run, by the bound.
    pub within_bounds: Vec<u64>,
}

impl Examination {
    /// The greatest bound on preemptions within which all was run, if others were left then.
    fn finished_bound(&self) -> Option<u32> {
        let bound = self.within_bounds.len().checked_sub(1)?;
        u32::try_from(bound).ok()
    }
}

/// How an exploration is coming along.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Executions that were run to their end.
    pub executions: u64,
    /// How many classes they are of.
    pub classes: u64,
    /// The steps of the longest one.
    pub longest: usize,
    /// The greatest bound on preemptions within which all was run, and others were left.
    pub bound: Option<u32>,
    /// The time since the start.
    pub elapsed: Duration,
}

/// Runs the executions of a system that the explorer wants to see.
pub fn examine<S: System + Clone>(
    system: &mut S,
    explorer: &mut impl Explorer,
    settings: &Settings,
) -> Examination {
    examine_with_progress(system, explorer, settings, &mut |_| {})
}

/// The same, and says now and then how it is coming along.
pub fn examine_with_progress<S: System + Clone>(
    system: &mut S,
    explorer: &mut impl Explorer,
    settings: &Settings,
    on_progress: &mut dyn FnMut(&Progress),
) -> Examination {
    let now = Instant::now();
    let invariants = settings.properties.contains(Property::Invariant);
    let mut execution = Stepwise::new(system.clone(), settings.max_length, invariants);
    let mut examiner = Examiner {
        settings,
        stop: execution.stop(),
        clock: Clock::default(),
        started: now,
        last_report: now,
        on_progress,
        known: HashSet::default(),
        classes: HashSet::default(),
        capacity: None,
        found: Examination {
            coverage: Coverage::Some,
            stop: None,
            violations: Vec::new(),
            executions: 0,
            classes: 0,
            steps: 0,
            longest: 0,
            terminated: 0,
            cut: 0,
            deadlocked: 0,
            failed: 0,
            within_bounds: Vec::new(),
        },
    };
    let explored = explorer.explore(&mut execution, &mut examiner);
    let Examiner {
        mut found,
        classes,
        capacity,
        ..
    } = examiner;
    found.coverage = explored.expect("a system does the same when it is run again");
    if let (Coverage::Some, Some(bound)) = (found.coverage, found.finished_bound()) {
        found.coverage = Coverage::UpToBound(bound);
    }
    found.stop = execution.stop().get().or(capacity);
    found.classes = classes.len() as u64;
    found.steps = execution.steps();
    *system = execution.into_system();
    found
}

/// What makes two violations the same one.
#[derive(Debug, PartialEq, Eq, Hash)]
enum Key {
    Fault(Property, Place),
    /// The names of the blocked threads and where they are, in order.
    Deadlock(Vec<(u64, Place)>),
}

const BETWEEN_REPORTS: Duration = Duration::from_millis(100);

struct Examiner<'a> {
    settings: &'a Settings,
    stop: Rc<Cell<Option<Stop>>>,
    clock: Clock,
    started: Instant,
    last_report: Instant,
    on_progress: &'a mut dyn FnMut(&Progress),
    known: HashSet<Key, RandomState>,
    classes: HashSet<ClassHash, RandomState>,
    /// The first execution that was larger than can be kept does not end the exploration, but what it claims.
    capacity: Option<Stop>,
    found: Examination,
}

impl Examiner<'_> {
    fn goes_on(&self) -> ControlFlow<()> {
        match self.stop.get().is_some() || (!self.found.violations.is_empty() && !self.settings.all)
        {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    }

    fn look_around(&mut self, now: Instant) {
        if now - self.last_report >= BETWEEN_REPORTS {
            self.last_report = now;
            (self.on_progress)(&Progress {
                executions: self.found.executions,
                classes: self.classes.len() as u64,
                longest: self.found.longest,
                bound: self.found.finished_bound(),
                elapsed: now - self.started,
            });
        }
        let settings = self.settings;
        let cancelled = settings.cancel.as_ref();
        if cancelled.is_some_and(|flag| flag.load(Ordering::Relaxed)) {
            self.stop.set(Some(Stop::Cancelled));
        } else if settings.deadline.is_some_and(|end| now >= end) {
            self.stop.set(Some(Stop::Time));
        }
    }

    /// Takes note of what is wrong after that many steps, unless it is known.
    fn record<S: System>(
        &mut self,
        execution: &mut Stepwise<S>,
        key: Key,
        steps: usize,
        cause: impl FnOnce(&mut S, &S::State, Option<raddle_explore::ThreadId>) -> Cause,
    ) {
        let more = self.settings.all || self.found.violations.is_empty();
        if !more || !self.known.insert(key) {
            return;
        }
        let moves = execution.system_moves(steps);
        let switches = moves.windows(2);
        let switches = switches.filter(|pair| pair[0].thread != pair[1].thread);
        let switches = switches.count();
        let system = execution.system();
        let (schedule, state) = canonical_schedule(system, moves.into_iter());
        let last = schedule.last().map(|last| last.thread);
        self.found.violations.push(Violation {
            cause: cause(system, &state, last),
            schedule,
            switches,
        });
    }

    /// Takes note of what went wrong on the way.
    fn look_at_steps<S: System>(&mut self, execution: &mut Stepwise<S>, length: usize) {
        for steps in 0..=length {
            if let Some(fault) = execution.broken_invariant(steps).cloned() {
                let key = Key::Fault(Property::Invariant, fault.place);
                self.record(execution, key, steps, |_, _, _| Cause::Invariant { fault });
            }
            let Some(fault) = (steps < length).then(|| execution.fault(steps)).flatten() else {
                continue;
            };
            let property = match fault.kind {
                FaultKind::Assertion => Property::Assertion,
                FaultKind::Runtime => Property::Runtime,
                FaultKind::Invariant => Property::Invariant,
                FaultKind::Discipline => Property::Discipline,
                FaultKind::Capacity(what) => {
                    self.capacity = Some(Stop::Capacity(what));
                    continue;
                }
            };
            if self.settings.properties.contains(property) {
                let (key, fault) = (Key::Fault(property, fault.place), fault.clone());
                self.record(execution, key, steps + 1, |_, _, last| Cause::Fault {
                    thread: last.expect("a step was made"),
                    fault,
                });
            }
        }
    }

    fn look_at_end<S: System>(&mut self, execution: &mut Stepwise<S>, length: usize) {
        let mut blocked = Vec::new();
        let end = execution.end(&mut blocked);
        *match end {
            End::Terminated => &mut self.found.terminated,
            End::Cut => &mut self.found.cut,
            End::Deadlock => &mut self.found.deadlocked,
            End::Failed => &mut self.found.failed,
        } += 1;
        if end != End::Deadlock || !self.settings.properties.contains(Property::Deadlock) {
            return;
        }
        let mut names = execution.names_of(&blocked);
        names.sort_unstable();
        self.record(
            execution,
            Key::Deadlock(names),
            length,
            |system, state, _| {
                let canonical = |waiting: BlockedThread| BlockedThread {
                    thread: canonical_position(system, state, waiting.thread),
                    ..waiting
                };
                Cause::Deadlock {
                    blocked: blocked.into_iter().map(canonical).collect(),
                }
            },
        );
    }
}

impl<S: System> Visitor<Stepwise<S>> for Examiner<'_> {
    fn ended(&mut self, execution: &mut Stepwise<S>, trace: &Trace) -> ControlFlow<()> {
        if self.stop.get().is_some() {
            // It may have ended only because there was no reason to go on.
            return ControlFlow::Break(());
        }
        self.found.executions += 1;
        self.found.longest = self.found.longest.max(trace.len());
        self.classes.insert(class_of(trace));
        self.look_at_steps(execution, trace.len());
        self.look_at_end(execution, trace.len());
        if self.settings.max_executions == Some(self.found.executions) {
            self.stop.set(Some(Stop::Executions));
        }
        self.goes_on()
    }

    fn pulse(&mut self) -> ControlFlow<()> {
        if let Some(now) = self.clock.tick() {
            self.look_around(now);
        }
        self.goes_on()
    }

    fn bound_reached(&mut self, _: u32) -> ControlFlow<()> {
        self.found.within_bounds.push(self.found.executions);
        ControlFlow::Continue(())
    }
}
