//! From a checked program to bytecode.
//!
//! Registers of a frame are given out as a stack: variables in the order of their
//! scopes, above them the temporaries of the expression being computed. So at
//! every instruction the registers in use are those below a known *height*, and
//! a stored state keeps exactly those: what is out of scope or used up is no part of it.

mod expressions;
mod operations;
mod places;
mod statements;

use std::collections::HashMap;
use std::sync::Arc;

use raddle_lang::{Diagnostic, Source, Span, hir};

use crate::exclusive::{Locks, Rules};
use crate::op::{Fit, Op, Pc, Reg};
use crate::orders::Ordering;
use crate::pack::{Packing, Sample};
use crate::program::{Features, Function, Layout, Program, ToldBy, Variable};
use crate::word;

/// Marks instructions that belong to no statement.
pub(crate) const NO_STATEMENT: u32 = u32::MAX;

/// Compiles a checked program.
///
/// # Errors
///
/// If the program is too large for the machine.
pub fn compile(checked: hir::Program, source: Source) -> Result<Program, Diagnostic> {
    let mut initial: Vec<i64> = checked
        .initial
        .iter()
        .map(|value| initial_word(*value))
        .collect();
    let mut atomic_slots = vec![false; checked.initial.len()];
    for global in &checked.globals {
        let slots = global.slot..global.slot + checked.slots(&global.ty);
        for slot in slots {
            atomic_slots[slot as usize] = global.atomic;
        }
    }
    let mut compiler = Compiler {
        code: Vec::new(),
        heights: Vec::new(),
        spans: Vec::new(),
        statement_of: Vec::new(),
        begins: Vec::new(),
        statements: Vec::new(),
        asserts_false: Vec::new(),
        orders: Vec::new(),
        shapes: Vec::new(),
        ranges: Vec::new(),
        range_numbers: HashMap::new(),
        messages: Vec::new(),
        layouts: Vec::new(),
        layout_numbers: HashMap::new(),
        layout_slots: 0,
        skipped_values: 0,
        hir: &checked,
        source: &source,
        frame: Frame::default(),
        statement: NO_STATEMENT,
        beginning: false,
        span: Span::default(),
        joined_at: None,
        registers: 0,
        too_large: None,
    };
    let functions = checked
        .functions
        .iter()
        .map(|function| compiler.function(function))
        .collect();
    let invariants = checked
        .invariants
        .iter()
        .map(|invariant| compiler.standalone(&invariant.condition, &[]))
        .collect();
    let predicates: Vec<Pc> = checked
        .exclusives
        .iter()
        .map(|exclusive| compiler.standalone(&exclusive.condition, &exclusive.locals))
        .collect();
    if let Some((span, excess)) = compiler.too_large {
        return Err(Diagnostic::error(span, "the program is too large here")
            .label(excess.text())
            .help("make the arrays, structs or functions smaller"));
    }
    let features = features(&compiler.code);
    let locks = Locks::new(&checked, &compiler.layouts);
    let rules = Rules::new(&checked, &compiler.layouts, &predicates);
    // The ghost words of the rules are behind the globals.
    initial.resize(initial.len() + rules.ghosts, word::NULL);
    let program = Program {
        registers: compiler.registers as usize,
        code: compiler.code,
        heights: compiler.heights,
        spans: compiler.spans,
        statement_of: compiler.statement_of,
        begins: compiler.begins,
        statements: compiler.statements,
        asserts_false: compiler.asserts_false,
        orders: compiler.orders,
        functions,
        shapes: compiler.shapes,
        ranges: compiler.ranges,
        messages: compiler.messages,
        invariants,
        initial,
        atomic_slots,
        layouts: compiler.layouts,
        features,
        packing: Packing::default(),
        locks,
        rules,
        source,
        hir: checked,
    };
    let program = Arc::new(program);
    let sample = Sample::of(&program);
    let mut program = Arc::into_inner(program).expect("nobody else walks through it");
    program.packing = Packing::new(&program, &sample);
    Ok(program)
}

fn features(code: &[Op]) -> Features {
    let uses = |test: fn(&Op) -> bool| code.iter().any(test);
    let spawn = uses(|op| matches!(op, Op::Spawn { .. }));
    Features {
        calls: uses(|op| matches!(op, Op::Call { .. })),
        spawn,
        heap: uses(|op| matches!(op, Op::New { .. })),
        read_locks: uses(|op| matches!(op, Op::ReadLock { .. } | Op::TryReadLock { .. })),
        numbers_threads: spawn && uses(|op| matches!(op, Op::Tid { .. })),
    }
}

/// Of what there is too much for the machine.
#[derive(Clone, Copy)]
enum Excess {
    /// Something that is counted in 16 bits.
    Count,
    /// Slots in all types that are allocated.
    Layouts,
    /// First values of variables that jumps into a `switch` skip.
    Skipped,
}

/// All types that are allocated have at most this many slots together: what is known about
/// each of their slots takes room, whether or not an object is ever made.
const MAX_LAYOUT_SLOTS: u32 = 1 << 20;

/// At most this many first values are stored on the ways into the arms of `switch`es. Each arm sets all
/// variables of the arms before it: this is the only code that can be much longer than the
/// text that it comes from.
const MAX_SKIPPED: usize = 1 << 20;

impl Excess {
    fn text(self) -> String {
        match self {
            Self::Count => "more than 65535 of something that is counted in 16 bits".into(),
            Self::Layouts => {
                format!("more than {MAX_LAYOUT_SLOTS} slots in the types of heap objects")
            }
            Self::Skipped => {
                format!("more than {MAX_SKIPPED} first values that cases of `switch` skip")
            }
        }
    }
}

/// Finds out what tells variables of one name apart.
fn tell_apart(source: &Source, variables: &mut [Variable]) {
    let mut namesakes: HashMap<String, u32> = HashMap::new();
    let mut in_line: HashMap<(String, u32), u32> = HashMap::new();
    for variable in &*variables {
        *namesakes.entry(variable.name.clone()).or_default() += 1;
        let line = source.line_of(variable.span.start);
        *in_line.entry((variable.name.clone(), line)).or_default() += 1;
    }
    for variable in variables {
        if namesakes[&variable.name] > 1 {
            let line = source.line_of(variable.span.start);
            variable.told_by = match in_line[&(variable.name.clone(), line)] {
                1 => ToldBy::Line(line),
                _ => ToldBy::Place,
            };
        }
    }
}

/// The slots of a variable without an initialiser that are not zero: ranges without zero start at
/// their lower end.
fn collect_defaults(
    program: &hir::Program,
    ty: &hir::Type,
    start: u32,
    defaults: &mut Vec<(u32, i64)>,
) {
    match *ty {
        hir::Type::Range(low, high) if !(low..=high).contains(&0) => defaults.push((start, low)),
        hir::Type::Array(ref element, length) => {
            let stride = program.slots(element);
            for index in 0..length {
                let before = defaults.len();
                collect_defaults(program, element, start + index * stride, defaults);
                if defaults.len() == before {
                    break;
                }
            }
        }
        hir::Type::Struct(id) => {
            for field in &program.structs[id.0 as usize].fields {
                collect_defaults(program, &field.ty, start + field.offset, defaults);
            }
        }
        _ => {}
    }
}

pub(crate) fn initial_word(value: hir::Value) -> i64 {
    match value {
        hir::Value::Int(value) => value,
        hir::Value::Null => word::NULL,
        hir::Value::GlobalSlot(slot) => word::global(slot as usize),
    }
}

struct Compiler<'p> {
    code: Vec<Op>,
    heights: Vec<Reg>,
    spans: Vec<Span>,
    statement_of: Vec<u32>,
    begins: Vec<bool>,
    statements: Vec<Span>,
    asserts_false: Vec<u32>,
    orders: Vec<(Pc, Ordering)>,
    shapes: Vec<crate::op::ChannelShape>,
    ranges: Vec<(i64, i64)>,
    range_numbers: HashMap<(i64, i64), u32>,
    messages: Vec<String>,
    layouts: Vec<Layout>,
    layout_numbers: HashMap<hir::Type, u32>,
    layout_slots: u32,
    /// How many first values are stored on the ways into the arms of `switch`es.
    skipped_values: usize,
    hir: &'p hir::Program,
    source: &'p Source,
    frame: Frame,
    /// The statement being compiled, and whether its first instruction is still to come.
    statement: u32,
    beginning: bool,
    /// What the instructions to come are about.
    span: Span,
    /// Where paths were last joined: the instruction before it cannot be changed.
    joined_at: Option<Pc>,
    /// The most registers that any frame needs.
    registers: u32,
    too_large: Option<(Span, Excess)>,
}

/// What is known about the function being compiled.
#[derive(Default)]
struct Frame {
    /// How many registers are in use.
    height: u32,
    locals: Vec<hir::Local>,
    /// The first register of every variable in scope.
    registers: Vec<Reg>,
    variables: Vec<Variable>,
    /// The variables of the scopes that have been entered and not left, parameters excepted.
    live: Vec<usize>,
    scopes: Vec<Scope>,
    scope_count: u32,
    labels: Vec<Option<Target>>,
    /// The number of atomic blocks around each label.
    label_depths: Vec<u32>,
    gotos: Vec<Goto>,
    loops: Vec<Breakable>,
    atomic_depth: u32,
}

/// A block, and how many registers were in use, and variables in scope, at its beginning.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Scope {
    id: u32,
    height: u32,
    live: usize,
}

/// Where a label is.
struct Target {
    pc: Pc,
    height: u32,
    scopes: Vec<Scope>,
}

/// A `goto` that waits for its label.
struct Goto {
    label: usize,
    /// Its `Clear`; the `Jump` follows.
    clear: Pc,
    height: u32,
    scopes: Vec<Scope>,
}

/// A loop or a switch being compiled.
struct Breakable {
    breaks: Vec<Pc>,
    /// `None` for a switch.
    continues: Option<Vec<Pc>>,
    atomic_depth: u32,
}

impl Compiler<'_> {
    fn pc(&self) -> Pc {
        self.code.len() as Pc
    }

    /// Appends an instruction, before which all registers below the current height are alive.
    fn emit(&mut self, op: Op) -> Pc {
        self.emit_at(self.frame.height, op)
    }

    fn emit_at(&mut self, height: u32, op: Op) -> Pc {
        let pc = self.pc();
        let height = self.narrow(height);
        self.code.push(op);
        self.heights.push(height);
        self.spans.push(self.span);
        self.statement_of.push(self.statement);
        self.begins.push(std::mem::take(&mut self.beginning));
        pc
    }

    /// A number that the machine counts in 16 bits.
    fn narrow(&mut self, number: u32) -> u16 {
        u16::try_from(number).unwrap_or_else(|_| {
            self.exceed(Excess::Count);
            0
        })
    }

    fn exceed(&mut self, excess: Excess) {
        self.too_large.get_or_insert((self.span, excess));
    }

    /// Runs `work` for a part of the source; the instructions it emits come from there.
    fn at<T>(&mut self, span: Span, work: impl FnOnce(&mut Self) -> T) -> T {
        let outer = std::mem::replace(&mut self.span, span);
        let result = work(self);
        self.span = outer;
        result
    }

    /// The next instructions are a statement (or a condition, which counts as one).
    fn begin_statement(&mut self, span: Span) {
        self.statement = self.statements.len() as u32;
        self.statements.push(span);
        self.beginning = true;
        self.span = span;
    }

    fn temp(&mut self) -> Reg {
        let reg = self.frame.height;
        self.frame.height += 1;
        self.registers = self.registers.max(self.frame.height);
        self.narrow(reg)
    }

    /// Emits an instruction that uses the temporaries above `mark` up and leaves its
    /// result in the first of them.
    fn result(&mut self, mark: u32, make: impl FnOnce(Reg) -> Op) -> Reg {
        let height = self.frame.height;
        self.frame.height = mark;
        let to = self.temp();
        self.emit_at(height, make(to));
        to
    }

    /// Emits an instruction without a result that uses up the temporaries above `mark`.
    fn consume(&mut self, mark: u32, op: Op) {
        self.emit(op);
        self.frame.height = mark;
    }

    fn is_temp(&self, reg: Reg, mark: u32) -> bool {
        u32::from(reg) >= mark
    }

    /// The value in a temporary of its own, which may be changed.
    fn own(&mut self, reg: Reg, mark: u32) -> Reg {
        if self.is_temp(reg, mark) {
            return reg;
        }
        let height = self.frame.height;
        let to = self.temp();
        self.emit_at(height, Op::Move { to, from: reg });
        to
    }

    /// Jumps that were emitted with an unknown target lead here.
    fn join(&mut self, jumps: impl IntoIterator<Item = Pc>) {
        let here = self.pc();
        for jump in jumps {
            match &mut self.code[jump as usize] {
                Op::Jump { to } | Op::JumpIf { to, .. } | Op::JumpUnless { to, .. } => *to = here,
                other => unreachable!("{other:?} is not a jump"),
            }
            self.joined_at = Some(here);
        }
    }

    fn jump(&mut self) -> Pc {
        self.emit(Op::Jump { to: 0 })
    }

    fn fit(&mut self, from: &hir::Type, to: &hir::Type) -> Fit {
        use raddle_lang::ast::IntType;
        let bounds = |ty: &hir::Type| match *ty {
            hir::Type::Range(low, high) => (low, high),
            hir::Type::Int(IntType::I8) => (i64::from(i8::MIN), i64::from(i8::MAX)),
            hir::Type::Int(IntType::I16) => (i64::from(i16::MIN), i64::from(i16::MAX)),
            hir::Type::Int(IntType::U8) => (0, i64::from(u8::MAX)),
            hir::Type::Int(IntType::U16) => (0, i64::from(u16::MAX)),
            hir::Type::Int(IntType::U32) => (0, i64::from(u32::MAX)),
            hir::Type::Bool => (0, 1),
            _ => (i64::from(i32::MIN), i64::from(i32::MAX)),
        };
        let ((low, high), (least, most)) = (bounds(from), bounds(to));
        if least <= low && high <= most {
            return Fit::AsIs;
        }
        match *to {
            hir::Type::Int(int) => Fit::Wrap(int),
            hir::Type::Range(low, high) => {
                let next = self.ranges.len() as u32;
                let number = *self.range_numbers.entry((low, high)).or_insert(next);
                if number == next {
                    self.ranges.push((low, high));
                }
                Fit::Range(self.narrow(number))
            }
            _ => Fit::AsIs,
        }
    }

    /// The layout of a type that is allocated.
    fn layout(&mut self, ty: &hir::Type) -> u16 {
        if let Some(&known) = self.layout_numbers.get(ty) {
            return self.narrow(known);
        }
        let number = self.layouts.len() as u32;
        self.layout_numbers.insert(ty.clone(), number);
        let slots = u32::from(self.narrow(self.hir.slots(ty)));
        self.layout_slots = self.layout_slots.saturating_add(slots);
        let mut defaults = Vec::new();
        if self.layout_slots > MAX_LAYOUT_SLOTS {
            self.exceed(Excess::Layouts);
        } else if slots > 0 {
            collect_defaults(self.hir, ty, 0, &mut defaults);
        }
        self.layouts.push(Layout {
            ty: ty.clone(),
            slots,
            defaults,
        });
        self.narrow(number)
    }

    fn function(&mut self, function: &hir::Function) -> Function {
        self.frame = Frame {
            locals: function.locals.clone(),
            labels: (0..function.labels).map(|_| None).collect(),
            label_depths: vec![0; function.labels as usize],
            ..Frame::default()
        };
        let entry = self.pc();
        for parameter in &function.locals[..function.parameters] {
            let register = self.temp();
            self.frame.registers.push(register);
            self.frame.variables.push(Variable {
                name: parameter.name.clone(),
                ty: parameter.ty.clone(),
                register,
                from: entry,
                to: Pc::MAX,
                span: parameter.span,
                told_by: ToldBy::Name,
            });
        }
        self.frame.registers.resize(function.locals.len(), 0);
        self.enter_scope();
        statements::label_depths(&function.body, 0, &mut self.frame.label_depths);
        self.statements(&function.body);
        self.leave_scope();
        self.statement = NO_STATEMENT;
        let exit = self.at(function.end, |compiler| {
            compiler.emit(Op::Return { from: None });
            compiler.emit_at(0, Op::Exit)
        });
        self.resolve_gotos();
        let end = self.pc();
        // A thread that is about to exit has no variables any more.
        for variable in &mut self.frame.variables {
            variable.to = variable.to.min(exit);
        }
        tell_apart(self.source, &mut self.frame.variables);
        Function {
            name: function.name.clone(),
            entry,
            end,
            parameters: function.parameters as u16,
            variables: std::mem::take(&mut self.frame.variables),
        }
    }

    /// An expression outside of any function, such as an invariant. Its variables are in the
    /// first registers.
    fn standalone(&mut self, expr: &hir::Expr, variables: &[hir::Local]) -> Pc {
        self.frame = Frame {
            locals: variables.to_vec(),
            ..Frame::default()
        };
        self.statement = NO_STATEMENT;
        for _ in variables {
            let register = self.temp();
            self.frame.registers.push(register);
        }
        let entry = self.pc();
        let reg = self.value(expr);
        self.at(expr.span, |compiler| {
            compiler.emit(Op::Return { from: Some(reg) })
        });
        entry
    }
}
