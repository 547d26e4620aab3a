//! [`examine`]: what is wrong with a program under a memory model.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use raddle_explore::{Fault, Place, Property, PropertySet, System};
use raddle_machine::Machine;
use raddle_memory::{
    Blocked, Counts, End, Graph, Leaf, Model, Operation, Refused, Stop, Trust, Visitor,
};
use raddle_outcome::{Assumption, Ends, Executions, Kind, Outcome};
use raddle_report::graph::Graph as Picture;
use raddle_report::story::Story;
use raddle_schedule::{Clock, Omission, ThreadId};
use std::collections::HashSet;

use crate::operations::word;
use crate::run::{Reason, Run, Unsupported};
use crate::story::Teller;

/// How many events an execution may have, unless something else is said.
pub const MAX_EVENTS: usize = 1_000;

const BETWEEN_REPORTS: Duration = Duration::from_millis(100);

/// What is looked for, and when to give up.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The properties to check. Data races are looked for in any case but under sequential consistency, since a program with races means
    /// nothing. Invariants and disciplines are not looked at.
    pub properties: PropertySet,
    /// Whether to go on after the first violation, for every distinct one.
    pub all: bool,
    /// How many events an execution may have.
    pub max_events: usize,
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
            max_events: MAX_EVENTS,
            max_executions: None,
            deadline: None,
            cancel: None,
        }
    }
}

/// Something that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The property that is violated.
    pub property: Property,
    /// An execution that shows it.
    pub story: Story,
    /// The same as a graph.
    pub picture: Picture,
}

/// How the graphs ended that no report of executions has a row for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Graphs {
    /// All threads have ended.
    pub complete: u64,
    /// A thread waits in a loop or at a condition, and would go on if it looked again: the beginning of other graphs.
    pub blocked: u64,
    /// Threads wait in loops for ever.
    pub hanging: u64,
}

/// What an exploration found out.
pub type Examination = Outcome<PropertySet, Place, Violation, Executions, Graphs>;

/// How an exploration is coming along.
#[derive(Clone, Copy, Debug, Default)]
pub struct Progress {
    /// Graphs that no thread can add an event to.
    pub graphs: u64,
    /// The events of the largest one.
    pub longest: u64,
    /// The time since the start.
    pub elapsed: Duration,
}

/// Explores the execution graphs of the program that a machine runs.
///
/// # Errors
///
/// If the program does something that is not supported.
pub fn examine(
    machine: &mut Machine,
    model: Model,
    settings: &Settings,
    on_progress: &mut dyn FnMut(&Progress),
) -> Result<Examination, Unsupported> {
    let mut run = Run::new(machine, model);
    let now = Instant::now();
    let mut examiner = Examiner {
        settings,
        on_progress,
        started: now,
        last_report: now,
        clock: Clock::default(),
        known: HashSet::new(),
        is_over: false,
        assumed: 0,
        examination: Examination {
            asked: settings.properties,
            explored: raddle_outcome::Explored::default(),
            violations: Vec::new(),
            statistics: Executions {
                longest: Some(0),
                ..Executions::default()
            },
            noticed: Graphs::default(),
        },
    };
    let mut trust = Trust::new(model).most_events(settings.max_events);
    let explored = trust.explore(&mut run, &mut examiner);
    if let Some(unsupported) = run.unsupported {
        return Err(unsupported);
    }
    let coverage = explored.unwrap_or_else(|refused| match refused {
        Refused::Diverged(_) => unreachable!("a machine does the same when it is run again"),
        Refused::Condition { .. } => unreachable!("no waiting reads are announced"),
    });
    machine.absorb(&run.machine);
    let (assumed, mut found) = (examiner.assumed, examiner.examination);
    if let Some(place) = machine.program().relaxed_read()
        && model != Model::Sc
    {
        found.explored.assume(Kind::LoadBuffering.at(place));
    }
    if assumed > 0 {
        let executions = match assumed {
            1 => "1 execution".into(),
            cut => format!("{cut} executions"),
        };
        let cut = Assumption::from(Kind::Assume);
        found.explored.assume(cut.because(executions));
    }
    found.explored.ended(&found.statistics.ends);
    found.explored.covered(coverage);
    let counts: &Counts = trust.counts();
    found.statistics.steps = Some(counts.events);
    found.statistics.elapsed = now.elapsed();
    Ok(found)
}

/// What makes two violations the same one.
#[derive(Debug, PartialEq, Eq, Hash)]
enum Key {
    Fault(Property, Place),
    /// The threads that wait, and where.
    Hang(Property, Vec<(ThreadId, Place)>),
}

struct Examiner<'a> {
    settings: &'a Settings,
    on_progress: &'a mut dyn FnMut(&Progress),
    started: Instant,
    last_report: Instant,
    clock: Clock,
    known: HashSet<Key>,
    is_over: bool,
    /// Executions that an `assume` has cut.
    assumed: u64,
    examination: Examination,
}

impl Examiner<'_> {
    /// Whether a violation is to be told, which is new.
    fn wants(&mut self, key: Key) -> bool {
        let more = self.settings.all || self.examination.violations.is_empty();
        more && self.known.insert(key)
    }

    fn found(&mut self, property: Property, (story, picture): (Story, Picture)) {
        let violations = &mut self.examination.violations;
        violations.push(Violation {
            property,
            story,
            picture,
        });
        self.is_over |= !self.settings.all;
    }

    fn give_up(&mut self, kind: Kind) {
        self.examination.explored.assume(kind);
        self.is_over = true;
    }

    fn look_around(&mut self) {
        let Some(now) = self.clock.tick() else {
            return;
        };
        if now - self.last_report >= BETWEEN_REPORTS {
            self.last_report = now;
            (self.on_progress)(&Progress {
                graphs: self.examination.statistics.executions,
                longest: self.examination.statistics.longest.unwrap_or(0),
                elapsed: now - self.started,
            });
        }
        let cancelled = self.settings.cancel.as_ref();
        if cancelled.is_some_and(|flag| flag.load(Ordering::Relaxed)) {
            self.give_up(Kind::Cancelled);
        } else if self.settings.deadline.is_some_and(|end| now >= end) {
            self.give_up(Kind::Time);
        }
    }

    /// A data race. After it nothing means anything, so it is the end of the exploration.
    fn look_at_race(&mut self, run: &Run, graph: &Graph) {
        let Some((race, address)) = run.race else {
            return;
        };
        let story = Teller::new(run, graph, run.made.len()).races(&race, address);
        self.found(Property::Race, story);
        if self.settings.all {
            let after = Assumption::from(Kind::GivenUp);
            let explored = &mut self.examination.explored;
            explored.assume(after.because("what comes after a data race means nothing"));
        }
        self.is_over = true;
    }

    fn look_at_faults(&mut self, run: &Run, leaf: &Leaf<'_>) {
        for (position, fault, made) in &run.faults {
            match fault.kind.property() {
                Ok(property) => self.look_at_fault(run, leaf, property, (*position, fault, *made)),
                // It does not end the exploration, but what that claims.
                Err(limit) => self.examination.explored.assume(Assumption {
                    place: Some(fault.place),
                    ..limit
                }),
            }
        }
    }

    fn look_at_fault(
        &mut self,
        run: &Run,
        leaf: &Leaf<'_>,
        property: Property,
        (position, fault, made): (usize, &Fault, usize),
    ) {
        let asked = self.settings.properties.contains(property);
        if asked && self.wants(Key::Fault(property, fault.place)) {
            let teller = Teller::new(run, leaf.graph, made);
            let story = teller.failed(position, fault);
            self.found(property, story);
        }
    }

    /// Threads wait for ever.
    fn look_at_hang(&mut self, run: &Run, leaf: &Leaf<'_>) {
        let waits = |(thread, stop): &(ThreadId, Stop)| {
            let is_waiting = !matches!(stop, Stop::Ended);
            is_waiting.then_some((*thread, *stop))
        };
        let waiting: Vec<_> = leaf.threads.iter().filter_map(waits).collect();
        let spins = |(thread, stop): &(ThreadId, Stop)| {
            matches!(stop, Stop::Blocked(Blocked::Spinning { .. }))
                && run.reason(*thread) != Some(Reason::Await)
        };
        // A thread that goes round a loop can move.
        let is_deadlock = !waiting.iter().any(spins);
        let property = match is_deadlock {
            true => Property::Deadlock,
            false => Property::Termination,
        };
        if !self.settings.properties.contains(property) {
            return;
        }
        let place = |thread: &ThreadId| run.place(run.position(*thread));
        let mut places: Vec<_> = waiting
            .iter()
            .map(|(thread, _)| (*thread, place(thread)))
            .collect();
        places.sort_unstable();
        if !self.wants(Key::Hang(property, places)) {
            return;
        }
        let teller = Teller::new(run, leaf.graph, run.made.len());
        let notes: Vec<_> = waiting
            .iter()
            .map(|(thread, stop)| {
                (
                    run.position(*thread),
                    what_for(run, &teller, leaf, *thread, stop),
                )
            })
            .collect();
        let how = match is_deadlock {
            true => "deadlock",
            false => "the execution does not end",
        };
        let who = match notes.len() {
            1 => "one thread waits for ever".to_owned(),
            threads => format!("{threads} threads wait for ever"),
        };
        let story = teller.hangs(format!("{how}: {who}"), &notes);
        self.found(property, story);
    }

    /// Takes note of how a graph ends.
    fn count(&mut self, run: &Run, leaf: &Leaf<'_>) {
        let is_cut_by_assume = leaf.threads.iter().any(|(thread, stop)| {
            matches!(stop, Stop::Blocked(Blocked::Infeasible))
                && run.reason(*thread) == Some(Reason::Assume)
        });
        let Executions {
            executions,
            longest,
            ends,
            ..
        } = &mut self.examination.statistics;
        *executions += 1;
        *longest = (*longest).max(Some(leaf.graph.len() as u64));
        let Ends {
            terminated,
            cut,
            deadlocked,
            failed,
        } = ends;
        let graphs = &mut self.examination.noticed;
        match leaf.end {
            End::Complete => {
                *terminated += 1;
                graphs.complete += 1;
            }
            End::Failed => *failed += 1,
            End::Deadlock => *deadlocked += 1,
            End::Livelock => {
                let spins =
                    |(thread, _): &(ThreadId, Stop)| run.reason(*thread) == Some(Reason::Spins);
                match leaf.threads.iter().any(spins) {
                    true => graphs.hanging += 1,
                    false => *deadlocked += 1,
                }
            }
            End::Infeasible | End::Cut | End::Spinning if is_cut_by_assume => {
                *cut += 1;
                self.assumed += 1;
            }
            End::Infeasible | End::Cut | End::Spinning => graphs.blocked += 1,
        }
        if run.has_stopped_for(Reason::TooLong) {
            self.examination.explored.assume(Kind::Steps);
        }
        // A thread that could leave a loop by another choice may never do so.
        let termination = self.settings.properties.contains(Property::Termination);
        if termination && run.has_stopped_for(Reason::Chooses) {
            self.examination.explored.assume(Kind::NotPreserved);
        }
    }
}

/// What a thread waits for.
fn what_for(
    run: &Run,
    teller: &Teller<'_>,
    leaf: &Leaf<'_>,
    thread: ThreadId,
    stop: &Stop,
) -> String {
    let address = run.address_of(thread);
    let name = address.map(|address| teller.name_at(address));
    match (stop, name) {
        (Stop::Waits(Operation::Join { .. }), _) => "waits for the end of a thread".into(),
        (Stop::Waits(_), Some(name)) => format!("waits for {name}"),
        (Stop::Blocked(Blocked::Spinning { since }), _) => {
            let events = &leaf.graph.thread(thread)[*since as usize..];
            let read = events.iter().rev().find(|event| event.kind.reads());
            match (read, address) {
                (Some(event), Some(address)) if run.reason(thread) == Some(Reason::Await) => {
                    let shown = teller.show_at(address, word(event.read));
                    format!("waits, having read {} = {shown}", teller.name_at(address))
                }
                _ => "does the same again and again".into(),
            }
        }
        _ => "waits".into(),
    }
}

impl Visitor<Run> for Examiner<'_> {
    fn leaf(&mut self, run: &mut Run, leaf: &Leaf<'_>) -> ControlFlow<()> {
        if self.is_over {
            return ControlFlow::Break(());
        }
        self.count(run, leaf);
        self.look_at_faults(run, leaf);
        if matches!(leaf.end, End::Deadlock | End::Livelock) {
            self.look_at_hang(run, leaf);
        }
        let most = self.settings.max_executions;
        if !self.is_over && most.is_some_and(|most| self.examination.statistics.executions >= most)
        {
            self.give_up(Kind::Executions);
        }
        match self.is_over {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    }

    fn pulse(&mut self, run: &mut Run, graph: &Graph) -> ControlFlow<()> {
        self.look_around();
        self.look_at_race(run, graph);
        match self.is_over || run.unsupported.is_some() {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    }

    fn left_out(&mut self, run: &mut Run, omission: Omission) {
        let place = omission
            .step
            .map(|(thread, _)| run.place(run.position(thread)));
        self.examination.explored.assume(Assumption {
            kind: omission.kind,
            place,
            detail: None,
        });
    }
}
