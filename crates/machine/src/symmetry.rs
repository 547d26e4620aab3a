//! Which threads are interchangeable, and representatives of states in which they are exchanged.
//!
//! [Interchangeable](raddle_explore::symmetry) are threads of `run` that start with the same function and the same arguments, if nothing that they can
//! execute asks for `tid` or spawns threads, and the program declares no disciplines. Then their positions
//! are in two places of a state only: their words are where their position says, and locks name who holds them. (Nobody has a
//! value that refers to a thread of `run`. Waiting is a phase of the one who waits, and whoever wakes one
//! of several can choose any of them.) So an exchange moves their words and renames owners.
//!
//! The representative has the threads of a group in the order of their local states: of the words of their areas where states have a fixed
//! size, and if these are the same, of the locks that they hold. That is a total order but for threads that can be exchanged without a change, so copies of a state
//! have the same representative. Where there is a heap, references to it do not count, because objects are named by a walk through the threads; then copies may
//! have several representatives, which is sound, and they are more states than necessary.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use crate::native::{Field, Layout, codes, lock_slots};
use crate::op::Op;
use crate::program::Program;
use crate::state::{State, header};
use crate::word::{self, Reference};

/// The threads of `run` that can be exchanged with others, in groups.
#[derive(Clone, Debug)]
pub struct Symmetry {
    groups: Vec<Vec<usize>>,
    /// For each thread of `run`, its group and its number there.
    members: Vec<Option<(usize, usize)>>,
    /// How to exchange them in states of the fixed size.
    packed: Option<Exchange>,
}

impl Symmetry {
    /// The symmetry of a program; none if no two threads are interchangeable.
    #[must_use]
    pub fn of(program: &Program) -> Option<Self> {
        let mut groups = groups(program);
        // What objects are called depends on the order of threads.
        let layout = Layout::of(program).filter(|layout| layout.heap.is_none());
        if let Some(layout) = &layout {
            groups.retain(|group| can_be_exchanged(program, layout, group));
        }
        if groups.is_empty() {
            return None;
        }
        let mut members = vec![None; program.hir.starts.len()];
        for (number, group) in groups.iter().enumerate() {
            for (index, thread) in group.iter().enumerate() {
                members[*thread] = Some((number, index));
            }
        }
        Some(Self {
            packed: layout.map(|layout| Exchange::new(program, &layout, &groups)),
            groups,
            members,
        })
    }

    /// The positions of interchangeable threads, in groups.
    #[must_use]
    pub fn groups(&self) -> &[Vec<usize>] {
        &self.groups
    }

    /// Whether the thread at a position can be exchanged with another one.
    #[must_use]
    #[inline]
    pub fn has(&self, thread: usize) -> bool {
        self.members.get(thread).is_some_and(Option::is_some)
    }

    /// Whether the threads at two positions are interchangeable.
    #[must_use]
    pub fn joins(&self, one: usize, other: usize) -> bool {
        let mut groups = self.groups.iter();
        groups.any(|group| group.contains(&one) && group.contains(&other))
    }

    /// Whether threads can be exchanged in the words of states of the fixed size.
    #[must_use]
    #[inline]
    pub fn exchanges_words(&self) -> bool {
        self.packed.is_some()
    }

    /// Exchanges threads in the words of a state of the fixed size. Says whether that changed anything.
    ///
    /// # Panics
    ///
    /// If threads [cannot](Self::exchanges_words) be exchanged in words.
    #[inline]
    pub fn represent(&mut self, words: &mut [u64]) -> bool {
        let packed = self.packed.as_mut().expect("there is a fixed size");
        packed.represent(&self.members, words)
    }

    /// Where the thread at a position was put when threads were last exchanged in words.
    #[must_use]
    pub fn moved_to(&self, thread: usize) -> usize {
        let packed = self.packed.as_ref().expect("there is a fixed size");
        packed.moved_to(thread)
    }

    /// Sorts the positions of threads, those of each group among themselves, by the local states of the threads.
    pub(crate) fn sort(&self, program: &Program, state: &State, threads: &mut [usize]) {
        for group in &self.groups {
            let is_in_group = |thread: &usize| group.contains(thread);
            let places: Vec<usize> = (0..threads.len())
                .filter(|place| is_in_group(&threads[*place]))
                .collect();
            let mut sorted: Vec<usize> = places.iter().map(|place| threads[*place]).collect();
            sorted.sort_by(|one, other| compare(program, state, *one, *other));
            for (place, thread) in places.into_iter().zip(sorted) {
                threads[place] = thread;
            }
        }
    }
}

/// The threads that start in the same way and do not ask who they are.
fn groups(program: &Program) -> Vec<Vec<usize>> {
    let disciplined = program.rules.are_there() || !program.hir.exclusives.is_empty();
    if disciplined {
        return Vec::new();
    }
    let mut groups: BTreeMap<(u32, Vec<i64>), Vec<usize>> = BTreeMap::new();
    for (position, start) in program.hir.starts.iter().enumerate() {
        let arguments = start.arguments.iter();
        let arguments = arguments.map(|value| crate::compile::initial_word(*value));
        let key = (start.function.0, arguments.collect());
        groups.entry(key).or_default().push(position);
    }
    let mut groups: Vec<_> = groups.into_iter().collect();
    groups.retain(|((function, _), group)| {
        group.len() > 1 && !asks_who_it_is(program, *function as usize)
    });
    groups.into_iter().map(|(_, group)| group).collect()
}

/// Whether something that a function executes depends on which thread it is, or is about threads.
fn asks_who_it_is(program: &Program, function: usize) -> bool {
    let mut called = vec![function];
    let mut next = 0;
    while next < called.len() {
        let function = &program.functions[called[next]];
        for op in &program.code[function.entry as usize..function.end as usize] {
            match op {
                Op::Tid { .. } | Op::Spawn { .. } => return true,
                Op::Call { function, .. } if !called.contains(&usize::from(*function)) => {
                    called.push((*function).into());
                }
                _ => {}
            }
        }
        next += 1;
    }
    false
}

/// Whether the areas of the threads of a group can be exchanged, and their names where they can be.
fn can_be_exchanged(program: &Program, layout: &Layout, group: &[usize]) -> bool {
    let first = group[0];
    let alike = |thread: &usize| {
        layout.area_bytes[*thread] == layout.area_bytes[first]
            && layout.thread_constants[*thread] == layout.thread_constants[first]
    };
    let mut locks = lock_slots(program).iter();
    let named = |field: Field| {
        let [.., threads, objects] = codes(field.wide);
        group
            .iter()
            .all(|thread| (*thread as i64) < objects - threads)
    };
    group.iter().all(alike) && locks.all(|slot| named(layout.slots[*slot as usize]))
}

/// Compares the local states of two threads, but for references, and if these are the same, the global locks that they hold.
fn compare(program: &Program, state: &State, one: usize, other: usize) -> Ordering {
    let local = |thread: usize| {
        let words = state.thread(thread).iter().enumerate();
        words
            .filter(|(index, _)| *index != header::TID)
            .map(|(_, word)| match word::is_renamable(*word) {
                false => *word,
                true => match Reference::of(*word) {
                    Reference::Heap(_, offset) => word::heap(word::Name::canonical(0), offset),
                    _ => word::thread(word::Name::canonical(0)),
                },
            })
    };
    let held = |thread: usize| {
        let me = word::thread(state.threads[thread].name);
        let slots = lock_slots(program).iter();
        slots.filter(move |slot| state.words[**slot as usize] == me)
    };
    let by_state = local(one).cmp(local(other));
    by_state.then_with(|| held(one).cmp(held(other)))
}

/// How to exchange threads in states of the fixed size, and room for that.
#[derive(Clone, Debug)]
struct Exchange {
    groups: Vec<Areas>,
    locks: Vec<Lock>,
    /// Of each thread of a group, what is compared: its area, and which locks it holds.
    keys: Vec<u64>,
    order: Vec<usize>,
    /// Where threads were put, if some were exchanged.
    moved_to: Vec<usize>,
    exchanged: bool,
}

/// Where the owner of a lock is, and the codes of threads there.
#[derive(Clone, Debug)]
struct Lock {
    field: Field,
    codes: std::ops::Range<u64>,
}

/// The areas of a group.
#[derive(Clone, Debug)]
struct Areas {
    threads: Vec<usize>,
    /// Their first bytes.
    starts: Vec<u32>,
    bytes: u32,
}

/// Groups of at most that many threads with small areas are sorted without further ado.
const FEW: usize = 8;

impl Exchange {
    fn new(program: &Program, layout: &Layout, groups: &[Vec<usize>]) -> Self {
        let areas = |group: &Vec<usize>| Areas {
            threads: group.clone(),
            starts: group.iter().map(|thread| layout.areas[*thread]).collect(),
            bytes: layout.area_bytes[group[0]],
        };
        let lock = |slot: &u32| {
            let field = layout.slots[*slot as usize];
            let [.., threads, objects] = codes(field.wide);
            let codes = threads as u64..objects as u64;
            Lock { field, codes }
        };
        Self {
            groups: groups.iter().map(areas).collect(),
            locks: lock_slots(program).iter().map(lock).collect(),
            keys: Vec::new(),
            order: Vec::new(),
            moved_to: vec![0; layout.run_threads()],
            exchanged: false,
        }
    }

    fn moved_to(&self, thread: usize) -> usize {
        match (self.exchanged, self.moved_to.get(thread)) {
            (true, Some(place)) => *place,
            // Threads that were spawned stay where they are.
            _ => thread,
        }
    }

    #[inline]
    fn represent(&mut self, members: &[Option<(usize, usize)>], words: &mut [u64]) -> bool {
        self.exchanged = false;
        for number in 0..self.groups.len() {
            let group = &self.groups[number];
            let is_small = group.bytes <= 8 && group.starts.len() <= FEW;
            match is_small && self.locks.is_empty() {
                true => self.sort_few(number, words),
                false => self.sort(number, members, words),
            }
        }
        if self.exchanged {
            for lock in &self.locks {
                if let Some(owner) = lock.owner(words)
                    && let Some(place) = self.moved_to.get(owner)
                {
                    let code = lock.codes.start + *place as u64;
                    put(words, lock.field.byte, 1 + u32::from(lock.field.wide), code);
                }
            }
        }
        self.exchanged
    }

    /// Sorts a group of few threads, each of which has a small area and can hold no lock.
    #[inline]
    fn sort_few(&mut self, number: usize, words: &mut [u64]) {
        let group = &self.groups[number];
        let mut keys = [(0, 0); FEW];
        let keys = &mut keys[..group.starts.len()];
        let mut is_sorted = true;
        let mut last = 0;
        for (index, start) in group.starts.iter().enumerate() {
            let key = take(words, *start, group.bytes);
            keys[index] = (key, index as u32);
            is_sorted &= last <= key;
            last = key;
        }
        if is_sorted {
            return;
        }
        // Mostly one of them has moved.
        for sorted in 1..keys.len() {
            let mut place = sorted;
            while place > 0 && keys[place].0 < keys[place - 1].0 {
                keys.swap(place, place - 1);
                place -= 1;
            }
        }
        note_exchange(&mut self.exchanged, &mut self.moved_to);
        for (place, (key, index)) in keys.iter().enumerate() {
            if place as u32 != *index {
                self.moved_to[group.threads[*index as usize]] = group.threads[place];
                put(words, group.starts[place], group.bytes, *key);
            }
        }
    }

    fn sort(&mut self, number: usize, members: &[Option<(usize, usize)>], words: &mut [u64]) {
        let group = &self.groups[number];
        let length = group.key_words();
        self.keys.clear();
        for start in &group.starts {
            group.for_each_chunk(|offset, bytes| {
                self.keys.push(take(words, start + offset, bytes));
            });
            self.keys.push(0);
        }
        for (bit, lock) in self.locks.iter().enumerate() {
            if let Some((of, index)) = lock.owner(words).and_then(|owner| *members.get(owner)?)
                && of == number
            {
                self.keys[index * length + length - 1] |= 1 << bit.min(63);
            }
        }
        if self.keys.chunks_exact(length).is_sorted() {
            return;
        }
        let key = |index: &usize| &self.keys[index * length..][..length];
        self.order.clear();
        self.order.extend(0..group.starts.len());
        // It is stable, and there are few.
        self.order.sort_by(|one, other| key(one).cmp(key(other)));
        note_exchange(&mut self.exchanged, &mut self.moved_to);
        for (place, index) in self.order.iter().enumerate() {
            self.moved_to[group.threads[*index]] = group.threads[place];
            let mut chunks = key(index).iter();
            group.for_each_chunk(|offset, bytes| {
                let chunk = chunks.next().expect("a key has all chunks");
                put(words, group.starts[place] + offset, bytes, *chunk);
            });
        }
    }
}

/// From now on it is written down where threads are put.
fn note_exchange(exchanged: &mut bool, moved_to: &mut [usize]) {
    if !std::mem::replace(exchanged, true) {
        for (place, moved_to) in moved_to.iter_mut().enumerate() {
            *moved_to = place;
        }
    }
}

impl Lock {
    /// The position of the thread that holds it.
    #[inline]
    fn owner(&self, words: &[u64]) -> Option<usize> {
        let code = u64::from(Layout::code(self.field, words));
        let owner = || (code - self.codes.start) as usize;
        self.codes.contains(&code).then(owner)
    }
}

impl Areas {
    /// How many words a key has: the last one is for locks.
    fn key_words(&self) -> usize {
        self.bytes.div_ceil(8) as usize + 1
    }

    /// Calls `see` for each stretch of at most eight bytes, with its offset and its length.
    #[inline]
    fn for_each_chunk(&self, mut see: impl FnMut(u32, u32)) {
        let mut offset = 0;
        while offset < self.bytes {
            see(offset, (self.bytes - offset).min(8));
            offset += 8;
        }
    }
}

/// At most eight bytes of a state.
#[inline]
fn take(words: &[u64], byte: u32, bytes: u32) -> u64 {
    let (word, shift) = ((byte / 8) as usize, byte % 8 * 8);
    let mut taken = words[word] >> shift;
    if shift + 8 * bytes > 64 {
        taken |= words[word + 1] << (64 - shift);
    }
    taken & (u64::MAX >> (64 - 8 * bytes))
}

/// Puts at most eight bytes in place of those of a state.
#[inline]
fn put(words: &mut [u64], byte: u32, bytes: u32, value: u64) {
    let (word, shift) = ((byte / 8) as usize, byte % 8 * 8);
    let mask = u64::MAX >> (64 - 8 * bytes);
    words[word] = words[word] & !(mask << shift) | value << shift;
    if shift + 8 * bytes > 64 {
        let beyond = 64 - shift;
        words[word + 1] = words[word + 1] & !(mask >> beyond) | value >> beyond;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_put_where_they_are_taken() {
        let before = [0x1111_1111_1111_1111_u64, 0x2222_2222_2222_2222];
        for byte in 0..8 {
            for bytes in 1..=8 {
                let mut words = before;
                let value = 0xFEDC_BA98_7654_3210 & (u64::MAX >> (64 - 8 * bytes));
                put(&mut words, byte, bytes, value);
                assert_eq!(take(&words, byte, bytes), value);
                let old = take(&before, byte, bytes);
                put(&mut words, byte, bytes, old);
                assert_eq!(words, before);
            }
        }
    }
}
