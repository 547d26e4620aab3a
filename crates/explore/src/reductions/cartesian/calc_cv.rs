//! `CalcCV`: figure 6 of the paper.

use super::visited::VisitedId;
use super::{Cartesian, CycleTest, Interrupted, Kind, Prefix};
use crate::parts::Changed;
use crate::property::Property;
use crate::reduction::{Effort, Visitor};
use crate::repair::Repair;
use crate::system::{AccessKind, Action, Choice, Footprint, Position, Status, SyncOp, System};

/// A prefix with that many transitions is not extended any more. Nothing is lost: it ends there
/// like any other. So the expansion of a state ends, even if the program has infinitely
/// many states. Those of the prefix count for the limit on states then: without that, as many expansions as it allows would take this many
/// transitions each.
const MOST_TRANSITIONS: usize = 100_000;

/// How many transitions pass between two questions whether to go on.
const BETWEEN_QUESTIONS: usize = 256;

/// What everybody needs during the expansion of one state.
pub(super) struct Expansion<'e, S: System> {
    pub(super) system: &'e mut S,
    /// The state that is expanded.
    pub(super) s: &'e S::State,
    pub(super) visitor: &'e mut dyn Visitor<S>,
    pub(super) effort: Effort,
}

/// Why a thread cannot move. Its transition leads back to the same state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SelfLoop {
    Blocked,
    Ended,
}

impl<S: System> Cartesian<S> {
    /// Computes `CV`, a cartesian vector from the state, and reports the faults on its prefixes,
    /// and where first transitions with a choice lead.
    pub(super) fn calc_cv(&mut self, at: &mut Expansion<'_, S>) -> Result<(), Interrupted> {
        self.touches.clear();
        self.visited.clear();
        self.expanded = None;
        self.dependent.clear();
        self.threads = at.system.thread_count(at.s);
        for i in 0..self.threads {
            self.begin_prefix(i);
            self.add_first(at, i)?;
        }
        self.prefixes = self.threads;
        self.add_observer(at);

        let mut extendable = std::mem::take(&mut self.extendable);
        extendable.clear();
        extendable.extend((0..self.prefixes).filter(|&i| self.cv[i].extendable));
        let mut transitions = 0;
        let mut goes_on = Ok(());
        while !extendable.is_empty() && goes_on.is_ok() {
            // Round robin, as the authors did.
            for &i in &extendable {
                if self.cv[i].extendable {
                    self.extend(at, i);
                    transitions += 1;
                }
            }
            extendable.retain(|&i| self.cv[i].extendable);
            if transitions >= BETWEEN_QUESTIONS {
                transitions = 0;
                if at.visitor.interrupted(self.tables_bytes()) {
                    goes_on = Err(Interrupted);
                }
            }
        }
        self.extendable = extendable;
        goes_on
    }

    fn begin_prefix(&mut self, i: usize) {
        if i == self.cv.len() {
            self.cv.push(Prefix::default());
        }
        let prefix = &mut self.cv[i];
        prefix.kind = Kind::Finite;
        prefix.extendable = true;
        prefix.self_loop = None;
        prefix.abandoned = false;
        prefix.transitions = 0;
        prefix.moves = 0;
        prefix.changed = Changed::NONE;
        prefix.visited = None;
        prefix.last_tran.clear();
    }

    /// Adds the first transition of thread `i`: its part of the minimal vector.
    fn add_first(&mut self, at: &mut Expansion<'_, S>, i: usize) -> Result<(), Interrupted> {
        let thread = Position(i as u32);
        (at.system).step(at.s, thread, Choice::FIRST, &mut self.step);
        if self.step.next_choice.is_some() {
            self.add_choice(at, i)?;
        } else {
            let Some(self_loop) = self.next_self_loop() else {
                self.end_without_transition(i);
                return Ok(());
            };
            count(&self.step.status, &mut at.effort);
            self.stop_dependent(i);
            self.add(at, i, self_loop);
        }
        Ok(())
    }

    /// A first transition with alternatives: a prefix of one transition for each of them, which
    /// ends there. Together they touch what any of them touches, blocked ones included.
    fn add_choice(&mut self, at: &mut Expansion<'_, S>, i: usize) -> Result<(), Interrupted> {
        let thread = Position(i as u32);
        let held_bytes = self.tables_bytes();
        let step = &mut self.step;
        let mut union = std::mem::take(&mut self.cv[i].last_tran);
        let mut enabled = false;
        let mut choice = Choice::FIRST;
        loop {
            count(&step.status, &mut at.effort);
            if !matches!(step.status, Status::Blocked { .. })
                || Repair::BlockedReadsItsGuard.is_on()
            {
                for access in &step.footprint {
                    if !union.contains(access) {
                        union.push(*access);
                    }
                }
            }
            let path = [Action { thread, choice }];
            let goes_on = match &step.status {
                Status::Moved => true,
                Status::Failed(fault) => at.visitor.fault(at.system, &path, fault),
                Status::Blocked { .. } | Status::Ended => false,
            };
            enabled |= matches!(step.status, Status::Moved | Status::Failed(_));
            if goes_on {
                let renamed = at.system.canonicalise(&mut step.after);
                let changed = renamed.after(step.changed);
                at.visitor.successor(at.system, &path, &step.after, changed);
            }
            let Some(next) = step.next_choice else {
                break;
            };
            // A choice can have billions of alternatives.
            if at.visitor.interrupted(held_bytes) {
                return Err(Interrupted);
            }
            choice = next;
            at.system.step(at.s, thread, choice, step);
        }
        std::mem::swap(&mut step.footprint, &mut union);
        self.cv[i].last_tran = union;
        self.stop_dependent(i);
        let prefix = &mut self.cv[i];
        if enabled {
            prefix.kind = Kind::Choice;
            prefix.extendable = false;
        } else {
            prefix.self_loop = Some(SelfLoop::Blocked);
        }
        self.become_last(i);
        Ok(())
    }

    /// The observer of the invariants: one more thread, blocked for ever, that reads what they
    /// read.
    fn add_observer(&mut self, at: &mut Expansion<'_, S>) {
        if !at.visitor.properties().contains(Property::Invariant)
            || !Repair::InvariantObserver.is_on()
        {
            return;
        }
        let reads = &mut self.step.footprint;
        reads.clear();
        at.system.broken_invariant(at.s, reads);
        if reads.is_empty() {
            return;
        }
        let observer = self.threads;
        self.begin_prefix(observer);
        self.cv[observer].self_loop = Some(SelfLoop::Blocked);
        self.stop_dependent(observer);
        self.become_last(observer);
        self.prefixes = observer + 1;
    }

    /// Tries to add the next transition of prefix `i`.
    fn extend(&mut self, at: &mut Expansion<'_, S>, i: usize) {
        self.next_trans(at.system, i);
        let step = &self.step;
        if (step.next_choice.is_some() && Repair::ChoiceEndsPrefix.is_on())
            || at.system.is_crowded(&self.cv[i].last)
        {
            self.cv[i].extendable = false;
            return;
        }
        if self.cv[i].transitions >= MOST_TRANSITIONS {
            self.cv[i].extendable = false;
            at.effort.forced_ends += 1;
            at.effort.passed_states += MOST_TRANSITIONS as u64;
            return;
        }
        let Some(self_loop) = self.next_self_loop() else {
            self.end_without_transition(i);
            return;
        };
        let step = &self.step;
        let observes = i >= self.threads;
        if self.touches.depends_on_inner(i, &step.footprint) {
            self.cv[i].extendable = false;
            if !observes && !is_lock_operation(&step.footprint) {
                count(&step.status, &mut at.effort);
            }
            return;
        }
        if !observes {
            count(&step.status, &mut at.effort);
        }
        (self.touches).last_becomes_inner(i, &self.cv[i].last_tran);
        self.stop_dependent(i);
        let infinite = self.cv[i].extendable && self.comes_back(at, i, self_loop);
        self.add(at, i, self_loop);
        if infinite {
            let prefix = &mut self.cv[i];
            prefix.kind = Kind::Infinite;
            prefix.extendable = false;
        }
    }

    /// `NextTrans` and `NextState`: executes the next transition of prefix `i`.
    fn next_trans(&mut self, system: &mut S, i: usize) {
        let prefix = &self.cv[i];
        let step = &mut self.step;
        let Some(self_loop) = prefix.self_loop else {
            let thread = Position(i as u32);
            system.step(&prefix.last, thread, Choice::FIRST, step);
            return;
        };
        step.footprint.clone_from(&prefix.last_tran);
        step.next_choice = None;
        step.status = match self_loop {
            SelfLoop::Blocked => Status::Blocked { assumption: false },
            SelfLoop::Ended => Status::Ended,
        };
    }

    /// Whether the step is a transition from a state to itself. Nothing if it is no transition
    /// at all, which is so only without a repair.
    fn next_self_loop(&mut self) -> Option<Option<SelfLoop>> {
        let step = &mut self.step;
        Some(match step.status {
            Status::Moved | Status::Failed(_) => None,
            Status::Blocked { .. } => {
                if !Repair::BlockedReadsItsGuard.is_on() {
                    step.footprint.clear();
                }
                Some(SelfLoop::Blocked)
            }
            Status::Ended if Repair::TerminationIsATransition.is_on() => Some(SelfLoop::Ended),
            Status::Ended => return None,
        })
    }

    /// Thread `i` has ended, and its last real step stays the last of its prefix: what becomes of
    /// it if its end is no transition.
    fn end_without_transition(&mut self, i: usize) {
        let prefix = &mut self.cv[i];
        prefix.kind = Kind::Infinite;
        prefix.self_loop = Some(SelfLoop::Ended);
        prefix.extendable = false;
    }

    /// Stops prefix `i` and those whose last transition depends on the step that is to become
    /// the last one of `i`.
    fn stop_dependent(&mut self, i: usize) {
        let Self {
            cv, step, others, ..
        } = self;
        self.touches.depends_on_last(i, &step.footprint, others);
        for &j in &*others {
            self.dependent.push((j, i));
            cv[i].extendable = false;
            if Repair::BothStopOnConflict.is_on() {
                cv[j].extendable = false;
            }
        }
    }

    /// Whether prefix `i` is infinite if the step is added.
    fn comes_back(
        &mut self,
        at: &mut Expansion<'_, S>,
        i: usize,
        self_loop: Option<SelfLoop>,
    ) -> bool {
        let from = self.cv[i].visited.unwrap_or_else(|| {
            // All states so far: the expanded one, and the one after the first transition.
            let first = self.visit_expanded(at, i);
            if self.cv[i].moves == 0 {
                return first;
            }
            self.canonical.clone_from(&self.cv[i].last);
            self.visit(at.system, i).0
        });
        let (to, new) = if self_loop.is_some() {
            (from, false)
        } else {
            self.canonical.clone_from(&self.step.after);
            self.visit(at.system, i)
        };
        self.cv[i].visited = Some(to);
        let comes_back = match self.cycle_test {
            CycleTest::ToTheLetter => !new,
            CycleTest::AsPublished => self.visited.extended(to),
        };
        self.visited.extend_from(from);
        comes_back
    }

    /// Adds the expanded state to those that prefix `i` has been in. It is encoded only once.
    fn visit_expanded(&mut self, at: &mut Expansion<'_, S>, i: usize) -> VisitedId {
        if let Some(expanded) = self.expanded
            && Repair::CycleTestComparesWholeStates.is_on()
        {
            return self.visited.add_first(i, expanded);
        }
        self.canonical.clone_from(at.s);
        let (expanded, _) = self.visit(at.system, i);
        self.expanded = Some(expanded);
        expanded
    }

    /// Adds the state in `canonical` to those that prefix `i` has been in, and says whether it
    /// was new.
    fn visit(&mut self, system: &mut S, i: usize) -> (VisitedId, bool) {
        let state = &mut self.canonical;
        if !Repair::CycleTestComparesWholeStates.is_on() {
            let thread = (i < self.threads).then_some(Position(i as u32));
            let place = thread.map_or(0, |thread| system.place(state, thread).0);
            return self.visited.add(i, &[place.into()]);
        }
        system.canonicalise(state);
        system.encode(state, &mut self.packed);
        self.visited.add(i, self.packed.words())
    }

    /// Adds the step to prefix `i`.
    fn add(&mut self, at: &mut Expansion<'_, S>, i: usize, self_loop: Option<SelfLoop>) {
        let thread = Position(i as u32);
        let prefix = &mut self.cv[i];
        prefix.transitions += 1;
        prefix.self_loop = self_loop;
        if self_loop.is_none() {
            let before = if prefix.moves == 0 {
                at.s
            } else {
                &prefix.last
            };
            let spawns = at.system.thread_count(&self.step.after) > at.system.thread_count(before);
            if spawns && Repair::SpawnEndsPrefix.is_on() {
                prefix.extendable = false;
            }
            std::mem::swap(&mut prefix.last, &mut self.step.after);
            prefix.changed = prefix.changed.with(self.step.changed);
            prefix.moves += 1;
            let moves = prefix.moves;
            if let Status::Failed(fault) = &self.step.status {
                self.path.clear();
                self.path.extend(steps_of(thread, moves));
                prefix.abandoned = !at.visitor.fault(at.system, &self.path, fault);
            }
        }
        self.become_last(i);
    }

    /// Makes the footprint of the step that of the last transition of prefix `i`.
    fn become_last(&mut self, i: usize) {
        let Self {
            cv, step, touches, ..
        } = self;
        std::mem::swap(&mut cv[i].last_tran, &mut step.footprint);
        touches.add_last(i, &cv[i].last_tran);
    }
}

/// The path of a prefix: no choice is ever made on it.
pub(super) fn steps_of(thread: Position, moves: usize) -> impl Iterator<Item = Action> {
    let step = Action {
        thread,
        choice: Choice::FIRST,
    };
    std::iter::repeat_n(step, moves)
}

fn count(status: &Status, effort: &mut Effort) {
    *match status {
        Status::Moved | Status::Failed(_) => &mut effort.transitions,
        Status::Blocked { .. } => &mut effort.blocked_steps,
        Status::Ended => &mut effort.ended_steps,
    } += 1;
}

/// Whether a transition is an operation on a lock. The authors do not count one that is executed
/// and not added.
fn is_lock_operation(transition: &Footprint) -> bool {
    let locks = |kind| {
        use SyncOp::{Acquire, AcquireShared, Release, ReleaseShared};
        matches!(
            kind,
            AccessKind::Sync(Acquire | Release | AcquireShared | ReleaseShared)
        )
    };
    transition.iter().any(|access| locks(access.kind))
}
