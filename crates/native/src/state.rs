//! [`PackedState`]: a state as its packed words.

use std::cell::{Cell, Ref, RefCell};

use raddle_explore::System;
use raddle_machine::{Machine, State};

/// A state: its packed words, or as the interpreter has it, or both. Whoever needs the other form makes it.
#[derive(Debug)]
pub struct PackedState {
    /// Its words, if it is packed.
    pub(crate) words: Vec<u64>,
    pub(crate) is_packed: bool,
    /// What the last objects are called, if they are not called by their positions: those that were made since the state was canonical.
    pub(crate) names: Vec<i64>,
    /// Elsewhere, so that a state is small: it is swapped often, and this form is rarely there.
    unpacked: Box<RefCell<State>>,
    is_unpacked: Cell<bool>,
}

/// No state of a program, but one that can be looked at.
impl Default for PackedState {
    fn default() -> Self {
        Self {
            words: Vec::new(),
            is_packed: false,
            names: Vec::new(),
            unpacked: Box::default(),
            is_unpacked: Cell::new(true),
        }
    }
}

impl PackedState {
    /// The state of these words.
    #[inline]
    pub(crate) fn set_words(&mut self, words: &[u64]) {
        if self.words.len() == words.len() {
            self.words.copy_from_slice(words);
        } else {
            self.words.clear();
            self.words.extend_from_slice(words);
        }
        self.names.clear();
        self.is_packed = true;
        self.is_unpacked.set(false);
    }

    /// The same, with room for more words behind these, which may be anything.
    #[inline]
    pub(crate) fn set_words_with_room(&mut self, words: &[u64], room: usize) {
        self.set_words(words);
        self.words.resize(words.len() + room, 0);
    }

    /// Ends the state behind its words. Objects were made in it.
    #[inline]
    pub(crate) fn end(&mut self, words: usize, names: &[i64], more_names: &[i64]) {
        self.words.truncate(words);
        self.names.extend_from_slice(names);
        self.names.extend_from_slice(more_names);
    }

    /// The words of a state that is packed, to change them.
    #[inline]
    pub(crate) fn words_mut(&mut self) -> &mut [u64] {
        self.is_unpacked.set(false);
        &mut self.words
    }

    /// Objects were given other names in its words, which are so many now.
    pub(crate) fn rename(&mut self, words: usize) {
        self.words.truncate(words);
        self.is_unpacked.set(false);
    }

    /// The state as the interpreter has it.
    pub(crate) fn unpacked(&self, machine: &Machine) -> Ref<'_, State> {
        if !self.is_unpacked.get() {
            let mut unpacked = self.unpacked.borrow_mut();
            machine.decode(&self.words, &mut unpacked);
            if !self.names.is_empty() {
                Machine::name_last_objects(&mut unpacked, &self.names);
            }
            self.is_unpacked.set(true);
        }
        self.unpacked.borrow()
    }

    /// The same, to change it. It is not packed any more.
    pub(crate) fn unpacked_mut(&mut self, machine: &Machine) -> &mut State {
        drop(self.unpacked(machine));
        self.is_packed = false;
        self.names.clear();
        self.unpacked.get_mut()
    }

    /// Its words, which were made from its other form.
    pub(crate) fn add_words(&mut self, words: &[u64]) {
        self.words.clear();
        self.words.extend_from_slice(words);
        self.names.clear();
        self.is_packed = true;
    }

    /// Takes the place of the state, and gives back what was there.
    pub(crate) fn swap_unpacked(&mut self, state: &mut State) {
        std::mem::swap(self.unpacked.get_mut(), state);
        self.is_unpacked.set(true);
        self.is_packed = false;
        self.names.clear();
    }
}

/// Written out for `clone_from`, and to copy one form only.
impl Clone for PackedState {
    fn clone(&self) -> Self {
        let mut clone = Self::default();
        clone.clone_from(self);
        clone
    }

    fn clone_from(&mut self, source: &Self) {
        if source.is_packed {
            self.set_words(&source.words);
            self.names.extend_from_slice(&source.names);
        } else {
            self.unpacked
                .get_mut()
                .clone_from(&source.unpacked.borrow());
            self.is_unpacked.set(true);
            self.is_packed = false;
            self.names.clear();
        }
    }
}
