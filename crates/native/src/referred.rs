//! Which threads a state keeps.
//!
//! A thread that was spawned and has ended disappears from canonical states as soon as nobody refers to it, and others get other positions then. Native code does
//! not do that: it says only when nothing of the kind is to be done.

use raddle_machine::native::{Field, Layout, Stop, code_of, thread_word};

use crate::objects::slot_codes;

/// Whether all spawned threads that have ended in a state are referred to, by a variable or an object, so that all threads stay what they are. It may say no although they are.
#[inline]
pub(crate) fn keeps_all_threads(layout: &Layout, words: &[u64]) -> bool {
    if layout.spawned.is_none() {
        return true;
    }
    let spawned = layout.run_threads()..layout.threads(words);
    let mut ended = spawned.filter(|thread| has_ended(layout, words, *thread));
    ended.all(|thread| is_referred_to(layout, words, thread))
}

fn has_ended(layout: &Layout, words: &[u64], thread: usize) -> bool {
    let stop = layout.stops.get(layout.stop_number(words, thread));
    matches!(stop, None | Some(Stop::Stopped(_, false)))
}

/// A code that stands for a thread stands for nothing else, whatever the field is for.
fn is_referred_to(layout: &Layout, words: &[u64], thread: usize) -> bool {
    let name = thread_word(thread);
    let codes = [false, true].map(|wide| code_of(name, wide));
    let names = |field: Field| {
        let code = Some(Layout::code(field, words));
        code == codes[usize::from(field.wide)]
    };
    let holds_it = |other: usize| {
        let stop = layout.stops.get(layout.stop_number(words, other));
        let (Some(Stop::Running(at)) | Some(Stop::Waiting(at)) | Some(Stop::Notified(at))) = stop
        else {
            return false;
        };
        let area = layout.area(other);
        layout.frames[at.spot as usize].iter().any(|(_, field)| {
            let byte = area + field.byte;
            names(Field { byte, ..*field })
        })
    };
    (0..layout.threads(words)).any(holds_it)
        || layout.slots.iter().any(|slot| names(*slot))
        || layout.heap.is_some()
            && slot_codes(layout, words).any(|code| Some(code) == codes[usize::from(true)])
}
