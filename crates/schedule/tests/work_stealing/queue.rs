//! The queue, its owner and its stealers.
//!
//! The owner pushes and pops at the tail, mostly without a lock: it moves the tail first and then looks whether a stealer's head has
//! passed it. Stealers take from the head, with the lock. When the owner finds the queue full, or that it has met a stealer,
//! it does the whole operation again with the lock. Only head, tail and lock are synchronisation; the elements are plain memory.

use super::replayed::{Context, Operation, Program, Reached};

const HEAD: u32 = 0;
const TAIL: u32 = 1;

/// When an item is pushed without the lock.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Push {
    /// If a place is left free: a stealer that has moved the head may still be about to read the element before it.
    Fixed,
    /// If there is any place.
    Buggy,
}

/// The whole program: the owner, which is the main thread, and the stealers.
///
/// In each round the owner pushes two items and pops one; then it pops as often as there were rounds, and waits for the stealers. In the
/// end each item should have been taken exactly once.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Driver {
    pub(crate) stealers: u32,
    /// How often each stealer tries to steal.
    pub(crate) attempts: u32,
    /// How many items the owner pushes; an even number.
    pub(crate) items: i64,
    pub(crate) push: Push,
}

/// What is not synchronised.
#[derive(Debug)]
pub(crate) struct Plain {
    /// A power of two of places.
    elements: Vec<i64>,
    pushed: i64,
    taken: Vec<i64>,
}

impl Default for Plain {
    fn default() -> Self {
        Self {
            elements: vec![0; 2],
            pushed: 0,
            taken: Vec::new(),
        }
    }
}

impl Plain {
    pub(crate) fn each_taken_once(&self) -> bool {
        let mut taken = self.taken.clone();
        taken.sort_unstable();
        taken.into_iter().eq(0..self.pushed)
    }

    fn mask(&self) -> i64 {
        self.elements.len() as i64 - 1
    }

    fn place(&mut self, index: i64) -> &mut i64 {
        let place = index & self.mask();
        &mut self.elements[place as usize]
    }

    fn put(&mut self, index: i64, item: i64) {
        *self.place(index) = item;
        self.pushed += 1;
    }

    fn take(&mut self, index: i64) {
        let item = *self.place(index);
        self.taken.push(item);
    }

    /// Makes twice as many places, and moves the items from the head on to the first ones.
    fn grow(&mut self, head: i64, count: i64) {
        let mut elements: Vec<i64> = (head..head + count).map(|i| *self.place(i)).collect();
        elements.resize(2 * self.elements.len(), 0);
        self.elements = elements;
    }
}

impl Program for Driver {
    type Plain = Plain;

    fn body(&self, thread: u32, context: &mut Context<'_, Plain>) -> Reached<()> {
        let mut queue = Queue {
            context,
            push: self.push,
        };
        if thread == 0 {
            self.owner(&mut queue)
        } else {
            (0..self.attempts).try_for_each(|_| queue.steal())
        }
    }
}

impl Driver {
    fn owner(&self, queue: &mut Queue<'_, '_>) -> Reached<()> {
        queue.set(HEAD, 0)?;
        queue.set(TAIL, 0)?;
        for stealer in 1..=self.stealers {
            queue.context.make(Operation::Fork)?;
            queue.context.make(Operation::Start(stealer))?;
        }
        for round in 0..self.items / 2 {
            queue.push(2 * round)?;
            queue.push(2 * round + 1)?;
            queue.pop()?;
        }
        for _ in 0..self.items / 2 {
            queue.pop()?;
        }
        queue.context.make(Operation::JoinAll(self.stealers))?;
        Ok(())
    }
}

/// The queue, as a thread sees it.
struct Queue<'a, 'b> {
    context: &'a mut Context<'b, Plain>,
    push: Push,
}

impl Queue<'_, '_> {
    fn push(&mut self, item: i64) -> Reached<()> {
        let tail = self.get(TAIL)?;
        let head = self.get(HEAD)?;
        let room = match self.push {
            Push::Fixed => self.mask(),
            Push::Buggy => self.mask() + 1,
        };
        if tail < head + room {
            self.put(tail, item);
            self.set(TAIL, tail + 1)
        } else {
            self.push_with_lock(item)
        }
    }

    fn push_with_lock(&mut self, item: i64) -> Reached<()> {
        self.lock()?;
        let head = self.get(HEAD)?;
        let count = self.get(TAIL)? - head;
        let head = head & self.mask();
        self.set(HEAD, head)?;
        self.set(TAIL, head + count)?;
        if count >= self.mask() {
            self.plainly(|plain| plain.grow(head, count));
            self.set(HEAD, 0)?;
            self.set(TAIL, count)?;
        }
        let tail = self.get(TAIL)?;
        self.put(tail, item);
        self.set(TAIL, tail + 1)?;
        self.unlock()
    }

    fn pop(&mut self) -> Reached<()> {
        let tail = self.get(TAIL)? - 1;
        self.set(TAIL, tail)?;
        if self.get(HEAD)? <= tail {
            self.take(tail);
            return Ok(());
        }
        self.set(TAIL, tail + 1)?;
        self.pop_with_lock()
    }

    fn pop_with_lock(&mut self) -> Reached<()> {
        self.lock()?;
        let tail = self.get(TAIL)? - 1;
        self.set(TAIL, tail)?;
        if self.get(HEAD)? <= tail {
            self.take(tail);
        } else {
            self.set(TAIL, tail + 1)?;
            if self.get(HEAD)? > tail {
                self.set(HEAD, 0)?;
                self.set(TAIL, 0)?;
            }
        }
        self.unlock()
    }

    fn steal(&mut self) -> Reached<()> {
        self.lock()?;
        let head = self.get(HEAD)?;
        self.set(HEAD, head + 1)?;
        if head < self.get(TAIL)? {
            self.take(head);
        } else {
            self.set(HEAD, head)?;
        }
        self.unlock()
    }

    fn get(&mut self, variable: u32) -> Reached<i64> {
        let new = None;
        self.context.make(Operation::Access { variable, new })
    }

    fn set(&mut self, variable: u32, value: i64) -> Reached<()> {
        let new = Some(value);
        self.context.make(Operation::Access { variable, new })?;
        Ok(())
    }

    fn lock(&mut self) -> Reached<()> {
        self.context.make(Operation::Lock)?;
        Ok(())
    }

    fn unlock(&mut self) -> Reached<()> {
        self.context.make(Operation::Unlock)?;
        Ok(())
    }

    fn mask(&mut self) -> i64 {
        self.context.plain(|plain| plain.mask())
    }

    fn put(&mut self, index: i64, item: i64) {
        self.plainly(|plain| plain.put(index, item));
    }

    fn take(&mut self, index: i64) {
        self.plainly(|plain| plain.take(index));
    }

    fn plainly(&mut self, change: impl FnOnce(&mut Plain)) {
        self.context.plain(|plain| {
            change(plain);
            0
        });
    }
}
