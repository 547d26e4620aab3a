//! Steps as native code: what the machine and whoever compiles them agree on.
//!
//! Native code executes a step in the words of the state after it, where the interpreter would. It need not be able
//! to: whenever it [gives up](NativeStatus::GaveUp), the machine forgets what it did and has the interpreter execute the
//! step. The same happens if the step fails, since only the interpreter knows what to say about it, and when it executes a block of
//! code for the first time, since only the interpreter keeps track of what was executed. So the interpreter defines
//! what a step is; native code is the same, sooner.

use std::fmt;
use std::sync::Arc;

use raddle_explore::{Access, AccessKind, Location, Place, SyncOp};

use crate::op::{Op, Pc};
use crate::pack::constants::{Known, constants, frame_size};
use crate::program::Program;

/// The most accesses of a native step.
pub const MOST_ACCESSES: usize = 62;

/// What became of a native step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NativeStatus {
    /// The thread is before this visible instruction.
    Moved(u32),
    /// The thread has returned from its current frame, by this instruction, after its visible operation and outside of atomic code.
    Returned(u32),
    /// The step is blocked by this instruction: whether that is an assumption, and which instruction.
    Blocked(bool, u32),
    /// The interpreter is to execute the step.
    GaveUp,
}

/// An access as native code writes it down.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct NativeAccess {
    /// The location.
    pub location: u64,
    /// The instruction (from bit 16), the number of the kind in [`KINDS`] (from bit 8), whether it writes (bit 0).
    pub rest: u64,
}

impl NativeAccess {
    pub(crate) fn access(self, blocked: bool) -> Access {
        Access {
            location: Location(self.location),
            writes: self.rest & 1 != 0 && !blocked,
            kind: KINDS[(self.rest >> 8) as usize & 0xFF],
            place: Place((self.rest >> 16) as u32),
        }
    }
}

/// The kinds of accesses that native code makes, by number.
pub const KINDS: [AccessKind; 8] = [
    AccessKind::Plain,
    AccessKind::Atomic,
    AccessKind::Sync(SyncOp::Acquire),
    AccessKind::Sync(SyncOp::Release),
    AccessKind::Sync(SyncOp::Try),
    AccessKind::Sync(SyncOp::Down),
    AccessKind::Sync(SyncOp::Up),
    AccessKind::Sync(SyncOp::Poll),
];

/// What native code is told and what it tells, besides the words of the state.
#[repr(C)]
#[derive(Clone, Debug)]
pub struct NativeFrame {
    /// How many accesses there are.
    pub count: u64,
    /// The blocks of code that it has executed, as bits.
    pub blocks: u64,
    /// The name of the thread.
    pub me: i64,
    /// The number of the thread.
    pub tid: i64,
    /// The accesses.
    pub accesses: [NativeAccess; MOST_ACCESSES],
}

impl Default for NativeFrame {
    fn default() -> Self {
        Self {
            count: 0,
            blocks: 0,
            me: 0,
            tid: 0,
            accesses: [NativeAccess::default(); MOST_ACCESSES],
        }
    }
}

/// Compiled steps of a program.
pub trait NativeCode: Send + Sync + fmt::Debug {
    /// Executes a step of a thread that is before the instruction `pc`, by single accesses. The globals are at
    /// the beginning of `words`, and the registers of the thread's current frame begin at `registers`, with
    /// [room](Bytecode::frame_sizes) for all that its function uses.
    fn step(
        &self,
        pc: u32,
        words: &mut [i64],
        registers: usize,
        frame: &mut NativeFrame,
    ) -> NativeStatus;

    /// How many places there are at which steps begin, and how many of them are not compiled.
    fn places(&self) -> (usize, usize);
}

/// A program as a compiler to native code sees it.
#[doc(hidden)]
#[derive(Clone, Debug)]
pub struct Bytecode {
    pub code: Vec<Op>,
    /// The code of each function. What is not in a function, no thread executes.
    pub functions: Vec<std::ops::Range<u32>>,
    /// How many registers are alive before each instruction.
    pub heights: Vec<u16>,
    /// How many registers the function of each instruction uses.
    pub frame_sizes: Vec<u32>,
    /// Registers that are constant before each instruction.
    pub constants: Vec<Vec<Option<i64>>>,
    /// How many global slots there are.
    pub globals: usize,
    pub atomic_slots: Vec<bool>,
    pub ranges: Vec<(i64, i64)>,
    /// The word of a reference to the global slot 0; others follow.
    pub global_reference: i64,
}

impl Bytecode {
    /// The code of a program.
    #[must_use]
    pub fn of(program: &Program) -> Self {
        let known = constants(program, 256).into_iter();
        let constant = |known: Known| match known {
            Known::Constant(value) => Some(value),
            _ => None,
        };
        Self {
            code: program.code.clone(),
            functions: (program.functions.iter())
                .map(|function| function.entry..function.end)
                .collect(),
            heights: program.heights.clone(),
            frame_sizes: frame_sizes(program),
            constants: known
                .map(|registers| registers.into_iter().map(constant).collect())
                .collect(),
            globals: program.initial.len(),
            atomic_slots: program.atomic_slots.clone(),
            ranges: program.ranges.clone(),
            global_reference: crate::word::global(0),
        }
    }
}

fn frame_sizes(program: &Program) -> Vec<u32> {
    let mut sizes = vec![0; program.code.len()];
    for function in &program.functions {
        let code = function.entry..function.end;
        sizes[code.start as usize..code.end as usize].fill(frame_size(program, code));
    }
    sizes
}

/// What native code has executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NativeReport {
    /// At how many places steps can begin.
    pub places: usize,
    /// How many of them are not compiled.
    pub not_compiled: usize,
    /// How many steps were executed, but for those that a look at a lock told to be blocked.
    pub steps: u64,
    /// How many of them the interpreter executed.
    pub interpreted: u64,
}

/// The native code that a machine uses, and what it has seen of it.
#[derive(Clone, Debug)]
pub(crate) struct Native {
    pub(crate) code: Arc<dyn NativeCode>,
    pub(crate) frame: Box<NativeFrame>,
    /// The blocks that were executed in steps that began at each instruction.
    pub(crate) seen: Vec<u64>,
    /// How many registers the function of each instruction uses.
    pub(crate) frame_sizes: Arc<[u32]>,
    pub(crate) steps: u64,
    pub(crate) interpreted: u64,
}

impl Native {
    pub(crate) fn new(program: &Program, code: Arc<dyn NativeCode>) -> Self {
        Self {
            code,
            frame: Box::default(),
            seen: vec![0; program.code.len()],
            frame_sizes: frame_sizes(program).into(),
            steps: 0,
            interpreted: 0,
        }
    }

    /// Whether a step from there has executed no block of code that no step from there has executed before.
    pub(crate) fn is_familiar(&mut self, pc: Pc) -> bool {
        let seen = &mut self.seen[pc as usize];
        let familiar = self.frame.blocks & !*seen == 0;
        *seen |= self.frame.blocks;
        familiar
    }
}
