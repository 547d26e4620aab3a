//! Which registers have the same value whenever a thread is at an instruction.
//!
//! A forward data-flow analysis over the code of each function. Compiled code computes references to
//! globals and constants long before it uses them, so many registers of a thread that stops are
//! such: they need not be part of a state. [`constants_of_kind`] does the same for one thread of `run`, whose arguments and number are
//! known, or for those that are spawned with a function, and for each chain of calls: what is computed from these is constant too, and so are arguments that are constant in one call.
//!
//! **Claim.** If a register is [`Known::Constant`] before an instruction, it has that value whenever a
//! thread is there. *Why:* at the entry of a function nothing is constant; an instruction makes
//! what it writes constant only if it always writes that value; where paths meet, what differs is not constant. Calls leave
//! the frame of the caller alone but for the result and what is above the `height` of the call; where each call has code of its own ([spots](super::spots)), what is known of the frame of
//! the caller goes through the called function unchanged. *What would
//! break:* an instruction that writes a register which [`written`] does not name. So packing asserts, in
//! debug builds, that each constant has its value.

use raddle_lang::ast::UnaryOp;
use raddle_lang::check::constants::{binary, unary, wrap};
use raddle_lang::hir::Type;

use super::spots::Spots;
use crate::native::{Link, Spot};
use crate::op::{Fit, Op, Pc, Reg};
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
    pub(super) fn join(self, other: Self) -> Self {
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

/// What is known about each register of all frames at each [spot](super::spots) when a thread of a kind is there; nothing at
/// those that it does not reach.
pub(super) fn constants_of_kind(
    program: &Program,
    spots: &Spots,
    kind: usize,
) -> Vec<Option<Vec<Known>>> {
    let start = spots.start(kind);
    let mut known: Vec<Option<Vec<Known>>> = vec![None; spots.len()];
    let mut first: Vec<Known> = match program.hir.starts.get(kind) {
        Some(start) => (start.arguments.iter())
            .map(|value| Known::Constant(crate::compile::initial_word(*value)))
            .collect(),
        None => parameters(program, spots.at(start).pc),
    };
    // Who they are is known only of threads of `run`.
    let number = (kind < program.hir.starts.len()).then_some(kind as i64);
    first.resize(spots.height(program, start), Known::Anything);
    known[start as usize] = Some(first);
    let mut work = vec![start];
    // Instructions may name registers behind those that are used.
    let room = spots.registers() + program.registers.max(1);
    while let Some(spot) = work.pop() {
        let Some(mut registers) = known[spot as usize].clone() else {
            continue;
        };
        registers.resize(room, Known::Anything);
        let ways = execute(program, spots, number, spot, &mut registers);
        for next in ways.into_iter().flatten() {
            let height = spots.height(program, next);
            let changed = match &mut known[next as usize] {
                slot @ None => {
                    *slot = Some(registers[..height].to_vec());
                    true
                }
                Some(old) => {
                    let mut changed = false;
                    for (old, new) in old.iter_mut().zip(&registers) {
                        let joined = old.join(*new);
                        changed |= joined != *old;
                        *old = joined;
                    }
                    changed
                }
            };
            if changed {
                work.push(next);
            }
        }
    }
    known
}

/// What is known of the parameters of the function that begins at an instruction: their types.
fn parameters(program: &Program, entry: Pc) -> Vec<Known> {
    let functions = program.functions.iter().zip(&program.hir.functions);
    let mut functions = functions.filter(|(function, _)| function.entry == entry);
    let function = functions.next();
    let (function, checked) = function.expect("threads begin at functions");
    let parameters = checked.locals[..checked.parameters].iter();
    debug_assert_eq!(
        parameters.len(),
        usize::from(function.parameters),
        "one register each"
    );
    parameters
        .map(|local| match local.ty {
            Type::Int(_) | Type::Bool | Type::Range(..) => Known::Integer,
            _ => Known::Anything,
        })
        .collect()
}

/// What is known behind a spot, and where a thread goes on.
fn execute(
    program: &Program,
    spots: &Spots,
    number: Option<i64>,
    spot: u32,
    registers: &mut [Known],
) -> [Option<u32>; 2] {
    let Spot { pc, base, link, .. } = spots.at(spot);
    let op = program.code[pc as usize];
    let innermost = &mut registers[base as usize..];
    match (op, link) {
        (
            Op::Call {
                function,
                arguments,
                height,
                ..
            },
            Link::Calls(entry),
        ) => {
            let (arguments, height) = (arguments as usize, height as usize);
            let parameters = program.functions[function as usize].parameters as usize;
            innermost.copy_within(arguments..arguments + parameters, height + 1);
            innermost[height] = Known::Constant((pc + 1).into());
            return [Some(entry), None];
        }
        // What happens in between changes no register of these frames but the result.
        (Op::Call { to, height, .. }, Link::Cut) => {
            innermost[height as usize..].fill(Known::Anything);
            innermost[to as usize] = Known::Anything;
            return [Some(spot + 1), None];
        }
        (Op::Return { from }, Link::Returns { to, spot }) => {
            let result = from.map_or(Known::Constant(0), |reg| innermost[reg as usize]);
            registers[to as usize] = result;
            return [Some(spot), None];
        }
        // The end of the thread, which is a step of its own for one that was spawned.
        (Op::Return { .. }, Link::Exits(exit)) if number.is_none() => return [Some(exit), None],
        (Op::Return { .. } | Op::Exit, _) => return [None, None],
        _ => {}
    }
    let jumps = condition(op, innermost);
    match evaluate(program, op, number, innermost) {
        Evaluated::To(register, value) => innermost[register as usize] = Known::Constant(value),
        Evaluated::Unknown => apply(program, op, innermost),
        Evaluated::Fails => return [None, None],
    }
    // The first way is on, the second a jump.
    let [on, jump] = successors(program, pc as usize, op);
    let here = |next: usize| (spot + next as u32) - pc;
    [
        on.filter(|_| jumps != Some(true)).map(here),
        jump.filter(|_| jumps != Some(false)).map(here),
    ]
}

/// Whether a conditional jump is made, if that is known.
fn condition(op: Op, registers: &[Known]) -> Option<bool> {
    let (reg, wanted) = match op {
        Op::JumpIf { reg, .. } => (reg, true),
        Op::JumpUnless { reg, .. } => (reg, false),
        _ => return None,
    };
    match registers[reg as usize] {
        Known::Constant(value) => Some((value != 0) == wanted),
        _ => None,
    }
}

/// What an instruction computes from constants.
enum Evaluated {
    To(Reg, i64),
    Unknown,
    /// The thread fails.
    Fails,
}

/// What an instruction computes, if all that it looks at is known: the same as the interpreter would.
fn evaluate(program: &Program, op: Op, number: Option<i64>, registers: &[Known]) -> Evaluated {
    let get = |reg: Reg| match registers[reg as usize] {
        Known::Constant(value) => Some(value),
        _ => None,
    };
    let computed = match op {
        Op::Tid { to } => number.map(|number| Some((to, number))),
        Op::Unary { op, int, to, a } => get(a).map(|a| match op {
            UnaryOp::Not => Some((to, i64::from(a == 0))),
            op => Some((to, unary(op, a, int))),
        }),
        Op::Binary { op, int, to, a, b } => {
            (get(a).zip(get(b))).map(|(a, b)| binary(op, a, b, int).map(|value| (to, value)))
        }
        Op::BinaryConst { op, int, to, a, b } => {
            get(a).map(|a| binary(op, a, b.into(), int).map(|value| (to, value)))
        }
        Op::Fit { reg, fit } => get(reg).map(|value| match fit {
            Fit::AsIs => Some((reg, value)),
            Fit::Wrap(int) => Some((reg, wrap(value, int))),
            Fit::Range(range) => {
                let (low, high) = program.ranges[range as usize];
                (low..=high).contains(&value).then_some((reg, value))
            }
        }),
        Op::Advance { reg, by } => get(reg).map(|value| Some((reg, value + i64::from(by)))),
        Op::Slide { reg, by } => (get(reg).zip(get(by))).map(|(value, by)| Some((reg, value + by))),
        Op::Element {
            reg,
            index,
            length,
            stride,
        } => get(reg).zip(get(index)).map(|(value, index)| {
            let in_bounds = (0..i64::from(length)).contains(&index);
            in_bounds.then_some((reg, value + index * i64::from(stride)))
        }),
        _ => None,
    };
    match computed {
        None => Evaluated::Unknown,
        Some(None) => Evaluated::Fails,
        Some(Some((to, value))) => Evaluated::To(to, value),
    }
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
