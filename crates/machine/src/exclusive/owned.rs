//! What only one thread can touch.

use raddle_explore::Location;

use crate::program::Program;
use crate::state::{State, header};
use crate::word::{self, Name, Reference};

/// Buffers for walks over the heap.
#[derive(Clone, Debug, Default)]
pub(crate) struct Owned {
    /// Which objects somebody else can get hold of.
    known: Vec<bool>,
    open: Vec<usize>,
}

impl Owned {
    /// See [`raddle_explore::System::owns`].
    ///
    /// Objects that are not fresh may be known to anybody here, so that no step of another thread
    /// can make an object owned.
    pub(crate) fn by(
        &mut self,
        program: &Program,
        state: &State,
        thread: usize,
        location: Location,
    ) -> bool {
        if is_the_first(program, state) {
            return true;
        }
        let Reference::Heap(name, _) = word::at(location) else {
            return false;
        };
        if !name.made_by(thread) {
            return false;
        }
        self.begin(state);
        for (position, object) in state.objects.iter().enumerate() {
            if !object.name.made_by(thread) {
                self.known[position] = true;
                self.open.push(position);
            }
        }
        self.is_hidden(program, state, thread, name)
    }

    /// Whether the location is in an object that no other thread can find now. Unlike
    /// [`by`](Self::by), this does not depend on how the object is named.
    pub(crate) fn is_private(
        &mut self,
        program: &Program,
        state: &State,
        thread: usize,
        location: Location,
    ) -> bool {
        let Reference::Heap(name, _) = word::at(location) else {
            return false;
        };
        self.begin(state);
        self.is_hidden(program, state, thread, name)
    }

    fn begin(&mut self, state: &State) {
        self.known.clear();
        self.known.resize(state.objects.len(), false);
        self.open.clear();
    }

    /// Whether neither globals, nor other threads, nor the open objects refer to an object,
    /// directly or not.
    fn is_hidden(&mut self, program: &Program, state: &State, thread: usize, name: Name) -> bool {
        let Some(wanted) = state.find_object(name) else {
            // It is made later, by the step that touches it.
            return true;
        };
        self.meet(&state.words[..program.initial.len()], state);
        for other in (0..state.threads.len()).filter(|other| *other != thread) {
            self.meet(state.thread(other), state);
        }
        while let Some(position) = self.open.pop() {
            let object = state.objects[position];
            self.meet(
                &state.words[object.start as usize..][..object.length as usize],
                state,
            );
        }
        !self.known[wanted]
    }

    fn meet(&mut self, words: &[i64], state: &State) {
        for &word in words {
            if !word::is_renamable(word) {
                continue;
            }
            if let Reference::Heap(name, _) = Reference::of(word) {
                let position = state.find_object(name).expect("references are valid");
                if !std::mem::replace(&mut self.known[position], true) {
                    self.open.push(position);
                }
            }
        }
    }
}

/// Whether no thread but the only one of `run` was ever started.
fn is_the_first(program: &Program, state: &State) -> bool {
    program.hir.starts.len() == 1
        && state.threads.len() == 1
        && state.thread(0)[header::CHILDREN] == 0
}
