//! [`Interned`]: numbers for 64-bit values, each value once.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::StoreFull;
use crate::count::Alone;
use crate::family::{Family, Word};
use crate::hash::{mix, upper};
use crate::lines::{Claim, Lines, Probe};
use crate::pages::{Pages, Reader};

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
    next: Alone<AtomicU64>,
}

/// What one worker knows of values.
pub(crate) struct Own<'i, F: Family> {
    interned: &'i Interned<F>,
    /// A number that was taken and not used.
    spare: Option<u32>,
    values: Reader<'i, F::Word>,
}

impl<F: Family> Interned<F> {
    pub(crate) fn new() -> Self {
        Self {
            values: Pages::new(),
            next: Alone(AtomicU64::new(0)),
        }
    }

    /// How many numbers were taken.
    pub(crate) fn taken(&self) -> usize {
        self.next.0.load(Ordering::Relaxed) as usize
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

    /// What a worker begins with.
    pub(crate) fn own(&self) -> Own<'_, F> {
        Own {
            interned: self,
            spare: None,
            values: self.values.reader(),
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

impl<F: Family> Own<'_, F> {
    /// The value of a number.
    #[inline]
    pub(crate) fn get(&mut self, number: u32) -> u64 {
        self.values.get(number as usize).peek()
    }

    /// The number of a value, which gets one if it has none.
    #[inline]
    pub(crate) fn number(&mut self, index: &Lines<F::Word>, value: u64) -> Result<u32, Refused> {
        let hash = upper(mix(value));
        match index.probe(hash, |entry| upper(entry) == hash) {
            Some(Probe { entry, .. }) if entry != 0 => {
                let number = number_of(entry);
                match self.get(number) == value {
                    true => Ok(number),
                    false => self.number_further(index, value),
                }
            }
            _ => self.add(index, value),
        }
    }

    /// The same, if another value with the same bits of the hash comes first.
    #[cold]
    fn number_further(&mut self, index: &Lines<F::Word>, value: u64) -> Result<u32, Refused> {
        match self.interned.find(index, value) {
            Some(number) => Ok(number),
            None => self.add(index, value),
        }
    }

    fn add(&mut self, index: &Lines<F::Word>, value: u64) -> Result<u32, Refused> {
        let interned = self.interned;
        if interned.taken() >= index.room() {
            return Err(Refused::Crowded);
        }
        let new = match self.spare {
            Some(number) => number,
            None => {
                let number = interned.next.0.fetch_add(1, Ordering::Relaxed);
                if number >= MOST {
                    interned.next.0.fetch_sub(1, Ordering::Relaxed);
                    return Err(Refused::Full);
                }
                *self.spare.insert(number as u32)
            }
        };
        let place = interned.values.make(new as usize, || F::Word::new(0));
        place.put(value);
        let hash = upper(mix(value));
        let entry = u64::from(hash) << 32 | u64::from(new + 1);
        match index.find_or_claim(hash, interned.is_at(hash, value), || entry) {
            Claim::Claimed => {
                self.spare = None;
                Ok(new)
            }
            Claim::Found(entry) => Ok(number_of(entry)),
            Claim::Full => Err(Refused::Crowded),
        }
    }
}

fn number_of(entry: u64) -> u32 {
    entry as u32 - 1
}
