//! Statements, scopes and jumps.

use raddle_lang::Span;
use raddle_lang::ast::{BinaryOp, Direction, IntType};
use raddle_lang::hir::{Expr, ExprKind, LocalId, Statement, StatementKind, Type, Value};

use super::{Breakable, Compiler, Excess, Goto, MAX_SKIPPED, Scope, Target, collect_defaults};
use crate::op::{Op, Pc, Reg};
use crate::program::{ToldBy, Variable};

impl Compiler<'_> {
    pub(super) fn statements(&mut self, statements: &[Statement]) {
        for statement in statements {
            self.statement(statement);
        }
    }

    fn block(&mut self, statements: &[Statement]) {
        self.enter_scope();
        self.statements(statements);
        self.leave_scope();
    }

    pub(super) fn enter_scope(&mut self) {
        self.frame.scope_count += 1;
        self.frame.scopes.push(Scope {
            id: self.frame.scope_count,
            height: self.frame.height,
            live: self.frame.live.len(),
        });
    }

    pub(super) fn leave_scope(&mut self) {
        let scope = self
            .frame
            .scopes
            .pop()
            .expect("scopes are entered and left in pairs");
        let end = self.pc();
        for variable in self.frame.live.drain(scope.live..) {
            self.frame.variables[variable].to = end;
        }
        self.frame.height = scope.height;
    }

    fn statement(&mut self, statement: &Statement) {
        let span = statement.span;
        match &statement.kind {
            StatementKind::Block(inner) => self.block(inner),
            StatementKind::Label(label) => {
                self.frame.labels[label.0 as usize] = Some(Target {
                    pc: self.pc(),
                    height: self.frame.height,
                    scopes: self.frame.scopes.clone(),
                });
                self.joined_at = Some(self.pc());
            }
            StatementKind::If {
                condition,
                then,
                otherwise,
            } => {
                let skip = self.branch(condition, self.head(span, condition.span));
                self.nested(then);
                if let Some(otherwise) = otherwise {
                    let end = self.jump();
                    self.join([skip]);
                    self.nested(otherwise);
                    self.join([end]);
                } else {
                    self.join([skip]);
                }
            }
            StatementKind::While { condition, body } => {
                let head = self.pc();
                self.joined_at = Some(head);
                let exit = self.branch(condition, self.head(span, condition.span));
                self.begin_loop(true);
                self.nested(body);
                let continues = self.take_continues();
                self.join(continues);
                self.emit(Op::Loop { to: head });
                self.join([exit]);
                self.end_loop();
            }
            StatementKind::DoWhile { body, condition } => {
                let head = self.pc();
                self.joined_at = Some(head);
                self.begin_loop(true);
                self.nested(body);
                let continues = self.take_continues();
                self.join(continues);
                let exit = self.branch(condition, condition.span);
                self.emit(Op::Loop { to: head });
                self.join([exit]);
                self.end_loop();
            }
            StatementKind::For {
                condition,
                step,
                body,
            } => {
                let head = self.pc();
                self.joined_at = Some(head);
                let exit = condition
                    .as_ref()
                    .map(|condition| self.branch(condition, condition.span));
                self.begin_loop(true);
                self.nested(body);
                let continues = self.take_continues();
                self.join(continues);
                if let Some(step) = step {
                    self.nested(step);
                }
                self.emit(Op::Loop { to: head });
                self.join(exit);
                self.end_loop();
            }
            StatementKind::Switch {
                scrutinee,
                cases,
                default,
                arms,
            } => {
                self.begin_statement(scrutinee.span);
                self.switch(scrutinee, cases, *default, arms);
            }
            StatementKind::Atomic(inner) => {
                self.begin_statement(span);
                self.emit(Op::AtomicBegin);
                self.frame.atomic_depth += 1;
                self.block(inner);
                self.frame.atomic_depth -= 1;
                self.at(span, |compiler| compiler.emit(Op::AtomicEnd));
            }
            StatementKind::Choose(blocks) => {
                self.begin_statement(span);
                self.choose(blocks);
            }
            simple => {
                self.begin_statement(span);
                self.simple(simple, span);
                // A statement of local code alone may have emitted nothing.
                self.beginning = false;
            }
        }
    }

    /// Statements without statements inside.
    fn simple(&mut self, kind: &StatementKind, span: Span) {
        let mark = self.frame.height;
        match kind {
            StatementKind::Yield => {
                self.emit(Op::Yield);
            }
            StatementKind::Declare { local, init } => return self.declare(*local, init),
            StatementKind::Expr(expr) => match &expr.kind {
                ExprKind::Step {
                    place, direction, ..
                } => {
                    let by = match direction {
                        Direction::Up => 1,
                        Direction::Down => -1,
                    };
                    let one = Expr {
                        kind: ExprKind::Value(Value::Int(by)),
                        ty: step_type(&place.ty),
                        span,
                    };
                    self.update(place, BinaryOp::Add, &one);
                }
                _ => {
                    self.value(expr);
                }
            },
            StatementKind::Assign {
                place,
                operator,
                value,
            } => match operator {
                None => self.assign(place, value),
                Some(op) => self.update(place, *op, value),
            },
            StatementKind::Break => {
                let depth = self.innermost().atomic_depth;
                self.leave_atomics(depth);
                let jump = self.jump();
                self.innermost().breaks.push(jump);
            }
            StatementKind::Continue => {
                let target = self
                    .frame
                    .loops
                    .iter()
                    .rposition(|breakable| breakable.continues.is_some())
                    .expect("checked to be in a loop");
                self.leave_atomics(self.frame.loops[target].atomic_depth);
                let jump = self.jump();
                let continues = self.frame.loops[target].continues.as_mut();
                continues.expect("it is a loop").push(jump);
            }
            StatementKind::Return(value) => {
                let from = value.as_ref().map(|value| self.value(value));
                self.leave_atomics(0);
                self.emit(Op::Return { from });
            }
            StatementKind::Goto(label) => self.goto(label.0 as usize),
            StatementKind::Assert { condition, message } => {
                if let ExprKind::Value(Value::Int(0)) = condition.kind {
                    self.asserts_false.push(self.statement);
                }
                let reg = self.value(condition);
                let message = self.message(condition, message.as_deref());
                self.emit(Op::Assert { reg, message });
            }
            StatementKind::Assume(condition) => self.guard(condition, true),
            StatementKind::Await(condition) => self.guard(condition, false),
            StatementKind::Reach(goal) => {
                let goal = self.narrow(*goal);
                self.emit(Op::Reach { goal });
            }
            _ => unreachable!("a statement with statements inside"),
        }
        self.frame.height = mark;
    }

    /// What to say when the assertion fails: the text, or the condition as written.
    fn message(&mut self, condition: &Expr, text: Option<&str>) -> u16 {
        let message = text
            .unwrap_or_else(|| self.source.snippet(condition.span))
            .to_owned();
        self.messages.push(message);
        self.narrow(self.messages.len() as u32 - 1)
    }

    fn declare(&mut self, local: LocalId, init: &[(u32, Type, Expr)]) {
        let definition = self.current_local(local);
        let slots = self.hir.slots(&definition.ty);
        let start = self.frame.height;
        let scalar = definition.ty.is_scalar();
        let register = if scalar && let [(_, _, value)] = init {
            // The temporary that the value ends up in becomes the variable.
            let to = self.temp();
            self.frame.height = start;
            self.value_into(value, to);
            self.frame.height = start + 1;
            to
        } else {
            for _ in 0..slots {
                self.temp();
            }
            let register = self.narrow(start);
            let end = self.narrow(start + slots);
            self.emit_at(
                start,
                Op::Clear {
                    first: register,
                    end,
                },
            );
            self.defaults(start, &definition.ty);
            for (offset, _, value) in init {
                let to = self.narrow(start + offset);
                self.value_into(value, to);
            }
            register
        };
        self.frame.registers[local.0 as usize] = register;
        self.frame.live.push(self.frame.variables.len());
        self.frame.variables.push(Variable {
            name: definition.name,
            ty: definition.ty,
            register,
            from: self.pc(),
            to: Pc::MAX,
            span: definition.span,
            told_by: ToldBy::Name,
        });
    }

    /// Sets the registers of a variable that are not zero without an initialiser.
    fn defaults(&mut self, start: u32, ty: &Type) {
        let mut defaults = Vec::new();
        collect_defaults(self.hir, ty, start, &mut defaults);
        self.store_defaults(&defaults);
    }

    fn store_defaults(&mut self, defaults: &[(u32, i64)]) {
        for &(register, value) in defaults {
            let to = self.narrow(register);
            let value = value as i32;
            self.emit(Op::Const { to, value });
        }
    }

    /// Evaluates a condition in one step and blocks unless it holds.
    fn guard(&mut self, condition: &Expr, assumption: bool) {
        self.emit(Op::AtomicBegin);
        let mark = self.frame.height;
        let reg = self.value(condition);
        self.emit(Op::Guard { reg, assumption });
        self.frame.height = mark;
        self.emit(Op::AtomicEnd);
    }

    /// `if (condition)`, without what depends on it.
    fn head(&self, statement: Span, condition: Span) -> Span {
        let rest = self.source.text.get(condition.end as usize..).unwrap_or("");
        let closing = rest.len() - rest.trim_start().len();
        let closed = rest[closing..].starts_with(')');
        let end = condition.end + if closed { closing as u32 + 1 } else { 0 };
        Span::new(statement.start, end)
    }

    /// A condition: falls through if it holds; gives the jump for when it does not. For people
    /// it is the statement at `span`.
    fn branch(&mut self, condition: &Expr, span: Span) -> Pc {
        self.begin_statement(span);
        let mark = self.frame.height;
        let reg = self.value(condition);
        let jump = self.emit(Op::JumpUnless { reg, to: 0 });
        self.frame.height = mark;
        jump
    }

    fn nested(&mut self, statement: &Statement) {
        self.block(std::slice::from_ref(statement));
    }

    fn switch(
        &mut self,
        scrutinee: &Expr,
        cases: &[(i64, usize)],
        default: Option<usize>,
        arms: &[Vec<Statement>],
    ) {
        let mark = self.frame.height;
        let value = self.value(scrutinee);
        let mut entries: Vec<Vec<Pc>> = vec![Vec::new(); arms.len()];
        for (case, arm) in cases {
            let jump = self.jump_if_equal(value, *case);
            entries[*arm].push(jump);
        }
        self.frame.height = mark;
        let otherwise = self.jump();
        if let Some(arm) = default {
            entries[arm].push(otherwise);
        }
        self.begin_loop(false);
        self.enter_scope();
        let mut skipped = Skipped {
            outside: mark,
            looked_at: self.frame.variables.len(),
            defaults: Vec::new(),
        };
        for (arm, here) in arms.iter().zip(entries) {
            self.enter_arm(here, &mut skipped);
            self.statements(arm);
        }
        self.leave_scope();
        if default.is_none() {
            self.join([otherwise]);
        }
        self.end_loop();
    }

    /// Jumps lead here from above all arms, and so past the declarations in the arms before.
    /// The variables that come into scope that way are as without an initialiser.
    fn enter_arm(&mut self, jumps: Vec<Pc>, skipped: &mut Skipped) {
        // Variables of blocks inside an arm are out of scope by now.
        let new = &self.frame.variables[skipped.looked_at..];
        for variable in new.iter().filter(|variable| variable.to == Pc::MAX) {
            let register = variable.register.into();
            collect_defaults(self.hir, &variable.ty, register, &mut skipped.defaults);
        }
        skipped.looked_at = self.frame.variables.len();
        let height = self.frame.height;
        if jumps.is_empty() || height == skipped.outside {
            return self.join(jumps);
        }
        let fall_through = self.jump();
        self.join(jumps);
        let (first, end) = (self.narrow(skipped.outside), self.narrow(height));
        self.emit_at(skipped.outside, Op::Clear { first, end });
        self.skipped_values += skipped.defaults.len();
        if self.skipped_values > MAX_SKIPPED {
            self.exceed(Excess::Skipped);
        } else {
            self.store_defaults(&skipped.defaults);
        }
        self.join([fall_through]);
    }

    fn jump_if_equal(&mut self, value: Reg, constant: i64) -> Pc {
        let mark = self.frame.height;
        let (op, int) = (BinaryOp::Equal, IntType::I32);
        let equal = match i16::try_from(constant) {
            Ok(b) => self.result(mark, |to| Op::BinaryConst {
                op,
                int,
                to,
                a: value,
                b,
            }),
            Err(_) => {
                let b = self.constant(Value::Int(constant));
                self.result(mark, |to| Op::Binary {
                    op,
                    int,
                    to,
                    a: value,
                    b,
                })
            }
        };
        let jump = self.emit(Op::JumpIf { reg: equal, to: 0 });
        self.frame.height = mark;
        jump
    }

    fn choose(&mut self, blocks: &[Vec<Statement>]) {
        let mark = self.frame.height;
        let below = self.narrow(blocks.len() as u32);
        let pick = self.result(mark, |to| Op::ChooseBelow { to, below });
        let entries: Vec<Pc> = (1..blocks.len())
            .map(|index| self.jump_if_equal(pick, index as i64))
            .collect();
        self.frame.height = mark;
        let mut ends = Vec::new();
        for (index, block) in blocks.iter().enumerate() {
            if index > 0 {
                self.join([entries[index - 1]]);
            }
            self.block(block);
            ends.push(self.jump());
        }
        self.join(ends);
    }

    fn begin_loop(&mut self, is_loop: bool) {
        self.frame.loops.push(Breakable {
            breaks: Vec::new(),
            continues: is_loop.then(Vec::new),
            atomic_depth: self.frame.atomic_depth,
        });
    }

    fn innermost(&mut self) -> &mut Breakable {
        self.frame
            .loops
            .last_mut()
            .expect("checked to be in a loop or switch")
    }

    fn take_continues(&mut self) -> Vec<Pc> {
        self.innermost().continues.take().unwrap_or_default()
    }

    fn end_loop(&mut self) {
        let breakable = self
            .frame
            .loops
            .pop()
            .expect("loops begin and end in pairs");
        self.join(breakable.breaks);
    }

    /// Ends the atomic blocks that a jump leaves.
    fn leave_atomics(&mut self, depth: u32) {
        for _ in depth..self.frame.atomic_depth {
            self.emit(Op::AtomicEnd);
        }
    }

    fn goto(&mut self, label: usize) {
        self.leave_atomics(self.frame.label_depths[label]);
        let clear = self.emit(Op::Clear { first: 0, end: 0 });
        self.jump();
        self.frame.gotos.push(Goto {
            label,
            clear,
            height: self.frame.height,
            scopes: self.frame.scopes.clone(),
        });
    }

    /// Fills in the targets of all `goto`s, at the end of the function.
    ///
    /// Variables that come into scope by the jump, past their declarations, are zero.
    pub(super) fn resolve_gotos(&mut self) {
        for goto in std::mem::take(&mut self.frame.gotos) {
            let Some(target) = &self.frame.labels[goto.label] else {
                unreachable!("checked to exist");
            };
            let shared = goto
                .scopes
                .iter()
                .zip(&target.scopes)
                .take_while(|(a, b)| a == b)
                .count();
            let kept = goto
                .scopes
                .get(shared)
                .map_or(goto.height, |scope| scope.height);
            let (first, end) = (kept.min(target.height), target.height);
            self.code[goto.clear as usize] = Op::Clear {
                first: first as Reg,
                end: end as Reg,
            };
            let jump = goto.clear + 1;
            let to = target.pc;
            self.code[jump as usize] = if to <= jump {
                Op::Loop { to }
            } else {
                Op::Jump { to }
            };
        }
    }

    fn current_local(&self, local: LocalId) -> raddle_lang::hir::Local {
        self.frame.locals[local.0 as usize].clone()
    }
}

/// What a jump to the next arm of a `switch` skips.
struct Skipped {
    /// How many registers are in use outside of the `switch`.
    outside: u32,
    /// How many variables of the function have been looked at.
    looked_at: usize,
    /// The registers of the variables of earlier arms that are not zero without an initialiser.
    defaults: Vec<(u32, i64)>,
}

/// In which type `x++` is computed.
fn step_type(ty: &Type) -> Type {
    match ty {
        Type::Int(IntType::U32) => Type::Int(IntType::U32),
        _ => Type::INT,
    }
}

/// How many atomic blocks are around each label.
pub(super) fn label_depths(statements: &[Statement], depth: u32, depths: &mut [u32]) {
    for statement in statements {
        match &statement.kind {
            StatementKind::Label(label) => depths[label.0 as usize] = depth,
            StatementKind::Block(inner) => label_depths(inner, depth, depths),
            StatementKind::Atomic(inner) => label_depths(inner, depth + 1, depths),
            StatementKind::If {
                then, otherwise, ..
            } => {
                label_depths(std::slice::from_ref(then), depth, depths);
                if let Some(otherwise) = otherwise {
                    label_depths(std::slice::from_ref(otherwise), depth, depths);
                }
            }
            StatementKind::While { body, .. }
            | StatementKind::DoWhile { body, .. }
            | StatementKind::For { body, .. } => {
                label_depths(std::slice::from_ref(body), depth, depths);
            }
            StatementKind::Switch { arms: blocks, .. } | StatementKind::Choose(blocks) => {
                for block in blocks {
                    label_depths(block, depth, depths);
                }
            }
            _ => {}
        }
    }
}
