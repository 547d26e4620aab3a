//! What a program is doing.

use std::collections::BTreeSet;

use crate::syntax::{OBJECTS, REGISTERS, Value};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) enum Sleep {
    #[default]
    Awake,
    Waits,
    /// Notified, or timed out, but without the mutex.
    Back {
        timed_out: bool,
    },
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Thread {
    pub(super) pc: usize,
    pub(super) registers: [i64; REGISTERS],
    pub(super) sleep: Sleep,
    pub(super) token: bool,
    pub(super) spurious: u32,
    /// Which future it runs, if any, counted from 1, and whether that has been woken.
    pub(super) future: u8,
    pub(super) polls: bool,
    pub(super) woken: bool,
    /// How many references it has.
    pub(super) references: [u8; OBJECTS],
    /// A waker that it has taken and is about to wake.
    pub(super) waking: Option<(usize, u8)>,
    /// It is about to make a value known.
    pub(super) setting: bool,
    /// At the end of its statements.
    pub(super) done: bool,
    pub(super) ended: bool,
    pub(super) joined: usize,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Mutex {
    pub(super) holder: Option<usize>,
    pub(super) value: i64,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct RwLock {
    pub(super) writer: Option<usize>,
    pub(super) readers: BTreeSet<usize>,
    pub(super) value: i64,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Channel {
    pub(super) messages: Vec<i64>,
    pub(super) senders: BTreeSet<usize>,
    pub(super) receiver: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) enum Once {
    #[default]
    New,
    Running,
    Done(i64),
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct State {
    pub(super) threads: Vec<Thread>,
    pub(super) started: usize,
    pub(super) atomics: [i64; OBJECTS],
    pub(super) mutexes: [Mutex; OBJECTS],
    pub(super) locks: [RwLock; OBJECTS],
    pub(super) channels: [Channel; OBJECTS],
    pub(super) onces: [Once; OBJECTS],
    pub(super) slots: [Option<(usize, u8)>; OBJECTS],
}

impl State {
    pub(super) fn is_over(&self) -> bool {
        self.threads.iter().all(|thread| thread.ended)
    }

    pub(super) fn done(&self) -> Vec<Option<[i64; REGISTERS]>> {
        let done = |thread: &Thread| thread.done.then_some(thread.registers);
        self.threads.iter().map(done).collect()
    }

    pub(super) fn objects(&self) -> Vec<i64> {
        let mutexes = self.mutexes.iter().map(|mutex| mutex.value);
        self.atomics.iter().copied().chain(mutexes).collect()
    }

    pub(super) fn value(&self, thread: usize, value: Value) -> i64 {
        let registers = &self.threads[thread].registers;
        match value {
            Value::Is(value) => value,
            Value::Of(register) => registers[register],
            Value::Next(register) => registers[register] + 1,
            Value::Pick(values, register) => {
                let count = values.len() as i64;
                values[registers[register].rem_euclid(count) as usize]
            }
        }
    }

    pub(super) fn thread(&self, thread: usize, value: Value) -> usize {
        self.value(thread, value)
            .rem_euclid(self.threads.len() as i64) as usize
    }

    /// How many references there are.
    pub(super) fn references(&self, number: usize) -> i64 {
        let own = self.threads.iter().map(|own| own.references[number]);
        own.map(i64::from).sum()
    }

    pub(super) fn object(&self, thread: usize, value: Value) -> usize {
        self.value(thread, value).rem_euclid(OBJECTS as i64) as usize
    }
}
