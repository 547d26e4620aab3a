//! What a thread that polls has touched, and what it waits for a change of.

use raddle_schedule::{LocationId, Mode, ValuedAccess};

use super::alike;
use crate::rt::objects::Kind;
use crate::rt::operation::{mx, rw};

/// A location that a suspended thread waits for a change of.
#[derive(Clone, Copy, Debug)]
pub(super) struct Watch {
    pub(super) location: LocationId,
    left: u64,
    /// The part of the value that does not matter to the thread.
    ignored: u64,
    /// The part of the value that says that a lock was left alike.
    alike: u64,
}

impl Watch {
    /// `waits`: the operation would have waited for the lock, or gives it back.
    pub(super) fn new(kind: Kind, access: &ValuedAccess, waits: bool) -> Self {
        let ignored = match (kind, access.mode) {
            // Who waits for a lock never sees that it is taken.
            (Kind::Mutex, _) if waits => mx::LOCKED,
            (Kind::RwLock, _) if waits => rw::READERS | rw::WRITER,
            // Who only reads what a lock protects does not mind other readers.
            (Kind::RwLock, Mode::Shared) => rw::READERS,
            _ => 0,
        };
        Self {
            location: access.location,
            left: access.after,
            ignored,
            alike: alike(kind),
        }
    }

    /// Whether a value ends the wait.
    pub(super) fn sees(&self, value: u64) -> bool {
        (value ^ self.left) & !self.ignored != 0
    }

    /// Whether a lock was left alike.
    pub(super) fn sees_alike(&self, value: u64) -> bool {
        (value ^ self.left) & self.alike != 0
    }

    /// Whether there is more of a change than that a lock was left alike.
    pub(super) fn sees_change(&self, value: u64) -> bool {
        (value ^ self.left) & !self.ignored & !self.alike != 0
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
}

/// What a thread knows of a location.
#[derive(Clone, Copy, Debug, Default)]
struct Expected {
    /// The value that it left there, if it has.
    value: Option<u64>,
    /// The iteration in which it touched it last, counted from 1.
    iteration: u32,
}

#[derive(Clone, Copy, Debug)]
struct Touch {
    watch: Watch,
    found: u64,
    mode: Mode,
    /// The part of the value that is the same again after taking and giving back a lock.
    passing: u64,
}

/// What was found to have changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Change {
    /// It was last touched in an earlier iteration: this one has seen only what is there now.
    BeforeIteration,
    /// This iteration has seen what was there before, too.
    WithinIteration,
}

impl Memory {
    pub(super) fn reset(&mut self) {
        self.expected.clear();
        self.touches.clear();
        (self.sequence, self.last, self.iteration) = (0, 0, 0);
        self.iterations = 1;
        self.effect = false;
    }

    /// The thread touches a location. Returns whether another thread has changed it.
    pub(super) fn touch(
        &mut self,
        kind: Kind,
        access: &ValuedAccess,
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
        let readers = if kind == Kind::RwLock { rw::READERS } else { 0 };
        // Counts that commute are changed by others without notice; how many readers there are is observed by no reader.
        let commutes = mode == Mode::Shared && readers == 0;
        let mut change = None;
        if let (false, Some(value)) = (commutes, expected.value)
            && (value ^ before) & !readers & !alike(kind) != 0
        {
            change = Some(if expected.iteration == self.iterations {
                Change::WithinIteration
            } else {
                Change::BeforeIteration
            });
        }
        expected.iteration = self.iterations;
        expected.value = if commutes {
            expected
                .value
                .map(|value| value.wrapping_add(after.wrapping_sub(before)))
        } else {
            Some(after)
        };
        self.touches.push(Touch {
            watch: Watch::new(kind, access, waits),
            found: before,
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

    /// The thread has changed something that is no location.
    pub(super) fn note_effect(&mut self) {
        self.effect = true;
    }

    /// An iteration ends. Returns whether it has changed something.
    pub(super) fn end_iteration(&mut self) -> bool {
        let has_changed = std::mem::take(&mut self.effect) || self.changes(|touch| touch.passing);
        self.last = self.iteration;
        self.iteration = self.touches.len();
        self.iterations += 1;
        has_changed
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
        // What the last touch of each location left, against what the first one found; for counts, the sum.
        touches.iter().enumerate().any(|(index, first)| {
            let same = |touch: &&Touch| touch.watch.location == first.watch.location;
            if touches[..index].iter().any(|touch| same(&touch)) {
                return false;
            }
            let (mut added, mut left) = (0u64, first.watch.left);
            let mut only_adds = true;
            for touch in touches[index..].iter().filter(same) {
                added = added.wrapping_add(touch.watch.left.wrapping_sub(touch.found));
                left = touch.watch.left;
                only_adds &= touch.mode == Mode::Shared;
            }
            let changed = if only_adds { added } else { left ^ first.found };
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

    /// Whether this iteration has touched nothing so far that those before it have not, and has changed nothing but that it holds locks.
    pub(super) fn does_as_before(&self) -> bool {
        let touches = &self.touches[self.iteration..];
        let knew = |touch: &Touch| self.knew(touch.watch.location);
        let beside_locks = |touch: &Touch| if touch.passing == 0 { 0 } else { u64::MAX };
        !self.effect && !self.changes(beside_locks) && touches.iter().all(knew)
    }

    /// Adds what is to be watched: all that was touched in the sequence, with the values that were left last.
    pub(super) fn watch(&self, watches: &mut Vec<Watch>, ignores_alike: bool) {
        let first = watches.len();
        for touch in &self.touches[self.sequence..] {
            let mut watch = touch.watch;
            if ignores_alike {
                watch.ignored |= watch.alike;
            }
            add(watches, first, watch);
        }
    }

    /// Adds what was touched last to the watches from `first` on.
    pub(super) fn watch_last(&self, watches: &mut Vec<Watch>, first: usize) {
        if let Some(touch) = self.touches.last() {
            add(watches, first, touch.watch);
        }
    }
}
