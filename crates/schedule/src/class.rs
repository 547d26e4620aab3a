//! Happens-before classes, as numbers.
//!
//! An event is known by its thread, its number in the thread, the alternative it took, and the events that it
//! directly comes after; a class is the set of its events. (Section 3.3 of the paper on context-bounded search has the
//! variable and the number of the last write instead of those events. They say the same, but variables
//! would need names that do not depend on the schedule.) The hash of a class is the sum of the hashes of its events, so that
//! it can be computed step by step, in any order, and back.
//!
//! The hashes have 128 bits: among 10^12 different classes, two of the same hash occur with a probability of
//! 10^-15.

use crate::execution::{Move, Observed, ThreadId};
use crate::trace::{Cut, Trace};

/// The hash of a set of events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ClassHash(pub u128);

impl ClassHash {
    /// The set with one event more.
    #[must_use]
    pub fn with(self, event: Self) -> Self {
        Self(self.0.wrapping_add(event.0))
    }

    /// The hash of an event together with one that it comes after, and what that was joined with before.
    pub(crate) fn after(self, earlier: Self) -> Self {
        Self(mix(self.0.wrapping_add(mix(earlier.0))))
    }

    /// The set with one event less.
    #[must_use]
    pub fn without(self, event: Self) -> Self {
        Self(self.0.wrapping_sub(event.0))
    }
}

/// The class of an execution.
#[must_use]
pub fn class_of(trace: &Trace) -> ClassHash {
    (0..trace.len()).fold(ClassHash::default(), |class, event| {
        class.with(event_hash(trace, event))
    })
}

/// The hash of an event of a trace.
#[must_use]
pub fn event_hash(trace: &Trace, event: usize) -> ClassHash {
    let mut after = 0;
    let mut access = 0;
    while let Some((_, mut blocks)) = trace.access(event, access) {
        if let Some((_, members)) = blocks.next_block(trace) {
            after = members.fold(after, |after, earlier| name_after(trace, earlier, after));
        }
        access += 1;
    }
    let Some(known) = trace.events().get(event) else {
        return ClassHash::default();
    };
    finish(known.step, known.number, after)
}

/// The hash that the next step of a thread has, if it is made after the events of a cut and touches this.
#[must_use]
pub fn next_event_hash(trace: &Trace, cut: &Cut, next: Move, step: &Observed) -> ClassHash {
    let mut after = 0;
    for access in &step.accesses {
        for earlier in trace.conflicting_at(access.location, access.mode, cut) {
            after = name_after(trace, earlier, after);
        }
    }
    finish(next, cut.count(next.thread), after)
}

/// A hash that says which step of which thread it is, and nothing more.
pub(crate) fn step_hash(thread: ThreadId, number: u32) -> ClassHash {
    ClassHash(mix(name(thread, number)))
}

fn name_after(trace: &Trace, earlier: usize, sum: u128) -> u128 {
    let earlier = &trace.events()[earlier];
    sum.wrapping_add(mix(name(earlier.thread(), earlier.number)))
}

fn finish(step: Move, number: u32, after: u128) -> ClassHash {
    let name = name(step.thread, number);
    ClassHash(mix(
        mix(name ^ (u128::from(step.choice) << 64)).wrapping_add(after)
    ))
}

fn name(thread: ThreadId, number: u32) -> u128 {
    (u128::from(thread.0) << 32) | u128::from(number)
}

/// Two rounds of a multiplication that every bit of the result depends on.
fn mix(value: u128) -> u128 {
    const FIRST: u128 = 0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835;
    const SECOND: u128 = 0xbf58_476d_1ce4_e5b9_94d0_49bb_1331_11eb;
    let mut value = value.wrapping_add(FIRST).wrapping_mul(FIRST);
    value ^= value >> 67;
    value = value.wrapping_mul(SECOND);
    value ^= value >> 61;
    value = value.wrapping_mul(FIRST);
    value ^ (value >> 64)
}
