//! [`Interned`]: numbers for 64-bit values, each value once.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::StoreFull;
use crate::family::{Family, Word};
use crate::hash::{mix, upper};
use crate::lines::{Claim, Lines};
use crate::pages::Pages;

/// Numbers are below this.
const MOST: u64 = (1 << 30) - 8;

/// Why a value has no number yet.
pub(crate) enum Refused {
    /// The table must grow first.
    Crowded,
    /// There is no number left.
    Full,
}

impl From<StoreFull> for Refused {
    fn from(StoreFull: StoreFull) -> Self {
        Self::Full
    }
}

/// Values by their numbers. The table from values to numbers is kept apart, because it is locked while it grows.
///
/// A value is written in its place before somebody claims a slot of the table for its number. So by the claim about
/// [`Lines`], each value has one number, and whoever finds the number can read the value.
pub(crate) struct Interned<F: Family> {
    values: Pages<F::Word>,
    next: AtomicU64,
}

/// A number that one worker has taken and not used.
#[derive(Default)]
pub(crate) struct Spare(Option<u32>);

impl<F: Family> Interned<F> {
    pub(crate) fn new() -> Self {
        Self {
            values: Pages::new(),
            next: AtomicU64::new(0),
        }
    }

    /// How many numbers were taken.
    pub(crate) fn taken(&self) -> usize {
        self.next.load(Ordering::Relaxed) as usize
    }

    /// The value of a number.
    #[inline]
    pub(crate) fn get(&self, number: u32) -> u64 {
        self.values.get(number as usize).peek()
    }

    fn is_at(&self, hash: u32, value: u64) -> impl Fn(u64) -> bool {
        move |entry| upper(entry) == hash && self.get(number_of(entry)) == value
    }

    /// The number of a value, if it has one.
    #[inline]
    pub(crate) fn find(&self, index: &Lines<F::Word>, value: u64) -> Option<u32> {
        let hash = upper(mix(value));
        let found = index.find(hash, self.is_at(hash, value));
        found.map(|(_, entry)| number_of(entry))
    }

    /// The number of a value, which gets one if it has none.
    #[inline]
    pub(crate) fn number(
        &self,
        index: &Lines<F::Word>,
        spare: &mut Spare,
        value: u64,
    ) -> Result<u32, Refused> {
        match self.find(index, value) {
            Some(number) => Ok(number),
            None => self.add(index, spare, value),
        }
    }

    fn add(&self, index: &Lines<F::Word>, spare: &mut Spare, value: u64) -> Result<u32, Refused> {
        if self.taken() >= index.room() {
            return Err(Refused::Crowded);
        }
        let new = match spare.0 {
            Some(number) => number,
            None => {
                let number = self.next.fetch_add(1, Ordering::Relaxed);
                if number >= MOST {
                    self.next.fetch_sub(1, Ordering::Relaxed);
                    return Err(Refused::Full);
                }
                *spare.0.insert(number as u32)
            }
        };
        let place = self.values.make(new as usize, || F::Word::new(0));
        place.put(value);
        let hash = upper(mix(value));
        let entry = u64::from(hash) << 32 | u64::from(new + 1);
        match index.find_or_claim(hash, self.is_at(hash, value), || entry) {
            Claim::Claimed => {
                spare.0 = None;
                Ok(new)
            }
            Claim::Found(entry) => Ok(number_of(entry)),
            Claim::Full => Err(Refused::Crowded),
        }
    }

    /// Makes room in the table if there is none for that value.
    pub(crate) fn make_room(&self, index: &mut Lines<F::Word>, value: u64) {
        if self.taken() >= index.room() || !index.has_place(upper(mix(value))) {
            index.grow(upper);
        }
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        self.values.memory_bytes(self.taken())
    }
}

fn number_of(entry: u64) -> u32 {
    entry as u32 - 1
}
