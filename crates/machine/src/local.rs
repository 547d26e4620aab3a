//! The local state of one thread, in a form that can be compared between schedules.
//!
//! A reduction leaves out schedules, and with them combinations of local states; but each local
//! state that a thread can be in, it must still be in under the reduction. To compare the
//! two sets, the encoding here leaves out whatever depends on the other threads:
//! the names of heap objects and of threads, and whether a waiting thread was
//! notified already, since the wait set belongs to the object that it waits for.

use raddle_explore::Position;

use crate::machine::Machine;
use crate::state::{Phase, State, header};
use crate::word::Reference;

/// What a thread is told apart by.
const FIXED: u8 = 0;
const SPAWNED: u8 = 1;
/// A spawned thread that has ended or failed: what it ran is gone with its frames.
const SPAWNED_AND_GONE: u8 = 2;

/// What a word is.
const VALUE: u8 = 0;
const HEAP: u8 = 1;
const THREAD: u8 = 2;

impl Machine {
    /// Appends what identifies a thread in every schedule: its position in `run` (of interchangeable threads, that of the first), or the
    /// function with which it was spawned, if that is still known.
    pub fn thread_identity(&self, state: &State, thread: Position, bytes: &mut Vec<u8>) {
        let position = thread.index();
        if position < self.program().hir.starts.len() {
            // The threads of `run` come first and never disappear.
            bytes.push(FIXED);
            bytes.extend((self.first_of_its_kind(position) as u32).to_le_bytes());
        } else if matches!(state.phase(position), Phase::Ended | Phase::Failed) {
            bytes.push(SPAWNED_AND_GONE);
        } else {
            let frames = self.program().frames(state, position);
            let outermost = frames.last().expect("a thread that runs has a frame");
            let function = self.program().function_at(outermost.0);
            bytes.push(SPAWNED);
            bytes.extend(function.expect("threads run functions").entry.to_le_bytes());
        }
    }

    fn first_of_its_kind(&self, position: usize) -> usize {
        let mut groups = (self.symmetry().into_iter()).flat_map(|symmetry| symmetry.groups());
        let group = groups.find(|group| group.contains(&position));
        group.map_or(position, |group| group[0])
    }

    /// Appends the local state of a thread, after its [identity](Self::thread_identity):
    /// where it is, its variables, its number and what it holds for reading. Two schedules
    /// of one program in which the thread did and saw the same give the same bytes.
    pub fn local_state(&self, state: &State, thread: Position, bytes: &mut Vec<u8>) {
        self.thread_identity(state, thread, bytes);
        let position = thread.index();
        let words = state.thread(position);
        bytes.push(match state.phase(position) {
            Phase::Running => 0,
            Phase::Waiting | Phase::Notified => 1,
            Phase::Ended => 2,
            Phase::Failed | Phase::FailedAtStart => 3,
        });
        bytes.extend(words[header::PC].to_le_bytes());
        // Otherwise nobody asks for them, and spawned threads have none.
        if self.program().features.numbers_threads {
            bytes.extend(words[header::CHILDREN].to_le_bytes());
            // Interchangeable threads do not ask for theirs.
            let symmetry = self.symmetry();
            if !symmetry.is_some_and(|symmetry| symmetry.has(position)) {
                bytes.extend(words[header::TID].to_le_bytes());
            }
        }
        // Holds are sorted by names, which mean nothing here.
        let holds = state.read_holds(position).iter();
        let mut holds: Vec<_> = holds.map(|word| anonymous(state, *word)).collect();
        holds.sort_unstable();
        bytes.extend((holds.len() as u32).to_le_bytes());
        let frames = state.frames(position).iter();
        let frames = frames.map(|word| anonymous(state, *word));
        for (kind, value) in holds.into_iter().chain(frames) {
            bytes.push(kind);
            bytes.extend(value.to_le_bytes());
        }
    }
}

/// A word without names that depend on the schedule.
fn anonymous(state: &State, word: i64) -> (u8, i64) {
    if word < 0 {
        return (VALUE, word);
    }
    match Reference::of(word) {
        Reference::Null | Reference::Global(_) => (VALUE, word),
        Reference::Thread(_) => (THREAD, 0),
        Reference::Heap(name, offset) => {
            let object = state.find_object(name).expect("references are valid");
            let layout = state.objects[object].layout;
            (HEAP, i64::from(layout) << 32 | offset as i64)
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::sync::Arc;

    use raddle_explore::{Choice, Position, Status, Step, System};
    use raddle_lang::Source;

    use crate::{Granularity, Machine};

    /// The local states of the threads after a schedule in which each named thread takes one step.
    fn after(text: &str, schedule: &[u32]) -> BTreeSet<Vec<u8>> {
        let (program, problems) = crate::load(Source::new("test.rad", text));
        let program = program.unwrap_or_else(|| panic!("{problems:?}"));
        let mut machine = Machine::new(Arc::new(program), Granularity::Access);
        let mut state = machine.initial();
        let mut step = Step::default();
        for &thread in schedule {
            machine.step(&state, Position(thread), Choice::FIRST, &mut step);
            assert_eq!(step.status, Status::Moved);
            std::mem::swap(&mut state, &mut step.after);
            machine.canonicalise(&mut state);
        }
        let threads = 0..machine.thread_count(&state) as u32;
        let local = |thread| {
            let mut bytes = Vec::new();
            machine.local_state(&state, Position(thread), &mut bytes);
            bytes
        };
        threads.map(local).collect()
    }

    #[test]
    fn names_of_objects_and_threads_do_not_show() {
        let objects = "struct Node { int v; Node* next; }; Node* a; Node* b;
            void first() { yield; Node* n = new Node; a = n; n->v = 1; }
            void second() { yield; Node* n = new Node; b = n; n->v = 2; }
            run first() || second();";
        assert_eq!(after(objects, &[0, 1, 1]), after(objects, &[1, 1, 0]));
        let threads = "int x; void child() { x = 1; x = 2; }
            void parent() { thread t = spawn child(); join(t); }
            run parent()[2];";
        assert_eq!(after(threads, &[0, 1]), after(threads, &[1, 0]));
    }

    #[test]
    fn a_notified_thread_is_where_it_was() {
        let text = "mutex m; void waits() { lock(m); wait(m); unlock(m); }
            void wakes() { lock(m); notify(m); unlock(m); }
            run waits() || wakes();";
        let before: Vec<_> = after(text, &[0, 0, 1]).into_iter().collect();
        let notified: Vec<_> = after(text, &[0, 0, 1, 1]).into_iter().collect();
        assert_eq!(before[0], notified[0]);
        assert_ne!(before[1], notified[1]);
    }

    #[test]
    fn values_and_ends_show() {
        let text = "int x; void f() { x = 1; int r = x; x = r; } run f()[2];";
        let all: BTreeSet<_> = (0..=3).map(|n| after(text, &vec![0; n])).collect();
        assert_eq!(all.len(), 4);
    }
}
