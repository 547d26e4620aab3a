//! A function for each step: control and registers. What a step does to shared memory is in [`shared`], where
//! values are in the words of a state in [`fields`], arithmetic in [`arithmetic`].
//!
//! The function reads the registers of all frames of the thread from the state when it begins, and writes those that are alive where it ends, in
//! the places that they have there. Instructions name registers of the innermost frame; here, those of all frames are numbered through, so that a call copies its arguments to
//! other registers and goes on there. In between they are variables of the function, unless the code addresses some of them by an
//! index: then they are in memory of its own.

mod arithmetic;
mod fields;
mod heap;
mod messages;
mod shared;

use std::collections::{HashMap, HashSet};

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::I64;
use cranelift_codegen::ir::{
    AbiParam, Block, Function, InstBuilder, MemFlagsData, StackSlot, StackSlotData, StackSlotKind,
    Value,
};
use cranelift_codegen::isa::TargetFrontendConfig;
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext, Variable};
use raddle_lang::ast::UnaryOp;
use raddle_machine::native::{Link, Spot, Stop};
use raddle_machine::op::{Op, Reg};

use crate::frame::NativeFrame;
use crate::region::{Next, Node, Region, is_compiled, next};
use crate::tables::Tables;
use crate::{Compiling, status};

/// How often a step may jump backwards before it gives up. The interpreter ends a step after as many, or goes on.
const TURNS: i64 = 1_000;

/// All memory that is accessed exists; it need not be aligned.
fn trusted() -> MemFlagsData {
    MemFlagsData::new().with_notrap()
}

/// Builds the function for a region. Says whether it may make a plain access that writes.
pub(crate) fn function(
    compiling: &Compiling<'_>,
    region: &Region,
    config: TargetFrontendConfig,
    function: &mut Function,
    context: &mut FunctionBuilderContext,
) -> bool {
    let parameters = [I64; 3].map(AbiParam::new);
    function.signature.params.extend(parameters);
    function.signature.returns.push(AbiParam::new(I64));
    let mut builder = FunctionBuilder::new(function, context);
    let entry = builder.create_block();
    builder.append_block_params_for_function_params(entry);
    builder.switch_to_block(entry);
    let parameters = builder.block_params(entry).to_vec();
    let [count, blocks, turns, changed] = [I64; 4].map(|ty| builder.declare_var(ty));
    let size = compiling.bytecode.registers;
    let registers = match region.indexes_registers {
        true => {
            let data = StackSlotData::new(StackSlotKind::ExplicitSlot, (size * 8).max(8), 3);
            Registers::InMemory(builder.create_sized_stack_slot(data))
        }
        false => Registers::Variables((0..size).map(|_| builder.declare_var(I64)).collect()),
    };
    let mut emitter = Emitter {
        builder,
        compiling,
        tables: compiling.tables,
        region,
        state: parameters[0],
        area: parameters[1],
        frame: parameters[2],
        registers,
        count,
        blocks,
        turns,
        changed,
        node: region.start,
        leaders: HashMap::new(),
        exits: HashMap::new(),
        work: Vec::new(),
        constants: HashMap::new(),
        bits: HashSet::new(),
        writes_plainly: false,
    };
    emitter.begin();
    while let Some(leader) = emitter.work.pop() {
        let block = emitter.leaders[&leader];
        emitter.builder.switch_to_block(block);
        emitter.block(leader);
    }
    // Leaving by an end may need the way to give up.
    emitter.exit(Exit::GiveUp);
    let mut exits: Vec<(Exit, Block)> = emitter.exits.clone().into_iter().collect();
    exits.sort_unstable_by_key(|(exit, _)| *exit);
    for (exit, block) in exits {
        emitter.builder.switch_to_block(block);
        emitter.leave(exit);
    }
    emitter.builder.seal_all_blocks();
    emitter.builder.finalize(config);
    emitter.writes_plainly
}

/// How a function ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Exit {
    /// The thread stops at this spot.
    Stop(u32),
    /// It stops at this spot, and waits.
    Wait(u32),
    /// It has ended.
    End,
    /// It is blocked.
    Block,
    /// It is blocked by an assumption.
    Cut,
    GiveUp,
}

impl Exit {
    fn status(self) -> u8 {
        match self {
            Self::Stop(_) | Self::Wait(_) | Self::End => status::MOVED,
            Self::Block => status::BLOCKED,
            Self::Cut => status::CUT,
            Self::GiveUp => status::GAVE_UP,
        }
    }
}

/// Where registers are while the function runs.
enum Registers {
    Variables(Vec<Variable>),
    InMemory(StackSlot),
}

struct Emitter<'e> {
    builder: FunctionBuilder<'e>,
    compiling: &'e Compiling<'e>,
    tables: &'e Tables,
    region: &'e Region,
    /// The words of the state, the area of the thread among them, and the frame that is lent.
    state: Value,
    area: Value,
    frame: Value,
    registers: Registers,
    /// How many accesses there are, in atomic code.
    count: Variable,
    /// The blocks that were executed.
    blocks: Variable,
    turns: Variable,
    /// The parts that were changed, as bits.
    changed: Variable,
    node: Node,
    /// The first nodes of blocks.
    leaders: HashMap<Node, Block>,
    exits: HashMap<Exit, Block>,
    work: Vec<Node>,
    /// Values that are known.
    constants: HashMap<Value, i64>,
    /// Values that are 0 or 1.
    bits: HashSet<Value>,
    /// Whether it may make a plain access that writes.
    writes_plainly: bool,
}

impl Emitter<'_> {
    fn constant(&mut self, value: i64) -> Value {
        let constant = self.builder.ins().iconst(I64, value);
        self.constants.insert(constant, value);
        constant
    }

    /// Reads the registers, and goes to the first instruction.
    fn begin(&mut self) {
        let zero = self.constant(0);
        let turns = self.constant(TURNS);
        self.builder.def_var(self.count, zero);
        self.builder.def_var(self.blocks, zero);
        self.builder.def_var(self.turns, turns);
        self.builder.def_var(self.changed, zero);
        let spot = self.region.start.spot as usize;
        let bytecode = self.compiling.bytecode;
        let (first, registers) = &bytecode.layout.constants[spot];
        let offset = std::mem::offset_of!(NativeFrame, constants) as i32;
        let own = (self.builder.ins()).load(I64, trusted(), self.frame, offset);
        for (index, register) in registers.iter().enumerate() {
            let everywhere = bytecode.constants[spot].get(*register as usize);
            let value = match everywhere.copied().flatten() {
                Some(value) => self.constant(value),
                None => {
                    let offset = 8 * (first + index) as i32;
                    self.builder.ins().load(I64, trusted(), own, offset)
                }
            };
            self.set_register(*register, value);
        }
        for (register, field) in &bytecode.layout.frames[spot] {
            let value = self.read(self.area, *field);
            self.set_register(*register, value);
        }
        self.go(Next::Node(self.region.start));
    }

    /// The spot whose instruction is emitted.
    fn here(&self) -> Spot {
        self.compiling.bytecode.spots[self.node.spot as usize]
    }

    /// The number of a register of the innermost frame, among those of all frames.
    fn numbered(&self, reg: Reg) -> Reg {
        self.here().base + reg
    }

    /// The constant that a register of the innermost frame is before this instruction, if it is one.
    fn known(&self, reg: Reg) -> Option<i64> {
        let constants = &self.compiling.bytecode.constants[self.node.spot as usize];
        let constant = constants.get(self.numbered(reg) as usize);
        constant.copied().flatten()
    }

    /// The value of a register of the innermost frame.
    fn get(&mut self, reg: Reg) -> Value {
        match self.known(reg) {
            Some(value) => self.constant(value),
            None => self.register(self.numbered(reg)),
        }
    }

    fn set(&mut self, reg: Reg, value: Value) {
        self.set_register(self.numbered(reg), value);
    }

    /// Where a register of any frame is, if it is in memory.
    fn offset(&self, register: Reg) -> i32 {
        let size = self.compiling.bytecode.registers;
        assert!(u32::from(register) < size, "a register of a frame");
        i32::from(register) * 8
    }

    /// What is in a register of any frame now.
    fn register(&mut self, register: Reg) -> Value {
        let offset = self.offset(register);
        match &self.registers {
            Registers::Variables(variables) => self.builder.use_var(variables[register as usize]),
            Registers::InMemory(slot) => {
                let address = self.builder.ins().stack_addr(I64, *slot, offset);
                self.builder.ins().load(I64, trusted(), address, 0)
            }
        }
    }

    fn set_register(&mut self, register: Reg, value: Value) {
        let offset = self.offset(register);
        match &self.registers {
            Registers::Variables(variables) => {
                self.builder.def_var(variables[register as usize], value);
            }
            Registers::InMemory(slot) => {
                let address = self.builder.ins().stack_addr(I64, *slot, offset);
                self.builder.ins().store(trusted(), value, address, 0);
            }
        }
    }

    fn exit(&mut self, exit: Exit) -> Block {
        if let Some(block) = self.exits.get(&exit) {
            return *block;
        }
        let block = self.builder.create_block();
        if exit == Exit::GiveUp {
            self.builder.set_cold_block(block);
        }
        self.exits.insert(exit, block);
        block
    }

    /// Leaves the function unless a value is not zero.
    fn unless(&mut self, value: Value, exit: Exit) {
        let exit = self.exit(exit);
        let next = self.builder.create_block();
        self.builder.ins().brif(value, next, &[], exit, &[]);
        self.builder.switch_to_block(next);
    }

    fn give_up(&mut self) {
        let exit = self.exit(Exit::GiveUp);
        self.builder.ins().jump(exit, &[]);
    }

    /// Whether the step makes one access, if any.
    fn has_one_access(&self) -> bool {
        let first = self.compiling.bytecode.op(self.region.start.spot);
        !matches!(
            first,
            Op::AtomicBegin | Op::Wait { .. } | Op::Resume { .. } | Op::Free { .. }
        )
    }

    /// Tells the caller what is in a variable.
    fn tell(&mut self, variable: Variable, offset: usize) {
        let value = self.builder.use_var(variable);
        let frame = self.frame;
        (self.builder.ins()).store(trusted(), value, frame, offset as i32);
    }

    fn leave(&mut self, exit: Exit) {
        if exit != Exit::GiveUp && !self.has_one_access() {
            self.tell(self.count, std::mem::offset_of!(NativeFrame, count));
        }
        if exit.status() == status::MOVED {
            self.tell(self.blocks, std::mem::offset_of!(NativeFrame, blocks));
            self.tell(self.changed, std::mem::offset_of!(NativeFrame, changed));
        }
        let bytecode = self.compiling.bytecode;
        let is_written = match exit {
            Exit::Stop(spot) => self.suspend(Stop::Running(bytecode.at(spot))),
            Exit::Wait(spot) => self.suspend(Stop::Waiting(bytecode.at(spot))),
            Exit::End => self.end_thread(),
            Exit::Block | Exit::Cut | Exit::GiveUp => true,
        };
        if !is_written {
            self.give_up();
            return;
        }
        let result = self.constant(exit.status().into());
        self.builder.ins().return_(&[result]);
    }

    /// Where code goes on, as a block to jump to.
    fn target(&mut self, next: Next) -> Block {
        match next {
            Next::Stop(spot) => self.exit(Exit::Stop(spot)),
            Next::Wait(spot) => self.exit(Exit::Wait(spot)),
            Next::Node(node) if self.region.beyond.contains(&node) => self.exit(Exit::GiveUp),
            Next::Node(node) => {
                if let Some(block) = self.leaders.get(&node) {
                    return *block;
                }
                let block = self.builder.create_block();
                self.leaders.insert(node, block);
                self.work.push(node);
                block
            }
        }
    }

    fn go(&mut self, next: Next) {
        let block = self.target(next);
        self.builder.ins().jump(block, &[]);
    }

    /// Emits a node and those that only follow it.
    fn block(&mut self, leader: Node) {
        let mut node = leader;
        loop {
            if let Some(number) = self.region.blocks.get(&node) {
                let blocks = self.builder.use_var(self.blocks);
                let blocks = self.builder.ins().bor_imm_s(blocks, 1_i64 << number);
                self.builder.def_var(self.blocks, blocks);
            }
            self.node = node;
            if !is_compiled(self.compiling.bytecode, node) {
                self.give_up();
                return;
            }
            match self.instruction(self.compiling.bytecode.op(node.spot)) {
                Some(Next::Node(next)) if self.region.follows(next) => node = next,
                Some(next) => {
                    self.go(next);
                    return;
                }
                None => return,
            }
        }
    }

    /// A jump backwards takes a turn.
    fn jump(&mut self, to: u32) {
        if to <= self.here().pc {
            self.turn();
        }
    }

    /// Gives up if no turns are left.
    fn turn(&mut self) {
        let turns = self.builder.use_var(self.turns);
        let turns = self.builder.ins().iadd_imm_s(turns, -1);
        self.builder.def_var(self.turns, turns);
        self.unless(turns, Exit::GiveUp);
    }

    /// Emits an instruction, and says where code goes on, unless it has emitted that as well.
    fn instruction(&mut self, op: Op) -> Option<Next> {
        let [first, second] = next(self.compiling.bytecode, self.node);
        match op {
            Op::Jump { to } | Op::Loop { to } => {
                self.jump(to);
                return first;
            }
            Op::JumpIf { reg, to } | Op::JumpUnless { reg, to } => {
                self.jump(to);
                let value = self.get(reg);
                let (on, jump) = (self.target(first?), self.target(second?));
                let (if_set, if_not) = match op {
                    Op::JumpIf { .. } => (jump, on),
                    _ => (on, jump),
                };
                self.builder.ins().brif(value, if_set, &[], if_not, &[]);
                return None;
            }
            Op::Call {
                function,
                arguments,
                ..
            } => self.call(function, arguments),
            Op::Return { from } => match self.here().link {
                Link::Returns { to, .. } => {
                    let result = match from {
                        Some(reg) => self.get(reg),
                        None => self.constant(0),
                    };
                    self.set_register(to, result);
                }
                Link::Exits(_) if first.is_some() => {}
                _ => {
                    let exit = self.exit(Exit::End);
                    self.builder.ins().jump(exit, &[]);
                    return None;
                }
            },
            Op::Exit => {
                self.end_is_seen();
                let exit = self.exit(Exit::End);
                self.builder.ins().jump(exit, &[]);
                return None;
            }
            Op::Resume { object, .. } if self.region.waits => {
                self.wait_on(object);
                return None;
            }
            Op::Guard { reg, assumption } => {
                let value = self.get(reg);
                self.unless(value, if assumption { Exit::Cut } else { Exit::Block });
            }
            Op::Assert { reg, .. } | Op::NonNull { reg } => {
                let value = self.get(reg);
                self.unless(value, Exit::GiveUp);
            }
            Op::Reach { .. } | Op::Yield | Op::AtomicBegin | Op::AtomicEnd => {}
            op if op.is_visible() => self.shared(op),
            op => self.local(op),
        }
        first
    }

    /// Copies the arguments of a call to the registers of the function. Calls take turns: the interpreter counts them too.
    fn call(&mut self, function: u16, arguments: Reg) {
        self.turn();
        let bytecode = self.compiling.bytecode;
        let Link::Calls(entry) = self.here().link else {
            unreachable!("a call that is compiled leads somewhere");
        };
        let base = bytecode.spots[entry as usize].base;
        let parameters = 0..bytecode.parameters[function as usize];
        // The frame of the function begins among the arguments.
        let values: Vec<Value> = parameters
            .map(|parameter| self.get(arguments + parameter))
            .collect();
        for (register, value) in (base..).zip(values) {
            self.set_register(register, value);
        }
    }

    fn local(&mut self, op: Op) {
        match op {
            Op::Const { to, value } => {
                let value = self.constant(value.into());
                self.set(to, value);
            }
            Op::ConstUnsigned { to, value } => {
                let value = self.constant(value.into());
                self.set(to, value);
            }
            Op::GlobalRef { to, slot } => {
                let value =
                    self.constant(self.compiling.bytecode.global_reference + i64::from(slot));
                self.set(to, value);
            }
            Op::Move { to, from } => {
                let value = self.get(from);
                self.set(to, value);
            }
            Op::Clear { first, end } => {
                let zero = self.constant(0);
                for reg in first..end {
                    self.set(reg, zero);
                }
            }
            Op::Unary { op, int, to, a } => {
                let a = self.get(a);
                let value = match op {
                    UnaryOp::Not => {
                        let is_zero = self.builder.ins().icmp_imm_s(IntCC::Equal, a, 0);
                        self.bit(is_zero)
                    }
                    UnaryOp::Negate => {
                        let value = self.builder.ins().ineg(a);
                        self.wrap(value, int)
                    }
                    UnaryOp::Complement => {
                        let value = self.builder.ins().bnot(a);
                        self.wrap(value, int)
                    }
                };
                self.set(to, value);
            }
            Op::Binary { op, int, to, a, b } => {
                let (a, b) = (self.get(a), self.get(b));
                let value = self.binary(op, int, a, b);
                self.set(to, value);
            }
            Op::BinaryConst { op, int, to, a, b } => {
                let a = self.get(a);
                let b = self.constant(b.into());
                let value = self.binary(op, int, a, b);
                self.set(to, value);
            }
            Op::Fit { reg, fit } => {
                let value = self.get(reg);
                let value = self.fit(value, fit);
                self.set(reg, value);
            }
            Op::Advance { reg, by } => {
                let value = self.get(reg);
                let value = self.builder.ins().iadd_imm_s(value, i64::from(by));
                self.set(reg, value);
            }
            Op::Slide { reg, by } => {
                let (value, by) = (self.get(reg), self.get(by));
                let value = self.builder.ins().iadd(value, by);
                self.set(reg, value);
            }
            Op::Element {
                reg,
                index,
                length,
                stride,
            } => {
                let index = self.get(index);
                self.below(index, length.into());
                let distance = self.builder.ins().imul_imm_s(index, i64::from(stride));
                let value = self.get(reg);
                let value = self.builder.ins().iadd(value, distance);
                self.set(reg, value);
            }
            Op::InBounds { index, length } => {
                let index = self.get(index);
                self.below(index, length.into());
            }
            Op::GetLocal { to, base, offset } => {
                let address = self.local_part(base, offset);
                let value = self.builder.ins().load(I64, trusted(), address, 0);
                self.set(to, value);
            }
            Op::SetLocal { base, offset, from } => {
                let value = self.get(from);
                let address = self.local_part(base, offset);
                self.builder.ins().store(trusted(), value, address, 0);
            }
            Op::Tid { to } => {
                let offset = std::mem::offset_of!(NativeFrame, tid) as i32;
                let frame = self.frame;
                let value = self.builder.ins().load(I64, trusted(), frame, offset);
                self.set(to, value);
            }
            Op::New { to, layout, count } => self.allocate(to, layout, count),
            Op::Offset { reg, index, layout } => self.move_reference(reg, index, layout),
            other => unreachable!("{other:?} is not compiled"),
        }
    }

    /// The address of the register `offset` behind `base`, which is one of those that are alive.
    fn local_part(&mut self, base: Reg, offset: Reg) -> Value {
        let height = self.compiling.bytecode.heights[self.here().pc as usize];
        let offset = self.get(offset);
        self.below(offset, i64::from(height.saturating_sub(base)));
        let Registers::InMemory(slot) = self.registers else {
            unreachable!("registers that have an index are in memory");
        };
        let registers = self.builder.ins().stack_addr(I64, slot, 0);
        let bytes = self.builder.ins().ishl_imm_s(offset, 3);
        let address = self.builder.ins().iadd(registers, bytes);
        let base = i64::from(self.numbered(base));
        self.builder.ins().iadd_imm_s(address, base * 8)
    }

    /// Gives up unless a value is at least 0 and below a bound.
    fn below(&mut self, value: Value, bound: i64) {
        let fits = (self.builder.ins()).icmp_imm_s(IntCC::UnsignedLessThan, value, bound);
        self.unless(fits, Exit::GiveUp);
    }
}
