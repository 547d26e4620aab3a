//! A compiled program.

use raddle_explore::Place;
use raddle_lang::{Source, Span, hir};

use crate::exclusive::{Locks, Rules};
use crate::op::{ChannelShape, Op, Pc, Reg};
use crate::orders::Ordering;
use crate::pack::Packing;

/// How much one step may do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Granularity {
    /// One shared access is one step.
    #[default]
    Access,
    /// All shared accesses of one statement are one step.
    Statement,
}

/// A compiled program: code, tables, and what is needed to talk about it in terms of
/// its source.
#[derive(Clone, Debug)]
pub struct Program {
    pub(crate) code: Vec<Op>,
    /// How many registers are alive before each instruction.
    pub(crate) heights: Vec<Reg>,
    /// The part of the source that each instruction comes from.
    pub(crate) spans: Vec<Span>,
    /// The statement that each instruction belongs to.
    pub(crate) statement_of: Vec<u32>,
    /// Whether a statement begins with the instruction.
    pub(crate) begins: Vec<bool>,
    pub(crate) statements: Vec<Span>,
    /// The statements `assert(false)`.
    pub(crate) asserts_false: Vec<u32>,
    /// The orderings of fences, and of accesses that ask for less than sequential consistency, in the order of the code.
    pub(crate) orders: Vec<(Pc, Ordering)>,
    pub(crate) functions: Vec<Function>,
    /// The most registers that any frame needs.
    pub(crate) registers: usize,
    pub(crate) shapes: Vec<ChannelShape>,
    pub(crate) ranges: Vec<(i64, i64)>,
    pub(crate) messages: Vec<String>,
    pub(crate) invariants: Vec<Pc>,
    /// The initial words of the globals, and the ghost words of the rules behind them.
    pub(crate) initial: Vec<i64>,
    /// Whether accesses to a global slot are atomic.
    pub(crate) atomic_slots: Vec<bool>,
    /// The types that are allocated.
    pub(crate) layouts: Vec<Layout>,
    pub(crate) features: Features,
    pub(crate) packing: Packing,
    pub(crate) locks: Locks,
    pub(crate) rules: Rules,
    pub(crate) source: Source,
    pub(crate) hir: hir::Program,
}

/// What the program uses; what it does not use takes no room in its states.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Features {
    pub(crate) calls: bool,
    pub(crate) spawn: bool,
    pub(crate) heap: bool,
    pub(crate) read_locks: bool,
    /// Whether `tid` is used while threads can be spawned.
    pub(crate) numbers_threads: bool,
}

/// An element of an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Element {
    /// Which one.
    pub(crate) position: i64,
    /// How many there are.
    pub(crate) length: i64,
}

/// A type that is allocated on the heap.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    pub(crate) ty: hir::Type,
    pub(crate) slots: u32,
    /// The slots of a new element that are not zero.
    pub(crate) defaults: Vec<(u32, i64)>,
}

/// A function of the program.
#[derive(Clone, Debug)]
pub(crate) struct Function {
    pub(crate) name: String,
    pub(crate) entry: Pc,
    pub(crate) end: Pc,
    pub(crate) parameters: u16,
    pub(crate) variables: Vec<Variable>,
}

/// A local variable and where it lives.
#[derive(Clone, Debug)]
pub(crate) struct Variable {
    pub(crate) name: String,
    pub(crate) ty: hir::Type,
    pub(crate) register: Reg,
    /// The instructions during which it is in scope.
    pub(crate) from: Pc,
    pub(crate) to: Pc,
    /// Where it is declared.
    pub(crate) span: Span,
    pub(crate) told_by: ToldBy,
}

/// What tells a local variable from the others of its function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ToldBy {
    /// Its name.
    Name,
    /// Its name and the line of its declaration.
    Line(u32),
    /// Its name and the place of its declaration: there is another one in that line.
    Place,
}

impl Program {
    /// The source text that the program was compiled from.
    #[must_use]
    pub fn source(&self) -> &Source {
        &self.source
    }

    /// The checked program, with the disciplines it declares.
    #[must_use]
    pub fn checked(&self) -> &hir::Program {
        &self.hir
    }

    /// Whether it has mutexes or reader-writer locks.
    #[must_use]
    pub fn has_locks(&self) -> bool {
        self.locks.are_there()
    }

    /// The part of the source that a place stands for.
    #[must_use]
    pub fn span(&self, place: Place) -> Span {
        self.spans
            .get(place.0 as usize)
            .copied()
            .unwrap_or_default()
    }

    /// The statement that a place belongs to; empty if it belongs to none.
    #[must_use]
    pub fn statement(&self, place: Place) -> Span {
        let statement = self.statement_of.get(place.0 as usize);
        let span = statement.and_then(|&statement| self.statements.get(statement as usize));
        span.copied().unwrap_or_default()
    }

    /// What stands behind the name of a local variable if the function has others of that
    /// name: ` (line 12)`.
    pub(crate) fn declared_at(&self, variable: &Variable) -> String {
        match variable.told_by {
            ToldBy::Name => String::new(),
            ToldBy::Line(line) => format!(" (line {line})"),
            ToldBy::Place => {
                let at = self.source.line_column(variable.span.start);
                format!(" (line {}:{})", at.line, at.column)
            }
        }
    }

    /// The global variable that a slot belongs to.
    pub(crate) fn global_at(&self, slot: usize) -> Option<&hir::Global> {
        let globals = &self.hir.globals;
        let after = globals.partition_point(|global| global.slot as usize <= slot);
        globals[..after].last()
    }

    /// The element of that type that begins `offset` slots into a value, if it is one of an array
    /// inside the value: `p[i]` stays within that array. The size alone does not tell: a
    /// struct can be as large as its first field. There is one such array at most, because no type
    /// contains itself.
    pub(crate) fn element_at(
        &self,
        whole: &hir::Type,
        offset: usize,
        wanted: &hir::Type,
    ) -> Option<Element> {
        let (mut ty, mut rest) = (whole, offset as u32);
        loop {
            match ty {
                hir::Type::Array(element, length) => {
                    let stride = self.hir.slots(element);
                    if **element == *wanted {
                        return (rest % stride == 0).then(|| Element {
                            position: (rest / stride).into(),
                            length: (*length).into(),
                        });
                    }
                    (ty, rest) = (element, rest % stride);
                }
                hir::Type::Struct(id) => {
                    let fields = &self.hir.structs[id.0 as usize].fields;
                    let after = fields.partition_point(|field| field.offset <= rest);
                    let field = fields[..after].last()?;
                    (ty, rest) = (&field.ty, rest - field.offset);
                }
                _ => return None,
            }
        }
    }

    /// The function that an instruction belongs to; none for an invariant.
    pub(crate) fn function_at(&self, pc: Pc) -> Option<&Function> {
        let after = self
            .functions
            .partition_point(|function| function.entry <= pc);
        self.functions[..after]
            .last()
            .filter(|function| pc < function.end)
    }

    /// The number of the function that an instruction of a thread belongs to.
    pub(crate) fn function_number(&self, pc: Pc) -> usize {
        let after = (self.functions).partition_point(|function| function.entry <= pc);
        after - 1
    }

    /// Whether a variable is one that the program declares, or part of one.
    pub(crate) fn is_declared(&self, variable: raddle_explore::Variable) -> bool {
        variable.0 as usize >= self.initial.len() || (variable.0 as usize) < self.hir.initial.len()
    }

    /// The number of the function that an instruction of a thread belongs to.
    pub(crate) fn function_index(&self, pc: Pc) -> usize {
        let after = (self.functions).partition_point(|function| function.entry <= pc);
        after.saturating_sub(1)
    }

    /// The `Exit` of the function that an instruction belongs to.
    pub(crate) fn exit_of(&self, pc: Pc) -> Pc {
        self.function_at(pc).expect("threads run functions").end - 1
    }
}
