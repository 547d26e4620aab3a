//! States of a system, and what its threads do next there.

use std::rc::Rc;

use raddle_explore::{
    Access, AccessKind, Choice, Fault, Footprint, Location, Position, Status, Step, SyncOp, System,
};
use raddle_schedule::{Mode, Observed, Readiness, ThreadId, ValuedAccess};

use super::accesses::{access_of, add, conflict};
use super::names::Names;

/// A state, threads by their position.
#[derive(Clone, Debug)]
pub(super) struct Node<State> {
    pub(super) state: State,
    /// Who is at each position.
    pub(super) threads: Vec<ThreadId>,
    /// What each does next, as far as somebody has asked.
    next: Vec<Option<Rc<Next>>>,
    /// How the step that led here failed, if it did.
    pub(super) fault: Option<Fault>,
    /// The threads that have failed before their first step, by position, and how.
    pub(super) failed_starts: Rc<Vec<(Position, Fault)>>,
    /// What the invariants look at here, in order, and the first that does not hold.
    observed: Rc<Vec<Location>>,
    pub(super) broken: Option<Fault>,
}

/// What a thread does next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Next {
    pub(super) readiness: Readiness,
    /// What it touches, whichever alternative it takes: what one of them does says nothing about the
    /// others, but explorers ask for one. Those that are blocked touch what they wait for, which
    /// decides how many alternatives there are.
    pub(super) step: Observed,
    /// The alternatives that are not blocked.
    choices: Vec<Choice>,
    /// Whether it is blocked, and all its alternatives are at assumptions.
    pub(super) assumption: bool,
    /// Whether it has more alternatives than are tried.
    pub(super) unbounded: bool,
}

impl Next {
    /// The alternative with this number; the first, if it does not have that many.
    pub(super) fn choice(&self, number: u32) -> Choice {
        let choice = self.choices.get(number as usize);
        choice.or(self.choices.first()).copied().unwrap_or_default()
    }
}

/// How many alternatives of a step are tried.
pub(super) const MAX_ALTERNATIVES: usize = 10_000;

/// Makes the steps of a system.
#[derive(Clone, Debug)]
pub(super) struct Stepper<S: System> {
    pub(super) system: S,
    names: Names,
    /// Whether invariants are looked at.
    invariants: bool,
    probe: Step<S::State>,
}

impl<S: System> Stepper<S> {
    pub(super) fn new(system: S, names: Names, invariants: bool) -> Self {
        Self {
            system,
            names,
            invariants,
            probe: Step::default(),
        }
    }

    /// The state that executions begin in.
    pub(super) fn initial(&mut self) -> Node<S::State> {
        let state = self.system.initial();
        let count = self.system.thread_count(&state);
        self.names.begin(count);
        let failed_starts = Rc::new(self.system.failed_starts(&state));
        let mut node = Node {
            state,
            threads: (0..count).map(thread_id).collect(),
            next: vec![None; count],
            fault: None,
            failed_starts,
            observed: Rc::default(),
            broken: None,
        };
        self.observe(&mut node);
        node
    }

    /// What the thread at a position does next.
    pub(super) fn next(&mut self, node: &mut Node<S::State>, position: usize) -> Rc<Next> {
        if let Some(next) = &node.next[position] {
            return Rc::clone(next);
        }
        let next = Rc::new(self.find_next(node, position));
        node.next[position] = Some(Rc::clone(&next));
        next
    }

    fn find_next(&mut self, node: &Node<S::State>, position: usize) -> Next {
        let mut next = Next {
            readiness: Readiness::Ended,
            step: Observed::default(),
            choices: Vec::new(),
            assumption: true,
            unbounded: false,
        };
        let (mut writes, mut writes_observed) = (false, false);
        let mut choice = Some(Choice::FIRST);
        while let Some(taken) = choice {
            let thread = position_at(position);
            self.system
                .step(&node.state, thread, taken, &mut self.probe);
            choice = self.probe.next_choice;
            match &self.probe.status {
                Status::Moved | Status::Failed(_) => {
                    next.readiness = Readiness::Enabled;
                    next.choices.push(taken);
                }
                Status::Blocked { assumption } => {
                    next.assumption &= assumption;
                    if next.readiness == Readiness::Ended {
                        next.readiness = Readiness::Blocked;
                    }
                }
                Status::Ended => {}
            }
            for access in &self.probe.footprint {
                let location = self
                    .names
                    .location(&self.system, &node.threads, access.location);
                add(&mut next.step.accesses, access_of(access, location));
                if let Some(mode) = touches_threads(access, &self.probe.footprint) {
                    let threads = self.names.threads();
                    let access = ValuedAccess {
                        location: threads,
                        mode,
                        before: 0,
                        after: u64::from(mode == Mode::Shared),
                    };
                    add(&mut next.step.accesses, access);
                }
                writes |= access.writes;
                writes_observed |=
                    access.writes && node.observed.binary_search(&access.location).is_ok();
            }
            if next.choices.len() >= MAX_ALTERNATIVES && choice.is_some() {
                next.unbounded = true;
                break;
            }
        }
        next.step.alternatives = u32::try_from(next.choices.len().max(1)).unwrap_or(u32::MAX);
        next.assumption &= next.readiness == Readiness::Blocked;
        if self.invariants && writes {
            self.touch_invariants(writes_observed, &mut next.step.accesses);
        }
        next
    }

    /// Lets a step that writes touch what stands for everything that invariants look at.
    ///
    /// Whether an invariant holds depends on the order of all writes to what it looks at, which
    /// may be several locations; so these writes do not commute. Then each class has one order of
    /// them, and an execution of it shows every value that the invariants take in all of
    /// the class. What they look at may depend on what they find (`p != null ==> p.x == 1`): whether another
    /// write is one of those depends on the order too, so it reads.
    fn touch_invariants(&mut self, observed: bool, accesses: &mut Vec<ValuedAccess>) {
        let mode = if observed { Mode::Write } else { Mode::Read };
        accesses.push(ValuedAccess {
            location: self.names.invariants(),
            mode,
            before: 0,
            after: 0,
        });
    }

    /// Makes the next step of the thread at a position, which is enabled. An alternative that it does not have
    /// is the first one. Appends the threads that it starts.
    pub(super) fn after(
        &mut self,
        node: &mut Node<S::State>,
        position: usize,
        alternative: u32,
        started: &mut Vec<ThreadId>,
    ) -> Node<S::State> {
        let taken = self.next(node, position);
        let choice = taken.choice(alternative);
        let thread = position_at(position);
        self.system
            .step(&node.state, thread, choice, &mut self.probe);
        let mut threads = node.threads.clone();
        let count = self.system.thread_count(&self.probe.after);
        while threads.len() < count {
            let child = self.names.next_child(&threads, node.threads[position]);
            threads.push(child);
            started.push(child);
        }
        // What others do next is the same as before, if it does not touch what this step has changed.
        let unchanged = |next: &Rc<Next>| !conflict(&next.step.accesses, &taken.step.accesses);
        let mut next = node.next.clone();
        for (other, next) in next.iter_mut().enumerate() {
            if other == position || !next.as_ref().is_some_and(unchanged) {
                *next = None;
            }
        }
        next.resize(count, None);
        let fault = match &self.probe.status {
            Status::Failed(fault) => Some(fault.clone()),
            _ => None,
        };
        // Nobody else can fail that way.
        let failed_starts = match count == node.threads.len() {
            true => Rc::clone(&node.failed_starts),
            false => Rc::new(self.system.failed_starts(&self.probe.after)),
        };
        let mut after = Node {
            state: self.probe.after.clone(),
            threads,
            next,
            fault,
            failed_starts,
            observed: Rc::clone(&node.observed),
            broken: node.broken.clone(),
        };
        self.observe(&mut after);
        #[cfg(debug_assertions)]
        self.assert_honest(&after);
        after
    }

    /// What is believed about next steps is true: no footprint has left anything out.
    #[cfg(debug_assertions)]
    fn assert_honest(&mut self, node: &Node<S::State>) {
        for (position, believed) in node.next.iter().enumerate() {
            if let Some(believed) = believed {
                assert_eq!(**believed, self.find_next(node, position));
            }
        }
    }

    fn observe(&mut self, node: &mut Node<S::State>) {
        if !self.invariants {
            return;
        }
        let mut reads = Footprint::new();
        node.broken = self.system.broken_invariant(&node.state, &mut reads);
        let mut observed: Vec<_> = reads.iter().map(|access| access.location).collect();
        observed.sort_unstable();
        observed.dedup();
        if *node.observed != observed {
            node.observed = Rc::new(observed);
        }
    }
}

impl<State> Node<State> {
    /// Where a thread is, if it was started.
    pub(super) fn position(&self, thread: ThreadId) -> Option<usize> {
        self.threads.iter().position(|&known| known == thread)
    }

    /// What the thread at a position does next, if somebody has asked before.
    pub(super) fn known_next(&self, position: usize) -> Option<&Next> {
        self.next[position].as_deref()
    }
}

/// How an access touches the set of threads. Who looks at all threads touches the ends of those
/// that there are, so what it touches depends on whether another one was started before. Starting threads commutes.
fn touches_threads(access: &Access, footprint: &Footprint) -> Option<Mode> {
    let is_data = |access: &Access| !matches!(access.kind, AccessKind::Sync(_));
    match access.kind {
        AccessKind::Sync(SyncOp::Spawn) if access.writes => Some(Mode::Shared),
        AccessKind::Sync(SyncOp::Census) => Some(Mode::Read),
        // For the sake of an access to data it looks at all threads. Otherwise the program waits for one of them.
        AccessKind::Sync(SyncOp::Join) if footprint.iter().any(is_data) => Some(Mode::Read),
        _ => None,
    }
}

/// The thread at an index of the thread table of a state.
pub(super) fn position_at(index: usize) -> Position {
    Position(u32::try_from(index).unwrap_or(u32::MAX))
}

pub(super) fn thread_id(index: usize) -> ThreadId {
    ThreadId(u32::try_from(index).unwrap_or(u32::MAX))
}
