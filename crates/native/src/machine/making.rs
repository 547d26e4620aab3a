//! How steps are made, and states brought into canonical form: in packed words where that is possible.

use raddle_explore::{Changed, Choice, Packed, Parts, Position, Renamed, Status, Step, System};

use super::NativeMachine;
use crate::disciplines::Made;
use crate::objects::Walked;
use crate::report::Why;
use crate::{Entry, NativeStatus, PackedState, referred};

impl NativeMachine {
    /// Executes a step by native code. Says why it could not.
    #[inline]
    pub(super) fn step_natively(
        &mut self,
        state: &PackedState,
        position: usize,
        choice: Choice,
        step: &mut Step<PackedState>,
    ) -> Result<(), Why> {
        let Some(native) = &mut self.native else {
            return Err(Why::Form);
        };
        let layout = &native.code.layout;
        if !state.is_packed || !layout.fits(&state.words) {
            return Err(Why::Form);
        }
        let thread = &mut native.threads[position];
        let stop = thread.stop(&state.words);
        let function = match &native.code.entries[stop] {
            Entry::Compiled(function) => function,
            Entry::Stopped => {
                step.status = Status::Ended;
                return Ok(());
            }
            Entry::Interpreted => return Err(native.code.why_not_compiled(stop)),
        };
        let objects = match &mut native.heap {
            None => {
                step.after.set_words(&state.words);
                None
            }
            Some(heap) => {
                if !heap.objects.find(layout, &state.words, &state.names) {
                    return Err(Why::Form);
                }
                let room = function.room as usize;
                step.after.set_words_with_room(&state.words, room);
                Some(&mut heap.objects)
            }
        };
        let words = &mut step.after.words;
        let status = thread.execute(&native.code, function, choice, words, objects);
        if status == NativeStatus::GaveUp {
            return Err(Why::GaveUp);
        }
        if thread.frame.picked > 0 {
            match thread.next_choice() {
                Ok(next) => step.next_choice = next,
                Err(()) => return Err(Why::GaveUp),
            }
        }
        let blocked = status != NativeStatus::Moved;
        let made = Made {
            layout,
            before: &state.words,
            objects: native.heap.as_ref().map(|heap| &heap.objects),
            thread: position,
            accesses: thread.accesses(),
            blocked,
        };
        let disciplines = self.disciplines.as_deref();
        if !disciplines.is_none_or(|disciplines| disciplines.allow(&made)) {
            step.next_choice = None;
            return Err(Why::Discipline);
        }
        if blocked {
            let assumption = status == NativeStatus::Cut;
            step.status = Status::Blocked { assumption };
        } else {
            if thread.frame.blocks & !native.seen[stop] != 0 {
                native.seen[stop] |= thread.frame.blocks;
                step.next_choice = None;
                return Err(Why::NewCode);
            }
            if step.status != Status::Moved {
                step.status = Status::Moved;
            }
            step.changed = thread.changed(layout, layout.threads(&state.words));
            if let Some(heap) = &native.heap {
                let objects = &heap.objects;
                if disciplines.is_some_and(|disciplines| disciplines.are_on_heap) {
                    let words = &mut step.after.words[..objects.words()];
                    let marked = objects.note_escapes(&heap.walk, words);
                    step.changed = step.changed.with_bits(marked);
                }
                (step.after).end(objects.words(), &state.names, objects.new_names());
                if objects.are_more() {
                    step.changed = Changed::ALL;
                }
            }
        }
        for access in thread.accesses() {
            step.footprint.push(access.access(blocked));
        }
        if let Some(disciplines) = disciplines {
            let has_ended = !blocked && {
                let stop = thread.stop(&step.after.words);
                matches!(native.code.entries[stop], Entry::Stopped)
            };
            disciplines.add_looks(&made, has_ended, &mut step.footprint);
        }
        Ok(())
    }

    /// Encodes the successor of a state that is not packed, or has not the common size.
    #[cold]
    pub(super) fn encode_unpacked(
        &self,
        before: Parts<'_>,
        changed: Changed,
        state: &PackedState,
        packed: &mut Packed,
    ) -> Changed {
        let unpacked = state.unpacked(&self.interpreter);
        packed.copy_from(before);
        (self.interpreter).encode_changed(changed, &unpacked, packed)
    }

    /// Gives a packed state canonical names, if no thread disappears from it.
    #[inline]
    pub(super) fn canonicalise_words(&mut self, state: &mut PackedState) -> Option<Renamed> {
        let layout = self.layout.as_deref()?;
        if layout.spawned.is_none() && layout.heap.is_none() {
            return Some(Renamed::Nothing);
        }
        if !state.is_packed || !layout.fits(&state.words) {
            return None;
        }
        let mut renamed = Renamed::Nothing;
        if let Some(walk) = &mut self.walk {
            match walk.canonicalise(layout, &mut state.words) {
                Walked::Canonical => {}
                Walked::Renamed(words) => {
                    state.rename(words);
                    renamed = Renamed::Something;
                }
                Walked::Unknown => return None,
            }
            state.names.clear();
        }
        referred::keeps_all_threads(layout, &state.words).then_some(renamed)
    }

    /// Packs a canonical state, if native code can go on from there.
    pub(super) fn pack(&mut self, state: &mut PackedState) {
        let (Some(layout), Some(_)) = (&self.layout, &self.native) else {
            return;
        };
        let unpacked = state.unpacked(&self.interpreter);
        self.interpreter.encode(&unpacked, &mut self.packed);
        drop(unpacked);
        if layout.fits(self.packed.words()) {
            state.add_words(self.packed.words());
        }
    }

    /// Has the interpreter execute a step.
    #[cold]
    pub(super) fn interpret(
        &mut self,
        state: &PackedState,
        thread: Position,
        choice: Choice,
        step: &mut Step<PackedState>,
    ) {
        let before = state.unpacked(&self.interpreter);
        (self.interpreter).step(&before, thread, choice, &mut self.step);
        std::mem::swap(&mut step.footprint, &mut self.step.footprint);
        step.status = std::mem::take(&mut self.step.status);
        step.next_choice = self.step.next_choice;
        step.changed = self.step.changed;
        if !matches!(step.status, Status::Moved | Status::Failed(_)) {
            return;
        }
        step.after.swap_unpacked(&mut self.step.after);
        // Native code goes on from there, unless threads or objects have new names.
        let (Some(layout), Some(_)) = (&self.layout, &self.native) else {
            return;
        };
        let keeps_form = layout.spawned.is_none() && layout.heap.is_none();
        if keeps_form && state.is_packed && layout.fits(&state.words) {
            let before = Parts {
                words: &state.words,
                ends: &layout.ends,
            };
            self.packed.copy_from(before);
            let after = step.after.unpacked(&self.interpreter);
            (self.interpreter).encode_changed(step.changed, &after, &mut self.packed);
            drop(after);
            step.after.add_words(self.packed.words());
        }
    }
}
