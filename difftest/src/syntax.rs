//! Programs as trees: what the generator makes, the shrinker cuts, and the printer
//! writes.
//!
//! The tree is untyped. The generator takes care to make programs that compile; the
//! shrinker tries whatever is smaller, and drops what does not. Variables are declared
//! where the printer finds them used, so that there is no declaration to keep in step.

/// A sequence of statements.
pub type Block = Vec<Stmt>;

/// A program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// What may be declared; only what is used is printed.
    pub globals: Vec<Global>,
    /// The same for functions.
    pub functions: Vec<Function>,
    /// The threads of `run`; without them, there is a function `main`.
    pub starts: Vec<Start>,
    /// The invariants.
    pub invariants: Vec<Expr>,
    /// Whether a step is a whole statement.
    pub by_statements: bool,
}

impl Program {
    /// How many lines its text has, but for empty ones.
    #[must_use]
    pub fn lines(&self) -> usize {
        let text = self.to_string();
        text.lines().filter(|line| !line.is_empty()).count()
    }
}

/// A global variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Global {
    /// The type, with what stands before it.
    pub ty: &'static str,
    /// The name.
    pub name: &'static str,
    /// What stands behind the name: the length of an array.
    pub dimension: &'static str,
    /// What it claims about its protection.
    pub discipline: Option<Discipline>,
    /// The initial value.
    pub initial: Option<Expr>,
}

/// How data is said to be protected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Discipline {
    /// `guarded_by m`
    GuardedBy(&'static str),
    /// `guarded_by m[]`
    GuardedByEach(&'static str),
    /// `thread_local`
    ThreadLocal,
    /// `exclusive x when (e)`
    Exclusive(Expr),
}

/// A function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function {
    /// `int` or `void`.
    pub result: &'static str,
    /// The name.
    pub name: &'static str,
    /// Its only parameter, an `int`, if it has one.
    pub parameter: Option<&'static str>,
    /// The statements.
    pub body: Block,
}

/// Some threads of `run`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Start {
    /// What they run.
    pub function: &'static str,
    /// With which argument.
    pub argument: Option<Expr>,
    /// How many.
    pub count: usize,
}

/// A statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stmt {
    /// An operation, a call, or one of the words that look like one: `assert(e)`.
    Do(Expr),
    /// `place = e`, and compound ones.
    Assign(Expr, &'static str, Expr),
    /// `skip`, `yield`, `break`, `return`, `reach`.
    Word(&'static str),
    /// `return e`
    Return(Expr),
    /// `if`; the second block may be empty.
    If(Expr, Block, Block),
    /// `while`
    While(Expr, Block),
    /// `do ... while`
    DoWhile(Block, Expr),
    /// `for` from 0 to below a bound.
    For(&'static str, i64, Block),
    /// `switch` with a case for 0, 1, ...; the last one is the default.
    Switch(Expr, Vec<Block>),
    /// `atomic { ... }`
    Atomic(Block),
    /// `choose { ... } or { ... }`
    Choose(Vec<Block>),
    /// A label, a block, and `if (e) goto` that label.
    Retry(u32, Block, Expr),
}

/// An expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expr {
    /// A number.
    Int(i64),
    /// `true`, `false`, `null`, `tid`, and `*` as a condition.
    Word(&'static str),
    /// A variable.
    Name(&'static str),
    /// `a[i]`
    Index(Box<Expr>, Box<Expr>),
    /// `s.f` and `p->f`, with the operator.
    Member(Box<Expr>, &'static str, &'static str),
    /// `!e`, `&x`, `*p`
    Prefix(&'static str, Box<Expr>),
    /// `a + b`
    Infix(Box<Expr>, &'static str, Box<Expr>),
    /// A function or an operation.
    Call(&'static str, Vec<Expr>),
    /// `choose(lo..hi)`
    Choose(i64, i64),
    /// `new T`
    New(&'static str),
    /// `spawn f(e)`
    Spawn(&'static str, Vec<Expr>),
}

impl Expr {
    /// Calls `visit` for the expression and all of its parts.
    pub fn visit(&self, visit: &mut dyn FnMut(&Self)) {
        visit(self);
        match self {
            Self::Int(_) | Self::Word(_) | Self::Name(_) | Self::Choose(..) | Self::New(_) => {}
            Self::Member(inner, ..) | Self::Prefix(_, inner) => inner.visit(visit),
            Self::Index(left, right) | Self::Infix(left, _, right) => {
                left.visit(visit);
                right.visit(visit);
            }
            Self::Call(_, arguments) | Self::Spawn(_, arguments) => {
                for argument in arguments {
                    argument.visit(visit);
                }
            }
        }
    }
}

impl Stmt {
    /// Calls `visit` for every expression in the statement.
    pub fn visit(&self, visit: &mut dyn FnMut(&Expr)) {
        let (expressions, blocks) = self.parts();
        for expr in expressions {
            expr.visit(visit);
        }
        for block in blocks {
            for stmt in block {
                stmt.visit(visit);
            }
        }
    }

    /// The expressions and blocks that it is made of.
    fn parts(&self) -> (Vec<&Expr>, Vec<&Block>) {
        match self {
            Self::Do(e) | Self::Return(e) => (vec![e], vec![]),
            Self::Assign(place, _, e) => (vec![place, e], vec![]),
            Self::Word(_) => (vec![], vec![]),
            Self::If(e, yes, no) => (vec![e], vec![yes, no]),
            Self::While(e, block) | Self::DoWhile(block, e) | Self::Retry(_, block, e) => {
                (vec![e], vec![block])
            }
            Self::For(_, _, block) | Self::Atomic(block) => (vec![], vec![block]),
            Self::Switch(e, blocks) => (vec![e], blocks.iter().collect()),
            Self::Choose(blocks) => (vec![], blocks.iter().collect()),
        }
    }
}

/// Shorthands for the generator.
pub mod make {
    use super::{Expr, Stmt};

    /// A number.
    #[must_use]
    pub fn int(value: i64) -> Expr {
        Expr::Int(value)
    }

    /// A variable.
    #[must_use]
    pub fn name(name: &'static str) -> Expr {
        Expr::Name(name)
    }

    /// A word that is an expression.
    #[must_use]
    pub fn word(word: &'static str) -> Expr {
        Expr::Word(word)
    }

    /// Two operands.
    #[must_use]
    pub fn infix(left: Expr, operator: &'static str, right: Expr) -> Expr {
        Expr::Infix(left.into(), operator, right.into())
    }

    /// One operand.
    #[must_use]
    pub fn prefix(operator: &'static str, operand: Expr) -> Expr {
        Expr::Prefix(operator, operand.into())
    }

    /// An element of an array.
    #[must_use]
    pub fn index(array: &'static str, position: Expr) -> Expr {
        Expr::Index(name(array).into(), position.into())
    }

    /// A field.
    #[must_use]
    pub fn member(of: Expr, operator: &'static str, field: &'static str) -> Expr {
        Expr::Member(of.into(), operator, field)
    }

    /// A call or an operation.
    #[must_use]
    pub fn call(what: &'static str, arguments: impl Into<Vec<Expr>>) -> Expr {
        Expr::Call(what, arguments.into())
    }

    /// A call as a statement.
    #[must_use]
    pub fn perform(what: &'static str, arguments: impl Into<Vec<Expr>>) -> Stmt {
        Stmt::Do(call(what, arguments))
    }

    /// An assignment.
    #[must_use]
    pub fn assign(place: Expr, value: Expr) -> Stmt {
        Stmt::Assign(place, "=", value)
    }
}
