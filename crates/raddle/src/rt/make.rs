//! Making a step.

use std::sync::atomic::Ordering;

use raddle_schedule::{LocationId, Observed, ThreadId, ValuedAccess};

use super::Place;
use super::effect::{Effect, effect};
use super::nested::Nested;
use super::objects::Kind;
use super::operation::{Operation, channel, count};
use super::polling::Found;
use super::state::{Made, State};
use super::thread::Announced;

impl State {
    /// Makes the next step of a thread, but for the code that comes after it. Returns whether the thread is to run on.
    ///
    /// Explorers ask for steps only that they know to be possible, but they may know it from an earlier execution. If the program
    /// is not determined, it may be wrong; the step is then not made.
    pub(crate) fn make(&mut self, id: ThreadId, choice: u32, step: &mut Observed) -> bool {
        step.clear();
        let next = self
            .threads
            .get(id.index())
            .and_then(|thread| Some((thread, thread.next()?)));
        let Some((thread, announced)) = next else {
            self.deeds.cannot_move(id, None);
            return false;
        };
        let announced = *announced;
        let Announced {
            operation, place, ..
        } = &announced;
        let place = *place;
        let woken = self.woken(thread, &announced);
        let effect = effect(operation, &self.objects, &mut |access| {
            step.accesses.push(access);
        });
        let is_suspended = self.is_suspended(thread, &announced);
        // A scout finds out what it would do if it were not.
        let has_to_wait =
            is_suspended && !self.sites.has_scout() && !self.may_continue(id, &announced);
        if !effect.enabled || thread.asleep || has_to_wait {
            self.deeds.cannot_move(id, Some((*operation, place)));
            return false;
        }
        step.alternatives = effect.alternatives;
        step.last_resort = is_suspended && !self.someone_can_move();
        let choice = if choice < effect.alternatives {
            choice
        } else {
            0
        };
        self.current = id;

        let found = Found {
            choice,
            result: effect.result,
            woken,
            is_alone: self.sites.is_alone(id),
        };
        let is_in_loop = self.note_step(id, &announced, found, step);
        self.is_in_loop = is_in_loop;
        self.own_accesses = step.accesses.len();
        self.thread(id)
            .look_at_watched(&announced, step, &self.objects);
        self.log(id, &announced, found, is_in_loop, step);
        let thread = &mut self.threads[id.index()];
        thread.steps += 1;
        thread.result = effect.result;
        if let Operation::Choose { .. } = *operation {
            thread.result = u64::from(choice);
        }
        self.clocks
            .synchronise(id, operation, effect.result, &step.accesses);
        if self.looks_without_acquiring(operation, effect.result) {
            self.orders(Ordering::Relaxed, place);
        }
        let stores = match *operation {
            Operation::Store { at, .. } | Operation::Update { at, .. } => Some(at),
            Operation::CompareExchange { at, expected, .. } => {
                (effect.result == expected).then_some(at)
            }
            _ => None,
        };
        if let Operation::CompareExchange { expected, .. } = *operation {
            self.compare_addresses(expected, effect.result, place);
        }
        let now = self.time();
        if let Some(at) = stores
            && let Some(earlier) = self.clocks.stored(id, at, (place, now))
        {
            let race = self.race(&earlier, true, place);
            self.fail(race);
        }
        if !self.is_graph()
            && let Some(failure) =
                self.uses_memory(operation, place, &step.accesses[..self.own_accesses])
        {
            self.fail(failure);
            return false;
        }
        let runs_on = self.follow_up(id, operation, place, choice, effect, step);
        self.clocks.tick(id);
        runs_on
    }

    /// Whether an operation of the library has found something that it does not acquire in `std`: a lock that is held, a count of references, that something is not
    /// done yet. A program may learn from that what others have done, as from a relaxed load; so it may have executions that are not sequentially consistent
    /// although all its atomics are.
    #[inline]
    fn looks_without_acquiring(&self, operation: &Operation, found: u64) -> bool {
        match *operation {
            Operation::TryLock { .. }
            | Operation::TryReadLock { .. }
            | Operation::TryWriteLock { .. } => found != 1,
            Operation::Upgrade { .. } => found & count::STRONG == 0,
            Operation::TakeOnly { .. } => found & count::STRONG != 1,
            Operation::Load { at, .. } => self.objects.kind(at) != Kind::Atomic,
            Operation::Send {
                blocking: false, ..
            }
            | Operation::Receive {
                blocking: false, ..
            } => found != channel::OK && found != channel::DISCONNECTED,
            _ => false,
        }
    }

    /// Writes down what a step does, and does it.
    #[inline]
    fn log(
        &mut self,
        id: ThreadId,
        announced: &Announced,
        found: Found,
        is_in_loop: bool,
        step: &Observed,
    ) {
        let thread = &mut self.threads[id.index()];
        self.pasts
            .step(&mut thread.past, found.choice, &step.accesses);
        thread.polling.depends_on(thread.past);
        self.made.push(Made {
            thread: id,
            operation: announced.operation,
            place: announced.place,
            choice: found.choice,
            result: found.result,
            last_resort: step.last_resort,
            first_access: self.accesses.len(),
        });
        for access in &step.accesses {
            self.accesses.push(*access);
            self.note_address(access, announced.place);
            self.objects.set(access.location, access.after);
            // In a graph, who has changed something is not a matter of the order in which it is made.
            if access.before != access.after && !is_in_loop && self.graph.is_none() {
                self.objects.changed_outside(access);
            }
        }
    }

    /// What the step with this number touched.
    #[inline]
    pub(super) fn accesses_of(&self, step: usize) -> &[ValuedAccess] {
        let next = self.made.get(step + 1);
        let end = next.map_or(self.accesses.len(), |next| next.first_access);
        &self.accesses[self.made[step].first_access..end]
    }

    /// What a step does beyond changing values: to locks that are held, to threads that sleep.
    #[inline]
    fn follow_up(
        &mut self,
        id: ThreadId,
        operation: &Operation,
        place: Place,
        choice: u32,
        effect: Effect,
        step: &mut Observed,
    ) -> bool {
        match *operation {
            Operation::Lock { .. }
            | Operation::TryLock { .. }
            | Operation::ReadLock { .. }
            | Operation::TryReadLock { .. }
            | Operation::WriteLock { .. }
            | Operation::TryWriteLock { .. } => {
                if let (1, Some(lock)) = (effect.result, operation.locks()) {
                    let mut held = self.thread(id).held.iter();
                    if let Operation::ReadLock { .. } = operation
                        && let Some(&(_, before)) = held.find(|held| held.0 == lock)
                    {
                        self.nested.push(Nested {
                            lock,
                            before,
                            step: self.made.len() - 1,
                        });
                    }
                    self.thread_mut(id).remember_lock(lock, place);
                }
            }
            Operation::Unlock { mutex: lock, .. }
            | Operation::ReadUnlock { lock }
            | Operation::WriteUnlock { lock, .. } => self.thread_mut(id).forget_lock(lock),
            Operation::Spawn { child } => {
                let number = self.thread(id).steps - 1;
                self.start(child, place, Some((id, number)));
                step.wakes.push(child);
            }
            Operation::End { .. } => self.thread_mut(id).ended = true,
            Operation::Wait { condvar, mutex } => {
                self.thread_mut(id).forget_lock(mutex);
                self.fall_asleep(id, condvar, Operation::Lock { mutex }, place);
                return false;
            }
            Operation::NotifyOne { condvar } => {
                let sleeper = self.sleepers_at(condvar).nth(choice as usize);
                if let Some(sleeper) = sleeper {
                    self.wake(sleeper, id, step);
                }
            }
            Operation::NotifyAll { condvar } => self.wake_all(condvar, id, step),
            Operation::Arrive { barrier, .. } => {
                if effect.result == 0 {
                    self.fall_asleep(id, barrier, Operation::Resume, place);
                    return false;
                }
                self.wake_all(barrier, id, step);
            }
            Operation::Send { channel, .. } => self.objects.make_room_in(channel),
            _ => {}
        }
        true
    }

    fn fall_asleep(&mut self, id: ThreadId, at: LocationId, then: Operation, place: Place) {
        let thread = self.thread_mut(id);
        thread.asleep = true;
        thread.announce(then, place);
        let index = self.sleepers.partition_point(|&(_, other)| other < id);
        self.sleepers.insert(index, (at, id));
    }

    fn sleepers_at(&self, at: LocationId) -> impl Iterator<Item = ThreadId> {
        self.sleepers
            .iter()
            .filter(move |sleeper| sleeper.0 == at)
            .map(|sleeper| sleeper.1)
    }

    /// Where a thread sleeps.
    pub(crate) fn bed_of(&self, id: ThreadId) -> Option<LocationId> {
        self.sleepers
            .iter()
            .find(|sleeper| sleeper.1 == id)
            .map(|sleeper| sleeper.0)
    }

    fn wake_all(&mut self, at: LocationId, by: ThreadId, step: &mut Observed) {
        loop {
            let sleeper = self.sleepers_at(at).next();
            let Some(sleeper) = sleeper else { return };
            if self.objects.kind(at) == Kind::Barrier {
                self.clocks.wake(sleeper, by);
            }
            self.wake(sleeper, by, step);
        }
    }

    fn wake(&mut self, sleeper: ThreadId, by: ThreadId, step: &mut Observed) {
        self.sleepers.retain(|&(_, thread)| thread != sleeper);
        let number = self.thread(by).steps - 1;
        let past = self.thread(by).past;
        let thread = self.thread_mut(sleeper);
        thread.past.comes_after(past);
        thread.asleep = false;
        if let Some(next) = thread.announced.last_mut() {
            next.woken_by = Some((by, number));
        }
        step.wakes.push(sleeper);
    }
}
