//! [`Tree`]: equal parts of states once.
//!
//! A state is a binary tree, and equal subtrees of all states are kept once: each pair of nodes that occurs has a number. The topmost pair, the
//! *root*, has none: it is 64 bits, and the name of the state. A state that shares its subtrees with others takes only what
//! its root takes in a set of roots:
//!
//! - `tree` keeps roots whole, in a [table](crate::lines) that is 74 to 86 % full: 8 bytes and little more;
//! - `compact` keeps of a root what does not follow from where it is (`tree/quotients.rs`): 3 to 7 bytes, and some more time.
//!
//! The tree of a state has one of two shapes. Where a [`Form`] was learned, states with parts of its sizes are split as it says.
//! All others follow their parts: leaves are words, and words of one part are joined before parts are (`tree/shape.rs`).
//!
//! Of a successor, only the paths to what has changed are looked up; the rest is that of the state before. What a worker has found lately it does not
//! look up again (`tree/known.rs`).
//!
//! # Why it is exact
//!
//! A root says whether the state is split by the form: such roots are marked, and no others are. If it is, it determines the whole tree and so all bytes of the state.
//! If it is not, each node is 32 bits that say what it is: a word, a pair of words or such pairs within a part, a pair of parts or
//! such pairs, an empty part, nothing. So the root determines the whole tree, and the words and parts of the state. Different states have
//! different roots. Equal states have equal roots, because which shape a tree has is a function of the ends of the parts, the shape follows from them or from the form, which never changes, and each
//! word and each pair has one number (`interned.rs`). And a root is in the set of roots once.
//!
//! Words and pairs without a root can be left behind, by a state for which there was no room. They mean nothing.

use crate::count::Count;
use crate::family::{Family, Lock, Std};
use crate::hash::{mix, upper};
use crate::interned::Interned;
use crate::lines::{Lines, Load};
use crate::{Memory, StateId, Store, Worker};

mod form;
mod known;
mod learn;
mod quotients;
mod roots;
mod shape;
mod worker;

pub use form::Form;
pub use learn::Sample;

use quotients::Quotients;
use roots::Roots;
use worker::TreeWorker;

/// What a node is: its upper two bits. The others are a number, plus one, so that no node is zero.
///
/// Nodes of a tree that has a form need no kinds, but for the left one of the root.
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
    /// The mark of a root that has a form. Numbers begin behind the other nodes of this kind.
    pub(super) const FORMED: u32 = OTHER << KIND;
    const FIRST_FORMED: u32 = FORMED + 3;

    pub(super) fn new(kind: u32, number: u32) -> u32 {
        kind << KIND | (number + 1)
    }

    pub(super) fn kind(node: u32) -> u32 {
        node >> KIND
    }

    pub(super) fn number(node: u32) -> u32 {
        (node & ((1 << KIND) - 1)) - 1
    }

    /// The left node of a root that has a form.
    pub(super) fn formed(number: u32) -> u32 {
        FIRST_FORMED + number
    }

    pub(super) fn number_of_formed(node: u32) -> u32 {
        node - FIRST_FORMED
    }

    /// Whether the left node of a root says that it has a form.
    pub(super) fn is_formed(node: u32) -> bool {
        node >= FIRST_FORMED
    }
}

fn pair(left: u32, right: u32) -> u64 {
    u64::from(left) << 32 | u64::from(right)
}

fn is_formed(root: u64) -> bool {
    node::is_formed((root >> 32) as u32)
}

fn hash_of(root: u64) -> u32 {
    upper(mix(root))
}

/// A set that keeps equal parts of states once.
pub struct Tree<F: Family = Std> {
    form: Option<Form>,
    words: Interned<F>,
    pairs: Interned<F>,
    tables: F::Lock<Tables<F>>,
    count: Count,
    budget: usize,
    is_compact: bool,
}

struct Tables<F: Family> {
    words: Lines<F::Word>,
    pairs: Lines<F::Word>,
    roots: Roots<F>,
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

    /// The same, with roots that take fewer bits.
    #[must_use]
    pub fn compact_with_limit(most: usize) -> Self {
        Self::compact_with_tables(most, || Lines::new(Load::HEAVY))
    }

    /// An empty set over tables that are made by a function, for tests.
    #[must_use]
    pub fn with_tables(most: usize, new: impl Fn() -> Lines<F::Word>) -> Self {
        Self::over(most, &new, Roots::Whole(new()), false)
    }

    /// The same, with roots that take fewer bits.
    #[must_use]
    pub fn compact_with_tables(most: usize, new: impl Fn() -> Lines<F::Word>) -> Self {
        Self::over(most, &new, Roots::Quotients(Quotients::new()), true)
    }

    fn over(
        most: usize,
        new: &impl Fn() -> Lines<F::Word>,
        roots: Roots<F>,
        is_compact: bool,
    ) -> Self {
        Self {
            form: None,
            words: Interned::new(),
            pairs: Interned::new(),
            tables: F::Lock::new(Tables {
                words: new(),
                pairs: new(),
                roots,
            }),
            count: Count::up_to(most),
            budget: usize::MAX,
            is_compact,
        }
    }

    /// The same, which should take no more memory than that. Whether it does, somebody else looks; it grows by less when it comes near.
    #[must_use]
    pub fn within(mut self, bytes: usize) -> Self {
        self.budget = bytes;
        let tables = self.tables.get_mut();
        tables.words.set_budget(bytes);
        tables.pairs.set_budget(bytes);
        tables.roots.set_budget(bytes);
        self
    }

    /// The same empty set, with a form for the states that it fits.
    ///
    /// # Panics
    ///
    /// If there are states already.
    #[must_use]
    pub fn with_form(mut self, form: Option<Form>) -> Self {
        assert!(
            self.is_empty(),
            "states have the form that they were inserted with"
        );
        self.form = form;
        self
    }

    fn make_room(&self, crowded: &Crowded) {
        self.tables.write(|tables| match *crowded {
            Crowded::Word(word) => self.words.make_room(&mut tables.words, word),
            Crowded::Pair(pair) => self.pairs.make_room(&mut tables.pairs, pair),
            Crowded::Root(root) => tables.roots.make_room(root, self.len()),
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
        match self.is_compact {
            false => "tree",
            true => "compact",
        }
    }

    fn worker(&self) -> Box<dyn Worker + '_> {
        Box::new(TreeWorker::new(self))
    }

    fn clear(&mut self) {
        let empty = match self.is_compact {
            false => Self::with_limit(self.count.most()),
            true => Self::compact_with_limit(self.count.most()),
        };
        *self = empty.within(self.budget).with_form(self.form.take());
    }

    fn len(&self) -> usize {
        self.count.states()
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
        (self.tables).read(|tables| tables.roots.for_each(&mut |root| see(StateId(root))));
    }

    fn index_bound(&self) -> usize {
        self.tables.read(|tables| tables.roots.index_bound())
    }

    fn index(&self, id: StateId) -> usize {
        let index = self.tables.read(|tables| tables.roots.index(id.0));
        index.expect("the state is there")
    }

    fn at(&self, index: usize) -> StateId {
        StateId(self.tables.read(|tables| tables.roots.at(index)))
    }
}
