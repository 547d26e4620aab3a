//! The code that a step can execute.

use std::collections::{HashMap, HashSet};

use raddle_machine::native::{Bytecode, Stop};
use raddle_machine::op::Op;

/// An instruction, as part of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Node {
    pub(crate) pc: u32,
    /// Whether the visible operation of the step comes before it.
    pub(crate) acted: bool,
    /// How many atomic blocks it is in.
    pub(crate) depth: u32,
}

/// Where code goes on behind a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    Node(Node),
    /// The step ends before this visible instruction.
    Stop(u32),
    /// The step ends before this `Resume`, and the thread waits.
    Wait(u32),
}

/// Steps that may execute more instructions than this are not compiled.
const MOST_NODES: usize = 600;
/// More blocks have no bits.
const MOST_BLOCKS: usize = 64;

/// With more threads, the code for `notify` would be too long.
const MOST_THREADS: usize = 32;
/// With longer channels, the code for receiving would be.
const MOST_MESSAGES: usize = 64;

/// All code that a step can execute that begins at an instruction.
#[derive(Debug)]
pub(crate) struct Region {
    pub(crate) start: Node,
    /// Whether the thread is among the waiters of an object: then the step is blocked.
    pub(crate) waits: bool,
    /// Numbers for the blocks: nodes that do not always follow the node before.
    pub(crate) blocks: HashMap<Node, usize>,
    /// The registers that it writes.
    pub(crate) written: HashSet<u16>,
    /// Whether it addresses registers by an index.
    pub(crate) indexes_registers: bool,
    nodes: usize,
}

impl Region {
    /// Nothing if it is too large, or if not even its first instruction can be compiled.
    pub(crate) fn of(bytecode: &Bytecode, stop: Stop) -> Option<Self> {
        let waits = matches!(stop, Stop::Waiting(_));
        let start = Node {
            pc: stop.pc(),
            acted: false,
            depth: 0,
        };
        if !is_compiled(bytecode, start) {
            return None;
        }
        let mut seen = HashSet::from([start]);
        let mut blocks = HashMap::from([(start, 0)]);
        let mut work = vec![start];
        while let Some(node) = work.pop() {
            if !is_compiled(bytecode, node) || waits {
                continue;
            }
            let all = next(bytecode, node);
            let many = all.iter().flatten().count() > 1;
            for next in all.into_iter().flatten() {
                let Next::Node(next) = next else { continue };
                let new = seen.insert(next);
                // It is reached in two ways, or it is one of two ways.
                if many || !new {
                    let number = blocks.len();
                    blocks.entry(next).or_insert(number);
                }
                if new {
                    work.push(next);
                }
            }
        }
        let mut written = HashSet::new();
        let mut indexes_registers = false;
        for node in &seen {
            let op = bytecode.code[node.pc as usize];
            written.extend(bytecode.written[node.pc as usize].clone());
            indexes_registers |= matches!(op, Op::GetLocal { .. } | Op::SetLocal { .. });
        }
        let fits = seen.len() <= MOST_NODES && blocks.len() <= MOST_BLOCKS;
        fits.then_some(Self {
            start,
            waits,
            blocks,
            written,
            indexes_registers,
            nodes: seen.len(),
        })
    }

    pub(crate) fn len(&self) -> usize {
        self.nodes
    }
}

/// Where code can go on behind a node that is compiled.
pub(crate) fn next(bytecode: &Bytecode, node: Node) -> [Option<Next>; 2] {
    let op = bytecode.code[node.pc as usize];
    let depth = match op {
        Op::AtomicBegin => node.depth + 1,
        Op::AtomicEnd => node.depth.saturating_sub(1),
        _ => node.depth,
    };
    let acted = node.acted || op.is_visible();
    let go = |pc: u32| {
        let visible = bytecode.code[pc as usize].is_visible();
        Some(if visible && acted && depth == 0 {
            Next::Stop(pc)
        } else {
            Next::Node(Node { pc, acted, depth })
        })
    };
    match op {
        Op::Jump { to } | Op::Loop { to } => [go(to), None],
        Op::JumpIf { to, .. } | Op::JumpUnless { to, .. } => [go(node.pc + 1), go(to)],
        Op::Return { .. } => [None, None],
        Op::Wait { .. } => [Some(Next::Wait(node.pc + 1)), None],
        _ => [go(node.pc + 1), None],
    }
}

/// Whether an instruction is compiled at all; otherwise the code gives up before it.
pub(crate) fn is_compiled(bytecode: &Bytecode, node: Node) -> bool {
    let op = bytecode.code[node.pc as usize];
    match op {
        Op::Load { slot, .. } | Op::Store { slot, .. } => {
            (slot as usize) < bytecode.layout.slots.len()
        }
        // What is left of the atomic code is in another frame.
        Op::Return { .. } => node.acted && node.depth == 0,
        Op::Wait { .. } | Op::Resume { .. } => node.depth == 0,
        Op::Notify { .. } => bytecode.layout.threads() <= MOST_THREADS,
        Op::Send { shape, .. }
        | Op::TrySend { shape, .. }
        | Op::Recv { shape, .. }
        | Op::TryRecv { shape, .. } => {
            let shape = bytecode.shapes[shape as usize];
            usize::from(shape.capacity) * usize::from(shape.values) <= MOST_MESSAGES
        }
        Op::AtomicEnd => node.depth > 0,
        Op::Const { .. }
        | Op::ConstUnsigned { .. }
        | Op::GlobalRef { .. }
        | Op::Move { .. }
        | Op::Clear { .. }
        | Op::Unary { .. }
        | Op::Binary { .. }
        | Op::BinaryConst { .. }
        | Op::Fit { .. }
        | Op::NonNull { .. }
        | Op::Advance { .. }
        | Op::Slide { .. }
        | Op::Element { .. }
        | Op::InBounds { .. }
        | Op::GetLocal { .. }
        | Op::SetLocal { .. }
        | Op::Jump { .. }
        | Op::Loop { .. }
        | Op::JumpIf { .. }
        | Op::JumpUnless { .. }
        | Op::Assert { .. }
        | Op::Reach { .. }
        | Op::Tid { .. }
        | Op::LoadElement { .. }
        | Op::LoadAt { .. }
        | Op::StoreElement { .. }
        | Op::StoreAt { .. }
        | Op::AtomicLoad { .. }
        | Op::AtomicStore { .. }
        | Op::Cas { .. }
        | Op::Update { .. }
        | Op::Swap { .. }
        | Op::Lock { .. }
        | Op::Unlock { .. }
        | Op::TryLock { .. }
        | Op::WriteLock { .. }
        | Op::TryWriteLock { .. }
        | Op::UnlockRw { .. }
        | Op::Down { .. }
        | Op::Up { .. }
        | Op::TryDown { .. }
        | Op::Yield
        | Op::AtomicBegin
        | Op::Handoff { .. }
        | Op::Len { .. }
        | Op::Choose { .. }
        | Op::ChooseBelow { .. }
        | Op::Guard { .. } => true,
        Op::Offset { .. }
        | Op::Call { .. }
        | Op::New { .. }
        | Op::ReadLock { .. }
        | Op::TryReadLock { .. }
        | Op::Spawn { .. }
        | Op::Join { .. }
        | Op::Free { .. }
        | Op::Exit => false,
    }
}
