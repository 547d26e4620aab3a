//! The interpreter: one step of one thread.

mod memory;
mod synchronise;
mod threads;
mod trouble;

use raddle_explore::{Access, AccessKind, Footprint, Location, Place, SyncOp};
use raddle_lang::ast::UnaryOp;
use raddle_lang::check::constants::{binary, unary, wrap};

use crate::choices::Choices;
use crate::op::{Fit, Op, Pc, Reg};
use crate::program::{Granularity, Program};
use crate::state::{Phase, State, header};
use crate::word;
use trouble::{ATOMIC_FUEL, LOCAL_FUEL, MAX_CALLS};
pub(crate) use trouble::{CHILDREN_PER_THREAD, MAX_THREADS, Trouble};

/// Why the interpreter stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Halt {
    /// The step is complete: another visible operation is next, or the local
    /// code has run for long enough.
    Pause,
    /// The thread has ended.
    End,
    /// The step cannot be taken now.
    Block { assumption: bool },
    /// An assertion is false.
    Assertion { message: u16 },
    /// A runtime error.
    Error(Trouble),
    /// A stand-alone expression has this value.
    Value(i64),
}

impl From<Trouble> for Halt {
    fn from(trouble: Trouble) -> Self {
        Self::Error(trouble)
    }
}

/// Buffers that are kept from step to step, so that steps do not allocate.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scratch {
    registers: Vec<i64>,
    read_holds: Vec<i64>,
    pub(crate) choices: Choices,
    /// Which instructions have been executed, ever.
    pub(crate) covered: Vec<bool>,
    /// Those that this run executes for the first time. They count only if the step is
    /// taken: of a step that blocks, nothing has happened.
    first_time: Vec<Pc>,
    /// How many those were before each access.
    first_time_before: Vec<usize>,
    /// How often the same function was on the stack, at most; if somebody wants to know.
    pub(crate) most_rounds: Option<usize>,
}

impl Scratch {
    pub(crate) fn new(program: &Program) -> Self {
        Self {
            covered: vec![false; program.code.len()],
            ..Self::default()
        }
    }

    /// The step is taken: what it has executed counts.
    pub(crate) fn count_coverage(&mut self) {
        while let Some(pc) = self.first_time.pop() {
            self.covered[pc as usize] = true;
        }
    }

    /// The step ends at its access with that number after all.
    pub(crate) fn forget_after(&mut self, access: usize, place: Place) {
        if let Some(before) = self.first_time_before.get(access) {
            self.first_time.truncate(*before);
        }
        self.first_time.push(place.0);
    }
}

/// What kind of code is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// A step: one visible operation, and the local code after it.
    Step(Granularity),
    /// The local code before the first visible operation of a new thread.
    Prologue,
}

/// One run of the interpreter.
pub(crate) struct Execution<'m> {
    program: &'m Program,
    memory: &'m mut State,
    footprint: &'m mut Footprint,
    scratch: &'m mut Scratch,
    thread: usize,
    /// Whether it is an expression that is evaluated, not a thread that runs.
    is_expression: bool,
    /// A reference to the thread itself.
    me: i64,
    pc: Pc,
    /// Where the registers of the current frame begin.
    base: usize,
    /// Whether the visible operation of this step has been made.
    acted: bool,
    by_statement: bool,
    /// Whether a statement has begun since the last visible operation.
    new_statement: bool,
    atomic_depth: u32,
    local_fuel: u32,
    atomic_fuel: u32,
}

impl<'m> Execution<'m> {
    /// Prepares to run a thread from where it is.
    pub(crate) fn of_thread(
        program: &'m Program,
        memory: &'m mut State,
        thread: usize,
        mode: Mode,
        footprint: &'m mut Footprint,
        scratch: &'m mut Scratch,
    ) -> Self {
        let pc = memory.pc(thread);
        let frames = memory.frames(thread);
        let base = frames.len() - program.heights[pc as usize] as usize;
        scratch.registers.clear();
        scratch.registers.extend_from_slice(frames);
        scratch.registers.resize(base + program.registers, 0);
        scratch.read_holds.clear();
        scratch
            .read_holds
            .extend_from_slice(memory.read_holds(thread));
        let me = word::thread(memory.threads[thread].name);
        Self {
            acted: mode == Mode::Prologue,
            by_statement: mode == Mode::Step(Granularity::Statement),
            ..Self::new(program, memory, footprint, scratch, thread, me, pc, base)
        }
    }

    /// Prepares to evaluate an expression: for a thread if it may mention `tid`, with values
    /// for its variables if it has any.
    pub(crate) fn of_expression(
        program: &'m Program,
        memory: &'m mut State,
        thread: Option<usize>,
        variables: &[i64],
        pc: Pc,
        footprint: &'m mut Footprint,
        scratch: &'m mut Scratch,
    ) -> Self {
        scratch.registers.clear();
        scratch.registers.extend_from_slice(variables);
        scratch.registers.resize(program.registers, 0);
        Self {
            atomic_depth: 1,
            is_expression: true,
            ..Self::new(
                program,
                memory,
                footprint,
                scratch,
                thread.unwrap_or(usize::MAX),
                word::NULL,
                pc,
                0,
            )
        }
    }

    #[expect(
        clippy::too_many_arguments,
        reason = "fills in a struct of the same fields"
    )]
    fn new(
        program: &'m Program,
        memory: &'m mut State,
        footprint: &'m mut Footprint,
        scratch: &'m mut Scratch,
        thread: usize,
        me: i64,
        pc: Pc,
        base: usize,
    ) -> Self {
        scratch.first_time.clear();
        scratch.first_time_before.clear();
        Self {
            program,
            memory,
            footprint,
            scratch,
            thread,
            is_expression: false,
            me,
            pc,
            base,
            acted: false,
            by_statement: false,
            new_statement: true,
            atomic_depth: 0,
            local_fuel: LOCAL_FUEL,
            atomic_fuel: ATOMIC_FUEL,
        }
    }

    /// How many loop iterations and calls there were.
    pub(crate) fn turns(&self) -> u32 {
        (LOCAL_FUEL - self.local_fuel) + (ATOMIC_FUEL - self.atomic_fuel)
    }

    /// Where it is.
    pub(crate) fn place(&self) -> Place {
        Place(self.pc)
    }

    /// Puts the thread back into the state as it is now.
    pub(crate) fn suspend(&mut self) {
        let height = self.program.heights[self.pc as usize] as usize;
        let (pc, phase) = (self.pc, self.memory.phase(self.thread));
        self.write_back(pc, phase, self.base + height);
    }

    /// Puts the thread back into the state, never to run again.
    pub(crate) fn finish(&mut self, phase: Phase) {
        let pc = if phase == Phase::Failed { self.pc } else { 0 };
        self.write_back(pc, phase, 0);
    }

    fn write_back(&mut self, pc: Pc, phase: Phase, frames: usize) {
        let holds = self.scratch.read_holds.len();
        self.memory
            .resize_thread(self.thread, header::LENGTH + holds + frames);
        let words = self.memory.thread_mut(self.thread);
        words[header::PC] = i64::from(pc);
        words[header::PHASE] = phase as i64;
        words[header::READ_HOLDS] = holds as i64;
        let (read_holds, rest) = words[header::LENGTH..].split_at_mut(holds);
        read_holds.copy_from_slice(&self.scratch.read_holds);
        rest.copy_from_slice(&self.scratch.registers[..frames]);
    }

    fn get(&self, reg: Reg) -> i64 {
        self.scratch.registers[self.base + reg as usize]
    }

    fn set(&mut self, reg: Reg, value: i64) {
        self.scratch.registers[self.base + reg as usize] = value;
    }

    fn access(&mut self, location: Location, writes: bool, kind: AccessKind) {
        let executed = self.scratch.first_time.len();
        self.scratch.first_time_before.push(executed);
        self.footprint.push(Access {
            location,
            writes,
            kind,
            place: Place(self.pc),
        });
    }

    fn synchronise(&mut self, object: i64, writes: bool, op: SyncOp) {
        self.access(word::location(object), writes, AccessKind::Sync(op));
    }

    /// A visible operation begins: the step ends here if it has made one before.
    #[inline]
    fn visible(&mut self) -> Result<(), Halt> {
        if self.acted && self.atomic_depth == 0 && (!self.by_statement || self.new_statement) {
            return Err(Halt::Pause);
        }
        self.acted = true;
        self.new_statement = false;
        Ok(())
    }

    /// A visible operation that is always a step of its own.
    fn visible_alone(&mut self) -> Result<(), Halt> {
        if self.acted && self.atomic_depth == 0 {
            return Err(Halt::Pause);
        }
        self.acted = true;
        self.new_statement = false;
        Ok(())
    }

    /// One more loop iteration or call; `at` is where to go on later if it is one too many.
    fn burn(&mut self, at: Pc) -> Result<(), Halt> {
        if self.atomic_depth > 0 {
            self.atomic_fuel -= 1;
            if self.atomic_fuel == 0 {
                return Err(Trouble::AtomicNeverEnds.into());
            }
        } else {
            self.local_fuel -= 1;
            if self.local_fuel == 0 {
                self.pc = at;
                return Err(Halt::Pause);
            }
        }
        Ok(())
    }

    /// Runs until something stops it.
    pub(crate) fn run(&mut self) -> Halt {
        loop {
            if self.by_statement && self.program.begins[self.pc as usize] {
                self.new_statement = true;
            }
            let pc = self.pc as usize;
            match self.execute(self.program.code[pc]) {
                Ok(next) => {
                    if !self.scratch.covered[pc] {
                        self.scratch.first_time.push(pc as Pc);
                    }
                    self.pc = next;
                }
                Err(halt) => {
                    if matches!(halt, Halt::End | Halt::Assertion { .. } | Halt::Error(_)) {
                        self.scratch.first_time.push(pc as Pc);
                    }
                    return halt;
                }
            }
        }
    }

    /// Executes one instruction; gives the next one.
    #[inline(always)]
    fn execute(&mut self, op: Op) -> Result<Pc, Halt> {
        let mut next = self.pc + 1;
        match op {
            Op::Const { to, value } => self.set(to, i64::from(value)),
            Op::ConstUnsigned { to, value } => self.set(to, i64::from(value)),
            Op::GlobalRef { to, slot } => self.set(to, word::global(slot.into())),
            Op::Move { to, from } => self.set(to, self.get(from)),
            Op::Clear { first, end } => {
                let registers = self.base + first as usize..self.base + end as usize;
                self.scratch.registers[registers].fill(0);
            }
            Op::Unary { op, int, to, a } => {
                let value = match op {
                    UnaryOp::Not => i64::from(self.get(a) == 0),
                    op => unary(op, self.get(a), int),
                };
                self.set(to, value);
            }
            Op::Binary { op, int, to, a, b } => {
                let value = binary(op, self.get(a), self.get(b), int);
                self.set(to, value.ok_or(Trouble::DivisionByZero)?);
            }
            Op::BinaryConst { op, int, to, a, b } => {
                let value = binary(op, self.get(a), b.into(), int);
                self.set(to, value.ok_or(Trouble::DivisionByZero)?);
            }
            Op::Fit { reg, fit } => {
                let value = self.fit(self.get(reg), fit)?;
                self.set(reg, value);
            }
            Op::NonNull { reg } => {
                if self.get(reg) == word::NULL {
                    return Err(Trouble::NullReference.into());
                }
            }
            Op::Advance { reg, by } => self.set(reg, self.get(reg) + i64::from(by)),
            Op::Element {
                reg,
                index,
                length,
                stride,
            } => {
                let index = in_bounds(self.get(index), length)?;
                self.set(reg, self.get(reg) + index * i64::from(stride));
            }
            Op::Slide { reg, by } => self.set(reg, self.get(reg) + self.get(by)),
            Op::InBounds { index, length } => {
                in_bounds(self.get(index), length)?;
            }
            Op::Offset { reg, index, layout } => self.offset(reg, index, layout)?,
            Op::GetLocal { to, base, offset } => {
                self.set(to, self.get(base + self.get(offset) as Reg));
            }
            Op::SetLocal { base, offset, from } => {
                self.set(base + self.get(offset) as Reg, self.get(from));
            }
            Op::Jump { to } => next = to,
            Op::Loop { to } => {
                self.burn(to)?;
                next = to;
            }
            Op::JumpIf { reg, to } => {
                if self.get(reg) != 0 {
                    next = to;
                }
            }
            Op::JumpUnless { reg, to } => {
                if self.get(reg) == 0 {
                    next = to;
                }
            }
            Op::Call {
                function,
                arguments,
                height,
                ..
            } => {
                self.burn(self.pc)?;
                next = self.call(function, arguments, height)?;
            }
            Op::Return { from } => next = self.returns(from)?,
            Op::Assert { reg, message } => {
                if self.get(reg) == 0 {
                    return Err(Halt::Assertion { message });
                }
            }
            // That it was executed is all there is to know.
            Op::Reach { .. } => {}
            Op::Tid { to } => {
                let tid = self.memory.thread(self.thread)[header::TID];
                self.set(to, tid);
            }
            Op::New { to, layout, count } => self.allocate(to, layout, count)?,

            Op::Load { to, slot } => {
                self.visible()?;
                let value = self.load_slot(slot.into());
                self.set(to, value);
            }
            Op::LoadElement { to, slot, index } => {
                self.visible()?;
                let value = self.load_slot(slot as usize + self.get(index) as usize);
                self.set(to, value);
            }
            Op::Store { slot, from } => {
                self.visible()?;
                self.store_slot(slot.into(), self.get(from));
            }
            Op::StoreElement { slot, index, from } => {
                self.visible()?;
                self.store_slot(slot as usize + self.get(index) as usize, self.get(from));
            }
            Op::AtomicBegin => {
                self.visible()?;
                self.atomic_depth += 1;
            }
            Op::AtomicEnd => self.atomic_depth -= 1,
            Op::Guard { reg, assumption } => {
                if self.get(reg) == 0 {
                    return Err(Halt::Block { assumption });
                }
            }
            Op::Yield => self.visible()?,
            Op::Exit => next = self.exit()?,
            Op::Choose { to, low, high } => {
                self.visible()?;
                let (low, high) = (self.get(low), self.get(high));
                if low > high {
                    return Err(Trouble::EmptyChoice { low, high }.into());
                }
                let pick = self.choose((high - low + 1) as u64)?;
                self.set(to, low + pick as i64);
            }
            Op::ChooseBelow { to, below } => {
                self.visible()?;
                let pick = self.choose(below.into())?;
                self.set(to, pick as i64);
            }
            other => {
                self.visible_operation(other)?;
            }
        }
        Ok(next)
    }

    fn choose(&mut self, alternatives: u64) -> Result<u64, Halt> {
        let pick = self.scratch.choices.pick(alternatives);
        Ok(pick.ok_or(Trouble::TooManyChoices)?)
    }

    fn fit(&self, value: i64, fit: Fit) -> Result<i64, Trouble> {
        match fit {
            Fit::AsIs => Ok(value),
            Fit::Wrap(int) => Ok(wrap(value, int)),
            Fit::Range(range) => {
                let (low, high) = self.program.ranges[range as usize];
                if (low..=high).contains(&value) {
                    Ok(value)
                } else {
                    Err(Trouble::OutOfRange { value, low, high })
                }
            }
        }
    }

    fn call(&mut self, function: u16, arguments: Reg, height: Reg) -> Result<Pc, Halt> {
        let function = &self.program.functions[function as usize];
        let base = self.base + height as usize + 1;
        // Every frame takes a word at least: nearer to the bottom there is nothing to count.
        if base > MAX_CALLS && self.call_depth() >= MAX_CALLS {
            return Err(Trouble::StackLimit.into());
        }
        if self.scratch.most_rounds.is_some() {
            self.note_rounds(function.entry);
        }
        let registers = &mut self.scratch.registers;
        if registers.len() < base + self.program.registers {
            registers.resize(base + self.program.registers, 0);
        }
        let from = self.base + arguments as usize;
        registers.copy_within(from..from + function.parameters as usize, base);
        registers[base - 1] = i64::from(self.pc + 1);
        self.base = base;
        Ok(function.entry)
    }

    fn call_depth(&self) -> usize {
        let mut depth = 0;
        let mut base = self.base;
        while base > 0 {
            base = self.caller(base).1;
            depth += 1;
        }
        depth
    }

    /// Notes how often a function is on the stack that is called now.
    #[cold]
    fn note_rounds(&mut self, entry: Pc) {
        let callee = self.program.function_number(entry);
        let (mut rounds, mut base, mut pc) = (1, self.base, self.pc);
        loop {
            rounds += usize::from(self.program.function_number(pc) == callee);
            if base == 0 {
                break;
            }
            pc = self.scratch.registers[base - 1] as Pc - 1;
            base = self.caller(base).1;
        }
        let most = &mut self.scratch.most_rounds;
        *most = most.map(|most| most.max(rounds));
    }

    /// The call that made the frame at `base`, and the frame that it returns to.
    fn caller(&self, base: usize) -> (Op, usize) {
        let call = self.program.code[self.scratch.registers[base - 1] as usize - 1];
        let Op::Call { height, .. } = call else {
            unreachable!("a frame returns behind a call");
        };
        (call, base - 1 - height as usize)
    }

    fn returns(&mut self, from: Option<Reg>) -> Result<Pc, Halt> {
        let value = from.map_or(0, |reg| self.get(reg));
        if self.base > 0 {
            let next = self.scratch.registers[self.base - 1] as Pc;
            let (call, base) = self.caller(self.base);
            self.base = base;
            if let Op::Call { to, .. } = call {
                self.set(to, value);
            }
            // What is left of the calling statement is no part of the last statement here.
            self.new_statement = true;
            return Ok(next);
        }
        if self.is_expression {
            return Err(Halt::Value(value));
        }
        // Others may wait for the end of a spawned thread: that is a step of its own, before
        // which the variables of the thread are gone.
        if self.memory.thread(self.thread)[header::PARENT] != word::NULL {
            return Ok(self.program.exit_of(self.pc));
        }
        Err(Halt::End)
    }

    fn exit(&mut self) -> Result<Pc, Halt> {
        self.visible_alone()?;
        self.synchronise(self.me, true, SyncOp::Exit);
        Err(Halt::End)
    }
}

#[inline]
fn in_bounds(index: i64, length: u16) -> Result<i64, Trouble> {
    let length = i64::from(length);
    if (0..length).contains(&index) {
        Ok(index)
    } else {
        Err(Trouble::OutOfBounds { index, length })
    }
}
