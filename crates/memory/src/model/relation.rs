//! [`Relation`]: a relation between numbers, as a matrix of bits.

/// A relation on the numbers below some number.
#[derive(Clone)]
pub(super) struct Relation {
    size: usize,
    /// Words of a row.
    words: usize,
    bits: Vec<u64>,
}

/// A set of numbers.
#[derive(Clone)]
pub(super) struct Set(Vec<bool>);

impl Set {
    pub(super) fn new(size: usize, contains: impl Fn(usize) -> bool) -> Self {
        Self((0..size).map(contains).collect())
    }

    pub(super) fn and(&self, other: &Self) -> Self {
        Self::new(self.0.len(), |i| self.0[i] && other.0[i])
    }

    /// `[S]`.
    pub(super) fn identity(&self) -> Relation {
        let mut relation = Relation::new(self.0.len());
        for (i, _) in self.0.iter().enumerate().filter(|(_, is_in)| **is_in) {
            relation.add(i, i);
        }
        relation
    }
}

impl Relation {
    pub(super) fn new(size: usize) -> Self {
        let words = size.div_ceil(64);
        Self {
            size,
            words,
            bits: vec![0; size * words],
        }
    }

    pub(super) fn of(size: usize, relates: impl Fn(usize, usize) -> bool) -> Self {
        let mut relation = Self::new(size);
        for from in 0..size {
            for to in (0..size).filter(|&to| relates(from, to)) {
                relation.add(from, to);
            }
        }
        relation
    }

    pub(super) fn add(&mut self, from: usize, to: usize) {
        self.bits[from * self.words + to / 64] |= 1 << (to % 64);
    }

    pub(super) fn has(&self, from: usize, to: usize) -> bool {
        self.bits[from * self.words + to / 64] >> (to % 64) & 1 == 1
    }

    fn combine(&self, other: &Self, with: impl Fn(u64, u64) -> u64) -> Self {
        let bits = self.bits.iter().zip(&other.bits);
        Self {
            bits: bits.map(|(&one, &other)| with(one, other)).collect(),
            ..*self
        }
    }

    pub(super) fn or(&self, other: &Self) -> Self {
        self.combine(other, |one, other| one | other)
    }

    pub(super) fn and(&self, other: &Self) -> Self {
        self.combine(other, |one, other| one & other)
    }

    pub(super) fn minus(&self, other: &Self) -> Self {
        self.combine(other, |one, other| one & !other)
    }

    /// Adds what a number is related to, to what another one is.
    fn add_row(&mut self, to: usize, other: &Self, from: usize) {
        for word in 0..self.words {
            self.bits[to * self.words + word] |= other.bits[from * self.words + word];
        }
    }

    /// `self ; other`.
    pub(super) fn then(&self, other: &Self) -> Self {
        let mut composed = Self::new(self.size);
        for from in 0..self.size {
            for word in 0..self.words {
                let mut middles = self.bits[from * self.words + word];
                while middles != 0 {
                    let middle = 64 * word + middles.trailing_zeros() as usize;
                    composed.add_row(from, other, middle);
                    middles &= middles - 1;
                }
            }
        }
        composed
    }

    pub(super) fn inverse(&self) -> Self {
        Self::of(self.size, |from, to| self.has(to, from))
    }

    /// `self⁺`.
    pub(super) fn closure(mut self) -> Self {
        let mut row = vec![0; self.words];
        for middle in 0..self.size {
            row.copy_from_slice(&self.bits[middle * self.words..][..self.words]);
            for from in (0..self.size).filter(|&from| from != middle) {
                if self.has(from, middle) {
                    let bits = &mut self.bits[from * self.words..][..self.words];
                    for (bits, row) in bits.iter_mut().zip(&row) {
                        *bits |= row;
                    }
                }
            }
        }
        self
    }

    /// `self?`.
    pub(super) fn or_identity(&self) -> Self {
        self.or(&Set::new(self.size, |_| true).identity())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.bits.iter().all(|&word| word == 0)
    }

    pub(super) fn is_irreflexive(&self) -> bool {
        (0..self.size).all(|i| !self.has(i, i))
    }

    pub(super) fn is_acyclic(&self) -> bool {
        self.clone().closure().is_irreflexive()
    }
}
