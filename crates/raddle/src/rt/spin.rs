//! Threads that spin.
//!
//! A loop that waits for another thread would go on for ever in some schedules, and in all the others
//! go round any number of times. So a thread says where it spins (`yield_now`, `spin_loop`, `sleep`): it leaves a *mark*.
//! When it comes to the same mark after the same operation again, it has gone round. If all that it found on the way was as it had
//! left it, it did so *in vain*: going round again is pointless as long as nothing of that changes. So its next operation
//! waits until something does. (If something has changed between two operations of the round, the next round may go another
//! way; it does not wait.)
//!
//! That is exact for loops that wait for something and do nothing else. A loop may also count its rounds and *leave by
//! itself*: it tries a few times, then it parks. How many rounds in vain such a loop makes is its *patience*, known for each
//! thread and mark; so many rounds are ordinary steps, and only more than that have to wait. At first it is taken to be
//! none. When a thread has to wait at a mark for the first time, a scout finds out what it would do if it were not to
//! wait (`scout.rs`), and if it would leave, the exploration begins again.
//!
//! Whether a round was in vain is decided by what the thread found in its own operations, and by nothing else: other threads that
//! did something in the meantime which it did not see must not make a difference (see [`raddle_schedule::Execution`]).
//!
//! If no thread can do anything else, those that wait at marks go on after all, in turns. If one of them leaves by itself, it
//! was more patient than was known, and the exploration begins again. If that leads nowhere for long, it never will.
//!
//! What is not seen: a loop whose patience depends on data, where one thread comes to the same mark with
//! different data, if there is always somebody else who can move.

use std::collections::HashMap;

use raddle_schedule::{Access, Location, Mode, Step, ThreadId};

use super::Place;
use super::counts::{Site, site};
use super::failure::{Failure, FailureKind, Remark};
use super::objects::{Kind, Objects};
use super::operation::{Left, Operation, channel, mx, rw};
use super::scout::Scout;
use super::state::{Phase, State};
use super::thread::{Announced, Thread};

/// How often a thread may say that it spins without doing anything else. Loops that do so for a while
/// only let time pass; after that, one does nothing else.
const MOST_DELAYS: u32 = 1 << 16;

/// How often scouts may come back with nothing.
const MOST_SCOUTS: u32 = 16;

/// Whether an access changes something, other than that somebody was there for a moment.
pub(super) fn progresses(kind: Kind, access: &Access) -> bool {
    let ignored = match kind {
        Kind::Mutex => mx::LOCKED | mx::ALL_ALIKE,
        Kind::RwLock => rw::READERS | rw::WRITER | rw::ALL_ALIKE,
        _ => 0,
    };
    access.before & !ignored != access.after & !ignored
}

/// Where and how a thread spins.
#[derive(Debug, Default)]
pub(crate) struct Spinning {
    pub(super) marks: Vec<Mark>,
    /// Which of them it came to last.
    latest: usize,
    /// What it touched since its first mark.
    touched: Vec<Touched>,
    /// How often it found that another thread has done something.
    changes: u32,
    /// It found, after having touched so much, that something has changed since it touched it: what it did in between
    /// would go another way now.
    torn: usize,
    /// How often something that is up to the explorer went otherwise than by default.
    chances: u32,
    /// How many operations it had announced when it came to its last mark, and how often it has come to marks
    /// since then.
    marked_at: usize,
    delays: u32,
}

/// What a thread left at a location.
#[derive(Clone, Copy, Debug)]
struct Touched {
    location: Location,
    left: u64,
    /// It was changed in a way that commutes: what was left depends on others, too.
    shared: bool,
    /// How much was added.
    added: u64,
    /// The part of the value that does not matter to the thread.
    ignored: u64,
}

/// A place at which a thread said that it spins, after an operation at a certain place.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mark {
    place: Place,
    last: Option<Place>,
    /// Its number in [`Loops`].
    pub(super) number: usize,
    /// How often the thread has gone round in vain, since it found a change.
    pub(super) rounds: u32,
    /// Whether something has changed in the midst of its last round, so that another one would go another way.
    torn: bool,
    /// Whether it has left by itself since then.
    pub(super) left: bool,
    /// The operations of the last round, by their numbers.
    round: (usize, usize),
    /// How much the thread had touched when these rounds began, and at the end of the last one.
    touched: (usize, usize),
    changes: u32,
    chances: u32,
}

impl Mark {
    /// Whether an operation comes after the last round as if there were another one.
    fn expects(&self, announced: &[Announced], place: Place) -> bool {
        let (begin, end) = self.round;
        let position = announced.len() - end;
        begin == end || std::ptr::eq(announced[begin + position % (end - begin)].place, place)
    }

    /// Whether the operations since the last round are the same as in it.
    fn repeats(&self, announced: &[Announced]) -> bool {
        let (begin, end) = self.round;
        let (before, now) = (&announced[begin..end], &announced[end..]);
        let mut both = before.iter().zip(now);
        before.is_empty()
            || before.len() == now.len()
                && both.all(|(one, two)| std::ptr::eq(one.place, two.place))
    }
}

/// How long a thread goes on in vain at a mark.
#[derive(Clone, Copy, Debug, Default)]
struct Patience {
    rounds: u32,
    /// Whether it is known that the loop does not end by itself.
    waits: bool,
    /// How many scouts came back with nothing.
    scouts: u32,
}

/// What is known of loops from earlier executions, by the thread, the mark, and the operation before it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Loops {
    numbers: HashMap<(ThreadId, Site, Option<Site>), usize>,
    patience: Vec<Patience>,
    /// Loops of this execution that are to be looked at.
    wanted: Vec<Wanted>,
    pub(super) scout: Option<Scout>,
}

/// A thread waits at a mark, and it is not known whether it would for ever.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wanted {
    pub(super) thread: ThreadId,
    /// The number of the mark.
    pub(super) mark: usize,
    /// How many steps had been made.
    pub(super) steps: usize,
}

impl Loops {
    pub(super) fn begin(&mut self) {
        self.wanted.clear();
    }

    pub(super) fn take_wanted(&mut self) -> Vec<Wanted> {
        std::mem::take(&mut self.wanted)
    }

    fn number(&mut self, thread: ThreadId, place: Place, last: Option<Place>) -> usize {
        let new = self.patience.len();
        let key = (thread, site(place), last.map(site));
        let number = *self.numbers.entry(key).or_insert(new);
        if number == new {
            self.patience.push(Patience::default());
        }
        number
    }

    /// The loop leaves by itself after this many rounds in vain. Returns whether that is new.
    fn raise(&mut self, mark: usize, rounds: u32) -> bool {
        let patience = &mut self.patience[mark];
        let is_new = rounds > patience.rounds;
        if is_new {
            // One that turns out to be more patient each time is not to be found out about step by step.
            patience.rounds = rounds.max(patience.rounds.saturating_mul(2));
        }
        is_new
    }

    /// A scout has come back. Returns whether that is to be known from the beginning.
    pub(super) fn learn(&mut self, scout: &Scout) -> bool {
        let is_new = self.raise(scout.mark, scout.patience());
        let patience = &mut self.patience[scout.mark];
        patience.scouts += u32::from(!is_new);
        patience.waits |= scout.waits || patience.scouts >= MOST_SCOUTS;
        is_new
    }
}

impl Spinning {
    pub(super) fn reset(&mut self) {
        self.marks.clear();
        self.latest = 0;
        self.touched.clear();
        self.changes = 0;
        self.torn = 0;
        self.chances = 0;
        self.marked_at = usize::MAX;
        self.delays = 0;
    }

    /// What the thread finds at a location if nobody else has changed it: what it left there, and what it has added
    /// since then. Also says when it touched it last.
    fn expected_at(&self, location: Location) -> Option<(usize, u64)> {
        let (mut latest, mut added) = (None, 0u64);
        for (index, touched) in self.touched.iter().enumerate().rev() {
            if touched.location != location {
                continue;
            }
            let latest = *latest.get_or_insert(index);
            if !touched.shared {
                return Some((latest, touched.left.wrapping_add(added)));
            }
            added = added.wrapping_add(touched.added);
        }
        None
    }

    /// Whether the thread has come to a mark. What it does before that is never asked for.
    pub(super) fn has_begun(&self) -> bool {
        !self.marks.is_empty()
    }

    /// Whether a thread that comes to a mark has done the same since it came there before as the time before that.
    fn repeats(&self, announced: &[Announced], place: Place) -> bool {
        let last = announced.last().map(|last| last.place);
        let is_it = |mark: &&Mark| std::ptr::eq(mark.place, place) && same(mark.last, last);
        let mark = self.marks.iter().find(is_it);
        mark.is_some_and(|mark| mark.repeats(announced))
    }

    /// Whether a thread does what it did in its last round, up to an operation at this place.
    pub(super) fn goes_round(&self, announced: &[Announced], place: Place) -> bool {
        let mark = self.marks.get(self.latest);
        mark.is_some_and(|mark| {
            let (begin, end) = mark.round;
            let before = announced[begin..end].iter().map(|one| one.place);
            let now = announced[end..].iter().map(|one| one.place);
            let now = now.chain([place]);
            begin < end
                && before.len() > announced.len() - end
                && before.zip(now).all(|(one, two)| std::ptr::eq(one, two))
        })
    }

    /// Comes to a mark. Returns which one, and whether it was there before.
    fn visit(
        &mut self,
        announced: &[Announced],
        place: Place,
        new: impl FnOnce() -> usize,
    ) -> bool {
        let last = announced.last().map(|last| last.place);
        let (operations, touched) = (announced.len(), self.touched.len());
        let known = self
            .marks
            .iter()
            .position(|mark| std::ptr::eq(mark.place, place) && same(mark.last, last));
        let Some(index) = known else {
            self.latest = self.marks.len();
            self.marks.push(Mark {
                place,
                last,
                number: new(),
                rounds: 0,
                torn: false,
                left: false,
                round: (operations, operations),
                touched: (touched, touched),
                changes: self.changes,
                chances: self.chances,
            });
            return false;
        };
        self.latest = index;
        let mark = &mut self.marks[index];
        let repeats = mark.repeats(announced);
        mark.torn = self.torn > mark.touched.1;
        if mark.changes == self.changes {
            mark.rounds += 1;
        } else {
            // It has gone round once with what is there now, or has come into the loop anew.
            mark.rounds = u32::from(repeats && !mark.torn);
            mark.left = false;
            mark.touched.0 = mark.touched.1;
        }
        mark.round = (mark.round.1, operations);
        mark.touched.1 = touched;
        mark.changes = self.changes;
        mark.chances = self.chances;
        true
    }
}

impl State {
    /// The current thread says that it spins. Returns whether it needs an operation to do so, because it
    /// does nothing else.
    pub(crate) fn spin(&mut self, place: Place) -> bool {
        let current = self.current;
        let thread = &mut self.threads[current.index()];
        let spinning = &mut thread.spinning;
        if spinning.marked_at == thread.announced.len() {
            spinning.delays += 1;
            if spinning.delays <= MOST_DELAYS {
                return false;
            }
            // The operation that comes now does not count as one.
            spinning.marked_at += 1;
            let first = u32::try_from(thread.watches.len()).expect("too many watched locations");
            thread.spin_next = Some((first, spinning.delays));
            return true;
        }
        spinning.marked_at = thread.announced.len();
        spinning.delays = 0;
        if self.phase == Phase::Running {
            self.come_to_mark(place);
        }
        false
    }

    fn come_to_mark(&mut self, place: Place) {
        self.correct_unused_lock(place);
        let current = self.current;
        let thread = &mut self.threads[current.index()];
        let loops = &mut self.loops;
        let last = thread.announced.last().map(|last| last.place);
        let number = || loops.number(current, place, last);
        if !thread.spinning.visit(&thread.announced, place, number) {
            return;
        }
        thread.polls = true;
        let mark = thread.spinning.marks[thread.spinning.latest];
        if let Some(scout) = &mut self.loops.scout
            && scout.follows(current)
        {
            scout.comes_to(&mark, self.settings.spin_limit);
            return;
        }
        let patience = self.loops.patience[mark.number];
        if mark.torn || (patience.rounds > 0 && mark.rounds <= patience.rounds) {
            return;
        }
        let is_wanted = || self.loops.wanted.iter().any(|w| w.mark == mark.number);
        if !patience.waits && self.settings.replayed == 0 && !is_wanted() {
            self.loops.wanted.push(Wanted {
                thread: current,
                mark: mark.number,
                steps: self.made.len(),
            });
        }
        let first = thread.watches.len();
        for touched in &thread.spinning.touched[mark.touched.0..] {
            watch(&mut thread.watches, first, touched);
        }
        let first = u32::try_from(first).expect("too many watched locations");
        thread.spin_next = Some((first, mark.rounds));
    }

    /// The current thread is about to announce an operation at this place. If it does not go round once more, although all that it
    /// found in its last round was as it had left it, it leaves by itself.
    pub(crate) fn leave_loop(&mut self, place: Place) {
        let current = self.current;
        let Thread {
            spinning,
            announced,
            ..
        } = &mut self.threads[current.index()];
        let scout = self.loops.scout.filter(|scout| scout.follows(current));
        let latest = match scout {
            Some(scout) => spinning
                .marks
                .iter()
                .position(|mark| mark.number == scout.mark),
            None => Some(spinning.latest),
        };
        let Some(mark) = latest.and_then(|latest| spinning.marks.get(latest)) else {
            return;
        };
        let changed = mark.changes != spinning.changes || mark.chances != spinning.chances;
        if changed || mark.rounds == 0 || mark.expects(announced, place) {
            return;
        }
        if let (true, Some(scout)) = (scout.is_some(), &mut self.loops.scout) {
            scout.sees_it_leave(mark);
        }
        // So it does at the other marks of the loop.
        let since = mark.round.0;
        for mark in &mut spinning.marks {
            if mark.round.1 < since || std::mem::replace(&mut mark.left, true) {
                continue;
            }
            if scout.is_none() {
                self.learned |= self.loops.raise(mark.number, mark.rounds);
            }
        }
    }

    /// A thread that has only looked at what a lock protects, and will do so again, leaves the lock as if
    /// it had never been there: others that do the same need not look again. Neither need they if it could have changed something, but
    /// does the same round after round, and what it could have changed looks as before (it has tried to take something out of
    /// an empty queue): otherwise two such threads would wake each other for ever.
    fn correct_unused_lock(&mut self, place: Place) {
        let current = self.current;
        let thread = self.thread_mut(current);
        let Some(last) = thread.steps.checked_sub(1) else {
            return;
        };
        let repeats = || thread.spinning.repeats(&thread.announced, place);
        let now = if !thread.changed_under_lock {
            Left::Unchanged
        } else if thread.looks_unchanged && repeats() {
            Left::Alike
        } else {
            return;
        };
        let operation = &mut thread.announced[last as usize].operation;
        let (lock, version, alike) = match operation {
            Operation::Unlock { mutex, left } if *left == Left::Changed => {
                *left = now;
                (*mutex, mx::VERSION, mx::ALIKE)
            }
            Operation::WriteUnlock { lock, left } if *left == Left::Changed => {
                *left = now;
                (*lock, rw::VERSION, rw::ALIKE)
            }
            _ => return,
        };
        let mark = if now == Left::Alike { alike } else { 0 };
        let value = self.objects.value(lock);
        let value = value.wrapping_sub(version).wrapping_add(mark);
        self.objects.set(lock, value);
        let touched = &mut self.thread_mut(current).spinning.touched;
        if let Some(touched) = touched.iter_mut().rfind(|touched| touched.location == lock) {
            touched.left = value;
        }
        let mut accesses = self.accesses.iter_mut();
        if let Some(access) = accesses.rfind(|access| access.location == lock) {
            access.after = value;
        }
        // It has not changed anything either.
        let was_last_resort = self.made.last().is_some_and(|made| made.last_resort);
        self.idle = self.idle_before + u32::from(was_last_resort);
        self.corrected = Some((lock, value));
    }

    /// What to say when spinning has led to nothing for too long.
    pub(crate) fn live_lock(&self) -> Failure {
        let mut remarks = Vec::new();
        for &id in &self.started {
            let thread = self.thread(id);
            let spinning = &thread.spinning;
            if !thread.ended
                && let Some(mark) = spinning.marks.get(spinning.latest)
            {
                remarks.push(Remark::new(id, mark.place, "spins here"));
            }
        }
        Failure {
            kind: FailureKind::LiveLock,
            message: "live-lock: the threads that are left spin for ever".into(),
            remarks,
        }
    }
}

impl Thread {
    /// Remembers what a step found and left.
    pub(super) fn note_step(
        &mut self,
        announced: &Announced,
        choice: u32,
        result: u64,
        step: &Step,
        objects: &Objects,
    ) {
        let spinning = &mut self.spinning;
        spinning.chances += u32::from(choice > 0);
        // These are only possible because somebody else has done something, and not again for the same reason.
        let mut changed = match announced.operation {
            Operation::Park { .. } | Operation::Taken { .. } => true,
            Operation::Receive { .. } => result == channel::OK,
            _ => announced.woken_by.is_some(),
        };
        if changed {
            spinning.torn = spinning.touched.len() + 1;
        }
        for access in &step.accesses {
            let (location, left) = (access.location, access.after);
            let ignored = match objects.kind(location) {
                Kind::RwLock => rw::READERS,
                _ => 0,
            };
            let shared = access.mode == Mode::Shared && ignored == 0;
            if !shared
                && let Some((index, expected)) = spinning.expected_at(location)
                && (expected ^ access.before) & !ignored != 0
            {
                changed = true;
                spinning.torn = spinning.torn.max(index + 1);
            }
            // Nobody who waits minds that somebody was there who has left the lock alike; and who only reads what it
            // protects does not mind other readers.
            let alike = match objects.kind(location) {
                Kind::Mutex => mx::ALL_ALIKE,
                Kind::RwLock => rw::ALL_ALIKE,
                _ => 0,
            };
            let touched = Touched {
                location,
                left,
                shared,
                added: access.after.wrapping_sub(access.before),
                ignored: if access.mode == Mode::Shared {
                    ignored | alike
                } else {
                    alike
                },
            };
            spinning.touched.push(touched);
            if let Some((first, _)) = self.spin_next {
                watch(&mut self.watches, first as usize, &touched);
            }
        }
        spinning.changes += u32::from(changed);
    }
}

fn same(one: Option<Place>, other: Option<Place>) -> bool {
    match (one, other) {
        (Some(one), Some(other)) => std::ptr::eq(one, other),
        (None, None) => true,
        _ => false,
    }
}

/// Adds to the watched locations from `first` on; the value left last is what counts.
fn watch(watches: &mut Vec<Watch>, first: usize, touched: &Touched) {
    let location = touched.location;
    let known = watches[first..].iter_mut();
    match known.into_iter().find(|known| known.location == location) {
        Some(known) => {
            known.left = touched.left;
            known.ignored &= touched.ignored;
        }
        None => watches.push(Watch {
            location,
            left: touched.left,
            ignored: touched.ignored,
        }),
    }
}

/// A location that a thread waits for a change of.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Watch {
    pub(crate) location: Location,
    left: u64,
    ignored: u64,
}

impl Watch {
    /// Whether a value is not another one.
    pub(super) fn is_left_at(&self, value: u64) -> bool {
        (value ^ self.left) & !self.ignored == 0
    }
}
