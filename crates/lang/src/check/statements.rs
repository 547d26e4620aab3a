//! Statements and the bodies of functions.

use std::collections::HashMap;

use super::{Body, Checker, Context, Label};
use crate::ast;
use crate::diagnostic::Diagnostic;
use crate::hir::{
    Expr, ExprKind, Function, Goal, LabelId, Operation, OperationKind, Statement, StatementKind,
    Type, Value,
};
use crate::span::Span;

impl<'a> Checker<'a> {
    /// Checks the body of a function whose signature is known.
    pub(super) fn function_body(&mut self, function: &'a ast::Function, index: usize) {
        let signature = self.signatures[index].clone();
        self.body = Body::new(Context::Body);
        self.body.result = signature.result.clone();
        for (parameter, ty) in function.parameters.iter().zip(&signature.parameters) {
            self.declare_local(&parameter.name, ty.clone());
        }
        self.collect_labels(&function.body.statements, &mut Vec::new());
        self.body.atomic_count = 0;
        let body = self.statements(&function.body.statements);
        let end = Span::new(
            function.body.span.end.saturating_sub(1),
            function.body.span.end,
        );
        let checked = std::mem::take(&mut self.body);
        self.program.functions.push(Function {
            name: function.name.text.clone(),
            result: signature.result,
            parameters: signature.parameters.len(),
            locals: checked.locals,
            labels: checked.labels.len() as u32,
            body,
            span: function.name.span,
            end,
        });
    }

    /// Labels can be used before they appear. Atomic blocks are numbered in the same
    /// order as when they are checked, so that a `goto` into one is recognised.
    fn collect_labels(&mut self, statements: &'a [ast::Statement], atomics: &mut Vec<u32>) {
        for statement in statements {
            self.collect_label(statement, atomics);
        }
    }

    fn collect_label(&mut self, statement: &'a ast::Statement, atomics: &mut Vec<u32>) {
        use ast::StatementKind as Kind;
        match &statement.kind {
            Kind::Label(name, inner) => {
                let id = LabelId(self.body.labels.len() as u32);
                let label = Label {
                    id,
                    span: name.span,
                    atomics: atomics.clone(),
                };
                if let Some(earlier) = self.body.labels.get(name.text.as_str()) {
                    let earlier = earlier.span;
                    self.report(
                        Diagnostic::error(
                            name.span,
                            format!("the label `{}` is there twice", name.text),
                        )
                        .related(earlier, "first here"),
                    );
                } else {
                    self.body.labels.insert(&name.text, label);
                }
                self.collect_label(inner, atomics);
            }
            Kind::Block(block) => self.collect_labels(&block.statements, atomics),
            Kind::If {
                then, otherwise, ..
            } => {
                self.collect_label(then, atomics);
                if let Some(otherwise) = otherwise {
                    self.collect_label(otherwise, atomics);
                }
            }
            Kind::While { body, .. } | Kind::DoWhile { body, .. } | Kind::For { body, .. } => {
                self.collect_label(body, atomics);
            }
            Kind::Switch { arms, .. } => {
                for arm in arms {
                    self.collect_labels(&arm.statements, atomics);
                }
            }
            Kind::Atomic(block) => {
                atomics.push(self.body.atomic_count);
                self.body.atomic_count += 1;
                self.collect_labels(&block.statements, atomics);
                atomics.pop();
            }
            Kind::Choose(blocks) => {
                for block in blocks {
                    self.collect_labels(&block.statements, atomics);
                }
            }
            _ => {}
        }
    }

    fn statements(&mut self, statements: &'a [ast::Statement]) -> Vec<Statement> {
        let mut checked = Vec::new();
        for statement in statements {
            self.statement(statement, &mut checked);
        }
        checked
    }

    fn block(&mut self, statements: &'a [ast::Statement]) -> Vec<Statement> {
        self.scoped(|checker| checker.statements(statements))
    }

    /// One statement as the body of a loop or a branch, in a scope of its own.
    fn nested(&mut self, statement: &'a ast::Statement) -> Box<Statement> {
        let mut inner = Vec::new();
        self.scoped(|checker| checker.statement(statement, &mut inner));
        let only = inner.pop();
        Box::new(match only {
            Some(only) if inner.is_empty() => only,
            only => {
                inner.extend(only);
                Statement {
                    kind: StatementKind::Block(inner),
                    span: statement.span,
                }
            }
        })
    }

    fn loop_body(&mut self, body: &'a ast::Statement) -> Box<Statement> {
        self.body.loops += 1;
        self.body.breakable += 1;
        let body = self.nested(body);
        self.body.loops -= 1;
        self.body.breakable -= 1;
        body
    }

    /// Checks a statement; a declaration of several variables gives several.
    fn statement(&mut self, statement: &'a ast::Statement, out: &mut Vec<Statement>) {
        use ast::StatementKind as Kind;
        let span = statement.span;
        let kind = match &statement.kind {
            Kind::Skip | Kind::Error => return,
            Kind::Yield => StatementKind::Yield,
            Kind::Block(block) => StatementKind::Block(self.block(&block.statements)),
            Kind::Declare(variables) => {
                for variable in variables {
                    // Of several, each is a statement of its own.
                    let span = if variables.len() == 1 {
                        span
                    } else {
                        variable.span
                    };
                    self.local_variable(variable, span, out);
                }
                return;
            }
            Kind::Expr(expr) => StatementKind::Expr(self.effect(expr)),
            Kind::Assign {
                place,
                operator,
                value,
            } => match self.assignment(place, *operator, value) {
                Some(kind) => kind,
                None => return,
            },
            Kind::If {
                condition,
                then,
                otherwise,
            } => StatementKind::If {
                condition: self.condition_of(condition),
                then: self.nested(then),
                otherwise: otherwise.as_ref().map(|otherwise| self.nested(otherwise)),
            },
            Kind::While { condition, body } => StatementKind::While {
                condition: self.condition_of(condition),
                body: self.loop_body(body),
            },
            Kind::DoWhile { body, condition } => StatementKind::DoWhile {
                body: self.loop_body(body),
                condition: self.condition_of(condition),
            },
            Kind::For {
                init,
                condition,
                step,
                body,
            } => self.scoped(|checker| {
                let mut inner = Vec::new();
                if let Some(init) = init {
                    checker.statement(init, &mut inner);
                }
                let condition = condition.as_ref().map(|c| checker.condition_of(c));
                let step = step.as_ref().map(|step| checker.nested(step));
                let body = checker.loop_body(body);
                inner.push(Statement {
                    kind: StatementKind::For {
                        condition,
                        step,
                        body,
                    },
                    span,
                });
                StatementKind::Block(inner)
            }),
            Kind::Switch { scrutinee, arms } => self.switch(scrutinee, arms),
            Kind::Break => {
                self.inside(self.body.breakable, span, "break", "loop or `switch`");
                StatementKind::Break
            }
            Kind::Continue => {
                self.inside(self.body.loops, span, "continue", "loop");
                StatementKind::Continue
            }
            Kind::Return(value) => self.return_value(value.as_ref(), span),
            Kind::Goto(name) => match self.goto(name) {
                Some(label) => StatementKind::Goto(label),
                None => return,
            },
            Kind::Label(name, inner) => {
                let label = self.body.labels[name.text.as_str()].id;
                out.push(Statement {
                    kind: StatementKind::Label(label),
                    span: name.span,
                });
                return self.statement(inner, out);
            }
            Kind::Assert { condition, message } => StatementKind::Assert {
                condition: self.condition_expr(condition),
                message: message.clone(),
            },
            Kind::Assume(condition) => StatementKind::Assume(self.condition_expr(condition)),
            Kind::Await(condition) => StatementKind::Await(self.condition_expr(condition)),
            Kind::Reach(name) => {
                let goal = self.program.goals.len() as u32;
                self.program.goals.push(Goal {
                    name: name.clone(),
                    span,
                });
                StatementKind::Reach(goal)
            }
            Kind::Atomic(block) => {
                self.body.atomics.push(self.body.atomic_count);
                self.body.atomic_count += 1;
                let inner = self.block(&block.statements);
                self.body.atomics.pop();
                StatementKind::Atomic(inner)
            }
            Kind::Choose(blocks) => StatementKind::Choose(
                blocks
                    .iter()
                    .map(|block| self.block(&block.statements))
                    .collect(),
            ),
        };
        out.push(Statement { kind, span });
    }

    fn condition_expr(&mut self, expr: &'a ast::Expr) -> Expr {
        let value = self.expr(expr);
        self.condition(value)
    }

    fn inside(&mut self, depth: u32, span: Span, what: &str, needed: &str) {
        if depth == 0 {
            self.report(Diagnostic::error(
                span,
                format!("this `{what}` is in no {needed}"),
            ));
        }
    }

    /// An expression as a statement: it must do something.
    fn effect(&mut self, expr: &'a ast::Expr) -> Expr {
        let value = self.expr(expr);
        let effective = matches!(
            value.kind,
            ExprKind::Call(..)
                | ExprKind::Spawn(..)
                | ExprKind::Step { .. }
                | ExprKind::Operation(_)
                | ExprKind::Choose(..)
        );
        if !effective && value.ty != Type::Error {
            let mut diagnostic = Diagnostic::error(expr.span, "this value is not used");
            if let ast::ExprKind::Binary(ast::BinaryOp::Equal, ..) = expr.kind {
                diagnostic = diagnostic.help("`==` compares; to store, write `=`");
            }
            self.report(diagnostic);
        }
        if let ExprKind::Operation(operation) = &value.kind
            && let Operation {
                kind: OperationKind::TryLock,
                ..
            } = **operation
        {
            self.report(
                Diagnostic::warning(expr.span, "the result of `try_lock` is not used")
                    .help("whether the lock was taken is not known afterwards"),
            );
        }
        value
    }

    fn assignment(
        &mut self,
        place: &'a ast::Expr,
        operator: Option<ast::BinaryOp>,
        value: &'a ast::Expr,
    ) -> Option<StatementKind> {
        let place = self.place(place);
        let value = self.expr(value);
        let place = place?;
        if !place.ty.is_scalar() {
            let name = self.a_type(&place.ty);
            let diagnostic = Diagnostic::error(place.span, format!("{name} cannot be assigned"));
            self.report(if place.ty.is_synchronisation() {
                diagnostic.help("it has no value; use its operations")
            } else {
                diagnostic.help("arrays and structs are not copied as a whole: assign part by part")
            });
            return None;
        }
        let value = match operator {
            None => self.convert(value, &place.ty),
            Some(_) => {
                let value = self.integer(value, "the right-hand side");
                if !place.ty.is_integer() {
                    let name = self.a_type(&place.ty);
                    self.report(
                        Diagnostic::error(place.span, "only integers can be computed with")
                            .label(format!("this is {name}")),
                    );
                    return None;
                }
                let ty = super::types::promote(&place.ty, &value.ty);
                self.convert(value, &ty)
            }
        };
        Some(StatementKind::Assign {
            place,
            operator,
            value,
        })
    }

    fn return_value(&mut self, value: Option<&'a ast::Expr>, span: Span) -> StatementKind {
        let result = self.body.result.clone();
        match value {
            None if result == Type::Void || result == Type::Error => StatementKind::Return(None),
            None => {
                let name = self.a_type(&result);
                self.report(
                    Diagnostic::error(span, format!("this function returns {name}"))
                        .label("but there is no value here"),
                );
                StatementKind::Return(None)
            }
            Some(value) if result == Type::Void => {
                self.expr(value);
                self.report(
                    Diagnostic::error(value.span, "this function returns nothing")
                        .help("declare the type of its result instead of `void`"),
                );
                StatementKind::Return(None)
            }
            Some(value) => {
                let value = self.expr(value);
                StatementKind::Return(Some(self.convert(value, &result)))
            }
        }
    }

    fn goto(&mut self, name: &'a ast::Name) -> Option<LabelId> {
        let Some(label) = self.body.labels.get(name.text.as_str()) else {
            self.report_with(|checker| {
                let labels = checker.body.labels.keys().copied();
                let diagnostic = Diagnostic::error(
                    name.span,
                    format!("there is no label `{}` in this function", name.text),
                );
                match super::suggest::nearest(&name.text, labels) {
                    Some(near) => diagnostic.help(format!("did you mean `{near}`?")),
                    None => diagnostic,
                }
            });
            return None;
        };
        let (id, span) = (label.id, label.span);
        if !self.body.atomics.starts_with(&label.atomics) {
            self.report(
                Diagnostic::error(name.span, "this `goto` goes into an atomic block")
                    .related(span, "the label is inside")
                    .help("an atomic block can only be entered at its beginning"),
            );
        }
        Some(id)
    }

    fn switch(&mut self, scrutinee: &'a ast::Expr, arms: &'a [ast::Arm]) -> StatementKind {
        let scrutinee = self.expr(scrutinee);
        let switchable = scrutinee.ty.is_integer()
            || matches!(scrutinee.ty, Type::Enum(_) | Type::Bool | Type::Error);
        if !switchable {
            let name = self.a_type(&scrutinee.ty);
            self.report(
                Diagnostic::error(scrutinee.span, "`switch` needs an integer or an enum")
                    .label(format!("this is {name}")),
            );
        }
        let mut cases = Vec::new();
        let mut seen: HashMap<Option<i64>, Span> = HashMap::new();
        let mut default = None;
        for (index, arm) in arms.iter().enumerate() {
            for (value, span) in &arm.labels {
                let value = match value {
                    None => None,
                    Some(expr) => Some(self.case_value(expr, &scrutinee.ty)),
                };
                if let Some(earlier) = seen.insert(value, *span) {
                    self.report(
                        Diagnostic::error(*span, "this case is there twice")
                            .related(earlier, "first here"),
                    );
                }
                match value {
                    None => default = Some(index),
                    Some(value) => cases.push((value, index)),
                }
            }
        }
        self.body.breakable += 1;
        let arms = self.scoped(|checker| {
            arms.iter()
                .map(|arm| checker.statements(&arm.statements))
                .collect()
        });
        self.body.breakable -= 1;
        StatementKind::Switch {
            scrutinee,
            cases,
            default,
            arms,
        }
    }

    fn case_value(&mut self, expr: &'a ast::Expr, scrutinee: &Type) -> i64 {
        let (value, _) = self.in_context(Context::Constant, |checker| {
            let value = checker.expr(expr);
            // Ranges are compared as the integers they are.
            let ty = match scrutinee {
                Type::Range(..) => &Type::INT,
                ty => ty,
            };
            checker.convert(value, ty)
        });
        match self.fold_or_report(&value, 0) {
            Value::Int(value) => value,
            _ => 0,
        }
    }
}
