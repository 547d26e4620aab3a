//! Where control can go: code that is never reached, functions that end without a
//! result, and operations of two steps inside atomic blocks.

use super::Checker;
use crate::diagnostic::Diagnostic;
use crate::hir::{
    Expr, ExprKind, Function, OperationKind, Place, PlaceBase, Projection, Statement,
    StatementKind, Type, Value,
};
use crate::span::Span;

impl Checker<'_> {
    pub(super) fn flow(&mut self) {
        let functions = std::mem::take(&mut self.program.functions);
        for function in &functions {
            self.reachability(function);
        }
        let suspends = suspending(&functions);
        for function in &functions {
            for statement in &function.body {
                self.atomic_blocks(statement, &suspends, false);
            }
        }
        self.program.functions = functions;
    }

    fn reachability(&mut self, function: &Function) {
        let mut flow = Flow {
            targets: vec![false; function.labels as usize],
            unreachable: None,
        };
        // A label counts as reached if some reachable `goto` goes there; reaching it may
        // reveal more of those, so this is repeated until nothing changes. In a maze of
        // jumps that needs many rounds, all labels count as reached.
        const ROUNDS: usize = 50;
        let mut round = 0;
        let falls_through = loop {
            if round == ROUNDS {
                flow.targets.fill(true);
            }
            round += 1;
            let before = flow.targets.clone();
            flow.unreachable = None;
            let end = flow.statements(&function.body, true);
            if flow.targets == before {
                break end.next;
            }
        };
        if let Some(span) = flow.unreachable {
            self.report(
                Diagnostic::warning(span, "this code is never reached").label("no path leads here"),
            );
        }
        if falls_through && !matches!(function.result, Type::Void | Type::Error) {
            let name = self.a_type(&function.result);
            self.report(
                Diagnostic::error(
                    function.end,
                    format!("`{}` can end without a result", function.name),
                )
                .label("control can get here")
                .related(function.span, format!("it must return {name}"))
                .help("end every path with `return ...;`"),
            );
        }
    }

    fn atomic_blocks(&mut self, statement: &Statement, suspends: &[bool], inside: bool) {
        let inside_now = inside || matches!(statement.kind, StatementKind::Atomic(_));
        if inside_now {
            visit_own_expressions(statement, &mut |expr| {
                if let Some(what) = suspension(expr, suspends) {
                    self.report(
                        Diagnostic::error(expr.span, format!("{what} in an atomic block"))
                            .label("this takes two steps, and other threads run between them")
                            .help("move it out of the block"),
                    );
                }
            });
        }
        visit_children(statement, &mut |child| {
            self.atomic_blocks(child, suspends, inside_now);
        });
    }
}

/// What makes an expression take two steps.
fn suspension(expr: &Expr, suspends: &[bool]) -> Option<&'static str> {
    match &expr.kind {
        ExprKind::Operation(operation) => match operation.kind {
            OperationKind::Wait => Some("`wait`"),
            OperationKind::Send => match operation.places[0].ty {
                Type::Channel(_, 0) => Some("`send` on a rendezvous"),
                _ => None,
            },
            _ => None,
        },
        ExprKind::Call(function, _) if suspends[function.0 as usize] => {
            Some("a call of a function that waits")
        }
        _ => None,
    }
}

/// Which functions contain an operation of two steps, directly or by a call.
fn suspending(functions: &[Function]) -> Vec<bool> {
    let nobody = vec![false; functions.len()];
    let mut suspends = nobody.clone();
    let mut callers: Vec<Vec<usize>> = vec![Vec::new(); functions.len()];
    for (index, function) in functions.iter().enumerate() {
        for statement in &function.body {
            visit_expressions(statement, &mut |expr| {
                suspends[index] |= suspension(expr, &nobody).is_some();
                if let ExprKind::Call(callee, _) = expr.kind {
                    callers[callee.0 as usize].push(index);
                }
            });
        }
    }
    let mut pending: Vec<usize> = (0..functions.len()).filter(|f| suspends[*f]).collect();
    while let Some(function) = pending.pop() {
        for &caller in &callers[function] {
            if !std::mem::replace(&mut suspends[caller], true) {
                pending.push(caller);
            }
        }
    }
    suspends
}

/// Where control can go from a statement.
#[derive(Clone, Copy, Default)]
struct Exits {
    /// To the next statement.
    next: bool,
    /// Out of the loop or switch around.
    breaks: bool,
}

struct Flow {
    /// Which labels are the target of a reachable `goto`.
    targets: Vec<bool>,
    unreachable: Option<Span>,
}

impl Flow {
    fn statements(&mut self, statements: &[Statement], mut reachable: bool) -> Exits {
        let mut breaks = false;
        let mut reported = false;
        for statement in statements {
            if let StatementKind::Label(label) = statement.kind {
                reachable |= self.targets[label.0 as usize];
            }
            let silent = matches!(
                statement.kind,
                StatementKind::Label(_) | StatementKind::Declare { .. }
            );
            if !reachable && !reported && !silent && self.unreachable.is_none() {
                self.unreachable = Some(statement.span);
                reported = true;
            }
            let exits = self.statement(statement, reachable);
            reachable = exits.next;
            breaks |= exits.breaks;
        }
        Exits {
            next: reachable,
            breaks,
        }
    }

    fn statement(&mut self, statement: &Statement, reachable: bool) -> Exits {
        let next = |next| Exits {
            next,
            breaks: false,
        };
        match &statement.kind {
            StatementKind::Block(inner) | StatementKind::Atomic(inner) => {
                self.statements(inner, reachable)
            }
            StatementKind::If {
                condition,
                then,
                otherwise,
            } => {
                let known = known(condition);
                // A branch on a constant is a switch of the author's, not dead code.
                let a = self.quietly(known == Some(false), then, reachable);
                let b = match otherwise {
                    Some(otherwise) => self.quietly(known == Some(true), otherwise, reachable),
                    None => next(reachable && known != Some(true)),
                };
                Exits {
                    next: a.next || b.next,
                    breaks: a.breaks || b.breaks,
                }
            }
            StatementKind::While { condition, body } => {
                let exits = self.statement(body, reachable);
                next(exits.breaks || reachable && known(condition) != Some(true))
            }
            StatementKind::For {
                condition, body, ..
            } => {
                let exits = self.statement(body, reachable);
                let forever = condition.as_ref().is_none_or(|c| known(c) == Some(true));
                next(exits.breaks || reachable && !forever)
            }
            StatementKind::DoWhile { body, condition } => {
                let exits = self.statement(body, reachable);
                // `continue` leads to the condition too, so the body counts as left.
                next(exits.breaks || reachable && known(condition) != Some(true))
            }
            StatementKind::Switch {
                arms,
                default,
                cases,
                ..
            } => {
                let mut fall = false;
                let mut breaks = false;
                let mut entered = vec![false; arms.len()];
                for arm in cases.iter().map(|case| case.1).chain(*default) {
                    entered[arm] = true;
                }
                for (arm, entered) in arms.iter().zip(entered) {
                    let exits = self.statements(arm, fall || reachable && entered);
                    fall = exits.next;
                    breaks |= exits.breaks;
                }
                next(fall || breaks || reachable && default.is_none())
            }
            StatementKind::Choose(blocks) => {
                let mut all = Exits::default();
                for block in blocks {
                    let exits = self.statements(block, reachable);
                    all.next |= exits.next;
                    all.breaks |= exits.breaks;
                }
                all
            }
            StatementKind::Break => Exits {
                next: false,
                breaks: reachable,
            },
            StatementKind::Continue | StatementKind::Return(_) => next(false),
            StatementKind::Goto(label) => {
                self.targets[label.0 as usize] |= reachable;
                next(false)
            }
            _ => next(reachable),
        }
    }

    /// A branch that a constant condition excludes: looked at, but not reported.
    fn quietly(&mut self, excluded: bool, branch: &Statement, reachable: bool) -> Exits {
        if !excluded {
            return self.statement(branch, reachable);
        }
        let before = self.unreachable;
        let exits = self.statement(branch, false);
        self.unreachable = before;
        exits
    }
}

/// The value of a condition that is known before the program runs.
fn known(condition: &Expr) -> Option<bool> {
    match condition.kind {
        ExprKind::Value(Value::Int(value)) => Some(value != 0),
        _ => None,
    }
}

/// Calls `visit` with the statements directly inside a statement.
fn visit_children(statement: &Statement, visit: &mut impl FnMut(&Statement)) {
    match &statement.kind {
        StatementKind::Block(inner) | StatementKind::Atomic(inner) => inner.iter().for_each(visit),
        StatementKind::If {
            then, otherwise, ..
        } => {
            visit(then);
            otherwise.iter().for_each(|otherwise| visit(otherwise));
        }
        StatementKind::While { body, .. } | StatementKind::DoWhile { body, .. } => visit(body),
        StatementKind::For { step, body, .. } => {
            visit(body);
            step.iter().for_each(|step| visit(step));
        }
        StatementKind::Switch { arms: blocks, .. } | StatementKind::Choose(blocks) => {
            blocks.iter().flatten().for_each(visit);
        }
        _ => {}
    }
}

/// Calls `visit` with every expression in a statement and in the statements inside.
fn visit_expressions(statement: &Statement, visit: &mut dyn FnMut(&Expr)) {
    visit_own_expressions(statement, visit);
    visit_children(statement, &mut |child| visit_expressions(child, visit));
}

/// Calls `visit` with every expression of a statement, those of inner statements excluded.
fn visit_own_expressions(statement: &Statement, visit: &mut dyn FnMut(&Expr)) {
    match &statement.kind {
        StatementKind::Declare { init, .. } => {
            for (_, _, value) in init {
                visit_expr(value, visit);
            }
        }
        StatementKind::Assign { place, value, .. } => {
            visit_place(place, visit);
            visit_expr(value, visit);
        }
        StatementKind::Expr(expr)
        | StatementKind::Return(Some(expr))
        | StatementKind::Assert {
            condition: expr, ..
        }
        | StatementKind::Assume(expr)
        | StatementKind::Await(expr)
        | StatementKind::If {
            condition: expr, ..
        }
        | StatementKind::While {
            condition: expr, ..
        }
        | StatementKind::DoWhile {
            condition: expr, ..
        }
        | StatementKind::For {
            condition: Some(expr),
            ..
        }
        | StatementKind::Switch {
            scrutinee: expr, ..
        } => visit_expr(expr, visit),
        _ => {}
    }
}

fn visit_expr(expr: &Expr, visit: &mut dyn FnMut(&Expr)) {
    visit(expr);
    match &expr.kind {
        ExprKind::Value(_) | ExprKind::Tid | ExprKind::Any => {}
        ExprKind::Load(place) | ExprKind::AddressOf(place) | ExprKind::Step { place, .. } => {
            visit_place(place, visit);
        }
        ExprKind::Unary(_, a) | ExprKind::Convert(a) => visit_expr(a, visit),
        ExprKind::Binary(_, a, b) | ExprKind::Choose(a, b) => {
            visit_expr(a, visit);
            visit_expr(b, visit);
        }
        ExprKind::Conditional(a, b, c) => {
            visit_expr(a, visit);
            visit_expr(b, visit);
            visit_expr(c, visit);
        }
        ExprKind::Call(_, arguments) | ExprKind::Spawn(_, arguments) => {
            for argument in arguments {
                visit_expr(argument, visit);
            }
        }
        ExprKind::New(_, count) => count.iter().for_each(|count| visit_expr(count, visit)),
        ExprKind::Operation(operation) => {
            for place in operation.places.iter().chain(&operation.targets) {
                visit_place(place, visit);
            }
            for argument in &operation.arguments {
                visit_expr(argument, visit);
            }
        }
    }
}

fn visit_place(place: &Place, visit: &mut dyn FnMut(&Expr)) {
    if let PlaceBase::Deref(reference) = &place.base {
        visit_expr(reference, visit);
    }
    for projection in &place.path {
        if let Projection::Index { index, .. } | Projection::Offset { index, .. } = projection {
            visit_expr(index, visit);
        }
    }
}
