//! The worker of a [`Tree`].

use std::ops::Range;

use super::form::{self, Form, Formed};
use super::known::{KnownPairs, KnownRoots};
use super::quotients::Entered;
use super::shape::{self, Nodes, Source};
use super::{Crowded, Tables, Tree, is_formed};
use crate::batch::Batch;
use crate::count::Tally;
use crate::family::{Family, Lock};
use crate::interned::{Own, Refused};
use crate::parts::Parts;
use crate::{Inserted, StateId, StoreFull, Tell, Told, Worker};

pub(super) struct TreeWorker<'s, F: Family> {
    store: &'s Tree<F>,
    /// The states that were begun since the last flush; the first one is nothing.
    parents: Vec<Parent>,
    /// Which of them was begun last.
    parent: usize,
    /// Of how many states that are being inserted the roots were found, and those about which there is something to do or to tell.
    found: usize,
    sought: Vec<Sought>,
    known_roots: KnownRoots,
    /// The words of the current state that have changed.
    changed: Vec<u32>,
    /// The state that was read last, if it has the form.
    last_read: Formed,
    /// The nodes of the state that was queued last and has the form.
    nodes: Box<form::Nodes>,
    numbers: Numbers<'s, F>,
    /// The ends of the state that was looked at last, and the form if that fits.
    last_ends: Option<Range<u32>>,
    last_form: Option<&'s Form>,
    tally: Tally<'s>,
}

/// How a worker gets numbers of words and pairs.
struct Numbers<'s, F: Family> {
    words: Own<'s, F>,
    pairs: Own<'s, F>,
    known_pairs: KnownPairs,
    crowded: Option<Crowded>,
}

/// The root of a state of the batch.
struct Sought {
    number: usize,
    root: Result<u64, StoreFull>,
    /// Whether it was found before, so that it is in the set when it is its turn.
    is_known: bool,
}

/// A state that was begun: its nodes by the form, or others.
#[derive(Default)]
struct Parent {
    is_formed: bool,
    formed: Formed,
    other: Nodes,
}

/// Numbers for what is new.
struct Adding<'a, 's, F: Family> {
    tables: &'a Tables<F>,
    numbers: &'a mut Numbers<'s, F>,
}

impl<F: Family> Adding<'_, '_, F> {
    fn or_crowded(
        &mut self,
        number: Result<u32, Refused>,
        crowded: Crowded,
    ) -> Result<u32, StoreFull> {
        number.map_err(|refused| {
            if let Refused::Crowded = refused {
                self.numbers.crowded = Some(crowded);
            }
            StoreFull
        })
    }
}

impl<F: Family> Source for Adding<'_, '_, F> {
    type Refused = StoreFull;

    #[inline]
    fn word(&mut self, word: u64) -> Result<u32, StoreFull> {
        let number = self.numbers.words.number(&self.tables.words, word);
        self.or_crowded(number, Crowded::Word(word))
    }

    #[inline]
    fn pair(&mut self, pair: u64) -> Result<u32, StoreFull> {
        if let Some(number) = self.numbers.known_pairs.get(pair) {
            return Ok(number);
        }
        let number = self.numbers.pairs.number(&self.tables.pairs, pair);
        let number = self.or_crowded(number, Crowded::Pair(pair))?;
        self.numbers.known_pairs.put(pair, number);
        Ok(number)
    }
}

/// Numbers that are there.
struct Looking<'a, F: Family> {
    store: &'a Tree<F>,
    tables: &'a Tables<F>,
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

impl<'s, F: Family> TreeWorker<'s, F> {
    pub(super) fn new(store: &'s Tree<F>) -> Self {
        Self {
            store,
            parents: vec![Parent::default()],
            parent: 0,
            found: 0,
            sought: Vec::new(),
            known_roots: KnownRoots::new(),
            changed: Vec::new(),
            last_read: Formed::default(),
            nodes: Box::new([0; _]),
            numbers: Numbers {
                words: store.words.own(),
                pairs: store.pairs.own(),
                known_pairs: KnownPairs::new(),
                crowded: None,
            },
            last_ends: None,
            last_form: None,
            tally: store.count.tally(),
        }
    }

    fn form(&self) -> &'s Form {
        let form = self.store.form.as_ref();
        form.expect("only states of a store with a form have one")
    }

    /// The root of a state. Nothing if there is no room for it.
    #[inline]
    fn root_of(
        &mut self,
        tables: &Tables<F>,
        batch: &Batch,
        number: usize,
    ) -> Result<u64, StoreFull> {
        let state = batch.parts(number);
        let (changed, parent) = batch.changed(number);
        let before = &self.parents[parent];
        let mut adding = Adding {
            tables,
            numbers: &mut self.numbers,
        };
        let ends = batch.ends_of(number);
        if self.last_ends.as_ref() != Some(&ends) {
            self.last_ends = Some(ends);
            let form = self.store.form.as_ref();
            self.last_form = form.filter(|form| form.fits(state.ends));
        }
        let Some(form) = self.last_form else {
            let reuses =
                !before.is_formed && (before.other).note_changes(state, changed, &mut self.changed);
            let before = reuses.then_some(&before.other);
            return shape::root(&mut adding, state, before, &self.changed);
        };
        let mut words_before = None;
        if before.is_formed {
            before.formed.copy_to(&mut self.nodes);
            words_before = Some(&*before.formed.words);
        }
        form.root(&mut self.nodes, words_before, state.words, |pair| {
            adding.pair(pair)
        })
    }

    /// Finds the roots of states until a table must grow.
    fn find_roots(&mut self, tables: &Tables<F>, batch: &Batch, tell: Tell) -> Option<Crowded> {
        while self.found < batch.len() {
            let number = self.found;
            let root = self.root_of(tables, batch, number);
            if self.numbers.crowded.is_some() {
                return self.numbers.crowded.take();
            }
            self.found += 1;
            let is_known = root.is_ok_and(|root| self.known_roots.put(root));
            if let Ok(root) = root
                && !is_known
            {
                tables.roots.prefetch(root);
            }
            if tell == Tell::All || !is_known {
                self.sought.push(Sought {
                    number,
                    root,
                    is_known,
                });
            }
        }
        None
    }

    /// Inserts states, from one of those that are sought on, until all are or a table must grow.
    fn insert(
        &mut self,
        tables: &Tables<F>,
        batch: &Batch,
        next: &mut usize,
        tell: Tell,
        told: &mut Told<'_>,
    ) -> Option<Crowded> {
        let crowded = self.find_roots(tables, batch, tell);
        if crowded.is_some() {
            return crowded;
        }
        while let Some(sought) = self.sought.get(*next) {
            let insertion = match sought.root {
                Err(full) => Err(full),
                Ok(root) if sought.is_known => Ok((StateId(root), Inserted::Known)),
                Ok(root) => match tables.roots.enter(root, self.tally.states()) {
                    Entered::Crowded => return Some(Crowded::Root(root)),
                    Entered::Known => Ok((StateId(root), Inserted::Known)),
                    Entered::New => (self.tally.add()).map(|()| (StateId(root), Inserted::New)),
                },
            };
            if tell == Tell::All || !matches!(insertion, Ok((_, Inserted::Known))) {
                told(sought.number, batch.words(sought.number), insertion);
            }
            *next += 1;
        }
        None
    }
}

impl<F: Family> Worker for TreeWorker<'_, F> {
    fn read(&mut self, id: StateId, words: &mut Vec<u64>) {
        words.clear();
        if is_formed(id.0) {
            let form = self.form();
            self.last_read.go_to(form, &mut self.numbers.pairs, id.0);
            words.extend_from_slice(&self.last_read.words);
        } else {
            shape::read(&self.store.words, &self.store.pairs, id.0, words);
        }
    }

    fn begin(&mut self, id: StateId, batch: &mut Batch) {
        let (words, parent) = batch.begin();
        self.parent = parent;
        if self.parents.len() <= parent {
            self.parents.resize_with(parent + 1, Parent::default);
        }
        let is_formed = is_formed(id.0);
        self.parents[parent].is_formed = is_formed;
        if is_formed {
            self.read(id, words);
            self.parents[parent].formed.become_like(&self.last_read);
        } else {
            let parent = &mut self.parents[parent].other;
            parent.descend(&self.store.words, &self.store.pairs, id.0);
            words.clear();
            words.extend_from_slice(&parent.words);
        }
    }

    fn flush(&mut self, batch: &mut Batch, tell: Tell, told: &mut Told<'_>) {
        let store = self.store;
        let mut next = 0;
        loop {
            self.tally.begin();
            let crowded =
                (store.tables).read(|tables| self.insert(tables, batch, &mut next, tell, told));
            self.tally.end();
            match crowded {
                Some(crowded) => store.make_room(&crowded),
                None => break,
            }
        }
        self.found = 0;
        self.sought.clear();
        self.last_ends = None;
        batch.clear();
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
            let root = match &self.store.form {
                Some(form) if form.fits(state.ends) => {
                    let nodes = &mut self.nodes;
                    form.root(nodes, None, state.words, |pair| looking.pair(pair))
                }
                _ => shape::root(&mut looking, state, None, &[]),
            };
            let root = root.ok()?;
            tables.roots.contains(root).then_some(StateId(root))
        })
    }
}
