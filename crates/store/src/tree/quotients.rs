//! [`Quotients`]: a set of roots that keeps no bits that follow from where a root is.
//!
//! # How a root is kept
//!
//! 1. *Classes.* A root is a pair of numbers, and numbers are given one after another: most have few bits. Roots are sorted into classes by how
//!    many bits their halves have, in steps of two. Each class has its own table, and its roots are *keys* of just so many bits.
//! 2. *Quotients.* A key is mixed by a bijection between numbers of so many bits. The upper part of what comes out says in
//!    which line of the table the key is (its *home*), and only the *remainder* is kept there, plus one: zero is no entry. A line is one cache line, and holds
//!    as many remainders as fit.
//! 3. *Overflow.* A root whose home is full is kept whole, in a second table of its class.
//!
//! # Why it is exact
//!
//! A root determines its class and its key there, and the other way round; a key determines its home and remainder, and the other way round, since
//! the mixing can be undone. So a remainder in a line stands for one root only, and a root in the overflow is whole.
//!
//! # Why each root is there once
//!
//! Whatever is done about a root is done under the lock of its home: a root is looked for in its home, and if that is full, in the overflow; it is added, after
//! it was looked for once more, by whoever holds the lock alone. So two threads never add one root, and none looks at half of an entry.
//! A line that is full stays so until the table grows. It grows only while nobody else looks at it (`&mut self`), in place: a key's home is
//! `mixed * lines / 2^bits`, which never gets smaller when there are more lines, so lines are taken from the last to the first, and their
//! keys put where they belong now, which is there or further back.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::{hash_of, node};
use crate::count::Alone;
use crate::family::{Family, Lock, Word};
use crate::lines::{Claim, Lines, growth};
use crate::prefetch::prefetch;

/// Words of a line.
const LINE: usize = 8;
const LINE_BITS: usize = 512;
const FEWEST_LINES: usize = 4;
/// How full a table gets before it grows, in percent.
const MOST_LOAD: usize = 82;
/// What is added to a table that is not small, in percent.
const GROWTH: usize = 17;
const SMALL: usize = 1 << 10;
/// Locks of homes. Each is that of many.
const LOCKS: usize = 256;

/// Classes per half of a root: up to 0, 2, ... 32 bits.
const WIDTHS: usize = 17;
const FEWEST_BITS: u32 = 16;

/// What became of a root that was to be in the set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Entered {
    New,
    Known,
    /// A table must grow first.
    Crowded,
}

/// A set of roots.
pub(super) struct Quotients<F: Family> {
    classes: Vec<Option<Class<F>>>,
    locks: Box<[F::Lock<()>]>,
    /// All indices are below this one.
    index_bound: usize,
    budget: usize,
}

/// The class of a root, and its key in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Key {
    class: usize,
    key: u64,
}

fn half_width(half: u32) -> usize {
    (32 - half.leading_zeros()).div_ceil(2) as usize
}

/// The halves of a root. Most are those of states that have a form, and have small numbers without its mark.
fn halves(root: u64) -> (u32, u32) {
    ((root >> 32) as u32 ^ node::FORMED, root as u32)
}

fn key_of(root: u64) -> Key {
    let (left, right) = halves(root);
    let (left_width, right_width) = (half_width(left), half_width(right));
    Key {
        class: left_width * WIDTHS + right_width,
        key: u64::from(left) << (2 * right_width) | u64::from(right),
    }
}

fn root_of(Key { class, key }: Key) -> u64 {
    let right_bits = 2 * (class % WIDTHS) as u32;
    let left = (key >> right_bits) as u32 ^ node::FORMED;
    let right = key as u32 & (1_u64.wrapping_shl(right_bits)).wrapping_sub(1) as u32;
    super::pair(left, right)
}

/// How many bits the keys of a class have.
fn bits_of(class: usize) -> u32 {
    (2 * (class / WIDTHS + class % WIDTHS) as u32).max(FEWEST_BITS)
}

/// A bijection between numbers of so many bits.
#[derive(Clone, Copy, Debug)]
struct Mixer {
    bits: u32,
}

const FACTORS: [u64; 2] = [0xbf58_476d_1ce4_e5b9, 0x94d0_49bb_1331_11eb];
/// What undoes a multiplication, modulo any power of two.
const INVERSES: [u64; 2] = [inverse(FACTORS[0]), inverse(FACTORS[1])];

const fn inverse(odd: u64) -> u64 {
    // Each step doubles the number of bits that are right; three are right at first.
    let mut inverse = odd;
    let mut right = 3;
    while right < 64 {
        inverse = inverse.wrapping_mul(2_u64.wrapping_sub(odd.wrapping_mul(inverse)));
        right *= 2;
    }
    inverse
}

impl Mixer {
    fn mask(self) -> u64 {
        u64::MAX >> (64 - self.bits)
    }

    /// Undone by itself: the upper half of the bits is not changed.
    fn shift(self, value: u64) -> u64 {
        value ^ value >> self.bits.div_ceil(2)
    }

    fn mix(self, key: u64) -> u64 {
        let once = self.shift(key).wrapping_mul(FACTORS[0]) & self.mask();
        let twice = self.shift(once).wrapping_mul(FACTORS[1]) & self.mask();
        self.shift(twice)
    }

    fn undo(self, mixed: u64) -> u64 {
        let once = self.shift(mixed).wrapping_mul(INVERSES[1]) & self.mask();
        let twice = self.shift(once).wrapping_mul(INVERSES[0]) & self.mask();
        self.shift(twice)
    }
}

/// How keys are spread over lines.
#[derive(Clone, Copy, Debug)]
struct Spread {
    mixer: Mixer,
    homes: usize,
    /// Bits of a remainder, plus one.
    width: usize,
    /// Remainders of a line.
    slots: usize,
}

impl Spread {
    fn new(bits: u32, homes: usize) -> Self {
        let most = (1_u128 << bits).div_ceil(homes as u128);
        // Up to `most` itself. A table of one line has no smaller remainders than its keys.
        let width = (128 - most.leading_zeros()) as usize;
        debug_assert!(width <= 64, "there are at least {FEWEST_LINES} lines");
        Self {
            mixer: Mixer { bits },
            homes,
            width,
            slots: LINE_BITS / width,
        }
    }

    /// The home of a key, and what is kept there.
    #[inline]
    fn place(&self, key: u64) -> (usize, u64) {
        self.place_mixed(self.mixer.mix(key))
    }

    #[inline]
    fn home(&self, key: u64) -> usize {
        let product = u128::from(self.mixer.mix(key)) * self.homes as u128;
        (product >> self.mixer.bits) as usize
    }

    #[inline]
    fn place_mixed(&self, mixed: u64) -> (usize, u64) {
        let product = u128::from(mixed) * self.homes as u128;
        let home = (product >> self.mixer.bits) as usize;
        // Every key of a home adds as much as there are homes to what is left of the product.
        let rest = product as u64 & self.mixer.mask();
        (home, rest / self.homes as u64 + 1)
    }

    /// The first mixed key of a home.
    fn first_of(&self, home: usize) -> u64 {
        ((home as u128) << self.mixer.bits).div_ceil(self.homes as u128) as u64
    }

    fn mixed(&self, first: u64, kept: u64) -> u64 {
        first + (kept - 1)
    }

    fn room(&self) -> usize {
        self.homes * self.slots * MOST_LOAD / 100
    }

    /// What is in a slot of a line.
    #[inline]
    fn get(&self, line: &[u64; LINE], slot: usize) -> u64 {
        let (word, shift) = (slot * self.width / 64, slot * self.width % 64);
        let mut kept = line[word] >> shift;
        if shift + self.width > 64 {
            kept |= line[word + 1] << (64 - shift);
        }
        kept & (u64::MAX >> (64 - self.width))
    }

    fn put<W: Word>(&self, line: &[W], slot: usize, kept: u64) {
        let (word, shift) = (slot * self.width / 64, slot * self.width % 64);
        line[word].put(line[word].peek() | kept << shift);
        if shift + self.width > 64 {
            line[word + 1].put(line[word + 1].peek() | kept >> (64 - shift));
        }
    }

    /// The slot of what is looked for, or the first that is empty; all are taken by others if it is nothing.
    #[inline]
    fn look(&self, line: &[u64; LINE], kept: u64) -> Option<(usize, bool)> {
        let mask = u64::MAX >> (64 - self.width);
        let mut bit = 0;
        for slot in 0..self.slots {
            let (word, shift) = (bit / 64 % LINE, bit % 64);
            // What is beyond the slot is masked; behind the last word there is none.
            let next = line[(word + 1) % LINE];
            let there = (line[word] >> shift | next << 1 << (63 - shift)) & mask;
            if there == kept || there == 0 {
                return Some((slot, there == kept));
            }
            bit += self.width;
        }
        None
    }
}

struct Class<F: Family> {
    spread: Spread,
    words: Vec<F::Word>,
    len: Alone<AtomicUsize>,
    overflow: Lines<F::Word>,
    overflowed: AtomicUsize,
    /// The index of the first slot of the first line. Those of the overflow are behind those of the lines.
    first_index: usize,
}

impl<F: Family> Class<F> {
    fn new(bits: u32) -> Self {
        let spread = Spread::new(bits, FEWEST_LINES);
        let mut words = Vec::new();
        words.resize_with(FEWEST_LINES * LINE, || F::Word::new(0));
        Self {
            spread,
            words,
            len: Alone(AtomicUsize::new(0)),
            overflow: Lines::with_homes(1, 1),
            overflowed: AtomicUsize::new(0),
            first_index: 0,
        }
    }

    fn memory_bytes(&self) -> usize {
        self.words.capacity() * size_of::<F::Word>() + self.overflow.memory_bytes()
    }

    /// The slot of a root in the overflow.
    fn slot_over(&self, root: u64) -> Option<usize> {
        let found = self.overflow.find(hash_of(root), |there| there == root);
        found.map(|(slot, _)| slot)
    }

    /// Whether the overflow must grow before another is added.
    fn is_over_crowded(&self) -> bool {
        self.overflowed.load(Ordering::Relaxed) >= self.overflow.room()
    }

    fn roots_over(&self) -> impl Iterator<Item = u64> {
        let slots = (0..self.overflow.slot_bound()).map(|slot| self.overflow.slot(slot));
        slots.filter(|root| *root != 0)
    }

    fn enter_over(&self, root: u64) -> Entered {
        if self.is_over_crowded() {
            return match self.slot_over(root) {
                Some(_) => Entered::Known,
                None => Entered::Crowded,
            };
        }
        match (self.overflow).find_or_claim(hash_of(root), |there| there == root, || root) {
            Claim::Found(_) => Entered::Known,
            Claim::Full => Entered::Crowded,
            Claim::Claimed => {
                self.overflowed.fetch_add(1, Ordering::Relaxed);
                Entered::New
            }
        }
    }

    fn line(&self, home: usize) -> &[F::Word] {
        &self.words[home * LINE..(home + 1) * LINE]
    }

    fn copy(&self, home: usize) -> [u64; LINE] {
        let line = self.line(home);
        std::array::from_fn(|word| line[word].peek())
    }

    fn is_crowded(&self) -> bool {
        self.len.0.load(Ordering::Relaxed) >= self.spread.room()
    }

    /// The mixed keys of a line.
    fn mixed_of(&self, home: usize) -> impl Iterator<Item = u64> {
        let (line, first) = (self.copy(home), self.spread.first_of(home));
        let slots = (0..self.spread.slots).map(move |slot| self.spread.get(&line, slot));
        let kept = slots.take_while(|kept| *kept != 0);
        kept.map(move |kept| self.spread.mixed(first, kept))
    }

    /// Adds a mixed key while nobody else looks. Says no if its home is full.
    fn put(&self, mixed: u64) -> bool {
        let (home, kept) = self.spread.place_mixed(mixed);
        match self.spread.look(&self.copy(home), kept) {
            Some((slot, false)) => {
                self.spread.put(self.line(home), slot, kept);
                true
            }
            found => {
                debug_assert!(found.is_none(), "every key is there once");
                false
            }
        }
    }

    /// Slots of all lines.
    fn slots(&self) -> usize {
        self.spread.homes * self.spread.slots
    }

    /// Makes more lines.
    fn grow(&mut self, budget: usize, class: usize) {
        let old = self.spread;
        let homes = match old.homes < SMALL {
            true => 2 * old.homes,
            false => old.homes + old.homes * growth(GROWTH, self.memory_bytes(), budget) / 100,
        };
        let mut over: Vec<u64> = self.roots_over().collect();
        self.overflow = Lines::with_homes(1, 1);
        *self.overflowed.get_mut() = 0;
        self.words.reserve_exact((homes - old.homes) * LINE);
        self.words.resize_with(homes * LINE, || F::Word::new(0));
        let new = Spread::new(old.mixer.bits, homes);
        let root = |mixed| {
            let key = new.mixer.undo(mixed);
            root_of(Key { class, key })
        };
        let mut mixed = Vec::new();
        for home in (0..old.homes).rev() {
            self.spread = old;
            mixed.extend(self.mixed_of(home));
            self.line(home).iter().for_each(|word| word.put(0));
            self.spread = new;
            let full = mixed.drain(..).filter(|mixed| !self.put(*mixed));
            over.extend(full.map(root));
        }
        // Those whose home was full may find room now.
        over.retain(|root| !self.put(new.mixer.mix(key_of(*root).key)));
        for root in over {
            while self.enter_over(root) == Entered::Crowded {
                self.overflow.grow(hash_of);
            }
        }
    }
}

impl<F: Family> Quotients<F> {
    pub(super) fn new() -> Self {
        Self {
            classes: (0..WIDTHS * WIDTHS).map(|_| None).collect(),
            locks: (0..LOCKS).map(|_| F::Lock::new(())).collect(),
            index_bound: 0,
            budget: usize::MAX,
        }
    }

    pub(super) fn set_budget(&mut self, bytes: usize) {
        self.budget = bytes;
    }

    fn lock(&self, home: usize) -> &F::Lock<()> {
        &self.locks[home % LOCKS]
    }

    fn class(&self, class: usize) -> Option<&Class<F>> {
        self.classes[class].as_ref()
    }

    pub(super) fn prefetch(&self, root: u64) {
        let key = key_of(root);
        if let Some(class) = self.class(key.class) {
            prefetch(&class.line(class.spread.home(key.key))[0]);
        }
    }

    pub(super) fn contains(&self, root: u64) -> bool {
        let key = key_of(root);
        self.class(key.class).is_some_and(|class| {
            let (home, kept) = class.spread.place(key.key);
            self.is_at(class, home, kept, root)
        })
    }

    fn is_at(&self, class: &Class<F>, home: usize, kept: u64, root: u64) -> bool {
        self.lock(home)
            .read(|()| match class.spread.look(&class.copy(home), kept) {
                Some((_, found)) => found,
                None => class.slot_over(root).is_some(),
            })
    }

    pub(super) fn enter(&self, root: u64) -> Entered {
        let key = key_of(root);
        let Some(class) = self.class(key.class) else {
            return Entered::Crowded;
        };
        let (home, kept) = class.spread.place(key.key);
        if self.is_at(class, home, kept, root) {
            return Entered::Known;
        }
        if class.is_crowded() {
            return Entered::Crowded;
        }
        let entered =
            self.lock(home)
                .write(|()| match class.spread.look(&class.copy(home), kept) {
                    Some((_, true)) => Entered::Known,
                    Some((slot, false)) => {
                        class.spread.put(class.line(home), slot, kept);
                        Entered::New
                    }
                    None => class.enter_over(root),
                });
        if entered == Entered::New {
            class.len.0.fetch_add(1, Ordering::Relaxed);
        }
        entered
    }

    /// Makes room for a root, if there is none.
    pub(super) fn make_room(&mut self, root: u64) {
        let class = key_of(root).class;
        let table = self.classes[class].get_or_insert_with(|| Class::new(bits_of(class)));
        if table.is_crowded() {
            table.grow(self.budget, class);
        } else if table.is_over_crowded() || !table.overflow.has_place(hash_of(root)) {
            table.overflow.grow(hash_of);
        }
        self.set_indices();
    }

    pub(super) fn for_each(&self, see: &mut dyn FnMut(u64)) {
        for (class, table) in self.classes.iter().enumerate() {
            for table in table.iter() {
                for home in 0..table.spread.homes {
                    for mixed in table.mixed_of(home) {
                        let key = table.spread.mixer.undo(mixed);
                        see(root_of(Key { class, key }));
                    }
                }
                table.roots_over().for_each(&mut *see);
            }
        }
    }

    /// Gives indices to all slots again, after a table has grown.
    fn set_indices(&mut self) {
        let mut next = 0;
        for class in self.classes.iter_mut().flatten() {
            class.first_index = next;
            next += class.slots() + class.overflow.slot_bound();
        }
        self.index_bound = next;
    }

    pub(super) fn index_bound(&self) -> usize {
        self.index_bound
    }

    pub(super) fn index(&self, root: u64) -> Option<usize> {
        let key = key_of(root);
        let table = self.class(key.class)?;
        let (home, kept) = table.spread.place(key.key);
        match table.spread.look(&table.copy(home), kept) {
            Some((slot, found)) => {
                found.then_some(table.first_index + home * table.spread.slots + slot)
            }
            None => {
                let slot = table.slot_over(root)?;
                Some(table.first_index + table.slots() + slot)
            }
        }
    }

    /// The root with an index.
    pub(super) fn at(&self, index: usize) -> u64 {
        let tables = self.classes.iter().enumerate().rev();
        let mut tables = tables.filter_map(|(class, table)| Some((class, table.as_ref()?)));
        let (class, table) = tables
            .find(|(_, table)| table.first_index <= index)
            .expect("there is a state with that index");
        let index = index - table.first_index;
        if let Some(slot) = index.checked_sub(table.slots()) {
            return table.overflow.slot(slot);
        }
        let (home, slot) = (index / table.spread.slots, index % table.spread.slots);
        let kept = table.spread.get(&table.copy(home), slot);
        assert_ne!(kept, 0, "there is a state with that index");
        let mixed = table.spread.mixed(table.spread.first_of(home), kept);
        let key = table.spread.mixer.undo(mixed);
        root_of(Key { class, key })
    }

    pub(super) fn memory_bytes(&self) -> usize {
        let classes = self.classes.iter().flatten();
        classes.map(Class::memory_bytes).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::family::Std;
    use crate::hash::mix;
    use std::collections::HashSet;

    #[test]
    fn mixing_can_be_undone() {
        for bits in FEWEST_BITS..=64 {
            let mixer = Mixer { bits };
            for number in 0..1000 {
                let key = mix(number) & mixer.mask();
                assert!(mixer.mix(key) <= mixer.mask());
                assert_eq!(mixer.undo(mixer.mix(key)), key);
            }
        }
    }

    #[test]
    fn a_root_and_its_key_determine_each_other() {
        for number in 0..100_000_u64 {
            let root = mix(number) >> (number % 64);
            for root in [root, root ^ u64::from(node::FORMED) << 32] {
                let key = key_of(root);
                assert_eq!(root_of(key), root);
                assert!(
                    key.key
                        <= Mixer {
                            bits: bits_of(key.class)
                        }
                        .mask()
                );
            }
        }
    }

    #[test]
    fn a_place_and_a_key_determine_each_other() {
        for bits in [16, 17, 31, 40, 63, 64] {
            for homes in [4, 5, 7, 1000, 65_535] {
                let spread = Spread::new(bits, homes);
                for number in 0..1000 {
                    let edge = u64::MAX - number;
                    for mixed in [mix(number), number, edge].map(|m| m & spread.mixer.mask()) {
                        let (home, kept) = spread.place_mixed(mixed);
                        assert!(home < homes && kept > 0 && kept >> (spread.width - 1) <= 1);
                        let first = spread.first_of(home);
                        assert_eq!(spread.mixed(first, kept), mixed);
                    }
                }
            }
        }
    }

    #[test]
    fn holds_what_was_put_in_while_it_grows() {
        let mut quotients = Quotients::<Std>::new();
        let mut known = HashSet::new();
        for number in 0..60_000_u64 {
            // Some of few bits, some of many, some twice.
            let number = number % 50_000;
            let root = match number % 3 {
                0 => super::super::pair(node::formed(number as u32 / 70), number as u32 % 70 + 1),
                1 => mix(number),
                _ => super::super::pair(node::formed(number as u32), 77),
            };
            let entered = loop {
                match quotients.enter(root) {
                    Entered::Crowded => quotients.make_room(root),
                    entered => break entered,
                }
            };
            assert_eq!(entered == Entered::New, known.insert(root));
        }
        let mut all = HashSet::new();
        quotients.for_each(&mut |root| assert!(all.insert(root)));
        assert_eq!(all, known);
        let mut indices = HashSet::new();
        for &root in &known {
            assert!(quotients.contains(root));
            let index = quotients.index(root).unwrap();
            assert!(index < quotients.index_bound() && indices.insert(index));
            assert_eq!(quotients.at(index), root);
        }
        assert!(quotients.index(mix(1 << 40)).is_none());
    }
}
