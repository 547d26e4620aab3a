//! The checked program: names resolved, types known, sizes computed.
//!
//! A value of type [`Program`] has passed all static checks; what is left to go
//! wrong is what only a run can tell. Front-end errors never get past
//! this point, so later stages need no error handling for them.

mod orders;
mod types;

pub use orders::{Order, Orders};
pub use types::Type;
use types::{slots, type_name};

use crate::ast::{BinaryOp, Direction, Fix, UnaryOp};
use crate::span::Span;

/// An index into [`Program::structs`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct StructId(pub u32);
/// An index into [`Program::enums`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct EnumId(pub u32);
/// An index into [`Program::globals`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct GlobalId(pub u32);
/// An index into [`Program::functions`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FunctionId(pub u32);
/// An index into [`Function::locals`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LocalId(pub u32);
/// A label of a function, numbered from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LabelId(pub u32);

/// A constant value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Value {
    /// An integer, a `bool` (0 or 1) or the number of an enum value.
    Int(i64),
    /// The null reference or thread.
    Null,
    /// A reference to a global slot.
    GlobalSlot(u32),
}

/// A struct type.
#[derive(Clone, Debug)]
pub struct Struct {
    /// Its name.
    pub name: String,
    /// Its fields, in order.
    pub fields: Vec<Field>,
    /// How many slots it takes.
    pub slots: u32,
    /// Whether there is a synchronisation object in it.
    pub synchronises: bool,
    /// How many arrays and structs are inside one another in it, itself counted.
    pub nesting: u32,
}

/// A field of a struct.
#[derive(Clone, Debug)]
pub struct Field {
    /// Its name.
    pub name: String,
    /// Its type.
    pub ty: Type,
    /// Its first slot, from the start of the struct.
    pub offset: u32,
    /// How it is claimed to be protected.
    pub discipline: Option<Discipline>,
}

/// An enum type.
#[derive(Clone, Debug)]
pub struct Enum {
    /// Its name.
    pub name: String,
    /// The names of its values.
    pub values: Vec<String>,
}

/// A global variable.
#[derive(Clone, Debug)]
pub struct Global {
    /// Its name.
    pub name: String,
    /// Its type.
    pub ty: Type,
    /// Whether every access to it is atomic.
    pub atomic: bool,
    /// Its first slot.
    pub slot: u32,
    /// How it is claimed to be protected.
    pub discipline: Option<Discipline>,
    /// Where its name is declared.
    pub span: Span,
}

/// A claim about how a variable or field is protected.
#[derive(Clone, Debug)]
pub enum Discipline {
    /// By the lock in this global slot.
    Lock(u32),
    /// Element by element: element `i` by the lock at `first + i * stride`.
    Locks {
        /// The slot of the lock of element 0.
        first: u32,
        /// The distance of two locks.
        stride: u32,
    },
    /// By the lock at this offset in the same struct.
    Sibling(u32),
    /// Each location is accessed by one thread only.
    ThreadLocal,
}

/// `exclusive a[i] when (owner[i] == tid);`
#[derive(Clone, Debug)]
pub struct Exclusive {
    /// The variable.
    pub global: GlobalId,
    /// The first slot of the part of it that is meant, from its start, for index 0.
    pub offset: u32,
    /// How many slots that part has.
    pub slots: u32,
    /// Length and stride of each dimension that has an index.
    pub dimensions: Vec<(u32, u32)>,
    /// When a thread has exclusive access; a function of the indices and `tid`.
    pub condition: Expr,
    /// The locals of the condition: one `int` per index.
    pub locals: Vec<Local>,
    /// The whole declaration.
    pub span: Span,
}

impl Exclusive {
    /// Every part that the declaration is about: its first slot, from the start of the
    /// variable, and the values of the indices.
    pub fn parts(&self) -> impl Iterator<Item = (u32, Vec<i64>)> + '_ {
        let count = match self.slots {
            0 => 0,
            _ => self.dimensions.iter().map(|(length, _)| *length).product(),
        };
        (0..count).map(|number: u32| {
            let (mut rest, mut first) = (number, self.offset);
            let mut indices = vec![0; self.dimensions.len()];
            for (index, (length, stride)) in indices.iter_mut().zip(&self.dimensions).rev() {
                *index = i64::from(rest % length);
                first += rest % length * stride;
                rest /= length;
            }
            (first, indices)
        })
    }
}

/// A thread that exists from the start.
#[derive(Clone, Debug)]
pub struct Start {
    /// What it runs.
    pub function: FunctionId,
    /// The values of its parameters.
    pub arguments: Vec<Value>,
    /// What to call it: `worker` or `worker[2]`.
    pub name: String,
    /// Where it is started.
    pub span: Span,
}

/// A function.
#[derive(Clone, Debug)]
pub struct Function {
    /// Its name.
    pub name: String,
    /// The type of its result.
    pub result: Type,
    /// How many of the locals are parameters; they come first.
    pub parameters: usize,
    /// All local variables.
    pub locals: Vec<Local>,
    /// How many labels it has.
    pub labels: u32,
    /// Its body.
    pub body: Vec<Statement>,
    /// Its head.
    pub span: Span,
    /// The closing brace.
    pub end: Span,
}

/// A local variable.
#[derive(Clone, Debug)]
pub struct Local {
    /// Its name.
    pub name: String,
    /// Its type.
    pub ty: Type,
    /// Where it is declared.
    pub span: Span,
}

/// `invariant e;`
#[derive(Clone, Debug)]
pub struct Invariant {
    /// What must hold.
    pub condition: Expr,
    /// The whole declaration.
    pub span: Span,
}

/// `reach("name");`
#[derive(Clone, Debug)]
pub struct Goal {
    /// Its name, if it has one.
    pub name: Option<String>,
    /// The statement.
    pub span: Span,
}

/// A checked program.
#[derive(Clone, Debug, Default)]
pub struct Program {
    /// The structs.
    pub structs: Vec<Struct>,
    /// The enums.
    pub enums: Vec<Enum>,
    /// The global variables.
    pub globals: Vec<Global>,
    /// The initial value of every global slot.
    pub initial: Vec<Value>,
    /// The functions.
    pub functions: Vec<Function>,
    /// The threads that exist from the start.
    pub starts: Vec<Start>,
    /// The invariants.
    pub invariants: Vec<Invariant>,
    /// The general exclusive-access predicates.
    pub exclusives: Vec<Exclusive>,
    /// The goals.
    pub goals: Vec<Goal>,
}

impl Program {
    /// How many slots a value of a type takes.
    #[must_use]
    pub fn slots(&self, ty: &Type) -> u32 {
        slots(ty, &self.structs)
    }

    /// A type as it is written in a program.
    #[must_use]
    pub fn type_name(&self, ty: &Type) -> String {
        type_name(ty, &self.structs, &self.enums)
    }
}

/// A statement with its place.
#[derive(Clone, Debug)]
pub struct Statement {
    /// What it does.
    pub kind: StatementKind,
    /// Where it is written.
    pub span: Span,
}

/// The kinds of statements.
#[derive(Clone, Debug)]
pub enum StatementKind {
    /// A step that does nothing.
    Yield,
    /// A scope.
    Block(Vec<Statement>),
    /// A local variable comes into scope, with the values of its first slots.
    Declare {
        /// The variable.
        local: LocalId,
        /// The initial values: slot from the start of the variable, the type of that slot, the value.
        init: Vec<(u32, Type, Expr)>,
    },
    /// An expression for its effect.
    Expr(Expr),
    /// `x = e`, `x += e`
    Assign {
        /// What is stored to.
        place: Place,
        /// The operator of a compound assignment.
        operator: Option<BinaryOp>,
        /// The right-hand side.
        value: Expr,
    },
    /// `if`
    If {
        /// The condition, a `bool`.
        condition: Expr,
        /// The branch for true.
        then: Box<Statement>,
        /// The branch for false.
        otherwise: Option<Box<Statement>>,
    },
    /// `while`
    While {
        /// The condition, a `bool`.
        condition: Expr,
        /// The body.
        body: Box<Statement>,
    },
    /// `do ... while`
    DoWhile {
        /// The body.
        body: Box<Statement>,
        /// The condition, a `bool`.
        condition: Expr,
    },
    /// `for`; its variable lives in the block around it.
    For {
        /// The condition, a `bool`.
        condition: Option<Expr>,
        /// What happens after each round.
        step: Option<Box<Statement>>,
        /// The body.
        body: Box<Statement>,
    },
    /// `switch`
    Switch {
        /// What is compared.
        scrutinee: Expr,
        /// The values, each with the arm it goes to.
        cases: Vec<(i64, usize)>,
        /// The arm for every other value.
        default: Option<usize>,
        /// The arms; control falls from one into the next.
        arms: Vec<Vec<Statement>>,
    },
    /// `break`
    Break,
    /// `continue`
    Continue,
    /// `return`
    Return(Option<Expr>),
    /// `goto`
    Goto(LabelId),
    /// The place that a `goto` goes to.
    Label(LabelId),
    /// `assert`
    Assert {
        /// What must hold, a `bool`.
        condition: Expr,
        /// What to say if it does not.
        message: Option<String>,
    },
    /// `assume`
    Assume(Expr),
    /// `await`
    Await(Expr),
    /// `reach`: an index into [`Program::goals`].
    Reach(u32),
    /// `atomic { ... }`
    Atomic(Vec<Statement>),
    /// `choose { ... } or { ... }`
    Choose(Vec<Vec<Statement>>),
}

/// An expression with its type and place.
#[derive(Clone, Debug)]
pub struct Expr {
    /// What it computes.
    pub kind: ExprKind,
    /// Its type.
    pub ty: Type,
    /// Where it is written.
    pub span: Span,
}

/// The kinds of expressions.
#[derive(Clone, Debug)]
pub enum ExprKind {
    /// A constant.
    Value(Value),
    /// The number of the current thread.
    Tid,
    /// `*` as a condition.
    Any,
    /// The value at a place.
    Load(Place),
    /// A reference to a place.
    AddressOf(Place),
    /// An operator on an integer; `Not` on a `bool`.
    Unary(UnaryOp, Box<Expr>),
    /// An operator; both sides have the same type after promotion.
    Binary(BinaryOp, Box<Expr>, Box<Expr>),
    /// `c ? a : b`
    Conditional(Box<Expr>, Box<Expr>, Box<Expr>),
    /// Another type of integer, or an integer from a `bool` or an enum.
    Convert(Box<Expr>),
    /// `x++`, `--x`
    Step {
        /// The place, of integer type.
        place: Place,
        /// Up or down.
        direction: Direction,
        /// Which value it has.
        fix: Fix,
    },
    /// A call.
    Call(FunctionId, Vec<Expr>),
    /// A new thread.
    Spawn(FunctionId, Vec<Expr>),
    /// `choose(lo..hi)`
    Choose(Box<Expr>, Box<Expr>),
    /// `new T`, `new T[n]`
    New(Type, Option<Box<Expr>>),
    /// A synchronisation or atomic operation.
    Operation(Box<Operation>),
}

/// A synchronisation or atomic operation.
#[derive(Clone, Debug)]
pub struct Operation {
    /// What is done.
    pub kind: OperationKind,
    /// The objects: the place that is operated on; for `wait`, then the mutex.
    pub places: Vec<Place>,
    /// The values passed.
    pub arguments: Vec<Expr>,
    /// The local variables that a message is received into.
    pub targets: Vec<Place>,
    /// Its orderings, if it is atomic or a fence.
    pub orders: Orders,
}

/// The operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OperationKind {
    /// Take a mutex.
    Lock,
    /// Give back a mutex.
    Unlock,
    /// Take a mutex if it is free.
    TryLock,
    /// Take a reader-writer lock for reading.
    ReadLock,
    /// Take a reader-writer lock for writing.
    WriteLock,
    /// Give back a reader-writer lock.
    UnlockRw,
    /// Take for reading if possible now.
    TryReadLock,
    /// Take for writing if possible now.
    TryWriteLock,
    /// Wait on an object (a cond, or a mutex itself).
    Wait,
    /// Wake one waiter.
    Notify,
    /// Wake all waiters.
    NotifyAll,
    /// Decrement a semaphore.
    Down,
    /// Increment a semaphore.
    Up,
    /// Decrement a semaphore if it is positive now.
    TryDown,
    /// Append a message.
    Send,
    /// Remove the oldest message.
    Recv,
    /// Append a message if there is room now.
    TrySend,
    /// Remove the oldest message if there is one now.
    TryRecv,
    /// How many messages there are.
    Len,
    /// Compare and swap.
    Cas,
    /// Add, and give the value before.
    FetchAdd,
    /// Store, and give the value before.
    Swap,
    /// Atomic read.
    AtomicLoad,
    /// Atomic write.
    AtomicStore,
    /// A fence.
    Fence,
    /// Wait for the end of a thread.
    Join,
    /// Free a heap object.
    Free,
}

/// Something that can be read, written or referred to.
#[derive(Clone, Debug)]
pub struct Place {
    /// Where it starts.
    pub base: PlaceBase,
    /// The way from there.
    pub path: Vec<Projection>,
    /// Its type.
    pub ty: Type,
    /// Whether it is (part of) an atomic global, named directly.
    pub atomic: bool,
    /// Where it is written.
    pub span: Span,
}

/// Where a place starts.
#[derive(Clone, Debug)]
pub enum PlaceBase {
    /// A local variable.
    Local(LocalId),
    /// A global variable.
    Global(GlobalId),
    /// What a reference refers to.
    Deref(Box<Expr>),
}

/// A step on the way to a part of a variable.
#[derive(Clone, Debug)]
pub enum Projection {
    /// A field, by its offset.
    Field(u32),
    /// An element of an array.
    Index {
        /// Which one.
        index: Expr,
        /// How many there are.
        length: u32,
        /// How many slots each has.
        stride: u32,
    },
    /// `p[i]`: the i-th element after the one that a reference refers to.
    Offset {
        /// How many elements further.
        index: Expr,
        /// The type of the elements.
        element: Type,
    },
}
