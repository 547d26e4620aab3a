//! States in words and parts, for the store.

use raddle_explore::Packed;

use crate::program::Program;
use crate::state::{Block, Object, State, header};
use crate::word::Name;

/// Writes a canonical state: the globals, each thread, each object.
pub(crate) fn encode(program: &Program, state: &State, packed: &mut Packed) {
    packed.clear();
    let push = |packed: &mut Packed, words: &[i64]| {
        for &word in words {
            packed.push(word as u64);
        }
        packed.end_part();
    };
    packed.push((state.threads.len() as u64) << 32 | state.objects.len() as u64);
    push(packed, &state.words[..program.initial.len()]);
    for thread in 0..state.threads.len() {
        let words = state.thread(thread);
        packed.push(words.len() as u64);
        push(packed, words);
    }
    for object in &state.objects {
        let flags = u64::from(object.escaped) << 1 | u64::from(object.freed);
        packed.push(u64::from(object.length) << 18 | u64::from(object.layout) << 2 | flags);
        push(
            packed,
            &state.words[object.start as usize..][..object.length as usize],
        );
    }
}

/// Restores a state from its words.
pub(crate) fn decode(program: &Program, words: &[u64], state: &mut State) {
    let mut words = words.iter().copied();
    let mut next = || words.next().expect("an encoded state is complete");
    state.words.clear();
    state.threads.clear();
    state.objects.clear();
    let counts = next();
    let take = |state: &mut State, count: usize, next: &mut dyn FnMut() -> u64| {
        let start = state.words.len();
        state.words.extend((0..count).map(|_| next() as i64));
        start as u32
    };
    take(state, program.initial.len(), &mut next);
    for position in 0..(counts >> 32) as usize {
        let length = next();
        let start = take(state, length as usize, &mut next);
        state.threads.push(Block {
            start,
            length: length as u32,
            name: Name::canonical(position),
        });
    }
    for position in 0..counts as u32 as usize {
        let shape = next();
        let length = (shape >> 18) as u32;
        let start = take(state, length as usize, &mut next);
        state.objects.push(Object {
            start,
            length,
            name: Name::canonical(position),
            layout: (shape >> 2) as u16,
            freed: shape & 1 != 0,
            escaped: shape & 2 != 0,
        });
    }
    debug_assert!(
        state
            .threads
            .iter()
            .all(|t| t.length as usize >= header::LENGTH)
    );
}
