//! What a thread's local state depends on: its causal past.
//!
//! The local state of a thread is determined by its own steps, by their alternatives, and by what they found; and what they found, in locations and in
//! the data that these protect, is determined by the steps that they come after. So two executions in which these are the same leave the thread in the same
//! local state. A hash of them stands for it, which no order of independent steps changes.

use raddle_schedule::{LocationId, Mode, ValuedAccess};

use crate::rt::hash::mix;

/// The causal past of a step, or of a thread's last step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Past(u64);

impl Past {
    /// Somebody wakes or starts the thread.
    #[inline]
    pub(in crate::rt) fn comes_after(&mut self, other: Self) {
        self.0 = mix(self.0, other.0);
    }
}

#[cfg(test)]
impl Past {
    pub(super) fn of(number: u32) -> Self {
        Self(number.into())
    }
}

/// The causal past of what is in each location: the steps that have changed it.
#[derive(Debug, Default)]
pub(crate) struct Pasts(Vec<Changes>);

/// The steps that have changed what is in a location: the last one of [`Mode::Write`], and those of [`Mode::Shared`] since, in any order.
#[derive(Clone, Copy, Debug, Default)]
struct Changes {
    written: u64,
    shared: u64,
}

impl Pasts {
    pub(in crate::rt) fn begin(&mut self) {
        self.0.clear();
    }

    /// Where executions are graphs: what is read next in a location depends on this.
    pub(in crate::rt) fn set(&mut self, at: LocationId, past: Past) {
        if self.0.len() <= at.index() {
            self.0.resize(at.index() + 1, Changes::default());
        }
        self.0[at.index()] = Changes {
            written: past.0,
            shared: 0,
        };
    }

    /// A thread with this past makes a step.
    #[inline]
    pub(in crate::rt) fn step(
        &mut self,
        thread: &mut Past,
        choice: u32,
        accesses: &[ValuedAccess],
    ) {
        let mut past = mix(thread.0, 1 + u64::from(choice));
        for access in accesses {
            if self.0.len() <= access.location.index() {
                self.0
                    .resize(access.location.index() + 1, Changes::default());
            }
            let found = self.0[access.location.index()];
            past = mix(past, found.written);
            // Changes that commute are not told apart by who came first.
            if access.mode != Mode::Shared {
                past = mix(past, found.shared);
            }
        }
        for access in accesses {
            let found = &mut self.0[access.location.index()];
            match access.mode {
                Mode::Read => {}
                Mode::Shared => found.shared = found.shared.wrapping_add(past | 1),
                Mode::Write => {
                    *found = Changes {
                        written: past,
                        shared: 0,
                    }
                }
            }
        }
        thread.0 = past;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn access(at: u32, mode: Mode) -> ValuedAccess {
        ValuedAccess {
            location: LocationId(at),
            mode,
            before: 0,
            after: 0,
        }
    }

    /// The pasts of two threads whose steps are made in this order.
    fn pasts(steps: &[(usize, ValuedAccess)]) -> [Past; 2] {
        let (mut all, mut threads) = (Pasts::default(), [Past::default(); 2]);
        for &(thread, access) in steps {
            all.step(&mut threads[thread], 0, &[access]);
        }
        threads
    }

    #[test]
    fn every_step_counts() {
        let read = access(0, Mode::Read);
        assert_ne!(pasts(&[(0, read)])[0], Past::default());
        assert_ne!(pasts(&[(0, read)])[0], pasts(&[(0, read), (0, read)])[0]);
    }

    #[test]
    fn it_is_what_comes_before_and_not_what_happens_beside() {
        let (write, read) = (access(0, Mode::Write), access(0, Mode::Read));
        let elsewhere = access(1, Mode::Write);
        assert_eq!(
            pasts(&[(0, write), (1, elsewhere)]),
            pasts(&[(1, elsewhere), (0, write)])
        );
        assert_ne!(
            pasts(&[(0, write), (1, read)])[1],
            pasts(&[(1, read), (0, write)])[1]
        );
        // Who writes does not learn who has read.
        assert_eq!(
            pasts(&[(0, write), (1, read)])[0],
            pasts(&[(1, read), (0, write)])[0]
        );
        let shared = access(0, Mode::Shared);
        assert_eq!(
            pasts(&[(0, shared), (1, shared), (0, read)]),
            pasts(&[(1, shared), (0, shared), (0, read)])
        );
        // Who reads what a lock protects comes after who has written it.
        assert_ne!(
            pasts(&[(0, write), (1, shared)])[1],
            pasts(&[(1, shared), (0, write)])[1]
        );
    }
}
