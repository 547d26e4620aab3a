//! Operations of threads whose execution is over.
//!
//! What is left of an execution that was given up is unwound, so that its memory comes back. The
//! destructors that run then may make operations. They are made at once, whether they are possible or not: no other
//! thread runs at that time, and nobody looks at what comes of it.

use super::Runtime;
use super::effect::effect;
use super::operation::{Operation, channel, once};

/// Destructors that make more operations than this wait for something that will not happen.
const PATIENCE: u32 = 10_000;

/// What unwinds a thread whose execution is over.
pub(crate) struct Unwind;

impl Runtime {
    pub(super) fn resumed_in_teardown(&self) -> u64 {
        if !std::thread::panicking() {
            std::panic::resume_unwind(Box::new(Unwind));
        }
        // A destructor is at work, and a panic in it would be the end of the process. The operation that it
        // waited for is left undone.
        let state = self.state.borrow();
        let thread = state.thread(state.current);
        let announced = thread.announced.last().map(|last| last.operation);
        drop(state);
        announced.map_or(0, |operation| self.perform_in_teardown(&operation))
    }

    pub(super) fn perform_in_teardown(&self, operation: &Operation) -> u64 {
        let mut state = self.state.borrow_mut();
        let current = state.current;
        let thread = state.thread_mut(current);
        thread.operations_in_teardown += 1;
        if thread.operations_in_teardown > PATIENCE
            && let Some(suspender) = thread.suspender
        {
            state.stuck_unwinding += 1;
            drop(state);
            // SAFETY: the suspender is that of the thread that is running. It is not resumed again.
            unsafe { suspender.suspend() };
            unreachable!("a thread that was left behind was resumed");
        }
        let mut accesses = Vec::new();
        let effect = effect(operation, &state.objects, &mut |access| {
            accesses.push(access);
        });
        for access in accesses {
            state.objects.set(access.location, access.after);
        }
        if let Operation::Send { channel, .. } = *operation {
            state.objects.make_room_in(channel);
        }
        match operation {
            Operation::Receive { .. } | Operation::Taken { .. } if !effect.enabled => {
                channel::DISCONNECTED
            }
            Operation::OnceBegin { .. } if !effect.enabled => once::NEW,
            _ => effect.result,
        }
    }
}
