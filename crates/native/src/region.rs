//! The code that a step can execute.

use std::collections::{HashMap, HashSet, VecDeque};

use raddle_machine::native::{At, Bytecode, Heap, Link, Stop, code_of};
use raddle_machine::op::Op;

/// An instruction, as part of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Node {
    /// The number of its spot.
    pub(crate) spot: u32,
    /// Whether the visible operation of the step comes before it.
    pub(crate) acted: bool,
    /// How many atomic blocks it is in.
    pub(crate) depth: u32,
}

/// Where code goes on behind a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    Node(Node),
    /// The step ends at this spot, before a visible instruction.
    Stop(u32),
    /// The step ends at this spot, before a `Resume`, and the thread waits.
    Wait(u32),
}

/// Of steps that may execute more instructions than this, those nearest to the beginning are compiled.
const MOST_NODES: usize = 600;
/// The same of blocks: more have no bits.
const MOST_BLOCKS: usize = 64;

/// With more threads, the code for `notify` would be too long.
const MOST_THREADS: usize = 32;
/// With longer channels, the code for receiving would be.
const MOST_MESSAGES: usize = 64;

/// All code that a step can execute that begins at a spot.
#[derive(Debug)]
pub(crate) struct Region {
    pub(crate) start: Node,
    /// Whether the thread is among the waiters of an object: then the step is blocked.
    pub(crate) waits: bool,
    /// Numbers for the blocks: nodes that do not always follow the node before.
    pub(crate) blocks: HashMap<Node, usize>,
    /// Nodes at which the code gives up, because there would be too much of it. (An instruction that was found before may be among them: it turns out to begin a block when there is no number left.)
    pub(crate) beyond: HashSet<Node>,
    /// The registers that it writes, of all frames.
    pub(crate) written: HashSet<u16>,
    /// Whether it addresses registers by an index.
    pub(crate) indexes_registers: bool,
    /// Whether it may allocate.
    pub(crate) allocates: bool,
    nodes: usize,
}

impl Region {
    /// Nothing if not even its first instruction can be compiled.
    pub(crate) fn of(bytecode: &Bytecode, stop: Stop) -> Option<Self> {
        let (At { spot, .. }, waits) = match stop {
            Stop::Running(at) | Stop::Notified(at) => (at, false),
            Stop::Waiting(at) => (at, true),
            Stop::Stopped(..) => return None,
        };
        let start = Node {
            spot,
            acted: false,
            depth: 0,
        };
        if !is_compiled(bytecode, start) {
            return None;
        }
        let mut seen = HashSet::from([start]);
        let mut blocks = HashMap::from([(start, 0)]);
        let mut beyond = HashSet::new();
        // The nearest first: they are executed most often.
        let mut work = VecDeque::from([start]);
        while let Some(node) = work.pop_front() {
            if !is_compiled(bytecode, node) || waits {
                continue;
            }
            let all = next(bytecode, node);
            let many = all.iter().flatten().count() > 1;
            for next in all.into_iter().flatten() {
                let Next::Node(next) = next else { continue };
                let new = !seen.contains(&next);
                // It is reached in two ways, or it is one of two ways.
                let begins = (many || !new) && !blocks.contains_key(&next);
                let is_one_too_many = new && seen.len() >= MOST_NODES;
                if beyond.contains(&next)
                    || is_one_too_many
                    || begins && blocks.len() >= MOST_BLOCKS
                {
                    beyond.insert(next);
                    continue;
                }
                if begins {
                    blocks.insert(next, blocks.len());
                }
                if new {
                    seen.insert(next);
                    work.push_back(next);
                }
            }
        }
        let mut written = HashSet::new();
        let (mut indexes_registers, mut allocates) = (false, false);
        for node in &seen {
            let op = bytecode.op(node.spot);
            written.extend(registers_written(bytecode, node.spot));
            indexes_registers |= matches!(op, Op::GetLocal { .. } | Op::SetLocal { .. });
            allocates |= matches!(op, Op::New { .. });
        }
        Some(Self {
            start,
            waits,
            blocks,
            beyond,
            written,
            indexes_registers,
            allocates,
            nodes: seen.len(),
        })
    }

    pub(crate) fn len(&self) -> usize {
        self.nodes
    }

    /// Whether code goes on at a node only from the one node before it, and need not be told apart from that.
    pub(crate) fn follows(&self, node: Node) -> bool {
        !self.blocks.contains_key(&node) && !self.beyond.contains(&node)
    }
}

/// The registers that the instruction at a spot may write, of all frames.
fn registers_written(bytecode: &Bytecode, spot: u32) -> std::ops::Range<u16> {
    let here = bytecode.spots[spot as usize];
    match (bytecode.op(spot), here.link) {
        // The arguments. Where to return to is a constant.
        (Op::Call { function, .. }, Link::Calls(entry)) => {
            let base = bytecode.spots[entry as usize].base;
            base..base + bytecode.parameters[function as usize]
        }
        (Op::Return { .. }, Link::Returns { to, .. }) => to..to + 1,
        // The code gives up there.
        (Op::Call { .. }, _) => 0..0,
        _ => {
            let written = &bytecode.written[here.pc as usize];
            let numbered = |reg: u16| u32::from(here.base) + u32::from(reg);
            // No others are used.
            let end = numbered(written.end).min(bytecode.registers);
            numbered(written.start) as u16..end as u16
        }
    }
}

/// Where code can go on behind a node that is compiled.
pub(crate) fn next(bytecode: &Bytecode, node: Node) -> [Option<Next>; 2] {
    let here = bytecode.spots[node.spot as usize];
    let op = bytecode.op(node.spot);
    let depth = match op {
        Op::AtomicBegin => node.depth + 1,
        Op::AtomicEnd => node.depth.saturating_sub(1),
        _ => node.depth,
    };
    let acted = node.acted || op.is_visible();
    let go = |spot: u32| {
        let visible = bytecode.op(spot).is_visible();
        Some(if visible && acted && depth == 0 {
            Next::Stop(spot)
        } else {
            Next::Node(Node { spot, acted, depth })
        })
    };
    // The instructions of a function are in order.
    let jump = |to: u32| go(node.spot + to - here.pc);
    match (op, here.link) {
        (Op::Jump { to } | Op::Loop { to }, _) => [jump(to), None],
        (Op::JumpIf { to, .. } | Op::JumpUnless { to, .. }, _) => [go(node.spot + 1), jump(to)],
        (Op::Call { .. }, Link::Calls(entry)) => [go(entry), None],
        (Op::Return { .. }, Link::Returns { spot, .. }) => [go(spot), None],
        (Op::Return { .. }, Link::Exits(exit)) if is_spawned(bytecode, node.spot) => {
            [go(exit), None]
        }
        (Op::Call { .. } | Op::Return { .. } | Op::Exit, _) => [None, None],
        (Op::Wait { .. }, _) => [Some(Next::Wait(node.spot + 1)), None],
        _ => [go(node.spot + 1), None],
    }
}

/// Whether threads can be at a spot that were spawned.
fn is_spawned(bytecode: &Bytecode, spot: u32) -> bool {
    bytecode.layout.kinds[spot as usize].is_some()
}

/// Whether threads of `run` can be at a spot.
fn is_of_run(bytecode: &Bytecode, spot: u32) -> bool {
    let run = &bytecode.starts[..bytecode.layout.run_threads()];
    run.contains(&bytecode.spots[spot as usize].tree)
}

/// Whether native code can allocate elements of a layout: one, or as many as a register says.
fn can_be_allocated(bytecode: &Bytecode, layout: u16, are_counted: bool) -> bool {
    let (slots, defaults) = &bytecode.layouts[layout as usize];
    let mut codes = defaults.iter().map(|(_, value)| code_of(*value, true));
    let fits = *slots as usize <= Heap::MOST_SLOTS && codes.all(|code| code.is_some());
    fits && (!are_counted || defaults.is_empty())
}

/// Whether an instruction is compiled at all; otherwise the code gives up before it.
pub(crate) fn is_compiled(bytecode: &Bytecode, node: Node) -> bool {
    let link = bytecode.spots[node.spot as usize].link;
    match bytecode.op(node.spot) {
        Op::Load { slot, .. } | Op::Store { slot, .. } => {
            (slot as usize) < bytecode.layout.slots.len()
        }
        Op::Call { .. } => matches!(link, Link::Calls(_)),
        // At the end of a thread, no atomic code is left. What happens there depends on whether it was spawned.
        Op::Return { .. } => match link {
            Link::Returns { .. } => true,
            _ if is_spawned(bytecode, node.spot) => !is_of_run(bytecode, node.spot),
            _ => node.acted && node.depth == 0,
        },
        Op::Exit => !node.acted && node.depth == 0 && is_spawned(bytecode, node.spot),
        Op::Wait { .. } | Op::Resume { .. } => node.depth == 0,
        Op::Notify { .. } => bytecode.layout.run_threads() <= MOST_THREADS,
        Op::Join { .. } => bytecode.layout.spawned.is_some(),
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
        | Op::ReadLock { .. }
        | Op::TryReadLock { .. }
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
        Op::New { layout, count, .. } => {
            bytecode.layout.heap.is_some() && can_be_allocated(bytecode, layout, count.is_some())
        }
        Op::Offset { .. } | Op::Free { .. } => bytecode.layout.heap.is_some(),
        Op::Spawn { .. } => false,
    }
}
