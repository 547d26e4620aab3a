//! [`Count`]: how many states a store has, and how many it may have.
//!
//! Several workers count at the same time. A word that each of them changes for every state goes to and fro between their caches, and with it whatever is in
//! the same line. So it is [alone](Alone) in its line, and a worker adds what it has counted when its batch is inserted: meanwhile it keeps a [`Tally`].
//! Only where there is a limit, each state counts at once, so that exactly as many are counted as there is room for.

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::StoreFull;

/// A value that shares its line of the cache with no other. Two lines, since processors fetch them in pairs.
#[repr(align(128))]
pub(crate) struct Alone<T>(pub(crate) T);

/// The number of states in a store, and the most that there may be.
pub(crate) struct Count {
    states: Alone<AtomicUsize>,
    most: usize,
}

impl Count {
    pub(crate) const fn up_to(most: usize) -> Self {
        Self {
            states: Alone(AtomicUsize::new(0)),
            most,
        }
    }

    /// How many states there are, but for those of batches that are being inserted.
    #[inline]
    pub(crate) fn states(&self) -> usize {
        self.states.0.load(Ordering::Relaxed)
    }

    pub(crate) const fn most(&self) -> usize {
        self.most
    }

    const fn is_limited(&self) -> bool {
        self.most < usize::MAX
    }

    pub(crate) const fn tally(&self) -> Tally<'_> {
        Tally {
            count: self,
            before: 0,
            own: 0,
        }
    }
}

/// What one worker counts.
pub(crate) struct Tally<'c> {
    count: &'c Count,
    /// How many states there were when it began.
    before: usize,
    /// How many it has counted since, which nobody else knows of.
    own: usize,
}

impl Tally<'_> {
    /// Says that a batch is inserted from now on, or that the table has grown.
    pub(crate) fn begin(&mut self) {
        self.before = self.count.states();
    }

    /// Says that a batch is inserted, or that the table must grow first.
    pub(crate) fn end(&mut self) {
        if self.own > 0 {
            self.count.states.0.fetch_add(self.own, Ordering::Relaxed);
            self.before += self.own;
            self.own = 0;
        }
    }

    /// How many states there are, as far as this worker knows.
    #[inline]
    pub(crate) fn states(&self) -> usize {
        match self.count.is_limited() {
            true => self.count.states(),
            false => self.before + self.own,
        }
    }

    /// Counts a state. Of all that are counted, those that are first count: exactly as many as there is room for.
    #[inline]
    pub(crate) fn add(&mut self) -> Result<(), StoreFull> {
        if !self.count.is_limited() {
            self.own += 1;
            return Ok(());
        }
        let states = &self.count.states.0;
        if states.fetch_add(1, Ordering::Relaxed) >= self.count.most {
            states.fetch_sub(1, Ordering::Relaxed);
            return Err(StoreFull);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_exactly_as_many_as_there_is_room_for() {
        let count = Count::up_to(1000);
        let counted: usize = std::thread::scope(|scope| {
            let workers: Vec<_> = (0..4)
                .map(|_| {
                    scope.spawn(|| {
                        let mut tally = count.tally();
                        tally.begin();
                        let counted = (0..400).filter(|_| tally.add().is_ok()).count();
                        tally.end();
                        counted
                    })
                })
                .collect();
            workers.into_iter().map(|w| w.join().unwrap()).sum()
        });
        assert_eq!((counted, count.states()), (1000, 1000));
    }

    #[test]
    fn adds_what_was_counted_when_the_batch_ends() {
        let count = Count::up_to(usize::MAX);
        let [mut one, mut other] = [count.tally(), count.tally()];
        one.begin();
        other.begin();
        one.add().unwrap();
        other.add().unwrap();
        other.add().unwrap();
        assert_eq!((one.states(), other.states(), count.states()), (1, 2, 0));
        one.end();
        other.end();
        assert_eq!(count.states(), 3);
        one.begin();
        assert_eq!(one.states(), 3);
    }
}
