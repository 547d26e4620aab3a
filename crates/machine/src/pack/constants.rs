//! Which registers have the same value whenever a thread is at an instruction.
//!
//! A forward data-flow analysis over the code of each function. Compiled code computes references to
//! globals and constants long before it uses them, so many registers of a thread that stops are
//! such: they need not be part of a state.
//!
//! **Claim.** If a register is [`Known::Constant`] before an instruction, it has that value whenever a
//! thread is there. *Why:* at the entry of a function nothing is constant; an instruction makes
//! what it writes constant only if it always writes that value; where paths meet, what differs is not constant. Calls leave
//! the frame of the caller alone but for the result and what is above the `height` of the call. *What would
//! break:* an instruction that writes a register which [`written`] does not name. So packing asserts, in
//! debug builds, that each constant has its value.

use crate::op::{Op, Reg};
use crate::program::Program;
use crate::word;

/// What is known about a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Known {
    /// No path leads here so far.
    Unreached,
    /// It always has this value.
    Constant(i64),
    /// It is an integer (or a boolean, ...).
    Integer,
    /// Anything.
    Anything,
}

impl Known {
    fn join(self, other: Self) -> Self {
        let is_integer = |known| match known {
            Self::Constant(value) => !word::is_reference(value),
            known => known == Self::Integer,
        };
        match (self, other) {
            (Self::Unreached, known) | (known, Self::Unreached) => known,
            (one, other) if one == other => one,
            (one, other) if is_integer(one) && is_integer(other) => Self::Integer,
            _ => Self::Anything,
        }
    }
}

/// What is known about each register below the height of each instruction and below `most`, before it. At instructions that no path
/// reaches, nothing is.
pub(crate) fn constants(program: &Program, most: usize) -> Vec<Vec<Known>> {
    let mut known: Vec<Vec<Known>> = (program.heights.iter())
        .map(|height| vec![Known::Unreached; (*height as usize).min(most)])
        .collect();
    let mut reached = vec![false; program.code.len()];
    let mut work = Vec::new();
    for function in &program.functions {
        let entry = function.entry as usize;
        known[entry].fill(Known::Anything);
        reached[entry] = true;
        work.push(entry);
    }
    let mut registers = Vec::new();
    while let Some(pc) = work.pop() {
        let op = program.code[pc];
        registers.clear();
        registers.extend_from_slice(&known[pc]);
        // What is above the height holds nothing that is used again before it is written.
        registers.resize(program.registers.max(1), Known::Anything);
        apply(program, op, &mut registers);
        for next in successors(program, pc, op).into_iter().flatten() {
            let mut changed = !reached[next];
            reached[next] = true;
            for (old, new) in known[next].iter_mut().zip(&registers) {
                let joined = old.join(*new);
                changed |= joined != *old;
                *old = joined;
            }
            if changed {
                work.push(next);
            }
        }
    }
    for (known, reached) in known.iter_mut().zip(reached) {
        if !reached {
            known.fill(Known::Anything);
        }
    }
    known
}

fn successors(program: &Program, pc: usize, op: Op) -> [Option<usize>; 2] {
    match op {
        Op::Jump { to } | Op::Loop { to } => [Some(to as usize), None],
        Op::JumpIf { to, .. } | Op::JumpUnless { to, .. } => [Some(pc + 1), Some(to as usize)],
        // A spawned thread goes on to its end.
        Op::Return { .. } => {
            let function = program.function_at(pc as u32);
            [function.map(|function| function.end as usize - 1), None]
        }
        Op::Exit => [None, None],
        _ => [Some(pc + 1), None],
    }
}

fn apply(program: &Program, op: Op, registers: &mut [Known]) {
    match op {
        Op::Const { to, value } => registers[to as usize] = Known::Constant(value.into()),
        Op::ConstUnsigned { to, value } => registers[to as usize] = Known::Constant(value.into()),
        Op::GlobalRef { to, slot } => {
            registers[to as usize] = Known::Constant(word::global(slot.into()));
        }
        Op::Move { to, from } => registers[to as usize] = registers[from as usize],
        Op::Clear { first, end } => {
            registers[first as usize..end as usize].fill(Known::Constant(0));
        }
        // The result of arithmetic is an integer; everything else may be a reference.
        Op::Unary { to, .. } | Op::Binary { to, .. } | Op::BinaryConst { to, .. } => {
            registers[to as usize] = Known::Integer;
        }
        Op::Tid { to } | Op::ChooseBelow { to, .. } | Op::Choose { to, .. } => {
            registers[to as usize] = Known::Integer;
        }
        _ => {
            for register in written(program, op) {
                if let Some(known) = registers.get_mut(register) {
                    *known = Known::Anything;
                }
            }
        }
    }
}

/// How many registers the code uses: those that are alive, and those that are written.
pub(crate) fn frame_size(program: &Program, code: std::ops::Range<u32>) -> u32 {
    let sizes = code.map(|pc| {
        let height = program.heights[pc as usize] as usize;
        let written = match program.code[pc as usize] {
            // Within what is alive.
            Op::SetLocal { .. } => 0,
            // The frame of the call is no part of this one.
            Op::Call { to, .. } => to as usize + 1,
            op => written(program, op).end,
        };
        height.max(written) as u32
    });
    sizes.max().unwrap_or(0)
}

/// The registers that an instruction may write.
pub(crate) fn written(program: &Program, op: Op) -> std::ops::Range<usize> {
    let one = |reg: Reg| reg as usize..reg as usize + 1;
    let message = |first: Reg, shape: u16| {
        let values = program.shapes[shape as usize].values as usize;
        first as usize..first as usize + values
    };
    match op {
        Op::Const { to, .. }
        | Op::ConstUnsigned { to, .. }
        | Op::GlobalRef { to, .. }
        | Op::Move { to, .. }
        | Op::Unary { to, .. }
        | Op::Binary { to, .. }
        | Op::BinaryConst { to, .. }
        | Op::GetLocal { to, .. }
        | Op::Tid { to }
        | Op::New { to, .. }
        | Op::Load { to, .. }
        | Op::LoadElement { to, .. }
        | Op::LoadAt { to, .. }
        | Op::AtomicLoad { to, .. }
        | Op::Cas { to, .. }
        | Op::Update { to, .. }
        | Op::Swap { to, .. }
        | Op::TryLock { to, .. }
        | Op::TryReadLock { to, .. }
        | Op::TryWriteLock { to, .. }
        | Op::TryDown { to, .. }
        | Op::TrySend { to, .. }
        | Op::Len { to, .. }
        | Op::Choose { to, .. }
        | Op::ChooseBelow { to, .. }
        | Op::Spawn { to, .. } => one(to),
        Op::Fit { reg, .. }
        | Op::Advance { reg, .. }
        | Op::Slide { reg, .. }
        | Op::Element { reg, .. }
        | Op::Offset { reg, .. } => one(reg),
        Op::Wait { saved, .. } => one(saved),
        Op::Clear { first, end } => first as usize..end as usize,
        // Any part of the array: its length is not known here.
        Op::SetLocal { base, .. } => base as usize..program.registers,
        // The frame of the call is behind the registers that are alive.
        Op::Call { height, to, .. } => to.min(height) as usize..program.registers,
        Op::Recv { to, shape, .. } => message(to, shape),
        Op::TryRecv {
            to, values, shape, ..
        } => {
            let message = message(values, shape);
            let to = to as usize;
            to.min(message.start)..message.end.max(to + 1)
        }
        Op::NonNull { .. }
        | Op::InBounds { .. }
        | Op::Jump { .. }
        | Op::Loop { .. }
        | Op::JumpIf { .. }
        | Op::JumpUnless { .. }
        | Op::Return { .. }
        | Op::Assert { .. }
        | Op::Reach { .. }
        | Op::Store { .. }
        | Op::StoreElement { .. }
        | Op::StoreAt { .. }
        | Op::AtomicStore { .. }
        | Op::Lock { .. }
        | Op::Unlock { .. }
        | Op::ReadLock { .. }
        | Op::WriteLock { .. }
        | Op::UnlockRw { .. }
        | Op::Resume { .. }
        | Op::Notify { .. }
        | Op::Down { .. }
        | Op::Up { .. }
        | Op::Send { .. }
        | Op::Handoff { .. }
        | Op::Join { .. }
        | Op::Free { .. }
        | Op::Exit
        | Op::Yield
        | Op::AtomicBegin
        | Op::AtomicEnd
        | Op::Guard { .. } => 0..0,
    }
}
