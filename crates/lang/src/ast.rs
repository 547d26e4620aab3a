//! The syntax tree: a program as it was written, every node with its place.
//!
//! The tree knows nothing of types or of what names mean; the checker
//! turns it into a [typed program](crate::hir).

use std::sync::Arc;

use crate::span::Span;

/// A name with its place.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Name {
    /// The name itself.
    pub text: String,
    /// Where it is written.
    pub span: Span,
}

/// A whole `.rad` file.
#[derive(Clone, Debug, Default)]
pub struct Program {
    /// The declarations, in the order of the text.
    pub items: Vec<Item>,
}

/// A declaration at top level.
#[derive(Clone, Debug)]
pub enum Item {
    /// `const int N = 3;`
    Const(Const),
    /// `enum Colour { RED, GREEN };`
    Enum(Enum),
    /// `struct Node { int value; Node* next; };`
    Struct(Struct),
    /// `atomic int x = 1, y[3];`
    Global(Global),
    /// `int f(int a) { ... }`
    Function(Function),
    /// `run f() || g()[3];`
    Run(Run),
    /// `invariant x < 3;`
    Invariant(Invariant),
    /// `exclusive x when (owner == tid);`
    Exclusive(Exclusive),
}

/// `const int N = 3;`
#[derive(Clone, Debug)]
pub struct Const {
    /// The type, `int` if it is left out.
    pub ty: Option<Type>,
    /// The name.
    pub name: Name,
    /// The value.
    pub value: Expr,
    /// The whole declaration.
    pub span: Span,
}

/// `enum Colour { RED, GREEN };`
#[derive(Clone, Debug)]
pub struct Enum {
    /// The name of the type.
    pub name: Name,
    /// The names of its values.
    pub values: Vec<Name>,
    /// The whole declaration.
    pub span: Span,
}

/// `struct Node { int value; Node* next; };`
#[derive(Clone, Debug)]
pub struct Struct {
    /// The name of the type.
    pub name: Name,
    /// The fields; `int a, b;` gives two.
    pub fields: Vec<Variable>,
    /// The whole declaration.
    pub span: Span,
}

/// `atomic int x = 1, y[3];` at top level.
#[derive(Clone, Debug)]
pub struct Global {
    /// The place of `atomic`, if it is there.
    pub atomic: Option<Span>,
    /// The variables.
    pub variables: Vec<Variable>,
    /// The whole declaration.
    pub span: Span,
}

/// One variable (or field) of a declaration.
#[derive(Clone, Debug)]
pub struct Variable {
    /// The type before the name, which all variables of a declaration share.
    pub ty: Arc<Type>,
    /// The name.
    pub name: Name,
    /// The array dimensions after the name, outermost first.
    pub dimensions: Vec<Expr>,
    /// `guarded_by` and `thread_local`.
    pub disciplines: Vec<Discipline>,
    /// The initialiser.
    pub init: Option<Init>,
    /// The declarator: from the name to the end of the initialiser.
    pub span: Span,
}

/// An initialiser.
#[derive(Clone, Debug)]
pub enum Init {
    /// A single value.
    Value(Expr),
    /// `{1, 2, 3}`
    List(Vec<Init>, Span),
}

/// A claim about how a variable is protected.
#[derive(Clone, Debug)]
pub enum Discipline {
    /// `guarded_by m`, `guarded_by pool.locks[2]`, `guarded_by m[]`.
    GuardedBy {
        /// The lock: a path of names, constant indices and fields.
        lock: Expr,
        /// `[]` at the end: the locks of an array protect its elements one by one.
        elementwise: bool,
        /// The whole annotation.
        span: Span,
    },
    /// `thread_local`
    ThreadLocal(Span),
}

/// `int f(int a) { ... }`
#[derive(Clone, Debug)]
pub struct Function {
    /// The type of the result.
    pub result: Type,
    /// The name.
    pub name: Name,
    /// The parameters.
    pub parameters: Vec<Parameter>,
    /// The body.
    pub body: Block,
    /// The head: from the result type to the closing parenthesis.
    pub span: Span,
}

/// A parameter of a function.
#[derive(Clone, Debug)]
pub struct Parameter {
    /// Its type.
    pub ty: Type,
    /// Its name.
    pub name: Name,
}

/// `run f() || g()[3];`
#[derive(Clone, Debug)]
pub struct Run {
    /// The threads, in the order of the text.
    pub starts: Vec<Start>,
    /// The whole declaration.
    pub span: Span,
}

/// One entry of `run`.
#[derive(Clone, Debug)]
pub struct Start {
    /// The function to run.
    pub function: Name,
    /// Its arguments.
    pub arguments: Vec<Expr>,
    /// How many threads: one if it is left out.
    pub count: Option<Expr>,
    /// The whole entry.
    pub span: Span,
}

/// `invariant e;`
#[derive(Clone, Debug)]
pub struct Invariant {
    /// What must hold in every state.
    pub condition: Expr,
    /// The whole declaration.
    pub span: Span,
}

/// `exclusive a[i] when (owner[i] == tid);`
#[derive(Clone, Debug)]
pub struct Exclusive {
    /// The variable, with fresh names as indices: `a`, `a[i]`, `s.f`.
    pub place: Expr,
    /// When a thread has exclusive access to it.
    pub condition: Expr,
    /// The whole declaration.
    pub span: Span,
}

/// A type as written.
#[derive(Clone, Debug)]
pub struct Type {
    /// What kind of type.
    pub kind: TypeKind,
    /// Where it is written.
    pub span: Span,
}

/// The kinds of types that can be written.
#[derive(Clone, Debug)]
pub enum TypeKind {
    /// `void`
    Void,
    /// `bool`
    Bool,
    /// `int`, `u8`, ...
    Int(IntType),
    /// `int<lo..hi>`
    Range(Box<Expr>, Box<Expr>),
    /// The name of an enum or a struct.
    Named(Name),
    /// `T*`
    Pointer(Box<Type>),
    /// `thread`
    Thread,
    /// `mutex`, `reentrant mutex`
    Mutex {
        /// Whether its owner may take it again.
        reentrant: bool,
    },
    /// `rwlock`
    RwLock,
    /// `cond`
    Cond,
    /// `semaphore`
    Semaphore,
    /// `chan<T, n>`
    Channel {
        /// The types of the values of one message.
        message: Vec<Type>,
        /// The capacity; a rendezvous if it is left out.
        capacity: Option<Box<Expr>>,
    },
    /// A type that could not be parsed; it has been reported.
    Error,
}

/// The integer types.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum IntType {
    /// `i8`
    I8,
    /// `i16`
    I16,
    /// `int`, `i32`
    I32,
    /// `u8`
    U8,
    /// `u16`
    U16,
    /// `u32`
    U32,
}

/// `{ ... }`
#[derive(Clone, Debug, Default)]
pub struct Block {
    /// The statements.
    pub statements: Vec<Statement>,
    /// From brace to brace.
    pub span: Span,
}

/// A statement with its place.
#[derive(Clone, Debug)]
pub struct Statement {
    /// What it does.
    pub kind: StatementKind,
    /// The whole statement.
    pub span: Span,
}

/// A condition: an expression, or `*`.
#[derive(Clone, Debug)]
pub enum Condition {
    /// `*`: either way.
    Any(Span),
    /// An expression.
    Expr(Expr),
}

/// The kinds of statements.
#[derive(Clone, Debug)]
pub enum StatementKind {
    /// `;` and `skip;`
    Skip,
    /// `yield;`
    Yield,
    /// `{ ... }`
    Block(Block),
    /// `int i = 0, j;`
    Declare(Vec<Variable>),
    /// An expression for its effect: a call, `x++`.
    Expr(Expr),
    /// `x = e;`, and with an operator `x += e;`
    Assign {
        /// The place that is stored to.
        place: Expr,
        /// The operator of a compound assignment.
        operator: Option<BinaryOp>,
        /// The right-hand side.
        value: Expr,
    },
    /// `if (c) a else b`
    If {
        /// The condition.
        condition: Condition,
        /// The branch for true.
        then: Box<Statement>,
        /// The branch for false.
        otherwise: Option<Box<Statement>>,
    },
    /// `while (c) body`
    While {
        /// The condition.
        condition: Condition,
        /// The body.
        body: Box<Statement>,
    },
    /// `do body while (c);`
    DoWhile {
        /// The body.
        body: Box<Statement>,
        /// The condition.
        condition: Condition,
    },
    /// `for (init; c; step) body`
    For {
        /// A declaration, an assignment or an expression.
        init: Option<Box<Statement>>,
        /// The condition.
        condition: Option<Condition>,
        /// An assignment or an expression.
        step: Option<Box<Statement>>,
        /// The body.
        body: Box<Statement>,
    },
    /// `switch (e) { case 1: ... default: ... }`
    Switch {
        /// What is compared.
        scrutinee: Expr,
        /// The arms, in order; control falls from one into the next.
        arms: Vec<Arm>,
    },
    /// `break;`
    Break,
    /// `continue;`
    Continue,
    /// `return e;`
    Return(Option<Expr>),
    /// `goto L;`
    Goto(Name),
    /// `L: statement`
    Label(Name, Box<Statement>),
    /// `assert(e, "message");`
    Assert {
        /// What must hold.
        condition: Expr,
        /// What to say if it does not.
        message: Option<String>,
    },
    /// `assume(e);`
    Assume(Expr),
    /// `await(e);`
    Await(Expr),
    /// `reach("name");`
    Reach(Option<String>),
    /// `atomic { ... }`
    Atomic(Block),
    /// `choose { ... } or { ... }`
    Choose(Vec<Block>),
    /// A statement that could not be parsed; it has been reported.
    Error,
}

/// One arm of a `switch`: some labels, and what follows them.
#[derive(Clone, Debug)]
pub struct Arm {
    /// `case 1:`; `None` is `default:`.
    pub labels: Vec<(Option<Expr>, Span)>,
    /// The statements up to the next label.
    pub statements: Vec<Statement>,
    /// From the first label on.
    pub span: Span,
}

/// An expression with its place.
#[derive(Clone, Debug)]
pub struct Expr {
    /// What it computes.
    pub kind: ExprKind,
    /// The whole expression, parentheses excluded.
    pub span: Span,
}

/// The kinds of expressions.
#[derive(Clone, Debug)]
pub enum ExprKind {
    /// A number; it fits in an `i32` or a `u32`.
    Int(i64),
    /// `true`, `false`
    Bool(bool),
    /// `null`
    Null,
    /// `tid`
    Tid,
    /// A variable, a constant or an enum value.
    Name(String),
    /// `( e )`
    Paren(Box<Expr>),
    /// `(int) e`
    Cast(Type, Box<Expr>),
    /// `-e`, `!e`, `~e`
    Unary(UnaryOp, Box<Expr>),
    /// `a + b`
    Binary(BinaryOp, Box<Expr>, Box<Expr>),
    /// `c ? a : b`
    Conditional(Box<Expr>, Box<Expr>, Box<Expr>),
    /// `*p`
    Deref(Box<Expr>),
    /// `&x`
    AddressOf(Box<Expr>),
    /// `a[i]`
    Index(Box<Expr>, Box<Expr>),
    /// `s.f`
    Field(Box<Expr>, Name),
    /// `p->f`
    Arrow(Box<Expr>, Name),
    /// `x++`, `--x`, ...
    Step {
        /// The place.
        place: Box<Expr>,
        /// Up or down.
        direction: Direction,
        /// Whether the value is the one before (`x++`) or after (`++x`).
        fix: Fix,
    },
    /// `f(a, b)`: a function or a built-in operation.
    Call(Name, Vec<Expr>),
    /// `spawn f(a, b)`
    Spawn(Name, Vec<Expr>),
    /// `choose(lo..hi)`
    Choose(Box<Expr>, Box<Expr>),
    /// `new T`, `new T[n]`
    New(Type, Option<Box<Expr>>),
    /// An expression that could not be parsed; it has been reported.
    Error,
}

/// `++` or `--`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// `++`
    Up,
    /// `--`
    Down,
}

/// Before or after its operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fix {
    /// `++x`
    Prefix,
    /// `x++`
    Postfix,
}

/// The unary operators.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnaryOp {
    /// `-`
    Negate,
    /// `!`
    Not,
    /// `~`
    Complement,
}

/// The binary operators.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BinaryOp {
    /// `==>`
    Implies,
    /// `||`
    Or,
    /// `&&`
    And,
    /// `|`
    BitOr,
    /// `^`
    BitXor,
    /// `&`
    BitAnd,
    /// `==`
    Equal,
    /// `!=`
    NotEqual,
    /// `<`
    Less,
    /// `<=`
    LessEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterEqual,
    /// `<<`
    ShiftLeft,
    /// `>>`
    ShiftRight,
    /// `+`
    Add,
    /// `-`
    Subtract,
    /// `*`
    Multiply,
    /// `/`
    Divide,
    /// `%`
    Remainder,
}
