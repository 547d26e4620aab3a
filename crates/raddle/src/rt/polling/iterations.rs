//! Iterations: what a thread does from one arrival at a site to the next.

use std::hash::{Hash as _, Hasher as _};
use std::mem::discriminant;

use raddle_schedule::{Mode, ValuedAccess};

use super::watch::Memory;
use crate::rt::hash::{Mixer, mix};
use crate::rt::objects::Kind;
use crate::rt::operation::{mx, rw};
use crate::rt::thread::Announced;

/// The iterations that a thread has made since it was last disturbed, or has last changed something.
#[derive(Debug, Default)]
pub(super) struct Iterations {
    sequence: Vec<Iteration>,
    /// How many iterations have changed something since the thread was last disturbed.
    effects: u32,
    /// The one under way.
    current: Current,
    /// The shape of the last one.
    shape: Option<(usize, u64)>,
    has_just_begun: bool,
}

/// An iteration that is over.
#[derive(Clone, Copy, Debug)]
pub(super) struct Iteration {
    /// Where it has arrived.
    site: usize,
    /// Its operations, locations, and values.
    digest: u64,
    /// A fingerprint of the stack after it, if that is compared.
    stack: u64,
    /// Whether it is one operation that leaves one location as it was.
    is_single: bool,
}

#[derive(Clone, Copy, Debug, Default)]
struct Current {
    digest: u64,
    /// Its operations, but for locations and values.
    shape: u64,
    steps: u32,
    is_single: bool,
    disturbed: bool,
    torn: bool,
}

impl Iterations {
    pub(super) fn reset(&mut self) {
        self.sequence.clear();
        self.effects = 0;
        self.current = Current::default();
        self.shape = None;
    }

    /// A step is made.
    #[inline]
    pub(super) fn note(&mut self, digest: Digest, is_single: bool) {
        let current = &mut self.current;
        current.digest = mix(current.digest, digest.values);
        current.shape = mix(current.shape, digest.shape);
        current.is_single = is_single && current.steps == 0;
        current.steps += 1;
    }

    /// The thread finds that another one has done something. `torn`: it has seen both what was there before and what is there now.
    #[inline]
    pub(super) fn disturb(&mut self, torn: bool) {
        self.current.disturbed = true;
        self.current.torn |= torn;
    }

    /// The thread arrives at a site. Returns whether the iteration has changed something.
    pub(super) fn arrive(&mut self, site: usize, stack: u64, memory: &mut Memory) -> bool {
        let current = std::mem::take(&mut self.current);
        let shape = (site, current.shape);
        let repeats = self.shape.replace(shape) == Some(shape);
        let iteration = Iteration {
            site,
            digest: current.digest,
            stack,
            is_single: current.is_single,
        };
        let begins = Iteration {
            site,
            digest: 0,
            stack: 0,
            is_single: false,
        };
        let effect = memory.end_iteration();
        let goes_on = !self.sequence.is_empty() && !current.disturbed;
        self.effects = match (effect, goes_on) {
            (true, true) => self.effects + 1,
            (true, false) => 1,
            (false, true) => self.effects,
            (false, false) => 0,
        };
        self.has_just_begun = !goes_on || effect;
        if !self.has_just_begun {
            self.sequence.push(iteration);
            return false;
        }
        self.sequence.clear();
        self.sequence.push(begins);
        if effect {
            memory.begin_with_iteration();
        } else if repeats && !current.torn {
            // It has gone through the loop once, the same way as before, with what is there now.
            self.sequence.push(iteration);
            memory.begin_with_iteration();
        } else {
            memory.begin_after_iteration();
        }
        effect
    }

    /// Whether another thread has disturbed the iteration under way.
    pub(super) fn is_disturbed(&self) -> bool {
        self.current.disturbed
    }

    /// Whether the last arrival has begun a new sequence.
    pub(super) fn have_just_begun(&self) -> bool {
        self.has_just_begun
    }

    /// How many iterations have changed something since the thread was last disturbed.
    pub(super) fn effects(&self) -> u32 {
        self.effects
    }

    /// The site at which the thread has arrived last.
    pub(super) fn site(&self) -> Option<usize> {
        self.sequence.last().map(|last| last.site)
    }

    /// How many undisturbed iterations the thread has made since it first arrived at a site.
    pub(super) fn count(&self, site: usize) -> u32 {
        u32::try_from(self.since(site).len()).unwrap_or(u32::MAX)
    }

    /// The same for all sites of the sequence.
    pub(super) fn counts(&self) -> impl Iterator<Item = (usize, u32)> {
        let mut sites: Vec<usize> = self.sequence.iter().map(|one| one.site).collect();
        sites.sort_unstable();
        sites.dedup();
        sites.into_iter().map(|site| (site, self.count(site)))
    }

    /// The undisturbed iterations since the thread first arrived at a site.
    pub(super) fn since(&self, site: usize) -> &[Iteration] {
        let first = self.sequence.iter().position(|one| one.site == site);
        first.map_or(&[], |first| &self.sequence[first + 1..])
    }
}

/// How a sequence of iterations repeats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Repetition {
    /// How many iterations there are before.
    pub(super) transient: usize,
    pub(super) period: usize,
}

impl Repetition {
    /// After how many iterations all that is ever done has been done once.
    pub(super) fn length(self) -> usize {
        self.transient + self.period
    }

    /// The one that takes the fewest iterations until it has been gone through once, if the sequence has repeated at least for its second half.
    #[inline]
    pub(super) fn of(iterations: &[Iteration]) -> Option<Self> {
        Self::by(iterations, |one| (one.site, one.digest))
    }

    /// The same, if the stack repeats too.
    pub(super) fn with_stack(iterations: &[Iteration]) -> Option<Self> {
        Self::by(iterations, |one| (one.site, one.digest, one.stack))
    }

    fn by<K: PartialEq>(iterations: &[Iteration], key: impl Fn(&Iteration) -> K) -> Option<Self> {
        let key = |index: usize| key(&iterations[index]);
        let length = iterations.len();
        let half = length / 2;
        let mut best: Option<Self> = None;
        for period in 1..=half {
            if best.is_some_and(|best| best.length() <= period) {
                break;
            }
            let mut transient = length - period;
            while transient > 0 && key(transient - 1) == key(transient - 1 + period) {
                transient -= 1;
            }
            let repetition = Self { transient, period };
            if transient + 2 * period <= length
                && transient <= half
                && best.is_none_or(|best| repetition.length() < best.length())
            {
                best = Some(repetition);
            }
        }
        best
    }

    /// Whether this is what the sequence repeats, whatever is on the stack.
    pub(super) fn holds(self, iterations: &[Iteration]) -> bool {
        let key = |one: &Iteration| (one.site, one.digest);
        let rest = iterations.get(self.transient..).unwrap_or_default();
        let again = rest.iter().skip(self.period);
        rest.iter()
            .zip(again)
            .all(|(one, other)| key(one) == key(other))
    }

    /// Whether each iteration is the same, and is a single operation.
    pub(super) fn is_single(self, iterations: &[Iteration]) -> bool {
        (self.transient, self.period) == (0, 1) && iterations.iter().all(|one| one.is_single)
    }
}

/// A step in short, to compare with others of the same thread and execution.
#[derive(Clone, Copy, Debug)]
pub(super) struct Digest {
    values: u64,
    shape: u64,
}

impl Digest {
    #[inline]
    pub(super) fn of(announced: &Announced, choice: u32) -> Self {
        let mut hasher = Mixer::default();
        discriminant(&announced.operation).hash(&mut hasher);
        let shape = mix(
            hasher.finish(),
            std::ptr::from_ref(announced.place).addr() as u64,
        );
        Self {
            values: mix(shape, u64::from(choice)),
            shape,
        }
    }

    #[inline]
    pub(super) fn touches(&mut self, kind: Kind, access: &ValuedAccess) {
        self.values = mix(self.values, u64::from(access.location.0));
        // Versions of locks are changed by the iterations themselves, and counts by others, without notice.
        let observed = match kind {
            Kind::Mutex => mx::LOCKED,
            Kind::RwLock => rw::WRITER,
            _ if access.mode == Mode::Shared => 0,
            _ => u64::MAX,
        };
        self.values = mix(self.values, access.before & observed);
        self.values = mix(self.values, access.after & observed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn repetition(digests: &[u64]) -> Option<(usize, usize)> {
        Repetition::of(&iterations(digests)).map(|found| (found.transient, found.period))
    }

    fn iterations(digests: &[u64]) -> Vec<Iteration> {
        let iteration = |&digest| Iteration {
            site: 0,
            digest,
            stack: 0,
            is_single: true,
        };
        digests.iter().map(iteration).collect()
    }

    /// An address on the stack may change where operations do not.
    #[test]
    fn what_seemed_to_repeat_holds_as_long_as_operations_do() {
        let mut sequence = iterations(&[5, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1]);
        let seemed = Repetition::with_stack(&sequence[..6]).unwrap();
        assert_eq!((seemed.transient, seemed.period), (1, 2));
        for one in &mut sequence[8..] {
            one.stack = 7;
        }
        assert_ne!(Repetition::with_stack(&sequence), Some(seemed));
        assert!(seemed.holds(&sequence));
        sequence[11].digest = 3;
        assert!(!seemed.holds(&sequence));
    }

    #[test]
    fn what_repeats_is_found() {
        assert_eq!(repetition(&[7; 10]), Some((0, 1)));
        assert_eq!(repetition(&[1, 2, 7, 7, 7, 7, 7, 7]), Some((2, 1)));
        assert_eq!(repetition(&[1, 2, 1, 2, 1, 2, 1, 2]), Some((0, 2)));
        // Two equal iterations are no period.
        assert_eq!(
            repetition(&[1, 1, 2, 1, 1, 2, 1, 1, 2, 1, 1, 2]),
            Some((0, 3))
        );
        assert_eq!(repetition(&[5, 1, 1, 2, 1, 1, 2, 1, 1, 2]), Some((1, 3)));
        assert_eq!(repetition(&[1, 2, 3, 4, 5, 6]), None);
        assert_eq!(repetition(&[1, 2, 3, 4, 5, 5]), None);
        assert_eq!(repetition(&[]), None);
    }
}
