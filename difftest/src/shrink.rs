//! Making a program smaller while it keeps a property.
//!
//! All programs that are one change smaller are tried, until none of them has the
//! property. Most changes make programs that do not compile, or mean something else;
//! the predicate sorts them out.

use crate::syntax::{Block, Expr, Global, Program, Start, Stmt};

/// The smallest program that repeated changes find for which the predicate holds, as it does
/// for the given one. The predicate may be asked about texts that do not compile.
pub fn shrink(program: &Program, mut holds: impl FnMut(&Program) -> bool) -> Program {
    let mut smallest = program.clone();
    loop {
        let mut progress = false;
        let mut number = 0;
        while let Some(smaller) = programs(&smallest).into_iter().nth(number) {
            if smaller.to_string() != smallest.to_string() && holds(&smaller) {
                smallest = smaller;
                progress = true;
                // What is at this number now has not been tried.
            } else {
                number += 1;
            }
        }
        if !progress {
            return smallest;
        }
    }
}

/// All programs that are one change smaller, the greatest changes first.
fn programs(program: &Program) -> Vec<Program> {
    let mut smaller = Vec::new();
    let mut change = |edit: &mut dyn FnMut(&mut Program)| {
        let mut changed = program.clone();
        edit(&mut changed);
        smaller.push(changed);
    };
    for index in 0..program.starts.len() {
        if program.starts.len() > 1 {
            change(&mut |p| drop(p.starts.remove(index)));
        }
        for start in starts(&program.starts[index]) {
            change(&mut |p| p.starts[index] = start.clone());
        }
    }
    if program.by_statements {
        change(&mut |p| p.by_statements = false);
    }
    for index in 0..program.invariants.len() {
        change(&mut |p| drop(p.invariants.remove(index)));
        for invariant in expressions(&program.invariants[index]) {
            change(&mut |p| p.invariants[index] = invariant.clone());
        }
    }
    for (index, function) in program.functions.iter().enumerate() {
        for body in blocks(&function.body) {
            change(&mut |p| p.functions[index].body.clone_from(&body));
        }
        if function.parameter.is_some() {
            change(&mut |p| remove_parameter(p, function.name));
        }
    }
    for (index, global) in program.globals.iter().enumerate() {
        for global in globals(global) {
            change(&mut |p| p.globals[index] = global.clone());
        }
    }
    smaller
}

fn starts(start: &Start) -> Vec<Start> {
    let mut smaller = Vec::new();
    if start.count > 1 {
        let count = start.count - 1;
        smaller.push(Start {
            count,
            ..start.clone()
        });
    }
    for argument in start.argument.iter().flat_map(expressions) {
        smaller.push(Start {
            argument: Some(argument),
            ..start.clone()
        });
    }
    smaller
}

fn globals(global: &Global) -> Vec<Global> {
    let mut smaller = Vec::new();
    if global.discipline.is_some() {
        smaller.push(Global {
            discipline: None,
            ..global.clone()
        });
    }
    if global.initial.is_some() {
        smaller.push(Global {
            initial: None,
            ..global.clone()
        });
    }
    if matches!(global.ty, "atomic int" | "u8" | "int<0..3>") {
        smaller.push(Global {
            ty: "int",
            ..global.clone()
        });
    }
    if global.ty == "reentrant mutex" {
        smaller.push(Global {
            ty: "mutex",
            ..global.clone()
        });
    }
    smaller
}

/// Takes the parameter from a function, and the argument from whoever starts it or calls it.
fn remove_parameter(program: &mut Program, name: &str) {
    for function in &mut program.functions {
        if function.name == name {
            function.parameter = None;
        }
        for stmt in &mut function.body {
            remove_arguments(stmt, name);
        }
    }
    for start in &mut program.starts {
        if start.function == name {
            start.argument = None;
        }
    }
}

fn remove_arguments(stmt: &mut Stmt, name: &str) {
    let remove = |expr: &mut Expr| {
        if let Expr::Call(function, arguments) | Expr::Spawn(function, arguments) = expr
            && *function == name
        {
            arguments.clear();
        }
    };
    match stmt {
        Stmt::Do(e) | Stmt::Assign(_, _, e) => remove(e),
        Stmt::Word(_) | Stmt::Return(_) => {}
        Stmt::If(_, yes, no) => yes
            .iter_mut()
            .chain(no)
            .for_each(|stmt| remove_arguments(stmt, name)),
        Stmt::While(_, block)
        | Stmt::DoWhile(block, _)
        | Stmt::For(_, _, block)
        | Stmt::Atomic(block)
        | Stmt::Retry(_, block, _) => block
            .iter_mut()
            .for_each(|stmt| remove_arguments(stmt, name)),
        Stmt::Switch(_, blocks) | Stmt::Choose(blocks) => blocks
            .iter_mut()
            .flatten()
            .for_each(|stmt| remove_arguments(stmt, name)),
    }
}

fn blocks(block: &Block) -> Vec<Block> {
    let mut smaller = Vec::new();
    if block.len() > 2 {
        smaller.push(block[block.len() / 2..].to_vec());
        smaller.push(block[..block.len() / 2].to_vec());
    }
    for index in 0..block.len() {
        let with = |instead: Block| {
            let mut changed = block.clone();
            changed.splice(index..=index, instead);
            changed
        };
        smaller.push(with(Block::new()));
        smaller.extend(statements(&block[index]).into_iter().map(with));
        // A lock and its unlock go together.
        for other in index + 1..block.len() {
            let mut changed = block.clone();
            changed.remove(other);
            changed.remove(index);
            smaller.push(changed);
        }
    }
    smaller
}

/// What a statement can be replaced by.
fn statements(stmt: &Stmt) -> Vec<Block> {
    let mut smaller: Vec<Block> = Vec::new();
    match stmt {
        Stmt::Word(_) => {}
        Stmt::Do(e) => {
            // One step that does nothing may be all that matters.
            smaller.push(vec![Stmt::Word("yield")]);
            each(expressions(e), &mut smaller, Stmt::Do);
        }
        Stmt::Return(e) => each(expressions(e), &mut smaller, Stmt::Return),
        Stmt::Assign(place, operator, e) => {
            each(expressions(e), &mut smaller, |e| {
                Stmt::Assign(place.clone(), operator, e)
            });
            each(expressions(place), &mut smaller, |place| {
                Stmt::Assign(place, operator, e.clone())
            });
            if *operator != "=" {
                smaller.push(vec![Stmt::Assign(place.clone(), "=", e.clone())]);
            }
        }
        Stmt::If(e, yes, no) => {
            smaller.push(yes.clone());
            smaller.push(no.clone());
            each(expressions(e), &mut smaller, |e| {
                Stmt::If(e, yes.clone(), no.clone())
            });
            each(blocks(yes), &mut smaller, |yes| {
                Stmt::If(e.clone(), yes, no.clone())
            });
            each(blocks(no), &mut smaller, |no| {
                Stmt::If(e.clone(), yes.clone(), no)
            });
        }
        Stmt::While(e, block) => {
            smaller.push(block.clone());
            smaller.push(vec![Stmt::If(e.clone(), block.clone(), Block::new())]);
            each(expressions(e), &mut smaller, |e| {
                Stmt::While(e, block.clone())
            });
            each(blocks(block), &mut smaller, |block| {
                Stmt::While(e.clone(), block)
            });
        }
        Stmt::DoWhile(block, e) => {
            smaller.push(block.clone());
            smaller.push(vec![Stmt::While(e.clone(), block.clone())]);
            each(blocks(block), &mut smaller, |block| {
                Stmt::DoWhile(block, e.clone())
            });
        }
        Stmt::Retry(_, block, e) => {
            smaller.push(block.clone());
            smaller.push(vec![Stmt::While(e.clone(), block.clone())]);
        }
        Stmt::For(i, bound, block) => {
            smaller.push(block.clone());
            if *bound > 1 {
                smaller.push(vec![Stmt::For(i, bound / 2, block.clone())]);
                smaller.push(vec![Stmt::For(i, bound - 1, block.clone())]);
            }
            each(blocks(block), &mut smaller, |block| {
                Stmt::For(i, *bound, block)
            });
        }
        Stmt::Atomic(block) => {
            smaller.push(block.clone());
            each(blocks(block), &mut smaller, Stmt::Atomic);
        }
        Stmt::Switch(e, cases) => {
            smaller.extend(cases.iter().cloned());
            if let [first, second] = cases.as_slice() {
                let condition = crate::syntax::make::infix(e.clone(), "==", Expr::Int(0));
                smaller.push(vec![Stmt::If(condition, first.clone(), second.clone())]);
            }
        }
        Stmt::Choose(alternatives) => {
            smaller.extend(alternatives.iter().cloned());
            if let [first, second] = alternatives.as_slice() {
                let star = Expr::Word("*");
                smaller.push(vec![Stmt::If(star, first.clone(), second.clone())]);
            }
            for (index, alternative) in alternatives.iter().enumerate() {
                let mut fewer = alternatives.clone();
                fewer.remove(index);
                if fewer.len() > 1 {
                    smaller.push(vec![Stmt::Choose(fewer)]);
                }
                each(blocks(alternative), &mut smaller, |block| {
                    let mut changed = alternatives.clone();
                    changed[index] = block;
                    Stmt::Choose(changed)
                });
            }
        }
    }
    smaller
}

fn each<T>(parts: Vec<T>, smaller: &mut Vec<Block>, with: impl Fn(T) -> Stmt) {
    smaller.extend(parts.into_iter().map(|part| vec![with(part)]));
}

/// What an expression can be replaced by: one of its parts, something constant, or the same with
/// a smaller part.
fn expressions(expr: &Expr) -> Vec<Expr> {
    let mut smaller = match expr {
        Expr::Int(0) | Expr::New(_) => return Vec::new(),
        Expr::Int(value) => return vec![Expr::Int(value / 2)],
        Expr::Word("false") => return vec![Expr::Word("true")],
        Expr::Word(_) => return vec![Expr::Int(0)],
        Expr::Choose(low, high) if high - low > 1 => vec![
            Expr::Choose(*low, low.midpoint(*high)),
            Expr::Choose(*low, high - 1),
            Expr::Choose(low + 1, *high),
        ],
        // Not the places of assignments, nor the objects of operations.
        Expr::Name("z") => return vec![Expr::Name("x"), Expr::Int(0), Expr::Int(1)],
        _ => vec![Expr::Int(0), Expr::Int(1), Expr::Word("false")],
    };
    match expr {
        Expr::Index(array, index) => smaller.extend(
            expressions(index)
                .into_iter()
                .map(|index| Expr::Index(array.clone(), index.into())),
        ),
        Expr::Prefix(operator, operand) => {
            smaller.push((**operand).clone());
            smaller.extend(
                expressions(operand)
                    .into_iter()
                    .map(|operand| Expr::Prefix(operator, operand.into())),
            );
        }
        Expr::Infix(left, operator, right) => {
            smaller.extend([(**left).clone(), (**right).clone()]);
            let lefts = expressions(left).into_iter();
            smaller.extend(lefts.map(|left| Expr::Infix(left.into(), operator, right.clone())));
            let rights = expressions(right).into_iter();
            smaller.extend(rights.map(|right| Expr::Infix(left.clone(), operator, right.into())));
        }
        Expr::Call(what, arguments) | Expr::Spawn(what, arguments) => {
            for (index, argument) in arguments.iter().enumerate() {
                for argument in expressions(argument) {
                    let mut changed = arguments.clone();
                    changed[index] = argument;
                    smaller.push(match expr {
                        Expr::Call(..) => Expr::Call(what, changed),
                        _ => Expr::Spawn(what, changed),
                    });
                }
            }
        }
        _ => {}
    }
    smaller
}
