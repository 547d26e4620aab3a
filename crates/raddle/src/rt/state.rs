//! [`State`]: an execution under way.

use std::rc::Rc;
use std::sync::atomic::Ordering;

use raddle_memory::Model;
use raddle_outcome::Kind as Assumed;
use raddle_schedule::{LocationId, Observed, ThreadId, ValuedAccess};

use super::account::Account;
use super::barriers::Barriers;
use super::blocks::Blocks;
use super::clocks::{self, Clocks, Need};
use super::counts::Counts;
use super::deeds::Deeds;
use super::effect::{Values, enabled};
use super::failure::Failure;
use super::graph::InGraph;
use super::nested::Nested;
use super::objects::{Channel, Id, Kind, Known, Objects};
use super::operation::Operation;
use super::panics::Panic;
use super::polling::{Pasts, Sites, Turns};
use super::quarantine::{Earlier, Quarantine};
use super::statics::{self, Copies};
use super::thread::{Announced, Body, Names, Thread};
use super::unordered::Fence;
use super::views::Views;
use super::{Place, here};

/// As many steps as a small program makes: there is room for so many from the beginning.
pub(super) const MANY: usize = 64;

/// What an execution is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    Running,
    /// It is over: what statics own is dropped, and nothing that destructors do matters.
    Teardown,
}

/// A step that was made.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Made {
    pub(crate) thread: ThreadId,
    pub(crate) operation: Operation,
    pub(crate) place: Place,
    pub(crate) choice: u32,
    pub(crate) result: u64,
    /// Whether it was only possible because no thread could make another one.
    pub(crate) last_resort: bool,
    /// Where its accesses begin.
    pub(crate) first_access: usize,
}

/// An execution, and what its runtime knows from earlier ones.
pub(crate) struct State {
    pub(crate) phase: Phase,
    /// No other execution in this process has the same.
    pub(crate) generation: u64,
    pub(crate) current: ThreadId,
    pub(crate) objects: Objects,
    pub(super) threads: Vec<Thread>,
    pub(crate) started: Vec<ThreadId>,
    /// Who sleeps where, by thread.
    pub(super) sleepers: Vec<(LocationId, ThreadId)>,
    pub(crate) made: Vec<Made>,
    /// Fences that are no steps.
    pub(super) fences: Vec<Fence>,
    pub(super) nested: Vec<Nested>,
    pub(crate) accesses: Vec<ValuedAccess>,
    pub(crate) panics: Vec<Panic>,
    pub(crate) failure: Option<Failure>,
    /// All failures, each with the number of steps before it. There are several only if the execution goes on after the first.
    pub(crate) failures: Vec<(Failure, usize)>,
    /// Whether it cannot be gone on with, because it cannot be: something takes for ever that was not to take too
    /// long.
    pub(crate) impossible: bool,
    /// What came of steps that were a last resort.
    pub(super) turns: Turns,
    pub(crate) copies: Copies,
    pub(crate) clocks: Clocks,
    pub(crate) counts: Counts,
    pub(crate) views: Views,
    pub(super) barriers: Barriers,
    /// What it has if it is run from a graph.
    pub(crate) graph: Option<Box<InGraph>>,
    /// Whether the last step was made in a loop in which its thread polls.
    pub(super) is_in_loop: bool,
    /// How many of its accesses are those of its operation: the others look at what its thread has waited for, which may have been freed.
    pub(super) own_accesses: usize,
    pub(crate) sites: Sites,
    pub(super) pasts: Pasts,
    /// What the code under test has freed in this execution.
    pub(super) quarantine: Rc<Quarantine>,
    pub(super) earlier: Earlier,
    pub(super) blocks: Blocks,

    pub(super) deeds: Deeds,
    /// Memory for steps that are made again.
    pub(super) made_again: Observed,
    pub(super) names: Names,
    /// Where the check stands.
    pub(crate) origin: Place,
    pub(crate) settings: Settings,
    pub(super) account: Account,
    /// Whether something was learned that should have been known from the beginning.
    pub(crate) learned: bool,
}

/// What can be set about executions.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    pub(crate) max_steps: usize,
    pub(crate) spin_limit: u32,
    pub(crate) timeouts: bool,
    pub(crate) spurious_wakeups: u32,
    pub(crate) weak_failures: bool,
    pub(crate) leaks: bool,
    /// Whether memory errors are found.
    pub(crate) memory_errors: bool,
    /// Whether the other threads go on after a failure.
    pub(crate) keep_going: bool,
    /// How many steps are given by a schedule.
    pub(crate) replayed: usize,
}

/// An object was used where it cannot be.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Misuse {
    /// It belongs to another execution.
    Stale(Kind),
}

impl Misuse {
    pub(crate) fn panic(self) -> ! {
        match self {
            Self::Stale(kind) => panic!("{}", statics::stale(kind.word(), statics::are_known())),
        }
    }
}

impl Values for Objects {
    #[inline]
    fn value(&self, at: LocationId) -> u64 {
        self.value(at)
    }

    #[inline]
    fn channel(&self, number: u32) -> &Channel {
        &self.channels[number as usize]
    }

    #[inline]
    fn group(&self, number: u32) -> &[LocationId] {
        &self.groups[number as usize]
    }
}

impl State {
    pub(crate) fn new(settings: Settings) -> Self {
        Self {
            phase: Phase::Teardown,
            generation: 0,
            current: ThreadId::MAIN,
            objects: Objects::default(),
            threads: Vec::new(),
            started: Vec::new(),
            sleepers: Vec::new(),
            fences: Vec::new(),
            made: Vec::with_capacity(MANY),
            nested: Vec::new(),
            accesses: Vec::with_capacity(MANY),
            panics: Vec::new(),
            failure: None,
            failures: Vec::new(),
            impossible: false,
            turns: Turns::default(),
            copies: Copies::default(),
            clocks: Clocks::default(),
            counts: Counts::default(),
            views: Views::default(),
            barriers: Barriers::default(),
            graph: None,
            is_in_loop: false,
            own_accesses: 0,
            sites: Sites::default(),
            pasts: Pasts::default(),
            quarantine: Rc::default(),
            earlier: Earlier::default(),
            blocks: Blocks::default(),
            deeds: Deeds::new(MANY),
            made_again: Observed::default(),
            names: Names::default(),
            origin: here(),
            settings,
            account: Account::default(),
            learned: false,
        }
    }

    /// Begins an execution: the main thread is about to begin.
    pub(crate) fn begin(&mut self, generation: u64) {
        self.phase = Phase::Running;
        self.generation = generation;
        self.current = ThreadId::MAIN;
        self.objects.clear();
        for index in 0..self.started.len() {
            let thread = self.started[index];
            self.threads[thread.index()].reset();
        }
        self.started.clear();
        self.sleepers.clear();
        self.made.clear();
        self.fences.clear();
        self.nested.clear();
        self.accesses.clear();
        self.panics.clear();
        self.failure = None;
        self.failures.clear();
        self.impossible = false;
        self.turns = Turns::default();
        let watches_memory = self.settings.memory_errors;
        self.quarantine.is_watched.set(watches_memory);
        self.blocks.begin(watches_memory);
        self.clocks.begin(self.graph.is_none(), watches_memory);
        self.counts.begin();
        self.views = Views::default();
        self.barriers.begin();
        self.sites.begin();
        self.pasts.begin();
        self.earlier.begin();
        self.prepare(ThreadId::MAIN);
        self.start(ThreadId::MAIN, self.origin, None);
    }

    #[inline]
    pub(crate) fn thread(&self, id: ThreadId) -> &Thread {
        &self.threads[id.index()]
    }

    #[inline]
    pub(crate) fn thread_mut(&mut self, id: ThreadId) -> &mut Thread {
        &mut self.threads[id.index()]
    }

    /// Makes a thread that is not started yet.
    fn prepare(&mut self, id: ThreadId) {
        if self.threads.len() <= id.index() {
            self.threads.resize_with(id.index() + 1, Thread::default);
        }
        let end = self.objects.add(Kind::End, 0);
        let thread = &mut self.threads[id.index()];
        thread.reset();
        thread.announced.reserve(MANY / 4);
        thread.end = Some(end);
    }

    /// Gives the current thread's next child its id.
    pub(crate) fn new_child(&mut self) -> ThreadId {
        let parent = self.current;
        let thread = self.thread_mut(parent);
        let child = thread.children;
        thread.children += 1;
        let id = self.names.of_child(parent, child);
        self.prepare(id);
        id
    }

    pub(super) fn start(&mut self, id: ThreadId, place: Place, by: Option<(ThreadId, u32)>) {
        self.started.push(id);
        self.clocks.start(id, by.map(|by| by.0));
        if let Some((parent, _)) = by {
            let past = self.thread(parent).past;
            self.thread_mut(id).past.comes_after(past);
        }
        let thread = self.thread_mut(id);
        thread.started = true;
        thread.announce(Operation::Begin, place);
        if let Some(announced) = thread.announced.last_mut() {
            announced.woken_by = by;
        }
    }

    /// What the threads would have run that never did.
    pub(crate) fn take_bodies(&mut self) -> Vec<Body> {
        self.threads
            .iter_mut()
            .filter_map(|thread| thread.body.take())
            .collect()
    }

    /// The location of an object, which is a new one if it has none yet.
    #[inline]
    pub(crate) fn locate(
        &mut self,
        id: &Id,
        kind: Kind,
        value: impl FnOnce() -> u64,
    ) -> Result<LocationId, Misuse> {
        let address = std::ptr::from_ref(id).addr();
        self.locate_at(id, kind, address, value)
    }

    /// The same for an object that stands for what is at this address.
    #[inline]
    pub(crate) fn locate_at(
        &mut self,
        id: &Id,
        kind: Kind,
        address: usize,
        value: impl FnOnce() -> u64,
    ) -> Result<LocationId, Misuse> {
        match id.number(self.generation) {
            Known::Number(number) => {
                self.is_at(LocationId(number), kind, address);
                Ok(LocationId(number))
            }
            Known::New => {
                let location = self.objects.add(kind, value());
                self.is_at(location, kind, address);
                let ours = id.set(self.generation, location.0);
                ours.then_some(location).ok_or(Misuse::Stale(kind))
            }
            // An object that outlives its execution may still be dropped.
            Known::Stale if self.phase != Phase::Running => Ok(self.objects.add(kind, value())),
            Known::Stale => {
                self.finds_remains(kind, address);
                Err(Misuse::Stale(kind))
            }
        }
    }

    /// The number of a channel, which is a new one if it has none yet.
    pub(crate) fn locate_channel(&mut self, id: &Id, capacity: Option<u32>) -> Result<u32, Misuse> {
        match id.number(self.generation) {
            Known::Number(number) => Ok(number),
            Known::New => {
                let number = self.objects.add_channel(capacity);
                let ours = id.set(self.generation, number);
                ours.then_some(number).ok_or(Misuse::Stale(Kind::Channel))
            }
            Known::Stale if self.phase != Phase::Running => Ok(self.objects.add_channel(capacity)),
            Known::Stale => Err(Misuse::Stale(Kind::Channel)),
        }
    }

    /// A cell is accessed. Returns the race that this is.
    #[inline]
    pub(crate) fn touch_cell(
        &mut self,
        id: &Id,
        kind: clocks::Kind,
        place: Place,
    ) -> Result<Option<Failure>, Misuse> {
        if !kind.has_ended {
            // One that has may have been over before the cell was freed.
            if let Some(failure) = self.uses_cell(id, kind.writes, place) {
                return Ok(Some(failure));
            }
        }
        if self.is_graph() {
            return self.touch_cell_in_graph(id, kind, place);
        }
        match self.clocks.need() {
            Need::Known => {}
            Need::Learned => {
                self.learned = true;
                return Ok(None);
            }
            Need::Late => return Ok(None),
        }
        let cell = match id.number(self.generation) {
            Known::Number(number) => number,
            Known::New => {
                let number = self.clocks.add_cell();
                if !id.set(self.generation, number) {
                    return Err(Misuse::Stale(Kind::Cell));
                }
                number
            }
            Known::Stale => return Err(Misuse::Stale(Kind::Cell)),
        };
        let when = (place, self.time());
        let racing = self.clocks.touch(cell, self.current, kind, when);
        Ok(racing.map(|earlier| self.race(&earlier, kind.writes, place)))
    }

    /// An atomic was read by a plain load. Returns the race that this is.
    pub(crate) fn plain_load(&mut self, id: &Id, place: Place) -> Option<Failure> {
        if self.is_graph() {
            return self.plain_load_in_graph(id, place);
        }
        match (self.clocks.need(), id.number(self.generation)) {
            (Need::Known, Known::Number(number)) => {
                let (at, when) = (LocationId(number), (place, self.time()));
                let earlier = self.clocks.plain_load(self.current, at, when);
                earlier.map(|earlier| self.race(&earlier, false, place))
            }
            (Need::Learned, _) => {
                self.learned = true;
                None
            }
            _ => None,
        }
    }

    /// An atomic is used with this ordering.
    #[inline]
    pub(crate) fn orders(&mut self, order: Ordering, place: Place) {
        let as_asked = || {
            self.graph
                .as_ref()
                .is_some_and(|graph| graph.model != Model::Sc)
        };
        if order != Ordering::SeqCst && !as_asked() {
            self.assume(Assumed::WeakOrdering.at(place));
        }
    }

    /// An atomic is read with this ordering.
    #[inline]
    pub(crate) fn reads(&mut self, order: Ordering, place: Place) {
        let acquires = matches!(
            order,
            Ordering::Acquire | Ordering::AcqRel | Ordering::SeqCst
        );
        if !acquires && self.is_graph() {
            self.assume(Assumed::LoadBuffering.at(place));
        }
    }

    /// The number of the message that was sent last.
    pub(crate) fn last_message(&self, channel: u32) -> u32 {
        let sent = self
            .objects
            .value(self.objects.channels[channel as usize].tail);
        u32::try_from(sent.saturating_sub(1)).expect("too many messages")
    }

    /// The current thread drops the messages of a channel that nobody will receive: that comes after they were sent.
    pub(crate) fn finds_messages(&mut self, channel: u32) {
        let current = self.current;
        for &message in &self.objects.channels[channel as usize].messages {
            self.clocks.take(current, message);
        }
    }

    /// The value of an object now, if it was used.
    pub(crate) fn peek(&self, id: &Id) -> Option<u64> {
        match id.number(self.generation) {
            Known::Number(number) => Some(self.objects.value(LocationId(number))),
            Known::New | Known::Stale => None,
        }
    }

    /// The end of a thread.
    pub(crate) fn end_of(&self, id: ThreadId) -> LocationId {
        self.thread(id)
            .end
            .expect("a thread has its end from its beginning")
    }

    /// The token for parking of a thread.
    pub(crate) fn token_of(&mut self, id: ThreadId) -> LocationId {
        match self.thread(id).token {
            Some(token) => token,
            None => {
                let token = self.objects.add(Kind::Token, 0);
                self.thread_mut(id).token = Some(token);
                token
            }
        }
    }

    /// Where executions are graphs: the current thread is about to wait on a condition variable. Returns its bit among those who do.
    pub(crate) fn enlists(&mut self, place: Place) -> u64 {
        let current = self.current;
        let notification = self.objects.add(Kind::Notification, 0);
        self.thread_mut(current).notification = Some(notification);
        1u64.checked_shl(current.0).unwrap_or_else(|| {
            self.refuse_in_graph(
                place,
                "a condition variable in a program with more than 64 threads",
            );
            0
        })
    }

    /// What a thread waits for that waits on a condition variable.
    pub(crate) fn notification_of(&self, id: ThreadId) -> LocationId {
        let notification = self.thread(id).notification;
        notification.expect("a thread that waits has said so")
    }

    /// Whether the next operation of a thread is possible, spinning aside.
    #[inline]
    fn ready(&self, thread: &Thread, next: &Announced) -> bool {
        !thread.asleep && enabled(&next.operation, &self.objects)
    }

    /// Whether a thread is suspended.
    #[inline]
    pub(super) fn is_suspended(&self, thread: &Thread, next: &Announced) -> bool {
        thread.suspended(next, &self.objects).is_some()
    }

    /// Whether a thread can make its next step.
    #[inline]
    pub(crate) fn can_move(&self, id: ThreadId) -> bool {
        let thread = self.thread(id);
        thread.next().is_some_and(|next| {
            self.ready(thread, next)
                && (!self.is_suspended(thread, next) || self.may_continue(id, next))
        })
    }

    /// Whether a thread that is suspended before its next step may make it all the same.
    #[inline]
    pub(super) fn may_continue(&self, id: ThreadId, next: &Announced) -> bool {
        self.is_replayed() || !self.someone_can_move() && self.is_its_turn(id, next)
    }

    /// The same, spinning aside.
    #[inline]
    pub(super) fn is_ready(&self, id: ThreadId) -> bool {
        let thread = self.thread(id);
        thread.next().is_some_and(|next| self.ready(thread, next))
    }

    /// Whether the schedule of this execution is given: who spun then may not have had to wait.
    #[inline]
    pub(super) fn is_replayed(&self) -> bool {
        let given = self.settings.replayed;
        given > 0 && self.moves_of(self.made.len()) < given
    }

    /// Whether, of those that can only continue as a last resort, this one has not done so for longest.
    fn is_its_turn(&self, id: ThreadId, next: &Announced) -> bool {
        let turn = |next: &Announced| next.suspended.map_or(0, |suspended| suspended.turn);
        self.started.iter().all(|&other| {
            let thread = self.thread(other);
            let theirs = thread.next().filter(|next| self.ready(thread, next));
            theirs.is_none_or(|theirs| (turn(next), id) <= (turn(theirs), other))
        })
    }

    /// How many alternatives the next step of a thread has.
    pub(crate) fn alternatives(&self, id: ThreadId) -> u32 {
        self.thread(id).next().map_or(1, |next| {
            super::effect::effect(&next.operation, &self.objects, &mut |_| ()).alternatives
        })
    }

    pub(super) fn someone_can_move(&self) -> bool {
        self.started.iter().any(|&id| {
            let thread = self.thread(id);
            !thread.ended
                && thread.next().is_some_and(|next| {
                    self.ready(thread, next) && !self.is_suspended(thread, next)
                })
        })
    }

    /// Whether a thread waits that would long have given up. Another execution, in which it does, is the real one.
    pub(crate) fn waits_too_long(&self) -> bool {
        self.started.iter().any(|&id| {
            let thread = self.thread(id);
            // Who was notified may wait for the mutex as long as that takes.
            let notified = || {
                let next = thread.next();
                !thread.asleep
                    && next.is_some_and(|next| matches!(next.operation, Operation::Lock { .. }))
            };
            thread.waits_in_time && !thread.ended && !notified()
        })
    }

    /// Ends the execution with a failure, unless it has one already; or, if it is to go on, ends the thread that has failed.
    pub(crate) fn fail(&mut self, failure: Failure) {
        if self.failure.is_none() || self.settings.keep_going {
            self.failures.push((failure.clone(), self.made.len()));
        }
        self.failure.get_or_insert(failure);
    }
}
