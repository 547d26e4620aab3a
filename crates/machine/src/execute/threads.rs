//! Threads that come and go.

use raddle_explore::SyncOp;

use super::{CHILDREN_PER_THREAD, Execution, Halt, MAX_THREADS, Trouble};
use crate::op::Reg;
use crate::state::{Phase, header};
use crate::word::{self, Name, Reference};

impl Execution<'_> {
    pub(super) fn spawn(&mut self, to: Reg, function: u16, arguments: Reg) -> Result<(), Halt> {
        if self.memory.threads.len() >= MAX_THREADS {
            return Err(Trouble::TooManyThreads.into());
        }
        let function = &self.program.functions[function as usize];
        let tid = self.next_child_number()?;
        let made = self.memory.threads.iter();
        let made = made.filter(|block| block.name.made_by(self.thread)).count();
        let name = Name::fresh(self.thread, made);
        let child = self.memory.push_thread(name);
        let parameters = function.parameters as usize;
        self.memory
            .resize_thread(child, header::LENGTH + parameters);
        let first = self.base + arguments as usize;
        let words = self.memory.thread_mut(child);
        words[header::PC] = i64::from(function.entry);
        words[header::PARENT] = self.me;
        words[header::TID] = tid;
        words[header::LENGTH..].copy_from_slice(&self.scratch.registers[first..first + parameters]);
        self.synchronise(word::thread(name), true, SyncOp::Spawn);
        self.set(to, word::thread(name));
        Ok(())
    }

    /// The number of the next child. It depends on the parent alone, so that the
    /// order in which different threads spawn cannot be told from it. Where no
    /// thread asks for its number, children are not counted: a program may spawn for ever.
    fn next_child_number(&mut self) -> Result<i64, Trouble> {
        if !self.program.features.numbers_threads {
            if self.program.hir.starts.len() == 1 && self.thread == 0 {
                self.memory.thread_mut(self.thread)[header::CHILDREN] = 1;
            }
            return Ok(0);
        }
        let starts = self.program.hir.starts.len() as i64;
        let words = self.memory.thread_mut(self.thread);
        let child = words[header::CHILDREN];
        let tid = words[header::TID] * CHILDREN_PER_THREAD + child + starts;
        if child >= CHILDREN_PER_THREAD {
            return Err(Trouble::TooManyChildren);
        }
        if tid > i32::MAX.into() {
            return Err(Trouble::ThreadNumber);
        }
        words[header::CHILDREN] += 1;
        Ok(tid)
    }

    pub(super) fn join(&mut self, thread: Reg) -> Result<(), Halt> {
        let handle = self.get(thread);
        let Reference::Thread(name) = Reference::of(handle) else {
            return Err(Trouble::NullThread.into());
        };
        let position = self.memory.find_thread(name);
        let position = position.expect("a thread stays while it is referred to");
        self.synchronise(handle, false, SyncOp::Join);
        if self.memory.phase(position) != Phase::Ended {
            return Err(Halt::Block { assumption: false });
        }
        Ok(())
    }
}
