//! What a thread that polls has touched, and what it waits for a change of.
//!
//! All of it is a function of the thread's causal past: see [there](super#why-classes-are-explored-once) why it has to be. An access for reading
//! or writing comes after all changes of its location, so that the value which it finds is determined by that past. An access of
//! [`Mode::Shared`] does not come after others of that mode. The part of the value that [these change](shared_part) depends
//! on how many of them happen to have been made, and nothing is learned from it: what a thread expects there is what it last found by reading or writing, and its own
//! changes since.

use raddle_schedule::{LocationId, Mode, ValuedAccess};

use super::{alike, behind};
use crate::rt::objects::{Kind, Outside};
use crate::rt::operation::{mx, rw};

/// The part of a value that changes which commute are made in.
#[inline]
fn shared_part(kind: Kind) -> u64 {
    match kind {
        Kind::RwLock => rw::READERS,
        // Counts.
        _ => u64::MAX,
    }
}

/// The part of a value that others change without the notice of an access.
#[inline]
fn unseen_part(kind: Kind, mode: Mode) -> u64 {
    match mode {
        Mode::Shared => shared_part(kind),
        Mode::Read | Mode::Write => 0,
    }
}

/// A location that a suspended thread waits for a change of.
#[derive(Clone, Copy, Debug)]
pub(super) struct Watch {
    pub(super) location: LocationId,
    left: u64,
    /// The part of the value that does not matter to the thread.
    pub(super) ignored: u64,
    /// The part of the value that says that a lock was left alike.
    pub(super) alike: u64,
    /// The part of the value that is changed in ways that commute.
    shared: u64,
}

impl Watch {
    /// `left`: what the thread expects to be there now. `waits`: the operation would have waited for the lock, or gives it back.
    fn new(kind: Kind, access: &ValuedAccess, left: u64, waits: bool) -> Self {
        let shared = shared_part(kind);
        let ignored = match (kind, access.mode) {
            // Who waits for a lock never sees that it is taken.
            (Kind::Mutex, _) if waits => mx::LOCKED,
            (Kind::RwLock, _) if waits => rw::READERS | rw::WRITER,
            // Who only adds does not learn what others have added: who only reads what a lock protects does not mind other readers.
            (_, Mode::Shared) => shared,
            _ => 0,
        };
        Self {
            location: access.location,
            left,
            ignored,
            alike: alike(kind),
            shared,
        }
    }

    /// For an operation that has touched one location, and has looked at it.
    pub(super) fn of_single(kind: Kind, access: &ValuedAccess) -> Self {
        debug_assert_ne!(access.mode, Mode::Shared);
        Self::new(kind, access, access.after, false)
    }

    /// Whether a value ends the wait.
    #[inline]
    pub(super) fn sees(&self, value: u64) -> bool {
        (value ^ self.left) & !self.ignored != 0
    }

    /// Whether a lock was left alike.
    #[inline]
    pub(super) fn sees_alike(&self, value: u64) -> bool {
        (value ^ self.left) & self.alike != 0
    }

    /// Whether there is more of a change than that a lock was left alike.
    #[inline]
    pub(super) fn sees_change(&self, value: u64) -> bool {
        (value ^ self.left) & !self.ignored & !self.alike != 0
    }

    /// How a step touches the location that has to see such a change and touches it in this way itself.
    #[inline]
    pub(super) fn mode_with(&self, own: Mode) -> Mode {
        if own == Mode::Shared && self.shared & !self.ignored != 0 {
            // It looks at what others of its mode change, and adds to it.
            Mode::Write
        } else {
            own
        }
    }
}

/// Adds to the watches from `first` on; the value left last is what counts.
fn add(watches: &mut Vec<Watch>, first: usize, watch: Watch) {
    let mut known = watches[first..].iter_mut();
    match known.find(|known| known.location == watch.location) {
        Some(known) => {
            known.left = watch.left;
            known.ignored &= watch.ignored | watch.alike;
        }
        None => watches.push(watch),
    }
}

/// How many iterations ago a thread has touched what it knows lately. A loop that looks at another object in each iteration comes back to the first within so many.
const LATELY: u32 = 16;

/// What a thread expects to find, and what it has touched.
#[derive(Debug, Default)]
pub(super) struct Memory {
    /// By location.
    expected: Vec<Expected>,
    touches: Vec<Touch>,
    /// Where the touches of the sequence of undisturbed iterations begin, those of the last iteration, and those of this one.
    sequence: usize,
    last: usize,
    iteration: usize,
    /// How many iterations there were, for [`Expected::iteration`].
    iterations: u32,
    /// Whether this iteration has changed something that is no location.
    effect: bool,
    /// Whether others could have seen the last iteration, though it may have changed nothing for good.
    was_visible: bool,
    /// What these touches of a sequence add up to, so that those of a long one are not added up again and again.
    sum: Vec<Watch>,
    summed: std::ops::Range<usize>,
}

/// What a thread knows of a location.
#[derive(Clone, Copy, Debug, Default)]
struct Expected {
    /// The value that it left there, as far as it is known.
    value: u64,
    /// The part of the value that is known.
    known: u64,
    /// The iteration in which it touched it last, counted from 1.
    iteration: u32,
    /// How often it was changed by threads that did not poll, as far as this thread knows.
    outside: Outside,
}

#[derive(Clone, Copy, Debug)]
struct Touch {
    watch: Watch,
    found: u64,
    left: u64,
    mode: Mode,
    /// The part of the value that is the same again after taking and giving back a lock.
    passing: u64,
}

/// What was found to have changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Change {
    /// Whether this iteration has seen what was there before, too. Otherwise the location was last touched in an earlier one.
    pub(super) is_within_iteration: bool,
    /// Whether only threads that poll have changed it.
    pub(super) in_loops: bool,
    /// Whether there is more to see than that a lock was left alike by a thread that may have changed something behind a pointer.
    pub(super) is_certain: bool,
}

impl Memory {
    pub(super) fn reset(&mut self) {
        self.expected.clear();
        self.touches.clear();
        (self.sequence, self.last, self.iteration) = (0, 0, 0);
        self.iterations = 1;
        self.effect = false;
        self.was_visible = false;
        self.sum.clear();
        self.summed = 0..0;
    }

    /// Whether an access finds a part of a value that the thread has never found or left before.
    pub(super) fn is_new(&self, kind: Kind, access: &ValuedAccess) -> bool {
        let expected = self.expected.get(access.location.index());
        let known = expected.map_or(0, |expected| expected.known);
        known | !unseen_part(kind, access.mode) != known
    }

    /// The thread touches a location. Returns whether another thread has changed it. `outside`: how often threads that did not poll have done so.
    pub(super) fn touch(
        &mut self,
        kind: Kind,
        access: &ValuedAccess,
        outside: Outside,
        waits: bool,
    ) -> Option<Change> {
        let ValuedAccess {
            location,
            mode,
            before,
            after,
        } = *access;
        if self.expected.len() <= location.index() {
            self.expected
                .resize(location.index() + 1, Expected::default());
        }
        let expected = &mut self.expected[location.index()];
        let unseen = unseen_part(kind, mode);
        let outside = outside.seen_by(mode, expected.outside);
        let compared = expected.known & !unseen & !alike(kind);
        let differs = (expected.value ^ before) & expected.known;
        let is_certain = differs & compared != 0;
        let change = (is_certain || differs & behind(kind) != 0).then_some(Change {
            is_within_iteration: expected.iteration == self.iterations,
            in_loops: outside == expected.outside,
            is_certain,
        });
        let added = expected.value.wrapping_add(after.wrapping_sub(before));
        *expected = Expected {
            value: added & unseen | after & !unseen,
            known: expected.known | !unseen,
            iteration: self.iterations,
            outside,
        };
        self.touches.push(Touch {
            watch: Watch::new(kind, access, expected.value, waits),
            found: before,
            left: after,
            mode,
            passing: match kind {
                // The versions: only others learn from them that something may have changed.
                Kind::Mutex => !mx::LOCKED,
                Kind::RwLock => !(rw::WRITER | rw::READERS),
                _ => 0,
            },
        });
        change
    }

    /// How often a location was changed by threads that did not poll, as far as the thread knows.
    pub(super) fn outside(&self, location: LocationId) -> Outside {
        let expected = self.expected.get(location.index());
        expected.map_or_else(Outside::default, |expected| expected.outside)
    }

    /// The thread has changed something that is no location.
    pub(super) fn note_effect(&mut self) {
        self.effect = true;
    }

    /// An iteration ends. Returns whether it has changed something.
    pub(super) fn end_iteration(&mut self) -> bool {
        let has_changed = std::mem::take(&mut self.effect) || self.changes(|touch| touch.passing);
        // That a lock was held for a moment is nothing to wait for.
        let is_visible = |touch: &Touch| touch.passing == 0 && touch.found != touch.left;
        let mut touches = self.touches[self.iteration..].iter();
        self.was_visible = touches.any(is_visible);
        self.last = self.iteration;
        self.iteration = self.touches.len();
        self.iterations += 1;
        has_changed
    }

    /// Whether the iteration that has just ended has changed a value, for a moment or for good, so that others may have seen it.
    pub(super) fn was_visible(&self) -> bool {
        self.was_visible
    }

    /// A sequence begins with the iteration that has just ended.
    pub(super) fn begin_with_iteration(&mut self) {
        self.sequence = self.last;
    }

    /// A sequence begins after the iteration that has just ended.
    pub(super) fn begin_after_iteration(&mut self) {
        self.sequence = self.iteration;
    }

    /// Whether this iteration has left a location in another way than it found it, but for a part of the value that does not count.
    fn changes(&self, ignored: impl Fn(&Touch) -> u64) -> bool {
        let touches = &self.touches[self.iteration..];
        // What the last touch of each location left, against what the first one found; for counts, the sum of what was added.
        touches.iter().enumerate().any(|(index, first)| {
            let same = |touch: &&Touch| touch.watch.location == first.watch.location;
            if touches[..index].iter().any(|touch| same(&touch)) {
                return false;
            }
            let (mut added, mut left) = (0u64, first.left);
            let mut adds = false;
            for touch in touches[index..].iter().filter(same) {
                added = added.wrapping_add(touch.left.wrapping_sub(touch.found));
                left = touch.left;
                adds |= touch.mode == Mode::Shared;
            }
            // What others have added in between is found by the way.
            let changed = if adds { added } else { left ^ first.found };
            changed & !ignored(first) != 0
        })
    }

    /// Whether the thread has touched a location in its sequence of iterations.
    pub(super) fn knows(&self, location: LocationId) -> bool {
        let mut touches = self.touches[self.sequence..].iter();
        touches.any(|touch| touch.watch.location == location)
    }

    /// The same, before this iteration.
    pub(super) fn knew(&self, location: LocationId) -> bool {
        let mut touches = self.touches[self.sequence..self.iteration].iter();
        touches.any(|touch| touch.watch.location == location)
    }

    /// Whether the thread has touched a location in its last iterations, though it may have been disturbed since.
    pub(super) fn knows_lately(&self, location: LocationId) -> bool {
        let expected = self.expected.get(location.index());
        let touched = expected.map_or(0, |expected| expected.iteration);
        touched > 0 && touched + LATELY >= self.iterations
    }

    /// Whether this iteration has touched nothing so far that those before it have not, and has changed nothing but that it holds locks.
    pub(super) fn does_as_before(&self) -> bool {
        let touches = &self.touches[self.iteration..];
        let knew = |touch: &Touch| self.knew(touch.watch.location);
        let beside_locks = |touch: &Touch| if touch.passing == 0 { 0 } else { u64::MAX };
        !self.effect && !self.changes(beside_locks) && touches.iter().all(knew)
    }

    /// Adds what is to be watched: all that was touched in the sequence, with the values that were left last.
    pub(super) fn watch(&mut self, watches: &mut Vec<Watch>, ignores_alike: bool) {
        if self.summed.start != self.sequence {
            self.sum.clear();
            self.summed = self.sequence..self.sequence;
        }
        for touch in &self.touches[self.summed.end..] {
            add(&mut self.sum, 0, touch.watch);
        }
        self.summed.end = self.touches.len();
        for watch in &self.sum {
            let mut watch = *watch;
            if ignores_alike {
                watch.ignored |= watch.alike;
            }
            // What was only added to was not looked at, and nobody waits for a change of it.
            if watch.ignored != u64::MAX {
                watches.push(watch);
            }
        }
    }

    /// Adds what was touched last to the watches from `first` on.
    pub(super) fn watch_last(&self, watches: &mut Vec<Watch>, first: usize) {
        if let Some(touch) = self.touches.last() {
            add(watches, first, touch.watch);
        }
    }
}
