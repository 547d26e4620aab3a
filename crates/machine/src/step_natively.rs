//! Steps of a machine as native code.

use raddle_explore::{Choice, Place, Status, Step};

use crate::machine::Machine;
use crate::native::NativeStatus;
use crate::state::{Phase, State, header};
use crate::word;

impl Machine {
    /// Executes a step in `step.after`, which is a copy of `state`, if native code can. If not, `step.after` is
    /// no copy any more, but everything else is as it was.
    pub(crate) fn step_natively(
        &mut self,
        state: &State,
        thread: usize,
        choice: Choice,
        step: &mut Step<State>,
    ) -> bool {
        let Some(native) = &mut self.native else {
            return false;
        };
        native.steps += 1;
        native.interpreted += 1;
        if choice != Choice::FIRST {
            return false;
        }
        let program = &*self.program;
        let pc = state.pc(thread);
        let words = state.thread(thread);
        let current = words.len() - program.heights[pc as usize] as usize;
        let size = native.frame_sizes[pc as usize] as usize;
        if (step.after.threads[thread].room as usize) < current + size {
            step.after.resize_thread(thread, current + size);
        }
        let block = step.after.threads[thread];
        let frame = &mut *native.frame;
        frame.count = 0;
        frame.blocks = 0;
        frame.me = word::thread(block.name);
        frame.tid = words[header::TID];
        let registers = block.start as usize + current;
        let status = (native.code).step(pc, &mut step.after.words, registers, frame);
        let stopped = match status {
            NativeStatus::Moved(next) => Some(next),
            NativeStatus::Blocked(assumption, at) => {
                native.interpreted -= 1;
                self.stopped_at = Place(at);
                step.status = Status::Blocked { assumption };
                let accesses = &frame.accesses[..frame.count as usize];
                (step.footprint).extend(accesses.iter().map(|access| access.access(true)));
                return true;
            }
            // A thread that returns from its first frame has ended, or is about to if others may wait for that.
            NativeStatus::Returned(at) if current == header::LENGTH + holds(words) => {
                match words[header::PARENT] {
                    word::NULL => None,
                    _ => Some(program.exit_of(at)),
                }
            }
            NativeStatus::Returned(_) | NativeStatus::GaveUp => return false,
        };
        if !native.is_familiar(pc) {
            return false;
        }
        native.interpreted -= 1;
        let frame = &*native.frame;
        let accesses = &frame.accesses[..frame.count as usize];
        (step.footprint).extend(accesses.iter().map(|access| access.access(false)));
        let (pc, length) = match stopped {
            Some(pc) => (pc, current + program.heights[pc as usize] as usize),
            None => (0, header::LENGTH + holds(words)),
        };
        step.after.threads[thread].length = length as u32;
        let words = step.after.thread_mut(thread);
        words[header::PC] = i64::from(pc);
        if stopped.is_none() {
            words[header::PHASE] = Phase::Ended as i64;
        }
        self.stopped_at = Place(stopped.unwrap_or(pc));
        step.status = Status::Moved;
        step.changed = self.changed(state, thread, step);
        true
    }
}

fn holds(words: &[i64]) -> usize {
    words[header::READ_HOLDS] as usize
}
