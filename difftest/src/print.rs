//! Programs as text.

use std::collections::BTreeSet;
use std::fmt::{self, Write};

use crate::BY_STATEMENTS;
use crate::syntax::{Discipline, Expr, Function, Global, Program, Stmt};

/// The local variables that a function may use; those that it does use are declared, and
/// set, at its beginning.
pub(crate) const LOCALS: [(&str, &str); 10] = [
    ("r", "int r = 0"),
    ("s", "int s = 0"),
    ("b", "bool b = false"),
    ("n", "Node* n = null"),
    ("q", "int* q = null"),
    ("o", "Box* o = null"),
    ("d", "int* d = null"),
    ("t", "thread t = null"),
    ("u", "thread u = null"),
    ("a", "int a[2]"),
];

/// The structs that a program may use.
const STRUCTS: [(&str, &str); 4] = [
    (
        "Account",
        "struct Account { mutex guard; int balance guarded_by guard; };",
    ),
    ("Pair", "struct Pair { int a; int b; };"),
    (
        "Box",
        "struct Box { int data; int kept guarded_by m; Box* next; mutex m; reentrant mutex rm; rwlock l; cond c; semaphore sem; chan<int, 2> ch; chan<int> meet; int* row; bool flag; };",
    ),
    (
        "Node",
        "struct Node { int value; Node* next; mutex guard; };",
    ),
];

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let used = self.used();
        let mut text = String::new();
        if self.by_statements {
            writeln!(text, "{BY_STATEMENTS}")?;
        }
        let mut exclusives = String::new();
        for global in self.globals.iter().filter(|g| used.contains(g.name)) {
            write!(text, "{} {}{}", global.ty, global.name, global.dimension)?;
            match &global.discipline {
                Some(Discipline::GuardedBy(lock)) => write!(text, " guarded_by {lock}")?,
                Some(Discipline::GuardedByEach(lock)) => write!(text, " guarded_by {lock}[]")?,
                Some(Discipline::ThreadLocal) => text.push_str(" thread_local"),
                Some(Discipline::Exclusive(condition)) => {
                    writeln!(exclusives, "exclusive {} when ({condition});", global.name)?;
                }
                None => {}
            }
            if let Some(initial) = &global.initial {
                write!(text, " = {initial}")?;
            }
            text.push_str(";\n");
        }
        text.push_str(&exclusives);
        for invariant in &self.invariants {
            writeln!(text, "invariant {invariant};")?;
        }
        for function in self.functions.iter().filter(|f| used.contains(f.name)) {
            write_function(&mut text, function)?;
        }
        for (index, start) in self.starts.iter().enumerate() {
            text.push_str(if index == 0 { "\nrun " } else { " || " });
            write!(text, "{}(", start.function)?;
            if let Some(argument) = &start.argument {
                write!(text, "{argument}")?;
            }
            text.push(')');
            if start.count != 1 {
                write!(text, "[{}]", start.count)?;
            }
        }
        if !self.starts.is_empty() {
            text.push_str(";\n");
        }
        for (name, declaration) in STRUCTS {
            if text.contains(name) {
                writeln!(f, "{declaration}")?;
            }
        }
        f.write_str(&text)
    }
}

impl Program {
    /// The names of the globals and functions that the program needs.
    fn used(&self) -> BTreeSet<&'static str> {
        let mut used: BTreeSet<_> = self.starts.iter().map(|start| start.function).collect();
        if self.starts.is_empty() {
            used.insert("main");
        }
        for invariant in &self.invariants {
            invariant.visit(&mut |expr| names(expr, &mut used));
        }
        loop {
            let before = used.len();
            for function in &self.functions {
                if used.contains(function.name) {
                    for stmt in &function.body {
                        stmt.visit(&mut |expr| names(expr, &mut used));
                    }
                }
            }
            for global in &self.globals {
                if !used.contains(global.name) && !global.is_claimed_by_any(&used) {
                    continue;
                }
                used.insert(global.name);
                if let Some(initial) = &global.initial {
                    initial.visit(&mut |expr| names(expr, &mut used));
                }
                match &global.discipline {
                    Some(Discipline::GuardedBy(lock) | Discipline::GuardedByEach(lock)) => {
                        used.insert(lock);
                    }
                    Some(Discipline::Exclusive(condition)) => {
                        condition.visit(&mut |expr| names(expr, &mut used));
                    }
                    Some(Discipline::ThreadLocal) | None => {}
                }
            }
            if used.len() == before {
                return used;
            }
        }
    }
}

impl Global {
    /// Whether who has exclusive access depends on something that the program uses. Then to
    /// change it can break the discipline, though nobody accesses the variable.
    fn is_claimed_by_any(&self, used: &BTreeSet<&'static str>) -> bool {
        let Some(Discipline::Exclusive(condition)) = &self.discipline else {
            return false;
        };
        let mut read = BTreeSet::new();
        condition.visit(&mut |expr| names(expr, &mut read));
        !read.is_disjoint(used)
    }
}

fn names(expr: &Expr, used: &mut BTreeSet<&'static str>) {
    if let Expr::Name(name) | Expr::Call(name, _) | Expr::Spawn(name, _) = expr {
        used.insert(name);
    }
}

fn write_function(text: &mut String, function: &Function) -> fmt::Result {
    let mut used = BTreeSet::new();
    for stmt in &function.body {
        stmt.visit(&mut |expr| names(expr, &mut used));
    }
    let parameter = function.parameter.map(|name| format!("int {name}"));
    writeln!(
        text,
        "\n{} {}({}) {{",
        function.result,
        function.name,
        parameter.unwrap_or_default()
    )?;
    for (name, declaration) in LOCALS {
        if used.contains(name) {
            writeln!(text, "    {declaration};")?;
        }
    }
    write_block(text, &function.body, 1)?;
    text.push_str("}\n");
    Ok(())
}

fn write_block(text: &mut String, block: &[Stmt], depth: usize) -> fmt::Result {
    block
        .iter()
        .try_for_each(|stmt| write_stmt(text, stmt, depth))
}

fn write_stmt(text: &mut String, stmt: &Stmt, depth: usize) -> fmt::Result {
    let indent = "    ".repeat(depth);
    let closed = |text: &mut String, block: &[Stmt]| {
        write_block(text, block, depth + 1)?;
        write!(text, "{indent}}}")
    };
    text.push_str(&indent);
    match stmt {
        Stmt::Do(Expr::Call(what, arguments)) => write!(text, "{what}({});", List(arguments))?,
        Stmt::Do(e) => write!(text, "{e};")?,
        Stmt::Assign(place, operator, e) => write!(text, "{place} {operator} {};", Bare(e))?,
        Stmt::Word(word) => write!(text, "{word};")?,
        Stmt::Return(e) => write!(text, "return {};", Bare(e))?,
        Stmt::If(e, yes, no) => {
            writeln!(text, "if ({}) {{", Bare(e))?;
            closed(text, yes)?;
            if !no.is_empty() {
                text.push_str(" else {\n");
                closed(text, no)?;
            }
        }
        Stmt::While(e, block) => {
            writeln!(text, "while ({}) {{", Bare(e))?;
            closed(text, block)?;
        }
        Stmt::DoWhile(block, e) => {
            text.push_str("do {\n");
            closed(text, block)?;
            write!(text, " while ({});", Bare(e))?;
        }
        Stmt::For(i, bound, block) => {
            writeln!(text, "for (int {i} = 0; {i} < {bound}; {i}++) {{")?;
            closed(text, block)?;
        }
        Stmt::Switch(e, blocks) => {
            writeln!(text, "switch ({}) {{", Bare(e))?;
            for (case, block) in blocks.iter().enumerate() {
                if case + 1 == blocks.len() {
                    writeln!(text, "{indent}    default:")?;
                } else {
                    writeln!(text, "{indent}    case {case}:")?;
                }
                write_block(text, block, depth + 2)?;
                writeln!(text, "{indent}        break;")?;
            }
            write!(text, "{indent}}}")?;
        }
        Stmt::Atomic(block) => {
            text.push_str("atomic {\n");
            closed(text, block)?;
        }
        Stmt::Choose(blocks) => {
            for (index, block) in blocks.iter().enumerate() {
                text.push_str(if index == 0 { "choose {\n" } else { " or {\n" });
                closed(text, block)?;
            }
        }
        Stmt::Retry(label, block, e) => {
            writeln!(text, "again{label}: {{")?;
            closed(text, block)?;
            write!(text, "\n{indent}if ({}) goto again{label};", Bare(e))?;
        }
    }
    text.push('\n');
    Ok(())
}

/// Infix expressions are in parentheses, so that no table of precedences is needed.
impl fmt::Display for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Int(value) => write!(f, "{value}"),
            Self::Word(word) => f.write_str(word),
            Self::Name(name) => f.write_str(name),
            Self::Index(array, index) => write!(f, "{array}[{}]", Bare(index)),
            Self::Member(of, operator, field) => write!(f, "{of}{operator}{field}"),
            Self::Prefix(operator, operand) => write!(f, "{operator}{operand}"),
            Self::Infix(..) => write!(f, "({})", Bare(self)),
            Self::Call(what, arguments) => write!(f, "{what}({})", List(arguments)),
            Self::Choose(low, high) => write!(f, "choose({low}..{high})"),
            Self::New(ty) => write!(f, "new {ty}"),
            Self::Spawn(function, arguments) => write!(f, "spawn {function}({})", List(arguments)),
        }
    }
}

/// An expression without parentheses around it.
struct Bare<'e>(&'e Expr);

impl fmt::Display for Bare<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Expr::Infix(left, operator, right) => write!(f, "{left} {operator} {right}"),
            other => other.fmt(f),
        }
    }
}

/// Arguments.
struct List<'e>(&'e [Expr]);

impl fmt::Display for List<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, argument) in self.0.iter().enumerate() {
            f.write_str(if index == 0 { "" } else { ", " })?;
            Bare(argument).fmt(f)?;
        }
        Ok(())
    }
}
