//! The static checks: from the syntax tree to a [typed program](crate::hir).
//!
//! Every problem is reported, not only the first one: whatever is wrong gets the
//! type [`Type::Error`], with which everything agrees, so that one mistake makes one
//! message.

pub mod constants;
mod disciplines;
mod expressions;
mod flow;
mod initialisers;
mod items;
mod operations;
mod orders;
mod places;
mod statements;
mod suggest;
mod types;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::ast;
use crate::diagnostic::{Diagnostic, Severity};
use crate::hir::{
    EnumId, Field, FunctionId, GlobalId, LabelId, Local, LocalId, Program, StructId, Type, Value,
};
use crate::span::Span;

/// The most slots that all global variables may take together.
pub const MAX_GLOBAL_SLOTS: u32 = 65_535;
/// The most threads that `run` may start.
pub const MAX_STARTS: usize = 1_024;
/// How many problems are reported one by one.
const MAX_DIAGNOSTICS: usize = 50;
/// How many definitions (constants, structs) may lean on one another in a row. They are
/// resolved recursively, so that without a limit a hostile text could exhaust the stack.
const MAX_DEFINITION_DEPTH: u32 = 200;
/// How many arrays and structs may be inside one another: everything that walks over
/// a type, here and in later stages, recurses that deep.
pub const MAX_TYPE_NESTING: u32 = 200;
/// The most parameters of a function, and the most values of a message. Every call and every variable
/// of a type takes as long as there are.
pub const MAX_PARAMETERS: usize = 255;

/// Checks a program. Without errors among the diagnostics, there is a program.
#[must_use]
pub fn check(tree: &ast::Program) -> (Option<Program>, Vec<Diagnostic>) {
    let mut checker = Checker::default();
    checker.items(tree);
    let mut diagnostics = checker.diagnostics;
    diagnostics.sort_by_key(|diagnostic| (diagnostic.span, diagnostic.severity));
    if checker.unreported > 0 {
        let last = diagnostics
            .last()
            .map_or_else(Span::default, |last| last.span);
        let message = format!("and there are {} more errors", checker.unreported);
        diagnostics.push(Diagnostic::error(last, message).help("mend the first ones first"));
    }
    let sound = diagnostics
        .iter()
        .all(|diagnostic| diagnostic.severity < Severity::Error);
    (sound.then_some(checker.program), diagnostics)
}

/// What a name at top level stands for.
#[derive(Clone, Copy)]
enum Meaning {
    /// An index into the constants.
    Constant(usize),
    EnumValue(EnumId, i64),
    Global(GlobalId),
    Function(FunctionId),
}

/// What a type name stands for.
#[derive(Clone, Copy)]
enum TypeMeaning {
    Enum(EnumId),
    Struct(StructId),
}

/// How far a constant has been evaluated: constants may be declared in any order.
enum ConstantState<'a> {
    Waiting(&'a ast::Const),
    InProgress,
    Done(Type, Value),
}

/// What an expression may contain, depending on where it is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Context {
    /// Constant expressions: array lengths, initialisers of globals, ...
    Constant,
    /// Arguments of `run`: constant but for `tid`.
    Start,
    /// Invariants: globals, but no effects.
    Invariant,
    /// `exclusive ... when`: globals, `tid` and the index names.
    Discipline,
    /// The body of a function.
    Body,
}

#[derive(Default)]
struct Checker<'a> {
    program: Program,
    diagnostics: Vec<Diagnostic>,
    names: HashMap<&'a str, (Meaning, Span)>,
    type_names: HashMap<&'a str, (TypeMeaning, Span)>,
    constants: Vec<ConstantState<'a>>,
    signatures: Vec<Signature>,
    body: Body<'a>,
    definition_depth: u32,
    /// The fields of every struct, by name.
    fields: Vec<HashMap<&'a str, usize>>,
    /// The slots that `exclusive` declarations are about.
    exclusive_slots: HashSet<u32>,
    /// The last type of a declaration, and what it means.
    last_type: Option<(&'a Arc<ast::Type>, Type)>,
    /// Whether it has been said that types nest too deeply.
    told_too_deep: bool,
    /// Errors beyond those that are reported.
    unreported: usize,
}

/// The head of a function, known before its body is.
#[derive(Clone)]
struct Signature {
    parameters: Vec<Type>,
    result: Type,
    span: Span,
}

/// What is known while a function body (or another expression) is checked.
struct Body<'a> {
    context: Context,
    result: Type,
    locals: Vec<Local>,
    scopes: Vec<HashMap<&'a str, LocalId>>,
    labels: HashMap<&'a str, Label>,
    /// How many loops, and loops or switches, are around.
    loops: u32,
    breakable: u32,
    /// The atomic blocks around, outermost first.
    atomics: Vec<u32>,
    atomic_count: u32,
}

struct Label {
    id: LabelId,
    span: Span,
    /// The atomic blocks around the label.
    atomics: Vec<u32>,
}

impl Default for Body<'_> {
    fn default() -> Self {
        Self::new(Context::Constant)
    }
}

impl Body<'_> {
    fn new(context: Context) -> Self {
        Self {
            context,
            result: Type::Void,
            locals: Vec::new(),
            scopes: vec![HashMap::new()],
            labels: HashMap::new(),
            loops: 0,
            breakable: 0,
            atomics: Vec::new(),
            atomic_count: 0,
        }
    }
}

impl<'a> Checker<'a> {
    fn report(&mut self, diagnostic: Diagnostic) {
        if self.diagnostics.len() < MAX_DIAGNOSTICS {
            self.diagnostics.push(diagnostic);
        } else if diagnostic.severity == Severity::Error {
            self.unreported += 1;
        }
    }

    /// Reports an error that takes time to put into words, if there is room for it.
    fn report_with(&mut self, error: impl FnOnce(&Self) -> Diagnostic) {
        if self.diagnostics.len() < MAX_DIAGNOSTICS {
            let error = error(self);
            self.report(error);
        } else {
            self.unreported += 1;
        }
    }

    /// The field of a struct with that name.
    fn field_named(&self, StructId(id): StructId, name: &str) -> Option<&Field> {
        let position = *self.fields.get(id as usize)?.get(name)?;
        self.program.structs[id as usize].fields.get(position)
    }

    fn type_name(&self, ty: &Type) -> String {
        self.program.type_name(ty)
    }

    /// A type with its article: "an `int`", "a `mutex`".
    fn a_type(&self, ty: &Type) -> String {
        let name = self.type_name(ty);
        let vowel = name.starts_with(['a', 'e', 'i', 'o', 'A', 'E', 'I', 'O']);
        let article = if vowel || name == "rwlock" { "an" } else { "a" };
        format!("{article} `{name}`")
    }

    /// Runs `work` for a definition that another one needs; `None` if too many are
    /// nested by now.
    fn define_nested<T>(&mut self, span: Span, work: impl FnOnce(&mut Self) -> T) -> Option<T> {
        if self.definition_depth == MAX_DEFINITION_DEPTH {
            self.report(
                Diagnostic::error(span, "too many definitions depend on one another")
                    .help(format!("at most {MAX_DEFINITION_DEPTH} in a row")),
            );
            return None;
        }
        self.definition_depth += 1;
        let result = work(self);
        self.definition_depth -= 1;
        Some(result)
    }

    /// Runs `work` in a context of its own; gives back its locals too.
    fn in_context<T>(
        &mut self,
        context: Context,
        work: impl FnOnce(&mut Self) -> T,
    ) -> (T, Vec<Local>) {
        let outer = std::mem::replace(&mut self.body, Body::new(context));
        let result = work(self);
        let inner = std::mem::replace(&mut self.body, outer);
        (result, inner.locals)
    }

    /// Brings a local variable into the current scope.
    fn declare_local(&mut self, name: &'a ast::Name, ty: Type) -> LocalId {
        let id = LocalId(self.body.locals.len() as u32);
        let scope = self
            .body
            .scopes
            .last_mut()
            .expect("there is always a scope");
        if let Some(earlier) = scope.insert(&name.text, id) {
            let span = self.body.locals[earlier.0 as usize].span;
            self.report(
                Diagnostic::error(name.span, format!("`{}` is declared twice", name.text))
                    .label("declared again here")
                    .related(span, "first declared here")
                    .help("give one of the two another name"),
            );
        }
        self.body.locals.push(Local {
            name: name.text.clone(),
            ty,
            span: name.span,
        });
        id
    }

    fn scoped<T>(&mut self, work: impl FnOnce(&mut Self) -> T) -> T {
        self.body.scopes.push(HashMap::new());
        let result = work(self);
        self.body.scopes.pop();
        result
    }

    fn find_local(&self, name: &str) -> Option<LocalId> {
        self.body
            .scopes
            .iter()
            .rev()
            .find_map(|scope| scope.get(name).copied())
    }
}
