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
        self.is_packed = true;
        self.is_unpacked.set(false);
    }

    /// The words of a state that is packed, to change them.
    #[inline]
    pub(crate) fn words_mut(&mut self) -> &mut [u64] {
        self.is_unpacked.set(false);
        &mut self.words
    }

    /// The state as the interpreter has it.
    pub(crate) fn unpacked(&self, machine: &Machine) -> Ref<'_, State> {
        if !self.is_unpacked.get() {
            machine.decode(&self.words, &mut self.unpacked.borrow_mut());
            self.is_unpacked.set(true);
        }
        self.unpacked.borrow()
    }

    /// The same, to change it. It is not packed any more.
    pub(crate) fn unpacked_mut(&mut self, machine: &Machine) -> &mut State {
        drop(self.unpacked(machine));
        self.is_packed = false;
        self.unpacked.get_mut()
    }

    /// Its words, which were made from its other form.
    pub(crate) fn add_words(&mut self, words: &[u64]) {
        self.words.clear();
        self.words.extend_from_slice(words);
        self.is_packed = true;
    }

    /// Takes the place of the state, and gives back what was there.
    pub(crate) fn swap_unpacked(&mut self, state: &mut State) {
        std::mem::swap(self.unpacked.get_mut(), state);
        self.is_unpacked.set(true);
        self.is_packed = false;
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
        } else {
            self.unpacked
                .get_mut()
                .clone_from(&source.unpacked.borrow());
            self.is_unpacked.set(true);
            self.is_packed = false;
        }
    }
}
