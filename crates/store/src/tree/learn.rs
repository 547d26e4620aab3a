//! Learning a [`Form`] from some states.
//!
//! A tree is small if its inner nodes have few different values. So bytes are put together whose values depend on each
//! other: four make a leaf, and leaves are joined, always those two groups that have the fewest values together, compared with
//! how many each of them has. How many values a group has is told from a sample by how often two states have the same (as in the birthday
//! paradox): in a sample of thousands, that tells millions of values from thousands, where counting would not.

use super::form::{Byte, Form, LEAF, NO_BYTE};

/// How many values may be looked at for all pairs of bytes together.
const EFFORT: usize = 4_000_000;
const FEWEST: usize = 512;
const MOST: usize = 4096;

/// Some states whose parts have the same ends.
#[derive(Clone, Debug, Default)]
pub struct Sample {
    ends: Vec<u32>,
    rows: Vec<Box<[u64]>>,
}

impl Sample {
    /// No state yet, of those whose parts have these ends.
    #[must_use]
    pub fn new(ends: &[u32]) -> Self {
        Self {
            ends: ends.to_vec(),
            rows: Vec::new(),
        }
    }

    /// How many states are enough.
    pub const ENOUGH: usize = MOST;

    /// How many states there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Adds a state, if its parts have the right ends.
    pub fn add(&mut self, state: crate::Parts<'_>) {
        if *self.ends == *state.ends {
            self.rows.push(state.words.into());
        }
    }

    /// A form for such states. Nothing if there are too few, or if they are too large or too small.
    #[must_use]
    pub fn form(mut self) -> Option<Form> {
        let words = *self.ends.last()? as usize;
        if self.rows.len() < FEWEST || words > Form::MOST_WORDS || words == 0 {
            return None;
        }
        let varying = (0..words * size_of::<u64>())
            .filter(|&byte| {
                (self.rows.iter()).any(|row| get(row, byte) != get(&self.rows[0], byte))
            })
            .count();
        let rows = EFFORT / (varying * varying / 2).max(1);
        self.rows.truncate(rows.clamp(FEWEST, MOST));
        let groups = (0..words * size_of::<u64>())
            .map(|byte| Group::of_byte(&self.rows, byte))
            .collect();
        let (leaves, groups) = leaves(groups);
        Form::new(&self.ends, leaves, join(groups))
    }
}

fn get(row: &[u64], byte: usize) -> u8 {
    (row[byte / 8] >> (byte % 8 * 8)) as u8
}

/// Bytes of a state.
#[derive(Clone, Debug)]
struct Group {
    bytes: Vec<Byte>,
    /// What it is in the tree.
    node: u8,
    leaves: usize,
    /// The number of its value in each state of the sample.
    values: Vec<u32>,
    /// The logarithm of how many values there are.
    variety: f64,
}

impl Group {
    fn of_byte(rows: &[Box<[u64]>], byte: usize) -> Self {
        let mut counter = Counter::default();
        let values = rows.iter().map(|row| counter.number(get(row, byte).into()));
        Self {
            bytes: vec![byte as Byte],
            node: 0,
            leaves: 1,
            values: values.collect(),
            variety: counter.variety(),
        }
    }

    fn is_constant(&self) -> bool {
        self.variety == 0.0
    }

    /// The lower, the better it is to join two groups.
    fn score(&self, other: &Self, counter: &mut Counter) -> f64 {
        let together = if self.is_constant() || other.is_constant() {
            self.variety.max(other.variety)
        } else {
            counter.clear();
            for (a, b) in self.values.iter().zip(&other.values) {
                counter.number(u64::from(*a) << 32 | u64::from(*b));
            }
            counter.variety()
        };
        together - (self.variety + other.variety) / 2.0
    }

    fn join(&self, other: &Self, node: u8, counter: &mut Counter) -> Self {
        counter.clear();
        let values = self.values.iter().zip(&other.values);
        let values = values.map(|(a, b)| counter.number(u64::from(*a) << 32 | u64::from(*b)));
        Self {
            bytes: [&*self.bytes, &*other.bytes].concat(),
            node,
            leaves: self.leaves + other.leaves,
            values: values.collect(),
            variety: counter.variety(),
        }
    }
}

/// Numbers different values, and counts how often two are the same.
#[derive(Default)]
struct Counter {
    slots: Vec<Counted>,
    different: u32,
    all: u64,
    pairs_alike: u64,
}

#[derive(Clone, Copy, Default)]
struct Counted {
    value: u64,
    number: u32,
    /// Zero if the slot is empty.
    times: u32,
}

impl Counter {
    fn clear(&mut self) {
        self.slots.fill(Counted::default());
        (self.different, self.all, self.pairs_alike) = (0, 0, 0);
    }

    fn number(&mut self, value: u64) -> u32 {
        if self.slots.is_empty() {
            self.slots.resize(2 * MOST, Counted::default());
        }
        self.all += 1;
        let mut slot = crate::hash::mix(value) as usize % self.slots.len();
        loop {
            let counted = &mut self.slots[slot];
            if counted.times == 0 {
                *counted = Counted {
                    value,
                    number: self.different,
                    times: 0,
                };
                self.different += 1;
            }
            if counted.value == value {
                self.pairs_alike += u64::from(counted.times);
                counted.times += 1;
                return counted.number;
            }
            slot = (slot + 1) % self.slots.len();
        }
    }

    /// The logarithm of how many values there seem to be. It is zero if there is one.
    fn variety(&self) -> f64 {
        let pairs = self.all * self.all.saturating_sub(1) / 2;
        match pairs - self.pairs_alike {
            0 => 0.0,
            _ => ((pairs as f64) / (self.pairs_alike as f64 + 0.5)).ln(),
        }
    }
}

/// Joins groups, always the best two that may be joined, until no two may be.
fn join_best(
    mut groups: Vec<Group>,
    may: impl Fn(&Group, &Group) -> bool,
    mut node: impl FnMut(&Group, &Group) -> u8,
) -> Vec<Group> {
    let mut counter = Counter::default();
    // The score of each group with each before it.
    let mut scores: Vec<Vec<f64>> = Vec::new();
    let mut score = |groups: &[Group], one: usize, other: usize| {
        let (one, other) = (&groups[one], &groups[other]);
        match may(one, other) {
            true => one.score(other, &mut counter),
            false => f64::INFINITY,
        }
    };
    for one in 0..groups.len() {
        scores.push((0..one).map(|other| score(&groups, one, other)).collect());
    }
    let mut joiner = Counter::default();
    loop {
        let pairs = (0..groups.len()).flat_map(|one| (0..one).map(move |other| (one, other)));
        let size = |(one, other): (usize, usize)| groups[one].leaves + groups[other].leaves;
        let best = pairs.min_by(|&a, &b| {
            let by_score = scores[a.0][a.1].total_cmp(&scores[b.0][b.1]);
            by_score.then_with(|| size(a).cmp(&size(b)))
        });
        let Some((one, other)) = best.filter(|&(one, other)| scores[one][other].is_finite()) else {
            return groups;
        };
        let node = node(&groups[other], &groups[one]);
        let joined = groups[other].join(&groups[one], node, &mut joiner);
        for gone in [one, other] {
            groups.remove(gone);
            scores.remove(gone);
            for row in &mut scores[gone..] {
                row.remove(gone);
            }
        }
        groups.push(joined);
        let last = groups.len() - 1;
        scores.push((0..last).map(|other| score(&groups, last, other)).collect());
    }
}

/// Leaves of all bytes, and their groups.
fn leaves(bytes: Vec<Group>) -> (Vec<[Byte; LEAF]>, Vec<Group>) {
    let (constant, varying): (Vec<_>, Vec<_>) = bytes.into_iter().partition(Group::is_constant);
    let fits = |one: &Group, other: &Group| one.bytes.len() + other.bytes.len() <= LEAF;
    let mut groups = join_best(varying, fits, |_, _| 0);
    // Bytes that have been constant so far fill up what is left.
    let mut rest = constant.into_iter();
    for group in &mut groups {
        let missing = LEAF - group.bytes.len();
        (group.bytes).extend(rest.by_ref().take(missing).flat_map(|group| group.bytes));
    }
    while let Some(mut group) = rest.next() {
        (group.bytes).extend(rest.by_ref().take(LEAF - 1).flat_map(|group| group.bytes));
        groups.push(group);
    }
    let mut leaves = Vec::new();
    for group in &mut groups {
        let mut leaf = [NO_BYTE; LEAF];
        leaf[..group.bytes.len()].copy_from_slice(&group.bytes);
        group.node = leaves.len() as u8;
        group.leaves = 1;
        leaves.push(leaf);
    }
    (leaves, groups)
}

/// The inner nodes of a tree of leaves.
fn join(leaves: Vec<Group>) -> Vec<(u8, u8)> {
    let count = leaves.len();
    let mut inner = Vec::new();
    join_best(
        leaves,
        |_, _| true,
        |one, other| {
            inner.push((one.node, other.node));
            (count + inner.len() - 1) as u8
        },
    );
    inner
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Packed;

    /// Four counters in one word, and a word for each of four threads that knows its counter.
    #[test]
    fn what_depends_on_each_other_is_near() {
        let mut sample: Option<Sample> = None;
        for number in 0..2000_u64 {
            let digits = [0, 1, 2, 3].map(|place| crate::hash::mix(number) >> (8 * place) & 7);
            let mut state = Packed::default();
            state.push((0..4).map(|place| digits[place] << (8 * place)).sum());
            state.end_part();
            for digit in digits {
                state.push(digit << 8 | 1);
                state.end_part();
            }
            let sample = sample.get_or_insert_with(|| Sample::new(state.parts().ends));
            sample.add(state.parts());
        }
        let groups = {
            let rows = &sample.as_ref().unwrap().rows;
            let bytes = (0..40).map(|byte| Group::of_byte(rows, byte)).collect();
            leaves(bytes).1
        };
        for group in groups.iter().filter(|group| !group.is_constant()) {
            let has = |byte: u16| group.bytes.contains(&byte);
            for digit in 0..4 {
                assert_eq!(has(digit), has(8 * (digit + 1) + 1), "{group:?}");
            }
        }
        assert!(sample.unwrap().form().is_some());
    }
}
