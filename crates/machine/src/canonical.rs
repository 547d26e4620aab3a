//! Canonical states.
//!
//! Two states that differ only in the names of threads and heap objects are one
//! state. The canonical names are positions: threads in the order of the tree of
//! who spawned whom (the threads of `run` first, then each thread's children in the order
//! in which it spawned them), heap objects in the order in which a walk from the
//! globals and the threads meets them. Neither depends on the order in which different
//! threads did things. What the walk does not meet is garbage and disappears, and so
//! does a thread that has ended, has no children and that nothing refers to.
//!
//! Why siblings may be renumbered when one disappears: a thread's position among its
//! siblings is not observable; `tid` is, but that is a number of its own.

use crate::program::Program;
use crate::state::{Block, Object, Phase, State, header};
use crate::word::{self, Name, Reference};

/// How a state was renamed: new positions by old ones; `None` for what has disappeared.
#[derive(Clone, Debug, Default)]
pub(crate) struct Renaming {
    pub(crate) threads: Vec<Option<usize>>,
    pub(crate) objects: Vec<Option<usize>>,
}

/// Buffers that are kept from state to state.
#[derive(Clone, Debug, Default)]
pub(crate) struct Canonicaliser {
    rebuilt: State,
    /// Old positions of threads, in their new order.
    order: Vec<usize>,
    first_child: Vec<Option<usize>>,
    next_sibling: Vec<Option<usize>>,
    kept: Vec<bool>,
    referred: Vec<bool>,
    /// Old positions of objects, in their new order.
    objects: Vec<usize>,
    pub(crate) renaming: Renaming,
}

impl Canonicaliser {
    pub(crate) fn canonicalise(&mut self, program: &Program, state: &mut State) {
        self.canonicalise_in_order(program, state, |_, _| {});
    }

    /// The same for a state in which threads of `run` are exchanged: `order` changes their order.
    pub(crate) fn exchange(
        &mut self,
        program: &Program,
        state: &mut State,
        order: impl FnOnce(&State, &mut [usize]),
    ) {
        self.canonicalise_in_order(program, state, order);
        for (position, block) in state.threads.iter().enumerate() {
            let words = &mut state.words[block.start as usize..];
            // Their positions are their numbers.
            if words[header::PARENT] == word::NULL {
                words[header::TID] = position as i64;
            }
        }
    }

    fn canonicalise_in_order(
        &mut self,
        program: &Program,
        state: &mut State,
        order: impl FnOnce(&State, &mut [usize]),
    ) {
        self.kept.clear();
        self.kept.resize(state.threads.len(), true);
        self.order_threads(state);
        order(state, &mut self.order);
        loop {
            self.walk_objects(program, state);
            if !self.drop_ended_threads(program, state) {
                break;
            }
        }
        self.number_threads(state);
        self.rebuild(program, state);
        std::mem::swap(&mut self.rebuilt, state);
    }

    /// Walks the tree of threads, each thread before its children.
    fn order_threads(&mut self, state: &State) {
        let threads = state.threads.len();
        self.first_child.clear();
        self.first_child.resize(threads, None);
        self.next_sibling.clear();
        self.next_sibling.resize(threads, None);
        self.order.clear();
        // Positions are in spawn order: canonical siblings first, then fresh ones.
        for thread in (0..threads).rev() {
            match Reference::of(state.thread(thread)[header::PARENT]) {
                Reference::Thread(name) => {
                    let parent = state.find_thread(name).expect("references are valid");
                    self.next_sibling[thread] = self.first_child[parent];
                    self.first_child[parent] = Some(thread);
                }
                _ => self.order.push(thread),
            }
        }
        self.order.reverse();
        let mut next = 0;
        while next < self.order.len() {
            let mut child = self.first_child[self.order[next]];
            while let Some(thread) = child {
                self.order.push(thread);
                child = self.next_sibling[thread];
            }
            next += 1;
        }
    }

    fn walk_objects(&mut self, program: &Program, state: &State) {
        self.objects.clear();
        self.renaming.objects.clear();
        self.renaming.objects.resize(state.objects.len(), None);
        self.referred.clear();
        self.referred.resize(state.threads.len(), false);
        for &word in &state.words[..program.initial.len()] {
            self.meet(word, state);
        }
        for index in 0..self.order.len() {
            let thread = self.order[index];
            if self.kept[thread] {
                for &word in &state.thread(thread)[header::LENGTH..] {
                    self.meet(word, state);
                }
            }
        }
        let mut next = 0;
        while next < self.objects.len() {
            let object = state.objects[self.objects[next]];
            for &word in &state.words[object.start as usize..][..object.length as usize] {
                self.meet(word, state);
            }
            next += 1;
        }
    }

    fn meet(&mut self, word: i64, state: &State) {
        if !word::is_renamable(word) {
            return;
        }
        match Reference::of(word) {
            Reference::Heap(name, _) => {
                let position = state.find_object(name).expect("references are valid");
                if self.renaming.objects[position].is_none() {
                    self.renaming.objects[position] = Some(self.objects.len());
                    self.objects.push(position);
                }
            }
            Reference::Thread(name) => {
                let position = state.find_thread(name).expect("references are valid");
                self.referred[position] = true;
            }
            Reference::Null | Reference::Global(_) => {}
        }
    }

    /// Whether some thread was dropped; that may leave more garbage.
    fn drop_ended_threads(&mut self, program: &Program, state: &State) -> bool {
        let mut dropped = false;
        // From the last to the first: children before their parents.
        for index in (0..self.order.len()).rev() {
            let thread = self.order[index];
            let words = state.thread(thread);
            if !self.kept[thread]
                || words[header::PARENT] == word::NULL
                || state.phase(thread) != Phase::Ended
                || self.referred[thread]
                || words.len() > header::LENGTH
            {
                continue;
            }
            let mut child = self.first_child[thread];
            while let Some(dropped_child) = child.filter(|child| !self.kept[*child]) {
                child = self.next_sibling[dropped_child];
            }
            if child.is_none() {
                self.kept[thread] = false;
                dropped = true;
            }
        }
        debug_assert!(!dropped || program.features.spawn);
        dropped
    }

    fn number_threads(&mut self, state: &State) {
        self.renaming.threads.clear();
        self.renaming.threads.resize(state.threads.len(), None);
        let mut next = 0;
        for &thread in &self.order {
            if self.kept[thread] {
                self.renaming.threads[thread] = Some(next);
                next += 1;
            }
        }
    }

    fn rename(&self, word: i64, state: &State) -> i64 {
        if !word::is_renamable(word) {
            return word;
        }
        match Reference::of(word) {
            Reference::Heap(name, offset) => {
                let old = state.find_object(name).expect("references are valid");
                let new = self.renaming.objects[old].expect("met on the walk");
                word::heap(Name::canonical(new), offset)
            }
            Reference::Thread(name) => {
                let old = state.find_thread(name).expect("references are valid");
                let new = self.renaming.threads[old].expect("kept, since it is referred to");
                word::thread(Name::canonical(new))
            }
            Reference::Null | Reference::Global(_) => word,
        }
    }

    fn rebuild(&mut self, program: &Program, state: &State) {
        let mut rebuilt = std::mem::take(&mut self.rebuilt);
        rebuilt.words.clear();
        rebuilt.threads.clear();
        rebuilt.objects.clear();
        let globals = state.words[..program.initial.len()].iter();
        rebuilt
            .words
            .extend(globals.map(|word| self.rename(*word, state)));
        for &thread in &self.order {
            if !self.kept[thread] {
                continue;
            }
            let start = rebuilt.words.len();
            let words = state.thread(thread).iter();
            rebuilt
                .words
                .extend(words.map(|word| self.rename(*word, state)));
            // Read holds are kept sorted, and renaming may have changed their order.
            let holds = state.read_holds(thread).len();
            rebuilt.words[start + header::LENGTH..][..holds].sort_unstable();
            rebuilt.threads.push(Block {
                start: start as u32,
                length: (rebuilt.words.len() - start) as u32,
                room: (rebuilt.words.len() - start) as u32,
                name: Name::canonical(rebuilt.threads.len()),
            });
        }
        for &object in &self.objects {
            let object = state.objects[object];
            let start = rebuilt.words.len();
            let words = state.words[object.start as usize..][..object.length as usize].iter();
            rebuilt
                .words
                .extend(words.map(|word| self.rename(*word, state)));
            rebuilt.objects.push(Object {
                start: start as u32,
                name: Name::canonical(rebuilt.objects.len()),
                ..object
            });
        }
        self.rebuilt = rebuilt;
    }
}
