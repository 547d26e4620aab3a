//! The interior of a macro-step: what one thread does between two boundary states.
//!
//! From a boundary state, one thread runs alone; a depth-first search with a table of its
//! own follows all its choices, until the macro-step ends. Nothing of it is stored with the
//! boundary states, so it needs no phase bits there, flags cannot be mixed up between threads, and
//! what it finds depends on neither the order of the search around it nor on what was
//! explored before.
//!
//! The same search serves transactions and the optimistic reduction; a `Shape` says which
//! steps a macro-step may consist of.

mod completion;
mod table;

pub use completion::Completion;

use raddle_store::Batch;

use crate::lock_order::LockOrder;
use crate::movers::{Mover, Movers};
use crate::parts::{Changed, Packed};
use crate::property::{Property, PropertySet};
use crate::reduction::{Effort, Visitor};
use crate::repair::Repair;
use crate::system::{
    Access, AccessKind, Action, Choice, Place, Position, Status, Step, SyncOp, System,
};
use completion::{Graph, NodeId};
use table::Table;

/// Which steps a macro-step consists of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// Right movers, then one step of any kind, which commits, then left movers.
    Transaction(Completion),
    /// One step of any kind, then left movers.
    VisibleThenInvisible,
}

impl Shape {
    fn completion(self) -> Completion {
        match self {
            Self::Transaction(completion) => completion,
            Self::VisibleThenInvisible if Repair::InvisibleLoopsEnd.is_on() => Completion::Cycle,
            Self::VisibleThenInvisible => Completion::None,
        }
    }

    /// The phase after a step: whether the macro-step has still not committed. (The paper's
    /// p', section 4.2.)
    fn phase_after(self, p: bool, step: Mover) -> bool {
        match self {
            Self::Transaction(_) => step.right && (p || !step.left),
            Self::VisibleThenInvisible => false,
        }
    }
}

/// What became of a macro-step's first step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Start {
    /// Some alternative of it can be taken.
    pub(crate) enabled: bool,
    /// Some alternative is blocked.
    pub(crate) blocked: bool,
    /// Some alternative is blocked, and not at an assumption.
    pub(crate) blocked_without_assumption: bool,
    /// Somewhere before its commit, the thread is blocked at an assumption.
    pub(crate) cut_before_commit: bool,
    /// It can go on for ever.
    pub(crate) endless: bool,
    /// It led to a boundary state.
    pub(crate) ended: bool,
}

/// What is told about the steps of a macro-step, for explanations.
pub trait Watch<S: System>: Send {
    /// A search begins; what was told before was only to learn.
    fn begin_round(&mut self);

    /// A step of a thread that was taken, and how it commutes.
    fn step(&mut self, system: &S, before: &S::State, thread: Position, event: StepEvent<'_, S>);

    /// A macro-step of a thread ends, whose last step leads from one state to another. The
    /// states are not in canonical form.
    fn end(&mut self, system: &S, last: LastStep<'_, S>);
}

/// The end of a macro-step.
pub struct LastStep<'e, S: System> {
    /// Whose it was.
    pub thread: Position,
    /// The state before its last step.
    pub before: &'e S::State,
    /// The state in which it ends.
    pub after: &'e S::State,
    /// Whether it ends only because it would never end of itself.
    pub forced: bool,
}

/// A step inside a macro-step.
pub struct StepEvent<'e, S: System> {
    /// What it did.
    pub step: &'e Step<S::State>,
    /// How it commutes.
    pub mover: Mover,
    /// Whether it is the first of its macro-step.
    pub first: bool,
    /// Whether the macro-step had not committed before it.
    pub phase_before: bool,
    /// Whether it still has not after it.
    pub phase_after: bool,
}

/// The private search of macro-steps, and its buffers.
pub(crate) struct Interior<S: System> {
    graph: Graph,
    table: Table,
    /// The states on the stack.
    frames: Vec<Frame<S::State>>,
    /// How many of them are in use.
    depth: usize,
    step: Step<S::State>,
    canonical: S::State,
    packed: Packed,
    /// All states visited so far, with their phases, if they are to be counted.
    visited: Option<Table>,
    /// By place, whether a macro-step that began there took more than one step.
    goes_on: Vec<bool>,
    pub(crate) watch: Option<Box<dyn Watch<S>>>,
}

/// How far the first step of a macro-step was explored beforehand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FirstStep {
    /// There is no more to do.
    Done,
    /// It is the one that was executed last.
    Executed,
    /// Not at all.
    Unknown,
}

struct Frame<State> {
    node: NodeId,
    state: State,
    next: Option<Choice>,
}

impl<S: System> Default for Interior<S> {
    fn default() -> Self {
        Self {
            graph: Graph::default(),
            table: Table::default(),
            frames: Vec::new(),
            depth: 0,
            step: Step::default(),
            canonical: S::State::default(),
            packed: Packed::default(),
            visited: None,
            goes_on: Vec::new(),
            watch: None,
        }
    }
}

/// A macro-step under way: everything that is the same all the way.
pub(crate) struct Run<'r, 'v, S: System> {
    pub(crate) thread: Position,
    pub(crate) shape: Shape,
    pub(crate) movers: &'r mut Movers,
    pub(crate) lock_order: Option<&'r mut LockOrder>,
    pub(crate) visitor: &'r mut (dyn Visitor<S> + 'v),
    pub(crate) effort: &'r mut Effort,
    pub(crate) start: Start,
}

impl<S: System> Run<'_, '_, S> {
    /// What the optimistic paper would do if it looked for violations in visible states only.
    fn forget_intermediate_accesses(&mut self, first: bool) {
        let forgets = self.shape == Shape::VisibleThenInvisible && !first;
        self.movers
            .protection
            .look_away(forgets && !Repair::IntermediateViolations.is_on());
    }
}

/// What is known of a state after its commit, before its steps are taken.
enum Outlook {
    /// All that can be done goes on with the macro-step. The only step that there is was
    /// executed, and is this kind of mover.
    One(Mover),
    /// There are several steps, all of which go on with it.
    Several,
    /// The macro-step ends here.
    End,
}

/// How many states a macro-step of one thread may go through. Beyond that it is ended by force,
/// which is always sound: a thread that counts for ever by itself would never come to a state
/// that is stored, and no limit of the search would see it. So this also bounds what a macro-step
/// remembers.
const MOST_STATES_OF_A_RUN: usize = 4096;

/// How many alternatives of a step are looked at before any of them is taken, to see whether all
/// of them go on with the macro-step. Beyond that it is ended by force too.
const MOST_ALTERNATIVES: u64 = 1024;

/// How many buffers for states are kept from one macro-step to the next.
const MOST_FRAMES_KEPT: usize = 256;

/// How often the visitor is asked whether to stop.
const STEPS_BETWEEN_QUESTIONS: u64 = 256;

impl<S: System> Interior<S> {
    /// Counts all states from now on.
    pub(crate) fn count_visited(&mut self) {
        self.visited.get_or_insert_default();
    }

    /// Whether somebody is told of every step, or all states are counted.
    pub(crate) fn is_watched(&self) -> bool {
        self.watch.is_some() || self.visited.is_some()
    }

    pub(crate) fn begin_round(&mut self) {
        // Steps that moved may not move any more.
        self.goes_on.clear();
        if let Some(watch) = &mut self.watch {
            watch.begin_round();
        }
        if self.visited.is_some() {
            self.visited = Some(Table::default());
        }
    }

    /// Takes note of a state, as visited; `before_commit` is the thread if it has not
    /// committed there. After its commit, a thread is nowhere in particular: the state is the
    /// same as a boundary state.
    fn note_visit(&mut self, effort: &mut Effort, before_commit: Option<Position>) {
        if let Some(visited) = &mut self.visited {
            let mark = before_commit.map_or(0, |thread| thread.0 + 1);
            let mut marked = self.packed.words().to_vec();
            marked.push(mark.into());
            if visited.find(&marked).is_none() {
                visited.insert(&marked);
                effort.visited_states += 1;
            }
        }
    }

    /// Takes note of a boundary state.
    pub(crate) fn note_boundary(&mut self, system: &S, state: &S::State, effort: &mut Effort) {
        if self.visited.is_some() {
            system.encode(state, &mut self.packed);
            self.note_visit(effort, None);
        }
    }

    /// Explores all macro-steps of a thread from a boundary state.
    pub(crate) fn explore(&mut self, system: &mut S, state: &S::State, run: &mut Run<'_, '_, S>) {
        let mut first_step = self.begin(system, state, run);
        if first_step == FirstStep::Done {
            return;
        }
        self.graph.clear();
        self.table.clear();
        self.frames.truncate(MOST_FRAMES_KEPT);
        self.depth = 0;
        system.encode(state, &mut self.packed);
        let root = self.enter_root();
        self.push(root, state);
        let mut steps = 0;
        while self.depth > 0 {
            let frame = &mut self.frames[self.depth - 1];
            let Some(choice) = frame.next.take() else {
                self.pop(system, run);
                continue;
            };
            let node = frame.node;
            if std::mem::replace(&mut first_step, FirstStep::Unknown) == FirstStep::Unknown {
                system.step(&frame.state, run.thread, choice, &mut self.step);
            }
            frame.next = self.step.next_choice;
            // A choice can have billions of alternatives.
            let may_be_long = frame.next.is_some();
            self.take(system, run, node, choice);
            steps += 1;
            let asks = may_be_long || steps % STEPS_BETWEEN_QUESTIONS == 0;
            if asks && self.is_interrupted(run) {
                break;
            }
        }
        if self.graph.nodes.len() >= MOST_STATES_OF_A_RUN {
            run.effort.passed_states += MOST_STATES_OF_A_RUN as u64;
        }
    }

    /// Explores the macro-steps of a thread if there is one at most, of one step: no table and no graph is needed for it. What it
    /// reports and what is learned is the same. If it was not so, nothing was reported.
    fn begin(&mut self, system: &mut S, state: &S::State, run: &mut Run<'_, '_, S>) -> FirstStep {
        if self.is_watched() {
            return FirstStep::Unknown;
        }
        let place = system.place(state, run.thread).0 as usize;
        system.step(state, run.thread, Choice::FIRST, &mut self.step);
        let is_plain = self.step.next_choice.is_none()
            && !matches!(self.step.status, Status::Failed(_))
            && !(self.step.status == Status::Moved && system.is_crowded(&self.step.after));
        // Where a macro-step took several steps before in this round, it hardly ever takes one. Only time depends on it.
        let takes_more = self.goes_on.get(place) == Some(&true);
        if !is_plain || takes_more && self.step.status == Status::Moved {
            return FirstStep::Executed;
        }
        if let Some(order) = run.lock_order.as_deref_mut() {
            order.note(system, state, run.thread, &self.step);
        }
        if self.step.status != Status::Moved {
            self.note_stuck(system, state, run, true);
            return FirstStep::Done;
        }
        run.forget_intermediate_accesses(true);
        let mover = (run.movers).of_step(system, state, run.thread, &self.step);
        if mover == Mover::NON {
            run.movers.note_place(system, Place(place as u32), false);
        }
        let goes_on =
            run.shape.phase_after(true, mover) || begins_anew_to_the_letter(&self.step) || {
                let changed = self.step.changed;
                std::mem::swap(&mut self.canonical, &mut self.step.after);
                let after = std::mem::take(&mut self.canonical);
                let outlook = self.outlook(system, run, &after);
                self.canonical = after;
                if let Outlook::End = outlook {
                    run.start.enabled = true;
                    run.start.ended = true;
                    run.effort.transitions += 1;
                    let renamed = system.canonicalise(&mut self.canonical);
                    let path = [Action {
                        thread: run.thread,
                        choice: Choice::FIRST,
                    }];
                    let changed = renamed.after(changed);
                    (run.visitor).successor(system, &path, &self.canonical, changed);
                }
                !matches!(outlook, Outlook::End)
            };
        if goes_on {
            if self.goes_on.len() <= place {
                self.goes_on.resize(place + 1, false);
            }
            self.goes_on[place] = true;
            // Looking further has executed others.
            return FirstStep::Unknown;
        }
        FirstStep::Done
    }

    /// Explores the macro-steps of all threads from the state that was begun in a batch, if it is known beforehand that each consists of one step, which
    /// is a non-mover and leads to where the next one is another. What they would report is in the batch then, and nothing is learned from them.
    pub(crate) fn explore_plainly(
        &self,
        system: &mut S,
        movers: &Movers,
        properties: PropertySet,
        batch: &mut Batch,
    ) -> Option<Effort> {
        // Who evaluates an invariant in a state learns what it reads there.
        let observes = properties.contains(Property::Invariant) && system.has_invariants();
        if observes || self.is_watched() {
            return None;
        }
        let steps = system.successors(batch, movers.fixed_places().steps())?;
        Some(Effort::of_steps(&steps))
    }

    /// Takes note of the step that was just executed, of a thread that has ended or is blocked. `first` says whether it is the
    /// first of its macro-step.
    fn note_stuck(&self, system: &mut S, before: &S::State, run: &mut Run<'_, '_, S>, first: bool) {
        match self.step.status {
            Status::Blocked { assumption } => {
                run.effort.blocked_steps += u64::from(first);
                run.start.blocked |= first;
                run.start.blocked_without_assumption |= first && !assumption;
                run.start.cut_before_commit |= assumption;
                (run.movers).note_blocked(system, before, run.thread, &self.step);
                if first {
                    let place = system.place(before, run.thread);
                    run.movers.note_place(system, place, true);
                }
            }
            _ => run.effort.ended_steps += u64::from(first),
        }
    }

    fn is_interrupted(&self, run: &mut Run<'_, '_, S>) -> bool {
        let learned = run.movers.protection.held_bytes()
            + (run.lock_order.as_deref()).map_or(0, LockOrder::held_bytes);
        run.visitor.interrupted(self.held_bytes() + learned)
    }

    /// The memory of its buffers and of the states that it counts. (A state in memory has about one
    /// word for each byte of its encoding.)
    pub(crate) fn held_bytes(&self) -> usize {
        let frame = size_of::<Frame<S::State>>() + self.packed.words().len() * 8 * size_of::<u64>();
        self.graph.held_bytes()
            + self.table.held_bytes()
            + self.frames.len() * frame
            + self.visited.as_ref().map_or(0, Table::held_bytes)
    }

    fn enter_root(&mut self) -> NodeId {
        self.packed.push(1);
        self.table.insert(self.packed.words());
        self.graph.add(0, Choice::FIRST, true, true)
    }

    fn push(&mut self, node: NodeId, state: &S::State) {
        if self.depth == self.frames.len() {
            self.frames.push(Frame {
                node,
                state: state.clone(),
                next: None,
            });
        }
        let frame = &mut self.frames[self.depth];
        frame.node = node;
        frame.state.clone_from(state);
        frame.next = Some(Choice::FIRST);
        self.depth += 1;
    }

    /// Goes on with the step that was just executed from the state on top of the stack.
    fn take(&mut self, system: &mut S, run: &mut Run<'_, '_, S>, node: NodeId, choice: Choice) {
        let (mut node, mut choice, mut known_mover) = (node, choice, None);
        // A chain of steps without choices is followed here, each of them executed once.
        loop {
            let phase = self.graph.nodes[node as usize].phase;
            let first = node == 0;
            let before = &self.frames[self.depth - 1].state;
            if let Some(order) = run.lock_order.as_deref_mut() {
                order.note(system, before, run.thread, &self.step);
            }
            match &self.step.status {
                Status::Ended => {
                    self.note_stuck(system, before, run, first);
                    // Before its commit too: an ended thread has nothing to put off.
                    if !first && phase {
                        self.tell_end(system, run.thread, self.depth - 1, false);
                        self.end_at(system, run, node, false);
                    }
                    return;
                }
                Status::Blocked { .. } => {
                    self.note_stuck(system, before, run, first);
                    return;
                }
                Status::Moved | Status::Failed(_) => {}
            }
            run.start.enabled |= first;
            run.forget_intermediate_accesses(first);
            let mover = (known_mover.take())
                .unwrap_or_else(|| run.movers.of_step(system, before, run.thread, &self.step));
            if first && mover == Mover::NON {
                let place = system.place(before, run.thread);
                run.movers.note_place(system, place, false);
            }
            let phase_after =
                run.shape.phase_after(phase, mover) || begins_anew_to_the_letter(&self.step);
            run.effort.transitions += 1;
            if let Some(watch) = &mut self.watch {
                let event = StepEvent {
                    step: &self.step,
                    mover,
                    first,
                    phase_before: phase,
                    phase_after,
                };
                watch.step(system, before, run.thread, event);
            }
            if let Status::Failed(fault) = &self.step.status {
                let path = path_to(&self.graph, run.thread, node, Some(choice));
                let goes_on = run.visitor.fault(system, &path, fault);
                // A thread that fails before its commit has done nothing that others could see.
                let seen = !phase_after && Repair::StuckAfterCommitEndsTransaction.is_on();
                if goes_on && seen {
                    system.canonicalise(&mut self.step.after);
                    run.start.ended = true;
                    (run.visitor).successor(system, &path, &self.step.after, Changed::ALL);
                    self.graph.nodes[node as usize].cpc = true;
                }
                return;
            }
            let Some(successor) = self.arrive(system, run, node, choice, phase_after, mover) else {
                return;
            };
            let after = std::mem::take(&mut self.step.after);
            self.push(successor, &after);
            self.step.after = after;
            if phase_after {
                return;
            }
            let frame = &mut self.frames[self.depth - 1];
            let state = std::mem::take(&mut frame.state);
            let outlook = self.outlook(system, run, &state);
            self.frames[self.depth - 1].state = state;
            match outlook {
                Outlook::End => {
                    self.tell_end(system, run.thread, self.depth - 1, false);
                    self.depth -= 1;
                    self.graph.end(successor);
                    self.end_at(system, run, successor, false);
                    return;
                }
                Outlook::Several => return,
                Outlook::One(next) => {
                    self.frames[self.depth - 1].next = None;
                    (node, choice, known_mover) = (successor, Choice::FIRST, Some(next));
                }
            }
        }
    }

    /// Looks the state up that the step leads to. Returns its node if it is new.
    fn arrive(
        &mut self,
        system: &mut S,
        run: &mut Run<'_, '_, S>,
        node: NodeId,
        choice: Choice,
        phase: bool,
        mover: Mover,
    ) -> Option<NodeId> {
        self.canonical.clone_from(&self.step.after);
        system.canonicalise(&mut self.canonical);
        system.encode(&self.canonical, &mut self.packed);
        self.note_visit(run.effort, phase.then_some(run.thread));
        self.packed.push(phase.into());
        let known = match self.table.find(self.packed.words()) {
            Some(known) => known,
            None => {
                let few = self.graph.nodes.len() < MOST_STATES_OF_A_RUN;
                if few && !system.is_crowded(&self.step.after) {
                    // Nodes and states are numbered alike.
                    self.table.insert(self.packed.words());
                    return Some(self.graph.add(node, choice, phase, mover.right));
                }
                self.end_without_node(system, run, node, choice);
                return None;
            }
        };
        run.start.endless |= self.graph.nodes[known as usize].on_stack;
        if let Some(watch) = &mut self.watch
            && self.graph.nodes[known as usize].xend
        {
            let last = LastStep {
                thread: run.thread,
                before: &self.frames[self.depth - 1].state,
                after: &self.step.after,
                forced: false,
            };
            watch.end(system, last);
        }
        let completion = run.shape.completion();
        if let Some(late) = self.graph.meet(completion, node, known, mover.right) {
            self.end_at(system, run, late, true);
        }
        None
    }

    /// Whether the macro-step ends in a state after its commit: because its thread cannot move there, or by a step that is no left
    /// mover.
    fn outlook(&mut self, system: &mut S, run: &mut Run<'_, '_, S>, state: &S::State) -> Outlook {
        let place = system.place(state, run.thread);
        if run.movers.fixed_places().taken.contains(place) {
            return Outlook::End;
        }
        run.forget_intermediate_accesses(false);
        let (mut enabled, mut blocked, mut alternatives) = (false, false, 0);
        let mut only = Mover::BOTH;
        let mut next = Some(Choice::FIRST);
        while let Some(choice) = next {
            system.step(state, run.thread, choice, &mut self.step);
            next = self.step.next_choice;
            alternatives += 1;
            // A choice can have billions of alternatives, and one of them may fail: it is
            // made from a boundary state, one alternative after another, not here.
            if alternatives > MOST_ALTERNATIVES {
                run.effort.forced_ends += 1;
                return Outlook::End;
            }
            match &self.step.status {
                Status::Ended => {}
                Status::Blocked { .. } => {
                    blocked = true;
                    if let Some(order) = run.lock_order.as_deref_mut() {
                        order.note(system, state, run.thread, &self.step);
                    }
                    run.movers
                        .note_blocked(system, state, run.thread, &self.step);
                }
                Status::Moved | Status::Failed(_) => {
                    enabled = true;
                    only = run.movers.of_step(system, state, run.thread, &self.step);
                    if !only.left && !begins_anew_to_the_letter(&self.step) {
                        return Outlook::End;
                    }
                }
            }
        }
        // What is blocked, others may enable; what has ended, others must see.
        if blocked || !enabled {
            return match Repair::StuckAfterCommitEndsTransaction.is_on() || enabled {
                true => Outlook::End,
                false => Outlook::Several,
            };
        }
        match alternatives {
            1 => Outlook::One(only),
            _ => Outlook::Several,
        }
    }

    fn pop(&mut self, system: &mut S, run: &mut Run<'_, '_, S>) {
        self.depth -= 1;
        let node = self.frames[self.depth].node;
        if self.graph.pop(run.shape.completion(), node) {
            self.tell_end(system, run.thread, self.depth, true);
            self.end_at(system, run, node, true);
        }
    }

    /// Tells who watches about the end of a macro-step in the state of a frame.
    fn tell_end(&mut self, system: &S, thread: Position, frame: usize, forced: bool) {
        if let Some(watch) = &mut self.watch
            && frame > 0
        {
            let last = LastStep {
                thread,
                before: &self.frames[frame - 1].state,
                after: &self.frames[frame].state,
                forced,
            };
            watch.end(system, last);
        }
    }

    /// Ends the macro-step by force in the state that the last step has led to, which has no
    /// node: a choice can have billions of alternatives, and nothing is remembered of them but
    /// the boundary states.
    fn end_without_node(
        &mut self,
        system: &mut S,
        run: &mut Run<'_, '_, S>,
        node: NodeId,
        choice: Choice,
    ) {
        run.effort.forced_ends += 1;
        run.start.ended = true;
        self.graph.nodes[node as usize].cpc = true;
        let path = path_to(&self.graph, run.thread, node, Some(choice));
        (run.visitor).successor(system, &path, &self.canonical, Changed::ALL);
    }

    /// Tells the visitor about a boundary state.
    fn end_at(&mut self, system: &mut S, run: &mut Run<'_, '_, S>, node: NodeId, forced: bool) {
        run.effort.forced_ends += u64::from(forced);
        run.start.ended = true;
        let path = path_to(&self.graph, run.thread, node, None);
        let words = self.table.get(node);
        system.decode(&words[..words.len() - 1], &mut self.canonical);
        (run.visitor).successor(system, &path, &self.canonical, Changed::ALL);
    }
}

/// "An acquire sets the phase to true": so the papers have it, and mean the outermost one.
fn begins_anew_to_the_letter<State>(step: &Step<State>) -> bool {
    let is_acquire = |access: &Access| access.kind == AccessKind::Sync(SyncOp::Acquire);
    !Repair::InnerLocksAreBothMovers.is_on() && step.footprint.iter().any(is_acquire)
}

/// The moves from the root to a node, and one more.
fn path_to(graph: &Graph, thread: Position, node: NodeId, last: Option<Choice>) -> Vec<Action> {
    let mut path: Vec<Action> = last
        .map(|choice| Action { thread, choice })
        .into_iter()
        .collect();
    let mut node = node;
    while node != 0 {
        let at = &graph.nodes[node as usize];
        path.push(Action {
            thread,
            choice: at.choice,
        });
        node = at.pred;
    }
    path.reverse();
    path
}
