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

    /// Whether the location is in an object that only its maker has ever known, or nobody but
    /// the first thread was ever started. Unlike [`by`](Self::by), this does not depend on
    /// how the object is named.
    ///
    /// That nobody else can find an object *now* would not do: another thread may have forgotten
    /// it, and then it would depend on the order of that and an access whether
    /// the access keeps to the discipline, which its footprint does not tell.
    pub(crate) fn is_private(program: &Program, state: &State, location: Location) -> bool {
        if is_the_first(program, state) {
            return true;
        }
        let Reference::Heap(name, _) = word::at(location) else {
            return false;
        };
        let object = state.find_object(name);
        object.is_none_or(|position| !state.objects[position].escaped)
    }

    /// Marks the objects that others than their makers know after a step: globals, new threads or
    /// such objects refer to them.
    pub(crate) fn note_escapes(
        &mut self,
        program: &Program,
        threads_before: usize,
        state: &mut State,
    ) {
        self.begin(state);
        for (position, object) in state.objects.iter().enumerate() {
            if object.escaped {
                self.known[position] = true;
                self.open.push(position);
            }
        }
        self.meet(&state.words[..program.initial.len()], state);
        for thread in threads_before..state.threads.len() {
            self.meet(state.thread(thread), state);
        }
        self.follow(state);
        for (object, known) in state.objects.iter_mut().zip(&self.known) {
            object.escaped = *known;
        }
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
        self.follow(state);
        !self.known[wanted]
    }

    /// Meets everything that the open objects refer to, directly or not.
    fn follow(&mut self, state: &State) {
        while let Some(position) = self.open.pop() {
            let object = state.objects[position];
            self.meet(
                &state.words[object.start as usize..][..object.length as usize],
                state,
            );
        }
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
