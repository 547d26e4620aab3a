//! Loops that wait for other threads.
//!
//! A loop that polls would run for ever in some schedules, and any number of iterations in all others. So a thread says where it polls
//! (`yield_now`, `spin_loop`, `sleep`, a wait that times out, a future that is polled again): it *arrives* at a *site*. What it does from
//! one arrival to the next is an *iteration*: a sequence of operations, each with its location and the value found there.
//!
//! An iteration is *undisturbed* if everything that it found was as the thread had left it. After enough undisturbed iterations the thread is
//! *suspended*: its next operation waits until something changes that it has touched in them.
//!
//! # Why that is sound
//!
//! **Lemma 1.** Let a thread be in the same local state at two arrivals, and let it change nothing in between. Then every execution
//! stays an execution, with the same outcome, if what the thread does between the two is left out: its local state is the same without it,
//! and no other thread observes it.
//!
//! **Lemma 2.** In a sequence of undisturbed iterations a thread runs as if it were alone, so what it does is determined by its history. If
//! its local states begin to repeat after `a` iterations with period `p`, it makes at most `a + p` of them in the executions that are left by
//! Lemma 1: suspending it after `a + p` undisturbed iterations loses no outcome. It has to be woken by every change of a location that it
//! touched in them, since any of these may end the loop.
//!
//! The local state of real code cannot be observed. It is inferred: a [scout](scout) runs the thread alone, for up to `spin_limit`
//! iterations ([fewer](scout) where others have been), and finds the smallest `a + p` after which the operations, locations, values and the thread's [stack](stack) repeat; or that the loop
//! ends by itself, and after how many iterations. One site may be reached in many local states: the function that polls is called for this and for that.
//! Where a thread chooses, it is followed once for each alternative, which it then always takes.
//! What a scout finds holds for one of them, which depends on the thread's causal [past](past) alone; so each suspension with another past sends another scout.
//! The largest number that was found is the *allowance* of the site. It is 0 until a scout says otherwise, and if one does, the
//! exploration begins again. Sites at one place in the source have the highest allowance of them: a higher one only suspends later. A stack that repeats only
//! after more than [`LONGEST_ON_STACK`](scout::LONGEST_ON_STACK) iterations is not compared.
//!
//! What is inferred can be wrong: a loop can count on the heap and act on the count later, or give up after more iterations
//! than a scout makes. So each site at which a thread was suspended is an *assumption* of the verdict ([`Assumed::SuspendedLoop`]), and an
//! exploration that rests on one is not complete. If a scout comes to a choice, more is left out than that: it takes the same alternative again and again, up to the eighth.
//! Then the exploration is not exhausted either ([`Assumed::Scouts`]).
//!
//! Two refinements:
//!
//! - **An iteration of one operation** ([`Site::single`]) that would find the same value again is left out already after the first arrival:
//!   the thread is suspended before it makes the second one. `k` threads that wait for one flag have 2^k executions.
//! - **An iteration that changes something** can be observed, and Lemma 1 does not apply: it begins the sequence anew. A loop that does so again
//!   and again is suspended after [`EFFECTS`] more of them all the same, since without a bound the exploration would not end. Then it is not exhausted ([`Assumed::ChangingLoop`]).
//!   Two such loops may disturb each other for ever, and so may two that change something for a moment, such as a count of references: after [`BUSY`] iterations in which it was disturbed by other loops only, a thread continues as a last resort;
//!   if they change nothing, after [`HARASSED`].
//!
//! # Locks
//!
//! What a lock protects is no location. A lock has a version instead, which giving it back changes if the data behind it may
//! have changed: if a guard was dereferenced at all, since types with interior mutability need no `&mut`. For a thread that polls, the bytes
//! of the data are compared: if they are the same, the version stays, and the lock is marked as left [alike](Left::Alike). (The data may still have
//! changed behind a pointer. If no word of it is as large as an address, it has not; otherwise the mark is [another one](Left::Behind).) Being alike wakes a suspended thread once; otherwise two
//! threads that poll one queue would wake each other for ever. After that they take [turns](turns) when no thread can do anything else.
//!
//! # Why classes are explored once
//!
//! Explorers run one schedule of each class: schedules that become each other by swapping neighbours which are *independent*, since they touch nothing in conflicting
//! ways. That is right only if two neighbours which are independent can be swapped: both stay possible, and the threads announce the same afterwards. So it has to be a function of the class
//! whether a thread is suspended. That takes two things.
//!
//! **How a thread is suspended**, after how many iterations and until which locations differ from which values, is a function of its causal past: of its own steps, and those that they
//! come after. Then no swap of independent steps changes it. What an access finds is such a function for
//!
//! - [`Mode::Read`] and [`Mode::Write`]: they conflict with every change of the location, so all changes before them are in their past, and the value is determined by these;
//! - [`Mode::Shared`]: only for the part of the value that accesses of this mode do not change: the writer and the version of a lock, nothing of a count. The other part
//!   depends on how many accesses of other threads happened to come first, which are not in its past. How much the access adds to it is known.
//!
//! Thus what a thread [expects](watch) there is what it found last by reading or writing, and all that it has added itself since. It is compared when the thread reads or writes. What
//! the thread has changed is the sum of what it has added. What it has only added to in an iteration it has not looked at, and it waits for no change of it. The same holds
//! for what else decides: the digest of an iteration, the [past](past) that asks for a scout, and [who](super::objects::Outside) has changed something.
//!
//! **Whether it is woken** depends on the values of what it watches, which are functions of the class, but others change them. So its next step
//! [looks](super::thread::Thread::look_at_watched) at all of these locations too, and conflicts with all that may wake it or let it sleep on. Where the step itself is of [`Mode::Shared`] and the thread
//! watches the part that such accesses change, the step looks and adds: it is of [`Mode::Write`]. (A loop that clones and then counts waits before the clone, and others that
//! drop their references wake it.)
//!
//! # When nobody else can move
//!
//! If no thread can do anything else, the suspended ones continue, in [turns](turns), as a last resort. If one of them then leaves its loop, and nothing may have changed, its
//! allowance was too small, and the exploration begins again. If nothing changes while each of them has `spin_limit` turns, the execution is a live-lock.

mod alone;
mod iterations;
mod leaving;
mod past;
mod scout;
mod sites;
mod stack;
mod suspension;
mod turns;
mod watch;

use std::cell::Cell;

use raddle_outcome::Kind as Assumed;
use raddle_schedule::{LocationId, Mode, ValuedAccess};

use super::Place;
use super::failure::{Failure, FailureKind, Remark};
use super::graph::Iteration;
use super::objects::{Kind, Objects, Outside};
use super::operation::{Left, Operation, Reason, channel, mx, rw};
use super::state::{Phase, State};
use super::thread::Announced;
use iterations::{Digest, Iterations};
pub(crate) use past::{Past, Pasts};
pub(crate) use sites::Sites;
pub(crate) use stack::{poll_at, scrub};
use turns::OwnTurns;
pub(super) use turns::Turns;
use watch::{Memory, Watch};

/// How often a thread may say that it polls without making an operation in between. Loops that do so for a while only let time pass; after
/// that, one does nothing else.
const MOST_DELAYS: u32 = 1 << 16;

/// How many operations back a loop is recognised by its places.
const LONGEST_LOOP: usize = 256;

/// How many more undisturbed iterations a loop is granted that changes something in them.
const EFFECTS: u32 = 2;

/// How many iterations that change something a thread makes while it is disturbed by others that poll only.
const BUSY: u32 = 4;

/// How many disturbed iterations it makes then, whether they change something or not. Two loops that only look at what locks protect find each other's locks taken
/// now and then, which is nothing to wait for; that they always do so takes a schedule that few explorers come to.
const HARASSED: u32 = 16;

/// What is known of how a thread polls in this execution.
#[derive(Debug, Default)]
pub(crate) struct Polling {
    /// Whether it has arrived at a site. What it does before that is never asked for.
    has_begun: bool,
    iterations: Iterations,
    memory: Memory,
    /// What the local state depended on when the sequence of undisturbed iterations began, or later, when the thread last touched something that it had not touched before,
    /// or chose something new: what it found there, others may have left. It was alone since.
    sequence_past: Past,
    /// Whether its last step has done that.
    finds_new: bool,
    /// The locations that suspended operations wait for a change of.
    watches: Vec<Watch>,
    /// The thread is to be suspended before its next operation.
    suspend: Option<Suspend>,
    /// Whether the thread has arrived at a site and made no operation since.
    has_just_arrived: bool,
    /// How many iterations have changed something since the thread found a change that was not made in a loop.
    busy: u32,
    /// How many iterations were disturbed since then, and how many of them have changed something for a moment only.
    harassed: u32,
    seen: u32,
    /// The times that it has continued as a last resort.
    turns: OwnTurns,
    /// How many operations it had announced when the sequence of undisturbed iterations began.
    sequence_at: usize,
    /// How many operations it had announced at its last arrival, and how often it has arrived there since.
    arrived_at: usize,
    delays: u32,
    /// Which operation was found last to stand at the place of a later one. Others are looked for from there on.
    was_before_at: Cell<usize>,
    /// Whether it was continued as a last resort since it was last disturbed.
    resorted: bool,
    /// Whether it was woken only because a lock was left alike, since it was last disturbed.
    woken_by_alike: bool,
    /// Whether it continues, since it was last disturbed, because something may have changed behind a lock, or as a last resort.
    is_alert: bool,
    /// Whether something may have changed behind a lock since it was last disturbed.
    has_guessed: bool,
    /// How the data was treated that is behind the lock which the thread gives back now.
    behind_lock: Left,
}

/// How a thread is to be suspended.
#[derive(Clone, Copy, Debug)]
enum Suspend {
    /// Until something changes that it has touched since the sequence of undisturbed iterations began.
    Sequence { first: u32 },
    /// If its next operation is the same as the last one: until what that found changes.
    Single(Last),
}

/// That an operation waits until one of the watches, from the first of these to the second, sees a change.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Suspended {
    watches: (u32, u32),
    /// How many steps there were when its thread last continued as a last resort. Who has the least does so next.
    pub(crate) turn: u32,
}

impl Polling {
    pub(super) fn reset(&mut self) {
        if self.has_begun {
            self.iterations.reset();
            self.memory.reset();
            self.watches.clear();
            self.has_begun = false;
        }
        self.finds_new = false;
        self.suspend = None;
        self.has_just_arrived = false;
        self.busy = 0;
        self.harassed = 0;
        self.seen = 0;
        self.turns = OwnTurns::default();
        self.sequence_at = 0;
        self.arrived_at = usize::MAX;
        self.delays = 0;
        self.resorted = false;
        self.woken_by_alike = false;
        self.is_alert = false;
        self.has_guessed = false;
        self.behind_lock = Left::Changed;
    }

    #[inline]
    pub(super) fn has_begun(&self) -> bool {
        self.has_begun
    }

    /// Whether the thread has announced nothing since it last arrived.
    #[inline]
    fn only_delays(&self, announced: &[Announced]) -> bool {
        self.arrived_at == announced.len()
    }

    /// The thread is about to give back a lock, and has left the data behind it like this.
    #[inline]
    pub(crate) fn leaves(&mut self, data: Left) {
        self.behind_lock = data;
    }

    /// Where executions are graphs: the thread gives back a lock, and has changed what is behind it.
    pub(super) fn changes_data(&mut self) {
        if self.has_begun {
            self.memory.note_effect();
        }
    }

    /// Where executions are graphs: how a location was changed, as far as the thread knows.
    pub(super) fn outside(&self, at: LocationId) -> Outside {
        self.memory.outside(at)
    }

    /// What a suspended operation waits for.
    #[inline]
    fn watched(&self, suspended: Option<Suspended>) -> &[Watch] {
        suspended.map_or(&[], |suspended| {
            let (first, end) = suspended.watches;
            &self.watches[first as usize..end as usize]
        })
    }

    /// The thread announces an operation: says how it is suspended before it, if it is, and how it gives back a lock.
    #[inline]
    pub(super) fn announce(
        &mut self,
        announced: &[Announced],
        operation: &mut Operation,
        place: Place,
    ) -> Option<Suspended> {
        let gives_back = match operation {
            Operation::Unlock { left, .. } | Operation::WriteUnlock { left, .. } => {
                *left = match self.behind_lock {
                    // Only of a thread that polls is it known that it does the same again and again.
                    Left::Alike | Left::Behind if !self.polls_at(announced, place) => Left::Changed,
                    left => left,
                };
                true
            }
            Operation::ReadUnlock { .. } => true,
            _ => false,
        };
        if gives_back && self.has_just_arrived {
            // A thread that polls while it holds a lock keeps others from what it waits for: it is suspended after giving it back.
            return None;
        }
        self.has_just_arrived = false;
        match self.suspend.take()? {
            Suspend::Sequence { first } => Some(Suspended {
                watches: (first, number(self.watches.len())),
                turn: self.turns.last,
            }),
            Suspend::Single(last) => {
                let is_same = std::ptr::eq(last.place, place) && last.operation == *operation;
                is_same.then(|| {
                    let first = number(self.watches.len());
                    self.watches.push(last.watch);
                    Suspended {
                        watches: (first, first + 1),
                        turn: self.turns.last,
                    }
                })
            }
        }
    }

    /// Whether the thread has been at a place before its last arrival: it is in a loop around the site.
    #[inline]
    fn polls_at(&self, announced: &[Announced], place: Place) -> bool {
        if !self.has_begun {
            return false;
        }
        let end = self.arrived_at.min(announced.len());
        let mut earlier = end.saturating_sub(LONGEST_LOOP)..end;
        let is_there = |index: &usize| std::ptr::eq(announced[*index].place, place);
        // A loop comes to the same places in the same order.
        let next = self.was_before_at.get() + 1;
        let found = match earlier.contains(&next) && is_there(&next) {
            true => Some(next),
            false => earlier.rfind(is_there),
        };
        if let Some(found) = found {
            self.was_before_at.set(found);
        }
        found.is_some()
    }

    /// What the thread depends on after a step.
    #[inline]
    pub(super) fn depends_on(&mut self, past: Past) {
        if self.finds_new {
            self.sequence_past = past;
        }
    }

    /// Whether the thread has made an operation, at the same place, in the undisturbed iterations before this one.
    fn has_made(&self, next: &Announced, announced: &[Announced]) -> bool {
        let end = self.arrived_at.min(announced.len());
        let mut made = announced[self.sequence_at.min(end)..end].iter();
        made.any(|made| std::ptr::eq(made.place, next.place) && made.operation == next.operation)
    }

    /// Whether an operation is a choice at a place where the thread has not chosen in its sequence of iterations. If it has, the choice belongs to a loop, and a scout comes to
    /// it too. A wait that times out only lets time pass.
    fn chooses_for_the_first_time(&self, announced: &Announced, earlier: &[Announced]) -> bool {
        let reason = match announced.operation {
            Operation::Choose { reason, .. } => reason,
            _ => return false,
        };
        let mut sequence = earlier[self.sequence_at.min(earlier.len())..].iter();
        matches!(reason, Reason::Asked | Reason::WeakFailure)
            && !sequence.any(|one| std::ptr::eq(one.place, announced.place))
    }

    /// Remembers what a step found and left. `earlier` are the operations before it, and `own` are the accesses of the operation, as it makes them itself.
    fn note_step(
        &mut self,
        announced: &Announced,
        earlier: &[Announced],
        made: Found,
        own: &[ValuedAccess],
        objects: &Objects,
    ) {
        // These are only possible because another thread has done something, and not again for the same reason.
        let mut disturbed = match announced.operation {
            Operation::Taken { .. } => true,
            Operation::Receive { .. } => made.result == channel::OK,
            _ => announced.woken_by.is_some(),
        };
        let mut torn = disturbed;
        let mut guesses = false;
        match made.woken {
            None => {}
            Some(Woken::LastResort) => (self.resorted, self.is_alert) = (true, true),
            Some(Woken::ByAlike) => (self.woken_by_alike, self.is_alert) = (true, true),
            Some(Woken::ByChange) => disturbed = true,
        }
        self.finds_new = self.chooses_for_the_first_time(announced, earlier);
        let mut digest = Digest::of(announced, made.choice);
        for access in own {
            digest.touches(objects.kind(access.location), access);
            let waits = announced.operation.waits_for_lock();
            let kind = objects.kind(access.location);
            let outside = objects.changes_outside(access.location);
            self.finds_new |= self.memory.is_new(kind, access);
            let change = self.memory.touch(kind, access, outside, waits);
            self.has_guessed |= change.is_some_and(|change| !change.is_certain);
            // What may have changed behind a lock only counts for a thread that continues although nothing has for certain: see `turns.rs`.
            let is_alert = self.is_alert && !made.is_alone;
            if let Some(change) = change.filter(|change| change.is_certain || is_alert) {
                disturbed |= change.is_certain;
                guesses |= !change.is_certain;
                torn |= change.is_within_iteration;
                if change.is_certain && !change.in_loops {
                    self.busy = 0;
                    self.harassed = 0;
                    self.seen = 0;
                }
            }
            if let Some(Suspend::Sequence { first, .. }) = self.suspend {
                // It gives back a lock before it is suspended.
                self.memory.watch_last(&mut self.watches, first as usize);
            }
        }
        let is_silent =
            |access: &ValuedAccess| access.mode != Mode::Shared && access.before == access.after;
        let is_single = matches!(own, [access] if is_silent(access));
        self.iterations.note(digest, is_single);
        if matches!(announced.operation, Operation::Spawn { .. }) {
            self.memory.note_effect();
        }
        if disturbed || guesses {
            self.iterations.disturb(torn);
            self.resorted = false;
            self.is_alert = false;
        }
        if disturbed {
            self.woken_by_alike = false;
            self.has_guessed = false;
        }
    }
}

/// What a step that polling has to know of takes and finds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Found {
    pub(super) choice: u32,
    pub(super) result: u64,
    /// If its thread was suspended before it: why it no longer is.
    pub(super) woken: Option<Woken>,
    /// Whether a scout runs its thread alone: whatever has changed behind a lock did so before.
    pub(super) is_alone: bool,
}

/// Why a suspended thread continues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Woken {
    /// No thread could do anything else, and nothing has changed.
    LastResort,
    /// The only change is that locks were left alike, which it may have to find as a last resort.
    ByAlike,
    /// Something has changed that it touched.
    ByChange,
}

impl State {
    /// The current thread says that it polls. Returns whether it has done nothing else since it last did: it only lets time pass. A backoff
    /// does so very often.
    pub(super) fn lets_time_pass(&mut self) -> bool {
        let thread = &mut self.threads[self.current.index()];
        let polling = &mut thread.polling;
        let only_delays = polling.only_delays(&thread.announced);
        polling.delays += u32::from(only_delays);
        only_delays && polling.delays <= MOST_DELAYS
    }

    /// The current thread says that it polls, and does not only [let time pass](State::lets_time_pass). Returns whether it needs an operation to do so,
    /// because it does nothing else. `stack` is a fingerprint of its stack, if that is [compared](State::stack_to_compare).
    fn poll(&mut self, place: Place, stack: u64) -> bool {
        let thread = &mut self.threads[self.current.index()];
        let polling = &mut thread.polling;
        if polling.only_delays(&thread.announced) {
            // The operation that comes now does not count as one.
            polling.arrived_at += 1;
            polling.suspend = Some(Suspend::Sequence {
                first: number(polling.watches.len()),
            });
            self.stops_in_graph(Iteration::Empty, None);
            return true;
        }
        polling.arrived_at = thread.announced.len();
        polling.delays = 0;
        if self.sites.follows(self.current) {
            // Memory that an iteration allocates and frees would otherwise be elsewhere each time, and the stack would not repeat.
            self.quarantine.open();
        }
        if self.phase == Phase::Running {
            self.arrive(place, stack);
        }
        false
    }

    /// The current thread arrives at a site after an iteration.
    fn arrive(&mut self, place: Place, stack: u64) {
        let current = self.current;
        self.notice_waiting_while_reading(None, place);
        self.arrives_in_graph();
        let thread = &mut self.threads[current.index()];
        let last = thread.announced.last().map(|last| last.place);
        let number = self.sites.number(current, place, last);
        let polling = &mut thread.polling;
        polling.has_begun = true;
        polling.has_just_arrived = true;
        let was_disturbed = polling.iterations.is_disturbed();
        let has_effect = polling
            .iterations
            .arrive(number, stack, &mut polling.memory);
        polling.busy += u32::from(has_effect);
        polling.seen += u32::from(was_disturbed && !has_effect && polling.memory.was_visible());
        polling.harassed += u32::from(was_disturbed);
        if polling.iterations.have_just_begun() {
            polling.sequence_past = thread.past;
            polling.sequence_at = thread.announced.len();
        }
        if let Some(scout) = &mut self.sites.scout
            && scout.follows(current)
        {
            scout.comes_to(number, polling, self.settings.spin_limit);
            return;
        }
        let busy = BUSY.max(self.sites.busy);
        if has_effect && polling.busy > busy
            || polling.seen > BUSY
            || polling.harassed > HARASSED.max(2 * busy)
        {
            polling.suspend = Some(Suspend::Sequence {
                first: self::number(polling.watches.len()),
            });
            self.assume(Assumed::LoopsDisturbed.at(place));
            self.stops_in_graph(Iteration::Last, Some(Assumed::LoopsDisturbed));
            return;
        }
        let site = self.sites.site(number);
        let effects = polling.iterations.effects();
        let pure = polling.iterations.count(number);
        let count = pure.max(effects.saturating_sub(EFFECTS));
        if effects == 0 && count == 0 {
            if site.single == Some(true)
                && site.allowance == 0
                && let Some(last) = self.last_alone()
            {
                self.assume(Assumed::SuspendedLoop.at(place));
                self.thread_mut(current).polling.suspend = Some(Suspend::Single(last));
                self.stops_in_graph(Iteration::LastOperation, None);
                self.want_scout(number, place, &[last.watch]);
            }
            return;
        }
        if count <= site.allowance {
            return;
        }
        let is_for_effects = pure <= site.allowance;
        let first = polling.watches.len();
        let ignores_alike = polling.woken_by_alike;
        polling.memory.watch(&mut polling.watches, ignores_alike);
        let watches = polling.watches[first..].to_vec();
        polling.suspend = Some(Suspend::Sequence {
            first: self::number(first),
        });
        self.assume(Assumed::SuspendedLoop.at(place));
        if is_for_effects {
            // Others can see each iteration, and it is not found out how many there would be.
            self.assume(Assumed::ChangingLoop.at(place));
        }
        let left_out = is_for_effects.then_some(Assumed::ChangingLoop);
        self.stops_in_graph(Iteration::Last, left_out);
        self.want_scout(number, place, &watches);
    }

    /// The current thread is suspended at a site: a scout is to find out what it would do alone.
    fn want_scout(&mut self, site: usize, place: Place, watches: &[Watch]) {
        let past = self.thread(self.current).polling.sequence_past;
        if self.settings.replayed > 0 || self.sites.is_scouted(site, past) {
            return;
        }
        if self.sites.is_of_scout() {
            // None is sent from there, so it does not matter by which steps one would come.
            self.sites.want(self.current, site, past, Vec::new());
            return;
        }
        if self.sites.sends_no_more(site, self.made.len()) {
            self.assume(Assumed::Scouts.at(place));
            return;
        }
        if self.is_graph() {
            let steps = self.steps_that_lead_to(self.current);
            self.sites.want(self.current, site, past, steps);
            return;
        }
        // Others may have been faster in this schedule, or hold a lock that the thread comes to. An explorer that runs one schedule of each class may have
        // no other.
        let sees = |watch: &Watch| watch.sees(self.objects.value(watch.location));
        let steps = self.steps_without_others(watches).or_else(|| {
            let all = (0..self.made.len()).collect();
            (!watches.iter().any(sees)).then_some(all)
        });
        if let Some(steps) = steps {
            self.sites.want(self.current, site, past, steps);
        }
    }

    /// Up to where the stack of the current thread is to be compared when it arrives, or 0.
    pub(super) fn stack_to_compare(&self) -> usize {
        let scout = self.sites.scout.as_ref();
        let is_followed = scout.is_some_and(|scout| scout.thread == self.current);
        if !is_followed || self.phase != Phase::Running {
            return 0;
        }
        self.thread(self.current).stack_base
    }

    /// The last operation of the current thread, if it touched one location and left it as it was.
    fn last_alone(&self) -> Option<Last> {
        let made = self
            .made
            .last()
            .filter(|made| made.thread == self.current)?;
        match self.accesses_of(self.made.len() - 1) {
            &[access] if access.mode != Mode::Shared && access.before == access.after => {
                Some(Last {
                    place: made.place,
                    operation: made.operation,
                    watch: Watch::of_single(self.objects.kind(access.location), &access),
                })
            }
            _ => None,
        }
    }

    /// The current thread announces its next operation.
    #[inline]
    pub(crate) fn announce(&mut self, operation: Operation, place: Place) {
        self.notice_leaving(&operation, place);
        if operation.may_wait() {
            self.notice_waiting_while_reading(operation.locks(), place);
        }
        self.threads[self.current.index()].announce(operation, place);
        self.forget_versions();
    }

    /// What to say when polling has led to nothing for too long.
    pub(crate) fn live_lock(&self) -> Failure {
        let mut remarks = Vec::new();
        for &id in &self.started {
            let thread = self.thread(id);
            if !thread.ended
                && let Some(site) = thread.polling.iterations.site()
            {
                remarks.push(Remark::new(id, self.sites.site(site).place, "spins here"));
            }
        }
        Failure::new(
            FailureKind::LiveLock,
            "live-lock: the threads that are left spin for ever",
            remarks,
        )
    }
}

/// The operation that a thread made before it arrived, and what it found.
#[derive(Clone, Copy, Debug)]
struct Last {
    place: Place,
    operation: Operation,
    watch: Watch,
}

/// Whether an access changes something, other than that somebody was there for a moment.
#[inline]
fn progresses(kind: Kind, access: &ValuedAccess) -> bool {
    let passing = match kind {
        Kind::Mutex => mx::LOCKED | mx::ALL_ALIKE,
        Kind::RwLock => rw::READERS | rw::WRITER | rw::ALL_ALIKE,
        _ => 0,
    };
    (access.before ^ access.after) & !passing != 0
}

/// The part of a value that says that a lock was left alike.
#[inline]
fn alike(kind: Kind) -> u64 {
    match kind {
        Kind::Mutex => mx::ALL_ALIKE,
        Kind::RwLock => rw::ALL_ALIKE,
        _ => 0,
    }
}

/// The part of it that says that something may have changed behind a pointer.
#[inline]
fn behind(kind: Kind) -> u64 {
    match kind {
        Kind::Mutex => mx::ALL_BEHIND,
        Kind::RwLock => rw::ALL_BEHIND,
        _ => 0,
    }
}

fn number(index: usize) -> u32 {
    u32::try_from(index).expect("too many watched locations")
}
