//! [`Tree`]: every word, every pair and every state once.
//!
//! A state is a binary tree. Its leaves are words, and words of one part are joined before parts are:
//! what changes together is near. Each word that occurs in some state has a number, and so has each pair of numbers
//! of nodes; equal subtrees of all states are kept once. The topmost pair, the *root*, has no number: it is 64 bits
//! and the name of the state. A state that shares its subtrees with others takes the 8 bytes of its root, in a
//! table that is 65 to 82 % full.
//!
//! Of a successor, only the paths to words that have changed are looked up; the rest is that of the state before.
//!
//! # Why it is exact
//!
//! A node is 32 bits that say what it is: a word, a pair of words or such pairs within a part, a pair of parts or
//! such pairs, an empty part, nothing. So the root determines the whole tree, and the words and parts of the state: different states have
//! different roots. Equal states have equal roots, because the shape of a tree is a function of the parts, and each word and each pair
//! has one number (`interned.rs`). And a root is in its [table](crate::lines) once.
//!
//! Words and pairs without a root can be left behind, by a state for which there was no room. They mean nothing.

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::family::{Family, Lock, Std};
use crate::hash::{mix, upper};
use crate::interned::{Interned, Refused, Spare};
use crate::lines::{Claim, Lines, Load};
use crate::parts::{Changed, Parts};
use crate::{Inserted, Memory, StateId, Store, StoreFull, Told, Worker};

mod queue;
mod shape;

use queue::Queue;
use shape::{Nodes, Source};

/// What a node is: its upper two bits. The others are a number, plus one, so that no node is zero.
mod node {
    const KIND: u32 = 30;

    /// A pair of nodes of parts.
    pub(super) const PARTS: u32 = 0;
    /// A word.
    pub(super) const WORD: u32 = 1;
    /// A pair of nodes of words of one part.
    pub(super) const WORDS: u32 = 2;
    const OTHER: u32 = 3;

    /// A part without words.
    pub(super) const EMPTY: u32 = OTHER << KIND | 1;
    /// Nothing.
    pub(super) const NOTHING: u32 = OTHER << KIND | 2;

    pub(super) fn new(kind: u32, number: u32) -> u32 {
        kind << KIND | (number + 1)
    }

    pub(super) fn kind(node: u32) -> u32 {
        node >> KIND
    }

    pub(super) fn number(node: u32) -> u32 {
        (node & ((1 << KIND) - 1)) - 1
    }
}

fn pair(left: u32, right: u32) -> u64 {
    u64::from(left) << 32 | u64::from(right)
}

fn hash_of(root: u64) -> u32 {
    upper(mix(root))
}

/// A set that keeps equal parts of states once.
pub struct Tree<F: Family = Std> {
    words: Interned<F>,
    pairs: Interned<F>,
    tables: F::Lock<Tables<F::Word>>,
    len: AtomicUsize,
    most: usize,
}

struct Tables<W> {
    words: Lines<W>,
    pairs: Lines<W>,
    roots: Lines<W>,
}

/// What has no room.
enum Crowded {
    Word(u64),
    Pair(u64),
    Root(u64),
}

impl<F: Family> Tree<F> {
    /// An empty set that takes at most that many states.
    #[must_use]
    pub fn with_limit(most: usize) -> Self {
        Self::with_tables(most, || Lines::new(Load::HEAVY))
    }

    /// An empty set over tables that are made by a function, for tests.
    #[must_use]
    pub fn with_tables(most: usize, new: impl Fn() -> Lines<F::Word>) -> Self {
        Self {
            words: Interned::new(),
            pairs: Interned::new(),
            tables: F::Lock::new(Tables {
                words: new(),
                pairs: new(),
                roots: new(),
            }),
            len: AtomicUsize::new(0),
            most,
        }
    }

    fn make_room(&self, crowded: &Crowded) {
        self.tables.write(|tables| match *crowded {
            Crowded::Word(word) => self.words.make_room(&mut tables.words, word),
            Crowded::Pair(pair) => self.pairs.make_room(&mut tables.pairs, pair),
            Crowded::Root(root) => {
                let roots = &mut tables.roots;
                if self.len() >= roots.room() || !roots.has_place(hash_of(root)) {
                    roots.grow(hash_of);
                }
            }
        });
    }
}

impl Default for Tree {
    fn default() -> Self {
        Self::with_limit(usize::MAX)
    }
}

impl<F: Family> Store for Tree<F> {
    fn name(&self) -> &'static str {
        "tree"
    }

    fn worker(&self) -> Box<dyn Worker + '_> {
        Box::new(TreeWorker {
            store: self,
            queue: Queue::default(),
            queued: Vec::new(),
            parents: vec![Nodes::default()],
            parent: 0,
            roots: Vec::new(),
            changed: Vec::new(),
            spare_word: Spare::default(),
            spare_pair: Spare::default(),
        })
    }

    fn clear(&mut self) {
        *self = Self::with_limit(self.most);
    }

    fn len(&self) -> usize {
        self.len.load(Ordering::Relaxed)
    }

    fn memory(&self) -> Memory {
        self.tables.read(|tables| {
            let words = self.words.memory_bytes() + tables.words.memory_bytes();
            let pairs = self.pairs.memory_bytes() + tables.pairs.memory_bytes();
            vec![
                ("states", tables.roots.memory_bytes()),
                ("pairs", pairs),
                ("words", words),
            ]
        })
    }

    fn for_each(&self, see: &mut dyn FnMut(StateId)) {
        self.tables.read(|tables| {
            let slots = (0..tables.roots.slot_bound()).map(|slot| tables.roots.slot(slot));
            slots
                .filter(|root| *root != 0)
                .for_each(|root| see(StateId(root)));
        });
    }

    fn index_bound(&self) -> usize {
        self.tables.read(|tables| tables.roots.slot_bound())
    }

    fn index(&self, id: StateId) -> usize {
        let find = |tables: &Tables<_>| tables.roots.find(hash_of(id.0), |root| root == id.0);
        self.tables.read(find).expect("the state is there").0
    }

    fn at(&self, index: usize) -> StateId {
        StateId(self.tables.read(|tables| tables.roots.slot(index)))
    }
}

struct TreeWorker<'s, F: Family> {
    store: &'s Tree<F>,
    queue: Queue,
    /// Of each queued state, the state before it and what has changed since.
    queued: Vec<(usize, Changed)>,
    /// The states that were begun since the last flush; the first one is nothing.
    parents: Vec<Nodes>,
    parent: usize,
    /// The roots of queued states, as far as they are known.
    roots: Vec<Result<u64, StoreFull>>,
    /// The words of the current state that have changed.
    changed: Vec<u32>,
    spare_word: Spare,
    spare_pair: Spare,
}

/// Numbers for what is new.
struct Adding<'a, F: Family> {
    store: &'a Tree<F>,
    tables: &'a Tables<F::Word>,
    spare_word: &'a mut Spare,
    spare_pair: &'a mut Spare,
    crowded: Option<Crowded>,
}

impl<F: Family> Source for Adding<'_, F> {
    type Refused = StoreFull;

    #[inline]
    fn word(&mut self, word: u64) -> Result<u32, StoreFull> {
        let number = (self.store.words).number(&self.tables.words, self.spare_word, word);
        number.map_err(|refused| {
            if let Refused::Crowded = refused {
                self.crowded = Some(Crowded::Word(word));
            }
            StoreFull
        })
    }

    #[inline]
    fn pair(&mut self, pair: u64) -> Result<u32, StoreFull> {
        let number = (self.store.pairs).number(&self.tables.pairs, self.spare_pair, pair);
        number.map_err(|refused| {
            if let Refused::Crowded = refused {
                self.crowded = Some(Crowded::Pair(pair));
            }
            StoreFull
        })
    }
}

/// Numbers that are there.
struct Looking<'a, F: Family> {
    store: &'a Tree<F>,
    tables: &'a Tables<F::Word>,
}

/// A word or pair of a state is in no other.
struct Absent;

impl<F: Family> Source for Looking<'_, F> {
    type Refused = Absent;

    fn word(&mut self, word: u64) -> Result<u32, Absent> {
        let found = self.store.words.find(&self.tables.words, word);
        found.ok_or(Absent)
    }

    fn pair(&mut self, pair: u64) -> Result<u32, Absent> {
        let found = self.store.pairs.find(&self.tables.pairs, pair);
        found.ok_or(Absent)
    }
}

impl<F: Family> TreeWorker<'_, F> {
    /// Finds the roots of queued states until a table must grow.
    fn find_roots(&mut self, tables: &Tables<F::Word>) -> Option<Crowded> {
        while self.roots.len() < self.queue.len() {
            let number = self.roots.len();
            let state = self.queue.get(number);
            let (parent, changed) = self.queued[number];
            let before = &self.parents[parent];
            let reuses = before.note_changes(state, changed, &mut self.changed);
            let mut adding = Adding {
                store: self.store,
                tables,
                spare_word: &mut self.spare_word,
                spare_pair: &mut self.spare_pair,
                crowded: None,
            };
            let root = shape::root(&mut adding, state, reuses.then_some(before), &self.changed);
            if adding.crowded.is_some() {
                return adding.crowded;
            }
            if let Ok(root) = root {
                tables.roots.prefetch(hash_of(root));
            }
            self.roots.push(root);
        }
        None
    }

    fn insert_root(&self, tables: &Tables<F::Word>, root: u64) -> Option<crate::Insertion> {
        let claim = (tables.roots).find_or_claim(hash_of(root), |there| there == root, || root);
        match claim {
            Claim::Full => None,
            Claim::Found(_) => Some(Ok((StateId(root), Inserted::Known))),
            Claim::Claimed => {
                // Of all that were added, those that were first count: exactly as many as there
                // is room for.
                if self.store.len.fetch_add(1, Ordering::Relaxed) >= self.store.most {
                    self.store.len.fetch_sub(1, Ordering::Relaxed);
                    return Some(Err(StoreFull));
                }
                Some(Ok((StateId(root), Inserted::New)))
            }
        }
    }

    /// Inserts queued states from a number on, until all are or a table must grow.
    fn insert(
        &mut self,
        tables: &Tables<F::Word>,
        next: &mut usize,
        told: &mut Told<'_>,
    ) -> Option<Crowded> {
        let crowded = self.find_roots(tables);
        if crowded.is_some() {
            return crowded;
        }
        while *next < self.roots.len() {
            let insertion = match self.roots[*next] {
                Err(full) => Err(full),
                Ok(root) if self.store.len() >= tables.roots.room() => {
                    return Some(Crowded::Root(root));
                }
                Ok(root) => match self.insert_root(tables, root) {
                    Some(insertion) => insertion,
                    None => return Some(Crowded::Root(root)),
                },
            };
            told(*next, self.queue.get(*next).words, insertion);
            *next += 1;
        }
        None
    }
}

impl<F: Family> Worker for TreeWorker<'_, F> {
    fn read(&mut self, id: StateId, words: &mut Vec<u64>) {
        words.clear();
        shape::read(&self.store.words, &self.store.pairs, id.0, words);
    }

    fn begin(&mut self, id: StateId, words: &mut Vec<u64>) {
        if self.queued.is_empty() {
            self.parent = 0;
        }
        self.parent += 1;
        if self.parent == self.parents.len() {
            self.parents.push(Nodes::default());
        }
        let parent = &mut self.parents[self.parent];
        parent.descend(&self.store.words, &self.store.pairs, id.0);
        words.clear();
        words.extend_from_slice(&parent.words);
    }

    fn queue(&mut self, state: Parts<'_>, changed: Changed) {
        self.queue.push(state);
        self.queued.push((self.parent, changed));
    }

    fn queued(&self) -> usize {
        self.queue.len()
    }

    fn flush(&mut self, told: &mut Told<'_>) {
        let store = self.store;
        let mut next = 0;
        while let Some(crowded) = (store.tables).read(|tables| self.insert(tables, &mut next, told))
        {
            store.make_room(&crowded);
        }
        self.queue.clear();
        self.queued.clear();
        self.roots.clear();
        // The state that was begun last may have more successors.
        self.parents.swap(1.min(self.parent), self.parent);
        self.parent = self.parent.min(1);
    }

    fn find(&mut self, state: Parts<'_>) -> Option<StateId> {
        self.store.tables.read(|tables| {
            let mut looking = Looking {
                store: self.store,
                tables,
            };
            let root = shape::root(&mut looking, state, None, &[]).ok()?;
            let is_it = |there| there == root;
            let found = tables.roots.find(hash_of(root), is_it);
            found.map(|_| StateId(root))
        })
    }
}
