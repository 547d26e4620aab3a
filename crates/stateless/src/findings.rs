//! What an exploration has found so far.

use std::sync::atomic::Ordering;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use hashbrown::HashSet;
use raddle_explore::{
    BlockedThread, Cause, End, Fault, Place, Position, Property, System, Violation,
};
use raddle_outcome::{Assumption, Coverage, Executions, Explored, Kind};
use raddle_schedule::ClassHash;
use rapidhash::fast::RandomState;

use super::examine::{Examination, Progress, Settings};
use super::schedule::{canonical_position, canonical_schedule};
use super::{Stepwise, Stop};

/// What makes two violations the same one.
#[derive(Debug, PartialEq, Eq, Hash)]
enum Key {
    Fault(Property, Place),
    /// The names of the blocked threads and where they are, in order.
    Deadlock(Vec<(u64, Place)>),
}

const BETWEEN_REPORTS: Duration = Duration::from_millis(100);

/// What all workers have found.
pub(super) struct Findings<'a, S> {
    settings: &'a Settings,
    /// What the systems of the workers are copies of.
    pub(super) system: &'a mut S,
    started: Instant,
    last_report: Instant,
    on_progress: &'a mut (dyn FnMut(&Progress) + Send),
    known: HashSet<Key, RandomState>,
    classes: HashSet<ClassHash, RandomState>,
    part_done: Option<f64>,
    examination: Examination,
}

pub(super) fn lock<'m, 'a, S>(
    findings: &'m Mutex<Findings<'a, S>>,
) -> MutexGuard<'m, Findings<'a, S>> {
    findings.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<'a, S: System> Findings<'a, S> {
    pub(super) fn new(
        system: &'a mut S,
        settings: &'a Settings,
        on_progress: &'a mut (dyn FnMut(&Progress) + Send),
    ) -> Self {
        let now = Instant::now();
        Self {
            settings,
            system,
            started: now,
            last_report: now,
            on_progress,
            known: HashSet::default(),
            classes: HashSet::default(),
            part_done: None,
            examination: Examination {
                asked: settings.properties,
                explored: Explored::default(),
                violations: Vec::new(),
                statistics: Executions {
                    classes: Some(0),
                    steps: Some(0),
                    longest: Some(0),
                    ..Executions::default()
                },
                noticed: (),
            },
        }
    }

    /// What came of it, the explorer having covered that much.
    pub(super) fn into_examination(self, coverage: Coverage) -> Examination {
        let mut examination = self.examination;
        let Examination {
            explored,
            statistics,
            ..
        } = &mut examination;
        if statistics.ends.cut > 0 {
            let executions = match statistics.ends.cut {
                1 => "1 execution".into(),
                cut => format!("{cut} executions"),
            };
            let cut = Assumption::from(Kind::Assume);
            explored.assume(cut.because(executions));
        }
        explored.ended(&statistics.ends);
        explored.covered(coverage);
        statistics.classes = Some(self.classes.len() as u64);
        statistics.elapsed = self.started.elapsed();
        examination
    }

    /// Whether no more executions are wanted.
    pub(super) fn are_enough(&self) -> bool {
        self.are_as_many_as_allowed()
            || (!self.examination.violations.is_empty() && !self.settings.all)
    }

    pub(super) fn are_as_many_as_allowed(&self) -> bool {
        let most = self.settings.max_executions;
        most.is_some_and(|most| self.examination.statistics.executions >= most)
    }

    /// Tells how it is coming along, if that is due. Returns why to give up, if there is a reason.
    pub(super) fn look_around(&mut self, now: Instant) -> Option<Stop> {
        if now - self.last_report >= BETWEEN_REPORTS {
            self.last_report = now;
            (self.on_progress)(&Progress {
                executions: self.examination.statistics.executions,
                classes: self.classes.len() as u64,
                longest: self.examination.statistics.longest.unwrap_or(0),
                bound: self.examination.explored.bound(),
                part_done: self.part_done,
                elapsed: now - self.started,
            });
        }
        let settings = self.settings;
        let cancelled = settings.cancel.as_ref();
        if cancelled.is_some_and(|flag| flag.load(Ordering::Relaxed)) {
            Some((Kind::Cancelled, None))
        } else if settings.deadline.is_some_and(|end| now >= end) {
            Some((Kind::Time, None))
        } else {
            None
        }
    }

    /// Whether one worker finds all: then it can say how far it is.
    pub(super) fn are_of_one_worker(&self) -> bool {
        self.settings.workers <= 1
    }

    /// This part of what is known to be run was run.
    pub(super) fn part_done(&mut self, part: f64) {
        self.part_done = Some(part);
    }

    /// All executions within a bound were run, but for those that were left out.
    pub(super) fn bound_reached(&mut self, bound: u32) {
        let statistics = &mut self.examination.statistics;
        statistics.within_bounds.push(statistics.executions);
        self.examination.explored.bound_reached(bound);
    }

    /// Something is left out.
    pub(super) fn assume(&mut self, assumption: impl Into<Assumption<Place>>) {
        self.examination.explored.assume(assumption);
    }

    /// Takes note of an execution that has ended.
    pub(super) fn add(&mut self, execution: &mut Stepwise<S>, length: usize, class: ClassHash) {
        let statistics = &mut self.examination.statistics;
        statistics.executions += 1;
        statistics.longest = statistics.longest.max(Some(length as u64));
        self.classes.insert(class);
        self.look_at_steps(execution, length);
        self.look_at_end(execution, length);
    }

    /// A worker is done: takes over what it has collected on the way.
    pub(super) fn absorb(&mut self, execution: &mut Stepwise<S>) {
        if let Some(steps) = &mut self.examination.statistics.steps {
            *steps += execution.steps();
        }
        if let Some((kind, place)) = execution.stop().get() {
            let detail = None;
            self.assume(Assumption {
                kind,
                place,
                detail,
            });
        }
        self.system.absorb(execution.system());
    }

    /// Takes note of what is wrong after that many steps, unless it is known.
    fn record(
        &mut self,
        execution: &mut Stepwise<S>,
        key: Key,
        steps: usize,
        cause: impl FnOnce(&mut S, &S::State, Option<Position>) -> Cause,
    ) {
        let more = self.settings.all || self.examination.violations.is_empty();
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
        self.examination.violations.push(Violation {
            cause: cause(system, &state, last),
            schedule,
            switches,
        });
    }

    /// Takes note of what went wrong on the way.
    fn look_at_steps(&mut self, execution: &mut Stepwise<S>, length: usize) {
        for steps in 0..=length {
            if let Some(fault) = execution.broken_invariant(steps).cloned() {
                let key = Key::Fault(Property::Invariant, fault.place);
                self.record(execution, key, steps, |_, _, _| Cause::Invariant { fault });
            }
            for (thread, fault) in execution.failed_starts(steps).iter() {
                if let Some(key) = self.key_of(fault) {
                    self.record(execution, key, steps, |system, state, _| Cause::Start {
                        thread: canonical_position(system, state, *thread),
                        fault: fault.clone(),
                    });
                }
            }
            let fault = (steps < length).then(|| execution.fault(steps)).flatten();
            let Some(fault) = fault.cloned() else {
                continue;
            };
            if let Some(key) = self.key_of(&fault) {
                self.record(execution, key, steps + 1, |_, _, last| Cause::Fault {
                    thread: last.expect("a step was made"),
                    fault,
                });
            }
        }
    }

    /// What tells a failure from others, if it is of a kind that was asked for.
    fn key_of(&mut self, fault: &Fault) -> Option<Key> {
        let property = match fault.kind.property() {
            Ok(property) => property,
            Err(limit) => {
                // It does not end the exploration, but what that claims.
                self.assume(Assumption {
                    place: Some(fault.place),
                    ..limit
                });
                return None;
            }
        };
        let asked = self.settings.properties.contains(property);
        asked.then_some(Key::Fault(property, fault.place))
    }

    fn look_at_end(&mut self, execution: &mut Stepwise<S>, length: usize) {
        let mut blocked = Vec::new();
        let end = execution.end(&mut blocked);
        end.count_in(&mut self.examination.statistics.ends);
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
