//! States: one flat vector of words, and where the parts begin.

use std::cmp::Ordering;

use crate::op::Pc;
use crate::word::{Name, Reference};

/// A state of a program.
///
/// The words of the globals come first, then those of the threads, then those of the
/// heap objects. The tables say where each thread and object is. Behind the words of a thread there may be
/// room for more, so that it can grow without moving the others.
#[derive(Debug, Default)]
pub struct State {
    pub(crate) words: Vec<i64>,
    pub(crate) threads: Vec<Block>,
    pub(crate) objects: Vec<Object>,
}

/// Written out for `clone_from`: every step copies a state, and must not allocate.
impl Clone for State {
    fn clone(&self) -> Self {
        Self {
            words: self.words.clone(),
            threads: self.threads.clone(),
            objects: self.objects.clone(),
        }
    }

    fn clone_from(&mut self, source: &Self) {
        self.words.clone_from(&source.words);
        self.threads.clone_from(&source.threads);
        self.objects.clone_from(&source.objects);
    }
}

/// What is in the room behind threads does not matter.
impl PartialEq for State {
    fn eq(&self, other: &Self) -> bool {
        // Globals come before the threads, and no state of a program is without one.
        let globals = |state: &Self| {
            let first = state.threads.first();
            first.map_or(state.words.len(), |first| first.start as usize)
        };
        let same_thread = |thread: usize| {
            self.threads[thread].name == other.threads[thread].name
                && self.thread(thread) == other.thread(thread)
        };
        let same_object = |(one, another): (&Object, &Object)| {
            let words = |object: &Object| {
                let start = object.start as usize;
                start..start + object.length as usize
            };
            let moved = Object {
                start: one.start,
                ..*another
            };
            *one == moved && self.words[words(one)] == other.words[words(another)]
        };
        self.words[..globals(self)] == other.words[..globals(other)]
            && self.threads.len() == other.threads.len()
            && self.objects.len() == other.objects.len()
            && (0..self.threads.len()).all(same_thread)
            && self.objects.iter().zip(&other.objects).all(same_object)
    }
}

impl Eq for State {}

/// Where a thread is in the words, and its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Block {
    pub(crate) start: u32,
    pub(crate) length: u32,
    /// How many words there are until the next thread or object begins.
    pub(crate) room: u32,
    pub(crate) name: Name,
}

/// Where a heap object is in the words, and its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Object {
    pub(crate) start: u32,
    pub(crate) length: u32,
    pub(crate) name: Name,
    /// Which of the program's layouts its elements have.
    pub(crate) layout: u16,
    pub(crate) freed: bool,
    /// Whether others than its maker have ever known it; kept only where a discipline depends
    /// on it.
    pub(crate) escaped: bool,
}

/// The words at the beginning of a thread; its read holds and its frames follow.
pub(crate) mod header {
    /// The next instruction.
    pub(crate) const PC: usize = 0;
    /// A [`Phase`](super::Phase).
    pub(crate) const PHASE: usize = 1;
    /// The thread that spawned it, or null.
    pub(crate) const PARENT: usize = 2;
    /// How many threads it has spawned; counted only where it matters. Where thread numbers do
    /// not, the only thread of a program still remembers whether it has spawned any.
    pub(crate) const CHILDREN: usize = 3;
    /// Its number.
    pub(crate) const TID: usize = 4;
    /// How many read holds it has.
    pub(crate) const READ_HOLDS: usize = 5;
    pub(crate) const LENGTH: usize = 6;
}

/// What a thread is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    Running = 0,
    /// In the wait set of the object that its `Resume` instruction names.
    Waiting = 1,
    /// Taken out of the wait set, not yet resumed.
    Notified = 2,
    Ended = 3,
    Failed = 4,
    /// Failed before its first step. It is where it failed, with its variables, so that what
    /// happened can be found out again.
    FailedAtStart = 5,
}

impl Phase {
    pub(crate) fn of(word: i64) -> Self {
        match word {
            0 => Self::Running,
            1 => Self::Waiting,
            2 => Self::Notified,
            3 => Self::Ended,
            4 => Self::Failed,
            _ => Self::FailedAtStart,
        }
    }
}

impl State {
    pub(crate) fn thread(&self, thread: usize) -> &[i64] {
        let block = self.threads[thread];
        &self.words[block.start as usize..][..block.length as usize]
    }

    pub(crate) fn thread_mut(&mut self, thread: usize) -> &mut [i64] {
        let block = self.threads[thread];
        &mut self.words[block.start as usize..][..block.length as usize]
    }

    pub(crate) fn phase(&self, thread: usize) -> Phase {
        Phase::of(self.thread(thread)[header::PHASE])
    }

    pub(crate) fn pc(&self, thread: usize) -> Pc {
        self.thread(thread)[header::PC] as Pc
    }

    /// The frames of a thread: everything after its header and its read holds.
    pub(crate) fn frames(&self, thread: usize) -> &[i64] {
        let words = self.thread(thread);
        &words[header::LENGTH + words[header::READ_HOLDS] as usize..]
    }

    pub(crate) fn read_holds(&self, thread: usize) -> &[i64] {
        let words = self.thread(thread);
        &words[header::LENGTH..][..words[header::READ_HOLDS] as usize]
    }

    /// The position of a thread by its name.
    pub(crate) fn find_thread(&self, name: Name) -> Option<usize> {
        name.position()
            .or_else(|| self.threads.iter().position(|block| block.name == name))
    }

    /// Which of two threads comes first in canonical states: by generations, children of one thread in the
    /// order in which it spawned them.
    pub(crate) fn canonical_order(&self, one: usize, other: usize) -> Ordering {
        let generations = |thread| std::iter::successors(Some(thread), |t| self.parent(*t)).count();
        let by_generation = generations(one).cmp(&generations(other));
        by_generation.then_with(|| match (self.parent(one), self.parent(other)) {
            (Some(parent), Some(other_parent)) if parent != other_parent => {
                self.canonical_order(parent, other_parent)
            }
            _ => one.cmp(&other),
        })
    }

    /// The thread that has spawned a thread, if one has.
    fn parent(&self, thread: usize) -> Option<usize> {
        match Reference::of(self.thread(thread)[header::PARENT]) {
            Reference::Thread(name) => self.find_thread(name),
            _ => None,
        }
    }

    /// The object of a name. Dangling names do not exist: freed objects stay until
    /// nothing refers to them.
    pub(crate) fn find_object(&self, name: Name) -> Option<usize> {
        if let Some(position) = name.position() {
            return Some(position);
        }
        // Fresh objects are behind the others. Mostly one thread has made all of them: then its
        // count tells where they are, however many there are.
        let canonical = |object: &Object| object.name.position().is_some();
        let guess = self.objects.partition_point(canonical) + name.count();
        match self.objects.get(guess) {
            Some(object) if object.name == name => Some(guess),
            _ => self.objects.iter().position(|object| object.name == name),
        }
    }

    /// The name of the next object that a thread makes.
    pub(crate) fn next_object(&self, maker: usize) -> Name {
        let made = self.objects.iter().rev();
        let last = made.map(|object| object.name).find(|name| {
            // Behind the canonical names there is none that it has made.
            name.made_by(maker) || name.position().is_some()
        });
        let count = last.filter(|name| name.made_by(maker));
        Name::fresh(maker, count.map_or(0, |name| name.count() + 1))
    }

    /// Stops a thread for good where its discipline was broken.
    pub(crate) fn fail(&mut self, thread: usize, pc: Pc) {
        let holds = self.read_holds(thread).len();
        self.resize_thread(thread, header::LENGTH + holds);
        let words = self.thread_mut(thread);
        words[header::PC] = i64::from(pc);
        words[header::PHASE] = Phase::Failed as i64;
    }

    /// Whether a thread has ended or failed.
    pub(crate) fn has_stopped(&self, thread: usize) -> bool {
        let phase = self.phase(thread);
        matches!(phase, Phase::Ended | Phase::Failed | Phase::FailedAtStart)
    }

    /// Makes a thread's part of the words longer or shorter, at its end.
    pub(crate) fn resize_thread(&mut self, thread: usize, length: usize) {
        let block = self.threads[thread];
        let old = block.room as usize;
        self.threads[thread].length = length as u32;
        if length <= old {
            return;
        }
        let end = block.start as usize + old;
        let grow = length - old;
        let total = self.words.len();
        self.words.resize(total + grow, 0);
        self.words.copy_within(end..total, end + grow);
        self.threads[thread].room = length as u32;
        let moved = |start: &mut u32| *start += grow as u32;
        for later in &mut self.threads[thread + 1..] {
            moved(&mut later.start);
        }
        for object in &mut self.objects {
            moved(&mut object.start);
        }
    }

    /// Appends a thread with empty frames; gives its position.
    pub(crate) fn push_thread(&mut self, name: Name) -> usize {
        let start = self
            .objects
            .first()
            .map_or(self.words.len(), |object| object.start as usize);
        let total = self.words.len();
        self.words.resize(total + header::LENGTH, 0);
        self.words.copy_within(start..total, start + header::LENGTH);
        self.words[start..start + header::LENGTH].fill(0);
        for object in &mut self.objects {
            object.start += header::LENGTH as u32;
        }
        self.threads.push(Block {
            start: start as u32,
            length: header::LENGTH as u32,
            room: header::LENGTH as u32,
            name,
        });
        self.threads.len() - 1
    }

    /// Appends a heap object, all zero.
    pub(crate) fn push_object(&mut self, name: Name, layout: u16, length: usize) {
        let start = self.words.len();
        self.words.resize(start + length, 0);
        self.objects.push(Object {
            start: start as u32,
            length: length as u32,
            name,
            layout,
            freed: false,
            escaped: false,
        });
    }
}
